//! The end of a command's time in its die.

use crate::engine::Ssd;
use crate::engine::features::retry;
use crate::engine::kernel::dies::{Holder, Suspension};
use crate::units::OpId;

/// An operation that has waited for a cache register or for an array (R8): a read, or a program.
pub(in crate::engine) enum Unparked {
    Read(OpId),
    Program(OpId),
}

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
    match ssd.kernel.advance_cache(&mut ssd.features, &ssd.rules, ssd.now, unit) {
        Some(Unparked::Read(id)) if retry::unparks(ssd, id, unit) => {}
        Some(Unparked::Read(id)) => {
            ssd.kernel.ops[id].leg += 1;
            ssd.run_leg(id);
        }
        Some(Unparked::Program(id)) => ssd.run_leg(id),
        None => {}
    }
    let state = &ssd.kernel.dies[unit];
    if state.suspension() == Suspension::Serving {
        ssd.kernel.resume(&ssd.config, ssd.now, unit);
    } else if state.array().is_none() && state.cache().is_none() {
        ssd.kernel.set_holder(ssd.now, unit, Holder::Free);
    } else {
        ssd.kernel.rest_holds(&ssd.rules, ssd.now, unit);
    }
    ssd.features.die_serves_rest(&ssd.kernel, &ssd.rules, ssd.now, unit);
    ssd.kernel.dies.mark(unit);
}
