//! A set of chips.

use crate::policy::Window;
use crate::units::RequestId;

/// Chips as bits.
#[derive(Clone, Debug, Default)]
pub(super) struct ChipSet(Vec<u64>);

impl ChipSet {
    /// Removes all; there is room for the chips of the device.
    pub(super) fn clear(&mut self, window: &dyn Window) {
        self.0.clear();
        self.0.resize(window.chip_count().div_ceil(64) as usize, 0);
    }

    pub(super) fn has(&self, chip: u32) -> bool {
        self.0[chip as usize / 64] >> (chip % 64) & 1 == 1
    }

    /// Adds the chips of a request.
    pub(super) fn insert_of(&mut self, window: &dyn Window, request: RequestId) {
        window.chips(request, &mut |chip| self.0[chip as usize / 64] |= 1 << (chip % 64));
    }

    /// Adds the chips of another set.
    pub(super) fn extend(&mut self, other: &ChipSet) {
        self.0.iter_mut().zip(&other.0).for_each(|(all, own)| *all |= own);
    }

    /// Whether both have a chip in common.
    pub(super) fn shares(&self, other: &ChipSet) -> bool {
        self.0.iter().zip(&other.0).any(|(one, other)| one & other != 0)
    }
}
