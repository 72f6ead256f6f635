//! Counters of the measured part of a run.

use std::io;

use crate::blame::{Blame, Causes, Extra, ExtraBlame};
use crate::carry::Carrier;
use crate::device::transaction::Class;
use crate::policy::{Hop, Journey};
use crate::report::ecc::EccCounters;
use crate::report::fastgc::CopyCounters;
use crate::report::histogram::Histogram;
use crate::report::pagc::{Moves, Parties};
use crate::report::page_types::TypeTotals;
use crate::report::units::UnitCounts;
use crate::report::{
    Breakdown, BrrTotals, Distribution, FlashOps, GcTimes, Halves, HostBytes, Pages, RaidTotals, Requests, mean,
};
use crate::request::RequestOp;
use crate::slowest::Slowest;
use crate::units::{Nanos, count_few};

/// Latency, waits and causes of one kind of request.
#[derive(Clone)]
pub(crate) struct OpStats {
    pub latency: Distribution,
    pub waiting: Distribution,
    breakdown: Breakdown,
    /// Amounts not yet added to the sums. They are machine words until the sum of latencies exceeds one, because that bounds each.
    recent: Blame,
    /// Total time by cause of optional features.
    extras: [u128; Extra::COUNT],
    /// Requests that GC delayed.
    pub delayed_by_gc: u64,
    /// Latencies by bucket with their causes, where they are collected.
    pub histogram: Option<Box<Histogram>>,
    /// The slowest requests, where they are collected beside the histogram.
    pub slowest: Option<Box<Slowest>>,
}

impl OpStats {
    pub(crate) fn new() -> Self {
        OpStats {
            latency: Distribution::new(),
            waiting: Distribution::new(),
            breakdown: Breakdown::ZERO,
            recent: Blame::ZERO,
            extras: [0; Extra::COUNT],
            delayed_by_gc: 0,
            histogram: None,
            slowest: None,
        }
    }

    /// Records a request's latency, of which `waits` are waits, and its causes. Returns whether GC delayed it.
    #[inline(always)]
    pub(crate) fn complete(&mut self, blame: &Causes, latency: u64, waits: u64) -> bool {
        let delayed = self.spend(blame, latency, waits);
        if let Some(histogram) = &mut self.histogram {
            histogram.record_causes(blame, latency, waits);
        }
        count_few(&mut self.delayed_by_gc, delayed.into());
        delayed
    }

    /// Adds a request's latency, of which `waits` are waits, and its causes. Returns whether some of the waits would not exist
    /// without GC.
    #[inline(always)]
    pub(crate) fn spend(&mut self, blame: &Causes, latency: u64, waits: u64) -> bool {
        self.waiting.record_wait(waits);
        if self.latency.add(latency) {
            // No cause exceeds the sum of latencies since its last carry, which fits.
            return self.carry(blame);
        }
        blame.add_to(&mut self.recent)
    }

    #[cold]
    fn carry(&mut self, blame: &Causes) -> bool {
        self.breakdown.add(&std::mem::replace(&mut self.recent, Blame::ZERO));
        let blame = blame.all();
        self.breakdown.add(&blame);
        blame.by_gc() > 0
    }

    /// Adds a request's causes of optional features.
    pub(crate) fn spend_extras(&mut self, extras: &ExtraBlame, latency: u64) {
        for (sum, ns) in self.extras.iter_mut().zip(extras.0) {
            *sum += u128::from(ns);
        }
        if let Some(histogram) = self.histogram.as_mut().filter(|_| extras.sum() > 0) {
            histogram.record_extras(extras, latency);
        }
    }

    /// Total time by cause of an optional feature.
    pub(crate) fn extra(&self, cause: Extra) -> u128 {
        self.extras[cause as usize]
    }

    /// Total time by cause.
    pub(crate) fn breakdown(&self) -> Breakdown {
        let mut breakdown = self.breakdown.clone();
        breakdown.add(&self.recent);
        breakdown
    }
}

