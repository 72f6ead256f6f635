//! A running device under another configuration.
//!
//! What has begun ends as it began: a collection keeps its collector and its path ([`Former`]), and operations keep the legs that
//! were set up for them. Whatever begins later, or is decided later, follows the new configuration.

use super::former::Former;
use super::slc::change::follow;
use super::{Device, Gc, Host, Ssd};
use crate::config::{Config, ConfigError, GcTime};
use crate::engine::kernel::Kernel;
use crate::policy::Collector;
use crate::units::{JobId, UnitId};

/// Whether two parts of configurations are the same.
fn same(one: &dyn std::fmt::Debug, other: &dyn std::fmt::Debug) -> bool {
    format!("{one:?}") == format!("{other:?}")
}

fn refuse(key: &str, message: &str, help: &str) -> Result<(), ConfigError> {
    Err(ConfigError { key: key.into(), message: message.into(), help: help.into() })
}

impl Gc {
    /// Whether a collection of this plane of a unit runs. One that held its die would not let another one begin there.
    pub(super) fn is_collected(&self, unit: UnitId, plane: u32) -> bool {
        let running = |id: u32| &self.jobs[id];
        self.jobs.live().map(running).any(|job| job.unit == unit && job.planes >> plane & 1 == 1)
    }

    /// Whether pages are in the controller's buffer, or collections run that may leave some there.
    fn buffer_is_in_use(&self, dev: &Device) -> bool {
        let staging = &dev.staging;
        // A page that was discarded waits in its queue all the same.
        staging.slots() > 0 && (self.jobs.in_use() > 0 || staging.segments.in_use() > 0 || staging.waiting > 0)
    }
}

impl Host {
    /// What waits is considered again at the current time, by the new rules and after the arrivals of this time.
    fn stir(&mut self, kernel: &mut Kernel, dev: &Device) {
        (0..dev.geometry.units).map(UnitId).for_each(|unit| kernel.dies.mark(unit));
        self.stirred = true;
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
        let mut new = Ssd::outline(config, self.seed)?;
        self.allows(&new)?;
        let (busy, redispatches) = (!self.rests(), self.dispatches_otherwise(&new));
        let mut ssd = self.clone();
        ssd.bring_to_other_rules();
        new.rules.tenants |= self.rules.tenants;
        // Results by page type belong to a device from its start.
        new.rules.page_types = self.rules.page_types;
        if busy && (self.rules.mixed || self.mixes(&new)) {
            new.rules.mix(&self.rules);
        }
        ssd.take_policies(&mut new);
        ssd.take_buffer(&mut new);
        ssd.rules = new.rules;
        ssd.kernel.dies.list_free(ssd.rules.dynamic);
        ssd.dev.timing = new.dev.timing;
        ssd.shared = new.shared;
        ssd.features.queues = new.features.queues;
        ssd.features.recount_queues(&ssd.kernel, &ssd.dev);
        if let (Some(noc), Some(other)) = (&mut ssd.features.noc, &new.features.noc) {
            noc.follow(other);
        }
        if let Some(nvme) = &mut ssd.features.nvme
            && (!same(&self.config.nvme, &config.nvme) || self.config.device.queue_depth != config.device.queue_depth)
        {
            nvme.follow(config);
        }
        ssd.features.retry.iter_mut().for_each(|retry| retry.follow(config));
        if self.config.slc != config.slc || self.config.gc.threshold != config.gc.threshold {
            follow(&mut ssd, config);
        }
        ssd.host.govern(&new.host);
        ssd.config = new.config;
        ssd.watch_pages();
        ssd.set_fusing(true);
        if let Some(cache) = new.features.cache.filter(|_| self.config.cache != config.cache) {
            ssd.follow_cache(&cache);
        }
        if redispatches {
            ssd.reorder();
        }
        if config.gc.time == GcTime::None {
            ssd.collect_due_now();
        }
        if busy {
            ssd.host.stir(&mut ssd.kernel, &ssd.dev);
        }
        Ok(ssd)
    }

    /// Whether what is in service may meet rules that shortcuts do not expect.
    fn mixes(&self, new: &Ssd) -> bool {
        let (old, config) = (&self.config, &new.config);
        !same(&old.schemes.collector, &config.schemes.collector)
            || !same(&old.schemes.path, &config.schemes.path)
            || !same(&old.schemes.route, &config.schemes.route)
            || self.dispatches_otherwise(new)
            || old.gc.time != config.gc.time
            || self.rules.suspends != new.rules.suspends
            || self.rules.pairs != new.rules.pairs
    }

    /// Whether requests are dispatched by other rules.
    fn dispatches_otherwise(&self, new: &Ssd) -> bool {
        let (old, config) = (&self.config, &new.config);
        !same(&old.schemes.order, &config.schemes.order)
            || old.chip_queue() != config.chip_queue()
            || old.delays_writes() != config.delays_writes()
    }

