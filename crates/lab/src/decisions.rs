//! Decisions of one slot, taken step by step by a caller: for agents that learn.
//!
//! A [`Game`] is a filled device and requests. [`Game::reset`] starts an episode: a copy of the device serves the requests in a
//! thread of its own and stops at each decision until [`Game::step`] answers it. Filling takes no decisions: it is that of `greedy`.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use ssdlab_sim::config::Config;
use ssdlab_sim::policy::{Load, Need, Trigger, Victim, View};
use ssdlab_sim::report::Summary;
use ssdlab_sim::schemes::victim::Greedy;
use ssdlab_sim::schemes::{AnyTrigger, AnyVictim};
use ssdlab_sim::units::{BlockId, Nanos, PlaneId};
use ssdlab_sim::{Check, Filled};

use crate::drive::{Device, Listener, interrupted, replay};
use crate::error::{Error, Result};
use crate::input::{self, Requests};
use crate::outcome::Outcome;
use crate::outside::TriggerSight;

/// The slot whose decisions the caller takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// `schemes.victim`: which of so many candidates is collected.
    Victim {
        /// Candidates: the closed blocks with the fewest valid pages, ties to the lowest index.
        candidates: usize,
    },
    /// `schemes.trigger`: whether a plane of a die that has been idle for this long is collected.
    Trigger {
        /// Idle time.
        after: Nanos,
    },
}

/// A block that may be collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Index in the plane.
    pub block: u32,
    /// Valid pages.
    pub valid: u32,
    /// Time since it was closed.
    pub age_ns: u64,
    /// Erases beyond those of the least erased block of the plane.
    pub erases: u32,
    /// Pages of the blocks closed in the plane since.
    pub written: u64,
}

/// A decision to take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The plane.
    pub plane: u32,
    /// Simulated time.
    pub now: u64,
    /// Data pages of a block.
    pub pages_per_block: u32,
    /// Blocks to choose from: the answer is an index. Every block has an invalid page. Empty for a trigger.
    pub candidates: Vec<Candidate>,
    /// Unprogrammed pages of the plane, and how many free pages it is collected below.
    pub free_pages: (u32, u32),
    /// More of the plane, for a trigger.
    pub plane_state: Option<TriggerSight>,
    /// Load and progress of the device.
    pub load: Load,
    /// Pages programmed by GC, and all pages programmed, since the first decision of the last 10 ms.
    pub recent: (u64, u64),
}

/// What comes next in an episode.
#[derive(Debug)]
pub enum Event {
    /// A decision to take.
    Decide(Box<Decision>),
    /// The last request has completed.
    Done(Box<EpisodeEnd>),
}

/// The end of an episode.
#[derive(Debug)]
pub struct EpisodeEnd {
    /// What happened.
    pub summary: Summary,
    /// Simulated time.
    pub now: u64,
    /// Load and progress.
    pub load: Load,
}

impl Decision {
    /// Features for an agent: four for each of `k` candidates, then three of the device.
    ///
    /// A candidate's are its share of valid pages, ln(1 + its age in seconds, at most 10,000), its erases beyond the least of
    /// the plane, and ln(1 + pages written in the plane since it closed); zeros stand for missing candidates. The device's are
    /// the plane's free pages over `gc.threshold`, pending requests over the queue depth, and GC's share of the pages programmed
    /// since the first decision of the last 10 ms.
    pub fn features(&self, k: usize) -> Vec<f32> {
        let mut features = vec![0.0f32; 4 * k + 3];
        for (block, out) in self.candidates.iter().zip(features.chunks_exact_mut(4)) {
            out[0] = block.valid as f32 / self.pages_per_block as f32;
            out[1] = (block.age_ns as f64 / 1e9).min(1e4).ln_1p() as f32;
            out[2] = block.erases as f32;
            out[3] = (block.written as f64).ln_1p() as f32;
        }
        features[4 * k] = ratio(self.free_pages.0.into(), self.free_pages.1.into());
        features[4 * k + 1] = ratio(self.load.pending as f64, self.load.depth.into());
        features[4 * k + 2] = ratio(self.recent.0 as f64, self.recent.1 as f64);
        features
    }

