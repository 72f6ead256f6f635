//! `run`: the arguments of a run from Python, its progress, and its result.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDelta, PyDict, PyInt, PyString};
use ssdlab_figures::figure::Figure;
use ssdlab_lab::drive::Tick;
use ssdlab_lab::error::{Error, Kind};
use ssdlab_lab::input::{Origin, Reading, Requests, Tenant, When};
use ssdlab_lab::perf::Moment;
use ssdlab_lab::report::charts;
use ssdlab_lab::report::inputs::Inputs;
use ssdlab_lab::results::sheet::Place;
use ssdlab_lab::results::timeline::{Span, To};
use ssdlab_lab::run::{How, Outputs, Progress, arguments};
use ssdlab_lab::text::count;
use ssdlab_sim::Check;
use ssdlab_sim::blame::CAUSES;
use ssdlab_sim::units::{Bytes, Nanos};

use crate::config::Config;
use crate::errors::{self, broken, engine, raised, taken, usage};
use crate::policy::choose;
use crate::report;
use crate::requests::trace_of;
use crate::summary::Summary;
use crate::table::Table;
use crate::values::{nanoseconds, python_of, toml_of};
use crate::why::{Explanation, Made, WhatIf};

/// Time between two looks at signals.
const LOOK: Duration = Duration::from_millis(20);
/// Least time between two reports of progress.
const REPORT: Duration = Duration::from_millis(200);
/// A bar appears only for runs that take longer.
const PATIENCE: Duration = Duration::from_secs(2);

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

/// A seed.
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

/// The level of checks.
pub fn check_of(py: Python<'_>, text: &str) -> PyResult<Check> {
    match text {
        "off" => Ok(Check::Off),
        "sampled" => Ok(Check::Sampled),
        "full" => Ok(Check::Full),
        _ => Err(usage(py, format!("check: `{text}` is not one of its values"), "the values are off, sampled, full")),
    }
}

/// A factor on times: a number, or a text such as `"1/3"`.
fn scale_of(given: &Bound<'_, PyAny>) -> PyResult<Option<ssdlab_trace::Scale>> {
    let py = given.py();
    let text = given.str()?;
    let scale = parsed::<ssdlab_trace::Scale>(py, "time_scale", text.to_str()?)?;
    Ok((!scale.is_one()).then_some(scale))
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

/// Arguments that say which requests there are; the same for `run` and `compare`.
pub struct Given<'py> {
    pub trace: Option<Bound<'py, PyAny>>,
    pub workload: Option<Bound<'py, PyAny>>,
    pub tenants: Option<Bound<'py, PyAny>>,
    pub format: &'py str,
    pub device: Option<Bound<'py, PyAny>>,
    pub limit: Option<Bound<'py, PyAny>>,
    pub r#loop: Bound<'py, PyAny>,
    pub time_scale: Bound<'py, PyAny>,
    pub replay: Option<&'py str>,
    pub lba_policy: &'py str,
    pub on_bad_line: &'py str,
    pub time_order: &'py str,
    pub op_codes: Option<&'py str>,
    pub within_second: &'py str,
    pub max_request: Option<Bound<'py, PyAny>>,
    pub traces: Option<PathBuf>,
}

