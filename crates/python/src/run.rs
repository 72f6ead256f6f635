//! `run` and its result, and `explain` of either a result or a file.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict};
use ssdlab_figures::figure::Figure;
use ssdlab_lab::error::{Error, Kind};
use ssdlab_lab::perf::Moment;
use ssdlab_lab::results::blocks::BlockRows;
use ssdlab_lab::results::histograms::{BucketRows, Histograms, Tail};
use ssdlab_lab::results::requests::RequestRows;
use ssdlab_lab::results::series::WindowRows;
use ssdlab_lab::results::sheet::Place;
use ssdlab_lab::results::timeline::{Activity, Span};
use ssdlab_lab::run::{How, Outputs, RunOutcome, arguments};
use ssdlab_report::charts;
use ssdlab_report::inputs::Inputs;
use ssdlab_sim::blame::CAUSES;

use crate::arguments::{bytes_of, check_of, duration_of, parsed, seed_of};
use crate::config::Config;
use crate::errors::{self, broken, engine, raised, taken, usage};
use crate::policy::{Objects, policies};
use crate::report;
use crate::source::Requests;
use crate::summary::Summary;
use crate::table::Table;
use crate::values::python_of;
use crate::watch::Watch;
use crate::why::{self, Explanation, Made, WhatIf};

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
    made: Made,
}

#[pymethods]
impl Run {
    /// Pages of flash programmed over pages that the host wrote: see `write_amplification_bytes`.
    #[getter]
    fn write_amplification<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.summary.bind(py).get_item("write_amplification")
    }

    /// Write amplification: bytes of flash programmed over bytes that the host wrote. Where writes do not fill their pages, it is more
    /// than that in pages.
    #[getter]
    fn write_amplification_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.summary.bind(py).get_item("write_amplification_bytes")
    }

    #[doc = concat!(
        "Why requests are slow. The run is simulated again and watched, and once more with each change to try.\n\n",
        explain_manual!(),
        "\n",
        progress_manual!(),
    )]
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
        self.made.explain(py, &why::Wish { at, tries, jobs, top }, progress)
    }

    #[doc = concat!(
        "Had something not happened: the device is copied before it, and both copies serve the same requests.\n\n",
        what_if_manual!(),
        "\n",
        progress_manual!(),
    )]
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
        self.made.what_if(py, &why::Event { at, change, without, before, after, rows }, progress)
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

    #[doc = concat!(
        "Writes the page that `ssdlab report` makes of the results: of summary.json, histograms.csv, series.csv and blocks.csv as far\n",
        "as the run has them, and of the files that it wrote.\n\n",
        report_manual!(),
        "\n- `timeline_window`: only this part of the timeline, such as `\"10ms..12.5ms\"`.",
    )]
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
        let wanted = report::PageArguments { path, lite, title, sections, timeline_window, max_size }.wanted(py)?;
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

#[doc = concat!(
    "Simulates a trace or a workload and returns what happened.\n\n",
    "- `cfg`: the configuration; by default the built-in device.\n",
    "- `source`: `Requests`, in place of the arguments up to `traces`, which change them if both are given.\n",
    requests_manual!(),
    "\n",
    how_manual!(),
    "\n",
    "- `alone`: each tenant has the device for itself, too; the summary says how much slower it is with the others.\n",
    "- `requests`: a row per request: True, a list of columns, or the path of a file.\n",
    "- `series`: a row per window of this length, such as `\"100ms\"`.\n",
    "- `blocks`: a row per block at the end.\n",
    "- `histograms`: a row per bucket of latencies and waits: True, or the path of a file.\n",
    "- `timeline`: the file of what every plane, channel and request did.\n",
    "- `timeline_window`: only this part of simulated time, such as `\"10ms..12.5ms\"`.\n",
    progress_manual!(),
    "\n",
    policies_manual!(),
    ". The run asks the object itself.",
)]
#[pyfunction]
#[pyo3(signature = (cfg = None, source = None, *, seed = None, check = "sampled", count_only = false, alone = false,
    requests = None, series = None, blocks = false, histograms = None, timeline = None, timeline_window = None, memory_limit = None,
    progress = None, victim = None, trigger = None, **given))]
