//! The summary of a run: integers and histograms, and their one documented form.

mod brr;
pub mod cache;
mod distribution;
pub mod dpr;
pub mod ecc;
pub mod factors;
pub mod failure;
pub mod fastgc;
pub mod fdp;
pub mod histogram;
mod raid;

pub use brr::BrrSummary;
pub(crate) use brr::BrrTotals;
pub use distribution::Distribution;
pub(crate) use raid::RaidTotals;
pub use raid::{RaidSummary, Response, Unprotected};
pub mod idle_chip;
pub mod life;
pub mod noc;
pub mod overload;
pub mod pagc;
pub mod page_types;
pub mod power;
pub mod slc;
pub mod tenants;
pub mod units;

use std::io;

use serde::{Serialize, Serializer, ser::SerializeMap};

use crate::blame::{BY_GC, Blame, CAUSES, Cause, Extra};
use crate::carry::Carrier;
use crate::config::Config;
use crate::device::command::LegKind;
use crate::device::transaction::{Class, Verb};
use crate::units::count_few;

/// An exact quotient as a number for people; none if the divisor is 0.
pub fn mean(sum: u128, count: u64) -> Option<f64> {
    let count = u128::from(count);
    (count > 0).then(|| (sum / count) as f64 + (sum % count) as f64 / count as f64)
}

/// Figures of a distribution, in nanoseconds.
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

/// A value for reads, for writes and for both.
#[derive(Clone, Debug, Serialize)]
pub struct ByOp<T> {
    /// For reads.
    pub read: T,
    /// For writes.
    pub write: T,
    /// For reads and writes.
    pub all: T,
}

/// Total nanoseconds by cause, and by cause of optional features that the device has. They sum exactly to the total latency.
#[derive(Clone, Debug)]
pub struct Breakdown(pub [u128; Cause::COUNT], pub Vec<(Extra, u128)>);

impl Breakdown {
    /// All zero.
    pub const ZERO: Self = Self([0; Cause::COUNT], Vec::new());

    /// Adds another breakdown.
    pub fn merge(&mut self, other: &Breakdown) {
        for (total, ns) in self.0.iter_mut().zip(other.0) {
            *total += ns;
        }
        for (extra, ns) in &other.1 {
            match self.1.iter_mut().find(|(own, _)| own == extra) {
                Some((_, total)) => *total += ns,
                None => self.1.push((*extra, *ns)),
            }
        }
    }

    /// Total of all causes.
    pub fn sum(&self) -> u128 {
        self.0.iter().sum::<u128>() + self.1.iter().map(|(_, ns)| ns).sum::<u128>()
    }

    /// Total of the waits that would not exist without GC.
    pub fn by_gc(&self) -> u128 {
        let extras = self.1.iter().filter(|(extra, _)| extra.is_by_gc());
        BY_GC.iter().map(|cause| self.0[*cause as usize]).sum::<u128>() + extras.map(|(_, ns)| ns).sum::<u128>()
    }

    /// Adds one request's causes.
    #[inline]
    pub fn add(&mut self, blame: &Blame) {
        for (total, ns) in self.0.iter_mut().zip(blame.0) {
            *total += u128::from(ns);
        }
    }
}

/// A sum of times: a 64-bit number in every format if it fits, otherwise a wider one.
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
        let mut map = serializer.serialize_map(Some(Cause::COUNT + self.1.len()))?;
        for (cause, name) in CAUSES {
            map.serialize_entry(name, &Total(self.0[cause as usize]))?;
        }
        for (extra, ns) in &self.1 {
            map.serialize_entry(extra.name(), &Total(*ns))?;
        }
        map.end()
    }
}

/// Requests by kind.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Requests {
    /// Measured reads.
    pub read: u64,
    /// Measured writes.
    pub write: u64,
    /// Measured trims.
    pub trim: u64,
    /// Measured flushes; absent without a write cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flush: Option<u64>,
    /// Commands that are not simulated; flushes among them without a write cache.
    pub skipped: u64,
    /// Requests completed before the warm-up ended; not measured.
    pub warmup: u64,
}

/// Latencies by kind of request.
#[derive(Clone, Debug, Serialize)]
pub struct Latencies {
    /// Of reads.
    pub read: Figures,
    /// Of writes.
    pub write: Figures,
    /// Of reads and writes.
    pub all: Figures,
    /// Of flushes, which are not in `all`; absent without a write cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flush: Option<Figures>,
}

/// Pages by direction.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Pages {
    /// Pages of reads.
    pub read: u64,
    /// Pages of writes.
    pub written: u64,
    /// Pages read that had never been written.
    pub unwritten_read: u64,
    /// Unwritten pages put on flash in no time (`device.unwritten_read = "preload"`).
    pub preloaded: u64,
    /// Pages read or merged that were served from controller memory.
    pub from_memory: u64,
    /// Pages written in part.
    pub partial_writes: u64,
    /// Pages that trims discarded.
    pub trimmed: u64,
    /// Host programs that waited for a free page of their plane.
    pub space_stalls: u64,
}

