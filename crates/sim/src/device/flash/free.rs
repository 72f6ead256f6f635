//! Erased blocks that are not open, by plane.

use std::io;

use crate::carry::Carrier;

/// A bit a block of each plane. Blocks are numbered from 0 in their plane.
#[derive(Clone, Debug)]
pub(super) struct FreeBlocks {
    words: Vec<u64>,
    words_per_plane: usize,
    /// By plane, where the least erased block is opened first: none of its free blocks has fewer erases. So the search ends at the first
    /// that has as few; on a plane of many blocks that nobody has erased, it is the first of all.
    least: Vec<u32>,
}

impl FreeBlocks {
    /// All blocks of so many planes.
    pub(super) fn all(planes: u32, blocks_per_plane: u32, least_erased: bool) -> FreeBlocks {
        let words_per_plane = (blocks_per_plane as usize).div_ceil(64);
        let mut words = vec![u64::MAX; words_per_plane];
        if !blocks_per_plane.is_multiple_of(64) {
            words[words_per_plane - 1] = (1 << (blocks_per_plane % 64)) - 1;
        }
        let least = if least_erased { vec![0; planes as usize] } else { Vec::new() };
        FreeBlocks { words: words.repeat(planes as usize), words_per_plane, least }
    }

    /// Carries what filling leaves. What is known of the least erases is not kept.
    pub(super) fn carry(&mut self, carrier: &mut Carrier<'_>) -> io::Result<()> {
        self.least.fill(0);
        carrier.table(&mut self.words)
    }

    /// Takes the planes from `plane` on away.
    pub(super) fn split_off(&mut self, plane: usize) -> FreeBlocks {
        let least = if self.least.is_empty() { Vec::new() } else { self.least.split_off(plane) };
        FreeBlocks { words: self.words.split_off(plane * self.words_per_plane), least, ..*self }
    }

    /// Adds planes behind these.
    pub(super) fn append(&mut self, others: FreeBlocks) {
        self.words.extend(others.words);
        self.least.extend(others.least);
    }

    fn of(&self, plane: usize) -> &[u64] {
        &self.words[plane * self.words_per_plane..][..self.words_per_plane]
    }

    #[inline(always)]
    fn word(&mut self, plane: usize, block: usize) -> &mut u64 {
        &mut self.words[plane * self.words_per_plane + block / 64]
    }

    pub(super) fn has(&self, plane: usize, block: usize) -> bool {
        self.of(plane)[block / 64] >> (block % 64) & 1 == 1
    }

    /// A block of so many erases is free.
    #[inline(always)]
    pub(super) fn insert(&mut self, plane: usize, block: usize, erases: u32) {
        *self.word(plane, block) |= 1 << (block % 64);
        if let Some(least) = self.least.get_mut(plane) {
            *least = erases.min(*least);
        }
    }

    /// A block is not free, whatever it was.
    #[inline(always)]
    pub(super) fn remove(&mut self, plane: usize, block: usize) {
        *self.word(plane, block) &= !(1 << (block % 64));
    }

    /// Opens what [`FreeBlocks::next`] has found.
    #[inline(always)]
    pub(super) fn open(&mut self, plane: usize, block: usize, erases: u32) {
        self.remove(plane, block);
        if let Some(least) = self.least.get_mut(plane) {
            // It had the fewest.
            *least = erases;
        }
    }

    /// The block to open next: the first at or after `cursor`, circular; or the first of those with the fewest erases.
    pub(super) fn next(&self, plane: usize, cursor: u32, erases: &[u32]) -> u32 {
        let words = self.of(plane);
        match self.least.get(plane) {
            Some(least) => first_of_least(words, *least, erases),
            None => next_set(words, cursor),
        }
        .expect("a free block, as counted")
    }

    /// Checks what is known of the least erases against those of a free block.
    pub(super) fn check(&self, plane: usize, erases: u32) {
        let fewest = self.least.get(plane).is_none_or(|least| *least <= erases);
        law!(fewest, "law: no free block of plane {plane} has fewer erases than is known");
    }
}

/// The first block of those with the fewest erases, which are not fewer than `least`.
fn first_of_least(words: &[u64], least: u32, erases: &[u32]) -> Option<u32> {
    let mut best: Option<(u32, u32)> = None;
    for (word, first) in words.iter().zip((0..).step_by(64)) {
        let mut left = *word;
        while left != 0 {
            let block = first + left.trailing_zeros();
            let erases = erases[block as usize];
            if erases <= least {
                return Some(block);
            }
            if best.is_none_or(|(fewest, _)| erases < fewest) {
                best = Some((erases, block));
            }
            left &= left - 1;
        }
    }
    best.map(|(_, block)| block)
}

/// The first set bit at or after `from`, circular.
fn next_set(words: &[u64], from: u32) -> Option<u32> {
    let first = from as usize / 64;
    let masked = words[first] & (u64::MAX << (from % 64));
    if masked != 0 {
        return Some((first * 64) as u32 + masked.trailing_zeros());
    }
    let word = (1..=words.len()).map(|k| (first + k) % words.len()).find(|w| words[*w] != 0)?;
    Some((word * 64) as u32 + words[word].trailing_zeros())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{below, stream};

    /// Opens, erases and takes away blocks at random, on 150 blocks of each of three planes.
    fn agrees(seed: u64, least_erased: bool) {
        const BLOCKS: usize = 150;
        let mut rng = stream(seed, "free blocks");
        let mut draw = |bound: usize| below(&mut rng, bound as u64) as usize;
        let mut free = FreeBlocks::all(3, BLOCKS as u32, least_erased);
        let (mut known, mut erases) = (vec![[true; BLOCKS]; 3], vec![[0u32; BLOCKS]; 3]);
        for _ in 0..2_000 {
            let (plane, block) = (draw(3), draw(BLOCKS));
            let left = (0..BLOCKS).filter(|b| known[plane][*b]);
            match draw(8) {
                0 if known[plane][block] => {
                    free.remove(plane, block);
                    known[plane][block] = false;
                }
                1..=3 if !known[plane][block] => {
                    erases[plane][block] += 1 + draw(2) as u32;
                    free.insert(plane, block, erases[plane][block]);
                    known[plane][block] = true;
                }
                4 => {
                    let others = free.split_off(plane);
                    free.append(others);
                }
                _ => {
                    let from_here = |b: &usize| (*b + BLOCKS - block) % BLOCKS;
                    let wanted = match least_erased {
                        true => left.min_by_key(|b| erases[plane][*b]),
                        false => left.min_by_key(from_here),
                    };
                    let Some(wanted) = wanted else { continue };
                    assert_eq!(free.next(plane, block as u32, &erases[plane]) as usize, wanted, "seed {seed}");
                    free.open(plane, wanted, erases[plane][wanted]);
                    known[plane][wanted] = false;
                }
            }
            assert_eq!(free.has(plane, block), known[plane][block]);
            (0..BLOCKS).filter(|b| known[plane][*b]).for_each(|b| free.check(plane, erases[plane][b]));
        }
    }

    #[test]
    fn the_next_block_is_the_first_from_the_cursor_or_the_first_of_the_least_erased() {
        for seed in 0..20 {
            agrees(seed, true);
            agrees(seed, false);
        }
    }
}
