//! Lines that are written back because they have been dirty for long (`cache.hold`).

use std::collections::VecDeque;

use crate::engine::features::cache::Cache;
use crate::engine::features::cache::lines::State;
use crate::engine::kernel::timers::{Timer, Timers};
use crate::units::Nanos;

/// Lines in the order in which they will have been held long enough: that time, the line, and its period of dirtiness.
#[derive(Clone, Default)]
pub(super) struct Holds(VecDeque<(Nanos, u32, u32)>);

impl Holds {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

impl Cache {
    /// A line is ready: it is written back when it has been held long enough.
    pub(super) fn hold_line(&mut self, timers: &mut Timers, line: u32) {
        let Some(hold) = self.keys.hold else { return };
        let of = &self.lines.all[line as usize];
        let until = of.entered + hold;
        self.holds.0.push_back((until, line, of.period));
        if self.holds.0.len() == 1 {
            timers.set(Timer::Hold, until);
        }
    }

    /// Another time counts from now on, for all lines that are ready.
    pub(super) fn hold_all(&mut self, timers: &mut Timers, now: Nanos) {
        self.holds.clear();
        timers.clear(Timer::Hold);
        let entered = |line: u32| self.lines.all[line as usize].entered;
        let mut ready: Vec<u32> = self.lines.ready.iter().map(|(_, _, line)| *line).collect();
        ready.sort_by_key(|line| (entered(*line), *line));
        for line in ready {
            self.hold_line(timers, line);
        }
        if let Some((first, ..)) = self.holds.0.front() {
            timers.set(Timer::Hold, (*first).max(now));
        }
    }

    /// The first line that is held may have been issued: the timer is that of the first one that waits.
    pub(super) fn watch_holds(&mut self, timers: &mut Timers, now: Nanos) {
        let before = self.holds.0.len();
        let lines = &self.lines.all;
        while (self.holds.0.front()).is_some_and(|(_, line, period)| !lines[*line as usize].waits_since(*period)) {
            self.holds.0.pop_front();
        }
        if self.holds.0.len() != before {
            let next = self.holds.0.front().map_or(Nanos::NEVER, |(until, ..)| *until);
            timers.set(Timer::Hold, next.max(now));
        }
    }

    /// Lines that have been held long enough are written back at once.
    #[inline(never)]
    pub(super) fn end_holds(&mut self, timers: &mut Timers, now: Nanos) {
        while let Some((until, line, period)) = self.holds.0.front().copied()
            && until <= now
        {
            self.holds.0.pop_front();
            let of = &mut self.lines.all[line as usize];
            if of.waits_since(period) {
                of.held = true;
                (self.urgent, self.fresh) = (true, true);
            }
        }
        if let Some((next, ..)) = self.holds.0.front() {
            timers.set(Timer::Hold, *next);
        }
    }
}

impl super::lines::Line {
    /// Whether it has waited to be written back since a period of dirtiness began.
    fn waits_since(&self, period: u32) -> bool {
        self.period == period && self.state == State::Dirty
    }
}
