//! Requests of a host to a device.

use crate::units::Nanos;

/// Kind of a host request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestOp {
    /// Read data.
    Read,
    /// Write data.
    Write,
    /// Discard the whole pages inside the range.
    Trim,
    /// Put all earlier writes on flash: the write cache's only, so a device without one takes none ([`crate::Ssd::flushes`]).
    Flush,
}

/// A host request.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Time of arrival, not before that of the previous request. A closed loop replaces it.
    pub arrival: Nanos,
    /// Kind of request.
    pub op: RequestOp,
    /// First byte.
    pub offset: u64,
    /// Bytes, at least one (a flush: any number).
    pub bytes: u64,
}

/// What a request asks for beside its data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// A write-back cache acknowledges a write when it is on flash (force unit access). Other devices do as `device.write_ack` says.
    pub fua: bool,
    /// Index of its queue (`nvme.queues`), 0 without queues.
    pub queue: u8,
    /// Index of its tenant: its queue, unless tenants have names of their own ([`crate::Ssd::set_tenants`]).
    pub tenant: u8,
    /// The placement handle that its pages go to (`fdp.handles`), where neither address nor time decides; 0 without handles.
    pub handle: u8,
    /// It has no handle of its own, and `fdp.unknown` names the one that takes it.
    pub no_handle: bool,
}

/// Think time of a closed loop, as fio's `thinktime` has it (`handle_thinktime` in its `backend.c`): after every so many completed
/// requests nothing arrives until all that are outstanding have completed, and then for some time. Requests that complete while the
/// loop drains count. If they make the next pause due, one request alone goes before it, so a loop that pauses after each request goes
/// on with one at a time, whatever its depth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Think {
    /// How long a pause is.
    pub time: Nanos,
    /// Completed requests from one pause to the next, at least 1.
    pub after: u32,
}

/// How many requests of a tenant are outstanding, those that have arrived and not completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outstanding {
    /// This many, as long as there are requests: a closed loop. The next one arrives when one completes.
    Kept(u32),
    /// At most this many. A request arrives at its time, or, if as many are outstanding then, when one completes.
    AtMost(u32),
}

/// A contiguous part of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// First byte.
    pub offset: u64,
    /// Bytes, at least one.
    pub bytes: u64,
}
