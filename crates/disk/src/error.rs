//! Errors of requests.

use thiserror::Error;

/// Why a request was refused, or failed. Offsets and lengths are in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DiskError {
    /// The request does not lie on the disk.
    #[error("bytes {offset} to {} do not lie on a disk of {capacity} bytes (use offsets below its capacity)", offset.saturating_add(*bytes))]
    OutOfRange {
        /// First byte.
        offset: u64,
        /// Bytes.
        bytes: u64,
        /// Bytes of the disk.
        capacity: u64,
    },
    /// The request is empty, or not of whole sectors.
    #[error("{bytes} bytes from {offset} on are not whole sectors (use multiples of 512, at least 512 bytes)")]
    Unaligned {
        /// First byte.
        offset: u64,
        /// Bytes.
        bytes: u64,
    },
    /// Too many requests wait for the drive.
    #[error("the drive's queue is full (advance the clock before submitting more)")]
    QueueFull,
    /// A read: the drive cannot return data of these bytes, because a program was interrupted, error correction failed, or
    /// `faults.read_errors` says so.
    #[error("the drive cannot read all of {bytes} bytes from {offset} on")]
    Uncorrectable {
        /// First byte of the request.
        offset: u64,
        /// Bytes of the request.
        bytes: u64,
    },
    /// A write: the drive has kept the old data, because `faults.write_errors` says so.
    #[error("the drive has not written {bytes} bytes from {offset} on, and keeps the old data")]
    WriteFailed {
        /// First byte of the request.
        offset: u64,
        /// Bytes of the request.
        bytes: u64,
    },
}
