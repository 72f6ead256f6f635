//! The block that was closed first.

use crate::policy::{Victim, View};
use crate::schemes::scheme;
use crate::units::{BlockId, PlaneId};

scheme! {
    /// FIFO: the block that was closed first, regardless of its valid pages.
    ///
    /// Also called LRU or circular cleaning. Its write amplification has a closed form for any popularity of pages (Desnoyers
    /// 2012), and it spreads wear evenly. It may select a fully valid block.
    Fifo {}
}

impl Victim for Fifo {
    fn pick(&mut self, view: &View, plane: PlaneId) -> Option<BlockId> {
        view.flash.closed_blocks(plane, view.geometry).min_by_key(|block| view.flash.closed_at(*block))
    }

    fn stays_in_plane(&self) -> bool {
        true
    }
}
