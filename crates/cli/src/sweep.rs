//! Many runs, several at a time. Results come in the order of the points, and do not depend on how many run at once.
//!
//! Points whose configurations are filled alike (see [`Filled::key`]) share one filling: they run one after the other, from
//! a copy of it, and it is dropped after the last of them.

use std::collections::HashMap;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ssdlab_sim::config::{Config, PreconditionMode};
use ssdlab_sim::report::Summary;
use ssdlab_sim::{ConfigError, Filled};

use crate::args::{CheckLevel, HowArgs, InputArgs};
use crate::drive::Device;
use crate::fault::{Fault, Result};
use crate::theory::Outlook;
use crate::{input, perf, run, settings};

/// One run.
#[derive(Clone, Debug)]
pub struct Point {
    /// What it is called in messages.
    pub name: String,
    /// A checked configuration.
    pub config: Config,
    /// Where the requests come from.
    pub input: InputArgs,
    /// Seed of every random choice.
    pub seed: u64,
}

/// How to run them.
#[derive(Clone, Debug)]
pub struct Plan {
    /// How much the oracle looks at.
    pub check: CheckLevel,
    /// No time, no latencies.
    pub count_only: bool,
    /// Runs at a time.
    pub jobs: Option<u64>,
    /// Most memory for devices.
    pub memory_limit: Option<u64>,
    /// Whether to show progress.
    pub quiet: bool,
}

impl Plan {
    /// As the command line says.
    pub fn new(how: &HowArgs) -> Plan {
        let HowArgs { seed: _, check, count_only, jobs, memory_limit, quiet } = *how;
        Plan { check, count_only, jobs, memory_limit, quiet }
    }
}

/// What came out of one run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What happened.
    pub summary: Summary,
    /// What the requests were.
    pub workload: Vec<String>,
    /// What the reader has to say of them.
    pub remarks: Vec<String>,
    /// Bytes that the device exports.
    pub capacity: u64,
}

/// A filling and how many points still want it.
struct Filling {
    filled: Mutex<Option<Arc<Filled>>>,
    wanted: AtomicUsize,
}

/// Runs all points.
///
/// # Errors
/// The first, in the order of work, that a run could not do.
pub fn sweep(points: &[Point], plan: &Plan) -> Result<Vec<Outcome>> {
    let limit = plan.memory_limit.or_else(perf::memory_limit);
    for point in points {
        run::fits_in_memory(&point.config, plan.check, limit).map_err(|error| refused(point, &error))?;
    }
    let (order, groups, fillings) = group(points);
    let jobs = jobs(points, plan, limit);
    let board = Board::new(points.len(), plan.quiet);
    let results: Vec<Mutex<Option<Result<Outcome>>>> = points.iter().map(|_| Mutex::new(None)).collect();
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let worker = || {
        while !stop.load(Ordering::Relaxed) {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(&i) = order.get(place) else { break };
            let filling = groups[i].map(|group: usize| &fillings[group]);
            let outcome = one(&points[i], plan, filling, &board, i);
            stop.fetch_or(outcome.is_err(), Ordering::Relaxed);
            *results[i].lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
            board.ended(i);
        }
    };
    if jobs == 1 {
        worker();
    } else {
        std::thread::scope(|scope| (0..jobs).for_each(|_| drop(scope.spawn(worker))));
    }
    board.finish();
    let mut taken: Vec<Option<Result<Outcome>>> =
        results.into_iter().map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner)).collect();
    // Work is taken in order, so that the first failure in that order is always among what was done.
    if let Some(failed) = order.iter().find(|i| matches!(taken[**i], Some(Err(_)))) {
        return Err(taken[*failed].take().and_then(Result::err).expect("as found"));
    }
    Ok(taken.into_iter().map(|outcome| outcome.and_then(Result::ok).expect("every point was run")).collect())
}

fn refused(point: &Point, error: &ConfigError) -> Fault {
    Fault::usage(format!("{}: {}: {}", point.name, error.key, error.message)).help(error.help.as_str())
}

/// Points in the order of work, groups that are filled alike together; the group of each point that shares its filling;
/// the groups.
fn group(points: &[Point]) -> (Vec<usize>, Vec<Option<usize>>, Vec<Filling>) {
    let mut known: HashMap<(String, u64), usize> = HashMap::new();
    let mut members: Vec<Vec<usize>> = Vec::new();
    for (i, point) in points.iter().enumerate() {
        let filled = point.config.precondition.mode != PreconditionMode::None;
        let group = members.len();
        let group =
            if filled { *known.entry((Filled::key(&point.config), point.seed)).or_insert(group) } else { group };
        if group == members.len() {
            members.push(Vec::new());
        }
        members[group].push(i);
    }
    let mut groups = vec![None; points.len()];
    let mut fillings = Vec::new();
    for group in members.iter().filter(|group| group.len() > 1) {
        group.iter().for_each(|i| groups[*i] = Some(fillings.len()));
        fillings.push(Filling { filled: Mutex::new(None), wanted: AtomicUsize::new(group.len()) });
    }
    (members.concat(), groups, fillings)
}

