//! Blocks that are emptied because a program in them has failed: the plane's next collection moves their valid pages and erases nothing.

use crate::config::GcTime;
use crate::engine::Ssd;
use crate::engine::gc::jobs::begin_job;
use crate::policy::Job;
use crate::units::{PlaneId, UnitId};

use crate::engine::features::life::now;

/// A program or an erase has completed in a plane: a block of it may wait to be emptied, if programs may fail.
#[inline(always)]
pub(in crate::engine) fn test_plane(ssd: &mut Ssd, plane: PlaneId) {
    if ssd.rules.fails {
        tests_plane(ssd, plane);
    }
}

/// The same where programs may fail.
fn tests_plane(ssd: &mut Ssd, plane: PlaneId) {
    if ssd.dev.flash.next_salvage(plane).is_none() {
        return;
    }
    match ssd.config.gc.time {
        GcTime::None => _ = now::salvages(ssd, plane),
        GcTime::Real => ssd.claim(plane),
    }
}

/// What is due in a plane may be to empty a block, which goes before collections. Returns whether that has begun. It has not where no
/// program fails.
#[inline(always)]
pub(in crate::engine) fn starts(ssd: &mut Ssd, plane: PlaneId, unit: UnitId) -> bool {
    ssd.rules.fails && starts_salvage(ssd, plane, unit)
}

/// The same where programs may fail.
fn starts_salvage(ssd: &mut Ssd, plane: PlaneId, unit: UnitId) -> bool {
    let Some(block) = ssd.dev.flash.next_salvage(plane) else { return false };
    ssd.dev.flash.begin_salvage(block);
    // There is nothing to erase.
    let job = Job { erased: true, ..Job::new(block) };
    let planes = 1 << ssd.dev.geometry.plane_in_unit(plane);
    begin_job(ssd, job, planes, plane, unit, None);
    true
}

/// A page that a read has found unwritten was put on flash. Programs that failed are not counted, as it is not. Nothing where no
/// programs fail.
#[inline(always)]
pub(in crate::engine) fn has_brought(ssd: &mut Ssd, plane: PlaneId) {
    if ssd.rules.fails {
        test_brought(ssd, plane);
    }
}

/// Notes the blocks whose programs failed when a page was put on flash. One of them may have to be emptied.
#[inline(never)]
fn test_brought(ssd: &mut Ssd, plane: PlaneId) {
    ssd.dev.flash.take_failed();
    ssd.features.note_retired(&mut ssd.dev, &ssd.stats, ssd.now);
    tests_plane(ssd, plane);
}
