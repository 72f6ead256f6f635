//! The cache of SLC: blocks that are programmed with one bit a cell, and folded later (`slc.*`).

use serde::{Deserialize, Serialize};

use super::error::{LONGEST, refuse};
use super::{Config, ConfigError, Destination, MappingUnit, NocModel, Programming, RaidLayout, ReclaimUnit};
use crate::device::spec::{SlcSpec, SlcTimesSpec};
use crate::units::{Bytes, Nanos, Ppm};

/// Most bits a cell.
const MOST_BITS: u32 = 8;

choice! {
    /// Which blocks the cache has.
    SlcMode("lowercase") {
        /// None: there is no cache.
        None,
        /// The first blocks of every plane, for ever. They hold no other data.
        Static,
        /// Erased blocks of the plane, as long as there are enough.
        Dynamic,
    }
}

choice! {
    /// Which writes of the host the cache takes.
    SlcAccepts("lowercase") {
        /// All.
        All,
        /// Pages of requests of at most `slc.small` bytes.
        Small,
        /// Pages that were written at most `slc.window` page writes before.
        Hot,
    }
}

choice! {
    /// What a write does that the cache takes but has no room for.
    SlcFull("lowercase") {
        /// It is written as without a cache.
        Direct,
        /// It waits until a block of the cache is folded.
        Fold,
    }
}

choice! {
    /// When blocks are folded.
    SlcFold("lowercase") {
        /// When their die has been idle for `slc.idle`.
        Idle,
        /// Between operations of the host, from `slc.high` on, down to `slc.low`.
        Watermark,
        /// Both.
        Both,
    }
}

choice! {
    /// Which block is folded.
    SlcVictim("lowercase") {
        /// The one that became full first.
        Fifo,
        /// The one with the fewest valid pages; ties by its number.
        Greedy,
    }
}

choice! {
    /// How folded pages travel.
    SlcPath("lowercase") {
        /// Through the controller, where they are decoded.
        External,
        /// Inside their plane.
        Copyback,
    }
}

section! {
    /// A cache of SLC: the host's data go to blocks with one bit a cell, which are fast and small, and are folded into others later.
    #[derive(PartialEq)]
    Slc {
        /// Which blocks the cache has: `"none"` (there is no cache), `"static"` (the first `blocks` of every plane) or `"dynamic"`
        /// (erased blocks, up to `share` of a plane's).
        [since "0.1.3"]
        mode: SlcMode = SlcMode::None,
        /// Bits a cell of all other blocks. A block of the cache has so many times fewer pages.
        [since "0.1.3"]
        bits: u32 = 3,
        /// With `"static"`: blocks of each plane.
        [since "0.1.3"]
        blocks: u32 = 4,
        /// With `"dynamic"`: the largest share of a plane's blocks.
        [since "0.1.3"]
        share: Ppm = Ppm(300_000),
        /// Array time of a page read in the cache.
        [since "0.1.3"]
        read: Nanos = Nanos(25_000),
        /// Array time of a page program in the cache.
        [since "0.1.3"]
        program: Nanos = Nanos(200_000),
        /// Array time of an erase of a block of the cache. By default `timing.erase`.
        [since "0.1.3"]
        erase: Option<Nanos> = None,
        /// With `life.mode = "wear"` and `mode = "dynamic"`: mean P/E cycles of a block that is always one of the cache, so that an erase
        /// wears it accordingly less. By default ten times `life.endurance`. Blocks of a static cache do not wear out.
        [since "0.1.3"]
        endurance: Option<u32> = None,
        /// Which writes the cache takes: `"all"`, `"small"` (requests of at most `small` bytes) or `"hot"` (pages that were written at
        /// most `window` page writes before).
        [since "0.1.3"]
        accepts: SlcAccepts = SlcAccepts::All,
        /// With `accepts = "small"`: most bytes of a request.
        [since "0.1.3"]
        small: Bytes = Bytes(16 << 10),
        /// With `accepts = "hot"`: page writes of the host after which a page counts as cold. By default the exported pages.
        [since "0.1.3"]
        window: Option<u64> = None,
        /// What a write does that finds no room: `"direct"` (it is written as without a cache) or `"fold"` (it waits for a fold).
        [since "0.1.3"]
        full: SlcFull = SlcFull::Direct,
        /// When blocks are folded: `"idle"` (their die has been idle for `idle`), `"watermark"` (between operations of the host, from
        /// `high` on, down to `low`) or `"both"`.
        [since "0.1.3"]
        fold: SlcFold = SlcFold::Both,
        /// How long a die is idle before a block is folded.
        [since "0.1.3"]
        idle: Nanos = Nanos(10_000_000),
        /// Share of the cache above which blocks are folded.
        [since "0.1.3"]
        high: Ppm = Ppm(900_000),
        /// Share of the cache down to which blocks are folded then.
        [since "0.1.3"]
        low: Ppm = Ppm(500_000),
        /// Which block is folded: `"fifo"` or `"greedy"`.
        [since "0.1.3"]
        victim: SlcVictim = SlcVictim::Fifo,
        /// How folded pages travel: `"external"` or `"copyback"`.
        [since "0.1.3"]
        path: SlcPath = SlcPath::External,
        /// A page that the host has read so often stays in the cache when its block is folded. 0: never.
        [since "0.1.3"]
        reads: u32 = 0,
    }
}

