//! Planes, blocks, write points, and serial GC with greedy victims.

use super::{Collection, Job, Leg, Model, Op, Verb};

/// Whole erased blocks that host writes may never take.
const RESERVE: usize = 1;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ppn {
    pub(super) plane: usize,
    pub(super) block: usize,
    pub(super) page: usize,
}

#[derive(Clone, Debug)]
pub(super) struct Page {
    pub(super) lpn: u64,
    /// The write that each sector came from.
    pub(super) sectors: Vec<u32>,
    pub(super) valid: bool,
    pub(super) landed: bool,
}

#[derive(Clone, Debug, Default)]
struct Block {
    pages: Vec<Page>,
    erases: u32,
}

#[derive(Clone, Debug)]
pub(super) struct Plane {
    blocks: Vec<Block>,
    /// The open blocks of the host and of GC.
    points: [Option<usize>; 2],
    /// The last opened block.
    opened: usize,
    /// Sequence number of the trigger test since which the plane is due.
    pub(super) due: Option<u64>,
    /// Programs that wait for a free page.
    pub(super) stalled: Vec<Op>,
}

impl Plane {
    pub(super) fn new(blocks: usize) -> Self {
        Plane {
            blocks: vec![Block::default(); blocks],
            points: [None; 2],
            opened: blocks - 1,
            due: None,
            stalled: Vec::new(),
        }
    }

    fn erased(&self) -> usize {
        self.blocks.iter().filter(|block| block.pages.is_empty()).count()
    }

    fn free_pages(&self, per_block: usize) -> usize {
        self.blocks.iter().map(|block| per_block - block.pages.len()).sum()
    }

    /// Block of the next page; none if there is no page.
    fn next_block(&self, collection: bool) -> Option<usize> {
        let open = self.points[usize::from(collection)];
        let count = self.blocks.len();
        let erased = (1..=count).map(|i| (self.opened + i) % count).find(|block| self.blocks[*block].pages.is_empty());
        open.or(erased.filter(|_| collection || self.erased() > RESERVE))
    }

    /// Offset in its block of the host's next program.
    pub(super) fn next_offset(&self) -> Option<usize> {
        self.next_block(false).map(|block| self.blocks[block].pages.len())
    }

    fn page(&mut self, ppn: Ppn) -> &mut Page {
        &mut self.blocks[ppn.block].pages[ppn.page]
    }

    /// A program ends; its data is not valid yet.
    pub(super) fn land(&mut self, ppn: Ppn, lpn: u64, sectors: Vec<u32>) {
        *self.page(ppn) = Page { lpn, sectors, valid: false, landed: true };
    }

    pub(super) fn keep(&mut self, ppn: Ppn) {
        self.page(ppn).valid = true;
    }

    pub(super) fn discard(&mut self, ppn: Ppn) {
        assert!(self.page(ppn).valid);
        self.page(ppn).valid = false;
    }

    /// The full block with the fewest valid pages and at least one invalid page; ties go to the lowest index.
    pub(super) fn victim(&self, per_block: usize) -> Option<usize> {
        let valid = |block: &Block| block.pages.iter().filter(|page| page.valid).count();
        let closed = |block: &Block| block.pages.len() == per_block && block.pages.iter().all(|page| page.landed);
        let candidates = self.blocks.iter().enumerate().filter(|(_, block)| closed(block) && valid(block) < per_block);
        candidates.min_by_key(|(index, block)| (valid(block), *index)).map(|(index, _)| index)
    }

    /// By block: erases, programmed pages, valid pages.
    pub(super) fn state(&self) -> impl Iterator<Item = (u32, u32, u16)> + '_ {
        self.blocks.iter().map(|block| {
            let valid = block.pages.iter().filter(|page| page.valid).count();
            (block.erases, block.pages.len() as u32, valid as u16)
        })
    }
}

