//! Pages and blocks, and the laws of real flash.
//!
//! The laws hold for every scheme, also in release builds. A violation stops the run with a panic that names the law: the pages
//! of a block are programmed in order and once per erase; a block is erased only without valid pages and without programs or
//! reads in flight; validity and the reverse map agree.

mod copies;
mod free;
mod handles;
mod life;
mod now;
mod parts;
mod records;
mod recover;
mod room;
mod slc;
mod slots;
mod stream;

use std::io;

use ssdlab_memory::{Table, prefetch};

use super::geometry::Geometry;
use super::planes::PlaneSet;
use super::spec::SlotsSpec;
use crate::carry::Carrier;
use crate::units::{BlockId, Lpn, Nanos, PlaneId, Ppn, count};

use free::FreeBlocks;
pub use handles::HandleCounts;
use handles::Handles;
use life::Life;
pub use life::{BlockState, FailedBy};
use slc::Slc;
pub(crate) use stream::FOR_SLC;
use stream::STREAMS;
pub use stream::Stream;

/// Set in the valid count of a block that is not closed, so that a plain minimum over counts finds a victim.
const NOT_CLOSED: u16 = 0x8000;

/// A change of a page, where changes are recorded.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Change {
    /// A data page was programmed, with or without a logical page.
    Written(Ppn, Lpn),
    /// A valid page became invalid.
    Invalid(Ppn),
}

/// When a block was closed, and the write point that filled it.
#[derive(Clone, Copy, Debug)]
pub struct Closing {
    /// Landing time of its last page. Filling takes no time: blocks closed in it have their rank in the plane instead, 0 for the
    /// first, so that they are older than all others and in order.
    pub at: Nanos,
    /// Its write point; [`Stream::Host`] for all data if write points are shared.
    pub stream: Stream,
}

/// Fill level of a block, and its operations in flight.
#[derive(Clone, Copy, Debug, Default)]
struct Use {
    /// Pages programmed or being programmed since the last erase.
    written: u16,
    /// Programs that have not landed.
    unlanded: u16,
    /// Array reads in service.
    readers: u16,
}

/// Counters and open blocks of a plane.
#[derive(Clone, Debug)]
pub(crate) struct Plane {
    free_pages: u32,
    free_blocks: u32,
    /// Block index at which the circular search for an erased block continues.
    cursor: u32,
    /// Number of blocks closed so far.
    closings: u32,
    /// Whether a collection runs; `debt` is the number of pages that it may still need.
    collecting: bool,
    /// See `collecting`.
    debt: u32,
    /// Pages promised to data that arrives from other planes or from the controller's buffer.
    promised: u32,
    open: [BlockId; STREAMS],
}

/// The state of every page, block and plane.
#[derive(Clone, Debug)]
pub struct Flash {
    /// By page: the logical page whose valid copy it holds, or none.
    lpn_of: Table<Lpn>,
    /// By block: valid pages, with `NOT_CLOSED` while the block is free, open or being collected.
    valid: Vec<u16>,
    /// By block: fill level, and operations in flight.
    use_of: Vec<Use>,
    /// By block: erases since the start.
    erases: Vec<u32>,
    /// By block: the plane's `closings` when it was closed.
    closed_at: Vec<u32>,
    free: FreeBlocks,
    planes: Vec<Plane>,
    blocks_per_plane: u32,
    pages_per_block: u32,
    data_pages: u32,
    /// Units in pages and programs.
    slots: SlotsSpec,
    /// Slots that a stream takes at a time: those of a program, or 1 where units are written one by one in no time.
    step: u32,
    /// Whether every collection fills its last program with padding.
    pads: bool,
    shared: bool,
    /// Whether GC has one write point a plane, and the host has one of its own.
    plain: bool,
    reserve: u32,
    /// Free pages of the device.
    free_total: u64,
    /// Pages programmed so far, and pages of erased blocks; the difference is the number of written pages.
    programmed: u64,
    reclaimed: u64,
    /// By block: when it was closed, and the write point that filled it, where this is kept; blocks closed since the last date.
    closed: Vec<Closing>,
    undated: Vec<BlockId>,
    /// Pages of erased blocks that count as neither free nor programmed: those of the cache of SLC.
    withheld: u64,
    /// Whether changes are noted; whether they are kept, and those since they were last taken.
    records: bool,
    keeps_changes: bool,
    changes: Vec<Change>,
    /// By block: second copies of pages, where any are made; and how many of all victim policies count.
    copies: Vec<u16>,
    counted_copies: u32,
    /// A bit for each plane that may have no page for the host: all such planes, and some others.
    tight: PlaneSet,
    /// The host's handles, if there are several.
    handles: Option<Box<Handles>>,
    /// The cache of SLC, if there is one.
    slc: Option<Box<Slc>>,
    /// Lifetime of blocks, if they wear out.
    life: Option<Box<Life>>,
    /// Whether programs may fail; for this or because points are shared, open blocks are looked at; or because of a cache of SLC, pages.
    fails: bool,
    slow: bool,
    beside: bool,
}

