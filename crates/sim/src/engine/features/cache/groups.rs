//! Groups: lines that one program of several units writes back together.
//!
//! A group is an operation of its own, which waits for a die and runs its legs. The operations of its lines carry their versions, as
//! without units; they wait in no queue. Its slots follow the order of its lines. What lines lack is read before, a super page at a
//! time, by operations that are in no map either ([`Fill`]).

use crate::blame::{CAUSES, Extra};
use crate::config::{CachePack, Writeback};
use crate::device::command::Command;
use crate::device::mapping::Location;
use crate::device::transaction::{Class, Need, Op, Verb};
use crate::engine::features::cache::lines::{Reason, State};
use crate::engine::features::cache::order::{Home, NONE};
use crate::engine::features::cache::turns::Turn;
use crate::engine::features::retry::super_pages;
use crate::engine::features::streams::count_program;
use crate::engine::kernel::Kernel;
use crate::engine::kernel::ops::Page;
use crate::engine::rules::Rules;
use crate::engine::{Device, Features, Gc, Host, Ssd};
use crate::oracle::Oracle;
use crate::policy::PageSet;
use crate::stats::Stats;
use crate::units::{Lpn, Nanos, OpId, PlaneId, Ppn, Tag, UnitId};

/// Lines that are written back together.
#[derive(Clone)]
struct Group {
    op: OpId,
    /// In the order of their slots.
    lines: Vec<u32>,
    /// Reads of what lines lack that have not ended.
    fills: Vec<u32>,
    reason: Reason,
    /// Its program has joined a queue.
    placed: bool,
    /// A line was trimmed after it was issued.
    trimmed: bool,
    /// It has the lines of a program of the cache of SLC, and counts on one in this plane, until it begins.
    small: Option<usize>,
}

/// The read of what lines of a group lack, of one super page.
#[derive(Clone)]
struct Fill {
    op: OpId,
    group: u32,
    /// Ascending by their units.
    lines: Vec<u32>,
}

/// All groups and their reads, in places that are used again.
#[derive(Clone, Default)]
pub(super) struct Groups {
    all: Vec<Group>,
    free: Vec<u32>,
    fills: Vec<Fill>,
    free_fills: Vec<u32>,
    /// Room for the lines of a group in the order of their units, and for what flushes wait for.
    sorted: Vec<u32>,
    oldest: Vec<u64>,
}

impl Groups {
    fn add(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            let (op, reason) = (OpId::NONE, Reason::Eager);
            let (lines, fills) = (Vec::new(), Vec::new());
            self.all.push(Group { op, lines, fills, reason, placed: false, trimmed: false, small: None });
            self.all.len() as u32 - 1
        })
    }

    fn remove(&mut self, group: u32) {
        let of = &mut self.all[group as usize];
        of.lines.clear();
        of.fills.clear();
        (of.op, of.placed, of.trimmed) = (OpId::NONE, false, false);
        self.free.push(group);
    }

    fn add_fill(&mut self, op: OpId, group: u32, lines: &[u32]) -> u32 {
        let fill = self.free_fills.pop().unwrap_or_else(|| {
            self.fills.push(Fill { op, group, lines: Vec::new() });
            self.fills.len() as u32 - 1
        });
        let of = &mut self.fills[fill as usize];
        (of.op, of.group) = (op, group);
        of.lines.clear();
        of.lines.extend_from_slice(lines);
        self.all[group as usize].fills.push(fill);
        fill
    }

    fn remove_fill(&mut self, fill: u32) {
        let group = self.fills[fill as usize].group;
        self.all[group as usize].fills.retain(|other| *other != fill);
        self.free_fills.push(fill);
    }
}

impl Features {
    pub(super) fn sets(&self) -> &super::order::Sets {
        self.cache().lines.ready.sets.as_ref().expect("programs of several units")
    }

    /// The operations of the lines for which slots of a super page are read.
    pub(in crate::engine) fn carriers(&self, kernel: &Kernel, fill: OpId) -> Vec<OpId> {
        let cache = self.cache();
        let lines = &cache.groups.fills[kernel.ops.cached[fill].line as usize].lines;
        lines.iter().map(|line| cache.lines.all[*line as usize].op).collect()
    }

