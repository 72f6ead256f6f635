//! Collections that let their unit serve others between two steps.

use super::{Nanos, Pause, Ssd};
use crate::config::Scope;
use crate::device::resource::{Holder, Suspension};
use crate::units::{JobId, PlaneId, UnitId};

impl Ssd {
    /// Between two steps of a collection: host operations go first if any wait, and the hard threshold allows. Returns
    /// whether they do.
    pub(super) fn gives_way(&mut self, id: JobId) -> bool {
        let running = &mut self.jobs[id.0];
        if !running.holds || std::mem::replace(&mut running.sure, false) {
            return false;
        }
        let (unit, plane) = (running.unit, running.plane);
        let wanted = !self.units[unit.ix()].queue.is_empty() || !self.anywhere.is_empty();
        if !wanted || self.below_hard_floor(plane) {
            return false;
        }
        self.pause(id, Pause::Preempted);
        true
    }

    /// A collection lets its unit go for a while.
    pub(super) fn pause(&mut self, id: JobId, why: Pause) {
        let running = &mut self.jobs[id.0];
        running.pause = why;
        let (unit, plane) = (running.unit, running.plane);
        self.set_holder(unit, Holder::Free);
        self.chip_in_use(plane, false);
        self.mark_unit(unit);
    }

    pub(super) fn below_hard_floor(&self, plane: PlaneId) -> bool {
        let (geometry, flash) = (&self.dev.geometry, &self.dev.flash);
        let free = match self.config.gc.scope {
            Scope::Plane => u64::from(flash.free_pages(plane)),
            Scope::Device => flash.free_total(),
            Scope::Chip => {
                let planes = (0..geometry.planes).map(PlaneId);
                let chip = planes.filter(|p| geometry.chip_of(*p) == geometry.chip_of(plane));
                chip.map(|p| u64::from(flash.free_pages(p))).sum()
            }
        };
        free < u64::from(self.rules.hard_floor)
    }

    fn array_is_free(&self, unit: UnitId) -> bool {
        let state = &self.units[unit.ix()];
        state.array.is_none() && state.cache.is_none() && state.suspension == Suspension::No
    }

    /// A collection of this unit goes on, if it is paused and nothing keeps it so. Writes that any die may take keep it for
    /// one dispatch: if they went elsewhere, or could not be served here, they wait for another occasion.
    #[inline(never)]
    pub(super) fn try_resume(&mut self, unit: UnitId) {
        let id = self.units[unit.ix()].job;
        if id.is_none() || !self.array_is_free(unit) {
            return;
        }
        let running = &self.jobs[id.0];
        let (plane, planes) = (running.plane, running.planes);
        match running.pause {
            Pause::No => return,
            Pause::Durable if self.awaits_durability(id) => return,
            Pause::Durable => {}
            Pause::Preempted => {
                let offered = running.offered == self.now;
                let wanted = !self.units[unit.ix()].queue.is_empty() || !(offered || self.anywhere.is_empty());
                if wanted && !self.below_hard_floor(plane) {
                    self.jobs[id.0].offered = self.now;
                    return;
                }
            }
        }
        let running = &mut self.jobs[id.0];
        (running.pause, running.sure) = (Pause::No, true);
        self.units[unit.ix()].job_planes = planes;
        self.set_holder(unit, Holder::Gc);
        self.chip_in_use(plane, true);
        self.ready_jobs.push(id);
    }

    /// Whether a unit stands idle because a collection lets host operations go first.
    pub(super) fn lends(&self, unit: UnitId) -> bool {
        let job = self.units[unit.ix()].job;
        self.rules.preempts && job.is_some() && self.jobs[job.0].pause == Pause::Preempted && self.array_is_free(unit)
    }

    /// A unit that was lent and not taken: its collection goes on in the next round.
    pub(super) fn look_again(&mut self, unit: UnitId) {
        if self.lends(unit) {
            debug_assert_ne!(self.jobs[self.units[unit.ix()].job.0].offered, Nanos::NEVER);
            self.mark_unit(unit);
        }
    }
}
