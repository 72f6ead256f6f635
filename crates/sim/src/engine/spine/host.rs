//! The host side: requests wait outside, are admitted, split into pages, and complete.

use crate::observe::Slot;
use crate::oracle::Oracle;
use std::collections::VecDeque;

use crate::blame::Cause;
use crate::config::{Config, UnwrittenRead};
use crate::device::geometry::Geometry;
use crate::device::mapping::Location;
use crate::device::transaction::{Class, Fifo, Need, Op, Verb};
use crate::engine::features::cache::points as cache;
use crate::engine::features::raid::place;
use crate::engine::features::units::reads as units;
use crate::engine::features::{keep, life, nvme, streams};
use crate::engine::kernel::Kernel;
use crate::engine::kernel::ops::Page;
use crate::engine::spine::merge::Runs;
use crate::engine::spine::pause::Pause;
use crate::engine::spine::requests::{HostRequest, Requests};
use crate::engine::spine::ring::{BATCH, LOOK_AHEAD, RING, Ring, Waiting, Writes};
use crate::engine::{Device, Features, Nanos, Ssd};
use crate::request::{Extent, Request, RequestOp};
use crate::schemes::Place;
use crate::stats::Stats;
use crate::units::{Lpn, OpId, PlaneId, Ppm, Ppn, RequestId, Warmup, count};

/// The host's queues.
#[derive(Clone)]
pub(in crate::engine) struct Host {
    /// Requests submitted and not admitted, in order of arrival; the first `arrived` have arrived and wait outside.
    pub(in crate::engine) ring: Ring,
    /// Writes in no time that wait. If there are any, the ring is empty.
    pub(in crate::engine) writes: Box<Writes>,
    /// Extents of scattered requests in the ring, in the order of the ring.
    pub(super) extents: VecDeque<Extent>,
    arrived: usize,
    pub(in crate::engine) requests: Requests,
    /// Requests admitted and not dispatched, in order of arrival.
    pub(in crate::engine) window: VecDeque<RequestId>,
    /// By chip: dispatched sub-requests that have not finished.
    pub(in crate::engine) chip_outstanding: Vec<u32>,
    /// Sub-requests that a chip accepts before further requests wait in the window (`order.chip_queue`).
    pub(in crate::engine) chip_queue: Option<u32>,
    /// Whether requests pass through the window.
    pub(in crate::engine) windowed: bool,
    /// Whether reads in the window go before writes that wait there and were not delayed before.
    pub(in crate::engine) delays_writes: bool,
    /// A request has joined the window, or chips have finished sub-requests, since the order was last asked.
    pub(in crate::engine) window_stale: bool,
    pub(in crate::engine) outstanding: u32,
    /// Requests that have arrived and wait in queues of their own.
    pub(in crate::engine) queued: u32,
    /// Requests of closed loops of tenants that have not arrived.
    pub(in crate::engine) looped: u64,
    /// Something may happen at the current time though no event is set: one of those may have a slot by now, or rules have changed.
    pub(in crate::engine) stirred: bool,
    /// Outstanding flushes, which no order dispatches.
    pub(in crate::engine) flushing: u32,
    pub(in crate::engine) depth: u32,
    pub(super) closed: bool,
    /// Pauses of the closed loop.
    pub(super) pause: Option<Pause>,
    /// When the first pause of a tenant's loop ends that has requests to send.
    pub(in crate::engine) pause_ends: Nanos,
    /// The kinds of requests submitted so far, as bits.
    pub(super) kinds: u8,
    admitted: u64,
    pub(super) last_arrival: Nanos,
    pub(in crate::engine) measuring: bool,
    warmup: Option<Warmup>,
    /// Pages written before measuring started.
    pages_written: u64,
    /// Pages served from controller memory in `device.memory`, in order of completion.
    pub(in crate::engine) memory: VecDeque<(Nanos, OpId)>,
    /// Time to serve a page from controller memory.
    pub(super) memory_time: Nanos,
    /// Pages in the decoder, in order of completion.
    pub(in crate::engine) decoding: VecDeque<(Nanos, OpId)>,
    pub(in crate::engine) fault: Option<String>,
    /// Overlapping writes of a page.
    pub(in crate::engine) runs: Runs,
    /// Writes that any idle die may serve.
    pub(in crate::engine) anywhere: Fifo,
    /// Those whose handle has no page in any plane, until a block is erased.
    pub(in crate::engine) without_page: Fifo,
    /// The unit of the last dynamic write, or the plane of the last write that was placed round robin.
    pub(in crate::engine) last_place: u32,
    /// No die was idle when a dynamic write last searched for one, and none has become idle since.
    pub(in crate::engine) none_idle: bool,
}

