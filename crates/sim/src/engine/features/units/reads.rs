//! Reads of units: the units of a request in one super page are one operation, whose array time is that of one page.

use crate::blame::Extra;
use crate::device::geometry::Geometry;
use crate::device::mapping::Location;
use crate::device::transaction::Class;
use crate::engine::features::cache::Served;
use crate::engine::features::retry::super_pages;
use crate::engine::features::streams;
use crate::engine::kernel::Kernel;
use crate::engine::kernel::ops::{NO_CHIP, Page};
use crate::engine::rules::Rules;
use crate::engine::{Device, Features, Host, Ssd};
use crate::oracle::Oracle;
use crate::policy::PageSet;
use crate::request::RequestOp;
use crate::stats::Stats;
use crate::units::{Lpn, Nanos, OpId, PlaneId, Ppn, RequestId, Tag, UnitId};

/// The units of a read, by where they are. Its lists are used again.
#[derive(Clone, Default)]
pub(super) struct Found {
    /// On flash, in the order of their chain.
    flash: Vec<(OpId, Ppn)>,
    memory: Vec<OpId>,
    /// Those of one super page.
    chain: Vec<(OpId, Ppn)>,
    /// Those that are read now.
    read: Vec<(OpId, Ppn)>,
    /// Slots and bytes of a command.
    slots: Vec<(Ppn, u32)>,
    /// First units of chains.
    leads: Vec<OpId>,
}

impl Found {
    /// Takes the units of one super page out of those on flash, into `chain`.
    fn take_chain(&mut self, geometry: &Geometry, super_page: u32) {
        let (flash, chain) = (&mut self.flash, &mut self.chain);
        chain.clear();
        flash.retain(|unit| {
            let other = geometry.super_page(unit.1) != super_page;
            if !other {
                chain.push(*unit);
            }
            other
        });
    }
}

fn found(features: &mut Features) -> &mut Found {
    &mut features.units.as_mut().expect("programs of several units").found
}

impl Kernel {
    /// Reads are one operation, that of the first. It is one sub-request of its chip.
    fn link_chain(&mut self, mut chain: impl Iterator<Item = OpId>) {
        let Some(mut last) = chain.next() else { return };
        for op in chain {
            self.ops[last].mate = op;
            self.ops[Page(op)].chip = NO_CHIP;
            last = op;
        }
        self.ops[last].mate = OpId::NONE;
    }

    /// Units that have moved are one operation of the same age.
    fn chain_elsewhere(&mut self, now: Nanos, chain: &[(OpId, Ppn)]) {
        let (lead, _) = chain[0];
        chain.iter().for_each(|(op, _)| self.ops[*op].waits_since = now);
        let chip = self.ops[Page(lead)].chip;
        self.link_chain(chain.iter().map(|(op, _)| *op));
        self.ops[Page(lead)].chip = chip;
    }

    /// A unit's read has waited exactly as long as the first one of its operation, for the same die.
    fn waited_with(&mut self, rules: &Rules, op: OpId, lead: OpId) {
        if op == lead {
            return;
        }
        let age = self.ops[lead].age;
        let (plane, unit, channel) = (self.ops[lead].plane, self.ops[lead].unit, self.ops[lead].channel);
        let record = &mut self.ops[op];
        (record.plane, record.unit, record.channel, record.age) = (plane, unit, channel, age);
        self.ops[Page(op)].blame = self.ops[Page(lead)].blame.clone();
        if rules.slc {
            let folds = Extra::Slc as usize;
            self.ops.extras[op].blame.0[folds] = self.ops.extras[lead].blame.0[folds];
        }
        self.share_same(rules, op, lead);
    }
}

