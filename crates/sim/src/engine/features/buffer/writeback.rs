//! Write-backs: pages of the buffer return to flash, after all host operations.

use crate::device::command::Command;
use crate::device::flash::Stream;
use crate::device::mapping::Location;
use crate::device::transaction::Class;
use crate::engine::features::keep;
use crate::engine::kernel::Kernel;
use crate::engine::kernel::dies::Holder;
use crate::engine::kernel::ops::Buffered;
use crate::engine::rules::Rules;
use crate::engine::{Device, Features, Gc, Pause, Ssd};
use crate::policy::{BackTo, PageSet};
use crate::stats::Stats;
use crate::units::{Nanos, OpId, PlaneId, UnitId};

/// What happens to the first page that waits for any idle unit.
enum Next {
    /// There is none, or no unit for it now.
    Nothing,
    /// It was no longer needed, and has left the queue.
    Dropped,
    /// It has left the queue for its plane, at this write point.
    Begins(OpId, Stream),
    /// No plane has room for it.
    Full,
}

impl Device {
    /// Whether buffered pages return to their own planes.
    pub(super) fn goes_home(&self) -> bool {
        self.plan().to == BackTo::OwnPlane
    }

    /// Host data have taken a page of a plane, or one of its pages has become stale. If the plane is full, it may be due now: pages
    /// of the buffer wait for room, and perhaps no die becomes idle soon.
    #[inline(always)]
    pub(in crate::engine) fn stirs_buffer(&mut self, rules: &Rules, plane: PlaneId) {
        if rules.stages {
            self.finds_full(plane);
        }
    }

    #[inline(always)]
    fn finds_full(&mut self, plane: PlaneId) {
        if self.staging.waiting > 0 {
            self.staging.stale |= self.flash.next_offset(plane, Stream::Host).is_none();
        }
    }

    /// Takes the first waiting page, if it may be written back now, to the next idle unit in turn.
    #[inline(never)]
    fn next_for_any(&mut self, kernel: &mut Kernel, gc: &Gc, features: &Features, rules: &Rules) -> Next {
        let op = self.staging.ready.head();
        if op.is_none() {
            return Next::Nothing;
        }
        if kernel.ops[op].lpn.is_none() {
            self.staging.ready.pop(&kernel.ops);
            self.staging.waiting -= 1;
            kernel.ops.remove(op);
            return Next::Dropped;
        }
        if kernel.waits_for_segment(self, op) {
            return Next::Nothing;
        }
        let lpn = kernel.ops[op].lpn;
        let units = self.geometry.units;
        for step in 1..=units {
            let unit = UnitId((self.staging.last_unit + step) % units);
            if !kernel.is_unwanted(self, gc, rules, unit) {
                continue;
            }
            let Some(plane) = kernel.next_plane(features, self, unit, lpn, Stream::Host) else {
                continue;
            };
            self.staging.last_unit = unit.0;
            self.staging.ready.pop(&kernel.ops);
            kernel.ops[op].plane = plane;
            return Next::Begins(op, Stream::Host);
        }
        let room = |plane| self.flash.next_offset(plane, Stream::Host).is_some() && features.may_hold(plane, lpn);
        if (0..self.geometry.planes).map(PlaneId).any(room) {
            return Next::Nothing;
        }
        // No plane has room. A collection that waits for this page has a reserved page for it.
        let segment = &self.staging.segments[kernel.ops.buffer[op].segment];
        let plane = kernel.ops[op].plane;
        if segment.job.is_some() && !self.plan().erase_first {
            let unit = self.geometry.unit_of(plane);
            let parked = gc.jobs[segment.job.0].pause == Pause::Durable;
            if parked && kernel.is_unwanted(self, gc, rules, unit) {
                self.staging.ready.pop(&kernel.ops);
                return Next::Begins(op, Stream::Gc);
            }
        }
        Next::Full
    }

    /// Takes the first waiting page for a unit's own planes, if no operation waits for the unit.
    fn next_for_home(&mut self, kernel: &mut Kernel, gc: &Gc, rules: &Rules, unit: UnitId) -> Option<(OpId, Stream)> {
        while kernel.is_unwanted(self, gc, rules, unit) {
            let op = self.staging.own[unit.ix()].head();
            if op.is_none() {
                return None;
            }
            if kernel.ops[op].lpn.is_none() {
                self.staging.own[unit.ix()].pop(&kernel.ops);
                self.staging.waiting -= 1;
                kernel.ops.remove(op);
                continue;
            }
            // At the host's write point while that has room, otherwise at its collection's write point: a page of its plane is
            // reserved for it.
            let plane = kernel.ops[op].plane;
            let room = self.flash.next_offset(plane, Stream::Host).is_some();
            self.staging.own[unit.ix()].pop(&kernel.ops);
            return Some((op, if room { Stream::Host } else { Stream::Gc }));
        }
        None
    }
    /// The write-back of a buffered page to its plane begins.
    fn begin_writeback(
        &mut self,
        kernel: &mut Kernel,
        features: &mut Features,
        stats: &mut Stats,
        now: Nanos,
        id: OpId,
        stream: Stream,
    ) {
        let plane = kernel.ops[id].plane;
        let unit = self.geometry.unit_of(plane);
        let reserve = stream == Stream::Gc;
        if self.goes_home() {
            self.flash.keep_promise(plane);
        }
        features.bind_writeback(self, id, kernel.ops[id].lpn, plane);
        if self.plan().by_segment {
            let (segment, writes) = (kernel.ops.buffer[id].segment, self.staging.under_way.1);
            self.staging.under_way = (segment, writes + 1);
        }
        // A page of an earlier collection is none that the running one moves.
        let segment = kernel.ops.buffer[id].segment;
        let earlier = reserve && self.staging.segments[segment].job.is_none();
        let flash = &mut self.flash;
        let to =
            if earlier { flash.take_beside_collection(plane, stream) } else { flash.take_page(plane, stream, reserve) };
        let to = to.expect("a plane with room");
        self.finds_full(plane);
        stats.count_programs(Class::Writeback, 1);
        if features.nvme.is_some() {
            features.tenant_moved(self, kernel.ops[id].lpn);
        }
        let waited = (now - kernel.ops[id].waits_since).0;
        features.count_conflict(|counters| {
            counters.written_back += 1;
            counters.waiting.record(waited);
        });
        self.staging.waiting -= 1;
        if self.plan().free_at_issue {
            self.frees_slot(now);
        }
        let burst = self.timing.page();
        let place = self.place(to);
        let op = &mut kernel.ops[id];
        op.unit = unit;
        op.channel = self.geometry.channel_of(plane);
        op.pages = PageSet::one(to);
        op.legs = self.timing.legs(Command::Program { pages: &[place], burst });
        op.leg = 0;
        kernel.serve(self, now, id, unit, Holder::Writeback, plane);
    }
}

