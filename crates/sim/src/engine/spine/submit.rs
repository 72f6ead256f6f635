//! How requests reach the device: submission, closed loops, and what a driver asks while it feeds one.

use crate::config::Config;
use crate::engine::rules::Rules;
use crate::engine::spine::pause::Pause;
use crate::engine::spine::ring::{RING, Waiting};
use crate::engine::{Device, Features, Host, Ssd};
use crate::request::{Extent, Marks, Request, RequestOp, Think};

impl Features {
    #[inline(always)]
    pub(in crate::engine) fn count_submitted(&mut self, host: &mut Host, rules: &Rules, request: &Request) {
        self.more_arrivals(rules);
        host.kinds |= 1 << request.op as u8;
    }

    #[inline(always)]
    pub(super) fn hand_in(&mut self, host: &mut Host, rules: &Rules, waiting: Waiting) {
        let request = &waiting.request;
        if !host.closed {
            law!(request.arrival >= host.last_arrival, "requests are submitted in order of arrival");
            host.last_arrival = request.arrival;
        }
        self.count_submitted(host, rules, &waiting.request);
        host.ring.push_back(waiting);
    }
}

impl Device {
    /// The first and the last page of the map that an extent touches.
    #[inline(always)]
    pub(in crate::engine) fn span(&self, extent: &Extent) -> (u32, u32) {
        let at = |byte| self.geometry.page_at(byte).0;
        (at(extent.offset), at(extent.offset + extent.bytes - 1))
    }

    /// Flash pages that an extent touches; it touches `pages` pages of the map (super pages).
    #[inline(always)]
    pub(in crate::engine) fn flash_pages(&self, config: &Config, extent: &Extent, units: u32) -> u64 {
        if self.geometry.pages_per_entry == 1 {
            return u64::from(units);
        }
        let size = config.geometry.page_size.0;
        (extent.offset + extent.bytes - 1) / size - extent.offset / size + 1
    }

    /// The same of an extent.
    #[inline(always)]
    pub(super) fn pages_of_extent(&self, config: &Config, extent: &Extent) -> (u32, u64) {
        let (first, last) = self.span(extent);
        let units = last - first + 1;
        (units, self.flash_pages(config, extent, units))
    }

    #[inline(always)]
    pub(super) fn check_extent(&self, offset: u64, bytes: u64) {
        let capacity = u64::from(self.geometry.exported) * self.entry_bytes();
        law!(bytes > 0 && bytes <= capacity && offset <= capacity - bytes, "a request lies on the device");
    }

    /// A contiguous request, which must lie on the device.
    #[inline(always)]
    pub(in crate::engine) fn together(&self, request: Request) -> Waiting {
        self.check_extent(request.offset, request.bytes);
        Waiting::together(request, self.geometry.page_at(request.offset))
    }
}

impl Host {
    /// Keeps the extents of a request until it is admitted.
    pub(in crate::engine) fn scatter(
        &mut self,
        dev: &Device,
        request: Request,
        extents: impl Iterator<Item = Extent>,
    ) -> Waiting {
        let before = self.extents.len();
        for extent in extents {
            dev.check_extent(extent.offset, extent.bytes);
            self.extents.push_back(extent);
        }
        let own = self.extents.range(before..);
        let first = own.clone().next().map(|extent| extent.offset);
        let bytes: u64 = own.map(|extent| extent.bytes).sum();
        law!((first, bytes) == (Some(request.offset), request.bytes), "the extents are those of the request");
        let count = self.extents.len() - before;
        if count == 1 {
            self.extents.pop_back();
            return dev.together(request);
        }
        let extents = u32::try_from(count).expect("a request has fewer than 2^32 extents");
        Waiting { extents, ..Waiting::together(request, dev.geometry.page_at(request.offset)) }
    }

    /// A request that lies on the device, with its extents kept.
    pub(in crate::engine) fn checked(
        &mut self,
        dev: &Device,
        rules: &Rules,
        request: Request,
        marks: Marks,
        extents: impl Iterator<Item = Extent>,
    ) -> Waiting {
        if request.op == RequestOp::Flush {
            return Host::flush(rules, request, marks);
        }
        let mut extents = extents.peekable();
        let waiting =
            if extents.peek().is_some() { self.scatter(dev, request, extents) } else { dev.together(request) };
        Waiting { marks, ..waiting }
    }
}

impl Ssd {
    /// Whether the ring has room for one more request ([`Ssd::submit`]).
    pub fn accepts(&self) -> bool {
        self.host.ring.len() < RING
    }

    /// Submits a request. It is admitted when it has arrived and fewer than `device.queue_depth` requests are outstanding.
    ///
    /// # Panics
    /// If it exceeds the device, is empty, arrives before the previous request, or [`Ssd::accepts`] returns false.
    pub fn submit(&mut self, request: Request) {
        if request.op == RequestOp::Flush {
            return self.submit_marked(request, Marks::default(), std::iter::empty());
        }
        let waiting = self.dev.together(request);
        self.hand_in(waiting);
    }

    /// Submits a request with what it asks for beside its data. Without extents it is contiguous. With several it is scattered: one
    /// request with one latency, whose extents may be anywhere; `request.offset` is the start of the first extent, `request.bytes` is
    /// the sum of all.
    ///
    /// # Panics
    /// Like [`Ssd::submit`], if the extents do not match the request, and if it is a flush and the device has no write cache.
    pub fn submit_marked(&mut self, request: Request, marks: Marks, extents: impl Iterator<Item = Extent>) {
        let waiting = self.host.checked(&self.dev, &self.rules, request, marks, extents);
        self.hand_in(waiting);
    }

    #[inline(always)]
    fn hand_in(&mut self, waiting: Waiting) {
        self.features.hand_in(&mut self.host, &self.rules, waiting);
    }

    /// Counts a command that is not simulated, such as a flush.
    pub fn skip(&mut self) {
        self.stats.requests.skipped += 1;
    }

    /// Closed-loop replay: `device.queue_depth` requests are outstanding. A request arrives whenever one completes.
    pub fn set_closed(&mut self, closed: bool) {
        self.host.closed = closed;
    }

    /// Pauses of the closed loop ([`Ssd::set_closed`]), or of that of a tenant ([`Ssd::set_loops`]).
    ///
    /// # Panics
    /// If the tenant has no loop, or a pause comes after 0 requests.
    pub fn set_think(&mut self, tenant: Option<u8>, think: Think) {
        law!(think.after > 0, "a pause comes after at least one request");
        match tenant {
            None => self.host.pause = Some(Pause::new(think)),
            Some(tenant) => self.features.set_think_of(tenant, think),
        }
    }

    /// Why the run has stopped, if it has: `device.unwritten_read = "error"` met an unwritten page.
    pub fn fault(&self) -> Option<&str> {
        self.host.fault.as_deref()
    }

    /// Requests completed so far, including warm-up.
    pub fn completed(&self) -> u64 {
        self.stats.completed
    }

    /// Flash operations so far, including warm-up.
    pub fn flash_operations(&self) -> u64 {
        self.stats.operations
    }
}
