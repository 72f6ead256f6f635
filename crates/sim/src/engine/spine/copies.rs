//! Input of path decisions: the destination of a copy, the result of decoding, and the copyback counts and errors of moved pages.

use crate::device::command::Command;
use crate::device::errors::LOST;
use crate::device::flash::Stream;
use crate::device::mapping::Location;
use crate::device::timing::WORD_LINE;
use crate::device::transaction::{Class, Need, Verb};
use crate::engine::kernel::ops::Page;
use crate::engine::life;
use crate::engine::{Device, Ssd};
use crate::policy::{Hop, Journey, PageSet};
use crate::report::fastgc::{Facts, FastGc};
use crate::units::{BlockId, JobId, Nanos, OpId, PlaneId, Ppn, RequestId, UnitId};

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
}

impl Ssd {
    /// The journey of pages of one command: if one must leave the die, all do. Collections in no time have no `job`.
    pub(in crate::engine) fn journey_of(&mut self, job: JobId, pages: &PageSet, stream: Stream) -> Journey {
        let mut joint = Journey::COPYBACK;
        for page in pages.iter() {
            let mut to = self.dev.geometry.block_of(*page);
            if self.rules.separates {
                let plane = self.dev.geometry.plane_of(*page);
                let point = self.write_point(plane, stream, true);
                to = self.dev.flash.next_block(plane, point).unwrap_or(to);
            }
            let path = self.schemes.path_of(&mut self.gc.jobs, job);
            let journey = path.journey(&self.dev.view(self.now), *page, to);
            if journey.out != Hop::Die {
                joint = journey;
            }
        }
        joint
    }

    /// The write point of a moved page.
    pub(in crate::engine) fn write_point(&self, plane: PlaneId, stream: Stream, copied: bool) -> Stream {
        // The host's open block takes moved pages while it has room; a new block must be opened by the host.
        let host_full = stream == Stream::Host && self.dev.flash.room(plane, Stream::Host) == 0;
        let stream = if host_full { Stream::Gc } else { stream };
        if self.rules.separates && copied && stream == Stream::Gc { Stream::Copyback } else { stream }
    }

    /// Decoded pages are in hand, and their registers still hold them. Returns the hop from which they are programmed.
    pub(in crate::engine) fn way_back(&mut self, job: JobId, pages: &PageSet) -> Hop {
        let mut joint = Hop::Die;
        for page in pages.iter() {
            let clean = match &self.dev.errors {
                Some(model) => model.errors(*page, self.dev.geometry.block_of(*page), self.now) == 0,
                None => !self.dev.page_errors.in_page(),
            };
            let path = self.schemes.path_of(&mut self.gc.jobs, job);
            let back = path.back(&self.dev.view(self.now), *page, clean);
            joint = joint.farther(back);
        }
        joint
    }

    /// A checked move has been read out and decoded. If its pages return from their registers, the same operation programs them
    /// at once, because no other operation may use the registers in between.
    #[inline(always)]
    pub(in crate::engine) fn goes_back_inside(&mut self, op: OpId) -> bool {
        self.rules.separates && self.kernel.ops[op].verb == Verb::Read && self.programs_from_register(op)
    }

    #[inline(never)]
    fn programs_from_register(&mut self, op: OpId) -> bool {
        let from = self.kernel.ops[op].from;
        let job = self.kernel.ops[op].job;
        if self.kernel.ops[op].class != Class::Gc || !self.gc.jobs[job.0].journey.checked {
            return false;
        }
        // With an interconnect, the result of decoding was applied at the CPU.
        let back = if self.features.noc.is_some() { self.gc.jobs[job.0].rest } else { self.way_back(job, &from) };
        if back != Hop::Die {
            return false;
        }
        // Time of the legs so far; the rest is counted at the end.
        self.count_time(op);
        let stream = self.gc.jobs[self.kernel.ops[op].job.0].stream;
        let mut to = PageSet::EMPTY;
        for page in from.iter() {
            let plane = self.dev.geometry.plane_of(*page);
            to.push(self.gc_page(plane, stream, true));
        }
        self.assert_multi_plane(&to);
        if self.rules.tenants {
            self.features.tenants_moved(&self.dev, &from);
        }
        self.stats.count_copybacks(to.len() as u64);
        let array = self.dev.timing.programs(&self.dev.places(&to)[..to.len()]);
        let legs = self.dev.timing.legs(Command::ProgramFromRegister { array });
        self.stats.gc_time.program += array.0;
        let state = &mut self.kernel.ops[op];
        state.verb = Verb::Copyback;
        state.pages = to;
        state.legs = legs;
        state.leg = 0;
        self.run_leg(op);
        true
    }

