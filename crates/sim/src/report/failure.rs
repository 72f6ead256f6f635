//! What failed chips cost.

use serde::Serialize;

use crate::units::Nanos;

/// A chip that has failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChipFailure {
    /// Which.
    pub chip: u32,
    /// When.
    #[serde(rename = "at_ns", serialize_with = "nanos")]
    pub at: Nanos,
    /// Valid pages on it, parity and pages about to be overwritten included.
    pub pages: u64,
    /// Pages that the rest of their group could not give back, for want of another one.
    pub lost_pages: u64,
    /// How long it was from then until no page was missing anywhere, if that time came.
    #[serde(rename = "whole_after_ns")]
    pub whole_after: Option<u64>,
}

/// Counters of failed chips.
#[derive(Clone, Debug, Default)]
pub(crate) struct FailureTotals {
    pub degraded_reads: u64,
    pub instead: u64,
    pub lost_reads: u64,
    pub lost_writes: u64,
    pub lost_pages: u64,
    pub uncorrectable: u64,
    pub rebuilt: u64,
    pub rebuild_reads: u64,
    pub unprotected: u128,
}

/// What failed chips cost (where `faults.chip_fails` says that any fail), or pages of parity groups beyond correction (where
/// `ecc.errors` simulates errors): those are missing as if their chip had failed under them alone.
#[derive(Clone, Debug, Serialize)]
pub struct Failed {
    /// Chips that have failed, in order.
    pub chips: Vec<ChipFailure>,
    /// Page reads whose page was computed from the rest of its group.
    pub degraded_reads: u64,
    /// Pages read in their place.
    pub degraded_page_reads: u64,
    /// Page reads of lost pages, each reported to its request.
    pub lost_reads: u64,
    /// Page writes that could not be stored, or not be merged with a lost page, each reported to its request.
    pub lost_writes: u64,
    /// Pages lost, over the whole run.
    pub lost_pages: u64,
    /// Pages that ECC could not correct when they were read, parity included, over the whole run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uncorrectable_pages: Option<u64>,
    /// Pages rebuilt on chips that took the places of failed ones, or written anew because they could not be corrected, over the
    /// whole run.
    pub rebuilt_pages: u64,
    /// Pages read for that.
    pub rebuild_page_reads: u64,
    /// Time with a page missing somewhere: one failure more in its group would have been too many.
    #[serde(serialize_with = "super::total")]
    pub unprotected_ns: u128,
}

impl FailureTotals {
    pub(crate) fn summary(&self, chips: &[ChipFailure], open: u64) -> Failed {
        let unprotected = self.unprotected + u128::from(open);
        Failed {
            chips: chips.to_vec(),
            degraded_reads: self.degraded_reads,
            degraded_page_reads: self.instead,
            lost_reads: self.lost_reads,
            lost_writes: self.lost_writes,
            lost_pages: self.lost_pages,
            uncorrectable_pages: Some(self.uncorrectable).filter(|count| *count > 0),
            rebuilt_pages: self.rebuilt,
            rebuild_page_reads: self.rebuild_reads,
            unprotected_ns: unprotected,
        }
    }
}

fn nanos<S: serde::Serializer>(value: &Nanos, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(value.0)
}
