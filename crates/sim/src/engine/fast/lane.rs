//! The fast lane: pages that are read, and whole pages that are written, on devices where only the map, the die and the bus
//! concern them.
//!
//! A page in the lane takes the general steps ([`Ssd::select`] to [`Ssd::page_done`]) without checks for features that its device
//! does not have, and looks each value up once. If it meets anything else, such as a page that has moved or an overlapping write,
//! it falls back to the general path. A page that was read crosses the host link, if there is one, after the lane.
//! Results are identical to the last byte with and without the lane ([`Ssd::set_fusing`]).

use crate::blame::{Cause, ExtraBlame};
use crate::device::geometry::Spot;
use crate::device::mapping::Location;
use crate::device::transaction::{Need, Op, Verb};
use crate::engine::fast::{BOOKED, FastPaths, Shared};
use crate::engine::kernel::Kernel;
use crate::engine::kernel::dies::{Dies, Holder};
use crate::engine::kernel::ops::{HostPage, Page};
use crate::engine::kernel::timers::Timer;
use crate::engine::rules::Rules;
use crate::engine::spine::complete::note_completion;
use crate::engine::spine::requests::HostRequest;
use crate::engine::spine::ring::Waiting;
use crate::engine::{Device, Features, Gc, Host, Pause, Policies, Ssd};
use crate::oracle::Oracle;
use crate::request::{Extent, RequestOp};
use crate::stats::Stats;
use crate::units::{Lpn, Moment, Nanos, OpId, Ppn, RequestId, UnitId, count};

/// The page of a request that is admitted to the lane.
enum Lane<'a> {
    /// One of several.
    Page(RequestId),
    /// The only one of a request from the ring with this number.
    Single(&'a Waiting, u64),
}

impl Kernel {
    /// Whether all events that end now are steps in the lane, so that their order has no effect on results: operations that
    /// request the same bus are sorted there, completed requests only enter sums, and collections begin in the order of their
    /// dies. (Where writes are followed by collections in no time, all must be reads.)
    pub(in crate::engine) fn all_in_lane(&self) -> bool {
        if self.ops.all_in_lane() {
            return self.batch.iter().all(|timer| self.timers.is_of_leg(*timer as u32));
        }
        self.batch.iter().all(|timer| {
            let id = match self.timers.timer(*timer as u32) {
                // Without an operation, a die ends or begins a suspension.
                Timer::Array(unit) if self.dies[unit].array().is_none() => return false,
                Timer::Array(unit) => self.dies[unit].array(),
                Timer::Bus(bus) => self.buses[bus].holder,
                _ => return false,
            };
            // A bus event that only wakes the bus ends nothing.
            id.is_none() || self.ops[id].lane
        })
    }

    /// A page in the lane has ended on its die. `READS`: only reads have been submitted.
    #[inline(always)]
    fn leave_die<const READS: bool>(
        &mut self,
        dev: &Device,
        quiet: bool,
        now: Nanos,
        unit: UnitId,
        chip: u32,
        bus_gc: u64,
    ) {
        let (next, awaited) = self.dies.release_host(unit, bus_gc, chip, now);
        if next.is_some() {
            let op = &self.ops[next];
            if READS { dev.expect_entry(op) } else { dev.map.expect(op.lpn) }
        }
        if awaited || !quiet {
            if READS {
                self.dies.mark_for_read(unit);
            } else {
                self.dies.mark(unit);
            }
        }
    }

    /// Adds a page to the queue of its die. With [`await_die`] this equals [`Ssd::enqueue`], without cases that cannot occur here.
    #[inline(always)]
    fn join_queue<const READ: bool>(&mut self, features: &mut Features, rules: &Rules, id: OpId, unit: UnitId) {
        self.dies.units[unit.ix()].queue.push_new(&mut self.ops, id);
        features.note_queue(self, rules, id, unit, true);
        // A busy die looks at its queue when it becomes free, unless it may be suspended.
        if self.dies[unit].array().is_none() || rules.suspends {
            if READ {
                self.dies.mark_for_read(unit);
            } else {
                self.dies.mark(unit);
            }
        }
    }

