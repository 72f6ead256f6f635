//! Parallel collection of a die's planes (paper B).

use crate::device::flash::Stream;
use crate::policy::{Collector, Job, PageSet, Step, View};
use crate::schemes::scheme;
use crate::units::{PlaneId, Ppm, Ppn};

/// When the other plane of a die is collected along with the one that ran low.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum When {
    /// Always: blind PaGC.
    Always,
    /// When its free pages are fewer than `threshold`: on-demand PaGC.
    Below,
}

scheme! {
    /// PaGC: both planes of a die are collected together, with multi-plane commands.
    ///
    /// The die is blocked by a collection anyway; PaGC lets the other plane collect in the same time (Shahidi et al., SC'16,
    /// section IV). Pages are moved in three categories, in this order: pairs at equal offsets by one multi-plane read and one
    /// multi-plane program (PaRD-PaWR, R + W); pairs at different offsets by two reads and one multi-plane program
    /// (SrRD-PaWR, 2R + W); what is left of the longer victim page by page (SrRD-SrWR, R + W). Then one multi-plane erase.
    ///
    /// Pairs go to a write point of their own in each plane, which joint collections keep at equal offsets; single pages go to
    /// the plane's host write point while it has room. Within a category offsets ascend; pairs of unequal offsets are formed in
    /// ascending order on both sides [choice]. The other plane does not join without a victim that has an invalid page. A
    /// collection that nobody joins is `serial`.
    ///
    /// It helps where both planes fill at the same pace; collecting the other plane early moves pages that might have died
    /// (compare erases and write amplification). Needs two planes a die; meant for `schemes.path = "copyback"`.
    PaGc {
        /// `"always"` (blind) or `"below"` the threshold.
        when: When = When::Below,
        /// Free share of the other plane's pages below which it joins; 0 is `serial`.
        threshold: Ppm = Ppm(120_000),
    }
}

impl Collector for PaGc {
    fn joins(&self, view: &View, _: PlaneId, other: PlaneId) -> bool {
        let (free, pages) = (u64::from(view.flash.free_pages(other)), u64::from(view.geometry.pages_per_plane));
        self.when == When::Always || free * Ppm::ONE < u64::from(self.threshold.0) * pages
    }

    fn streams(&self) -> u32 {
        2
    }

    fn next(&mut self, view: &View, job: &mut Job) -> Step {
        if job.count == 1 {
            return super::serial::in_order(view, job);
        }
        if !job.hand.is_empty() {
            return Step::Place;
        }
        // The cursors go over the victims twice: once for equal offsets, once for the rest.
        if !job.paired {
            if let Some(pair) = next_shared(view, job) {
                return Step::Move(pair, Stream::Aligned);
            }
            job.paired = true;
            job.cursor = Default::default();
        }
        let first = job.next_valid(view, 0);
        match (first, job.next_valid(view, 1)) {
            (Some(a), Some(b)) => {
                let mut pair = PageSet::one(a);
                pair.push(b);
                Step::Move(pair, Stream::Aligned)
            }
            (Some(single), None) | (None, Some(single)) => Step::Move(PageSet::one(single), Stream::Host),
            (None, None) if !job.erased => Step::Erase,
            (None, None) => Step::Done,
        }
    }
}

/// The next offset at which both victims hold a valid page.
fn next_shared(view: &View, job: &mut Job) -> Option<PageSet> {
    while job.cursor[0] < view.geometry.pages_per_block {
        let offset = job.cursor[0];
        job.cursor[0] += 1;
        let pages: [Ppn; 2] = [0, 1].map(|i| view.geometry.page(job.victims[i], offset));
        if pages.iter().all(|page| view.flash.is_valid(*page)) {
            let mut pair = PageSet::one(pages[0]);
            pair.push(pages[1]);
            return Some(pair);
        }
    }
    None
}
