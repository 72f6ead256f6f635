//! GC: how the steps of collections are executed. The collector chooses them.

use crate::config::{Config, Destination};
use crate::device::command::Command;
use crate::device::flash::Stream;
use crate::device::mapping::Location;
use crate::device::transaction::{Class, Verb};
use crate::engine::features::slc::{folds, steps};
use crate::engine::features::units::hands;
use crate::engine::features::{buffer, life};
use crate::engine::gc::beside;
use crate::engine::gc::jobs::{begin_job, seize_for_job};
use crate::engine::gc::{copyback, preempt};
use crate::engine::kernel::Kernel;
use crate::engine::kernel::ops::Page;
use crate::engine::rules::Rules;
use crate::engine::{Device, Features, Gc, Policies, Ssd};
use crate::oracle::Oracle;
use crate::policy::{Hop, Job, Journey, MAX_PLANES, PageSet, Step};
use crate::stats::Stats;
use crate::units::{BlockId, JobId, Lpn, Nanos, OpId, PlaneId, Ppn, Tag, UnitId};

impl Device {
    fn assert_together(&self, to: &PageSet) {
        let geometry = &self.geometry;
        for (i, page) in to.iter().enumerate().skip(1) {
            let plane = geometry.plane_of(*page);
            law_eq!(geometry.offset(*page), geometry.offset(to[0]), "law: multi-plane programs have equal offsets");
            law_eq!(geometry.die_of(plane), geometry.die_of(geometry.plane_of(to[0])), "law: … and one die");
            law!(to[..i].iter().all(|other| geometry.plane_of(*other) != plane), "law: … and different planes");
        }
    }

    /// Asserts that the pages of one program are on one die, in different planes, at equal offsets.
    #[inline(always)]
    pub(in crate::engine) fn assert_multi_plane(&self, to: &PageSet) {
        if to.len() > 1 {
            self.assert_together(to);
        }
    }

    /// Whether the write points for the pages in hand have different offsets.
    #[inline(never)]
    fn points_apart(&self, hand: &PageSet, stream: Stream) -> bool {
        let offset = |page: &Ppn| self.flash.next_offset(self.geometry.plane_of(*page), stream);
        stream != Stream::Aligned && hand.iter().any(|page| offset(page) != offset(&hand[0]))
    }

    /// Takes a page for moved data. The reserve guarantees that there is one.
    pub(in crate::engine) fn gc_page(&mut self, rules: &Rules, plane: PlaneId, stream: Stream, copied: bool) -> Ppn {
        let stream = self.write_point(rules, plane, stream, copied);
        self.flash.take_moved_page(plane, stream).expect("law: the reserve leaves a page for every collection")
    }

    /// Pages of an operation have been read: their blocks may be erased.
    #[inline(always)]
    pub(in crate::engine) fn end_reads(&mut self, kernel: &Kernel, id: OpId) {
        for page in kernel.ops[id].from.iter() {
            let block = self.geometry.block_of(*page);
            self.flash.read_ends(block);
        }
    }

    /// Takes a page for data that was moved from another plane.
    pub(in crate::engine) fn foreign_page(&mut self, rules: &Rules, plane: PlaneId, stream: Stream) -> Ppn {
        let stream = self.write_point(rules, plane, stream, false);
        let page = self.flash.take_beside_collection(plane, stream);
        page.expect("law: planes that take data from elsewhere have a page for it")
    }

    /// A page has been moved, through ECC or not: its copyback count and its errors follow.
    #[inline(always)]
    pub(in crate::engine) fn follow_move(
        &mut self,
        stats: &mut Stats,
        rules: &Rules,
        now: Nanos,
        from: Ppn,
        to: Ppn,
        corrected: bool,
    ) {
        self.follow_copy(stats, rules, from, to, corrected);
        if self.errors.is_some() {
            self.follow_errors(stats, now, from, to, self.geometry.block_of(to), corrected);
        }
    }

