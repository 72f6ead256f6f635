//! The event loop: the order of events, also at equal times.
//!
//! At one time: completions (oldest operation first), arrivals in trace order, collector decisions, dispatch (oldest first), and
//! bus grants (in order of request, ties by age). Rounds repeat until nothing is left to do at that time. The order in which the
//! wheel yields simultaneous events has no effect.
//!
//! Code that every device runs should fit the processor's instruction cache. Code that only some devices run, or that runs
//! rarely, is kept out of line.

mod buffer;
mod build;
mod cache;
mod change;
mod conflicts;
mod extras;
mod fast;
mod filled;
mod footprint;
mod handles;
mod homes;
mod idle;
mod joint;
mod keep;
mod kernel;
mod life;
mod lifecycle;
mod metadata;
mod noc;
mod nvme;
mod page_types;
mod postpone;
mod power;
mod preempt;
mod queues;
mod raid;
mod recency;
mod replica;
mod report;
mod retry;
mod rules;
mod slc;
mod spine;
mod streams;
mod units;
mod versions;
mod watch;

use crate::config::Config;
use crate::device::errors::{ErrorModel, PageErrors};
use crate::device::flash::Flash;
use crate::device::geometry::Geometry;
use crate::device::mapping::{Location, Mapping};
use crate::device::staging::Staging;
use crate::device::timing::{PagePlace, Timing};
use crate::device::transaction::{Fifo, Op, Slab};
use crate::device::wear::Wear as WearState;
use crate::oracle::{Check, Oracle};
use crate::policy::{MAX_PLANES, PageSet, PolicyFault, View};
use crate::report::power::PowerCut;
use crate::request::RequestOp;
use crate::schemes::{AnyCollector, AnyOrder, AnyPath, AnyRoute, AnyTrigger, AnyVictim};
use crate::stats::Stats;
use crate::units::{BlockId, JobId, Lpn, Nanos, OpId, PlaneId, Ppn, UnitId, count};
use kernel::buses::Bus;
use kernel::dies::{Holder, Unit};

pub use fast::{ClosedShortcut, Shortcuts, Slowed};
pub use filled::Filled;
use kernel::Kernel;
use kernel::timers::Timer;
pub use postpone::{Postponement, PutOff};
use raid::stripe::Raid;
use rules::Rules;
use spine::host::Host;
use spine::jobs::{Pause, Running};

/// Bytes per request, operation, plane and so on: for estimates of a device's memory.
pub(crate) mod sizes {
    use super::{BlockId, Bus, Fifo, Op, PlaneState, Running, Unit};
    use crate::device::{flash, staging};

    /// Operations with a preallocated place per request: those of 16 pages.
    pub const OPS_OF_REQUEST: u64 = 16;

    /// An item of a slab, with its entry in the free list.
    const fn item<T>() -> u64 {
        size_of::<T>() as u64 + 4
    }

    pub const OP: u64 = item::<Op>() + super::kernel::ops::BYTES_BESIDE;
    pub const REQUEST: u64 =
        item::<super::spine::requests::HostRequest>() + size_of::<super::spine::requests::RequestEnd>() as u64 + 4;
    pub const UPDATE: u64 = super::raid::stripe::BYTES_OF_REQUEST;
    /// With its entries in orders of lines.
    pub const LINE: u64 = super::cache::BYTES_OF_LINE;
    pub const SEGMENT: u64 = item::<staging::Segment>();
    /// Its collection among the jobs, and its entries in lists of planes.
    pub const PLANE: u64 = item::<Running>() + (size_of::<PlaneState>() + size_of::<flash::Plane>()) as u64 + 24;
    /// Its events, and its entries in lists of units.
    pub const UNIT: u64 =
        (size_of::<Unit>() + size_of::<Fifo>() + size_of::<BlockId>()) as u64 + 64 + super::fast::Chains::BYTES;
    /// Its bus, that of its port, and their events.
    pub const CHANNEL: u64 = 2 * size_of::<Bus>() as u64 + 192;
}

