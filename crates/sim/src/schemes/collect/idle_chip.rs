//! Collections that release their chip early (paper A).

use super::AnyCollector;
use crate::policy::{BackTo, Collector, Job, Need, Requirement, Step, View, WriteBack};
use crate::schemes::scheme;

/// Which collections move their pages through the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StreamRule {
    /// Those for which a host operation waits (rule 1).
    OnConflict,
    /// All of them (Algorithm 1).
    Always,
}

/// When buffered pages may be written back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// To an idle chip without waiting host operations (section 4.2.2).
    ChipIdle,
    /// As `ChipIdle`, and only while no host request is outstanding (Algorithm 1).
    QueueEmpty,
}

/// Where buffered pages return to flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum To {
    /// Idle chips in turn (section 4.2.2).
    IdleChips,
    /// The plane from which each page was read, while its chip is idle: what static placement allows.
    OwnPlane,
}

/// Whether write-backs of several collections may be in flight at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Segments {
    /// Idle chips take pages of the next segment while some of this one are being written.
    Overlapping,
    /// A segment is written back as a unit (section 4.2.1): the next one begins when all of its pages are on flash.
    OneByOne,
}

/// When a slot of the buffer becomes free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Release {
    /// When its page's program ends.
    Completion,
    /// When its page's write-back is issued (Algorithm 1).
    Issue,
}

/// When a victim with buffered pages is erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Erase {
    /// At once, before they are on flash again: needs a buffer that survives a power cut.
    First,
    /// After the last of them is on flash again. Until then the chip serves other operations.
    AfterWriteback,
}

scheme! {
    /// Idle-chip garbage collection: valid pages go to a buffer in the controller, so the chip is released early. Idle chips
    /// program the pages later.
    ///
    /// A collection becomes a valid page movement stream if a host operation waits for its chip. This is tested when it begins
    /// and after each page read-out. At that moment it reserves slots of the buffer (`staging.slots`) for its remaining valid
    /// pages, as many as are free, once. Pages with a slot are read and left in the buffer; the others are moved by `inner`. Then
    /// the victim is erased and the chip is free: buffered pages no longer need their program times on its critical path. A page
    /// that a partial write still has to read is also moved by `inner`.
    ///
    /// Pages of one collection form a segment, which may be written back once its last page is in the buffer. Segments are served
    /// first in, first out; with `segments = "one_by_one"` the next begins when the last page of this one is on flash. Pages go to
    /// idle chips in turn, one per chip, to the next plane of the chip with a free page for host data. A read of a buffered page is
    /// served from the buffer (`device.memory`). A host write of a waiting page replaces it in the buffer and is complete; a write of
    /// a page whose write-back has begun, or of a parity group (`raid.layout`), goes to flash as usual.
    ///
    /// It helps where requests are delayed by GC while other chips are idle, and as long as the buffer has room: watch
    /// `idle_chip.buffered_share`. The victim is erased before its pages are durable, so the buffer must survive a power cut
    /// (`device.power_loss_protection`), or use `erase = "after_writeback"`, `absorb = false` and `device.keep_overwritten`.
    /// With `schemes.place = "dynamic"` a write goes to a chip that is idle, so that it waits for no collection while others are; with
    /// `"round-robin"` it waits for the chip that it got at admission. Static orders need `to = "own_plane"`: buffered pages return to
    /// their own planes. With `staging.slots = 0` it equals `inner`, event for event, with this scheme's report.
    ///
    /// Gao et al., "Exploiting Chip Idleness for Minimizing Garbage Collection Induced Chip Access Conflict on SSDs", section 4:
    /// rules 1 and 2, Fig. 9 to 11, Algorithm 1.
    IdleChip {
        /// Which collections use the buffer: `"on_conflict"` or `"always"`.
        stream_rule: StreamRule = StreamRule::OnConflict,
        /// When pages are written back: `"chip_idle"` or `"queue_empty"`.
        writeback: When = When::ChipIdle,
        /// Where pages are written back: to `"idle_chips"`, or each to its `"own_plane"`.
        [since "0.1.1"] to: To = To::IdleChips,
        /// Write-backs of several collections: `"overlapping"`, or `"one_by_one"`.
        [since "0.1.2"] segments: Segments = Segments::Overlapping,
        /// When a slot becomes free: at `"completion"` or at `"issue"` of its write-back.
        release: Release = Release::Completion,
        /// When a victim is erased: `"first"`, or `"after_writeback"`.
        erase: Erase = Erase::First,
        /// Whether host writes of waiting pages complete in the buffer.
        absorb: bool = true,
        /// Collector of the pages that do not go through the buffer.
        inner: Box<AnyCollector> = Box::default(),
    }
}

