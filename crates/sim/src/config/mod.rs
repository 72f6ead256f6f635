//! The configuration of a run: every key, its meaning, unit and default, and every check that spans keys.
//!
//! A [`Config`] is plain data that `serde` reads; [`Config::check`] refuses what can't work and says what would. Once
//! checked, building and running a device can't fail.

mod check;
mod spec;

use serde::{Deserialize, Serialize};

use crate::schemes::{AnyCollector, AnyOrder, AnyPath, AnyRoute, AnyTrigger, AnyVictim, Place};
use crate::units::{Bytes, Nanos, Ppm, Rate, Threshold, Warmup};

/// A configuration that can't work: which key, why, and what would make it valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// Dotted key, such as `gc.threshold`.
    pub key: String,
    /// The rule that is broken, with its arithmetic.
    pub message: String,
    /// What would make it valid.
    pub help: String,
}

impl std::fmt::Display for ConfigError {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{}: {} ({})", self.key, self.message, self.help)
    }
}

impl std::error::Error for ConfigError {}

/// Writes the fields of a struct that decides runs. One marked `[since "VERSION"]` is written only where it differs from its
/// default: a key that came later leaves the digest of every configuration that does not use it as it was.
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

/// Declares a section: a struct whose fields carry their documentation and default in one place. A field that came after 0.1 is
/// marked with the version that brought it: see [`record`].
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
        /// How long things take.
        timing: Timing = Timing::default(),
        /// The controller around the array.
        device: Device = Device::default(),
        /// When and where garbage is collected.
        gc: Gc = Gc::default(),
        /// Write points, free blocks, wear levelling.
        ftl: Ftl = Ftl::default(),
        /// What the device holds before the first request.
        precondition: Precondition = Precondition::default(),
        /// What of the run is measured.
        run: Run = Run::default(),
        /// The policy in each of the seven slots.
        schemes: Schemes = Schemes::default(),
        /// Knobs of the dispatch window.
        order: OrderKnobs = OrderKnobs::default(),
        /// The interconnect between flash controllers and CPU.
        noc: Noc = Noc::default(),
        /// Wear, and what it still allows.
        wear: Wear = Wear::default(),
        /// Bit errors and their correction.
        ecc: Ecc = Ecc::default(),
        /// Parity across chips.
        raid: Raid = Raid::default(),
        /// The controller's buffer for collections.
        staging: Staging = Staging::default(),
        /// What goes wrong.
        faults: Faults = Faults::default(),
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

section! {
    /// The flash array: `channels x chips_per_channel x dies_per_chip x planes_per_die` planes.
    Geometry {
        /// Channels, each with a bus of its own.
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
    }
}

/// One time for all pages, or one a page type: page `i` of a block has type `i mod n`.
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
    /// What a read may suspend (rule R10).
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
    /// How long things take.
    Timing {
        /// Array time of a page read (tR).
        read: PageTimes = PageTimes::All(Nanos(50_000)),
        /// Array time of a page program (tPROG).
        program: PageTimes = PageTimes::All(Nanos(600_000)),
        /// Array time of a block erase (tBERS).
        erase: Nanos = Nanos(3_500_000),
        /// Time of a byte on the channel, as a rate or per byte.
        transfer: Rate = "800MB/s".parse().expect("a rate"),
        /// Bits that one transfer moves, where a rate counts transfers (`"1200MT/s"`).
        [since "0.1.1"]
        bus_width: u32 = 8,
        /// Command and address time of an operation on the channel.
        command: Nanos = Nanos::ZERO,
        /// Whether a die may transfer one page while it reads or programs the next (rule R8).
        cache_register: bool = false,
        /// Time of a byte between host and controller, each direction on its own; none by default (rule R6).
        host_link: Option<Rate> = None,
        /// Time until a suspended operation lets go of the array (tSUS).
        suspend: Nanos = Nanos::ZERO,
        /// Time to take a suspended operation up again (tRES).
        resume: Nanos = Nanos::ZERO,
        /// What a read may suspend.
        suspendable: Suspendable = Suspendable::None,
        /// Array time of a whole copyback in place of tR + tPROG.
        copyback: Option<Nanos> = None,
    }
}

