//! The controller's buffer: pages are staged, wait, and are written back when no operation waits for a die.

use super::{Pause, Ssd};
use crate::device::flash::Stream;
use crate::device::mapping::Location;
use crate::device::staging::Segment;
use crate::device::transaction::{Class, Fifo, Need, Op, Verb};
use crate::engine::kernel::dies::Holder;
use crate::engine::kernel::ops::Buffered;
use crate::policy::{BackTo, PageSet, Step, WriteBack};
use crate::units::{JobId, Lpn, OpId, PlaneId, UnitId};

impl Ssd {
    fn plan(&self) -> &WriteBack {
        self.dev.staging.plan.as_ref().expect("a buffer with slots has a plan")
    }

    /// Records in a collection whether host operations wait for its unit: when it begins, and when pages have been read out.
    #[inline(always)]
    pub(super) fn note_contention(&mut self, id: JobId) {
        if self.rules.stages {
            self.sees_contention(id);
        }
    }

    #[inline(never)]
    fn sees_contention(&mut self, id: JobId) {
        let running = &self.gc.jobs[id.0];
        // After a pause, the earlier result holds: the host operations that waited then have been served.
        let mut waits = running.sure && running.job.contended;
        if self.kernel.ops[running.op].verb != Verb::Program {
            let mut at = self.kernel.dies[running.unit].queue.head();
            while at.is_some() && !waits {
                waits = self.kernel.ops[at].class == Class::Host;
                at = self.kernel.ops[at].next;
            }
            waits |= (0..self.dev.geometry.planes_per_unit)
                .any(|k| !self.gc.planes[self.dev.geometry.plane_of_unit(running.unit, k).ix()].stalled.is_empty());
        }
        self.gc.jobs[id.0].job.contended = waits;
    }

    /// Executes a step that concerns only the buffer; returns a step that continues to the flash.
    #[inline(never)]
    pub(super) fn carry_staging(&mut self, id: JobId, step: Step) -> Option<Step> {
        match step {
            Step::Reserve(slots) => {
                let job = &mut self.gc.jobs[id.0].job;
                let before = job.slots.replace(slots);
                law!(before.is_none(), "law: a collection reserves slots once");
                self.dev.staging.reserve(slots);
                self.count_conflict(|counters| counters.streams += 1);
            }
            Step::Stage if self.must_be_placed(id) => {
                let pages = self.gc.jobs[id.0].job.hand.len() as u32;
                self.take_slots(id, pages);
                self.dev.staging.release(pages);
                self.hand_over(id);
                return Some(Step::Place);
            }
            Step::Stage => {
                self.stage_hand(id);
                self.hand_over(id);
            }
            Step::Erase | Step::Done => {
                // Overwritten pages need no slot.
                if let Some(left) = self.gc.jobs[id.0].job.slots.filter(|left| *left > 0) {
                    self.take_slots(id, left);
                    self.dev.staging.release(left);
                    self.hand_over(id);
                }
                if matches!(step, Step::Erase) && !self.plan().erase_first && self.awaits_durability(id) {
                    // If no plane has room, the end of the reads lets its pages use the reserve.
                    self.dev.staging.stale = true;
                    if self.gc.jobs[id.0].holds {
                        self.pause(id, Pause::Durable);
                    } else {
                        self.gc.jobs[id.0].pause = Pause::Durable;
                    }
                    return None;
                }
                return Some(step);
            }
            Step::Move(..) | Step::Fetch(..) | Step::Place | Step::Skip(..) => return Some(step),
        }
        self.gc.ready.push(id);
        None
    }

    fn take_slots(&mut self, id: JobId, pages: u32) {
        let slots = &mut self.gc.jobs[id.0].job.slots;
        *slots = slots.and_then(|slots| slots.checked_sub(pages));
        law!(slots.is_some(), "law: pages are staged in reserved slots");
    }

    /// A page that a partial write still has to read stays on flash: the buffer holds only newest versions.
    #[inline(never)]
    fn must_be_placed(&self, id: JobId) -> bool {
        self.gc.jobs[id.0].job.hand.iter().any(|page| {
            let lpn = self.dev.flash.lpn_of(*page);
            lpn.is_some() && self.dev.map.get(lpn) != Location::Flash(*page)
        })
    }

