//! `Summary`: the results of a run as a read-only mapping.

use std::path::PathBuf;

use pyo3::exceptions::{PyAttributeError, PyKeyError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyMappingProxy};
use ssdlab_lab::readers::sound;

use crate::errors::raised;

/// A part of a summary: its keys as items and as attributes.
#[pyclass(module = "ssdlab", frozen, mapping, subclass)]
pub struct Section {
    values: Py<PyDict>,
}

impl Section {
    /// A section of these values.
    pub fn of(values: Py<PyDict>) -> Section {
        Section { values }
    }
}

/// A value of a section; sections in it are wrapped.
fn wrapped<'py>(value: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    match value.cast_into::<PyDict>() {
        Ok(values) => {
            let py = values.py();
            Ok(Bound::new(py, Section { values: values.unbind() })?.into_any())
        }
        Err(error) => Ok(error.into_inner()),
    }
}

#[pymethods]
impl Section {
    fn __getitem__<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        match self.values.bind(py).get_item(key)? {
            Some(value) => wrapped(value),
            None => Err(PyKeyError::new_err(key.clone().unbind())),
        }
    }

    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        match self.values.bind(py).get_item(name)? {
            Some(value) => wrapped(value),
            None => Err(PyAttributeError::new_err(format!("the summary has no `{name}` here"))),
        }
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        self.values.bind(py).len()
    }

    fn __contains__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.values.bind(py).contains(key)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.values.bind(py).as_any().try_iter()?.into_any())
    }

    /// The keys.
    fn keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        PyMappingProxy::new(py, self.values.bind(py).as_mapping()).call_method0("keys")
    }

    /// The values.
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let values = self.values.bind(py).values().iter().map(wrapped).collect::<PyResult<Vec<_>>>()?;
        PyList::new(py, values)
    }

    /// Keys with their values.
    fn items<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let pairs = self.values.bind(py).iter().map(|(key, value)| Ok((key, wrapped(value)?)));
        PyList::new(py, pairs.collect::<PyResult<Vec<_>>>()?)
    }

    /// The value of `key`, or `default`.
    #[pyo3(signature = (key, default = None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match self.values.bind(py).get_item(key)? {
            Some(value) => wrapped(value),
            None => Ok(default.unwrap_or_else(|| py.None().into_bound(py))),
        }
    }

    /// A copy as dictionaries.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("copy")?.call_method1("deepcopy", (self.values.bind(py),))
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        match other.cast::<Section>() {
            Ok(other) => self.values.bind(py).eq(other.get().values.bind(py)),
            Err(_) => self.values.bind(py).eq(other),
        }
    }

    fn __dir__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let own = ["get", "items", "keys", "to_dict", "values"];
        let names = PyList::new(py, own)?;
        names.call_method1("extend", (self.values.bind(py),))?;
        Ok(names.into_any())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.values.bind(py).repr()?.to_string())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyAny>,))> {
        Ok((py.get_type::<Section>().getattr("_of")?, (self.values.bind(py).clone().into_any(),)))
    }

    /// A section of these values.
    #[staticmethod]
    fn _of(values: Py<PyDict>) -> Section {
        Section { values }
    }
}

/// The results of a run: the contract `ssdlab.summary/1`.
#[pyclass(module = "ssdlab", frozen, mapping, extends = Section)]
pub struct Summary {
    text: String,
}

impl Summary {
    /// A summary from the bytes of its file.
    pub fn of(py: Python<'_>, text: String) -> PyResult<Py<Summary>> {
        // Python's own reader keeps whole numbers of any size.
        let values = py.import("json")?.call_method1("loads", (&text,))?.cast_into::<PyDict>()?;
        Py::new(py, PyClassInitializer::from(Section { values: values.unbind() }).add_subclass(Summary { text }))
    }
}

#[pymethods]
impl Summary {
    /// Reads the file `path` that the command wrote.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Py<Summary>> {
        Summary::of(py, sound::load(&path).map_err(|error| raised(py, &error))?)
    }

    /// The bytes of the file that `--json` writes.
    pub fn to_json(&self) -> &str {
        &self.text
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let get = |name: &str| slf.get_item(name).and_then(|value| value.str().map(|text| text.to_string()));
        Ok(format!(
            "<ssdlab.Summary {}: {} ns simulated, write amplification {}>",
            &get("config_digest")?.get(..8).unwrap_or_default(),
            get("simulated_ns")?,
            get("write_amplification_bytes")?
        ))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((slf.py().get_type::<Summary>().getattr("_from_json")?, (slf.get().text.clone(),)))
    }

    /// A summary from the bytes of its file.
    #[staticmethod]
    fn _from_json(py: Python<'_>, text: String) -> PyResult<Py<Summary>> {
        Summary::of(py, text)
    }
}

/// So that isinstance(summary, Mapping) holds.
pub fn register(py: Python<'_>) -> PyResult<()> {
    let mapping = py.import("collections.abc")?.getattr("Mapping")?;
    mapping.call_method1("register", (py.get_type::<Section>(),)).map(drop)
}
