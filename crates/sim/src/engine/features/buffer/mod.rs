//! The controller's buffer: pages are staged, wait, and are written back when no operation waits for a die.

mod writeback;

use crate::config::Config;
use crate::device::flash::Stream;
use crate::device::mapping::Location;
use crate::device::staging::Segment;
use crate::device::transaction::{Class, Fifo, Need, Op, Verb};
use crate::engine::Pause;
use crate::engine::kernel::Kernel;
use crate::engine::kernel::ops::{NO_SEGMENT, Page};
use crate::engine::rules::Rules;
use crate::engine::{Device, Features, Gc, Ssd};
use crate::oracle::Oracle;
use crate::policy::{BackTo, PageSet, Step, WriteBack};
use crate::stats::Stats;
use crate::units::{JobId, Lpn, Nanos, OpId, PlaneId};

/// Executes a step of a collection that concerns only the buffer, or that stages the hand. Returns a step that continues to the flash:
/// every one where GC leaves no pages in the buffer.
#[inline(always)]
pub(in crate::engine) fn takes_step(ssd: &mut Ssd, id: JobId, step: Step) -> Option<Step> {
    if ssd.rules.stages { take_step(ssd, id, step) } else { Some(step) }
}

#[inline(never)]
fn take_step(ssd: &mut Ssd, id: JobId, step: Step) -> Option<Step> {
    let (kernel, dev, features) = (&mut ssd.kernel, &mut ssd.dev, &mut ssd.features);
    let rest = ssd.gc.carry_staging(kernel, dev, features, ssd.now, id, step)?;
    if matches!(rest, Step::Stage) {
        ssd.gc.stage_hand(kernel, dev, features, &mut ssd.stats, ssd.now, id);
        return None;
    }
    Some(rest)
}

impl Device {
    fn plan(&self) -> &WriteBack {
        self.staging.plan.as_ref().expect("a buffer with slots has a plan")
    }

    fn frees_slot(&mut self, now: Nanos) {
        self.staging.release(1);
        self.staging.filled.change(-1, now);
    }

    /// A page leaves the buffer, because it is on flash or no longer needed.
    fn leaves_buffer(&mut self, kernel: &mut Kernel, gc: &mut Gc, now: Nanos, absorbed: bool, segment: u32) {
        let staging = &mut self.staging;
        let pages = &mut staging.segments[segment];
        pages.pending -= 1;
        pages.absorbed -= u32::from(absorbed);
        if absorbed || pages.job.is_none() {
            staging.exposed.change(-1, now);
        }
        if pages.pending > 0 {
            return;
        }
        if pages.job.is_none() {
            return staging.segments.remove(segment);
        }
        let running = &mut gc.jobs[pages.job.0];
        if running.pause == Pause::Durable {
            let (unit, job) = (running.unit, pages.job);
            if running.holds {
                kernel.dies.mark(unit);
            } else {
                running.pause = Pause::No;
                gc.ready.push(job);
            }
        }
    }

    /// A page that is trimmed, or that a host write sends to flash, no longer waits in the buffer. Returns the plane where a page
    /// was reserved for it, if that may be the host's now.
    #[inline(always)]
    pub(in crate::engine) fn drop_buffered(
        &mut self,
        kernel: &mut Kernel,
        gc: &mut Gc,
        rules: &Rules,
        now: Nanos,
        lpn: Lpn,
    ) -> Option<PlaneId> {
        if rules.stages { self.drops_buffered(kernel, gc, now, lpn) } else { None }
    }

    #[inline(never)]
    fn drops_buffered(&mut self, kernel: &mut Kernel, gc: &mut Gc, now: Nanos, lpn: Lpn) -> Option<PlaneId> {
        let Location::Staged(op) = self.map.get(lpn) else { return None };
        if !kernel.waits_in_buffer(op) {
            return None;
        }
        // It stays in the queue without a page, and is skipped.
        kernel.ops[op].lpn = Lpn::NONE;
        self.staging.stale = true;
        let (absorbed, segment) = (kernel.ops.buffer[op].absorbed, kernel.ops.buffer[op].segment);
        self.frees_slot(now);
        self.leaves_buffer(kernel, gc, now, absorbed, segment);
        if !self.goes_home() {
            return None;
        }
        let plane = kernel.ops[op].plane;
        self.flash.keep_promise(plane);
        self.flash.next_offset(plane, Stream::Host).is_some().then_some(plane)
    }

    /// A host write is admitted. Returns whether it replaces its page in the buffer, where that waits: nothing is written to flash for
    /// it now. False without a buffer.
    #[inline(always)]
    pub(in crate::engine) fn absorb(
        &mut self,
        kernel: &mut Kernel,
        oracle: &mut Oracle,
        rules: &Rules,
        config: &Config,
        now: Nanos,
        op: OpId,
    ) -> bool {
        rules.stages && self.absorbs(kernel, oracle, config, now, op)
    }

