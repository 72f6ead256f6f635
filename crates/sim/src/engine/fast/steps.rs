//! Queued GC steps without rounds: on devices with plain moves, a step that ends alone, or at one time with other steps, starts the
//! next operation of its die here.
//!
//! Equals [`Ssd::gc_step_ends`], the collector's next step, [`Ssd::enqueue`], [`Ssd::kick`] and [`Ssd::begin_step`], without
//! cases that cannot occur here. Any other operation in the queue begins on the general path. Results are identical to the last
//! byte with and without ([`Ssd::set_fusing`]).

use crate::device::transaction::{Class, Verb};
use crate::engine::kernel::Kernel;
use crate::engine::kernel::dies::Suspension;
use crate::engine::kernel::ops::Page;
use crate::engine::kernel::timers::Timer;
use crate::engine::{Device, Gc, Ssd};
use crate::policy::{Journey, PageSet};
use crate::stats::Stats;
use crate::units::{Nanos, OpId, PlaneId, Ppn, Tag, UnitId};

impl Kernel {
    /// Whether a transfer is the read-out of a queued step's page.
    #[inline(always)]
    fn is_read_out(&self, id: OpId) -> bool {
        let op = &self.ops[id];
        op.class == Class::Gc && op.verb == Verb::Read && op.leg + 1 == op.legs.len()
    }

    /// A bus is free on which others wait.
    #[inline(always)]
    pub(super) fn wake_bus(&mut self, bus: usize) {
        self.buses[bus].awaited = false;
        self.buses.mark(bus);
    }

    /// The page of a queued step is in its register. Returns the bus that it requests now.
    #[inline(always)]
    fn step_asks(&mut self, id: OpId) -> usize {
        let op = &mut self.ops[id];
        op.leg += 1;
        op.channel.ix()
    }

    /// Queues a step on its die, where a step has just ended. Returns the die and its plane.
    #[inline(always)]
    fn queue_step(&mut self, id: OpId) -> (UnitId, PlaneId) {
        let op = &self.ops[id];
        let (unit, plane) = (op.unit, op.plane);
        let state = &mut self.dies[unit];
        state.vacate();
        state.queue.push(&mut self.ops, id);
        (unit, plane)
    }

    /// The page of a queued step has reached the controller: its program is queued.
    #[inline(always)]
    fn step_fetched(&mut self, dev: &mut Device, gc: &mut Gc, stats: &mut Stats, bus: usize) -> OpId {
        let state = &mut self.buses[bus];
        let id = std::mem::replace(&mut state.holder, OpId::NONE);
        state.awaited = false;
        self.buses.mark(bus);
        self.count_time(stats, id);
        gc.end_read_step(self, dev, id);
        self.ops[id].verb = Verb::Program;
        id
    }

    /// The next step of a queued collection reads this page.
    #[inline(always)]
    fn read_next(&mut self, id: OpId, next: Ppn) {
        let op = &mut self.ops[id];
        op.verb = Verb::Read;
        op.pages = PageSet::one(next);
    }
}

impl Gc {
    /// Whether the array event of a unit ends that of a queued step that is followed by another leg or step.
    #[inline(always)]
    fn goes_on(&mut self, kernel: &Kernel, dev: &Device, unit: UnitId, time: Nanos) -> bool {
        let (id, suspension) = (kernel.dies[unit].array(), kernel.dies[unit].suspension());
        if id.is_none() || kernel.ops[id].class != Class::Gc || suspension != Suspension::No {
            return false;
        }
        match kernel.ops[id].verb {
            Verb::Read => kernel.ops[id].leg + 2 == kernel.ops[id].legs.len(),
            Verb::Program | Verb::Copyback => {
                let view = dev.view(time);
                self.jobs[kernel.ops[id].job.0].job.peek_valid(&view, 0).is_some()
            }
            Verb::Erase => false,
        }
    }

    /// Lists the next events. Returns whether all are for [`Ssd::express_steps`].
    fn are_steps(&mut self, kernel: &mut Kernel, dev: &Device, time: Nanos) -> bool {
        kernel.batch.clear();
        kernel.timers.each(&mut kernel.batch);
        (0..kernel.batch.len()).all(|i| match kernel.timers.timer(kernel.batch[i] as u32) {
            Timer::Bus(bus) => {
                let id = kernel.buses[bus].holder;
                id.is_none() || kernel.is_read_out(id)
            }
            Timer::Array(unit) => self.goes_on(kernel, dev, unit, time),
            _ => false,
        })
    }

