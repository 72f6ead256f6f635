//! Values between Python and TOML or JSON.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDelta, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use serde_json::Value as Json;
use ssdlab_lab::error::Error;
use ssdlab_lab::names::clip;
use toml::Value;

use crate::errors::raised;

/// The levels of values within values that are read. No configuration, workload or study has a tenth of them; a list that contains
/// itself has no end.
const DEEPEST: usize = 64;

/// How many levels a value may still have.
#[derive(Clone, Copy)]
pub struct Levels(usize);

impl Levels {
    /// As many as there may be.
    pub const ALL: Levels = Levels(DEEPEST);

    /// Those of the values in a value. `key` names it in errors.
    pub fn inside(self, py: Python<'_>, key: &str) -> PyResult<Levels> {
        let deeper = || {
            let key = clip(key);
            let message = format!("{key}: values are nested deeper than {DEEPEST} levels");
            raised(py, &Error::config(&*key, message).help("a dict or list must not contain itself"))
        };
        self.0.checked_sub(1).map(Levels).ok_or_else(deeper)
    }
}

/// A value that a configuration may hold, from Python: `str`, `int`, `float`, `bool`, `list`, `dict`, a `timedelta`, or a scalar
/// of numpy. `key` names it in errors.
pub fn toml_of(key: &str, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    toml_within(Levels::ALL, key, value)
}

/// Like [`toml_of`], within so many levels.
pub fn toml_within(levels: Levels, key: &str, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    let py = value.py();
    let refuse =
        |message: String, help: &str| Err(raised(py, &Error::config(key, format!("{key}: {message}")).help(help)));
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(Value::Boolean(flag.is_true()));
    }
    if value.is_instance_of::<PyInt>() {
        return match value.extract::<i64>() {
            Ok(number) => Ok(Value::Integer(number)),
            Err(_) => refuse(format!("{} is beyond 64 bits", value.str()?), ""),
        };
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(Value::Float(value.extract()?));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Value::String(text.to_str()?.into()));
    }
    if value.is_instance_of::<PyDelta>() {
        return match nanoseconds(value)? {
            Ok(ns) => Ok(Value::String(format!("{ns}ns"))),
            Err(why) => refuse(why, "give a duration that is not negative"),
        };
    }
    if let Ok(entries) = value.cast::<PyDict>() {
        let inside = levels.inside(py, key)?;
        let mut table = toml::Table::new();
        for (name, value) in entries.iter() {
            let Ok(name) = name.extract::<String>() else {
                return refuse(format!("the key {} is not a str", name.repr()?), "");
            };
            let value = toml_within(inside, &format!("{key}.{name}"), &value)?;
            table.insert(name, value);
        }
        return Ok(Value::Table(table));
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let inside = levels.inside(py, key)?;
        let items = value.try_iter()?.map(|item| toml_within(inside, key, &item?)).collect::<PyResult<_>>()?;
        return Ok(Value::Array(items));
    }
    let class = value.get_type();
    let module = class.getattr("__module__")?.extract::<String>().unwrap_or_default();
    if module == "numpy" && value.hasattr("item")? {
        if class.name()?.to_str()? == "timedelta64" {
            let ns = value.call_method1("astype", ("timedelta64[ns]",))?.call_method1("astype", ("int64",))?;
            return match ns.extract::<i64>()? {
                ns if ns >= 0 => Ok(Value::String(format!("{ns}ns"))),
                _ => refuse(format!("{} is negative", value.str()?), "give a duration that is not negative"),
            };
        }
        if value.getattr("ndim")?.extract::<usize>()? == 0 {
            return toml_within(levels.inside(py, key)?, key, &value.call_method0("item")?);
        }
    }
    refuse(
        format!("a value of type {} is none that TOML holds", class.name()?),
        "give str, int, float, bool, list, dict, datetime.timedelta or a numpy scalar; None unsets an optional key",
    )
}

/// Whole nanoseconds of a `timedelta`; subclasses may have nanoseconds of their own.
pub fn nanoseconds(delta: &Bound<'_, PyAny>) -> PyResult<Result<u64, String>> {
    let part = |name: &str| delta.getattr(name)?.extract::<i128>();
    let fine = if delta.hasattr("nanoseconds")? { part("nanoseconds")? } else { 0 };
    let us = (part("days")? * 86_400 + part("seconds")?) * 1_000_000 + part("microseconds")?;
    let ns = us * 1000 + fine;
    Ok(u64::try_from(ns).map_err(|_| format!("{} is negative or beyond 64 bits of nanoseconds", ns)))
}

/// Plain data as objects of Python.
pub fn python_of<'py>(py: Python<'py>, value: &Json) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Json::Null => py.None().into_bound(py),
        Json::Bool(flag) => PyBool::new(py, *flag).to_owned().into_any(),
        Json::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(number), _) => number.into_pyobject(py)?.into_any(),
            (None, Some(number)) => number.into_pyobject(py)?.into_any(),
            (None, None) => PyFloat::new(py, number.as_f64().unwrap_or(f64::NAN)).into_any(),
        },
        Json::String(text) => PyString::new(py, text).into_any(),
        Json::Array(items) => {
            let list = PyList::empty(py);
            items.iter().try_for_each(|item| list.append(python_of(py, item)?))?;
            list.into_any()
        }
        Json::Object(entries) => {
            let dict = PyDict::new(py);
            entries.iter().try_for_each(|(key, value)| dict.set_item(key, python_of(py, value)?))?;
            dict.into_any()
        }
    })
}
