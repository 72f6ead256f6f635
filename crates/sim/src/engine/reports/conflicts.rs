//! Counts conflicts of host operations with GC, for paper A's schemes only.

use crate::config::Config;
use crate::device::staging;
use crate::device::transaction::Need;
use crate::engine::kernel::Kernel;
use crate::engine::kernel::occupancy::Level;
use crate::engine::kernel::ops::Page;
use crate::engine::{Device, Features, Host, Nanos, Policies};
use crate::report::idle_chip::{
    Bandwidth, Buffer, Conflicts, Counters, IdleChip, Moves, PowerLoss, Space, Starts, Times, drain_ns,
};
use crate::report::{ByOp, mean};
use crate::request::RequestOp;
use crate::stats::Stats;
use crate::units::{OpId, RequestId, UnitId};

/// Counters, and the write at the head of the queue for any die.
#[derive(Clone)]
pub(in crate::engine) struct Conflict {
    counters: Counters,
    /// The write at the head of that queue that found dies in GC, and the time when it first did.
    skipped: Option<(OpId, Nanos)>,
    last: Last,
}

/// The last completion of a measured request, and what integrals up to then take.
#[derive(Clone, Copy, Default)]
struct Last {
    at: Nanos,
    /// Units held by GC, and by write-backs.
    held: [Level; 2],
    /// Pages in the controller's buffer.
    filled: staging::Level,
}

/// When collections began.
fn starts(counters: &Counters, chips: u64) -> Starts {
    let busy_starts = counters.starts - counters.idle_starts;
    Starts {
        collections: counters.starts,
        in_idle_periods: counters.idle_starts,
        in_idle_periods_share: mean(u128::from(counters.idle_starts), counters.starts),
        idle_chips: counters.idle_chips,
        idle_chips_share: mean(u128::from(counters.idle_chips), busy_starts * chips),
    }
}

/// Pages since measuring began, where `now` is what [`Device::space`] says.
fn space_since(counters: &Counters, now: [u64; 4]) -> Space {
    Space {
        free_pages_start: counters.space[0],
        free_pages_end: now[0],
        programmed_pages: now[1] - counters.space[1],
        unmeasured_pages: now[3] - counters.space[3],
        erased_pages: now[2] - counters.space[2],
    }
}

impl Conflict {
    pub(in crate::engine) fn new() -> Self {
        Conflict { counters: Counters::new([0; 4]), skipped: None, last: Last::default() }
    }

    #[inline(never)]
    fn skips(&mut self, kernel: &Kernel, host: &Host, now: Nanos) {
        let (op, busy) = (host.anywhere.head(), kernel.dies.held_gc.busy() > 0);
        if busy && self.skipped.is_none_or(|(skipped, _)| skipped != op) {
            self.skipped = Some((op, now));
        }
    }

    #[inline(never)]
    fn found(&mut self, kernel: &Kernel, host: &mut Host, now: Nanos, op: OpId, back: u64) {
        let skipped = self.skipped.take();
        if kernel.ops[op].request.is_none() {
            return;
        }
        let record = &mut host.requests[kernel.ops[op].request];
        let met = skipped.is_some_and(|(skipped, since)| skipped == op && since < now);
        record.conflicted |= met;
        if record.measured {
            self.counters.conflicts_gc += u64::from(met);
            self.counters.conflicts_writeback += u64::from(back > 0);
        }
    }

    #[inline(never)]
    fn starts(&mut self, kernel: &Kernel, dev: &Device, host: &Host) {
        let idle = u64::from(dev.geometry.chips - kernel.dies.chips_busy());
        let pending = host.pending();
        self.counters.starts += 1;
        if pending == 0 {
            self.counters.idle_starts += 1;
        } else {
            self.counters.idle_chips += idle;
        }
    }

    #[cold]
    fn done(&mut self, kernel: &Kernel, dev: &Device, host: &Host, now: Nanos, id: RequestId, latency: u64) {
        let dies = &kernel.dies;
        let held = [dies.held_gc.level(), dies.held_writeback.level()];
        let filled = dev.staging.filled;
        self.last = Last { at: now, held, filled };
        let record = &host.requests[id];
        let kind = usize::from(record.request.op == RequestOp::Write);
        let counters = &mut self.counters;
        counters.bytes[kind] += record.request.bytes;
        if record.conflicted {
            counters.conflicted[kind].0 += 1;
            counters.conflicted[kind].1 += u128::from(latency);
        }
    }
}

