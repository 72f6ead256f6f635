//! Paper A's measures: conflicts of host operations with GC, the buffer, and the cost of a power cut.

use serde::Serialize;

use super::{ByOp, Distribution, Figures, mean};

/// Requests in conflict with GC at their chips.
#[derive(Clone, Debug, Serialize)]
pub struct Conflicted {
    /// Requests with a sub-request that waited while GC held its chip. A write that any chip may serve counts if it waited at the
    /// head of the queue while chips were in GC.
    pub requests: u64,
    /// Sum of their latencies. Divided by that of another scheme it is the normalised sum.
    #[serde(serialize_with = "super::total")]
    pub latency_ns: u128,
    /// `requests` / all requests.
    pub request_share: Option<f64>,
    /// `latency_ns` / the latency of all requests.
    pub latency_share: Option<f64>,
}

/// Conflicts: one sub-request that waits for one collection or one write-back.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Conflicts {
    /// With GC.
    pub gc: u64,
    /// With write-backs of buffered pages.
    pub writeback: u64,
    /// Both.
    pub total: u64,
}

/// State of the device when collections began.
#[derive(Clone, Debug, Serialize)]
pub struct Starts {
    /// Collections that began.
    pub collections: u64,
    /// Collections that began while no host request was outstanding.
    pub in_idle_periods: u64,
    /// `in_idle_periods / collections`.
    pub in_idle_periods_share: Option<f64>,
    /// Idle chips at the start of the other collections, summed.
    pub idle_chips: u64,
    /// Mean share of idle chips at the start of the other collections.
    pub idle_chips_share: Option<f64>,
}

/// Valid pages and their destinations.
#[derive(Clone, Debug, Serialize)]
pub struct Moves {
    /// Collections that became valid page movement streams.
    pub streams: u64,
    /// Pages left in the buffer.
    pub buffered: u64,
    /// Pages moved by `inner`.
    pub in_flash: u64,
    /// `buffered / (buffered + in_flash)`.
    pub buffered_share: Option<f64>,
    /// Buffered pages whose write-back began.
    pub written_back: u64,
    /// Page reads served from the buffer.
    pub read_hits: u64,
    /// Page writes absorbed by the buffer.
    pub absorbed_writes: u64,
}

/// The buffer over time.
#[derive(Clone, Debug, Serialize)]
pub struct Buffer {
    /// Capacity in pages.
    pub slots: u32,
    /// Mean number of buffered pages, from the first arrival to the last completion.
    pub pages_mean: Option<f64>,
    /// Largest number of buffered pages.
    pub pages_max: u32,
}

/// Flash time, in nanoseconds.
#[derive(Clone, Debug, Serialize)]
pub struct Times {
    /// Time for which GC held chips (or dies), from the first arrival to the last completion.
    #[serde(serialize_with = "super::total")]
    pub held_by_gc: u128,
    /// Time for which write-backs or programs of second copies held them.
    #[serde(serialize_with = "super::total")]
    pub held_by_writeback: u128,
    /// Write-backs: transfers on the channel.
    pub writeback_transfer: u64,
    /// Write-backs: page programs.
    pub writeback_program: u64,
}

/// Data at risk in a power cut.
#[derive(Clone, Debug, Serialize)]
pub struct PowerLoss {
    /// `device.power_loss_protection`: the buffer survives, and its pages are written back on the capacitor's charge.
    pub protected: bool,
    /// Whether victims are erased while some of their pages are only in the buffer.
    pub erase_before_durable: bool,
    /// Pages whose newest acknowledged version is only in the buffer, times nanoseconds.
    #[serde(serialize_with = "super::total")]
    pub exposed_page_ns: u128,
    /// Largest number of such pages at one time.
    pub exposed_pages_max: u32,
    /// Eq. (1) with the mean number of buffered pages, rounded: n tRAM + floor(n / chips) (tX + tPROG).
    pub drain_mean_ns: u64,
    /// Eq. (1) with the largest number of buffered pages.
    pub drain_max_ns: u64,
    /// Eq. (1) with a full buffer.
    pub drain_full_ns: u64,
}

