//! Columns of placement handles in tables of windows.

use crate::results::sheet::{Cell, CellKind};

/// Columns of a placement handle, after `handles.N.`.
const OF_HANDLE: [(&str, CellKind); 3] =
    [("host_pages", CellKind::Number), ("moved_pages", CellKind::Number), ("write_amplification", CellKind::Real)];

/// The columns of so many handles.
pub(super) fn columns(handles: usize) -> impl Iterator<Item = (String, CellKind)> {
    (0..handles).flat_map(|n| OF_HANDLE.map(|(column, kind)| (format!("handles.{n}.{column}"), kind)))
}

/// Their cells in a window: by handle whether GC keeps its pages apart, and pages of the host and pages that GC moved.
pub(super) fn cells(persistent: &[bool], pages: impl Iterator<Item = [u64; 2]>) -> impl Iterator<Item = Cell<'static>> {
    persistent.iter().zip(pages).flat_map(|(persistent, [host, moved])| {
        // Whose pages mixed blocks hold is not known.
        let amplification = (*persistent && host > 0).then(|| 1.0 + moved as f64 / host as f64);
        [Cell::Number(host), Cell::Number(moved), Cell::Real(amplification)]
    })
}
