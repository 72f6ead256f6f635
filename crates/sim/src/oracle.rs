//! The oracle: checks that no write is lost, no read is stale, and no page is mixed up.
//!
//! It is independent of the device's internals. Every write has a version. The tag (logical page, version) moves with the data,
//! is stored when a program ends, and is read back when an array read begins. Consistency rule `admission-order`: a read returns
//! the newest version admitted before it, or one admitted while it waited.
//!
//! Always checked: the laws in [`crate::device::flash`], one holder per resource, and causes that sum to the latency. With
//! `sampled`: tags of one logical page in 64. With `full`: tags of every page, the version of every sector from the first partial
//! write on, and a scan of all state every max(2^20, 8 x physical pages) events and at the end.
//!
//! Not checked: timing (tests do that) and wear limits. With `full`, acknowledgements to the host are recorded as well, for power
//! cuts.

use std::io;
use std::ops::Range;

use ssdlab_memory::prefetch;

use crate::carry::Carrier;
use crate::random;
use crate::sectors::{Sectors, Under};
pub use crate::units::Tag;
use crate::units::{Lpn, OpId, Ppn};
use crate::versions::{Admitted, CutVersions, Log, Recovered};

/// Extent of the oracle's checks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Check {
    /// Laws only.
    Off,
    /// Tags of one logical page in 64.
    #[default]
    Sampled,
    /// Tags of all pages, and full scans.
    Full,
}

/// Versions that flushes have made durable, or will.
#[derive(Clone, Debug)]
struct Flushed {
    /// By logical page: the newest version covered by a completed flush; 0 for none.
    durable: Vec<u32>,
    /// Logical pages written since the last flush was admitted.
    recent: Vec<Lpn>,
    /// By flush that has not completed: its number, and the versions that it covers.
    open: Vec<(u64, Vec<(Lpn, u32)>)>,
}

impl Flushed {
    fn new(logical: usize) -> Self {
        Flushed { durable: vec![0; logical], recent: Vec::new(), open: Vec::new() }
    }
}

/// 2^32 over the golden ratio: its multiples are spread evenly over 32 bits.
const HASH: u32 = 0x9E37_79B1;

/// Size of a group of logical pages; `sampled` watches at most one page per group.
const GROUP: usize = 32;

/// Versions and tags.
#[derive(Clone, Debug)]
pub struct Oracle {
    check: Check,
    /// Logical pages with a hash below this are watched: none, one in 64, or all.
    watches: u64,
    /// Newest admitted version by watched logical page.
    latest: Vec<u32>,
    /// `Full`: the tag stored in each page. `Sampled`: by group of 32 logical pages, the physical page and version that was last
    /// stored for the watched one, if any.
    stored: Vec<(u32, u32)>,
    /// `Full`: by logical page, the newest acknowledged version, and whether it is a trim (or nothing).
    acknowledged: Vec<(u32, bool)>,
    /// `Full`, with parity: by parity group, the contents of its two newest parity versions.
    parity: Vec<[u64; 2]>,
    /// `Full`, once a page has been written in part: versions by sector.
    sectors: Option<Box<Sectors>>,
    /// `Full`, with a write cache: versions that flushes have made durable.
    flushed: Option<Box<Flushed>>,
    /// `Full`, for a store of data: what it has yet to hear.
    log: Option<Box<Log>>,
}

impl Oracle {
    pub(crate) fn new(check: Check, logical: u32, physical: u32, flushes: bool) -> Self {
        let (latest, stored) = match check {
            Check::Off => (0, 0),
            Check::Sampled => (logical as usize / GROUP + 1, logical as usize / GROUP + 1),
            Check::Full => (logical as usize, physical as usize),
        };
        Oracle {
            check,
            watches: match check {
                Check::Off => 0,
                Check::Sampled => u64::from(u32::MAX / 64),
                Check::Full => 1 << 32,
            },
            latest: vec![0; latest],
            stored: vec![(u32::MAX, 0); stored],
            parity: Vec::new(),
            sectors: None,
            log: None,
            flushed: (flushes && check == Check::Full).then(|| Box::new(Flushed::new(logical as usize))),
            acknowledged: vec![(0, true); if check == Check::Full { logical as usize } else { 0 }],
        }
    }

