//! GC: how the steps of collections are executed. The collector chooses them.

use crate::config::Destination;
use crate::device::command::Command;
use crate::device::flash::Stream;
use crate::device::mapping::Location;
use crate::device::transaction::{Class, Op, Verb};
use crate::engine::kernel::dies::Holder;
use crate::engine::kernel::ops::Page;
use crate::engine::slc::{folds, steps};
use crate::engine::spine::beside;
use crate::engine::spine::jobs::{begin_job, seize_for_job};
use crate::engine::{Pause, Ssd, life};
use crate::policy::{Hop, Job, Journey, MAX_PLANES, PageSet, Step};
use crate::units::{JobId, Lpn, Nanos, OpId, PlaneId, Ppn, Tag, UnitId};

impl Ssd {
    /// Collector decisions: steps of collections whose last step has ended, and starts of due collections.
    #[inline(always)]
    pub(in crate::engine) fn decide(&mut self) {
        let none_starts = self.kernel.dies.dirty.is_empty() || !self.kernel.dies.any_due() && !self.rules.looks;
        if !none_starts || !self.gc.ready.is_empty() {
            self.decide_all();
        }
    }

    fn decide_all(&mut self) {
        loop {
            self.decide_ready();
            let mut i = 0;
            while i < self.kernel.dies.dirty.len() {
                let unit = self.kernel.dies.dirty[i];
                if self.rules.looks {
                    self.look_before_collections(unit);
                }
                if self.may_start(unit) {
                    self.kernel.dies.due.push(unit);
                }
                i += 1;
            }
            self.start_all_due();
            if self.gc.ready.is_empty() {
                return;
            }
        }
    }

    /// Before collections start on a unit: a paused one may resume, and an idle die may be collected.
    #[inline(always)]
    fn look_before_collections(&mut self, unit: UnitId) {
        let state = &self.kernel.dies[unit];
        if state.job.is_some() && state.is_free() && self.gc.jobs[state.job.0].pause != Pause::No {
            self.try_resume(unit);
        }
        if self.rules.idles {
            beside::work_in_idle_time(self, unit);
        }
    }

    /// Takes the next steps of collections whose last step has ended, oldest first.
    #[inline(always)]
    pub(in crate::engine) fn decide_ready(&mut self) {
        while !self.gc.ready.is_empty() {
            let job = self.oldest_ready();
            self.step(job);
        }
    }

    /// Removes the oldest collection whose last step has ended.
    #[inline]
    fn oldest_ready(&mut self) -> JobId {
        let mut first = 0;
        if self.gc.ready.len() > 1 {
            let age = |job: JobId| self.kernel.ops[self.gc.jobs[job.0].op].age;
            first = (0..self.gc.ready.len()).min_by_key(|i| age(self.gc.ready[*i])).unwrap_or(0);
        }
        self.gc.ready.swap_remove(first)
    }

    /// Starts due collections, by unit: ages must not depend on the order in which units were marked.
    #[inline(always)]
    fn start_all_due(&mut self) {
        if self.kernel.dies.due.len() > 1 {
            self.kernel.dies.due.sort_unstable();
        }
        for i in 0..self.kernel.dies.due.len() {
            self.start_due(self.kernel.dies.due[i]);
        }
        self.kernel.dies.due.clear();
    }

    /// Whether a collection is due on a unit and may start.
    #[inline(always)]
    fn may_start(&self, unit: UnitId) -> bool {
        let state = &self.kernel.dies[unit];
        !state.due().is_empty() && (!self.rules.collector_holds || state.is_free() && state.job.is_none())
    }

    #[inline(never)]
    fn start_due(&mut self, unit: UnitId) {
        if !self.rules.collector_holds {
            while !self.kernel.dies[unit].due().is_empty() {
                let plane = self.kernel.dies.pop_due(unit);
                self.start_collection(plane, unit);
            }
            return;
        }
        while self.may_start(unit) {
            let plane = self.kernel.dies.pop_due(unit);
            self.start_collection(plane, unit);
        }
    }

