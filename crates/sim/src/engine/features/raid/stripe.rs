//! Updates of parity groups: chunks are gathered, groups are updated, and parity always fits the pages that it covers.
//!
//! A group is *empty* (never written), *open* (first writes wait in controller memory for their group), *dirty* (an update is in
//! flight) or *clean*. A group has one update at a time; all writes that wait when it begins are part of it. Until then parity
//! covers the old pages: a page that the host overwrites stays valid until its update has read it or no longer needs it.

use ssdlab_memory::Table;
use std::collections::VecDeque;

use crate::blame::Cause;
use crate::config::{Config, WriteMode};
use crate::device::mapping::Location;
use crate::device::raid::Layout;
use crate::device::spec::ArraySpec;
use crate::device::transaction::{Class, Need, Op, Slab, Verb};
use crate::engine::features::raid::buffered;
use crate::engine::kernel::Kernel;
use crate::engine::kernel::ops::{NO_REDIRECT, NO_UPDATE, Ops, Page};
use crate::engine::kernel::timers::Timer;
use crate::engine::{Device, Features, Host, Nanos, Ssd};
use crate::units::{Lpn, OpId, Ppn};

/// States of a group, beside the number of its record.
pub(in crate::engine) const EMPTY: u32 = u32::MAX;
pub(in crate::engine) const CLEAN: u32 = u32::MAX - 1;

/// Pages linked through [`HostPage::link`](crate::engine::kernel::ops::HostPage::link).
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct Chain {
    pub(in crate::engine) head: OpId,
    tail: OpId,
}

impl Chain {
    pub(in crate::engine) const EMPTY: Self = Chain { head: OpId::NONE, tail: OpId::NONE };

    pub(in crate::engine) fn push(&mut self, ops: &mut Ops, op: OpId) {
        ops[Page(op)].link = OpId::NONE;
        if self.tail.is_some() {
            ops[Page(self.tail)].link = op;
        } else {
            self.head = op;
        }
        self.tail = op;
    }
}

/// Phase of a group with a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Phase {
    /// First writes are gathered.
    Open,
    /// No update is in flight; redirected reads may be.
    Idle,
    /// Old chunks are being read.
    Reading,
    /// New chunks and parity are being programmed.
    Writing,
}

/// Reads of an update.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct Plan {
    /// The old chunks and the old parity: new parity is their sum with the new chunks.
    pub(in crate::engine) rmw: bool,
    /// The unchanged chunks: new parity is their sum with the new chunks.
    pub(in crate::engine) others: bool,
    /// In addition, the old chunks and the old parity, to merge a partial write with their sum.
    pub(in crate::engine) all: bool,
}

/// A group that is neither empty nor clean.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Record {
    pub(in crate::engine) index: u32,
    pub(in crate::engine) phase: Phase,
    /// Writes of the current update.
    pub(in crate::engine) members: Chain,
    /// Their chunks, as bits.
    pub(in crate::engine) mask: u64,
    /// Writes that wait for the next update.
    waiting: Chain,
    /// Writes of the update that no chip accepts: only parity will contain them.
    pub(in crate::engine) kept: Chain,
    /// Reads of missing pages that wait until the group is clean.
    pub(in crate::engine) reads: Chain,
    /// Reads or programs of the update that have not ended.
    pub(in crate::engine) busy: u32,
    /// Redirected reads in flight, which delay updates.
    pub(in crate::engine) readers: u32,
    /// Open: which members have a chunk waiting, as bits.
    arrived: u64,
    /// Time since when written data is without parity.
    since: Nanos,
    /// The update reads old chunks and old parity.
    pub(in crate::engine) rmw: bool,
    /// A chip from which the update reads has failed: it restarts its reads.
    pub(in crate::engine) reread: bool,
    /// Whether a missing chunk must be rebuilt, and which one is being rebuilt.
    pub(in crate::engine) rebuild: bool,
    /// See `rebuild`.
    pub(in crate::engine) target: Lpn,
    /// A missing chunk that a read has just computed.
    pub(in crate::engine) computed: Lpn,
    /// Whether it is on the list of groups whose next update may begin.
    queued: bool,
    /// Whether an open group's timeout has passed.
    timed_out: bool,
    /// Content of the new parity (full oracle).
    pub(in crate::engine) content: u64,
    /// Distinguishes successive records with the same number.
    serial: u64,
}

