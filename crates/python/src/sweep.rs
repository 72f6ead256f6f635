//! Studies for `ssdlab.sweep`: their points, their runs as texts, and what a store has of them.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pyo3::prelude::*;
use serde_json::json;
use ssdlab_lab::error::{Error, Result as LabResult};
use ssdlab_lab::policies::Policies;
use ssdlab_lab::results::sheet::Place;
use ssdlab_lab::variants::figures::column_of;
use ssdlab_lab::variants::student::{half_width, mean, mean_log, ratio};
use ssdlab_report::design;
use ssdlab_report::rank::Field;
use ssdlab_sweep::axis::{Cut, Grain, Values};
use ssdlab_sweep::disk::Disk;
use ssdlab_sweep::execute::{self, Options, Retry};
use ssdlab_sweep::fillings::Fillings;
use ssdlab_sweep::job::{End, Terms};
use ssdlab_sweep::keep;
use ssdlab_sweep::key::Hashes;
use ssdlab_sweep::points::{Points, Run};
use ssdlab_sweep::shards::Shard;
use ssdlab_sweep::status::{Standing, Survey};
use ssdlab_sweep::store::{Failed, Failure, Store};
use ssdlab_sweep::study::{Study, duration_ns};
use ssdlab_sweep::table::{Rows, Shape};
use ssdlab_sweep::task::Task;

use crate::arguments::{bytes_of, check_of, counted};
use crate::errors::{engine, usage};
use crate::policy::{Objects, policies};
use crate::table::Table;
use crate::values::python_of;
use crate::watch::{Board, asking};

/// A study with its points.
#[pyclass(module = "ssdlab", name = "_Study", frozen)]
pub struct PyStudy {
    points: Points,
}

/// Follows a sweep from the thread that called.
struct Following<'b>(&'b Board);

impl execute::Watch for Following<'_> {
    fn planned(&self, left: u64, _status: &ssdlab_sweep::status::Tally) {
        self.0.expect(left as usize);
    }

    fn ended(&self, _run: &Run, _end: &End) {
        self.0.ended();
    }

    fn go_on(&self) -> ControlFlow<()> {
        self.0.look()
    }
}

fn settle(py: Python<'_>, study: impl FnOnce() -> LabResult<Study> + Send, store: Option<&Path>) -> PyResult<PyStudy> {
    engine(py, || {
        let study = study()?;
        Ok(PyStudy { points: Points::of(study, &keep::known(store, false), ssdlab_sim::Check::Sampled)? })
    })
}

fn retry_of(py: Python<'_>, retry: Option<&str>) -> PyResult<Retry> {
    match retry {
        None => Ok(Retry::Usual),
        Some("failed") => Ok(Retry::Failed),
        Some("all") => Ok(Retry::All),
        Some(other) => Err(usage(
            py,
            format!("retry: `{other}` is not one of its values"),
            "the values are None, \"failed\", \"all\"",
        )),
    }
}