    /// Carries versions and tags. Filling writes whole pages and completes no flush.
    pub(crate) fn carry_tags(&mut self, carrier: &mut Carrier<'_>) -> io::Result<()> {
        let Oracle { check: _, watches: _, latest, stored, acknowledged, parity, sectors: _, flushed: _, log: _ } =
            self;
        carrier.table(latest)?;
        carrier.table(stored)?;
        carrier.table(acknowledged)?;
        carrier.list(parity)
    }

    /// From now on the host may flush, or not, after a filling that did not depend on it. The first flush covers every page that was
    /// written.
    pub(crate) fn restart_flushes(&mut self, flushes: bool) {
        let logical = self.acknowledged.len();
        self.flushed = (flushes && self.check == Check::Full).then(|| {
            let recent = (0..logical as u32).map(Lpn).filter(|lpn| self.latest[lpn.ix()] > 0).collect();
            Box::new(Flushed { recent, ..Flushed::new(logical) })
        });
    }

    /// Extent of the checks.
    pub fn check(&self) -> Check {
        self.check
    }

    /// Whether a logical page is watched: all pages, or one in 64. A hash independent of the seed selects them, at most one per
    /// group.
    #[inline(always)]
    fn watched(&self, lpn: Lpn) -> Option<usize> {
        if u64::from(lpn.0.wrapping_mul(HASH)) >= self.watches {
            return None;
        }
        Some(if self.check == Check::Full { lpn.ix() } else { lpn.ix() / GROUP })
    }

    /// Whether the writes of a logical page have versions.
    #[inline(always)]
    pub(crate) fn is_watched(&self, lpn: Lpn) -> bool {
        self.watched(lpn).is_some()
    }

    /// Prefetches for a logical page that will soon be used.
    #[inline(always)]
    pub(crate) fn expect(&self, lpn: Lpn) {
        if self.check == Check::Full {
            prefetch(&self.latest, lpn.ix());
            prefetch(&self.acknowledged, lpn.ix());
        }
    }

    /// A write (or trim) is admitted. Returns its version.
    #[inline(always)]
    pub fn admit(&mut self, lpn: Lpn) -> Tag {
        match self.watched(lpn) {
            None => Tag::NONE,
            Some(i) => {
                self.latest[i] += 1;
                if let Some(flushed) = &mut self.flushed {
                    flushed.recent.push(lpn);
                }
                if let Some(log) = &mut self.log {
                    log.admitted.push(Admitted { page: lpn, version: self.latest[i], trim: false });
                }
                Tag { lpn, version: self.latest[i] }
            }
        }
    }

    /// The newest version of a watched page, otherwise 0.
    #[inline(always)]
    pub fn latest(&self, lpn: Lpn) -> u32 {
        self.watched(lpn).map_or(0, |i| self.latest[i])
    }

    /// A program ended: the page now holds `tag`.
    #[inline(always)]
    pub fn store(&mut self, page: Ppn, tag: Tag) {
        // A page put on flash in no time has a tag even if it is not watched. It must not use the entry of a watched page in its
        // group.
        if let Some(i) = self.watched(tag.lpn) {
            self.store_watched(page, tag, i);
        }
    }

    #[cold]
    fn store_watched(&mut self, page: Ppn, tag: Tag, i: usize) {
        if self.check == Check::Full {
            self.stored[page.ix()] = (tag.lpn.0, tag.version);
        } else if tag.version >= self.stored[i].1 {
            self.stored[i] = (page.0, tag.version);
        }
    }

    /// A program of host data ended. Sampled checks store a tag only if its version is `wanted`: a version that was overwritten in
    /// flight is on flash, but nothing points to it, and an older one may still be read for its parity group.
    #[inline(always)]
    pub(crate) fn land(&mut self, page: Ppn, tag: Tag, wanted: bool) {
        if wanted || self.check == Check::Full {
            self.store(page, tag);
        }
    }