impl Device {
    /// The unwritten units of a unit's run are put on flash in one program, in no time, as if they had been written in order; written
    /// ones leave padding. Returns the unit's slot; none if its plane has no program for the host.
    pub(in crate::engine) fn preload_run(
        &mut self,
        host: &Host,
        features: &mut Features,
        stats: &mut Stats,
        oracle: &mut Oracle,
        rules: &Rules,
        lpn: Lpn,
    ) -> Option<Ppn> {
        let geometry = &self.geometry;
        let (per_program, per_page, homes) = (geometry.slots.per_program, geometry.slots.per_page, geometry.planes);
        let (index, chunk) = match rules.numbered {
            true => (lpn.0 / per_page / homes * per_page + lpn.0 % per_page, lpn.0 / per_page % homes),
            false => (lpn.0, 0),
        };
        let first_index = index / per_program * per_program;
        let unit = |index: u32| match rules.numbered {
            true => Lpn((index / per_page * homes + chunk) * per_page + index % per_page),
            false => Lpn(index),
        };
        let run: Vec<Lpn> = (first_index..first_index + per_program).map(unit).collect();
        let plane = match rules.numbered {
            true => geometry.static_plane(lpn),
            false => PlaneId(index / per_program % homes),
        };
        // With handles, the program is of those that have the unit's.
        let stream = streams::brings(features, lpn);
        let first = self.flash.take_program(plane, stream, false)?;
        let (block, exported) = (self.geometry.block_of(first), self.geometry.exported);
        let mut placed = 0;
        for (slot, lpn) in (first.0..).map(Ppn).zip(run) {
            let nowhere = lpn.0 < exported && self.map.get(lpn) == Location::Nowhere;
            let unwritten = nowhere && streams::brought(features, lpn) == stream;
            self.flash.land(slot, block, if unwritten { lpn } else { Lpn::NONE });
            let tag = if unwritten { Tag { lpn, version: oracle.latest(lpn) } } else { Tag::NONE };
            oracle.store(slot, tag);
            if unwritten {
                streams::brings(features, lpn);
                self.map.set(lpn, Location::Flash(slot));
                oracle.acknowledge(tag);
                features.move_home(lpn, plane);
                placed += 1;
            }
        }
        stats.pages.preloaded += if host.measuring { placed - 1 } else { 0 };
        self.map.on_flash(lpn)
    }
}

impl Features {
    /// A read of a unit waits for flash, for a slot: it is sent when the others of its request are known.
    fn keep_for_chain(&mut self, dev: &Device, op: OpId, slot: Ppn) {
        let super_page = dev.geometry.super_page(slot);
        if let Some(units) = &mut self.units {
            units.admitted.push((super_page, op));
        }
    }

    /// The reads of a request have been admitted: those of one super page are one operation. They follow one another in the order of
    /// their first units. Returns those that are to be sent now; with a window they wait for room in it.
    fn take_chains(&mut self, kernel: &mut Kernel, host: &mut Host, id: RequestId, tail: &mut OpId) -> Vec<OpId> {
        let Some(units) = &mut self.units else { return Vec::new() };
        let (admitted, mut leads) = (&mut units.admitted, std::mem::take(&mut units.found.leads));
        // Units of a request are admitted in ascending order, and so are the ages of their operations.
        admitted.sort_by_key(|(super_page, op)| (*super_page, kernel.ops[*op].age));
        for chain in admitted.chunk_by(|a, b| a.0 == b.0) {
            kernel.link_chain(chain.iter().map(|(_, op)| *op));
            leads.push(chain[0].1);
        }
        leads.sort_by_key(|op| kernel.ops[*op].age);
        admitted.clear();
        if !host.windowed {
            return leads;
        }
        for lead in leads.drain(..) {
            if tail.is_none() {
                host.requests[id].first = lead;
            } else {
                kernel.ops[Page(*tail)].link = lead;
            }
            *tail = lead;
        }
        leads
    }

    /// Gives a list of operations back.
    fn give_chains(&mut self, mut leads: Vec<OpId>) {
        leads.clear();
        if let Some(units) = &mut self.units {
            units.found.leads = leads;
        }
    }
}

/// A page of a request waits for flash or, as a write, for its die. Returns whether it is a unit to read, which is sent when the others
/// of its request are known. False where a program has one unit.
#[inline(always)]
pub(in crate::engine) fn joins_chain(ssd: &mut Ssd, op: OpId, of: RequestOp) -> bool {
    let joins = ssd.rules.units && of == RequestOp::Read;
    if joins {
        let slot = ssd.page_to_read(op).expect("law: a unit that waits for flash is there");
        ssd.features.keep_for_chain(&ssd.dev, op, slot);
    }
    joins
}

/// All pages of a request have been admitted: its units to read are sent or, with a window, linked after `tail`. Nothing happens where a
/// program has one unit.
#[inline(always)]
pub(in crate::engine) fn send_chains(ssd: &mut Ssd, id: RequestId, of: RequestOp, tail: &mut OpId) {
    if ssd.rules.units && of == RequestOp::Read {
        let leads = ssd.features.take_chains(&mut ssd.kernel, &mut ssd.host, id, tail);
        leads.iter().for_each(|lead| ssd.send(*lead));
        ssd.features.give_chains(leads);
    }
}

