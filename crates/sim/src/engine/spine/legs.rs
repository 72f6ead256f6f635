//! Legs: operations use their resources one after the other, wait for buses, and end.

use crate::blame::Cause;
use crate::config::{Config, WriteAck};
use crate::device::command::LegKind;
use crate::device::mapping::Location;
use crate::device::transaction::{Class, Need, Op, Verb};
use crate::engine::fast::FUSED;
use crate::engine::features::cache::points as cache;
use crate::engine::features::raid::buffered;
use crate::engine::features::retry;
use crate::engine::features::retry::decoder;
use crate::engine::features::slc::folds;
use crate::engine::features::{keep, noc};
use crate::engine::kernel::Kernel;
use crate::engine::kernel::dies::Suspension;
use crate::engine::kernel::ops::Page;
use crate::engine::kernel::timers::Timer;
use crate::engine::rules::Rules;
use crate::engine::spine::release::leave_die;
use crate::engine::{Device, Features, Host, Nanos, Ssd, lifecycle};
use crate::oracle::Oracle;
use crate::units::{JobId, Lpn, Moment, OpId, UnitId};

impl Kernel {
    /// The bus is requested while no event marks the end of its transfer.
    #[inline]
    pub(in crate::engine) fn mark_awaited(&mut self, bus: usize) {
        self.buses[bus].awaited = true;
        self.timers.begin(Timer::Bus(bus), self.buses[bus].until);
    }

    /// Host data crosses the host link, one page at a time in each direction (rule R6, where configured). Returns
    /// the bus to ask for.
    pub(in crate::engine) fn link(&mut self, dev: &Device, id: OpId, inward: bool) -> usize {
        let bus = dev.geometry.channels as usize + usize::from(!inward);
        self.ops[id].inward = inward;
        bus
    }

    /// Adds time to a cause of every page that a host operation serves. (The time of GC steps is counted at their end.)
    #[inline(always)]
    pub(in crate::engine) fn charge(
        &mut self,
        features: &mut Features,
        rules: &Rules,
        now: Nanos,
        id: OpId,
        cause: Cause,
        ns: u64,
    ) {
        self.charge_all(features, rules, now, id, &[(cause, ns)]);
    }

    /// The same for several causes.
    #[inline(always)]
    fn charge_all(&mut self, features: &mut Features, rules: &Rules, now: Nanos, id: OpId, causes: &[(Cause, u64)]) {
        let mut at = id;
        while at.is_some() {
            let op = &self.ops[at];
            if !op.class.like_host() {
                return;
            }
            let (acknowledged, mate) = (op.acknowledged, op.mate);
            if !acknowledged {
                let blame = &mut self.ops[Page(at)].blame;
                causes.iter().for_each(|(cause, ns)| blame.charge(*cause, *ns));
                features.note_line_causes(self, rules, now, at, causes);
            }
            at = mate;
        }
    }

    /// The data of a host program is in the die: the next operation may begin. Returns whether the program waits for the previous one.
    #[inline(always)]
    pub(in crate::engine) fn data_is_in(&mut self, config: &Config, now: Nanos, id: OpId) -> bool {
        let unit = self.ops[id].unit;
        let state = &mut self.dies[unit];
        if state.cache() == id {
            // R8: the data waits in the cache register for the program before it.
            state.park();
            self.ops[id].parked_since = Some(Moment::at(now));
            return true;
        }
        if config.timing.cache_register {
            self.dies.mark(unit);
        }
        false
    }
}

impl Device {
    /// A page has been read for the host. `good`: ECC could correct it.
    #[inline(always)]
    pub(in crate::engine) fn end_read(
        &mut self,
        kernel: &Kernel,
        host: &mut Host,
        oracle: &Oracle,
        id: OpId,
        good: bool,
    ) {
        let op = &kernel.ops[id];
        self.flash.read_ends(self.geometry.block_of(op.pages[0]));
        if good {
            oracle.delivered(op.lpn, kernel.ops[Page(id)].tags[0], kernel.ops[Page(id)].expected);
        } else {
            host.report_uncorrectable(kernel, id);
        }
    }
}