    /// A moved page has landed: updates its count and errors. `corrected`: it has passed ECC.
    #[inline(always)]
    pub(in crate::engine) fn follow_copy(&mut self, from: Ppn, to: Ppn, block: BlockId, corrected: bool) {
        if self.rules.separates {
            let counts = &mut self.stats.copies;
            *(if corrected { &mut counts.external_pages } else { &mut counts.copied_pages }) += 1;
        }
        if self.dev.wear.counts() {
            self.stats.copies.moved(self.dev.wear.count(from), corrected);
            if !corrected {
                self.dev.wear.copied(&self.dev.flash, from, to, block);
            }
        }
        self.follow_errors(from, to, block, corrected);
    }

    /// Bit errors move with a page that has not passed ECC.
    #[inline(always)]
    pub(in crate::engine) fn follow_errors(&mut self, from: Ppn, to: Ppn, block: BlockId, corrected: bool) {
        if self.dev.errors.is_none() {
            return;
        }
        let (source, now) = (self.dev.geometry.block_of(from), self.now);
        let pe_cycles = self.dev.wear.pe_cycles(&self.dev.flash, block);
        let Some(model) = &mut self.dev.errors else { return };
        let errors = model.errors(from, source, now);
        let carried = match corrected {
            true if model.corrects(errors) => 0,
            true => LOST,
            false => errors,
        };
        self.stats.ecc.moves_uncorrectable += u64::from(corrected && carried == LOST);
        model.program(to, pe_cycles, carried, now);
    }

    /// Whether a page that leaves the die was correctable. Counts it if not.
    pub(in crate::engine) fn survives_move(&mut self, from: Ppn) -> bool {
        let block = self.dev.geometry.block_of(from);
        let good = self.dev.errors.as_ref().is_none_or(|model| model.corrects(model.errors(from, block, self.now)));
        self.stats.ecc.moves_uncorrectable += u64::from(!good);
        good
    }

    /// A page has been programmed with host data.
    #[inline(always)]
    pub(in crate::engine) fn host_programmed(&mut self, page: Ppn, lost: bool) {
        let block = self.dev.geometry.block_of(page);
        let pe_cycles = self.dev.wear.pe_cycles(&self.dev.flash, block);
        if let Some(model) = &mut self.dev.errors {
            model.program(page, pe_cycles, if lost { LOST } else { 0 }, self.now);
        }
    }

    /// A page of a block is read from the array, for the host or for a move.
    #[inline(always)]
    pub(in crate::engine) fn array_reads(&mut self, block: BlockId) {
        self.dev.flash.read_begins(block);
        if let Some(model) = &mut self.dev.errors {
            model.read(block);
        }
    }

    /// Whether a page that was read for the host is correctable. Counts it if not.
    #[inline(always)]
    pub(in crate::engine) fn decodes(&mut self, page: Ppn) -> bool {
        let Some(model) = &self.dev.errors else { return true };
        let errors = model.errors(page, self.dev.geometry.block_of(page), self.now);
        let good = model.corrects(errors);
        self.stats.ecc.decoded(errors, good);
        good
    }

