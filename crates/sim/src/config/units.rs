//! Mapping units smaller than a flash page, and programs of several pages (`device.mapping_unit`, `geometry.pages_per_program`,
//! `geometry.planes_per_program`).

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::error::refuse;
use super::{
    CacheOrder, CachePack, CacheWrite, Config, ConfigError, Destination, GcTime, PageOrder, Programming, Remainder,
    WritePoints, Writeback,
};
use crate::schemes::Place;
use crate::units::Bytes;

/// Most planes of a program.
const MOST_PLANES: u32 = 8;
/// Most units of a super page: GC keeps a set of them in a word.
const MOST_OF_SUPER_PAGE: u32 = 64;
/// Most units of a program.
const MOST_OF_PROGRAM: u32 = 1024;
/// Most units of a block: valid ones are counted in 15 bits.
const MOST_OF_BLOCK: u32 = 0x7FFF;

/// What an entry of the page map points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MappingUnit {
    /// A page of a plane.
    Page,
    /// A page of each of a die's two planes, at the same place in both. Blocks are paired, and every operation is a multi-plane
    /// command. A write of part of a super page is a partial write (paper B's superblock).
    SuperPage,
    /// So many bytes: a part of a page. The write cache gathers such units into programs.
    Size(Bytes),
}

impl std::str::FromStr for MappingUnit {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "page" => Ok(MappingUnit::Page),
            "super-page" => Ok(MappingUnit::SuperPage),
            _ => text.parse().map(MappingUnit::Size).map_err(|_: String| {
                format!("`{text}` is not a mapping unit: expected \"page\", \"super-page\" or a size such as \"4KiB\"")
            }),
        }
    }
}

impl std::fmt::Display for MappingUnit {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            MappingUnit::Page => f.write_str("page"),
            MappingUnit::SuperPage => f.write_str("super-page"),
            MappingUnit::Size(bytes) => bytes.fmt(f),
        }
    }
}

impl<'de> Deserialize<'de> for MappingUnit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl Serialize for MappingUnit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// How units of the map lie in pages and programs. Counts are 1 without units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Units {
    /// Bytes of a unit.
    pub bytes: u32,
    /// Units of a flash page.
    pub per_page: u32,
    /// Planes that a program, an erase or a move takes together.
    pub planes: u32,
    /// Super pages of a program: pages of a word line.
    pub lines: u32,
}

impl Units {
    /// Units of a super page: of the pages at one offset of all planes of a program.
    pub fn per_super_page(&self) -> u32 {
        self.per_page * self.planes
    }

    /// Units of a program.
    pub fn per_program(&self) -> u32 {
        self.per_super_page() * self.lines
    }

    /// Flash pages of a program.
    pub fn pages_per_program(&self) -> u32 {
        self.planes * self.lines
    }

    /// Whether a program has several units: otherwise all is as with a map of pages.
    pub fn exist(&self) -> bool {
        self.per_program() > 1
    }
}

impl Config {
    /// How units lie in pages and programs, on a configuration whose geometry is checked.
    pub fn units(&self) -> Units {
        let page = self.geometry.page_size.0 as u32;
        let bytes = match self.device.mapping_unit {
            MappingUnit::Size(unit) => unit.0.max(1) as u32,
            MappingUnit::Page | MappingUnit::SuperPage => page,
        };
        let (planes, lines) = (self.geometry.planes_per_program, self.geometry.pages_per_program);
        Units { bytes, per_page: page / bytes.max(1), planes, lines }
    }

    /// Kinds of moved units that wait apart in the controller, each of which fills programs of its own.
    pub(super) fn hands(&self) -> u32 {
        if self.fdp.exists() { self.fdp.handles.saturating_add(1) } else { 1 }
    }

    /// Whether moved units that fill no program unit are padded at the end of a collection.
    pub fn pads_moves(&self) -> bool {
        let default = if self.device.power_loss_protection { Remainder::Keep } else { Remainder::Pad };
        self.gc.remainder.unwrap_or(default) == Remainder::Pad
    }

