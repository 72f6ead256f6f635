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
use crate::engine::slc::steps;
use crate::engine::{Device, Ssd};
use crate::policy::PageSet;
use crate::units::{JobId, Lpn, OpId, PlaneId, Ppn, Tag};

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

impl Hand {
    /// By plane group and kind of units, all empty.
    pub(super) fn all(geometry: &Geometry) -> Vec<Self> {
        let hand = |places: Range<u32>| Hand { held: Vec::new(), free: places.rev().map(Ppn).collect(), placing: 0 };
        let planes = (0..geometry.planes).map(PlaneId);
        let places = planes.flat_map(|plane| (0..geometry.slots.hands).map(move |kind| geometry.hand_of(plane, kind)));
        places.map(hand).collect()
    }
}

impl Device {
    /// The number of the hand of the running collection of a plane group.
    fn hand_of_collection(&self, plane: PlaneId) -> usize {
        plane.ix() * self.geometry.slots.hands as usize + self.flash.kept_kind(plane)
    }
}

impl Ssd {
    /// The hand of the running collection of a plane group.
    fn hand(&self, plane: PlaneId) -> &Hand {
        let at = self.dev.hand_of_collection(plane);
        &self.features.units.as_ref().expect("programs of several units").hands[at]
    }

    fn hand_mut(&mut self, plane: PlaneId) -> &mut Hand {
        let at = self.dev.hand_of_collection(plane);
        &mut self.features.units.as_mut().expect("programs of several units").hands[at]
    }

    /// Whether a slot is a place in the controller.
    #[inline(always)]
    pub(in crate::engine) fn is_in_hand(&self, slot: Ppn) -> bool {
        self.rules.units && self.dev.geometry.is_in_hand(slot)
    }

    /// Units that were overwritten or trimmed have left their places, unless they are being programmed.
    fn forget_left(&mut self, plane: PlaneId) {
        let own = self.dev.hand_of_collection(plane);
        let Some(units) = &mut self.features.units else { return };
        let (hand, flash) = (&mut units.hands[own], &self.dev.flash);
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
        self.stats.units.dropped += (before - hand.held.len()) as u64;
    }

    /// The next step of a collection: a program of what fills one, the read of a super page, or the erase.
    pub(in crate::engine) fn unit_step(&mut self, id: JobId) {
        let plane = self.gc.jobs[id.0].plane;
        self.forget_left(plane);
        let held = self.hand(plane).held.len();
        let full = held >= self.dev.geometry.slots.per_program as usize;
        let running = &mut self.gc.jobs[id.0];
        let op = running.op;
        let next = if full { None } else { running.job.next_valid(&self.dev.view(self.now), 0) };
        if let Some(slot) = next {
            self.kernel.ops[op].verb = Verb::Read;
            self.kernel.ops[op].pages = PageSet::one(slot);
        } else if full || self.rules.pads && held > 0 && !running.job.erased {
            self.kernel.ops[op].verb = Verb::Program;
        } else if !running.job.erased {
            self.kernel.ops[op].verb = Verb::Erase;
        } else {
            return self.end_collection(id);
        }
        self.carry_out(id);
    }

    /// The read of a super page begins: of all its units that are valid now.
    pub(in crate::engine) fn begin_unit_move(&mut self, op: OpId) {
        let (geometry, slot) = (&self.dev.geometry, self.kernel.ops[op].pages[0]);
        let bits = self.dev.flash.valid_units(slot);
        let first = Ppn(geometry.super_page(slot) * geometry.slots.per_super_page);
        let (block, unit) = (geometry.block_of(slot), geometry.unit_bytes);
        let units = (0..u64::BITS).filter(|place| bits >> place & 1 == 1).map(|place| (place, unit));
        let (burst, pages) = self.dev.timing.units(units);
        let place = self.dev.place(slot);
        let legs = self.dev.timing.legs(Command::ReadUnits { place: &place, burst, decoded: pages });
        self.array_reads(block);
        self.stats.count_reads(self.kernel.ops[op].class, pages);
        let job = self.kernel.ops[op].job;
        self.gc.jobs[job.0].units = bits;
        let step = &mut self.kernel.ops[op];
        step.from = PageSet::one(first);
        step.pages = step.from;
        step.legs = legs;
    }

