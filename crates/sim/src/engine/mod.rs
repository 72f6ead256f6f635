//! The event loop: the simulated device, its parts and its public face. What happens at one time is in `round.rs`.
//!
//! Code that every device runs should fit the processor's instruction cache. Code that only some devices run, or that runs
//! rarely, is kept out of line.

mod build;
mod fast;
mod features;
mod fill;
mod gc;
mod kernel;
mod lab;
mod lifecycle;
mod report;
mod reports;
mod round;
mod rules;
mod spine;

use crate::config::Config;
use crate::device::errors::{ErrorModel, PageErrors};
use crate::device::flash::Flash;
use crate::device::geometry::Geometry;
use crate::device::mapping::{Location, Mapping};
use crate::device::planes::PlaneSet;
use crate::device::staging::Staging;
use crate::device::timing::{PagePlace, Timing};
use crate::device::transaction::{Fifo, Op, Slab};
use crate::device::wear::Wear as WearState;
use crate::oracle::{Check, Oracle};
use crate::policy::{MAX_PLANES, PageSet, PolicyFault, View};
use crate::report::power::PowerCut;
use crate::schemes::{AnyCollector, AnyOrder, AnyPath, AnyRoute, AnyTrigger, AnyVictim};
use crate::stats::Stats;
use crate::units::{BlockId, JobId, Lpn, Nanos, OpId, PlaneId, Ppn, UnitId, count};
use kernel::buses::Bus;
use kernel::dies::{Holder, Unit};

pub use fast::{ClosedShortcut, Shortcuts, Slowed};
use features::raid::stripe::Raid;
use features::{cache, handles, homes, life, noc, nvme, queues, raid, replica, retry, slc, units};
pub use fill::Filled;
use gc::idle;
use gc::jobs::{Pause, Running};
use kernel::Kernel;
use lab::postpone;
pub use lab::postpone::{Postponement, PutOff};
use reports::{conflicts, extras};
use rules::Rules;
use spine::host::Host;

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
    pub const UPDATE: u64 = super::features::raid::stripe::BYTES_OF_REQUEST;
    /// With its entries in orders of lines.
    pub const LINE: u64 = super::features::cache::BYTES_OF_LINE;
    pub const SEGMENT: u64 = item::<staging::Segment>();
    /// Its collection among the jobs, and its entries in lists of planes.
    pub const PLANE: u64 = item::<Running>() + (size_of::<PlaneState>() + size_of::<flash::Plane>()) as u64 + 24;
    /// Its events, and its entries in lists of units.
    pub const UNIT: u64 =
        (size_of::<Unit>() + size_of::<Fifo>() + size_of::<BlockId>()) as u64 + 64 + super::fast::Shared::BYTES_OF_UNIT;
    /// Its bus, that of its port, and their events.
    pub const CHANNEL: u64 = 2 * size_of::<Bus>() as u64 + 192;
}

/// A simulated SSD. It is a value: many can exist in one process, and a clone is a snapshot.
///
/// It is driven from outside: [`Ssd::submit`] requests in order of arrival, [`Ssd::run_until`] a time or [`Ssd::run`] until all
/// is done, then read the [`Ssd::summary`].
pub struct Ssd {
    config: Config,
    seed: u64,
    rules: Rules,
    fast: fast::FastPaths,
    shared: fast::Shared,
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

/// A derived one would be compiled again in each crate that clones a device.
impl Clone for Ssd {
    fn clone(&self) -> Ssd {
        Ssd {
            config: self.config.clone(),
            seed: self.seed,
            rules: self.rules.clone(),
            fast: self.fast,
            shared: self.shared.clone(),
            now: self.now,
            kernel: self.kernel.clone(),
            host: self.host.clone(),
            gc: self.gc.clone(),
            features: self.features.clone(),
            dev: self.dev.clone(),
            schemes: self.schemes.clone(),
            oracle: self.oracle.clone(),
            stats: self.stats.clone(),
            observer: self.observer.clone(),
        }
    }
}

/// Collections.
#[derive(Clone)]
struct Gc {
    jobs: Slab<Running>,
    /// Collections whose last step has ended.
    ready: Vec<JobId>,
    planes: Vec<PlaneState>,
    /// Planes that are due for collection, or being collected.
    claimed: PlaneSet,
    /// Plane of the last page that was moved out of its own plane.
    target: PlaneId,
    /// The victim of a collection in no time.
    moving: fill::moving::Moving,
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
        for i in 1..pages.len() {
            places[i] = self.place(pages[i]);
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
    /// Whether the last collection selected a cold block for static wear levelling.
    levelled: bool,
    /// Host programs that wait for a free page of this plane.
    stalled: Fifo,
}

impl Device {
    /// Bytes per entry of the page map: a page, or a super page.
    #[inline(always)]
    fn entry_bytes(&self) -> u64 {
        u64::from(self.geometry.unit_bytes)
    }