/// A simulated SSD. It is a value: many can exist in one process, and a clone is a snapshot.
///
/// It is driven from outside: [`Ssd::submit`] requests in order of arrival, [`Ssd::run_until`] a time or [`Ssd::run`] until all
/// is done, then read the [`Ssd::summary`].
#[derive(Clone)]
pub struct Ssd {
    config: Config,
    seed: u64,
    rules: Rules,
    fast: fast::FastPaths,
    chains: fast::Chains,
    joint: fast::Joint,
    booked: fast::Bookings,
    now: Nanos,
    kernel: Kernel,
    host: Host,
    gc: Gc,
    features: Features,
    dev: Device,
    schemes: Policies,
    oracle: Oracle,
    stats: Stats,
    observer: crate::observe::Slot,
}

/// Collections.
#[derive(Clone)]
struct Gc {
    jobs: Slab<Running>,
    /// Collections whose last step has ended.
    ready: Vec<JobId>,
    planes: Vec<PlaneState>,
    /// Plane of the last page that was moved out of its own plane.
    target: PlaneId,
    /// The victim of a collection in no time.
    moving: spine::timeless::Moving,
    /// What is put off, if anything is.
    postponed: Option<Box<postpone::Postponed>>,
}

/// State of features that only some devices have. Each feature's state is private to its file.
#[derive(Clone)]
struct Features {
    /// Counters of conflicts with GC, if one of paper A's schemes is in use.
    conflict: Option<Box<conflicts::Conflict>>,
    /// Second copies of pages, if the route makes any.
    replicas: Option<Box<replica::Replicas>>,
    /// Causes of optional features.
    extras: Option<Box<extras::Extras>>,
    /// The host's queues and tenants.
    nvme: Option<Box<nvme::Nvme>>,
    /// The write cache.
    cache: Option<Box<cache::Cache>>,
    /// Queues of dies by class.
    queues: Option<Box<queues::DieQueues>>,
    /// Idle dies, if the trigger uses them.
    idle: Option<Box<idle::Idle>>,
    /// The interconnect.
    noc: Option<Box<noc::Noc>>,
    /// Moved units in the controller, where a program has several units.
    units: Option<Box<units::Units>>,
    /// Placement handles of the host's data, if there are several.
    handles: Option<Box<handles::Handles>>,
    /// The cache of SLC.
    slc: Option<Box<slc::Slc>>,
    /// Lifetime, if blocks wear out.
    life: Option<Box<life::Life>>,
    /// Repeated reads, if bit errors have levels.
    retry: Option<Box<retry::Retry>>,
    /// Planes of pages that got theirs in turn.
    homes: Option<Box<homes::Homes>>,
    /// Parity groups.
    raid: Option<Box<Raid>>,
    /// Failed chips, if chips can fail or pages can become uncorrectable.
    failures: Option<Box<raid::failure::Failures>>,
    /// Time of the next power cut or chip failure, and the results of the cuts so far.
    fault_at: Nanos,
    power_cuts: Vec<PowerCut>,
    /// Chips from which a read could be reconstructed, during the route's decision.
    partner_chips: Vec<u32>,
}

/// The flash and its state.
#[derive(Clone)]
struct Device {
    geometry: Geometry,
    timing: Timing,
    flash: Flash,
    map: Mapping,
    wear: WearState,
    /// Bit errors of pages, if they are simulated.
    errors: Option<Box<ErrorModel>>,
    /// Draws whether a decoded page is clean, if errors are drawn.
    page_errors: PageErrors,
    staging: Staging,
}

