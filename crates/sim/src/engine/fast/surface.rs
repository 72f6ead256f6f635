//! What shortcuts have to give way to: each thing that can show what a shared event hides has one function here.
//!
//! The spine and the features say what happens on the device; which shortcuts that concerns is decided here. All other functions by
//! which shortcuts meet, dissolve or catch up with something are private to this folder.

use crate::device::mapping::Location;
use crate::engine::fast::FUSED;
use crate::engine::kernel::buses::Bus;
use crate::engine::kernel::dies::Unit;
use crate::engine::kernel::ops::Page;
use crate::engine::{Nanos, Ssd};
use crate::units::{Lpn, OpId, PlaneId, UnitId};

/// Buses.
impl Ssd {
    /// An operation requests a bus. It is granted when all other events of this moment are known.
    #[inline]
    pub(in crate::engine) fn ask(&mut self, id: OpId, bus: usize) {
        self.approach(id, bus);
        self.join_bus(id, bus);
    }

    /// An operation requests a bus ahead of those that wait for it, because the command that it belongs to requested it at `asked`.
    pub(in crate::engine) fn ask_first(&mut self, id: OpId, bus: usize, asked: Nanos) {
        self.approach(id, bus);
        let (now, bus_ledger) = (self.now, self.kernel.buses[bus].gc(self.now));
        let op = &mut self.kernel.ops[id];
        (op.bus_since, op.bus_ledger, op.asked, op.turn) = (now, bus_ledger, asked, op.age);
        if self.rules.tenants {
            self.shares_at_bus(id, bus);
        }
        self.kernel.buses[bus].queue.insert_before(&mut self.kernel.ops, id, |_| true);
        self.kernel.buses.mark(bus);
    }

    /// An operation is about to request a bus, before it looks at the bus or its queue.
    #[inline(always)]
    pub(in crate::engine::fast) fn approach(&mut self, id: OpId, bus: usize) {
        self.meet_bookings(id, bus);
        self.meet_chains(bus);
        if self.kernel.buses[bus].fused.is_some() {
            self.disturb(bus);
        }
    }

    /// A bus, with all transfers that have begun.
    #[inline(always)]
    pub(in crate::engine) fn bus_now(&mut self, bus: usize) -> &mut Bus {
        self.catch_up(bus, self.now);
        &mut self.kernel.buses[bus]
    }

    /// A transfer has begun: the bus is in use until then.
    #[inline(always)]
    pub(in crate::engine) fn transfer_begins(&mut self, bus: usize, until: Nanos) {
        self.clear_way(bus, self.now, until);
    }

    /// Power is cut, and bookings have been undone. Only a read whose transfer ends now is still booked: its channel was in use.
    pub(in crate::engine) fn cut_transfers(&mut self) {
        for bus in 0..self.kernel.buses.all.len() {
            let id = self.kernel.buses[bus].booked.reads.pop(&self.kernel.ops);
            if id.is_some() {
                let time = self.kernel.ops[id].legs.get(1).map_or(Nanos::ZERO, |leg| leg.time);
                let begins = Nanos(self.now.0 - time.0);
                self.kernel.buses[bus].begin(false, begins, self.now, self.stats.last_completion);
            }
            law!(self.kernel.buses[bus].booked.reads.is_empty(), "one transfer at a time");
        }
        self.shared.booked.count = 0;
    }
}

/// Dies.
impl Ssd {
    /// Adds an operation to a unit's queue, at its end or by its age.
    #[inline(always)]
    pub(in crate::engine) fn enqueue(&mut self, op: OpId, plane: PlaneId, by_age: bool) {
        if self.fast.turns {
            let unit = self.dev.geometry.unit_of(plane);
            if by_age {
                self.touch_unit(unit);
            } else {
                self.joins_turns(unit);
            }
        }
        self.join_die(op, plane, by_age);
    }

    /// An operation starts to wait for a unit whose collection checks for waiting operations between two steps.
    #[inline]
    pub(in crate::engine) fn unit_is_awaited(&mut self, unit: UnitId) {
        if self.fast.joint {
            // Its collector does not look.
            return;
        }
        self.touch_unit(unit);
        let id = self.kernel.dies[unit].array();
        if id.is_none() || self.kernel.ops[id].leg != FUSED {
            return;
        }
        let bus = self.kernel.ops[id].channel.ix();
        let state = &self.kernel.buses[bus];
        let before = self.now < state.half || (self.now == state.half && self.kernel.decided_at != self.now);
        if state.fused == id && before {
            self.disturb(bus);
        }
    }

