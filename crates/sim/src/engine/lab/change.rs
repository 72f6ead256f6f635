//! A running device under another configuration.
//!
//! What has begun ends as it began: a collection keeps its collector and its path ([`Former`]), and operations keep the legs that
//! were set up for them. Whatever begins later, or is decided later, follows the new configuration.

use crate::config::{Config, ConfigError, GcTime};
use crate::device::geometry::Geometry;
use crate::device::staging::Staging;
use crate::engine::features::replica::Replicas;
use crate::engine::features::slc::change::follow;
use crate::engine::kernel::Kernel;
use crate::engine::kernel::ops::{NO_CHIP, Page};
use crate::engine::lab::former::Former;
use crate::engine::rules::Rules;
use crate::engine::{Device, Features, Gc, Host, Policies, Ssd};
use crate::oracle::Check;
use crate::policy::Collector;
use crate::units::{JobId, OpId, UnitId};

/// Whether two parts of configurations are the same.
fn same(one: &dyn std::fmt::Debug, other: &dyn std::fmt::Debug) -> bool {
    format!("{one:?}") == format!("{other:?}")
}

fn refuse(key: &str, message: &str, help: &str) -> Result<(), ConfigError> {
    Err(ConfigError { key: key.into(), message: message.into(), help: help.into() })
}

/// Whether requests are dispatched by other rules.
fn dispatches_otherwise(old: &Config, config: &Config) -> bool {
    !same(&old.schemes.order, &config.schemes.order)
        || old.chip_queue() != config.chip_queue()
        || old.delays_writes() != config.delays_writes()
}

/// Queues of the host.
fn allows_queues(old: &Config, config: &Config) -> Result<(), ConfigError> {
    let (old, new) = (&old.nvme, &config.nvme);
    if old.arbitrates() != new.arbitrates() {
        let message = "requests wait in the queues of the device, or in none";
        return refuse(
            "nvme.arbitration",
            message,
            "set it when the device is built, or change from one kind to another",
        );
    }
    let takes = |queue: &crate::config::NvmeQueue| (queue.name.clone(), queue.takes.clone());
    if !old.queues.iter().map(takes).eq(new.queues.iter().map(takes)) {
        let message = "requests wait in these queues, by their names and what they take";
        return refuse("nvme.queues", message, "change only class, weight and depth of queues");
    }
    Ok(())
}

impl Gc {
    /// Whether a collection of this plane of a unit runs beside another one, after the rules changed while operations were in flight.
    /// Otherwise one that held its die would not let another one begin there.
    #[inline(always)]
    pub(in crate::engine) fn is_collected_beside(&self, rules: &Rules, unit: UnitId, plane: u32) -> bool {
        rules.mixed && self.is_collected(unit, plane)
    }

    /// Whether a collection of this plane of a unit runs.
    fn is_collected(&self, unit: UnitId, plane: u32) -> bool {
        let running = |id: u32| &self.jobs[id];
        self.jobs.live().map(running).any(|job| job.unit == unit && job.planes >> plane & 1 == 1)
    }

    /// Whether pages are in the controller's buffer, or collections run that may leave some there.
    fn buffer_is_in_use(&self, dev: &Device) -> bool {
        let staging = &dev.staging;
        // A page that was discarded waits in its queue all the same.
        staging.slots() > 0 && (self.jobs.in_use() > 0 || staging.segments.in_use() > 0 || staging.waiting > 0)
    }

    /// The collector of a collection, read-only.
    pub(in crate::engine) fn collector_of<'a>(&'a self, schemes: &'a Policies, id: JobId) -> &'a dyn Collector {
        match &self.jobs[id.0].former {
            Some(former) => former.collector.policy_ref(),
            None => schemes.collector.policy_ref(),
        }
    }
}

impl Features {
    /// Interconnect, queues of the host and repeated reads follow another configuration, with these new features.
    fn follow(&mut self, new: &Features, old: &Config, config: &Config) {
        if let (Some(noc), Some(other)) = (&mut self.noc, &new.noc) {
            noc.follow(other);
        }
        if let Some(nvme) = &mut self.nvme
            && (!same(&old.nvme, &config.nvme) || old.device.queue_depth != config.device.queue_depth)
        {
            nvme.follow(config);
        }
        self.retry.iter_mut().for_each(|retry| retry.follow(config));
    }
}

