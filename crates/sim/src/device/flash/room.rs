//! Planes that may have no page for the host, and pages that are promised to data from elsewhere.

use super::{Flash, Stream};
use crate::device::planes::PlaneSet;
use crate::units::{BlockId, PlaneId, Ppn};

impl Flash {
    /// All planes that may have no page for the host, and some others.
    #[inline(always)]
    pub(crate) fn tight(&self) -> &PlaneSet {
        &self.tight
    }

    /// A plane has a page for the host. It has one until a block is opened, the host's open block is full, or a page is promised;
    /// where the host shares its open block, has several, or has a cache of SLC, that is not known.
    pub(crate) fn has_room(&mut self, plane: PlaneId) {
        debug_assert!(!self.plain || self.takes_host_page(plane));
        if self.plain {
            self.tight.remove(plane);
        }
    }

    /// A plane may have no page for the host any more.
    pub(super) fn tightens(&mut self, plane: PlaneId) {
        self.tight.insert(plane);
    }

    /// Promises a page of this plane to data from another plane or from the controller's buffer.
    pub(crate) fn promise(&mut self, plane: PlaneId) {
        self.tightens(plane);
        self.planes[plane.ix()].promised += 1;
    }

    /// Redeems a promise: the data has arrived.
    pub(crate) fn keep_promise(&mut self, plane: PlaneId) {
        self.planes[plane.ix()].promised -= 1;
    }

    /// Takes a page for moved data that the running collection of the plane does not move: what that still needs stays counted.
    pub(crate) fn take_beside_collection(&mut self, plane: PlaneId, stream: Stream) -> Option<Ppn> {
        let debt = self.planes[plane.ix()].debt;
        let page = self.take(plane, stream, true);
        self.planes[plane.ix()].debt = debt;
        page
    }

    /// Whether the GC point of a block's plane, and of its handle, has a page that no collection may need: the reserve stays.
    pub(crate) fn offers_beside_gc(&mut self, block: BlockId) -> bool {
        self.as_victim(block, Self::has_page_beside_gc)
    }

    /// Takes such a page, if there is one.
    pub(crate) fn take_beside_gc(&mut self, block: BlockId) -> Option<Ppn> {
        self.as_victim(
            block,
            |flash, plane| {
                if flash.has_page_beside_gc(plane) { flash.take(plane, Stream::Gc, false) } else { None }
            },
        )
    }

    fn has_page_beside_gc(&mut self, plane: PlaneId) -> bool {
        if self.shared {
            return self.offset_at(plane, self.point(plane, Stream::Gc), false).is_some();
        }
        let state = &self.planes[plane.ix()];
        let (free, kept) = (state.free_blocks, self.reserve + state.promised.div_ceil(self.data_pages));
        let room = self.room(plane, Stream::Gc);
        // A collection may count on all of the reserve; if it has opened a part of it, it needs that. A fold counts on the open block.
        if room > 0 { free >= kept && room > self.needed_by_fold(plane) } else { free > kept }
    }
}
