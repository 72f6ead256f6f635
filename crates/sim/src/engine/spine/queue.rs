//! Pages of the host join the queue of a die, and leave the device.

use crate::device::geometry::Spot;
use crate::device::transaction::Need;
use crate::engine::features::anywhere;
use crate::engine::features::cache::takes_write;
use crate::engine::features::raid::place;
use crate::engine::kernel::Kernel;
use crate::engine::kernel::dies::Holder;
use crate::engine::kernel::ops::{NO_CHIP, NO_RUN, Page};
use crate::engine::rules::Rules;
use crate::engine::{Device, Features, Host, Ssd};
use crate::oracle::Oracle;
use crate::units::{Nanos, OpId, Ppn};

impl Host {
    /// Frees an operation.
    #[inline(always)]
    pub(in crate::engine) fn release(&mut self, kernel: &mut Kernel, oracle: &mut Oracle, op: OpId) {
        let page = &kernel.ops[Page(op)];
        if self.windowed && page.chip != NO_CHIP {
            self.chip_outstanding[page.chip as usize] -= 1;
            self.window_stale = !self.window.is_empty();
        }
        let run = page.run;
        if run != NO_RUN {
            self.leaves_run(oracle, run);
        }
        kernel.ops.remove(op);
    }
}

impl Kernel {
    /// Adds an operation to the queue of its plane's unit, at its end or by its age, where steps of collections never take turns.
    #[inline(always)]
    pub(in crate::engine) fn join_die(
        &mut self,
        dev: &Device,
        features: &mut Features,
        rules: &Rules,
        now: Nanos,
        op: OpId,
        by_age: bool,
    ) {
        let Spot { unit, in_unit: k, ledger, channel, .. } = dev.geometry.spot(self.ops[op].plane);
        let ledger = self.dies.gc_by_plane[ledger as usize];
        let state = &mut self.dies[unit];
        let page = &mut self.ops[op];
        page.unit = unit;
        page.channel = channel;
        let page = &mut self.ops[Page(op)];
        page.ledger_gc = state.gc(now);
        page.ledger_gc_own = state.gc_own(ledger, k, now);
        page.ledger_writeback = state.writeback(now);
        page.collections = state.collections.saturating_sub(u32::from(state.holder() == Holder::Gc));
        self.enter_queue(features, rules, op, unit, by_age);
        self.note_ledgers(features, rules, now, op, unit);
        self.dies.mark(unit);
    }
}

impl Ssd {
    /// Sends a page to its queue.
    #[inline(always)]
    pub(in crate::engine) fn send(&mut self, op: OpId) {
        let page = &self.kernel.ops[op];
        if self.host.windowed && self.kernel.ops[Page(op)].chip != NO_CHIP {
            self.host.chip_outstanding[self.kernel.ops[Page(op)].chip as usize] += 1;
        }
        if page.need != Need::Read
            && let Some(bus) = self.kernel.link_to_cross(&self.dev, op, true)
        {
            return self.ask(op, bus);
        }
        self.place(op);
    }

    /// Adds a page to the queue of its die, or to the writes that any die may serve.
    #[inline(always)]
    pub(in crate::engine) fn place(&mut self, op: OpId) {
        let page = &mut self.kernel.ops[op];
        page.waits_since = self.now;
        let (need, lpn, plane) = (page.need, page.lpn, page.plane);
        if place::takes_page(self, op) || self.places_in_lane(op) {
            return;
        }
        let run = self.kernel.ops[Page(op)].run;
        let plane = match need {
            Need::Absorb => return self.serve_from_memory(op),
            Need::Read => self.features.plane_to_read(&mut self.kernel, &self.dev, &self.schemes, op, plane),
            Need::Merge => match self.kernel.merge_source(&self.dev, &self.host, &self.features, op) {
                Ppn::NONE => {
                    self.host.skip_merge(&mut self.kernel, &self.features, &self.rules, self.now, op);
                    return self.place_merged();
                }
                old => self.dev.geometry.plane_of(old),
            },
            Need::Write if takes_write(self, op) => return,
            Need::Write if run != NO_RUN && self.host.waits_for_merge(&mut self.kernel, self.now, op) => return,
            Need::Write if anywhere::takes_write(self, op) => return,
            Need::Write => self.kernel.plane_to_write(&self.dev, &self.rules, op, lpn),
        };
        self.enqueue(op, plane, false);
    }
}
