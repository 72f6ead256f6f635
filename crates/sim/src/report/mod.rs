//! The summary of a run: integers and histograms, and the one documented form in which they leave.

mod brr;
mod distribution;
pub mod dpr;
pub mod ecc;
pub mod failure;
pub mod fastgc;
mod raid;

pub use brr::BrrSummary;
pub(crate) use brr::BrrTotals;
pub use distribution::Distribution;
pub(crate) use raid::RaidTotals;
pub use raid::{RaidSummary, Response, Unprotected};
pub mod idle_chip;
pub mod noc;
pub mod pagc;
pub mod power;

use serde::{Serialize, Serializer, ser::SerializeMap};

use crate::blame::{Blame, CAUSES, Cause};
use crate::config::Config;
use crate::device::timing::LegKind;
use crate::device::transaction::{Class, Verb};

/// An exact quotient as a number for people; none over nothing.
pub fn mean(sum: u128, count: u64) -> Option<f64> {
    let count = u128::from(count);
    (count > 0).then(|| (sum / count) as f64 + (sum % count) as f64 / count as f64)
}

/// What is told of a distribution, in nanoseconds.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// Values recorded.
    pub count: u64,
    /// Mean: exact sum / count.
    pub mean: Option<f64>,
    /// Smallest value.
    pub min: Option<u64>,
    /// Largest value.
    pub max: Option<u64>,
    /// Median.
    pub p50: Option<u64>,
    /// 90th percentile.
    pub p90: Option<u64>,
    /// 95th percentile.
    pub p95: Option<u64>,
    /// 99th percentile.
    pub p99: Option<u64>,
    /// 99.9th percentile.
    pub p99_9: Option<u64>,
    /// 99.99th percentile.
    pub p99_99: Option<u64>,
}

/// The same thing told of reads, of writes and of both.
#[derive(Clone, Debug, Serialize)]
pub struct ByOp<T> {
    /// Of reads.
    pub read: T,
    /// Of writes.
    pub write: T,
    /// Of reads and writes.
    pub all: T,
}

/// Total nanoseconds by cause; all causes are listed, and they sum exactly to the total latency.
#[derive(Clone, Debug)]
pub struct Breakdown(pub [u128; Cause::COUNT]);

impl Breakdown {
    /// Nothing yet.
    pub const ZERO: Self = Self([0; Cause::COUNT]);

    /// Adds everything of another one.
    pub fn merge(&mut self, other: &Breakdown) {
        for (total, ns) in self.0.iter_mut().zip(other.0) {
            *total += ns;
        }
    }

    /// Adds one request's causes.
    #[inline]
    pub fn add(&mut self, blame: &Blame) {
        for (total, ns) in self.0.iter_mut().zip(blame.0) {
            *total += u128::from(ns);
        }
    }
}

/// A sum of times: a number of 64 bits in every format, and a wider one where it is.
struct Total(u128);

impl Serialize for Total {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        total(&self.0, serializer)
    }
}

/// See [`Total`].
pub(crate) fn total<S: Serializer>(ns: &u128, serializer: S) -> Result<S::Ok, S::Error> {
    match u64::try_from(*ns) {
        Ok(ns) => serializer.serialize_u64(ns),
        Err(_) => serializer.serialize_u128(*ns),
    }
}

impl Serialize for Breakdown {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(Cause::COUNT))?;
        for (cause, name) in CAUSES {
            map.serialize_entry(name, &Total(self.0[cause as usize]))?;
        }
        map.end()
    }
}

/// Requests by kind.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Requests {
    /// Reads measured.
    pub read: u64,
    /// Writes measured.
    pub write: u64,
    /// Trims measured.
    pub trim: u64,
    /// Flushes and other commands that are not simulated.
    pub skipped: u64,
    /// Completed before the warm-up ended; not measured.
    pub warmup: u64,
}

/// Pages by direction.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Pages {
    /// Pages that reads asked for.
    pub read: u64,
    /// Pages that writes asked for.
    pub written: u64,
    /// Of the pages read: never written before.
    pub unwritten_read: u64,
    /// Of those: put on flash in no time by `device.unwritten_read = "preload"`.
    pub preloaded: u64,
    /// Of the pages read or merged: served from controller memory.
    pub from_memory: u64,
    /// Of the pages written: only in part.
    pub partial_writes: u64,
    /// Pages that trims discarded.
    pub trimmed: u64,
    /// Host programs that waited because their plane had no page they may take.
    pub space_stalls: u64,
}

/// Bytes that requests asked for, by direction.
#[derive(Clone, Debug, Default, Serialize)]
pub struct HostBytes {
    /// By reads.
    pub read: u64,
    /// By writes.
    pub written: u64,
}

impl HostBytes {
    /// A rate by second of simulated time; none in no time.
    pub fn per_second(bytes: u64, simulated_ns: u64) -> Option<f64> {
        mean(u128::from(bytes) * 1_000_000_000, simulated_ns)
    }
}

