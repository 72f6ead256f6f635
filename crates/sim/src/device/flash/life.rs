//! Blocks that wear out: when each fails, and which spare block takes its place.
//!
//! A failed block, and a spare one that waits, is neither free nor closed, and holds no page that counts as free. What is failing or
//! failed is decided by wear alone, in integers. Filling a device retires nothing.

use super::stream::STREAMS;
use super::{Flash, NOT_CLOSED, Stream, Use};
use crate::device::page_types::{BlockFactors, ONE};
use crate::device::spec::{LifeSpec, VariationSpec};
use crate::random;
use crate::units::{BlockId, Lpn, PlaneId, Ppm, Ppn};

/// Keeps these draws apart from others of the same seed.
const LIMITS: u64 = 0x6c69_6d69_7473;
const PROGRAMS: u64 = 0x7072_6f67_7261_6d73;

/// No page of a block fails.
const NO_PAGE: u16 = u16::MAX;

/// What a block is to its plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockState {
    /// It is in use.
    Used,
    /// It waits to replace another one.
    Spare,
    /// It has failed, or is bad from the factory.
    Bad,
}

/// How a block failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailedBy {
    /// Its last erase.
    Erase,
    /// A program.
    Program,
}

/// A block that failed, which the engine has not noted yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Retired {
    pub(crate) plane: PlaneId,
    pub(crate) by: FailedBy,
}

/// State of a plane.
#[derive(Clone, Copy, Debug)]
struct LifePlane {
    /// Spare blocks left.
    spares: u32,
    /// The block whose program has failed, and whose valid pages are to be moved.
    salvage: BlockId,
    /// They are being moved.
    empties: bool,
    /// Programs do not fail until its erased blocks are at the reserve again.
    salvages: bool,
    /// The page whose program is in flight and fails.
    failing: Ppn,
}

/// Lifetime of all blocks.
#[derive(Clone, Debug)]
pub(crate) struct Life {
    spec: LifeSpec,
    /// By block: P/E cycles at which its erase fails.
    limits: Vec<u32>,
    /// By block: the page whose program fails in its last use; none if its erase fails. Empty where no program fails.
    pages: Vec<u16>,
    states: Vec<BlockState>,
    planes: Vec<LifePlane>,
    /// The device is being filled, or its writing has ended: nothing fails.
    holds: bool,
    /// The plane that ended the device's writing.
    ended: Option<PlaneId>,
    retired: Vec<Retired>,
    /// Programs of the host that have failed in no time, and are not counted yet.
    failed: u64,
}

/// P/E cycles of a block with this factor: rounded half up, at least 1.
fn limit(endurance: u32, factor: u32) -> u32 {
    let scaled = u64::from(endurance) * u64::from(factor) + u64::from(ONE / 2);
    ((scaled / u64::from(ONE)) as u32).max(1)
}

/// Whether the draw of a block for a purpose is below a share.
fn drawn(seed: u64, block: usize, share: Ppm) -> bool {
    random::mix(seed ^ random::mix(block as u64 ^ PROGRAMS)) % Ppm::ONE < u64::from(share.0)
}

impl Life {
    fn new(spec: LifeSpec, seed: u64, planes: usize, per_plane: usize) -> Self {
        let blocks = planes * per_plane;
        let variation = VariationSpec { block: spec.spread, layer: Ppm(0) };
        let factors = BlockFactors::draw(&variation, blocks, seed ^ LIMITS);
        let factor = |block| if factors.differ() { factors.of(block) } else { ONE };
        let mut limits: Vec<u32> = (0..blocks).map(|block| limit(spec.endurance, factor(block))).collect();
        let page = |block: usize| match drawn(seed, block, spec.program_failures) {
            true => (random::mix(seed ^ random::mix(!(block as u64) ^ PROGRAMS)) % u64::from(spec.data_pages)) as u16,
            false => NO_PAGE,
        };
        let mut pages: Vec<u16> = if spec.fails_programs { (0..blocks).map(page).collect() } else { Vec::new() };
        for fault in &spec.faults {
            let block = fault.plane as usize * per_plane + fault.block as usize;
            let last = spec.worn + fault.erases + u32::from(fault.page.is_some());
            if block < blocks && last <= limits[block] {
                limits[block] = last;
                if let Some(page) = pages.get_mut(block) {
                    *page = fault.page.map_or(NO_PAGE, |page| page as u16);
                }
            }
        }
        let plane = LifePlane {
            spares: spec.spares,
            salvage: BlockId::NONE,
            empties: false,
            salvages: false,
            failing: Ppn::NONE,
        };
        Life {
            limits,
            pages,
            states: vec![BlockState::Used; blocks],
            planes: vec![plane; planes],
            holds: true,
            ended: None,
            retired: Vec::new(),
            failed: 0,
            spec,
        }
    }
}

