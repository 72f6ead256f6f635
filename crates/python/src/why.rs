//! `explain` and `whatif`: why requests are slow, and what if something had not happened.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use ssdlab_lab::drive::Tick;
use ssdlab_lab::error::Error;
use ssdlab_lab::explain::at::At;
use ssdlab_lab::explain::tries::Tries;
use ssdlab_lab::explain::{self, explain_rows};
use ssdlab_lab::input::Requests;
use ssdlab_lab::results::sheet::Place;
use ssdlab_lab::run::{How, Progress};
use ssdlab_lab::settings::{Settings, argument};
use ssdlab_lab::variants::points;
use ssdlab_lab::whatif::moment::{Choice, Moment};
use ssdlab_lab::whatif::{self, rows, what_if};
use ssdlab_sim::units::Nanos;

use crate::compare::Board;
use crate::errors::{engine, usage};
use crate::run::{Run, Watch, counted, duration_of, parsed};
use crate::summary::Section;
use crate::table::Table;
use crate::values::toml_of;

/// What a finished run was made of, to run it again.
pub struct Made {
    /// The configuration, with the policies that were given.
    pub settings: Settings,
    /// The requests.
    pub requests: Requests,
    /// How it was simulated.
    pub how: How,
}

/// Why some requests are slow: the contract `ssdlab.explain/1`.
#[pyclass(module = "ssdlab", frozen, mapping, extends = Section)]
pub struct Explanation {
    text: String,
    json: String,
}

#[pymethods]
impl Explanation {
    /// What `ssdlab explain` prints.
    #[getter]
    fn text(&self) -> &str {
        &self.text
    }

    /// The bytes of the file that `ssdlab explain --json` writes.
    fn to_json(&self) -> &str {
        &self.json
    }

    fn __str__(&self) -> &str {
        &self.text
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        Ok(format!("<ssdlab.Explanation of {}>", slf.get_item("at")?.str()?))
    }
}

/// Two futures of one device: the contract `ssdlab.whatif/1`.
#[pyclass(module = "ssdlab", frozen, mapping, extends = Section)]
pub struct WhatIf {
    text: String,
    json: String,
    /// One row per request of the window, if they were asked for.
    #[pyo3(get)]
    rows: Option<Py<Table>>,
}

#[pymethods]
impl WhatIf {
    /// What `ssdlab whatif` prints.
    #[getter]
    fn text(&self) -> &str {
        &self.text
    }

    /// The bytes of the file that `ssdlab whatif --json` writes.
    fn to_json(&self) -> &str {
        &self.json
    }

    fn __str__(&self) -> &str {
        &self.text
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        Ok(format!("<ssdlab.WhatIf: {} requests>", slf.get_item("requests")?.str()?))
    }
}

fn section(py: Python<'_>, json: &str) -> PyResult<PyClassInitializer<Section>> {
    let values = py.import("json")?.call_method1("loads", (json,))?.cast_into::<PyDict>()?;
    Ok(PyClassInitializer::from(Section::of(values.unbind())))
}

fn explanation(py: Python<'_>, done: &explain::Explained, top: usize) -> PyResult<Py<Explanation>> {
    let (text, json) = (done.text(top), done.json());
    Py::new(py, section(py, &json)?.add_subclass(Explanation { text, json }))
}

/// Follows runs that own their board.
struct Owned(Arc<Board>);

impl points::Board for Owned {
    fn at(&self, _point: usize, tick: Tick) -> ControlFlow<()> {
        self.0.now.store(tick.now.0, Ordering::Relaxed);
        ControlFlow::Continue(())
    }

    fn go_on(&self, _point: usize) -> ControlFlow<()> {
        self.0.look()
    }

    fn waits(&self) -> ControlFlow<()> {
        self.0.look()
    }

    fn ended(&self, _point: usize) {
        self.0.ended.fetch_add(1, Ordering::Relaxed);
    }
}

impl Progress for Owned {
    fn at(&mut self, tick: Tick) -> ControlFlow<()> {
        let mut watch = self.0.watch.lock().unwrap_or_else(PoisonError::into_inner);
        watch.set(tick.requests, tick.total, tick.now.0);
        ControlFlow::Continue(())
    }

    fn go_on(&mut self) -> ControlFlow<()> {
        let mut watch = self.0.watch.lock().unwrap_or_else(PoisonError::into_inner);
        watch.look()
    }
}

/// Changes as `KEY=VALUE`: a dict, a text, or a list of these.
fn changes_of(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    if let Ok(text) = given.extract::<String>() {
        return Ok(vec![text]);
    }
    if let Ok(table) = given.cast::<PyDict>() {
        let each = table.iter().map(|(key, value)| {
            let key: String =
                key.extract().map_err(|_| usage(given.py(), format!("{name}: a key is not a str"), ""))?;
            Ok(format!("{key}={}", argument(&toml_of(&key, &value)?)))
        });
        return each.collect();
    }
    let mut all = Vec::new();
    for one in given.try_iter()? {
        all.extend(changes_of(name, &one?)?);
    }
    Ok(all)
}

