//! Serial GC: the baseline of every paper.

use crate::device::flash::Stream;
use crate::policy::{Collector, Job, PageSet, Step, View};
use crate::schemes::scheme;

scheme! {
    /// Serial garbage collection: one victim at a time, page by page, with the die held throughout.
    ///
    /// The valid pages of the victim are moved in ascending order: each is read, carried along its path and programmed before the
    /// next. Then the block is erased. The die serves no other operation until then. Every paper compares with this baseline. A
    /// page that the host overwrites or trims before its move is skipped.
    ///
    /// Cost with v valid pages by the external path: v (tR + 2 tX + tPROG) + tBERS (paper A, Fig. 4).
    Serial {}
}

impl Collector for Serial {
    fn next(&mut self, view: &View, job: &mut Job) -> Step {
        in_order(view, job)
    }
    fn in_order(&self) -> bool {
        true
    }
    fn survives_chip_failures(&self) -> bool {
        true
    }
}

/// Moves page by page in ascending order, then erases.
pub(super) fn in_order(view: &View, job: &mut Job) -> Step {
    if !job.hand.is_empty() {
        return Step::Place;
    }
    match job.next_valid(view, 0) {
        Some(page) => Step::Move(PageSet::one(page), Stream::Gc),
        None if !job.erased => Step::Erase,
        None => Step::Done,
    }
}