impl Host {
    pub(in crate::engine) fn new(config: &Config, geometry: &Geometry) -> Self {
        let g = &config.geometry;
        let depth = config.device.queue_depth;
        let eager =
            config.schemes.order.policy_ref().eager() && config.chip_queue().is_none() && !config.delays_writes();
        Host {
            ring: Ring::new(),
            writes: Box::new(Writes::new()),
            extents: VecDeque::new(),
            arrived: 0,
            requests: Requests::with_capacity(depth as usize + 1),
            window: VecDeque::with_capacity(if eager { 0 } else { depth as usize + 1 }),
            chip_outstanding: vec![0; (g.channels * g.chips_per_channel) as usize],
            chip_queue: config.chip_queue(),
            windowed: !eager,
            delays_writes: config.delays_writes(),
            window_stale: false,
            outstanding: 0,
            queued: 0,
            looped: 0,
            stirred: false,
            flushing: 0,
            depth,
            closed: false,
            pause: None,
            pause_ends: Nanos::NEVER,
            kinds: 0,
            admitted: 0,
            last_arrival: Nanos::ZERO,
            measuring: config.run.warmup.is_none(),
            warmup: config.run.warmup,
            pages_written: 0,
            memory: VecDeque::with_capacity(64),
            memory_time: config.memory_time(),
            decoding: VecDeque::with_capacity(if config.ecc.decode == Nanos::ZERO { 0 } else { 64 }),
            fault: None,
            runs: Runs::new(geometry.unit_bytes, depth),
            anywhere: Fifo::EMPTY,
            without_page: Fifo::EMPTY,
            last_place: if config.schemes.place == Place::RoundRobin { geometry.planes } else { geometry.units } - 1,
            none_idle: false,
        }
    }

    /// Takes over the limits and orders of another device.
    pub(in crate::engine) fn govern(&mut self, other: &Host) {
        self.depth = other.depth;
        self.chip_queue = other.chip_queue;
        self.windowed = other.windowed;
        self.memory_time = other.memory_time;
        self.delays_writes = other.delays_writes;
        self.window_stale = !self.window.is_empty();
        self.window.reserve(if self.windowed { self.depth as usize + 1 } else { 0 });
    }

    /// Time at which the next request arrives or can be admitted.
    #[inline(always)]
    pub(in crate::engine) fn next_arrival(&self, now: Nanos) -> Nanos {
        if self.stirred {
            return now;
        }
        let room = self.outstanding + self.queued < self.depth;
        if self.closed {
            return if room && !self.ring.is_empty() { self.loop_takes_at().max(now) } else { Nanos::NEVER };
        }
        if room && self.arrived > 0 {
            return now;
        }
        self.ring.get(self.arrived).map_or(self.pause_ends, |next| next.request.arrival.max(now).min(self.pause_ends))
    }

    /// When the closed loop may send its next request.
    #[inline(always)]
    fn loop_takes_at(&self) -> Nanos {
        self.pause.as_ref().map_or(Nanos::ZERO, Pause::ends)
    }

