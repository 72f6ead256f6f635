//! Pages of parity groups that ECC cannot correct: such a page is missing as if its chip had failed for this page alone.
//!
//! Reads of the page read the rest of its group (see [`crate::engine::features::raid::failure`]). Two such pages in one group are lost, and
//! reported. The page is rewritten to its own chip, as an update of its group without a host write (see
//! [`crate::engine::features::raid::rebuild`]): with the data that a read has just computed, or after reading the rest of the group.

use crate::device::transaction::Need;
use crate::engine::features::raid::failure::{Chunk, Gone};
use crate::engine::features::raid::stripe::Phase;
use crate::engine::kernel::Kernel;
use crate::engine::kernel::ops::NO_UPDATE;
use crate::engine::{Device, Features, Host};
use crate::oracle::Oracle;
use crate::stats::Stats;
use crate::units::{Lpn, Nanos, OpId};

impl Features {
    /// Requests a rewrite of a group's missing chunk, after the reads that wait for it.
    #[inline(never)]
    pub(super) fn repair(&mut self, now: Nanos, index: u32) {
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
    /// An operation has read an uncorrectable page. Unless the page was moved or overwritten meanwhile, its chunk is missing now.
    /// Returns a write that needs no read of the page any more, because it was never written, if there is one.
    pub(in crate::engine) fn chunk_is_unreadable(
        &mut self,
        kernel: &mut Kernel,
        dev: &mut Device,
        host: &Host,
        oracle: &mut Oracle,
        now: Nanos,
        id: OpId,
    ) -> Option<OpId> {
        let op = &kernel.ops[id];
        let (slot, page, update) = (op.lpn, op.pages[0], kernel.ops.parity[id].update);
        let block = dev.geometry.block_of(page);
        dev.flash.read_ends(block);
        if update != NO_UPDATE {
            let record = &mut self.raid().records[update];
            record.reread |= record.phase == Phase::Reading;
        }
        if kernel.chunk_page(dev, slot).0 != Some(page) {
            return None;
        }
        self.failures().totals.uncorrectable += 1;
        let gone = self.chunk_fails(kernel, dev, host, oracle, now, slot);
        dev.flash.invalidate(page, block, slot);
        if let Gone::Zeroes(write) = gone { Some(write) } else { None }
    }
}

impl Device {
    /// Whether an operation has read a correctable page.
    pub(in crate::engine) fn chunk_decodes(&self, kernel: &Kernel, stats: &mut Stats, now: Nanos, id: OpId) -> bool {
        let Some(model) = &self.errors else { return true };
        let (op, page) = (&kernel.ops[id], kernel.ops[id].pages[0]);
        if op.need == Need::Write {
            return true;
        }
        if op.class.like_host() && op.request.is_some() {
            return self.decodes(stats, now, page);
        }
        model.corrects(model.errors(page, self.geometry.block_of(page), now))
    }
}
