//! `compare` and `reproduce`: many runs side by side.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use ssdlab_cli::args::ladder::Depths;
use ssdlab_cli::ladder::closed;
use ssdlab_lab::error::Error;
use ssdlab_lab::input::Requests as Wanted;
use ssdlab_lab::results::sheet::Place;
use ssdlab_lab::settings::argument;
use ssdlab_lab::variants::axes::Axis;
use ssdlab_lab::variants::comparison::{Comparison as Compared, Planned, Row, Seeds, can_be_read_again};
use ssdlab_lab::variants::points::Plan;
use ssdlab_papers::{Reproduction as Done, Wanted as Paper};
use ssdlab_report::charts;
use ssdlab_report::inputs::Inputs;

use crate::arguments::{bytes_of, check_of, counted, seed_of};
use crate::config::Config;
use crate::errors::{engine, raised, usage};
use crate::policy::{Objects, policies, varied};
use crate::report;
use crate::source::Requests;
use crate::summary::Summary;
use crate::table::Table;
use crate::values::toml_of;
use crate::watch::{Board, Follower};

/// Most runs of a comparison, as on the command line.
const MOST_POINTS: u64 = 1_000_000;

/// One variant of a comparison.
#[pyclass(module = "ssdlab", frozen, get_all)]
pub struct Variant {
    /// Its values in a few words.
    name: String,
    /// Its value of each key that is varied, as on the command line.
    values: Py<PyDict>,
    /// Its summaries, one a seed; none if it was refused.
    summaries: Vec<Py<Summary>>,
    /// The rule that refuses it, if one does.
    refused: Option<String>,
}

#[pymethods]
impl Variant {
    fn __repr__(&self) -> String {
        match &self.refused {
            None => format!("<ssdlab.Variant {}: {} runs>", self.name, self.summaries.len()),
            Some(rule) => format!("<ssdlab.Variant {}: refused: {rule}>", self.name),
        }
    }
}

/// The same requests on several configurations, each compared with the first.
#[pyclass(module = "ssdlab", frozen, sequence)]
pub struct Comparison {
    /// One row per variant, with all figures.
    #[pyo3(get)]
    table: Py<Table>,
    /// What the command says about the requests on standard error.
    #[pyo3(get)]
    remarks: Vec<String>,
    variants: Vec<Py<Variant>>,
    json: String,
    markdown: String,
}

#[pymethods]
impl Comparison {
    fn __len__(&self) -> usize {
        self.variants.len()
    }

    fn __getitem__(&self, py: Python<'_>, index: isize) -> PyResult<Py<Variant>> {
        let at = if index < 0 { index + self.variants.len() as isize } else { index };
        let variant = usize::try_from(at).ok().and_then(|at| self.variants.get(at));
        variant
            .map(|variant| variant.clone_ref(py))
            .ok_or_else(|| PyIndexError::new_err(format!("the comparison has {} variants", self.variants.len())))
    }

    /// The figures as one table, as `ssdlab compare --markdown` prints it.
    fn to_markdown(&self) -> &str {
        &self.markdown
    }

    /// The bytes of the file that `ssdlab compare --json` writes.
    fn to_json(&self) -> &str {
        &self.json
    }

    fn __repr__(&self) -> String {
        format!("<ssdlab.Comparison of {} variants>", self.variants.len())
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("ssdlab._repr")?.call_method1("comparison_html", (slf,))
    }

    /// The table that the command prints, the heading first, and the ratios as SVG; for notebooks.
    fn _shown(&self, py: Python<'_>) -> PyResult<(Vec<Vec<String>>, Option<String>)> {
        let value: serde_json::Value = serde_json::from_str(&self.json).unwrap_or_default();
        let table = charts::comparison_table(&value);
        let inputs = Inputs { compare: Some(value), ..Inputs::default() };
        let figure = engine(py, || charts::make("compare", &inputs, &charts::Wanted::default()))?;
        let rows = [table.columns].into_iter().chain(report::texts(&table.rows)).collect();
        Ok((rows, figure.empty.is_none().then(|| report::svg(&figure))))
    }

