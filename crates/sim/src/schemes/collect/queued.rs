//! Queued collection: a collection that waits its turn.

use super::serial::in_order;
use crate::policy::{Collector, Job, Step, View};
use crate::schemes::scheme;

scheme! {
    /// Queued garbage collection: each step of a collection joins the die's FIFO like any other operation.
    ///
    /// Moves and the erase are those of `serial`, but between two steps the die serves what has waited longer. Host requests
    /// wait for at most one step at a time; the collection takes longer, and host writes may meet a plane without free pages
    /// (`space`). Useful where collection has slack, and as the shape of controllers whose GC has a task queue of its own.
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