    /// Selects a victim and begins. A plane without one is not tested again until its next program.
    fn start_collection(&mut self, plane: PlaneId, unit: UnitId) {
        if self.rules.tests_beside && beside::starts_beside(self, plane, unit) {
            return;
        }
        if self.gc.postponed.is_some() && self.gc.puts_off(&self.kernel, plane) {
            return;
        }
        let Some(victim) = self.pick_victim(plane) else {
            self.gc.claimed.remove(plane);
            return;
        };
        let mut job = Job::new(victim);
        let planes = self.join_planes(plane, unit, &mut job);
        self.check_promised_steps(&job, true);
        for victim in &job.victims[..usize::from(job.count)] {
            self.dev.flash.begin_collection(*victim);
            self.dev.flash.expect_run(self.dev.geometry.plane_of_block(*victim), *victim);
        }
        begin_job(self, job, planes, plane, unit, None);
    }

    /// Asks the collector which other planes of the die join, and adds their victims. A plane without a victim that has an
    /// invalid page does not join. Returns the participating planes, as bits by index in the unit.
    pub(in crate::engine) fn join_planes(&mut self, plane: PlaneId, unit: UnitId, job: &mut Job) -> u64 {
        let mut planes = 1 << self.dev.geometry.plane_in_unit(plane);
        for k in 0..self.dev.geometry.planes_per_unit {
            let other = self.dev.geometry.plane_of_unit(unit, k);
            let same_die = self.dev.geometry.die_of(other) == self.dev.geometry.die_of(plane);
            let joins = other != plane
                && same_die
                && !self.gc.stays_out(other)
                && !(self.rules.mixed && self.gc.is_collected(unit, k))
                && usize::from(job.count) < MAX_PLANES
                && self.schemes.collector.policy_ref().joins(&self.dev.view(self.now), plane, other);
            if !joins {
                continue;
            }
            let victim = if self.dev.has_garbage(other) { self.pick_victim(other) } else { None };
            self.stats.parties.without_partner += u64::from(victim.is_none());
            if let Some(victim) = victim {
                // If it was due itself, that is done now.
                self.kernel.dies.drop_due(unit, other);
                self.gc.claimed.insert(other);
                job.join(victim);
                planes |= 1 << k;
            }
        }
        planes
    }

    /// Asks the collector for a job's next step, and begins it or queues it on the die.
    #[inline(never)]
    fn step(&mut self, id: JobId) {
        let running = &mut self.gc.jobs[id.0];
        debug_assert!(!running.busy);
        if running.holds && self.kernel.dies[running.unit].array().is_some() {
            // A page of another collection, admitted meanwhile, is being programmed; its end calls this again.
            running.waiting = true;
            return;
        }
        self.note_contention(id);
        if self.rules.preempts && self.pauses_for_host(id) {
            return;
        }
        if self.rules.units {
            return self.unit_step(id);
        }
        if self.rules.metadata && self.gc.jobs[id.0].metadata.any() {
            return self.metadata_step(id);
        }
        if self.fast.chains && !self.rules.stages && self.moves_on(id) {
            return;
        }
        let running = &mut self.gc.jobs[id.0];
        let collector = self.schemes.collector_of(&mut running.former);
        let mut step = collector.next(&self.dev.view(self.now), &mut running.job);
        while let Step::Skip(victim, pages, stream) = step {
            let block = running.job.victims[victim];
            let plane = self.dev.geometry.plane_of_block(block);
            self.dev.flash.skip_pages(plane, stream, pages);
            self.stats.flash.programs.waste(pages);
            if let Some(nvme) = &mut self.features.nvme {
                nvme.skips(&self.dev, block, pages);
            }
            step = collector.next(&self.dev.view(self.now), &mut running.job);
        }
        if self.rules.stages {
            let Some(rest) = self.carry_staging(id, step) else { return };
            step = rest;
        }
        let running = &mut self.gc.jobs[id.0];
        let op = running.op;
        running.fetches = false;
        match step {
            Step::Move(pages, stream) | Step::Fetch(pages, stream) => {
                running.stream = stream;
                running.fetches = matches!(step, Step::Fetch(..));
                self.kernel.ops[op].verb = Verb::Read;
                self.kernel.ops[op].pages = pages;
            }
            Step::Reserve(_) | Step::Stage => unreachable!("law: pages are staged in a buffer with slots"),
            Step::Place => self.kernel.ops[op].verb = Verb::Program,
            Step::Erase if running.abroad > 0 => {
                // Pages in flight to other dies land first; the last one calls this again. Meanwhile this die admits pages of
                // other collections: otherwise two collections could wait for each other forever.
                running.waiting = true;
                let unit = running.unit;
                return self.kernel.dies.mark(unit);
            }
            Step::Erase => self.kernel.ops[op].verb = Verb::Erase,
            Step::Done => return self.end_collection(id),
            Step::Skip(..) => unreachable!("carried out above, in no time"),
        }
        self.carry_out(id);
    }

