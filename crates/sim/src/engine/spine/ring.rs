//! Requests submitted in advance, in a ring of fixed size: a place is found by a mask.

use crate::request::{Marks, Request, RequestOp};
use crate::units::{Lpn, Nanos};

/// Requests submitted in advance: enough that a trace reader works in batches, few enough to stay in the cache.
pub(super) const RING: usize = 4096;

/// Number of requests before one whose map entry is prefetched. What the entry leads to is prefetched half as far ahead.
pub(in crate::engine) const LOOK_AHEAD: usize = 16;

/// Requests that are prefetched together.
pub(in crate::engine) const BATCH: usize = LOOK_AHEAD / 2;

/// A request outside the device.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct Waiting {
    pub(in crate::engine) request: Request,
    /// The page with its first byte, or any page if it has no bytes.
    pub(in crate::engine) page: Lpn,
    /// Number of its extents in `Host::extents`; 0 if its bytes are contiguous.
    pub(in crate::engine) extents: u32,
    pub(in crate::engine) marks: Marks,
}

impl Waiting {
    /// No particular request.
    pub(super) const BLANK: Self = Waiting {
        request: Request { arrival: Nanos::ZERO, op: RequestOp::Read, offset: 0, bytes: 0 },
        page: Lpn(0),
        extents: 0,
        marks: Marks { fua: false, queue: 0, tenant: 0, handle: 0, no_handle: false },
    };

    /// A contiguous request whose first byte is in a page.
    #[inline(always)]
    pub(in crate::engine) fn together(request: Request, page: Lpn) -> Self {
        // By field: the rest of its bytes need not be copied.
        let Request { arrival, op, offset, bytes } = request;
        let request = Request { arrival, op, offset, bytes };
        Waiting { request, page, extents: 0, marks: Marks::default() }
    }
}

/// A queue of at most [`RING`] requests.
#[derive(Clone)]
pub(in crate::engine) struct Ring {
    places: Box<[Waiting; RING]>,
    /// Number of requests that have left it. Only its remainder by [`RING`] matters.
    first: usize,
    len: usize,
}

impl Ring {
    pub(super) fn new() -> Self {
        let places = vec![Waiting::BLANK; RING].into_boxed_slice();
        Ring { places: places.try_into().expect("as many as it has"), first: 0, len: 0 }
    }

    #[inline(always)]
    pub(in crate::engine) fn len(&self) -> usize {
        self.len
    }

    #[inline(always)]
    pub(in crate::engine) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The `i`-th request, if there are as many.
    #[inline(always)]
    pub(in crate::engine) fn get(&self, i: usize) -> Option<&Waiting> {
        (i < self.len).then(|| self.at(i))
    }

    /// The `i`-th request. Precondition: there are as many.
    #[inline(always)]
    pub(in crate::engine) fn at(&self, i: usize) -> &Waiting {
        debug_assert!(i < self.len);
        &self.places[self.first.wrapping_add(i) % RING]
    }

    /// The first request.
    #[inline(always)]
    pub(in crate::engine) fn front(&self) -> Option<&Waiting> {
        self.get(0)
    }

    /// Appends a request. Precondition: there is room.
    #[inline(always)]
    pub(in crate::engine) fn push_back(&mut self, next: Waiting) {
        law!(self.len < RING, "the host's ring has room");
        self.places[self.first.wrapping_add(self.len) % RING] = next;
        self.len += 1;
    }

    /// Removes the first request. Precondition: there is one.
    #[inline(always)]
    pub(in crate::engine) fn take(&mut self) -> Waiting {
        let next = self.places[self.first % RING];
        self.first = self.first.wrapping_add(1);
        self.len -= 1;
        next
    }

    /// Removes the first request.
    #[inline(always)]
    pub(in crate::engine) fn pop_front(&mut self) -> Option<Waiting> {
        (!self.is_empty()).then(|| self.take())
    }
}

/// Writes in no time, of one page each, which wait until their data is prefetched: pages, and numbers of bytes.
#[derive(Clone)]
pub(in crate::engine) struct Writes {
    places: [(Lpn, u32); LOOK_AHEAD + BATCH],
    len: usize,
}

impl Writes {
    pub(super) fn new() -> Self {
        Writes { places: [(Lpn(0), 0); LOOK_AHEAD + BATCH], len: 0 }
    }

    #[inline(always)]
    pub(in crate::engine) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends a write. Returns whether there is room for no more. Precondition: there is room.
    #[inline(always)]
    pub(in crate::engine) fn push_back(&mut self, page: Lpn, bytes: u32) -> bool {
        self.places[self.len] = (page, bytes);
        self.len += 1;
        self.len == LOOK_AHEAD + BATCH
    }

    /// All places, the first write first. Precondition: there is room for no more.
    #[inline(always)]
    pub(in crate::engine) fn all(&self) -> &[(Lpn, u32); LOOK_AHEAD + BATCH] {
        debug_assert!(self.len == LOOK_AHEAD + BATCH);
        &self.places
    }

    /// Removes the first [`BATCH`] of all places. Precondition: there is room for no more.
    #[inline(always)]
    pub(in crate::engine) fn take_batch(&mut self) -> [(Lpn, u32); BATCH] {
        let batch = std::array::from_fn(|i| self.places[i]);
        self.places.copy_within(BATCH.., 0);
        self.len -= BATCH;
        batch
    }

    /// Removes all writes, of which there are so many.
    pub(in crate::engine) fn take_all(&mut self) -> ([(Lpn, u32); LOOK_AHEAD + BATCH], usize) {
        (self.places, std::mem::take(&mut self.len))
    }
}
