//! Causes of optional features ([`Extra`]): kept beside the others, on devices with such a feature only.

use super::Ssd;
use crate::blame::{Extra, ExtraBlame};
use crate::engine::kernel::Kernel;
use crate::units::{OpId, RequestId};

/// See the module's documentation.
#[derive(Clone, Default)]
pub(super) struct Extras {
    /// By request: those of its completed page that finished last so far.
    best: Vec<ExtraBlame>,
}

impl Kernel {
    /// Adds time to a cause of a page.
    pub(super) fn charge_extra(&mut self, op: OpId, cause: Extra, ns: u64) {
        self.ops.extras[op].blame.add(cause, ns);
    }
}

impl Ssd {
    /// A page has completed, the last one so far of a request that has more.
    #[inline(always)]
    pub(super) fn keep_extras(&mut self, id: RequestId, op: OpId) {
        if self.rules.extras {
            self.keeps_extras(id, op);
        }
    }

    #[inline(never)]
    fn keeps_extras(&mut self, id: RequestId, op: OpId) {
        let blame = self.kernel.ops.extras[op].blame;
        let Some(extras) = &mut self.features.extras else { return };
        let place = id.0 as usize;
        if extras.best.len() <= place {
            extras.best.resize(place + 1, ExtraBlame::default());
        }
        extras.best[place] = blame;
    }

    /// The causes of a request whose last page has completed: `last`, or none if an earlier completion counts as the last.
    #[inline(always)]
    pub(super) fn extras_of(&self, id: RequestId, last: OpId) -> ExtraBlame {
        if self.rules.extras { self.has_extras(id, last) } else { ExtraBlame::default() }
    }

    #[inline(never)]
    fn has_extras(&self, id: RequestId, last: OpId) -> ExtraBlame {
        match &self.features.extras {
            Some(extras) if last.is_none() => extras.best[id.0 as usize],
            _ => self.kernel.ops.extras[last].blame,
        }
    }
}
