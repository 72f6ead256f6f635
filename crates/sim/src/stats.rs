//! What is counted while a run is measured.

use crate::device::transaction::Class;
use crate::policy::{Hop, Journey};
use crate::report::ecc::EccCounters;
use crate::report::fastgc::CopyCounters;
use crate::report::{Breakdown, BrrTotals, Distribution, FlashOps, GcTimes, Halves, Pages, RaidTotals, Requests, mean};
use crate::units::Nanos;

/// Latency, waits and causes of one kind of request.
#[derive(Clone)]
pub(crate) struct OpStats {
    pub latency: Distribution,
    pub waiting: Distribution,
    pub breakdown: Breakdown,
    /// Requests that waited for collections.
    pub delayed_by_gc: u64,
}

/// Counters of the measured part of a run.
#[derive(Clone)]
pub(crate) struct Stats {
    pub requests: Requests,
    pub pages: Pages,
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
    pub raid: RaidTotals,
    pub brr: BrrTotals,
    pub writeback_time: GcTimes,
    /// When measuring began.
    pub measured_from: Nanos,
    /// First measured arrival and last measured completion.
    pub first_arrival: Option<Nanos>,
    pub last_completion: Nanos,
    /// Integral of held units at the first arrival and the last completion.
    pub held_at: (u128, u128),
    /// Busy time of all channels at the first arrival.
    pub transferring_from: u128,
    /// Sum over arrivals of the chips with an operation in service, and how many arrivals.
    pub chips_busy: u64,
    pub arrivals: u64,
    /// Flash operations since the beginning, warm-up included.
    pub operations: u64,
    /// Requests completed since the beginning, warm-up included.
    pub completed: u64,
    /// What was counted before measuring began, and for requests that don't count.
    pub forgotten: FlashOps,
    pub forgotten_collections: u64,
    /// Host pages written and pages programmed at about equal distances of host pages, at most [`CHECKPOINTS`] of them.
    checkpoints: Vec<(u64, u64)>,
    /// Their distance, and how many host pages the next one waits for.
    distance: u64,
    next_checkpoint: u64,
}

const CHECKPOINTS: usize = 128;

impl Stats {
    pub(crate) fn new() -> Self {
        let op = OpStats {
            latency: Distribution::new(),
            waiting: Distribution::new(),
            breakdown: Breakdown::ZERO,
            delayed_by_gc: 0,
        };
        Stats {
            requests: Requests::default(),
            pages: Pages::default(),
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
            raid: RaidTotals::default(),
            brr: BrrTotals::default(),
            writeback_time: GcTimes::default(),
            measured_from: Nanos::ZERO,
            first_arrival: None,
            last_completion: Nanos::ZERO,
            held_at: (0, 0),
            transferring_from: 0,
            chips_busy: 0,
            arrivals: 0,
            operations: 0,
            completed: 0,
            forgotten: FlashOps::default(),
            forgotten_collections: 0,
            checkpoints: Vec::with_capacity(CHECKPOINTS),
            distance: 1,
            next_checkpoint: 1,
        }
    }

    /// Forgets the flash work counted so far: what follows is measured.
    pub(crate) fn start_measuring(&mut self) {
        self.forgotten = self.forgotten.plus(&std::mem::take(&mut self.flash));
        self.forgotten_collections += self.collections;
        (self.gc_time, self.metadata_time) = (GcTimes::default(), GcTimes::default());
        (self.copies, self.ecc) = (CopyCounters::default(), EccCounters::default());
        self.raid = RaidTotals::default();
        self.brr = BrrTotals::default();
        self.writeback_time = GcTimes::default();
        (self.collections, self.moved, self.moved_stale) = (0, 0, 0);
        (self.chips_busy, self.arrivals) = (0, 0);
        self.pages = Pages::default();
        self.requests = Requests { warmup: self.requests.warmup, ..Requests::default() };
    }

    /// Whether it is time to note how far programs have come, which is every so many host pages.
    #[inline(always)]
    pub(crate) fn checkpoint_due(&self) -> bool {
        self.pages.written >= self.next_checkpoint
    }

    /// Notes how far programs have come.
    #[cold]
    pub(crate) fn note_checkpoint(&mut self) {
        self.checkpoints.push((self.pages.written, self.flash.programs.total + self.flash.copybacks));
        if self.checkpoints.len() == CHECKPOINTS {
            // Every second one stays.
            for i in 0..CHECKPOINTS / 2 {
                self.checkpoints[i] = self.checkpoints[2 * i + 1];
            }
            self.checkpoints.truncate(CHECKPOINTS / 2);
            self.distance *= 2;
        }
        self.next_checkpoint = self.pages.written + self.distance;
    }

    /// Write amplification before and after the middle of the host pages written. None: too little was collected to tell.
    pub(crate) fn halves(&self, planes: u32) -> Option<Halves> {
        let (written, programs) = (self.pages.written, self.flash.programs.total + self.flash.copybacks);
        let (w1, p1) = *self.checkpoints.iter().find(|(at, _)| 2 * at >= written)?;
        let (w2, p2) = (written - w1, programs - p1);
        if self.collections < u64::from(planes) || w2 == 0 || self.checkpoints.len() < CHECKPOINTS / 4 {
            return None;
        }
        // p1 / w1 against p2 / w2, in whole numbers: at most a twentieth of the first apart.
        let (first, second) = (u128::from(p1) * u128::from(w2), u128::from(p2) * u128::from(w1));
        let steady = first.abs_diff(second) * 20 <= first;
        Some(Halves { first: mean(u128::from(p1), w1), second: mean(u128::from(p2), w2), steady })
    }

    pub(crate) fn count_reads(&mut self, class: Class, pages: u64) {
        self.flash.reads.add(class, pages);
        self.flash.multi_plane.reads += u64::from(pages > 1);
        self.operations += pages;
    }

    pub(crate) fn count_programs(&mut self, class: Class, pages: u64) {
        self.flash.programs.add(class, pages);
        self.flash.multi_plane.programs += u64::from(pages > 1);
        self.operations += pages;
    }

    /// Pages of requests that don't count: series show them all the same.
    pub(crate) fn count_unmeasured(&mut self, class: Class, programs: bool, pages: u64) {
        let by = if programs { &mut self.forgotten.programs } else { &mut self.forgotten.reads };
        by.add(class, pages);
        self.operations += pages;
    }

    /// Pages that collections move one by one.
    pub(crate) fn count_moves(&mut self, journey: Journey, pages: u64) {
        if journey.out == Hop::Die {
            self.flash.copybacks += pages;
            self.operations += pages;
        } else {
            self.flash.reads.add(Class::Gc, pages);
            self.flash.programs.add(Class::Gc, pages);
            self.operations += 2 * pages;
        }
    }

    pub(crate) fn count_copybacks(&mut self, pages: u64) {
        self.flash.copybacks += pages;
        self.flash.multi_plane.copybacks += u64::from(pages > 1);
        self.operations += pages;
    }

    pub(crate) fn count_erases(&mut self, blocks: u64) {
        self.flash.erases += blocks;
        self.flash.multi_plane.erases += u64::from(blocks > 1);
        self.operations += blocks;
    }
}
