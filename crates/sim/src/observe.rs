//! Observation of a run from outside.

use crate::blame::{Blame, ExtraBlame};
use crate::device::command::LegKind;
use crate::device::transaction::{Class, Verb};
use crate::policy::MAX_PLANES;
use crate::report::FlashOps;
use crate::request::{Request, RequestOp};
use crate::units::{Lpn, Nanos, PlaneId, Ppn};

/// A completed host request.
#[derive(Clone, Debug)]
pub struct Completed {
    /// Index of the request in order of arrival, from 0.
    pub request: u64,
    /// Whether it is measured: requests during the warm-up are not.
    pub measured: bool,
    /// Time of arrival.
    pub arrival: Nanos,
    /// Kind of request.
    pub op: RequestOp,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub bytes: u64,
    /// Beginning of the first service of the page that finished last, such as a write's transfer over the host link; none if that page had no service of its own (its chip had failed and it was
    /// reconstructed).
    pub start: Option<Nanos>,
    /// Time at which its last page completed.
    pub completion: Nanos,
    /// The plane that served the page that finished last; none if no flash served it.
    pub plane: PlaneId,
    /// Uncorrectable pages: reported as lost, not delivered.
    pub uncorrectable: u32,
    /// A write after the end of the device's writing, which completes at once with an error. It is in no latency.
    pub rejected: bool,
    /// Causes of the latency of the page that finished last, including the wait outside the device.
    pub blame: Blame,
    /// Its causes of optional features.
    pub extras: ExtraBlame,
    /// Index of its tenant; 0 without tenants.
    pub tenant: u8,
    /// Of the other tenants, the one for which it waited longest at dies and channels, and that time; none if it waited for none.
    pub aggressor: Option<(u8, Nanos)>,
}

/// The resource of a leg.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// The arrays of planes.
    Planes,
    /// The bus of a channel.
    Channel(u32),
    /// The host link: towards the device (`true`) or towards the host.
    HostLink(bool),
    /// The interconnect port of a channel.
    Port(u32),
}

/// Uninterrupted use of a resource by an operation.
#[derive(Clone, Copy, Debug)]
pub struct LegRecord {
    /// Start time.
    pub start: Nanos,
    /// End time, which may be in the future.
    pub end: Nanos,
    /// The resource.
    pub resource: Resource,
    /// Participating planes, followed by `NONE`.
    pub planes: [PlaneId; MAX_PLANES],
    /// Origin of the operation.
    pub class: Class,
    /// Verb of the operation.
    pub verb: Verb,
    /// Kind of the leg.
    pub kind: LegKind,
    /// Index of the host request, or number of the collection (unique, ascending, with gaps). `u64::MAX` for a write that was
    /// acknowledged before the device was observed.
    pub number: u64,
    /// Logical page of the first page, if it still has one.
    pub lpn: Lpn,
    /// The first page read, programmed or copied to, or the first page of the erased block.
    pub ppn: Ppn,
}

impl LegRecord {
    /// Participating planes.
    pub fn planes(&self) -> impl Iterator<Item = PlaneId> {
        self.planes.into_iter().take_while(|plane| plane.is_some())
    }
}

/// For how long host operations, GC and write-backs have held a die (unit of exclusion).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Total times in nanoseconds, up to `since`: host operations, GC, write-backs.
    pub(crate) totals: [u64; 3],
    /// Which of them has held it since then.
    pub(crate) holding: Option<usize>,
    pub(crate) since: Nanos,
}

impl Held {
    /// The totals up to a time at which nothing has happened since the sample.
    pub fn at(&self, time: Nanos) -> [u64; 3] {
        let mut totals = self.totals;
        if let Some(holding) = self.holding {
            totals[holding] += time.0.saturating_sub(self.since.0);
        }
        totals
    }
}

/// State of a device at a time, and its counters since construction, including warm-up.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The time for which it was taken ([`Observer::sample_at`]): all earlier events have happened, and none at this time.
    pub at: Nanos,
    /// Flash operations started.
    pub flash: FlashOps,
    /// Collections completed.
    pub collections: u64,
    /// Requests that have arrived but not completed.
    pub pending: u64,
    /// Unprogrammed pages of the whole device.
    pub free_pages: u64,
    /// By unit of exclusion, if [`Observer::samples_dies`].
    pub dies: Vec<Held>,
    /// Programmed pages of the cache of SLC, stale ones included; 0 without one.
    pub slc_used_pages: u64,
    /// Blocks and their wear, where they wear out.
    pub life: Option<crate::report::life::LifeSample>,
    /// By placement handle: pages of the host programmed, and pages moved by GC out of its blocks. Empty without handles.
    pub handles: Vec<[u64; 2]>,
}