impl Geometry {
    /// Pages of the device.
    pub fn pages(&self) -> u64 {
        let planes = [self.channels, self.chips_per_channel, self.dies_per_chip, self.planes_per_die];
        let blocks = [self.blocks_per_plane, self.pages_per_block];
        planes.into_iter().chain(blocks).map(u64::from).product()
    }
}

impl Timing {
    /// Time of a byte on the channel.
    pub fn channel(&self) -> Rate {
        self.transfer.over(self.bus_width)
    }

    /// Time of a byte between host and controller, if there is any.
    pub fn link(&self) -> Option<Rate> {
        self.host_link.as_ref().map(|rate| rate.over(self.bus_width))
    }

    /// About the longest time that an operation holds a resource at a stretch.
    pub(crate) fn longest(&self) -> Nanos {
        let arrays = self.read.types().iter().chain(self.program.types());
        arrays.chain([&self.erase]).chain(&self.copyback).fold(Nanos::ZERO, |longest, time| longest.max(*time))
    }
}

choice! {
    /// What serves one operation at a time.
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
    /// What a read of a page that was never written does.
    UnwrittenRead("snake_case") {
        /// The page is put on flash in no time, then read.
        Preload,
        /// The read takes no flash time.
        ZeroCost,
        /// The run stops with an error.
        Error,
    }
}
choice! {
    /// What a write of part of a page does.
    PartialWrite("kebab-case") {
        /// Read the old page, then program the new one.
        ReadModifyWrite,
        /// Program the page without reading the old one.
        WholePage,
    }
}

choice! {
    /// What one entry of the page map stands for.
    MappingUnit("kebab-case") {
        /// A page of a plane.
        Page,
        /// A page of each of a die's two planes, at the same place in both: blocks are paired, and every operation is a
        /// multi-plane command. A write of part of it is a partial write (paper B's superblock).
        SuperPage,
    }
}

section! {
    /// The controller around the array.
    Device {
        /// What serves one operation at a time.
        exclusion: Exclusion = Exclusion::Die,
        /// When a host write is acknowledged.
        write_ack: WriteAck = WriteAck::AfterProgram,
        /// Whether the controller's buffer survives a power cut.
        power_loss_protection: bool = true,
        /// Whether an overwritten page stays valid, to be moved by collections, until its newer version is on flash. Without
        /// a capacitor nothing else keeps it from being erased first.
        keep_overwritten: bool = false,
        /// Outstanding host requests; the others wait outside in arrival order.
        queue_depth: u32 = 32,
        /// Share of the physical pages that is not exported.
        over_provisioning: Ppm = Ppm(100_000),
        /// What a read of a page that was never written does.
        unwritten_read: UnwrittenRead = UnwrittenRead::Preload,
        /// Whether host pages of one request on one die at equal page offset share a multi-plane command.
        multi_plane: bool = false,
        /// What a write of part of a page does.
        partial_write: PartialWrite = PartialWrite::ReadModifyWrite,
        /// What one entry of the page map stands for: a page, or the paired pages of a die's two planes.
        mapping_unit: MappingUnit = MappingUnit::Page,
        /// Time of a page that controller memory serves.
        memory: Nanos = Nanos::ZERO,
    }
}

choice! {
    /// Over what free pages are counted.
    Scope("lowercase") {
        /// Each plane on its own.
        Plane,
        /// All planes of a chip together.
        Chip,
        /// The whole device.
        Device,
    }
}
choice! {
    /// Whether collections take time.
    GcTime("lowercase") {
        /// They occupy dies and buses.
        Real,
        /// They happen at once and hold nothing: the zero-cost collector that papers compare with.
        None,
    }
}
choice! {
    /// Where externally moved pages go.
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
    /// When and where garbage is collected.
    Gc {
        /// A plane (or chip, or device) with fewer free pages than this is collected.
        threshold: Threshold = Threshold::Blocks(3),
        /// With fewer free pages than this, collections are not preempted, and their task queues (`noc.priority`) are served
        /// before those of the host; none by default.
        hard_threshold: Option<Threshold> = None,
        /// Over what free pages are counted.
        scope: Scope = Scope::Plane,
        /// Erased blocks a plane that host writes may never take; by default one a GC write stream.
        reserve: Option<u32> = None,
        /// Whether collections take time.
        time: GcTime = GcTime::Real,
        /// Where externally moved pages go.
        destination: Destination = Destination::Plane,
    }
}

