//! The end of a command's time in its die.

use crate::engine::Ssd;
use crate::engine::kernel::dies::{Holder, Suspension};
use crate::units::OpId;

/// A command of the host or of a group has run all its legs: it leaves its die.
#[inline(always)]
pub(in crate::engine) fn leave_die(ssd: &mut Ssd, id: OpId) {
    let op = &ssd.kernel.ops[id];
    let (unit, plane, bus_gc) = (op.unit, op.plane, op.bus_gc);
    let state = &mut ssd.kernel.dies[unit];
    if state.queue.head().is_some() {
        ssd.dev.map.expect(ssd.kernel.ops[state.queue.head()].lpn);
    }
    state.leave(id, ssd.now, bus_gc);
    ssd.kernel.chip_in_use(&ssd.dev, plane, false);
    ssd.advance_cache(unit);
    let state = &ssd.kernel.dies[unit];
    if state.suspension() == Suspension::Serving {
        ssd.kernel.resume(&ssd.config, ssd.now, unit);
    } else if state.array().is_none() && state.cache().is_none() {
        ssd.kernel.set_holder(ssd.now, unit, Holder::Free);
    } else if ssd.rules.buffers {
        let left = if state.array().is_some() { state.array() } else { state.cache() };
        ssd.kernel.set_holder(ssd.now, unit, ssd.kernel.holder_of(left));
    }
    if ssd.rules.tenants {
        let state = &ssd.kernel.dies[unit];
        ssd.features.die_serves(&ssd.kernel, ssd.now, unit, state.of_event());
    }
    ssd.kernel.dies.mark(unit);
}
