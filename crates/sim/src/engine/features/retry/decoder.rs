//! The decoder, whose pages take the time of their levels. It occupies nothing.

use crate::blame::{Cause, Extra};
use crate::device::transaction::Class;
use crate::engine::features::retry::{forget, refresh, spec};
use crate::engine::kernel::ops::Page;
use crate::engine::kernel::timers::Timer;
use crate::engine::{Nanos, Ssd};
use crate::units::OpId;

/// A page has left its die: it is decoded. `again`: decoding fails, and another attempt follows.
pub(super) fn decode(ssd: &mut Ssd, op: OpId, time: Nanos, again: bool) {
    match again {
        true => ssd.kernel.charge_extra(op, Extra::Retry, time.0),
        false => ssd.kernel.ops[Page(op)].blame.add(Cause::Decode, time.0),
    }
    if time == Nanos::ZERO {
        return is_decoded(ssd, op);
    }
    // By time, then by age: the order in which ends at one time are handled.
    let (end, age) = (ssd.now + time, ssd.kernel.ops[op].age);
    let (ops, decoding) = (&ssd.kernel.ops, &mut ssd.host.decoding);
    let place = decoding.partition_point(|(other, id)| (*other, ops[*id].age) < (end, age));
    decoding.insert(place, (end, op));
    if place == 0 {
        ssd.kernel.timers.set(Timer::Decoder, end);
    }
}

/// A page has been decoded. Returns whether the page goes on from here, as reads do that may be repeated. False where they are not.
#[inline(always)]
pub(in crate::engine) fn ends(ssd: &mut Ssd, op: OpId) -> bool {
    let retries = ssd.rules.retries;
    if retries {
        is_decoded(ssd, op);
    }
    retries
}

/// A page of a read that may be repeated has been decoded.
fn is_decoded(ssd: &mut Ssd, op: OpId) {
    if !spec(ssd).holds && ssd.kernel.ops.retry[op].page.left > 0 {
        return arrive(ssd, op);
    }
    refresh::note_read(ssd, op);
    forget(ssd, op);
    ssd.decoded(op);
}

/// Decoding an attempt has failed: the next one joins the queue of the die.
fn arrive(ssd: &mut Ssd, id: OpId) {
    if ssd.kernel.ops[id].class == Class::Cache && !ssd.features.fill_waits(&mut ssd.kernel, id) {
        return;
    }
    let plane = ssd.kernel.ops[id].plane;
    ssd.kernel.ops[id].waits_since = ssd.now;
    ssd.enqueue(id, plane, true);
}
