//! When folds begin and end.
//!
//! A fold is a collection of a full block of the cache: the collector chooses its steps, and it holds or shares its die as collections
//! do. A plane has one of both at a time; if both are due, the collection goes first, and so it does if the pages of the fold have no
//! room beside GC's reserve.

use crate::blame::Extra;
use crate::config::GcTime;
use crate::device::flash::Stream;
use crate::device::transaction::{Fifo, Need};
use crate::engine::gc::jobs::{Why, begin_job};
use crate::engine::kernel::Kernel;
use crate::engine::rules::Rules;
use crate::engine::{Features, Ssd};
use crate::policy::Job;
use crate::units::{BlockId, JobId, Lpn, Nanos, OpId, PlaneId, Ppn, UnitId};

use crate::engine::features::slc::now;
use crate::engine::features::slc::now::fold_now;
use crate::engine::features::slc::steps::count;

/// A collection of a plane is due, before any fold of its cache, if there is one.
#[inline(always)]
pub(in crate::engine) fn collects(ssd: &mut Ssd, plane: PlaneId) {
    if ssd.rules.slc
        && let Some(slc) = &mut ssd.features.slc
    {
        slc.planes[plane.ix()].collects = true;
    }
}

/// A program or an erase has completed in a plane: its cache, if there is one, may have reached a level, and a fold may be wanted.
#[inline(always)]
pub(in crate::engine) fn test_plane(ssd: &mut Ssd, plane: PlaneId) {
    if ssd.rules.slc {
        tests_plane(ssd, plane);
    }
}

/// The same with a cache of SLC.
#[inline(never)]
fn tests_plane(ssd: &mut Ssd, plane: PlaneId) {
    let used = ssd.dev.flash.slc_used(plane);
    let Some(slc) = &mut ssd.features.slc else { return };
    let active = slc.test_level(plane.ix(), used);
    if wants_fold(ssd, plane) {
        claim(ssd, plane);
    }
    if active && ssd.config.gc.time == GcTime::None {
        now::fold_to_level(ssd, plane);
    }
}

/// Whether a write waits for a fold in a plane.
fn wants_fold(ssd: &Ssd, plane: PlaneId) -> bool {
    let Some(slc) = &ssd.features.slc else { return false };
    let anywhere = ssd.host.without_page.head();
    !slc.planes[plane.ix()].stalled.is_empty()
        || anywhere.is_some() && ssd.dev.flash.waits_for_fold(plane, ssd.kernel.ops.host_stream(anywhere))
}

/// A write that any die may serve waits for a page: a fold is due in a plane where it waits for one, if one can begin. Nothing without a
/// cache of SLC.
#[inline(always)]
pub(in crate::engine) fn claim_for_any(ssd: &mut Ssd, plane: PlaneId, stream: Stream) {
    if ssd.rules.slc {
        claims_for_any(ssd, plane, stream);
    }
}

/// The same with a cache of SLC.
fn claims_for_any(ssd: &mut Ssd, plane: PlaneId, stream: Stream) {
    let flash = &ssd.dev.flash;
    let full = if flash.full_slc(plane).is_empty() { flash.has_landed_slc(plane) } else { can_fold(ssd, plane) };
    if full && flash.waits_for_fold(plane, stream) {
        claim(ssd, plane);
    }
}

/// A fold is wanted in a plane: it is due as a collection is for which a write waits.
pub(in crate::engine) fn claim(ssd: &mut Ssd, plane: PlaneId) {
    if ssd.config.gc.time == GcTime::None {
        while wants_fold(ssd, plane) && fold_now(ssd, plane, Why::Forced) {
            unstall(ssd, plane);
        }
        return;
    }
    if !ssd.gc.claimed.insert(plane) {
        return;
    }
    let unit = ssd.dev.geometry.unit_of(plane);
    ssd.kernel.dies.push_due(unit, plane);
    ssd.kernel.dies.mark(unit);
}