/// Operations by who asked for them.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ByCause {
    /// Host data.
    pub host: u64,
    /// Collections, pages that went through the controller's buffer included.
    pub gc: u64,
    /// Records of blocks.
    pub metadata: u64,
    /// Parity groups.
    pub parity: u64,
    /// Second copies of pages.
    pub replica: u64,
    /// Pages given up so that write points stand at equal offsets; left out where there are none.
    #[serde(skip_serializing_if = "is_zero")]
    pub wasted: u64,
    /// All of them.
    pub total: u64,
}

impl ByCause {
    /// Counts pages of a class.
    #[inline(always)]
    pub(crate) fn add(&mut self, class: Class, pages: u64) {
        *match class {
            Class::Host => &mut self.host,
            Class::Gc | Class::Writeback => &mut self.gc,
            Class::Metadata => &mut self.metadata,
            Class::Parity => &mut self.parity,
            Class::Replica => &mut self.replica,
        } += pages;
        self.total += pages;
    }

    /// Counts pages that are given up.
    pub(crate) fn waste(&mut self, pages: u32) {
        self.wasted += u64::from(pages);
        self.total += u64::from(pages);
    }

    /// Both together.
    fn plus(&self, other: &ByCause) -> ByCause {
        ByCause {
            host: self.host + other.host,
            gc: self.gc + other.gc,
            metadata: self.metadata + other.metadata,
            parity: self.parity + other.parity,
            replica: self.replica + other.replica,
            wasted: self.wasted + other.wasted,
            total: self.total + other.total,
        }
    }
}

/// Whether there is nothing to tell.
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Multi-plane commands by verb.
#[derive(Clone, Debug, Default, Serialize)]
pub struct MultiPlane {
    /// Reads of two or more planes.
    pub reads: u64,
    /// Programs of two or more planes.
    pub programs: u64,
    /// Erases of two or more planes.
    pub erases: u64,
    /// Copybacks of two or more planes.
    pub copybacks: u64,
}

/// Flash operations; a multi-plane operation counts a page (or block) each.
#[derive(Clone, Debug, Default, Serialize)]
pub struct FlashOps {
    /// Pages read.
    pub reads: ByCause,
    /// Pages programmed, copybacks not among them.
    pub programs: ByCause,
    /// Blocks erased.
    pub erases: u64,
    /// Pages moved by copyback.
    pub copybacks: u64,
    /// Multi-plane commands.
    pub multi_plane: MultiPlane,
}

impl FlashOps {
    /// Both together.
    pub fn plus(&self, other: &FlashOps) -> FlashOps {
        let (m, n) = (&self.multi_plane, &other.multi_plane);
        FlashOps {
            reads: self.reads.plus(&other.reads),
            programs: self.programs.plus(&other.programs),
            erases: self.erases + other.erases,
            copybacks: self.copybacks + other.copybacks,
            multi_plane: MultiPlane {
                reads: m.reads + n.reads,
                programs: m.programs + n.programs,
                erases: m.erases + n.erases,
                copybacks: m.copybacks + n.copybacks,
            },
        }
    }
}

/// Write amplification before and after the middle of the host pages written, to tell whether it still changes.
#[derive(Clone, Debug, Serialize)]
pub struct Halves {
    /// Of the first half.
    pub first: Option<f64>,
    /// Of the second half.
    pub second: Option<f64>,
    /// Whether the second differs from the first by at most a twentieth of the first.
    pub steady: bool,
}

/// Array and bus time of collections, in nanoseconds.
#[derive(Clone, Debug, Default, Serialize)]
pub struct GcTimes {
    /// Page reads.
    pub read: u64,
    /// Transfers on the channel.
    pub transfer: u64,
    /// Page programs.
    pub program: u64,
    /// Block erases.
    pub erase: u64,
    /// Decoding of pages on their way, where that takes time.
    #[serde(skip_serializing_if = "is_zero")]
    pub decode: u64,
}

impl GcTimes {
    /// Adds a leg of a step.
    #[inline]
    pub(crate) fn charge(&mut self, verb: Verb, kind: LegKind, ns: u64) {
        *match (kind, verb) {
            (LegKind::Bus, _) => &mut self.transfer,
            (LegKind::Decode, _) => &mut self.decode,
            // Told with the interconnect.
            (LegKind::Noc | LegKind::Buffer, _) => return,
            (_, Verb::Read) => &mut self.read,
            (_, Verb::Erase) => &mut self.erase,
            (_, Verb::Program) => &mut self.program,
            // Both kinds at once: entered when it begins.
            (_, Verb::Copyback) => return,
        } += ns;
    }
}

