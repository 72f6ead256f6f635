//! Triggers: when a plane is collected.

mod idle;
mod threshold;

pub use idle::Idle;
pub use threshold::Threshold;

use super::outside::{CustomTrigger, Outside, Record};
use super::{SchemeInfo, list, named_table, slot};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

slot! {
    /// When a plane is collected.
    "schemes.trigger" AnyTrigger: crate::policy::Trigger {
        "threshold" => Threshold(Threshold),
        "idle" => Idle(Idle),
    } outside Outside(CustomTrigger)
}

impl Default for AnyTrigger {
    fn default() -> Self {
        AnyTrigger::Threshold(Threshold::default())
    }
}

impl PartialEq for AnyTrigger {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (AnyTrigger::Threshold(_), AnyTrigger::Threshold(_)) => true,
            (AnyTrigger::Idle(one), AnyTrigger::Idle(other)) => one == other,
            _ => false,
        }
    }
}
