//! The seam between mechanism and policy: what a scheme is asked, what it may see, what it may answer.

use crate::device::flash::{Flash, Stream};
use crate::device::geometry::Geometry;
pub use crate::device::pages::{MAX_PLANES, PageSet};
use crate::device::staging::Staging;
pub use crate::device::staging::{BackTo, WriteBack};
use crate::device::wear::Wear;
use crate::units::{BlockId, Lpn, Nanos, PlaneId, Ppm, Ppn, RequestId, Threshold};

/// All that a policy may look at: read-only, borrowed, cheap.
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
}

/// Something that a scheme needs of the rest of the configuration: a configuration without it is refused.
#[derive(Clone, Debug)]
pub struct Need {
    /// What it needs.
    pub what: Requirement,
    /// The key that the refusal names.
    pub key: &'static str,
    /// Why, in the words of the refusal.
    pub why: String,
    /// What would make it work.
    pub help: &'static str,
}

/// What a scheme may need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requirement {
    /// Other values of its own knobs.
    OtherKnobs,
    /// Moved pages stay in their plane (`gc.destination`).
    MovesInPlane,
    /// Dies of so many planes. The refusal adds how many a die has.
    PlanesPerDie(u32),
    /// `gc.threshold` counts the pages of a plane.
    PlaneScope,
    /// Collections take time (`gc.time`).
    TimedCollections,
    /// No chip fails.
    SoundChips,
    /// So many free pages of a plane are more than `gc.threshold`. The refusal adds both.
    MoreThanThreshold(Threshold),
    /// Maps single pages, not super pages.
    SinglePages,
    /// An interconnect.
    Interconnect,
    /// A path without a write point of its own. The refusal names the path first.
    SharedWritePoint,
}

impl Need {
    /// A need of the scheme in the slot `key`.
    pub fn new(what: Requirement, key: &'static str, why: impl Into<String>, help: &'static str) -> Self {
        Need { what, key, why: why.into(), help }
    }
}

/// Where a page's bits rest on their way between two flash pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hop {
    /// The plane's page register: the bits never leave the die.
    Die,
    /// The flash controller's buffer at the channel's end of an interconnect.
    Fmc,
    /// Controller memory: the bits cross the channel, and the interconnect if there is one.
    Controller,
}

impl Hop {
    /// The one of two that is farther from the flash.
    pub fn farther(self, other: Hop) -> Hop {
        self.max(other)
    }
}

/// How the bits of a moved page travel: out to a hop, and back from there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Journey {
    /// Where the bits go.
    pub out: Hop,
    /// Whether a nearer hop keeps them until error correction has looked at them: then the path is asked for the way back.
    pub checked: bool,
}

impl Journey {
    /// Inside the plane.
    pub const COPYBACK: Self = Self { out: Hop::Die, checked: false };
    /// Out to the controller and back.
    pub const EXTERNAL: Self = Self { out: Hop::Controller, checked: false };
    /// Out to the controller, with the way back decided there.
    pub const CHECKED: Self = Self { out: Hop::Controller, checked: true };
    /// To the flash controller, with the way back decided there.
    pub const LOCAL: Self = Self { out: Hop::Fmc, checked: true };
}

/// The next atomic piece of a collection.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// Read these valid pages of the victims, at most one a plane, and move them to a write point of their planes as the
    /// path slot says. Pages that stay in their die are programmed by the same command, or, where their write points stand
    /// at different offsets, one after the other; pages that leave it are then in the job's hand.
    Move(PageSet, Stream),
    /// Read these valid pages of the victims, at most one a plane, and carry them to the controller, whatever the path slot
    /// says: they are then in the job's hand. Should they be placed after all, the stream says where.
    Fetch(PageSet, Stream),
    /// Reserve so many free slots of the controller's buffer for this job's pages, in no time. Once a job.
    Reserve(u32),
    /// Leave the pages in hand in reserved slots of the controller's buffer, in no time.
    Stage,
    /// Program the pages in hand at the write points that the move named: as many as one command can, so that more may be
    /// left.
    Place,
    /// Give up so many erased pages at a write point of this victim's plane, in no time: wasted until their block is erased.
    Skip(usize, u32, Stream),
    /// Erase the victims in one command.
    Erase,
    /// The collection is over.
    Done,
}