    /// [`Kernel::charge_collections`] for a page in the lane that has just begun.
    #[inline(always)]
    fn charge_held(
        &mut self,
        dev: &Device,
        host: &mut Host,
        features: &mut Features,
        schemes: &Policies,
        now: Nanos,
        (id, unit, (gc, writeback)): (OpId, UnitId, (u64, u64)),
    ) {
        if features.conflict.is_some() {
            features.note_conflict(self, host, schemes, id, unit, (gc, writeback));
            return self.charge_collections(dev, now, id, unit, gc, writeback);
        }
        let (op, page) = self.ops.both(id);
        // GC does not hold the die any more.
        let ledger = dev.geometry.spot(op.plane).ledger;
        let own = self.dies.gc_by_plane[ledger as usize] - page.ledger_gc_own;
        page.blame.add_collections(own, gc - own, writeback);
    }
}

impl Device {
    /// If a write of so many bytes of a page is for the lane, because it is of all of it, and it is not in flight: the page with its
    /// old version, or none if it has none.
    #[inline(always)]
    fn page_overwritten(&self, bytes: u32, lpn: Lpn) -> Option<Ppn> {
        if bytes == self.geometry.unit_bytes { self.map.at_rest(lpn) } else { None }
    }

    /// Prefetches the map's entry of an operation that will soon begin, if it is needed again.
    #[inline(always)]
    fn expect_entry(&self, op: &Op) {
        if op.need == Need::Write || !self.map.is_as_asked(op.age) {
            self.map.expect(op.lpn);
        }
    }
}

impl Host {
    /// Adds a place for the only page of a request in the lane, and one for the request.
    #[cold]
    fn add_single(&mut self, kernel: &mut Kernel) {
        let request = self.requests.insert(HostRequest::plain(), 1);
        kernel.ops.add_single(request);
    }

    /// A place for a page in the lane. It was used by such a page before, so that only what tells it apart is set.
    #[inline(always)]
    fn place_in_lane(&mut self, kernel: &mut Kernel, of: &Lane<'_>) -> OpId {
        loop {
            let found = match of {
                Lane::Page(_) => kernel.ops.reuse_lane(),
                Lane::Single(..) => kernel.ops.reuse_single(),
            };
            match (found, of) {
                (Some(id), _) => return id,
                (None, Lane::Page(_)) => kernel.ops.add_to_lane(),
                (None, Lane::Single(..)) => self.add_single(kernel),
            }
        }
    }

    /// The record of the request of a page in the lane.
    #[inline(always)]
    fn request_in_lane(&mut self, kernel: &mut Kernel, now: Nanos, of: Lane<'_>, id: OpId) {
        match of {
            Lane::Page(request) => kernel.ops[id].request = request,
            Lane::Single(next, index) => {
                self.outstanding += 1;
                self.requests[kernel.ops[id].request].renew(index, next, now);
            }
        }
    }

    /// Whether writes of pages that are not in flight are for the lane now.
    #[inline(always)]
    pub(in crate::engine) fn takes_writes(&self, oracle: &Oracle, fast: &FastPaths) -> bool {
        fast.writes && !self.runs.any_linger() && !oracle.tracks_sectors()
    }

    /// An operation of a long queue begins: prefetches its request, which its end needs, the map's entry of the next one, whose record
    /// is in the cache by now, and the record of the one after that.
    #[inline(never)]
    fn expects_next(&self, kernel: &Kernel, dev: &Device, next: OpId, request: RequestId) {
        if request.is_some() {
            self.requests.expect(request);
        }
        if next.is_none() {
            return;
        }
        let op = &kernel.ops[next];
        dev.expect_entry(op);
        if op.need != Need::Write {
            dev.flash.expect_read(dev.geometry.block_of(op.pages.head()));
        }
        if op.next.is_some() {
            kernel.ops.expect(op.next);
        }
    }

