//! Steps of a fold: those of a collection, with the times of the cache's blocks, and another way for its pages.

use crate::device::command::Command;
use crate::device::flash::Stream;
use crate::device::transaction::{Class, Verb};
use crate::engine::features::units::hands;
use crate::engine::gc::jobs::Why;
use crate::engine::kernel::ops::Page;
use crate::engine::{Features, Ssd};
use crate::policy::{Hop, Journey, PageSet};
use crate::units::{JobId, Lpn, OpId, PlaneId, Ppn, Tag};

/// A step of a fold begins: sets up its legs, and takes its destination.
pub(in crate::engine) fn begin_step(ssd: &mut Ssd, id: JobId, op: OpId) {
    let verb = ssd.kernel.ops[op].verb;
    match verb {
        Verb::Read if hands::begins_move(ssd, op) => {}
        Verb::Program if hands::begins_place(ssd, id) => {}
        Verb::Read => begin_move(ssd, id, op),
        Verb::Program => begin_place(ssd, id, op),
        Verb::Erase => {
            ssd.stats.count_erases(ssd.dev.geometry.slots.planes.into());
            ssd.kernel.ops[op].legs = ssd.dev.timing.legs(Command::EraseSlc);
        }
        Verb::Copyback => unreachable!("a move becomes a copyback when it begins"),
    }
}

fn begin_move(ssd: &mut Ssd, id: JobId, op: OpId) {
    let page = ssd.kernel.ops[op].pages[0];
    law_eq!(ssd.kernel.ops[op].pages.len(), 1, "law: pages are folded one by one");
    let lpn = ssd.dev.flash.lpn_of(page);
    ssd.dev.array_reads(ssd.dev.geometry.block_of(page));
    ssd.kernel.ops[Page(op)].tags[0] = ssd.oracle.load(page, lpn);
    ssd.kernel.ops[op].from = PageSet::one(page);
    let journey = ssd.features.slc.as_ref().map_or(Journey::EXTERNAL, |slc| slc.journey);
    ssd.gc.jobs[id.0].journey = journey;
    let from = ssd.dev.place(page);
    if journey.out != Hop::Die {
        ssd.stats.count_reads(Class::Fold, 1);
        let burst = ssd.dev.timing.page();
        ssd.kernel.ops[op].legs = ssd.dev.timing.legs(Command::Read { pages: &[from], burst, decoded: true });
        return;
    }
    let to = destination(ssd, ssd.kernel.ops[op].plane, page, fold_of(ssd, id));
    ssd.stats.count_copybacks(1);
    let times = ssd.dev.timing.copyback(&[from], &[ssd.dev.place(to)]);
    let state = &mut ssd.kernel.ops[op];
    state.verb = Verb::Copyback;
    state.pages = PageSet::one(to);
    state.legs = ssd.dev.timing.legs(Command::Copyback(times));
}

fn begin_place(ssd: &mut Ssd, id: JobId, op: OpId) {
    let from = ssd.gc.jobs[id.0].job.hand[0];
    let to = destination(ssd, ssd.kernel.ops[op].plane, from, fold_of(ssd, id));
    ssd.stats.count_programs(Class::Fold, 1);
    let pages = &[ssd.dev.place(to)];
    let legs = ssd.dev.timing.legs(Command::Program { pages, burst: ssd.dev.timing.page() });
    let state = &mut ssd.kernel.ops[op];
    state.pages = PageSet::one(to);
    state.from = PageSet::one(from);
    state.legs = legs;
}

fn fold_of(ssd: &Ssd, id: JobId) -> Why {
    ssd.gc.jobs[id.0].fold.expect("a fold has a reason")
}

/// The page to which a fold moves one whose program has failed.
pub(in crate::engine) fn next_page(ssd: &mut Ssd, op: OpId, plane: PlaneId, from: Ppn) -> Ppn {
    destination(ssd, plane, from, fold_of(ssd, ssd.kernel.ops[op].job))
}

/// The page to which one of the cache moves: in its open block if it stays, and the block has room, otherwise where GC's pages go.
pub(super) fn destination(ssd: &mut Ssd, plane: PlaneId, from: Ppn, why: Why) -> Ppn {
    let lpn = ssd.dev.flash.lpn_of(from);
    let keeps = |slc: &super::Slc| lpn.is_some() && slc.keeps(lpn, why);
    let kept = ssd.features.slc.as_deref().is_some_and(keeps);
    let kept = if kept { ssd.dev.flash.take_open_slc(plane) } else { None };
    kept.unwrap_or_else(|| ssd.dev.gc_page(&ssd.rules, plane, Stream::Gc, false))
}

/// Pages of a fold's step have landed: they are published if the map still points to where they came from.
pub(in crate::engine) fn land(ssd: &mut Ssd, op: OpId) {
    let state = &ssd.kernel.ops[op];
    let (from, to, corrected, job) = (state.from[0], state.pages[0], state.verb == Verb::Program, state.job);
    let tag = ssd.kernel.ops[Page(op)].tags[0];
    let kept = land_page(ssd, from, to, tag, corrected);
    let plane = ssd.gc.jobs[job.0].plane;
    if let Some(slc) = &mut ssd.features.slc {
        slc.planes[plane.ix()].folded[usize::from(kept)] += 1;
    }
}

impl Features {
    /// A unit of a block that is folded waits in the controller for a program with others: it has left the cache.
    pub(in crate::engine) fn unit_is_folded(&mut self, plane: PlaneId) {
        if let Some(slc) = &mut self.slc {
            slc.planes[plane.ix()].folded[0] += 1;
        }
    }
}

/// A page has landed. Returns whether it stays in the cache.
pub(super) fn land_page(ssd: &mut Ssd, from: Ppn, to: Ppn, tag: Tag, corrected: bool) -> bool {
    let lpn = ssd.dev.flash.lpn_of(from);
    let block = ssd.dev.geometry.block_of(to);
    if lpn.is_some() {
        ssd.kernel.republish(&mut ssd.dev, &ssd.features, lpn, from, to);
        ssd.dev.flash.invalidate(from, ssd.dev.geometry.block_of(from), lpn);
    }
    ssd.dev.flash.land(to, block, if lpn.is_some() { lpn } else { Lpn::NONE });
    ssd.oracle.store(to, tag);
    ssd.dev.follow_errors(&mut ssd.stats, ssd.now, from, to, block, corrected);
    let kept = ssd.dev.flash.is_slc(block);
    if kept
        && lpn.is_some()
        && let Some(slc) = &mut ssd.features.slc
    {
        slc.reads[lpn.ix()] = 0;
    }
    kept
}

/// A fold is counted.
pub(super) fn count(ssd: &mut Ssd, why: Why, written: u64, folded: [u64; 2]) {
    if let Some(slc) = &mut ssd.features.slc {
        slc.count_fold(why, written, folded);
    }
}