impl Given<'_> {
    /// The requests.
    pub fn requests(&self, py: Python<'_>) -> PyResult<Requests> {
        let from = match (&self.trace, &self.workload) {
            (trace, workload) if self.tenants.is_some() => {
                if trace.is_some() || workload.is_some() || self.traces.is_some() {
                    return Err(usage(py, "tenants are given, and other requests", "give one of them"));
                }
                Origin::Tenants(self.tenants.as_ref().map_or(Ok(Vec::new()), tenants_of)?)
            }
            (Some(_), Some(_)) => return Err(usage(py, "both trace and workload are given", "give one of them")),
            (None, None) => return Err(usage(py, "no requests", "give trace=..., workload=... or tenants=...")),
            (Some(_), None) if self.traces.is_some() => {
                return Err(usage(py, "traces applies to workloads", "leave it out, or name a workload"));
            }
            (Some(trace), None) => Origin::Trace(trace_of(trace)?),
            (None, Some(workload)) => match workload.cast::<PyDict>() {
                Ok(spec) if self.traces.is_none() => {
                    let spec = toml::to_string(&toml_of("workload", spec.as_any())?);
                    Origin::Spec(spec.map_err(|error| usage(py, format!("workload: {error}"), ""))?)
                }
                Ok(_) => return Err(usage(py, "traces applies to named workloads", "leave it out")),
                Err(_) => {
                    let name: PathBuf = workload
                        .extract()
                        .map_err(|_| usage(py, "workload: expected a name, the path of a TOML file, or a dict", ""))?;
                    Origin::Workload { name: name.to_string_lossy().into_owned(), recordings: self.traces.clone() }
                }
            },
        };
        let usual = Reading::default();
        let device = self.device.as_ref().map(|device| Ok::<_, PyErr>(device.str()?.to_string())).transpose()?;
        let loops = counted(py, "loop", Some(&self.r#loop))?.unwrap_or(1);
        let loops = u32::try_from(loops).map_err(|_| {
            usage(py, format!("loop: {loops} is out of range"), "a run repeats its requests at most 4294967295 times")
        })?;
        Ok(Requests {
            from,
            reading: Reading {
                format: self.format.into(),
                device,
                on_bad_line: parsed(py, "on_bad_line", self.on_bad_line)?,
                time_order: parsed(py, "time_order", self.time_order)?,
                op_codes: self.op_codes.map_or(Ok(usual.op_codes), |text| parsed(py, "op_codes", text))?,
                within_second: parsed(py, "within_second", self.within_second)?,
                max_request: self
                    .max_request
                    .as_ref()
                    .map_or(Ok(usual.max_request), |given| bytes_of("max_request", given))?,
            },
            limit: counted(py, "limit", self.limit.as_ref())?,
            loops,
            time_scale: scale_of(&self.time_scale)?,
            replay: match self.replay {
                None => None,
                Some("arrival") => Some(When::Arrival),
                Some("closed") => Some(When::Closed),
                Some(other) => {
                    return Err(usage(
                        py,
                        format!("replay: `{other}` is not one of its values"),
                        "the values are arrival, closed",
                    ));
                }
            },
            lba_policy: parsed(py, "lba_policy", self.lba_policy)?,
        })
    }
}

/// Who hears of the progress.
pub enum Listener {
    /// Nobody.
    Silent,
    /// A line on standard error, once a run takes long.
    Line {
        /// Whether it was shown.
        shown: bool,
    },
    /// A function.
    Function(Py<PyAny>),
}

impl Listener {
    /// From the argument `progress`.
    pub fn of(progress: &Bound<'_, PyAny>) -> PyResult<Listener> {
        let py = progress.py();
        if progress.is_callable() {
            return Ok(Listener::Function(progress.clone().unbind()));
        }
        if let Ok(flag) = progress.cast::<PyBool>() {
            return Ok(if flag.is_true() { Listener::Line { shown: false } } else { Listener::Silent });
        }
        if progress.extract::<String>().is_ok_and(|text| text == "auto") {
            let modules = py.import("sys")?.getattr("modules")?;
            let errors = py.import("sys")?.getattr("stderr")?;
            let terminal = !errors.is_none() && errors.call_method0("isatty")?.is_truthy()?;
            let watched = terminal || modules.contains("ipykernel")?;
            return Ok(if watched { Listener::Line { shown: false } } else { Listener::Silent });
        }
        Err(usage(
            py,
            format!("progress: {} is not one of its values", progress.repr()?),
            "give \"auto\", False, or a function of (done, total, simulated_ns)",
        ))
    }

    fn tell(&mut self, py: Python<'_>, done: u64, total: Option<u64>, now: u64, since: Duration) -> PyResult<()> {
        match self {
            Listener::Silent => Ok(()),
            Listener::Function(function) => function.call1(py, (done, total, now)).map(drop),
            Listener::Line { shown } => {
                if since < PATIENCE {
                    return Ok(());
                }
                *shown = true;
                let share = total
                    .filter(|total| *total > 0)
                    .map(|total| format!(" {:.0} %,", 100.0 * done as f64 / total as f64));
                write(
                    py,
                    &format!(
                        "\rssdlab:{} {}, {:.3} s simulated ",
                        share.unwrap_or_default(),
                        count(done),
                        now as f64 / 1e9
                    ),
                )
            }
        }
    }

    /// Clears the line.
    fn end(&mut self, py: Python<'_>) {
        if let Listener::Line { shown: true } = self {
            let _ = write(py, &format!("\r{:60}\r", ""));
        }
    }
}

fn write(py: Python<'_>, text: &str) -> PyResult<()> {
    let errors = py.import("sys")?.getattr("stderr")?;
    errors.call_method1("write", (text,))?;
    errors.call_method0("flush").map(drop)
}

/// Whether this is the thread that handles signals.
fn main_thread(py: Python<'_>) -> PyResult<bool> {
    let threading = py.import("threading")?;
    threading
        .call_method0("current_thread")?
        .getattr("ident")?
        .eq(threading.call_method0("main_thread")?.getattr("ident")?)
}

/// Looks at signals and reports progress, in the thread that called.
pub struct Watch {
    listener: Listener,
    /// Whether signals are looked at.
    signals: bool,
    started: Instant,
    looked: Instant,
    reported: Option<Instant>,
    /// Done, total, simulated time.
    latest: Option<(u64, Option<u64>, u64)>,
    /// What ended the run.
    raised: Option<PyErr>,
    /// When a law broke.
    broken: Option<u64>,
}

impl Watch {
    /// Begins to watch.
    pub fn new(progress: &Bound<'_, PyAny>) -> PyResult<Watch> {
        let (listener, now) = (Listener::of(progress)?, Instant::now());
        Ok(Watch {
            listener,
            signals: main_thread(progress.py())?,
            started: now,
            looked: now,
            reported: None,
            latest: None,
            raised: None,
            broken: None,
        })
    }

    /// The state of the run.
    pub fn set(&mut self, done: u64, total: Option<u64>, now: u64) {
        self.latest = Some((done, total, now));
    }

    /// Looks, if it is time to.
    pub fn look(&mut self) -> ControlFlow<()> {
        let now = Instant::now();
        if now - self.looked < LOOK {
            return ControlFlow::Continue(());
        }
        self.looked = now;
        let report = !matches!(self.listener, Listener::Silent);
        if !self.signals && !report {
            return ControlFlow::Continue(());
        }
        let looked = Python::attach(|py| {
            if self.signals {
                py.check_signals()?;
            }
            self.report(py, now)
        });
        match looked {
            Ok(()) => ControlFlow::Continue(()),
            Err(raised) => {
                self.raised = Some(raised);
                ControlFlow::Break(())
            }
        }
    }

    fn report(&mut self, py: Python<'_>, now: Instant) -> PyResult<()> {
        if self.reported.is_some_and(|reported| now - reported < REPORT) {
            return Ok(());
        }
        let Some((done, total, time)) = self.latest else { return Ok(()) };
        self.reported = Some(now);
        self.listener.tell(py, done, total, time, now - self.started)
    }

    /// What ended the run, if it was this.
    pub fn raised(&mut self) -> Option<PyErr> {
        self.raised.take()
    }

    /// The run has ended.
    pub fn end(&mut self, py: Python<'_>) -> PyResult<()> {
        let told =
            if matches!(self.listener, Listener::Function(_)) { self.report(py, Instant::now()) } else { Ok(()) };
        self.listener.end(py);
        told
    }
}

impl Progress for Watch {
    fn at(&mut self, tick: Tick) -> ControlFlow<()> {
        self.set(tick.requests, tick.total, tick.now.0);
        ControlFlow::Continue(())
    }

    fn go_on(&mut self) -> ControlFlow<()> {
        self.look()
    }

    fn broken(&mut self, at: Nanos) {
        self.broken = Some(at.0);
    }
}

/// The result of a run.
#[pyclass(module = "ssdlab", frozen)]
pub struct Run {
    /// The summary.
    #[pyo3(get)]
    summary: Py<Summary>,
    /// What the command says about the requests on standard error.
    #[pyo3(get)]
    remarks: Vec<String>,
    /// The cost of the simulation itself.
    #[pyo3(get)]
    perf: Py<PyAny>,
    /// One row per request, if they were asked for.
    #[pyo3(get)]
    requests: Option<Py<Table>>,
    /// One row per window of simulated time, if they were asked for.
    #[pyo3(get)]
    series: Option<Py<Table>>,
    /// One row per block, if they were asked for.
    #[pyo3(get)]
    blocks: Option<Py<Table>>,
    /// One row per bucket of latencies and waits, if they were asked for.
    #[pyo3(get)]
    histograms: Option<Py<Table>>,
    /// The file of the timeline, if one was asked for.
    #[pyo3(get)]
    timeline: Option<PathBuf>,
    /// The configuration.
    #[pyo3(get)]
    config: Config,
    /// The file with latencies, of buckets or of requests, if one was asked for.
    latencies: Option<PathBuf>,
    /// Latency by percentile.
    curve: Option<Figure>,
    /// What it was made of.
    pub made: Made,
}

#[pymethods]
impl Run {
    /// All programs of flash over those for host data.
    #[getter]
    fn write_amplification<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.summary.bind(py).get_item("write_amplification")
    }

    /// Why requests are slow. The run is simulated again and watched, and once more with each change to try.
    #[pyo3(signature = (at = None, *, tries = None, jobs = None, top = 5, progress = None))]
    #[pyo3(text_signature = "($self, at=None, *, tries='auto', jobs=None, top=5, progress='auto')")]
    fn explain<'py>(
        &self,
        py: Python<'py>,
        at: Option<&str>,
        tries: Option<Bound<'py, PyAny>>,
        jobs: Option<Bound<'py, PyAny>>,
        top: usize,
        progress: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Py<Explanation>> {
        let tries = tries.unwrap_or_else(|| PyString::new(py, "auto").into_any());
        self.explained(py, at, Some(&tries), jobs.as_ref(), top, progress)
    }

    /// Had something not happened: the device is copied before it, and both copies serve the same requests.
    #[pyo3(signature = (at = "slowest", *, change = None, without = None, before = None, after = None, rows = false,
        progress = None))]
    #[pyo3(
        text_signature = "($self, at='slowest', *, change=None, without=None, before='1s', after='1s', rows=False, \
        progress='auto')"
    )]
    #[allow(clippy::too_many_arguments, reason = "they are the options of the command")]
    fn whatif<'py>(
        &self,
        py: Python<'py>,
        at: &str,
        change: Option<Bound<'py, PyAny>>,
        without: Option<Bound<'py, PyAny>>,
        before: Option<Bound<'py, PyAny>>,
        after: Option<Bound<'py, PyAny>>,
        rows: bool,
        progress: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Py<WhatIf>> {
        self.what_if(py, at, change.as_ref(), without.as_ref(), before.as_ref(), after.as_ref(), rows, progress)
    }

    fn __repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("ssdlab._repr")?.call_method1("run_text", (slf,))
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("ssdlab._repr")?.call_method1("run_html", (slf,))
    }

    /// The percentile curve and the causes of latency as SVG, for notebooks.
    fn _pictures(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let mut inputs = Inputs::default();
        inputs.run.summary = serde_json::from_str(self.summary.get().to_json()).ok();
        let causes = engine(py, || charts::make("causes", &inputs, &charts::Wanted::default()))?;
        Ok(self.curve.iter().chain([&causes]).filter(|figure| figure.empty.is_none()).map(report::svg).collect())
    }

    /// Writes the page that `ssdlab report` makes of the results: of summary.json, histograms.csv, series.csv and blocks.csv as far
    /// as the run has them, and of the files that it wrote.
    #[pyo3(signature = (path, *, lite = false, title = None, sections = None, timeline_window = None, max_size = None))]
    #[pyo3(
        text_signature = "($self, path, *, lite=False, title=None, sections=None, timeline_window=None, max_size='8MiB')"
    )]
    #[allow(clippy::too_many_arguments, reason = "they are the options of the command")]
    fn report(
        &self,
        py: Python<'_>,
        path: PathBuf,
        lite: bool,
        title: Option<String>,
        sections: Option<Vec<String>>,
        timeline_window: Option<&str>,
        max_size: Option<Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let wanted = report::Wanted::of(py, path, lite, title, sections, timeline_window, max_size)?;
        let scratch = report::scratch(py)?;
        let put = report::put(scratch.path(), "summary.json", self.summary.get().to_json());
        let mut files = vec![put.map_err(|error| raised(py, &error))?];
        // Requests have all that their histograms would have; rows of some columns do not.
        let needed = || ["request", "arrival_ns", "op", "latency_ns"].into_iter().chain(CAUSES.map(|(_, name)| name));
        let requests = self.requests.as_ref().filter(|rows| needed().all(|name| rows.get().has(name)));
        let latencies = match (&self.histograms, &self.latencies, requests) {
            (Some(rows), ..) => Some(("histograms.csv", rows)),
            (None, Some(file), _) => {
                files.push(file.clone());
                None
            }
            (None, None, rows) => rows.map(|rows| ("requests.csv", rows)),
        };
        let tables = [
            self.series.as_ref().map(|rows| ("series.csv", rows)),
            self.blocks.as_ref().map(|rows| ("blocks.csv", rows)),
        ];
        for (name, rows) in latencies.into_iter().chain(tables.into_iter().flatten()) {
            let path = scratch.path().join(name);
            rows.get().write_csv(py, path.clone())?;
            files.push(path);
        }
        files.extend(self.timeline.clone());
        report::write(py, &files, &wanted)
    }
}

