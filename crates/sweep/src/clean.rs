//! Removes what is no longer wanted from a store.

use std::collections::BTreeSet;

use serde::de::IgnoredAny;

use crate::points::{Points, VERSION};
use crate::store::Store;
use ssdlab_lab::error::Result;

/// Which records go.
#[derive(Clone, Debug)]
pub enum Which {
    /// None: only what killed processes left.
    Leftovers,
    /// Those of a version; `other` is every version but this one.
    Version(String),
    /// Those that none of some studies has.
    NotIn(BTreeSet<String>),
    /// Failures.
    Failed,
}

/// What goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// Keys.
    pub keys: Vec<String>,
    /// Temporary files that no process holds.
    pub temporary: u64,
    /// Marks of processes that are gone.
    pub marks: u64,
}

/// The keys of a study, under `until` those of all seeds.
pub fn keys(points: &Points) -> BTreeSet<String> {
    points.runs().into_iter().map(|run| run.key).collect()
}

/// Finds what goes, and removes it if `remove`. Temporary files and marks of processes that are gone always go.
///
/// # Errors
/// The store can't be read or written.
pub fn clean(store: &Store, which: &Which, remove: bool) -> Result<Cleaned> {
    let mut cleaned = Cleaned::default();
    let mut all: Vec<_> = store.list()?.into_iter().collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    for (key, has) in all {
        if has.mark && store.mark(&key).is_some_and(|(_, alive)| !alive) {
            cleaned.marks += 1;
            if remove {
                store.unmark(&key)?;
            }
        }
        let goes = match which {
            Which::Leftovers => false,
            Which::NotIn(wanted) => !wanted.contains(&key),
            Which::Failed => has.failure,
            Which::Version(version) => match store.read::<IgnoredAny>(&key)?.filter(|_| has.record) {
                None => false,
                Some(read) if version == "other" => read.version != VERSION,
                Some(read) => read.version == *version,
            },
        };
        if goes {
            if remove {
                match which {
                    Which::Failed => store.forgive(&key)?,
                    _ => store.forget(&key)?,
                }
            }
            cleaned.keys.push(key);
        }
    }
    cleaned.temporary = store.tidy(remove)?;
    Ok(cleaned)
}
