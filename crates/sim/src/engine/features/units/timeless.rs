//! Units that are written and collected in no time: one by one, in the order in which they come.

use crate::device::flash::Stream;
use crate::device::transaction::Class;
use crate::engine::fill::moving::Moving;
use crate::engine::kernel::Kernel;
use crate::engine::rules::Rules;
use crate::engine::spine::ring::Waiting;
use crate::engine::{Device, Features, Host, Ssd};
use crate::oracle::Oracle;
use crate::stats::Stats;
use crate::units::{BlockId, Lpn, PlaneId, Ppn, Tag, UnitId};

impl Device {
    /// A page of the host has been written in no time: counts it as a unit, if programs have several.
    #[inline(always)]
    pub(in crate::engine) fn count_unit_now(&self, stats: &mut Stats, rules: &Rules, slot: Ppn) {
        if rules.units {
            self.count_unit(stats, slot);
        }
    }

    /// A unit has been written in no time. A program counts with its first unit.
    fn count_unit(&self, stats: &mut Stats, slot: Ppn) {
        let (slots, per_program) = (self.geometry.slots, self.flash.slots_of_program(slot));
        stats.units.programmed.cache += 1;
        if slot.0.is_multiple_of(per_program) {
            let pages = per_program / slots.per_page;
            stats.count_program_unit(Class::Host, pages.into(), slots.planes.into());
        }
    }

    /// Counts the flash pages of a read of so many units that takes no time.
    pub(in crate::engine) fn count_reads_now(&self, stats: &mut Stats, rules: &Rules, next: &Waiting, units: u32) {
        let per_page = self.geometry.slots.per_page;
        let pages = if next.extents > 0 || !rules.units {
            units
        } else {
            (next.page.0 + units - 1) / per_page - next.page.0 / per_page + 1
        };
        stats.count_reads(Class::Host, pages.into());
    }

    /// The device is filled: open programs are padded, and the flash takes whole programs from now on. Nothing where units are pages.
    pub(in crate::engine) fn ends_filling(&mut self, oracle: &mut Oracle, rules: &Rules) {
        if rules.units {
            self.pad_all(oracle);
            self.flash.take_programs(true);
        }
    }

    /// Open programs of host and GC are padded.
    pub(in crate::engine) fn pad_all(&mut self, oracle: &mut Oracle) {
        for plane in (0..self.geometry.planes).map(PlaneId) {
            for (first, count) in self.flash.pad_programs(plane) {
                (0..count).for_each(|slot| oracle.store(Ppn(first.0 + slot), Tag::NONE));
            }
        }
    }

    /// Counts the reads of valid units of a victim: a command a super page, of the flash pages that hold such units.
    fn count_victim_reads(&self, stats: &mut Stats, class: Class, offsets: &[u16]) {
        let slots = self.geometry.slots;
        let mut left = offsets;
        while let Some(first) = left.first() {
            let of = |offset: &u16, per: u32| u32::from(*offset) / per;
            let together =
                left.iter().take_while(|next| of(next, slots.per_super_page) == of(first, slots.per_super_page));
            let (command, rest) = left.split_at(together.count());
            let pages = command.chunk_by(|a, b| of(a, slots.per_page) == of(b, slots.per_page)).count();
            stats.count_reads(class, pages as u64);
            left = rest;
        }
    }
}

impl Features {
    /// The plane whose open program of a stream of the host goes on, where units are not placed by their numbers. None where units are
    /// pages.
    #[inline(always)]
    pub(in crate::engine) fn open_program(
        &mut self,
        kernel: &Kernel,
        dev: &Device,
        host: &Host,
        rules: &Rules,
        lpn: Lpn,
        stream: Stream,
    ) -> Option<PlaneId> {
        if rules.units { self.goes_on_with(kernel, dev, host, rules, lpn, stream) } else { None }
    }

