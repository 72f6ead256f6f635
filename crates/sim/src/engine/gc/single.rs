//! Moves of one page on devices whose pages are treated alike: the steps of [`crate::engine::gc::collect`] without cases that cannot occur there.

use crate::device::command::Command;
use crate::device::flash::Stream;
use crate::device::transaction::{Class, Verb};
use crate::engine::kernel::Kernel;
use crate::engine::kernel::ops::Page;
use crate::engine::kernel::timers::Timer;
use crate::engine::rules::Rules;
use crate::engine::{Device, Gc, Ssd};
use crate::oracle::Oracle;
use crate::policy::{Hop, Journey, PageSet};
use crate::stats::Stats;
use crate::units::{JobId, Nanos, OpId, PlaneId, Ppn, Tag};

impl Kernel {
    /// Sets up the erase of so many blocks.
    #[inline(always)]
    pub(in crate::engine) fn begin_erase(&mut self, dev: &Device, stats: &mut Stats, op: OpId, blocks: u64) {
        stats.count_erases(blocks);
        let op = &mut self.ops[op];
        op.verb = Verb::Erase;
        op.legs = dev.timing.legs(Command::Erase);
    }

    /// The only page of a move is read: its tag is loaded. Its map entry is needed when it lands.
    #[inline(always)]
    fn load_moving(&mut self, dev: &Device, oracle: &Oracle, id: OpId, page: Ppn) {
        let lpn = dev.flash.lpn_of(page);
        dev.map.expect(lpn);
        self.ops[Page(id)].tags[0] = oracle.load(page, lpn);
    }

    /// Sets up the read of a one-page move: [`Ssd::begin_move`] if all pages are treated alike. Returns its array time.
    #[inline(never)]
    pub(in crate::engine) fn fetch_one(&mut self, dev: &Device, oracle: &Oracle, id: OpId, page: Ppn) -> Nanos {
        self.load_moving(dev, oracle, id, page);
        let transfer = dev.timing.page();
        let array = dev.timing.steady_read(|| dev.geometry.offset(page));
        let op = &mut self.ops[id];
        op.verb = Verb::Read;
        op.pages = PageSet::one(page);
        op.from = op.pages;
        op.legs.set_command_read(dev.timing.command(), array, transfer);
        op.leg = 0;
        array
    }

    /// Sets up the program of a moved page to a newly taken page of a plane, if all pages are treated alike.
    #[inline(never)]
    pub(in crate::engine) fn place_one(
        &mut self,
        dev: &mut Device,
        stats: &mut Stats,
        rules: &Rules,
        id: OpId,
        plane: PlaneId,
    ) {
        let to = dev.gc_page(rules, plane, Stream::Gc, false);
        stats.count_programs(Class::Gc, 1);
        let transfer = dev.timing.page();
        let array = dev.timing.steady_program(|| dev.geometry.offset(to));
        let op = &mut self.ops[id];
        op.pages = PageSet::one(to);
        op.legs.set_program(dev.timing.command() + transfer, array);
        op.leg = 0;
    }

    /// The same for the copyback of a page to a newly taken page.
    #[inline(always)]
    pub(in crate::engine) fn copy_one(
        &mut self,
        dev: &mut Device,
        stats: &mut Stats,
        oracle: &Oracle,
        rules: &Rules,
        id: OpId,
        page: Ppn,
    ) -> Nanos {
        let to = dev.gc_page(rules, self.ops[id].plane, Stream::Gc, true);
        self.load_moving(dev, oracle, id, page);
        let offset = |page| dev.geometry.offset(page);
        let (read, program) = dev.timing.steady_copyback(|| offset(page), || offset(to));
        stats.gc_time.read += read.0;
        stats.gc_time.program += program.0;
        let op = &mut self.ops[id];
        op.verb = Verb::Copyback;
        op.from = PageSet::one(page);
        op.pages = PageSet::one(to);
        // Nothing can come between the two.
        op.legs.set_read(read + program, Nanos::ZERO);
        op.leg = 0;
        read + program
    }

    /// Sets up the program of the only page in hand on a device whose pages are treated alike: [`Gc::begin_place`] without cases
    /// that cannot occur there. Returns whether it did.
    #[inline(always)]
    pub(in crate::engine) fn places_alone(
        &mut self,
        dev: &mut Device,
        gc: &Gc,
        stats: &mut Stats,
        rules: &Rules,
        id: OpId,
    ) -> bool {
        let op = &self.ops[id];
        let (running, plane) = (&gc.jobs[op.job.0], op.plane);
        let hand = running.job.hand;
        if hand.len() != 1 || running.stream != Stream::Gc {
            return false;
        }
        self.ops[id].from = hand;
        self.place_one(dev, stats, rules, id, plane);
        true
    }