impl Ssd {
    /// A page of the controller's memory has been read or written.
    #[inline(never)]
    fn memory_ends(&mut self) {
        let op = self.host.memory_ends(&mut self.kernel);
        buffered::gives(self, op);
    }

    /// The decoder has decoded a page.
    #[inline(never)]
    fn decode_ends(&mut self) {
        let op = self.host.decode_ends(&mut self.kernel);
        if !decoder::ends(self, op) {
            self.decoded(op);
        }
    }

    /// An operation has run all its legs.
    fn finish(&mut self, id: OpId) {
        if !lifecycle::goes_on(self, id) {
            self.ends(id);
        }
    }

    /// Adds an operation to the queue of a bus.
    #[inline]
    pub(in crate::engine) fn join_bus(&mut self, id: OpId, bus: usize) {
        let now = self.now;
        let (age, ledger) = (self.kernel.ops[id].age, self.kernel.buses[bus].gc(now));
        let op = &mut self.kernel.ops[id];
        let waits = op.parked_since.is_none();
        if waits {
            op.bus_since = now;
            op.bus_ledger = ledger;
        }
        op.asked = now;
        self.kernel.rows_at_bus(&self.features, now, id, bus);
        let turn = self.turn_at_bus(id);
        self.kernel.ops[id].turn = turn;
        if waits {
            self.kernel.shares_at_bus(&self.features, &self.rules, now, id, bus);
        }
        let queue = &mut self.kernel.buses[bus].queue;
        if queue.is_empty() {
            queue.push(&mut self.kernel.ops, id);
        } else {
            let goes_first = turn < age;
            let later = |other: &Op| other.turn > turn || goes_first && other.turn == turn;
            // Those that asked at the same time are the last ones, in their order.
            queue.insert_in_order(&mut self.kernel.ops, id, |other| other.asked == now && later(other));
        }
        self.kernel.buses.mark(bus);
    }

    /// Starts an operation's current leg, or ends the operation if no leg is left.
    pub(in crate::engine) fn run_leg(&mut self, id: OpId) {
        let now = self.now;
        self.features.cross_in(&mut self.kernel, &self.dev, &self.gc, &mut self.stats, id);
        let op = &mut self.kernel.ops[id];
        let Some(leg) = op.legs.get(op.leg) else { return self.finish(id) };
        match leg.kind {
            LegKind::Array => {
                let unit = op.unit;
                if op.verb == Verb::Program && self.config.device.write_ack == WriteAck::AfterTransfer {
                    self.acknowledge_early(id);
                }
                self.observer.watch_array_start(self.now, unit);
                self.kernel.charge(&mut self.features, &self.rules, self.now, id, Cause::Array, leg.time.0);
                self.kernel.timers.begin(Timer::Array(unit), now + leg.time);
                self.kernel.array_begins(&self.rules, unit);
            }
            LegKind::Bus => {
                let bus = op.channel.ix();
                self.ask(id, bus);
            }
            LegKind::Decode => {
                let unit = op.unit;
                self.kernel.charge(&mut self.features, &self.rules, self.now, id, Cause::Decode, leg.time.0);
                self.kernel.timers.set(Timer::Array(unit), now + leg.time);
            }
            LegKind::Noc => self.cross(id, leg.time),
            LegKind::Buffer => self.delay(id, Cause::Memory, leg.time),
            LegKind::Check => self.delay(id, Cause::Decode, leg.time),
        }
    }

