//! Chains: the rest of a collection in one event.
//!
//! While a collection holds its die and all its pages travel alike, its moves follow one another at equal distances: the `k`-th
//! begins at `start + k * period`. Nothing depends on their single events unless another operation wants the bus during one of
//! their transfers, a page of the victim is overwritten or discarded, or an operation starts to wait for a die whose collector
//! checks for that. So the moves of a chain share one event, at the end of the last one.
//!
//! A chain that is met by anything else is dissolved ([`Ssd::dissolve`]): moves that have ended land, and the one in progress is
//! set up as if each of its legs had had an event. Until then the map may lag behind: it points to pages of the victim that have
//! moved. Such a page is in the same plane, and its die serves no other operation meanwhile, so only writes can see the
//! difference; they dissolve the chain first ([`Ssd::becomes_stale`]).
//!
//! Transfers of a chain are known in advance. Each channel keeps the next one of every chain in a list ordered by time. They enter
//! the ledger of the bus when it is next used ([`Kernel::catch_up`]). Transfers of two chains never overlap: a chain begins only if
//! its transfers meet no other chain's, and all periods are equal.

use crate::config::Config;
use crate::device::flash::Stream;
use crate::device::geometry::Geometry;
use crate::device::timing::Timing;
use crate::device::transaction::{Class, Verb};
use crate::engine::fast::cycles::{Ends, Times};
use crate::engine::fast::passages::{Chain, Kind, PASSAGES, Pace, Passage, Passages};
use crate::engine::fast::{FUSED, Shared};
use crate::engine::kernel::Kernel;
use crate::engine::kernel::ops::Page;
use crate::engine::kernel::timers::Timer;
use crate::engine::rules::Rules;
use crate::engine::{Device, Gc, Nanos, Ssd};
use crate::policy::{Hop, Journey};
use crate::stats::Stats;
use crate::units::{OpId, Ppn, UnitId};

/// Leg of an operation whose collection is a chain.
pub(in crate::engine) const CHAINED: u8 = u8::MAX - 1;

/// A chain is worth its beginning and end from this number of moves on.
const SHORTEST: u32 = 2;

/// Pages of a victim whose entries in the map are prefetched when a chain begins. Most chains end after few moves.
const EXPECTED: usize = 4;

/// The chains of a device.
#[derive(Clone)]
pub(in crate::engine) struct Chains {
    pub(super) of_unit: Vec<Chain>,
    /// By channel: the next transfers of its chains.
    pub(super) passages: Vec<Passages>,
    /// Number of chains.
    pub(super) count: u32,
    /// Number of those whose pages cross a channel.
    crossing: u32,
    pub(super) pace: Pace,
    pub(super) ends: Ends,
    /// The cycles of turns.
    pub(super) cycles: [Times; 8],
}

impl Chains {
    /// `journey`: that of every page, if all travel alike. `holds`: whether collections hold their dies.
    pub(super) fn new(geometry: &Geometry, timing: &Timing, journey: Option<Journey>, holds: bool) -> Self {
        let inside = journey.is_some_and(|journey| journey.out == Hop::Die);
        let transfer = if inside { Nanos::ZERO } else { timing.page() };
        // Chains are formed only where all pages have these times.
        let place = timing.place(0, || (0, false));
        let (read, program) = if inside {
            let times = timing.copyback(&[place], &[place]);
            (times.read, times.program)
        } else {
            (timing.reads(&[place]), timing.programs(&[place]))
        };
        let on_bus = if holds { transfer + transfer } else { transfer };
        let move_time = read + transfer + transfer + program;
        let period = if holds { move_time } else { move_time + move_time };
        let pace = Pace { read, transfer, program, period, on_bus };
        let units = geometry.units as usize;
        let per_channel = units.div_ceil(geometry.channels as usize) * if holds { 1 } else { PASSAGES };
        Chains {
            of_unit: vec![Chain::NONE; units],
            passages: vec![Passages::with_capacity(per_channel); geometry.channels as usize],
            count: 0,
            crossing: 0,
            cycles: Times::all(&pace),
            pace,
            ends: Ends::new(if holds { 0 } else { units }),
        }
    }

    /// Whether there are any.
    #[inline(always)]
    pub(super) fn exist(&self) -> bool {
        self.count > 0
    }

    /// Whether there are any whose pages cross a channel.
    #[inline(always)]
    pub(super) fn cross(&self) -> bool {
        self.crossing > 0
    }

    /// The start of the next transfer on a bus, or never. Only channels have chains, not ports.
    #[inline(always)]
    pub(super) fn next_at(&self, bus: usize) -> Nanos {
        self.passages.get(bus).and_then(Passages::front).map_or(Nanos::NEVER, |first| first.at)
    }

    /// Bytes of a unit's chain.
    pub(in crate::engine) const BYTES: u64 = (size_of::<Chain>() + PASSAGES * size_of::<Passage>()) as u64;

