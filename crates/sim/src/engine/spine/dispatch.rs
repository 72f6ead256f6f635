//! Dispatch: units serve the operations that wait for them, oldest first, and waits are charged to their causes.

use crate::blame::Cause;
use crate::device::command::Command;
use crate::device::flash::Stream;
use crate::device::geometry::Spot;
use crate::device::mapping::Location;
use crate::device::transaction::{Class, Need, Verb};
use crate::engine::cache::For;
use crate::engine::kernel::Kernel;
use crate::engine::kernel::dies::{Holder, Suspension, Turn};
use crate::engine::kernel::ops::Page;
use crate::engine::raid::buffered;
use crate::engine::rules::Rules;
use crate::engine::slc::folds;
use crate::engine::streams::count_program;
use crate::engine::{Device, Features, Host, Nanos, Pause, Ssd, retry};
use crate::oracle::Oracle;
use crate::policy::PageSet;
use crate::units::{Lpn, Moment, OpId, PlaneId, Ppn, Tag, UnitId};

impl Kernel {
    /// A write that any die may serve gets its die and plane.
    #[inline(always)]
    pub(super) fn go_to(&mut self, dev: &Device, op: OpId, unit: UnitId, plane: PlaneId) {
        let page = &mut self.ops[op];
        page.unit = unit;
        page.plane = plane;
        page.channel = dev.geometry.channel_of(plane);
    }

    /// The shadow clock of a unit serves only host operations, in the same order. Returns the lag of real service against it if
    /// `op` begins now, and the start of `op` by this clock.
    ///
    /// It uses each operation's actual time on the unit, without bus waits for GC; it does not simulate the bus again. The time
    /// that GC took since the last service bounds the growth of the lag, so without GC nothing is ever late. (Paper B, section
    /// III, made exact.)
    #[inline(always)]
    fn turn(&self, now: Nanos, op: OpId, unit: UnitId) -> Turn {
        self.dies[unit].turn(self.ops[op].waits_since, now)
    }

    #[inline(always)]
    pub(in crate::engine) fn update_lag(&mut self, now: Nanos, op: OpId, unit: UnitId) {
        let turn = self.turn(now, op, unit);
        self.dies[unit].set_lag(&turn);
    }

    /// The next plane of a unit, round robin, with a free page at one of the host's write points that may hold this logical page.
    pub(in crate::engine) fn next_plane(
        &mut self,
        features: &Features,
        dev: &Device,
        unit: UnitId,
        lpn: Lpn,
        stream: Stream,
    ) -> Option<PlaneId> {
        let planes = dev.geometry.planes_per_unit;
        let mut k = self.dies[unit].token;
        for _ in 0..planes {
            k = if k + 1 < planes { k + 1 } else { 0 };
            let plane = dev.geometry.plane_of_unit(unit, k);
            if dev.flash.takes_page_of(plane, stream) && features.may_hold(plane, lpn) {
                self.dies[unit].token = k;
                return Some(plane);
            }
        }
        None
    }

    /// Bytes that a read moves: those asked for, or the whole page for a merge, or always.
    #[inline(always)]
    pub(in crate::engine) fn bytes_read(&self, dev: &Device, rules: &Rules, op: OpId) -> u32 {
        if rules.whole_reads || self.ops[op].need == Need::Merge {
            dev.geometry.unit_bytes
        } else {
            self.ops[Page(op)].bytes
        }
    }
}

impl Host {
    /// The class under which a host operation is counted: an old page that is read although none of its data is needed is read
    /// for its parity group.
    #[inline(always)]
    pub(in crate::engine) fn class_counted(&self, kernel: &Kernel, op: OpId) -> Class {
        let page = &kernel.ops[op];
        let for_parity = page.need == Need::Merge && page.class != Class::Cache && !self.lacks(kernel, op);
        if for_parity { Class::Parity } else { page.class }
    }

    /// Whether it is noted what reads find on flash. A line of the write cache may hold newer sectors, too.
    #[inline(always)]
    pub(in crate::engine) fn notes_reads(&self, oracle: &Oracle, rules: &Rules) -> bool {
        self.runs.any() || rules.buffers || oracle.tracks_sectors()
    }
}