/// Whether an argument asks for rows in memory or in a file; none for neither.
fn place_of(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Option<Place>> {
    if given.is_none() {
        return Ok(None);
    }
    if let Ok(flag) = given.cast::<PyBool>() {
        return Ok(flag.is_true().then_some(Place::MEMORY));
    }
    let path = given.extract::<PathBuf>().map_err(|_| {
        let shown = given.repr().map_or(String::new(), |text| text.to_string());
        usage(given.py(), format!("{name}: {shown} is not one of its values"), "give True, or a path")
    });
    path.map(|path| Some(Place::File(path)))
}

/// Where the rows of requests go.
fn rows_of(given: &Bound<'_, PyAny>, how: &How, config: &Config) -> PyResult<Option<Place>> {
    let most = how.room(&config.settings.config);
    if let Ok(flag) = given.cast::<PyBool>() {
        return Ok(flag.is_true().then_some(Place::Memory { columns: None, most }));
    }
    if given.is_none() {
        return Ok(None);
    }
    if let Ok(path) = given.extract::<PathBuf>() {
        return Ok(Some(Place::File(path)));
    }
    match given.extract::<Vec<String>>() {
        Ok(columns) => Ok(Some(Place::Memory { columns: Some(columns), most })),
        Err(_) => Err(usage(
            given.py(),
            format!("requests: {} is not one of its values", given.repr()?),
            "give True, a list of columns, or a path",
        )),
    }
}

/// Simulates a trace or a workload and returns what happened.
#[pyfunction]
#[pyo3(signature = (cfg = None, *, trace = None, workload = None, tenants = None, format = "auto", device = None,
    limit = None, r#loop = None, time_scale = None, replay = None, lba_policy = "error", on_bad_line = "error", time_order = "error", op_codes = None,
    within_second = "once", max_request = None, traces = None, seed = None, check = "sampled", count_only = false,
    alone = false, requests = None, series = None, blocks = false, histograms = None, timeline = None, timeline_window = None, memory_limit = None,
    progress = None, victim = None, trigger = None))]
