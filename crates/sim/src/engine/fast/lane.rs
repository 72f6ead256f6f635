//! The fast lane: pages that are read or written on devices where only the map, the die and the bus concern them.
//!
//! A page in the lane takes the general steps ([`Ssd::select`] to [`Ssd::page_done`]) without checks for features that its device
//! does not have, and looks each value up once. If it meets anything else, such as a page that has moved or an overlapping write,
//! it falls back to the general path. A page that was read crosses the host link, if there is one, after the lane.
//! Results are identical to the last byte with and without the lane ([`Ssd::set_fusing`]).

use crate::blame::{Cause, ExtraBlame};
use crate::config::Config;
use crate::device::geometry::Spot;
use crate::device::transaction::{Need, Op, Verb};
use crate::engine::fast::BOOKED;
use crate::engine::kernel::Kernel;
use crate::engine::kernel::dies::{Dies, Holder, Suspension};
use crate::engine::kernel::ops::{HostPage, Page};
use crate::engine::kernel::timers::Timer;
use crate::engine::rules::Rules;
use crate::engine::spine::complete::note_completion;
use crate::engine::spine::requests::HostRequest;
use crate::engine::spine::ring::Waiting;
use crate::engine::{Device, Features, Host, Pause, Policies, Ssd};
use crate::request::{Extent, RequestOp};
use crate::stats::Stats;
use crate::units::{Lpn, Moment, Nanos, OpId, Ppn, RequestId, UnitId, count};

/// The page of a request that is admitted to the lane.
pub(super) enum Lane<'a> {
    /// One of several.
    Page(RequestId),
    /// The only one of a request from the ring with this number.
    Single(&'a Waiting, u64),
}

impl Kernel {
    /// Whether all events that end now are steps in the lane, so that their order has no effect on results: operations that
    /// request the same bus are sorted there, completed requests only enter sums, and collections begin in the order of their
    /// dies. (Where writes are followed by collections in no time, all must be reads.)
    pub(in crate::engine) fn all_in_lane(&self) -> bool {
        if self.ops.all_in_lane() {
            return self.batch.iter().all(|timer| self.timers.is_of_leg(*timer as u32));
        }
        self.batch.iter().all(|timer| {
            let id = match self.timers.timer(*timer as u32) {
                // Without an operation, a die ends or begins a suspension.
                Timer::Array(unit) if self.dies[unit].array().is_none() => return false,
                Timer::Array(unit) => self.dies[unit].array(),
                Timer::Bus(bus) => self.buses[bus].holder,
                _ => return false,
            };
            // A bus event that only wakes the bus ends nothing.
            id.is_none() || self.ops[id].lane
        })
    }

    /// A page in the lane has ended on its die. `READS`: only reads have been submitted.
    #[inline(always)]
    pub(super) fn leave_die<const READS: bool>(
        &mut self,
        dev: &Device,
        quiet: bool,
        now: Nanos,
        unit: UnitId,
        chip: u32,
        bus_gc: u64,
    ) {
        let (next, awaited) = self.dies.release_host(unit, bus_gc, chip, now);
        if next.is_some() {
            let op = &self.ops[next];
            if READS { dev.expect_entry(op) } else { dev.map.expect(op.lpn) }
        }
        if awaited || !quiet {
            if READS {
                self.dies.mark_for_read(unit);
            } else {
                self.dies.mark(unit);
            }
        }
    }

    /// Adds a page to the queue of its die. With [`await_die`] this equals [`Ssd::enqueue`], without cases that cannot occur here.
    #[inline(always)]
    pub(super) fn join_queue<const READ: bool>(
        &mut self,
        features: &mut Features,
        rules: &Rules,
        id: OpId,
        unit: UnitId,
    ) {
        self.dies.units[unit.ix()].queue.push_new(&mut self.ops, id);
        features.note_queue(self, rules, id, unit, true);
        // A busy die looks at its queue when it becomes free, unless it may be suspended: then a collection erases.
        let state = &self.dies[unit];
        if state.array().is_none() || rules.suspends && state.holder() == Holder::Gc {
            if READ {
                self.dies.mark_for_read(unit);
            } else {
                self.dies.mark(unit);
            }
        }
    }

