//! The configuration of a run: every key, its meaning, unit and default, and every check that spans keys.
//!
//! A [`Config`] is plain data that `serde` reads. [`Config::check`] rejects what cannot work and says what would. A checked
//! configuration can always be built and run.

mod check;
mod check_faults;
mod pages;
mod spec;

use serde::{Deserialize, Serialize};

use crate::blame::Extra;
use crate::schemes::{AnyCollector, AnyOrder, AnyPath, AnyRoute, AnyTrigger, AnyVictim, Place};
use crate::units::{Bytes, Nanos, Ppm, Rate, Threshold, Warmup};

/// A configuration that cannot work: the key, the reason, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// Dotted key, such as `gc.threshold`.
    pub key: String,
    /// The rule that is broken, with its arithmetic.
    pub message: String,
    /// The remedy.
    pub help: String,
}

impl std::fmt::Display for ConfigError {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{}: {} ({})", self.key, self.message, self.help)
    }
}

impl std::error::Error for ConfigError {}

/// Serializes a section. A field marked `[since "VERSION"]` is written only where it differs from its default, so a key added
/// after 0.1 does not change the digest of configurations that do not use it.
#[doc(hidden)]
#[macro_export]
macro_rules! record {
    ($name:ident { $($([since $version:literal])? $field:ident),* $(,)? }) => {
        impl serde::Serialize for $name {
            #[allow(unused_mut)]
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeStruct;
                let fields: &[&str] = &[$(stringify!($field)),*];
                let mut out = serializer.serialize_struct(stringify!($name), fields.len())?;
                $(
                    let default = false $(|| {
                        let _: &str = $version;
                        self.$field == Self::default().$field
                    })?;
                    if default {
                        out.skip_field(stringify!($field))?;
                    } else {
                        out.serialize_field(stringify!($field), &self.$field)?;
                    }
                )*
                out.end()
            }
        }
    };
}

