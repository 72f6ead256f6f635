//! Where the newest version of each logical page is.

use super::flash::Flash;
use super::geometry::Geometry;
use crate::units::{Lpn, OpId, Ppn};

/// Where the newest version of a logical page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Location {
    /// Nowhere: never written, or trimmed.
    Nowhere,
    /// On flash.
    Flash(Ppn),
    /// In controller memory, on its way to flash with this operation.
    Staged(OpId),
}

const STAGED: u32 = 1 << 31;
const NOWHERE: u32 = u32::MAX;

/// The page map. An entry is a [`Location`] in four bytes: the top bit tells staged from flash.
#[derive(Clone, Debug)]
pub struct Mapping {
    entries: Vec<u32>,
}

impl Mapping {
    pub(crate) fn new(geometry: &Geometry) -> Self {
        Mapping { entries: vec![NOWHERE; geometry.exported as usize] }
    }

    /// Where the newest version of `lpn` is.
    #[inline(always)]
    pub fn get(&self, lpn: Lpn) -> Location {
        match self.entries[lpn.ix()] {
            NOWHERE => Location::Nowhere,
            entry if entry & STAGED != 0 => Location::Staged(OpId(entry & !STAGED)),
            entry => Location::Flash(Ppn(entry)),
        }
    }

    #[inline(always)]
    pub(crate) fn set(&mut self, lpn: Lpn, location: Location) {
        self.entries[lpn.ix()] = match location {
            Location::Nowhere => NOWHERE,
            Location::Flash(page) => page.0,
            Location::Staged(op) => op.0 | STAGED,
        };
    }

    /// The landing rule for a moved page: it is published only if the map still points to where it came from. Returns
    /// whether it was; a page overwritten or trimmed while it moved lands stale.
    #[inline]
    pub(crate) fn land_move(&mut self, lpn: Lpn, from: Ppn, to: Ppn) -> bool {
        let entry = &mut self.entries[lpn.ix()];
        if *entry == from.0 {
            *entry = to.0;
            return true;
        }
        false
    }

    /// Logical pages that are somewhere.
    pub(crate) fn recount(&self, flash: &Flash) {
        let mut mapped = 0;
        for (lpn, _) in self.entries.iter().enumerate() {
            if let Location::Flash(page) = self.get(Lpn(lpn as u32)) {
                assert_eq!(flash.lpn_of(page), Lpn(lpn as u32), "the page that logical page {lpn} maps to holds it");
                mapped += 1;
            }
        }
        let _ = mapped;
    }
}