/// A host program finds no page. If it waits for a fold in its plane, it does so from now on; returns whether it does. Without a cache of
/// SLC it does not.
#[inline(always)]
pub(in crate::engine) fn stalls(ssd: &mut Ssd, op: OpId, plane: PlaneId) -> bool {
    ssd.rules.slc && awaits_fold(ssd, op, plane)
}

/// The same with a cache of SLC.
#[inline(never)]
fn awaits_fold(ssd: &mut Ssd, op: OpId, plane: PlaneId) -> bool {
    if !ssd.dev.flash.waits_for_fold(plane, ssd.kernel.ops.host_stream(op)) {
        return false;
    }
    begin_stall(ssd, op);
    if let Some(slc) = &mut ssd.features.slc {
        slc.planes[plane.ix()].stalled.push(&mut ssd.kernel.ops, op);
    }
    claim(ssd, plane);
    true
}

/// No plane has a page for the first of the writes that any die may serve. If it waits for a fold, others overtake it; returns whether
/// they do. Without a cache of SLC it waits for none.
#[inline(always)]
pub(in crate::engine) fn stalls_anywhere(ssd: &mut Ssd, stream: Stream) -> bool {
    ssd.rules.slc && awaits_any_fold(ssd, stream)
}

/// The same with a cache of SLC.
fn awaits_any_fold(ssd: &mut Ssd, stream: Stream) -> bool {
    let planes = || (0..ssd.dev.geometry.planes).map(PlaneId);
    if !planes().any(|plane| ssd.dev.flash.waits_for_fold(plane, stream)) {
        return false;
    }
    let planes: Vec<PlaneId> = planes().filter(|plane| ssd.dev.flash.waits_for_fold(*plane, stream)).collect();
    let op = ssd.host.anywhere.pop(&ssd.kernel.ops);
    ssd.kernel.charge_anywhere(&mut ssd.features, &ssd.rules, ssd.now, op);
    begin_stall(ssd, op);
    ssd.host.without_page.push(&mut ssd.kernel.ops, op);
    planes.into_iter().for_each(|plane| claims_for_any(ssd, plane, stream));
    true
}

fn begin_stall(ssd: &mut Ssd, op: OpId) {
    ssd.kernel.ops[op].waits_since = ssd.now;
    ssd.kernel.ops[op].stalled = true;
    ssd.kernel.ops.extras[op].for_fold = true;
}

impl Features {
    /// A write that waits for a fold in its plane is not needed any more.
    pub(in crate::engine) fn forgets_fold(&mut self, kernel: &mut Kernel, op: OpId, plane: PlaneId) {
        if let Some(slc) = &mut self.slc {
            slc.planes[plane.ix()].stalled.remove(&mut kernel.ops, op);
        }
    }
}

impl Kernel {
    /// Time of a wait for a die, of which so much is no wait for GC, in which folds held it. Charges it.
    #[inline(never)]
    pub(in crate::engine) fn charge_folds(&mut self, now: Nanos, op: OpId, unit: UnitId, most: u64) -> u64 {
        let behind = self.dies[unit].folded(now) - self.ops.extras[op].ledger_folds;
        let folds = behind.min(most);
        self.charge_extra(op, Extra::Slc, folds);
        folds
    }

    /// The wait of a host program for a page has ended. If it was one for a fold, charges it; returns whether it was. Without a cache of
    /// SLC it was not.
    #[inline(always)]
    pub(in crate::engine) fn ends_fold_wait(&mut self, rules: &Rules, op: OpId, waited: u64) -> bool {
        let for_fold = rules.slc && std::mem::take(&mut self.ops.extras[op].for_fold);
        if for_fold {
            self.charge_extra(op, Extra::Slc, waited);
        }
        for_fold
    }

    /// The part behind folds of a wait of a write that any die may serve, during which dies were held for `held`. Charges it. It is 0
    /// without a cache of SLC.
    #[inline(always)]
    pub(in crate::engine) fn charge_folds_anywhere(
        &mut self,
        rules: &Rules,
        now: Nanos,
        op: OpId,
        wait: u64,
        held: u64,
    ) -> u64 {
        if rules.slc { self.charges_folds_anywhere(now, op, wait, held) } else { 0 }
    }