impl Ssd {
    /// Starts operations on every unit that may have become free.
    #[inline(always)]
    pub(in crate::engine) fn dispatch(&mut self) {
        if self.host.window_stale {
            self.dispatch_window();
        }
        self.begin_updates();
        if self.kernel.dies.dirty.is_empty()
            && !self.rules.dynamic
            && !self.rules.stages
            && !self.rules.idle_lines
            && self.features.replicas.is_none()
        {
            return;
        }
        self.dispatch_units();
    }

    fn dispatch_units(&mut self) {
        // Units marked during this round are considered in the next one, after its collector decisions.
        let contested = self.kernel.dies.look();
        // A write that need not be merged any more may join a queue meanwhile.
        self.kernel.buses.contested = if self.host.runs.any_merges() { u64::MAX } else { contested };
        // Each unit serves its own queue only, so the order among units has no effect, but where the rules say so.
        if self.rules.ranks {
            if self.rules.dynamic {
                self.dispatch_oldest_first();
            }
            if self.rules.by_number {
                self.kernel.dies.looking.sort_unstable();
            }
        }
        let mut i = 0;
        while let Some(&unit) = self.kernel.dies.looking.get(i) {
            i += 1;
            if !(self.fast.lane && self.start_in_lane(unit)) {
                while self.kick(unit) {}
            }
            if self.rules.looks {
                self.look_after_dispatch(unit);
            }
        }
        if self.rules.slc {
            folds::fold_on_free_dies(self);
        }
        self.dispatch_writebacks();
        if self.features.replicas.is_some() {
            self.make_copies();
        }
        self.kernel.dies.looking.clear();
        if self.rules.idle_work {
            if self.rules.idle_lines {
                self.write_lines_to_idle_dies();
            }
            if self.rules.retries {
                retry::refresh::start_on_idle_dies(self);
            }
        }
    }

    /// A unit has been considered.
    #[inline(always)]
    fn look_after_dispatch(&mut self, unit: UnitId) {
        self.revisit(unit);
        if self.rules.idles {
            self.note_rest(unit);
        }
    }

    /// A free die and the device-wide FIFO of writes compete for operations: the oldest goes first.
    #[inline(never)]
    fn dispatch_oldest_first(&mut self) {
        if !self.host.without_page.is_empty() {
            // Its collection is requested as long as it waits.
            self.claim_full_planes(self.kernel.ops.host_stream(self.host.without_page.head()));
        }
        let takes = |unit: &UnitId| self.is_idle(*unit) || self.is_paused_for_host(*unit);
        // Whenever a die becomes idle it is among these.
        let none_idle = self.host.none_idle && !self.kernel.dies.looking.iter().any(takes);
        debug_assert!(!none_idle || !(0..self.dev.geometry.units).any(|unit| takes(&UnitId(unit))));
        self.host.none_idle = none_idle;
        loop {
            let mut oldest: Option<((u8, u64), UnitId)> = None;
            for unit in &self.kernel.dies.looking {
                if self.ready_for_more(*unit) {
                    let head = self.kernel.dies[*unit].queue.head();
                    let (rank, first) = if self.rules.queues { self.next_in_queue(*unit) } else { (0, head) };
                    let turn = (rank, self.kernel.ops[first].age);
                    if oldest.is_none_or(|(other, _)| turn < other) {
                        oldest = Some((turn, *unit));
                    }
                }
            }
            let write = self.host.anywhere.head();
            let write_first = write.is_some() && {
                let turn = (
                    if self.rules.queues { self.features.rank_in_queue(&self.kernel, write) } else { 0 },
                    self.kernel.ops[write].age,
                );
                oldest.is_none_or(|(other, _)| turn < other)
            };
            if write_first && self.start_anywhere() {
                continue;
            }
            let Some((_, unit)) = oldest else { break };
            if !self.kick(unit) {
                break;
            }
        }
    }

    fn ready_for_more(&self, unit: UnitId) -> bool {
        let state = &self.kernel.dies[unit];
        (self.is_idle(unit) || self.is_paused_for_host(unit)) && !state.queue.is_empty()
    }

    /// Whether nothing is in service or about to be. A unit in GC is not idle; the bus does not matter.
    #[inline(always)]
    pub(in crate::engine) fn is_idle(&self, unit: UnitId) -> bool {
        let state = &self.kernel.dies[unit];
        debug_assert!(!state.is_free() || state.job.is_some() || state.holder() == Holder::Free);
        state.is_free()
            && if state.job.is_none() {
                !self.rules.collector_holds || state.due().is_empty()
            } else {
                self.rules.pauses && self.gc.awaits_durability(&self.dev, state.job)
            }
    }