impl Record {
    /// Whether its next update, or the rebuilding of a chunk, can begin when current operations have ended.
    fn has_work(&self) -> bool {
        self.waiting.head.is_some() || self.rebuild
    }

    /// Whether only redirected reads are in flight.
    fn is_clean(&self) -> bool {
        self.phase == Phase::Idle && self.readers > 0 && !self.has_work()
    }
}

/// A page that is being reconstructed from the other pages of its group.
#[derive(Clone, Debug)]
pub(super) struct Redirected {
    /// The read of the page.
    pub(super) op: OpId,
    /// Its group's record, which delays updates meanwhile.
    pub(super) update: u32,
    /// Reads that have not ended.
    pub(super) left: u32,
    /// Sum of the pages read so far (full oracle).
    pub(super) content: u64,
    /// Whether a chip of these reads has failed.
    pub(super) failed: bool,
}

/// The state of all groups.
#[derive(Clone)]
pub(in crate::engine) struct Raid {
    pub(super) layout: Layout,
    /// By group index: `EMPTY`, `CLEAN`, or the number of its record.
    pub(super) states: Table<u32>,
    pub(super) records: Slab<Record>,
    /// Groups whose next update may begin, oldest first.
    ready: Vec<u32>,
    /// Deadlines of open groups, ascending.
    deadlines: VecDeque<(Nanos, u32, u64)>,
    serial: u64,
    timeout: Nanos,
    mode: WriteMode,
    /// By chip: reads and programs queued or in service.
    pub(super) load: Vec<[u32; 2]>,
    /// Redirected reads in flight.
    pub(super) redirects: Slab<Redirected>,
}

/// Bytes per request for updates, timeouts and redirected reads.
pub(in crate::engine) const BYTES_OF_REQUEST: u64 =
    (size_of::<Record>() + size_of::<(Nanos, u32, u64)>() + size_of::<Redirected>()) as u64 + 16;

impl Raid {
    pub(in crate::engine) fn new(config: &Config, array: &ArraySpec) -> Option<Box<Self>> {
        let layout = Layout::new(array)?;
        let depth = config.device.queue_depth as usize;
        Some(Box::new(Raid {
            states: Table::filled((layout.stripes * layout.groups) as usize, EMPTY),
            records: Slab::with_capacity(depth),
            ready: Vec::with_capacity(depth),
            deadlines: VecDeque::with_capacity(depth),
            serial: 0,
            timeout: config.raid.encode_timeout,
            mode: config.raid.write_mode,
            load: vec![[0; 2]; layout.chips as usize],
            redirects: Slab::with_capacity(depth),
            layout,
        }))
    }

    /// By chip: reads and programs queued or in service.
    pub(in crate::engine) fn load(&self) -> &[[u32; 2]] {
        &self.load
    }

    /// The record of a group, created if it has none.
    fn record(&mut self, index: u32, phase: Phase, now: Nanos) -> u32 {
        let state = self.states[index as usize];
        if state < CLEAN {
            return state;
        }
        self.serial += 1;
        let record = Record {
            index,
            phase,
            members: Chain::EMPTY,
            mask: 0,
            waiting: Chain::EMPTY,
            kept: Chain::EMPTY,
            reads: Chain::EMPTY,
            busy: 0,
            readers: 0,
            arrived: 0,
            since: now,
            rmw: false,
            reread: false,
            rebuild: false,
            target: Lpn::NONE,
            computed: Lpn::NONE,
            queued: false,
            timed_out: false,
            content: 0,
            serial: self.serial,
        };
        let id = self.records.insert(record);
        self.states[index as usize] = id;
        id
    }

