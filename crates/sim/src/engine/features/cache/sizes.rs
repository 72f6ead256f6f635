//! How many lines a group takes: those of a program.
//!
//! The cache of SLC programs a page of each plane at a time, and other blocks may program a word line of several. Then a group is sized
//! when it is issued: for the cache if that has a page for it beside those of groups that have not begun, or if it would wait for
//! one, and for a word line otherwise.

use crate::config::Config;
use crate::device::flash::FOR_SLC;
use crate::device::geometry::Geometry;
use crate::engine::features::cache::order::Sets;
use crate::engine::rules::Rules;
use crate::engine::{Device, Features, Host};
use crate::units::PlaneId;

/// Groups that count on pages of the cache of SLC, where its programs have fewer units than others.
#[derive(Clone)]
pub(super) struct Sizes {
    /// Units of a program of the cache.
    small: u32,
    /// Sets by plane.
    streams: u32,
    /// By plane: groups that count on a program of the cache and have not begun. One in all where dies take groups in turn.
    promised: Vec<u32>,
}

impl Sizes {
    pub(super) fn new(config: &Config, geometry: &Geometry) -> Option<Self> {
        let slots = geometry.slots;
        let differ = config.slc.exists() && slots.per_super_page < slots.per_program;
        differ.then(|| Sizes {
            small: slots.per_super_page,
            streams: config.gathered_streams(),
            promised: vec![0; geometry.planes as usize],
        })
    }

    /// Sets of lines: by plane or in all, and by stream.
    pub(super) fn sets(config: &Config, geometry: &Geometry, homes: u32) -> Sets {
        let (streams, slots) = (config.gathered_streams(), geometry.slots);
        let least = |set: u32| {
            let small = config.slc.exists() && set % streams == streams - 1;
            (if small { slots.per_super_page } else { slots.per_program }) as usize
        };
        Sets::new((0..homes * streams).map(least).collect(), slots.per_program)
    }

    /// A group counts on a program of the cache in a plane.
    pub(super) fn promise(&mut self, plane: usize) {
        self.promised[plane] += 1;
    }

    /// It has begun, or is not needed.
    pub(super) fn redeem(&mut self, plane: usize) {
        self.promised[plane] -= 1;
    }

    pub(super) fn clear(&mut self) {
        self.promised.fill(0);
    }
}

/// The number of a stream among those for which lines are gathered apart.
pub(super) fn kind(handle: u8, streams: u32) -> u32 {
    if handle == FOR_SLC { streams - 1 } else { u32::from(handle) }
}

impl Features {
    /// If a group of a set would be programmed in the cache of SLC, and such programs have fewer units than others: the plane on
    /// whose pages it counts.
    pub(super) fn small_group(&self, dev: &Device, rules: &Rules, host: &Host, set: u32) -> Option<usize> {
        let sizes = self.cache().sizes.as_ref()?;
        if set % sizes.streams != sizes.streams - 1 {
            return None;
        }
        let plane = match (rules.numbered, rules.binds) {
            (true, _) => PlaneId(set / sizes.streams),
            (_, true) => host.home_after(self, dev, sizes.small),
            // Dies take turns, so planes have equal shares of what is promised.
            _ => {
                let planes = (0..dev.geometry.planes).map(PlaneId);
                let others = sizes.promised[0] / dev.geometry.planes;
                return planes.into_iter().any(|plane| dev.flash.slc_takes_after(plane, others)).then_some(0);
            }
        };
        dev.flash.slc_takes_after(plane, sizes.promised[plane.ix()]).then_some(plane.ix())
    }

    /// Whether the lines of a set, which may be too few for a word line, fill the program of its next group.
    pub(super) fn fills_program(&self, dev: &Device, rules: &Rules, host: &Host, set: u32) -> bool {
        self.sets().fills(set) || self.small_group(dev, rules, host, set).is_some()
    }

    /// Units of a program of the cache of SLC, if it has fewer than others.
    pub(super) fn small_program(&self) -> Option<usize> {
        self.cache().sizes.as_ref().map(|sizes| sizes.small as usize)
    }
}
