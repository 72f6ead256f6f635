//! Dies, or what else serves one operation at a time (`device.exclusion`), and the ledger of their time.
//!
//! What a die's array and its cache register hold, and who holds the die, is written here alone.

use std::hint::select_unpredictable;
use std::ops::{Index, IndexMut};

use super::occupancy::Occupancy;
use crate::device::geometry::Geometry;
use crate::device::transaction::Fifo;
use crate::units::{JobId, Nanos, OpId, PlaneId, UnitId};

/// Who holds a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Holder {
    /// Nobody.
    Free,
    /// Host operations.
    Host,
    /// A collection.
    Gc,
    /// A page of the controller's buffer on its way back to flash, or a second copy that is being made.
    Writeback,
}

/// Where a unit stands in a suspension (rule R10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Suspension {
    /// None.
    No,
    /// The operation in the array is about to let go.
    Going,
    /// It has let go; a read is served.
    Serving,
    /// The array is being handed back.
    Resuming,
}

/// A unit of exclusion: a die (or chip, or channel) with its FIFO and its ledger.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Unit {
    /// The operation that has the array, or waits with it for the bus.
    array: OpId,
    /// The operation in the cache register (rule R8).
    cache: OpId,
    /// A read waits in the array for the cache register, or a program there for the array.
    parked: bool,
    /// Where a suspension stands.
    suspension: Suspension,
    /// The suspended operation, what it still needs, and when it was interrupted.
    suspended: OpId,
    rest: Nanos,
    interrupted: Nanos,
    /// Who holds the unit, since when.
    holder: Holder,
    since: Nanos,
    /// Planes (bits, by place in the unit) of the collection that holds it.
    gc_planes: u64,
    /// Total time held by collections.
    gc: u64,
    /// Total time held by write-backs.
    writeback: u64,
    /// How far host service runs behind what it would be without collections: see `Ssd::shadow`.
    lag: u64,
    /// Total time held by collections and write-backs when the last host operation began.
    lag_gc: u64,
    /// When the unit was last released by a host operation.
    released: Nanos,
    /// Operations that wait.
    pub(in crate::engine) queue: Fifo,
    /// The collection that holds the unit, or none.
    pub(in crate::engine) job: JobId,
    /// Collections begun.
    pub(in crate::engine) collections: u32,
    /// Planes due for collection, oldest first.
    pub(in crate::engine) due: Vec<PlaneId>,
    /// The plane that the last dynamic write took, by place in the unit.
    pub(in crate::engine) token: u32,
    /// On the list of units to look at.
    pub(in crate::engine) dirty: bool,
}

impl Unit {
    fn new(planes: u32) -> Self {
        Unit {
            array: OpId::NONE,
            cache: OpId::NONE,
            parked: false,
            suspension: Suspension::No,
            suspended: OpId::NONE,
            rest: Nanos::ZERO,
            interrupted: Nanos::ZERO,
            holder: Holder::Free,
            since: Nanos::ZERO,
            gc_planes: 0,
            gc: 0,
            writeback: 0,
            lag: 0,
            lag_gc: 0,
            released: Nanos::ZERO,
            queue: Fifo::EMPTY,
            job: JobId::NONE,
            collections: 0,
            due: Vec::with_capacity(planes as usize),
            token: planes - 1,
            dirty: false,
        }
    }

    /// The operation that has the array, or none.
    #[inline(always)]
    pub(in crate::engine) fn array(&self) -> OpId {
        self.array
    }

    /// The operation in the cache register, or none.
    #[inline(always)]
    pub(in crate::engine) fn cache(&self) -> OpId {
        self.cache
    }

    /// Where a suspension stands.
    #[inline(always)]
    pub(in crate::engine) fn suspension(&self) -> Suspension {
        self.suspension
    }

    /// Who holds the unit.
    #[inline(always)]
    pub(in crate::engine) fn holder(&self) -> Holder {
        self.holder
    }

    /// Since when its holder has held it, or since when it has been free.
    pub(in crate::engine) fn since(&self) -> Nanos {
        self.since
    }

    /// When a host operation last released it.
    pub(in crate::engine) fn released(&self) -> Nanos {
        self.released
    }

    /// The operations in service: in the array, in the cache register, suspended; none where there is none.
    pub(in crate::engine) fn in_service(&self) -> [OpId; 3] {
        [self.array, self.cache, self.suspended]
    }

