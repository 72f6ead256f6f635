//! The configuration of a run: every key, its meaning, unit and default, and every rule.
//!
//! A file a section has its keys, their rules, and what a device is built from. `check.rs` has what spans sections.
//!
//! A [`Config`] is plain data that `serde` reads. [`Config::check`] rejects what cannot work and says what would. A checked
//! configuration can always be built and run.

#[macro_use]
mod macros;

mod cache;
mod check;
mod device;
mod ecc;
mod error;
mod faults;
mod fdp;
mod ftl;
mod gc;
mod geometry;
mod life;
mod noc;
mod nvme;
mod order;
mod pages;
mod precondition;
mod raid;
mod run;
mod schemes;
mod slc;
mod space;
mod staging;
mod timing;
mod units;
mod wear;

use serde::Deserialize;

use crate::blame::Extra;

pub use cache::{Cache, CacheEvict, CacheFlush, CacheOrder, CachePack, CacheRead, CacheWrite, Writeback};
pub use device::{Device, Exclusion, PartialRead, PartialWrite, UnwrittenRead, WriteAck};
pub use ecc::{Ecc, EccLevel, Errors};
pub use error::ConfigError;
pub use faults::{ChipFails, Faults, IoErrors, IoErrorsAt};
pub use fdp::{Assign, Fdp, Isolation, Isolations, MOST_HANDLES, NoHandle, ReclaimUnit, TenantHandles, Unknown};
pub use ftl::{FreeBlock, Ftl, WearLevelling, WritePoints};
pub use gc::{Destination, Gc, GcTime, Remainder, Scope};
pub use geometry::{Geometry, PageOrder};
pub use life::{ByErrors, Endurance, FEWEST_CYCLES, FaultyBlock, Life, LifeMode};
pub use noc::{Noc, NocModel, PortRule, Task};
pub use nvme::{Arbitration, ByteRange, MOST_QUEUES, Match, Names, Nvme, NvmeQueue, OpName, QueuePriority};
pub use order::{DieQueue, NamedQueue, OrderKnobs, QueueClass};
pub use precondition::{Precondition, PreconditionMode};
pub use raid::{Numbering, Raid, RaidLayout, WriteMode};
pub use run::Run;
pub use schemes::Schemes;
pub use slc::{Slc, SlcAccepts, SlcFold, SlcFull, SlcMode, SlcPath, SlcVictim};
pub use staging::Staging;
pub use timing::{PageTimes, Suspendable, Timing, Variation};
pub use units::{MappingUnit, Units};
pub use wear::{CopybackThresholds, Programming, ThresholdSource, Wear};

section! {
    /// Everything that decides a run, apart from its workload and its seed.
    Config {
        /// The flash array.
        geometry: Geometry = Geometry::default(),
        /// Times of flash operations and transfers.
        timing: Timing = Timing::default(),
        /// The controller around the array.
        device: Device = Device::default(),
        /// When and where garbage is collected.
        gc: Gc = Gc::default(),
        /// Write points, free blocks, wear levelling.
        ftl: Ftl = Ftl::default(),
        /// State of the device before the first request.
        precondition: Precondition = Precondition::default(),
        /// Which part of the run is measured.
        run: Run = Run::default(),
        /// The policy in each of the seven slots.
        schemes: Schemes = Schemes::default(),
        /// Settings of the dispatch window.
        order: OrderKnobs = OrderKnobs::default(),
        /// The interconnect between flash controllers and CPU.
        noc: Noc = Noc::default(),
        /// Wear, and how many copybacks it allows.
        wear: Wear = Wear::default(),
        /// Bit errors and their correction.
        ecc: Ecc = Ecc::default(),
        /// Parity across chips.
        raid: Raid = Raid::default(),
        /// The controller's buffer for GC.
        staging: Staging = Staging::default(),
        /// Faults that the run injects.
        faults: Faults = Faults::default(),
        /// The write cache in controller memory.
        [since "0.1.1"]
        cache: Cache = Cache::default(),
        /// The host's queues.
        [since "0.1.1"]
        nvme: Nvme = Nvme::default(),
        /// Placement handles.
        [since "0.1.3"]
        fdp: Fdp = Fdp::default(),
        /// The cache of SLC.
        [since "0.1.3"]
        slc: Slc = Slc::default(),
        /// Lifetime.
        [since "0.1.4"]
        life: Life = Life::default(),
    }
}

impl std::str::FromStr for Config {
    type Err = toml::de::Error;

    /// Reads a configuration file. Missing keys have their defaults. [`Config::check`] tests whether the result can work.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        toml::from_str(text)
    }
}

impl Config {
    /// Causes of latency of the optional features that the device has, in their fixed order.
    pub fn extra_causes(&self) -> Vec<Extra> {
        let has = |extra: &Extra| match extra {
            Extra::Arbitration => self.nvme.arbitrates(),
            Extra::Cache | Extra::CacheGc | Extra::CacheHost => self.cache.exists(),
            Extra::Slc => self.slc.exists(),
            Extra::Retry => self.ecc.retries(),
        };
        Extra::ALL.into_iter().filter(has).collect()
    }
}
