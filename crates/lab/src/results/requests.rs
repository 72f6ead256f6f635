//! One row per request in the order of arrival, as CSV or Parquet.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

use ssdlab_sim::blame::{CAUSES, Extra};
use ssdlab_sim::{Completed, Request, RequestOp, Watches};

use crate::drive::Device;
use crate::error::Result;
use crate::input::Input;
use crate::product::{Product, Recorder, RunEnd, Subject};
use crate::results::sheet::{Cell, CellKind, Frame, Place, Sheet};

/// Columns before the causes.
pub const COLUMNS: [(&str, CellKind); 8] = [
    ("request", CellKind::Number),
    ("arrival_ns", CellKind::Number),
    ("op", CellKind::Word),
    ("offset", CellKind::Number),
    ("bytes", CellKind::Number),
    ("start_ns", CellKind::Maybe),
    ("completion_ns", CellKind::Number),
    ("latency_ns", CellKind::Number),
];

/// Most rows of [`SlowestRows`].
pub const SLOWEST: usize = 1_000;

/// One row per request.
#[derive(Clone, Debug)]
pub struct RequestRows(pub Place);

/// The slowest requests, at most [`SLOWEST`]: one row each, the slowest first.
#[derive(Clone, Debug)]
pub struct SlowestRows(pub Place);

impl RequestRows {
    /// Its name.
    pub const NAME: &str = "--requests";
}

impl Product for RequestRows {
    fn name(&self) -> &'static str {
        RequestRows::NAME
    }

    fn path(&self) -> Option<Cow<'_, Path>> {
        self.0.path().map(Cow::Borrowed)
    }

    fn timed(&self) -> bool {
        true
    }

    fn begin(&self, of: &Subject<'_>) -> Result<Box<dyn Recorder>> {
        let table = Table::begin(&self.0, &of.extras, of.tenants)?;
        Ok(Box::new(Rows {
            table,
            arrived: Vec::new(),
            completed: Vec::new(),
            expected: VecDeque::new(),
            early: BTreeMap::new(),
        }))
    }
}

impl Product for SlowestRows {
    fn name(&self) -> &'static str {
        "slowest"
    }

    fn path(&self) -> Option<Cow<'_, Path>> {
        self.0.path().map(Cow::Borrowed)
    }

    fn timed(&self) -> bool {
        true
    }

    fn begin(&self, of: &Subject<'_>) -> Result<Box<dyn Recorder>> {
        Ok(Box::new(SlowRows(Table::begin(&self.0, &of.extras, of.tenants)?)))
    }
}

/// A table of requests that is not complete.
struct Table {
    sheet: Sheet,
    extras: Vec<Extra>,
    tenants: Vec<String>,
}

/// Requests complete out of order; a row waits until all rows before it are complete.
struct Rows {
    table: Table,
    /// Numbers of the reads and writes that have arrived, and those that have completed, since the last [`Recorder::drain`].
    arrived: Vec<u64>,
    completed: Vec<Completed>,
    /// Reads and writes that have arrived and have no row yet, in order.
    expected: VecDeque<u64>,
    /// Completed ones that wait for an earlier one.
    early: BTreeMap<u64, Completed>,
}

/// The slowest requests of a run.
struct SlowRows(Table);

impl Table {
    /// Begins a table, with columns for causes of optional features that the device has.
    fn begin(place: &Place, extras: &[Extra], tenants: &[String]) -> Result<Table> {
        let causes = CAUSES.iter().map(|(_, name)| *name).chain(extras.iter().map(|extra| extra.name()));
        let causes = causes.map(|name| (name, CellKind::Number));
        let tenant = (!tenants.is_empty()).then_some(("tenant", CellKind::Word));
        let columns: Vec<(&str, CellKind)> = COLUMNS.into_iter().chain(causes).chain(tenant).collect();
        let sheet = Sheet::begin(RequestRows::NAME, place, &columns)?;
        Ok(Table { sheet, extras: extras.to_vec(), tenants: tenants.to_vec() })
    }

    fn row(&mut self, row: &Completed) -> Result<()> {
        self.sheet.row(cells(row, &self.extras, &self.tenants))
    }
}

