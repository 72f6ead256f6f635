//! Operations in flight: a record that every event of an operation uses, and side tables for data that only some operations need.

use std::ops::{Index, IndexMut};

use ssdlab_memory::prefetch_first;

use crate::blame::{Blame, Cause, Causes, ExtraBlame};
use crate::config::MOST_QUEUES;
use crate::device::flash::Stream;
use crate::device::pages::MAX_PLANES;
use crate::device::transaction::{Op, Slab, USED_BY_PAGES};
use crate::engine::kernel::attempts::Attempts;
use crate::engine::kernel::dies::Turn;
use crate::engine::kernel::tables::{Blank, ByOp};
use crate::units::{Moment, Nanos, OpId, PlaneId, Ppn, RequestId, Tag};

/// No chip: any will do.
pub(in crate::engine) const NO_CHIP: u32 = u32::MAX;
/// No run: a write that overlaps no other.
pub(in crate::engine) const NO_RUN: u32 = u32::MAX;
/// No update of a parity group.
pub(in crate::engine) const NO_UPDATE: u32 = u32::MAX;
/// No redirected read.
pub(in crate::engine) const NO_REDIRECT: u32 = u32::MAX;
/// No segment of the controller's buffer.
pub(in crate::engine) const NO_SEGMENT: u32 = u32::MAX;

/// A host page's data beside its operation (also for pages of parity groups).
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(in crate::engine) struct HostPage {
    /// Causes of its time so far.
    pub(in crate::engine) blame: Causes,
    /// Start of its first service.
    pub(in crate::engine) first_start: Option<Moment>,
    /// Ledger of its unit when it joined the queue: GC, GC in its own plane, write-backs.
    pub(in crate::engine) ledger_gc: u64,
    /// See `ledger_gc`.
    pub(in crate::engine) ledger_gc_own: u64,
    /// See `ledger_gc`.
    pub(in crate::engine) ledger_writeback: u64,
    /// Collections begun at the unit when it joined the queue, without the one that held the unit.
    pub(in crate::engine) collections: u32,
    /// Bytes of the page in the request.
    pub(in crate::engine) bytes: u32,
    /// Offset of these bytes in the page.
    pub(in crate::engine) offset: u32,
    /// Target chip at dispatch, for orders; none if any chip can serve it.
    pub(in crate::engine) chip: u32,
    /// The next page of the list that the page is in: of its request's while it waits for dispatch, then of its group or run.
    pub(in crate::engine) link: OpId,
    /// Reads: the version of the page at admission (oracle).
    pub(in crate::engine) expected: u32,
    /// Run of a write that overlaps others of its page, or has to read part of it.
    pub(in crate::engine) run: u32,
    /// The newest write of a page: the page on flash that stays valid for it, as long as a run of partial writes or a parity group
    /// has yet to read it. Where overwritten pages are kept, the newest version that is on flash.
    pub(in crate::engine) old: Ppn,
    /// If overwritten pages are kept: writes of at least this age replace `old` when they land.
    pub(in crate::engine) old_age: u64,
    /// Tags of the operation's pages, for all classes (oracle). The second one is the tag of the page that a write is merged with,
    /// or, with a cache, that a read has found.
    pub(in crate::engine) tags: [Tag; MAX_PLANES],
}

const _: () = assert!(size_of::<HostPage>() == 4 * 64, "the part of a host page is four cache lines");

impl HostPage {
    /// Makes the part of an earlier page of the fast lane that of another one, which has waited outside for so long.
    #[inline(always)]
    pub(in crate::engine) fn renew(&mut self, chip: u32, offset: u32, bytes: u32, waited: u64) {
        self.chip = chip;
        self.offset = offset;
        self.bytes = bytes;
        self.first_start = None;
        self.blame.begin(waited);
    }

    /// Charges its wait for its unit since `since`, as its turn has come, without the time for which GC and write-backs held the
    /// unit. Returns these two. Where dies choose `by_class`, what follows from GC later is not told apart.
    #[inline(always)]
    pub(in crate::engine) fn charge_turn(
        &mut self,
        turn: &Turn,
        by_class: bool,
        since: Nanos,
        now: Nanos,
    ) -> (u64, u64) {
        if since == now {
            return (0, 0);
        }
        let parts = turn.parts(since, now, self.ledger_gc, self.ledger_writeback);
        self.blame.add(Cause::DieHost, parts.host);
        if parts.late > 0 {
            self.blame.add(if by_class { Cause::DieHost } else { Cause::DieLate }, parts.late);
        }
        (parts.gc, parts.writeback)
    }
}

