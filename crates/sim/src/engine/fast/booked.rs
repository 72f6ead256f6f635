//! Booked reads: a read's array time and its way to the controller in one event.
//!
//! A channel serves requests in their order. If reads alone use it, the time at which a read will have the channel is known when
//! its die begins, unless another one begins later and requests the channel before. Such a read is booked: its only event is its
//! end, which moves if another one is booked before it.
//!
//! Bookings of a channel are undone ([`Ssd::unbook`]) when another operation requests it: each of its reads is then in the state
//! that it would have had with an event for each leg.

use std::collections::VecDeque;

use crate::blame::Cause;
use crate::device::transaction::{Need, Op};
use crate::engine::kernel::timers::Timer;
use crate::engine::{Nanos, Ssd};
use crate::units::{OpId, UnitId};

/// Leg of a booked read.
pub(in crate::engine) const BOOKED: u8 = u8::MAX - 2;

/// Starts of reads on a channel, after a request by another operation, before the next one is booked. Where others use the
/// channel often, bookings would only be undone.
const CALM: u8 = 2;

/// The booked reads of a device.
#[derive(Clone)]
pub(in crate::engine) struct Bookings {
    /// By channel, in the order of their requests.
    of_bus: Vec<VecDeque<OpId>>,
    count: u32,
}

impl Bookings {
    pub(in crate::engine) fn new(channels: usize, units: usize) -> Self {
        let per_channel = units.div_ceil(channels);
        Bookings { of_bus: vec![VecDeque::with_capacity(per_channel); channels], count: 0 }
    }
}

/// Whether `op` is a read in the fast lane.
#[inline(always)]
fn is_lane_read(op: &Op) -> bool {
    op.lane && op.need == Need::Read
}

impl Ssd {
    /// A read's array time begins on its die: books the channel for it, if only reads use that. Returns whether it did.
    #[inline(always)]
    pub(super) fn book(&mut self, id: OpId, unit: UnitId, array: Nanos) -> bool {
        let state = &mut self.kernel.buses[self.kernel.ops[id].channel.ix()];
        if state.calm < CALM {
            state.calm += 1;
            return false;
        }
        self.book_at(id, unit, self.now + array)
    }

    /// A read's array time has ended: the same. Otherwise it requests the channel as any operation does.
    #[inline(always)]
    pub(in crate::engine) fn book_now(&mut self, id: OpId, unit: UnitId) -> bool {
        self.fast.books
            && self.kernel.buses[self.kernel.ops[id].channel.ix()].calm == CALM
            && self.book_at(id, unit, self.now)
    }

    /// Books a channel for a read that will request it at a given time.
    #[inline(always)]
    fn book_at(&mut self, id: OpId, unit: UnitId, asks: Nanos) -> bool {
        let now = self.now;
        let op = &self.kernel.ops[id];
        let (bus, age) = (op.channel.ix(), op.age);
        let Some(transfer) = op.legs.get(1) else { return false };
        let state = &self.kernel.buses[bus];
        let known =
            if state.holder.is_none() { state.until <= now } else { is_lane_read(&self.kernel.ops[state.holder]) };
        if !known || !state.queue.is_empty() || self.has_passages(bus) {
            return false;
        }
        let mut free = state.until;
        let list = &mut self.booked.of_bus[bus];
        let mut place = list.len();
        while let Some(before) = place.checked_sub(1) {
            let other = &self.kernel.ops[list[before]];
            if (other.bus_since, other.age) < (asks, age) {
                free = self.booked_until(other.unit);
                break;
            }
            place = before;
        }
        self.booked.of_bus[bus].insert(place, id);
        self.booked.count += 1;
        let op = &mut self.kernel.ops[id];
        op.leg = BOOKED;
        op.bus_since = asks;
        let ends = asks.max(free) + transfer.time;
        self.kernel.timers.set(Timer::Array(unit), ends);
        if place + 1 < self.booked.of_bus[bus].len() {
            self.move_bookings(bus, place + 1, ends);
        }
        true
    }

    /// End of a booked read's transfer. If its event is being handled, that is now.
    #[inline(always)]
    fn booked_until(&self, unit: UnitId) -> Nanos {
        let ends = self.kernel.timers.get(Timer::Array(unit));
        if ends == Nanos::NEVER { self.now } else { ends }
    }

    /// Booked reads from `place` on wait for the end of the one before.
    #[inline(never)]
    fn move_bookings(&mut self, bus: usize, place: usize, mut free: Nanos) {
        for i in place..self.booked.of_bus[bus].len() {
            let op = &self.kernel.ops[self.booked.of_bus[bus][i]];
            let time = op.legs.get(1).map_or(Nanos::ZERO, |leg| leg.time);
            let (unit, ends) = (op.unit, op.bus_since.max(free) + time);
            if ends == self.kernel.timers.get(Timer::Array(unit)) {
                return;
            }
            self.kernel.timers.set(Timer::Array(unit), ends);
            free = ends;
        }
    }

