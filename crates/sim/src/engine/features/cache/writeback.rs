//! Write-backs: when dirty lines are issued, and how they reach flash.

use crate::blame::{Blame, CAUSES, Cause, Extra};
use crate::config::{CachePack, Writeback};
use crate::device::mapping::Location;
use crate::device::transaction::{Class, Need};
use crate::engine::features::cache::LINES;
use crate::engine::features::cache::lines::{Reason, State};
use crate::engine::features::cache::order::{NONE, Order};
use crate::engine::kernel::Kernel;
use crate::engine::kernel::dies::Holder;
use crate::engine::kernel::ops::Page;
use crate::engine::rules::Rules;
use crate::engine::{Device, Features, Host, Ssd};
use crate::oracle::Oracle;
use crate::units::{Nanos, OpId, Ppn, UnitId};

/// Causes of a program in service, the latest first.
const LATEST: [Cause; 6] = [Cause::Array, Cause::DieHost, Cause::Bus, Cause::BusHost, Cause::BusGc, Cause::Decode];

impl Kernel {
    /// The program of a line or a group is about to join a queue.
    pub(super) fn becomes_program(&mut self, op: OpId) {
        let page = &mut self.ops[op];
        page.need = Need::Write;
        page.unit = UnitId::NONE;
    }

    /// The holder of a unit on which an operation begins, perhaps beside another one (R8).
    pub(in crate::engine) fn holder_beside(&self, op: OpId, unit: UnitId) -> Holder {
        let array = self.dies[unit].array();
        self.holder_of(if array.is_some() { array } else { op })
    }

    /// One of two operations has left a unit (R8): the other one holds it from now on. Nothing where no write-backs hold units: then both are
    /// the host's.
    #[inline(always)]
    pub(in crate::engine) fn rest_holds(&mut self, rules: &Rules, now: Nanos, unit: UnitId) {
        if rules.buffers {
            let state = &self.dies[unit];
            let left = if state.array().is_some() { state.array() } else { state.cache() };
            self.set_holder(now, unit, self.holder_of(left));
        }
    }

    /// How long write-backs have held a unit since an operation began to wait for it.
    #[inline(always)]
    pub(in crate::engine) fn behind_lines(&self, now: Nanos, op: OpId, unit: UnitId) -> u64 {
        self.dies[unit].cached(now) - self.ops.cached[op].ledger
    }

    /// Charges the last `left` nanoseconds of a write-back's causes to a write. Returns what is not explained by them.
    fn charge_like(&mut self, features: &Features, rules: &Rules, write: OpId, op: OpId, mut left: u64) -> u64 {
        let (all, before) = (self.ops[Page(op)].blame.all(), self.ops.cached[op].before);
        let mut service = Blame(std::array::from_fn(|i| all.0[i] - before.0[i]));
        let mut host = 0;
        let mut charge = |part: &mut Blame, cause: Cause| {
            let ns = part.0[cause as usize].min(left);
            part.0[cause as usize] -= ns;
            left -= ns;
            self.ops[Page(write)].blame.add(cause, ns);
            if matches!(cause, Cause::DieHost | Cause::BusHost) {
                host += ns;
            }
        };
        LATEST.iter().for_each(|cause| charge(&mut service, *cause));
        CAUSES.iter().for_each(|(cause, _)| charge(&mut service, *cause));
        let mut before = before;
        CAUSES.iter().for_each(|(cause, _)| charge(&mut before, *cause));
        let retry = self.ops.extras[op].blame.0[Extra::Retry as usize].min(left);
        left -= retry;
        self.charge_extra(write, Extra::Retry, retry);
        if rules.tenants {
            self.share_like(features, write, op, host);
        }
        left
    }
}

impl Features {
    /// Decides whether lines are being written back from `cache.high` to `cache.low`, once a nanosecond.
    pub(super) fn decide_activity(&mut self, now: Nanos, fresh: bool) {
        let cache = self.cache_mut();
        let dirty = cache.lines.dirty;
        if std::mem::replace(&mut cache.decided_at, now) != now || fresh {
            cache.active |= cache.share(dirty, cache.keys.high).is_ge();
            cache.active &= cache.share(dirty, cache.keys.low).is_gt();
            cache.decided_dirty = dirty;
        }
    }