impl Blank for HostPage {
    #[inline(always)]
    fn blank() -> Self {
        HostPage {
            blame: Causes::ZERO,
            first_start: None,
            ledger_gc: 0,
            ledger_gc_own: 0,
            ledger_writeback: 0,
            collections: 0,
            bytes: 0,
            offset: 0,
            chip: NO_CHIP,
            link: OpId::NONE,
            expected: 0,
            run: NO_RUN,
            old: Ppn::NONE,
            old_age: 0,
            tags: [Tag::NONE; MAX_PLANES],
        }
    }
}

/// A page's role in its parity group.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Chunk {
    /// The update that the page is part of, from the moment it has begun.
    pub(in crate::engine) update: u32,
    /// The redirected read that a read is part of.
    pub(in crate::engine) redirect: u32,
    /// The write of the same page that must land first, because its update has begun; its page becomes the old one.
    pub(in crate::engine) behind: OpId,
    /// Writes that no chip takes: the version that their group summed to before, if any (oracle).
    pub(in crate::engine) before: Option<u32>,
}

impl Blank for Chunk {
    #[inline(always)]
    fn blank() -> Self {
        Chunk { update: NO_UPDATE, redirect: NO_REDIRECT, behind: OpId::NONE, before: None }
    }
}

/// A page of the controller's buffer.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Buffered {
    /// Its segment.
    pub(in crate::engine) segment: u32,
    /// Whether the host has overwritten it in the buffer.
    pub(in crate::engine) absorbed: bool,
    /// Of a host write that has replaced a page there: content that parity covers and that only this write has.
    pub(in crate::engine) replaces: Option<Tag>,
}

impl Blank for Buffered {
    #[inline(always)]
    fn blank() -> Self {
        Buffered { segment: NO_SEGMENT, absorbed: false, replaces: None }
    }
}

/// Time that all units were held before a write that any die may take began to wait: at all, by GC, by write-backs, by folds.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Anywhere {
    pub(in crate::engine) held: u64,
    pub(in crate::engine) held_gc: u64,
    pub(in crate::engine) held_writeback: u64,
    pub(in crate::engine) held_fold: u64,
}

impl Blank for Anywhere {
    #[inline(always)]
    fn blank() -> Self {
        Anywhere { held: 0, held_gc: 0, held_writeback: 0, held_fold: 0 }
    }
}

/// A read's second copy.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Copied {
    /// The copy that the read was sent to, or none.
    pub(in crate::engine) page: Ppn,
}

impl Blank for Copied {
    #[inline(always)]
    fn blank() -> Self {
        Copied { page: Ppn::NONE }
    }
}

/// Progress of an operation on the interconnect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Crossing {
    /// A read has not left the flash yet; a program has not crossed yet.
    Ahead,
    /// Its pages are crossing.
    Under,
    /// They have crossed.
    Over,
}

/// An operation on the interconnect.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Crosser {
    /// Its progress.
    pub(in crate::engine) crossing: Crossing,
    /// Its pages in the flash controller's buffer.
    pub(in crate::engine) buffered: u8,
    /// GC's row time when its port request started to wait for a row.
    pub(in crate::engine) row_ledger: u64,
}

impl Blank for Crosser {
    #[inline(always)]
    fn blank() -> Self {
        Crosser { crossing: Crossing::Ahead, buffered: 0, row_ledger: 0 }
    }
}

impl Blank for PlaneId {
    #[inline(always)]
    fn blank() -> Self {
        PlaneId::NONE
    }
}

/// The handle of a page that is programmed.
impl Blank for u8 {
    #[inline(always)]
    fn blank() -> Self {
        0
    }
}

/// An operation on a device with causes of optional features.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Extras {
    /// Those causes of its time so far.
    pub(in crate::engine) blame: ExtraBlame,
    /// Time for which folds of the cache of SLC had held its unit when it joined the queue.
    pub(in crate::engine) ledger_folds: u64,
    /// It waits for a page that a fold will make room for.
    pub(in crate::engine) for_fold: bool,
}

impl Blank for Extras {
    fn blank() -> Self {
        Extras { blame: ExtraBlame::default(), ledger_folds: 0, for_fold: false }
    }
}