    /// Moves pages in hand to reserved slots. From now on the map points to them there.
    #[inline(never)]
    fn stage_hand(&mut self, id: JobId) {
        let hand = std::mem::replace(&mut self.gc.jobs[id.0].job.hand, PageSet::EMPTY);
        self.take_slots(id, hand.len() as u32);
        let tags = self.kernel.ops.host[self.gc.jobs[id.0].op].tags;
        for (i, page) in hand.iter().enumerate() {
            let lpn = self.dev.flash.lpn_of(*page);
            if lpn.is_none() {
                // Overwritten or trimmed since its read: no longer needed.
                self.dev.staging.release(1);
                continue;
            }
            let block = self.dev.geometry.block_of(*page);
            if self.goes_home() {
                self.dev.flash.promise(self.dev.geometry.plane_of(*page));
            }
            let op = Op {
                class: Class::Writeback,
                verb: Verb::Program,
                need: Need::Write,
                acknowledged: true,
                lost: !self.survives_move(*page),
                plane: self.dev.geometry.plane_of(*page),
                lpn,
                age: self.age(),
                waits_since: self.now,
                ..Op::blank()
            };
            let (age, segment) = (op.age, self.segment_of(id));
            let op = self.kernel.ops.create(op);
            let written = &mut self.kernel.ops.host[op];
            written.bytes = self.dev.geometry.page_size;
            written.old_age = age;
            written.tags[0] = tags[i];
            self.kernel.ops.buffer[op].segment = segment;
            self.dev.flash.invalidate(*page, block, lpn);
            self.dev.map.set(lpn, Location::Staged(op));
            self.gc.jobs[id.0].staged.push(&mut self.kernel.ops, op);
            self.dev.staging.filled.change(1, self.now);
            self.count_conflict(|counters| counters.buffered += 1);
        }
    }

    /// The segment of a collection, with one more page.
    fn segment_of(&mut self, id: JobId) -> u32 {
        let segment = &mut self.gc.jobs[id.0].segment;
        if *segment == u32::MAX {
            *segment = self.dev.staging.segments.insert(Segment { pending: 0, absorbed: 0, job: id });
        }
        self.dev.staging.segments[*segment].pending += 1;
        *segment
    }

    /// The last reserved slot of a collection is filled: its segment may be written back.
    fn hand_over(&mut self, id: JobId) {
        if self.gc.jobs[id.0].job.slots != Some(0) {
            return;
        }
        let mut staged = std::mem::replace(&mut self.gc.jobs[id.0].staged, Fifo::EMPTY);
        let to = self.plan().to;
        loop {
            let op = staged.pop(&self.kernel.ops);
            if op.is_none() {
                return;
            }
            if self.kernel.ops[op].lpn.is_none() {
                // Trimmed while it waited for the others.
                self.kernel.ops.remove(op);
                continue;
            }
            let staging = &mut self.dev.staging;
            staging.waiting += 1;
            staging.stale = true;
            match to {
                BackTo::IdleChips => staging.ready.push(&mut self.kernel.ops, op),
                BackTo::OwnPlane => {
                    let unit = self.dev.geometry.unit_of(self.kernel.ops[op].plane);
                    staging.own[unit.ix()].push(&mut self.kernel.ops, op);
                }
            }
        }
    }

    /// The erase of a collection's victims begins: from now on only the buffer has its buffered pages.
    #[inline(always)]
    pub(super) fn segment_erased(&mut self, id: JobId) {
        if self.rules.stages {
            self.exposes_segment(id);
        }
    }

    #[inline(never)]
    fn exposes_segment(&mut self, id: JobId) {
        let segment = std::mem::replace(&mut self.gc.jobs[id.0].segment, u32::MAX);
        if segment == u32::MAX {
            return;
        }
        let staging = &mut self.dev.staging;
        let pages = &mut staging.segments[segment];
        pages.job = JobId::NONE;
        staging.exposed.change(i64::from(pages.pending - pages.absorbed), self.now);
        if pages.pending == 0 {
            staging.segments.remove(segment);
        }
    }

    /// Whether the erase of a collection's victims waits for its pages in the buffer.
    pub(super) fn awaits_durability(&self, id: JobId) -> bool {
        let segment = self.gc.jobs[id.0].segment;
        segment != u32::MAX && self.dev.staging.segments[segment].pending > 0
    }

    /// A page leaves the buffer, because it is on flash or no longer needed.
    fn leaves_buffer(&mut self, absorbed: bool, segment: u32) {
        let staging = &mut self.dev.staging;
        let pages = &mut staging.segments[segment];
        pages.pending -= 1;
        pages.absorbed -= u32::from(absorbed);
        if absorbed || pages.job.is_none() {
            staging.exposed.change(-1, self.now);
        }
        if pages.pending > 0 {
            return;
        }
        if pages.job.is_none() {
            return staging.segments.remove(segment);
        }
        let running = &mut self.gc.jobs[pages.job.0];
        if running.pause == Pause::Durable {
            let (unit, job) = (running.unit, pages.job);
            if running.holds {
                self.mark_unit(unit);
            } else {
                running.pause = Pause::No;
                self.gc.ready.push(job);
            }
        }
    }

