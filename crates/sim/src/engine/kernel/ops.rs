//! Operations in flight: one record for what every event of an operation looks at, and tables beside it for what only some
//! operations have.

use std::ops::{Deref, DerefMut, Index, IndexMut};

use crate::blame::Blame;
use crate::device::pages::MAX_PLANES;
use crate::device::transaction::{Op, Slab};
use crate::units::{Moment, OpId, Ppn, Tag};

/// What a part of a new operation is.
pub(in crate::engine) trait Blank {
    fn blank() -> Self;
}

/// A table by operation. It stays empty on devices whose operations have no such part.
#[derive(Clone, Debug)]
pub(in crate::engine) struct ByOp<T>(Vec<T>);

impl<T: Blank> ByOp<T> {
    /// The part of a new operation is blank.
    #[inline(always)]
    fn reset(&mut self, op: OpId) {
        match self.0.get_mut(op.ix()) {
            Some(part) => *part = T::blank(),
            None => self.0.push(T::blank()),
        }
    }

    /// All parts, those of free places with what they held last.
    pub(in crate::engine) fn all(&self) -> impl Iterator<Item = &T> {
        self.0.iter()
    }
}

impl<T> Index<OpId> for ByOp<T> {
    type Output = T;
    #[inline(always)]
    fn index(&self, op: OpId) -> &T {
        &self.0[op.ix()]
    }
}

impl<T> IndexMut<OpId> for ByOp<T> {
    #[inline(always)]
    fn index_mut(&mut self, op: OpId) -> &mut T {
        &mut self.0[op.ix()]
    }
}

/// What a page of a host request has beside its operation (pages of parity groups too).
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(in crate::engine) struct HostPage {
    /// Where its time went.
    pub(in crate::engine) blame: Blame,
    /// When its first service began.
    pub(in crate::engine) first_start: Option<Moment>,
    /// Ledger of its unit when it joined the queue: GC, GC in its own plane, write-backs.
    pub(in crate::engine) ledger_gc: u64,
    /// See `ledger_gc`.
    pub(in crate::engine) ledger_gc_own: u64,
    /// See `ledger_gc`.
    pub(in crate::engine) ledger_writeback: u64,
    /// Collections begun at the unit when it joined the queue, less the one that held the unit.
    pub(in crate::engine) collections: u32,
    /// Bytes of the page that the request covers.
    pub(in crate::engine) bytes: u32,
    /// Where in the page they begin.
    pub(in crate::engine) offset: u32,
    /// The chip it was aimed at when it was dispatched, for orders; none if any will do.
    pub(in crate::engine) chip: u32,
    /// The next page of the same request, while it waits for dispatch.
    pub(in crate::engine) sibling: OpId,
    /// Reads: what the page held at admission; writes that no chip takes: what their group summed to before (oracle).
    pub(in crate::engine) expected: u32,
    /// Writes that overlap others of their page, or have something of it to read: their run.
    pub(in crate::engine) run: u32,
    /// The newest write of a page: the old page, as long as a run of partial writes has yet to read it. Where overwritten pages
    /// are kept, the newest version that is on flash. Reads: the second copy that they were sent to.
    pub(in crate::engine) old: Ppn,
    /// Where overwritten pages are kept: writes of this age or a greater one replace `old` when they land.
    pub(in crate::engine) old_age: u64,
    /// What the pages of the operation hold, whatever its class (oracle). The tag of the page that a write is merged with is the
    /// second one.
    pub(in crate::engine) tags: [Tag; MAX_PLANES],
}

const _: () = assert!(size_of::<HostPage>() == 4 * 64, "the part of a host page is four cache lines");

impl Blank for HostPage {
    #[inline(always)]
    fn blank() -> Self {
        HostPage {
            blame: Blame::ZERO,
            first_start: None,
            ledger_gc: 0,
            ledger_gc_own: 0,
            ledger_writeback: 0,
            collections: 0,
            bytes: 0,
            offset: 0,
            chip: u32::MAX,
            sibling: OpId::NONE,
            expected: 0,
            run: u32::MAX,
            old: Ppn::NONE,
            old_age: 0,
            tags: [Tag::NONE; MAX_PLANES],
        }
    }
}

/// A page's part in its parity group.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Chunk {
    /// The update that the page is part of, from the moment it has begun.
    pub(in crate::engine) stripe: u32,
    /// The redirected read that a read is part of.
    pub(in crate::engine) decode: u32,
    /// The write of the same page that must land first, because its update has begun; its page becomes the old one.
    pub(in crate::engine) behind: OpId,
}

