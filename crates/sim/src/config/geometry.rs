//! The flash array (`geometry.*`).

use serde::{Deserialize, Serialize};

use super::error::refuse;
use super::{Config, ConfigError, Exclusion, MappingUnit, Numbering, RaidLayout};
use crate::device::raid::Layout;
use crate::device::spec::{ArraySpec, ParitySpec, SlotsSpec};
use crate::schemes::Place;
use crate::units::Bytes;

/// Largest flash page in bytes.
const LARGEST_PAGE: u64 = 1 << 20;
/// Physical pages that four-byte map entries can distinguish.
const MAX_PAGES: u64 = (1 << 31) - 1;
/// Outstanding requests. No host keeps more, and memory for all of them is allocated at the start.
const MAX_QUEUE_DEPTH: u32 = 1 << 20;

choice! {
    /// Order in which the pages of a block's word lines are programmed.
    PageOrder("lowercase") {
        /// Page `i` of a block has type `i mod n`, for `n` page types.
        Cyclic,
        /// The same. Results are also given by page type: LSB, CSB, MSB, TSB.
        Wordline,
        /// A word line's next page follows earlier pages of its neighbours: step `s` programs type `k` of word line `s - k`.
        /// Results are also given by page type.
        Shadow,
    }
}

section! {
    /// The flash array: `channels x chips_per_channel x dies_per_chip x planes_per_die` planes.
    Geometry {
        /// Channels; each has its own bus.
        channels: u32 = 8,
        /// Chips (packages) on a channel.
        chips_per_channel: u32 = 4,
        /// Dies in a chip.
        dies_per_chip: u32 = 2,
        /// Planes in a die.
        planes_per_die: u32 = 2,
        /// Blocks in a plane.
        blocks_per_plane: u32 = 512,
        /// Pages in a block.
        pages_per_block: u32 = 64,
        /// Data bytes of a page.
        page_size: Bytes = Bytes(4096),
        /// Order in which the pages of a block's word lines are programmed, and so their types (`timing.read`,
        /// `timing.program`).
        [since "0.1.1"]
        page_order: PageOrder = PageOrder::Cyclic,
        /// Pages of a block that one program writes: those of a word line. `timing.program` is the time of the whole program.
        [since "0.1.3"]
        pages_per_program: u32 = 1,
        /// Planes of a die that are programmed, erased and collected together, as one plane with larger pages.
        [since "0.1.3"]
        planes_per_program: u32 = 1,
    }
}

impl Geometry {
    /// Physical pages of the device.
    pub fn pages(&self) -> u64 {
        let planes = [self.channels, self.chips_per_channel, self.dies_per_chip, self.planes_per_die];
        let blocks = [self.blocks_per_plane, self.pages_per_block];
        planes.into_iter().chain(blocks).map(u64::from).product()
    }
}

