//! Completion of requests with their last page: acknowledgement, causes and counters.

use crate::blame::{Causes, ExtraBlame};
use crate::device::transaction::Need;
use crate::engine::kernel::Kernel;
use crate::engine::kernel::dies::Dies;
use crate::engine::kernel::ops::Page;
use crate::engine::{Host, Ssd};
use crate::observe::Completed;
use crate::request::{Extent, Request, RequestOp};
use crate::stats::Stats;
use crate::units::{Lpn, Moment, Nanos, OpId, PlaneId, RequestId};

/// The end of a page of a request.
#[derive(Clone, Debug)]
pub(in crate::engine) struct PageEnd {
    pub(super) completed: Nanos,
    pub(super) lpn: Lpn,
    pub(super) plane: PlaneId,
    /// Its first service; none if it had none: a page of a failed chip that its parity contains.
    pub(super) start: Option<Moment>,
    pub(super) blame: Causes,
}

impl PageEnd {
    /// No page has ended yet.
    #[inline(always)]
    pub(super) fn none() -> Self {
        PageEnd { completed: Nanos::ZERO, lpn: Lpn::NONE, plane: PlaneId::NONE, start: None, blame: Causes::ZERO }
    }

    /// No page has ended yet of another request; the rest is set with the first end.
    #[inline(always)]
    pub(super) fn renew(&mut self) {
        (self.completed, self.lpn) = (Nanos::ZERO, Lpn::NONE);
    }

    /// A page whose only time was the wait outside.
    pub(in crate::engine) fn now(at: Nanos, waited: u64) -> Self {
        let mut blame = Causes::ZERO;
        blame.begin(waited);
        PageEnd { completed: at, lpn: Lpn::NONE, plane: PlaneId::NONE, start: Some(Moment::at(at)), blame }
    }

    pub(in crate::engine) fn shown(&self) -> Shown<'_> {
        (self.plane, self.start, &self.blame)
    }
}

/// What an observer gets of the end of a request's last page: its plane, its first service, and its causes, which are copied once.
type Shown<'e> = (PlaneId, Option<Moment>, &'e Causes);

/// The record of a completed request, for an observer.
#[inline(always)]
pub(in crate::engine) fn completed(
    request: &Request,
    index: u64,
    measured: bool,
    uncorrectable: u32,
    (plane, start, blame): Shown<'_>,
    (extras, tenant, aggressor): (&ExtraBlame, u8, Option<(u8, Nanos)>),
    now: Nanos,
) -> Completed {
    Completed {
        request: index,
        measured,
        arrival: request.arrival,
        op: request.op,
        offset: request.offset,
        bytes: request.bytes,
        start: start.map(Moment::time),
        completion: now,
        plane,
        uncorrectable,
        rejected: false,
        blame: blame.all(),
        extras: *extras,
        tenant,
        aggressor,
    }
}

/// See [`Kernel::note_completion`].
#[inline(always)]
pub(in crate::engine) fn note_completion(stats: &mut Stats, dies: &mut Dies, now: Nanos) {
    stats.last_completion = now;
    dies.completes(now);
}

impl Kernel {
    /// Frees an operation that was kept, if one was.
    #[inline(always)]
    fn forget_kept(&mut self, kept: OpId) {
        if kept.is_some() {
            self.ops.remove_lane(kept);
        }
    }

    /// A measured request completes now: integrals over time are taken up to here.
    #[inline(always)]
    pub(in crate::engine) fn note_completion(&mut self, stats: &mut Stats, now: Nanos) {
        note_completion(stats, &mut self.dies, now);
        self.dies.time_passes(now);
    }
}

impl Host {
    /// The page of a request that finished last so far is that of this operation: copies what the request needs of it.
    #[inline(always)]
    fn keep_end(&mut self, kernel: &Kernel, id: RequestId, op: OpId) {
        let best = &mut self.requests.end_mut(id).best;
        best.plane = kernel.ops[op].plane;
        let page = &kernel.ops[Page(op)];
        best.start = page.first_start;
        best.blame.copy(&page.blame);
    }
}

