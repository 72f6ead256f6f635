//! Policies from outside for many runs: what a comparison or a study puts into the configuration of each of its runs.

use std::fmt;
use std::sync::Arc;

use ssdlab_sim::Filled;
use ssdlab_sim::config::Config;
use ssdlab_sim::schemes::{AnyTrigger, AnyVictim};

use crate::error::{Error, Result};
use crate::names::clip;

/// Makes a trigger for a configuration.
pub type MakeTrigger = Arc<dyn Fn(&Config) -> AnyTrigger + Send + Sync>;

/// Policies from outside, for each slot that has one.
#[derive(Clone, Default)]
pub struct Policies {
    /// For `schemes.victim`.
    pub victim: Option<AnyVictim>,
    /// For `schemes.trigger`.
    pub trigger: Option<MakeTrigger>,
    /// What tells them apart in a store: a configuration has their names only. Empty where no store is.
    pub identity: String,
    /// What a store keeps of them, as files by name: their sources, and what they are made from. Empty where no store is.
    pub files: Vec<(String, Vec<u8>)>,
}

impl fmt::Debug for Policies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let given = (&self.victim, self.trigger.is_some());
        f.debug_tuple("Policies").field(&given).field(&self.identity).finish()
    }
}

impl Policies {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.victim.is_none() && self.trigger.is_none()
    }

    /// Puts them into a configuration.
    pub fn put(&self, config: &mut Config) {
        if let Some(victim) = &self.victim {
            config.schemes.victim = victim.clone();
        }
        if let Some(trigger) = &self.trigger {
            config.schemes.trigger = trigger(config);
        }
    }

    /// Refuses keys that are varied although a policy is given for them.
    ///
    /// # Errors
    /// There is one.
    pub fn agree<'k>(&self, keys: impl IntoIterator<Item = &'k str>) -> Result<()> {
        let slots = [
            ("schemes.victim", "victim", self.victim.is_some()),
            ("schemes.trigger", "trigger", self.trigger.is_some()),
        ];
        for key in keys {
            let inside = |slot: &str| {
                key == "schemes" || key.strip_prefix(slot).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            };
            if let Some((_, name, _)) = slots.iter().find(|(slot, _, given)| *given && inside(slot)) {
                return Err(Error::usage(format!("{} is varied, and {name} is given", clip(key)))
                    .help(format!("leave one of them out: {name} holds for every run")));
            }
        }
        Ok(())
    }

    /// What is equal for configurations that are filled alike, in any process: their text has the place of a policy in memory.
    pub fn filling(&self, config: &Config) -> String {
        if self.victim.is_none() {
            return Filled::key(config);
        }
        let mut plain = config.clone();
        plain.schemes.victim = Config::default().schemes.victim;
        format!("{}\n{}", Filled::key(&plain), self.identity)
    }
}
