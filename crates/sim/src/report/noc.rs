//! What crossed the interconnect (paper E).

use serde::Serialize;

/// Who crosses, and which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    HostRead,
    HostWrite,
    GcOut,
    GcBack,
}

/// Pages that crossed the interconnect.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Traversals {
    /// Read by the host.
    pub host_read: u64,
    /// Written by the host.
    pub host_write: u64,
    /// Read by collections, or their copies on the way to error correction.
    pub gc_out: u64,
    /// Programmed by collections.
    pub gc_back: u64,
    /// All of them.
    pub total: u64,
}

impl Traversals {
    pub(crate) fn add(&mut self, way: Way, pages: u64) {
        *match way {
            Way::HostRead => &mut self.host_read,
            Way::HostWrite => &mut self.host_write,
            Way::GcOut => &mut self.gc_out,
            Way::GcBack => &mut self.gc_back,
        } += pages;
        self.total += pages;
    }
}

/// Moved pages by what became of them.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Moved {
    /// Valid pages moved: the paper's copy-backs.
    pub total: u64,
    /// That error correction looked at, the last ones perhaps not programmed yet.
    pub checked: u64,
    /// Of those: with errors.
    pub errors: u64,
    /// Programmed from the flash controller's buffer, without a way back across the interconnect.
    pub from_buffer: u64,
}

/// Latencies as paper E tells them.
#[derive(Clone, Debug, Serialize)]
pub struct Latency {
    /// Mean of reads.
    pub read_mean: Option<f64>,
    /// The longest read.
    pub read_max: Option<u64>,
    /// Mean of writes.
    pub write_mean: Option<f64>,
    /// The longest write.
    pub write_max: Option<u64>,
}

/// What crossed the interconnect, and what that did.
#[derive(Clone, Debug, Serialize)]
pub struct NocSummary {
    /// A page's traversal on the mean path.
    pub traversal_ns: f64,
    /// Routing slices on the mean path: as configured, or over all channels and rows of an array. The paper has 13.5.
    pub mean_slices: f64,
    /// Routing slices on the paths that pages took, in an array.
    pub travelled_slices: Option<f64>,
    /// Pages that crossed.
    pub traversals: Traversals,
    /// Traversals of collections a moved page: 2 by way of the CPU and back, 1 for clean pages.
    pub traversals_per_moved_page: Option<f64>,
    /// Time of all traversals together.
    pub busy_ns: u64,
    /// Share of the ports' time, from the first arrival to the last completion.
    pub busy_share: Option<f64>,
    /// Valid pages moved.
    pub moved_pages: Moved,
    /// Most pages that one flash controller's buffer held.
    pub buffer_pages_max: u64,
    /// Mean and peak latencies.
    pub latency_ns: Latency,
}

/// Counters of the measured part of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    pub traversals: Traversals,
    /// Time of traversals that occupied no port.
    pub delayed_ns: u64,
    /// Moved pages that error correction looked at, those it found errors in, and those that came back from the buffer.
    pub checked: u64,
    pub errors: u64,
    pub local: u64,
    /// `array`: traversals and the slices on their paths.
    pub paths: u64,
    pub slices: u64,
    pub buffer_pages_max: u64,
}
