//! The dispatch window: admitted requests from which the order selects, and the state that it sees.

use crate::blame::Cause;
use crate::engine::features::raid::redirect::{redirects, redirects_waiting};
use crate::engine::kernel::Kernel;
use crate::engine::kernel::ops::{NO_CHIP, Ops, Page};
use crate::engine::rules::Rules;
use crate::engine::{Device, Features, Host, Policies, Ssd};
use crate::request::{Request, RequestOp};
use crate::units::{Lpn, RequestId};

impl Host {
    /// Whether a request that waits for dispatch uses a chip.
    pub(in crate::engine) fn wants(&self, ops: &Ops, id: RequestId, chip: u32) -> bool {
        let mut op = self.requests[id].first;
        while op.is_some() && ops[Page(op)].chip != chip {
            op = ops[Page(op)].link;
        }
        op.is_some()
    }

    /// Whether two requests that wait for dispatch use a chip in common.
    fn contend(&self, ops: &Ops, one: RequestId, other: RequestId) -> bool {
        let mut op = self.requests[one].first;
        while op.is_some() && !(ops[Page(op)].chip != NO_CHIP && self.wants(ops, other, ops[Page(op)].chip)) {
            op = ops[Page(op)].link;
        }
        op.is_some()
    }

    /// A request waits for dispatch, after all others. If writes are delayed, a read goes before writes that wait, but after
    /// those that a read delayed before it came, if they use a chip in common.
    #[inline(never)]
    pub(in crate::engine) fn joins_window(&mut self, ops: &Ops, id: RequestId) {
        let record = &self.requests[id];
        let (reads, came) = (record.request.op == RequestOp::Read, record.admitted);
        if !(self.delays_writes && reads) {
            self.window.push_back(id);
            return;
        }
        let first = |other: &RequestId| {
            let record = &self.requests[*other];
            record.request.op == RequestOp::Read
                || self.requests.end(*other).delayed < came && self.contend(ops, *other, id)
        };
        let place = self.window.iter().rposition(first).map_or(0, |last| last + 1);
        for at in place..self.window.len() {
            let later = self.window[at];
            if self.contend(ops, later, id) {
                let delayed = &mut self.requests.end_mut(later).delayed;
                *delayed = came.min(*delayed);
            }
        }
        self.window.insert(place, id);
    }

    /// Removes the request that the order dispatches next, if any. `begins`: this is the first question of a dispatch.
    fn select_request(
        &mut self,
        kernel: &Kernel,
        dev: &Device,
        features: &Features,
        rules: &Rules,
        schemes: &mut Policies,
        begins: bool,
    ) -> Option<RequestId> {
        if self.window.is_empty() {
            return None;
        }
        self.window.make_contiguous();
        let view = WindowView {
            ssd: self,
            ops: &kernel.ops,
            limit: self.chip_queue,
            page_size: dev.entry_bytes(),
            load: features.chip_loads(),
            binds: rules.binds,
        };
        if begins {
            schemes.order.policy().drain(&view);
        }
        let position = schemes.order.policy().next(&view)?;
        Some(self.window.remove(position).expect("an order picks from the window"))
    }
}

impl Ssd {
    /// Dispatches the requests that the order selects. The route decides about reads that have come and stay: pages that it
    /// redirects wait for no chip, so others may go then.
    #[inline(never)]
    pub(in crate::engine) fn dispatch_window(&mut self) {
        self.host.window_stale = false;
        loop {
            let mut begins = true;
            while let Some(id) = self.host.select_request(
                &self.kernel,
                &self.dev,
                &self.features,
                &self.rules,
                &mut self.schemes,
                std::mem::take(&mut begins),
            ) {
                let record = &self.host.requests[id];
                let waited = (self.now - record.admitted).0;
                // A read that has come now, or has waited since.
                let asks = waited > 0 || !record.routed;
                let mut op = record.first;
                while op.is_some() {
                    let next = self.kernel.ops[Page(op)].link;
                    self.kernel.ops[Page(op)].blame.add(Cause::Order, waited);
                    if !redirects(self, op, asks) {
                        self.send(op);
                    }
                    op = next;
                }
                self.begin_updates();
            }
            if !redirects_waiting(self) {
                return;
            }
        }
    }
}

/// State that orders see.
struct WindowView<'a> {
    ssd: &'a Host,
    ops: &'a Ops,
    limit: Option<u32>,
    page_size: u64,
    /// With parity: reads and programs queued or in service by chip.
    load: Option<&'a [[u32; 2]]>,
    /// Writes of one page may have different chips.
    binds: bool,
}

impl WindowView<'_> {
    /// Visits the waiting pages of a request.
    fn pages(&self, request: RequestId, mut visit: impl FnMut(Lpn)) {
        let mut op = self.ssd.requests[request].first;
        while op.is_some() {
            visit(self.ops[op].lpn);
            op = self.ops[Page(op)].link;
        }
    }
}

impl crate::policy::Window for WindowView<'_> {
    fn pending(&self) -> &[RequestId] {
        self.ssd.window.as_slices().0
    }
    fn chips(&self, request: RequestId, visit: &mut dyn FnMut(u32)) {
        let mut op = self.ssd.requests[request].first;
        while op.is_some() {
            let page = &self.ops[Page(op)];
            if page.chip != NO_CHIP {
                visit(page.chip);
            }
            op = page.link;
        }
    }
    fn reads(&self, request: RequestId) -> bool {
        self.ssd.requests[request].request.op == RequestOp::Read
    }
    fn delays_writes(&self) -> bool {
        self.ssd.delays_writes
    }
    fn overlap(&self, one: RequestId, other: RequestId) -> bool {
        if self.ssd.requests[one].scattered || self.ssd.requests[other].scattered {
            let mut shared = false;
            self.pages(one, |page| self.pages(other, |beside| shared |= page == beside));
            return shared;
        }
        let [a, b] = [one, other].map(|id| &self.ssd.requests[id].request);
        // Most are more than a page apart, and orders ask for every two requests of a long window: without a division.
        let apart = |a: &Request, b: &Request| a.offset + a.bytes + self.page_size <= b.offset;
        if apart(a, b) || apart(b, a) {
            return false;
        }
        let pages = |request: &Request| {
            request.offset / self.page_size..(request.offset + request.bytes).div_ceil(self.page_size)
        };
        let (a, b) = (pages(a), pages(b));
        a.start < b.end && b.start < a.end
    }
    /// A partial write that takes a place of its chip and waits for the merge read of an earlier write, which waits for a place of
    /// another chip, could keep others from making room there.
    fn may_pass(&self, request: RequestId) -> bool {
        let earlier = || self.pending().iter().take_while(|other| **other != request);
        !self.binds
            || self.reads(request)
            || !earlier().any(|other| !self.reads(*other) && self.overlap(request, *other))
    }
    fn chip_count(&self) -> u32 {
        self.ssd.chip_outstanding.len() as u32
    }
    fn dispatched(&self) -> u32 {
        self.ssd.outstanding - self.ssd.flushing - self.ssd.window.len() as u32
    }
    fn outstanding(&self, chip: u32) -> u32 {
        self.ssd.chip_outstanding[chip as usize]
    }
    fn room(&self, chip: u32, more: u32) -> bool {
        // A request with more pages for a chip than the chip ever accepts is dispatched when the chip is empty.
        let taken = match self.load {
            Some(load) => load[chip as usize].iter().sum(),
            None => self.outstanding(chip),
        };
        self.limit.is_none_or(|limit| taken == 0 || taken + more <= limit)
    }
}