impl Features {
    /// Applies a count if paper A's measures are reported.
    #[inline(always)]
    pub(in crate::engine) fn count_conflict(&mut self, count: impl FnOnce(&mut Counters)) {
        if let Some(conflict) = &mut self.conflict {
            count(&mut conflict.counters);
        }
    }

    #[cold]
    fn meets(&mut self, host: &mut Host, kernel: &Kernel, op: OpId, unit: UnitId, gc: u64, back: u64) {
        let met = kernel.dies[unit].collections - kernel.ops[Page(op)].collections;
        let request = kernel.ops[op].request;
        let Some(conflict) = self.conflict.as_mut().filter(|_| request.is_some()) else { return };
        let record = &mut host.requests[request];
        record.conflicted |= gc > 0;
        if record.measured {
            conflict.counters.conflicts_gc += if gc > 0 { u64::from(met.max(1)) } else { 0 };
            conflict.counters.conflicts_writeback += u64::from(back > 0);
        }
    }

    /// Restarts the counters: at construction, and where measuring starts.
    pub(in crate::engine) fn restart_conflicts(&mut self, dev: &mut Device, stats: &Stats, now: Nanos) {
        if self.conflict.is_some() {
            let space = dev.space(stats);
            self.conflict = Some(Box::new(Conflict { counters: Counters::new(space), ..Conflict::new() }));
        }
        if let Some(replicas) = &mut self.replicas {
            replicas.restart();
        }
        if let Some(failures) = &mut self.failures {
            failures.restart(now);
        }
        dev.staging.filled.restart(now);
        dev.staging.exposed.restart(now);
    }

    /// From now on the device counts conflicts, or it no longer does.
    pub(in crate::engine) fn count_conflicts_from_now(
        &mut self,
        kernel: &Kernel,
        dev: &Device,
        stats: &Stats,
        now: Nanos,
        count: bool,
    ) {
        if count == self.conflict.is_some() {
            return;
        }
        let space = dev.space(stats);
        self.conflict = count.then(|| Box::new(Conflict { counters: Counters::new(space), ..Conflict::new() }));
        if stats.first_arrival.is_some() {
            self.conflicts_from_now(kernel, dev, now);
        }
    }

    /// The first measured request has arrived.
    #[cold]
    pub(in crate::engine) fn conflicts_from_now(&mut self, kernel: &Kernel, dev: &Device, now: Nanos) {
        let (held, filled) = kernel.integrals(dev, now);
        if let Some(conflict) = &mut self.conflict {
            conflict.counters.held_from = held;
            conflict.counters.filled_from = filled;
        }
    }

    /// A host operation has waited for its unit while GC or a write-back held it.
    #[inline(always)]
    pub(in crate::engine) fn note_conflict(
        &mut self,
        kernel: &Kernel,
        host: &mut Host,
        schemes: &Policies,
        op: OpId,
        unit: UnitId,
        (gc, back): (u64, u64),
    ) {
        if self.conflict.is_some() {
            self.meets(host, kernel, op, unit, gc, back);
            if kernel.ops[op].need == Need::Read {
                self.note_blocked(schemes, kernel.ops[op].lpn);
            }
        }
    }

    /// The write at the head of the queue finds no die.
    #[inline(always)]
    pub(in crate::engine) fn note_skip(&mut self, kernel: &Kernel, host: &Host, now: Nanos) {
        if let Some(conflict) = &mut self.conflict {
            conflict.skips(kernel, host, now);
        }
    }

    /// The write at the head of the queue has found a die, after waiting for write-backs.
    #[inline(always)]
    pub(in crate::engine) fn note_found(&mut self, kernel: &Kernel, host: &mut Host, now: Nanos, op: OpId, back: u64) {
        if let Some(conflict) = &mut self.conflict {
            conflict.found(kernel, host, now, op, back);
        }
    }

    /// A collection begins.
    #[inline(always)]
    pub(in crate::engine) fn note_start(&mut self, kernel: &Kernel, dev: &Device, host: &Host) {
        if let Some(conflict) = &mut self.conflict {
            conflict.starts(kernel, dev, host);
        }
    }

    /// A measured request completes.
    #[inline(always)]
    pub(in crate::engine) fn note_done(
        &mut self,
        kernel: &Kernel,
        dev: &Device,
        host: &Host,
        now: Nanos,
        id: RequestId,
        latency: u64,
    ) {
        if let Some(conflict) = &mut self.conflict {
            conflict.done(kernel, dev, host, now, id, latency);
        }
    }

