//! Queues of dies by class (`order.die_queue`): which waiting operation a die serves next.
//!
//! A die's queue stays one list in order of arrival. The choice is made at dispatch, so an operation that arrives in the
//! nanosecond in which the die becomes free takes part. Where dies choose, or suspend for reads, the operations of each class are
//! counted, so that nothing searches a queue for what does not wait there.

use crate::config::{Config, OrderKnobs, QueueClass, Task};
use crate::device::transaction::{Class, Need, Op, Verb};
use crate::engine::kernel::Kernel;
use crate::engine::kernel::dies::Suspension;
use crate::engine::rules::Rules;
use crate::engine::{Device, Features, Host};
use crate::units::{OpId, UnitId};

/// Number of classes.
const CLASSES: usize = QueueClass::Fold as usize + 1;

type ByClass<T> = [T; CLASSES];

/// What waits for dies.
#[derive(Clone)]
pub(in crate::engine) struct DieQueues {
    /// What they serve first, if they choose.
    choice: Option<Choice>,
    /// By unit.
    waiting: Vec<Waiting>,
}

/// Ranks of classes, and reads in a row.
#[derive(Clone)]
struct Choice {
    /// By class: how many classes are served before it.
    ranks: ByClass<u8>,
    /// Most host reads in a row while another operation waits; 0 for no limit.
    limit: u32,
    /// By unit: host reads started in a row while another operation waited, and collections begun until then.
    bursts: Vec<(u32, u32)>,
}

/// Operations in a unit's queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::engine) struct Waiting {
    by_class: ByClass<u32>,
    /// Those that are no host reads.
    others: u32,
    /// Those for which a program or an erase may be suspended.
    reads: u32,
}

impl Waiting {
    /// Whether an operation waits that is no host read.
    fn any_other(&self) -> bool {
        self.others > 0
    }

    /// Whether host reads wait and nothing else, or host writes and nothing else.
    #[inline(always)]
    fn is_of_one_class(&self) -> bool {
        let [reads, writes] = [QueueClass::Rhost, QueueClass::Whost].map(|class| self.by_class[class as usize]);
        self.others == if reads > 0 { 0 } else { writes }
    }

    /// Whether a read waits for which a program or an erase may be suspended.
    #[inline(always)]
    pub(in crate::engine) fn any_read(&self) -> bool {
        self.reads > 0
    }

    /// How many of these wait.
    pub(super) fn reads(&self) -> u32 {
        self.reads
    }

    /// Whether a task of a kind may wait; all that do are among these. Lines of the write cache and folds are counted apart, and are of
    /// two kinds.
    #[inline(always)]
    pub(in crate::engine) fn has(&self, task: Task) -> bool {
        let (class, apart) = match task {
            Task::Rhost => (QueueClass::Rhost, QueueClass::Cache),
            Task::Whost => (QueueClass::Whost, QueueClass::Cache),
            Task::Rgc => (QueueClass::Rgc, QueueClass::Fold),
            Task::Wgc => (QueueClass::Wgc, QueueClass::Fold),
        };
        self.by_class[class as usize] + self.by_class[apart as usize] > 0
    }

    #[inline(always)]
    fn count(&mut self, op: &Op, joins: bool) {
        // The counts are those of a queue ([`Features::check_queues`]).
        let by = if joins { 1 } else { u32::MAX };
        let change = |count: &mut u32| *count = count.wrapping_add(by);
        let class = class_of(op);
        change(&mut self.by_class[class as usize]);
        if class != QueueClass::Rhost {
            change(&mut self.others);
        }
        if may_suspend(op) {
            change(&mut self.reads);
        }
    }
}

impl DieQueues {
    pub(in crate::engine) fn new(rules: &Rules, knobs: &OrderKnobs, units: u32) -> Option<Box<Self>> {
        let choice = knobs.die_queue.classes().map(|classes| {
            let mut ranks = [classes.len() as u8; CLASSES];
            for (rank, class) in classes.iter().enumerate() {
                ranks[*class as usize] = rank as u8;
            }
            Choice { ranks, limit: knobs.read_burst, bursts: vec![(0, 0); units as usize] }
        });
        let waiting = vec![Waiting::default(); units as usize];
        rules.counts.then(|| Box::new(DieQueues { choice, waiting }))
    }
}

