//! Moved units in the controller: GC reads the super pages of a victim that hold valid units one after the other, and programs the
//! units whenever they fill a program.
//!
//! A unit in a hand has left its block. It is where the map, or whatever keeps an old version, points to: in a place whose number is
//! behind those of the flash. When its program has landed, it is published as any moved page is. A unit that is overwritten or
//! trimmed leaves its place; what is being programmed then lands stale.

use std::ops::Range;

use crate::device::command::Command;
use crate::device::flash::Stream;
use crate::device::geometry::Geometry;
use crate::device::transaction::{Class, Verb};
use crate::engine::kernel::Kernel;
use crate::engine::rules::Rules;
use crate::engine::{Device, Features, Gc, Ssd};
use crate::oracle::Oracle;
use crate::policy::PageSet;
use crate::stats::Stats;
use crate::units::{JobId, Lpn, Nanos, OpId, PlaneId, Ppn, Tag};

/// A moved unit.
#[derive(Clone, Copy)]
struct Held {
    place: Ppn,
    lpn: Lpn,
    /// The oracle's.
    tag: Tag,
}

/// Moved units of a plane group: all, or those of a placement handle that GC keeps apart, or the rest.
#[derive(Clone)]
pub(in crate::engine) struct Hand {
    /// In the order in which they were read.
    held: Vec<Held>,
    /// Places without a unit.
    free: Vec<Ppn>,
    /// So many of the first ones are being programmed.
    placing: usize,
}

/// Numbers of units of a super page that has been read.
struct ReadUnits {
    /// In the hand now.
    moved: u64,
    stale: u64,
    /// Moved, but not correctable.
    lost: u64,
    /// All in the hand now.
    held: u64,
}

impl Hand {
    /// By plane group and kind of units, all empty.
    pub(super) fn all(geometry: &Geometry) -> Vec<Self> {
        let hand = |places: Range<u32>| Hand { held: Vec::new(), free: places.rev().map(Ppn).collect(), placing: 0 };
        let planes = (0..geometry.planes).map(PlaneId);
        let places = planes.flat_map(|plane| (0..geometry.slots.hands).map(move |kind| geometry.hand_of(plane, kind)));
        places.map(hand).collect()
    }
}

/// Takes the next step of a collection, or ends it, where programs have several units. Returns whether they have.
#[inline(always)]
pub(in crate::engine) fn takes_step(ssd: &mut Ssd, id: JobId) -> bool {
    if ssd.rules.units {
        take_step(ssd, id);
    }
    ssd.rules.units
}

#[inline(never)]
fn take_step(ssd: &mut Ssd, id: JobId) {
    let (gc, stats) = (&mut ssd.gc, &mut ssd.stats);
    let next = ssd.features.next_unit_step(&ssd.dev, gc, stats, &ssd.rules, ssd.now, id);
    let Some((verb, slot)) = next else { return ssd.end_collection(id) };
    let step = &mut ssd.kernel.ops[ssd.gc.jobs[id.0].op];
    step.verb = verb;
    step.pages = slot.map_or(step.pages, PageSet::one);
    ssd.carry_out(id);
}

/// The read of a collection or of a fold begins, where programs have several units: that of a super page. Returns whether they have.
#[inline(always)]
pub(in crate::engine) fn begins_move(ssd: &mut Ssd, op: OpId) -> bool {
    if ssd.rules.units {
        ssd.dev.begin_unit_move(&mut ssd.kernel, &mut ssd.gc, &mut ssd.stats, op);
    }
    ssd.rules.units
}

/// The program of a collection or of a fold begins, where programs have several units. Returns whether they have.
#[inline(always)]
pub(in crate::engine) fn begins_place(ssd: &mut Ssd, id: JobId) -> bool {
    if ssd.rules.units {
        let (kernel, dev, stats) = (&mut ssd.kernel, &mut ssd.dev, &mut ssd.stats);
        ssd.features.begin_unit_place(kernel, dev, &ssd.gc, stats, &ssd.rules, id);
    }
    ssd.rules.units
}

/// A read of a collection or of a fold has ended, where programs have several units: its units are in the hand. Returns whether they
/// have.
#[inline(always)]
pub(in crate::engine) fn read_ends(ssd: &mut Ssd, id: OpId) -> bool {
    if !ssd.rules.units {
        return false;
    }
    let (kernel, dev, oracle) = (&mut ssd.kernel, &mut ssd.dev, &mut ssd.oracle);
    let units = ssd.features.units_are_read(kernel, dev, &ssd.gc, oracle, ssd.now, id);
    ssd.stats.count_units_read(&units, ssd.kernel.ops[id].class == Class::Fold);
    true
}

