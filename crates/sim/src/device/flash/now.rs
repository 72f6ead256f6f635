//! Programs in no time, and the pages of a victim that move together.

use super::{Change, Flash, Stream};
use crate::units::{BlockId, Lpn, PlaneId, Ppn, count};

/// Pages of a block that are listed together.
const GROUP: usize = 8;

impl Flash {
    /// Programs the next page of one of the host's write points with `lpn`, in no time. None if it may take no page.
    #[inline(always)]
    pub(crate) fn program_now(&mut self, plane: PlaneId, stream: Stream, lpn: Lpn) -> Option<Ppn> {
        if self.beside {
            return self.program_beside(plane, stream, lpn);
        }
        let mut open = self.open(plane, stream.number());
        if open.is_none() || self.shared {
            open = self.find_open(plane, stream, false)?;
        }
        Some(self.program_open(plane, stream, open, lpn).0)
    }

    /// The same if the host's open block has room and at least `floor` pages are free, so that GC is not necessary. Returns the
    /// page, and whether the same still holds; none if it does not hold now.
    #[inline(always)]
    pub(crate) fn program_in_room(&mut self, plane: PlaneId, lpn: Lpn, floor: u32) -> Option<(Ppn, bool)> {
        let state = &self.planes[plane.ix()];
        let (open, free) = (state.open[Stream::Host.number()], state.free_pages);
        let least = if self.shared { floor.max(self.kept_from_host(state) + 1) } else { floor };
        if open.is_none() || free < least {
            return None;
        }
        let (page, full) = self.program_open(plane, Stream::Host, open, lpn);
        Some((page, !full && free > least))
    }

    /// Programs the next page of an open block of the host in no time. Returns the page, and whether the block's data pages are full.
    #[inline(always)]
    fn program_open(&mut self, plane: PlaneId, stream: Stream, open: BlockId, lpn: Lpn) -> (Ppn, bool) {
        let block = &mut self.use_of[open.ix()];
        let page = Ppn(open.0 * self.pages_per_block + u32::from(block.written));
        block.written += 1;
        let entry = &mut self.lpn_of[page.ix()];
        law!(entry.is_none(), "law: a page is programmed once per erase");
        *entry = lpn;
        self.valid[open.ix()] += 1;
        let full = u32::from(block.written) == self.data_pages;
        let state = &mut self.planes[plane.ix()];
        state.free_pages -= 1;
        self.free_total -= 1;
        count(&mut self.programmed);
        if full {
            self.set_open(plane, stream.number(), BlockId::NONE);
            self.tightens(plane);
            self.close_if_full(open.ix());
        }
        if self.records {
            self.record(page, Change::Written(page, lpn));
        }
        (page, full)
    }

    /// Collects the valid pages of a block in ascending order: offsets, and logical pages. The slices must have room for a
    /// block's pages. Returns the number of valid pages.
    #[inline]
    pub(crate) fn list_valid(&self, block: BlockId, offsets: &mut [u16], lpns: &mut [Lpn]) -> usize {
        self.list_some(block, 0, self.pages_per_block as usize, offsets, lpns)
    }

    /// The same for the first `most` valid pages from offset `first` on.
    #[inline]
    pub(crate) fn list_some(
        &self,
        block: BlockId,
        first: u32,
        most: usize,
        offsets: &mut [u16],
        lpns: &mut [Lpn],
    ) -> usize {
        let pages = self.pages_per_block as usize;
        let held = &self.lpn_of[block.ix() * pages..][..pages];
        // Equally long, so that one test of the index is enough for both.
        let (offsets, lpns) = (&mut offsets[..pages], &mut lpns[..pages]);
        let (mut count, mut next) = (0, first as usize);
        // As many pages as are missing do not hold more, so the number is tested only behind them.
        while count < most && next < pages {
            let end = pages.min(next + most - count);
            let (groups, rest) = held[next..end].as_chunks::<GROUP>();
            // Branchless: which pages are valid is unpredictable. In groups, so that the room is tested once a group.
            for (first, group) in (next..).step_by(GROUP).zip(groups) {
                let offsets = offsets[count..].first_chunk_mut::<GROUP>().expect("as many as pages are left");
                let lpns = lpns[count..].first_chunk_mut::<GROUP>().expect("as many as pages are left");
                let mut found = 0;
                for (offset, lpn) in (first..).zip(group) {
                    (offsets[found], lpns[found]) = (offset as u16, *lpn);
                    found += usize::from(lpn.is_some());
                }
                count += found;
            }
            for (offset, lpn) in (end - rest.len()..).zip(rest) {
                (offsets[count], lpns[count]) = (offset as u16, *lpn);
                count += usize::from(lpn.is_some());
            }
            next = end;
        }
        count
    }

    /// Programs consecutive pages of a write point in no time, as many as fit into its open block. Opens a block if necessary.
    /// Returns the first page, and the number of pages.
    pub(crate) fn program_run(&mut self, plane: PlaneId, stream: Stream, collects: bool, lpns: &[Lpn]) -> (Ppn, usize) {
        let point = self.point(plane, stream);
        let mut open = self.open(plane, point);
        if open.is_none() {
            law!(self.may_open(plane, collects), "law: the reserve leaves a page for every collection");
            open = self.open_block(plane, stream);
            self.set_open(plane, point, open);
        }
        let b = open.ix();
        let written = u32::from(self.use_of[b].written);
        let count = (lpns.len() as u32).min(self.pages_per_block - written);
        let first = Ppn(open.0 * self.pages_per_block + written);
        let entries = &mut self.lpn_of[first.ix()..][..count as usize];
        // Checks all entries without an early exit, so that the compiler can vectorize.
        let held = entries.iter().fold(u32::MAX, |all, lpn| all & lpn.0);
        law_eq!(Lpn(held), Lpn::NONE, "law: a page is programmed once per erase");
        entries.copy_from_slice(&lpns[..count as usize]);
        self.use_of[b].written += count as u16;
        self.valid[b] += count as u16;
        let state = &mut self.planes[plane.ix()];
        state.free_pages -= count;
        state.debt -= if collects { count.min(state.debt) } else { 0 };
        self.free_total -= u64::from(count);
        self.programmed += u64::from(count);
        if written + count == self.pages_per_block {
            self.set_open(plane, point, BlockId::NONE);
            self.tightens(plane);
            self.close_if_full(b);
        }
        if self.records {
            for (page, lpn) in (first.0..).map(Ppn).zip(&lpns[..count as usize]) {
                self.record(page, Change::Written(page, *lpn));
            }
        }
        (first, count as usize)
    }

    /// `count` pages of a victim have been programmed elsewhere.
    pub(crate) fn leave(&mut self, victim: BlockId, count: usize) {
        self.valid[victim.ix()] -= count as u16;
        if self.slc.is_some() {
            self.leave_beside(victim, count as u32);
        }
        if self.handles.is_some() {
            self.count_moved(victim, count as u64);
        }
    }

    /// The pages of a victim in a range of offsets have been programmed elsewhere.
    pub(crate) fn vacate_some(&mut self, victim: BlockId, offsets: std::ops::Range<u32>) {
        let base = victim.ix() * self.pages_per_block as usize;
        self.lpn_of[base + offsets.start as usize..base + offsets.end as usize].fill(Lpn::NONE);
    }

    /// All valid pages of a victim have been programmed elsewhere.
    pub(crate) fn vacate(&mut self, victim: BlockId) {
        law_eq!(self.valid(victim), 0, "law: all valid pages of a victim are moved");
        let pages = self.pages_per_block as usize;
        self.lpn_of[victim.ix() * pages..][..pages].fill(Lpn::NONE);
    }
}
