//! The cache of SLC (`slc.*`): which data of the host it takes, and when its blocks are folded.
//!
//! The flash knows which blocks belong to the cache, and where a page of the host goes ([`Stream::Slc`]). Here is what a write needs to
//! be taken, what is counted, and when folds begin (`folds.rs`); `steps.rs` has what a fold does that a collection does otherwise,
//! `now.rs` folds in no time.

pub(in crate::engine) mod change;
pub(in crate::engine) mod folds;
pub(in crate::engine) mod now;
pub(in crate::engine) mod steps;

use crate::config::{Config, SlcAccepts, SlcPath};
use crate::device::flash::{FOR_SLC, Flash, Stream};
use crate::device::geometry::Geometry;
use crate::device::transaction::Fifo;
use crate::engine::features::recency::Recency;
use crate::engine::gc::idle::Idle;
use crate::engine::gc::jobs::Why;
use crate::policy::Journey;
use crate::report::slc::{Folds, SlcReport};
use crate::units::{Lpn, Ppm};

/// Which data the cache takes.
#[derive(Clone)]
enum Accepts {
    All,
    /// Requests of at most so many bytes.
    Small(u64),
    /// Pages written not long before.
    Hot(Recency),
}

/// State of a plane.
#[derive(Clone)]
struct Plane {
    /// Blocks are folded between operations of the host, until the lower level is reached.
    active: bool,
    /// A collection is due in the plane, before any fold.
    collects: bool,
    /// Host programs that wait for a fold.
    stalled: Fifo,
    /// Pages that its fold has moved to other blocks, and that stay in the cache.
    folded: [u64; 2],
}

/// Counters of the measured part.
#[derive(Clone, Copy, Default)]
struct Counts {
    host: u64,
    direct: u64,
    folds: Folds,
    folded: u64,
    dropped: u64,
    kept: u64,
    closed_early: u64,
    erases: u64,
}

/// State of the cache beside the flash's.
#[derive(Clone)]
pub(in crate::engine) struct Slc {
    accepts: Accepts,
    /// The request that is being served has few enough bytes.
    small: bool,
    /// The device is being filled, without the cache.
    filling: bool,
    journey: Journey,
    /// Pages of a plane's cache, times the levels, in millionths: folding begins above the first and ends at the second.
    levels: Option<(u64, u64)>,
    /// How often a page must be read to stay, if any may.
    kept_after: u32,
    /// By page: reads since it came to the cache, where this matters.
    reads: Vec<u32>,
    planes: Vec<Plane>,
    /// Idle dies, if their blocks are folded.
    pub(in crate::engine) idle: Option<Idle>,
    counts: Counts,
}

impl Slc {
    pub(in crate::engine) fn new(config: &Config, geometry: &Geometry) -> Option<Box<Self>> {
        let (slc, spec) = (&config.slc, config.slc_spec()?);
        let pages = u64::from(spec.most) * u64::from(spec.pages);
        let level = |share: Ppm| pages * u64::from(share.0);
        Some(Box::new(Slc {
            accepts: match slc.accepts {
                SlcAccepts::All => Accepts::All,
                SlcAccepts::Small => Accepts::Small(slc.small.0),
                SlcAccepts::Hot => Accepts::Hot(Recency::new(geometry.exported, slc.window)),
            },
            small: false,
            filling: true,
            journey: if slc.path == SlcPath::External { Journey::EXTERNAL } else { Journey::COPYBACK },
            levels: slc.folds_by_level().then(|| (level(slc.high), level(slc.low))),
            kept_after: slc.reads,
            reads: if slc.reads > 0 { vec![0; geometry.mapped as usize] } else { Vec::new() },
            planes: vec![
                Plane { active: false, collects: false, stalled: Fifo::EMPTY, folded: [0; 2] };
                geometry.planes as usize
            ],
            idle: slc.folds_in_idle_time().then(|| Idle::new(slc.idle, geometry.units)),
            counts: Counts::default(),
        }))
    }

    /// The device is full; requests follow.
    pub(in crate::engine) fn is_filled(&mut self) {
        self.filling = false;
    }