    /// An array read begins. Returns the page's tag, if it is watched. `lpn` only locates the entry; it is not what is returned.
    #[inline(always)]
    pub fn load(&self, page: Ppn, lpn: Lpn) -> Tag {
        self.watched(lpn).map_or(Tag::NONE, |i| self.load_watched(page, lpn, i))
    }

    #[cold]
    fn load_watched(&self, page: Ppn, lpn: Lpn, i: usize) -> Tag {
        if self.check == Check::Full {
            let (lpn, version) = self.stored[page.ix()];
            return Tag { lpn: Lpn(lpn), version };
        }
        let (at, version) = self.stored[i];
        law_eq!(at, page.0, "oracle: logical page {} is read where it was last stored", lpn.0);
        Tag { lpn, version }
    }

    /// Pages are moved unchanged, the n-th from the page `from(n)` to the n-th page from `to` on: [`Oracle::load`] and
    /// [`Oracle::store`] in one.
    #[inline(always)]
    pub(crate) fn carry(&mut self, lpns: &[Lpn], from: impl Fn(usize) -> Ppn, to: Ppn) {
        // Most pages are not watched, so that four are tested at a time.
        let (fours, _) = lpns.as_chunks::<4>();
        for (k, four) in fours.iter().enumerate() {
            if four.iter().any(|lpn| self.is_watched(*lpn)) {
                self.carry_each(lpns, 4 * k..4 * k + 4, &from, to);
            }
        }
        self.carry_each(lpns, 4 * fours.len()..lpns.len(), &from, to);
    }

    #[inline(always)]
    fn carry_each(&mut self, lpns: &[Lpn], range: Range<usize>, from: impl Fn(usize) -> Ppn, to: Ppn) {
        for n in range {
            if let Some(i) = self.watched(lpns[n]) {
                self.carry_watched(lpns[n], from(n), Ppn(to.0 + n as u32), i);
            }
        }
    }

    #[cold]
    fn carry_watched(&mut self, lpn: Lpn, from: Ppn, to: Ppn, i: usize) {
        if self.check == Check::Full {
            self.stored[to.ix()] = self.stored[from.ix()];
            return;
        }
        let at = &mut self.stored[i].0;
        law_eq!(*at, from.0, "oracle: logical page {} is read where it was last stored", lpn.0);
        *at = to.0;
    }

    /// A read of `lpn` delivers `tag`. When it was admitted, the newest version was `expected`.
    #[inline(always)]
    pub fn delivered(&self, lpn: Lpn, tag: Tag, expected: u32) {
        if let Some(i) = self.watched(lpn) {
            self.delivered_watched(lpn, tag, expected, i);
        }
    }

    #[cold]
    fn delivered_watched(&self, lpn: Lpn, tag: Tag, expected: u32, i: usize) {
        law_eq!(tag.lpn, lpn, "oracle: a read delivers its own logical page");
        let newest = self.latest[i];
        let version = tag.version;
        law!(
            (expected..=newest).contains(&version),
            "oracle: a read of logical page {} delivers version {version}, not one from {expected} to {newest}",
            lpn.0
        );
    }

    /// A version is acknowledged to the host, or existed from the start.
    #[inline(always)]
    pub(crate) fn acknowledge(&mut self, tag: Tag) {
        if self.check == Check::Full && tag.lpn.is_some() {
            // Parity pages are not host pages, and have no entry.
            let Some(entry) = self.acknowledged.get_mut(tag.lpn.ix()) else { return };
            if tag.version >= entry.0 {
                *entry = (tag.version, false);
            }
        }
    }

    /// A trim has completed.
    pub(crate) fn acknowledge_trim(&mut self, tag: Tag) {
        if self.check == Check::Full {
            self.acknowledged[tag.lpn.ix()] = (tag.version, true);
        }
        if let Some(flushed) = &mut self.flushed {
            // Whatever was flushed before is no longer needed.
            flushed.durable[tag.lpn.ix()] = 0;
            flushed.open.iter_mut().for_each(|(_, versions)| versions.retain(|(lpn, _)| *lpn != tag.lpn));
        }
        // It is the last that was admitted.
        if let Some(last) = self.log.as_mut().and_then(|log| log.admitted.last_mut()) {
            last.trim = true;
        }
    }

