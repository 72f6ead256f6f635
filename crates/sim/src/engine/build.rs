//! Builds a device from its configuration.

use std::ops::ControlFlow;

use crate::config::{Config, ConfigError, FreeBlock, RaidLayout, WritePoints};
use crate::device::errors::{ErrorModel, PageErrors};
use crate::device::flash::Flash;
use crate::device::geometry::Geometry;
use crate::device::mapping::Mapping;
use crate::device::planes::PlaneSet;
use crate::device::spec::ArraySpec;
use crate::device::staging::Staging;
use crate::device::timing::Timing;
use crate::device::transaction::{Fifo, Slab};
use crate::device::wear::Wear;
use crate::engine::fast::{FastPaths, Shared};
use crate::engine::features::homes::Homes;
use crate::engine::features::raid::failure::Failures;
use crate::engine::features::raid::stripe::Raid;
use crate::engine::features::{cache, noc, nvme, queues, replica};
use crate::engine::fill::moving::Moving;
use crate::engine::gc::idle;
use crate::engine::kernel::Kernel;
use crate::engine::kernel::ops::Parts;
use crate::engine::reports::conflicts;
use crate::engine::rules::Rules;
use crate::engine::spine::host::Host;
use crate::engine::{Device, Features, Gc, PlaneState, Policies, Ssd, sizes};
use crate::oracle::{Check, Oracle};
use crate::policy::WriteBack;
use crate::schemes::AnyVictim;
use crate::schemes::outside::CustomVictim;
use crate::stats::Stats;
use crate::units::{Nanos, PlaneId};

/// Pages from which on several threads fill a device.
const LARGE: u64 = 1 << 20;

/// The most of them. Each draws all random pages, so more would gain little.
const THREADS: usize = 4;

impl Device {
    /// What a victim policy from outside reads beside the usual state: when blocks were closed, and every change of a page. For
    /// the latter pages move one by one, without shortcuts: returns whether.
    pub(super) fn watch_pages(&mut self, schemes: &mut Policies, rules: &mut Rules) -> bool {
        if schemes.victim.policy().reads_closings() {
            self.flash.record_closings();
        }
        let watches = schemes.victim.policy().watches();
        if watches {
            rules.watches = true;
            rules.plain_moves = None;
            self.flash.record_changes();
        }
        watches
    }
}

/// Numbers of buses: channels with the sides of the host link, and ports of the interconnect.
fn buses(config: &Config, geometry: &Geometry, noc: bool) -> (usize, usize) {
    let channels = geometry.channels as usize;
    (channels + 2 * usize::from(config.timing.host_link.is_some()), if noc { channels } else { 0 })
}

impl Ssd {
    /// Builds the device of a configuration and preconditions it.
    ///
    /// # Errors
    /// If the configuration cannot work: see [`Config::check`].
    pub fn new(config: &Config, seed: u64, check: Check) -> Result<Self, ConfigError> {
        Ok(Self::new_while(config, seed, check, &mut || ControlFlow::Continue(()))?.expect("nothing stops it"))
    }

    /// Like [`Ssd::new`]. `go_on` is asked every few thousand pages of preconditioning; once it breaks, there is no device.
    ///
    /// # Errors
    /// If the configuration cannot work: see [`Config::check`].
    pub fn new_while(
        config: &Config,
        seed: u64,
        check: Check,
        go_on: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<Option<Self>, ConfigError> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self::new_by(cores.clamp(2, THREADS) as u32, LARGE, config, seed, check, go_on)
    }

