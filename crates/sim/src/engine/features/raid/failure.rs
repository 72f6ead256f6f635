//! Chip failures: pages are reconstructed from the rest of their parity groups; pages that cannot be are lost, and reported.
//!
//! A chunk is *sound* (on flash, in controller memory, or never written), *missing* (its chip has failed, but the rest of its
//! group restores it) or *lost*. A group has at most one missing chunk: if a second one fails, both are lost, and parity becomes
//! useless. A missing parity chunk means that the group has no parity. A lost chunk counts as zero in new parity, and stays lost
//! until it is overwritten.
//!
//! Operations in service on a failed chip run to their end, which is when the controller detects the failure. A read then reads
//! the rest of the group; a program has stored nothing. An update that reads from the chip restarts its reads, for which old
//! chunks stay valid until all reads have ended. An update that programs there continues without that program, and parity
//! contains the data; with a spare chip it programs there instead.

use crate::config::{Config, Errors, RaidLayout};
use crate::device::mapping::Location;
use crate::device::transaction::{Class, Fifo, Need};
use crate::engine::features::raid::stripe::{Chain, Phase, Plan};
use crate::engine::kernel::Kernel;
use crate::engine::kernel::ops::{NO_REDIRECT, NO_UPDATE, Page};
use crate::engine::rules::Rules;
use crate::engine::{Device, Features, Gc, Host, Nanos, Ssd};
use crate::oracle::Oracle;
use crate::random;
use crate::report::failure::{ChipFailure, Failed, FailureTotals};
use crate::units::{BlockId, JobId, Lpn, OpId, PlaneId, Ppn, Tag, UnitId};

/// State of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Chunk {
    /// On flash, in controller memory, or never written.
    Sound,
    /// The rest of its group restores it. For parity: the group has none.
    Missing,
    /// Not restorable.
    Lost,
}

/// What has gone with a slot's chip.
pub(in crate::engine) enum Gone {
    /// Nothing.
    Nothing,
    /// A page that was never written, to which this write adds sectors: no read of it is needed.
    Zeroes(OpId),
    /// Content.
    Content,
}

/// What follows a program that has stored nothing.
enum Denied {
    /// It is programmed again: a spare chip has replaced the failed one.
    Again,
    /// It ends: a newer write of its page has begun, so it would have landed stale.
    Stale,
    /// It was part of this update, which continues without it.
    Part(u32),
}

/// How a read of a missing or lost page is served.
pub(super) enum Instead {
    /// From memory: the page has been overwritten meanwhile.
    Newer,
    /// It is lost, and reported.
    Lost,
    /// By the rest of its group, which this update keeps as it is.
    Group(u32),
    /// When its group is clean.
    Later,
}

/// Failed chips, and states of chunks.
#[derive(Clone)]
pub(in crate::engine) struct Failures {
    /// Chips that will fail, the next one last.
    due: Vec<(Nanos, u32)>,
    /// By chip: failed, so that nothing can be read or programmed there.
    dead: Vec<bool>,
    /// By slot: state of its chunk.
    chunks: Vec<Chunk>,
    /// By slot: content when it was last missing (oracle).
    pub(super) tags: Vec<Tag>,
    /// Number of chunks rebuilt at a time on spare chips; 0 without spare chips.
    pub(super) rebuild: u32,
    /// Groups being rebuilt, and the first group that has not been considered.
    pub(super) rebuilding: u32,
    /// See `rebuilding`.
    pub(super) cursor: u32,
    /// Missing chunks, and the time since when there are any.
    missing: u64,
    since: Nanos,
    pub(super) totals: FailureTotals,
    failed: Vec<ChipFailure>,
}