impl Ssd {
    /// A page of a request is served or acknowledged.
    #[inline]
    pub(in crate::engine) fn page_done(&mut self, op: OpId) {
        self.kernel.ops[op].acknowledged = true;
        if self.kernel.ops[op].need != Need::Read {
            self.oracle.acknowledge(self.kernel.ops[Page(op)].tags[0]);
        }
        self.count_page(op);
    }

    /// A page of a request is served: counts it, and completes the request with its last page.
    #[inline(always)]
    pub(in crate::engine) fn count_page(&mut self, op: OpId) {
        let Some(kept) = self.count_last(op) else { return };
        let page = &self.kernel.ops[op];
        let id = page.request;
        // In place, because it is large.
        let best = &mut self.host.requests.end_mut(id).best;
        (best.completed, best.lpn) = (self.now, page.lpn);
        self.host.keep_end(&self.kernel, id, op);
        self.features.keep_extras(&self.kernel, &self.rules, id, op);
        if self.rules.tenants {
            self.features.keep_shares(&self.kernel, id, op);
        }
        self.kernel.forget_kept(kept);
    }

    /// The same for a page in the lane, whose operation is freed, or kept.
    #[inline(always)]
    pub(in crate::engine) fn count_page_in_lane(&mut self, op: OpId) {
        let last = self.kernel.ops[op].lpn;
        let id = self.kernel.ops[op].request;
        match self.count_last(op) {
            None => self.kernel.ops.remove_lane(op),
            Some(kept) => {
                let end = self.host.requests.end_mut(id);
                (end.best.completed, end.best.lpn) = (self.now, last);
                end.kept = op;
                self.kernel.forget_kept(kept);
            }
        }
    }

    /// Counts a page that is served, and completes its request if it was the last. Otherwise, if no page of the request has finished
    /// later, returns the operation that was kept for the one that had.
    #[inline(always)]
    fn count_last(&mut self, op: OpId) -> Option<OpId> {
        let page = &self.kernel.ops[op];
        let id = page.request;
        let record = &self.host.requests[id];
        if record.request.op == RequestOp::Write && record.measured {
            let part = &self.kernel.ops[Page(op)];
            let extent = Extent { offset: part.offset.into(), bytes: part.bytes.into() };
            let pages = self.flash_pages(&extent, 1);
            self.stats.count_done(pages, extent.bytes);
        }
        let end = self.host.requests.end_mut(id);
        end.remaining -= 1;
        let later = (self.now, std::cmp::Reverse(page.lpn)) >= (end.best.completed, std::cmp::Reverse(end.best.lpn));
        if end.remaining > 0 {
            return later.then(|| std::mem::replace(&mut end.kept, OpId::NONE));
        }
        let kept = end.kept;
        if !later && kept.is_some() {
            self.host.keep_end(&self.kernel, id, kept);
        }
        self.request_done(id, if later { op } else { OpId::NONE });
        self.kernel.forget_kept(kept);
        None
    }

    /// The record of a request that completes now.
    fn completion_of(&self, id: RequestId, last: OpId, extras: &ExtraBlame) -> Completed {
        let (record, end_of) = (&self.host.requests[id], self.host.requests.end(id));
        let end = match last.is_none() {
            true => end_of.best.shown(),
            false => {
                let page = &self.kernel.ops[Page(last)];
                (self.kernel.ops[last].plane, page.first_start, &page.blame)
            }
        };
        let more = (extras, record.marks.tenant, self.aggressor(id, last));
        completed(&record.request, record.index, record.measured, end_of.uncorrectable, end, more, self.now)
    }