    /// Whether a group has valid parity and no waiting change.
    pub(in crate::engine) fn is_clean(&self, index: u32) -> bool {
        let state = self.states[index as usize];
        state == CLEAN || (state < CLEAN && self.records[state].is_clean())
    }

    /// A redirected read of a slot's group begins: updates wait for it. Returns the group's record.
    pub(in crate::engine) fn pin(&mut self, slot: Lpn, now: Nanos) -> u32 {
        let index = self.layout.group_index(slot);
        law!(self.is_clean(index), "law: only a clean stripe serves redirected reads");
        let update = self.record(index, Phase::Idle, now);
        self.records[update].readers += 1;
        update
    }

    /// The record of a group, if it has one.
    pub(in crate::engine) fn record_of(&self, index: u32) -> Option<u32> {
        let state = self.states[index as usize];
        (state < CLEAN).then_some(state)
    }

    /// Marks a group clean whose parity would be computed but stored nowhere.
    pub(in crate::engine) fn set_clean(&mut self, index: u32) {
        self.states[index as usize] = CLEAN;
    }

    /// Power is cut: no update is in flight, and the content of groups will be recovered.
    pub(in crate::engine) fn power_cut(&mut self) {
        self.states.iter_mut().for_each(|state| *state = EMPTY);
        self.records.clear();
        self.redirects.clear();
        self.ready.clear();
        self.deadlines.clear();
        self.load.fill([0; 2]);
    }

    /// Requests that a missing chunk of a group is rebuilt. Returns whether the request is new.
    pub(in crate::engine) fn wants_rebuild(&mut self, index: u32, now: Nanos) -> bool {
        let update = self.record(index, Phase::Idle, now);
        let record = &mut self.records[update];
        let new = !std::mem::replace(&mut record.rebuild, true);
        if new && record.phase == Phase::Idle && record.readers == 0 {
            self.make_ready(update);
        }
        new
    }

    /// Adds a group to the list of those whose next update may begin.
    #[inline(never)]
    fn make_ready(&mut self, update: u32) {
        if !std::mem::replace(&mut self.records[update].queued, true) {
            self.ready.push(update);
        }
    }

    /// A write waits for its group's next update.
    pub(super) fn joins_group(&mut self, kernel: &mut Kernel, dev: &Device, now: Nanos, op: OpId) {
        let lpn = kernel.ops[op].lpn;
        let index = self.layout.group_index(lpn);
        let phase = if self.states[index as usize] == EMPTY { Phase::Open } else { Phase::Idle };
        let opens = self.states[index as usize] == EMPTY;
        let update = self.record(index, phase, now);
        let member = self.layout.member_of(lpn);
        let record = &mut self.records[update];
        record.waiting.push(&mut kernel.ops, op);
        if opens {
            let (due, first) = (now + self.timeout, self.deadlines.is_empty());
            self.deadlines.push_back((due, update, record.serial));
            if first {
                kernel.timers.set(Timer::Encode, due);
            }
        }
        match record.phase {
            Phase::Open => {
                record.arrived |= 1 << member;
                let arrived = record.arrived;
                let layout = &self.layout;
                let mut there = layout.data_slots(index).map(|slot| {
                    arrived >> layout.member_of(slot) & 1 == 1 || matches!(dev.map.get(slot), Location::Flash(_))
                });
                if there.all(|there| there) {
                    self.make_ready(update);
                }
            }
            Phase::Idle if record.readers == 0 => self.make_ready(update),
            _ => {}
        }
    }

