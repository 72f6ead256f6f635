//! Dies, or other units of exclusion (`device.exclusion`), and the ledger of their time.
//!
//! Only this file writes the array, the cache register and the holder of a die; `ledger.rs` has what was noted of holders.

mod ledger;

use std::hint::select_unpredictable;
use std::io;
use std::mem::offset_of;
use std::ops::{Index, IndexMut};

use crate::carry::Carrier;
use crate::device::geometry::Geometry;
use crate::device::transaction::Fifo;
use crate::engine::kernel::occupancy::{Level, Occupancy};
use crate::engine::kernel::spans::Spans;
pub(in crate::engine) use crate::engine::kernel::turn::Turn;
use crate::units::{JobId, Nanos, OpId, PlaneId, UnitId, count};

/// Holder of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Holder {
    /// None.
    Free,
    /// Host operations.
    Host,
    /// GC.
    Gc,
    /// A write-back from the controller's buffer, or a second copy that is being programmed.
    Writeback,
    /// A write-back from the write cache, which the shadow clock serves like a host operation.
    Cache,
    /// A fold of the cache of SLC, which it serves in the same way.
    Fold,
}

/// State of a unit's suspension (rule R10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Suspension {
    /// No suspension.
    No,
    /// A read waits until the operation in the array yields, at the end of a slice.
    Due,
    /// The operation in the array is being suspended.
    Going,
    /// It is suspended, and a read is served.
    Serving,
    /// It is being resumed.
    Resuming,
}

/// A unit of exclusion: a die (or chip, or channel) with its FIFO and its ledger. Pages of the host use the first two cache lines of
/// it.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(in crate::engine) struct Unit {
    /// The operation that occupies the array, or holds it while waiting for the bus.
    array: OpId,
    /// The collection that holds the unit, or none.
    pub(in crate::engine) job: JobId,
    /// Waiting operations.
    pub(in crate::engine) queue: Fifo,
    /// Number of collections begun.
    pub(in crate::engine) collections: u32,
    /// A read in the array waits for the cache register, or a program in the register waits for the array.
    parked: bool,
    /// State of the suspension.
    suspension: Suspension,
    /// Holder of the unit, and the time since when it holds it.
    holder: Holder,
    since: Nanos,
    /// Total time held by GC.
    gc: u64,
    /// Total time held by write-backs.
    writeback: u64,
    /// Delay of host service compared with service without GC: see `Kernel::turn`.
    lag: u64,
    /// Total time held by GC and write-backs when the last host operation began.
    lag_gc: u64,
    /// Time at which a host operation last released the unit.
    released: Nanos,
    /// The number of the `dirty` list that the unit was added to last, and of the one for which its operations joined
    /// `Dies::wanted`.
    marked: u64,
    /// See `marked`.
    wants: u64,
    /// Its channel, as in `Buses::contested`.
    bus: u64,
    /// Planes due for GC, oldest first.
    due: Vec<PlaneId>,
    /// Planes (bits, by index in the unit) of the collection that holds it.
    gc_planes: u64,
    /// The suspended operation, its remaining time, and the time of its interruption.
    suspended: OpId,
    /// The operation in the cache register (rule R8).
    cache: OpId,
    rest: Nanos,
    interrupted: Nanos,
    /// Total time held by write-backs of the write cache.
    cached: u64,
    /// Total time held by folds of the cache of SLC.
    folded: u64,
    /// Total time held by host operations, without those of the fast lane: exact while the lane is closed, as it is for an observer of dies.
    host: u64,
    /// The plane of the last dynamic write, by index in the unit.
    pub(in crate::engine) token: u32,
}

const _: () = assert!(offset_of!(Unit, suspended) == 2 * 64, "what pages of the host use is two cache lines");