impl Collector for IdleChip {
    fn next(&mut self, view: &View, job: &mut Job) -> Step {
        let left = remaining(view, job);
        if job.slots.is_none() && left > 0 && view.staging.slots() > 0 {
            // Rule 1: only a collection that delays a host operation is a stream. Rule 2: slots are reserved in advance.
            if job.contended || self.stream_rule == StreamRule::Always {
                return Step::Reserve(left.min(view.staging.free()));
            }
        }
        let slots = job.slots.unwrap_or(0);
        if !job.hand.is_empty() && job.hand.len() as u32 <= slots {
            return Step::Stage;
        }
        match self.inner.policy().next(view, job) {
            Step::Move(pages, stream) if pages.len() as u32 <= slots => Step::Fetch(pages, stream),
            step => step,
        }
    }

    fn undisturbed(&self) -> bool {
        self.stream_rule == StreamRule::OnConflict && self.inner.policy_ref().undisturbed()
    }
    fn inner(&self) -> Option<&dyn Collector> {
        Some(self.inner.policy_ref())
    }
    fn inner_mut(&mut self) -> Option<&mut dyn Collector> {
        Some(self.inner.policy())
    }
    fn writes_back(&self) -> Option<WriteBack> {
        Some(WriteBack {
            to: match self.to {
                To::IdleChips => BackTo::IdleChips,
                To::OwnPlane => BackTo::OwnPlane,
            },
            queue_empty: self.writeback == When::QueueEmpty,
            free_at_issue: self.release == Release::Issue,
            absorb: self.absorb,
            erase_first: self.erase == Erase::First,
            by_segment: self.segments == Segments::OneByOne,
        })
    }
    fn reports_conflicts(&self) -> bool {
        true
    }
    fn needs(&self) -> Vec<Need> {
        let (key, inner) = ("schemes.collector", &self.inner);
        let mut needs = vec![
            Need::new(
                Requirement::MovesInPlane,
                "gc.destination",
                "idle-chip moves pages inside their planes",
                "use \"plane\"",
            ),
            Need::new(
                Requirement::SinglePages,
                key,
                "idle-chip buffers single pages, not super pages",
                "use \"serial\", or device.mapping_unit = \"page\"",
            ),
        ];
        if self.to == To::OwnPlane {
            let why = "idle-chip: dynamic placement may have filled the plane that a buffered page returns to";
            let help = "use a static order, or to = \"idle_chips\"";
            needs.push(Need::new(Requirement::StaticPlaces, "schemes.place", why, help));
        }
        if self.to == To::OwnPlane && self.segments == Segments::OneByOne {
            let why = "idle-chip: pages that return to their own planes form no segments";
            needs.push(Need::new(
                Requirement::OtherKnobs,
                key,
                why,
                "use segments = \"overlapping\", or to = \"idle_chips\"",
            ));
        }
        if self.to == To::OwnPlane && self.erase == Erase::AfterWriteback {
            let why = "idle-chip: a victim that waits for its pages would need room in their own plane";
            needs.push(Need::new(Requirement::OtherKnobs, key, why, "use erase = \"first\", or to = \"idle_chips\""));
        }
        if inner.policy_ref().writes_back().is_some() {
            let why = format!("idle-chip around {}: both would use the buffer", inner.name());
            needs.push(Need::new(Requirement::OtherKnobs, key, why, "disable the buffer in one of them"));
        }
        needs
    }
}

/// Valid pages of the victims. A page in hand counts until it lands.
fn remaining(view: &View, job: &Job) -> u32 {
    let victims = &job.victims[..usize::from(job.count)];
    victims.iter().map(|block| u32::from(view.flash.valid(*block))).sum()
}
