//! `ssdlab sweep`: studies of many runs, in a store that survives kills.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use clap::{Args, Subcommand, ValueEnum};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ssdlab_lab::drive::Tick;
use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::outcome::json;
use ssdlab_lab::output::Output;
use ssdlab_lab::results::histograms;
use ssdlab_lab::text::{count, plural, size};
use ssdlab_report::inputs::Inputs;
use ssdlab_report::sweep::Sweep;
use ssdlab_sim::Check;
use ssdlab_sweep::clean::{self, Which};
use ssdlab_sweep::disk::Disk;
use ssdlab_sweep::execute::{self, Options, Retry};
use ssdlab_sweep::fillings::Fillings;
use ssdlab_sweep::fleet::Fleet;
use ssdlab_sweep::job::{End, Keep};
use ssdlab_sweep::keep;
use ssdlab_sweep::key::Hashes;
use ssdlab_sweep::merge::Part;
use ssdlab_sweep::plan::{Plan, pilot, words};
use ssdlab_sweep::points::{Point, Points, Run};
use ssdlab_sweep::shards::Shard;
use ssdlab_sweep::status::{Standing, Status, Survey};
use ssdlab_sweep::store::{Checked, Store, unchecked_note};
use ssdlab_sweep::study::{Study, duration_ns};
use ssdlab_sweep::submit::{Ask, script};
use ssdlab_sweep::table::{Rows, Shape};
use ssdlab_sweep::verify;

use crate::args::{CheckLevel, ReportOptions};
use crate::layout::{facts, grid};
use crate::output;
use crate::report::Begun;

/// `ssdlab sweep`
#[derive(Debug, Subcommand)]
pub enum SweepCommand {
    /// Print the points of a study, what is refused, what is done, and what the rest costs; nothing is simulated
    Plan(PlanArgs),
    /// Run what the store does not have
    Run(Box<RunArgs>),
    /// Print what is done, failed and left
    Status(StatusArgs),
    /// Gather the results into one table
    Table(TableArgs),
    /// Submit an array job that runs the study
    Submit(SubmitArgs),
    /// Run some of the records again and compare the bytes
    Verify(VerifyArgs),
    /// Remove records, and what killed processes left
    Clean(CleanArgs),
}

/// A study and its store.
#[derive(Args, Clone, Debug)]
pub struct StudyArgs {
    /// The study
    #[arg(value_name = "STUDY.toml")]
    pub study: PathBuf,
    /// The folder of results; any number of machines may share it
    #[arg(long, value_name = "DIR")]
    pub store: PathBuf,
    /// Compute the hashes of inputs again
    #[arg(long)]
    pub rehash: bool,
}

/// `ssdlab sweep plan`
#[derive(Args, Clone, Debug)]
pub struct PlanArgs {
    /// The study
    #[arg(value_name = "STUDY.toml")]
    pub study: PathBuf,
    /// The folder of results: what it has is counted as done, and what its runs cost is what is expected of others
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
    /// Also list the points
    #[arg(long)]
    pub list: bool,
    /// Estimate from short runs of three points: the cheapest, the middle one and the most expensive
    #[arg(long)]
    pub pilot: bool,
    /// Write the plan as JSON; `-` means standard output, in place of the text
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,
    /// Compute the hashes of inputs again
    #[arg(long)]
    pub rehash: bool,
}

/// What is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RetryArg {
    /// What failed
    Failed,
    /// Everything without a result, however often it was tried
    All,
}

/// What is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum KeepArg {
    /// One row per request
    Requests,
    /// One row per second of simulated time
    Series,
    /// Latencies and waits by bucket
    Histograms,
    /// The 1000 slowest requests
    Slowest,
}

/// `ssdlab sweep run`
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  ssdlab sweep run study.toml --store results                      all of it, on all cores
  ssdlab sweep run study.toml --store results --shard 3/8          the third of eight parts
  ssdlab sweep run study.toml --store results --shard auto --time-limit 55m   in an array job

