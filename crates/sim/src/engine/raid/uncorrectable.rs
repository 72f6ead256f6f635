//! Pages of parity groups that ECC cannot correct: such a page is missing as if its chip had failed for this page alone.
//!
//! Reads of the page read the rest of its group (see [`crate::engine::raid::failure`]). Two such pages in one group are lost, and
//! reported. The page is rewritten to its own chip, as an update of its group without a host write (see
//! [`crate::engine::raid::rebuild`]): with the data that a read has just computed, or after reading the rest of the group.

use crate::device::transaction::Need;
use crate::engine::kernel::ops::NO_UPDATE;
use crate::engine::raid::failure::Chunk;
use crate::engine::raid::stripe::Phase;
use crate::engine::{Device, Features, Ssd};
use crate::units::{Lpn, Nanos, OpId};

impl Features {
    /// Requests a rewrite of a group's missing chunk, after the reads that wait for it.
    #[inline(never)]
    fn repair(&mut self, now: Nanos, index: u32) {
        if self.missing_of(index).is_some() && self.raid().wants_rebuild(index, now) {
            self.failures().rebuilding += 1;
        }
    }

    /// Records a chunk that was computed from the rest of its group, so that a rewrite need not compute it again.
    pub(in crate::engine) fn note_computed(&mut self, dev: &Device, update: u32, slot: Lpn) {
        if dev.errors.is_some() && self.chunk(slot) == Chunk::Missing {
            self.raid().records[update].computed = slot;
        }
    }
}

impl Ssd {
    /// Whether an operation has read a correctable page.
    pub(in crate::engine) fn chunk_decodes(&mut self, id: OpId) -> bool {
        let Some(model) = &self.dev.errors else { return true };
        let (op, page) = (&self.kernel.ops[id], self.kernel.ops[id].pages[0]);
        if op.need == Need::Write {
            return true;
        }
        if op.class.like_host() && op.request.is_some() {
            return self.decodes(page);
        }
        model.corrects(model.errors(page, self.dev.geometry.block_of(page), self.now))
    }

    /// An operation has read an uncorrectable page. Unless the page was moved or overwritten meanwhile, its chunk is missing now.
    pub(in crate::engine) fn chunk_is_unreadable(&mut self, id: OpId) {
        let op = &self.kernel.ops[id];
        let (slot, page, update) = (op.lpn, op.pages[0], self.kernel.ops.parity[id].update);
        let (block, index) = (self.dev.geometry.block_of(page), self.features.layout().group_index(slot));
        self.dev.flash.read_ends(block);
        if update != NO_UPDATE {
            let record = &mut self.features.raid().records[update];
            record.reread |= record.phase == Phase::Reading;
        }
        if self.kernel.chunk_page(&self.dev, slot).0 == Some(page) {
            self.features.failures().totals.uncorrectable += 1;
            self.chunk_fails(slot);
            self.dev.flash.invalidate(page, block, slot);
        }
        self.page_is_denied(id);
        self.features.repair(self.now, index);
    }
}