impl Failures {
    /// None if no chip fails and every page of a parity group stays readable.
    pub(in crate::engine) fn new(config: &Config, slots: u32, seed: u64) -> Option<Box<Self>> {
        let fails = &config.faults.chip_fails;
        let may_be_unreadable = config.raid.layout != RaidLayout::None && config.ecc.errors == Errors::Model;
        if fails.is_empty() && !may_be_unreadable {
            return None;
        }
        let chips = config.geometry.channels * config.geometry.chips_per_channel;
        let mut rng = random::stream(seed, "chip failures");
        let mut due = Vec::new();
        for one in fails {
            let chip = one.chip.unwrap_or_else(|| random::below(&mut rng, u64::from(chips)) as u32);
            let drawn = |bound: Nanos| Nanos(random::below(&mut rng, bound.0 + 1));
            due.push((one.at.or(one.within.map(drawn)).expect("a checked configuration says when"), chip));
        }
        due.sort_unstable_by(|a, b| b.cmp(a));
        Some(Box::new(Failures {
            due,
            dead: vec![false; chips as usize],
            chunks: vec![Chunk::Sound; slots as usize],
            tags: vec![Tag::NONE; slots as usize],
            rebuild: config.faults.rebuild,
            rebuilding: 0,
            cursor: u32::MAX,
            missing: 0,
            since: Nanos::ZERO,
            totals: FailureTotals::default(),
            failed: Vec::with_capacity(fails.len()),
        }))
    }

    /// The next chip of `faults.chip_fails` that fails by now, if there is one.
    #[cold]
    pub(in crate::engine) fn take_due(&mut self, now: Nanos) -> Option<u32> {
        self.due.pop_if(|(at, _)| *at <= now).map(|(_, chip)| chip)
    }

    /// Time of the next failure.
    pub(in crate::engine) fn next(&self) -> Nanos {
        self.due.last().map_or(Nanos::NEVER, |(at, _)| *at)
    }

    /// Contents of chunks when they were last missing (oracle).
    fn tags(&self) -> impl Iterator<Item = Tag> {
        self.tags.iter().copied()
    }

    /// Restarts the counters. Failed chips and their times are kept.
    pub(in crate::engine) fn restart(&mut self, now: Nanos) {
        self.totals = FailureTotals::default();
        self.since = now;
    }

    /// Summary at a time.
    pub(in crate::engine) fn summary(&self, now: Nanos) -> Failed {
        let open = if self.missing > 0 { (now - self.since).0 } else { 0 };
        self.totals.summary(&self.failed, open)
    }
}

impl Features {
    /// Contents of chunks when they were last missing (oracle); none if chips cannot fail.
    pub(in crate::engine) fn missing_tags(&self) -> impl Iterator<Item = Tag> {
        self.failures.iter().flat_map(|failures| failures.tags())
    }

    pub(in crate::engine) fn failures(&mut self) -> &mut Failures {
        self.failures.as_mut().expect("only devices whose chips may fail get here")
    }

    pub(in crate::engine) fn chunk(&self, slot: Lpn) -> Chunk {
        self.failures.as_ref().map_or(Chunk::Sound, |failures| failures.chunks[slot.ix()])
    }

    /// Whether a chunk is missing or lost.
    #[inline(always)]
    pub(in crate::engine) fn is_missing(&self, slot: Lpn) -> bool {
        self.failures.as_ref().is_some_and(|failures| failures.chunks[slot.ix()] != Chunk::Sound)
    }

    /// Content of a missing chunk, from the rest of its group.
    #[inline(never)]
    pub(in crate::engine) fn missing_tag(&self, slot: Lpn) -> Tag {
        if self.chunk(slot) == Chunk::Missing { self.last_tag(slot) } else { Tag::NONE }
    }

    /// Content of a chunk when it was last missing.
    pub(in crate::engine) fn last_tag(&self, slot: Lpn) -> Tag {
        self.failures.as_ref().map_or(Tag::NONE, |failures| failures.tags[slot.ix()])
    }

    /// Whether the chip of a slot has failed.
    pub(in crate::engine) fn is_dead(&self, slot: Lpn) -> bool {
        self.failures.as_ref().is_some_and(|failures| failures.dead[self.layout().chip_of(slot) as usize])
    }

