//! Turns: steps of queued collections that follow one another on a die share an event.
//!
//! While only steps of one or two queued collections are on a die, their order is known: each step that ends queues the next one
//! of its collection behind the other collection's. Steps alternately read a page and program it, so four steps are a cycle,
//! which is equally long on all dies.
//!
//! An operation that joins the queue of the die is served when the steps that were there before it have ended, so such a chain then
//! ends at the end of the one of them that waits ([`Ssd::joins_turns`]). Otherwise it is dissolved like that of a collection that
//! holds its die ([`super::chains`]). When time comes to the end of one of its legs, it is dissolved before anything else happens
//! ([`Ssd::time_comes`]). So no order at one time depends on an event that a chain does without. If what happens concerns one channel
//! alone, the end of a program that is followed by a read does not matter.

use crate::device::transaction::{Class, Verb};
use crate::engine::fast::Shared;
use crate::engine::fast::cycles::{STEPS, Times, Turn};
use crate::engine::fast::passages::{Chain, Kind, Passage};
use crate::engine::kernel::Kernel;
use crate::engine::kernel::ops::Page;
use crate::engine::kernel::timers::Timer;
use crate::engine::{Device, Gc, Ssd};
use crate::oracle::Oracle;
use crate::policy::PageSet;
use crate::stats::Stats;
use crate::units::{Nanos, OpId, Ppn, UnitId};

/// The collections of a chain, the one whose step began with the chain first, and the cycle of their steps.
#[derive(Clone, Copy)]
struct Cycle {
    ops: [OpId; 2],
    count: usize,
    times: usize,
}

impl Cycle {
    fn of(chain: &Chain) -> Self {
        let count = if chain.second.is_some() { 2 } else { 1 };
        Cycle { ops: [chain.op, chain.second], count, times: usize::from(chain.cycle) }
    }
}

/// Where a chain is.
struct Place {
    /// Number of steps that have ended.
    ended: usize,
    /// The step in service, and its start.
    turn: Turn,
    begun: Nanos,
}

impl Kernel {
    /// The collections of a die on which there are only steps of plain moves: `first` in the array, and at most one that waits.
    #[inline(always)]
    fn cycle_of(&self, unit: UnitId, first: OpId) -> Cycle {
        let ops = [first, self.dies[unit].queue.head()];
        let count = if ops[1].is_some() { 2 } else { 1 };
        let reads = ops.map(|op| op.is_some() && self.ops[op].verb == Verb::Read);
        Cycle { ops, count, times: Times::kind(count, reads) }
    }

    /// The step in service is that of the array from now on, and the next step of the collection before it waits behind all others.
    fn serve_turn(&mut self, dev: &Device, chain: &Chain, cycle: Cycle, place: &Place, unit: UnitId) {
        let (who, begun) = (place.turn.who, place.begun);
        let (id, state) = (cycle.ops[who], &mut self.dies[unit]);
        let passed = state.array() != id;
        if passed {
            state.queue.pop(&self.ops);
            state.queue.push(&mut self.ops, cycle.ops[1 - who]);
        }
        let planes = 1 << dev.geometry.plane_in_unit(self.ops[id].plane);
        if !chain.joined {
            self.dies.pass_in_turns(unit, id, planes, begun);
        } else if passed {
            self.dies.pass_to_gc(unit, id, planes, begun);
        }
    }

