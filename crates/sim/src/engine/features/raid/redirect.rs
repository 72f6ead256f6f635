//! Redirected reads: a page is reconstructed from the other pages of its parity group.

use crate::device::mapping::Location;
use crate::device::raid::Layout;
use crate::device::transaction::Need;
use crate::engine::features::raid::stripe::{Raid, Redirected};
use crate::engine::kernel::Kernel;
use crate::engine::kernel::ops::{NO_REDIRECT, NO_UPDATE, Page};
use crate::engine::{Device, Features, Host, Policies, Ssd};
use crate::policy::Queues;
use crate::request::RequestOp;
use crate::stats::Stats;
use crate::units::{Lpn, Nanos, OpId, RequestId};

/// State that routes see.
struct QueueView<'a> {
    kernel: &'a Kernel,
    dev: &'a Device,
    host: &'a Host,
    features: &'a Features,
    raid: &'a Raid,
    request: RequestId,
}

impl Queues for QueueView<'_> {
    fn load(&self, chip: u32) -> [u32; 2] {
        self.raid.load[chip as usize]
    }

    fn next_arrival(&self, chip: u32) -> Nanos {
        let own = self.host.number(self.request);
        let later = self.host.window.iter().filter(|other| self.host.number(**other) > own);
        let wants = later.filter(|other| self.host.wants(&self.kernel.ops, **other, chip));
        wants.map(|other| self.host.arrival(*other)).min().unwrap_or(Nanos::NEVER)
    }

    fn read_time(&self) -> Nanos {
        self.dev.timing.page_read() + self.features.crossing(self.dev.geometry.unit_bytes)
    }

    fn program_time(&self) -> Nanos {
        self.dev.timing.page_program() + self.features.crossing(self.dev.geometry.unit_bytes)
    }
}

impl Kernel {
    /// Whether the route may redirect a read, and to which chips.
    fn partners(&self, dev: &Device, raid: &Raid, op: OpId, chips: &mut Vec<u32>) -> bool {
        let page = &self.ops[op];
        if page.need != Need::Read || !matches!(dev.map.get(page.lpn), Location::Flash(_)) {
            return false;
        }
        let index = raid.layout.group_index(page.lpn);
        if !raid.is_clean(index) {
            return false;
        }
        chips.clear();
        for slot in others(&raid.layout, page.lpn) {
            if !matches!(dev.map.get(slot), Location::Flash(_)) {
                return false;
            }
            chips.push(raid.layout.chip_of(slot));
        }
        true
    }
}

impl Features {
    /// Whether a read is for its group: part of a reconstruction, or of an update.
    #[inline(always)]
    pub(in crate::engine) fn reads_group(&self, kernel: &Kernel, op: OpId) -> bool {
        self.raid.is_some() && {
            let chunk = &kernel.ops.parity[op];
            chunk.update != NO_UPDATE || chunk.redirect != NO_REDIRECT
        }
    }

    /// Whether an operation is a page of its request: reads of other pages for a redirected read are not.
    #[inline(always)]
    pub(in crate::engine) fn is_own_page(&self, kernel: &Kernel, op: OpId) -> bool {
        self.raid.is_none() || kernel.ops.parity[op].redirect == NO_REDIRECT
    }

    /// By chip: reads and programs queued or in service. `None` without parity groups.
    #[inline(always)]
    pub(in crate::engine) fn chip_loads(&self) -> Option<&[[u32; 2]]> {
        self.raid.as_ref().map(|raid| raid.load())
    }

    /// Whether the route may redirect a page read, and whether it does.
    fn asks_route(&mut self, kernel: &Kernel, dev: &Device, host: &Host, schemes: &Policies, op: OpId) -> (bool, bool) {
        let Some(raid) = &self.raid else { return (false, false) };
        let mut chips = std::mem::take(&mut self.partner_chips);
        let may = kernel.partners(dev, raid, op, &mut chips);
        let request = kernel.ops[op].request;
        let goes = may
            && schemes.route.redirect().is_some_and(|route| {
                let view = QueueView { kernel, dev, host, features: self, raid, request };
                let chip = raid.layout.chip_of(kernel.ops[op].lpn);
                route.redirect(&view, host.arrival(request), chip, &chips)
            });
        self.partner_chips = chips;
        (may, goes)
    }

