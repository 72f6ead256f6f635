//! What blocks that wear out change where requests are only counted, and where GC takes no time.

use crate::device::flash::Stream;
use crate::device::transaction::Class;
use crate::engine::Ssd;
use crate::engine::spine::ring::Waiting;
use crate::policy::PageSet;
use crate::request::RequestOp;
use crate::units::{PlaneId, Ppn};

use crate::engine::features::life::{count_rejected, ends_salvage};

/// A request is about to be served in no time. Returns whether it is rejected: a write is after the end, where blocks wear out.
#[inline(always)]
pub(in crate::engine) fn rejects(ssd: &mut Ssd, next: &Waiting) -> bool {
    ssd.rules.life && rejects_after_end(ssd, next)
}

/// The same of a write of one page.
#[inline(always)]
pub(in crate::engine) fn rejects_page(ssd: &mut Ssd) -> bool {
    ssd.rules.life && rejects_page_after_end(ssd)
}

/// After the end, writes are not served: returns whether a request is one.
#[inline(never)]
fn rejects_after_end(ssd: &mut Ssd, next: &Waiting) -> bool {
    if next.request.op != RequestOp::Write || !ssd.ended() {
        return false;
    }
    let (_, pages) = ssd.host.pages_of(&ssd.dev, &ssd.config, next);
    ssd.host.drop_extents(next);
    count_rejected(ssd, pages);
    true
}

/// The same of a write of one page.
#[inline(never)]
fn rejects_page_after_end(ssd: &mut Ssd) -> bool {
    let ended = ssd.ended();
    if ended {
        count_rejected(ssd, 1);
    }
    ended
}

/// A page of the host has been written in no time. Programs that failed are counted, and their block is emptied, if programs may fail.
#[inline(always)]
pub(in crate::engine) fn has_written(ssd: &mut Ssd, plane: PlaneId) {
    if ssd.rules.fails {
        count_failed(ssd, plane);
    }
}

/// Counts the programs of a write that failed, and empties their block.
#[inline(never)]
fn count_failed(ssd: &mut Ssd, plane: PlaneId) {
    let failed = ssd.dev.flash.take_failed();
    ssd.stats.count_programs(Class::Host, failed);
    ssd.features.note_retired(&mut ssd.dev, &ssd.stats, ssd.now);
    while ssd.dev.flash.next_salvage(plane).is_some() && ssd.collect_once(plane) {}
}

/// A block of a plane that waits to be emptied is, in no time. Returns whether there was one; never where no programs fail.
#[inline(always)]
pub(in crate::engine) fn salvages(ssd: &mut Ssd, plane: PlaneId) -> bool {
    ssd.rules.fails && salvages_next(ssd, plane)
}

/// Empties the next block of a plane that waits for it. Returns whether there was one.
#[inline(never)]
fn salvages_next(ssd: &mut Ssd, plane: PlaneId) -> bool {
    let Some(block) = ssd.dev.flash.next_salvage(plane) else { return false };
    ssd.features.note_retired(&mut ssd.dev, &ssd.stats, ssd.now);
    ssd.dev.flash.begin_salvage(block);
    for offset in 0..ssd.dev.flash.written(block) {
        let from = ssd.dev.geometry.page(block, offset);
        if ssd.dev.flash.is_valid(from) {
            let to = ssd.move_now(from, Stream::Gc);
            ssd.dev.sort_moves(&mut ssd.stats, &PageSet::one(from), &PageSet::one(to), plane, false);
        }
    }
    ends_salvage(ssd, block)
}

/// The next page of a GC point, in no time; if programs may fail, the next one whose program does not.
#[inline(always)]
pub(in crate::engine) fn page_for_move(ssd: &mut Ssd, plane: PlaneId, stream: Stream, copied: bool) -> Ppn {
    match ssd.rules.fails {
        true => sound_page(ssd, plane, stream, copied),
        false => ssd.dev.gc_page(&ssd.rules, plane, stream, copied),
    }
}

/// The next page of a GC point whose program does not fail. Those that do are counted. `copied`: they are copied inside the plane.
fn sound_page(ssd: &mut Ssd, plane: PlaneId, stream: Stream, copied: bool) -> Ppn {
    loop {
        let page = ssd.dev.gc_page(&ssd.rules, plane, stream, copied);
        if !has_failed(ssd, page) {
            return page;
        }
        if copied { ssd.stats.count_copybacks(1) } else { ssd.stats.count_programs(Class::Gc, 1) }
    }
}

/// A page is programmed in no time: returns whether its program has failed.
pub(in crate::engine) fn has_failed(ssd: &mut Ssd, page: Ppn) -> bool {
    let fails = ssd.dev.flash.fails(page);
    if fails {
        ssd.dev.flash.fail(page);
        ssd.features.note_retired(&mut ssd.dev, &ssd.stats, ssd.now);
    }
    fails
}
