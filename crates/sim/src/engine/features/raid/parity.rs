//! Parity: which pages are parity, the checks of its content by the oracle, and parity that is computed in no time.

use crate::device::mapping::Location;
use crate::device::transaction::Class;
use crate::engine::features::raid::stripe::{CLEAN, EMPTY};
use crate::engine::kernel::Kernel;
use crate::engine::kernel::ops::{NO_UPDATE, Page};
use crate::engine::{Device, Features, Host, Ssd};
use crate::oracle::{Check, Oracle};
use crate::units::{Lpn, Nanos, OpId, Ppn, Tag};

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

    /// Whether a discarded page stays until it is overwritten: parity covers the content of a stripe. False without parity.
    #[inline(always)]
    pub(in crate::engine) fn keeps_discarded(&self) -> bool {
        self.raid.is_some()
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
    fn group_continues(&self, host: &Host, dev: &Device, page: Lpn, last: Lpn, left: u32) -> bool {
        let layout = self.layout();
        let follows = |other| other > page && other <= last || host.follows(dev, other, left);
        let later = |slot| layout.page(slot).is_some_and(follows);
        layout.data_slots(layout.group_index(layout.slot(page))).any(later)
    }

    // Oracle.

    /// Contribution of a page with this tag to its parity (full oracle).
    pub(super) fn content(&self, oracle: &Oracle, tag: Tag) -> u64 {
        if !oracle.checks_content() || tag.lpn.is_none() {
            return 0;
        }
        let layout = self.layout();
        let parity = layout.page(tag.lpn).is_none().then(|| layout.group_index(tag.lpn));
        oracle.content(tag, parity)
    }

    /// A read of a chunk begins for an update: adds its content to the new parity.
    pub(in crate::engine) fn load_chunk(&mut self, kernel: &Kernel, oracle: &Oracle, op: OpId, at: Ppn) {
        if self.raid.is_none() || !oracle.checks_content() {
            return;
        }
        if kernel.ops.parity[op].update != NO_UPDATE {
            let tag = oracle.load(at, kernel.ops[op].lpn);
            self.add_chunk(kernel, oracle, op, tag);
        }
    }

    /// Checks that parity fits the chunks of its group.
    pub(super) fn check_group(&self, kernel: &Kernel, dev: &Device, oracle: &Oracle, index: u32) {
        if !oracle.checks_content() {
            return;
        }
        let layout = self.layout();
        let held = |slot: Lpn| {
            let Some(page) = kernel.covered(dev, slot) else {
                let buffered = kernel.covered_in_buffer(dev, slot);
                return self.content(oracle, buffered.unwrap_or_else(|| self.missing_tag(slot)));
            };
            let tag = oracle.load(page, slot);
            law_eq!(tag.lpn, slot, "oracle: a chunk lies where the map says");
            self.content(oracle, tag)
        };
        if self.is_missing(layout.parity_slot(index)) {
            return;
        }
        let data = layout.data_slots(index).fold(0, |sum, slot| sum ^ held(slot));
        law_eq!(data, held(layout.parity_slot(index)), "oracle: parity of group {index} fits its chunks");
    }

    /// Scan of the full oracle: clean groups have fitting parity, and every member is on its own chip.
    pub(in crate::engine) fn recount_stripes(&self, kernel: &Kernel, dev: &Device, oracle: &Oracle) {
        let Some(raid) = &self.raid else { return };
        for (index, state) in raid.states.iter().enumerate() {
            let index = index as u32;
            if *state == CLEAN {
                self.check_group(kernel, dev, oracle, index);
            }
            for slot in (0..raid.layout.group).map(|member| raid.layout.slot_of_member(index, member)) {
                if let Some(page) = kernel.covered(dev, slot) {
                    let chip = dev.geometry.chip_of(dev.geometry.plane_of(page));
                    law_eq!(chip, raid.layout.chip_of(slot), "law: no two members of a stripe on one chip");
                }
            }
        }
    }

    /// Records the content of a group's parity after writes in no time.
    pub(super) fn note_parity(&mut self, kernel: &Kernel, dev: &Device, oracle: &mut Oracle, index: u32) {
        if oracle.checks_content() {
            let slots: Vec<Lpn> = self.layout().data_slots(index).collect();
            let held = |slot: Lpn| match kernel.covered(dev, slot) {
                Some(page) => self.content(oracle, oracle.load(page, slot)),
                None => self.content(oracle, self.missing_tag(slot)),
            };
            let content = slots.into_iter().fold(0, |sum, slot| sum ^ held(slot));
            let parity = self.layout().parity_slot(index);
            let tag = Tag { lpn: parity, version: oracle.latest(parity) };
            oracle.set_parity(index, tag, content);
        }
        self.raid().states[index as usize] = CLEAN;
    }

    /// After preconditioning: every group with parity is clean.
    pub(in crate::engine) fn settle_groups(&mut self, kernel: &Kernel, dev: &Device, oracle: &mut Oracle) {
        let Some(raid) = &self.raid else { return };
        for index in 0..raid.layout.stripes * raid.layout.groups {
            if dev.map.get(self.layout().parity_slot(index)) != Location::Nowhere {
                self.note_parity(kernel, dev, oracle, index);
            }
        }
    }

    /// A redirected read of a group has ended. Returns whether waiting reads begin, since it was the last one.
    pub(super) fn unpins(&mut self, dev: &Device, update: u32) -> bool {
        let record = &mut self.raid().records[update];
        record.readers -= 1;
        record.readers == 0 && self.settles(dev, update, false)
    }

    // In no time.

    /// A page is read before it was written: it is zero, and so is the parity of its group. Returns that parity, if it has to be
    /// put on flash.
    pub(in crate::engine) fn parity_to_preload(&mut self, oracle: &Oracle, now: Nanos, slot: Lpn) -> Option<Tag> {
        let raid = self.raid.as_ref()?;
        let index = raid.layout.group_index(slot);
        if raid.states[index as usize] != EMPTY {
            return None;
        }
        let parity = raid.layout.parity_slot(index);
        if self.is_dead(parity) {
            self.never_had_parity(now, parity);
            return None;
        }
        Some(Tag { lpn: parity, version: oracle.latest(parity) })
    }
}

