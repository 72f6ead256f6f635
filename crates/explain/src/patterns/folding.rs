//! Most of the wait is for folds of the cache of SLC.

use ssdlab_sim::blame::Extra;

use crate::patterns::case::Detector;

/// `folding`
pub const DETECTOR: Detector = Detector {
    name: "folding",
    about: "over half the wait",
    says: "waited mostly for a fold of the SLC cache",
    causes: &[],
    extras: &[Extra::Slc],
    from_rows: true,
    shows: |case| case.record.is_mostly(u128::from(case.record.extras.0[Extra::Slc as usize])),
};
