//! Report of the lifetime.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// Most points of a curve.
const POINTS: usize = 128;

/// The end of the device's writing.
#[derive(Clone, Debug, Serialize)]
pub struct End {
    /// Why it ended.
    pub reason: &'static str,
    /// The plane whose spare blocks were used up.
    pub plane: u32,
    /// Pages that the host had written by then.
    pub host_pages: u64,
    /// Bytes that the host had written by then.
    pub host_bytes: u64,
    /// When it ended.
    pub at_ns: u64,
}

/// Drive writes a day, by years.
#[derive(Clone, Debug)]
pub struct Dwpd(pub Vec<(u32, f64)>);

impl Serialize for Dwpd {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        self.0.iter().try_for_each(|(years, rate)| map.serialize_entry(&years.to_string(), rate))?;
        map.end()
    }
}

/// Blocks that are not used any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RetiredBlocks {
    /// An erase failed.
    pub erase: u64,
    /// A program failed.
    pub program: u64,
    /// They were bad from the factory.
    pub initial: u64,
}

/// Spare blocks of a plane at the end of the run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SpareLeft {
    /// The fewest of a plane.
    pub min: u32,
    /// The mean of all planes.
    pub mean: f64,
}

/// Writes after the end, which complete at once with an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Rejected {
    /// Requests.
    pub requests: u64,
    /// Their pages.
    pub pages: u64,
}

/// The lifetime of the device. With `life.accelerate`, amounts of host writes and times are multiplied by it.
#[derive(Clone, Debug, Serialize)]
pub struct LifeReport {
    /// `life.accelerate`, if it is more than 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accelerated: Option<u32>,
    /// The end of the device's writing; null if it still writes.
    pub end: Option<End>,
    /// Bytes that the host has written: up to the end, if there was one.
    pub tbw_bytes: u64,
    /// These as writes of the whole drive a day, for years of `life.dwpd_years`.
    pub dwpd: Dwpd,
    /// Without an end: bytes x limits of all blocks / their wear, as if wear went on alike (linear).
    pub projected_tbw_bytes: Option<u64>,
    /// Write amplification in each tenth of the pages that the host has written; null where nothing was written.
    pub write_amplification_by_tenth: [Option<f64>; 10],
    /// Blocks that are not used any more.
    pub retired: RetiredBlocks,
    /// Spare blocks left.
    pub spare_left: SpareLeft,
    /// Bytes that the host had written when the first block failed.
    pub first_failure_host_bytes: Option<u64>,
    /// Sum of the wear of all blocks / sum of their limits.
    pub used_endurance: f64,
    /// Bytes that the host had written, and usable and spare blocks left, at failures of blocks: at most 128 points.
    pub survival: Vec<[u64; 2]>,
    /// Writes after the end.
    pub rejected: Rejected,
    /// Failed blocks whose valid pages were moved.
    pub salvaged_blocks: u64,
    /// Reads and moves of pages that ECC could not correct; null without simulated bit errors.
    pub lost_pages: Option<u64>,
}

/// Blocks at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LifeSample {
    /// Blocks that have failed.
    pub retired: u64,
    /// Spare blocks left in all planes.
    pub spare_left: u64,
    /// Mean P/E cycles of a block, in millionths.
    pub wear_mean: u64,
    /// Most P/E cycles of a block, in millionths.
    pub wear_max: u64,
}

/// Some of many points, evenly: the first and the last are among them.
pub(crate) fn thinned(points: Vec<[u64; 2]>) -> Vec<[u64; 2]> {
    if points.len() <= POINTS {
        return points;
    }
    let last = points.len() - 1;
    (0..POINTS).map(|n| points[n * last / (POINTS - 1)]).collect()
}