impl Oracle {
    /// Whether sums of pages are checked, which the full oracle does.
    pub(in crate::engine) fn checks_content(&self) -> bool {
        self.check() == Check::Full
    }
}

impl Kernel {
    /// A newer write, to which the map points, that waits for this one takes over its page: parity will cover it.
    pub(super) fn heir(&self, now_at: Location, op: OpId) -> Option<OpId> {
        match now_at {
            Location::Staged(write) if self.ops.parity[write].behind == op => Some(write),
            _ => None,
        }
    }

    /// The old page of an update that has begun has moved, under a newer write, to which the map points. Returns whether it was that;
    /// false without parity.
    #[inline(always)]
    pub(in crate::engine) fn moves_behind(&mut self, features: &Features, newest: OpId, from: Ppn, to: Ppn) -> bool {
        if features.raid.is_none() || self.ops.parity[newest].behind.is_none() {
            return false;
        }
        let write = self.ops.parity[newest].behind;
        law_eq!(self.ops[Page(write)].old, from, "law: map and reverse map agree");
        self.ops[Page(write)].old = to;
        true
    }

    /// Such a write gets the page.
    pub(super) fn inherits(&mut self, write: OpId, page: Ppn) {
        self.ops[Page(write)].old = page;
        self.ops.parity[write].behind = OpId::NONE;
    }
}

impl Device {
    /// An old page is no longer needed.
    pub(in crate::engine) fn drop_old(&mut self, kernel: &mut Kernel, op: OpId) {
        let old = std::mem::replace(&mut kernel.ops[Page(op)].old, Ppn::NONE);
        if old.is_some() {
            self.flash.invalidate(old, self.geometry.block_of(old), kernel.ops[op].lpn);
        }
    }
}

/// A page of the host has been written in no time: the parity of its group follows, if there is parity.
#[inline(always)]
pub(in crate::engine) fn page_written_now(ssd: &mut Ssd, slot: Lpn) {
    if ssd.features.raid.is_some() {
        encode_now(ssd, slot);
    }
}

/// The same of a page of a request, unless a later page of it, up to `last` or in its next `left` extents, belongs to the same group.
#[inline(always)]
pub(in crate::engine) fn page_of_extent_written_now(ssd: &mut Ssd, (page, slot): (Lpn, Lpn), last: Lpn, left: u32) {
    if ssd.features.raid.is_some() && !ssd.features.group_continues(&ssd.host, &ssd.dev, page, last, left) {
        encode_now(ssd, slot);
    }
}

/// Recomputes the parity of a slot's group, in no time.
fn encode_now(ssd: &mut Ssd, slot: Lpn) {
    let index = ssd.features.layout().group_index(slot);
    let parity = ssd.features.layout().parity_slot(index);
    ssd.store_now(parity, Class::Parity);
    ssd.features.note_parity(&ssd.kernel, &ssd.dev, &mut ssd.oracle, index);
}
