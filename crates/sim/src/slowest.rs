//! The slowest requests of a run.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::observe::Completed;

/// A request by its rank: the one that is dropped first is the greatest.
#[derive(Clone, Debug)]
struct Entry {
    latency: u64,
    request: Completed,
}

impl Entry {
    fn rank(&self) -> (Reverse<u64>, u64) {
        (Reverse(self.latency), self.request.request)
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.rank() == other.rank()
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Entry) -> std::cmp::Ordering {
        self.rank().cmp(&other.rank())
    }
}

/// A limited number of requests: those with the longest latencies, of equal ones those with the lowest numbers.
#[derive(Clone, Debug)]
pub struct Slowest {
    most: usize,
    kept: BinaryHeap<Entry>,
}

impl Slowest {
    /// At most this many.
    pub fn new(most: usize) -> Slowest {
        // One more while a new one replaces the fastest.
        Slowest { most, kept: BinaryHeap::with_capacity(most + 1) }
    }

    /// Whether a request with this latency may be among them.
    #[inline]
    pub(crate) fn takes(&self, latency: u64) -> bool {
        self.kept.len() < self.most || self.kept.peek().is_some_and(|fastest| latency >= fastest.latency)
    }

    /// Adds a completed request.
    pub(crate) fn note(&mut self, request: Completed) {
        let latency = (request.completion - request.arrival).0;
        self.kept.push(Entry { latency, request });
        if self.kept.len() > self.most {
            self.kept.pop();
        }
    }

    /// The requests, in any order.
    pub fn requests(&self) -> impl Iterator<Item = &Completed> {
        self.kept.iter().map(|entry| &entry.request)
    }
}
