//! What is counted while a run is measured.

use crate::device::transaction::Class;
use crate::report::{Breakdown, Distribution, FlashOps, GcTimes, Pages, Requests};
use crate::units::Nanos;

/// Latency, waits and causes of one kind of request.
#[derive(Clone)]
pub(crate) struct OpStats {
    pub latency: Distribution,
    pub waiting: Distribution,
    pub breakdown: Breakdown,
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
    /// When measuring began.
    pub measured_from: Nanos,
    /// First measured arrival and last measured completion.
    pub first_arrival: Option<Nanos>,
    pub last_completion: Nanos,
    /// Integrals of held units and transferring buses at the first arrival and the last completion.
    pub held_at: (u128, u128),
    pub transferring_at: (u128, u128),
    /// Sum over arrivals of the chips with an operation in service, and how many arrivals.
    pub chips_busy: u64,
    pub arrivals: u64,
    /// Flash operations since the beginning, warm-up included.
    pub operations: u64,
    /// Requests completed since the beginning, warm-up included.
    pub completed: u64,
}

impl Stats {
    pub(crate) fn new() -> Self {
        let op = OpStats { latency: Distribution::new(), waiting: Distribution::new(), breakdown: Breakdown::ZERO };
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
            measured_from: Nanos::ZERO,
            first_arrival: None,
            last_completion: Nanos::ZERO,
            held_at: (0, 0),
            transferring_at: (0, 0),
            chips_busy: 0,
            arrivals: 0,
            operations: 0,
            completed: 0,
        }
    }

    /// Forgets the flash work counted so far: what follows is measured.
    pub(crate) fn start_measuring(&mut self) {
        self.flash = FlashOps::default();
        self.gc_time = GcTimes::default();
        (self.collections, self.moved, self.moved_stale) = (0, 0, 0);
        (self.chips_busy, self.arrivals) = (0, 0);
        self.pages = Pages::default();
        self.requests = Requests { warmup: self.requests.warmup, ..Requests::default() };
    }

    pub(crate) fn count_reads(&mut self, class: Class, pages: u64) {
        let by = &mut self.flash.reads;
        *(if class == Class::Host { &mut by.host } else { &mut by.gc }) += pages;
        by.total += pages;
        self.flash.multi_plane.reads += u64::from(pages > 1);
        self.operations += pages;
    }

    pub(crate) fn count_programs(&mut self, class: Class, pages: u64) {
        let by = &mut self.flash.programs;
        *(if class == Class::Host { &mut by.host } else { &mut by.gc }) += pages;
        by.total += pages;
        self.flash.multi_plane.programs += u64::from(pages > 1);
        self.operations += pages;
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
