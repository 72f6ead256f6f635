//! `Table` and `Column`.

use pyo3::prelude::*;

/// Adds the names of this file.
pub fn register(_module: &Bound<'_, PyModule>) -> PyResult<()> {
    Ok(())
}
