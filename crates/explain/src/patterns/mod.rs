//! Patterns: a file each, or a row of `waits.rs`, with a test of one request of the tail set and a sentence.

mod burst;
pub mod case;
mod hot_die;
mod one_collection;
mod overload;
mod parity;
mod partial_write;
mod tenant;
mod two_collections;
mod waits;

use std::collections::BTreeMap;

use crate::watch::Known;
use case::{Case, Detector, World};

/// All detectors, in the order in which they are shown.
pub const ALL: [Detector; 15] = [
    overload::DETECTOR,
    two_collections::DETECTOR,
    one_collection::DETECTOR,
    waits::LATE,
    burst::DETECTOR,
    hot_die::DETECTOR,
    waits::QUEUE_FULL,
    waits::OUT_OF_SPACE,
    waits::BEHIND_PROGRAMS,
    waits::BUS,
    parity::DETECTOR,
    partial_write::DETECTOR,
    waits::CACHE_FULL,
    waits::FOLDING,
    tenant::DETECTOR,
];
/// Its place: this one has a pattern by tenant.
const TENANT: usize = ALL.len() - 1;

/// A detector and how many requests show it.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// Its place in [`ALL`].
    pub detector: usize,
    /// Its name in results.
    pub name: String,
    /// Requests of the tail set that show it; none if rows do not tell.
    pub count: Option<u64>,
}

impl Pattern {
    /// The detector.
    pub fn of(&self) -> &'static Detector {
        &ALL[self.detector]
    }

    /// What its name means, in a few words.
    pub fn about(&self, known: Option<&Known>) -> String {
        of_planes(self.of().about, known)
    }

    /// What all requests that show it did.
    pub fn says(&self, known: Option<&Known>) -> String {
        match self.name.split_once(':') {
            Some((_, tenant)) => format!("waited mostly for tenant {tenant}"),
            None => of_planes(self.of().says, known),
        }
    }
}

/// A die has two planes as a rule; of more it says `two`.
fn of_planes(text: &str, known: Option<&Known>) -> String {
    let two = known.is_none_or(|known| known.geometry.planes_per_unit == 2);
    if two { text.into() } else { text.replace("both planes", "two planes") }
}

/// Counts requests by pattern.
pub struct Counts {
    /// In the order of [`ALL`].
    by_detector: [Option<u64>; ALL.len()],
    /// Of those that waited for another tenant, by that tenant; none if no tenant held a die or channel.
    by_tenant: BTreeMap<Option<u8>, u64>,
}

impl Counts {
    /// None so far.
    pub fn new(world: &World<'_>) -> Counts {
        let none = |detector: &Detector| (detector.from_rows || world.known.is_some()).then_some(0);
        Counts { by_detector: ALL.each_ref().map(none), by_tenant: BTreeMap::new() }
    }

    /// A request of the tail set.
    pub fn add(&mut self, case: &Case<'_>) {
        for (place, (detector, count)) in ALL.iter().zip(&mut self.by_detector).enumerate() {
            let Some(count) = count else { continue };
            let shows = detector.applies(case.world) && (detector.shows)(detector, case);
            *count += u64::from(shows);
            if shows && place == TENANT {
                *self.by_tenant.entry(case.record.aggressor.map(|(tenant, _)| tenant)).or_default() += 1;
            }
        }
    }

    /// All patterns that the run can show, the most frequent first, equal ones in the order of [`ALL`]. In an overloaded run nothing
    /// else counts: waits grow with its length, whatever they wait for.
    pub fn patterns(&self, world: &World<'_>) -> Vec<Pattern> {
        let moot = self.by_detector[0] == Some(world.tail);
        let counts = self.by_detector.iter().enumerate().filter(|(place, _)| *place == 0 || !moot);
        let mut all: Vec<Pattern> = Vec::new();
        for (detector, count) in counts.filter(|(place, _)| ALL[*place].applies(world)) {
            let name = ALL[detector].name.to_string();
            if detector == TENANT && !self.by_tenant.is_empty() {
                all.extend(self.by_tenant.iter().map(|(tenant, count)| {
                    let names = world.known.map_or(&[][..], |known| &known.tenants);
                    let of = tenant.and_then(|tenant| names.get(usize::from(tenant)));
                    let name = of.map_or(name.clone(), |of| format!("{name}:{of}"));
                    Pattern { detector, name, count: Some(*count) }
                }));
                continue;
            }
            all.push(Pattern { detector, name, count: *count });
        }
        all.sort_by_key(|pattern| std::cmp::Reverse(pattern.count.unwrap_or(0)));
        all
    }
}