    /// The newest acknowledged version of a logical page; none if it is trimmed or was never written.
    pub(crate) fn known(&self, lpn: Lpn) -> Option<u32> {
        let (version, gone) = self.acknowledged[lpn.ix()];
        (!gone).then_some(version)
    }

    /// After a power cut: the version that a logical page holds now. Returns whether a trimmed version has come back.
    pub(crate) fn recovered(&mut self, lpn: Lpn, found: Option<u32>) -> bool {
        if let Some(log) = &mut self.log {
            let sectors = self.sectors.as_ref().zip(found).and_then(|(by, version)| by.mixed(Tag { lpn, version }));
            log.cut.recovered.push(Recovered { page: lpn, version: found, sectors: sectors.cloned() });
        }
        let (version, gone) = self.acknowledged[lpn.ix()];
        if let Some(flushed) = &mut self.flushed {
            let durable = &mut flushed.durable[lpn.ix()];
            law!(
                *durable == 0 || found.is_some_and(|found| found >= *durable),
                "oracle: version {} of logical page {} was flushed, but {found:?} is found after a power cut",
                *durable,
                lpn.0
            );
            *durable = found.map_or(0, |found| found.min(*durable));
        }
        if let Some(sectors) = &mut self.sectors {
            sectors.recovered(lpn.0, found);
        }
        match found {
            Some(found) => {
                self.latest[lpn.ix()] = found;
                self.acknowledged[lpn.ix()] = (found, false);
            }
            None => self.acknowledged[lpn.ix()] = (self.latest[lpn.ix()], true),
        }
        gone && found.is_some_and(|found| found < version)
    }

    /// A lost logical page counts as never written.
    pub(crate) fn never_written(&mut self, lpn: Lpn) {
        if let Some(entry) = self.acknowledged.get_mut(lpn.ix()).filter(|entry| entry.0 == 0) {
            entry.1 = true;
        }
    }

    /// No version of a logical page is left: it counts as never written.
    pub(crate) fn forget(&mut self, lpn: Lpn) {
        self.latest[lpn.ix()] = 0;
        self.acknowledged[lpn.ix()] = (0, true);
        if let Some(sectors) = &mut self.sectors {
            sectors.forget(lpn.0);
        }
    }

    /// Contribution of a page with `tag` to the sum of its parity group: 0 if it was never written, otherwise a number that
    /// represents its data. `group` is the parity group of a parity page; its number was recorded when parity was computed.
    pub(crate) fn content(&self, tag: Tag, group: Option<u32>) -> u64 {
        if tag.version == 0 {
            return 0;
        }
        match group {
            Some(group) => self.parity[group as usize][tag.version as usize % 2],
            None => random::mix(u64::from(tag.lpn.0) << 32 | u64::from(tag.version)),
        }
    }

    /// Records the content of new parity of a group.
    pub(crate) fn set_parity(&mut self, group: u32, tag: Tag, content: u64) {
        if self.check == Check::Full {
            if self.parity.len() <= group as usize {
                self.parity.resize(group as usize + 1, [0; 2]);
            }
            self.parity[group as usize][tag.version as usize % 2] = content;
        }
    }

    /// At the end: checks that the mapped page holds the newest version of its logical page.
    pub(crate) fn at_rest(&self, lpn: Lpn, page: Ppn) {
        if let Some(i) = self.watched(lpn) {
            let tag = self.load(page, lpn);
            law_eq!(tag, Tag { lpn, version: self.latest[i] }, "oracle: the newest version is where the map says");
            if let Some(sectors) = &self.sectors {
                sectors.at_rest(tag);
            }
        }
    }

    // By sector, from the first partial write on. `Sectors` documents these calls.

    /// Whether versions are tracked by sector.
    #[inline(always)]
    pub(crate) fn tracks_sectors(&self) -> bool {
        self.sectors.is_some()
    }