    /// A collection skips pages at a write point of a victim's plane, in no time.
    pub(in crate::engine) fn skip_pages(
        &mut self,
        features: &mut Features,
        stats: &mut Stats,
        victim: BlockId,
        pages: u32,
        stream: Stream,
    ) {
        self.flash.skip_pages(self.geometry.plane_of_block(victim), stream, pages);
        stats.flash.programs.waste(pages);
        features.tenant_skips(self, victim, pages);
    }
}

impl Gc {
    /// Removes the oldest collection whose last step has ended, if there is one.
    #[inline(always)]
    pub(in crate::engine) fn oldest_ready(&mut self, kernel: &Kernel) -> Option<JobId> {
        if self.ready.is_empty() {
            return None;
        }
        let mut first = 0;
        if self.ready.len() > 1 {
            let age = |job: JobId| kernel.ops[self.jobs[job.0].op].age;
            first = (0..self.ready.len()).min_by_key(|i| age(self.ready[*i])).unwrap_or(0);
        }
        Some(self.ready.swap_remove(first))
    }

    /// The plane of this unit for a moved page: its own or, with a wider destination, the next in turn.
    fn gc_plane(&self, dev: &Device, config: &Config, from: PlaneId) -> PlaneId {
        if config.gc.destination == Destination::Plane {
            return from;
        }
        let unit = dev.geometry.unit_of(from);
        let to = self.target;
        if to.is_some() && dev.geometry.unit_of(to) == unit && dev.flash.next_offset(to, Stream::Gc).is_some() {
            to
        } else {
            from
        }
    }

    /// Pages have been read out and are in the job's hand.
    pub(in crate::engine) fn end_read_step(&mut self, kernel: &Kernel, dev: &mut Device, id: OpId) {
        dev.end_reads(kernel, id);
        self.jobs[kernel.ops[id].job.0].job.hand = kernel.ops[id].from;
    }

    /// Whether the collector may have something to decide.
    #[inline(always)]
    pub(in crate::engine) fn may_decide(&self, kernel: &Kernel, rules: &Rules) -> bool {
        let starts = !kernel.dies.dirty.is_empty() && kernel.dies.any_due();
        starts || kernel.examines_dies(rules) || !self.ready.is_empty()
    }

    /// Sets up the program of the pages in hand, or of the first one.
    pub(in crate::engine) fn begin_place(
        &self,
        kernel: &mut Kernel,
        dev: &mut Device,
        stats: &mut Stats,
        rules: &Rules,
        config: &Config,
        id: JobId,
    ) {
        let op = self.jobs[id.0].op;
        let (mut hand, stream) = (self.jobs[id.0].job.hand, self.jobs[id.0].stream);
        if hand.len() > 1 && dev.points_apart(&hand, stream) {
            // One after the other: this command programs the first page, the next command the rest.
            hand = PageSet::one(hand[0]);
        }
        let mut to = PageSet::EMPTY;
        for page in hand.iter() {
            let own = dev.geometry.plane_of(*page);
            let plane = self.gc_plane(dev, config, own);
            to.push(if plane == own {
                dev.gc_page(rules, plane, stream, false)
            } else {
                dev.foreign_page(rules, plane, stream)
            });
        }
        dev.assert_multi_plane(&to);
        stats.count_programs(Class::Gc, hand.len() as u64);
        let burst = Nanos(dev.timing.page().0 * hand.len() as u64);
        kernel.ops[op].pages = to;
        kernel.ops[op].from = hand;
        let pages = &dev.places(&to)[..to.len()];
        kernel.ops[op].legs = dev.timing.legs(Command::Program { pages, burst });
    }

    /// The path chooses how the pages of a move travel.
    #[inline(always)]
    pub(in crate::engine) fn choose_journey(
        &mut self,
        kernel: &Kernel,
        dev: &Device,
        rules: &Rules,
        schemes: &mut Policies,
        now: Nanos,
        op: OpId,
    ) {
        let (pages, job) = (kernel.ops[op].pages, kernel.ops[op].job);
        let running = &self.jobs[job.0];
        let stream = running.stream;
        self.jobs[job.0].journey = if running.fetches {
            Journey::EXTERNAL
        } else {
            dev.journey_of(rules, now, schemes.path_of(&mut self.jobs, job), &pages, stream)
        };
    }
}

