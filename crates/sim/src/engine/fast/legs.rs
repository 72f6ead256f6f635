//! Fused legs: several legs that nothing can come between end in one event.
//!
//! Results are the same to the last byte with and without ([`Ssd::set_fusing`]); only the number of events differs.
//!
//! * A transfer into a die that is held, and the array after it: the bus is free again at a known time, which is an event
//!   only if somebody asks for the bus before.
//! * An event that is alone in its time, and after which only one thing can happen, skips the round that would find it out; so do
//!   several ends of plain moves on different dies.
//! * A page that a collection moves out to the controller and, its die being held, at once back in: if nobody asks for the
//!   bus before its way out has ended, nobody goes before its way back. Somebody who does undoes the fusing. Where the
//!   collector looks in between who waits for the die, so does somebody who comes to wait before that.

use crate::blame::Cause;
use crate::device::flash::Stream;
use crate::device::transaction::{Class, Verb};
use crate::engine::kernel::timers::Timer;
use crate::engine::{Nanos, Ssd};
use crate::policy::Journey;
use crate::units::{JobId, OpId, UnitId};

/// The leg of a move that reads out, comes back and programs as one.
pub(in crate::engine) const FUSED: u8 = u8::MAX;

impl Ssd {
    /// The page of a collection's read has been granted the bus on its way out: lets it come back in and be programmed without
    /// further events, if nobody waits for the bus and an open block has room. Returns whether it does.
    #[inline]
    pub(in crate::engine) fn fuse_move(&mut self, id: OpId, bus: usize) -> bool {
        let op = &self.kernel.ops[id];
        if op.verb != Verb::Read || op.class != Class::Gc || !self.kernel.buses[bus].queue.is_empty() {
            return false;
        }
        let (plane, unit) = (op.plane, op.unit);
        if self.dev.flash.room(plane, Stream::Gc) == 0 || !self.continues_alone(op.job, unit) {
            return false;
        }
        let Some(offset) = self.dev.flash.next_offset(plane, Stream::Gc) else { return false };
        let legs = self.dev.timing.program(offset, self.dev.timing.transfer(self.dev.geometry.page_size));
        let (Some(back), Some(array)) = (legs.get(0), legs.get(1)) else { return false };
        let state = &mut self.kernel.buses[bus];
        let half = state.until;
        (state.fused, state.half) = (id, half);
        state.prolong(half + back.time);
        self.kernel.timers.set(Timer::Array(unit), half + back.time + array.time);
        self.kernel.ops[id].leg = FUSED;
        true
    }

    /// Whether the collector of a job, if it looked now, would find nobody who waits, and so go on with a plain move.
    #[inline]
    fn continues_alone(&self, job: JobId, unit: UnitId) -> bool {
        if !self.rules.yields {
            return true;
        }
        let job = &self.gc.jobs[job.0].job;
        let mut planes = 0..self.dev.geometry.planes_per_unit;
        let stalled = |k| !self.gc.planes[self.dev.geometry.plane_of_unit(unit, k).ix()].stalled.is_empty();
        let wanted = !self.kernel.dies[unit].queue.is_empty()
            || self.rules.preempts && !self.host.anywhere.is_empty()
            || self.rules.stages && planes.any(stalled);
        !wanted && !job.contended && job.slots.is_none_or(|left| left == 0)
    }

    /// Somebody comes to wait for any die: collections that look who waits may have to make way.
    #[inline]
    pub(in crate::engine) fn disturb_collections(&mut self) {
        if self.rules.yields && self.rules.preempts && self.fast.moves {
            (0..self.kernel.dies.units.len() as u32).for_each(|unit| self.disturb_unit(UnitId(unit)));
        }
    }