/// A page on a device with tenants.
#[derive(Clone, Debug)]
pub(in crate::engine) struct TenantPage {
    /// The tenant of a host page.
    pub(in crate::engine) tenant: u8,
    /// By tenant: for how long it had held the unit and the bus when the page began to wait for them.
    pub(in crate::engine) die: [u64; MOST_QUEUES],
    /// See `die`.
    pub(in crate::engine) bus: [u64; MOST_QUEUES],
    /// By tenant: `die_host` and `bus_host` that it has cost the page.
    pub(in crate::engine) by: [u64; MOST_QUEUES],
}

impl Blank for TenantPage {
    fn blank() -> Self {
        TenantPage { tenant: 0, die: [0; MOST_QUEUES], bus: [0; MOST_QUEUES], by: [0; MOST_QUEUES] }
    }
}

/// A page on a device with a write cache.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Cached {
    /// Its line, and the line's period of dirtiness: a host write's from the moment it has one, and that of a write-back.
    pub(in crate::engine) line: u32,
    /// See `line`. Of a host read: how often what is on flash of its page had been replaced when it began.
    pub(in crate::engine) period: u32,
    /// A host read: its page had a line, or a write that waited for one, when it began.
    pub(in crate::engine) fills: bool,
    /// A host write's place among writes and flushes.
    pub(in crate::engine) place: u64,
    /// The earlier write of its page that waits for a line, too.
    pub(in crate::engine) behind: OpId,
    /// Discarded by a trim.
    pub(in crate::engine) trimmed: bool,
    /// A host write that is acknowledged when it is on flash.
    pub(in crate::engine) fua: bool,
    /// A write-back or its fill read is in service.
    pub(in crate::engine) serving: bool,
    /// Time for which write-backs had held its unit when it joined the queue.
    pub(in crate::engine) ledger: u64,
    /// A write-back's causes up to the selection of its program.
    pub(in crate::engine) before: Blame,
    /// The list of a write-back's waits.
    pub(in crate::engine) log: u32,
}

/// No line.
pub(in crate::engine) const NO_LINE: u32 = u32::MAX;
/// No list of waits.
pub(in crate::engine) const NO_LOG: u32 = u32::MAX;

impl Blank for Cached {
    fn blank() -> Self {
        Cached {
            line: NO_LINE,
            period: 0,
            fills: false,
            place: 0,
            behind: OpId::NONE,
            trimmed: false,
            fua: false,
            serving: false,
            ledger: 0,
            before: Blame::ZERO,
            log: NO_LOG,
        }
    }
}

/// Bytes per operation beside its record, on every device.
pub(in crate::engine) const BYTES_BESIDE: u64 = size_of::<HostPage>() as u64;

/// Side tables that a device needs in addition to those of every device.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct Parts {
    pub(in crate::engine) parity: bool,
    pub(in crate::engine) buffer: bool,
    pub(in crate::engine) crossing: bool,
    pub(in crate::engine) copy: bool,
    pub(in crate::engine) anywhere: bool,
    pub(in crate::engine) bound: bool,
    pub(in crate::engine) cached: bool,
    pub(in crate::engine) extras: bool,
    pub(in crate::engine) tenant: bool,
    pub(in crate::engine) handle: bool,
    pub(in crate::engine) retry: bool,
}

/// An operation, and its part of a host page. One lookup finds both.
#[derive(Clone)]
struct Record {
    op: Op,
    page: HostPage,
}

/// Operations that wait or are in service.
#[derive(Clone)]
pub(in crate::engine) struct Ops {
    records: Slab<Record>,
    /// Free places for the only page of a request in the fast lane. Each keeps the place of its request.
    singles: Vec<OpId>,
    /// Operations outside the fast lane: those without [`Op::lane`], which only this file changes.
    others: usize,
    parts: Parts,
    /// Whether the device needs any of `parts`.
    any_part: bool,
    pub(in crate::engine) parity: ByOp<Chunk>,
    pub(in crate::engine) buffer: ByOp<Buffered>,
    pub(in crate::engine) crossing: ByOp<Crosser>,
    pub(in crate::engine) copy: ByOp<Copied>,
    pub(in crate::engine) anywhere: ByOp<Anywhere>,
    /// The plane that a host write got at admission. The operation's own plane is another one while it reads the page that it is
    /// merged with.
    pub(in crate::engine) bound: ByOp<PlaneId>,
    pub(in crate::engine) cached: ByOp<Cached>,
    pub(in crate::engine) extras: ByOp<Extras>,
    pub(in crate::engine) tenant: ByOp<TenantPage>,
    /// The placement handle of a host program, or of a line's write-back.
    handle: ByOp<u8>,
    pub(in crate::engine) retry: ByOp<Attempts>,
}

