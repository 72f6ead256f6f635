//! Queued GC steps without rounds: on devices with plain moves, a step that ends alone starts the next operation of its die here.
//!
//! Equals [`Ssd::gc_step_ends`], the collector's next step, [`Ssd::enqueue`], [`Ssd::kick`] and [`Ssd::begin_step`], without
//! cases that cannot occur here. Any other operation in the queue begins on the general path. Results are identical to the last
//! byte with and without ([`Ssd::set_fusing`]).

use crate::device::transaction::{Class, Verb};
use crate::engine::Ssd;
use crate::engine::kernel::ops::Page;
use crate::engine::kernel::timers::Timer;
use crate::policy::{Journey, PageSet};
use crate::units::{Nanos, OpId, UnitId};

impl Ssd {
    /// If the event ends a queued step's page transfer, queues the program of the page. Returns whether it did.
    #[inline(always)]
    pub(in crate::engine) fn express_fetched(&mut self, bus: usize, time: Nanos) -> bool {
        let state = &mut self.kernel.buses[bus];
        let id = state.holder;
        if self.kernel.ops[id].class != Class::Gc {
            return false;
        }
        self.now = time;
        state.holder = OpId::NONE;
        state.awaited = false;
        self.kernel.timers.pop();
        self.mark_bus(bus);
        self.count_time(id);
        self.end_read_step(id);
        self.kernel.ops[id].verb = Verb::Program;
        self.pass_on(id);
        true
    }

    /// If a queued step has programmed its page, queues the read of its collection's next page, if there is one. Returns whether
    /// it did.
    #[inline(never)]
    pub(in crate::engine) fn express_placed(&mut self, id: OpId, time: Nanos) -> bool {
        let op = &self.kernel.ops[id];
        let (job, from, to, tag, program) =
            (op.job, op.from[0], op.pages[0], self.kernel.ops[Page(id)].tags[0], op.verb == Verb::Program);
        let view = self.dev.view(time);
        let Some(page) = self.gc.jobs[job.0].job.next_valid(&view, 0) else { return false };
        self.now = time;
        self.kernel.timers.pop();
        self.count_time(id);
        if program {
            self.gc.jobs[job.0].job.hand = PageSet::EMPTY;
        } else {
            self.end_reads(id);
        }
        self.land_one(from, to, tag, program);
        let op = &mut self.kernel.ops[id];
        op.verb = Verb::Read;
        op.pages = PageSet::one(page);
        self.pass_on(id);
        true
    }

    /// Queues a step on its die, where a step has just ended, and starts the first operation of the queue.
    #[inline(never)]
    fn pass_on(&mut self, id: OpId) {
        let op = &self.kernel.ops[id];
        let (unit, plane) = (op.unit, op.plane);
        let state = &mut self.kernel.dies[unit];
        state.vacate();
        state.queue.push(&mut self.kernel.ops, id);
        if !self.begin_plain_step(unit) {
            self.release_unit(unit, plane);
            self.mark_unit(unit);
            self.dispatch();
        }
        self.grant();
        self.leave_time();
    }

    /// If the first operation in the queue of a free die is a step of a plain move, starts it. Returns whether it did.
    #[inline(always)]
    fn begin_plain_step(&mut self, unit: UnitId) -> bool {
        let now = self.now;
        let id = self.kernel.dies[unit].queue.head();
        let op = &self.kernel.ops[id];
        if op.class != Class::Gc {
            return false;
        }
        let (plane, verb) = (op.plane, op.verb);
        let begins = match verb {
            Verb::Read => self.dev.flash.is_valid(op.pages[0]),
            _ => verb == Verb::Program,
        };
        if !begins {
            return false;
        }
        let k = self.dev.geometry.plane_in_unit(plane);
        self.kernel.dies[unit].queue.pop(&self.kernel.ops);
        self.kernel.dies.pass_to_gc(unit, id, 1 << k, now);
        if verb == Verb::Program {
            self.place_one(id, plane);
            self.ask(id, self.kernel.ops[id].channel.ix());
            return true;
        }
        let page = self.kernel.ops[id].pages[0];
        self.dev.flash.read_begins(self.dev.geometry.block_of(page));
        let time = if self.rules.plain_moves == Some(Journey::COPYBACK) {
            self.stats.count_copybacks(1);
            self.copy_one(id, page)
        } else {
            self.stats.count_reads(Class::Gc, 1);
            self.fetch_one(id, page)
        };
        if !(self.fast.turns && self.take_turns(id, unit)) {
            self.kernel.timers.begin(Timer::Array(unit), now + time);
        }
        true
    }
}
