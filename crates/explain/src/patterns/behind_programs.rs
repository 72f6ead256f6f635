//! Most of the wait is for other requests on the die: programs, as a rule, which take longest.

use ssdlab_sim::blame::Cause;

use crate::patterns::case::Detector;

/// `behind-programs`
pub const DETECTOR: Detector = Detector {
    name: "behind-programs",
    about: "over half the wait",
    says: "waited mostly for other requests on the die",
    causes: &[Cause::DieHost],
    extras: &[],
    from_rows: true,
    shows: |case| case.record.mostly(&[Cause::DieHost]),
};
