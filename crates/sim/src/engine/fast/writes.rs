//! Writes in the lane: whole pages, and parts of pages, which are merged with the rest of the page on flash.
//!
//! A write begins as a page that is not in flight. It crosses the host link, if there is one. A part whose old page has the rest is a
//! read of that page first, which keeps its run ([`crate::engine::spine::merge`]), and then a program like any other. A write that
//! another one overlaps leaves the lane.

use crate::blame::Cause;
use crate::config::Config;
use crate::device::geometry::Spot;
use crate::device::mapping::Location;
use crate::device::transaction::{Need, Op, Verb};
use crate::engine::fast::lane::{Lane, await_die, complete};
use crate::engine::fast::{FastPaths, Shared};
use crate::engine::kernel::Kernel;
use crate::engine::kernel::dies::Holder;
use crate::engine::kernel::ops::{HostPage, NO_RUN, Page};
use crate::engine::kernel::timers::Timer;
use crate::engine::{Device, Features, Gc, Host, Ssd};
use crate::oracle::Oracle;
use crate::stats::Stats;
use crate::units::{Lpn, Moment, Nanos, OpId, Ppn, UnitId};

impl Device {
    /// If a write of so many bytes of a page is for the lane, because the page is not in flight: where that is on flash, or none if it
    /// is nowhere.
    #[inline(always)]
    pub(super) fn page_overwritten(&self, bytes: u32, lpn: Lpn) -> Option<Ppn> {
        // A part of a super page has a number of flash pages of its own.
        let counts = bytes == self.geometry.unit_bytes || self.geometry.pages_per_entry == 1;
        if counts { self.map.at_rest(lpn) } else { None }
    }
}

impl Kernel {
    /// A page in the lane crosses the host link.
    #[inline(never)]
    pub(super) fn begin_crossing(&mut self, dev: &Device, stats: &Stats, now: Nanos, id: OpId, link: usize) {
        let page = &mut self.ops[Page(id)];
        let until = now + dev.timing.host_link(page.bytes.into()).expect("a host link");
        // The first service of a write.
        page.first_start.get_or_insert(Moment::at(now));
        page.blame.add(Cause::Bus, (until - now).0);
        let state = &mut self.buses[link];
        state.begin(false, now, until, stats.last_completion);
        state.holder = id;
        self.timers.begin(Timer::Bus(link), until);
    }

    /// Whether the event of a bus ends the transfer of a page in the lane.
    #[inline(always)]
    pub(super) fn crosses_in_lane(&self, bus: usize) -> bool {
        let id = self.buses[bus].holder;
        id.is_some() && self.ops[id].lane
    }

    /// What the program of a write in the lane will hold is known: all of its page is in memory, and no other write has a part of it.
    #[inline(always)]
    fn compose_in_lane(&self, dev: &Device, oracle: &mut Oracle, config: &Config, id: OpId) {
        if oracle.tracks_sectors() && self.ops[id].need == Need::Write {
            self.compose(dev, oracle, config, id);
        }
    }

    /// The page on flash that a write in the lane is merged with, if that is still needed, and on the plane of the write.
    #[inline(always)]
    pub(super) fn page_to_merge(&self, dev: &Device, host: &Host, id: OpId) -> Option<Ppn> {
        let op = &self.ops[id];
        let old = self.ops[Page(id)].old;
        let needed = dev.map.get(op.lpn) == Location::Staged(id) && host.lacks(self, id);
        (needed && dev.geometry.plane_of(old) == op.plane).then_some(old)
    }
}

impl Host {
    /// Whether writes of pages that are not in flight are for the lane now.
    #[inline(always)]
    pub(in crate::engine) fn takes_writes(&self, fast: &FastPaths) -> bool {
        fast.writes && !self.runs.any_linger()
    }

