//! Versions by sector, for the full oracle: which version each sector of a page holds, where partial writes mix them.
//!
//! Pages that are not listed hold one version throughout. What a program stores belongs to its tag (logical page, version), and
//! so goes wherever the tag goes.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::units::Tag;

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Sectors {
    per_page: usize,
    /// By logical page: the newest admitted version of each sector.
    newest: BTreeMap<u32, Vec<u32>>,
    /// By run of partial writes: what controller memory has of its page.
    memory: BTreeMap<u32, Vec<Option<u32>>>,
    /// By tag: what is programmed under it.
    held: BTreeMap<(u32, u32), Vec<u32>>,
    /// By read in flight: the newest versions when it was admitted.
    expected: BTreeMap<u32, Vec<u32>>,
}

impl Sectors {
    pub(crate) fn new(per_page: usize) -> Self {
        let (newest, memory) = (BTreeMap::new(), BTreeMap::new());
        Sectors { per_page, newest, memory, held: BTreeMap::new(), expected: BTreeMap::new() }
    }

    fn key(tag: Tag) -> (u32, u32) {
        (tag.lpn.0, tag.version)
    }

    /// What is stored under a tag.
    fn held(&self, tag: Tag) -> Vec<u32> {
        self.held.get(&Self::key(tag)).cloned().unwrap_or_else(|| vec![tag.version; self.per_page])
    }

    /// The newest version of each sector of a page whose newest version this is.
    fn newest(&self, latest: Tag) -> Vec<u32> {
        self.newest.get(&latest.lpn.0).cloned().unwrap_or_else(|| vec![latest.version; self.per_page])
    }

    /// A write is admitted: of these sectors, or of the whole page.
    pub(crate) fn admit(&mut self, tag: Tag, sectors: Option<Range<u32>>) {
        let Some(sectors) = sectors else {
            self.newest.remove(&tag.lpn.0);
            return;
        };
        let per_page = self.per_page;
        let newest = self.newest.entry(tag.lpn.0).or_insert_with(|| vec![tag.version - 1; per_page]);
        newest[sectors.start as usize..sectors.end as usize].fill(tag.version);
    }

    /// A write of a run is in controller memory; `held`: what all of its page held there before it, if the run is new.
    pub(crate) fn buffer(&mut self, run: u32, tag: Tag, sectors: Range<u32>, held: Option<Tag>) {
        if !self.memory.contains_key(&run) {
            let before = held.map(|tag| self.held(tag).into_iter().map(Some).collect());
            self.memory.insert(run, before.unwrap_or_else(|| vec![None; self.per_page]));
        }
        if let Some(memory) = self.memory.get_mut(&run) {
            memory[sectors.start as usize..sectors.end as usize].fill(Some(tag.version));
        }
    }

    /// What a run lacks has come from a page that holds `found`. If there is none, nothing newer than what the host last wrote there
    /// can be asked for.
    pub(crate) fn merged(&mut self, run: u32, latest: Tag, found: Option<Tag>) {
        let held = found.map(|tag| self.held(tag)).unwrap_or_else(|| self.newest(latest));
        for (sector, held) in self.memory.get_mut(&run).into_iter().flatten().zip(held) {
            sector.get_or_insert(held);
        }
    }

    pub(crate) fn run_ends(&mut self, run: u32) {
        self.memory.remove(&run);
    }

    /// Whether it is known what memory has of a run.
    pub(crate) fn buffers(&self, run: u32) -> bool {
        self.memory.contains_key(&run)
    }

    /// A program begins: its own sectors and, for the others, what memory has of its run. All if it is of a whole page.
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

    /// A read of these sectors gets what is stored under a tag, or what memory has of a run, where it has it.
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

    /// At the end: a page holds the newest version of every sector.
    pub(crate) fn at_rest(&self, tag: Tag) {
        law_eq!(self.held(tag), self.newest(tag), "oracle: logical page {} holds the newest of each sector", tag.lpn.0);
    }

    /// After a power cut a logical page holds this version, or nothing.
    pub(crate) fn recovered(&mut self, lpn: u32, found: Option<u32>) {
        self.newest.remove(&lpn);
        let Some(version) = found else { return self.forget(lpn) };
        // Numbers beyond it are given again.
        let later: Vec<(u32, u32)> =
            self.held.range((lpn, version + 1)..=(lpn, u32::MAX)).map(|(key, _)| *key).collect();
        later.iter().for_each(|key| _ = self.held.remove(key));
        if let Some(held) = self.held.get_mut(&(lpn, version)) {
            held.iter_mut().for_each(|sector| *sector = (*sector).min(version));
            self.newest.insert(lpn, held.clone());
        }
    }

    /// Nothing is left of a logical page: its versions begin anew.
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

    /// Whether more is kept than so many pages can hold.
    pub(crate) fn is_crowded(&self, pages: usize) -> bool {
        self.held.len() > 2 * pages
    }

    /// Keeps what these tags stand for.
    pub(crate) fn keep(&mut self, tags: impl Iterator<Item = (u32, u32)>) {
        let tags: BTreeSet<(u32, u32)> = tags.collect();
        self.held.retain(|key, _| tags.contains(key));
    }
}
