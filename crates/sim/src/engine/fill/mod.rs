//! A filled device, kept for other configurations with the same filling.
//!
//! Filling a large device often takes longer than a run on it. The result depends on some keys only, so devices that agree in
//! these may start from one filling. Results equal those of filling each device. A filling takes no time, nor does what is only
//! counted: `timeless`, `moving`, `aged`, `preload`.

pub(in crate::engine) mod aged;
mod kept;
pub(in crate::engine) mod moving;
mod parts;
mod preload;
pub(in crate::engine) mod timeless;

use crate::config::{Config, ConfigError, Remainder};
use crate::device::errors::{ErrorModel, PageErrors};
use crate::device::flash::Flash;
use crate::device::geometry::Geometry;
use crate::device::mapping::Mapping;
use crate::device::planes::PlaneSet;
use crate::device::wear::Wear;
use crate::engine::features::noc::Noc;
use crate::engine::features::streams;
use crate::engine::kernel::dies::Unit;
use crate::engine::rules::Rules;
use crate::engine::{Device, Features, Gc, Host, Kernel, PlaneState, Policies, Ssd};
use crate::oracle::Oracle;
use crate::schemes::{AnyCollector, AnyPath, AnyVictim};
use crate::stats::Stats;
use crate::units::{Nanos, PlaneId};

/// State of a device after preconditioning.
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
    claimed: PlaneSet,
    victim: AnyVictim,
    collector: AnyCollector,
    path: AnyPath,
    last_place: u32,
    gc_target: PlaneId,
    noc: Option<Box<Noc>>,
    stats: Stats,
}

impl Filled {
    /// A configuration with the default for every key that filling ignores, because filling takes no time and serves no host. All
    /// other keys, including new ones, count as relevant.
    pub fn relevant(config: &Config) -> Config {
        let defaults = Config::default();
        let mut relevant = config.clone();
        relevant.timing = defaults.timing;
        relevant.geometry.page_order = defaults.geometry.page_order;
        relevant.run = defaults.run;
        relevant.gc.time = defaults.gc.time;
        relevant.schemes.order = defaults.schemes.order;
        relevant.schemes.route = defaults.schemes.route;
        relevant.schemes.trigger = defaults.schemes.trigger;
        relevant.order = defaults.order;
        if config.units().exist() {
            // Its default depends on the capacitor.
            relevant.gc.remainder = Some(if config.pads_moves() { Remainder::Pad } else { Remainder::Keep });
        }
        relevant.cache = defaults.cache;
        relevant.nvme = defaults.nvme;
        let (device, default) = (&mut relevant.device, defaults.device);
        device.queue_depth = default.queue_depth;
        device.write_ack = default.write_ack;
        device.power_loss_protection = default.power_loss_protection;
        device.keep_overwritten = default.keep_overwritten;
        device.unwritten_read = default.unwritten_read;
        device.multi_plane = default.multi_plane;
        device.partial_write = default.partial_write;
        device.partial_read = default.partial_read;
        device.memory = default.memory;
        relevant
    }

    /// Equal for configurations that the same seed fills in the same way.
    pub fn key(config: &Config) -> String {
        format!("{:?}", Self::relevant(config))
    }
}

/// What filling changes of the features: every field is named, see [`Ssd::filled`].
fn noc_after_filling(features: &Features) -> &Option<Box<Noc>> {
    let Features {
        conflict: _,
        replicas: _,
        extras: _,
        cache: _,
        nvme: _,
        queues: _,
        idle: _,
        noc,
        units: _,
        handles: _,
        slc: _,
        // Nothing fails while a device is filled.
        life: _,
        retry: _,
        // Recovered from the map.
        raid: _,
        homes: _,
        failures: _,
        fault_at: _,
        power_cuts: _,
        partner_chips: _,
    } = features;
    noc
}

impl Features {
    /// Whether static places are independent while no plane is collected: no parity follows, and each page has its own program.
    pub(super) fn fills_apart(&self, rules: &Rules) -> bool {
        rules.plain_places && self.raid.is_none() && !rules.units
    }
}

impl Device {
    /// Whether a page that fills the device is nothing but that: neither errors nor metadata follow.
    pub(super) fn fills_plainly(&self, rules: &Rules) -> bool {
        self.errors.is_none() && !rules.metadata
    }
}