    /// Units of a super page have been read: those that are still valid are in the hand of their plane group.
    pub(in crate::engine) fn units_are_read(&mut self, op: OpId) {
        self.end_reads(op);
        let (first, job) = (self.kernel.ops[op].from[0], self.kernel.ops[op].job);
        let (bits, plane) = (self.gc.jobs[job.0].units, self.gc.jobs[job.0].plane);
        let block = self.dev.geometry.block_of(first);
        let folds = self.kernel.ops[op].class == Class::Fold;
        for slot in (0..u64::BITS).filter(|place| bits >> place & 1 == 1).map(|place| Ppn(first.0 + place)) {
            let lpn = self.dev.flash.lpn_of(slot);
            if lpn.is_none() {
                self.stats.moved_stale += u64::from(!folds);
                continue;
            }
            let tag = self.oracle.load(slot, lpn);
            let lost = !self.survives_move(slot);
            let hand = self.hand_mut(plane);
            let place = hand.free.pop().expect("law: a hand has places for a program and a super page");
            hand.held.push(Held { place, lpn, tag });
            self.dev.flash.hand_takes(place, lpn);
            self.republish(lpn, slot, place);
            self.dev.flash.invalidate(slot, block, lpn);
            self.oracle.store(place, tag);
            self.dev.hold(place, lost);
            match folds {
                true => steps::unit_is_folded(self, plane),
                false => self.stats.count_sorted(1),
            }
            if self.rules.handles {
                self.dev.flash.count_moved(block, 1);
            }
        }
        let held = self.hand(plane).held.len() as u64;
        self.stats.units.hand_max = self.stats.units.hand_max.max(held);
    }

    /// The program of the first units in a hand begins, with padding if they are too few.
    pub(in crate::engine) fn begin_unit_place(&mut self, id: JobId) {
        let (plane, op) = (self.gc.jobs[id.0].plane, self.gc.jobs[id.0].op);
        let (slots, class) = (self.dev.geometry.slots, self.kernel.ops[op].class);
        let first = self.dev.flash.take_program(plane, Stream::Gc, true);
        let first = first.expect("law: the reserve leaves a program for every collection");
        let hand = self.hand_mut(plane);
        hand.placing = hand.held.len().min(slots.per_program as usize);
        let placing = hand.placing;
        let place = self.dev.place(first);
        let step = &mut self.kernel.ops[op];
        step.pages = PageSet::one(first);
        step.from = PageSet::EMPTY;
        step.legs = self.dev.timing.legs(Command::ProgramUnits { place: &place });
        self.stats.count_program_unit(class, slots.pages_per_program().into(), slots.planes.into());
        self.stats.units.count_moved(class, placing as u64, u64::from(slots.per_program) - placing as u64);
        if self.rules.tenants {
            // Padding is that of the first unit.
            for slot in 0..slots.per_program as usize {
                let held = if slot < placing { slot } else { 0 };
                self.features.tenant_moved(&self.dev, self.hand(plane).held[held].lpn);
            }
        }
    }

