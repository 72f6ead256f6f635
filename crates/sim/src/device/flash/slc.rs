//! Blocks that are programmed with one bit a cell: which of a plane's they are, and where data of the host goes beside them.
//!
//! Such a block is no victim of GC. It counts as neither closed nor free there; what it counts as is kept here. Its pages are the
//! first ones of its block, and valid, stale or in flight like all others.

use super::{Change, Flash, NOT_CLOSED, Stream};
use crate::device::spec::SlcSpec;
use crate::units::{BlockId, PlaneId, Ppn};

/// The blocks of a plane.
#[derive(Clone, Debug)]
struct SlcPlane {
    /// The block whose pages are next.
    open: BlockId,
    /// Full blocks, in the order in which they became full.
    full: Vec<BlockId>,
    /// The block that is being folded.
    folding: BlockId,
    /// Blocks that belong to the cache now: open, full, or being folded.
    blocks: u32,
    /// Their programmed pages.
    used: u32,
    /// Index of the fixed block at which the circular search for an erased one continues.
    cursor: u32,
    /// Valid pages of all other blocks of the plane.
    live: u32,
    /// Whether a fold will open a block for its pages, and has not yet.
    owed: bool,
}

/// State of the cache of SLC.
#[derive(Clone, Debug)]
pub(crate) struct Slc {
    spec: SlcSpec,
    planes: Vec<SlcPlane>,
    /// By block: whether it belongs to the cache, from its opening to its erase, or for ever.
    modes: Vec<bool>,
    /// By block: erases as a block of the cache.
    erases: Vec<u32>,
    /// Programmed pages of the device, and the most of them since the last restart.
    used: u64,
    most_used: u64,
}

/// Where a page of the host goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// To the cache, at an offset.
    Slc(u32),
    /// To another block, at an offset.
    Native(u32),
    /// It waits for a fold.
    Folds,
    /// It waits for a collection.
    Nowhere,
}

impl Flash {
    /// The device has a cache of SLC from now on. Nothing is written yet.
    pub(crate) fn start_slc(&mut self, spec: SlcSpec) {
        let plane = SlcPlane {
            open: BlockId::NONE,
            full: Vec::with_capacity(spec.most as usize),
            folding: BlockId::NONE,
            blocks: 0,
            used: 0,
            cursor: 0,
            live: 0,
            owed: false,
        };
        let mut modes = vec![false; self.use_of.len()];
        // An outline of a device has fewer blocks than the cache.
        let fixed = spec.fixed.min(self.blocks_per_plane);
        for plane in 0..self.planes.len() {
            for index in 0..fixed as usize {
                modes[plane * self.blocks_per_plane as usize + index] = true;
                self.free.remove(plane, index);
            }
            let pages = fixed * self.pages_per_block;
            self.planes[plane].free_pages -= pages;
            self.planes[plane].free_blocks -= fixed;
            self.free_total -= u64::from(pages);
            self.withheld += u64::from(pages);
        }
        self.slc = Some(Box::new(Slc {
            planes: vec![plane; self.planes.len()],
            modes,
            erases: vec![0; self.use_of.len()],
            used: 0,
            most_used: 0,
            spec,
        }));
        self.plain = false;
        self.beside = true;
        // Every change of a page is noted: see `note_beside`.
        self.records = true;
    }

    /// The cache follows other rules from now on, with as many blocks.
    pub(crate) fn follow_slc(&mut self, spec: SlcSpec) {
        if let Some(slc) = &mut self.slc {
            law_eq!(
                (spec.fixed, spec.most, spec.pages),
                (slc.spec.fixed, slc.spec.most, slc.spec.pages),
                "law: blocks stay"
            );
            slc.spec = spec;
        }
    }

    /// Whether a block belongs to the cache of SLC.
    pub fn is_slc(&self, block: BlockId) -> bool {
        self.slc.as_ref().is_some_and(|slc| slc.modes[block.ix()])
    }

    /// Whether a page is in such a block.
    pub(crate) fn has_in_slc(&self, page: Ppn) -> bool {
        self.is_slc(BlockId(page.0 / self.pages_per_block))
    }

