//! Metadata of blocks: written when a block's data pages are full, read when the block becomes a victim.
//!
//! A collection that fills a block writes its metadata itself, while it holds the die. Any other metadata write waits in its
//! die's queue. Until the metadata has landed, the block is not closed and so cannot be a victim.

use crate::device::command::Command;
use crate::device::transaction::{Class, Op, Verb};
use crate::engine::kernel::Kernel;
use crate::engine::kernel::dies::Holder;
use crate::engine::rules::Rules;
use crate::engine::{Device, Features, Gc, Nanos};
use crate::oracle::Oracle;
use crate::policy::{MAX_PLANES, PageSet};
use crate::stats::Stats;
use crate::units::{BlockId, JobId, Lpn, OpId, PlaneId, Ppn, Tag, UnitId};

/// Metadata that a collection still has to read or write.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct Due {
    /// Metadata pages per victim that have not been read.
    read: u32,
    /// Blocks that the collection has filled.
    filled: [BlockId; MAX_PLANES],
    count: u8,
}

impl Due {
    /// Start of a collection, with `pages` metadata pages per victim.
    pub(in crate::engine) fn at_start(pages: u32) -> Self {
        Due { read: pages, filled: [BlockId::NONE; MAX_PLANES], count: 0 }
    }

    pub(in crate::engine) fn any(&self) -> bool {
        self.read > 0 || self.count > 0
    }
}

impl Device {
    /// Metadata pages per block.
    fn metadata_pages(&self) -> u32 {
        self.geometry.pages_per_block - self.geometry.data_pages
    }

    /// Metadata reads of a new collection.
    pub(in crate::engine) fn metadata_at_start(&self) -> Due {
        Due::at_start(self.metadata_pages())
    }

    /// A metadata page has landed. Returns whether it was the block's last one, so that the block is closed.
    fn land_metadata(&mut self, oracle: &mut Oracle, page: Ppn) -> bool {
        let block = self.geometry.block_of(page);
        self.flash.land(page, block, Lpn::NONE);
        oracle.store(page, Tag::NONE);
        !self.flash.wants_metadata(block)
    }

    /// A block becomes a victim in no time: counts the reads of its metadata, if blocks end with metadata.
    pub(in crate::engine) fn read_metadata_now(&self, stats: &mut Stats, rules: &Rules) {
        if rules.metadata {
            stats.count_reads(Class::Metadata, u64::from(self.metadata_pages()));
        }
    }

    /// A page of the host has been put on flash in no time, and so is the metadata that becomes due, if blocks end with metadata.
    #[inline(always)]
    pub(in crate::engine) fn has_put(
        &mut self,
        features: &mut Features,
        stats: &mut Stats,
        oracle: &mut Oracle,
        rules: &Rules,
        page: Ppn,
    ) {
        if rules.metadata {
            let block = self.geometry.block_of(page);
            self.write_metadata_now(features, stats, oracle, rules, block, false);
        }
    }

    /// A page has landed in no time, and so does the metadata that becomes due. `gc`: a collection has put the page there.
    #[inline(always)]
    pub(in crate::engine) fn write_metadata_now(
        &mut self,
        features: &mut Features,
        stats: &mut Stats,
        oracle: &mut Oracle,
        rules: &Rules,
        block: BlockId,
        gc: bool,
    ) {
        while rules.metadata && self.flash.wants_metadata(block) {
            let page = self.flash.take_metadata(block);
            stats.count_programs(Class::Metadata, 1);
            if rules.tenants {
                features.tenant_closes(self, block, gc);
            }
            self.land_metadata(oracle, page);
        }
    }

