//! Metadata of blocks: written when a block's data pages are full, read when the block becomes a victim.
//!
//! A collection that fills a block writes its metadata itself, while it holds the die. Any other metadata write waits in its
//! die's queue. Until the metadata has landed, the block is not closed and so cannot be a victim.

use super::{Device, Nanos, Ssd};
use crate::device::command::Command;
use crate::device::transaction::{Class, Op, Verb};
use crate::engine::kernel::dies::Holder;
use crate::oracle::Oracle;
use crate::policy::{MAX_PLANES, PageSet};
use crate::units::{BlockId, JobId, Lpn, OpId, Ppn, Tag, UnitId};

/// Metadata that a collection still has to read or write.
#[derive(Clone, Copy, Debug)]
pub(super) struct Due {
    /// Metadata pages per victim that have not been read.
    read: u32,
    /// Blocks that the collection has filled.
    filled: [BlockId; MAX_PLANES],
    count: u8,
}

impl Due {
    /// Start of a collection, with `pages` metadata pages per victim.
    pub(super) fn at_start(pages: u32) -> Self {
        Due { read: pages, filled: [BlockId::NONE; MAX_PLANES], count: 0 }
    }

    pub(super) fn any(&self) -> bool {
        self.read > 0 || self.count > 0
    }
}

impl Device {
    /// Metadata pages per block.
    fn metadata_pages(&self) -> u32 {
        self.geometry.pages_per_block - self.geometry.data_pages
    }

    /// Metadata reads of a new collection.
    pub(super) fn metadata_at_start(&self) -> Due {
        Due::at_start(self.metadata_pages())
    }

    /// A metadata page has landed. Returns whether it was the block's last one, so that the block is closed.
    fn land_metadata(&mut self, oracle: &mut Oracle, page: Ppn) -> bool {
        let block = self.geometry.block_of(page);
        self.flash.land(page, block, Lpn::NONE);
        oracle.store(page, Tag::NONE);
        !self.flash.wants_metadata(block)
    }
}

impl Ssd {
    /// A page has landed in a block: if it was the last data page, the metadata is due. `job` is the collection that runs on this
    /// die, `home` the one that sent the page here.
    #[inline(always)]
    pub(super) fn note_filled(&mut self, block: BlockId, job: JobId, home: JobId) {
        if self.rules.metadata && self.dev.flash.wants_metadata(block) {
            self.metadata_due(block, job, home);
        }
    }

    fn metadata_due(&mut self, block: BlockId, job: JobId, home: JobId) {
        if job.is_some() {
            let due = &mut self.gc.jobs[job.0].metadata;
            due.filled[usize::from(due.count)] = block;
            due.count += 1;
            return;
        }
        let plane = self.dev.geometry.plane_of_block(block);
        let (age, pages) = (self.kernel.age(), PageSet::one(self.dev.geometry.page(block, 0)));
        let class = Class::Metadata;
        let op = Op { class, verb: Verb::Program, pages, age, home, waits_since: self.now, ..Op::blank() };
        let op = self.kernel.ops.create(op);
        self.enqueue(op, plane, false);
    }

    /// Takes a metadata read or write as a collection's next step.
    #[inline(never)]
    pub(super) fn metadata_step(&mut self, id: JobId) {
        let running = &self.gc.jobs[id.0];
        let (op, reads) = (running.op, running.metadata.read > 0);
        self.kernel.ops[op].class = Class::Metadata;
        self.kernel.ops[op].verb = if reads { Verb::Read } else { Verb::Program };
        self.carry_out(id);
    }

    /// The metadata step begins.
    #[inline(never)]
    pub(super) fn begin_metadata_step(&mut self, op: OpId) {
        let running = &self.gc.jobs[self.kernel.ops[op].job.0];
        let due = running.metadata;
        if due.read == 0 {
            return self.program_metadata(op, due.filled[usize::from(due.count) - 1], true);
        }
        let offset = self.dev.geometry.pages_per_block - due.read;
        let mut pages = PageSet::EMPTY;
        for victim in &running.job.victims[..usize::from(running.job.count)] {
            pages.push(self.dev.geometry.page(*victim, offset));
        }
        pages.iter().for_each(|page| self.dev.flash.read_begins(self.dev.geometry.block_of(*page)));
        self.stats.count_reads(Class::Metadata, pages.len() as u64);
        let burst = Nanos(self.dev.timing.page().0 * pages.len() as u64);
        self.kernel.ops[op].pages = pages;
        let places = &self.dev.places(&pages)[..pages.len()];
        self.kernel.ops[op].legs = self.dev.timing.legs(Command::Read { pages: places, burst, decoded: false });
    }

