//! The block with the fewest valid pages.

use crate::policy::{Victim, View};
use crate::schemes::scheme;
use crate::units::{BlockId, PlaneId};

scheme! {
    /// Greedy: the closed block with the fewest valid pages; ties to the lowest index.
    ///
    /// Least work per collection. Close to optimal for uniform traffic (Desnoyers 2012; Bux and Iliadis 2010); with hot and cold
    /// data it collects cold blocks too late. A plane whose closed blocks are all fully valid has no victim.
    Greedy {}
}

/// Number of counts that are searched together.
const GROUP: usize = 256;

/// The same where the place of the least one is searched.
const PART: usize = 32;

fn fewest(counts: &[u16]) -> u16 {
    counts.iter().fold(u16::MAX, |least, count| least.min(*count))
}

/// The first place of the least count, which exists.
fn first_of(counts: &[u16], least: u16) -> usize {
    let part = counts.chunks(PART).position(|part| fewest(part) == least);
    let from = part.map_or(0, |part| part * PART);
    let place = counts[from..].iter().position(|count| *count == least);
    from + place.expect("the minimum is one of them")
}

impl Victim for Greedy {
    fn pick(&mut self, view: &View, plane: PlaneId) -> Option<BlockId> {
        if view.flash.has_copies() {
            let closed = view.flash.closed_blocks(plane, view.geometry);
            let fewest = closed.min_by_key(|block| view.flash.kept(*block))?;
            return (u32::from(view.flash.kept(fewest)) < view.geometry.data_pages).then_some(fewest);
        }
        // A plain minimum over adjacent 16-bit counts compiles to a few vector instructions per group. It is faster than any list
        // that every invalidation would have to keep sorted. The block is then searched in one group only, the same way.
        let blocks = view.geometry.blocks(plane);
        let counts = &view.flash.valid_if_closed()[blocks.clone()];
        let (groups, rest) = counts.as_chunks::<GROUP>();
        let (mut least, mut from) = (fewest(rest), groups.len() * GROUP);
        for (i, group) in groups.iter().enumerate().rev() {
            let count = fewest(group);
            if count <= least {
                (least, from) = (count, i * GROUP);
            }
        }
        if u32::from(least) >= view.geometry.data_pages {
            return None;
        }
        Some(BlockId((blocks.start + from + first_of(&counts[from..], least)) as u32))
    }

    fn stays_in_plane(&self) -> bool {
        true
    }
}