/// The class by which an operation queues.
fn class_of(op: &Op) -> QueueClass {
    let (reads, host) = match op.class {
        Class::Cache => return QueueClass::Cache,
        Class::Fold => return QueueClass::Fold,
        Class::Host => (op.need != Need::Write, true),
        Class::Parity | Class::Replica => (op.verb == Verb::Read, true),
        Class::Gc | Class::Writeback | Class::Metadata | Class::Refresh => (op.verb == Verb::Read, false),
    };
    match (host, reads) {
        (true, true) => QueueClass::Rhost,
        (true, false) => QueueClass::Whost,
        (false, true) => QueueClass::Rgc,
        (false, false) => QueueClass::Wgc,
    }
}

/// Whether the array of a die may be needed for a waiting read of the host, or for one of its writes.
pub(super) fn may_suspend(op: &Op) -> bool {
    op.class.like_host() && matches!(op.need, Need::Read | Need::Merge)
}

impl Kernel {
    fn counted_in_queue(&self, unit: UnitId) -> Waiting {
        let (mut waiting, mut at) = (Waiting::default(), self.dies[unit].queue.head());
        while at.is_some() {
            waiting.count(&self.ops[at], true);
            at = self.ops[at].next;
        }
        waiting
    }
}

impl Features {
    /// What waits in a unit's queue, where that is counted.
    #[inline(always)]
    pub(in crate::engine) fn waiting(&self, unit: UnitId) -> &Waiting {
        let queues = self.queues.as_ref().expect("law: operations are counted by class here");
        &queues.waiting[unit.ix()]
    }

    /// Whether a die has more to do than to serve the pages of the host in their order: it may be suspended for them, or serve those of
    /// another class before them.
    #[inline]
    pub(in crate::engine) fn chooses(&self, kernel: &Kernel, unit: UnitId) -> bool {
        let state = &kernel.dies[unit];
        state.array().is_some() || state.suspension() != Suspension::No || !self.waiting(unit).is_of_one_class()
    }

    /// Checks the counts of what waits.
    pub(in crate::engine) fn check_queues(&self, kernel: &Kernel) {
        if let Some(queues) = &self.queues {
            for (unit, waiting) in (0..).map(UnitId).zip(&queues.waiting) {
                law_eq!(kernel.counted_in_queue(unit), *waiting, "law: what waits for unit {} is counted", unit.0);
            }
        }
    }

    /// The rank of a write that any die may serve; 0 where dies serve operations in order of arrival.
    #[inline(always)]
    pub(in crate::engine) fn rank_in_queue(&self, kernel: &Kernel, rules: &Rules, op: OpId) -> u8 {
        if rules.queues { self.chosen_rank(kernel, op) } else { 0 }
    }

    /// The same where dies choose by class or by task.
    fn chosen_rank(&self, kernel: &Kernel, op: OpId) -> u8 {
        match self.queues.as_ref().and_then(|queues| queues.choice.as_ref()) {
            Some(choice) => choice.ranks[class_of(&kernel.ops[op]) as usize],
            None => self.rank(kernel, op, false),
        }
    }

    /// Counts what waits from the queues themselves, after they or the rules have changed as a whole.
    pub(in crate::engine) fn recount_queues(&mut self, kernel: &Kernel, dev: &Device) {
        for unit in (0..dev.geometry.units).map(UnitId) {
            let waiting = kernel.counted_in_queue(unit);
            if let Some(queues) = &mut self.queues {
                queues.waiting[unit.ix()] = waiting;
            }
        }
    }

    #[inline(never)]
    pub(in crate::engine) fn count_queue(&mut self, kernel: &Kernel, op: OpId, unit: UnitId, joins: bool) {
        if let Some(queues) = &mut self.queues {
            queues.waiting[unit.ix()].count(&kernel.ops[op], joins);
        }
    }

    /// An operation has joined a unit's queue, or left it.
    #[inline(always)]
    pub(in crate::engine) fn note_queue(
        &mut self,
        kernel: &Kernel,
        rules: &Rules,
        op: OpId,
        unit: UnitId,
        joins: bool,
    ) {
        if rules.counts {
            self.count_queue(kernel, op, unit, joins);
        }
    }

