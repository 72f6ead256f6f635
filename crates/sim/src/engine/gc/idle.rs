//! Work of dies in idle time: GC, when dies have been idle long enough (`schemes.trigger`), and folds of the cache of SLC (`slc.idle`).

use std::collections::VecDeque;

use crate::engine::kernel::Kernel;
use crate::engine::kernel::dies::Holder;
use crate::engine::kernel::timers::{Timer, Timers};
use crate::engine::report::load;
use crate::engine::rules::Rules;
use crate::engine::{Device, Features, Gc, Ssd};
use crate::units::{Nanos, OpId, PlaneId, UnitId};

/// Idle dies, and for how long they have been idle.
#[derive(Clone)]
pub(in crate::engine) struct Idle {
    /// Idle time of a die before it works.
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
    /// Start of the last work in idle time, or its end, as long as no host operation has arrived since.
    works_since: Option<Nanos>,
}

impl Idle {
    /// A device whose dies are idle from the start.
    pub(in crate::engine) fn new(after: Nanos, units: u32) -> Self {
        let unit = IdleUnit { joined: Nanos::ZERO, armed: after, asked: false, works_since: None };
        Idle { after, line: (0..units).map(|unit| (after, UnitId(unit))).collect(), units: vec![unit; units as usize] }
    }

    /// Time at which the first die in the line has been idle long enough.
    pub(in crate::engine) fn next(&self) -> Nanos {
        self.line.front().map_or(Nanos::NEVER, |(time, _)| *time)
    }

    /// An operation joins the queue of a die.
    fn joins(&mut self, unit: UnitId, host: bool, now: Nanos) {
        let state = &mut self.units[unit.ix()];
        state.joined = now;
        if host {
            state.works_since = None;
        }
    }

    /// The next die in the line that has been idle long enough by now, unless it was used meanwhile.
    fn takes_next(&mut self, now: Nanos) -> Option<UnitId> {
        while let Some((time, unit)) = self.line.front().copied().filter(|(time, _)| *time <= now) {
            self.line.pop_front();
            if self.units[unit.ix()].armed == time {
                self.units[unit.ix()].asked = true;
                return Some(unit);
            }
        }
        None
    }

    /// Whether a die at rest works now: its idle time is over, or it has worked since then, and no host operation was served.
    pub(in crate::engine) fn is_over(&mut self, unit: UnitId, now: Nanos, released: Nanos) -> bool {
        let state = &mut self.units[unit.ix()];
        let asked = std::mem::replace(&mut state.asked, false) && state.armed == now;
        let stays_idle = state.works_since.take().is_some_and(|since| released <= since);
        asked || stays_idle
    }

    /// A die works.
    pub(in crate::engine) fn works(&mut self, unit: UnitId, now: Nanos) {
        self.units[unit.ix()].works_since = Some(now);
    }

    /// What a die did has ended, perhaps in idle time.
    pub(in crate::engine) fn goes_on(&mut self, unit: UnitId, now: Nanos) {
        let since = &mut self.units[unit.ix()].works_since;
        *since = since.map(|_| now);
    }

    /// A die is at rest, free since `since`: its idle time begins, unless it has.
    fn rests(&mut self, unit: UnitId, since: Nanos, now: Nanos) {
        let state = &mut self.units[unit.ix()];
        // What had nothing to do has not begun.
        state.works_since = None;
        let time = since.max(state.joined) + self.after;
        // A die that had nothing to do is not asked again until it has been used.
        if time < now || state.armed == time {
            return;
        }
        state.armed = time;
        let at = self.line.partition_point(|(other, _)| *other <= time);
        self.line.insert(at, (time, unit));
    }

    /// Every die is idle from now on.
    pub(in crate::engine) fn restart(&mut self, now: Nanos) {
        let time = now + self.after;
        self.line.clear();
        for (unit, state) in self.units.iter_mut().enumerate() {
            *state = IdleUnit { joined: now, armed: time, asked: false, works_since: None };
            self.line.push_back((time, UnitId(unit as u32)));
        }
    }
}

/// Idle dies, for each kind of work.
fn idles(features: &mut Features) -> impl Iterator<Item = &mut Idle> {
    let folds = features.slc.as_mut().and_then(|slc| slc.idle.as_mut());
    features.idle.as_deref_mut().into_iter().chain(folds)
}

/// Sets the timer of the first die that will have been idle long enough.
pub(in crate::engine) fn await_idle_dies(features: &mut Features, timers: &mut Timers) {
    if let Some(next) = idles(features).map(|idle| idle.next()).min() {
        timers.set(Timer::Idle, next);
    }
}

