//! Most of the wait is for collections of its own plane and of another one of the die, one after the other.

use ssdlab_sim::blame::Cause;

use crate::patterns::case::{Case, Detector, mostly};
use crate::watch::Collection;

/// `two-collections`
pub const DETECTOR: Detector = Detector {
    name: "two-collections",
    about: "both planes of the die, back to back",
    says: "met collections of both planes of their die in a row",
    causes: &[Cause::DieGcOwn, Cause::DieGcOther],
    extras: &[],
    from_rows: false,
    shows,
};

fn shows(own: &Detector, case: &Case<'_>) -> bool {
    let Some(plane) = case.record.plane else { return false };
    if own.causes.iter().any(|cause| case.record.of(*cause) == 0) || !mostly(own, case) {
        return false;
    }
    // The die was never idle between them, as this request waited for it: it served what the first one had delayed.
    let is_own = |of: &Collection| of.planes.contains(&plane);
    case.met.windows(2).any(|pair| is_own(&pair[0]) != is_own(&pair[1]))
}
