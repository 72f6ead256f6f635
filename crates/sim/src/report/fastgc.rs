//! Paper D's measures: moved pages, cost of metadata, and response times as the flash wears.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{GcTimes, mean};
use crate::device::errors::MAX_THRESHOLD;
use crate::device::wear::UNKNOWN;

const COUNTS: usize = MAX_THRESHOLD as usize + 1;

/// Requests completed during one step of the thresholds.
#[derive(Clone, Copy, Debug, Default)]
struct StageSums {
    pe_cycles: u32,
    reads: u64,
    read_ns: u128,
    writes: u64,
    write_ns: u128,
}

#[derive(Clone, Debug)]
pub(crate) struct CopyCounters {
    pub copied_pages: u64,
    pub external_pages: u64,
    copied: [u64; COUNTS],
    external: [u64; COUNTS],
    unknown: u64,
    /// By step of the thresholds.
    stages: Vec<StageSums>,
}

impl Default for CopyCounters {
    fn default() -> Self {
        CopyCounters {
            copied_pages: 0,
            external_pages: 0,
            copied: [0; COUNTS],
            external: [0; COUNTS],
            unknown: 0,
            stages: Vec::new(),
        }
    }
}

impl CopyCounters {
    /// Counts a moved page with `count` earlier copybacks.
    #[inline]
    pub(crate) fn moved(&mut self, count: u8, externally: bool) {
        if count == UNKNOWN {
            self.unknown += 1;
        } else {
            let by = if externally { &mut self.external } else { &mut self.copied };
            by[usize::from(count)] += 1;
        }
    }

    /// Counts a request that completed during the threshold step `step`, which begins at `pe_cycles`.
    pub(crate) fn completed(&mut self, step: usize, pe_cycles: u32, read: bool, latency: u64) {
        if self.stages.len() <= step {
            self.stages.resize(step + 1, StageSums::default());
        }
        let stage = &mut self.stages[step];
        stage.pe_cycles = pe_cycles;
        let (count, sum) =
            if read { (&mut stage.reads, &mut stage.read_ns) } else { (&mut stage.writes, &mut stage.write_ns) };
        *count += 1;
        *sum += u128::from(latency);
    }
}

/// Response times during one step of the copyback thresholds.
#[derive(Clone, Debug, Serialize)]
pub struct Stage {
    /// Reads completed.
    pub reads: u64,
    /// Mean latency of reads.
    pub read_mean_ns: Option<f64>,
    /// Writes completed.
    pub writes: u64,
    /// Mean latency of writes.
    pub write_mean_ns: Option<f64>,
}

/// Moved pages, for paths that keep copied pages apart.
#[derive(Clone, Debug, Serialize)]
pub struct FastGc {
    /// Pages copied inside their planes.
    pub copied_pages: u64,
    /// Pages moved through the controller. Pages written back from a buffer are not in the lists below.
    pub external_pages: u64,
    /// Copied pages by the number of earlier copybacks, from 0 up.
    pub copied_by_count: Vec<u64>,
    /// External pages by the number of earlier copybacks, from 0 up.
    pub external_by_count: Vec<u64>,
    /// External pages whose count was lost in a power cut.
    pub unknown_counts: u64,
    /// Largest copyback count of any moved page.
    pub largest_count: u32,
    /// Moved pages per host page programmed: paper D's write amplification (its equation 1).
    pub moved_per_host_page: Option<f64>,
    /// Metadata pages per block.
    pub metadata_pages_per_block: u32,
    /// Metadata pages read and programmed.
    pub metadata_reads: u64,
    /// See `metadata_reads`.
    pub metadata_programs: u64,
    /// Flash time of metadata.
    pub metadata_time_ns: GcTimes,
    /// Flash time of GC and metadata.
    pub collection_time_ns: u64,
    /// Share of transfers in the flash time of GC, without metadata.
    pub transfer_share: Option<f64>,
    /// Mean P/E cycles of a block at the end.
    pub pe_cycles: u32,
    /// Response times by threshold step. The step is that of the blocks' mean P/E cycles; its name is its first P/E cycle.
    pub stages: BTreeMap<String, Stage>,
    /// Host writes until blocks reach `wear.rated_pe_cycles` on average, at the measured erase rate, as a multiple of the
    /// exported space; none if nothing was erased.
    pub lifetime_drive_writes: Option<f64>,
}

/// Facts about the device that the report needs beside the counters.
pub(crate) struct Facts {
    pub moved: u64,
    pub host_programs: u64,
    pub host_pages: u64,
    pub metadata: (u32, u64, u64),
    pub gc_time: GcTimes,
    pub metadata_time: GcTimes,
    pub pe_cycles: u32,
    pub rated: u32,
    pub erases: u64,
    pub blocks: u64,
    pub exported: u64,
}

impl FastGc {
    pub(crate) fn new(counters: &CopyCounters, facts: &Facts) -> Self {
        let listed = |counts: &[u64]| {
            let used = counts.iter().rposition(|count| *count > 0).map_or(0, |last| last + 1);
            counts[..used].to_vec()
        };
        let (copied, external) = (listed(&counters.copied), listed(&counters.external));
        let largest = copied.len().max((external.len()).saturating_sub(1)) as u32;
        let sum = |times: &GcTimes| times.read + times.transfer + times.program + times.erase + times.decode;
        let stage = |sums: &StageSums| Stage {
            reads: sums.reads,
            read_mean_ns: mean(sums.read_ns, sums.reads),
            writes: sums.writes,
            write_mean_ns: mean(sums.write_ns, sums.writes),
        };
        let stages = counters.stages.iter().filter(|sums| sums.reads + sums.writes > 0);
        // Remaining erases, divided by erases per host page and by pages per drive write: exact until the last division.
        let left = u128::from(facts.rated.saturating_sub(facts.pe_cycles)) * u128::from(facts.blocks);
        let lifetime = (facts.erases > 0 && facts.exported > 0).then(|| {
            (left * u128::from(facts.host_pages)) as f64
                / (u128::from(facts.erases) * u128::from(facts.exported)) as f64
        });
        FastGc {
            copied_pages: counters.copied_pages,
            external_pages: counters.external_pages,
            copied_by_count: copied,
            external_by_count: external,
            unknown_counts: counters.unknown,
            largest_count: largest,
            moved_per_host_page: mean(u128::from(facts.moved), facts.host_programs),
            metadata_pages_per_block: facts.metadata.0,
            metadata_reads: facts.metadata.1,
            metadata_programs: facts.metadata.2,
            collection_time_ns: sum(&facts.gc_time) + sum(&facts.metadata_time),
            metadata_time_ns: facts.metadata_time.clone(),
            transfer_share: mean(u128::from(facts.gc_time.transfer), sum(&facts.gc_time)),
            pe_cycles: facts.pe_cycles,
            stages: stages.map(|sums| (format!("pe_{}", sums.pe_cycles), stage(sums))).collect(),
            lifetime_drive_writes: lifetime,
        }
    }
}