/// What an observer watches. It gets nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watches {
    /// [`Observer::arrived`].
    pub arrivals: bool,
    /// [`Observer::completed`].
    pub completions: bool,
    /// [`Observer::sample`].
    pub samples: bool,
    /// [`Observer::leg`]. It closes all shortcuts, because each leg needs an event of its own.
    pub legs: bool,
}

impl Watches {
    /// Nothing.
    pub const NOTHING: Watches = Watches { arrivals: false, completions: false, samples: false, legs: false };
    /// All there is.
    pub const ALL: Watches = Watches { arrivals: true, completions: true, samples: true, legs: true };
    /// Arrivals of requests.
    pub const ARRIVALS: Watches = Watches { arrivals: true, ..Watches::NOTHING };
    /// Completions of requests.
    pub const COMPLETIONS: Watches = Watches { completions: true, ..Watches::NOTHING };
    /// Samples.
    pub const SAMPLES: Watches = Watches { samples: true, ..Watches::NOTHING };
    /// Legs.
    pub const LEGS: Watches = Watches { legs: true, ..Watches::NOTHING };

    /// This set if `wanted`, else nothing.
    #[must_use]
    pub fn when(self, wanted: bool) -> Watches {
        if wanted { self } else { Watches::NOTHING }
    }
}

/// The union: what an observer that consists of two watches.
impl std::ops::BitOr for Watches {
    type Output = Watches;

    fn bitor(self, other: Watches) -> Watches {
        Watches {
            arrivals: self.arrivals || other.arrivals,
            completions: self.completions || other.completions,
            samples: self.samples || other.samples,
            legs: self.legs || other.legs,
        }
    }
}

/// Callbacks for an observer. They cannot change the run. A device may go to another thread, and its observer with it.
pub trait Observer: Send {
    /// What it watches, asked when it is set. The less it is, the more shortcuts stay open.
    fn watches(&self) -> Watches {
        Watches::ALL
    }
    /// A request has arrived. Requests are numbered in this order, including trims.
    fn arrived(&mut self, _number: u64, _request: &Request) {}
    /// A request has completed, measured or not; includes trims.
    fn completed(&mut self, _request: &Completed) {}
    /// A leg: transfers are reported when they start, array legs when they end or are suspended.
    fn leg(&mut self, _leg: &LegRecord) {}
    /// Time of the next [`Sample`]. Called when the observer is set and after each sample, which must be before. A time that is not
    /// after the one at which the observer was set stands for that of the next event.
    fn sample_at(&self) -> Nanos {
        Nanos::NEVER
    }
    /// Whether samples show each die. Like legs, this closes all shortcuts.
    fn samples_dies(&self) -> bool {
        false
    }
    /// The clock is about to move to `to`, which is not before [`Observer::sample_at`]: the samples up to then follow. Which times
    /// the clock takes depends on shortcuts.
    fn clock_moves(&mut self, _to: Nanos) {}
    /// The clock is about to reach or pass [`Observer::sample_at`].
    fn sample(&mut self, _sample: &Sample) {}
}

/// Holds an observer and the data that only it needs. The clone of a device has no observer.
pub(crate) struct Slot {
    pub(crate) observer: Option<Box<dyn Observer>>,
    pub(crate) watches: Watches,
    /// When it was set.
    pub(crate) since: Nanos,
    /// Time of its next sample.
    pub(crate) sample_at: Nanos,
    /// By unit: start of the array's current uninterrupted run.
    pub(crate) running_since: Vec<Nanos>,
    /// By operation: index of its request, which may complete before the operation does.
    pub(crate) numbers: Vec<u64>,
}

impl Default for Slot {
    fn default() -> Self {
        Slot {
            observer: None,
            watches: Watches::NOTHING,
            since: Nanos::ZERO,
            sample_at: Nanos::NEVER,
            running_since: Vec::new(),
            numbers: Vec::new(),
        }
    }
}

impl Clone for Slot {
    fn clone(&self) -> Self {
        Slot::default()
    }
}