    /// The operation that a unit serves next, with its rank: the head of its queue where dies serve operations in order of arrival.
    #[inline(always)]
    pub(in crate::engine) fn next_in_queue(
        &self,
        kernel: &Kernel,
        dev: &Device,
        host: &Host,
        rules: &Rules,
        config: &Config,
        unit: UnitId,
    ) -> (u8, OpId) {
        if !rules.queues {
            return (0, kernel.dies[unit].queue.head());
        }
        match self.queues.as_ref().and_then(|queues| queues.choice.as_ref()) {
            Some(choice) => self.next_by_class(kernel, host, rules, choice, unit),
            None => self.next_task(kernel, dev, rules, config, unit),
        }
    }

    #[inline(never)]
    fn next_by_class(&self, kernel: &Kernel, host: &Host, rules: &Rules, choice: &Choice, unit: UnitId) -> (u8, OpId) {
        const READS: usize = QueueClass::Rhost as usize;
        let waiting = self.waiting(unit);
        let best = |reads: bool| {
            let present = (0..CLASSES).filter(|class| waiting.by_class[*class] > 0 && (reads || *class != READS));
            present.map(|class| choice.ranks[class]).min()
        };
        let (mut burst, collections) = choice.bursts[unit.ix()];
        if rules.collector_holds && kernel.dies[unit].collections != collections {
            // A collection was served meanwhile.
            burst = 0;
        }
        if choice.limit > 0 && burst >= choice.limit && waiting.by_class[READS] > 0 {
            if let Some(rank) = best(false) {
                let is_first = |class: usize| class != READS && choice.ranks[class] == rank;
                return (rank, kernel.first_in_queue(unit, |op| is_first(class_of(op) as usize)));
            }
            if host.anywhere.head().is_some() {
                // The write at the head of the device-wide queue goes first.
                return (u8::MAX, kernel.first_in_queue(unit, |op| class_of(op) as usize == READS));
            }
        }
        match best(true) {
            None => (u8::MAX, OpId::NONE),
            // Between equal ranks, the one that arrived first: both are in one list, so their places in it decide.
            Some(rank) => (rank, kernel.first_in_queue(unit, |op| choice.ranks[class_of(op) as usize] == rank)),
        }
    }

    /// An operation has reached the head of its unit's queue. Counts host reads that start in a row.
    #[inline(always)]
    pub(in crate::engine) fn note_burst(
        &mut self,
        kernel: &Kernel,
        host: &Host,
        rules: &Rules,
        op: OpId,
        unit: UnitId,
    ) {
        if rules.bursts {
            self.counts_burst(kernel, host, rules, op, unit);
        }
    }

    #[inline(never)]
    fn counts_burst(&mut self, kernel: &Kernel, host: &Host, rules: &Rules, op: OpId, unit: UnitId) {
        let state = &kernel.dies[unit];
        if state.array() != op && state.cache() != op {
            // Served from memory, moved to another die, or stalled.
            return;
        }
        let others = host.anywhere.head().is_some() || self.waiting(unit).any_other();
        let (collections, reads) = (state.collections, class_of(&kernel.ops[op]) == QueueClass::Rhost);
        let Some(choice) = self.queues.as_mut().and_then(|queues| queues.choice.as_mut()) else { return };
        let (burst, before) = choice.bursts[unit.ix()];
        let burst = if rules.collector_holds && before != collections { 0 } else { burst };
        choice.bursts[unit.ix()] = (if reads && others { burst + 1 } else { 0 }, collections);
    }
}

impl Kernel {
    /// An operation joins the queue of a unit, at its end or by its age.
    #[inline(always)]
    pub(in crate::engine) fn enter_queue(
        &mut self,
        features: &mut Features,
        rules: &Rules,
        op: OpId,
        unit: UnitId,
        by_age: bool,
    ) {
        let age = self.ops[op].age;
        let queue = &mut self.dies[unit].queue;
        if by_age {
            queue.insert_before(&mut self.ops, op, |other| other.age > age);
        } else {
            queue.push(&mut self.ops, op);
        }
        features.note_queue(self, rules, op, unit, true);
    }

    /// The operation that a unit serves next leaves its queue ([`Features::next_in_queue`]).
    #[inline(always)]
    pub(in crate::engine) fn take_next(&mut self, features: &mut Features, rules: &Rules, op: OpId, unit: UnitId) {
        let queue = &mut self.dies[unit].queue;
        if rules.queues {
            queue.remove(&mut self.ops, op);
        } else {
            queue.pop(&self.ops);
        }
        features.note_queue(self, rules, op, unit, false);
    }