    /// A group has the lines of a program of the cache of SLC in a plane, or those of a word line, which goes to other blocks.
    fn size_group(&mut self, kernel: &mut Kernel, group: u32, op: OpId, small: Option<usize>) {
        let cache = self.cache_mut();
        let Some(sizes) = &mut cache.sizes else { return };
        cache.groups.all[group as usize].small = small;
        match small {
            Some(plane) => sizes.promise(plane),
            None => kernel.ops.set_handle(op, 0),
        }
    }

    /// A group begins, or is not needed: it counts on no page of the cache of SLC. Returns whether it did.
    fn redeem(&mut self, group: u32) -> bool {
        let cache = self.cache_mut();
        let small = cache.groups.all[group as usize].small.take();
        cache.sizes.iter_mut().zip(small).for_each(|(sizes, plane)| sizes.redeem(plane));
        small.is_some()
    }

    /// A group is over.
    fn remove_group(&mut self, group: u32) {
        self.redeem(group);
        self.cache_mut().groups.remove(group);
    }

    /// What a group's program would write, in the order of its slots, and whether that is lost.
    pub(in crate::engine) fn units_of_group(&self, kernel: &Kernel, op: OpId) -> Vec<(Tag, bool)> {
        let group = &self.cache().groups.all[kernel.ops.cached[op].line as usize];
        let carriers = group.lines.iter().map(|line| self.cache().lines.all[*line as usize].op);
        carriers.map(|op| (kernel.ops[Page(op)].tags[0], kernel.ops[op].lost)).collect()
    }

    /// Lines that are ready and that something waits for are written back at once; or all.
    fn urge_lines(&mut self, dev: &Device, rules: &Rules, all: bool) {
        let lines = &self.cache().lines;
        let urgent = |turn: &&Turn| all || lines.all[turn.2 as usize].is_urgent();
        let turns: Vec<Turn> = lines.ready.iter().filter(urgent).copied().collect();
        for turn in turns {
            let set = self.home_of_line(dev, rules, turn.2).set;
            if let Some(sets) = &mut self.cache_mut().lines.ready.sets {
                sets.urge(turn, set);
            }
        }
    }

    /// Collector decisions where programs have several units begin. Returns whether all lines are written back.
    pub(super) fn decide_groups(&mut self, dev: &Device, host: &Host, rules: &Rules, now: Nanos, fresh: bool) -> bool {
        let drains = self.drains(host);
        if self.cache().keys.writeback != Writeback::Eager {
            self.decide_activity(now, fresh);
        }
        if std::mem::replace(&mut self.cache_mut().urgent, false) || drains {
            self.urge_lines(dev, rules, drains);
        }
        drains
    }

    /// The set whose lines are written back next, and why: first those with lines that are urgent, then full ones.
    pub(super) fn next_group(&self, dev: &Device, host: &Host, rules: &Rules, drains: bool) -> Option<(u32, Reason)> {
        let keys = &self.cache().keys;
        let (eager, any) = (keys.writeback == Writeback::Eager, keys.pack == CachePack::Any);
        if (drains || !eager || !any)
            && let Some(set) = self.sets().first_urgent()
        {
            return Some((set, if drains { Reason::Drain } else { Reason::Flush }));
        }
        if !eager && !self.cache().writes_more() {
            return None;
        }
        let reason = if eager { Reason::Eager } else { Reason::Watermark };
        self.next_set(dev, host, rules, any).map(|set| (set, reason))
    }

    /// The set whose lines are issued next: the lines fill a program or, if `any`, it has the first line.
    pub(super) fn next_set(&self, dev: &Device, host: &Host, rules: &Rules, any: bool) -> Option<u32> {
        if any {
            let (_, _, line) = *self.cache().lines.ready.first()?;
            return Some(self.home_of_line(dev, rules, line).set);
        }
        self.first_full(dev, host, rules, |_| true)
    }

    /// The set whose lines fill a program, and whose first line is first; among some sets.
    fn first_full(&self, dev: &Device, host: &Host, rules: &Rules, wanted: impl Fn(u32) -> bool) -> Option<u32> {
        let fills = |set| self.fills_program(dev, rules, host, set);
        self.sets().first_full(|set| wanted(set) && fills(set))
    }