    /// Starts tracking at the first partial write. A page has `per_page` sectors.
    #[inline(always)]
    pub(crate) fn track_sectors(&mut self, per_page: u32) {
        if self.check == Check::Full && self.sectors.is_none() {
            self.sectors = Some(Box::new(Sectors::new(per_page as usize)));
        }
    }

    fn by_sector(&mut self, note: impl FnOnce(&mut Sectors)) {
        if let Some(sectors) = &mut self.sectors {
            note(sectors);
        }
    }

    #[cold]
    pub(crate) fn admit_sectors(&mut self, tag: Tag, sectors: Option<Range<u32>>) {
        self.by_sector(|by| by.admit(tag, sectors));
    }

    #[cold]
    pub(crate) fn buffer(&mut self, run: u32, tag: Tag, sectors: Range<u32>, held: Option<Tag>) {
        self.by_sector(|by| by.buffer(run, tag, sectors, held));
    }

    #[cold]
    pub(crate) fn merged(&mut self, run: u32, lpn: Lpn, found: Option<Tag>) {
        let latest = Tag { lpn, version: self.latest(lpn) };
        self.by_sector(|by| by.merged(run, latest, found));
    }

    #[cold]
    pub(crate) fn run_ends(&mut self, run: u32) {
        self.by_sector(|by| by.run_ends(run));
    }

    #[cold]
    pub(crate) fn compose(&mut self, tag: Tag, run: u32, own: Option<Range<u32>>) {
        self.by_sector(|by| by.compose(tag, run, own));
    }

    #[cold]
    pub(crate) fn overlay(&mut self, tag: Tag, before: Tag, own: Option<Range<u32>>) {
        self.by_sector(|by| by.overlay(tag, before, own));
    }

    #[cold]
    pub(crate) fn expects(&mut self, read: OpId, lpn: Lpn) {
        self.by_sector(|by| by.expects(read.0, lpn.0));
    }

    /// A read gets the data stored under `tag`, and newer sectors that a run has in memory.
    pub(crate) fn read_flash(&self, read: OpId, sectors: Range<u32>, expected: u32, tag: Tag, run: u32) {
        if let Some(by) = &self.sectors {
            by.read(read.0, sectors, expected, Some(tag), run);
        }
    }

    /// A read gets the data that a run, or else the single write of `tag`, has in memory.
    pub(crate) fn read_memory(&self, read: OpId, sectors: Range<u32>, expected: u32, tag: Tag, run: u32) {
        if let Some(by) = &self.sectors {
            by.read(read.0, sectors, expected, (!by.buffers(run)).then_some(tag), run);
        }
    }

    /// Power is cut.
    pub(crate) fn power_cut(&mut self) {
        self.by_sector(Sectors::power_cut);
        if let Some(flushed) = &mut self.flushed {
            flushed.recent.clear();
            flushed.open.clear();
        }
    }

    // By line of the write cache. `Sectors` documents these calls.

    /// Whether the content of a part of controller memory is known by sector.
    pub(crate) fn buffers(&self, memory: u32) -> bool {
        self.sectors.as_ref().is_some_and(|by| by.buffers(memory))
    }

    pub(crate) fn pile(&mut self, memory: u32, on: &Under, tag: Tag, own: Range<u32>) {
        let latest = Tag { lpn: tag.lpn, version: self.latest(tag.lpn) };
        self.by_sector(|by| by.pile(memory, on, tag, own, latest));
    }

    pub(crate) fn brought(&mut self, memory: u32, found: Tag, sectors: Vec<u64>) {
        self.by_sector(|by| by.brought(memory, found, &sectors));
    }

    /// A line is programmed: its content is that of controller memory.
    pub(crate) fn compose_line(&mut self, memory: u32, tag: Tag) {
        let own = self.buffers(memory).then_some(0..0);
        self.by_sector(|by| by.compose(tag, memory, own));
    }

