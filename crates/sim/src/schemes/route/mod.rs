//! Where a read is served from.

mod brr;
mod direct;
mod dpr;

pub use brr::{Brr, NextArrival};
pub use direct::Direct;
pub use dpr::Dpr;

use super::{SchemeInfo, list, named_table, slot};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

slot! {
    /// Where a read is served from.
    "schemes.route" AnyRoute: crate::policy::Route {
        "direct" => Direct(Direct),
        "brr" => Brr(Brr),
        "dpr" => Dpr(Dpr),
    }
}

impl Default for AnyRoute {
    fn default() -> Self {
        AnyRoute::Direct(Direct::default())
    }
}
