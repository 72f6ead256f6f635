//! Parity groups after a power cut: the write hole.
//!
//! The controller keeps a record, which survives the cut, of the groups whose update has begun. Parity covers all other groups:
//! an update replaces nothing before it begins. For the recorded groups,
//!
//! - an update that still reads, where chips may fail, has left old chunks and old parity in place: their sum is known;
//! - one that writes, with a capacitor, is completed: chunks and parity are in the memory that survives;
//! - one that writes only parity is as if it had not begun, or had ended;
//! - in any other, some chunks may be new and others old, and parity may fit neither. Parity is recomputed from the chunks found.
//!   A missing chunk of such a group cannot be restored: it is lost, and reported.
//!
//! Recovery never guesses, and takes no time.

use crate::config::RaidLayout;
use crate::device::mapping::Location;
use crate::device::transaction::Class;
use crate::engine::features::raid::failure::Chunk;
use crate::engine::features::raid::stripe::Phase;
use crate::engine::kernel::Kernel;
use crate::engine::kernel::ops::Page;
use crate::engine::{Device, Features, Ssd};
use crate::oracle::Oracle;
use crate::report::power::PowerCut;
use crate::units::{Lpn, Nanos, OpId, Tag};

/// A group whose update, or the rebuilding of one of its chunks, has begun when power is cut.
pub(in crate::engine) struct Begun {
    index: u32,
    /// All reads have ended, and programs may have begun.
    writes: bool,
    /// The chunk being rebuilt, or none.
    target: Lpn,
    /// Its chunks and parity that are not on flash.
    chunks: Vec<(Lpn, Tag)>,
    /// The only chunk that is written, if no chip accepts it, and its version in the old parity.
    alone: Option<(Lpn, u32)>,
    /// The newest version of its parity.
    parity: u32,
}

impl Features {
    /// Whether a version on flash is the content of a slot. A chunk of a failed chip may have older versions on the spare chip,
    /// from programs that ended later, also while it is rebuilt there.
    pub(in crate::engine) fn is_current(&self, slot: Lpn, version: u32) -> bool {
        let last = self.last_tag(slot).version;
        if self.is_missing(slot) { !self.is_parity(slot) && version > last } else { version >= last }
    }

    /// The operation on a slot that the capacitor's charge may write to flash, and whether it is written in any case; otherwise
    /// it is written only if flash has no acknowledged version. If the update of a group has not begun, its parity is still
    /// valid.
    pub(in crate::engine) fn chunk_to_drain(
        &self,
        kernel: &Kernel,
        dev: &Device,
        begun: &[Begun],
        slot: Lpn,
        newest: OpId,
    ) -> Option<(OpId, bool)> {
        let index = self.layout().group_index(slot);
        let group = begun.iter().find(|group| group.index == index)?;
        let update = self.raid.as_ref()?.record_of(index)?;
        if self.is_dead(slot) {
            None
        } else if group.writes {
            kernel.begun_op(dev, slot, update).map(|op| (op, true))
        } else {
            (!self.is_parity(slot)).then_some((newest, false))
        }
    }

    /// Whether an update writes only parity, and the new or the old parity is on flash.
    fn is_before_or_after(&mut self, dev: &Device, oracle: &Oracle, group: &Begun) -> bool {
        let Some((slot, before)) = group.alone else { return false };
        let parity = self.layout().parity_slot(group.index);
        let Location::Flash(page) = dev.map.get(parity) else { return false };
        let version = oracle.load(page, parity).version;
        if version + 1 == group.parity {
            self.failures().tags[slot.ix()] = Tag { lpn: slot, version: before };
        }
        version + 1 >= group.parity
    }

    /// A chunk that was being rebuilt is still missing, unless it is on its chip.
    fn rebuilding_was_cut(&mut self, dev: &mut Device, now: Nanos, slot: Lpn, report: &mut PowerCut) {
        if dev.map.get(slot) == Location::Nowhere && !self.is_missing(slot) {
            let (tag, before) = (self.last_tag(slot), self.failures().totals.lost_pages);
            self.misses(dev, now, slot, tag);
            report.unprotected_pages += self.failures().totals.lost_pages - before;
        }
    }

    /// Groups with updates that the power cut interrupts. Nothing else about groups survives.
    pub(in crate::engine) fn groups_at_cut(&self, kernel: &Kernel, dev: &Device, oracle: &Oracle) -> Vec<Begun> {
        let Some(raid) = &self.raid else { return Vec::new() };
        let groups = 0..raid.layout.stripes * raid.layout.groups;
        let begun = groups.filter_map(|index| {
            let update = raid.record_of(index)?;
            let record = &raid.records[update];
            if !matches!(record.phase, Phase::Reading | Phase::Writing) {
                return None;
            }
            let slots = (0..raid.layout.group).map(|member| raid.layout.slot_of_member(index, member));
            let chunks = slots
                .filter_map(|slot| kernel.begun_op(dev, slot, update).map(|op| (slot, kernel.ops[Page(op)].tags[0])));
            let chunks = chunks.collect();
            let (writes, target, kept) = (record.phase == Phase::Writing, record.target, record.kept.head);
            let alone = (writes && kept.is_some() && record.mask.count_ones() == 1)
                .then(|| kernel.ops.parity[kept].before.map(|before| (kernel.ops[kept].lpn, before)))
                .flatten();
            Some(Begun { index, writes, target, chunks, alone, parity: oracle.latest(raid.layout.parity_slot(index)) })
        });
        begun.collect()
    }