impl Device {
    #[inline(always)]
    fn view(&self, now: Nanos) -> View<'_> {
        View::new(now, &self.geometry, &self.flash, &self.wear, &self.staging)
    }

    /// Whether what is programmed from now on has the age of what is on flash at the start.
    fn set_ages(&mut self, ages: bool) {
        self.errors.iter_mut().for_each(|model| model.set_ages(ages));
    }

    /// A page, as its array times depend on it.
    #[inline(always)]
    fn place(&self, page: Ppn) -> PagePlace {
        let block = || {
            let block = self.geometry.block_of(page);
            (block.ix(), self.flash.is_slc(block))
        };
        self.timing.place(self.geometry.offset(page), block)
    }

    /// The same for several pages, in their order. The rest of the array repeats the first one.
    #[inline(always)]
    fn places(&self, pages: &PageSet) -> [PagePlace; MAX_PLANES] {
        let mut places = [self.place(pages[0]); MAX_PLANES];
        for (place, page) in places.iter_mut().zip(pages.iter()).skip(1) {
            *place = self.place(*page);
        }
        places
    }
}

/// The policy in each slot.
#[derive(Clone)]
struct Policies {
    order: AnyOrder,
    trigger: AnyTrigger,
    victim: AnyVictim,
    collector: AnyCollector,
    path: AnyPath,
    route: AnyRoute,
}

/// GC state of a plane.
#[derive(Clone)]
struct PlaneState {
    /// Due for collection, or being collected.
    claimed: bool,
    /// Whether the last collection selected a cold block for static wear levelling.
    levelled: bool,
    /// Host programs that wait for a free page of this plane.
    stalled: Fifo,
}

impl Ssd {
    /// Capacity for the host, in bytes.
    pub fn capacity_bytes(&self) -> u64 {
        u64::from(self.dev.geometry.exported) * u64::from(self.dev.geometry.unit_bytes)
    }

    /// Bytes of a flash page.
    pub fn page_bytes(&self) -> u64 {
        self.config.geometry.page_size.0
    }

    /// Bytes per entry of the page map: a page, or a super page.
    #[inline(always)]
    fn entry_bytes(&self) -> u64 {
        u64::from(self.dev.geometry.unit_bytes)
    }

    /// Simulated time.
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// Time of the next event; never if all is done.
    pub fn next_event(&self) -> Nanos {
        self.kernel.timers.next().min(self.kernel.timers.next_chain()).min(self.host.next_arrival(self.now))
    }

    /// The configuration of this device.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// State of pages, blocks and planes, read-only.
    pub fn flash(&self) -> &Flash {
        &self.dev.flash
    }

    #[cfg(test)]
    pub(crate) fn set_copyback_count(&mut self, page: crate::units::Ppn, count: u8) {
        self.dev.wear.set(page, count);
    }

    /// P/E cycles, copyback thresholds and counts, read-only.
    pub fn wear(&self) -> &WearState {
        &self.dev.wear
    }

    /// The controller's buffer, read-only.
    pub fn staging(&self) -> &Staging {
        &self.dev.staging
    }

    /// Ids and places.
    pub fn geometry(&self) -> &Geometry {
        &self.dev.geometry
    }