impl Kernel {
    /// Whether a unit is idle and no operation waits for it.
    pub(in crate::engine) fn is_unwanted(&self, dev: &Device, gc: &Gc, rules: &Rules, unit: UnitId) -> bool {
        self.is_idle(dev, gc, rules, unit) && self.dies[unit].queue.is_empty()
    }

    /// Whether a page waits until all pages of the segment before its own are on flash.
    fn waits_for_segment(&self, dev: &Device, op: OpId) -> bool {
        let (segment, writes) = dev.staging.under_way;
        dev.plan().by_segment && writes > 0 && self.ops.buffer[op].segment != segment
    }
}

impl Ssd {
    /// After all host operations: writes buffered pages back to dies for which no operation waits.
    #[inline(never)]
    pub(in crate::engine) fn dispatch_writebacks(&mut self) {
        if self.gc.postponed.is_some() && self.gc.keeps_buffered(&self.host) {
            self.dev.staging.stale = true;
            return;
        }
        if self.dev.plan().queue_empty && self.host.pending() > 0 {
            self.dev.staging.stale = true;
            return;
        }
        let stale = std::mem::replace(&mut self.dev.staging.stale, false);
        match self.dev.plan().to {
            BackTo::OwnPlane => {
                let units = if stale { self.dev.geometry.units as usize } else { self.kernel.dies.looking.len() };
                for i in 0..units {
                    let unit = if stale { UnitId(i as u32) } else { self.kernel.dies.looking[i] };
                    while let Some((op, stream)) = self.dev.next_for_home(&mut self.kernel, &self.gc, &self.rules, unit)
                    {
                        let (features, stats) = (&mut self.features, &mut self.stats);
                        self.dev.begin_writeback(&mut self.kernel, features, stats, self.now, op, stream);
                        self.run_leg(op);
                    }
                }
            }
            BackTo::IdleChips => {
                if stale
                    || self
                        .kernel
                        .dies
                        .looking
                        .iter()
                        .any(|unit| self.kernel.is_idle(&self.dev, &self.gc, &self.rules, *unit))
                {
                    loop {
                        match self.dev.next_for_any(&mut self.kernel, &self.gc, &self.features, &self.rules) {
                            Next::Begins(op, stream) => {
                                let (features, stats) = (&mut self.features, &mut self.stats);
                                self.dev.begin_writeback(&mut self.kernel, features, stats, self.now, op, stream);
                                self.run_leg(op);
                            }
                            Next::Dropped => {}
                            Next::Full if self.claim_full_planes(Stream::Host) => {}
                            Next::Nothing | Next::Full => break,
                        }
                    }
                    // The last search has seen what write-backs changed that began now. Searching once more in the next round would
                    // find what only that round's time brings, and rounds are fewer with fused legs.
                    self.dev.staging.stale = false;
                }
            }
        }
    }

    /// The write-back of a page has ended: it is published unless the host has overwritten or trimmed it meanwhile.
    #[inline(never)]
    pub(in crate::engine) fn writeback_ends(&mut self, id: OpId) {
        let op = &self.kernel.ops[id];
        let (unit, plane, page, lpn) = (op.unit, op.plane, op.pages[0], op.lpn);
        let Buffered { absorbed, segment, .. } = self.kernel.ops.buffer[id];
        if self.dev.plan().by_segment {
            self.dev.staging.under_way.1 -= 1;
            self.dev.staging.stale |= self.dev.staging.under_way.1 == 0;
        }
        let newest = self.dev.map.get(lpn) == Location::Staged(id);
        let wanted = newest || keep::is_kept(self, id, page);
        self.land_written(id, newest, wanted);
        self.stats.copies.external_pages += 1;
        self.kernel.count_time(&mut self.stats, id);
        self.stats.count_moved(!newest);
        self.stats.moves.buffered += 1;
        self.kernel.ops.remove(id);
        if !self.dev.plan().free_at_issue {
            self.dev.frees_slot(self.now);
        }
        self.dev.leaves_buffer(&mut self.kernel, &mut self.gc, self.now, absorbed, segment);
        self.kernel.stop(&self.dev, self.now, unit, plane);
        if self.dev.flash.next_offset(plane, Stream::Host).is_some() {
            self.unstall(plane);
        }
        self.test_trigger(plane);
    }
}