impl Ssd {
    /// A read of units has reached the head of a unit's queue: all of them are looked up again.
    pub(in crate::engine) fn select_units(&mut self, lead: OpId, unit: UnitId) {
        let mut units = std::mem::take(found(&mut self.features));
        units.flash.clear();
        units.memory.clear();
        let mut at = lead;
        while at.is_some() {
            match self.features.served(&self.kernel, &self.dev, &self.rules, &self.config, at) {
                Served::Flash(slot) => units.flash.push((at, slot)),
                Served::Memory | Served::Otherwise => units.memory.push(at),
            }
            at = std::mem::replace(&mut self.kernel.ops[at].mate, OpId::NONE);
        }
        let plane = self.kernel.ops[lead].plane;
        let first = units.flash.first().map(|(_, slot)| *slot);
        let own = first.filter(|slot| self.dev.geometry.plane_of(*slot) == plane);
        let turn = match own {
            Some(_) => self.kernel.update_lag(self.now, lead, unit),
            None => self.kernel.turn(self.now, lead, unit),
        };
        self.charge_wait(lead, unit, &turn);
        let all = units.flash.iter().map(|(op, _)| op).chain(&units.memory);
        all.for_each(|op| self.kernel.waited_with(&self.rules, *op, lead));
        // Units that are in memory, or nowhere, by now.
        for op in units.memory.iter().copied() {
            if matches!(self.features.served(&self.kernel, &self.dev, &self.rules, &self.config, op), Served::Memory) {
                self.hits(op, self.kernel.ops[op].lpn);
            }
            let measured = self.host.requests[self.kernel.ops[op].request].measured;
            self.stats.pages.from_memory += u64::from(measured);
            self.serve_from_memory(op);
        }
        let mut read = std::mem::take(&mut units.read);
        read.clear();
        if let Some(slot) = own {
            units.take_chain(&self.dev.geometry, self.dev.geometry.super_page(slot));
            std::mem::swap(&mut read, &mut units.chain);
        }
        while let Some((_, slot)) = units.flash.first().copied() {
            units.take_chain(&self.dev.geometry, self.dev.geometry.super_page(slot));
            // They are read behind all other operations of their die.
            self.kernel.chain_elsewhere(self.now, &units.chain);
            self.enqueue(units.chain[0].0, self.dev.geometry.plane_of(slot), false);
        }
        if !read.is_empty() {
            self.begin_units(&read, &mut units.slots, unit);
        }
        units.read = read;
        *found(&mut self.features) = units;
    }

    /// The read of units of a super page begins.
    fn begin_units(&mut self, read: &[(OpId, Ppn)], slots: &mut Vec<(Ppn, u32)>, unit: UnitId) {
        let (first, _) = read[0];
        let mut last = OpId::NONE;
        for (op, slot) in read {
            if last.is_some() {
                self.kernel.ops[last].mate = *op;
            }
            last = *op;
            self.features.begin_cached_read(&mut self.kernel, &self.dev, &self.rules, *op);
            let tag = self.kernel.load(&mut self.dev, &mut self.features, &self.oracle, &self.rules, *op, *slot);
            if self.host.notes_reads(&self.oracle, &self.rules) {
                self.kernel.note_flash_read(&self.dev, &self.features, &mut self.oracle, &self.rules, *op, tag);
            }
        }
        slots.clear();
        slots.extend(read.iter().map(|(op, slot)| (*slot, self.kernel.bytes_read(&self.dev, &self.rules, *op))));
        if self.rules.retries && super_pages::begin_again(self, read, slots, unit) {
            return;
        }
        let pages = self.kernel.read_slots(&self.dev, &mut self.features, first, slots);
        for (op, slot) in read {
            let record = &mut self.kernel.ops[*op];
            record.verb = crate::device::transaction::Verb::Read;
            record.pages = PageSet::one(*slot);
        }
        if self.host.requests[self.kernel.ops[first].request].measured {
            self.stats.count_reads(Class::Host, pages);
        } else {
            self.stats.count_unmeasured(Class::Host, false, pages);
        }
        self.begin(first, unit);
    }
}