impl Kernel {
    /// Whether the device has served nothing.
    fn is_unused(&self, host: &Host, gc: &Gc, stats: &Stats, now: Nanos) -> bool {
        let idle = host.is_empty() && self.ops.in_use() == 0 && gc.jobs.in_use() == 0;
        idle && stats.completed == 0 && now == Nanos::ZERO && self.next_age == 0
    }
}

impl Device {
    /// What follows from the state of a filled device.
    fn starts_filled(
        &mut self,
        kernel: &Kernel,
        features: &mut Features,
        stats: &mut Stats,
        oracle: &mut Oracle,
        rules: &Rules,
        now: Nanos,
    ) {
        self.flash.take_programs(rules.units);
        streams::are_filled(features);
        self.flash.begin_life();
        oracle.restart_flushes(rules.caches);
        self.prepare_page_types(stats, rules);
        features.settle_groups(kernel, self, oracle);
        features.settle_homes(self);
        features.restart_conflicts(self, stats, now);
    }
}

impl Ssd {
    /// The state after filling, before the first request.
    ///
    /// # Panics
    /// If the device has been used.
    pub fn filled(&self) -> Filled {
        // Every field is named, so that a new one is a compile error here. If filling changes the field, add it to `Filled`,
        // `from_filled` and `carry_filling`.
        let Ssd {
            config,
            rules: _,
            seed,
            now: _,
            dev: Device { geometry: _, timing: _, flash, map, wear, errors, page_errors, staging: _ },
            schemes: Policies { order: _, trigger: _, victim, collector, path, route: _ },
            fast: _,
            shared: _,
            kernel:
                Kernel {
                    timers: _,
                    ops: _,
                    dies,
                    buses: _,
                    batch: _,
                    next_age: _,
                    ending_age: _,
                    decided_at: _,
                    granted_at: _,
                    idle_rounds: _,
                    fused: _,
                    events_since_scan: _,
                },
            host,
            gc: Gc { jobs: _, ready: _, planes, claimed, target, moving: _, postponed: _ },
            features,
            oracle,
            stats,
            observer: _,
        } = self;
        law!(
            self.kernel.is_unused(&self.host, &self.gc, &self.stats, self.now),
            "a filling is kept before the first request"
        );
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
            claimed: claimed.clone(),
            victim: victim.clone(),
            collector: collector.clone(),
            path: path.clone(),
            last_place: host.last_place,
            gc_target: *target,
            noc: noc_after_filling(features).clone(),
            stats: stats.clone(),
        }
    }

    /// The device that [`Ssd::new`] builds for a configuration with the same seed and check level, without filling it again.
    ///
    /// # Errors
    /// If the configuration cannot work: see [`Config::check`].
    ///
    /// # Panics
    /// If this configuration fills a device differently: see [`Filled::key`].
    pub fn from_filled(config: &Config, filled: &Filled) -> Result<Self, ConfigError> {
        law_eq!(&filled.key, &Filled::key(config), "configurations that fill alike");
        let mut ssd = Ssd::assembled(config, filled.seed, filled.oracle.check(), Geometry::clone)?;
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
            claimed,
            victim,
            collector,
            path,
            last_place,
            gc_target,
            noc,
            stats,
        } = filled.clone();
        ssd.dev.flash = flash;
        ssd.dev.await_copies(&ssd.features);
        ssd.dev.map = map;
        ssd.oracle = oracle;
        ssd.dev.wear = wear;
        ssd.dev.errors = errors;
        ssd.dev.page_errors = page_errors;
        ssd.kernel.dies.units = units;
        ssd.gc.planes = planes;
        ssd.gc.claimed = claimed;
        ssd.schemes.victim = victim;
        ssd.schemes.collector = collector;
        ssd.schemes.path = path;
        ssd.host.last_place = last_place;
        ssd.gc.target = gc_target;
        ssd.features.noc = noc;
        ssd.stats = stats;
        if ssd.dev.watch_pages(&mut ssd.schemes, &mut ssd.rules) {
            ssd.set_fusing(false);
        }
        let (features, stats, oracle) = (&mut ssd.features, &mut ssd.stats, &mut ssd.oracle);
        ssd.dev.starts_filled(&ssd.kernel, features, stats, oracle, &ssd.rules, ssd.now);
        Ok(ssd)
    }
}