    /// The slot that a read of what lines lack would read now; none if it needs none.
    pub(super) fn slot_to_fill(&self, kernel: &Kernel, dev: &Device, rules: &Rules, op: OpId) -> Ppn {
        let fill = &self.cache().groups.fills[kernel.ops.cached[op].line as usize];
        let slot = |line: &u32| {
            let of = &self.cache().lines.all[*line as usize];
            if of.lacking > 0 { kernel.kept_page(dev, of.lpn) } else { Ppn::NONE }
        };
        let mut slots = fill.lines.iter().map(slot);
        slots.find(|slot| slot.is_some() && !dev.is_in_hand(rules, *slot)).unwrap_or(Ppn::NONE)
    }

    /// What a line lacked has been found. `lost`: it could not be corrected; the line still lacks it, and its program says so.
    /// Returns whether its old page is needed no longer.
    pub(super) fn fills_line(
        &mut self,
        kernel: &mut Kernel,
        dev: &Device,
        oracle: &mut Oracle,
        line: u32,
        found: Tag,
        lost: bool,
    ) -> bool {
        let of = &self.cache().lines.all[line as usize];
        let (lpn, carrier) = (of.lpn, of.op);
        kernel
            .memories_of(dev, oracle, lpn, line)
            .into_iter()
            .for_each(|memory| oracle.merged(memory, lpn, Some(found)));
        kernel.ops[carrier].lost = lost;
        if lost {
            return false;
        }
        self.cache_mut().lines.complete(line);
        self.cache().protected
    }

    /// Lines of a group lack sectors, which these slots hold: creates the read of the first super page that has some, which is to join
    /// the queue of the plane that is returned.
    fn next_fill(
        &mut self,
        kernel: &mut Kernel,
        dev: &Device,
        now: Nanos,
        group: u32,
        left: &mut Vec<(Ppn, u32)>,
        age: u64,
    ) -> Option<(OpId, PlaneId)> {
        let (first, _) = left.first().copied()?;
        let super_page = dev.geometry.super_page(first);
        let of = |slot: Ppn| dev.geometry.super_page(slot) == super_page;
        let own: Vec<u32> = left.iter().filter(|(slot, _)| of(*slot)).map(|(_, line)| *line).collect();
        left.retain(|(slot, _)| !of(*slot));
        let op = Op { class: Class::Cache, need: Need::Merge, age, waits_since: now, ..Op::blank() };
        let op = kernel.ops.create(op);
        kernel.ops[op].lpn = self.cache().lines.all[own[0] as usize].lpn;
        kernel.ops[Page(op)].bytes = dev.geometry.unit_bytes;
        kernel.ops.cached[op].line = self.cache_mut().groups.add_fill(op, group, &own);
        Some((op, dev.geometry.plane_of(first)))
    }

    /// The set whose lines a die writes first when it is idle.
    pub(super) fn first_set_of(&self, dev: &Device, host: &Host, rules: &Rules, unit: UnitId) -> Option<u32> {
        let (geometry, streams) = (&dev.geometry, self.cache().streams);
        if self.cache().keys.pack != CachePack::Any {
            let own = |set: u32| geometry.unit_of(PlaneId(set / streams)) == unit;
            return self.first_full(dev, host, rules, own);
        }
        let homes = (0..geometry.planes_per_unit).map(|k| geometry.plane_of_unit(unit, k).0);
        let mut sets = homes.flat_map(|home| home * streams..(home + 1) * streams);
        self.sets().first_of(&mut sets)
    }

    /// The lines for which slots of a super page have been read.
    pub(super) fn lines_read(&mut self, kernel: &Kernel, op: OpId) -> Vec<u32> {
        let fill = kernel.ops.cached[op].line as usize;
        std::mem::take(&mut self.cache_mut().groups.fills[fill].lines)
    }

    /// What a line may have lacked has been read. Returns the page whose old version is needed no longer, if it has one.
    pub(super) fn slot_is_read(
        &mut self,
        kernel: &mut Kernel,
        dev: &Device,
        oracle: &mut Oracle,
        line: u32,
    ) -> Option<Lpn> {
        let of = &self.cache().lines.all[line as usize];
        if of.lacking == 0 {
            return None;
        }
        let (lpn, found, lost) = (of.lpn, kernel.ops[Page(of.op)].tags[1], kernel.ops[of.op].lost);
        self.fills_line(kernel, dev, oracle, line, found, lost).then_some(lpn)
    }