choice! {
    /// Whether host and GC programs share a block.
    WritePoints("lowercase") {
        /// Host and GC fill blocks of their own.
        Separate,
        /// Host and GC fill the same block.
        Shared,
    }
}
choice! {
    /// Which erased block is opened next.
    FreeBlock("kebab-case") {
        /// The next one after the last opened, by index, circular.
        RoundRobin,
        /// The one erased least often; ties to the lowest index.
        LeastErased,
    }
}
choice! {
    /// Whether cold blocks are moved to spread wear.
    WearLevelling("lowercase") {
        /// They are not.
        None,
        /// Every second collection of a plane whose erase counts differ by more than `ftl.wear_spread` takes the
        /// closed block erased least often.
        Static,
    }
}

section! {
    /// Write points, free blocks, wear levelling.
    Ftl {
        /// Whether host and GC programs share a block.
        write_points: WritePoints = WritePoints::Separate,
        /// Which erased block is opened next.
        free_block: FreeBlock = FreeBlock::RoundRobin,
        /// Whether cold blocks are moved to spread wear.
        wear_levelling: WearLevelling = WearLevelling::None,
        /// Difference of erase counts within a plane that static wear levelling tolerates.
        wear_spread: u32 = 16,
    }
}

choice! {
    /// What the device holds before the first request.
    PreconditionMode("lowercase") {
        /// Nothing.
        None,
        /// Built directly: `valid` and `invalid` shares of every plane's pages.
        Aged,
        /// The whole logical space, written once in ascending order.
        Sequential,
        /// Sequential, then uniformly random page writes of `overwrite` times the logical space.
        Random,
    }
}

section! {
    /// What the device holds before the first request. No time passes and nothing of it is measured, except wear.
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
    /// What of the run is measured.
    Run {
        /// What is not measured at the start: `"N requests"` or `"X drive writes"`.
        warmup: Option<Warmup> = None,
    }
}

section! {
    /// The policy in each of the seven slots: a name, or a table with the policy's own knobs.
    Schemes {
        /// Which request is dispatched next.
        order: AnyOrder = AnyOrder::default(),
        /// Where a read is served from: one scheme, or a list of one that redirects reads and one that replicates pages.
        route: AnyRoute = AnyRoute::default(),
        /// Which plane a host write goes to.
        place: Place = Place::default(),
        /// Which block is reclaimed.
        victim: AnyVictim = AnyVictim::default(),
        /// How a die is collected.
        collector: AnyCollector = AnyCollector::default(),
        /// How the bits of a moved page travel.
        path: AnyPath = AnyPath::default(),
        /// When a plane is collected.
        [since "0.1.1"]
        trigger: AnyTrigger = AnyTrigger::default(),
    }
}

section! {
    /// What goes wrong, and when.
    Faults {
        /// Times at which power is cut. Requests in service are gone, the device recovers in no time, and later requests
        /// arrive as usual; the summary says what was lost. Checks the whole run like `--check full`.
        power_cut: Vec<Nanos> = Vec::new(),
        /// Chips that fail, such as `[{ chip = 3, at = "2s" }]`; needs `raid.layout`. From then on nothing on a failed chip can
        /// be read or programmed: reads of its pages read the rest of their parity group.
        /// Without `chip` the seed draws one, and with `within` in the place of `at` the time.
        chip_fails: Vec<ChipFails> = Vec::new(),
        /// Pages that are rebuilt at a time. More than 0: a spare chip takes the place of a failed one at once, and what that held
        /// is computed and programmed there, beside what the host asks for.
        rebuild: u32 = 0,
    }
}
section! {
    /// A chip that fails.
    ChipFails {
        /// Which; by default drawn from the seed.
        chip: Option<u32> = None,
        /// When, before anything else of that time. A time after the run's last event is too late to be seen.
        at: Option<Nanos> = None,
        /// In the place of `at`: it fails at a time drawn from the seed, uniform up to this one.
        within: Option<Nanos> = None,
    }
}