impl Unit {
    fn new(planes: u32, bus: u64) -> Self {
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
            cached: 0,
            folded: 0,
            host: 0,
            lag: 0,
            lag_gc: 0,
            released: Nanos::ZERO,
            queue: Fifo::EMPTY,
            job: JobId::NONE,
            collections: 0,
            due: Vec::with_capacity(planes as usize),
            token: planes - 1,
            marked: 0,
            wants: 0,
            bus,
        }
    }

    /// Carries what filling leaves: it takes no time, so no operation is in service or waits.
    pub(in crate::engine) fn carry(&mut self, carrier: &mut Carrier<'_>) -> io::Result<()> {
        carrier.value(&mut self.token)
    }

    /// Planes due for GC, oldest first.
    #[inline(always)]
    pub(in crate::engine) fn due(&self) -> &[PlaneId] {
        &self.due
    }

    /// The operation that occupies the array, or none.
    #[inline(always)]
    pub(in crate::engine) fn array(&self) -> OpId {
        self.array
    }

    /// The operation in the cache register, or none.
    #[inline(always)]
    pub(in crate::engine) fn cache(&self) -> OpId {
        self.cache
    }

    /// State of the suspension.
    #[inline(always)]
    pub(in crate::engine) fn suspension(&self) -> Suspension {
        self.suspension
    }

    /// Holder of the unit.
    #[inline(always)]
    pub(in crate::engine) fn holder(&self) -> Holder {
        self.holder
    }

    /// Time since when the current holder has held it, or since when it has been free.
    pub(in crate::engine) fn since(&self) -> Nanos {
        self.since
    }

    /// Time at which a host operation last released it.
    pub(in crate::engine) fn released(&self) -> Nanos {
        self.released
    }

    /// The operations in service: in the array, in the cache register, suspended; `NONE` for each that does not exist.
    pub(in crate::engine) fn in_service(&self) -> [OpId; 3] {
        [self.array, self.cache, self.suspended]
    }

    /// The operation whose end an array event is.
    pub(in crate::engine) fn of_event(&self) -> OpId {
        if self.array.is_some() { self.array } else { self.suspended }
    }

    /// Whether no operation is in service.
    #[inline(always)]
    pub(in crate::engine) fn is_free(&self) -> bool {
        self.array.is_none() && self.cache.is_none() && self.suspension == Suspension::No
    }

    /// An operation takes the array.
    #[inline(always)]
    pub(in crate::engine) fn occupy(&mut self, op: OpId) {
        self.array = op;
    }

    /// The operation in the array has ended.
    #[inline(always)]
    pub(in crate::engine) fn vacate(&mut self) {
        self.array = OpId::NONE;
    }

    /// A host operation begins: in the array or, if that is occupied, in the cache register (R8).
    #[inline(always)]
    pub(in crate::engine) fn enter(&mut self, op: OpId) {
        if self.array.is_some() {
            self.cache = op;
            self.parked = false;
        } else {
            self.array = op;
        }
    }

    /// A host operation ends at `now`. `bus_gc` is its wait for GC on the bus.
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

    /// An operation ends that is not the host's, but would exist without GC.
    pub(in crate::engine) fn released_at(&mut self, now: Nanos) {
        self.released = now;
    }

    /// R8: the read in the array starts to wait for the cache register, or the program in the register for the array.
    pub(in crate::engine) fn park(&mut self) {
        self.parked = true;
    }

    /// R8: the array's page moves to the cache register, so the next array read may begin.
    pub(in crate::engine) fn move_to_cache(&mut self) {
        self.cache = std::mem::replace(&mut self.array, OpId::NONE);
    }

    /// R8: the cache register is free. Moves the read that waits for it in the array, if there is one, and returns it.
    pub(in crate::engine) fn unpark_read(&mut self) -> Option<OpId> {
        if self.array.is_none() || self.cache.is_some() || !self.parked {
            return None;
        }
        self.parked = false;
        self.move_to_cache();
        Some(self.cache)
    }

    /// R8: the array is free. The program in the cache register takes it. Returns whether it has waited.
    pub(in crate::engine) fn unpark_program(&mut self) -> bool {
        self.array = std::mem::replace(&mut self.cache, OpId::NONE);
        std::mem::replace(&mut self.parked, false)
    }

    /// R10: a read waits for the end of a slice; `rest` is what remains of the operation then.
    pub(in crate::engine) fn wait_for_slice(&mut self, rest: Nanos) {
        (self.rest, self.suspension) = (rest, Suspension::Due);
    }

    /// R10: a slice of the operation in the array has ended. Returns what remains.
    pub(in crate::engine) fn end_slice(&mut self) -> Nanos {
        self.suspension = Suspension::No;
        self.rest
    }

    /// R10: the suspension of the operation in the array begins; `rest` is its remaining time.
    pub(in crate::engine) fn begin_suspension(&mut self, rest: Nanos, now: Nanos) {
        (self.rest, self.interrupted, self.suspension) = (rest, now, Suspension::Going);
    }

    /// R10: the operation is suspended; the array is free for a read.
    pub(in crate::engine) fn suspend(&mut self) {
        self.suspension = Suspension::Serving;
        self.suspended = std::mem::replace(&mut self.array, OpId::NONE);
    }

    /// R10: the resumption of the suspended operation begins. Returns it.
    pub(in crate::engine) fn begin_resumption(&mut self) -> OpId {
        self.suspension = Suspension::Resuming;
        self.suspended
    }

    /// R10: the operation is resumed. Returns it, its remaining time, and the length of the interruption.
    pub(in crate::engine) fn resume(&mut self, now: Nanos) -> (OpId, Nanos, Nanos) {
        self.array = std::mem::replace(&mut self.suspended, OpId::NONE);
        self.suspension = Suspension::No;
        (self.array, self.rest, now - self.interrupted)
    }

    /// The turn of an operation that has waited since `since`, by the ledger and by the shadow clock, which serves host operations
    /// only. See `Kernel::turn`.
    #[inline(always)]
    pub(in crate::engine) fn turn(&self, since: Nanos, now: Nanos) -> Turn {
        self.turn_after(self.gc(now), self.writeback(now), since, now)
    }

    /// The same after such times of GC and of write-backs.
    #[inline(always)]
    fn turn_after(&self, gc: u64, writeback: u64, since: Nanos, now: Nanos) -> Turn {
        if since == now {
            // No operation is late that does not wait.
            return Turn { gc, writeback, lag: 0, shadow_start: now };
        }
        let most = self.lag + (gc + writeback - self.lag_gc);
        if most == 0 {
            // Nothing has delayed it.
            return Turn { gc, writeback, lag: 0, shadow_start: now };
        }
        let free = self.released.0.saturating_sub(self.lag);
        let lag = now.0.saturating_sub(free.max(since.0)).min(most);
        Turn { gc, writeback, lag, shadow_start: Nanos(now.0 - lag) }
    }

    /// A host operation begins.
    #[inline(always)]
    pub(in crate::engine) fn set_lag(&mut self, turn: &Turn) {
        self.lag = turn.lag;
        self.lag_gc = turn.gc + turn.writeback;
    }

    /// Power is cut: no running and no waiting operation remains.
    pub(in crate::engine) fn power_cut(&mut self) {
        self.array = OpId::NONE;
        self.cache = OpId::NONE;
        self.parked = false;
        self.suspended = OpId::NONE;
        self.suspension = Suspension::No;
        self.queue = Fifo::EMPTY;
        self.job = JobId::NONE;
        self.due.clear();
    }
}

