//! Programs that fail: the operation keeps its die and programs the next page of its write point.
//!
//! A failed program takes its time and counts. Pages that a command programmed beside the failed one leave it; those that failed are
//! programmed one after the other.

use crate::device::command::Command;
use crate::device::flash::Stream;
use crate::device::transaction::{Class, Need, Verb};
use crate::engine::Nanos;
use crate::engine::Ssd;
use crate::engine::features::slc::steps;
use crate::engine::features::streams::count_program;
use crate::engine::spine::release::leave_die;
use crate::policy::PageSet;
use crate::units::{OpId, Ppn};

/// The legs of an operation have ended. Returns whether it goes on, or waits for a page, because a program has failed.
#[inline(never)]
pub(in crate::engine) fn legs_end(ssd: &mut Ssd, id: OpId) -> bool {
    match (ssd.kernel.ops[id].class, ssd.kernel.ops[id].verb) {
        (_, Verb::Read | Verb::Erase) => false,
        (Class::Host | Class::Cache, _) => host_ends(ssd, id),
        (Class::Gc | Class::Fold | Class::Refresh, _) => step_ends(ssd, id),
        (Class::Parity | Class::Metadata | Class::Writeback | Class::Replica, _) => {
            unreachable!("refused beside programs that fail")
        }
    }
}

/// A program has failed: its block takes no more pages, and is to be emptied.
pub(super) fn fail(ssd: &mut Ssd, page: Ppn) {
    let plane = ssd.dev.geometry.plane_of(page);
    ssd.dev.flash.fail(page);
    ssd.features.note_retired(&mut ssd.dev, &ssd.stats, ssd.now);
    // A spare block has joined.
    ssd.unstall(plane);
}

/// A program of a collection, a fold or a refresh has ended: if it has failed, it is repeated.
fn step_ends(ssd: &mut Ssd, id: OpId) -> bool {
    let (page, class, verb) = (ssd.kernel.ops[id].pages[0], ssd.kernel.ops[id].class, ssd.kernel.ops[id].verb);
    if !ssd.dev.flash.fails(page) {
        return false;
    }
    law_eq!(ssd.kernel.ops[id].pages.len(), 1, "law: programs that fail are those of single pages");
    let plane = ssd.dev.geometry.plane_of(page);
    ssd.kernel.count_time(&mut ssd.stats, id);
    fail(ssd, page);
    let from = ssd.kernel.ops[id].from[0];
    let to = match class {
        Class::Fold => steps::next_page(ssd, id, plane, from),
        Class::Refresh => {
            let source = ssd.dev.geometry.block_of(from);
            let Some(to) = ssd.dev.flash.take_beside_gc(source) else { return drop_refresh(ssd, id) };
            to
        }
        _ => {
            let stream = ssd.gc.jobs[ssd.kernel.ops[id].job.0].stream;
            ssd.dev.gc_page(&ssd.rules, plane, stream, verb == Verb::Copyback)
        }
    };
    let places = (ssd.dev.place(from), ssd.dev.place(to));
    let legs = if verb == Verb::Copyback {
        ssd.stats.count_copybacks(1);
        let times = ssd.dev.timing.copyback(&[places.0], &[places.1]);
        if class == Class::Gc {
            ssd.stats.gc_time.read += times.read.0;
            ssd.stats.gc_time.program += times.program.0;
        }
        ssd.dev.timing.legs(Command::Copyback(times))
    } else {
        ssd.stats.count_programs(class, 1);
        ssd.dev.timing.legs(Command::Program { pages: &[places.1], burst: ssd.dev.timing.page() })
    };
    let op = &mut ssd.kernel.ops[id];
    (op.pages, op.legs, op.leg) = (PageSet::one(to), legs, 0);
    ssd.run_leg(id);
    true
}

/// The plane has no page for a page that was to be rewritten: it stays where it is.
fn drop_refresh(ssd: &mut Ssd, id: OpId) -> bool {
    let op = &ssd.kernel.ops[id];
    let (unit, plane, from) = (op.unit, op.plane, op.from[0]);
    ssd.stats.ecc.refresh.dropped += 1;
    ssd.dev.flash.read_ends(ssd.dev.geometry.block_of(from));
    ssd.kernel.ops.remove(id);
    ssd.kernel.stop(&ssd.dev, ssd.now, unit, plane);
    ssd.test_trigger(plane);
    true
}