    /// Like [`Ssd::new_while`], where at most so many threads fill a device of so many pages or more, if [`Ssd::fills_in_parts`]. The
    /// device is the same.
    ///
    /// # Errors
    /// If the configuration cannot work: see [`Config::check`].
    pub fn new_by(
        threads: u32,
        large: u64,
        config: &Config,
        seed: u64,
        check: Check,
        go_on: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<Option<Self>, ConfigError> {
        let mut ssd = Self::assembled(config, seed, check, Geometry::clone)?;
        let threads = if ssd.dev.flash.free_total() < large { 1 } else { threads };
        Ok(ssd.precondition(threads, go_on).is_continue().then_some(ssd))
    }

    /// Like [`Ssd::new`], with a victim policy from outside instead of the configured one. Results name its type.
    ///
    /// # Errors
    /// If the configuration cannot work: see [`Config::check`].
    pub fn with_victim(
        config: &Config,
        victim: impl CustomVictim + 'static,
        seed: u64,
        check: Check,
    ) -> Result<Self, ConfigError> {
        let record = vec![("rust".to_string(), Some(std::any::type_name_of_val(&victim).to_string()))];
        let mut config = config.clone();
        config.schemes.victim = AnyVictim::outside(record, move || victim.boxed());
        Self::new(&config, seed, check)
    }

    /// Builds the device with tables of pages for the geometry that `stored` makes of its own. With others than its own it serves no
    /// request.
    pub(super) fn assembled(
        config: &Config,
        seed: u64,
        check: Check,
        stored: impl Fn(&Geometry) -> Geometry,
    ) -> Result<Self, ConfigError> {
        config.check()?;
        config.check_no_io_errors()?;
        // Recovery needs the content of every page.
        let check = if config.faults.power_cut.is_empty() { check } else { Check::Full };
        let array = config.array_spec();
        let geometry = Geometry::new(&array);
        let stored = stored(&geometry);
        let rules = Rules::of(config, &geometry);
        let noc = noc::Noc::new(config, &geometry);
        let buses = buses(config, &geometry, noc.is_some());
        let crossing = noc.as_ref().map_or(Nanos::ZERO, |noc| noc.traversal(geometry.unit_bytes));
        let delays = if noc.is_some() { 2 * geometry.units as usize } else { 0 };
        let ops = 256 + sizes::OPS_OF_REQUEST as usize * config.device.queue_depth as usize + geometry.planes as usize;
        let parts = parts(config, &rules, noc.is_some());
        let schemes = policies(config, &geometry, seed);
        let patience = schemes.trigger.policy_ref().patience();
        let physical = stored.planes * stored.pages_per_plane;
        let dev = device(config, &array, geometry, &stored, seed);
        let geometry = &dev.geometry;
        let journey = config.schemes.path.policy_ref().always();
        let mut ssd = Ssd {
            seed,
            fast: FastPaths::NONE,
            shared: Shared::new(geometry, &dev.timing, journey, rules.collector_holds),
            now: Nanos::ZERO,
            kernel: Kernel::new(geometry, ops, parts, buses, delays, config.timing.longest().max(crossing)),
            host: Host::new(config, geometry),
            gc: no_collections(geometry),
            features: Features {
                conflict: config.schemes.reports_conflicts().then(conflicts::Conflict::new).map(Box::new),
                replicas: (config.schemes.route.replicate())
                    .map(|route| Box::new(replica::Replicas::new(route.share(), geometry))),
                extras: rules.extras.then(Default::default),
                cache: cache::Cache::new(config, geometry),
                nvme: nvme::Nvme::new(config, geometry, buses.0 + buses.1),
                queues: queues::DieQueues::new(&rules, &config.order, geometry.units),
                idle: patience.map(|after| Box::new(idle::Idle::new(after, geometry.units))),
                noc,
                handles: rules
                    .handles
                    .then(|| Box::new(crate::engine::features::handles::Handles::new(config, geometry))),
                slc: crate::engine::features::slc::Slc::new(config, geometry),
                life: crate::engine::features::life::Life::new(config, geometry),
                retry: crate::engine::features::retry::Retry::new(config, geometry.units),
                units: rules.units.then(|| Box::new(crate::engine::features::units::Units::new(geometry))),
                raid: Raid::new(config, &array),
                homes: rules.binds.then(|| Box::new(Homes::new(config, geometry))),
                failures: Failures::new(config, geometry.mapped, seed),
                fault_at: Nanos::NEVER,
                power_cuts: Vec::new(),
                partner_chips: Vec::new(),
            },
            oracle: Oracle::new(check, stored.mapped, physical + stored.slots_in_hand(), config.cache.exists()),
            stats: Stats::new(geometry.pages_per_entry, config.planes_of_block()),
            observer: crate::observe::Slot::default(),
            rules,
            dev,
            schemes,
            config: config.clone(),
        };
        ssd.prepare();
        Ok(ssd)
    }

    /// What follows from its rules, features and policies, before it is filled.
    fn prepare(&mut self) {
        self.kernel.dies.list_free(self.rules.dynamic);
        if self.rules.caches {
            self.kernel.keep_spans();
        }
        self.dev.await_copies(&self.features);
        self.dev.prepare_page_types(&mut self.stats, &self.rules);
        self.set_fusing(true);
        if self.dev.watch_pages(&mut self.schemes, &mut self.rules) {
            self.set_fusing(false);
        }
        self.features.schedule_fault(&self.config);
        if self.rules.handles {
            self.dev.flash.start_handles(self.config.fdp.persistent());
        }
        if let Some(spec) = self.config.slc_spec() {
            self.dev.flash.start_slc(spec);
        }
        if let Some(spec) = self.config.life_spec() {
            self.dev.flash.start_life(spec, self.seed);
        }
        idle::await_idle_dies(&mut self.features, &mut self.kernel.timers);
    }
}

/// The policies of a configuration, ready for a device.
fn policies(config: &Config, geometry: &Geometry, seed: u64) -> Policies {
    let mut schemes = Policies {
        order: config.schemes.order.clone(),
        trigger: config.schemes.trigger.clone(),
        victim: config.schemes.victim.clone(),
        collector: config.schemes.collector.clone(),
        path: config.schemes.path.clone(),
        route: config.schemes.route.clone(),
    };
    schemes.victim.policy().seed(seed);
    schemes.collector.policy().prepare(geometry, config.gc.threshold);
    schemes.trigger.policy().prepare(geometry);
    schemes
}

/// The flash of a configuration, with tables of pages for the geometry `stored`, and the controller's buffer.
fn device(config: &Config, array: &ArraySpec, geometry: Geometry, stored: &Geometry, seed: u64) -> Device {
    let shared = config.ftl.write_points == WritePoints::Shared;
    let least_erased = config.ftl.free_block == FreeBlock::LeastErased;
    // Parity covers a page until its group is updated, so a write of it goes to its group.
    let absorbs = |plan: WriteBack| WriteBack { absorb: plan.absorb && config.raid.layout == RaidLayout::None, ..plan };
    let plan = config.schemes.collector.policy_ref().writes_back().map(absorbs);
    Device {
        timing: Timing::new(&config.timing_spec(), array, seed),
        map: Mapping::new(stored),
        wear: Wear::new(config.wear_spec(), stored),
        errors: config.error_spec().map(|spec| Box::new(ErrorModel::new(spec, stored, seed))),
        page_errors: PageErrors::new(config.page_error_spec(), array.flash_page, seed),
        flash: Flash::new(
            stored,
            least_erased,
            shared,
            config.reserve(),
            config.units().exist() && config.pads_moves(),
        ),
        staging: Staging::new(config.staging.slots, plan, geometry.units),
        geometry,
    }
}

/// Tables by operation that a device needs.
fn parts(config: &Config, rules: &Rules, crosses: bool) -> Parts {
    Parts {
        parity: config.raid.layout != RaidLayout::None,
        buffer: rules.stages,
        crossing: crosses,
        copy: config.schemes.route.replicate().is_some(),
        anywhere: rules.dynamic,
        bound: rules.binds,
        cached: rules.caches,
        extras: rules.extras,
        tenant: rules.tenants,
        handle: rules.streams,
        retry: rules.retries,
    }
}

fn no_collections(geometry: &Geometry) -> Gc {
    let plane = PlaneState { levelled: false, stalled: Fifo::EMPTY };
    Gc {
        jobs: Slab::with_capacity(geometry.planes as usize),
        ready: Vec::with_capacity(geometry.planes as usize),
        planes: vec![plane; geometry.planes as usize],
        claimed: PlaneSet::empty(geometry.planes),
        target: PlaneId::NONE,
        moving: Moving::new(geometry.pages_per_block),
        postponed: None,
    }
}
