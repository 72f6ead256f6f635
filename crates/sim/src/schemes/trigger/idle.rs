//! Collection in idle time.

use crate::device::geometry::Geometry;
use crate::policy::{Need, Requirement, Trigger, View};
use crate::schemes::scheme;
use crate::units::{Nanos, PlaneId, Threshold};

scheme! {
    /// Idle: besides the threshold, a plane is collected while its die is idle and its free pages are fewer than `below`.
    ///
    /// A die is idle when nothing has been in service or queued on it for `after`. At that moment the plane of it with the
    /// fewest free pages below `below` that has something to reclaim is collected (ties: lowest index), with the collector,
    /// victim policy and path of the device. When the collection ends the test is repeated at once, as long as no host operation
    /// has come for the die meanwhile. One that comes during such a collection waits as it would for any other. A die that has
    /// nothing to reclaim at the moment of the test is left alone until it is used again. `gc.threshold` holds as well, idle or
    /// not: it keeps the device from running out of pages.
    ///
    /// It helps where traffic has pauses longer than a collection: bursts of writes then find free pages. It costs writes:
    /// victims are collected before all of their pages that are about to die have died (compare write amplification). With a
    /// short `after` it gets in the way of the operations that end a pause.
    Idle {
        /// How long a die has been idle before it is collected.
        after: Nanos = Nanos(10_000_000),
        /// Free pages of a plane below which an idle die collects it: more than `gc.threshold`.
        below: Threshold = Threshold::Blocks(6),
    }
    state {
        /// `below` in pages.
        floor: u32 = 0
    }
}

impl PartialEq for Idle {
    fn eq(&self, other: &Self) -> bool {
        (self.after, self.below) == (other.after, other.below)
    }
}

impl Trigger for Idle {
    fn prepare(&mut self, geometry: &Geometry) {
        let pages = self.below.pages(u64::from(geometry.pages_per_plane), u64::from(geometry.pages_per_block));
        self.floor = u32::try_from(pages).unwrap_or(u32::MAX);
    }

    fn patience(&self) -> Option<Nanos> {
        Some(self.after)
    }

    fn due(&self, view: &View, plane: PlaneId) -> bool {
        view.flash.free_pages(plane) < self.floor
    }

    fn needs(&self) -> Vec<Need> {
        let key = "schemes.trigger";
        let mut needs = Vec::new();
        if self.after.0 > 3_600_000_000_000 {
            let why = format!("idle with after = \"{}\", longer than an hour", self.after);
            needs.push(Need::new(Requirement::OtherKnobs, key, why, "check the unit"));
        }
        needs.extend([
            Need::new(
                Requirement::PlaneScope,
                "gc.scope",
                "an idle die is collected plane by plane, but gc.threshold is not of a plane",
                "use \"plane\", or schemes.trigger = \"threshold\"",
            ),
            Need::new(
                Requirement::TimedCollections,
                "gc.time",
                "collections that take no time need no idle time",
                "use \"real\", or schemes.trigger = \"threshold\"",
            ),
            Need::new(
                Requirement::SoundChips,
                "faults.chip_fails",
                "collections in idle time are not simulated with chips that fail",
                "leave it out, or use schemes.trigger = \"threshold\"",
            ),
            Need::new(
                Requirement::MoreThanThreshold(self.below),
                key,
                "idle collects a plane below",
                "use a greater `below`, or \"threshold\"",
            ),
        ]);
        needs
    }
}
