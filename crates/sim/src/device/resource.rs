//! What operations wait for: units (dies) and buses, with the ledger that says who held them.

use super::transaction::Fifo;
use crate::units::{JobId, Nanos, OpId, PlaneId};

/// Who holds a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
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
pub enum Suspension {
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
pub struct Unit {
    /// The operation that has the array, or waits with it for the bus.
    pub array: OpId,
    /// The operation in the cache register (rule R8).
    pub cache: OpId,
    /// A read waits in the array for the cache register, or a program there for the array.
    pub parked: bool,
    /// The suspended operation, what it still needs, and when it was interrupted.
    pub suspended: OpId,
    /// See `suspended`.
    pub rest: Nanos,
    /// See `suspended`.
    pub interrupted: Nanos,
    /// Where a suspension stands.
    pub suspension: Suspension,
    /// Operations that wait.
    pub queue: Fifo,
    /// The collection that holds the unit, or none.
    pub job: JobId,
    /// Planes (bits, by place in the unit) of that collection.
    pub job_planes: u64,
    /// Collections begun.
    pub collections: u32,
    /// Planes due for collection, oldest first.
    pub due: Vec<PlaneId>,
    /// The plane that the last dynamic write took, by place in the unit.
    pub token: u32,
    /// Who holds the unit, since when.
    pub holder: Holder,
    /// See `holder`.
    pub since: Nanos,
    /// Total time held by collections.
    gc: u64,
    /// Total time held by write-backs.
    writeback: u64,
    /// How far host service runs behind what it would be without collections (the shadow clock): see `Engine::begin`.
    pub lag: u64,
    /// Total time held by collections and write-backs when the last host operation began.
    pub lag_gc: u64,
    /// When the unit was last released by a host operation.
    pub released: Nanos,
    /// On the list of units to look at.
    pub dirty: bool,
}

impl Unit {
    pub(crate) fn new(planes: u32) -> Self {
        Unit {
            array: OpId::NONE,
            cache: OpId::NONE,
            parked: false,
            suspended: OpId::NONE,
            rest: Nanos::ZERO,
            interrupted: Nanos::ZERO,
            suspension: Suspension::No,
            queue: Fifo::EMPTY,
            job: JobId::NONE,
            job_planes: 0,
            collections: 0,
            due: Vec::with_capacity(planes as usize),
            token: planes - 1,
            holder: Holder::Free,
            since: Nanos::ZERO,
            gc: 0,
            writeback: 0,
            lag: 0,
            lag_gc: 0,
            released: Nanos::ZERO,
            dirty: false,
        }
    }

    /// Power is cut: nothing runs, and nobody waits.
    pub(crate) fn power_cut(&mut self) {
        (self.array, self.cache, self.suspended) = (OpId::NONE, OpId::NONE, OpId::NONE);
        (self.parked, self.dirty, self.suspension) = (false, false, Suspension::No);
        (self.queue, self.job) = (Fifo::EMPTY, JobId::NONE);
        self.due.clear();
    }

    /// Total time that collections held this unit, up to now.
    #[inline(always)]
    pub fn gc(&self, now: Nanos) -> u64 {
        self.gc + if self.holder == Holder::Gc { (now - self.since).0 } else { 0 }
    }

    /// Total time that write-backs held this unit, up to now.
    #[inline(always)]
    pub fn writeback(&self, now: Nanos) -> u64 {
        self.writeback + if self.holder == Holder::Writeback { (now - self.since).0 } else { 0 }
    }

    /// Of the time that collections held it: while the plane at place `k` took part. `by_plane` is the unit's slice of the ledger by plane.
    #[inline(always)]
    pub fn gc_own(&self, by_plane: u64, k: u32, now: Nanos) -> u64 {
        by_plane + if self.holder == Holder::Gc && self.job_planes >> k & 1 == 1 { (now - self.since).0 } else { 0 }
    }

