//! Reads of units: a command reads one super page, and is repeated as a whole. The flash page with the most bit errors decides how
//! often, and how long each attempt is decoded; whether a unit could be corrected, its own page says.

use crate::blame::Extra;
use crate::device::command::{Command, LegKind};
use crate::device::transaction::{Class, Verb};
use crate::engine::Ssd;
use crate::engine::features::retry::{array_time, forget, look, spec, start_anew};
use crate::engine::kernel::attempts::{Failing, Sequence};
use crate::policy::PageSet;
use crate::units::{Nanos, OpId, Ppn, UnitId};

/// The operations whose units a command of the host or of the write cache reads.
fn readers(ssd: &Ssd, id: OpId) -> Vec<OpId> {
    let op = &ssd.kernel.ops[id];
    if op.class == Class::Cache {
        return ssd.features.carriers(&ssd.kernel, id);
    }
    let next = |op: &OpId| Some(ssd.kernel.ops[*op].mate).filter(|mate| mate.is_some());
    std::iter::successors(Some(id), next).collect()
}

/// The most errors of a super page whose valid units are moved, and its flash pages with such units.
fn errors_of_move(ssd: &Ssd, id: OpId) -> (u32, u64) {
    let (op, geometry) = (&ssd.kernel.ops[id], &ssd.dev.geometry);
    let (first, bits) = (op.from[0], ssd.gc.jobs[op.job.0].units);
    let slots = (0..u64::BITS).filter(|place| bits >> place & 1 == 1).map(|place| Ppn(first.0 + place));
    let (mut worst, mut pages, mut last) = (0, 0, u32::MAX);
    for slot in slots {
        let page = slot.0 / geometry.slots.per_page;
        pages += u64::from(page != last);
        last = page;
        let Some(model) = &ssd.dev.errors else { continue };
        worst = worst.max(model.errors(slot, geometry.block_of(slot), ssd.now));
    }
    (worst, pages)
}

/// Looks up the errors of all units of a command, and whether it is repeated.
pub(super) fn look_all(ssd: &mut Ssd, id: OpId) {
    let (legs, host) = (ssd.kernel.ops[id].legs, ssd.kernel.ops[id].class.like_host());
    let (worst, decoded) = if host {
        let mut worst = 0;
        for op in readers(ssd, id) {
            look(ssd, op, &legs);
            worst = worst.max(ssd.kernel.ops.retry[op].page.errors);
        }
        (worst, 1)
    } else {
        // A collection decodes one page after the other.
        errors_of_move(ssd, id)
    };
    let Some(level) = ssd.dev.errors.as_ref().map(|model| model.level(worst)) else { return };
    let decode = Nanos(level.decode.0 * decoded);
    if host {
        look(ssd, id, &legs);
        for op in readers(ssd, id).into_iter().chain([id]) {
            let again = &mut ssd.kernel.ops.retry[op].page;
            (again.left, again.steps, again.decode) = (level.retries as u16, level.retries as u16, decode);
            again.leader = if op == id { OpId::NONE } else { id };
        }
    } else {
        super::counter(ssd, id).read(level.retries as usize);
    }
    let mut sequence = Sequence::NONE;
    (sequence.seen, sequence.since, sequence.decode) = (true, ssd.now, decode);
    if level.retries > 0 {
        let command = ssd.dev.timing.command();
        sequence.add(Failing {
            op: if host { id } else { OpId::NONE },
            page: ssd.kernel.ops[id].pages[0],
            left: level.retries as u16,
            unread: level.retries as u16,
            decode,
            decoded_at: ssd.now + decode,
            burst: legs.time_of(LegKind::Bus) - command,
        });
    }
    ssd.kernel.ops.retry[id].command = sequence;
}

/// An attempt at a unit has left the die, and another one follows when its super page has been decoded: together with the unit that
/// leads them.
pub(super) fn waits_with(ssd: &mut Ssd, id: OpId, leader: OpId, decode: Nanos) {
    ssd.kernel.charge_extra(id, Extra::Retry, decode.0);
    let mut last = leader;
    while ssd.kernel.ops[last].mate.is_some() {
        last = ssd.kernel.ops[last].mate;
    }
    ssd.kernel.ops[last].mate = id;
}

