//! The way of an operation's pages: into the flash controller's buffer, across, and back.

use crate::blame::Cause;
use crate::device::command::Legs;
use crate::device::transaction::{Class, Verb};
use crate::engine::features::noc::Noc;
use crate::engine::kernel::Kernel;
use crate::engine::kernel::ops::Crossing;
use crate::engine::rules::Rules;
use crate::engine::{Device, Features, Gc, Nanos, Policies, Ssd};
use crate::policy::Hop;
use crate::report::noc::Way;
use crate::stats::Stats;
use crate::units::{JobId, OpId};

impl Noc {
    #[inline(never)]
    fn begins_crossing(&mut self, kernel: &mut Kernel, dev: &Device, gc: &Gc, stats: &mut Stats, id: OpId) {
        let op = &kernel.ops[id];
        let (pages, crossing) = match (op.class, op.job) {
            (class, _) if class.like_host() => {
                let (mut pages, mut at) = (0, id);
                while at.is_some() {
                    pages += 1;
                    at = kernel.ops[at].mate;
                }
                (pages, pages)
            }
            (Class::Gc, job) if job.is_some() => {
                let pages = op.pages.len() as u64;
                (pages, if gc.jobs[job.0].rest == Hop::Controller { pages } else { 0 })
            }
            // The page is already in this channel's buffer.
            _ if kernel.ops.crossing[id].crossing == Crossing::Under => (1, 0),
            _ => (op.pages.len() as u64, op.pages.len() as u64),
        };
        let net = &self.net;
        let across = net.traversal(dev.geometry.unit_bytes).0 * crossing;
        let buffer = net.sram_write.0 * crossing + net.sram_read.0 * pages;
        kernel.ops.crossing[id].crossing = Crossing::Over;
        let op = &mut kernel.ops[id];
        op.legs = op.legs.after_crossing(Nanos(across), Nanos(buffer));
        let way = if op.class.like_host() { Way::HostWrite } else { Way::GcBack };
        stats.noc.traversals.add(way, crossing);
        self.buffer(kernel, stats, id, crossing as i64);
    }

    #[inline(never)]
    fn continues_abroad(
        &mut self,
        kernel: &mut Kernel,
        dev: &Device,
        gc: &Gc,
        stats: &mut Stats,
        job: JobId,
        program: OpId,
    ) {
        let (read, rest) = (gc.jobs[job.0].op, gc.jobs[job.0].rest);
        if rest != Hop::Fmc {
            return;
        }
        let target = kernel.ops[program].plane;
        if dev.geometry.channel_of(target) == kernel.ops[read].channel {
            kernel.ops.crossing[read].buffered -= 1;
            kernel.ops.crossing[program].crossing = Crossing::Under;
            kernel.ops.crossing[program].buffered = 1;
        } else {
            self.buffer(kernel, stats, read, -1);
        }
    }

    /// Pages of an operation enter or leave its channel's buffer.
    pub(super) fn buffer(&mut self, kernel: &mut Kernel, stats: &mut Stats, id: OpId, pages: i64) {
        if pages == 0 {
            return;
        }
        let buffered = &mut kernel.ops.crossing[id].buffered;
        *buffered = (i64::from(*buffered) + pages) as u8;
        let channel = kernel.ops[id].channel.ix();
        let held = &mut self.buffered[channel];
        *held =
            u32::try_from(i64::from(*held) + pages).expect("law: no more pages leave a buffer than have entered it");
        let held = u64::from(*held);
        stats.noc.buffer_pages_max = stats.noc.buffer_pages_max.max(held);
    }
}

impl Features {
    /// A program begins: its pages cross first.
    #[inline(always)]
    pub(in crate::engine) fn cross_in(
        &mut self,
        kernel: &mut Kernel,
        dev: &Device,
        gc: &Gc,
        stats: &mut Stats,
        id: OpId,
    ) {
        let Some(noc) = &mut self.noc else { return };
        let op = &kernel.ops[id];
        if op.verb == Verb::Program && op.leg == 0 && kernel.ops.crossing[id].crossing != Crossing::Over {
            noc.begins_crossing(kernel, dev, gc, stats, id);
        }
    }