    /// Whether the closed loop sends its next request now.
    pub(in crate::engine) fn loop_sends(&self, now: Nanos) -> bool {
        self.outstanding + self.queued < self.depth && self.loop_takes_at() <= now
    }

    /// The closed loop has sent a request.
    #[inline(always)]
    pub(in crate::engine) fn loop_sent(&mut self) {
        if let Some(pause) = &mut self.pause {
            pause.arrived();
        }
    }

    /// An admitted request has completed.
    #[inline(always)]
    pub(in crate::engine) fn request_ends(&mut self, now: Nanos) {
        self.outstanding -= 1;
        self.loop_continues(now);
    }

    /// A request of the closed loop has completed.
    #[inline(always)]
    pub(in crate::engine) fn loop_continues(&mut self, now: Nanos) {
        if let Some(pause) = &mut self.pause {
            pause.completed(self.outstanding + self.queued, now);
        }
    }

    /// Whether no request of another kind has been submitted so far.
    #[inline(always)]
    pub(in crate::engine) fn only(&self, kind: RequestOp) -> bool {
        self.kinds & !(1 << kind as u8) == 0
    }

    pub(in crate::engine) fn crowded(&self) -> bool {
        self.ring.len() > RING / 2
    }

    /// Requests that have arrived and not completed.
    pub(in crate::engine) fn pending(&self) -> u64 {
        self.arrived as u64 + u64::from(self.queued) + u64::from(self.outstanding)
    }

    /// The index of a request in service.
    pub(in crate::engine) fn number(&self, id: RequestId) -> u64 {
        self.requests[id].index
    }

    /// Requests admitted and not completed.
    pub(in crate::engine) fn in_service(&self) -> u64 {
        u64::from(self.outstanding)
    }

    /// Power is cut: requests in service are lost. Those that wait outside are not affected.
    pub(in crate::engine) fn power_cut(&mut self, now: Nanos) {
        self.requests.clear();
        self.window.clear();
        self.chip_outstanding.fill(0);
        self.memory.clear();
        self.decoding.clear();
        self.window_stale = false;
        (self.outstanding, self.flushing) = (0, 0);
        if let Some(pause) = &mut self.pause {
            pause.power_cut(self.queued, now);
        }
        self.stirred = self.queued > 0 || self.looped > 0;
    }

    /// Forgets the requests that wait outside. `next` is the index of the next one, if requests that arrive are numbered elsewhere.
    /// Returns that index.
    pub(in crate::engine) fn discard_waiting(&mut self, next: Option<u64>) -> u64 {
        while self.ring.pop_front().is_some() {}
        self.extents.clear();
        (self.arrived, self.queued, self.looped) = (0, 0, 0);
        self.stirred = false;
        next.unwrap_or(self.admitted)
    }

    /// The latest arrival of an open loop that was submitted.
    pub(in crate::engine) fn last_arrival(&self) -> Nanos {
        self.last_arrival
    }

    /// Whether a request arrives when another one completes.
    pub(in crate::engine) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Most outstanding requests.
    pub(in crate::engine) fn slots(&self) -> u32 {
        self.depth
    }

    /// Takes the extents of the request that has just left the ring.
    pub(in crate::engine) fn take_extents(&mut self, next: &Waiting) -> Vec<Extent> {
        self.extents.drain(..next.extents as usize).collect()
    }

    /// Takes the next extent of the request that has just left the ring: its only one, or the first one kept.
    #[inline(always)]
    pub(in crate::engine) fn next_extent(&mut self, next: &Waiting) -> Extent {
        if next.extents == 0 {
            return Extent { offset: next.request.offset, bytes: next.request.bytes };
        }
        self.extents.pop_front().expect("the extents of a request are kept with it")
    }

    /// Forgets the extents of the request that has just left the ring.
    pub(in crate::engine) fn drop_extents(&mut self, next: &Waiting) {
        self.extents.drain(..next.extents as usize);
    }

