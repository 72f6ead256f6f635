//! Sets of planes.

use crate::units::PlaneId;

/// A set of planes, as a bit of each.
#[derive(Clone, Debug)]
pub struct PlaneSet {
    words: Box<[u64]>,
}

impl PlaneSet {
    /// No plane of so many.
    pub fn empty(planes: u32) -> Self {
        Self { words: vec![0; (planes as usize).div_ceil(64)].into() }
    }

    /// All of so many planes.
    pub fn full(planes: u32) -> Self {
        let mut set = Self::empty(planes);
        for plane in 0..planes {
            set.insert(PlaneId(plane));
        }
        set
    }

    /// Whether it has a plane.
    #[inline(always)]
    pub fn has(&self, plane: PlaneId) -> bool {
        self.words[plane.ix() / 64] >> (plane.ix() % 64) & 1 == 1
    }

    /// Adds a plane. Returns whether it was not there.
    #[inline(always)]
    pub fn insert(&mut self, plane: PlaneId) -> bool {
        let (word, bit) = (&mut self.words[plane.ix() / 64], 1 << (plane.ix() % 64));
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    /// Takes a plane out.
    #[inline(always)]
    pub fn remove(&mut self, plane: PlaneId) {
        self.words[plane.ix() / 64] &= !(1 << (plane.ix() % 64));
    }

    /// Takes all out.
    pub fn clear(&mut self) {
        self.words.fill(0);
    }

    /// Its first plane from `from` on.
    pub fn next(&self, from: PlaneId) -> Option<PlaneId> {
        self.first(from, |at| self.words[at])
    }

    /// Its first plane from `from` on that `others` has not.
    #[inline(always)]
    pub fn next_without(&self, others: &Self, from: PlaneId) -> Option<PlaneId> {
        self.first(from, |at| self.words[at] & !others.words[at])
    }

    #[inline(always)]
    fn first(&self, from: PlaneId, word: impl Fn(usize) -> u64) -> Option<PlaneId> {
        let mut mask = u64::MAX << (from.ix() % 64);
        for at in from.ix() / 64..self.words.len() {
            let left = word(at) & mask;
            if left != 0 {
                return Some(PlaneId((at * 64) as u32 + left.trailing_zeros()));
            }
            mask = u64::MAX;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planes_that_another_set_has_are_passed_over() {
        let (mut some, mut others) = (PlaneSet::full(130), PlaneSet::empty(130));
        assert!((3..129).all(|plane| others.insert(PlaneId(plane))) && !others.insert(PlaneId(3)));
        some.remove(PlaneId(1));
        let mut found = Vec::new();
        let mut from = PlaneId(0);
        while let Some(plane) = some.next_without(&others, from) {
            found.push(plane.0);
            from = PlaneId(plane.0 + 1);
        }
        assert_eq!(found, [0, 2, 129]);
        assert!(!some.has(PlaneId(1)) && some.has(PlaneId(129)) && others.has(PlaneId(64)));
        others.clear();
        assert_eq!((others.next(PlaneId(0)), some.next(PlaneId(1))), (None, Some(PlaneId(2))));
    }
}
