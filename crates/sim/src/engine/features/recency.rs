//! How long ago pages were written, in page writes of the host.

use crate::units::Lpn;

/// The last write of every page. Writes count from the first request on; what filled the device is none.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Recency {
    /// By page: one more than the number of its last write, 0 for none.
    last: Vec<u64>,
    writes: u64,
    window: u64,
}

impl Recency {
    /// For a device of so many pages, of which one is hot that was written at most `window` writes before; by default all of them.
    pub(in crate::engine) fn new(pages: u32, window: Option<u64>) -> Self {
        Recency { last: vec![0; pages as usize], writes: 0, window: window.unwrap_or(pages.into()) }
    }

    /// A page is written. Returns whether it is hot.
    pub(in crate::engine) fn is_hot(&mut self, page: Lpn) -> bool {
        self.writes += 1;
        let before = std::mem::replace(&mut self.last[page.ix()], self.writes);
        before > 0 && self.writes - before <= self.window
    }

    /// Another window counts from now on.
    pub(in crate::engine) fn follow(&mut self, other: &Recency) {
        self.window = other.window;
    }

    /// A page is trimmed: it was never written.
    pub(in crate::engine) fn forget(&mut self, page: Lpn) {
        self.last[page.ix()] = 0;
    }
}