    /// Checks the sizes of units and of programs. The other counts of the geometry are checked.
    pub(super) fn check_unit_sizes(&self) -> Result<(), ConfigError> {
        let (g, unit) = (&self.geometry, self.device.mapping_unit);
        let program = [
            ("geometry.pages_per_program", g.pages_per_program),
            ("geometry.planes_per_program", g.planes_per_program),
        ];
        for (key, count) in program {
            if count == 0 {
                return refuse(key, "there must be at least one".into(), "use 1 or more");
            }
            if count > 1 && unit == MappingUnit::SuperPage {
                let message = "super pages are the older form of programs of two planes".to_string();
                return refuse("device.mapping_unit", message, format!("use \"page\" or a size, or leave {key} out"));
            }
        }
        if !g.pages_per_block.is_multiple_of(g.pages_per_program) {
            let message =
                format!("{} pages of a block are not whole programs of {}", g.pages_per_block, g.pages_per_program);
            return refuse(program[0].0, message, "use a divisor of geometry.pages_per_block");
        }
        if !g.planes_per_die.is_multiple_of(g.planes_per_program) || g.planes_per_program > MOST_PLANES {
            let message = format!("programs of {} planes on dies of {} planes", g.planes_per_program, g.planes_per_die);
            return refuse(
                program[1].0,
                message,
                format!("use a divisor of geometry.planes_per_die, at most {MOST_PLANES}"),
            );
        }
        if let MappingUnit::Size(bytes) = unit
            && (bytes.0 == 0 || !bytes.0.is_multiple_of(512) || !g.page_size.0.is_multiple_of(bytes.0))
        {
            let message =
                format!("{bytes} is not a multiple of 512 B (a sector) that divides a page of {}", g.page_size);
            return refuse("device.mapping_unit", message, "use for example \"4KiB\", or \"page\"");
        }
        self.check_unit_counts()
    }

    /// Checks the numbers of units.
    fn check_unit_counts(&self) -> Result<(), ConfigError> {
        let (units, key) = (self.units(), "device.mapping_unit");
        let of_block = u64::from(units.per_super_page()) * u64::from(self.geometry.pages_per_block);
        let counts = [
            (u64::from(units.per_super_page()), MOST_OF_SUPER_PAGE, "a super page"),
            (u64::from(units.per_program()), MOST_OF_PROGRAM, "a program"),
            (of_block, MOST_OF_BLOCK, "a block"),
        ];
        for (count, most, what) in counts.into_iter().filter(|_| units.exist()) {
            if count > u64::from(most) {
                let message =
                    format!("{count} units of {} in {what} exceed the limit of {most}", Bytes(units.bytes.into()));
                return refuse(key, message, "use larger units, or programs and blocks of fewer pages");
            }
        }
        // Blocks beside the flash are numbered, too, for moved units in the controller: at least two a home.
        let g = &self.geometry;
        let homes = self.geometry.pages()
            / u64::from(g.blocks_per_plane)
            / u64::from(g.pages_per_block)
            / u64::from(units.planes);
        let in_hands = u64::from(self.hands()) * u64::from(units.per_program() + units.per_super_page() - 1);
        let slots = g.pages() * u64::from(units.per_page) + homes * in_hands.div_ceil(of_block).max(2) * of_block;
        if units.exist() && slots >= 1 << 31 {
            let message = format!("{slots} units exceed {}, the limit of four-byte map entries", (1u64 << 31) - 1);
            return refuse(key, message, "use larger units, or a smaller array");
        }
        Ok(())
    }