    /// Features of the plane for the agent of a trigger: free pages over `gc.threshold`, share of erased blocks, least share of
    /// valid pages of a closed block, mean share of valid pages of closed blocks, pending requests over the queue depth, and
    /// GC's share as in [`Decision::features`]. Nothing for the agent of a victim.
    pub fn plane_features(&self) -> Vec<f32> {
        let Some(plane) = &self.plane_state else { return Vec::new() };
        let pages = f64::from(self.pages_per_block);
        let blocks = f64::from(plane.pages_per_plane) / f64::from(plane.pages_per_block);
        vec![
            ratio(plane.free_pages.into(), plane.threshold.into()),
            ratio(plane.free_blocks.into(), blocks),
            plane.least_valid.map_or(1.0, |valid| ratio(valid.into(), pages)),
            ratio(plane.valid_pages.into(), f64::from(plane.closed) * pages),
            ratio(self.load.pending as f64, self.load.depth.into()),
            ratio(self.recent.0 as f64, self.recent.1 as f64),
        ]
    }
}

fn ratio(part: f64, whole: f64) -> f32 {
    if whole == 0.0 { 0.0 } else { (part / whole) as f32 }
}

/// Time over which [`Decision::recent`] is counted.
const RECENT: u64 = 10_000_000;

/// Hands one value at a time from a thread to another. The other one looks for the value a few times, and lets other threads run in
/// between; then it sleeps. To wake a thread on another core takes longer than most steps.
struct Hatch<T> {
    held: Mutex<Held<T>>,
    changed: Condvar,
    /// Whether a look is worth it.
    ready: AtomicBool,
}

struct Held<T> {
    value: Option<T>,
    closed: bool,
}

impl<T> Hatch<T> {
    /// Looks before a thread sleeps: 20 to 100 us where no other thread wants to run.
    const LOOKS: u32 = 200;

    fn new() -> Arc<Self> {
        let held = Mutex::new(Held { value: None, closed: false });
        Arc::new(Hatch { held, changed: Condvar::new(), ready: AtomicBool::new(false) })
    }

    fn held(&self) -> MutexGuard<'_, Held<T>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a value. Returns whether it may be taken.
    fn put(&self, value: T) -> bool {
        let mut held = self.held();
        if held.closed {
            return false;
        }
        held.value = Some(value);
        self.ready.store(true, Ordering::Release);
        drop(held);
        self.changed.notify_one();
        true
    }

    /// Waits for a value; none once the hatch is closed.
    fn take(&self) -> Option<T> {
        let empty = || !self.ready.load(Ordering::Acquire);
        (0..Self::LOOKS).take_while(|_| empty()).for_each(|_| std::thread::yield_now());
        let waits = |held: &mut Held<T>| held.value.is_none() && !held.closed;
        let mut held = self.changed.wait_while(self.held(), waits).unwrap_or_else(PoisonError::into_inner);
        self.ready.store(false, Ordering::Release);
        held.value.take()
    }

    /// No value comes any more.
    fn close(&self) {
        self.held().closed = true;
        self.ready.store(true, Ordering::Release);
        self.changed.notify_one();
    }
}

/// Where the thread of an episode and the caller meet.
#[derive(Clone)]
struct Link {
    decisions: Arc<Hatch<Result<Event>>>,
    answers: Arc<Hatch<usize>>,
}

/// Where an episode's device finds its link.
type Dock = Arc<Mutex<Option<Link>>>;

/// The policy in the engine: asks the caller, or is `greedy` (a trigger: never) outside episodes.
#[derive(Default)]
struct Asker {
    dock: Dock,
    link: Option<Link>,
    over: bool,
    /// Time, pages of GC and all pages at decisions of the last 10 ms.
    recent: VecDeque<(u64, u64, u64)>,
}

impl Asker {
    fn at(dock: Dock) -> Asker {
        Asker { dock, ..Asker::default() }
    }

    fn linked(&mut self) -> bool {
        if self.link.is_none() && !self.over {
            self.link = self.dock.lock().unwrap_or_else(PoisonError::into_inner).take();
        }
        self.link.is_some()
    }