    /// An operation leaves a unit's queue from any position.
    pub(in crate::engine) fn leave_queue(&mut self, features: &mut Features, rules: &Rules, op: OpId, unit: UnitId) {
        self.dies[unit].queue.remove(&mut self.ops, op);
        features.note_queue(self, rules, op, unit, false);
    }

    /// The first operation for which `wanted` holds leaves a unit's queue; none if there is none.
    pub(in crate::engine) fn take_first(
        &mut self,
        features: &mut Features,
        rules: &Rules,
        unit: UnitId,
        wanted: impl Fn(&Op) -> bool,
    ) -> OpId {
        let op = self.dies[unit].queue.take(&mut self.ops, wanted);
        if op.is_some() {
            features.note_queue(self, rules, op, unit, false);
        }
        op
    }

    /// The first operation of a unit's queue for which `wanted` holds; there is one.
    pub(in crate::engine) fn first_in_queue(&self, unit: UnitId, wanted: impl Fn(&Op) -> bool) -> OpId {
        let mut at = self.dies[unit].queue.head();
        while !wanted(&self.ops[at]) {
            steps::count();
            at = self.ops[at].next;
        }
        at
    }
}

/// Steps of searches that could grow with a queue or the number of planes, counted in tests.
pub(in crate::engine) mod steps {
    #[cfg(test)]
    thread_local!(pub(in crate::engine) static STEPS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) });

    #[inline(always)]
    pub(in crate::engine) fn count() {
        #[cfg(test)]
        STEPS.set(STEPS.get() + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{below, stream};
    use crate::request::{Request, RequestOp};
    use crate::units::Nanos;
    use crate::{Check, Ssd};

    /// Steps of searches a flash operation, of a device that `reads` in a hundred of its requests.
    fn steps_of(toml: &str, reads: u64) -> f64 {
        let config = toml.parse().unwrap_or_else(|error| panic!("{error}\n{toml}"));
        let mut ssd = Ssd::new(&config, 1, Check::Off).unwrap_or_else(|error| panic!("{error}"));
        ssd.set_closed(true);
        let (mut rng, size) = (stream(1, "steps"), ssd.page_bytes());
        let pages = ssd.capacity_bytes() / size;
        steps::STEPS.set(0);
        for _ in 0..6_000 {
            if !ssd.accepts() {
                ssd.run_until_room();
            }
            let op = if below(&mut rng, 100) < reads { RequestOp::Read } else { RequestOp::Write };
            ssd.submit(Request { arrival: Nanos::ZERO, op, offset: below(&mut rng, pages) * size, bytes: size });
        }
        ssd.run();
        steps::STEPS.get() as f64 / ssd.flash_operations() as f64
    }

    fn device(planes: u32, depth: u32, more: &str) -> String {
        format!(
            "geometry = {{ channels = 2, chips_per_channel = 2, dies_per_chip = 1, planes_per_die = {planes}, blocks_per_plane = 24, pages_per_block = 16 }}
            gc = {{ threshold = \"3 blocks\" }}
            device = {{ over_provisioning = 0.35, queue_depth = {depth} }}
            precondition = {{ mode = \"random\" }}\n{more}"
        )
    }

    /// Writes wait in long queues, and no read does: nothing searches them. Where all planes are full, those that are due already
    /// are not looked at again.
    #[test]
    fn no_search_grows_with_a_queue_or_with_planes() {
        for more in [
            "order.die_queue = \"read-first\"\nschemes.collector = \"queued\"",
            "timing = { suspendable = \"program+erase\", suspend = \"20us\", resume = \"10us\" }",
        ] {
            let (short, long) = (steps_of(&device(1, 16, more), 0), steps_of(&device(1, 512, more), 0));
            assert!(long <= 1.1 * short + 0.1, "{more}: {short} steps an operation at depth 16, {long} at 512");
        }
        let dynamic = "schemes.place = \"dynamic\"";
        let (few, many) = (steps_of(&device(1, 32, dynamic), 0), steps_of(&device(8, 32, dynamic), 0));
        assert!(many <= 2.0 * few + 0.5, "{few} steps an operation with 4 planes, {many} with 32");
    }
}