impl Config {
    /// Whether no power cut loses, or brings an older version back of, what the host was told is written: the controller's
    /// memory survives, or nothing is acknowledged or erased before what it stands for is on flash. Trims promise nothing.
    pub fn survives_power_cuts(&self) -> bool {
        let plan = self.schemes.collector.policy_ref().writes_back().filter(|_| self.staging.slots > 0);
        self.device.power_loss_protection
            || self.device.keep_overwritten
                && self.device.write_ack == WriteAck::AfterProgram
                && plan.is_none_or(|plan| !plan.erase_first && !plan.absorb)
    }
}

impl Schemes {
    /// Whether one of paper A's schemes is in use, and reports who meets whom.
    pub fn reports_conflicts(&self) -> bool {
        self.route.replicate().is_some() || self.collector.policy_ref().reports_conflicts()
    }
}

section! {
    /// The controller's buffer, in which collections leave pages that go back to flash later.
    Staging {
        /// Pages that it holds; collectors that use none leave it empty. When it is full, pages move in flash.
        slots: u32 = 0,
    }
}

section! {
    /// Knobs of the dispatch window.
    OrderKnobs {
        /// Sub-requests that a chip takes, queued or in service, before requests wait in the window; by default 8 with `piq`,
        /// `sync-piq` or `brr`, else no limit. With `raid.layout`, reads and programs for parity count too, and writes that
        /// wait for their group don't.
        chip_queue: Option<u32> = None,
        /// Whether reads in the window go before writes that wait there; by default with `piq` and `sync-piq`.
        delay_writes: Option<bool> = None,
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
    /// How the parity of an update is made.
    WriteMode("lowercase") {
        /// Read-modify-write: read the old chunks and the old parity.
        Rmw,
        /// Reconstruct-write: read the chunks that do not change.
        Rcw,
        /// Whichever reads less: read-modify-write up to (`raid.group` - 2) / 2 chunks.
        Auto,
    }
}

section! {
    /// Chip-level RAID-5: every chip holds one page of every stripe, one page in `raid.group` is parity.
    Raid {
        /// Which chips form a parity group.
        layout: RaidLayout = RaidLayout::None,
        /// Chips of a parity group, its parity chunk included.
        group: u32 = 8,
        /// A group written for the first time waits so long for its other chunks before its parity is made without them.
        encode_timeout: Nanos = Nanos(10_000_000),
        /// How the parity of an update is made.
        write_mode: WriteMode = WriteMode::Rmw,
    }
}

/// How often data may be copied inside its plane before the controller has to see it, by the P/E cycles of the destination.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged, expecting = "expected a threshold from 0 to 255, pairs [P/E cycles, threshold], or \"model\"")]
pub enum CopybackThresholds {
    /// The same at any wear.
    Fixed(u8),
    /// Pairs of P/E cycles and the threshold that holds from there on.
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
    /// What one program of the array writes.
    Programming("kebab-case") {
        /// One page.
        Page,
        /// The three pages of a TLC word line. The first two wait in the controller's buffer until the third has come.
        OneShot,
    }
}

section! {
    /// Wear, and what it still allows.
    Wear {
        /// P/E cycles that every block has behind it before the run.
        pe_cycles: u32 = 0,
        /// Copybacks that data may have behind it, by the P/E cycles of the block that it is copied to: one number, pairs
        /// `[P/E cycles, threshold]` (0 before the first), or `"model"`. Default: paper D, Fig. 3b.
        copyback_thresholds: CopybackThresholds =
            CopybackThresholds::Steps(vec![(0, 6), (1300, 5), (1500, 4), (3000, 3), (4000, 2), (4300, 1), (4500, 0)]),
        /// P/E cycles at which a block counts as worn out, for estimates of lifetime.
        rated_pe_cycles: u32 = 4500,
        /// What one program of the array writes.
        programming: Programming = Programming::Page,
    }
}

choice! {
    /// Whether bit errors are simulated.
    Errors("lowercase") {
        /// They are not: every read is good.
        None,
        /// Page by page, from wear, copybacks, read disturb and retention.
        Model,
    }
}

choice! {
    /// What carries pages between the flash controllers' buffers and the CPU.
    NocModel("lowercase") {
        /// Nothing: pages are in the controller once they have left the channel.
        None,
        /// A traversal takes (page bits / `flit_bits` + `mean_slices` - 1) x `cycle`, rounded half up.
        Formula,
        /// An array of routing slices: a traversal takes (page bits / `flit_bits` + slices on its path - 1) x `cycle` and
        /// one of the `rows` for that time.
        Array,
    }
}
choice! {
    /// What a traversal does to its channel's port.
    PortRule("lowercase") {
        /// It occupies the port.
        Occupied,
        /// It takes its time and leaves the port to others.
        Delayed,
    }
}
choice! {
    /// The four task queues of a channel.
    Task("lowercase") {
        /// Reads of the host, those of partial writes included.
        Rhost,
        /// Writes of the host.
        Whost,
        /// Reads of collections.
        Rgc,
        /// Programs and erases of collections.
        Wgc,
    }
}

section! {
    /// The interconnect between the flash controllers at the channels and the CPU, where host data and error correction are.
    Noc {
        /// What carries pages; by default nothing, and the other keys of this section have no say.
        model: NocModel = NocModel::None,
        /// Time from one routing slice to the next.
        cycle: Nanos = Nanos(87),
        /// Bits that move at once.
        flit_bits: u32 = 4,
        /// `formula`: routing slices that a page passes, on average; at most three decimals count.
        mean_slices: f64 = 13.5,
        /// `array`: columns of slices; the channels' ports are spread evenly over them.
        columns: u32 = 16,
        /// `array`: rows of slices, each with a port of the CPU at its end.
        rows: u32 = 8,
        /// What a traversal does to its channel's port.
        port: PortRule = PortRule::Occupied,
        /// Time to write a page into the flash controller's buffer.
        sram_write: Nanos = Nanos(12_000),
        /// Time to read a page from the flash controller's buffer.
        sram_read: Nanos = Nanos(12_000),
        /// The task queues that a unit of exclusion serves, the first with a task first; an empty list is one FIFO. By default
        /// `["rhost", "whost", "rgc", "wgc"]`.
        priority: Option<Vec<Task>> = None,
    }
}

impl Noc {
    /// Whether there is an interconnect.
    pub fn exists(&self) -> bool {
        self.model != NocModel::None
    }

    /// The order in which task queues are served; empty for one FIFO.
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
    /// Bit errors and their correction. Amounts of errors are expected bit errors a MiB, 1,024 times those of a KiB.
    Ecc {
        /// Bit errors a KiB that are corrected.
        correctable: u32 = 120,
        /// Time to decode a page, after it has left the die.
        decode: Nanos = Nanos::ZERO,
        /// Probability that a page which a path looks at has errors. By default 0.0001 with `schemes.path = "selective"`, and 1
        /// with `"checked"`, on worn TLC.
        page_error_probability: Option<Ppm> = None,
        /// Probability that a bit is wrong, in place of `page_error_probability`: 1 - (1 - rate)^(bits of a page).
        bit_error_rate: Option<f64> = None,
        /// Whether bit errors are simulated page by page.
        errors: Errors = Errors::None,
        /// Bit errors that a program leaves in a page, as pairs `[P/E cycles, errors a MiB]`, linear in between. Default: what
        /// makes the thresholds of paper D, Fig. 3b, the largest safe ones.
        program_errors: Vec<(u32, u32)> = vec![
            (0, 13_300), (1300, 15_161), (1500, 17_688), (3000, 21_225), (4000, 26_531), (4300, 35_375), (4500, 53_062),
            (10_000, 106_000),
        ],
        /// How far pages differ: errors that a program leaves are multiplied by a factor of the page, 1 - spread to 1 + spread.
        spread: Ppm = Ppm(100_000),
        /// Bit errors a MiB that 1,000 reads of a block add to its pages. Default: 1.0e-9 a bit and read (Cai et al., DSN 2015,
        /// MLC at 2,000 P/E cycles).
        read_disturb: u32 = 8,
        /// Share of the errors a program leaves that a day of retention adds. Paper D leaves retention out.
        retention: Ppm = Ppm(0),
        /// Share of the correctable errors that derived thresholds leave for read disturb and retention.
        margin: Ppm = Ppm(50_000),
    }
}

impl std::str::FromStr for Config {
    type Err = toml::de::Error;

    /// Reads a configuration file; keys that are left out have their defaults. Whether it can work is for [`Config::check`].
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        toml::from_str(text)
    }
}

