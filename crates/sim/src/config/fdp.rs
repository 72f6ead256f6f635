//! Placement handles of the host's data (`fdp.*`), as in NVMe's Flexible Data Placement.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::error::refuse;
use super::{ByteRange, Config, ConfigError, Destination, MappingUnit, Names, RaidLayout, Scope, WritePoints};
use crate::policy::{Need, Requirement};
use crate::schemes::Place;

/// Most pages of what is collected as one: valid ones are counted in 15 bits.
const MOST_OF_UNIT: u64 = 0x7FFF;

/// Most handles.
pub const MOST_HANDLES: u32 = 128;

choice! {
    /// Where GC puts the pages of a handle's blocks.
    Isolation("lowercase") {
        /// Beside those of all other initially isolated handles.
        Initial,
        /// Into blocks of their handle.
        Persistent,
    }
}

/// The isolation of all handles, or of each.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged, expecting = "expected \"initial\", \"persistent\", or a list of these, one a handle")]
pub enum Isolations {
    /// The same for all.
    All(Isolation),
    /// One a handle.
    Each(Vec<Isolation>),
}

choice! {
    /// What happens to a write that `fdp.assign` gives no handle.
    NoHandle("lowercase") {
        /// The run ends with its line.
        Error,
    }
}

choice! {
    /// What is opened, filled and collected as one.
    ReclaimUnit("lowercase") {
        /// A block of a plane.
        Block,
        /// A block of every plane of the device. Only where requests are counted, in no time: how a timed collection would move
        /// pages across dies is not decided.
        Superblock,
    }
}

/// What happens to a write that `fdp.assign` gives no handle, or the handle that takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged, expecting = "expected \"error\" or the number of a handle")]
pub enum Unknown {
    /// It is refused.
    Refused(NoHandle),
    /// This handle takes it, and it is counted.
    Handle(u32),
}

/// Handles by tenant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(transparent)]
pub struct TenantHandles {
    /// By name.
    by_name: BTreeMap<String, u32>,
    /// Bytes of the device that each tenant uses, and its handle. They are no part of a configuration file: requests say them.
    #[serde(skip)]
    parts: Vec<(Range<u64>, u8)>,
}

impl From<BTreeMap<String, u32>> for TenantHandles {
    fn from(by_name: BTreeMap<String, u32>) -> Self {
        TenantHandles { by_name, parts: Vec::new() }
    }
}

impl TenantHandles {
    /// The handle of data that no write has brought, by the address of its first byte: that of the tenant whose part has it, of several
    /// the last one's; 0 outside all parts.
    pub(crate) fn unnamed(&self, byte: u64) -> u8 {
        self.parts.iter().rev().find(|(part, _)| part.contains(&byte)).map_or(0, |(_, handle)| *handle)
    }
}

/// How a write gets its handle.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Assign {
    /// By the stream of the trace, which is a number. No stream is handle 0.
    Trace,
    /// By time: handle 1 takes a page that was written at most `fdp.window` page writes before, handle 0 the others.
    Temperature,
    /// By the name of its stream.
    Stream(BTreeMap<String, u32>),
    /// By the name of its tenant.
    Tenant(#[cfg_attr(feature = "schema", schemars(with = "BTreeMap<String, u32>"))] TenantHandles),
    /// By the address of each page: a range of bytes a handle.
    Lba(Vec<ByteRange>),
}

section! {
    /// Placement handles: which data of the host share blocks.
    #[derive(PartialEq)]
    Fdp {
        /// Number of handles, 1 to 128. Each has an open block a plane. 1 is a device without handles.
        [since "0.1.3"]
        handles: u32 = 1,
        /// Where GC puts the pages of a handle's blocks: `"initial"`, `"persistent"`, or a list with one of these a handle.
        [since "0.1.3"]
        isolation: Isolations = Isolations::All(Isolation::Initial),
        /// How a write gets its handle: `"trace"` (the stream of the trace is its number), `"temperature"`, `{ stream = { log = 1 } }`,
        /// `{ tenant = { db = 0 } }` or `{ lba = ["0B..4GiB", "4GiB.."] }`.
        [since "0.1.3"]
        assign: Assign = Assign::Trace,
        /// What happens to a write that `assign` gives no handle: `"error"`, or the number of the handle that takes it.
        [since "0.1.3"]
        unknown: Unknown = Unknown::Refused(NoHandle::Error),
        /// What is opened, filled and collected as one: `"block"`, or `"superblock"` (a block of every plane), also with one handle.
        [since "0.1.3"]
        unit: ReclaimUnit = ReclaimUnit::Block,
        /// With `assign = "temperature"`: page writes of the host after which a page counts as cold. By default the exported pages.
        [since "0.1.3"]
        window: Option<u64> = None,
    }
}

