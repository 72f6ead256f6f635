//! A filled device, kept for other configurations that fill it alike.
//!
//! Filling a large device takes longer than many a run on it. What it leaves depends on some keys only, so devices that
//! agree in those may start from one filling, and the results are those of filling each anew.

use super::noc::Noc;
use super::{Device, Features, Gc, Kernel, PlaneState, Policies, Ssd};
use crate::config::{Config, ConfigError};
use crate::device::errors::{ErrorModel, PageErrors};
use crate::device::flash::Flash;
use crate::device::mapping::Mapping;
use crate::device::wear::Wear;
use crate::engine::kernel::dies::Unit;
use crate::oracle::Oracle;
use crate::schemes::victim::VictimPolicy;
use crate::schemes::{AnyCollector, AnyPath};
use crate::stats::Stats;
use crate::units::{Nanos, PlaneId};

/// What preconditioning left of a device.
#[derive(Clone)]
pub struct Filled {
    key: String,
    seed: u64,
    flash: Flash,
    map: Mapping,
    wear: Wear,
    errors: Option<Box<ErrorModel>>,
    page_errors: PageErrors,
    oracle: Oracle,
    units: Vec<Unit>,
    planes: Vec<PlaneState>,
    victim: VictimPolicy,
    collector: AnyCollector,
    path: AnyPath,
    last_unit: u32,
    gc_target: PlaneId,
    noc: Option<Box<Noc>>,
    stats: Stats,
}

impl Filled {
    /// A configuration with every key at its default that filling never looks at: it takes no time and serves no host.
    /// All other keys, new ones among them, are taken to matter.
    pub fn relevant(config: &Config) -> Config {
        let defaults = Config::default();
        let mut relevant = config.clone();
        relevant.timing = defaults.timing;
        relevant.run = defaults.run;
        relevant.gc.time = defaults.gc.time;
        relevant.schemes.order = defaults.schemes.order;
        relevant.schemes.route = defaults.schemes.route;
        relevant.schemes.trigger = defaults.schemes.trigger;
        relevant.order = defaults.order;
        let (device, default) = (&mut relevant.device, defaults.device);
        device.queue_depth = default.queue_depth;
        device.write_ack = default.write_ack;
        device.power_loss_protection = default.power_loss_protection;
        device.keep_overwritten = default.keep_overwritten;
        device.unwritten_read = default.unwritten_read;
        device.multi_plane = default.multi_plane;
        device.partial_write = default.partial_write;
        device.memory = default.memory;
        relevant
    }

    /// Equal for configurations that the same seed fills alike.
    pub fn key(config: &Config) -> String {
        format!("{:?}", Self::relevant(config))
    }
}

impl Ssd {
    /// The state that filling has left, before the first request.
    ///
    /// # Panics
    /// If the device has been used.
    pub fn filled(&self) -> Filled {
        // Every field is named, so that a new one can't be forgotten: does filling change it? Then it belongs into
        // `Filled` and into `from_filled`.
        let Ssd {
            config,
            rules: _,
            seed,
            now,
            dev: Device { geometry: _, timing: _, flash, map, wear, errors, page_errors, staging: _ },
            schemes: Policies { order: _, trigger: _, victim, collector, path, route: _ },
            fast: _,
            kernel:
                Kernel {
                    timers: _,
                    ops,
                    dies,
                    buses: _,
                    batch: _,
                    next_age,
                    decided_at: _,
                    granted_at: _,
                    idle_rounds: _,
                    events_since_scan: _,
                },
            host,
            gc: Gc { jobs, ready: _, planes, target, moving: _ },
            features:
                Features {
                    conflict: _,
                    replicas: _,
                    idle: _,
                    noc,
                    // Found again in the map.
                    raid: _,
                    failures: _,
                    fault_at: _,
                    power_cuts: _,
                    partner_chips: _,
                },
            oracle,
            stats,
            observer: _,
        } = self;
        let idle = host.is_empty() && ops.in_use() == 0 && jobs.in_use() == 0;
        let unused = stats.completed == 0 && *now == Nanos::ZERO && *next_age == 0;
        law!(idle && unused, "a filling is kept before the first request");
        Filled {
            key: Filled::key(config),
            seed: *seed,
            flash: flash.clone(),
            map: map.clone(),
            wear: wear.clone(),
            errors: errors.clone(),
            page_errors: page_errors.clone(),
            oracle: oracle.clone(),
            units: dies.units.clone(),
            planes: planes.clone(),
            victim: victim.clone(),
            collector: collector.clone(),
            path: path.clone(),
            last_unit: host.last_unit,
            gc_target: *target,
            noc: noc.clone(),
            stats: stats.clone(),
        }
    }

    /// The device that [`Ssd::new`] builds for a configuration, its seed and its check level, without filling it again.
    ///
    /// # Errors
    /// If the configuration can't work: see [`Config::check`].
    ///
    /// # Panics
    /// If this configuration fills a device differently: see [`Filled::key`].
    pub fn from_filled(config: &Config, filled: &Filled) -> Result<Self, ConfigError> {
        law_eq!(filled.key, Filled::key(config), "configurations that fill alike");
        let mut ssd = Ssd::unfilled(config, filled.seed, filled.oracle.check())?;
        let Filled {
            key: _,
            seed: _,
            flash,
            map,
            wear,
            errors,
            page_errors,
            oracle,
            units,
            planes,
            victim,
            collector,
            path,
            last_unit,
            gc_target,
            noc,
            stats,
        } = filled.clone();
        (ssd.dev.flash, ssd.dev.map, ssd.oracle) = (flash, map, oracle);
        (ssd.dev.wear, ssd.dev.errors, ssd.dev.page_errors) = (wear, errors, page_errors);
        (ssd.kernel.dies.units, ssd.gc.planes) = (units, planes);
        (ssd.schemes.victim, ssd.schemes.collector, ssd.schemes.path) = (victim, collector, path);
        (ssd.host.last_unit, ssd.gc.target, ssd.features.noc, ssd.stats) = (last_unit, gc_target, noc, stats);
        ssd.watch_pages();
        ssd.settle_groups();
        ssd.restart_conflicts();
        Ok(ssd)
    }
}