    /// Starts the oldest of the writes that any die may serve on the first idle die after the last one used. Returns false if no
    /// die is idle, or no idle die has a page for it.
    #[inline(never)]
    fn start_anywhere(&mut self) -> bool {
        let mut full = false;
        // If no die is idle, dies with paused collections come next.
        let found = (!self.host.none_idle).then(|| {
            let paused = |ssd: &mut Self, full: &mut bool| ssd.next_place(full, Self::is_paused_for_host);
            let idle = self.next_place(&mut full, Self::is_idle);
            idle.or_else(|| self.rules.preempts.then(|| paused(self, &mut full)).flatten())
        });
        if let Some((unit, plane)) = found.flatten() {
            self.host.last_place = unit.0;
            let op = self.host.anywhere.pop(&self.kernel.ops);
            self.kernel.go_to(&self.dev, op, unit, plane);
            let back = self.charge_anywhere(op);
            self.note_found(op, back);
            self.kernel.update_lag(self.now, op, unit);
            self.begin_write(op, unit);
            return true;
        }
        self.host.none_idle = !full;
        self.note_skip();
        // If dies are idle but have no free page, full planes are due, whatever the threshold is. GC in no time has freed pages
        // by now.
        if !full {
            return false;
        }
        let stream = self.kernel.ops.host_stream(self.host.anywhere.head());
        if self.claim_full_planes(stream) {
            return self.start_anywhere();
        }
        self.rules.streams && self.lets_others_pass(stream)
    }

    /// The first unit after the last one used that takes writes and has a page, and its plane. `full`: one had no page.
    #[inline(always)]
    fn next_place(&mut self, full: &mut bool, takes: fn(&Self, UnitId) -> bool) -> Option<(UnitId, PlaneId)> {
        let (next, units) = (self.host.last_place + 1, self.dev.geometry.units);
        let head = self.host.anywhere.head();
        let (lpn, stream) = (self.kernel.ops[head].lpn, self.kernel.ops.host_stream(head));
        for (mut from, to) in [(next, units), (0, next)] {
            while let Some(unit) = self.kernel.dies.first_free(from, to) {
                from = unit.0 + 1;
                if takes(self, unit) {
                    match self.kernel.next_plane(&self.features, &self.dev, unit, lpn, stream) {
                        Some(plane) => return Some((unit, plane)),
                        None => *full = true,
                    }
                }
            }
        }
        None
    }

    /// Charges the wait of a write that any die may serve. It did not wait for one particular die, so its wait is split like the
    /// time of all dies. Returns the part behind write-backs.
    pub(in crate::engine) fn charge_anywhere(&mut self, op: OpId) -> u64 {
        let wait = (self.now - self.kernel.ops[op].waits_since).0;
        let before = &self.kernel.ops.anywhere[op];
        let held = self.kernel.dies.held.total(self.now) as u64 - before.held;
        let held_gc = self.kernel.dies.held_gc.total(self.now) as u64 - before.held_gc;
        let gc = if held_gc == 0 { 0 } else { (u128::from(wait) * u128::from(held_gc) / u128::from(held)) as u64 };
        let held_back = self.kernel.dies.held_writeback.total(self.now) as u64 - before.held_writeback;
        let back =
            if held_back == 0 { 0 } else { (u128::from(wait) * u128::from(held_back) / u128::from(held)) as u64 };
        let folds = if self.rules.slc { folds::charge_anywhere(self, op, wait, held) } else { 0 };
        self.kernel.ops[Page(op)].blame.add(Cause::DieGcOther, gc);
        self.kernel.ops[Page(op)].blame.add(Cause::DieWriteback, back);
        self.kernel.ops[Page(op)].blame.add(Cause::DieHost, wait - gc - back - folds);
        if self.rules.buffers {
            self.note_line_wait(op, For::Any, [gc, 0, wait - gc]);
        }
        if self.rules.tenants {
            self.kernel.share_anywhere(&self.features, self.now, op, wait - gc - back - folds);
        }
        back
    }

