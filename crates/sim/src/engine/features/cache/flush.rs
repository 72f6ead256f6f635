//! Flushes: which data they wait for, and when they are done.
//!
//! A flush waits for a number of things: dirty lines, pages that wait for a line, programs that bypass the cache. Each has the place
//! of its oldest data among writes and flushes, and counts for the flushes after that place.

use crate::blame::{Cause, Extra};
use crate::device::transaction::{Need, Op};
use crate::engine::features::cache::Cache;
use crate::engine::kernel::Kernel;
use crate::engine::kernel::ops::{NO_LINE, Page};
use crate::engine::rules::Rules;
use crate::engine::spine::requests::HostRequest;
use crate::engine::spine::ring::Waiting;
use crate::engine::{Device, Features, Host, Ssd};
use crate::stats::Stats;
use crate::units::{Moment, Nanos, OpId, RequestId};

/// A flush that waits.
#[derive(Clone, Debug)]
pub(super) struct Flush {
    op: OpId,
    /// Its place among writes and flushes.
    place: u64,
    /// Number of things that it waits for.
    pending: u64,
}

impl Flush {
    /// Whether it was admitted after a write.
    pub(super) fn comes_after(&self, place: u64) -> bool {
        self.place > place
    }
}

impl Cache {
    /// Something whose oldest data has the place `place` is on flash, trimmed, or part of something older from now on. Returns whether
    /// a flush may be done.
    pub(super) fn flushes_lose(&mut self, place: u64) -> bool {
        if self.flushes.is_empty() || place == u64::MAX {
            return false;
        }
        self.flushes.iter_mut().filter(|flush| flush.place > place).for_each(|flush| flush.pending -= 1);
        true
    }

    /// Takes the first flush that waits for nothing any more. Returns its operation and its place.
    fn next_done(&mut self) -> Option<(OpId, u64)> {
        let done = self.flushes.iter().position(|flush| flush.pending == 0)?;
        let flush = self.flushes.remove(done);
        Some((flush.op, flush.place))
    }
}

impl Features {
    /// A page has been served from controller memory. Returns whether it is acknowledged now. Only writes that have moved into the cache
    /// may wait for their line to be on flash.
    #[inline(always)]
    pub(in crate::engine) fn is_acknowledged(
        &mut self,
        kernel: &mut Kernel,
        dev: &Device,
        rules: &Rules,
        now: Nanos,
        op: OpId,
    ) -> bool {
        !(rules.buffers && kernel.ops[op].need == Need::Absorb) || self.page_is_in(kernel, dev, rules, now, op)
    }

    /// A flush has completed: counts it.
    #[inline(never)]
    pub(in crate::engine) fn flush_done(
        &mut self,
        kernel: &mut Kernel,
        host: &Host,
        stats: &mut Stats,
        now: Nanos,
        id: RequestId,
        latency: u64,
    ) {
        if !host.requests[id].measured {
            stats.requests.warmup += 1;
            return;
        }
        kernel.note_completion(stats, now);
        self.cache_mut().flush_latency.record(latency);
    }
}

impl Ssd {
    /// A flush is admitted. If it waits for nothing, it is done at once.
    #[inline(never)]
    pub(in crate::engine) fn admit_flush(&mut self, next: Waiting, index: u64, measured: bool) {
        let waited = (self.now - next.request.arrival).0;
        self.host.outstanding += 1;
        self.host.flushing += 1;
        let record = HostRequest::new(index, next, self.now, measured);
        let id = self.host.requests.insert(record, 1);
        let age = self.kernel.age();
        let op =
            self.kernel.ops.create(Op { request: id, age, need: Need::Absorb, waits_since: self.now, ..Op::blank() });
        self.kernel.ops[Page(op)].blame.add(Cause::Queue, waited);
        self.features.note_tenant(&mut self.kernel, &self.host, &self.rules, op, id, waited);
        self.kernel.ops[Page(op)].first_start = Some(Moment::at(self.now));
        let cache = self.features.cache_mut();
        let (place, at_once) = (cache.next_place(), cache.flushes_at_once());
        self.oracle.flush_begins(place, at_once);
        let mut pending = 0;
        if !at_once {
            pending = u64::from(cache.bypassing) + u64::from(cache.outside);
            for line in cache.lines.all.iter_mut().filter(|line| line.is_dirty() && line.oldest != u64::MAX) {
                pending += 1;
                line.flushed = true;
            }
            (cache.urgent, cache.fresh) = (true, true);
        }
        cache.flushes.push(Flush { op, place, pending });
        self.end_flushes();
    }

    /// The flushes that wait for nothing any more are done.
    #[inline(never)]
    pub(in crate::engine) fn end_flushes(&mut self) {
        while let Some((op, place)) = self.features.cache_mut().next_done() {
            self.oracle.flush_ends(place);
            let wait = (self.now - self.kernel.ops[op].waits_since).0;
            self.kernel.charge_extra(op, Extra::Cache, wait);
            law!(self.kernel.ops.cached[op].line == NO_LINE, "law: a flush has no line");
            self.features.cache_mut().counts.flushes += 1;
            self.host.flushing -= 1;
            self.page_done(op);
            self.host.release(&mut self.kernel, &mut self.oracle, op);
        }
    }
}