/// A plane of a die at rest becomes due if the trigger says so.
pub(in crate::engine) fn collect_if_triggered(ssd: &mut Ssd, unit: UnitId) {
    if ssd.features.idle.is_none() || !ssd.gc.is_at_rest(&ssd.kernel, &ssd.dev, unit) {
        return;
    }
    let (now, released) = (ssd.now, ssd.kernel.dies[unit].released());
    if !ssd.features.idle.as_mut().is_some_and(|idle| idle.is_over(unit, now, released)) {
        return;
    }
    let trigger = ssd.schemes.trigger.policy_ref();
    let load = || load(&ssd.host, &ssd.stats, ssd.config.device.queue_depth);
    let view = ssd.dev.view(now).under(&load);
    let due = (0..ssd.dev.geometry.planes_per_unit)
        .map(|k| ssd.dev.geometry.plane_of_unit(unit, k))
        .filter(|plane| trigger.due(&view, *plane) && ssd.dev.has_garbage(*plane))
        .min_by_key(|plane: &PlaneId| (ssd.dev.flash.free_pages(*plane), plane.0));
    let Some(plane) = due else { return };
    if let Some(idle) = &mut ssd.features.idle {
        idle.works(unit, now);
    }
    // This terminates, because each collection frees a page. No request need complete meanwhile.
    ssd.kernel.idle_rounds = 0;
    ssd.claim(plane);
}

impl Features {
    /// Power has been cut: every die is idle from now on.
    pub(in crate::engine) fn restart_idle(&mut self, kernel: &mut Kernel, now: Nanos) {
        idles(self).for_each(|idle| idle.restart(now));
        await_idle_dies(self, &mut kernel.timers);
    }

    /// The first dies in the line have been idle long enough, unless arrivals of this moment use them.
    #[inline(never)]
    pub(in crate::engine) fn idle_ends(&mut self, kernel: &mut Kernel, now: Nanos) {
        while let Some(unit) = idles(self).find_map(|idle| idle.takes_next(now)) {
            kernel.dies.mark(unit);
        }
        await_idle_dies(self, &mut kernel.timers);
    }

    /// An operation has joined the queue of a unit whose collections check for waiting operations: ends its idle time, if dies are given
    /// work in it.
    #[inline(always)]
    pub(in crate::engine) fn note_awaited(&mut self, kernel: &Kernel, rules: &Rules, now: Nanos, op: OpId) {
        if rules.idles {
            self.joins_idle(now, kernel.ops[op].unit, kernel.ops[op].class.like_host());
        }
    }

    /// An operation of the host or of GC joins the queue of a die.
    #[inline(never)]
    fn joins_idle(&mut self, now: Nanos, unit: UnitId, host: bool) {
        idles(self).for_each(|idle| idle.joins(unit, host, now));
    }

    /// The dispatch has considered a die. If it is at rest now, its idle time begins.
    #[inline(never)]
    fn note_rest(&mut self, kernel: &mut Kernel, dev: &Device, gc: &Gc, now: Nanos, unit: UnitId) {
        if !gc.is_at_rest(kernel, dev, unit) {
            return;
        }
        let since = kernel.dies[unit].since();
        idles(self).for_each(|idle| idle.rests(unit, since, now));
        await_idle_dies(self, &mut kernel.timers);
    }
}

impl Gc {
    /// The dispatch has considered a unit: a collection that paused there and was offered to the host resumes, and idle time begins where
    /// dies are given work in it.
    #[inline(always)]
    pub(in crate::engine) fn has_considered(
        &self,
        kernel: &mut Kernel,
        dev: &Device,
        features: &mut Features,
        rules: &Rules,
        now: Nanos,
        unit: UnitId,
    ) {
        if rules.looks {
            self.revisit(kernel, rules, unit);
            if rules.idles {
                features.note_rest(kernel, dev, self, now, unit);
            }
        }
    }

    /// Whether nothing is in service or queued on a die, and none of its planes is due or in collection.
    pub(in crate::engine) fn is_at_rest(&self, kernel: &Kernel, dev: &Device, unit: UnitId) -> bool {
        let state = &kernel.dies[unit];
        let claimed = |k| self.claimed.has(dev.geometry.plane_of_unit(unit, k));
        state.holder() == Holder::Free
            && state.is_free()
            && state.queue.is_empty()
            && !(0..dev.geometry.planes_per_unit).any(claimed)
    }
}
