//! The controller's buffer for GC (`staging.*`).

use serde::Deserialize;

use super::error::refuse;
use super::{Config, ConfigError, RaidLayout};
use crate::policy::BackTo;
use crate::schemes::Place;

section! {
    /// The controller's buffer. Collectors may leave pages there and write them back to flash later.
    Staging {
        /// Pages that the buffer holds; used by some collectors only. When it is full, pages move in flash.
        slots: u32 = 0,
    }
}

impl Config {
    /// Checks the size of the buffer.
    pub(super) fn check_staging(&self) -> Result<(), ConfigError> {
        let pages = self.geometry.pages();
        if u64::from(self.staging.slots) > pages {
            let message = format!("a buffer of {} pages, more than the {pages} pages of flash", self.staging.slots);
            return refuse("staging.slots", message, "use fewer slots");
        }
        Ok(())
    }

    /// Whether pages that a collector leaves in the buffer can return to flash.
    pub(super) fn check_write_backs(&self) -> Result<(), ConfigError> {
        let Some(plan) = self.schemes.collector.policy_ref().writes_back() else { return Ok(()) };
        if self.staging.slots > 0 && self.raid.layout != RaidLayout::None && plan.to == BackTo::IdleChips {
            let message =
                "a buffered page that went to another chip could meet another page of its parity group".to_string();
            return refuse(
                "staging.slots",
                message,
                "use 0, raid.layout = \"none\", or to = \"own_plane\" of idle-chip",
            );
        }
        if let (BackTo::IdleChips, 1.., Place::Static(order)) = (plan.to, self.staging.slots, self.schemes.place) {
            let message = format!(
                "place = \"{}\" fixes the plane of every page, but buffered pages go to any idle chip",
                Place::Static(order)
            );
            let help = "use \"dynamic\" or \"round-robin\", staging.slots = 0, or to = \"own_plane\" of idle-chip";
            return refuse("schemes.place", message, help);
        }
        if plan.queue_empty && !plan.erase_first {
            let message =
                "a collection would wait for an empty host queue, and writes in it may wait for the collection"
                    .to_string();
            return refuse(
                "schemes.collector",
                message,
                "use writeback = \"chip_idle\" with erase = \"after_writeback\"",
            );
        }
        Ok(())
    }

    /// Whether GC leaves pages in the controller's buffer.
    pub(crate) fn stages(&self) -> bool {
        self.staging.slots > 0 && self.schemes.collector.policy_ref().writes_back().is_some()
    }
}
