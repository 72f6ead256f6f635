//! Why some requests are slow: the causes of the time by which they exceed the median, with no remainder; the patterns that they show; what
//! would help, by reruns; and a verdict.
//!
//! | question | module |
//! | --- | --- |
//! | Which requests? | [`at`] |
//! | What does a run show of them? | [`watch`], kept as [`records`] |
//! | Which time exceeds the median, and why? | [`method`] |
//! | What do they have in common? | [`patterns`], a file each |
//! | What would help? | [`tries`] |
//! | How is it said? | [`verdict`], [`text`], [`json`] |
//! | What if something had not happened? | [`whatif`] |

pub mod at;
mod explanation;
mod handles;
pub mod json;
pub mod method;
pub mod patterns;
pub mod records;
mod rows;
pub mod text;
pub mod tries;
pub mod verdict;
pub mod watch;
pub mod whatif;

use std::ops::ControlFlow;
use std::path::Path;

use ssdlab_lab::drive::Tick;
use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::input::{Origin, Requests};
use ssdlab_lab::perf::Moment;
use ssdlab_lab::results::histograms::Tail;
use ssdlab_lab::run::{How, Outputs, Progress, Run, RunOutcome};
use ssdlab_lab::settings::Settings;
use ssdlab_lab::variants::comparison::can_be_read_again;
use ssdlab_lab::variants::points::{Board, Plan, Point, is_of_all, sweep_each};
use ssdlab_sim::Config;
use ssdlab_sim::report::Summary;
use ssdlab_trace::LbaPolicy;

use at::At;
pub use explanation::Explained;
use method::find;
use records::Records;
use tries::{Candidate, Refused, Tried, Tries};
use watch::{Known, Watch};

/// What to explain, and how.
#[derive(Clone, Debug)]
pub struct Wish {
    /// The requests; by default the slowest thousandth of the reads, or of the writes if there are no reads.
    pub at: Option<At>,
    /// The changes to try.
    pub tries: Tries,
    /// Runs in parallel, by default one per core.
    pub jobs: Option<u64>,
}

impl Default for Wish {
    /// The slowest thousandth of the reads, with changes that fit its causes.
    fn default() -> Self {
        Wish { at: None, tries: Tries::Auto, jobs: None }
    }
}

impl Explained {
    /// The explanation as text; at most `top` causes.
    pub fn text(&self, top: usize) -> String {
        text::text(self, top)
    }

    /// The explanation as the bytes of its JSON file, `ssdlab.explain/1`.
    pub fn json(&self) -> String {
        ssdlab_lab::tree::json(&json::value(self))
    }
}

/// A run that is watched.
///
/// # Errors
/// As [`ssdlab_lab::run::Ready::simulate`].
pub fn watched(
    settings: &Settings,
    requests: &Requests,
    how: How,
    outputs: &Outputs,
    progress: &mut dyn Progress,
) -> Result<(Records, Known, RunOutcome)> {
    let config = settings.config.clone();
    let watch = Watch::default();
    let ready = Run::new(settings.clone(), how, Moment::now())?.open(requests)?;
    let done = ready.simulate_watched(outputs, progress, Some(Box::new(watch.clone())))?;
    let (records, known) = watch.finish(done.geometry.clone(), &config, &done.outcome.summary)?;
    Ok((records, known, done))
}

