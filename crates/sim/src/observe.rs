//! Watching a run from outside.

use crate::blame::Blame;
use crate::device::timing::LegKind;
use crate::device::transaction::{Class, Verb};
use crate::policy::MAX_PLANES;
use crate::report::FlashOps;
use crate::request::{Request, RequestOp};
use crate::units::{Lpn, Nanos, PlaneId, Ppn};

/// A completed host request.
#[derive(Clone, Debug)]
pub struct Completed {
    /// Its number in order of submission, from 0.
    pub request: u64,
    /// Whether it counts: requests before the end of a warm-up don't.
    pub measured: bool,
    /// When it arrived.
    pub arrival: Nanos,
    /// What it asked for.
    pub op: RequestOp,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub bytes: u64,
    /// First service of the page that finished last; none if it had none of its own (its chip had failed, and its parity holds it).
    pub start: Option<Nanos>,
    /// When its last page completed.
    pub completion: Nanos,
    /// Pages that ECC could not correct: their data was reported lost, and not delivered.
    pub uncorrectable: u32,
    /// Where the time of the page that finished last went, the wait outside the device included.
    pub blame: Blame,
}

/// What a leg occupied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// The arrays of planes.
    Planes,
    /// The bus of a channel.
    Channel(u32),
    /// The link from the host (`true`) or to it.
    HostLink(bool),
    /// The interconnect port of a channel.
    Port(u32),
}

/// A stretch of an operation on one resource: it began, it ended, nothing came between.
#[derive(Clone, Copy, Debug)]
pub struct LegRecord {
    /// When it began.
    pub start: Nanos,
    /// When it ended, or will end.
    pub end: Nanos,
    /// What it occupied.
    pub resource: Resource,
    /// The planes that take part; none beyond those.
    pub planes: [PlaneId; MAX_PLANES],
    /// Who asked.
    pub class: Class,
    /// What the operation does.
    pub verb: Verb,
    /// In the array or on a bus.
    pub kind: LegKind,
    /// The number of the host request, or of the collection (unique, rising, with gaps).
    pub number: u64,
    /// Logical page of the first page, if it has one still.
    pub lpn: Lpn,
    /// The first page read, programmed or copied to, or the first of the block erased.
    pub ppn: Ppn,
}

impl LegRecord {
    /// The planes that take part.
    pub fn planes(&self) -> impl Iterator<Item = PlaneId> {
        self.planes.into_iter().take_while(|plane| plane.is_some())
    }
}

/// The state of a device at a time, and what it has counted since it was built, warm-up included.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The time: everything before it has happened, nothing at it.
    pub at: Nanos,
    /// Flash operations begun.
    pub flash: FlashOps,
    /// Collections completed.
    pub collections: u64,
    /// Requests that have arrived and not completed.
    pub pending: u64,
    /// Unprogrammed pages of the whole device.
    pub free_pages: u64,
}

/// What can be watched. It sees and never changes anything.
pub trait Observer {
    /// A request has arrived; requests are numbered in this order, trims included.
    fn arrived(&mut self, _number: u64, _request: &Request) {}
    /// A request has completed, measured or not; trims too.
    fn completed(&mut self, _request: &Completed) {}
    /// A leg: transfers are told when they begin, array legs when they end or are suspended.
    fn leg(&mut self, _leg: &LegRecord) {}
    /// When to be shown a [`Sample`] next; asked for when the observer is set and after each one.
    fn sample_at(&self) -> Nanos {
        Nanos::NEVER
    }
    /// The clock is about to move to or past [`Observer::sample_at`].
    fn sample(&mut self, _sample: &Sample) {}
}

/// The place of an observer, with what only it needs. A copy of a device is not watched.
pub(crate) struct Slot {
    pub(crate) observer: Option<Box<dyn Observer>>,
    /// When it wants its next sample.
    pub(crate) sample_at: Nanos,
    /// By unit: since when the array runs without interruption.
    pub(crate) running_since: Vec<Nanos>,
    /// By operation: the number of its request, which may complete before the operation does.
    pub(crate) numbers: Vec<u64>,
}

impl Default for Slot {
    fn default() -> Self {
        Slot { observer: None, sample_at: Nanos::NEVER, running_since: Vec::new(), numbers: Vec::new() }
    }
}

impl Clone for Slot {
    fn clone(&self) -> Self {
        Slot::default()
    }
}
