//! Report of power cuts and their recovery.

use serde::Serialize;

use crate::units::Nanos;

/// A power cut and the recovery after it.
///
/// Recovery takes no time. It reads the tags of all readable pages (logical page and version), selects the newest version of each
/// logical page, and finishes the collections that the cut interrupted. Pages are compared with what was acknowledged to the
/// host: a version is acknowledged when its write has completed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PowerCut {
    /// Time of the cut.
    #[serde(rename = "at_ns", serialize_with = "nanos")]
    pub at: Nanos,
    /// Logical pages whose newest acknowledged version, or a newer one, was found.
    pub kept_pages: u64,
    /// Logical pages with an acknowledged version of which no version was found.
    pub lost_pages: u64,
    /// Logical pages of which only a version older than the newest acknowledged one was found.
    pub stale_pages: u64,
    /// Trimmed pages with an old version that was found. Trims are not durable across power cuts.
    pub undone_trims: u64,
    /// Pages whose newest acknowledged version was only in the buffer, whether or not the buffer survives.
    pub exposed_pages: u64,
    /// Pages with an acknowledged version whose next version was admitted but not on flash. From that admission on, the old page
    /// may be erased unless `device.keep_overwritten` is set.
    pub superseded_pages: u64,
    /// Pages in the buffer.
    pub buffered_pages: u64,
    /// Pages written from the controller's memory to flash on the capacitor's charge.
    pub drained_pages: u64,
    /// Pages that recovery held only in the controller's memory while it erased their block, because their plane had no free
    /// page. None without a capacitor, as long as `gc.reserve` is at least one block more than GC has write points.
    pub held_pages: u64,
    /// Pages whose program was interrupted.
    pub torn_pages: u64,
    /// Blocks whose erase was interrupted; they are erased again.
    pub torn_erases: u64,
    /// Requests in service that never complete.
    pub aborted_requests: u64,
    /// Parity groups with an interrupted update, whose parity was recomputed.
    #[serde(skip_serializing_if = "is_zero")]
    pub repaired_groups: u64,
    /// Pages of failed chips that only such a group could have restored: they are lost.
    #[serde(skip_serializing_if = "is_zero")]
    pub unprotected_pages: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

fn nanos<S: serde::Serializer>(value: &Nanos, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(value.0)
}
