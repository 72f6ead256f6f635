//! Parallel collection of a die's planes (paper B).

use crate::device::flash::Stream;
use crate::device::geometry::Geometry;
use crate::policy::{BackTo, Collector, Job, Need, PageSet, Requirement, Step, View, WriteBack};
use crate::schemes::scheme;
use crate::units::{FreeBelow, PlaneId, Ppm, Ppn, Threshold};

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

/// How the write points of the two planes come to stand at equal offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Points {
    /// A second open block in each plane takes the pairs; joint collections alone fill it.
    Aligned,
    /// One open block a plane, as `serial` has it: pages are moved singly until the write points meet.
    Unaligned,
    /// One open block a plane: pages of the one that is behind are given up.
    Invalidate,
}

scheme! {
    /// PaGC: both planes of a die are collected together, with multi-plane commands.
    ///
    /// The die is blocked by a collection anyway; PaGC lets the other plane collect in the same time (Shahidi et al., SC'16,
    /// section V). Pages are moved in three categories, in this order: pairs at equal offsets by one multi-plane read and one
    /// multi-plane program (PaRD-PaWR, R + W); pairs at different offsets by two reads and one multi-plane program
    /// (SrRD-PaWR, 2R + W); what is left of the longer victim page by page (SrRD-SrWR, R + W). Then one multi-plane erase.
    ///
    /// A multi-plane program needs write points at equal offsets. `points = "aligned"` gives pairs an open block of their own
    /// in each plane, and single pages go to the plane's host write point while it has room. `"unaligned"` has no such block:
    /// the plane whose write point is behind moves the pages that only it has, in ascending offset, until the points meet; if
    /// they don't, pairs at equal offsets are read together and programmed one after the other (PaRD-SrWR, R + 2W), and all
    /// others singly. `"invalidate"` gives up pages of the write point that is behind, at most the share `waste` of a block and
    /// never so many that the collection frees nothing; beyond that it is `"unaligned"` [choice]. Given up pages count as
    /// programs (`wasted`) and take no time.
    ///
    /// `cache = true` (TC-PaGC): what is left of the longer victim is only read, to `staging.slots` pages of the controller's
    /// buffer, as many as are free when it comes to that; the rest moves in flash. Each buffered page is written to its own
    /// plane's host write point while that has room, else where its collection would have put it, when its die is idle and no
    /// operation waits for it; a page of its plane is kept from the host for it. Until then reads of it are served from the
    /// buffer (`device.memory`), and a host write of it is written to flash as usual and frees the slot [choice]. The
    /// victim is erased before its pages are durable, so the buffer must survive a power cut (`device.power_loss_protection`).
    /// With `staging.slots = 0` the buffer is always full: PaGC without it, event for event.
    ///
    /// Within a category offsets ascend; pairs of unequal offsets are formed in ascending order on both sides [choice]. The
    /// other plane does not join without a victim that has an invalid page. A collection that nobody joins is `serial`.
    ///
    /// "5 % larger than the original threshold" is read as 5 points, 12 % of the plane (B2); `"1.05 x gc"` is the other
    /// reading. 0 is `serial` event for event, 1 is `when = "always"`.
    ///
    /// It helps where both planes fill at the same pace; collecting the other plane early moves pages that might have died
    /// (compare erases and write amplification). Needs two planes a die; meant for `schemes.path = "copyback"`.
    PaGc {
        /// `"always"` (blind) or `"below"` the threshold.
        when: When = When::Below,
        /// Free space of the other plane below which it joins: a share of its pages, `"200 pages"`, `"3 blocks"`, or a multiple
        /// of `gc.threshold` such as `"1.05 x gc"`.
        threshold: FreeBelow = FreeBelow::Own(Threshold::Share(Ppm(120_000))),
        /// How pairs find write points at equal offsets.
        points: Points = Points::Aligned,
        /// Cache assistance: what is left of the longer victim goes to the controller's buffer (`staging.slots`), and from
        /// there to its own plane when nobody wants the die.
        cache: bool = false,
        /// `points = "invalidate"`: largest share of a block that one collection gives up.
        waste: Ppm = Ppm(250_000),
    }
    state {
        /// The threshold in pages.
        floor: u32 = 0,
    }
}