/// No number of chips.
const NO_CHIPS: u32 = u32::MAX;

/// All units.
#[derive(Clone)]
pub(in crate::engine) struct Dies {
    pub(in crate::engine) units: Vec<Unit>,
    /// Ledger by unit and plane: total time for which GC of that plane held the unit.
    pub(in crate::engine) gc_by_plane: Vec<u64>,
    /// Units that may have become free.
    pub(in crate::engine) dirty: Vec<UnitId>,
    /// Number of such lists so far, with this one.
    lists: u64,
    /// Units that `dispatch` considers in this round.
    pub(in crate::engine) looking: Vec<UnitId>,
    /// Channels that operations of marked units may request, as bits like `Buses::contested`; and those that several may request.
    wanted: u64,
    contested: u64,
    /// Number of due planes of all units.
    dues: u32,
    /// Units with due planes, among those that `decide` considers.
    pub(in crate::engine) due: Vec<UnitId>,
    /// Number of held units, integrated over time.
    pub(in crate::engine) held: Occupancy,
    /// Units held by GC.
    pub(in crate::engine) held_gc: Occupancy,
    /// Units held by write-backs.
    pub(in crate::engine) held_writeback: Occupancy,
    /// Units held by folds of the cache of SLC.
    pub(in crate::engine) held_fold: Occupancy,
    /// Planes that participate in the collections that hold units.
    pub(in crate::engine) gc_planes: Occupancy,
    /// Time up to which `held_gc` and `gc_planes` are reported: the last completion of a measured request.
    pub(in crate::engine) marked_at: Nanos,
    /// That time, and `held` then.
    held_at_mark: (Nanos, Level),
    /// By chip: operations in service.
    chip_ops: Vec<u32>,
    /// Chips with an operation in service.
    chips_busy: u32,
    /// In a round in which reads begin before all requests have arrived: the chips that were in use before; otherwise none.
    before: u32,
    planes_per_unit: usize,
    pages_per_entry: u32,
    /// When GC held them, where that is asked for.
    pub(in crate::engine) gc_spans: Spans,
    /// Units without a holder, as bits, where writes look for one.
    free: Vec<u64>,
    lists_free: bool,
}