#[pyo3(
    text_signature = "(cfg=None, *, trace=None, workload=None, tenants=None, format='auto', device=None, limit=None, loop=1, time_scale=1, \
    replay=None, lba_policy='error', on_bad_line='error', time_order='error', op_codes=None, within_second='once', \
    max_request=None, traces=None, seed=1, check='sampled', count_only=False, alone=False, requests=False, series=None, blocks=False, \
    histograms=False, timeline=None, timeline_window=None, memory_limit=None, progress='auto', victim=None, trigger=None)"
)]
#[allow(clippy::too_many_arguments, reason = "they are the options of the command")]
fn run<'py>(
    py: Python<'py>,
    cfg: Option<&Config>,
    trace: Option<Bound<'py, PyAny>>,
    workload: Option<Bound<'py, PyAny>>,
    tenants: Option<Bound<'py, PyAny>>,
    format: &str,
    device: Option<Bound<'py, PyAny>>,
    limit: Option<Bound<'py, PyAny>>,
    r#loop: Option<Bound<'py, PyAny>>,
    time_scale: Option<Bound<'py, PyAny>>,
    replay: Option<&str>,
    lba_policy: &str,
    on_bad_line: &str,
    time_order: &str,
    op_codes: Option<&str>,
    within_second: &str,
    max_request: Option<Bound<'py, PyAny>>,
    traces: Option<PathBuf>,
    seed: Option<Bound<'py, PyAny>>,
    check: &str,
    count_only: bool,
    alone: bool,
    requests: Option<Bound<'py, PyAny>>,
    series: Option<Bound<'py, PyAny>>,
    blocks: bool,
    histograms: Option<Bound<'py, PyAny>>,
    timeline: Option<PathBuf>,
    timeline_window: Option<&str>,
    memory_limit: Option<Bound<'py, PyAny>>,
    progress: Option<Bound<'py, PyAny>>,
    victim: Option<Bound<'py, PyAny>>,
    trigger: Option<Bound<'py, PyAny>>,
) -> PyResult<Run> {
    let start = Moment::now();
    let config = Config::or_default(py, cfg)?;
    let one = || PyInt::new(py, 1).into_any();
    let wanted = Given {
        trace,
        workload,
        tenants,
        format,
        device,
        limit,
        r#loop: r#loop.unwrap_or_else(one),
        time_scale: time_scale.unwrap_or_else(one),
        replay,
        lba_policy,
        on_bad_line,
        time_order,
        op_codes,
        within_second,
        max_request,
        traces,
    }
    .requests(py)?;
    let how = How {
        seed: seed.as_ref().map_or(Ok(1), |seed| seed_of(py, seed))?,
        check: check_of(py, check)?,
        count_only,
        memory_limit: memory_limit.as_ref().map(|limit| bytes_of("memory_limit", limit)).transpose()?,
    };
    let window = timeline_window.map(|window| parsed::<Span>(py, "timeline_window", window)).transpose()?;
    if window.is_some() && timeline.is_none() {
        return Err(usage(py, "timeline_window without timeline", "give timeline=PATH, or leave it out"));
    }
    let outputs = Outputs {
        requests: requests.map_or(Ok(None), |requests| rows_of(&requests, &how, &config))?,
        series: series.map(|window| Ok::<_, PyErr>((Place::MEMORY, duration_of("series", &window)?))).transpose()?,
        blocks: blocks.then_some(Place::MEMORY),
        histograms: histograms.map_or(Ok(None), |histograms| place_of("histograms", &histograms))?,
        tail: !count_only,
        alone,
        timeline: timeline.clone().map(|path| (To::File(path), window)),
        ..Outputs::default()
    };
    // The result names the files, wherever the caller moves to.
    let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
    let timeline = timeline.map(absolute);
    let latencies = [&outputs.histograms, &outputs.requests].into_iter().find_map(|place| place.as_ref()?.path());
    let latencies = latencies.map(|path| absolute(path.to_path_buf()));
    let mut watch = Watch::new(&progress.unwrap_or_else(|| PyString::new(py, "auto").into_any()))?;
    let mut settings = (*config.settings).clone();
    match victim.as_ref().filter(|victim| victim.is_instance_of::<errors::WrongVictim>()) {
        Some(_) => settings.config.schemes.victim = errors::WrongVictim::slot(),
        None => choose(&mut settings.config, victim.as_ref(), trigger.as_ref())?,
    }
    let made = Made { settings: settings.clone(), requests: wanted.clone(), how };
    let work = || {
        let run = ssdlab_lab::run::Run::new(settings, how, start)?;
        run.open(&wanted)?.simulate(&outputs, &mut watch)
    };
    drop(taken());
    let done = py.detach(|| catch_unwind(AssertUnwindSafe(work)));
    let mut done = match done {
        Ok(Ok(done)) => done,
        Ok(Err(error)) => {
            watch.listener.end(py);
            return Err(watch.raised().or_else(taken).unwrap_or_else(|| raised(py, &error)));
        }
        Err(panic) => {
            watch.listener.end(py);
            let command = arguments(&config.settings, &wanted, how).into_iter().map(Into::into);
            let command = ssdlab_cli::quoted(&std::iter::once("ssdlab".into()).chain(command).collect::<Vec<_>>());
            return Err(broken(py, &*panic, watch.broken, Some(&command)));
        }
    };
    let summary = Summary::of(py, done.outcome.json())?;
    let simulated = done.outcome.summary.simulated_ns;
    watch.set(
        done.perf.requests,
        Some(done.perf.requests),
        serde_json::to_value(simulated).ok().and_then(|ns| ns.as_u64()).unwrap_or(0),
    );
    watch.end(py)?;
    py.check_signals()?;
    let table = |frame: Option<_>| frame.map(|frame| Py::new(py, Table::of(frame))).transpose();
    let (requests, series) = (table(done.requests.take())?, table(done.series.take())?);
    let (blocks, histograms) = (table(done.blocks.take())?, table(done.buckets.take())?);
    let curve = done.histograms.take().and_then(|histograms| {
        let mut inputs = Inputs::default();
        inputs.run.histograms = Some(histograms);
        charts::on_page("percentiles", &inputs, &charts::Shown::default())
    });
    engine(py, || done.publish())?;
    let perf = serde_json::to_value(&done.perf)
        .map_err(|error| raised(py, &Error::new(Kind::Invariant, error.to_string())))?;
    let remarks = done.outcome.chosen.iter().chain(&done.outcome.remarks).cloned().collect();
    let perf = python_of(py, &perf)?.unbind();
    Ok(Run { summary, remarks, perf, requests, series, blocks, histograms, timeline, config, latencies, curve, made })
}

/// Adds the names of this file.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Run>()?;
    module.add_function(wrap_pyfunction!(run, module)?)
}
