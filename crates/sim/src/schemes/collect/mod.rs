//! Collectors: how GC uses a die.

mod idle_chip;
pub(super) mod pagc;
mod preemptive;
mod queued;
pub(super) mod serial;

pub use idle_chip::{Erase, IdleChip, Release, StreamRule, When as WritebackWhen};
pub use pagc::{PaGc, Points, When};
pub use preemptive::Preemptive;
pub use queued::Queued;
pub use serial::Serial;

use super::{SchemeInfo, list, named_table, slot};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

slot! {
    /// How GC uses a die.
    "schemes.collector" AnyCollector: crate::policy::Collector {
        "serial" => Serial(Serial),
        "queued" => Queued(Queued),
        "preemptive" => Preemptive(Preemptive),
        "idle-chip" => IdleChip(IdleChip),
        "pagc" => PaGc(PaGc),
    } lying Lying(super::lies::LyingCollector)
}

impl AnyCollector {
    /// The collector and all collectors inside it, outermost first.
    pub fn chain(&self) -> impl Iterator<Item = &AnyCollector> {
        std::iter::successors(Some(self), |collector| match collector {
            AnyCollector::Preemptive(policy) => Some(&*policy.inner),
            AnyCollector::IdleChip(policy) => Some(&*policy.inner),
            _ => None,
        })
    }
}

impl Default for AnyCollector {
    fn default() -> Self {
        AnyCollector::Serial(Serial::default())
    }
}
