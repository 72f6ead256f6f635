//! Wear: P/E cycles of blocks, copyback thresholds, and copyback counts of pages.

use std::io;

use super::flash::Flash;
use super::geometry::Geometry;
use super::spec::WearSpec;
use crate::carry::Carrier;
use crate::units::{BlockId, Ppn};

/// Count of a page whose block's metadata did not survive a power cut: above every threshold.
pub const UNKNOWN: u8 = u8::MAX;

/// P/E cycles, thresholds and copyback counts.
#[derive(Clone, Debug)]
pub struct Wear {
    /// P/E cycles of every block before the first erase of the run.
    initial: u32,
    /// Pairs of P/E cycles and the threshold from there on, ascending.
    steps: Vec<(u32, u8)>,
    /// How many of them are at or below the initial P/E cycles: no block has fewer.
    passed: usize,
    /// By physical page: copybacks of its data since it last passed through the controller. Empty if no path uses counts.
    counts: Vec<u8>,
}

impl Wear {
    pub(crate) fn new(spec: WearSpec, geometry: &Geometry) -> Self {
        let pages = geometry.planes as usize * geometry.pages_per_plane as usize;
        let steps = spec.thresholds;
        let passed = steps.partition_point(|(from, _)| *from <= spec.pe_cycles);
        Wear { initial: spec.pe_cycles, steps, passed, counts: vec![0; if spec.counted { pages } else { 0 }] }
    }

    /// Carries the copyback counts.
    pub(crate) fn carry(&mut self, carrier: &mut Carrier<'_>) -> io::Result<()> {
        let Wear { initial: _, steps: _, passed: _, counts } = self;
        carrier.table(counts)
    }

    /// P/E cycles of a block: its initial ones, and its erases.
    pub fn pe_cycles(&self, flash: &Flash, block: BlockId) -> u32 {
        self.initial.saturating_add(flash.erases(block))
    }

    /// Copybacks allowed for data in a block with this many P/E cycles.
    pub fn threshold_at(&self, pe_cycles: u32) -> u8 {
        threshold(&self.steps, pe_cycles)
    }

    /// The threshold step for this many P/E cycles: its index and its first P/E cycle.
    pub(crate) fn step_at(&self, pe_cycles: u32) -> (usize, u32) {
        let step = self.steps_until(pe_cycles).saturating_sub(1);
        (step, self.steps[step].0)
    }

    /// How many steps are at or below these P/E cycles, of which no block has fewer than initially. A drive passes few in its life, so
    /// they are counted from there.
    #[inline(always)]
    fn steps_until(&self, pe_cycles: u32) -> usize {
        let mut steps = self.passed;
        while self.steps.get(steps).is_some_and(|(from, _)| *from <= pe_cycles) {
            steps += 1;
        }
        steps
    }

    /// The threshold of a block at its current P/E cycles.
    pub fn threshold(&self, flash: &Flash, block: BlockId) -> u8 {
        match self.steps_until(self.pe_cycles(flash, block)) {
            0 => 0,
            steps => self.steps[steps - 1].1,
        }
    }

    /// Copybacks of a page's data since it last passed through the controller, or [`UNKNOWN`].
    #[inline(always)]
    pub fn count(&self, page: Ppn) -> u8 {
        self.counts[page.ix()]
    }

    /// Whether counts are kept.
    #[inline(always)]
    pub(crate) fn counts(&self) -> bool {
        !self.counts.is_empty()
    }

    #[cfg(test)]
    pub(crate) fn set(&mut self, page: Ppn, count: u8) {
        self.counts[page.ix()] = count;
    }

    /// A page has been copied: its count increases by one.
    pub(crate) fn copied(&mut self, flash: &Flash, from: Ppn, to: Ppn, block: BlockId) {
        let count = self.counts[from.ix()];
        law!(count < self.threshold(flash, block), "law: data is copied inside its plane while its count allows it");
        self.counts[to.ix()] = count + 1;
    }

    /// Resets the counts of an erased block: new data comes from the host or the controller.
    pub(crate) fn erased(&mut self, first: Ppn, pages: u32) {
        self.counts[first.ix()..][..pages as usize].fill(0);
    }

    /// Power is cut: counts are in the controller's memory until a block's metadata is written, so those of blocks without
    /// metadata are lost.
    pub(crate) fn lose(&mut self, flash: &Flash, geometry: &Geometry) {
        if !self.counts() {
            return;
        }
        for block in (0..geometry.planes * geometry.blocks_per_plane).map(BlockId) {
            let written = flash.written(block);
            if written < geometry.pages_per_block {
                self.lose_block(geometry.page(block, 0), written);
            }
        }
    }

    /// Marks the counts of a block's first pages as lost.
    pub(crate) fn lose_block(&mut self, first: Ppn, pages: u32) {
        if self.counts() {
            self.counts[first.ix()..][..pages as usize].fill(UNKNOWN);
        }
    }
}

/// The threshold of the last step at or below `pe_cycles`; 0 before the first step.
pub(crate) fn threshold(steps: &[(u32, u8)], pe_cycles: u32) -> u8 {
    steps.iter().rev().find(|(from, _)| *from <= pe_cycles).map_or(0, |(_, threshold)| *threshold)
}
