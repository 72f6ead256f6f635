//! Pages of the host join the queue of a die, and leave the device.

use crate::device::geometry::Spot;
use crate::device::transaction::{Class, Need};
use crate::engine::Ssd;
use crate::engine::kernel::dies::Holder;
use crate::engine::kernel::ops::{Anywhere, NO_CHIP, NO_RUN, Page};
use crate::units::{OpId, PlaneId, Ppn, UnitId};

impl Ssd {
    /// Frees an operation.
    #[inline(always)]
    pub(in crate::engine) fn release(&mut self, op: OpId) {
        let page = &self.kernel.ops[Page(op)];
        if self.host.windowed && page.chip != NO_CHIP {
            self.host.chip_outstanding[page.chip as usize] -= 1;
            self.host.window_stale = !self.host.window.is_empty();
        }
        let run = page.run;
        if run != NO_RUN {
            self.leaves_run(run);
        }
        self.kernel.ops.remove(op);
    }

    /// Sends a page to its queue.
    #[inline(always)]
    pub(in crate::engine) fn send(&mut self, op: OpId) {
        let page = &self.kernel.ops[op];
        if self.host.windowed && self.kernel.ops[Page(op)].chip != NO_CHIP {
            self.host.chip_outstanding[self.kernel.ops[Page(op)].chip as usize] += 1;
        }
        if page.need != Need::Read && self.rules.ports > self.dev.geometry.channels as usize {
            return self.link(op, true);
        }
        self.place(op);
    }

    /// Adds a page to the queue of its die, or to the writes that any die may serve.
    #[inline(always)]
    pub(in crate::engine) fn place(&mut self, op: OpId) {
        let page = &mut self.kernel.ops[op];
        page.waits_since = self.now;
        if self.features.raid.is_some() {
            return self.place_chunk(op);
        }
        let host = page.class == Class::Host;
        let (need, lpn, plane, run) = (page.need, page.lpn, page.plane, self.kernel.ops[Page(op)].run);
        let plane = match need {
            Need::Absorb => return self.serve_from_memory(op),
            Need::Read if self.features.replicas.is_some() => self.route_read(op),
            Need::Read => plane,
            Need::Merge => match self.merge_source(op) {
                Ppn::NONE => return self.skip_merge(op),
                old => self.dev.geometry.plane_of(old),
            },
            Need::Write if self.rules.buffers && host => return self.ask_line(op),
            Need::Write if run != NO_RUN && self.host.waits_for_merge(&mut self.kernel, self.now, op) => return,
            Need::Write if self.rules.dynamic => return self.await_any_unit(op),
            Need::Write if self.rules.binds => self.kernel.ops.bound[op],
            Need::Write => self.dev.geometry.static_plane(lpn),
        };
        self.enqueue(op, plane, false);
    }

    /// A write that any die may serve begins to wait for one.
    #[inline(always)]
    pub(in crate::engine) fn waits_anywhere(&mut self, op: OpId) {
        self.kernel.ops.anywhere[op] = Anywhere {
            held: self.kernel.dies.held.total(self.now) as u64,
            held_gc: self.kernel.dies.held_gc.total(self.now) as u64,
            held_writeback: self.kernel.dies.held_writeback.total(self.now) as u64,
            held_fold: self.kernel.dies.held_fold.total(self.now) as u64,
        };
        if self.rules.tenants {
            self.kernel.shares_anywhere(&self.features, self.now, op);
        }
    }

    /// Adds an operation to a unit's queue, at its end or by its age, where steps of collections never take turns.
    #[inline(always)]
    pub(in crate::engine) fn join_die(&mut self, op: OpId, plane: PlaneId, by_age: bool) {
        let Spot { unit, in_unit: k, ledger, channel, .. } = self.dev.geometry.spot(plane);
        let ledger = self.kernel.dies.gc_by_plane[ledger as usize];
        let state = &mut self.kernel.dies[unit];
        let page = &mut self.kernel.ops[op];
        page.plane = plane;
        page.unit = unit;
        page.channel = channel;
        let age = page.age;
        let page = &mut self.kernel.ops[Page(op)];
        page.ledger_gc = state.gc(self.now);
        page.ledger_gc_own = state.gc_own(ledger, k, self.now);
        page.ledger_writeback = state.writeback(self.now);
        page.collections = state.collections.saturating_sub(u32::from(state.holder() == Holder::Gc));
        if by_age {
            state.queue.insert_before(&mut self.kernel.ops, op, |other| other.age > age);
        } else {
            state.queue.push(&mut self.kernel.ops, op);
        }
        self.note_queue(op, unit, true);
        if self.rules.sorts_waits {
            self.note_ledgers(op, unit);
        }
        self.kernel.dies.mark(unit);
        if self.rules.heeds {
            self.unit_is_awaited(unit);
            if self.rules.idles {
                let host = self.kernel.ops[op].class.like_host();
                self.joins_idle(unit, host);
            }
        }
    }

    /// An operation joins a queue on a device that sorts waits further.
    #[inline(never)]
    pub(super) fn note_ledgers(&mut self, op: OpId, unit: UnitId) {
        if self.rules.buffers {
            self.kernel.ops.cached[op].ledger = self.kernel.dies[unit].cached(self.now);
        }
        if self.rules.slc {
            self.kernel.ops.extras[op].ledger_folds = self.kernel.dies[unit].folded(self.now);
        }
        if self.rules.tenants {
            self.shares_at_queue(op, unit);
        }
    }
}