impl Kernel {
    /// Whether a collection is due on a unit and may start.
    #[inline(always)]
    fn may_start(&self, rules: &Rules, unit: UnitId) -> bool {
        let state = &self.dies[unit];
        !state.due().is_empty() && (!rules.collector_holds || state.is_free() && state.job.is_none())
    }

    /// A page's data has moved: updates the pointer to it.
    #[inline(always)]
    pub(in crate::engine) fn republish(&mut self, dev: &mut Device, features: &Features, lpn: Lpn, from: Ppn, to: Ppn) {
        match dev.map.get(lpn) {
            Location::Flash(page) if page == from => dev.map.set(lpn, Location::Flash(to)),
            // The old page of a partial write that still has to read it.
            Location::Staged(write) if self.ops[Page(write)].old == from => self.ops[Page(write)].old = to,
            // The old page of an update that has begun, under a newer write.
            Location::Staged(write) if self.moves_behind(features, write, from, to) => {}
            other => panic!("law: map and reverse map agree, but {lpn:?} at {from:?} maps to {other:?}"),
        }
    }

    /// The landing rule for one page. The source's reverse entry names its logical page, unless the host has overwritten or
    /// trimmed it since. Then the copy lands stale and is counted; no other state changes. Returns whether it is stale. What is
    /// known of the page's data follows it ([`Device::follow_move`]).
    #[inline(always)]
    pub(in crate::engine) fn land_page(
        &mut self,
        dev: &mut Device,
        features: &Features,
        oracle: &mut Oracle,
        from: Ppn,
        to: Ppn,
        tag: Tag,
    ) -> bool {
        features.handle_moved(dev, from);
        let lpn = dev.flash.lpn_of(from);
        let published = lpn.is_some();
        if published {
            self.republish(dev, features, lpn, from, to);
            dev.flash.invalidate(from, dev.geometry.block_of(from), lpn);
        }
        dev.flash.land(to, dev.geometry.block_of(to), if published { lpn } else { Lpn::NONE });
        oracle.store(to, tag);
        !published
    }

    /// The read of a move begins: its blocks have a reader, and the tags of its pages are loaded.
    #[inline(always)]
    pub(in crate::engine) fn load_moves(&mut self, dev: &mut Device, oracle: &Oracle, op: OpId) {
        let (pages, tags) = (self.ops[op].pages, &mut self.ops[Page(op)].tags);
        for (i, page) in pages.iter().enumerate() {
            let block = dev.geometry.block_of(*page);
            dev.array_reads(block);
            let lpn = dev.flash.lpn_of(*page);
            // The entry is needed when the page lands.
            dev.map.expect(lpn);
            tags[i] = oracle.load(*page, lpn);
        }
    }