    /// Starts one operation of a unit's queue. Returns false if none can start now.
    fn kick(&mut self, unit: UnitId) -> bool {
        let state = &self.kernel.dies[unit];
        if state.suspension() == Suspension::Serving && state.array().is_none() && state.cache().is_none() {
            self.serve_in_suspension(unit);
            return false;
        }
        if state.queue.is_empty()
            || state.suspension() != Suspension::No
            || (state.array().is_some() && !self.rules.overlaps)
        {
            return false;
        }
        if state.array().is_some() && self.rules.suspends && self.features.waiting(unit).any_read() {
            self.try_suspend(unit);
        }
        let state = &self.kernel.dies[unit];
        if state.suspension() != Suspension::No {
            return false;
        }
        if state.job.is_some() && !(self.rules.pauses && self.gc.jobs[state.job.0].pause != Pause::No) {
            return state.array().is_none() && self.gc.jobs[state.job.0].waiting && self.admit_foreign(unit);
        }
        if self.rules.collector_holds && !state.due().is_empty() && state.job.is_none() {
            // A collection that holds its die goes first, even if the next operation could overlap the running one.
            return false;
        }
        if state.array().is_some() && !self.takes_data_in(unit) {
            return false;
        }
        let state = &self.kernel.dies[unit];
        let first = if self.rules.queues { self.next_in_queue(unit).1 } else { state.queue.head() };
        if (state.array().is_some() || state.cache().is_some()) && !self.may_overlap(first, unit) {
            return false;
        }
        let queue = &mut self.kernel.dies[unit].queue;
        if self.rules.queues {
            queue.remove(&mut self.kernel.ops, first);
        } else {
            queue.pop(&self.kernel.ops);
        }
        self.note_queue(first, unit, false);
        if self.rules.deep {
            let next = self.kernel.dies[unit].queue.head();
            self.host.expect_next(&self.kernel, &self.dev, next, self.kernel.ops[first].request);
        }
        self.select(first, unit);
        self.note_burst(first, unit);
        true
    }

    /// R8: whether an operation may begin in addition to the one in service on its unit. The next array read may run during data-out;
    /// only reads overlap reads. The next data-in may run while the array programs.
    #[inline(always)]
    fn may_overlap(&self, op: OpId, unit: UnitId) -> bool {
        let page = &self.kernel.ops[op];
        page.class.like_host()
            && (page.need == Need::Write) == self.kernel.dies[unit].array().is_some()
            && !(self.rules.slc && folds::mixes_modes(self, op, unit))
    }

    /// R8: whether the array of a unit programs for the host, and its cache register is free for the next data-in.
    #[inline(always)]
    fn takes_data_in(&mut self, unit: UnitId) -> bool {
        let state = &self.kernel.dies[unit];
        let array = &self.kernel.ops[state.array()];
        self.config.timing.cache_register
            && state.cache().is_none()
            && array.verb == Verb::Program
            && array.class.like_host()
            && array.leg > 0
            && self.is_in_array(unit)
    }

    /// A die whose collection waits for its pages on other dies programs pages that other collections send here.
    fn admit_foreign(&mut self, unit: UnitId) -> bool {
        let op =
            self.kernel.dies[unit].queue.take(&mut self.kernel.ops, |op| op.class == Class::Gc && op.job.is_none());
        if op.is_some() {
            self.note_queue(op, unit, false);
            self.select(op, unit);
        }
        op.is_some()
    }

    /// A page of the host or of a group has reached the head of a unit's queue.
    #[inline(always)]
    pub(in crate::engine) fn select_page(&mut self, op: OpId, unit: UnitId) {
        if self.is_rejected(op, unit) {
            return;
        }
        let page = &self.kernel.ops[op];
        match page.need {
            Need::Read | Need::Merge if self.waits_for_word_line(op) => self.take_from_buffer(op, unit),
            Need::Read if self.rules.caches => self.select_cached_read(op, unit),
            Need::Read if self.features.reads_group(&self.kernel, op) => {
                match self.kernel.covered(&self.dev, page.lpn) {
                    Some(at) => self.begin_read(op, at, unit),
                    None => buffered::select(self, op, unit),
                }
            }
            Need::Read => match self.dev.map.get(page.lpn) {
                Location::Flash(at) => {
                    let at = self.features.read_from(&mut self.kernel, op, at);
                    self.begin_read(op, at, unit);
                }
                Location::Staged(newest) if self.needs_old(op, newest) => {
                    let old = self.features.old_page(&self.kernel, &self.dev, newest);
                    self.begin_read(op, old, unit);
                }
                // Overwritten, trimmed or buffered while it waited: the newest version is in controller memory, or there is none.
                Location::Staged(_) | Location::Nowhere => {
                    if let Location::Staged(newest) = self.dev.map.get(page.lpn) {
                        self.note_memory_read(op, self.kernel.ops[Page(newest)].tags[0]);
                    }
                    self.select_in_memory(op, unit);
                }
            },
            Need::Merge => match self.merge_source(op) {
                Ppn::NONE => {
                    self.charge_wait(op, unit);
                    self.skip_merge(op);
                }
                old => self.begin_read(op, old, unit),
            },
            Need::Write => {
                self.turn_comes(op, unit);
                self.begin_write(op, unit);
            }
            Need::Absorb => unreachable!("it waits for no die"),
        }
    }

