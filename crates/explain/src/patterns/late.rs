//! Most of the wait is for requests that a collection has delayed.

use ssdlab_sim::blame::Cause;

use crate::patterns::case::Detector;

/// `late`
pub const DETECTOR: Detector = Detector {
    name: "late",
    about: "over half the wait",
    says: "waited mostly for requests that GC had delayed",
    causes: &[Cause::DieLate],
    extras: &[],
    from_rows: true,
    shows: |case| case.record.mostly(&[Cause::DieLate]),
};
