//! A running device under another configuration.

use super::Ssd;
use crate::config::{Config, ConfigError};

impl Ssd {
    /// A copy of this device whose further life follows another configuration: one that differs in values that are no part of
    /// the device's state, such as times, limits and schemes.
    ///
    /// Operations in service end as they began. Policies whose name and settings stay the same keep their state; others begin
    /// without any. The caller sees to it that the geometry, the filling and the features with state are the same.
    ///
    /// # Errors
    /// The configuration cannot work ([`Config::check`]), or the state of the device rules the change out: the message says why.
    pub fn changed(&self, config: &Config) -> Result<Ssd, ConfigError> {
        let new = Ssd::unfilled(config, self.seed, self.oracle.check())?;
        self.allows(&new)?;
        let mut ssd = self.clone();
        let Ssd { config: old, schemes, .. } = self;
        let same = |one: &dyn std::fmt::Debug, other: &dyn std::fmt::Debug| format!("{one:?}") == format!("{other:?}");
        ssd.unfuse_all();
        if !same(&old.schemes.victim, &config.schemes.victim) {
            ssd.schemes.victim = new.schemes.victim;
            ssd.dev.flash.record_nothing();
        }
        let collects =
            same(&old.schemes.collector, &config.schemes.collector) && old.gc.threshold == config.gc.threshold;
        ssd.schemes.collector = if collects { schemes.collector.clone() } else { new.schemes.collector };
        if !same(&old.schemes.path, &config.schemes.path) {
            ssd.schemes.path = new.schemes.path;
        }
        if !same(&old.schemes.order, &config.schemes.order) {
            ssd.schemes.order = new.schemes.order;
        }
        if !same(&old.schemes.route, &config.schemes.route) {
            ssd.schemes.route = new.schemes.route;
        }
        ssd.rules = new.rules;
        ssd.dev.timing = new.dev.timing;
        ssd.chains = new.chains;
        ssd.joint = new.joint;
        ssd.features.queues = new.features.queues;
        ssd.host.govern(&new.host);
        ssd.config = new.config;
        ssd.watch_pages();
        ssd.set_fusing(true);
        Ok(ssd)
    }

    /// Whether the state of this device fits the features of another one.
    fn allows(&self, new: &Ssd) -> Result<(), ConfigError> {
        let refuse = |key: &str, message: &str, help: &str| {
            Err(ConfigError { key: key.into(), message: message.into(), help: help.into() })
        };
        let (old, config) = (&self.config.schemes, &new.config.schemes);
        let same = |one: &dyn std::fmt::Debug, other: &dyn std::fmt::Debug| format!("{one:?}") == format!("{other:?}");
        if self.dev.geometry.data_pages != new.dev.geometry.data_pages {
            return refuse(
                "schemes.path",
                "blocks with metadata pages have another layout",
                "fork before the device is filled",
            );
        }
        if self.config.reserve() != new.config.reserve() || self.rules.separates != new.rules.separates {
            let message = "the number of GC write points changes, and with it the blocks that are reserved for them";
            return refuse("schemes.collector", message, "use schemes with as many GC write points");
        }
        if self.config.nvme != new.config.nvme {
            let message = "queues belong to a device from its start";
            return refuse("nvme.queues", message, "set them when the device is built");
        }
        let types = |ssd: &Ssd| ssd.rules.page_types.then(|| ssd.config.page_type_names());
        if types(self) != types(new) {
            let message = "results by page type belong to a device from its start";
            return refuse("geometry.page_order", message, "set it when the device is built");
        }
        if self.config.cache != new.config.cache {
            let message = "the write cache belongs to a device from its start";
            return refuse("cache.size", message, "set it when the device is built");
        }
        if self.rules.ports != new.rules.ports {
            return refuse("timing.host_link", "a link comes or goes", "change its rate instead");
        }
        let copies = self.features.replicas.is_some() != new.features.replicas.is_some();
        if copies || self.features.conflict.is_some() != new.features.conflict.is_some() {
            let message = "second copies and their report belong to a device from its start";
            return refuse("schemes.route", message, "set it when the device is built");
        }
        let writes_back = |ssd: &Ssd| format!("{:?}", ssd.config.schemes.collector.policy_ref().writes_back());
        if writes_back(self) != writes_back(new) {
            let message = "the way that pages return from the controller's buffer belongs to a device from its start";
            return refuse("schemes.collector", message, "set it when the device is built");
        }
        let busy = self.kernel.ops.in_use() > 0 || self.gc.jobs.in_use() > 0 || !self.host.window.is_empty();
        let at_rest = [
            ("schemes.collector", same(&old.collector, &config.collector)),
            ("schemes.path", same(&old.path, &config.path)),
            ("schemes.order", same(&old.order, &config.order)),
            ("schemes.route", same(&old.route, &config.route)),
            ("order.chip_queue", new.config.chip_queue() == self.config.chip_queue()),
            ("order.delay_writes", new.config.delays_writes() == self.config.delays_writes()),
            ("timing.suspendable", self.rules.suspends == new.rules.suspends),
            ("device.multi_plane", self.rules.pairs == new.rules.pairs),
        ];
        match at_rest.iter().find(|(_, same)| busy && !same) {
            Some((key, _)) => {
                let message = "operations are in service, and would go on under other rules than they began with";
                refuse(key, message, "advance until next_event is None, or to a pause between requests")
            }
            None => Ok(()),
        }
    }
}