/// A program of a collection or of a fold has ended, where programs have several units: they land. Returns whether they have.
#[inline(always)]
pub(in crate::engine) fn program_ends(ssd: &mut Ssd, id: OpId) -> bool {
    if !ssd.rules.units {
        return false;
    }
    let (kernel, dev, oracle) = (&mut ssd.kernel, &mut ssd.dev, &mut ssd.oracle);
    ssd.stats.moved_stale += ssd.features.moved_units_land(kernel, dev, &ssd.gc, oracle, ssd.now, id);
    true
}

impl Device {
    /// Whether a page that a step of a collection reads still has to be moved: it is valid or, where programs have several units, a
    /// unit of its super page is.
    #[inline(always)]
    pub(in crate::engine) fn has_to_move(&self, rules: &Rules, page: Ppn) -> bool {
        if rules.units { self.flash.valid_units(page) != 0 } else { self.flash.is_valid(page) }
    }

    /// The number of the hand of the running collection of a plane group.
    fn hand_of_collection(&self, plane: PlaneId) -> usize {
        plane.ix() * self.geometry.slots.hands as usize + self.flash.kept_kind(plane)
    }

    /// Whether a slot is a place in the controller.
    #[inline(always)]
    pub(in crate::engine) fn is_in_hand(&self, rules: &Rules, slot: Ppn) -> bool {
        rules.units && self.geometry.is_in_hand(slot)
    }

    /// The read of a super page begins: of all its units that are valid now.
    fn begin_unit_move(&mut self, kernel: &mut Kernel, gc: &mut Gc, stats: &mut Stats, op: OpId) {
        let (geometry, slot) = (&self.geometry, kernel.ops[op].pages[0]);
        let bits = self.flash.valid_units(slot);
        let first = Ppn(geometry.super_page(slot) * geometry.slots.per_super_page);
        let (block, unit) = (geometry.block_of(slot), geometry.unit_bytes);
        let units = (0..u64::BITS).filter(|place| bits >> place & 1 == 1).map(|place| (place, unit));
        let (burst, pages) = self.timing.units(units);
        let place = self.place(slot);
        let legs = self.timing.legs(Command::ReadUnits { place: &place, burst, decoded: pages });
        self.array_reads(block);
        stats.count_reads(kernel.ops[op].class, pages);
        let job = kernel.ops[op].job;
        gc.jobs[job.0].units = bits;
        let step = &mut kernel.ops[op];
        step.from = PageSet::one(first);
        step.pages = step.from;
        step.legs = legs;
    }

    /// The slots of a program from `from` on have landed without units.
    pub(in crate::engine) fn land_padding(&mut self, oracle: &mut Oracle, first: Ppn, from: u32) {
        let block = self.geometry.block_of(first);
        for slot in (from..self.flash.slots_of_program(first)).map(|place| Ppn(first.0 + place)) {
            self.flash.land(slot, block, Lpn::NONE);
            oracle.store(slot, Tag::NONE);
        }
    }
}

impl Features {
    /// The hand of the running collection of a plane group.
    fn hand(&self, dev: &Device, plane: PlaneId) -> &Hand {
        let at = dev.hand_of_collection(plane);
        &self.units.as_ref().expect("programs of several units").hands[at]
    }

    fn hand_mut(&mut self, dev: &Device, plane: PlaneId) -> &mut Hand {
        let at = dev.hand_of_collection(plane);
        &mut self.units.as_mut().expect("programs of several units").hands[at]
    }

    /// Units that were overwritten or trimmed have left their places, unless they are being programmed.
    fn forget_left(&mut self, dev: &Device, stats: &mut Stats, plane: PlaneId) {
        let own = dev.hand_of_collection(plane);
        let Some(units) = &mut self.units else { return };
        let (hand, flash) = (&mut units.hands[own], &dev.flash);
        let (mut at, before) = (0, hand.held.len());
        let placing = hand.placing;
        let free = &mut hand.free;
        hand.held.retain(|Held { place, .. }| {
            at += 1;
            let stays = at <= placing || flash.is_valid(*place);
            if !stays {
                free.push(*place);
            }
            stays
        });
        stats.units.dropped += (before - hand.held.len()) as u64;
    }

