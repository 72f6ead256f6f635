//! How the bits of a moved page travel.

mod checked;
mod fastgc;
mod fixed;
mod selective;

pub use checked::Checked;
pub use fastgc::FastGc;
pub use fixed::{Copyback, External};
pub use selective::{Check, Selective};

use super::{SchemeInfo, list, named_table, slot};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

slot! {
    /// How the bits of a moved page travel.
    "schemes.path" AnyPath: crate::policy::MovePath {
        "external" => External(External),
        "copyback" => Copyback(Copyback),
        "checked" => Checked(Checked),
        "fastgc" => FastGc(FastGc),
        "selective" => Selective(Selective),
    }
}

impl Default for AnyPath {
    fn default() -> Self {
        AnyPath::External(External::default())
    }
}
