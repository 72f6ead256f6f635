//! What a paper's source asks its data for: groups of workloads, keys, notes and printed numbers.

use std::collections::BTreeMap;

use serde::de::{Deserialize, DeserializeOwned, Deserializer};
use toml::Value;

/// Keys over a scheme's own, as `--set` takes them.
pub(crate) type Keys = &'static [&'static str];

/// A list in a paper's data, which stays for as long as the program runs.
pub(crate) fn list<'de, T: Deserialize<'de> + 'static, D: Deserializer<'de>>(
    data: D,
) -> Result<&'static [T], D::Error> {
    Vec::deserialize(data).map(|list| &*list.leak())
}

/// What a paper's source asks its data for.
#[derive(Default)]
pub(crate) struct Data {
    pub(crate) groups: BTreeMap<String, &'static [&'static str]>,
    pub(crate) keys: BTreeMap<String, &'static [Keys]>,
    pub(crate) notes: BTreeMap<String, &'static str>,
    pub(crate) tables: BTreeMap<String, Value>,
}

impl Data {
    pub(crate) fn group(&self, name: &str) -> &'static [&'static str] {
        self.groups.get(name).unwrap_or_else(|| panic!("no group {name}"))
    }

    /// Sets of keys that runs differ by.
    pub(crate) fn keys(&self, name: &str) -> &'static [Keys] {
        self.keys.get(name).unwrap_or_else(|| panic!("no keys {name}"))
    }

    /// A note that rows of a source have.
    pub(crate) fn note(&self, name: &str) -> &'static str {
        self.notes.get(name).unwrap_or_else(|| panic!("no note {name}"))
    }

    pub(crate) fn table<T: DeserializeOwned>(&self, name: &str) -> T {
        let value = self.tables.get(name).unwrap_or_else(|| panic!("no table {name}"));
        value.clone().try_into().unwrap_or_else(|error| panic!("table {name}: {error}"))
    }
}