impl Dies {
    pub(super) fn new(geometry: &Geometry) -> Self {
        let units = geometry.units as usize;
        Dies {
            units: (0..geometry.units)
                .map(|unit| geometry.channel_of(geometry.plane_of_unit(UnitId(unit), 0)))
                .map(|channel| Unit::new(geometry.planes_per_unit, 1 << (channel.ix() % 64)))
                .collect(),
            gc_by_plane: vec![0; geometry.planes as usize],
            dirty: Vec::with_capacity(units),
            lists: 1,
            looking: Vec::with_capacity(units),
            wanted: 0,
            contested: 0,
            dues: 0,
            due: Vec::with_capacity(units),
            held: Occupancy::default(),
            held_gc: Occupancy::default(),
            held_writeback: Occupancy::default(),
            held_fold: Occupancy::default(),
            gc_planes: Occupancy::default(),
            marked_at: Nanos::ZERO,
            held_at_mark: (Nanos::ZERO, Level::default()),
            chip_ops: vec![0; geometry.chips as usize],
            chips_busy: 0,
            before: NO_CHIPS,
            planes_per_unit: geometry.planes_per_unit as usize,
            pages_per_entry: geometry.pages_per_entry,
            gc_spans: Spans::default(),
            free: vec![0; units.div_ceil(64)],
            lists_free: false,
        }
    }

    /// Whether [`Dies::first_free`] is asked from now on.
    pub(in crate::engine) fn list_free(&mut self, wanted: bool) {
        self.lists_free = wanted;
        self.free.fill(0);
        for (unit, _) in self.units.iter().enumerate().filter(|(_, unit)| unit.holder == Holder::Free) {
            self.free[unit / 64] |= 1 << (unit % 64);
        }
    }

    /// A measured request completes: integrals over time are reported up to here.
    #[inline(always)]
    pub(in crate::engine) fn completes(&mut self, now: Nanos) {
        self.marked_at = now;
    }

    /// Time leaves `now`. How many units are held until the next change of their number is the same for all completions of one time.
    #[inline(always)]
    pub(in crate::engine) fn time_passes(&mut self, now: Nanos) {
        if self.marked_at == now {
            self.held_at_mark = (now, self.held.level());
        }
    }

    /// The integral of held units up to the last completion of a measured request.
    pub(in crate::engine) fn held_at_mark(&self) -> u128 {
        let (at, level) = self.held_at_mark;
        law_eq!(at, self.marked_at, "requests complete in rounds");
        level.total(at)
    }

    /// Power is cut: no operation is in service on any chip.
    pub(in crate::engine) fn power_cut(&mut self) {
        self.chip_ops.fill(0);
        self.chips_busy = 0;
        self.dirty.clear();
        self.looking.clear();
        self.look();
        self.dues = 0;
    }

    /// Whether a plane of any unit is due.
    #[inline(always)]
    pub(in crate::engine) fn any_due(&self) -> bool {
        self.dues > 0
    }

    /// A plane becomes due, after those of its unit that are.
    pub(in crate::engine) fn push_due(&mut self, unit: UnitId, plane: PlaneId) {
        self.dues += 1;
        self[unit].due.push(plane);
    }

    /// The oldest due plane of a unit is due no longer.
    pub(in crate::engine) fn pop_due(&mut self, unit: UnitId) -> PlaneId {
        self.dues -= 1;
        self[unit].due.remove(0)
    }

    /// A plane is due no longer, if it was.
    pub(in crate::engine) fn drop_due(&mut self, unit: UnitId, plane: PlaneId) {
        let due = &mut self.units[unit.ix()].due;
        let before = due.len();
        due.retain(|other| *other != plane);
        self.dues -= (before - due.len()) as u32;
    }