impl Slc {
    /// Whether there is a cache.
    pub fn exists(&self) -> bool {
        self.mode != SlcMode::None
    }

    /// Whether blocks are folded when dies have been idle.
    pub fn folds_in_idle_time(&self) -> bool {
        self.exists() && self.fold != SlcFold::Watermark
    }

    /// Whether blocks are folded between operations of the host.
    pub fn folds_by_level(&self) -> bool {
        self.exists() && self.fold != SlcFold::Idle
    }
}

impl Config {
    /// Whether data of the host have several streams: those of handles, or those that the cache takes.
    pub(crate) fn has_streams(&self) -> bool {
        self.fdp.exists() || self.slc.exists()
    }

    /// Streams of the host's data for which the write cache gathers lines apart: those of handles, or what the cache of SLC takes and
    /// the rest.
    pub(crate) fn gathered_streams(&self) -> u32 {
        let apart = self.slc.exists() && self.slc.accepts != SlcAccepts::All;
        if apart { 2 } else { self.fdp.handles }
    }

    /// Blocks of each plane that belong to the cache for ever.
    pub(crate) fn slc_blocks(&self) -> u32 {
        if self.slc.mode == SlcMode::Static { self.slc.blocks } else { 0 }
    }

    /// Most blocks of a plane that belong to the cache at a time.
    fn most_slc_blocks(&self) -> u32 {
        match self.slc.mode {
            SlcMode::None => 0,
            SlcMode::Static => self.slc.blocks,
            SlcMode::Dynamic => {
                let blocks = u64::from(self.geometry.blocks_per_plane) * u64::from(self.slc.share.0);
                (blocks / Ppm::ONE) as u32
            }
        }
    }

    /// What the flash knows of the cache, if there is one.
    pub(crate) fn slc_spec(&self) -> Option<SlcSpec> {
        let per_block = self.geometry.pages_per_block;
        let planes = self.pages_in_scope() / (u64::from(self.geometry.blocks_per_plane) * u64::from(per_block));
        // Mapping units are the pages of the flash: a page of the cache is a super page of them.
        let slots = self.units().per_super_page();
        self.slc.exists().then(|| SlcSpec {
            pages: per_block / self.slc.bits * slots,
            fixed: self.slc_blocks(),
            most: self.most_slc_blocks(),
            floor: (self.free_pages(&self.gc.threshold) * u64::from(slots) / planes) as u32,
            waits_for_folds: self.slc.full == SlcFull::Fold,
            in_order: self.slc.victim == SlcVictim::Fifo,
        })
    }

    /// Array times of blocks of the cache.
    pub(crate) fn slc_times(&self) -> Option<SlcTimesSpec> {
        let Slc { read, program, erase, .. } = self.slc;
        self.slc.exists().then(|| SlcTimesSpec { read, program, erase: erase.unwrap_or(self.timing.erase) })
    }