    /// The timeout of open groups: the chunks that have arrived are encoded without the rest.
    #[inline(never)]
    pub(in crate::engine) fn encode_timeouts(&mut self, kernel: &mut Kernel, now: Nanos) {
        while let Some((due, update, serial)) = self.deadlines.front().copied() {
            if due > now {
                return kernel.timers.set(Timer::Encode, due);
            }
            self.deadlines.pop_front();
            let record = &self.records[update];
            if record.serial == serial && record.phase == Phase::Open && !record.queued {
                self.records[update].timed_out = true;
                self.make_ready(update);
            }
        }
    }
}

impl Features {
    pub(in crate::engine) fn raid(&mut self) -> &mut Raid {
        self.raid.as_mut().expect("only devices with parity get here")
    }

    pub(in crate::engine) fn layout(&self) -> &Layout {
        &self.raid.as_ref().expect("only devices with parity get here").layout
    }

    /// Whether no update waits to begin.
    #[inline(always)]
    pub(in crate::engine) fn stripes_settled(&self) -> bool {
        self.raid.as_ref().is_none_or(|raid| raid.ready.is_empty())
    }

    /// Whether a group has parity.
    fn is_encoded(&mut self, dev: &Device, update: u32) -> bool {
        let index = self.raid().records[update].index;
        let parity = self.layout().parity_slot(index);
        dev.map.get(parity) != Location::Nowhere || self.is_missing(parity)
    }

    /// An update, or the last redirected read, has ended: the next update may begin, or the group is clean again. Waiting reads
    /// precede the next update, so neither reads nor updates starve. Returns whether they begin.
    pub(in crate::engine) fn settles(&mut self, dev: &Device, update: u32, updated: bool) -> bool {
        let encoded = self.is_encoded(dev, update);
        let raid = self.raid();
        let record = &mut raid.records[update];
        record.phase = Phase::Idle;
        if record.readers > 0 {
            return false;
        }
        if record.reads.head.is_some() && (updated || !record.has_work()) {
            return true;
        }
        if record.has_work() {
            raid.make_ready(update);
            return false;
        }
        // Invalidates its entry among the deadlines.
        record.serial = 0;
        let index = record.index as usize;
        raid.states[index] = if encoded { CLEAN } else { EMPTY };
        raid.records.remove(update);
        false
    }

    /// A page's service on its chip has ended.
    pub(in crate::engine) fn leaves_chip(&mut self, kernel: &Kernel, dev: &Device, host: &mut Host, op: OpId) {
        if self.raid.is_none() {
            return;
        }
        let (chip, writes) = (dev.geometry.chip_of(kernel.ops[op].plane) as usize, kernel.ops[op].need == Need::Write);
        self.raid().load[chip][usize::from(writes)] -= 1;
        host.window_stale |= !host.window.is_empty();
    }
}

impl Kernel {
    /// Whether a write in a chain is the newest one of its page there.
    fn newest_in(&self, chain: Chain, op: OpId) -> bool {
        let (lpn, age) = (self.ops[op].lpn, self.ops[op].age);
        let mut other = chain.head;
        while other.is_some() {
            if self.ops[other].lpn == lpn && self.ops[other].age > age {
                return false;
            }
            other = self.ops[Page(other)].link;
        }
        true
    }

    /// The page of a chunk that parity covers.
    pub(in crate::engine) fn covered(&self, dev: &Device, lpn: Lpn) -> Option<Ppn> {
        match dev.map.get(lpn) {
            Location::Flash(page) => Some(page),
            Location::Staged(write) => Some(self.ops[Page(write)].old).filter(|old| old.is_some()),
            Location::Nowhere => None,
        }
    }

    /// Whether parity may still cover a write: no newer write of its page has begun.
    pub(super) fn may_cover(&self, dev: &Device, op: OpId) -> bool {
        match dev.map.get(self.ops[op].lpn) {
            Location::Staged(newest) => newest == op || self.ops.parity[newest].update == NO_UPDATE,
            _ => false,
        }
    }