/// Bytes of completed requests / (last completion - first arrival), in 10^6 bytes per second.
#[derive(Clone, Debug, Serialize)]
pub struct Bandwidth {
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Read bandwidth.
    pub read_mb_per_s: Option<f64>,
    /// Write bandwidth.
    pub write_mb_per_s: Option<f64>,
    /// Total bandwidth.
    pub all_mb_per_s: Option<f64>,
}

/// Pages used and reclaimed since measuring started: programmed = erased + free at the start - free now.
#[derive(Clone, Debug, Serialize)]
pub struct Space {
    /// Free pages of the device at the start.
    pub free_pages_start: u64,
    /// Free pages now.
    pub free_pages_end: u64,
    /// Pages programmed by all operations, including those that reads of unwritten pages put on flash in no time.
    pub programmed_pages: u64,
    /// Pages programmed for requests that were admitted before measuring started. They are in no count of `flash`:
    /// `programmed_pages` is the sum of these, `flash.programs.total`, `flash.copybacks` and `pages.preloaded`.
    pub unmeasured_pages: u64,
    /// Pages of erased blocks.
    pub erased_pages: u64,
}

/// Paper A's measures.
#[derive(Clone, Debug, Serialize)]
pub struct IdleChip {
    /// Requests in conflict with GC.
    pub conflicted: ByOp<Conflicted>,
    /// Conflicts of sub-requests with GC and write-backs.
    pub conflicts: Conflicts,
    /// State of the device when collections began.
    pub gc_starts: Starts,
    /// Destinations of valid pages.
    pub moves: Moves,
    /// The buffer.
    pub buffer: Buffer,
    /// Time from a page's arrival in the buffer to the start of its write-back.
    pub buffer_waiting_ns: Figures,
    /// Flash time.
    pub time_ns: Times,
    /// Power loss.
    pub power_loss: PowerLoss,
    /// Bandwidth.
    pub bandwidth: Bandwidth,
    /// Space.
    pub space: Space,
}

/// Counters of the measured part of a run.
#[derive(Clone)]
pub(crate) struct Counters {
    /// Requests in conflict and their latency, of reads and of writes.
    pub conflicted: [(u64, u128); 2],
    pub bytes: [u64; 2],
    pub conflicts_gc: u64,
    pub conflicts_writeback: u64,
    pub starts: u64,
    pub idle_starts: u64,
    pub idle_chips: u64,
    pub streams: u64,
    pub buffered: u64,
    pub written_back: u64,
    pub read_hits: u64,
    pub absorbed: u64,
    pub waiting: Distribution,
    /// Integrals at the first arrival: pages in the buffer, units held by GC, and by write-backs.
    pub filled_from: u128,
    pub held_from: [u128; 2],
    /// Free, programmed, erased and unmeasured pages when measuring started.
    pub space: [u64; 4],
}

impl Counters {
    pub(crate) fn new(space: [u64; 4]) -> Self {
        Counters {
            conflicted: [(0, 0); 2],
            bytes: [0; 2],
            conflicts_gc: 0,
            conflicts_writeback: 0,
            starts: 0,
            idle_starts: 0,
            idle_chips: 0,
            streams: 0,
            buffered: 0,
            written_back: 0,
            read_hits: 0,
            absorbed: 0,
            waiting: Distribution::new(),
            filled_from: 0,
            held_from: [0; 2],
            space,
        }
    }

    /// Requests in conflict among `requests` with total latency `latency`.
    pub(crate) fn conflicted(&self, kinds: &[usize], requests: u64, latency: u128) -> Conflicted {
        let count = kinds.iter().map(|kind| self.conflicted[*kind].0).sum();
        let ns: u128 = kinds.iter().map(|kind| self.conflicted[*kind].1).sum();
        Conflicted {
            requests: count,
            latency_ns: ns,
            request_share: mean(u128::from(count), requests),
            latency_share: (latency > 0).then(|| ns as f64 / latency as f64),
        }
    }
}

/// Eq. (1) of the paper: the time to write back `pages` buffered pages, on all chips at once.
pub fn drain_ns(pages: u64, chips: u64, ram_ns: u64, program_ns: u64) -> u64 {
    pages * ram_ns + pages / chips * program_ns
}