impl Rows {
    /// A read or write completed. Requests of the warm-up have no row.
    fn complete(&mut self, row: Completed) -> Result<()> {
        if self.expected.front() != Some(&row.request) {
            self.early.insert(row.request, row);
            return Ok(());
        }
        self.expected.pop_front();
        self.write(&row)?;
        while let Some(next) = self.expected.front().and_then(|next| self.early.remove(next)) {
            self.expected.pop_front();
            self.write(&next)?;
        }
        Ok(())
    }

    fn write(&mut self, row: &Completed) -> Result<()> {
        if row.measured { self.table.row(row) } else { Ok(()) }
    }
}

impl Recorder for Rows {
    fn observes(&self) -> Watches {
        Watches::ARRIVALS | Watches::COMPLETIONS
    }

    fn expects(&self, requests: u64) -> Result<()> {
        self.table.sheet.expects(requests)
    }

    fn arrived(&mut self, number: u64, request: &Request) -> Result<()> {
        if request.op != RequestOp::Trim {
            self.arrived.push(number);
        }
        Ok(())
    }

    fn completed(&mut self, request: &Completed) -> Result<()> {
        if request.op != RequestOp::Trim {
            self.completed.push(request.clone());
        }
        Ok(())
    }

    fn drain(&mut self) -> Result<()> {
        self.expected.extend(std::mem::take(&mut self.arrived));
        std::mem::take(&mut self.completed).into_iter().try_for_each(|row| self.complete(row))
    }

    fn finish(mut self: Box<Self>, end: &mut RunEnd<'_>) -> Result<()> {
        for row in std::mem::take(&mut self.early).into_values() {
            self.write(&row)?;
        }
        end.table(RequestRows::NAME, self.table.sheet.finish()?);
        Ok(())
    }
}

impl Recorder for SlowRows {
    fn prepare(&mut self, device: &mut Device, _input: &Input) -> Result<()> {
        device.collect_slowest(SLOWEST);
        Ok(())
    }

    /// Of equally slow ones the earliest.
    fn finish(mut self: Box<Self>, end: &mut RunEnd<'_>) -> Result<()> {
        let mut rows = end.device.slowest();
        rows.sort_by_key(|row| (Reverse(row.completion.0 - row.arrival.0), row.request));
        rows.truncate(SLOWEST);
        rows.iter().try_for_each(|row| self.0.row(row))?;
        end.table("slowest", self.0.sheet.finish()?);
        Ok(())
    }
}

/// All of these requests, in this order, as a table in memory.
///
/// # Errors
/// None that the caller can cause.
pub fn frame(rows: &[Completed], extras: &[Extra], tenants: &[String]) -> Result<Frame> {
    let mut table = Table::begin(&Place::MEMORY, extras, tenants)?;
    rows.iter().try_for_each(|row| table.row(row))?;
    table.sheet.finish().map(|ended| ended.parts().1.expect("a table in memory"))
}

fn cells<'c>(row: &'c Completed, extras: &'c [Extra], tenants: &'c [String]) -> impl Iterator<Item = Cell<'c>> + 'c {
    let cells = [
        Cell::Number(row.request),
        Cell::Number(row.arrival.0),
        Cell::Word(op(row.op)),
        Cell::Number(row.offset),
        Cell::Number(row.bytes),
        Cell::Maybe(row.start.map(|start| start.0)),
        Cell::Number(row.completion.0),
        Cell::Number(row.completion.0 - row.arrival.0),
    ];
    let tenant = tenants.get(usize::from(row.tenant)).map(|name| Cell::Word(name));
    let extras = extras.iter().map(|extra| row.extras.0[*extra as usize]);
    cells.into_iter().chain(row.blame.0.into_iter().chain(extras).map(Cell::Number)).chain(tenant)
}

/// The operation of a request, in a word.
pub fn op(op: RequestOp) -> &'static str {
    match op {
        RequestOp::Read => "read",
        RequestOp::Write => "write",
        RequestOp::Trim => "trim",
        RequestOp::Flush => "flush",
    }
}
