//! `run` and its result.

use pyo3::prelude::*;
use ssdlab_lab::input::{Origin, Requests};
use ssdlab_lab::perf::Moment;
use ssdlab_lab::run::{How, Outputs};
use ssdlab_lab::settings::{Settings, Sources};

use crate::config::Config;
use crate::errors::raised;

/// The result of a run.
#[pyclass(module = "ssdlab", frozen)]
pub struct Run {
    json: String,
}

#[pymethods]
impl Run {
    /// The summary as the bytes of its file.
    fn to_json(&self) -> &str {
        &self.json
    }
}

/// Simulates.
#[pyfunction]
#[pyo3(signature = (cfg = None, *, workload, limit = None, seed = 1))]
fn run(py: Python<'_>, cfg: Option<&Config>, workload: String, limit: Option<u64>, seed: u64) -> PyResult<Run> {
    let settings = match cfg {
        Some(cfg) => cfg.settings.clone(),
        None => Settings::load(&Sources::default()).map_err(|error| raised(py, &error))?,
    };
    let from = Origin::Workload { name: workload, recordings: None };
    let requests = Requests { limit, ..Requests::new(from) };
    let done = py.detach(|| {
        let run = ssdlab_lab::run::Run::new(settings, How { seed, ..How::default() }, Moment::now())?;
        run.open(&requests)?.simulate(&Outputs::default(), &mut ())
    });
    Ok(Run { json: done.map_err(|error| raised(py, &error))?.outcome.json() })
}

/// Adds the names of this file.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Run>()?;
    module.add_function(wrap_pyfunction!(run, module)?)
}