    fn recent(&mut self, now: u64, load: &Load) -> (u64, u64) {
        let (gc, all) = (load.gc_pages, load.gc_pages + load.host_pages);
        self.recent.push_back((now, gc, all));
        while self.recent.front().is_some_and(|(at, ..)| *at + RECENT < now) {
            self.recent.pop_front();
        }
        let (_, gc_then, all_then) = self.recent.front().copied().unwrap_or((now, gc, all));
        (gc.saturating_sub(gc_then), all.saturating_sub(all_then))
    }

    /// The caller's answer; none once the caller has left.
    fn ask(&mut self, decision: Decision) -> Option<usize> {
        let link = self.link.as_ref()?;
        let asked = link.decisions.put(Ok(Event::Decide(Box::new(decision))));
        let answer = if asked { link.answers.take() } else { None };
        if answer.is_none() {
            (self.link, self.over) = (None, true);
        }
        answer
    }
}

struct AskedVictim {
    asker: Asker,
    greedy: Greedy,
    most: usize,
    threshold: ssdlab_sim::units::Threshold,
    /// Reused: valid pages and index of the candidates.
    order: Vec<(u16, u32)>,
}

impl Clone for AskedVictim {
    fn clone(&self) -> Self {
        AskedVictim {
            asker: Asker::at(self.asker.dock.clone()),
            greedy: self.greedy.clone(),
            most: self.most,
            threshold: self.threshold,
            order: Vec::new(),
        }
    }
}

impl Victim for AskedVictim {
    fn pick(&mut self, view: &View, plane: PlaneId) -> Option<BlockId> {
        if !self.asker.linked() {
            return self.greedy.pick(view, plane);
        }
        let range = view.geometry.blocks(plane);
        let full = view.geometry.data_pages;
        let counts = &view.flash.valid_if_closed()[range.clone()];
        // As for all victim policies, a second copy is a valid page.
        let copies = view.flash.copies_by_block().get(range.clone()).unwrap_or_default();
        self.order.clear();
        for (block, valid) in counts.iter().enumerate() {
            let valid = valid + copies.get(block).copied().unwrap_or(0);
            let block = block as u32;
            let kept = self.order.len() == self.most;
            let worst = self.order.last().filter(|_| kept).map_or(u16::MAX, |(worst, _)| *worst);
            // A count of a block that is not closed is larger than any number of pages. Of equals the first stays.
            if valid >= worst || u32::from(valid) >= full {
                continue;
            }
            if kept {
                self.order.pop();
            }
            let at = self.order.partition_point(|(known, _)| *known <= valid);
            self.order.insert(at, (valid, block));
        }
        if self.order.is_empty() {
            return None;
        }
        let erases = &view.flash.erases_by_block()[range.clone()];
        let least = erases.iter().copied().min().unwrap_or(0);
        let (closings, now) = (view.flash.closings(plane), view.now.0);
        let candidate = |(valid, block): &(u16, u32)| {
            let id = BlockId((range.start as u32) + block);
            Candidate {
                block: *block,
                valid: u32::from(*valid),
                age_ns: view.flash.closing(id).map_or(0, |closing| now.saturating_sub(closing.at.0)),
                erases: erases[*block as usize] - least,
                written: u64::from(closings - view.flash.closed_at(id)) * u64::from(view.geometry.pages_per_block),
            }
        };
        let load = view.load();
        let decision = Decision {
            plane: plane.0,
            now,
            pages_per_block: full,
            candidates: self.order.iter().map(candidate).collect(),
            free_pages: (view.flash.free_pages(plane), view.geometry.floor_of_plane(self.threshold)),
            plane_state: None,
            recent: self.asker.recent(now, &load),
            load,
        };
        match self.asker.ask(decision).and_then(|answer| self.order.get(answer)) {
            Some((_, block)) => Some(BlockId((range.start as u32) + block)),
            None => self.greedy.pick(view, plane),
        }
    }

    fn reads_closings(&self) -> bool {
        true
    }
}