    /// The program of a group if its lines lack nothing: it is to join a queue. One without lines is not needed.
    fn group_to_place(&mut self, kernel: &mut Kernel, group: u32) -> Option<OpId> {
        let of = &mut self.cache_mut().groups.all[group as usize];
        if !of.fills.is_empty() {
            return None;
        }
        let op = of.op;
        if of.lines.is_empty() {
            self.drop_line_op(kernel, op);
            self.remove_group(group);
            return None;
        }
        of.placed = true;
        kernel.becomes_program(op);
        Some(op)
    }

    /// A read of what lines lack has ended, or is not needed. The program that waits for the last of them has its causes,
    /// and is returned if it joins a queue.
    pub(super) fn fill_is_over(&mut self, kernel: &mut Kernel, op: OpId) -> Option<OpId> {
        let fill = kernel.ops.cached[op].line;
        let group = self.cache().groups.fills[fill as usize].group;
        self.cache_mut().groups.remove_fill(fill);
        let of = &self.cache().groups.all[group as usize];
        let (lead, last) = (of.op, of.fills.is_empty());
        let blame = kernel.ops[Page(op)].blame.all();
        let retry = kernel.ops.extras[op].blame.0[Extra::Retry as usize];
        let log = kernel.remove_line_op(op);
        if last {
            for (cause, _) in CAUSES.iter().copied() {
                kernel.ops[Page(lead)].blame.add(cause, blame.0[cause as usize]);
            }
            kernel.charge_extra(lead, Extra::Retry, retry);
            kernel.ops.cached[lead].log = log;
        } else {
            self.cache_mut().logs.forget(log);
        }
        self.group_to_place(kernel, group)
    }

    /// A line that has been issued is trimmed: its slot is padding. A group without lines is not needed.
    pub(super) fn leaves_group(
        &mut self,
        kernel: &mut Kernel,
        host: &mut Host,
        gc: &mut Gc,
        rules: &Rules,
        carrier: OpId,
    ) {
        let line = kernel.ops.cached[carrier].line;
        let cache = self.cache_mut();
        let group = std::mem::replace(&mut cache.lines.all[line as usize].group, NONE);
        let Some(of) = cache.groups.all.get_mut(group as usize) else { return };
        of.lines.retain(|other| *other != line);
        of.trimmed = true;
        let (op, empty, placed) = (of.op, of.lines.is_empty(), of.placed);
        for fill in of.fills.clone() {
            cache.groups.fills[fill as usize].lines.retain(|other| *other != line);
        }
        if empty && placed {
            self.leaves_queue(kernel, host, gc, rules, op);
            self.drop_line_op(kernel, op);
            self.remove_group(group);
        }
    }

    /// A line that has been issued was written again through another handle: it waits for a group of that one, at its new place. Its
    /// slot is padding.
    pub(super) fn change_group(
        &mut self,
        kernel: &mut Kernel,
        host: &mut Host,
        gc: &mut Gc,
        rules: &Rules,
        line: u32,
        home: Home,
    ) {
        let carrier = self.cache().lines.all[line as usize].op;
        self.leaves_group(kernel, host, gc, rules, carrier);
        let cache = self.cache_mut();
        cache.lines.issued -= 1;
        cache.lines.all[line as usize].state = State::Dirty;
        cache.lines.get_ready(line, home);
        cache.urgent |= cache.lines.all[line as usize].is_urgent();
        cache.fresh = true;
    }
}

impl Device {
    /// Slots that are read for lines have left the die: those that could not be corrected are lost.
    pub(super) fn units_filled(
        &self,
        kernel: &mut Kernel,
        features: &Features,
        stats: &mut Stats,
        now: Nanos,
        fill: OpId,
    ) {
        for carrier in features.carriers(kernel, fill) {
            let slot = kernel.ops[carrier].pages[0];
            kernel.ops[carrier].lost = !self.decodes(stats, now, slot);
        }
    }
}

