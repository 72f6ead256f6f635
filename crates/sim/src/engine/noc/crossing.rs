//! The way of an operation's pages: into the flash controller's buffer, across, and back.

use crate::blame::Cause;
use crate::device::command::Legs;
use crate::device::transaction::{Class, Verb};
use crate::engine::kernel::ops::Crossing;
use crate::engine::{Nanos, Ssd};
use crate::policy::Hop;
use crate::report::noc::Way;
use crate::units::{JobId, OpId};

impl Ssd {
    /// A program begins: its pages cross first.
    #[inline(always)]
    pub(in crate::engine) fn cross_in(&mut self, id: OpId) {
        if self.features.noc.is_none() {
            return;
        }
        let op = &self.kernel.ops[id];
        if op.verb == Verb::Program && op.leg == 0 && self.kernel.ops.crossing[id].crossing != Crossing::Over {
            self.begins_crossing(id);
        }
    }

    #[inline(never)]
    fn begins_crossing(&mut self, id: OpId) {
        let op = &self.kernel.ops[id];
        let (pages, crossing) = match (op.class, op.job) {
            (class, _) if class.like_host() => {
                let (mut pages, mut at) = (0, id);
                while at.is_some() {
                    pages += 1;
                    at = self.kernel.ops[at].mate;
                }
                (pages, pages)
            }
            (Class::Gc, job) if job.is_some() => {
                let pages = op.pages.len() as u64;
                (pages, if self.gc.jobs[job.0].rest == Hop::Controller { pages } else { 0 })
            }
            // The page is already in this channel's buffer.
            _ if self.kernel.ops.crossing[id].crossing == Crossing::Under => (1, 0),
            _ => (op.pages.len() as u64, op.pages.len() as u64),
        };
        let net = self.features.net();
        let across = net.traversal(self.dev.geometry.unit_bytes).0 * crossing;
        let buffer = net.sram_write.0 * crossing + net.sram_read.0 * pages;
        self.kernel.ops.crossing[id].crossing = Crossing::Over;
        let op = &mut self.kernel.ops[id];
        op.legs = op.legs.after_crossing(Nanos(across), Nanos(buffer));
        let way = if op.class.like_host() { Way::HostWrite } else { Way::GcBack };
        self.stats.noc.traversals.add(way, crossing);
        self.buffer(id, crossing as i64);
    }

    /// The legs of an operation have ended. Whether it continues across the interconnect, or from the buffer to the flash.
    #[inline(always)]
    pub(in crate::engine) fn crosses_out(&mut self, id: OpId) -> bool {
        self.features.noc.is_some() && self.leaves_crossing(id)
    }

    #[inline(never)]
    fn leaves_crossing(&mut self, id: OpId) -> bool {
        let op = &self.kernel.ops[id];
        match (op.verb, self.kernel.ops.crossing[id].crossing) {
            (Verb::Read, Crossing::Ahead) => self.leave_flash(id),
            (Verb::Read, Crossing::Under) if op.class == Class::Gc && op.job.is_some() => self.verdict(id),
            _ => {
                self.kernel.ops.crossing[id].crossing = Crossing::Ahead;
                self.buffer(id, -i64::from(self.kernel.ops.crossing[id].buffered));
                return false;
            }
        }
        true
    }

