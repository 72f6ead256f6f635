//! Writes that any die may serve (`schemes.place = "dynamic"`): they wait in one queue for the device, and the oldest goes to the first idle
//! die after the last one used.

use crate::blame::Cause;
use crate::device::flash::Stream;
use crate::engine::features::cache::For;
use crate::engine::features::slc::folds;
use crate::engine::kernel::Kernel;
use crate::engine::kernel::ops::{Anywhere, Page};
use crate::engine::rules::Rules;
use crate::engine::{Device, Features, Host, Nanos, Ssd};
use crate::stats::Stats;
use crate::units::{Lpn, OpId, PlaneId, UnitId};

impl Kernel {
    /// A write that any die may serve begins to wait for one.
    #[inline(always)]
    pub(in crate::engine) fn waits_anywhere(&mut self, features: &Features, rules: &Rules, now: Nanos, op: OpId) {
        self.ops.anywhere[op] = Anywhere {
            held: self.dies.held.total(now) as u64,
            held_gc: self.dies.held_gc.total(now) as u64,
            held_writeback: self.dies.held_writeback.total(now) as u64,
            held_fold: self.dies.held_fold.total(now) as u64,
        };
        self.shares_anywhere(features, rules, now, op);
    }

    /// A write that any die may serve gets its die and plane.
    #[inline(always)]
    pub(in crate::engine) fn go_to(&mut self, dev: &Device, op: OpId, unit: UnitId, plane: PlaneId) {
        let page = &mut self.ops[op];
        page.unit = unit;
        page.plane = plane;
        page.channel = dev.geometry.channel_of(plane);
    }

    /// The next plane of a unit, round robin, with a free page at one of the host's write points that may hold this logical page.
    pub(in crate::engine) fn next_plane(
        &mut self,
        features: &Features,
        dev: &Device,
        unit: UnitId,
        lpn: Lpn,
        stream: Stream,
    ) -> Option<PlaneId> {
        let planes = dev.geometry.planes_per_unit;
        let mut k = self.dies[unit].token;
        for _ in 0..planes {
            k = if k + 1 < planes { k + 1 } else { 0 };
            let plane = dev.geometry.plane_of_unit(unit, k);
            if dev.flash.takes_page_of(plane, stream) && features.may_hold(plane, lpn) {
                self.dies[unit].token = k;
                return Some(plane);
            }
        }
        None
    }

    /// Charges the wait of a write that any die may serve. It did not wait for one particular die, so its wait is split like the
    /// time of all dies. Returns the part behind write-backs.
    pub(in crate::engine) fn charge_anywhere(
        &mut self,
        features: &mut Features,
        rules: &Rules,
        now: Nanos,
        op: OpId,
    ) -> u64 {
        let wait = (now - self.ops[op].waits_since).0;
        let before = &self.ops.anywhere[op];
        let held = self.dies.held.total(now) as u64 - before.held;
        let held_gc = self.dies.held_gc.total(now) as u64 - before.held_gc;
        let gc = if held_gc == 0 { 0 } else { (u128::from(wait) * u128::from(held_gc) / u128::from(held)) as u64 };
        let held_back = self.dies.held_writeback.total(now) as u64 - before.held_writeback;
        let back =
            if held_back == 0 { 0 } else { (u128::from(wait) * u128::from(held_back) / u128::from(held)) as u64 };
        let folds = self.charge_folds_anywhere(rules, now, op, wait, held);
        self.ops[Page(op)].blame.add(Cause::DieGcOther, gc);
        self.ops[Page(op)].blame.add(Cause::DieWriteback, back);
        self.ops[Page(op)].blame.add(Cause::DieHost, wait - gc - back - folds);
        features.note_line_wait(self, rules, now, op, For::Any, [gc, 0, wait - gc]);
        self.share_anywhere(features, rules, now, op, wait - gc - back - folds);
        back
    }
}

impl Host {
    /// The first unit after the last one used that takes writes and has a page, and its plane. `full`: one had no page.
    #[inline(always)]
    pub(in crate::engine) fn next_place(
        &self,
        kernel: &mut Kernel,
        dev: &Device,
        features: &Features,
        full: &mut bool,
        takes: impl Fn(&Kernel, UnitId) -> bool,
    ) -> Option<(UnitId, PlaneId)> {
        let (next, units) = (self.last_place + 1, dev.geometry.units);
        let head = self.anywhere.head();
        let (lpn, stream) = (kernel.ops[head].lpn, kernel.ops.host_stream(head));
        for (mut from, to) in [(next, units), (0, next)] {
            while let Some(unit) = kernel.dies.first_free(from, to) {
                from = unit.0 + 1;
                if takes(kernel, unit) {
                    match kernel.next_plane(features, dev, unit, lpn, stream) {
                        Some(plane) => return Some((unit, plane)),
                        None => *full = true,
                    }
                }
            }
        }
        None
    }

    /// No plane has a page for the first of the writes that any die may serve: it waits for an erase, and others overtake it.
    #[inline(never)]
    pub(in crate::engine) fn let_others_pass(
        &mut self,
        kernel: &mut Kernel,
        features: &mut Features,
        stats: &mut Stats,
        rules: &Rules,
        now: Nanos,
    ) {
        let op = self.anywhere.pop(&kernel.ops);
        kernel.charge_anywhere(features, rules, now, op);
        kernel.begin_stall(self, stats, now, op);
        self.without_page.push(&mut kernel.ops, op);
    }
}

impl Device {
    /// Whether a write point of any plane has a page for a stream.
    #[inline(never)]
    pub(in crate::engine) fn any_offset(&self, stream: Stream) -> bool {
        let mut planes = (0..self.geometry.planes).map(PlaneId);
        planes.any(|plane| self.flash.next_offset(plane, stream).is_some())
    }
}

