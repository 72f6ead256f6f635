//! Rules that span sections: their order, and what schemes need of a configuration. Those of a section stand beside its keys.

use super::error::refuse;
use super::{Config, ConfigError, Destination, GcTime, MappingUnit, ReclaimUnit, Scope};
use crate::policy::{Need, Requirement};
use crate::schemes::Place;

impl Config {
    /// Checks every rule. Their order says which of several broken ones a configuration is rejected by.
    ///
    /// # Errors
    /// The first broken rule, with its arithmetic and a remedy.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.check_geometry()?;
        self.check_times()?;
        self.check_program_errors()?;
        self.check_thresholds()?;
        self.check_one_shot()?;
        self.check_ecc()?;
        self.check_pages()?;
        self.check_fdp()?;
        self.check_slc()?;
        self.check_life()?;
        self.check_space()?;
        self.check_threshold()?;
        self.check_precondition()?;
        self.check_noc()?;
        self.check_schemes()?;
        self.check_raid()?;
        self.check_units()?;
        self.check_cache()?;
        self.check_io_errors()?;
        self.check_nvme()
    }

    /// Rejects settings that make no sense where requests take time, or where they are only counted, in no time
    /// ([`Ssd::apply`](crate::Ssd::apply)).
    ///
    /// # Errors
    /// The first broken rule.
    pub fn check_mode(&self, count_only: bool) -> Result<(), ConfigError> {
        if !count_only {
            if self.fdp.unit == ReclaimUnit::Superblock {
                let message = "how a timed collection moves pages across dies is not decided for blocks of all planes"
                    .to_string();
                return refuse("fdp.unit", message, "use \"block\", or --count-only");
            }
            return Ok(());
        }
        if self.cache.exists() && !self.units().exist() {
            let message = "the write cache needs simulated time, but requests are only counted".to_string();
            return refuse("cache.size", message, "leave it out, or omit --count-only");
        }
        if self.nvme.arbitrates() {
            let message = "queues need simulated time, but requests are only counted".to_string();
            return refuse("nvme.arbitration", message, "leave it out, or omit --count-only");
        }
        let trigger = &self.schemes.trigger;
        if trigger.policy_ref().patience().is_some() {
            let message = format!("{} needs simulated time, but requests are only counted", trigger.name());
            return refuse("schemes.trigger", message, "use \"threshold\", or omit --count-only");
        }
        Ok(())
    }

    /// Whether the configuration meets a scheme's requirement.
    fn has(&self, what: Requirement) -> bool {
        match what {
            Requirement::OtherKnobs => false,
            Requirement::MovesInPlane => self.gc.destination == Destination::Plane,
            Requirement::PlanesPerDie(planes) => self.geometry.planes_per_die == planes,
            Requirement::PlaneScope => self.gc.scope == Scope::Plane,
            Requirement::StaticPlaces => self.staging.slots == 0 || self.schemes.place != Place::Dynamic,
            Requirement::TimedCollections => self.gc.time == GcTime::Real,
            Requirement::SoundChips => self.faults.chip_fails.is_empty(),
            Requirement::MoreThanThreshold(free) => self.free_pages(&free) > self.free_pages(&self.gc.threshold),
            Requirement::SinglePages => self.device.mapping_unit != MappingUnit::SuperPage,
            Requirement::Interconnect => self.noc.exists(),
            Requirement::SharedWritePoint => !self.schemes.path.policy_ref().separates(),
        }
    }

    /// Rejects the first of a scheme's needs that the configuration does not meet.
    pub(super) fn check_needs(&self, needs: impl IntoIterator<Item = Need>) -> Result<(), ConfigError> {
        let Some(need) = needs.into_iter().find(|need| !self.has(need.what)) else { return Ok(()) };
        let message = match need.what {
            Requirement::PlanesPerDie(_) => format!("{}, but a die has {}", need.why, self.geometry.planes_per_die),
            Requirement::SharedWritePoint => {
                format!("{} has two write points a plane, and {}", self.schemes.path.name(), need.why)
            }
            Requirement::MoreThanThreshold(free) => {
                let (free, threshold) = (self.free_pages(&free), self.free_pages(&self.gc.threshold));
                format!("{} {free} free pages, but GC starts below {threshold} anyway", need.why)
            }
            _ => need.why,
        };
        refuse(need.key, message, need.help)
    }
}
