//! What a dispatch offers to dies beside the operations in their queues: folds, write-backs of the buffer, second copies, lines of the
//! write cache, and pages to rewrite.

use crate::engine::features::retry::refresh;
use crate::engine::features::slc::folds;
use crate::engine::rules::Rules;
use crate::engine::{Features, Ssd};

impl Features {
    /// Whether a dispatch may begin something although no unit is marked: a write that any die may serve, or one of these offers.
    #[inline(always)]
    pub(in crate::engine) fn may_offer(&self, rules: &Rules) -> bool {
        rules.dynamic || rules.stages || rules.idle_lines || self.replicas.is_some()
    }
}

/// The dispatch has considered its units, which are still known: offers folds, write-backs and second copies, as far as there are any.
#[inline(always)]
pub(in crate::engine) fn to_considered_dies(ssd: &mut Ssd) {
    folds::fold_on_free_dies(ssd);
    if ssd.rules.stages && ssd.dev.staging.waiting > 0 {
        ssd.dispatch_writebacks();
    }
    if ssd.features.replicas.is_some() {
        ssd.make_copies();
    }
}

/// The dispatch has ended: offers lines of the write cache and pages to rewrite to dies that nothing waits for, as far as there are any.
#[inline(always)]
pub(in crate::engine) fn to_idle_dies(ssd: &mut Ssd) {
    if ssd.rules.idle_work {
        if ssd.rules.idle_lines {
            ssd.write_lines_to_idle_dies();
        }
        refresh::start_on_idle_dies(ssd);
    }
}