impl Flash {
    /// Blocks wear out from now on. Nothing is written yet.
    pub(crate) fn start_life(&mut self, spec: LifeSpec, seed: u64) {
        let per_plane = self.blocks_per_plane as usize;
        if spec.spares as usize >= per_plane {
            // Tables of one block a plane, of a device that serves no request.
            return;
        }
        let (bad, spares) = (spec.initial_bad as usize, spec.spares as usize);
        let mut life = Life::new(spec, seed, self.planes.len(), per_plane);
        for plane in 0..self.planes.len() {
            let first = plane * per_plane;
            // The first blocks in an order that is drawn, spare ones included; each bad one takes a spare place.
            let mut order: Vec<usize> = (0..per_plane - spares).collect();
            order.sort_by_key(|index| random::mix(seed ^ LIMITS ^ random::mix((first + index) as u64)));
            life.states[first + per_plane - spares..first + per_plane].fill(BlockState::Spare);
            for (n, index) in order.into_iter().take(bad).enumerate() {
                life.states[first + index] = BlockState::Bad;
                life.states[first + per_plane - spares + n] = BlockState::Used;
            }
            life.planes[plane].spares -= bad as u32;
            for index in 0..per_plane {
                if life.states[first + index] != BlockState::Used {
                    self.free.remove(plane, index);
                }
            }
            let pages = life.spec.spares * self.pages_per_block;
            self.planes[plane].free_pages -= pages;
            self.planes[plane].free_blocks -= life.spec.spares;
            self.free_total -= u64::from(pages);
            self.withheld += u64::from(pages);
        }
        self.fails = life.spec.fails_programs;
        if self.fails {
            self.plain = false;
            (self.slow, self.beside) = (true, true);
        }
        self.life = Some(Box::new(life));
    }

    /// The device is filled: blocks may fail.
    pub(crate) fn begin_life(&mut self) {
        if let Some(life) = &mut self.life {
            life.holds = false;
        }
    }

    fn life(&self) -> &Life {
        self.life.as_ref().expect("a device whose blocks wear out")
    }

    fn life_mut(&mut self) -> &mut Life {
        self.life.as_mut().expect("a device whose blocks wear out")
    }

    /// What a block is to its plane.
    pub fn state_of(&self, block: BlockId) -> BlockState {
        self.life.as_ref().map_or(BlockState::Used, |life| life.states[block.ix()])
    }

    /// Whether a block is in use.
    #[inline(always)]
    pub(crate) fn is_used(&self, block: BlockId) -> bool {
        self.life.is_none() || self.state_of(block) == BlockState::Used
    }

    /// By block: P/E cycles at which its erase fails. Empty where blocks do not wear out.
    pub fn limits_by_block(&self) -> &[u32] {
        self.life.as_ref().map_or(&[], |life| &life.limits)
    }

    /// Wear of a block, in millionths of a P/E cycle.
    fn wear_of(&self, block: usize) -> u64 {
        let life = self.life();
        let slc = self.slc_erases_by_block().get(block).map_or(0, |erases| u64::from(*erases) * life.spec.slc_wear);
        let fixed = self.fixed_slc_blocks();
        let in_cache = (block as u32 % self.blocks_per_plane) < fixed;
        let own = u64::from(self.erases[block]) + u64::from(life.spec.worn);
        own * Ppm::ONE + if in_cache { 0 } else { slc }
    }

    /// Wear of the blocks that take part in life, in millionths: the sum, the most, their number, and the sum of their limits in P/E
    /// cycles. Spare blocks that wait count.
    pub(crate) fn wear_and_limits(&self) -> (u128, u64, u64, u64) {
        let (fixed, per_plane) = (self.fixed_slc_blocks(), self.blocks_per_plane);
        let own = (0..self.use_of.len()).filter(|block| *block as u32 % per_plane >= fixed);
        own.fold((0, 0, 0, 0), |(sum, most, count, limits), block| {
            let wear = self.wear_of(block);
            let limit = u64::from(self.life().limits[block]);
            (sum + u128::from(wear), most.max(wear), count + 1, limits + limit)
        })
    }

