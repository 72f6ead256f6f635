//! What parity groups did.

use serde::Serialize;

use super::{FlashOps, mean};

/// Counters of parity groups.
#[derive(Clone, Debug, Default)]
pub(crate) struct RaidTotals {
    pub updates: u64,
    pub encodings: u64,
    pub timeouts: u64,
    pub unprotected: u128,
    pub gathering: u128,
    pub longest: u64,
}

/// What parity groups did (in use where `raid.layout` is not `"none"`).
#[derive(Clone, Debug, Serialize)]
pub struct RaidSummary {
    /// Updates of groups that had parity.
    pub updates: u64,
    /// Parity made for groups that had none.
    pub encodings: u64,
    /// Of those: begun by `raid.encode_timeout`, with chunks missing.
    pub encodings_by_timeout: u64,
    /// Parity pages programmed per host page written.
    pub parity_write_amplification: Option<f64>,
    /// Time that groups held written data which their parity did not cover yet.
    pub unprotected_ns: Unprotected,
}

/// Time without parity, summed over groups.
#[derive(Clone, Debug, Serialize)]
pub struct Unprotected {
    /// All of it: first writes from their arrival, updates from when their first program may begin, to the last program.
    pub total: u64,
    /// Of that: first writes that waited for the rest of their group.
    pub gathering: u64,
    /// The longest of one group.
    pub longest: u64,
}

impl RaidTotals {
    pub(crate) fn summary(&self, flash: &FlashOps, written: u64) -> RaidSummary {
        let whole = |ns: u128| u64::try_from(ns).unwrap_or(u64::MAX);
        RaidSummary {
            updates: self.updates,
            encodings: self.encodings,
            encodings_by_timeout: self.timeouts,
            parity_write_amplification: mean(u128::from(flash.programs.parity), written),
            unprotected_ns: Unprotected {
                total: whole(self.unprotected),
                gathering: whole(self.gathering),
                longest: self.longest,
            },
        }
    }
}
