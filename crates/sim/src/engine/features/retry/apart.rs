//! Attempts that queue for the die one by one (`ecc.retry_holds = false`): each holds the die only for itself, and looks the map up
//! again when its turn comes.

use crate::device::command::Command;
use crate::device::transaction::Verb;
use crate::engine::features::retry::{charge_retry, decoder, spec, start_anew, super_pages};
use crate::engine::{Nanos, Ssd};
use crate::policy::PageSet;
use crate::units::{OpId, Ppn, UnitId};

/// Whether an operation waits to read its page again, so that it shares no command. None does where reads are not repeated.
#[inline(always)]
pub(in crate::engine) fn waits_to_repeat(ssd: &Ssd, op: OpId) -> bool {
    ssd.rules.retries && ssd.kernel.ops.retry[op].page.seen
}

/// An attempt at a page has left the die. Returns whether another one follows, after decoding.
pub(super) fn is_read_again(ssd: &mut Ssd, id: OpId) -> bool {
    let again = &mut ssd.kernel.ops.retry[id].page;
    let repeated = std::mem::replace(&mut again.repeated, false);
    if repeated {
        again.left -= 1;
        let legs = ssd.kernel.ops[id].legs;
        charge_retry(ssd, id, &legs);
    }
    let again = &ssd.kernel.ops.retry[id].page;
    let (left, decode) = (again.left, again.decode);
    if left == 0 {
        return false;
    }
    let leader = again.leader;
    ssd.dev.flash.read_ends(ssd.dev.geometry.block_of(ssd.kernel.ops[id].pages[0]));
    if leader.is_some() {
        super_pages::waits_with(ssd, id, leader, decode);
    } else {
        decoder::decode(ssd, id, decode, true);
    }
    true
}

/// The turn of a read has come, and its page is at `at`: another attempt begins. Returns false for a first attempt, also if the page
/// has moved, and where reads are not repeated.
#[inline(always)]
pub(in crate::engine) fn begin_again(ssd: &mut Ssd, id: OpId, at: Ppn, unit: UnitId) -> bool {
    ssd.rules.retries && begins_again(ssd, id, at, unit)
}

/// The same where reads are repeated.
#[inline(never)]
fn begins_again(ssd: &mut Ssd, id: OpId, at: Ppn, unit: UnitId) -> bool {
    let again = &ssd.kernel.ops.retry[id].page;
    if !again.seen {
        return false;
    }
    if again.page == at && ssd.dev.errors.as_ref().is_some_and(|model| model.born(at) == again.born) {
        ssd.kernel.ops.retry[id].page.repeated = true;
        let (set, array, burst) =
            (spec(ssd).set, super::array_time(ssd, at), ssd.kernel.read_burst(&ssd.dev, &ssd.rules, id));
        let legs = ssd.dev.timing.legs(Command::Retry { decode: Nanos::ZERO, set, array, burst });
        let op = &mut ssd.kernel.ops[id];
        (op.verb, op.pages, op.legs) = (Verb::Read, PageSet::one(at), legs);
        ssd.begin(id, unit);
        return true;
    }
    start_anew(ssd, id);
    false
}