    /// The plane of the last unit of a stream, if its open program has room.
    fn goes_on_with(
        &mut self,
        kernel: &Kernel,
        dev: &Device,
        host: &Host,
        rules: &Rules,
        lpn: Lpn,
        stream: Stream,
    ) -> Option<PlaneId> {
        let plane = match &self.handles {
            Some(handles) => handles.last_plane(stream)?,
            None if rules.binds => PlaneId(host.last_place),
            None => {
                let unit = UnitId(host.last_place);
                dev.geometry.plane_of_unit(unit, kernel.dies[unit].token)
            }
        };
        if dev.flash.rest_of_program(plane, stream) == 0 || !dev.flash.takes_page_of(plane, stream) {
            return None;
        }
        self.move_home(lpn, plane);
        Some(plane)
    }
}

impl Stats {
    /// A page is written in no time: counts its program, unless programs have several units, which count with the first of them.
    #[inline(always)]
    pub(in crate::engine) fn count_program_now(&mut self, rules: &Rules, class: Class) {
        if !rules.units {
            self.count_programs(class, 1);
        }
    }
}

/// An unwritten page is put on flash in no time, where programs have several units: with its run, in one program. Returns its slot, if
/// there was room. None where units are pages.
#[inline(always)]
pub(in crate::engine) fn preloads(ssd: &mut Ssd, lpn: Lpn) -> Option<Option<Ppn>> {
    if !ssd.rules.units {
        return None;
    }
    let (host, features) = (&ssd.host, &mut ssd.features);
    let (stats, oracle) = (&mut ssd.stats, &mut ssd.oracle);
    Some(ssd.dev.preload_run(host, features, stats, oracle, &ssd.rules, lpn))
}

/// Collects a block in no time, where programs have several units. Returns whether they have.
#[inline(always)]
pub(in crate::engine) fn collects_now(ssd: &mut Ssd, plane: PlaneId, victim: BlockId) -> bool {
    if ssd.rules.units {
        collect_units_now(ssd, plane, victim);
    }
    ssd.rules.units
}

/// Collects a block in no time: its valid units fill the open program of GC.
fn collect_units_now(ssd: &mut Ssd, plane: PlaneId, victim: BlockId) {
    ssd.dev.flash.expect_run(plane, victim);
    let mut moving = std::mem::replace(&mut ssd.gc.moving, Moving::new(0));
    let moved = moving.list_all(&ssd.dev.flash, plane, victim);
    count_moves(ssd, plane, Class::Gc, &moving.offsets[..moved]);
    let now = ssd.now;
    ssd.dev.move_listed(&mut ssd.kernel, &ssd.features, &mut ssd.oracle, &moving, |_| now);
    ssd.dev.flash.vacate(victim);
    ssd.features.tenants_moved_now(&ssd.dev, &ssd.rules, &moving);
    ssd.gc.moving = moving;
    ssd.stats.count_sorted(moved as u64);
    if ssd.rules.pads {
        ssd.stats.units.padding.gc += pad_of_gc(ssd, plane);
    }
    ssd.dev.flash.erase_now(victim);
    ssd.dev.forget_block(&mut ssd.features, &ssd.stats, &ssd.rules, ssd.now, victim);
    // An erase takes all planes of a group.
    ssd.stats.count_erases(ssd.dev.geometry.slots.planes.into());
    ssd.stats.count_collection(1);
}

/// Counts the reads and programs of a fold of a block, of which the valid units fill the open program of GC.
pub(in crate::engine) fn count_fold(ssd: &mut Ssd, plane: PlaneId, victim: BlockId) {
    let mut moving = std::mem::replace(&mut ssd.gc.moving, Moving::new(0));
    let moved = ssd.dev.flash.list_valid(victim, &mut moving.offsets, &mut moving.lpns);
    count_moves(ssd, plane, Class::Fold, &moving.offsets[..moved]);
    ssd.gc.moving = moving;
}

/// Counts the reads of valid units of a block, by their offsets, and the programs that they begin.
fn count_moves(ssd: &mut Ssd, plane: PlaneId, class: Class, offsets: &[u16]) {
    let (slots, moved) = (ssd.dev.geometry.slots, offsets.len());
    let rest = ssd.dev.flash.rest_of_program(plane, Stream::Gc);
    let begun = (moved as u32).saturating_sub(rest).div_ceil(slots.per_program);
    ssd.dev.count_victim_reads(&mut ssd.stats, class, offsets);
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
