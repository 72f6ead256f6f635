//! The records that every reader and generator yields.

/// The operation of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Op {
    /// Read data.
    Read,
    /// Write data.
    Write,
    /// Discard data.
    Trim,
    /// Put earlier writes on flash (flush, sync). Devices without a write cache skip it, and so do readers unless they are asked
    /// for flushes.
    Flush,
    /// Anything else: counted, never simulated.
    Other,
}

/// One request of a trace or a generator, before it is fitted to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Record {
    /// Arrival in nanoseconds since the first record of the trace.
    pub time_ns: u64,
    /// First byte on its volume.
    pub offset: u64,
    /// Length in bytes.
    pub bytes: u64,
    /// Index of the volume (disk, ASU, LUN) in the order of first appearance.
    pub volume: u32,
    /// Operation.
    pub op: Op,
    /// A write that is complete only when it is on flash (force unit access).
    pub fua: bool,
    /// Number of its stream in the order of first appearance, from 1; 0 if the trace names none.
    pub stream: u16,
}

/// Bytes of a request that lie together on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// First byte.
    pub offset: u64,
    /// Length in bytes.
    pub bytes: u64,
}

/// Names of what a request belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Names<'n> {
    /// Its volume, as [`crate::Reader::volumes`] has it.
    pub volume: Option<&'n [u8]>,
    /// Its stream, as [`crate::Reader::streams`] has it.
    pub stream: Option<&'n [u8]>,
}