    /// A queued read of a plain move begins now, or a program's transfer. If only steps of such moves follow on its die, they share
    /// an event. Returns whether they do.
    #[inline(never)]
    pub(in crate::engine) fn take_turns(
        &mut self,
        dev: &Device,
        gc: &Gc,
        shared: &mut Shared,
        stats: &Stats,
        now: Nanos,
        (id, unit): (OpId, UnitId),
    ) -> bool {
        let second = self.dies[unit].queue.head();
        if second.is_some() && self.ops[second].next.is_some() {
            return false;
        }
        let cycle = self.cycle_of(unit, id);
        let mut cycles = u32::MAX;
        for id in &cycle.ops[..cycle.count] {
            let op = &self.ops[*id];
            let page = match op.verb {
                Verb::Read if op.class == Class::Gc => op.pages[0],
                Verb::Program if op.class == Class::Gc => op.from[0],
                _ => return false,
            };
            if !dev.flash.is_valid(page) {
                return false;
            }
            // One page is left, so that there is a next step.
            let moves = u32::from(dev.flash.valid(gc.jobs[op.job.0].job.victims[0])) - 1;
            cycles = cycles.min(moves * cycle.count as u32 / 2);
        }
        if cycles == 0 {
            return false;
        }
        let (pace, bus) = (shared.chains.pace, self.ops[id].channel.ix());
        self.catch_up(shared, stats, bus, now);
        let (state, turns) = (&self.buses[bus], &shared.chains.cycles[cycle.times].turns);
        let reads = turns[0].reads;
        if !state.queue.is_empty() || self.has_bookings(shared, bus) || reads && state.until > now + pace.read {
            return false;
        }
        let passages = turns.map(|turn| Passage { at: now + turn.requests, unit });
        if !shared.chains.passages[bus].insert(&passages, &pace) {
            return false;
        }
        if !reads {
            // Its transfer has begun.
            shared.chains.passages[bus].pass(now + Nanos(1), &pace);
        }
        let since = shared.chains.ends.within_cycle(now, pace.period);
        let Times { ends, on_channel, .. } = shared.chains.cycles[cycle.times];
        let ends = ends.map(|end| {
            let at = since + end.0;
            if at < pace.period.0 { at } else { at - pace.period.0 }
        });
        shared.chains.ends.enter(unit, ends, on_channel);
        cycle.ops[..cycle.count].iter().for_each(|id| gc.expect_next_moves(self, dev, *id));
        let until = now + Nanos(pace.period.0 * u64::from(cycles));
        let chain = Chain::new(id, now, until, Kind::Turns);
        self.set_chain(shared, unit, Chain { second: cycle.ops[1], cycle: cycle.times as u8, ..chain });
        true
    }

    /// A bus has been granted to an operation of GC. If that is a program that takes turns, sets the event that it shares. Returns
    /// whether it did.
    #[inline(always)]
    pub(in crate::engine) fn program_takes_turns(
        &mut self,
        dev: &Device,
        gc: &Gc,
        shared: &mut Shared,
        stats: &Stats,
        now: Nanos,
        id: OpId,
    ) -> bool {
        let op = &self.ops[id];
        op.verb == Verb::Program && self.take_turns(dev, gc, shared, stats, now, (id, op.unit))
    }

    /// Whether a leg of a unit's chain ends at a time of the cycle, on this channel if one is given.
    fn turn_ends(&self, shared: &Shared, unit: UnitId, since: u64, bus: Option<usize>) -> bool {
        let (id, (ends, on_channel)) = (shared.chains.of_unit[unit.ix()].op, &shared.chains.ends.of_unit[unit.ix()]);
        match bus {
            None => ends.contains(&since),
            Some(bus) => self.ops[id].channel.ix() == bus && ends[..*on_channel].contains(&since),
        }
    }

    /// Ends a chain at the end of the step that waits behind the one in service, if it does not end before. An operation that joined
    /// earlier has done so already; then only the order of the queue and the ledger of the die are brought up to date. False if a leg
    /// ends now, so that the chain has to be dissolved.
    #[inline(never)]
    fn limit_turns(&mut self, dev: &Device, shared: &mut Shared, now: Nanos, unit: UnitId) -> bool {
        let (chain, pace) = (shared.chains.of_unit[unit.ix()], shared.chains.pace);
        let since = shared.chains.ends.within_cycle(now, pace.period);
        if shared.chains.ends.of_unit[unit.ix()].0.contains(&since) {
            // A leg ends now: it needs its event.
            return false;
        }
        let cycle = Cycle::of(&chain);
        let place = shared.place_in(cycle, &chain, now);
        self.serve_turn(dev, &chain, cycle, &place, unit);
        if chain.joined {
            return true;
        }
        let turns = &shared.chains.cycles[cycle.times].turns;
        // The step in service, and that of the other collection.
        let left = (0..cycle.count).map(|step| turns[(place.ended + step) % STEPS].time().0).sum::<u64>();
        let until = chain.until.min(place.begun + Nanos(left));
        shared.chains.of_unit[unit.ix()] = Chain { until, joined: true, ..chain };
        self.timers.move_chain(unit, until);
        true
    }

