//! Report of parity groups.

use serde::Serialize;

use super::{Breakdown, FlashOps, mean};
use crate::blame::Cause;

/// Counters of parity groups.
#[derive(Clone, Debug, Default)]
pub(crate) struct RaidTotals {
    pub updates: u64,
    pub encodings: u64,
    pub timeouts: u64,
    pub unprotected: u128,
    pub gathering: u128,
    pub longest: u64,
    /// Time from arrival to first service, of reads and of writes.
    pub before_service: [u128; 2],
}

/// Parity groups (if `raid.layout` is not `"none"`).
#[derive(Clone, Debug, Serialize)]
pub struct RaidSummary {
    /// Updates of groups that had parity.
    pub updates: u64,
    /// Parity computed for groups that had none.
    pub encodings: u64,
    /// Encodings that `raid.encode_timeout` started with chunks missing.
    pub encodings_by_timeout: u64,
    /// Parity pages programmed per host page written.
    pub parity_write_amplification: Option<f64>,
    /// Time in which groups held written data that their parity did not cover yet.
    pub unprotected_ns: Unprotected,
    /// Total latency of reads by part (paper C, Fig. 6).
    pub read_ns: Response,
    /// Total latency of writes by part.
    pub write_ns: Response,
}

/// Parts of a latency, summed over requests. Each request counts the page that finished last.
#[derive(Clone, Debug, Serialize)]
pub struct Response {
    /// T_w: from arrival to first service; zero for a page without a service of its own (its chip has failed).
    #[serde(serialize_with = "super::total")]
    pub t_w: u128,
    /// T_b: own bus transfers.
    #[serde(serialize_with = "super::total")]
    pub t_b: u128,
    /// T_c: own time in the flash array.
    #[serde(serialize_with = "super::total")]
    pub t_c: u128,
    /// The rest: waits after the first service, such as an update's wait for its parity, and controller memory.
    #[serde(serialize_with = "super::total")]
    pub rest: u128,
}

impl Response {
    fn new(before_service: u128, breakdown: &Breakdown) -> Self {
        let of = |cause: Cause| breakdown.0[cause as usize];
        let (bus, array, total) = (of(Cause::Bus), of(Cause::Array), breakdown.0.iter().sum::<u128>());
        let rest = total - (before_service + bus + array);
        Response { t_w: before_service, t_b: bus, t_c: array, rest }
    }
}

/// Time without valid parity, summed over groups.
#[derive(Clone, Debug, Serialize)]
pub struct Unprotected {
    /// Total: from the arrival of first writes, or from the earliest possible program of an update, to the last program.
    #[serde(serialize_with = "super::total")]
    pub total: u128,
    /// Part of it in which first writes waited for the rest of their group.
    #[serde(serialize_with = "super::total")]
    pub gathering: u128,
    /// Longest time of one group.
    pub longest: u64,
}

impl RaidTotals {
    pub(crate) fn summary(&self, flash: &FlashOps, written: u64, [reads, writes]: [&Breakdown; 2]) -> RaidSummary {
        RaidSummary {
            updates: self.updates,
            encodings: self.encodings,
            encodings_by_timeout: self.timeouts,
            parity_write_amplification: mean(u128::from(flash.programs.parity), written),
            unprotected_ns: Unprotected { total: self.unprotected, gathering: self.gathering, longest: self.longest },
            read_ns: Response::new(self.before_service[0], reads),
            write_ns: Response::new(self.before_service[1], writes),
        }
    }
}
