//! Most of the wait is for a line of the write cache.

use ssdlab_sim::blame::Extra;

use crate::patterns::case::Detector;

/// Causes of a wait for a line.
const LINES: [Extra; 3] = [Extra::Cache, Extra::CacheGc, Extra::CacheHost];

/// `cache-full`
pub const DETECTOR: Detector = Detector {
    name: "cache-full",
    about: "over half the wait",
    says: "waited mostly for a line of the write cache",
    causes: &[],
    extras: &LINES,
    from_rows: true,
    shows: |case| case.record.is_mostly(LINES.iter().map(|extra| u128::from(case.record.extra(*extra))).sum()),
};
