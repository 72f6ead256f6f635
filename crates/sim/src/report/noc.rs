//! Report of the interconnect (paper E).

use serde::Serialize;

/// Kind and direction of a traversal.
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
    /// Host reads.
    pub host_read: u64,
    /// Host writes.
    pub host_write: u64,
    /// GC reads, including copies on the way to error correction.
    pub gc_out: u64,
    /// GC programs.
    pub gc_back: u64,
    /// Sum of all.
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

/// Moved pages by result.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Moved {
    /// Valid pages moved: the paper's copy-backs.
    pub total: u64,
    /// Moved pages that passed error correction; the last ones may not be programmed yet.
    pub checked: u64,
    /// Checked pages with errors.
    pub errors: u64,
    /// Pages programmed from the flash controller's buffer, without crossing the interconnect back.
    pub from_buffer: u64,
}

/// Paper E's latencies.
#[derive(Clone, Debug, Serialize)]
pub struct Latency {
    /// Mean latency of reads.
    pub read_mean: Option<f64>,
    /// Longest read.
    pub read_max: Option<u64>,
    /// Mean latency of writes.
    pub write_mean: Option<f64>,
    /// Longest write.
    pub write_max: Option<u64>,
}

/// The interconnect: traversals, and their effect.
#[derive(Clone, Debug, Serialize)]
pub struct NocSummary {
    /// A page's traversal on the mean path.
    pub traversal_ns: f64,
    /// Routing slices on the mean path: as configured, or the mean over all channels and rows of an array. The paper has 13.5.
    pub mean_slices: f64,
    /// Mean routing slices on the paths of pages, in an array.
    pub travelled_slices: Option<f64>,
    /// Traversals of pages.
    pub traversals: Traversals,
    /// GC traversals per moved page: 2 through the CPU and back, 1 for clean pages.
    pub traversals_per_moved_page: Option<f64>,
    /// Total time of traversals.
    pub busy_ns: u64,
    /// Share of time in which ports were busy, from the first arrival to the last completion.
    pub busy_share: Option<f64>,
    /// Valid pages moved.
    pub moved_pages: Moved,
    /// Largest number of pages in one flash controller's buffer.
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
    /// Moved pages that were checked, those with errors, and those programmed from the buffer.
    pub checked: u64,
    pub errors: u64,
    pub local: u64,
    /// `array`: traversals, and the slices on their paths.
    pub paths: u64,
    pub slices: u64,
    pub buffer_pages_max: u64,
}
