//! Booked reads: a read's array time and its way to the controller in one event.
//!
//! A channel serves requests in their order. If reads alone use it, the time at which a read will have the channel is known when
//! its die begins, unless another one begins later and requests the channel before. Such a read is booked: its only event is its
//! end, which moves if another one is booked before it.
//!
//! Bookings of a channel are undone ([`Kernel::unbook`]) when another operation requests it: each of its reads is then in the state
//! that it would have had with an event for each leg.

use crate::blame::Cause;
use crate::device::transaction::{Fifo, Need, Op};
use crate::engine::Nanos;
use crate::engine::fast::{FastPaths, Shared};
use crate::engine::kernel::Kernel;
use crate::engine::kernel::buses::Bus;
use crate::engine::kernel::ops::{HostPage, Page};
use crate::engine::kernel::timers::Timer;
use crate::stats::Stats;
use crate::units::{OpId, UnitId};

/// Leg of a booked read.
pub(in crate::engine) const BOOKED: u8 = u8::MAX - 2;

/// Starts of reads on a channel, after a request by another operation, before the next one is booked. Where others use the
/// channel often, bookings would only be undone.
const CALM: u8 = 2;

/// The booked reads of a device. Each channel has a list of its own.
#[derive(Clone, Default)]
pub(in crate::engine) struct Bookings {
    pub(super) count: u32,
}

impl Bookings {
    /// Whether there are any.
    #[inline(always)]
    pub(super) fn exist(&self) -> bool {
        self.count > 0
    }

    /// A booked read has reached the controller over this bus. `last` is the last completion of a measured request.
    #[inline(always)]
    pub(super) fn end(
        &mut self,
        id: OpId,
        (op, page): (&mut Op, &mut HostPage),
        bus: &mut Bus,
        now: Nanos,
        last: Nanos,
    ) {
        op.leg = 1;
        let time = op.legs.get(1).map_or(Nanos::ZERO, |leg| leg.time);
        let begun = Nanos(now.0 - time.0);
        page.blame.set(Cause::BusHost, (begun - op.bus_since).0);
        page.blame.set(Cause::Bus, time.0);
        law_eq!(bus.booked.reads.head(), id, "law: booked reads end in the order of their requests");
        bus.booked.reads.advance(op.next);
        bus.begin(false, begun, now, last);
        self.count -= 1;
    }
}

/// Whether `op` is a read in the fast lane.
#[inline(always)]
fn is_lane_read(op: &Op) -> bool {
    op.lane && op.need == Need::Read
}

impl Kernel {
    /// Booked reads from `at` on wait for the end of the one before.
    fn move_bookings(&mut self, bus: usize, mut at: OpId, mut free: Nanos) {
        while at.is_some() {
            let op = &self.ops[at];
            let time = op.legs.get(1).map_or(Nanos::ZERO, |leg| leg.time);
            let (unit, ends) = (op.unit, op.bus_since.max(free) + time);
            if ends == self.timers.get(Timer::Array(unit)) {
                return;
            }
            self.timers.set(Timer::Array(unit), ends);
            free = ends;
            at = op.next;
        }
        self.buses[bus].booked.ends = free;
    }

    /// End of a booked read's transfer. If its event is being handled, that is now.
    fn booked_until(&self, now: Nanos, unit: UnitId) -> Nanos {
        let ends = self.timers.get(Timer::Array(unit));
        if ends == Nanos::NEVER { now } else { ends }
    }

    /// Whether a channel has booked reads.
    #[inline(always)]
    pub(super) fn has_bookings(&self, shared: &Shared, bus: usize) -> bool {
        shared.booked.count > 0 && !self.buses[bus].booked.reads.is_empty()
    }

    /// Whether every event is the end of a booked read: each is of a die that is held, if only reads have been submitted.
    #[inline(always)]
    pub(super) fn all_booked(&self, shared: &Shared) -> bool {
        self.dies.held.busy() == u64::from(shared.booked.count) && self.timers.next_chain() == Nanos::NEVER
    }

    /// The same for a read that requests the channel before others that are booked already.
    #[inline(never)]
    fn book_before(&mut self, now: Nanos, id: OpId, bus: usize, transfer: Nanos) {
        let op = &self.ops[id];
        let (unit, turn) = (op.unit, (op.bus_since, op.age));
        let state = &mut self.buses[bus];
        state.booked.reads.insert_before(&mut self.ops, id, |other| (other.bus_since, other.age) > turn);
        let (mut free, mut at) = (state.until, state.booked.reads.head());
        while at != id {
            free = self.booked_until(now, self.ops[at].unit);
            at = self.ops[at].next;
        }
        let ends = turn.0.max(free) + transfer;
        self.timers.set(Timer::Array(unit), ends);
        self.move_bookings(bus, self.ops[id].next, ends);
    }

