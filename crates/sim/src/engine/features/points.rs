//! Points at which several features are asked.

use crate::engine::features::streams;
use crate::engine::kernel::Kernel;
use crate::engine::kernel::timers::Timer;
use crate::engine::rules::Rules;
use crate::engine::{Device, Features, Host};
use crate::oracle::Oracle;
use crate::request::{Marks, RequestOp};
use crate::stats::Stats;
use crate::units::{Moment, Nanos, OpId, Ppn, RequestId, Tag};

impl Features {
    /// Measuring starts: work so far does not count.
    pub(in crate::engine) fn restart(&mut self, dev: &mut Device, stats: &Stats, now: Nanos) {
        streams::restart(self, &mut dev.flash);
        self.restart_tenants();
        self.restart_cache();
        self.restart_conflicts(dev, stats, now);
    }

    /// A request of so many pages is admitted.
    #[inline(always)]
    pub(in crate::engine) fn request_admitted(
        &mut self,
        rules: &Rules,
        marks: &Marks,
        op: RequestOp,
        (pages, bytes): (u64, u64),
        measured: bool,
    ) {
        self.count_tenant_pages(rules, marks.tenant, op, pages, measured);
        streams::serves(self, rules, marks, bytes, measured);
    }

    /// The last page so far of a request has completed, and the request has more.
    #[inline(always)]
    pub(in crate::engine) fn keep_causes(&mut self, kernel: &Kernel, rules: &Rules, id: RequestId, op: OpId) {
        self.keep_extras(kernel, rules, id, op);
        self.keep_shares(kernel, rules, id, op);
    }

    /// The content of a page is read for an operation. Returns its tag.
    #[inline(always)]
    pub(in crate::engine) fn load(&mut self, kernel: &Kernel, oracle: &Oracle, op: OpId, at: Ppn) -> Tag {
        self.load_chunk(kernel, oracle, op, at);
        self.load_tag(kernel, oracle, op, at)
    }

    /// A measured read or write completes, whose last page was first served at `start`.
    #[inline(always)]
    pub(in crate::engine) fn request_measured(
        &mut self,
        kernel: &Kernel,
        dev: &Device,
        host: &Host,
        stats: &mut Stats,
        now: Nanos,
        (id, start, latency): (RequestId, Option<Moment>, u64),
    ) {
        self.note_before_service(stats, &host.requests[id].request, start);
        self.note_done(kernel, dev, host, now, id, latency);
    }

    /// The event of a timer that belongs to a feature.
    pub(in crate::engine) fn timer_ends(&mut self, kernel: &mut Kernel, now: Nanos, timer: Timer) {
        match timer {
            Timer::Encode => self.raid().encode_timeouts(kernel, now),
            Timer::Idle => self.idle_ends(kernel, now),
            Timer::Hold => self.end_holds(&mut kernel.timers, now),
            Timer::Array(_) | Timer::Bus(_) | Timer::Memory | Timer::Decoder | Timer::Delay(_) => {
                unreachable!("the spine ends it")
            }
        }
    }
}
