//! The controller around the array (`device.*`).

use serde::{Deserialize, Serialize};

use super::error::refuse;
use super::{Config, ConfigError, MappingUnit, Programming, RaidLayout};
use crate::units::{Nanos, Ppm};

choice! {
    /// Unit of exclusion: the hardware that serves one operation at a time.
    Exclusion("lowercase") {
        /// A die.
        Die,
        /// A chip with all its dies.
        Chip,
        /// A channel with all its chips.
        Channel,
    }
}

choice! {
    /// When a host write is acknowledged.
    WriteAck("snake_case") {
        /// At the end of its page program.
        AfterProgram,
        /// At the end of its data transfer to the die.
        AfterTransfer,
    }
}

choice! {
    /// How a read of a page that was never written is served.
    UnwrittenRead("snake_case") {
        /// The page is written to flash in no time, then read.
        Preload,
        /// The read takes no flash time.
        ZeroCost,
        /// The run stops with an error.
        Error,
    }
}

choice! {
    /// How a write of part of a page is served.
    PartialWrite("kebab-case") {
        /// Read the old page, then program the new one.
        ReadModifyWrite,
        /// Program the page without reading the old one.
        WholePage,
    }
}

choice! {
    /// What a read of part of a page moves over the channel.
    PartialRead("kebab-case") {
        /// The bytes asked for.
        Bytes,
        /// The whole page: all pages of a page map entry (paper B, VII.E, for its superblock).
        WholePage,
    }
}

section! {
    /// The controller around the array.
    Device {
        /// Unit of exclusion: the hardware that serves one operation at a time.
        exclusion: Exclusion = Exclusion::Die,
        /// When a host write is acknowledged.
        write_ack: WriteAck = WriteAck::AfterProgram,
        /// Whether the controller's buffer survives a power cut.
        power_loss_protection: bool = true,
        /// Whether an overwritten page stays valid until its newer version is on flash. GC moves it meanwhile. Without this key
        /// or a capacitor it may be erased before the newer version is safe.
        keep_overwritten: bool = false,
        /// Outstanding host requests. Further requests wait in arrival order outside the device.
        queue_depth: u32 = 32,
        /// Share of physical pages that is not exported.
        over_provisioning: Ppm = Ppm(100_000),
        /// How a read of a page that was never written is served.
        unwritten_read: UnwrittenRead = UnwrittenRead::Preload,
        /// Whether pages of one host request on one die, at equal page offset, share a multi-plane command.
        multi_plane: bool = false,
        /// How a write of part of a page is served.
        partial_write: PartialWrite = PartialWrite::ReadModifyWrite,
        /// What a read of part of a page moves: the bytes asked for, or the whole page.
        [since "0.1.2"] partial_read: PartialRead = PartialRead::Bytes,
        /// Size of a page map entry: a page, the paired pages of a die's two planes, or a part of a page such as `"4KiB"`, which
        /// needs a write cache.
        mapping_unit: MappingUnit = MappingUnit::Page,
        /// Time to serve a page from controller memory.
        memory: Nanos = Nanos::ZERO,
    }
}

impl Config {
    /// What keeping overwritten pages rules out.
    pub(super) fn check_kept_pages(&self) -> Result<(), ConfigError> {
        if !self.device.keep_overwritten {
            return Ok(());
        }
        let key = "device.keep_overwritten";
        if self.raid.layout != RaidLayout::None {
            let message = "parity groups already keep the old pages that they need".to_string();
            return refuse(key, message, "leave it out, or use raid.layout = \"none\"");
        }
        if self.wear.programming == Programming::OneShot {
            let message = "pages that wait for the rest of their word line are in the controller's buffer".to_string();
            return refuse(key, message, "leave it out, or use wear.programming = \"page\"");
        }
        Ok(())
    }

    /// What super pages rule out.
    pub(super) fn check_super_pages(&self) -> Result<(), ConfigError> {
        if self.device.mapping_unit != MappingUnit::SuperPage {
            return Ok(());
        }
        if self.raid.layout != RaidLayout::None {
            let message = "stripes consist of pages, not of super pages".to_string();
            return refuse("device.mapping_unit", message, "use \"page\", or raid.layout = \"none\"");
        }
        if self.device.multi_plane {
            let message = "a super page already occupies both planes of its die".to_string();
            return refuse("device.multi_plane", message, "leave it out, or use device.mapping_unit = \"page\"");
        }
        Ok(())
    }

    /// Whether acknowledged writes survive power cuts, in their newest version: either the controller's memory survives, or
    /// nothing is acknowledged or erased before its data is on flash. Trims are not covered.
    pub fn survives_power_cuts(&self) -> bool {
        let plan = self.schemes.collector.policy_ref().writes_back().filter(|_| self.staging.slots > 0);
        self.device.power_loss_protection
            || self.device.keep_overwritten
                && !self.cache.buffers()
                && self.device.write_ack == WriteAck::AfterProgram
                && plan.is_none_or(|plan| !plan.erase_first && !plan.absorb)
    }

    /// Flash pages per map entry: 2 for super pages.
    pub fn pages_per_entry(&self) -> u32 {
        match self.device.mapping_unit {
            MappingUnit::Page | MappingUnit::Size(_) => 1,
            MappingUnit::SuperPage => 2,
        }
    }

    /// Time to serve a page from controller memory: that of the write cache, if it has its own.
    pub fn memory_time(&self) -> Nanos {
        self.cache.time.filter(|_| self.cache.exists()).unwrap_or(self.device.memory)
    }
}