    /// An operation of a unit's queue begins otherwise than in the lane: the same, where queues are long.
    #[inline(always)]
    pub(in crate::engine) fn expect_next(&self, kernel: &Kernel, dev: &Device, rules: &Rules, op: OpId, unit: UnitId) {
        if rules.deep {
            self.expects_next(kernel, dev, kernel.dies[unit].queue.head(), kernel.ops[op].request);
        }
    }

    /// Whether a write that is admitted now begins now, as it finds its die free: until this round dispatches, nothing else begins
    /// that could request its channel or take a page of its plane.
    #[inline(always)]
    fn writes_at_once(
        &self,
        kernel: &Kernel,
        gc: &Gc,
        shared: &Shared,
        fast: &FastPaths,
        now: Nanos,
        unit: UnitId,
    ) -> bool {
        let state = &kernel.dies[unit];
        state.array().is_none()
            && fast.starts
            && kernel.dies.dirty.is_empty()
            && state.holder() == Holder::Free
            && state.queue.is_empty()
            && state.due().is_empty()
            && gc.jobs.in_use() == 0
            && !shared.booked.exist()
            // Requests other than writes that are admitted after it may put pages on flash in no time.
            && (kernel.dies.starts_early() || self.outstanding == self.depth || !self.may_admit(now))
    }
}

impl Ssd {
    /// Admits a measured request of one page to the lane, if it is a read of a page on flash or a write of a whole page that is
    /// not in flight. Returns whether it did.
    #[inline(always)]
    pub(in crate::engine) fn admit_to_lane(&mut self, next: &Waiting, index: u64, lpn: Lpn) -> bool {
        let request = &next.request;
        let bytes = request.bytes as u32;
        match request.op {
            RequestOp::Read => {
                let Some(page) = self.dev.map.on_flash(lpn) else { return false };
                let asked =
                    self.dev.flash_pages(&self.config, &Extent { offset: request.offset, bytes: request.bytes }, 1);
                self.stats.pages.read += asked;
                let offset = (request.offset - u64::from(lpn.0) * self.dev.entry_bytes()) as u32;
                self.read_in_lane((Lane::Single(next, index), lpn), page, offset, bytes, self.now - request.arrival);
                true
            }
            RequestOp::Write if self.host.takes_writes(&self.oracle, &self.fast) => {
                if self.dev.page_overwritten(bytes, lpn).is_none() {
                    return false;
                }
                self.host.count_written(&mut self.stats, u64::from(self.dev.geometry.pages_per_entry), true);
                let old = self.dev.map.at_rest(lpn).expect("it is not in flight");
                self.write_in_lane((Lane::Single(next, index), lpn), old, self.now - request.arrival);
                true
            }
            _ => false,
        }
    }

    /// Admits a page of a measured request to the lane, if it is a read of a page on flash or, where the lane `writes`, a write of a
    /// whole page that is not in flight. Returns whether it did.
    #[inline(always)]
    pub(in crate::engine) fn admit_page_to_lane(
        &mut self,
        id: RequestId,
        op: RequestOp,
        lpn: Lpn,
        offset: u32,
        bytes: u32,
        (waited, writes): (Nanos, bool),
    ) -> bool {
        match op {
            RequestOp::Read => {
                let Some(page) = self.dev.map.on_flash(lpn) else { return false };
                self.read_in_lane((Lane::Page(id), lpn), page, offset, bytes, waited);
                true
            }
            RequestOp::Write if writes => {
                let Some(old) = self.dev.page_overwritten(bytes, lpn) else { return false };
                self.write_in_lane((Lane::Page(id), lpn), old, waited);
                true
            }
            _ => false,
        }
    }

