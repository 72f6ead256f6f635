//! Units that take operations beside the one in their array: reads for which it is suspended (R10, `timing.suspendable`), and operations
//! whose data wait in the cache register (R8, `timing.cache_register`).

use crate::blame::Cause;
use crate::config::{Config, Suspendable};
use crate::device::transaction::{Class, Need, Op, Verb};
use crate::engine::features::queues::{may_suspend, steps};
use crate::engine::kernel::Kernel;
use crate::engine::kernel::dies::Suspension;
use crate::engine::kernel::timers::Timer;
use crate::engine::rules::Rules;
use crate::engine::spine::release::Unparked;
use crate::engine::{Features, Nanos, Ssd};
use crate::observe::Slot;
use crate::units::{OpId, UnitId};

/// When an operation yields that has `passed` of its array time, at the end of a slice (`timing.suspend_slice`). Suspensions begin at
/// ends of slices only, so they do not move the others: what has passed is the whole time less what is left.
fn slice_end(passed: Nanos, now: Nanos, slice: Nanos) -> Nanos {
    now + Nanos((slice.0 - passed.0 % slice.0) % slice.0)
}

impl Kernel {
    /// R10: whether the operation in the array of a unit may be suspended for a read, if it is in the array by now.
    #[inline(never)]
    pub(in crate::engine) fn may_suspend(&self, config: &Config, unit: UnitId) -> bool {
        let state = &self.dies[unit];
        let op = &self.ops[state.array()];
        let may = match config.timing.suspendable {
            Suspendable::None => false,
            Suspendable::Erase => op.verb == Verb::Erase,
            // The last part of a copyback is its program.
            Suspendable::ProgramErase => {
                op.verb != Verb::Read && (op.verb != Verb::Copyback || op.leg + 1 == op.legs.len())
            }
        };
        may && state.cache().is_none()
    }

    /// R10: a read that waits suspends the operation in the array, unless that ends sooner by itself.
    #[inline(never)]
    pub(in crate::engine) fn suspend_for_read(&mut self, config: &Config, now: Nanos, unit: UnitId) {
        let (end, now) = (self.timers.get(Timer::Array(unit)), now);
        let op = &self.ops[self.dies[unit].array()];
        let leg = op.legs.get(op.leg).map_or(Nanos::ZERO, |leg| leg.time);
        let yields = config.timing.suspend_slice.map_or(now, |slice| slice_end(now + leg - end, now, slice));
        let gone = yields + config.timing.suspend;
        if end <= gone {
            return;
        }
        let state = &mut self.dies[unit];
        if yields > now {
            state.wait_for_slice(end - yields);
            return self.timers.set(Timer::Array(unit), yields);
        }
        state.begin_suspension(end - now, now);
        self.timers.set(Timer::Array(unit), gone);
    }

    /// The suspension is complete: the array is free for one read, which dispatch selects after this moment's arrivals.
    #[inline(never)]
    pub(in crate::engine) fn suspended(&mut self, unit: UnitId) {
        self.dies[unit].suspend();
        self.dies.mark(unit);
    }

    /// The read has ended: the resumption begins.
    pub(in crate::engine) fn resume(&mut self, config: &Config, now: Nanos, unit: UnitId) {
        let suspended = self.dies[unit].begin_resumption();
        self.set_holder(now, unit, self.holder_of(suspended));
        self.timers.set(Timer::Array(unit), now + config.timing.resume);
    }

    /// The suspended operation continues with its remaining time.
    #[inline(never)]
    pub(in crate::engine) fn resumed(
        &mut self,
        features: &mut Features,
        observer: &mut Slot,
        rules: &Rules,
        now: Nanos,
        unit: UnitId,
    ) {
        observer.watch_array_start(now, unit);
        let (id, rest, lost) = self.dies[unit].resume(now);
        self.timers.set(Timer::Array(unit), now + rest);
        if matches!(self.ops[id].class, Class::Host | Class::Cache) {
            self.charge(features, rules, now, id, Cause::DieHost, lost.0);
            self.share_own(features, rules, id, lost.0);
        }
        self.dies.mark(unit);
    }

    /// R8: whether an operation may begin in addition to the one in service on its unit. The next array read may run during data-out;
    /// only reads overlap reads. The next data-in may run while the array programs.
    #[inline(always)]
    pub(in crate::engine) fn may_overlap(&self, op: OpId, unit: UnitId) -> bool {
        let page = &self.ops[op];
        page.class.like_host() && (page.need == Need::Write) == self.dies[unit].array().is_some()
    }

    /// R8: whether the array of a unit programs for the host, and its cache register is free for the next data-in.
    #[inline(always)]
    pub(in crate::engine) fn takes_data_in(&self, config: &Config, unit: UnitId) -> bool {
        let state = &self.dies[unit];
        let array = &self.ops[state.array()];
        config.timing.cache_register
            && state.cache().is_none()
            && array.verb == Verb::Program
            && array.class.like_host()
            && array.leg > 0
    }

