//! The block with the fewest valid pages.

use crate::policy::{Victim, View};
use crate::schemes::scheme;
use crate::units::{BlockId, PlaneId};

scheme! {
    /// Greedy: the closed block with the fewest valid pages; ties to the lowest index.
    ///
    /// The least work now. Close to the best there is for uniform traffic (Desnoyers 2012; Bux and Iliadis 2010); with hot and
    /// cold data it waits too long for cold blocks. A plane whose closed blocks are all fully valid has no victim.
    Greedy {}
}

impl Victim for Greedy {
    fn pick(&mut self, view: &View, plane: PlaneId) -> Option<BlockId> {
        // A plain minimum over adjacent 16-bit counts: the compiler turns it into a few vector instructions, which at 512
        // blocks beats any list that every invalidation would have to keep in order.
        let blocks = view.geometry.blocks(plane);
        let counts = &view.flash.valid_if_closed()[blocks.clone()];
        let fewest = counts.iter().fold(u16::MAX, |least, count| least.min(*count));
        if u32::from(fewest) >= view.geometry.data_pages {
            return None;
        }
        let position = counts.iter().position(|count| *count == fewest).expect("the minimum is one of them");
        Some(BlockId((blocks.start + position) as u32))
    }
}