impl Blank for Chunk {
    #[inline(always)]
    fn blank() -> Self {
        Chunk { stripe: u32::MAX, decode: u32::MAX, behind: OpId::NONE }
    }
}

/// A page of the controller's buffer.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Buffered {
    /// Its segment.
    pub(in crate::engine) segment: u32,
    /// Overwritten in the buffer by the host since.
    pub(in crate::engine) absorbed: bool,
}

impl Blank for Buffered {
    #[inline(always)]
    fn blank() -> Self {
        Buffered { segment: u32::MAX, absorbed: false }
    }
}

/// Where an operation stands with the interconnect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Crossing {
    /// A read has not left the flash yet; a program has not come to it.
    Ahead,
    /// Its pages are on their way.
    Under,
    /// They have crossed.
    Over,
}

/// An operation on its way over the interconnect.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Crosser {
    /// Where it stands.
    pub(in crate::engine) crossing: Crossing,
    /// Pages of it that the flash controller's buffer holds.
    pub(in crate::engine) buffered: u8,
    /// Row time of GC while the port that it asked for waited for a row, when it asked.
    pub(in crate::engine) row_ledger: u64,
}

impl Blank for Crosser {
    #[inline(always)]
    fn blank() -> Self {
        Crosser { crossing: Crossing::Ahead, buffered: 0, row_ledger: 0 }
    }
}

/// Bytes of an operation beside its record, on every device.
pub(in crate::engine) const BYTES_BESIDE: u64 = size_of::<HostPage>() as u64;

/// Which tables a device needs beside those that all need.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct Parts {
    pub(in crate::engine) parity: bool,
    pub(in crate::engine) buffer: bool,
    pub(in crate::engine) crossing: bool,
}

/// Operations waiting and in service. As a slab it is that of their records.
#[derive(Clone)]
pub(in crate::engine) struct Ops {
    records: Slab<Op>,
    parts: Parts,
    /// Whether the device needs any of `parts`.
    any_part: bool,
    pub(in crate::engine) host: ByOp<HostPage>,
    pub(in crate::engine) parity: ByOp<Chunk>,
    pub(in crate::engine) buffer: ByOp<Buffered>,
    pub(in crate::engine) crossing: ByOp<Crosser>,
}

impl Ops {
    pub(super) fn new(capacity: usize, parts: Parts) -> Self {
        Ops {
            records: Slab::with_capacity(capacity),
            parts,
            any_part: parts.parity || parts.buffer || parts.crossing,
            host: ByOp(Vec::with_capacity(capacity)),
            parity: ByOp(Vec::with_capacity(if parts.parity { capacity } else { 0 })),
            buffer: ByOp(Vec::with_capacity(if parts.buffer { capacity } else { 0 })),
            crossing: ByOp(Vec::with_capacity(if parts.crossing { capacity } else { 0 })),
        }
    }

    /// A new operation; its other parts are blank.
    #[inline(always)]
    pub(in crate::engine) fn create(&mut self, op: Op) -> OpId {
        let id = OpId(self.records.insert(op));
        self.host.reset(id);
        if self.any_part {
            self.reset_parts(id);
        }
        id
    }

    #[inline(never)]
    fn reset_parts(&mut self, id: OpId) {
        if self.parts.parity {
            self.parity.reset(id);
        }
        if self.parts.buffer {
            self.buffer.reset(id);
        }
        if self.parts.crossing {
            self.crossing.reset(id);
        }
    }

    /// The place that the next operation would take, with all that stands in it, if its last operation suits.
    #[inline(always)]
    pub(in crate::engine) fn reuse(&mut self, suits: impl Fn(&Op) -> bool) -> Option<OpId> {
        self.records.reuse(suits).map(OpId)
    }

    /// A new operation with all that another has.
    pub(in crate::engine) fn create_like(&mut self, other: OpId) -> OpId {
        let id = self.create(self.records[other].clone());
        self.host[id] = self.host[other].clone();
        self.parity[id] = self.parity[other].clone();
        id
    }

    /// The operation is over; its place may be used again.
    #[inline(always)]
    pub(in crate::engine) fn remove(&mut self, op: OpId) {
        self.records.remove(op.0);
    }

    /// Power is cut: all are over.
    pub(in crate::engine) fn clear(&mut self) {
        self.records.clear();
    }
}

impl Deref for Ops {
    type Target = Slab<Op>;
    #[inline(always)]
    fn deref(&self) -> &Slab<Op> {
        &self.records
    }
}

impl DerefMut for Ops {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Slab<Op> {
        &mut self.records
    }
}