// What a joint collection is at. Whether the write points stand together is settled once, after `ALIGN`.
const ALIGN: u8 = 0;
const EQUAL_OFFSETS: u8 = 1;
const REST: u8 = 2;
const EQUAL_OFFSETS_APART: u8 = 3;
const REST_APART: u8 = 4;

impl Collector for PaGc {
    fn prepare(&mut self, geometry: &Geometry, threshold: Threshold) {
        let (pages, block) = (u64::from(geometry.pages_per_plane), u64::from(geometry.pages_per_block));
        let floor = self.threshold.pages(threshold, pages, block);
        self.floor = if self.when == When::Always { u32::MAX } else { u32::try_from(floor).unwrap_or(u32::MAX) };
    }

    fn joins(&self, view: &View, _: PlaneId, other: PlaneId) -> bool {
        view.flash.free_pages(other) < self.floor
    }

    fn streams(&self) -> u32 {
        let alone = self.when == When::Below && self.threshold.is_zero();
        if self.points == Points::Aligned && !alone { 2 } else { 1 }
    }

    fn writes_back(&self) -> Option<WriteBack> {
        let to = BackTo::OwnPlane;
        self.cache.then_some(WriteBack {
            to,
            queue_empty: false,
            free_at_issue: false,
            absorb: false,
            erase_first: true,
        })
    }

    fn needs(&self) -> Vec<Need> {
        let (key, aligned) = ("schemes.collector", self.points == Points::Aligned);
        let mut needs = vec![
            Need::new(
                Requirement::PlanesPerDie(2),
                key,
                "pagc pairs the two planes of a die",
                "use geometry.planes_per_die = 2, or another collector",
            ),
            Need::new(
                Requirement::MovesInPlane,
                "gc.destination",
                "pagc programs pairs inside their planes",
                "use \"plane\"",
            ),
        ];
        if matches!(self.threshold, FreeBelow::TimesGc(_)) {
            let why = format!("pagc's threshold \"{}\" is of a plane, but gc.threshold is not", self.threshold);
            let help = "use a threshold such as 0.12, or gc.scope = \"plane\"";
            needs.push(Need::new(Requirement::PlaneScope, key, why, help));
        }
        if self.cache && !aligned {
            let why = "pagc's cache takes what is left when pairs have gone to aligned blocks";
            let help = "use points = \"aligned\", or cache = false";
            needs.push(Need::new(Requirement::OtherKnobs, key, why, help));
        }
        let why = "pagc pairs planes that collect apart, but super pages pair them for good";
        let help = "use \"serial\", or device.mapping_unit = \"page\"";
        needs.push(Need::new(Requirement::SinglePages, key, why, help));
        if !aligned {
            let why = "pagc would bring one of them to equal offsets";
            let help = "use points = \"aligned\", or another schemes.path";
            needs.push(Need::new(Requirement::SharedWritePoint, key, why, help));
        }
        needs
    }

