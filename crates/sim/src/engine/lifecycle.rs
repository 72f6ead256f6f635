//! The life of an operation: the steps that every class implements. A new class is a compile error here.

use crate::device::command::LegKind;
use crate::device::transaction::{Class, Verb};
use crate::engine::features::life::programs;
use crate::engine::features::power::{Brings, Torn};
use crate::engine::features::retry;
use crate::engine::features::retry::refresh;
use crate::engine::kernel::Kernel;
use crate::engine::kernel::dies::Holder;
use crate::engine::kernel::ops::Page;
use crate::engine::rules::Rules;
use crate::engine::{Device, Features, Gc, Ssd};
use crate::stats::Stats;
use crate::units::{OpId, UnitId};

/// An operation has run its legs. Returns whether it goes on all the same: a read is decoded or repeated, a failed program is
/// repeated, or its pages cross the interconnect. False without such features.
#[inline(always)]
pub(super) fn goes_on(ssd: &mut Ssd, op: OpId) -> bool {
    ssd.rules.goes_on
        && (ssd.rules.retries && retry::legs_end(ssd, op)
            || ssd.rules.fails && programs::legs_end(ssd, op)
            || ssd.features.noc.is_some() && ssd.crosses_out(op))
}

/// A page of the host has run its legs. Returns whether it ends in another way than most: in a parity group, or as a read that may be
/// repeated. False without such features.
#[inline(always)]
pub(super) fn ends_beside(ssd: &mut Ssd, op: OpId) -> bool {
    if !ssd.rules.ends_beside {
        return false;
    }
    if ssd.features.raid.is_some() {
        ssd.chunk_ends(op);
        return true;
    }
    retry::page_ends(ssd, op)
}

impl Kernel {
    /// Holder of its unit while it is in service.
    pub(super) fn holder_of(&self, op: OpId) -> Holder {
        match self.ops[op].class {
            Class::Host | Class::Parity => Holder::Host,
            Class::Gc | Class::Metadata if self.is_of_gc(op) => Holder::Gc,
            Class::Gc | Class::Metadata => Holder::Host,
            Class::Writeback | Class::Replica => Holder::Writeback,
            Class::Cache => Holder::Cache,
            Class::Fold => Holder::Fold,
            Class::Refresh => Holder::Gc,
        }
    }

    /// Whether it is GC work among the operations that are not the host's. Metadata of blocks that the host filled would be
    /// written without GC too.
    #[inline(always)]
    pub(super) fn is_of_gc(&self, op: OpId) -> bool {
        let op = &self.ops[op];
        match op.class {
            Class::Metadata => op.job.is_some() || op.home.is_some(),
            // A fold would exist without GC.
            Class::Fold => false,
            _ => true,
        }
    }

    /// Adds the time of its legs to the counters.
    #[inline(always)]
    pub(super) fn count_time(&self, stats: &mut Stats, op: OpId) {
        let record = &self.ops[op];
        let times = match record.class {
            Class::Gc => &mut stats.gc_time,
            Class::Metadata => &mut stats.metadata_time,
            Class::Writeback => &mut stats.writeback_time,
            // Their time is part of the latency of requests, or of no result.
            Class::Host | Class::Parity | Class::Replica | Class::Cache | Class::Fold | Class::Refresh => return,
        };
        for i in 0..record.legs.len() {
            if let Some(leg) = record.legs.get(i) {
                times.charge(record.verb, leg.kind, leg.time.0);
            }
        }
    }