    /// Whether moves have the same length wherever their pages are.
    pub(super) fn fit(config: &Config) -> bool {
        let times = &config.timing;
        times.read.types().len() == 1 && times.program.types().len() == 1 && !times.variation.exists()
    }
}

impl Shared {
    /// The chain whose page is next on a bus, if it is there before `until`.
    #[inline(never)]
    pub(super) fn next_passage(&self, bus: usize, from: Nanos, until: Nanos) -> Option<UnitId> {
        let next = self.chains.passages[bus].iter().find(|passage| passage.at >= from);
        next.filter(|passage| passage.at < until).map(|passage| passage.unit)
    }

    /// Whether a chain uses a bus.
    #[inline(always)]
    pub(super) fn has_passages(&self, bus: usize) -> bool {
        self.chains.cross() && self.chains.passages.get(bus).is_some_and(|passages| !passages.is_empty())
    }

    /// Whether the page of a chain requests the bus now.
    #[inline(always)]
    pub(super) fn passage_begins(&self, bus: usize, now: Nanos) -> bool {
        self.chains.cross() && self.chains.next_at(bus) == now
    }
}

impl Kernel {
    /// A unit has a chain from now on instead of an event of its array.
    pub(super) fn set_chain(&mut self, shared: &mut Shared, unit: UnitId, chain: Chain) {
        shared.chains.of_unit[unit.ix()] = chain;
        shared.chains.count += 1;
        shared.chains.crossing += u32::from(shared.chains.pace.transfer > Nanos::ZERO);
        self.ops[chain.op].leg = CHAINED;
        self.timers.begin_chain(unit, chain.until);
    }

    /// Whether a bus is free at `first` if no other operation requests it from now on.
    pub(super) fn way_is_clear(&self, shared: &Shared, bus: usize, first: Nanos) -> bool {
        let state = &self.buses[bus];
        state.queue.is_empty() && !self.has_bookings(shared, bus) && state.until <= first
    }

    fn enter_transfers(&mut self, shared: &mut Shared, stats: &Stats, bus: usize, now: Nanos) {
        let (pace, passages) = (shared.chains.pace, &mut shared.chains.passages[bus]);
        let (state, last) = (&mut self.buses[bus], stats.last_completion);
        // Those before this time have begun.
        let limit = if self.granted_at == now { now + Nanos(1) } else { now };
        if let Some(at) = passages.pass(limit, &pace) {
            state.begin(true, at, at + pace.on_bus, last);
            passages.pass_all(limit, &pace, |at| state.begin_another(at, pace.on_bus, last));
        }
    }

    /// Programs of chains that have begun and are not counted yet.
    pub(super) fn uncounted_of_chains(&self, shared: &Shared, now: Nanos) -> u64 {
        let pace = &shared.chains.pace;
        let decided = self.decided_at == now;
        let chains = shared.chains.of_unit.iter().filter(|chain| chain.op.is_some());
        let programs = chains.map(|chain| {
            if chain.kind == Kind::Turns {
                return shared.uncounted_of_turns(now, chain);
            }
            let elapsed = (now - chain.start).0;
            let (moves, since) = (elapsed / pace.period.0, elapsed % pace.period.0);
            if pace.transfer == Nanos::ZERO {
                // The first copy was counted when it began.
                moves - u64::from(since == 0 && moves > 0 && !decided)
            } else {
                let back = (pace.read + pace.transfer).0;
                moves + u64::from(since > back || since == back && decided)
            }
        });
        programs.sum()
    }

    /// Enters transfers of chains that have begun into the ledger of a bus. Those that begin at `now` have begun if buses have
    /// been granted since.
    #[inline(always)]
    pub(super) fn catch_up(&mut self, shared: &mut Shared, stats: &Stats, bus: usize, now: Nanos) {
        if shared.chains.cross() && shared.chains.next_at(bus) <= now {
            self.enter_transfers(shared, stats, bus, now);
        }
    }

    /// A move of a plain collection begins at `start`, and its page is set up. If the moves after it can share an event, sets it.
    /// Returns whether it did.
    #[inline(never)]
    pub(in crate::engine) fn form_chain(
        &mut self,
        dev: &Device,
        gc: &Gc,
        shared: &mut Shared,
        stats: &Stats,
        rules: &Rules,
        (id, unit, journey, start): (OpId, UnitId, Journey, Nanos),
    ) -> bool {
        let op = &self.ops[id];
        let bus = op.channel.ix();
        let victim = gc.jobs[op.job.0].job.victims[0];
        let inside = journey.out == Hop::Die;
        let mut moves = u32::from(dev.flash.valid(victim));
        if rules.stages {
            // Pages of the buffer look for a plane that lets the host open a block, so none is opened for GC later than in truth.
            moves = moves.min(dev.flash.room(op.plane, Stream::Gc));
        }
        if moves < SHORTEST {
            return false;
        }
        let pace = shared.chains.pace;
        if !inside {
            self.catch_up(shared, stats, bus, start);
            let first = start + pace.read;
            let free = self.way_is_clear(shared, bus, first);
            if !free || !shared.chains.passages[bus].insert(&[Passage { at: first, unit }], &pace) {
                return false;
            }
        }
        gc.expect_next_moves(self, dev, id);
        let until = start + Nanos(pace.period.0 * u64::from(moves));
        self.set_chain(shared, unit, Chain::new(id, start, until, Kind::Moves));
        true
    }
}

