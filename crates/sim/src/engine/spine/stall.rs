//! Host programs that wait for a free page.

use crate::blame::Cause;
use crate::device::transaction::Class;
use crate::engine::features::cache::For;
use crate::engine::kernel::Kernel;
use crate::engine::kernel::ops::Page;
use crate::engine::rules::Rules;
use crate::engine::{Features, Host, Ssd};
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

impl Ssd {
    /// Host programs that waited for space in a plane queue again, with their old age.
    pub(in crate::engine) fn unstall(&mut self, plane: PlaneId) {
        self.unstall_anywhere();
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