/// A collection in progress.
#[derive(Clone, Debug)]
pub struct Job {
    /// The blocks that are reclaimed, at most one a plane.
    pub victims: [BlockId; MAX_PLANES],
    /// How many victims.
    pub count: u8,
    /// Per victim, the offset from which valid pages have not been looked at yet.
    pub cursor: [u32; MAX_PLANES],
    /// Pages that were read out and are not programmed yet.
    pub hand: PageSet,
    /// How far it has come, in the collector's own count.
    pub phase: u8,
    /// Whether the victims have been erased.
    pub erased: bool,
    /// Slots of the controller's buffer that are reserved for its pages and not filled; none before it has reserved any.
    pub slots: Option<u32>,
    /// Host operations wait for the die. Looked at when the job begins and each time that pages have been read out.
    pub contended: bool,
}

impl Job {
    /// The collection of one block.
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

    /// Adds the victim of another plane of the die.
    pub fn join(&mut self, victim: BlockId) {
        self.victims[usize::from(self.count)] = victim;
        self.count += 1;
    }

    /// The next page of a victim that is still valid, in ascending order; it is not offered again.
    pub fn next_valid(&mut self, view: &View, victim: usize) -> Option<Ppn> {
        let page = self.peek_valid(view, victim);
        self.cursor[victim] += u32::from(page.is_some());
        page
    }

