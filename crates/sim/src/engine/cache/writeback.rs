//! Write-backs: when dirty lines are issued, and how they reach flash.

use super::LINES;
use super::groups::units_filled;
use super::lines::{Reason, State};
use super::order::{Command, NONE};
use crate::blame::{Blame, CAUSES, Cause, Extra};
use crate::config::Writeback;
use crate::device::mapping::Location;
use crate::device::transaction::Need;
use crate::engine::kernel::Kernel;
use crate::engine::kernel::dies::Holder;
use crate::engine::kernel::ops::Page;
use crate::engine::rules::Rules;
use crate::engine::{Features, Host, Ssd};
use crate::oracle::Oracle;
use crate::units::{Nanos, OpId, Ppn, UnitId};

/// Causes of a program in service, the latest first.
const LATEST: [Cause; 6] = [Cause::Array, Cause::DieHost, Cause::Bus, Cause::BusHost, Cause::BusGc, Cause::Decode];

impl Kernel {
    /// The holder of a unit on which an operation begins, perhaps beside another one (R8).
    pub(in crate::engine) fn holder_beside(&self, op: OpId, unit: UnitId) -> Holder {
        let array = self.dies[unit].array();
        self.holder_of(if array.is_some() { array } else { op })
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
}

impl Ssd {
    /// A line's program begins: it carries what the line holds now.
    #[inline(never)]
    pub(in crate::engine) fn line_selected(&mut self, op: OpId) {
        let line = self.kernel.ops.cached[op].line;
        if self.oracle.tracks_sectors() {
            self.oracle.compose_line(LINES | line, self.kernel.ops[Page(op)].tags[0]);
        }
        self.kernel.ops.cached[op].before = self.kernel.ops[Page(op)].blame.all();
        self.kernel.ops.cached[op].serving = true;
        let of = &mut self.features.cache_mut().lines.all[line as usize];
        of.state = State::Programming;
        // Later writes may have brought what was lost.
        let lacks = of.lacking > 0;
        self.kernel.ops[op].lost &= lacks;
    }

