//! First come, first served: request by request, or chip by chip.

use super::chips::ChipSet;
use crate::policy::{Order, Window};
use crate::schemes::scheme;

scheme! {
    /// Synchronous FIFO: requests are dispatched in order. A request that cannot be dispatched blocks all later ones.
    ///
    /// A request is dispatched when none of its chips has unfinished sub-requests of earlier requests (paper C, section II.D).
    SyncFifo {}
}

impl Order for SyncFifo {
    fn next(&mut self, window: &dyn Window) -> Option<usize> {
        let mut free = true;
        window.chips(*window.pending().first()?, &mut |chip| free &= window.outstanding(chip) == 0);
        free.then_some(0)
    }
}

scheme! {
    /// Asynchronous FIFO: each chip has a FIFO, and a request's sub-requests enter their chips' FIFOs at once.
    ///
    /// The usual controller (paper C, section II.D). With `order.chip_queue`, a request waits until all its chips have room.
    /// Later requests may overtake it if they share no chip with it, so every chip serves in order of arrival.
    AsyncFifo {}
    state {
        /// Chips of requests that cannot be dispatched, during a search of the window.
        blocked: ChipSet = ChipSet::default()
    }
}

impl Order for AsyncFifo {
    fn next(&mut self, window: &dyn Window) -> Option<usize> {
        self.blocked.clear(window);
        for (position, request) in window.pending().iter().enumerate() {
            if !window.any_chip(*request, &|chip| self.blocked.has(chip)) && window.fits(*request) {
                return Some(position);
            }
            self.blocked.insert_of(window, *request);
        }
        None
    }
    fn eager(&self) -> bool {
        true
    }
}