    /// No plane of a unit is due any longer. Returns those that were.
    pub(in crate::engine) fn take_dues(&mut self, unit: UnitId) -> Vec<PlaneId> {
        let due = std::mem::take(&mut self[unit].due);
        self.dues -= due.len() as u32;
        due
    }

    /// The first unit without a holder among those from `from` on and before `to`, if they are listed.
    #[inline(always)]
    pub(in crate::engine) fn first_free(&self, from: u32, to: u32) -> Option<UnitId> {
        debug_assert!(self.lists_free);
        let (mut word, mut mask) = (from as usize / 64, u64::MAX << (from % 64));
        while word * 64 < to as usize {
            let bits = self.free[word] & mask;
            if bits != 0 {
                let unit = word as u32 * 64 + bits.trailing_zeros();
                return (unit < to).then_some(UnitId(unit));
            }
            (word, mask) = (word + 1, u64::MAX);
        }
        None
    }

    /// A unit has no holder from now on although it had one, or the reverse.
    #[inline(always)]
    fn turn_free(&mut self, unit: UnitId) {
        if self.lists_free {
            self.free[unit.ix() / 64] ^= 1 << (unit.0 % 64);
        }
    }

    /// Records a change of holder in the ledger.
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
            self.turn_free(unit);
        }
        if (before == Holder::Gc) != (holder == Holder::Gc) {
            let planes = self[unit].gc_planes.count_ones() * self.pages_per_entry;
            self.held_gc.change_beside(self.marked_at, 1, holder == Holder::Gc, now);
            self.gc_planes.change_beside(self.marked_at, planes, holder == Holder::Gc, now);
            if holder == Holder::Gc {
                self.gc_spans.begin(unit.ix(), now, Nanos::NEVER);
            } else {
                self.gc_spans.end(unit.ix(), now);
            }
        }
        let writes_back = |holder: Holder| matches!(holder, Holder::Writeback | Holder::Cache);
        if writes_back(before) != writes_back(holder) {
            self.held_writeback.change(writes_back(holder), now);
        }
        if (before == Holder::Fold) != (holder == Holder::Fold) {
            self.held_fold.change(holder == Holder::Fold, now);
        }
    }

    /// Adds the time since the last entry to the ledger.
    #[inline(always)]
    fn settle(&mut self, unit: UnitId, now: Nanos) {
        let planes = self.planes_per_unit;
        self.units[unit.ix()].settle(&mut self.gc_by_plane[unit.ix() * planes..][..planes], now);
    }

    /// An operation begins on a free unit of a chip, or in addition to another one.
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

    /// GC of these planes (bits, by index in the unit) takes the unit, which is free.
    #[inline(always)]
    pub(in crate::engine) fn seize_for_gc(&mut self, unit: UnitId, planes: u64, chip: u32, now: Nanos) {
        self[unit].gc_planes = planes;
        self.seize(unit, Holder::Gc, chip, now);
    }

    /// A GC step follows another one on a unit, possibly of other planes.
    #[inline(always)]
    pub(in crate::engine) fn pass_to_gc(&mut self, unit: UnitId, op: OpId, planes: u64, now: Nanos) {
        self.settle(unit, now);
        let state = &mut self[unit];
        state.array = op;
        state.gc_planes = planes;
    }

    /// GC steps have followed one another on a unit since the last entry in the ledger, while no operation of the host waited for it.
    /// One of these planes (bits) is in service since `since`. The ledger by plane needs no entry: it is compared only with what
    /// it was when an operation began to wait.
    pub(in crate::engine) fn pass_in_turns(&mut self, unit: UnitId, op: OpId, planes: u64, since: Nanos) {
        let state = &mut self[unit];
        state.gc += (since - state.since).0;
        state.array = op;
        state.gc_planes = planes;
        state.since = since;
    }

    /// A collection's own planes hold its unit again, after a program for another collection.
    pub(in crate::engine) fn return_to_gc(&mut self, unit: UnitId, planes: u64, now: Nanos) {
        self[unit].gc_planes = planes;
        self.set_holder(unit, Holder::Gc, now);
    }

    /// Chips with an operation in service when a request arrives.
    #[inline(always)]
    pub(in crate::engine) fn chips_busy(&self) -> u32 {
        if self.before == NO_CHIPS { self.chips_busy } else { self.before }
    }

    /// Whether reads begin before all requests have arrived.
    #[inline(always)]
    pub(in crate::engine) fn starts_early(&self) -> bool {
        self.before != NO_CHIPS
    }

    /// From now on, or no longer, reads begin before all requests of this time have arrived.
    #[inline(always)]
    pub(in crate::engine) fn start_early(&mut self, early: bool) {
        self.before = if early { self.chips_busy } else { NO_CHIPS };
    }

    /// A host operation begins on its free unit: it is at the head of the queue before `next`, or the queue is empty. Returns its
    /// turn after a wait since `since`.
    #[inline(always)]
    pub(in crate::engine) fn begin_host(
        &mut self,
        unit: UnitId,
        op: OpId,
        next: OpId,
        chip: u32,
        since: Nanos,
        now: Nanos,
    ) -> Turn {
        let state = &mut self[unit];
        debug_assert!(state.holder == Holder::Free);
        let turn = state.turn_after(state.gc, state.writeback, since, now);
        state.set_lag(&turn);
        state.queue.advance(next);
        state.array = op;
        state.holder = Holder::Host;
        state.since = now;
        self.held.change(true, now);
        self.turn_free(unit);
        self.chip_in_use(chip, true);
        turn
    }

    /// [`Dies::release`] for a unit whose only operation, a host operation, has ended. Returns the next one in its queue, and whether
    /// anything waits for the unit.
    #[inline(always)]
    pub(in crate::engine) fn release_host(&mut self, unit: UnitId, bus_gc: u64, chip: u32, now: Nanos) -> (OpId, bool) {
        let state = &mut self[unit];
        state.lag += bus_gc;
        state.released = now;
        state.array = OpId::NONE;
        state.holder = Holder::Free;
        state.since = now;
        let next = state.queue.head();
        let awaited = next.is_some() || !state.due.is_empty();
        self.held.change(false, now);
        self.turn_free(unit);
        self.chip_in_use(chip, false);
        (next, awaited)
    }

    /// The number of a chip's operations in service rises or falls by one.
    #[inline(always)]
    pub(in crate::engine) fn chip_in_use(&mut self, chip: u32, up: bool) {
        let ops = &mut self.chip_ops[chip as usize];
        // There are fewer operations than 2^32, and each ends once.
        debug_assert!(up || *ops > 0);
        // Branchless: the direction is unpredictable.
        if up {
            self.chips_busy = self.chips_busy.wrapping_add(select_unpredictable(*ops == 0, 1, 0));
            *ops = ops.wrapping_add(1);
        } else {
            *ops = ops.wrapping_sub(1);
            self.chips_busy = self.chips_busy.wrapping_sub(select_unpredictable(*ops == 0, 1, 0));
        }
    }

    /// `dispatch` considers a unit in this round, or in the next one if it is running.
    #[inline(always)]
    pub(in crate::engine) fn mark(&mut self, unit: UnitId) {
        let state = &mut self.units[unit.ix()];
        if state.wants != self.lists && !state.queue.is_empty() {
            state.wants = self.lists;
            self.contested |= self.wanted & state.bus;
            self.wanted |= state.bus;
        }
        if state.marked != self.lists {
            state.marked = self.lists;
            self.dirty.push(unit);
        }
    }

    /// The same if no write waits for the unit that did not before: a read does not request its channel at once.
    #[inline(always)]
    pub(in crate::engine) fn mark_for_read(&mut self, unit: UnitId) {
        let state = &mut self.units[unit.ix()];
        if state.marked != self.lists {
            state.marked = self.lists;
            self.dirty.push(unit);
        }
    }

    /// A marked unit leaves the list.
    #[inline(always)]
    pub(in crate::engine) fn unmark(&mut self, unit: UnitId) {
        self[unit].marked = 0;
    }

    /// The units marked so far are those that `dispatch` considers. Returns the channels that several of them may request.
    #[inline(always)]
    pub(in crate::engine) fn look(&mut self) -> u64 {
        std::mem::swap(&mut self.dirty, &mut self.looking);
        count(&mut self.lists);
        self.wanted = 0;
        std::mem::take(&mut self.contested)
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
