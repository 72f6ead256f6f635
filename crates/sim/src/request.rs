//! What a host asks of a device.

use crate::units::Nanos;

/// What a host request asks for.
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
    /// When it arrives; not before the one submitted before it. A closed loop sets it anew.
    pub arrival: Nanos,
    /// What it asks for.
    pub op: RequestOp,
    /// First byte.
    pub offset: u64,
    /// Bytes, at least one.
    pub bytes: u64,
}

/// Bytes of a request that lie together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// First byte.
    pub offset: u64,
    /// Bytes, at least one.
    pub bytes: u64,
}
