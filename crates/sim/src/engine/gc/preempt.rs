//! Collections that pause between two steps, so their unit serves other operations. The collector decides when they pause and
//! resume.

use crate::config::{Config, Scope};
use crate::engine::gc::jobs::seize_for_job;
use crate::engine::kernel::Kernel;
use crate::engine::rules::Rules;
use crate::engine::{Device, Features, Gc, Host, Nanos, Pause, Policies, Ssd};
use crate::policy::Contention;
use crate::units::{JobId, PlaneId, UnitId};

/// Before collections start: the paused collection of a die may resume. Returns whether the die may be given work in idle time.
/// Nothing resumes, and no die is given work, where collections neither pause nor begin in idle time.
#[inline(always)]
pub(in crate::engine) fn examines(ssd: &mut Ssd, unit: UnitId) -> bool {
    if !ssd.rules.looks {
        return false;
    }
    let state = &ssd.kernel.dies[unit];
    if state.job.is_some() && state.is_free() && ssd.gc.jobs[state.job.0].pause != Pause::No {
        let (id, queued, unplaced) = (state.job, !state.queue.is_empty(), !ssd.host.anywhere.is_empty());
        let urgent = |plane| ssd.dev.below_hard_floor(&ssd.rules, &ssd.config, plane);
        if ssd.gc.resumes(&ssd.dev, &ssd.schemes, ssd.now, &urgent, id, (queued, unplaced)) {
            seize_for_job(ssd, id);
            ssd.gc.ready.push(id);
        }
    }
    ssd.rules.idles
}

/// A collection is about to take a step. Returns whether it pauses for host operations instead; never where no collection is preempted.
#[inline(always)]
pub(in crate::engine) fn pauses(ssd: &mut Ssd, id: JobId) -> bool {
    if !ssd.rules.preempts {
        return false;
    }
    let urgent = |plane| ssd.dev.below_hard_floor(&ssd.rules, &ssd.config, plane);
    let pauses = ssd.gc.decides_to_pause(&ssd.kernel, &ssd.host, &ssd.schemes, &urgent, id);
    if pauses {
        ssd.gc.pause(&mut ssd.kernel, &ssd.dev, ssd.now, id, Pause::Preempted);
    }
    pauses
}

impl Kernel {
    /// Whether dies that have changed are examined before collections start, though no collection is due: never where collections
    /// neither pause nor begin in idle time.
    #[inline(always)]
    pub(in crate::engine) fn examines_dies(&self, rules: &Rules) -> bool {
        !self.dies.dirty.is_empty() && rules.looks
    }
}

impl Device {
    /// Whether collections in the scope of a plane are urgent.
    pub(in crate::engine) fn below_hard_floor(&self, rules: &Rules, config: &Config, plane: PlaneId) -> bool {
        rules.hard_floor > 0 && self.has_fewer_free(config.gc.scope, plane, rules.hard_floor)
    }

