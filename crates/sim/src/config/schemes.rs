//! The policy in each slot (`schemes.*`).

use serde::Deserialize;

use super::error::refuse;
use super::{Config, ConfigError, Errors, MappingUnit, Programming, RaidLayout, WritePoints};
use crate::policy::{Need, Requirement};
use crate::schemes::{AnyCollector, AnyOrder, AnyPath, AnyRoute, AnyTrigger, AnyVictim, Place};
use crate::units::{Nanos, Ppm};

section! {
    /// The policy in each of the seven slots: a name, or a table with the policy's settings.
    Schemes {
        /// Which request is dispatched next.
        order: AnyOrder = AnyOrder::default(),
        /// Where a read is served: one scheme, or a list of one that redirects reads and one that replicates pages.
        route: AnyRoute = AnyRoute::default(),
        /// Which plane a host write goes to.
        place: Place = Place::default(),
        /// Which block GC reclaims.
        victim: AnyVictim = AnyVictim::default(),
        /// How GC uses a die.
        collector: AnyCollector = AnyCollector::default(),
        /// How a moved page travels.
        path: AnyPath = AnyPath::default(),
        /// When a plane is collected.
        [since "0.1.1"]
        trigger: AnyTrigger = AnyTrigger::default(),
    }
}

impl Schemes {
    /// Whether one of paper A's schemes is in use, so conflicts are reported.
    pub fn reports_conflicts(&self) -> bool {
        self.route.replicate().is_some() || self.collector.policy_ref().reports_conflicts()
    }
}

impl Config {
    /// Checks schemes, and keys that they decide about.
    pub(super) fn check_schemes(&self) -> Result<(), ConfigError> {
        self.check_collectors()?;
        self.check_staging()?;
        self.check_hard_threshold()?;
        self.check_write_backs()?;
        self.check_kept_pages()?;
        self.check_power_cuts()?;
        self.check_copies()?;
        self.check_round_robin()?;
        self.check_needs_of_schemes()?;
        self.check_super_pages()?;
        self.check_chip_queue()?;
        self.check_die_queue()?;
        self.check_path()?;
        self.check_destination()?;
        self.check_levelling()
    }

    /// Checks collectors that wrap others.
    fn check_collectors(&self) -> Result<(), ConfigError> {
        let collector = &self.schemes.collector;
        let chain: Vec<&AnyCollector> = collector.chain().collect();
        for (i, one) in chain.iter().enumerate().skip(1) {
            if chain[..i].iter().any(|other| other.name() == one.name()) {
                return refuse(
                    "schemes.collector",
                    format!("{0} around {0}", one.name()),
                    "wrap it once, or leave `inner` out",
                );
            }
            let around = chain[i - 1].policy_ref().needs();
            self.check_needs(around.into_iter().filter(|need| need.what == Requirement::OtherKnobs))?;
        }
        Ok(())
    }

    /// Checks second copies of pages.
    fn check_copies(&self) -> Result<(), ConfigError> {
        let (key, route) = ("schemes.route", &self.schemes.route);
        self.check_needs(route.schemes().flat_map(|scheme| scheme.policy_ref().needs()))?;
        let Some(share) = route.replicate().map(|route| route.share()) else { return Ok(()) };
        if route.redirect().is_some() {
            // A copy is found by its logical page and dropped when the host writes that page. With parity, pages also change
            // without a host write (parity itself), an overwritten page is read until its group's update begins, and waits are
            // counted by the chip of the layout, which is not the copy's chip.
            let message = format!(
                "{}: reads are redirected through parity groups, and second copies of pages are not simulated with them",
                route.name()
            );
            return refuse(key, message, "use one of them");
        }
        let (g, pages, spare) = (&self.geometry, self.geometry.pages(), self.device.over_provisioning);
        if pages * u64::from(share.0) < Ppm::ONE {
            let message = format!("floor({} x {pages}) = 0 pages could be second copies", share.as_f64());
            return refuse(key, message, "use a greater share of replica_pages, or \"direct\"");
        }
        if share.0 > spare.0 {
            let message = format!(
                "copies could take {} of all pages, but device.over_provisioning leaves {}",
                share.as_f64(),
                spare.as_f64()
            );
            return refuse(key, message, "use a smaller share of replica_pages");
        }
        if g.channels * g.chips_per_channel == 1 {
            return refuse(
                key,
                "a second copy needs another chip, and there is only one".into(),
                "use more chips, or \"direct\"",
            );
        }
        let others = [
            (self.raid.layout != RaidLayout::None, "raid.layout", "\"none\""),
            (self.noc.exists(), "noc.model", "\"none\""),
            (self.device.mapping_unit == MappingUnit::SuperPage, "device.mapping_unit", "\"page\""),
            (self.wear.programming == Programming::OneShot, "wear.programming", "\"page\""),
        ];
        for (used, other, value) in others {
            if used {
                let message = "second copies of pages are not simulated with it".to_string();
                return refuse(other, message, format!("use {value}, or schemes.route = \"direct\""));
            }
        }
        Ok(())
    }

