//! Read retry: a page with many bit errors is read again, as often as its level of errors says (`ecc.levels`).
//!
//! A page's errors are looked up once, when its first attempt has left the die; where the next array read could begin before that
//! (`ecc.retry_pipelined`, R8), when its first array read has ended. They decide the level, and with it everything else
//! ([`ErrorModel::level`](crate::device::errors::ErrorModel::level)).
//!
//! | | module |
//! | --- | --- |
//! | the die is held (default): steps one after the other | this one |
//! | attempts that overlap | [`pipeline`] |
//! | attempts that queue for the die one by one | [`apart`] |
//! | the decoder, whose pages take different times | [`decoder`] |
//! | rewriting of pages with many errors | [`refresh`] |
//! | commands that read several units | [`super_pages`] |
//!
//! Functions that do not test it themselves are called only on devices with levels (`Rules::retries`).

pub(in crate::engine) mod apart;
pub(in crate::engine) mod decoder;
pub(in crate::engine) mod pipeline;
pub(in crate::engine) mod refresh;
pub(in crate::engine) mod super_pages;

use crate::blame::{Cause, Extra};
use crate::config::Config;
use crate::device::command::{Command, LegKind, Legs};
use crate::device::spec::RetrySpec;
use crate::device::transaction::{Class, Need, Op, Verb};
use crate::engine::features::cache::points as cache;
use crate::engine::kernel::attempts::{Again, Attempts, Failing, Phase, Sequence};
use crate::engine::kernel::ops::Page;
use crate::engine::kernel::tables::Blank;
use crate::engine::{Nanos, Ssd};
use crate::policy::MAX_PLANES;
use crate::report::ecc::RetryCounter;
use crate::units::{Moment, OpId, Ppn, UnitId};

/// State of the feature.
#[derive(Clone)]
pub(in crate::engine) struct Retry {
    spec: RetrySpec,
    /// Pages that are to be rewritten.
    pub(in crate::engine) refresh: refresh::Refresh,
}

impl Retry {
    /// None if reads are not repeated.
    pub(in crate::engine) fn new(config: &Config, units: u32) -> Option<Box<Self>> {
        let spec = config.ecc.retry_spec(config.timing.command)?;
        Some(Box::new(Retry { spec, refresh: refresh::Refresh::new(units) }))
    }

    /// The device has another configuration from now on, with the same levels.
    pub(in crate::engine) fn follow(&mut self, config: &Config) {
        if let Some(spec) = config.ecc.retry_spec(config.timing.command) {
            self.spec = spec;
        }
    }
}

fn spec(ssd: &Ssd) -> RetrySpec {
    ssd.features.retry.as_ref().expect("reads are repeated").spec
}

/// Counts of an operation that is not the host's.
fn counter(ssd: &mut Ssd, id: OpId) -> &mut RetryCounter {
    let retries = &mut ssd.stats.ecc.retries;
    if ssd.kernel.ops[id].class == Class::Refresh { &mut retries.refresh } else { &mut retries.gc }
}

/// Whether an operation reads pages that are decoded.
fn is_decoded(op: &Op) -> bool {
    op.verb == Verb::Read && !matches!(op.class, Class::Metadata | Class::Replica | Class::Writeback)
}

/// The pages of a read command, with the operations of those of the host.
fn pages_of(ssd: &Ssd, id: OpId) -> impl Iterator<Item = (OpId, Ppn)> + use<> {
    let (mut all, mut count) = ([(OpId::NONE, Ppn::NONE); MAX_PLANES], 0);
    let op = &ssd.kernel.ops[id];
    if op.class.like_host() {
        let mut at = id;
        while at.is_some() {
            all[count] = (at, ssd.kernel.ops[at].pages[0]);
            count += 1;
            at = ssd.kernel.ops[at].mate;
        }
    } else {
        for page in op.pages.iter() {
            all[count] = (OpId::NONE, *page);
            count += 1;
        }
    }
    all.into_iter().take(count)
}

