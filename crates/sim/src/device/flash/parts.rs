//! The flash of some planes, so that threads can fill a device together.

use super::Flash;
use crate::device::planes::PlaneSet;
use crate::units::{BlockId, PlaneId};

impl Flash {
    /// How many planes it has.
    #[inline(always)]
    pub(crate) fn planes(&self) -> u32 {
        self.planes.len() as u32
    }

    /// Takes the planes from `plane` on out of an erased device. They are numbered from 0 there, and so are their blocks and pages.
    pub(crate) fn split_off(&mut self, plane: PlaneId) -> Flash {
        law_eq!((self.programmed, self.reclaimed), (0, 0), "an erased device is taken apart");
        law!(!self.records && self.closed.is_empty() && self.copies.is_empty(), "nothing is recorded in parts");
        law!(
            self.handles.is_none() && self.slc.is_none() && self.life.is_none(),
            "parts have no handles, cache or life"
        );
        let blocks = plane.ix() * self.blocks_per_plane as usize;
        let pages = blocks * self.pages_per_block as usize;
        let (mine, others) = std::mem::take(&mut self.lpn_of).split(pages);
        self.lpn_of = mine;
        let free_total = others.len() as u64;
        self.free_total -= free_total;
        let planes = self.planes() - plane.0;
        self.tight = PlaneSet::full(plane.0);
        Flash {
            lpn_of: others,
            valid: self.valid.split_off(blocks),
            use_of: self.use_of.split_off(blocks),
            erases: self.erases.split_off(blocks),
            closed_at: self.closed_at.split_off(blocks),
            free: self.free.split_off(plane.ix()),
            planes: self.planes.split_off(plane.ix()),
            free_total,
            closed: Vec::new(),
            undated: Vec::new(),
            changes: Vec::new(),
            copies: Vec::new(),
            tight: PlaneSet::full(planes),
            handles: None,
            slc: None,
            life: None,
            ..*self
        }
    }

    /// Adds planes that [`Flash::split_off`] has taken out.
    pub(crate) fn append(&mut self, part: Flash) {
        let blocks = self.valid.len() as u32;
        let Flash {
            lpn_of,
            valid,
            use_of,
            erases,
            closed_at,
            free,
            planes,
            blocks_per_plane: _,
            pages_per_block: _,
            data_pages: _,
            slots: _,
            step: _,
            pads: _,
            shared: _,
            plain: _,
            reserve: _,
            free_total,
            programmed,
            reclaimed,
            withheld: _,
            closed: _,
            undated: _,
            records: _,
            keeps_changes: _,
            changes: _,
            copies: _,
            counted_copies: _,
            tight: _,
            handles: _,
            slc: _,
            life: _,
            fails: _,
            slow: _,
            beside: _,
        } = part;
        self.lpn_of = std::mem::take(&mut self.lpn_of).joined(lpn_of);
        self.valid.extend(valid);
        self.use_of.extend(use_of);
        self.erases.extend(erases);
        self.closed_at.extend(closed_at);
        self.free.append(free);
        let first = self.planes.len();
        self.planes.extend(planes);
        let open = self.planes[first..].iter_mut().flat_map(|plane| &mut plane.open);
        open.filter(|block| block.is_some()).for_each(|block| *block = BlockId(block.0 + blocks));
        self.free_total += free_total;
        self.programmed += programmed;
        self.reclaimed += reclaimed;
        self.tight = PlaneSet::full(self.planes());
    }
}
