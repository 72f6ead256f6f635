//! When GC starts, and where it moves pages (`gc.*`).

use serde::{Deserialize, Serialize};

use super::error::refuse;
use super::{Config, ConfigError};
use crate::schemes::Place;
use crate::units::Threshold;

choice! {
    /// Where free pages are counted.
    Scope("lowercase") {
        /// In each plane.
        Plane,
        /// In all planes of a chip together.
        Chip,
        /// In the whole device.
        Device,
    }
}

choice! {
    /// Whether GC takes time.
    GcTime("lowercase") {
        /// GC occupies dies and buses.
        Real,
        /// GC happens at once and occupies nothing: the zero-cost collector that papers compare with.
        None,
    }
}

choice! {
    /// Destination of pages that leave their die during GC.
    Destination("lowercase") {
        /// The victim's plane.
        Plane,
        /// Any plane of the victim's chip.
        Chip,
        /// Any plane of the device.
        Any,
    }
}

choice! {
    /// What becomes of moved units that fill no program at the end of a collection.
    Remainder("lowercase") {
        /// They stay in the controller, for the next collection of their planes.
        Keep,
        /// They are programmed with padding, before the block is erased.
        Pad,
    }
}

section! {
    /// When GC starts, and where it moves pages.
    Gc {
        /// GC starts when a plane (or chip, or device: `gc.scope`) has fewer free pages than this.
        threshold: Threshold = Threshold::Blocks(3),
        /// Below this many free pages, GC is not preempted, and its task queues (`noc.priority`) are served before the host's.
        /// None by default.
        hard_threshold: Option<Threshold> = None,
        /// Where free pages are counted.
        scope: Scope = Scope::Plane,
        /// Erased blocks per plane that are reserved for GC: host writes never take them. By default one per GC write point, and one
        /// more where programs fail (`life.program_failures`, `faults.blocks`).
        reserve: Option<u32> = None,
        /// Whether GC takes time.
        time: GcTime = GcTime::Real,
        /// Destination of pages that leave their die during GC.
        destination: Destination = Destination::Plane,
        /// What becomes of moved units that fill no program at the end of a collection, where a program has several units: by
        /// default they are kept with `device.power_loss_protection`, and padded without, for a power cut would lose them.
        [since "0.1.3"]
        remainder: Option<Remainder> = None,
    }
}

impl Config {
    /// Erased blocks per plane that are reserved for GC.
    pub fn reserve(&self) -> u32 {
        self.gc.reserve.unwrap_or(self.gc_streams() + u32::from(self.fails_programs()))
    }

    /// GC write points per plane: the collector's, and one more if the path keeps copied pages apart.
    pub(super) fn gc_streams(&self) -> u32 {
        self.schemes.collector.policy_ref().streams() + u32::from(self.schemes.path.policy_ref().separates())
    }

    /// Pages of one scope (`gc.scope`).
    pub(super) fn pages_in_scope(&self) -> u64 {
        let g = &self.geometry;
        // Paired planes count as one, with pages twice as large.
        let per_die = g.planes_per_die / self.pages_per_entry() / g.planes_per_program;
        let planes = match self.gc.scope {
            Scope::Plane => u64::from(self.planes_of_block()),
            Scope::Chip => u64::from(per_die * g.dies_per_chip),
            Scope::Device => u64::from(per_die * g.dies_per_chip * g.chips_per_channel * g.channels),
        };
        planes * u64::from(g.blocks_per_plane) * u64::from(g.pages_per_block)
    }

    /// Number of free pages for a threshold.
    pub(super) fn free_pages(&self, threshold: &Threshold) -> u64 {
        let per_block = self.planes_of_block() * self.geometry.pages_per_block;
        threshold.pages(self.pages_in_scope(), per_block.into())
    }

    /// Whether a full device has the free pages below which GC starts.
    pub(super) fn check_threshold(&self) -> Result<(), ConfigError> {
        let per_block = u64::from(self.geometry.pages_per_block);
        let pages = u64::from(self.geometry.blocks_per_plane) * per_block;
        let (exported, metadata) = (self.exported_per_plane(), u64::from(self.metadata_pages()));
        let data = per_block - metadata;
        // Metadata pages of full blocks are never free.
        // Nor are those of the cache of SLC, and of spare blocks.
        let apart = u64::from(self.blocks_apart()) * per_block;
        let spare = (pages - exported - exported.div_ceil(data) * metadata).saturating_sub(apart);
        let in_scope = self.pages_in_scope();
        let (floor, spare) = (self.free_pages(&self.gc.threshold), in_scope / pages * spare);
        if floor > spare {
            let message =
                format!("GC would start below {floor} free pages, but a full device never has more than {spare}");
            return refuse(
                "gc.threshold",
                message,
                format!("use at most \"{spare} pages\", or more over-provisioning"),
            );
        }
        Ok(())
    }

    /// Checks the threshold below which GC takes priority.
    pub(super) fn check_hard_threshold(&self) -> Result<(), ConfigError> {
        let Some(hard) = &self.gc.hard_threshold else { return Ok(()) };
        let (hard, soft) = (self.free_pages(hard), self.free_pages(&self.gc.threshold));
        let queues = !self.noc.priority().is_empty();
        if !self.schemes.collector.policy_ref().preemptible() && !queues {
            let message = "only preemptive collectors and task queues use a hard threshold".to_string();
            let help = "leave it out, or use schemes.collector = \"preemptive\", or an interconnect (noc.model)";
            return refuse("gc.hard_threshold", message, help);
        }
        if hard > soft {
            let message = format!("GC starts below {soft} free pages, but takes priority below {hard}");
            return refuse("gc.hard_threshold", message, "use at most gc.threshold");
        }
        Ok(())
    }

    /// Whether pages may leave their plane.
    pub(super) fn check_destination(&self) -> Result<(), ConfigError> {
        if self.gc.destination != Destination::Plane && self.schemes.place != Place::Dynamic {
            let message = format!(
                "place = \"{}\" fixes the plane of every page; pages from elsewhere would overfill it",
                self.schemes.place
            );
            return refuse("gc.destination", message, "use \"plane\", or schemes.place = \"dynamic\"");
        }
        Ok(())
    }
}