    /// A read whose turn has come on a die needs no flash any more.
    pub(in crate::engine) fn select_in_memory(&mut self, op: OpId, unit: UnitId) {
        self.leaves_chip(op);
        self.charge_wait(op, unit);
        let measured = self.host.requests[self.kernel.ops[op].request].measured;
        self.stats.pages.from_memory += u64::from(measured);
        self.serve_from_memory(op);
    }

    pub(in crate::engine) fn begin_read(&mut self, op: OpId, at: Ppn, unit: UnitId) {
        let plane = self.dev.geometry.plane_of(at);
        if self.dev.geometry.unit_of(plane) != unit {
            // The page has moved: the read queues at its new die, with its own age.
            self.kernel.ops.leave_lane(op);
            self.charge_wait(op, unit);
            self.kernel.ops[op].waits_since = self.now;
            return self.enqueue(op, plane, true);
        }
        if self.kernel.ops[op].plane != plane {
            // So far it has waited for another plane of this unit.
            self.kernel.ops.leave_lane(op);
            self.charge_wait(op, unit);
            self.kernel.ops[op].waits_since = self.now;
            self.kernel.ops[op].plane = plane;
            self.kernel.update_lag(self.now, op, unit);
        } else {
            self.turn_comes(op, unit);
        }
        self.load(op, at);
        if self.rules.retries && retry::apart::begin_again(self, op, at, unit) {
            return;
        }
        let burst = self.read_burst(op);
        let (count, legs) = if self.rules.pairs {
            self.join_reads(op, at, unit, burst)
        } else {
            (1, self.dev.timing.legs(Command::Read { pages: &[self.dev.place(at)], burst, decoded: false }))
        };
        self.count_host(op, count);
        let page = &mut self.kernel.ops[op];
        page.verb = Verb::Read;
        page.pages = PageSet::one(at);
        page.legs = legs;
        self.begin(op, unit);
    }

    /// Bus time of a read.
    #[inline(always)]
    pub(in crate::engine) fn read_burst(&self, op: OpId) -> Nanos {
        self.dev.timing.transfer(self.kernel.bytes_read(&self.dev, &self.rules, op))
    }

    /// The page on flash that a read for the host, or for one of its writes, would read now; none if it needs none.
    pub(in crate::engine) fn page_to_read(&self, op: OpId) -> Option<Ppn> {
        let page = &self.kernel.ops[op];
        let at = match page.need {
            Need::Read if self.rules.caches => self.page_beside_cache(op),
            Need::Merge if page.class == Class::Cache => self.page_to_fill(op),
            Need::Read if self.features.reads_group(&self.kernel, op) => {
                return self.kernel.covered(&self.dev, page.lpn);
            }
            Need::Read => match self.dev.map.get(page.lpn) {
                Location::Flash(_) if self.features.reads_copy(&self.kernel, op) => self.kernel.ops.copy[op].page,
                Location::Flash(at) => at,
                Location::Staged(newest) if self.needs_old(op, newest) => {
                    self.features.old_page(&self.kernel, &self.dev, newest)
                }
                Location::Staged(_) | Location::Nowhere => Ppn::NONE,
            },
            Need::Merge => self.merge_source(op),
            Need::Write | Need::Absorb => Ppn::NONE,
        };
        (at.is_some() && !self.page_waits(at)).then_some(at)
    }

