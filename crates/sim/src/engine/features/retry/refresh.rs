//! Refresh: pages that a read has found with many bit errors are rewritten by dies that have nothing else to do (`ecc.refresh`).
//!
//! A refresh holds its die from its read, which may be repeated, to the end of its program. It never takes a page of the reserve.

use std::collections::{BTreeSet, VecDeque};

use crate::device::command::Command;
use crate::device::mapping::Location;
use crate::device::transaction::{Class, Need, Op, Verb};
use crate::engine::Ssd;
use crate::engine::features::retry::spec;
use crate::engine::kernel::ops::Page;
use crate::policy::PageSet;
use crate::units::{JobId, Lpn, Nanos, OpId, Ppn, UnitId};

/// A page that is to be rewritten.
#[derive(Clone, Copy, Debug)]
struct Wish {
    page: Ppn,
    lpn: Lpn,
    /// Its errors after its program, and the time of that.
    born: (u32, Nanos),
}

/// Pages that are to be rewritten.
#[derive(Clone, Debug, Default)]
pub(in crate::engine) struct Refresh {
    /// By unit, in the order of their reads.
    wishes: Vec<VecDeque<Wish>>,
    /// Units with wishes, and all pages of these.
    units: BTreeSet<UnitId>,
    pages: BTreeSet<Ppn>,
}

impl Refresh {
    pub(super) fn new(units: u32) -> Self {
        Refresh { wishes: vec![VecDeque::new(); units as usize], ..Refresh::default() }
    }

    fn add(&mut self, unit: UnitId, wish: Wish) -> bool {
        let new = self.pages.insert(wish.page);
        if new {
            self.wishes[unit.ix()].push_back(wish);
            self.units.insert(unit);
        }
        new
    }

    fn take(&mut self, unit: UnitId) -> Option<Wish> {
        let wish = self.wishes[unit.ix()].pop_front();
        if self.wishes[unit.ix()].is_empty() {
            self.units.remove(&unit);
        }
        wish.inspect(|wish| _ = self.pages.remove(&wish.page))
    }

    /// Power is cut: wishes are forgotten.
    pub(in crate::engine) fn clear(&mut self) {
        self.wishes.iter_mut().for_each(VecDeque::clear);
        self.units.clear();
        self.pages.clear();
    }

    /// Nothing is left at the end of a run.
    pub(in crate::engine) fn check_end(&self) {
        law!(self.units.is_empty() && self.pages.is_empty(), "every page that was to be rewritten was, or was dropped");
    }
}

/// A page of the host has been read and decoded: if it has many errors and nothing newer, it is to be rewritten.
pub(super) fn note_read(ssd: &mut Ssd, op: OpId) {
    let Some(limit) = spec(ssd).refresh else { return };
    let (lpn, again) = (ssd.kernel.ops[op].lpn, &ssd.kernel.ops.retry[op].page);
    let wish = Wish { page: again.page, lpn, born: again.born };
    if again.errors <= limit || !is_in_place(ssd, &wish) {
        return;
    }
    let unit = ssd.dev.geometry.unit_of(ssd.dev.geometry.plane_of(wish.page));
    let Some(retry) = &mut ssd.features.retry else { return };
    if retry.refresh.add(unit, wish) {
        ssd.stats.ecc.refresh.queued += 1;
        ssd.kernel.dies.mark(unit);
    }
}

/// Whether a page still holds what was read, and it is the newest version.
fn is_in_place(ssd: &Ssd, wish: &Wish) -> bool {
    let born = ssd.dev.errors.as_ref().map(|model| model.born(wish.page));
    ssd.dev.map.get(wish.lpn) == Location::Flash(wish.page) && born == Some(wish.born)
}

/// Dispatch has ended: dies that are free and for which nothing waits rewrite pages, if reads are repeated by bit errors.
#[inline(always)]
pub(in crate::engine) fn start_on_idle_dies(ssd: &mut Ssd) {
    if ssd.rules.retries {
        starts_on_idle_dies(ssd);
    }
}

/// The same where reads are repeated.
fn starts_on_idle_dies(ssd: &mut Ssd) {
    let mut from = UnitId(0);
    let next = |ssd: &Ssd, from| ssd.features.retry.as_ref()?.refresh.units.range(from..).next().copied();
    while let Some(unit) = next(ssd, from) {
        from = UnitId(unit.0 + 1);
        while ssd.kernel.dies[unit].job.is_none() && ssd.kernel.is_unwanted(&ssd.dev, &ssd.gc, &ssd.rules, unit) {
            let Some(wish) = ssd.features.retry.as_mut().and_then(|retry| retry.refresh.take(unit)) else { break };
            begin(ssd, unit, &wish);
        }
    }
}

