//! Reads of units: the units of a request in one super page are one operation, whose array time is that of one page.

use crate::blame::Extra;
use crate::device::geometry::Geometry;
use crate::device::mapping::Location;
use crate::device::transaction::Class;
use crate::engine::cache::Served;
use crate::engine::kernel::ops::{NO_CHIP, Page};
use crate::engine::retry::super_pages;
use crate::engine::{Features, Ssd, streams};
use crate::policy::PageSet;
use crate::units::{Lpn, OpId, PlaneId, Ppn, RequestId, Tag, UnitId};

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

impl Ssd {
    /// A read of a unit waits for flash: it is sent when the others of its request are known.
    pub(in crate::engine) fn keep_for_chain(&mut self, op: OpId) {
        let slot = self.page_to_read(op).expect("law: a unit that waits for flash is there");
        let super_page = self.dev.geometry.super_page(slot);
        if let Some(units) = &mut self.features.units {
            units.admitted.push((super_page, op));
        }
    }

    /// The reads of a request have been admitted: those of one super page are one operation. They follow one another in the order of
    /// their first units.
    pub(in crate::engine) fn send_chains(&mut self, id: RequestId, tail: &mut OpId) {
        let Some(units) = &mut self.features.units else { return };
        let mut admitted = std::mem::take(&mut units.admitted);
        // Units of a request are admitted in ascending order, and so are the ages of their operations.
        admitted.sort_by_key(|(super_page, op)| (*super_page, self.kernel.ops[*op].age));
        let mut leads = std::mem::take(&mut found(&mut self.features).leads);
        for chain in admitted.chunk_by(|a, b| a.0 == b.0) {
            self.link_chain(chain.iter().map(|(_, op)| *op));
            leads.push(chain[0].1);
        }
        leads.sort_by_key(|op| self.kernel.ops[*op].age);
        for lead in leads.drain(..) {
            if !self.host.windowed {
                self.send(lead);
            } else if tail.is_none() {
                self.host.requests[id].first = lead;
                *tail = lead;
            } else {
                self.kernel.ops[Page(*tail)].link = lead;
                *tail = lead;
            }
        }
        admitted.clear();
        if let Some(units) = &mut self.features.units {
            (units.admitted, units.found.leads) = (admitted, leads);
        }
    }

    /// Reads are one operation, that of the first. It is one sub-request of its chip.
    fn link_chain(&mut self, mut chain: impl Iterator<Item = OpId>) {
        let Some(mut last) = chain.next() else { return };
        for op in chain {
            self.kernel.ops[last].mate = op;
            self.kernel.ops[Page(op)].chip = NO_CHIP;
            last = op;
        }
        self.kernel.ops[last].mate = OpId::NONE;
    }

    /// A read of units has reached the head of a unit's queue: all of them are looked up again.
    pub(in crate::engine) fn select_units(&mut self, lead: OpId, unit: UnitId) {
        let mut units = std::mem::take(found(&mut self.features));
        units.flash.clear();
        units.memory.clear();
        let mut at = lead;
        while at.is_some() {
            match self.served(at) {
                Served::Flash(slot) => units.flash.push((at, slot)),
                Served::Memory | Served::Otherwise => units.memory.push(at),
            }
            at = std::mem::replace(&mut self.kernel.ops[at].mate, OpId::NONE);
        }
        let plane = self.kernel.ops[lead].plane;
        let first = units.flash.first().map(|(_, slot)| *slot);
        let own = first.filter(|slot| self.dev.geometry.plane_of(*slot) == plane);
        match own {
            Some(_) => self.turn_comes(lead, unit),
            None => self.charge_wait(lead, unit),
        }
        let all = units.flash.iter().map(|(op, _)| op).chain(&units.memory);
        all.for_each(|op| self.waited_with(*op, lead));
        units.memory.iter().for_each(|op| self.unit_in_memory(*op));
        let mut read = std::mem::take(&mut units.read);
        read.clear();
        if let Some(slot) = own {
            units.take_chain(&self.dev.geometry, self.dev.geometry.super_page(slot));
            std::mem::swap(&mut read, &mut units.chain);
        }
        while let Some((_, slot)) = units.flash.first().copied() {
            units.take_chain(&self.dev.geometry, self.dev.geometry.super_page(slot));
            self.read_elsewhere(&units.chain);
        }
        if !read.is_empty() {
            self.begin_units(&read, &mut units.slots, unit);
        }
        units.read = read;
        *found(&mut self.features) = units;
    }