    /// Whether that holds for a plane of a unit.
    pub(in crate::engine) fn unit_below_hard_floor(&self, rules: &Rules, config: &Config, unit: UnitId) -> bool {
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

impl Kernel {
    /// Whether a collection is due on a unit that it will hold: it goes before the operations that wait there.
    #[inline(always)]
    pub(in crate::engine) fn collection_goes_first(&self, rules: &Rules, unit: UnitId) -> bool {
        let state = &self.dies[unit];
        rules.collector_holds && !state.due().is_empty() && state.job.is_none()
    }
}

impl Host {
    /// The next place of the first write that any die may serve, among units whose collections pause for host operations; none where
    /// collections are not preempted. `full`: a unit had no page.
    #[inline(always)]
    pub(in crate::engine) fn next_paused_place(
        &self,
        kernel: &mut Kernel,
        dev: &Device,
        gc: &Gc,
        features: &Features,
        rules: &Rules,
        full: &mut bool,
    ) -> Option<(UnitId, PlaneId)> {
        if !rules.preempts {
            return None;
        }
        self.next_place(kernel, dev, features, full, |kernel, unit| gc.is_paused_for_host(kernel, rules, unit))
    }
}

impl Gc {
    /// Whether collections leave a unit on which nothing is in service to other operations: none is due that will hold it, or the one that
    /// runs there waits for its pages on other dies.
    #[inline(always)]
    pub(in crate::engine) fn leaves_unit(&self, kernel: &Kernel, dev: &Device, rules: &Rules, unit: UnitId) -> bool {
        let state = &kernel.dies[unit];
        if state.job.is_none() {
            !rules.collector_holds || state.due().is_empty()
        } else {
            rules.pauses && self.awaits_durability(dev, state.job)
        }
    }

    /// Whether a unit has a collection that is not paused.
    #[inline(always)]
    pub(in crate::engine) fn occupies(&self, kernel: &Kernel, rules: &Rules, unit: UnitId) -> bool {
        let job = kernel.dies[unit].job;
        job.is_some() && !(rules.pauses && self.jobs[job.0].pause != Pause::No)
    }

    /// Whether a unit is free because its collection pauses for host operations.
    pub(in crate::engine) fn is_paused_for_host(&self, kernel: &Kernel, rules: &Rules, unit: UnitId) -> bool {
        let job = kernel.dies[unit].job;
        rules.preempts && job.is_some() && self.jobs[job.0].pause == Pause::Preempted && kernel.dies[unit].is_free()
    }

    /// A unit was free for host operations and served none: its collection resumes in the next round.
    pub(in crate::engine) fn revisit(&self, kernel: &mut Kernel, rules: &Rules, unit: UnitId) {
        if self.is_paused_for_host(kernel, rules, unit) {
            debug_assert_ne!(self.jobs[kernel.dies[unit].job.0].offered, Nanos::NEVER);
            kernel.dies.mark(unit);
        }
    }

    /// A collection pauses: its unit is free for other operations.
    pub(in crate::engine) fn pause(&mut self, kernel: &mut Kernel, dev: &Device, now: Nanos, id: JobId, why: Pause) {
        let running = &mut self.jobs[id.0];
        running.pause = why;
        let (unit, plane) = (running.unit, running.plane);
        kernel.release_unit(dev, now, unit, plane);
        kernel.dies.mark(unit);
    }

    /// Whether a paused job resumes though host operations compete for its die. `urgent`: [`Device::below_hard_floor`].
    pub(in crate::engine) fn may_resume(
        &self,
        schemes: &Policies,
        urgent: &dyn Fn(PlaneId) -> bool,
        id: JobId,
        queued: bool,
        unplaced: bool,
    ) -> bool {
        let plane = self.jobs[id.0].plane;
        let urgent: &dyn Fn() -> bool = &|| urgent(plane);
        self.collector_of(schemes, id).resumes(&Contention { queued, unplaced, first_step: false, urgent })
    }

    /// Whether a collection that is about to take a step pauses first. The only place that asks the collector, so that shortcuts
    /// decide by the same facts. `urgent`: [`Device::below_hard_floor`].
    pub(in crate::engine) fn would_pause(
        &self,
        kernel: &Kernel,
        host: &Host,
        schemes: &Policies,
        urgent: &dyn Fn(PlaneId) -> bool,
        id: JobId,
    ) -> bool {
        let running = &self.jobs[id.0];
        let (plane, first_step) = (running.plane, running.sure);
        let queued = !kernel.dies[running.unit].queue.is_empty();
        let unplaced = !host.anywhere.is_empty();
        if !running.holds || !(queued || unplaced) {
            // No competitor: nothing to ask.
            return false;
        }
        let urgent: &dyn Fn() -> bool = &|| urgent(plane);
        self.collector_of(schemes, id).pauses(&Contention { queued, unplaced, first_step, urgent })
    }

    /// Before a GC step: whether the collector decides that the collection pauses. `urgent`: [`Device::below_hard_floor`].
    pub(in crate::engine) fn decides_to_pause(
        &mut self,
        kernel: &Kernel,
        host: &Host,
        schemes: &Policies,
        urgent: &dyn Fn(PlaneId) -> bool,
        id: JobId,
    ) -> bool {
        let pauses = self.would_pause(kernel, host, schemes, urgent, id);
        self.jobs[id.0].sure = false;
        pauses
    }

    /// A free unit has a paused collection: whether it resumes, because the collector decides so, or because the pages for which it
    /// waited are on flash. `queued`, `unplaced`: host operations wait for the unit, and for any unit. `urgent`:
    /// [`Device::below_hard_floor`].
    #[inline(never)]
    pub(in crate::engine) fn resumes(
        &mut self,
        dev: &Device,
        schemes: &Policies,
        now: Nanos,
        urgent: &dyn Fn(PlaneId) -> bool,
        id: JobId,
        (queued, unplaced): (bool, bool),
    ) -> bool {
        let running = &self.jobs[id.0];
        match running.pause {
            Pause::No => return false,
            Pause::Durable if self.awaits_durability(dev, id) => return false,
            Pause::Durable => {}
            Pause::Preempted => {
                let unplaced = running.offered != now && unplaced;
                if (queued || unplaced) && !self.may_resume(schemes, urgent, id, queued, unplaced) {
                    self.jobs[id.0].offered = now;
                    return false;
                }
            }
        }
        let running = &mut self.jobs[id.0];
        running.pause = Pause::No;
        running.sure = true;
        true
    }
}
