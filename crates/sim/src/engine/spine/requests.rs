//! Requests in service.

use std::ops::{Index, IndexMut};

use ssdlab_memory::prefetch_first;

use crate::device::transaction::Slab;
use crate::engine::Nanos;
use crate::engine::spine::complete::PageEnd;
use crate::engine::spine::ring::Waiting;
use crate::request::{Marks, Request};
use crate::units::{OpId, RequestId};

/// A read or write in service. The only page of a request in the fast lane needs no more of it.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(in crate::engine) struct HostRequest {
    pub(in crate::engine) index: u64,
    pub(in crate::engine) request: Request,
    pub(in crate::engine) admitted: Nanos,
    /// Pages that wait for dispatch, linked by `HostPage::link`.
    pub(in crate::engine) first: OpId,
    /// Whether its pages are scattered, so that `request` does not locate them.
    pub(in crate::engine) scattered: bool,
    /// A read in the window: the route has decided about it.
    pub(in crate::engine) routed: bool,
    pub(in crate::engine) measured: bool,
    /// Whether one of its pages has waited for GC at its chip.
    pub(in crate::engine) conflicted: bool,
    /// What it asks for beside its data.
    pub(in crate::engine) marks: Marks,
}

const _: () = assert!(size_of::<HostRequest>() == 64, "a request's record is one cache line");

impl HostRequest {
    /// The record of a measured request of one page in the lane, before [`HostRequest::renew`].
    pub(in crate::engine) fn plain() -> Self {
        HostRequest::new(0, Waiting::BLANK, Nanos::ZERO, true)
    }

    /// Makes the record of an earlier such request that of another one. If its page stayed in the lane, no more differs.
    #[inline(always)]
    pub(in crate::engine) fn renew(&mut self, index: u64, next: &Waiting, admitted: Nanos) {
        self.index = index;
        // By field: the rest of its bytes need not be copied.
        let Request { arrival, op, offset, bytes } = next.request;
        self.request = Request { arrival, op, offset, bytes };
        self.admitted = admitted;
        self.conflicted = false;
        self.marks = next.marks;
    }

    #[inline(always)]
    pub(in crate::engine) fn new(index: u64, next: Waiting, admitted: Nanos, measured: bool) -> Self {
        HostRequest {
            index,
            request: next.request,
            scattered: next.extents > 0,
            admitted,
            routed: false,
            measured,
            conflicted: false,
            marks: next.marks,
            first: OpId::NONE,
        }
    }
}

/// What a request of several pages, or outside the lane, has in addition.
#[derive(Clone, Debug)]
pub(in crate::engine) struct RequestEnd {
    /// Pages that have not completed.
    pub(super) remaining: u32,
    /// Of the completed pages, the one that finished last (tie: lowest logical page).
    pub(in crate::engine) best: PageEnd,
    /// If that was in the lane: its operation, which is kept until another page finishes later. It has what `best` lacks but time
    /// and logical page.
    pub(in crate::engine) kept: OpId,
    /// Number of uncorrectable pages.
    pub(in crate::engine) uncorrectable: u32,
    /// In the window: when a read first went before it to one of its chips, or never.
    pub(in crate::engine) delayed: Nanos,
}

impl RequestEnd {
    fn new(pages: u32) -> Self {
        let best = PageEnd::none();
        RequestEnd { remaining: pages, best, kept: OpId::NONE, uncorrectable: 0, delayed: Nanos::NEVER }
    }

    /// Makes it that of another request. The rest of `best` is set when a page finishes.
    #[inline(always)]
    fn renew(&mut self, pages: u32) {
        self.remaining = pages;
        self.best.renew();
        self.kept = OpId::NONE;
        self.uncorrectable = 0;
        self.delayed = Nanos::NEVER;
    }
}

/// Reads and writes in service, by id.
#[derive(Clone)]
pub(in crate::engine) struct Requests {
    records: Slab<HostRequest>,
    /// In a table of their own, so that the records of a long queue are few pages of memory.
    ends: Vec<RequestEnd>,
}

impl Requests {
    pub(super) fn with_capacity(capacity: usize) -> Self {
        Requests { records: Slab::with_capacity(capacity), ends: Vec::with_capacity(capacity) }
    }

    /// Adds a request of so many pages.
    #[inline(always)]
    pub(in crate::engine) fn insert(&mut self, record: HostRequest, pages: u32) -> RequestId {
        let id = self.records.insert(record);
        match self.ends.get_mut(id as usize) {
            Some(end) => end.renew(pages),
            None => self.ends.push(RequestEnd::new(pages)),
        }
        RequestId(id)
    }

    #[inline(always)]
    pub(in crate::engine) fn remove(&mut self, id: RequestId) {
        self.records.remove(id.0);
    }

    /// Power is cut: frees all requests.
    pub(super) fn clear(&mut self) {
        self.records.clear();
        self.ends.clear();
    }

    /// Prefetches a record that will soon be used.
    #[inline(always)]
    pub(in crate::engine) fn expect(&self, id: RequestId) {
        prefetch_first::<_, { size_of::<HostRequest>() }>(&self[id]);
    }

    #[inline(always)]
    pub(in crate::engine) fn end(&self, id: RequestId) -> &RequestEnd {
        &self.ends[id.0 as usize]
    }

    #[inline(always)]
    pub(in crate::engine) fn end_mut(&mut self, id: RequestId) -> &mut RequestEnd {
        &mut self.ends[id.0 as usize]
    }

    /// Whether the last page of a request is the first to complete.
    #[inline(always)]
    pub(in crate::engine) fn is_of_one(&self, id: RequestId) -> bool {
        let end = self.end(id);
        end.remaining == 1 && end.best.completed == Nanos::ZERO
    }
}

impl Index<RequestId> for Requests {
    type Output = HostRequest;

    #[inline(always)]
    fn index(&self, id: RequestId) -> &HostRequest {
        &self.records[id.0]
    }
}

impl IndexMut<RequestId> for Requests {
    #[inline(always)]
    fn index_mut(&mut self, id: RequestId) -> &mut HostRequest {
        &mut self.records[id.0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Lpn;

    #[test]
    fn a_place_keeps_nothing_of_an_earlier_request() {
        let mut requests = Requests::with_capacity(1);
        let record = || HostRequest::new(0, Waiting::BLANK, Nanos::ZERO, true);
        let id = requests.insert(record(), 3);
        let end = requests.end_mut(id);
        (end.remaining, end.kept, end.uncorrectable, end.delayed) = (0, OpId(7), 2, Nanos(5));
        (end.best.completed, end.best.lpn) = (Nanos(9), Lpn(4));
        requests.remove(id);
        assert_eq!(requests.insert(record(), 2), id, "the place is used again");
        let end = requests.end(id);
        assert_eq!((end.remaining, end.kept, end.uncorrectable, end.delayed), (2, OpId::NONE, 0, Nanos::NEVER));
        assert_eq!((end.best.completed, end.best.lpn), (Nanos::ZERO, Lpn::NONE));
    }
}