    /// The same with a buffer.
    #[inline(never)]
    fn absorbs(&mut self, kernel: &mut Kernel, oracle: &mut Oracle, config: &Config, now: Nanos, op: OpId) -> bool {
        let Location::Staged(page) = self.map.get(kernel.ops[op].lpn) else { return false };
        if !self.plan().absorb || !kernel.waits_in_buffer(page) {
            return false;
        }
        kernel.ops[op].need = Need::Absorb;
        let tag = kernel.ops[Page(op)].tags[0];
        let before = std::mem::replace(&mut kernel.ops[Page(page)].tags[0], tag);
        kernel.ops[page].lost = false;
        let buffered = &mut kernel.ops.buffer[page];
        let segment = buffered.segment;
        let again = std::mem::replace(&mut buffered.absorbed, true);
        let staging = &mut self.staging;
        let pages = &mut staging.segments[segment];
        if !again {
            pages.absorbed += 1;
            if pages.job.is_some() {
                staging.exposed.change(1, now);
            }
        }
        kernel.overlay(self, oracle, config, op, before);
        true
    }
}

impl Kernel {
    /// Whether a page is still waiting in the buffer.
    fn waits_in_buffer(&self, op: OpId) -> bool {
        self.ops[op].class == Class::Writeback && self.ops[op].unit.is_none()
    }
}

impl Gc {
    fn take_slots(&mut self, id: JobId, pages: u32) {
        let slots = &mut self.jobs[id.0].job.slots;
        *slots = slots.and_then(|slots| slots.checked_sub(pages));
        law!(slots.is_some(), "law: pages are staged in reserved slots");
    }

    /// A page that a partial write still has to read stays on flash: the buffer holds only newest versions.
    #[inline(never)]
    fn must_be_placed(&self, dev: &Device, id: JobId) -> bool {
        self.jobs[id.0].job.hand.iter().any(|page| {
            let lpn = dev.flash.lpn_of(*page);
            lpn.is_some() && dev.map.get(lpn) != Location::Flash(*page)
        })
    }

    /// The segment of a collection, with one more page.
    fn segment_of(&mut self, dev: &mut Device, id: JobId) -> u32 {
        let segment = &mut self.jobs[id.0].segment;
        if *segment == NO_SEGMENT {
            *segment = dev.staging.segments.insert(Segment { pending: 0, absorbed: 0, job: id });
        }
        dev.staging.segments[*segment].pending += 1;
        *segment
    }

    /// Whether the erase of a collection's victims waits for its pages in the buffer.
    pub(in crate::engine) fn awaits_durability(&self, dev: &Device, id: JobId) -> bool {
        let segment = self.jobs[id.0].segment;
        segment != NO_SEGMENT && dev.staging.segments[segment].pending > 0
    }

    #[inline(never)]
    fn sees_contention(&mut self, kernel: &Kernel, dev: &Device, id: JobId) {
        let running = &self.jobs[id.0];
        // What was seen holds until slots are reserved for it: a pause or a read of metadata may come between.
        let mut waits = running.job.contended;
        if kernel.ops[running.op].verb != Verb::Program {
            let mut at = kernel.dies[running.unit].queue.head();
            while at.is_some() && !waits {
                waits = kernel.ops[at].class == Class::Host;
                at = kernel.ops[at].next;
            }
            waits |= (0..dev.geometry.planes_per_unit)
                .any(|k| !self.planes[dev.geometry.plane_of_unit(running.unit, k).ix()].stalled.is_empty());
        }
        self.jobs[id.0].job.contended = waits;
    }

    /// The last reserved slot of a collection is filled: its segment may be written back.
    fn hand_over(&mut self, kernel: &mut Kernel, dev: &mut Device, id: JobId) {
        if self.jobs[id.0].job.slots != Some(0) {
            return;
        }
        let mut staged = std::mem::replace(&mut self.jobs[id.0].staged, Fifo::EMPTY);
        let to = dev.plan().to;
        loop {
            let op = staged.pop(&kernel.ops);
            if op.is_none() {
                return;
            }
            if kernel.ops[op].lpn.is_none() {
                // Trimmed while it waited for the others.
                kernel.ops.remove(op);
                continue;
            }
            let staging = &mut dev.staging;
            staging.waiting += 1;
            staging.stale = true;
            match to {
                BackTo::IdleChips => staging.ready.push(&mut kernel.ops, op),
                BackTo::OwnPlane => {
                    let unit = dev.geometry.unit_of(kernel.ops[op].plane);
                    staging.own[unit.ix()].push(&mut kernel.ops, op);
                }
            }
        }
    }

    #[inline(never)]
    fn exposes_segment(&mut self, dev: &mut Device, now: Nanos, id: JobId) {
        let segment = std::mem::replace(&mut self.jobs[id.0].segment, NO_SEGMENT);
        if segment == NO_SEGMENT {
            return;
        }
        let staging = &mut dev.staging;
        let pages = &mut staging.segments[segment];
        pages.job = JobId::NONE;
        staging.exposed.change(i64::from(pages.pending - pages.absorbed), now);
        if pages.pending == 0 {
            staging.segments.remove(segment);
        }
    }