    /// The same with a cache of SLC.
    #[inline(never)]
    fn charges_folds_anywhere(&mut self, now: Nanos, op: OpId, wait: u64, held: u64) -> u64 {
        let by_folds = self.dies.held_fold.total(now) as u64 - self.ops.anywhere[op].held_fold;
        let folds = if held == 0 { 0 } else { (u128::from(wait) * u128::from(by_folds) / u128::from(held)) as u64 };
        self.charge_extra(op, Extra::Slc, folds);
        folds
    }
}

/// Whether an operation that could begin beside another one in a die (R8) is in a block of another mode. Without a cache of SLC, blocks
/// have one mode.
#[inline(always)]
pub(in crate::engine) fn mixes_modes(ssd: &Ssd, op: OpId, unit: UnitId) -> bool {
    ssd.rules.slc && differs_in_mode(ssd, op, unit)
}

/// The same with a cache of SLC.
#[inline(never)]
fn differs_in_mode(ssd: &Ssd, op: OpId, unit: UnitId) -> bool {
    let state = &ssd.kernel.dies[unit];
    let beside = if state.array().is_some() { state.array() } else { state.cache() };
    let flash = &ssd.dev.flash;
    let beside = flash.has_in_slc(ssd.kernel.ops[beside].pages[0]);
    let own = match ssd.kernel.ops[op].need {
        Need::Write => {
            let (plane, stream) = (ssd.kernel.ops[op].plane, ssd.kernel.ops.host_stream(op));
            flash.next_offset(plane, stream).is_some_and(|offset| offset >= ssd.dev.geometry.pages_per_block)
        }
        _ => ssd.page_to_read(op).is_some_and(|page| flash.has_in_slc(page)),
    };
    own != beside
}

/// The host has read a page: counts it if it is in the cache of SLC. Without one, nothing happens.
#[inline(always)]
pub(in crate::engine) fn is_read(ssd: &mut Ssd, lpn: Lpn, page: Ppn) {
    if ssd.rules.slc {
        count_read(ssd, lpn, page);
    }
}

/// The same on a device with a cache of SLC.
#[inline(never)]
fn count_read(ssd: &mut Ssd, lpn: Lpn, page: Ppn) {
    if ssd.dev.flash.has_in_slc(page)
        && let Some(slc) = &mut ssd.features.slc
    {
        slc.is_read(lpn);
    }
}

/// A block of the cache of a plane has been erased: writes that waited for it queue again, with their old age.
fn unstall(ssd: &mut Ssd, plane: PlaneId) {
    let Some(slc) = &mut ssd.features.slc else { return };
    let mut stalled = std::mem::replace(&mut slc.planes[plane.ix()].stalled, Fifo::EMPTY);
    while !stalled.is_empty() {
        let op = stalled.pop(&ssd.kernel.ops);
        ssd.kernel.end_stall(&mut ssd.features, &ssd.rules, ssd.now, op);
        ssd.enqueue(op, plane, true);
    }
    // An erased block may be one for others.
    ssd.unstall(plane);
}

/// What is due in a plane may be a fold. Returns whether it has begun, or cannot begin now; otherwise a collection begins, as it does
/// without a cache of SLC.
#[inline(always)]
pub(in crate::engine) fn starts(ssd: &mut Ssd, plane: PlaneId, unit: UnitId) -> bool {
    ssd.rules.slc && starts_fold(ssd, plane, unit)
}

/// The same with a cache of SLC.
#[inline(never)]
fn starts_fold(ssd: &mut Ssd, plane: PlaneId, unit: UnitId) -> bool {
    let Some(slc) = &mut ssd.features.slc else { return false };
    if std::mem::take(&mut slc.planes[plane.ix()].collects) || !wants_fold(ssd, plane) {
        return false;
    }
    match victim(ssd, plane) {
        // What is in flight lands first, and tests again.
        None => ssd.gc.claimed.remove(plane),
        Some(victim) if ssd.dev.flash.has_room_to_fold(plane, victim) => {
            begin(ssd, plane, unit, victim, Why::Forced);
        }
        Some(_) => return false,
    }
    true
}

