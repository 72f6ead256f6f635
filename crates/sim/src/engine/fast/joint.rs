//! Chains of joint collections: the moves of a collection of two planes in one event.
//!
//! Every move is one copyback, of two pages or one, and nothing else happens in the die. The collector says how many moves remain
//! ([`crate::policy::Collector::outlook`]), so their end is known. When the chain ends, the collector is asked for one move after
//! the other, up to the one in progress; their pages land plane by plane.

use crate::device::flash::Stream;
use crate::device::geometry::Geometry;
use crate::device::timing::Timing;
use crate::device::transaction::{Class, Verb};
use crate::engine::fast::Shared;
use crate::engine::fast::passages::{Chain, Kind};
use crate::engine::kernel::Kernel;
use crate::engine::kernel::timers::Timer;
use crate::engine::rules::Rules;
use crate::engine::{Device, Features, Gc, Policies, Ssd};
use crate::oracle::{Check, Oracle};
use crate::policy::{PageSet, Step, View};
use crate::stats::Stats;
use crate::units::{Lpn, Nanos, OpId, PlaneId, Ppn, UnitId};

/// Kinds of moves: of two pages that are read together, of two that are read one after the other, of one.
const KINDS: usize = 3;

/// What chains of joint collections need.
#[derive(Clone)]
pub(in crate::engine) struct Joint {
    /// By kind of move: array times of its reads and of its program.
    times: [(Nanos, Nanos); KINDS],
    /// By plane of the unit: pages that land.
    landing: [Landing; 2],
}

/// Pages of a plane that have moved and not landed yet.
#[derive(Clone, Default)]
struct Landing {
    lpns: Vec<Lpn>,
    moves: Vec<Moved>,
}

#[derive(Clone, Copy)]
struct Moved {
    from: Ppn,
    stream: Stream,
    /// When it has landed.
    at: Nanos,
}

impl Joint {
    pub(super) fn new(geometry: &Geometry, timing: &Timing) -> Self {
        let times = |from: &[u32]| {
            let from: Vec<_> = from.iter().map(|offset| timing.place(*offset, || (0, false))).collect();
            let times = timing.copyback(&from, &[timing.place(0, || (0, false)); 2][..from.len()]);
            (times.read, times.program)
        };
        let second = 1 % geometry.pages_per_block;
        Joint { times: [times(&[0, 0]), times(&[0, second]), times(&[0])], landing: Default::default() }
    }

    fn time(&self, kind: usize) -> Nanos {
        self.times[kind].0 + self.times[kind].1
    }

    /// A move has ended, whose pages are valid: they leave their blocks. `demanding`: the first of them is in the plane that triggered the
    /// collection.
    fn depart(
        &mut self,
        dev: &mut Device,
        stats: &mut Stats,
        (pages, stream): (&PageSet, Stream),
        demanding: bool,
        kind: usize,
        at: Nanos,
    ) {
        let (read, program) = self.times[kind];
        stats.gc_time.read += read.0;
        stats.gc_time.program += program.0;
        stats.count_copybacks(pages.len() as u64);
        let moves = &mut stats.moves;
        *match (kind, demanding) {
            (0, _) => &mut moves.pard_pawr,
            (1, _) => &mut moves.srrd_pawr,
            (_, true) => &mut moves.srrd_srwr_d,
            (_, false) => &mut moves.srrd_srwr_nd,
        } += pages.len() as u64;
        for from in pages.iter().copied() {
            stats.count_moved(false);
            let lpn = dev.flash.lpn_of(from);
            dev.map.expect(lpn);
            dev.flash.invalidate(from, dev.geometry.block_of(from), lpn);
            let k = dev.geometry.plane_in_unit(dev.geometry.plane_of(from));
            let landing = &mut self.landing[k as usize];
            landing.lpns.push(lpn);
            landing.moves.push(Moved { from, stream, at });
        }
    }
}

impl Device {
    fn kind_of(&self, pages: &PageSet) -> usize {
        let offset = |page| self.geometry.offset(page);
        if pages.len() == 1 { 2 } else { usize::from(offset(pages[0]) != offset(pages[1])) }
    }

    fn land_in(
        &mut self,
        kernel: &mut Kernel,
        features: &Features,
        oracle: &mut Oracle,
        rules: &Rules,
        plane: PlaneId,
        landing: &Landing,
    ) {
        let Landing { lpns, moves } = landing;
        let mut next = 0;
        while let Some(first) = moves.get(next) {
            let point = self.write_point(rules, plane, first.stream, true);
            let alike = moves[next..].iter().take_while(|other| other.stream == first.stream).count();
            let (to, count) = self.flash.program_run(plane, point, true, &lpns[next..next + alike]);
            let moved = &moves[next..next + count];
            let (some, from) = (&lpns[next..next + count], |n: usize| moved[n].from);
            self.follow_moves(kernel, features, some, from, to, &[]);
            oracle.carry(some, from, to);
            next += count;
            if self.flash.has_undated() {
                self.flash.date_closings(moves[next - 1].at);
            }
        }
    }