/// What the host had written, and what flash had programmed for it, at a time.
#[derive(Clone, Copy, Default)]
struct Progress {
    /// Flash pages, and bytes, of measured writes whose pages have completed.
    pages: u64,
    bytes: u64,
    /// Pages programmed, copybacks included.
    programs: u64,
}

/// Counters of the measured part of a run.
#[derive(Clone)]
pub(crate) struct Stats {
    /// Whether the slowest requests are collected.
    pub keeps_slowest: bool,
    /// Flash pages per page: see `Geometry`.
    per_unit: u64,
    /// Blocks that are erased together where a block of every plane is collected as one.
    planes_of_block: u64,
    /// Multi-plane commands of an operation that is not part of a larger one: 1 if a page has several flash pages.
    joint: u64,
    pub requests: Requests,
    pub pages: Pages,
    pub bytes: HostBytes,
    pub read: OpStats,
    pub write: OpStats,
    pub flash: FlashOps,
    pub collections: u64,
    pub moved: u64,
    pub moved_stale: u64,
    pub gc_time: GcTimes,
    pub metadata_time: GcTimes,
    pub copies: CopyCounters,
    pub ecc: EccCounters,
    /// Collections of a die by participating planes, and moved pages by category.
    pub parties: Parties,
    pub moves: Moves,
    /// Traversals of the interconnect.
    pub noc: crate::report::noc::Counts,
    pub raid: RaidTotals,
    pub brr: BrrTotals,
    pub writeback_time: GcTimes,
    /// Units of the map in programs, where a program has several.
    pub units: UnitCounts,
    /// Host operations by page type; empty where they are not counted.
    pub page_types: Vec<TypeTotals>,
    /// Time at which measuring started.
    pub measured_from: Nanos,
    /// First measured arrival and last measured completion.
    pub first_arrival: Option<Nanos>,
    pub last_completion: Nanos,
    /// Integral of held units, at the first arrival.
    pub held_from: u128,
    /// The same for units held by GC, and for planes that take part in GC, at the first arrival.
    pub gc_units_from: u128,
    pub gc_planes_from: u128,
    /// Busy time of all channels, at the first arrival.
    pub transferring_from: u128,
    /// The same for ports of the interconnect.
    pub ports_busy_from: u128,
    /// Sum over arrivals of the chips with an operation in service, and the number of arrivals.
    pub chips_busy: u64,
    pub arrivals: u64,
    /// Sum over arrivals of the requests in the dispatch window.
    pub window: u64,
    /// Flash operations since the start, including warm-up.
    pub operations: u64,
    /// Requests completed since the start, including warm-up.
    pub completed: u64,
    /// Flash work before measuring started, and for requests that are not measured.
    pub forgotten: FlashOps,
    pub forgotten_collections: u64,
    /// Flash pages, and bytes, of measured writes whose pages have completed.
    done: Progress,
    /// The progress at about equal distances of host pages; at most [`CHECKPOINTS`].
    checkpoints: Vec<Progress>,
    /// Distance of checkpoints, and the host pages at which the next one is due.
    distance: u64,
    next_checkpoint: u64,
}

const CHECKPOINTS: usize = 128;

impl Stats {
    pub(crate) fn new(per_unit: u32, planes_of_block: u32) -> Self {
        let op = OpStats::new();
        Stats {
            keeps_slowest: false,
            per_unit: per_unit.into(),
            planes_of_block: planes_of_block.into(),
            joint: (per_unit > 1).into(),
            requests: Requests::default(),
            pages: Pages::default(),
            bytes: HostBytes::default(),
            read: op.clone(),
            write: op,
            flash: FlashOps::default(),
            collections: 0,
            moved: 0,
            moved_stale: 0,
            gc_time: GcTimes::default(),
            metadata_time: GcTimes::default(),
            copies: CopyCounters::default(),
            ecc: EccCounters::default(),
            parties: Parties::default(),
            moves: Moves::default(),
            noc: Default::default(),
            raid: RaidTotals::default(),
            brr: BrrTotals::default(),
            writeback_time: GcTimes::default(),
            units: UnitCounts::default(),
            page_types: Vec::new(),
            measured_from: Nanos::ZERO,
            first_arrival: None,
            last_completion: Nanos::ZERO,
            held_from: 0,
            gc_units_from: 0,
            gc_planes_from: 0,
            transferring_from: 0,
            ports_busy_from: 0,
            chips_busy: 0,
            window: 0,
            arrivals: 0,
            operations: 0,
            completed: 0,
            forgotten: FlashOps::default(),
            forgotten_collections: 0,
            done: Progress::default(),
            checkpoints: Vec::with_capacity(CHECKPOINTS),
            distance: 1,
            next_checkpoint: 1,
        }
    }

