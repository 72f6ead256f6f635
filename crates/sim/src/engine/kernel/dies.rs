//! Dies, or what else serves one operation at a time (`device.exclusion`), and the ledger of their time.

use std::hint::select_unpredictable;
use std::ops::{Index, IndexMut};

use crate::device::geometry::Geometry;
use crate::device::resource::{Holder, Occupancy, Unit};
use crate::units::{Nanos, OpId, UnitId};

/// All units.
#[derive(Clone)]
pub(in crate::engine) struct Dies {
    pub(in crate::engine) units: Vec<Unit>,
    /// Ledger by unit and plane: total time that collections of that plane held the unit.
    pub(in crate::engine) gc_by_plane: Vec<u64>,
    /// Units that may have become free.
    pub(in crate::engine) dirty: Vec<UnitId>,
    /// The units that `dispatch` looks at in this round.
    pub(in crate::engine) looking: Vec<UnitId>,
    /// Units with planes due for collection, of those that `decide` looks at.
    pub(in crate::engine) due: Vec<UnitId>,
    /// Units held: integrated.
    pub(in crate::engine) held: Occupancy,
    /// Units held by collections.
    pub(in crate::engine) held_gc: Occupancy,
    /// Units held by write-backs.
    pub(in crate::engine) held_writeback: Occupancy,
    /// Planes that take part in the collections that hold units.
    pub(in crate::engine) gc_planes: Occupancy,
    /// By chip: operations in service.
    pub(in crate::engine) chip_ops: Vec<u32>,
    /// Chips that have one.
    pub(in crate::engine) chips_busy: u32,
    planes_per_unit: usize,
    pages_per_unit: u32,
}

impl Dies {
    pub(super) fn new(geometry: &Geometry) -> Self {
        let units = geometry.units as usize;
        Dies {
            units: vec![Unit::new(geometry.planes_per_unit); units],
            gc_by_plane: vec![0; geometry.planes as usize],
            dirty: Vec::with_capacity(units),
            looking: Vec::with_capacity(units),
            due: Vec::with_capacity(units),
            held: Occupancy::default(),
            held_gc: Occupancy::default(),
            held_writeback: Occupancy::default(),
            gc_planes: Occupancy::default(),
            chip_ops: vec![0; geometry.chips as usize],
            chips_busy: 0,
            planes_per_unit: geometry.planes_per_unit as usize,
            pages_per_unit: geometry.pages_per_unit,
        }
    }

    /// Enters a change of holder into the ledger.
    #[inline(always)]
    pub(in crate::engine) fn set_holder(&mut self, unit: UnitId, holder: Holder, now: Nanos) {
        if self[unit].holder == holder {
            return;
        }
        self.settle(unit, now);
        let state = &mut self[unit];
        let before = std::mem::replace(&mut state.holder, holder);
        if (before == Holder::Free) != (holder == Holder::Free) {
            self.held.change(before == Holder::Free, now);
        }
        if (before == Holder::Gc) != (holder == Holder::Gc) {
            let planes = self[unit].job_planes.count_ones() * self.pages_per_unit;
            self.held_gc.change(holder == Holder::Gc, now);
            self.gc_planes.change_by(planes, holder == Holder::Gc, now);
        }
        if (before == Holder::Writeback) != (holder == Holder::Writeback) {
            self.held_writeback.change(holder == Holder::Writeback, now);
        }
    }

    /// Enters the time since the last entry into the ledger.
    #[inline(always)]
    pub(in crate::engine) fn settle(&mut self, unit: UnitId, now: Nanos) {
        let planes = self.planes_per_unit;
        self.units[unit.ix()].settle(&mut self.gc_by_plane[unit.ix() * planes..][..planes], now);
    }

    /// An operation begins on a free unit of a chip, or beside another one.
    #[inline(always)]
    pub(in crate::engine) fn seize(&mut self, unit: UnitId, holder: Holder, chip: u32, now: Nanos) {
        self.set_holder(unit, holder, now);
        self.chip_in_use(chip, true);
    }

    /// The only operation of a unit has ended.
    #[inline(always)]
    pub(in crate::engine) fn release(&mut self, unit: UnitId, chip: u32, now: Nanos) {
        self.set_holder(unit, Holder::Free, now);
        self.chip_in_use(chip, false);
    }

    /// [`Dies::set_holder`] for a host operation that takes a free unit's array.
    #[inline(always)]
    pub(in crate::engine) fn seize_free(&mut self, unit: UnitId, op: OpId, now: Nanos) {
        let state = &mut self[unit];
        (state.array, state.holder, state.since) = (op, Holder::Host, now);
        self.held.change(true, now);
    }

    /// [`Dies::set_holder`] for a unit whose only operation, the host's, has ended.
    #[inline(always)]
    pub(in crate::engine) fn release_host(&mut self, unit: UnitId, now: Nanos) {
        let state = &mut self[unit];
        (state.released, state.array, state.holder, state.since) = (now, OpId::NONE, Holder::Free, now);
        self.held.change(false, now);
    }

    /// A chip has one operation in service more, or one fewer.
    #[inline(always)]
    pub(in crate::engine) fn chip_in_use(&mut self, chip: u32, up: bool) {
        let ops = &mut self.chip_ops[chip as usize];
        // Which it is can't be foretold: without a branch.
        if up {
            self.chips_busy += select_unpredictable(*ops == 0, 1, 0);
            *ops += 1;
        } else {
            *ops -= 1;
            self.chips_busy -= select_unpredictable(*ops == 0, 1, 0);
        }
    }

    /// `dispatch` looks at a unit in this round, or in the next if it is under way.
    #[inline(always)]
    pub(in crate::engine) fn mark(&mut self, unit: UnitId) {
        if !std::mem::replace(&mut self[unit].dirty, true) {
            self.dirty.push(unit);
        }
    }
}

impl Index<UnitId> for Dies {
    type Output = Unit;

    #[inline(always)]
    fn index(&self, unit: UnitId) -> &Unit {
        &self.units[unit.ix()]
    }
}

impl IndexMut<UnitId> for Dies {
    #[inline(always)]
    fn index_mut(&mut self, unit: UnitId) -> &mut Unit {
        &mut self.units[unit.ix()]
    }
}
