//! Many runs, several in parallel. Results come in the order of the points and do not depend on the number of threads.
//!
//! Points whose configurations are filled alike (see [`Filled::key`]) share one filling. Each of them starts from a copy;
//! the filling is dropped after the last one.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, ScopedJoinHandle, Thread};
use std::time::Duration;

use ssdlab_sim::config::{Config, PreconditionMode};
use ssdlab_sim::{Check, ConfigError, Filled};

use crate::drive::{Device, Listener, Tick, interrupted, replay};
use crate::error::{Class, Error, Result};
use crate::input::{self, Requests};
use crate::memory;
use crate::outcome::Outcome;
use crate::parallel::cores;
use crate::perf;
use crate::theory::Outlook;

/// One run.
#[derive(Clone, Debug)]
pub struct Point {
    /// Its name in messages.
    pub name: String,
    /// A checked configuration.
    pub config: Config,
    /// Which requests it serves.
    pub requests: Requests,
    /// Seed of every random choice.
    pub seed: u64,
}

impl Point {
    /// The same on a device that knows which part of it each tenant uses, before it is filled.
    fn placed(&self) -> Point {
        let mut placed = self.clone();
        placed.requests.place_on(&mut placed.config);
        placed
    }
}

/// How to run them.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// How much the oracle looks at.
    pub check: Check,
    /// No time, no latencies.
    pub count_only: bool,
    /// Runs in parallel; by default one per core, as far as memory allows.
    pub jobs: Option<u64>,
    /// Memory limit of all devices in bytes; by default four fifths of the free memory.
    pub memory_limit: Option<u64>,
}

/// Receives the progress of many runs, from the threads that simulate them.
pub trait Board: Sync {
    /// After each [`TICK`](crate::drive::TICK) requests of a run, given by its place among the points; `Break` stops all runs.
    fn at(&self, _point: usize, _tick: Tick) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
    /// Asked every few hundred microseconds of a run, also while its device is filled; `Break` stops all runs.
    fn go_on(&self, _point: usize) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
    /// Asked every few hundredths of a second by the thread that waits for the runs, if it runs none itself; `Break` stops them
    /// all.
    fn waits(&self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
    /// A run has ended, well or not.
    fn ended(&self, _point: usize) {}
}

/// Ignores progress.
impl Board for () {}

/// Wakes a thread when a run's thread ends, even by a panic.
struct Awaken(Thread);

impl Drop for Awaken {
    fn drop(&mut self) {
        self.0.unpark();
    }
}

/// Stops all runs when it is dropped.
struct Alive<'s>(&'s AtomicBool);

impl Drop for Alive<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Time between two questions to the thread that waits.
const WAIT: Duration = Duration::from_millis(20);

/// A point's place on the board.
struct OnBoard<'b>(&'b dyn Board, usize);

impl Listener for OnBoard<'_> {
    fn tick(&mut self, tick: Tick) -> ControlFlow<()> {
        self.0.at(self.1, tick)
    }

    fn go_on(&mut self) -> ControlFlow<()> {
        self.0.go_on(self.1)
    }
}

/// A filling and the number of points that still need it.
pub struct Filling {
    filled: Mutex<Option<Arc<Filled>>>,
    wanted: AtomicUsize,
}

impl Filling {
    /// One that so many points need.
    pub fn new(wanted: usize) -> Filling {
        Filling { filled: Mutex::new(None), wanted: AtomicUsize::new(wanted) }
    }

    /// The device of one of the points. The first one fills it; the others wait for that, and the last one drops the filling.
    ///
    /// # Errors
    /// Those of `fill`, and `refuse` of a rule that the configuration breaks.
    pub fn device(
        &self,
        config: &Config,
        fill: impl FnOnce() -> Result<Device>,
        refuse: impl FnOnce(ConfigError) -> Error,
    ) -> Result<Device> {
        let mut slot = self.filled.lock().unwrap_or_else(PoisonError::into_inner);
        let last = self.wanted.fetch_sub(1, Ordering::Relaxed) == 1;
        match slot.clone() {
            Some(filled) => {
                if last {
                    *slot = None;
                }
                drop(slot);
                Device::from_filled(config, &filled).map_err(refuse)
            }
            None => {
                let device = fill()?;
                *slot = (!last).then(|| Arc::new(device.ssd.filled()));
                Ok(device)
            }
        }
    }

    /// One of the points does not need it after all.
    pub fn skip(&self) {
        let mut slot = self.filled.lock().unwrap_or_else(PoisonError::into_inner);
        if self.wanted.fetch_sub(1, Ordering::Relaxed) == 1 {
            *slot = None;
        }
    }
}

/// Runs all points.
///
/// # Errors
/// The first error in the order of work.
pub fn sweep(points: &[Point], plan: &Plan, board: &dyn Board) -> Result<Vec<Outcome>> {
    let limit = plan.memory_limit.or_else(perf::memory_limit);
    points.iter().try_for_each(|point| may_run(point, plan, limit))?;
    let (order, mut taken) = run_all(points, plan, limit, board, |_| true);
    // Points start in order, so the first failure in that order is always among those that ran.
    if let Some(failed) = order.iter().find(|i| matches!(taken[**i], Some(Err(_)))) {
        return Err(taken[*failed].take().and_then(Result::err).expect("as found"));
    }
    // Stopped between two runs.
    taken.into_iter().map(|outcome| outcome.unwrap_or_else(|| Err(interrupted()))).collect()
}

