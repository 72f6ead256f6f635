//! Input of path decisions: the destination of a copy, the result of decoding, and the copyback counts and errors of moved pages.

use crate::config::Config;
use crate::device::command::Command;
use crate::device::errors::LOST;
use crate::device::flash::Stream;
use crate::device::mapping::Location;
use crate::device::timing::WORD_LINE;
use crate::device::transaction::{Class, Need, Verb};
use crate::engine::kernel::Kernel;
use crate::engine::kernel::ops::Page;
use crate::engine::rules::Rules;
use crate::engine::{Device, Features, Gc, Host, Policies, Ssd};
use crate::policy::{Hop, Journey, MovePath, PageSet};
use crate::report::fastgc::{Facts, FastGc};
use crate::stats::Stats;
use crate::units::{BlockId, Nanos, OpId, PlaneId, Ppn, RequestId, UnitId};

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

    #[inline(never)]
    fn word_line_open(&self, page: Ppn) -> bool {
        self.flash.waits_for_word_line(page, self.geometry.block_of(page), WORD_LINE as u32)
    }

    /// Whether a page's word line has not been programmed yet.
    #[inline(always)]
    pub(in crate::engine) fn page_waits(&self, rules: &Rules, page: Ppn) -> bool {
        rules.one_shot && self.word_line_open(page)
    }

    /// The write point of a moved page.
    pub(in crate::engine) fn write_point(&self, rules: &Rules, plane: PlaneId, stream: Stream, copied: bool) -> Stream {
        // The host's open block takes moved pages while it has room; a new block must be opened by the host.
        let host_full = stream == Stream::Host && self.flash.room(plane, Stream::Host) == 0;
        let stream = if host_full { Stream::Gc } else { stream };
        if rules.separates && copied && stream == Stream::Gc { Stream::Copyback } else { stream }
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

    /// Mean P/E cycles of a block.
    fn mean_pe_cycles(&self, config: &Config) -> u32 {
        let blocks = u64::from(self.geometry.planes) * u64::from(self.geometry.blocks_per_plane);
        let mean = (self.flash.erases_total() / blocks) as u32;
        config.wear.pe_cycles.saturating_add(mean)
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

    pub(in crate::engine) fn report_copies(&self, stats: &Stats, config: &Config) -> FastGc {
        let geometry = &self.geometry;
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
            pe_cycles: self.mean_pe_cycles(config),
            rated: config.wear.rated_pe_cycles,
            erases: stats.flash.erases,
            blocks: u64::from(geometry.planes) * u64::from(geometry.blocks_per_plane),
            exported: u64::from(geometry.exported),
        };
        FastGc::new(&stats.copies, &facts)
    }

    #[inline(always)]
    fn counts_stage(&self, host: &Host, stats: &mut Stats, config: &Config, request: RequestId, latency: u64) {
        let (step, from) = self.wear.step_at(self.mean_pe_cycles(config));
        let read = host.reads(request);
        stats.copies.completed(step, from, read, latency);
    }

    /// A measured request has completed: adds its response time to its stage of life.
    #[inline(always)]
    pub(in crate::engine) fn note_stage(
        &self,
        host: &Host,
        stats: &mut Stats,
        rules: &Rules,
        config: &Config,
        request: RequestId,
        latency: u64,
    ) {
        if rules.separates {
            self.counts_stage(host, stats, config, request, latency);
        }
    }

    /// The journey of pages of one command: if one must leave the die, all do. `path`: the policy of their collection.
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
            let mut to = self.geometry.block_of(*page);
            if rules.separates {
                let plane = self.geometry.plane_of(*page);
                let point = self.write_point(rules, plane, stream, true);
                to = self.flash.next_block(plane, point).unwrap_or(to);
            }
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

    /// A moved page has landed: updates its count. `corrected`: it has passed ECC.
    #[inline(always)]
    pub(in crate::engine) fn follow_copy(
        &mut self,
        stats: &mut Stats,
        rules: &Rules,
        from: Ppn,
        to: Ppn,
        corrected: bool,
    ) {
        if rules.separates {
            let counts = &mut stats.copies;
            *(if corrected { &mut counts.external_pages } else { &mut counts.copied_pages }) += 1;
        }
        if self.wear.counts() {
            stats.copies.moved(self.wear.count(from), corrected);
            if !corrected {
                self.wear.copied(&self.flash, from, to, self.geometry.block_of(to));
            }
        }
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
        if rules.life {
            features.note_retired(self, stats, now);
        }
    }
}

