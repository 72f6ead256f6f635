//! Operations in flight.

use std::mem::offset_of;
use std::ops::IndexMut;

use ssdlab_memory::HugeVec;

use super::command::Legs;
use super::geometry::Spot;
use super::pages::PageSet;
use crate::units::{ChannelId, JobId, Lpn, Moment, Nanos, OpId, PlaneId, RequestId, UnitId};

/// Effect of an operation on the flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Reads pages. Those that leave the die use the channel.
    Read,
    /// Programs pages. Those that are not in the die yet use the channel.
    Program,
    /// Reads and programs pages inside their planes.
    Copyback,
    /// Erases blocks.
    Erase,
}

/// Origin of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The host.
    Host,
    /// GC.
    Gc,
    /// A write-back of a page from the controller's buffer to flash.
    Writeback,
    /// A block's metadata.
    Metadata,
    /// An update of a parity group.
    Parity,
    /// A second copy of a page.
    Replica,
    /// A line of the write cache that is written back to flash, and the read of what it lacks.
    Cache,
    /// A fold of a block of the cache of SLC.
    Fold,
    /// A page that is rewritten because it has many bit errors.
    Refresh,
}

impl Class {
    /// Whether it is served like a host page: by the die's FIFO, the cache register, and the free pages for host data.
    #[inline(always)]
    pub fn like_host(self) -> bool {
        matches!(self, Class::Host | Class::Parity | Class::Cache)
    }
}

/// Remaining need of a host page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// A read for the host.
    Read,
    /// A read of the old page, for a partial write.
    Merge,
    /// A program.
    Write,
    /// Nothing: the page replaces one in the controller's buffer.
    Absorb,
}

/// An operation: one page of a host request, or one step of a collection. The record has three cache lines. The first two have what
/// every page of the host uses, the third what collections use, and what a wait for a bus does. Data that only some operations need
/// is kept in side arrays.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Op {
    /// Next operation in the same list.
    pub next: OpId,
    /// Index of the leg that runs or waits for its resource.
    pub leg: u8,
    /// Its current verb.
    pub verb: Verb,
    /// Its origin.
    pub class: Class,
    /// Host pages: what is still needed from flash.
    pub need: Need,
    /// Host pages: acknowledged, although the program may still run.
    pub acknowledged: bool,
    /// Host pages: stalled until its plane has a free page.
    pub stalled: bool,
    /// In the fast lane.
    pub lane: bool,
    /// On the host link: direction to the device.
    pub inward: bool,
    /// RAID: its chip failed while it was in service.
    pub failed: bool,
    /// Host writes: the old page that they were merged with was uncorrectable.
    pub lost: bool,
    /// In the fast lane: the only page of its request, whose place stays with that of the page.
    pub single: bool,
    /// Its unit of exclusion.
    pub unit: UnitId,
    /// Its bus.
    pub channel: ChannelId,
    /// The plane of its first page.
    pub plane: PlaneId,
    /// The request of a host page.
    pub request: RequestId,
    /// Host pages: the logical page.
    pub lpn: Lpn,
    /// The next page of the same multi-plane command.
    pub mate: OpId,
    /// Rank among operations: lower is older. A step of a collection has the age of its collection.
    pub age: u64,
    /// Start of its current wait.
    pub waits_since: Nanos,
    /// Time from which it has waited for the bus.
    pub bus_since: Nanos,
    /// The legs.
    pub legs: Legs,
    /// Bus time lost to GC during the current service.
    pub bus_gc: u64,
    /// Pages that it reads, programs or copies to, or pages of the blocks that it erases.
    pub pages: PageSet,
    /// GC programs: source pages.
    pub from: PageSet,
    /// The bus's ledger at `bus_since`.
    pub bus_ledger: u64,
    /// Time of its bus request, which orders grants. (`bus_since` is earlier if it waited for the cache register.)
    pub asked: Nanos,
    /// Rank among bus requests of the same time: its own age, or that of the data-out that it precedes.
    pub turn: u64,
    /// Start of its wait for the cache register or the array behind it (R8).
    pub parked_since: Option<Moment>,
    /// The collection of a GC step.
    pub job: JobId,
    /// GC programs in another unit: the collection that waits for them.
    pub home: JobId,
}

/// Bytes of a record that a page of the host uses, unless it waits for a bus.
pub(crate) const USED_BY_PAGES: usize = 2 * 64;

const _: () = assert!(
    size_of::<Op>() == 3 * 64 && offset_of!(Op, legs) == 64 && offset_of!(Op, pages) + 8 < USED_BY_PAGES,
    "an operation's record is three cache lines, of which a page of the host uses two"
);

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
            single: false,
            unit: UnitId::NONE,
            channel: ChannelId::NONE,
            plane: PlaneId::NONE,
            request: RequestId::NONE,
            lpn: Lpn::NONE,
            mate: OpId::NONE,
            age: 0,
            waits_since: Nanos::ZERO,
            bus_since: Nanos::ZERO,
            legs: Legs::NONE,
            bus_gc: 0,
            pages: PageSet::EMPTY,
            from: PageSet::EMPTY,
            bus_ledger: 0,
            asked: Nanos::ZERO,
            turn: 0,
            parked_since: None,
            job: JobId::NONE,
            home: JobId::NONE,
        }
    }
}

impl Op {
    /// Makes the record of an earlier operation of the fast lane that of another one.
    #[inline(always)]
    pub(crate) fn renew(&mut self, verb: Verb, need: Need, lpn: Lpn, age: u64, now: Nanos) {
        self.next = OpId::NONE;
        self.leg = 0;
        self.verb = verb;
        self.class = Class::Host;
        self.need = need;
        self.acknowledged = false;
        self.lpn = lpn;
        self.age = age;
        self.waits_since = now;
    }