    /// A page is the next that a collection reads, or the one that it has read and programs next.
    fn set_turn(&mut self, dev: &Device, oracle: &Oracle, id: OpId, page: Ppn, reads: bool) {
        let (one, lpn) = (PageSet::one(page), dev.flash.lpn_of(page));
        // The entry is needed when the page lands.
        dev.map.expect(lpn);
        if reads {
            let op = &mut self.ops[id];
            (op.verb, op.pages) = (Verb::Read, one);
        } else {
            self.ops[Page(id)].tags[0] = oracle.load(page, lpn);
            let op = &mut self.ops[id];
            (op.verb, op.from) = (Verb::Program, one);
        }
    }
}

impl Shared {
    /// Where a chain is at `now`. What ends now still has its event.
    #[inline(always)]
    fn place_in(&self, cycle: Cycle, chain: &Chain, now: Nanos) -> Place {
        let (period, elapsed) = (self.chains.pace.period.0, (now - chain.start).0.saturating_sub(1));
        let (cycles, since) = (elapsed / period, Nanos(elapsed % period));
        let turns = &self.chains.cycles[cycle.times].turns;
        let step = turns.iter().take_while(|turn| turn.end <= since).count();
        let turn = turns[step];
        Place { ended: cycles as usize * STEPS + step, turn, begun: chain.start + Nanos(cycles * period) + turn.start }
    }

    /// Programs of a chain that have begun and are not counted yet.
    pub(super) fn uncounted_of_turns(&self, now: Nanos, chain: &Chain) -> u64 {
        let cycle = Cycle::of(chain);
        let place = self.place_in(cycle, chain, now);
        let turns = &self.chains.cycles[cycle.times].turns;
        // The program with which it began was counted.
        (1..=place.ended).filter(|step| !turns[step % STEPS].reads).count() as u64
    }
}

impl Ssd {
    /// An operation joins the queue of a unit, behind all others. If steps take turns there, their chain ends when the operation
    /// may be served.
    #[inline(always)]
    pub(super) fn joins_turns(&mut self, unit: UnitId) {
        if self.shared.chains.count > 0
            && self.shared.chains.of_unit[unit.ix()].op.is_some()
            && !self.kernel.limit_turns(&self.dev, &mut self.shared, self.now, unit)
        {
            self.dissolve(unit, self.now, true);
        }
    }

    #[inline(never)]
    pub(super) fn dissolve_met_turns(&mut self, time: Nanos, bus: Option<usize>) {
        let since = self.shared.chains.ends.within_cycle(time, self.shared.chains.pace.period);
        match self.shared.chains.ends.at(since) {
            (1, unit) if self.kernel.turn_ends(&self.shared, UnitId(unit), since, bus) => {
                self.dissolve(UnitId(unit), time, false);
            }
            (0 | 1, _) => {}
            _ => {
                for unit in (0..self.shared.chains.of_unit.len() as u32).map(UnitId) {
                    if self.shared.chains.of_unit[unit.ix()].op.is_some()
                        && self.kernel.turn_ends(&self.shared, unit, since, bus)
                    {
                        self.dissolve(unit, time, false);
                    }
                }
            }
        }
    }

    /// Ends a chain at `now`: steps that have ended before are carried out, and the one in service is set up as if each of its
    /// legs had had an event.
    #[inline(never)]
    pub(super) fn end_turns(&mut self, chain: &Chain, unit: UnitId, now: Nanos) {
        let (cycle, pace) = (Cycle::of(chain), self.shared.chains.pace);
        self.shared.chains.ends.remove(unit);
        let place = self.shared.place_in(cycle, chain, now);
        if place.ended > 0 {
            self.carry_out_turns(chain, cycle, &place, unit);
        }
        let id = self.kernel.dies[unit].array();
        let asks = place.begun + pace.read;
        let (leg, timer, time) = if !place.turn.reads {
            (1, Timer::Array(unit), place.begun + pace.transfer + pace.program)
        } else if now <= asks {
            (0, Timer::Array(unit), asks)
        } else {
            let bus = self.kernel.ops[id].channel.ix();
            self.kernel.buses[bus].holder = id;
            (1, Timer::Bus(bus), asks + pace.transfer)
        };
        self.kernel.ops[id].leg = leg;
        match timer {
            // It may have the event of one that waits for it.
            Timer::Bus(_) => self.kernel.timers.set(timer, time),
            _ => self.kernel.timers.begin(timer, time),
        }
    }