    /// A flush is admitted under this number. `acknowledged`: it covers acknowledged versions only.
    pub(crate) fn flush_begins(&mut self, number: u64, acknowledged: bool) {
        let Some(flushed) = &mut self.flushed else { return };
        let mut recent = std::mem::take(&mut flushed.recent);
        recent.sort_unstable();
        recent.dedup();
        let covered = |lpn: &Lpn| {
            let (latest, (known, gone)) = (self.latest[lpn.ix()], self.acknowledged[lpn.ix()]);
            // A trimmed page is not covered.
            let version = if acknowledged { known } else { latest };
            (!(gone && known == version)).then_some((*lpn, version))
        };
        let versions = recent.iter().filter_map(covered).collect();
        if acknowledged {
            // Later flushes cover the rest.
            recent.retain(|lpn| self.acknowledged[lpn.ix()].0 < self.latest[lpn.ix()]);
            flushed.recent = recent;
        }
        flushed.open.push((number, versions));
    }

    /// A flush has completed, and so has every earlier one.
    pub(crate) fn flush_ends(&mut self, number: u64) {
        let Some(flushed) = &mut self.flushed else { return };
        for (_, versions) in flushed.open.iter().filter(|(other, _)| *other <= number) {
            for (lpn, version) in versions {
                let durable = &mut flushed.durable[lpn.ix()];
                *durable = (*durable).max(*version);
            }
        }
        flushed.open.retain(|(other, _)| *other > number);
    }

    // For a store of data: see `crate::versions`.

    pub(crate) fn note_versions(&mut self) {
        self.log = Some(Box::default());
    }

    /// Precondition: `admitted` is empty.
    #[inline]
    pub(crate) fn swap_admitted(&mut self, admitted: &mut Vec<Admitted>) {
        if let Some(log) = &mut self.log
            && !log.admitted.is_empty()
        {
            std::mem::swap(&mut log.admitted, admitted);
        }
    }

    pub(crate) fn take_cut(&mut self) -> CutVersions {
        self.log.as_mut().map(|log| std::mem::take(&mut log.cut)).unwrap_or_default()
    }

    /// The program of a page with this tag is interrupted.
    pub(crate) fn tears(&mut self, tag: Tag) {
        if let Some(log) = &mut self.log {
            log.cut.torn.push((tag.lpn, tag.version));
        }
    }

    /// Visits the versions that a page with this tag holds.
    pub(crate) fn each_held(&self, tag: Tag, mut visit: impl FnMut(u32)) {
        match self.sectors.as_ref().and_then(|by| by.mixed(tag)) {
            Some(versions) => versions.iter().for_each(|version| visit(*version)),
            None => visit(tag.version),
        }
    }

    /// Visits the versions in parts of controller memory.
    pub(crate) fn each_in_memory(&self, memories: &[u32], mut visit: impl FnMut(u32)) {
        let Some(by) = &self.sectors else { return };
        memories.iter().flat_map(|memory| by.in_memory(*memory)).for_each(&mut visit);
    }

    /// Forgets the content of tags that are neither stored nor in flight.
    pub(crate) fn sweep_sectors(&mut self, in_flight: impl Iterator<Item = Tag>) {
        let (stored, Some(by)) = (&self.stored, &mut self.sectors) else { return };
        if by.is_crowded(stored.len()) {
            by.keep(stored.iter().copied().chain(in_flight.map(|tag| (tag.lpn.0, tag.version))));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two watched pages of a group would be less than a group apart, so their multiples of the hash would be close.
    #[test]
    fn one_page_in_64_is_watched_and_never_two_of_a_group() {
        let close = |apart: u32| apart.wrapping_mul(HASH).min(apart.wrapping_mul(HASH).wrapping_neg()) < u32::MAX / 64;
        assert!((1..GROUP as u32).all(|apart| !close(apart)));
        let oracle = Oracle::new(Check::Sampled, 1 << 20, 1 << 20, false);
        for from in [0, 1 << 19, 12_345] {
            for step in [1, 2, 4, 64, 1000] {
                let watched = (0..500).filter(|i| oracle.watched(Lpn(from + i * step)).is_some()).count();
                assert!((3..=15).contains(&watched), "{watched} of 500 pages from {from} in steps of {step}");
            }
        }
        assert_eq!(oracle.watched(Lpn::NONE), None);
    }
}