    /// Takes the extents of the request that was checked last.
    pub(in crate::engine) fn take_last_extents(&mut self, last: &Waiting) -> Vec<Extent> {
        self.extents.split_off(self.extents.len() - last.extents as usize).into()
    }

    /// Puts the extents of the request that is admitted next where they are looked for.
    pub(in crate::engine) fn give_extents(&mut self, extents: Vec<Extent>) {
        extents.into_iter().rev().for_each(|extent| self.extents.push_front(extent));
    }

    /// Whether a request in service is a read.
    pub(in crate::engine) fn reads(&self, id: RequestId) -> bool {
        self.requests[id].request.op == RequestOp::Read
    }

    /// Time of arrival of a request in service.
    pub(in crate::engine) fn arrival(&self, id: RequestId) -> Nanos {
        self.requests[id].request.arrival
    }

    pub(in crate::engine) fn is_empty(&self) -> bool {
        self.ring.is_empty() && self.writes.is_empty() && self.outstanding + self.queued == 0 && self.looped == 0
    }

    /// Whether the next request in the ring may be admitted. In a closed loop it arrives when it is.
    #[inline(always)]
    pub(in crate::engine) fn may_admit(&self, now: Nanos) -> bool {
        let waits = match self.closed {
            true => !self.ring.is_empty() && self.loop_takes_at() <= now,
            false => self.arrived > 0,
        };
        waits && self.outstanding < self.depth && self.fault.is_none()
    }

    /// Counts pages of host writes that are admitted.
    #[inline(always)]
    pub(in crate::engine) fn count_written(&mut self, stats: &mut Stats, pages: u64, measured: bool) {
        *if measured { &mut stats.pages.written } else { &mut self.pages_written } += pages;
    }

    /// Whether the next requests can be counted together: they are measured, and do not write enough pages for a checkpoint.
    #[inline(always)]
    pub(in crate::engine) fn counts_together(&self, stats: &Stats, pages: u64) -> bool {
        self.measuring && !stats.checkpoint_within(pages)
    }

    /// Counts measured writes of one page each that took no time, if [`Host::counts_together`].
    #[inline(always)]
    pub(in crate::engine) fn count_writes_now(&mut self, stats: &mut Stats, count: u64, bytes: u64) {
        self.admitted += count;
        stats.count_writes_now(count, bytes);
    }

    /// Whether a page is in one of the next `left` extents.
    pub(in crate::engine) fn follows(&self, dev: &Device, page: Lpn, left: u32) -> bool {
        self.extents.iter().take(left as usize).any(|extent| {
            let (first, last) = dev.span(extent);
            (first..=last).contains(&page.0)
        })
    }

    /// The number of a request's pages of the map, and of its flash pages.
    #[inline(always)]
    pub(in crate::engine) fn pages_of(&self, dev: &Device, config: &Config, next: &Waiting) -> (u32, u64) {
        if next.extents == 0 {
            return dev.pages_of_extent(config, &Extent { offset: next.request.offset, bytes: next.request.bytes });
        }
        let extents = self.extents.iter().take(next.extents as usize);
        let counts = extents.map(|extent| dev.pages_of_extent(config, extent));
        counts.fold((0, 0), |sum, more| (sum.0 + more.0, sum.1 + more.1))
    }

    /// A request has arrived.
    #[inline(always)]
    pub(in crate::engine) fn arrives(&self, kernel: &Kernel, stats: &mut Stats) {
        count(&mut stats.arrivals);
        stats.chips_busy += u64::from(kernel.dies.chips_busy());
        if self.windowed {
            stats.window += self.window.len() as u64;
        }
    }

