//! Causes of optional features ([`Extra`]): kept beside the others, on devices with such a feature only.

use crate::blame::{Causes, Extra, ExtraBlame};
use crate::engine::Features;
use crate::engine::kernel::Kernel;
use crate::engine::rules::Rules;
use crate::stats::OpStats;
use crate::units::{OpId, RequestId};

/// See the module's documentation.
#[derive(Clone, Default)]
pub(in crate::engine) struct Extras {
    /// By request: those of its completed page that finished last so far.
    best: Vec<ExtraBlame>,
}

/// Waits and service of a request, with those of optional features if there are any.
#[inline(always)]
pub(in crate::engine) fn waits_and_service(rules: &Rules, blame: &Causes, extras: &ExtraBlame) -> (u64, u64) {
    match rules.extras {
        true => (blame.waits() + extras.waits(), blame.service() + extras.sum() - extras.waits()),
        false => (blame.waits(), blame.service()),
    }
}

/// A measured request has completed, whose other causes are counted: counts those of optional features, if there are any. `delayed`: GC
/// is among the others, so that it counts as delayed by GC already.
#[inline(always)]
pub(in crate::engine) fn spend(rules: &Rules, stats: &mut OpStats, extras: &ExtraBlame, latency: u64, delayed: bool) {
    if rules.extras {
        stats.spend_extras(extras, latency);
        stats.delayed_by_gc += u64::from(!delayed && extras.by_gc() > 0);
    }
}

impl Kernel {
    /// Adds time to a cause of a page.
    pub(in crate::engine) fn charge_extra(&mut self, op: OpId, cause: Extra, ns: u64) {
        self.ops.extras[op].blame.add(cause, ns);
    }

    /// A page has waited exactly as long as another one, for the same: folds and repeated reads cost both the same, if there are any.
    #[inline(always)]
    pub(in crate::engine) fn charge_same_extras(&mut self, rules: &Rules, op: OpId, lead: OpId) {
        if rules.slc || rules.retries {
            self.ops.extras[op].blame = self.ops.extras[lead].blame;
        }
    }
}

impl Features {
    #[inline(never)]
    fn keeps_extras(&mut self, kernel: &Kernel, id: RequestId, op: OpId) {
        let blame = kernel.ops.extras[op].blame;
        let Some(extras) = &mut self.extras else { return };
        let place = id.0 as usize;
        if extras.best.len() <= place {
            extras.best.resize(place + 1, ExtraBlame::default());
        }
        extras.best[place] = blame;
    }

    #[inline(never)]
    fn has_extras(&self, kernel: &Kernel, id: RequestId, last: OpId) -> ExtraBlame {
        match &self.extras {
            Some(extras) if last.is_none() => extras.best[id.0 as usize],
            _ => kernel.ops.extras[last].blame,
        }
    }

    /// A page has completed, the last one so far of a request that has more.
    #[inline(always)]
    pub(in crate::engine) fn keep_extras(&mut self, kernel: &Kernel, rules: &Rules, id: RequestId, op: OpId) {
        if rules.extras {
            self.keeps_extras(kernel, id, op);
        }
    }

    /// The causes of a request whose last page has completed: `last`, or none if an earlier completion counts as the last.
    #[inline(always)]
    pub(in crate::engine) fn extras_of(&self, kernel: &Kernel, rules: &Rules, id: RequestId, last: OpId) -> ExtraBlame {
        if rules.extras { self.has_extras(kernel, id, last) } else { ExtraBlame::default() }
    }
}