impl Gc {
    /// A collection will move the next pages of its victim soon: their entries in the map are prefetched.
    #[inline(always)]
    pub(super) fn expect_next_moves(&self, kernel: &Kernel, dev: &Device, id: OpId) {
        let job = &self.jobs[kernel.ops[id].job.0].job;
        let next = dev.flash.lpns_from(job.victims[0], job.cursor[0]);
        next.iter().take(EXPECTED).for_each(|lpn| dev.map.expect(*lpn));
    }

    /// The unit of a page whose block is a victim of a chain there, and whether a move that ends now has landed.
    #[inline(never)]
    pub(super) fn chain_of_page(
        &self,
        kernel: &Kernel,
        dev: &Device,
        shared: &Shared,
        page: Ppn,
    ) -> Option<(UnitId, bool)> {
        let unit = dev.geometry.unit_of(dev.geometry.plane_of(page));
        let chain = &shared.chains.of_unit[unit.ix()];
        if chain.op.is_none() {
            return None;
        }
        let (block, mut is_victim) = (dev.geometry.block_of(page), false);
        for id in [chain.op, chain.second].into_iter().filter(|id| id.is_some()) {
            let job = &self.jobs[kernel.ops[id].job.0].job;
            is_victim |= job.victims[..usize::from(job.count)].contains(&block);
        }
        // A move that ends now has landed, unless a command that ends before it drops the page.
        is_victim.then(|| (unit, kernel.ops[chain.op].age < kernel.ending_age))
    }
}

impl Ssd {
    pub(super) fn meet_chains_of(&mut self, bus: usize) {
        let now = self.now;
        self.kernel.catch_up(&mut self.shared, &self.stats, bus, now);
        if self.fast.turns {
            // A request of one of its own would be an event.
            return;
        }
        let Some(passages) = self.shared.chains.passages.get(bus) else { return };
        let Some(first) = passages.front() else { return };
        let met = if first.at == now {
            Some(first.unit)
        } else if self.kernel.buses[bus].until > now {
            // If one is on its way, it began last.
            let pace = &self.shared.chains.pace;
            let begun = |passage: &Passage| passage.at.0.saturating_sub(pace.period.0);
            let out = |passage: &&Passage| (begun(passage)..=begun(passage) + pace.transfer.0).contains(&now.0);
            passages.back().filter(out).map(|passage| passage.unit)
        } else {
            None
        };
        if let Some(unit) = met {
            self.dissolve(unit, now, true);
        }
    }

    /// A collector's step begins now. If it is the first of several plain moves, they share an event. Returns whether they do.
    #[inline(never)]
    pub(in crate::engine) fn begin_chain(&mut self, id: OpId, unit: UnitId) -> bool {
        let op = &self.kernel.ops[id];
        let Some(journey) = self.rules.plain_moves else { return false };
        let verb = if journey.out == Hop::Die { Verb::Copyback } else { Verb::Read };
        let running = &self.gc.jobs[op.job.0];
        let plain = op.verb == verb && op.class == Class::Gc && op.pages.len() == 1 && running.job.count == 1;
        let alike = !running.fetches && running.stream == Stream::Gc && running.journey == journey;
        plain
            && alike
            && self.gc.continues_alone(&self.kernel, &self.dev, &self.host, &self.rules, op.job, unit)
            && self.kernel.form_chain(
                &self.dev,
                &self.gc,
                &mut self.shared,
                &self.stats,
                &self.rules,
                (id, unit, journey, self.now),
            )
    }

    /// The last moves of chains end at `time`, which comes next: sets them up, each with an event of its own.
    #[inline(never)]
    pub(in crate::engine) fn end_chains(&mut self, time: Nanos) {
        while self.kernel.timers.next_chain() == time {
            let unit = self.kernel.timers.first_chain();
            self.dissolve(unit, time, false);
        }
    }

