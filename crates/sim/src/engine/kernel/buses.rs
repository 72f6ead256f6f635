//! Channels, host link and ports of the interconnect.

use std::ops::{Index, IndexMut};

use crate::device::transaction::Fifo;
use crate::units::{Nanos, OpId};

/// A bus: one transfer at a time, first asked first served, ties by age (rule R4).
///
/// The end of a transfer is an event only where something follows from it: where its operation waits for it ([`Bus::holder`])
/// or another one does ([`Bus::awaited`]). Otherwise it is merely known.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Bus {
    /// The operation that goes on when the transfer ends, or none.
    pub(in crate::engine) holder: OpId,
    /// Whether an event wakes the bus when a transfer ends that nobody else waits for.
    pub(in crate::engine) awaited: bool,
    /// Whether the present or last transfer belongs to a collection.
    gc_transfer: bool,
    /// When the present or last transfer began and ends.
    since: Nanos,
    /// See `since`.
    pub(in crate::engine) until: Nanos,
    /// The move of a collection whose page crosses the bus out and at once back in, as long as that can be undone, or none.
    pub(in crate::engine) fused: OpId,
    /// When its way out ends and its way back begins.
    pub(in crate::engine) half: Nanos,
    /// Time of all transfers before the present one that belonged to collections.
    gc: u64,
    /// Time of all transfers, the present one to its end.
    total: u64,
    /// Busy time up to the last completion of a measured request, as far as that is known.
    marked: u64,
    /// Operations that wait.
    pub(in crate::engine) queue: Fifo,
    /// On the list of buses to look at.
    pub(in crate::engine) dirty: bool,
}

impl Bus {
    fn new() -> Self {
        Bus {
            holder: OpId::NONE,
            awaited: false,
            gc_transfer: false,
            since: Nanos::ZERO,
            until: Nanos::ZERO,
            fused: OpId::NONE,
            half: Nanos::ZERO,
            gc: 0,
            total: 0,
            marked: 0,
            queue: Fifo::EMPTY,
            dirty: false,
        }
    }

    /// Power is cut: nothing crosses the bus, and nobody waits for it.
    pub(in crate::engine) fn power_cut(&mut self, now: Nanos) {
        if self.until > now {
            self.prolong(now);
        }
        self.holder = OpId::NONE;
        self.fused = OpId::NONE;
        self.awaited = false;
        self.queue = Fifo::EMPTY;
        self.dirty = false;
    }

    /// Total time that collections held this bus, up to now.
    #[inline(always)]
    pub(in crate::engine) fn gc(&self, now: Nanos) -> u64 {
        self.gc + if self.gc_transfer { (now.min(self.until) - self.since).0 } else { 0 }
    }

    /// A transfer begins. `last` is the last completion of a measured request.
    #[inline(always)]
    pub(in crate::engine) fn begin(&mut self, gc: bool, now: Nanos, until: Nanos, last: Nanos) {
        self.marked = self.busy_at_mark(last);
        self.gc = self.gc(now);
        self.gc_transfer = gc;
        self.since = now;
        self.until = until;
        self.total += (until - now).0;
    }

    /// The present transfer ends at another time than it was said to.
    pub(in crate::engine) fn prolong(&mut self, until: Nanos) {
        self.total = self.total + until.0 - self.until.0;
        self.until = until;
    }

    /// Busy time up to `at`, which is not before the present or last transfer began.
    #[inline(always)]
    pub(in crate::engine) fn busy(&self, at: Nanos) -> u64 {
        self.total - self.until.0.saturating_sub(at.0)
    }

    /// Busy time up to the last completion of a measured request.
    #[inline(always)]
    pub(in crate::engine) fn busy_at_mark(&self, last: Nanos) -> u64 {
        if last >= self.since { self.busy(last) } else { self.marked }
    }
}

/// All buses: channels first, then the sides of the host link, then ports.
#[derive(Clone)]
pub(in crate::engine) struct Buses {
    pub(in crate::engine) all: Vec<Bus>,
    /// Those that `grant` looks at in this round.
    pub(in crate::engine) dirty: Vec<u32>,
}

impl Buses {
    pub(super) fn new(count: usize) -> Self {
        Buses { all: vec![Bus::new(); count], dirty: Vec::with_capacity(count) }
    }

    /// `grant` looks at a bus in this round.
    #[inline(always)]
    pub(in crate::engine) fn mark(&mut self, bus: usize) {
        if !std::mem::replace(&mut self.all[bus].dirty, true) {
            self.dirty.push(bus as u32);
        }
    }
}

impl Index<usize> for Buses {
    type Output = Bus;

    #[inline(always)]
    fn index(&self, bus: usize) -> &Bus {
        &self.all[bus]
    }
}

impl IndexMut<usize> for Buses {
    #[inline(always)]
    fn index_mut(&mut self, bus: usize) -> &mut Bus {
        &mut self.all[bus]
    }
}
