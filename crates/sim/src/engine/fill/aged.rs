//! Planes that are aged directly, before the first request.

use rand_xoshiro::Xoshiro256PlusPlus;

use crate::random;
use crate::units::PlaneId;

/// Draws which pages of an aged plane are invalid, in the order of its pages.
pub(in crate::engine) struct AgedPages {
    rng: Xoshiro256PlusPlus,
    left: u64,
    stale: u64,
}

impl AgedPages {
    pub(in crate::engine) fn new(seed: u64, plane: PlaneId, valid: u64, invalid: u64) -> Self {
        let rng = random::stream(seed.wrapping_add(u64::from(plane.0) << 32), "ageing");
        AgedPages { rng, left: valid + invalid, stale: invalid }
    }

    /// Pages that follow the last one.
    pub(in crate::engine) fn left(&self) -> u64 {
        self.left
    }
}

impl Iterator for AgedPages {
    type Item = bool;
    fn next(&mut self) -> Option<bool> {
        if self.left == 0 {
            return None;
        }
        let stale = random::below(&mut self.rng, self.left) < self.stale;
        self.left -= 1;
        self.stale -= u64::from(stale);
        Some(stale)
    }
}