    /// The full oracle's scan of all state.
    fn scan(&self, kernel: &Kernel, gc: &Gc, features: &Features, oracle: &Oracle, rules: &Rules) {
        self.flash.recount();
        self.map.recount(&self.flash);
        features.recount_stripes(kernel, self, oracle);
        features.recount_homes(self, rules);
        features.recount_hands(self, gc);
        if let Some(handles) = &features.handles {
            handles.recount(&self.geometry, &self.flash, &self.map);
        }
        features.check_queues(kernel);
    }

    /// Checks the end of a run: nothing is left in the buffer, and the map is correct.
    fn check_end(&self, kernel: &Kernel, gc: &Gc, features: &Features, oracle: &Oracle, rules: &Rules) {
        self.staging.assert_empty();
        if oracle.check() == Check::Full {
            self.scan(kernel, gc, features, oracle, rules);
            let blocks = self.geometry.planes * self.geometry.blocks_per_plane;
            let waits = (0..blocks).map(BlockId).find(|block| self.flash.wants_metadata(*block));
            law!(!rules.metadata || waits.is_none(), "the metadata of {waits:?} was never written");
        }
        if oracle.check() != Check::Off {
            law!(!self.map.any_in_flight(), "no logical page is still in flight");
            for lpn in (0..self.geometry.mapped).map(Lpn).filter(|lpn| oracle.is_watched(*lpn)) {
                if let Location::Flash(page) = self.map.get(lpn) {
                    oracle.at_rest(lpn, page);
                }
            }
        }
    }
}

impl Kernel {
    fn age(&mut self) -> u64 {
        count(&mut self.next_age);
        self.next_age
    }

    #[inline(always)]
    fn set_holder(&mut self, now: Nanos, unit: UnitId, holder: Holder) {
        self.dies.set_holder(unit, holder, now);
    }

    /// The number of operations in service on a plane's chip rises or falls by one.
    #[inline(always)]
    fn chip_in_use(&mut self, dev: &Device, plane: PlaneId, up: bool) {
        self.dies.chip_in_use(dev.geometry.chip_of(plane), up);
    }

    /// An operation that uses a plane begins on its unit.
    #[inline(always)]
    fn seize_unit(&mut self, dev: &Device, now: Nanos, unit: UnitId, holder: Holder, plane: PlaneId) {
        self.dies.seize(unit, holder, dev.geometry.chip_of(plane), now);
    }

    /// GC takes planes of a unit (bits by index in the unit); `plane` is one of them.
    #[inline(always)]
    fn seize_for_gc(&mut self, dev: &Device, now: Nanos, unit: UnitId, planes: u64, plane: PlaneId) {
        self.dies.seize_for_gc(unit, planes, dev.geometry.chip_of(plane), now);
    }

    /// The only operation of a unit has ended, and it used a plane.
    #[inline(always)]
    fn release_unit(&mut self, dev: &Device, now: Nanos, unit: UnitId, plane: PlaneId) {
        self.dies.release(unit, dev.geometry.chip_of(plane), now);
    }

    /// The only operation of a unit has ended: releases the unit.
    #[inline(always)]
    fn stop(&mut self, dev: &Device, now: Nanos, unit: UnitId, plane: PlaneId) {
        self.dies[unit].vacate();
        self.release_unit(dev, now, unit, plane);
        self.dies.mark(unit);
    }

    /// An operation that uses a plane begins on its free unit, which it seizes. Its first leg follows.
    #[inline(always)]
    fn serve(&mut self, dev: &Device, now: Nanos, op: OpId, unit: UnitId, holder: Holder, plane: PlaneId) {
        self.dies[unit].occupy(op);
        self.seize_unit(dev, now, unit, holder, plane);
    }

    /// Wait relations of operations, for the message of a run without progress. `folds`: those of the cache of SLC.
    fn describe_waiting(&self, dev: &Device, host: &Host, gc: &Gc, folds: &[String], now: Nanos) -> String {
        let waiting = |unit: &Unit| {
            unit.array().is_some() || !unit.queue.is_empty() || unit.job.is_some() || !unit.due().is_empty()
        };
        let units: Vec<String> = (self.dies.units.iter().enumerate())
            .filter(|(_, unit)| waiting(unit))
            .map(|(u, unit)| {
                let head = unit.queue.head();
                let head = head.is_some().then(|| (self.ops[head].class, self.ops[head].need));
                format!("unit {u}: array {:?}, head {head:?}, job {:?}, due {:?}", unit.array(), unit.job, unit.due())
            })
            .collect();
        let planes: Vec<String> = (0..dev.geometry.planes)
            .map(PlaneId)
            .filter(|plane| !gc.planes[plane.ix()].stalled.is_empty())
            .map(|plane| {
                format!("plane {}: writes wait for space, {} free pages", plane.0, dev.flash.free_pages(plane))
            })
            .collect();
        format!(
            "at {} ns; {}; {}; {}; writes for any die: {}; pages that wait in the buffer: {}",
            now.0,
            units.join("; "),
            planes.join("; "),
            folds.join("; "),
            !host.anywhere.is_empty(),
            dev.staging.waiting
        )
    }

