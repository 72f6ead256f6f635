//! Write points of several placement handles, and to which of them a block belongs.

use std::io;

use super::stream::STREAMS;
use super::{Flash, Stream};
use crate::carry::Carrier;
use crate::units::{BlockId, PlaneId, Ppn};

/// Owner of blocks that hold pages of all initially isolated handles.
const MIXED: u8 = u8::MAX;

/// Counters of a handle, or of the blocks of none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HandleCounts {
    /// Pages that GC has moved out of its blocks.
    pub moved: u64,
    /// Its blocks that were erased.
    pub erased: u64,
}

/// State of the handles of a device with more than one.
#[derive(Clone, Debug)]
pub(crate) struct Handles {
    /// By handle: whether GC keeps its pages apart.
    persistent: Vec<bool>,
    /// By plane, for each of its further write points: the open block. First those of the host for handles from 1 on, then GC's.
    open: Vec<BlockId>,
    /// By block: the handle that it belongs to from its opening to its erase, or [`MIXED`].
    owner: Vec<u8>,
    /// By plane: the handle whose pages its collection moves, or [`MIXED`].
    collected: Vec<u8>,
    /// By handle, then of mixed blocks: since the device was filled, and what of it was before the measured part.
    counts: Vec<HandleCounts>,
    /// See `counts`.
    before: Vec<HandleCounts>,
}

impl Handles {
    /// Open blocks of a plane beside those of all devices.
    fn points(&self) -> usize {
        2 * self.persistent.len() - 1
    }

    /// Opens or closes the block of such a write point.
    pub(super) fn set_open(&mut self, plane: PlaneId, point: usize, block: BlockId) {
        let points = self.points();
        self.open[plane.ix() * points + point - STREAMS] = block;
    }

    fn count(&mut self, owner: u8) -> &mut HandleCounts {
        let at = usize::from(owner).min(self.persistent.len());
        &mut self.counts[at]
    }

    /// The handle that pages of a block stay with, or [`MIXED`].
    fn kept_by(&self, block: BlockId) -> u8 {
        let owner = self.owner[block.ix()];
        if self.persistent.get(usize::from(owner)) == Some(&true) { owner } else { MIXED }
    }

    /// Carries what filling leaves.
    pub(super) fn carry(&mut self, carrier: &mut Carrier<'_>) -> io::Result<()> {
        let Handles { persistent: _, open, owner, collected, counts: _, before: _ } = self;
        carrier.table(open)?;
        carrier.table(owner)?;
        carrier.table(collected)
    }
}

impl Flash {
    /// Write points of a plane beside those of all devices.
    pub(super) fn points_beside(&self) -> usize {
        self.handles.as_ref().map_or(0, |handles| handles.points())
    }

    /// The host's data have so many handles from now on, which GC keeps apart or not. Nothing is written yet.
    pub(crate) fn start_handles(&mut self, persistent: Vec<bool>) {
        let (planes, count) = (self.planes.len(), persistent.len());
        self.handles = Some(Box::new(Handles {
            open: vec![BlockId::NONE; planes * (2 * count - 1)],
            owner: vec![MIXED; self.use_of.len()],
            collected: vec![MIXED; planes],
            counts: vec![HandleCounts::default(); count + 1],
            before: vec![HandleCounts::default(); count + 1],
            persistent,
        }));
        self.plain = false;
    }

    /// The write point of a stream in a plane.
    #[inline(always)]
    pub(super) fn point(&self, plane: PlaneId, stream: Stream) -> usize {
        if stream == Stream::Gc && !self.plain { self.gc_point(plane) } else { stream.number() }
    }

    /// The open block of a write point.
    #[inline(always)]
    pub(super) fn open(&self, plane: PlaneId, point: usize) -> BlockId {
        if point < STREAMS { self.planes[plane.ix()].open[point] } else { self.open_beside(plane, point) }
    }

    #[inline(always)]
    pub(super) fn set_open(&mut self, plane: PlaneId, point: usize, block: BlockId) {
        if point < STREAMS {
            self.planes[plane.ix()].open[point] = block;
        } else {
            self.handles.as_mut().expect("a device with handles").set_open(plane, point, block);
        }
    }

