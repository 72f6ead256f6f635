//! Fused legs: several legs end in one event if nothing can come between them.
//!
//! Results are identical to the last byte with and without fusing ([`Ssd::set_fusing`]); only the number of events differs.
//!
//! - A transfer into a held die, and the array after it. The time at which the bus becomes free is known, so it is an event only
//!   if another operation requests the bus before.
//! - An event that is alone at its time and has one consequence skips the round. So do several ends of plain moves on different
//!   dies.
//! - A page that GC moves out to the controller and back in while its die is held. If no operation requests the bus before the
//!   read-out ends, none can precede the way back. A request before that time undoes the fusing. Collectors that check for
//!   waiting operations between steps also require that none arrives at the die before.

use crate::blame::Cause;
use crate::device::flash::Stream;
use crate::device::transaction::{Class, Verb};
use crate::engine::fast::Shared;
use crate::engine::kernel::Kernel;
use crate::engine::kernel::dies::Suspension;
use crate::engine::kernel::ops::Page;
use crate::engine::kernel::timers::Timer;
use crate::engine::rules::Rules;
use crate::engine::{Device, Gc, Host, Nanos, Ssd};
use crate::policy::Journey;
use crate::stats::Stats;
use crate::units::{JobId, OpId, Ppn, Tag, UnitId};

/// Leg of a move whose read-out, transfer back and program are fused.
pub(in crate::engine) const FUSED: u8 = u8::MAX;

impl Kernel {
    /// The operation in the array of a batch's event, if the event is an array's.
    #[inline(always)]
    fn array_in_batch(&self, event: u128) -> Option<OpId> {
        match self.timers.timer(event as u32) {
            Timer::Array(unit) => Some(self.dies[unit].array()).filter(|id| id.is_some()),
            _ => None,
        }
    }

    /// The bus of an operation whose array read has ended, if no other operation requests it now; and the next leg.
    #[inline(always)]
    fn free_bus(&mut self, shared: &mut Shared, stats: &Stats, id: OpId, time: Nanos) -> Option<(usize, Nanos)> {
        let bus = self.ops[id].channel.ix();
        self.catch_up(shared, stats, bus, time);
        if shared.passage_begins(bus, time) || self.has_bookings(shared, bus) {
            return None;
        }
        let op = &self.ops[id];
        let state = &self.buses[op.channel.ix()];
        let free = state.holder.is_none() && state.until <= time && state.queue.is_empty();
        op.legs.get(1).filter(|_| free && op.legs.len() == 2).map(|out| (bus, out.time))
    }

    /// The channel of a leg's event.
    #[inline(never)]
    fn channel_of(&self, event: Timer) -> Option<usize> {
        match event {
            Timer::Array(unit) => Some(self.ops[self.dies[unit].array()].channel.ix()),
            Timer::Bus(bus) => Some(bus),
            _ => None,
        }
    }

    /// The page of a fused move, whose read was counted when it began, has been programmed: counts its time. Returns from where it moves,
    /// to where, and what it holds.
    #[inline(always)]
    fn fused_page(&self, dev: &mut Device, stats: &mut Stats, rules: &Rules, id: OpId) -> (Ppn, Ppn, Tag) {
        let op = &self.ops[id];
        let (from, tag, plane, read) = (op.from[0], self.ops[Page(id)].tags[0], op.plane, op.legs.get(0));
        let to = dev.gc_page(rules, plane, Stream::Gc, false);
        let transfer = dev.timing.page();
        let program = dev.timing.steady_program(|| dev.geometry.offset(to));
        stats.gc_time.read += read.map_or(0, |leg| leg.time.0);
        stats.gc_time.transfer += 2 * transfer.0;
        stats.gc_time.program += program.0;
        (from, to, tag)
    }
}

