//! Arguments from Python as values: numbers, durations, sizes, and what the command reads from text.

use std::str::FromStr;

use pyo3::prelude::*;
use pyo3::types::{PyDelta, PyString};
use ssdlab_sim::Check;
use ssdlab_sim::units::{Bytes, Nanos};
use ssdlab_trace::CLOCK_MAX_NS;

use crate::errors::usage;
use crate::values::nanoseconds;

/// A value from its text; `name` is the argument.
pub fn parsed<T: FromStr>(py: Python<'_>, name: &str, text: &str) -> PyResult<T>
where
    T::Err: std::fmt::Display,
{
    text.parse().map_err(|error| usage(py, format!("{name}: `{text}`: {error}"), ""))
}

/// A whole number from 1 on.
pub fn counted(py: Python<'_>, name: &str, given: Option<&Bound<'_, PyAny>>) -> PyResult<Option<u64>> {
    let Some(given) = given.filter(|given| !given.is_none()) else { return Ok(None) };
    match given.extract::<u64>() {
        Ok(number) if number > 0 => Ok(Some(number)),
        _ => Err(usage(py, format!("{name}: {} is not a whole number from 1 on", given.repr()?), "")),
    }
}

/// A time of the simulator's clock, or the length of a part of it, in nanoseconds.
pub fn time_of(name: &str, given: &Bound<'_, PyAny>) -> PyResult<u64> {
    given.extract().map_err(|_| {
        let text = given.repr().map_or(String::new(), |text| text.to_string());
        let help = format!("the simulator's clock ends at {CLOCK_MAX_NS} ns (2^61 - 1)");
        usage(given.py(), format!("{name}: {text} is not a whole number of nanoseconds, not negative"), &help)
    })
}

pub fn seed_of(py: Python<'_>, given: &Bound<'_, PyAny>) -> PyResult<u64> {
    given.extract().map_err(|_| {
        let text = given.repr().map_or(String::new(), |text| text.to_string());
        usage(py, format!("seed: {text} is not a whole number of 64 bits, not negative"), "")
    })
}

/// A number of bytes: an int, or a text such as `"2GiB"`.
pub fn bytes_of(name: &str, given: &Bound<'_, PyAny>) -> PyResult<u64> {
    let py = given.py();
    if let Ok(text) = given.cast::<PyString>() {
        return parsed::<Bytes>(py, name, text.to_str()?).map(|bytes| bytes.0);
    }
    given.extract::<u64>().map_err(|_| {
        usage(
            py,
            format!("{name}: {} is no number of bytes", given.repr().map_or(String::new(), |t| t.to_string())),
            "give an int, or a str such as \"2GiB\"",
        )
    })
}

/// A duration: a text such as `"100ms"`, or a `timedelta`.
pub fn duration_of(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Nanos> {
    let py = given.py();
    if let Ok(text) = given.cast::<PyString>() {
        return parsed(py, name, text.to_str()?);
    }
    if given.is_instance_of::<PyDelta>() {
        return nanoseconds(given)?.map(Nanos).map_err(|why| usage(py, format!("{name}: {why}"), ""));
    }
    Err(usage(py, format!("{name}: {} is no duration", given.repr()?), "give a str such as \"100ms\", or a timedelta"))
}

pub fn check_of(py: Python<'_>, text: &str) -> PyResult<Check> {
    match text {
        "off" => Ok(Check::Off),
        "sampled" => Ok(Check::Sampled),
        "full" => Ok(Check::Full),
        _ => Err(usage(py, format!("check: `{text}` is not one of its values"), "the values are off, sampled, full")),
    }
}

/// A factor on times: a number, or a text such as `"1/3"`.
pub fn scale_of(given: &Bound<'_, PyAny>) -> PyResult<Option<ssdlab_trace::Scale>> {
    let py = given.py();
    let text = given.str()?;
    let scale = parsed::<ssdlab_trace::Scale>(py, "time_scale", text.to_str()?)?;
    Ok((!scale.is_one()).then_some(scale))
}