fn tries_of(given: Option<&Bound<'_, PyAny>>) -> PyResult<Tries> {
    match given {
        None => Ok(Tries::None),
        Some(given) => match given.extract::<String>().as_deref() {
            Ok("auto") => Ok(Tries::Auto),
            Ok("none") => Ok(Tries::None),
            _ => Ok(Tries::Given(changes_of("tries", given)?)),
        },
    }
}

fn at_of(py: Python<'_>, at: Option<&str>) -> PyResult<Option<At>> {
    at.map(|at| parsed(py, "at", at)).transpose()
}

fn progress_of<'py>(py: Python<'py>, given: Option<Bound<'py, PyAny>>) -> PyResult<Arc<Board>> {
    let given = given.unwrap_or_else(|| PyString::new(py, "auto").into_any());
    Ok(Arc::new(Board::new(Watch::new(&given)?)))
}

impl Run {
    /// See `Run.explain` in Python.
    pub fn explained(
        &self,
        py: Python<'_>,
        at: Option<&str>,
        tries: Option<&Bound<'_, PyAny>>,
        jobs: Option<&Bound<'_, PyAny>>,
        top: usize,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Py<Explanation>> {
        let jobs = counted(py, "jobs", jobs)?;
        let wish = explain::Wish { at: at_of(py, at)?, tries: tries_of(tries)?, jobs };
        let board = progress_of(py, progress)?;
        let made = &self.made;
        let done = engine(py, || {
            let mut own = Owned(board.clone());
            let mut boards = |runs: usize| {
                board.runs.store(runs, Ordering::Relaxed);
                Box::new(Owned(board.clone())) as Box<dyn points::Board>
            };
            explain::explain(&made.settings, &made.requests, made.how, &wish, &mut own, &mut boards)
        });
        explanation(py, &board.result(py, done)?, top)
    }

    /// See `Run.whatif` in Python.
    #[allow(clippy::too_many_arguments, reason = "they are the options of the command")]
    pub fn what_if(
        &self,
        py: Python<'_>,
        at: &str,
        change: Option<&Bound<'_, PyAny>>,
        without: Option<&Bound<'_, PyAny>>,
        before: Option<&Bound<'_, PyAny>>,
        after: Option<&Bound<'_, PyAny>>,
        with_rows: bool,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Py<WhatIf>> {
        let usual = whatif::Wish::default();
        let time = |name: &str, given: Option<&Bound<'_, PyAny>>, usual: Nanos| {
            given.map_or(Ok(usual), |given| duration_of(name, given))
        };
        let without = match without {
            None => Vec::new(),
            Some(given) => match given.extract::<String>() {
                Ok(one) => vec![one],
                Err(_) => given.extract::<Vec<String>>()?,
            },
        };
        let without = without.iter().map(|one| parsed::<Choice>(py, "without", one)).collect::<PyResult<_>>()?;
        let wish = whatif::Wish {
            at: parsed::<Moment>(py, "at", at)?,
            before: time("before", before, usual.before)?,
            after: time("after", after, usual.after)?,
            changes: change.map_or(Ok(Vec::new()), |change| changes_of("change", change))?,
            without,
        };
        let board = progress_of(py, progress)?;
        let made = &self.made;
        let done = engine(py, || {
            let mut own = Owned(board.clone());
            let found = what_if(&made.settings, &made.requests, made.how, &wish, None, &mut own)?;
            let frame = match with_rows {
                true => rows::write(rows::create(&Place::MEMORY)?, &found)?.parts().1,
                false => None,
            };
            Ok((found, frame))
        });
        let (found, frame) = board.result(py, done)?;
        let (text, json) = (found.text(), found.json());
        let rows = frame.map(|frame| Py::new(py, Table::of(frame))).transpose()?;
        Py::new(py, section(py, &json)?.add_subclass(WhatIf { text, json, rows }))
    }
}

/// Why requests are slow: of a `Run`, which is simulated again and watched, or of a file of its rows.
#[pyfunction(name = "explain")]
#[pyo3(signature = (source, at = None, *, tries = None, jobs = None, top = 5, progress = None))]
#[pyo3(text_signature = "(source, at=None, *, tries='auto', jobs=None, top=5, progress='auto')")]
fn explain_any<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    at: Option<&str>,
    tries: Option<Bound<'py, PyAny>>,
    jobs: Option<Bound<'py, PyAny>>,
    top: usize,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Py<Explanation>> {
    if let Ok(run) = source.cast::<Run>() {
        let tries = tries.unwrap_or_else(|| PyString::new(py, "auto").into_any());
        return run.get().explained(py, at, Some(&tries), jobs.as_ref(), top, progress);
    }
    let path: PathBuf = source
        .extract()
        .map_err(|_| usage(py, "source: expected a Run, or the path of a file of requests=PATH", ""))?;
    if tries.is_some_and(|given| given.extract::<String>().ok().as_deref() != Some("none")) {
        return Err(usage(py, "tries: rows of a file can't be run again", "explain the Run, or leave tries out"));
    }
    let at = at_of(py, at)?;
    let done = engine(py, || -> Result<_, Error> { explain_rows(&path, at) })?;
    explanation(py, &done, top)
}

/// Adds the names of this file.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Explanation>()?;
    module.add_class::<WhatIf>()?;
    module.add_function(wrap_pyfunction!(explain_any, module)?)
}
