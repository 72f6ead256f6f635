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
use crate::engine::kernel::Kernel;
use crate::engine::kernel::ops::{NO_REDIRECT, NO_UPDATE, Page};
use crate::engine::raid::stripe::{Chain, Phase, Plan};
use crate::engine::{Device, Features, Host, Nanos, Ssd};
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

    /// Time of the next failure.
    pub(in crate::engine) fn next(&self) -> Nanos {
        self.due.last().map_or(Nanos::NEVER, |(at, _)| *at)
    }

    /// Contents of chunks when they were last missing (oracle).
    pub(in crate::engine) fn tags(&self) -> impl Iterator<Item = Tag> {
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

impl Ssd {
    // The failure.

    /// A chip of `faults.chip_fails` fails, before any other event of its time.
    #[cold]
    pub(in crate::engine) fn scheduled_failures(&mut self) {
        let now = self.now;
        while let Some((_, chip)) = self.features.failures().due.pop_if(|(at, _)| *at <= now) {
            self.chip_fails(chip);
        }
    }

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

    fn chip_fails(&mut self, chip: u32) {
        let now = self.now;
        let failures = self.features.failures();
        if failures.dead[chip as usize] {
            return;
        }
        failures.dead[chip as usize] = failures.rebuild == 0;
        let lost = failures.totals.lost_pages;
        let stalled = self.stop_chip(chip);
        let mut pages = 0;
        for stripe in 0..self.features.layout().stripes {
            pages += u64::from(self.chunk_fails(self.features.layout().slot_of(stripe, chip)));
        }
        for plane in self.dev.planes_of(chip) {
            self.dev.flash.replace(plane);
            for block in self.dev.geometry.blocks(plane) {
                self.forget_block(BlockId(block as u32));
            }
        }
        let failures = self.features.failures();
        let lost_pages = failures.totals.lost_pages - lost;
        failures.failed.push(ChipFailure { chip, at: now, pages, lost_pages, whole_after: None });
        failures.cursor = 0;
        stalled.into_iter().for_each(|op| self.page_is_denied(op));
        self.features.rebuild_more(self.now);
    }

    /// Operations in service on the chip will complete without effect, and its collections end. Returns the writes stalled there.
    fn stop_chip(&mut self, chip: u32) -> Vec<OpId> {
        let mut stalled = Vec::new();
        for plane in self.dev.planes_of(chip) {
            let unit = self.dev.geometry.unit_of(plane);
            self.kernel.dies.take_dues(unit);
            let state = &mut self.kernel.dies[unit];
            for op in state.in_service() {
                let mut at = op;
                while at.is_some() {
                    self.kernel.ops[at].failed = true;
                    at = if self.kernel.ops[at].class.like_host() { self.kernel.ops[at].mate } else { OpId::NONE };
                }
            }
            loop {
                let queue = &mut self.kernel.dies[unit].queue;
                let step = queue.take(&mut self.kernel.ops, |op| op.class == Class::Gc);
                if step.is_none() {
                    break;
                }
                self.note_queue(step, unit, false);
                self.gc.jobs.remove(self.kernel.ops[step].job.0);
                self.kernel.ops.remove(step);
            }
            self.gc.forget_postponed(|held| held == plane);
            self.gc.claimed.remove(plane);
            let state = &mut self.gc.planes[plane.ix()];
            state.levelled = false;
            let mut waiting = std::mem::replace(&mut state.stalled, Fifo::EMPTY);
            while !waiting.is_empty() {
                let op = waiting.pop(&self.kernel.ops);
                self.kernel.ops[op].stalled = false;
                let since = self.kernel.ops[op].waits_since;
                self.kernel.ops[Page(op)].blame.add(crate::blame::Cause::Space, (self.now - since).0);
                self.leaves_chip(op);
                stalled.push(op);
            }
            self.kernel.dies.mark(unit);
        }
        stalled
    }

    /// The step of a collection has ended on a chip that failed meanwhile, and so does the collection.
    #[inline(never)]
    pub(in crate::engine) fn collection_is_denied(&mut self, id: OpId) {
        let (job, unit) = (self.kernel.ops[id].job, self.kernel.ops[id].unit);
        let plane = self.gc.jobs[job.0].plane;
        self.kernel.dies[unit].job = JobId::NONE;
        self.count_time(id);
        self.kernel.stop(&self.dev, self.now, unit, plane);
        self.kernel.ops.remove(id);
        self.gc.jobs.remove(job.0);
    }

    /// The content of a slot's chip is gone. Returns whether the slot had any.
    pub(in crate::engine) fn chunk_fails(&mut self, slot: Lpn) -> bool {
        let (page, holder) = self.kernel.chunk_page(&self.dev, slot);
        let Some(page) = page else { return false };
        if holder.is_some() {
            self.kernel.ops[Page(holder)].old = Ppn::NONE;
        } else {
            self.dev.map.set(slot, Location::Nowhere);
        }
        let tag = self.oracle.load(page, slot);
        let parity = self.features.parity_of(slot);
        if slot != parity && self.dev.map.get(parity) == Location::Nowhere && !self.features.is_missing(parity) {
            // Read before it was written, without room for parity: it had no content.
            self.oracle.never_written(slot);
            if holder.is_some() && self.host.lacks(&self.kernel, holder) {
                self.run_is_read(holder, None, false);
            }
            return false;
        }
        self.features.misses(&mut self.dev, self.now, slot, tag);
        let (index, chunk) = (self.features.layout().group_index(slot), self.features.chunk(slot));
        let member = self.features.layout().member_of(slot);
        let Some(update) = self.features.raid().record_of(index) else { return true };
        let record = &mut self.features.raid().records[update];
        let untouched = record.rmw && slot != parity && record.mask >> member & 1 == 0 && chunk == Chunk::Missing;
        record.reread |= record.phase == Phase::Reading && !untouched;
        true
    }

    // Reads.

    /// An operation has reached the head of the queue of a failed chip's unit. Returns whether it is rejected there.
    #[inline(always)]
    pub(in crate::engine) fn is_rejected(&mut self, id: OpId, unit: UnitId) -> bool {
        self.features.failures.is_some() && self.rejects(id, unit)
    }

    #[inline(never)]
    fn rejects(&mut self, id: OpId, unit: UnitId) -> bool {
        let op = &self.kernel.ops[id];
        let away = match op.need {
            Need::Read if self.features.reads_group(&self.kernel, id) => {
                self.kernel.covered(&self.dev, op.lpn).is_none()
            }
            Need::Read => self.features.is_missing(op.lpn) && self.is_nowhere_for(id),
            Need::Merge => self.kernel.ops[Page(id)].old.is_none(),
            Need::Write => self.features.is_dead(op.lpn),
            Need::Absorb => false,
        };
        if away {
            self.leaves_chip(id);
            self.charge_wait(id, unit);
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
            Need::Write => self.program_is_denied(id),
            Need::Absorb => unreachable!("it is in no die"),
        }
    }

    /// Whether a read's page is neither on flash nor in controller memory.
    fn is_nowhere_for(&self, read: OpId) -> bool {
        match self.dev.map.get(self.kernel.ops[read].lpn) {
            Location::Nowhere => true,
            Location::Staged(newest) => {
                self.needs_old(read, newest) && self.features.old_page(&self.kernel, &self.dev, newest).is_none()
            }
            Location::Flash(_) => false,
        }
    }

    /// Serves a read of a missing or lost page.
    pub(in crate::engine) fn read_missing(&mut self, op: OpId) {
        let page = &self.kernel.ops[op];
        let (lpn, measured) = (page.lpn, self.host.requests[page.request].measured);
        if !self.is_nowhere_for(op) {
            // Overwritten meanwhile.
            self.stats.pages.from_memory += u64::from(measured);
            return self.serve_from_memory(op);
        }
        if self.features.chunk(lpn) == Chunk::Lost {
            self.features.failures().totals.lost_reads += u64::from(measured);
            self.host.report_uncorrectable(&self.kernel, op);
            return self.serve_from_memory(op);
        }
        let (now, index) = (self.now, self.features.layout().group_index(lpn));
        let raid = self.features.raid();
        if raid.is_clean(index) {
            let update = raid.pin(lpn, now);
            return self.read_degraded(op, update);
        }
        let update = raid.record_of(index).expect("a group that is not clean has a record");
        self.kernel.ops[op].waits_since = now;
        let raid = self.features.raid.as_mut().expect("only devices with parity get here");
        raid.records[update].reads.push(&mut self.kernel.ops, op);
    }

    fn read_degraded(&mut self, op: OpId, update: u32) {
        let measured = self.host.requests[self.kernel.ops[op].request].measured;
        let reads = self.read_around(op, update);
        law!(reads > 0, "law: parity restores a missing page");
        let totals = &mut self.features.failures().totals;
        totals.degraded_reads += u64::from(measured);
        totals.instead += if measured { u64::from(reads) } else { 0 };
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
            if self.features.chunk(lpn) == Chunk::Missing && self.is_nowhere_for(op) {
                self.features.raid().records[update].readers += 1;
                self.read_degraded(op, update);
            } else {
                self.place_chunk(op);
            }
            op = next;
        }
        self.unpin(update);
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
                        self.run_is_read(op, None, false);
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

    /// A chunk is about to be programmed. Returns whether its chip works; otherwise the update's parity will contain it.
    #[inline(never)]
    pub(in crate::engine) fn begin_chunk(&mut self, update: u32, op: OpId) -> bool {
        self.drop_old(op);
        self.kernel.ops[op].need = Need::Write;
        let lpn = self.kernel.ops[op].lpn;
        if self.features.is_dead(lpn) {
            self.keep(update, op);
            return false;
        }
        self.features.set_chunk(self.now, lpn, Chunk::Sound);
        true
    }

    /// No chip accepts a write: it ends with its update.
    fn keep(&mut self, update: u32, op: OpId) {
        if self.oracle.tracks_sectors() {
            self.compose(op);
        }
        let raid = self.features.raid.as_mut().expect("only devices with parity get here");
        raid.records[update].kept.push(&mut self.kernel.ops, op);
        let (lpn, tag) = (self.kernel.ops[op].lpn, self.kernel.ops[Page(op)].tags[0]);
        // Until then, the group restores the previous version.
        let before = (self.features.chunk(lpn) == Chunk::Missing).then(|| self.features.last_tag(lpn).version);
        self.kernel.ops.parity[op].before = before;
        self.kernel.ops[op].waits_since = self.now;
        self.features.misses(&mut self.dev, self.now, lpn, tag);
    }

    /// A program has stored nothing.
    fn program_is_denied(&mut self, id: OpId) {
        let op = &self.kernel.ops[id];
        let (lpn, update) = (op.lpn, self.kernel.ops.parity[id].update);
        let dropped = op.class == Class::Parity && self.dev.map.get(lpn) == Location::Nowhere;
        if !self.features.is_dead(lpn) && !dropped {
            // A spare chip has replaced the failed one.
            return self.queue_on_chip(id);
        }
        if op.class == Class::Parity {
            if self.dev.map.get(lpn) == Location::Staged(id) {
                self.dev.map.set(lpn, Location::Nowhere);
                self.features.misses(&mut self.dev, self.now, lpn, Tag::NONE);
            }
            self.kernel.ops.remove(id);
            self.part_of_update_ends(update);
        } else if update == NO_UPDATE {
            // A newer write of its page has begun, so it would have landed stale.
            self.page_done(id);
            self.release(id);
        } else {
            self.keep(update, id);
            self.part_of_update_ends(update);
        }
    }

    /// An update has ended: parity contains the writes that no chip accepted, or they have failed.
    pub(in crate::engine) fn kept_end(&mut self, update: u32) {
        let record = &mut self.features.raid().records[update];
        let mut op = std::mem::replace(&mut record.kept, Chain::EMPTY).head;
        while op.is_some() {
            let (next, lpn) = (self.kernel.ops[Page(op)].link, self.kernel.ops[op].lpn);
            self.kernel.held(self.now, op);
            match self.dev.map.get(lpn) {
                Location::Staged(newest) if newest == op => self.dev.map.set(lpn, Location::Nowhere),
                Location::Staged(newest) if self.kernel.ops.parity[newest].behind == op => {
                    self.kernel.ops.parity[newest].behind = OpId::NONE
                }
                _ => {}
            }
            if self.features.chunk(lpn) == Chunk::Lost {
                self.features.report_lost_write(&mut self.host, &self.kernel, op);
            }
            self.page_done(op);
            self.release(op);
            op = next;
        }
    }
}
