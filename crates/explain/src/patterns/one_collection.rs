//! The request waited for a single collection of its die.

use ssdlab_sim::blame::Cause;

use crate::patterns::case::{Detector, mostly};

/// `one-collection`
pub const DETECTOR: Detector = Detector {
    name: "one-collection",
    about: "a single one on the die",
    says: "waited for a single collection of their die",
    causes: &[Cause::DieGcOwn, Cause::DieGcOther],
    extras: &[],
    from_rows: false,
    shows: |own, case| mostly(own, case) && case.met.len() == 1,
};
