//! One row per request in the order of arrival, as CSV or Parquet.

use std::cmp::Reverse;
use std::collections::VecDeque;

use ssdlab_sim::blame::{CAUSES, Extra};
use ssdlab_sim::slowest::Slowest;
use ssdlab_sim::{Completed, Request, RequestOp, Watches};

use crate::drive::Device;
use crate::error::Result;
use crate::input::Input;
use crate::product::{About, Product, Recorder, RunEnd, Subject};
use crate::results::sheet::{Cell, CellKind, Ended, Frame, Place, Sheet};

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
    fn about(&self) -> About<'_> {
        About { name: RequestRows::NAME, path: self.0.path(), timed: true }
    }

    fn begin(&self, of: &Subject<'_>) -> Result<Box<dyn Recorder>> {
        let table = Table::begin(&self.0, &of.extras, of.tenants)?;
        Ok(Box::new(Rows { table, first: 0, waiting: VecDeque::new(), held: Vec::new(), free: Vec::new() }))
    }
}

impl Product for SlowestRows {
    fn about(&self) -> About<'_> {
        About { name: "slowest", path: self.0.path(), timed: true }
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
    /// The number of the first request of `waiting`.
    first: u64,
    /// Requests that have arrived, in order, from the first that may still get a row.
    waiting: VecDeque<RowState>,
    /// Rows that wait for an earlier one, or for the next [`Recorder::drain`]. A row is copied once, into a place that was written already.
    held: Vec<Completed>,
    /// Places of `held` that are free.
    free: Vec<usize>,
}

/// The row of a request.
enum RowState {
    /// The request has not completed.
    Open,
    /// It has none: a trim, or a request of the warm-up.
    Without,
    /// It is in this place of [`Rows::held`].
    Held(usize),
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
    /// Keeps a row until it is written; returns its place.
    fn hold(&mut self, row: &Completed) -> usize {
        match self.free.pop() {
            Some(place) => {
                self.held[place].clone_from(row);
                place
            }
            None => {
                self.held.push(row.clone());
                self.held.len() - 1
            }
        }
    }

    /// Writes the rows that the first of the waiting requests have.
    fn write(&mut self, requests: usize) -> Result<()> {
        self.first += requests as u64;
        for row in self.waiting.drain(..requests) {
            if let RowState::Held(place) = row {
                self.table.row(&self.held[place])?;
                self.free.push(place);
            }
        }
        Ok(())
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
        if self.waiting.is_empty() {
            self.first = number;
        }
        // Numbers ascend.
        let place = usize::try_from(number - self.first).expect("in memory");
        self.waiting.resize_with(place, || RowState::Without);
        self.waiting.push_back(if request.op == RequestOp::Trim { RowState::Without } else { RowState::Open });
        Ok(())
    }

    fn completed(&mut self, request: &Completed) -> Result<()> {
        // A trim has no row, and may have been passed over.
        if request.op != RequestOp::Trim {
            let place = usize::try_from(request.request - self.first).expect("in memory");
            let row = if request.measured { RowState::Held(self.hold(request)) } else { RowState::Without };
            self.waiting[place] = row;
        }
        Ok(())
    }

    fn drain(&mut self) -> Result<()> {
        let complete = self.waiting.iter().take_while(|row| !matches!(row, RowState::Open)).count();
        self.write(complete)
    }

    fn finish(mut self: Box<Self>, end: &mut RunEnd<'_>) -> Result<()> {
        self.write(self.waiting.len())?;
        end.table(RequestRows::NAME, self.table.sheet.finish()?);
        Ok(())
    }
}

impl Recorder for SlowRows {
    fn prepare(&mut self, device: &mut Device, _input: &Input) -> Result<()> {
        device.ssd.collect_slowest(SLOWEST);
        Ok(())
    }

    /// Of equally slow ones the earliest.
    fn finish(mut self: Box<Self>, end: &mut RunEnd<'_>) -> Result<()> {
        let slowest = end.device.ssd.slowest().into_iter().flatten();
        let mut rows: Vec<Completed> = slowest.flat_map(Slowest::requests).cloned().collect();
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
    table.sheet.finish().map(Ended::frame)
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
    cells.into_iter().chain(row.blame.0.iter().copied().chain(extras).map(Cell::Number)).chain(tenant)
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

#[cfg(test)]
mod tests {
    use ssdlab_sim::blame::{Blame, ExtraBlame};
    use ssdlab_sim::units::{Nanos, PlaneId};

    use super::*;

    fn completed(request: u64, op: RequestOp, measured: bool) -> Completed {
        let (blame, extras) = (Blame::ZERO, ExtraBlame::default());
        let (arrival, completion) = (Nanos(request), Nanos(1000 - request));
        let (offset, bytes, start, plane) = (0, 4096, None, PlaneId(0));
        let (uncorrectable, rejected, tenant, aggressor) = (0, false, 0, None);
        Completed {
            request,
            measured,
            arrival,
            op,
            offset,
            bytes,
            start,
            completion,
            plane,
            uncorrectable,
            rejected,
            blame,
            extras,
            tenant,
            aggressor,
        }
    }

    /// Request 0 is a trim that completes after its turn, 1 and 4 complete last, 2 is one of the warm-up.
    #[test]
    fn rows_are_in_order_whenever_requests_complete() {
        let ops = [RequestOp::Trim, RequestOp::Write, RequestOp::Read, RequestOp::Write, RequestOp::Read];
        let table = Table::begin(&Place::MEMORY, &[], &[]).unwrap();
        let mut rows = Rows { table, first: 0, waiting: VecDeque::new(), held: Vec::new(), free: Vec::new() };
        for (number, op) in (0..).zip(ops) {
            let request = Request { arrival: Nanos(number), op, offset: 0, bytes: 4096 };
            rows.arrived(number, &request).unwrap();
            rows.drain().unwrap();
        }
        for number in [3, 2, 0, 4, 1] {
            rows.completed(&completed(number, ops[number as usize], number != 2)).unwrap();
            rows.drain().unwrap();
        }
        assert!(rows.waiting.is_empty());
        let frame = rows.table.sheet.finish().unwrap().parts().1.unwrap();
        let crate::results::sheet::Values::Number(numbers) = &frame.batches[0].columns[0] else { panic!("numbers") };
        assert_eq!(numbers, &[1, 3, 4]);
    }
}
