//! Steps of plain moves without rounds: a step that ends alone lets the collection continue or, if it is preemptible, pause for the
//! host.
//!
//! Equals [`Ssd::gc_step_ends`], the collector's next step and the rest of the round, without cases that cannot occur here.

use crate::device::transaction::{Class, Verb};
use crate::engine::kernel::ops::Page;
use crate::engine::{Nanos, Ssd};
use crate::policy::PageSet;
use crate::units::{JobId, OpId, UnitId};

impl Ssd {
    /// If the event ends the program of a plain move and it is known what follows, carries it out. Returns whether it did.
    #[inline(never)]
    pub(super) fn express_step(&mut self, id: OpId, time: Nanos) -> bool {
        let op = &self.kernel.ops[id];
        let (job, unit) = (op.job, op.unit);
        let continues = self.continues_alone(job, unit);
        if !continues && !self.pauses_now(job, unit) {
            return false;
        }
        self.now = time;
        self.kernel.timers.pop();
        if self.kernel.ops[id].verb == Verb::Read {
            self.land_turned(id);
        } else {
            self.count_time(id);
            let op = &self.kernel.ops[id];
            self.land_one(op.from[0], op.pages[0], self.kernel.ops[Page(id)].tags[0], true);
            self.gc.jobs[job.0].job.hand = PageSet::EMPTY;
        }
        self.kernel.dies[unit].vacate();
        if continues {
            if !self.moves_on(job) {
                self.erase_alone(job);
            }
            return true;
        }
        self.pause_now(job);
        self.rest_of_round();
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
        let continues = self.continues_alone(job, unit);
        if op.verb != Verb::Read || !continues && !self.pauses_now(job, unit) {
            return false;
        }
        self.now = time;
        let state = &mut self.kernel.buses[bus];
        state.holder = OpId::NONE;
        state.awaited = false;
        self.kernel.timers.pop();
        self.kernel.buses.mark(bus);
        self.count_time(id);
        self.end_read_step(id);
        if continues {
            let op = &mut self.kernel.ops[id];
            op.verb = Verb::Program;
            self.place_one(id, plane);
            self.ask(id, bus);
        } else {
            self.kernel.dies[unit].vacate();
            self.pause_now(job);
        }
        self.rest_of_round();
        true
    }

    /// A collection pauses whose step has just ended, and offers its die to the host.
    #[inline(always)]
    fn pause_now(&mut self, job: JobId) {
        let running = &mut self.gc.jobs[job.0];
        running.busy = false;
        running.offered = self.now;
        let paused = self.pauses_for_host(job);
        law!(paused, "law: a collection pauses if its collector says so");
    }

    /// Collectors have decided at this time, and nothing else has happened.
    #[inline(always)]
    pub(super) fn rest_of_round(&mut self) {
        self.after_decisions();
        self.leave_time();
    }

    /// Whether a collection pauses at the end of its step, because operations of the host wait for its die alone, and stays paused.
    /// The step has taken its pages by now, so the answer holds when it has ended.
    #[inline(always)]
    fn pauses_now(&self, job: JobId, unit: UnitId) -> bool {
        let waits = !self.kernel.dies[unit].queue.is_empty() && self.host.anywhere.is_empty();
        waits && self.would_pause(job) && !self.may_resume(job, true, false)
    }
}