    /// Begins the step for which a job's operation is set up, or queues it.
    #[inline(always)]
    pub(in crate::engine) fn carry_out(&mut self, id: JobId) {
        let running = &mut self.gc.jobs[id.0];
        running.busy = true;
        let (unit, plane, op) = (running.unit, running.plane, running.op);
        if running.holds {
            self.begin_step(id, unit);
        } else if !self.begins_in_vacant_die(op, unit) {
            self.kernel.ops[op].waits_since = self.now;
            self.enqueue(op, plane, false);
        }
    }

    /// A queued step has reached the head of its unit's queue.
    pub(in crate::engine) fn begin_queued_step(&mut self, op: OpId, unit: UnitId) {
        let job = self.kernel.ops[op].job;
        if self.kernel.ops[op].verb == Verb::Read && self.kernel.ops[op].class != Class::Metadata {
            // Pages that the host overwrote while the step waited need not be moved.
            let pages = self.kernel.ops[op].pages;
            let mut valid = PageSet::EMPTY;
            let moves = |page: &&Ppn| {
                if self.rules.units { self.dev.flash.valid_units(**page) != 0 } else { self.dev.flash.is_valid(**page) }
            };
            pages.iter().filter(moves).for_each(|page| valid.push(*page));
            self.kernel.ops[op].pages = valid;
            if valid.is_empty() {
                self.gc.jobs[job.0].busy = false;
                return self.gc.ready.push(job);
            }
        }
        seize_for_job(self, job);
        self.begin_step(job, unit);
    }

    /// The step holds the die: takes destination pages, sets up the legs, and runs the first one.
    fn begin_step(&mut self, id: JobId, unit: UnitId) {
        let op = self.gc.jobs[id.0].op;
        let verb = self.kernel.ops[op].verb;
        match verb {
            _ if self.kernel.ops[op].class == Class::Metadata => self.begin_metadata_step(op),
            _ if self.kernel.ops[op].class == Class::Fold => steps::begin_step(self, id, op),
            Verb::Read if (self.fast.moves || self.fast.steps) && self.begins_alone(op) => {}
            Verb::Read if self.rules.units => self.begin_unit_move(op),
            Verb::Read => self.begin_move(op),
            Verb::Program if self.rules.units => self.begin_unit_place(id),
            Verb::Program if (self.fast.moves || self.fast.steps) && self.places_alone(op) => {}
            Verb::Program => {
                if self.sends_abroad(id) {
                    return;
                }
                self.begin_place(id);
            }
            Verb::Erase => {
                self.segment_erased(id);
                let count = u64::from(self.gc.jobs[id.0].job.count);
                if self.rules.handles {
                    self.dev.flash.count_erased(self.gc.jobs[id.0].job.victims[0]);
                }
                self.kernel.begin_erase(
                    &self.dev,
                    &mut self.stats,
                    op,
                    count * u64::from(self.dev.geometry.slots.planes),
                );
            }
            Verb::Copyback => unreachable!("a move becomes a copyback when it begins"),
        }
        self.kernel.dies[unit].occupy(op);
        self.kernel.ops[op].leg = 0;
        let chained = self.fast.chains && self.begin_chain(op, unit)
            || self.fast.joint && self.join_chain(op, unit)
            || self.fast.turns && self.kernel.ops[op].verb == Verb::Read && self.take_turns(op, unit);
        if !chained {
            self.run_leg(op);
        }
    }

