//! The seam between mechanism and policy: questions to a scheme, the state that it may see, and its possible answers.

use std::any::Any;
use std::sync::Arc;

use crate::device::flash::{Flash, Stream};
use crate::device::geometry::Geometry;
pub use crate::device::pages::{MAX_PLANES, PageSet};
use crate::device::staging::Staging;
pub use crate::device::staging::{BackTo, WriteBack};
use crate::device::wear::Wear;
use crate::units::{BlockId, Lpn, Nanos, PlaneId, Ppm, Ppn, RequestId, Threshold};

/// State that a policy may read: borrowed and cheap.
pub struct View<'a> {
    /// The simulated time.
    pub now: Nanos,
    /// Ids and places.
    pub geometry: &'a Geometry,
    /// Pages, blocks and their state.
    pub flash: &'a Flash,
    /// P/E cycles, copyback thresholds and counts.
    pub wear: &'a Wear,
    /// The controller's buffer.
    pub staging: &'a Staging,
    /// See [`View::load`].
    load: Option<&'a dyn Fn() -> Load>,
}

impl<'a> View<'a> {
    /// A view of a device without requests.
    #[inline(always)]
    pub(crate) fn new(
        now: Nanos,
        geometry: &'a Geometry,
        flash: &'a Flash,
        wear: &'a Wear,
        staging: &'a Staging,
    ) -> Self {
        View { now, geometry, flash, wear, staging, load: None }
    }

    /// The same with its load, which is computed when a policy reads it.
    #[inline(always)]
    pub(crate) fn under(self, load: &'a dyn Fn() -> Load) -> Self {
        View { load: Some(load), ..self }
    }

    /// Load and progress, for [`Victim::pick`] and [`Trigger::due`]; zero while a device is filled.
    pub fn load(&self) -> Load {
        self.load.map_or_else(Load::default, |load| load())
    }
}

/// A scheme's requirement on the rest of the configuration. A configuration that does not meet it is rejected.
#[derive(Clone, Debug)]
pub struct Need {
    /// The requirement.
    pub what: Requirement,
    /// The key that the error names.
    pub key: &'static str,
    /// The reason, as the error states it.
    pub why: String,
    /// The remedy.
    pub help: &'static str,
}

/// Requirements of schemes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requirement {
    /// Other values of its own settings.
    OtherKnobs,
    /// Moved pages stay in their plane (`gc.destination`).
    MovesInPlane,
    /// Dies with this many planes. The error adds the actual number.
    PlanesPerDie(u32),
    /// `gc.threshold` counts the pages of a plane.
    PlaneScope,
    /// GC takes time (`gc.time`).
    TimedCollections,
    /// No chip fails.
    SoundChips,
    /// This many free pages of a plane are more than `gc.threshold`. The error adds both.
    MoreThanThreshold(Threshold),
    /// A map of single pages, not of super pages.
    SinglePages,
    /// Static places of host writes (`schemes.place`), if the controller has a buffer.
    StaticPlaces,
    /// An interconnect.
    Interconnect,
    /// A path without a separate write point. The error starts with the path's name.
    SharedWritePoint,
}

impl Need {
    /// A requirement of the scheme in slot `key`.
    pub fn new(what: Requirement, key: &'static str, why: impl Into<String>, help: &'static str) -> Self {
        Need { what, key, why: why.into(), help }
    }
}

/// Where a page's data is between two flash pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hop {
    /// The plane's page register: the data never leaves the die.
    Die,
    /// The flash controller's buffer at the channel's end of the interconnect.
    Fmc,
    /// Controller memory: the data crosses the channel, and the interconnect if there is one.
    Controller,
}

impl Hop {
    /// The hop farther from the flash.
    pub fn farther(self, other: Hop) -> Hop {
        self.max(other)
    }
}

/// Route of a moved page: out to a hop, and back from there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Journey {
    /// The farthest hop.
    pub out: Hop,
    /// Whether a nearer hop keeps the data until error correction has checked it. The path then chooses the hop to program from.
    pub checked: bool,
}

impl Journey {
    /// Inside the plane.
    pub const COPYBACK: Self = Self { out: Hop::Die, checked: false };
    /// Out to the controller and back.
    pub const EXTERNAL: Self = Self { out: Hop::Controller, checked: false };
    /// Out to the controller, where the way back is decided.
    pub const CHECKED: Self = Self { out: Hop::Controller, checked: true };
    /// To the flash controller, while the way back is decided.
    pub const LOCAL: Self = Self { out: Hop::Fmc, checked: true };
}

