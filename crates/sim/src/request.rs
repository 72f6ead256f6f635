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
    /// Bytes, at least one.
    pub bytes: u64,
}

/// A contiguous part of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// First byte.
    pub offset: u64,
    /// Bytes, at least one.
    pub bytes: u64,
}