impl Fdp {
    /// Whether there is more than one handle.
    pub fn exists(&self) -> bool {
        self.handles > 1
    }

    /// The isolation of a handle.
    pub fn isolation(&self, handle: u32) -> Isolation {
        match &self.isolation {
            Isolations::All(all) => *all,
            Isolations::Each(each) => each[handle as usize],
        }
    }

    /// By handle: whether GC keeps its pages apart.
    pub fn persistent(&self) -> Vec<bool> {
        (0..self.handles).map(|handle| self.isolation(handle) == Isolation::Persistent).collect()
    }

    /// Says which bytes of the device each tenant uses, before the device is built: with `assign = { tenant = .. }`, what
    /// preconditioning writes there has the tenant's handle. A tenant without one has that of `unknown`, or 0.
    pub fn place_tenants<'n>(&mut self, tenants: impl IntoIterator<Item = (&'n str, Range<u64>)>) {
        let otherwise = self.unknown().unwrap_or(0);
        if let Assign::Tenant(all) = &mut self.assign {
            let handle = |name: &str| all.by_name.get(name).map_or(otherwise, |handle| *handle as u8);
            all.parts = tenants.into_iter().map(|(name, part)| (part, handle(name))).collect();
        }
    }

    /// The handle of writes that `assign` gives none, if one takes them.
    pub fn unknown(&self) -> Option<u8> {
        match self.unknown {
            Unknown::Handle(handle) => Some(handle as u8),
            Unknown::Refused(_) => None,
        }
    }

    /// The handle that takes a write with these names, and whether it has none of its own; none if it is refused.
    pub fn taken_by(&self, names: Names<'_>, offset: u64, bytes: u64) -> Option<(u8, bool)> {
        let own = self.handle_of(names, offset, bytes).map(|own| (own, false));
        own.or(self.unknown().map(|other| (other, true)))
    }

    /// The handle of a write by the names that it has; none if they give it none. Where the address or the time of each page decides,
    /// any write has one that touches only pages of a range.
    pub fn handle_of(&self, names: Names<'_>, offset: u64, bytes: u64) -> Option<u8> {
        if !self.exists() {
            return Some(0);
        }
        let known = |handle: u32| (handle < self.handles).then_some(handle as u8);
        match &self.assign {
            Assign::Trace => match names.stream {
                None | Some("") => Some(0),
                Some(name) if name.bytes().all(|byte| byte.is_ascii_digit()) => name.parse().ok().and_then(known),
                Some(_) => None,
            },
            Assign::Stream(map) => names.stream.and_then(|name| map.get(name).copied()).and_then(known),
            Assign::Tenant(all) => names.tenant.and_then(|name| all.by_name.get(name).copied()).and_then(known),
            Assign::Temperature => Some(0),
            Assign::Lba(ranges) => {
                let (mut at, end) = (offset, offset + bytes);
                while at < end {
                    match ranges.iter().find(|range| range.contains(at))?.bounds().1 {
                        Some(next) => at = next,
                        None => break,
                    }
                }
                Some(0)
            }
        }
    }
}

impl Config {
    /// Blocks a plane that GC and handles beyond the first fill beside the host's.
    pub(super) fn filled_beside(&self) -> u32 {
        if !self.fdp.exists() {
            return self.gc_streams();
        }
        self.gc_points() + self.fdp.handles - 1
    }

    /// Blocks a plane that GC fills on a device with handles.
    fn gc_points(&self) -> u32 {
        let persistent = self.fdp.persistent();
        let apart = persistent.iter().filter(|persistent| **persistent).count() as u32;
        let common = u32::from(apart < self.fdp.handles);
        if self.ftl.write_points == WritePoints::Shared { 0 } else { apart + common }
    }