impl Config {
    /// Checks counts and sizes of the array.
    pub(super) fn check_geometry(&self) -> Result<(), ConfigError> {
        let g = &self.geometry;
        let counts = [
            ("geometry.channels", g.channels),
            ("geometry.chips_per_channel", g.chips_per_channel),
            ("geometry.dies_per_chip", g.dies_per_chip),
            ("geometry.planes_per_die", g.planes_per_die),
            ("geometry.blocks_per_plane", g.blocks_per_plane),
            ("geometry.pages_per_block", g.pages_per_block),
            ("device.queue_depth", self.device.queue_depth),
        ];
        for (key, count) in counts {
            if count == 0 {
                return refuse(key, "there must be at least one".into(), "use 1 or more");
            }
        }
        if self.device.queue_depth > MAX_QUEUE_DEPTH {
            let message =
                format!("{} outstanding requests exceed the limit of {MAX_QUEUE_DEPTH}", self.device.queue_depth);
            return refuse("device.queue_depth", message, format!("use at most {MAX_QUEUE_DEPTH}"));
        }
        if g.pages_per_block > 0x7FFF {
            return refuse(
                "geometry.pages_per_block",
                format!("{} exceeds the limit of 32767", g.pages_per_block),
                "use fewer pages per block",
            );
        }
        if g.page_size.0 == 0 || !g.page_size.0.is_multiple_of(512) || g.page_size.0 > LARGEST_PAGE {
            let message = format!("{} is not a multiple of 512 B (a sector), up to 1MiB", g.page_size);
            return refuse("geometry.page_size", message, "use for example \"4KiB\"");
        }
        if self.device.mapping_unit == MappingUnit::SuperPage && g.planes_per_die != 2 {
            let message = format!("super pages pair the two planes of a die, but a die has {}", g.planes_per_die);
            return refuse("device.mapping_unit", message, "use geometry.planes_per_die = 2, or \"page\"");
        }
        let factors =
            [g.channels, g.chips_per_channel, g.dies_per_chip, g.planes_per_die, g.blocks_per_plane, g.pages_per_block];
        let pages = factors.iter().try_fold(1u64, |product, factor| product.checked_mul(u64::from(*factor)));
        if pages.is_none_or(|pages| pages > MAX_PAGES) {
            let product = factors.map(|f| f.to_string()).join(" x ");
            let message = format!("{product} pages exceed {MAX_PAGES}, the limit of four-byte map entries");
            return refuse("geometry", message, "use larger pages, or a smaller array");
        }
        self.check_unit_sizes()?;
        let planes = match self.device.exclusion {
            Exclusion::Die => g.planes_per_die,
            Exclusion::Chip => g.planes_per_die * g.dies_per_chip,
            Exclusion::Channel => g.planes_per_die * g.dies_per_chip * g.chips_per_channel,
        };
        if planes > 64 {
            let message = format!("{planes} planes would share one unit of exclusion; the limit is 64");
            return refuse("device.exclusion", message, "use a narrower exclusion");
        }
        Ok(())
    }

    /// Capacity for the host, on a checked configuration. A parity group exports one page less per stripe than it has chips.
    pub fn capacity_bytes(&self) -> u64 {
        let spec = self.array_spec();
        let mapped =
            spec.exported_per_plane * spec.channels * spec.chips_per_channel * spec.dies_per_chip * spec.planes_per_die;
        let pages = Layout::new(&spec).map_or(mapped, |layout| layout.exported());
        u64::from(pages) * u64::from(spec.unit_bytes * spec.pages_per_entry)
    }

    pub(crate) fn array_spec(&self) -> ArraySpec {
        let g = &self.geometry;
        let (chips, units) = (g.channels * g.chips_per_channel, self.units());
        let per_page = units.per_super_page();
        // Planes whose blocks are collected together are one plane with larger blocks.
        let joined = self.planes_of_block();
        if joined > 1 {
            return ArraySpec {
                channels: 1,
                chips_per_channel: 1,
                dies_per_chip: 1,
                planes_per_die: 1,
                pages_per_block: g.pages_per_block * joined,
                data_pages: g.pages_per_block * joined,
                units: 1,
                exported_per_plane: self.exported_per_plane() as u32 * joined,
                ..Config { fdp: Default::default(), ..self.clone() }.array_spec()
            };
        }
        ArraySpec {
            channels: g.channels,
            chips_per_channel: g.chips_per_channel,
            dies_per_chip: g.dies_per_chip,
            planes_per_die: g.planes_per_die / self.pages_per_entry() / units.planes,
            blocks_per_plane: g.blocks_per_plane,
            pages_per_block: g.pages_per_block * per_page,
            data_pages: (g.pages_per_block - self.metadata_pages()) * per_page,
            flash_page: g.page_size.0 as u32,
            unit_bytes: units.bytes,
            slots: SlotsSpec {
                per_page: units.per_page,
                per_super_page: per_page,
                per_program: units.per_program(),
                planes: units.planes,
                hands: self.hands(),
            },
            pages_per_entry: self.pages_per_entry(),
            units: match self.device.exclusion {
                Exclusion::Die => chips * g.dies_per_chip,
                Exclusion::Chip => chips,
                Exclusion::Channel => g.channels,
            },
            exported_per_plane: self.exported_per_plane() as u32 * per_page,
            order: match self.schemes.place {
                Place::Static(order) => order,
                Place::Dynamic | Place::RoundRobin => Default::default(),
            },
            parity: match self.raid.layout {
                RaidLayout::None => None,
                layout => Some(ParitySpec {
                    group: self.raid.group,
                    spread: layout == RaidLayout::Lci,
                    by_channel: self.raid.numbering == Numbering::Channel,
                }),
            },
        }
    }
}
