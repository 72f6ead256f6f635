//! NVMe queues and tenants (`nvme.*`): which waiting request gets the next slot of the device, and what one tenant costs another.
//!
//! Requests that have arrived wait in their queue. Whenever a slot is free, the arbiter picks a queue, after all arrivals of the
//! nanosecond. Time outside the device is `queue` while the last grant went to the own queue, otherwise `arbitration`.

mod arbiter;
mod loops;
mod programs;
mod shares;

use std::collections::VecDeque;

use crate::blame::{Cause, Causes, Extra, ExtraBlame};
use crate::config::Config;
use crate::device::geometry::Geometry;
use crate::device::transaction::Class;
use crate::engine::kernel::Kernel;
use crate::engine::kernel::ops::Page;
use crate::engine::rules::Rules;
use crate::engine::spine::requests::HostRequest;
use crate::engine::spine::ring::Waiting;
use crate::engine::{Device, Features, Host, Ssd};
use crate::observe::Slot;
use crate::report::tenants::{Fairness, Interference, Pages, Requests, Tenant, Tenants, jain};
use crate::report::{Breakdown, ByOp, Distribution, HostBytes, mean};
use crate::request::{Extent, RequestOp};
use crate::stats::{OpStats, Stats};
use crate::units::{Nanos, OpId, Ppn, RequestId};
use arbiter::Arbiter;
use loops::Loops;
pub(in crate::engine) use shares::Shares;

/// Most tenants: each has a counter at every die and bus.
pub(in crate::engine) const MAX_TENANTS: usize = crate::config::MOST_QUEUES;

/// A request that waits in its queue.
#[derive(Clone, Debug)]
struct Outside {
    waiting: Waiting,
    extents: Vec<Extent>,
    number: u64,
    /// The queue's own time when it arrived: see [`Nvme::own_time`].
    own: u64,
}

/// A queue.
#[derive(Clone, Debug)]
struct Queue {
    outside: VecDeque<Outside>,
    /// Commands in the device, and the most there may be.
    inside: u32,
    depth: u32,
    /// Time for which the last grant went to this queue, without the current such time.
    own: u64,
}

impl Queue {
    /// Whether it has a command that may have a slot.
    fn is_ready(&self) -> bool {
        !self.outside.is_empty() && self.inside < self.depth
    }
}

/// Counters of a tenant.
#[derive(Clone)]
struct Counts {
    read: OpStats,
    write: OpStats,
    trims: u64,
    flushes: u64,
    pages: [u64; 2],
    bytes: [u64; 2],
    /// Programs for its pages: by the host or the write cache, and by GC.
    programs: [u64; 2],
}

/// See the module's documentation.
#[derive(Clone)]
pub(in crate::engine) struct Nvme {
    queues: Vec<Queue>,
    /// None with one queue for all tenants.
    arbiter: Option<Arbiter>,
    /// The queue of the last grant, and its time; none before the first.
    last: Option<(usize, Nanos)>,
    /// Time of the first grant.
    first: Option<Nanos>,
    /// The number of the next request that arrives.
    next_number: u64,
    tenants: Vec<String>,
    counts: Vec<Counts>,
    /// By victim and aggressor: `die_host` and `bus_host`.
    matrix: Vec<[u128; MAX_TENANTS]>,
    pub(in crate::engine) shares: Shares,
    /// By logical page: the tenant that last wrote it.
    owners: Vec<u8>,
    /// Pages that collections have read and not yet programmed, with their tenants; none for pages of nobody.
    in_hand: Vec<(Ppn, Option<u8>)>,
    /// Time that the request which is being admitted has waited for other queues.
    arbitration: u64,
    /// Tenants whose requests arrive when others complete.
    loops: Loops,
}

impl Nvme {
    pub(in crate::engine) fn new(config: &Config, geometry: &Geometry, buses: usize) -> Option<Box<Self>> {
        config.nvme.arbitrates().then(|| {
            let queues = config.nvme.queues.iter();
            let depths = queues.clone().map(|queue| queue.depth.unwrap_or(config.device.queue_depth));
            let names = queues.map(|queue| queue.name.clone()).collect();
            Box::new(Nvme::of(Some(Arbiter::new(&config.nvme)), depths.collect(), names, geometry, buses))
        })
    }