    /// Whether collections start on demand only, because open blocks of handles leave fewer erased blocks than `gc.threshold`: the
    /// free pages that a full device has at most, in words.
    pub fn handles_hide_threshold(&self) -> Option<String> {
        let per_block = u64::from(self.geometry.pages_per_block);
        let pages = u64::from(self.geometry.blocks_per_plane) * per_block;
        let open = u64::from(self.fdp.handles + self.gc_points() + self.reserve()) * per_block;
        let threshold = self.free_pages(&self.gc.threshold) / u64::from(self.planes_of_block());
        let exported = self.exported_per_plane();
        (self.fdp.exists() && exported + threshold + open > pages).then(|| {
            format!(
                "gc.threshold = {threshold} pages cannot be kept free: {exported} exported pages and {open} of open and reserved blocks leave fewer of the {pages} of a plane, so collections start when a handle has no page"
            )
        })
    }

    /// Planes whose blocks are opened, filled and collected together.
    pub(crate) fn planes_of_block(&self) -> u32 {
        let g = &self.geometry;
        match self.fdp.unit {
            ReclaimUnit::Block => 1,
            ReclaimUnit::Superblock => g.channels * g.chips_per_channel * g.dies_per_chip * g.planes_per_die,
        }
    }

    /// Checks blocks that are collected together.
    fn check_superblock(&self) -> Result<(), ConfigError> {
        if self.fdp.unit == ReclaimUnit::Block {
            return Ok(());
        }
        let per_unit = u64::from(self.planes_of_block()) * u64::from(self.geometry.pages_per_block);
        if per_unit > MOST_OF_UNIT {
            let message = format!("a block of each of {} planes has {per_unit} pages", self.planes_of_block());
            return refuse("fdp.unit", message, format!("use a device with at most {MOST_OF_UNIT}, or \"block\""));
        }
        let others = [
            (
                self.schemes.place != Place::RoundRobin,
                "schemes.place",
                "pages fill units plane by plane",
                "\"round-robin\"",
            ),
            (self.gc.scope != Scope::Plane, "gc.scope", "a unit is on all planes, which are one", "\"plane\""),
            (self.device.mapping_unit != MappingUnit::Page, "device.mapping_unit", "a unit has pages", "\"page\""),
            (self.units().exist(), "geometry.pages_per_program", "a unit is filled page by page", "1"),
            (self.raid.layout != RaidLayout::None, "raid.layout", "parity groups are of several chips", "\"none\""),
            (self.collects_jointly(), "schemes.collector", "all planes are collected together", "another collector"),
            (self.metadata_pages() > 0, "schemes.path", "metadata pages are those of a block", "another path"),
        ];
        match others.into_iter().find(|(used, ..)| *used) {
            None => Ok(()),
            Some((_, key, why, otherwise)) => refuse(
                key,
                format!("{why} with fdp.unit = \"superblock\""),
                format!("use {otherwise}, or fdp.unit = \"block\""),
            ),
        }
    }

    /// Whether the collector, or one that it wraps, collects planes of a die together.
    pub(crate) fn collects_jointly(&self) -> bool {
        let collectors =
            std::iter::successors(Some(self.schemes.collector.policy_ref()), |collector| collector.inner());
        let pairs = |need: &Need| matches!(need.what, Requirement::PlanesPerDie(_));
        collectors.into_iter().any(|collector| collector.needs().iter().any(pairs))
    }

    /// Checks the handles.
    pub(super) fn check_fdp(&self) -> Result<(), ConfigError> {
        self.check_superblock()?;
        let fdp = &self.fdp;
        if !(1..=MOST_HANDLES).contains(&fdp.handles) {
            let message = format!("{} handles", fdp.handles);
            return refuse("fdp.handles", message, format!("use 1 (none) to {MOST_HANDLES}"));
        }
        if let Isolations::Each(each) = &fdp.isolation
            && each.len() != fdp.handles as usize
        {
            let message = format!("a list of {} for {} handles", each.len(), fdp.handles);
            return refuse("fdp.isolation", message, "list one a handle, or use one word for all");
        }
        if let Unknown::Handle(handle) = fdp.unknown
            && handle >= fdp.handles
        {
            let message = format!("handle {handle} of {}, which are numbered from 0", fdp.handles);
            return refuse("fdp.unknown", message, "use \"error\", or a number below fdp.handles");
        }
        self.check_assignment()?;
        if !fdp.exists() {
            let default = Fdp::default();
            let same = Fdp { isolation: Isolations::All(fdp.isolation(0)), ..fdp.clone() };
            if same.assign != default.assign || same.unknown != default.unknown || same.window != default.window {
                let message = "how writes get a handle, but there is one for all".to_string();
                return refuse("fdp.handles", message, "use 2 or more, or leave the other keys of fdp out");
            }
            return Ok(());
        }
        self.check_beside_handles()
    }