    fn carry_out_turns(&mut self, chain: &Chain, cycle: Cycle, place: &Place, unit: UnitId) {
        let (pace, turns) = (self.shared.chains.pace, self.shared.chains.cycles[cycle.times].turns);
        let Place { ended, turn, .. } = *place;
        let victim = |ssd: &Self, who: usize| ssd.gc.jobs[ssd.kernel.ops[cycle.ops[who]].job.0].job.victims[0];
        self.dev.date_closings(self.now);
        if turns[0].reads {
            self.dev.flash.read_ends(victim(self, 0));
        }
        let (mut read, mut programmed) = (0, 0);
        for (who, first) in turns.iter().enumerate().take(cycle.count) {
            let own = (ended + cycle.count - 1 - who) / cycle.count;
            let reads_first = first.reads;
            let landed = if reads_first { own / 2 } else { own.div_ceil(2) };
            let page = self.land_turns(chain, cycle, who, landed);
            let reads_next = reads_first == own.is_multiple_of(2);
            let (id, serves) = (cycle.ops[who], who == turn.who);
            let (job, plane) = (self.kernel.ops[id].job, self.kernel.ops[id].plane);
            self.gc.jobs[job.0].job.hand = if reads_next { PageSet::EMPTY } else { PageSet::one(page) };
            // A step in service is set up now, and counted below.
            if reads_next && serves {
                self.kernel.fetch_one(&self.dev, &self.oracle, id, page);
            } else {
                self.kernel.set_turn(&self.dev, &self.oracle, id, page, reads_next);
                if serves {
                    self.kernel.place_one(&mut self.dev, &mut self.stats, &self.rules, id, plane);
                }
            }
            let reads = own - landed;
            (read, programmed) = (read + reads as u64, programmed + landed as u64);
        }
        let time = &mut self.stats.gc_time;
        time.read += read * pace.read.0;
        time.transfer += (read + programmed) * pace.transfer.0;
        time.program += programmed * pace.program.0;
        // Its first step was counted when it began.
        let head_reads = u64::from(turns[0].reads);
        self.stats.count_steps(read + u64::from(turn.reads) - head_reads, programmed - (1 - head_reads));
        if turn.reads {
            self.dev.flash.read_begins(victim(self, turn.who));
        }
        self.kernel.serve_turn(&self.dev, chain, cycle, place, unit);
    }

    /// The first pages of a collection have been programmed in turns: they land. Returns the page of its next step.
    fn land_turns(&mut self, chain: &Chain, cycle: Cycle, who: usize, landed: usize) -> Ppn {
        let id = cycle.ops[who];
        let (op, turns) = (&self.kernel.ops[id], &self.shared.chains.cycles[cycle.times].turns);
        let reads_first = turns[who].reads;
        let (job, plane, from, to) =
            (op.job, op.plane, if reads_first { op.pages[0] } else { op.from[0] }, op.pages[0]);
        if landed == 0 {
            return from;
        }
        let ends = |turn: &&Turn| turn.who == who && !turn.reads;
        let first_end = chain.start + turns.iter().find(ends).map_or(Nanos::ZERO, |turn| turn.end);
        let distance = self.shared.chains.pace.period.0 / 2 * cycle.count as u64;
        let victim = self.gc.jobs[job.0].job.victims[0];
        let (mut first, mut before) = (self.dev.geometry.offset(from), 0);
        if who == 0 && !reads_first {
            // Its page was taken when it began.
            let tag = self.kernel.ops[Page(id)].tags[0];
            self.land_one(from, to, tag, true);
            (first, before) = (first + 1, 1);
            if self.dev.flash.has_undated() {
                self.dev.flash.date_closings(first_end);
            }
        }
        let landed_at = |moved: usize| first_end + Nanos(distance * (before + moved - 1) as u64);
        self.gc.moving.list_some(&self.dev.flash, plane, victim, first, landed - before);
        let (kernel, oracle) = (&mut self.kernel, &mut self.oracle);
        let next = self.dev.move_some(kernel, &self.features, oracle, &self.gc.moving, first, landed_at);
        self.stats.count_sorted((landed - before) as u64);
        self.gc.jobs[job.0].job.cursor[0] = next + 1;
        self.dev.geometry.page(victim, next)
    }
}
