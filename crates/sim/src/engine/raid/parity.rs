//! Parity: which pages are parity, the checks of its content by the oracle, and parity that is computed in no time.

use crate::device::flash::Stream;
use crate::device::mapping::Location;
use crate::device::transaction::Class;
use crate::engine::kernel::ops::{NO_UPDATE, Page};
use crate::engine::raid::buffered;
use crate::engine::raid::stripe::{CLEAN, EMPTY};
use crate::engine::{Device, Features, Host, Ssd};
use crate::oracle::Check;
use crate::units::{Lpn, OpId, Ppn, Tag};

impl Features {
    /// The logical page of the map for a host page.
    #[inline(always)]
    pub(in crate::engine) fn logical(&self, page: Lpn) -> Lpn {
        self.raid.as_ref().map_or(page, |raid| raid.layout.slot(page))
    }

    /// Whether a logical page of the map is parity.
    pub(in crate::engine) fn is_parity(&self, lpn: Lpn) -> bool {
        self.raid.as_ref().is_some_and(|raid| raid.layout.page(lpn).is_none())
    }

    /// At the end every group is empty or clean.
    pub(in crate::engine) fn check_stripes_end(&self) {
        let Some(raid) = &self.raid else { return };
        law_eq!(raid.records.in_use(), 0, "a parity group is left");
        law!(raid.states.iter().all(|state| *state >= CLEAN), "a parity group is still dirty");
        law!(raid.load.iter().all(|load| *load == [0; 2]), "a chip still has work");
    }

    /// The host page of a logical page of the map; parity pages are numbered after all host pages.
    pub(in crate::engine) fn host_page(&self, dev: &Device, lpn: Lpn) -> Lpn {
        let Some(raid) = &self.raid else { return lpn };
        let parity = || Lpn(dev.geometry.exported + raid.layout.group_index(lpn));
        if lpn.is_none() { lpn } else { raid.layout.page(lpn).unwrap_or_else(parity) }
    }

    /// Whether a later page of a request, up to `last` or in its next `left` extents, belongs to the same parity group.
    pub(in crate::engine) fn group_continues(
        &self,
        host: &Host,
        dev: &Device,
        page: Lpn,
        last: Lpn,
        left: u32,
    ) -> bool {
        let layout = self.layout();
        let follows = |other| other > page && other <= last || host.follows(dev, other, left);
        let later = |slot| layout.page(slot).is_some_and(follows);
        layout.data_slots(layout.group_index(layout.slot(page))).any(later)
    }
}

impl Ssd {
    /// An old page is no longer needed.
    pub(in crate::engine) fn drop_old(&mut self, op: OpId) {
        self.old_becomes_stale(op);
        let old = std::mem::replace(&mut self.kernel.ops[Page(op)].old, Ppn::NONE);
        if old.is_some() {
            self.dev.flash.invalidate(old, self.dev.geometry.block_of(old), self.kernel.ops[op].lpn);
        }
    }

    // Oracle.

    /// Whether sums of pages are checked, which the full oracle does.
    pub(in crate::engine) fn checks_content(&self) -> bool {
        self.oracle.check() == Check::Full
    }

    /// A redirected read of a group has ended.
    pub(in crate::engine) fn unpin(&mut self, update: u32) {
        let record = &mut self.features.raid().records[update];
        record.readers -= 1;
        if record.readers == 0 {
            self.settle(update, false);
        }
    }

    /// Contribution of a page with this tag to its parity (full oracle).
    pub(in crate::engine) fn content(&self, tag: Tag) -> u64 {
        if !self.checks_content() || tag.lpn.is_none() {
            return 0;
        }
        let layout = self.features.layout();
        let parity = layout.page(tag.lpn).is_none().then(|| layout.group_index(tag.lpn));
        self.oracle.content(tag, parity)
    }

    /// A read of a chunk begins for an update: adds its content to the new parity.
    pub(in crate::engine) fn load_chunk(&mut self, op: OpId, at: Ppn) {
        if self.features.raid.is_none() || !self.checks_content() {
            return;
        }
        if self.kernel.ops.parity[op].update != NO_UPDATE {
            let tag = self.oracle.load(at, self.kernel.ops[op].lpn);
            buffered::add(self, op, tag);
        }
    }