    /// Whether the last request has completed, no more will arrive, and lines are left to write back. A request that is served from
    /// memory may complete after the write-backs of its nanosecond were decided.
    pub(super) fn drains(&self, host: &Host) -> bool {
        self.cache().ending && host.is_empty() && !self.cache().lines.ready.is_empty()
    }

    /// The read of what a line lacks is to be repeated. Returns whether it still is: a trim may have freed the line meanwhile.
    pub(in crate::engine) fn fill_waits(&mut self, kernel: &mut Kernel, op: OpId) -> bool {
        let cached = &mut kernel.ops.cached[op];
        cached.serving = false;
        let trimmed = cached.trimmed;
        if trimmed {
            self.drop_line_op(kernel, op);
        }
        !trimmed
    }

    /// A line is on flash.
    pub(super) fn line_is_clean(&mut self, oracle: &mut Oracle, line: u32) {
        oracle.run_ends(LINES | line);
        let keeps = self.cache().keeps_clean_lines();
        let lines = &mut self.cache_mut().lines;
        let lpn = lines.all[line as usize].lpn;
        lines.dirty -= 1;
        lines.issued -= 1;
        if lines.of(lpn) == line && keeps {
            let of = &mut lines.all[line as usize];
            of.state = State::Clean;
            of.op = OpId::NONE;
            of.period = of.period.wrapping_add(1);
            lines.rest(line);
        } else {
            lines.release(line);
        }
    }

    /// The next of the writes with forced unit access that wait for a line, whose program `op` has ended, or that a trim has freed: it
    /// is to be acknowledged. Its causes are the last ones of the write-back.
    pub(super) fn next_forced(
        &mut self,
        kernel: &mut Kernel,
        rules: &Rules,
        now: Nanos,
        line: u32,
        op: OpId,
    ) -> Option<OpId> {
        let waiting = &mut self.cache_mut().lines.all[line as usize].waiting;
        if waiting.is_empty() {
            return None;
        }
        let (write, since) = waiting.remove(0);
        let left = (now - since).0;
        let left = if op.is_some() { kernel.charge_like(self, rules, write, op, left) } else { left };
        kernel.charge_extra(write, Extra::Cache, left);
        self.cache_mut().counts.fua_writes += 1;
        Some(write)
    }

    /// A line's program begins: it carries what the line holds now.
    #[inline(never)]
    pub(in crate::engine) fn line_selected(&mut self, kernel: &mut Kernel, oracle: &mut Oracle, op: OpId) {
        let line = kernel.ops.cached[op].line;
        if oracle.tracks_sectors() {
            oracle.compose_line(LINES | line, kernel.ops[Page(op)].tags[0]);
        }
        kernel.ops.cached[op].before = kernel.ops[Page(op)].blame.all();
        kernel.ops.cached[op].serving = true;
        let of = &mut self.cache_mut().lines.all[line as usize];
        of.state = State::Programming;
        // Later writes may have brought what was lost.
        let lacks = of.lacking > 0;
        kernel.ops[op].lost &= lacks;
    }

    /// The lines that a flush or a write with forced unit access waits for, and those that have been held long enough: they are to be
    /// issued.
    fn urgent_lines(&mut self, dev: &Device, rules: &Rules) -> Order {
        self.cache_mut().urgent = false;
        let lines = &self.cache().lines;
        let wanted = |line: u32| lines.all[line as usize].is_urgent();
        let urgent = lines.ready.iter().filter(|(_, _, line)| wanted(*line));
        let home = |line| self.home_of_line(dev, rules, line);
        lines.ready.of(urgent.map(|turn| (*turn, home(turn.2))))
    }

