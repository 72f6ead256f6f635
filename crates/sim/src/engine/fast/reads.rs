//! Rounds of reads alone: the round of a device on which every event is the end of a booked read, and only reads have been
//! submitted so far.
//!
//! Then no page moves or becomes stale between the admission of a read and its start. So a read that finds its die free begins when
//! it is admitted, without a queue, and there are no decisions and no grants. Anything else that turns up is left to the general
//! round, which follows at the same time.

use crate::engine::kernel::Kernel;
use crate::engine::kernel::dies::Holder;
use crate::engine::{Gc, Host, Ssd};
use crate::units::{Nanos, UnitId};

impl Kernel {
    /// Whether a read that is admitted now begins now, as it finds its die free.
    #[inline(always)]
    pub(super) fn begins_at_once(&self, unit: UnitId) -> bool {
        self.dies.starts_early() && self.rests(unit)
    }

    /// Whether a die does nothing, and nothing waits for it.
    #[inline(always)]
    pub(super) fn rests(&self, unit: UnitId) -> bool {
        let state = &self.dies[unit];
        state.holder() == Holder::Free
            && state.array().is_none()
            && state.queue.is_empty()
            && state.job.is_none()
            && state.due().is_empty()
    }

    /// [`Kernel::settled`] on a device of the lane, which has neither a window nor parity groups nor a write cache.
    #[inline(always)]
    fn settled_in_lane(&self, host: &Host, gc: &Gc, now: Nanos) -> bool {
        self.dies.dirty.is_empty()
            && self.buses.dirty.is_empty()
            && gc.ready.is_empty()
            && self.timers.next() > now
            && host.next_arrival(now) > now
    }
}

impl Ssd {
    /// Handles the next time if only booked reads end and requests arrive then, and only reads have been submitted. Returns whether
    /// it did. Equals [`Ssd::round`].
    #[inline(never)]
    pub(in crate::engine) fn round_of_reads(&mut self, time: Nanos) -> bool {
        if !self.kernel.all_booked(&self.shared) {
            return false;
        }
        law!(time >= self.now, "time never goes backwards");
        self.now = time;
        if self.kernel.timers.next() == time {
            self.kernel.batch.clear();
            self.kernel.timers.take_all(&mut self.kernel.batch);
            self.kernel.events_since_scan += self.kernel.batch.len() as u64;
            if self.observer.shows_completions() && self.kernel.batch.len() > 1 {
                self.kernel.sort_batch(&self.host, &self.features);
            }
            let batch = std::mem::take(&mut self.kernel.batch);
            for number in &batch {
                // Arrays have the first numbers.
                let unit = UnitId(*number as u32);
                self.leaves_lane::<true>(self.kernel.dies[unit].array(), true);
            }
            self.kernel.batch = batch;
        }
        self.kernel.dies.start_early(true);
        // Those that waited begin first, as they are older. What is none of them waits for the general round.
        let mut left = 0;
        for i in 0..self.kernel.dies.dirty.len() {
            let unit = self.kernel.dies.dirty[i];
            if self.start_in_lane(unit) {
                self.kernel.dies.unmark(unit);
            } else {
                self.kernel.dies.dirty[left] = unit;
                left += 1;
            }
        }
        self.kernel.dies.dirty.truncate(left);
        self.admit();
        self.kernel.dies.start_early(false);
        self.kernel.decided_at = time;
        self.kernel.granted_at = time;
        if self.kernel.settled_in_lane(&self.host, &self.gc, self.now) {
            self.kernel.end_round(&mut self.dev, &self.features, &self.fast, &mut self.schemes, &self.rules, self.now);
            self.kernel.check_round(&self.dev, &self.gc, &self.features, &mut self.oracle, &self.rules);
        } else {
            self.round(time);
        }
        true
    }
}