/// Bytes of requests, by direction.
#[derive(Clone, Debug, Default, Serialize)]
pub struct HostBytes {
    /// Read.
    pub read: u64,
    /// Written.
    pub written: u64,
}

impl HostBytes {
    /// Bytes per second of simulated time; none if no time passed.
    pub fn per_second(bytes: u64, simulated_ns: u64) -> Option<f64> {
        mean(u128::from(bytes) * 1_000_000_000, simulated_ns)
    }
}

/// Operations by origin.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ByCause {
    /// Host data.
    pub host: u64,
    /// GC, including pages that went through the controller's buffer.
    pub gc: u64,
    /// Metadata of blocks.
    pub metadata: u64,
    /// Parity groups.
    pub parity: u64,
    /// Second copies of pages.
    pub replica: u64,
    /// Lines of the write cache; absent if 0.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache: u64,
    /// Folds of the cache of SLC; absent if 0.
    #[serde(skip_serializing_if = "is_zero")]
    pub fold: u64,
    /// Pages rewritten because of bit errors; absent if 0.
    #[serde(skip_serializing_if = "is_zero")]
    pub refresh: u64,
    /// Pages skipped so that write points have equal offsets; absent if 0.
    #[serde(skip_serializing_if = "is_zero")]
    pub wasted: u64,
    /// Sum of all.
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
            Class::Cache => &mut self.cache,
            Class::Fold => &mut self.fold,
            Class::Refresh => &mut self.refresh,
        } += pages;
        self.total += pages;
    }

    /// Counts the flash pages, at most a few, of one page of the host.
    #[inline(always)]
    pub(crate) fn add_of_host(&mut self, pages: u64) {
        count_few(&mut self.host, pages);
        count_few(&mut self.total, pages);
    }

    /// Counts skipped pages.
    pub(crate) fn waste(&mut self, pages: u32) {
        self.wasted += u64::from(pages);
        self.total += u64::from(pages);
    }

    /// Sum of both.
    fn plus(&self, other: &ByCause) -> ByCause {
        ByCause {
            host: self.host + other.host,
            gc: self.gc + other.gc,
            metadata: self.metadata + other.metadata,
            parity: self.parity + other.parity,
            replica: self.replica + other.replica,
            cache: self.cache + other.cache,
            fold: self.fold + other.fold,
            refresh: self.refresh + other.refresh,
            wasted: self.wasted + other.wasted,
            total: self.total + other.total,
        }
    }
}

/// Whether a count is omitted from the summary.
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

/// Flash operations. A multi-plane operation counts once per page (or block).
#[derive(Clone, Debug, Default, Serialize)]
pub struct FlashOps {
    /// Pages read.
    pub reads: ByCause,
    /// Pages programmed, without copybacks.
    pub programs: ByCause,
    /// Blocks erased.
    pub erases: u64,
    /// Pages moved by copyback.
    pub copybacks: u64,
    /// Multi-plane commands.
    pub multi_plane: MultiPlane,
}

impl FlashOps {
    /// Carries all counts.
    pub(crate) fn carry(&mut self, carrier: &mut Carrier<'_>) -> io::Result<()> {
        let FlashOps { reads, programs, erases, copybacks, multi_plane } = self;
        // Filling folds nothing, and reads no page for the host that it would rewrite.
        for ByCause { host, gc, metadata, parity, replica, cache, fold: _, refresh: _, wasted, total } in
            [reads, programs]
        {
            let counts = [host, gc, metadata, parity, replica, cache, wasted, total];
            counts.into_iter().try_for_each(|count| carrier.value(count))?;
        }
        let MultiPlane { reads, programs, erases: blocks, copybacks: copies } = multi_plane;
        let counts = [erases, copybacks, reads, programs, blocks, copies];
        counts.into_iter().try_for_each(|count| carrier.value(count))
    }

    /// Sum of both.
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

/// Write amplification in the first and second half of the host pages written, to see whether it still changes. What the host has
/// written and what was programmed are taken at the same moments, when writes complete.
#[derive(Clone, Debug, Serialize)]
pub struct Halves {
    /// In the first half.
    pub first: Option<f64>,
    /// In the second half.
    pub second: Option<f64>,
    /// In bytes (see `write_amplification_bytes`), in the first half.
    pub first_bytes: Option<f64>,
    /// The same in the second half.
    pub second_bytes: Option<f64>,
    /// Whether the second differs from the first by at most 5 % of the first.
    pub steady: bool,
}

/// Array and bus time of GC, in nanoseconds.
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
    /// Decoding of moved pages, if it takes time.
    #[serde(skip_serializing_if = "is_zero")]
    pub decode: u64,
}

impl GcTimes {
    /// Adds the time of a leg.
    #[inline]
    pub(crate) fn charge(&mut self, verb: Verb, kind: LegKind, ns: u64) {
        *match (kind, verb) {
            (LegKind::Bus, _) => &mut self.transfer,
            (LegKind::Decode | LegKind::Check, _) => &mut self.decode,
            // Reported with the interconnect.
            (LegKind::Noc | LegKind::Buffer, _) => return,
            (_, Verb::Read) => &mut self.read,
            (_, Verb::Erase) => &mut self.erase,
            (_, Verb::Program) => &mut self.program,
            // Reads and programs at once: counted when the copyback begins.
            (_, Verb::Copyback) => return,
        } += ns;
    }
}

