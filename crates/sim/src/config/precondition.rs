//! State of the device before the first request (`precondition.*`).

use serde::{Deserialize, Serialize};

use super::error::refuse;
use super::{Config, ConfigError};
use crate::units::Ppm;

choice! {
    /// State of the device before the first request.
    PreconditionMode("lowercase") {
        /// Empty.
        None,
        /// Built directly: shares `valid` and `invalid` of every plane's pages.
        Aged,
        /// The whole logical space is written once in ascending order.
        Sequential,
        /// Like `sequential`, followed by uniformly random page writes of `overwrite` times the logical space.
        Random,
    }
}

section! {
    /// State of the device before the first request. Preconditioning takes no time, and only its wear is measured.
    Precondition {
        /// How the device is filled.
        mode: PreconditionMode = PreconditionMode::None,
        /// `aged`: share of each plane's pages that hold valid data.
        valid: Ppm = Ppm(840_000),
        /// `aged`: share of each plane's pages that hold invalid data.
        invalid: Ppm = Ppm(100_000),
        /// `random`: page writes as a multiple of the logical space.
        overwrite: f64 = 1.0,
    }
}

impl Config {
    /// Whether what is filled at the start fits.
    pub(super) fn check_precondition(&self) -> Result<(), ConfigError> {
        let (blocks, per_block) = (u64::from(self.geometry.blocks_per_plane), u64::from(self.geometry.pages_per_block));
        let (pages, exported, reserve) = (blocks * per_block, self.exported_per_plane(), u64::from(self.reserve()));
        let data = per_block - u64::from(self.metadata_pages());
        if self.precondition.mode == PreconditionMode::Aged {
            let share = |ppm: Ppm| (pages * u64::from(ppm.0) + Ppm::ONE / 2) / Ppm::ONE;
            let (valid, invalid) = (share(self.precondition.valid), share(self.precondition.invalid));
            if valid > exported {
                let message = format!("{valid} valid pages per plane, but only {exported} are exported");
                return refuse(
                    "precondition.valid",
                    message,
                    format!("use at most {}", (exported * 1_000_000 / pages) as f64 / 1e6),
                );
            }
            let room = (blocks - reserve - u64::from(self.blocks_apart())) * data;
            if valid + invalid > room {
                let message = format!(
                    "{valid} valid and {invalid} invalid pages per plane, but the reserve leaves {room} of {pages}"
                );
                return refuse(
                    "precondition.invalid",
                    message,
                    "use a smaller share, so that the reserve stays erased",
                );
            }
        }
        let overwrite = self.precondition.overwrite;
        if !(0.0..=1e6).contains(&overwrite) {
            return refuse(
                "precondition.overwrite",
                format!("{overwrite} is not a number from 0 to 1000000"),
                "use for example 1.0",
            );
        }
        Ok(())
    }
}
