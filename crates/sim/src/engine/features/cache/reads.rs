//! Reads: served from lines, from writes that wait for a line, or from flash.

use crate::config::{CacheRead, Config};
use crate::device::mapping::Location;
use crate::device::transaction::{Class, Need};
use crate::engine::features::cache::lines::State;
use crate::engine::features::cache::order::NONE;
use crate::engine::kernel::Kernel;
use crate::engine::kernel::ops::Page;
use crate::engine::rules::Rules;
use crate::engine::{Device, Features, Host, Ssd};
use crate::oracle::Oracle;
use crate::units::{Lpn, Nanos, OpId, Ppn, Tag, UnitId};

/// Where a read is served now.
pub(in crate::engine) enum Served {
    /// In controller memory.
    Memory,
    /// From this page.
    Flash(Ppn),
    /// As without a cache.
    Otherwise,
}

impl Features {
    /// Where a read is served now.
    pub(in crate::engine) fn served(
        &self,
        kernel: &Kernel,
        dev: &Device,
        rules: &Rules,
        config: &Config,
        op: OpId,
    ) -> Served {
        let lpn = kernel.ops[op].lpn;
        let lines = &self.cache().lines;
        match dev.map.get(lpn) {
            Location::Staged(newest) if rules.buffers => {
                let old = kernel.ops[Page(newest)].old;
                // What moves between blocks is in memory, too.
                let memory =
                    old.is_none() || dev.is_in_hand(rules, old) || self.is_in_memory(kernel, dev, config, op, newest);
                if memory { Served::Memory } else { Served::Flash(old) }
            }
            Location::Flash(page) => match lines.of(lpn) {
                _ if dev.is_in_hand(rules, page) => Served::Memory,
                NONE => Served::Flash(page),
                line if lines.has(line, kernel.sectors(op)) => Served::Memory,
                _ => Served::Flash(page),
            },
            Location::Staged(_) | Location::Nowhere => Served::Otherwise,
        }
    }

    /// The page on flash that a host read, or a fill of a line, would read now beside the cache, or `Ppn::NONE` if it needs none. `None`
    /// without a cache, and for other operations.
    #[inline(always)]
    pub(in crate::engine) fn page_beside_cache(
        &self,
        kernel: &Kernel,
        dev: &Device,
        host: &Host,
        rules: &Rules,
        config: &Config,
        op: OpId,
    ) -> Option<Ppn> {
        if !rules.caches {
            return None;
        }
        let page = &kernel.ops[op];
        match page.need {
            Need::Read => Some(self.page_not_cached(kernel, dev, host, rules, config, op)),
            Need::Merge if page.class == Class::Cache => Some(self.page_to_fill(kernel, dev, rules, op)),
            Need::Merge | Need::Write | Need::Absorb => None,
        }
    }

    /// The same with a cache.
    fn page_not_cached(
        &self,
        kernel: &Kernel,
        dev: &Device,
        host: &Host,
        rules: &Rules,
        config: &Config,
        op: OpId,
    ) -> Ppn {
        let mate = kernel.ops[op].mate;
        match self.served(kernel, dev, rules, config, op) {
            // Another unit of the same operation may need flash.
            Served::Memory | Served::Otherwise if mate.is_some() => {
                self.page_not_cached(kernel, dev, host, rules, config, mate)
            }
            Served::Flash(page) => page,
            Served::Memory => Ppn::NONE,
            Served::Otherwise => match dev.map.get(kernel.ops[op].lpn) {
                Location::Staged(newest) if host.needs_old(kernel, dev, rules, op, newest) => {
                    self.old_page(kernel, dev, newest)
                }
                _ => Ppn::NONE,
            },
        }
    }

    /// Whether all sectors of a read are in its page's line or in writes that wait for one, of which `newest` is the last.
    fn is_in_memory(&self, kernel: &Kernel, dev: &Device, config: &Config, op: OpId, newest: OpId) -> bool {
        let lines = &self.cache().lines;
        let lpn = kernel.ops[op].lpn;
        let line = lines.of(lpn);
        if line != NONE && lines.has(line, kernel.sectors(op)) {
            return true;
        }
        kernel.sectors(op).all(|sector| {
            let mut at = if kernel.ops[newest].class == Class::Host { newest } else { OpId::NONE };
            while at.is_some() {
                if self.sectors_of_write(kernel, dev, config, at).contains(&sector) {
                    return true;
                }
                at = kernel.ops.cached[at].behind;
            }
            line != NONE && lines.has(line, sector..sector + 1)
        })
    }