    /// Prefetches data that requests further up the ring will use, of which writes are to be served by `expect`. To be called once
    /// every [`BATCH`] requests.
    #[inline(always)]
    pub(in crate::engine) fn look_ahead(
        &self,
        dev: &Device,
        features: &Features,
        oracle: &Oracle,
        expect: impl Fn(Lpn),
    ) {
        let ring = &self.ring;
        if ring.len() < LOOK_AHEAD + BATCH {
            return;
        }
        let logical = |page| features.logical(page);
        for i in 0..BATCH {
            let (far, near) = (ring.at(LOOK_AHEAD + i), ring.at(LOOK_AHEAD - BATCH + i));
            let page = logical(far.page);
            dev.map.expect(page);
            oracle.expect(page);
            // Nothing waits for the counter of readers of a block.
            if near.request.op != RequestOp::Read {
                expect(logical(near.page));
            }
        }
    }

    /// The same for requests that take time: the place of their data is prefetched when it is known.
    #[inline(never)]
    fn look_ahead_in_time(&self, dev: &Device, features: &Features, oracle: &Oracle) {
        self.look_ahead(dev, features, oracle, |lpn| dev.expect_overwrite(lpn));
    }

    /// Requests have arrived in the ring.
    #[inline(always)]
    fn arrivals(&mut self, kernel: &Kernel, stats: &mut Stats, observer: &mut Slot, now: Nanos) {
        while self.ring.get(self.arrived).is_some_and(|next| next.request.arrival <= now) {
            let ahead = self.arrived as u64;
            if let Some(next) = self.ring.get(self.arrived).copied() {
                observer.watch_arrival(self.admitted + ahead, next.request);
            }
            self.arrived += 1;
            self.arrives(kernel, stats);
        }
    }

    /// Counts an admitted request. Returns whether it is measured.
    #[inline(always)]
    pub(in crate::engine) fn count_admission(&mut self) -> bool {
        count(&mut self.admitted);
        self.measuring
    }
}

impl Kernel {
    /// Assigns a page to a plane, and to its chip.
    #[inline(always)]
    pub(in crate::engine) fn aim(&mut self, dev: &Device, op: OpId, plane: PlaneId) {
        self.ops[op].plane = plane;
        self.ops[Page(op)].chip = dev.geometry.chip_of(plane);
    }
}

impl Ssd {
    /// Processes arrivals, and admits as many requests as possible.
    #[inline(always)]
    pub(in crate::engine) fn admit(&mut self) {
        self.check_progress();
        if nvme::admits(self) {
            return;
        }
        self.host.stirred = false;
        if !self.host.closed {
            self.host.arrivals(&self.kernel, &mut self.stats, &mut self.observer, self.now);
        }
        // Most rounds admit none.
        if self.host.may_admit(self.now) {
            self.admit_waiting();
        }
    }

    #[inline(never)]
    fn admit_waiting(&mut self) {
        let early = self.fast.starts_pages(&self.host, &self.kernel);
        if early {
            self.kernel.dies.start_early(true);
        }
        loop {
            let mut next = self.host.ring.take();
            if self.host.closed {
                self.host.arrives(&self.kernel, &mut self.stats);
                self.host.loop_sent();
                next.request.arrival = self.now;
                if self.observer.shows_arrivals() {
                    self.observer.watch_arrival(self.host.admitted, next.request);
                }
            } else {
                self.host.arrived -= 1;
            }
            self.admit_numbered(next, self.host.admitted);
            if !self.host.may_admit(self.now) {
                break;
            }
        }
        if early {
            self.kernel.dies.start_early(false);
        }
    }

    /// The first measured request is admitted: integrals over time are taken from here.
    #[cold]
    fn start_measures(&mut self, arrival: Nanos) {
        law!(self.config.check_mode(false).is_ok(), "what is only counted takes no time: see Config::check_mode");
        self.stats.first_arrival = Some(arrival);
        self.features.conflicts_from_now(&self.kernel, &self.dev, self.now);
        self.stats.measured_from = self.now;
        self.stats.held_from = self.kernel.dies.held.total(self.now);
        self.stats.gc_units_from = self.kernel.dies.held_gc.total(self.now);
        self.stats.gc_planes_from = self.kernel.dies.gc_planes.total(self.now);
        let channels = &self.kernel.buses.all[..self.dev.geometry.channels as usize];
        self.stats.transferring_from = channels.iter().map(|bus| u128::from(bus.busy(self.now))).sum();
        self.stats.ports_busy_from = self.kernel.port_time(|port| port.busy(self.now));
    }

