//! Report of failed chips.

use serde::Serialize;

use crate::units::Nanos;

/// A chip that has failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChipFailure {
    /// Index of the chip.
    pub chip: u32,
    /// Time of the failure.
    #[serde(rename = "at_ns", serialize_with = "nanos")]
    pub at: Nanos,
    /// Valid pages on the chip, including parity and pages that were about to be overwritten.
    pub pages: u64,
    /// Lost pages: the rest of their group could not restore them because another page was missing too.
    pub lost_pages: u64,
    /// Time from the failure until no page was missing anywhere; none if that never happened.
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

/// Failed chips (if `faults.chip_fails` lists any), or uncorrectable pages of parity groups (if `ecc.errors` simulates errors).
/// An uncorrectable page is missing like a page of a failed chip.
#[derive(Clone, Debug, Serialize)]
pub struct Failed {
    /// Failed chips, in order of failure.
    pub chips: Vec<ChipFailure>,
    /// Page reads whose page was reconstructed from the rest of its group.
    pub degraded_reads: u64,
    /// Pages read for these reconstructions.
    pub degraded_page_reads: u64,
    /// Page reads of lost pages. Each is reported to its request.
    pub lost_reads: u64,
    /// Page writes that could not be stored, or could not be merged with a lost page. Each is reported to its request.
    pub lost_writes: u64,
    /// Lost pages, over the whole run.
    pub lost_pages: u64,
    /// Pages that ECC could not correct when they were read, including parity, over the whole run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uncorrectable_pages: Option<u64>,
    /// Pages rebuilt on spare chips, or rewritten because they were uncorrectable, over the whole run.
    pub rebuilt_pages: u64,
    /// Pages read for rebuilding.
    pub rebuild_page_reads: u64,
    /// Time during which a page was missing, so that a further failure in its group would have lost data.
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
