//! More arrives than the device can serve: waits grow with the length of the run.

use crate::patterns::case::Detector;

/// `overload`
pub const DETECTOR: Detector = Detector {
    name: "overload",
    about: "more arrives than the device can serve; everything else is moot",
    says: "came while more arrived than the device can serve",
    causes: &[],
    extras: &[],
    from_rows: false,
    shows: |_, case| case.world.known.is_some_and(|known| known.overload.is_some()),
};
