//! Moves of the valid pages of a victim in no time, on devices whose pages are treated alike: all at once, or the first ones.

use crate::device::flash::{Flash, Stream};
use crate::engine::kernel::Kernel;
use crate::engine::{Device, Features};
use crate::oracle::Oracle;
use crate::units::{BlockId, Lpn, Nanos, PlaneId, Ppn};

/// How far ahead of moves memory is prefetched, in pages.
pub(in crate::engine) const MOVES_AHEAD: usize = 48;

/// Valid pages of a victim that is collected in no time: offsets, and logical pages. The first `count` are listed.
#[derive(Clone)]
pub(in crate::engine) struct Moving {
    pub(in crate::engine) offsets: Vec<u16>,
    pub(in crate::engine) lpns: Vec<Lpn>,
    victim: BlockId,
    plane: PlaneId,
    count: usize,
}

impl Moving {
    /// Allocates room for the pages of a block.
    pub(in crate::engine) fn new(pages: u32) -> Self {
        let (offsets, lpns) = (vec![0; pages as usize], vec![Lpn::NONE; pages as usize]);
        Moving { offsets, lpns, victim: BlockId::NONE, plane: PlaneId::NONE, count: 0 }
    }

    /// Lists all valid pages of a victim, in ascending order. Returns their number.
    pub(in crate::engine) fn list_all(&mut self, flash: &Flash, plane: PlaneId, victim: BlockId) -> usize {
        (self.plane, self.victim) = (plane, victim);
        self.count = flash.list_valid(victim, &mut self.offsets, &mut self.lpns);
        self.count
    }

    /// Lists the first `count` valid pages of a victim from offset `first` on. Another one must follow.
    #[inline(always)]
    pub(in crate::engine) fn list_some(
        &mut self,
        flash: &Flash,
        plane: PlaneId,
        victim: BlockId,
        first: u32,
        count: usize,
    ) {
        let listed = flash.list_some(victim, first, count + 1, &mut self.offsets, &mut self.lpns);
        law_eq!(listed, count + 1, "law: validity and the reverse map agree");
        (self.plane, self.victim, self.count) = (plane, victim, count);
    }

    /// The logical pages of those listed.
    pub(in crate::engine) fn listed(&self) -> &[Lpn] {
        &self.lpns[..self.count]
    }
}

impl Device {
    /// Moves the listed pages of a victim: [`Ssd::move_now`] page by page, if collector and path treat all pages alike, without
    /// counting the commands. The n-th has landed at `landed_at(n)`.
    #[inline(always)]
    pub(in crate::engine) fn move_listed(
        &mut self,
        kernel: &mut Kernel,
        features: &Features,
        oracle: &mut Oracle,
        moving: &Moving,
        landed_at: impl Fn(usize) -> Nanos,
    ) {
        let &Moving { victim, plane, count: moved, .. } = moving;
        let (offsets, lpns) = (&moving.offsets[..moved], moving.listed());
        lpns.iter().take(MOVES_AHEAD).for_each(|lpn| self.map.expect(*lpn));
        let base = self.geometry.page(victim, 0).0;
        let mut next = 0;
        while next < moved {
            let (first, count) = self.flash.program_run(plane, Stream::Gc, true, &lpns[next..]);
            self.flash.leave(victim, count);
            let (some, offsets) = (&lpns[next..next + count], &offsets[next..next + count]);
            let from = |n: usize| Ppn(base.wrapping_add(u32::from(offsets[n])));
            let ahead = lpns.get(next + MOVES_AHEAD..).unwrap_or_default();
            self.follow_moves(kernel, features, some, from, first, ahead);
            oracle.carry(some, from, first);
            next += count;
            if self.flash.has_undated() {
                self.flash.date_closings(landed_at(next));
            }
        }
    }

    /// The same for pages from offset `first` on, without those that follow. Returns the offset of the next valid page.
    #[inline(always)]
    pub(in crate::engine) fn move_some(
        &mut self,
        kernel: &mut Kernel,
        features: &Features,
        oracle: &mut Oracle,
        moving: &Moving,
        first: u32,
        landed_at: impl Fn(usize) -> Nanos,
    ) -> u32 {
        let next = u32::from(moving.offsets[moving.count]);
        self.move_listed(kernel, features, oracle, moving, landed_at);
        self.flash.vacate_some(moving.victim, first..next);
        next
    }
}