impl Host {
    /// What waits is considered again at the current time, by the new rules and after the arrivals of this time.
    fn stir(&mut self, kernel: &mut Kernel, dev: &Device) {
        (0..dev.geometry.units).map(UnitId).for_each(|unit| kernel.dies.mark(unit));
        self.stirred = true;
    }
}

impl Rules {
    /// Whether what is in service may meet rules that shortcuts do not expect.
    fn mixes(&self, new: &Rules, old: &Config, config: &Config) -> bool {
        !same(&old.schemes.collector, &config.schemes.collector)
            || !same(&old.schemes.path, &config.schemes.path)
            || !same(&old.schemes.route, &config.schemes.route)
            || dispatches_otherwise(old, config)
            || old.gc.time != config.gc.time
            || self.suspends != new.suspends
            || self.pairs != new.pairs
    }

    /// Whether the state of a device under these rules fits others.
    fn allows(&self, old: &Config, config: &Config) -> Result<(), ConfigError> {
        if self.page_types && old.page_type_names() != config.page_type_names() {
            let message = "results are given by page type, and there would be other types";
            return refuse("timing.read", message, "keep the number of times of timing.read and timing.program");
        }
        if old.timing.host_link.is_some() != config.timing.host_link.is_some() {
            return refuse("timing.host_link", "a link comes or goes", "change its rate instead");
        }
        let (old, cache) = (&old.cache, &config.cache);
        if old.size != cache.size {
            let message = "the lines of the write cache are part of the device's state";
            return refuse("cache.size", message, "set it when the device is built");
        }
        if old.buffers() != cache.buffers() {
            let message = "writes are acknowledged by the cache or by flash, and lines hold those that the cache has acknowledged";
            return refuse("cache.write", message, "set it when the device is built");
        }
        Ok(())
    }
}

impl Device {
    /// Another collector may use the controller's buffer otherwise. Pages of collections that have begun still pass through it as
    /// their collector planned.
    fn take_buffer(&mut self, kernel: &mut Kernel, gc: &Gc, new: &Staging, rules: &mut Rules) {
        if same(&self.staging.plan, &new.plan) {
            return;
        }
        if gc.buffer_is_in_use(self) {
            rules.stages = true;
            return;
        }
        self.staging.follow(new.clone());
        kernel.ops.widen(new.slots() > 0, false);
    }

    /// Whether the state of this device fits the features of another one: blocks, write points and the controller's buffer. Rules and
    /// configurations are those of this one and of the other.
    fn allows_layout(
        &self,
        gc: &Gc,
        new: &Device,
        rules: [&Rules; 2],
        configs: [&Config; 2],
    ) -> Result<(), ConfigError> {
        let ([rules, new_rules], [old, config]) = (rules, configs);
        if self.geometry.slots != new.geometry.slots {
            let message = "what a map entry points to, and what a program holds, are part of the device's state";
            return refuse("device.mapping_unit", message, "set it when the device is built");
        }
        if old.fdp != config.fdp {
            let message = "blocks belong to the handles of the device, and pages have theirs";
            return refuse("fdp.handles", message, "set fdp when the device is built");
        }
        if (rules.retries || new_rules.retries) && !same(&old.ecc, &config.ecc) {
            let message = "reads that have begun are repeated by the levels that they began with";
            return refuse("ecc.levels", message, "set ecc when the device is built");
        }
        if old.life != config.life || old.faults.blocks != config.faults.blocks {
            let message = "blocks have worn, and failed, by the limits that they began with";
            return refuse("life.mode", message, "set life when the device is built");
        }
        let blocks = |config: &Config| (config.slc.mode, config.slc.blocks, config.slc.share, config.slc.bits);
        if blocks(old) != blocks(config) {
            let message = "blocks belong to the cache of SLC, and pages are in them";
            return refuse("slc.mode", message, "set mode, blocks, share and bits of slc when the device is built");
        }
        if rules.pads != new_rules.pads {
            let message = "moved units may wait in the controller, or none may";
            return refuse("gc.remainder", message, "set it when the device is built");
        }
        if self.geometry.data_pages != new.geometry.data_pages || self.wear.counts() != new.wear.counts() {
            let message = "the path keeps copyback counts, for which blocks have metadata pages, or it keeps none";
            return refuse("schemes.path", message, "set it when the device is built");
        }
        if rules.separates != new_rules.separates {
            let message =
                "the path has a write point of its own, or it has none: its open block would be left without pages";
            return refuse("schemes.path", message, "set it when the device is built");
        }
        let streams = |config: &Config| config.schemes.collector.policy_ref().streams();
        if streams(config) < streams(old) {
            let message = "the collector has fewer GC write points: an open block would be left without pages";
            return refuse("schemes.collector", message, "set it when the device is built");
        }
        if old.reserve() != config.reserve() {
            let message = format!(
                "the number of GC write points changes, and with it the blocks per plane that are kept for them ({} now, {} then)",
                old.reserve(),
                config.reserve()
            );
            let help = format!("keep {} from the start, with gc.reserve", config.reserve().max(old.reserve()));
            return refuse("schemes.collector", &message, &help);
        }
        let plan = &new.staging.plan;
        if plan.is_some() && !same(&self.staging.plan, plan) && gc.buffer_is_in_use(self) {
            let message =
                "pages in the controller's buffer return to flash as the collector planned that left them there";
            return refuse("schemes.collector", message, "change it while no collection runs and the buffer is empty");
        }
        Ok(())
    }
}