    /// Charges the wait of a page for its group.
    pub(in crate::engine) fn held(&mut self, now: Nanos, op: OpId) {
        let since = std::mem::replace(&mut self.ops[op].waits_since, now);
        self.ops[Page(op)].blame.add(Cause::Held, (now - since).0);
    }

    /// Creates an operation of a group.
    pub(in crate::engine) fn chunk_op(&mut self, dev: &Device, update: u32, lpn: Lpn, verb: Verb, need: Need) -> OpId {
        let op = Op { class: Class::Parity, verb, need, lpn, age: self.age(), ..Op::blank() };
        let op = self.ops.create(op);
        self.ops[Page(op)].bytes = dev.geometry.unit_bytes;
        self.ops.parity[op].update = update;
        op
    }

    /// A page write is admitted. The old page stays valid for its parity; a write that has not begun passes it on to the new one.
    #[inline(never)]
    pub(in crate::engine) fn admit_chunk(&mut self, dev: &mut Device, op: OpId) {
        let lpn = self.ops[op].lpn;
        match dev.map.get(lpn) {
            Location::Flash(page) => self.ops[Page(op)].old = page,
            Location::Staged(before) if self.ops[before].class == Class::Writeback => {
                self.ops.buffer[op].replaces = Some(self.ops[Page(before)].tags[0]);
            }
            Location::Staged(before) => {
                if self.ops.parity[before].update != NO_UPDATE {
                    self.ops.parity[op].behind = before;
                } else {
                    self.take_over(op, before);
                    let (behind, old) = (self.ops.parity[before].behind, self.ops[Page(before)].old);
                    self.ops.parity[before].behind = OpId::NONE;
                    self.ops[Page(before)].old = Ppn::NONE;
                    self.ops.parity[op].behind = behind;
                    self.ops[Page(op)].old = old;
                }
            }
            Location::Nowhere => {}
        }
        self.aim(dev, op, dev.geometry.static_plane(lpn));
        dev.map.set(lpn, Location::Staged(op));
    }
}

impl Ssd {
    /// Begins every update that can begin.
    #[inline(always)]
    pub(in crate::engine) fn begin_updates(&mut self) {
        if !self.features.stripes_settled() {
            self.begin_ready();
        }
    }

    #[inline(never)]
    fn begin_ready(&mut self) {
        let mut i = 0;
        while let Some(update) = self.features.raid().ready.get(i).copied() {
            self.begin_update(update);
            i += 1;
        }
        self.features.raid().ready.clear();
        if self.host.runs.any_released() {
            self.place_merged();
        }
    }

    /// All writes that wait for a group become its next update, and its reads begin.
    #[inline(never)]
    fn begin_update(&mut self, update: u32) {
        let record = &mut self.features.raid().records[update];
        record.queued = false;
        law!(record.readers == 0 && record.busy == 0, "law: one generation per stripe");
        let waiting = record.waiting;
        if waiting.head.is_none() && record.rebuild {
            return self.begin_rebuild(update);
        }
        record.waiting = Chain::EMPTY;
        record.computed = Lpn::NONE;
        // Of several writes of a page the newest counts; the others are programmed, and land stale.
        let mut op = waiting.head;
        while op.is_some() {
            if self.kernel.newest_in(waiting, op) && self.kernel.may_cover(&self.dev, op) {
                self.kernel.ops.parity[op].update = update;
            }
            op = self.kernel.ops[Page(op)].link;
        }
        let (mut members, mut chunks, mut mask) = (Chain::EMPTY, 0, 0u64);
        op = waiting.head;
        while op.is_some() {
            let (next, lpn) = (self.kernel.ops[Page(op)].link, self.kernel.ops[op].lpn);
            self.kernel.held(self.now, op);
            if self.kernel.ops.parity[op].update == update {
                if let Location::Staged(newest) = self.dev.map.get(lpn)
                    && newest != op
                {
                    // A newer write has not joined yet: it replaces this write's page, and this write replaces the old page.
                    self.kernel.ops[Page(op)].old =
                        std::mem::replace(&mut self.kernel.ops[Page(newest)].old, Ppn::NONE);
                    self.kernel.ops.parity[newest].behind = op;
                    self.kernel.take_over(op, newest);
                }
                members.push(&mut self.kernel.ops, op);
                chunks += 1;
                mask |= 1 << self.features.layout().member_of(lpn);
            } else if self.host.passes_overtaken(&mut self.kernel, self.now, op) {
                self.queue_on_chip(op);
            }
            op = next;
        }
        if chunks == 0 {
            if self.features.settles(&self.dev, update, true) {
                self.begin_reads(update);
            }
            return;
        }
        let encoded = self.features.is_encoded(&self.dev, update);
        let record = &mut self.features.raid().records[update];
        record.members = members;
        record.mask = mask;
        record.phase = Phase::Reading;
        let (since, timed_out) = (record.since, std::mem::take(&mut record.timed_out));
        let totals = &mut self.stats.raid;
        if encoded {
            totals.updates += 1;
        } else {
            totals.encodings += 1;
            totals.timeouts += u64::from(timed_out);
            totals.gathering += u128::from((self.now - since).0);
        }
        self.read_for_update(update);
    }

