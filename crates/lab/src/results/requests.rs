//! One row per request in the order of arrival, as CSV or Parquet.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};

use ssdlab_sim::blame::{CAUSES, Extra};
use ssdlab_sim::{Completed, RequestOp};

use crate::error::Result;
use crate::results::sheet::{Cell, Ended, Frame, Kind, Place, Sheet};

/// Columns before the causes.
pub const COLUMNS: [(&str, Kind); 8] = [
    ("request", Kind::Number),
    ("arrival_ns", Kind::Number),
    ("op", Kind::Word),
    ("offset", Kind::Number),
    ("bytes", Kind::Number),
    ("start_ns", Kind::Maybe),
    ("completion_ns", Kind::Number),
    ("latency_ns", Kind::Number),
];

/// A table of rows being written. Requests complete out of order; a row waits until all rows before it are complete.
pub struct Rows {
    sheet: Sheet,
    extras: Vec<Extra>,
    tenants: Vec<String>,
    /// Reads and writes that have arrived and have no row yet, in order.
    expected: VecDeque<u64>,
    /// Completed ones that wait for an earlier one.
    early: BTreeMap<u64, Completed>,
}

impl Rows {
    /// Begins a table, with columns for causes of optional features that the device has.
    ///
    /// # Errors
    /// As [`Sheet::begin`].
    pub fn create(place: &Place, extras: &[Extra], tenants: &[String]) -> Result<Rows> {
        Ok(Rows {
            sheet: begin(place, extras, !tenants.is_empty())?,
            extras: extras.to_vec(),
            tenants: tenants.to_vec(),
            expected: VecDeque::new(),
            early: BTreeMap::new(),
        })
    }

    /// As [`Sheet::expects`].
    ///
    /// # Errors
    /// As there.
    pub fn expects(&self, rows: u64) -> Result<()> {
        self.sheet.expects(rows)
    }

    /// A read or write has arrived under this number.
    pub fn expect(&mut self, request: u64) {
        self.expected.push_back(request);
    }

    /// A read or write completed. Requests of the warm-up have no row.
    ///
    /// # Errors
    /// As [`Sheet::row`].
    pub fn completed(&mut self, row: Completed) -> Result<()> {
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

    /// Writes what is left.
    ///
    /// # Errors
    /// As [`Sheet::finish`].
    pub fn finish(mut self) -> Result<Ended> {
        for row in std::mem::take(&mut self.early).into_values() {
            self.write(&row)?;
        }
        self.sheet.finish()
    }

    fn write(&mut self, row: &Completed) -> Result<()> {
        if !row.measured {
            return Ok(());
        }
        self.sheet.row(cells(row, &self.extras, &self.tenants))
    }
}

/// All of these requests, in this order, as a table in memory.
///
/// # Errors
/// None that the caller can cause.
pub fn frame(rows: &[Completed], extras: &[Extra], tenants: &[String]) -> Result<Frame> {
    let mut sheet = begin(&Place::MEMORY, extras, !tenants.is_empty())?;
    rows.iter().try_for_each(|row| sheet.row(cells(row, extras, tenants)))?;
    sheet.finish().map(|ended| ended.parts().1.expect("a table in memory"))
}

/// The slowest of some requests, of equal ones the earliest, with the columns of a table of requests.
///
/// # Errors
/// As [`Sheet::begin`] and [`Sheet::row`].
pub fn slowest(
    place: &Place,
    mut rows: Vec<Completed>,
    most: usize,
    extras: &[Extra],
    tenants: &[String],
) -> Result<Ended> {
    rows.sort_by_key(|row| (Reverse(row.completion.0 - row.arrival.0), row.request));
    rows.truncate(most);
    let mut sheet = begin(place, extras, !tenants.is_empty())?;
    rows.iter().try_for_each(|row| sheet.row(cells(row, extras, tenants)))?;
    sheet.finish()
}

fn begin(place: &Place, extras: &[Extra], tenants: bool) -> Result<Sheet> {
    let causes = CAUSES.iter().map(|(_, name)| *name).chain(extras.iter().map(|extra| extra.name()));
    let causes = causes.map(|name| (name, Kind::Number));
    let columns: Vec<(&str, Kind)> =
        COLUMNS.into_iter().chain(causes).chain(tenants.then_some(("tenant", Kind::Word))).collect();
    Sheet::begin("--requests", place, &columns)
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