#[pymethods]
impl PyStudy {
    /// Reads a study.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf, store: Option<PathBuf>) -> PyResult<PyStudy> {
        settle(py, || Study::open(&path), store.as_deref())
    }

    /// A study from a text; relative paths begin at `directory`.
    #[staticmethod]
    fn parse(py: Python<'_>, text: &str, directory: PathBuf, store: Option<PathBuf>) -> PyResult<PyStudy> {
        settle(py, || Study::parse("study", text, &directory), store.as_deref())
    }

    /// The same study at other points: by point and axis, the place in a list or the number in a range.
    fn at(&self, py: Python<'_>, choices: Vec<Vec<f64>>) -> PyResult<PyStudy> {
        let study = &self.points.study;
        settle(py, || study.at(&choices), None)
    }

    /// The same study at these of its points, by their places, and without limits.
    fn _again(&self, py: Python<'_>, places: Vec<usize>) -> PyResult<PyStudy> {
        let study = &self.points.study;
        settle(py, || study.again(&places), None)
    }

    /// The same study with policies written in Python in every run. A store tells them apart by `identity`, and keeps `files` of them.
    fn with_policies(
        &self,
        py: Python<'_>,
        victim: Option<&Bound<'_, PyAny>>,
        trigger: Option<&Bound<'_, PyAny>>,
        identity: String,
        files: Vec<(String, Vec<u8>)>,
    ) -> PyResult<PyStudy> {
        let given = Policies { identity, files, ..policies(victim, trigger, Objects::Copied)? };
        let study = &self.points.study;
        settle(py, || study.with(given), None)
    }

    #[getter]
    fn name(&self) -> &str {
        &self.points.study.name
    }

    fn __len__(&self) -> usize {
        self.points.points.len()
    }

    /// The axes: label, and values of a list or ends of a range.
    fn axes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let axis = |axis: &ssdlab_sweep::axis::Axis| match &axis.values {
            Values::List(items) => {
                let shown: Vec<_> =
                    items.iter().map(|item| serde_json::to_value(&item.shown).unwrap_or_default()).collect();
                json!({ "label": axis.label, "values": shown })
            }
            Values::Range(range, _) => json!({
                "label": axis.label,
                "from": range.from,
                "to": range.to,
                "log": range.cut == Cut::Log,
                "whole": range.grain != Grain::Micro,
            }),
        };
        python_of(py, &self.points.study.axes.iter().map(axis).collect())
    }

    /// The values of each point by axis.
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let labels: Vec<&str> = self.points.study.axes.iter().map(|axis| axis.label.as_str()).collect();
        let of = |point: &ssdlab_sweep::points::Point| {
            let values = labels.iter().zip(&point.items);
            let values = values
                .map(|(label, item)| ((*label).to_string(), serde_json::to_value(&item.shown).unwrap_or_default()));
            serde_json::Value::Object(values.collect())
        };
        python_of(py, &self.points.points.iter().map(of).collect())
    }

    /// The place of the baseline of each point, if it has one.
    fn baseline(&self) -> Vec<Option<usize>> {
        self.points.baseline()
    }

    /// The labels of the axes that choose the requests, if they have several values.
    fn workloads(&self) -> Vec<String> {
        let (axes, at) = design::of(&self.points);
        let chosen = Field::of(&axes, at.iter().map(Vec::as_slice)).workloads();
        chosen.into_iter().map(|axis| axes[axis].key.clone()).collect()
    }

    /// The best design over all workloads (its points, and the geometric mean of its ratios to the baseline; none where all points
    /// serve the same requests), and the best point for each workload with its mean: as pages of studies rank them. `values` has those
    /// of a measure by point and seed, `more` whether more is better.
    #[allow(clippy::type_complexity, reason = "it is taken apart where it is called")]
    fn best(&self, values: Vec<Vec<f64>>, more: bool) -> (Option<(Vec<usize>, f64)>, Vec<(usize, f64)>) {
        let (axes, at) = design::of(&self.points);
        let field = Field::of(&axes, at.iter().map(Vec::as_slice));
        let means: Vec<f64> = values.iter().map(|seeds| mean(seeds)).collect();
        let logs: Vec<f64> = values.iter().map(|seeds| mean_log(seeds)).collect();
        let design = field.design(&logs, more).map(|design| (design.points, design.ratio));
        (design, field.points(&means, more))
    }

    /// Point and key of each run that is known to be needed, in order, with its seed.
    fn runs(&self, py: Python<'_>, store: PathBuf) -> PyResult<Vec<(usize, u64, String)>> {
        engine(py, || {
            let store = store.exists().then(|| Store::open(&store)).transpose()?;
            let runs = Survey::of(&self.points, store.as_ref())?.runs();
            Ok(runs.into_iter().map(|run| (run.point, run.seed, run.key)).collect())
        })
    }

    /// Makes the store and keeps the study there.
    fn keep(&self, py: Python<'_>, store: PathBuf) -> PyResult<()> {
        engine(py, || keep::keep(&self.points, &Store::create(&store, Disk::default())?, &Hashes::default()))
    }

    /// Runs it in threads; the exit status that the command would have.
    #[pyo3(signature = (store, *, jobs, shard, time_limit, retry, claim, check, memory_limit, fill_cache, progress))]
    #[allow(clippy::too_many_arguments, reason = "they are the options of the command")]
    fn run(
        &self,
        py: Python<'_>,
        store: PathBuf,
        jobs: Option<Bound<'_, PyAny>>,
        shard: Option<&str>,
        time_limit: Option<&str>,
        retry: Option<&str>,
        claim: bool,
        check: &str,
        memory_limit: Option<Bound<'_, PyAny>>,
        fill_cache: Option<PathBuf>,
        progress: Bound<'_, PyAny>,
    ) -> PyResult<u8> {
        let time_limit = time_limit.map(duration_ns).transpose();
        let options = Options {
            jobs: counted(py, "jobs", jobs.as_ref())?,
            time_limit_ns: time_limit
                .map_err(|error| usage(py, format!("time_limit: {error}"), "give a str such as \"55m\""))?,
            retry: retry_of(py, retry)?,
            claim,
            check: check_of(py, check)?,
            memory_limit: memory_limit.as_ref().map(|limit| bytes_of("memory_limit", limit)).transpose()?,
            ..Options::default()
        };
        let board = Board::new(py, Some(progress))?;
        let done = engine(py, || {
            let find = |name: &str| std::env::var(name).ok();
            let shard = shard.map(|text| Shard::parse(text, &find)).transpose()?.unwrap_or(Shard::WHOLE);
            let store = Store::create(&store, Disk::default())?;
            let options = Options { shard, fillings: kept(fill_cache.as_deref())?, ..options };
            execute::run(&self.points, &store, &options, &Following(&board))
        });
        Ok(board.result(py, done)?.exit_status())
    }

    /// The runs that are left, each as a text that another process can take.
    #[pyo3(signature = (store, *, retry, check, memory_limit, fill_cache))]
    fn tasks(
        &self,
        py: Python<'_>,
        store: PathBuf,
        retry: Option<&str>,
        check: &str,
        memory_limit: Option<Bound<'_, PyAny>>,
        fill_cache: Option<PathBuf>,
    ) -> PyResult<Vec<String>> {
        let limit = memory_limit.as_ref().map(|limit| bytes_of("memory_limit", limit)).transpose()?;
        let (retry, check) = (retry_of(py, retry)?, check_of(py, check)?);
        engine(py, || {
            let store = Store::create(&store, Disk::default())?;
            let survey = Survey::of(&self.points, Some(&store))?;
            let limits = self.points.study.limits;
            let memory_bytes = limits.memory_bytes.into_iter().chain(limit).min();
            let fillings = kept(fill_cache.as_deref())?;
            let terms = Terms { check, wall_ns: limits.wall_ns, memory_bytes, keep: Vec::new(), fillings };
            let mut tasks = Vec::new();
            for run in survey.runs() {
                match survey.standing(&run, &store) {
                    Standing::Done | Standing::Refused => continue,
                    Standing::Failure(failure) if failure.for_good() => match retry {
                        Retry::Usual => continue,
                        Retry::Failed if failure.status != Failed::Failed => continue,
                        _ => store.forgive(&run.key)?,
                    },
                    _ => {}
                }
                let job = execute::job(&self.points, &run);
                let (_, files) = &self.points.inputs[self.points.points[run.point].input].source;
                let task = Task::of(&job, files, &terms);
                tasks.push(serde_json::to_string(&task).map_err(|error| Error::usage(error.to_string()))?);
            }
            Ok(tasks)
        })
    }

    /// Keeps what tasks gave that were made without a store.
    fn put(&self, py: Python<'_>, store: PathBuf, results: Vec<String>) -> PyResult<()> {
        engine(py, || {
            let store = Store::create(&store, Disk::default())?;
            for text in results {
                let wrong = || Error::usage("this is not the result of a task");
                let result: serde_json::Value = serde_json::from_str(&text).map_err(|_| wrong())?;
                let word = |name: &str| result[name].as_str().ok_or_else(wrong);
                let key = word("key")?;
                if let Some(record) = result["record"].as_str() {
                    let cost = serde_json::from_value(result["cost"].clone()).ok();
                    store.put(key, record, cost.as_ref())?;
                    continue;
                }
                let Ok(status) = serde_json::from_value::<Failed>(result["status"].clone()) else { continue };
                let before = store.failure(key).map_or((0, 0), |failure| (failure.attempts, failure.kills));
                let (attempts, kills) = (before.0 + 1, before.1);
                let exit_status = result["exit_status"].as_u64().map_or(1, |status| status as u8);
                let (message, command) = (word("message")?.into(), word("command")?.into());
                store.fail(key, &Failure { status, exit_status, message, command, attempts, kills })?;
            }
            Ok(())
        })
    }

    /// Counts of the study.
    fn status<'py>(&self, py: Python<'py>, store: PathBuf) -> PyResult<Bound<'py, PyAny>> {
        let status = engine(py, || {
            let store = store.exists().then(|| Store::open(&store)).transpose()?;
            let survey = Survey::of(&self.points, store.as_ref())?;
            Ok(survey.status(&survey.runs(), store.as_ref()))
        })?;
        python_of(py, &serde_json::to_value(status).unwrap_or_default())
    }

    /// One row a run, or a run and measure.
    fn table(&self, py: Python<'_>, store: PathBuf, tidy: bool, perf: bool) -> PyResult<Table> {
        let frame = engine(py, || {
            let rows = Rows::of(&self.points, &Store::open(&store)?)?;
            Ok(rows.write(&Place::MEMORY, Shape { tidy, no_perf: !perf })?.parts().1)
        })?;
        frame.map(Table::of).ok_or_else(|| usage(py, "the rows are not in memory", ""))
    }

    fn __repr__(&self) -> String {
        format!("<ssdlab._Study {}: {} points>", self.points.study.name, self.points.points.len())
    }
}