    /// Takes over the policies that differ. Collections that run keep theirs.
    fn take_policies(&mut self, new: &mut Ssd) {
        let (old, config) = (self.config.schemes.clone(), new.config.schemes.clone());
        let (other_collector, other_path) = (!same(&old.collector, &config.collector), !same(&old.path, &config.path));
        if other_collector || other_path {
            let running: Vec<u32> = self.gc.jobs.live().collect();
            for id in running {
                let (collector, path) = (self.schemes.collector.clone(), self.schemes.path.clone());
                self.gc.jobs[id].former.get_or_insert_with(|| Box::new(Former { collector, path }));
            }
        }
        // A collector is prepared with the threshold.
        if other_collector || self.config.gc.threshold != new.config.gc.threshold {
            self.schemes.collector = new.schemes.collector.clone();
        }
        if other_path {
            self.schemes.path = new.schemes.path.clone();
        }
        if !same(&old.victim, &config.victim) {
            self.schemes.victim = new.schemes.victim.clone();
            self.dev.flash.record_nothing();
        }
        if !same(&old.order, &config.order) {
            self.schemes.order = new.schemes.order.clone();
        }
        if !same(&old.route, &config.route) {
            self.schemes.route = new.schemes.route.clone();
            self.take_copies(new);
        }
        self.count_conflicts_from_now(config.reports_conflicts());
    }

    /// Another route: second copies are made from now on, or forgotten.
    fn take_copies(&mut self, new: &mut Ssd) {
        match (&mut self.features.replicas, new.features.replicas.take()) {
            (Some(replicas), Some(other)) => {
                return replicas.limit(&other, &self.dev.geometry, &mut self.dev.flash);
            }
            (none @ None, Some(other)) => {
                *none = Some(other);
                self.kernel.ops.widen(false, true);
            }
            (_, None) => self.features.replicas = None,
        }
        self.dev.await_copies(&self.features);
    }

    /// Another collector may use the controller's buffer otherwise. Pages of collections that have begun still pass through it as
    /// their collector planned.
    fn take_buffer(&mut self, new: &mut Ssd) {
        if same(&self.dev.staging.plan, &new.dev.staging.plan) {
            return;
        }
        if self.gc.buffer_is_in_use(&self.dev) {
            new.rules.stages = true;
            return;
        }
        self.dev.staging.follow(new.dev.staging.clone());
        self.kernel.ops.widen(new.dev.staging.slots() > 0, false);
    }

    /// Collections that are due and have not begun take no time from now on.
    fn collect_due_now(&mut self) {
        for unit in (0..self.dev.geometry.units).map(UnitId) {
            for plane in self.kernel.dies.take_dues(unit) {
                self.gc.claimed.remove(plane);
                self.claim(plane);
            }
        }
    }

    /// The collector of a collection, read-only.
    pub(super) fn collector_of(&self, id: JobId) -> &dyn Collector {
        match &self.gc.jobs[id.0].former {
            Some(former) => former.collector.policy_ref(),
            None => self.schemes.collector.policy_ref(),
        }
    }

    /// Whether the state of this device fits the features of another one.
    fn allows(&self, new: &Ssd) -> Result<(), ConfigError> {
        self.allows_layout(new)?;
        self.allows_queues(&new.config)?;
        if self.rules.page_types && self.config.page_type_names() != new.config.page_type_names() {
            let message = "results are given by page type, and there would be other types";
            return refuse("timing.read", message, "keep the number of times of timing.read and timing.program");
        }
        if self.rules.ports != new.rules.ports {
            return refuse("timing.host_link", "a link comes or goes", "change its rate instead");
        }
        let (old, cache) = (&self.config.cache, &new.config.cache);
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

    /// Blocks, write points and the controller's buffer.
    fn allows_layout(&self, new: &Ssd) -> Result<(), ConfigError> {
        let (old, config) = (&self.config, &new.config);
        if self.dev.geometry.slots != new.dev.geometry.slots {
            let message = "what a map entry points to, and what a program holds, are part of the device's state";
            return refuse("device.mapping_unit", message, "set it when the device is built");
        }
        if old.fdp != config.fdp {
            let message = "blocks belong to the handles of the device, and pages have theirs";
            return refuse("fdp.handles", message, "set fdp when the device is built");
        }
        if (self.rules.retries || new.rules.retries) && !same(&old.ecc, &config.ecc) {
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
        if self.rules.pads != new.rules.pads {
            let message = "moved units may wait in the controller, or none may";
            return refuse("gc.remainder", message, "set it when the device is built");
        }
        if self.dev.geometry.data_pages != new.dev.geometry.data_pages
            || self.dev.wear.counts() != new.dev.wear.counts()
        {
            let message = "the path keeps copyback counts, for which blocks have metadata pages, or it keeps none";
            return refuse("schemes.path", message, "set it when the device is built");
        }
        if self.rules.separates != new.rules.separates {
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
        let plan = &new.dev.staging.plan;
        if plan.is_some() && !same(&self.dev.staging.plan, plan) && self.gc.buffer_is_in_use(&self.dev) {
            let message =
                "pages in the controller's buffer return to flash as the collector planned that left them there";
            return refuse("schemes.collector", message, "change it while no collection runs and the buffer is empty");
        }
        Ok(())
    }

    /// Queues of the host.
    fn allows_queues(&self, config: &Config) -> Result<(), ConfigError> {
        let (old, new) = (&self.config.nvme, &config.nvme);
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
}