    /// Whether all data of an update is on flash now, or covered by its parity.
    fn is_carried_through(&mut self, dev: &mut Device, oracle: &Oracle, now: Nanos, group: &Begun) -> bool {
        for (slot, tag) in &group.chunks {
            if self.is_dead(*slot) && !self.is_missing(*slot) {
                self.misses(dev, now, *slot, if self.is_parity(*slot) { Tag::NONE } else { *tag });
            }
        }
        group.chunks.iter().all(|(slot, tag)| match dev.map.get(*slot) {
            Location::Flash(page) => oracle.load(page, *slot) == *tag,
            _ => self.is_missing(*slot),
        })
    }
    /// The update of a group was interrupted. Returns whether its parity has to be recomputed and stored.
    fn repair_group(
        &mut self,
        dev: &mut Device,
        oracle: &Oracle,
        now: Nanos,
        protected: bool,
        group: &Begun,
        report: &mut PowerCut,
    ) -> bool {
        let may_fail = self.failures.is_some();
        let parity = self.layout().parity_slot(group.index);
        let slots: Vec<Lpn> = self.layout().data_slots(group.index).collect();
        if protected && !group.writes {
            // A write for a failed chip was acknowledged because a newer one replaces it: the new parity contains that one.
            for (slot, tag) in &group.chunks {
                let Some(known) = oracle.known(*slot).filter(|_| !self.is_parity(*slot)) else { continue };
                let held = self.missing_tag(*slot);
                if held.lpn.is_some() && known > held.version {
                    self.failures().tags[slot.ix()] = *tag;
                } else if held.lpn.is_none() && self.is_dead(*slot) && !self.is_missing(*slot) {
                    // The chip failed before it had any version.
                    self.misses(dev, now, *slot, *tag);
                }
            }
        }
        for slot in &slots {
            if dev.map.get(*slot) != Location::Nowhere {
                // A new chunk has reached its chip.
                self.found_chunk(now, *slot);
                continue;
            }
            match self.chunk(*slot) {
                Chunk::Missing if group.writes => {
                    report.unprotected_pages += u64::from(self.set_lost(oracle, now, *slot))
                }
                // The old page was invalidated for a new one that is not on flash.
                Chunk::Sound if may_fail && oracle.known(*slot).is_some() => _ = self.set_lost(oracle, now, *slot),
                _ => {}
            }
        }
        let exists = |slot: &Lpn| dev.map.get(*slot) != Location::Nowhere || self.chunk(*slot) == Chunk::Missing;
        let data = slots.iter().any(exists);
        let encoded = dev.map.get(parity) != Location::Nowhere || self.is_missing(parity);
        if !data && !encoded {
            return false;
        }
        if self.is_dead(parity) {
            self.lacks_parity(now, parity);
            return false;
        }
        self.found_chunk(now, parity);
        true
    }
}

impl Kernel {
    /// The operation of a group's update that writes a slot to flash.
    fn begun_op(&self, dev: &Device, slot: Lpn, update: u32) -> Option<OpId> {
        let Location::Staged(newest) = dev.map.get(slot) else { return None };
        [newest, self.ops.parity[newest].behind]
            .into_iter()
            .find(|op| op.is_some() && self.ops.parity[*op].update == update)
    }
}

impl Ssd {
    /// After the map has been rebuilt from the pages, rebuilds the states of the groups.
    pub(in crate::engine) fn groups_after_cut(&mut self, begun: &[Begun], report: &mut PowerCut) {
        if self.config.raid.layout == RaidLayout::None {
            return;
        }
        let protected = self.config.device.power_loss_protection;
        for group in begun {
            if group.target.is_some() {
                self.features.rebuilding_was_cut(&mut self.dev, self.now, group.target, report);
            } else if !(self.features.is_before_or_after(&self.dev, &self.oracle, group)
                || protected
                    && group.writes
                    && self.features.is_carried_through(&mut self.dev, &self.oracle, self.now, group))
                && self.features.repair_group(&mut self.dev, &self.oracle, self.now, protected, group, report)
            {
                let parity = self.features.layout().parity_slot(group.index);
                let (tag, plane) = (self.oracle.admit(parity), self.dev.geometry.static_plane(parity));
                self.dev.forget(&mut self.kernel, &self.rules, parity);
                self.dev.map.set(parity, Location::Nowhere);
                let fits = self.bring_back(plane, tag, false);
                law!(fits, "law: spare pages suffice");
                self.stats.count_programs(Class::Parity, 1);
                self.features.note_parity(&self.kernel, &self.dev, &mut self.oracle, group.index);
                report.repaired_groups += 1;
            }
        }
        for index in 0..self.features.layout().stripes * self.features.layout().groups {
            let parity = self.features.layout().parity_slot(index);
            if self.dev.map.get(parity) != Location::Nowhere || self.features.is_missing(parity) {
                self.features.raid().set_clean(index);
            }
        }
    }
}