    /// A request in the lane completes now: keeps it if it may be among the slowest, and shows it to an observer.
    #[inline(never)]
    pub(in crate::engine) fn show_done(&mut self, id: RequestId, last: OpId, latency: u64) {
        if self.stats.keeps_slowest {
            self.keep_slow(id, last, ExtraBlame::ZERO, latency);
        }
        self.watch_completion(|ssd| ssd.completion_of(id, last, &ExtraBlame::ZERO));
    }

    /// Keeps a request that may be among the slowest.
    #[cold]
    fn keep_slow(&mut self, id: RequestId, last: OpId, extras: ExtraBlame, latency: u64) {
        let record = &self.host.requests[id];
        let stats = match record.request.op {
            RequestOp::Read => &self.stats.read,
            RequestOp::Write => &self.stats.write,
            RequestOp::Trim | RequestOp::Flush => return,
        };
        if !record.measured || !stats.slowest.as_ref().is_some_and(|slowest| slowest.takes(latency)) {
            return;
        }
        let request = self.completion_of(id, last, &extras);
        let stats = if request.op == RequestOp::Read { &mut self.stats.read } else { &mut self.stats.write };
        stats.slowest.iter_mut().for_each(|slowest| slowest.note(request.clone()));
    }

    /// The last page of a request has completed: `last`, or none if an earlier completion counts as the last.
    #[inline(always)]
    pub(in crate::engine) fn request_done(&mut self, id: RequestId, last: OpId) {
        let record = &self.host.requests[id];
        let best = &self.host.requests.end(id).best;
        let (blame, start) = if last.is_none() {
            (&best.blame, best.start)
        } else {
            (&self.kernel.ops[Page(last)].blame, self.kernel.ops[Page(last)].first_start)
        };
        let latency = (self.now - record.request.arrival).0;
        let extras = self.features.extras_of(&self.kernel, &self.rules, id, last);
        let (waits, service) = match self.rules.extras {
            true => (blame.waits() + extras.waits(), blame.service() + extras.sum() - extras.waits()),
            false => (blame.waits(), blame.service()),
        };
        law_eq!(waits + service, latency, "causes sum to the latency of request {}", record.index);
        if self.rules.caches && record.request.op == RequestOp::Flush {
            self.flush_done(id, latency);
        } else if record.measured {
            let stats = match record.request.op {
                RequestOp::Read => {
                    self.stats.requests.read += 1;
                    self.stats.bytes.read += record.request.bytes;
                    &mut self.stats.read
                }
                _ => {
                    self.stats.requests.write += 1;
                    self.stats.bytes.written += record.request.bytes;
                    &mut self.stats.write
                }
            };
            let delayed = stats.complete(blame, latency, waits);
            if self.rules.extras {
                stats.spend_extras(&extras, latency);
                stats.delayed_by_gc += u64::from(!delayed && extras.by_gc() > 0);
            }
            if self.features.raid.is_some() {
                let writes = usize::from(record.request.op != RequestOp::Read);
                let before = start.map_or(Nanos::ZERO, |start| start.time() - record.request.arrival);
                self.stats.raid.before_service[writes] += u128::from(before.0);
            }
            self.note_stage(id, latency);
            self.note_done(id, latency);
            self.kernel.note_completion(&mut self.stats, self.now);
        } else {
            self.stats.requests.warmup += 1;
        }
        if self.rules.tenants {
            let blame = if last.is_none() {
                &self.host.requests.end(id).best.blame
            } else {
                &self.kernel.ops[Page(last)].blame
            };
            let blame = blame.clone();
            self.tenant_done(id, last, &blame, &extras, latency, waits);
            self.host.stirred |= self.host.queued > 0;
        }
        if self.stats.keeps_slowest {
            self.keep_slow(id, last, extras, latency);
        }
        self.watch_completion(|ssd| ssd.completion_of(id, last, &extras));
        self.kernel.idle_rounds = 0;
        self.stats.completed += 1;
        self.host.request_ends(self.now);
        self.host.window_stale |= !self.host.window.is_empty();
        self.host.requests.remove(id);
    }
}
