//! Queued GC: each step waits in its die's queue.

use super::serial::in_order;
use crate::policy::{Collector, Job, Step, View};
use crate::schemes::scheme;

scheme! {
    /// Queued garbage collection: each step of a collection joins the die's FIFO like any other operation.
    ///
    /// Moves and the erase are those of `serial`, but between two steps the die serves operations that have waited longer. A host
    /// request waits for at most one step at a time. The collection takes longer, and host writes may find no free page in their
    /// plane (`space`). Useful if GC has slack, and as a model of controllers with a separate task queue for GC.
    Queued {}
}

impl Collector for Queued {
    fn next(&mut self, view: &View, job: &mut Job) -> Step {
        in_order(view, job)
    }
    fn in_order(&self) -> bool {
        true
    }
    fn survives_chip_failures(&self) -> bool {
        true
    }
    fn holds(&self) -> bool {
        false
    }
}
