//! The block with the best ratio of benefit to cost, weighted by age.

use crate::policy::{Victim, View};
use crate::schemes::scheme;
use crate::units::{BlockId, PlaneId};

scheme! {
    /// Cost-benefit: the block with the largest age x (b - v) / 2v, ties to the lowest index.
    ///
    /// The freed space per page read and written, weighted by the time since the block was closed (Kawaguchi et al. 1995, after
    /// Rosenblum and Ousterhout). Cold blocks are therefore collected while they hold more valid pages than hot ones. Age is the
    /// number of blocks closed in the plane since this one. Comparisons use integers.
    CostBenefit {}
}

impl Victim for CostBenefit {
    fn pick(&mut self, view: &View, plane: PlaneId) -> Option<BlockId> {
        let pages = u64::from(view.geometry.data_pages);
        let now = view.flash.closings(plane);
        let mut best: Option<(u64, u64, BlockId)> = None;
        for block in view.flash.closed_blocks(plane, view.geometry) {
            let valid = u64::from(view.flash.kept(block));
            let gain = u64::from(now - view.flash.closed_at(block)) * (pages - valid);
            // Compares gain / valid crosswise. A block without valid pages has no cost and is selected first.
            if gain > 0
                && best.is_none_or(|(g, v, _)| u128::from(gain) * u128::from(v) > u128::from(g) * u128::from(valid))
            {
                best = Some((gain, valid, block));
            }
        }
        best.map(|(_, _, block)| block)
    }

    fn stays_in_plane(&self) -> bool {
        true
    }
}