    /// The write point of collections of a plane, where it is not the same for all.
    #[inline(never)]
    pub(super) fn gc_point(&self, plane: PlaneId) -> usize {
        let common = if self.shared { Stream::Host.number() } else { Stream::Gc.number() };
        let Some(handles) = &self.handles else { return common };
        match handles.collected[plane.ix()] {
            MIXED => common,
            handle if self.shared => Stream::of_handle(handle).number(),
            handle => STREAMS + handles.persistent.len() - 1 + usize::from(handle),
        }
    }

    /// The open block of a write point that only devices with handles have.
    #[inline(never)]
    pub(super) fn open_beside(&self, plane: PlaneId, point: usize) -> BlockId {
        let handles = self.handles.as_ref().expect("a device with handles");
        handles.open[plane.ix() * handles.points() + point - STREAMS]
    }

    /// Whether a block is open at such a write point of its plane.
    pub(super) fn is_open_beside(&self, plane: usize, block: BlockId) -> bool {
        let open = |handles: &Handles| {
            let points = handles.points();
            handles.open[plane * points..][..points].contains(&block)
        };
        self.handles.as_deref().is_some_and(open)
    }

    /// A block is erased: it belongs to no handle.
    #[inline(never)]
    pub(super) fn disown(&mut self, block: BlockId) {
        if let Some(handles) = &mut self.handles {
            handles.owner[block.ix()] = MIXED;
        }
    }

    /// A plane is new: no block is open, and none belongs to a handle.
    pub(super) fn disown_plane(&mut self, plane: usize) {
        let blocks = plane * self.blocks_per_plane as usize..(plane + 1) * self.blocks_per_plane as usize;
        if let Some(handles) = &mut self.handles {
            let points = handles.points();
            handles.open[plane * points..][..points].fill(BlockId::NONE);
            handles.owner[blocks].fill(MIXED);
        }
    }

    /// A write point opens a block.
    #[inline(never)]
    pub(super) fn own(&mut self, block: BlockId, stream: Stream) {
        let plane = block.ix() / self.blocks_per_plane as usize;
        if let Some(handles) = &mut self.handles {
            handles.owner[block.ix()] = match stream {
                Stream::Host | Stream::Slc => 0,
                Stream::Handle(handle) => handle,
                Stream::Gc | Stream::Aligned | Stream::Copyback => handles.collected[plane],
            };
        }
    }

    /// The host's write point of the handle that pages of a block must stay with, if there is one.
    pub(crate) fn kept_stream(&self, block: BlockId) -> Option<Stream> {
        let handle = self.handles.as_ref()?.kept_by(block);
        (handle != MIXED).then(|| Stream::of_handle(handle))
    }

    /// A block becomes a victim: its pages go to the write point of its handle.
    #[inline(never)]
    pub(super) fn collects(&mut self, block: BlockId) {
        let plane = block.ix() / self.blocks_per_plane as usize;
        if let Some(handles) = &mut self.handles {
            handles.collected[plane] = handles.kept_by(block);
        }
    }

    /// What `of` finds in a block's plane if the GC point is that of the block's handle.
    pub(super) fn as_victim<T>(&mut self, block: BlockId, of: impl FnOnce(&mut Self, PlaneId) -> T) -> T {
        let plane = PlaneId(block.0 / self.blocks_per_plane);
        let kept_by = self.handles.as_ref().map_or(MIXED, |handles| handles.kept_by(block));
        self.as_collected(plane, kept_by, |flash| of(flash, plane))
    }

    /// What `of` finds if the GC point of a plane is that of a handle, or the common one.
    fn as_collected<T>(&mut self, plane: PlaneId, kept_by: u8, of: impl FnOnce(&mut Self) -> T) -> T {
        let collected = |flash: &mut Self, by: u8| {
            let handles = flash.handles.as_mut();
            handles.map_or(MIXED, |handles| std::mem::replace(&mut handles.collected[plane.ix()], by))
        };
        let before = collected(self, kept_by);
        let found = of(self);
        collected(self, before);
        found
    }

