//! Runs what a store does not have: in threads, by shards or by claims, until all is done or time is up.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, ScopedJoinHandle};
use std::time::{Duration, Instant};

use serde_json::Value as Json;

use crate::attempt::{attempt, bury};
use crate::cost::{Cost, Rates};
use crate::fillings::Fillings;
use crate::job::{End, Follow, Job, Keep, Terms, this_machine};
use crate::key::Mode;
use crate::points::{Points, Run};
use crate::shards::{Shard, Unit, shard};
use crate::status::{Standing, Survey, Tally, batch, enough, measure};
use crate::store::{Failed, Store, beat};
use crate::study::Repeat;
use ssdlab_lab::drive::Tick;
use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::perf;
use ssdlab_lab::variants::points::Filling;

/// Which failures are tried again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Retry {
    /// Those that ran out of time or memory, three attempts each, and those whose process was killed, ten times.
    #[default]
    Usual,
    /// Also those that failed.
    Failed,
    /// All, however often they were tried.
    All,
}

/// How a sweep is run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The part to run.
    pub shard: Shard,
    /// Runs in parallel; by default one a core, as far as memory allows.
    pub jobs: Option<u64>,
    /// No run begins that is not expected to end within so many nanoseconds from the start.
    pub time_limit_ns: Option<u64>,
    /// Which failures are tried again.
    pub retry: Retry,
    /// Whether the first failure stops the sweep.
    pub fail_fast: bool,
    /// Whether units of work are claimed, so that processes that come and go share them.
    pub claim: bool,
    /// How much the oracle checks.
    pub check: ssdlab_sim::Check,
    /// Memory of all devices together; by default four fifths of the free memory.
    pub memory_limit: Option<u64>,
    /// What is kept beside records.
    pub keep: Vec<Keep>,
    /// Where fillings are kept, for other processes.
    pub fillings: Option<Fillings>,
}