/// Runs all points, each for itself: a run that can't be made has its error, and the others go on.
///
/// # Errors
/// One that is of all runs: see [`is_of_all`].
pub fn sweep_each(points: &[Point], plan: &Plan, board: &dyn Board) -> Result<Vec<Result<Outcome>>> {
    let limit = plan.memory_limit.or_else(perf::memory_limit);
    let (order, mut taken) = run_all(points, plan, limit, board, is_of_all);
    if let Some(failed) = order.iter().find(|i| matches!(&taken[**i], Some(Err(error)) if is_of_all(error))) {
        return Err(taken[*failed].take().and_then(Result::err).expect("as found"));
    }
    taken.into_iter().map(|outcome| outcome.ok_or_else(interrupted)).collect()
}

/// Whether an error is not of one run: the caller stopped it, a file can't be read, or a law of the simulator is broken.
pub fn is_of_all(error: &Error) -> bool {
    matches!(error.class(), Class::Stopped | Class::File | Class::Invariant)
}

/// Whether a run may begin.
fn may_run(point: &Point, plan: &Plan, limit: Option<u64>) -> Result<()> {
    point.config.check_mode(plan.count_only).map_err(|error| refused(point, &error))?;
    memory::fits(&point.config, plan.check, limit, |refusal| refused(point, refusal))
}

/// Runs all points until an error stops the others. Returns the order of work, and what came of each point; nothing of those that
/// never began.
fn run_all(
    points: &[Point],
    plan: &Plan,
    limit: Option<u64>,
    board: &dyn Board,
    stops: fn(&Error) -> bool,
) -> (Vec<usize>, Vec<Option<Result<Outcome>>>) {
    let points: &[Point] = &points.iter().map(Point::placed).collect::<Vec<_>>();
    let (order, groups, fillings) = group(points);
    let jobs = jobs(points, plan, limit);
    let results: Vec<Mutex<Option<Result<Outcome>>>> = points.iter().map(|_| Mutex::new(None)).collect();
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let worker = || {
        // A panic stops the others too.
        let alive = Alive(&stop);
        while !stop.load(Ordering::Relaxed) {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(&i) = order.get(place) else { break };
            let filling = groups[i].map(|group: usize| &fillings[group]);
            let outcome = may_run(&points[i], plan, limit).inspect_err(|_| filling.into_iter().for_each(Filling::skip));
            let outcome = outcome.and_then(|()| one(&points[i], plan, filling, board, i));
            stop.fetch_or(outcome.as_ref().is_err_and(stops), Ordering::Relaxed);
            *results[i].lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
            board.ended(i);
        }
        std::mem::forget(alive);
    };
    if jobs == 1 {
        worker();
    } else {
        let waiting = std::thread::current();
        let run = || {
            let awake = Awaken(waiting.clone());
            worker();
            drop(awake);
        };
        std::thread::scope(|scope| {
            // As many as the system gives; if it gives none, this thread does the work.
            let threads: Vec<_> = (0..jobs).map_while(|_| Builder::new().spawn_scoped(scope, run).ok()).collect();
            if threads.is_empty() {
                worker();
            }
            while !threads.iter().all(ScopedJoinHandle::is_finished) {
                if board.waits().is_break() {
                    stop.store(true, Ordering::Relaxed);
                }
                std::thread::park_timeout(WAIT);
            }
            // The panic of a broken law goes on with its text.
            if let Some(panic) = threads.into_iter().find_map(|thread| thread.join().err()) {
                resume_unwind(panic);
            }
        });
    }
    let taken = results.into_iter().map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner)).collect();
    (order, taken)
}

fn refused(point: &Point, error: &ConfigError) -> Error {
    let message = format!("{}: {}: {}", point.name, error.key, error.message);
    Error::config(&*error.key, message).help(error.help.as_str())
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
        fillings.push(Filling::new(group.len()));
    }
    (members.concat(), groups, fillings)
}

/// Runs in parallel: one per core, and no more than fit into memory, each with a filling.
fn jobs(points: &[Point], plan: &Plan, limit: Option<u64>) -> usize {
    let wanted =
        plan.jobs.map_or_else(cores, |jobs| usize::try_from(jobs).unwrap_or(usize::MAX)).min(points.len()).max(1);
    let full = plan.check == Check::Full;
    let largest = points.iter().map(|point| Outlook::new(&point.config, full).memory.total()).max().unwrap_or(0);
    let room = limit.map_or(usize::MAX, |limit| usize::try_from(limit / (2 * largest).max(1)).unwrap_or(usize::MAX));
    wanted.min(room.max(1))
}

/// Builds the device, from the filling if it is shared, and runs it.
fn one(point: &Point, plan: &Plan, filling: Option<&Filling>, board: &dyn Board, i: usize) -> Result<Outcome> {
    let refuse = |error: ConfigError| refused(point, &error);
    let opened = input::open(&point.requests)?;
    let fill = || {
        let device =
            Device::new_while(&point.config, point.seed, plan.check, &mut || board.go_on(i)).map_err(refuse)?;
        device.ok_or_else(interrupted)
    };
    let mut device = match filling {
        None => fill()?,
        Some(filling) => filling.device(&point.config, fill, refuse)?,
    };
    // Not read ahead: runs in parallel have the cores already.
    let input = opened.fit(&device.target(point.config.device.queue_depth, point.seed))?;
    if plan.count_only {
        device.timeless = true;
    }
    device.prepare(&input)?;
    let named = |error: Error| error.note(format!("in {}", point.name));
    let (_, input) = replay(&mut device, input, &mut (), &mut OnBoard(board, i)).map_err(named)?;
    Ok(Outcome::new(&device, &input, &point.config, point.seed))
}
