//! Most of the wait is for a queue slot of the device.

use ssdlab_sim::blame::Cause;

use crate::patterns::case::Detector;

/// `queue-full`
pub const DETECTOR: Detector = Detector {
    name: "queue-full",
    about: "over half the wait",
    says: "waited mostly for one of the queue slots of the device",
    causes: &[Cause::Queue],
    extras: &[],
    from_rows: true,
    shows: |case| case.record.mostly(&[Cause::Queue]),
};
