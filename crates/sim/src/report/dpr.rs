//! What second copies of pages did.

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

/// What second copies of pages did (`schemes.route = "dpr"`).
#[derive(Clone, Debug, Serialize)]
pub struct Dpr {
    /// Page reads that waited for a collection, a write-back or the making of a copy at their die.
    pub blocked_reads: u64,
    /// Copies made.
    pub copies: u64,
    /// Page reads that a copy served.
    pub redirected_reads: u64,
    /// Copies dropped because the host overwrote or trimmed their pages.
    pub dropped_overwritten: u64,
    /// Copies dropped because their block was erased.
    pub dropped_erased: u64,
    /// Copies dropped for newer ones, there being as many as `replica_pages` allows.
    pub dropped_replaced: u64,
    /// Copies at the end.
    pub pages: u64,
    /// Most copies at one time.
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

    /// Counting begins anew, with so many copies.
    pub(crate) fn restart(&mut self, pages: u64) {
        *self = Totals { most: pages, ..Totals::default() };
    }
}