    /// Checks how writes get their handles.
    fn check_assignment(&self) -> Result<(), ConfigError> {
        let (fdp, key) = (&self.fdp, "fdp.assign");
        if fdp.window.is_some() && fdp.assign != Assign::Temperature {
            let message = "a window of page writes, but time decides no handle".to_string();
            return refuse("fdp.window", message, "use fdp.assign = \"temperature\", or leave it out");
        }
        match &fdp.assign {
            Assign::Trace => Ok(()),
            Assign::Temperature if fdp.exists() && fdp.handles != 2 => {
                let message = format!("temperature has two handles, but there are {}", fdp.handles);
                refuse(key, message, "use fdp.handles = 2")
            }
            Assign::Temperature if fdp.window == Some(0) => {
                refuse("fdp.window", "no page would be hot".to_string(), "use 1 or more, or leave it out")
            }
            Assign::Temperature => Ok(()),
            Assign::Stream(map) | Assign::Tenant(TenantHandles { by_name: map, .. }) => {
                match map.iter().find(|(_, handle)| **handle >= fdp.handles) {
                    Some((name, handle)) => {
                        let message = format!("{name} has handle {handle} of {}, numbered from 0", fdp.handles);
                        refuse(key, message, "use numbers below fdp.handles")
                    }
                    None if map.is_empty() => refuse(key, "an empty table of names".to_string(), "name one"),
                    None => Ok(()),
                }
            }
            Assign::Lba(ranges) => {
                if ranges.len() != fdp.handles as usize {
                    let message = format!("{} ranges for {} handles", ranges.len(), fdp.handles);
                    return refuse(key, message, "list one range a handle");
                }
                let bounds = |at: usize| ranges[at].bounds();
                let meet = |(a, b): &(usize, usize)| {
                    let ((from, to), (other, end)) = (bounds(*a), bounds(*b));
                    to.is_none_or(|to| other < to) && end.is_none_or(|end| from < end)
                };
                let pairs = (0..ranges.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
                match pairs.into_iter().find(meet) {
                    Some((a, b)) => {
                        let message = format!("ranges {} and {} have bytes in common", a + 1, b + 1);
                        refuse(key, message, "use disjoint ranges")
                    }
                    None => Ok(()),
                }
            }
        }
    }

    /// Rejects what does not run with several handles.
    fn check_beside_handles(&self) -> Result<(), ConfigError> {
        let schemes = &self.schemes;
        let path = schemes.path.policy_ref();
        let persistent = self.fdp.persistent().contains(&true);
        let others = [
            (self.raid.layout != RaidLayout::None, "raid.layout", "parity groups", "\"none\""),
            (self.collects_jointly(), "schemes.collector", "joint collections of planes", "another collector"),
            (self.stages(), "staging.slots", "pages of GC in the controller's buffer", "0 slots"),
            (path.separates(), "schemes.path", "write points of copied pages", "another path"),
            (
                schemes.route.replicate().is_some() || schemes.route.redirect().is_some(),
                "schemes.route",
                "redirected reads",
                "\"direct\"",
            ),
            (
                persistent && self.gc.destination != Destination::Plane,
                "gc.destination",
                "pages that leave their plane",
                "\"plane\"",
            ),
        ];
        match others.into_iter().find(|(used, ..)| *used) {
            None => Ok(()),
            Some((_, key, what, otherwise)) => {
                let message =
                    format!("{what}, but {} handles: which blocks they share is not decided", self.fdp.handles);
                refuse(key, message, format!("use {otherwise}, or fdp.handles = 1"))
            }
        }
    }
}
