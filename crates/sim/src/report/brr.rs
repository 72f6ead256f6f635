//! Report of balanced redirected reads.

use serde::Serialize;

use super::mean;

/// Counters of redirected reads.
#[derive(Clone, Debug, Default)]
pub(crate) struct BrrTotals {
    pub reads: u64,
    pub candidates: u64,
    pub redirected: u64,
}

/// Balanced redirected reads (`schemes.route = "brr"`).
#[derive(Clone, Debug, Serialize)]
pub struct BrrSummary {
    /// Page reads dispatched to flash.
    pub page_reads: u64,
    /// Page reads that could have been redirected: their stripe was clean and all its pages were on flash.
    pub candidate_reads: u64,
    /// Page reads that were redirected.
    pub redirected_reads: u64,
    /// `redirected_reads / page_reads`.
    pub redirected_share: Option<f64>,
    /// Extra page reads: `raid.group` - 2 for each redirected read.
    pub extra_reads: u64,
}

impl BrrTotals {
    pub(crate) fn summary(&self, group: u32) -> BrrSummary {
        BrrSummary {
            page_reads: self.reads,
            candidate_reads: self.candidates,
            redirected_reads: self.redirected,
            redirected_share: mean(u128::from(self.redirected), self.reads),
            extra_reads: self.redirected * u64::from(group - 2),
        }
    }
}
