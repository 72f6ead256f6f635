//! Completion of requests with their last page: acknowledgement, causes and counters.

use crate::blame::{Causes, ExtraBlame};
use crate::config::Config;
use crate::device::transaction::Need;
use crate::engine::kernel::Kernel;
use crate::engine::kernel::dies::Dies;
use crate::engine::kernel::ops::Page;
use crate::engine::reports::extras;
use crate::engine::{Device, Host, Ssd};
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
    pub(in crate::engine) blame: Causes,
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

/// A page of a request that is served, among its pages.
enum Served {
    /// Others are left, and one has finished later.
    Sooner,
    /// Others are left, and none has finished later. The operation that was kept for the one that had finished last, if one was.
    Latest(OpId),
    /// No page is left: the request completes. The page that has finished last, or none if that was an earlier one, and the operation
    /// that was kept.
    Last { end: OpId, kept: OpId },
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

    /// The record of a request that completes now.
    fn completion_of(
        &self,
        kernel: &Kernel,
        now: Nanos,
        id: RequestId,
        last: OpId,
        extras: &ExtraBlame,
        aggressor: Option<(u8, Nanos)>,
    ) -> Completed {
        let (record, end_of) = (&self.requests[id], self.requests.end(id));
        let end = match last.is_none() {
            true => end_of.best.shown(),
            false => {
                let page = &kernel.ops[Page(last)];
                (kernel.ops[last].plane, page.first_start, &page.blame)
            }
        };
        let more = (extras, record.marks.tenant, aggressor);
        completed(&record.request, record.index, record.measured, end_of.uncorrectable, end, more, now)
    }

    /// Whether a request may be among the slowest.
    #[cold]
    fn may_be_slow(&self, stats: &Stats, id: RequestId, latency: u64) -> bool {
        let record = &self.requests[id];
        let stats = match record.request.op {
            RequestOp::Read => &stats.read,
            RequestOp::Write => &stats.write,
            RequestOp::Trim | RequestOp::Flush => return false,
        };
        record.measured && stats.slowest.as_ref().is_some_and(|slowest| slowest.takes(latency))
    }

    /// Counts a page that is served.
    #[inline(always)]
    fn count_served(
        &mut self,
        kernel: &Kernel,
        dev: &Device,
        stats: &mut Stats,
        config: &Config,
        now: Nanos,
        op: OpId,
    ) -> Served {
        let page = &kernel.ops[op];
        let id = page.request;
        let record = &self.requests[id];
        if record.request.op == RequestOp::Write && record.measured {
            let part = &kernel.ops[Page(op)];
            let extent = Extent { offset: part.offset.into(), bytes: part.bytes.into() };
            let pages = dev.flash_pages(config, &extent, 1);
            stats.count_done(pages, extent.bytes);
        }
        let end = self.requests.end_mut(id);
        end.remaining -= 1;
        let later = (now, std::cmp::Reverse(page.lpn)) >= (end.best.completed, std::cmp::Reverse(end.best.lpn));
        if end.remaining > 0 {
            return if later { Served::Latest(std::mem::replace(&mut end.kept, OpId::NONE)) } else { Served::Sooner };
        }
        let kept = end.kept;
        if !later && kept.is_some() {
            self.keep_end(kernel, id, kept);
        }
        Served::Last { end: if later { op } else { OpId::NONE }, kept }
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
        // Counts it, and completes the request with its last page.
        let (id, lpn) = (self.kernel.ops[op].request, self.kernel.ops[op].lpn);
        let kept = match self.host.count_served(&self.kernel, &self.dev, &mut self.stats, &self.config, self.now, op) {
            Served::Sooner => return,
            Served::Latest(kept) => kept,
            Served::Last { end, kept } => {
                self.request_done(id, end);
                return self.kernel.forget_kept(kept);
            }
        };
        // In place, because it is large.
        let best = &mut self.host.requests.end_mut(id).best;
        (best.completed, best.lpn) = (self.now, lpn);
        self.host.keep_end(&self.kernel, id, op);
        self.features.keep_causes(&self.kernel, &self.rules, id, op);
        self.kernel.forget_kept(kept);
    }

    /// Counts a page in the lane that is served, like [`Ssd::page_done`]; its operation is freed, or kept.
    #[inline(always)]
    pub(in crate::engine) fn count_page_in_lane(&mut self, op: OpId) {
        let last = self.kernel.ops[op].lpn;
        let id = self.kernel.ops[op].request;
        match self.host.count_served(&self.kernel, &self.dev, &mut self.stats, &self.config, self.now, op) {
            Served::Sooner => self.kernel.ops.remove_lane(op),
            Served::Last { end, kept } => {
                self.request_done(id, end);
                self.kernel.forget_kept(kept);
                self.kernel.ops.remove_lane(op);
            }
            Served::Latest(kept) => {
                let end = self.host.requests.end_mut(id);
                (end.best.completed, end.best.lpn) = (self.now, last);
                end.kept = op;
                self.kernel.forget_kept(kept);
            }
        }
    }

    /// A request completes now: keeps it if it may be among the slowest, and shows it to an observer.
    #[inline(never)]
    pub(in crate::engine) fn show_done(&mut self, id: RequestId, last: OpId, extras: &ExtraBlame, latency: u64) {
        let done = || {
            let aggressor = self.features.aggressor(&self.kernel, &self.host, &self.rules, id, last);
            self.host.completion_of(&self.kernel, self.now, id, last, extras, aggressor)
        };
        if self.stats.keeps_slowest && self.host.may_be_slow(&self.stats, id, latency) {
            let request = done();
            let stats = if request.op == RequestOp::Read { &mut self.stats.read } else { &mut self.stats.write };
            stats.slowest.iter_mut().for_each(|slowest| slowest.note(request.clone()));
        }
        self.observer.watch_completion(done);
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
        let (waits, service) = extras::waits_and_service(&self.rules, blame, &extras);
        law_eq!(waits + service, latency, "causes sum to the latency of request {}", record.index);
        if record.request.op == RequestOp::Flush {
            self.features.flush_done(&mut self.kernel, &self.host, &mut self.stats, self.now, id, latency);
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
            extras::spend(&self.rules, stats, &extras, latency, delayed);
            self.dev.note_stage(&self.host, &mut self.stats, &self.rules, &self.config, id, latency);
            let (kernel, dev, host) = (&self.kernel, &self.dev, &self.host);
            self.features.request_measured(kernel, dev, host, &mut self.stats, self.now, (id, start, latency));
            self.kernel.note_completion(&mut self.stats, self.now);
        } else {
            self.stats.requests.warmup += 1;
        }
        let (kernel, host, spent) = (&self.kernel, &mut self.host, (&extras, latency, waits));
        self.features.tenant_request_ends(kernel, host, &self.rules, self.now, (id, last), spent);
        if self.stats.keeps_slowest || self.observer.shows_completions() {
            self.show_done(id, last, &extras, latency);
        }
        self.kernel.idle_rounds = 0;
        self.stats.completed += 1;
        self.host.request_ends(self.now);
        self.host.window_stale |= !self.host.window.is_empty();
        self.host.requests.remove(id);
    }
}