    /// Power is cut: the copyback counts of blocks are lost if their metadata is not written, or is on one of the `torn` pages.
    /// They count as exhausted from then on. Recovery writes the metadata that was due.
    pub(in crate::engine) fn lose_copyback_counts(
        &mut self,
        features: &mut Features,
        stats: &mut Stats,
        oracle: &mut Oracle,
        rules: &Rules,
        torn: impl Iterator<Item = Ppn>,
    ) {
        let geometry = &self.geometry;
        self.wear.lose(&self.flash, geometry);
        let torn = torn.filter(|page| geometry.offset(*page) >= geometry.data_pages);
        for block in torn.map(|page| geometry.block_of(page)) {
            self.wear.lose_block(geometry.page(block, 0), geometry.data_pages);
        }
        for block in (0..self.geometry.planes * self.geometry.blocks_per_plane).map(BlockId) {
            self.write_metadata_now(features, stats, oracle, rules, block, false);
        }
    }

    /// A collection has read or written one of its metadata pages.
    #[inline(never)]
    pub(in crate::engine) fn metadata_step_ends(
        &mut self,
        kernel: &mut Kernel,
        gc: &mut Gc,
        oracle: &mut Oracle,
        op: OpId,
    ) {
        let (job, pages) = (kernel.ops[op].job, kernel.ops[op].pages);
        kernel.ops[op].class = Class::Gc;
        if kernel.ops[op].verb == Verb::Read {
            pages.iter().for_each(|page| self.flash.read_ends(self.geometry.block_of(*page)));
            gc.jobs[job.0].metadata.read -= 1;
            return;
        }
        if self.land_metadata(oracle, pages[0]) {
            gc.jobs[job.0].metadata.count -= 1;
        }
    }

    /// Takes the next metadata page of a block and sets up its program. `gc`: a collection has filled the block.
    fn program_metadata(
        &mut self,
        kernel: &mut Kernel,
        features: &mut Features,
        stats: &mut Stats,
        rules: &Rules,
        op: OpId,
        (block, gc): (BlockId, bool),
    ) {
        let page = self.flash.take_metadata(block);
        stats.count_programs(Class::Metadata, 1);
        if rules.tenants {
            features.tenant_closes(self, block, gc);
        }
        let burst = self.timing.page();
        kernel.ops[op].pages = PageSet::one(page);
        kernel.ops[op].legs = self.timing.legs(Command::Program { pages: &[self.place(page)], burst });
    }

    /// The metadata step begins.
    #[inline(never)]
    pub(in crate::engine) fn begin_metadata_step(
        &mut self,
        kernel: &mut Kernel,
        gc: &Gc,
        features: &mut Features,
        stats: &mut Stats,
        rules: &Rules,
        op: OpId,
    ) {
        let running = &gc.jobs[kernel.ops[op].job.0];
        let due = running.metadata;
        if due.read == 0 {
            return self.program_metadata(
                kernel,
                features,
                stats,
                rules,
                op,
                (due.filled[usize::from(due.count) - 1], true),
            );
        }
        let offset = self.geometry.pages_per_block - due.read;
        let mut pages = PageSet::EMPTY;
        for victim in &running.job.victims[..usize::from(running.job.count)] {
            pages.push(self.geometry.page(*victim, offset));
        }
        pages.iter().for_each(|page| self.flash.read_begins(self.geometry.block_of(*page)));
        stats.count_reads(Class::Metadata, pages.len() as u64);
        let burst = Nanos(self.timing.page().0 * pages.len() as u64);
        kernel.ops[op].pages = pages;
        let places = &self.places(&pages)[..pages.len()];
        kernel.ops[op].legs = self.timing.legs(Command::Read { pages: places, burst, decoded: false });
    }

    /// A metadata write has reached the head of the queue of a die that no collection holds.
    #[inline(never)]
    pub(in crate::engine) fn begin_metadata(
        &mut self,
        kernel: &mut Kernel,
        features: &mut Features,
        stats: &mut Stats,
        rules: &Rules,
        now: Nanos,
        (op, unit): (OpId, UnitId),
    ) {
        let plane = kernel.ops[op].plane;
        let block = self.geometry.block_of(kernel.ops[op].pages[0]);
        let gc = kernel.is_of_gc(op);
        if gc {
            let k = self.geometry.plane_in_unit(plane);
            kernel.seize_for_gc(self, now, unit, 1 << k, plane);
        } else {
            // It would exist without GC too.
            kernel.update_lag(now, op, unit);
            kernel.seize_unit(self, now, unit, Holder::Host, plane);
        }
        self.program_metadata(kernel, features, stats, rules, op, (block, gc));
        kernel.ops[op].leg = 0;
        kernel.dies[unit].occupy(op);
    }

