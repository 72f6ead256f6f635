//! The fast lane: pages that are read, and whole pages that are written, on devices where only the map, the die and the bus
//! concern them.
//!
//! A page in the lane takes the general steps ([`Ssd::select`] to [`Ssd::page_done`]) without checks for features that its device
//! does not have, and looks each value up once. If it meets anything else, such as a page that has moved or an overlapping write,
//! it falls back to the general path. Results are identical to the last byte with and without the lane ([`Ssd::set_fusing`]).

use crate::blame::{Blame, Cause, ExtraBlame};
use crate::device::mapping::Location;
use crate::device::timing::{LegKind, Legs};
use crate::device::transaction::{Class, Need, Op, Verb};
use crate::engine::kernel::dies::Holder;
use crate::engine::kernel::timers::Timer;
use crate::engine::spine::host::{HostRequest, Waiting};
use crate::engine::{Pause, Ssd};
use crate::policy::PageSet;
use crate::request::{Extent, RequestOp};
use crate::units::{Lpn, Moment, Nanos, OpId, Ppn, RequestId, UnitId};

impl Ssd {
    /// Admits a measured request of one page to the lane, if it is a read of a page on flash or a write of a whole page that is
    /// not in flight. Returns whether it did.
    #[inline(always)]
    pub(in crate::engine) fn admit_to_lane(&mut self, next: &Waiting, index: u64, lpn: Lpn) -> bool {
        let request = &next.request;
        let bytes = request.bytes as u32;
        match (request.op, self.dev.map.get(lpn)) {
            (RequestOp::Read, Location::Flash(page)) => {
                let asked = self.flash_pages(&Extent { offset: request.offset, bytes: request.bytes }, 1);
                let id = self.lane_request(next, index);
                self.stats.pages.read += asked;
                let offset = (request.offset - u64::from(lpn.0) * self.entry_bytes()) as u32;
                self.read_in_lane(id, lpn, page, offset, bytes, self.now - request.arrival);
                true
            }
            (RequestOp::Write, Location::Flash(_) | Location::Nowhere) if self.writes_in_lane(bytes) => {
                let id = self.lane_request(next, index);
                self.count_written(u64::from(self.dev.geometry.pages_per_entry), true);
                self.write_in_lane(id, lpn, self.now - request.arrival);
                true
            }
            _ => false,
        }
    }

    /// The record of a measured request of one page.
    #[inline(always)]
    fn lane_request(&mut self, next: &Waiting, index: u64) -> RequestId {
        self.host.outstanding += 1;
        let Some(id) = self.host.requests.reuse(|_| true) else {
            return RequestId(self.host.requests.insert(HostRequest::new(index, *next, self.now, true, 1)));
        };
        self.host.requests[id].renew(index, next, self.now);
        RequestId(id)
    }

    /// Whether a write of so many bytes of a page that is not in flight is for the lane.
    #[inline(always)]
    fn writes_in_lane(&self, bytes: u32) -> bool {
        self.fast.writes
            && bytes == self.dev.geometry.page_size
            && !self.host.runs.any_linger()
            && !self.oracle.tracks_sectors()
    }

    /// Admits a page of a measured request to the lane, if it is a read of a page on flash or a write of a whole page that is not
    /// in flight. Returns whether it did.
    #[inline(always)]
    pub(in crate::engine) fn admit_page_to_lane(
        &mut self,
        id: RequestId,
        op: RequestOp,
        lpn: Lpn,
        offset: u32,
        bytes: u32,
        waited: Nanos,
    ) -> bool {
        match (op, self.dev.map.get(lpn)) {
            (RequestOp::Read, Location::Flash(page)) => {
                self.read_in_lane(id, lpn, page, offset, bytes, waited);
                true
            }
            (RequestOp::Write, Location::Flash(_) | Location::Nowhere) if self.writes_in_lane(bytes) => {
                self.write_in_lane(id, lpn, waited);
                true
            }
            _ => false,
        }
    }

