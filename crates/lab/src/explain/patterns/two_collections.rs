//! Collections of its own plane and of another one of the die, one after the other.

use ssdlab_sim::blame::Cause;

use crate::explain::patterns::case::{Case, Detector};
use crate::explain::watch::Collection;

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

fn shows(case: &Case<'_>) -> bool {
    let Some(own) = case.record.plane else { return false };
    if case.record.of(Cause::DieGcOwn) == 0 || case.record.of(Cause::DieGcOther) == 0 {
        return false;
    }
    // The die was never idle between them: this request waited for it.
    let is_own = |of: &Collection| of.planes.contains(&own);
    case.met.windows(2).any(|pair| is_own(&pair[0]) != is_own(&pair[1]))
}