/// What collections did.
#[derive(Clone, Debug, Serialize)]
pub struct GcSummary {
    /// Collections completed.
    pub collections: u64,
    /// Valid pages moved.
    pub moved_pages: u64,
    /// Of those: overwritten or trimmed while they moved, so that they landed stale.
    pub moved_stale: u64,
    /// `moved_pages / collections`.
    pub moved_per_collection: Option<f64>,
    /// Host pages programmed per collection.
    pub host_pages_per_collection: Option<f64>,
    /// Flash time by kind.
    pub time_ns: GcTimes,
}

/// Shares of time.
#[derive(Clone, Debug, Serialize)]
pub struct Utilisation {
    /// Share of die time (of units of exclusion) held, from the first arrival to the last completion.
    pub die: Option<f64>,
    /// Share of channel time in transfer, over the same span.
    pub channel: Option<f64>,
    /// Mean over request arrivals of the share of chips with an operation in service.
    pub chip_at_arrival: Option<f64>,
    /// Mean over request arrivals of the requests that waited in the dispatch window, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_at_arrival: Option<f64>,
}

/// Erase counts by block since the device was new.
#[derive(Clone, Debug, Serialize)]
pub struct Wear {
    /// Fewest erases of a block.
    pub erases_min: u32,
    /// Most erases of a block.
    pub erases_max: u32,
    /// Mean erases of a block.
    pub erases_mean: Option<f64>,
}

/// The sections of a [`Summary`] that belong to one scheme each and are left out where it is not in use.
pub const SCHEME_SECTIONS: [&str; 8] = ["idle_chip", "pagc", "brr", "dpr", "fastgc", "noc", "raid", "ecc"];

/// Everything that a run tells. The same configuration, trace, seed and version give the same bytes.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// `ssdlab.summary/1`.
    pub schema: &'static str,
    /// Version of the program.
    pub version: &'static str,
    /// Seed of every random stream.
    pub seed: u64,
    /// The effective configuration.
    pub config: Config,
    /// Digest of the effective configuration.
    pub config_digest: String,
    /// Digest of the accepted requests.
    pub trace_digest: String,
    /// What a read may return.
    pub consistency_rule: &'static str,
    /// When a host write is acknowledged.
    pub write_ack: crate::config::WriteAck,
    /// Requests by kind.
    pub requests: Requests,
    /// Pages by direction.
    pub pages: Pages,
    /// Bytes that requests asked for.
    pub bytes: HostBytes,
    /// Last host completion - first arrival.
    pub simulated_ns: u64,
    /// Bytes read by second of simulated time.
    pub host_read_bytes_per_s: Option<f64>,
    /// Bytes written by second of simulated time.
    pub host_written_bytes_per_s: Option<f64>,
    /// Completion - arrival.
    pub latency_ns: ByOp<Figures>,
    /// The sum of a request's wait causes.
    pub waiting_ns: ByOp<Figures>,
    /// Total time by cause.
    pub breakdown_ns: ByOp<Breakdown>,
    /// Flash operations.
    pub flash: FlashOps,
    /// Reads and writes with a wait that there would not be without collections.
    pub requests_delayed_by_gc: ByOp<u64>,
    /// All programs (copybacks included) / host pages written.
    pub write_amplification: Option<f64>,
    /// The same before and after the middle of the host pages written; none if collections were fewer than planes.
    pub write_amplification_halves: Option<Halves>,
    /// What collections did.
    pub gc: GcSummary,
    /// Shares of time.
    pub utilisation: Utilisation,
    /// Erase counts.
    pub wear: Wear,
    /// Moves by copyback where counts or checks decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fastgc: Option<fastgc::FastGc>,
    /// Bit errors, where they are simulated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecc: Option<ecc::Ecc>,
    /// Balanced redirected reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub brr: Option<BrrSummary>,
    /// Second copies of pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dpr: Option<dpr::Dpr>,
    /// Parity groups.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raid: Option<RaidSummary>,
    /// Failed chips.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failures: Option<failure::Failed>,
    /// Paper A's measures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_chip: Option<idle_chip::IdleChip>,
    /// Power cuts and what was recovered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub power_cuts: Vec<power::PowerCut>,
    /// Paper B's figures, where a die has two planes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pagc: Option<pagc::PaGcSummary>,
    /// What crossed the interconnect, on devices that have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noc: Option<noc::NocSummary>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_upper_edges_of_exact_ranks() {
        let mut d = Distribution::new();
        (1..=1000).for_each(|v| d.record(v));
        let f = d.figures();
        assert_eq!((f.p50, f.p90, f.p99, f.p99_9, f.p99_99), (Some(500), Some(900), Some(990), Some(999), Some(1000)));
        assert_eq!((f.mean, f.min, f.max), (Some(500.5), Some(1), Some(1000)));
        let mut d = Distribution::new();
        d.record(1_000_003);
        assert_eq!(d.figures().p50, Some(1_000_003), "never above the maximum");
        d.record(3_000_000);
        assert_eq!(d.figures().p50, Some(1_000_447), "the upper edge of a bucket of 512 ns");
        assert_eq!(Distribution::new().figures().p50, None);
    }
}
