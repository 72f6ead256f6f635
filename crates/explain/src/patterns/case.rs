//! What a detector sees.

use ssdlab_sim::blame::{Cause, Extra};

use crate::records::{Reason, Record};
use crate::watch::{Collection, Known};

/// Arrivals in this time before a request are those of a burst, if they are many.
pub const RECENT: u64 = 10_000_000;

/// The run as a whole.
pub struct World<'k> {
    /// What is known beside the requests; nothing if only rows are.
    pub known: Option<&'k Known>,
    /// Measured reads and writes.
    pub requests: u64,
    /// From the first arrival to the last one.
    pub span: u64,
    /// Requests of the tail set.
    pub tail: u64,
    /// By unit of exclusion: requests of the tail set.
    pub by_unit: Vec<u64>,
    /// Features that the run shows, by their causes.
    pub features: Vec<Extra>,
}

impl World<'_> {
    /// A run of which no request of the tail set has been seen.
    pub fn new(known: Option<&Known>, requests: u64, first: u64, last: u64) -> World<'_> {
        let units = known.map_or(0, |known| known.geometry.units as usize);
        let mut features = known.map_or(Vec::new(), |known| known.config.extra_causes());
        if known.is_some_and(|known| !known.tenants.is_empty()) && !features.contains(&Extra::Arbitration) {
            features.push(Extra::Arbitration);
        }
        World { known, requests, span: last - first, tail: 0, by_unit: vec![0; units], features }
    }

    /// A request of the tail set.
    pub fn note(&mut self, record: &Record) {
        self.tail += 1;
        for extra in Extra::ALL {
            // Rows name features only by the time that they took.
            if record.extras.0[extra as usize] > 0 && !self.features.contains(&extra) {
                self.features.push(extra);
            }
        }
        if let (Some(known), Some(plane)) = (self.known, record.plane) {
            self.by_unit[known.geometry.unit_of(ssdlab_sim::units::PlaneId(plane)).0 as usize] += 1;
        }
    }
}

/// A request of the tail set.
pub struct Case<'c> {
    /// The request.
    pub record: &'c Record,
    /// Its run.
    pub world: &'c World<'c>,
    /// Requests that arrived in the [`RECENT`] time before it.
    pub recent: u64,
    /// Collections of its die that overlap its wait.
    pub met: &'c [Collection],
}

/// A detector: its test, and its sentence.
pub struct Detector {
    /// Its name in results.
    pub name: &'static str,
    /// What the name means, in a few words; `both planes` is said of dies with two.
    pub about: &'static str,
    /// What all requests that show it did, after `All 280 requests of the tail`.
    pub says: &'static str,
    /// The causes that it explains.
    pub causes: &'static [Cause],
    /// Those of optional features. A device without them has no such pattern.
    pub extras: &'static [Extra],
    /// Whether it can be known from the rows of requests alone.
    pub from_rows: bool,
    /// The test.
    pub shows: fn(&Detector, &Case<'_>) -> bool,
}

/// Whether the causes of a detector are over half of a request's wait.
pub fn mostly(own: &Detector, case: &Case<'_>) -> bool {
    case.record.is_mostly(own.reasons().map(|reason| u128::from(case.record.of_reason(reason))).sum())
}

impl Detector {
    /// All causes that it explains.
    pub fn reasons(&self) -> impl Iterator<Item = Reason> {
        let usual = self.causes.iter().map(|cause| Reason::Usual(*cause));
        usual.chain(self.extras.iter().map(|extra| Reason::Extra(*extra)))
    }

    /// Whether a run can show it: it has the feature.
    pub fn applies(&self, world: &World<'_>) -> bool {
        self.extras.is_empty() || self.extras.iter().any(|extra| world.features.contains(extra))
    }
}
