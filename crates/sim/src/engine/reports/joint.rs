//! Statistics on multi-plane GC: participating planes, and how pages moved (paper B).

use crate::engine::Device;
use crate::engine::kernel::Kernel;
use crate::engine::kernel::occupancy::Occupancy;
use crate::policy::PageSet;
use crate::report::pagc::{PaGcSummary, PlaneTimes, Terms};
use crate::report::{Breakdown, ByOp, mean};
use crate::stats::Stats;
use crate::units::PlaneId;

impl Device {
    /// Counts a landed step of a collection that plane `demanding` triggered.
    #[inline(always)]
    pub(in crate::engine) fn sort_moves(
        &self,
        stats: &mut Stats,
        from: &PageSet,
        to: &PageSet,
        demanding: PlaneId,
        joint: bool,
    ) {
        let geometry = &self.geometry;
        let equal = |pages: &PageSet| geometry.offset(pages[0]) == geometry.offset(pages[1]);
        let per_unit = geometry.pages_per_entry;
        let moves = &mut stats.moves;
        *match (from.len(), joint) {
            (1, _) if per_unit > 1 => &mut moves.pard_pawr,
            (1, false) => &mut moves.srrd_srwr_d,
            (1, true) if geometry.plane_of(from[0]) == demanding => &mut moves.srrd_srwr_d,
            (1, true) => &mut moves.srrd_srwr_nd,
            _ => match (equal(from), equal(to)) {
                (true, true) => &mut moves.pard_pawr,
                (true, false) => &mut moves.pard_srwr,
                // Single reads followed by single programs never occur in one step.
                (false, _) => &mut moves.srrd_pawr,
            },
        } += from.len() as u64 * u64::from(per_unit);
    }
}

impl Kernel {
    /// Section `pagc`, if a die has two planes.
    pub(in crate::engine) fn pagc_summary(
        &self,
        dev: &Device,
        stats: &Stats,
        planes_per_die: u32,
        breakdown: &ByOp<Breakdown>,
        span: u64,
    ) -> Option<PaGcSummary> {
        if planes_per_die != 2 {
            return None;
        }
        let held = &self.dies;
        let until_last = |count: &Occupancy, from: u128| count.total_at(held.marked_at).saturating_sub(from);
        // A collection holds one die of its unit at a time.
        let dies = until_last(&held.held_gc, stats.gc_units_from);
        let busy = until_last(&held.gc_planes, stats.gc_planes_from);
        let idle = 2 * dies - busy;
        let planes = f64::from(dev.geometry.planes * dev.geometry.pages_per_entry);
        Some(PaGcSummary {
            collections: stats.parties.clone(),
            moved_pages: stats.moves.clone(),
            moved_per_collection: stats.moves.per(stats.parties.joint + stats.parties.alone),
            buffered_pages_max: dev.staging.filled.worst(),
            response_ns: ByOp {
                read: Terms::of(&breakdown.read),
                write: Terms::of(&breakdown.write),
                all: Terms::of(&breakdown.all),
            },
            plane_ns: PlaneTimes { gc_busy: busy as u64, gc_idle: idle as u64 },
            plane_gc_busy_share: mean(busy, span).map(|share| share / planes),
            plane_gc_idle_share: mean(idle, span).map(|share| share / planes),
        })
    }
}
