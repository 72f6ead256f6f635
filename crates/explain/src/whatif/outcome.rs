//! The result as a whole.

use std::cmp::Reverse;

use ssdlab_lab::output::Finished;
use ssdlab_sim::blame::Extra;
use ssdlab_sim::units::Nanos;
use ssdlab_sim::{Completed, Postponement, Sample};

use crate::whatif::moment::{Choice, Moment};
use crate::whatif::parting::Parting;

/// A request of the window in both devices.
#[derive(Clone, Debug)]
pub struct Pair {
    /// In the base.
    pub base: Completed,
    /// In the what-if; none if it was left out.
    pub whatif: Option<Completed>,
}

impl Pair {
    /// What the request gains: the base's latency less the other. None if it was left out.
    pub fn gain(&self) -> Option<i128> {
        let latency = |one: &Completed| i128::from((one.completion - one.arrival).0);
        self.whatif.as_ref().map(|other| latency(&self.base) - latency(other))
    }
}

/// What a device did in the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Collections that ended.
    pub collections: u64,
    /// Flash programs and copybacks.
    pub programs: u64,
    /// Erases.
    pub erases: u64,
}

impl Work {
    /// From one sample to another one.
    pub fn between(begin: &Sample, end: &Sample) -> Work {
        let programs = |sample: &Sample| sample.flash.programs.total + sample.flash.copybacks;
        Work {
            collections: end.collections - begin.collections,
            programs: programs(end) - programs(begin),
            erases: end.flash.erases - begin.flash.erases,
        }
    }
}

/// Two futures of one device.
pub struct WhatIf {
    /// Around which time.
    pub at: Moment,
    /// That time.
    pub moment: Nanos,
    /// The request that it is of.
    pub request: Option<u64>,
    /// When the device was copied.
    pub copied: Nanos,
    /// The end of the window.
    pub to: Nanos,
    /// Whether requests arrived in a closed loop.
    pub closed: bool,
    /// `KEY=VALUE` of the second device.
    pub changes: Vec<String>,
    /// What it did without.
    pub without: Vec<Choice>,
    /// Measured reads and writes that arrived in the window in the base, by number.
    pub pairs: Vec<Pair>,
    /// What each of the two did from the copy to the end of the window.
    pub work: [Work; 2],
    /// Where they part; none if they never do.
    pub parting: Option<Parting>,
    /// Collections that were put off.
    pub postponement: Postponement,
    /// What the requests are.
    pub about: Vec<String>,
    /// The timeline of both devices, not visible yet.
    pub timeline: Option<Finished>,
    /// Causes of optional features that the device has.
    pub extras: Vec<Extra>,
    /// Names of the tenants; none without any.
    pub tenants: Vec<String>,
    /// Seed of every random choice.
    pub seed: u64,
    /// Digest of the base's configuration.
    pub config_digest: String,
}

/// Requests with the largest gain or loss that are shown.
pub const MOST: usize = 10;

impl WhatIf {
    /// The chosen request.
    pub fn chosen(&self) -> Option<&Pair> {
        let number = self.request?;
        self.pairs.iter().find(|pair| pair.base.request == number)
    }

    /// Whether the causes of some request differ.
    pub fn waits_elsewhere(&self) -> bool {
        let causes = |one: &Completed| (one.blame, one.extras);
        self.pairs.iter().any(|pair| pair.whatif.as_ref().is_some_and(|other| causes(other) != causes(&pair.base)))
    }

    /// Requests that gain most, or lose most; equal ones by number.
    pub fn extremes(&self, gain: bool) -> Vec<&Pair> {
        let value = |pair: &Pair| pair.gain().map_or(0, |value| if gain { value } else { -value });
        let mut some: Vec<&Pair> = self.pairs.iter().filter(|pair| value(pair) > 0).collect();
        some.sort_by_key(|pair| (Reverse(value(pair)), pair.base.request));
        some.truncate(MOST);
        some
    }
}