    /// The operation uses a plane.
    #[inline(always)]
    pub(crate) fn go_to(&mut self, plane: PlaneId, spot: Spot) {
        self.plane = plane;
        self.unit = spot.unit;
        self.channel = spot.channel;
    }
}

/// A slab: ids stay valid until they are freed, and memory is allocated only at a new high-water mark.
#[derive(Debug)]
pub struct Slab<T> {
    items: HugeVec<T>,
    free: Vec<u32>,
}

impl<T: Clone> Clone for Slab<T> {
    /// Room for items that are to come is copied, too.
    fn clone(&self) -> Self {
        let mut free = Vec::with_capacity(self.free.capacity());
        free.extend_from_slice(&self.free);
        Slab { items: self.items.clone(), free }
    }
}

impl<T: Clone> Slab<T> {
    /// Allocates memory for `capacity` items.
    pub fn with_capacity(capacity: usize) -> Self {
        Slab { items: HugeVec::with_capacity(capacity), free: Vec::with_capacity(capacity) }
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

    /// The place of the next item, with its old content, if a place is free and its content suits.
    #[inline(always)]
    pub fn reuse(&mut self, suits: impl Fn(&T) -> bool) -> Option<(u32, &mut T)> {
        let id = *self.free.last()?;
        let item = &mut self.items[id as usize];
        if !suits(item) {
            return None;
        }
        self.free.pop();
        Some((id, item))
    }

    /// Frees a place.
    #[inline]
    pub fn remove(&mut self, id: u32) {
        self.free.push(id);
    }

    /// Frees all places.
    pub fn clear(&mut self) {
        self.items.clear();
        self.free.clear();
    }

    /// All items, including the old content of free places.
    pub fn all(&self) -> impl Iterator<Item = &T> {
        self.items.iter()
    }

    /// Ids of the items in use.
    pub fn live(&self) -> impl Iterator<Item = u32> {
        let mut live = vec![true; self.items.len()];
        self.free.iter().for_each(|id| live[*id as usize] = false);
        (0u32..).zip(live).filter_map(|(id, live)| live.then_some(id))
    }

    /// Number of items in use.
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

/// Operations by id.
pub trait Operations: IndexMut<OpId, Output = Op> {}

impl<T: IndexMut<OpId, Output = Op>> Operations for T {}

/// A FIFO of operations, linked through [`Op::next`].
#[derive(Clone, Copy, Debug)]
pub struct Fifo {
    head: OpId,
    tail: OpId,
}

impl Fifo {
    /// The empty FIFO.
    pub const EMPTY: Self = Fifo { head: OpId::NONE, tail: OpId::NONE };

    /// The first operation, or none.
    #[inline(always)]
    pub fn head(&self) -> OpId {
        self.head
    }

    /// Whether it is empty.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.head.is_none()
    }

    /// Appends an operation.
    #[inline(always)]
    pub fn push(&mut self, ops: &mut impl Operations, op: OpId) {
        ops[op].next = OpId::NONE;
        self.push_new(ops, op);
    }

    /// The same for one that is in no list and has been in none.
    #[inline(always)]
    pub fn push_new(&mut self, ops: &mut impl Operations, op: OpId) {
        debug_assert!(ops[op].next.is_none());
        if self.tail.is_some() {
            ops[self.tail].next = op;
        } else {
            self.head = op;
        }
        self.tail = op;
    }

    /// Inserts an operation before the first one for which `after` holds, in a list whose last operation is one of them if any is.
    pub fn insert_in_order(&mut self, ops: &mut impl Operations, op: OpId, after: impl Fn(&Op) -> bool) {
        if self.tail.is_none() || !after(&ops[self.tail]) {
            return self.push(ops, op);
        }
        self.insert_before(ops, op, after);
    }

    /// Inserts an operation before the first one for which `after` holds.
    pub fn insert_before(&mut self, ops: &mut impl Operations, op: OpId, after: impl Fn(&Op) -> bool) {
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

    /// Removes the first operation.
    #[inline(always)]
    pub fn pop(&mut self, ops: &impl Operations) -> OpId {
        let op = self.head;
        if op.is_some() {
            self.head = ops[op].next;
            if self.head.is_none() {
                self.tail = OpId::NONE;
            }
        }
        op
    }

    /// Removes the first operation, whose next one is known.
    #[inline(always)]
    pub fn advance(&mut self, next: OpId) {
        self.head = next;
        if next.is_none() {
            self.tail = OpId::NONE;
        }
    }

    /// Removes an operation at any position.
    pub fn remove(&mut self, ops: &mut impl Operations, op: OpId) {
        let (mut previous, mut at) = (OpId::NONE, self.head);
        while at != op {
            (previous, at) = (at, ops[at].next);
        }
        self.unlink(ops, previous, at);
    }

    /// Moves an operation from any position to the first one.
    pub fn bring_first(&mut self, ops: &mut impl Operations, op: OpId) {
        self.remove(ops, op);
        ops[op].next = self.head;
        if self.head.is_none() {
            self.tail = op;
        }
        self.head = op;
    }

    /// Removes the first operation for which `wanted` holds.
    pub fn take(&mut self, ops: &mut impl Operations, wanted: impl Fn(&Op) -> bool) -> OpId {
        let (mut previous, mut at) = (OpId::NONE, self.head);
        while at.is_some() && !wanted(&ops[at]) {
            (previous, at) = (at, ops[at].next);
        }
        if at.is_some() {
            self.unlink(ops, previous, at);
        }
        at
    }

    /// Unlinks the operation after `previous`, or the first if that is none.
    fn unlink(&mut self, ops: &mut impl Operations, previous: OpId, op: OpId) {
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
