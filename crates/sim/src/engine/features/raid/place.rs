//! Where pages of parity groups wait: reads for their chips, writes for their groups.

use crate::device::transaction::Need;
use crate::engine::features::raid::failure::Instead;
use crate::engine::kernel::Kernel;
use crate::engine::kernel::ops::Page;
use crate::engine::{Device, Features, Host, Nanos, Ssd};
use crate::request::{Request, RequestOp};
use crate::stats::Stats;
use crate::units::{Lpn, Moment, OpId, Ppn};

impl Host {
    /// No parity will ever cover a write: returns whether it joins the queue of its die now, or after its page has been read, since
    /// sectors are missing.
    pub(super) fn passes_overtaken(&mut self, kernel: &mut Kernel, now: Nanos, op: OpId) -> bool {
        kernel.ops[op].need = Need::Write;
        !self.waits_for_merge(kernel, now, op)
    }
}

impl Features {
    /// The page on flash that a write in flight replaces; none if it was on a failed chip.
    pub(in crate::engine) fn old_page(&self, kernel: &Kernel, dev: &Device, newest: OpId) -> Ppn {
        if self.raid.is_none() {
            return kernel.ops[Page(newest)].old;
        }
        kernel.chunk_page(dev, kernel.ops[newest].lpn).0.unwrap_or(Ppn::NONE)
    }

    /// The old page that a partial write of a parity group reads; `None` without parity groups.
    #[inline(always)]
    pub(in crate::engine) fn chunk_to_merge(&self, kernel: &Kernel, op: OpId) -> Option<Ppn> {
        self.raid.is_some().then(|| kernel.ops[Page(op)].old)
    }

    /// A measured request has completed, whose last page was first served at `start`: counts the time before that, with parity groups.
    #[inline(always)]
    pub(in crate::engine) fn note_before_service(&self, stats: &mut Stats, request: &Request, start: Option<Moment>) {
        if self.raid.is_some() {
            let writes = usize::from(request.op != RequestOp::Read);
            let before = start.map_or(Nanos::ZERO, |start| start.time() - request.arrival);
            stats.raid.before_service[writes] += u128::from(before.0);
        }
    }
}

/// A page write is admitted that is not in the buffer. Returns whether it belongs to a parity group, which takes it: its old page stays
/// valid for the parity. False without parity groups.
#[inline(always)]
pub(in crate::engine) fn admits_write(ssd: &mut Ssd, op: OpId, lpn: Lpn) -> bool {
    if ssd.features.raid.is_none() {
        return false;
    }
    if let Some(plane) = ssd.dev.drop_buffered(&mut ssd.kernel, &mut ssd.gc, &ssd.rules, ssd.now, lpn) {
        ssd.unstall(plane);
    }
    ssd.kernel.admit_chunk(&mut ssd.dev, op);
    true
}

/// A program whose merge read has ended joins a queue. Returns whether that is the queue of its chip, as in a parity group. False
/// without parity groups.
#[inline(always)]
pub(in crate::engine) fn queues_merged(ssd: &mut Ssd, op: OpId) -> bool {
    let groups = ssd.features.raid.is_some();
    if groups {
        ssd.queue_on_chip(op);
    }
    groups
}

impl Ssd {
    /// Sends a page to its queue: a read to its chip, a write to its group.
    pub(in crate::engine) fn place_chunk(&mut self, op: OpId) {
        let lpn = self.kernel.ops[op].lpn;
        if self.kernel.ops[op].need == Need::Read {
            if !self.features.is_missing(lpn) {
                return self.queue_on_chip(op);
            }
            let (dev, host) = (&self.dev, &mut self.host);
            match self.features.read_missing(&mut self.kernel, dev, host, &self.rules, self.now, op) {
                Instead::Newer => {
                    let measured = self.host.requests[self.kernel.ops[op].request].measured;
                    self.stats.pages.from_memory += u64::from(measured);
                    self.serve_from_memory(op);
                }
                Instead::Lost => self.serve_from_memory(op),
                Instead::Group(update) => {
                    let reads = self.read_around(op, update);
                    self.features.count_degraded(&self.kernel, &self.host, op, reads);
                }
                Instead::Later => {}
            }
        } else if self.kernel.may_cover(&self.dev, op) {
            self.features.raid().joins_group(&mut self.kernel, &self.dev, self.now, op);
        } else if self.host.passes_overtaken(&mut self.kernel, self.now, op) {
            // A newer write has replaced it.
            self.queue_on_chip(op);
        }
    }

    /// A page that has been read has more bit errors than can be corrected: its group is asked for it, and repaired.
    #[cold]
    pub(super) fn chunk_is_bad(&mut self, id: OpId) {
        let index = self.features.layout().group_index(self.kernel.ops[id].lpn);
        let (dev, oracle) = (&mut self.dev, &mut self.oracle);
        let merged = self.features.chunk_is_unreadable(&mut self.kernel, dev, &self.host, oracle, self.now, id);
        if let Some(write) = merged {
            self.host.run_is_read(&self.kernel, &mut self.oracle, write, None, false);
            self.host.release_waiting(&mut self.kernel, &self.features, &self.rules, self.now, write);
        }
        self.page_is_denied(id);
        self.features.repair(self.now, index);
    }

    /// A page joins the queue of its die.
    pub(in crate::engine) fn queue_on_chip(&mut self, op: OpId) {
        let page = &mut self.kernel.ops[op];
        page.waits_since = self.now;
        let writes = page.need == Need::Write;
        page.plane = self.dev.geometry.static_plane(page.lpn);
        let chip = self.dev.geometry.chip_of(page.plane) as usize;
        self.features.raid().load[chip][usize::from(writes)] += 1;
        self.kernel.join_die(&self.dev, &mut self.features, &self.rules, self.now, op, false);
        if self.rules.heeds {
            self.unit_is_awaited(self.kernel.ops[op].unit);
            self.features.note_awaited(&self.kernel, &self.rules, self.now, op);
        }
    }
}

/// A page is sent to its queue. Returns whether parity groups decide where it waits: without them, it joins the queue of its die.
#[inline(always)]
pub(in crate::engine) fn takes_page(ssd: &mut Ssd, op: OpId) -> bool {
    let grouped = ssd.features.raid.is_some();
    if grouped {
        ssd.place_chunk(op);
    }
    grouped
}