impl Gc {
    /// Whether a job's collector would find no waiting operation now, and so continue with a plain move.
    #[inline]
    pub(in crate::engine) fn continues_alone(
        &self,
        kernel: &Kernel,
        dev: &Device,
        host: &Host,
        rules: &Rules,
        job: JobId,
        unit: UnitId,
    ) -> bool {
        if !rules.yields {
            return true;
        }
        let job = &self.jobs[job.0].job;
        let mut planes = 0..dev.geometry.planes_per_unit;
        let stalled = |k| !self.planes[dev.geometry.plane_of_unit(unit, k).ix()].stalled.is_empty();
        let wanted = !kernel.dies[unit].queue.is_empty()
            || rules.preempts && !host.anywhere.is_empty()
            || rules.stages && planes.any(stalled);
        !wanted && !job.contended && job.slots.is_none_or(|left| left == 0)
    }

    /// Whether a batch's event is a leg of a plain move of a collection that goes on.
    #[inline(always)]
    fn is_plain_leg(&self, kernel: &Kernel, dev: &Device, host: &Host, rules: &Rules, i: usize) -> bool {
        let Some(id) = kernel.array_in_batch(kernel.batch[i]) else { return false };
        let op = &kernel.ops[id];
        let (job, unit) = (op.job, op.unit);
        op.class == Class::Gc && job.is_some() && self.continues_alone(kernel, dev, host, rules, job, unit)
    }

    /// Whether such a leg can end without a round, independent of the rest of the batch.
    #[inline(always)]
    fn ends_alone(
        &mut self,
        kernel: &mut Kernel,
        dev: &Device,
        shared: &mut Shared,
        stats: &Stats,
        i: usize,
        time: Nanos,
    ) -> bool {
        let id = kernel.array_in_batch(kernel.batch[i]).expect("as looked at");
        let op = &kernel.ops[id];
        let (job, plane, channel) = (op.job, op.plane, op.channel);
        match (op.verb, op.leg) {
            (Verb::Read, FUSED) | (Verb::Copyback, 0) => {
                let view = dev.view(time);
                self.jobs[job.0].job.peek_valid(&view, 0).is_some()
            }
            (Verb::Read, 0) => {
                if kernel.free_bus(shared, stats, id, time).is_none() {
                    return false;
                }
                let asks = |other: &u128| {
                    let op = &kernel.ops[kernel.array_in_batch(*other).expect("as looked at")];
                    op.channel == channel && op.leg == 0
                };
                dev.flash.room(plane, Stream::Gc) > 0 && !kernel.batch[..i].iter().any(asks)
            }
            _ => false,
        }
    }
}

impl Ssd {
    /// The bus has been granted for the read-out of a GC page. Fuses it with the transfer back and the program, if no operation
    /// waits for the bus and an open block has room. Returns whether it did.
    #[inline]
    pub(in crate::engine) fn fuse_move(&mut self, id: OpId, bus: usize) -> bool {
        let op = &self.kernel.ops[id];
        if op.verb != Verb::Read || op.class != Class::Gc || !self.kernel.buses[bus].queue.is_empty() {
            return false;
        }
        let (plane, unit) = (op.plane, op.unit);
        if self.dev.flash.room(plane, Stream::Gc) == 0
            || !self.gc.continues_alone(&self.kernel, &self.dev, &self.host, &self.rules, op.job, unit)
        {
            return false;
        }
        let Some(offset) = self.dev.flash.next_offset(plane, Stream::Gc) else { return false };
        // Moves are fused only where blocks do not differ.
        let next = self.dev.timing.place(offset, || (0, false));
        let (back, array) = (self.dev.timing.page(), self.dev.timing.programs(&[next]));
        let state = &mut self.kernel.buses[bus];
        let half = state.until;
        state.fused = id;
        state.half = half;
        state.prolong(half + back);
        self.transfer_begins(bus, half, half + back);
        self.kernel.timers.set(Timer::Array(unit), half + back + array);
        self.kernel.ops[id].leg = FUSED;
        self.kernel.fused = true;
        true
    }