    /// The parity slot of a slot's group.
    pub(in crate::engine) fn parity_of(&self, slot: Lpn) -> Lpn {
        let layout = self.layout();
        layout.parity_slot(layout.group_index(slot))
    }

    /// The missing chunk of a slot's group, except the slot itself.
    pub(in crate::engine) fn missing_beside(&self, slot: Lpn) -> Option<Lpn> {
        let (layout, index) = (self.layout(), self.layout().group_index(slot));
        let mut slots = (0..layout.group).map(|member| layout.slot_of_member(index, member));
        slots.find(|other| *other != slot && self.chunk(*other) == Chunk::Missing)
    }

    /// No version of a slot is left: its versions start from the beginning.
    pub(in crate::engine) fn forget_tag(&mut self, slot: Lpn) {
        if let Some(failures) = &mut self.failures {
            failures.tags[slot.ix()] = Tag::NONE;
        }
    }

    pub(in crate::engine) fn set_chunk(&mut self, now: Nanos, slot: Lpn, chunk: Chunk) {
        let failures = self.failures();
        let before = std::mem::replace(&mut failures.chunks[slot.ix()], chunk);
        match (before == Chunk::Missing, chunk == Chunk::Missing) {
            (false, true) => {
                if failures.missing == 0 {
                    failures.since = now;
                }
                failures.missing += 1;
            }
            (true, false) => {
                failures.missing -= 1;
                if failures.missing == 0 {
                    failures.totals.unprotected += u128::from((now - failures.since).0);
                    let open = failures.failed.iter_mut().filter(|chip| chip.whole_after.is_none());
                    open.for_each(|chip| chip.whole_after = Some((now - chip.at).0));
                }
            }
            _ => {}
        }
    }

    /// A missing or lost chunk is on flash again.
    pub(in crate::engine) fn found_chunk(&mut self, now: Nanos, slot: Lpn) {
        if self.is_missing(slot) {
            self.set_chunk(now, slot, Chunk::Sound);
        }
    }

    /// After a power cut, rebuilding restarts with the first group.
    pub(in crate::engine) fn resume_rebuilding(&mut self, now: Nanos) {
        let failures = self.failures();
        if !failures.failed.is_empty() {
            failures.rebuilding = 0;
            failures.cursor = 0;
            self.rebuild_more(now);
        }
    }

    /// A group's parity has no chip.
    pub(in crate::engine) fn lacks_parity(&mut self, now: Nanos, parity: Lpn) {
        self.set_chunk(now, parity, Chunk::Missing);
    }

    /// A page is read before it was written, in a group whose parity has no chip.
    pub(in crate::engine) fn never_had_parity(&mut self, now: Nanos, parity: Lpn) {
        let index = self.layout().group_index(parity);
        self.lacks_parity(now, parity);
        self.raid().set_clean(index);
    }

    /// A chunk has lost its chip, but the rest of its group restores it. If another chunk is missing, both are lost.
    pub(in crate::engine) fn misses(&mut self, dev: &mut Device, now: Nanos, slot: Lpn, tag: Tag) {
        let (parity, other) = (self.parity_of(slot), self.missing_beside(slot));
        self.failures().tags[slot.ix()] = tag;
        self.set_chunk(now, slot, Chunk::Missing);
        let Some(other) = other else { return };
        for chunk in [slot, other].into_iter().filter(|chunk| *chunk != parity) {
            self.set_chunk(now, chunk, Chunk::Lost);
            // A write in flight decides the chunk's state at its end.
            let known = matches!(dev.map.get(chunk), Location::Staged(_));
            self.failures().totals.lost_pages += u64::from(!known);
        }
        if let Location::Flash(page) = dev.map.get(parity) {
            dev.flash.invalidate(page, dev.geometry.block_of(page), parity);
        }
        dev.map.set(parity, Location::Nowhere);
        self.set_chunk(now, parity, Chunk::Missing);
    }