    /// Spare blocks left by plane: the fewest, and the sum.
    pub(crate) fn spares_left(&self) -> (u32, u64) {
        let planes = &self.life().planes;
        let fewest = planes.iter().map(|plane| plane.spares).min().unwrap_or(0);
        (fewest, planes.iter().map(|plane| u64::from(plane.spares)).sum())
    }

    /// Spare blocks of each plane that hold nothing at the start.
    pub(crate) fn spares_at_start(&self) -> u32 {
        self.life.as_ref().map_or(0, |life| life.spec.spares)
    }

    /// The plane that ended the device's writing, if one has.
    #[inline(always)]
    pub(crate) fn ended_by(&self) -> Option<PlaneId> {
        self.life.as_ref().and_then(|life| life.ended)
    }

    /// Takes the blocks that have failed since the last call.
    pub(crate) fn take_retired(&mut self) -> Vec<Retired> {
        self.life.as_mut().map_or_else(Vec::new, |life| std::mem::take(&mut life.retired))
    }

    /// A block has been erased. Returns the index in its plane of the erased block: another one, if the erase has failed.
    #[inline(never)]
    pub(super) fn outlives_erase(&mut self, block: BlockId) -> usize {
        let (plane, index) = (block.ix() / self.blocks_per_plane as usize, block.ix() % self.blocks_per_plane as usize);
        let worn = self.wear_of(block.ix()) >= u64::from(self.life().limits[block.ix()]) * Ppm::ONE;
        let index = if worn && !self.life().holds { self.retire(block, FailedBy::Erase) } else { index };
        // This erase completes.
        self.rests(plane, 1);
        index
    }

    /// A block fails, and the first spare one of its plane becomes erased in its place: returns its index.
    fn retire(&mut self, block: BlockId, by: FailedBy) -> usize {
        let per_plane = self.blocks_per_plane as usize;
        let plane = block.ix() / per_plane;
        let life = self.life_mut();
        let first = plane * per_plane;
        let spare = (first..first + per_plane).find(|b| life.states[*b] == BlockState::Spare);
        let spare = spare.expect("law: writing ends before the spare blocks do");
        life.states[block.ix()] = BlockState::Bad;
        life.states[spare] = BlockState::Used;
        life.retired.push(Retired { plane: PlaneId(plane as u32), by });
        let state = &mut life.planes[plane];
        state.spares -= 1;
        if state.spares <= life.spec.least_spares && life.ended.is_none() {
            life.ended = Some(PlaneId(plane as u32));
            life.holds = true;
        }
        spare - first
    }

    /// Erased blocks of a plane have become more, or `more` will: programs may fail again once the reserve is complete.
    fn rests(&mut self, plane: usize, more: u32) {
        let complete = self.planes[plane].free_blocks + more >= self.reserve;
        let state = &mut self.life_mut().planes[plane];
        state.salvages &= !complete || state.salvage.is_some();
    }

    // Programs that fail.

    /// A page of an open block is about to be programmed: its program may fail. It is the block's last use then.
    #[inline(never)]
    pub(super) fn may_fail(&mut self, open: BlockId) {
        let plane = open.ix() / self.blocks_per_plane as usize;
        let Use { written, unlanded, .. } = self.use_of[open.ix()];
        let life = self.life();
        // Where pages are programmed in no time, one of the block may be in flight: then it fails at its erase.
        let fails = unlanded == 0 && life.pages[open.ix()] == written && !life.holds && !life.planes[plane].salvages;
        let last = u64::from(life.limits[open.ix()]) * Ppm::ONE;
        if fails && !self.is_slc(open) && self.wear_of(open.ix()) + Ppm::ONE >= last {
            law!(life.planes[plane].failing.is_none(), "law: one program of a plane is in flight");
            let page = Ppn(open.0 * self.pages_per_block + u32::from(written));
            let state = &mut self.life_mut().planes[plane];
            (state.failing, state.salvages) = (page, true);
        }
    }

    /// Whether the program of a page fails.
    pub(crate) fn fails(&self, page: Ppn) -> bool {
        let plane = page.0 / (self.blocks_per_plane * self.pages_per_block);
        // After the end nothing is retired any more.
        self.fails && self.life().ended.is_none() && self.life().planes[plane as usize].failing == page
    }

    /// Programs the next page of one of the host's write points in no time, where programs may fail or there is a cache of SLC. None if
    /// it may take no page, also after a program that has failed.
    #[inline(never)]
    pub(super) fn program_beside(&mut self, plane: PlaneId, stream: Stream, lpn: Lpn) -> Option<Ppn> {
        loop {
            let page = self.take_page(plane, stream, false)?;
            if !self.fails(page) {
                self.land(page, BlockId(page.0 / self.pages_per_block), lpn);
                return Some(page);
            }
            self.fail(page);
            self.life_mut().failed += 1;
        }
    }

