//! Input of path decisions: the destination of a copy, the result of decoding, and the errors of moved pages.

use crate::device::errors::LOST;
use crate::device::flash::Stream;
use crate::device::transaction::Need;
use crate::engine::kernel::ops::Page;
use crate::engine::rules::Rules;
use crate::engine::{Device, Features, Ssd};
use crate::policy::{Hop, Journey, MovePath, PageSet};
use crate::stats::Stats;
use crate::units::{BlockId, Nanos, OpId, PlaneId, Ppn, UnitId};

impl Device {
    /// Whether a page of the flash, or a unit in the controller, could be corrected if it were read now.
    pub(in crate::engine) fn is_correctable(&self, page: Ppn, now: Nanos) -> bool {
        let Some(model) = &self.errors else { return true };
        if self.geometry.is_in_hand(page) {
            return !model.is_lost(page);
        }
        model.corrects(model.errors(page, self.geometry.block_of(page), now))
    }

    /// Whether data was uncorrectable when it was moved or merged.
    pub(in crate::engine) fn is_lost(&self, page: Ppn) -> bool {
        self.errors.as_ref().is_some_and(|model| model.is_lost(page))
    }

    /// A moved unit waits in the controller.
    pub(in crate::engine) fn hold(&mut self, place: Ppn, lost: bool) {
        if let Some(model) = &mut self.errors {
            model.hold(place, lost);
        }
    }

    /// A page of a block is read from the array, for the host or for a move.
    #[inline(always)]
    pub(in crate::engine) fn array_reads(&mut self, block: BlockId) {
        self.flash.read_begins(block);
        if let Some(model) = &mut self.errors {
            model.read(block);
        }
    }

    /// The write point of a moved page.
    pub(in crate::engine) fn write_point(&self, rules: &Rules, plane: PlaneId, stream: Stream, copied: bool) -> Stream {
        // The host's open block takes moved pages while it has room; a new block must be opened by the host.
        let host_full = stream == Stream::Host && self.flash.room(plane, Stream::Host) == 0;
        let stream = if host_full { Stream::Gc } else { stream };
        self.point_of_copies(rules, stream, copied)
    }

    /// A page has been programmed with host data.
    #[inline(always)]
    pub(in crate::engine) fn host_programmed(&mut self, now: Nanos, page: Ppn, lost: bool) {
        let block = self.geometry.block_of(page);
        let pe_cycles = self.wear.pe_cycles(&self.flash, block);
        if let Some(model) = &mut self.errors {
            model.program(page, pe_cycles, if lost { LOST } else { 0 }, now);
        }
    }

    /// Bit errors move with a page that has not passed ECC.
    #[inline(always)]
    pub(in crate::engine) fn follow_errors(
        &mut self,
        stats: &mut Stats,
        now: Nanos,
        from: Ppn,
        to: Ppn,
        block: BlockId,
        corrected: bool,
    ) {
        if self.errors.is_none() {
            return;
        }
        let source = self.geometry.block_of(from);
        let pe_cycles = self.wear.pe_cycles(&self.flash, block);
        let Some(model) = &mut self.errors else { return };
        let errors = model.errors(from, source, now);
        let carried = match corrected {
            true if model.corrects(errors) => 0,
            true => LOST,
            false => errors,
        };
        stats.ecc.moves_uncorrectable += u64::from(corrected && carried == LOST);
        model.program(to, pe_cycles, carried, now);
    }

    /// Whether a page that leaves the die was correctable. Counts it if not.
    pub(in crate::engine) fn survives_move(&self, stats: &mut Stats, now: Nanos, from: Ppn) -> bool {
        let block = self.geometry.block_of(from);
        let good = self.errors.as_ref().is_none_or(|model| model.corrects(model.errors(from, block, now)));
        stats.ecc.moves_uncorrectable += u64::from(!good);
        good
    }

    /// Whether a page that was read for the host is correctable. Counts it if not.
    #[inline(always)]
    pub(in crate::engine) fn decodes(&self, stats: &mut Stats, now: Nanos, page: Ppn) -> bool {
        let Some(model) = &self.errors else { return true };
        let errors = model.errors(page, self.geometry.block_of(page), now);
        let good = model.corrects(errors);
        stats.ecc.decoded(errors, good);
        good
    }

    /// The journey of pages of one command: if one must leave the die, all do. `path`: the policy of their collection.
    #[inline(always)]
    pub(in crate::engine) fn journey_of(
        &self,
        rules: &Rules,
        now: Nanos,
        path: &mut dyn MovePath,
        pages: &PageSet,
        stream: Stream,
    ) -> Journey {
        let (mut joint, view) = (Journey::COPYBACK, self.view(now));
        for page in pages.iter() {
            let to = self.block_of_copy(rules, *page, stream);
            let journey = path.journey(&view, *page, to);
            if journey.out != Hop::Die {
                joint = journey;
            }
        }
        joint
    }

    /// Decoded pages are in hand, and their registers still hold them. Returns the hop from which they are programmed.
    pub(in crate::engine) fn way_back(&mut self, now: Nanos, path: &mut dyn MovePath, pages: &PageSet) -> Hop {
        let mut joint = Hop::Die;
        for page in pages.iter() {
            let clean = match &self.errors {
                Some(model) => model.errors(*page, self.geometry.block_of(*page), now) == 0,
                None => !self.page_errors.in_page(),
            };
            let back = path.back(&self.view(now), *page, clean);
            joint = joint.farther(back);
        }
        joint
    }

    /// A block has been erased: resets counts and errors.
    #[inline(always)]
    pub(in crate::engine) fn forget_block(
        &mut self,
        features: &mut Features,
        stats: &Stats,
        rules: &Rules,
        now: Nanos,
        block: BlockId,
    ) {
        if self.wear.counts() {
            self.wear.erased(self.geometry.page(block, 0), self.geometry.pages_per_block);
        }
        if let Some(model) = &mut self.errors {
            model.erased(block);
        }
        features.drop_copies(self, block);
        features.block_erased(self, stats, rules, now);
    }
}

impl Ssd {
    /// The controller's buffer still has the page that an operation wants to read.
    #[inline(never)]
    pub(in crate::engine) fn take_from_buffer(&mut self, op: OpId, unit: UnitId) {
        self.charge_wait(op, unit, &self.kernel.turn(self.now, op, unit));
        let page = &self.kernel.ops[op];
        self.stats.pages.from_memory += u64::from(self.host.requests[page.request].measured);
        if page.need == Need::Read {
            return self.serve_from_memory(op);
        }
        self.kernel.ops[Page(op)].tags[1] = self
            .oracle
            .load(self.kernel.merge_source(&self.dev, &self.host, &self.features, op), self.kernel.ops[op].lpn);
        self.merge(op);
        self.host.runs.release(op);
        self.place_merged();
    }
}
