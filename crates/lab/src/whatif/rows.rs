//! One row per request of the window: the columns of `--requests` twice, as `base_` and as `whatif_`.

use ssdlab_sim::Completed;
use ssdlab_sim::blame::CAUSES;

use crate::error::Result;
use crate::results::requests::{COLUMNS, op};
use crate::results::sheet::{Cell, Ended, Kind, Place, Sheet};
use crate::whatif::outcome::{Pair, WhatIf};

/// Begins a table.
///
/// # Errors
/// As [`Sheet::begin`].
pub fn create(place: &Place) -> Result<Sheet> {
    let names: Vec<String> = ["base_", "whatif_"].into_iter().flat_map(prefixed).collect();
    let kind = |name: &str| if name.ends_with("_op") { Kind::Word } else { Kind::Maybe };
    let columns: Vec<(&str, Kind)> = names.iter().map(|name| (name.as_str(), kind(name))).collect();
    Sheet::begin("--requests", place, &columns)
}

fn prefixed(prefix: &str) -> impl Iterator<Item = String> {
    let names = COLUMNS.iter().map(|(name, _)| *name).chain(CAUSES.iter().map(|(_, name)| *name));
    names.map(move |name| format!("{prefix}{name}"))
}

/// Writes all rows.
///
/// # Errors
/// As [`Sheet::row`].
pub fn write(mut sheet: Sheet, whatif: &WhatIf) -> Result<Ended> {
    for Pair { base, whatif } in &whatif.pairs {
        sheet.row(cells(Some(base), base).chain(cells(whatif.as_ref(), base)))?;
    }
    sheet.finish()
}

/// The cells of a request; empty ones if it was left out. Its operation is known all the same.
fn cells(row: Option<&Completed>, base: &Completed) -> impl Iterator<Item = Cell<'static>> + use<> {
    let number = |of: fn(&Completed) -> u64| Cell::Maybe(row.map(of));
    let head = [
        number(|row| row.request),
        number(|row| row.arrival.0),
        Cell::Word(op(base.op)),
        number(|row| row.offset),
        number(|row| row.bytes),
        Cell::Maybe(row.and_then(|row| row.start.map(|start| start.0))),
        number(|row| row.completion.0),
        number(|row| (row.completion - row.arrival).0),
    ];
    let causes = row.map(|row| row.blame.0);
    head.into_iter().chain((0..CAUSES.len()).map(move |i| Cell::Maybe(causes.map(|causes| causes[i]))))
}