    pub(in crate::engine) fn begin_move(&mut self, op: OpId) {
        let pages = self.kernel.ops[op].pages;
        let job = self.kernel.ops[op].job;
        let running = &self.gc.jobs[job.0];
        let stream = running.stream;
        let journey = if running.fetches { Journey::EXTERNAL } else { self.journey_of(job, &pages, stream) };
        for (i, page) in pages.iter().enumerate() {
            let block = self.dev.geometry.block_of(*page);
            self.array_reads(block);
            let lpn = self.dev.flash.lpn_of(*page);
            // The entry is needed when the page lands.
            self.dev.map.expect(lpn);
            self.kernel.ops[Page(op)].tags[i] = self.oracle.load(*page, lpn);
        }
        if self.rules.tenants {
            if journey.out == Hop::Die {
                self.features.tenants_moved(&self.dev, &pages)
            } else {
                self.features.tenants_read(&self.dev, &pages)
            }
        }
        let from = &self.dev.places(&pages)[..pages.len()];
        self.gc.jobs[job.0].journey = journey;
        self.kernel.ops[op].from = pages;
        if journey.out == Hop::Die {
            let mut to = PageSet::EMPTY;
            for page in pages.iter() {
                let plane = self.dev.geometry.plane_of(*page);
                to.push(self.gc_page(plane, stream, true));
            }
            let offset = |page: &Ppn| self.dev.geometry.offset(*page);
            if to.iter().all(|page| offset(page) == offset(&to[0])) {
                self.assert_multi_plane(&to);
                self.stats.count_copybacks(pages.len() as u64);
            } else {
                assert_ne!(stream, Stream::Aligned, "law: aligned write points stand at equal offsets");
                pages.iter().for_each(|_| self.stats.count_copybacks(1));
            }
            self.kernel.ops[op].verb = Verb::Copyback;
            self.kernel.ops[op].pages = to;
            let times = self.dev.timing.copyback(from, &self.dev.places(&to)[..to.len()]);
            self.kernel.ops[op].legs = self.dev.timing.legs(Command::Copyback(times));
            self.stats.gc_time.read += times.read.0;
            self.stats.gc_time.program += times.program.0;
        } else {
            self.stats.count_reads(Class::Gc, pages.len() as u64);
            let burst = Nanos(self.dev.timing.page().0 * pages.len() as u64);
            self.kernel.ops[op].legs = self.dev.timing.legs(Command::Read { pages: from, burst, decoded: true });
        }
    }

    /// Takes a page for moved data. The reserve guarantees that there is one.
    pub(in crate::engine) fn gc_page(&mut self, plane: PlaneId, stream: Stream, copied: bool) -> Ppn {
        let stream = self.write_point(plane, stream, copied);
        self.dev.flash.take_moved_page(plane, stream).expect("law: the reserve leaves a page for every collection")
    }

    /// Asserts that the pages of one program are on one die, in different planes, at equal offsets.
    #[inline(always)]
    pub(in crate::engine) fn assert_multi_plane(&self, to: &PageSet) {
        if to.len() > 1 {
            self.assert_together(to);
        }
    }

    fn assert_together(&self, to: &PageSet) {
        let geometry = &self.dev.geometry;
        for (i, page) in to.iter().enumerate().skip(1) {
            let plane = geometry.plane_of(*page);
            law_eq!(geometry.offset(*page), geometry.offset(to[0]), "law: multi-plane programs have equal offsets");
            law_eq!(geometry.die_of(plane), geometry.die_of(geometry.plane_of(to[0])), "law: … and one die");
            law!(to[..i].iter().all(|other| geometry.plane_of(*other) != plane), "law: … and different planes");
        }
    }

    pub(in crate::engine) fn begin_place(&mut self, id: JobId) {
        let op = self.gc.jobs[id.0].op;
        let (mut hand, stream) = (self.gc.jobs[id.0].job.hand, self.gc.jobs[id.0].stream);
        if hand.len() > 1 && self.points_apart(&hand, stream) {
            // One after the other: this command programs the first page, the next command the rest.
            hand = PageSet::one(hand[0]);
        }
        let mut to = PageSet::EMPTY;
        for page in hand.iter() {
            let own = self.dev.geometry.plane_of(*page);
            let plane = self.gc_plane(own);
            to.push(if plane == own { self.gc_page(plane, stream, false) } else { foreign_page(self, plane, stream) });
        }
        self.assert_multi_plane(&to);
        if self.rules.tenants {
            self.features.tenants_moved(&self.dev, &hand);
        }
        self.stats.count_programs(Class::Gc, hand.len() as u64);
        let burst = Nanos(self.dev.timing.page().0 * hand.len() as u64);
        self.kernel.ops[op].pages = to;
        self.kernel.ops[op].from = hand;
        let pages = &self.dev.places(&to)[..to.len()];
        self.kernel.ops[op].legs = self.dev.timing.legs(Command::Program { pages, burst });
    }

