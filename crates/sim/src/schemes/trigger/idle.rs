//! GC in idle time.

use crate::device::geometry::Geometry;
use crate::policy::{Need, Requirement, Trigger, View};
use crate::schemes::scheme;
use crate::units::{Nanos, PlaneId, Threshold};

scheme! {
    /// Idle: in addition to the threshold, a plane is collected while its die is idle and its free pages are fewer than `below`.
    ///
    /// A die is idle if no operation has been in service or queued on it for `after`. Then, of its planes with fewer free pages
    /// than `below` and a victim, the one with the fewest free pages is collected (ties: lowest index), with the collector,
    /// victim policy and path of the device. When the collection ends the test is repeated at once, unless a host operation has
    /// arrived for the die meanwhile. A host operation that arrives during such a collection waits as for any other. A die
    /// without a victim at the time of the test is not tested again until it has been used. `gc.threshold` applies as well, idle
    /// or not: it keeps the device from running out of pages.
    ///
    /// It helps if the traffic has pauses longer than a collection: bursts of writes then find free pages. It costs writes:
    /// victims are collected before all of their pages that will soon become invalid have done so (compare write amplification).
    /// With a short `after` it delays the operations that end a pause.
    Idle {
        /// Idle time of a die before it is collected.
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
        self.floor = geometry.floor_of_plane(self.below);
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
                "an idle die is collected plane by plane, but gc.threshold does not apply to a plane",
                "use \"plane\", or schemes.trigger = \"threshold\"",
            ),
            Need::new(
                Requirement::TimedCollections,
                "gc.time",
                "GC that takes no time needs no idle time",
                "use \"real\", or schemes.trigger = \"threshold\"",
            ),
            Need::new(
                Requirement::SoundChips,
                "faults.chip_fails",
                "GC in idle time is not simulated with chip failures",
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