    /// The operation that an event of the array belongs to.
    pub(in crate::engine) fn of_event(&self) -> OpId {
        if self.array.is_some() { self.array } else { self.suspended }
    }

    /// Whether no operation is in service.
    #[inline(always)]
    pub(in crate::engine) fn is_free(&self) -> bool {
        self.array.is_none() && self.cache.is_none() && self.suspension == Suspension::No
    }

    /// An operation has the array.
    #[inline(always)]
    pub(in crate::engine) fn occupy(&mut self, op: OpId) {
        self.array = op;
    }

    /// The array's operation has ended.
    #[inline(always)]
    pub(in crate::engine) fn vacate(&mut self) {
        self.array = OpId::NONE;
    }

    /// A host operation begins: beside the one in the array, if there is one, in the cache register (R8).
    #[inline(always)]
    pub(in crate::engine) fn enter(&mut self, op: OpId) {
        if self.array.is_some() {
            self.cache = op;
            self.parked = false;
        } else {
            self.array = op;
        }
    }

    /// A host operation ends, at a time, after so long behind collections on the bus.
    #[inline(always)]
    pub(in crate::engine) fn leave(&mut self, op: OpId, now: Nanos, bus_gc: u64) {
        self.released = now;
        self.lag += bus_gc;
        if self.cache == op {
            self.cache = OpId::NONE;
        } else {
            self.array = OpId::NONE;
        }
    }

    /// An operation that would be there without collections too, though not the host's, ends.
    pub(in crate::engine) fn released_at(&mut self, now: Nanos) {
        self.released = now;
    }

    /// R8: the read in the array waits for the cache register, or the program there for the array.
    pub(in crate::engine) fn park(&mut self) {
        self.parked = true;
    }

    /// R8: the array's page moves to the cache register; the next array read may come.
    pub(in crate::engine) fn move_to_cache(&mut self) {
        self.cache = std::mem::replace(&mut self.array, OpId::NONE);
    }

    /// R8: the read that waits in the array for the cache register, which has become free. It moves there.
    pub(in crate::engine) fn unpark_read(&mut self) -> Option<OpId> {
        if self.array.is_none() || self.cache.is_some() || !self.parked {
            return None;
        }
        self.parked = false;
        self.move_to_cache();
        Some(self.cache)
    }

    /// R8: the program in the cache register takes the array, which has become free. Returns whether it waited for that.
    pub(in crate::engine) fn unpark_program(&mut self) -> bool {
        self.array = std::mem::replace(&mut self.cache, OpId::NONE);
        std::mem::replace(&mut self.parked, false)
    }

    /// R10: what is in the array is about to be suspended, with so much of it left to do.
    pub(in crate::engine) fn begin_suspension(&mut self, rest: Nanos, now: Nanos) {
        self.rest = rest;
        self.interrupted = now;
        self.suspension = Suspension::Going;
    }

    /// R10: it is suspended; the array is free for a read.
    pub(in crate::engine) fn suspend(&mut self) {
        self.suspension = Suspension::Serving;
        self.suspended = std::mem::replace(&mut self.array, OpId::NONE);
    }

    /// R10: the suspended operation is about to have the array again. Returns it.
    pub(in crate::engine) fn begin_resumption(&mut self) -> OpId {
        self.suspension = Suspension::Resuming;
        self.suspended
    }

    /// R10: it has the array again. Returns it, with what it still needs and for how long it was interrupted.
    pub(in crate::engine) fn resume(&mut self, now: Nanos) -> (OpId, Nanos, Nanos) {
        self.array = std::mem::replace(&mut self.suspended, OpId::NONE);
        self.suspension = Suspension::No;
        (self.array, self.rest, now - self.interrupted)
    }

    /// The shadow clock, which serves host operations only, if one that waits since `since` began now: how far service is behind
    /// that clock, and when it would begin there. See `Ssd::shadow`.
    #[inline(always)]
    pub(in crate::engine) fn shadow(&self, since: Nanos, now: Nanos) -> (u64, Nanos) {
        let free = self.released.0.saturating_sub(self.lag);
        let start = free.max(since.0);
        let most = self.lag + (self.gc(now) + self.writeback(now) - self.lag_gc);
        let lag = now.0.saturating_sub(start).min(most);
        (lag, Nanos(now.0 - lag))
    }

    /// Host service begins so far behind the shadow clock.
    #[inline(always)]
    pub(in crate::engine) fn set_lag(&mut self, lag: u64, now: Nanos) {
        self.lag = lag;
        self.lag_gc = self.gc(now) + self.writeback(now);
    }