    /// Where measuring starts, resets all counters but wear.
    pub(in crate::engine) fn check_warmup(&mut self) {
        let over = match self.host.warmup {
            None => true,
            Some(Warmup::Requests(n)) => self.host.admitted >= n,
            Some(Warmup::DriveWrites(millionths)) => {
                u128::from(self.host.pages_written) * u128::from(Ppm::ONE)
                    >= u128::from(millionths)
                        * u128::from(self.dev.geometry.exported)
                        * u128::from(self.dev.geometry.pages_per_entry)
            }
        };
        if over {
            // What ends now is counted before counters restart.
            self.bring_to_now();
            self.completions();
            self.host.measuring = true;
            self.stats.start_measuring();
            self.features.restart(&mut self.dev, &self.stats, self.now);
            // The first measured request has already arrived.
            self.host.arrives(&self.kernel, &mut self.stats);
        }
    }

    /// Notes the progress of the host's writes, if the pages that have completed make that due.
    #[inline(always)]
    pub(in crate::engine) fn check_progress(&mut self) {
        if self.stats.checkpoint_due() {
            let more = self.uncounted_programs();
            self.stats.note_checkpoint(more);
        }
    }

    /// Admits a request, which has this number in the order of arrival.
    #[inline(always)]
    pub(in crate::engine) fn admit_numbered(&mut self, next: Waiting, index: u64) {
        let request = &next.request;
        if self.host.admitted.is_multiple_of(BATCH as u64) {
            self.host.look_ahead_in_time(&self.dev, &self.features, &self.oracle);
            self.host.check_eager(&self.dev, &self.features, &self.schemes, &self.oracle, &next);
        }
        if !self.host.measuring {
            self.check_warmup();
        }
        let measured = self.host.count_admission();
        if measured && self.stats.first_arrival.is_none() {
            self.start_measures(request.arrival);
        }
        match request.op {
            RequestOp::Write if life::rejects(self, &next, index) => return,
            RequestOp::Read | RequestOp::Write => {}
            RequestOp::Trim => return self.admit_trim(next, index, measured),
            RequestOp::Flush => return self.admit_flush(next, index, measured),
        }
        let last = self.dev.geometry.page_at(request.offset + request.bytes - 1);
        let single = next.page == last && next.extents == 0;
        if self.fast.lane && measured && single && self.admit_to_lane(&next, index, next.page) {
            return;
        }
        // A copy, so that the lane keeps its own in registers.
        let copy = next;
        self.admit_wide(&copy, index, measured);
    }

    /// Admits a request that is not of one page in the lane.
    #[inline(always)]
    fn admit_wide(&mut self, next: &Waiting, index: u64, measured: bool) {
        let request = next.request;
        let together = Extent { offset: request.offset, bytes: request.bytes };
        self.host.outstanding += 1;
        let (pages, asked) = self.host.pages_of(&self.dev, &self.config, next);
        let record = HostRequest::new(index, *next, self.now, measured);
        let id = self.host.requests.insert(record, pages);
        match request.op {
            RequestOp::Write => self.host.count_written(&mut self.stats, asked, measured),
            _ => self.stats.pages.read += if measured { asked } else { 0 },
        }
        self.features.request_admitted(&self.rules, &next.marks, request.op, (asked, request.bytes), measured);
        let mut tail = OpId::NONE;
        if next.extents == 0 {
            self.admit_pages(id, &request, together, measured, &mut tail);
        } else {
            for _ in 0..next.extents {
                let extent = self.host.next_extent(next);
                self.admit_pages(id, &request, extent, measured, &mut tail);
            }
        }
        units::send_chains(self, id, request.op, &mut tail);
        if tail.is_some() {
            self.host.window_stale = true;
            self.host.joins_window(&self.kernel.ops, id);
        }
        self.begin_updates();
    }

