//! The write cache (`cache.*`).

use serde::{Deserialize, Serialize};

use super::error::{LONGEST, refuse};
use super::{Config, ConfigError, MappingUnit, Programming, RaidLayout};
use crate::schemes::Place;
use crate::units::{Bytes, Nanos, Ppm};

choice! {
    /// What a write does with the cache.
    CacheWrite("lowercase") {
        /// It is acknowledged when its pages have lines, which are written back to flash later.
        Back,
        /// It is acknowledged by flash. Its pages are then kept for reads.
        Through,
        /// It is acknowledged by flash, and not kept.
        None,
    }
}

choice! {
    /// What the cache keeps for reads.
    CacheRead("lowercase") {
        /// Lines that writes have filled.
        Written,
        /// Also what reads bring.
        All,
        /// Nothing: a line is free once it is on flash. Reads are served from lines that are not.
        None,
    }
}

choice! {
    /// Which clean line makes room.
    CacheEvict("lowercase") {
        /// The one least recently written or hit by a read.
        Lru,
        /// The one taken first.
        Fifo,
    }
}

choice! {
    /// When lines are written back.
    Writeback("lowercase") {
        /// At once.
        Eager,
        /// From `cache.high` dirty lines on, down to `cache.low`.
        Watermark,
        /// When the page's die is idle, and as with `watermark` from `cache.high` on.
        Idle,
    }
}

choice! {
    /// Which dirty line is written back first.
    CacheOrder("lowercase") {
        /// The one that became dirty first.
        Fifo,
        /// The one least recently written.
        Lru,
        /// Lines that fill a multi-plane command, then as `fifo`.
        Stripe,
    }
}

choice! {
    /// Which lines a program takes that has several units.
    CachePack("lowercase") {
        /// As many as it has units. Fewer go only for a flush, forced unit access, `cache.hold` or at the end; the rest is padding.
        Full,
        /// Those that are ready; the rest is padding.
        Any,
    }
}

choice! {
    /// What a flush waits for.
    CacheFlush("lowercase") {
        /// Until every page admitted before it is on flash.
        Program,
        /// Nothing: the capacitor keeps the cache.
        None,
    }
}

section! {
    /// The write cache in controller memory. Without `size` there is none, and the other keys have no effect.
    #[derive(PartialEq)]
    Cache {
        /// Bytes for lines of one page each; none by default.
        [since "0.1.1"]
        size: Bytes = Bytes(0),
        /// What a write does with the cache.
        [since "0.1.1"]
        write: CacheWrite = CacheWrite::Back,
        /// What the cache keeps for reads.
        [since "0.1.1"]
        read: CacheRead = CacheRead::Written,
        /// Which clean line makes room.
        [since "0.1.1"]
        evict: CacheEvict = CacheEvict::Lru,
        /// When lines are written back.
        [since "0.1.1"]
        writeback: Writeback = Writeback::Eager,
        /// Share of lines dirty from which `watermark` and `idle` write back.
        [since "0.1.1"]
        high: Ppm = Ppm(800_000),
        /// Share of lines dirty at which they stop.
        [since "0.1.1"]
        low: Ppm = Ppm(500_000),
        /// Which dirty line is written back first.
        [since "0.1.1"]
        order: CacheOrder = CacheOrder::Fifo,
        /// Time for a page into or out of the cache, at any rate of pages; `device.memory` by default.
        [since "0.1.1"]
        time: Option<Nanos> = None,
        /// Most dirty lines, because the capacitor can write no more pages to flash; all lines by default.
        [since "0.1.1"]
        plp_budget: Option<u32> = None,
        /// What a flush waits for.
        [since "0.1.1"]
        flush: CacheFlush = CacheFlush::Program,
        /// How long a dirty line stays in the cache before it is written back at once; for ever by default. For `watermark` and
        /// `idle`.
        [since "0.1.3"]
        hold: Option<Nanos> = None,
        /// Which lines a program takes, where it has several units (`device.mapping_unit`, `geometry.pages_per_program`).
        [since "0.1.3"]
        pack: CachePack = CachePack::Full,
    }
}

impl Cache {
    /// Whether there is a cache.
    pub fn exists(&self) -> bool {
        self.size.0 > 0
    }

    /// Whether it takes writes before they are on flash.
    pub fn buffers(&self) -> bool {
        self.exists() && self.write == CacheWrite::Back
    }
}

impl Config {
    /// Lines of the write cache: pages, or units, that `cache.size` holds.
    pub fn cache_lines(&self) -> u32 {
        u32::try_from(self.cache.size.0 / u64::from(self.units().bytes)).unwrap_or(u32::MAX)
    }