    /// Checks the cache.
    pub(super) fn check_slc(&self) -> Result<(), ConfigError> {
        if !self.slc.exists() {
            return Ok(());
        }
        self.check_slc_blocks()?;
        let slc = &self.slc;
        for (key, share) in [("slc.high", slc.high), ("slc.low", slc.low)] {
            if u64::from(share.0) > Ppm::ONE {
                return refuse(key, format!("{} is no share from 0 to 1", share.as_f64()), "use for example 0.9");
            }
        }
        if slc.low >= slc.high {
            let message = format!("folding would begin above {} and end at {}", slc.high.as_f64(), slc.low.as_f64());
            return refuse("slc.low", message, "use less than slc.high");
        }
        if slc.accepts == SlcAccepts::Hot && slc.window == Some(0) {
            return refuse("slc.window", "no page would be hot".to_string(), "use 1 or more, or leave it out");
        }
        if slc.window.is_some() && slc.accepts != SlcAccepts::Hot {
            let message = "a window of page writes, but time decides nothing".to_string();
            return refuse("slc.window", message, "use slc.accepts = \"hot\", or leave it out");
        }
        let times = [("slc.read", slc.read), ("slc.program", slc.program), ("slc.idle", slc.idle)];
        for (key, time) in times.into_iter().chain(slc.erase.map(|time| ("slc.erase", time))) {
            if time.0 > LONGEST.0 {
                return refuse(key, format!("{time} is longer than an hour"), "check the unit");
            }
        }
        self.check_beside_slc()
    }

    /// Checks blocks of the cache.
    fn check_slc_blocks(&self) -> Result<(), ConfigError> {
        let (slc, per_block) = (&self.slc, self.geometry.pages_per_block);
        if !(2..=MOST_BITS).contains(&slc.bits) || !per_block.is_multiple_of(slc.bits) {
            let message = format!("{} bits a cell, but a block has {per_block} pages", slc.bits);
            return refuse("slc.bits", message, "use a divisor of geometry.pages_per_block from 2 to 8");
        }
        match slc.mode {
            SlcMode::Static if slc.blocks == 0 => {
                refuse("slc.blocks", "a cache without blocks".to_string(), "use 1 or more, or slc.mode = \"none\"")
            }
            SlcMode::Dynamic if slc.share.0 > 1_000_000 || self.most_slc_blocks() == 0 => {
                let message = format!(
                    "{} of {} blocks is no block, or more than all",
                    slc.share.as_f64(),
                    self.geometry.blocks_per_plane
                );
                refuse("slc.share", message, "use a larger share, at most 1, or slc.mode = \"none\"")
            }
            _ => Ok(()),
        }
    }

    /// Rejects what does not run with the cache.
    fn check_beside_slc(&self) -> Result<(), ConfigError> {
        let schemes = &self.schemes;
        let path = schemes.path.policy_ref();
        let others = [
            (self.raid.layout != RaidLayout::None, "raid.layout", "parity groups", "\"none\""),
            (self.collects_jointly(), "schemes.collector", "joint collections of planes", "another collector"),
            (self.stages(), "staging.slots", "pages of GC in the controller's buffer", "0 slots"),
            (
                path.separates() || path.keeps_counts(),
                "schemes.path",
                "write points and counts of copied pages",
                "another path",
            ),
            (
                schemes.route.replicate().is_some() || schemes.route.redirect().is_some(),
                "schemes.route",
                "redirected reads",
                "\"direct\"",
            ),
            (self.gc.destination != Destination::Plane, "gc.destination", "pages that leave their plane", "\"plane\""),
            (
                self.device.mapping_unit == MappingUnit::SuperPage,
                "device.mapping_unit",
                "entries of two planes",
                "\"page\"",
            ),
            (
                self.units().exist() && self.slc.path == SlcPath::Copyback,
                "slc.path",
                "units of pages that are not copied whole",
                "\"external\"",
            ),
            (self.units().exist() && self.slc.reads > 0, "slc.reads", "units of pages that are folded whole", "0"),
            (self.wear.programming == Programming::OneShot, "wear.programming", "programs of word lines", "\"page\""),
            (
                self.noc.model != NocModel::None,
                "noc.model",
                "the ways of folded pages across an interconnect",
                "\"none\"",
            ),
            (self.fdp.exists(), "fdp.handles", "several placement handles", "1"),
            (self.fdp.unit != ReclaimUnit::Block, "fdp.unit", "blocks of all planes", "\"block\""),
        ];
        match others.into_iter().find(|(used, ..)| *used) {
            None => Ok(()),
            Some((_, key, what, otherwise)) => {
                let message = format!("{what}, but a cache of SLC: how they meet is not decided");
                refuse(key, message, format!("use {otherwise}, or slc.mode = \"none\""))
            }
        }
    }
}