    /// Carries what filling leaves: [`Stats::start_measuring`] resets all but the work that is not measured.
    pub(crate) fn carry(&mut self, carrier: &mut Carrier<'_>) -> io::Result<()> {
        self.forgotten.carry(carrier)?;
        carrier.value(&mut self.forgotten_collections)
    }

    /// Adds the work that filling some planes has taken: what [`Stats::start_measuring`] keeps.
    pub(crate) fn add_filling(&mut self, part: &Stats) {
        self.flash = self.flash.plus(&part.flash);
        self.collections += part.collections;
    }

    /// Resets the counters of flash work: measuring starts.
    pub(crate) fn start_measuring(&mut self) {
        self.forgotten = self.forgotten.plus(&std::mem::take(&mut self.flash));
        self.forgotten_collections += self.collections;
        self.gc_time = GcTimes::default();
        self.metadata_time = GcTimes::default();
        self.copies = CopyCounters::default();
        self.ecc = EccCounters::default();
        self.parties = Parties::default();
        self.moves = Moves::default();
        self.noc = Default::default();
        self.raid = RaidTotals::default();
        self.brr = BrrTotals::default();
        self.writeback_time = GcTimes::default();
        self.page_types.fill(TypeTotals::default());
        self.units = UnitCounts { hand_max: self.units.hand_max, ..UnitCounts::default() };
        self.collections = 0;
        self.moved = 0;
        self.moved_stale = 0;
        self.chips_busy = 0;
        self.window = 0;
        self.arrivals = 0;
        self.pages = Pages::default();
        self.bytes = HostBytes::default();
        self.requests = Requests { warmup: self.requests.warmup, ..Requests::default() };
    }

    /// Flash pages of a measured write have completed.
    #[inline(always)]
    pub(crate) fn count_done(&mut self, pages: u64, bytes: u64) {
        self.done.pages += pages;
        self.done.bytes += bytes;
    }

    /// The page of a measured write of one page has completed.
    #[inline(always)]
    pub(crate) fn count_page_done(&mut self, bytes: u64) {
        self.count_done(self.per_unit, bytes);
    }

    /// Flash pages, and bytes, of measured writes whose pages have completed.
    pub(crate) fn written_done(&self) -> (u64, u64) {
        (self.done.pages, self.done.bytes)
    }

    /// Whether the next checkpoint is due.
    #[inline(always)]
    pub(crate) fn checkpoint_due(&self) -> bool {
        self.done.pages >= self.next_checkpoint
    }

    /// Whether a checkpoint is due before or with so many more pages.
    #[inline(always)]
    pub(crate) fn checkpoint_within(&self, pages: u64) -> bool {
        self.done.pages + pages >= self.next_checkpoint
    }

    /// The progress now. `more`: pages whose programs have begun and are not counted yet.
    fn progress(&self, more: u64) -> Progress {
        let programs = self.flash.programs.total + self.flash.copybacks + more * self.per_unit;
        Progress { programs, ..self.done }
    }

    /// Adds a checkpoint; see [`Stats::progress`].
    #[cold]
    pub(crate) fn note_checkpoint(&mut self, more: u64) {
        self.checkpoints.push(self.progress(more));
        if self.checkpoints.len() == CHECKPOINTS {
            // Keeps every second one.
            for i in 0..CHECKPOINTS / 2 {
                self.checkpoints[i] = self.checkpoints[2 * i + 1];
            }
            self.checkpoints.truncate(CHECKPOINTS / 2);
            self.distance *= 2;
        }
        self.next_checkpoint = self.done.pages + self.distance;
    }