impl Kernel {
    /// The legs of a read of slots of one super page, each with its bytes. Returns the number of flash pages.
    pub(in crate::engine) fn read_slots(
        &mut self,
        dev: &Device,
        features: &mut Features,
        op: OpId,
        slots: &mut [(Ppn, u32)],
    ) -> u64 {
        slots.sort_unstable();
        let per = dev.geometry.slots.per_super_page;
        let (burst, pages) = dev.timing.units(slots.iter().map(|(slot, bytes)| (slot.0 % per, *bytes)));
        let place = dev.place(slots[0].0);
        let legs = dev.timing.legs(Command::ReadUnits { place: &place, burst, decoded: 0 });
        let command = &mut self.ops[op];
        command.verb = Verb::Read;
        command.pages = PageSet::one(slots[0].0);
        command.legs = legs;
        features.note_pages(pages);
        pages
    }
}

impl Ssd {
    /// Lines of a set are issued together: what they lack is read first.
    pub(super) fn issue_group(&mut self, set: u32, reason: Reason) {
        let (age, now) = (self.kernel.age(), self.now);
        let small = self.features.small_group(&self.dev, &self.rules, &self.host, set);
        let most = self.features.small_program().filter(|_| small.is_some());
        let cache = self.features.cache_mut();
        let group = cache.groups.add();
        let mut lines = std::mem::take(&mut cache.groups.all[group as usize].lines);
        cache.lines.ready.sets.iter().for_each(|sets| sets.lines(set, most, &mut lines));
        let first = &cache.lines.all[lines[0] as usize];
        let lpn = first.lpn;
        let reason = match (first.forced, first.flushed, first.held) {
            (true, _, _) => Reason::Fua,
            (_, true, _) => Reason::Flush,
            (_, _, true) => Reason::Hold,
            _ => reason,
        };
        for line in &lines {
            self.features.leaves_to_flash(&self.dev, &self.rules, *line, reason);
            let of = &mut self.features.cache_mut().lines.all[*line as usize];
            of.group = group;
            let carrier = of.op;
            self.kernel.ops[carrier].age = age;
        }
        let op = Op {
            class: Class::Cache,
            verb: Verb::Program,
            need: Need::Write,
            lpn,
            age,
            waits_since: now,
            ..Op::blank()
        };
        let op = self.kernel.ops.create(op);
        self.kernel.ops[Page(op)].bytes = self.dev.geometry.unit_bytes;
        self.kernel.ops.cached[op].line = group;
        let first = self.features.cache().lines.all[lines[0] as usize].op;
        self.kernel.ops.take_handle(op, first);
        self.features.size_group(&mut self.kernel, group, op, small);
        if self.rules.binds {
            let home = self.host.next_home(&self.features, &self.dev, lines.len() as u32);
            self.kernel.ops.bound[op] = home;
            for line in &lines {
                self.features.move_home(self.features.cache().lines.all[*line as usize].lpn, home);
            }
        }
        let groups = &mut self.features.cache_mut().groups;
        let mut sorted = std::mem::take(&mut groups.sorted);
        sorted.clear();
        sorted.extend_from_slice(&lines);
        let of = &mut groups.all[group as usize];
        (of.op, of.reason, of.lines) = (op, reason, lines);
        sorted.sort_unstable_by_key(|line| self.features.cache().lines.all[*line as usize].lpn);
        let mut left = self.slots_lacking(&sorted);
        while let Some((read, plane)) = self.features.next_fill(&mut self.kernel, &self.dev, now, group, &mut left, age)
        {
            self.enqueue(read, plane, false);
        }
        self.features.cache_mut().groups.sorted = sorted;
        if let Some(program) = self.features.group_to_place(&mut self.kernel, group) {
            self.place(program);
        }
    }

