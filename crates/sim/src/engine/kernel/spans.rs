//! The times at which GC held dies or channels, one by one. The ledgers have only their sums.

use std::collections::VecDeque;

use crate::units::Nanos;

/// See the module's documentation.
#[derive(Clone, Default)]
pub(in crate::engine) struct Spans {
    /// By resource, the oldest first. The last one may not have ended. None where they are not kept.
    all: Vec<VecDeque<(Nanos, Nanos)>>,
    /// Spans that ended before this time are not asked for.
    needed: Nanos,
}

impl Spans {
    /// Spans of so many resources.
    pub(in crate::engine) fn of(resources: usize) -> Self {
        Spans { all: vec![VecDeque::new(); resources], needed: Nanos::NEVER }
    }

    /// Times before `from` are not asked for any longer; none that have passed if it is `NEVER`.
    pub(in crate::engine) fn need(&mut self, from: Nanos) {
        self.needed = from;
    }

    /// GC holds a resource from `now` to `until`, which may be unknown. Its earlier spans have ended.
    pub(in crate::engine) fn begin(&mut self, resource: usize, now: Nanos, until: Nanos) {
        let Some(spans) = self.all.get_mut(resource) else { return };
        while spans.front().is_some_and(|(_, end)| *end <= self.needed) {
            spans.pop_front();
        }
        spans.push_back((now, until));
    }

    /// GC no longer holds a resource.
    pub(in crate::engine) fn end(&mut self, resource: usize, now: Nanos) {
        if let Some((_, until)) = self.all.get_mut(resource).and_then(VecDeque::back_mut) {
            *until = now;
        }
    }

    /// For how long GC held a resource between two times, which must be needed.
    pub(in crate::engine) fn within(&self, resource: usize, from: Nanos, to: Nanos) -> u64 {
        let spans = self.all[resource].iter().rev().take_while(|(_, end)| *end > from);
        spans.map(|(start, end)| (*end).min(to).0.saturating_sub((*start).max(from).0)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_cut_at_both_ends_and_kept_while_they_are_needed() {
        let mut spans = Spans::of(2);
        let within = |spans: &Spans, from, to| spans.within(1, Nanos(from), Nanos(to));
        spans.begin(1, Nanos(10), Nanos::NEVER);
        assert_eq!((within(&spans, 0, 30), within(&spans, 15, 30)), (20, 15));
        spans.end(1, Nanos(30));
        spans.need(Nanos(20));
        spans.begin(1, Nanos(50), Nanos(60));
        assert_eq!((within(&spans, 20, 55), within(&spans, 25, 100), within(&spans, 30, 50)), (15, 15, 0));
        spans.need(Nanos(30));
        spans.begin(1, Nanos(70), Nanos(80));
        assert_eq!(spans.all[1].len(), 2, "the first one is not needed");
        Spans::default().begin(1, Nanos(0), Nanos(1));
    }
}
