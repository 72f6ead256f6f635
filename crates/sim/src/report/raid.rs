//! What parity groups did.

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
    /// From arrival to first service, of reads and of writes.
    pub before_service: [u128; 2],
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
    /// Where the latency of reads went, in all (paper C, Fig. 6).
    pub read_ns: Response,
    /// Where the latency of writes went, in all.
    pub write_ns: Response,
}

/// The parts of a latency, summed over requests; each is that of the page that finished last.
#[derive(Clone, Debug, Serialize)]
pub struct Response {
    /// T_w: from arrival to first service. A page that had no service of its own (its chip had failed) adds nothing.
    #[serde(serialize_with = "super::total")]
    pub t_w: u128,
    /// T_b: own transfers on the bus.
    #[serde(serialize_with = "super::total")]
    pub t_b: u128,
    /// T_c: in the flash array.
    #[serde(serialize_with = "super::total")]
    pub t_c: u128,
    /// Everything else: waits after first service, such as that of an update for its parity, and controller memory.
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

/// Time without parity, summed over groups.
#[derive(Clone, Debug, Serialize)]
pub struct Unprotected {
    /// All of it: first writes from their arrival, updates from when their first program may begin, to the last program.
    #[serde(serialize_with = "super::total")]
    pub total: u128,
    /// Of that: first writes that waited for the rest of their group.
    #[serde(serialize_with = "super::total")]
    pub gathering: u128,
    /// The longest of one group.
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
