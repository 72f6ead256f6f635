//! Task queues: which task of a unit is served first (`noc.priority`).

use crate::config::{Config, Task};
use crate::device::transaction::{Class, Need, Op, Verb};
use crate::engine::features::queues::steps;
use crate::engine::kernel::Kernel;
use crate::engine::rules::Rules;
use crate::engine::{Device, Features};
use crate::units::{OpId, UnitId};

/// The task queue of an operation.
#[inline(always)]
fn task(op: &Op) -> Task {
    let host = matches!(op.class, Class::Host | Class::Parity | Class::Replica | Class::Cache);
    let reads = if op.class == Class::Host { op.need != Need::Write } else { op.verb == Verb::Read };
    match (host, reads) {
        (true, true) => Task::Rhost,
        (true, false) => Task::Whost,
        (false, true) => Task::Rgc,
        (false, false) => Task::Wgc,
    }
}

impl Features {
    /// By task: the number of task queues that a unit serves before its queue. If free space is `short`, GC's queues are served
    /// before the host's.
    fn ranks(&self, short: bool) -> [u8; 4] {
        let Some(noc) = &self.noc else { return [0; 4] };
        let mut ranks = noc.ranks;
        if short {
            ranks[Task::Rhost as usize] += 4;
            ranks[Task::Whost as usize] += 4;
        }
        ranks
    }

    /// The rank of an operation's queue.
    pub(in crate::engine) fn rank(&self, kernel: &Kernel, op: OpId, short: bool) -> u8 {
        self.ranks(short)[task(&kernel.ops[op]) as usize]
    }

    /// The first task of the first queue of a unit that is not empty, and the rank of the queue.
    pub(in crate::engine) fn next_task(
        &self,
        kernel: &Kernel,
        dev: &Device,
        rules: &Rules,
        config: &Config,
        unit: UnitId,
    ) -> (u8, OpId) {
        let short = dev.unit_below_hard_floor(rules, config, unit);
        let ranks = self.ranks(short);
        let waiting = self.waiting(unit);
        let rank_of = |task: Task| if waiting.has(task) { ranks[task as usize] } else { u8::MAX };
        let kinds = [Task::Rhost, Task::Whost, Task::Rgc, Task::Wgc].map(rank_of);
        // No task of another kind is there, so none of a lower rank is behind the first of this one.
        let first = kinds.into_iter().fold(u8::MAX, u8::min);
        let mut best = (u8::MAX, OpId::NONE);
        let mut at = kernel.dies[unit].queue.head();
        while at.is_some() {
            steps::count();
            let op = &kernel.ops[at];
            let rank = kinds[task(op) as usize];
            if rank < best.0 {
                best = (rank, at);
                if rank == first {
                    break;
                }
            }
            at = op.next;
        }
        best
    }
}
