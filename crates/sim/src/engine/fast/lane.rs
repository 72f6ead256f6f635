//! The fast lane: pages that are read, and whole pages that are written, on devices where only the map, the die and the bus
//! concern them.
//!
//! A page in the lane takes the general steps ([`Ssd::select`] to [`Ssd::page_done`]) without checks for features that its device
//! does not have, and looks each value up once. If it meets anything else, such as a page that has moved or an overlapping write,
//! it falls back to the general path. Results are identical to the last byte with and without the lane ([`Ssd::set_fusing`]).

use crate::blame::{Blame, Cause};
use crate::device::flash::Stream;
use crate::device::mapping::Location;
use crate::device::timing::LegKind;
use crate::device::transaction::{Class, Need, Op, Verb};
use crate::engine::Ssd;
use crate::engine::kernel::dies::Holder;
use crate::engine::kernel::timers::Timer;
use crate::engine::spine::host::{HostRequest, Waiting};
use crate::policy::PageSet;
use crate::request::{Extent, Request, RequestOp};
use crate::units::{Lpn, Moment, Nanos, OpId, Ppn, RequestId, UnitId};

impl Ssd {
    /// A measured read of one page on flash is admitted.
    #[inline(always)]
    pub(in crate::engine) fn admit_to_lane(&mut self, request: Request, index: u64, lpn: Lpn, page: Ppn) {
        self.host.outstanding += 1;
        self.stats.pages.read += self.flash_pages(&Extent { offset: request.offset, bytes: request.bytes }, 1);
        let record = HostRequest::new(index, Waiting::together(request), self.now, true, 1);
        let id = RequestId(self.host.requests.insert(record));
        let offset = (request.offset - u64::from(lpn.0) * self.entry_bytes()) as u32;
        self.read_in_lane(id, lpn, page, offset, request.bytes as u32, self.now - request.arrival);
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
        let place = self.dev.map.get(lpn);
        match (op, place) {
            (RequestOp::Read, Location::Flash(page)) => {
                self.read_in_lane(id, lpn, page, offset, bytes, waited);
                true
            }
            (RequestOp::Write, Location::Flash(_) | Location::Nowhere)
                if self.fast.writes
                    && bytes == self.dev.geometry.page_size
                    && !self.host.runs.any_linger()
                    && !self.oracle.tracks_sectors() =>
            {
                self.write_in_lane(id, lpn, place, waited);
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
    fn write_in_lane(&mut self, id: RequestId, lpn: Lpn, place: Location, waited: Nanos) {
        self.before_stale(place);
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
            || state.job.is_some()
            || (self.rules.collector_holds && !state.due.is_empty())
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
        let Some(at) = self.dev.flash.take_page(plane, Stream::Host, false) else { return false };
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
        let (request, bus) = (op.request, op.channel.ix());
        if self.rules.deep {
            if next.is_some() {
                self.kernel.ops.expect(next.0);
            }
            self.host.requests.expect(request.0);
        }
        if transfer == Nanos::ZERO {
            self.run_leg(id);
        } else {
            self.ask(id, bus);
        }
        true
    }

    /// A write in the lane has been programmed.
    #[inline(always)]
    pub(in crate::engine) fn written_in_lane(&mut self, id: OpId, unit: UnitId) {
        let now = self.now;
        let op = &self.kernel.ops[id];
        let (lpn, plane, bus_gc) = (op.lpn, op.plane, op.bus_gc);
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
        self.land_written(id, true, true);
        self.oracle.acknowledge(self.kernel.ops.host[id].tags[0]);
        self.lane_page_done(id);
        self.kernel.ops.remove(id);
        self.test_trigger(plane);
    }

    /// A page in the lane is served; its request may be complete.
    #[inline(always)]
    fn lane_page_done(&mut self, id: OpId) {
        let request = self.kernel.ops[id].request;
        if self.host.requests[request.0].is_single() { self.request_done(request, id) } else { self.count_page(id) }
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
