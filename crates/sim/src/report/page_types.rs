//! Host operations by page type.

use serde::{Serialize, Serializer, ser::SerializeMap};

use super::mean;

/// Operations on pages of a type. A multi-plane command counts a page each, but its array time once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TypeTotals {
    /// Pages read for the host or the write cache.
    pub reads: u64,
    /// Array time of these reads.
    pub read_ns: u64,
    /// Pages programmed with host data, from the write cache or directly.
    pub programs: u64,
    /// Array time of these programs.
    pub program_ns: u64,
}

impl TypeTotals {
    /// Mean array time of a page read, in nanoseconds; none without reads.
    pub fn read_mean(&self) -> Option<f64> {
        mean(self.read_ns.into(), self.reads)
    }

    /// Mean array time of a page program, in nanoseconds; none without programs.
    pub fn program_mean(&self) -> Option<f64> {
        mean(self.program_ns.into(), self.programs)
    }
}

/// A page type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PageType {
    /// Pages of a block that have it.
    pub pages_per_block: u64,
    /// Operations on such pages.
    #[serde(flatten)]
    pub totals: TypeTotals,
}

/// Page types by name, in the order of their times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageTypes(pub Vec<(String, PageType)>);

impl Serialize for PageTypes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        self.0.iter().try_for_each(|(name, of)| map.serialize_entry(name, of))?;
        map.end()
    }
}