struct AskedTrigger {
    asker: Mutex<Asker>,
    after: Nanos,
    threshold: ssdlab_sim::units::Threshold,
}

impl Clone for AskedTrigger {
    fn clone(&self) -> Self {
        let dock = self.asker.lock().unwrap_or_else(PoisonError::into_inner).dock.clone();
        AskedTrigger { asker: Mutex::new(Asker::at(dock)), after: self.after, threshold: self.threshold }
    }
}

impl Trigger for AskedTrigger {
    fn patience(&self) -> Option<Nanos> {
        Some(self.after)
    }

    fn due(&self, view: &View, plane: PlaneId) -> bool {
        let mut asker = self.asker.lock().unwrap_or_else(PoisonError::into_inner);
        // A plane without a victim would not be collected whatever the answer.
        let counts = &view.flash.valid_if_closed()[view.geometry.blocks(plane)];
        let garbage = counts.iter().any(|valid| u32::from(*valid) < view.geometry.data_pages);
        if !garbage || !asker.linked() {
            return false;
        }
        let load = view.load();
        let threshold = view.geometry.floor_of_plane(self.threshold);
        let decision = Decision {
            plane: plane.0,
            now: view.now.0,
            pages_per_block: view.geometry.data_pages,
            candidates: Vec::new(),
            free_pages: (view.flash.free_pages(plane), threshold),
            plane_state: Some(TriggerSight::of(view, plane, threshold)),
            recent: asker.recent(view.now.0, &load),
            load,
        };
        asker.ask(decision).is_some_and(|answer| answer == 1)
    }

    fn needs(&self) -> Vec<Need> {
        crate::outside::needs_of_idle(self.after)
    }
}

/// A filled device whose decisions the caller takes, episode after episode.
pub struct Game {
    config: Config,
    filled: Arc<Filled>,
    requests: Requests,
    writes: u64,
    seed: u64,
    dock: Dock,
    episode: Option<Episode>,
    /// The decision that is open, and how many answers it has.
    open: Option<usize>,
}

struct Episode {
    link: Link,
    thread: Option<JoinHandle<()>>,
    given_up: Arc<AtomicBool>,
}

impl Drop for Episode {
    /// The engine stops soon, and has ended before another episode begins.
    fn drop(&mut self) {
        self.given_up.store(true, Ordering::Relaxed);
        self.link.answers.close();
        self.link.decisions.close();
        if let Some(thread) = self.thread.take() {
            // A failed law has been reported already.
            let _ = thread.join();
        }
    }
}

impl Game {
    /// Fills a device. An episode has the requests up to the one that makes the number of `writes` complete.
    ///
    /// # Errors
    /// The configuration breaks a rule, or the requests can't be opened.
    pub fn new(config: &Config, slot: Slot, requests: Requests, writes: u64, seed: u64) -> Result<Game> {
        let dock = Dock::default();
        let mut config = config.clone();
        let (mine, threshold) = (dock.clone(), config.gc.threshold);
        let record = |name: &str| vec![("agent".to_string(), Some(name.to_string()))];
        match slot {
            Slot::Victim { candidates: 0 } => {
                return Err(Error::usage("an agent without candidates").help("use at least one candidate"));
            }
            Slot::Victim { candidates } => {
                config.schemes.victim = AnyVictim::outside(record("ssdlab/Victim-v0"), move || {
                    let (asker, greedy) = (Asker::at(mine.clone()), Greedy::default());
                    Box::new(AskedVictim { asker, greedy, most: candidates, threshold, order: Vec::new() })
                });
            }
            Slot::Trigger { after } => {
                config.schemes.trigger = AnyTrigger::outside(record("ssdlab/Trigger-v0"), move || {
                    Box::new(AskedTrigger { asker: Mutex::new(Asker::at(mine.clone())), after, threshold })
                });
            }
        }
        input::open(&requests)?;
        requests.place_on(&mut config);
        crate::live::fits(&config, Check::Sampled)?;
        let device = Device::new(&config, seed, Check::Sampled).map_err(crate::live::refused)?;
        let filled = Arc::new(device.ssd.filled());
        Ok(Game { config, filled, requests, writes, seed, dock, episode: None, open: None })
    }