/// Declares a section: each field's documentation and default in one place. A field added after 0.1 is marked with the version
/// that added it: see [`record`].
macro_rules! section {
    ($(#[$doc:meta])* $name:ident { $($(#[$fdoc:meta])* $([since $version:literal])? $field:ident: $ty:ty = $default:expr),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(deny_unknown_fields, default)]
        pub struct $name { $($(#[$fdoc])* pub $field: $ty),+ }
        impl Default for $name {
            fn default() -> Self { Self { $($field: $default),+ } }
        }
        record!($name { $($([since $version])? $field),+ });
    };
}

section! {
    /// Everything that decides a run, apart from its workload and its seed.
    Config {
        /// The flash array.
        geometry: Geometry = Geometry::default(),
        /// Times of flash operations and transfers.
        timing: Timing = Timing::default(),
        /// The controller around the array.
        device: Device = Device::default(),
        /// When and where garbage is collected.
        gc: Gc = Gc::default(),
        /// Write points, free blocks, wear levelling.
        ftl: Ftl = Ftl::default(),
        /// State of the device before the first request.
        precondition: Precondition = Precondition::default(),
        /// Which part of the run is measured.
        run: Run = Run::default(),
        /// The policy in each of the seven slots.
        schemes: Schemes = Schemes::default(),
        /// Settings of the dispatch window.
        order: OrderKnobs = OrderKnobs::default(),
        /// The interconnect between flash controllers and CPU.
        noc: Noc = Noc::default(),
        /// Wear, and how many copybacks it allows.
        wear: Wear = Wear::default(),
        /// Bit errors and their correction.
        ecc: Ecc = Ecc::default(),
        /// Parity across chips.
        raid: Raid = Raid::default(),
        /// The controller's buffer for GC.
        staging: Staging = Staging::default(),
        /// Faults that the run injects.
        faults: Faults = Faults::default(),
        /// The write cache in controller memory.
        [since "0.1.1"]
        cache: Cache = Cache::default(),
        /// The host's queues.
        [since "0.1.1"]
        nvme: Nvme = Nvme::default(),
    }
}

/// Declares a choice: an enum whose text form is kebab-case.
macro_rules! choice {
    ($(#[$doc:meta])* $name:ident ($style:literal) { $($(#[$vdoc:meta])* $variant:ident),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(rename_all = $style)]
        pub enum $name { $($(#[$vdoc])* $variant),+ }
    };
}

mod faults;
mod nvme;
pub use faults::{IoErrors, IoErrorsAt};
pub use nvme::{Arbitration, ByteRange, MOST_QUEUES, Match, Names, NvmeQueue, OpName, QueuePriority};

choice! {
    /// Order in which the pages of a block's word lines are programmed.
    PageOrder("lowercase") {
        /// Page `i` of a block has type `i mod n`, for `n` page types.
        Cyclic,
        /// The same. Results are also given by page type: LSB, CSB, MSB, TSB.
        Wordline,
        /// A word line's next page follows earlier pages of its neighbours: step `s` programs type `k` of word line `s - k`.
        /// Results are also given by page type.
        Shadow,
    }
}

section! {
    /// The flash array: `channels x chips_per_channel x dies_per_chip x planes_per_die` planes.
    Geometry {
        /// Channels; each has its own bus.
        channels: u32 = 8,
        /// Chips (packages) on a channel.
        chips_per_channel: u32 = 4,
        /// Dies in a chip.
        dies_per_chip: u32 = 2,
        /// Planes in a die.
        planes_per_die: u32 = 2,
        /// Blocks in a plane.
        blocks_per_plane: u32 = 512,
        /// Pages in a block.
        pages_per_block: u32 = 64,
        /// Data bytes of a page.
        page_size: Bytes = Bytes(4096),
        /// Order in which the pages of a block's word lines are programmed, and so their types (`timing.read`,
        /// `timing.program`).
        [since "0.1.1"]
        page_order: PageOrder = PageOrder::Cyclic,
    }
}

/// One time for all pages, or one per page type. With `geometry.page_order = "cyclic"`, page `i` of a block has type `i mod n`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum PageTimes {
    /// All pages alike.
    All(Nanos),
    /// By page type, such as lower, middle and upper pages of TLC.
    ByType(Vec<Nanos>),
}

impl PageTimes {
    /// The times by page type.
    pub fn types(&self) -> &[Nanos] {
        match self {
            PageTimes::All(time) => std::slice::from_ref(time),
            PageTimes::ByType(times) => times,
        }
    }
}

choice! {
    /// Operations that a read may suspend (rule R10).
    Suspendable("lowercase") {
        /// Nothing.
        None,
        /// A block erase.
        Erase,
        /// A program or a block erase.
        #[serde(rename = "program+erase")]
        ProgramErase,
    }
}

section! {
    /// Times of flash operations and transfers.
    Timing {
        /// Array time of a page read (tR).
        read: PageTimes = PageTimes::All(Nanos(50_000)),
        /// Array time of a page program (tPROG).
        program: PageTimes = PageTimes::All(Nanos(600_000)),
        /// Array time of a block erase (tBERS).
        erase: Nanos = Nanos(3_500_000),
        /// Bus time per byte, as a rate or as a time.
        transfer: Rate = "800MB/s".parse().expect("a rate"),
        /// Bits per transfer, for rates that count transfers (`"1200MT/s"`).
        [since "0.1.1"]
        bus_width: u32 = 8,
        /// Bus time of an operation's command and address.
        command: Nanos = Nanos::ZERO,
        /// Whether a die may transfer one page while its array reads or programs the next (rule R8).
        cache_register: bool = false,
        /// Transfer time per byte between host and controller, for each direction separately; none by default (rule R6).
        host_link: Option<Rate> = None,
        /// Time to suspend an operation (tSUS): its array is free afterwards.
        suspend: Nanos = Nanos::ZERO,
        /// Time to resume a suspended operation (tRES).
        resume: Nanos = Nanos::ZERO,
        /// Operations that a read may suspend.
        suspendable: Suspendable = Suspendable::None,
        /// Array time of a whole copyback, instead of tR + tPROG.
        copyback: Option<Nanos> = None,
        /// Variation of tR and tPROG.
        [since "0.1.1"]
        variation: Variation = Variation::default(),
    }
}

section! {
    /// Variation of tR and tPROG between blocks and between the layers of a block. Both factors have mean 1 and depend on the seed
    /// and the place alone, so all schemes see the same flash.
    #[derive(PartialEq)]
    Variation {
        /// Standard deviation of a block's factor, which is log-normal and cut at three standard deviations.
        block: Ppm = Ppm(0),
        /// Standard deviation `a` of a layer's factor: 1 + a sqrt(2) sin(2 pi w / W) for word line `w` of `W`. At most 0.7.
        layer: Ppm = Ppm(0),
    }
}

impl Variation {
    /// Whether times vary.
    pub fn exists(&self) -> bool {
        self.block.0 > 0 || self.layer.0 > 0
    }
}

impl Geometry {
    /// Physical pages of the device.
    pub fn pages(&self) -> u64 {
        let planes = [self.channels, self.chips_per_channel, self.dies_per_chip, self.planes_per_die];
        let blocks = [self.blocks_per_plane, self.pages_per_block];
        planes.into_iter().chain(blocks).map(u64::from).product()
    }
}

impl Timing {
    /// Bus time per byte.
    pub fn channel(&self) -> Rate {
        self.transfer.over(self.bus_width)
    }

    /// Transfer time per byte between host and controller, if it is modelled.
    pub fn link(&self) -> Option<Rate> {
        self.host_link.as_ref().map(|rate| rate.over(self.bus_width))
    }

    /// Estimate of the longest time that an operation occupies a resource without a break.
    pub(crate) fn longest(&self) -> Nanos {
        let arrays = self.read.types().iter().chain(self.program.types());
        arrays.chain([&self.erase]).chain(&self.copyback).fold(Nanos::ZERO, |longest, time| longest.max(*time))
    }
}

choice! {
    /// Unit of exclusion: the hardware that serves one operation at a time.
    Exclusion("lowercase") {
        /// A die.
        Die,
        /// A chip with all its dies.
        Chip,
        /// A channel with all its chips.
        Channel,
    }
}
choice! {
    /// When a host write is acknowledged.
    WriteAck("snake_case") {
        /// At the end of its page program.
        AfterProgram,
        /// At the end of its data transfer to the die.
        AfterTransfer,
    }
}
choice! {
    /// How a read of a page that was never written is served.
    UnwrittenRead("snake_case") {
        /// The page is written to flash in no time, then read.
        Preload,
        /// The read takes no flash time.
        ZeroCost,
        /// The run stops with an error.
        Error,
    }
}
choice! {
    /// How a write of part of a page is served.
    PartialWrite("kebab-case") {
        /// Read the old page, then program the new one.
        ReadModifyWrite,
        /// Program the page without reading the old one.
        WholePage,
    }
}

choice! {
    /// Size of a page map entry.
    MappingUnit("kebab-case") {
        /// A page of a plane.
        Page,
        /// A page of each of a die's two planes, at the same place in both. Blocks are paired, and every operation is a
        /// multi-plane command. A write of part of a super page is a partial write (paper B's superblock).
        SuperPage,
    }
}

choice! {
    /// What a read of part of a page moves over the channel.
    PartialRead("kebab-case") {
        /// The bytes asked for.
        Bytes,
        /// The whole page: all pages of a page map entry (paper B, VII.E, for its superblock).
        WholePage,
    }
}

section! {
    /// The controller around the array.
    Device {
        /// Unit of exclusion: the hardware that serves one operation at a time.
        exclusion: Exclusion = Exclusion::Die,
        /// When a host write is acknowledged.
        write_ack: WriteAck = WriteAck::AfterProgram,
        /// Whether the controller's buffer survives a power cut.
        power_loss_protection: bool = true,
        /// Whether an overwritten page stays valid until its newer version is on flash. GC moves it meanwhile. Without this key
        /// or a capacitor it may be erased before the newer version is safe.
        keep_overwritten: bool = false,
        /// Outstanding host requests. Further requests wait in arrival order outside the device.
        queue_depth: u32 = 32,
        /// Share of physical pages that is not exported.
        over_provisioning: Ppm = Ppm(100_000),
        /// How a read of a page that was never written is served.
        unwritten_read: UnwrittenRead = UnwrittenRead::Preload,
        /// Whether pages of one host request on one die, at equal page offset, share a multi-plane command.
        multi_plane: bool = false,
        /// How a write of part of a page is served.
        partial_write: PartialWrite = PartialWrite::ReadModifyWrite,
        /// What a read of part of a page moves: the bytes asked for, or the whole page.
        [since "0.1.2"] partial_read: PartialRead = PartialRead::Bytes,
        /// Size of a page map entry: a page, or the paired pages of a die's two planes.
        mapping_unit: MappingUnit = MappingUnit::Page,
        /// Time to serve a page from controller memory.
        memory: Nanos = Nanos::ZERO,
    }
}

choice! {
    /// Where free pages are counted.
    Scope("lowercase") {
        /// In each plane.
        Plane,
        /// In all planes of a chip together.
        Chip,
        /// In the whole device.
        Device,
    }
}
choice! {
    /// Whether GC takes time.
    GcTime("lowercase") {
        /// GC occupies dies and buses.
        Real,
        /// GC happens at once and occupies nothing: the zero-cost collector that papers compare with.
        None,
    }
}
choice! {
    /// Destination of pages that leave their die during GC.
    Destination("lowercase") {
        /// The victim's plane.
        Plane,
        /// Any plane of the victim's chip.
        Chip,
        /// Any plane of the device.
        Any,
    }
}

section! {
    /// When GC starts, and where it moves pages.
    Gc {
        /// GC starts when a plane (or chip, or device: `gc.scope`) has fewer free pages than this.
        threshold: Threshold = Threshold::Blocks(3),
        /// Below this many free pages, GC is not preempted, and its task queues (`noc.priority`) are served before the host's.
        /// None by default.
        hard_threshold: Option<Threshold> = None,
        /// Where free pages are counted.
        scope: Scope = Scope::Plane,
        /// Erased blocks per plane that are reserved for GC: host writes never take them. By default one per GC write point.
        reserve: Option<u32> = None,
        /// Whether GC takes time.
        time: GcTime = GcTime::Real,
        /// Destination of pages that leave their die during GC.
        destination: Destination = Destination::Plane,
    }
}

choice! {
    /// Whether host and GC programs share a write point.
    WritePoints("lowercase") {
        /// Host and GC each fill their own block.
        Separate,
        /// Host and GC fill the same block.
        Shared,
    }
}
choice! {
    /// Which erased block is opened next.
    FreeBlock("kebab-case") {
        /// The next by index after the last one opened, circular.
        RoundRobin,
        /// The least erased one; ties go to the lowest index.
        LeastErased,
    }
}
choice! {
    /// Whether cold blocks are moved to level wear.
    WearLevelling("lowercase") {
        /// They are not moved.
        None,
        /// If erase counts of a plane differ by more than `ftl.wear_spread`, every second collection there selects the least
        /// erased closed block.
        Static,
    }
}

section! {
    /// Write points, free blocks, wear levelling.
    Ftl {
        /// Whether host and GC programs share a write point.
        write_points: WritePoints = WritePoints::Separate,
        /// Which erased block is opened next.
        free_block: FreeBlock = FreeBlock::RoundRobin,
        /// Whether cold blocks are moved to level wear.
        wear_levelling: WearLevelling = WearLevelling::None,
        /// Difference of erase counts within a plane that static wear levelling tolerates.
        wear_spread: u32 = 16,
    }
}

choice! {
    /// State of the device before the first request.
    PreconditionMode("lowercase") {
        /// Empty.
        None,
        /// Built directly: shares `valid` and `invalid` of every plane's pages.
        Aged,
        /// The whole logical space is written once in ascending order.
        Sequential,
        /// Like `sequential`, followed by uniformly random page writes of `overwrite` times the logical space.
        Random,
    }
}

section! {
    /// State of the device before the first request. Preconditioning takes no time, and only its wear is measured.
    Precondition {
        /// How the device is filled.
        mode: PreconditionMode = PreconditionMode::None,
        /// `aged`: share of each plane's pages that hold valid data.
        valid: Ppm = Ppm(840_000),
        /// `aged`: share of each plane's pages that hold invalid data.
        invalid: Ppm = Ppm(100_000),
        /// `random`: page writes as a multiple of the logical space.
        overwrite: f64 = 1.0,
    }
}

section! {
    /// Which part of the run is measured.
    Run {
        /// Start of the run that is not measured: `"N requests"` or `"X drive writes"`.
        warmup: Option<Warmup> = None,
    }
}

section! {
    /// The policy in each of the seven slots: a name, or a table with the policy's settings.
    Schemes {
        /// Which request is dispatched next.
        order: AnyOrder = AnyOrder::default(),
        /// Where a read is served: one scheme, or a list of one that redirects reads and one that replicates pages.
        route: AnyRoute = AnyRoute::default(),
        /// Which plane a host write goes to.
        place: Place = Place::default(),
        /// Which block GC reclaims.
        victim: AnyVictim = AnyVictim::default(),
        /// How GC uses a die.
        collector: AnyCollector = AnyCollector::default(),
        /// How a moved page travels.
        path: AnyPath = AnyPath::default(),
        /// When a plane is collected.
        [since "0.1.1"]
        trigger: AnyTrigger = AnyTrigger::default(),
    }
}

section! {
    /// Faults that the run injects, and when.
    Faults {
        /// Times of power cuts. Requests in service are lost, the device recovers in no time, and later requests arrive as usual.
        /// The summary reports what was lost. The whole run is checked as with `--check full`.
        power_cut: Vec<Nanos> = Vec::new(),
        /// Chips that fail, such as `[{ chip = 3, at = "2s" }]`; needs `raid.layout`. From then on no page of a failed chip can
        /// be read or programmed: a read of such a page reads the rest of its parity group. Without `chip` the seed draws the
        /// chip; with `within` instead of `at` it draws the time.
        chip_fails: Vec<ChipFails> = Vec::new(),
        /// Pages that are rebuilt at a time. If it is more than 0, a spare chip replaces a failed one at once. The failed chip's
        /// content is computed and programmed there while host requests continue.
        rebuild: u32 = 0,
        /// Reads that fail on a disk that keeps data, such as `[{ at = "2s", offset = "0B", bytes = "4KiB" }]` or
        /// `[{ rate = 0.001, seed = 7 }]`. From `at` on, reads of these bytes report an error until they are written or discarded;
        /// a share of requests is drawn from `seed`. Simulations without data reject the key.
        [since "0.1.4"]
        read_errors: Vec<IoErrors> = Vec::new(),
        /// Writes that fail on a disk that keeps data, given like `read_errors`: the first one at `at` or later that touches the
        /// bytes, or a share of all. A failed write takes its time, reports an error and leaves the old data.
        [since "0.1.4"]
        write_errors: Vec<IoErrors> = Vec::new(),
    }
}
section! {
    /// A chip that fails.
    ChipFails {
        /// Index of the chip; by default drawn from the seed.
        chip: Option<u32> = None,
        /// Time of the failure, before any other event of that time. A time after the last event of the run has no effect.
        at: Option<Nanos> = None,
        /// Instead of `at`: the failure's time is drawn from the seed, uniform from 0 to this one.
        within: Option<Nanos> = None,
    }
}

impl Config {
    /// Whether acknowledged writes survive power cuts, in their newest version: either the controller's memory survives, or
    /// nothing is acknowledged or erased before its data is on flash. Trims are not covered.
    pub fn survives_power_cuts(&self) -> bool {
        let plan = self.schemes.collector.policy_ref().writes_back().filter(|_| self.staging.slots > 0);
        self.device.power_loss_protection
            || self.device.keep_overwritten
                && !self.cache.buffers()
                && self.device.write_ack == WriteAck::AfterProgram
                && plan.is_none_or(|plan| !plan.erase_first && !plan.absorb)
    }
}

impl Schemes {
    /// Whether one of paper A's schemes is in use, so conflicts are reported.
    pub fn reports_conflicts(&self) -> bool {
        self.route.replicate().is_some() || self.collector.policy_ref().reports_conflicts()
    }
}

section! {
    /// The controller's buffer. Collectors may leave pages there and write them back to flash later.
    Staging {
        /// Pages that the buffer holds; used by some collectors only. When it is full, pages move in flash.
        slots: u32 = 0,
    }
}

section! {
    /// Settings of the dispatch window.
    OrderKnobs {
        /// Sub-requests that a chip accepts, queued or in service. Further requests wait in the window. By default 8 with `piq`,
        /// `sync-piq` or `brr`, otherwise unlimited. With `raid.layout`, reads and programs for parity count too; writes that
        /// wait for their group do not.
        chip_queue: Option<u32> = None,
        /// Whether a read goes before writes that wait in the window. Writes that a read has delayed at one of their chips go before
        /// reads of that chip that come later. By default `false`, with every order.
        delay_writes: Option<bool> = None,
        /// Which operation a die serves next: `"fifo"`, `"read-first"` (reads of the host), or a list of classes. Classes that the
        /// list leaves out come last, together. Inside a class a die is a FIFO.
        [since "0.1.1"]
        die_queue: DieQueue = DieQueue::Named(NamedQueue::Fifo),
        /// After so many host reads in a row while another operation waits for the die, one of the others is served. 0 means no
        /// limit. Needs a `die_queue` other than `"fifo"`.
        [since "0.1.1"]
        read_burst: u32 = 16,
    }
}

choice! {
    /// Orders of a die's queue that have a name.
    NamedQueue("kebab-case") {
        /// By arrival at the die.
        Fifo,
        /// Host reads before all others.
        ReadFirst,
    }
}
choice! {
    /// Classes of operations that wait for a die.
    QueueClass("lowercase") {
        /// Host reads, including those of partial writes.
        Rhost,
        /// Host programs.
        Whost,
        /// GC reads.
        Rgc,
        /// GC programs and erases.
        Wgc,
        /// Write-backs of the write cache, and reads of what their lines lack.
        Cache,
    }
}

/// Which operation a die serves next.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged, expecting = "expected \"fifo\", \"read-first\", or a list of rhost, whost, rgc, wgc, cache")]
pub enum DieQueue {
    /// An order with a name.
    Named(NamedQueue),
    /// Classes in the order in which they are served.
    Classes(Vec<QueueClass>),
}

impl DieQueue {
    /// Classes in the order in which they are served; none for one FIFO.
    pub fn classes(&self) -> Option<&[QueueClass]> {
        match self {
            DieQueue::Named(NamedQueue::Fifo) => None,
            DieQueue::Named(NamedQueue::ReadFirst) => Some(&[QueueClass::Rhost]),
            DieQueue::Classes(classes) => Some(classes),
        }
    }
}

choice! {
    /// What a write does with the cache.
    CacheWrite("lowercase") {
        /// It is acknowledged when its pages have lines, which are written back to flash later.
        Back,
        /// It is acknowledged by flash. Its pages are then kept for reads.
        Through,
        /// It is acknowledged by flash, and not kept.
        None,
    }
}
choice! {
    /// What the cache keeps for reads.
    CacheRead("lowercase") {
        /// Lines that writes have filled.
        Written,
        /// Also what reads bring.
        All,
        /// Nothing: a line is free once it is on flash. Reads are served from lines that are not.
        None,
    }
}
choice! {
    /// Which clean line makes room.
    CacheEvict("lowercase") {
        /// The one least recently written or hit by a read.
        Lru,
        /// The one taken first.
        Fifo,
    }
}
choice! {
    /// When lines are written back.
    Writeback("lowercase") {
        /// At once.
        Eager,
        /// From `cache.high` dirty lines on, down to `cache.low`.
        Watermark,
        /// When the page's die is idle, and as with `watermark` from `cache.high` on.
        Idle,
    }
}
choice! {
    /// Which dirty line is written back first.
    CacheOrder("lowercase") {
        /// The one that became dirty first.
        Fifo,
        /// The one least recently written.
        Lru,
        /// Lines that fill a multi-plane command, then as `fifo`.
        Stripe,
    }
}
choice! {
    /// What a flush waits for.
    CacheFlush("lowercase") {
        /// Until every page admitted before it is on flash.
        Program,
        /// Nothing: the capacitor keeps the cache.
        None,
    }
}

section! {
    /// The write cache in controller memory. Without `size` there is none, and the other keys have no effect.
    #[derive(PartialEq)]
    Cache {
        /// Bytes for lines of one page each; none by default.
        [since "0.1.1"]
        size: Bytes = Bytes(0),
        /// What a write does with the cache.
        [since "0.1.1"]
        write: CacheWrite = CacheWrite::Back,
        /// What the cache keeps for reads.
        [since "0.1.1"]
        read: CacheRead = CacheRead::Written,
        /// Which clean line makes room.
        [since "0.1.1"]
        evict: CacheEvict = CacheEvict::Lru,
        /// When lines are written back.
        [since "0.1.1"]
        writeback: Writeback = Writeback::Eager,
        /// Share of lines dirty from which `watermark` and `idle` write back.
        [since "0.1.1"]
        high: Ppm = Ppm(800_000),
        /// Share of lines dirty at which they stop.
        [since "0.1.1"]
        low: Ppm = Ppm(500_000),
        /// Which dirty line is written back first.
        [since "0.1.1"]
        order: CacheOrder = CacheOrder::Fifo,
        /// Time for a page into or out of the cache, at any rate of pages; `device.memory` by default.
        [since "0.1.1"]
        time: Option<Nanos> = None,
        /// Most dirty lines, because the capacitor can write no more pages to flash; all lines by default.
        [since "0.1.1"]
        plp_budget: Option<u32> = None,
        /// What a flush waits for.
        [since "0.1.1"]
        flush: CacheFlush = CacheFlush::Program,
    }
}

section! {
    /// The host's queues in front of the device (NVMe).
    #[derive(PartialEq)]
    Nvme {
        /// Which queue gets a free slot: `"none"` (one queue), `"rr"` (round robin), or `"wrr"` (weighted round robin with an urgent
        /// class).
        [since "0.1.1"]
        arbitration: Arbitration = Arbitration::None,
        /// Commands taken from a queue at its turn.
        [since "0.1.1"]
        burst: u32 = 1,
        /// The queues. A request goes to the first one that it matches.
        [since "0.1.1"]
        queues: Vec<NvmeQueue> = Vec::new(),
    }
}

impl Cache {
    /// Whether there is a cache.
    pub fn exists(&self) -> bool {
        self.size.0 > 0
    }

    /// Whether it takes writes before they are on flash.
    pub fn buffers(&self) -> bool {
        self.exists() && self.write == CacheWrite::Back
    }
}

choice! {
    /// Which chips form a parity group.
    RaidLayout("lowercase") {
        /// No parity.
        None,
        /// Neighbouring chips: group = chip / `raid.group`.
        Traditional,
        /// Chips as far apart as possible (longest code interval): group = chip mod (chips / `raid.group`).
        Lci,
    }
}
choice! {
    /// How an update computes its parity.
    WriteMode("lowercase") {
        /// Read-modify-write: read the old chunks and the old parity.
        Rmw,
        /// Reconstruct-write: read the chunks that are not written.
        Rcw,
        /// Whichever reads less: read-modify-write for up to (`raid.group` - 2) / 2 chunks.
        Auto,
    }
}

section! {
    /// Chip-level RAID-5: every chip holds one page of every stripe, and one page in `raid.group` is parity.
    Raid {
        /// Which chips form a parity group.
        layout: RaidLayout = RaidLayout::None,
        /// Chips of a parity group, including its parity chunk.
        group: u32 = 8,
        /// How long a group that is written for the first time waits for its remaining chunks. Its parity is then computed
        /// without them.
        encode_timeout: Nanos = Nanos(10_000_000),
        /// How an update computes its parity.
        write_mode: WriteMode = WriteMode::Rmw,
    }
}

/// How many times in a row data may be copied inside its plane before it must pass through the controller, by the P/E cycles of
/// the destination block.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged, expecting = "expected a threshold from 0 to 255, pairs [P/E cycles, threshold], or \"model\"")]
pub enum CopybackThresholds {
    /// The same at any wear.
    Fixed(u8),
    /// Pairs of P/E cycles and the threshold from there on.
    Steps(Vec<(u32, u8)>),
    /// Derived from the error model of section `ecc`.
    Named(ThresholdSource),
}

choice! {
    /// Where thresholds come from.
    ThresholdSource("lowercase") {
        /// From the error model: as many copybacks as leave the worst page correctable, with `ecc.margin` to spare.
        Model,
    }
}
choice! {
    /// Pages of one array program.
    Programming("kebab-case") {
        /// One page.
        Page,
        /// The three pages of a TLC word line. The first two wait in the controller's buffer for the third.
        OneShot,
    }
}

section! {
    /// Wear, and how many copybacks it allows.
    Wear {
        /// P/E cycles of every block before the run.
        pe_cycles: u32 = 0,
        /// Consecutive copybacks that data may undergo, by the P/E cycles of the destination block: one number, pairs `[P/E
        /// cycles, threshold]` (the first at 0), or `"model"`. Default: paper D, Fig. 3b.
        copyback_thresholds: CopybackThresholds =
            CopybackThresholds::Steps(vec![(0, 6), (1300, 5), (1500, 4), (3000, 3), (4000, 2), (4300, 1), (4500, 0)]),
        /// P/E cycles at which a block counts as worn out, for lifetime estimates.
        rated_pe_cycles: u32 = 4500,
        /// Pages of one array program.
        programming: Programming = Programming::Page,
    }
}

choice! {
    /// Whether bit errors are simulated.
    Errors("lowercase") {
        /// Not simulated: every read is good.
        None,
        /// Simulated page by page, from wear, copybacks, read disturb and retention.
        Model,
    }
}

choice! {
    /// Model of the interconnect between the flash controllers' buffers and the CPU.
    NocModel("lowercase") {
        /// No interconnect: a page is in the controller once it has left the channel.
        None,
        /// A traversal takes (page bits / `flit_bits` + `mean_slices` - 1) x `cycle`, rounded half up.
        Formula,
        /// An array of routing slices: a traversal takes (page bits / `flit_bits` + slices on its path - 1) x `cycle`, and
        /// occupies one of the `rows` for that time.
        Array,
    }
}
choice! {
    /// How a traversal uses its channel's port.
    PortRule("lowercase") {
        /// It occupies the port.
        Occupied,
        /// It takes time, but leaves the port free for other pages.
        Delayed,
    }
}
choice! {
    /// The four task queues of a channel.
    Task("lowercase") {
        /// Host reads, including those of partial writes.
        Rhost,
        /// Host writes.
        Whost,
        /// GC reads.
        Rgc,
        /// GC programs and erases.
        Wgc,
    }
}

section! {
    /// The interconnect between the flash controllers at the channels and the CPU, where host data and error correction are.
    Noc {
        /// Model of the interconnect. By default there is none, and the other keys of this section have no effect.
        model: NocModel = NocModel::None,
        /// Time from one routing slice to the next.
        cycle: Nanos = Nanos(87),
        /// Bits that move at once.
        flit_bits: u32 = 4,
        /// `formula`: mean number of routing slices that a page passes; at most three decimals count.
        mean_slices: f64 = 13.5,
        /// `array`: columns of slices, over which the channels' ports are spread evenly.
        columns: u32 = 16,
        /// `array`: rows of slices, each with a CPU port at its end.
        rows: u32 = 8,
        /// How a traversal uses its channel's port.
        port: PortRule = PortRule::Occupied,
        /// Time to write a page into the flash controller's buffer.
        sram_write: Nanos = Nanos(12_000),
        /// Time to read a page from the flash controller's buffer.
        sram_read: Nanos = Nanos(12_000),
        /// Task queues of a unit of exclusion in priority order: the first that is not empty is served. An empty list means one
        /// FIFO. By default `["rhost", "whost", "rgc", "wgc"]`.
        priority: Option<Vec<Task>> = None,
    }
}

impl Noc {
    /// Whether there is an interconnect.
    pub fn exists(&self) -> bool {
        self.model != NocModel::None
    }

    /// Task queues in priority order; empty for one FIFO.
    pub fn priority(&self) -> &[Task] {
        const PAPER: [Task; 4] = [Task::Rhost, Task::Whost, Task::Rgc, Task::Wgc];
        match &self.priority {
            Some(list) => list,
            None if self.exists() => &PAPER,
            None => &[],
        }
    }
}

section! {
    /// Bit errors and their correction. Error amounts are expected bit errors per MiB, which is 1,024 times the amount per KiB.
    Ecc {
        /// Bit errors per KiB that can be corrected.
        correctable: u32 = 120,
        /// Time to decode a page after it has left the die.
        decode: Nanos = Nanos::ZERO,
        /// Probability that a page has errors when its path checks it. By default 0.0001 with `schemes.path = "selective"`, and 1
        /// (worn TLC) with `"checked"`.
        page_error_probability: Option<Ppm> = None,
        /// Bit error rate, instead of `page_error_probability`: 1 - (1 - rate)^(bits of a page).
        bit_error_rate: Option<f64> = None,
        /// Whether bit errors are simulated page by page.
        errors: Errors = Errors::None,
        /// Bit errors that a program leaves in a page, as pairs `[P/E cycles, errors per MiB]`, linear in between. The default
        /// makes the thresholds of paper D, Fig. 3b, the largest safe ones.
        program_errors: Vec<(u32, u32)> = vec![
            (0, 13_300), (1300, 15_161), (1500, 17_688), (3000, 21_225), (4000, 26_531), (4300, 35_375), (4500, 53_062),
            (10_000, 106_000),
        ],
        /// Variation between pages: a page's program errors are multiplied by its own factor, from 1 - spread to 1 + spread.
        spread: Ppm = Ppm(100_000),
        /// Bit errors per MiB that 1,000 reads of a block add to its pages. Default: 1.0e-9 per bit and read (Cai et al., DSN
        /// 2015, MLC at 2,000 P/E cycles).
        read_disturb: u32 = 8,
        /// Bit errors that a day of retention adds, as a share of those that a program leaves. Paper D ignores retention.
        retention: Ppm = Ppm(0),
        /// Share of the correctable errors that derived thresholds keep for read disturb and retention.
        margin: Ppm = Ppm(50_000),
    }
}

impl std::str::FromStr for Config {
    type Err = toml::de::Error;

    /// Reads a configuration file. Missing keys have their defaults. [`Config::check`] tests whether the result can work.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        toml::from_str(text)
    }
}

impl Config {
    /// Erased blocks per plane that are reserved for GC.
    pub fn reserve(&self) -> u32 {
        self.gc.reserve.unwrap_or(self.gc_streams())
    }

    /// GC write points per plane: the collector's, and one more if the path keeps copied pages apart.
    fn gc_streams(&self) -> u32 {
        self.schemes.collector.policy_ref().streams() + u32::from(self.schemes.path.policy_ref().separates())
    }

    /// Pages at the end of each block that hold the copyback counts of its other pages: ceil(5 B x (pages - 1) / page size), for
    /// a four-byte logical page number and a one-byte count. There are none if the initial wear allows no copyback, because wear
    /// only grows.
    pub fn metadata_pages(&self) -> u32 {
        let counts = self.schemes.path.policy_ref().keeps_counts();
        let steps = self.copyback_steps();
        if !counts || crate::device::wear::threshold(&steps, self.wear.pe_cycles) == 0 {
            return 0;
        }
        (5 * (u64::from(self.geometry.pages_per_block) - 1)).div_ceil(self.geometry.page_size.0) as u32
    }

    /// Copyback thresholds as steps, ascending in P/E cycles.
    pub(crate) fn copyback_steps(&self) -> Vec<(u32, u8)> {
        match &self.wear.copyback_thresholds {
            CopybackThresholds::Fixed(threshold) => vec![(0, *threshold)],
            CopybackThresholds::Steps(steps) => steps.clone(),
            CopybackThresholds::Named(ThresholdSource::Model) => {
                crate::device::errors::derived_thresholds(&self.ecc.spec())
            }
        }
    }

    /// Lines of the write cache: pages that `cache.size` holds.
    pub fn cache_lines(&self) -> u32 {
        u32::try_from(self.cache.size.0 / self.geometry.page_size.0).unwrap_or(u32::MAX)
    }

    /// Time to serve a page from controller memory: that of the write cache, if it has its own.
    pub fn memory_time(&self) -> Nanos {
        self.cache.time.filter(|_| self.cache.exists()).unwrap_or(self.device.memory)
    }

    /// Names of the tenants: those of the queues; none without queues.
    pub fn tenants(&self) -> Vec<String> {
        let queues = if self.nvme.arbitrates() { self.nvme.queues.as_slice() } else { &[] };
        queues.iter().map(|queue| queue.name.clone()).collect()
    }

    /// Causes of latency of the optional features that the device has, in their fixed order.
    pub fn extra_causes(&self) -> Vec<Extra> {
        let has = |extra: &Extra| match extra {
            Extra::Arbitration => self.nvme.arbitrates(),
            Extra::Cache | Extra::CacheGc | Extra::CacheHost => self.cache.exists(),
        };
        Extra::ALL.into_iter().filter(has).collect()
    }

    /// Whether GC leaves pages in the controller's buffer.
    pub(crate) fn stages(&self) -> bool {
        self.staging.slots > 0 && self.schemes.collector.policy_ref().writes_back().is_some()
    }

    /// Sub-requests that a chip accepts before further requests wait in the window.
    pub fn chip_queue(&self) -> Option<u32> {
        let own = self.order.chip_queue.or(self.schemes.order.policy_ref().chip_queue());
        own.or(self.schemes.route.chip_queue())
    }

    /// Whether reads go before writes that wait in the window.
    pub fn delays_writes(&self) -> bool {
        self.order.delay_writes.unwrap_or(false)
    }

    /// Pages of one scope (`gc.scope`).
    fn pages_in_scope(&self) -> u64 {
        let g = &self.geometry;
        // Paired planes count as one, with pages twice as large.
        let per_die = g.planes_per_die / self.pages_per_entry();
        let planes = match self.gc.scope {
            Scope::Plane => 1,
            Scope::Chip => u64::from(per_die * g.dies_per_chip),
            Scope::Device => u64::from(per_die * g.dies_per_chip * g.chips_per_channel * g.channels),
        };
        planes * u64::from(g.blocks_per_plane) * u64::from(g.pages_per_block)
    }
}