    /// Somebody comes to wait for a unit whose collection looks between two steps who does.
    #[inline]
    pub(in crate::engine) fn disturb_unit(&mut self, unit: UnitId) {
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

    /// Somebody asks for a bus on which a fused move is under way: if the page has not begun its way back, it will have to ask
    /// for the bus like anybody else.
    #[cold]
    pub(in crate::engine) fn disturb(&mut self, bus: usize) {
        let state = &mut self.kernel.buses[bus];
        let id = std::mem::replace(&mut state.fused, OpId::NONE);
        // At the very moment it turns, it has asked for the bus before everybody who asks after the first grants.
        let turned = self.now > state.half || (self.now == state.half && self.kernel.granted_at == self.now);
        if turned || self.kernel.ops[id].leg != FUSED {
            return;
        }
        let half = state.half;
        state.prolong(half);
        self.kernel.timers.clear(Timer::Array(self.kernel.ops[id].unit));
        if self.now == half && self.kernel.decided_at == self.now {
            // Its collector has decided by now: its way back has begun.
            self.page_is_back(id);
            self.kernel.ops[id].leg = 0;
            return self.ask(id, bus);
        }
        self.kernel.buses[bus].holder = id;
        let op = &mut self.kernel.ops[id];
        op.leg = op.legs.len() - 1;
        self.kernel.timers.set(Timer::Bus(bus), half);
    }

    /// A fused move has ended.
    pub(in crate::engine) fn fused_move_ends(&mut self, id: OpId) {
        self.page_is_back(id);
        self.gc_step_ends(id);
    }

    /// What happened when the way out of a fused move had ended and its way back began: from then on it is a program.
    fn page_is_back(&mut self, id: OpId) {
        self.count_time(id);
        self.end_read_step(id);
        let job = self.kernel.ops[id].job;
        self.begin_place(job);
        self.kernel.ops[id].verb = Verb::Program;
        self.kernel.ops[id].leg = self.kernel.ops[id].legs.len() - 1;
    }

    /// Nothing happens at the next event's time but events. If it is alone and the end of an array read for the host or a
    /// collection, or if all are legs of plain moves, they are handled here, as the round would handle them. Returns whether they
    /// were.
    #[inline]
    pub(in crate::engine) fn express(&mut self, time: Nanos) -> bool {
        let unit = match self.kernel.timers.first() {
            Timer::Array(unit) => unit,
            Timer::Bus(bus) => return self.fast.steps && self.kernel.timers.alone() && self.express_fetched(bus, time),
            _ => return false,
        };
        let id = self.kernel.dies[unit].array();
        let op = &self.kernel.ops[id];
        let plain = op.class == Class::Gc && self.fast.moves;
        if !self.kernel.timers.alone() {
            return plain && self.express_moves(time);
        }
        match (op.verb, op.leg) {
            (Verb::Read, 0) if plain && self.continues_alone(op.job, op.unit) => self.express_out(id, time),
            (Verb::Read, 0) if matches!(op.class, Class::Host | Class::Gc) => self.express_read(id, unit, time),
            (Verb::Read, FUSED) => self.express_next(id, time),
            (Verb::Copyback, 0) if plain => self.express_next_copyback(id, time),
            (Verb::Program | Verb::Copyback, _) if op.class == Class::Gc && self.fast.steps => {
                self.express_placed(id, time)
            }
            _ => false,
        }
    }

    /// Several events come next, and nothing else happens then: if all are legs of plain moves, which are on different dies, and
    /// no two ask for the same bus, they are handled here one by one. Returns whether they were.
    #[inline(never)]
    fn express_moves(&mut self, time: Nanos) -> bool {
        self.kernel.batch.clear();
        self.kernel.timers.each(&mut self.kernel.batch);
        if !(0..self.kernel.batch.len()).all(|i| self.is_plain_end(i, time)) {
            return false;
        }
        for i in 0..self.kernel.batch.len() {
            let id = self.array_in_batch(self.kernel.batch[i]).expect("as looked at");
            let op = &self.kernel.ops[id];
            let handled = match (op.verb, op.leg) {
                (Verb::Read, 0) => self.express_out(id, time),
                (Verb::Read, _) => self.express_next(id, time),
                _ => self.express_next_copyback(id, time),
            };
            law!(handled, "law: a leg that can end alone does");
        }
        self.kernel.events_since_scan += self.kernel.batch.len() as u64 - 1;
        true
    }

    /// The operation in the array that an event of the batch belongs to, if it is an array's.
    #[inline(always)]
    fn array_in_batch(&self, event: u128) -> Option<OpId> {
        match self.kernel.timers.timer(event as u32) {
            Timer::Array(unit) => Some(self.kernel.dies[unit].array()),
            _ => None,
        }
    }

    /// Whether an event of the batch is a leg of a plain move that can end without a round, whatever else is in the batch.
    #[inline(always)]
    fn is_plain_end(&mut self, i: usize, time: Nanos) -> bool {
        let Some(id) = self.array_in_batch(self.kernel.batch[i]) else { return false };
        let op = &self.kernel.ops[id];
        let (job, plane, channel) = (op.job, op.plane, op.channel);
        if op.class != Class::Gc || job.is_none() || !self.continues_alone(job, op.unit) {
            return false;
        }
        match (op.verb, op.leg) {
            (Verb::Read, FUSED) | (Verb::Copyback, 0) => {
                let view = self.dev.view(time);
                self.gc.jobs[job.0].job.peek_valid(&view, 0).is_some()
            }
            (Verb::Read, 0) => {
                let asks = |other: &u128| {
                    let op = &self.kernel.ops[self.array_in_batch(*other).expect("as looked at")];
                    op.channel == channel && op.leg == 0
                };
                self.free_bus(id, time).is_some()
                    && self.dev.flash.room(plane, Stream::Gc) > 0
                    && !self.kernel.batch[..i].iter().any(asks)
            }
            _ => false,
        }
    }

    /// The bus of an operation whose array read has ended and which nobody else asks for now; and the leg to follow.
    #[inline(always)]
    fn free_bus(&self, id: OpId, time: Nanos) -> Option<(usize, Nanos)> {
        let op = &self.kernel.ops[id];
        let state = &self.kernel.buses[op.channel.ix()];
        let free = state.holder.is_none() && state.until <= time && state.queue.is_empty();
        op.legs.get(1).filter(|_| free && op.legs.len() == 2).map(|out| (op.channel.ix(), out.time))
    }

    /// Pages that the host or a collection reads have been read: they cross the bus at once if that is free.
    #[inline]
    fn express_read(&mut self, id: OpId, unit: UnitId, time: Nanos) -> bool {
        let Some((bus, out)) = self.free_bus(id, time) else { return false };
        self.now = time;
        self.kernel.ops[id].leg = 1;
        let state = &mut self.kernel.buses[bus];
        state.begin(self.kernel.ops[id].class == Class::Gc, time, time + out, self.stats.last_completion);
        state.holder = id;
        self.charge(id, Cause::Bus, out.0);
        self.kernel.timers.clear(Timer::Array(unit));
        self.kernel.timers.set(Timer::Bus(bus), time + out);
        true
    }

    /// The page of a plain move has been read: it crosses the bus at once if that is free.
    #[inline(never)]
    fn express_out(&mut self, id: OpId, time: Nanos) -> bool {
        let Some((bus, out)) = self.free_bus(id, time) else { return false };
        if self.dev.flash.room(self.kernel.ops[id].plane, Stream::Gc) == 0 {
            return false;
        }
        self.now = time;
        self.kernel.buses[bus].begin(true, time, time + out, self.stats.last_completion);
        self.fuse_move(id, bus)
    }

    /// A plain move has ended: the next one of its collection begins, if there is one.
    ///
    /// It reads as [`Ssd::gc_step_ends`], the collector's next step and [`Ssd::begin_move`], without what cannot happen here.
    #[inline(never)]
    fn express_next(&mut self, id: OpId, time: Nanos) -> bool {
        let op = &self.kernel.ops[id];
        let (job, from, tag, plane, unit, read) =
            (op.job, op.from[0], self.kernel.ops.host[id].tags[0], op.plane, op.unit, op.legs);
        if !self.continues_alone(job, unit) {
            return false;
        }
        let view = self.dev.view(time);
        let Some(page) = self.gc.jobs[job.0].job.next_valid(&view, 0) else { return false };
        self.now = time;
        let to = self.gc_page(plane, Stream::Gc, false);
        let transfer = self.dev.timing.transfer(self.dev.geometry.page_size);
        self.stats.gc_time.read += read.get(0).map_or(0, |leg| leg.time.0);
        self.stats.gc_time.transfer += 2 * transfer.0;
        self.stats.gc_time.program += self.dev.timing.program_time(self.dev.geometry.offset(to)).0;
        self.land_one(from, to, tag, true);
        self.stats.count_moves(Journey::EXTERNAL, 1);
        // The block keeps the reader that it has: the next page is in it too.
        let array = self.fetch_one(id, page);
        self.kernel.timers.set(Timer::Array(unit), time + array);
        true
    }

    /// The same for a copyback, which takes its page when it begins.
    #[inline(never)]
    fn express_next_copyback(&mut self, id: OpId, time: Nanos) -> bool {
        let op = &self.kernel.ops[id];
        let (job, from, to, tag, unit) = (op.job, op.from[0], op.pages[0], self.kernel.ops.host[id].tags[0], op.unit);
        if !self.continues_alone(job, unit) {
            return false;
        }
        let view = self.dev.view(time);
        let Some(page) = self.gc.jobs[job.0].job.next_valid(&view, 0) else { return false };
        self.now = time;
        self.land_one(from, to, tag, false);
        self.stats.count_moves(Journey::COPYBACK, 1);
        let array = self.copy_one(id, page);
        self.kernel.timers.set(Timer::Array(unit), time + array);
        true
    }

    /// Undoes all fusing once the ends of this moment have been handled: before anything is counted anew.
    pub(in crate::engine) fn unfuse_now(&mut self) {
        self.unfuse_all();
        self.completions();
    }

    /// Undoes all fusing: every operation is where it would be without.
    pub(in crate::engine) fn unfuse_all(&mut self) {
        if !self.fast.moves {
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
}
