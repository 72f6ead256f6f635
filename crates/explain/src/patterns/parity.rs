//! The update of a parity group.

use ssdlab_sim::blame::Cause;
use ssdlab_sim::config::RaidLayout;

use crate::patterns::case::{Case, Detector, mostly};

/// `parity`
pub const DETECTOR: Detector = Detector {
    name: "parity",
    about: "the update of a parity group",
    says: "waited for updates of their parity group, or for the reads of their own",
    causes: &[Cause::Held],
    extras: &[],
    from_rows: false,
    shows,
};

fn shows(own: &Detector, case: &Case<'_>) -> bool {
    let Some(known) = case.world.known else { return false };
    // A write is held until earlier updates of its group are over and its own has read other chunks; its old page it reads itself.
    let waits = mostly(own, case);
    known.config.raid.layout != RaidLayout::None && case.record.write && (waits || case.record.read_first)
}
