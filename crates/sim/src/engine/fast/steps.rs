//! Queued steps without rounds: on devices where moves are plain, a step that ends alone hands its die to the next in line here.
//!
//! It reads as [`Ssd::gc_step_ends`], the collector's next step, [`Ssd::enqueue`], [`Ssd::kick`] and [`Ssd::begin_step`], without
//! what cannot happen here. Whatever else is next in line begins as everywhere. Results are the same to the last byte with and
//! without ([`Ssd::set_fusing`]).

use crate::device::flash::Stream;
use crate::device::transaction::{Class, Verb};
use crate::engine::Ssd;
use crate::engine::kernel::timers::Timer;
use crate::policy::{Journey, PageSet};
use crate::units::{Nanos, OpId, UnitId};

impl Ssd {
    /// The page that a queued step reads has crossed the bus: its program queues. Returns whether that is what has ended.
    #[inline(never)]
    pub(in crate::engine) fn express_fetched(&mut self, bus: usize, time: Nanos) -> bool {
        let state = &mut self.kernel.buses[bus];
        let id = state.holder;
        if id.is_none() || self.kernel.ops[id].class != Class::Gc {
            return false;
        }
        self.now = time;
        (state.holder, state.awaited) = (OpId::NONE, false);
        self.kernel.timers.clear(Timer::Bus(bus));
        self.mark_bus(bus);
        self.count_step_time(id);
        self.end_read_step(id);
        self.kernel.ops[id].verb = Verb::Program;
        self.pass_on(id);
        true
    }

    /// A queued step has programmed its page: the read of its collection's next page queues, if there is one. Returns whether.
    #[inline(never)]
    pub(in crate::engine) fn express_placed(&mut self, id: OpId, time: Nanos) -> bool {
        let op = &self.kernel.ops[id];
        let (job, from, to, tag, unit, program) =
            (op.job, op.from[0], op.pages[0], self.kernel.ops.tags[id][0], op.unit, op.verb == Verb::Program);
        let view = self.dev.view(time);
        let Some(page) = self.gc.jobs[job.0].job.next_valid(&view, 0) else { return false };
        self.now = time;
        self.kernel.timers.clear(Timer::Array(unit));
        self.count_step_time(id);
        if program {
            self.gc.jobs[job.0].job.hand = PageSet::EMPTY;
        } else {
            self.end_reads(id);
        }
        self.land_moved(from, to, tag, program);
        self.stats.sort_lone(1);
        let op = &mut self.kernel.ops[id];
        (op.verb, op.pages) = (Verb::Read, PageSet::one(page));
        self.pass_on(id);
        true
    }

    /// A step joins its die's queue, where a step has just ended, and the first in line begins.
    #[inline(always)]
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
        if !self.settled() {
            self.round(self.now);
        }
    }

    /// If the first in line for a die that a step has left is a step of a plain move, it begins. Returns whether it does.
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
        let transfer = self.dev.timing.transfer(self.dev.geometry.page_size);
        self.kernel.ops[id].leg = 0;
        if verb == Verb::Program {
            let to = self.gc_page(plane, Stream::Gc, false);
            self.stats.count_programs(Class::Gc, 1);
            let op = &mut self.kernel.ops[id];
            op.pages = PageSet::one(to);
            op.legs = self.dev.timing.program(self.dev.geometry.offset(to), transfer);
            let bus = op.channel.ix();
            self.ask(id, bus);
            return true;
        }
        let page = self.kernel.ops[id].pages[0];
        let (block, offset) = (self.dev.geometry.block_of(page), self.dev.geometry.offset(page));
        self.dev.flash.read_begins(block);
        self.kernel.ops.tags[id][0] = self.oracle.load(page, self.dev.flash.lpn_of(page));
        let op = &mut self.kernel.ops[id];
        op.from = op.pages;
        let time = if self.rules.plain_moves == Some(Journey::COPYBACK) {
            let to = self.gc_page(plane, Stream::Gc, true);
            let (legs, read, program) = self.dev.timing.copyback(&[offset], &[self.dev.geometry.offset(to)]);
            self.stats.count_copybacks(1);
            self.stats.gc_time.read += read.0;
            self.stats.gc_time.program += program.0;
            let op = &mut self.kernel.ops[id];
            (op.verb, op.pages, op.legs) = (Verb::Copyback, PageSet::one(to), legs);
            read + program
        } else {
            self.stats.count_reads(Class::Gc, 1);
            op.legs = self.dev.timing.read_one(offset, transfer);
            op.legs.get(0).map_or(Nanos::ZERO, |leg| leg.time)
        };
        self.kernel.timers.set(Timer::Array(unit), now + time);
        true
    }
}