    /// A block has been erased: resets counts and errors.
    #[inline(always)]
    pub(in crate::engine) fn forget_block(&mut self, block: BlockId) {
        if self.dev.wear.counts() {
            self.dev.wear.erased(self.dev.geometry.page(block, 0), self.dev.geometry.pages_per_block);
        }
        if let Some(model) = &mut self.dev.errors {
            model.erased(block);
        }
        self.features.drop_copies(&mut self.dev, block);
        if self.rules.life {
            life::note(self);
        }
    }

    /// Mean P/E cycles of a block.
    fn mean_pe_cycles(&self) -> u32 {
        let blocks = u64::from(self.dev.geometry.planes) * u64::from(self.dev.geometry.blocks_per_plane);
        let mean = (self.dev.flash.erases_total() / blocks) as u32;
        self.config.wear.pe_cycles.saturating_add(mean)
    }

    /// A measured request has completed: adds its response time to its stage of life.
    #[inline(always)]
    pub(in crate::engine) fn note_stage(&mut self, request: RequestId, latency: u64) {
        if self.rules.separates {
            self.counts_stage(request, latency);
        }
    }

    #[inline(never)]
    fn counts_stage(&mut self, request: RequestId, latency: u64) {
        let (step, from) = self.dev.wear.step_at(self.mean_pe_cycles());
        let read = self.host.reads(request);
        self.stats.copies.completed(step, from, read, latency);
    }

    pub(in crate::engine) fn report_copies(&self) -> FastGc {
        let (stats, geometry) = (&self.stats, &self.dev.geometry);
        let facts = Facts {
            moved: stats.moved,
            host_programs: stats.flash.programs.host,
            host_pages: stats.pages.written,
            metadata: (
                geometry.pages_per_block - geometry.data_pages,
                stats.flash.reads.metadata,
                stats.flash.programs.metadata,
            ),
            gc_time: stats.gc_time.clone(),
            metadata_time: stats.metadata_time.clone(),
            pe_cycles: self.mean_pe_cycles(),
            rated: self.config.wear.rated_pe_cycles,
            erases: stats.flash.erases,
            blocks: u64::from(geometry.planes) * u64::from(geometry.blocks_per_plane),
            exported: u64::from(geometry.exported),
        };
        FastGc::new(&stats.copies, &facts)
    }

    /// Whether an operation wants to read a page of a word line that has not been programmed yet.
    #[inline(always)]
    pub(in crate::engine) fn waits_for_word_line(&self, op: OpId) -> bool {
        self.rules.one_shot && self.reads_open_word_line(op)
    }

    #[inline(never)]
    fn reads_open_word_line(&self, op: OpId) -> bool {
        let page = &self.kernel.ops[op];
        let at = match self.dev.map.get(page.lpn) {
            _ if page.need == Need::Merge => self.merge_source(op),
            Location::Flash(at) => at,
            _ => Ppn::NONE,
        };
        at.is_some() && self.page_waits(at)
    }

    /// Whether a page's word line has not been programmed yet.
    #[inline(always)]
    pub(in crate::engine) fn page_waits(&self, page: Ppn) -> bool {
        self.rules.one_shot && self.word_line_open(page)
    }

    #[inline(never)]
    fn word_line_open(&self, page: Ppn) -> bool {
        self.dev.flash.waits_for_word_line(page, self.dev.geometry.block_of(page), WORD_LINE as u32)
    }

    /// The controller's buffer still has the page that an operation wants to read.
    #[inline(never)]
    pub(in crate::engine) fn take_from_buffer(&mut self, op: OpId, unit: UnitId) {
        self.charge_wait(op, unit);
        let page = &self.kernel.ops[op];
        self.stats.pages.from_memory += u64::from(self.host.requests[page.request].measured);
        if page.need == Need::Read {
            return self.serve_from_memory(op);
        }
        self.kernel.ops[Page(op)].tags[1] = self.oracle.load(self.merge_source(op), self.kernel.ops[op].lpn);
        self.merge_ends(op);
        self.place_merged();
    }
}