/// The next atomic step of a collection.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// Read these valid pages of the victims, at most one per plane, and move them to a write point of their planes. The path
    /// slot decides how. Pages that stay in their die are programmed by the same command, or one after the other if their write
    /// points have different offsets. Pages that leave the die are then in the job's hand.
    Move(PageSet, Stream),
    /// Read these valid pages of the victims, at most one per plane, into the controller, independent of the path slot. They are
    /// then in the job's hand. The stream is their write point if they are placed after all.
    Fetch(PageSet, Stream),
    /// Reserve this many free slots of the controller's buffer for this job's pages, in no time. Once per job.
    Reserve(u32),
    /// Leave the pages in hand in reserved slots of the buffer, in no time.
    Stage,
    /// Program pages in hand at the write points that the move named, as many as fit into one command. Others stay in hand.
    Place,
    /// Skip this many erased pages at a write point of this victim's plane, in no time. They are wasted until their block is
    /// erased.
    Skip(usize, u32, Stream),
    /// Erase the victims in one command.
    Erase,
    /// The collection is complete.
    Done,
}

/// A collection in progress.
#[derive(Clone, Debug)]
pub struct Job {
    /// Victims, at most one per plane.
    pub victims: [BlockId; MAX_PLANES],
    /// Number of victims.
    pub count: u8,
    /// By victim: offset of the next page to examine.
    pub cursor: [u32; MAX_PLANES],
    /// Pages that have been read out and not programmed yet.
    pub hand: PageSet,
    /// Progress, in the collector's own encoding.
    pub phase: u8,
    /// Whether the victims have been erased.
    pub erased: bool,
    /// Reserved buffer slots that are still empty; none before the reservation.
    pub slots: Option<u32>,
    /// Host operations wait for the die. Updated when the job begins and after each read-out.
    pub contended: bool,
}

impl Job {
    /// A collection of one block.
    pub fn new(victim: BlockId) -> Self {
        let mut victims = [BlockId::NONE; MAX_PLANES];
        victims[0] = victim;
        Job {
            victims,
            count: 1,
            cursor: [0; MAX_PLANES],
            hand: PageSet::EMPTY,
            phase: 0,
            erased: false,
            slots: None,
            contended: false,
        }
    }

    /// Adds a victim in another plane of the die.
    pub fn join(&mut self, victim: BlockId) {
        self.victims[usize::from(self.count)] = victim;
        self.count += 1;
    }

    /// The next valid page of a victim, in ascending order, which is then consumed.
    pub fn next_valid(&mut self, view: &View, victim: usize) -> Option<Ppn> {
        let page = self.peek_valid(view, victim);
        self.cursor[victim] += u32::from(page.is_some());
        page
    }

    /// Like `next_valid`, without consuming the page.
    pub fn peek_valid(&mut self, view: &View, victim: usize) -> Option<Ppn> {
        let block = self.victims[victim];
        let pages = view.geometry.pages_per_block;
        while self.cursor[victim] < pages {
            let page = view.geometry.page(block, self.cursor[victim]);
            if view.flash.is_valid(page) {
                return Some(page);
            }
            self.cursor[victim] += 1;
        }
        None
    }
}

/// Moves that remain in a collection of two planes, where each is one command inside the die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outlook {
    /// Moves of two pages that are read together.
    pub together: u32,
    /// Moves of two pages that are read one after the other.
    pub apart: u32,
    /// Moves of one page.
    pub single: u32,
}

/// Load and progress of a device, for policies from outside that learn from them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Requests that have arrived and not completed.
    pub pending: u64,
    /// Requests of all kinds that may be outstanding: `device.queue_depth`.
    pub depth: u32,
    /// Reads completed, and the sum of their latencies.
    pub reads: (u64, u128),
    /// Writes completed, and the sum of their latencies.
    pub writes: (u64, u128),
    /// Pages programmed for the host.
    pub host_pages: u64,
    /// Pages programmed or copied by GC.
    pub gc_pages: u64,
    /// Collections completed.
    pub collections: u64,
}

/// Why a policy from outside can't answer any more. The device then answers for it, so that it stays a valid device until its
/// driver stops; results of such a run are not the policy's.
#[derive(Clone, Debug)]
pub struct PolicyFault {
    /// The slot of the policy, such as `schemes.victim`.
    pub slot: &'static str,
    /// What went wrong.
    pub message: String,
    /// The plane in question.
    pub plane: PlaneId,
    /// Simulated time.
    pub now: Nanos,
    /// The error of the language that the policy is written in.
    pub cause: Option<Arc<dyn Any + Send + Sync>>,
}

