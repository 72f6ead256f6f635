//! Page map: location of the newest version of each logical page.

use std::io;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use ssdlab_memory::{Table, prefetch};

use super::flash::Flash;
use super::geometry::Geometry;
use crate::carry::Carrier;
use crate::units::{Lpn, OpId, Ppn};

/// Location of the newest version of a logical page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Location {
    /// Nowhere: never written, or trimmed.
    Nowhere,
    /// On flash.
    Flash(Ppn),
    /// In controller memory; this operation carries it to flash.
    Staged(OpId),
}

const STAGED: u32 = 1 << 31;
const NOWHERE: u32 = Ppn::NONE.0;

/// The page map. An entry is a [`Location`] in four bytes: the top bit distinguishes staged from flash.
#[derive(Clone, Debug)]
pub struct Mapping {
    entries: Table<u32>,
    /// Whether a page on flash may have moved, or may not be the newest version any more, since the last [`Mapping::asked_by`].
    changed: bool,
    /// Operations of this age and younger ones have asked since the changes before.
    settled: u64,
}

impl Mapping {
    pub(crate) fn new(geometry: &Geometry) -> Self {
        Mapping { entries: Table::filled(geometry.mapped as usize, NOWHERE), changed: true, settled: 0 }
    }

    /// Carries all entries.
    pub(crate) fn carry(&mut self, carrier: &mut Carrier<'_>) -> io::Result<()> {
        let Mapping { entries, changed, settled: _ } = self;
        *changed = true;
        carrier.table(entries)
    }

    /// An operation, which is younger than all that did so before, has looked up where a page is on flash.
    #[inline(always)]
    pub(crate) fn asked_by(&mut self, age: u64) {
        if self.changed {
            self.changed = false;
            self.settled = age;
        }
    }

    /// Whether that page must still be there, for an operation of this age.
    #[inline(always)]
    pub(crate) fn is_as_asked(&self, age: u64) -> bool {
        !self.changed && age >= self.settled
    }

    /// Location of the newest version of `lpn`.
    #[inline(always)]
    pub fn get(&self, lpn: Lpn) -> Location {
        match self.entries[lpn.ix()] {
            NOWHERE => Location::Nowhere,
            entry if entry & STAGED != 0 => Location::Staged(OpId(entry & !STAGED)),
            entry => Location::Flash(Ppn(entry)),
        }
    }

    /// The page that holds the newest version of `lpn`, if it is on flash.
    #[inline(always)]
    pub(crate) fn on_flash(&self, lpn: Lpn) -> Option<Ppn> {
        let entry = self.entries[lpn.ix()];
        (entry & STAGED == 0).then_some(Ppn(entry))
    }

    /// The page that holds the newest version of `lpn`, or none if it is nowhere; nothing if it is in controller memory.
    #[inline(always)]
    pub(crate) fn at_rest(&self, lpn: Lpn) -> Option<Ppn> {
        let entry = self.entries[lpn.ix()];
        (entry & STAGED == 0 || entry == NOWHERE).then_some(Ppn(entry))
    }

    /// Whether the newest version of any page is in controller memory.
    pub(crate) fn any_in_flight(&self) -> bool {
        // No exit at the first one: so that several are tested at a time.
        self.entries.iter().fold(false, |any, entry| any | (entry & STAGED != 0 && *entry != NOWHERE))
    }

    /// The newest version of `lpn` is on flash from now on, if it is the one that an operation carries there. Returns whether it is.
    #[inline(always)]
    pub(crate) fn land(&mut self, lpn: Lpn, op: OpId, page: Ppn) -> bool {
        let entry = &mut self.entries[lpn.ix()];
        let carried = *entry == op.0 | STAGED;
        if carried {
            *entry = page.0;
        }
        carried
    }

    /// Prefetches the entry of a page that will soon be looked up.
    #[inline(always)]
    pub(crate) fn expect(&self, lpn: Lpn) {
        prefetch(&self.entries, lpn.ix());
    }

    #[inline(always)]
    pub(crate) fn set(&mut self, lpn: Lpn, location: Location) {
        self.changed = true;
        self.entries[lpn.ix()] = match location {
            Location::Nowhere => NOWHERE,
            Location::Flash(page) => page.0,
            Location::Staged(op) => op.0 | STAGED,
        };
    }

    /// Pages have moved, the n-th from the page `from(n)` to the n-th page from `to` on. Returns whether the map pointed to all of
    /// them; where it points elsewhere, nothing changes. Entries of the pages `ahead` are prefetched, one a page.
    #[inline(always)]
    pub(crate) fn redirect(&mut self, lpns: &[Lpn], from: impl Fn(usize) -> Ppn, to: Ppn, ahead: &[Lpn]) -> bool {
        self.changed = true;
        let entries = &mut self.entries[..];
        let mut all = true;
        let mut step = |entries: &mut [u32], n: usize| {
            let entry = &mut entries[lpns[n].ix()];
            if *entry == from(n).0 {
                *entry = to.0.wrapping_add(n as u32);
            } else {
                all = false;
            }
        };
        // Two loops, so that none asks whether there is a page ahead.
        let near = ahead.len().min(lpns.len());
        for (n, ahead) in ahead[..near].iter().enumerate() {
            prefetch(entries, ahead.ix());
            step(entries, n);
        }
        (near..lpns.len()).for_each(|n| step(entries, n));
        all
    }

    /// The map, for threads that have each their own logical pages.
    pub(crate) fn shared(&mut self) -> SharedMap<'_> {
        self.changed = true;
        SharedMap(self.entries.shared())
    }

    /// Checks that every mapped page holds the valid copy of its logical page.
    pub(crate) fn recount(&self, flash: &Flash) {
        for lpn in (0..self.entries.len() as u32).map(Lpn) {
            if let Location::Flash(page) = self.get(lpn) {
                law_eq!(flash.lpn_of(page), lpn, "the page that logical page {} maps to holds it", lpn.0);
            }
        }
    }
}

/// A map that several threads use, where no page is staged. No two threads use the same logical page.
#[derive(Clone, Copy)]
pub(crate) struct SharedMap<'a>(&'a [AtomicU32]);

impl SharedMap<'_> {
    /// The page that holds the newest version of `lpn`; none if it was never written.
    #[inline(always)]
    pub(crate) fn get(&self, lpn: Lpn) -> Option<Ppn> {
        let entry = self.0[lpn.ix()].load(Relaxed);
        (entry != NOWHERE).then_some(Ppn(entry))
    }

    #[inline(always)]
    pub(crate) fn set(&self, lpn: Lpn, page: Ppn) {
        self.0[lpn.ix()].store(page.0, Relaxed);
    }

    /// See [`Mapping::expect`].
    #[inline(always)]
    pub(crate) fn expect(&self, lpn: Lpn) {
        prefetch(self.0, lpn.ix());
    }
}
