//! What shortcuts have to give way to: each thing that can show what a shared event hides has one function here.
//!
//! The spine and the features say what happens on the device; which shortcuts that concerns is decided here. All other functions by
//! which shortcuts meet, dissolve or catch up with something are private to this folder.

use crate::device::mapping::Location;
use crate::engine::fast::{FUSED, FastPaths, Shared};
use crate::engine::kernel::Kernel;
use crate::engine::kernel::buses::Bus;
use crate::engine::kernel::dies::Unit;
use crate::engine::kernel::ops::Page;
use crate::engine::rules::Rules;
use crate::engine::{Device, Host, Nanos, Ssd};
use crate::request::RequestOp;
use crate::stats::Stats;
use crate::units::{Lpn, OpId, PlaneId, Ppn, UnitId};

/// Commands.
impl FastPaths {
    /// Whether the lane may take pages of a request, which is measured or not: one of `several`, or the only one. Commands that carry
    /// several pages of a request are not for it.
    #[inline(always)]
    pub(in crate::engine) fn takes_pages(&self, rules: &Rules, measured: bool, several: bool) -> bool {
        self.lane && measured && !(several && rules.pairs)
    }

    /// Whether pages that are admitted now begin now where they find their dies free: nothing else that begins in this round could take
    /// a page of theirs or a die.
    #[inline(always)]
    pub(in crate::engine) fn starts_pages(&self, host: &Host, kernel: &Kernel) -> bool {
        let alone = host.only(RequestOp::Read) || self.starts && host.only(RequestOp::Write);
        self.quiet && alone && !kernel.dies.starts_early()
    }
}

/// Transfers.
impl Kernel {
    /// A bus, with all transfers that have begun.
    #[inline(always)]
    pub(in crate::engine) fn bus_now(
        &mut self,
        shared: &mut Shared,
        stats: &Stats,
        now: Nanos,
        bus: usize,
    ) -> &mut Bus {
        self.catch_up(shared, stats, bus, now);
        &mut self.buses[bus]
    }

    /// Power is cut, and bookings have been undone. Only a read whose transfer ends now is still booked: its channel was in use.
    pub(in crate::engine) fn cut_transfers(&mut self, shared: &mut Shared, stats: &Stats, now: Nanos) {
        for bus in 0..self.buses.all.len() {
            let id = self.buses[bus].booked.reads.pop(&self.ops);
            if id.is_some() {
                let time = self.ops[id].legs.get(1).map_or(Nanos::ZERO, |leg| leg.time);
                let begins = Nanos(now.0 - time.0);
                self.buses[bus].begin(false, begins, now, stats.last_completion);
            }
            law!(self.buses[bus].booked.reads.is_empty(), "one transfer at a time");
        }
        shared.booked.count = 0;
    }

    /// Every transfer that is in progress ends in an event of its own, where something may look at it.
    pub(in crate::engine) fn show_transfers(&mut self, dev: &Device, fast: &FastPaths, now: Nanos) {
        if !fast.legs {
            self.part_all_transfers(dev, fast, now);
        }
    }