    /// A chunk is lost: it is not on flash, and its group does not restore it. Returns whether it was acknowledged.
    pub(in crate::engine) fn set_lost(&mut self, oracle: &Oracle, now: Nanos, slot: Lpn) -> bool {
        let known = oracle.known(slot).is_some();
        self.set_chunk(now, slot, if known { Chunk::Lost } else { Chunk::Sound });
        self.failures().totals.lost_pages += u64::from(known);
        known
    }

    /// Reports to its request a write that could not be stored, or not be merged with the old page.
    fn report_lost_write(&mut self, host: &mut Host, kernel: &Kernel, op: OpId) {
        let measured = host.requests[kernel.ops[op].request].measured;
        self.failures().totals.lost_writes += u64::from(measured);
        host.report_uncorrectable(kernel, op);
    }

    /// Parity is about to be programmed. Returns whether its chip works.
    #[inline(never)]
    pub(in crate::engine) fn begin_parity(&mut self, dev: &mut Device, now: Nanos, parity: Lpn) -> bool {
        if self.is_dead(parity) {
            if !self.is_missing(parity) {
                self.misses(dev, now, parity, Tag::NONE);
            }
            return false;
        }
        self.set_chunk(now, parity, Chunk::Sound);
        true
    }

    /// No chip accepts a write: it ends with its update.
    fn keep(
        &mut self,
        kernel: &mut Kernel,
        dev: &mut Device,
        oracle: &mut Oracle,
        config: &Config,
        now: Nanos,
        op: OpId,
    ) {
        if oracle.tracks_sectors() {
            kernel.compose(dev, oracle, config, op);
        }
        let update = kernel.ops.parity[op].update;
        let raid = self.raid.as_mut().expect("only devices with parity get here");
        raid.records[update].kept.push(&mut kernel.ops, op);
        let (lpn, tag) = (kernel.ops[op].lpn, kernel.ops[Page(op)].tags[0]);
        // Until then, the group restores the previous version.
        let before = (self.chunk(lpn) == Chunk::Missing).then(|| self.last_tag(lpn).version);
        kernel.ops.parity[op].before = before;
        kernel.ops[op].waits_since = now;
        self.misses(dev, now, lpn, tag);
    }

    /// The content of a slot's chip is gone.
    pub(in crate::engine) fn chunk_fails(
        &mut self,
        kernel: &mut Kernel,
        dev: &mut Device,
        host: &Host,
        oracle: &mut Oracle,
        now: Nanos,
        slot: Lpn,
    ) -> Gone {
        let (page, holder) = kernel.chunk_page(dev, slot);
        let Some(page) = page else { return Gone::Nothing };
        if holder.is_some() {
            kernel.ops[Page(holder)].old = Ppn::NONE;
        } else {
            dev.map.set(slot, Location::Nowhere);
        }
        let tag = oracle.load(page, slot);
        let parity = self.parity_of(slot);
        if slot != parity && dev.map.get(parity) == Location::Nowhere && !self.is_missing(parity) {
            // Read before it was written, without room for parity: it had no content.
            oracle.never_written(slot);
            let lacks = holder.is_some() && host.lacks(kernel, holder);
            return if lacks { Gone::Zeroes(holder) } else { Gone::Nothing };
        }
        self.misses(dev, now, slot, tag);
        let (index, chunk) = (self.layout().group_index(slot), self.chunk(slot));
        let member = self.layout().member_of(slot);
        let Some(update) = self.raid().record_of(index) else { return Gone::Content };
        let record = &mut self.raid().records[update];
        let untouched = record.rmw && slot != parity && record.mask >> member & 1 == 0 && chunk == Chunk::Missing;
        record.reread |= record.phase == Phase::Reading && !untouched;
        Gone::Content
    }