    /// Grants every bus that is free and requested, where there may be one.
    pub(in crate::engine) fn grant_buses(&mut self) {
        let mut rows = false;
        for i in 0..self.kernel.buses.dirty.len() {
            let bus = self.kernel.buses.dirty[i] as usize;
            let state = &mut self.kernel.buses[bus];
            state.dirty = false;
            if self.features.takes_rows(&self.kernel, bus) {
                // A free port also frees a row for others.
                rows = true;
                continue;
            }
            let state = &self.kernel.buses[bus];
            if state.holder.is_some() || state.queue.is_empty() {
                continue;
            }
            let now = self.now;
            let state = self.kernel.bus_now(&mut self.shared, &self.stats, self.now, bus);
            if state.until > now {
                if !state.awaited {
                    self.kernel.mark_awaited(bus);
                }
                continue;
            }
            if self.fast.lane && self.grant_in_lane(bus) || self.fast.alone && self.grant_to_move(bus) {
                continue;
            }
            self.grant_bus(bus, Nanos::ZERO, 0);
        }
        self.kernel.buses.dirty.clear();
        if rows {
            self.grant_rows();
        }
    }

    /// Grants a bus to its first request. On an array, `path` is added to the time of its leg, and part of its wait was for rows
    /// that GC occupied.
    #[inline(always)]
    pub(in crate::engine) fn grant_bus(&mut self, bus: usize, path: Nanos, behind_rows: u64) {
        let now = self.now;
        let id = self.kernel.buses[bus].queue.pop(&self.kernel.ops);
        let host = self.kernel.ops[id].class.like_host();
        let gc = !host && self.kernel.is_of_gc(id);
        let port = self.kernel.buses.is_port(bus);
        let state = &mut self.kernel.buses[bus];
        let op = &mut self.kernel.ops[id];
        let gc_wait = state.gc(now) - op.bus_ledger + behind_rows;
        let wait = (now - op.bus_since).0;
        op.parked_since = None;
        op.bus_gc += gc_wait;
        let (lane, turns) = (op.lane && self.fast.lane, self.fast.turns && !host);
        let (time, after) = if bus < self.dev.geometry.channels as usize || port {
            (op.legs.get(op.leg).expect("a leg asked for the bus").time + path, op.legs.get(op.leg + 1))
        } else {
            // The first service of a write.
            let page = &mut self.kernel.ops[Page(id)];
            page.first_start.get_or_insert(Moment::at(now));
            (self.dev.timing.host_link(page.bytes.into()).expect("a host link"), None)
        };
        state.begin(gc, now, now + time, self.stats.last_completion);
        if gc {
            self.kernel.buses.gc_spans.begin(bus, now, now + time);
        }
        self.transfer_begins(bus, now, now + time);
        if host {
            let (behind_gc, behind_host, own) = if port {
                (Cause::NocGc, Cause::NocHost, Cause::Noc)
            } else {
                (Cause::BusGc, Cause::BusHost, Cause::Bus)
            };
            let causes = [(behind_gc, gc_wait), (behind_host, wait - gc_wait), (own, time.0)];
            if lane {
                let blame = &mut self.kernel.ops[Page(id)].blame;
                causes.iter().for_each(|(cause, ns)| blame.charge(*cause, *ns));
            } else {
                self.kernel.charge_all(&mut self.features, &self.rules, self.now, id, &causes);
            }
        }
        self.features.share_bus(&mut self.kernel, &self.rules, self.now, id, bus, (wait, gc_wait, time));
        self.watch_transfer(id, bus, time);
        match after.filter(|leg| leg.kind == LegKind::Array && !port) {
            // Nothing can come between a transfer into a held die and the array work: one event ends both.
            Some(leg) if self.kernel.shares_event(&self.features, &self.fast, &self.rules, &self.config, id) => {
                let shared = &mut self.shared;
                if turns && self.kernel.program_takes_turns(&self.dev, &self.gc, shared, &self.stats, now, id) {
                    return;
                }
                if lane {
                    self.kernel.ops[Page(id)].blame.add(Cause::Array, leg.time.0);
                } else {
                    self.kernel.charge(&mut self.features, &self.rules, self.now, id, Cause::Array, leg.time.0);
                }
                let op = &mut self.kernel.ops[id];
                op.leg += 1;
                self.kernel.timers.begin(Timer::Array(op.unit), now + time + leg.time);
                if !self.kernel.buses[bus].queue.is_empty() {
                    self.kernel.mark_awaited(bus);
                }
            }
            _ if self.fast.moves && !host && self.fuse_move(id, bus) => {}
            _ => {
                self.kernel.buses[bus].holder = id;
                self.kernel.timers.set(Timer::Bus(bus), now + time);
            }
        }
    }

