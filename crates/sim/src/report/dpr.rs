//! Report of second copies of pages.

use serde::Serialize;

/// Counters of second copies.
#[derive(Clone, Debug, Default)]
pub(crate) struct Totals {
    pub blocked: u64,
    pub made: u64,
    pub reads: u64,
    pub overwritten: u64,
    pub erased: u64,
    pub replaced: u64,
    pub most: u64,
}

/// Second copies of pages (`schemes.route = "dpr"`).
#[derive(Clone, Debug, Serialize)]
pub struct Dpr {
    /// Page reads that waited at their die for GC, a write-back or a program of a second copy.
    pub blocked_reads: u64,
    /// Copies programmed.
    pub copies: u64,
    /// Page reads that were served from a copy.
    pub redirected_reads: u64,
    /// Copies dropped because the host overwrote or trimmed their pages.
    pub dropped_overwritten: u64,
    /// Copies dropped because their block was erased.
    pub dropped_erased: u64,
    /// Copies dropped for newer ones, because `replica_pages` limits their number.
    pub dropped_replaced: u64,
    /// Copies at the end.
    pub pages: u64,
    /// Largest number of copies at one time.
    pub pages_max: u64,
}

impl Totals {
    pub(crate) fn summary(&self, pages: u64) -> Dpr {
        Dpr {
            blocked_reads: self.blocked,
            copies: self.made,
            redirected_reads: self.reads,
            dropped_overwritten: self.overwritten,
            dropped_erased: self.erased,
            dropped_replaced: self.replaced,
            pages,
            pages_max: self.most,
        }
    }

    /// Restarts the counters, with `pages` copies present.
    pub(crate) fn restart(&mut self, pages: u64) {
        *self = Totals { most: pages, ..Totals::default() };
    }
}