    /// Whether a read's page is neither on flash nor in controller memory.
    fn is_nowhere_for(&self, kernel: &Kernel, dev: &Device, host: &Host, rules: &Rules, read: OpId) -> bool {
        match dev.map.get(kernel.ops[read].lpn) {
            Location::Nowhere => true,
            Location::Staged(newest) => {
                host.needs_old(kernel, dev, rules, read, newest) && self.old_page(kernel, dev, newest).is_none()
            }
            Location::Flash(_) => false,
        }
    }

    /// Decides how a read of a missing or lost page is served.
    pub(super) fn read_missing(
        &mut self,
        kernel: &mut Kernel,
        dev: &Device,
        host: &mut Host,
        rules: &Rules,
        now: Nanos,
        op: OpId,
    ) -> Instead {
        let lpn = kernel.ops[op].lpn;
        if !self.is_nowhere_for(kernel, dev, host, rules, op) {
            return Instead::Newer;
        }
        if self.chunk(lpn) == Chunk::Lost {
            let measured = host.requests[kernel.ops[op].request].measured;
            self.failures().totals.lost_reads += u64::from(measured);
            host.report_uncorrectable(kernel, op);
            return Instead::Lost;
        }
        let index = self.layout().group_index(lpn);
        let raid = self.raid();
        if raid.is_clean(index) {
            return Instead::Group(raid.pin(lpn, now));
        }
        let update = raid.record_of(index).expect("a group that is not clean has a record");
        kernel.ops[op].waits_since = now;
        raid.records[update].reads.push(&mut kernel.ops, op);
        Instead::Later
    }

    /// Counts the reads that restore a page.
    pub(super) fn count_degraded(&mut self, kernel: &Kernel, host: &Host, op: OpId, reads: u32) {
        law!(reads > 0, "law: parity restores a missing page");
        let measured = host.requests[kernel.ops[op].request].measured;
        let totals = &mut self.failures().totals;
        totals.degraded_reads += u64::from(measured);
        totals.instead += if measured { u64::from(reads) } else { 0 };
    }

    /// A chunk is about to be programmed. Returns whether its chip works; otherwise the update's parity will contain it.
    #[inline(never)]
    pub(in crate::engine) fn begin_chunk(
        &mut self,
        kernel: &mut Kernel,
        dev: &mut Device,
        oracle: &mut Oracle,
        config: &Config,
        now: Nanos,
        op: OpId,
    ) -> bool {
        dev.drop_old(kernel, op);
        kernel.ops[op].need = Need::Write;
        let lpn = kernel.ops[op].lpn;
        if self.is_dead(lpn) {
            self.keep(kernel, dev, oracle, config, now, op);
            return false;
        }
        self.set_chunk(now, lpn, Chunk::Sound);
        true
    }

    /// A program has stored nothing.
    fn program_is_denied(
        &mut self,
        kernel: &mut Kernel,
        dev: &mut Device,
        oracle: &mut Oracle,
        config: &Config,
        now: Nanos,
        id: OpId,
    ) -> Denied {
        let op = &kernel.ops[id];
        let (lpn, update) = (op.lpn, kernel.ops.parity[id].update);
        let dropped = op.class == Class::Parity && dev.map.get(lpn) == Location::Nowhere;
        if !self.is_dead(lpn) && !dropped {
            return Denied::Again;
        }
        if op.class == Class::Parity {
            if dev.map.get(lpn) == Location::Staged(id) {
                dev.map.set(lpn, Location::Nowhere);
                self.misses(dev, now, lpn, Tag::NONE);
            }
            kernel.ops.remove(id);
        } else if update == NO_UPDATE {
            return Denied::Stale;
        } else {
            self.keep(kernel, dev, oracle, config, now, id);
        }
        Denied::Part(update)
    }

    /// Takes the first of the writes of an update that no chip accepted.
    pub(super) fn take_kept(&mut self, update: u32) -> OpId {
        std::mem::replace(&mut self.raid().records[update].kept, Chain::EMPTY).head
    }

