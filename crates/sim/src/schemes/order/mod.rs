//! Which request is dispatched next.

mod chips;
mod fifo;
mod piq;

pub use fifo::{AsyncFifo, SyncFifo};
pub use piq::{Piq, SyncPiq};

use super::{SchemeInfo, list, named_table, slot};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

slot! {
    /// Which request is dispatched next.
    "schemes.order" AnyOrder: crate::policy::Order {
        "async-fifo" => AsyncFifo(AsyncFifo),
        "sync-fifo" => SyncFifo(SyncFifo),
        "piq" => Piq(Piq),
        "sync-piq" => SyncPiq(SyncPiq),
    } lying Lying(super::lies::LyingOrder)
}

impl Default for AnyOrder {
    fn default() -> Self {
        AnyOrder::AsyncFifo(AsyncFifo::default())
    }
}
