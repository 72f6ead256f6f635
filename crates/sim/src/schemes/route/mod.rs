//! Where a read is served from.

mod brr;
mod direct;

pub use brr::{Brr, NextArrival};
pub use direct::Direct;

use super::{SchemeInfo, list, named_table, slot};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

slot! {
    /// Where a read is served from.
    "schemes.route" AnyRoute: crate::policy::Route {
        "direct" => Direct(Direct),
        "brr" => Brr(Brr),
    }
}

impl Default for AnyRoute {
    fn default() -> Self {
        AnyRoute::Direct(Direct::default())
    }
}
