//! What is noted of blocks and pages, for victim policies from outside and for the cache of SLC.

use super::{Change, Closing, Flash, Stream};
use crate::units::{Nanos, Ppn};

impl Flash {
    /// Ends all records for victim policies.
    pub(crate) fn record_nothing(&mut self) {
        self.records = self.slc.is_some();
        self.keeps_changes = false;
        self.changes.clear();
        self.closed.clear();
        self.undated.clear();
    }

    /// Starts to keep when blocks are closed, and by which write point they were filled.
    pub(crate) fn record_closings(&mut self) {
        let none = Closing { at: Nanos::ZERO, stream: Stream::Host };
        self.closed.resize(self.use_of.len(), none);
    }

    /// Whether blocks have been closed since the last date.
    #[inline(always)]
    pub(crate) fn has_undated(&self) -> bool {
        !self.undated.is_empty()
    }

    /// Blocks closed since the last call were closed now.
    #[cold]
    pub(crate) fn date_closings(&mut self, now: Nanos) {
        for block in self.undated.drain(..) {
            self.closed[block.ix()].at = now.max(Nanos(u64::from(self.closed_at[block.ix()])));
        }
    }

    /// Starts to record changes of pages.
    pub(crate) fn record_changes(&mut self) {
        self.records = true;
        self.keeps_changes = true;
    }

    /// Changes since the last call, oldest first. Return the list with [`Flash::reuse`], so that its memory is used again.
    pub(crate) fn take_changes(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.changes)
    }

    /// Reuses the memory of a list from [`Flash::take_changes`].
    pub(crate) fn reuse(&mut self, mut list: Vec<Change>) {
        list.clear();
        self.changes = list;
    }

    #[cold]
    #[inline(never)]
    pub(super) fn record(&mut self, page: Ppn, change: Change) {
        if self.slc.is_some() {
            self.note_beside(page, change);
        }
        // Metadata pages hold nothing that a victim policy could count.
        if self.keeps_changes
            && page.0 % self.pages_per_block < self.data_pages
            && page.ix() < self.use_of.len() * self.pages_per_block as usize
        {
            self.changes.push(change);
        }
    }
}
