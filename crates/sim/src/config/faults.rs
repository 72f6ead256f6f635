//! Errors of single requests, for disks that keep data (the crate `ssdlab-disk`).

use serde::Deserialize;

use super::{Config, ConfigError};
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

impl Config {
    /// Rejects errors of single requests that are incomplete.
    ///
    /// # Errors
    /// The first such entry.
    pub fn check_io_errors(&self) -> Result<(), ConfigError> {
        for (key, list) in [("read_errors", &self.faults.read_errors), ("write_errors", &self.faults.write_errors)] {
            if let Some(entry) = list.iter().position(|entry| entry.place().is_none()) {
                return Err(ConfigError {
                    key: format!("faults.{key}"),
                    message: format!("entry {} names neither a place nor a share of requests", entry + 1),
                    help: "say { at = \"2s\", offset = \"0B\", bytes = \"4KiB\" }, or { rate = 0.001, seed = 7 }"
                        .to_string(),
                });
            }
        }
        Ok(())
    }

    /// Rejects errors of single requests where no data is kept that they could concern.
    pub(super) fn check_no_io_errors(&self) -> Result<(), ConfigError> {
        for (key, list) in [("read_errors", &self.faults.read_errors), ("write_errors", &self.faults.write_errors)] {
            if !list.is_empty() {
                return Err(ConfigError {
                    key: format!("faults.{key}"),
                    message: "a simulation without data has no request that could fail".to_string(),
                    help: "leave it out, or use a disk that keeps data (the crate ssdlab-disk)".to_string(),
                });
            }
        }
        Ok(())
    }
}
