//! Folds in no time: where requests are only counted, and where GC takes no time.

use crate::device::flash::Stream;
use crate::device::transaction::Class;
use crate::engine::Ssd;
use crate::engine::features::life::now::has_failed;
use crate::engine::features::units::timeless::{count_fold, pad_of_gc};
use crate::engine::gc::jobs::Why;
use crate::policy::{Hop, Journey};
use crate::units::{Lpn, PlaneId, Ppn};

use crate::engine::features::slc::steps::{count, destination, land_page};

/// A page of the host finds no room in a plane, in no time. Where it waits for a fold, a block is folded: returns whether there was one.
/// None if it waits for none, as without a cache of SLC.
#[inline(always)]
pub(in crate::engine) fn makes_room(ssd: &mut Ssd, plane: PlaneId, stream: Stream) -> Option<bool> {
    let folds = ssd.rules.slc && ssd.dev.flash.waits_for_fold(plane, stream);
    if folds { Some(fold_now(ssd, plane, Why::Forced)) } else { None }
}

/// A page of the host has been written in no time. What is above its level is folded, if there is a cache of SLC.
#[inline(always)]
pub(in crate::engine) fn has_written(ssd: &mut Ssd, lpn: Lpn, page: Ppn, plane: PlaneId) {
    if ssd.rules.slc {
        fold_written(ssd, lpn, page, plane);
    }
}

/// Counts a page that has been written in no time, and folds what is above the level of its plane.
#[inline(never)]
fn fold_written(ssd: &mut Ssd, lpn: Lpn, page: Ppn, plane: PlaneId) {
    let cached = ssd.dev.flash.is_slc(ssd.dev.geometry.block_of(page));
    let Some(slc) = &mut ssd.features.slc else { return };
    if !slc.filling {
        slc.count_program(lpn, cached, true);
        fold_to_level(ssd, plane);
    }
}

/// Folds full blocks of a plane until the lower level is reached, if the upper one was. GC's trigger is tested after each.
pub(super) fn fold_to_level(ssd: &mut Ssd, plane: PlaneId) {
    loop {
        let used = ssd.dev.flash.slc_used(plane);
        let Some(slc) = &mut ssd.features.slc else { return };
        let folds = slc.test_level(plane.ix(), used) && !ssd.dev.flash.full_slc(plane).is_empty();
        if !folds || !fold_now(ssd, plane, Why::Level) {
            return;
        }
    }
}

/// Folds a block of a plane in no time, after the collections that its pages need for their room. Returns whether there was one.
pub(in crate::engine) fn fold_now(ssd: &mut Ssd, plane: PlaneId, why: Why) -> bool {
    if why == Why::Forced && ssd.dev.flash.full_slc(plane).is_empty() && ssd.dev.flash.close_slc(plane) {
        ssd.features.slc.iter_mut().for_each(|slc| slc.counts.closed_early += 1);
    }
    let Some(victim) = ssd.dev.flash.slc_victim(plane) else { return false };
    while !ssd.dev.flash.has_room_to_fold(plane, victim) {
        if !ssd.collect_once(plane) {
            return false;
        }
    }
    ssd.dev.flash.begin_fold(victim);
    let written = ssd.dev.flash.written(victim);
    if ssd.rules.units {
        count_fold(ssd, plane, victim);
    }
    let inside = ssd.features.slc.as_ref().is_some_and(|slc| slc.journey.out == Hop::Die);
    let mut folded = [0; 2];
    for offset in 0..written {
        let from = ssd.dev.geometry.page(victim, offset);
        let lpn = ssd.dev.flash.lpn_of(from);
        if lpn.is_none() {
            continue;
        }
        let tag = ssd.oracle.load(from, lpn);
        let mut to = destination(ssd, plane, from, why);
        while ssd.rules.fails && has_failed(ssd, to) {
            if inside {
                ssd.stats.count_copybacks(1)
            } else {
                ssd.stats.count_programs(Class::Fold, 1)
            }
            to = destination(ssd, plane, from, why);
        }
        folded[usize::from(land_page(ssd, from, to, tag, !inside))] += 1;
    }
    let moved = folded[0] + folded[1];
    match inside {
        true => ssd.stats.count_moves(Journey::COPYBACK, moved),
        false if ssd.rules.units => {
            if ssd.rules.pads {
                ssd.stats.units.padding.fold += pad_of_gc(ssd, plane);
            }
        }
        false => {
            (0..moved).for_each(|_| ssd.stats.count_reads(Class::Fold, 1));
            (0..moved).for_each(|_| ssd.stats.count_programs(Class::Fold, 1));
        }
    }
    ssd.dev.flash.erase_now(victim);
    ssd.dev.forget_block(&mut ssd.features, &ssd.stats, &ssd.rules, ssd.now, victim);
    ssd.stats.count_erases(ssd.dev.geometry.slots.planes.into());
    count(ssd, why, written.into(), folded);
    ssd.collect_now(plane, Stream::Host);
    true
}
