//! Collections that pause between two steps, so their unit serves other operations. The collector decides when they pause and
//! resume.

use super::spine::jobs::seize_for_job;
use super::{Device, Nanos, Pause, Ssd};
use crate::config::{Config, Scope};
use crate::engine::rules::Rules;
use crate::policy::Contention;
use crate::units::{JobId, PlaneId, UnitId};

impl Device {
    /// Whether collections in the scope of a plane are urgent.
    pub(super) fn below_hard_floor(&self, rules: &Rules, config: &Config, plane: PlaneId) -> bool {
        rules.hard_floor > 0 && self.has_fewer_free(config.gc.scope, plane, rules.hard_floor)
    }

    /// Whether that holds for a plane of a unit.
    pub(super) fn unit_below_hard_floor(&self, rules: &Rules, config: &Config, unit: UnitId) -> bool {
        if rules.hard_floor == 0 {
            return false;
        }
        let geometry = &self.geometry;
        // Planes of a chip have one answer where the scope is the chip or the device, and the first of them have the lowest numbers.
        let planes = match config.gc.scope {
            Scope::Plane => geometry.planes,
            Scope::Chip => geometry.chips,
            Scope::Device => 0,
        };
        let mut plane = unit.0;
        loop {
            if self.below_hard_floor(rules, config, PlaneId(plane)) {
                return true;
            }
            plane += geometry.units;
            if plane >= planes {
                return false;
            }
        }
    }
}

impl Ssd {
    /// Before a GC step: pauses the collection if the collector decides so. Returns whether it did.
    pub(super) fn pauses_for_host(&mut self, id: JobId) -> bool {
        let pauses = self.would_pause(id);
        self.gc.jobs[id.0].sure = false;
        if pauses {
            self.pause(id, Pause::Preempted);
        }
        pauses
    }

    /// Whether a collection that is about to take a step pauses first. The only place that asks the collector, so that shortcuts
    /// decide by the same facts.
    pub(super) fn would_pause(&self, id: JobId) -> bool {
        let running = &self.gc.jobs[id.0];
        let (plane, first_step) = (running.plane, running.sure);
        let queued = !self.kernel.dies[running.unit].queue.is_empty();
        let unplaced = !self.host.anywhere.is_empty();
        if !running.holds || !(queued || unplaced) {
            // No competitor: nothing to ask.
            return false;
        }
        let urgent: &dyn Fn() -> bool = &|| self.dev.below_hard_floor(&self.rules, &self.config, plane);
        self.collector_of(id).pauses(&Contention { queued, unplaced, first_step, urgent })
    }

    /// A collection pauses: its unit is free for other operations.
    pub(super) fn pause(&mut self, id: JobId, why: Pause) {
        let running = &mut self.gc.jobs[id.0];
        running.pause = why;
        let (unit, plane) = (running.unit, running.plane);
        self.kernel.release_unit(&self.dev, self.now, unit, plane);
        self.kernel.dies.mark(unit);
    }

    /// The collection of a free unit resumes if it is paused and the collector decides so, or if the pages for which it waited are
    /// on flash.
    #[inline(never)]
    pub(super) fn try_resume(&mut self, unit: UnitId) {
        let id = self.kernel.dies[unit].job;
        let running = &self.gc.jobs[id.0];
        match running.pause {
            Pause::No => return,
            Pause::Durable if self.gc.awaits_durability(&self.dev, id) => return,
            Pause::Durable => {}
            Pause::Preempted => {
                let queued = !self.kernel.dies[unit].queue.is_empty();
                let unplaced = running.offered != self.now && !self.host.anywhere.is_empty();
                if (queued || unplaced) && !self.may_resume(id, queued, unplaced) {
                    self.gc.jobs[id.0].offered = self.now;
                    return;
                }
            }
        }
        let running = &mut self.gc.jobs[id.0];
        running.pause = Pause::No;
        running.sure = true;
        seize_for_job(self, id);
        self.gc.ready.push(id);
    }

    /// Whether a paused job resumes though host operations compete for its die.
    pub(super) fn may_resume(&self, id: JobId, queued: bool, unplaced: bool) -> bool {
        let plane = self.gc.jobs[id.0].plane;
        let urgent: &dyn Fn() -> bool = &|| self.dev.below_hard_floor(&self.rules, &self.config, plane);
        self.collector_of(id).resumes(&Contention { queued, unplaced, first_step: false, urgent })
    }

    /// Whether a unit is free because its collection pauses for host operations.
    pub(super) fn is_paused_for_host(&self, unit: UnitId) -> bool {
        let job = self.kernel.dies[unit].job;
        self.rules.preempts
            && job.is_some()
            && self.gc.jobs[job.0].pause == Pause::Preempted
            && self.kernel.dies[unit].is_free()
    }

    /// A unit was free for host operations and served none: its collection resumes in the next round.
    pub(super) fn revisit(&mut self, unit: UnitId) {
        if self.is_paused_for_host(unit) {
            debug_assert_ne!(self.gc.jobs[self.kernel.dies[unit].job.0].offered, Nanos::NEVER);
            self.kernel.dies.mark(unit);
        }
    }
}