    /// A write that any die may serve waits for one. Idle dies are searched when all events of this moment are known.
    #[inline(always)]
    pub(in crate::engine) fn await_any_unit(&mut self, op: OpId) {
        self.waits_anywhere(op);
        self.host.anywhere.push(&mut self.kernel.ops, op);
        self.disturb_collections();
    }

    /// A write for any die starts to wait. Collections that check for waiting operations may have to pause.
    #[inline]
    fn disturb_collections(&mut self) {
        if self.rules.yields && self.rules.preempts && self.fast.moves {
            (0..self.kernel.dies.units.len() as u32).for_each(|unit| self.unit_is_awaited(UnitId(unit)));
        }
    }

    /// A page is about to be put on flash in no time.
    #[inline(always)]
    pub(in crate::engine) fn plane_changes(&mut self, plane: PlaneId) {
        self.touch_unit(self.dev.geometry.unit_of(plane));
    }
}

/// Pages.
impl Ssd {
    /// The newest version of a logical page is about to become stale, before the map is asked where it is: its collection must not
    /// be ahead of its events.
    #[inline(always)]
    pub(in crate::engine) fn becomes_stale(&mut self, lpn: Lpn) {
        if self.shared.chains.exist() {
            match self.dev.map.get(lpn) {
                Location::Flash(page) => self.touch_page(page),
                Location::Staged(write) => self.old_becomes_stale(write),
                Location::Nowhere => {}
            }
        }
    }

    /// The old page of a write is about to become stale.
    #[inline(always)]
    pub(in crate::engine) fn old_becomes_stale(&mut self, op: OpId) {
        self.touch_page(self.kernel.ops[Page(op)].old);
    }
}

/// Time.
impl Ssd {
    /// Something happens at `time`, which comes next.
    #[inline(always)]
    pub(in crate::engine) fn time_comes(&mut self, time: Nanos) {
        self.meet_turns(time, None);
    }

    /// The device is looked at, copied or changed from outside between two rounds: every operation is in the state that it would
    /// have with an event for each leg.
    pub(in crate::engine) fn bring_to_now(&mut self) {
        self.unbook_all();
        self.dissolve_all();
        self.show_transfers();
        if !std::mem::take(&mut self.kernel.fused) {
            return;
        }
        for bus in 0..self.kernel.buses.all.len() {
            if self.kernel.buses[bus].fused.is_some() {
                self.disturb(bus);
            }
        }
        for unit in 0..self.kernel.dies.units.len() {
            let id = self.kernel.dies.units[unit].array();
            if id.is_some() && self.kernel.ops[id].leg == FUSED {
                self.page_is_back(id);
            }
        }
    }

    /// The same after the ends of this moment: needed before counters restart.
    pub(in crate::engine) fn bring_past_ends(&mut self) {
        self.bring_to_now();
        self.completions();
    }

    /// The same where other rules follow, by which the end of any transfer may concern anything.
    pub(in crate::engine) fn bring_to_other_rules(&mut self) {
        self.bring_to_now();
        self.part_all_transfers();
    }

    /// Every transfer that is in progress ends in an event of its own, where something may look at it.
    pub(in crate::engine) fn show_transfers(&mut self) {
        if !self.fast.legs {
            self.part_all_transfers();
        }
    }

    /// Programs of GC that have begun in shared events, and are not counted yet. Chains of joint collections, whose moves only the
    /// collector knows, are dissolved.
    #[cold]
    pub(in crate::engine) fn uncounted_programs(&mut self) -> u64 {
        if self.fast.joint {
            self.bring_past_ends();
        }
        let decided = self.kernel.decided_at == self.now;
        let fused = self.kernel.dies.units.iter().map(Unit::array).filter(|id| id.is_some()).filter(|id| {
            let op = &self.kernel.ops[*id];
            let state = &self.kernel.buses[op.channel.ix()];
            let turned = self.now > state.half || self.now == state.half && decided;
            op.leg == FUSED && (state.fused != *id || turned)
        });
        fused.count() as u64 + self.kernel.uncounted_of_chains(&self.shared, self.now)
    }
}