impl Kernel {
    #[inline(never)]
    fn reads_open_word_line(&self, dev: &Device, host: &Host, features: &Features, rules: &Rules, op: OpId) -> bool {
        let page = &self.ops[op];
        let at = match dev.map.get(page.lpn) {
            _ if page.need == Need::Merge => self.merge_source(dev, host, features, op),
            Location::Flash(at) => at,
            _ => Ppn::NONE,
        };
        at.is_some() && dev.page_waits(rules, at)
    }

    /// Whether an operation wants to read a page of a word line that has not been programmed yet.
    #[inline(always)]
    pub(in crate::engine) fn waits_for_word_line(
        &self,
        dev: &Device,
        host: &Host,
        features: &Features,
        rules: &Rules,
        op: OpId,
    ) -> bool {
        rules.one_shot && self.reads_open_word_line(dev, host, features, rules, op)
    }

    /// Sets up the program of a checked move from the registers ([`Gc::returns_in_die`]).
    #[inline(never)]
    pub(super) fn program_from_register(
        &mut self,
        dev: &mut Device,
        gc: &Gc,
        features: &mut Features,
        stats: &mut Stats,
        rules: &Rules,
        op: OpId,
    ) {
        let from = self.ops[op].from;
        // Time of the legs so far; the rest is counted at the end.
        self.count_time(stats, op);
        let stream = gc.jobs[self.ops[op].job.0].stream;
        let mut to = PageSet::EMPTY;
        for page in from.iter() {
            let plane = dev.geometry.plane_of(*page);
            to.push(dev.gc_page(rules, plane, stream, true));
        }
        dev.assert_multi_plane(&to);
        if rules.tenants {
            features.tenants_moved(dev, rules, &from);
        }
        stats.count_copybacks(to.len() as u64);
        let array = dev.timing.programs(&dev.places(&to)[..to.len()]);
        let legs = dev.timing.legs(Command::ProgramFromRegister { array });
        stats.gc_time.program += array.0;
        let state = &mut self.ops[op];
        state.verb = Verb::Copyback;
        state.pages = to;
        state.legs = legs;
        state.leg = 0;
    }
}

impl Gc {
    /// A checked move has been read out and decoded. Returns whether its pages return from their registers: then the same operation
    /// programs them at once, because no other operation may use the registers in between.
    #[inline(never)]
    pub(super) fn returns_in_die(
        &mut self,
        kernel: &Kernel,
        dev: &mut Device,
        features: &Features,
        schemes: &mut Policies,
        now: Nanos,
        op: OpId,
    ) -> bool {
        let from = kernel.ops[op].from;
        let job = kernel.ops[op].job;
        if kernel.ops[op].class != Class::Gc || !self.jobs[job.0].journey.checked {
            return false;
        }
        // With an interconnect, the result of decoding was applied at the CPU.
        let back = if features.noc.is_some() {
            self.jobs[job.0].rest
        } else {
            dev.way_back(now, schemes.path_of(&mut self.jobs, job), &from)
        };
        back == Hop::Die
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
        if let Some(newest) = self.kernel.merged_write(&self.dev, &self.rules, op) {
            self.discard_old(newest);
        }
        let (kernel, oracle) = (&mut self.kernel, &mut self.oracle);
        self.host.merge_ends(kernel, &self.features, oracle, &self.rules, self.now, op);
        self.place_merged();
    }
}