    /// Power is cut: nothing runs, and nobody waits.
    pub(in crate::engine) fn power_cut(&mut self) {
        self.array = OpId::NONE;
        self.cache = OpId::NONE;
        self.parked = false;
        self.suspended = OpId::NONE;
        self.suspension = Suspension::No;
        self.queue = Fifo::EMPTY;
        self.job = JobId::NONE;
        self.dirty = false;
        self.due.clear();
    }

    /// Total time that collections held this unit, up to now.
    #[inline(always)]
    pub(in crate::engine) fn gc(&self, now: Nanos) -> u64 {
        self.gc + if self.holder == Holder::Gc { (now - self.since).0 } else { 0 }
    }

    /// Total time that write-backs held this unit, up to now.
    #[inline(always)]
    pub(in crate::engine) fn writeback(&self, now: Nanos) -> u64 {
        self.writeback + if self.holder == Holder::Writeback { (now - self.since).0 } else { 0 }
    }

    /// Of the time that collections held it: while the plane at place `k` took part. `by_plane` is the unit's slice of the ledger by plane.
    #[inline(always)]
    pub(in crate::engine) fn gc_own(&self, by_plane: u64, k: u32, now: Nanos) -> u64 {
        by_plane + if self.holder == Holder::Gc && self.gc_planes >> k & 1 == 1 { (now - self.since).0 } else { 0 }
    }

    /// Enters the elapsed time into the ledger.
    #[inline(always)]
    fn settle(&mut self, by_plane: &mut [u64], now: Nanos) {
        if self.holder == Holder::Gc {
            let elapsed = (now - self.since).0;
            self.gc += elapsed;
            let mut planes = self.gc_planes;
            while planes != 0 {
                by_plane[planes.trailing_zeros() as usize] += elapsed;
                planes &= planes - 1;
            }
        } else if self.holder == Holder::Writeback {
            self.writeback += (now - self.since).0;
        }
        self.since = now;
    }
}

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
    pages_per_entry: u32,
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
            pages_per_entry: geometry.pages_per_entry,
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
            let planes = self[unit].gc_planes.count_ones() * self.pages_per_entry;
            self.held_gc.change(holder == Holder::Gc, now);
            self.gc_planes.change_by(planes, holder == Holder::Gc, now);
        }
        if (before == Holder::Writeback) != (holder == Holder::Writeback) {
            self.held_writeback.change(holder == Holder::Writeback, now);
        }
    }

    /// Enters the time since the last entry into the ledger.
    #[inline(always)]
    fn settle(&mut self, unit: UnitId, now: Nanos) {
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

    /// Planes of a unit (as bits by place in the unit) come to be collected on it, which is free.
    #[inline(always)]
    pub(in crate::engine) fn seize_for_gc(&mut self, unit: UnitId, planes: u64, chip: u32, now: Nanos) {
        self[unit].gc_planes = planes;
        self.seize(unit, Holder::Gc, chip, now);
    }

    /// A step of a collection follows another one on a unit, perhaps of other planes.
    #[inline(always)]
    pub(in crate::engine) fn pass_to_gc(&mut self, unit: UnitId, op: OpId, planes: u64, now: Nanos) {
        self.settle(unit, now);
        let state = &mut self[unit];
        state.array = op;
        state.gc_planes = planes;
    }

    /// A collection's own planes hold its unit again, after a page of another collection.
    pub(in crate::engine) fn return_to_gc(&mut self, unit: UnitId, planes: u64, now: Nanos) {
        self[unit].gc_planes = planes;
        self.set_holder(unit, Holder::Gc, now);
    }

    /// [`Dies::set_holder`] for a host operation that takes a free unit's array.
    #[inline(always)]
    pub(in crate::engine) fn seize_free(&mut self, unit: UnitId, op: OpId, now: Nanos) {
        let state = &mut self[unit];
        state.array = op;
        state.holder = Holder::Host;
        state.since = now;
        self.held.change(true, now);
    }

    /// [`Dies::set_holder`] for a unit whose only operation, the host's, has ended.
    #[inline(always)]
    pub(in crate::engine) fn release_host(&mut self, unit: UnitId, bus_gc: u64, now: Nanos) {
        let state = &mut self[unit];
        state.lag += bus_gc;
        state.released = now;
        state.array = OpId::NONE;
        state.holder = Holder::Free;
        state.since = now;
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