    /// A program of moved units has landed. Units that were overwritten or trimmed meanwhile are stale.
    pub(in crate::engine) fn moved_units_land(&mut self, op: OpId) {
        let (first, job) = (self.kernel.ops[op].pages[0], self.kernel.ops[op].job);
        let (plane, folds) = (self.gc.jobs[job.0].plane, self.kernel.ops[op].class == Class::Fold);
        let block = self.dev.geometry.block_of(first);
        let placing = std::mem::take(&mut self.hand_mut(plane).placing);
        for (slot, held) in (first.0..).map(Ppn).zip(0..placing) {
            let Held { place, tag, .. } = self.hand(plane).held[held];
            let (lpn, lost) = (self.dev.flash.lpn_of(place), self.dev.is_lost(place));
            if lpn.is_some() {
                self.republish(lpn, place, slot);
                self.dev.flash.invalidate(place, self.dev.geometry.block_of(place), lpn);
            }
            self.dev.flash.land(slot, block, lpn);
            self.oracle.land(slot, tag, lpn.is_some());
            self.host_programmed(slot, lost);
            self.stats.moved_stale += u64::from(lpn.is_none() && !folds);
        }
        let Hand { held, free, .. } = self.hand_mut(plane);
        free.extend(held.drain(..placing).map(|held| held.place));
        self.land_padding(first, placing as u32);
    }

    /// The slots of a program from `from` on have landed without units.
    pub(in crate::engine) fn land_padding(&mut self, first: Ppn, from: u32) {
        let block = self.dev.geometry.block_of(first);
        for slot in (from..self.dev.flash.slots_of_program(first)).map(|place| Ppn(first.0 + place)) {
            self.dev.flash.land(slot, block, Lpn::NONE);
            self.oracle.store(slot, Tag::NONE);
        }
    }

    /// The slots of a program that a power cut tears, with what they would hold, and whether that is lost.
    pub(in crate::engine) fn torn_units(&self, op: OpId) -> Vec<(Ppn, Tag, bool)> {
        let first = self.kernel.ops[op].pages[0];
        let per_program = self.dev.flash.slots_of_program(first);
        let units: Vec<(Tag, bool)> = if self.kernel.ops[op].class != Class::Cache {
            let hand = self.hand(self.gc.jobs[self.kernel.ops[op].job.0].plane);
            hand.held[..hand.placing].iter().map(|held| (held.tag, self.dev.is_lost(held.place))).collect()
        } else {
            self.features.units_of_group(&self.kernel, op)
        };
        let padding = std::iter::repeat((Tag::NONE, false));
        let slots = (first.0..first.0 + per_program).map(Ppn);
        slots.zip(units.into_iter().chain(padding)).map(|(slot, (tag, lost))| (slot, tag, lost)).collect()
    }

    /// Units in the controller, with their plane groups, and whether they are lost.
    pub(in crate::engine) fn units_in_hands(&self) -> Vec<(PlaneId, Tag, bool)> {
        let Some(units) = &self.features.units else { return Vec::new() };
        let hands = units.hands.chunks(self.dev.geometry.slots.hands as usize);
        let held = (0..).map(PlaneId).zip(hands).flat_map(|(plane, hands)| {
            let held = hands.iter().flat_map(|hand| &hand.held);
            held.map(move |held| (plane, *held))
        });
        let stays = held.filter(|(_, held)| self.dev.flash.is_valid(held.place));
        stays.map(|(plane, held)| (plane, held.tag, self.dev.is_lost(held.place))).collect()
    }

    /// Power is cut: nothing is left in the controller.
    pub(in crate::engine) fn empty_hands(&mut self) {
        if let Some(units) = &mut self.features.units {
            units.hands = Hand::all(&self.dev.geometry);
        }
    }

    /// Checks the hands: a unit has one place, and few wait where no collection runs (scan of the full oracle).
    pub(in crate::engine) fn recount_hands(&self) {
        let Some(units) = &self.features.units else { return };
        let geometry = &self.dev.geometry;
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
                law!(count == 1 || !self.dev.flash.is_valid(place), "law: a free place holds no unit");
            }
            let rests = !self.gc.claimed.has(plane);
            let live = held.iter().filter(|place| self.dev.flash.is_valid(**place)).count();
            law!(!rests || live < geometry.slots.per_program as usize, "law: what fills a program is programmed");
        }
    }
}
