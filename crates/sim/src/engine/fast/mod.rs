//! Shortcuts: the same results with fewer events. A device takes one only if its configuration is known to allow it.
//!
//! [`Ssd::set_fusing`] closes all of them; tests compare every byte with and without.

mod booked;
mod chains;
mod cycles;
mod joint;
mod keys;
mod lane;
mod legs;
mod passages;
mod pauses;
mod promises;
mod reads;
mod report;
mod steps;
mod surface;
mod transfers;
mod turns;
mod vacant;
mod writes;

pub(super) use booked::BOOKED;
pub(super) use legs::FUSED;
pub use report::{ClosedShortcut, Shortcuts, Slowed};

use crate::config::Config;
use crate::device::geometry::Geometry;
use crate::device::timing::Timing;
use crate::engine::Ssd;
use crate::engine::rules::Rules;
use crate::policy::Journey;
use crate::schemes::AnyVictim;

/// The shortcuts of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FastPaths {
    /// Whether any may be open ([`Ssd::set_fusing`]).
    pub(super) allowed: bool,
    /// A transfer into a held die and the array after it share an event; an event with one consequence needs no round.
    pub(super) legs: bool,
    /// Such a transfer shares an event where its end concerns nothing, on any device.
    pub(super) transfers: bool,
    /// A queued GC step begins when it is decided if its die is free.
    pub(super) vacant: bool,
    /// A page that GC moves out and back in shares an event.
    pub(super) moves: bool,
    /// The moves of a collection share an event.
    pub(super) chains: bool,
    /// So do those of a collection of two planes.
    pub(super) joint: bool,
    /// A leg of a plain move, a bus that becomes free, and the begin and the end of an erase need no round where they are alone.
    pub(super) alone: bool,
    /// A step of a preemptible collection that ends alone needs no round.
    pub(super) pauses: bool,
    /// A queued GC step that ends alone needs no round.
    pub(super) steps: bool,
    /// Queued steps that follow one another on a die share an event.
    pub(super) turns: bool,
    /// Pages that are read take the fast lane.
    pub(super) lane: bool,
    /// So do pages that are written, and parts of pages.
    pub(super) writes: bool,
    /// The order of their ends at one time has no effect.
    pub(super) unordered: bool,
    /// A read's legs share an event while its channel serves only reads.
    pub(super) books: bool,
    /// A die that becomes free needs no look if nothing waits for it.
    pub(super) quiet: bool,
    /// Booked reads that end at one time need no round while there are only reads.
    pub(super) reads: bool,
    /// A write begins when it is admitted if its die is free.
    pub(super) starts: bool,
    /// Planes are filled independently, by several threads.
    pub(super) parts: bool,
}

/// Events that several steps share now.
#[derive(Clone)]
pub(super) struct Shared {
    chains: chains::Chains,
    joint: joint::Joint,
    booked: booked::Bookings,
}

impl Shared {
    /// Bytes of a unit's chain.
    pub(super) const BYTES_OF_UNIT: u64 = chains::Chains::BYTES;

    /// None yet. `journey`: that of every page, if all travel alike. `holds`: whether collections hold their dies.
    pub(super) fn new(geometry: &Geometry, timing: &Timing, journey: Option<Journey>, holds: bool) -> Self {
        Shared {
            chains: chains::Chains::new(geometry, timing, journey, holds),
            joint: joint::Joint::new(geometry, timing),
            booked: booked::Bookings::default(),
        }
    }
}

impl FastPaths {
    /// The shortcuts that a configuration and its victim policy allow.
    fn of_device(config: &Config, geometry: &Geometry, victim: &AnyVictim) -> Self {
        let mut paths = keys::Keys::of(config, geometry).shortcuts();
        if config.ecc.retries() {
            // A read may go on when its legs have ended.
            paths = FastPaths { allowed: true, ..FastPaths::NONE };
        }
        if geometry.slots.several() || config.fdp.exists() || config.life.exists() {
            // Those that depend on neither what a command moves nor how much of it. The others know moves of single pages.
            let FastPaths { transfers, vacant, .. } = paths;
            paths = FastPaths { allowed: true, transfers, vacant, ..FastPaths::NONE };
        }
        let stays_in_plane = victim.policy_ref().stays_in_plane();
        // A fused move takes its page and counts its program when it ends: other planes' pages and the load lag behind.
        paths.moves &= stays_in_plane;
        paths.chains &= stays_in_plane;
        paths.joint &= stays_in_plane;
        paths.alone &= stays_in_plane;
        paths.pauses &= stays_in_plane;
        paths.turns &= stays_in_plane;
        // Its page is taken before collections of other planes begin.
        paths.vacant &= stays_in_plane;
        // A policy that draws numbers takes them in the order of all planes' collections.
        paths.parts &= stays_in_plane && !victim.remembers();
        paths
    }

    pub(super) const NONE: FastPaths = FastPaths {
        allowed: false,
        legs: false,
        transfers: false,
        vacant: false,
        moves: false,
        chains: false,
        joint: false,
        alone: false,
        pauses: false,
        steps: false,
        turns: false,
        lane: false,
        writes: false,
        unordered: false,
        books: false,
        quiet: false,
        reads: false,
        starts: false,
        parts: false,
    };

    /// Whether the next step of a collection may begin without its collector: its moves form chains, and none stages pages.
    #[inline(always)]
    pub(super) fn steps_alone(&self, rules: &Rules) -> bool {
        self.chains && !rules.stages
    }

    /// Whether events without rounds are open.
    #[inline(always)]
    pub(super) fn skip_rounds(&self) -> bool {
        self.legs | self.steps | self.moves
    }
}

impl Ssd {
    /// Enables or disables shortcuts. They are enabled by default, and disabled while an observer watches legs. For tests and
    /// measurements: results do not change.
    pub fn set_fusing(&mut self, fusing: bool) {
        self.bring_to_now();
        let plain = self.features.failures.is_none() && !self.rules.watches && !self.rules.tenants && !self.rules.mixed;
        let open = fusing && plain && !self.observer.watches.legs;
        let paths = if open {
            FastPaths::of_device(&self.config, &self.dev.geometry, &self.schemes.victim)
        } else {
            FastPaths::NONE
        };
        self.fast = FastPaths { allowed: fusing, ..paths };
    }
}
