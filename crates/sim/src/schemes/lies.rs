//! Policies that break their promises, for unit tests.

use super::collect::pagc::PaGc;
use super::collect::serial::Serial;
use crate::device::flash::Stream;
use crate::device::geometry::Geometry;
use crate::policy::{Collector, Job, Journey, MovePath, Order, Outlook, PageSet, Step, Victim, View, Window};
use crate::units::{BlockId, PlaneId, Ppn, Threshold};

/// Which promise is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lie {
    InOrder,
    Undisturbed,
    Outlook,
}

#[derive(Clone, Debug)]
pub(crate) struct LyingCollector {
    pub lie: Lie,
    pub serial: Serial,
    pub pagc: PaGc,
}

impl Collector for LyingCollector {
    fn prepare(&mut self, geometry: &Geometry, threshold: Threshold) {
        self.pagc.prepare(geometry, threshold);
    }
    fn joins(&self, view: &View, plane: PlaneId, other: PlaneId) -> bool {
        self.lie == Lie::Outlook && self.pagc.joins(view, plane, other)
    }
    fn streams(&self) -> u32 {
        if self.lie == Lie::Outlook { self.pagc.streams() } else { 1 }
    }
    fn in_order(&self) -> bool {
        self.lie == Lie::InOrder
    }
    fn undisturbed(&self) -> bool {
        self.lie != Lie::Outlook
    }
    /// One move fewer than there are: the rest would follow one by one.
    fn outlook(&self, view: &View, job: &Job, moving: &PageSet) -> Option<Outlook> {
        let mut moves = self.pagc.outlook(view, job, moving).filter(|_| self.lie == Lie::Outlook)?;
        moves.single = moves.single.saturating_sub(1);
        Some(moves)
    }
    /// While a host operation waits, or always: the last valid page first.
    fn next(&mut self, view: &View, job: &mut Job) -> Step {
        if self.lie == Lie::Outlook {
            return self.pagc.next(view, job);
        }
        let step = self.serial.next(view, job);
        match step {
            Step::Move(..) if job.contended || self.lie == Lie::Undisturbed => {
                let pages = (0..view.geometry.pages_per_block).map(|offset| view.geometry.page(job.victims[0], offset));
                let last = pages.rev().find(|page| view.flash.is_valid(*page));
                Step::Move(PageSet::one(last.expect("one is moved")), Stream::Gc)
            }
            step => step,
        }
    }
}

/// Every page takes the same way, but those of odd numbers do not.
#[derive(Clone, Debug)]
pub(crate) struct LyingPath;

impl MovePath for LyingPath {
    fn journey(&mut self, _: &View, from: Ppn, _: BlockId) -> Journey {
        if from.0.is_multiple_of(2) { Journey::EXTERNAL } else { Journey::COPYBACK }
    }
    fn always(&self) -> Option<Journey> {
        Some(Journey::EXTERNAL)
    }
}

/// Dispatches at once, but only three requests at a time.
#[derive(Clone, Debug)]
pub(crate) struct LyingOrder;

impl Order for LyingOrder {
    fn next(&mut self, window: &dyn Window) -> Option<usize> {
        (window.dispatched() < 3).then_some(0)
    }
    fn eager(&self) -> bool {
        true
    }
}

/// Reads no other plane, but takes another block where those have moved an odd number of pages.
#[derive(Clone, Debug)]
pub(crate) struct LyingVictim;

impl Victim for LyingVictim {
    fn pick(&mut self, view: &View, plane: PlaneId) -> Option<BlockId> {
        let full = view.geometry.pages_per_block;
        let blocks: Vec<BlockId> = (view.flash.closed_blocks(plane, view.geometry))
            .filter(|block| u32::from(view.flash.valid(*block)) < full)
            .collect();
        let others = (0..view.geometry.planes).map(PlaneId).filter(|other| *other != plane);
        let free: u32 = others.map(|other| view.flash.free_pages(other)).sum();
        if free.is_multiple_of(2) { blocks.first().copied() } else { blocks.last().copied() }
    }
    fn stays_in_plane(&self) -> bool {
        true
    }
}
