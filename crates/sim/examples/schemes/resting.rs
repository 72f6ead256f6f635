//! Greedy, but blocks that were filled a moment ago are left alone.

use crate::policy::{Victim, View};
use crate::schemes::scheme;
use crate::units::{BlockId, PlaneId};

scheme! {
    /// Resting greedy: the closed block with the fewest valid pages among those that have rested.
    ///
    /// A block that was filled last is still losing pages: waiting makes it a better victim. Blocks rest until `rest` further
    /// blocks of their plane have been filled; if all of them rest, this is greedy. Made for the tutorial (docs/tutorial.md).
    Resting {
        /// Blocks of the plane that have to be filled after a block before it may become a victim.
        rest: u32 = 8,
    }
}

impl Victim for Resting {
    fn pick(&mut self, view: &View, plane: PlaneId) -> Option<BlockId> {
        let now = view.flash.closings(plane);
        let rests = |block: &BlockId| now - view.flash.closed_at(*block) <= self.rest;
        let garbage = |block: &BlockId| u32::from(view.flash.valid(*block)) < view.geometry.pages_per_block;
        let fewest = |a: &BlockId| (view.flash.valid(*a), a.0);
        let blocks = || view.flash.closed_blocks(plane, view.geometry).filter(garbage);
        blocks().filter(|block| !rests(block)).min_by_key(fewest).or_else(|| blocks().min_by_key(fewest))
    }
}
