//! Watching a run from outside.

use crate::blame::Blame;
use crate::engine::RequestOp;
use crate::units::Nanos;

/// A completed host request.
#[derive(Clone, Debug)]
pub struct Completed {
    /// Its number in order of submission, from 0.
    pub request: u64,
    /// When it arrived.
    pub arrival: Nanos,
    /// What it asked for.
    pub op: RequestOp,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub bytes: u64,
    /// First service of the page that finished last.
    pub start: Nanos,
    /// When its last page completed.
    pub completion: Nanos,
    /// Where the time of the page that finished last went, the wait outside the device included.
    pub blame: Blame,
}

/// What can be watched. It sees and never changes anything.
pub trait Observer {
    /// A measured read or write has completed.
    fn completed(&mut self, request: &Completed);
}

/// The place of an observer. A copy of a device is not watched.
#[derive(Default)]
pub(crate) struct Slot(pub(crate) Option<Box<dyn Observer>>);

impl Clone for Slot {
    fn clone(&self) -> Self {
        Slot(None)
    }
}