    /// A queued metadata write has landed. Returns its plane, and the operation that writes the next metadata page of its block and the
    /// plane of that, if there is one: it joins the queue of its die.
    #[inline(never)]
    pub(in crate::engine) fn metadata_ends(
        &mut self,
        kernel: &mut Kernel,
        gc: &mut Gc,
        stats: &mut Stats,
        oracle: &mut Oracle,
        now: Nanos,
        op: OpId,
    ) -> (PlaneId, Option<(OpId, PlaneId)>) {
        kernel.count_time(stats, op);
        let record = &kernel.ops[op];
        let (unit, plane, page, home) = (record.unit, record.plane, record.pages[0], record.home);
        if !kernel.is_of_gc(op) {
            kernel.dies[unit].released_at(now);
        }
        kernel.stop(self, now, unit, plane);
        kernel.ops.remove(op);
        if self.land_metadata(oracle, page) {
            return (plane, None);
        }
        (plane, kernel.metadata_due(self, gc, now, self.geometry.block_of(page), JobId::NONE, home))
    }
}

impl Gc {
    /// Takes a metadata read or write as a collection's next step, if one is due. Returns whether it did; never where blocks have no
    /// metadata.
    #[inline(always)]
    pub(in crate::engine) fn takes_metadata_step(&self, kernel: &mut Kernel, rules: &Rules, id: JobId) -> bool {
        let due = rules.metadata && self.jobs[id.0].metadata.any();
        if due {
            self.metadata_step(kernel, id);
        }
        due
    }

    /// Takes a metadata read or write as a collection's next step.
    #[inline(never)]
    fn metadata_step(&self, kernel: &mut Kernel, id: JobId) {
        let running = &self.jobs[id.0];
        let (op, reads) = (running.op, running.metadata.read > 0);
        kernel.ops[op].class = Class::Metadata;
        kernel.ops[op].verb = if reads { Verb::Read } else { Verb::Program };
    }
}

impl Kernel {
    /// Metadata of a block is due. Its operation and plane, if it waits in the queue of its die.
    fn metadata_due(
        &mut self,
        dev: &Device,
        gc: &mut Gc,
        now: Nanos,
        block: BlockId,
        job: JobId,
        home: JobId,
    ) -> Option<(OpId, PlaneId)> {
        if job.is_some() {
            let due = &mut gc.jobs[job.0].metadata;
            due.filled[usize::from(due.count)] = block;
            due.count += 1;
            return None;
        }
        let plane = dev.geometry.plane_of_block(block);
        let (age, pages) = (self.age(), PageSet::one(dev.geometry.page(block, 0)));
        let class = Class::Metadata;
        let op = Op { class, verb: Verb::Program, pages, age, home, waits_since: now, ..Op::blank() };
        Some((self.ops.create(op), plane))
    }

    /// A page has landed in a block: if it was the last data page, the metadata is due. `job` is the collection that runs on this
    /// die, `home` the one that sent the page here. Returns the operation that writes it and its plane, if it waits in the queue of
    /// its die, which it joins.
    #[inline(always)]
    pub(in crate::engine) fn note_filled(
        &mut self,
        dev: &Device,
        gc: &mut Gc,
        rules: &Rules,
        now: Nanos,
        block: BlockId,
        (job, home): (JobId, JobId),
    ) -> Option<(OpId, PlaneId)> {
        if rules.metadata && dev.flash.wants_metadata(block) {
            self.metadata_due(dev, gc, now, block, job, home)
        } else {
            None
        }
    }
}
