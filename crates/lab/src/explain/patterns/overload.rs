//! More arrives than the device can serve: waits grow with the length of the run.

use crate::explain::patterns::case::{Case, Detector};
use crate::explain::watch::Known;

/// `overload`
pub const DETECTOR: Detector = Detector {
    name: "overload",
    about: "more arrives than the device can serve; everything else is moot",
    says: "came while more arrived than the device can serve",
    causes: &[],
    extras: &[],
    from_rows: false,
    shows,
};

/// Requests below which a run is too short to tell.
const LEAST: u64 = 100;

/// What is overloaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// Dies.
    Dies,
    /// Channels.
    Channels,
    /// Queue slots.
    Slots,
}

impl Resource {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Resource::Dies => "dies",
            Resource::Channels => "channels",
            Resource::Slots => "queue slots",
        }
    }
}

/// What arrives faster than it can be served, if anything does, and by which factor. Requests of a closed loop wait outside until
/// there is room, so they never do.
pub fn overloaded(known: &Known) -> Option<(Resource, f64)> {
    let load = &known.load;
    if known.closed || load.arrivals < LEAST || load.last == load.first {
        return None;
    }
    // The time that the arrivals stand for: one mean gap more than from the first to the last.
    let span = u128::from(load.last - load.first) * u128::from(load.arrivals) / u128::from(load.arrivals - 1);
    let geometry = &known.geometry;
    let bounds = [
        (Resource::Dies, load.die_ns, u64::from(geometry.units)),
        (Resource::Channels, load.channel_ns, u64::from(geometry.channels)),
        (Resource::Slots, load.slot_ns, u64::from(known.config.device.queue_depth)),
    ];
    let over = bounds.into_iter().filter(|(_, work, servers)| *work > span * u128::from(*servers));
    over.map(|(what, work, servers)| (what, work as f64 / (span as f64 * servers as f64)))
        .max_by(|(_, one), (_, other)| one.total_cmp(other))
}

fn shows(case: &Case<'_>) -> bool {
    case.world.overloaded
}