impl Config {
    /// Erased blocks of a plane that host programs leave alone.
    pub fn reserve(&self) -> u32 {
        self.gc.reserve.unwrap_or(self.gc_streams())
    }

    /// Write points a plane that collections fill: the collector's, and one more where the path keeps copied pages apart.
    fn gc_streams(&self) -> u32 {
        self.schemes.collector.policy_ref().streams() + u32::from(self.schemes.path.policy_ref().separates())
    }

    /// Pages at the end of each block that hold the copyback counts of the others: ceil(5 B x (pages - 1) / page size), for a
    /// logical page number of four bytes and a count of one. None where no block ever allows a copyback: wear only grows.
    pub fn metadata_pages(&self) -> u32 {
        let counts = self.schemes.path.policy_ref().keeps_counts();
        let steps = self.copyback_steps();
        if !counts || crate::device::wear::threshold(&steps, self.wear.pe_cycles) == 0 {
            return 0;
        }
        (5 * (u64::from(self.geometry.pages_per_block) - 1)).div_ceil(self.geometry.page_size.0) as u32
    }

    /// The copyback thresholds as steps, ascending in P/E cycles.
    pub(crate) fn copyback_steps(&self) -> Vec<(u32, u8)> {
        match &self.wear.copyback_thresholds {
            CopybackThresholds::Fixed(threshold) => vec![(0, *threshold)],
            CopybackThresholds::Steps(steps) => steps.clone(),
            CopybackThresholds::Named(ThresholdSource::Model) => {
                crate::device::errors::derived_thresholds(&self.ecc.spec())
            }
        }
    }