impl Features {
    /// Another route: second copies are made from now on, or forgotten.
    fn take_copies(&mut self, kernel: &mut Kernel, dev: &mut Device, new: Option<Box<Replicas>>) {
        match (&mut self.replicas, new) {
            (Some(replicas), Some(other)) => {
                return replicas.limit(&other, &dev.geometry, &mut dev.flash);
            }
            (none @ None, Some(other)) => {
                *none = Some(other);
                kernel.ops.widen(false, true);
            }
            (_, None) => self.replicas = None,
        }
        dev.await_copies(self);
    }
}

impl Policies {
    /// Takes over the policies that differ. Collections that run keep theirs.
    fn follow(&mut self, dev: &mut Device, gc: &mut Gc, new: &Policies, old: &Config, config: &Config) {
        let threshold = old.gc.threshold != config.gc.threshold;
        let (old, config) = (&old.schemes, &config.schemes);
        let (other_collector, other_path) = (!same(&old.collector, &config.collector), !same(&old.path, &config.path));
        if other_collector || other_path {
            let running: Vec<u32> = gc.jobs.live().collect();
            for id in running {
                let (collector, path) = (self.collector.clone(), self.path.clone());
                gc.jobs[id].former.get_or_insert_with(|| Box::new(Former { collector, path }));
            }
        }
        // A collector is prepared with the threshold.
        if other_collector || threshold {
            self.collector = new.collector.clone();
        }
        if other_path {
            self.path = new.path.clone();
        }
        if !same(&old.victim, &config.victim) {
            self.victim = new.victim.clone();
            dev.flash.record_nothing();
        }
        if !same(&old.order, &config.order) {
            self.order = new.order.clone();
        }
        if !same(&old.route, &config.route) {
            self.route = new.route.clone();
        }
    }
}

