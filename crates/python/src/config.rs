//! `Config`, and the listings of presets, schemes and workloads.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use ssdlab_lab::settings::{Change, Document, Settings, Sources, argument};
use ssdlab_lab::{needs, presets as named};
use ssdlab_sim::schemes as slots_of;
use ssdlab_sweep::schema::File;
use ssdlab_trace::workload;

use crate::errors::{raised, usage};
use crate::values::{Levels, python_of, toml_within};

/// An immutable configuration with the origin of its values.
#[pyclass(module = "ssdlab", frozen, eq, hash)]
#[derive(Clone)]
pub struct Config {
    pub settings: Arc<Settings>,
    digest: String,
}

impl PartialEq for Config {
    fn eq(&self, other: &Config) -> bool {
        self.digest == other.digest
    }
}

impl std::hash::Hash for Config {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.digest.hash(state);
    }
}

impl Config {
    /// Loads the layers. Files are read once, so that a copy with other keys does not depend on the disk.
    pub fn of(py: Python<'_>, sources: Sources) -> PyResult<Config> {
        let settings = sources.frozen().and_then(|sources| Settings::load(&sources));
        let settings = settings.map_err(|error| raised(py, &error))?;
        Ok(Config { digest: settings.digest(), settings: Arc::new(settings) })
    }

    /// The built-in defaults, unless one is given.
    pub fn or_default(py: Python<'_>, given: Option<&Config>) -> PyResult<Config> {
        given.map_or_else(|| Config::of(py, Sources::default()), |config| Ok(config.clone()))
    }
}

/// Changes of keys in nested tables, each under its dotted key.
fn changes(levels: Levels, parent: &str, table: &Bound<'_, PyDict>, out: &mut Vec<Change>) -> PyResult<()> {
    let inside = levels.inside(table.py(), parent)?;
    for (name, value) in table.iter() {
        let Ok(name) = name.extract::<String>() else {
            return Err(usage(
                table.py(),
                format!("the key {} is not a str", name.repr()?),
                "name keys such as gc.threshold",
            ));
        };
        let key = if parent.is_empty() { name } else { format!("{parent}.{name}") };
        match value.cast::<PyDict>() {
            Ok(inner) if !inner.is_empty() => changes(inside, &key, inner, out)?,
            _ => out.push(change(inside, &key, &value)?),
        }
    }
    Ok(())
}

fn change(levels: Levels, key: &str, value: &Bound<'_, PyAny>) -> PyResult<Change> {
    if value.is_none() {
        return Ok(Change::Unset(key.into()));
    }
    Ok(Change::Set(format!("{key}={}", argument(&toml_within(levels, key, value)?))))
}

#[pymethods]
impl Config {
    /// The built-in defaults.
    #[new]
    fn new(py: Python<'_>) -> PyResult<Config> {
        Config::of(py, Sources::default())
    }

    /// A named configuration; `name` is one of `presets()`.
    #[staticmethod]
    fn preset(py: Python<'_>, name: String) -> PyResult<Config> {
        Config::of(py, Sources { preset: Some(name), ..Sources::default() })
    }

    /// Files in turn, over a preset: the paths `files`, and the name `preset`.
    #[staticmethod]
    #[pyo3(signature = (*files, preset = None))]
    fn load(py: Python<'_>, files: &Bound<'_, PyTuple>, preset: Option<String>) -> PyResult<Config> {
        let files = files.iter().map(|file| Ok(Document::File(file.extract::<PathBuf>()?))).collect::<PyResult<_>>()?;
        Config::of(py, Sources { preset, files, ..Sources::default() })
    }

    /// A configuration from the `text` of a file; `name` stands for it in errors.
    #[staticmethod]
    #[pyo3(signature = (text, name = "text"))]
    fn from_toml(py: Python<'_>, text: String, name: &str) -> PyResult<Config> {
        let text = Document::Text { name: name.into(), text };
        Config::of(py, Sources { files: vec![text], ..Sources::default() })
    }

    /// A copy with one key changed, `set(key, value)`, or with those of a dictionary; nested tables merge. `None` unsets an
    /// optional key.
    ///
    /// - `key`: a dotted key such as `gc.threshold`, or a dict.
    /// - `value`: its value; nothing beside a dict.
    #[pyo3(signature = (key, /, *value))]
    fn set(&self, py: Python<'_>, key: &Bound<'_, PyAny>, value: &Bound<'_, PyTuple>) -> PyResult<Config> {
        let mut sources = self.settings.sources().clone();
        match (key.cast::<PyDict>(), value.len()) {
            (Ok(table), 0) => changes(Levels::ALL, "", table, &mut sources.changes)?,
            (Err(_), 1) => match key.extract::<String>() {
                Ok(key) => sources.changes.push(change(Levels::ALL, &key, &value.get_item(0)?)?),
                Err(_) => {
                    return Err(usage(
                        py,
                        format!("the key {} is not a str", key.repr()?),
                        "name a key such as gc.threshold",
                    ));
                }
            },
            _ => return Err(usage(py, "set takes a key and a value, or a dict", "")),
        }
        Config::of(py, sources)
    }

