//! Patterns: a file each, with a test of one request of the tail set and a sentence.

mod behind_programs;
mod burst;
mod bus;
pub mod case;
mod hot_die;
mod late;
mod one_collection;
mod out_of_space;
mod overload;
mod parity;
mod partial_write;
mod queue_full;
mod two_collections;

pub use overload::{Resource as Overloaded, overloaded};

use case::{Case, Detector, World};

/// All detectors, in the order in which they are shown.
pub const ALL: [Detector; 12] = [
    overload::DETECTOR,
    two_collections::DETECTOR,
    one_collection::DETECTOR,
    late::DETECTOR,
    burst::DETECTOR,
    hot_die::DETECTOR,
    queue_full::DETECTOR,
    out_of_space::DETECTOR,
    behind_programs::DETECTOR,
    bus::DETECTOR,
    parity::DETECTOR,
    partial_write::DETECTOR,
];

/// A detector and how many requests show it.
#[derive(Clone, Copy, Debug)]
pub struct Pattern {
    /// Its place in [`ALL`].
    pub detector: usize,
    /// Requests of the tail set that show it; none if rows do not tell.
    pub count: Option<u64>,
}

impl Pattern {
    /// The detector.
    pub fn of(&self) -> &'static Detector {
        &ALL[self.detector]
    }
}

/// Counts requests by pattern.
pub struct Counts([Option<u64>; ALL.len()]);

impl Counts {
    /// None so far.
    pub fn new(world: &World<'_>) -> Counts {
        Counts(ALL.each_ref().map(|detector| (detector.from_rows || world.known.is_some()).then_some(0)))
    }

    /// A request of the tail set.
    pub fn add(&mut self, case: &Case<'_>) {
        for (detector, count) in ALL.iter().zip(&mut self.0) {
            if let Some(count) = count {
                *count += u64::from((detector.shows)(case));
            }
        }
    }

    /// All patterns, the most frequent first, equal ones in the order of [`ALL`]. In an overloaded run nothing else counts: waits grow
    /// with its length, whatever they wait for.
    pub fn patterns(&self, tail: u64) -> Vec<Pattern> {
        let moot = self.0[0] == Some(tail);
        let counts = self.0.iter().enumerate().filter(|(place, _)| *place == 0 || !moot);
        let mut all: Vec<Pattern> = counts.map(|(detector, count)| Pattern { detector, count: *count }).collect();
        all.sort_by_key(|pattern| std::cmp::Reverse(pattern.count.unwrap_or(0)));
        all
    }
}
