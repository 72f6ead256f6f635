//! Units that are written and collected in no time: one by one, in the order in which they come.

use crate::device::flash::Stream;
use crate::device::transaction::Class;
use crate::engine::Ssd;
use crate::engine::spine::ring::Waiting;
use crate::units::{BlockId, Lpn, PlaneId, Ppn, Tag, UnitId};

impl Ssd {
    /// A unit has been written in no time. A program counts with its first unit.
    pub(in crate::engine) fn count_unit_now(&mut self, slot: Ppn) {
        let (slots, per_program) = (self.dev.geometry.slots, self.dev.flash.slots_of_program(slot));
        self.stats.units.programmed.cache += 1;
        if slot.0.is_multiple_of(per_program) {
            let pages = per_program / slots.per_page;
            self.stats.count_program_unit(Class::Host, pages.into(), slots.planes.into());
        }
    }

    /// Counts the flash pages of a read of so many units that takes no time.
    pub(in crate::engine) fn count_reads_now(&mut self, next: &Waiting, units: u32) {
        let per_page = self.dev.geometry.slots.per_page;
        let pages = if next.extents > 0 || !self.rules.units {
            units
        } else {
            (next.page.0 + units - 1) / per_page - next.page.0 / per_page + 1
        };
        self.stats.count_reads(Class::Host, pages.into());
    }

    /// The plane whose open program of a stream of the host goes on, where units are not placed by their numbers.
    pub(in crate::engine) fn open_program(&mut self, lpn: Lpn, stream: Stream) -> Option<PlaneId> {
        let plane = match &self.features.handles {
            Some(handles) => handles.last_plane(stream)?,
            None if self.rules.binds => PlaneId(self.host.last_place),
            None => {
                let unit = UnitId(self.host.last_place);
                self.dev.geometry.plane_of_unit(unit, self.kernel.dies[unit].token)
            }
        };
        if self.dev.flash.rest_of_program(plane, stream) == 0 || !self.dev.flash.takes_page_of(plane, stream) {
            return None;
        }
        self.features.move_home(lpn, plane);
        Some(plane)
    }

    /// Open programs of host and GC are padded.
    pub(in crate::engine) fn pad_all(&mut self) {
        for plane in (0..self.dev.geometry.planes).map(PlaneId) {
            for (first, count) in self.dev.flash.pad_programs(plane) {
                (0..count).for_each(|slot| self.oracle.store(Ppn(first.0 + slot), Tag::NONE));
            }
        }
    }

    /// Collects a block in no time: its valid units fill the open program of GC.
    pub(in crate::engine) fn collect_units_now(&mut self, plane: PlaneId, victim: BlockId) -> bool {
        self.dev.flash.expect_run(plane, victim);
        let mut moving = std::mem::take(&mut self.gc.moving);
        let moved = self.dev.flash.list_valid(victim, &mut moving.offsets, &mut moving.lpns);
        count_moves(self, plane, Class::Gc, &moving.offsets[..moved]);
        let now = self.now;
        self.move_listed(plane, victim, &moving, moved, |_| now);
        self.dev.flash.vacate(victim);
        if self.rules.tenants {
            moving.lpns[..moved].iter().for_each(|lpn| self.features.tenant_moved(&self.dev, *lpn));
        }
        self.gc.moving = moving;
        self.stats.count_sorted(moved as u64);
        if self.rules.pads {
            self.stats.units.padding.gc += pad_of_gc(self, plane);
        }
        self.dev.flash.erase_now(victim);
        self.forget_block(victim);
        // An erase takes all planes of a group.
        self.stats.count_erases(self.dev.geometry.slots.planes.into());
        self.stats.count_collection(1);
        true
    }

    /// Counts the reads of valid units of a victim: a command a super page, of the flash pages that hold such units.
    fn count_victim_reads(&mut self, class: Class, offsets: &[u16]) {
        let slots = self.dev.geometry.slots;
        let mut left = offsets;
        while let Some(first) = left.first() {
            let of = |offset: &u16, per: u32| u32::from(*offset) / per;
            let together =
                left.iter().take_while(|next| of(next, slots.per_super_page) == of(first, slots.per_super_page));
            let (command, rest) = left.split_at(together.count());
            let pages = command.chunk_by(|a, b| of(a, slots.per_page) == of(b, slots.per_page)).count();
            self.stats.count_reads(class, pages as u64);
            left = rest;
        }
    }
}

/// Counts the reads and programs of a fold of a block, of which the valid units fill the open program of GC.
pub(in crate::engine) fn count_fold(ssd: &mut Ssd, plane: PlaneId, victim: BlockId) {
    let mut moving = std::mem::take(&mut ssd.gc.moving);
    let moved = ssd.dev.flash.list_valid(victim, &mut moving.offsets, &mut moving.lpns);
    count_moves(ssd, plane, Class::Fold, &moving.offsets[..moved]);
    ssd.gc.moving = moving;
}

/// Counts the reads of valid units of a block, by their offsets, and the programs that they begin.
fn count_moves(ssd: &mut Ssd, plane: PlaneId, class: Class, offsets: &[u16]) {
    let (slots, moved) = (ssd.dev.geometry.slots, offsets.len());
    let rest = ssd.dev.flash.rest_of_program(plane, Stream::Gc);
    let begun = (moved as u32).saturating_sub(rest).div_ceil(slots.per_program);
    ssd.count_victim_reads(class, offsets);
    ssd.stats.units.count_moved(class, moved as u64, 0);
    for _ in 0..begun {
        ssd.stats.count_program_unit(class, slots.pages_per_program().into(), slots.planes.into());
    }
}

/// GC's open program of a plane is padded, in no time. Returns the number of slots without a unit.
pub(in crate::engine) fn pad_of_gc(ssd: &mut Ssd, plane: PlaneId) -> u64 {
    let (first, count) = ssd.dev.flash.pad_program(plane, Stream::Gc);
    (0..count).for_each(|slot| ssd.oracle.store(Ppn(first.0 + slot), Tag::NONE));
    count.into()
}