Exit status: 0 all done, 1 a point failed for good, 5 an invariant failed, 4 the store cannot be
written, 75 points are left (run it again), 130, 143 or 129 if a signal ended it.")]
pub struct RunArgs {
    /// The study and its store.
    #[command(flatten)]
    pub study: StudyArgs,
    /// Run one part: I/N, or auto to take it from the variables of Slurm, PBS, Grid Engine, LSF, Kubernetes or AWS Batch
    #[arg(long, value_name = "I/N|auto")]
    pub shard: Option<String>,
    /// Runs in parallel; results do not depend on it [default: one per core, as far as memory allows]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub jobs: Option<u64>,
    /// Begin no unit (runs that share a filling, or all seeds of a point under `until`) that is not expected to end within this
    /// time, such as 55m
    #[arg(long, value_name = "T", value_parser = time)]
    pub time_limit: Option<u64>,
    /// Try failures again: failed, or all
    #[arg(long, value_name = "failed|all", value_enum, hide_possible_values = true)]
    pub retry: Option<RetryArg>,
    /// Stop at the first failure
    #[arg(long)]
    pub fail_fast: bool,
    /// Share the work with other processes that use this option, by claims in the store
    #[arg(long, conflicts_with = "shard")]
    pub claim: bool,
    /// How much the oracle checks; results do not depend on it
    #[arg(long, value_name = "LEVEL", value_enum, default_value_t = CheckLevel::Sampled)]
    pub check: CheckLevel,
    /// Memory limit of all devices together [default: 80 % of free memory]
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub memory_limit: Option<u64>,
    /// Also keep tables of each run, such as requests,series,histograms,slowest
    #[arg(long, value_name = "LIST", value_enum, value_delimiter = ',', hide_possible_values = true)]
    pub keep: Vec<KeepArg>,
    /// Keep fillings that take longer than 5 s in this folder, for other processes; results do not depend on it
    #[arg(long, value_name = "DIR")]
    pub fill_cache: Option<PathBuf>,
    /// The report.
    #[command(flatten)]
    pub report: ReportOptions,
    /// Suppress progress on standard error; errors and the closing line are still printed
    #[arg(long)]
    pub quiet: bool,
}

/// `ssdlab sweep status`
#[derive(Args, Clone, Debug)]
pub struct StatusArgs {
    /// The study and its store.
    #[command(flatten)]
    pub study: StudyArgs,
    /// Write the counts as JSON; `-` means standard output, in place of the text
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,
    /// Print them again every five seconds until nothing is left
    #[arg(long)]
    pub watch: bool,
}

/// `ssdlab sweep table`
#[derive(Args, Clone, Debug)]
pub struct TableArgs {
    /// The study and its store.
    #[command(flatten)]
    pub study: StudyArgs,
    /// The table
    #[arg(short = 'o', long = "output", value_name = "FILE.parquet|.csv")]
    pub output: PathBuf,
    /// One row a run and measure
    #[arg(long)]
    pub tidy: bool,
    /// Leave out what runs cost: the bytes are then the same on every machine
    #[arg(long)]
    pub no_perf: bool,
}

/// `ssdlab sweep submit`
#[derive(Args, Clone, Debug)]
pub struct SubmitArgs {
    /// The study and its store.
    #[command(flatten)]
    pub study: StudyArgs,
    /// Submit to Slurm with sbatch
    #[arg(long, required = true)]
    pub slurm: bool,
    /// Tasks of the array [default: one for 20 runs, at most 1000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub array: Option<u64>,
    /// Time of a task, as Slurm writes it [default: twice the expected time of the largest]
    #[arg(long, value_name = "1:00:00")]
    pub time: Option<String>,
    /// Memory of a task
    #[arg(long, value_name = "4G", default_value = "4G")]
    pub mem: String,
    /// Cores of a task
    #[arg(long, value_name = "1", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    pub cpus: u64,
    /// Further arguments of sbatch, such as "--partition=short --account=lab"
    #[arg(long, value_name = "ARGS", allow_hyphen_values = true)]
    pub sbatch: Option<String>,
    /// Print the script and submit nothing
    #[arg(long)]
    pub print: bool,
}