    /// A new operation in the lane.
    #[inline(always)]
    fn lane_op(&mut self, id: RequestId, lpn: Lpn, need: Need, verb: Verb, waited: Nanos) -> OpId {
        let age = self.age();
        // Most places were used by an operation in the lane before. Then only fields that such an operation changes without
        // setting them are reset.
        let place = self.kernel.ops.reuse(|op| op.lane);
        let op = place.unwrap_or_else(|| self.kernel.ops.create(Op { lane: true, ..Op::blank() }));
        let record = &mut self.kernel.ops[op];
        record.leg = 0;
        record.need = need;
        record.verb = verb;
        record.acknowledged = false;
        record.request = id;
        record.lpn = lpn;
        record.age = age;
        record.waits_since = self.now;
        let host = &mut self.kernel.ops.host[op];
        host.first_start = None;
        host.blame = Blame::ZERO;
        host.blame.add(Cause::Queue, waited.0);
        op
    }

    #[inline(always)]
    fn read_in_lane(&mut self, id: RequestId, lpn: Lpn, page: Ppn, offset: u32, bytes: u32, waited: Nanos) {
        let op = self.lane_op(id, lpn, Need::Read, Verb::Read, waited);
        let expected = self.oracle.latest(lpn);
        let host = &mut self.kernel.ops.host[op];
        host.offset = offset;
        host.bytes = bytes;
        host.expected = expected;
        if self.oracle.tracks_sectors() {
            self.oracle.expects(op, lpn);
        }
        self.enqueue(op, self.dev.geometry.plane_of(page), false);
    }

    /// A whole page is written: it is the newest version from now on, and the old page is stale.
    #[inline(always)]
    fn write_in_lane(&mut self, id: RequestId, lpn: Lpn, waited: Nanos) {
        self.before_stale(self.dev.map.get(lpn));
        let op = self.lane_op(id, lpn, Need::Write, Verb::Program, waited);
        let tag = self.oracle.admit(lpn);
        let host = &mut self.kernel.ops.host[op];
        host.offset = 0;
        host.bytes = self.dev.geometry.page_size;
        host.tags[0] = tag;
        if let Location::Flash(page) = self.dev.map.get(lpn) {
            self.dev.flash.invalidate(page, self.dev.geometry.block_of(page), lpn);
        }
        self.dev.map.set(lpn, Location::Staged(op));
        self.enqueue(op, self.dev.geometry.static_plane(lpn), false);
    }

    /// Serves the operation at the head of a unit's queue, if possible, like [`Ssd::kick`] and the steps after it. Returns false as
    /// that does.
    #[inline(always)]
    pub(in crate::engine) fn start_in_lane(&mut self, unit: UnitId) -> bool {
        let now = self.now;
        let state = &self.kernel.dies[unit];
        let id = state.queue.head();
        if id.is_none() || state.array().is_some() {
            return true;
        }
        if state.holder() != Holder::Free
            || state.job.is_some() && !(self.rules.pauses && self.gc.jobs[state.job.0].pause != Pause::No)
            || (self.rules.collector_holds && !state.due.is_empty() && state.job.is_none())
        {
            return false;
        }
        let op = &self.kernel.ops[id];
        if !op.lane {
            return false;
        }
        if op.need == Need::Write {
            return self.start_write(id, unit);
        }
        let Location::Flash(at) = self.dev.map.get(op.lpn) else { return false };
        if self.dev.geometry.plane_of(at) != op.plane {
            return false;
        }
        self.turn_comes(id, unit);
        let state = &mut self.kernel.dies[unit];
        state.queue.pop(&self.kernel.ops);
        let next = state.queue.head();
        self.kernel.dies.seize_free(unit, id, now);
        let page = &mut self.kernel.ops.host[id];
        let legs = self.dev.timing.read_one(self.dev.place(at), self.dev.timing.transfer(page.bytes));
        let array = legs.get(0).map_or(Nanos::ZERO, |leg| leg.time);
        page.first_start.get_or_insert(Moment::at(now));
        page.blame.add(Cause::Array, array.0);
        let op = &mut self.kernel.ops[id];
        op.pages = PageSet::one(at);
        op.legs = legs;
        op.bus_gc = 0;
        let (plane, request, lpn) = (op.plane, op.request, op.lpn);
        self.dev.flash.read_begins(self.dev.geometry.block_of(at));
        self.hold_tag(id, 0, self.oracle.load(at, lpn));
        self.stats.count_reads(Class::Host, 1);
        self.chip_in_use(plane, true);
        if !(self.fast.books && self.book(id, unit, array)) {
            self.kernel.timers.set(Timer::Array(unit), now + array);
        }
        if self.rules.deep {
            if next.is_some() {
                self.kernel.ops.expect(next.0);
            }
            self.host.requests.expect(request.0);
        }
        true
    }