    /// The next step of a collection: a program of what fills one, the read of a super page, from one of its slots, or the erase. None
    /// if it has ended.
    fn next_unit_step(
        &mut self,
        dev: &Device,
        gc: &mut Gc,
        stats: &mut Stats,
        rules: &Rules,
        now: Nanos,
        id: JobId,
    ) -> Option<(Verb, Option<Ppn>)> {
        let plane = gc.jobs[id.0].plane;
        self.forget_left(dev, stats, plane);
        let held = self.hand(dev, plane).held.len();
        let full = held >= dev.geometry.slots.per_program as usize;
        let running = &mut gc.jobs[id.0];
        let next = if full { None } else { running.job.next_valid(&dev.view(now), 0) };
        if next.is_some() {
            Some((Verb::Read, next))
        } else if full || rules.pads && held > 0 && !running.job.erased {
            Some((Verb::Program, None))
        } else if !running.job.erased {
            Some((Verb::Erase, None))
        } else {
            None
        }
    }

    /// The program of the first units in a hand begins, with padding if they are too few.
    fn begin_unit_place(
        &mut self,
        kernel: &mut Kernel,
        dev: &mut Device,
        gc: &Gc,
        stats: &mut Stats,
        rules: &Rules,
        id: JobId,
    ) {
        let (plane, op) = (gc.jobs[id.0].plane, gc.jobs[id.0].op);
        let (slots, class) = (dev.geometry.slots, kernel.ops[op].class);
        let first = dev.flash.take_program(plane, Stream::Gc, true);
        let first = first.expect("law: the reserve leaves a program for every collection");
        let hand = self.hand_mut(dev, plane);
        hand.placing = hand.held.len().min(slots.per_program as usize);
        let placing = hand.placing;
        let place = dev.place(first);
        let step = &mut kernel.ops[op];
        step.pages = PageSet::one(first);
        step.from = PageSet::EMPTY;
        step.legs = dev.timing.legs(Command::ProgramUnits { place: &place });
        stats.count_program_unit(class, slots.pages_per_program().into(), slots.planes.into());
        stats.units.count_moved(class, placing as u64, u64::from(slots.per_program) - placing as u64);
        if rules.tenants {
            // Padding is that of the first unit.
            for slot in 0..slots.per_program as usize {
                let held = if slot < placing { slot } else { 0 };
                self.tenant_moved(dev, self.hand(dev, plane).held[held].lpn);
            }
        }
    }

    /// Units of a super page have been read: those that are still valid are in the hand of their plane group.
    fn units_are_read(
        &mut self,
        kernel: &mut Kernel,
        dev: &mut Device,
        gc: &Gc,
        oracle: &mut Oracle,
        now: Nanos,
        op: OpId,
    ) -> ReadUnits {
        dev.end_reads(kernel, op);
        let (first, job) = (kernel.ops[op].from[0], kernel.ops[op].job);
        let (bits, plane) = (gc.jobs[job.0].units, gc.jobs[job.0].plane);
        let block = dev.geometry.block_of(first);
        let folds = kernel.ops[op].class == Class::Fold;
        let mut read = ReadUnits { moved: 0, stale: 0, lost: 0, held: 0 };
        for slot in (0..u64::BITS).filter(|place| bits >> place & 1 == 1).map(|place| Ppn(first.0 + place)) {
            let lpn = dev.flash.lpn_of(slot);
            if lpn.is_none() {
                read.stale += 1;
                continue;
            }
            let tag = oracle.load(slot, lpn);
            let lost = !dev.is_correctable(slot, now);
            let hand = self.hand_mut(dev, plane);
            let place = hand.free.pop().expect("law: a hand has places for a program and a super page");
            hand.held.push(Held { place, lpn, tag });
            dev.flash.hand_takes(place, lpn);
            kernel.republish(dev, self, lpn, slot, place);
            dev.flash.invalidate(slot, block, lpn);
            oracle.store(place, tag);
            dev.hold(place, lost);
            (read.moved, read.lost) = (read.moved + 1, read.lost + u64::from(lost));
            if folds {
                self.unit_is_folded(plane);
            }
            if self.handles.is_some() {
                dev.flash.count_moved(block, 1);
            }
        }
        read.held = self.hand(dev, plane).held.len() as u64;
        read
    }