    /// Reads the old chunks that an update needs.
    pub(in crate::engine) fn read_for_update(&mut self, update: u32) {
        let record = &self.features.raid().records[update];
        if record.target.is_some() {
            return self.begin_rebuild(update);
        }
        let (index, members, mask) = (record.index, record.members, record.mask);
        let (parity, encoded) =
            (self.features.layout().parity_slot(index), self.features.is_encoded(&self.dev, update));
        let reads_old = match self.features.raid().mode {
            WriteMode::Rmw => true,
            WriteMode::Rcw => false,
            WriteMode::Auto => mask.count_ones() <= (self.features.layout().group - 2) / 2,
        };
        let mut plan = Plan { rmw: encoded && reads_old, others: encoded && !reads_old, all: false };
        let may_fail = self.features.failures.is_some();
        if may_fail {
            plan = self.plan_around(update, plan);
        }
        let record = &mut self.features.raid().records[update];
        record.content = 0;
        record.rmw = plan.rmw;
        record.reread = false;
        // Counts down from here until all have begun: the controller's buffer may give a chunk at once.
        record.busy = u32::MAX;
        let mut reads = 0;
        let mut op = members.head;
        while op.is_some() {
            let next = self.kernel.ops[Page(op)].link;
            let content = self.features.content(&self.oracle, self.kernel.ops[Page(op)].tags[0]);
            self.features.raid().records[update].content ^= content;
            self.features.add_replaced(&mut self.kernel, &self.oracle, update, op, plan.rmw);
            let lacks = self.host.lacks(&self.kernel, op);
            if self.kernel.ops[Page(op)].old.is_some() && (plan.rmw || plan.all || lacks) {
                self.kernel.ops[op].need = Need::Merge;
                reads += 1;
                // After a restart, it has waited for the others.
                self.kernel.held(self.now, op);
                self.queue_on_chip(op);
            } else if !may_fail {
                self.kernel.ops[op].need = Need::Write;
                self.page_becomes_stale(self.kernel.ops[Page(op)].old);
                self.dev.drop_old(&mut self.kernel, op);
            }
            op = next;
        }
        if plan.rmw || plan.all {
            reads += 1;
            buffered::read(self, update, parity);
        }
        if plan.others {
            for member in 0..self.features.layout().group {
                let slot = self.features.layout().slot_of_member(index, member);
                if mask >> member & 1 == 0 && slot != parity && self.kernel.is_covered(&self.dev, slot) {
                    reads += 1;
                    buffered::read(self, update, slot);
                }
            }
        }
        let record = &mut self.features.raid().records[update];
        record.busy = reads - (u32::MAX - record.busy);
        if record.busy == 0 {
            self.begin_writing(update);
        }
    }

