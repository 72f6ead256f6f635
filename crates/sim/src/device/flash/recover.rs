//! Recovery after a power cut, and what checks count again.

use super::stream::STREAMS;
use super::{BlockState, Change, Flash, NOT_CLOSED, Use};
use crate::device::planes::PlaneSet;
use crate::units::{BlockId, Lpn, PlaneId, Ppn};

impl Flash {
    /// Blocks that are being collected and not erased yet.
    pub(crate) fn victims(&self) -> impl Iterator<Item = BlockId> + '_ {
        (0..self.use_of.len()).filter_map(|b| {
            let full = u32::from(self.use_of[b].written) == self.pages_per_block && self.use_of[b].unlanded == 0;
            (full && self.valid[b] & NOT_CLOSED != 0).then_some(BlockId(b as u32))
        })
    }

    /// Power is cut: nothing is in flight, no page is known to be valid, and blocks with an interrupted erase are erased.
    pub(crate) fn power_cut(&mut self, erases: &[BlockId]) {
        self.lpn_of.iter_mut().for_each(|lpn| *lpn = Lpn::NONE);
        self.valid.fill(NOT_CLOSED);
        self.tight = PlaneSet::full(self.planes());
        self.cut_slc();
        for state in &mut self.planes {
            state.collecting = false;
            state.debt = 0;
            state.promised = 0;
        }
        for b in 0..self.use_of.len() {
            self.use_of[b].unlanded = 0;
            self.use_of[b].readers = 0;
        }
        for block in erases {
            self.cut_erase(*block);
            self.erase_now(*block);
        }
        for b in 0..self.use_of.len() {
            if u32::from(self.use_of[b].written) == self.pages_per_block {
                self.valid[b] &= !NOT_CLOSED;
            }
        }
    }

    /// Replaces a failed plane by one of a spare chip, which is erased and has nothing in flight. Erase counts continue.
    pub(crate) fn replace(&mut self, plane: PlaneId) {
        let plane = plane.ix();
        let blocks = plane * self.blocks_per_plane as usize..(plane + 1) * self.blocks_per_plane as usize;
        let pages = blocks.start * self.pages_per_block as usize..blocks.end * self.pages_per_block as usize;
        self.lpn_of[pages].fill(Lpn::NONE);
        self.valid[blocks.clone()].fill(NOT_CLOSED);
        self.use_of[blocks.clone()].fill(Use::default());
        for block in 0..self.blocks_per_plane as usize {
            self.free.insert(plane, block, self.erases[blocks.start + block]);
        }
        let all = self.blocks_per_plane * self.pages_per_block;
        let state = &mut self.planes[plane];
        let written = u64::from(all - state.free_pages);
        state.free_pages = all;
        state.free_blocks = self.blocks_per_plane;
        state.collecting = false;
        state.debt = 0;
        state.promised = 0;
        state.open = [BlockId::NONE; STREAMS];
        self.tight = PlaneSet::full(self.planes());
        self.disown_plane(plane);
        self.free_total += written;
        self.programmed -= written;
    }

    /// Recovery finds that a page holds the newest version of a logical page.
    pub(crate) fn found(&mut self, page: Ppn, block: BlockId, lpn: Lpn) {
        self.lpn_of[page.ix()] = lpn;
        self.valid[block.ix()] += 1;
        if self.records {
            self.record(page, Change::Written(page, lpn));
        }
    }

    /// Recounts everything from the pages and compares (scan of the full oracle).
    pub(crate) fn recount(&self) {
        let mut free_total = 0;
        for (p, plane) in self.planes.iter().enumerate() {
            let (mut free_pages, mut free_blocks) = (0, 0);
            for index in 0..self.blocks_per_plane as usize {
                let b = p * self.blocks_per_plane as usize + index;
                let written = u32::from(self.use_of[b].written);
                let pages = &self.lpn_of[b * self.pages_per_block as usize..][..self.pages_per_block as usize];
                let valid = pages.iter().filter(|lpn| lpn.is_some()).count();
                law_eq!(valid, usize::from(self.valid[b] & !NOT_CLOSED), "valid pages of block {b}");
                law!(
                    pages[written as usize..].iter().all(|lpn| lpn.is_none()),
                    "unwritten pages of block {b} are free"
                );
                let free = self.free.has(p, index);
                if free {
                    self.free.check(p, self.erases[b]);
                }
                if !self.is_used(BlockId(b as u32)) {
                    let open = plane.open.contains(&BlockId(b as u32)) || self.is_open_beside(p, BlockId(b as u32));
                    self.recount_apart(BlockId(b as u32), free, open);
                    continue;
                }
                if self.is_slc(BlockId(b as u32)) {
                    law!(!free, "block {b} of the cache of SLC is not free for others");
                    continue;
                }
                let open = plane.open.contains(&BlockId(b as u32)) || self.is_open_beside(p, BlockId(b as u32));
                law!(!free || (written == 0 && !open), "block {b} is either free or open or written");
                law!(written >= self.data_pages || open || free, "block {b} is half written and not open");
                law!(
                    self.valid[b] & NOT_CLOSED != 0 || written == self.pages_per_block,
                    "block {b} is closed when full"
                );
                free_pages += self.pages_per_block - written;
                free_blocks += u32::from(free);
            }
            self.recount_slc(PlaneId(p as u32));
            let known = self.tight.has(PlaneId(p as u32)) || self.takes_host_page(PlaneId(p as u32));
            law!(known, "law: plane {p} has a page for the host, or may have none");
            law_eq!((free_pages, free_blocks), (plane.free_pages, plane.free_blocks), "free space of plane {p}");
            free_total += u64::from(free_pages);
        }
        law_eq!(free_total, self.free_total, "free space of the device");
    }

    /// Erase counts: fewest, most, total.
    pub(crate) fn wear(&self) -> (u32, u32, u64) {
        // Blocks that never leave the cache of SLC are never erased as others are, and spare ones wait.
        let fixed = self.fixed_slc_blocks() as usize;
        let in_turn = |b: &usize| {
            b % self.blocks_per_plane as usize >= fixed && self.state_of(BlockId(*b as u32)) != BlockState::Spare
        };
        let fewest = (0..self.erases.len()).filter(in_turn).map(|b| self.erases[b]).min().unwrap_or(0);
        let most = self.erases.iter().max().copied().unwrap_or(0);
        (fewest, most, self.erases.iter().map(|e| u64::from(*e)).sum())
    }
}