    /// The program of a page in hand goes to another unit. The page comes from its channel's buffer, which that operation then
    /// frees, or across the interconnect.
    #[inline(always)]
    pub(in crate::engine) fn crosses_abroad(
        &mut self,
        kernel: &mut Kernel,
        dev: &Device,
        gc: &Gc,
        stats: &mut Stats,
        job: JobId,
        program: OpId,
    ) {
        if let Some(noc) = &mut self.noc {
            noc.continues_abroad(kernel, dev, gc, stats, job, program);
        }
    }

    /// A read's pages enter the buffer, and continue as far as they have to.
    fn leaves_flash(&mut self, kernel: &mut Kernel, dev: &Device, gc: &Gc, stats: &mut Stats, rules: &Rules, id: OpId) {
        let (op, net, page_size) = (&kernel.ops[id], self.net(), dev.geometry.unit_bytes);
        let (leaving, crossing, way, legs);
        if op.class == Class::Gc && op.job.is_some() {
            leaving = op.from.len() as u64;
            crossing = if gc.jobs[op.job.0].journey.out == Hop::Controller { leaving } else { 0 };
            way = Way::GcOut;
            let across = Nanos(net.traversal(page_size).0 * crossing);
            let (enter, decode) = (Nanos(net.sram_write.0 * leaving), Nanos(net.decode.0 * leaving));
            legs = Legs::crossing_to_check(enter, across, decode);
        } else {
            let (mut pages, mut across) = (0, 0);
            if op.class.like_host() {
                let mut at = id;
                while at.is_some() {
                    across += net.traversal(kernel.bytes_read(dev, rules, at)).0;
                    pages += 1;
                    at = kernel.ops[at].mate;
                }
                way = Way::HostRead;
            } else {
                pages = op.pages.len() as u64;
                across = net.traversal(page_size).0 * pages;
                way = Way::GcOut;
            }
            (leaving, crossing) = (pages, pages);
            let (enter, leave) = (Nanos(net.sram_write.0 * pages), Nanos(net.sram_read.0 * pages));
            legs = Legs::crossing_out(enter, Nanos(across), leave);
        }
        stats.noc.traversals.add(way, crossing);
        self.noc_mut().buffer(kernel, stats, id, leaving as i64);
        kernel.ops.crossing[id].crossing = Crossing::Under;
        let op = &mut kernel.ops[id];
        op.legs = legs;
        op.leg = 0;
    }

    /// Checked pages of a move go on to where they are programmed from, which is not the buffer.
    #[inline(always)]
    fn leaves_check(&self, kernel: &mut Kernel, dev: &Device, gc: &Gc, stats: &mut Stats, id: OpId, joint: Hop) {
        if joint == Hop::Die {
            // The register still holds them.
            kernel.ops[id].legs = Legs::NONE;
            return;
        }
        // The CPU corrects pages with errors. If the flash controller found the errors, those pages cross now.
        let pages = kernel.ops[id].from.len() as u64;
        let late = if gc.jobs[kernel.ops[id].job.0].journey.out == Hop::Fmc { pages } else { 0 };
        let (net, page_size) = (self.net(), dev.geometry.unit_bytes);
        let across = Nanos(net.traversal(page_size).0 * late);
        let legs = Legs::crossing_late(across, Nanos(net.sram_read.0 * pages));
        stats.noc.traversals.add(Way::GcOut, late);
        kernel.ops[id].legs = legs;
        kernel.ops[id].leg = 0;
    }
}

impl Gc {
    /// Error correction checks the pages of a move. Returns where they are programmed from.
    fn checks(
        &mut self,
        kernel: &Kernel,
        dev: &mut Device,
        stats: &mut Stats,
        schemes: &mut Policies,
        now: Nanos,
        id: OpId,
    ) -> Hop {
        let (job, from) = (kernel.ops[id].job, kernel.ops[id].from);
        let journey = self.jobs[job.0].journey;
        let mut joint = if journey.checked { Hop::Die } else { Hop::Controller };
        for page in from.iter() {
            let wrong = match &dev.errors {
                Some(model) => model.errors(*page, dev.geometry.block_of(*page), now) > 0,
                None => dev.page_errors.in_page(),
            };
            stats.noc.checked += 1;
            stats.noc.errors += u64::from(wrong);
            if journey.checked {
                let path = schemes.path_of(&mut self.jobs, job);
                joint = joint.farther(path.back(&dev.view(now), *page, !wrong));
            }
        }
        self.jobs[job.0].rest = joint;
        joint
    }
}

