//! Serial collection that puts the pages of nearly empty victims among the host's own.

use crate::device::flash::Stream;
use crate::policy::{Collector, Job, PageSet, Step, View};
use crate::schemes::scheme;

scheme! {
    /// Blending collection: `serial`, but the last pages of a victim go to the host's write point.
    ///
    /// Collections usually fill blocks of their own, so that cold pages stay among cold ones. Pages that are left when a victim
    /// has lost nearly all of them were hot a moment ago and may be hot again: the last `few` pages of a victim go where new
    /// host data goes. Made for the tutorial (docs/tutorial.md).
    Blend {
        /// So many pages a victim, the last ones, go to the host's write point.
        few: u32 = 4,
    }
}

impl Collector for Blend {
    fn next(&mut self, view: &View, job: &mut Job) -> Step {
        // Pages that left their die are in the job's hand, and have to be put down before anything else.
        if !job.hand.is_empty() {
            return Step::Place;
        }
        let left = u32::from(view.flash.valid(job.victims[0]));
        match job.next_valid(view, 0) {
            Some(page) if left <= self.few => Step::Move(PageSet::one(page), Stream::Host),
            Some(page) => Step::Move(PageSet::one(page), Stream::Gc),
            None if !job.erased => Step::Erase,
            None => Step::Done,
        }
    }
}