    /// Enters the elapsed time into the ledger.
    #[inline(always)]
    pub fn settle(&mut self, by_plane: &mut [u64], now: Nanos) {
        if self.holder == Holder::Gc {
            let elapsed = (now - self.since).0;
            self.gc += elapsed;
            let mut planes = self.job_planes;
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

/// A bus: one transfer at a time, first asked first served, ties by age (rule R4).
///
/// The end of a transfer is an event only where something follows from it: where its operation waits for it ([`Bus::holder`])
/// or another one does ([`Bus::awaited`]). Otherwise it is merely known.
#[derive(Clone, Debug)]
pub struct Bus {
    /// The operation that goes on when the transfer ends, or none.
    pub holder: OpId,
    /// Whether an event wakes the bus when a transfer ends that nobody else waits for.
    pub awaited: bool,
    /// Whether the present or last transfer belongs to a collection.
    gc_transfer: bool,
    /// When the present or last transfer began and ends.
    since: Nanos,
    /// See `since`.
    pub until: Nanos,
    /// The move of a collection whose page crosses the bus out and at once back in, as long as that can be undone, or none.
    pub fused: OpId,
    /// When its way out ends and its way back begins.
    pub half: Nanos,
    /// Time of all transfers before the present one that belonged to collections.
    gc: u64,
    /// Time of all transfers, the present one to its end.
    total: u64,
    /// Busy time up to the last completion of a measured request, as far as that is known.
    marked: u64,
    /// Operations that wait.
    pub queue: Fifo,
    /// On the list of buses to look at.
    pub dirty: bool,
}

impl Bus {
    pub(crate) fn new() -> Self {
        Bus {
            holder: OpId::NONE,
            awaited: false,
            gc_transfer: false,
            since: Nanos::ZERO,
            until: Nanos::ZERO,
            fused: OpId::NONE,
            half: Nanos::ZERO,
            gc: 0,
            total: 0,
            marked: 0,
            queue: Fifo::EMPTY,
            dirty: false,
        }
    }

    /// Power is cut: nothing crosses the bus, and nobody waits for it.
    pub(crate) fn power_cut(&mut self, now: Nanos) {
        if self.until > now {
            self.prolong(now);
        }
        (self.holder, self.fused, self.awaited) = (OpId::NONE, OpId::NONE, false);
        (self.queue, self.dirty) = (Fifo::EMPTY, false);
    }

    /// Total time that collections held this bus, up to now.
    #[inline(always)]
    pub fn gc(&self, now: Nanos) -> u64 {
        self.gc + if self.gc_transfer { (now.min(self.until) - self.since).0 } else { 0 }
    }

    /// A transfer begins. `last` is the last completion of a measured request.
    #[inline(always)]
    pub fn begin(&mut self, gc: bool, now: Nanos, until: Nanos, last: Nanos) {
        self.marked = self.busy_at_mark(last);
        self.gc = self.gc(now);
        (self.gc_transfer, self.since, self.until) = (gc, now, until);
        self.total += (until - now).0;
    }

    /// The present transfer ends at another time than it was said to.
    pub fn prolong(&mut self, until: Nanos) {
        self.total = self.total + until.0 - self.until.0;
        self.until = until;
    }

    /// Busy time up to `at`, which is not before the present or last transfer began.
    #[inline(always)]
    pub fn busy(&self, at: Nanos) -> u64 {
        self.total - self.until.0.saturating_sub(at.0)
    }

    /// Busy time up to the last completion of a measured request.
    #[inline(always)]
    pub fn busy_at_mark(&self, last: Nanos) -> u64 {
        if last >= self.since { self.busy(last) } else { self.marked }
    }
}

/// How many of something are busy, integrated over time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Occupancy {
    busy: u64,
    total: u128,
    since: Nanos,
}

impl Occupancy {
    /// One more is busy, or one fewer.
    #[inline(always)]
    pub fn change(&mut self, up: bool, now: Nanos) {
        self.change_by(1, up, now);
    }

    /// So many more are busy, or fewer.
    #[inline(always)]
    pub fn change_by(&mut self, count: u32, up: bool, now: Nanos) {
        self.total += u128::from(self.busy) * u128::from((now - self.since).0);
        self.since = now;
        if up { self.busy += u64::from(count) } else { self.busy -= u64::from(count) }
    }

    /// How many are busy now.
    pub fn busy(&self) -> u64 {
        self.busy
    }

    /// The integral up to now, in nanoseconds of busy time.
    #[inline(always)]
    pub fn total(&self, now: Nanos) -> u128 {
        self.total + u128::from(self.busy) * u128::from((now - self.since).0)
    }
}