    /// Takes the number of programs of the host that have failed in no time since the last call.
    pub(crate) fn take_failed(&mut self) -> u64 {
        self.life.as_mut().map_or(0, |life| std::mem::take(&mut life.failed))
    }

    /// Whether a block of a plane is being emptied, or waits for it.
    pub(crate) fn is_being_salvaged(&self, plane: PlaneId, block: BlockId) -> bool {
        self.life.as_ref().is_some_and(|life| {
            let state = life.planes[plane.ix()];
            state.salvage == block && state.empties
        })
    }

    /// A failing program has ended: its block takes no more pages, a spare block joins the plane, and what the block holds is to be
    /// moved.
    pub(crate) fn fail(&mut self, page: Ppn) {
        let block = BlockId(page.0 / self.pages_per_block);
        let (b, plane) = (block.ix(), (block.0 / self.blocks_per_plane) as usize);
        self.life_mut().planes[plane].failing = Ppn::NONE;
        let used = &mut self.use_of[b];
        law!(used.unlanded == 1 && self.lpn_of[page.ix()].is_none(), "law: the pages before a failing one have landed");
        used.unlanded = 0;
        let rest = self.pages_per_block - u32::from(used.written);
        self.close_point(PlaneId(plane as u32), block);
        let spare = self.retire(block, FailedBy::Program);
        self.free.insert(plane, spare, self.erases[plane * self.blocks_per_plane as usize + spare]);
        let state = &mut self.planes[plane];
        state.free_blocks += 1;
        state.free_pages = state.free_pages + self.pages_per_block - rest;
        let more = u64::from(self.pages_per_block - rest);
        self.free_total += more;
        self.withheld -= more;
        self.valid[b] |= NOT_CLOSED;
        self.life_mut().planes[plane].salvage = if self.valid(block) > 0 { block } else { BlockId::NONE };
        self.rests(plane, 0);
        self.tightens(PlaneId(plane as u32));
    }

    /// No write point fills a block any more.
    fn close_point(&mut self, plane: PlaneId, block: BlockId) {
        let points = STREAMS + self.points_beside();
        for point in 0..points {
            if self.open(plane, point) == block {
                self.set_open(plane, point, BlockId::NONE);
            }
        }
    }

    /// The block of a plane whose valid pages are to be moved because a program has failed, if there is one. One that is empty by now
    /// is not.
    pub(crate) fn next_salvage(&mut self, plane: PlaneId) -> Option<BlockId> {
        let LifePlane { salvage: block, empties, .. } = self.life.as_ref()?.planes[plane.ix()];
        if block.is_none() || empties {
            return None;
        }
        if self.valid(block) == 0 {
            self.is_salvaged(block);
            return None;
        }
        Some(block)
    }

    /// The valid pages of such a block are moved from now on.
    pub(crate) fn begin_salvage(&mut self, block: BlockId) {
        let plane = block.ix() / self.blocks_per_plane as usize;
        self.planes[plane].debt = u32::from(self.valid(block));
        self.life_mut().planes[plane].empties = true;
        if self.handles.is_some() {
            self.collects(block);
        }
    }

    /// Such a block is empty. It is not erased.
    pub(crate) fn is_salvaged(&mut self, block: BlockId) {
        let plane = block.ix() / self.blocks_per_plane as usize;
        law_eq!(self.valid(block), 0, "law: all valid pages of a failed block are moved");
        self.planes[plane].debt = 0;
        let state = &mut self.life_mut().planes[plane];
        (state.salvage, state.empties) = (BlockId::NONE, false);
        self.rests(plane, 0);
        if self.handles.is_some() {
            self.disown(block);
        }
    }

    /// Checks a block that is not in use (scan of the full oracle).
    pub(super) fn recount_apart(&self, block: BlockId, free: bool, open: bool) {
        let (state, used) = (self.state_of(block), self.use_of[block.ix()]);
        law!(!free && !open, "block {} is {state:?}, and neither free nor open", block.0);
        law!(self.valid[block.ix()] & NOT_CLOSED != 0, "block {} is {state:?}, and no victim", block.0);
        let salvaged = self.life().planes[block.ix() / self.blocks_per_plane as usize].salvage == block;
        law!(used.written == 0 || state == BlockState::Bad, "spare block {} holds nothing", block.0);
        law!(self.valid(block) == 0 || salvaged, "failed block {} is emptied", block.0);
    }
}
