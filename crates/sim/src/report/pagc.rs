//! What paper B tells of collections on dies with two planes, whatever collects them, so that baselines stand beside it.

use serde::Serialize;

use super::{Breakdown, ByOp, mean};
use crate::blame::{CAUSES, Cause};

/// Section `pagc` of a summary: there whenever a die has two planes.
#[derive(Clone, Debug, Serialize)]
pub struct PaGcSummary {
    /// Collections by who took part.
    pub collections: Parties,
    /// Moved pages by category.
    pub moved_pages: Moves,
    /// The same per collection of a die: Figs. 7 and 11.
    pub moved_per_collection: Option<MovesMean>,
    /// Most pages in the controller's buffer at one time.
    pub buffered_pages_max: u32,
    /// Total response time by paper B's terms.
    pub response_ns: ByOp<Terms>,
    /// Total over planes of the time in which their die was collected, up to the last completion.
    pub plane_ns: PlaneTimes,
    /// Mean over planes of the share of time in which the plane was collected.
    pub plane_gc_busy_share: Option<f64>,
    /// Mean over planes of the share of time in which the plane was idle because the other one was collected.
    pub plane_gc_idle_share: Option<f64>,
}

/// Collections of a die by who took part.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Parties {
    /// Both planes.
    pub joint: u64,
    /// The plane that ran low alone.
    pub alone: u64,
    /// Of those: the other one was to join and had no block with an invalid page.
    pub without_partner: u64,
}

/// Moved pages by category: how they were read, how they were programmed.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Moves {
    /// In pairs at equal offsets to equal offsets.
    pub pard_pawr: u64,
    /// In pairs at equal offsets, to different ones.
    pub pard_srwr: u64,
    /// In pairs at different offsets to equal offsets.
    pub srrd_pawr: u64,
    /// Singly, in the plane that ran low.
    pub srrd_srwr_d: u64,
    /// Singly, in the other plane.
    pub srrd_srwr_nd: u64,
    /// Read singly, and written back later from the controller's buffer.
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
    /// All of them.
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

/// Time of planes whose die is collected.
#[derive(Clone, Debug, Default, Serialize)]
pub struct PlaneTimes {
    /// The plane itself is.
    pub gc_busy: u64,
    /// Only the other one is.
    pub gc_idle: u64,
}

/// Response time by paper B's terms (section IV), which sum to it, and what lies outside the die.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Terms {
    /// Service: array, own transfers, controller memory.
    #[serde(serialize_with = "super::total")]
    pub st: u128,
    /// Conflict with requests that would be in the way without collections too.
    #[serde(serialize_with = "super::total")]
    pub cngc: u128,
    /// Conflict with collections of the same plane, waits for a free page of the plane included.
    #[serde(serialize_with = "super::total")]
    pub csgc: u128,
    /// Conflict with collections of other planes.
    #[serde(serialize_with = "super::total")]
    pub cogc: u128,
    /// Late conflict: with requests that collections have made late.
    #[serde(serialize_with = "super::total")]
    pub lc: u128,
    /// Before dispatch: outside the device while the queue is full, or in the window. The paper does not name it.
    #[serde(serialize_with = "super::total")]
    pub outside: u128,
}

impl Terms {
    /// The terms of a sum of causes.
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

    /// The terms in their fixed order, with the names of columns.
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
