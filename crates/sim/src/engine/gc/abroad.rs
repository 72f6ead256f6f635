//! Moved pages that are programmed on another unit than that of their source.

use crate::config::{Config, Destination};
use crate::device::command::Command;
use crate::device::flash::Stream;
use crate::device::transaction::{Class, Op, Verb};
use crate::engine::kernel::Kernel;
use crate::engine::kernel::dies::Holder;
use crate::engine::kernel::ops::Page;
use crate::engine::rules::Rules;
use crate::engine::{Device, Features, Gc, Nanos, Ssd};
use crate::policy::PageSet;
use crate::stats::Stats;
use crate::units::{JobId, OpId, PlaneId};

impl Gc {
    /// With a destination wider than the plane, the page in hand may go to another unit: its program queues there while this job
    /// continues. Returns that program, if it does.
    pub(in crate::engine) fn sends_abroad(
        &mut self,
        kernel: &mut Kernel,
        dev: &mut Device,
        config: &Config,
        now: Nanos,
        id: JobId,
    ) -> Option<OpId> {
        if config.gc.destination == Destination::Plane {
            return None;
        }
        let running = &self.jobs[id.0];
        let (unit, hand) = (running.unit, running.job.hand);
        let geometry = &dev.geometry;
        let from = geometry.plane_of(hand[0]);
        let scope = config.gc.destination;
        let chip = geometry.chip_of(from);
        // Round robin over the planes in scope with a complete reserve, starting after the last one used.
        let start = if self.target.is_some() { self.target.0 + 1 } else { 0 };
        let target = (0..geometry.planes)
            .map(|step| PlaneId((start + step) % geometry.planes))
            .filter(|plane| scope == Destination::Any || geometry.chip_of(*plane) == chip)
            .find(|plane| *plane == from || dev.flash.takes_foreign(*plane))
            .unwrap_or(from);
        self.target = target;
        if geometry.unit_of(target) == unit {
            return None;
        }
        dev.flash.promise(target);
        let running = &self.jobs[id.0];
        let op = Op {
            class: Class::Gc,
            verb: Verb::Program,
            plane: target,
            age: kernel.ops[running.op].age,
            from: hand,
            waits_since: now,
            home: id,
            ..Op::blank()
        };
        let (source, op) = (running.op, kernel.ops.create(op));
        kernel.ops[Page(op)].tags = kernel.ops[Page(source)].tags;
        Some(op)
    }

    /// The page in hand is on its way to another unit: the job may take its next step.
    pub(in crate::engine) fn sent_abroad(&mut self, kernel: &mut Kernel, dev: &Device, now: Nanos, id: JobId) {
        let running = &mut self.jobs[id.0];
        let unit = running.unit;
        running.abroad += 1;
        running.busy = false;
        running.job.hand = PageSet::EMPTY;
        if !running.holds {
            kernel.set_holder(now, unit, Holder::Free);
            kernel.chip_in_use(dev, running.plane, false);
            kernel.dies.mark(unit);
        }
    }
}

impl Kernel {
    /// A moved page's program begins on another unit than that of its source. Its first leg follows.
    #[inline(never)]
    pub(in crate::engine) fn begin_abroad(
        &mut self,
        dev: &mut Device,
        features: &mut Features,
        stats: &mut Stats,
        rules: &Rules,
        now: Nanos,
        id: OpId,
    ) {
        let (unit, plane) = (self.ops[id].unit, self.ops[id].plane);
        dev.flash.keep_promise(plane);
        features.tenants_moved_by(self, dev, rules, id);
        let to = dev.foreign_page(rules, plane, Stream::Gc);
        stats.count_programs(Class::Gc, 1);
        let burst = dev.timing.page();
        self.ops[id].pages = PageSet::one(to);
        self.ops[id].legs = dev.timing.legs(Command::Program { pages: &[dev.place(to)], burst });
        self.ops[id].leg = 0;
        let k = dev.geometry.plane_in_unit(plane);
        self.set_holder(now, unit, Holder::Free);
        self.seize_for_gc(dev, now, unit, 1 << k, plane);
        self.dies[unit].occupy(id);
    }
}

impl Ssd {
    /// A moved page's program on another unit than that of its source has ended.
    #[inline(never)]
    pub(in crate::engine) fn abroad_ends(&mut self, id: OpId) {
        let (unit, plane, home) = (self.kernel.ops[id].unit, self.kernel.ops[id].plane, self.kernel.ops[id].home);
        self.kernel.dies[unit].vacate();
        self.kernel.count_time(&mut self.stats, id);
        self.kernel.dies.mark(unit);
        self.land(id);
        self.kernel.ops.remove(id);
        // A collection that waits for its own pages on other dies admitted this program; it still holds the unit.
        let host = self.kernel.dies[unit].job;
        self.kernel.set_holder(self.now, unit, Holder::Free);
        if host.is_some() {
            self.kernel.dies.return_to_gc(unit, self.gc.jobs[host.0].planes, self.now);
            let running = &mut self.gc.jobs[host.0];
            if running.abroad == 0 && std::mem::replace(&mut running.waiting, false) {
                self.gc.ready.push(host);
            }
        }
        self.kernel.chip_in_use(&self.dev, plane, false);
        let running = &mut self.gc.jobs[home.0];
        running.abroad -= 1;
        if running.abroad == 0 && std::mem::replace(&mut running.waiting, false) {
            self.gc.ready.push(home);
        }
        self.test_trigger(plane);
    }
}
