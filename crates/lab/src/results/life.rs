//! Columns of blocks that wear out, in tables of windows (`life.mode`).

use ssdlab_sim::report::life::LifeSample;

use crate::results::sheet::{Cell, CellKind};

/// Blocks that have failed, spare blocks left, and P/E cycles of blocks: their mean and the most.
const COLUMNS: [(&str, CellKind); 4] = [
    ("retired", CellKind::Number),
    ("spare_left", CellKind::Number),
    ("wear_mean", CellKind::Decimal),
    ("wear_max", CellKind::Decimal),
];

/// The columns of a device whose blocks wear out, or none.
pub(crate) fn columns(wears: bool) -> impl Iterator<Item = (String, CellKind)> {
    COLUMNS.into_iter().filter(move |_| wears).map(|(name, kind)| (name.to_string(), kind))
}

/// The cells at the end of a window.
pub(crate) fn cells(sample: Option<LifeSample>) -> impl Iterator<Item = Cell<'static>> {
    let of = |life: LifeSample| {
        // In thousandths.
        let cycles = |millionths: u64| Cell::Decimal(u128::from(millionths / 1000));
        [Cell::Number(life.retired), Cell::Number(life.spare_left), cycles(life.wear_mean), cycles(life.wear_max)]
    };
    sample.map(of).into_iter().flatten()
}