    /// All reads have ended: new chunks and new parity are programmed.
    pub(in crate::engine) fn begin_writing(&mut self, update: u32) {
        let (now, encoded) = (self.now, self.features.is_encoded(&self.dev, update));
        let record = &mut self.features.raid().records[update];
        record.phase = Phase::Writing;
        if record.target.is_some() {
            let (dev, oracle) = (&mut self.dev, &mut self.oracle);
            let (op, merged) = self.features.write_rebuilt(&mut self.kernel, dev, &self.host, oracle, now, update);
            if merged.is_some() {
                let tag = self.kernel.ops[Page(op)].tags[0];
                self.host.run_is_read(&self.kernel, &mut self.oracle, merged, Some(tag), false);
                self.host.release_waiting(&mut self.kernel, &self.features, &self.rules, self.now, merged);
            }
            self.queue_on_chip(op);
            self.features.raid().records[update].busy = 1;
            return;
        }
        if encoded {
            record.since = now;
        }
        let (index, content, mut op) = (record.index, record.content, record.members.head);
        record.members = Chain::EMPTY;
        let parity = self.features.layout().parity_slot(index);
        let may_fail = self.features.failures.is_some();
        let encodes = !may_fail || self.features.begin_parity(&mut self.dev, self.now, parity);
        let mut programs = 0;
        while op.is_some() {
            let next = self.kernel.ops[Page(op)].link;
            self.kernel.held(self.now, op);
            // Missing sectors have been computed.
            let found = Some(self.features.missing_tag(self.kernel.ops[op].lpn)).filter(|tag| tag.lpn.is_some());
            self.host.chunk_is_merged(&self.kernel, &mut self.oracle, op, found);
            self.host.release_waiting(&mut self.kernel, &self.features, &self.rules, self.now, op);
            let programmed = !may_fail || {
                self.page_becomes_stale(self.kernel.ops[Page(op)].old);
                let (dev, oracle) = (&mut self.dev, &mut self.oracle);
                self.features.begin_chunk(&mut self.kernel, dev, oracle, &self.config, now, op)
            };
            if programmed {
                self.queue_on_chip(op);
                programs += 1;
            }
            op = next;
        }
        // Its chunks may have made parity useless: too many have no chip.
        if encodes && !self.features.is_missing(parity) {
            let tag = self.oracle.admit(parity);
            self.oracle.set_parity(index, tag, content);
            if let Some(plane) = self.dev.drop_buffered(&mut self.kernel, &mut self.gc, &self.rules, self.now, parity) {
                self.unstall(plane);
            }
            self.becomes_stale(parity);
            self.dev.forget(&mut self.kernel, &self.rules, parity);
            let op = self.kernel.chunk_op(&self.dev, update, parity, Verb::Program, Need::Write);
            self.kernel.ops[Page(op)].tags[0] = tag;
            self.dev.map.set(parity, Location::Staged(op));
            self.queue_on_chip(op);
            programs += 1;
        }
        if self.host.runs.any_released() {
            self.place_merged();
        }
        self.features.raid().records[update].busy = programs;
        if programs == 0 {
            self.update_ends(update);
        }
    }

    /// A read or a program of an update has ended.
    pub(in crate::engine) fn part_of_update_ends(&mut self, update: u32) {
        let record = &mut self.features.raid().records[update];
        record.busy -= 1;
        if record.busy > 0 {
            return;
        }
        match record.phase {
            Phase::Reading if record.reread => self.read_for_update(update),
            Phase::Reading => self.begin_writing(update),
            Phase::Writing => self.update_ends(update),
            Phase::Open | Phase::Idle => unreachable!("an update is under way"),
        }
    }