impl Flash {
    pub(crate) fn new(geometry: &Geometry, least_erased: bool, shared: bool, reserve: u32, pads: bool) -> Self {
        let blocks = (geometry.planes * geometry.blocks_per_plane) as usize;
        let plane = Plane {
            free_pages: geometry.pages_per_plane,
            free_blocks: geometry.blocks_per_plane,
            cursor: 0,
            closings: 0,
            collecting: false,
            debt: 0,
            promised: 0,
            open: [BlockId::NONE; STREAMS],
        };
        Flash {
            // Places in the controller for moved units are entries behind those of the flash.
            lpn_of: Table::filled((geometry.all_slots() + geometry.slots_in_hand()) as usize, Lpn::NONE),
            valid: vec![NOT_CLOSED; blocks + (geometry.slots_in_hand() / geometry.pages_per_block) as usize],
            slots: geometry.slots,
            step: 1,
            pads,
            use_of: vec![Use::default(); blocks],
            erases: vec![0; blocks],
            closed_at: vec![0; blocks],
            free: FreeBlocks::all(geometry.planes, geometry.blocks_per_plane, least_erased),
            planes: vec![plane; geometry.planes as usize],
            blocks_per_plane: geometry.blocks_per_plane,
            pages_per_block: geometry.pages_per_block,
            data_pages: geometry.data_pages,
            shared,
            plain: !shared,
            reserve,
            free_total: u64::from(geometry.planes) * u64::from(geometry.pages_per_plane),
            programmed: 0,
            reclaimed: 0,
            withheld: 0,
            closed: Vec::new(),
            undated: Vec::new(),
            records: false,
            keeps_changes: false,
            changes: Vec::new(),
            copies: Vec::new(),
            counted_copies: 0,
            tight: PlaneSet::full(geometry.planes),
            handles: None,
            slc: None,
            life: None,
            fails: false,
            slow: shared,
            beside: false,
        }
    }

    /// Carries what filling leaves: all that is not fixed by the configuration. Records are for policies from outside, whose fillings
    /// are not kept.
    pub(crate) fn carry(&mut self, carrier: &mut Carrier<'_>) -> io::Result<()> {
        let Flash {
            lpn_of,
            valid,
            use_of,
            erases,
            closed_at,
            free,
            planes,
            blocks_per_plane: _,
            pages_per_block: _,
            data_pages: _,
            slots: _,
            step: _,
            pads: _,
            shared: _,
            plain: _,
            reserve: _,
            free_total,
            programmed,
            reclaimed,
            closed: _,
            undated: _,
            withheld: _,
            records: _,
            keeps_changes: _,
            changes: _,
            copies: _,
            counted_copies: _,
            tight,
            handles,
            // Filling leaves it empty, and retires nothing.
            slc: _,
            life: _,
            fails: _,
            slow: _,
            beside: _,
        } = self;
        *tight = PlaneSet::full(planes.len() as u32);
        if let Some(handles) = handles {
            handles.carry(carrier)?;
        }
        carrier.table(lpn_of)?;
        carrier.table(valid)?;
        for Use { written, unlanded, readers } in use_of {
            carrier.value(written)?;
            carrier.value(unlanded)?;
            carrier.value(readers)?;
        }
        carrier.table(erases)?;
        carrier.table(closed_at)?;
        free.carry(carrier)?;
        for Plane { free_pages, free_blocks, cursor, closings, collecting, debt, promised, open } in planes {
            [free_pages, free_blocks, cursor, closings, debt, promised]
                .into_iter()
                .try_for_each(|n| carrier.value(n))?;
            carrier.value(collecting)?;
            carrier.table(open)?;
        }
        [free_total, programmed, reclaimed].into_iter().try_for_each(|n| carrier.value(n))
    }