    /// An update has ended: parity contains such a write, or it has failed.
    pub(super) fn kept_ends(&mut self, kernel: &mut Kernel, dev: &mut Device, host: &mut Host, now: Nanos, op: OpId) {
        let lpn = kernel.ops[op].lpn;
        kernel.held(now, op);
        match dev.map.get(lpn) {
            Location::Staged(newest) if newest == op => dev.map.set(lpn, Location::Nowhere),
            Location::Staged(newest) if kernel.ops.parity[newest].behind == op => {
                kernel.ops.parity[newest].behind = OpId::NONE
            }
            _ => {}
        }
        if self.chunk(lpn) == Chunk::Lost {
            self.report_lost_write(host, kernel, op);
        }
    }
}

impl Device {
    fn planes_of(&self, chip: u32) -> impl Iterator<Item = PlaneId> + use<> {
        (chip..self.geometry.planes).step_by(self.geometry.chips as usize).map(PlaneId)
    }
}

impl Kernel {
    /// The page of a slot that parity covers, and the write that keeps it, or none.
    pub(in crate::engine) fn chunk_page(&self, dev: &Device, slot: Lpn) -> (Option<Ppn>, OpId) {
        match dev.map.get(slot) {
            Location::Flash(page) => (Some(page), OpId::NONE),
            Location::Staged(write) => {
                // The old page belongs to the newest write, or to an older one whose update has begun.
                let older = self.ops.parity[write].behind;
                let holder = if self.ops[Page(write)].old.is_none() && older.is_some() { older } else { write };
                (Some(self.ops[Page(holder)].old).filter(|old| old.is_some()), holder)
            }
            Location::Nowhere => (None, OpId::NONE),
        }
    }
}

impl Gc {
    /// Operations in service on the chip will complete without effect, and its collections end. Returns the writes stalled there.
    fn stop_chip(
        &mut self,
        kernel: &mut Kernel,
        dev: &Device,
        host: &mut Host,
        features: &mut Features,
        now: Nanos,
        chip: u32,
    ) -> Vec<OpId> {
        let mut stalled = Vec::new();
        for plane in dev.planes_of(chip) {
            let unit = dev.geometry.unit_of(plane);
            kernel.dies.take_dues(unit);
            let state = &mut kernel.dies[unit];
            for op in state.in_service() {
                let mut at = op;
                while at.is_some() {
                    kernel.ops[at].failed = true;
                    at = if kernel.ops[at].class.like_host() { kernel.ops[at].mate } else { OpId::NONE };
                }
            }
            loop {
                let queue = &mut kernel.dies[unit].queue;
                let step = queue.take(&mut kernel.ops, |op| op.class == Class::Gc);
                if step.is_none() {
                    break;
                }
                features.count_queue(kernel, step, unit, false);
                self.jobs.remove(kernel.ops[step].job.0);
                kernel.ops.remove(step);
            }
            self.forget_postponed(|held| held == plane);
            self.claimed.remove(plane);
            let state = &mut self.planes[plane.ix()];
            state.levelled = false;
            let mut waiting = std::mem::replace(&mut state.stalled, Fifo::EMPTY);
            while !waiting.is_empty() {
                let op = waiting.pop(&kernel.ops);
                kernel.ops[op].stalled = false;
                let since = kernel.ops[op].waits_since;
                kernel.ops[Page(op)].blame.add(crate::blame::Cause::Space, (now - since).0);
                features.leaves_chip(kernel, dev, host, op);
                stalled.push(op);
            }
            kernel.dies.mark(unit);
        }
        stalled
    }

    /// The step of a collection has ended on a chip that failed meanwhile, and so does the collection.
    #[inline(never)]
    pub(in crate::engine) fn collection_is_denied(&mut self, kernel: &mut Kernel, dev: &Device, now: Nanos, id: OpId) {
        let (job, unit) = (kernel.ops[id].job, kernel.ops[id].unit);
        let plane = self.jobs[job.0].plane;
        kernel.dies[unit].job = JobId::NONE;
        kernel.stop(dev, now, unit, plane);
        kernel.ops.remove(id);
        self.jobs.remove(job.0);
    }
}