    /// A move of one page begins on a device whose pages are treated alike. Returns the time of its first leg.
    #[inline(always)]
    fn begin_alone(
        &mut self,
        dev: &mut Device,
        stats: &mut Stats,
        oracle: &Oracle,
        rules: &Rules,
        (id, page, journey): (OpId, Ppn, Journey),
    ) -> Nanos {
        dev.flash.read_begins(dev.geometry.block_of(page));
        if journey.out == Hop::Die {
            stats.count_copybacks(1);
            self.copy_one(dev, stats, oracle, rules, id, page)
        } else {
            stats.count_reads(Class::Gc, 1);
            self.fetch_one(dev, oracle, id, page)
        }
    }
}

impl Gc {
    /// All pages of the only victim of a collection have moved: its erase is set up, and its first leg follows.
    #[inline(always)]
    pub(in crate::engine) fn erase_alone(
        &mut self,
        kernel: &mut Kernel,
        dev: &Device,
        stats: &mut Stats,
        id: JobId,
    ) -> OpId {
        let running = &mut self.jobs[id.0];
        let (unit, op) = (running.unit, running.op);
        running.busy = true;
        running.fetches = false;
        kernel.begin_erase(dev, stats, op, 1);
        kernel.dies[unit].occupy(op);
        kernel.ops[op].leg = 0;
        op
    }

    /// Sets up a move of one page, if it is one, on a device whose pages are treated alike: [`Ssd::begin_move`] without cases that
    /// cannot occur there. Returns whether it did.
    #[inline(always)]
    pub(in crate::engine) fn begins_alone(
        &mut self,
        kernel: &mut Kernel,
        dev: &mut Device,
        stats: &mut Stats,
        oracle: &Oracle,
        rules: &Rules,
        id: OpId,
    ) -> bool {
        let op = &kernel.ops[id];
        let running = &mut self.jobs[op.job.0];
        let Some(journey) = rules.plain_moves.filter(|_| op.pages.len() == 1) else { return false };
        if running.fetches || running.stream != Stream::Gc {
            return false;
        }
        running.journey = journey;
        let page = op.pages[0];
        kernel.begin_alone(dev, stats, oracle, rules, (id, page, journey));
        true
    }
}

impl Ssd {
    /// A move of one page begins in the short way, if it can. Returns whether it did.
    #[inline(always)]
    pub(in crate::engine) fn begins_alone(&mut self, op: OpId) -> bool {
        let (kernel, dev, stats) = (&mut self.kernel, &mut self.dev, &mut self.stats);
        self.gc.begins_alone(kernel, dev, stats, &self.oracle, &self.rules, op)
    }

    /// If the next step of a collection that holds its die is a plain move, begins it. Equals the collector's next step and
    /// [`Ssd::carry_out`], without cases that cannot occur here. Returns whether it did.
    #[inline(never)]
    pub(in crate::engine) fn moves_on(&mut self, id: JobId) -> bool {
        let Some(journey) = self.rules.plain_moves else { return false };
        let running = &self.gc.jobs[id.0];
        let (unit, op) = (running.unit, running.op);
        if running.job.count > 1
            || !running.job.hand.is_empty()
            || !self.gc.continues_alone(&self.kernel, &self.dev, &self.host, &self.rules, id, unit)
        {
            return false;
        }
        let view = self.dev.view(self.now);
        let running = &mut self.gc.jobs[id.0];
        let Some(page) = running.job.next_valid(&view, 0) else { return false };
        running.busy = true;
        running.fetches = false;
        running.stream = Stream::Gc;
        running.journey = journey;
        let (dev, stats) = (&mut self.dev, &mut self.stats);
        let time = self.kernel.begin_alone(dev, stats, &self.oracle, &self.rules, (op, page, journey));
        self.kernel.dies[unit].occupy(op);
        if !self.kernel.form_chain(
            &self.dev,
            &self.gc,
            &mut self.shared,
            &self.stats,
            &self.rules,
            (op, unit, journey, self.now),
        ) {
            self.kernel.timers.begin(Timer::Array(unit), self.now + time);
        }
        true
    }

    /// A move of one page has been programmed: it lands ([`Ssd::land`]).
    #[inline(always)]
    pub(in crate::engine) fn land_one(&mut self, from: Ppn, to: Ppn, tag: Tag, corrected: bool) {
        self.land_moved(from, to, tag, corrected);
        self.stats.sort_lone(1);
    }
}