    // Queries for policies.

    /// Whether a page holds the valid copy of a logical page.
    #[inline(always)]
    pub fn is_valid(&self, page: Ppn) -> bool {
        self.lpn_of[page.ix()].is_some()
    }

    /// The logical page whose valid copy a page holds, or none.
    #[inline(always)]
    pub fn lpn_of(&self, page: Ppn) -> Lpn {
        self.lpn_of[page.ix()]
    }

    /// Logical pages whose valid copies a block's pages hold from an offset on, or none.
    #[inline(always)]
    pub(crate) fn lpns_from(&self, block: BlockId, offset: u32) -> &[Lpn] {
        let end = (block.0 + 1) * self.pages_per_block;
        &self.lpn_of[(block.0 * self.pages_per_block + offset) as usize..end as usize]
    }

    /// Prefetches for a page that will soon become stale.
    #[inline(always)]
    pub(crate) fn expect_stale(&self, page: Ppn, block: BlockId) {
        prefetch(&self.lpn_of, page.ix());
        prefetch(&self.valid, block.ix());
    }

    /// Prefetches for an array read that will soon begin in a block.
    #[inline(always)]
    pub(crate) fn expect_read(&self, block: BlockId) {
        prefetch(&self.use_of, block.ix());
    }

    /// Prefetches for host data that will soon be programmed in a plane.
    #[inline(always)]
    pub(crate) fn expect_program(&self, plane: PlaneId) {
        let open = self.open(plane, Stream::Host.number());
        if open.is_some() {
            let written = u32::from(self.use_of[open.ix()].written);
            prefetch(&self.lpn_of, (open.0 * self.pages_per_block + written) as usize);
        }
    }

    /// Prefetches for the pages of a victim that will soon move to its plane's write point.
    #[inline]
    pub(crate) fn expect_run(&self, plane: PlaneId, victim: BlockId) {
        let open = self.open(plane, self.point(plane, Stream::Gc));
        let to =
            if open.is_none() { 0 } else { open.0 * self.pages_per_block + u32::from(self.use_of[open.ix()].written) };
        prefetch(&self.use_of, victim.ix());
        prefetch(&self.erases, victim.ix());
        for line in (0..self.pages_per_block).step_by(16) {
            prefetch(&self.lpn_of, (victim.0 * self.pages_per_block + line) as usize);
            prefetch(&self.lpn_of, (to + line) as usize);
        }
    }

    /// Valid pages of a block.
    #[inline(always)]
    pub fn valid(&self, block: BlockId) -> u16 {
        self.valid[block.ix()] & !NOT_CLOSED
    }

    /// Pages of a block that a victim policy counts as valid: those that are, and second copies.
    #[inline(always)]
    pub fn kept(&self, block: BlockId) -> u16 {
        self.valid(block) + if self.has_copies() { self.copies[block.ix()] } else { 0 }
    }

    /// Whether a block is full, landed, and not being collected.
    #[inline(always)]
    pub fn is_closed(&self, block: BlockId) -> bool {
        self.valid[block.ix()] & NOT_CLOSED == 0
    }

    /// By block of the device: valid pages of a closed block, otherwise more than a block has pages.
    pub fn valid_if_closed(&self) -> &[u16] {
        &self.valid
    }