    /// The event of a timer: its activity has ended.
    #[inline]
    pub(in crate::engine) fn leg_ends(&mut self, timer: Timer) {
        let bus = match timer {
            Timer::Array(unit) => return self.array_ends(unit),
            Timer::Bus(bus) => bus,
            Timer::Memory => return self.memory_ends(),
            Timer::Decoder => return self.decode_ends(),
            Timer::Encode | Timer::Idle | Timer::Hold => {
                return self.features.timer_ends(&mut self.kernel, self.now, timer);
            }
            Timer::Delay(slot) => return self.delay_ends(slot),
        };
        let state = &mut self.kernel.buses[bus];
        state.awaited = false;
        let id = std::mem::replace(&mut state.holder, OpId::NONE);
        self.kernel.buses.mark(bus);
        if id.is_none() {
            return;
        }
        if bus >= self.dev.geometry.channels as usize {
            if !noc::port_ends(self, bus, id) {
                self.link_ends(id);
            }
            return;
        }
        let op = &mut self.kernel.ops[id];
        if op.lane && self.fast.lane && op.need != Need::Write {
            return self.leaves_lane::<false>(id, false);
        }
        op.leg += 1;
        // If a host program's data is in the die, the write may be acknowledged.
        if self.kernel.ops[id].class.like_host() && self.kernel.ops[id].verb == Verb::Program {
            if self.config.device.write_ack == WriteAck::AfterTransfer {
                self.acknowledge_early(id);
            }
            if self.kernel.data_is_in(&self.config, self.now, id) {
                return;
            }
        }
        self.run_leg(id);
    }

    /// Acknowledges a host program whose data is in the die's register: at the end of its data-in, or at the start of its array
    /// time if data-in takes no time.
    #[inline(never)]
    pub(in crate::engine) fn acknowledge_early(&mut self, id: OpId) {
        if self.kernel.ops[id].class != Class::Host || self.kernel.ops[id].acknowledged {
            return;
        }
        self.observer.watch_early_acknowledgement(&self.kernel, &self.host, id);
        let mut at = id;
        while at.is_some() {
            let next = self.kernel.ops[at].mate;
            self.page_done(at);
            at = next;
        }
    }

    pub(in crate::engine) fn array_ends(&mut self, unit: UnitId) {
        let state = &mut self.kernel.dies[unit];
        match state.suspension() {
            Suspension::Due => {
                // A slice has ended: the operation goes on, unless a read waits still, which suspends it after this moment's arrivals.
                let rest = state.end_slice();
                self.kernel.timers.set(Timer::Array(unit), self.now + rest);
                return self.kernel.dies.mark(unit);
            }
            Suspension::Going => {
                self.watch_array_end(unit);
                return self.kernel.suspended(unit);
            }
            Suspension::Resuming => {
                return self.kernel.resumed(&mut self.features, &mut self.observer, &self.rules, self.now, unit);
            }
            Suspension::No | Suspension::Serving => {}
        }
        self.watch_array_end(unit);
        let state = &mut self.kernel.dies[unit];
        let id = state.array();
        let op = &mut self.kernel.ops[id];
        if op.lane && self.fast.lane {
            return self.array_ends_in_lane(id, unit);
        }
        if op.leg == FUSED {
            return self.fused_move_ends(id);
        }
        if op.verb == Verb::Read && retry::array_ends(self, unit) {
            return;
        }
        let (state, op) = (&mut self.kernel.dies[unit], &mut self.kernel.ops[id]);
        if op.verb == Verb::Read && op.class.like_host() && self.config.timing.cache_register {
            if state.cache().is_some() {
                // R8: it waits for the cache register, which a page on its way to the bus holds.
                state.park();
                op.parked_since = Some(Moment::at(self.now));
                let bus = op.channel.ix();
                op.bus_since = self.now;
                op.bus_ledger = self.kernel.buses[bus].gc(self.now);
                self.kernel.shares_at_bus(&self.features, &self.rules, self.now, id, bus);
                return;
            }
            state.move_to_cache();
            self.kernel.dies.mark(unit);
        }
        self.kernel.ops[id].leg += 1;
        self.run_leg(id);
    }

