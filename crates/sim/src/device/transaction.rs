//! Operations in flight: what each does, where it stands, and what its time has been spent on.

use ssdlab_memory::prefetch_value;

use super::pages::PageSet;
use super::timing::Legs;
use crate::units::{ChannelId, JobId, Lpn, Moment, Nanos, OpId, PlaneId, RequestId, UnitId};

/// What an operation does to the flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Read pages, and carry those that leave the die over the channel.
    Read,
    /// Program pages; those not yet in the die come over the channel.
    Program,
    /// Read and program pages inside their planes.
    Copyback,
    /// Erase blocks.
    Erase,
}

/// Who asked for an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The host.
    Host,
    /// A collection.
    Gc,
    /// The controller's buffer, writing a page that a collection left there back to flash.
    Writeback,
    /// A block's own records.
    Metadata,
    /// A parity group.
    Parity,
    /// A second copy of a page.
    Replica,
}

impl Class {
    /// Whether it goes the way of a host page: through the die's FIFO, the cache register, and the free pages of host data.
    #[inline(always)]
    pub fn like_host(self) -> bool {
        matches!(self, Class::Host | Class::Parity)
    }
}

/// What a host page still needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// The page's data for the host.
    Read,
    /// The old page's data, to merge a partial write with.
    Merge,
    /// A program.
    Write,
    /// Nothing of the flash: a page that waits in the controller's buffer has been overwritten there.
    Absorb,
}

/// An operation: one page of a host request on its way through the device, or one step of a collection. Three cache lines, which
/// all that happens to an operation looks at; what only some operations have stands beside it.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Op {
    /// Next in whatever list the operation stands in.
    pub next: OpId,
    /// Index of the leg that runs, or that waits for its resource.
    pub leg: u8,
    /// What it does now.
    pub verb: Verb,
    /// Who asked.
    pub class: Class,
    /// Host pages: what is still needed.
    pub need: Need,
    /// Host pages: acknowledged, though the program may still run.
    pub acknowledged: bool,
    /// Host pages: waits for a free page of its plane.
    pub stalled: bool,
    /// A read that takes the fast lane.
    pub lane: bool,
    /// On the host link: towards the device.
    pub inward: bool,
    /// RAID: its chip has failed under it.
    pub failed: bool,
    /// Host writes: the old page that they were merged with could not be corrected.
    pub lost: bool,
    /// The unit that serves it.
    pub unit: UnitId,
    /// The bus it uses.
    pub channel: ChannelId,
    /// The plane (of its first page).
    pub plane: PlaneId,
    /// The collection of a GC step.
    pub job: JobId,
    /// GC programs at another unit: the collection that waits for them.
    pub home: JobId,
    /// The request of a host page.
    pub request: RequestId,
    /// Host pages: the logical page.
    pub lpn: Lpn,
    /// The next page that the same multi-plane command carries.
    pub mate: OpId,
    /// Order among operations: lower is older. A step of a collection is as old as its collection.
    pub age: u64,
    /// When it asked for the bus: the order of grants. (`bus_since` is earlier if it waited for the cache register.)
    pub asked: Nanos,
    /// The age that decides among those who asked at the same time: its own, or that of the data-out that it goes before.
    pub turn: u64,
    /// The legs.
    pub legs: Legs,
    /// When it asked for the bus, and the bus's ledger then.
    pub bus_since: Nanos,
    /// See `bus_since`.
    pub bus_ledger: u64,
    /// Since when it waits for the cache register or the array behind it (R8).
    pub parked_since: Option<Moment>,
    /// Bus time lost to collections during the present service.
    pub bus_gc: u64,
    /// When it began to wait for what it waits for.
    pub waits_since: Nanos,
    /// Pages read, programmed or copied to, or pages of the blocks erased.
    pub pages: PageSet,
    /// GC programs: where the pages came from.
    pub from: PageSet,
}

const _: () = assert!(size_of::<Op>() == 3 * 64, "an operation's record is three cache lines");

impl Op {
    /// A blank operation.
    #[inline(always)]
    pub fn blank() -> Self {
        Op {
            next: OpId::NONE,
            leg: 0,
            verb: Verb::Read,
            class: Class::Host,
            need: Need::Read,
            acknowledged: false,
            stalled: false,
            lane: false,
            inward: false,
            failed: false,
            lost: false,
            unit: UnitId::NONE,
            channel: ChannelId::NONE,
            plane: PlaneId::NONE,
            job: JobId::NONE,
            home: JobId::NONE,
            request: RequestId::NONE,
            lpn: Lpn::NONE,
            mate: OpId::NONE,
            age: 0,
            asked: Nanos::ZERO,
            turn: 0,
            legs: Legs::NONE,
            bus_since: Nanos::ZERO,
            bus_ledger: 0,
            parked_since: None,
            bus_gc: 0,
            waits_since: Nanos::ZERO,
            pages: PageSet::EMPTY,
            from: PageSet::EMPTY,
        }
    }
}

/// A slab: ids stay valid until they are given back, and memory is only ever taken for a new high-water mark.
#[derive(Clone, Debug)]
pub struct Slab<T> {
    items: Vec<T>,
    free: Vec<u32>,
}