    /// Pages that have left their blocks land, plane by plane.
    fn land_departed(
        &mut self,
        kernel: &mut Kernel,
        features: &Features,
        shared: &mut Shared,
        oracle: &mut Oracle,
        rules: &Rules,
        unit: UnitId,
    ) {
        for k in 0..2 {
            let plane = self.geometry.plane_of_unit(unit, k);
            let mut landing = std::mem::take(&mut shared.joint.landing[k as usize]);
            self.land_in(kernel, features, oracle, rules, plane, &landing);
            landing.lpns.clear();
            landing.moves.clear();
            shared.joint.landing[k as usize] = landing;
        }
        let point = |k| self.flash.next_offset(self.geometry.plane_of_unit(unit, k), Stream::Aligned);
        law_eq!(point(0), point(1), "law: multi-plane programs have equal offsets");
    }
}

impl Gc {
    /// The collector's next step, which is a move.
    fn next_joint(
        &mut self,
        kernel: &Kernel,
        dev: &Device,
        schemes: &mut Policies,
        now: Nanos,
        id: OpId,
    ) -> (PageSet, Stream) {
        let running = &mut self.jobs[kernel.ops[id].job.0];
        let step = schemes.collector.policy().next(&dev.view(now), &mut running.job);
        let Step::Move(pages, stream) = step else {
            panic!("law: a collection has as many moves as its collector has counted, not {step:?}")
        };
        running.stream = stream;
        (pages, stream)
    }
}

impl Kernel {
    /// A move of a collection of two planes begins now. If the moves after it are known, they share an event. Returns whether
    /// they do.
    #[inline(never)]
    pub(in crate::engine) fn join_chain(
        &mut self,
        view: &View,
        gc: &Gc,
        shared: &mut Shared,
        schemes: &Policies,
        oracle: &Oracle,
        (id, unit): (OpId, UnitId),
    ) -> bool {
        let op = &self.ops[id];
        if op.verb != Verb::Copyback || op.class != Class::Gc {
            return false;
        }
        let running = &gc.jobs[op.job.0];
        let outlook = schemes.collector.policy_ref().outlook(view, &running.job, &op.from);
        let Some(moves) = outlook else { return false };
        if oracle.check() == Check::Full && self.copies_now(view.geometry) {
            schemes.rehearse_outlook(view, running.job.clone(), &op.from, moves);
        }
        let Some(first) = op.legs.get(0) else { return false };
        let counts: [u32; KINDS] = [moves.together, moves.apart, moves.single];
        if counts.iter().sum::<u32>() == 0 {
            return false;
        }
        let joint = &shared.joint;
        let rest: u64 = (0..KINDS).map(|kind| u64::from(counts[kind]) * joint.time(kind).0).sum();
        let start = view.now;
        let until = start + first.time + Nanos(rest);
        self.set_chain(shared, unit, Chain::new(id, start, until, Kind::Joint));
        true
    }
}

impl Ssd {
    /// Ends a chain at `now`: carries out its moves up to then. The one in progress gets its event; if it ends now and has not
    /// been handled yet, it is handled here if this is `within` a round.
    #[inline(never)]
    pub(super) fn end_joint(&mut self, chain: &Chain, unit: UnitId, now: Nanos, within: bool) {
        let id = chain.op;
        self.dev.date_closings(self.now);
        // A move ends now: if collectors have decided since, the next one has begun.
        let decided = self.kernel.decided_at == now;
        let over = |ends: Nanos| ends < now || ends == now && decided;
        let mut ends = chain.start + self.kernel.ops[id].legs.get(0).map_or(Nanos::ZERO, |leg| leg.time);
        if over(ends) {
            self.dev.end_reads(&self.kernel, id);
            self.land(id);
            if self.dev.flash.has_undated() {
                self.dev.flash.date_closings(ends);
            }
            let pages = loop {
                law!(ends < chain.until, "law: a collection has as many moves as its collector has counted");
                let (pages, stream) = self.gc.next_joint(&self.kernel, &self.dev, &mut self.schemes, self.now, id);
                let kind = self.dev.kind_of(&pages);
                let end = ends + self.shared.joint.time(kind);
                if !over(end) {
                    ends = end;
                    break pages;
                }
                let demanding = self.gc.jobs[self.kernel.ops[id].job.0].plane == self.dev.geometry.plane_of(pages[0]);
                let joint = &mut self.shared.joint;
                joint.depart(&mut self.dev, &mut self.stats, (&pages, stream), demanding, kind, end);
                ends = end;
            };
            let (features, shared, oracle) = (&self.features, &mut self.shared, &mut self.oracle);
            self.dev.land_departed(&mut self.kernel, features, shared, oracle, &self.rules, unit);
            self.kernel.ops[id].verb = Verb::Read;
            self.kernel.ops[id].pages = pages;
            self.begin_move(id);
        }
        self.kernel.ops[id].leg = 0;
        if within && ends == now {
            self.end_array_of_move(unit);
        } else {
            self.kernel.timers.begin(Timer::Array(unit), ends);
        }
    }
}
