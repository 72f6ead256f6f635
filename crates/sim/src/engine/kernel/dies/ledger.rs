//! The ledger of a die: for how long it was held, and by whom.

use crate::engine::kernel::dies::{Holder, Unit};
use crate::observe::Held;
use crate::units::Nanos;

impl Unit {
    /// Total time for which GC held this unit, until now.
    #[inline(always)]
    pub(in crate::engine) fn gc(&self, now: Nanos) -> u64 {
        self.gc + if self.holder == Holder::Gc { (now - self.since).0 } else { 0 }
    }

    /// The same if GC does not hold it now.
    #[inline(always)]
    pub(in crate::engine) fn gc_before(&self) -> u64 {
        debug_assert!(self.holder != Holder::Gc);
        self.gc
    }

    /// Total time for which write-backs held this unit, until now.
    #[inline(always)]
    pub(in crate::engine) fn writeback(&self, now: Nanos) -> u64 {
        self.writeback + if self.holder == Holder::Writeback { (now - self.since).0 } else { 0 }
    }

    /// Total time for which write-backs of the write cache held this unit, until now.
    pub(in crate::engine) fn cached(&self, now: Nanos) -> u64 {
        self.cached + if self.holder == Holder::Cache { (now - self.since).0 } else { 0 }
    }

    /// Total time for which folds of the cache of SLC held this unit, until now.
    pub(in crate::engine) fn folded(&self, now: Nanos) -> u64 {
        self.folded + if self.holder == Holder::Fold { (now - self.since).0 } else { 0 }
    }

    /// Who has held it for how long, for an observer.
    pub(in crate::engine) fn held(&self) -> Held {
        let holding = match self.holder {
            Holder::Free => None,
            Holder::Host => Some(0),
            Holder::Gc => Some(1),
            Holder::Writeback | Holder::Cache | Holder::Fold => Some(2),
        };
        Held { totals: [self.host, self.gc, self.writeback + self.cached + self.folded], holding, since: self.since }
    }

    /// The part of GC's time in which the plane at index `k` participated. `by_plane` is the unit's slice of the ledger by plane.
    #[inline(always)]
    pub(in crate::engine) fn gc_own(&self, by_plane: u64, k: u32, now: Nanos) -> u64 {
        by_plane + if self.holder == Holder::Gc && self.gc_planes >> k & 1 == 1 { (now - self.since).0 } else { 0 }
    }

    /// Adds the elapsed time to the ledger.
    #[inline(always)]
    pub(super) fn settle(&mut self, by_plane: &mut [u64], now: Nanos) {
        if self.holder == Holder::Gc {
            let elapsed = (now - self.since).0;
            self.gc += elapsed;
            let mut planes = self.gc_planes;
            while planes != 0 {
                by_plane[planes.trailing_zeros() as usize] += elapsed;
                planes &= planes - 1;
            }
        } else if self.holder == Holder::Writeback {
            self.writeback += (now - self.since).0;
        } else if self.holder == Holder::Cache {
            self.cached += (now - self.since).0;
        } else if self.holder == Holder::Fold {
            self.folded += (now - self.since).0;
        } else if self.holder == Holder::Host {
            self.host += (now - self.since).0;
        }
        self.since = now;
    }
}