    /// The lines among some that lack sectors which are on flash, with the slots that hold them. What is in the controller is in the
    /// line from now on.
    fn slots_lacking(&mut self, lines: &[u32]) -> Vec<(Ppn, u32)> {
        let mut lacking = Vec::new();
        for line in lines {
            let of = &self.features.cache().lines.all[*line as usize];
            let (lpn, lacks) = (of.lpn, of.lacking > 0);
            let old = if lacks { self.kernel.kept_page(&self.dev, lpn) } else { Ppn::NONE };
            if self.dev.is_in_hand(&self.rules, old) {
                let found = self.oracle.load(old, lpn);
                let (lost, oracle) = (self.dev.is_lost(old), &mut self.oracle);
                if self.features.fills_line(&mut self.kernel, &self.dev, oracle, *line, found, lost) {
                    self.discard_kept(lpn);
                }
            } else if old.is_some() {
                lacking.push((old, *line));
            }
        }
        lacking
    }

    /// A read of what lines lack has reached the head of a unit's queue: it looks at the lines again. Units that have moved are read
    /// by others.
    pub(super) fn select_fill(&mut self, op: OpId, unit: UnitId) {
        let fill = self.kernel.ops.cached[op].line;
        let (group, lines) = {
            let of = &mut self.features.cache_mut().groups.fills[fill as usize];
            (of.group, std::mem::take(&mut of.lines))
        };
        let lacking = self.slots_lacking(&lines);
        let Some((first, _)) = lacking.first().copied() else {
            self.charge_wait(op, unit, &self.kernel.turn(self.now, op, unit));
            if let Some(program) = self.features.fill_is_over(&mut self.kernel, op) {
                self.place(program);
            }
            return;
        };
        let geometry = &self.dev.geometry;
        let (plane, super_page) = (geometry.plane_of(first), geometry.super_page(first));
        let (own, others): (Vec<_>, Vec<_>) =
            lacking.into_iter().partition(|(slot, _)| geometry.super_page(*slot) == super_page);
        self.features.cache_mut().groups.fills[fill as usize].lines = own.iter().map(|(_, line)| *line).collect();
        let others: Vec<u32> = others.into_iter().map(|(_, line)| line).collect();
        let age = self.kernel.ops[op].age;
        let here = plane == self.kernel.ops[op].plane;
        if here {
            let turn = self.kernel.update_lag(self.now, op, unit);
            self.charge_wait(op, unit, &turn);
        } else {
            self.charge_wait(op, unit, &self.kernel.turn(self.now, op, unit));
            self.kernel.ops[op].waits_since = self.now;
            self.enqueue(op, plane, false);
        }
        let mut left = self.slots_lacking(&others);
        while let Some((read, plane)) =
            self.features.next_fill(&mut self.kernel, &self.dev, self.now, group, &mut left, age)
        {
            self.enqueue(read, plane, false);
        }
        if !here {
            return;
        }
        for (slot, line) in &own {
            let (carrier, lpn) = (
                self.features.cache().lines.all[*line as usize].op,
                self.features.cache().lines.all[*line as usize].lpn,
            );
            self.kernel.ops[Page(carrier)].tags[1] = self.oracle.load(*slot, lpn);
            // Until its program lands, a line's operation has the slot that is read for it.
            self.kernel.ops[carrier].pages = PageSet::one(*slot);
        }
        let bytes = self.dev.geometry.unit_bytes;
        let mut slots: Vec<(Ppn, u32)> = own.iter().map(|(slot, _)| (*slot, bytes)).collect();
        if self.rules.retries && super_pages::begin_fill_again(self, op, &mut slots, unit) {
            return;
        }
        let pages = self.kernel.read_slots(&self.dev, &mut self.features, op, &mut slots);
        self.dev.array_reads(self.dev.geometry.block_of(first));
        self.stats.count_reads(Class::Cache, pages);
        self.features.cache_mut().counts.fill_reads += 1;
        self.kernel.ops.cached[op].serving = true;
        self.begin(op, unit);
    }