    fn frees_slot(&mut self) {
        self.dev.staging.release(1);
        self.dev.staging.filled.change(-1, self.now);
    }

    /// Whether a page is still waiting in the buffer.
    fn waits_in_buffer(&self, op: OpId) -> bool {
        self.kernel.ops[op].class == Class::Writeback && self.kernel.ops[op].unit.is_none()
    }

    /// A host write of a page that waits in the buffer replaces it there: nothing is written to flash for it now.
    #[inline(always)]
    pub(super) fn absorb(&mut self, op: OpId, measured: bool) -> bool {
        self.rules.stages && self.absorbs(op, measured)
    }

    #[inline(never)]
    fn absorbs(&mut self, op: OpId, measured: bool) -> bool {
        let Location::Staged(page) = self.dev.map.get(self.kernel.ops[op].lpn) else { return false };
        if !self.plan().absorb || !self.waits_in_buffer(page) {
            return false;
        }
        self.kernel.ops[op].need = Need::Absorb;
        let tag = self.kernel.ops.host[op].tags[0];
        self.count_conflict(|counters| counters.absorbed += u64::from(measured));
        self.overlay(op, self.kernel.ops.host[page].tags[0]);
        self.kernel.ops.host[page].tags[0] = tag;
        self.kernel.ops[page].lost = false;
        let buffered = &mut self.kernel.ops.buffer[page];
        let segment = buffered.segment;
        let again = std::mem::replace(&mut buffered.absorbed, true);
        let staging = &mut self.dev.staging;
        let pages = &mut staging.segments[segment];
        if !again {
            pages.absorbed += 1;
            if pages.job.is_some() {
                staging.exposed.change(1, self.now);
            }
        }
        true
    }

    /// A page that is trimmed, or that a host write sends to flash, no longer waits in the buffer.
    #[inline(always)]
    pub(super) fn drop_buffered(&mut self, lpn: Lpn) {
        if self.rules.stages {
            self.drops_buffered(lpn);
        }
    }

    #[inline(never)]
    fn drops_buffered(&mut self, lpn: Lpn) {
        let Location::Staged(op) = self.dev.map.get(lpn) else { return };
        if self.waits_in_buffer(op) {
            // It stays in the queue without a page, and is skipped.
            self.kernel.ops[op].lpn = Lpn::NONE;
            self.dev.staging.stale = true;
            let (absorbed, segment) = (self.kernel.ops.buffer[op].absorbed, self.kernel.ops.buffer[op].segment);
            if self.goes_home() {
                self.dev.flash.keep_promise(self.kernel.ops[op].plane);
            }
            self.frees_slot();
            self.leaves_buffer(absorbed, segment);
        }
    }

    /// After all host operations: writes buffered pages back to dies for which no operation waits.
    #[inline(always)]
    pub(super) fn dispatch_writebacks(&mut self) {
        if self.rules.stages && self.dev.staging.waiting > 0 {
            self.dispatches_writebacks();
        }
    }

    #[inline(never)]
    fn dispatches_writebacks(&mut self) {
        if self.plan().queue_empty && self.host.pending() > 0 {
            self.dev.staging.stale = true;
            return;
        }
        let stale = std::mem::replace(&mut self.dev.staging.stale, false);
        match self.plan().to {
            BackTo::OwnPlane if stale => {
                for unit in 0..self.dev.geometry.units {
                    self.write_back_home(UnitId(unit));
                }
            }
            BackTo::OwnPlane => {
                for i in 0..self.kernel.dies.looking.len() {
                    self.write_back_home(self.kernel.dies.looking[i]);
                }
            }
            BackTo::IdleChips => {
                if stale || self.kernel.dies.looking.iter().any(|unit| self.is_idle(*unit)) {
                    while self.write_back_anywhere() {}
                }
            }
        }
    }

    /// Whether a unit is idle and no operation waits for it.
    pub(super) fn is_unwanted(&self, unit: UnitId) -> bool {
        self.is_idle(unit) && self.kernel.dies[unit].queue.is_empty()
    }

