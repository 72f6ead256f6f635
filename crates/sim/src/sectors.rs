//! Versions by sector, for the full oracle: the version in each sector of a page, where partial writes mix them.
//!
//! Pages that are not listed hold one version in all sectors. The content of a program belongs to its tag (logical page,
//! version), so it moves with the tag.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::units::Tag;

/// See the module's documentation.
#[derive(Clone, Debug)]
pub(crate) struct Sectors {
    per_page: usize,
    /// By logical page: the newest admitted version of each sector.
    newest: BTreeMap<u32, Vec<u32>>,
    /// By run of partial writes: the versions in controller memory.
    memory: BTreeMap<u32, Vec<Option<u32>>>,
    /// By tag: the programmed versions.
    held: BTreeMap<(u32, u32), Vec<u32>>,
    /// By read in flight: the newest versions at its admission.
    expected: BTreeMap<u32, Vec<u32>>,
}

/// What lies under a write in controller memory.
#[derive(Clone, Debug)]
pub(crate) enum Under {
    /// The content of another part of the memory, or else that of a tag in all sectors.
    Memory(u32, Tag),
    /// The content of a page on flash whose sectors are in memory, too.
    Held(Tag),
    /// Sectors that are only on flash.
    Flash,
    /// Nothing: the page has no content.
    Nothing,
}

impl Sectors {
    /// A write of the sectors `own` comes into controller memory, over what lies there.
    pub(crate) fn pile(&mut self, memory: u32, on: &Under, tag: Tag, own: Range<u32>, latest: Tag) {
        let whole = |versions: Vec<u32>| versions.into_iter().map(Some).collect();
        let mut content = match on {
            Under::Memory(other, before) => {
                self.memory.get(other).cloned().unwrap_or_else(|| whole(self.held(*before)))
            }
            Under::Held(before) => whole(self.held(*before)),
            Under::Flash => vec![None; self.per_page],
            Under::Nothing => whole(self.newest(latest)),
        };
        content[own.start as usize..own.end as usize].fill(Some(tag.version));
        self.memory.insert(memory, content);
    }

    /// A read has brought sectors (bits) of a page that holds `found`.
    pub(crate) fn brought(&mut self, memory: u32, found: Tag, sectors: &[u64]) {
        let held = self.held(found);
        for (i, sector) in self.memory.get_mut(&memory).into_iter().flatten().enumerate() {
            if sectors[i / 64] >> (i % 64) & 1 == 1 {
                sector.get_or_insert(held[i]);
            }
        }
    }

    pub(crate) fn new(per_page: usize) -> Self {
        let (newest, memory) = (BTreeMap::new(), BTreeMap::new());
        Sectors { per_page, newest, memory, held: BTreeMap::new(), expected: BTreeMap::new() }
    }

    fn key(tag: Tag) -> (u32, u32) {
        (tag.lpn.0, tag.version)
    }

    /// Versions stored under a tag, if they are not all its own.
    pub(crate) fn mixed(&self, tag: Tag) -> Option<&Vec<u32>> {
        self.held.get(&Self::key(tag))
    }

    /// Versions in a part of controller memory.
    pub(crate) fn in_memory(&self, memory: u32) -> impl Iterator<Item = u32> {
        self.memory.get(&memory).into_iter().flatten().filter_map(|version| *version)
    }

    /// Versions stored under a tag.
    fn held(&self, tag: Tag) -> Vec<u32> {
        self.held.get(&Self::key(tag)).cloned().unwrap_or_else(|| vec![tag.version; self.per_page])
    }

    /// The newest version of each sector of a page; `latest` is the page's newest version.
    fn newest(&self, latest: Tag) -> Vec<u32> {
        self.newest.get(&latest.lpn.0).cloned().unwrap_or_else(|| vec![latest.version; self.per_page])
    }

    /// A write of `sectors`, or of the whole page, is admitted.
    pub(crate) fn admit(&mut self, tag: Tag, sectors: Option<Range<u32>>) {
        let Some(sectors) = sectors else {
            self.newest.remove(&tag.lpn.0);
            return;
        };
        let per_page = self.per_page;
        let newest = self.newest.entry(tag.lpn.0).or_insert_with(|| vec![tag.version - 1; per_page]);
        newest[sectors.start as usize..sectors.end as usize].fill(tag.version);
    }

    /// A write of a run is in controller memory. `held`: content of the whole page in memory before it, if the run is new.
    pub(crate) fn buffer(&mut self, run: u32, tag: Tag, sectors: Range<u32>, held: Option<Tag>) {
        if !self.memory.contains_key(&run) {
            let before = held.map(|tag| self.held(tag).into_iter().map(Some).collect());
            self.memory.insert(run, before.unwrap_or_else(|| vec![None; self.per_page]));
        }
        if let Some(memory) = self.memory.get_mut(&run) {
            memory[sectors.start as usize..sectors.end as usize].fill(Some(tag.version));
        }
    }