    /// A program of moved units has landed. Units that were overwritten or trimmed meanwhile are stale. Returns how many stale ones a
    /// collection has moved.
    fn moved_units_land(
        &mut self,
        kernel: &mut Kernel,
        dev: &mut Device,
        gc: &Gc,
        oracle: &mut Oracle,
        now: Nanos,
        op: OpId,
    ) -> u64 {
        let (first, job) = (kernel.ops[op].pages[0], kernel.ops[op].job);
        let (plane, folds) = (gc.jobs[job.0].plane, kernel.ops[op].class == Class::Fold);
        let block = dev.geometry.block_of(first);
        let placing = std::mem::take(&mut self.hand_mut(dev, plane).placing);
        let mut stale = 0;
        for (slot, held) in (first.0..).map(Ppn).zip(0..placing) {
            let Held { place, tag, .. } = self.hand(dev, plane).held[held];
            let (lpn, lost) = (dev.flash.lpn_of(place), dev.is_lost(place));
            if lpn.is_some() {
                kernel.republish(dev, self, lpn, place, slot);
                dev.flash.invalidate(place, dev.geometry.block_of(place), lpn);
            }
            dev.flash.land(slot, block, lpn);
            oracle.land(slot, tag, lpn.is_some());
            dev.host_programmed(now, slot, lost);
            stale += u64::from(lpn.is_none() && !folds);
        }
        let Hand { held, free, .. } = self.hand_mut(dev, plane);
        free.extend(held.drain(..placing).map(|held| held.place));
        dev.land_padding(oracle, first, placing as u32);
        stale
    }

    /// The slots of a program that a power cut tears, with what they would hold, and whether that is lost.
    pub(in crate::engine) fn torn_units(
        &self,
        kernel: &Kernel,
        dev: &Device,
        gc: &Gc,
        op: OpId,
    ) -> Vec<(Ppn, Tag, bool)> {
        let first = kernel.ops[op].pages[0];
        let per_program = dev.flash.slots_of_program(first);
        let units: Vec<(Tag, bool)> = if kernel.ops[op].class != Class::Cache {
            let hand = self.hand(dev, gc.jobs[kernel.ops[op].job.0].plane);
            hand.held[..hand.placing].iter().map(|held| (held.tag, dev.is_lost(held.place))).collect()
        } else {
            self.units_of_group(kernel, op)
        };
        let padding = std::iter::repeat((Tag::NONE, false));
        let slots = (first.0..first.0 + per_program).map(Ppn);
        slots.zip(units.into_iter().chain(padding)).map(|(slot, (tag, lost))| (slot, tag, lost)).collect()
    }

    /// Units in the controller, with their plane groups, and whether they are lost.
    pub(in crate::engine) fn units_in_hands(&self, dev: &Device) -> Vec<(PlaneId, Tag, bool)> {
        let Some(units) = &self.units else { return Vec::new() };
        let hands = units.hands.chunks(dev.geometry.slots.hands as usize);
        let held = (0..).map(PlaneId).zip(hands).flat_map(|(plane, hands)| {
            let held = hands.iter().flat_map(|hand| &hand.held);
            held.map(move |held| (plane, *held))
        });
        let stays = held.filter(|(_, held)| dev.flash.is_valid(held.place));
        stays.map(|(plane, held)| (plane, held.tag, dev.is_lost(held.place))).collect()
    }

    /// Power is cut: nothing is left in the controller.
    pub(in crate::engine) fn empty_hands(&mut self, dev: &Device) {
        if let Some(units) = &mut self.units {
            units.hands = Hand::all(&dev.geometry);
        }
    }

    /// Checks the hands: a unit has one place, and few wait where no collection runs (scan of the full oracle).
    pub(in crate::engine) fn recount_hands(&self, dev: &Device, gc: &Gc) {
        let Some(units) = &self.units else { return };
        let geometry = &dev.geometry;
        let kinds = geometry.slots.hands;
        for (at, hand) in (0..).zip(&units.hands) {
            let (plane, kind) = (PlaneId(at / kinds), at % kinds);
            let held: Vec<Ppn> = hand.held.iter().map(|held| held.place).collect();
            for place in geometry.hand_of(plane, kind).map(Ppn) {
                let count = held.iter().filter(|other| **other == place).count();
                law!(
                    count + hand.free.iter().filter(|other| **other == place).count() == 1,
                    "law: a place is used once"
                );
                law!(count == 1 || !dev.flash.is_valid(place), "law: a free place holds no unit");
            }
            let rests = !gc.claimed.has(plane);
            let live = held.iter().filter(|place| dev.flash.is_valid(**place)).count();
            law!(!rests || live < geometry.slots.per_program as usize, "law: what fills a program is programmed");
        }
    }
}

impl Stats {
    /// Units of a super page have been read for a collection, or for a fold.
    fn count_units_read(&mut self, units: &ReadUnits, folds: bool) {
        self.ecc.moves_uncorrectable += units.lost;
        self.units.hand_max = self.units.hand_max.max(units.held);
        if !folds {
            self.moved_stale += units.stale;
            self.count_sorted(units.moved);
        }
    }
}