    /// Collector decisions: issues write-backs, after the arrivals and grants of the nanosecond.
    #[inline(never)]
    pub(in crate::engine) fn write_lines_back(&mut self) {
        let fresh = std::mem::replace(&mut self.features.cache_mut().fresh, false);
        if self.rules.units {
            return self.write_units_back(fresh);
        }
        let eager = self.features.cache().keys.writeback == Writeback::Eager;
        if eager {
            // All lines go, in their order, whoever waits for them.
            self.features.cache_mut().urgent = false;
        } else if self.features.cache().urgent {
            self.issue_urgent();
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
        self.drain_lines();
        if let Some(cache) = &mut self.features.cache {
            cache.watch_holds(&mut self.kernel.timers, self.now);
        }
    }

    /// Issues lines that a flush or a write with forced unit access waits for, and those that have been held long enough.
    fn issue_urgent(&mut self) {
        self.features.cache_mut().urgent = false;
        let lines = &self.features.cache().lines;
        let wanted = |line: u32| lines.all[line as usize].is_urgent();
        let urgent = lines.ready.iter().filter(|(_, _, line)| wanted(*line));
        let home = |line| self.features.home_of_line(&self.dev, &self.rules, line);
        let mut urgent = lines.ready.of(urgent.map(|turn| (*turn, home(turn.2))));
        while !urgent.is_empty() {
            for line in urgent.next().into_iter().filter(|line| *line != NONE) {
                let home = self.features.home_of_line(&self.dev, &self.rules, line);
                urgent.remove(self.features.cache().lines.ready_turn(line), home);
                self.issue(line, Reason::Flush);
            }
        }
    }

    /// Issues lines one after the other, so that a multi-plane command can carry them.
    fn issue_together(&mut self, lines: Command, reason: Reason) {
        lines.into_iter().filter(|line| *line != NONE).for_each(|line| self.issue(line, reason));
    }

    /// At the end all lines are written back.
    fn drain_lines(&mut self) {
        while self.features.drains(&self.host)
            && let Some(lines) = self.features.cache().lines.next_ready()
        {
            self.issue_together(lines, Reason::Drain);
        }
    }

    /// At the end of a dispatch: every die that runs nothing and has nothing queued gets its first line.
    #[inline(never)]
    pub(in crate::engine) fn write_lines_to_idle_dies(&mut self) {
        if self.features.cache().lines.ready.is_empty() {
            return;
        }
        if self.rules.units {
            return self.write_units_to_idle_dies();
        }
        if self.rules.dynamic {
            let idle = |unit: &UnitId| self.is_unwanted(*unit);
            let idle = (0..self.dev.geometry.units).map(UnitId).find(idle);
            if let Some(unit) = idle.filter(|_| self.host.anywhere.is_empty())
                && let Some(lines) = self.features.cache().lines.next_ready()
            {
                self.issue_together(lines, Reason::Idle);
                self.kernel.dies.mark(unit);
            }
            return;
        }
        for unit in (0..self.dev.geometry.units).map(UnitId) {
            if self.is_unwanted(unit) {
                let lines = self.features.cache().lines.ready.next_of(unit.0);
                self.issue_together(lines, Reason::Idle);
            }
        }
    }

    /// A line's write-back is issued: what it lacks is read first.
    fn issue(&mut self, line: u32, reason: Reason) {
        let op = self.features.cache().lines.all[line as usize].op;
        let age = self.kernel.age();
        let lacks = self.leaves_to_flash(line, reason);
        self.kernel.ops[op].age = age;
        self.kernel.ops[op].waits_since = self.now;
        let old = self.page_to_fill(op);
        if lacks && old.is_some() {
            self.kernel.ops[op].need = Need::Merge;
            return self.enqueue(op, self.dev.geometry.plane_of(old), false);
        }
        self.place_program(op);
    }

    /// A line is issued: it is counted, and in no order any more. Returns whether it lacks sectors.
    pub(super) fn leaves_to_flash(&mut self, line: u32, reason: Reason) -> bool {
        let home = self.features.home_of_line(&self.dev, &self.rules, line);
        let cache = self.features.cache_mut();
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

    /// A line's program joins its queue.
    pub(super) fn place_program(&mut self, op: OpId) {
        let page = &mut self.kernel.ops[op];
        page.need = Need::Write;
        page.unit = UnitId::NONE;
        self.place(op);
    }

    /// The page on flash that has what a line lacks; none if it lacks nothing.
    pub(in crate::engine) fn page_to_fill(&self, op: OpId) -> Ppn {
        if self.rules.units {
            return self.slot_to_fill(op);
        }
        let line = self.kernel.ops.cached[op].line;
        if self.features.cache().lines.all[line as usize].lacking == 0 {
            return Ppn::NONE;
        }
        self.kernel.kept_page(&self.dev, self.kernel.ops[op].lpn)
    }

    /// A write-back, or its fill read, has reached the head of a unit's queue.
    #[inline(never)]
    pub(in crate::engine) fn select_line(&mut self, op: OpId, unit: UnitId) {
        if self.kernel.ops[op].need == Need::Write {
            self.turn_comes(op, unit);
            return self.begin_write(op, unit);
        }
        if self.rules.units {
            return self.select_fill(op, unit);
        }
        let old = self.page_to_fill(op);
        if old.is_none() {
            // The line has become complete meanwhile.
            self.charge_wait(op, unit);
            return self.place_program(op);
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
                units_filled(self, op);
            } else {
                self.kernel.ops[op].lost = !self.decodes(at);
            }
            return self.decode(op);
        }
        let (lpn, plane, at) = (page.lpn, page.plane, page.pages[0]);
        let line = self.kernel.ops.cached[op].line;
        let newest = self.dev.map.get(lpn) == Location::Staged(op);
        let wanted = newest || self.is_kept(op, line, at);
        self.land_written(op, newest, wanted);
        if newest {
            self.discard_old(op);
        }
        self.features.cache_mut().replaces_base(lpn);
        self.acknowledge_forced(line, op);
        let oldest = self.features.cache().lines.all[line as usize].oldest;
        let log = self.kernel.remove_line_op(op);
        self.features.line_is_clean(&mut self.oracle, line);
        self.flushes_lose(oldest);
        self.serve_from(log);
        self.test_trigger(plane);
    }

    /// Whether a version that is not the newest stays valid on flash when its program has ended at `page`: as long as the newest
    /// one may need its sectors or, without a capacitor, its data.
    pub(super) fn is_kept(&mut self, op: OpId, line: u32, page: Ppn) -> bool {
        if self.rules.keeps {
            return self.keeps_instead(op, page);
        }
        self.features.cache().lines.of(self.kernel.ops[op].lpn) == line && self.replaces_kept(op, page)
    }

    /// What a line lacked has been read.
    #[inline(never)]
    pub(in crate::engine) fn fill_ends(&mut self, op: OpId) {
        if self.rules.units {
            return self.fill_read_ends(op);
        }
        let cached = &self.kernel.ops.cached[op];
        let (line, trimmed) = (cached.line, cached.trimmed);
        if trimmed {
            return self.features.drop_line_op(&mut self.kernel, op);
        }
        self.kernel.ops.cached[op].serving = false;
        self.fills_line(line, self.kernel.ops[Page(op)].tags[1], self.kernel.ops[op].lost);
        self.place_program(op);
    }

    /// Acknowledges the writes with forced unit access that wait for a line, whose program `op` has ended, or that a trim has
    /// freed. Their causes are the last ones of the write-back.
    pub(super) fn acknowledge_forced(&mut self, line: u32, op: OpId) {
        let mut waiting = std::mem::take(&mut self.features.cache_mut().lines.all[line as usize].waiting);
        for (write, since) in waiting.drain(..) {
            let left = (self.now - since).0;
            let left =
                if op.is_some() { self.kernel.charge_like(&self.features, &self.rules, write, op, left) } else { left };
            self.kernel.charge_extra(write, Extra::Cache, left);
            self.features.cache_mut().counts.fua_writes += 1;
            self.page_done(write);
            self.release(write);
        }
        self.features.cache_mut().lines.all[line as usize].waiting = waiting;
    }
}

/// Whether a line that is written now would have no correct data for some sectors: it lacks them, and its page on flash has more bit
/// errors than can be corrected.
pub(in crate::engine) fn line_is_lost(ssd: &Ssd, op: OpId) -> bool {
    let (line, old) = (ssd.kernel.ops.cached[op].line, ssd.kernel.ops[Page(op)].old);
    let lacks = ssd.features.cache().lines.all[line as usize].lacking > 0;
    lacks && (ssd.kernel.ops[op].lost || old.is_some() && !ssd.dev.is_correctable(old, ssd.now))
}
