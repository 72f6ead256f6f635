//! Faults that a run injects (`faults.*`). Errors of single requests are for disks that keep data (the crate `ssdlab-disk`).

use serde::Deserialize;

use super::error::refuse;
use super::{Config, ConfigError, Destination, Exclusion, FaultyBlock, NocModel, Scope, WriteAck};
use crate::units::{Bytes, Nanos, Ppm};

section! {
    /// Faults that the run injects, and when.
    Faults {
        /// Times of power cuts. Requests in service are lost, the device recovers in no time, and later requests arrive as usual.
        /// The summary reports what was lost. The whole run is checked as with `--check full`.
        power_cut: Vec<Nanos> = Vec::new(),
        /// Chips that fail, such as `[{ chip = 3, at = "2s" }]`; needs `raid.layout`. From then on no page of a failed chip can
        /// be read or programmed: a read of such a page reads the rest of its parity group. Without `chip` the seed draws the
        /// chip; with `within` instead of `at` it draws the time.
        chip_fails: Vec<ChipFails> = Vec::new(),
        /// Pages that are rebuilt at a time. If it is more than 0, a spare chip replaces a failed one at once. The failed chip's
        /// content is computed and programmed there while host requests continue.
        rebuild: u32 = 0,
        /// Reads that fail on a disk that keeps data, such as `[{ at = "2s", offset = "0B", bytes = "4KiB" }]` or
        /// `[{ rate = 0.001, seed = 7 }]`. From `at` on, reads of these bytes report an error until they are written or discarded;
        /// a share of requests is drawn from `seed`. Simulations without data reject the key.
        [since "0.1.4"]
        read_errors: Vec<IoErrors> = Vec::new(),
        /// Writes that fail on a disk that keeps data, given like `read_errors`: the first one at `at` or later that touches the
        /// bytes, or a share of all. A failed write takes its time, reports an error and leaves the old data.
        [since "0.1.4"]
        write_errors: Vec<IoErrors> = Vec::new(),
        /// Blocks that fail, such as `[{ plane = 0, block = 3, erases = 2 }]`; needs `life.mode = "wear"`. The erase with this number
        /// fails. With `page = 5`, the program of page 5 after so many erases fails.
        [since "0.1.3"]
        blocks: Vec<FaultyBlock> = Vec::new(),
    }
}

section! {
    /// A chip that fails.
    ChipFails {
        /// Index of the chip; by default drawn from the seed.
        chip: Option<u32> = None,
        /// Time of the failure, before any other event of that time. A time after the last event of the run has no effect.
        at: Option<Nanos> = None,
        /// Instead of `at`: the failure's time is drawn from the seed, uniform from 0 to this one.
        within: Option<Nanos> = None,
    }
}

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
    /// What power cuts rule out.
    pub(super) fn check_power_cuts(&self) -> Result<(), ConfigError> {
        if self.faults.power_cut.is_empty() {
            return Ok(());
        }
        if self.noc.model != NocModel::None {
            let message = "recovery of an interconnect's queues is not modelled".to_string();
            return refuse("faults.power_cut", message, "use noc.model = \"none\", or leave it out");
        }
        let (streams, reserve) = (self.gc_streams(), self.reserve());
        if !self.device.power_loss_protection && reserve <= streams {
            let message = format!(
                "a power cut tears pages and undoes overwrites, so a victim may need up to {} more pages than at the start of its collection: one block more than its {streams} write points, but {reserve} reserved",
                self.geometry.pages_per_block
            );
            let help = format!("use {} or more, or device.power_loss_protection = true", streams + 1);
            return refuse("gc.reserve", message, help);
        }
        Ok(())
    }

    /// Checks chips that fail.
    pub(super) fn check_chip_failures(&self, chips: u32) -> Result<(), ConfigError> {
        for fails in &self.faults.chip_fails {
            if fails.at.is_some() == fails.within.is_some() {
                let message = "a chip fails either at a given time or at one drawn from the seed".to_string();
                return refuse("faults.chip_fails", message, "say at = \"2s\", or within = \"10s\"");
            }
            if let Some(chip) = fails.chip.filter(|chip| *chip >= chips) {
                let message = format!("there is no chip {chip} among {chips} chips");
                return refuse("faults.chip_fails", message, format!("use 0 to {}, or leave it out", chips - 1));
            }
        }
        if self.device.exclusion == Exclusion::Channel {
            let message = "operations of a failed chip and of other chips would share a queue".to_string();
            return refuse("device.exclusion", message, "use \"die\" or \"chip\"");
        }
        if self.device.write_ack == WriteAck::AfterTransfer {
            let message = "an acknowledged write might be only in a chip's register, and the chip may fail".to_string();
            return refuse("device.write_ack", message, "use \"after_program\"");
        }
        if !self.schemes.collector.policy_ref().survives_chip_failures() {
            let message = "chip failures are modelled for plain collectors only";
            return refuse("schemes.collector", message.to_string(), "use \"serial\" or \"queued\"");
        }
        if !self.schemes.path.policy_ref().survives_chip_failures() {
            let message = "chip failures are modelled for plain paths only".to_string();
            return refuse("schemes.path", message, "use \"external\" or \"copyback\"");
        }
        if self.gc.destination != Destination::Plane || self.gc.scope == Scope::Device {
            let message = "free pages of a failed chip would be counted, and pages might be moved there".to_string();
            let key = if self.gc.scope == Scope::Device { "gc.scope" } else { "gc.destination" };
            return refuse(key, message, "use \"plane\"");
        }
        Ok(())
    }

    /// Rejects errors of single requests that are incomplete.
    pub(super) fn check_io_errors(&self) -> Result<(), ConfigError> {
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

    /// Rejects errors of single requests where no data is kept that they could concern: in every device that is built. A disk takes
    /// them out of its configuration before.
    pub(crate) fn check_no_io_errors(&self) -> Result<(), ConfigError> {
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
