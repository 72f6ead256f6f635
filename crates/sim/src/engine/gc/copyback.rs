//! Copybacks whose number is limited: the path copies to a separate write point, and may return decoded pages from their registers.
//! What is counted of them, by page and for the report.

use crate::config::Config;
use crate::device::command::Command;
use crate::device::flash::Stream;
use crate::device::transaction::{Class, Verb};
use crate::engine::kernel::Kernel;
use crate::engine::rules::Rules;
use crate::engine::{Device, Features, Gc, Host, Policies, Ssd};
use crate::policy::{Hop, PageSet};
use crate::report::fastgc::{Facts, FastGc};
use crate::stats::Stats;
use crate::units::{BlockId, Nanos, OpId, Ppn, RequestId};

impl Device {
    /// The write point of a page that is moved by copyback, if the path separates copies; otherwise that of its stream.
    #[inline(always)]
    pub(in crate::engine) fn point_of_copies(&self, rules: &Rules, stream: Stream, copied: bool) -> Stream {
        if rules.separates && copied && stream == Stream::Gc { Stream::Copyback } else { stream }
    }

    /// The block to which a page would be copied, if the path separates copies; otherwise its own block.
    #[inline(always)]
    pub(in crate::engine) fn block_of_copy(&self, rules: &Rules, page: Ppn, stream: Stream) -> BlockId {
        let mut to = None;
        if rules.separates {
            let plane = self.geometry.plane_of(page);
            to = self.flash.next_block(plane, self.write_point(rules, plane, stream, true));
        }
        to.unwrap_or_else(|| self.geometry.block_of(page))
    }

    /// Mean P/E cycles of a block.
    fn mean_pe_cycles(&self, config: &Config) -> u32 {
        let blocks = u64::from(self.geometry.planes) * u64::from(self.geometry.blocks_per_plane);
        let mean = (self.flash.erases_total() / blocks) as u32;
        config.wear.pe_cycles.saturating_add(mean)
    }

    /// The report of copybacks, and of what wears the device out.
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

    /// Adds the response time of a request to the stage of life in which it has completed.
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
}

impl Kernel {
    /// Sets up the program of a checked move from the registers ([`Gc::returns_in_die`]).
    #[inline(never)]
    fn program_from_register(
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
        features.tenants_moved(dev, rules, &from);
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
    fn returns_in_die(
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

/// A step of a collection has run its legs. Returns whether it goes on: its pages were read out and decoded, and return from their
/// registers. Never where the path does not separate copies.
#[inline(always)]
pub(in crate::engine) fn goes_on(ssd: &mut Ssd, id: OpId) -> bool {
    if !ssd.rules.separates
        || ssd.kernel.ops[id].verb != Verb::Read
        || !ssd.gc.returns_in_die(&ssd.kernel, &mut ssd.dev, &ssd.features, &mut ssd.schemes, ssd.now, id)
    {
        return false;
    }
    let (features, stats) = (&mut ssd.features, &mut ssd.stats);
    ssd.kernel.program_from_register(&mut ssd.dev, &ssd.gc, features, stats, &ssd.rules, id);
    ssd.run_leg(id);
    true
}