    /// The same, but it will be offered again.
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

/// When is a plane collected? Below `gc.threshold` in any case: a trigger may add other occasions.
pub trait Trigger {
    /// Told once what device it works for.
    fn prepare(&mut self, _geometry: &Geometry) {}
    /// How long a die has to be idle before [`Trigger::due`] is asked about its planes; none if it never is.
    fn patience(&self) -> Option<Nanos> {
        None
    }
    /// The die of a plane has been idle for long enough, or has done nothing since but collect: is the plane collected now?
    fn due(&self, _view: &View, _plane: PlaneId) -> bool {
        false
    }
    /// What it needs of the rest of the configuration.
    fn needs(&self) -> Vec<Need> {
        Vec::new()
    }
}

/// Which block is reclaimed?
pub trait Victim {
    /// A closed block of the plane, or none if collecting any would free nothing.
    fn pick(&mut self, view: &View, plane: PlaneId) -> Option<BlockId>;
    /// Whether [`Victim::on_write`] and [`Victim::on_invalidate`] are called. Asked once; a device whose victim policy does not
    /// use them does no work for them, and one whose policy does takes no shortcuts.
    fn watches(&self) -> bool {
        false
    }
    /// A data page has been programmed: with a logical page, or with none if it was stale before its program ended.
    ///
    /// Called in the order in which pages change, in the nanosecond of the change, and before the next [`Victim::pick`]. What
    /// the view shows of flash may be later changes of the same nanosecond already. A power cut rebuilds the map from the pages:
    /// pages found valid then are reported as written once more.
    fn on_write(&mut self, _view: &View, _page: Ppn, _lpn: Lpn) {}
    /// A page has become invalid that was valid: it was overwritten, trimmed or moved. Called as [`Victim::on_write`] is.
    fn on_invalidate(&mut self, _view: &View, _page: Ppn) {}
    /// Starts the policy's own random stream.
    fn seed(&mut self, _seed: u64) {}
    /// What it needs of the rest of the configuration.
    fn needs(&self) -> Vec<Need> {
        Vec::new()
    }
}

/// Who competes with a job for its die, when the collector decides whether the job pauses or resumes.
pub trait Contention {
    /// Host operations wait in the die's queue.
    fn queued(&self) -> bool;
    /// Host writes wait that any die may take, and this die has not been offered to them at this time.
    fn unplaced(&self) -> bool;
    /// Free pages are below `gc.hard_threshold`.
    fn urgent(&self) -> bool;
    /// The step is the job's first, or its first since a pause.
    fn first_step(&self) -> bool;
}

/// How is a die collected? A collector may wrap another: what it does not say itself is then what the wrapped one says.
pub trait Collector {
    /// The collector that this one wraps, if it does.
    fn inner(&self) -> Option<&dyn Collector> {
        None
    }
    /// The same, to be told something.
    fn inner_mut(&mut self) -> Option<&mut dyn Collector> {
        None
    }
    /// Told once what device it works for: its geometry, and `gc.threshold`.
    fn prepare(&mut self, geometry: &Geometry, threshold: Threshold) {
        if let Some(inner) = self.inner_mut() {
            inner.prepare(geometry, threshold);
        }
    }
    /// The die is the job's: what is its next step?
    fn next(&mut self, view: &View, job: &mut Job) -> Step;
    /// `plane` is collected: should `other`, on the same die, be collected along with it?
    fn joins(&self, view: &View, plane: PlaneId, other: PlaneId) -> bool {
        self.inner().is_some_and(|inner| inner.joins(view, plane, other))
    }
    /// Write points a plane that its moves fill: each needs a block of the reserve.
    fn streams(&self) -> u32 {
        self.inner().map_or(1, |inner| inner.streams())
    }
    /// Whether it does what `serial` does with one victim, whatever happens meanwhile: valid pages in ascending order, each
    /// placed as soon as it is in hand, then the erase. The engine may then carry out several steps as one. Not passed on by
    /// a collector that wraps: it decides between the steps.
    fn in_order(&self) -> bool {
        false
    }
    /// Whether it does so as long as no host operation waits for the die ([`Job::contended`]) and its job has no slots of the
    /// controller's buffer left.
    fn undisturbed(&self) -> bool {
        self.in_order()
    }
    /// Whether a job keeps its die from start to end, or queues each step behind what waits there.
    fn holds(&self) -> bool {
        self.inner().is_none_or(|inner| inner.holds())
    }
    /// Whether [`Collector::gives_way`] is asked between the steps of a job that holds its die.
    fn preemptible(&self) -> bool {
        self.inner().is_some_and(|inner| inner.preemptible())
    }
    /// A job is about to take its next step: does it pause, so that its die serves host operations first?
    fn gives_way(&self, contention: &dyn Contention) -> bool {
        self.inner().is_some_and(|inner| inner.gives_way(contention))
    }
    /// Nothing is in service on the die of a paused job: does the job resume?
    fn resumes(&self, contention: &dyn Contention) -> bool {
        self.inner().is_none_or(|inner| inner.resumes(contention))
    }
    /// How the pages that jobs leave in the controller's buffer get back to flash; none if they never do.
    fn writes_back(&self) -> Option<WriteBack> {
        self.inner().and_then(|inner| inner.writes_back())
    }
    /// Whether runs with it report which host operations met collections (paper A).
    fn reports_conflicts(&self) -> bool {
        self.inner().is_some_and(|inner| inner.reports_conflicts())
    }
    /// Whether its collections are known to be right on a chip that fails. Not passed on by a collector that wraps.
    fn survives_chip_failures(&self) -> bool {
        false
    }
    /// What it needs of the rest of the configuration, without what a wrapped collector needs.
    fn needs(&self) -> Vec<Need> {
        Vec::new()
    }
}

/// How do moved bits travel?
pub trait MovePath {
    /// The journey of a page. `to` is the block of its own plane that a copyback would fill, where the path keeps counts.
    ///
    /// Pages that one command moves go the same way: if one of them has to leave the die, all do.
    fn journey(&mut self, view: &View, from: Ppn, to: BlockId) -> Journey;
    /// A checked page is in hand and has been decoded: where is it programmed from? `clean`: no error was found.
    fn back(&mut self, _view: &View, _from: Ppn, _clean: bool) -> Hop {
        Hop::Controller
    }
    /// Whether error correction looks at every page that it copies.
    fn checks_all(&self) -> bool {
        false
    }
    /// Whether copied pages go to a write point of their own.
    fn separates(&self) -> bool {
        false
    }
    /// Whether the path decides by copyback counts: they are kept then, with metadata pages in each block.
    fn keeps_counts(&self) -> bool {
        false
    }
    /// The journey of every page, if all pages travel alike.
    fn always(&self) -> Option<Journey> {
        None
    }
    /// Whether its moves are known to be right on a chip that fails.
    fn survives_chip_failures(&self) -> bool {
        false
    }
    /// What it needs of the rest of the configuration, without what a path that it falls back on needs.
    fn needs(&self) -> Vec<Need> {
        Vec::new()
    }
}

/// What an order may look at: the requests that wait for dispatch, and how busy the chips are.
pub trait Window {
    /// Pending requests in order of arrival.
    fn pending(&self) -> &[RequestId];
    /// Calls `visit` with the chip of each sub-request that has one.
    fn chips(&self, request: RequestId, visit: &mut dyn FnMut(u32));
    /// Whether a request reads.
    fn reads(&self, request: RequestId) -> bool;
    /// Whether two requests have a page in common.
    fn overlap(&self, one: RequestId, other: RequestId) -> bool;
    /// Chips of the device.
    fn chip_count(&self) -> u32;
    /// Dispatched requests that have not completed.
    fn dispatched(&self) -> u32;
    /// Dispatched sub-requests of a chip that have not finished.
    fn outstanding(&self, chip: u32) -> u32;
    /// Whether a chip takes `more` sub-requests beside those it has.
    fn room(&self, chip: u32, more: u32) -> bool;
    /// Whether `is` holds for a chip of a request.
    fn any_chip(&self, request: RequestId, is: &dyn Fn(u32) -> bool) -> bool {
        let mut any = false;
        self.chips(request, &mut |chip| any |= is(chip));
        any
    }
    /// Whether all chips of a request have room for it.
    fn fits(&self, request: RequestId) -> bool {
        let own = |chip| {
            let mut own = 0;
            self.chips(request, &mut |other| own += u32::from(other == chip));
            own
        };
        !self.any_chip(request, &|chip| !self.room(chip, own(chip)))
    }
}

/// Which request is dispatched next?
pub trait Order {
    /// The window is about to be looked through: a request has joined it, or chips have finished something.
    fn drain(&mut self, _window: &dyn Window) {}
    /// A pending request that may go now, as its position in the window. Asked until there is none.
    fn next(&mut self, window: &dyn Window) -> Option<usize>;
    /// Whether every request goes at once as long as chips take any number of sub-requests.
    fn eager(&self) -> bool {
        false
    }
    /// Default of `order.chip_queue`.
    fn chip_queue(&self) -> Option<u32> {
        None
    }
    /// Default of `order.delay_writes`.
    fn delays_writes(&self) -> bool {
        false
    }
}

/// How busy the chips are when a read is dispatched.
pub trait Queues {
    /// Sub-requests that are queued or in service on a chip: reads, programs.
    fn load(&self, chip: u32) -> [u32; 2];
    /// When the next request of the window arrived that wants a chip and arrived after the one that is dispatched, or never.
    fn next_arrival(&self, chip: u32) -> Nanos;
    /// Array and bus time of a page read.
    fn read_time(&self) -> Nanos;
    /// Array and bus time of a page program.
    fn program_time(&self) -> Nanos;
}

/// A scheme for reads: it may serve them from elsewhere in one of two ways, or in none.
pub trait Route {
    /// If it computes pages of busy chips from pages of other chips.
    fn redirects(&self) -> Option<&dyn Redirect> {
        None
    }
    /// If it keeps second copies of pages.
    fn replicates(&self) -> Option<&dyn Replicate> {
        None
    }
    /// Default of `order.chip_queue`, where the order has none.
    fn chip_queue(&self) -> Option<u32> {
        None
    }
    /// What it needs of the rest of the configuration.
    fn needs(&self) -> Vec<Need> {
        Vec::new()
    }
}

/// Which reads are computed from the other pages of their parity group?
pub trait Redirect {
    /// A page of `chip` is read for a request that came at `arrival`: is it computed from pages of the `partners` instead?
    fn redirect(&self, queues: &dyn Queues, arrival: Nanos, chip: u32, partners: &[u32]) -> bool;
}

/// What becomes of a page that wants a second copy, when its turn to be looked at comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyNow {
    /// It is read for its copy.
    Read,
    /// Not now: the next page is looked at.
    Next,
    /// Not now, and no other page either.
    Stop,
}

/// Which pages get second copies, and which reads go to them?
pub trait Replicate {
    /// The share of the physical pages that copies may take.
    fn share(&self) -> Ppm;
    /// So many reads of a page have waited for something internal since it was written or last copied: does it get a copy?
    fn wants_copy(&self, waits: u8) -> bool;
    /// Dies are free after all host operations and write-backs. Pages that want a copy are looked at in the order of their wishes,
    /// this one at `place`; is it read for its copy? `unwanted`: nothing waits for its die.
    fn copies_now(&self, place: usize, unwanted: bool) -> CopyNow;
    /// A page has been read for its copy: may the copy go to a plane, which has a page for it? `unwanted`: nothing waits for
    /// the plane's die. `same_chip`: the plane is on the chip of the page.
    fn stores_copy(&self, unwanted: bool, same_chip: bool) -> bool;
    /// A page has a copy: is it read there, its own die and that of the copy being in collection or not?
    fn reads_copy(&self, home_in_collection: bool, copy_in_collection: bool) -> bool;
}
