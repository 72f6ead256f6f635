//! `Requests`: which requests runs serve, stated once for any number of runs. The arguments of the same names that `run` and others
//! take make one.

use std::path::PathBuf;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use ssdlab_lab::input::{self, Origin, Reading, Tenant, When};
use ssdlab_trace::LbaPolicy;

use crate::arguments::{bytes_of, counted, parsed, scale_of, seed_of};
use crate::errors::{raised, usage};
use crate::requests::{Enough, bounded};
use crate::values::toml_of;

/// The arguments.
const NAMES: [&str; 18] = [
    "trace",
    "workload",
    "tenants",
    "format",
    "device",
    "limit",
    "loop",
    "until",
    "time_scale",
    "replay",
    "lba_policy",
    "on_bad_line",
    "time_order",
    "op_codes",
    "within_second",
    "max_request",
    "traces",
    "seed",
];

#[doc = concat!(
    "Which requests a run serves, and how recordings are read: stated once, for `run`, `compare`, `sweep`, `explain`, `whatif` and\n",
    "`report`. It does not change. A table is read when this is made; a stream that can be read once serves one run.\n\n",
    requests_manual!(),
    "\n- `seed`: seed of every random choice; by default 1.",
)]
#[pyclass(module = "ssdlab", frozen)]
pub struct Requests {
    /// The arguments that were given.
    given: Py<PyDict>,
    /// The requests.
    pub requests: input::Requests,
    /// The seed of a run that names none.
    pub seed: u64,
}

#[pymethods]
impl Requests {
    #[new]
    #[pyo3(signature = (**given))]
    #[pyo3(
        text_signature = "(*, trace=None, workload=None, tenants=None, format='auto', device=None, limit=None, loop=1, until=None, time_scale=1, \
        replay=None, lba_policy='error', on_bad_line='error', time_order='error', op_codes=None, within_second='once', \
        max_request=None, traces=None, seed=1)"
    )]
    fn new(py: Python<'_>, given: Option<&Bound<'_, PyDict>>) -> PyResult<Requests> {
        Requests::of("Requests", &given.map_or_else(|| Ok(PyDict::new(py)), |given| given.copy())?)
    }

    /// These requests with other arguments: `requests.replace(limit=1000)`.
    ///
    /// - `changes`: arguments of `Requests` by name; None takes one back.
    #[pyo3(signature = (**changes))]
    fn replace(&self, py: Python<'_>, changes: Option<&Bound<'_, PyDict>>) -> PyResult<Requests> {
        self.changed("replace", py, changes)
    }

    /// What was given, by name.
    fn _given(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        Ok(self.given.bind(py).copy()?.unbind())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let mut shown = Vec::new();
        for (name, value) in self.given.bind(py).iter() {
            // Of a table there would be too much to see.
            let long = name.to_string() == "trace" && value.extract::<PathBuf>().is_err();
            let value = if long { value.get_type().name()?.to_string() } else { value.repr()?.to_string() };
            shown.push(format!("{name}={value}"));
        }
        Ok(format!("ssdlab.Requests({})", shown.join(", ")))
    }
}

impl Requests {
    /// Those that the arguments of a function name.
    fn of(function: &str, given: &Bound<'_, PyDict>) -> PyResult<Requests> {
        let py = given.py();
        let named = PyDict::new(py);
        for (name, value) in given.iter() {
            let name: String = name.extract()?;
            if !NAMES.contains(&name.as_str()) {
                let wrong = format!("{function}() got an unexpected keyword argument '{name}'");
                return Err(PyTypeError::new_err(wrong));
            }
            if !value.is_none() {
                named.set_item(name, value)?;
            }
        }
        let arguments = Given(named.clone());
        let seed = arguments.get("seed")?.map_or(Ok(1), |seed| seed_of(py, &seed))?;
        Ok(Requests { requests: arguments.requests()?, seed, given: named.unbind() })
    }

    fn changed(&self, function: &str, py: Python<'_>, changes: Option<&Bound<'_, PyDict>>) -> PyResult<Requests> {
        let given = self.given.bind(py).copy()?;
        changes.map_or(Ok(()), |changes| given.update(changes.as_mapping()))?;
        Requests::of(function, &given)
    }

    /// Those of a function that takes them as `source`, as arguments of their own, or as both: then these change those.
    pub fn taken<'py>(
        function: &str,
        source: Option<&Bound<'py, PyAny>>,
        given: Option<Bound<'py, PyDict>>,
        py: Python<'py>,
    ) -> PyResult<Bound<'py, Requests>> {
        let Some(source) = source else {
            return Bound::new(py, Requests::of(function, &given.unwrap_or_else(|| PyDict::new(py)))?);
        };
        let Ok(source) = source.cast::<Requests>() else {
            let what = format!("source: a value of type {} is no Requests", source.get_type().name()?);
            return Err(usage(py, what, "give sl.Requests(...), or name the arguments: workload=..., trace=..."));
        };
        match given.filter(|given| !given.is_empty()) {
            None => Ok(source.clone()),
            given => Bound::new(py, source.get().changed(function, py, given.as_ref())?),
        }
    }
}

/// Tenants: a dict of names and texts such as `"workload:random-read,depth=4"`, or a list of `"NAME=..."`.
fn tenants_of(given: &Bound<'_, PyAny>) -> PyResult<Vec<Tenant>> {
    let py = given.py();
    let wrong = || {
        let help = "give a dict such as {\"db\": \"workload:random-read,depth=4\"}, or a list of \"NAME=...\"";
        usage(py, format!("tenants: {} is not one", given.get_type()), help)
    };
    let texts: Vec<String> = match given.cast::<PyDict>() {
        Ok(by_name) => {
            let text = |(name, rest): (Bound<'_, PyAny>, Bound<'_, PyAny>)| -> PyResult<String> {
                let (name, rest): (String, String) = (name.extract()?, rest.extract()?);
                Ok(format!("{name}={rest}"))
            };
            by_name.iter().map(text).collect::<PyResult<_>>().map_err(|_| wrong())?
        }
        Err(_) => given.extract().map_err(|_| wrong())?,
    };
    if texts.is_empty() {
        return Err(wrong());
    }
    texts.iter().map(|text| Tenant::parse(text).map_err(|error| raised(py, &error))).collect()
}

