//! Channels, host link and ports of the interconnect.

use std::ops::{Index, IndexMut};

use crate::device::transaction::Fifo;
use crate::engine::Device;
use crate::engine::kernel::Kernel;
use crate::engine::kernel::spans::Spans;
use crate::units::{Nanos, OpId};

/// A bus: one transfer at a time, granted in order of request, ties by age (rule R4).
///
/// The end of a transfer is an event only if something depends on it: its operation ([`Bus::holder`]) or another one
/// ([`Bus::awaited`]). Otherwise only the time is known.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Bus {
    /// The operation that continues when the transfer ends, or none.
    pub(in crate::engine) holder: OpId,
    /// Whether an event wakes the bus when a transfer ends for which no operation waits.
    pub(in crate::engine) awaited: bool,
    /// Whether the current or last transfer is GC's.
    gc_transfer: bool,
    /// Start and end of the current or last transfer.
    since: Nanos,
    /// See `since`.
    pub(in crate::engine) until: Nanos,
    /// The GC move whose page crosses the bus out and back in, while the fusing can still be undone, or none.
    pub(in crate::engine) fused: OpId,
    /// End of its read-out, which is the start of its way back.
    pub(in crate::engine) half: Nanos,
    /// Time of all GC transfers before the current one.
    gc: u64,
    /// Time of all transfers, including the whole current one.
    total: u64,
    /// Busy time up to the last completion of a measured request, as far as it is known.
    marked: u64,
    /// Waiting operations.
    pub(in crate::engine) queue: Fifo,
    /// Whether the bus is on the `dirty` list.
    pub(in crate::engine) dirty: bool,
    /// Reads that have begun since another operation requested this bus, up to a limit.
    pub(in crate::engine) calm: u8,
    /// Reads that have it in advance.
    pub(in crate::engine) booked: Booked,
}

/// The booked reads of a channel.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Booked {
    /// In the order of their requests.
    pub(in crate::engine) reads: Fifo,
    /// Of the last one, if there is one: time of its request, its age, and the end of its transfer.
    pub(in crate::engine) asks: Nanos,
    /// See `asks`.
    pub(in crate::engine) age: u64,
    /// See `asks`.
    pub(in crate::engine) ends: Nanos,
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
            calm: 0,
            booked: Booked { reads: Fifo::EMPTY, asks: Nanos::ZERO, age: 0, ends: Nanos::ZERO },
        }
    }

    /// Power is cut: no transfer and no waiting operation remains.
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

    /// Total time for which GC held this bus, until now.
    #[inline(always)]
    pub(in crate::engine) fn gc(&self, now: Nanos) -> u64 {
        self.gc + if self.gc_transfer { (now.min(self.until) - self.since).0 } else { 0 }
    }

    /// Whether nothing uses it or waits for it, and no move of GC is fused on it.
    #[inline(always)]
    pub(in crate::engine) fn is_free(&self, now: Nanos) -> bool {
        self.holder.is_none() && self.until <= now && self.queue.is_empty() && self.fused.is_none()
    }

    /// A transfer begins. `last` is the last completion of a measured request.
    #[inline(always)]
    pub(in crate::engine) fn begin(&mut self, gc: bool, now: Nanos, until: Nanos, last: Nanos) {
        self.marked = self.busy_at_mark(last);
        if self.gc_transfer || gc {
            self.gc = self.gc(now);
            self.gc_transfer = gc;
        }
        self.since = now;
        self.until = until;
        self.total += (until - now).0;
    }

    /// [`Bus::begin`] for a transfer of GC that takes `time`, after another one that takes equally long.
    #[inline(always)]
    pub(in crate::engine) fn begin_another(&mut self, now: Nanos, time: Nanos, last: Nanos) {
        debug_assert!(self.gc_transfer && self.until - self.since == time && self.until <= now);
        if last < now {
            self.marked = self.busy_at_mark(last);
        }
        self.gc += time.0;
        self.since = now;
        self.until = now + time;
        self.total += time.0;
    }

    /// The current transfer ends at another time than announced.
    pub(in crate::engine) fn prolong(&mut self, until: Nanos) {
        self.total = self.total + until.0 - self.until.0;
        self.until = until;
    }

    /// Busy time up to `at`, which is not before the start of the current or last transfer.
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
    /// Buses that `grant` considers in this round.
    pub(in crate::engine) dirty: Vec<u32>,
    /// Buses that several of the dies considered in this round may request, as bits. A bit stands for all buses with its number
    /// modulo 64. Known only where writes are in the fast lane.
    pub(in crate::engine) contested: u64,
    /// Number of channels and sides of the host link; ports of the interconnect are the buses after these.
    pub(in crate::engine) first_port: usize,
    /// When GC held them, where that is asked for: on devices whose transfers are all granted one by one.
    pub(in crate::engine) gc_spans: Spans,
}

impl Kernel {
    /// A page crosses to the host or from it: the bus of the host link that it asks for; none without a host link.
    #[inline(always)]
    pub(in crate::engine) fn link_to_cross(&mut self, dev: &Device, op: OpId, inward: bool) -> Option<usize> {
        (self.buses.first_port > dev.geometry.channels as usize).then(|| self.link(dev, op, inward))
    }
}

impl Buses {
    pub(super) fn new(first_port: usize, ports: usize) -> Self {
        Buses {
            all: vec![Bus::new(); first_port + ports],
            dirty: Vec::with_capacity(first_port + ports),
            contested: 0,
            first_port,
            gc_spans: Spans::default(),
        }
    }

    /// Whether a bus is a port of the interconnect.
    #[inline(always)]
    pub(in crate::engine) fn is_port(&self, bus: usize) -> bool {
        bus >= self.first_port
    }

    /// Whether several dies may request a bus in this round. See `contested`.
    #[inline(always)]
    pub(in crate::engine) fn is_contested(&self, bus: usize) -> bool {
        self.contested >> (bus % 64) & 1 == 1
    }

    /// Adds a bus to those that `grant` considers in this round.
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