/// Explains a run: simulates it, and once more with each change to try.
///
/// # Errors
/// As [`ssdlab_lab::run::Ready::simulate`] and [`sweep_each`]; or no requests are meant. A change whose run can't be made is refused.
pub fn explain(
    settings: &Settings,
    requests: &Requests,
    how: How,
    wish: &Wish,
    progress: &mut dyn Progress,
    board: &mut dyn FnMut(usize) -> Box<dyn Board>,
) -> Result<Explained> {
    if how.count_only {
        return Err(Error::usage("an explanation needs times").help("leave --count-only out"));
    }
    if wish.tries != Tries::None {
        can_be_read_again(requests)?;
    }
    let outputs = Outputs::default().with(Tail);
    let (mut records, known, done) = watched(settings, requests, how, &outputs, progress)?;
    let findings = find(&mut records, wish.at, Some(&known))?;
    let (chosen, mut refused) = tries::choose(&wish.tries, &findings, settings, requests)?;
    // By change: its measure and its write amplification, or why there is none.
    let runs: Vec<Result<Shown>> = match findings.at {
        At::Tail(..) => {
            let points: Vec<Point> = chosen.iter().map(|one| point(one, requests, how.seed)).collect();
            let plan = Plan { check: how.check, count_only: false, jobs: wish.jobs, memory_limit: how.memory_limit };
            let outcomes = sweep_each(&points, &plan, &*board(points.len()))?;
            outcomes
                .into_iter()
                .map(|outcome| {
                    let summary = same_requests(requests, &done.outcome.summary, outcome?.summary)?;
                    Ok((findings.at.value(&summary), amplification(&summary)))
                })
                .collect()
        }
        // A summary knows neither a single request nor a time.
        At::Request(_) | At::Time(_) => {
            let board = board(chosen.len());
            let one = |(i, one): (usize, &Candidate)| {
                let mut settings = settings.clone();
                settings.config = one.config.clone();
                let mut progress = OnBoard(&*board, i);
                let outcome = watched(&settings, requests, how, &Outputs::default(), &mut progress);
                board.ended(i);
                let (mut records, _, own) = outcome?;
                let summary = same_requests(requests, &done.outcome.summary, own.outcome.summary)?;
                let value = find(&mut records, Some(findings.at), None).ok().and_then(|found| found.value);
                Ok((value, amplification(&summary)))
            };
            let mut runs = Vec::new();
            for candidate in chosen.iter().enumerate() {
                match one(candidate) {
                    Err(error) if is_of_all(&error) => return Err(error),
                    run => runs.push(run),
                }
            }
            runs
        }
    };
    let mut tried = Vec::new();
    for (one, run) in chosen.iter().zip(runs) {
        match run {
            Ok((value, amplification)) => tried.push(Tried::of(one, value, amplification)),
            Err(error) => refused.push(Refused { set: one.set.clone(), rule: tries::reason(&one.set, &error) }),
        }
    }
    tries::rank(&mut tried);
    let verdict = verdict::verdict(&findings, Some(&known), &tried);
    Ok(Explained { findings, known: Some(known), tried, refused, verdict, done: Some(done) })
}

/// Explains the rows of a finished run: a file of `--requests`. Nothing is tried.
///
/// # Errors
/// The file can't be read or is no such file, or no requests are meant.
pub fn explain_rows(path: &Path, at: Option<At>) -> Result<Explained> {
    let findings = find(&mut rows::read(path)?, at, None)?;
    let verdict = verdict::verdict(&findings, None, &[]);
    Ok(Explained { findings, known: None, tried: Vec::new(), refused: Vec::new(), verdict, done: None })
}

/// What a run with a change has shown: the measure, and write amplification in pages and in bytes.
type Shown = (Option<u64>, [Option<f64>; 2]);

fn amplification(summary: &Summary) -> [Option<f64>; 2] {
    [summary.write_amplification, summary.write_amplification_bytes]
}

/// The summary of a run with a change, if it has served the requests of the base. Of a recording that is fitted to the device,
/// another device serves others.
fn same_requests(requests: &Requests, base: &Summary, own: Summary) -> Result<Summary> {
    let fitted = matches!(requests.lba_policy, LbaPolicy::Wrap | LbaPolicy::Clip);
    if !fitted || !matches!(requests.from, Origin::Trace(_)) || own.trace_digest == base.trace_digest {
        return Ok(own);
    }
    let policy = requests.lba_policy.name();
    Err(Error::usage(format!(
        "it serves other requests: the device has another size, and --lba-policy {policy} fits the trace to it"
    )))
}

fn point(candidate: &Candidate, requests: &Requests, seed: u64) -> Point {
    let (config, requests): (Config, Requests) = (candidate.config.clone(), requests.clone());
    Point { name: tries::name(&candidate.set), config, requests, seed }
}

/// A run's place on the board of several.
struct OnBoard<'b>(&'b dyn Board, usize);

impl Progress for OnBoard<'_> {
    fn at(&mut self, tick: Tick) -> ControlFlow<()> {
        self.0.at(self.1, tick)
    }

    fn go_on(&mut self) -> ControlFlow<()> {
        self.0.go_on(self.1)
    }
}