impl Ssd {
    /// A copy of this device whose further life follows another configuration: one that differs in values that are no part of
    /// the device's state, such as times, limits and schemes.
    ///
    /// Operations and collections that have begun end as they began. Policies whose name and settings stay the same keep their
    /// state; others begin without any. The caller sees to it that the geometry, the filling and the features with state are the
    /// same.
    ///
    /// # Errors
    /// The configuration cannot work ([`Config::check`]), or the state of the device rules the change out: the message says why.
    pub fn changed(&self, config: &Config) -> Result<Ssd, ConfigError> {
        // What the configuration decides beside the state of pages, whose tables have one block per plane: building those of a large
        // device takes longer than all else. It serves no request.
        let mut new = Ssd::assembled(config, self.seed, Check::Off, Geometry::of_one_block)?;
        self.dev.allows_layout(&self.gc, &new.dev, [&self.rules, &new.rules], [&self.config, config])?;
        allows_queues(&self.config, config)?;
        self.rules.allows(&self.config, config)?;
        let (busy, redispatches) = (!self.rests(), dispatches_otherwise(&self.config, config));
        let mut ssd = self.clone();
        ssd.bring_to_now();
        ssd.kernel.show_all_transfers(&ssd.dev, &ssd.fast, ssd.now);
        new.rules.tenants |= self.rules.tenants;
        // Results by page type belong to a device from its start.
        new.rules.page_types = self.rules.page_types;
        if busy && (self.rules.mixed || self.rules.mixes(&new.rules, &self.config, config)) {
            new.rules.mix(&self.rules);
        }
        ssd.schemes.follow(&mut ssd.dev, &mut ssd.gc, &new.schemes, &self.config, config);
        if !same(&self.config.schemes.route, &config.schemes.route) {
            ssd.features.take_copies(&mut ssd.kernel, &mut ssd.dev, new.features.replicas.take());
        }
        let reports = config.schemes.reports_conflicts();
        ssd.features.count_conflicts_from_now(&ssd.kernel, &ssd.dev, &ssd.stats, ssd.now, reports);
        ssd.dev.take_buffer(&mut ssd.kernel, &ssd.gc, &new.dev.staging, &mut new.rules);
        ssd.rules = new.rules;
        ssd.kernel.dies.list_free(ssd.rules.dynamic);
        ssd.dev.timing = new.dev.timing;
        ssd.shared = new.shared;
        ssd.features.queues = new.features.queues.take();
        ssd.features.recount_queues(&ssd.kernel, &ssd.dev);
        ssd.features.follow(&new.features, &self.config, config);
        if self.config.slc != config.slc || self.config.gc.threshold != config.gc.threshold {
            follow(&mut ssd, config);
        }
        ssd.host.govern(&new.host);
        ssd.config = new.config;
        if ssd.dev.watch_pages(&mut ssd.schemes, &mut ssd.rules) {
            ssd.set_fusing(false);
        }
        ssd.set_fusing(true);
        if let Some(cache) = new.features.cache.filter(|_| self.config.cache != config.cache) {
            ssd.features.follow_cache(&mut ssd.kernel, &ssd.dev, &ssd.rules, ssd.now, &cache);
            if ssd.rules.buffers {
                ssd.serve_waiting();
            }
        }
        if redispatches {
            if ssd.host.windowed {
                ssd.host.reorder(&ssd.kernel, &ssd.features);
            } else {
                ssd.dispatch_window();
                law!(ssd.host.window.is_empty(), "law: without a window, no request waits for its dispatch");
            }
        }
        if config.gc.time == GcTime::None {
            // Collections that are due and have not begun take no time from now on.
            for unit in (0..ssd.dev.geometry.units).map(UnitId) {
                for plane in ssd.kernel.dies.take_dues(unit) {
                    ssd.gc.claimed.remove(plane);
                    ssd.claim(plane);
                }
            }
        }
        if busy {
            ssd.host.stir(&mut ssd.kernel, &ssd.dev);
        }
        Ok(ssd)
    }
}

impl Host {
    /// Requests follow another order from now on: those that wait are dispatched by it, and those on their way count for it.
    pub(in crate::engine) fn reorder(&mut self, kernel: &Kernel, features: &Features) {
        let mut waiting = std::mem::take(&mut self.window);
        waiting.make_contiguous().sort_by_key(|id| self.requests[*id].index);
        waiting.iter().for_each(|id| self.joins_window(&kernel.ops, *id));
        self.chip_outstanding.fill(0);
        let count = |chips: &mut [u32], op: OpId, by: u32| {
            let chip = kernel.ops[Page(op)].chip;
            if chip != NO_CHIP {
                chips[chip as usize] = chips[chip as usize].wrapping_add(by);
            }
        };
        for op in kernel.ops.live() {
            // Reads of other pages for a redirected read are not the request's own.
            let own = features.is_own_page(kernel, op);
            let request = kernel.ops[op].request;
            if own && request.is_some() && self.requests.end(request).kept != op {
                count(&mut self.chip_outstanding, op, 1);
            }
        }
        for id in &self.window {
            let mut op = self.requests[*id].first;
            while op.is_some() {
                count(&mut self.chip_outstanding, op, 1u32.wrapping_neg());
                op = kernel.ops[Page(op)].link;
            }
        }
    }
}