    /// The current state, as policies see it.
    pub fn view(&self) -> View<'_> {
        self.dev.view(self.now)
    }

    /// Version of a host page on flash, according to the oracle with [`Check::Full`]. None if it was never written, is trimmed,
    /// or is still in flight.
    pub fn version_of(&self, page: Lpn) -> Option<u32> {
        let lpn = self.logical(page);
        match self.dev.map.get(lpn) {
            Location::Flash(at) => Some(self.oracle.load(at, lpn)).filter(|tag| tag.lpn == lpn).map(|tag| tag.version),
            _ => None,
        }
    }

    /// Location of the newest version of a host page.
    pub fn location(&self, page: Lpn) -> Location {
        self.dev.map.get(self.logical(page))
    }

    /// Whether the content of every page is known, as [`Ssd::power_cut`] needs it.
    pub fn knows_pages(&self) -> bool {
        self.oracle.check() == Check::Full
    }

    /// Why a policy from outside can't answer any more, if so.
    pub fn policy_fault(&self) -> Option<&PolicyFault> {
        self.schemes.victim.policy_ref().fault().or_else(|| self.schemes.trigger.policy_ref().fault())
    }

    /// Handles all events before `limit`, and none at it. The time is then `limit`.
    pub fn run_before(&mut self, limit: Nanos) {
        if let Some(last) = limit.0.checked_sub(1) {
            self.run_until(Nanos(last));
            self.date_closings();
            self.now = self.now.max(limit.min(Nanos(u64::MAX - 1)));
        }
    }

    /// Handles all events up to and including `limit`.
    pub fn run_until(&mut self, limit: Nanos) {
        self.advance_to(limit);
        if self.observer.sample_at <= limit && limit < Nanos::NEVER {
            self.stop_here();
            self.advance_to(limit);
            self.samples_up_to(limit);
        }
        self.date_closings();
        self.now = self.now.max(limit.min(Nanos(u64::MAX - 1)));
    }

    fn advance_to(&mut self, limit: Nanos) {
        while self.advance(limit) {
            if self.kernel.timers.next().min(self.kernel.timers.next_chain()) > limit {
                // Fused legs may have ended one by one by now.
                self.unfuse_all();
            }
        }
    }

    /// Handles all submitted requests and their consequences, to the end.
    pub fn run(&mut self) {
        self.no_more_arrivals();
        while self.advance(Nanos::NEVER) {}
        if self.host.fault.is_none() {
            self.check_end();
        }
    }

    /// Handles the events of at most `times` times. False: nothing is left but the check of the end that [`Ssd::run`] makes.
    pub fn run_some(&mut self, times: u32) -> bool {
        (0..times).all(|_| self.advance(Nanos::NEVER))
    }

    /// Handles events until the host's ring is at most half full, or nothing is left to do.
    #[inline(never)]
    pub fn run_until_room(&mut self) {
        while self.host.crowded() && self.handle_next(Nanos::NEVER) {}
    }

    /// A part of [`Ssd::run_until_room`]: the events of at most `times` times. False: there is room, or nothing is left to do.
    pub fn run_towards_room(&mut self, times: u32) -> bool {
        (0..times).all(|_| self.host.crowded() && self.advance(Nanos::NEVER))
    }

    /// Handles the events before `limit` of at most `times` times. False: there are no more before it.
    pub fn run_some_before(&mut self, times: u32, limit: Nanos) -> bool {
        limit.0.checked_sub(1).is_some_and(|last| (0..times).all(|_| self.advance(Nanos(last))))
    }

    /// Ends a part of a run, so that the device can be looked at, copied and run on as after [`Ssd::run_until`].
    pub fn stop_here(&mut self) {
        self.unfuse_all();
        self.date_closings();
    }

    /// [`Ssd::run_until_room`] for events before `limit` only. The time stays that of the last event.
    pub fn run_until_room_before(&mut self, limit: Nanos) {
        let Some(last) = limit.0.checked_sub(1).map(Nanos) else { return };
        while self.host.crowded() && self.advance(last) {}
        self.unfuse_all();
    }

    /// Handles the time of the next event. Returns false if there is none up to `limit`.
    #[inline(never)]
    fn advance(&mut self, limit: Nanos) -> bool {
        self.handle_next(limit)
    }

    /// [`Ssd::advance`] for the loop that most events are handled in.
    #[inline(always)]
    fn handle_next(&mut self, limit: Nanos) -> bool {
        if self.host.fault.is_some() {
            return false;
        }
        self.date_closings();
        let (event, arrival) = (self.kernel.timers.next(), self.host.next_arrival(self.now));
        let chain = self.kernel.timers.next_chain();
        let event = event.min(chain);
        let time = event.min(arrival);
        if time >= self.features.fault_at && self.fault_comes(time, limit) {
            let at = self.features.fault_at;
            if at < self.observer.sample_at || self.samples_up_to(at) {
                self.scheduled_fault();
            }
            return true;
        }
        if time > limit || time == Nanos::NEVER {
            return false;
        }
        if time >= self.observer.sample_at && !self.samples_up_to(time) {
            return true;
        }
        if chain == time {
            self.end_chains(time);
        }
        if self.fast.quiet && self.host.only(RequestOp::Read) && self.round_of_reads(time) {
            return true;
        }
        if self.fast.skip_rounds() && event < arrival && self.express(event) {
            self.kernel.events_since_scan += 1;
        } else {
            self.round(time);
        }
        true
    }

    /// Whether a fault comes before the events of `time`, which is not before that of the fault. With a write cache, what happens
    /// at the time of a fault happens before it.
    #[cold]
    fn fault_comes(&self, time: Nanos, limit: Nanos) -> bool {
        let fault_at = self.features.fault_at;
        let first = time > fault_at || !self.rules.caches;
        let left = time != Nanos::NEVER || self.rules.caches && fault_at == self.now;
        first && fault_at <= limit && left
    }

    /// Dates the blocks that were closed at the current time, where the victim policy reads that.
    #[inline(always)]
    fn date_closings(&mut self) {
        if self.dev.flash.has_undated() {
            self.dev.flash.date_closings(self.now);
        }
    }

    /// Handles all events at one time.
    fn round(&mut self, time: Nanos) {
        law!(time >= self.now, "time never goes backwards");
        self.meet_turns(time, None);
        self.now = time;
        self.kernel.idle_rounds += 1;
        self.completions();
        self.follow();
    }

    /// The rest of a round, after the first ends of its time.
    #[inline(always)]
    fn follow(&mut self) {
        loop {
            self.admit();
            if self.rules.yields {
                // An arrival may have disturbed a fused move at its turning point.
                self.completions();
            }
            self.decide();
            if self.rules.buffers {
                self.write_lines_back();
            }
            self.after_decisions();
            if self.settled() {
                break;
            }
            self.kernel.idle_rounds += 1;
            law!(self.kernel.idle_rounds < self.rules.scan_every, "no request completes: {}", self.describe_waiting());
            self.completions();
        }
        self.end_round();
    }

    /// Collectors have decided: what follows in a round.
    #[inline(always)]
    fn after_decisions(&mut self) {
        let time = self.now;
        while self.fast.moves && self.kernel.timers.next() == time {
            // A step that began now may have disturbed a fused move: the page has to request the bus too.
            self.completions();
            self.decide_ready();
        }
        self.kernel.decided_at = time;
        self.dispatch();
        self.grant();
        self.kernel.granted_at = time;
    }

    /// Something has happened without a round. If more is left to do at the current time, a round does it.
    #[inline(always)]
    fn leave_time(&mut self) {
        if self.settled() {
            self.kernel.dies.time_passes(self.now);
        } else {
            self.round(self.now);
        }
    }

    /// A round has ended.
    #[inline(always)]
    fn end_round(&mut self) {
        self.kernel.dies.time_passes(self.now);
        if self.lines_undecided() {
            self.part_transfers();
        }
        self.tell_victim();
        if self.oracle.check() == Check::Full && self.kernel.events_since_scan >= self.rules.scan_every {
            self.kernel.events_since_scan = 0;
            self.scan();
            self.sweep_sectors();
        }
    }

    /// Whether nothing is left to do at the current time.
    #[inline(always)]
    fn settled(&self) -> bool {
        self.kernel.dies.dirty.is_empty()
            && self.kernel.buses.dirty.is_empty()
            && self.gc.ready.is_empty()
            && !self.host.window_stale
            && self.stripes_settled()
            && self.lines_settled()
            && !self.stats.checkpoint_due()
            && self.kernel.timers.next() > self.now
            && self.host.next_arrival(self.now) > self.now
    }

    /// Ends the legs that end now, oldest operation first.
    #[inline(always)]
    fn completions(&mut self) {
        if self.kernel.timers.next() == self.now {
            self.end_legs();
        }
        if self.host.runs.any_released() {
            self.place_merged();
        }
    }

    #[inline(never)]
    fn end_legs(&mut self) {
        while self.kernel.timers.next() == self.now {
            if self.kernel.timers.alone() {
                let timer = self.kernel.timers.pop();
                self.kernel.events_since_scan += 1;
                self.leg_ends(timer);
                continue;
            }
            self.kernel.batch.clear();
            self.kernel.timers.take_all(&mut self.kernel.batch);
            self.kernel.events_since_scan += self.kernel.batch.len() as u64;
            if self.fast.lane && (self.host.only(RequestOp::Read) || self.fast.unordered) && self.all_in_lane() {
                if self.shows_completions() {
                    self.sort_batch();
                }
                self.lane_batch_ends();
                continue;
            }
            self.sort_batch();
            for i in 0..self.kernel.batch.len() {
                self.leg_ends(self.kernel.timers.timer(self.kernel.batch[i] as u32));
            }
        }
    }

    /// Several legs end at once: age decides the order.
    fn sort_batch(&mut self) {
        for i in 0..self.kernel.batch.len() {
            self.kernel.batch[i] |=
                u128::from(self.age_of(self.kernel.timers.timer(self.kernel.batch[i] as u32))) << 32;
        }
        self.kernel.batch.sort_unstable();
    }

    /// Wait relations of operations, for the message of a run without progress.
    fn describe_waiting(&self) -> String {
        let waiting = |unit: &Unit| {
            unit.array().is_some() || !unit.queue.is_empty() || unit.job.is_some() || !unit.due().is_empty()
        };
        let units: Vec<String> = (self.kernel.dies.units.iter().enumerate())
            .filter(|(_, unit)| waiting(unit))
            .map(|(u, unit)| {
                let head = unit.queue.head();
                let head = head.is_some().then(|| (self.kernel.ops[head].class, self.kernel.ops[head].need));
                format!("unit {u}: array {:?}, head {head:?}, job {:?}, due {:?}", unit.array(), unit.job, unit.due())
            })
            .collect();
        let planes: Vec<String> = (0..self.dev.geometry.planes)
            .map(PlaneId)
            .filter(|plane| !self.gc.planes[plane.ix()].stalled.is_empty())
            .map(|plane| {
                format!("plane {}: writes wait for space, {} free pages", plane.0, self.dev.flash.free_pages(plane))
            })
            .collect();
        format!(
            "at {} ns; {}; {}; {}; writes for any die: {}; pages that wait in the buffer: {}",
            self.now.0,
            units.join("; "),
            planes.join("; "),
            slc::folds::describe_waiting(self).join("; "),
            !self.host.anywhere.is_empty(),
            self.dev.staging.waiting
        )
    }

    fn age_of(&self, timer: Timer) -> u64 {
        let op = match timer {
            Timer::Array(unit) => self.kernel.dies[unit].of_event(),
            Timer::Bus(bus) => self.kernel.buses[bus].holder,
            Timer::Memory => self.host.memory[0].1,
            // The timeout of a parity group is handled after completions of its time; those of an idle die and of a line belong to
            // the collector decisions.
            Timer::Encode | Timer::Idle | Timer::Hold => return u64::MAX,
            Timer::Decoder => self.host.decoding[0].1,
            Timer::Delay(slot) => self.delayed(slot),
        };
        // An event that only wakes a bus completes nothing.
        if op.is_none() { 0 } else { self.kernel.ops[op].age }
    }

    fn age(&mut self) -> u64 {
        count(&mut self.kernel.next_age);
        self.kernel.next_age
    }

    /// An operation that uses a plane begins on its unit.
    #[inline(always)]
    fn seize_unit(&mut self, unit: UnitId, holder: Holder, plane: PlaneId) {
        self.kernel.dies.seize(unit, holder, self.dev.geometry.chip_of(plane), self.now);
    }

    /// GC takes planes of a unit (bits by index in the unit); `plane` is one of them.
    #[inline(always)]
    fn seize_for_gc(&mut self, unit: UnitId, planes: u64, plane: PlaneId) {
        self.kernel.dies.seize_for_gc(unit, planes, self.dev.geometry.chip_of(plane), self.now);
    }

    /// An operation that uses a plane begins on its free unit: seizes the unit and starts the first leg.
    #[inline(always)]
    fn start(&mut self, op: OpId, unit: UnitId, holder: Holder, plane: PlaneId) {
        self.kernel.dies[unit].occupy(op);
        self.seize_unit(unit, holder, plane);
        self.run_leg(op);
    }

    /// The only operation of a unit has ended: releases the unit.
    #[inline(always)]
    fn stop(&mut self, unit: UnitId, plane: PlaneId) {
        self.kernel.dies[unit].vacate();
        self.release_unit(unit, plane);
        self.kernel.dies.mark(unit);
    }

    /// The only operation of a unit has ended, and it used a plane.
    #[inline(always)]
    fn release_unit(&mut self, unit: UnitId, plane: PlaneId) {
        self.kernel.dies.release(unit, self.dev.geometry.chip_of(plane), self.now);
    }

    #[inline(always)]
    fn set_holder(&mut self, unit: UnitId, holder: Holder) {
        self.kernel.dies.set_holder(unit, holder, self.now);
    }

    /// The number of operations in service on a plane's chip rises or falls by one.
    #[inline(always)]
    fn chip_in_use(&mut self, plane: PlaneId, up: bool) {
        self.kernel.dies.chip_in_use(self.dev.geometry.chip_of(plane), up);
    }

    /// The full oracle's scan of all state.
    fn scan(&self) {
        self.dev.flash.recount();
        self.dev.map.recount(&self.dev.flash);
        self.recount_stripes();
        self.recount_homes();
        self.recount_hands();
        if let Some(handles) = &self.features.handles {
            handles.recount(&self.dev.geometry, &self.dev.flash, &self.dev.map);
        }
        self.check_queues();
    }

    /// Checks the end of a run: queues, jobs and operations are empty, and the map is correct.
    fn check_end(&self) {
        law_eq!(self.kernel.ops.in_use(), 0, "an operation is left: {}", self.describe_waiting());
        law!(self.kernel.ops.all_in_lane(), "operations outside the fast lane are counted");
        law_eq!(self.gc.jobs.in_use(), 0, "a collection is left");
        law!(self.host.is_empty(), "a request is left");
        law!(
            !self.features.power_cuts.is_empty()
                || self.stats.written_done() == (self.stats.pages.written, self.stats.bytes.written),
            "measured writes complete with all their pages: {:?}",
            self.stats.written_done()
        );
        self.check_crossings_end();
        self.check_stripes_end();
        self.features.cache.iter().for_each(|cache| cache.check_end());
        self.features.retry.iter().for_each(|retry| retry.refresh.check_end());
        self.dev.staging.assert_empty();
        if self.oracle.check() == Check::Full {
            self.scan();
            let blocks = self.dev.geometry.planes * self.dev.geometry.blocks_per_plane;
            let waits = (0..blocks).map(BlockId).find(|block| self.dev.flash.wants_metadata(*block));
            law!(!self.rules.metadata || waits.is_none(), "the metadata of {waits:?} was never written");
        }
        if self.oracle.check() != Check::Off {
            for lpn in (0..self.dev.geometry.mapped).map(Lpn) {
                match self.dev.map.get(lpn) {
                    Location::Flash(page) => self.oracle.at_rest(lpn, page),
                    Location::Staged(_) => panic!("logical page {} is still in flight", lpn.0),
                    Location::Nowhere => {}
                }
            }
        }
    }
}
