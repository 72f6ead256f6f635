//! `explain` and `whatif`: why requests are slow, and what if something had not happened.

use std::path::Path;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use ssdlab_explain::at::At;
use ssdlab_explain::tries::Tries;
use ssdlab_explain::whatif::moment::{Choice, Moment};
use ssdlab_explain::whatif::{self, rows, what_if};
use ssdlab_explain::{self as explain, explain_rows};
use ssdlab_lab::error::Error;
use ssdlab_lab::input::Requests;
use ssdlab_lab::results::sheet::Place;
use ssdlab_lab::run::How;
use ssdlab_lab::settings::{Settings, argument};
use ssdlab_lab::variants::points;
use ssdlab_sim::units::Nanos;

use crate::arguments::{counted, duration_of, parsed};
use crate::errors::{engine, usage};
use crate::summary::Section;
use crate::table::Table;
use crate::values::{Levels, toml_within};
use crate::watch::{Board, Follower};

/// What a finished run was made of, to run it again.
#[derive(Clone)]
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
    /// What `ssdlab explain` prints.
    #[pyo3(get)]
    text: String,
    json: String,
}

#[pymethods]
impl Explanation {
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
    /// What `ssdlab whatif` prints.
    #[pyo3(get)]
    text: String,
    json: String,
    /// One row per request of the window, if they were asked for.
    #[pyo3(get)]
    rows: Option<Py<Table>>,
}

#[pymethods]
impl WhatIf {
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

/// Changes as `KEY=VALUE`: a dict, a text, or a list of these.
fn changes_of(levels: Levels, name: &str, given: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    let inside = levels.inside(given.py(), name)?;
    if let Ok(text) = given.extract::<String>() {
        return Ok(vec![text]);
    }
    if let Ok(table) = given.cast::<PyDict>() {
        let each = table.iter().map(|(key, value)| {
            let key: String =
                key.extract().map_err(|_| usage(given.py(), format!("{name}: a key is not a str"), ""))?;
            Ok(format!("{key}={}", argument(&toml_within(inside, &key, &value)?)))
        });
        return each.collect();
    }
    let mut all = Vec::new();
    for one in given.try_iter()? {
        all.extend(changes_of(inside, name, &one?)?);
    }
    Ok(all)
}

/// What to explain: the arguments of `explain`.
pub struct Wish<'a, 'py> {
    pub at: Option<&'a str>,
    /// `"auto"` by default.
    pub tries: Option<Bound<'py, PyAny>>,
    pub jobs: Option<Bound<'py, PyAny>>,
    /// Causes to show.
    pub top: usize,
}

impl Wish<'_, '_> {
    fn at(&self, py: Python<'_>) -> PyResult<Option<At>> {
        self.at.map(|at| parsed(py, "at", at)).transpose()
    }

    fn tries(&self) -> PyResult<Tries> {
        let Some(given) = &self.tries else { return Ok(Tries::Auto) };
        match given.extract::<String>().as_deref() {
            Ok("auto") => Ok(Tries::Auto),
            Ok("none") => Ok(Tries::None),
            _ => Ok(Tries::Given(changes_of(Levels::ALL, "tries", given)?)),
        }
    }
}

/// What does not happen: the arguments of `whatif`.
pub struct Event<'a, 'py> {
    pub at: &'a str,
    pub change: Option<Bound<'py, PyAny>>,
    pub without: Option<Bound<'py, PyAny>>,
    pub before: Option<Bound<'py, PyAny>>,
    pub after: Option<Bound<'py, PyAny>>,
    /// Whether there is a row per request.
    pub rows: bool,
}

impl Event<'_, '_> {
    fn wish(&self, py: Python<'_>) -> PyResult<whatif::Question> {
        let usual = whatif::Question::default();
        let time = |name: &str, given: &Option<Bound<'_, PyAny>>, usual: Nanos| {
            given.as_ref().map_or(Ok(usual), |given| duration_of(name, given))
        };
        let without = match &self.without {
            None => Vec::new(),
            Some(given) => match given.extract::<String>() {
                Ok(one) => vec![one],
                Err(_) => given.extract::<Vec<String>>()?,
            },
        };
        Ok(whatif::Question {
            at: parsed::<Moment>(py, "at", self.at)?,
            before: time("before", &self.before, usual.before)?,
            after: time("after", &self.after, usual.after)?,
            changes: self.change.as_ref().map_or(Ok(Vec::new()), |change| changes_of(Levels::ALL, "change", change))?,
            without: without.iter().map(|one| parsed::<Choice>(py, "without", one)).collect::<PyResult<_>>()?,
        })
    }
}

impl Made {
    /// See `Run.explain` in Python.
    pub fn explain(
        &self,
        py: Python<'_>,
        wish: &Wish<'_, '_>,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Py<Explanation>> {
        let asked =
            explain::Wish { at: wish.at(py)?, tries: wish.tries()?, jobs: counted(py, "jobs", wish.jobs.as_ref())? };
        let board = Board::new(py, progress)?;
        let done = engine(py, || {
            let mut own = Follower(board.clone());
            let mut boards = |runs: usize| {
                board.expect(runs);
                Box::new(Follower(board.clone())) as Box<dyn points::Board>
            };
            explain::explain(&self.settings, &self.requests, self.how, &asked, &mut own, &mut boards)
        });
        explanation(py, &board.result(py, done)?, wish.top)
    }

    /// See `Run.whatif` in Python.
    pub fn what_if(
        &self,
        py: Python<'_>,
        event: &Event<'_, '_>,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Py<WhatIf>> {
        let (wish, with_rows) = (event.wish(py)?, event.rows);
        let board = Board::new(py, progress)?;
        let done = engine(py, || {
            let mut own = Follower(board.clone());
            let found = what_if(&self.settings, &self.requests, self.how, &wish, None, &mut own)?;
            let frame = match with_rows {
                true => {
                    let sheet = rows::create(&Place::MEMORY, &found.extras, !found.tenants.is_empty())?;
                    rows::write(sheet, &found)?.parts().1
                }
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

/// Why requests of a file of rows are slow.
pub fn explain_file(py: Python<'_>, path: &Path, wish: &Wish<'_, '_>) -> PyResult<Py<Explanation>> {
    if wish.tries.as_ref().is_some_and(|given| given.extract::<String>().ok().as_deref() != Some("none")) {
        return Err(usage(py, "tries: rows of a file can't be run again", "explain the Run, or leave tries out"));
    }
    let at = wish.at(py)?;
    let done = engine(py, || -> Result<_, Error> { explain_rows(path, at) })?;
    explanation(py, &done, wish.top)
}
