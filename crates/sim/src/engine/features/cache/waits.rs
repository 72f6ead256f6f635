//! Waits for a line: each nanosecond has the cause that the write-back whose line becomes free had then.
//!
//! A write-back notes its waits while writes wait for lines: each is contiguous, and ends when it is noted. Where GC and others held
//! a die or a channel in turns, the spans of GC tell which of them did at a time. Of the rest of a wait for a die, the part by the
//! shadow clock comes first, and the part that is late because of GC follows.

use crate::blame::{BY_GC, Cause, Extra, WAITS};
use crate::device::transaction::Class;
use crate::engine::Features;
use crate::engine::features::cache::Cache;
use crate::engine::kernel::Kernel;
use crate::engine::kernel::ops::NO_LOG;
use crate::engine::rules::Rules;
use crate::units::{Nanos, OpId, UnitId};

/// What a write-back waited for.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) enum For {
    /// A die.
    Die(UnitId),
    /// A channel.
    Channel(usize),
    /// One cause, or any die: GC and others have the same shares of any part of the wait.
    Any,
}

/// A wait of a write-back.
#[derive(Clone, Copy, Debug)]
struct Waited {
    until: Nanos,
    resource: For,
    /// GC held the resource; operations that GC has delayed did; others did.
    gc: u64,
    /// See `gc`.
    late: u64,
    /// See `gc`.
    host: u64,
}

impl Waited {
    /// Of the part from a time on, what is because of GC, and the rest.
    fn after(&self, from: Nanos, kernel: &Kernel) -> (u64, u64) {
        let (by_gc, all) = (self.gc + self.late, self.gc + self.late + self.host);
        let part = (self.until - from).0;
        if part >= all {
            return (by_gc, self.host);
        }
        let held = match self.resource {
            For::Die(unit) => kernel.dies.gc_spans.within(unit.ix(), from, self.until),
            For::Channel(bus) => kernel.buses.gc_spans.within(bus, from, self.until),
            For::Any => (u128::from(by_gc) * u128::from(part) / u128::from(all)) as u64,
        };
        let rest = part - held;
        let late = if matches!(self.resource, For::Any) { 0 } else { self.late.min(rest) };
        (held + late, rest - late)
    }
}

/// Waits of write-backs, in lists that are used again.
#[derive(Clone, Default)]
pub(super) struct Logs {
    all: Vec<Vec<Waited>>,
    free: Vec<u32>,
    /// The list of the write-back whose line is being given to a write that waits.
    freed: Option<u32>,
}

impl Logs {
    pub(super) fn power_cut(&mut self) {
        *self = Logs::default();
    }

    fn add(&mut self, log: &mut u32, waited: Waited) {
        if *log == NO_LOG {
            *log = self.free.pop().unwrap_or_else(|| {
                self.all.push(Vec::new());
                self.all.len() as u32 - 1
            });
        }
        self.all[*log as usize].push(waited);
    }

    pub(super) fn forget(&mut self, log: u32) {
        if log != NO_LOG {
            self.all[log as usize].clear();
            self.free.push(log);
        }
    }
}

impl Kernel {
    /// A write-back ends, or is not needed. Returns the list of its waits.
    pub(super) fn remove_line_op(&mut self, op: OpId) -> u32 {
        let log = std::mem::replace(&mut self.ops.cached[op].log, NO_LOG);
        self.ops.remove(op);
        log
    }

    /// A write has waited for a line until now.
    #[inline(always)]
    pub(super) fn charge_line_wait(&mut self, features: &Features, now: Nanos, write: OpId) {
        let since = self.ops[write].waits_since;
        let (mut gc, mut host) = (0, 0);
        let logs = &features.cache().logs;
        if let Some(log) = logs.freed {
            let waits = logs.all[log as usize].iter().rev().take_while(|waited| waited.until > since);
            for (by_gc, by_host) in waits.map(|waited| waited.after(since, self)) {
                gc += by_gc;
                host += by_host;
            }
        }
        let wait = (now - since).0;
        law!(gc + host <= wait, "law: a write-back waits for no longer than the write that gets its line");
        self.charge_extra(write, Extra::Cache, wait - gc - host);
        self.charge_extra(write, Extra::CacheGc, gc);
        self.charge_extra(write, Extra::CacheHost, host);
    }
}

impl Cache {
    /// The line of a write-back is free: what that write-back waited for is what the writes do that are served now.
    pub(super) fn line_is_free(&mut self, log: u32) {
        self.logs.freed = (log != NO_LOG).then_some(log);
    }

    /// The writes that wait have been served.
    pub(super) fn writes_are_served(&mut self, log: u32) {
        self.logs.freed = None;
        self.logs.forget(log);
    }
}

impl Features {
    /// The first of the writes that wait for a line is another one, or none: the times of GC are needed from when it began to wait.
    pub(super) fn first_waits(&mut self, kernel: &mut Kernel) {
        let head = self.cache().waiting.head();
        let from = if head.is_some() { kernel.ops[head].waits_since } else { Nanos::NEVER };
        kernel.dies.gc_spans.need(from);
        kernel.buses.gc_spans.need(from);
    }

    /// The write-back of a trimmed line is not needed.
    pub(super) fn drop_line_op(&mut self, kernel: &mut Kernel, op: OpId) {
        let log = kernel.remove_line_op(op);
        self.cache_mut().logs.forget(log);
    }

    /// An operation has waited for `gc`, `late` and `host` until now: notes that of a write-back, if there are any.
    #[inline(always)]
    pub(in crate::engine) fn note_line_wait(
        &mut self,
        kernel: &mut Kernel,
        rules: &Rules,
        now: Nanos,
        op: OpId,
        resource: For,
        parts: [u64; 3],
    ) {
        if rules.buffers {
            self.notes_line_wait(kernel, now, op, resource, parts);
        }
    }

    /// The same with a write cache that takes writes.
    #[inline(never)]
    fn notes_line_wait(
        &mut self,
        kernel: &mut Kernel,
        now: Nanos,
        op: OpId,
        resource: For,
        [gc, late, host]: [u64; 3],
    ) {
        if kernel.ops[op].class != Class::Cache || gc + late + host == 0 || self.cache().waiting.is_empty() {
            return;
        }
        let waited = Waited { until: now, resource, gc, late, host };
        let Some(cache) = &mut self.cache else { return };
        cache.logs.add(&mut kernel.ops.cached[op].log, waited);
    }

    /// The same of causes that a page is charged in service, where it waits for its channel or, for one cause, in its die. Only the
    /// write-backs of a cache that takes writes note them.
    #[inline(always)]
    pub(in crate::engine) fn note_line_causes(
        &mut self,
        kernel: &mut Kernel,
        rules: &Rules,
        now: Nanos,
        op: OpId,
        causes: &[(Cause, u64)],
    ) {
        if rules.buffers {
            self.notes_causes(kernel, now, op, causes);
        }
    }

    /// The same with a cache that takes writes.
    #[inline(never)]
    fn notes_causes(&mut self, kernel: &mut Kernel, now: Nanos, op: OpId, causes: &[(Cause, u64)]) {
        let waits = || causes.iter().filter(|(cause, _)| (*cause as usize) < WAITS);
        let gc = waits().filter(|(cause, _)| BY_GC.contains(cause)).map(|(_, ns)| ns).sum::<u64>();
        let host = waits().map(|(_, ns)| ns).sum::<u64>() - gc;
        let channel = kernel.ops[op].channel.ix();
        let resource = if gc > 0 && host > 0 { For::Channel(channel) } else { For::Any };
        self.notes_line_wait(kernel, now, op, resource, [gc, 0, host]);
    }
}