    /// By block: whether it belongs to the cache of SLC. Empty without one.
    pub fn slc_by_block(&self) -> &[bool] {
        self.slc.as_ref().map_or(&[], |slc| &slc.modes)
    }

    /// Whether a block of the cache of SLC is full and landed, and not being folded.
    pub fn is_full_slc(&self, block: BlockId) -> bool {
        let plane = (block.0 / self.blocks_per_plane) as usize;
        self.slc.as_ref().is_some_and(|slc| slc.planes[plane].full.contains(&block))
    }

    /// By block: erases as a block of the cache of SLC. Empty without one.
    pub fn slc_erases_by_block(&self) -> &[u32] {
        self.slc.as_ref().map_or(&[], |slc| &slc.erases)
    }

    /// Blocks of each plane that never leave the cache of SLC.
    pub(crate) fn fixed_slc_blocks(&self) -> u32 {
        self.slc.as_ref().map_or(0, |slc| slc.spec.fixed)
    }

    /// Programmed pages of the cache of SLC in a plane, stale ones included.
    pub(crate) fn slc_used(&self, plane: PlaneId) -> u32 {
        self.cache_of(plane).used
    }

    /// The same of the device.
    pub(crate) fn slc_used_of_all(&self) -> u64 {
        self.slc.as_ref().map_or(0, |slc| slc.used)
    }

    /// The most of them since the last restart.
    pub(crate) fn most_slc_used(&self) -> u64 {
        self.slc.as_ref().map_or(0, |slc| slc.most_used)
    }

    /// The measured part begins.
    pub(crate) fn restart_slc(&mut self) {
        if let Some(slc) = &mut self.slc {
            slc.most_used = slc.used;
        }
    }

    /// Erases of blocks that belong or belonged to the cache: fewest, most, total.
    pub(crate) fn slc_wear(&self) -> Option<(u32, u32, u64)> {
        let slc = self.slc.as_ref()?;
        let fixed = if slc.spec.fixed > 0 { slc.spec.fixed } else { self.blocks_per_plane } as usize;
        let planes = slc.erases.chunks(self.blocks_per_plane as usize);
        let own = planes.flat_map(|plane| &plane[..fixed]).copied();
        let (fewest, most) = own.clone().fold((u32::MAX, 0), |(min, max), n| (n.min(min), n.max(max)));
        Some((fewest, most, own.map(u64::from).sum()))
    }

    fn cache(&self) -> &Slc {
        self.slc.as_ref().expect("a device with a cache of SLC")
    }

    fn cache_of(&self, plane: PlaneId) -> &SlcPlane {
        &self.cache().planes[plane.ix()]
    }

    fn cache_of_mut(&mut self, plane: PlaneId) -> &mut SlcPlane {
        &mut self.slc.as_mut().expect("a device with a cache of SLC").planes[plane.ix()]
    }

    fn plane_of(&self, block: BlockId) -> PlaneId {
        PlaneId(block.0 / self.blocks_per_plane)
    }

    /// Whether valid pages of the plane, and a block of the cache more, fit into its other blocks if the cache has so many.
    fn fits_beside(&self, plane: PlaneId, blocks: u32) -> bool {
        let (slc, live) = (self.cache(), self.cache_of(plane).live);
        let others = self.blocks_per_plane.saturating_sub(blocks + self.reserve + 1 + self.spares_at_start());
        live + slc.spec.pages + self.kept_for_moves() < others * self.useful_of_block()
    }

    /// Slots for which moved units wait in the controller, where programs have several.
    fn kept_for_moves(&self) -> u32 {
        if self.pads { 0 } else { self.step - 1 }
    }

    /// Most valid pages of a block whose collection frees a page: with padding, a program.
    fn useful_of_block(&self) -> u32 {
        self.pages_per_block - if self.pads { self.slots.per_program - 1 } else { 0 }
    }

    /// Whether the cache may open one more block of a plane.
    fn may_open_slc(&self, plane: PlaneId) -> bool {
        let (spec, now) = (&self.cache().spec, self.cache_of(plane).blocks);
        if spec.fixed > 0 || now >= spec.most {
            return now < spec.most;
        }
        self.may_open(plane, false)
            && self.planes[plane.ix()].free_pages >= spec.floor + self.pages_per_block
            && self.fits_beside(plane, now + 1)
    }