impl<T: Clone> Slab<T> {
    /// Room for `capacity` items before any more memory is taken.
    pub fn with_capacity(capacity: usize) -> Self {
        Slab { items: Vec::with_capacity(capacity), free: Vec::with_capacity(capacity) }
    }

    /// Puts an item into a free place.
    #[inline(always)]
    pub fn insert(&mut self, item: T) -> u32 {
        if let Some(id) = self.free.pop() {
            self.items[id as usize] = item;
            return id;
        }
        self.items.push(item);
        (self.items.len() - 1) as u32
    }

    /// The place that the next item would be put into, with what it held last, if that suits.
    #[inline(always)]
    pub fn reuse(&mut self, suits: impl Fn(&T) -> bool) -> Option<u32> {
        self.free.pop_if(|id| suits(&self.items[*id as usize]))
    }

    /// Gives a place back.
    #[inline]
    pub fn remove(&mut self, id: u32) {
        self.free.push(id);
    }

    /// Says that an item will be asked for soon.
    #[inline(always)]
    pub fn expect(&self, id: u32) {
        prefetch_value(&self.items[id as usize]);
    }

    /// Gives all places back.
    pub fn clear(&mut self) {
        self.items.clear();
        self.free.clear();
    }

    /// All items, those of free places with what they held last.
    pub fn all(&self) -> impl Iterator<Item = &T> {
        self.items.iter()
    }

    /// Items in use.
    pub fn in_use(&self) -> usize {
        self.items.len() - self.free.len()
    }
}

impl<T> std::ops::Index<u32> for Slab<T> {
    type Output = T;
    #[inline(always)]
    fn index(&self, id: u32) -> &T {
        &self.items[id as usize]
    }
}

impl<T> std::ops::IndexMut<u32> for Slab<T> {
    #[inline(always)]
    fn index_mut(&mut self, id: u32) -> &mut T {
        &mut self.items[id as usize]
    }
}

impl std::ops::Index<OpId> for Slab<Op> {
    type Output = Op;
    #[inline(always)]
    fn index(&self, id: OpId) -> &Op {
        &self.items[id.ix()]
    }
}

impl std::ops::IndexMut<OpId> for Slab<Op> {
    #[inline(always)]
    fn index_mut(&mut self, id: OpId) -> &mut Op {
        &mut self.items[id.ix()]
    }
}

/// A FIFO of operations, linked through [`Op::next`].
#[derive(Clone, Copy, Debug)]
pub struct Fifo {
    head: OpId,
    tail: OpId,
}

impl Fifo {
    /// Nobody waits.
    pub const EMPTY: Self = Fifo { head: OpId::NONE, tail: OpId::NONE };

    /// The first in line, or none.
    #[inline(always)]
    pub fn head(&self) -> OpId {
        self.head
    }

    /// Whether nobody waits.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.head.is_none()
    }

    /// Joins at the end.
    #[inline]
    pub fn push(&mut self, ops: &mut Slab<Op>, op: OpId) {
        ops[op].next = OpId::NONE;
        if self.tail.is_some() {
            ops[self.tail].next = op;
        } else {
            self.head = op;
        }
        self.tail = op;
    }

    /// Joins before the first one for which `after` holds.
    pub fn insert_before(&mut self, ops: &mut Slab<Op>, op: OpId, after: impl Fn(&Op) -> bool) {
        if self.tail.is_none() || !after(&ops[self.tail]) {
            let mut scan = self.head;
            let mut any = false;
            while scan.is_some() && !any {
                any = after(&ops[scan]);
                scan = ops[scan].next;
            }
            if !any {
                return self.push(ops, op);
            }
        }
        let mut previous = OpId::NONE;
        let mut at = self.head;
        while !after(&ops[at]) {
            previous = at;
            at = ops[at].next;
        }
        ops[op].next = at;
        if previous.is_some() {
            ops[previous].next = op;
        } else {
            self.head = op;
        }
    }

    /// Takes the first in line.
    #[inline(always)]
    pub fn pop(&mut self, ops: &Slab<Op>) -> OpId {
        let op = self.head;
        if op.is_some() {
            self.head = ops[op].next;
            if self.head.is_none() {
                self.tail = OpId::NONE;
            }
        }
        op
    }

    /// Takes one that stands in line, wherever it stands.
    pub fn remove(&mut self, ops: &mut Slab<Op>, op: OpId) {
        let (mut previous, mut at) = (OpId::NONE, self.head);
        while at != op {
            (previous, at) = (at, ops[at].next);
        }
        self.unlink(ops, previous, at);
    }

    /// Takes the first one for which `wanted` holds, wherever it stands.
    pub fn take(&mut self, ops: &mut Slab<Op>, wanted: impl Fn(&Op) -> bool) -> OpId {
        let (mut previous, mut at) = (OpId::NONE, self.head);
        while at.is_some() && !wanted(&ops[at]) {
            (previous, at) = (at, ops[at].next);
        }
        if at.is_some() {
            self.unlink(ops, previous, at);
        }
        at
    }

    /// Takes the one after `previous`, or the first if that is none.
    fn unlink(&mut self, ops: &mut Slab<Op>, previous: OpId, op: OpId) {
        let next = ops[op].next;
        if previous.is_some() {
            ops[previous].next = next;
        } else {
            self.head = next;
        }
        if next.is_none() {
            self.tail = previous;
        }
    }
}