    /// A queued step has programmed its page. Returns the page that lands: from where it has moved, to where, what it holds, and whether
    /// it was programmed from the controller.
    #[inline(always)]
    fn step_placed(&mut self, kernel: &Kernel, dev: &mut Device, stats: &mut Stats, id: OpId) -> (Ppn, Ppn, Tag, bool) {
        let op = &kernel.ops[id];
        let (job, from, to, tag, program) =
            (op.job, op.from[0], op.pages[0], kernel.ops[Page(id)].tags[0], op.verb == Verb::Program);
        kernel.count_time(stats, id);
        if program {
            self.jobs[job.0].job.hand = PageSet::EMPTY;
        } else {
            dev.end_reads(kernel, id);
        }
        (from, to, tag, program)
    }
}

impl Ssd {
    /// The event of a bus is that it is free, or ends the transfer of a queued step's page. Then the page's program is queued. Returns
    /// whether it is one of these.
    #[inline(never)]
    pub(super) fn express_bus_of_steps(&mut self, bus: usize, time: Nanos) -> bool {
        let id = self.kernel.buses[bus].holder;
        if id.is_some() && !self.kernel.is_read_out(id) || self.features.lines_undecided(&self.rules) {
            return false;
        }
        self.now = time;
        self.kernel.timers.pop();
        if id.is_some() {
            self.kernel.step_fetched(&mut self.dev, &mut self.gc, &mut self.stats, bus);
            self.pass_on(id);
        } else {
            self.kernel.wake_bus(bus);
        }
        if !self.kernel.buses.dirty.is_empty() {
            self.grant_buses();
        }
        self.leave_time();
        true
    }

    /// The array of a die is done, on a device that serves its host otherwise. If a queued step is in it that is followed by another
    /// leg or step, carries it out. Returns whether it did.
    #[inline(never)]
    pub(super) fn express_array_of_steps(&mut self, unit: UnitId, time: Nanos) -> bool {
        let id = self.kernel.dies[unit].array();
        if !self.fast.steps
            || !self.kernel.timers.alone()
            || !self.gc.goes_on(&self.kernel, &self.dev, unit, time)
            || self.features.lines_undecided(&self.rules)
        {
            return false;
        }
        match self.kernel.ops[id].verb {
            Verb::Read => self.express_waits(id, time),
            _ => self.express_placed(id, time),
        }
    }

    /// The array read of a queued step has ended, and its bus is busy: the page waits for it.
    #[inline(never)]
    pub(super) fn express_waits(&mut self, id: OpId, time: Nanos) -> bool {
        self.now = time;
        self.kernel.timers.pop();
        let bus = self.kernel.step_asks(id);
        self.ask(id, bus);
        if !self.kernel.buses.dirty.is_empty() {
            self.grant_buses();
        }
        self.leave_time();
        true
    }

    /// If a queued step has programmed its page, queues the read of its collection's next page, if there is one. Returns whether
    /// it did.
    #[inline(never)]
    pub(super) fn express_placed(&mut self, id: OpId, time: Nanos) -> bool {
        let view = self.dev.view(time);
        let job = self.kernel.ops[id].job;
        let Some(page) = self.gc.jobs[job.0].job.next_valid(&view, 0) else { return false };
        self.now = time;
        self.kernel.timers.pop();
        let (from, to, tag, program) = self.gc.step_placed(&self.kernel, &mut self.dev, &mut self.stats, id);
        self.land_one(from, to, tag, program);
        self.kernel.read_next(id, page);
        self.pass_on(id);
        if !self.kernel.buses.dirty.is_empty() {
            self.grant_buses();
        }
        self.leave_time();
        true
    }