    /// Admits the pages of an extent. Those that wait for dispatch are linked after `tail`.
    #[inline(always)]
    fn admit_pages(&mut self, id: RequestId, request: &Request, extent: Extent, measured: bool, tail: &mut OpId) {
        let size = self.dev.entry_bytes();
        let (first, last) = self.dev.span(&extent);
        // Bytes of the first page before the extent, and of the last page up to its end.
        let mut before = (extent.offset - u64::from(first) * size) as u32;
        let end = (extent.offset + extent.bytes - u64::from(last) * size) as u32;
        let waited = (self.now - request.arrival).0;
        // Each page of a scattered request may be an extent.
        let several = first != last || extent.bytes != request.bytes;
        let lane = self.fast.takes_pages(&self.rules, measured, several);
        // A write of one of its pages does not change it for another.
        let writes = self.host.takes_writes(&self.fast);
        for page in first..last + 1 {
            let offset = std::mem::take(&mut before);
            let bytes = if page == last { end } else { self.dev.geometry.unit_bytes } - offset;
            let lpn = self.features.logical(Lpn(page));
            if lane && self.admit_page_to_lane(id, request.op, lpn, offset, bytes, (Nanos(waited), writes)) {
                continue;
            }
            let age = self.kernel.age();
            let op = self.kernel.ops.create(Op { request: id, lpn, age, waits_since: self.now, ..Op::blank() });
            let record = &mut self.kernel.ops[Page(op)];
            record.offset = offset;
            record.bytes = bytes;
            record.blame.add(Cause::Queue, waited);
            self.features.note_tenant(&mut self.kernel, &self.host, &self.rules, op, id, waited);
            let waits = match request.op {
                RequestOp::Read => self.admit_read(op, lpn, measured),
                _ => self.admit_write(op, lpn, measured),
            };
            if !waits || units::joins_chain(self, op, request.op) {
                continue;
            }
            if !self.host.windowed {
                self.send(op);
            } else if tail.is_none() {
                self.host.requests[id].first = op;
                *tail = op;
            } else {
                self.kernel.ops[Page(*tail)].link = op;
                *tail = op;
            }
        }
    }