    /// The cache register or the array has become free: moves the operation that waits for it (R8). Its next leg follows.
    #[inline(always)]
    pub(in crate::engine) fn advance_cache(
        &mut self,
        features: &mut Features,
        rules: &Rules,
        now: Nanos,
        unit: UnitId,
    ) -> Option<Unparked> {
        let state = &mut self.dies[unit];
        if let Some(id) = state.unpark_read() {
            return Some(Unparked::Read(id));
        }
        if state.array().is_none() && state.cache().is_some() && self.ops[state.cache()].verb == Verb::Program {
            let id = state.cache();
            if state.unpark_program() {
                let since = self.ops[id].parked_since.take().expect("a parked program has noted since when");
                self.charge(features, rules, now, id, Cause::DieHost, (now - since.time()).0);
                self.share_own(features, rules, id, (now - since.time()).0);
                return Some(Unparked::Program(id));
            }
        }
        None
    }

    /// The array of a unit begins work, which waiting reads may suspend.
    #[inline(always)]
    pub(in crate::engine) fn array_begins(&mut self, rules: &Rules, unit: UnitId) {
        if rules.suspends {
            self.dies.mark(unit);
        }
    }
}

impl Ssd {
    /// Whether a unit may begin an operation of its queue beside what it serves, as far as its array is concerned. A waiting read may
    /// suspend that first.
    #[inline(always)]
    pub(in crate::engine) fn may_begin_beside(&mut self, unit: UnitId) -> bool {
        let state = &self.kernel.dies[unit];
        if state.suspension() == Suspension::Serving && state.array().is_none() && state.cache().is_none() {
            self.serve_in_suspension(unit);
            return false;
        }
        let state = &self.kernel.dies[unit];
        if state.queue.is_empty()
            || state.suspension() != Suspension::No
            || (state.array().is_some() && !self.rules.overlaps)
        {
            return false;
        }
        if state.array().is_some() && self.rules.suspends && self.features.waiting(unit).any_read() {
            self.try_suspend(unit);
        }
        self.kernel.dies[unit].suspension() == Suspension::No
    }

    /// The age with which an operation waits for a bus.
    #[inline(always)]
    pub(in crate::engine) fn turn_at_bus(&self, id: OpId) -> u64 {
        if self.rules.overlaps { self.turn_of_command(id) } else { self.kernel.ops[id].age }
    }

    /// R8: when a page moves to the cache register, the next read's command directly precedes its data-out.
    fn turn_of_command(&self, id: OpId) -> u64 {
        let op = &self.kernel.ops[id];
        let commands = op.verb == Verb::Read && op.leg == 0 && self.config.timing.command > Nanos::ZERO;
        if op.unit.is_some() && commands {
            let state = &self.kernel.dies[op.unit];
            if state.array() == id && state.cache().is_some() && self.kernel.ops[state.cache()].asked == self.now {
                return self.kernel.ops[state.cache()].age;
            }
        }
        op.age
    }

    /// R10: a waiting read suspends the operation in the array, unless that ends sooner by itself.
    #[inline(never)]
    fn try_suspend(&mut self, unit: UnitId) {
        if self.kernel.may_suspend(&self.config, unit)
            && self.kernel.is_in_array(&self.fast, self.now, unit)
            && self.read_waits(unit)
        {
            self.kernel.suspend_for_read(&self.config, self.now, unit);
        }
    }

    /// Whether a waiting read needs this unit's array, as far as is known now.
    pub(in crate::engine) fn read_waits(&self, unit: UnitId) -> bool {
        let here = |page| self.dev.geometry.unit_of(self.dev.geometry.plane_of(page)) == unit;
        let (mut left, mut at) = (self.features.waiting(unit).reads(), self.kernel.dies[unit].queue.head());
        while left > 0 {
            steps::count();
            let op = &self.kernel.ops[at];
            if may_suspend(op) {
                if self.page_to_read(at).is_some_and(here) {
                    return true;
                }
                left -= 1;
            }
            at = op.next;
        }
        false
    }

    /// Serves the oldest waiting read in a suspension, according to the current map. If none needs the array, the suspended
    /// operation resumes.
    #[inline(never)]
    pub(in crate::engine) fn serve_in_suspension(&mut self, unit: UnitId) {
        loop {
            let wanted = |op: &Op| op.class.like_host() && op.need != Need::Write;
            let read = self.kernel.take_first(&mut self.features, &self.rules, unit, wanted);
            if read.is_none() {
                return self.kernel.resume(&self.config, self.now, unit);
            }
            // At its end, the suspended operation resumes.
            self.kernel.ops.leave_lane(read);
            self.select(read, unit);
            if self.kernel.dies[unit].array().is_some() {
                return;
            }
        }
    }
}
