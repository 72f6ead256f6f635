//! Write points, free blocks and wear levelling (`ftl.*`).

use serde::{Deserialize, Serialize};

use super::error::refuse;
use super::{Config, ConfigError};
use crate::schemes::AnyVictim;

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
    /// How wear is levelled.
    WearLevelling("lowercase") {
        /// They are not moved.
        None,
        /// If erase counts of a plane differ by more than `ftl.wear_spread`, every second collection there selects the least
        /// erased closed block.
        Static,
        /// They are not moved, but of victims with equally many valid pages the least erased one is collected.
        Dynamic,
    }
}

section! {
    /// Write points, free blocks, wear levelling.
    Ftl {
        /// Whether host and GC programs share a write point.
        write_points: WritePoints = WritePoints::Separate,
        /// Which erased block is opened next.
        free_block: FreeBlock = FreeBlock::RoundRobin,
        /// How wear is levelled: `"none"`, `"static"` (every second collection of an uneven plane moves its least erased block) or
        /// `"dynamic"` (of victims with equally many valid pages the least erased one is collected, instead of the one with the lowest
        /// number, which wears out low blocks first).
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
        if self.breaks_ties() && !matches!(self.schemes.victim, AnyVictim::Greedy(_)) {
            let message =
                format!("{} has no ties between victims that erase counts could decide", self.schemes.victim.name());
            return refuse("ftl.wear_levelling", message, "use \"none\" or \"static\", or schemes.victim = \"greedy\"");
        }
        Ok(())
    }
}