/// `ssdlab sweep verify`
#[derive(Args, Clone, Debug)]
pub struct VerifyArgs {
    /// The folder of results
    #[arg(long, value_name = "DIR")]
    pub store: PathBuf,
    /// Share of the records, at least one
    #[arg(long, value_name = "SHARE", default_value_t = 0.01, value_parser = share)]
    pub sample: f64,
    /// Seed of the choice
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

/// `ssdlab sweep clean`
#[derive(Args, Clone, Debug)]
pub struct CleanArgs {
    /// The folder of results
    #[arg(long, value_name = "DIR")]
    pub store: PathBuf,
    /// Records that this version wrote; `other` is every version but the one that runs
    #[arg(long, value_name = "VERSION", group = "which")]
    pub version: Option<String>,
    /// Records that none of these studies and fleets has
    #[arg(long, value_name = "STUDY.toml", num_args = 1.., group = "which")]
    pub not_in: Vec<PathBuf>,
    /// Failures, so that they are tried again
    #[arg(long, group = "which")]
    pub failed: bool,
    /// Remove them; without it they are only counted
    #[arg(long)]
    pub yes: bool,
}

fn time(text: &str) -> std::result::Result<u64, String> {
    duration_ns(text)
}

fn bytes(text: &str) -> std::result::Result<u64, String> {
    text.parse::<ssdlab_sim::units::Bytes>().map(|bytes| bytes.0)
}

fn share(text: &str) -> std::result::Result<f64, String> {
    let share = text.parse::<f64>().ok().filter(|share| *share > 0.0 && *share <= 1.0);
    share.ok_or_else(|| "expected a share above 0 and at most 1".into())
}

/// Runs one of them; the exit status.
///
/// `line` is the command as it was given.
pub fn sweep(command: &SweepCommand, line: &str) -> Result<u8> {
    match command {
        SweepCommand::Plan(args) => plan(args, Study::open(&args.study)?, None),
        SweepCommand::Run(args) => run(args, Study::open(&args.study.study)?, &[], line),
        SweepCommand::Status(args) => status(args, Study::open(&args.study.study)?),
        SweepCommand::Table(args) => table(args),
        SweepCommand::Submit(args) => submit(args, Study::open(&args.study.study)?, "sweep"),
        SweepCommand::Verify(args) => verified(args),
        SweepCommand::Clean(args) => cleaned(args),
    }
}

/// A study with its points and the hashes of its inputs.
pub(crate) fn points(study: Study, store: Option<&Path>, rehash: bool, check: Check) -> Result<(Points, Hashes)> {
    let hashes = keep::known(store, rehash);
    Ok((Points::of(study, &hashes, check)?, hashes))
}

/// Seconds as time.
fn span(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => format!("{s:.2} s"),
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

/// `ssdlab sweep plan`; a fleet adds what it has.
pub fn plan(args: &PlanArgs, study: Study, fleet: Option<&Fleet>) -> Result<u8> {
    let store = args.store.as_deref().filter(|store| store.exists()).map(Store::open).transpose()?;
    let (points, _) = points(study, args.store.as_deref(), args.rehash, Check::Sampled)?;
    let survey = Survey::of(&points, store.as_ref())?;
    let runs = survey.runs();
    let rates = match args.pilot {
        true => pilot(&points, &mut || ControlFlow::Continue(()))?,
        false => survey.rates(&runs, store.as_ref(), 1000),
    };
    let plan = Plan::of(&points, &survey, &runs, store.as_ref(), &rates);
    if let Some(path) = &args.json {
        let mut value = serde_json::to_value(&plan).expect("a plan is plain data");
        if let Some(fleet) = fleet {
            value["fleet"] = crate::fleet::figures(fleet);
        }
        if args.list {
            let list = points.points.iter().map(|point| {
                let axes = points.study.axes.iter().zip(&point.items);
                let values: BTreeMap<&str, serde_json::Value> = axes
                    .map(|(axis, item)| (axis.label.as_str(), serde_json::to_value(&item.shown).expect("plain data")))
                    .collect();
                serde_json::json!({ "point": point.number, "values": values, "rule": point.refused })
            });
            value["list"] = list.collect();
        }
        return written(path, &json(&value));
    }
    let mut out = String::new();
    let mut lines = vec![(if fleet.is_some() { "fleet" } else { "study" }, plan.study.clone())];
    lines.extend(fleet.into_iter().flat_map(crate::fleet::lines));
    lines.extend([("points", taken(&plan)), ("runs", count(plan.runs))]);
    for refusals in &plan.refused {
        lines.push((
            "refused",
            format!("{} from point {} on: {}", plural(refusals.points, "point"), refusals.first, refusals.rule),
        ));
    }
    lines.push(("in the store", count(plan.done)));
    if plan.failed > 0 {
        lines.push(("failed", count(plan.failed)));
    }
    lines.push(("left", plural(plan.left, "run")));
    lines.push(("fillings", count(plan.fillings)));
    let [half, double] = plan.cpu_s_range;
    lines.push(("CPU time", format!("{} to {}", span(half), span(double))));
    lines.push(("memory", format!("{} for the largest device", size(plan.memory_bytes))));
    lines.push(("first point", plan.first.clone()));
    lines.push(("last point", plan.last.clone()));
    facts(&mut out, &lines);
    if args.list {
        out.push('\n');
        out.push_str(&listed(&points, &survey, store.as_ref()));
    }
    output::print(&out)?;
    Ok(0)
}

fn taken(plan: &Plan) -> String {
    let mut text = count(plan.points);
    if plan.excluded > 0 {
        text.push_str(&format!(", {} excluded", count(plan.excluded)));
    }
    if plan.merged > 0 {
        text.push_str(&format!(", {} equal to another after rounding", count(plan.merged)));
    }
    text
}

/// The points with their values, and how many of their runs are done.
fn listed(points: &Points, survey: &Survey<'_>, store: Option<&Store>) -> String {
    let mut head = vec!["point".to_string()];
    head.extend(points.study.axes.iter().map(|axis| axis.label.clone()));
    head.push("done".into());
    let mut rows = vec![head];
    let mut by_point: Vec<(u64, u64)> = vec![(0, 0); points.points.len()];
    for run in survey.runs() {
        by_point[run.point].1 += 1;
        let standing = store.map(|store| survey.standing(&run, store));
        by_point[run.point].0 += u64::from(matches!(standing, Some(Standing::Done | Standing::Refused)));
    }
    for (point, (done, of)) in points.points.iter().zip(by_point) {
        let mut row = vec![point.number.to_string()];
        row.extend(point.items.iter().map(|item| item.shown.text()));
        row.push(if point.refused.is_some() { "refused".into() } else { format!("{done} of {of}") });
        rows.push(row);
    }
    let mut out = String::new();
    grid(&mut out, &rows, true);
    out
}

/// Writes a result to a file or to standard output.
fn written(path: &Path, text: &str) -> Result<u8> {
    if path.as_os_str() == "-" {
        output::print(text)?;
    } else {
        let mut file = Output::create(path)?;
        file.put(text.as_bytes())?;
        file.finish()?.publish()?;
    }
    Ok(0)
}

/// Progress of a sweep: a bar on a terminal, otherwise a line a minute.
struct Board<'b> {
    points: &'b Points,
    quiet: bool,
    bar: ProgressBar,
    from: Instant,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    left: u64,
    before: u64,
    done: u64,
    refused: u64,
    failed: u64,
    said: Option<Instant>,
    running: Vec<(Run, Instant)>,
}

/// Time between two lines.
const LINE: Duration = Duration::from_secs(60);

impl<'b> Board<'b> {
    fn new(points: &'b Points, quiet: bool) -> Board<'b> {
        let bar = match quiet || !std::io::stderr().is_terminal() {
            true => ProgressBar::hidden(),
            false => ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(5)),
        };
        let template = "{wide_bar} {pos}/{len}  {msg}  {elapsed} elapsed, {eta} left";
        bar.set_style(ProgressStyle::with_template(template).expect("a constant template"));
        Board { points, quiet, bar, from: Instant::now(), state: Mutex::new(State::default()) }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn line(&self, state: &State) -> String {
        let minutes = self.from.elapsed().as_secs_f64() / 60.0;
        let ended = state.done + state.refused + state.failed;
        let rate = if minutes > 0.0 { ended as f64 / minutes } else { 0.0 };
        let mut text = format!(
            "{} done, {} running, {} left, {} refused, {} failed, {rate:.1} runs/min",
            count(state.before + state.done),
            state.running.len(),
            count(state.left.saturating_sub(ended + state.running.len() as u64)),
            count(state.refused),
            count(state.failed),
        );
        if rate > 0.0 {
            text.push_str(&format!(", {} to go", span((state.left.saturating_sub(ended)) as f64 / rate * 60.0)));
        }
        if let Some((run, since)) = state.running.iter().min_by_key(|(_, since)| *since) {
            let point = &self.points.points[run.point];
            text.push_str(&format!(
                "; slowest: {} seed {}, {}",
                words(self.points, point),
                run.seed,
                span(since.elapsed().as_secs_f64())
            ));
        }
        text
    }
}

impl execute::Watch for Board<'_> {
    fn planned(&self, left: u64, status: &Status) {
        let mut state = self.state();
        state.left = left;
        state.before = status.done;
        state.said = Some(Instant::now());
        self.bar.set_length(left);
    }