/// Whether units still are where they were read before, with the same content.
fn are_in_place(ssd: &Ssd, mut units: impl Iterator<Item = (OpId, Ppn)>) -> bool {
    units.all(|(op, slot)| {
        let again = &ssd.kernel.ops.retry[op].page;
        let born = ssd.dev.errors.as_ref().map(|model| model.born(slot));
        again.seen && again.page == slot && born == Some(again.born)
    })
}

/// Bus time of slots of a super page, each with its bytes.
fn burst_of(ssd: &mut Ssd, slots: &mut [(Ppn, u32)]) -> Nanos {
    slots.sort_unstable();
    let per = ssd.dev.geometry.slots.per_super_page;
    let (burst, pages) = ssd.dev.timing.units(slots.iter().map(|(slot, bytes)| (slot.0 % per, *bytes)));
    ssd.features.note_pages(pages);
    burst
}

/// The turn of a read of units has come, and they are in one super page: another attempt begins. Returns false for a first attempt,
/// also if they are not where they were. `slots`: their slots and bytes.
#[inline(never)]
pub(in crate::engine) fn begin_again(
    ssd: &mut Ssd,
    read: &[(OpId, Ppn)],
    slots: &mut [(Ppn, u32)],
    unit: UnitId,
) -> bool {
    if !are_in_place(ssd, read.iter().copied()) {
        for (op, _) in read {
            if ssd.kernel.ops.retry[*op].page.seen {
                start_anew(ssd, *op);
            }
        }
        return false;
    }
    let (first, burst) = (read[0].0, burst_of(ssd, slots));
    let (set, array) = (spec(ssd).set, array_time(ssd, slots[0].0));
    let legs = ssd.dev.timing.legs(Command::Retry { decode: Nanos::ZERO, set, array, burst });
    for (op, slot) in read {
        let again = &mut ssd.kernel.ops.retry[*op].page;
        again.repeated = true;
        again.leader = if *op == first { OpId::NONE } else { first };
        let record = &mut ssd.kernel.ops[*op];
        (record.verb, record.pages, record.legs) = (Verb::Read, PageSet::one(*slot), legs);
    }
    ssd.begin(first, unit);
    true
}

/// The same for the read of what lines lack.
#[inline(never)]
pub(in crate::engine) fn begin_fill_again(ssd: &mut Ssd, id: OpId, slots: &mut [(Ppn, u32)], unit: UnitId) -> bool {
    if !ssd.kernel.ops.retry[id].page.seen {
        return false;
    }
    let units: Vec<(OpId, Ppn)> =
        readers(ssd, id).into_iter().map(|carrier| (carrier, ssd.kernel.ops[carrier].pages[0])).collect();
    if !are_in_place(ssd, units.iter().copied()) {
        units.iter().for_each(|(carrier, _)| forget(ssd, *carrier));
        start_anew(ssd, id);
        return false;
    }
    let burst = burst_of(ssd, slots);
    let (set, array) = (spec(ssd).set, array_time(ssd, slots[0].0));
    let legs = ssd.dev.timing.legs(Command::Retry { decode: Nanos::ZERO, set, array, burst });
    ssd.kernel.ops.retry[id].page.repeated = true;
    ssd.dev.array_reads(ssd.dev.geometry.block_of(slots[0].0));
    let op = &mut ssd.kernel.ops[id];
    (op.verb, op.pages, op.legs) = (Verb::Read, PageSet::one(slots[0].0), legs);
    ssd.kernel.ops.cached[id].serving = true;
    ssd.begin(id, unit);
    true
}

/// The slots that are read for lines have left the die for the last time: those that could not be corrected are lost.
pub(super) fn fill_ends(ssd: &mut Ssd, id: OpId) {
    for carrier in readers(ssd, id) {
        let errors = ssd.kernel.ops.retry[carrier].page.errors;
        let good = ssd.dev.errors.as_ref().is_none_or(|model| model.corrects(errors));
        ssd.stats.ecc.decoded(errors, good);
        ssd.kernel.ops[carrier].lost = !good;
        forget(ssd, carrier);
    }
}