/// Runs at a time: one a core, and no more than fit into memory beside a filling each.
fn jobs(points: &[Point], plan: &Plan, limit: Option<u64>) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let wanted = plan.jobs.map_or(cores, |jobs| usize::try_from(jobs).unwrap_or(usize::MAX)).min(points.len()).max(1);
    let full = plan.check == CheckLevel::Full;
    let largest = points.iter().map(|point| Outlook::new(&point.config, full).memory.total()).max().unwrap_or(0);
    let room = limit.map_or(usize::MAX, |limit| usize::try_from(limit / (2 * largest).max(1)).unwrap_or(usize::MAX));
    wanted.min(room.max(1))
}

/// Builds the device, from the filling if it is shared, and runs it.
fn one(point: &Point, plan: &Plan, filling: Option<&Filling>, board: &Board, i: usize) -> Result<Outcome> {
    let refuse = |error: ConfigError| refused(point, &error);
    let opened = input::open(&point.input)?;
    let mut device = match filling {
        None => Device::new(&point.config, point.seed, plan.check).map_err(refuse)?,
        Some(filling) => {
            // Whoever comes first fills; the others of the group wait for it.
            let mut slot = filling.filled.lock().unwrap_or_else(PoisonError::into_inner);
            let last = filling.wanted.fetch_sub(1, Ordering::Relaxed) == 1;
            match slot.clone() {
                Some(filled) => {
                    if last {
                        *slot = None;
                    }
                    drop(slot);
                    Device::from_filled(&point.config, &filled).map_err(refuse)?
                }
                None => {
                    let device = Device::new(&point.config, point.seed, plan.check).map_err(refuse)?;
                    *slot = (!last).then(|| Arc::new(device.filled()));
                    device
                }
            }
        }
    };
    let mut input = opened.fit(&device, point.config.device.queue_depth, point.seed)?;
    if input.closed() {
        device.set_closed();
    }
    if plan.count_only {
        device.set_timeless();
    }
    let named = |fault: Fault| fault.note(format!("in {}", point.name));
    run::replay(&mut device, &mut input, None, &mut |_, share| board.at(i, share)).map_err(named)?;
    let summary = device.summary(point.seed, settings::digest(&point.config), input.digest());
    Ok(Outcome {
        summary,
        workload: input.about(),
        remarks: input.chosen().into_iter().chain(input.remarks()).collect(),
        capacity: device.capacity_bytes(),
    })
}

/// One progress display for all runs, on a terminal only.
struct Board {
    bar: ProgressBar,
    /// By point: how far it has come.
    shares: Vec<AtomicU64>,
    ended: AtomicUsize,
}

impl Board {
    /// Steps of the bar for a run.
    const STEPS: u64 = 1000;

    fn new(points: usize, quiet: bool) -> Board {
        let shares = (0..points).map(|_| AtomicU64::new(0)).collect();
        let ended = AtomicUsize::new(0);
        if quiet || !std::io::stderr().is_terminal() {
            return Board { bar: ProgressBar::hidden(), shares, ended };
        }
        let bar =
            ProgressBar::with_draw_target(Some(points as u64 * Self::STEPS), ProgressDrawTarget::stderr_with_hz(5));
        let template = "{wide_bar} {percent} %  {msg}  {elapsed} gone, {eta} left";
        bar.set_style(ProgressStyle::with_template(template).expect("a constant template"));
        bar.set_message(format!("0 of {points} runs"));
        bar.enable_steady_tick(std::time::Duration::from_millis(200));
        Board { bar, shares, ended }
    }

    fn at(&self, point: usize, share: Option<f64>) {
        let Some(share) = share.filter(|_| !self.bar.is_hidden()) else { return };
        let now = ((share * Self::STEPS as f64) as u64).min(Self::STEPS);
        let before = self.shares[point].fetch_max(now, Ordering::Relaxed);
        self.bar.inc(now.saturating_sub(before));
    }

    fn ended(&self, point: usize) {
        self.at(point, Some(1.0));
        let ended = 1 + self.ended.fetch_add(1, Ordering::Relaxed);
        self.bar.set_message(format!("{ended} of {} runs", self.shares.len()));
    }

    fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
