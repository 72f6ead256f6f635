//! Victim policies: which block is reclaimed.

mod cost_benefit;
mod fifo;
mod greedy;
mod sampled;

pub use cost_benefit::CostBenefit;
pub use fifo::Fifo;
pub use greedy::Greedy;
pub use sampled::{DChoices, Random, RandomPlus};

use super::{SchemeInfo, list, named_table, slot};
use crate::policy::Victim;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

slot! {
    /// Which block is reclaimed.
    "schemes.victim" AnyVictim: crate::policy::Victim {
        "greedy" => Greedy(Greedy),
        "d-choices" | "rga" => DChoices(DChoices),
        "random" => Random(Random),
        "random+" => RandomPlus(RandomPlus),
        "fifo" => Fifo(Fifo),
        "cost-benefit" => CostBenefit(CostBenefit),
    }
}

/// A victim policy from outside this crate. It is cloned with its device.
pub trait CustomVictim: Victim + Send + Sync {
    /// A copy with its current state.
    fn boxed(&self) -> Box<dyn CustomVictim>;
}

impl<T: Victim + Clone + Send + Sync + 'static> CustomVictim for T {
    fn boxed(&self) -> Box<dyn CustomVictim> {
        Box::new(self.clone())
    }
}

/// The victim policy of a device: the configured one, or one from outside this crate.
pub(crate) enum VictimPolicy {
    Named(AnyVictim),
    Custom(Box<dyn CustomVictim>),
}

impl VictimPolicy {
    /// The policy.
    #[inline(always)]
    pub(crate) fn policy(&mut self) -> &mut dyn Victim {
        match self {
            VictimPolicy::Named(victim) => victim.policy(),
            VictimPolicy::Custom(victim) => &mut **victim,
        }
    }
}

impl Clone for VictimPolicy {
    fn clone(&self) -> Self {
        match self {
            VictimPolicy::Named(victim) => VictimPolicy::Named(victim.clone()),
            VictimPolicy::Custom(victim) => VictimPolicy::Custom((**victim).boxed()),
        }
    }
}

impl Default for AnyVictim {
    fn default() -> Self {
        AnyVictim::Greedy(Greedy::default())
    }
}