    /// Write amplification in each tenth of the host pages written, between the checkpoints next to its ends.
    pub(crate) fn tenths(&self) -> [Option<f64>; 10] {
        let end = self.progress(0);
        let at = |tenths: u64| match tenths {
            10 => end,
            // The last checkpoint at or before it.
            _ => self
                .checkpoints
                .iter()
                .rev()
                .find(|at| 10 * at.pages <= tenths * end.pages)
                .copied()
                .unwrap_or_default(),
        };
        std::array::from_fn(|n| {
            let (from, to) = (at(n as u64), at(n as u64 + 1));
            mean(u128::from(to.programs - from.programs), to.pages - from.pages)
        })
    }

    /// Write amplification in both halves of the host pages written, of which a flash page has `units`. None if there was too little GC to tell.
    pub(crate) fn halves(&self, planes: u32, page_bytes: u64, units: u64) -> Option<Halves> {
        let end = self.progress(0);
        let middle = *self.checkpoints.iter().find(|at| 2 * at.pages >= end.pages)?;
        let (w1, p1) = (middle.pages, middle.programs);
        let (w2, p2) = (end.pages - w1, end.programs - p1);
        if self.collections < u64::from(planes) || w2 == 0 || self.checkpoints.len() < CHECKPOINTS / 4 {
            return None;
        }
        // Compares p1 / w1 with p2 / w2 in integers: they may differ by 5 % of the first.
        let (first, second) = (u128::from(p1) * u128::from(w2), u128::from(p2) * u128::from(w1));
        let steady = first.abs_diff(second) * 20 <= first;
        let per_byte = |programs: u64, bytes: u64| mean(u128::from(programs) * u128::from(page_bytes), bytes);
        Some(Halves {
            first: mean(u128::from(p1) * u128::from(units), w1),
            second: mean(u128::from(p2) * u128::from(units), w2),
            first_bytes: per_byte(p1, middle.bytes),
            second_bytes: per_byte(p2, end.bytes - middle.bytes),
            steady,
        })
    }

    /// A collection of `victims` blocks has ended.
    pub(crate) fn count_collection(&mut self, victims: u64) {
        let blocks = victims * self.per_unit;
        self.collections += blocks;
        *if blocks > 1 { &mut self.parties.joint } else { &mut self.parties.alone } += 1;
    }

    /// Pages of a victim without a partner have landed, and all were published.
    pub(crate) fn count_sorted(&mut self, pages: u64) {
        self.moved += pages * self.per_unit;
        self.sort_lone(pages);
    }

    /// Category of moves of a victim without a partner.
    #[inline(always)]
    pub(crate) fn sort_lone(&mut self, pages: u64) {
        let category = if self.per_unit > 1 { &mut self.moves.pard_pawr } else { &mut self.moves.srrd_srwr_d };
        *category += pages * self.per_unit;
    }

    /// A moved page has landed, published or stale.
    #[inline(always)]
    pub(crate) fn count_moved(&mut self, stale: bool) {
        self.moved += self.per_unit;
        self.moved_stale += if stale { self.per_unit } else { 0 };
    }

    #[inline(always)]
    pub(crate) fn count_reads(&mut self, class: Class, pages: u64) {
        let pages = pages * self.per_unit;
        self.flash.reads.add(class, pages);
        self.flash.multi_plane.reads += u64::from(pages > 1);
        self.operations += pages;
    }

    /// Counts the read of a page of a measured request that is not part of a larger command.
    #[inline(always)]
    pub(crate) fn count_host_read(&mut self) {
        self.flash.reads.add_of_host(self.per_unit);
        count_few(&mut self.flash.multi_plane.reads, self.joint);
        count_few(&mut self.operations, self.per_unit);
    }

    /// The same of a program.
    #[inline(always)]
    pub(crate) fn count_host_program(&mut self) {
        self.flash.programs.add_of_host(self.per_unit);
        count_few(&mut self.flash.multi_plane.programs, self.joint);
        count_few(&mut self.operations, self.per_unit);
    }