    /// Paper A's measures, if one of its schemes is in use.
    pub(in crate::engine) fn idle_chip_report(
        &self,
        dev: &Device,
        stats: &Stats,
        config: &Config,
        now: Nanos,
    ) -> Option<IdleChip> {
        let Conflict { counters, last, .. } = &**self.conflict.as_ref()?;
        let held = |k: usize| last.held[k].total(last.at).saturating_sub(counters.held_from[k]);
        let (staging, chips) = (&dev.staging, u64::from(dev.geometry.chips));
        let latency = |kinds: &[usize]| {
            let of = [&stats.read, &stats.write];
            let requests = kinds.iter().map(|kind| of[*kind].latency.count()).sum();
            let ns = kinds.iter().map(|kind| of[*kind].latency.sum()).sum();
            counters.conflicted(kinds, requests, ns)
        };
        let span = stats.last_completion.0.saturating_sub(stats.measured_from.0);
        let simulated = stats.last_completion.0.saturating_sub(stats.first_arrival.unwrap_or(Nanos::ZERO).0);
        let page_ns = last.filled.total(last.at).saturating_sub(counters.filled_from);
        let pages_mean = mean(page_ns, span);
        let pages_rounded = (page_ns + u128::from(span / 2)).checked_div(u128::from(span)).unwrap_or(0);
        let in_flash = (stats.flash.programs.gc + stats.flash.copybacks).saturating_sub(counters.written_back);
        let program = dev.timing.page() + dev.timing.first_program();
        let drain = |pages: u64| drain_ns(pages, chips, config.device.memory.0, program.0);
        let rate = |bytes: u64| mean(u128::from(bytes) * 1_000, simulated);
        let [read_bytes, write_bytes] = counters.bytes;
        Some(IdleChip {
            conflicted: ByOp { read: latency(&[0]), write: latency(&[1]), all: latency(&[0, 1]) },
            conflicts: Conflicts {
                gc: counters.conflicts_gc,
                writeback: counters.conflicts_writeback,
                total: counters.conflicts_gc + counters.conflicts_writeback,
            },
            gc_starts: starts(counters, chips),
            moves: Moves {
                streams: counters.streams,
                buffered: counters.buffered,
                in_flash,
                buffered_share: mean(u128::from(counters.buffered), counters.buffered + in_flash),
                written_back: counters.written_back,
                read_hits: counters.read_hits,
                absorbed_writes: counters.absorbed,
            },
            buffer: Buffer { slots: staging.slots(), pages_mean, pages_max: staging.filled.worst() },
            buffer_waiting_ns: counters.waiting.figures(),
            time_ns: Times {
                held_by_gc: held(0),
                held_by_writeback: held(1),
                writeback_transfer: stats.writeback_time.transfer,
                writeback_program: stats.writeback_time.program,
            },
            power_loss: PowerLoss {
                protected: config.device.power_loss_protection,
                erase_before_durable: staging.slots() > 0 && staging.plan.is_some_and(|plan| plan.erase_first),
                exposed_page_ns: staging.exposed.total(now),
                exposed_pages_max: staging.exposed.worst(),
                drain_mean_ns: drain(u64::try_from(pages_rounded).expect("a mean is at most the largest")),
                drain_max_ns: drain(u64::from(staging.filled.worst())),
                drain_full_ns: drain(u64::from(staging.slots())),
            },
            bandwidth: Bandwidth {
                read_bytes,
                write_bytes,
                read_mb_per_s: rate(read_bytes),
                write_mb_per_s: rate(write_bytes),
                all_mb_per_s: rate(read_bytes + write_bytes),
            },
            space: space_since(counters, dev.space(stats)),
        })
    }
}

impl Device {
    /// Free, programmed, erased and unmeasured pages.
    fn space(&self, stats: &Stats) -> [u64; 4] {
        let (flash, factor) = (&self.flash, u64::from(self.geometry.pages_per_entry));
        let unmeasured = stats.forgotten.programs.total;
        [flash.free_total() * factor, flash.programmed() * factor, flash.reclaimed() * factor, unmeasured]
    }
}

impl Kernel {
    fn integrals(&self, dev: &Device, now: Nanos) -> ([u128; 2], u128) {
        let held = [self.dies.held_gc.total(now), self.dies.held_writeback.total(now)];
        (held, dev.staging.filled.total(now))
    }
}