impl Ssd {
    // The failure.

    /// Fails a chip now, before any other event of this time.
    ///
    /// # Panics
    /// If there is no such chip, or the device was built without `faults.chip_fails` (a time that is never reached is enough).
    pub fn fail_chip(&mut self, chip: u32) {
        law!(self.features.failures.is_some(), "a device whose chips may fail has faults.chip_fails");
        law!(chip < self.dev.geometry.chips, "a chip of the device");
        self.chip_fails(chip);
        self.round(self.now);
    }

    pub(in crate::engine) fn chip_fails(&mut self, chip: u32) {
        let now = self.now;
        let failures = self.features.failures();
        if failures.dead[chip as usize] {
            return;
        }
        failures.dead[chip as usize] = failures.rebuild == 0;
        let lost = failures.totals.lost_pages;
        let stalled =
            self.gc.stop_chip(&mut self.kernel, &self.dev, &mut self.host, &mut self.features, self.now, chip);
        let mut pages = 0;
        for stripe in 0..self.features.layout().stripes {
            let slot = self.features.layout().slot_of(stripe, chip);
            let (dev, oracle) = (&mut self.dev, &mut self.oracle);
            match self.features.chunk_fails(&mut self.kernel, dev, &self.host, oracle, self.now, slot) {
                Gone::Content => pages += 1,
                Gone::Zeroes(write) => {
                    self.host.run_is_read(&self.kernel, &mut self.oracle, write, None, false);
                    self.host.release_waiting(&mut self.kernel, &self.features, &self.rules, self.now, write);
                }
                Gone::Nothing => {}
            }
        }
        for plane in self.dev.planes_of(chip) {
            self.dev.flash.replace(plane);
            for block in self.dev.geometry.blocks(plane) {
                self.dev.forget_block(&mut self.features, &self.stats, &self.rules, self.now, BlockId(block as u32));
            }
        }
        let failures = self.features.failures();
        let lost_pages = failures.totals.lost_pages - lost;
        failures.failed.push(ChipFailure { chip, at: now, pages, lost_pages, whole_after: None });
        failures.cursor = 0;
        stalled.into_iter().for_each(|op| self.page_is_denied(op));
        self.features.rebuild_more(self.now);
    }

    // Reads.

    /// An operation has reached the head of the queue of a failed chip's unit. Returns whether it is rejected there.
    #[inline(never)]
    fn is_rejected(&mut self, id: OpId, unit: UnitId) -> bool {
        let op = &self.kernel.ops[id];
        let away = match op.need {
            Need::Read if self.features.reads_group(&self.kernel, id) => {
                self.kernel.covered(&self.dev, op.lpn).is_none()
            }
            Need::Read => {
                self.features.is_missing(op.lpn)
                    && self.features.is_nowhere_for(&self.kernel, &self.dev, &self.host, &self.rules, id)
            }
            Need::Merge => self.kernel.ops[Page(id)].old.is_none(),
            Need::Write => self.features.is_dead(op.lpn),
            Need::Absorb => false,
        };
        if away {
            self.features.leaves_chip(&self.kernel, &self.dev, &mut self.host, id);
            self.charge_wait(id, unit, &self.kernel.turn(self.now, id, unit));
            self.page_is_denied(id);
            if self.host.runs.any_released() {
                self.place_merged();
            }
        }
        away
    }