impl Ops {
    pub(super) fn new(capacity: usize, parts: Parts) -> Self {
        Ops {
            records: Slab::with_capacity(capacity),
            singles: Vec::with_capacity(capacity),
            others: 0,
            parts,
            any_part: parts.parity
                || parts.buffer
                || parts.crossing
                || parts.copy
                || parts.anywhere
                || parts.bound
                || parts.cached
                || parts.extras
                || parts.tenant
                || parts.handle
                || parts.retry,
            parity: ByOp::new(parts.parity, capacity),
            buffer: ByOp::new(parts.buffer, capacity),
            crossing: ByOp::new(parts.crossing, capacity),
            copy: ByOp::new(parts.copy, capacity),
            anywhere: ByOp::new(parts.anywhere, capacity),
            bound: ByOp::new(parts.bound, capacity),
            cached: ByOp::new(parts.cached, capacity),
            extras: ByOp::new(parts.extras, capacity),
            tenant: ByOp::new(parts.tenant, capacity),
            handle: ByOp::new(parts.handle, capacity),
            retry: ByOp::new(parts.retry, capacity),
        }
    }

    /// Creates an operation with blank side entries.
    #[inline(always)]
    pub(in crate::engine) fn create(&mut self, op: Op) -> OpId {
        self.others += usize::from(!op.lane);
        let id = OpId(self.records.insert(Record { op, page: HostPage::blank() }));
        if self.any_part {
            self.reset_parts(id);
        }
        id
    }

    /// Whether pages may wait in the controller's buffer.
    #[inline(always)]
    pub(in crate::engine) fn stages(&self) -> bool {
        self.parts.buffer
    }

    /// Operations have tenants from now on; there are none yet.
    pub(in crate::engine) fn count_tenants(&mut self) {
        self.parts.tenant = true;
        self.any_part = true;
        self.tenant.fill(self.records.all().count());
    }

    /// Operations have these side tables, too, from now on; entries of existing operations are blank.
    pub(in crate::engine) fn widen(&mut self, buffer: bool, copy: bool) {
        let count = self.records.all().count();
        if buffer {
            self.parts.buffer = true;
            self.buffer.fill(count);
        }
        if copy {
            self.parts.copy = true;
            self.copy.fill(count);
        }
        self.any_part |= buffer || copy;
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
        if self.parts.copy {
            self.copy.reset(id);
        }
        if self.parts.anywhere {
            self.anywhere.reset(id);
        }
        if self.parts.bound {
            self.bound.reset(id);
        }
        if self.parts.cached {
            self.cached.reset(id);
        }
        if self.parts.extras {
            self.extras.reset(id);
        }
        if self.parts.tenant {
            self.tenant.reset(id);
        }
        if self.parts.handle {
            self.handle.reset(id);
        }
        if self.parts.retry {
            self.retry.reset(id);
        }
    }

    /// The host's write point that an operation programs.
    #[inline(always)]
    pub(in crate::engine) fn host_stream(&self, op: OpId) -> Stream {
        if self.parts.handle { self.handled_stream(op) } else { Stream::Host }
    }

    #[inline(never)]
    fn handled_stream(&self, op: OpId) -> Stream {
        Stream::of_handle(self.handle[op])
    }

    /// An operation programs data of a handle.
    pub(in crate::engine) fn set_handle(&mut self, op: OpId, handle: u8) {
        self.handle[op] = handle;
    }

    /// An operation programs data of another one's handle, where there are handles.
    #[inline(always)]
    pub(in crate::engine) fn take_handle(&mut self, op: OpId, from: OpId) {
        if self.parts.handle {
            self.handle[op] = self.handle[from];
        }
    }

    /// An operation programs data of another one's handle, which is returned, where there are handles.
    pub(in crate::engine) fn hand_on(&mut self, op: OpId, from: OpId) -> u8 {
        self.handle[op] = self.handle[from];
        self.handle[op]
    }

    /// The handle of an operation, where there are handles.
    pub(in crate::engine) fn handle(&self, op: OpId) -> u8 {
        self.handle[op]
    }

    /// The place of the next operation, with its old content, if the old operation was in the fast lane, too.
    #[inline(always)]
    pub(in crate::engine) fn reuse_lane(&mut self) -> Option<OpId> {
        self.records.reuse(|record| record.op.lane).map(|(id, _)| OpId(id))
    }

    /// Makes the place of the next operation one that [`Ops::reuse_lane`] returns.
    #[cold]
    pub(in crate::engine) fn add_to_lane(&mut self) {
        let id = self.create(Op { lane: true, ..Op::blank() });
        self.remove_lane(id);
    }