    /// An array read begins: the block has a reader, and the data's tag is loaded.
    #[inline(always)]
    pub(in crate::engine) fn load(&mut self, op: OpId, at: Ppn) {
        let block = self.dev.geometry.block_of(at);
        self.array_reads(block);
        let lpn = self.kernel.ops[op].lpn;
        let tag = if self.features.replicas.is_some() {
            self.features.load_copy(&self.kernel, &self.oracle, op, at)
        } else {
            self.oracle.load(at, lpn)
        };
        // A merging write has its own new tag, and the old page's tag.
        let place = usize::from(self.kernel.ops[op].need != Need::Read);
        self.hold_tag(op, place, tag);
        if self.rules.caches {
            // What a read brings into a line is what it found: GC in no time may erase the page before its data is out.
            self.kernel.ops[Page(op)].tags[1] = tag;
        }
        self.load_chunk(op, at);
    }

    /// The tag of a page that is being read travels with its operation.
    #[inline(always)]
    pub(in crate::engine) fn hold_tag(&mut self, op: OpId, place: usize, tag: Tag) {
        self.kernel.ops[Page(op)].tags[place] = tag;
        if self.host.notes_reads(&self.oracle, &self.rules) {
            self.note_flash_read(op, tag);
        }
    }

    /// A host program begins if its plane has a free page; otherwise it waits for space.
    pub(in crate::engine) fn begin_write(&mut self, id: OpId, unit: UnitId) {
        let (plane, flash) = (self.kernel.ops[id].plane, &mut self.dev.flash);
        let taken = match (self.rules.plain_points, self.rules.units) {
            (true, _) => flash.take_host_page(plane),
            (false, true) => flash.take_program(plane, self.kernel.ops.host_stream(id), false),
            (false, false) => flash.take_page(plane, self.kernel.ops.host_stream(id), false),
        };
        let Some(at) = taken else {
            if self.rules.slc && folds::stalls(self, id, plane) {
                return;
            }
            self.begin_stall(id);
            self.gc.planes[plane.ix()].stalled.push(&mut self.kernel.ops, id);
            return self.claim(plane);
        };
        if !self.rules.plain_points {
            if self.rules.units {
                return self.begin_group(id, at, unit);
            }
            let of = (&self.kernel.ops, &self.host.requests);
            count_program(&mut self.features, &self.dev.flash, of, id, at);
        }
        self.dev.stirs_buffer(&self.rules, plane);
        if self.kernel.ops[id].class == Class::Cache {
            self.line_selected(id);
        } else if self.oracle.tracks_sectors() {
            self.compose(id);
        }
        let transfer = self.dev.timing.page();
        let (pages, legs) = if self.rules.pairs {
            let pages = self.mate_writes(id, at, unit);
            let count = pages.len() as u64;
            let places = &self.dev.places(&pages)[..pages.len()];
            (count, self.dev.timing.legs(Command::Program { pages: places, burst: Nanos(transfer.0 * count) }))
        } else {
            (1, self.dev.timing.legs(Command::Program { pages: &[self.dev.place(at)], burst: transfer }))
        };
        self.count_host(id, pages);
        let page = &mut self.kernel.ops[id];
        page.verb = Verb::Program;
        page.pages = PageSet::one(at);
        page.legs = legs;
        self.begin(id, unit);
    }

    /// Counts a host read or program as measured if its request is.
    #[inline(always)]
    pub(in crate::engine) fn count_host(&mut self, op: OpId, pages: u64) {
        let (page, class) = (&self.kernel.ops[op], self.host.class_counted(&self.kernel, op));
        if page.class == Class::Host && !self.host.requests[page.request].measured {
            self.stats.count_unmeasured(class, page.need == Need::Write, pages);
        } else if page.need == Need::Write {
            self.stats.count_programs(class, pages);
            if self.rules.tenants && matches!(class, Class::Host | Class::Cache) {
                self.features.tenants_write(&self.kernel, &self.dev, op);
            }
        } else {
            self.stats.count_reads(class, pages);
        }
    }

    /// Service begins: the unit is taken, and the first leg runs.
    #[inline(always)]
    pub(in crate::engine) fn begin(&mut self, op: OpId, unit: UnitId) {
        let now = self.now;
        let page = &mut self.kernel.ops[op];
        page.leg = 0;
        page.unit = unit;
        page.bus_gc = 0;
        let plane = page.plane;
        let mut mate = op;
        while mate.is_some() {
            self.kernel.ops[Page(mate)].first_start.get_or_insert(Moment::at(now));
            mate = self.kernel.ops[mate].mate;
        }
        if self.rules.page_types {
            self.count_by_type(op);
        }
        self.kernel.dies[unit].enter(op);
        let holder = if self.rules.sorts_waits { self.begins_beside(op, unit) } else { Holder::Host };
        self.kernel.seize_unit(&self.dev, self.now, unit, holder, plane);
        self.run_leg(op);
    }

