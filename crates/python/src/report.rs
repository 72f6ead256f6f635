//! Reports and figures of results: the pages of `ssdlab report`, and pictures for notebooks.

use std::path::{Path, PathBuf};

use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use ssdlab_figures::figure::{Cell, Figure};
use ssdlab_figures::svg::{Look, draw};
use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::files::Files;
use ssdlab_lab::output::Output;
use ssdlab_lab::results::timeline::Span;
use ssdlab_report::inputs::Inputs;
use ssdlab_report::page::{self, Page};

use crate::arguments::{bytes_of, parsed};
use crate::errors::{engine, raised};

pub struct PageArguments<'a, 'py> {
    pub path: PathBuf,
    pub lite: bool,
    pub title: Option<String>,
    pub sections: Option<Vec<String>>,
    pub timeline_window: Option<&'a str>,
    pub max_size: Option<Bound<'py, PyAny>>,
}

pub struct Wanted {
    path: PathBuf,
    page: Page,
    window: Option<Span>,
}

impl PageArguments<'_, '_> {
    pub fn wanted(self, py: Python<'_>) -> PyResult<Wanted> {
        let PageArguments { path, lite, title, sections, timeline_window, max_size } = self;
        let most = max_size.map(|given| bytes_of("max_size", &given)).transpose()?;
        let page = Page { lite, title, sections, most_bytes: most.unwrap_or(page::MOST_BYTES), command: None };
        page.check().map_err(|error| raised(py, &error))?;
        let window = timeline_window.map(|window| parsed::<Span>(py, "timeline_window", window)).transpose()?;
        Ok(Wanted { path, page, window })
    }
}

pub fn scratch(py: Python<'_>) -> PyResult<tempfile::TempDir> {
    let place = std::env::temp_dir();
    tempfile::tempdir().map_err(|error| raised(py, &Error::file("create a directory in", &place, &error)))
}

/// Writes the page that `ssdlab report` makes of some files. What was thinned is a warning.
pub fn write(py: Python<'_>, files: &[PathBuf], wanted: &Wanted) -> PyResult<()> {
    let remarks = engine(py, || {
        let mut named = Files::new();
        files.iter().for_each(|path| named.reads("the input", path));
        named.writes("report", &wanted.path)?;
        let made = page::write(&Inputs::read(files, wanted.window)?, &wanted.page)?;
        let mut file = Output::create(&wanted.path)?;
        file.put(made.html.as_bytes())?;
        file.finish()?.publish()?;
        Ok(made.remarks)
    })?;
    let kind = py.get_type::<PyUserWarning>();
    remarks.iter().try_for_each(|remark| {
        let text = std::ffi::CString::new(remark.as_str()).unwrap_or_default();
        PyErr::warn(py, &kind, &text, 1)
    })
}

/// Writes a text to a file of the scratch directory.
pub fn put(directory: &Path, name: &str, text: &str) -> Result<PathBuf> {
    let path = directory.join(name);
    std::fs::write(&path, text).map_err(|error| Error::file("write", &path, &error))?;
    Ok(path)
}

pub fn svg(figure: &Figure) -> String {
    draw(figure, &Look { width: 640.0, ..Look::default() })
}

pub fn texts(rows: &[Vec<Cell>]) -> Vec<Vec<String>> {
    rows.iter().map(|row| row.iter().map(Cell::text).collect()).collect()
}