    /// A read of a page with or without a line begins on flash.
    pub(in crate::engine) fn begin_cached_read(&mut self, kernel: &mut Kernel, dev: &Device, rules: &Rules, op: OpId) {
        let lpn = kernel.ops[op].lpn;
        let cache = self.cache();
        let (line, base) = (cache.lines.of(lpn), cache.bases[lpn.ix()]);
        let waits = matches!(dev.map.get(lpn), Location::Staged(_));
        let cached = &mut kernel.ops.cached[op];
        (cached.fills, cached.period) = (line != NONE || waits, base);
        if rules.units {
            self.cache_mut().counts.misses += 1;
        }
    }

    /// The data of a host read is out: its sectors are in the line of its page, if that still lacks them, or a line is taken. A newer
    /// version of the page keeps them if one had begun before the read: it has, or will have, what it brings itself.
    /// Returns whether that one has all sectors now, and needs the old page no longer.
    #[inline(never)]
    pub(super) fn read_brings(
        &mut self,
        kernel: &Kernel,
        dev: &Device,
        oracle: &mut Oracle,
        now: Nanos,
        op: OpId,
    ) -> bool {
        let (lpn, sectors) = (kernel.ops[op].lpn, kernel.sectors(op));
        let (fills, base) = (kernel.ops.cached[op].fills, kernel.ops.cached[op].period);
        let cache = self.cache_mut();
        if cache.bases[lpn.ix()] != base {
            // What was read is on flash no longer.
            return false;
        }
        let here = cache.lines.of(lpn);
        if !matches!(dev.map.get(lpn), Location::Flash(_)) {
            return fills && here != NONE && self.fills(kernel, dev, oracle, op, here, sectors);
        }
        let cache = self.cache_mut();
        if here != NONE {
            cache.lines.add(here, sectors);
            cache.lines.hit(here, now);
        } else if cache.keys.read == CacheRead::All
            && let Some(line) = cache.lines.take(lpn, now)
        {
            cache.lines.add(line, sectors);
            cache.lines.rest(line);
        }
        false
    }

    /// The sectors of a read are in a line that lacks some. Returns whether its old page is needed no longer.
    fn fills(
        &mut self,
        kernel: &Kernel,
        dev: &Device,
        oracle: &mut Oracle,
        op: OpId,
        line: u32,
        sectors: std::ops::Range<u32>,
    ) -> bool {
        if self.cache().lines.all[line as usize].lacking == 0 {
            return false;
        }
        let lpn = kernel.ops[op].lpn;
        self.cache_mut().lines.add(line, sectors.clone());
        if oracle.tracks_sectors() {
            let found = kernel.ops[Page(op)].tags[1];
            let mut bits = vec![0u64; self.cache().lines.sectors.div_ceil(64) as usize];
            sectors.for_each(|sector| bits[sector as usize / 64] |= 1 << (sector % 64));
            for memory in kernel.memories_of(dev, oracle, lpn, line) {
                oracle.brought(memory, found, bits.clone());
            }
        }
        self.cache().lines.all[line as usize].lacking == 0 && self.cache().protected
    }

    /// A host write that bypasses the cache has been programmed. Returns whether a flush may be done.
    #[inline(never)]
    pub(super) fn bypass_ends(&mut self, kernel: &Kernel, op: OpId) -> bool {
        let cache = self.cache_mut();
        cache.bypassing -= 1;
        cache.replaces_base(kernel.ops[op].lpn);
        cache.flushes_lose(kernel.ops.cached[op].place)
    }

    /// The newest version of a page has bypassed the cache. With `cache.write = "through"` it is put in a line.
    #[inline(never)]
    pub(super) fn written_through(&mut self, now: Nanos, lpn: Lpn) {
        if !self.cache().writes_through() {
            return;
        }
        let lines = &mut self.cache_mut().lines;
        debug_assert!(lines.of(lpn) == NONE, "a write drops its page's line");
        if let Some(line) = lines.take(lpn, now) {
            lines.complete(line);
            lines.all[line as usize].state = State::Clean;
            lines.rest(line);
        }
    }
}

impl Host {
    /// A read is served from a place in the controller, whose unit may be lost; not what a line has.
    fn note_lost(&mut self, kernel: &Kernel, dev: &Device, features: &Features, op: OpId, place: Ppn) {
        let lines = &features.cache().lines;
        let line = lines.of(kernel.ops[op].lpn);
        if dev.is_lost(place) && !(line != NONE && lines.has(line, kernel.sectors(op))) {
            self.report_uncorrectable(kernel, op);
        }
    }
}

