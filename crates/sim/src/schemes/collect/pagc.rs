//! Parallel GC of a die's planes (paper B).

use crate::device::flash::Stream;
use crate::device::geometry::Geometry;
use crate::policy::{BackTo, Collector, Job, Need, Outlook, PageSet, Requirement, Step, View, WriteBack};
use crate::schemes::scheme;
use crate::units::{FreeBelow, PlaneId, Ppm, Ppn, Threshold};

/// When the other plane of a die is collected together with the plane below the threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum When {
    /// Always: blind PaGC.
    Always,
    /// When its free pages are fewer than `threshold`: on-demand PaGC.
    Below,
}

/// How the write points of the two planes get equal offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Points {
    /// A second open block in each plane, filled by joint collections only, takes the pairs.
    Aligned,
    /// One open block per plane, as in `serial`: pages are moved singly until the write points have equal offsets.
    Unaligned,
    /// One open block per plane: pages of the write point behind are skipped.
    Invalidate,
}

scheme! {
    /// PaGC: both planes of a die are collected together, with multi-plane commands.
    ///
    /// A collection blocks the whole die, so PaGC collects the other plane in the same time (Shahidi et al., SC'16, section V).
    /// Pages are moved in three categories, in this order. Pairs at equal offsets need one multi-plane read and one multi-plane
    /// program (PaRD-PaWR, R + W). Pairs at different offsets need two reads and one multi-plane program (SrRD-PaWR, 2R + W). The
    /// remaining pages of the longer victim are moved one by one (SrRD-SrWR, R + W). Then one multi-plane erase follows.
    ///
    /// A multi-plane program needs write points at equal offsets. With `points = "aligned"`, each plane has a separate open block
    /// for pairs, and single pages go to the plane's host write point while it has room. With `"unaligned"`, there is no such
    /// block: the plane whose write point is behind moves pages without a partner, in ascending offset, until both write points
    /// have equal offsets. If they never do, pairs at equal offsets are read together and programmed one after the other
    /// (PaRD-SrWR, R + 2W), and all others singly. With `"invalidate"`, pages of the write point behind are skipped, at most the
    /// share `waste` of a block and never so many that the collection frees nothing; beyond that it equals `"unaligned"` (our
    /// choice). Skipped pages count as programs (`wasted`) and take no time.
    ///
    /// With `cache = true` (TC-PaGC), the remaining pages of the longer victim are only read, to free slots of the controller's
    /// buffer (`staging.slots`); without a free slot they move in flash. Each buffered page is written back when its die is idle
    /// and no operation waits for the die. It goes to its own plane's host write point while that has room, otherwise to the
    /// write point of its collection; a free page of its plane is reserved for it. Until then reads are served from the buffer
    /// (`device.memory`). A host write of a buffered page goes to flash as usual and frees the slot (our choice). The victim is
    /// erased before its pages are durable, so the buffer must survive a power cut (`device.power_loss_protection`). With
    /// `staging.slots = 0` the buffer is always full: the result equals PaGC without it, event for event.
    ///
    /// Within a category offsets ascend. Pairs of unequal offsets are formed in ascending order on both sides (our choice). The
    /// other plane does not join without a victim that has an invalid page. A collection of one plane equals `serial`.
    ///
    /// "5 % larger than the original threshold" is read as 5 points, 12 % of the plane; `"1.05 x gc"` is the other reading
    /// (docs/papers/pagc.md, B2). A threshold of 0 equals `serial` event for event, and 1 equals `when = "always"`.
    ///
    /// It helps where both planes fill at the same pace. Early collection of the other plane moves pages that might have become
    /// invalid (compare erases and write amplification). Needs two planes per die; meant for `schemes.path = "copyback"`.
    PaGc {
        /// `"always"` (blind) or `"below"` the threshold.
        when: When = When::Below,
        /// Free space of the other plane below which it joins: a share of its pages, `"200 pages"`, `"3 blocks"`, or a multiple
        /// of `gc.threshold` such as `"1.05 x gc"`.
        threshold: FreeBelow = FreeBelow::Own(Threshold::Share(Ppm(120_000))),
        /// How pairs get write points at equal offsets.
        points: Points = Points::Aligned,
        /// Cache assistance: the remaining pages of the longer victim go to the controller's buffer (`staging.slots`), and from
        /// there to their own plane when no operation waits for the die.
        cache: bool = false,
        /// `points = "invalidate"`: largest share of a block that one collection skips.
        waste: Ppm = Ppm(250_000),
    }
    state {
        /// The threshold in pages.
        floor: u32 = 0,
    }
}

// Phases of a joint collection. Whether the write points have equal offsets is decided once, after `ALIGN`.
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

    fn outlook(&self, view: &View, job: &Job, moving: &PageSet) -> Option<Outlook> {
        if self.points != Points::Aligned || self.cache || job.count != 2 || !job.hand.is_empty() {
            return None;
        }
        let of_victim = |i: usize| {
            let here = |page: &&Ppn| view.geometry.block_of(**page) == job.victims[i];
            u32::from(view.flash.valid(job.victims[i])) - moving.iter().filter(here).count() as u32
        };
        let pages = view.geometry.pages_per_block;
        let valid = |i: usize, offset| view.flash.is_valid(view.geometry.page(job.victims[i], offset));
        let together = match job.phase {
            EQUAL_OFFSETS => {
                (job.cursor[0]..pages).filter(|offset| valid(0, *offset) && valid(1, *offset)).count() as u32
            }
            REST => 0,
            _ => return None,
        };
        let (a, b) = (of_victim(0) - together, of_victim(1) - together);
        Some(Outlook { together, apart: a.min(b), single: a.abs_diff(b) })
    }

    fn writes_back(&self) -> Option<WriteBack> {
        let to = BackTo::OwnPlane;
        self.cache.then_some(WriteBack {
            to,
            queue_empty: false,
            free_at_issue: false,
            absorb: false,
            erase_first: true,
            by_segment: false,
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
            let why = format!("pagc's threshold \"{}\" applies to a plane, but gc.threshold does not", self.threshold);
            let help = "use a threshold such as 0.12, or gc.scope = \"plane\"";
            needs.push(Need::new(Requirement::PlaneScope, key, why, help));
        }
        if self.cache && !aligned {
            let why = "pagc's cache needs aligned blocks for the pairs";
            let help = "use points = \"aligned\", or cache = false";
            needs.push(Need::new(Requirement::OtherKnobs, key, why, help));
        }
        let why = "pagc pairs planes for a collection, but super pages pair them permanently";
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
        // At unequal offsets the remaining pages move one by one, one victim after the other.
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

    /// The next step towards write points at equal offsets, if a step is necessary and possible.
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
        // A page without a partner in the other victim.
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

/// Enters the next phase, which starts at the first page of the victims.
fn enter(job: &mut Job, phase: u8) {
    job.phase = phase;
    job.cursor = Default::default();
}

/// The victim in whose plane the GC write point is behind, and the number of pages. None if the offsets are equal, or if a plane
/// has no page left, because then no page has to be moved.
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