/// Reads a page that is to be rewritten, unless it has moved or its plane has no page for it.
fn begin(ssd: &mut Ssd, unit: UnitId, wish: &Wish) {
    let geometry = &ssd.dev.geometry;
    let (block, plane) = (geometry.block_of(wish.page), geometry.plane_of(wish.page));
    if !is_in_place(ssd, wish) || !ssd.dev.flash.offers_beside_gc(block) {
        ssd.stats.ecc.refresh.dropped += 1;
        return;
    }
    let (channel, pages) = (ssd.dev.geometry.channel_of(plane), PageSet::one(wish.page));
    let burst = ssd.dev.timing.page();
    let legs = ssd.dev.timing.legs(Command::Read { pages: &[ssd.dev.place(wish.page)], burst, decoded: true });
    ssd.dev.array_reads(block);
    ssd.stats.count_reads(Class::Refresh, 1);
    ssd.features.tenants_read(&ssd.dev, &ssd.rules, &pages);
    let op = Op {
        class: Class::Refresh,
        verb: Verb::Read,
        need: Need::Absorb,
        acknowledged: true,
        age: ssd.kernel.age(),
        unit,
        plane,
        channel,
        lpn: wish.lpn,
        pages,
        from: pages,
        legs,
        ..Op::blank()
    };
    let id = ssd.kernel.ops.create(op);
    ssd.kernel.ops[Page(id)].tags[0] = ssd.oracle.load(wish.page, wish.lpn);
    ssd.kernel.ops.retry[id].page.born = wish.born;
    ssd.kernel.dies[unit].occupy(id);
    ssd.kernel.seize_for_gc(&ssd.dev, ssd.now, unit, 1 << ssd.dev.geometry.plane_in_unit(plane), plane);
    ssd.run_leg(id);
}

/// Its read or its program has ended.
pub(in crate::engine) fn ends(ssd: &mut Ssd, id: OpId) {
    ssd.kernel.idle_rounds = 0;
    let op = &ssd.kernel.ops[id];
    let (unit, plane, lpn, from, to, verb) = (op.unit, op.plane, op.lpn, op.from[0], op.pages[0], op.verb);
    let source = ssd.dev.geometry.block_of(from);
    let wish = Wish { page: from, lpn, born: ssd.kernel.ops.retry[id].page.born };
    let newest = is_in_place(ssd, &wish);
    if verb == Verb::Read {
        let page = if newest { ssd.dev.flash.take_beside_gc(source) } else { None };
        if let Some(page) = page {
            return program(ssd, id, page);
        }
        ssd.stats.ecc.refresh.dropped += 1;
    } else {
        land(ssd, id, to, newest);
        ssd.stats.ecc.refresh.done += 1;
    }
    ssd.dev.flash.read_ends(source);
    ssd.kernel.ops.remove(id);
    ssd.kernel.stop(&ssd.dev, ssd.now, unit, plane);
    ssd.test_trigger(plane);
}

fn program(ssd: &mut Ssd, id: OpId, page: Ppn) {
    let from = ssd.kernel.ops[id].from;
    ssd.stats.count_programs(Class::Refresh, 1);
    ssd.features.tenants_moved(&ssd.dev, &ssd.rules, &from);
    let burst = ssd.dev.timing.page();
    let legs = ssd.dev.timing.legs(Command::Program { pages: &[ssd.dev.place(page)], burst });
    let op = &mut ssd.kernel.ops[id];
    (op.verb, op.pages, op.legs, op.leg) = (Verb::Program, PageSet::one(page), legs, 0);
    ssd.run_leg(id);
}

/// The landing rule: the copy is published if the map still points to its source; otherwise it lands stale. (Where overwritten pages
/// are kept, the newest write may point to the source.)
fn land(ssd: &mut Ssd, id: OpId, to: Ppn, newest: bool) {
    let op = &ssd.kernel.ops[id];
    let (lpn, from, tag) = (op.lpn, op.from[0], ssd.kernel.ops[Page(id)].tags[0]);
    let born = ssd.dev.errors.as_ref().map(|model| model.born(from));
    let same = born == Some(ssd.kernel.ops.retry[id].page.born) && ssd.dev.flash.lpn_of(from) == lpn;
    let published = newest || same;
    let (block, source) = (ssd.dev.geometry.block_of(to), ssd.dev.geometry.block_of(from));
    if published {
        ssd.kernel.republish(&mut ssd.dev, &ssd.features, lpn, from, to);
        ssd.dev.flash.invalidate(from, source, lpn);
    }
    ssd.dev.flash.land(to, block, if published { lpn } else { Lpn::NONE });
    ssd.oracle.store(to, tag);
    ssd.dev.follow_errors(&mut ssd.stats, ssd.now, from, to, block, true);
    let due = ssd.kernel.note_filled(&ssd.dev, &mut ssd.gc, &ssd.rules, ssd.now, block, (JobId::NONE, JobId::NONE));
    if let Some((op, plane)) = due {
        ssd.enqueue(op, plane, false);
    }
}