    /// [`Kernel::charge_collections`] for a page in the lane that has just begun.
    #[inline(always)]
    pub(super) fn charge_held(
        &mut self,
        dev: &Device,
        host: &mut Host,
        features: &mut Features,
        schemes: &Policies,
        now: Nanos,
        (id, unit, (gc, writeback)): (OpId, UnitId, (u64, u64)),
    ) {
        if features.conflict.is_some() {
            features.note_conflict(self, host, schemes, id, unit, (gc, writeback));
            return self.charge_collections(dev, now, id, unit, gc, writeback);
        }
        let (op, page) = self.ops.both(id);
        // GC does not hold the die any more.
        let ledger = dev.geometry.spot(op.plane).ledger;
        let own = self.dies.gc_by_plane[ledger as usize] - page.ledger_gc_own;
        page.blame.add_collections(own, gc - own, writeback);
    }
}

impl Kernel {
    /// The page on flash that a read in the lane asks for, if that is still on the plane of the read.
    #[inline(always)]
    fn page_in_lane(&mut self, dev: &Device, id: OpId) -> Option<Ppn> {
        let op = &mut self.ops[id];
        let at = op.pages.head();
        if dev.map.is_as_asked(op.age) {
            debug_assert_eq!(dev.map.on_flash(op.lpn), Some(at));
            return Some(at);
        }
        let now_at = dev.map.on_flash(op.lpn)?;
        if now_at != at {
            if dev.geometry.plane_of(now_at) != op.plane {
                return None;
            }
            op.pages.set(now_at);
        }
        Some(now_at)
    }
}

impl Features {
    /// A free die chooses among the classes that wait for it. If that is a read in the lane, it is the first in the queue from now on: those
    /// before it are served later, and keep their order. Returns false if the general steps have to choose.
    #[inline(never)]
    fn chooses_in_lane(
        &self,
        kernel: &mut Kernel,
        dev: &Device,
        host: &Host,
        rules: &Rules,
        config: &Config,
        unit: UnitId,
    ) -> bool {
        let state = &kernel.dies[unit];
        if state.holder() != Holder::Free || state.array().is_some() || state.suspension() != Suspension::No {
            return false;
        }
        let (_, id) = self.next_in_queue(kernel, dev, host, rules, config, unit);
        let reads = id.is_some() && kernel.ops[id].lane && kernel.ops[id].need != Need::Write;
        if reads {
            kernel.dies.units[unit.ix()].queue.bring_first(&mut kernel.ops, id);
        }
        reads
    }
}

impl Device {
    /// Prefetches the map's entry of an operation that will soon begin, if it is needed again.
    #[inline(always)]
    fn expect_entry(&self, op: &Op) {
        if op.need == Need::Write || !self.map.is_as_asked(op.age) {
            self.map.expect(op.lpn);
        }
    }
}

impl Host {
    /// Adds a place for the only page of a request in the lane, and one for the request.
    #[cold]
    fn add_single(&mut self, kernel: &mut Kernel) {
        let request = self.requests.insert(HostRequest::plain(), 1);
        kernel.ops.add_single(request);
    }

    /// A place for a page in the lane. It was used by such a page before, so that only what tells it apart is set.
    #[inline(always)]
    pub(super) fn place_in_lane(&mut self, kernel: &mut Kernel, of: &Lane<'_>) -> OpId {
        loop {
            let found = match of {
                Lane::Page(_) => kernel.ops.reuse_lane(),
                Lane::Single(..) => kernel.ops.reuse_single(),
            };
            match (found, of) {
                (Some(id), _) => return id,
                (None, Lane::Page(_)) => kernel.ops.add_to_lane(),
                (None, Lane::Single(..)) => self.add_single(kernel),
            }
        }
    }

