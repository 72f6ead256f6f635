//! Programs of several units: whole, in order, and perhaps with padding; and moved units that wait in the controller.

use super::{Flash, NOT_CLOSED, Stream};
use crate::units::{BlockId, Lpn, PlaneId, Ppn};

impl Flash {
    /// Units are written one by one from now on, in no time, or in whole programs.
    pub(crate) fn take_programs(&mut self, whole: bool) {
        self.step = if whole { self.slots.per_program } else { 1 };
    }

    /// Whether a collection of a closed block frees a page or, with units, a program or room in the controller.
    pub(crate) fn frees(&self, block: BlockId) -> bool {
        let valid = u32::from(self.valid(block));
        let taken = if self.pads { valid.next_multiple_of(self.slots.per_program) } else { valid };
        taken < self.data_pages
    }

    /// Takes all slots of a stream's next program, and opens a block if necessary: returns the first. None if the stream may take
    /// none. Write points stand at whole programs.
    pub(crate) fn take_program(&mut self, plane: PlaneId, stream: Stream, collects: bool) -> Option<Ppn> {
        let first = self.take_page(plane, stream, collects)?;
        if self.slc.is_some() && self.has_in_slc(first) {
            return Some(self.take_rest_in_slc(plane, first));
        }
        let per_program = self.slots.per_program;
        law_eq!(first.0 % per_program, 0, "law: programs of several units are taken whole");
        // The rest of the program is there; a program of the host does not count as one of the collection.
        let debt = (!collects).then_some(self.planes[plane.ix()].debt);
        for slot in 1..per_program {
            let next = self.take_page(plane, stream, true);
            law_eq!(next, Some(Ppn(first.0 + slot)), "law: the slots of a program follow one another");
        }
        debt.iter().for_each(|debt| self.planes[plane.ix()].debt = *debt);
        Some(first)
    }

    /// Slots of the program of a slot, which may be one of the cache of SLC.
    pub(crate) fn slots_of_program(&self, slot: Ppn) -> u32 {
        let cached = self.slc.is_some() && self.has_in_slc(slot);
        if cached { self.slots.per_super_page } else { self.slots.per_program }
    }

    /// Slots that a stream's open program still has.
    pub(crate) fn rest_of_program(&self, plane: PlaneId, stream: Stream) -> u32 {
        if stream == Stream::Slc
            && let Some(rest) = self.rest_in_slc(plane)
        {
            return rest;
        }
        let open = self.open(plane, self.point(plane, stream));
        if open.is_none() {
            return 0;
        }
        let written = u32::from(self.use_of[open.ix()].written);
        written.next_multiple_of(self.slots.per_program) - written
    }

    /// Puts the rest of a stream's open program on flash as padding. Returns the first slot and their number.
    pub(crate) fn pad_program(&mut self, plane: PlaneId, stream: Stream) -> (Ppn, u32) {
        let count = self.rest_of_program(plane, stream);
        if count == 0 {
            return (Ppn::NONE, 0);
        }
        let open = self.open(plane, self.point(plane, stream));
        let first = Ppn(open.0 * self.pages_per_block + u32::from(self.use_of[open.ix()].written));
        let debt = self.planes[plane.ix()].debt;
        for slot in 0..count {
            let page = Ppn(first.0 + slot);
            // The open block has room for them, whatever else its plane keeps.
            let taken = self.take_page(plane, stream, true);
            law_eq!(taken, Some(page), "law: the slots of a program follow one another");
            self.land(page, BlockId(page.0 / self.pages_per_block), Lpn::NONE);
        }
        self.planes[plane.ix()].debt = debt;
        (first, count)
    }

    /// Valid units of the super page of a slot, as bits by their places in it.
    pub(crate) fn valid_units(&self, slot: Ppn) -> u64 {
        let per = self.slots.per_super_page;
        let first = slot.0 / per * per;
        (0..per).filter(|place| self.is_valid(Ppn(first + place))).fold(0, |bits, place| bits | 1 << place)
    }

    /// A moved unit waits in a place of the controller.
    pub(crate) fn hand_takes(&mut self, place: Ppn, lpn: Lpn) {
        let entry = &mut self.lpn_of[place.ix()];
        law!(entry.is_none(), "law: a place in the controller holds one unit");
        *entry = lpn;
        let block = (place.0 / self.pages_per_block) as usize;
        law!(block >= self.use_of.len(), "law: places in the controller are behind the flash");
        self.valid[block] += 1;
        law!(self.valid[block] & NOT_CLOSED != 0, "law: such places are no block");
    }
}