impl Ssd {
    /// A page read is admitted. Returns whether it waits for flash; none if it is served as without a cache.
    #[inline(never)]
    pub(super) fn read_cached(&mut self, op: OpId, lpn: Lpn, measured: bool) -> Option<bool> {
        match self.features.served(&self.kernel, &self.dev, &self.rules, &self.config, op) {
            Served::Otherwise => None,
            Served::Memory => {
                self.stats.pages.from_memory += u64::from(measured);
                self.hits(op, lpn);
                self.serve_from_memory(op);
                Some(false)
            }
            Served::Flash(page) => {
                self.kernel.aim(&self.dev, op, self.dev.geometry.plane_of(page));
                Some(true)
            }
        }
    }

    /// A read is served from controller memory.
    pub(in crate::engine) fn hits(&mut self, op: OpId, lpn: Lpn) {
        let now = self.now;
        if let Location::Staged(newest) = self.dev.map.get(lpn)
            && self.dev.is_in_hand(&self.rules, self.kernel.ops[Page(newest)].old)
            && !self.features.is_in_memory(&self.kernel, &self.dev, &self.config, op, newest)
        {
            // A part is from an old version of the unit in the controller.
            let old = self.kernel.ops[Page(newest)].old;
            self.host.note_lost(&self.kernel, &self.dev, &self.features, op, old);
            let found = self.oracle.load(old, lpn);
            let tag = self.kernel.delivers(&self.dev, &self.oracle, &self.rules, op, found);
            self.oracle.delivered(lpn, tag, self.kernel.ops[Page(op)].expected);
            self.features.cache_mut().counts.hits += 1;
            return;
        }
        if let Location::Flash(page) = self.dev.map.get(lpn)
            && self.dev.is_in_hand(&self.rules, page)
        {
            self.host.note_lost(&self.kernel, &self.dev, &self.features, op, page);
        }
        let (tag, memory) = match self.dev.map.get(lpn) {
            Location::Staged(newest) => (self.kernel.ops[Page(newest)].tags[0], self.kernel.memory_of(newest)),
            Location::Flash(page) => (self.oracle.load(page, lpn), u32::MAX),
            Location::Nowhere => unreachable!("it is somewhere"),
        };
        let expected = self.kernel.ops[Page(op)].expected;
        self.oracle.delivered(lpn, tag, expected);
        let sectors = self.kernel.sectors(op);
        self.oracle.read_memory(op, sectors, expected, tag, memory);
        let cache = self.features.cache_mut();
        cache.counts.hits += 1;
        let line = cache.lines.of(lpn);
        if line != NONE {
            cache.lines.hit(line, now);
        }
    }

    /// A host read has reached the head of a unit's queue: it looks at the cache again.
    #[inline(never)]
    pub(in crate::engine) fn select_cached_read(&mut self, op: OpId, unit: UnitId) {
        if self.rules.units {
            return self.select_units(op, unit);
        }
        let lpn = self.kernel.ops[op].lpn;
        match self.features.served(&self.kernel, &self.dev, &self.rules, &self.config, op) {
            Served::Memory => {
                self.hits(op, lpn);
                self.select_in_memory(op, unit);
            }
            Served::Flash(at) => {
                self.features.begin_cached_read(&mut self.kernel, &self.dev, &self.rules, op);
                let before = self.kernel.ops[op].unit;
                self.begin_read(op, at, unit);
                let state = &self.kernel.dies[before];
                if state.array() == op || state.cache() == op {
                    self.features.cache_mut().counts.misses += 1;
                }
            }
            Served::Otherwise => match self.dev.map.get(lpn) {
                Location::Staged(newest) if self.host.needs_old(&self.kernel, &self.dev, &self.rules, op, newest) => {
                    let old = self.features.old_page(&self.kernel, &self.dev, newest);
                    self.begin_read(op, old, unit);
                }
                place => {
                    if let Location::Staged(newest) = place {
                        self.host.note_memory_read(
                            &self.kernel,
                            &self.dev,
                            &mut self.oracle,
                            &self.rules,
                            op,
                            self.kernel.ops[Page(newest)].tags[0],
                        );
                    }
                    self.select_in_memory(op, unit);
                }
            },
        }
    }
}

/// A host read has reached the head of a unit's queue. With a cache, it looks there again; returns whether there is one.
#[inline(always)]
pub(in crate::engine) fn selects(ssd: &mut Ssd, op: OpId, unit: UnitId) -> bool {
    if ssd.rules.caches {
        ssd.select_cached_read(op, unit);
    }
    ssd.rules.caches
}

impl Kernel {
    /// An array read has loaded a tag. With a cache, it is kept beside the read: what a read brings into a line is what it found, because
    /// GC in no time may erase the page before its data is out.
    #[inline(always)]
    pub(in crate::engine) fn keep_found(&mut self, rules: &Rules, op: OpId, tag: Tag) {
        if rules.caches {
            self.ops[Page(op)].tags[1] = tag;
        }
    }
}