    /// Programs of several units that the cache has room for in a plane now: in its open block, and in those that it may open.
    fn programs_in_slc(&self, plane: PlaneId) -> u32 {
        let (spec, cache, state) = (&self.cache().spec, self.cache_of(plane), &self.planes[plane.ix()]);
        let open = cache.open;
        let rest = if open.is_some() { spec.pages - u32::from(self.use_of[open.ix()].written) } else { 0 };
        let mut blocks = spec.most - cache.blocks.min(spec.most);
        if spec.fixed == 0 {
            let kept = self.reserve + state.promised.div_ceil(self.data_pages);
            let filled = (cache.live + spec.pages + self.kept_for_moves()) / self.useful_of_block() + 1;
            let apart = cache.blocks + self.reserve + 1 + self.spares_at_start() + filled;
            let most = [
                state.free_blocks.saturating_sub(kept),
                state.free_pages.saturating_sub(spec.floor) / self.pages_per_block,
                self.blocks_per_plane.saturating_sub(apart),
            ];
            blocks = most.into_iter().fold(blocks, u32::min);
        }
        (rest + blocks * spec.pages) / self.slots.per_super_page
    }

    /// Whether a program of several units would find a page of the cache in a plane, or wait for one, after so many others.
    pub(crate) fn slc_takes_after(&self, plane: PlaneId, others: u32) -> bool {
        let waits = self.cache().spec.waits_for_folds && (others > 0 || self.cache_of(plane).blocks > 0);
        waits || self.programs_in_slc(plane) > others
    }

    /// Slots that the cache's open program of a plane still has, where units are written one by one; none if its next page is not in
    /// the cache.
    pub(super) fn rest_in_slc(&self, plane: PlaneId) -> Option<u32> {
        self.slc.as_ref()?;
        let per_program = self.slots.per_super_page;
        self.slc_offset(plane).map(|offset| offset.next_multiple_of(per_program) - offset)
    }

    /// The program of a slot takes the rest of its slots in the cache. Returns the first.
    pub(super) fn take_rest_in_slc(&mut self, plane: PlaneId, first: Ppn) -> Ppn {
        let per_program = self.slots.per_super_page;
        law_eq!(first.0 % per_program, 0, "law: programs of several units are taken whole");
        for slot in 1..per_program {
            let next = self.take_open_slc(plane);
            law_eq!(next, Some(Ppn(first.0 + slot)), "law: the slots of a program follow one another");
        }
        first
    }

    /// Offset of the cache's next page in a plane, if it has one.
    fn slc_offset(&self, plane: PlaneId) -> Option<u32> {
        let open = self.cache_of(plane).open;
        if open.is_some() {
            return Some(u32::from(self.use_of[open.ix()].written));
        }
        self.may_open_slc(plane).then_some(0)
    }

    fn way(&self, plane: PlaneId, stream: Stream) -> Way {
        let (spec, cache) = (&self.cache().spec, self.cache_of(plane));
        if stream == Stream::Slc {
            if let Some(offset) = self.slc_offset(plane) {
                return Way::Slc(offset);
            }
            if spec.waits_for_folds && (!cache.full.is_empty() || cache.folding.is_some()) {
                return Way::Folds;
            }
        }
        if spec.fixed == 0 && cache.blocks > 0 && !self.fits_beside(plane, cache.blocks) {
            return Way::Folds;
        }
        self.offset_at(plane, Stream::Host.number(), false).map_or(Way::Nowhere, Way::Native)
    }

    /// Whether data of the host waits for a fold in a plane.
    pub(crate) fn waits_for_fold(&self, plane: PlaneId, stream: Stream) -> bool {
        self.way(plane, stream) == Way::Folds
    }

