//! Report of mapping units: where a program has several units of the map.

use serde::Serialize;

use crate::device::spec::SlotsSpec;
use crate::device::transaction::Class;

/// Units by origin of their program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ByProgram {
    /// Of the write cache, or of the host where requests take no time.
    pub cache: u64,
    /// Of GC.
    pub gc: u64,
    /// Of folds of the cache of SLC; absent if 0.
    #[serde(skip_serializing_if = "is_zero")]
    pub fold: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Programs with padding, by the reason why they were not full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PaddedPrograms {
    /// For a flush.
    pub flush: u64,
    /// For a write with forced unit access.
    pub fua: u64,
    /// Held for `cache.hold`.
    pub hold: u64,
    /// At the end of the run.
    pub drain: u64,
    /// With `cache.pack = "any"`.
    pub any: u64,
    /// Units were trimmed after they had been issued.
    pub trim: u64,
    /// The cache of SLC had a page for them when they were issued, and none when their program began; absent if 0.
    #[serde(skip_serializing_if = "is_zero")]
    pub slc: u64,
}

/// What is counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnitCounts {
    pub programmed: ByProgram,
    pub padding: ByProgram,
    pub padded_programs: PaddedPrograms,
    pub hand_max: u64,
    /// Moved units that left the controller before they were programmed.
    pub dropped: u64,
}

impl UnitCounts {
    /// A program of moved units begins, with so many of them and so much padding.
    pub(crate) fn count_moved(&mut self, class: Class, units: u64, padding: u64) {
        let of = |counts: &mut ByProgram, more: u64| {
            *if class == Class::Fold { &mut counts.fold } else { &mut counts.gc } += more;
        };
        of(&mut self.programmed, units);
        of(&mut self.padding, padding);
    }
}

/// Units of the map in programs.
#[derive(Clone, Debug, Serialize)]
pub struct UnitsReport {
    /// Bytes of a unit.
    pub bytes: u32,
    /// Units of a flash page.
    pub per_page: u32,
    /// Units of a program.
    pub per_program: u32,
    /// Units in programs.
    pub programmed: ByProgram,
    /// Places for units in programs that hold none.
    pub padding: ByProgram,
    /// Programs of the write cache with padding, by reason.
    pub padded_programs: PaddedPrograms,
    /// Most moved units of a plane group in the controller at a time, over the whole run.
    pub hand_max: u64,
}

impl UnitsReport {
    pub(crate) fn new(bytes: u32, slots: SlotsSpec, counts: &UnitCounts) -> Self {
        UnitsReport {
            bytes,
            per_page: slots.per_page,
            per_program: slots.per_program,
            programmed: counts.programmed,
            padding: counts.padding,
            padded_programs: counts.padded_programs,
            hand_max: counts.hand_max,
        }
    }
}