    /// Checks that parity fits the chunks of its group.
    pub(in crate::engine) fn check_group(&self, index: u32) {
        if !self.checks_content() {
            return;
        }
        let layout = self.features.layout();
        let held = |slot: Lpn| {
            let Some(page) = self.kernel.covered(&self.dev, slot) else {
                let buffered = self.kernel.covered_in_buffer(&self.dev, slot);
                return self.content(buffered.unwrap_or_else(|| self.features.missing_tag(slot)));
            };
            let tag = self.oracle.load(page, slot);
            law_eq!(tag.lpn, slot, "oracle: a chunk lies where the map says");
            self.content(tag)
        };
        if self.features.is_missing(layout.parity_slot(index)) {
            return;
        }
        let data = layout.data_slots(index).fold(0, |sum, slot| sum ^ held(slot));
        law_eq!(data, held(layout.parity_slot(index)), "oracle: parity of group {index} fits its chunks");
    }

    /// Scan of the full oracle: clean groups have fitting parity, and every member is on its own chip.
    pub(in crate::engine) fn recount_stripes(&self) {
        let Some(raid) = &self.features.raid else { return };
        for (index, state) in raid.states.iter().enumerate() {
            let index = index as u32;
            if *state == CLEAN {
                self.check_group(index);
            }
            for slot in (0..raid.layout.group).map(|member| raid.layout.slot_of_member(index, member)) {
                if let Some(page) = self.kernel.covered(&self.dev, slot) {
                    let chip = self.dev.geometry.chip_of(self.dev.geometry.plane_of(page));
                    law_eq!(chip, raid.layout.chip_of(slot), "law: no two members of a stripe on one chip");
                }
            }
        }
    }

    // In no time.

    /// A page read before it was written is zero, and so is the parity of its group.
    pub(in crate::engine) fn preload_parity(&mut self, slot: Lpn) {
        let Some(raid) = &self.features.raid else { return };
        let index = raid.layout.group_index(slot);
        if raid.states[index as usize] != EMPTY {
            return;
        }
        let parity = raid.layout.parity_slot(index);
        if self.features.is_dead(parity) {
            return self.features.never_had_parity(self.now, parity);
        }
        let tag = Tag { lpn: parity, version: self.oracle.latest(parity) };
        let plane = self.dev.geometry.static_plane(parity);
        self.plane_changes(plane);
        if self.put(parity, plane, Stream::Host, tag).is_some() {
            self.features.raid().states[index as usize] = CLEAN;
        }
    }

    /// Recomputes the parity of a slot's group, in no time.
    pub(in crate::engine) fn encode_now(&mut self, slot: Lpn) {
        let index = self.features.layout().group_index(slot);
        let parity = self.features.layout().parity_slot(index);
        self.store_now(parity, Class::Parity);
        self.note_parity(index);
    }

    /// Records the content of a group's parity after writes in no time.
    pub(in crate::engine) fn note_parity(&mut self, index: u32) {
        if self.checks_content() {
            let slots: Vec<Lpn> = self.features.layout().data_slots(index).collect();
            let held = |slot: Lpn| match self.kernel.covered(&self.dev, slot) {
                Some(page) => self.content(self.oracle.load(page, slot)),
                None => self.content(self.features.missing_tag(slot)),
            };
            let content = slots.into_iter().fold(0, |sum, slot| sum ^ held(slot));
            let parity = self.features.layout().parity_slot(index);
            let tag = Tag { lpn: parity, version: self.oracle.latest(parity) };
            self.oracle.set_parity(index, tag, content);
        }
        self.features.raid().states[index as usize] = CLEAN;
    }

    /// After preconditioning: every group with parity is clean.
    pub(in crate::engine) fn settle_groups(&mut self) {
        let Some(raid) = &self.features.raid else { return };
        for index in 0..raid.layout.stripes * raid.layout.groups {
            if self.dev.map.get(self.features.layout().parity_slot(index)) != Location::Nowhere {
                self.note_parity(index);
            }
        }
    }
}