/// A program of the host has ended. Pages that did not fail leave the command; the others are programmed again.
fn host_ends(ssd: &mut Ssd, id: OpId) -> bool {
    if ssd.kernel.ops[id].need != Need::Write {
        return false;
    }
    let failed = |ssd: &Ssd, op: OpId| {
        let pages = &ssd.kernel.ops[op].pages;
        // A page that waits for its turn has none.
        pages.is_empty() || ssd.dev.flash.fails(pages[0])
    };
    let (mut good, mut rest) = (Vec::new(), Vec::new());
    let mut at = id;
    while at.is_some() {
        if failed(ssd, at) {
            rest.push(at)
        } else {
            good.push(at)
        }
        at = ssd.kernel.ops[at].mate;
    }
    let Some(lead) = rest.first().copied() else { return false };
    for op in &rest {
        if !ssd.kernel.ops[*op].pages.is_empty() {
            let page = ssd.kernel.ops[*op].pages[0];
            fail(ssd, page);
            ssd.kernel.ops[*op].pages = PageSet::EMPTY;
        }
    }
    hand_over(ssd, id, lead);
    for (n, op) in rest.iter().enumerate() {
        ssd.kernel.ops[*op].mate = rest.get(n + 1).copied().unwrap_or(OpId::NONE);
    }
    for op in good {
        ssd.kernel.ops[op].mate = OpId::NONE;
        ssd.page_ends(op);
    }
    program_again(ssd, lead);
    true
}

/// Another page of a command leads it from now on.
fn hand_over(ssd: &mut Ssd, from: OpId, to: OpId) {
    if from == to {
        return;
    }
    let old = &ssd.kernel.ops[from];
    let (unit, channel, bus_gc) = (old.unit, old.channel, old.bus_gc);
    let op = &mut ssd.kernel.ops[to];
    (op.unit, op.channel, op.bus_gc) = (unit, channel, bus_gc);
    ssd.kernel.dies[unit].occupy(to);
}

/// The first of the pages of a command that are programmed again takes the next page of its write point. Without one, all wait.
fn program_again(ssd: &mut Ssd, id: OpId) {
    let plane = ssd.kernel.ops[id].plane;
    let stream = if ssd.rules.streams { ssd.kernel.ops.host_stream(id) } else { Stream::Host };
    let Some(to) = ssd.dev.flash.take_page(plane, stream, false) else {
        return wait_for_page(ssd, id);
    };
    let burst: Nanos = ssd.dev.timing.page();
    let legs = ssd.dev.timing.legs(Command::Program { pages: &[ssd.dev.place(to)], burst });
    count_program(&mut ssd.features, &ssd.dev.flash, (&ssd.kernel.ops, &ssd.host.requests), &ssd.rules, id, to);
    if ssd.host.count_host(&ssd.kernel, &mut ssd.stats, id, 1) {
        ssd.features.tenants_write(&ssd.kernel, &ssd.dev, &ssd.rules, id);
    }
    let op = &mut ssd.kernel.ops[id];
    (op.verb, op.pages, op.legs, op.leg) = (Verb::Program, PageSet::one(to), legs, 0);
    ssd.kernel.count_by_type(&ssd.dev, &ssd.host, &ssd.features, &mut ssd.stats, &ssd.rules, id);
    ssd.run_leg(id);
}

/// The pages of a command find none in their plane: they leave the die, and wait for space.
fn wait_for_page(ssd: &mut Ssd, id: OpId) {
    leave_die(ssd, id);
    let mut at = id;
    while at.is_some() {
        let next = std::mem::replace(&mut ssd.kernel.ops[at].mate, OpId::NONE);
        let plane = ssd.kernel.ops[at].plane;
        ssd.kernel.begin_stall(&ssd.host, &mut ssd.stats, ssd.now, at);
        ssd.gc.planes[plane.ix()].stalled.push(&mut ssd.kernel.ops, at);
        ssd.claim(plane);
        at = next;
    }
}