    fn begins(&self, run: &Run, _point: &Point) {
        self.state().running.push((run.clone(), Instant::now()));
    }

    fn at(&self, _run: &Run, _tick: Tick) {}

    fn ended(&self, run: &Run, end: &End) {
        let mut state = self.state();
        state.running.retain(|(other, _)| other.key != run.key);
        match end {
            End::Record { status: ssdlab_sweep::store::Status::Done, .. } => state.done += 1,
            End::Record { .. } => state.refused += 1,
            End::Failure { status, message, .. } => {
                state.failed += 1;
                if !self.quiet {
                    let point = &self.points.points[run.point];
                    let text = format!(
                        "{}: point {} ({}) seed {}: {message}",
                        status.name(),
                        point.number,
                        words(self.points, point),
                        run.seed
                    );
                    self.bar.suspend(|| output::remark(text));
                }
            }
            End::Stopped => return,
        }
        self.bar.inc(1);
        self.bar.set_message(self.line(&state));
    }

    fn go_on(&self) -> ControlFlow<()> {
        // Most questions come from runs; only one in a while prints.
        if !self.quiet
            && self.bar.is_hidden()
            && let Ok(mut state) = self.state.try_lock()
            && state.said.is_some_and(|said| said.elapsed() >= LINE)
        {
            state.said = Some(Instant::now());
            output::remark(self.line(&state));
        }
        ControlFlow::Continue(())
    }
}

impl RunArgs {
    /// How the sweep is run.
    fn options(&self) -> Result<Options> {
        let shard = self.shard.as_deref().map(|text| Shard::parse(text, &|name| std::env::var(name).ok()));
        let keep = self.keep.iter().map(|keep| match keep {
            KeepArg::Requests => Keep::Requests,
            KeepArg::Series => Keep::Series,
            KeepArg::Histograms => Keep::Histograms,
            KeepArg::Slowest => Keep::Slowest,
        });
        Ok(Options {
            shard: shard.transpose()?.unwrap_or(Shard::WHOLE),
            jobs: self.jobs,
            time_limit_ns: self.time_limit,
            retry: match self.retry {
                None => Retry::Usual,
                Some(RetryArg::Failed) => Retry::Failed,
                Some(RetryArg::All) => Retry::All,
            },
            fail_fast: self.fail_fast,
            claim: self.claim,
            check: self.check.into(),
            memory_limit: self.memory_limit,
            keep: keep.collect(),
            fillings: self.fill_cache.as_deref().map(|dir| Fillings::open(dir, Fillings::LEAST)).transpose()?,
        })
    }
}

/// `ssdlab sweep run`; `keep` is kept beside what is asked for.
pub fn run(args: &RunArgs, study: Study, keep: &[Keep], line: &str) -> Result<u8> {
    let mut options = args.options()?;
    options.keep.extend(keep);
    options.keep.sort();
    options.keep.dedup();
    let (points, hashes) = points(study, Some(&args.study.store), args.study.rehash, options.check)?;
    let page = Begun::create(&args.report, line)?;
    let store = Store::create(&args.study.store, Disk::default())?;
    keep::keep(&points, &store, &hashes)?;
    let (_ends, note) = store.note_of_end()?;
    // Where the system refuses, a crash counts as a kill.
    let _ = ssdlab_memory::note_fatal_signals(note);
    let board = Board::new(&points, args.quiet);
    let ended = execute::run(&points, &store, &options, &board)?;
    board.bar.finish_and_clear();
    if ended.broken > 0 {
        output::remark(format_args!(
            "note: {} set aside in {}",
            plural(ended.broken, "broken record"),
            store.root().join("broken").display()
        ));
    }
    unchecked(&store);
    let status = &ended.status;
    let mut line = format!("{} now; {}", plural(ended.ran, "run"), counts(status));
    if ended.late {
        line.push_str("; the rest is not expected to end in time");
    }
    output::remark(line);
    if status.failed > 0 || status.left > 0 {
        failures(&points, &store, args.quiet)?;
    }
    if let Some(page) = page {
        let inputs = Inputs { sweep: Some(Sweep::of(&points, &store)?), ..Inputs::default() };
        page.finish(&inputs, args.quiet)?.publish()?;
    }
    Ok(ended.exit_status())
}

/// Says that the content of some records could not be checked.
pub(crate) fn unchecked(store: &Store) {
    noted(store.unchecked());
}

fn noted(unchecked: u64) {
    unchecked_note(unchecked).iter().for_each(|said| output::remark(format_args!("note: {said}")));
}

/// The first failures and how to repeat them.
fn failures(points: &Points, store: &Store, quiet: bool) -> Result<()> {
    if quiet {
        return Ok(());
    }
    let survey = Survey::of(points, Some(store))?;
    let mut shown = 0;
    for run in survey.runs() {
        if let Standing::Failure(failure) = survey.standing(&run, store) {
            shown += 1;
            if shown <= 3 {
                output::remark(format_args!(
                    "{}: {}\n  repeat with: {}",
                    failure.status.name(),
                    failure.message,
                    failure.command
                ));
            }
        }
    }
    if shown > 3 {
        output::remark(format_args!("and {} more failures", shown - 3));
    }
    Ok(())
}

fn counts(status: &Status) -> String {
    format!(
        "of {}: {} done, {} refused, {} failed, {} left",
        plural(status.runs, "run"),
        count(status.done),
        count(status.refused),
        count(status.failed),
        count(status.left)
    )
}

/// `ssdlab sweep status`
pub fn status(args: &StatusArgs, study: Study) -> Result<u8> {
    let store = Store::open(&args.study.store)?;
    let (points, _) = points(study, Some(&args.study.store), args.study.rehash, Check::Sampled)?;
    loop {
        let survey = Survey::of(&points, Some(&store))?;
        let runs = survey.runs();
        let status = survey.status(&runs, Some(&store));
        match &args.json {
            Some(path) => drop(written(path, &json(&status))?),
            None => {
                let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
                for run in &runs {
                    if let Standing::Failure(failure) = survey.standing(run, &store) {
                        *kinds.entry(failure.status.name()).or_default() += 1;
                    }
                }
                let mut out = String::new();
                let mut lines = vec![
                    ("points", count(status.points)),
                    ("runs", count(status.runs)),
                    ("done", format!("{}, {} CPU", count(status.done), span(status.cpu_s_done))),
                    ("refused", count(status.refused)),
                    ("failed", count(status.failed)),
                    (
                        "left",
                        format!(
                            "{}, about {} CPU, {} on this machine",
                            count(status.left),
                            span(status.cpu_s_left),
                            span(status.eta_s)
                        ),
                    ),
                ];
                lines.extend(
                    kinds.into_iter().map(|(name, n)| (name, plural(n, "run"))).filter(|(name, _)| *name != "failed"),
                );
                facts(&mut out, &lines);
                output::print(&out)?;
            }
        }
        if !args.watch || status.left == 0 {
            unchecked(&store);
            return Ok(0);
        }
        std::thread::sleep(Duration::from_secs(5));
    }
}

/// `ssdlab sweep table`
fn table(args: &TableArgs) -> Result<u8> {
    let store = Store::open(&args.study.store)?;
    let study = Study::open(&args.study.study)?;
    let (points, _) = points(study, Some(&args.study.store), args.study.rehash, Check::Sampled)?;
    let rows = Rows::of(&points, &store)?;
    rows.write(&args.output.clone().into(), Shape { tidy: args.tidy, no_perf: args.no_perf })?.publish()?;
    unchecked(&store);
    let (done, runs) = rows.complete();
    if done < runs {
        output::remark(format_args!("note: {} of {} have no result yet", count(runs - done), plural(runs, "run")));
    }
    Ok(0)
}

/// `ssdlab sweep submit`; `family` is the command that the tasks call.
pub fn submit(args: &SubmitArgs, study: Study, family: &str) -> Result<u8> {
    let absolute = |path: &Path| std::path::absolute(path).map_err(|error| Error::file("find", path, &error));
    let (file, folder) = (absolute(&args.study.study)?, absolute(&args.study.store)?);
    let (points, hashes) = points(study, Some(&args.study.store), args.study.rehash, Check::Sampled)?;
    let store = args.study.store.exists().then(|| Store::open(&args.study.store)).transpose()?;
    let survey = Survey::of(&points, store.as_ref())?;
    let runs = points.runs();
    let rates = survey.rates(&runs, store.as_ref(), 1000);
    let ask = Ask { tasks: args.array, time: args.time.clone(), memory: args.mem.clone(), cpus: args.cpus };
    let text = script(&points, &runs, &rates, &ask, family, &file, &folder)?;
    if args.print {
        output::print(&text)?;
        return Ok(0);
    }
    let store = Store::create(&args.study.store, Disk::default())?;
    keep::keep(&points, &store, &hashes)?;
    let path = store.study(&points.study.name).join("array.sh");
    store.disk().write(&path, text.as_bytes())?;
    let further = args.sbatch.iter().flat_map(|text| text.split_whitespace());
    let called = std::process::Command::new("sbatch").args(further).arg(&path).output();
    let done = called.map_err(|error| {
        let fault = Error::file("start", Path::new("sbatch"), &error);
        fault.help("submit on a machine with Slurm, or see the script with --print")
    })?;
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr).trim().to_string();
        return Err(Error::usage(format!(
            "sbatch refused {}: {}",
            path.display(),
            ssdlab_lab::names::clip_line(&said)
        )));
    }
    output::print(&String::from_utf8_lossy(&done.stdout))?;
    Ok(0)
}

