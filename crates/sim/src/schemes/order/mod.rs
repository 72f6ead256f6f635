//! Which request is dispatched next.

mod fifo;

pub use fifo::{AsyncFifo, SyncFifo};

use super::{SchemeInfo, list, named_table, slot};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

slot! {
    /// Which request is dispatched next.
    "schemes.order" AnyOrder: crate::policy::Order {
        "async-fifo" => AsyncFifo(AsyncFifo),
        "sync-fifo" => SyncFifo(SyncFifo),
    }
}

impl Default for AnyOrder {
    fn default() -> Self {
        AnyOrder::AsyncFifo(AsyncFifo::default())
    }
}
