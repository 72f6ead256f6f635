//! Paths of moved pages.

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
    /// How a moved page travels.
    "schemes.path" AnyPath: crate::policy::MovePath {
        "external" => External(External),
        "copyback" => Copyback(Copyback),
        "checked" => Checked(Checked),
        "fastgc" => FastGc(FastGc),
        "selective" => Selective(Selective),
    } lying Lying(super::lies::LyingPath)
}

impl AnyPath {
    /// The path and its fallback, if it has one.
    pub fn chain(&self) -> impl Iterator<Item = &AnyPath> {
        std::iter::successors(Some(self), |path| match path {
            AnyPath::FastGc(policy) => Some(&*policy.fallback),
            _ => None,
        })
    }
}

impl Default for AnyPath {
    fn default() -> Self {
        AnyPath::External(External::default())
    }
}