/// A write reaches the queue of a die: takes it over where any die may serve it.
#[inline(always)]
pub(in crate::engine) fn takes_write(ssd: &mut Ssd, op: OpId) -> bool {
    if ssd.rules.dynamic {
        ssd.await_any_unit(op);
    }
    ssd.rules.dynamic
}

/// Considers units in an order that has effects, where there is one: the oldest operation first, or by number.
#[inline(always)]
pub(in crate::engine) fn orders_units(ssd: &mut Ssd) {
    if ssd.rules.ranks {
        if ssd.rules.dynamic {
            ssd.dispatch_oldest_first();
        }
        if ssd.rules.by_number {
            ssd.kernel.dies.looking.sort_unstable();
        }
    }
}

impl Ssd {
    /// A free die and the device-wide FIFO of writes compete for operations: the oldest goes first.
    #[inline(never)]
    fn dispatch_oldest_first(&mut self) {
        if !self.host.without_page.is_empty() {
            // Its collection is requested as long as it waits.
            self.claim_full_planes(self.kernel.ops.host_stream(self.host.without_page.head()));
        }
        let takes = |unit: &UnitId| {
            self.kernel.is_idle(&self.dev, &self.gc, &self.rules, *unit)
                || self.gc.is_paused_for_host(&self.kernel, &self.rules, *unit)
        };
        // Whenever a die becomes idle it is among these.
        let none_idle = self.host.none_idle && !self.kernel.dies.looking.iter().any(takes);
        debug_assert!(!none_idle || !(0..self.dev.geometry.units).any(|unit| takes(&UnitId(unit))));
        self.host.none_idle = none_idle;
        loop {
            let mut oldest: Option<((u8, u64), UnitId)> = None;
            for unit in &self.kernel.dies.looking {
                let ready = self.kernel.is_idle(&self.dev, &self.gc, &self.rules, *unit)
                    || self.gc.is_paused_for_host(&self.kernel, &self.rules, *unit);
                if ready && !self.kernel.dies[*unit].queue.is_empty() {
                    let (kernel, dev, host, rules) = (&self.kernel, &self.dev, &self.host, &self.rules);
                    let (rank, first) = self.features.next_in_queue(kernel, dev, host, rules, &self.config, *unit);
                    let turn = (rank, self.kernel.ops[first].age);
                    if oldest.is_none_or(|(other, _)| turn < other) {
                        oldest = Some((turn, *unit));
                    }
                }
            }
            let write = self.host.anywhere.head();
            let write_first = write.is_some() && {
                let rank = self.features.rank_in_queue(&self.kernel, &self.rules, write);
                let turn = (rank, self.kernel.ops[write].age);
                oldest.is_none_or(|(other, _)| turn < other)
            };
            if write_first && self.start_anywhere() {
                continue;
            }
            let Some((_, unit)) = oldest else { break };
            if !self.kick(unit) {
                break;
            }
        }
    }

    /// Starts the oldest of the writes that any die may serve on the first idle die after the last one used. Returns false if no
    /// die is idle, or no idle die has a page for it.
    #[inline(never)]
    fn start_anywhere(&mut self) -> bool {
        let mut full = false;
        // If no die is idle, dies with paused collections come next.
        let found = (!self.host.none_idle).then(|| {
            let (host, kernel, dev, gc) = (&self.host, &mut self.kernel, &self.dev, &self.gc);
            let (features, rules) = (&self.features, &self.rules);
            let is_idle = |kernel: &Kernel, unit| kernel.is_idle(dev, gc, rules, unit);
            let idle = host.next_place(kernel, dev, features, &mut full, is_idle);
            idle.or_else(|| host.next_paused_place(kernel, dev, gc, features, rules, &mut full))
        });
        if let Some((unit, plane)) = found.flatten() {
            self.host.last_place = unit.0;
            let op = self.host.anywhere.pop(&self.kernel.ops);
            self.kernel.go_to(&self.dev, op, unit, plane);
            let back = self.kernel.charge_anywhere(&mut self.features, &self.rules, self.now, op);
            self.features.note_found(&self.kernel, &mut self.host, self.now, op, back);
            self.kernel.update_lag(self.now, op, unit);
            self.begin_write(op, unit);
            return true;
        }
        self.host.none_idle = !full;
        self.features.note_skip(&self.kernel, &self.host, self.now);
        // If dies are idle but have no free page, full planes are due, whatever the threshold is. GC in no time has freed pages
        // by now.
        if !full {
            return false;
        }
        let stream = self.kernel.ops.host_stream(self.host.anywhere.head());
        if self.claim_full_planes(stream) {
            return self.start_anywhere();
        }
        if folds::stalls_anywhere(self, stream) {
            return true;
        }
        let (kernel, features, stats) = (&mut self.kernel, &mut self.features, &mut self.stats);
        self.host.is_overtaken(kernel, &self.dev, features, stats, &self.rules, (stream, self.now))
    }

    /// Writes that no plane had a page for queue again, with their old age.
    pub(in crate::engine) fn unstall_anywhere(&mut self) {
        while !self.host.without_page.is_empty() {
            let op = self.host.without_page.pop(&self.kernel.ops);
            self.kernel.end_stall(&mut self.features, &self.rules, self.now, op);
            self.kernel.waits_anywhere(&self.features, &self.rules, self.now, op);
            let age = self.kernel.ops[op].age;
            self.host.anywhere.insert_before(&mut self.kernel.ops, op, |other| other.age > age);
            self.host.none_idle = false;
        }
    }
}
