//! Most of the wait is for another tenant: at dies and channels, or because it got the slots of the device.

use ssdlab_sim::blame::Extra;

use crate::patterns::case::{Case, Detector};

/// `tenant`; in results `tenant:NAME`, with the tenant for which requests waited longest at dies and channels.
pub const DETECTOR: Detector = Detector {
    name: "tenant",
    about: "over half the wait",
    says: "waited mostly for another tenant",
    causes: &[],
    extras: &[Extra::Arbitration],
    from_rows: false,
    shows,
};

fn shows(_: &Detector, case: &Case<'_>) -> bool {
    let record = case.record;
    let inside = record.aggressor.map_or(0, |(_, ns)| ns);
    let outside = record.extras.0[Extra::Arbitration as usize];
    record.is_mostly(u128::from(inside) + u128::from(outside))
}