impl Ssd {
    /// The legs of an operation have ended. Whether it continues across the interconnect, or from the buffer to the flash.
    #[inline(never)]
    pub(in crate::engine) fn crosses_out(&mut self, id: OpId) -> bool {
        let op = &self.kernel.ops[id];
        match (op.verb, self.kernel.ops.crossing[id].crossing) {
            (Verb::Read, Crossing::Ahead) => {
                if op.class == Class::Gc {
                    self.kernel.count_time(&mut self.stats, id);
                }
                if let Some(since) = self.kernel.ops[id].parked_since.take() {
                    // R8, without a transfer that would have recorded the wait: it waited for the cache register, which a page on
                    // its way out held.
                    let waited = (self.now - since.time()).0;
                    self.kernel.charge(&mut self.features, &self.rules, self.now, id, Cause::NocHost, waited);
                }
                let (dev, gc) = (&self.dev, &self.gc);
                self.features.leaves_flash(&mut self.kernel, dev, gc, &mut self.stats, &self.rules, id);
                self.run_leg(id);
            }
            (Verb::Read, Crossing::Under) if op.class == Class::Gc && op.job.is_some() => self.verdict(id),
            _ => {
                self.kernel.ops.crossing[id].crossing = Crossing::Ahead;
                let held = -i64::from(self.kernel.ops.crossing[id].buffered);
                self.features.noc_mut().buffer(&mut self.kernel, &mut self.stats, id, held);
                return false;
            }
        }
        true
    }

    /// Error correction has checked the pages of a move. Those that may be programmed from the buffer are programmed at once.
    fn verdict(&mut self, id: OpId) {
        self.kernel.count_time(&mut self.stats, id);
        let joint = self.gc.checks(&self.kernel, &mut self.dev, &mut self.stats, &mut self.schemes, self.now, id);
        self.kernel.ops.crossing[id].crossing = Crossing::Over;
        if joint != Hop::Fmc {
            self.features.leaves_check(&mut self.kernel, &self.dev, &self.gc, &mut self.stats, id, joint);
            return self.run_leg(id);
        }
        // Clean pages are programmed from the buffer in the same task.
        let (job, unit, hand) = (self.kernel.ops[id].job, self.kernel.ops[id].unit, self.kernel.ops[id].from);
        self.stats.noc.local += hand.len() as u64;
        self.dev.end_reads(&self.kernel, id);
        self.gc.jobs[job.0].job.hand = hand;
        self.kernel.ops[id].verb = Verb::Program;
        self.kernel.dies[unit].vacate();
        if let Some(program) = self.gc.sends_abroad(&mut self.kernel, &mut self.dev, &self.config, self.now, job) {
            self.features.crosses_abroad(&mut self.kernel, &self.dev, &self.gc, &mut self.stats, job, program);
            self.gc.sent_abroad(&mut self.kernel, &self.dev, self.now, job);
            self.enqueue(program, self.kernel.ops[program].plane, false);
            self.gc.ready.push(job);
            self.kernel.ops.crossing[id].crossing = Crossing::Ahead;
            return;
        }
        self.gc.begin_place(&mut self.kernel, &mut self.dev, &mut self.stats, &self.rules, &self.config, job);
        self.features.tenants_moved_by(&self.kernel, &self.dev, &self.rules, id);
        self.kernel.dies[unit].occupy(id);
        let read = Nanos(self.features.net().sram_read.0 * hand.len() as u64);
        let op = &mut self.kernel.ops[id];
        op.legs = op.legs.after_buffer(read);
        op.leg = 0;
        self.run_leg(id);
    }
}