    /// Executes a step that concerns only the buffer; returns a step that continues to the flash, or that stages the hand.
    #[inline(never)]
    fn carry_staging(
        &mut self,
        kernel: &mut Kernel,
        dev: &mut Device,
        features: &mut Features,
        now: Nanos,
        id: JobId,
        step: Step,
    ) -> Option<Step> {
        match step {
            Step::Reserve(slots) => {
                let job = &mut self.jobs[id.0].job;
                job.contended = false;
                let before = job.slots.replace(slots);
                law!(before.is_none(), "law: a collection reserves slots once");
                dev.staging.reserve(slots);
                features.count_conflict(|counters| counters.streams += 1);
            }
            Step::Stage if self.must_be_placed(dev, id) => {
                let pages = self.jobs[id.0].job.hand.len() as u32;
                self.take_slots(id, pages);
                dev.staging.release(pages);
                self.hand_over(kernel, dev, id);
                return Some(Step::Place);
            }
            Step::Erase | Step::Done => {
                // Overwritten pages need no slot.
                if let Some(left) = self.jobs[id.0].job.slots.filter(|left| *left > 0) {
                    self.take_slots(id, left);
                    dev.staging.release(left);
                    self.hand_over(kernel, dev, id);
                }
                if matches!(step, Step::Erase) && !dev.plan().erase_first && self.awaits_durability(dev, id) {
                    // If no plane has room, the end of the reads lets its pages use the reserve.
                    dev.staging.stale = true;
                    if self.jobs[id.0].holds {
                        self.pause(kernel, dev, now, id, Pause::Durable);
                    } else {
                        self.jobs[id.0].pause = Pause::Durable;
                    }
                    return None;
                }
                return Some(step);
            }
            Step::Stage | Step::Move(..) | Step::Fetch(..) | Step::Place | Step::Skip(..) => return Some(step),
        }
        self.ready.push(id);
        None
    }

    /// Moves pages in hand to reserved slots. From now on the map points to them there.
    #[inline(never)]
    fn stage_hand(
        &mut self,
        kernel: &mut Kernel,
        dev: &mut Device,
        features: &mut Features,
        stats: &mut Stats,
        now: Nanos,
        id: JobId,
    ) {
        let hand = std::mem::replace(&mut self.jobs[id.0].job.hand, PageSet::EMPTY);
        self.take_slots(id, hand.len() as u32);
        let tags = kernel.ops[Page(self.jobs[id.0].op)].tags;
        for (i, page) in hand.iter().enumerate() {
            let lpn = dev.flash.lpn_of(*page);
            if features.nvme.is_some() {
                features.tenant_staged(*page);
            }
            if lpn.is_none() {
                // Overwritten or trimmed since its read: no longer needed.
                dev.staging.release(1);
                continue;
            }
            let block = dev.geometry.block_of(*page);
            if dev.goes_home() {
                dev.flash.promise(dev.geometry.plane_of(*page));
            }
            let op = Op {
                class: Class::Writeback,
                verb: Verb::Program,
                need: Need::Write,
                acknowledged: true,
                lost: !dev.survives_move(stats, now, *page),
                plane: dev.geometry.plane_of(*page),
                lpn,
                age: kernel.age(),
                waits_since: now,
                ..Op::blank()
            };
            let (age, segment) = (op.age, self.segment_of(dev, id));
            let op = kernel.ops.create(op);
            let written = &mut kernel.ops[Page(op)];
            written.bytes = dev.geometry.unit_bytes;
            written.old_age = age;
            written.tags[0] = tags[i];
            kernel.ops.buffer[op].segment = segment;
            dev.flash.invalidate(*page, block, lpn);
            dev.map.set(lpn, Location::Staged(op));
            self.jobs[id.0].staged.push(&mut kernel.ops, op);
            dev.staging.filled.change(1, now);
            features.count_conflict(|counters| counters.buffered += 1);
        }
        self.hand_over(kernel, dev, id);
        self.ready.push(id);
    }

    /// Records in a collection whether host operations wait for its unit: when it begins, and when pages have been read out.
    #[inline(always)]
    pub(in crate::engine) fn note_contention(&mut self, kernel: &Kernel, dev: &Device, rules: &Rules, id: JobId) {
        if rules.stages {
            self.sees_contention(kernel, dev, id);
        }
    }

    /// The erase of a collection's victims begins: from now on only the buffer has its buffered pages.
    #[inline(always)]
    pub(in crate::engine) fn segment_erased(&mut self, dev: &mut Device, rules: &Rules, now: Nanos, id: JobId) {
        if rules.stages {
            self.exposes_segment(dev, now, id);
        }
    }
}