/// The folder of fillings on disk.
fn kept(folder: Option<&Path>) -> LabResult<Option<Fillings>> {
    folder.map(|folder| Fillings::open(folder, Fillings::LEAST)).transpose()
}

/// Time between two looks at signals.
const LOOK: Duration = Duration::from_millis(50);

/// Makes the run of a task; what came of it as JSON. Without a store the record is part of it.
#[pyfunction]
#[pyo3(signature = (task, store = None))]
pub fn _perform(py: Python<'_>, task: &str, store: Option<PathBuf>) -> PyResult<String> {
    let mut raised = None;
    let done = engine(py, || {
        let task: Task =
            serde_json::from_str(task).map_err(|error| Error::usage(format!("this is not a task: {error}")))?;
        let opened = store.as_deref().map(Store::open).transpose()?;
        let end = task.perform(opened.as_ref(), &mut asking(LOOK, &mut raised))?;
        Ok(match end {
            End::Record { record, cost, status } => {
                let record = opened.is_none().then_some(record);
                json!({ "key": task.key, "status": status, "record": record, "cost": cost })
            }
            End::Failure { status, exit_status, message } => {
                let command = task.command()?;
                json!({ "key": task.key, "status": status, "exit_status": exit_status, "message": message, "command": command })
            }
            End::Stopped => json!({ "key": task.key, "status": "stopped" }),
        })
    });
    match raised {
        Some(error) => Err(error),
        None => done.map(|result| result.to_string()),
    }
}

/// Half the width of the 95 % confidence interval of a mean; none of fewer than two values.
#[pyfunction]
pub fn _half_width(values: Vec<f64>) -> Option<f64> {
    if values.is_empty() { None } else { half_width(&values) }
}

/// What values are of others, pair by pair: the geometric mean of the ratios, and the ends of its 95 % confidence interval. None where a
/// value is 0.
#[pyfunction]
pub fn _ratio(values: Vec<f64>, base: Vec<f64>) -> Option<(f64, Option<f64>, Option<f64>)> {
    let of = ratio(&values, &base)?;
    let (low, high) = of.interval.unzip();
    Some((of.mean, low, high))
}

/// The column of a measure, by that name or by the one that comparisons have for it.
#[pyfunction]
pub fn _column(name: &str) -> String {
    column_of(name)
}
