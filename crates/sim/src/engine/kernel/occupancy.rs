//! Number of busy resources, integrated over time.

use crate::units::Nanos;

/// A number of busy resources at one time, and what its integral takes.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::engine) struct Level {
    busy: u64,
    /// The sum of the times at which resources became idle, less that of those at which they became busy. With the number now this
    /// is the integral, and a change takes no multiplication.
    ends: i128,
}

impl Level {
    /// The integral until `now`, in nanoseconds of busy time, if the number has not changed.
    #[inline(always)]
    pub(in crate::engine) fn total(&self, now: Nanos) -> u128 {
        (self.ends + i128::from(self.busy) * i128::from(now.0)) as u128
    }
}

/// A number of busy resources, integrated over time.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::engine) struct Occupancy {
    level: Level,
    /// Time of the last change made with [`Occupancy::change_beside`].
    since: Nanos,
    /// The integral until the last mark, if the number has changed since.
    marked: u128,
}

impl Occupancy {
    /// The number rises or falls by one.
    #[inline(always)]
    pub(in crate::engine) fn change(&mut self, up: bool, now: Nanos) {
        self.change_by(1, up, now);
    }

    /// The number changes by `by`.
    #[inline(always)]
    pub(in crate::engine) fn change_by(&mut self, count: u32, up: bool, now: Nanos) {
        let times = i128::from(count) * i128::from(now.0);
        debug_assert!(up || self.level.busy >= u64::from(count));
        // Fewer than 2^63 changes of fewer than 2^64 nanoseconds each.
        if up {
            self.level.busy = self.level.busy.wrapping_add(u64::from(count));
            self.level.ends = self.level.ends.wrapping_sub(times);
        } else {
            self.level.busy = self.level.busy.wrapping_sub(u64::from(count));
            self.level.ends = self.level.ends.wrapping_add(times);
        }
    }

    /// The number changes by `count`, and the integral until `mark`, which is not later than now, will be asked for.
    #[inline(always)]
    pub(in crate::engine) fn change_beside(&mut self, mark: Nanos, count: u32, up: bool, now: Nanos) {
        self.marked = self.total_at(mark);
        self.since = now;
        self.change_by(count, up, now);
    }

    /// The integral until the last mark, where all changes are made with [`Occupancy::change_beside`].
    pub(in crate::engine) fn total_at(&self, mark: Nanos) -> u128 {
        if mark >= self.since { self.total(mark) } else { self.marked }
    }

    /// The number now, to integrate it later.
    #[inline(always)]
    pub(in crate::engine) fn level(&self) -> Level {
        self.level
    }

    /// Current number.
    pub(in crate::engine) fn busy(&self) -> u64 {
        self.level.busy
    }

    /// The integral until now, in nanoseconds of busy time.
    #[inline(always)]
    pub(in crate::engine) fn total(&self, now: Nanos) -> u128 {
        self.level.total(now)
    }
}