    /// Whether collections leave pages in the controller's buffer.
    pub(crate) fn stages(&self) -> bool {
        self.staging.slots > 0 && self.schemes.collector.policy_ref().writes_back().is_some()
    }

    /// Sub-requests that a chip takes before requests wait in the window.
    pub fn chip_queue(&self) -> Option<u32> {
        let own = self.order.chip_queue.or(self.schemes.order.policy_ref().chip_queue());
        own.or(self.schemes.route.chip_queue())
    }

    /// Whether reads in the window go before writes that wait there.
    pub fn delays_writes(&self) -> bool {
        self.order.delay_writes.unwrap_or(self.schemes.order.policy_ref().delays_writes())
    }

    /// Pages over which free ones are counted.
    fn pages_in_scope(&self) -> u64 {
        let g = &self.geometry;
        // Paired planes are one, with pages twice as large.
        let per_die = g.planes_per_die / self.pages_per_unit();
        let planes = match self.gc.scope {
            Scope::Plane => 1,
            Scope::Chip => u64::from(per_die * g.dies_per_chip),
            Scope::Device => u64::from(per_die * g.dies_per_chip * g.chips_per_channel * g.channels),
        };
        planes * u64::from(g.blocks_per_plane) * u64::from(g.pages_per_block)
    }
}
