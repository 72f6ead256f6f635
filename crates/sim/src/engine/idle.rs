//! GC in idle time: when dies have been idle long enough (`schemes.trigger`).

use std::collections::VecDeque;

use super::Ssd;
use super::kernel::dies::Holder;
use super::kernel::timers::Timer;
use super::report::load;
use crate::units::{Nanos, PlaneId, UnitId};

/// Idle dies, and for how long they have been idle.
#[derive(Clone)]
pub(super) struct Idle {
    /// Idle time of a die before its trigger is asked.
    after: Nanos,
    /// Times at which dies will have been idle long enough, earliest first. Entries of dies that were used meanwhile are stale.
    line: VecDeque<(Nanos, UnitId)>,
    units: Vec<IdleUnit>,
}

/// State of a die.
#[derive(Clone, Copy)]
struct IdleUnit {
    /// Time at which an operation last joined its queue.
    joined: Nanos,
    /// The time of its entry in the line that is not stale.
    armed: Nanos,
    /// That time has come.
    asked: bool,
    /// Start of the last collection in idle time, as long as no host operation has arrived since.
    collects_since: Option<Nanos>,
}

impl Idle {
    /// A device whose dies are idle from the start.
    pub(super) fn new(after: Nanos, units: u32) -> Self {
        let unit = IdleUnit { joined: Nanos::ZERO, armed: after, asked: false, collects_since: None };
        Idle { after, line: (0..units).map(|unit| (after, UnitId(unit))).collect(), units: vec![unit; units as usize] }
    }

    /// Time at which the first die in the line has been idle long enough.
    pub(super) fn next(&self) -> Nanos {
        self.line.front().map_or(Nanos::NEVER, |(time, _)| *time)
    }
}

impl Ssd {
    /// Whether nothing is in service or queued on a die, and none of its planes is due or in collection.
    fn is_at_rest(&self, unit: UnitId) -> bool {
        let state = &self.kernel.dies[unit];
        let claimed = |k| self.gc.planes[self.dev.geometry.plane_of_unit(unit, k).ix()].claimed;
        state.holder() == Holder::Free
            && state.is_free()
            && state.queue.is_empty()
            && !(0..self.dev.geometry.planes_per_unit).any(claimed)
    }

    /// An operation of the host or of GC joins the queue of a die.
    #[inline(never)]
    pub(super) fn joins_idle(&mut self, unit: UnitId, host: bool) {
        let now = self.now;
        let Some(idle) = &mut self.features.idle else { return };
        let state = &mut idle.units[unit.ix()];
        state.joined = now;
        if host {
            state.collects_since = None;
        }
    }

    /// The first dies in the line have been idle long enough, unless arrivals of this moment use them.
    #[inline(never)]
    pub(super) fn idle_ends(&mut self) {
        let now = self.now;
        let Some(idle) = &mut self.features.idle else { return };
        while let Some((time, unit)) = idle.line.front().copied().filter(|(time, _)| *time <= now) {
            idle.line.pop_front();
            if idle.units[unit.ix()].armed == time {
                idle.units[unit.ix()].asked = true;
                self.kernel.dies.mark(unit);
            }
        }
        self.kernel.timers.set(Timer::Idle, idle.next());
    }

    /// Collector decision: a plane of an idle die becomes due if the trigger says so. Called when the die has been idle long
    /// enough, and after each collection that this started.
    #[inline(never)]
    pub(super) fn collect_in_idle_time(&mut self, unit: UnitId) {
        if !self.is_at_rest(unit) {
            return;
        }
        let now = self.now;
        let released = self.kernel.dies[unit].released();
        let Some(idle) = &mut self.features.idle else { return };
        let state = &mut idle.units[unit.ix()];
        let asked = std::mem::replace(&mut state.asked, false) && state.armed == now;
        let stays_idle = state.collects_since.take().is_some_and(|since| released <= since);
        if !asked && !stays_idle {
            return;
        }
        let trigger = self.schemes.trigger.policy_ref();
        let load = || load(&self.host, &self.stats, self.config.device.queue_depth);
        let view = self.dev.view(now).under(&load);
        let due = (0..self.dev.geometry.planes_per_unit)
            .map(|k| self.dev.geometry.plane_of_unit(unit, k))
            .filter(|plane| trigger.due(&view, *plane) && self.has_garbage(*plane))
            .min_by_key(|plane: &PlaneId| (self.dev.flash.free_pages(*plane), plane.0));
        let Some(plane) = due else { return };
        if let Some(idle) = &mut self.features.idle {
            idle.units[unit.ix()].collects_since = Some(now);
        }
        // This terminates, because each collection frees a page. No request need complete meanwhile.
        self.kernel.idle_rounds = 0;
        self.claim(plane);
    }

    /// The dispatch has considered a die. If it is at rest now, its idle time begins.
    #[inline(never)]
    pub(super) fn note_rest(&mut self, unit: UnitId) {
        if !self.is_at_rest(unit) {
            return;
        }
        let since = self.kernel.dies[unit].since();
        let Some(idle) = &mut self.features.idle else { return };
        let state = &mut idle.units[unit.ix()];
        // A collection without a victim has not begun.
        state.collects_since = None;
        let time = since.max(state.joined) + idle.after;
        // A die that was tested without a victim is not tested again until it has been used.
        if time < self.now || state.armed == time {
            return;
        }
        state.armed = time;
        let at = idle.line.partition_point(|(other, _)| *other <= time);
        idle.line.insert(at, (time, unit));
        self.kernel.timers.set(Timer::Idle, idle.next());
    }

    /// Power has been cut: every die is idle from now on.
    pub(super) fn restart_idle(&mut self) {
        let now = self.now;
        let Some(idle) = &mut self.features.idle else { return };
        let time = now + idle.after;
        idle.line.clear();
        for (unit, state) in idle.units.iter_mut().enumerate() {
            *state = IdleUnit { joined: now, armed: time, asked: false, collects_since: None };
            idle.line.push_back((time, UnitId(unit as u32)));
        }
        self.kernel.timers.set(Timer::Idle, time);
    }
}