    /// Ends a chain at `now`: moves that have ended land, and the one in progress is set up as if each of its legs had had an
    /// event. What ends now, and has not been handled yet, is handled here if this is `within` a round; otherwise it gets its
    /// event.
    #[inline(never)]
    pub(super) fn dissolve(&mut self, unit: UnitId, now: Nanos, within: bool) {
        let chain = std::mem::replace(&mut self.shared.chains.of_unit[unit.ix()], Chain::NONE);
        let (id, pace) = (chain.op, self.shared.chains.pace);
        let inside = pace.transfer == Nanos::ZERO;
        let bus = self.kernel.ops[id].channel.ix();
        if !inside {
            self.kernel.catch_up(&mut self.shared, &self.stats, bus, now);
            self.shared.chains.passages[bus].remove(unit);
            self.shared.chains.crossing -= 1;
        }
        self.shared.chains.count -= 1;
        self.kernel.timers.clear_chain(unit);
        match chain.kind {
            Kind::Moves => {}
            Kind::Joint => return self.end_joint(&chain, unit, now, within),
            Kind::Turns => return self.end_turns(&chain, unit, now),
        }
        let elapsed = (now - chain.start).0;
        let (mut ended, mut since) = (elapsed / pace.period.0, elapsed % pace.period.0);
        // A move ends now: if collectors have decided since, the next one has begun.
        if since == 0 && ended > 0 && self.kernel.decided_at != now {
            (ended, since) = (ended - 1, pace.period.0);
        }
        self.land_chain(id, chain.start, ended as u32, inside);
        let begun = chain.start + Nanos(ended * pace.period.0);
        let read_out = pace.read.0;
        let due = if inside {
            begun + pace.period
        } else if since < read_out || (since == read_out && self.kernel.granted_at != now) {
            begun + pace.read
        } else {
            let half = begun + pace.read + pace.transfer;
            if now <= half {
                let state = &mut self.kernel.buses[bus];
                state.fused = id;
                state.half = half;
            }
            self.kernel.ops[id].leg = FUSED;
            self.kernel.fused = true;
            begun + pace.period
        };
        if within && due == now {
            self.end_array_of_move(unit);
        } else {
            self.kernel.timers.begin(Timer::Array(unit), due);
        }
    }

    /// The array time of a move ends at the moment at which its chain is dissolved, too late for an event: its page asks for the bus, or
    /// has moved. Only what collections call is called here, so that dissolving a chain never leads into a request.
    pub(super) fn end_array_of_move(&mut self, unit: UnitId) {
        self.watch_array_end(unit);
        let id = self.kernel.dies[unit].array();
        let op = &mut self.kernel.ops[id];
        if op.leg == FUSED {
            return self.fused_move_ends(id);
        }
        op.leg += 1;
        match op.legs.get(op.leg) {
            Some(_) => {
                let bus = op.channel.ix();
                self.ask(id, bus);
            }
            None => self.step_is_over(id),
        }
    }

    /// The first `ended` moves of a chain land; the next one becomes that of its operation.
    fn land_chain(&mut self, id: OpId, start: Nanos, ended: u32, inside: bool) {
        if ended == 0 {
            self.kernel.ops[id].leg = 0;
            return;
        }
        let (pace, count) = (self.shared.chains.pace, u64::from(ended));
        let op = &self.kernel.ops[id];
        let (job, from, to, tag, plane) =
            (op.job, op.from[0], op.pages[0], self.kernel.ops[Page(id)].tags[0], op.plane);
        let mut first = self.dev.geometry.offset(from);
        let mut landing = ended as usize;
        let victim = self.gc.jobs[job.0].job.victims[0];
        self.dev.date_closings(self.now);
        let mut landed_before = 0;
        if inside {
            // Its page was taken, and its time counted, when it began.
            self.land_one(from, to, tag, false);
            (first, landing, landed_before) = (first + 1, landing - 1, 1);
            if self.dev.flash.has_undated() {
                self.dev.flash.date_closings(start + pace.period);
            }
        }
        let landed_at = |moved: usize| start + Nanos(pace.period.0 * (landed_before + moved as u64));
        self.gc.moving.list_some(&self.dev.flash, plane, victim, first, landing);
        let (kernel, oracle) = (&mut self.kernel, &mut self.oracle);
        let next = self.dev.move_some(kernel, &self.features, oracle, &self.gc.moving, first, landed_at);
        self.stats.count_sorted((landing) as u64);
        let time = if inside { count - 1 } else { count };
        self.stats.gc_time.read += time * pace.read.0;
        self.stats.gc_time.transfer += count * pace.on_bus.0;
        self.stats.gc_time.program += time * pace.program.0;
        self.stats.count_moves(if inside { Journey::COPYBACK } else { Journey::EXTERNAL }, count);
        self.gc.jobs[job.0].job.cursor[0] = next + 1;
        let page = self.dev.geometry.page(victim, next);
        if inside {
            self.kernel.copy_one(&mut self.dev, &mut self.stats, &self.oracle, &self.rules, id, page);
        } else {
            self.kernel.fetch_one(&self.dev, &self.oracle, id, page);
        }
    }
}