    /// A line is issued: it is counted, and in no order any more. Returns whether it lacks sectors.
    pub(super) fn leaves_to_flash(&mut self, dev: &Device, rules: &Rules, line: u32, reason: Reason) -> bool {
        let home = self.home_of_line(dev, rules, line);
        let cache = self.cache_mut();
        let ready = cache.lines.leave_ready(line, home);
        law!(ready, "law: a line that is written back is in its order");
        cache.lines.issued += 1;
        let of = &mut cache.lines.all[line as usize];
        of.state = State::Issued;
        let lacks = of.lacking > 0;
        let reason = match (of.forced, of.flushed) {
            (true, _) => Reason::Fua,
            (_, true) => Reason::Flush,
            _ if of.held => Reason::Hold,
            _ => reason,
        };
        *match reason {
            Reason::Eager => &mut cache.counts.write_backs.eager,
            Reason::Watermark => &mut cache.counts.write_backs.watermark,
            Reason::Idle => &mut cache.counts.write_backs.idle,
            Reason::Flush => &mut cache.counts.write_backs.flush,
            Reason::Fua => &mut cache.counts.write_backs.fua,
            Reason::Hold => cache.counts.write_backs.hold.get_or_insert(0),
            Reason::Drain => &mut cache.counts.write_backs.drain,
        } += 1;
        lacks
    }

    /// Whether a version that is not the newest may stay valid on flash when its program has ended: as long as the newest one may
    /// need its sectors or, without a capacitor, its data.
    pub(super) fn may_keep(&self, kernel: &Kernel, rules: &Rules, op: OpId, line: u32) -> bool {
        rules.keeps || self.cache().lines.of(kernel.ops[op].lpn) == line
    }

    /// The page on flash that has what a line lacks; none if it lacks nothing.
    pub(in crate::engine) fn page_to_fill(&self, kernel: &Kernel, dev: &Device, rules: &Rules, op: OpId) -> Ppn {
        if rules.units {
            return self.slot_to_fill(kernel, dev, rules, op);
        }
        let line = kernel.ops.cached[op].line;
        if self.cache().lines.all[line as usize].lacking == 0 {
            return Ppn::NONE;
        }
        kernel.kept_page(dev, kernel.ops[op].lpn)
    }
}

impl Ssd {
    /// Collector decisions: issues write-backs, after the arrivals and grants of the nanosecond.
    #[inline(never)]
    pub(in crate::engine) fn write_lines_back(&mut self) {
        let fresh = std::mem::replace(&mut self.features.cache_mut().fresh, false);
        if self.rules.units {
            let drains = self.features.decide_groups(&self.dev, &self.host, &self.rules, self.now, fresh);
            while let Some((set, reason)) = self.features.next_group(&self.dev, &self.host, &self.rules, drains) {
                self.issue_group(set, reason);
            }
            return self.features.cache_mut().watch_holds(&mut self.kernel.timers, self.now);
        }
        let eager = self.features.cache().keys.writeback == Writeback::Eager;
        if eager {
            // All lines go, in their order, whoever waits for them.
            self.features.cache_mut().urgent = false;
        } else if self.features.cache().urgent {
            let mut urgent = self.features.urgent_lines(&self.dev, &self.rules);
            while !urgent.is_empty() {
                for line in urgent.next().into_iter().filter(|line| *line != NONE) {
                    let home = self.features.home_of_line(&self.dev, &self.rules, line);
                    urgent.remove(self.features.cache().lines.ready_turn(line), home);
                    self.issue_together([line], Reason::Flush);
                }
            }
        }
        if !eager {
            self.features.decide_activity(self.now, fresh);
        }
        match self.features.cache().keys.writeback {
            Writeback::Eager => {
                while let Some(lines) = self.features.cache().lines.next_ready() {
                    self.issue_together(lines, Reason::Eager);
                }
            }
            Writeback::Watermark | Writeback::Idle => {
                while self.features.cache().writes_more()
                    && let cache = self.features.cache()
                    && let Some(lines) = cache.lines.next_ready()
                {
                    self.issue_together(lines, Reason::Watermark);
                }
            }
        }
        // At the end all lines are written back.
        while self.features.drains(&self.host)
            && let Some(lines) = self.features.cache().lines.next_ready()
        {
            self.issue_together(lines, Reason::Drain);
        }
        if let Some(cache) = &mut self.features.cache {
            cache.watch_holds(&mut self.kernel.timers, self.now);
        }
    }