    /// Whether the write points for the pages in hand have different offsets.
    #[inline(never)]
    fn points_apart(&self, hand: &PageSet, stream: Stream) -> bool {
        let offset = |page: &Ppn| self.dev.flash.next_offset(self.dev.geometry.plane_of(*page), stream);
        stream != Stream::Aligned && hand.iter().any(|page| offset(page) != offset(&hand[0]))
    }

    /// The plane of this unit for a moved page: its own or, with a wider destination, the next in turn.
    fn gc_plane(&mut self, from: PlaneId) -> PlaneId {
        if self.config.gc.destination == Destination::Plane {
            return from;
        }
        let unit = self.dev.geometry.unit_of(from);
        let to = self.gc.target;
        if to.is_some() && self.dev.geometry.unit_of(to) == unit && self.dev.flash.next_offset(to, Stream::Gc).is_some()
        {
            to
        } else {
            from
        }
    }

    /// With a destination wider than the plane, the page in hand may go to another unit: its program queues there while this job
    /// continues. Returns whether it does.
    pub(in crate::engine) fn sends_abroad(&mut self, id: JobId) -> bool {
        if self.config.gc.destination == Destination::Plane {
            return false;
        }
        let running = &self.gc.jobs[id.0];
        let (unit, hand) = (running.unit, running.job.hand);
        let geometry = &self.dev.geometry;
        let from = geometry.plane_of(hand[0]);
        let scope = self.config.gc.destination;
        let chip = geometry.chip_of(from);
        // Round robin over the planes in scope with a complete reserve, starting after the last one used.
        let start = if self.gc.target.is_some() { self.gc.target.0 + 1 } else { 0 };
        let target = (0..geometry.planes)
            .map(|step| PlaneId((start + step) % geometry.planes))
            .filter(|plane| scope == Destination::Any || geometry.chip_of(*plane) == chip)
            .find(|plane| *plane == from || self.dev.flash.takes_foreign(*plane))
            .unwrap_or(from);
        self.gc.target = target;
        if geometry.unit_of(target) == unit {
            return false;
        }
        self.dev.flash.promise(target);
        let running = &self.gc.jobs[id.0];
        let op = Op {
            class: Class::Gc,
            verb: Verb::Program,
            plane: target,
            age: self.kernel.ops[running.op].age,
            from: hand,
            waits_since: self.now,
            home: id,
            ..Op::blank()
        };
        let (source, op) = (running.op, self.kernel.ops.create(op));
        self.kernel.ops[Page(op)].tags = self.kernel.ops[Page(source)].tags;
        self.crosses_abroad(id, op);
        let running = &mut self.gc.jobs[id.0];
        running.abroad += 1;
        running.busy = false;
        running.job.hand = PageSet::EMPTY;
        if !running.holds {
            self.kernel.set_holder(self.now, unit, Holder::Free);
            self.kernel.chip_in_use(&self.dev, self.gc.jobs[id.0].plane, false);
            self.kernel.dies.mark(unit);
        }
        self.enqueue(op, target, false);
        self.gc.ready.push(id);
        true
    }

    /// A moved page's program begins on another unit than that of its source.
    #[inline(never)]
    pub(in crate::engine) fn begin_abroad(&mut self, id: OpId, unit: UnitId) {
        let plane = self.kernel.ops[id].plane;
        self.dev.flash.keep_promise(plane);
        if self.rules.tenants {
            let from = self.kernel.ops[id].from;
            self.features.tenants_moved(&self.dev, &from);
        }
        let to = foreign_page(self, plane, Stream::Gc);
        self.stats.count_programs(Class::Gc, 1);
        let burst = self.dev.timing.page();
        self.kernel.ops[id].pages = PageSet::one(to);
        self.kernel.ops[id].legs = self.dev.timing.legs(Command::Program { pages: &[self.dev.place(to)], burst });
        self.kernel.ops[id].leg = 0;
        let k = self.dev.geometry.plane_in_unit(plane);
        self.kernel.set_holder(self.now, unit, Holder::Free);
        self.kernel.seize_for_gc(&self.dev, self.now, unit, 1 << k, plane);
        self.kernel.dies[unit].occupy(id);
        self.run_leg(id);
    }