    fn of(arbiter: Option<Arbiter>, depths: Vec<u32>, tenants: Vec<String>, geometry: &Geometry, buses: usize) -> Self {
        let queue = |depth| Queue { outside: VecDeque::new(), inside: 0, depth, own: 0 };
        let mut nvme = Nvme {
            queues: depths.into_iter().map(queue).collect(),
            arbiter,
            last: None,
            first: None,
            next_number: 0,
            tenants: Vec::new(),
            counts: Vec::new(),
            matrix: Vec::new(),
            shares: Shares::new(geometry.units as usize, buses),
            owners: vec![0; geometry.mapped as usize],
            in_hand: Vec::new(),
            arbitration: 0,
            loops: Loops::default(),
        };
        nvme.name_tenants(tenants);
        nvme
    }

    /// Grants slots by the rules of a configuration from now on. Queues and what waits in them stay.
    pub(in crate::engine) fn follow(&mut self, config: &Config) {
        let depth = |queue: usize| config.nvme.queues.get(queue).and_then(|queue| queue.depth);
        for (i, queue) in self.queues.iter_mut().enumerate() {
            queue.depth = depth(i).unwrap_or(config.device.queue_depth);
        }
        if let Some(arbiter) = &mut self.arbiter {
            *arbiter = Arbiter::new(&config.nvme);
        }
    }

    fn name_tenants(&mut self, tenants: Vec<String>) {
        let counts = Counts {
            read: OpStats::new(),
            write: OpStats::new(),
            trims: 0,
            flushes: 0,
            pages: [0; 2],
            bytes: [0; 2],
            programs: [0; 2],
        };
        self.counts = vec![counts; tenants.len()];
        self.matrix = vec![[0; MAX_TENANTS]; tenants.len()];
        self.tenants = tenants;
    }

    /// Time for which requests of a queue wait for their own queue: since its own grants, and before the first grant.
    fn own_time(&self, queue: usize, now: Nanos) -> u64 {
        let before = self.first.unwrap_or(now).0;
        let current = match self.last {
            Some((last, since)) if last == queue => (now - since).0,
            _ => 0,
        };
        before + self.queues[queue].own + current
    }

    /// A slot is granted to a queue.
    fn note_grant(&mut self, queue: usize, now: Nanos) {
        if let Some((last, since)) = self.last.replace((queue, now)) {
            self.queues[last].own += (now - since).0;
        }
        self.first.get_or_insert(now);
    }

    /// The next queue that gets a slot.
    fn pick(&mut self) -> Option<usize> {
        let queues = &self.queues;
        let ready = |queue: usize| queues[queue].is_ready();
        match &mut self.arbiter {
            Some(arbiter) => arbiter.pick(&ready),
            None => Some(0).filter(|queue| ready(*queue)),
        }
    }

    /// Forgets what waits in the queues. Returns the number of the next request that arrives.
    pub(in crate::engine) fn discard_waiting(&mut self) -> u64 {
        self.queues.iter_mut().for_each(|queue| queue.outside.clear());
        self.next_number
    }

    /// Power is cut: requests in service are lost.
    pub(in crate::engine) fn power_cut(&mut self, now: Nanos) {
        self.queues.iter_mut().for_each(|queue| queue.inside = 0);
        let outside = || self.queues.iter().flat_map(|queue| &queue.outside);
        let of = |one: &Outside, tenant: usize| usize::from(one.waiting.marks.tenant) == tenant;
        self.loops.power_cut(now, |tenant| outside().filter(|one| of(one, tenant)).count() as u32);
        self.shares.power_cut(now);
        self.in_hand.clear();
    }
}

impl Features {
    fn nvme(&self) -> &Nvme {
        self.nvme.as_ref().expect("a device with tenants")
    }

