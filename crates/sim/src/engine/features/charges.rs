//! Charges of waits for dies that are sorted further than by GC: by tenant, behind lines of the write cache, behind folds, or without a
//! shadow clock (`order.die_queue`).

use crate::blame::Cause;
use crate::engine::Features;
use crate::engine::features::cache::For;
use crate::engine::kernel::Kernel;
use crate::engine::kernel::dies::Holder;
use crate::engine::kernel::ops::Page;
use crate::engine::kernel::turn::WaitParts;
use crate::engine::rules::Rules;
use crate::units::{Nanos, OpId, UnitId};

impl Kernel {
    /// An operation joins the queue of a unit: notes what has held that until now, where waits are sorted further.
    #[inline(always)]
    pub(in crate::engine) fn note_ledgers(
        &mut self,
        features: &Features,
        rules: &Rules,
        now: Nanos,
        op: OpId,
        unit: UnitId,
    ) {
        if rules.sorts_waits {
            self.notes_ledgers(rules, now, op, unit);
            self.shares_at_queue(features, rules, now, op, unit);
        }
    }

    /// The same where they are.
    #[inline(never)]
    fn notes_ledgers(&mut self, rules: &Rules, now: Nanos, op: OpId, unit: UnitId) {
        if rules.buffers {
            self.ops.cached[op].ledger = self.dies[unit].cached(now);
        }
        if rules.slc {
            self.ops.extras[op].ledger_folds = self.dies[unit].folded(now);
        }
    }

    /// Charges the part of a wait without GC on a device that sorts waits further.
    #[inline(never)]
    fn sort_wait(&mut self, features: &Features, rules: &Rules, now: Nanos, op: OpId, unit: UnitId, parts: &WaitParts) {
        let rest = parts.host + parts.late;
        let host = if rules.by_class { rest } else { parts.host };
        let lines = if rules.buffers { self.behind_lines(now, op, unit).min(host) } else { 0 };
        let folds = if rules.slc { self.charge_folds(now, op, unit, host - lines) } else { 0 };
        let page = &mut self.ops[Page(op)];
        page.blame.add(Cause::DieLate, rest - host);
        page.blame.add(Cause::DieHost, host - lines - folds);
        page.blame.add(Cause::DieWriteback, lines);
        self.share_die(features, rules, now, op, unit, host - lines - folds);
    }
}

impl Features {
    /// An operation begins. Returns the holder of its unit, which is the host where waits are not sorted further.
    #[inline(always)]
    pub(in crate::engine) fn holder_of_begun(
        &mut self,
        kernel: &Kernel,
        rules: &Rules,
        now: Nanos,
        op: OpId,
        unit: UnitId,
    ) -> Holder {
        if rules.sorts_waits { self.begins_beside(kernel, rules, now, op, unit) } else { Holder::Host }
    }

    /// The same on a device that sorts waits further: who serves is noted.
    #[inline(never)]
    fn begins_beside(&mut self, kernel: &Kernel, rules: &Rules, now: Nanos, op: OpId, unit: UnitId) -> Holder {
        self.die_serves(kernel, rules, now, unit, op);
        if rules.buffers { kernel.holder_beside(op, unit) } else { Holder::Host }
    }

    /// An operation has waited for its unit: charges the part without GC, where waits are sorted further. Returns whether they are.
    #[inline(always)]
    pub(in crate::engine) fn sorts_wait(
        &mut self,
        kernel: &mut Kernel,
        rules: &Rules,
        now: Nanos,
        op: OpId,
        unit: UnitId,
        parts: &WaitParts,
    ) -> bool {
        if rules.sorts_waits {
            kernel.sort_wait(self, rules, now, op, unit, parts);
            if rules.buffers {
                let late = if rules.by_class { 0 } else { parts.late };
                let others = parts.host + parts.late - late + parts.writeback;
                self.note_line_wait(kernel, rules, now, op, For::Die(unit), [parts.gc, late, others]);
            }
        }
        rules.sorts_waits
    }
}
