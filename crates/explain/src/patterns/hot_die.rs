//! A few dies have much of the tail.

use ssdlab_sim::units::PlaneId;

use crate::patterns::case::{Case, Detector};

/// `hot-die`
pub const DETECTOR: Detector = Detector {
    name: "hot-die",
    about: "a die with over 4 times its share of the tail",
    says: "were served by dies that have over 4 times their share of the tail",
    causes: &[],
    extras: &[],
    from_rows: false,
    shows,
};

/// Requests of a die that are no accident. In a short tail every die that is in it at all has many times its share.
const LEAST: u64 = 3;

fn shows(_: &Detector, case: &Case<'_>) -> bool {
    let (Some(known), Some(plane)) = (case.world.known, case.record.plane) else { return false };
    let here = case.world.by_unit[known.geometry.unit_of(PlaneId(plane)).0 as usize];
    here >= LEAST && here * u64::from(known.geometry.units) > 4 * case.world.tail
}