    /// See [`Flash::next_offset`]. Offsets in the cache follow those of other blocks, so that modes never mix.
    #[inline(never)]
    pub(super) fn offset_beside(&self, plane: PlaneId, stream: Stream) -> Option<u32> {
        match self.way(plane, stream) {
            Way::Slc(offset) => Some(self.pages_per_block + offset),
            Way::Native(offset) => Some(offset),
            Way::Folds | Way::Nowhere => None,
        }
    }

    /// The offset of a page that was taken, of which this is that in its block, as [`Flash::next_offset`] gives it.
    #[inline(always)]
    pub(crate) fn offset_of(&self, page: Ppn, offset: u32) -> u32 {
        if self.slc.is_some() && self.has_in_slc(page) { self.pages_per_block + offset } else { offset }
    }

    /// See [`Flash::take_page`].
    #[inline(never)]
    pub(super) fn take_beside(&mut self, plane: PlaneId, stream: Stream) -> Option<Ppn> {
        match self.way(plane, stream) {
            Way::Slc(_) => Some(self.take_slc(plane)),
            Way::Native(_) => self.take(plane, Stream::Host, false),
            Way::Folds | Way::Nowhere => None,
        }
    }

    /// The next page of the cache's open block in a plane, if it has one.
    pub(crate) fn take_open_slc(&mut self, plane: PlaneId) -> Option<Ppn> {
        self.cache_of(plane).open.is_some().then(|| self.take_slc(plane))
    }

    /// Takes the cache's next page in a plane, which has one.
    fn take_slc(&mut self, plane: PlaneId) -> Ppn {
        let mut open = self.cache_of(plane).open;
        if open.is_none() {
            open = self.open_slc(plane);
        }
        let used = &mut self.use_of[open.ix()];
        let page = Ppn(open.0 * self.pages_per_block + u32::from(used.written));
        used.written += 1;
        used.unlanded += 1;
        let written = u32::from(used.written);
        let slc = self.slc.as_mut().expect("a device with a cache of SLC");
        let cache = &mut slc.planes[plane.ix()];
        cache.open = if written == slc.spec.pages { BlockId::NONE } else { open };
        cache.used += 1;
        slc.used += 1;
        slc.most_used = slc.most_used.max(slc.used);
        page
    }

    /// The cache opens an erased block: one of its own in turn, or one of the plane's.
    fn open_slc(&mut self, plane: PlaneId) -> BlockId {
        let base = plane.0 * self.blocks_per_plane;
        let fixed = self.cache().spec.fixed;
        let block = if fixed > 0 {
            let cursor = self.cache_of(plane).cursor;
            let indices = (0..fixed).map(|step| (cursor + step) % fixed);
            let erased = |index: &u32| self.use_of[(base + index) as usize].written == 0;
            let index = indices.into_iter().find(erased).expect("an erased block, as counted");
            self.cache_of_mut(plane).cursor = (index + 1) % fixed;
            BlockId(base + index)
        } else {
            let block = self.open_block(plane, Stream::Host);
            self.planes[plane.ix()].free_pages -= self.pages_per_block;
            self.free_total -= u64::from(self.pages_per_block);
            self.withheld += u64::from(self.pages_per_block);
            block
        };
        let slc = self.slc.as_mut().expect("a device with a cache of SLC");
        slc.modes[block.ix()] = true;
        slc.planes[plane.ix()].blocks += 1;
        block
    }

    /// A page of a device with a cache has changed.
    pub(super) fn note_beside(&mut self, page: Ppn, change: Change) {
        let block = BlockId(page.0 / self.pages_per_block);
        if block.ix() >= self.use_of.len() {
            // A moved unit leaves the controller.
            return;
        }
        let plane = self.plane_of(block);
        if self.is_slc(block) {
            return self.fill_slc(plane, block);
        }
        match change {
            Change::Written(_, lpn) => self.cache_of_mut(plane).live += u32::from(lpn.is_some()),
            Change::Invalid(_) => self.cache_of_mut(plane).live -= 1,
        }
    }

    /// Pages of a victim of GC have been programmed elsewhere, together.
    #[inline(never)]
    pub(super) fn leave_beside(&mut self, victim: BlockId, count: u32) {
        let plane = self.plane_of(victim);
        self.cache_of_mut(plane).live -= count;
    }

