//! Reads: served from lines, from writes that wait for a line, or from flash.

use super::lines::State;
use super::order::NONE;
use crate::config::CacheRead;
use crate::device::mapping::Location;
use crate::device::transaction::Class;
use crate::engine::Ssd;
use crate::engine::kernel::ops::Page;
use crate::units::{Lpn, OpId, Ppn, UnitId};

/// Where a read is served now.
pub(in crate::engine) enum Served {
    /// In controller memory.
    Memory,
    /// From this page.
    Flash(Ppn),
    /// As without a cache.
    Otherwise,
}

impl Ssd {
    /// Where a read is served now.
    pub(in crate::engine) fn served(&self, op: OpId) -> Served {
        let lpn = self.kernel.ops[op].lpn;
        let lines = &self.features.cache().lines;
        match self.dev.map.get(lpn) {
            Location::Staged(newest) if self.rules.buffers => {
                let old = self.kernel.ops[Page(newest)].old;
                // What moves between blocks is in memory, too.
                let memory = old.is_none() || self.is_in_hand(old) || self.is_in_memory(op, newest);
                if memory { Served::Memory } else { Served::Flash(old) }
            }
            Location::Flash(page) => match lines.of(lpn) {
                _ if self.is_in_hand(page) => Served::Memory,
                NONE => Served::Flash(page),
                line if lines.has(line, self.kernel.sectors(op)) => Served::Memory,
                _ => Served::Flash(page),
            },
            Location::Staged(_) | Location::Nowhere => Served::Otherwise,
        }
    }

    /// Whether all sectors of a read are in its page's line or in writes that wait for one, of which `newest` is the last.
    fn is_in_memory(&self, op: OpId, newest: OpId) -> bool {
        let lines = &self.features.cache().lines;
        let lpn = self.kernel.ops[op].lpn;
        let line = lines.of(lpn);
        if line != NONE && lines.has(line, self.kernel.sectors(op)) {
            return true;
        }
        self.kernel.sectors(op).all(|sector| {
            let mut at = if self.kernel.ops[newest].class == Class::Host { newest } else { OpId::NONE };
            while at.is_some() {
                if self.sectors_of_write(at).contains(&sector) {
                    return true;
                }
                at = self.kernel.ops.cached[at].behind;
            }
            line != NONE && lines.has(line, sector..sector + 1)
        })
    }