    /// Power is cut while it is in service, in the command of `lead`: its effect on flash.
    pub(super) fn tear(
        &self,
        dev: &Device,
        gc: &Gc,
        features: &Features,
        rules: &Rules,
        (op, lead): (OpId, OpId),
        torn: &mut Torn,
    ) {
        let record = &self.ops[op];
        match (record.class, record.verb) {
            // If its chip has failed, nothing is torn.
            _ if record.failed => {}
            (_, Verb::Read) => {}
            (Class::Gc | Class::Fold | Class::Cache, Verb::Program) if rules.units => {
                let brings = |lost: bool| Brings::Own { lost };
                let units = features.torn_units(self, dev, gc, op).into_iter();
                torn.programs.extend(units.map(|(slot, tag, lost)| (slot, tag, brings(lost))));
                let command = &self.ops[lead];
                let arrived = command.legs.get(command.leg).is_some_and(|leg| leg.kind == LegKind::Array);
                // A command counts once.
                let counts = record.class != Class::Cache || arrived;
                let slots = dev.flash.slots_of_program(record.pages[0]);
                torn.ahead += u64::from(slots) - u64::from(counts);
            }
            (Class::Gc | Class::Fold, Verb::Erase) => {
                let job = &gc.jobs[record.job.0].job;
                torn.erases.extend(&job.victims[..usize::from(job.count)]);
            }
            (Class::Gc | Class::Fold | Class::Refresh, _) => {
                torn.programs.extend(record.pages.iter().enumerate().map(|(i, page)| {
                    let corrected = record.verb != Verb::Copyback;
                    let own = Brings::Own { lost: self.ops[op].lost };
                    let brings = record.from.get(i).map_or(own, |from| Brings::Of { from: *from, corrected });
                    (*page, self.ops[Page(op)].tags[i], brings)
                }))
            }
            (Class::Host | Class::Parity | Class::Metadata | Class::Writeback | Class::Replica | Class::Cache, _) => {
                let tags = &self.ops[Page(op)].tags;
                let command = &self.ops[lead];
                let arrived = command.legs.get(command.leg).is_some_and(|leg| leg.kind == LegKind::Array);
                torn.ahead += u64::from(record.class == Class::Cache && !arrived);
                let brings = Brings::Own { lost: self.ops[op].lost };
                torn.programs.extend(record.pages.iter().zip(tags).map(|(page, tag)| (*page, *tag, brings)));
            }
        }
    }
}

impl Ssd {
    /// It has reached the head of a unit's queue.
    pub(super) fn select(&mut self, op: OpId, unit: UnitId) {
        match self.kernel.ops[op].class {
            Class::Host | Class::Parity => self.select_page(op, unit),
            Class::Gc | Class::Metadata if self.kernel.ops[op].job.is_some() => self.begin_queued_step(op, unit),
            Class::Fold => self.begin_queued_step(op, unit),
            Class::Gc => {
                let (features, stats) = (&mut self.features, &mut self.stats);
                self.kernel.begin_abroad(&mut self.dev, features, stats, &self.rules, self.now, op);
                self.run_leg(op);
            }
            Class::Metadata => {
                let (features, stats) = (&mut self.features, &mut self.stats);
                self.dev.begin_metadata(&mut self.kernel, features, stats, &self.rules, self.now, (op, unit));
                self.run_leg(op);
            }
            Class::Writeback | Class::Replica | Class::Refresh => {
                unreachable!("law: it begins on an idle die, and never queues")
            }
            Class::Cache => self.select_line(op, unit),
        }
    }

    /// Its last leg has ended.
    pub(super) fn ends(&mut self, op: OpId) {
        match self.kernel.ops[op].class {
            Class::Host | Class::Parity | Class::Cache => self.command_ends(op),
            Class::Gc | Class::Metadata if self.kernel.ops[op].job.is_some() => self.gc_step_ends(op),
            Class::Fold => self.gc_step_ends(op),
            Class::Gc => self.abroad_ends(op),
            Class::Metadata => {
                let (gc, stats, oracle) = (&mut self.gc, &mut self.stats, &mut self.oracle);
                let (plane, next) = self.dev.metadata_ends(&mut self.kernel, gc, stats, oracle, self.now, op);
                if let Some((op, plane)) = next {
                    self.enqueue(op, plane, false);
                }
                self.test_trigger(plane);
            }
            Class::Writeback => self.writeback_ends(op),
            Class::Replica => self.copy_ends(op),
            Class::Refresh => refresh::ends(self, op),
        }
    }
}