    /// A step has run all its legs.
    pub(in crate::engine) fn gc_step_ends(&mut self, id: OpId) {
        let op = &self.kernel.ops[id];
        let (job, unit, verb) = (op.job, op.unit, op.verb);
        if op.failed {
            return self.is_denied(id);
        }
        if self.goes_back_inside(id) {
            return;
        }
        self.kernel.dies[unit].vacate();
        self.count_time(id);
        match verb {
            _ if self.kernel.ops[id].class == Class::Metadata => self.metadata_step_ends(id),
            Verb::Read if self.rules.units => self.units_are_read(id),
            Verb::Read => self.end_read_step(id),
            Verb::Program if self.rules.units => self.moved_units_land(id),
            Verb::Copyback => {
                self.end_reads(id);
                self.land(id);
            }
            Verb::Program => {
                self.land(id);
                let placed = self.kernel.ops[id].from.len();
                let hand = &mut self.gc.jobs[job.0].job.hand;
                *hand = hand.after(placed);
                if !hand.is_empty() {
                    self.kernel.ops[Page(id)].tags.rotate_left(placed);
                }
            }
            Verb::Erase => self.erased(job),
        }
        let running = &mut self.gc.jobs[job.0];
        running.busy = false;
        if !running.holds {
            let plane = running.plane;
            self.kernel.dies.mark(unit);
            self.kernel.release_unit(&self.dev, self.now, unit, plane);
        }
        self.gc.ready.push(job);
    }

    /// Pages have been read out and are in the job's hand.
    pub(in crate::engine) fn end_read_step(&mut self, id: OpId) {
        self.end_reads(id);
        self.gc.jobs[self.kernel.ops[id].job.0].job.hand = self.kernel.ops[id].from;
    }

    pub(in crate::engine) fn end_reads(&mut self, id: OpId) {
        let from = self.kernel.ops[id].from;
        for page in from.iter() {
            let block = self.dev.geometry.block_of(*page);
            self.dev.flash.read_ends(block);
        }
    }

    /// A moved page's program on another unit than that of its source has ended.
    #[inline(never)]
    pub(in crate::engine) fn abroad_ends(&mut self, id: OpId) {
        let (unit, plane, home) = (self.kernel.ops[id].unit, self.kernel.ops[id].plane, self.kernel.ops[id].home);
        self.kernel.dies[unit].vacate();
        self.count_time(id);
        self.kernel.dies.mark(unit);
        self.land(id);
        self.kernel.ops.remove(id);
        // A collection that waits for its own pages on other dies admitted this program; it still holds the unit.
        let host = self.kernel.dies[unit].job;
        self.kernel.set_holder(self.now, unit, Holder::Free);
        if host.is_some() {
            self.kernel.dies.return_to_gc(unit, self.gc.jobs[host.0].planes, self.now);
            let running = &mut self.gc.jobs[host.0];
            if running.abroad == 0 && std::mem::replace(&mut running.waiting, false) {
                self.gc.ready.push(host);
            }
        }
        self.kernel.chip_in_use(&self.dev, plane, false);
        let running = &mut self.gc.jobs[home.0];
        running.abroad -= 1;
        if running.abroad == 0 && std::mem::replace(&mut running.waiting, false) {
            self.gc.ready.push(home);
        }
        self.test_trigger(plane);
    }

    /// Moved pages are programmed: each is published if the map still points to its source.
    pub(in crate::engine) fn land(&mut self, id: OpId) {
        let op = &self.kernel.ops[id];
        if op.class == Class::Fold {
            return steps::land(self, id);
        }
        let (from, to, own, home) = (op.from, op.pages, op.job, op.home);
        let corrected = op.verb == Verb::Program;
        let job = if own.is_some() { own } else { home };
        let (demanding, joint) = (self.gc.jobs[job.0].plane, self.gc.jobs[job.0].job.count > 1);
        self.sort_moves(&from, &to, demanding, joint);
        for i in 0..from.len() {
            self.land_moved(from[i], to[i], self.kernel.ops[Page(id)].tags[i], corrected);
            self.note_filled(self.dev.geometry.block_of(to[i]), own, home);
        }
    }

