//! What operations wait for: units (dies) and buses, with the ledger that says who held them, and the clock's next event.

use super::transaction::Fifo;
use crate::units::{JobId, Nanos, OpId, PlaneId, UnitId};

/// Who holds a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// Nobody.
    Free,
    /// Host operations.
    Host,
    /// A collection.
    Gc,
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
    /// How far host service runs behind what it would be without collections (the shadow clock): see `Engine::begin`.
    pub lag: u64,
    /// Total time held by collections when the last host operation began.
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
            due: Vec::with_capacity(planes as usize),
            token: planes - 1,
            holder: Holder::Free,
            since: Nanos::ZERO,
            gc: 0,
            lag: 0,
            lag_gc: 0,
            released: Nanos::ZERO,
            dirty: false,
        }
    }

    /// Total time that collections held this unit, up to now.
    #[inline(always)]
    pub fn gc(&self, now: Nanos) -> u64 {
        self.gc + if self.holder == Holder::Gc { (now - self.since).0 } else { 0 }
    }

    /// Of it: while the plane at place `k` took part. `by_plane` is the unit's slice of the ledger by plane.
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
        self.total += u128::from(self.busy) * u128::from((now - self.since).0);
        self.since = now;
        if up { self.busy += 1 } else { self.busy -= 1 }
    }

    /// The integral up to now, in nanoseconds of busy time.
    #[inline(always)]
    pub fn total(&self, now: Nanos) -> u128 {
        self.total + u128::from(self.busy) * u128::from((now - self.since).0)
    }
}

/// The next event of every resource: a tree of minima, because each resource has at most one and the tree never
/// allocates.
///
/// A key is `time << bits | resource`: the root names its resource, and equal times come in order of resource. The tree
/// is four wide: a level costs two comparisons in a row, and there are half as many levels.
#[derive(Clone, Debug)]
pub struct Events {
    /// The least key of all.
    root: u64,
    /// The leaves, then each level of minima above them, the root left out.
    keys: Vec<u64>,
    /// Where each level begins.
    levels: [u32; MAX_LEVELS],
    depth: usize,
    bits: u32,
}

const MAX_LEVELS: usize = 12;

impl Events {
    pub(crate) fn new(resources: usize) -> Self {
        let mut levels = [0; MAX_LEVELS];
        let (mut size, mut total, mut depth) = (resources.next_multiple_of(4), 0, 0);
        loop {
            levels[depth] = total as u32;
            total += size;
            depth += 1;
            if size == 4 {
                break;
            }
            size = (size / 4).next_multiple_of(4);
        }
        let bits = resources.next_power_of_two().trailing_zeros();
        Events { root: u64::MAX, keys: vec![u64::MAX; total], levels, depth, bits }
    }

    /// The first time that no event can have.
    pub fn horizon(&self) -> Nanos {
        Nanos(u64::MAX >> self.bits)
    }

    /// When the next event is, or never.
    #[inline(always)]
    pub fn next(&self) -> Nanos {
        self.time(self.root)
    }

    #[inline(always)]
    fn time(&self, key: u64) -> Nanos {
        if key == u64::MAX { Nanos::NEVER } else { Nanos(key >> self.bits) }
    }

    /// Sets the time of a resource's event.
    #[inline]
    pub fn set(&mut self, resource: usize, time: Nanos) {
        let key = if time == Nanos::NEVER {
            u64::MAX
        } else {
            assert!(time < self.horizon(), "an event before the end of the clock");
            time.0 << self.bits | resource as u64
        };
        self.put(resource, key);
    }

    #[inline(always)]
    fn put(&mut self, resource: usize, key: u64) {
        self.keys[resource] = key;
        let mut i = resource;
        for level in 0..self.depth.min(MAX_LEVELS - 1) {
            let first = self.levels[level] as usize + (i & !3);
            let Some([a, b, c, d]) = self.keys.get(first..first + 4) else { unreachable!("levels are whole groups") };
            let least = (*a.min(b)).min(*c.min(d));
            if level + 1 == self.depth {
                self.root = least;
                return;
            }
            i >>= 2;
            let above = &mut self.keys[self.levels[level + 1] as usize + i];
            if *above == least {
                return;
            }
            *above = least;
        }
    }

    /// When a resource's event is, or never.
    pub fn get(&self, resource: usize) -> Nanos {
        self.time(self.keys[resource])
    }

    /// The resource of the event that [`Events::pop`] would take.
    #[inline(always)]
    pub fn first(&self) -> usize {
        (self.root & ((1 << self.bits) - 1)) as usize
    }

    /// Whether no other event is at the time of the next one.
    #[inline]
    pub fn alone(&self) -> bool {
        let time = self.root >> self.bits;
        let mut i = self.first();
        for level in 0..self.depth.min(MAX_LEVELS) {
            let first = self.levels[level] as usize + (i & !3);
            let Some(group) = self.keys.get(first..first + 4) else { unreachable!("levels are whole groups") };
            let at_time = group.iter().filter(|key| **key >> self.bits == time).count();
            if at_time > 1 {
                return false;
            }
            i >>= 2;
        }
        true
    }

    /// Takes one event of the earliest time: the resource's number, lowest first.
    #[inline]
    pub fn pop(&mut self) -> usize {
        let key = self.root;
        let resource = (key & ((1 << self.bits) - 1)) as usize;
        self.put(resource, u64::MAX);
        resource
    }
}

/// Unit and bus numbers as resources of [`Events`]: units first.
#[inline(always)]
pub fn unit_resource(unit: UnitId) -> usize {
    unit.ix()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_yields_every_event_in_order_of_time_and_number() {
        let mut rng = crate::random::stream(7, "tree");
        for resources in [1, 2, 3, 4, 5, 16, 17, 72, 200, 1025] {
            let mut tree = Events::new(resources);
            let mut times = vec![u64::MAX; resources];
            for _ in 0..2000 {
                let resource = crate::random::below(&mut rng, resources as u64) as usize;
                times[resource] = crate::random::below(&mut rng, 50);
                tree.set(resource, Nanos(times[resource]));
                let earliest = *times.iter().min().unwrap();
                assert_eq!(tree.next().0, earliest);
                let ties = times.iter().filter(|t| **t == earliest).count();
                assert!(earliest == u64::MAX || tree.alone() == (ties == 1));
                if crate::random::below(&mut rng, 2) == 0 {
                    let expected = times.iter().position(|t| *t == earliest).unwrap();
                    assert_eq!(tree.pop(), expected);
                    times[expected] = u64::MAX;
                }
            }
        }
    }
}
