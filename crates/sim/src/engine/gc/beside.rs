//! What a plane does beside its collections: blocks are emptied whose program failed, blocks of the cache of SLC are folded, and a die
//! that is idle collects or folds.

use crate::engine::Ssd;
use crate::engine::features::life::salvage;
use crate::engine::features::slc::folds;
use crate::engine::gc::idle::collect_if_triggered;
use crate::units::{PlaneId, UnitId};

/// A program or an erase has completed in a plane: it is tested for what goes before its collections.
#[inline(never)]
pub(in crate::engine) fn test_beside(ssd: &mut Ssd, plane: PlaneId) {
    salvage::test_plane(ssd, plane);
    folds::test_plane(ssd, plane);
}

/// What is due in a plane may be no collection. Returns whether it has begun, or cannot begin now.
#[inline(never)]
pub(in crate::engine) fn starts_beside(ssd: &mut Ssd, plane: PlaneId, unit: UnitId) -> bool {
    salvage::starts(ssd, plane, unit) || folds::starts(ssd, plane, unit)
}

/// Collector decision: a plane of an idle die becomes due if the trigger says so, or a block of its cache is folded. Called when the die
/// has been idle long enough, and after each collection that this started.
#[inline(never)]
pub(in crate::engine) fn work_in_idle_time(ssd: &mut Ssd, unit: UnitId) {
    collect_if_triggered(ssd, unit);
    folds::fold_in_idle_time(ssd, unit);
}