    /// Starts the write at the head of a free unit's queue, if its plane has a page for it.
    #[inline(always)]
    fn start_write(&mut self, id: OpId, unit: UnitId) -> bool {
        let (now, plane) = (self.now, self.kernel.ops[id].plane);
        let Some(at) = self.dev.flash.take_host_page(plane) else { return false };
        self.turn_comes(id, unit);
        let state = &mut self.kernel.dies[unit];
        state.queue.pop(&self.kernel.ops);
        let next = state.queue.head();
        self.kernel.dies.seize_free(unit, id, now);
        self.chip_in_use(plane, true);
        self.kernel.ops.host[id].first_start.get_or_insert(Moment::at(now));
        self.stats.count_programs(Class::Host, 1);
        let transfer = self.dev.timing.transfer(self.dev.geometry.page_size);
        let legs = self.dev.timing.program(self.dev.place(at), transfer);
        let op = &mut self.kernel.ops[id];
        op.pages = PageSet::one(at);
        op.legs = legs;
        op.bus_gc = 0;
        let request = op.request;
        if self.rules.deep {
            if next.is_some() {
                self.kernel.ops.expect(next.0);
            }
            self.host.requests.expect(request.0);
        }
        if transfer == Nanos::ZERO {
            self.run_leg(id);
        } else {
            self.send_to_die(id, unit, &legs);
        }
        true
    }

    /// A write begins on its die: its data crosses the channel at once if that is free and no other die may request it now, and
    /// its program is the next event. Otherwise it requests the channel. Equals [`Ssd::ask`] and [`Ssd::grant_bus`], without
    /// cases that cannot occur here.
    #[inline(always)]
    fn send_to_die(&mut self, id: OpId, unit: UnitId, legs: &Legs) {
        let (now, bus) = (self.now, self.kernel.ops[id].channel.ix());
        self.approach(id, bus);
        let state = &mut self.kernel.buses[bus];
        let free = state.holder.is_none() && state.until <= now && state.queue.is_empty();
        let times = (legs.get(0), legs.get(1));
        let (true, false, (Some(transfer), Some(array))) = (free, self.kernel.buses.is_contested(bus), times) else {
            return self.join_bus(id, bus);
        };
        self.cross_to_die(id, unit, bus, transfer.time, array.time);
    }

    /// A write's data crosses its channel, and is programmed.
    #[inline(always)]
    fn cross_to_die(&mut self, id: OpId, unit: UnitId, bus: usize, transfer: Nanos, array: Nanos) {
        let (now, until) = (self.now, self.now + transfer);
        self.kernel.buses[bus].begin(false, now, until, self.stats.last_completion);
        self.clear_way(bus, now, until);
        let blame = &mut self.kernel.ops.host[id].blame;
        blame.add(Cause::Bus, transfer.0);
        blame.add(Cause::Array, array.0);
        self.kernel.ops[id].leg = 1;
        self.kernel.timers.set(Timer::Array(unit), until + array);
    }

    /// Grants a channel to its first request, if that is a write in the lane whose data crosses before its program. Returns whether
    /// it did. Equals [`Ssd::grant_bus`].
    #[inline(always)]
    pub(in crate::engine) fn grant_in_lane(&mut self, bus: usize) -> bool {
        let now = self.now;
        let op = &mut self.kernel.ops[self.kernel.buses[bus].queue.head()];
        if !op.lane || op.need != Need::Write || op.leg != 0 {
            return false;
        }
        let (Some(transfer), Some(array)) = (op.legs.get(0), op.legs.get(1)) else { return false };
        let unit = op.unit;
        let state = &mut self.kernel.buses[bus];
        let gc_wait = state.gc(now) - op.bus_ledger;
        let wait = (now - op.bus_since).0;
        op.bus_gc += gc_wait;
        let id = state.queue.pop(&self.kernel.ops);
        let waits = !state.queue.is_empty();
        let blame = &mut self.kernel.ops.host[id].blame;
        blame.add(Cause::BusGc, gc_wait);
        blame.add(Cause::BusHost, wait - gc_wait);
        self.cross_to_die(id, unit, bus, transfer.time, array.time);
        if waits {
            self.mark_awaited(bus);
        }
        true
    }