    #[inline(always)]
    fn read_in_lane(&mut self, (of, lpn): (Lane<'_>, Lpn), at: Ppn, offset: u32, bytes: u32, waited: Nanos) {
        let (now, age) = (self.now, self.kernel.age());
        let id = self.host.place_in_lane(&mut self.kernel, &of);
        let (op, page) = self.kernel.ops.both(id);
        op.renew(Verb::Read, Need::Read, lpn, age, now);
        op.pages.set(at);
        page.expected = self.oracle.latest(lpn);
        let plane = self.dev.geometry.plane_of(at);
        let spot = self.dev.geometry.spot(plane);
        op.go_to(plane, spot);
        page.renew(spot.chip, offset, bytes, waited.0);
        self.dev.map.asked_by(age);
        self.host.request_in_lane(&mut self.kernel, self.now, of, id);
        if self.oracle.tracks_sectors() {
            self.oracle.expects(id, lpn);
        }
        if self.kernel.begins_at_once(spot.unit) {
            self.begin_read_in_lane(id, spot.unit, at);
        } else {
            if self.fast.turns {
                self.joins_turns(spot.unit);
            }
            await_die(&mut self.kernel.ops[Page(id)], &self.kernel.dies, spot, now);
            self.kernel.join_queue::<true>(&mut self.features, &self.rules, id, spot.unit);
            if self.rules.heeds {
                self.unit_is_awaited(spot.unit);
            }
        }
    }

    /// A whole page is written: it is the newest version from now on, and the old page is stale.
    #[inline(always)]
    fn write_in_lane(&mut self, (of, lpn): (Lane<'_>, Lpn), mut old: Ppn, waited: Nanos) {
        if self.shared.chains.exist() {
            self.becomes_stale(lpn);
            // A chain that ended may have moved it.
            old = self.dev.map.at_rest(lpn).unwrap_or(old);
        }
        let (now, age) = (self.now, self.kernel.age());
        let id = self.host.place_in_lane(&mut self.kernel, &of);
        let (op, page) = self.kernel.ops.both(id);
        op.renew(Verb::Program, Need::Write, lpn, age, now);
        page.tags[0] = self.oracle.admit(lpn);
        let (plane, spot) = self.dev.geometry.static_place(lpn);
        op.go_to(plane, spot);
        page.renew(spot.chip, 0, self.dev.geometry.unit_bytes, waited.0);
        self.host.request_in_lane(&mut self.kernel, self.now, of, id);
        self.dev.map.set(lpn, Location::Staged(id));
        if old.is_some() {
            self.dev.flash.invalidate(old, self.dev.geometry.block_of(old), lpn);
        }
        if self.host.writes_at_once(&self.kernel, &self.gc, &self.shared, &self.fast, self.now, spot.unit)
            && self.begin_write_in_lane::<true>(id, spot.unit).is_some()
        {
            return;
        }
        if self.fast.turns {
            self.joins_turns(spot.unit);
        }
        await_die(&mut self.kernel.ops[Page(id)], &self.kernel.dies, spot, now);
        self.kernel.join_queue::<false>(&mut self.features, &self.rules, id, spot.unit);
        if self.rules.heeds {
            self.unit_is_awaited(spot.unit);
        }
    }

    /// Serves the operation at the head of a unit's queue, if possible, like [`Ssd::kick`] and the steps after it. Returns false as
    /// that does.
    #[inline(always)]
    pub(in crate::engine) fn start_in_lane(&mut self, unit: UnitId) -> bool {
        if self.rules.counts && self.features.chooses(&self.kernel, unit) {
            return false;
        }
        let state = &self.kernel.dies[unit];
        let id = state.queue.head();
        if id.is_none() || state.array().is_some() {
            return true;
        }
        if state.holder() != Holder::Free
            || state.job.is_some() && !(self.rules.pauses && self.gc.jobs[state.job.0].pause != Pause::No)
            || (self.rules.collector_holds && !state.due().is_empty() && state.job.is_none())
        {
            return false;
        }
        let op = &self.kernel.ops[id];
        if !op.lane {
            return false;
        }
        if op.need != Need::Write {
            return self.start_read(id, unit);
        }
        // If its plane has a page for it.
        let Some((next, request, waits)) = self.begin_write_in_lane::<false>(id, unit) else { return false };
        if self.rules.deep {
            self.host.expects_next(&self.kernel, &self.dev, next, request);
        }
        if waits.0 + waits.1 > 0 {
            let (host, features) = (&mut self.host, &mut self.features);
            self.kernel.charge_held(&self.dev, host, features, &self.schemes, self.now, (id, unit, waits));
        }
        true
    }

    /// Starts the read at the head of a free unit's queue, if its page is still on the plane.
    #[inline(always)]
    fn start_read(&mut self, id: OpId, unit: UnitId) -> bool {
        let op = &mut self.kernel.ops[id];
        let mut at = op.pages.head();
        if self.dev.map.is_as_asked(op.age) {
            debug_assert_eq!(self.dev.map.on_flash(op.lpn), Some(at));
        } else {
            let Some(now_at) = self.dev.map.on_flash(op.lpn) else { return false };
            if now_at != at {
                if self.dev.geometry.plane_of(now_at) != op.plane {
                    return false;
                }
                op.pages.set(now_at);
                at = now_at;
            }
        }
        let (next, request) = (op.next, op.request);
        self.begin_read_in_lane(id, unit, at);
        if self.rules.counts {
            self.features.note_queue(&self.kernel, &self.rules, id, unit, false);
            self.features.note_burst(&self.kernel, &self.host, &self.rules, id, unit);
        }
        if self.rules.deep {
            self.host.expects_next(&self.kernel, &self.dev, next, request);
        }
        true
    }

    /// A read in the lane begins on its free die.
    #[inline(always)]
    fn begin_read_in_lane(&mut self, id: OpId, unit: UnitId, at: Ppn) {
        let now = self.now;
        let (op, page) = self.kernel.ops.both(id);
        let turn = self.kernel.dies.begin_host(unit, id, op.next, page.chip, op.waits_since, now);
        // Where dies choose by class, it is not told apart.
        let late = if self.rules.by_class { Cause::DieHost } else { Cause::DieLate };
        let (gc, writeback) = page.charge_turn(&turn, late, op.waits_since, now);
        let transfer = self.dev.timing.transfer(page.bytes);
        let array = self.dev.timing.steady_read(|| self.dev.geometry.offset(at));
        op.legs.set_read(array, transfer);
        op.bus_gc = 0;
        page.first_start = Some(Moment::at(now));
        page.blame.set(Cause::Array, array.0);
        self.dev.flash.read_begins(self.dev.geometry.block_of(at));
        let tag = self.oracle.load(at, op.lpn);
        page.tags[0] = tag;
        self.stats.count_host_read();
        let (bus, age) = (op.channel.ix(), op.age);
        if !(self.fast.books
            && self.kernel.book(&mut self.shared, self.now, (id, unit), bus, (now + array, age), transfer))
        {
            self.kernel.timers.begin(Timer::Array(unit), now + array);
        }
        // There is no write cache.
        if self.host.runs.any() || self.oracle.tracks_sectors() {
            self.kernel.note_flash_read(&self.dev, &self.features, &mut self.oracle, &self.rules, id, tag);
        }
        if gc + writeback > 0 {
            let (host, features, waits) = (&mut self.host, &mut self.features, (gc, writeback));
            self.kernel.charge_held(&self.dev, host, features, &self.schemes, self.now, (id, unit, waits));
        }
    }

    /// A write in the lane begins on its free die, if its plane has a page for it. Returns the next operation in the queue of the
    /// die, its request, and for how long it has waited for collections and write-backs. `AT_ONCE`: [`Host::writes_at_once`].
    #[inline(always)]
    fn begin_write_in_lane<const AT_ONCE: bool>(
        &mut self,
        id: OpId,
        unit: UnitId,
    ) -> Option<(OpId, RequestId, (u64, u64))> {
        let now = self.now;
        let (op, page) = self.kernel.ops.both(id);
        let at = self.dev.flash.take_host_page(op.plane)?;
        // Unlike a read, it never leaves the plane of its admission.
        debug_assert_eq!(page.chip, self.dev.geometry.chip_of(op.plane));
        let (next, since) = if AT_ONCE { (OpId::NONE, now) } else { (op.next, op.waits_since) };
        let turn = self.kernel.dies.begin_host(unit, id, next, page.chip, since, now);
        let waits = page.charge_turn(&turn, Cause::DieLate, since, now);
        let transfer = self.dev.timing.page();
        let array = self.dev.timing.steady_program(|| self.dev.geometry.offset(at));
        op.legs.set_program(transfer, array);
        op.pages.set(at);
        op.bus_gc = 0;
        page.first_start = Some(Moment::at(now));
        self.stats.count_host_program();
        let (request, bus) = (op.request, op.channel.ix());
        let shared = !AT_ONCE
            && (self.kernel.buses.is_contested(bus) || self.shared.booked.exist() || self.shared.chains.cross());
        let state = &mut self.kernel.buses[bus];
        let alone = !shared && state.is_free(now);
        if alone {
            // Its data crosses the channel at once, and its program is the next event. Equals `Ssd::send_to_die`.
            let until = now + transfer;
            state.calm = 0;
            state.begin(false, now, until, self.stats.last_completion);
            charge_program(op, page, transfer, array);
            self.kernel.timers.begin(Timer::Array(unit), until + array);
        } else {
            self.send_to_die(id, unit, bus, transfer, array);
        }
        Some((next, request, waits))
    }

    /// A write begins on its die: its data crosses the channel at once if that is free and no other die may request it now, and
    /// its program is the next event. Otherwise it requests the channel. Equals [`Ssd::ask`] and [`Ssd::grant_bus`], without
    /// cases that cannot occur here.
    #[inline(never)]
    fn send_to_die(&mut self, id: OpId, unit: UnitId, bus: usize, transfer: Nanos, array: Nanos) {
        let shared = self.shared.booked.exist() || self.shared.chains.cross() || self.kernel.buses[bus].fused.is_some();
        if shared {
            self.approach(id, bus);
        }
        let contested = self.kernel.buses.is_contested(bus);
        let state = &mut self.kernel.buses[bus];
        // As for any operation that is not a read in the lane.
        state.calm = 0;
        let free = state.holder.is_none() && state.until <= self.now && state.queue.is_empty();
        if !free || contested {
            return self.join_bus(id, bus);
        }
        self.cross_to_die(id, unit, bus, transfer, array);
    }

    /// A write's data crosses its channel, and is programmed.
    #[inline(always)]
    fn cross_to_die(&mut self, id: OpId, unit: UnitId, bus: usize, transfer: Nanos, array: Nanos) {
        let (now, until) = (self.now, self.now + transfer);
        self.kernel.buses[bus].begin(false, now, until, self.stats.last_completion);
        self.transfer_begins(bus, now, until);
        let (op, page) = self.kernel.ops.both(id);
        charge_program(op, page, transfer, array);
        self.kernel.timers.begin(Timer::Array(unit), until + array);
    }

    /// Grants a channel to its first request, if that is a write in the lane whose data crosses before its program. Returns whether
    /// it did. Equals [`Ssd::grant_bus`].
    #[inline(always)]
    pub(in crate::engine) fn grant_in_lane(&mut self, bus: usize) -> bool {
        let now = self.now;
        let op = &mut self.kernel.ops[self.kernel.buses[bus].queue.head()];
        if !op.lane || op.need != Need::Write || op.leg != 0 {
            return false;
        }
        let (Some(transfer), Some(array)) = (op.legs.get(0), op.legs.get(1)) else { return false };
        let unit = op.unit;
        let state = &mut self.kernel.buses[bus];
        let gc_wait = state.gc(now) - op.bus_ledger;
        let wait = (now - op.bus_since).0;
        op.bus_gc += gc_wait;
        let id = state.queue.pop(&self.kernel.ops);
        let waits = !state.queue.is_empty();
        let blame = &mut self.kernel.ops[Page(id)].blame;
        blame.add(Cause::BusGc, gc_wait);
        blame.add(Cause::BusHost, wait - gc_wait);
        self.cross_to_die(id, unit, bus, transfer.time, array.time);
        if waits {
            self.kernel.mark_awaited(bus);
        }
        true
    }

    /// The program of a write in the lane ends alone: ends it, and carries out the rest of the round. Returns whether it did.
    #[inline(never)]
    pub(super) fn express_written(&mut self, id: OpId, unit: UnitId, time: Nanos) -> bool {
        if self.fast.turns {
            // Its request may be followed by others, on any channel.
            self.time_comes(time, None);
            if !self.kernel.timers.alone() {
                return false;
            }
        }
        self.now = time;
        self.kernel.timers.pop();
        self.written_in_lane(id, unit);
        self.follow();
        true
    }

    /// A write in the lane has been programmed.
    #[inline(always)]
    pub(super) fn written_in_lane(&mut self, id: OpId, unit: UnitId) {
        let (op, page) = self.kernel.ops.both(id);
        let (lpn, plane, bus_gc, at, chip) = (op.lpn, op.plane, op.bus_gc, op.pages.head(), page.chip);
        debug_assert_eq!(chip, self.dev.geometry.chip_of(plane));
        if !self.dev.map.land(lpn, id, at) {
            // It was discarded meanwhile.
            op.leg += 1;
            return self.run_leg(id);
        }
        let (request, single, tag) = (op.request, op.single, page.tags[0]);
        // As `land_written`: there are neither errors nor metadata.
        self.dev.flash.land(at, self.dev.geometry.block_of(at), lpn);
        self.oracle.land(at, tag, true);
        self.oracle.acknowledge(tag);
        let latency =
            complete(&mut self.host, &mut self.stats, &mut self.kernel.dies, (request, single, false), page, self.now);
        self.page_leaves(id, (request, single), latency);
        self.kernel.leave_die::<false>(&self.dev, self.fast.quiet, self.now, unit, chip, bus_gc);
        self.test_trigger(plane);
    }

    /// A page in the lane is served. If its request is complete, its latency is given.
    #[inline(always)]
    fn page_leaves(&mut self, id: OpId, (request, single): (RequestId, bool), latency: Option<u64>) {
        let Some(latency) = latency else { return self.count_page_in_lane(id) };
        self.features.note_done(&self.kernel, &self.dev, &self.host, self.now, request, latency);
        if self.stats.keeps_slowest || self.observer.shows_completions() {
            self.show_done(request, id, &ExtraBlame::ZERO, latency);
        }
        self.kernel.idle_rounds = 0;
        self.host.request_ends(self.now);
        if single {
            return self.kernel.ops.remove_single(id);
        }
        self.host.requests.remove(request);
        self.kernel.ops.remove_lane(id);
    }

    /// Ends the steps of a batch that are all in the lane, in any order.
    #[inline(always)]
    pub(in crate::engine) fn lane_batch_ends(&mut self) {
        let batch = std::mem::take(&mut self.kernel.batch);
        for timer in &batch {
            match self.kernel.timers.timer(*timer as u32) {
                Timer::Array(unit) => self.array_ends_in_lane(self.kernel.dies[unit].array(), unit),
                timer => self.leg_ends(timer),
            }
        }
        self.kernel.batch = batch;
    }

    /// The array time of an operation in the lane has ended, perhaps in one event with another leg.
    #[inline(always)]
    pub(in crate::engine) fn array_ends_in_lane(&mut self, id: OpId, unit: UnitId) {
        let op = &mut self.kernel.ops[id];
        if op.need == Need::Write {
            return self.written_in_lane(id, unit);
        }
        if op.leg == BOOKED {
            return self.leaves_lane::<false>(id, true);
        }
        op.leg = 1;
        let bus = op.channel.ix();
        if !self.kernel.book_now(&mut self.shared, self.fast.books, self.now, id, unit) {
            self.ask(id, bus);
        }
    }

    /// The page of a read in the lane has reached the controller; `booked`: over a channel that it had in advance; `READS`: only
    /// reads have been submitted.
    #[inline(always)]
    pub(in crate::engine) fn leaves_lane<const READS: bool>(&mut self, id: OpId, booked: bool) {
        let now = self.now;
        let (op, page) = self.kernel.ops.both(id);
        debug_assert!(op.need == Need::Read && op.verb == Verb::Read && op.mate.is_none());
        if booked {
            let state = &mut self.kernel.buses[op.channel.ix()];
            self.shared.booked.end(id, (op, page), state, now, self.stats.last_completion);
        }
        // As `end_read`: there are no errors.
        self.dev.flash.read_ends(self.dev.geometry.block_of(op.pages.head()));
        self.oracle.delivered(op.lpn, page.tags[0], page.expected);
        debug_assert_eq!(page.chip, self.dev.geometry.chip_of(op.plane));
        let (unit, chip, bus_gc) = (op.unit, page.chip, op.bus_gc);
        match self.kernel.link_to_cross(&self.dev, id, false) {
            None => self.reaches_host(id),
            Some(link) => self.ask(id, link),
        }
        self.kernel.leave_die::<READS>(&self.dev, self.fast.quiet, self.now, unit, chip, bus_gc);
    }

    /// The page of a read in the lane has reached the host.
    #[inline(always)]
    pub(in crate::engine) fn reaches_host(&mut self, id: OpId) {
        let (op, page) = self.kernel.ops.both(id);
        let (request, single) = (op.request, op.single);
        let latency =
            complete(&mut self.host, &mut self.stats, &mut self.kernel.dies, (request, single, true), page, self.now);
        self.page_leaves(id, (request, single), latency);
    }
}

/// A page begins to wait for its die: notes for how long collections and write-backs had held that before.
#[inline(always)]
fn await_die(page: &mut HostPage, dies: &Dies, spot: Spot, now: Nanos) {
    let by_plane = dies.gc_by_plane[spot.ledger as usize];
    let state = &dies[spot.unit];
    if state.holder() == Holder::Gc {
        page.ledger_gc = state.gc(now);
        page.ledger_gc_own = state.gc_own(by_plane, spot.in_unit, now);
        page.collections = state.collections.saturating_sub(1);
    } else {
        // As no collection holds it, these stand still.
        page.ledger_gc = state.gc_before();
        page.ledger_gc_own = by_plane;
        page.collections = state.collections;
    }
    page.ledger_writeback = state.writeback(now);
}

/// A write's data crosses its channel without a wait, and is programmed.
#[inline(always)]
fn charge_program(op: &mut Op, page: &mut HostPage, transfer: Nanos, array: Nanos) {
    page.blame.set(Cause::Bus, transfer.0);
    page.blame.set(Cause::Array, array.0);
    op.leg = 1;
}

/// A page has been read, or written: if it is the only one of its request, which is measured, the request has completed. Returns
/// its latency then. `single`: [`Op::single`]. Equals [`Ssd::request_done`] without features that close the lane.
#[inline(always)]
fn complete(
    host: &mut Host,
    stats: &mut Stats,
    dies: &mut Dies,
    (id, single, reads): (RequestId, bool, bool),
    page: &HostPage,
    now: Nanos,
) -> Option<u64> {
    if !single && !host.requests.is_of_one(id) {
        return None;
    }
    let record = &host.requests[id];
    let (latency, (waits, service)) = ((now - record.request.arrival).0, page.blame.sums());
    law_eq!(waits + service, latency, "causes sum to the latency of request {}", record.index);
    debug_assert_eq!(reads, record.request.op == RequestOp::Read);
    let of = if reads {
        count(&mut stats.requests.read);
        stats.bytes.read += record.request.bytes;
        &mut stats.read
    } else {
        count(&mut stats.requests.write);
        stats.bytes.written += record.request.bytes;
        stats.count_page_done(record.request.bytes);
        &mut stats.write
    };
    of.complete(&page.blame, latency, waits);
    count(&mut stats.completed);
    note_completion(stats, dies, now);
    Some(latency)
}
