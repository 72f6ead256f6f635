//! Task queues: which task of a unit is served first (`noc.priority`).

use crate::config::Task;
use crate::device::transaction::{Class, Need, Op, Verb};
use crate::engine::kernel::Kernel;
use crate::engine::{Features, Ssd};
use crate::units::{OpId, UnitId};

/// The task queue of an operation.
fn task(op: &Op) -> Task {
    let reads = match op.class {
        Class::Host => op.need != Need::Write,
        _ => op.verb == Verb::Read,
    };
    match op.class {
        Class::Host | Class::Parity | Class::Replica | Class::Cache => {
            if reads {
                Task::Rhost
            } else {
                Task::Whost
            }
        }
        Class::Gc | Class::Writeback | Class::Metadata | Class::Fold | Class::Refresh => {
            if reads {
                Task::Rgc
            } else {
                Task::Wgc
            }
        }
    }
}

impl Features {
    /// Number of task queues that a unit serves before an operation's queue. If free space is `short`, GC's queues are served
    /// before the host's.
    #[inline(never)]
    pub(in crate::engine) fn rank(&self, kernel: &Kernel, op: OpId, short: bool) -> u8 {
        let Some(noc) = &self.noc else { return 0 };
        let task = task(&kernel.ops[op]);
        let late = short && matches!(task, Task::Rhost | Task::Whost);
        noc.ranks[task as usize] + if late { 4 } else { 0 }
    }
}

impl Ssd {
    /// The first task of the first queue of a unit that is not empty, and the rank of the queue.
    pub(in crate::engine) fn next_task(&self, unit: UnitId) -> (u8, OpId) {
        let short = self.dev.unit_below_hard_floor(&self.rules, &self.config, unit);
        let mut best = (u8::MAX, OpId::NONE);
        let mut at = self.kernel.dies[unit].queue.head();
        while at.is_some() {
            let rank = self.features.rank(&self.kernel, at, short);
            if rank < best.0 {
                best = (rank, at);
            }
            at = self.kernel.ops[at].next;
        }
        best
    }

    // Legs.
}
