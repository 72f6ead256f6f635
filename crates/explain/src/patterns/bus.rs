//! Most of the wait is for a channel or the interconnect.

use ssdlab_sim::blame::Cause;

use crate::patterns::case::Detector;

/// `bus`
pub const DETECTOR: Detector = Detector {
    name: "bus",
    about: "over half the wait",
    says: "waited mostly for a channel",
    causes: &[Cause::BusHost, Cause::BusGc, Cause::NocHost, Cause::NocGc],
    extras: &[],
    from_rows: true,
    shows: |case| case.record.mostly(&[Cause::BusHost, Cause::BusGc, Cause::NocHost, Cause::NocGc]),
};
