//! Exceptions: one class for each kind of error of `ssdlab_lab`.

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use ssdlab_cli::fault::{Renderer, render};

create_exception!(ssdlab, Error, PyException, "Any error of ssdlab.");

/// An error of the laboratory as an exception; its text is what the command prints.
pub fn raised(_py: Python<'_>, error: &ssdlab_lab::error::Error) -> PyErr {
    Error::new_err(render(error, &Renderer::plain()))
}

/// Adds the names of this file.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("Error", module.py().get_type::<Error>())
}
