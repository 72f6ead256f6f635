//! Number of busy resources, integrated over time.

use crate::units::Nanos;

/// A number of busy resources, integrated over time.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::engine) struct Occupancy {
    busy: u64,
    /// The sum of the times at which resources became idle, less that of those at which they became busy. With the number now this
    /// is the integral, and a change takes no multiplication.
    ends: i128,
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
        if up {
            self.busy += u64::from(count);
            self.ends -= times;
        } else {
            self.busy -= u64::from(count);
            self.ends += times;
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

    /// Current number.
    pub(in crate::engine) fn busy(&self) -> u64 {
        self.busy
    }

    /// The integral until now, in nanoseconds of busy time.
    #[inline(always)]
    pub(in crate::engine) fn total(&self, now: Nanos) -> u128 {
        (self.ends + i128::from(self.busy) * i128::from(now.0)) as u128
    }
}