    /// The closed blocks of a plane in ascending order.
    pub fn closed_blocks(&self, plane: PlaneId, geometry: &Geometry) -> impl Iterator<Item = BlockId> + '_ {
        geometry.blocks(plane).map(|block| BlockId(block as u32)).filter(|block| self.is_closed(*block))
    }

    /// Whether a collection of a plane would free a page.
    pub(crate) fn has_garbage(&self, plane: PlaneId, geometry: &Geometry) -> bool {
        self.closed_blocks(plane, geometry).any(|block| self.frees(block))
    }

    /// The plane's `closings` when a closed block was closed.
    pub fn closed_at(&self, block: BlockId) -> u32 {
        self.closed_at[block.ix()]
    }

    /// When a closed block was closed, and by which write point it was filled; nothing unless the victim policy reads it
    /// (`Victim::reads_closings`).
    pub fn closing(&self, block: BlockId) -> Option<Closing> {
        self.closed.get(block.ix()).copied()
    }

    /// Blocks closed in a plane so far.
    pub fn closings(&self, plane: PlaneId) -> u32 {
        self.planes[plane.ix()].closings
    }

    /// Number of erases of a block.
    pub fn erases(&self, block: BlockId) -> u32 {
        self.erases[block.ix()]
    }

    /// By block of the device: erases.
    pub fn erases_by_block(&self) -> &[u32] {
        &self.erases
    }

    /// By block of the device: see [`Flash::closing`]; empty if it is not kept.
    pub fn closings_by_block(&self) -> &[Closing] {
        &self.closed
    }

    /// Pages of a block programmed or being programmed since its last erase.
    pub fn written(&self, block: BlockId) -> u32 {
        u32::from(self.use_of[block.ix()].written)
    }

    /// Whether a page's word line is not programmed yet, where `word_line` pages are programmed together.
    pub(crate) fn waits_for_word_line(&self, page: Ppn, block: BlockId, word_line: u32) -> bool {
        let used = self.use_of[block.ix()];
        let end = (page.0 - block.0 * self.pages_per_block) / word_line * word_line + word_line;
        u32::from(used.written) < end || u32::from(used.written) == end && used.unlanded > 0
    }

    /// Unprogrammed pages of a plane, including open blocks. With several handles only those of erased blocks: open blocks of other
    /// handles are of no use to a writer.
    #[inline(always)]
    pub fn free_pages(&self, plane: PlaneId) -> u32 {
        let state = &self.planes[plane.ix()];
        if self.handles.is_none() { state.free_pages } else { state.free_blocks * self.pages_per_block }
    }

    /// The same for all planes.
    pub(crate) fn free_pages_of_all(&self) -> u64 {
        if self.handles.is_none() {
            return self.free_total;
        }
        (0..self.planes()).map(|plane| u64::from(self.free_pages(PlaneId(plane)))).sum()
    }

    /// Erased blocks of a plane that are not open.
    pub fn free_blocks(&self, plane: PlaneId) -> u32 {
        self.planes[plane.ix()].free_blocks
    }

    /// Whether a write of the host can be programmed in a plane without a collection.
    pub fn takes_host_page(&self, plane: PlaneId) -> bool {
        self.offset_at(plane, Stream::Host.number(), false).is_some()
    }

    /// The same for data of a handle.
    #[inline(always)]
    pub(crate) fn takes_page_of(&self, plane: PlaneId, stream: Stream) -> bool {
        let plain = stream == Stream::Host && self.slc.is_none();
        if plain { self.takes_host_page(plane) } else { self.next_offset(plane, stream).is_some() }
    }

    /// Whether data of a handle waits for a collection in a plane.
    #[inline(always)]
    pub(crate) fn lacks_page(&self, plane: PlaneId, stream: Stream) -> bool {
        !(self.takes_page_of(plane, stream) || self.slc.is_some() && self.waits_for_fold(plane, stream))
    }

    /// Unprogrammed pages of the device.
    pub fn free_total(&self) -> u64 {
        self.free_total
    }

    /// Erases of all blocks.
    pub(crate) fn erases_total(&self) -> u64 {
        self.reclaimed / u64::from(self.pages_per_block)
    }

    /// Pages programmed so far.
    pub fn programmed(&self) -> u64 {
        self.programmed
    }

    /// Pages of blocks erased so far.
    pub fn reclaimed(&self) -> u64 {
        self.reclaimed
    }

    // Mechanism.

    /// Unprogrammed data pages in a stream's open block; 0 without an open block.
    pub(crate) fn room(&self, plane: PlaneId, stream: Stream) -> u32 {
        let open = self.open(plane, self.point(plane, stream));
        if open.is_none() { 0 } else { self.data_pages - u32::from(self.use_of[open.ix()].written) }
    }

    /// Offset in the plane of a stream's next program, if it may take a page.
    pub(crate) fn next_offset(&self, plane: PlaneId, stream: Stream) -> Option<u32> {
        if self.slc.is_some() && stream.is_host() {
            return self.offset_beside(plane, stream);
        }
        self.offset_at(plane, self.point(plane, stream), !stream.is_host())
    }

    #[inline(always)]
    fn offset_at(&self, plane: PlaneId, point: usize, collects: bool) -> Option<u32> {
        let open = self.open(plane, point);
        if open.is_some() {
            return self.may_fill(plane, point, collects).then(|| u32::from(self.use_of[open.ix()].written));
        }
        self.may_open(plane, collects).then_some(0)
    }

    /// Whether a stream may take a page of its open block. In a shared block, host programs leave the pages that the running
    /// collection still needs and the next one must find.
    #[inline(always)]
    fn may_fill(&self, plane: PlaneId, point: usize, collects: bool) -> bool {
        !self.shared || collects || self.leaves_debt(plane, point)
    }

    /// Pages of a plane that host programs leave where they share its open block with collections.
    #[inline(always)]
    fn kept_from_host(&self, state: &Plane) -> u32 {
        state.debt + state.promised + (self.reserve - u32::from(state.collecting)) * self.pages_per_block
    }

    /// Whether a plane has room for pages from other planes outside its own reserve.
    pub(crate) fn takes_foreign(&self, plane: PlaneId) -> bool {
        let state = &self.planes[plane.ix()];
        state.free_blocks > self.reserve + state.promised / self.data_pages + 1
    }

    /// Whether a stream may open one more erased block. Host programs leave the reserve.
    fn may_open(&self, plane: PlaneId, collects: bool) -> bool {
        let state = &self.planes[plane.ix()];
        let kept = if collects { 0 } else { self.reserve + state.promised.div_ceil(self.data_pages) };
        state.free_blocks > kept
    }

    /// Takes the next page of a stream's open block, and opens a block if necessary. None if the stream may take no page.
    #[inline]
    pub(crate) fn take_page(&mut self, plane: PlaneId, stream: Stream, collects: bool) -> Option<Ppn> {
        if self.slc.is_some() && stream.is_host() && !collects {
            return self.take_beside(plane, stream);
        }
        self.take(plane, stream, collects)
    }

    /// The same for data that GC moves, which is never the host's.
    #[inline]
    pub(crate) fn take_moved_page(&mut self, plane: PlaneId, stream: Stream) -> Option<Ppn> {
        self.take(plane, stream, true)
    }

    /// The same for host data.
    #[inline(always)]
    pub(crate) fn take_host_page(&mut self, plane: PlaneId) -> Option<Ppn> {
        self.take(plane, Stream::Host, false)
    }

    #[inline(always)]
    fn take(&mut self, plane: PlaneId, stream: Stream, collects: bool) -> Option<Ppn> {
        let point = self.point(plane, stream);
        let mut state = &mut self.planes[plane.ix()];
        let mut open = if point < STREAMS { state.open[point] } else { BlockId::NONE };
        if open.is_none() || self.slow {
            open = self.find_open(plane, stream, collects)?;
            state = &mut self.planes[plane.ix()];
        }
        let block = &mut self.use_of[open.ix()];
        let page = Ppn(open.0 * self.pages_per_block + u32::from(block.written));
        block.written += 1;
        block.unlanded += 1;
        if u32::from(block.written) == self.data_pages {
            match &mut self.handles {
                Some(handles) if point >= STREAMS => handles.set_open(plane, point, BlockId::NONE),
                _ => state.open[point] = BlockId::NONE,
            }
            self.tight.insert(plane);
        }
        state.free_pages -= 1;
        state.debt -= u32::from(collects && state.debt > 0);
        // The sum of what its planes have left.
        self.free_total = self.free_total.wrapping_sub(1);
        count(&mut self.programmed);
        // The entry is needed at landing; by then many other entries have been accessed.
        prefetch(&self.lpn_of, page.ix());
        Some(page)
    }

    /// The open block of a stream, which may open one; none if the stream may take no page.
    #[inline(never)]
    fn find_open(&mut self, plane: PlaneId, stream: Stream, collects: bool) -> Option<BlockId> {
        let point = self.point(plane, stream);
        let open = self.open(plane, point);
        let found = if open.is_some() {
            self.may_fill(plane, point, collects).then_some(open)?
        } else {
            if !self.may_open(plane, collects) {
                return None;
            }
            let open = self.open_block(plane, stream);
            self.set_open(plane, point, open);
            open
        };
        if self.fails {
            self.may_fail(found);
        }
        Some(found)
    }

    /// Skips the next pages of a collection's write point: they hold nothing until their block is erased.
    pub(crate) fn skip_pages(&mut self, plane: PlaneId, stream: Stream, count: u32) {
        let debt = self.planes[plane.ix()].debt;
        for _ in 0..count {
            let page =
                self.take_page(plane, stream, true).expect("law: the reserve leaves a page for every collection");
            self.land(page, BlockId(page.0 / self.pages_per_block), Lpn::NONE);
        }
        // Skipped pages do not count as moved by the collection.
        self.planes[plane.ix()].debt = debt;
    }

    /// Block of a stream's next page; none if the plane has no page for it.
    pub(crate) fn next_block(&self, plane: PlaneId, stream: Stream) -> Option<BlockId> {
        let open = self.open(plane, self.point(plane, stream));
        if open.is_some() {
            return Some(open);
        }
        let free = self.planes[plane.ix()].free_blocks > 0;
        free.then(|| BlockId(plane.0 * self.blocks_per_plane + self.next_free(plane)))
    }

    /// Whether a block's data pages are full and landed, and its metadata pages are not written yet.
    #[inline(always)]
    pub(crate) fn wants_metadata(&self, block: BlockId) -> bool {
        let used = self.use_of[block.ix()];
        let written = u32::from(used.written);
        written >= self.data_pages && written < self.pages_per_block && used.unlanded == 0
    }

    /// Takes the next metadata page of a block whose data pages are full.
    pub(crate) fn take_metadata(&mut self, block: BlockId) -> Ppn {
        law!(self.wants_metadata(block), "law: metadata follows a block's data, once per erase");
        let used = &mut self.use_of[block.ix()];
        let page = Ppn(block.0 * self.pages_per_block + u32::from(used.written));
        used.written += 1;
        used.unlanded += 1;
        self.planes[block.ix() / self.blocks_per_plane as usize].free_pages -= 1;
        self.free_total -= 1;
        self.programmed += 1;
        page
    }

    /// The next erased block to open, by index in its plane.
    fn next_free(&self, plane: PlaneId) -> u32 {
        let base = plane.0 * self.blocks_per_plane;
        let erases = &self.erases[base as usize..][..self.blocks_per_plane as usize];
        self.free.next(plane.ix(), self.planes[plane.ix()].cursor, erases)
    }

    /// Removes an erased block from the free set, according to `ftl.free_block`.
    #[inline(never)]
    fn open_block(&mut self, plane: PlaneId, stream: Stream) -> BlockId {
        self.tightens(plane);
        let base = plane.0 * self.blocks_per_plane;
        let block = self.next_free(plane);
        self.free.open(plane.ix(), block as usize, self.erases[(base + block) as usize]);
        let state = &mut self.planes[plane.ix()];
        state.cursor = (block + 1) % self.blocks_per_plane;
        state.free_blocks -= 1;
        let block = BlockId(base + block);
        if let Some(closing) = self.closed.get_mut(block.ix()) {
            closing.stream = if self.shared && stream == Stream::Gc { Stream::Host } else { stream };
        }
        if self.handles.is_some() {
            self.own(block, stream);
        } else if self.slc.is_some() && !stream.is_host() {
            self.opens_beside_cache(plane);
        }
        law_eq!(self.use_of[block.ix()].written, 0, "law: a block is opened erased");
        block
    }

    /// A program ends: the page is valid if `lpn` is some, otherwise stale.
    #[inline(always)]
    pub(crate) fn land(&mut self, page: Ppn, block: BlockId, lpn: Lpn) {
        let b = block.ix();
        let (used, entry) = (&mut self.use_of[b], &mut self.lpn_of[page.ix()]);
        law!(used.unlanded > 0 && entry.is_none(), "law: a page is programmed once per erase");
        used.unlanded -= 1;
        let Use { written, unlanded, .. } = *used;
        if lpn.is_some() {
            *entry = lpn;
            self.valid[b] += 1;
        }
        if self.records {
            self.record(page, Change::Written(page, lpn));
        }
        if u32::from(written) == self.pages_per_block && unlanded == 0 {
            self.close(b);
        }
    }

    /// Makes a block that is full and landed a possible victim.
    #[inline(always)]
    fn close_if_full(&mut self, b: usize) {
        if u32::from(self.use_of[b].written) == self.pages_per_block && self.use_of[b].unlanded == 0 {
            self.close(b);
        }
    }

    /// Makes a block a possible victim.
    #[inline]
    fn close(&mut self, b: usize) {
        self.valid[b] &= !NOT_CLOSED;
        let plane = &mut self.planes[b / self.blocks_per_plane as usize];
        self.closed_at[b] = plane.closings;
        plane.closings += 1;
        if !self.closed.is_empty() {
            self.undated.push(BlockId(b as u32));
        }
    }

    /// Invalidates a page.
    #[inline(always)]
    pub(crate) fn invalidate(&mut self, page: Ppn, block: BlockId, lpn: Lpn) {
        let entry = &mut self.lpn_of[page.ix()];
        law_eq!(*entry, lpn, "law: map and reverse map agree");
        *entry = Lpn::NONE;
        self.valid[block.ix()] -= 1;
        if self.records {
            self.record(page, Change::Invalid(page));
        }
    }

    /// An array read begins: its block must not be erased until the read ends.
    #[inline(always)]
    pub(crate) fn read_begins(&mut self, block: BlockId) {
        self.use_of[block.ix()].readers += 1;
    }

    /// An array read ends.
    #[inline(always)]
    pub(crate) fn read_ends(&mut self, block: BlockId) {
        self.use_of[block.ix()].readers -= 1;
    }

    /// Makes a closed block a victim.
    pub(crate) fn begin_collection(&mut self, block: BlockId) {
        law!(self.is_closed(block), "law: a victim is a closed block");
        let plane = &mut self.planes[block.ix() / self.blocks_per_plane as usize];
        plane.collecting = true;
        plane.debt = u32::from(self.valid[block.ix()]).next_multiple_of(self.step);
        self.valid[block.ix()] |= NOT_CLOSED;
        if self.handles.is_some() {
            self.collects(block);
        }
    }

    /// A block is erased.
    pub(crate) fn erase(&mut self, block: BlockId) {
        law_eq!(self.use_of[block.ix()].readers, 0, "law: no read in flight in an erased block");
        self.erase_now(block);
    }

    /// Erases a block in no time. Reads in flight already have their data, since nothing can come between.
    pub(crate) fn erase_now(&mut self, block: BlockId) {
        if self.is_slc(block) {
            return self.erase_slc(block);
        }
        let b = block.ix();
        law_eq!(self.valid[b], NOT_CLOSED, "law: a victim without valid pages is erased");
        law_eq!(self.use_of[b].unlanded, 0, "law: no program in flight in an erased block");
        law_eq!(u32::from(self.use_of[b].written), self.pages_per_block, "law: a full block is erased");
        self.use_of[b].written = 0;
        self.erases[b] += 1;
        let (plane, own) = (b / self.blocks_per_plane as usize, b % self.blocks_per_plane as usize);
        let index = if self.life.is_some() { self.outlives_erase(block) } else { own };
        let blocks = plane * self.blocks_per_plane as usize;
        self.free.insert(plane, index, self.erases[blocks + index]);
        let state = &mut self.planes[plane];
        state.collecting = false;
        state.debt = 0;
        state.free_blocks += 1;
        state.free_pages += self.pages_per_block;
        self.free_total += u64::from(self.pages_per_block);
        self.reclaimed += u64::from(self.pages_per_block);
        if self.handles.is_some() {
            self.disown(block);
        }
        let all = self.use_of.len() as u64 * u64::from(self.pages_per_block);
        let written = all - self.free_total - self.withheld;
        law_eq!(self.programmed - self.reclaimed, written, "law: programs - reclaimed pages = written pages");
    }
}
