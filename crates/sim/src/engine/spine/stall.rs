//! Host programs that wait for a free page.

use crate::blame::{Cause, Extra};
use crate::device::flash::Stream;
use crate::device::transaction::Class;
use crate::engine::Ssd;
use crate::engine::cache::For;
use crate::engine::kernel::ops::Page;
use crate::engine::slc::folds;
use crate::units::{OpId, PlaneId};

impl Ssd {
    /// Host programs that waited for space in a plane queue again, with their old age.
    pub(in crate::engine) fn unstall(&mut self, plane: PlaneId) {
        while !self.host.without_page.is_empty() {
            let op = self.host.without_page.pop(&self.kernel.ops);
            self.end_stall(op);
            self.waits_anywhere(op);
            let age = self.kernel.ops[op].age;
            self.host.anywhere.insert_before(&mut self.kernel.ops, op, |other| other.age > age);
            self.host.none_idle = false;
        }
        loop {
            let op = self.gc.planes[plane.ix()].stalled.pop(&self.kernel.ops);
            if op.is_none() {
                return;
            }
            self.end_stall(op);
            self.enqueue(op, plane, true);
        }
    }

    /// A host program begins to wait for space.
    pub(in crate::engine) fn begin_stall(&mut self, op: OpId) {
        let page = &self.kernel.ops[op];
        let measured = page.class != Class::Host || self.host.requests[page.request].measured;
        self.stats.pages.space_stalls += u64::from(measured);
        self.kernel.ops[op].waits_since = self.now;
        self.kernel.ops[op].stalled = true;
    }

    /// A host program has waited for space, or for a fold.
    pub(in crate::engine) fn end_stall(&mut self, op: OpId) {
        self.kernel.ops[op].stalled = false;
        let since = std::mem::replace(&mut self.kernel.ops[op].waits_since, self.now);
        let waited = (self.now - since).0;
        let for_fold = self.rules.slc && std::mem::take(&mut self.kernel.ops.extras[op].for_fold);
        if for_fold {
            self.kernel.charge_extra(op, Extra::Slc, waited);
        } else {
            self.kernel.ops[Page(op)].blame.add(Cause::Space, waited);
        }
        if self.rules.buffers {
            let parts = if for_fold { [0, 0, waited] } else { [waited, 0, 0] };
            self.note_line_wait(op, For::Any, parts);
        }
    }

    /// With several streams, a write waits for an erase if no plane has a page for its handle, and others overtake it. Returns whether it does.
    #[inline(never)]
    pub(super) fn lets_others_pass(&mut self, stream: Stream) -> bool {
        if self.rules.slc && folds::stalls_anywhere(self, stream) {
            return true;
        }
        let mut planes = (0..self.dev.geometry.planes).map(PlaneId);
        if planes.any(|plane| self.dev.flash.next_offset(plane, stream).is_some()) {
            return false;
        }
        let op = self.host.anywhere.pop(&self.kernel.ops);
        self.charge_anywhere(op);
        self.begin_stall(op);
        self.host.without_page.push(&mut self.kernel.ops, op);
        true
    }
}