    fn nvme_mut(&mut self) -> &mut Nvme {
        self.nvme.as_mut().expect("a device with tenants")
    }

    /// A trim is admitted, and completes: counts it for its tenant. Returns how long it waited for arbitration, and its causes of
    /// optional features.
    pub(in crate::engine) fn count_trim(&mut self, tenant: u8, measured: bool) -> (u64, ExtraBlame) {
        if let Some(nvme) = &mut self.nvme {
            nvme.counts[usize::from(tenant)].trims += u64::from(measured);
        }
        self.waits_at_admission()
    }

    /// How long a request that completes at its admission waited for arbitration, and its causes of optional features.
    pub(in crate::engine) fn waits_at_admission(&self) -> (u64, ExtraBlame) {
        let mut extras = ExtraBlame::default();
        let Some(nvme) = &self.nvme else { return (0, extras) };
        extras.add(Extra::Arbitration, nvme.arbitration);
        (nvme.arbitration, extras)
    }

    /// A request of so many pages is admitted: counts them for its tenant if it is measured, and if requests have tenants.
    #[inline(always)]
    pub(in crate::engine) fn count_tenant_pages(
        &mut self,
        rules: &Rules,
        tenant: u8,
        op: RequestOp,
        pages: u64,
        measured: bool,
    ) {
        if rules.tenants && measured {
            self.counts_pages(tenant, op, pages);
        }
    }

    /// The same of a measured request on a device with tenants.
    fn counts_pages(&mut self, tenant: u8, op: RequestOp, pages: u64) {
        let counts = &mut self.nvme_mut().counts[usize::from(tenant)];
        counts.pages[usize::from(op == RequestOp::Write)] += pages;
    }

    /// Measuring starts: work so far does not count.
    pub(in crate::engine) fn restart_tenants(&mut self) {
        if let Some(nvme) = &mut self.nvme {
            let tenants = std::mem::take(&mut nvme.tenants);
            nvme.name_tenants(tenants);
        }
    }

    /// The tenant of an operation: that of its request, or the last writer of its page.
    pub(in crate::engine) fn tenant_of(&self, kernel: &Kernel, op: OpId) -> usize {
        let record = &kernel.ops[op];
        if record.class == Class::Host {
            return usize::from(kernel.ops.tenant[op].tenant);
        }
        if record.lpn.is_some() { usize::from(self.nvme().owners[record.lpn.ix()]) } else { 0 }
    }

    /// A host operation is created, for a tenant if requests have tenants. Of the time that its request has waited, `queue` so far, a
    /// part was for other queues then.
    #[inline(always)]
    pub(in crate::engine) fn note_tenant(
        &mut self,
        kernel: &mut Kernel,
        host: &Host,
        rules: &Rules,
        op: OpId,
        id: RequestId,
        queue: u64,
    ) {
        if rules.tenants {
            self.notes_tenant(kernel, host, op, id, queue);
        }
    }

    /// The same on a device with tenants.
    #[inline(never)]
    fn notes_tenant(&mut self, kernel: &mut Kernel, host: &Host, op: OpId, id: RequestId, queue: u64) {
        let arbitration = self.nvme().arbitration;
        if arbitration > 0 {
            kernel.ops[Page(op)].blame.begin(queue - arbitration);
            kernel.charge_extra(op, Extra::Arbitration, arbitration);
        }
        let record = &host.requests[id];
        let (tenant, writes) = (record.marks.tenant, record.request.op == RequestOp::Write);
        kernel.ops.tenant[op].tenant = tenant;
        if writes {
            let lpn = kernel.ops[op].lpn;
            self.nvme_mut().owners[lpn.ix()] = tenant;
        }
    }