    /// A page read is admitted. Returns whether it waits for flash; none if it is served as without a cache.
    #[inline(never)]
    pub(in crate::engine) fn read_cached(&mut self, op: OpId, lpn: Lpn, measured: bool) -> Option<bool> {
        match self.served(op) {
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
            && self.is_in_hand(self.kernel.ops[Page(newest)].old)
            && !self.is_in_memory(op, newest)
        {
            return self.hits_hand(op, self.kernel.ops[Page(newest)].old);
        }
        if let Location::Flash(page) = self.dev.map.get(lpn)
            && self.is_in_hand(page)
        {
            note_lost(self, op, page);
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

    /// A read is served from a line, or a write that waits for one, and from an old version of the unit in the controller.
    #[inline(never)]
    fn hits_hand(&mut self, op: OpId, old: Ppn) {
        let lpn = self.kernel.ops[op].lpn;
        note_lost(self, op, old);
        let found = self.oracle.load(old, lpn);
        let tag = self.delivers(op, found);
        self.oracle.delivered(lpn, tag, self.kernel.ops[Page(op)].expected);
        self.features.cache_mut().counts.hits += 1;
    }

    /// A read of a page with or without a line begins on flash.
    pub(in crate::engine) fn begin_cached_read(&mut self, op: OpId) {
        let lpn = self.kernel.ops[op].lpn;
        let cache = self.features.cache();
        let (line, base) = (cache.lines.of(lpn), cache.bases[lpn.ix()]);
        let waits = matches!(self.dev.map.get(lpn), Location::Staged(_));
        let cached = &mut self.kernel.ops.cached[op];
        (cached.fills, cached.period) = (line != NONE || waits, base);
        if self.rules.units {
            self.features.cache_mut().counts.misses += 1;
        }
    }

    /// A host read has reached the head of a unit's queue: it looks at the cache again.
    #[inline(never)]
    pub(in crate::engine) fn select_cached_read(&mut self, op: OpId, unit: UnitId) {
        if self.rules.units {
            return self.select_units(op, unit);
        }
        let lpn = self.kernel.ops[op].lpn;
        match self.served(op) {
            Served::Memory => {
                self.hits(op, lpn);
                self.select_in_memory(op, unit);
            }
            Served::Flash(at) => {
                self.begin_cached_read(op);
                let before = self.kernel.ops[op].unit;
                self.begin_read(op, at, unit);
                let state = &self.kernel.dies[before];
                if state.array() == op || state.cache() == op {
                    self.features.cache_mut().counts.misses += 1;
                }
            }
            Served::Otherwise => match self.dev.map.get(lpn) {
                Location::Staged(newest) if self.needs_old(op, newest) => {
                    let old = self.features.old_page(&self.kernel, &self.dev, newest);
                    self.begin_read(op, old, unit);
                }
                place => {
                    if let Location::Staged(newest) = place {
                        self.note_memory_read(op, self.kernel.ops[Page(newest)].tags[0]);
                    }
                    self.select_in_memory(op, unit);
                }
            },
        }
    }

    /// The page on flash that a host read would read now; none if it needs none.
    pub(in crate::engine) fn page_beside_cache(&self, op: OpId) -> Ppn {
        let mate = self.kernel.ops[op].mate;
        match self.served(op) {
            // Another unit of the same operation may need flash.
            Served::Memory | Served::Otherwise if mate.is_some() => self.page_beside_cache(mate),
            Served::Flash(page) => page,
            Served::Memory => Ppn::NONE,
            Served::Otherwise => match self.dev.map.get(self.kernel.ops[op].lpn) {
                Location::Staged(newest) if self.needs_old(op, newest) => {
                    self.features.old_page(&self.kernel, &self.dev, newest)
                }
                _ => Ppn::NONE,
            },
        }
    }

    /// The data of a host read is out: its sectors are in the line of its page, if that still lacks them, or a line is taken. A newer
    /// version of the page keeps them if one had begun before the read: it has, or will have, what it brings itself.
    #[inline(never)]
    pub(in crate::engine) fn read_brings(&mut self, op: OpId) {
        let (now, lpn, sectors) = (self.now, self.kernel.ops[op].lpn, self.kernel.sectors(op));
        let (fills, base) = (self.kernel.ops.cached[op].fills, self.kernel.ops.cached[op].period);
        let cache = self.features.cache_mut();
        if cache.bases[lpn.ix()] != base {
            // What was read is on flash no longer.
            return;
        }
        let here = cache.lines.of(lpn);
        if !matches!(self.dev.map.get(lpn), Location::Flash(_)) {
            if fills && here != NONE {
                self.fills(op, here, sectors);
            }
            return;
        }
        let cache = self.features.cache_mut();
        if here != NONE {
            cache.lines.add(here, sectors);
            cache.lines.hit(here, now);
        } else if cache.keys.read == CacheRead::All
            && let Some(line) = cache.lines.take(lpn, now)
        {
            cache.lines.add(line, sectors);
            cache.lines.rest(line);
        }
    }

    /// The sectors of a read are in a line that lacks some.
    fn fills(&mut self, op: OpId, line: u32, sectors: std::ops::Range<u32>) {
        if self.features.cache().lines.all[line as usize].lacking == 0 {
            return;
        }
        let lpn = self.kernel.ops[op].lpn;
        self.features.cache_mut().lines.add(line, sectors.clone());
        if self.oracle.tracks_sectors() {
            let found = self.kernel.ops[Page(op)].tags[1];
            let mut bits = vec![0u64; self.features.cache().lines.sectors.div_ceil(64) as usize];
            sectors.for_each(|sector| bits[sector as usize / 64] |= 1 << (sector % 64));
            for memory in self.kernel.memories_of(&self.dev, &self.oracle, lpn, line) {
                self.oracle.brought(memory, found, bits.clone());
            }
        }
        if self.features.cache().lines.all[line as usize].lacking == 0 && self.features.cache().protected {
            self.discard_kept(lpn);
        }
    }

    /// A host write that bypasses the cache has been programmed. With `cache.write = "through"` its page is put in a line.
    #[inline(never)]
    pub(in crate::engine) fn written_through(&mut self, op: OpId, newest: bool) {
        let (now, lpn, place) = (self.now, self.kernel.ops[op].lpn, self.kernel.ops.cached[op].place);
        let cache = self.features.cache_mut();
        cache.bypassing -= 1;
        cache.replaces_base(lpn);
        self.flushes_lose(place);
        if !newest || !self.features.cache().writes_through() {
            return;
        }
        let lines = &mut self.features.cache_mut().lines;
        debug_assert!(lines.of(lpn) == NONE, "a write drops its page's line");
        if let Some(line) = lines.take(lpn, now) {
            lines.complete(line);
            lines.all[line as usize].state = State::Clean;
            lines.rest(line);
        }
    }
}

/// A read is served from a place in the controller, whose unit may be lost; not what a line has.
fn note_lost(ssd: &mut Ssd, op: OpId, place: Ppn) {
    let lines = &ssd.features.cache().lines;
    let line = lines.of(ssd.kernel.ops[op].lpn);
    if ssd.dev.is_lost(place) && !(line != NONE && lines.has(line, ssd.kernel.sectors(op))) {
        ssd.host.report_uncorrectable(&ssd.kernel, op);
    }
}