    /// Grants a channel to its first request, if that is of a collection, on a device with plain moves. Returns whether it did.
    /// Equals [`Ssd::grant_bus`], without cases that cannot occur there.
    #[inline(always)]
    pub(in crate::engine) fn grant_to_move(&mut self, bus: usize) -> bool {
        let now = self.now;
        let id = self.kernel.buses[bus].queue.head();
        let op = &mut self.kernel.ops[id];
        let Some(leg) = op.legs.get(op.leg).filter(|_| op.class == Class::Gc) else { return false };
        let (unit, array) = (op.unit, op.legs.get(op.leg + 1));
        let until = now + leg.time;
        let state = &mut self.kernel.buses[bus];
        state.queue.pop(&self.kernel.ops);
        state.begin(true, now, until, self.stats.last_completion);
        self.transfer_begins(bus, now, until);
        if let Some(array) = array {
            self.kernel.ops[id].leg += 1;
            self.kernel.timers.begin(Timer::Array(unit), until + array.time);
            if !self.kernel.buses[bus].queue.is_empty() {
                self.kernel.mark_awaited(bus);
            }
        } else if !self.fuse_move(id, bus) {
            self.kernel.buses[bus].holder = id;
            self.kernel.timers.begin(Timer::Bus(bus), until);
        }
        true
    }

    /// An operation requests a bus with a fused move. If the page's way back has not begun, the page has to request the bus like
    /// any other.
    #[cold]
    pub(super) fn disturb(&mut self, bus: usize) {
        let state = &mut self.kernel.buses[bus];
        let id = std::mem::replace(&mut state.fused, OpId::NONE);
        // At the turning point itself, the page has requested the bus before all operations that request it after the first
        // grants.
        let turned = self.now > state.half || (self.now == state.half && self.kernel.granted_at == self.now);
        if turned || self.kernel.ops[id].leg != FUSED {
            return;
        }
        let half = state.half;
        state.prolong(half);
        self.kernel.timers.clear(Timer::Array(self.kernel.ops[id].unit));
        if self.now == half && self.kernel.decided_at == self.now {
            // Its collector has already decided: the way back has begun.
            self.page_is_back(id);
            self.kernel.ops[id].leg = 0;
            return self.ask(id, bus);
        }
        self.kernel.buses[bus].holder = id;
        let op = &mut self.kernel.ops[id];
        op.leg = op.legs.len() - 1;
        self.kernel.timers.begin(Timer::Bus(bus), half);
    }

    /// A fused move has ended: its collector decides what follows. Equals [`Ssd::page_is_back`] and [`Ssd::gc_step_ends`], without
    /// cases that cannot occur here.
    pub(in crate::engine) fn fused_move_ends(&mut self, id: OpId) {
        self.land_turned(id);
        let op = &self.kernel.ops[id];
        let (job, unit) = (op.job, op.unit);
        self.kernel.dies[unit].vacate();
        self.gc.jobs[job.0].busy = false;
        self.gc.ready.push(job);
    }

    /// The page of a fused move has been programmed, and the move has ended.
    #[inline(always)]
    pub(super) fn land_turned(&mut self, id: OpId) {
        let (from, to, tag) = self.kernel.fused_page(&mut self.dev, &mut self.stats, &self.rules, id);
        self.land_one(from, to, tag, true);
        self.stats.count_programs(Class::Gc, 1);
        self.dev.end_reads(&self.kernel, id);
        let op = &mut self.kernel.ops[id];
        // The last step was a program.
        (op.verb, op.leg) = (Verb::Program, 1);
    }

    /// Applies the end of a fused move's read-out and the start of its way back. From then on it is a program.
    pub(super) fn page_is_back(&mut self, id: OpId) {
        self.kernel.count_time(&mut self.stats, id);
        self.gc.end_read_step(&self.kernel, &mut self.dev, id);
        let job = self.kernel.ops[id].job;
        self.gc.begin_place(&mut self.kernel, &mut self.dev, &mut self.stats, &self.rules, &self.config, job);
        self.features.tenants_moved_by(&self.kernel, &self.dev, &self.rules, id);
        self.kernel.ops[id].verb = Verb::Program;
        self.kernel.ops[id].leg = self.kernel.ops[id].legs.len() - 1;
    }