    /// Takes the requests that have arrived into their queues.
    fn take_arrivals(&mut self, kernel: &Kernel, host: &mut Host, stats: &mut Stats, observer: &mut Slot, now: Nanos) {
        while let Some((mut next, extents)) = self.nvme_mut().loops.arrival(now) {
            host.looped -= 1;
            next.request.arrival = now;
            self.joins_queue(kernel, host, stats, observer, now, (next, extents));
        }
        if self.nvme().loops.timed() {
            host.pause_ends = self.nvme().loops.next_time(now);
        }
        loop {
            let closed = host.is_closed();
            let arrived = match host.ring.front() {
                None => return,
                Some(_) if closed => host.loop_sends(now),
                Some(next) => next.request.arrival <= now,
            };
            if !arrived {
                return;
            }
            let Some(mut next) = host.ring.pop_front() else { return };
            if closed {
                next.request.arrival = now;
                host.loop_sent();
            }
            let extents = host.take_extents(&next);
            self.joins_queue(kernel, host, stats, observer, now, (next, extents));
        }
    }

    /// A request has arrived, with its extents.
    fn joins_queue(
        &mut self,
        kernel: &Kernel,
        host: &mut Host,
        stats: &mut Stats,
        observer: &mut Slot,
        now: Nanos,
        (waiting, extents): (Waiting, Vec<Extent>),
    ) {
        let nvme = self.nvme_mut();
        let number = nvme.next_number;
        observer.watch_arrival(number, waiting.request);
        host.arrives(kernel, stats);
        host.queued += 1;
        nvme.next_number += 1;
        let queue = if nvme.arbiter.is_some() { usize::from(waiting.marks.queue) } else { 0 };
        let own = nvme.own_time(queue, now);
        nvme.queues[queue].outside.push_back(Outside { waiting, extents, number, own });
    }

    /// Grants a slot if one is free. Returns the queue that gets it, and its first command.
    fn grant_slot(&mut self, host: &mut Host, now: Nanos) -> Option<(usize, Outside)> {
        if host.outstanding >= host.slots() || host.fault.is_some() {
            return None;
        }
        let nvme = self.nvme_mut();
        let queue = nvme.pick()?;
        host.queued -= 1;
        let next = nvme.queues[queue].outside.pop_front().expect("law: a queue that is picked has a command");
        // In a closed loop it has not waited.
        let wait = (now - next.waiting.request.arrival).0;
        let own = nvme.own_time(queue, now) - next.own;
        nvme.note_grant(queue, now);
        nvme.arbitration = wait - own;
        nvme.queues[queue].inside += 1;
        Some((queue, next))
    }

    /// A request has completed, with these causes of optional features, latency and waits: with tenants, its queue has room for another
    /// command, and its tenant has a result if it is measured. `last`: its last page, or none if an earlier completion counts as the
    /// last.
    #[inline(always)]
    pub(in crate::engine) fn tenant_request_ends(
        &mut self,
        kernel: &Kernel,
        host: &mut Host,
        rules: &Rules,
        now: Nanos,
        (id, last): (RequestId, OpId),
        spent: (&ExtraBlame, u64, u64),
    ) {
        if rules.tenants {
            self.request_of_tenant_ends(kernel, host, now, id, last, spent);
        }
    }

    /// The same on a device with tenants.
    #[inline(never)]
    fn request_of_tenant_ends(
        &mut self,
        kernel: &Kernel,
        host: &mut Host,
        now: Nanos,
        id: RequestId,
        last: OpId,
        (extras, latency, waits): (&ExtraBlame, u64, u64),
    ) {
        let by = self.leaves_slot(kernel, host, now, id, last);
        let record = &host.requests[id];
        if record.measured {
            let best = &host.requests.end(id).best.blame;
            let blame = if last.is_none() { best } else { &kernel.ops[Page(last)].blame };
            self.tenant_done(record, by, blame, extras, latency, waits);
        }
        host.stirred |= host.queued > 0;
    }

    /// A request leaves its slot. Returns what tenants cost it.
    fn leaves_slot(
        &mut self,
        kernel: &Kernel,
        host: &mut Host,
        now: Nanos,
        id: RequestId,
        last: OpId,
    ) -> [u64; MAX_TENANTS] {
        let marks = host.requests[id].marks;
        let by = self.shares_of(kernel, id, last);
        let nvme = self.nvme_mut();
        let queue = if nvme.arbiter.is_some() { usize::from(marks.queue) } else { 0 };
        nvme.queues[queue].inside -= 1;
        let at = nvme.loops.completed(marks.tenant, now);
        host.loop_sends_at(now, at);
        by
    }

