//! The block that pays best for its age.

use crate::policy::{Victim, View};
use crate::schemes::scheme;
use crate::units::{BlockId, PlaneId};

scheme! {
    /// Cost-benefit: the block with the largest age x (b - v) / 2v, ties to the lowest index.
    ///
    /// The space it frees per page read and written, weighed by how long it has been left alone (Kawaguchi et al. 1995, after
    /// Rosenblum and Ousterhout), so that cold blocks are cleaned while they still hold more than hot ones. Age is counted in
    /// blocks closed in the plane since this one. Compared as integers.
    CostBenefit {}
}

impl Victim for CostBenefit {
    fn pick(&mut self, view: &View, plane: PlaneId) -> Option<BlockId> {
        let pages = u64::from(view.geometry.data_pages);
        let now = view.flash.closings(plane);
        let mut best: Option<(u64, u64, BlockId)> = None;
        for block in view.flash.closed_blocks(plane, view.geometry) {
            let valid = u64::from(view.flash.valid(block));
            let gain = u64::from(now - view.flash.closed_at(block)) * (pages - valid);
            // gain / valid, compared crosswise; a block without valid pages costs nothing and is taken first.
            if gain > 0
                && best.is_none_or(|(g, v, _)| u128::from(gain) * u128::from(v) > u128::from(g) * u128::from(valid))
            {
                best = Some((gain, valid, block));
            }
        }
        best.map(|(_, _, block)| block)
    }
}
