//! Steps of queued collections that begin when they are decided, because nothing else is on their die or waits for it.

use crate::engine::Ssd;
use crate::units::{JobId, OpId, UnitId};

impl Ssd {
    /// A collection's next step is decided. If its die is free and its queue empty, the step begins without joining the queue: nothing
    /// that joins it at this time goes first. Returns whether it does.
    #[inline(always)]
    pub(in crate::engine) fn begins_in_vacant_die(&mut self, op: OpId, unit: UnitId) -> bool {
        let state = &self.kernel.dies[unit];
        let vacant = self.fast.vacant && state.is_free() && state.queue.is_empty() && state.job == JobId::NONE;
        if vacant {
            self.begin_queued_step(op, unit);
            self.note_burst(op, unit);
        }
        vacant
    }
}