#[pyo3(
    text_signature = "(cfg=None, source=None, *, trace=None, workload=None, tenants=None, format='auto', device=None, limit=None, loop=1, until=None, \
    time_scale=1, replay=None, lba_policy='error', on_bad_line='error', time_order='error', op_codes=None, within_second='once', \
    max_request=None, traces=None, seed=1, check='sampled', count_only=False, alone=False, requests=False, series=None, blocks=False, \
    histograms=False, timeline=None, timeline_window=None, memory_limit=None, progress='auto', victim=None, trigger=None)"
)]
#[allow(clippy::too_many_arguments, reason = "they are the options of the command")]
pub fn run<'py>(
    py: Python<'py>,
    cfg: Option<&Config>,
    source: Option<Bound<'py, PyAny>>,
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
    given: Option<Bound<'py, PyDict>>,
) -> PyResult<Run> {
    let start = Moment::now();
    let config = Config::or_default(py, cfg)?;
    let source = Requests::taken("run", source.as_ref(), given, py)?;
    let wanted = source.get().requests.clone();
    let how = How {
        seed: seed.as_ref().map_or(Ok(source.get().seed), |seed| seed_of(py, seed))?,
        check: check_of(py, check)?,
        count_only,
        memory_limit: memory_limit.as_ref().map(|limit| bytes_of("memory_limit", limit)).transpose()?,
    };
    let window = timeline_window.map(|window| parsed::<Span>(py, "timeline_window", window)).transpose()?;
    if window.is_some() && timeline.is_none() {
        return Err(usage(py, "timeline_window without timeline", "give timeline=PATH, or leave it out"));
    }
    let requests = requests.map_or(Ok(None), |requests| rows_of(&requests, &how, &config))?;
    let series = series.map(|window| duration_of("series", &window)).transpose()?;
    let histograms = histograms.map_or(Ok(None), |histograms| place_of("histograms", &histograms))?;
    // The result names the files, wherever the caller moves to.
    let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
    let latencies = [&histograms, &requests].into_iter().find_map(|place| place.as_ref()?.path());
    let latencies = latencies.map(|path| absolute(path.to_path_buf()));
    let outputs = Outputs::default()
        .with_tenants_alone(alone)
        .with_some(requests.map(RequestRows))
        .with_some(series.map(|window| WindowRows { place: Place::MEMORY, window }))
        .with_some(timeline.clone().map(|path| Activity { file: Some(path), span: window }))
        .with_some(blocks.then_some(BlockRows(Place::MEMORY)))
        .with_some(histograms.map(BucketRows))
        .with_some((!count_only).then_some(Tail));
    let timeline = timeline.map(absolute);
    let mut watch = Watch::new(py, progress)?;
    let mut settings = (*config.settings).clone();
    match victim.as_ref().filter(|victim| victim.is_instance_of::<errors::WrongVictim>()) {
        Some(_) => settings.config.schemes.victim = errors::WrongVictim::slot(),
        None => policies(victim.as_ref(), trigger.as_ref(), Objects::Given)?.put(&mut settings.config),
    }
    let made = Made { settings: settings.clone(), requests: wanted.clone(), how };
    let work = || {
        let run = ssdlab_lab::run::Run::new(settings, how, start)?;
        run.open(&wanted)?.simulate(&outputs, &mut watch)
    };
    drop(taken());
    let done = py.detach(|| catch_unwind(AssertUnwindSafe(work)));
    let done = done_or_raised(py, done, &mut watch, || arguments(&config.settings, &wanted, how))?;
    finished(py, done, &mut watch, (config, latencies, timeline), made)
}

/// What a simulation returned; or the exception that it raised, or that says which law it broke.
fn done_or_raised<T>(
    py: Python<'_>,
    done: std::thread::Result<ssdlab_lab::error::Result<T>>,
    watch: &mut Watch,
    arguments: impl FnOnce() -> Vec<String>,
) -> PyResult<T> {
    match done {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) => {
            watch.hide(py);
            Err(watch.raised().or_else(taken).unwrap_or_else(|| raised(py, &error)))
        }
        Err(panic) => {
            watch.hide(py);
            let command = std::iter::once("ssdlab".into()).chain(arguments().into_iter().map(Into::into));
            let command = ssdlab_cli::quoted(&command.collect::<Vec<_>>());
            Err(broken(py, &*panic, watch.broken_at(), Some(&command)))
        }
    }
}