    /// A measured request has completed: its tenant has a result. `by`: what tenants cost it.
    fn tenant_done(
        &mut self,
        record: &HostRequest,
        by: [u64; MAX_TENANTS],
        blame: &Causes,
        extras: &ExtraBlame,
        latency: u64,
        waits: u64,
    ) {
        let nvme = self.nvme_mut();
        let (tenant, op) = (usize::from(record.marks.tenant), record.request.op);
        let counts = &mut nvme.counts[tenant];
        let stats = match op {
            RequestOp::Read => &mut counts.read,
            RequestOp::Flush => {
                counts.flushes += 1;
                return;
            }
            _ => &mut counts.write,
        };
        counts.bytes[usize::from(op == RequestOp::Write)] += record.request.bytes;
        stats.spend(blame, latency, waits);
        stats.spend_extras(extras, latency);
        let total: u64 = by.iter().sum();
        law_eq!(
            total,
            blame.get(Cause::DieHost) + blame.get(Cause::BusHost),
            "law: what tenants cost a request sums to its die_host and bus_host"
        );
        nvme.matrix[tenant].iter_mut().zip(by).for_each(|(sum, ns)| *sum += u128::from(ns));
    }

    /// Results by tenant, with what they cost each other.
    pub(in crate::engine) fn tenants_report(
        &self,
        dev: &Device,
        rules: &Rules,
        config: &Config,
        simulated_ns: u64,
    ) -> Option<(Tenants, Interference, Fairness)> {
        let nvme = self.nvme.as_ref()?;
        let extras = config.extra_causes();
        let tenant = |counts: &Counts| {
            let by_op = |read: &Distribution, write: &Distribution| {
                let mut all = read.clone();
                all.merge(write);
                ByOp { read: read.figures(), write: write.figures(), all: all.figures() }
            };
            let breakdown = |stats: &OpStats| {
                let more = extras.iter().map(|extra| (*extra, stats.extra(*extra))).collect();
                Breakdown(stats.breakdown().0, more)
            };
            let (read, write) = (breakdown(&counts.read), breakdown(&counts.write));
            let mut all = read.clone();
            all.merge(&write);
            let (reads, writes) = (counts.read.latency.count(), counts.write.latency.count());
            // Where a page has several units, these are counted.
            let per_page = dev.geometry.slots.per_page;
            let programs = counts.programs[0] + counts.programs[1];
            // A program puts a whole page into flash, padding included.
            let bytes = u128::from(programs) * u128::from(config.geometry.page_size.0);
            Tenant {
                requests: Requests {
                    read: reads,
                    write: writes,
                    trim: counts.trims,
                    flush: rules.caches.then_some(counts.flushes),
                },
                pages: Pages { read: counts.pages[0], written: counts.pages[1] },
                bytes: HostBytes { read: counts.bytes[0], written: counts.bytes[1] },
                latency_ns: by_op(&counts.read.latency, &counts.write.latency),
                waiting_ns: by_op(&counts.read.waiting, &counts.write.waiting),
                breakdown_ns: ByOp { read, write, all },
                iops: mean(u128::from(reads + writes) * 1_000_000_000, simulated_ns),
                programs: counts.programs[0],
                gc_programs: counts.programs[1],
                write_amplification: mean(u128::from(programs), counts.pages[1]),
                write_amplification_bytes: mean(bytes / u128::from(per_page), counts.bytes[1]),
                slowdown: None,
            }
        };
        let list: Vec<(String, Tenant)> = nvme.tenants.iter().cloned().zip(nvme.counts.iter().map(tenant)).collect();
        let columns = |row: &[u128; MAX_TENANTS]| nvme.tenants.iter().cloned().zip(row.iter().copied()).collect();
        let matrix = nvme.tenants.iter().cloned().zip(nvme.matrix.iter().map(columns)).collect();
        let rates: Vec<u128> = nvme.counts.iter().map(|counts| u128::from(counts.bytes[0] + counts.bytes[1])).collect();
        let fairness = Fairness { throughput: jain(&rates), slowdown: None };
        Some((Tenants(list), Interference(matrix), fairness))
    }
}