    /// The record of the request of a page in the lane.
    #[inline(always)]
    pub(super) fn request_in_lane(&mut self, kernel: &mut Kernel, now: Nanos, of: Lane<'_>, id: OpId) {
        match of {
            Lane::Page(request) => kernel.ops[id].request = request,
            Lane::Single(next, index) => {
                self.outstanding += 1;
                self.requests[kernel.ops[id].request].renew(index, next, now);
            }
        }
    }

    /// An operation of a long queue begins: prefetches its request, which its end needs, the map's entry of the next one, whose record
    /// is in the cache by now, and the record of the one after that.
    #[inline(never)]
    fn expects_next(&self, kernel: &Kernel, dev: &Device, next: OpId, request: RequestId) {
        if request.is_some() {
            self.requests.expect(request);
        }
        if next.is_none() {
            return;
        }
        let op = &kernel.ops[next];
        dev.expect_entry(op);
        if op.need != Need::Write {
            dev.flash.expect_read(dev.geometry.block_of(op.pages.head()));
        }
        if op.next.is_some() {
            kernel.ops.expect(op.next);
        }
    }

    /// An operation of a unit's queue begins otherwise than in the lane: the same, where queues are long.
    #[inline(always)]
    pub(in crate::engine) fn expect_next(&self, kernel: &Kernel, dev: &Device, rules: &Rules, op: OpId, unit: UnitId) {
        if rules.deep {
            self.expects_next(kernel, dev, kernel.dies[unit].queue.head(), kernel.ops[op].request);
        }
    }
}

impl Ssd {
    /// Admits a measured request of one page to the lane, if it is a read of a page on flash or a write of a page that is not in
    /// flight. Returns whether it did.
    #[inline(always)]
    pub(in crate::engine) fn admit_to_lane(&mut self, next: &Waiting, index: u64, lpn: Lpn) -> bool {
        let request = &next.request;
        let bytes = request.bytes as u32;
        match request.op {
            RequestOp::Read => {
                let Some(page) = self.dev.map.on_flash(lpn) else { return false };
                let asked =
                    self.dev.flash_pages(&self.config, &Extent { offset: request.offset, bytes: request.bytes }, 1);
                self.stats.pages.read += asked;
                let offset = (request.offset - u64::from(lpn.0) * self.dev.entry_bytes()) as u32;
                self.read_in_lane((Lane::Single(next, index), lpn), page, offset, bytes, self.now - request.arrival);
                true
            }
            RequestOp::Write if self.host.takes_writes(&self.fast) => {
                let Some(old) = self.dev.page_overwritten(bytes, lpn) else { return false };
                self.host.count_written(&mut self.stats, u64::from(self.dev.geometry.pages_per_entry), true);
                let whole = bytes == self.dev.geometry.unit_bytes;
                let offset = if whole { 0 } else { request.offset - u64::from(lpn.0) * self.dev.entry_bytes() } as u32;
                self.write_in_lane((Lane::Single(next, index), lpn), old, (offset, bytes), self.now - request.arrival);
                true
            }
            _ => false,
        }
    }

    /// Admits a page of a measured request to the lane, if it is a read of a page on flash or, where the lane `writes`, a write of a
    /// page that is not in flight. Returns whether it did.
    #[inline(always)]
    pub(in crate::engine) fn admit_page_to_lane(
        &mut self,
        id: RequestId,
        op: RequestOp,
        lpn: Lpn,
        offset: u32,
        bytes: u32,
        (waited, writes): (Nanos, bool),
    ) -> bool {
        match op {
            RequestOp::Read => {
                let Some(page) = self.dev.map.on_flash(lpn) else { return false };
                self.read_in_lane((Lane::Page(id), lpn), page, offset, bytes, waited);
                true
            }
            RequestOp::Write if writes => {
                let Some(old) = self.dev.page_overwritten(bytes, lpn) else { return false };
                self.write_in_lane((Lane::Page(id), lpn), old, (offset, bytes), waited);
                true
            }
            _ => false,
        }
    }