    /// The same where other rules follow, by which the end of any transfer may concern anything.
    pub(in crate::engine) fn show_all_transfers(&mut self, dev: &Device, fast: &FastPaths, now: Nanos) {
        self.part_all_transfers(dev, fast, now);
    }
}

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
        self.kernel.shares_at_bus(&self.features, &self.rules, now, id, bus);
        self.kernel.buses[bus].queue.insert_before(&mut self.kernel.ops, id, |_| true);
        self.kernel.buses.mark(bus);
    }

    /// An operation is about to request a bus, before it looks at the bus or its queue.
    #[inline(always)]
    pub(in crate::engine::fast) fn approach(&mut self, id: OpId, bus: usize) {
        self.kernel.meet_bookings(&mut self.shared, &self.fast, &self.stats, self.now, id, bus);
        if self.shared.chains.cross() {
            self.meet_chains_of(bus);
        }
        if self.kernel.buses[bus].fused.is_some() {
            self.disturb(bus);
        }
    }

    /// A transfer begins: the bus is taken from `from` to `until`. Dissolves chains whose pages would be on it.
    #[inline(always)]
    pub(in crate::engine) fn transfer_begins(&mut self, bus: usize, from: Nanos, until: Nanos) {
        if self.shared.chains.cross() && self.shared.chains.next_at(bus) < until {
            while let Some(unit) = self.shared.next_passage(bus, from, until) {
                self.dissolve(unit, self.now, false);
            }
        }
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
                self.unit_changes(unit);
            } else {
                self.joins_turns(unit);
            }
        }
        self.kernel.ops[op].plane = plane;
        self.kernel.join_die(&self.dev, &mut self.features, &self.rules, self.now, op, by_age);
        if self.rules.heeds {
            self.unit_is_awaited(self.kernel.ops[op].unit);
            self.features.note_awaited(&self.kernel, &self.rules, self.now, op);
        }
    }

    /// An operation starts to wait for a unit whose collection checks for waiting operations between two steps.
    #[inline]
    pub(in crate::engine) fn unit_is_awaited(&mut self, unit: UnitId) {
        if self.fast.joint {
            // Its collector does not look.
            return;
        }
        self.unit_changes(unit);
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
        self.kernel.waits_anywhere(&self.features, &self.rules, self.now, op);
        self.host.anywhere.push(&mut self.kernel.ops, op);
        if self.rules.yields && self.rules.preempts && self.fast.moves {
            // Collections that check for waiting operations may have to pause.
            (0..self.kernel.dies.units.len() as u32).for_each(|unit| self.unit_is_awaited(UnitId(unit)));
        }
    }

    /// An operation is about to wait for a unit, or a page to be put there in no time: dissolves the chain of the unit, if it has one.
    #[inline(always)]
    pub(in crate::engine) fn unit_changes(&mut self, unit: UnitId) {
        if self.shared.chains.count > 0 && self.shared.chains.of_unit[unit.ix()].op.is_some() {
            self.dissolve(unit, self.now, true);
        }
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
                Location::Flash(page) => self.page_becomes_stale(page),
                Location::Staged(write) => self.page_becomes_stale(self.kernel.ops[Page(write)].old),
                Location::Nowhere => {}
            }
        }
    }

    /// A page is about to become stale, if there is one, such as the old page of a write: dissolves the chain of its block, if it has one.
    #[inline(always)]
    pub(in crate::engine) fn page_becomes_stale(&mut self, page: Ppn) {
        // A closed block is no victim.
        if self.shared.chains.count > 0
            && page.is_some()
            && !self.dev.flash.is_closed(self.dev.geometry.block_of(page))
            && let Some((unit, has_ended)) = self.gc.chain_of_page(&self.kernel, &self.dev, &self.shared, page)
        {
            self.dissolve(unit, self.now, has_ended);
        }
    }
}

/// Time.
impl Ssd {
    /// Something happens at `time`, which comes next, on one channel or on any of them: dissolves the chains of turns there of which
    /// a leg ends then. (If it is one channel, the end of the leg must concern it.)
    #[inline(always)]
    pub(in crate::engine) fn time_comes(&mut self, time: Nanos, bus: Option<usize>) {
        if self.shared.chains.count > 0 && self.fast.turns {
            self.dissolve_met_turns(time, bus);
        }
    }

    /// The device is looked at, copied or changed from outside between two rounds: every operation is in the state that it would
    /// have with an event for each leg.
    pub(in crate::engine) fn bring_to_now(&mut self) {
        self.kernel.unbook_all(&mut self.shared, &self.stats, self.now);
        if self.shared.chains.count > 0 {
            for unit in 0..self.shared.chains.of_unit.len() {
                if self.shared.chains.of_unit[unit].op.is_some() {
                    self.dissolve(UnitId(unit as u32), self.now, false);
                }
            }
        }
        self.kernel.show_transfers(&self.dev, &self.fast, self.now);
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

    /// Programs of GC that have begun in shared events, and are not counted yet. Chains of joint collections, whose moves only the
    /// collector knows, are dissolved.
    #[cold]
    pub(in crate::engine) fn uncounted_programs(&mut self) -> u64 {
        if self.fast.joint {
            self.bring_to_now();
            self.completions();
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
