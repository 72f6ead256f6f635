//! Dispatch: units serve the operations that wait for them, oldest first, and waits are charged to their causes.

use crate::blame::Cause;
use crate::device::geometry::Spot;
use crate::device::mapping::Location;
use crate::device::transaction::{Class, Need, Op, Verb};
use crate::engine::features::cache::reads;
use crate::engine::features::raid::{buffered, failure};
use crate::engine::features::retry::apart;
use crate::engine::features::slc::folds;
use crate::engine::features::{anywhere, mates, offers, streams};
use crate::engine::kernel::Kernel;
use crate::engine::kernel::dies::{Holder, Turn};
use crate::engine::kernel::ops::Page;
use crate::engine::rules::Rules;
use crate::engine::{Device, Features, Gc, Host, Nanos, Ssd};
use crate::oracle::Oracle;
use crate::policy::PageSet;
use crate::stats::Stats;
use crate::units::{Moment, OpId, Ppn, Tag, UnitId};

impl Kernel {
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

    /// The page on flash where a read finds its data; none if that is in controller memory, or nowhere.
    #[inline(always)]
    fn page_of_read(&self, dev: &Device, host: &Host, features: &Features, rules: &Rules, op: OpId) -> Ppn {
        match dev.map.get(self.ops[op].lpn) {
            Location::Flash(_) if features.reads_copy(self, op) => self.ops.copy[op].page,
            Location::Flash(at) => at,
            Location::Staged(newest) if host.needs_old(self, dev, rules, op, newest) => {
                features.old_page(self, dev, newest)
            }
            Location::Staged(_) | Location::Nowhere => Ppn::NONE,
        }
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
        let tag = features.load(self, oracle, op, at);
        // A merging write has its own new tag, and the old page's tag.
        let place = usize::from(self.ops[op].need != Need::Read);
        self.ops[Page(op)].tags[place] = tag;
        self.keep_found(rules, op, tag);
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
        self.kernel.buses.contested = if self.host.runs.any_skips() { u64::MAX } else { contested };
        // Each unit serves its own queue only, so the order among units has no effect, but where the rules say so.
        anywhere::orders_units(self);
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

    /// Starts one operation of a unit's queue. Returns false if none can start now.
    pub(in crate::engine) fn kick(&mut self, unit: UnitId) -> bool {
        if !self.may_begin_beside(unit) {
            return false;
        }
        let state = &self.kernel.dies[unit];
        if self.gc.occupies(&self.kernel, &self.rules, unit) {
            if state.array().is_some() || !self.gc.jobs[state.job.0].waiting {
                return false;
            }
            // Pages that other collections send here are programmed while this die's collection waits for its own elsewhere.
            let sent = |op: &Op| op.class == Class::Gc && op.job.is_none();
            let op = self.kernel.take_first(&mut self.features, &self.rules, unit, sent);
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
        self.kernel.take_next(&mut self.features, &self.rules, first, unit);
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
            Need::Read if buffered::selects(self, op, unit) => {}
            Need::Read => match self.kernel.page_of_read(&self.dev, &self.host, &self.features, &self.rules, op) {
                // Overwritten, trimmed or buffered while it waited: the newest version is in controller memory, or there is none.
                Ppn::NONE => {
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
                at => {
                    self.features.note_copy_read(&mut self.kernel, op, at);
                    self.begin_read(op, at, unit);
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
        let (count, legs) = mates::read(self, op, at, unit, burst);
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
        let (kernel, dev, host, features, rules) = (&self.kernel, &self.dev, &self.host, &self.features, &self.rules);
        let at = match features.page_beside_cache(kernel, dev, host, rules, &self.config, op) {
            Some(at) => at,
            None => match page.need {
                Need::Read if features.reads_group(kernel, op) => return kernel.covered(dev, page.lpn),
                Need::Read => kernel.page_of_read(dev, host, features, rules, op),
                Need::Merge => kernel.merge_source(dev, host, features, op),
                Need::Write | Need::Absorb => Ppn::NONE,
            },
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
        let (pages, legs) = mates::program(self, id, at, unit);
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