    #[inline(always)]
    pub(crate) fn count_programs(&mut self, class: Class, pages: u64) {
        let pages = pages * self.per_unit;
        self.flash.programs.add(class, pages);
        self.flash.multi_plane.programs += u64::from(pages > 1);
        self.operations += pages;
    }

    /// Measured writes of one page each that took no time, and their programs.
    #[inline(always)]
    pub(crate) fn count_writes_now(&mut self, requests: u64, bytes: u64) {
        let pages = requests * self.per_unit;
        self.flash.programs.add(Class::Host, pages);
        self.flash.multi_plane.programs += if self.per_unit > 1 { requests } else { 0 };
        self.operations += pages;
        self.pages.written += requests;
        self.bytes.written += bytes;
        self.count_done(requests, bytes);
        self.requests.write += requests;
        self.completed += requests;
    }

    /// Counts a request that has been applied in no time.
    #[inline(always)]
    pub(crate) fn count_served(&mut self, op: RequestOp, bytes_of: u64, measured: bool) {
        let (requests, bytes) = (&mut self.requests, &mut self.bytes);
        match op {
            RequestOp::Read if measured => bytes.read += bytes_of,
            RequestOp::Write if measured => bytes.written += bytes_of,
            _ => {}
        }
        let counter = match (measured, op) {
            (false, _) => &mut requests.warmup,
            (_, RequestOp::Read) => &mut requests.read,
            (_, RequestOp::Write) => &mut requests.write,
            (_, RequestOp::Trim | RequestOp::Flush) => &mut requests.trim,
        };
        *counter += 1;
        self.completed += 1;
    }

    /// Pages of requests that are not measured. Time series show them.
    pub(crate) fn count_unmeasured(&mut self, class: Class, programs: bool, pages: u64) {
        let pages = pages * self.per_unit;
        let FlashOps { reads, programs: written, multi_plane, .. } = &mut self.forgotten;
        let (by, joint) = if programs { (written, &mut multi_plane.programs) } else { (reads, &mut multi_plane.reads) };
        by.add(class, pages);
        *joint += u64::from(pages > 1);
        self.operations += pages;
    }

    /// Pages that GC moves one by one.
    #[inline(always)]
    pub(crate) fn count_moves(&mut self, journey: Journey, pages: u64) {
        let commands = if self.per_unit > 1 { pages } else { 0 };
        let pages = pages * self.per_unit;
        if journey.out == Hop::Die {
            self.flash.copybacks += pages;
            self.flash.multi_plane.copybacks += commands;
            self.operations += pages;
        } else {
            self.flash.reads.add(Class::Gc, pages);
            self.flash.programs.add(Class::Gc, pages);
            self.flash.multi_plane.reads += commands;
            self.flash.multi_plane.programs += commands;
            self.operations += 2 * pages;
        }
    }

    /// GC has read and programmed single pages.
    pub(crate) fn count_steps(&mut self, reads: u64, programs: u64) {
        self.count_moves(Journey::EXTERNAL, reads.min(programs));
        (programs..reads).for_each(|_| self.count_reads(Class::Gc, 1));
        (reads..programs).for_each(|_| self.count_programs(Class::Gc, 1));
    }

    /// A program of several units, and so many flash pages in so many planes.
    pub(crate) fn count_program_unit(&mut self, class: Class, pages: u64, planes: u64) {
        self.flash.programs.add(class, pages);
        self.flash.multi_plane.programs += u64::from(planes > 1);
        self.operations += pages;
    }

    pub(crate) fn count_copybacks(&mut self, pages: u64) {
        let pages = pages * self.per_unit;
        self.flash.copybacks += pages;
        self.flash.multi_plane.copybacks += u64::from(pages > 1);
        self.operations += pages;
    }

    pub(crate) fn count_erases(&mut self, blocks: u64) {
        let blocks = blocks * self.per_unit * self.planes_of_block;
        self.flash.erases += blocks;
        self.flash.multi_plane.erases += u64::from(blocks > 1);
        self.operations += blocks;
    }
}