    /// Redirects a page read. Returns the record of its group.
    fn goes_around(&mut self, kernel: &Kernel, host: &mut Host, now: Nanos, op: OpId) -> u32 {
        host.chip_outstanding[kernel.ops[Page(op)].chip as usize] += 1;
        self.raid().pin(kernel.ops[op].lpn, now)
    }
}

impl Host {
    /// Takes the pages of a request in the window, if it is a read about which the route has not decided.
    fn take_unrouted(&mut self, id: RequestId) -> OpId {
        let record = &mut self.requests[id];
        if record.request.op == RequestOp::Read && !std::mem::replace(&mut record.routed, true) {
            return std::mem::replace(&mut record.first, OpId::NONE);
        }
        OpId::NONE
    }

    /// A page waits on for dispatch, after the `last` of its request that does, or as the first.
    fn keeps_waiting(&mut self, kernel: &mut Kernel, id: RequestId, last: OpId, op: OpId) {
        if last.is_some() {
            kernel.ops[Page(last)].link = op;
        } else {
            self.requests[id].first = op;
        }
    }

    fn count_read(&self, kernel: &Kernel, stats: &mut Stats, op: OpId, may: bool, goes: bool) {
        if self.requests[kernel.ops[op].request].measured {
            let totals = &mut stats.brr;
            totals.reads += 1;
            totals.candidates += u64::from(may);
            totals.redirected += u64::from(goes);
        }
    }
}

impl Ssd {
    /// Reads that have come now and wait for room on their chips: the route decides about them all the same. Only pages that it does
    /// not redirect wait from now on. Returns whether it redirected any.
    #[inline(never)]
    fn redirect_waiting(&mut self) -> bool {
        let (mut at, mut any) = (0, false);
        while at < self.host.window.len() {
            let id = self.host.window[at];
            let mut op = self.host.take_unrouted(id);
            let mut last = OpId::NONE;
            while op.is_some() {
                let next = std::mem::replace(&mut self.kernel.ops[Page(op)].link, OpId::NONE);
                let (may, goes) = self.features.asks_route(&self.kernel, &self.dev, &self.host, &self.schemes, op);
                if goes {
                    any = true;
                    self.host.count_read(&self.kernel, &mut self.stats, op, may, true);
                    let update = self.features.goes_around(&self.kernel, &mut self.host, self.now, op);
                    self.read_around(op, update);
                } else {
                    self.host.keeps_waiting(&mut self.kernel, id, last, op);
                    last = op;
                }
                op = next;
            }
            if self.host.requests[id].first.is_none() {
                self.host.window.remove(at);
            } else {
                at += 1;
            }
        }
        any
    }

    /// A page is dispatched: the route decides about it, unless it has done so at this time. Returns false if the page goes to its
    /// own chip.
    fn redirect(&mut self, op: OpId, asks: bool) -> bool {
        let (may, goes) = self.features.asks_route(&self.kernel, &self.dev, &self.host, &self.schemes, op);
        let goes = goes && asks;
        if self.kernel.ops[op].need == Need::Read {
            self.host.count_read(&self.kernel, &mut self.stats, op, may, goes);
        }
        if goes {
            let update = self.features.goes_around(&self.kernel, &mut self.host, self.now, op);
            self.read_around(op, update);
        }
        goes
    }