/// The block that is folded next in a plane. If none is full, its open one is closed.
fn victim(ssd: &mut Ssd, plane: PlaneId) -> Option<BlockId> {
    let flash = &mut ssd.dev.flash;
    if flash.full_slc(plane).is_empty() && flash.close_slc(plane) {
        ssd.features.slc.iter_mut().for_each(|slc| slc.counts.closed_early += 1);
    }
    ssd.dev.flash.slc_victim(plane)
}

/// A fold begins, on a die that is free if collections hold theirs.
fn begin(ssd: &mut Ssd, plane: PlaneId, unit: UnitId, victim: BlockId, why: Why) {
    ssd.gc.claimed.insert(plane);
    ssd.dev.flash.begin_fold(victim);
    let planes = 1 << ssd.dev.geometry.plane_in_unit(plane);
    begin_job(ssd, Job::new(victim), planes, plane, unit, Some(why));
}

/// Whether a block of a plane can be folded, perhaps after a collection that makes room for it. With places that are not fixed, a plane
/// may have no room and no garbage.
fn can_fold(ssd: &Ssd, plane: PlaneId) -> bool {
    let has_room = |victim| ssd.dev.flash.has_room_to_fold(plane, victim);
    ssd.dev.flash.slc_victim(plane).is_none_or(has_room) || ssd.dev.has_garbage(plane)
}

/// A fold begins that no write waits for, or a collection that makes room for it.
fn begin_or_collect(ssd: &mut Ssd, plane: PlaneId, unit: UnitId, why: Why) {
    let Some(victim) = victim(ssd, plane) else { return };
    if ssd.config.gc.time == GcTime::None {
        fold_now(ssd, plane, why);
    } else if ssd.dev.flash.has_room_to_fold(plane, victim) {
        begin(ssd, plane, unit, victim, why);
    } else {
        ssd.claim(plane);
    }
}

/// The plane of a unit with the most programmed pages of the cache among those that suit, if they have any; ties by number.
fn fullest(ssd: &Ssd, unit: UnitId, suits: impl Fn(PlaneId) -> bool) -> Option<PlaneId> {
    let planes = (0..ssd.dev.geometry.planes_per_unit).map(|k| ssd.dev.geometry.plane_of_unit(unit, k));
    let used = |plane: &PlaneId| ssd.dev.flash.slc_used(*plane);
    let fit = planes.filter(|plane| used(plane) > 0 && suits(*plane));
    fit.min_by_key(|plane| (std::cmp::Reverse(used(plane)), plane.0))
}

/// At the end of a dispatch: dies that are free, and for which nothing waits, fold blocks of planes whose cache is above its level.
#[inline(always)]
pub(in crate::engine) fn fold_on_free_dies(ssd: &mut Ssd) {
    if ssd.rules.slc {
        folds_on_free_dies(ssd);
    }
}

/// The same with a cache of SLC.
#[inline(never)]
fn folds_on_free_dies(ssd: &mut Ssd) {
    if ssd.features.slc.as_ref().is_none_or(|slc| slc.levels.is_none()) {
        return;
    }
    for i in 0..ssd.kernel.dies.looking.len() {
        let unit = ssd.kernel.dies.looking[i];
        let state = &ssd.kernel.dies[unit];
        if !state.is_free() || state.job.is_some() || !state.queue.is_empty() || !state.due().is_empty() {
            continue;
        }
        let Some(slc) = &ssd.features.slc else { return };
        let suits = |plane: PlaneId| {
            let closed = !ssd.dev.flash.full_slc(plane).is_empty();
            slc.planes[plane.ix()].active && closed && !ssd.gc.claimed.has(plane) && can_fold(ssd, plane)
        };
        if let Some(plane) = fullest(ssd, unit, suits) {
            begin_or_collect(ssd, plane, unit, Why::Level);
        }
    }
}