/// The results of a run that has ended, published.
fn finished(
    py: Python<'_>,
    mut done: RunOutcome,
    watch: &mut Watch,
    (config, latencies, timeline): (Config, Option<PathBuf>, Option<PathBuf>),
    made: Made,
) -> PyResult<Run> {
    let summary = Summary::of(py, done.outcome.json())?;
    let simulated = done.outcome.summary.simulated_ns;
    watch.set(
        done.perf.requests,
        Some(done.perf.requests),
        serde_json::to_value(simulated).ok().and_then(|ns| ns.as_u64()).unwrap_or(0),
    );
    watch.end(py)?;
    py.check_signals()?;
    let mut table = |name| done.take_frame(name).map(|frame| Py::new(py, Table::of(frame))).transpose();
    let (requests, series) = (table(RequestRows::NAME)?, table(WindowRows::NAME)?);
    let (blocks, histograms) = (table(BlockRows::NAME)?, table(BucketRows::NAME)?);
    let curve = done.value::<Histograms>().and_then(|histograms| {
        let mut inputs = Inputs::default();
        inputs.run.histograms = Some(histograms.clone());
        charts::on_page("percentiles", &inputs, &charts::Shown::default())
    });
    engine(py, || done.publish())?;
    let perf = serde_json::to_value(&done.perf)
        .map_err(|error| raised(py, &Error::new(Kind::Invariant, error.to_string())))?;
    let remarks = done.outcome.chosen.iter().chain(&done.outcome.remarks).cloned().collect();
    let perf = python_of(py, &perf)?.unbind();
    Ok(Run { summary, remarks, perf, requests, series, blocks, histograms, timeline, config, latencies, curve, made })
}

/// What a `Run` was made of, or what `Requests` and a configuration would be run with. None of other values.
fn made_of(py: Python<'_>, source: &Bound<'_, PyAny>, cfg: Option<&Config>) -> PyResult<Option<Made>> {
    if let Ok(source) = source.cast::<Requests>() {
        let (config, source) = (Config::or_default(py, cfg)?, source.get());
        let how = How { seed: source.seed, ..How::default() };
        return Ok(Some(Made { settings: (*config.settings).clone(), requests: source.requests.clone(), how }));
    }
    if cfg.is_some() {
        return Err(usage(py, "cfg is for Requests", "leave it out: a Run has its configuration, and a file has none"));
    }
    Ok(source.cast::<Run>().ok().map(|run| run.get().made.clone()))
}

#[doc = concat!(
    "Why requests are slow: of a `Run`, which is simulated again and watched, of `Requests`, or of a file of a run's rows.\n\n",
    "- `source`: a `Run`, `Requests`, or the path of a file that `requests=PATH` wrote.\n",
    "- `cfg`: the configuration for `Requests`; by default the built-in device.\n",
    explain_manual!(),
    "\n",
    progress_manual!(),
)]
#[pyfunction(name = "explain")]
#[pyo3(signature = (source, at = None, *, cfg = None, tries = None, jobs = None, top = 5, progress = None))]
#[pyo3(text_signature = "(source, at=None, *, cfg=None, tries='auto', jobs=None, top=5, progress='auto')")]
#[allow(clippy::too_many_arguments, reason = "they are the options of the command")]
pub fn explain_any<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    at: Option<&str>,
    cfg: Option<&Config>,
    tries: Option<Bound<'py, PyAny>>,
    jobs: Option<Bound<'py, PyAny>>,
    top: usize,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Py<Explanation>> {
    let wish = why::Wish { at, tries, jobs, top };
    if let Some(made) = made_of(py, source, cfg)? {
        return made.explain(py, &wish, progress);
    }
    let path: PathBuf = source
        .extract()
        .map_err(|_| usage(py, "source: expected a Run, Requests, or the path of a file of requests=PATH", ""))?;
    why::explain_file(py, &path, &wish)
}

#[doc = concat!(
    "Had something not happened in a `Run`, or in a run of `Requests`: the device is copied before it, and both copies serve the same\n",
    "requests.\n\n",
    "- `source`: a `Run`, or `Requests`.\n",
    "- `cfg`: the configuration for `Requests`; by default the built-in device.\n",
    what_if_manual!(),
    "\n",
    progress_manual!(),
)]
#[pyfunction(name = "whatif")]
#[pyo3(signature = (source, at = "slowest", *, cfg = None, change = None, without = None, before = None, after = None, rows = false,
    progress = None))]
#[pyo3(
    text_signature = "(source, at='slowest', *, cfg=None, change=None, without=None, before='1s', after='1s', rows=False, \
    progress='auto')"
)]
#[allow(clippy::too_many_arguments, reason = "they are the options of the command")]
pub fn what_if_any<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    at: &str,
    cfg: Option<&Config>,
    change: Option<Bound<'py, PyAny>>,
    without: Option<Bound<'py, PyAny>>,
    before: Option<Bound<'py, PyAny>>,
    after: Option<Bound<'py, PyAny>>,
    rows: bool,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Py<WhatIf>> {
    let event = why::Event { at, change, without, before, after, rows };
    let made = made_of(py, source, cfg)?;
    made.ok_or_else(|| usage(py, "source: expected a Run, or Requests", ""))?.what_if(py, &event, progress)
}
