//! Most of the wait is for a line of the write cache.

use ssdlab_sim::blame::Extra;

use crate::explain::patterns::case::{Case, Detector};

/// `cache-full`
pub const DETECTOR: Detector = Detector {
    name: "cache-full",
    about: "over half the wait",
    says: "waited mostly for a line of the write cache",
    causes: &[],
    extras: &[Extra::Cache],
    from_rows: true,
    shows,
};

fn shows(case: &Case<'_>) -> bool {
    case.record.is_mostly(case.record.extras.0[Extra::Cache as usize].into())
}