/// Arguments by name.
struct Given<'py>(Bound<'py, PyDict>);

impl<'py> Given<'py> {
    fn get(&self, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.0.get_item(name)
    }

    /// A value of a type, or the error that Python has for arguments.
    fn typed<T>(&self, name: &str, value: &Bound<'py, PyAny>) -> PyResult<T>
    where
        T: for<'a> FromPyObject<'a, 'py, Error = PyErr>,
    {
        value
            .extract()
            .map_err(|error: PyErr| PyTypeError::new_err(format!("argument '{name}': {}", error.value(value.py()))))
    }

    /// A text, or the usual one.
    fn text(&self, name: &str, usual: &str) -> PyResult<String> {
        self.get(name)?.map_or_else(|| Ok(usual.to_string()), |value| self.typed(name, &value))
    }

    /// The requests.
    fn requests(&self) -> PyResult<input::Requests> {
        let py = self.0.py();
        let (reading, lba_policy) = (self.reading()?, parsed(py, "lba_policy", &self.text("lba_policy", "error")?)?);
        let limit = counted(py, "limit", self.get("limit")?.as_ref())?;
        let loops = counted(py, "loop", self.get("loop")?.as_ref())?.unwrap_or(1);
        let loops = u32::try_from(loops).map_err(|_| {
            usage(py, format!("loop: {loops} is out of range"), "a run repeats its requests at most 4294967295 times")
        })?;
        let until_end = match self.text("until", "")?.as_str() {
            "" => false,
            "end-of-life" => true,
            other => {
                let refusal = format!("until: `{other}` is not one of its values");
                return Err(usage(py, refusal, "the value is end-of-life"));
            }
        };
        let replay = self.text("replay", "")?;
        let unknown =
            |_| usage(py, format!("replay: `{replay}` is not one of its values"), "the values are arrival, closed");
        let replay = if replay.is_empty() { None } else { Some(replay.parse::<When>().map_err(unknown)?) };
        let enough = Enough::of(limit, &reading, lba_policy == LbaPolicy::Clip);
        let time_scale = self.get("time_scale")?.map_or(Ok(None), |scale| scale_of(&scale))?;
        Ok(input::Requests {
            from: self.origin(enough)?,
            reading,
            limit,
            loops,
            until_end,
            time_scale,
            replay,
            lba_policy,
        })
    }

    /// Where they come from; of a stream, no more than is enough.
    fn origin(&self, enough: Option<Enough>) -> PyResult<Origin> {
        let py = self.0.py();
        let recordings: Option<PathBuf> = self.get("traces")?.map(|path| self.typed("traces", &path)).transpose()?;
        let (trace, workload) = (self.get("trace")?, self.get("workload")?);
        if let Some(tenants) = self.get("tenants")? {
            return match (trace, workload, recordings) {
                (None, None, None) => Ok(Origin::Tenants(tenants_of(&tenants)?)),
                _ => Err(usage(py, "tenants are given, and other requests", "give one of them")),
            };
        }
        match (trace, workload) {
            (Some(_), Some(_)) => Err(usage(py, "both trace and workload are given", "give one of them")),
            (None, None) => Err(usage(py, "no requests", "give trace=..., workload=... or tenants=...")),
            (Some(_), None) if recordings.is_some() => {
                Err(usage(py, "traces applies to workloads", "leave it out, or name a workload"))
            }
            (Some(trace), None) => Ok(Origin::Trace(bounded(&trace, enough)?)),
            (None, Some(workload)) => match workload.cast::<PyDict>() {
                Ok(spec) if recordings.is_none() => {
                    let spec = toml::to_string(&toml_of("workload", spec.as_any())?);
                    Ok(Origin::Spec(spec.map_err(|error| usage(py, format!("workload: {error}"), ""))?))
                }
                Ok(_) => Err(usage(py, "traces applies to named workloads", "leave it out")),
                Err(_) => {
                    let name: PathBuf = workload
                        .extract()
                        .map_err(|_| usage(py, "workload: expected a name, the path of a TOML file, or a dict", ""))?;
                    Ok(Origin::Workload { name: name.to_string_lossy().into_owned(), recordings })
                }
            },
        }
    }

    /// How they are read.
    fn reading(&self) -> PyResult<Reading> {
        let (py, usual) = (self.0.py(), Reading::default());
        let device = self.get("device")?.map(|device| Ok::<_, PyErr>(device.str()?.to_string())).transpose()?;
        let codes =
            self.get("op_codes")?.map(|codes| parsed(py, "op_codes", &self.typed::<String>("op_codes", &codes)?));
        let most = self.get("max_request")?.map(|most| bytes_of("max_request", &most));
        Ok(Reading {
            format: self.text("format", "auto")?,
            device,
            on_bad_line: parsed(py, "on_bad_line", &self.text("on_bad_line", "error")?)?,
            time_order: parsed(py, "time_order", &self.text("time_order", "error")?)?,
            op_codes: codes.unwrap_or(Ok(usual.op_codes))?,
            within_second: parsed(py, "within_second", &self.text("within_second", "once")?)?,
            max_request: most.unwrap_or(Ok(usual.max_request))?,
        })
    }
}