    /// A request of so many bytes is about to be served.
    pub(in crate::engine) fn serves(&mut self, bytes: u64) {
        if let Accepts::Small(most) = self.accepts {
            self.small = bytes <= most;
        }
    }

    /// The handle of a page that is written: whether the cache takes it.
    pub(in crate::engine) fn write(&mut self, page: Lpn) -> u8 {
        let takes = match &mut self.accepts {
            _ if self.filling => false,
            Accepts::All => true,
            Accepts::Small(_) => self.small,
            Accepts::Hot(recency) => recency.is_hot(page),
        };
        if takes { FOR_SLC } else { 0 }
    }

    /// The same as a stream.
    pub(in crate::engine) fn stream(&mut self, page: Lpn) -> Stream {
        Stream::of_handle(self.write(page))
    }

    /// A page is trimmed.
    pub(in crate::engine) fn trimmed(&mut self, page: Lpn) {
        if let Accepts::Hot(recency) = &mut self.accepts {
            recency.forget(page);
        }
    }

    /// A page of the host is programmed, to the cache or beside it.
    pub(in crate::engine) fn count_program(&mut self, page: Lpn, cached: bool, measured: bool) {
        *if cached { &mut self.counts.host } else { &mut self.counts.direct } += u64::from(measured);
        if cached && let Some(reads) = self.reads.get_mut(page.ix()) {
            *reads = 0;
        }
    }

    /// The host has read a page of the cache.
    pub(in crate::engine) fn is_read(&mut self, page: Lpn) {
        if let Some(reads) = self.reads.get_mut(page.ix()) {
            *reads = reads.saturating_add(1);
        }
    }

    /// Whether a page stays in the cache when its block is folded.
    fn keeps(&self, page: Lpn, why: Why) -> bool {
        why != Why::Forced && self.reads.get(page.ix()).is_some_and(|reads| *reads >= self.kept_after)
    }

    /// A block with so many programmed pages is erased, of which so many were moved to other blocks, and so many stay in the cache.
    fn count_fold(&mut self, why: Why, written: u64, [folded, kept]: [u64; 2]) {
        let counts = &mut self.counts;
        *match why {
            Why::Idle => &mut counts.folds.idle,
            Why::Level => &mut counts.folds.watermark,
            Why::Forced => &mut counts.folds.forced,
        } += 1;
        counts.erases += 1;
        counts.folded += folded;
        counts.kept += kept;
        counts.dropped += written - folded - kept;
    }

    /// Whether blocks of a plane with so many programmed pages are folded by level from now on, or still.
    fn test_level(&mut self, plane: usize, used: u32) -> bool {
        let Some((high, low)) = self.levels else { return false };
        let (used, state) = (u64::from(used) * Ppm::ONE, &mut self.planes[plane]);
        state.active = used > if state.active { low } else { high };
        state.active
    }

    /// Counts from 0 again.
    pub(in crate::engine) fn restart(&mut self) {
        self.counts = Counts::default();
    }

    /// Power is cut: nothing waits.
    pub(in crate::engine) fn power_cut(&mut self) {
        self.planes.fill(Plane { active: false, collects: false, stalled: Fifo::EMPTY, folded: [0; 2] });
    }

    /// The cache follows other rules from now on. What is in its blocks stays, and waits for folds go on.
    fn follow(&mut self, other: &Slc) {
        match (&mut self.accepts, &other.accepts) {
            (Accepts::Hot(own), Accepts::Hot(other)) => own.follow(other),
            (own, other) => *own = other.clone(),
        }
        (self.journey, self.levels, self.kept_after) = (other.journey, other.levels, other.kept_after);
        if self.reads.is_empty() || other.reads.is_empty() {
            self.reads.clone_from(&other.reads);
        }
    }

    /// The report of the measured part.
    pub(in crate::engine) fn report(&self, flash: &Flash) -> SlcReport {
        let Counts { host, direct, folds, folded, dropped, kept, closed_early, erases } = self.counts;
        SlcReport {
            host_pages: host,
            direct_pages: direct,
            folds,
            folded_pages: folded,
            dropped_stale: dropped,
            kept,
            closed_early,
            erases,
            high_water_pages: flash.most_slc_used(),
            used_pages: flash.slc_used_of_all(),
        }
    }
}
