//! How a die's garbage is collected.

mod pagc;
mod queued;
mod serial;

pub use pagc::{PaGc, When};
pub use queued::Queued;
pub use serial::Serial;

use super::{SchemeInfo, list, named_table, slot};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

slot! {
    /// How a die's garbage is collected.
    "schemes.collector" AnyCollector: crate::policy::Collector {
        "serial" => Serial(Serial),
        "queued" => Queued(Queued),
        "pagc" => PaGc(PaGc),
    }
}

impl Default for AnyCollector {
    fn default() -> Self {
        AnyCollector::Serial(Serial::default())
    }
}