    /// Checks the write cache.
    pub(super) fn check_cache(&self) -> Result<(), ConfigError> {
        let (cache, page) = (&self.cache, Bytes(self.units().bytes.into()));
        if !cache.exists() {
            return Ok(());
        }
        if cache.size.0 < page.0 {
            let what = if self.units().per_page > 1 { "unit" } else { "page" };
            let message = format!("{} is less than a line, which is a {what} of {page}", cache.size);
            return refuse("cache.size", message, format!("use {page} or more, or \"0B\" for none"));
        }
        if cache.size.0 / self.geometry.page_size.0 > self.geometry.pages() {
            let message = format!("{} hold more pages than the flash", cache.size);
            return refuse("cache.size", message, "use a smaller cache");
        }
        if cache.time.is_some_and(|time| time.0 > LONGEST.0) {
            return refuse("cache.time", "longer than an hour".into(), "check the unit");
        }
        self.check_hold()?;
        if cache.low >= cache.high {
            let (low, high) = (cache.low.as_f64(), cache.high.as_f64());
            let message = format!("write-back would stop at {low} of the lines, but starts at {high}");
            return refuse("cache.low", message, "use a share below cache.high");
        }
        let reads = (cache.write, cache.read);
        if matches!(reads, (CacheWrite::Through | CacheWrite::None, CacheRead::None)) {
            let message = "neither writes nor reads would use the cache".to_string();
            return refuse("cache.read", message, "use \"all\" or \"written\", or cache.write = \"back\"");
        }
        if reads == (CacheWrite::None, CacheRead::Written) {
            let message = "no write fills a line, so no read finds one".to_string();
            return refuse("cache.read", message, "use \"all\", or cache.write = \"through\" or \"back\"");
        }
        if cache.plp_budget == Some(0) {
            let message = "no line could ever be dirty".to_string();
            return refuse("cache.plp_budget", message, "use 1 or more, or cache.write = \"through\"");
        }
        if cache.order == CacheOrder::Stripe {
            self.check_stripes()?;
        }
        if !self.device.power_loss_protection {
            let message = "there is no capacitor".to_string();
            let help = "leave it out, or use device.power_loss_protection = true";
            if cache.plp_budget.is_some() {
                return refuse("cache.plp_budget", message, help);
            }
            if cache.flush == CacheFlush::None {
                return refuse("cache.flush", "flushed pages would be lost: there is no capacitor".into(), help);
            }
        }
        self.check_beside_cache()
    }

    /// Whether lines can be held.
    fn check_hold(&self) -> Result<(), ConfigError> {
        let (cache, key) = (&self.cache, "cache.hold");
        let Some(hold) = cache.hold else { return Ok(()) };
        if hold.0 > LONGEST.0 {
            return refuse(key, "longer than an hour".into(), "check the unit");
        }
        if cache.write != CacheWrite::Back {
            let message = "writes go to flash at once, so no line is held".to_string();
            return refuse(key, message, "leave it out, or use cache.write = \"back\"");
        }
        if cache.writeback == Writeback::Eager && !self.units().exist() {
            let message = "eager write-back holds no line".to_string();
            return refuse(key, message, "leave it out, or use cache.writeback = \"watermark\" or \"idle\"");
        }
        Ok(())
    }

    /// What write-back by multi-plane commands needs.
    fn check_stripes(&self) -> Result<(), ConfigError> {
        let key = "cache.order";
        if !self.device.multi_plane || self.geometry.planes_per_die == 1 {
            let message = "no program carries several lines".to_string();
            return refuse(
                key,
                message,
                "use device.multi_plane = true and geometry.planes_per_die = 2 or more, or \"fifo\"",
            );
        }
        if self.schemes.place == Place::Dynamic {
            let message = "any lines fill a multi-plane command where any plane takes them".to_string();
            return refuse(key, message, "use \"fifo\", or a static schemes.place");
        }
        Ok(())
    }

    /// What the write cache rules out.
    fn check_beside_cache(&self) -> Result<(), ConfigError> {
        let others = [
            (self.raid.layout != RaidLayout::None, "raid.layout", "\"none\""),
            (self.noc.exists(), "noc.model", "\"none\""),
            (self.stages(), "staging.slots", "0"),
            (self.schemes.route.replicate().is_some(), "schemes.route", "\"direct\""),
            (self.device.mapping_unit == MappingUnit::SuperPage, "device.mapping_unit", "\"page\""),
            (self.wear.programming == Programming::OneShot, "wear.programming", "\"page\""),
        ];
        for (used, other, value) in others {
            if used {
                let message = "the write cache is not simulated with it".to_string();
                return refuse(other, message, format!("use {value}, or cache.size = \"0B\""));
            }
        }
        Ok(())
    }
}
