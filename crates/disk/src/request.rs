//! Requests that have been submitted, and their ends.

use ssdlab_sim::RequestOp;
use ssdlab_sim::blame::{Blame, ExtraBlame};
use ssdlab_sim::units::Nanos;

use crate::DiskError;

/// A submitted request. Later requests of a disk have higher numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// For what a request spent its time, in nanoseconds. All causes of both parts sum to its latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Causes {
    /// Causes that every device has.
    pub common: Blame,
    /// Causes of optional features, such as the write cache.
    pub extra: ExtraBlame,
}

impl Causes {
    /// No time.
    pub const ZERO: Causes = Causes { common: Blame::ZERO, extra: ExtraBlame([0; ssdlab_sim::blame::Extra::COUNT]) };

    /// Sum of all, which is the latency in nanoseconds.
    pub fn total_ns(&self) -> u64 {
        self.common.0.iter().sum::<u64>() + self.extra.sum()
    }
}

/// The end of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The request.
    pub ticket: Ticket,
    /// Its kind.
    pub op: RequestOp,
    /// Simulated time at which it was submitted.
    pub submitted: Nanos,
    /// Simulated time at which it completed.
    pub completed: Nanos,
    /// For what it spent this time.
    pub causes: Causes,
    /// A read's data; none if it failed, and for other requests.
    pub data: Option<Vec<u8>>,
    /// Why it failed, if it did.
    pub error: Option<DiskError>,
}
