//! Paper B's measures of GC on dies with two planes, for every collector, so that baselines can be compared.

use serde::Serialize;

use super::{Breakdown, ByOp, mean};
use crate::blame::{CAUSES, Cause};

/// Section `pagc` of a summary: present whenever a die has two planes.
#[derive(Clone, Debug, Serialize)]
pub struct PaGcSummary {
    /// Collections by participating planes.
    pub collections: Parties,
    /// Moved pages by category.
    pub moved_pages: Moves,
    /// Moved pages per collection of a die, by category: Figs. 7 and 11.
    pub moved_per_collection: Option<MovesMean>,
    /// Largest number of pages in the controller's buffer.
    pub buffered_pages_max: u32,
    /// Total response time by paper B's terms.
    pub response_ns: ByOp<Terms>,
    /// Time in which a plane's die was in GC, summed over planes, up to the last completion.
    pub plane_ns: PlaneTimes,
    /// Mean over planes of the share of time in which the plane was in GC.
    pub plane_gc_busy_share: Option<f64>,
    /// Mean over planes of the share of time in which the plane was idle because of GC in the other one.
    pub plane_gc_idle_share: Option<f64>,
}

/// Collections of a die by participating planes.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Parties {
    /// Both planes.
    pub joint: u64,
    /// Only the plane below the threshold.
    pub alone: u64,
    /// Collections of one plane whose partner had no block with an invalid page.
    pub without_partner: u64,
}

/// Moved pages by how they were read and programmed.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Moves {
    /// Read in pairs at equal offsets, programmed in pairs at equal offsets.
    pub pard_pawr: u64,
    /// Read in pairs at equal offsets, programmed at different ones.
    pub pard_srwr: u64,
    /// Read at different offsets, programmed in pairs at equal offsets.
    pub srrd_pawr: u64,
    /// Moved singly, in the plane below the threshold.
    pub srrd_srwr_d: u64,
    /// Moved singly, in the other plane.
    pub srrd_srwr_nd: u64,
    /// Read singly, written back later from the controller's buffer.
    pub buffered: u64,
}

/// [`Moves`] per collection.
#[derive(Clone, Debug, Serialize)]
pub struct MovesMean {
    /// See [`Moves`].
    pub pard_pawr: Option<f64>,
    /// See [`Moves`].
    pub pard_srwr: Option<f64>,
    /// See [`Moves`].
    pub srrd_pawr: Option<f64>,
    /// See [`Moves`].
    pub srrd_srwr_d: Option<f64>,
    /// See [`Moves`].
    pub srrd_srwr_nd: Option<f64>,
    /// See [`Moves`].
    pub buffered: Option<f64>,
}

impl Moves {
    /// Sum of all.
    pub fn total(&self) -> u64 {
        self.pard_pawr + self.pard_srwr + self.srrd_pawr + self.srrd_srwr_d + self.srrd_srwr_nd + self.buffered
    }

    pub(crate) fn per(&self, collections: u64) -> Option<MovesMean> {
        let per = |pages: u64| mean(u128::from(pages), collections);
        (collections > 0).then(|| MovesMean {
            pard_pawr: per(self.pard_pawr),
            pard_srwr: per(self.pard_srwr),
            srrd_pawr: per(self.srrd_pawr),
            srrd_srwr_d: per(self.srrd_srwr_d),
            srrd_srwr_nd: per(self.srrd_srwr_nd),
            buffered: per(self.buffered),
        })
    }
}

/// Time of planes whose die is in GC.
#[derive(Clone, Debug, Default, Serialize)]
pub struct PlaneTimes {
    /// The plane itself is in GC.
    pub gc_busy: u64,
    /// Only the other plane is in GC.
    pub gc_idle: u64,
}

/// Response time by the terms of paper B (section IV), and by waits outside the die. The parts sum to the response time.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Terms {
    /// Service: array, own transfers, controller memory.
    #[serde(serialize_with = "super::total")]
    pub st: u128,
    /// Conflict with requests that would also occur without GC.
    #[serde(serialize_with = "super::total")]
    pub cngc: u128,
    /// Conflict with GC of the same plane, including waits for a free page of the plane.
    #[serde(serialize_with = "super::total")]
    pub csgc: u128,
    /// Conflict with GC of other planes.
    #[serde(serialize_with = "super::total")]
    pub cogc: u128,
    /// Late conflict: with requests that GC has delayed.
    #[serde(serialize_with = "super::total")]
    pub lc: u128,
    /// Before dispatch: outside the device while the queue is full, or in the window. Not a term of the paper.
    #[serde(serialize_with = "super::total")]
    pub outside: u128,
}

impl Terms {
    /// Splits a breakdown into the terms.
    pub fn of(breakdown: &Breakdown) -> Terms {
        let mut terms = Terms::default();
        for (cause, _) in CAUSES {
            let ns = breakdown.0[cause as usize];
            let term = match cause {
                Cause::Array | Cause::Bus | Cause::Noc | Cause::Decode | Cause::Memory => &mut terms.st,
                Cause::DieHost | Cause::DieWriteback | Cause::BusHost | Cause::NocHost => &mut terms.cngc,
                Cause::Staging | Cause::Held => &mut terms.cngc,
                Cause::DieGcOwn | Cause::Space => &mut terms.csgc,
                Cause::DieGcOther | Cause::BusGc | Cause::NocGc => &mut terms.cogc,
                Cause::DieLate => &mut terms.lc,
                Cause::Queue | Cause::Order => &mut terms.outside,
            };
            *term += ns;
        }
        terms
    }

    /// The terms in column order, with the names of columns.
    pub fn columns(&self) -> [(&'static str, u128); 6] {
        [
            ("st", self.st),
            ("cngc", self.cngc),
            ("csgc", self.csgc),
            ("cogc", self.cogc),
            ("lc", self.lc),
            ("outside", self.outside),
        ]
    }
}
