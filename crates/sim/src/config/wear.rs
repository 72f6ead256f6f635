//! Wear, and how many copybacks it allows (`wear.*`).

use serde::{Deserialize, Serialize};

use super::error::refuse;
use super::{Config, ConfigError};
use crate::device::spec::WearSpec;

/// How many times in a row data may be copied inside its plane before it must pass through the controller, by the P/E cycles of
/// the destination block.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged, expecting = "expected a threshold from 0 to 255, pairs [P/E cycles, threshold], or \"model\"")]
pub enum CopybackThresholds {
    /// The same at any wear.
    Fixed(u8),
    /// Pairs of P/E cycles and the threshold from there on.
    Steps(Vec<(u32, u8)>),
    /// Derived from the error model of section `ecc`.
    Named(ThresholdSource),
}

choice! {
    /// Where thresholds come from.
    ThresholdSource("lowercase") {
        /// From the error model: as many copybacks as leave the worst page correctable, with `ecc.margin` to spare.
        Model,
    }
}

choice! {
    /// Pages of one array program.
    Programming("kebab-case") {
        /// One page.
        Page,
        /// The three pages of a TLC word line. The first two wait in the controller's buffer for the third.
        OneShot,
    }
}

section! {
    /// Wear, and how many copybacks it allows.
    Wear {
        /// P/E cycles of every block before the run.
        pe_cycles: u32 = 0,
        /// Consecutive copybacks that data may undergo, by the P/E cycles of the destination block: one number, pairs `[P/E
        /// cycles, threshold]` (the first at 0), or `"model"`. Default: paper D, Fig. 3b.
        copyback_thresholds: CopybackThresholds =
            CopybackThresholds::Steps(vec![(0, 6), (1300, 5), (1500, 4), (3000, 3), (4000, 2), (4300, 1), (4500, 0)]),
        /// P/E cycles at which a block counts as worn out, for lifetime estimates.
        rated_pe_cycles: u32 = 4500,
        /// Pages of one array program.
        programming: Programming = Programming::Page,
    }
}

impl Config {
    /// Pages at the end of each block that hold the copyback counts of its other pages: ceil(5 B x (pages - 1) / page size), for
    /// a four-byte logical page number and a one-byte count. There are none if the initial wear allows no copyback, because wear
    /// only grows.
    pub fn metadata_pages(&self) -> u32 {
        let counts = self.schemes.path.policy_ref().keeps_counts();
        let steps = self.copyback_steps();
        if !counts || crate::device::wear::threshold(&steps, self.wear.pe_cycles) == 0 {
            return 0;
        }
        (5 * (u64::from(self.geometry.pages_per_block) - 1)).div_ceil(self.geometry.page_size.0) as u32
    }

    /// Copyback thresholds as steps, ascending in P/E cycles.
    pub(crate) fn copyback_steps(&self) -> Vec<(u32, u8)> {
        match &self.wear.copyback_thresholds {
            CopybackThresholds::Fixed(threshold) => vec![(0, *threshold)],
            CopybackThresholds::Steps(steps) => steps.clone(),
            CopybackThresholds::Named(ThresholdSource::Model) => {
                crate::device::errors::derived_thresholds(&self.ecc.spec())
            }
        }
    }

    /// Checks copyback thresholds.
    pub(super) fn check_thresholds(&self) -> Result<(), ConfigError> {
        let wear = &self.wear;
        let key = "wear.copyback_thresholds";
        if let CopybackThresholds::Steps(steps) = &wear.copyback_thresholds {
            if !rises(steps.iter().map(|(from, _)| *from)) {
                let help = "list pairs such as [[0, 6], [4500, 0]]";
                return refuse(key, "the P/E cycles of its steps are not ascending".into(), help);
            }
            if steps[0].0 > 0 || steps.windows(2).any(|pair| pair[0].1 < pair[1].1) {
                let message = "a worn block would allow more copybacks than a less worn one".to_string();
                return refuse(key, message, "begin at 0 P/E cycles, with thresholds that do not rise");
            }
        }
        let most = crate::device::errors::MAX_THRESHOLD;
        if let Some((_, threshold)) = self.copyback_steps().iter().find(|(_, threshold)| *threshold > most) {
            return refuse(key, format!("{threshold} exceeds the limit of {most}"), format!("use at most {most}"));
        }
        Ok(())
    }

    /// What one-shot programming rules out.
    pub(super) fn check_one_shot(&self) -> Result<(), ConfigError> {
        if self.wear.programming != Programming::OneShot {
            return Ok(());
        }
        let key = "wear.programming";
        if !self.geometry.pages_per_block.is_multiple_of(3) {
            let message = format!("{} pages per block are not whole word lines of 3", self.geometry.pages_per_block);
            return refuse(key, message, "use geometry.pages_per_block = a multiple of 3, or \"page\"");
        }
        if self.timing.program.types().len() > 1 {
            let message = "a word line takes one program, but timing.program lists times by page type".to_string();
            return refuse(key, message, "give timing.program as one time, or use \"page\"");
        }
        if self.timing.copyback.is_some() {
            let message = "timing.copyback is the time of one page, and a word line has three".to_string();
            return refuse("timing.copyback", message, "leave it out, or use wear.programming = \"page\"");
        }
        if !self.device.power_loss_protection {
            let message = "pages that wait for the rest of their word line are in the controller's buffer".to_string();
            return refuse(key, message, "use device.power_loss_protection = true, or \"page\"");
        }
        Ok(())
    }

    pub(crate) fn wear_spec(&self) -> WearSpec {
        WearSpec {
            pe_cycles: self.wear.pe_cycles,
            thresholds: self.copyback_steps(),
            counted: self.schemes.path.policy_ref().keeps_counts(),
        }
    }
}

/// Whether the P/E cycles of a table's steps ascend, and there is a step.
pub(super) fn rises(steps: impl Iterator<Item = u32>) -> bool {
    let steps: Vec<u32> = steps.collect();
    !steps.is_empty() && steps.windows(2).all(|pair| pair[0] < pair[1])
}