    /// A command of the host or of a group has run all its legs, and so have its pages.
    #[inline(always)]
    pub(in crate::engine) fn command_ends(&mut self, id: OpId) {
        leave_die(self, id);
        self.kernel.ending_age = self.kernel.ops[id].age;
        let mut at = id;
        while at.is_some() {
            let next = std::mem::replace(&mut self.kernel.ops[at].mate, OpId::NONE);
            self.page_ends(at);
            at = next;
        }
        self.kernel.ending_age = u64::MAX;
    }

    /// The effect of a host operation on one page.
    #[inline(always)]
    pub(in crate::engine) fn page_ends(&mut self, id: OpId) {
        if lifecycle::ends_beside(self, id) {
            return;
        }
        if self.kernel.ops[id].class == Class::Cache {
            return self.line_ends(id);
        }
        let op = &self.kernel.ops[id];
        let (lpn, page) = (op.lpn, op.pages[0]);
        let block = self.dev.geometry.block_of(page);
        match op.need {
            Need::Read => {
                let good = self.dev.decodes(&mut self.stats, self.now, page);
                cache::is_read(self, id, good);
                folds::is_read(self, lpn, page);
                self.dev.end_read(&self.kernel, &mut self.host, &self.oracle, id, good);
                if self.host.decode(&mut self.kernel, &self.config, self.now, id) {
                    self.decoded(id);
                }
            }
            Need::Merge => {
                self.dev.flash.read_ends(block);
                self.kernel.ops[id].lost = !self.dev.decodes(&mut self.stats, self.now, page);
                if self.host.decode(&mut self.kernel, &self.config, self.now, id) {
                    self.decoded(id);
                }
            }
            Need::Write => {
                let (plane, acknowledged) = (op.plane, op.acknowledged);
                let newest = self.dev.map.get(lpn) == Location::Staged(id);
                let wanted = newest || keep::is_kept(self, id, page);
                self.land_written(id, newest, wanted);
                if newest {
                    self.discard_old(id);
                    self.host.newest_lands(self.kernel.ops[Page(id)].run);
                }
                cache::write_ends(self, id, lpn, newest);
                if !acknowledged {
                    self.page_done(id);
                }
                self.host.release(&mut self.kernel, &mut self.oracle, id);
                self.test_trigger(plane);
            }
            Need::Absorb => unreachable!("it is in no die"),
        }
    }

    /// A program of host data has ended. `wanted`: the page is the valid copy of its logical page. `newest`: it is the newest
    /// version, so the map points to it from now on.
    #[inline(always)]
    pub(in crate::engine) fn land_written(&mut self, id: OpId, newest: bool, wanted: bool) {
        let op = &self.kernel.ops[id];
        let (lpn, page) = (op.lpn, op.pages[0]);
        let block = self.dev.geometry.block_of(page);
        self.dev.flash.land(page, block, if wanted { lpn } else { Lpn::NONE });
        self.oracle.land(page, self.kernel.ops[Page(id)].tags[0], wanted);
        self.dev.host_programmed(self.now, page, self.kernel.ops[id].lost);
        let due =
            self.kernel.note_filled(&self.dev, &mut self.gc, &self.rules, self.now, block, (JobId::NONE, JobId::NONE));
        if let Some((op, plane)) = due {
            self.enqueue(op, plane, false);
        }
        if newest {
            self.dev.map.set(lpn, Location::Flash(page));
        }
    }

    #[inline(never)]
    fn link_ends(&mut self, id: OpId) {
        if self.kernel.ops[id].inward {
            return self.place(id);
        }
        if self.kernel.ops[id].lane && self.fast.lane {
            return self.reaches_host(id);
        }
        self.page_done(id);
        self.host.release(&mut self.kernel, &mut self.oracle, id);
    }
}