    #[doc = concat!(
        "Writes the page that `ssdlab report` makes of compare.json, the file of `ssdlab compare --json`.\n\n",
        report_manual!(),
    )]
    #[pyo3(signature = (path, *, lite = false, title = None, sections = None, max_size = None))]
    #[pyo3(text_signature = "($self, path, *, lite=False, title=None, sections=None, max_size='8MiB')")]
    fn report(
        &self,
        py: Python<'_>,
        path: PathBuf,
        lite: bool,
        title: Option<String>,
        sections: Option<Vec<String>>,
        max_size: Option<Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let wanted =
            report::PageArguments { path, lite, title, sections, timeline_window: None, max_size }.wanted(py)?;
        report_of(py, "compare.json", &self.json, &wanted)
    }
}

/// Writes the page of one JSON file.
fn report_of(py: Python<'_>, name: &str, json: &str, wanted: &report::Wanted) -> PyResult<()> {
    let scratch = report::scratch(py)?;
    let file = report::put(scratch.path(), name, json).map_err(|error| raised(py, &error))?;
    report::write(py, &[file], wanted)
}

fn axes_of(vary: &Bound<'_, PyDict>) -> PyResult<Vec<Axis>> {
    let py = vary.py();
    let mut axes = Vec::new();
    for (key, values) in vary.iter() {
        let key: String = key.extract().map_err(|_| usage(py, "vary: a key is not a str", ""))?;
        if values.is_instance_of::<PyString>() {
            return Err(usage(py, format!("vary: the values of {key} are not a list"), "give a list of values"));
        }
        let mut axis = Axis { key, values: Vec::new(), policies: BTreeMap::new() };
        for value in values.try_iter()? {
            let value = value?;
            let text = match varied(&axis.key, &value)? {
                Some((name, policies)) => {
                    axis.policies.insert(name.clone(), policies);
                    name
                }
                None => argument(&toml_of(&axis.key, &value)?),
            };
            axis.values.push(text);
        }
        axes.push(axis);
    }
    Ok(axes)
}

fn variant_of(py: Python<'_>, axes: &[Axis], row: &Row) -> PyResult<Py<Variant>> {
    let values = PyDict::new(py);
    axes.iter().zip(&row.variant.values).try_for_each(|(axis, value)| values.set_item(&axis.key, value))?;
    let summaries = row.outcomes.iter().map(|outcome| Summary::of(py, outcome.json())).collect::<PyResult<_>>()?;
    let refused = row.variant.refused.as_ref().map(ToString::to_string);
    Py::new(py, Variant { name: row.name.clone(), values: values.unbind(), summaries, refused })
}

#[doc = concat!(
    "Simulates the same requests on several configurations and compares each with the first.\n\n",
    "- `cfg`: the configuration that is varied; by default the built-in device.\n",
    "- `source`: `Requests`, in place of the arguments from `trace` to `traces`, which change them if both are given.\n",
    "- `vary`: a dict of keys (also `preset` and `file`), each with a list of values; every combination is a variant. Values of\n",
    "  `schemes.victim` and `schemes.trigger` may be policies written in Python.\n",
    "- `repeat`: seeds of each variant, from `seed` on.\n",
    "- `jobs`: runs at the same time, by default one a core, as far as memory allows; results do not depend on it.\n",
    requests_manual!(),
    "\n",
    how_manual!(),
    "\n",
    progress_manual!(),
    "\n",
    policies_manual!(),
    " of every variant. Each run asks a deep copy of its own, so that results are those of `run`.",
)]
#[pyfunction]
#[pyo3(signature = (cfg = None, source = None, *, vary = None, repeat = None, jobs = None, seed = None, check = "sampled",
    count_only = false, memory_limit = None, progress = None, victim = None, trigger = None, **given))]
#[pyo3(
    text_signature = "(cfg=None, source=None, *, vary=None, repeat=1, jobs=None, trace=None, workload=None, tenants=None, format='auto', \
    device=None, limit=None, loop=1, until=None, time_scale=1, replay=None, lba_policy='error', on_bad_line='error', time_order='error', \
    op_codes=None, within_second='once', max_request=None, traces=None, seed=1, check='sampled', count_only=False, \
    memory_limit=None, progress='auto', victim=None, trigger=None)"
)]
#[allow(clippy::too_many_arguments, reason = "they are the options of the command")]
pub fn compare<'py>(
    py: Python<'py>,
    cfg: Option<&Config>,
    source: Option<Bound<'py, PyAny>>,
    vary: Option<Bound<'py, PyDict>>,
    repeat: Option<Bound<'py, PyAny>>,
    jobs: Option<Bound<'py, PyAny>>,
    seed: Option<Bound<'py, PyAny>>,
    check: &str,
    count_only: bool,
    memory_limit: Option<Bound<'py, PyAny>>,
    progress: Option<Bound<'py, PyAny>>,
    victim: Option<Bound<'py, PyAny>>,
    trigger: Option<Bound<'py, PyAny>>,
    given: Option<Bound<'py, PyDict>>,
) -> PyResult<Comparison> {
    let axes = vary.as_ref().map_or(Ok(Vec::new()), axes_of)?;
    let source = Requests::taken("compare", source.as_ref(), given, py)?;
    let requests = source.get().requests.clone();
    let seed = seed.as_ref().map_or(Ok(source.get().seed), |seed| seed_of(py, seed))?;
    let asked = Asked { cfg, repeat, jobs, seed, check, count_only, memory_limit, progress, victim, trigger };
    asked.compare(py, axes, &requests, ssdlab_cli::compare::markdown)
}

