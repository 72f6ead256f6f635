//! Programs by tenant. They are counted where the flash counters count them, when a program is selected, so that both agree at
//! any time: at the start of measuring, and after a power cut.

use crate::engine::Ssd;
use crate::policy::PageSet;
use crate::units::{Lpn, OpId, Ppn};

impl Ssd {
    /// A command programs pages of the host or of the write cache.
    #[inline(never)]
    pub(in crate::engine) fn tenants_write(&mut self, command: OpId) {
        let mut op = command;
        while op.is_some() {
            let tenant = self.tenant_of(op);
            self.count_tenant_program(tenant, false);
            op = self.kernel.ops[op].mate;
        }
    }

    /// A collection reads pages. Their tenants are known until it programs them, although the host may overwrite them before.
    #[inline(never)]
    pub(in crate::engine) fn tenants_read(&mut self, pages: &PageSet) {
        for page in pages.iter() {
            let owner = self.owner_of(self.dev.flash.lpn_of(*page));
            self.nvme_mut().in_hand.push((*page, owner));
        }
    }

    /// A collection programs copies of pages.
    #[inline(never)]
    pub(in crate::engine) fn tenants_moved(&mut self, pages: &PageSet) {
        for page in pages.iter() {
            let owner = self.take_from_hand(*page).or_else(|| self.owner_of(self.dev.flash.lpn_of(*page)));
            if let Some(owner) = owner {
                self.count_tenant_program(usize::from(owner), true);
            }
        }
    }

    /// The controller's buffer takes a page that a collection has read.
    pub(in crate::engine) fn tenant_staged(&mut self, page: Ppn) {
        self.take_from_hand(page);
    }

    /// GC programs a copy of a logical page.
    pub(in crate::engine) fn tenant_moved(&mut self, lpn: Lpn) {
        if let Some(owner) = self.owner_of(lpn) {
            self.count_tenant_program(usize::from(owner), true);
        }
    }

    fn owner_of(&self, lpn: Lpn) -> Option<u8> {
        if lpn.is_some() { self.nvme().owners.get(lpn.ix()).copied() } else { None }
    }

    fn take_from_hand(&mut self, page: Ppn) -> Option<u8> {
        let in_hand = &mut self.nvme_mut().in_hand;
        let at = in_hand.iter().position(|(known, _)| *known == page)?;
        in_hand.swap_remove(at).1
    }

    fn count_tenant_program(&mut self, tenant: usize, gc: bool) {
        let pages = u64::from(self.dev.geometry.pages_per_entry);
        self.nvme_mut().counts[tenant].programs[usize::from(gc)] += pages;
    }
}