    /// The landing rule for one page. The source's reverse entry names its logical page, unless the host has overwritten or
    /// trimmed it since. Then the copy lands stale and is counted; no other state changes.
    #[inline]
    pub(in crate::engine) fn land_moved(&mut self, from: Ppn, to: Ppn, tag: Tag, corrected: bool) {
        if self.rules.handles {
            self.dev.flash.count_moved(self.dev.geometry.block_of(from), 1);
        }
        let lpn = self.dev.flash.lpn_of(from);
        let block = self.dev.geometry.block_of(to);
        let published = lpn.is_some();
        if published {
            self.republish(lpn, from, to);
            self.dev.flash.invalidate(from, self.dev.geometry.block_of(from), lpn);
        }
        self.dev.flash.land(to, block, if published { lpn } else { Lpn::NONE });
        self.oracle.store(to, tag);
        self.follow_copy(from, to, block, corrected);
        self.stats.count_moved(!published);
    }

    /// A page's data has moved: updates the pointer to it.
    #[inline(always)]
    pub(in crate::engine) fn republish(&mut self, lpn: Lpn, from: Ppn, to: Ppn) {
        match self.dev.map.get(lpn) {
            Location::Flash(page) if page == from => self.dev.map.set(lpn, Location::Flash(to)),
            // The old page of a partial write that still has to read it.
            Location::Staged(write) if self.kernel.ops[Page(write)].old == from => {
                self.kernel.ops[Page(write)].old = to
            }
            // The old page of an update that has begun, under a newer write.
            Location::Staged(write)
                if self.features.raid.is_some() && self.kernel.ops.parity[write].behind.is_some() =>
            {
                let write = self.kernel.ops.parity[write].behind;
                law_eq!(self.kernel.ops[Page(write)].old, from, "law: map and reverse map agree");
                self.kernel.ops[Page(write)].old = to;
            }
            other => panic!("law: map and reverse map agree, but {lpn:?} at {from:?} maps to {other:?}"),
        }
    }

    /// The victims are erased: their pages are free, and writes that waited for them continue.
    #[inline(never)]
    pub(in crate::engine) fn erased(&mut self, id: JobId) {
        let job = &mut self.gc.jobs[id.0].job;
        job.erased = true;
        let (victims, count) = (job.victims, usize::from(job.count));
        if self.gc.jobs[id.0].fold.is_some() {
            return folds::erased(self, id, self.gc.jobs[id.0].plane);
        }
        for victim in &victims[..count] {
            self.dev.flash.erase(*victim);
            self.forget_block(*victim);
            self.unstall(self.dev.geometry.plane_of_block(*victim));
        }
    }

    #[inline(never)]
    pub(in crate::engine) fn end_collection(&mut self, id: JobId) {
        let running = &self.gc.jobs[id.0];
        let (unit, plane, op, holds) = (running.unit, running.plane, running.op, running.holds);
        let (victims, count) = (running.job.victims, usize::from(running.job.count));
        law!(running.job.erased && running.job.hand.is_empty(), "law: a collection ends with its victims erased");
        if running.fold.is_none() && !(self.rules.fails && life::ends(self, victims[0])) {
            self.stats.count_collection(count as u64);
        }
        self.kernel.ops.remove(op);
        self.gc.jobs.remove(id.0);
        if holds {
            self.kernel.dies[unit].job = JobId::NONE;
            self.kernel.release_unit(&self.dev, self.now, unit, plane);
        }
        self.kernel.dies.mark(unit);
        if self.rules.slc {
            folds::ended(self, plane, unit);
        }
        for victim in &victims[..count] {
            let plane = self.dev.geometry.plane_of_block(*victim);
            self.gc.claimed.remove(plane);
        }
        for victim in &victims[..count] {
            self.test_trigger(self.dev.geometry.plane_of_block(*victim));
        }
    }
}

/// Takes a page for data that was moved from another plane.
fn foreign_page(ssd: &mut Ssd, plane: PlaneId, stream: Stream) -> Ppn {
    let stream = ssd.write_point(plane, stream, false);
    let page = ssd.dev.flash.take_beside_collection(plane, stream);
    page.expect("law: planes that take data from elsewhere have a page for it")
}