/// `ssdlab merge`
pub fn merge(inputs: &[PathBuf], target: &Path) -> Result<()> {
    let (mut merged, mut unknown) = (Part::default(), 0);
    for input in inputs {
        let (part, checked) = Part::load(input)?;
        unknown += u64::from(checked == Checked::Unknown);
        merged = merged.merge(&part)?;
    }
    noted(unknown);
    if target.extension().is_some_and(|ending| ending == "csv" || ending == "parquet") {
        let sheet = histograms::create(&target.to_path_buf().into(), &merged.extras())?;
        return histograms::write(sheet, &merged.histograms, &merged.extras())?.publish();
    }
    written(target, &merged.json()).map(drop)
}

/// `ssdlab sweep verify`
fn verified(args: &VerifyArgs) -> Result<u8> {
    let store = Store::open(&args.store)?;
    let done = verify::verify(&store, args.sample, args.seed, &mut |_| ControlFlow::Continue(()))?;
    let mut out = String::new();
    let mut lines = vec![
        ("records", count(done.records)),
        ("same bytes", count(done.same.len() as u64)),
        ("other bytes", count(done.different.len() as u64)),
    ];
    if !done.other_version.is_empty() {
        lines.push((
            "other version",
            format!("{}: verify them with the version that wrote them", count(done.other_version.len() as u64)),
        ));
    }
    if !done.unknown.is_empty() {
        lines.push(("without input", count(done.unknown.len() as u64)));
    }
    facts(&mut out, &lines);
    unchecked_note(store.unchecked()).iter().for_each(|said| out.push_str(&format!("note: {said}\n")));
    done.different.iter().for_each(|key| out.push_str(&format!("differs: {key}\n")));
    done.unknown.iter().for_each(|(key, why)| out.push_str(&format!("not run: {key}: {why}\n")));
    output::print(&out)?;
    Ok(if done.different.is_empty() { 0 } else { 5 })
}

