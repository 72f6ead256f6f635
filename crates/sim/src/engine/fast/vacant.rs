//! Steps of queued collections that begin when they are decided, because nothing else is on their die or waits for it.

use crate::engine::fast::FastPaths;
use crate::engine::kernel::Kernel;
use crate::units::{JobId, UnitId};

impl FastPaths {
    /// A collection's next step is decided. If its die is free and its queue empty, the step begins without joining the queue: nothing
    /// that joins it at this time goes first. Returns whether it does.
    #[inline(always)]
    pub(in crate::engine) fn begins_in_vacant_die(&self, kernel: &Kernel, unit: UnitId) -> bool {
        let state = &kernel.dies[unit];
        self.vacant && state.is_free() && state.queue.is_empty() && state.job == JobId::NONE
    }
}
