//! Programs by tenant. They are counted where the flash counters count them, when a program is selected, so that both agree at
//! any time: at the start of measuring, and after a power cut. Metadata of a block and pages that a write point skips count for the
//! tenant of the page that caused them, a second copy for that of its page.

use crate::engine::features::nvme::Nvme;
use crate::engine::fill::moving::Moving;
use crate::engine::kernel::Kernel;
use crate::engine::rules::Rules;
use crate::engine::{Device, Features};
use crate::policy::PageSet;
use crate::units::{BlockId, Lpn, OpId, Ppn};

impl Nvme {
    /// The tenant of the first page of a block that holds data, in an order of offsets; the first tenant if none does.
    fn owner_in(&self, dev: &Device, block: BlockId, offsets: impl Iterator<Item = u32>) -> usize {
        let mut held = offsets.map(|offset| dev.flash.lpn_of(dev.geometry.page(block, offset)));
        held.find(|lpn| lpn.is_some()).and_then(|lpn| self.owners.get(lpn.ix())).map_or(0, |owner| usize::from(*owner))
    }

    /// A write point skips so many pages, so that it stands at the offset of the next page of a victim.
    #[cold]
    fn skips(&mut self, dev: &Device, victim: BlockId, pages: u32) {
        let tenant = self.owner_in(dev, victim, 0..dev.geometry.data_pages);
        self.counts[tenant].programs[1] += u64::from(pages);
    }
}

impl Features {
    /// The controller's buffer takes a page that a collection has read.
    pub(in crate::engine) fn tenant_staged(&mut self, page: Ppn) {
        self.take_from_hand(page);
    }

    fn owner_of(&self, lpn: Lpn) -> Option<u8> {
        if lpn.is_some() { self.nvme().owners.get(lpn.ix()).copied() } else { None }
    }

    fn take_from_hand(&mut self, page: Ppn) -> Option<u8> {
        let in_hand = &mut self.nvme_mut().in_hand;
        let at = in_hand.iter().position(|(known, _)| *known == page)?;
        in_hand.swap_remove(at).1
    }

    /// A collection skips so many pages at a write point of a victim's plane: they count for a tenant, if requests have tenants.
    #[inline(always)]
    pub(in crate::engine) fn tenant_skips(&mut self, dev: &Device, victim: BlockId, pages: u32) {
        if let Some(nvme) = &mut self.nvme {
            nvme.skips(dev, victim, pages);
        }
    }

    /// A collection reads pages: their tenants are noted, if requests have tenants.
    #[inline(always)]
    pub(in crate::engine) fn tenants_read(&mut self, dev: &Device, rules: &Rules, pages: &PageSet) {
        if rules.tenants {
            self.note_read(dev, pages);
        }
    }

    /// The tenants of pages that are read are known until these are programmed, although the host may overwrite them before.
    #[inline(never)]
    fn note_read(&mut self, dev: &Device, pages: &PageSet) {
        for page in pages.iter() {
            let owner = self.owner_of(dev.flash.lpn_of(*page));
            self.nvme_mut().in_hand.push((*page, owner));
        }
    }

    fn count_tenant_program(&mut self, dev: &Device, tenant: usize, gc: bool) {
        let pages = u64::from(dev.geometry.pages_per_entry);
        self.nvme_mut().counts[tenant].programs[usize::from(gc)] += pages;
    }

    /// A collection programs copies of pages: counts them for their tenants, if requests have tenants.
    #[inline(always)]
    pub(in crate::engine) fn tenants_moved(&mut self, dev: &Device, rules: &Rules, pages: &PageSet) {
        if rules.tenants {
            self.count_moved(dev, pages);
        }
    }

    /// The same for the pages that an operation copies.
    #[inline(always)]
    pub(in crate::engine) fn tenants_moved_by(&mut self, kernel: &Kernel, dev: &Device, rules: &Rules, op: OpId) {
        if rules.tenants {
            self.count_moved(dev, &kernel.ops[op].from);
        }
    }

    /// The same for a page that is moved in no time.
    #[inline(always)]
    pub(in crate::engine) fn tenant_moved_now(&mut self, dev: &Device, rules: &Rules, from: Ppn) {
        if rules.tenants {
            self.tenant_moved(dev, dev.flash.lpn_of(from));
        }
    }

    /// The same for the valid pages of a victim that is collected in no time.
    #[inline(always)]
    pub(in crate::engine) fn tenants_moved_now(&mut self, dev: &Device, rules: &Rules, moving: &Moving) {
        if rules.tenants {
            moving.listed().iter().for_each(|lpn| self.tenant_moved(dev, *lpn));
        }
    }

    /// Counts programs of copies of pages for the tenants of the pages, if these are known.
    #[inline(never)]
    fn count_moved(&mut self, dev: &Device, pages: &PageSet) {
        for page in pages.iter() {
            let owner = self.take_from_hand(*page).or_else(|| self.owner_of(dev.flash.lpn_of(*page)));
            if let Some(owner) = owner {
                self.count_tenant_program(dev, usize::from(owner), true);
            }
        }
    }

    /// GC programs a copy of a logical page.
    pub(in crate::engine) fn tenant_moved(&mut self, dev: &Device, lpn: Lpn) {
        if let Some(owner) = self.owner_of(lpn) {
            self.count_tenant_program(dev, usize::from(owner), true);
        }
    }

    /// The second copy of a logical page is programmed.
    #[inline(never)]
    pub(in crate::engine) fn tenant_copied(&mut self, dev: &Device, lpn: Lpn) {
        self.count_tenant_program(dev, usize::from(self.owner_of(lpn).unwrap_or(0)), false);
    }

    /// The metadata of a block is programmed: for the tenant of the last of its pages that still holds data. `gc`: a collection has
    /// filled it.
    #[inline(never)]
    pub(in crate::engine) fn tenant_closes(&mut self, dev: &Device, block: BlockId, gc: bool) {
        let tenant = self.nvme().owner_in(dev, block, (0..dev.geometry.data_pages).rev());
        self.count_tenant_program(dev, tenant, gc);
    }

    /// A command programs pages of the host or of the write cache: counts them for their tenants, if requests have tenants.
    #[inline(always)]
    pub(in crate::engine) fn tenants_write(&mut self, kernel: &Kernel, dev: &Device, rules: &Rules, command: OpId) {
        if rules.tenants {
            self.count_written(kernel, dev, command);
        }
    }

    /// The same on a device with tenants.
    #[inline(never)]
    fn count_written(&mut self, kernel: &Kernel, dev: &Device, command: OpId) {
        let mut op = command;
        while op.is_some() {
            let tenant = self.tenant_of(kernel, op);
            self.count_tenant_program(dev, tenant, false);
            op = kernel.ops[op].mate;
        }
    }
}