    /// Issues lines one after the other, so that a multi-plane command can carry them: what they lack is read first.
    fn issue_together(&mut self, lines: impl IntoIterator<Item = u32>, reason: Reason) {
        for line in lines.into_iter().filter(|line| *line != NONE) {
            let op = self.features.cache().lines.all[line as usize].op;
            let age = self.kernel.age();
            let lacks = self.features.leaves_to_flash(&self.dev, &self.rules, line, reason);
            self.kernel.ops[op].age = age;
            self.kernel.ops[op].waits_since = self.now;
            let old = self.features.page_to_fill(&self.kernel, &self.dev, &self.rules, op);
            if lacks && old.is_some() {
                self.kernel.ops[op].need = Need::Merge;
                self.enqueue(op, self.dev.geometry.plane_of(old), false);
            } else {
                self.kernel.becomes_program(op);
                self.place(op);
            }
        }
    }

    /// At the end of a dispatch: every die that runs nothing and has nothing queued gets its first line, or its first group.
    #[inline(never)]
    pub(in crate::engine) fn write_lines_to_idle_dies(&mut self) {
        if self.features.cache().lines.ready.is_empty() {
            return;
        }
        let units = self.rules.units;
        // Whether any die may serve what is written back.
        let anywhere = if units { !self.rules.numbered } else { self.rules.dynamic };
        if anywhere {
            let idle = |unit: &UnitId| self.kernel.is_unwanted(&self.dev, &self.gc, &self.rules, *unit);
            let idle = (0..self.dev.geometry.units).map(UnitId).find(idle);
            let Some(unit) = idle.filter(|_| self.host.anywhere.is_empty()) else { return };
            if units {
                let any = self.features.cache().keys.pack == CachePack::Any;
                let set = self.features.next_set(&self.dev, &self.host, &self.rules, any);
                let Some(set) = set else { return };
                self.issue_group(set, Reason::Idle);
            } else {
                let Some(lines) = self.features.cache().lines.next_ready() else { return };
                self.issue_together(lines, Reason::Idle);
            }
            return self.kernel.dies.mark(unit);
        }
        for unit in (0..self.dev.geometry.units).map(UnitId) {
            if !self.kernel.is_unwanted(&self.dev, &self.gc, &self.rules, unit) {
                continue;
            }
            if !units {
                let lines = self.features.cache().lines.ready.next_of(unit.0);
                self.issue_together(lines, Reason::Idle);
            } else if let Some(set) = self.features.first_set_of(&self.dev, &self.host, &self.rules, unit) {
                self.issue_group(set, Reason::Idle);
            }
        }
    }

    /// A write-back, or its fill read, has reached the head of a unit's queue.
    #[inline(never)]
    pub(in crate::engine) fn select_line(&mut self, op: OpId, unit: UnitId) {
        if self.kernel.ops[op].need == Need::Write {
            let turn = self.kernel.update_lag(self.now, op, unit);
            self.charge_wait(op, unit, &turn);
            return self.begin_write(op, unit);
        }
        if self.rules.units {
            return self.select_fill(op, unit);
        }
        let old = self.features.page_to_fill(&self.kernel, &self.dev, &self.rules, op);
        if old.is_none() {
            // The line has become complete meanwhile.
            self.charge_wait(op, unit, &self.kernel.turn(self.now, op, unit));
            self.kernel.becomes_program(op);
            return self.place(op);
        }
        self.begin_read(op, old, unit);
        let state = &self.kernel.dies[unit];
        if state.array() == op || state.cache() == op {
            self.kernel.ops.cached[op].serving = true;
            self.features.cache_mut().counts.fill_reads += 1;
        }
    }