/// Garbage collection.
#[derive(Clone, Debug, Serialize)]
pub struct GcSummary {
    /// Collections completed.
    pub collections: u64,
    /// Valid pages moved.
    pub moved_pages: u64,
    /// Moved pages that were overwritten or trimmed during the move, so that they landed stale.
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
    /// Share of time in which dies (units of exclusion) were held, from the first arrival to the last completion.
    pub die: Option<f64>,
    /// Share of time in which channels transferred, over the same span.
    pub channel: Option<f64>,
    /// Mean share of chips with an operation in service, at request arrivals.
    pub chip_at_arrival: Option<f64>,
    /// Mean number of requests in the dispatch window at request arrivals, if there is a window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_at_arrival: Option<f64>,
}

/// Erase counts of blocks since the start.
#[derive(Clone, Debug, Serialize)]
pub struct Wear {
    /// Fewest erases of a block.
    pub erases_min: u32,
    /// Most erases of a block.
    pub erases_max: u32,
    /// Mean erases of a block.
    pub erases_mean: Option<f64>,
    /// The same of blocks in the time for which they belonged to the cache of SLC; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slc: Option<Box<Wear>>,
}

/// Sections of a [`Summary`] that belong to one scheme each. They are absent if the scheme is not in use.
pub const SCHEME_SECTIONS: [&str; 15] = [
    "fairness",
    "page_types",
    "cache",
    "units",
    "fdp",
    "slc",
    "life",
    "idle_chip",
    "pagc",
    "brr",
    "dpr",
    "fastgc",
    "noc",
    "raid",
    "ecc",
];

/// Summary of a run. Equal configuration, trace, seed and version give equal bytes.
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
    /// Consistency rule of reads.
    pub consistency_rule: &'static str,
    /// When a host write is acknowledged.
    pub write_ack: crate::config::WriteAck,
    /// Digest of flushes and of writes with forced unit access; absent without a write cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flush_digest: Option<String>,
    /// Requests by kind.
    pub requests: Requests,
    /// Pages by direction.
    pub pages: Pages,
    /// Bytes of requests.
    pub bytes: HostBytes,
    /// Last host completion - first arrival.
    pub simulated_ns: u64,
    /// Bytes read per second of simulated time.
    pub host_read_bytes_per_s: Option<f64>,
    /// Bytes written per second of simulated time.
    pub host_written_bytes_per_s: Option<f64>,
    /// Completion - arrival.
    pub latency_ns: Latencies,
    /// The sum of a request's wait causes.
    pub waiting_ns: ByOp<Figures>,
    /// Total time by cause.
    pub breakdown_ns: ByOp<Breakdown>,
    /// Flash operations.
    pub flash: FlashOps,
    /// Reads and writes whose wait would be shorter without GC.
    pub requests_delayed_by_gc: ByOp<u64>,
    /// All programs (copybacks included) / host pages written.
    pub write_amplification: Option<f64>,
    /// Bytes of flash programmed (copybacks included) / bytes that the host wrote.
    pub write_amplification_bytes: Option<f64>,
    /// Why it is as large as it is.
    pub write_amplification_factors: factors::Factors,
    /// Write amplification of both halves of the host pages written; none with fewer collections than planes.
    pub write_amplification_halves: Option<Halves>,
    /// Garbage collection.
    pub gc: GcSummary,
    /// Shares of time.
    pub utilisation: Utilisation,
    /// More arrives than can be served; absent otherwise, and where requests are a closed loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overload: Option<overload::Overload>,
    /// Erase counts.
    pub wear: Wear,
    /// Copybacks, if counts or checks decide about them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fastgc: Option<fastgc::FastGc>,
    /// Bit errors, if they are simulated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecc: Option<ecc::Ecc>,
    /// Balanced redirected reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub brr: Option<BrrSummary>,
    /// Tenants, if requests have any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenants: Option<tenants::Tenants>,
    /// What tenants cost each other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interference_ns: Option<tenants::Interference>,
    /// How evenly tenants are served.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fairness: Option<tenants::Fairness>,
    /// Host operations by page type, where they are counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_types: Option<page_types::PageTypes>,
    /// The write cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<cache::Cache>,
    /// Units of the map in programs, where a program has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub units: Option<units::UnitsReport>,
    /// Placement handles, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fdp: Option<fdp::FdpReport>,
    /// The cache of SLC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slc: Option<slc::SlcReport>,
    /// The lifetime, where blocks wear out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub life: Option<life::LifeReport>,
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
    /// Power cuts and their recovery.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub power_cuts: Vec<power::PowerCut>,
    /// Paper B's measures, if a die has two planes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pagc: Option<pagc::PaGcSummary>,
    /// The interconnect, if there is one.
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