    /// What units need and rule out.
    pub(super) fn check_units(&self) -> Result<(), ConfigError> {
        let units = self.units();
        if !units.exist() {
            return self.check_without_units();
        }
        if !self.cache.exists() {
            let message = format!(
                "a unit alone would be padded to a program of {}, so a write cache gathers them",
                units.per_program()
            );
            return refuse("cache.size", message, "use for example \"1MiB\"");
        }
        if self.cache.write != CacheWrite::Back {
            let message = "a unit alone would be padded to a program".to_string();
            return refuse("cache.write", message, "use \"back\"");
        }
        self.check_beside_units()?;
        self.check_unit_times()?;
        self.check_gathering()?;
        self.check_remainder()
    }

    /// What only units use.
    fn check_without_units(&self) -> Result<(), ConfigError> {
        let message = || "every program is that of a page, so nothing is gathered or padded".to_string();
        let help = "leave it out, or use a smaller device.mapping_unit or a larger geometry.pages_per_program";
        if self.cache.pack != CachePack::Full {
            return refuse("cache.pack", message(), help);
        }
        if self.gc.remainder.is_some() {
            return refuse("gc.remainder", message(), help);
        }
        Ok(())
    }

    /// Schemes and keys that units are not simulated with.
    fn check_beside_units(&self) -> Result<(), ConfigError> {
        let collectors = ["serial", "queued", "preemptive"];
        let other = self.schemes.collector.chain().find(|one| !collectors.contains(&one.name()));
        if let Some(other) = other {
            let message = format!(
                "{} moves single pages; with units, geometry.planes_per_program collects planes together",
                other.name()
            );
            return refuse("schemes.collector", message, "use \"serial\", \"queued\" or \"preemptive\"");
        }
        if self.schemes.path.name() != "external" {
            let message = format!(
                "{} copies whole pages, but moved units are gathered in the controller",
                self.schemes.path.name()
            );
            return refuse("schemes.path", message, "use \"external\"");
        }
        if self.gc.destination != Destination::Plane {
            let message = "moved units are gathered for the planes that they came from".to_string();
            return refuse("gc.destination", message, "use \"plane\"");
        }
        if self.wear.programming == Programming::OneShot {
            let message = "one-shot programming is the older form of programs of several pages".to_string();
            return refuse("wear.programming", message, "use \"page\" and geometry.pages_per_program");
        }
        if self.staging.slots > 0 {
            let message = "moved units are gathered in the controller, and no page is left there".to_string();
            return refuse("staging.slots", message, "use 0");
        }
        if self.cache.order == CacheOrder::Stripe || self.device.multi_plane {
            let key = if self.device.multi_plane { "device.multi_plane" } else { "cache.order" };
            let message = "geometry.planes_per_program says which planes work together".to_string();
            return refuse(key, message, "leave it out");
        }
        Ok(())
    }

    /// Times by page type, where a program has several pages.
    fn check_unit_times(&self) -> Result<(), ConfigError> {
        let lines = self.geometry.pages_per_program;
        if lines == 1 {
            return Ok(());
        }
        if self.timing.program.types().len() > 1 {
            let message = format!("one time is that of a whole program of {lines} pages, but there is a list");
            return refuse(
                "timing.program",
                message,
                "give the time of a whole program, or use geometry.pages_per_program = 1",
            );
        }
        let types = self.page_types();
        if types != 1 && types != lines {
            let message = format!("{types} page types, but a program has {lines} pages of a word line");
            return refuse("timing.read", message, format!("list 1 time, or {lines}"));
        }
        if self.geometry.page_order == PageOrder::Shadow {
            let message = "the pages of a word line are programmed together".to_string();
            return refuse("geometry.page_order", message, "use \"wordline\", or geometry.pages_per_program = 1");
        }
        Ok(())
    }