    /// A write in the lane has been programmed.
    #[inline(always)]
    pub(in crate::engine) fn written_in_lane(&mut self, id: OpId, unit: UnitId) {
        let now = self.now;
        let op = &self.kernel.ops[id];
        let (lpn, plane, bus_gc, page) = (op.lpn, op.plane, op.bus_gc, op.pages[0]);
        if self.dev.map.get(lpn) != Location::Staged(id) {
            // It was discarded meanwhile.
            self.kernel.ops[id].leg += 1;
            return self.run_leg(id);
        }
        let state = &mut self.kernel.dies[unit];
        let next = state.queue.head();
        if next.is_some() {
            self.dev.map.expect(self.kernel.ops[next].lpn);
        }
        self.kernel.dies.release_host(unit, bus_gc, now);
        self.chip_in_use(plane, false);
        self.mark_unit(unit);
        // As `land_written`: there are neither errors nor metadata.
        let tag = self.kernel.ops.host[id].tags[0];
        self.dev.flash.land(page, self.dev.geometry.block_of(page), lpn);
        self.oracle.land(page, tag, true);
        self.dev.map.set(lpn, Location::Flash(page));
        self.oracle.acknowledge(tag);
        self.lane_page_done(id);
        self.kernel.ops.remove(id);
        self.test_trigger(plane);
    }

    /// A page in the lane is served; its request may be complete.
    #[inline(always)]
    fn lane_page_done(&mut self, id: OpId) {
        let request = self.kernel.ops[id].request;
        if self.host.requests[request.0].is_single() {
            self.lane_request_done(request, id)
        } else {
            self.count_page(id)
        }
    }

    /// A measured request of one page has completed. Equals [`Ssd::request_done`] without features that close the lane.
    #[inline(always)]
    fn lane_request_done(&mut self, id: RequestId, last: OpId) {
        let (record, blame) = (&self.host.requests[id.0], &self.kernel.ops.host[last].blame);
        let (latency, waits) = ((self.now - record.request.arrival).0, blame.waits());
        law_eq!(waits + blame.service(), latency, "causes sum to the latency of request {}", record.index);
        let stats = if record.request.op == RequestOp::Read {
            self.stats.requests.read += 1;
            self.stats.bytes.read += record.request.bytes;
            &mut self.stats.read
        } else {
            self.stats.requests.write += 1;
            self.stats.bytes.written += record.request.bytes;
            &mut self.stats.write
        };
        stats.complete(blame, latency, waits);
        self.note_done(id, latency);
        self.note_completion();
        if self.stats.keeps_slowest {
            self.keep_slow(id, last, ExtraBlame::default(), latency);
        }
        self.kernel.idle_rounds = 0;
        self.stats.completed += 1;
        self.host.outstanding -= 1;
        self.host.requests.remove(id.0);
    }

    /// Whether all events that end now are steps in the lane, so that their order has no effect on results: operations that
    /// request the same bus are sorted there, completed requests only enter sums, and collections begin in the order of their
    /// dies. (Where writes are followed by collections in no time, all must be reads.)
    pub(in crate::engine) fn all_in_lane(&self) -> bool {
        self.kernel.batch.iter().all(|timer| {
            let id = match self.kernel.timers.timer(*timer as u32) {
                Timer::Array(unit) => self.kernel.dies[unit].array(),
                Timer::Bus(bus) => self.kernel.buses[bus].holder,
                _ => return false,
            };
            // A bus event that only wakes the bus ends nothing.
            id.is_none() || self.kernel.ops[id].lane
        })
    }

    /// The page of a read in the lane has reached the controller.
    #[inline(always)]
    pub(in crate::engine) fn leaves_lane(&mut self, id: OpId) {
        let now = self.now;
        let op = &self.kernel.ops[id];
        debug_assert!(op.need == Need::Read && op.verb == Verb::Read && op.mate.is_none());
        debug_assert!(op.legs.get(op.leg).is_some_and(|leg| leg.kind == LegKind::Bus));
        let (unit, plane, bus_gc) = (op.unit, op.plane, op.bus_gc);
        self.end_read(id, true);
        let state = &mut self.kernel.dies[unit];
        let next = state.queue.head();
        if next.is_some() {
            self.dev.map.expect(self.kernel.ops[next].lpn);
        }
        self.kernel.dies.release_host(unit, bus_gc, now);
        self.chip_in_use(plane, false);
        self.mark_unit(unit);
        self.lane_page_done(id);
        self.kernel.ops.remove(id);
    }
}