    /// Missing sectors of a run have been read from a page that holds `found`. Without such a page, reads of them can expect only
    /// the version that the host last wrote there.
    pub(crate) fn merged(&mut self, run: u32, latest: Tag, found: Option<Tag>) {
        let held = found.map(|tag| self.held(tag)).unwrap_or_else(|| self.newest(latest));
        for (sector, held) in self.memory.get_mut(&run).into_iter().flatten().zip(held) {
            sector.get_or_insert(held);
        }
    }

    pub(crate) fn run_ends(&mut self, run: u32) {
        self.memory.remove(&run);
    }

    /// Whether the memory content of a run is known.
    pub(crate) fn buffers(&self, run: u32) -> bool {
        self.memory.contains_key(&run)
    }

    /// A program begins. It contains its own sectors and, for the others, the memory of its run. A whole-page write owns all
    /// sectors.
    pub(crate) fn compose(&mut self, tag: Tag, run: u32, own: Option<Range<u32>>) {
        self.held.remove(&Self::key(tag));
        let Some(own) = own else { return };
        let Some(memory) = self.memory.get(&run) else { panic!("oracle: a partial write is in memory") };
        let sector = |(i, version): (usize, &Option<u32>)| match version {
            _ if own.contains(&(i as u32)) => tag.version,
            Some(version) => *version,
            None => panic!("oracle: a program of logical page {} lacks sector {i}", tag.lpn.0),
        };
        let held = memory.iter().enumerate().map(sector).collect();
        self.held.insert(Self::key(tag), held);
    }

    /// A write replaces sectors of a whole page in the buffer.
    pub(crate) fn overlay(&mut self, tag: Tag, before: Tag, own: Option<Range<u32>>) {
        let mut held = self.held(before);
        self.held.remove(&Self::key(tag));
        if let Some(own) = own {
            held[own.start as usize..own.end as usize].fill(tag.version);
            self.held.insert(Self::key(tag), held);
        }
    }

    /// A read is admitted.
    pub(crate) fn expects(&mut self, read: u32, lpn: u32) {
        match self.newest.get(&lpn) {
            Some(newest) => _ = self.expected.insert(read, newest.clone()),
            None => _ = self.expected.remove(&read),
        }
    }

    /// A read of these sectors gets the data in the memory of a run, and otherwise the data stored under a tag.
    pub(crate) fn read(&self, read: u32, sectors: Range<u32>, expected: u32, flash: Option<Tag>, run: u32) {
        let (held, memory) = (flash.map(|tag| self.held(tag)), self.memory.get(&run));
        for i in sectors.start as usize..sectors.end as usize {
            let here = memory.and_then(|memory| memory[i]).or(held.as_ref().map(|held| held[i]));
            let least = self.expected.get(&read).map_or(expected, |expected| expected[i]);
            law!(
                here.is_some_and(|version| version >= least),
                "oracle: a read gets version {here:?} of sector {i}, not one from {least} on"
            );
        }
    }

    /// At the end: checks that a page holds the newest version of every sector.
    pub(crate) fn at_rest(&self, tag: Tag) {
        law_eq!(self.held(tag), self.newest(tag), "oracle: logical page {} holds the newest of each sector", tag.lpn.0);
    }

    /// After a power cut, a logical page holds this version, or nothing.
    pub(crate) fn recovered(&mut self, lpn: u32, found: Option<u32>) {
        self.newest.remove(&lpn);
        let Some(version) = found else { return self.forget(lpn) };
        // Later version numbers are assigned again.
        let later: Vec<(u32, u32)> =
            self.held.range((lpn, version + 1)..=(lpn, u32::MAX)).map(|(key, _)| *key).collect();
        later.iter().for_each(|key| _ = self.held.remove(key));
        if let Some(held) = self.held.get_mut(&(lpn, version)) {
            held.iter_mut().for_each(|sector| *sector = (*sector).min(version));
            self.newest.insert(lpn, held.clone());
        }
    }

    /// No version of a logical page is left: its versions start from the beginning.
    pub(crate) fn forget(&mut self, lpn: u32) {
        self.newest.remove(&lpn);
        let of_page: Vec<(u32, u32)> = self.held.range((lpn, 0)..=(lpn, u32::MAX)).map(|(key, _)| *key).collect();
        of_page.iter().for_each(|key| _ = self.held.remove(key));
    }

    /// Power is cut: nothing is in flight.
    pub(crate) fn power_cut(&mut self) {
        self.memory.clear();
        self.expected.clear();
    }

    /// Whether more tags are kept than `pages` pages can hold.
    pub(crate) fn is_crowded(&self, pages: usize) -> bool {
        self.held.len() > 2 * pages
    }

    /// Drops the content of all tags except these.
    pub(crate) fn keep(&mut self, tags: impl Iterator<Item = (u32, u32)>) {
        let tags: BTreeSet<(u32, u32)> = tags.collect();
        self.held.retain(|key, _| tags.contains(key));
    }
}