/// Looks up the errors of a page of the host, whose first attempt had these legs.
fn look(ssd: &mut Ssd, op: OpId, first: &Legs) {
    let page = ssd.kernel.ops[op].pages[0];
    let Some(model) = &ssd.dev.errors else { return };
    let errors = model.errors(page, ssd.dev.geometry.block_of(page), ssd.now);
    let level = model.level(errors);
    let blame = &ssd.kernel.ops[Page(op)].blame;
    let again = Again {
        seen: true,
        page,
        born: model.born(page),
        errors,
        left: level.retries as u16,
        steps: level.retries as u16,
        decode: level.decode,
        since: ssd.now,
        waits: blame.waits(),
        bus: blame.get(Cause::Bus),
        first: [first.time_of(LegKind::Array).0, first.time_of(LegKind::Bus).0],
        repeated: false,
        leader: OpId::NONE,
    };
    ssd.kernel.ops.retry[op].page = again;
}

/// Looks up the errors of all pages of a command, and lists those that are read again, by plane.
fn look_all(ssd: &mut Ssd, id: OpId) {
    if ssd.rules.units {
        return super_pages::look_all(ssd, id);
    }
    let (legs, now) = (ssd.kernel.ops[id].legs, ssd.now);
    let mut sequence = Sequence::NONE;
    (sequence.seen, sequence.since) = (true, now);
    for (op, page) in pages_of(ssd, id) {
        if op.is_some() && !ssd.kernel.ops.retry[op].page.seen {
            look(ssd, op, &legs);
        }
        let (retries, time, burst) = if op.is_some() {
            let again = &ssd.kernel.ops.retry[op].page;
            (again.left, again.decode, ssd.kernel.read_burst(&ssd.dev, &ssd.rules, op))
        } else {
            let Some(model) = &ssd.dev.errors else { continue };
            let level = model.level(model.errors(page, ssd.dev.geometry.block_of(page), now));
            (level.retries as u16, level.decode, ssd.dev.timing.page())
        };
        sequence.decode = sequence.decode + time;
        if op.is_none() {
            counter(ssd, id).read(retries.into());
        }
        if retries > 0 {
            sequence.add(Failing {
                op,
                page,
                left: retries,
                unread: retries,
                decode: time,
                decoded_at: now + time,
                burst,
            });
        }
    }
    let geometry = &ssd.dev.geometry;
    sequence.failing_mut().sort_unstable_by_key(|failing| geometry.plane_of(failing.page));
    ssd.kernel.ops.retry[id].command = sequence;
}

/// The legs of an operation have ended. Returns whether it goes on: its pages are decoded in the die, or read again.
#[inline(never)]
pub(in crate::engine) fn legs_end(ssd: &mut Ssd, id: OpId) -> bool {
    if !is_decoded(&ssd.kernel.ops[id]) {
        return false;
    }
    match ssd.kernel.ops.retry[id].command.phase {
        Phase::First => first_ends(ssd, id),
        Phase::Steps => step_ends(ssd, id),
        Phase::Piped => pipeline::transfer_ends(ssd, id),
        Phase::Last => {
            ssd.kernel.ops.retry[id].command = Sequence::NONE;
            false
        }
    }
}

/// The data of a command's first attempt has left the die.
fn first_ends(ssd: &mut Ssd, id: OpId) -> bool {
    let host = ssd.kernel.ops[id].class.like_host();
    if host && !spec(ssd).holds {
        // Each page, or super page of units, decides by itself.
        if ssd.rules.units && !ssd.kernel.ops.retry[id].page.seen {
            super_pages::look_all(ssd, id);
        }
        ssd.kernel.ops.retry[id].command = Sequence::NONE;
        return false;
    }
    if !ssd.kernel.ops.retry[id].command.seen {
        look_all(ssd, id);
    }
    let decode = ssd.kernel.ops.retry[id].command.decode;
    if ssd.kernel.ops.retry[id].command.failing().is_empty() {
        if host || decode == Nanos::ZERO {
            ssd.kernel.ops.retry[id].command = Sequence::NONE;
            return false;
        }
        decode_in_die(ssd, id, decode);
        return true;
    }
    let lead = if host && !ssd.rules.units { release_others(ssd, id) } else { id };
    let sequence = &mut ssd.kernel.ops.retry[lead].command;
    sequence.phase = Phase::Steps;
    if !host {
        // All pages are decoded one after the other before the first is read again.
        let now = ssd.now;
        let failing = sequence.failing_mut();
        failing.iter_mut().for_each(|failing| failing.decoded_at = now + decode);
    }
    begin_step(ssd, lead);
    true
}

