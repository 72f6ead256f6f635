//! Results of a power cut.

use ssdlab_sim::report::power::PowerCut;

use crate::Ticket;

/// Why the newest data of a sector is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The write had not completed.
    InFlight,
    /// The write had completed, but its data was only in the controller's memory, which lost its power.
    Volatile,
    /// The write had completed, and the cut interrupted a program of the page.
    Torn,
    /// The write had completed and was on flash, but a newer write of the page was in flight: the drive had given the old page up,
    /// and erased it.
    Overwritten,
    /// A completed trim is undone: older data is back.
    TrimUndone,
}

/// A range of sectors whose newest data is gone. Reads return older data, zeros, or an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub bytes: u64,
    /// The newest request whose effect is gone; of those that had completed, if there is one. None where nothing was written before,
    /// in a torn page.
    pub ticket: Option<Ticket>,
    /// Why it is gone.
    pub reason: Reason,
    /// Whether reads report [`crate::DiskError::Uncorrectable`] from now on: no older version of a torn page was left.
    pub unreadable: bool,
}

/// What a power cut has left.
#[derive(Clone, Debug)]
pub struct Survivors {
    /// Sectors that do not hold what was last written there, in order, with adjacent ones of one reason and request together.
    pub lost: Vec<Lost>,
    /// Requests that will never complete, in order of submission.
    pub aborted: Vec<Ticket>,
    /// The simulator's counts, by flash page.
    pub report: PowerCut,
}

impl Survivors {
    /// Ranges of data that the drive had acknowledged, and lost.
    pub fn broken_promises(&self) -> impl Iterator<Item = &Lost> {
        self.lost.iter().filter(|lost| lost.reason != Reason::InFlight)
    }
}
