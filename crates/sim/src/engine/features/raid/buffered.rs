//! Chunks of which only the controller has what parity covers: they wait in the buffer of moved pages, or a write has replaced them
//! there.

use crate::device::mapping::Location;
use crate::device::transaction::{Class, Need, Verb};
use crate::engine::kernel::Kernel;
use crate::engine::kernel::ops::{Chunk, NO_REDIRECT, NO_UPDATE, Page};
use crate::engine::{Device, Features, Ssd};
use crate::oracle::Oracle;
use crate::units::{Lpn, OpId, Tag, UnitId};

impl Kernel {
    /// Whether parity covers a chunk, wherever it is.
    pub(super) fn is_covered(&self, dev: &Device, lpn: Lpn) -> bool {
        self.covered(dev, lpn).is_some() || self.covered_in_buffer(dev, lpn).is_some()
    }

    /// The content of a chunk that parity covers, if only the controller has it: the chunk waits in the buffer, or a write has
    /// replaced it there.
    pub(in crate::engine) fn covered_in_buffer(&self, dev: &Device, lpn: Lpn) -> Option<Tag> {
        let Location::Staged(write) = dev.map.get(lpn) else { return None };
        if !self.ops.stages() {
            return None;
        }
        let buffered = self.ops[write].class == Class::Writeback;
        if buffered { Some(self.ops[Page(write)].tags[0]) } else { self.ops.buffer[write].replaces }
    }

    /// A write takes over the covered content that an earlier write of its page has.
    #[inline(always)]
    pub(super) fn take_over(&mut self, op: OpId, earlier: OpId) {
        if self.ops.stages() {
            self.ops.buffer[op].replaces = self.ops.buffer[earlier].replaces.take();
        }
    }
}

impl Features {
    /// Adds the content of a chunk that an update reads to the new parity.
    pub(super) fn add_chunk(&mut self, kernel: &Kernel, oracle: &Oracle, op: OpId, tag: Tag) {
        let (update, lpn) = (kernel.ops.parity[op].update, kernel.ops[op].lpn);
        if update == NO_UPDATE || !oracle.checks_content() {
            return;
        }
        law_eq!(tag.lpn, lpn, "oracle: a chunk is read where its group has it");
        let reads_old = self.raid().records[update].rmw;
        if !reads_old && (kernel.ops[op].need == Need::Merge || lpn == self.parity_of(lpn)) {
            // Read for a partial write only.
            return;
        }
        let content = self.content(oracle, tag);
        self.raid().records[update].content ^= content;
    }
    /// An update has begun with this write: the old content that it has taken over is part of the new parity, if old content is.
    #[inline(always)]
    pub(super) fn add_replaced(&mut self, kernel: &mut Kernel, oracle: &Oracle, update: u32, op: OpId, rmw: bool) {
        if !kernel.ops.stages() {
            return;
        }
        if let Some(tag) = kernel.ops.buffer[op].replaces.take()
            && rmw
        {
            let content = self.content(oracle, tag);
            self.raid().records[update].content ^= content;
        }
    }
}

/// Reads a chunk for an update, from the flash or from the buffer.
pub(super) fn read(ssd: &mut Ssd, update: u32, slot: Lpn) {
    let op = ssd.kernel.chunk_op(&ssd.dev, update, slot, Verb::Read, Need::Read);
    if ssd.kernel.ops.stages()
        && let Some(tag) = ssd.kernel.covered_in_buffer(&ssd.dev, slot)
    {
        return take(ssd, op, tag);
    }
    ssd.queue_on_chip(op);
}

/// A read for a group finds its chunk in the buffer.
pub(super) fn take(ssd: &mut Ssd, op: OpId, tag: Tag) {
    ssd.kernel.ops[Page(op)].tags[0] = tag;
    ssd.features.add_chunk(&ssd.kernel, &ssd.oracle, op, tag);
    if ssd.host.begin_in_memory(&mut ssd.kernel, ssd.now, op) {
        is_given(ssd, op);
    }
}

/// A read that has reached the head of its queue is for a group: begins it, from flash or from the buffer. False for other reads.
#[inline(always)]
pub(in crate::engine) fn selects(ssd: &mut Ssd, op: OpId, unit: UnitId) -> bool {
    let group = ssd.features.reads_group(&ssd.kernel, op);
    if group {
        match ssd.kernel.covered(&ssd.dev, ssd.kernel.ops[op].lpn) {
            Some(at) => ssd.begin_read(op, at, unit),
            None => select(ssd, op, unit),
        }
    }
    group
}

/// The chunk of a read for a group was put into the buffer while the read waited for its die.
#[cold]
fn select(ssd: &mut Ssd, op: OpId, unit: UnitId) {
    let slot = ssd.kernel.ops[op].lpn;
    let tag = ssd.kernel.covered_in_buffer(&ssd.dev, slot);
    ssd.features.leaves_chip(&ssd.kernel, &ssd.dev, &mut ssd.host, op);
    ssd.charge_wait(op, unit, &ssd.kernel.turn(ssd.now, op, unit));
    take(ssd, op, tag.expect("law: a stripe's members stay while they are read"));
}

/// Controller memory has given a page: to the host, or to a group.
#[inline(always)]
pub(in crate::engine) fn gives(ssd: &mut Ssd, op: OpId) {
    if ssd.rules.stages && ssd.features.reads_group(&ssd.kernel, op) {
        return is_given(ssd, op);
    }
    ssd.leaves(op);
}

/// The buffer has given the chunk of a read.
fn is_given(ssd: &mut Ssd, op: OpId) {
    let Chunk { update, redirect, .. } = ssd.kernel.ops.parity[op];
    if redirect != NO_REDIRECT {
        return ssd.part_ends(op, false);
    }
    ssd.kernel.ops.remove(op);
    ssd.part_of_update_ends(update);
}
