//! A write of a part of a page reads the page first.

use ssdlab_sim::config::{PartialWrite, RaidLayout};

use crate::patterns::case::{Case, Detector};

/// `partial-write`
pub const DETECTOR: Detector = Detector {
    name: "partial-write",
    about: "the read of a page that is written in part",
    says: "write a part of a page, and read the rest of it first",
    causes: &[],
    extras: &[],
    from_rows: false,
    shows,
};

fn shows(_: &Detector, case: &Case<'_>) -> bool {
    let Some(known) = case.world.known else { return false };
    let (record, config) = (case.record, &known.config);
    let page = u64::from(config.units().bytes) * u64::from(config.pages_per_entry());
    let aligned = record.offset.is_multiple_of(page) && (record.offset + record.bytes).is_multiple_of(page);
    let merges = config.device.partial_write == PartialWrite::ReadModifyWrite && config.raid.layout == RaidLayout::None;
    merges && record.write && !aligned && record.read_first
}
