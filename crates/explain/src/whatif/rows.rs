//! One row per request of the window: the columns of `--requests` twice, as `base_` and as `whatif_`.

use ssdlab_lab::error::Result;
use ssdlab_lab::results::requests::{COLUMNS, op};
use ssdlab_lab::results::sheet::{Cell, CellKind, Ended, Place, Sheet};
use ssdlab_sim::Completed;
use ssdlab_sim::blame::{CAUSES, Extra};

use crate::whatif::outcome::{Pair, WhatIf};

/// Begins a table of a device with these causes of optional features; `tenants`: it has some.
///
/// # Errors
/// As [`Sheet::begin`].
pub fn create(place: &Place, extras: &[Extra], tenants: bool) -> Result<Sheet> {
    let own =
        COLUMNS.into_iter().map(|(name, kind)| (name, if kind == CellKind::Word { kind } else { CellKind::Maybe }));
    let causes = CAUSES.iter().map(|(_, name)| *name).chain(extras.iter().map(|extra| extra.name()));
    let tenant = tenants.then_some(("tenant", CellKind::MaybeText));
    let names: Vec<(&str, CellKind)> = own.chain(causes.map(|name| (name, CellKind::Maybe))).chain(tenant).collect();
    let both = ["base_", "whatif_"].into_iter();
    let columns: Vec<(String, CellKind)> =
        both.flat_map(|prefix| names.iter().map(move |(name, kind)| (format!("{prefix}{name}"), *kind))).collect();
    let columns: Vec<(&str, CellKind)> = columns.iter().map(|(name, kind)| (name.as_str(), *kind)).collect();
    Sheet::begin("--requests", place, &columns)
}

/// Writes all rows.
///
/// # Errors
/// As [`Sheet::row`].
pub fn write(mut sheet: Sheet, whatif: &WhatIf) -> Result<Ended> {
    let cells = |row, base| cells(row, base, &whatif.extras, &whatif.tenants);
    for Pair { base, whatif } in &whatif.pairs {
        sheet.row(cells(Some(base), base).chain(cells(whatif.as_ref(), base)))?;
    }
    sheet.finish()
}

/// The cells of a request; empty ones if it was left out. Its operation is known all the same.
fn cells<'c>(
    row: Option<&'c Completed>,
    base: &'c Completed,
    extras: &'c [Extra],
    tenants: &'c [String],
) -> impl Iterator<Item = Cell<'c>> {
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
    let causes = (0..CAUSES.len()).map(move |i| Cell::Maybe(row.map(|row| row.blame.0[i])));
    let extras = extras.iter().map(move |extra| Cell::Maybe(row.map(|row| row.extras.0[*extra as usize])));
    let tenant = move || Cell::MaybeText(row.and_then(|row| Some(tenants.get(usize::from(row.tenant))?.as_str())));
    head.into_iter().chain(causes).chain(extras).chain((!tenants.is_empty()).then(tenant))
}