    /// The place of the next operation for the only page of a request in the lane, with the place of its request.
    #[inline(always)]
    pub(in crate::engine) fn reuse_single(&mut self) -> Option<OpId> {
        self.singles.pop()
    }

    /// Adds a place that [`Ops::reuse_single`] returns.
    #[cold]
    pub(in crate::engine) fn add_single(&mut self, request: RequestId) {
        let id = self.create(Op { lane: true, single: true, request, ..Op::blank() });
        self.singles.push(id);
    }

    /// Frees an operation that [`Ops::reuse_single`] returned, and that has stayed in the lane with its request.
    #[inline(always)]
    pub(in crate::engine) fn remove_single(&mut self, op: OpId) {
        debug_assert!(self[op].lane && self[op].single);
        self.singles.push(op);
    }

    /// Whether all operations are in the fast lane.
    #[inline(always)]
    pub(in crate::engine) fn all_in_lane(&self) -> bool {
        self.others == 0
    }

    /// The record of an operation, and its part of a host page.
    #[inline(always)]
    pub(in crate::engine) fn both(&mut self, op: OpId) -> (&mut Op, &mut HostPage) {
        let record = &mut self.records[op.0];
        (&mut record.op, &mut record.page)
    }

    /// Creates an operation as a copy of another one.
    pub(in crate::engine) fn create_like(&mut self, other: OpId) -> OpId {
        let id = self.create(Op { single: false, ..self[other].clone() });
        self[Page(id)] = self[Page(other)].clone();
        self.parity[id] = self.parity[other].clone();
        id
    }

    /// An operation leaves the fast lane, if it is there.
    pub(in crate::engine) fn leave_lane(&mut self, op: OpId) {
        self.others += usize::from(std::mem::replace(&mut self[op].lane, false));
    }

    /// Frees an operation.
    #[inline(always)]
    pub(in crate::engine) fn remove(&mut self, op: OpId) {
        self.others -= usize::from(!self[op].lane);
        self[op].single = false;
        self.records.remove(op.0);
    }

    /// Frees an operation in the fast lane.
    #[inline(always)]
    pub(in crate::engine) fn remove_lane(&mut self, op: OpId) {
        debug_assert!(self[op].lane);
        self.records.remove(op.0);
    }

    /// Number of operations.
    pub(in crate::engine) fn in_use(&self) -> usize {
        self.records.in_use() - self.singles.len()
    }

    /// Ids of all operations.
    pub(in crate::engine) fn live(&self) -> impl Iterator<Item = OpId> {
        let mut kept: Vec<u32> = self.singles.iter().map(|op| op.0).collect();
        kept.sort_unstable();
        self.records.live().filter(move |id| kept.binary_search(id).is_err()).map(OpId)
    }

    /// The parts of host pages, including the old content of free places.
    pub(in crate::engine) fn pages(&self) -> impl Iterator<Item = &HostPage> {
        self.records.all().map(|record| &record.page)
    }

    /// Prefetches an operation that will soon be used.
    #[inline(always)]
    pub(in crate::engine) fn expect(&self, op: OpId) {
        let record = &self.records[op.0];
        prefetch_first::<_, USED_BY_PAGES>(&record.op);
        prefetch_first::<_, { size_of::<HostPage>() }>(&record.page);
    }

    /// Power is cut: frees all operations.
    pub(in crate::engine) fn clear(&mut self) {
        self.records.clear();
        self.singles.clear();
        self.others = 0;
    }
}

impl Index<OpId> for Ops {
    type Output = Op;
    #[inline(always)]
    fn index(&self, op: OpId) -> &Op {
        &self.records[op.0].op
    }
}

impl IndexMut<OpId> for Ops {
    #[inline(always)]
    fn index_mut(&mut self, op: OpId) -> &mut Op {
        &mut self.records[op.0].op
    }
}

/// An operation's part of a host page, as an index.
#[derive(Clone, Copy)]
pub(in crate::engine) struct Page(pub(in crate::engine) OpId);

impl Index<Page> for Ops {
    type Output = HostPage;
    #[inline(always)]
    fn index(&self, page: Page) -> &HostPage {
        &self.records[page.0.0].page
    }
}

impl IndexMut<Page> for Ops {
    #[inline(always)]
    fn index_mut(&mut self, page: Page) -> &mut HostPage {
        &mut self.records[page.0.0].page
    }
}
