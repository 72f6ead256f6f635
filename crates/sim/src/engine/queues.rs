//! Queues of dies by class (`order.die_queue`): which waiting operation a die serves next.
//!
//! A die's queue stays one list in order of arrival. The choice is made at dispatch, so an operation that arrives in the
//! nanosecond in which the die becomes free takes part.

use super::Ssd;
use crate::config::{OrderKnobs, QueueClass};
use crate::device::transaction::{Class, Need, Op, Verb};
use crate::units::{OpId, UnitId};

/// Number of classes.
const CLASSES: usize = QueueClass::Cache as usize + 1;

/// Ranks of classes, and reads in a row.
#[derive(Clone)]
pub(super) struct DieQueues {
    /// By class: how many classes are served before it.
    ranks: [u8; CLASSES],
    /// Most host reads in a row while another operation waits; 0 for no limit.
    limit: u32,
    /// By unit: host reads started in a row while another operation waited, and collections begun until then.
    bursts: Vec<(u32, u32)>,
}

/// What waits for a unit first.
struct First {
    rank: u8,
    op: OpId,
}

impl First {
    const NONE: Self = First { rank: u8::MAX, op: OpId::NONE };

    /// Takes an operation that is served before this one.
    fn offer(&mut self, rank: u8, op: OpId) {
        if self.op.is_none() || rank < self.rank {
            *self = First { rank, op };
        }
    }
}

impl DieQueues {
    pub(super) fn new(knobs: &OrderKnobs, units: u32) -> Option<Box<Self>> {
        let classes = knobs.die_queue.classes()?;
        let mut ranks = [classes.len() as u8; CLASSES];
        for (rank, class) in classes.iter().enumerate() {
            ranks[*class as usize] = rank as u8;
        }
        Some(Box::new(DieQueues { ranks, limit: knobs.read_burst, bursts: vec![(0, 0); units as usize] }))
    }

    fn rank(&self, op: &Op) -> u8 {
        self.ranks[class_of(op) as usize]
    }
}

/// The class by which an operation queues.
fn class_of(op: &Op) -> QueueClass {
    let (reads, host) = match op.class {
        Class::Cache => return QueueClass::Cache,
        Class::Host => (op.need != Need::Write, true),
        Class::Parity | Class::Replica => (op.verb == Verb::Read, true),
        Class::Gc | Class::Writeback | Class::Metadata => (op.verb == Verb::Read, false),
    };
    match (host, reads) {
        (true, true) => QueueClass::Rhost,
        (true, false) => QueueClass::Whost,
        (false, true) => QueueClass::Rgc,
        (false, false) => QueueClass::Wgc,
    }
}

fn is_host_read(op: &Op) -> bool {
    class_of(op) == QueueClass::Rhost
}

impl Ssd {
    /// The operation that a unit serves next, with its rank.
    #[inline(always)]
    pub(super) fn next_in_queue(&self, unit: UnitId) -> (u8, OpId) {
        match &self.features.queues {
            Some(queues) => self.next_by_class(queues, unit),
            None => self.next_task(unit),
        }
    }

    #[inline(never)]
    fn next_by_class(&self, queues: &DieQueues, unit: UnitId) -> (u8, OpId) {
        let (mut read, mut other) = (First::NONE, First::NONE);
        let mut at = self.kernel.dies[unit].queue.head();
        while at.is_some() {
            let op = &self.kernel.ops[at];
            if is_host_read(op) { &mut read } else { &mut other }.offer(queues.rank(op), at);
            at = op.next;
        }
        let state = &self.kernel.dies[unit];
        let (mut burst, collections) = queues.bursts[unit.ix()];
        if self.rules.collector_holds && state.collections != collections {
            // A collection was served meanwhile.
            burst = 0;
        }
        if queues.limit > 0 && burst >= queues.limit && read.op.is_some() {
            if other.op.is_some() {
                return (other.rank, other.op);
            }
            if self.host.anywhere.head().is_some() {
                // The write at the head of the device-wide queue goes first.
                return (u8::MAX, read.op);
            }
        }
        // Between equal ranks, the one that arrived first: both are in one list, so their places in it decide.
        if read.op.is_some() && other.op.is_some() && read.rank == other.rank {
            return (read.rank, self.first_of(unit, read.op, other.op));
        }
        read.offer(other.rank, other.op);
        (read.rank, read.op)
    }

    /// Which of two operations is further ahead in a unit's queue.
    fn first_of(&self, unit: UnitId, one: OpId, other: OpId) -> OpId {
        let mut at = self.kernel.dies[unit].queue.head();
        while at != one && at != other {
            at = self.kernel.ops[at].next;
        }
        at
    }

    /// The rank of a write that any die may serve.
    pub(super) fn rank_in_queue(&self, op: OpId) -> u8 {
        match &self.features.queues {
            Some(queues) => queues.rank(&self.kernel.ops[op]),
            None => self.rank(op, false),
        }
    }

    /// An operation has reached the head of its unit's queue. Counts host reads that start in a row.
    #[inline(always)]
    pub(super) fn note_burst(&mut self, op: OpId, unit: UnitId) {
        if self.features.queues.is_some() {
            self.counts_burst(op, unit);
        }
    }

    #[inline(never)]
    fn counts_burst(&mut self, op: OpId, unit: UnitId) {
        let state = &self.kernel.dies[unit];
        if state.array() != op && state.cache() != op {
            // Served from memory, moved to another die, or stalled.
            return;
        }
        let mut others = self.host.anywhere.head().is_some();
        let mut at = state.queue.head();
        while at.is_some() && !others {
            others = !is_host_read(&self.kernel.ops[at]);
            at = self.kernel.ops[at].next;
        }
        let (collections, reads) = (state.collections, is_host_read(&self.kernel.ops[op]));
        let Some(queues) = &mut self.features.queues else { return };
        let (burst, before) = queues.bursts[unit.ix()];
        let burst = if self.rules.collector_holds && before != collections { 0 } else { burst };
        queues.bursts[unit.ix()] = (if reads && others { burst + 1 } else { 0 }, collections);
    }
}
