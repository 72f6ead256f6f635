//! Overwritten pages that stay until their newer versions are on flash (`device.keep_overwritten`).
//!
//! Of each logical page the newest version on flash is valid: the map's page, or, while newer ones are on their way, the
//! `old` page of the newest of them. Versions that land meanwhile take its place in order of admission, so that a collection
//! never erases what a power cut would have to bring back.

use super::Ssd;
use crate::device::mapping::Location;
use crate::device::transaction::Need;
use crate::units::{OpId, Ppn};

impl Ssd {
    /// A write is admitted: the newest version on flash is its own to keep now.
    #[inline(never)]
    pub(super) fn keep_old(&mut self, op: OpId) {
        let (lpn, age) = (self.ops[op].lpn, self.ops[op].age);
        (self.ops[op].old, self.ops[op].old_age) = match self.dev.map.get(lpn) {
            Location::Flash(page) => (page, age),
            Location::Staged(before) => {
                let before = &mut self.ops[before];
                (std::mem::replace(&mut before.old, Ppn::NONE), before.old_age)
            }
            Location::Nowhere => (Ppn::NONE, age),
        };
    }

    /// The page that a partial write is merged with; none if a newer version is all that is wanted.
    #[inline(always)]
    pub(super) fn merge_source(&self, op: OpId) -> Ppn {
        let page = &self.ops[op];
        if !self.keeps || page.need != Need::Merge {
            return page.old;
        }
        match self.dev.map.get(page.lpn) {
            Location::Staged(newest) => self.ops[newest].old,
            Location::Flash(_) | Location::Nowhere => Ppn::NONE,
        }
    }

    /// A version that is not the newest has been programmed to `page`: it is kept if none on flash is newer. Returns whether.
    pub(super) fn keeps_instead(&mut self, op: OpId, page: Ppn) -> bool {
        let (lpn, age) = (self.ops[op].lpn, self.ops[op].age);
        if lpn.is_none() {
            return false;
        }
        let Location::Staged(newest) = self.dev.map.get(lpn) else { return false };
        if age < self.ops[newest].old_age {
            return false;
        }
        self.let_go(newest);
        let newest = &mut self.ops[newest];
        (newest.old, newest.old_age) = (page, age);
        true
    }

    /// A write has no more need of its old page.
    #[inline(always)]
    pub(super) fn let_go(&mut self, op: OpId) {
        let op = &mut self.ops[op];
        let (old, lpn) = (std::mem::replace(&mut op.old, Ppn::NONE), op.lpn);
        if old.is_some() {
            self.dev.flash.invalidate(old, self.dev.geometry.block_of(old), lpn);
        }
    }
}
