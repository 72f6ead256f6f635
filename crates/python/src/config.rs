//! `Config`: a configuration with the origin of its values.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use ssdlab_lab::settings::{Settings, Sources};

use crate::errors::raised;

/// An immutable configuration.
#[pyclass(module = "ssdlab", frozen)]
pub struct Config {
    pub settings: Settings,
}

#[pymethods]
impl Config {
    /// The built-in defaults.
    #[new]
    fn new(py: Python<'_>) -> PyResult<Config> {
        loaded(py, &Sources::default())
    }

    /// A named configuration.
    #[staticmethod]
    fn preset(py: Python<'_>, name: String) -> PyResult<Config> {
        loaded(py, &Sources { preset: Some(name), ..Sources::default() })
    }

    /// Files in turn, over a preset.
    #[staticmethod]
    #[pyo3(signature = (*files, preset = None))]
    fn load(py: Python<'_>, files: &Bound<'_, PyTuple>, preset: Option<String>) -> PyResult<Config> {
        let files = files.iter().map(|file| Ok(file.extract::<PathBuf>()?.into())).collect::<PyResult<Vec<_>>>()?;
        loaded(py, &Sources { preset, files, ..Sources::default() })
    }

    /// Digest of the effective configuration, as `config_digest` of a summary.
    #[getter]
    fn digest(&self) -> String {
        self.settings.digest()
    }
}

fn loaded(py: Python<'_>, sources: &Sources) -> PyResult<Config> {
    Ok(Config { settings: Settings::load(sources).map_err(|error| raised(py, &error))? })
}

/// Adds the names of this file.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Config>()
}