/// `ssdlab sweep clean`
fn cleaned(args: &CleanArgs) -> Result<u8> {
    let store = Store::open(&args.store)?;
    let which = match (&args.version, &args.not_in[..], args.failed) {
        (Some(version), _, _) => Which::Version(version.clone()),
        (None, [_, ..], _) => {
            let mut wanted = std::collections::BTreeSet::new();
            for path in &args.not_in {
                let study = match Fleet::is(path)? {
                    true => crate::fleet::open(path, Some(&args.store), false)?.study,
                    false => Study::open(path)?,
                };
                let (points, _) = points(study, Some(&args.store), false, Check::Sampled)?;
                wanted.extend(clean::keys(&points));
            }
            Which::NotIn(wanted)
        }
        (None, [], true) => Which::Failed,
        (None, [], false) => Which::Leftovers,
    };
    let done = clean::clean(&store, &which, args.yes)?;
    let what = if args.failed { "failure" } else { "record" };
    let verb = if args.yes { "removed" } else { "to remove" };
    let mut text = format!(
        "{verb}: {}, {}, {}\n",
        plural(done.keys.len() as u64, what),
        plural(done.temporary, "temporary file"),
        plural(done.marks, "mark") + " of killed processes",
    );
    if !args.yes {
        text.push_str("nothing was removed; --yes removes it\n");
    }
    output::print(&text)?;
    Ok(0)
}
