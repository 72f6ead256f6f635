//! Errors of single requests, for disks that keep data (the crate `ssdlab-disk`).

use serde::Deserialize;

use crate::units::{Bytes, Nanos, Ppm};

section! {
    /// Errors of single requests: at a place from a time on, `{ at = "2s", offset = "1MiB", bytes = "4KiB" }`, or of a share of all
    /// requests, `{ rate = 0.001, seed = 7 }`.
    #[derive(PartialEq)]
    IoErrors {
        /// Time from which the place has errors.
        at: Option<Nanos> = None,
        /// First byte of the place.
        offset: Option<Bytes> = None,
        /// Bytes of the place.
        bytes: Option<Bytes> = None,
        /// Instead of a place: the share of requests that fail, wherever they are.
        rate: Option<Ppm> = None,
        /// What draws those requests.
        seed: Option<u64> = None,
    }
}

/// What an entry says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoErrorsAt {
    /// Requests that touch these bytes at this time or later.
    Place {
        /// The time.
        at: Nanos,
        /// First byte.
        offset: u64,
        /// Bytes, at least one.
        bytes: u64,
    },
    /// A share of all requests.
    Share {
        /// The share.
        rate: Ppm,
        /// What draws them.
        seed: u64,
    },
}

impl IoErrors {
    /// What it says, if it says one of both.
    pub fn place(&self) -> Option<IoErrorsAt> {
        match (self.at, self.offset, self.bytes, self.rate, self.seed) {
            (Some(at), Some(offset), Some(bytes), None, None) if bytes.0 > 0 => {
                Some(IoErrorsAt::Place { at, offset: offset.0, bytes: bytes.0 })
            }
            (None, None, None, Some(rate), seed) => Some(IoErrorsAt::Share { rate, seed: seed.unwrap_or(0) }),
            _ => None,
        }
    }
}