impl PartialEq for PolicyFault {
    fn eq(&self, other: &Self) -> bool {
        (self.slot, &self.message, self.plane, self.now) == (other.slot, &other.message, other.plane, other.now)
    }
}

impl Eq for PolicyFault {}

/// Decides when a plane is collected. Below `gc.threshold` it always is; a trigger may add occasions.
pub trait Trigger {
    /// Called once, with the device's geometry.
    fn prepare(&mut self, _geometry: &Geometry) {}
    /// Idle time of a die after which [`Trigger::due`] is called for its planes; none if it is never called.
    fn patience(&self) -> Option<Nanos> {
        None
    }
    /// The plane's die has been idle long enough, or has done nothing but GC since. Whether the plane is collected now.
    fn due(&self, _view: &View, _plane: PlaneId) -> bool {
        false
    }
    /// Why it can't answer any more, if so.
    fn fault(&self) -> Option<&PolicyFault> {
        None
    }
    /// Requirements on the rest of the configuration.
    fn needs(&self) -> Vec<Need> {
        Vec::new()
    }
}

/// Selects the block to reclaim.
pub trait Victim {
    /// A closed block of the plane, or none if no collection would free a page.
    fn pick(&mut self, view: &View, plane: PlaneId) -> Option<BlockId>;
    /// Whether [`Victim::on_write`] and [`Victim::on_invalidate`] are called. Read once. If not, the device does no work for
    /// them; if so, it takes no shortcuts.
    fn watches(&self) -> bool {
        false
    }
    /// Whether [`Flash::closing`] is kept. Read once.
    fn reads_closings(&self) -> bool {
        false
    }
    /// Whether [`Victim::pick`] reads no pages of other planes than the one to be collected, and no load. Read once. If
    /// not, the moves of a collection do not share an event, since until that event the map and the counters lag behind.
    fn stays_in_plane(&self) -> bool {
        false
    }
    /// A data page has been programmed: with its logical page, or with none if it was stale before its program ended.
    ///
    /// Calls follow the order of changes. They come in the nanosecond of the change and before the next [`Victim::pick`], but the
    /// view may already show later changes of the same nanosecond. A power cut rebuilds the map from the pages: valid pages that
    /// it finds are reported as written again.
    fn on_write(&mut self, _view: &View, _page: Ppn, _lpn: Lpn) {}
    /// A valid page has become invalid: it was overwritten, trimmed or moved. Called like [`Victim::on_write`].
    fn on_invalidate(&mut self, _view: &View, _page: Ppn) {}
    /// Seeds the policy's own random stream.
    fn seed(&mut self, _seed: u64) {}
    /// Why it can't answer any more, if so.
    fn fault(&self) -> Option<&PolicyFault> {
        None
    }
    /// Requirements on the rest of the configuration.
    fn needs(&self) -> Vec<Need> {
        Vec::new()
    }
}

/// Competitors of a job for its die, when the collector decides whether the job pauses or resumes.
pub struct Contention<'a> {
    /// Host operations wait in the die's queue.
    pub queued: bool,
    /// Host writes that any die may serve are waiting, and this die has not been offered to them at the current time.
    pub unplaced: bool,
    /// The step is the job's first, or its first since a pause.
    pub first_step: bool,
    /// Whether free pages are below `gc.hard_threshold`: asked only where it matters, since it may have to be counted.
    pub urgent: &'a dyn Fn() -> bool,
}