/// The last leg of a move's read: its pages are decoded while it holds the die.
fn decode_in_die(ssd: &mut Ssd, id: OpId, time: Nanos) {
    ssd.kernel.ops.retry[id].command.phase = Phase::Last;
    run(ssd, id, Command::Decode(time));
}

/// Gives a command its next legs, and runs them. The time of those before is counted.
fn run(ssd: &mut Ssd, id: OpId, command: Command<'_>) {
    count_legs(ssd, id);
    let legs = ssd.dev.timing.legs(command);
    let op = &mut ssd.kernel.ops[id];
    (op.legs, op.leg) = (legs, 0);
    ssd.run_leg(id);
}

/// Counts the time of legs that have ended.
#[inline(never)]
fn count_legs(ssd: &mut Ssd, id: OpId) {
    ssd.kernel.count_time(&mut ssd.stats, id);
}

/// Array time of a retry of a page.
fn array_time(ssd: &Ssd, page: Ppn) -> Nanos {
    spec(ssd).read.unwrap_or_else(|| ssd.dev.timing.reads(std::slice::from_ref(&ssd.dev.place(page))))
}

/// The block of a page is read again.
fn disturb(ssd: &mut Ssd, page: Ppn) {
    let block = ssd.dev.geometry.block_of(page);
    if let Some(model) = &mut ssd.dev.errors {
        model.read(block);
    }
}

/// The next retry of a command that holds its die.
fn begin_step(ssd: &mut Ssd, id: OpId) {
    let failing = *ssd.kernel.ops.retry[id].command.current();
    let decode = Nanos(failing.decoded_at.0.saturating_sub(ssd.now.0));
    let (set, array) = (spec(ssd).set, array_time(ssd, failing.page));
    disturb(ssd, failing.page);
    run(ssd, id, Command::Retry { decode, set, array, burst: failing.burst });
}

/// What the legs of a retry have cost a page was charged as if they were those of a first attempt.
fn charge_retry(ssd: &mut Ssd, op: OpId, legs: &Legs) {
    let times = [
        (Cause::Array, legs.time_of(LegKind::Array).0),
        (Cause::Bus, legs.time_of(LegKind::Bus).0),
        (Cause::Decode, legs.time_of(LegKind::Decode).0),
    ];
    let blame = &mut ssd.kernel.ops[Page(op)].blame;
    times.iter().for_each(|(cause, ns)| blame.take_back(*cause, *ns));
    ssd.kernel.charge_extra(op, Extra::Retry, times.iter().map(|(_, ns)| ns).sum());
}

/// The data of a retry has left the held die.
fn step_ends(ssd: &mut Ssd, id: OpId) -> bool {
    let (legs, now) = (ssd.kernel.ops[id].legs, ssd.now);
    let host = ssd.kernel.ops[id].class.like_host();
    if host {
        let mut at = id;
        while at.is_some() {
            charge_retry(ssd, at, &legs);
            at = ssd.kernel.ops[at].mate;
        }
    }
    let sequence = &mut ssd.kernel.ops.retry[id].command;
    let failing = sequence.current_mut();
    failing.left -= 1;
    failing.decoded_at = now + failing.decode;
    if failing.left > 0 {
        begin_step(ssd, id);
        return true;
    }
    let (decode, since) = (failing.decode, sequence.since);
    sequence.at += 1;
    let last = sequence.is_over();
    if host {
        return !last && {
            let next = pass_on(ssd, id);
            begin_step(ssd, next);
            true
        };
    }
    if last {
        counter(ssd, id).took((now - since).0);
        decode_in_die(ssd, id, decode);
    } else {
        begin_step(ssd, id);
    }
    true
}

