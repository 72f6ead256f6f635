//! Write points, free blocks and wear levelling (`ftl.*`).

use serde::{Deserialize, Serialize};

use super::error::refuse;
use super::{Config, ConfigError};

choice! {
    /// Whether host and GC programs share a write point.
    WritePoints("lowercase") {
        /// Host and GC each fill their own block.
        Separate,
        /// Host and GC fill the same block.
        Shared,
    }
}

choice! {
    /// Which erased block is opened next.
    FreeBlock("kebab-case") {
        /// The next by index after the last one opened, circular.
        RoundRobin,
        /// The least erased one; ties go to the lowest index.
        LeastErased,
    }
}

choice! {
    /// Whether cold blocks are moved to level wear.
    WearLevelling("lowercase") {
        /// They are not moved.
        None,
        /// If erase counts of a plane differ by more than `ftl.wear_spread`, every second collection there selects the least
        /// erased closed block.
        Static,
    }
}

section! {
    /// Write points, free blocks, wear levelling.
    Ftl {
        /// Whether host and GC programs share a write point.
        write_points: WritePoints = WritePoints::Separate,
        /// Which erased block is opened next.
        free_block: FreeBlock = FreeBlock::RoundRobin,
        /// Whether cold blocks are moved to level wear.
        wear_levelling: WearLevelling = WearLevelling::None,
        /// Difference of erase counts within a plane that static wear levelling tolerates.
        wear_spread: u32 = 16,
    }
}

impl Config {
    /// Checks wear levelling.
    pub(super) fn check_levelling(&self) -> Result<(), ConfigError> {
        if self.ftl.wear_levelling == WearLevelling::Static && self.ftl.wear_spread == 0 {
            return refuse("ftl.wear_spread", "no difference would be tolerated".into(), "use 1 or more");
        }
        Ok(())
    }
}