    /// Takes the next metadata page of a block and sets up its program. `gc`: a collection has filled the block.
    fn program_metadata(&mut self, op: OpId, block: BlockId, gc: bool) {
        let page = self.dev.flash.take_metadata(block);
        self.stats.count_programs(Class::Metadata, 1);
        if self.rules.tenants {
            self.features.tenant_closes(&self.dev, block, gc);
        }
        let burst = self.dev.timing.page();
        self.kernel.ops[op].pages = PageSet::one(page);
        self.kernel.ops[op].legs = self.dev.timing.legs(Command::Program { pages: &[self.dev.place(page)], burst });
    }

    /// A collection has read or written one of its metadata pages.
    #[inline(never)]
    pub(super) fn metadata_step_ends(&mut self, op: OpId) {
        let (job, pages) = (self.kernel.ops[op].job, self.kernel.ops[op].pages);
        self.kernel.ops[op].class = Class::Gc;
        if self.kernel.ops[op].verb == Verb::Read {
            pages.iter().for_each(|page| self.dev.flash.read_ends(self.dev.geometry.block_of(*page)));
            self.gc.jobs[job.0].metadata.read -= 1;
            return;
        }
        if self.dev.land_metadata(&mut self.oracle, pages[0]) {
            self.gc.jobs[job.0].metadata.count -= 1;
        }
    }

    /// A metadata write has reached the head of the queue of a die that no collection holds.
    #[inline(never)]
    pub(super) fn begin_metadata(&mut self, op: OpId, unit: UnitId) {
        let plane = self.kernel.ops[op].plane;
        let block = self.dev.geometry.block_of(self.kernel.ops[op].pages[0]);
        let gc = self.kernel.is_of_gc(op);
        if gc {
            let k = self.dev.geometry.plane_in_unit(plane);
            self.kernel.seize_for_gc(&self.dev, self.now, unit, 1 << k, plane);
        } else {
            // It would exist without GC too.
            self.kernel.update_lag(self.now, op, unit);
            self.kernel.seize_unit(&self.dev, self.now, unit, Holder::Host, plane);
        }
        self.program_metadata(op, block, gc);
        self.kernel.ops[op].leg = 0;
        self.kernel.dies[unit].occupy(op);
        self.run_leg(op);
    }

    /// A queued metadata write has landed.
    #[inline(never)]
    pub(super) fn metadata_ends(&mut self, op: OpId) {
        self.count_time(op);
        let record = &self.kernel.ops[op];
        let (unit, plane, page, home) = (record.unit, record.plane, record.pages[0], record.home);
        if !self.kernel.is_of_gc(op) {
            self.kernel.dies[unit].released_at(self.now);
        }
        self.kernel.stop(&self.dev, self.now, unit, plane);
        self.kernel.ops.remove(op);
        if !self.dev.land_metadata(&mut self.oracle, page) {
            self.metadata_due(self.dev.geometry.block_of(page), JobId::NONE, home);
        }
        self.test_trigger(plane);
    }

    /// A page has landed in no time, and so does the metadata that becomes due. `gc`: a collection has put the page there.
    #[inline(always)]
    pub(super) fn write_metadata_now(&mut self, block: BlockId, gc: bool) {
        while self.rules.metadata && self.dev.flash.wants_metadata(block) {
            let page = self.dev.flash.take_metadata(block);
            self.stats.count_programs(Class::Metadata, 1);
            if self.rules.tenants {
                self.features.tenant_closes(&self.dev, block, gc);
            }
            self.dev.land_metadata(&mut self.oracle, page);
        }
    }

    /// A block becomes a victim in no time.
    pub(super) fn read_metadata_now(&mut self) {
        if self.rules.metadata {
            self.stats.count_reads(Class::Metadata, u64::from(self.dev.metadata_pages()));
        }
    }

    /// Power is cut: the copyback counts of blocks are lost if their metadata is not written, or is on one of the `torn` pages.
    /// They count as exhausted from then on. Recovery writes the metadata that was due.
    pub(super) fn lose_copyback_counts(&mut self, torn: impl Iterator<Item = Ppn>) {
        let geometry = &self.dev.geometry;
        self.dev.wear.lose(&self.dev.flash, geometry);
        let torn = torn.filter(|page| geometry.offset(*page) >= geometry.data_pages);
        for block in torn.map(|page| geometry.block_of(page)) {
            self.dev.wear.lose_block(geometry.page(block, 0), geometry.data_pages);
        }
        for block in (0..self.dev.geometry.planes * self.dev.geometry.blocks_per_plane).map(BlockId) {
            self.write_metadata_now(block, false);
        }
    }
}