/// Decides how a die is collected. A collector may wrap another one; methods that it does not override are those of the wrapped
/// one.
pub trait Collector {
    /// The wrapped collector, if there is one.
    fn inner(&self) -> Option<&dyn Collector> {
        None
    }
    /// The wrapped collector, for updates.
    fn inner_mut(&mut self) -> Option<&mut dyn Collector> {
        None
    }
    /// Called once, with the device's geometry and `gc.threshold`.
    fn prepare(&mut self, geometry: &Geometry, threshold: Threshold) {
        if let Some(inner) = self.inner_mut() {
            inner.prepare(geometry, threshold);
        }
    }
    /// The job holds its die. Its next step.
    fn next(&mut self, view: &View, job: &mut Job) -> Step;
    /// `plane` is collected. Whether `other`, on the same die, is collected with it.
    fn joins(&self, view: &View, plane: PlaneId, other: PlaneId) -> bool {
        self.inner().is_some_and(|inner| inner.joins(view, plane, other))
    }
    /// GC write points per plane; each needs a reserved block.
    fn streams(&self) -> u32 {
        self.inner().map_or(1, |inner| inner.streams())
    }
    /// Whether it always behaves like `serial` with one victim: valid pages in ascending order, each placed as soon as it is in
    /// hand, then the erase. The engine may then merge several steps. A wrapper does not inherit this, because it decides between
    /// steps.
    fn in_order(&self) -> bool {
        false
    }
    /// Whether it behaves so as long as no host operation waits for the die ([`Job::contended`]) and its job has no empty buffer
    /// slot left.
    fn undisturbed(&self) -> bool {
        self.in_order()
    }
    /// The moves that remain in a collection of two planes after one of the pages `moving`, if they depend on nothing but valid
    /// pages of its victims. The engine may then merge them.
    fn outlook(&self, _view: &View, _job: &Job, _moving: &PageSet) -> Option<Outlook> {
        None
    }
    /// Whether a job holds its die from start to end. If not, each step is queued behind the operations that wait there.
    fn holds(&self) -> bool {
        self.inner().is_none_or(|inner| inner.holds())
    }
    /// Whether [`Collector::pauses`] is called between the steps of a job that holds its die.
    fn preemptible(&self) -> bool {
        self.inner().is_some_and(|inner| inner.preemptible())
    }
    /// A job is about to take its next step while host operations compete for its die. Whether it pauses so that they go first.
    fn pauses(&self, contention: &Contention) -> bool {
        self.inner().is_some_and(|inner| inner.pauses(contention))
    }
    /// The die of a paused job is idle, but host operations compete for it. Whether the job resumes; it does where none compete.
    fn resumes(&self, contention: &Contention) -> bool {
        self.inner().is_none_or(|inner| inner.resumes(contention))
    }
    /// How buffered pages return to flash; none if jobs leave none in the controller's buffer.
    fn writes_back(&self) -> Option<WriteBack> {
        self.inner().and_then(|inner| inner.writes_back())
    }
    /// Whether its runs report conflicts of host operations with GC (paper A).
    fn reports_conflicts(&self) -> bool {
        self.inner().is_some_and(|inner| inner.reports_conflicts())
    }
    /// Whether its collections are verified on a failing chip. A wrapper does not inherit this.
    fn survives_chip_failures(&self) -> bool {
        false
    }
    /// Requirements on the rest of the configuration, without those of a wrapped collector.
    fn needs(&self) -> Vec<Need> {
        Vec::new()
    }
}

/// Decides how moved pages travel.
pub trait MovePath {
    /// The journey of a page. `to` is the block of its own plane that a copyback would fill, if the path keeps counts.
    ///
    /// Pages of one command travel together: if one must leave the die, all do.
    fn journey(&mut self, view: &View, from: Ppn, to: BlockId) -> Journey;
    /// A checked page has been decoded. The hop from which it is programmed. `clean`: no error was found.
    fn back(&mut self, _view: &View, _from: Ppn, _clean: bool) -> Hop {
        Hop::Controller
    }
    /// Whether error correction checks every page that it copies.
    fn checks_all(&self) -> bool {
        false
    }
    /// Whether copied pages have a separate write point.
    fn separates(&self) -> bool {
        false
    }
    /// Whether the path uses copyback counts. They are then kept, with metadata pages in each block.
    fn keeps_counts(&self) -> bool {
        false
    }
    /// The journey of every page, if it is the same for all.
    fn always(&self) -> Option<Journey> {
        None
    }
    /// Whether its moves are verified on a failing chip.
    fn survives_chip_failures(&self) -> bool {
        false
    }
    /// Requirements on the rest of the configuration, without those of a path that it falls back on.
    fn needs(&self) -> Vec<Need> {
        Vec::new()
    }
}

