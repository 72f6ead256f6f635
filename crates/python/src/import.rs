//! `import_config`: files of other simulators.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use serde_json::Value as Json;
use ssdlab_import::How;
use ssdlab_lab::foreign::Imported;
use ssdlab_lab::input::{Origin, Requests};
use ssdlab_lab::settings::{Document, Sources};

use crate::config::Config;
use crate::errors::{engine, usage};
use crate::summary::Section;
use crate::values::python_of;

/// What files of other simulators become: the contract `ssdlab.import/1`.
#[pyclass(module = "ssdlab", frozen, mapping, extends = Section)]
pub struct Import {
    imported: Imported,
    /// The configuration.
    #[pyo3(get)]
    config: Py<Config>,
}

#[pymethods]
impl Import {
    /// What `ssdlab import` prints.
    #[getter]
    fn text(&self) -> String {
        self.imported.account.text()
    }

    /// The bytes of the file that `ssdlab import --notes FILE.json` writes.
    fn to_json(&self) -> String {
        self.imported.account.json()
    }

    /// The bytes of the file that `ssdlab import -o FILE` writes.
    fn to_toml(&self) -> String {
        self.imported.toml()
    }

    /// Each generated flow as a workload, by name.
    #[getter]
    fn workloads<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let workloads = PyDict::new(py);
        for (name, text) in self.imported.workloads() {
            workloads.set_item(name, workload(py, &text)?)?;
        }
        Ok(workloads)
    }

    /// All generated flows as one workload; `None` if there are none, or they do not make one.
    #[getter]
    fn workload<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        match Requests::imported(&self.imported, None) {
            Ok(Some(requests)) => match &requests.from {
                Origin::Spec(text) => Ok(Some(workload(py, text)?)),
                _ => Ok(None),
            },
            _ => Ok(None),
        }
    }

    fn __str__(&self) -> String {
        self.text()
    }

    fn __repr__(&self) -> String {
        format!("<ssdlab.Import of {}>", self.imported.account.summary())
    }
}

fn workload<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    let table: toml::Table = text.parse().map_err(|error| usage(py, format!("workload: {error}"), ""))?;
    let json: Json = serde_json::to_value(table).map_err(|error| usage(py, format!("workload: {error}"), ""))?;
    python_of(py, &json)
}

/// Turns configurations and workloads of MQSim, SSDsim, SimpleSSD, FEMU, FlashSim or DiskSim into ours, and accounts for every key.
///
/// - `files`: the files of one device, and of its workload.
/// - `simulator`: whose files they are, or `"auto"` to detect it.
/// - `scenario`: the number of a scenario of MQSim's workload file, from 1.
#[pyfunction]
#[pyo3(signature = (*files, simulator = "auto", scenario = 1))]
pub fn import_config(
    py: Python<'_>,
    files: &Bound<'_, PyTuple>,
    simulator: &str,
    scenario: usize,
) -> PyResult<Py<Import>> {
    let documents: Vec<Document> =
        files.iter().map(|file| Ok(Document::File(file.extract::<PathBuf>()?))).collect::<PyResult<_>>()?;
    if documents.is_empty() {
        return Err(usage(py, "import_config: no file", "give the files of one device"));
    }
    let from = match simulator {
        "auto" => None,
        name => Some(name.parse().map_err(|error| usage(py, format!("simulator: {error}"), ""))?),
    };
    let (imported, toml) = engine(py, || {
        let imported = ssdlab_import::read(&documents, How { from, scenario })?;
        Requests::check_imported(&imported)?;
        let toml = imported.toml();
        Ok((imported, toml))
    })?;
    let files = vec![Document::Text { name: "import".into(), text: toml }];
    let config = Py::new(py, Config::of(py, Sources { files, ..Sources::default() })?)?;
    let values = py.import("json")?.call_method1("loads", (imported.account.json(),))?.cast_into::<PyDict>()?;
    let section = PyClassInitializer::from(Section::of(values.unbind()));
    Py::new(py, section.add_subclass(Import { imported, config }))
}