    /// A block of the cache whose pages are all taken and landed is full.
    fn fill_slc(&mut self, plane: PlaneId, block: BlockId) {
        let unlanded = self.use_of[block.ix()].unlanded;
        let cache = self.cache_of_mut(plane);
        if unlanded == 0 && cache.open != block && cache.folding != block && !cache.full.contains(&block) {
            cache.full.push(block);
        }
    }

    /// The cache's open block in a plane takes no more pages, if it has taken any. Returns whether there was one.
    pub(crate) fn close_slc(&mut self, plane: PlaneId) -> bool {
        let open = std::mem::replace(&mut self.cache_of_mut(plane).open, BlockId::NONE);
        if open.is_some() {
            self.fill_slc(plane, open);
        }
        open.is_some()
    }

    /// Whether the cache has an open block in a plane all of whose programs have landed.
    pub(crate) fn has_landed_slc(&self, plane: PlaneId) -> bool {
        let open = self.cache_of(plane).open;
        open.is_some() && self.use_of[open.ix()].unlanded == 0
    }

    /// Full blocks of the cache in a plane, in the order in which they became full.
    pub(crate) fn full_slc(&self, plane: PlaneId) -> &[BlockId] {
        &self.cache_of(plane).full
    }

    /// The block of the cache that is folded next in a plane, if there is one.
    pub(crate) fn slc_victim(&self, plane: PlaneId) -> Option<BlockId> {
        let full = self.full_slc(plane);
        if self.cache().spec.in_order {
            return full.first().copied();
        }
        full.iter().copied().min_by_key(|block| (self.valid(*block), block.0))
    }

    /// The block of the cache whose fold gives a plane a block for other data, if there is one: what is open is full from now on.
    pub(crate) fn slc_to_fold(&mut self, plane: PlaneId) -> Option<BlockId> {
        if self.slc.as_ref()?.spec.fixed > 0 {
            return None;
        }
        if self.full_slc(plane).is_empty() {
            self.close_slc(plane);
        }
        self.slc_victim(plane)
    }

    /// Whether the valid pages of a block of the cache have room beside it without GC's reserve.
    pub(crate) fn has_room_to_fold(&self, plane: PlaneId, block: BlockId) -> bool {
        let erased = self.planes[plane.ix()].free_blocks.saturating_sub(self.reserve);
        self.needs_to_fold(block) <= self.room(plane, Stream::Gc) + erased * self.data_pages
    }

    /// Pages that the fold of a block may need: whole programs, where units are gathered for them.
    fn needs_to_fold(&self, block: BlockId) -> u32 {
        u32::from(self.valid(block)).next_multiple_of(self.step)
    }

    /// A full block of the cache is folded from now on. GC keeps its reserve: what the host may not take meanwhile is what the fold
    /// needs.
    pub(crate) fn begin_fold(&mut self, block: BlockId) {
        let plane = self.plane_of(block);
        let needed = self.needs_to_fold(block);
        let owed = needed > self.room(plane, Stream::Gc);
        let cache = self.cache_of_mut(plane);
        let at = cache.full.iter().position(|full| *full == block).expect("law: a full block is folded");
        cache.full.remove(at);
        cache.folding = block;
        cache.owed = owed;
        self.planes[plane.ix()].debt = needed;
        if owed {
            self.promise(plane);
        }
    }

    /// Pages of GC's open block that the running fold of a plane still needs. One that owes a block needs none of what is open.
    pub(super) fn needed_by_fold(&self, plane: PlaneId) -> u32 {
        let cache = self.slc.as_ref().map(|slc| &slc.planes[plane.ix()]);
        let folds = cache.is_some_and(|cache| cache.folding.is_some() && !cache.owed);
        if folds { self.planes[plane.ix()].debt } else { 0 }
    }

    /// GC's write point of a plane has opened a block.
    pub(super) fn opens_beside_cache(&mut self, plane: PlaneId) {
        // A program that failed has closed the block on which a fold counted, and a spare block has joined the plane for it.
        let counted = self.shared || self.fails || self.needed_by_fold(plane) == 0;
        law!(counted, "law: a fold has the room on which it counted");
        self.open_for_fold(plane);
    }

