//! Dispatch: units serve the operations that wait for them, oldest first, and waits are charged to their causes.

use crate::blame::Cause;
use crate::config::Config;
use crate::device::command::Command;
use crate::device::flash::Stream;
use crate::device::geometry::Spot;
use crate::device::mapping::Location;
use crate::device::transaction::{Class, Need, Verb};
use crate::engine::features::cache::{For, reads};
use crate::engine::features::raid::{buffered, failure};
use crate::engine::features::retry::apart;
use crate::engine::features::slc::folds;
use crate::engine::features::{offers, streams};
use crate::engine::kernel::Kernel;
use crate::engine::kernel::dies::{Holder, Suspension, Turn};
use crate::engine::kernel::ops::Page;
use crate::engine::rules::Rules;
use crate::engine::{Device, Features, Gc, Host, Nanos, Ssd};
use crate::oracle::Oracle;
use crate::policy::PageSet;
use crate::stats::Stats;
use crate::units::{Lpn, Moment, OpId, PlaneId, Ppn, Tag, UnitId};

impl Kernel {
    /// A write that any die may serve gets its die and plane.
    #[inline(always)]
    pub(in crate::engine) fn go_to(&mut self, dev: &Device, op: OpId, unit: UnitId, plane: PlaneId) {
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
    pub(in crate::engine) fn turn(&self, now: Nanos, op: OpId, unit: UnitId) -> Turn {
        self.dies[unit].turn(self.ops[op].waits_since, now)
    }

    /// The shadow clock advances to an operation, which begins or has reached the head of its queue. Returns its turn.
    #[inline(always)]
    pub(in crate::engine) fn update_lag(&mut self, now: Nanos, op: OpId, unit: UnitId) -> Turn {
        let turn = self.turn(now, op, unit);
        self.dies[unit].set_lag(&turn);
        turn
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

    /// Whether nothing is in service or about to be. A unit in GC is not idle; the bus does not matter.
    #[inline(always)]
    pub(in crate::engine) fn is_idle(&self, dev: &Device, gc: &Gc, rules: &Rules, unit: UnitId) -> bool {
        let state = &self.dies[unit];
        debug_assert!(!state.is_free() || state.job.is_some() || state.holder() == Holder::Free);
        state.is_free() && gc.leaves_unit(self, dev, rules, unit)
    }

    /// Bus time of a read.
    #[inline(always)]
    pub(in crate::engine) fn read_burst(&self, dev: &Device, rules: &Rules, op: OpId) -> Nanos {
        dev.timing.transfer(self.bytes_read(dev, rules, op))
    }

    /// R8: whether an operation may begin in addition to the one in service on its unit. The next array read may run during data-out;
    /// only reads overlap reads. The next data-in may run while the array programs.
    #[inline(always)]
    fn may_overlap(&self, op: OpId, unit: UnitId) -> bool {
        let page = &self.ops[op];
        page.class.like_host() && (page.need == Need::Write) == self.dies[unit].array().is_some()
    }

    /// R8: whether the array of a unit programs for the host, and its cache register is free for the next data-in.
    #[inline(always)]
    fn takes_data_in(&self, config: &Config, unit: UnitId) -> bool {
        let state = &self.dies[unit];
        let array = &self.ops[state.array()];
        config.timing.cache_register
            && state.cache().is_none()
            && array.verb == Verb::Program
            && array.class.like_host()
            && array.leg > 0
    }

    /// Charges the part of a wait in which GC and write-backs held the unit.
    #[inline(never)]
    pub(in crate::engine) fn charge_collections(
        &mut self,
        dev: &Device,
        now: Nanos,
        op: OpId,
        unit: UnitId,
        gc_all: u64,
        back: u64,
    ) {
        let (page, state) = (&self.ops[op], &self.dies[unit]);
        let Spot { in_unit, ledger, .. } = dev.geometry.spot(page.plane);
        debug_assert_eq!(dev.geometry.unit_of(page.plane), unit);
        let gc_own =
            state.gc_own(self.dies.gc_by_plane[ledger as usize], in_unit, now) - self.ops[Page(op)].ledger_gc_own;
        self.ops[Page(op)].blame.add_collections(gc_own, gc_all - gc_own, back);
    }

    /// Charges the wait of a write that any die may serve. It did not wait for one particular die, so its wait is split like the
    /// time of all dies. Returns the part behind write-backs.
    pub(in crate::engine) fn charge_anywhere(
        &mut self,
        features: &mut Features,
        rules: &Rules,
        now: Nanos,
        op: OpId,
    ) -> u64 {
        let wait = (now - self.ops[op].waits_since).0;
        let before = &self.ops.anywhere[op];
        let held = self.dies.held.total(now) as u64 - before.held;
        let held_gc = self.dies.held_gc.total(now) as u64 - before.held_gc;
        let gc = if held_gc == 0 { 0 } else { (u128::from(wait) * u128::from(held_gc) / u128::from(held)) as u64 };
        let held_back = self.dies.held_writeback.total(now) as u64 - before.held_writeback;
        let back =
            if held_back == 0 { 0 } else { (u128::from(wait) * u128::from(held_back) / u128::from(held)) as u64 };
        let folds = self.charge_folds_anywhere(rules, now, op, wait, held);
        self.ops[Page(op)].blame.add(Cause::DieGcOther, gc);
        self.ops[Page(op)].blame.add(Cause::DieWriteback, back);
        self.ops[Page(op)].blame.add(Cause::DieHost, wait - gc - back - folds);
        features.note_line_wait(self, rules, now, op, For::Any, [gc, 0, wait - gc]);
        self.share_anywhere(features, rules, now, op, wait - gc - back - folds);
        back
    }

    /// A die whose collection waits for its pages on other dies programs pages that other collections send here: takes the first one
    /// from its queue.
    fn take_foreign(&mut self, features: &mut Features, rules: &Rules, unit: UnitId) -> OpId {
        let op = self.dies[unit].queue.take(&mut self.ops, |op| op.class == Class::Gc && op.job.is_none());
        if op.is_some() {
            features.note_queue(self, rules, op, unit, false);
        }
        op
    }

    /// An array read begins: the block has a reader, and the data's tag is loaded. Returns it
    /// ([`Host::notes_reads`]).
    #[inline(always)]
    pub(in crate::engine) fn load(
        &mut self,
        dev: &mut Device,
        features: &mut Features,
        oracle: &Oracle,
        rules: &Rules,
        op: OpId,
        at: Ppn,
    ) -> Tag {
        let block = dev.geometry.block_of(at);
        dev.array_reads(block);
        let tag = features.load_tag(self, oracle, op, at);
        // A merging write has its own new tag, and the old page's tag.
        let place = usize::from(self.ops[op].need != Need::Read);
        self.ops[Page(op)].tags[place] = tag;
        self.keep_found(rules, op, tag);
        features.load_chunk(self, oracle, op, at);
        tag
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

    /// The first unit after the last one used that takes writes and has a page, and its plane. `full`: one had no page.
    #[inline(always)]
    pub(in crate::engine) fn next_place(
        &self,
        kernel: &mut Kernel,
        dev: &Device,
        features: &Features,
        full: &mut bool,
        takes: impl Fn(&Kernel, UnitId) -> bool,
    ) -> Option<(UnitId, PlaneId)> {
        let (next, units) = (self.last_place + 1, dev.geometry.units);
        let head = self.anywhere.head();
        let (lpn, stream) = (kernel.ops[head].lpn, kernel.ops.host_stream(head));
        for (mut from, to) in [(next, units), (0, next)] {
            while let Some(unit) = kernel.dies.first_free(from, to) {
                from = unit.0 + 1;
                if takes(kernel, unit) {
                    match kernel.next_plane(features, dev, unit, lpn, stream) {
                        Some(plane) => return Some((unit, plane)),
                        None => *full = true,
                    }
                }
            }
        }
        None
    }

    /// Counts a host read or program as measured if its request is. Returns whether it programs data of the host, and is measured.
    #[inline(always)]
    pub(in crate::engine) fn count_host(&self, kernel: &Kernel, stats: &mut Stats, op: OpId, pages: u64) -> bool {
        let (page, class) = (&kernel.ops[op], self.class_counted(kernel, op));
        if page.class == Class::Host && !self.requests[page.request].measured {
            stats.count_unmeasured(class, page.need == Need::Write, pages);
        } else if page.need == Need::Write {
            stats.count_programs(class, pages);
            return matches!(class, Class::Host | Class::Cache);
        } else {
            stats.count_reads(class, pages);
        }
        false
    }
}

impl Ssd {
    /// R10: a waiting read suspends the operation in the array, unless that ends sooner by itself.
    #[inline(never)]
    fn try_suspend(&mut self, unit: UnitId) {
        if self.kernel.may_suspend(&self.config, unit)
            && self.kernel.is_in_array(&self.fast, self.now, unit)
            && self.read_waits(unit)
        {
            self.kernel.suspend_for_read(&self.config, self.now, unit);
        }
    }

    /// Starts operations on every unit that may have become free.
    #[inline(always)]
    pub(in crate::engine) fn dispatch(&mut self) {
        if self.host.window_stale {
            self.dispatch_window();
        }
        self.begin_updates();
        if self.kernel.dies.dirty.is_empty() && !self.features.may_offer(&self.rules) {
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
            let (kernel, features) = (&mut self.kernel, &mut self.features);
            self.gc.has_considered(kernel, &self.dev, features, &self.rules, self.now, unit);
        }
        offers::to_considered_dies(self);
        self.kernel.dies.looking.clear();
        offers::to_idle_dies(self);
    }

    /// A free die and the device-wide FIFO of writes compete for operations: the oldest goes first.
    #[inline(never)]
    fn dispatch_oldest_first(&mut self) {
        if !self.host.without_page.is_empty() {
            // Its collection is requested as long as it waits.
            self.claim_full_planes(self.kernel.ops.host_stream(self.host.without_page.head()));
        }
        let takes = |unit: &UnitId| {
            self.kernel.is_idle(&self.dev, &self.gc, &self.rules, *unit)
                || self.gc.is_paused_for_host(&self.kernel, &self.rules, *unit)
        };
        // Whenever a die becomes idle it is among these.
        let none_idle = self.host.none_idle && !self.kernel.dies.looking.iter().any(takes);
        debug_assert!(!none_idle || !(0..self.dev.geometry.units).any(|unit| takes(&UnitId(unit))));
        self.host.none_idle = none_idle;
        loop {
            let mut oldest: Option<((u8, u64), UnitId)> = None;
            for unit in &self.kernel.dies.looking {
                let ready = self.kernel.is_idle(&self.dev, &self.gc, &self.rules, *unit)
                    || self.gc.is_paused_for_host(&self.kernel, &self.rules, *unit);
                if ready && !self.kernel.dies[*unit].queue.is_empty() {
                    let (kernel, dev, host, rules) = (&self.kernel, &self.dev, &self.host, &self.rules);
                    let (rank, first) = self.features.next_in_queue(kernel, dev, host, rules, &self.config, *unit);
                    let turn = (rank, self.kernel.ops[first].age);
                    if oldest.is_none_or(|(other, _)| turn < other) {
                        oldest = Some((turn, *unit));
                    }
                }
            }
            let write = self.host.anywhere.head();
            let write_first = write.is_some() && {
                let rank = self.features.rank_in_queue(&self.kernel, &self.rules, write);
                let turn = (rank, self.kernel.ops[write].age);
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

    /// Starts the oldest of the writes that any die may serve on the first idle die after the last one used. Returns false if no
    /// die is idle, or no idle die has a page for it.
    #[inline(never)]
    fn start_anywhere(&mut self) -> bool {
        let mut full = false;
        // If no die is idle, dies with paused collections come next.
        let found = (!self.host.none_idle).then(|| {
            let (host, kernel, dev, gc) = (&self.host, &mut self.kernel, &self.dev, &self.gc);
            let (features, rules) = (&self.features, &self.rules);
            let is_idle = |kernel: &Kernel, unit| kernel.is_idle(dev, gc, rules, unit);
            let idle = host.next_place(kernel, dev, features, &mut full, is_idle);
            idle.or_else(|| host.next_paused_place(kernel, dev, gc, features, rules, &mut full))
        });
        if let Some((unit, plane)) = found.flatten() {
            self.host.last_place = unit.0;
            let op = self.host.anywhere.pop(&self.kernel.ops);
            self.kernel.go_to(&self.dev, op, unit, plane);
            let back = self.kernel.charge_anywhere(&mut self.features, &self.rules, self.now, op);
            self.features.note_found(&self.kernel, &mut self.host, self.now, op, back);
            self.kernel.update_lag(self.now, op, unit);
            self.begin_write(op, unit);
            return true;
        }
        self.host.none_idle = !full;
        self.features.note_skip(&self.kernel, &self.host, self.now);
        // If dies are idle but have no free page, full planes are due, whatever the threshold is. GC in no time has freed pages
        // by now.
        if !full {
            return false;
        }
        let stream = self.kernel.ops.host_stream(self.host.anywhere.head());
        if self.claim_full_planes(stream) {
            return self.start_anywhere();
        }
        if folds::stalls_anywhere(self, stream) {
            return true;
        }
        let (kernel, features, stats) = (&mut self.kernel, &mut self.features, &mut self.stats);
        self.host.is_overtaken(kernel, &self.dev, features, stats, &self.rules, (stream, self.now))
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
        if self.features.read_may_suspend(&self.kernel, &self.rules, unit) {
            self.try_suspend(unit);
        }
        let state = &self.kernel.dies[unit];
        if state.suspension() != Suspension::No {
            return false;
        }
        if self.gc.occupies(&self.kernel, &self.rules, unit) {
            if state.array().is_some() || !self.gc.jobs[state.job.0].waiting {
                return false;
            }
            let op = self.kernel.take_foreign(&mut self.features, &self.rules, unit);
            if op.is_some() {
                self.select(op, unit);
            }
            return op.is_some();
        }
        if self.kernel.collection_goes_first(&self.rules, unit) {
            // Even if the next operation could overlap the running one.
            return false;
        }
        if state.array().is_some()
            && !(self.kernel.takes_data_in(&self.config, unit) && self.kernel.is_in_array(&self.fast, self.now, unit))
        {
            return false;
        }
        let state = &self.kernel.dies[unit];
        let (_, first) =
            self.features.next_in_queue(&self.kernel, &self.dev, &self.host, &self.rules, &self.config, unit);
        if (state.array().is_some() || state.cache().is_some())
            && (!self.kernel.may_overlap(first, unit) || folds::mixes_modes(self, first, unit))
        {
            return false;
        }
        self.kernel.take_from_queue(&self.rules, first, unit);
        self.features.note_queue(&self.kernel, &self.rules, first, unit, false);
        self.host.expect_next(&self.kernel, &self.dev, &self.rules, first, unit);
        self.select(first, unit);
        self.features.note_burst(&self.kernel, &self.host, &self.rules, first, unit);
        true
    }

    /// A page of the host or of a group has reached the head of a unit's queue.
    #[inline(always)]
    pub(in crate::engine) fn select_page(&mut self, op: OpId, unit: UnitId) {
        if failure::rejects(self, op, unit) {
            return;
        }
        let (need, lpn) = (self.kernel.ops[op].need, self.kernel.ops[op].lpn);
        match need {
            Need::Read | Need::Merge
                if self.kernel.waits_for_word_line(&self.dev, &self.host, &self.features, &self.rules, op) =>
            {
                self.take_from_buffer(op, unit)
            }
            Need::Read if reads::selects(self, op, unit) => {}
            Need::Read if self.features.reads_group(&self.kernel, op) => match self.kernel.covered(&self.dev, lpn) {
                Some(at) => self.begin_read(op, at, unit),
                None => buffered::select(self, op, unit),
            },
            Need::Read => match self.dev.map.get(lpn) {
                Location::Flash(at) => {
                    let at = self.features.read_from(&mut self.kernel, op, at);
                    self.begin_read(op, at, unit);
                }
                Location::Staged(newest) if self.host.needs_old(&self.kernel, &self.dev, &self.rules, op, newest) => {
                    let old = self.features.old_page(&self.kernel, &self.dev, newest);
                    self.begin_read(op, old, unit);
                }
                // Overwritten, trimmed or buffered while it waited: the newest version is in controller memory, or there is none.
                Location::Staged(_) | Location::Nowhere => {
                    if let Location::Staged(newest) = self.dev.map.get(lpn) {
                        self.host.note_memory_read(
                            &self.kernel,
                            &self.dev,
                            &mut self.oracle,
                            &self.rules,
                            op,
                            self.kernel.ops[Page(newest)].tags[0],
                        );
                    }
                    self.select_in_memory(op, unit);
                }
            },
            Need::Merge => match self.kernel.merge_source(&self.dev, &self.host, &self.features, op) {
                Ppn::NONE => {
                    self.charge_wait(op, unit, &self.kernel.turn(self.now, op, unit));
                    self.host.skip_merge(&mut self.kernel, &self.features, &self.rules, self.now, op);
                    self.place_merged();
                }
                old => self.begin_read(op, old, unit),
            },
            Need::Write => {
                let turn = self.kernel.update_lag(self.now, op, unit);
                self.charge_wait(op, unit, &turn);
                self.begin_write(op, unit);
            }
            Need::Absorb => unreachable!("it waits for no die"),
        }
    }

    /// A read whose turn has come on a die needs no flash any more.
    pub(in crate::engine) fn select_in_memory(&mut self, op: OpId, unit: UnitId) {
        self.features.leaves_chip(&self.kernel, &self.dev, &mut self.host, op);
        self.charge_wait(op, unit, &self.kernel.turn(self.now, op, unit));
        let measured = self.host.requests[self.kernel.ops[op].request].measured;
        self.stats.pages.from_memory += u64::from(measured);
        self.serve_from_memory(op);
    }

    pub(in crate::engine) fn begin_read(&mut self, op: OpId, at: Ppn, unit: UnitId) {
        let plane = self.dev.geometry.plane_of(at);
        if self.dev.geometry.unit_of(plane) != unit {
            // The page has moved: the read queues at its new die, with its own age.
            self.kernel.ops.leave_lane(op);
            self.charge_wait(op, unit, &self.kernel.turn(self.now, op, unit));
            self.kernel.ops[op].waits_since = self.now;
            return self.enqueue(op, plane, true);
        }
        if self.kernel.ops[op].plane != plane {
            // So far it has waited for another plane of this unit.
            self.kernel.ops.leave_lane(op);
            self.charge_wait(op, unit, &self.kernel.turn(self.now, op, unit));
            self.kernel.ops[op].waits_since = self.now;
            self.kernel.ops[op].plane = plane;
            self.kernel.update_lag(self.now, op, unit);
        } else {
            let turn = self.kernel.update_lag(self.now, op, unit);
            self.charge_wait(op, unit, &turn);
        }
        let tag = self.kernel.load(&mut self.dev, &mut self.features, &self.oracle, &self.rules, op, at);
        if self.host.notes_reads(&self.oracle, &self.rules) {
            self.kernel.note_flash_read(&self.dev, &self.features, &mut self.oracle, &self.rules, op, tag);
        }
        if apart::begin_again(self, op, at, unit) {
            return;
        }
        let burst = self.kernel.read_burst(&self.dev, &self.rules, op);
        let (count, legs) = if self.rules.pairs {
            self.join_reads(op, at, unit, burst)
        } else {
            (1, self.dev.timing.legs(Command::Read { pages: &[self.dev.place(at)], burst, decoded: false }))
        };
        self.host.count_host(&self.kernel, &mut self.stats, op, count);
        let page = &mut self.kernel.ops[op];
        page.verb = Verb::Read;
        page.pages = PageSet::one(at);
        page.legs = legs;
        self.begin(op, unit);
    }

    /// The page on flash that a read for the host, or for one of its writes, would read now; none if it needs none.
    pub(in crate::engine) fn page_to_read(&self, op: OpId) -> Option<Ppn> {
        let page = &self.kernel.ops[op];
        let (kernel, dev, host, rules) = (&self.kernel, &self.dev, &self.host, &self.rules);
        let at = match page.need {
            Need::Read => match self.features.page_beside_cache(kernel, dev, host, rules, &self.config, op) {
                Some(at) => at,
                None if self.features.reads_group(kernel, op) => return kernel.covered(dev, page.lpn),
                None => match dev.map.get(page.lpn) {
                    Location::Flash(_) if self.features.reads_copy(kernel, op) => kernel.ops.copy[op].page,
                    Location::Flash(at) => at,
                    Location::Staged(newest) if host.needs_old(kernel, dev, rules, op, newest) => {
                        self.features.old_page(kernel, dev, newest)
                    }
                    Location::Staged(_) | Location::Nowhere => Ppn::NONE,
                },
            },
            Need::Merge if page.class == Class::Cache => self.features.page_to_fill(kernel, dev, rules, op),
            Need::Merge => kernel.merge_source(dev, host, &self.features, op),
            Need::Write | Need::Absorb => Ppn::NONE,
        };
        (at.is_some() && !dev.page_waits(rules, at)).then_some(at)
    }

    /// A host program begins if its plane has a free page; otherwise it waits for space.
    pub(in crate::engine) fn begin_write(&mut self, id: OpId, unit: UnitId) {
        let plane = self.kernel.ops[id].plane;
        let taken = streams::take_page(&mut self.dev.flash, &self.kernel.ops, &self.rules, plane, id);
        let Some(at) = taken else {
            if folds::stalls(self, id, plane) {
                return;
            }
            self.kernel.begin_stall(&self.host, &mut self.stats, self.now, id);
            self.gc.planes[plane.ix()].stalled.push(&mut self.kernel.ops, id);
            return self.claim(plane);
        };
        if streams::begins_program(self, id, at, unit) {
            return;
        }
        self.dev.stirs_buffer(&self.rules, plane);
        if self.kernel.ops[id].class == Class::Cache {
            self.features.line_selected(&mut self.kernel, &mut self.oracle, id);
        } else if self.oracle.tracks_sectors() {
            self.kernel.compose(&self.dev, &mut self.oracle, &self.config, id);
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
        if self.host.count_host(&self.kernel, &mut self.stats, id, pages) {
            self.features.tenants_write(&self.kernel, &self.dev, &self.rules, id);
        }
        let page = &mut self.kernel.ops[id];
        page.verb = Verb::Program;
        page.pages = PageSet::one(at);
        page.legs = legs;
        self.begin(id, unit);
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
        self.kernel.count_by_type(&self.dev, &self.host, &self.features, &mut self.stats, &self.rules, op);
        self.kernel.dies[unit].enter(op);
        let holder = self.features.holder_of_begun(&self.kernel, &self.rules, self.now, op, unit);
        self.kernel.seize_unit(&self.dev, self.now, unit, holder, plane);
        self.run_leg(op);
    }

    /// Charges an operation's wait for its unit: GC by the ledger, the rest to host operations. The shadow clock determines the
    /// part of the rest that would exist without GC: it would have ended when the operation begins by this clock.
    #[inline(always)]
    pub(in crate::engine) fn charge_wait(&mut self, op: OpId, unit: UnitId, turn: &Turn) {
        let since = self.kernel.ops[op].waits_since;
        if since == self.now {
            return;
        }
        let page = &self.kernel.ops[Page(op)];
        let parts = turn.parts(since, self.now, page.ledger_gc, page.ledger_writeback);
        if !self.features.sorts_wait(&mut self.kernel, &self.rules, self.now, op, unit, &parts) {
            let page = &mut self.kernel.ops[Page(op)];
            page.blame.add(Cause::DieHost, parts.host);
            page.blame.add(Cause::DieLate, parts.late);
        }
        if parts.gc + parts.writeback > 0 {
            let held = (parts.gc, parts.writeback);
            self.features.note_conflict(&self.kernel, &mut self.host, &self.schemes, op, unit, held);
            self.kernel.charge_collections(&self.dev, self.now, op, unit, parts.gc, parts.writeback);
        }
    }
}