    /// Admits a page read: it is served from controller memory, or waits for the flash. Returns whether it waits.
    #[inline]
    fn admit_read(&mut self, op: OpId, lpn: Lpn, measured: bool) -> bool {
        let expected = self.oracle.latest(lpn);
        self.kernel.ops[op].need = Need::Read;
        self.kernel.ops[Page(op)].expected = expected;
        if self.oracle.tracks_sectors() {
            self.oracle.expects(op, lpn);
        }
        if let Some(waits) = cache::admits_read(self, op, lpn, measured) {
            return waits;
        }
        let page = match self.dev.map.get(lpn) {
            Location::Flash(page) if !self.dev.page_waits(&self.rules, page) => page,
            Location::Staged(newest) if self.host.needs_old(&self.kernel, &self.dev, &self.rules, op, newest) => {
                match self.features.old_page(&self.kernel, &self.dev, newest) {
                    Ppn::NONE => {
                        self.kernel.aim(&self.dev, op, self.dev.geometry.static_plane(lpn));
                        return true;
                    }
                    old => old,
                }
            }
            place @ (Location::Flash(_) | Location::Staged(_)) => {
                self.stats.pages.from_memory += u64::from(measured);
                let tag = match place {
                    Location::Staged(newest) => self.kernel.ops[Page(newest)].tags[0],
                    Location::Flash(page) => self.oracle.load(page, lpn),
                    Location::Nowhere => unreachable!("it is somewhere"),
                };
                self.oracle.delivered(lpn, tag, expected);
                self.host.note_memory_read(&self.kernel, &self.dev, &mut self.oracle, &self.rules, op, tag);
                let hit =
                    matches!(place, Location::Staged(newest) if self.kernel.ops[newest].class == Class::Writeback);
                self.features.count_conflict(|counters| counters.read_hits += u64::from(hit && measured));
                self.serve_from_memory(op);
                return false;
            }
            Location::Nowhere if self.features.is_missing(lpn) => {
                self.kernel.aim(&self.dev, op, self.dev.geometry.static_plane(lpn));
                return true;
            }
            Location::Nowhere => {
                self.stats.pages.unwritten_read += u64::from(measured);
                let placed = match self.config.device.unwritten_read {
                    UnwrittenRead::Preload => self.preload(lpn),
                    UnwrittenRead::ZeroCost => None,
                    UnwrittenRead::Error => {
                        let offset = u64::from(self.features.host_page(&self.dev, lpn).0) * self.dev.entry_bytes();
                        self.host
                            .fault
                            .get_or_insert(format!("a read at byte {offset} finds a page that was never written"));
                        None
                    }
                };
                let Some(page) = placed else {
                    self.serve_from_memory(op);
                    return false;
                };
                self.stats.pages.preloaded += u64::from(measured);
                page
            }
        };
        self.kernel.aim(&self.dev, op, self.dev.geometry.plane_of(page));
        true
    }

    /// Admits a page write: from now on it is the newest version, and the old page is stale (or kept until it has been merged).
    /// Returns whether it waits, which is always true.
    #[inline]
    fn admit_write(&mut self, op: OpId, lpn: Lpn, measured: bool) -> bool {
        self.becomes_stale(lpn);
        let tag = self.oracle.admit(lpn);
        let page = &mut self.kernel.ops[op];
        page.verb = Verb::Program;
        page.need = Need::Write;
        self.kernel.ops[Page(op)].tags[0] = tag;
        streams::names_write(&mut self.features, &mut self.kernel.ops, &self.rules, op, lpn);
        if cache::admits_write(self, op, measured) {
            self.host.runs.part_with(lpn);
            return true;
        }
        let partial = self.kernel.ops[Page(op)].bytes < self.dev.geometry.unit_bytes;
        let merges = partial && self.kernel.merges(&self.dev, &self.config, op);
        if merges || self.oracle.tracks_sectors() {
            self.host.note_write(&self.kernel, &mut self.oracle, op, merges);
        }
        self.features.drop_copy(&mut self.dev, lpn);
        if self.dev.absorb(&mut self.kernel, &mut self.oracle, &self.rules, &self.config, self.now, op) {
            self.host.runs.part_with(lpn);
            self.features.count_conflict(|counters| counters.absorbed += u64::from(measured));
            return true;
        }
        self.stats.pages.partial_writes += u64::from(partial && measured);
        let before = self.dev.map.get(lpn);
        let overlaps = matches!(before, Location::Staged(_));
        self.stats.pages.from_memory += u64::from(merges && overlaps && measured);
        let lacks = (merges || overlaps || self.host.runs.any_linger())
            && self.host.join_run(&mut self.kernel, &self.features, &mut self.oracle, op, merges, before);
        self.features.drop_clean_line(lpn);
        if place::admits_write(self, op, lpn) {
            return true;
        }
        if !keep::keeps_old(&mut self.kernel, &self.dev, &self.rules, op) {
            if lacks {
                self.kernel.hand_on(op, before);
            } else {
                self.dev.forget(&mut self.kernel, &self.rules, lpn);
            }
        }
        self.features.bind_write(&mut self.kernel, &mut self.dev, &mut self.host, &self.rules, op, lpn);
        self.dev.map.set(lpn, Location::Staged(op));
        true
    }
}
