//! Rebuilding: a spare chip replaces a failed one, and its pages are reconstructed from the rest of their parity groups.
//!
//! Groups are rebuilt in order, `faults.rebuild` at a time. Rebuilding is an update of the group without a host write. It begins
//! when no other update or read of the group is in flight, reads all other chunks, and programs the missing one. Host writes have
//! priority; if one has rewritten the chunk meanwhile, nothing has to be done. Its operations queue like the host's.

use crate::device::mapping::Location;
use crate::device::transaction::{Need, Verb};
use crate::engine::features::raid::buffered;
use crate::engine::features::raid::failure::Chunk;
use crate::engine::features::raid::stripe::Phase;
use crate::engine::kernel::Kernel;
use crate::engine::kernel::ops::Page;
use crate::engine::{Device, Features, Host, Ssd};
use crate::oracle::Oracle;
use crate::units::{Lpn, Nanos, OpId};

impl Features {
    /// The missing chunk of a group.
    pub(in crate::engine) fn missing_of(&self, index: u32) -> Option<Lpn> {
        let parity = self.layout().parity_slot(index);
        if self.chunk(parity) == Chunk::Missing { Some(parity) } else { self.missing_beside(parity) }
    }

    /// Starts to rebuild groups, up to the limit.
    pub(in crate::engine) fn rebuild_more(&mut self, now: Nanos) {
        let groups = self.layout().stripes * self.layout().groups;
        loop {
            let failures = self.failures();
            if failures.rebuilding >= failures.rebuild || failures.cursor >= groups {
                return;
            }
            let index = failures.cursor;
            failures.cursor += 1;
            if self.missing_of(index).is_some() && self.raid().wants_rebuild(index, now) {
                self.failures().rebuilding += 1;
            }
        }
    }

    /// All chunks have been read: the missing one is in controller memory, and is sent to the spare chip. Returns its program, and
    /// the write of some of its sectors that needs no read any more, or none: the old data is in memory.
    pub(in crate::engine) fn write_rebuilt(
        &mut self,
        kernel: &mut Kernel,
        dev: &mut Device,
        host: &Host,
        oracle: &mut Oracle,
        now: Nanos,
        update: u32,
    ) -> (OpId, OpId) {
        let record = &self.raid().records[update];
        let (index, slot, content) = (record.index, record.target, record.content);
        let tag = if slot == self.parity_of(slot) {
            let tag = oracle.admit(slot);
            oracle.set_parity(index, tag, content);
            tag
        } else {
            let tag = self.last_tag(slot);
            if oracle.checks_content() {
                law_eq!(content, self.content(oracle, tag), "oracle: a chunk is rebuilt as it was");
            }
            tag
        };
        let op = kernel.chunk_op(dev, update, slot, Verb::Program, Need::Write);
        kernel.ops[Page(op)].tags[0] = tag;
        self.set_chunk(now, slot, Chunk::Sound);
        let mut merged = OpId::NONE;
        match dev.map.get(slot) {
            // A waiting write: the page becomes its old page.
            Location::Staged(write) => {
                kernel.ops.parity[write].behind = op;
                if host.lacks(kernel, write) {
                    merged = write;
                }
            }
            _ => dev.map.set(slot, Location::Staged(op)),
        }
        self.failures().totals.rebuilt += 1;
        (op, merged)
    }
}

impl Ssd {
    /// No other operation of a group is in flight: reads the chunks from which the missing one is computed.
    pub(in crate::engine) fn begin_rebuild(&mut self, update: u32) {
        let index = self.features.raid().records[update].index;
        let Some(target) = self.features.missing_of(index) else { return self.rebuild_ends(update) };
        let record = &mut self.features.raid().records[update];
        record.phase = Phase::Reading;
        record.target = target;
        record.mask = 0;
        // Every chunk that is read contributes.
        record.content = 0;
        record.rmw = true;
        record.reread = false;
        let computed = std::mem::replace(&mut record.computed, Lpn::NONE);
        if computed == target {
            // A read has just computed it.
            let content = self.features.content(&self.oracle, self.features.last_tag(target));
            self.features.raid().records[update].content = content;
        }
        let mut reads = 0;
        let members = if computed == target { 0..0 } else { 0..self.features.layout().group };
        for member in members {
            let slot = self.features.layout().slot_of_member(index, member);
            if slot != target && self.kernel.covered(&self.dev, slot).is_some() {
                reads += 1;
                buffered::read(self, update, slot);
            }
        }
        self.features.failures().totals.rebuild_reads += u64::from(reads);
        self.features.raid().records[update].busy = reads;
        if reads == 0 {
            self.begin_writing(update);
        }
    }

    /// A chunk has been rebuilt, or there was none to rebuild.
    pub(in crate::engine) fn rebuild_ends(&mut self, update: u32) {
        // This is progress, although no request has completed.
        self.kernel.idle_rounds = 0;
        let index = self.features.raid().records[update].index;
        let again = self.features.missing_of(index).is_some();
        let record = &mut self.features.raid().records[update];
        record.target = Lpn::NONE;
        record.rebuild = again;
        if self.features.settles(&self.dev, update, true) {
            self.begin_reads(update);
        }
        if !again {
            self.features.failures().rebuilding -= 1;
            self.features.rebuild_more(self.now);
        }
    }
}