    /// The program of a group begins in the slots from `first` on: it carries what its lines hold now.
    pub(in crate::engine) fn begin_group(&mut self, op: OpId, first: Ppn, unit: UnitId) {
        let (group, slots) = (self.kernel.ops.cached[op].line, self.dev.geometry.slots);
        let of = &mut self.features.cache_mut().groups.all[group as usize];
        let (lines, reason, trimmed) = (std::mem::take(&mut of.lines), of.reason, of.trimmed);
        for line in &lines {
            let carrier = self.features.cache().lines.all[*line as usize].op;
            let of = (&self.kernel.ops, &self.host.requests);
            count_program(&mut self.features, &self.dev.flash, of, &self.rules, carrier, first);
            self.features.line_selected(&mut self.kernel, &mut self.oracle, carrier);
            self.features.tenants_write(&self.kernel, &self.dev, &self.rules, carrier);
        }
        let units = lines.len() as u64;
        self.features.cache_mut().groups.all[group as usize].lines = lines;
        let per_program = self.dev.flash.slots_of_program(first);
        let beside = self.features.redeem(group) && per_program > slots.per_super_page;
        let padding = u64::from(per_program) - units;
        if self.rules.tenants {
            // Padding is that of the first unit.
            let first =
                self.features.cache().lines.all[self.features.cache().groups.all[group as usize].lines[0] as usize].op;
            (0..padding).for_each(|_| self.features.tenants_write(&self.kernel, &self.dev, &self.rules, first));
        }
        let counts = &mut self.stats.units;
        counts.programmed.cache += units;
        counts.padding.cache += padding;
        let padded = &mut counts.padded_programs;
        let padded = match reason {
            _ if beside => &mut padded.slc,
            _ if trimmed => &mut padded.trim,
            Reason::Fua => &mut padded.fua,
            Reason::Flush => &mut padded.flush,
            Reason::Hold => &mut padded.hold,
            Reason::Drain => &mut padded.drain,
            Reason::Eager | Reason::Watermark | Reason::Idle => &mut padded.any,
        };
        *padded += u64::from(padding > 0);
        let pages = u64::from(per_program / slots.per_page);
        self.stats.count_program_unit(Class::Cache, pages, slots.planes.into());
        let place = self.dev.place(first);
        self.kernel.ops.cached[op].before = self.kernel.ops[Page(op)].blame.all();
        let command = &mut self.kernel.ops[op];
        command.verb = Verb::Program;
        command.pages = PageSet::one(first);
        command.legs = self.dev.timing.legs(Command::ProgramUnits { place: &place });
        self.features.note_pages(pages);
        self.begin(op, unit);
    }

    /// The program of a group has landed: its lines are clean together.
    pub(super) fn group_ends(&mut self, op: OpId) {
        let (first, plane) = (self.kernel.ops[op].pages[0], self.kernel.ops[op].plane);
        let group = self.kernel.ops.cached[op].line;
        let lines = std::mem::take(&mut self.features.cache_mut().groups.all[group as usize].lines);
        for (slot, line) in (first.0..).map(Ppn).zip(&lines) {
            let of = &self.features.cache().lines.all[*line as usize];
            let (carrier, lpn) = (of.op, of.lpn);
            let newest = self.dev.map.get(lpn) == Location::Staged(carrier);
            let wanted = newest
                || self.features.may_keep(&self.kernel, &self.rules, carrier, *line)
                    && self.replaces_kept(carrier, slot);
            self.kernel.ops[carrier].pages = PageSet::one(slot);
            self.land_written(carrier, newest, wanted);
            if newest {
                self.discard_old(carrier);
            }
            self.features.cache_mut().replaces_base(lpn);
        }
        self.dev.land_padding(&mut self.oracle, first, lines.len() as u32);
        let mut oldest = std::mem::take(&mut self.features.cache_mut().groups.oldest);
        for line in &lines {
            while let Some(write) = self.features.next_forced(&mut self.kernel, &self.rules, self.now, *line, op) {
                self.page_done(write);
                self.host.release(&mut self.kernel, &mut self.oracle, write);
            }
            let of = &self.features.cache().lines.all[*line as usize];
            oldest.push(of.oldest);
            let carrier = of.op;
            self.kernel.ops.remove(carrier);
            self.features.line_is_clean(&mut self.oracle, *line);
        }
        let groups = &mut self.features.cache_mut().groups;
        groups.all[group as usize].lines = lines;
        groups.remove(group);
        let log = self.kernel.remove_line_op(op);
        for place in oldest.drain(..) {
            if self.features.cache_mut().flushes_lose(place) {
                self.end_flushes();
            }
        }
        self.features.cache_mut().groups.oldest = oldest;
        self.features.cache_mut().line_is_free(log);
        self.serve_waiting();
        self.features.cache_mut().writes_are_served(log);
        self.test_trigger(plane);
    }
}
