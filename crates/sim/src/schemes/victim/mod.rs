//! Victim policies: which block is reclaimed.

mod cost_benefit;
mod fifo;
mod greedy;
mod sampled;

pub use cost_benefit::CostBenefit;
pub use fifo::Fifo;
pub use greedy::Greedy;
pub use sampled::{DChoices, Random, RandomPlus};

use super::outside::{CustomVictim, Outside, Record};
use super::{SchemeInfo, list, named_table, slot};
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
    } outside Outside(CustomVictim)
}

impl Default for AnyVictim {
    fn default() -> Self {
        AnyVictim::Greedy(Greedy::default())
    }
}