    /// Whether a channel has booked reads.
    #[inline(always)]
    pub(in crate::engine) fn has_bookings(&self, bus: usize) -> bool {
        self.booked.count > 0 && self.booked.of_bus.get(bus).is_some_and(|list| !list.is_empty())
    }

    /// A booked read has reached the controller.
    #[inline(always)]
    pub(in crate::engine) fn booked_ends(&mut self, id: OpId) {
        let now = self.now;
        let op = &mut self.kernel.ops[id];
        op.leg = 1;
        let time = op.legs.get(1).map_or(Nanos::ZERO, |leg| leg.time);
        let (bus, asked, begun) = (op.channel.ix(), op.bus_since, Nanos(now.0 - time.0));
        let first = self.booked.of_bus[bus].pop_front();
        law_eq!(first, Some(id), "law: booked reads end in the order of their requests");
        self.booked.count -= 1;
        self.kernel.buses[bus].begin(false, begun, now, self.stats.last_completion);
        let blame = &mut self.kernel.ops.host[id].blame;
        blame.add(Cause::BusHost, (begun - asked).0);
        blame.add(Cause::Bus, time.0);
        self.leaves_lane(id);
    }

    /// An operation requests a bus: undoes its bookings, and books no more for a while unless the operation is a read in the lane.
    #[inline(always)]
    pub(in crate::engine) fn meet_bookings(&mut self, id: OpId, bus: usize) {
        if self.fast.books {
            if !is_lane_read(&self.kernel.ops[id]) {
                self.kernel.buses[bus].calm = 0;
            }
            if self.has_bookings(bus) {
                self.unbook(bus, true);
            }
        }
    }

    /// Undoes all bookings between two rounds.
    pub(super) fn unbook_all(&mut self) {
        for bus in 0..self.booked.of_bus.len() {
            if self.has_bookings(bus) {
                self.unbook(bus, false);
            }
        }
    }

    /// Power is cut, and bookings have been undone. Only a read whose transfer ends now is still booked: its channel was in use.
    pub(in crate::engine) fn forget_bookings(&mut self) {
        for bus in 0..self.booked.of_bus.len() {
            while let Some(id) = self.booked.of_bus[bus].pop_front() {
                let time = self.kernel.ops[id].legs.get(1).map_or(Nanos::ZERO, |leg| leg.time);
                let begins = Nanos(self.now.0 - time.0);
                self.kernel.buses[bus].begin(false, begins, self.now, self.stats.last_completion);
            }
        }
        self.booked.count = 0;
    }

    /// Undoes the bookings of a channel: its reads are in the array, wait for the channel or use it. If this is not `within` a
    /// round, an array time that ends now still has its event.
    #[inline(never)]
    fn unbook(&mut self, bus: usize, within: bool) {
        let now = self.now;
        let granted = self.kernel.granted_at == now;
        for i in 0..self.booked.of_bus[bus].len() {
            let id = self.booked.of_bus[bus][i];
            let op = &self.kernel.ops[id];
            let (unit, asks, age) = (op.unit, op.bus_since, op.age);
            let time = op.legs.get(1).map_or(Nanos::ZERO, |leg| leg.time);
            let ends = self.kernel.timers.get(Timer::Array(unit));
            if ends <= now || ends == Nanos::NEVER {
                // Its event is being handled or comes next.
                law_eq!(i, 0, "law: one transfer at a time");
                continue;
            }
            let begins = Nanos(ends.0 - time.0);
            self.booked.count -= 1;
            if begins < now || begins == now && granted {
                self.kernel.timers.clear(Timer::Array(unit));
                self.kernel.ops[id].leg = 1;
                let state = &mut self.kernel.buses[bus];
                state.begin(false, begins, ends, self.stats.last_completion);
                state.holder = id;
                self.kernel.timers.set(Timer::Bus(bus), ends);
                let blame = &mut self.kernel.ops.host[id].blame;
                blame.add(Cause::BusHost, (begins - asks).0);
                blame.add(Cause::Bus, time.0);
            } else if asks < now || asks == now && (within || granted) {
                self.kernel.timers.clear(Timer::Array(unit));
                let ledger = self.kernel.buses[bus].gc(now);
                let op = &mut self.kernel.ops[id];
                op.leg = 1;
                op.bus_ledger = ledger;
                op.asked = asks;
                op.turn = age;
                let queue = &mut self.kernel.buses[bus].queue;
                queue.push(&mut self.kernel.ops, id);
                self.mark_bus(bus);
            } else {
                self.kernel.ops[id].leg = 0;
                self.kernel.timers.set(Timer::Array(unit), asks);
            }
        }
        // Only a read whose event comes now is still booked.
        let ends_now = |id: &OpId| self.kernel.ops[*id].leg == BOOKED;
        self.booked.of_bus[bus].retain(ends_now);
    }
}