    /// A write-back or its fill read has run its legs.
    #[inline(never)]
    pub(in crate::engine) fn line_ends(&mut self, op: OpId) {
        let page = &self.kernel.ops[op];
        if self.rules.units && page.need == Need::Write {
            return self.group_ends(op);
        }
        if page.need == Need::Merge {
            let at = page.pages[0];
            self.dev.flash.read_ends(self.dev.geometry.block_of(at));
            if self.rules.units {
                self.dev.units_filled(&mut self.kernel, &self.features, &mut self.stats, self.now, op);
            } else {
                self.kernel.ops[op].lost = !self.dev.decodes(&mut self.stats, self.now, at);
            }
            if self.host.decode(&mut self.kernel, &self.config, self.now, op) {
                self.decoded(op);
            }
            return;
        }
        let (lpn, plane, at) = (page.lpn, page.plane, page.pages[0]);
        let line = self.kernel.ops.cached[op].line;
        let newest = self.dev.map.get(lpn) == Location::Staged(op);
        let wanted =
            newest || self.features.may_keep(&self.kernel, &self.rules, op, line) && self.replaces_kept(op, at);
        self.land_written(op, newest, wanted);
        if newest {
            self.discard_old(op);
        }
        self.features.cache_mut().replaces_base(lpn);
        while let Some(write) = self.features.next_forced(&mut self.kernel, &self.rules, self.now, line, op) {
            self.page_done(write);
            self.host.release(&mut self.kernel, &mut self.oracle, write);
        }
        let oldest = self.features.cache().lines.all[line as usize].oldest;
        let log = self.kernel.remove_line_op(op);
        self.features.line_is_clean(&mut self.oracle, line);
        if self.features.cache_mut().flushes_lose(oldest) {
            self.end_flushes();
        }
        self.features.cache_mut().line_is_free(log);
        self.serve_waiting();
        self.features.cache_mut().writes_are_served(log);
        self.test_trigger(plane);
    }

    /// What a line lacked has been read.
    #[inline(never)]
    pub(in crate::engine) fn fill_ends(&mut self, op: OpId) {
        if self.rules.units {
            for line in self.features.lines_read(&self.kernel, op) {
                let (kernel, oracle) = (&mut self.kernel, &mut self.oracle);
                if let Some(lpn) = self.features.slot_is_read(kernel, &self.dev, oracle, line) {
                    self.discard_kept(lpn);
                }
            }
            if let Some(program) = self.features.fill_is_over(&mut self.kernel, op) {
                self.place(program);
            }
            return;
        }
        let cached = &self.kernel.ops.cached[op];
        let (line, trimmed) = (cached.line, cached.trimmed);
        if trimmed {
            return self.features.drop_line_op(&mut self.kernel, op);
        }
        self.kernel.ops.cached[op].serving = false;
        let (found, lost) = (self.kernel.ops[Page(op)].tags[1], self.kernel.ops[op].lost);
        let lpn = self.features.cache().lines.all[line as usize].lpn;
        if self.features.fills_line(&mut self.kernel, &self.dev, &mut self.oracle, line, found, lost) {
            self.discard_kept(lpn);
        }
        self.kernel.becomes_program(op);
        self.place(op);
    }
}

/// Whether a line that is written now would have no correct data for some sectors: it lacks them, and its page on flash has more bit
/// errors than can be corrected.
pub(in crate::engine) fn line_is_lost(ssd: &Ssd, op: OpId) -> bool {
    let (line, old) = (ssd.kernel.ops.cached[op].line, ssd.kernel.ops[Page(op)].old);
    let lacks = ssd.features.cache().lines.all[line as usize].lacking > 0;
    lacks && (ssd.kernel.ops[op].lost || old.is_some() && !ssd.dev.is_correctable(old, ssd.now))
}

/// A write's data has crossed the host link: a page of the host needs a line, if the cache takes writes. Returns whether it does.
#[inline(always)]
pub(in crate::engine) fn takes_write(ssd: &mut Ssd, op: OpId) -> bool {
    let takes = ssd.rules.buffers && ssd.kernel.ops[op].class == Class::Host;
    if takes {
        ssd.ask_line(op);
    }
    takes
}
