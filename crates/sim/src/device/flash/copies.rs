//! Second copies of pages, which are invalid pages to the flash and count as valid ones for victim policies.

use super::Flash;
use crate::units::BlockId;

impl Flash {
    /// Whether there are second copies that victim policies count.
    #[inline(always)]
    pub fn has_copies(&self) -> bool {
        self.counted_copies > 0
    }

    /// By block of the device: second copies that victim policies count; empty where there are none.
    pub fn copies_by_block(&self) -> &[u16] {
        if self.has_copies() { &self.copies } else { &[] }
    }

    /// Counts second copies, of which there is none yet.
    pub(crate) fn start_copies(&mut self) {
        self.copies = vec![0; self.valid.len()];
        self.counted_copies = 0;
    }

    /// There are no second copies any more.
    pub(crate) fn end_copies(&mut self) {
        self.copies.clear();
        self.counted_copies = 0;
    }

    /// Victim policies count so many second copies from now on: all, or none. Returns how many they counted.
    pub(crate) fn count_copies(&mut self, number: u32) -> u32 {
        std::mem::replace(&mut self.counted_copies, number)
    }

    /// A second copy is in a block.
    pub(crate) fn add_copy(&mut self, block: BlockId) {
        self.copies[block.ix()] += 1;
        self.counted_copies += 1;
    }

    /// A second copy is of no use any more.
    pub(crate) fn drop_copy(&mut self, block: BlockId) {
        self.copies[block.ix()] -= 1;
        self.counted_copies -= 1;
    }
}