/// Pages of the host that are not read again leave a command that holds its die. Returns the operation that leads it from now on.
fn release_others(ssd: &mut Ssd, id: OpId) -> OpId {
    let others = pages_of(ssd, id).filter(|(op, _)| ssd.kernel.ops.retry[*op].page.left == 0);
    let others: [OpId; MAX_PLANES] = collect(others.map(|(op, _)| op));
    let sequence = ssd.kernel.ops.retry[id].command;
    let mut next = OpId::NONE;
    for failing in sequence.failing().iter().rev() {
        ssd.kernel.ops[failing.op].mate = next;
        next = failing.op;
    }
    hand_over(ssd, id, next);
    for op in others.into_iter().filter(|op| op.is_some()) {
        ssd.kernel.ops[op].mate = OpId::NONE;
        leave(ssd, op);
    }
    next
}

fn collect(ops: impl Iterator<Item = OpId>) -> [OpId; MAX_PLANES] {
    let mut all = [OpId::NONE; MAX_PLANES];
    all.iter_mut().zip(ops).for_each(|(place, op)| *place = op);
    all
}

/// The first page of a command has been read for the last time: it leaves, and the next one leads. Returns that.
fn pass_on(ssd: &mut Ssd, id: OpId) -> OpId {
    let next = std::mem::replace(&mut ssd.kernel.ops[id].mate, OpId::NONE);
    hand_over(ssd, id, next);
    leave(ssd, id);
    next
}

/// A page leaves a command that goes on.
#[inline(never)]
fn leave(ssd: &mut Ssd, op: OpId) {
    ssd.page_ends(op);
}

/// Another page of a command leads it from now on.
fn hand_over(ssd: &mut Ssd, from: OpId, to: OpId) {
    if from == to {
        return;
    }
    let sequence = std::mem::replace(&mut ssd.kernel.ops.retry[from].command, Sequence::NONE);
    ssd.kernel.ops.retry[to].command = sequence;
    let old = &ssd.kernel.ops[from];
    let (unit, channel, legs, leg, bus_gc) = (old.unit, old.channel, old.legs, old.leg, old.bus_gc);
    let op = &mut ssd.kernel.ops[to];
    (op.unit, op.channel, op.legs, op.leg, op.bus_gc) = (unit, channel, legs, leg, bus_gc);
    // A read that is repeated stays in the array.
    ssd.kernel.dies[unit].occupy(to);
}

/// The array or the decoder in a die has finished with a read. Returns whether nothing else is to be done: the next leg runs, or the
/// page waits. False where reads are not repeated.
#[inline(always)]
pub(in crate::engine) fn array_ends(ssd: &mut Ssd, unit: UnitId) -> bool {
    ssd.rules.retries && array_of_read_ends(ssd, unit)
}

/// The same where reads may be repeated.
#[inline(never)]
fn array_of_read_ends(ssd: &mut Ssd, unit: UnitId) -> bool {
    let id = ssd.kernel.dies[unit].array();
    let op = &ssd.kernel.ops[id];
    if !is_decoded(op) {
        return false;
    }
    let host = op.class.like_host();
    match ssd.kernel.ops.retry[id].command.phase {
        Phase::Steps | Phase::Last => {
            go_on(ssd, id);
            return true;
        }
        Phase::Piped => {
            pipeline::array_ends(ssd, id);
            return true;
        }
        Phase::First => {}
    }
    let register = host && ssd.config.timing.cache_register;
    if ssd.kernel.ops.retry[id].page.repeated {
        // No other read overlaps it.
        go_on(ssd, id);
        return true;
    }
    if !(spec(ssd).pipelined || register) {
        return false;
    }
    look_all(ssd, id);
    if ssd.kernel.ops.retry[id].command.failing().is_empty() {
        return false;
    }
    if register && ssd.kernel.dies[unit].cache().is_some() {
        park(ssd, id, unit);
    } else {
        leave_array(ssd, id);
    }
    true
}

fn go_on(ssd: &mut Ssd, id: OpId) {
    ssd.kernel.ops[id].leg += 1;
    ssd.run_leg(id);
}

