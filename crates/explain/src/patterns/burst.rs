//! Many requests arrived just before this one.

use crate::patterns::case::{Case, Detector, RECENT};

/// `burst`
pub const DETECTOR: Detector = Detector {
    name: "burst",
    about: "over 4 times the mean arrivals in the 10 ms before",
    says: "came in a burst: over 4 times the mean arrived in the 10 ms before",
    causes: &[],
    extras: &[],
    from_rows: true,
    shows,
};

fn shows(_: &Detector, case: &Case<'_>) -> bool {
    // recent > 4 x requests x 10 ms / span
    let world = case.world;
    u128::from(case.recent) * u128::from(world.span) > 4 * u128::from(world.requests) * u128::from(RECENT)
}