    /// Writes the first waiting page back to the next idle unit in turn. Returns false if there is no page, or no unit for it.
    #[inline(never)]
    fn write_back_anywhere(&mut self) -> bool {
        let op = self.dev.staging.ready.head();
        if op.is_none() {
            return false;
        }
        if self.kernel.ops[op].lpn.is_none() {
            self.dev.staging.ready.pop(&self.kernel.ops);
            self.dev.staging.waiting -= 1;
            self.kernel.ops.remove(op);
            return true;
        }
        let units = self.dev.geometry.units;
        for step in 1..=units {
            let unit = UnitId((self.dev.staging.last_unit + step) % units);
            if !self.is_unwanted(unit) {
                continue;
            }
            let Some(plane) = self.next_plane(unit) else { continue };
            self.dev.staging.last_unit = unit.0;
            self.dev.staging.ready.pop(&self.kernel.ops);
            self.begin_writeback(op, plane, Stream::Host);
            return true;
        }
        let room = |plane| self.dev.flash.next_offset(plane, Stream::Host).is_some();
        if (0..self.dev.geometry.planes).map(PlaneId).any(room) {
            return false;
        }
        // No plane has room. A collection that waits for this page has a reserved page for it.
        let segment = &self.dev.staging.segments[self.kernel.ops.buffer[op].segment];
        let plane = self.kernel.ops[op].plane;
        if segment.job.is_some() && !self.plan().erase_first {
            let unit = self.dev.geometry.unit_of(plane);
            let parked = self.gc.jobs[segment.job.0].pause == Pause::Durable;
            if parked && self.is_unwanted(unit) {
                self.dev.staging.ready.pop(&self.kernel.ops);
                self.begin_writeback(op, plane, Stream::Gc);
                return true;
            }
        }
        self.claim_full_planes()
    }

    /// Writes the first waiting page for a unit's own planes back, if no operation waits for the unit.
    fn write_back_home(&mut self, unit: UnitId) {
        while self.is_unwanted(unit) {
            let op = self.dev.staging.own[unit.ix()].head();
            if op.is_none() {
                return;
            }
            if self.kernel.ops[op].lpn.is_none() {
                self.dev.staging.own[unit.ix()].pop(&self.kernel.ops);
                self.dev.staging.waiting -= 1;
                self.kernel.ops.remove(op);
                continue;
            }
            // At the host's write point while that has room, otherwise at its collection's write point: a page of its plane is
            // reserved for it.
            let plane = self.kernel.ops[op].plane;
            let room = self.dev.flash.next_offset(plane, Stream::Host).is_some();
            self.dev.staging.own[unit.ix()].pop(&self.kernel.ops);
            self.begin_writeback(op, plane, if room { Stream::Host } else { Stream::Gc });
        }
    }

    /// The write-back of a buffered page begins.
    fn begin_writeback(&mut self, id: OpId, plane: PlaneId, stream: Stream) {
        let unit = self.dev.geometry.unit_of(plane);
        let reserve = stream == Stream::Gc;
        if self.goes_home() {
            self.dev.flash.keep_promise(plane);
        }
        let to = self.dev.flash.take_page(plane, stream, reserve).expect("a plane with room");
        self.stats.count_programs(Class::Writeback, 1);
        let waited = (self.now - self.kernel.ops[id].waits_since).0;
        self.count_conflict(|counters| {
            counters.written_back += 1;
            counters.waiting.record(waited);
        });
        self.dev.staging.waiting -= 1;
        if self.plan().free_at_issue {
            self.frees_slot();
        }
        let burst = self.dev.timing.transfer(self.dev.geometry.page_size);
        let offset = self.dev.geometry.offset(to);
        let op = &mut self.kernel.ops[id];
        op.unit = unit;
        op.plane = plane;
        op.channel = self.dev.geometry.channel_of(plane);
        op.pages = PageSet::one(to);
        op.legs = self.dev.timing.program(offset, burst);
        op.leg = 0;
        self.start(id, unit, Holder::Writeback, plane);
    }

    /// The write-back of a page has ended: it is published unless the host has overwritten or trimmed it meanwhile.
    #[inline(never)]
    pub(super) fn writeback_ends(&mut self, id: OpId) {
        let op = &self.kernel.ops[id];
        let (unit, plane, page, lpn) = (op.unit, op.plane, op.pages[0], op.lpn);
        let Buffered { absorbed, segment } = self.kernel.ops.buffer[id];
        let newest = self.dev.map.get(lpn) == Location::Staged(id);
        let wanted = newest || self.keeps_instead(id, page);
        self.land_written(id, newest, wanted);
        self.stats.copies.external_pages += 1;
        self.count_time(id);
        self.stats.count_moved(!newest);
        self.stats.moves.buffered += 1;
        self.kernel.ops.remove(id);
        if !self.plan().free_at_issue {
            self.frees_slot();
        }
        self.leaves_buffer(absorbed, segment);
        self.stop(unit, plane);
        if self.dev.flash.next_offset(plane, Stream::Host).is_some() {
            // The page that was reserved for it may be the host's now.
            self.unstall(plane);
        }
        self.test_trigger(plane);
    }

    /// Whether buffered pages return to their own planes.
    fn goes_home(&self) -> bool {
        self.plan().to == BackTo::OwnPlane
    }
}