    /// Undoes the bookings of a channel: its reads are in the array, wait for the channel or use it. If this is not `within` a
    /// round, an array time that ends now still has its event.
    #[inline(never)]
    fn unbook(&mut self, shared: &mut Shared, stats: &Stats, now: Nanos, bus: usize, within: bool) {
        let granted = self.granted_at == now;
        let mut next = std::mem::replace(&mut self.buses[bus].booked.reads, Fifo::EMPTY).head();
        let first = next;
        while next.is_some() {
            let id = next;
            let op = &self.ops[id];
            next = op.next;
            let (unit, asks, age) = (op.unit, op.bus_since, op.age);
            let time = op.legs.get(1).map_or(Nanos::ZERO, |leg| leg.time);
            let ends = self.timers.get(Timer::Array(unit));
            if ends <= now || ends == Nanos::NEVER {
                // Its event is being handled or comes next: it stays booked.
                law_eq!(id, first, "law: one transfer at a time");
                let booked = &mut self.buses[bus].booked;
                (booked.asks, booked.age, booked.ends) = (asks, age, now);
                booked.reads.push(&mut self.ops, id);
                continue;
            }
            let begins = Nanos(ends.0 - time.0);
            shared.booked.count -= 1;
            if begins < now || begins == now && granted {
                self.timers.clear(Timer::Array(unit));
                self.ops[id].leg = 1;
                let state = &mut self.buses[bus];
                state.begin(false, begins, ends, stats.last_completion);
                state.holder = id;
                self.timers.set(Timer::Bus(bus), ends);
                let blame = &mut self.ops[Page(id)].blame;
                blame.add(Cause::BusHost, (begins - asks).0);
                blame.add(Cause::Bus, time.0);
            } else if asks < now || asks == now && (within || granted) {
                self.timers.clear(Timer::Array(unit));
                let ledger = self.buses[bus].gc(now);
                let op = &mut self.ops[id];
                op.leg = 1;
                op.bus_ledger = ledger;
                op.asked = asks;
                op.turn = age;
                let queue = &mut self.buses[bus].queue;
                queue.push(&mut self.ops, id);
                self.buses.mark(bus);
            } else {
                self.ops[id].leg = 0;
                self.timers.set(Timer::Array(unit), asks);
            }
        }
    }

    /// Undoes all bookings between two rounds.
    pub(super) fn unbook_all(&mut self, shared: &mut Shared, stats: &Stats, now: Nanos) {
        if shared.booked.count == 0 {
            return;
        }
        for bus in 0..self.buses.all.len() {
            if self.has_bookings(shared, bus) {
                self.unbook(shared, stats, now, bus, false);
            }
        }
    }

    /// An operation requests a bus: undoes its bookings, and books no more for a while unless the operation is a read in the lane.
    #[inline(always)]
    pub(super) fn meet_bookings(
        &mut self,
        shared: &mut Shared,
        fast: &FastPaths,
        stats: &Stats,
        now: Nanos,
        id: OpId,
        bus: usize,
    ) {
        if fast.books {
            if !is_lane_read(&self.ops[id]) {
                self.buses[bus].calm = 0;
            }
            if self.has_bookings(shared, bus) {
                self.unbook(shared, stats, now, bus, true);
            }
        }
    }

    /// Books a channel for a read that will request it at a given time and has an age.
    #[inline(always)]
    fn book_at(
        &mut self,
        shared: &mut Shared,
        now: Nanos,
        (id, unit): (OpId, UnitId),
        bus: usize,
        turn: (Nanos, u64),
        transfer: Nanos,
    ) -> bool {
        let passages = shared.has_passages(bus);
        let state = &mut self.buses[bus];
        let known = if state.holder.is_none() { state.until <= now } else { is_lane_read(&self.ops[state.holder]) };
        if !known || transfer == Nanos::ZERO || !state.queue.is_empty() || passages {
            return false;
        }
        shared.booked.count += 1;
        let op = &mut self.ops[id];
        op.leg = BOOKED;
        op.bus_since = turn.0;
        let booked = &mut state.booked;
        let free = if booked.reads.is_empty() {
            state.until
        } else if (booked.asks, booked.age) < turn {
            booked.ends
        } else {
            self.book_before(now, id, bus, transfer);
            return true;
        };
        let ends = turn.0.max(free) + transfer;
        (booked.asks, booked.age, booked.ends) = (turn.0, turn.1, ends);
        booked.reads.push(&mut self.ops, id);
        self.timers.begin(Timer::Array(unit), ends);
        true
    }

    /// A read's array time begins on its die: books its channel for its transfer, if only reads use that. `turn`: time of its
    /// request, and its age. Returns whether it did.
    #[inline(always)]
    pub(super) fn book(
        &mut self,
        shared: &mut Shared,
        now: Nanos,
        (id, unit): (OpId, UnitId),
        bus: usize,
        turn: (Nanos, u64),
        transfer: Nanos,
    ) -> bool {
        let state = &mut self.buses[bus];
        if state.calm < CALM {
            state.calm += 1;
            return false;
        }
        self.book_at(shared, now, (id, unit), bus, turn, transfer)
    }

    /// A read's array time has ended: the same. Otherwise it requests the channel as any operation does.
    #[inline(always)]
    pub(super) fn book_now(&mut self, shared: &mut Shared, books: bool, now: Nanos, id: OpId, unit: UnitId) -> bool {
        let op = &self.ops[id];
        let (bus, turn) = (op.channel.ix(), (now, op.age));
        books
            && self.buses[bus].calm == CALM
            && op.legs.get(1).is_some_and(|leg| self.book_at(shared, now, (id, unit), bus, turn, leg.time))
    }
}
