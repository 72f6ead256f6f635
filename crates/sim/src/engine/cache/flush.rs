//! Flushes: which data they wait for, and when they are done.
//!
//! A flush waits for a number of things: dirty lines, pages that wait for a line, programs that bypass the cache. Each has the place
//! of its oldest data among writes and flushes, and counts for the flushes after that place.

use crate::blame::{Cause, Extra};
use crate::device::transaction::{Need, Op};
use crate::engine::Ssd;
use crate::engine::kernel::ops::{NO_LINE, Page};
use crate::engine::spine::requests::HostRequest;
use crate::engine::spine::ring::Waiting;
use crate::units::{Moment, OpId, RequestId};

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

impl Ssd {
    /// A flush is admitted.
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
        if self.rules.tenants {
            self.features.note_tenant(&self.host, &mut self.kernel, op, id, waited);
        }
        self.kernel.ops[Page(op)].first_start = Some(Moment::at(self.now));
        let place = self.features.cache_mut().next_place();
        let at_once = self.features.cache().flushes_at_once();
        self.oracle.flush_begins(place, at_once);
        if at_once {
            return self.flush_ends(op, place);
        }
        let cache = self.features.cache_mut();
        let mut pending = u64::from(cache.bypassing) + u64::from(cache.outside);
        for line in cache.lines.all.iter_mut().filter(|line| line.is_dirty() && line.oldest != u64::MAX) {
            pending += 1;
            line.flushed = true;
        }
        (cache.urgent, cache.fresh) = (true, true);
        if pending == 0 {
            return self.flush_ends(op, place);
        }
        self.features.cache_mut().flushes.push(Flush { op, place, pending });
    }

    /// Something whose oldest data has the place `place` is on flash, trimmed, or part of something older from now on.
    pub(super) fn flushes_lose(&mut self, place: u64) {
        let cache = self.features.cache_mut();
        if cache.flushes.is_empty() || place == u64::MAX {
            return;
        }
        cache.flushes.iter_mut().filter(|flush| flush.place > place).for_each(|flush| flush.pending -= 1);
        while let Some(done) = self.features.cache().flushes.iter().position(|flush| flush.pending == 0) {
            let flush = self.features.cache_mut().flushes.remove(done);
            self.flush_ends(flush.op, flush.place);
        }
    }

    /// A flush waits for nothing any more.
    fn flush_ends(&mut self, op: OpId, place: u64) {
        self.oracle.flush_ends(place);
        let wait = (self.now - self.kernel.ops[op].waits_since).0;
        self.kernel.charge_extra(op, Extra::Cache, wait);
        law!(self.kernel.ops.cached[op].line == NO_LINE, "law: a flush has no line");
        self.features.cache_mut().counts.flushes += 1;
        self.host.flushing -= 1;
        self.page_done(op);
        self.release(op);
    }

    /// A flush has completed: counts it.
    #[inline(never)]
    pub(in crate::engine) fn flush_done(&mut self, id: RequestId, latency: u64) {
        if !self.host.requests[id].measured {
            self.stats.requests.warmup += 1;
            return;
        }
        self.kernel.note_completion(&mut self.stats, self.now);
        self.features.cache_mut().flush_latency.record(latency);
    }
}