/// What `compare` and `ladder` take alike.
struct Asked<'a, 'py> {
    cfg: Option<&'a Config>,
    repeat: Option<Bound<'py, PyAny>>,
    jobs: Option<Bound<'py, PyAny>>,
    seed: u64,
    check: &'a str,
    count_only: bool,
    memory_limit: Option<Bound<'py, PyAny>>,
    progress: Option<Bound<'py, PyAny>>,
    victim: Option<Bound<'py, PyAny>>,
    trigger: Option<Bound<'py, PyAny>>,
}

impl Asked<'_, '_> {
    /// Runs the variants; `markdown` is the form of their table.
    fn compare(
        self,
        py: Python<'_>,
        axes: Vec<Axis>,
        requests: &Wanted,
        markdown: fn(&Compared) -> String,
    ) -> PyResult<Comparison> {
        let config = Config::or_default(py, self.cfg)?;
        let policies = policies(self.victim.as_ref(), self.trigger.as_ref(), Objects::Copied)?;
        let repeat = counted(py, "repeat", self.repeat.as_ref())?.unwrap_or(1);
        let plan = Plan {
            check: check_of(py, self.check)?,
            count_only: self.count_only,
            jobs: counted(py, "jobs", self.jobs.as_ref())?,
            memory_limit: self.memory_limit.as_ref().map(|limit| bytes_of("memory_limit", limit)).transpose()?,
        };
        let seeds = Seeds { first: self.seed, count: repeat };
        let board = Board::new(py, self.progress)?;
        let done = engine(py, || {
            axes.iter().try_for_each(Axis::check)?;
            if axes.is_empty() && repeat == 1 {
                return Err(Error::usage("nothing to compare").help(
                    "give vary={KEY: [V1, V2, ...]}, or repeat=N for the spread over seeds of one configuration",
                ));
            }
            can_be_read_again(requests)?;
            let planned =
                Planned::new(config.settings.sources(), axes, seeds, MOST_POINTS)?.with(&policies)?.of(requests);
            let sheet = planned.sheet(&Place::MEMORY)?;
            let points = planned.points(requests);
            board.expect(points.len());
            let done = planned.run(&points, &plan, &Follower(board.clone()))?;
            let (_, frame) = done.write(sheet)?.parts();
            Ok((done, frame))
        });
        let (done, frame) = board.result(py, done)?;
        let frame = frame.ok_or_else(|| usage(py, "the rows are not in memory", ""))?;
        let variants = done.rows.iter().map(|row| variant_of(py, &done.axes, row)).collect::<PyResult<_>>()?;
        Ok(Comparison {
            table: Py::new(py, Table::of(frame))?,
            remarks: done.remarks(),
            variants,
            json: done.json(),
            markdown: markdown(&done),
        })
    }
}

/// Queue depths from a text such as `1..256`, or numbers.
fn depths_of(py: Python<'_>, depth: Option<&Bound<'_, PyAny>>) -> PyResult<Axis> {
    let text = match depth {
        None => "1..256".into(),
        Some(depth) if depth.is_instance_of::<PyString>() => depth.extract::<String>()?,
        Some(depth) => {
            let numbers: Vec<u32> = depth
                .extract()
                .map_err(|_| usage(py, "depth: expected a text such as '1..256', or a list of whole numbers", ""))?;
            numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
        }
    };
    let depths: Depths = text.parse().map_err(|error: String| usage(py, format!("depth: {error}"), ""))?;
    let values = depths.0.iter().map(ToString::to_string).collect();
    Ok(Axis { key: "device.queue_depth".into(), values, policies: BTreeMap::new() })
}