    /// Reads all other pages of a page's group. Pages that were never written are zero and need no read. Returns the number of
    /// reads.
    pub(in crate::engine) fn read_around(&mut self, op: OpId, update: u32) -> u32 {
        let (now, lpn) = (self.now, self.kernel.ops[op].lpn);
        let layout = self.features.layout().clone();
        let mut left = 0;
        let decode = self.features.raid().redirects.insert(Redirected { op, update, left, content: 0, failed: false });
        self.kernel.ops[op].waits_since = now;
        for slot in others(&layout, lpn) {
            if self.kernel.covered(&self.dev, slot).is_none() {
                continue;
            }
            let age = self.kernel.age();
            let part = self.kernel.ops.create_like(op);
            self.kernel.ops[part].lpn = slot;
            self.kernel.ops[part].age = age;
            self.kernel.ops[Page(part)].link = OpId::NONE;
            self.kernel.ops.parity[part].redirect = decode;
            self.queue_on_chip(part);
            left += 1;
        }
        self.features.raid().redirects[decode].left = left;
        left
    }

    /// One of the reads has ended. The last one completes the page, and its waits are charged to the page.
    pub(in crate::engine) fn part_ends(&mut self, id: OpId, failed: bool) {
        let (decode, slot, tag) =
            (self.kernel.ops.parity[id].redirect, self.kernel.ops[id].lpn, self.kernel.ops[Page(id)].tags[0]);
        let (blame, start) = (self.kernel.ops[Page(id)].blame.clone(), self.kernel.ops[Page(id)].first_start);
        let content = if failed { 0 } else { self.features.content(&self.oracle, tag) };
        if self.oracle.checks_content() && !failed {
            law_eq!(tag.lpn, slot, "oracle: a redirected read reads its own group");
        }
        self.kernel.ops.remove(id);
        let state = &mut self.features.raid().redirects[decode];
        state.left -= 1;
        state.content ^= content;
        state.failed |= failed;
        if state.left > 0 {
            return;
        }
        let (op, update, content, failed) = (state.op, state.update, state.content, state.failed);
        self.features.raid().redirects.remove(decode);
        let page = &mut self.kernel.ops[Page(op)];
        page.blame = blame;
        page.first_start = start;
        if failed {
            // A chip has failed: uses any way that is still possible.
            self.kernel.ops[op].waits_since = self.now;
            if self.features.unpins(&self.dev, update) {
                self.begin_reads(update);
            }
            return self.place_chunk(op);
        }
        if self.oracle.checks_content() {
            // The stripe has not changed since the reads began: their sum is the content of the page.
            let (lpn, expected) = (self.kernel.ops[op].lpn, self.kernel.ops[Page(op)].expected);
            let page = self.kernel.covered(&self.dev, lpn);
            let tag = match (page, self.kernel.covered_in_buffer(&self.dev, lpn)) {
                (Some(page), _) => self.oracle.load(page, lpn),
                (None, Some(buffered)) => buffered,
                (None, None) => self.features.last_tag(lpn),
            };
            law_eq!(content, self.features.content(&self.oracle, tag), "oracle: a redirected read decodes to its page");
            let tag = self.kernel.delivers(&self.dev, &self.oracle, &self.rules, op, tag);
            self.oracle.delivered(lpn, tag, expected);
        }
        self.features.note_computed(&self.dev, update, self.kernel.ops[op].lpn);
        if self.features.unpins(&self.dev, update) {
            self.begin_reads(update);
        }
        self.leaves(op);
    }
}

/// A page is dispatched: the route decides about it if it decides about reads, unless it has done so at this time. Returns false if the
/// page goes to its own chip.
#[inline(always)]
pub(in crate::engine) fn redirects(ssd: &mut Ssd, op: OpId, asks: bool) -> bool {
    ssd.rules.redirects && ssd.redirect(op, asks)
}

/// The order dispatches no further request. Reads that have come now and wait for room on their chips: the route decides about them, if it
/// decides about reads. Returns whether it redirected any.
#[inline(always)]
pub(in crate::engine) fn redirects_waiting(ssd: &mut Ssd) -> bool {
    ssd.rules.redirects && ssd.redirect_waiting()
}

/// The other slots of a slot's group.
fn others(layout: &Layout, slot: Lpn) -> impl Iterator<Item = Lpn> + use<> {
    let (layout, index) = (layout.clone(), layout.group_index(slot));
    (0..layout.group).map(move |member| layout.slot_of_member(index, member)).filter(move |other| *other != slot)
}
