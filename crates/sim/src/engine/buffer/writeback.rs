//! Write-backs: pages of the buffer return to flash, after all host operations.

use crate::device::command::Command;
use crate::device::flash::Stream;
use crate::device::mapping::Location;
use crate::device::transaction::Class;
use crate::engine::kernel::Kernel;
use crate::engine::kernel::dies::Holder;
use crate::engine::kernel::ops::Buffered;
use crate::engine::rules::Rules;
use crate::engine::{Device, Pause, Ssd};
use crate::policy::{BackTo, PageSet};
use crate::units::{OpId, PlaneId, UnitId};

impl Device {
    /// Whether buffered pages return to their own planes.
    pub(super) fn goes_home(&self) -> bool {
        self.plan().to == BackTo::OwnPlane
    }

    /// Host data have taken a page of a plane, or one of its pages has become stale. If the plane is full, it may be due now: pages
    /// of the buffer wait for room, and perhaps no die becomes idle soon.
    #[inline(always)]
    pub(in crate::engine) fn stirs_buffer(&mut self, rules: &Rules, plane: PlaneId) {
        if rules.stages && self.staging.waiting > 0 {
            self.staging.stale |= self.flash.next_offset(plane, Stream::Host).is_none();
        }
    }
}

impl Kernel {
    /// Whether a page waits until all pages of the segment before its own are on flash.
    fn waits_for_segment(&self, dev: &Device, op: OpId) -> bool {
        let (segment, writes) = dev.staging.under_way;
        dev.plan().by_segment && writes > 0 && self.ops.buffer[op].segment != segment
    }
}

impl Ssd {
    /// After all host operations: writes buffered pages back to dies for which no operation waits.
    #[inline(always)]
    pub(in crate::engine) fn dispatch_writebacks(&mut self) {
        if self.rules.stages && self.dev.staging.waiting > 0 {
            self.dispatches_writebacks();
        }
    }

    #[inline(never)]
    fn dispatches_writebacks(&mut self) {
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
                    // The last search has seen what write-backs changed that began now. Searching once more in the next round would
                    // find what only that round's time brings, and rounds are fewer with fused legs.
                    self.dev.staging.stale = false;
                }
            }
        }
    }

    /// Whether a unit is idle and no operation waits for it.
    pub(in crate::engine) fn is_unwanted(&self, unit: UnitId) -> bool {
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
        if self.kernel.waits_for_segment(&self.dev, op) {
            return false;
        }
        let lpn = self.kernel.ops[op].lpn;
        let units = self.dev.geometry.units;
        for step in 1..=units {
            let unit = UnitId((self.dev.staging.last_unit + step) % units);
            if !self.is_unwanted(unit) {
                continue;
            }
            let Some(plane) = self.kernel.next_plane(&self.features, &self.dev, unit, lpn, Stream::Host) else {
                continue;
            };
            self.dev.staging.last_unit = unit.0;
            self.dev.staging.ready.pop(&self.kernel.ops);
            self.begin_writeback(op, plane, Stream::Host);
            return true;
        }
        let room =
            |plane| self.dev.flash.next_offset(plane, Stream::Host).is_some() && self.features.may_hold(plane, lpn);
        if (0..self.dev.geometry.planes).map(PlaneId).any(room) {
            return false;
        }
        // No plane has room. A collection that waits for this page has a reserved page for it.
        let segment = &self.dev.staging.segments[self.kernel.ops.buffer[op].segment];
        let plane = self.kernel.ops[op].plane;
        if segment.job.is_some() && !self.dev.plan().erase_first {
            let unit = self.dev.geometry.unit_of(plane);
            let parked = self.gc.jobs[segment.job.0].pause == Pause::Durable;
            if parked && self.is_unwanted(unit) {
                self.dev.staging.ready.pop(&self.kernel.ops);
                self.begin_writeback(op, plane, Stream::Gc);
                return true;
            }
        }
        self.claim_full_planes(Stream::Host)
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
        if self.dev.goes_home() {
            self.dev.flash.keep_promise(plane);
        }
        self.features.bind_writeback(&self.dev, id, self.kernel.ops[id].lpn, plane);
        if self.dev.plan().by_segment {
            let (segment, writes) = (self.kernel.ops.buffer[id].segment, self.dev.staging.under_way.1);
            self.dev.staging.under_way = (segment, writes + 1);
        }
        // A page of an earlier collection is none that the running one moves.
        let segment = self.kernel.ops.buffer[id].segment;
        let earlier = reserve && self.dev.staging.segments[segment].job.is_none();
        let flash = &mut self.dev.flash;
        let to =
            if earlier { flash.take_beside_collection(plane, stream) } else { flash.take_page(plane, stream, reserve) };
        let to = to.expect("a plane with room");
        self.dev.stirs_buffer(&self.rules, plane);
        self.stats.count_programs(Class::Writeback, 1);
        if self.rules.tenants {
            self.features.tenant_moved(&self.dev, self.kernel.ops[id].lpn);
        }
        let waited = (self.now - self.kernel.ops[id].waits_since).0;
        self.features.count_conflict(|counters| {
            counters.written_back += 1;
            counters.waiting.record(waited);
        });
        self.dev.staging.waiting -= 1;
        if self.dev.plan().free_at_issue {
            self.dev.frees_slot(self.now);
        }
        let burst = self.dev.timing.page();
        let place = self.dev.place(to);
        let op = &mut self.kernel.ops[id];
        op.unit = unit;
        op.plane = plane;
        op.channel = self.dev.geometry.channel_of(plane);
        op.pages = PageSet::one(to);
        op.legs = self.dev.timing.legs(Command::Program { pages: &[place], burst });
        op.leg = 0;
        self.start(id, unit, Holder::Writeback, plane);
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
        let wanted = newest || self.keeps_instead(id, page);
        self.land_written(id, newest, wanted);
        self.stats.copies.external_pages += 1;
        self.count_time(id);
        self.stats.count_moved(!newest);
        self.stats.moves.buffered += 1;
        self.kernel.ops.remove(id);
        if !self.dev.plan().free_at_issue {
            self.dev.frees_slot(self.now);
        }
        self.leaves_buffer(absorbed, segment);
        self.kernel.stop(&self.dev, self.now, unit, plane);
        super::gains_page(self, plane);
        self.test_trigger(plane);
    }
}
