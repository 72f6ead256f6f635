//! How late replies leave, and whether the server still keeps up with its clock.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use ssdlab_sim::report::Distribution;

use crate::budget::locked;

/// How late replies left, in nanoseconds of wall time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lag {
    /// Replies.
    pub replies: u64,
    /// Half of them were at most so late.
    pub p50_ns: u64,
    /// 99 of a hundred were at most so late.
    pub p99_ns: u64,
    /// The latest.
    pub max_ns: u64,
    /// Seconds in which more than one reply in a hundred was later than allowed.
    pub late_seconds: u64,
}

/// A second of wall time.
#[derive(Default)]
struct Second {
    number: u64,
    replies: u64,
    late: u64,
}

struct Counts {
    lags: Distribution,
    second: Second,
    late_seconds: u64,
}

/// Collects lags from all clients.
pub(crate) struct Lags {
    counts: Mutex<Counts>,
    most: Duration,
    begun: Instant,
}

impl Lags {
    /// `most`: what is still in time.
    pub(crate) fn new(most: Duration) -> Lags {
        let counts = Counts { lags: Distribution::new(), second: Second::default(), late_seconds: 0 };
        Lags { counts: Mutex::new(counts), most, begun: Instant::now() }
    }

    /// A reply has left that was due at this moment. True: the first second that was late as a whole has just ended.
    pub(crate) fn note(&self, due: Instant) -> bool {
        let now = Instant::now();
        let lag = now.saturating_duration_since(due);
        let ns = u64::try_from(lag.as_nanos()).unwrap_or(u64::MAX);
        let mut counts = locked(&self.counts);
        counts.lags.record(ns);
        let second = now.saturating_duration_since(self.begun).as_secs();
        let first = second != counts.second.number && counts.end_second(second) && counts.late_seconds == 1;
        counts.second.replies += 1;
        counts.second.late += u64::from(lag > self.most);
        first
    }

    /// All replies so far; none if there were none.
    pub(crate) fn summary(&self) -> Option<Lag> {
        let mut counts = locked(&self.counts);
        counts.end_second(u64::MAX);
        let figures = counts.lags.figures();
        let (replies, late_seconds) = (figures.count, counts.late_seconds);
        Some(Lag { replies, p50_ns: figures.p50?, p99_ns: figures.p99?, max_ns: figures.max?, late_seconds })
    }
}

impl Counts {
    /// Another second begins. True: the last one was late.
    fn end_second(&mut self, next: u64) -> bool {
        let ended = std::mem::replace(&mut self.second, Second { number: next, ..Second::default() });
        let late = ended.late * 100 > ended.replies;
        self.late_seconds += u64::from(late);
        late
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_is_late_if_more_than_one_in_a_hundred_is() {
        let lags = Lags::new(Duration::from_millis(1));
        let due = Instant::now() - Duration::from_millis(20);
        for i in 0..200 {
            lags.note(if i < 2 { due } else { Instant::now() + Duration::from_secs(1) });
        }
        let lag = lags.summary().unwrap();
        assert_eq!((lag.replies, lag.p50_ns, lag.p99_ns, lag.late_seconds), (200, 0, 0, 0));
        assert!(lag.max_ns >= 20_000_000);
        lags.note(due);
        assert_eq!(lags.summary().unwrap().late_seconds, 1);
    }
}