    /// Sets up a move whose journey is chosen and whose pages are loaded: a copyback, or a read.
    #[inline(always)]
    pub(in crate::engine) fn issue_move(
        &mut self,
        dev: &mut Device,
        gc: &Gc,
        features: &mut Features,
        stats: &mut Stats,
        rules: &Rules,
        op: OpId,
    ) {
        let op = &mut self.ops[op];
        let (pages, running) = (op.pages, &gc.jobs[op.job.0]);
        let (stream, journey) = (running.stream, running.journey);
        let from = &dev.places(&pages)[..pages.len()];
        op.from = pages;
        if journey.out == Hop::Die {
            features.tenants_moved(dev, rules, &pages);
            let mut to = PageSet::EMPTY;
            for page in pages.iter() {
                let plane = dev.geometry.plane_of(*page);
                to.push(dev.gc_page(rules, plane, stream, true));
            }
            let offset = |page: &Ppn| dev.geometry.offset(*page);
            if to.iter().skip(1).all(|page| offset(page) == offset(&to[0])) {
                dev.assert_multi_plane(&to);
                stats.count_copybacks(pages.len() as u64);
            } else {
                assert_ne!(stream, Stream::Aligned, "law: aligned write points stand at equal offsets");
                pages.iter().for_each(|_| stats.count_copybacks(1));
            }
            op.verb = Verb::Copyback;
            op.pages = to;
            let times = dev.timing.copyback(from, &dev.places(&to)[..to.len()]);
            op.legs = dev.timing.legs(Command::Copyback(times));
            stats.gc_time.read += times.read.0;
            stats.gc_time.program += times.program.0;
        } else {
            features.tenants_read(dev, rules, &pages);
            stats.count_reads(Class::Gc, pages.len() as u64);
            let burst = Nanos(dev.timing.page().0 * pages.len() as u64);
            op.legs = dev.timing.legs(Command::Read { pages: from, burst, decoded: true });
        }
    }
}

