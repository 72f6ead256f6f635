//! What a power cut costs, and what recovery finds.

use serde::Serialize;

use crate::units::Nanos;

/// A power cut and the recovery after it.
///
/// Recovery takes no time. It reads what every readable page says of itself (logical page and version), takes the newest
/// version of each logical page, and finishes the collections that the cut interrupted. Pages are counted against what the
/// host had been told: a version is acknowledged when its write has completed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PowerCut {
    /// When.
    #[serde(rename = "at_ns", serialize_with = "nanos")]
    pub at: Nanos,
    /// Logical pages whose newest acknowledged version, or a newer one, was found.
    pub kept_pages: u64,
    /// Logical pages with an acknowledged version of which nothing was found.
    pub lost_pages: u64,
    /// Logical pages of which only a version older than the newest acknowledged one was found.
    pub stale_pages: u64,
    /// Trimmed pages of which an old version was found; trims promise nothing about power cuts.
    pub undone_trims: u64,
    /// Pages whose newest acknowledged version was in the buffer only, whether or not that survives.
    pub exposed_pages: u64,
    /// Pages with an acknowledged version whose next one had been admitted and was not on flash: the old page is anybody's to
    /// erase from the admission of the next one on, unless `device.keep_overwritten` keeps it.
    pub superseded_pages: u64,
    /// Pages in the buffer.
    pub buffered_pages: u64,
    /// Pages in the controller's memory that the capacitor's charge brought to flash.
    pub drained_pages: u64,
    /// Pages that recovery held in the controller's memory alone while it erased their block, as their plane had no page for
    /// them: none without a capacitor, as long as `gc.reserve` has one more block than collections have write points.
    pub held_pages: u64,
    /// Pages whose program was interrupted.
    pub torn_pages: u64,
    /// Blocks whose erase was interrupted, and erased anew.
    pub torn_erases: u64,
    /// Requests in service that the host never hears of again.
    pub aborted_requests: u64,
    /// Parity groups whose update the cut interrupted, and whose parity was made anew.
    #[serde(skip_serializing_if = "is_zero")]
    pub repaired_groups: u64,
    /// Pages of failed chips that such a group held alone: they are lost.
    #[serde(skip_serializing_if = "is_zero")]
    pub unprotected_pages: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

fn nanos<S: serde::Serializer>(value: &Nanos, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(value.0)
}
