//! Host programs that wait for a free page.

use crate::blame::Cause;
use crate::device::flash::Stream;
use crate::device::transaction::Class;
use crate::engine::features::cache::For;
use crate::engine::kernel::Kernel;
use crate::engine::kernel::ops::Page;
use crate::engine::rules::Rules;
use crate::engine::{Device, Features, Host, Ssd};
use crate::stats::Stats;
use crate::units::{Nanos, OpId, PlaneId};

impl Kernel {
    /// A host program begins to wait for space.
    pub(in crate::engine) fn begin_stall(&mut self, host: &Host, stats: &mut Stats, now: Nanos, op: OpId) {
        let page = &self.ops[op];
        let measured = page.class != Class::Host || host.requests[page.request].measured;
        stats.pages.space_stalls += u64::from(measured);
        self.ops[op].waits_since = now;
        self.ops[op].stalled = true;
    }

    /// A host program has waited for space, or for a fold.
    pub(in crate::engine) fn end_stall(&mut self, features: &mut Features, rules: &Rules, now: Nanos, op: OpId) {
        self.ops[op].stalled = false;
        let since = std::mem::replace(&mut self.ops[op].waits_since, now);
        let waited = (now - since).0;
        let for_fold = self.ends_fold_wait(rules, op, waited);
        if !for_fold {
            self.ops[Page(op)].blame.add(Cause::Space, waited);
        }
        let parts = if for_fold { [0, 0, waited] } else { [waited, 0, 0] };
        features.note_line_wait(self, rules, now, op, For::Any, parts);
    }
}

impl Host {
    /// No plane has a page for the first of the writes that any die may serve: it waits for an erase, and others overtake it.
    #[inline(never)]
    pub(in crate::engine) fn let_others_pass(
        &mut self,
        kernel: &mut Kernel,
        features: &mut Features,
        stats: &mut Stats,
        rules: &Rules,
        now: Nanos,
    ) {
        let op = self.anywhere.pop(&kernel.ops);
        kernel.charge_anywhere(features, rules, now, op);
        kernel.begin_stall(self, stats, now, op);
        self.without_page.push(&mut kernel.ops, op);
    }
}

impl Device {
    /// Whether a write point of any plane has a page for a stream.
    #[inline(never)]
    pub(in crate::engine) fn any_offset(&self, stream: Stream) -> bool {
        let mut planes = (0..self.geometry.planes).map(PlaneId);
        planes.any(|plane| self.flash.next_offset(plane, stream).is_some())
    }
}

impl Ssd {
    /// Host programs that waited for space in a plane queue again, with their old age.
    pub(in crate::engine) fn unstall(&mut self, plane: PlaneId) {
        while !self.host.without_page.is_empty() {
            let op = self.host.without_page.pop(&self.kernel.ops);
            self.kernel.end_stall(&mut self.features, &self.rules, self.now, op);
            self.kernel.waits_anywhere(&self.features, &self.rules, self.now, op);
            let age = self.kernel.ops[op].age;
            self.host.anywhere.insert_before(&mut self.kernel.ops, op, |other| other.age > age);
            self.host.none_idle = false;
        }
        loop {
            let op = self.gc.planes[plane.ix()].stalled.pop(&self.kernel.ops);
            if op.is_none() {
                return;
            }
            self.kernel.end_stall(&mut self.features, &self.rules, self.now, op);
            self.enqueue(op, plane, true);
        }
    }
}
