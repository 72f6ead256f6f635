//! Steps of plain moves without rounds: a step that ends alone lets the collection continue or, if it is preemptible, pause for the
//! host.
//!
//! Equals [`Ssd::gc_step_ends`], the collector's next step and the rest of the round, without cases that cannot occur here.

use crate::device::transaction::{Class, Verb};
use crate::engine::kernel::Kernel;
use crate::engine::kernel::ops::Page;
use crate::engine::{Gc, Host, Nanos, Pause, Policies, Ssd};
use crate::policy::PageSet;
use crate::units::{JobId, OpId, PlaneId, UnitId};

impl Gc {
    /// Whether a collection pauses at the end of its step, because operations of the host wait for its die alone, and stays paused.
    /// The step has taken its pages by now, so the answer holds when it has ended. `urgent`: as in [`Gc::would_pause`].
    #[inline(always)]
    fn pauses_now(
        &self,
        kernel: &Kernel,
        host: &Host,
        schemes: &Policies,
        urgent: &dyn Fn(PlaneId) -> bool,
        job: JobId,
        unit: UnitId,
    ) -> bool {
        let waits = !kernel.dies[unit].queue.is_empty() && host.anywhere.is_empty();
        waits
            && self.would_pause(kernel, host, schemes, urgent, job)
            && !self.may_resume(schemes, urgent, job, true, false)
    }
}

impl Ssd {
    /// If the event ends the program of a plain move and it is known what follows, carries it out. Returns whether it did.
    #[inline(never)]
    pub(super) fn express_step(&mut self, id: OpId, time: Nanos) -> bool {
        let op = &self.kernel.ops[id];
        let (job, unit) = (op.job, op.unit);
        let continues = self.gc.continues_alone(&self.kernel, &self.dev, &self.host, &self.rules, job, unit);
        let urgent = |plane| self.dev.below_hard_floor(&self.rules, &self.config, plane);
        if !continues && !self.gc.pauses_now(&self.kernel, &self.host, &self.schemes, &urgent, job, unit) {
            return false;
        }
        self.now = time;
        self.kernel.timers.pop();
        if self.kernel.ops[id].verb == Verb::Read {
            self.land_turned(id);
        } else {
            self.kernel.count_time(&mut self.stats, id);
            let op = &self.kernel.ops[id];
            self.land_one(op.from[0], op.pages[0], self.kernel.ops[Page(id)].tags[0], true);
            self.gc.jobs[job.0].job.hand = PageSet::EMPTY;
        }
        self.kernel.dies[unit].vacate();
        if continues {
            if !self.moves_on(job) {
                self.begin_erase_alone(job);
            }
            return true;
        }
        self.pause_now(job);
        self.after_decisions();
        self.leave_time();
        true
    }

    /// If the event ends the read-out of a plain move and it is known what follows, carries it out. Returns whether it did.
    #[inline(never)]
    pub(super) fn express_read_out(&mut self, bus: usize, time: Nanos) -> bool {
        let id = self.kernel.buses[bus].holder;
        if self.kernel.ops[id].class != Class::Gc {
            return false;
        }
        let op = &self.kernel.ops[id];
        let (job, unit, plane) = (op.job, op.unit, op.plane);
        let continues = self.gc.continues_alone(&self.kernel, &self.dev, &self.host, &self.rules, job, unit);
        let urgent = |plane| self.dev.below_hard_floor(&self.rules, &self.config, plane);
        if op.verb != Verb::Read
            || !continues && !self.gc.pauses_now(&self.kernel, &self.host, &self.schemes, &urgent, job, unit)
        {
            return false;
        }
        self.now = time;
        let state = &mut self.kernel.buses[bus];
        state.holder = OpId::NONE;
        state.awaited = false;
        self.kernel.timers.pop();
        self.kernel.buses.mark(bus);
        self.kernel.count_time(&mut self.stats, id);
        self.gc.end_read_step(&self.kernel, &mut self.dev, id);
        if continues {
            let op = &mut self.kernel.ops[id];
            op.verb = Verb::Program;
            self.kernel.place_one(&mut self.dev, &mut self.stats, &self.rules, id, plane);
            self.ask(id, bus);
        } else {
            self.kernel.dies[unit].vacate();
            self.pause_now(job);
        }
        self.after_decisions();
        self.leave_time();
        true
    }

    /// A collection pauses whose step has just ended, and offers its die to the host.
    #[inline(always)]
    fn pause_now(&mut self, job: JobId) {
        let running = &mut self.gc.jobs[job.0];
        running.busy = false;
        running.offered = self.now;
        let urgent = |plane| self.dev.below_hard_floor(&self.rules, &self.config, plane);
        let pauses = self.gc.decides_to_pause(&self.kernel, &self.host, &self.schemes, &urgent, job);
        law!(pauses, "law: a collection pauses if its collector says so");
        self.gc.pause(&mut self.kernel, &self.dev, self.now, job, Pause::Preempted);
    }
}