    /// A number for the handle whose pages the collection of a plane keeps apart: 0 for none, else one more than its own.
    pub(crate) fn kept_kind(&self, plane: PlaneId) -> usize {
        let kept_by = self.handles.as_ref().map_or(MIXED, |handles| handles.collected[plane.ix()]);
        if kept_by == MIXED { 0 } else { usize::from(kept_by) + 1 }
    }

    /// Pads the open programs of all write points of a plane, as [`Flash::pad_program`] does those of one.
    pub(crate) fn pad_programs(&mut self, plane: PlaneId) -> Vec<(Ppn, u32)> {
        let mut padded = vec![self.pad_program(plane, Stream::Host)];
        let handles = self.handles.as_ref().map_or(0, |handles| handles.persistent.len() as u8);
        for handle in 0..handles {
            padded.push(self.pad_program(plane, Stream::of_handle(handle)));
            padded.push(self.as_collected(plane, handle, |flash| flash.pad_program(plane, Stream::Gc)));
        }
        padded.push(self.as_collected(plane, MIXED, |flash| flash.pad_program(plane, Stream::Gc)));
        padded
    }

    /// GC has moved pages out of a block.
    #[inline(never)]
    pub(crate) fn count_moved(&mut self, block: BlockId, pages: u64) {
        if let Some(handles) = &mut self.handles {
            let owner = handles.owner[block.ix()];
            handles.count(owner).moved += pages;
        }
    }

    /// A block's erase begins.
    #[inline(never)]
    pub(crate) fn count_erased(&mut self, block: BlockId) {
        if let Some(handles) = &mut self.handles {
            let owner = handles.owner[block.ix()];
            handles.count(owner).erased += 1;
        }
    }

    /// The measured part begins.
    pub(crate) fn restart_handles(&mut self) {
        if let Some(handles) = &mut self.handles {
            handles.before.clone_from(&handles.counts);
        }
    }

    /// Counters of the measured part by handle, then of blocks with pages of several; empty without handles.
    pub(crate) fn handle_counts(&self) -> Vec<HandleCounts> {
        let Some(handles) = &self.handles else { return Vec::new() };
        let since = |(all, before): (&HandleCounts, &HandleCounts)| HandleCounts {
            moved: all.moved - before.moved,
            erased: all.erased - before.erased,
        };
        handles.counts.iter().zip(&handles.before).map(since).collect()
    }

    /// The same since the device was made.
    pub(crate) fn all_handle_counts(&self) -> &[HandleCounts] {
        self.handles.as_ref().map_or(&[], |handles| &handles.counts)
    }

    /// Whether the host and GC share write points.
    pub(crate) fn shares_points(&self) -> bool {
        self.shared
    }

    /// By handle: whether GC keeps its pages apart; empty without handles.
    pub(crate) fn keeps_apart(&self) -> &[bool] {
        self.handles.as_ref().map_or(&[], |handles| &handles.persistent)
    }

    /// By block: the handle that it belongs to; none if it is erased or has pages of several. Empty without handles.
    pub fn handles_by_block(&self) -> impl Iterator<Item = Option<u8>> + '_ {
        let owners = self.handles.as_ref().map_or(&[][..], |handles| &handles.owner);
        owners.iter().map(|owner| (*owner != MIXED).then_some(*owner))
    }

    /// Pages that a handle's open blocks still take, a whole block where none is open.
    pub(crate) fn pages_left(&self, handle: u8) -> u64 {
        let left = |plane| match self.room(plane, Stream::of_handle(handle)) {
            0 => u64::from(self.data_pages),
            some => u64::from(some),
        };
        (0..self.planes()).map(|plane| left(PlaneId(plane))).sum()
    }

    /// In a block that the running collection fills, too, host programs leave what it still needs.
    #[inline(never)]
    pub(super) fn leaves_debt(&self, plane: PlaneId, point: usize) -> bool {
        let state = &self.planes[plane.ix()];
        if self.handles.is_none() {
            return state.free_pages >= self.kept_from_host(state) + self.step;
        }
        if !state.collecting || point != self.gc_point(plane) {
            return true;
        }
        let open = self.open(plane, point);
        let room = if open.is_none() { 0 } else { self.data_pages - u32::from(self.use_of[open.ix()].written) };
        room + state.free_blocks * self.data_pages >= self.kept_from_host(state) + self.step
    }
}