    /// Whether a full cache always holds a whole program unit, or has one in flight.
    fn check_gathering(&self) -> Result<(), ConfigError> {
        let (units, cache, g) = (self.units(), &self.cache, &self.geometry);
        let eager = cache.writeback == Writeback::Eager;
        if cache.pack == CachePack::Any {
            if eager && cache.hold.is_some() {
                let message = "eager write-back of whatever is ready holds no line".to_string();
                return refuse("cache.hold", message, "leave it out, or use cache.pack = \"full\"");
            }
            return Ok(());
        }
        let planes = g.channels * g.chips_per_channel * g.dies_per_chip * g.planes_per_die;
        let homes = if matches!(self.schemes.place, Place::Static(_)) { planes / units.planes } else { 1 };
        let lines = self.cache_lines().min(cache.plp_budget.unwrap_or(u32::MAX));
        let handles = self.gathered_streams();
        let needed = u64::from(homes) * u64::from(handles) * u64::from(units.per_program() - 1) + 1;
        if u64::from(lines) < needed {
            let (of, by) = match handles {
                1 => (String::new(), String::new()),
                2 if self.slc.exists() => (" and are for the cache of SLC or not".to_string(), " x 2".to_string()),
                handles => (format!(" and {handles} handles"), format!(" x {handles}")),
            };
            let message = format!(
                "{lines} dirty lines may belong to {homes} places{of} without filling a program of {} units: {homes}{by} x {} + 1 = {needed} are needed",
                units.per_program(),
                units.per_program() - 1
            );
            let key = if self.cache_lines() < lines || u64::from(self.cache_lines()) < needed {
                "cache.size"
            } else {
                "cache.plp_budget"
            };
            let bytes = Bytes(needed * u64::from(units.bytes));
            let help = match key {
                "cache.size" => format!("use \"{bytes}\" or more, or cache.pack = \"any\""),
                _ => format!("use {needed} or more, or cache.pack = \"any\""),
            };
            return refuse(key, message, help);
        }
        Ok(())
    }

    /// What moved units need that fill no program.
    fn check_remainder(&self) -> Result<(), ConfigError> {
        let (units, g) = (self.units(), &self.geometry);
        if !self.pads_moves() {
            if !self.device.power_loss_protection && !self.faults.power_cut.is_empty() {
                let message =
                    "moved units stay in the controller when their block is erased, and there is no capacitor"
                        .to_string();
                return refuse("gc.remainder", message, "use \"pad\", or device.power_loss_protection = true");
            }
            // Programs of the host take whole programs of the block in which the remainder would go on.
            if self.gc.time == GcTime::None && self.ftl.write_points == WritePoints::Shared {
                let message = "moves that take no time leave no part of a program for the next collection where the host writes to the same blocks".to_string();
                return refuse("gc.remainder", message, "use \"pad\", or ftl.write_points = \"separate\"");
            }
            return Ok(());
        }
        let (per_super_page, per_block) = (u64::from(units.per_super_page()), u64::from(g.pages_per_block));
        let threshold = self.gc.threshold.pages(self.pages_in_scope(), per_block).div_ceil(per_block);
        let open = if self.fdp.exists() { self.filled_beside() } else { 1 };
        let kept = u64::from(open) + u64::from(self.reserve()) + threshold;
        let useful = per_block * per_super_page - u64::from(units.per_program());
        let blocks = g.blocks_per_plane - self.blocks_apart();
        let most = u64::from(blocks).saturating_sub(kept) * useful;
        let exported = self.exported_per_plane() * per_super_page;
        if exported > most {
            let message = format!(
                "{exported} units of a plane group are exported, but every collection must free a program of {}: ({} - {open} - {} - {threshold}) x {useful} = {most}",
                units.per_program(),
                blocks,
                self.reserve()
            );
            return refuse("gc.remainder", message, "use \"keep\", or more device.over_provisioning");
        }
        Ok(())
    }
}

#[cfg(feature = "schema")]
crate::schema::text_forms! {
    MappingUnit: {
        "type": "string",
        "pattern": r"^(page|super-page|\s*[0-9]+(\.[0-9]+)?\s*([KMGT](i?B)?|B)\s*)$",
        "examples": ["page", "4KiB", "super-page"]
    },
}
