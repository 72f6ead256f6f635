//! Pauses of a closed loop: when its next request may arrive.

use crate::request::Think;
use crate::units::Nanos;

/// The state of a loop that pauses.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Pause {
    think: Think,
    /// Requests that have completed.
    completed: u64,
    /// How many had when it last stopped.
    stopped_at: u64,
    /// Nothing arrives until all requests have completed.
    drains: bool,
    /// The end of the last pause.
    until: Nanos,
}

impl Pause {
    pub(in crate::engine) fn new(think: Think) -> Self {
        Pause { think, completed: 0, stopped_at: 0, drains: false, until: Nanos::ZERO }
    }

    /// When the next request may arrive: never while the loop drains.
    pub(in crate::engine) fn ends(&self) -> Nanos {
        if self.drains { Nanos::NEVER } else { self.until }
    }

    /// A request has arrived. If the count is due since others completed while the loop drained, it stays alone.
    pub(in crate::engine) fn arrived(&mut self) {
        self.stop_if_due();
    }

    /// A request has completed at `now`; so many are left.
    pub(in crate::engine) fn completed(&mut self, outstanding: u32, now: Nanos) {
        self.completed += 1;
        if !self.drains {
            self.stop_if_due();
        }
        self.begin_if_drained(outstanding, now);
    }

    /// Power is cut, and so many of its requests are left.
    pub(in crate::engine) fn power_cut(&mut self, outstanding: u32, now: Nanos) {
        self.begin_if_drained(outstanding, now);
    }

    fn stop_if_due(&mut self) {
        let due = self.completed > self.stopped_at && self.completed.is_multiple_of(u64::from(self.think.after));
        if due {
            self.stopped_at = self.completed;
            self.drains = true;
        }
    }

    fn begin_if_drained(&mut self, outstanding: u32, now: Nanos) {
        if self.drains && outstanding == 0 {
            self.drains = false;
            self.until = now + self.think.time;
        }
    }
}
