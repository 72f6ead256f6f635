//! The turn of a host operation at its unit, by the shadow clock, and the parts of its wait.

use crate::units::Nanos;

/// The turn of a host operation.
pub(in crate::engine) struct Turn {
    /// Total time that GC and write-backs have held the unit.
    pub(super) gc: u64,
    /// See `gc`.
    pub(super) writeback: u64,
    /// Delay of service against the shadow clock.
    pub(super) lag: u64,
    /// When the operation begins by the shadow clock.
    pub(super) shadow_start: Nanos,
}

/// Parts of a wait for a unit.
pub(in crate::engine) struct WaitParts {
    /// GC and write-backs held the unit.
    pub(in crate::engine) gc: u64,
    /// See `gc`.
    pub(in crate::engine) writeback: u64,
    /// Host operations held it: by the shadow clock, and longer.
    pub(in crate::engine) host: u64,
    /// See `host`.
    pub(in crate::engine) late: u64,
}

impl Turn {
    /// Parts of a wait since `since` that ends now. Before, GC and write-backs had held the unit for `gc` and `writeback`. Without
    /// GC it would have ended when the operation begins by the shadow clock.
    #[inline(always)]
    pub(in crate::engine) fn parts(&self, since: Nanos, now: Nanos, gc: u64, writeback: u64) -> WaitParts {
        let (gc, writeback) = (self.gc - gc, self.writeback - writeback);
        let rest = (now - since).0 - gc - writeback;
        if self.lag == 0 {
            // It begins when it would by the shadow clock.
            return WaitParts { gc, writeback, host: rest, late: 0 };
        }
        let host = (self.shadow_start.0.saturating_sub(since.0)).min(rest);
        WaitParts { gc, writeback, host, late: rest - host }
    }
}