    /// An operation begins on a device that sorts waits further. Returns the unit's holder.
    #[inline(never)]
    fn begins_beside(&mut self, op: OpId, unit: UnitId) -> Holder {
        if self.rules.tenants {
            self.features.die_serves(&self.kernel, self.now, unit, op);
        }
        if self.rules.buffers { self.kernel.holder_beside(op, unit) } else { Holder::Host }
    }

    /// Charges an operation's wait for its unit: GC by the ledger, the rest to host operations. The shadow clock determines the
    /// part of the rest that would exist without GC.
    #[inline(always)]
    pub(in crate::engine) fn charge_wait(&mut self, op: OpId, unit: UnitId) {
        let (turn, since) = (self.kernel.turn(self.now, op, unit), self.kernel.ops[op].waits_since);
        self.charge_from(op, unit, since, &turn);
    }

    /// A host operation has reached the head of the queue: charges its wait, and advances the shadow clock.
    #[inline(always)]
    pub(in crate::engine) fn turn_comes(&mut self, op: OpId, unit: UnitId) {
        let (state, since) = (&mut self.kernel.dies[unit], self.kernel.ops[op].waits_since);
        let turn = state.turn(since, self.now);
        state.set_lag(&turn);
        self.charge_from(op, unit, since, &turn);
    }

    /// Charges a wait whose turn has come: without GC it would have ended when the operation begins by the shadow clock.
    #[inline(always)]
    fn charge_from(&mut self, op: OpId, unit: UnitId, since: Nanos, turn: &Turn) {
        if since == self.now {
            return;
        }
        let page = &mut self.kernel.ops[Page(op)];
        let parts = turn.parts(since, self.now, page.ledger_gc, page.ledger_writeback);
        if self.rules.sorts_waits {
            self.sort_wait(op, unit, parts.host, parts.host + parts.late);
            if self.rules.buffers {
                let late = if self.rules.by_class { 0 } else { parts.late };
                let others = parts.host + parts.late - late + parts.writeback;
                self.note_line_wait(op, For::Die(unit), [parts.gc, late, others]);
            }
        } else {
            page.blame.add(Cause::DieHost, parts.host);
            page.blame.add(Cause::DieLate, parts.late);
        }
        if parts.gc + parts.writeback > 0 {
            self.charge_collections(op, unit, parts.gc, parts.writeback);
        }
    }

    /// Charges the part of a wait without GC on a device that sorts waits further: `host` of `rest` by the shadow clock.
    #[inline(never)]
    fn sort_wait(&mut self, op: OpId, unit: UnitId, host: u64, rest: u64) {
        let host = if self.rules.by_class { rest } else { host };
        let lines = if self.rules.buffers { self.kernel.behind_lines(self.now, op, unit).min(host) } else { 0 };
        let folds = if self.rules.slc { folds::charge(self, op, unit, host - lines) } else { 0 };
        let page = &mut self.kernel.ops[Page(op)];
        page.blame.add(Cause::DieLate, rest - host);
        page.blame.add(Cause::DieHost, host - lines - folds);
        page.blame.add(Cause::DieWriteback, lines);
        if self.rules.tenants {
            self.kernel.share_die(&self.features, self.now, op, unit, host - lines - folds);
        }
    }

    /// Charges the part of a wait in which GC and write-backs held the unit.
    #[inline(never)]
    pub(in crate::engine) fn charge_collections(&mut self, op: OpId, unit: UnitId, gc_all: u64, back: u64) {
        let (page, state) = (&self.kernel.ops[op], &self.kernel.dies[unit]);
        let Spot { in_unit, ledger, .. } = self.dev.geometry.spot(page.plane);
        debug_assert_eq!(self.dev.geometry.unit_of(page.plane), unit);
        let gc_own = state.gc_own(self.kernel.dies.gc_by_plane[ledger as usize], in_unit, self.now)
            - self.kernel.ops[Page(op)].ledger_gc_own;
        self.note_conflict(op, unit, gc_all, back);
        self.kernel.ops[Page(op)].blame.add_collections(gc_own, gc_all - gc_own, back);
    }
}