    /// Checks the end of a run: queues, jobs and operations are empty.
    fn check_end(&self, host: &Host, gc: &Gc, features: &Features, stats: &Stats) {
        law!(self.ops.all_in_lane(), "operations outside the fast lane are counted");
        law_eq!(gc.jobs.in_use(), 0, "a collection is left");
        law!(host.is_empty(), "a request is left");
        law!(
            !features.power_cuts.is_empty() || stats.written_done() == (stats.pages.written, stats.bytes.written),
            "measured writes complete with all their pages: {:?}",
            stats.written_done()
        );
        features.check_crossings_end();
        features.check_stripes_end();
        features.cache.iter().for_each(|cache| cache.check_end());
        features.retry.iter().for_each(|retry| retry.refresh.check_end());
    }
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
        let lpn = self.features.logical(page);
        match self.dev.map.get(lpn) {
            Location::Flash(at) => Some(self.oracle.load(at, lpn)).filter(|tag| tag.lpn == lpn).map(|tag| tag.version),
            _ => None,
        }
    }

    /// Location of the newest version of a host page.
    pub fn location(&self, page: Lpn) -> Location {
        self.dev.map.get(self.features.logical(page))
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
            self.dev.date_closings(self.now);
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
        self.dev.date_closings(self.now);
        self.now = self.now.max(limit.min(Nanos(u64::MAX - 1)));
    }

    fn advance_to(&mut self, limit: Nanos) {
        while self.advance(limit) {
            if self.kernel.timers.next().min(self.kernel.timers.next_chain()) > limit {
                // Events that steps share may have ended one by one by now.
                self.bring_to_now();
            }
        }
    }

    /// Handles all submitted requests and their consequences, to the end.
    pub fn run(&mut self) {
        self.no_more_arrivals();
        while self.advance(Nanos::NEVER) {}
        if self.host.fault.is_some() {
            return;
        }
        law_eq!(
            self.kernel.ops.in_use(),
            0,
            "an operation is left: {}",
            self.kernel.describe_waiting(
                &self.dev,
                &self.host,
                &self.gc,
                &slc::folds::describe_waiting(self),
                self.now
            )
        );
        self.kernel.check_end(&self.host, &self.gc, &self.features, &self.stats);
        self.dev.check_end(&self.kernel, &self.gc, &self.features, &self.oracle, &self.rules);
    }

    /// Handles the events of at most `times` times. False: nothing is left but the check of the end that [`Ssd::run`] makes.
    pub fn run_some(&mut self, times: u32) -> bool {
        (0..times).all(|_| self.advance(Nanos::NEVER))
    }

    /// Handles events until the host's ring is at most half full, or nothing is left to do.
    pub fn run_until_room(&mut self) {
        while self.run_towards_room(u32::MAX) {}
    }

    /// A part of [`Ssd::run_until_room`]: the events of at most `times` times. False: there is room, or nothing is left to do.
    #[inline(never)]
    pub fn run_towards_room(&mut self, times: u32) -> bool {
        (0..times).all(|_| self.host.crowded() && self.handle_next(Nanos::NEVER))
    }

    /// Handles the events before `limit` of at most `times` times. False: there are no more before it.
    pub fn run_some_before(&mut self, times: u32, limit: Nanos) -> bool {
        limit.0.checked_sub(1).is_some_and(|last| (0..times).all(|_| self.advance(Nanos(last))))
    }

    /// Ends a part of a run, so that the device can be looked at, copied and run on as after [`Ssd::run_until`].
    pub fn stop_here(&mut self) {
        self.bring_to_now();
        self.dev.date_closings(self.now);
    }

    /// [`Ssd::run_until_room`] for events before `limit` only. The time stays that of the last event.
    pub fn run_until_room_before(&mut self, limit: Nanos) {
        let Some(last) = limit.0.checked_sub(1).map(Nanos) else { return };
        while self.host.crowded() && self.advance(last) {}
        self.bring_to_now();
    }
}