    /// What round-robin placement rules out: a plane counts the pages that are placed there, and nothing else may take its room.
    fn check_round_robin(&self) -> Result<(), ConfigError> {
        if self.schemes.place != Place::RoundRobin {
            return Ok(());
        }
        let refused = |key: &str, message: &str, help: &str| refuse(key, message.into(), help);
        if self.raid.layout != RaidLayout::None {
            let message = "round-robin placement sends a page to the next plane, but the layout fixes its chip";
            return refused("schemes.place", message, "use a static order, of which dies and planes count");
        }
        if self.cache.exists() && !self.units().exist() {
            let message = "lines of the write cache belong to the dies of a static order, or to none";
            return refused("schemes.place", message, "use a static order or \"dynamic\", or cache.size = \"0B\"");
        }
        if self.device.keep_overwritten {
            let message = "overwritten pages that are kept would take room in planes that do not count them any more";
            return refused("device.keep_overwritten", message, "leave it out, or use a static schemes.place");
        }
        Ok(())
    }

    /// Checks what victim, collectors and trigger need.
    fn check_needs_of_schemes(&self) -> Result<(), ConfigError> {
        let chain = || self.schemes.collector.chain().map(|one| one.policy_ref());
        let collectors = |which: fn(Requirement) -> bool| -> Vec<Need> {
            chain().flat_map(|one| one.needs()).filter(|need| which(need.what)).collect()
        };
        // The order says which of several broken rules a configuration is refused by.
        let wrapping = chain().filter(|one| one.inner().is_some()).flat_map(|one| one.needs());
        self.check_needs(wrapping.filter(|need| need.what == Requirement::MovesInPlane))?;
        self.check_needs(self.schemes.victim.policy_ref().needs())?;
        self.check_needs(collectors(|what| !matches!(what, Requirement::SinglePages | Requirement::SharedWritePoint)))?;
        self.check_needs(self.schemes.trigger.policy_ref().needs())?;
        // An inner collector gives the more specific reason, so inner ones come first.
        self.check_needs(collectors(|what| what == Requirement::SinglePages).into_iter().rev())?;
        Ok(())
    }

    /// Checks the path of moved pages.
    fn check_path(&self) -> Result<(), ConfigError> {
        let path = self.schemes.path.policy_ref();
        self.check_needs(path.needs())?;
        let wears = self.ecc.errors == Errors::Model || self.ecc.decode > Nanos::ZERO;
        let wears = wears || self.wear.programming == Programming::OneShot;
        if self.wear.programming == Programming::OneShot && self.noc.exists() {
            let message = "one-shot programming is not simulated with an interconnect".to_string();
            return refuse("noc.model", message, "use \"none\", or leave wear.programming at its default");
        }
        if (path.separates() || wears) && self.pages_per_entry() > 1 {
            let message =
                "copyback counts, checked copies, bit errors, decode time and one-shot programming need single pages"
                    .to_string();
            return refuse(
                "device.mapping_unit",
                message,
                "use \"page\", or leave schemes.path, ecc.errors, ecc.decode and wear.programming at their defaults",
            );
        }
        let collectors = self.schemes.collector.chain().flat_map(|one| one.policy_ref().needs());
        self.check_needs(collectors.filter(|need| need.what == Requirement::SharedWritePoint))?;
        if path.separates() && self.ftl.write_points == WritePoints::Shared {
            let message = format!("{} fills separate blocks with copied pages", self.schemes.path.name());
            return refuse("ftl.write_points", message, "use \"separate\"");
        }
        if path.keeps_counts() && self.geometry.pages_per_block < 2 {
            let message = "a block of one page has no room for its copyback counts".to_string();
            return refuse("geometry.pages_per_block", message, "use 2 or more, or another schemes.path");
        }
        Ok(())
    }
}