/// Collector decision: a die that has been idle for long enough folds a block of the plane with the fullest cache, if there is one.
#[inline(always)]
pub(in crate::engine) fn fold_in_idle_time(ssd: &mut Ssd, unit: UnitId) {
    if ssd.rules.slc {
        folds_in_idle_time(ssd, unit);
    }
}

/// The same with a cache of SLC.
#[inline(never)]
fn folds_in_idle_time(ssd: &mut Ssd, unit: UnitId) {
    if !ssd.gc.is_at_rest(&ssd.kernel, &ssd.dev, unit) {
        return;
    }
    let (now, released) = (ssd.now, ssd.kernel.dies[unit].released());
    let idle = ssd.features.slc.as_mut().and_then(|slc| slc.idle.as_mut());
    if !idle.is_some_and(|idle| idle.is_over(unit, now, released)) {
        return;
    }
    let Some(plane) = fullest(ssd, unit, |plane| can_fold(ssd, plane)) else { return };
    if let Some(idle) = ssd.features.slc.as_mut().and_then(|slc| slc.idle.as_mut()) {
        idle.works(unit, now);
    }
    // This ends, because each fold empties a block. No request need complete meanwhile.
    ssd.kernel.idle_rounds = 0;
    begin_or_collect(ssd, plane, unit, Why::Idle);
    if ssd.config.gc.time == GcTime::None {
        while let Some(plane) = fullest(ssd, unit, |plane| can_fold(ssd, plane)) {
            begin_or_collect(ssd, plane, unit, Why::Idle);
        }
    }
}

/// The block of a fold is erased.
pub(in crate::engine) fn erased(ssd: &mut Ssd, id: JobId, plane: PlaneId) {
    let running = &ssd.gc.jobs[id.0];
    let (block, why) = (running.job.victims[0], running.fold.expect("a fold has a reason"));
    let folded = ssd.features.slc.as_mut().map_or([0; 2], |slc| std::mem::take(&mut slc.planes[plane.ix()].folded));
    let written = u64::from(ssd.dev.flash.written(block));
    ssd.dev.flash.erase(block);
    ssd.dev.forget_block(&mut ssd.features, &ssd.stats, &ssd.rules, ssd.now, block);
    count(ssd, why, written, folded);
    unstall(ssd, plane);
}

/// A collection or a fold has ended: what it did in idle time goes on. Nothing without a cache of SLC.
#[inline(always)]
pub(in crate::engine) fn ended(ssd: &mut Ssd, plane: PlaneId, unit: UnitId) {
    if ssd.rules.slc {
        idle_goes_on(ssd, plane, unit);
    }
}

/// The idle time of a die goes on after a collection or a fold, and no collection is due in its plane before folds.
fn idle_goes_on(ssd: &mut Ssd, plane: PlaneId, unit: UnitId) {
    let now = ssd.now;
    let Some(slc) = &mut ssd.features.slc else { return };
    slc.planes[plane.ix()].collects = false;
    let idles = [ssd.features.idle.as_deref_mut(), slc.idle.as_mut()];
    idles.into_iter().flatten().for_each(|idle| idle.goes_on(unit, now));
}

/// Writes that wait for folds, for the message of a run without progress.
pub(in crate::engine) fn describe_waiting(ssd: &Ssd) -> Vec<String> {
    let Some(slc) = &ssd.features.slc else { return Vec::new() };
    let planes = (0..)
        .map(PlaneId)
        .zip(&slc.planes)
        .filter(|(plane, state)| !state.stalled.is_empty() || wants_fold(ssd, *plane));
    let text = |(plane, _): (PlaneId, &super::Plane)| {
        let (used, full) = (ssd.dev.flash.slc_used(plane), ssd.dev.flash.full_slc(plane).len());
        let can = if can_fold(ssd, plane) { "can" } else { "cannot" };
        format!(
            "plane {}: writes wait for a fold, {used} pages in the cache, {full} full blocks, which {can} be folded",
            plane.0
        )
    };
    let anywhere = ssd.host.without_page.head().is_some().then(|| "writes for any die wait for a page".to_string());
    planes.map(text).chain(anywhere).collect()
}