/// Follows a sweep, from the threads that run it.
pub trait Watch: Sync {
    /// How many runs there are to make, before the first begins.
    fn planned(&self, _left: u64, _status: &Tally) {}
    /// A run begins, in the thread that makes it.
    fn begins(&self, _run: &Run, _point: &crate::points::Point) {}
    /// After some requests of a run.
    fn at(&self, _run: &Run, _tick: Tick) {}
    /// A run has ended.
    fn ended(&self, _run: &Run, _end: &End) {}
    /// Asked every few hundred microseconds of a run, and every few hundredths of a second by the thread that waits; `Break`
    /// stops all.
    fn go_on(&self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl Watch for () {}

/// How a sweep ended.
#[derive(Clone, Debug, Default)]
pub struct Ended {
    /// Counts of the shard's runs.
    pub status: Tally,
    /// Runs that ended now, with a record or without.
    pub ran: u64,
    /// Whether one broke an invariant, now or earlier.
    pub broke: bool,
    /// Whether time was up.
    pub late: bool,
    /// Whether the caller stopped it.
    pub stopped: bool,
    /// Whether a failure stopped it.
    pub gave_up: bool,
    /// Records that were found broken and set aside.
    pub broken: u64,
}

impl Ended {
    /// The exit status of the command.
    pub fn exit_status(&self) -> u8 {
        match () {
            () if self.stopped => 130,
            () if self.broke => 5,
            () if self.status.left > 0 && !self.gave_up => 75,
            () if self.status.failed > 0 || self.gave_up => 1,
            () => 0,
        }
    }
}

/// Whether the runs of a unit begin, where time is limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Begins {
    /// All of them: the unit is expected to end in time.
    Whole,
    /// Those that are expected to end in time by themselves: the unit is longer than the limit, so it would never begin as a whole.
    RunByRun,
    /// None of them.
    Never,
}

/// Runs that one thread makes one after the other.
struct Lot {
    /// Places among the runs.
    runs: Vec<usize>,
    /// The place of their unit.
    unit: usize,
    /// What is claimed for them.
    claim: Option<String>,
    /// Bytes that the largest of them needs, with a filling.
    memory_bytes: u64,
    /// Whether nothing else may run beside it.
    alone: bool,
}

/// Time between two questions to the thread that waits.
const WAIT: Duration = Duration::from_millis(20);
/// Time between two signs of life.
const BEAT: Duration = Duration::from_secs(60);
/// Shards that claimed units are cut for.
const CLAIM_SHARDS: u64 = 64;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Room {
    limit: u64,
    used: Mutex<Used>,
    changed: Condvar,
}

#[derive(Default)]
struct Used {
    bytes: u64,
    runs: usize,
    /// Whether the run wants nothing beside it.
    alone: bool,
}

impl Room {
    /// Waits for room; `false` if `stop` was set first.
    fn enter(&self, item: &Lot, stop: &AtomicBool) -> bool {
        let mut used = lock(&self.used);
        loop {
            if stop.load(Ordering::Relaxed) {
                return false;
            }
            let beside = !item.alone && !used.alone && used.bytes.saturating_add(item.memory_bytes) <= self.limit;
            if used.runs == 0 || beside {
                *used = Used { bytes: used.bytes + item.memory_bytes, runs: used.runs + 1, alone: item.alone };
                return true;
            }
            used = self.changed.wait_timeout(used, WAIT).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn leave(&self, item: &Lot) {
        let mut used = lock(&self.used);
        *used = Used { bytes: used.bytes - item.memory_bytes, runs: used.runs - 1, alone: false };
        self.changed.notify_all();
    }
}

struct Engine<'e> {
    points: &'e Points,
    store: &'e Store,
    options: &'e Options,
    watch: &'e dyn Watch,
    terms: Terms,
    runs: Vec<Run>,
    fillings: HashMap<([u8; 32], u64), Filling>,
    /// By place among the runs: whether it is made.
    wanted: Vec<bool>,
    units: Vec<Unit>,
    /// By unit: whether its runs begin, once that is decided.
    begins: Vec<Mutex<Option<Begins>>>,
    threads: usize,
    stop: AtomicBool,
    gave_up: AtomicBool,
    late: AtomicBool,
    stopped: AtomicBool,
    ran: AtomicUsize,
    from: Instant,
    rates: Mutex<Rates>,
    costs: Mutex<Vec<(Cost, Mode)>>,
    claims: Mutex<Vec<PathBuf>>,
}

struct Following<'f, 'e>(&'f Engine<'e>, &'f Run);

impl Follow for Following<'_, '_> {
    fn go_on(&mut self) -> ControlFlow<()> {
        self.0.go_on()
    }

    fn at(&mut self, tick: Tick) {
        self.0.watch.at(self.1, tick);
    }
}

impl<'e> Engine<'e> {
    fn go_on(&self) -> ControlFlow<()> {
        if self.stopped.load(Ordering::Relaxed) {
            return ControlFlow::Break(());
        }
        let flow = self.watch.go_on();
        if flow.is_break() {
            self.stopped.store(true, Ordering::Relaxed);
            self.stop.store(true, Ordering::Relaxed);
        }
        flow
    }

    fn job<'r>(&'r self, run: &'r Run) -> Job<'r> {
        job(self.points, run)
    }

    /// Whether a unit is expected to end in time, decided when the first of its runs is due.
    fn begins(&self, unit: usize, limit_s: f64) -> Begins {
        *lock(&self.begins[unit]).get_or_insert_with(|| {
            let expected = self.expected_s(unit);
            match () {
                () if self.from.elapsed().as_secs_f64() + expected <= limit_s => Begins::Whole,
                () if expected > limit_s => Begins::RunByRun,
                () => Begins::Never,
            }
        })
    }

    fn expected_s(&self, unit: usize) -> f64 {
        let rates = lock(&self.rates);
        let wanted = self.units[unit].runs.iter().filter(|place| self.wanted[**place]);
        let cost = |place: &usize| rates.expect(&self.points.points[self.runs[*place].point].work);
        let costs: Vec<(f64, f64)> = match self.points.study.repeat {
            // How many seeds it takes is not known: a batch.
            Repeat::Until(_) => wanted.take(3).map(cost).collect(),
            Repeat::Seeds(_) => wanted.map(cost).collect(),
        };
        let longest = costs.iter().map(|(all, _)| *all).fold(0.0, f64::max);
        let filled_once = !matches!(self.points.study.repeat, Repeat::Until(_));
        let fill = costs.iter().map(|(_, fill)| *fill).fold(0.0, f64::max);
        let served: f64 = costs.iter().map(|(all, fill)| all - fill).sum();
        let all = if filled_once { served + fill } else { costs.iter().map(|(all, _)| all).sum() };
        // The runs of a claimed unit, and the seeds of a point, follow each other.
        let threads = if self.options.claim || !filled_once { 1 } else { self.threads.min(costs.len().max(1)) };
        (all / threads as f64).max(longest)
    }

    /// Whether a run is to begin as far as time goes.
    fn in_time(&self, run: &Run, unit: usize) -> bool {
        let Some(limit) = self.options.time_limit_ns else { return true };
        let limit_s = limit as f64 / 1e9;
        let fits = match self.begins(unit, limit_s) {
            Begins::Whole => true,
            Begins::Never => false,
            Begins::RunByRun => {
                let (expected, _) = lock(&self.rates).expect(&self.points.points[run.point].work);
                self.from.elapsed().as_secs_f64() + expected <= limit_s
            }
        };
        if !fits {
            self.late.store(true, Ordering::Relaxed);
        }
        fits
    }

    /// Makes one run of a unit; `false`: nothing more is to be made.
    fn one(&self, run: &Run, unit: usize, filling: Option<&Filling>) -> Result<bool> {
        if self.stop.load(Ordering::Relaxed) {
            return Ok(false);
        }
        if !self.in_time(run, unit) {
            if let Some(filling) = filling {
                filling.skip();
            }
            return Ok(true);
        }
        let job = self.job(run);
        self.watch.begins(run, &self.points.points[run.point]);
        let end = attempt(&job, &self.terms, self.store, filling, &mut Following(self, run))?;
        self.watch.ended(run, &end);
        match &end {
            End::Stopped => return Ok(false),
            End::Record { cost, .. } => {
                self.ran.fetch_add(1, Ordering::Relaxed);
                if let Some(cost) = cost {
                    self.learn(cost, job.mode);
                }
            }
            End::Failure { .. } => {
                self.ran.fetch_add(1, Ordering::Relaxed);
                if self.options.fail_fast {
                    self.gave_up.store(true, Ordering::Relaxed);
                    self.stop.store(true, Ordering::Relaxed);
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Estimates follow what was measured; they are computed whenever twice as much is known.
    fn learn(&self, cost: &Cost, mode: Mode) {
        let mut costs = lock(&self.costs);
        costs.push((cost.clone(), mode));
        if costs.len().is_power_of_two() {
            *lock(&self.rates) = Rates::of(costs.iter().map(|(cost, mode)| (cost, *mode)), this_machine());
        }
    }

    fn filling(&self, run: &Run) -> Option<&Filling> {
        let filling = self.points.points[run.point].filling?;
        self.fillings.get(&(filling, run.seed))
    }

    fn item(&self, item: &Lot) -> Result<bool> {
        let claim = match &item.claim {
            None => None,
            Some(key) => match self.store.claim(key)? {
                Some(claim) => Some(claim),
                None => return Ok(true),
            },
        };
        if let Some(claim) = &claim {
            lock(&self.claims).push(claim.path().to_path_buf());
        }
        // The runs of a unit are filled alike.
        let wanted = item.runs.iter().filter(|place| self.wanted[**place]).count();
        let filled = self.points.points[self.runs[item.runs[0]].point].filling.is_some();
        let filling = (claim.is_some() && filled && wanted > 1).then(|| Filling::new(wanted));
        let done = match &self.points.study.repeat {
            Repeat::Until(_) => self.batches(item),
            Repeat::Seeds(_) => self.seeds(item, filling.as_ref()),
        };
        if let Some(claim) = &claim {
            lock(&self.claims).retain(|path| path != claim.path());
        }
        done
    }

    fn seeds(&self, item: &Lot, filling: Option<&Filling>) -> Result<bool> {
        for place in &item.runs {
            if self.wanted[*place] {
                let run = &self.runs[*place];
                if !self.one(run, item.unit, filling.or_else(|| self.filling(run)))? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Seeds of a point in batches, until its measure is known well enough.
    fn batches(&self, item: &Lot) -> Result<bool> {
        let Repeat::Until(until) = &self.points.study.repeat else { return Ok(true) };
        let place = self.runs[item.runs[0]].point;
        let mut values: Vec<Option<f64>> = Vec::new();
        loop {
            for seed in batch(values.len() as u64, until) {
                let run = self.points.run(place, seed);
                let mut read = self.store.read::<Json>(&run.key)?;
                if read.is_none() {
                    if !self.tried(&run)? {
                        return Ok(true);
                    }
                    if !self.one(&run, item.unit, None)? {
                        return Ok(false);
                    }
                    read = self.store.read::<Json>(&run.key)?;
                }
                // A failure or the limit of time ends the point for now.
                let Some(read) = read else { return Ok(true) };
                if read.summary.is_none() {
                    return Ok(true);
                }
                values.push(read.summary.as_ref().and_then(|summary| measure(summary, &until.measure)));
            }
            if enough(&values, until) {
                return Ok(true);
            }
        }
    }

    /// Whether a run may be made that failed before.
    fn tried(&self, run: &Run) -> Result<bool> {
        bury(&self.job(run), &self.terms, self.store)?;
        let Some(failure) = self.store.failure(&run.key) else { return Ok(true) };
        let again = match self.options.retry {
            Retry::All => true,
            Retry::Failed => failure.status == Failed::Failed || !failure.for_good(),
            Retry::Usual => !failure.for_good(),
        };
        if again && failure.for_good() {
            self.store.forgive(&run.key)?;
        }
        Ok(again)
    }
}

/// A run as a job.
pub fn job<'r>(points: &'r Points, run: &'r Run) -> Job<'r> {
    let point = &points.points[run.point];
    let input = &points.inputs[point.input];
    Job {
        key: &run.key,
        config: &point.config,
        refused: point.refused.as_deref(),
        requests: &input.requests,
        input: &input.identity,
        seed: run.seed,
        mode: point.mode,
        memory_bytes: point.memory_bytes,
    }
}

/// The terms of a study's runs.
pub fn terms(points: &Points, options: &Options) -> Terms {
    let limits = points.study.limits;
    let memory = [limits.memory_bytes, options.memory_limit.or_else(perf::memory_limit)];
    Terms {
        check: options.check,
        wall_ns: limits.wall_ns,
        memory_bytes: memory.into_iter().flatten().min(),
        keep: options.keep.clone(),
        fillings: options.fillings.clone(),
    }
}

/// Runs a study, or a shard of it.
///
/// # Errors
/// The store can't be read or written, or an option contradicts the study. Failures of runs are kept in the store.
pub fn run(points: &Points, store: &Store, options: &Options, watch: &dyn Watch) -> Result<Ended> {
    let timeless = points.points.iter().any(|point| point.mode == Mode::Count);
    if timeless && !options.keep.is_empty() {
        return Err(Error::usage("--keep, but runs are counted only: they have no times to keep")
            .help("leave --keep or count_only out"));
    }
    let set_aside = store.broken();
    let mut engine = Engine::new(points, store, options, watch);
    let survey = Survey::of(points, Some(store))?;
    let own: Vec<usize> = engine.units.iter().flat_map(|unit| unit.runs.iter().copied()).collect();
    let beside = engine.choose(&own, &survey)?;
    let measured: Vec<Run> = own.iter().map(|place| engine.runs[*place].clone()).collect();
    *lock(&engine.rates) = survey.rates(&measured, Some(store), 1000);
    engine.share(&own);
    let items = engine.items(&beside);
    let left = own.iter().filter(|place| engine.wanted[**place]).count() as u64;
    watch.planned(left, &survey.status(&measured, Some(store)));

    work(&engine, &items)?;

    let survey = Survey::of(points, Some(store))?;
    let known: HashSet<(usize, u64)> = survey.runs().into_iter().map(|run| (run.point, run.seed)).collect();
    let own: Vec<Run> = measured.into_iter().filter(|run| known.contains(&(run.point, run.seed))).collect();
    let broke =
        |run: &Run| matches!(survey.standing(run, store), Standing::Failure(failure) if failure.exit_status == 5);
    Ok(Ended {
        status: survey.status(&own, Some(store)),
        ran: engine.ran.load(Ordering::Relaxed) as u64,
        broke: own.iter().any(broke),
        late: engine.late.load(Ordering::Relaxed),
        stopped: engine.stopped.load(Ordering::Relaxed),
        gave_up: engine.gave_up.load(Ordering::Relaxed),
        broken: store.broken() - set_aside,
    })
}

/// What decides when a wanted run is made, by place among the runs.
struct Beside {
    /// It needs so much memory that nothing else may run beside it.
    alone: Vec<bool>,
    /// Another process is running it now.
    elsewhere: Vec<bool>,
}

impl<'e> Engine<'e> {
    fn new(points: &'e Points, store: &'e Store, options: &'e Options, watch: &'e dyn Watch) -> Engine<'e> {
        let runs = points.runs();
        let units = match options.claim {
            true => crate::shards::units(points, &runs, CLAIM_SHARDS),
            false => shard(points, &runs, options.shard),
        };
        Engine {
            points,
            store,
            options,
            watch,
            terms: terms(points, options),
            fillings: HashMap::new(),
            wanted: vec![false; runs.len()],
            begins: units.iter().map(|_| Mutex::new(None)).collect(),
            runs,
            units,
            threads: options
                .jobs
                .map_or_else(ssdlab_lab::parallel::cores, |jobs| usize::try_from(jobs).unwrap_or(usize::MAX)),
            stop: AtomicBool::new(false),
            gave_up: AtomicBool::new(false),
            late: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
            ran: AtomicUsize::new(0),
            from: Instant::now(),
            rates: Mutex::new(Rates::default()),
            costs: Mutex::new(Vec::new()),
            claims: Mutex::new(Vec::new()),
        }
    }

    /// Chooses the runs that the store does not have.
    fn choose(&mut self, own: &[usize], survey: &Survey<'_>) -> Result<Beside> {
        let (store, none) = (self.store, vec![false; self.runs.len()]);
        let mut beside = Beside { alone: none.clone(), elsewhere: none };
        for place in own {
            let run = &self.runs[*place];
            let has = survey.has(&run.key);
            let elsewhere = has.mark && store.mark(&run.key).is_some_and(|(_, alive)| alive);
            beside.elsewhere[*place] = elsewhere;
            let kept = self.options.keep.iter().all(|keep| store.folder(&run.key).join(keep.file()).exists());
            if has.record && kept && store.holds(&run.key)? {
                if has.mark && !elsewhere {
                    store.unmark(&run.key)?;
                }
                // A process that was killed right after its record left the failure of an earlier attempt.
                if has.failure {
                    store.forgive(&run.key)?;
                }
                continue;
            }
            self.wanted[*place] = self.tried(run)?;
            beside.alone[*place] = store.failure(&run.key).is_some_and(|failure| failure.status == Failed::Memory);
        }
        Ok(beside)
    }

    /// Whether seeds follow from results.
    fn until(&self) -> bool {
        matches!(self.points.study.repeat, Repeat::Until(_))
    }

    /// Finds the fillings that several runs need.
    fn share(&mut self, own: &[usize]) {
        if self.until() || self.options.claim {
            return;
        }
        let mut sharing: BTreeMap<([u8; 32], u64), usize> = BTreeMap::new();
        for place in own.iter().filter(|place| self.wanted[**place]) {
            let run = &self.runs[*place];
            if let Some(filling) = self.points.points[run.point].filling {
                *sharing.entry((filling, run.seed)).or_default() += 1;
            }
        }
        let shared = sharing.into_iter().filter(|(_, wanted)| *wanted > 1);
        self.fillings = shared.map(|(filling, wanted)| (filling, Filling::new(wanted))).collect();
    }

    /// Bytes that the largest of some runs needs, with a filling.
    fn memory(&self, places: &[usize]) -> u64 {
        let of = |place: &usize| {
            let run = &self.runs[*place];
            let bytes = self.points.points[run.point].memory_bytes;
            let shares = self.filling(run).is_some() || (self.options.claim && places.len() > 1);
            if shares { 2 * bytes } else { bytes }
        };
        places.iter().map(of).max().unwrap_or(0)
    }

    /// What threads take: single runs, or whole units where these are claimed or seeds follow from results.
    fn items(&self, beside: &Beside) -> Vec<Lot> {
        let mut items: Vec<Lot> = Vec::new();
        for (at, unit) in self.units.iter().enumerate() {
            if self.until() || self.options.claim {
                if unit.runs.iter().any(|place| self.wanted[*place]) {
                    let claim = self.options.claim.then(|| self.runs[unit.runs[0]].key.clone());
                    let (runs, memory_bytes) = (unit.runs.clone(), self.memory(&unit.runs));
                    items.push(Lot { runs, unit: at, claim, memory_bytes, alone: false });
                }
                continue;
            }
            for place in unit.runs.iter().filter(|place| self.wanted[**place]) {
                let (memory_bytes, alone) = (self.memory(&[*place]), beside.alone[*place]);
                items.push(Lot { runs: vec![*place], unit: at, claim: None, memory_bytes, alone });
            }
        }
        // What another process is running now comes last: it may be done by then.
        items.sort_by_key(|item| item.runs.iter().any(|place| beside.elsewhere[*place]));
        items
    }
}

/// Makes all items, in as many threads as are asked for.
fn work(engine: &Engine<'_>, items: &[Lot]) -> Result<()> {
    let jobs = engine.threads.clamp(1, items.len().max(1));
    let limit = engine.options.memory_limit.or_else(perf::memory_limit).unwrap_or(u64::MAX);
    let room = Room { limit, used: Mutex::default(), changed: Condvar::new() };
    let next = AtomicUsize::new(0);
    let fault: Mutex<Option<Error>> = Mutex::new(None);
    let worker = || {
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            if !room.enter(item, &engine.stop) {
                break;
            }
            let done = engine.item(item);
            room.leave(item);
            match done {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    engine.stop.store(true, Ordering::Relaxed);
                    engine.stopped.store(true, Ordering::Relaxed);
                    lock(&fault).get_or_insert(error);
                    break;
                }
            }
        }
    };
    std::thread::scope(|scope| {
        // As many as the system gives; if it gives none, this thread does the work.
        let begin = |_| Builder::new().spawn_scoped(scope, worker).ok();
        let threads: Vec<_> = (0..jobs).map_while(begin).collect();
        if threads.is_empty() {
            worker();
        }
        let mut beaten = Instant::now();
        while !threads.iter().all(ScopedJoinHandle::is_finished) {
            let _ = engine.go_on();
            if beaten.elapsed() >= BEAT {
                beaten = Instant::now();
                lock(&engine.claims).iter().for_each(|path| beat(path));
            }
            std::thread::park_timeout(WAIT);
        }
    });
    lock(&fault).take().map_or(Ok(()), Err)
}
