//! The workloads that come with the crate.

use std::sync::LazyLock;

use crate::workload::spec::Spec;

/// A workload that comes with the crate.
#[derive(Clone, Debug)]
pub struct Named {
    /// Its name on the command line.
    pub name: &'static str,
    /// The TOML text.
    pub text: &'static str,
    /// The text, parsed: description, source and whether it is a model are its fields.
    pub spec: Spec,
}

macro_rules! bundled {
    ($($name:literal)*) => {
        &[$(($name, include_str!(concat!("../../workloads/", $name, ".toml")))),*]
    };
}

/// In the order in which they are listed.
const BUNDLED: &[(&str, &str)] = bundled! {
    "quickstart" "random-write" "random-read" "mixed-70-30" "sequential-write" "sequential-read" "zipf-write"
    "hot-cold" "cachelib" "kv-offload" "lsm"
    "a.hm_0" "a.prn_0" "a.prn_1" "a.proj_0" "a.prxy_0" "a.stg_0" "a.usr_0" "a.wdev_0"
    "b.fin1" "b.proj0" "b.proj0-16k" "b.prxy0" "b.src20" "b.stg0" "b.ts0" "b.usr0" "b.usr1" "b.hm0" "b.hm0-16k"
    "b.msnfs0" "b.msnfs0-16k" "b.msnfs1" "b.msnfs4" "b.msnfs5" "b.prn0" "b.proj2"
    "c.hm_0" "c.hm_1" "c.prn_0" "c.prn_1" "c.proj_1" "c.proj_3" "c.prxy_0" "c.rsrch_0" "c.src2_0" "c.stg_0" "c.usr_0"
    "c.wdev_0"
    "d.financial1" "d.financial2" "d.exchange" "d.hm0" "d.vps"
    "e.cassandra" "e.dbench" "e.mysql" "e.sqlite" "e.mongodb" "e.rocksdb" "e.rocksdb-journal"
};

static ALL: LazyLock<Vec<Named>> = LazyLock::new(|| {
    let parse = |&(name, text)| {
        // Every bundled text is valid: a test parses each of them.
        let spec = Spec::parse(text).unwrap_or_else(|e| panic!("workloads/{name}.toml: {e}"));
        Named { name, text, spec }
    };
    BUNDLED.iter().map(parse).collect()
});

/// All workloads that come with the crate, in a fixed order.
#[must_use]
pub fn all() -> &'static [Named] {
    &ALL
}

/// The workload of this name, if there is one.
#[must_use]
pub fn named(name: &str) -> Option<&'static Named> {
    all().iter().find(|w| w.name == name)
}
