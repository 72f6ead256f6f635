//! Reads that may be repeated, in flight: what `engine/features/retry` keeps of an operation.

use crate::device::pages::MAX_PLANES;
use crate::engine::kernel::tables::Blank;
use crate::units::{Nanos, OpId, Ppn};

/// A page of the host on a device that repeats reads (`engine/features/retry`).
#[derive(Clone, Debug)]
pub(in crate::engine) struct Again {
    /// Whether its errors are known.
    pub(in crate::engine) seen: bool,
    /// The page with these errors, and since when it has its content.
    pub(in crate::engine) page: Ppn,
    pub(in crate::engine) born: (u32, Nanos),
    pub(in crate::engine) errors: u32,
    /// Retries, and those that are left if each queues for the die.
    pub(in crate::engine) steps: u16,
    pub(in crate::engine) left: u16,
    /// Time to decode an attempt.
    pub(in crate::engine) decode: Nanos,
    /// When its errors were looked up, and the sums of its waits and transfers then.
    pub(in crate::engine) since: Nanos,
    pub(in crate::engine) waits: u64,
    pub(in crate::engine) bus: u64,
    /// Array and bus time of its first attempt.
    pub(in crate::engine) first: [u64; 2],
    /// Whether the attempt that queues for the die or is in service is not the first.
    pub(in crate::engine) repeated: bool,
    /// The operation of its command, if another unit leads that: both are one read.
    pub(in crate::engine) leader: OpId,
}

/// A page of a command that is read again.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct Failing {
    /// Its operation, if it is the host's.
    pub(in crate::engine) op: OpId,
    pub(in crate::engine) page: Ppn,
    /// Retries whose data has not left the die, and whose array read has not begun.
    pub(in crate::engine) left: u16,
    pub(in crate::engine) unread: u16,
    /// Time to decode an attempt, and when the last one is decoded.
    pub(in crate::engine) decode: Nanos,
    pub(in crate::engine) decoded_at: Nanos,
    /// Bus time of its data.
    pub(in crate::engine) burst: Nanos,
}

/// How far a read command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Phase {
    /// In its first attempt.
    First,
    /// In retries, one after the other.
    Steps,
    /// In retries that overlap.
    Piped,
    /// In the decoder, in its die.
    Last,
}

/// What overlapping retries occupy.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct Pipe {
    /// The data that leaves next is that of the first attempt, which takes so long.
    pub(in crate::engine) first: bool,
    pub(in crate::engine) burst: Nanos,
    /// The array reads; its data waits for the register; the bus is used or asked for: by the command of a retry.
    pub(in crate::engine) reading: bool,
    pub(in crate::engine) ready: bool,
    pub(in crate::engine) sending: bool,
    pub(in crate::engine) setting: bool,
    /// When the bus was asked for.
    pub(in crate::engine) asked: Nanos,
}

impl Pipe {
    pub(in crate::engine) const NONE: Self = Pipe {
        first: false,
        burst: Nanos::ZERO,
        reading: false,
        ready: false,
        sending: false,
        setting: false,
        asked: Nanos::ZERO,
    };
}

/// The retries of a read command.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct Sequence {
    pub(in crate::engine) phase: Phase,
    /// Whether the errors of its pages are known, since when, and the time to decode them all.
    pub(in crate::engine) seen: bool,
    pub(in crate::engine) since: Nanos,
    pub(in crate::engine) decode: Nanos,
    /// The page that is read again, and all those that are.
    pub(in crate::engine) at: u8,
    count: u8,
    failing: [Failing; MAX_PLANES],
    pub(in crate::engine) pipe: Pipe,
}

impl Sequence {
    pub(in crate::engine) const NONE: Self = Sequence {
        phase: Phase::First,
        seen: false,
        since: Nanos::ZERO,
        decode: Nanos::ZERO,
        at: 0,
        count: 0,
        failing: [Failing {
            op: OpId::NONE,
            page: Ppn::NONE,
            left: 0,
            unread: 0,
            decode: Nanos::ZERO,
            decoded_at: Nanos::ZERO,
            burst: Nanos::ZERO,
        }; MAX_PLANES],
        pipe: Pipe::NONE,
    };

    pub(in crate::engine) fn add(&mut self, failing: Failing) {
        self.failing[usize::from(self.count)] = failing;
        self.count += 1;
    }

    pub(in crate::engine) fn failing(&self) -> &[Failing] {
        &self.failing[..usize::from(self.count)]
    }

    pub(in crate::engine) fn failing_mut(&mut self) -> &mut [Failing] {
        &mut self.failing[..usize::from(self.count)]
    }

    /// The page that is read again.
    pub(in crate::engine) fn current(&self) -> &Failing {
        &self.failing[usize::from(self.at)]
    }

    /// See [`Sequence::current`].
    pub(in crate::engine) fn current_mut(&mut self) -> &mut Failing {
        &mut self.failing[usize::from(self.at)]
    }

    /// Whether no page is left.
    pub(in crate::engine) fn is_over(&self) -> bool {
        self.at == self.count
    }

    /// The page that the array reads next.
    pub(in crate::engine) fn unread(&mut self) -> Option<&mut Failing> {
        self.failing_mut().iter_mut().find(|failing| failing.unread > 0)
    }
}

/// A read on a device that repeats reads: as a page, and as the command that it leads.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Attempts {
    pub(in crate::engine) page: Again,
    pub(in crate::engine) command: Sequence,
}

impl Blank for Attempts {
    fn blank() -> Self {
        let page = Again {
            seen: false,
            page: Ppn::NONE,
            born: (0, Nanos::ZERO),
            errors: 0,
            steps: 0,
            left: 0,
            decode: Nanos::ZERO,
            since: Nanos::ZERO,
            waits: 0,
            bus: 0,
            first: [0; 2],
            repeated: false,
            leader: OpId::NONE,
        };
        Attempts { page, command: Sequence::NONE }
    }
}