impl Ssd {
    /// Collector decisions: steps of collections whose last step has ended, and starts of due collections.
    pub(in crate::engine) fn decide(&mut self) {
        loop {
            while let Some(job) = self.gc.oldest_ready(&self.kernel) {
                self.step(job);
            }
            let mut i = 0;
            while i < self.kernel.dies.dirty.len() {
                let unit = self.kernel.dies.dirty[i];
                // Before collections start: a paused one may resume, and an idle die may be collected.
                if preempt::examines(self, unit) {
                    beside::work_in_idle_time(self, unit);
                }
                if self.kernel.may_start(&self.rules, unit) {
                    self.kernel.dies.due.push(unit);
                }
                i += 1;
            }
            // By unit: ages must not depend on the order in which units were marked.
            if self.kernel.dies.due.len() > 1 {
                self.kernel.dies.due.sort_unstable();
            }
            for i in 0..self.kernel.dies.due.len() {
                let unit = self.kernel.dies.due[i];
                while self.kernel.may_start(&self.rules, unit) {
                    let plane = self.kernel.dies.pop_due(unit);
                    self.start_collection(plane, unit);
                }
            }
            self.kernel.dies.due.clear();
            if self.gc.ready.is_empty() {
                return;
            }
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
        self.dev.check_promised_steps(&self.schemes, &self.oracle, self.now, &job, true);
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
                && !self.gc.is_collected_beside(&self.rules, unit, k)
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
    pub(in crate::engine) fn step(&mut self, id: JobId) {
        let running = &mut self.gc.jobs[id.0];
        debug_assert!(!running.busy);
        if running.holds && self.kernel.dies[running.unit].array().is_some() {
            // A page of another collection, admitted meanwhile, is being programmed; its end calls this again.
            running.waiting = true;
            return;
        }
        self.gc.note_contention(&self.kernel, &self.dev, &self.rules, id);
        if preempt::pauses(self, id) || hands::takes_step(self, id) {
            return;
        }
        if self.gc.takes_metadata_step(&mut self.kernel, &self.rules, id) {
            return self.carry_out(id);
        }
        if self.fast.steps_alone(&self.rules) && self.moves_on(id) {
            return;
        }
        let running = &mut self.gc.jobs[id.0];
        let collector = self.schemes.collector_of(&mut running.former);
        let mut step = collector.next(&self.dev.view(self.now), &mut running.job);
        while let Step::Skip(victim, pages, stream) = step {
            let block = running.job.victims[victim];
            self.dev.skip_pages(&mut self.features, &mut self.stats, block, pages, stream);
            step = collector.next(&self.dev.view(self.now), &mut running.job);
        }
        let Some(step) = buffer::takes_step(self, id, step) else { return };
        let running = &mut self.gc.jobs[id.0];
        running.fetches = matches!(step, Step::Fetch(..));
        match step {
            Step::Move(pages, stream) | Step::Fetch(pages, stream) => {
                running.stream = stream;
                self.kernel.ops[running.op].verb = Verb::Read;
                self.kernel.ops[running.op].pages = pages;
            }
            Step::Reserve(_) | Step::Stage => unreachable!("law: pages are staged in a buffer with slots"),
            Step::Place => self.kernel.ops[running.op].verb = Verb::Program,
            Step::Erase if running.abroad > 0 => {
                // Pages in flight to other dies land first; the last one calls this again. Meanwhile this die admits pages of
                // other collections: otherwise two collections could wait for each other forever.
                running.waiting = true;
                return self.kernel.dies.mark(running.unit);
            }
            Step::Erase => self.kernel.ops[running.op].verb = Verb::Erase,
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
        } else if self.fast.begins_in_vacant_die(&self.kernel, unit) {
            self.begin_queued_step(op, unit);
            self.features.note_burst(&self.kernel, &self.host, &self.rules, op, unit);
        } else {
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
            pages.iter().filter(|page| self.dev.has_to_move(&self.rules, **page)).for_each(|page| valid.push(*page));
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
        let (verb, alone) = (self.kernel.ops[op].verb, self.fast.moves || self.fast.steps);
        match verb {
            _ if self.kernel.ops[op].class == Class::Metadata => {
                let (features, stats) = (&mut self.features, &mut self.stats);
                self.dev.begin_metadata_step(&mut self.kernel, &self.gc, features, stats, &self.rules, op);
            }
            _ if self.kernel.ops[op].class == Class::Fold => steps::begin_step(self, id, op),
            Verb::Read if alone && self.begins_alone(op) => {}
            Verb::Read if hands::begins_move(self, op) => {}
            Verb::Read => self.begin_move(op),
            Verb::Program if hands::begins_place(self, id) => {}
            Verb::Program
                if alone && self.kernel.places_alone(&mut self.dev, &self.gc, &mut self.stats, &self.rules, op) => {}
            Verb::Program => {
                if let Some(program) = self.gc.sends_abroad(&mut self.kernel, &mut self.dev, &self.config, self.now, id)
                {
                    self.features.crosses_abroad(&mut self.kernel, &self.dev, &self.gc, &mut self.stats, id, program);
                    self.gc.sent_abroad(&mut self.kernel, &self.dev, self.now, id);
                    self.enqueue(program, self.kernel.ops[program].plane, false);
                    return self.gc.ready.push(id);
                }
                self.gc.begin_place(&mut self.kernel, &mut self.dev, &mut self.stats, &self.rules, &self.config, id);
                self.features.tenants_moved_by(&self.kernel, &self.dev, &self.rules, op);
            }
            Verb::Erase => {
                self.gc.segment_erased(&mut self.dev, &self.rules, self.now, id);
                self.dev.handle_erased(&self.rules, self.gc.jobs[id.0].job.victims[0]);
                let blocks = u64::from(self.gc.jobs[id.0].job.count) * u64::from(self.dev.geometry.slots.planes);
                self.kernel.begin_erase(&self.dev, &mut self.stats, op, blocks);
            }
            Verb::Copyback => unreachable!("a move becomes a copyback when it begins"),
        }
        self.kernel.dies[unit].occupy(op);
        self.kernel.ops[op].leg = 0;
        let chained = self.fast.chains && self.begin_chain(op, unit)
            || self.fast.joint
                && self.kernel.join_chain(
                    &self.dev.view(self.now),
                    &self.gc,
                    &mut self.shared,
                    &self.schemes,
                    &self.oracle,
                    (op, unit),
                )
            || self.fast.turns
                && self.kernel.ops[op].verb == Verb::Read
                && self.kernel.take_turns(&self.dev, &self.gc, &mut self.shared, &self.stats, self.now, (op, unit));
        if !chained {
            self.run_leg(op);
        }
    }

    /// A step has run all its legs.
    pub(in crate::engine) fn gc_step_ends(&mut self, id: OpId) {
        if self.kernel.ops[id].failed {
            self.kernel.count_time(&mut self.stats, id);
            return self.gc.collection_is_denied(&mut self.kernel, &self.dev, self.now, id);
        }
        if !copyback::goes_on(self, id) {
            self.step_is_over(id);
        }
    }

    /// A step of a collection is over: its pages are read or have moved, or its victims are erased.
    #[inline(always)]
    pub(in crate::engine) fn step_is_over(&mut self, id: OpId) {
        let op = &self.kernel.ops[id];
        let (job, unit, verb) = (op.job, op.unit, op.verb);
        self.kernel.dies[unit].vacate();
        self.kernel.count_time(&mut self.stats, id);
        match verb {
            _ if self.kernel.ops[id].class == Class::Metadata => {
                self.dev.metadata_step_ends(&mut self.kernel, &mut self.gc, &mut self.oracle, id)
            }
            Verb::Read if hands::read_ends(self, id) => {}
            Verb::Read => self.gc.end_read_step(&self.kernel, &mut self.dev, id),
            Verb::Program if hands::program_ends(self, id) => {}
            Verb::Copyback => {
                self.dev.end_reads(&self.kernel, id);
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

    /// Begins to move pages: by copyback, or by a read.
    pub(in crate::engine) fn begin_move(&mut self, op: OpId) {
        self.gc.choose_journey(&self.kernel, &self.dev, &self.rules, &mut self.schemes, self.now, op);
        self.kernel.load_moves(&mut self.dev, &self.oracle, op);
        let (features, stats) = (&mut self.features, &mut self.stats);
        self.kernel.issue_move(&mut self.dev, &self.gc, features, stats, &self.rules, op);
    }

    /// A page has moved.
    pub(in crate::engine) fn land_moved(&mut self, from: Ppn, to: Ppn, tag: Tag, corrected: bool) {
        let (dev, oracle) = (&mut self.dev, &mut self.oracle);
        let stale = self.kernel.land_page(dev, &self.features, oracle, from, to, tag);
        dev.follow_move(&mut self.stats, &self.rules, self.now, from, to, corrected);
        self.stats.count_moved(stale);
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
        self.dev.sort_moves(&mut self.stats, &from, &to, demanding, joint);
        for i in 0..from.len() {
            self.land_moved(from[i], to[i], self.kernel.ops[Page(id)].tags[i], corrected);
            let due = self.kernel.note_filled(
                &self.dev,
                &mut self.gc,
                &self.rules,
                self.now,
                self.dev.geometry.block_of(to[i]),
                (own, home),
            );
            if let Some((op, plane)) = due {
                self.enqueue(op, plane, false);
            }
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
            self.dev.forget_block(&mut self.features, &self.stats, &self.rules, self.now, *victim);
            self.unstall(self.dev.geometry.plane_of_block(*victim));
        }
    }

    #[inline(never)]
    pub(in crate::engine) fn end_collection(&mut self, id: JobId) {
        let running = &self.gc.jobs[id.0];
        let (unit, plane, op, holds) = (running.unit, running.plane, running.op, running.holds);
        let (victims, count) = (running.job.victims, usize::from(running.job.count));
        law!(running.job.erased && running.job.hand.is_empty(), "law: a collection ends with its victims erased");
        if running.fold.is_none() && !life::ends(self, victims[0]) {
            self.stats.count_collection(count as u64);
        }
        self.kernel.ops.remove(op);
        self.gc.jobs.remove(id.0);
        if holds {
            self.kernel.dies[unit].job = JobId::NONE;
            self.kernel.release_unit(&self.dev, self.now, unit, plane);
        }
        self.kernel.dies.mark(unit);
        folds::ended(self, plane, unit);
        for victim in &victims[..count] {
            let plane = self.dev.geometry.plane_of_block(*victim);
            self.gc.claimed.remove(plane);
        }
        for victim in &victims[..count] {
            self.test_trigger(self.dev.geometry.plane_of_block(*victim));
        }
    }
}