    /// A unit's read has waited exactly as long as the first one of its operation, for the same die.
    fn waited_with(&mut self, op: OpId, lead: OpId) {
        if op == lead {
            return;
        }
        let age = self.kernel.ops[lead].age;
        let (plane, unit, channel) =
            (self.kernel.ops[lead].plane, self.kernel.ops[lead].unit, self.kernel.ops[lead].channel);
        let record = &mut self.kernel.ops[op];
        (record.plane, record.unit, record.channel, record.age) = (plane, unit, channel, age);
        self.kernel.ops[Page(op)].blame = self.kernel.ops[Page(lead)].blame.clone();
        if self.rules.slc {
            let folds = Extra::Slc as usize;
            self.kernel.ops.extras[op].blame.0[folds] = self.kernel.ops.extras[lead].blame.0[folds];
        }
        if self.rules.tenants {
            self.kernel.ops.tenant[op].by = self.kernel.ops.tenant[lead].by;
        }
    }

    /// A unit that was to be read is in memory, or nowhere, by now.
    fn unit_in_memory(&mut self, op: OpId) {
        let lpn = self.kernel.ops[op].lpn;
        if matches!(self.served(op), Served::Memory) {
            self.hits(op, lpn);
        }
        let measured = self.host.requests[self.kernel.ops[op].request].measured;
        self.stats.pages.from_memory += u64::from(measured);
        self.serve_from_memory(op);
    }

    /// Units that have moved are read by an operation of the same age, behind all others of its die.
    fn read_elsewhere(&mut self, chain: &[(OpId, Ppn)]) {
        let (lead, slot) = chain[0];
        chain.iter().for_each(|(op, _)| self.kernel.ops[*op].waits_since = self.now);
        let chip = self.kernel.ops[Page(lead)].chip;
        self.link_chain(chain.iter().map(|(op, _)| *op));
        self.kernel.ops[Page(lead)].chip = chip;
        self.enqueue(lead, self.dev.geometry.plane_of(slot), false);
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
            self.begin_cached_read(*op);
            self.load(*op, *slot);
        }
        slots.clear();
        slots.extend(read.iter().map(|(op, slot)| (*slot, self.kernel.bytes_read(&self.dev, &self.rules, *op))));
        if self.rules.retries && super_pages::begin_again(self, read, slots, unit) {
            return;
        }
        let pages = self.read_slots(first, slots);
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

    /// The unwritten units of a unit's run are put on flash in one program, in no time, as if they had been written in order; written
    /// ones leave padding. Returns the unit's slot; none if its plane has no program for the host.
    pub(in crate::engine) fn preload_run(&mut self, lpn: Lpn) -> Option<Ppn> {
        let geometry = &self.dev.geometry;
        let (per_program, per_page, homes) = (geometry.slots.per_program, geometry.slots.per_page, geometry.planes);
        let (index, chunk) = match self.rules.numbered {
            true => (lpn.0 / per_page / homes * per_page + lpn.0 % per_page, lpn.0 / per_page % homes),
            false => (lpn.0, 0),
        };
        let first_index = index / per_program * per_program;
        let unit = |index: u32| match self.rules.numbered {
            true => Lpn((index / per_page * homes + chunk) * per_page + index % per_page),
            false => Lpn(index),
        };
        let run: Vec<Lpn> = (first_index..first_index + per_program).map(unit).collect();
        let plane = match self.rules.numbered {
            true => geometry.static_plane(lpn),
            false => PlaneId(index / per_program % homes),
        };
        // With handles, the program is of those that have the unit's.
        let stream = streams::brings(&mut self.features, lpn);
        let first = self.dev.flash.take_program(plane, stream, false)?;
        let (block, exported) = (self.dev.geometry.block_of(first), self.dev.geometry.exported);
        let mut placed = 0;
        for (slot, lpn) in (first.0..).map(Ppn).zip(run) {
            let nowhere = lpn.0 < exported && self.dev.map.get(lpn) == Location::Nowhere;
            let unwritten = nowhere && streams::brought(&self.features, lpn) == stream;
            self.dev.flash.land(slot, block, if unwritten { lpn } else { Lpn::NONE });
            let tag = if unwritten { Tag { lpn, version: self.oracle.latest(lpn) } } else { Tag::NONE };
            self.oracle.store(slot, tag);
            if unwritten {
                streams::brings(&mut self.features, lpn);
                self.dev.map.set(lpn, Location::Flash(slot));
                self.oracle.acknowledge(tag);
                self.features.move_home(lpn, plane);
                placed += 1;
            }
        }
        self.stats.pages.preloaded += if self.host.measuring { placed - 1 } else { 0 };
        self.dev.map.on_flash(lpn)
    }
}