    /// A read's pages enter the buffer, and continue as far as they have to.
    fn leave_flash(&mut self, id: OpId) {
        if self.kernel.ops[id].class == Class::Gc {
            self.count_time(id);
        }
        if let Some(since) = self.kernel.ops[id].parked_since.take() {
            // R8, without a transfer that would have recorded the wait: it waited for the cache register, which a page on its way
            // out held.
            let waited = (self.now - since.time()).0;
            self.charge(id, Cause::NocHost, waited);
        }
        let (op, net, page_size) = (&self.kernel.ops[id], self.features.net(), self.dev.geometry.unit_bytes);
        let (leaving, crossing, way, legs);
        if op.class == Class::Gc && op.job.is_some() {
            leaving = op.from.len() as u64;
            crossing = if self.gc.jobs[op.job.0].journey.out == Hop::Controller { leaving } else { 0 };
            way = Way::GcOut;
            let across = Nanos(net.traversal(page_size).0 * crossing);
            let (enter, decode) = (Nanos(net.sram_write.0 * leaving), Nanos(net.decode.0 * leaving));
            legs = Legs::crossing_to_check(enter, across, decode);
        } else {
            let (mut pages, mut across) = (0, 0);
            if op.class.like_host() {
                let mut at = id;
                while at.is_some() {
                    across += net.traversal(self.kernel.bytes_read(&self.dev, &self.rules, at)).0;
                    pages += 1;
                    at = self.kernel.ops[at].mate;
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
        self.stats.noc.traversals.add(way, crossing);
        self.buffer(id, leaving as i64);
        self.kernel.ops.crossing[id].crossing = Crossing::Under;
        let op = &mut self.kernel.ops[id];
        op.legs = legs;
        op.leg = 0;
        self.run_leg(id);
    }

    /// Error correction has checked the pages of a move. Those that may be programmed from the buffer are programmed at once.
    fn verdict(&mut self, id: OpId) {
        self.count_time(id);
        let (job, from) = (self.kernel.ops[id].job, self.kernel.ops[id].from);
        let journey = self.gc.jobs[job.0].journey;
        let mut joint = if journey.checked { Hop::Die } else { Hop::Controller };
        for page in from.iter() {
            let wrong = match &self.dev.errors {
                Some(model) => model.errors(*page, self.dev.geometry.block_of(*page), self.now) > 0,
                None => self.dev.page_errors.in_page(),
            };
            self.stats.noc.checked += 1;
            self.stats.noc.errors += u64::from(wrong);
            if journey.checked {
                let path = self.schemes.path_of(&mut self.gc.jobs, job);
                joint = joint.farther(path.back(&self.dev.view(self.now), *page, !wrong));
            }
        }
        self.gc.jobs[job.0].rest = joint;
        self.kernel.ops.crossing[id].crossing = Crossing::Over;
        let pages = from.len() as u64;
        if joint == Hop::Fmc {
            self.stats.noc.local += pages;
            return self.write_back(job, id);
        }
        if joint == Hop::Die {
            // The register still holds them.
            self.kernel.ops[id].legs = Legs::NONE;
            return self.run_leg(id);
        }
        // The CPU corrects pages with errors. If the flash controller found the errors, those pages cross now.
        let late = if journey.out == Hop::Fmc { pages } else { 0 };
        let (net, page_size) = (self.features.net(), self.dev.geometry.unit_bytes);
        let across = Nanos(net.traversal(page_size).0 * late);
        let legs = Legs::crossing_late(across, Nanos(net.sram_read.0 * pages));
        self.stats.noc.traversals.add(Way::GcOut, late);
        self.kernel.ops[id].legs = legs;
        self.kernel.ops[id].leg = 0;
        self.run_leg(id);
    }

    /// Programs clean pages from the buffer in the same task.
    fn write_back(&mut self, job: JobId, id: OpId) {
        self.end_reads(id);
        let (unit, hand) = (self.kernel.ops[id].unit, self.kernel.ops[id].from);
        self.gc.jobs[job.0].job.hand = hand;
        self.kernel.ops[id].verb = Verb::Program;
        self.kernel.dies[unit].vacate();
        if self.sends_abroad(job) {
            self.kernel.ops.crossing[id].crossing = Crossing::Ahead;
            return;
        }
        self.begin_place(job);
        self.kernel.dies[unit].occupy(id);
        let read = Nanos(self.features.net().sram_read.0 * hand.len() as u64);
        let op = &mut self.kernel.ops[id];
        op.legs = op.legs.after_buffer(read);
        op.leg = 0;
        self.run_leg(id);
    }

    /// The program of a page in hand goes to another unit. The page comes from its channel's buffer, which that operation then
    /// frees, or across the interconnect.
    #[inline(always)]
    pub(in crate::engine) fn crosses_abroad(&mut self, job: JobId, program: OpId) {
        if self.features.noc.is_some() {
            self.continues_abroad(job, program);
        }
    }

    #[inline(never)]
    fn continues_abroad(&mut self, job: JobId, program: OpId) {
        let (read, rest) = (self.gc.jobs[job.0].op, self.gc.jobs[job.0].rest);
        if rest != Hop::Fmc {
            return;
        }
        let target = self.kernel.ops[program].plane;
        if self.dev.geometry.channel_of(target) == self.kernel.ops[read].channel {
            self.kernel.ops.crossing[read].buffered -= 1;
            self.kernel.ops.crossing[program].crossing = Crossing::Under;
            self.kernel.ops.crossing[program].buffered = 1;
        } else {
            self.buffer(read, -1);
        }
    }

    /// Pages of an operation enter or leave its channel's buffer.
    pub(super) fn buffer(&mut self, id: OpId, pages: i64) {
        if pages == 0 {
            return;
        }
        let buffered = &mut self.kernel.ops.crossing[id].buffered;
        *buffered = (i64::from(*buffered) + pages) as u8;
        let channel = self.kernel.ops[id].channel.ix();
        let held = &mut self.features.noc_mut().buffered[channel];
        *held =
            u32::try_from(i64::from(*held) + pages).expect("law: no more pages leave a buffer than have entered it");
        let held = u64::from(*held);
        self.stats.noc.buffer_pages_max = self.stats.noc.buffer_pages_max.max(held);
    }
}