    /// Starts an episode with requests of this seed; the device is that of the game's own seed. An episode that runs is given up.
    ///
    /// # Errors
    /// The requests can't be read.
    pub fn reset(&mut self, seed: u64) -> Result<Event> {
        self.episode = None;
        self.dock.lock().unwrap_or_else(PoisonError::into_inner).take();
        let link = Link { decisions: Hatch::new(), answers: Hatch::new() };
        *self.dock.lock().unwrap_or_else(PoisonError::into_inner) = Some(link.clone());
        let (config, filled, requests) = (self.config.clone(), self.filled.clone(), self.requests.clone());
        let (writes, own) = (self.writes, self.seed);
        let given_up = Arc::new(AtomicBool::new(false));
        let (seen, decisions) = (given_up.clone(), link.decisions.clone());
        let thread = std::thread::Builder::new().spawn(move || {
            let play = || play(&config, &filled, &requests, writes, (own, seed), &seen);
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(play))
                .unwrap_or_else(|panic| Err(crate::live::invariant(&*panic)));
            // An episode that was given up has a closed hatch.
            decisions.put(done.map(|end| Event::Done(Box::new(end))));
        });
        let thread = thread.map_err(|error| Error::file("start", std::path::Path::new("a thread"), &error))?;
        self.episode = Some(Episode { link, thread: Some(thread), given_up });
        self.next()
    }

    /// Answers the open decision and returns what comes next.
    ///
    /// # Errors
    /// No decision is open, there is no such answer, or the engine failed.
    pub fn step(&mut self, answer: usize) -> Result<Event> {
        self.answer(answer)?;
        self.next()
    }

    /// Answers the open decision. The engine goes on; [`Game::next`] waits for it.
    ///
    /// # Errors
    /// No decision is open, or there is no such answer.
    pub fn answer(&mut self, answer: usize) -> Result<()> {
        let most = self.open.ok_or_else(|| Error::usage("no decision is open").help("call reset first"))?;
        if answer >= most {
            let message = format!("the answer {answer} to a decision with {most} answers");
            return Err(Error::usage(message).help("use the action mask: not every decision has all candidates"));
        }
        if let Some(episode) = &self.episode {
            episode.link.answers.put(answer);
        }
        self.open = None;
        Ok(())
    }

    /// What comes next in the episode, once the engine is there.
    ///
    /// # Errors
    /// The engine failed, or there is no episode.
    #[allow(clippy::should_implement_trait, reason = "an episode is no iterator: the caller answers in between")]
    pub fn next(&mut self) -> Result<Event> {
        self.open = None;
        let event = self.episode.as_ref().and_then(|episode| episode.link.decisions.take());
        let event = event.unwrap_or_else(|| Err(interrupted()))?;
        if let Event::Decide(decision) = &event {
            self.open = Some(if decision.candidates.is_empty() { 2 } else { decision.candidates.len() });
        }
        Ok(event)
    }
}

/// Goes on until the episode is given up.
struct Until<'d>(&'d AtomicBool);

impl Listener for Until<'_> {
    fn go_on(&mut self) -> ControlFlow<()> {
        if self.0.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// An episode from its beginning to its end.
fn play(
    config: &Config,
    filled: &Filled,
    requests: &Requests,
    writes: u64,
    (own, seed): (u64, u64),
    given_up: &AtomicBool,
) -> Result<EpisodeEnd> {
    let mut device = Device::from_filled(config, filled).map_err(crate::live::refused)?;
    let target = device.target(config.device.queue_depth, seed);
    let mut input = input::open(&Requests { loops: u32::MAX, ..requests.clone() })?.fit(&target)?;
    input.writes = Some(writes);
    device.prepare(&input)?;
    let (_, input) = replay(&mut device, input, &mut (), &mut Until(given_up))?;
    let summary = Outcome::new(&device, &input, config, own).summary;
    Ok(EpisodeEnd { summary, now: device.ssd.now().0, load: device.ssd.current_load() })
}