    /// A write of a part of a page, which may be all of it, begins in the lane; it has waited outside for so long. Returns its operation,
    /// and where that goes.
    #[inline(always)]
    fn begin_write(
        &mut self,
        kernel: &mut Kernel,
        dev: &Device,
        oracle: &mut Oracle,
        now: Nanos,
        (of, lpn, waited): (Lane<'_>, Lpn, Nanos),
        (offset, bytes): (u32, u32),
    ) -> (OpId, Spot) {
        let age = kernel.age();
        let id = self.place_in_lane(kernel, &of);
        let (op, page) = kernel.ops.both(id);
        op.renew(Verb::Program, Need::Write, lpn, age, now);
        page.tags[0] = oracle.admit(lpn);
        let (plane, spot) = dev.geometry.static_place(lpn);
        op.go_to(plane, spot);
        page.renew(spot.chip, offset, bytes, waited.0);
        self.request_in_lane(kernel, now, of, id);
        (id, spot)
    }

    /// A write has a run if it `merges`, and reads the page on flash first if that has the rest. Returns that page if it is stale. Equals
    /// [`Ssd::admit_write`] from there on.
    #[inline(always)]
    fn begin_run(
        &mut self,
        kernel: &mut Kernel,
        features: &Features,
        oracle: &mut Oracle,
        id: OpId,
        merges: bool,
        old: Ppn,
    ) -> Ppn {
        self.note_write(kernel, oracle, id, merges);
        let before = if old.is_some() { Location::Flash(old) } else { Location::Nowhere };
        if !merges || !self.start_run(kernel, features, oracle, id, before) {
            return old;
        }
        kernel.hand_on(id, before);
        Ppn::NONE
    }

    /// Whether a write that is admitted now begins now, as it finds its die free: until this round dispatches, nothing else begins
    /// that could request its channel or take a page of its plane.
    #[inline(always)]
    fn writes_at_once(&self, kernel: &Kernel, gc: &Gc, shared: &Shared, now: Nanos, unit: UnitId) -> bool {
        let state = &kernel.dies[unit];
        state.array().is_none()
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
    /// A page, or a part of it, is written: it is the newest version from now on, and the old page is stale, unless a part of it is
    /// still to be read.
    #[inline(always)]
    pub(super) fn write_in_lane(
        &mut self,
        (of, lpn): (Lane<'_>, Lpn),
        mut old: Ppn,
        (offset, bytes): (u32, u32),
        waited: Nanos,
    ) {
        if self.shared.chains.exist() {
            self.becomes_stale(lpn);
            // A chain that ended may have moved it.
            old = self.dev.map.at_rest(lpn).unwrap_or(old);
        }
        if bytes != self.dev.geometry.unit_bytes || !self.fast.starts || self.oracle.tracks_sectors() {
            return self.write_apart((of, lpn), old, (offset, bytes), waited);
        }
        let (kernel, oracle, part) = (&mut self.kernel, &mut self.oracle, (0, self.dev.geometry.unit_bytes));
        let (id, spot) = self.host.begin_write(kernel, &self.dev, oracle, self.now, (of, lpn, waited), part);
        self.dev.map.set(lpn, Location::Staged(id));
        if old.is_some() {
            self.dev.flash.invalidate(old, self.dev.geometry.block_of(old), lpn);
        }
        if self.host.writes_at_once(&self.kernel, &self.gc, &self.shared, self.now, spot.unit)
            && self.begin_write_in_lane::<true>(id, spot.unit).is_some()
        {
            return;
        }
        self.awaits_die(id, spot);
    }

    /// The same for a part of a page, and where writes do not begin at once. They cross the host link, if there is one, at once if that is
    /// free: those that ask for it later are younger. Equals [`Ssd::admit_write`], [`Ssd::send`] and [`Ssd::grant_bus`].
    #[inline(never)]
    fn write_apart(&mut self, (of, lpn): (Lane<'_>, Lpn), mut old: Ppn, part: (u32, u32), waited: Nanos) {
        let (kernel, oracle) = (&mut self.kernel, &mut self.oracle);
        let (id, _) = self.host.begin_write(kernel, &self.dev, oracle, self.now, (of, lpn, waited), part);
        let partial = part.1 != self.dev.geometry.unit_bytes;
        if partial || self.oracle.tracks_sectors() {
            self.stats.pages.partial_writes += u64::from(partial);
            let merges = partial && self.kernel.merges(&self.dev, &self.config, id);
            old = self.host.begin_run(&mut self.kernel, &self.features, &mut self.oracle, id, merges, old);
        }
        self.dev.map.set(lpn, Location::Staged(id));
        if old.is_some() {
            self.dev.flash.invalidate(old, self.dev.geometry.block_of(old), lpn);
        }
        self.kernel.compose_in_lane(&self.dev, &mut self.oracle, &self.config, id);
        let link = self.kernel.link_to_cross(&self.dev, id, true);
        self.kernel.ops[id].leg = u8::from(link.is_some());
        match link {
            None => self.place(id),
            Some(link) if self.kernel.buses[link].is_free(self.now) => {
                self.kernel.begin_crossing(&self.dev, &self.stats, self.now, id, link);
            }
            Some(link) => self.join_bus(id, link),
        }
    }

    /// A write in the lane waits for its die.
    #[inline(always)]
    fn awaits_die(&mut self, id: OpId, spot: Spot) {
        if self.fast.turns {
            self.joins_turns(spot.unit);
        }
        await_die(&mut self.kernel.ops[Page(id)], &self.kernel.dies, spot, self.now);
        self.kernel.join_queue::<false>(&mut self.features, &self.rules, id, spot.unit);
        if self.rules.heeds {
            self.unit_is_awaited(spot.unit);
        }
    }

    /// A write joins the queue of its die, if it is in the lane and may stay there. Returns whether it did.
    #[inline(always)]
    pub(in crate::engine) fn places_in_lane(&mut self, id: OpId) -> bool {
        let op = &mut self.kernel.ops[id];
        if !op.lane {
            return false;
        }
        let (need, plane) = (op.need, op.plane);
        if need == Need::Merge && self.kernel.page_to_merge(&self.dev, &self.host, id).is_none() {
            self.kernel.ops.leave_lane(id);
            return false;
        }
        let op = &mut self.kernel.ops[id];
        (op.leg, op.next) = (0, OpId::NONE);
        self.awaits_die(id, self.dev.geometry.spot(plane));
        true
    }

    /// A write in the lane begins on its free die, if its plane has a page for it. Returns for how long it has waited for collections
    /// and write-backs. `AT_ONCE`: [`Host::writes_at_once`].
    #[inline(always)]
    pub(super) fn begin_write_in_lane<const AT_ONCE: bool>(&mut self, id: OpId, unit: UnitId) -> Option<(u64, u64)> {
        let now = self.now;
        let (op, page) = self.kernel.ops.both(id);
        let at = self.dev.flash.take_host_page(op.plane)?;
        // Unlike a read, it never leaves the plane of its admission.
        debug_assert_eq!(page.chip, self.dev.geometry.chip_of(op.plane));
        let (next, since) = if AT_ONCE { (OpId::NONE, now) } else { (op.next, op.waits_since) };
        let turn = self.kernel.dies.begin_host(unit, id, next, page.chip, since, now);
        let waits = page.charge_turn(&turn, self.rules.by_class, since, now);
        let transfer = self.dev.timing.page();
        let array = self.dev.timing.steady_program(|| self.dev.geometry.offset(at));
        op.legs.set_program(transfer, array);
        op.pages.set(at);
        op.bus_gc = 0;
        page.first_start.get_or_insert(Moment::at(now));
        self.stats.count_host_program();
        let bus = op.channel.ix();
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
        Some(waits)
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

    /// Grants a channel to its first request, if that is a write in the lane whose data crosses before its program, or the host link, if
    /// that is a page in the lane. Returns whether it did. Equals [`Ssd::grant_bus`].
    #[inline(always)]
    pub(in crate::engine) fn grant_in_lane(&mut self, bus: usize) -> bool {
        let now = self.now;
        let op = &mut self.kernel.ops[self.kernel.buses[bus].queue.head()];
        if !op.lane {
            return false;
        }
        // A write that asks for its channel has its first leg, a page that asks for the host link another.
        if op.leg != 0 && op.channel.ix() != bus {
            let id = self.kernel.buses[bus].queue.pop(&self.kernel.ops);
            let (op, page) = self.kernel.ops.both(id);
            page.blame.add(Cause::BusHost, (now - op.bus_since).0);
            self.kernel.begin_crossing(&self.dev, &self.stats, now, id, bus);
            return true;
        }
        if op.need != Need::Write || op.leg != 0 {
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

    /// The page that a write in the lane is merged with has reached the controller: the whole page is a write like any other.
    #[inline(always)]
    pub(super) fn merged_in_lane(&mut self, id: OpId) {
        let (op, page) = self.kernel.ops.both(id);
        let (unit, chip, bus_gc) = (op.unit, page.chip, op.bus_gc);
        self.dev.flash.read_ends(self.dev.geometry.block_of(op.pages.head()));
        op.leg = 0;
        self.kernel.leave_die::<false>(&self.dev, self.fast.quiet, self.now, unit, chip, bus_gc);
        self.merge(id);
        self.kernel.ops[id].verb = Verb::Program;
        self.kernel.compose_in_lane(&self.dev, &mut self.oracle, &self.config, id);
    }

    /// The transfer of a page in the lane ends alone: ends it, and carries out the rest of the round. Returns whether it did. Where
    /// nothing else happens now, a write whose die does nothing begins there without a queue.
    #[inline(never)]
    pub(super) fn express_transfer(&mut self, bus: usize, time: Nanos) -> bool {
        if self.fast.turns {
            return false;
        }
        let id = self.kernel.buses[bus].holder;
        self.now = time;
        self.kernel.timers.pop();
        let op = &self.kernel.ops[id];
        let (need, unit, channel) = (op.need, op.unit, op.channel.ix() == bus);
        let mut begun = false;
        if need == Need::Read || need == Need::Write && channel {
            self.leg_ends(Timer::Bus(bus));
        } else {
            let state = &mut self.kernel.buses[bus];
            (state.awaited, state.holder) = (false, OpId::NONE);
            if !state.queue.is_empty() {
                self.kernel.buses.mark(bus);
            }
            if channel {
                self.merged_in_lane(id);
            }
            // A chain that was dissolved may have an event now.
            begun = self.kernel.timers.next() > time && self.begins_where_die_rests(id, unit);
            if !begun {
                self.place(id);
            }
        }
        if begun && self.kernel.buses.dirty.is_empty() {
            self.leave_time();
        } else {
            self.follow();
        }
        true
    }

    /// A write begins on a die that does nothing, at a time at which nothing else begins. Returns whether it did.
    #[inline(always)]
    fn begins_where_die_rests(&mut self, id: OpId, unit: UnitId) -> bool {
        if !self.kernel.rests(unit) {
            return false;
        }
        let op = &mut self.kernel.ops[id];
        (op.waits_since, op.leg, op.next) = (self.now, 0, OpId::NONE);
        if op.need == Need::Merge {
            let Some(old) = self.kernel.page_to_merge(&self.dev, &self.host, id) else { return false };
            self.begin_read_in_lane::<true>(id, unit, old);
        } else {
            self.kernel.buses.contested = 0;
            if self.begin_write_in_lane::<false>(id, unit).is_none() {
                return false;
            }
        }
        self.features.note_burst(&self.kernel, &self.host, &self.rules, id, unit);
        true
    }

    /// The array time of a page in the lane, which is `WRITTEN` then or read, ends alone, perhaps in one event with its transfer: ends
    /// it, and carries out the rest of the round. Returns whether it did.
    #[inline(never)]
    pub(super) fn express_page<const WRITTEN: bool>(&mut self, id: OpId, unit: UnitId, time: Nanos) -> bool {
        if self.fast.turns {
            // Its request may be followed by others, on any channel.
            self.time_comes(time, None);
            if !self.kernel.timers.alone() {
                return false;
            }
        }
        self.now = time;
        self.kernel.timers.pop();
        if WRITTEN {
            self.written_in_lane(id, unit);
        } else {
            self.array_ends_in_lane(id, unit);
        }
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
            self.kernel.ops.leave_lane(id);
            return self.run_leg(id);
        }
        let (request, single, tag) = (op.request, op.single, page.tags[0]);
        // As `land_written`: there are neither errors nor metadata.
        self.dev.flash.land(at, self.dev.geometry.block_of(at), lpn);
        self.oracle.land(at, tag, true);
        self.oracle.acknowledge(tag);
        let latency =
            complete(&mut self.host, &mut self.stats, &mut self.kernel.dies, (request, single, false), page, self.now);
        if page.run != NO_RUN {
            let run = std::mem::replace(&mut page.run, NO_RUN);
            self.host.leaves_run(&mut self.oracle, run);
        }
        self.page_leaves(id, (request, single), latency);
        self.kernel.leave_die::<false>(&self.dev, self.fast.quiet, self.now, unit, chip, bus_gc);
        self.test_trigger(plane);
    }
}

/// A write's data crosses its channel without a wait, and is programmed.
#[inline(always)]
fn charge_program(op: &mut Op, page: &mut HostPage, transfer: Nanos, array: Nanos) {
    page.blame.add(Cause::Bus, transfer.0);
    page.blame.add(Cause::Array, array.0);
    op.leg = 1;
}
