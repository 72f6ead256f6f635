//! Overwritten pages that stay valid until their newer versions are on flash (`device.keep_overwritten`).
//!
//! For each logical page the newest version on flash is valid: the map's page or, while newer versions are in flight, the `old`
//! page of the newest of them. Versions that land meanwhile replace it in order of admission, so GC never erases a version that a
//! power cut would need.

use crate::device::mapping::Location;
use crate::engine::kernel::Kernel;
use crate::engine::kernel::ops::Page;
use crate::engine::rules::Rules;
use crate::engine::{Device, Ssd};
use crate::units::{OpId, Ppn};

impl Kernel {
    /// A write is admitted to a run that still has to read the old page: the newest write keeps it.
    pub(in crate::engine) fn hand_on(&mut self, op: OpId, before: Location) {
        self.ops[Page(op)].old = match before {
            Location::Flash(page) => page,
            Location::Staged(before) => std::mem::replace(&mut self.ops[Page(before)].old, Ppn::NONE),
            Location::Nowhere => Ppn::NONE,
        };
    }

    /// A write is admitted: it keeps the newest version on flash from now on.
    #[inline(never)]
    pub(in crate::engine) fn keep_old(&mut self, dev: &Device, op: OpId) {
        let (lpn, age) = (self.ops[op].lpn, self.ops[op].age);
        (self.ops[Page(op)].old, self.ops[Page(op)].old_age) = match dev.map.get(lpn) {
            Location::Flash(page) => (page, age),
            Location::Staged(before) => {
                let before = &mut self.ops[Page(before)];
                (std::mem::replace(&mut before.old, Ppn::NONE), before.old_age)
            }
            Location::Nowhere => (Ppn::NONE, age),
        };
    }
}

/// A write is admitted. Returns whether it keeps the newest version on flash, valid, until it is there itself. False unless overwritten
/// pages are kept.
#[inline(always)]
pub(in crate::engine) fn keeps_old(kernel: &mut Kernel, dev: &Device, rules: &Rules, op: OpId) -> bool {
    if rules.keeps {
        kernel.keep_old(dev, op);
    }
    rules.keeps
}

/// A version that is not the newest has been programmed to `page`. Returns whether it is kept, because none on flash is newer. False
/// unless overwritten pages are kept.
#[inline(always)]
pub(in crate::engine) fn is_kept(ssd: &mut Ssd, op: OpId, page: Ppn) -> bool {
    ssd.rules.keeps && ssd.replaces_kept(op, page)
}

impl Ssd {
    /// A version that is not the newest has been programmed to `page`. It is kept if none on flash is newer. Returns whether it
    /// is.
    #[inline(never)]
    pub(in crate::engine) fn replaces_kept(&mut self, op: OpId, page: Ppn) -> bool {
        let (lpn, age) = (self.kernel.ops[op].lpn, self.kernel.ops[op].age);
        if lpn.is_none() {
            return false;
        }
        let Location::Staged(newest) = self.dev.map.get(lpn) else { return false };
        if age < self.kernel.ops[Page(newest)].old_age {
            return false;
        }
        self.discard_old(newest);
        let newest = &mut self.kernel.ops[Page(newest)];
        newest.old = page;
        newest.old_age = age;
        true
    }

    /// A write no longer needs its old page.
    #[inline(always)]
    pub(in crate::engine) fn discard_old(&mut self, op: OpId) {
        self.page_becomes_stale(self.kernel.ops[Page(op)].old);
        let old = std::mem::replace(&mut self.kernel.ops[Page(op)].old, Ppn::NONE);
        if old.is_some() {
            self.dev.flash.invalidate(old, self.dev.geometry.block_of(old), self.kernel.ops[op].lpn);
            self.dev.stirs_buffer(&self.rules, self.dev.geometry.plane_of(old));
        }
    }
}