    #[inline(always)]
    fn read_in_lane(&mut self, (of, lpn): (Lane<'_>, Lpn), at: Ppn, offset: u32, bytes: u32, waited: Nanos) {
        let (now, age) = (self.now, self.kernel.age());
        let id = self.host.place_in_lane(&mut self.kernel, &of);
        let (op, page) = self.kernel.ops.both(id);
        op.renew(Verb::Read, Need::Read, lpn, age, now);
        op.pages.set(at);
        page.expected = self.oracle.latest(lpn);
        let plane = self.dev.geometry.plane_of(at);
        let spot = self.dev.geometry.spot(plane);
        op.go_to(plane, spot);
        page.renew(spot.chip, offset, bytes, waited.0);
        self.dev.map.asked_by(age);
        self.host.request_in_lane(&mut self.kernel, self.now, of, id);
        if self.oracle.tracks_sectors() {
            self.oracle.expects(id, lpn);
        }
        if self.kernel.begins_at_once(spot.unit) {
            self.begin_read_in_lane::<false>(id, spot.unit, at);
        } else {
            if self.fast.turns {
                self.joins_turns(spot.unit);
            }
            await_die(&mut self.kernel.ops[Page(id)], &self.kernel.dies, spot, now);
            self.kernel.join_queue::<true>(&mut self.features, &self.rules, id, spot.unit);
            if self.rules.heeds {
                self.unit_is_awaited(spot.unit);
            }
        }
    }

    /// Serves the operation at the head of a unit's queue, if possible, like [`Ssd::kick`] and the steps after it. Returns false as
    /// that does.
    #[inline(always)]
    pub(in crate::engine) fn start_in_lane(&mut self, unit: UnitId) -> bool {
        if self.rules.counts && self.features.chooses(&self.kernel, unit) {
            let (dev, host, rules) = (&self.dev, &self.host, &self.rules);
            if !self.features.chooses_in_lane(&mut self.kernel, dev, host, rules, &self.config, unit) {
                return false;
            }
        }
        let state = &self.kernel.dies[unit];
        let id = state.queue.head();
        if id.is_none() || state.array().is_some() {
            return true;
        }
        if state.holder() != Holder::Free
            || state.job.is_some() && !(self.rules.pauses && self.gc.jobs[state.job.0].pause != Pause::No)
            || (self.rules.collector_holds && !state.due().is_empty() && state.job.is_none())
        {
            return false;
        }
        let op = &self.kernel.ops[id];
        if !op.lane {
            return false;
        }
        let need = op.need;
        if self.rules.deep {
            self.host.expects_next(&self.kernel, &self.dev, op.next, op.request);
        }
        if need == Need::Read {
            let Some(at) = self.kernel.page_in_lane(&self.dev, id) else { return false };
            self.begin_read_in_lane::<false>(id, unit, at);
        } else if need == Need::Merge {
            let Some(old) = self.kernel.page_to_merge(&self.dev, &self.host, id) else { return false };
            self.begin_read_in_lane::<true>(id, unit, old);
        } else {
            // If its plane has a page for it.
            let Some(waits) = self.begin_write_in_lane::<false>(id, unit) else { return false };
            if waits.0 + waits.1 > 0 {
                let (host, features) = (&mut self.host, &mut self.features);
                self.kernel.charge_held(&self.dev, host, features, &self.schemes, self.now, (id, unit, waits));
            }
        }
        if self.rules.counts {
            self.features.note_queue(&self.kernel, &self.rules, id, unit, false);
            self.features.note_burst(&self.kernel, &self.host, &self.rules, id, unit);
        }
        true
    }

    /// A read in the lane begins on its free die. `MERGES`: of the page that a write is merged with.
    #[inline(always)]
    pub(super) fn begin_read_in_lane<const MERGES: bool>(&mut self, id: OpId, unit: UnitId, at: Ppn) {
        let now = self.now;
        let (op, page) = self.kernel.ops.both(id);
        let turn = self.kernel.dies.begin_host(unit, id, op.next, page.chip, op.waits_since, now);
        let (gc, writeback) = page.charge_turn(&turn, self.rules.by_class, op.waits_since, now);
        // A write is merged with a whole page.
        let transfer = if MERGES { self.dev.timing.page() } else { self.dev.timing.transfer(page.bytes) };
        let array = self.dev.timing.steady_read(|| self.dev.geometry.offset(at));
        op.legs.set_read(array, transfer);
        op.bus_gc = 0;
        if MERGES {
            op.verb = Verb::Read;
            op.pages.set(at);
            page.first_start.get_or_insert(Moment::at(now));
            // It becomes stale at the end of the read.
            self.dev.flash.expect_stale(at, self.dev.geometry.block_of(at));
        } else {
            page.first_start = Some(Moment::at(now));
        }
        page.blame.set(Cause::Array, array.0);
        self.dev.flash.read_begins(self.dev.geometry.block_of(at));
        let (lpn, tag) = (op.lpn, self.oracle.load(at, op.lpn));
        page.tags[usize::from(MERGES)] = tag;
        self.stats.count_host_read();
        let (bus, age) = (op.channel.ix(), op.age);
        if !(self.fast.books
            && !MERGES
            && self.kernel.book(&mut self.shared, self.now, (id, unit), bus, (now + array, age), transfer))
        {
            self.kernel.timers.begin(Timer::Array(unit), now + array);
        }
        // There is no write cache.
        if MERGES {
            self.oracle.delivered(lpn, tag, 0);
        } else if self.host.runs.any() || self.oracle.tracks_sectors() {
            self.kernel.note_flash_read(&self.dev, &self.features, &mut self.oracle, &self.rules, id, tag);
        }
        if gc + writeback > 0 {
            let (host, features, waits) = (&mut self.host, &mut self.features, (gc, writeback));
            self.kernel.charge_held(&self.dev, host, features, &self.schemes, self.now, (id, unit, waits));
        }
    }

    /// A page in the lane is served. If its request is complete, its latency is given.
    #[inline(always)]
    pub(super) fn page_leaves(&mut self, id: OpId, (request, single): (RequestId, bool), latency: Option<u64>) {
        let Some(latency) = latency else { return self.count_page_in_lane(id) };
        self.features.note_done(&self.kernel, &self.dev, &self.host, self.now, request, latency);
        if self.stats.keeps_slowest || self.observer.shows_completions() {
            self.show_done(request, id, &ExtraBlame::ZERO, latency);
        }
        self.kernel.idle_rounds = 0;
        self.host.request_ends(self.now);
        if single {
            return self.kernel.ops.remove_single(id);
        }
        self.host.requests.remove(request);
        self.kernel.ops.remove_lane(id);
    }

    /// Ends the steps of a batch that are all in the lane, in any order.
    #[inline(always)]
    pub(in crate::engine) fn lane_batch_ends(&mut self) {
        let batch = std::mem::take(&mut self.kernel.batch);
        for timer in &batch {
            match self.kernel.timers.timer(*timer as u32) {
                Timer::Array(unit) => self.array_ends_in_lane(self.kernel.dies[unit].array(), unit),
                timer => self.leg_ends(timer),
            }
        }
        self.kernel.batch = batch;
    }

    /// The array time of an operation in the lane has ended, perhaps in one event with another leg.
    #[inline(always)]
    pub(in crate::engine) fn array_ends_in_lane(&mut self, id: OpId, unit: UnitId) {
        let op = &mut self.kernel.ops[id];
        if op.need == Need::Write {
            return self.written_in_lane(id, unit);
        }
        if op.leg == BOOKED {
            return self.leaves_lane::<false>(id, true);
        }
        op.leg = 1;
        let bus = op.channel.ix();
        if op.need == Need::Merge || !self.kernel.book_now(&mut self.shared, self.fast.books, self.now, id, unit) {
            self.ask(id, bus);
        }
    }

    /// The page of a read in the lane has reached the controller, and goes to the host, or is merged with a write there; `booked`: over
    /// a channel that it had in advance; `READS`: only reads have been submitted.
    #[inline(always)]
    pub(in crate::engine) fn leaves_lane<const READS: bool>(&mut self, id: OpId, booked: bool) {
        if !READS && self.kernel.ops[id].need == Need::Merge {
            self.merged_in_lane(id);
            return self.host.runs.release(id);
        }
        let now = self.now;
        let (op, page) = self.kernel.ops.both(id);
        debug_assert!(op.need == Need::Read && op.verb == Verb::Read && op.mate.is_none());
        if booked {
            let state = &mut self.kernel.buses[op.channel.ix()];
            self.shared.booked.end(id, (op, page), state, now, self.stats.last_completion);
        }
        // As `end_read`: there are no errors.
        self.dev.flash.read_ends(self.dev.geometry.block_of(op.pages.head()));
        self.oracle.delivered(op.lpn, page.tags[0], page.expected);
        debug_assert_eq!(page.chip, self.dev.geometry.chip_of(op.plane));
        let (unit, chip, bus_gc) = (op.unit, page.chip, op.bus_gc);
        match self.kernel.link_to_cross(&self.dev, id, false) {
            None => self.reaches_host(id),
            Some(link) => self.join_bus(id, link),
        }
        self.kernel.leave_die::<READS>(&self.dev, self.fast.quiet, self.now, unit, chip, bus_gc);
    }

    /// The page of a read in the lane has reached the host.
    #[inline(always)]
    pub(in crate::engine) fn reaches_host(&mut self, id: OpId) {
        let (op, page) = self.kernel.ops.both(id);
        let (request, single) = (op.request, op.single);
        let latency =
            complete(&mut self.host, &mut self.stats, &mut self.kernel.dies, (request, single, true), page, self.now);
        self.page_leaves(id, (request, single), latency);
    }
}

/// A page begins to wait for its die: notes for how long collections and write-backs had held that before.
#[inline(always)]
pub(super) fn await_die(page: &mut HostPage, dies: &Dies, spot: Spot, now: Nanos) {
    let by_plane = dies.gc_by_plane[spot.ledger as usize];
    let state = &dies[spot.unit];
    if state.holder() == Holder::Gc {
        page.ledger_gc = state.gc(now);
        page.ledger_gc_own = state.gc_own(by_plane, spot.in_unit, now);
        page.collections = state.collections.saturating_sub(1);
    } else {
        // As no collection holds it, these stand still.
        page.ledger_gc = state.gc_before();
        page.ledger_gc_own = by_plane;
        page.collections = state.collections;
    }
    page.ledger_writeback = state.writeback(now);
}

/// A page has been read, or written: if it is the only one of its request, which is measured, the request has completed. Returns
/// its latency then. `single`: [`Op::single`]. Equals [`Ssd::request_done`] without features that close the lane.
#[inline(always)]
pub(super) fn complete(
    host: &mut Host,
    stats: &mut Stats,
    dies: &mut Dies,
    (id, single, reads): (RequestId, bool, bool),
    page: &HostPage,
    now: Nanos,
) -> Option<u64> {
    if !single && !host.requests.is_of_one(id) {
        return None;
    }
    let record = &host.requests[id];
    let (latency, (waits, service)) = ((now - record.request.arrival).0, page.blame.sums());
    law_eq!(waits + service, latency, "causes sum to the latency of request {}", record.index);
    debug_assert_eq!(reads, record.request.op == RequestOp::Read);
    let of = if reads {
        count(&mut stats.requests.read);
        stats.bytes.read += record.request.bytes;
        &mut stats.read
    } else {
        count(&mut stats.requests.write);
        stats.bytes.written += record.request.bytes;
        stats.count_page_done(record.request.bytes);
        &mut stats.write
    };
    of.complete(&page.blame, latency, waits);
    count(&mut stats.completed);
    note_completion(stats, dies, now);
    Some(latency)
}