    /// A page of the host or of a group has ended, or would begin, on a failed chip: nothing was read or stored.
    pub(in crate::engine) fn page_is_denied(&mut self, id: OpId) {
        self.kernel.ops[id].waits_since = self.now;
        let op = &self.kernel.ops[id];
        let (update, part) = (self.kernel.ops.parity[id].update, self.kernel.ops.parity[id].redirect != NO_REDIRECT);
        match op.need {
            Need::Read if part => self.part_ends(id, true),
            Need::Read if update != NO_UPDATE => {
                self.kernel.ops.remove(id);
                self.part_of_update_ends(update);
            }
            Need::Read => self.place_chunk(id),
            Need::Merge => self.part_of_update_ends(update),
            Need::Write => {
                let (dev, oracle) = (&mut self.dev, &mut self.oracle);
                match self.features.program_is_denied(&mut self.kernel, dev, oracle, &self.config, self.now, id) {
                    Denied::Again => self.queue_on_chip(id),
                    Denied::Stale => {
                        self.page_done(id);
                        self.host.release(&mut self.kernel, &mut self.oracle, id);
                    }
                    Denied::Part(update) => self.part_of_update_ends(update),
                }
            }
            Need::Absorb => unreachable!("it is in no die"),
        }
    }

    /// An update has ended: reads of the group's missing chunk precede the next update.
    #[inline(never)]
    pub(in crate::engine) fn begin_reads(&mut self, update: u32) {
        let record = &mut self.features.raid().records[update];
        let mut op = std::mem::replace(&mut record.reads, Chain::EMPTY).head;
        // The update must not end while they begin.
        record.readers += 1;
        while op.is_some() {
            let (next, lpn) = (self.kernel.ops[Page(op)].link, self.kernel.ops[op].lpn);
            self.kernel.held(self.now, op);
            if self.features.chunk(lpn) == Chunk::Missing
                && self.features.is_nowhere_for(&self.kernel, &self.dev, &self.host, &self.rules, op)
            {
                self.features.raid().records[update].readers += 1;
                let reads = self.read_around(op, update);
                self.features.count_degraded(&self.kernel, &self.host, op, reads);
            } else {
                self.place_chunk(op);
            }
            op = next;
        }
        if self.features.unpins(&self.dev, update) {
            self.begin_reads(update);
        }
    }

    // Updates.

    /// Reads of an update whose group has a missing chunk.
    pub(in crate::engine) fn plan_around(&mut self, update: u32, plan: Plan) -> Plan {
        let record = &self.features.raid().records[update];
        let (index, mask, mut op) = (record.index, record.mask, record.members.head);
        let mut all = false;
        while op.is_some() {
            let page = &self.kernel.ops[op];
            let (next, lpn) = (self.kernel.ops[Page(op)].link, page.lpn);
            if !self.host.lacks(&self.kernel, op) {
                // It was read for its parity, under a plan that no longer holds.
                self.kernel.ops[op].need = Need::Write;
            } else if self.kernel.ops[Page(op)].old.is_none() {
                match self.features.chunk(lpn) {
                    Chunk::Missing => all = true,
                    chunk => {
                        self.kernel.ops[op].need = Need::Write;
                        self.host.run_is_read(&self.kernel, &mut self.oracle, op, None, false);
                        self.host.release_waiting(&mut self.kernel, &self.features, &self.rules, self.now, op);
                        if chunk == Chunk::Lost {
                            self.features.report_lost_write(&mut self.host, &self.kernel, op);
                        }
                    }
                }
            }
            op = next;
        }
        if !plan.rmw && !plan.others {
            return plan;
        }
        let parity = self.features.layout().parity_slot(index);
        if self.features.is_missing(parity) {
            return Plan { rmw: false, others: !self.features.is_dead(parity), all: false };
        }
        match self.features.missing_beside(parity) {
            None => plan,
            Some(slot) if mask >> self.features.layout().member_of(slot) & 1 == 1 => {
                Plan { rmw: false, others: true, all }
            }
            Some(_) => Plan { rmw: true, others: false, all: false },
        }
    }
}

/// An operation has reached the head of its queue. Returns whether it is rejected, because its unit is that of a failed chip. None is where
/// nothing fails.
#[inline(always)]
pub(in crate::engine) fn rejects(ssd: &mut Ssd, op: OpId, unit: UnitId) -> bool {
    ssd.features.failures.is_some() && ssd.is_rejected(op, unit)
}