    fn __getitem__<'py>(&self, py: Python<'py>, key: &str) -> PyResult<Bound<'py, PyAny>> {
        python_of(py, &self.settings.value(key).map_err(|error| raised(py, &error))?)
    }

    /// Digest of the effective configuration, as `config_digest` of a summary.
    #[getter]
    fn digest(&self) -> &str {
        &self.digest
    }

    /// Bytes that the host may address.
    #[getter]
    fn capacity_bytes(&self) -> u64 {
        self.settings.config.capacity_bytes()
    }

    /// Where the value of `key` was set: `default`, or a text and the line in it.
    fn origin(&self, py: Python<'_>, key: &str) -> PyResult<String> {
        self.settings.value(key).map_err(|error| raised(py, &error))?;
        Ok(self.settings.origin(key))
    }

    /// The effective configuration as TOML. Equal configurations give equal texts.
    fn to_toml(&self) -> String {
        self.settings.toml()
    }

    /// The effective configuration, every key of every section; None where a key has no value.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        python_of(py, &serde_json::Value::Object(self.settings.values()))
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((py.get_type::<Config>().getattr("from_toml")?, (self.settings.toml(),)))
    }

    fn __repr__(&self) -> String {
        let own = self.settings.arguments();
        let own = if own.is_empty() { "defaults".into() } else { own.join(", ") };
        format!("<ssdlab.Config {}: {own}>", &self.digest[..8])
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("ssdlab._repr")?.call_method1("config_html", (slf,))
    }
}

/// Something that has a name: a preset, a scheme, a workload.
#[pyclass(module = "ssdlab", frozen, get_all)]
#[derive(Clone)]
pub struct Info {
    /// Its name.
    name: String,
    /// Its document or its manual.
    text: String,
    /// The knobs of a scheme.
    knobs: Vec<Knob>,
    /// The slot of a scheme, such as `schemes.victim`.
    slot: Option<String>,
}

#[pymethods]
impl Info {
    fn __repr__(&self) -> String {
        format!("<ssdlab.Info {}>", self.name)
    }
}

/// A knob of a scheme.
#[pyclass(module = "ssdlab", frozen, get_all)]
#[derive(Clone)]
pub struct Knob {
    /// Its name.
    name: String,
    /// Its default, as JSON writes it.
    default: String,
    /// The values that it takes.
    range: String,
    /// Its purpose.
    meaning: String,
}

#[pymethods]
impl Knob {
    fn __repr__(&self) -> String {
        format!("<ssdlab.Knob {} = {}>", self.name, self.default)
    }
}

/// The named configurations; `text` is the document.
#[pyfunction]
pub fn presets() -> Vec<Info> {
    let info = |preset: &named::Preset| Info {
        name: preset.name.into(),
        text: preset.text.into(),
        knobs: Vec::new(),
        slot: None,
    };
    named::ALL.iter().map(info).collect()
}

/// The schemes of all slots; `text` is the manual.
#[pyfunction]
pub fn schemes() -> Vec<Info> {
    let knob = |knob: needs::Knob| {
        let needs::Knob { name, default, range, meaning } = knob;
        Knob { name, default, range, meaning }
    };
    let info = |scheme: slots_of::SchemeInfo| Info {
        name: scheme.name.into(),
        text: scheme.manual.lines().map(str::trim).collect::<Vec<_>>().join("\n"),
        knobs: needs::knobs(&scheme).into_iter().map(knob).collect(),
        slot: Some(scheme.slot.into()),
    };
    slots_of::all().into_iter().map(info).collect()
}

/// The workloads that come with the package; `text` is the document.
#[pyfunction]
pub fn workloads() -> Vec<Info> {
    let info =
        |one: &workload::Named| Info { name: one.name.into(), text: one.text.into(), knobs: Vec::new(), slot: None };
    workload::all().iter().map(info).collect()
}

/// The slots, each with the names of the schemes that fill it.
#[pyfunction]
pub fn slots(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let slots = PyDict::new(py);
    for scheme in slots_of::all() {
        let names = slots.call_method1("setdefault", (scheme.slot, PyList::empty(py)))?;
        names.call_method1("append", (scheme.name,))?;
    }
    Ok(slots)
}

/// The JSON Schema of a kind of file.
///
/// - `kind`: `"configuration"`, `"study"`, `"fleet"` or `"workload"`.
#[pyfunction]
#[pyo3(signature = (kind = "configuration"))]
#[pyo3(text_signature = "(kind='configuration')")]
pub fn schema<'py>(py: Python<'py>, kind: &str) -> PyResult<Bound<'py, PyAny>> {
    let file: File = kind.parse().map_err(|error: String| usage(py, error, ""))?;
    python_of(py, &file.schema())
}