/// State that an order may read: the requests that wait for dispatch, and the load of chips.
pub trait Window {
    /// Pending requests in order of arrival; with delayed writes, reads before writes of their chips that they delay.
    fn pending(&self) -> &[RequestId];
    /// Calls `visit` with the chip of each sub-request with a known chip.
    fn chips(&self, request: RequestId, visit: &mut dyn FnMut(u32));
    /// Whether a request is a read.
    fn reads(&self, request: RequestId) -> bool;
    /// Whether reads delay writes (`order.delay_writes`). A write that is pending before a read of its chips stays before it.
    fn delays_writes(&self) -> bool;
    /// Whether two requests have a page in common.
    fn overlap(&self, one: RequestId, other: RequestId) -> bool;
    /// Chips of the device.
    fn chip_count(&self) -> u32;
    /// Dispatched requests that have not completed.
    fn dispatched(&self) -> u32;
    /// Dispatched sub-requests of a chip that have not finished.
    fn outstanding(&self, chip: u32) -> u32;
    /// Whether a chip accepts `more` sub-requests in addition to its current ones.
    fn room(&self, chip: u32, more: u32) -> bool;
    /// Whether a request may be dispatched before those that were pending before it.
    fn may_pass(&self, _request: RequestId) -> bool {
        true
    }
    /// Whether `is` holds for any chip of a request.
    fn any_chip(&self, request: RequestId, is: &dyn Fn(u32) -> bool) -> bool {
        let mut any = false;
        self.chips(request, &mut |chip| any = any || is(chip));
        any
    }
    /// Whether all chips of a request have room for it, and nothing else keeps it back.
    fn fits(&self, request: RequestId) -> bool {
        let own = |chip| {
            let mut own = 0;
            self.chips(request, &mut |other| own += u32::from(other == chip));
            own
        };
        // Most chips that have no room have none for a single page.
        let full = |chip| {
            !self.room(chip, 1) || {
                let own = own(chip);
                own > 1 && !self.room(chip, own)
            }
        };
        !self.any_chip(request, &full) && self.may_pass(request)
    }
}

/// Selects the request to dispatch next.
pub trait Order {
    /// The window is about to be searched: a request has joined it, or chips have finished sub-requests.
    fn drain(&mut self, _window: &dyn Window) {}
    /// A pending request that may be dispatched now, as its position in the window. Called until it returns none.
    fn next(&mut self, window: &dyn Window) -> Option<usize>;
    /// Whether every request is dispatched at once as long as chips accept any number of sub-requests.
    fn eager(&self) -> bool {
        false
    }
    /// Default of `order.chip_queue`.
    fn chip_queue(&self) -> Option<u32> {
        None
    }
}

/// Load of the chips when a read comes or is dispatched.
pub trait Queues {
    /// Sub-requests queued or in service on a chip: reads, programs.
    fn load(&self, chip: u32) -> [u32; 2];
    /// Arrival of the next request in the window that uses a chip and arrived after the read, or never.
    fn next_arrival(&self, chip: u32) -> Nanos;
    /// Array and bus time of a page read, and that of its way across an interconnect.
    fn read_time(&self) -> Nanos;
    /// Array and bus time of a page program, and that of its way across an interconnect.
    fn program_time(&self) -> Nanos;
}

/// A scheme for reads. It may serve them from elsewhere in one of two ways, or in none.
pub trait Route {
    /// Present if it reconstructs pages of busy chips from pages of other chips.
    fn redirects(&self) -> Option<&dyn Redirect> {
        None
    }
    /// Present if it keeps second copies of pages.
    fn replicates(&self) -> Option<&dyn Replicate> {
        None
    }
    /// Default of `order.chip_queue`, if the order has none.
    fn chip_queue(&self) -> Option<u32> {
        None
    }
    /// Requirements on the rest of the configuration.
    fn needs(&self) -> Vec<Need> {
        Vec::new()
    }
}

/// Decides which reads are reconstructed from the other pages of their parity group.
pub trait Redirect {
    /// A page of `chip` is read for a request that arrived at `arrival`. Whether it is reconstructed from pages of the
    /// `partners`.
    fn redirect(&self, queues: &dyn Queues, arrival: Nanos, chip: u32, partners: &[u32]) -> bool;
}

/// Decision about a page that wants a second copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyNow {
    /// Read the page for its copy.
    Read,
    /// Not now; continue with the next page.
    Next,
    /// Not now; do not consider further pages either.
    Stop,
}

/// Decides which pages get second copies, and which reads use them.
pub trait Replicate {
    /// Largest share of physical pages for copies.
    fn share(&self) -> Ppm;
    /// `waits` reads of a page have waited for internal operations since it was written or last copied. Whether it gets a copy.
    fn wants_copy(&self, waits: u8) -> bool;
    /// Dies are free after all host operations and write-backs. Pages that want a copy are considered in the order of their
    /// requests; this one is at `place`. Whether it is read now for its copy. `unwanted`: no operation waits for its die.
    fn copies_now(&self, place: usize, unwanted: bool) -> CopyNow;
    /// A page has been read for its copy. Whether a plane with a free page may hold the copy. `unwanted`: no operation waits for
    /// the plane's die. `same_chip`: the plane is on the page's chip.
    fn stores_copy(&self, unwanted: bool, same_chip: bool) -> bool;
    /// A page has a copy. Whether a read uses the copy, given whether GC is active on the page's own die and on the copy's die.
    fn reads_copy(&self, home_in_collection: bool, copy_in_collection: bool) -> bool;
}
