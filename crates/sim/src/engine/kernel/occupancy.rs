//! How much of something is in use, over time.

use crate::units::Nanos;

/// How many of something are busy, integrated over time.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::engine) struct Occupancy {
    busy: u64,
    total: u128,
    since: Nanos,
}

impl Occupancy {
    /// One more is busy, or one fewer.
    #[inline(always)]
    pub(in crate::engine) fn change(&mut self, up: bool, now: Nanos) {
        self.change_by(1, up, now);
    }

    /// So many more are busy, or fewer.
    #[inline(always)]
    pub(in crate::engine) fn change_by(&mut self, count: u32, up: bool, now: Nanos) {
        self.total += u128::from(self.busy) * u128::from((now - self.since).0);
        self.since = now;
        if up { self.busy += u64::from(count) } else { self.busy -= u64::from(count) }
    }

    /// How many are busy now.
    pub(in crate::engine) fn busy(&self) -> u64 {
        self.busy
    }

    /// The integral up to now, in nanoseconds of busy time.
    #[inline(always)]
    pub(in crate::engine) fn total(&self, now: Nanos) -> u128 {
        self.total + u128::from(self.busy) * u128::from((now - self.since).0)
    }
}