impl Model<'_> {
    pub(super) fn page(&self, ppn: Ppn) -> &Page {
        &self.planes[ppn.plane].blocks[ppn.block].pages[ppn.page]
    }

    /// The next page of the host's or GC's block, if it may take one.
    pub(super) fn take(&mut self, plane: usize, collection: bool) -> Option<Ppn> {
        let (per_block, state) = (self.world.pages, &mut self.planes[plane]);
        let block = state.next_block(collection)?;
        if state.blocks[block].pages.is_empty() {
            state.opened = block;
        }
        let page = state.blocks[block].pages.len();
        state.points[usize::from(collection)] = Some(block).filter(|_| page + 1 < per_block);
        state.blocks[block].pages.push(Page { lpn: u64::MAX, sectors: Vec::new(), valid: false, landed: false });
        Some(Ppn { plane, block, page })
    }

    /// Tests the trigger after a host program in a plane, and after each erase.
    pub(super) fn test_trigger(&mut self, plane: usize) {
        self.tests += 1;
        let (tests, state) = (self.tests, &mut self.planes[plane]);
        let holds = state.free_pages(self.world.pages) < self.world.threshold;
        state.due = holds.then_some(state.due.unwrap_or(tests));
    }

    /// Continues a collection, or starts one if it is due and the die is free, or GC takes no time.
    pub(super) fn collect(&mut self, unit: usize) {
        let state = &self.units[unit];
        if state.collection.is_some() && state.running.is_none() && state.interrupted.is_none() {
            self.next_step(unit);
        }
        // The plane that has been due longest goes first; a stalled write repeats the test whenever the die is free.
        let world = self.world;
        let here = |plane: &usize| world.unit_of(*plane) == unit;
        let mut planes: Vec<usize> = (0..self.planes.len()).filter(here).collect();
        planes.sort_by_key(|plane| self.planes[*plane].due.unwrap_or(u64::MAX));
        for plane in planes {
            while self.may_collect(unit) && (self.planes[plane].due.is_some() || !self.planes[plane].stalled.is_empty())
            {
                self.planes[plane].due = None;
                let Some(victim) = self.planes[plane].victim(world.pages) else { break };
                self.stirred = true;
                self.outcome.met.collections += 1;
                let age = self.age();
                let collection = Collection { age, plane, victim, next: 0, moving: None };
                if world.collections_take_time {
                    self.units[unit].collection = Some(collection);
                    self.next_step(unit);
                } else {
                    self.collect_at_once(collection);
                }
            }
        }
    }

    fn may_collect(&self, unit: usize) -> bool {
        let unit = &self.units[unit];
        !self.world.collections_take_time
            || unit.running.is_none() && unit.interrupted.is_none() && unit.collection.is_none()
    }

    /// In no time: the stalled program queues again after each erase.
    pub(super) fn make_room(&mut self, plane: usize) {
        while let (None, Some(victim)) = (self.planes[plane].next_offset(), self.planes[plane].victim(self.world.pages))
        {
            let age = self.age();
            self.collect_at_once(Collection { age, plane, victim, next: 0, moving: None });
        }
    }

    fn collect_at_once(&mut self, collection: Collection) {
        let Collection { plane, victim: block, .. } = collection;
        for page in 0..self.world.pages {
            let from = Ppn { plane, block, page };
            if self.page(from).valid {
                self.outcome.gc_reads += 1;
                self.outcome.gc_programs += 1;
                let to = self.take(plane, true).unwrap();
                self.moved(from, to);
            }
        }
        self.erased(plane, block);
    }

    /// A page has been copied: the copy is valid, unless the page was overwritten meanwhile.
    fn moved(&mut self, from: Ppn, to: Ppn) {
        let Page { lpn, sectors, valid, .. } = self.page(from).clone();
        let plane = &mut self.planes[from.plane];
        plane.land(to, lpn, sectors);
        if valid {
            plane.discard(from);
            plane.keep(to);
            self.logical[lpn as usize].flash = Some(to);
        }
    }

    fn erased(&mut self, plane: usize, block: usize) {
        self.outcome.erases += 1;
        let state = &mut self.planes[plane];
        state.blocks[block].pages.clear();
        state.blocks[block].erases += 1;
        self.test_trigger(plane);
        let stalled = std::mem::take(&mut self.planes[plane].stalled);
        stalled.into_iter().for_each(|op| self.queue_again(op));
    }

    /// The next valid page in ascending order, or the erase.
    fn next_step(&mut self, unit: usize) {
        let world = self.world;
        let collection = self.units[unit].collection.as_mut().unwrap();
        let age = collection.age;
        let (plane, block) = (collection.plane, collection.victim);
        let pages = &self.planes[plane].blocks[block].pages;
        let (verb, legs) = match (collection.next..world.pages).find(|page| pages[*page].valid) {
            Some(page) => {
                collection.next = page + 1;
                collection.moving = Some((Ppn { plane, block, page }, None));
                self.outcome.gc_reads += 1;
                let read = Leg::Array(world.read[world.kind(page) % world.read.len()]);
                (Verb::Read, [Leg::Bus(world.command), read, Leg::Bus(world.transfer(world.page_size))].to_vec())
            }
            None => (Verb::Erase, [Leg::Bus(world.command), Leg::Array(world.erase)].to_vec()),
        };
        self.start(unit, Job { age, verb, legs: legs.into(), ops: Vec::new() });
    }

    pub(super) fn collected_a_step(&mut self, unit: usize, verb: Verb) {
        let world = self.world;
        let Collection { age, plane, victim, moving, .. } = self.units[unit].collection.clone().unwrap();
        match verb {
            Verb::Read => {
                let to = self.take(plane, true).unwrap();
                self.units[unit].collection.as_mut().unwrap().moving = moving.map(|(from, _)| (from, Some(to)));
                self.outcome.gc_programs += 1;
                let data_in = Leg::Bus(world.command + world.transfer(world.page_size));
                let legs = [data_in, Leg::Array(world.program[world.kind(to.page) % world.program.len()])];
                self.start(unit, Job { age, verb: Verb::Program, legs: legs.into(), ops: Vec::new() });
            }
            Verb::Program => {
                let (from, to) = moving.unwrap();
                self.moved(from, to.unwrap());
            }
            Verb::Erase => {
                self.units[unit].collection = None;
                self.erased(plane, victim);
            }
        }
    }
}