    fn next(&mut self, view: &View, job: &mut Job) -> Step {
        if job.count == 1 {
            return super::serial::in_order(view, job);
        }
        if !job.hand.is_empty() {
            return if self.has_slot(job) { Step::Stage } else { Step::Place };
        }
        let (pairs, singles) =
            if self.points == Points::Aligned { (Stream::Aligned, Stream::Host) } else { (Stream::Gc, Stream::Gc) };
        if job.phase == ALIGN {
            if let Some(step) = self.align(view, job) {
                return step;
            }
            let apart = self.points != Points::Aligned && behind(view, job).is_some();
            enter(job, if apart { EQUAL_OFFSETS_APART } else { EQUAL_OFFSETS });
        }
        if matches!(job.phase, EQUAL_OFFSETS | EQUAL_OFFSETS_APART) {
            if let Some(pair) = next_at_equal_offsets(view, job) {
                return Step::Move(pair, pairs);
            }
            enter(job, if job.phase == EQUAL_OFFSETS { REST } else { REST_APART });
        }
        if self.cache && job.slots.is_none() && view.staging.slots() > 0 {
            let [a, b] = [0, 1].map(|i| u32::from(view.flash.valid(job.victims[i])));
            if (a == 0) != (b == 0) {
                return Step::Reserve((a + b).min(view.staging.free()));
            }
        }
        // Apart, what is left goes page by page, one victim after the other.
        let first = job.next_valid(view, 0);
        let second = if first.is_none() || job.phase == REST { job.next_valid(view, 1) } else { None };
        match (first, second) {
            (Some(a), Some(b)) => Step::Move(pair(a, b), pairs),
            (Some(single), None) | (None, Some(single)) if self.has_slot(job) => {
                Step::Fetch(PageSet::one(single), singles)
            }
            (Some(single), None) | (None, Some(single)) => Step::Move(PageSet::one(single), singles),
            (None, None) if !job.erased => Step::Erase,
            (None, None) => Step::Done,
        }
    }
}

impl PaGc {
    /// Whether a single page may go to the buffer.
    fn has_slot(&self, job: &Job) -> bool {
        self.cache && job.slots.is_some_and(|slots| slots > 0)
    }

    /// The next step towards write points at equal offsets, if one is needed and possible.
    fn align(&self, view: &View, job: &mut Job) -> Option<Step> {
        if self.points == Points::Aligned {
            return None;
        }
        let (lower, gap) = behind(view, job)?;
        let pages = view.geometry.pages_per_block;
        let frees = u32::from(view.flash.valid(job.victims[lower])) + gap < pages;
        if self.points == Points::Invalidate
            && job.cursor == [0; 4]
            && frees
            && gap <= self.waste.of(pages.into()) as u32
        {
            return Some(Step::Skip(lower, gap, Stream::Gc));
        }
        // A page that the other victim lacks.
        while job.cursor[lower] < pages {
            let offset = job.cursor[lower];
            job.cursor[lower] += 1;
            let [page, other] = [lower, 1 - lower].map(|i| view.geometry.page(job.victims[i], offset));
            if view.flash.is_valid(page) && !view.flash.is_valid(other) {
                return Some(Step::Move(PageSet::one(page), Stream::Gc));
            }
        }
        None
    }
}

/// Goes on to the next part; it goes over the victims anew.
fn enter(job: &mut Job, phase: u8) {
    (job.phase, job.cursor) = (phase, Default::default());
}

/// The victim in whose plane the collections' write point is behind, and by how many pages; none if they stand together, or
/// if a plane has no page left, and so no page to move.
fn behind(view: &View, job: &Job) -> Option<(usize, u32)> {
    let point = |i: usize| view.flash.next_offset(view.geometry.plane_of_block(job.victims[i]), Stream::Gc);
    let (a, b) = (point(0)?, point(1)?);
    (a != b).then_some((usize::from(b < a), a.abs_diff(b)))
}

/// The next offset at which both victims hold a valid page.
fn next_at_equal_offsets(view: &View, job: &mut Job) -> Option<PageSet> {
    while job.cursor[0] < view.geometry.pages_per_block {
        let offset = job.cursor[0];
        job.cursor[0] += 1;
        let [a, b] = [0, 1].map(|i| view.geometry.page(job.victims[i], offset));
        if view.flash.is_valid(a) && view.flash.is_valid(b) {
            return Some(pair(a, b));
        }
    }
    None
}

fn pair(a: Ppn, b: Ppn) -> PageSet {
    let mut pages = PageSet::one(a);
    pages.push(b);
    pages
}