#[doc = concat!(
    "Runs the same requests at several queue depths, always in a closed loop: when a request completes, the next one arrives.\n\n",
    "- `cfg`: the configuration; by default the built-in device.\n",
    "- `source`: `Requests`, in place of the arguments from `trace` to `traces`, which change them if both are given.\n",
    "- `depth`: depths as `\"FROM..TO\"`, doubled from FROM on and with TO itself, or a list of numbers.\n",
    "- `repeat`: seeds of each depth, from `seed` on.\n",
    "- `jobs`: runs at the same time, by default one a core, as far as memory allows; results do not depend on it.\n",
    requests_manual!(),
    "\n",
    "- `seed`: seed of every random choice.\n",
    "- `check`: how much the oracle checks: `\"off\"`, `\"sampled\"` or `\"full\"`; results do not depend on it.\n",
    "- `memory_limit`: of all devices together: bytes, or a text such as `\"2GiB\"`; by default 80 % of the free memory.",
    "\n",
    progress_manual!(),
    "\n",
    policies_manual!(),
    " of every depth. Each run asks a deep copy of its own, so that results are those of `run`.",
)]
#[pyfunction]
#[pyo3(signature = (cfg = None, source = None, *, depth = None, repeat = None, jobs = None, seed = None, check = "sampled",
    memory_limit = None, progress = None, victim = None, trigger = None, **given))]
#[pyo3(
    text_signature = "(cfg=None, source=None, *, depth='1..256', repeat=1, jobs=None, trace=None, workload=None, tenants=None, format='auto', \
    device=None, limit=None, loop=1, until=None, time_scale=1, replay=None, lba_policy='error', on_bad_line='error', time_order='error', \
    op_codes=None, within_second='once', max_request=None, traces=None, seed=1, check='sampled', \
    memory_limit=None, progress='auto', victim=None, trigger=None)"
)]
#[allow(clippy::too_many_arguments, reason = "they are the options of the command")]
pub fn ladder<'py>(
    py: Python<'py>,
    cfg: Option<&Config>,
    source: Option<Bound<'py, PyAny>>,
    depth: Option<Bound<'py, PyAny>>,
    repeat: Option<Bound<'py, PyAny>>,
    jobs: Option<Bound<'py, PyAny>>,
    seed: Option<Bound<'py, PyAny>>,
    check: &str,
    memory_limit: Option<Bound<'py, PyAny>>,
    progress: Option<Bound<'py, PyAny>>,
    victim: Option<Bound<'py, PyAny>>,
    trigger: Option<Bound<'py, PyAny>>,
    given: Option<Bound<'py, PyDict>>,
) -> PyResult<Comparison> {
    let axes = vec![depths_of(py, depth.as_ref())?];
    let source = Requests::taken("ladder", source.as_ref(), given, py)?;
    let mut requests = source.get().requests.clone();
    requests.replay = Some(closed(requests.replay).map_err(|error| raised(py, &error))?);
    let seed = seed.as_ref().map_or(Ok(source.get().seed), |seed| seed_of(py, seed))?;
    let asked = Asked { cfg, repeat, jobs, seed, check, count_only: false, memory_limit, progress, victim, trigger };
    asked.compare(py, axes, &requests, ssdlab_cli::ladder::markdown)
}

/// A paper's tables and figures with our numbers.
#[pyclass(module = "ssdlab", frozen)]
pub struct Reproduction {
    /// One row per value of the paper.
    #[pyo3(get)]
    figures: Py<Table>,
    /// By kind of value: how many have which verdict.
    #[pyo3(get)]
    verdicts: Py<PyDict>,
    /// Remarks on the runs.
    #[pyo3(get)]
    remarks: Vec<String>,
    json: String,
    markdown: String,
}

#[pymethods]
impl Reproduction {
    /// As `ssdlab reproduce --markdown` prints it.
    fn to_markdown(&self) -> &str {
        &self.markdown
    }

    /// The bytes of the file that `ssdlab reproduce --json` writes.
    fn to_json(&self) -> &str {
        &self.json
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("<ssdlab.Reproduction: {}>", self.verdicts.bind(py).repr()?))
    }

    #[doc = concat!(
        "Writes the page that `ssdlab report` makes of reproduce.json, the file of `ssdlab reproduce --json`.\n\n",
        report_manual!(),
    )]
    #[pyo3(signature = (path, *, lite = false, title = None, sections = None, max_size = None))]
    #[pyo3(text_signature = "($self, path, *, lite=False, title=None, sections=None, max_size='8MiB')")]
    fn report(
        &self,
        py: Python<'_>,
        path: PathBuf,
        lite: bool,
        title: Option<String>,
        sections: Option<Vec<String>>,
        max_size: Option<Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let wanted =
            report::PageArguments { path, lite, title, sections, timeline_window: None, max_size }.wanted(py)?;
        report_of(py, "reproduce.json", &self.json, &wanted)
    }
}

