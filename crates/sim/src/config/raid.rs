//! Parity across chips (`raid.*`).

use serde::{Deserialize, Serialize};

use super::error::{LONGEST, refuse};
use super::{Config, ConfigError, Destination, Errors, MappingUnit, Programming};
use crate::schemes::Place;
use crate::units::Nanos;

choice! {
    /// Which chips form a parity group.
    RaidLayout("lowercase") {
        /// No parity.
        None,
        /// Neighbouring chips: group = chip / `raid.group`.
        Traditional,
        /// Chips as far apart as possible (longest code interval): group = chip mod (chips / `raid.group`).
        Lci,
    }
}

choice! {
    /// How chips are numbered. Layouts count numbers, and host pages follow them.
    Numbering("lowercase") {
        /// Over the channels: neighbours are on neighbouring channels.
        Across,
        /// Channel by channel: neighbours share a channel.
        Channel,
    }
}

choice! {
    /// How an update computes its parity.
    WriteMode("lowercase") {
        /// Read-modify-write: read the old chunks and the old parity.
        Rmw,
        /// Reconstruct-write: read the chunks that are not written.
        Rcw,
        /// Whichever reads less: read-modify-write for up to (`raid.group` - 2) / 2 chunks.
        Auto,
    }
}

section! {
    /// Chip-level RAID-5: every chip holds one page of every stripe, and one page in `raid.group` is parity.
    Raid {
        /// Which chips form a parity group.
        layout: RaidLayout = RaidLayout::None,
        /// How chips are numbered for it. With `"across"`, an LCI group of as many channels as groups shares one channel; with
        /// `"channel"`, it has one chip of each.
        [since "0.1.3"]
        numbering: Numbering = Numbering::Across,
        /// Chips of a parity group, including its parity chunk.
        group: u32 = 8,
        /// How long a group that is written for the first time waits for its remaining chunks. Its parity is then computed
        /// without them.
        encode_timeout: Nanos = Nanos(10_000_000),
        /// How an update computes its parity.
        write_mode: WriteMode = WriteMode::Rmw,
    }
}

impl Config {
    /// Checks parity groups, and faults that need them.
    pub(super) fn check_raid(&self) -> Result<(), ConfigError> {
        let (raid, g) = (&self.raid, &self.geometry);
        let chips = g.channels * g.chips_per_channel;
        if self.faults.rebuild > 0 && self.faults.chip_fails.is_empty() {
            let message = "no chip fails, so none can be rebuilt".to_string();
            return refuse("faults.rebuild", message, "leave it out, or use faults.chip_fails");
        }
        if raid.layout == RaidLayout::None {
            return self.check_without_parity();
        }
        let ecc = &self.ecc;
        if ecc.decode > Nanos::ZERO || self.wear.programming == Programming::OneShot {
            let message = "decode time and one-shot programming are not simulated with parity groups".to_string();
            return refuse("raid.layout", message, "use \"none\", or leave ecc.decode and wear.programming out");
        }
        if ecc.errors == Errors::Model && !(self.faults.chip_fails.is_empty() && self.faults.power_cut.is_empty()) {
            let message =
                "losses by a fault and losses by bit errors in one parity group are not distinguished".to_string();
            return refuse("ecc.errors", message, "use \"none\", or leave out faults.chip_fails and faults.power_cut");
        }
        if !(2..=64).contains(&raid.group) || !chips.is_multiple_of(raid.group) {
            let fits: Vec<String> =
                (2..=chips.min(64)).filter(|n| chips.is_multiple_of(*n)).map(|n| n.to_string()).collect();
            let message = format!(
                "groups of {} chips do not divide {chips} chips ({} channels x {}) into groups of 2 to 64",
                raid.group, g.channels, g.chips_per_channel
            );
            let help = if fits.is_empty() { "use more chips".into() } else { format!("use {}", fits.join(", ")) };
            return refuse("raid.group", message, help);
        }
        self.check_beside_parity()?;
        if raid.encode_timeout.0 > LONGEST.0 {
            let message = format!("{} is longer than an hour", raid.encode_timeout);
            return refuse("raid.encode_timeout", message, "check the unit");
        }
        if self.faults.chip_fails.is_empty() { Ok(()) } else { self.check_chip_failures(chips) }
    }

    /// What needs parity groups, where there are none.
    fn check_without_parity(&self) -> Result<(), ConfigError> {
        if !self.faults.chip_fails.is_empty() {
            let message = "without parity groups, pages of a failed chip cannot be reconstructed".to_string();
            return refuse("faults.chip_fails", message, "set raid.layout to \"lci\" or \"traditional\"");
        }
        if self.schemes.route.redirect().is_some() {
            let message = format!(
                "{} reads around a chip through its parity groups, and there are none",
                self.schemes.route.name()
            );
            return refuse(
                "schemes.route",
                message,
                "set raid.layout to \"lci\" or \"traditional\", or use \"direct\"",
            );
        }
        Ok(())
    }

    /// What parity groups rule out.
    fn check_beside_parity(&self) -> Result<(), ConfigError> {
        if self.noc.exists() && !self.faults.chip_fails.is_empty() {
            let message =
                "pages of a failed chip that are on their way across an interconnect are not modelled".to_string();
            return refuse("faults.chip_fails", message, "leave it out, or use noc.model = \"none\"");
        }
        if self.device.mapping_unit == MappingUnit::SuperPage {
            let message = "chunks of parity groups are pages, not super pages".to_string();
            return refuse("device.mapping_unit", message, "use \"page\", or raid.layout = \"none\"");
        }
        if self.schemes.place == Place::Dynamic {
            let message = "dynamic placement sends a page to any idle die, but the layout fixes its chip".to_string();
            return refuse("schemes.place", message, "use a static order, of which dies and planes count");
        }
        if self.gc.destination == Destination::Any {
            let message = "a page moved to another chip may meet another page of its stripe there".to_string();
            return refuse("gc.destination", message, "use \"plane\"");
        }
        if self.staging.slots > 0 {
            let others = [
                (self.ecc.errors == Errors::Model, "ecc.errors", "bit errors"),
                (!self.faults.chip_fails.is_empty(), "faults.chip_fails", "failed chips"),
                (!self.faults.power_cut.is_empty(), "faults.power_cut", "power cuts"),
            ];
            if let Some((_, key, what)) = others.into_iter().find(|(used, ..)| *used) {
                let message = format!(
                    "{what} are not simulated where chunks of parity groups may wait in the controller's buffer"
                );
                return refuse(key, message, "leave it out, or use staging.slots = 0");
            }
        }
        Ok(())
    }
}