/// Processes arrivals and admissions of a device with tenants, whose requests wait in queues of their own. Returns whether it is one.
#[inline(always)]
pub(in crate::engine) fn admits(ssd: &mut Ssd) -> bool {
    let queues = ssd.rules.tenants;
    if queues {
        ssd.admit_queued();
    }
    queues
}

impl Ssd {
    /// Names the tenants of requests to come ([`Marks::tenant`]); by default they are the queues. Without queues all tenants share
    /// one. At most 16.
    ///
    /// # Panics
    /// If there are too many, requests have been submitted, or the device cannot have tenants ([`Config::check_tenants`]).
    ///
    /// [`Marks::tenant`]: crate::Marks::tenant
    pub fn set_tenants(&mut self, tenants: Vec<String>) {
        law!((1..=MAX_TENANTS).contains(&tenants.len()), "there are 1 to 16 tenants");
        let refused = self.config.check_tenants("a device without tenants").err();
        law!(refused.is_none(), "this device cannot have tenants: {refused:?}");
        law!(self.next_event() == Nanos::NEVER && self.completed() == 0, "tenants are named before the first request");
        match &mut self.features.nvme {
            Some(nvme) => nvme.name_tenants(tenants),
            None => {
                let (depth, buses) = (self.config.device.queue_depth, self.kernel.buses.all.len());
                let nvme = Nvme::of(None, vec![depth], tenants, &self.dev.geometry, buses);
                self.features.nvme = Some(Box::new(nvme));
                self.rules.tenants = true;
                self.rules.sorts_waits = true;
                self.kernel.ops.count_tenants();
                self.set_fusing(self.fast.allowed);
            }
        }
    }

    /// Gives a tenant the pages of a range of bytes, whatever they hold: their moves count for it until another tenant writes them.
    ///
    /// # Panics
    /// If there is no such tenant, or the range exceeds the device.
    pub fn set_owner(&mut self, tenant: u8, bytes: std::ops::Range<u64>) {
        let entry = self.dev.entry_bytes();
        let nvme = self.features.nvme_mut();
        law!(usize::from(tenant) < nvme.tenants.len(), "a tenant that has a name");
        let pages = (bytes.start / entry) as usize..bytes.end.div_ceil(entry) as usize;
        nvme.owners[pages].fill(tenant);
    }

    /// Names of the tenants, if requests have any.
    pub fn tenants(&self) -> Option<&[String]> {
        self.features.nvme.as_ref().map(|nvme| nvme.tenants.as_slice())
    }

    /// Processes arrivals, and grants slots to as many requests as possible.
    #[inline(never)]
    fn admit_queued(&mut self) {
        self.host.stirred = false;
        loop {
            let (stats, observer) = (&mut self.stats, &mut self.observer);
            self.features.take_arrivals(&self.kernel, &mut self.host, stats, observer, self.now);
            let mut granted = false;
            while let Some((queue, next)) = self.features.grant_slot(&mut self.host, self.now) {
                granted = true;
                self.host.give_extents(next.extents);
                let (op, tenant) = (next.waiting.request.op, next.waiting.marks.tenant);
                let at_once = op == RequestOp::Trim || op == RequestOp::Write && self.ended();
                self.admit_numbered(next.waiting, next.number);
                if at_once {
                    // It takes a slot for no time.
                    let nvme = self.features.nvme_mut();
                    nvme.queues[queue].inside -= 1;
                    let at = nvme.loops.completed(tenant, self.now);
                    self.host.loop_sends_at(self.now, at);
                }
            }
            // In a closed loop, a request that completes at once makes room for another arrival.
            let closed = self.host.is_closed() || self.features.nvme().loops.exist();
            if !(closed && granted) {
                return;
            }
        }
    }
}