    /// Precondition: at the next event's time nothing but events happens. If the event is alone and ends an array read for the
    /// host or GC, or if all events are legs of plain moves, handles them here as the round would. Returns whether it did.
    #[inline(always)]
    pub(in crate::engine) fn express(&mut self, time: Nanos) -> bool {
        let first = self.kernel.timers.first();
        if self.fast.turns {
            let Some(bus) = self.kernel.channel_of(first) else { return false };
            // Chains of turns that the event meets on its channel are dissolved.
            self.time_comes(time, Some(bus));
        }
        if self.fast.steps && !self.kernel.timers.alone() {
            return self.express_steps(time);
        }
        let unit = match first {
            Timer::Array(unit) => unit,
            Timer::Bus(_) if !self.kernel.timers.alone() => return false,
            Timer::Bus(bus) if self.fast.writes && self.kernel.crosses_in_lane(bus) => {
                return self.express_transfer(bus, time);
            }
            Timer::Bus(bus) if self.fast.alone => return self.express_bus(bus, time),
            Timer::Bus(bus) => return self.fast.steps && self.express_bus_of_steps(bus, time),
            _ => return false,
        };
        let id = self.kernel.dies[unit].array();
        if id.is_none() {
            // An array is suspended or resumed.
            return self.express_array_of_steps(unit, time);
        }
        let op = &self.kernel.ops[id];
        if op.lane && self.fast.writes {
            return self.kernel.timers.alone()
                && match op.verb {
                    Verb::Program => self.express_page::<true>(id, unit, time),
                    _ => op.leg == 0 && self.express_read(id, time) || self.express_page::<false>(id, unit, time),
                };
        }
        if !(self.fast.legs || self.fast.moves && op.class == Class::Gc) {
            return self.express_array_of_steps(unit, time);
        }
        let plain = op.class == Class::Gc && self.fast.moves;
        if !self.kernel.timers.alone() {
            return plain && self.express_moves(time);
        }
        match (op.verb, op.leg) {
            (Verb::Read, 0)
                if plain
                    && self.gc.continues_alone(&self.kernel, &self.dev, &self.host, &self.rules, op.job, op.unit) =>
            {
                self.express_out(id, time) || self.fast.alone && self.express_asks(id, time)
            }
            (Verb::Read, 0) if op.class == Class::Gc => {
                self.express_read(id, time) || self.fast.steps && self.express_waits(id, time)
            }
            (Verb::Read, 0) if op.class == Class::Host => self.express_read(id, time),
            (Verb::Read, FUSED) if plain && self.fast.pauses => self.express_step(id, time),
            (Verb::Program, _) if plain && self.fast.alone => self.express_step(id, time),
            (Verb::Read, FUSED) => self.express_next(id, time),
            (Verb::Copyback, 0) if plain => self.express_next_copyback(id, time),
            (Verb::Erase, _) if plain && self.fast.alone => self.express_erased(id, time),
            (Verb::Program | Verb::Copyback, _) if op.class == Class::Gc && self.fast.steps => {
                self.express_placed(id, time)
            }
            _ if op.class == Class::Gc && self.fast.steps => self.express_array_of_steps(unit, time),
            _ => false,
        }
    }

