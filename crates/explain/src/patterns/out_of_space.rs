//! Most of the wait is for a free page, or for a slot of the buffer.

use ssdlab_sim::blame::Cause;

use crate::patterns::case::Detector;

/// `out-of-space`
pub const DETECTOR: Detector = Detector {
    name: "out-of-space",
    about: "over half the wait",
    says: "waited mostly for a free page or a buffer slot",
    causes: &[Cause::Space, Cause::Staging],
    extras: &[],
    from_rows: true,
    shows: |case| case.record.mostly(&[Cause::Space, Cause::Staging]),
};