    /// GC's write point of a plane has opened a block: for the fold, if it owes one.
    pub(super) fn open_for_fold(&mut self, plane: PlaneId) {
        if std::mem::replace(&mut self.cache_of_mut(plane).owed, false) {
            self.keep_promise(plane);
        }
    }

    /// A block of the cache is erased.
    #[inline(never)]
    pub(super) fn erase_slc(&mut self, block: BlockId) {
        let (b, plane) = (block.ix(), self.plane_of(block));
        law_eq!(self.valid[b], NOT_CLOSED, "law: a folded block without valid pages is erased");
        law_eq!(self.use_of[b].unlanded, 0, "law: no program in flight in an erased block");
        self.open_for_fold(plane);
        let written = u32::from(std::mem::take(&mut self.use_of[b].written));
        let slc = self.slc.as_mut().expect("a device with a cache of SLC");
        let cache = &mut slc.planes[plane.ix()];
        law_eq!(cache.folding, block, "law: a block of the cache is folded before it is erased");
        cache.folding = BlockId::NONE;
        cache.blocks -= 1;
        cache.used -= written;
        slc.used -= u64::from(written);
        slc.erases[b] += 1;
        let state = &mut self.planes[plane.ix()];
        state.debt = 0;
        if slc.spec.fixed > 0 {
            return;
        }
        slc.modes[b] = false;
        let own = b % self.blocks_per_plane as usize;
        let index = if self.life.is_some() { self.outlives_erase(block) } else { own };
        let state = &mut self.planes[plane.ix()];
        self.free.insert(plane.ix(), index, self.erases[b - own + index]);
        state.free_blocks += 1;
        state.free_pages += self.pages_per_block;
        self.free_total += u64::from(self.pages_per_block);
        self.withheld -= u64::from(self.pages_per_block);
    }

    /// Power is cut: an interrupted fold begins again, and what was being programmed has landed.
    pub(super) fn cut_slc(&mut self) {
        let Some(slc) = &mut self.slc else { return };
        for (plane, cache) in slc.planes.iter_mut().enumerate() {
            cache.live = 0;
            cache.owed = false;
            let folding = std::mem::replace(&mut cache.folding, BlockId::NONE);
            if folding.is_some() {
                cache.full.insert(0, folding);
            }
            let first = plane as u32 * self.blocks_per_plane;
            for block in (first..first + self.blocks_per_plane).map(BlockId) {
                let lies = slc.modes[block.ix()] && self.use_of[block.ix()].written > 0;
                if lies && cache.open != block && !cache.full.contains(&block) {
                    cache.full.push(block);
                }
            }
        }
    }

    /// Power is cut during the erase of a block: if it is one of the cache, it counts as folded until it is erased.
    pub(super) fn cut_erase(&mut self, block: BlockId) {
        if self.is_slc(block) {
            let plane = self.plane_of(block);
            let cache = self.cache_of_mut(plane);
            cache.full.retain(|full| *full != block);
            cache.folding = block;
        }
    }

    /// Recounts the blocks of a plane's cache (scan of the full oracle).
    pub(super) fn recount_slc(&self, plane: PlaneId) {
        let Some(slc) = &self.slc else { return };
        let cache = &slc.planes[plane.ix()];
        let first = plane.0 * self.blocks_per_plane;
        let (mut blocks, mut used, mut live) = (0, 0, 0);
        for block in (first..first + self.blocks_per_plane).map(BlockId) {
            let (written, valid) = (u32::from(self.use_of[block.ix()].written), u32::from(self.valid(block)));
            if !slc.modes[block.ix()] {
                live += valid;
                continue;
            }
            law!(!self.is_closed(block), "law: a block of the cache is no victim of GC");
            law!(written <= slc.spec.pages && valid <= written, "law: a block of the cache has fewer pages");
            blocks += u32::from(written > 0);
            used += written;
        }
        law_eq!((blocks, used, live), (cache.blocks, cache.used, cache.live), "cache of SLC of plane {}", plane.0);
        law!(cache.blocks <= slc.spec.most, "law: the cache has at most its share of the blocks");
    }
}