#[doc = concat!(
    "Computes a paper's tables and figures, or those that are named.\n\n",
    "- `paper`: its letter or name: a (idle-chip), b (pagc), c (brr), d (fastgc), e (noc), or `\"all\"`.\n",
    "- `ids`: tables and figures such as `\"fig14a\"`; by default all.\n",
    "- `quick`: a smaller device and fewer requests.\n",
    "- `assumptions`: everything under each of the paper's open assumptions, too.\n",
    "- `readings`: names of readings under which every claim is judged too, or `[\"all\"]`.\n",
    "- `load`: arrivals are calibrated to the level that the paper prints.\n",
    "- `traces`: a directory of recordings to run in place of their models.\n",
    "- `format`: formats of the recordings, as a list: one for all, or `\"NAME=FORMAT\"`.\n",
    "- `limit`: at most this many requests of each workload.\n",
    "- `seeds`: seeds of each run, from `seed` on; by default 5, or 1 with `quick`, `assumptions` or `readings`.\n",
    how_manual!(),
    "\n- `jobs`: runs at the same time, by default one a core, as far as memory allows; results do not depend on it.\n",
    progress_manual!(),
)]
#[pyfunction]
#[pyo3(signature = (paper, ids = None, *, quick = false, assumptions = false, readings = None, load = false, traces = None, format = None, limit = None,
    seed = None, seeds = None, check = "sampled", count_only = false, jobs = None, memory_limit = None, progress = None))]
#[pyo3(
    text_signature = "(paper, ids=None, *, quick=False, assumptions=False, readings=None, load=False, traces=None, format=None, limit=None, seed=1, \
    seeds=None, check='sampled', count_only=False, jobs=None, memory_limit=None, progress='auto')"
)]
#[allow(clippy::too_many_arguments, reason = "they are the options of the command")]
pub fn reproduce<'py>(
    py: Python<'py>,
    paper: String,
    ids: Option<Vec<String>>,
    quick: bool,
    assumptions: bool,
    readings: Option<Vec<String>>,
    load: bool,
    traces: Option<PathBuf>,
    format: Option<Vec<String>>,
    limit: Option<Bound<'py, PyAny>>,
    seed: Option<Bound<'py, PyAny>>,
    seeds: Option<Bound<'py, PyAny>>,
    check: &str,
    count_only: bool,
    jobs: Option<Bound<'py, PyAny>>,
    memory_limit: Option<Bound<'py, PyAny>>,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Reproduction> {
    let wanted = Paper {
        paper,
        ids: ids.unwrap_or_default(),
        quick,
        traces,
        format: format.unwrap_or_default(),
        limit: counted(py, "limit", limit.as_ref())?,
        assumptions,
        readings: readings.unwrap_or_default(),
        load,
        seeds: counted(py, "seeds", seeds.as_ref())?,
        seed: seed.as_ref().map_or(Ok(1), |seed| seed_of(py, seed))?,
        plan: Plan {
            check: check_of(py, check)?,
            count_only,
            jobs: counted(py, "jobs", jobs.as_ref())?,
            memory_limit: memory_limit.as_ref().map(|limit| bytes_of("memory_limit", limit)).transpose()?,
        },
    };
    let board = Board::new(py, progress)?;
    let done = engine(py, || {
        let done = Done::run(&wanted, &|runs| {
            board.expect_more(runs);
            Box::new(Follower(board.clone()))
        })?;
        let frame = done.rows()?;
        Ok((done, frame))
    });
    let (done, frame) = board.result(py, done)?;
    let verdicts = PyDict::new(py);
    for (kind, counts) in done.verdicts() {
        let by_verdict = PyDict::new(py);
        counts.into_iter().try_for_each(|(verdict, count)| by_verdict.set_item(verdict, count))?;
        verdicts.set_item(kind, by_verdict)?;
    }
    Ok(Reproduction {
        figures: Py::new(py, Table::of(frame))?,
        verdicts: verdicts.unbind(),
        remarks: done.remarks().cloned().collect(),
        json: done.json(),
        markdown: done.markdown(),
    })
}