    /// Chunks and parity are on flash: the update ends.
    fn update_ends(&mut self, update: u32) {
        let record = &self.features.raid().records[update];
        let (index, since) = (record.index, record.since);
        if record.target.is_some() {
            self.features.check_group(&self.kernel, &self.dev, &self.oracle, index);
            return self.rebuild_ends(update);
        }
        let bare = (self.now - since).0;
        self.stats.raid.unprotected += u128::from(bare);
        self.stats.raid.longest = self.stats.raid.longest.max(bare);
        if self.features.failures.is_some() {
            let mut op = self.features.take_kept(update);
            while op.is_some() {
                let next = self.kernel.ops[Page(op)].link;
                self.features.kept_ends(&mut self.kernel, &mut self.dev, &mut self.host, self.now, op);
                self.page_done(op);
                self.host.release(&mut self.kernel, &mut self.oracle, op);
                op = next;
            }
        }
        self.features.check_group(&self.kernel, &self.dev, &self.oracle, index);
        if self.features.settles(&self.dev, update, true) {
            self.begin_reads(update);
        }
    }

    /// Ends an operation on one page, on a device with parity.
    #[inline(never)]
    pub(in crate::engine) fn chunk_ends(&mut self, id: OpId) {
        self.features.leaves_chip(&self.kernel, &self.dev, &mut self.host, id);
        if std::mem::replace(&mut self.kernel.ops[id].failed, false) {
            return self.page_is_denied(id);
        }
        if self.dev.errors.is_some() && !self.dev.chunk_decodes(&self.kernel, &mut self.stats, self.now, id) {
            return self.chunk_is_bad(id);
        }
        let op = &self.kernel.ops[id];
        let (lpn, page, update) = (op.lpn, op.pages[0], self.kernel.ops.parity[id].update);
        let block = self.dev.geometry.block_of(page);
        match op.need {
            Need::Read => {
                self.dev.flash.read_ends(block);
                if self.kernel.ops.parity[id].redirect != NO_REDIRECT {
                    return self.part_ends(id, false);
                }
                if update != NO_UPDATE {
                    self.kernel.ops.remove(id);
                    return self.part_of_update_ends(update);
                }
                self.oracle.delivered(lpn, self.kernel.ops[Page(id)].tags[0], self.kernel.ops[Page(id)].expected);
                self.leaves(id);
            }
            Need::Absorb => unreachable!("it is in no die"),
            Need::Merge => {
                self.dev.flash.read_ends(block);
                self.kernel.ops[id].waits_since = self.now;
                let found = Some(self.kernel.ops[Page(id)].tags[1]);
                self.host.chunk_is_merged(&self.kernel, &mut self.oracle, id, found);
                self.host.release_waiting(&mut self.kernel, &self.features, &self.rules, self.now, id);
                // If a chip may fail, old chunks stay valid until all reads have ended.
                if self.features.failures.is_none() {
                    self.kernel.ops[id].need = Need::Write;
                    self.page_becomes_stale(self.kernel.ops[Page(id)].old);
                    self.dev.drop_old(&mut self.kernel, id);
                }
                self.part_of_update_ends(update);
            }
            Need::Write => {
                let (class, plane, acknowledged) = (op.class, op.plane, op.acknowledged);
                let now_at = self.dev.map.get(lpn);
                let (newest, newer) = (now_at == Location::Staged(id), self.kernel.heir(now_at, id));
                self.land_written(id, newest, newest || newer.is_some());
                if newest {
                    self.host.newest_lands(self.kernel.ops[Page(id)].run);
                } else if let Some(write) = newer {
                    self.kernel.inherits(write, page);
                }
                if class == Class::Host {
                    if !acknowledged {
                        self.page_done(id);
                    }
                    self.host.release(&mut self.kernel, &mut self.oracle, id);
                } else {
                    self.kernel.ops.remove(id);
                }
                self.test_trigger(plane);
                if update != NO_UPDATE {
                    self.part_of_update_ends(update);
                }
            }
        }
    }
}