    /// Several events come next, and nothing else happens at their time. If all are legs of queued steps that are followed by
    /// others, or buses that are free, handles them here. Returns whether it did.
    #[inline(never)]
    pub(super) fn express_steps(&mut self, time: Nanos) -> bool {
        self.time_comes(time, None);
        if !self.gc.are_steps(&mut self.kernel, &self.dev, time) || self.features.lines_undecided(&self.rules) {
            return false;
        }
        self.now = time;
        self.kernel.batch.clear();
        self.kernel.timers.take_all(&mut self.kernel.batch);
        let count = self.kernel.batch.len();
        for i in 0..count {
            let ended = match self.kernel.timers.timer(self.kernel.batch[i] as u32) {
                Timer::Array(unit) => {
                    let id = self.kernel.dies[unit].array();
                    if self.kernel.ops[id].verb == Verb::Read {
                        let bus = self.kernel.step_asks(id);
                        self.ask(id, bus);
                        continue;
                    }
                    let view = self.dev.view(time);
                    let job = self.kernel.ops[id].job;
                    let page = self.gc.jobs[job.0].job.next_valid(&view, 0).expect("law: it goes on, as looked at");
                    let (from, to, tag, program) =
                        self.gc.step_placed(&self.kernel, &mut self.dev, &mut self.stats, id);
                    self.land_one(from, to, tag, program);
                    self.kernel.read_next(id, page);
                    id
                }
                Timer::Bus(bus) if self.kernel.buses[bus].holder.is_some() => {
                    self.kernel.step_fetched(&mut self.dev, &mut self.gc, &mut self.stats, bus)
                }
                Timer::Bus(bus) => {
                    self.kernel.wake_bus(bus);
                    continue;
                }
                _ => unreachable!("as looked at"),
            };
            let (unit, plane) = self.kernel.queue_step(ended);
            self.features.note_queue(&self.kernel, &self.rules, ended, unit, true);
            self.kernel.release_unit(&self.dev, self.now, unit, plane);
            self.kernel.dies.mark(unit);
        }
        self.dispatch();
        self.kernel.events_since_scan += count as u64 - 1;
        if !self.kernel.buses.dirty.is_empty() {
            self.grant_buses();
        }
        self.leave_time();
        true
    }

    /// Queues a step on its die, where a step has just ended, and starts the first operation of the queue.
    #[inline(never)]
    fn pass_on(&mut self, id: OpId) {
        let (unit, plane) = self.kernel.queue_step(id);
        self.features.note_queue(&self.kernel, &self.rules, id, unit, true);
        if !self.begin_plain_step(unit) {
            self.kernel.release_unit(&self.dev, self.now, unit, plane);
            self.kernel.dies.mark(unit);
            self.dispatch();
        }
    }

    /// If the first operation in the queue of a free die is a step of a plain move, starts it. Returns whether it did.
    #[inline(always)]
    fn begin_plain_step(&mut self, unit: UnitId) -> bool {
        let now = self.now;
        let id = self.kernel.dies[unit].queue.head();
        let op = &self.kernel.ops[id];
        if op.class != Class::Gc || self.rules.by_class && self.features.waiting(unit).any_read() {
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
        self.features.note_queue(&self.kernel, &self.rules, id, unit, false);
        self.kernel.dies.pass_to_gc(unit, id, 1 << k, now);
        self.features.note_burst(&self.kernel, &self.host, &self.rules, id, unit);
        if verb == Verb::Program {
            self.kernel.place_one(&mut self.dev, &mut self.stats, &self.rules, id, plane);
            self.ask(id, self.kernel.ops[id].channel.ix());
            return true;
        }
        let page = self.kernel.ops[id].pages[0];
        self.dev.flash.read_begins(self.dev.geometry.block_of(page));
        let time = if self.rules.plain_moves == Some(Journey::COPYBACK) {
            self.stats.count_copybacks(1);
            self.kernel.copy_one(&mut self.dev, &mut self.stats, &self.oracle, &self.rules, id, page)
        } else {
            self.stats.count_reads(Class::Gc, 1);
            self.kernel.fetch_one(&self.dev, &self.oracle, id, page)
        };
        if self.kernel.ops[id].legs.len() == 3 {
            self.ask(id, self.kernel.ops[id].channel.ix());
        } else if !(self.fast.turns
            && self.kernel.take_turns(&self.dev, &self.gc, &mut self.shared, &self.stats, self.now, (id, unit)))
        {
            self.kernel.timers.begin(Timer::Array(unit), now + time);
        }
        true
    }
}