/// R8: a page that is read again waits for the register, which an earlier page holds on its way to the bus.
fn park(ssd: &mut Ssd, id: OpId, unit: UnitId) {
    let (now, bus) = (ssd.now, ssd.kernel.ops[id].channel.ix());
    ssd.kernel.dies[unit].park();
    let ledger = ssd.kernel.buses[bus].gc(now);
    let op = &mut ssd.kernel.ops[id];
    op.parked_since = Some(Moment::at(now));
    (op.bus_since, op.bus_ledger) = (now, ledger);
    ssd.kernel.shares_at_bus(&ssd.features, &ssd.rules, ssd.now, id, bus);
}

/// R8: the register is free for a read that waits in the array. Returns whether that read keeps the array, and has gone on. It leaves the
/// array where reads are not repeated.
#[inline(always)]
pub(in crate::engine) fn unparks(ssd: &mut Ssd, id: OpId, unit: UnitId) -> bool {
    ssd.rules.retries && stays_in_array(ssd, id, unit)
}

/// The same where reads are repeated.
#[inline(never)]
fn stays_in_array(ssd: &mut Ssd, id: OpId, unit: UnitId) -> bool {
    if ssd.kernel.ops.retry[id].command.failing().is_empty() {
        return false;
    }
    // No other read overlaps it, so it stays in the array.
    ssd.kernel.dies[unit].unpark_program();
    leave_array(ssd, id);
    true
}

/// The page of a first attempt, which will be read again, leaves the array for the bus.
fn leave_array(ssd: &mut Ssd, id: OpId) {
    if spec(ssd).pipelined { pipeline::begin(ssd, id) } else { go_on(ssd, id) }
}

/// A page of a read command of the host has left the die. Returns whether it was handled here: all reads are.
#[inline(never)]
pub(in crate::engine) fn page_ends(ssd: &mut Ssd, id: OpId) -> bool {
    let (need, page, legs) = (ssd.kernel.ops[id].need, ssd.kernel.ops[id].pages[0], ssd.kernel.ops[id].legs);
    if !matches!(need, Need::Read | Need::Merge) {
        return false;
    }
    if !ssd.kernel.ops.retry[id].page.seen {
        look(ssd, id, &legs);
    }
    if !spec(ssd).holds && apart::is_read_again(ssd, id) {
        return true;
    }
    let Again { errors, decode, steps, leader, .. } = ssd.kernel.ops.retry[id].page;
    let good = ssd.dev.errors.as_ref().is_none_or(|model| model.corrects(errors));
    if ssd.rules.units && need == Need::Merge {
        super_pages::fill_ends(ssd, id);
    } else {
        ssd.stats.ecc.decoded(errors, good);
    }
    let spent = ssd.kernel.ops.extras[id].blame.0[Extra::Retry as usize];
    if leader.is_none() {
        let counters = &mut ssd.stats.ecc.retries.host;
        counters.read(steps.into());
        counters.took(spent);
    }
    if need == Need::Read {
        cache::is_read(ssd, id, good);
        ssd.dev.end_read(&ssd.kernel, &mut ssd.host, &ssd.oracle, id, good);
    } else {
        ssd.dev.flash.read_ends(ssd.dev.geometry.block_of(page));
        ssd.kernel.ops[id].lost = !good;
    }
    decoder::decode(ssd, id, decode, false);
    true
}

/// A page has moved: attempts at its former place are repetitions.
fn start_anew(ssd: &mut Ssd, id: OpId) {
    let [array, bus] = ssd.kernel.ops.retry[id].page.first;
    let blame = &mut ssd.kernel.ops[Page(id)].blame;
    blame.take_back(Cause::Array, array);
    blame.take_back(Cause::Bus, bus);
    ssd.kernel.charge_extra(id, Extra::Retry, array + bus);
    forget(ssd, id);
}

/// Forgets what a read has seen: it is over.
fn forget(ssd: &mut Ssd, id: OpId) {
    ssd.kernel.ops.retry[id] = Attempts::blank();
}
