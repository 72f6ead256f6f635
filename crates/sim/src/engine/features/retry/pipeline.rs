//! Attempts that overlap in a held die: while the data of one is on its way out, the array reads the next.
//!
//! The array of step k + 1 starts when that of step k has ended and the data of step k - 1 has left the register. At that moment the
//! data of step k asks for the bus; the command of step k + 1, if it takes time, goes before it.

use crate::blame::{Cause, Extra};
use crate::device::command::{Command, LegKind, Legs};
use crate::device::transaction::Class;
use crate::engine::features::retry::{
    array_time, count_legs, counter, decode_in_die, disturb, pass_on, release_others, run, spec,
};
use crate::engine::kernel::attempts::{Phase, Pipe};
use crate::engine::kernel::ops::Page;
use crate::engine::kernel::timers::Timer;
use crate::engine::{Nanos, Ssd};
use crate::units::OpId;

/// The first array read of a command has ended, and some of its pages are read again.
pub(super) fn begin(ssd: &mut Ssd, id: OpId) {
    let op = &mut ssd.kernel.ops[id];
    let burst = op.legs.get(op.leg + 1).map_or(Nanos::ZERO, |leg| leg.time);
    // Its last leg is still to come.
    let over = (0..=op.leg).filter_map(|i| op.legs.get(i));
    if op.class == Class::Gc {
        over.for_each(|leg| ssd.stats.gc_time.charge(op.verb, leg.kind, leg.time.0));
    }
    op.legs = Legs::NONE;
    let sequence = &mut ssd.kernel.ops.retry[id].command;
    sequence.phase = Phase::Piped;
    sequence.pipe = Pipe { first: true, burst, ..Pipe::NONE };
    move_on(ssd, id);
}

/// The data of a step is in the register, and the step before it has left it.
fn move_on(ssd: &mut Ssd, id: OpId) {
    let (set, now) = (spec(ssd).set, ssd.now);
    let sequence = &mut ssd.kernel.ops.retry[id].command;
    let more = sequence.unread().is_some();
    let pipe = &mut sequence.pipe;
    (pipe.ready, pipe.sending, pipe.asked) = (false, true, now);
    if more && set > Nanos::ZERO {
        pipe.setting = true;
        return run(ssd, id, Command::Transfer(set));
    }
    if more {
        start_array(ssd, id);
    }
    run(ssd, id, Command::Transfer(burst_of(ssd, id)));
}

/// Bus time of the data that leaves the register next.
fn burst_of(ssd: &Ssd, id: OpId) -> Nanos {
    let sequence = &ssd.kernel.ops.retry[id].command;
    if sequence.pipe.first { sequence.pipe.burst } else { sequence.current().burst }
}

/// The array reads the next page again.
fn start_array(ssd: &mut Ssd, id: OpId) {
    let Some(failing) = ssd.kernel.ops.retry[id].command.unread() else { return };
    failing.unread -= 1;
    let page = failing.page;
    ssd.kernel.ops.retry[id].command.pipe.reading = true;
    disturb(ssd, page);
    let (unit, time) = (ssd.kernel.ops[id].unit, array_time(ssd, page));
    ssd.observer.watch_array_start(ssd.now, unit);
    if ssd.kernel.ops[id].class == Class::Gc {
        ssd.stats.gc_time.charge(ssd.kernel.ops[id].verb, LegKind::Array, time.0);
    }
    ssd.kernel.timers.begin(Timer::Array(unit), ssd.now + time);
}

/// The array has read a page again.
pub(super) fn array_ends(ssd: &mut Ssd, id: OpId) {
    let pipe = &mut ssd.kernel.ops.retry[id].command.pipe;
    pipe.reading = false;
    pipe.ready = true;
    if !pipe.sending {
        move_on(ssd, id);
    }
}

/// A transfer has ended: of a command, whose array read starts, or of data.
pub(super) fn transfer_ends(ssd: &mut Ssd, id: OpId) -> bool {
    if std::mem::replace(&mut ssd.kernel.ops.retry[id].command.pipe.setting, false) {
        start_array(ssd, id);
        send_next(ssd, id);
        return true;
    }
    let host = ssd.kernel.ops[id].class.like_host();
    let sequence = &mut ssd.kernel.ops.retry[id].command;
    sequence.pipe.sending = false;
    let mut lead = id;
    if std::mem::replace(&mut sequence.pipe.first, false) {
        if host && !ssd.rules.units {
            lead = release_others(ssd, id);
        }
    } else {
        let failing = sequence.current_mut();
        failing.left -= 1;
        let (over, decode, page) = (failing.left == 0, failing.decode, failing.op);
        if over {
            sequence.at += 1;
            let (last, since) = (sequence.is_over(), sequence.since);
            if host {
                settle_all(ssd, page);
                if last {
                    return false;
                }
                lead = pass_on(ssd, id);
            } else if last {
                let held = (ssd.now - since).0;
                counter(ssd, id).took(held);
                decode_in_die(ssd, id, decode);
                return true;
            }
        }
    }
    if ssd.kernel.ops.retry[lead].command.pipe.ready {
        move_on(ssd, lead);
    }
    true
}

/// Data asked for the bus when the command before it did, so it goes next.
fn send_next(ssd: &mut Ssd, id: OpId) {
    let burst = burst_of(ssd, id);
    if burst == Nanos::ZERO {
        return run(ssd, id, Command::Transfer(burst));
    }
    count_legs(ssd, id);
    let legs = ssd.dev.timing.legs(Command::Transfer(burst));
    let op = &mut ssd.kernel.ops[id];
    (op.legs, op.leg) = (legs, 0);
    let bus = op.channel.ix();
    let asked = ssd.kernel.ops.retry[id].command.pipe.asked;
    ssd.ask_first(id, bus, asked);
}

/// A page, or a super page, whose units are one command, has been read for the last time.
fn settle_all(ssd: &mut Ssd, op: OpId) {
    settle(ssd, op);
    let mut at = if ssd.rules.units { ssd.kernel.ops[op].mate } else { OpId::NONE };
    while at.is_some() {
        settle(ssd, at);
        at = ssd.kernel.ops[at].mate;
    }
}

/// A page has been read for the last time. Its bus time is that of its first attempt, and what has not been a wait since its first
/// array read is time of retries.
fn settle(ssd: &mut Ssd, op: OpId) {
    let page = &ssd.kernel.ops.retry[op].page;
    let (since, waits, bus) = (page.since, page.waits, page.bus);
    // The command of the first attempt was before it.
    let first = page.first[1] - ssd.dev.timing.command().0;
    let (now, blame) = (ssd.now, &mut ssd.kernel.ops[Page(op)].blame);
    let spent = blame.get(Cause::Bus) - bus;
    let waited = blame.waits() - waits;
    blame.take_back(Cause::Bus, spent - first);
    ssd.kernel.charge_extra(op, Extra::Retry, (now - since).0 - waited - first);
}