    /// Several events come next, and nothing else happens at their time. If all are legs of plain moves, which are on different
    /// dies, and no two request the same bus, handles them one by one. Returns whether it did.
    #[inline(never)]
    fn express_moves(&mut self, time: Nanos) -> bool {
        self.kernel.batch.clear();
        self.kernel.timers.each(&mut self.kernel.batch);
        let end_alone = (0..self.kernel.batch.len()).all(|i| {
            self.gc.is_plain_leg(&self.kernel, &self.dev, &self.host, &self.rules, i)
                && self.gc.ends_alone(&mut self.kernel, &self.dev, &mut self.shared, &self.stats, i, time)
        });
        if !end_alone {
            return false;
        }
        for i in 0..self.kernel.batch.len() {
            let id = self.kernel.array_in_batch(self.kernel.batch[i]).expect("as looked at");
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

    /// An array read for the host or GC has ended: its pages cross the bus at once if it is free.
    #[inline]
    fn express_read(&mut self, id: OpId, time: Nanos) -> bool {
        let Some((bus, out)) = self.kernel.free_bus(&mut self.shared, &self.stats, id, time) else { return false };
        self.now = time;
        self.kernel.ops[id].leg = 1;
        let state = &mut self.kernel.buses[bus];
        state.begin(self.kernel.ops[id].class == Class::Gc, time, time + out, self.stats.last_completion);
        state.holder = id;
        self.transfer_begins(bus, time, time + out);
        self.kernel.charge(&mut self.features, &self.rules, self.now, id, Cause::Bus, out.0);
        self.kernel.timers.pop();
        self.kernel.timers.begin(Timer::Bus(bus), time + out);
        true
    }

    /// The array read of a plain move has ended: the page crosses the bus at once if it is free.
    #[inline(never)]
    fn express_out(&mut self, id: OpId, time: Nanos) -> bool {
        let Some((bus, out)) = self.kernel.free_bus(&mut self.shared, &self.stats, id, time) else { return false };
        if self.dev.flash.room(self.kernel.ops[id].plane, Stream::Gc) == 0 {
            return false;
        }
        self.now = time;
        self.kernel.buses[bus].begin(true, time, time + out, self.stats.last_completion);
        self.transfer_begins(bus, time, time + out);
        self.fuse_move(id, bus)
    }

    /// The array read of a plain move has ended, and its bus is busy: the page waits for it.
    #[inline(never)]
    fn express_asks(&mut self, id: OpId, time: Nanos) -> bool {
        self.now = time;
        self.kernel.timers.pop();
        let op = &mut self.kernel.ops[id];
        op.leg = 1;
        let bus = op.channel.ix();
        // Nothing happens now but moves of this bus, which go on.
        self.kernel.decided_at = time;
        self.ask(id, bus);
        self.after_decisions();
        self.leave_time();
        true
    }

    /// The event of a bus is that it is free, or ends the read-out of a plain move. If it is known what follows, carries it out.
    /// Returns whether it did.
    #[inline(never)]
    fn express_bus(&mut self, bus: usize, time: Nanos) -> bool {
        if self.kernel.buses[bus].holder.is_some() {
            return self.express_read_out(bus, time);
        }
        self.now = time;
        self.kernel.timers.pop();
        self.kernel.wake_bus(bus);
        self.after_decisions();
        self.leave_time();
        true
    }

    /// A plain move has ended: the next move of its collection begins, if there is one.
    ///
    /// Equals [`Ssd::gc_step_ends`], the collector's next step and [`Ssd::begin_move`], without cases that cannot occur here.
    #[inline(never)]
    fn express_next(&mut self, id: OpId, time: Nanos) -> bool {
        let op = &self.kernel.ops[id];
        let (job, unit) = (op.job, op.unit);
        if !self.gc.continues_alone(&self.kernel, &self.dev, &self.host, &self.rules, job, unit) {
            return false;
        }
        let view = self.dev.view(time);
        let Some(page) = self.gc.jobs[job.0].job.next_valid(&view, 0) else { return self.express_erase(id, time) };
        self.now = time;
        let (from, to, tag) = self.kernel.fused_page(&mut self.dev, &mut self.stats, &self.rules, id);
        self.land_one(from, to, tag, true);
        self.stats.count_programs(Class::Gc, 1);
        self.stats.count_reads(Class::Gc, 1);
        // The block keeps its reader, since the next page is in the same block.
        let array = self.kernel.fetch_one(&self.dev, &self.oracle, id, page);
        let chained = self.fast.chains
            && self.kernel.form_chain(
                &self.dev,
                &self.gc,
                &mut self.shared,
                &self.stats,
                &self.rules,
                (id, unit, Journey::EXTERNAL, time),
            );
        self.kernel.timers.set(Timer::Array(unit), if chained { Nanos::NEVER } else { time + array });
        true
    }

    /// The same for a copyback, which takes its destination page when it begins.
    #[inline(never)]
    fn express_next_copyback(&mut self, id: OpId, time: Nanos) -> bool {
        let op = &self.kernel.ops[id];
        let (job, from, to, tag, unit) = (op.job, op.from[0], op.pages[0], self.kernel.ops[Page(id)].tags[0], op.unit);
        if !self.gc.continues_alone(&self.kernel, &self.dev, &self.host, &self.rules, job, unit) {
            return false;
        }
        let view = self.dev.view(time);
        let Some(page) = self.gc.jobs[job.0].job.next_valid(&view, 0) else { return self.express_erase(id, time) };
        self.now = time;
        self.land_one(from, to, tag, false);
        self.stats.count_moves(Journey::COPYBACK, 1);
        let array = self.kernel.copy_one(&mut self.dev, &mut self.stats, &self.oracle, &self.rules, id, page);
        let chained = self.fast.chains
            && self.kernel.form_chain(
                &self.dev,
                &self.gc,
                &mut self.shared,
                &self.stats,
                &self.rules,
                (id, unit, Journey::COPYBACK, time),
            );
        self.kernel.timers.set(Timer::Array(unit), if chained { Nanos::NEVER } else { time + array });
        true
    }

    /// The last plain move of a collection has ended: the erase begins.
    #[inline(never)]
    fn express_erase(&mut self, id: OpId, time: Nanos) -> bool {
        if !self.fast.alone {
            return false;
        }
        self.now = time;
        let op = &self.kernel.ops[id];
        let (job, from, to, unit) = (op.job, op.from[0], op.pages[0], op.unit);
        self.kernel.timers.clear(Timer::Array(unit));
        if op.verb == Verb::Copyback {
            let tag = self.kernel.ops[Page(id)].tags[0];
            self.dev.end_reads(&self.kernel, id);
            self.land_one(from, to, tag, false);
        } else {
            self.land_turned(id);
        }
        self.begin_erase_alone(job);
        true
    }

    /// The erase of a collection begins, which nothing but a waiting read can concern at once.
    #[inline(always)]
    pub(super) fn begin_erase_alone(&mut self, job: JobId) {
        let op = self.gc.erase_alone(&mut self.kernel, &self.dev, &mut self.stats, job);
        self.run_leg(op);
        if self.rules.suspends {
            self.after_decisions();
            self.leave_time();
        }
    }

    /// The erase of a collection has ended, and with it the collection, if no write waits for its pages. Equals
    /// [`Ssd::gc_step_ends`], the collector's last step and the rest of the round.
    #[inline(never)]
    fn express_erased(&mut self, id: OpId, time: Nanos) -> bool {
        let op = &self.kernel.ops[id];
        let (job, unit) = (op.job, op.unit);
        if self.kernel.dies[unit].suspension() != Suspension::No
            || !self.gc.continues_alone(&self.kernel, &self.dev, &self.host, &self.rules, job, unit)
            || !self.gc.planes[op.plane.ix()].stalled.is_empty()
        {
            return false;
        }
        self.now = time;
        self.kernel.timers.pop();
        self.kernel.dies[unit].vacate();
        self.kernel.count_time(&mut self.stats, id);
        self.erased(job);
        self.gc.jobs[job.0].busy = false;
        self.end_collection(job);
        if self.gc.may_decide(&self.kernel, &self.rules) {
            self.decide();
        }
        self.after_decisions();
        self.leave_time();
        true
    }
}
