//! The interconnect: pages cross it between the flash controllers' buffers and the CPU, and tasks queue for the channels.
//!
//! A read's pages leave the flash into the buffer of their channel's flash controller, cross the interconnect, and leave the
//! buffer when their use is decided. A program's pages cross before they go to the flash. An operation keeps its unit throughout:
//! a unit serves one task at a time. Pages in a buffer are data in flight: their tags travel with the operation, and their block
//! is not erased before they have landed.

mod crossing;
mod queues;
mod rows;

use crate::blame::Cause;
use crate::config::{Config, WriteAck};
use crate::device::command::LegKind;
use crate::device::geometry::Geometry;
use crate::device::noc::Interconnect;
use crate::device::transaction::Verb;
use crate::engine::kernel::Kernel;
use crate::engine::kernel::buses::Bus;
use crate::engine::kernel::occupancy::Occupancy;
use crate::engine::kernel::timers::Timer;
use crate::engine::{Device, Features, Nanos, Ssd};
use crate::report::mean;
use crate::report::noc::{Latency, Moved, NocSummary};
use crate::stats::Stats;
use crate::units::OpId;

/// The interconnect of a device that has one.
#[derive(Clone)]
pub(in crate::engine) struct Noc {
    net: Interconnect,
    /// By task queue: the number of queues served before it.
    ranks: [u8; 4],
    /// By unit, twice (array and cache register): the operation whose page is in a buffer access, or on a traversal that occupies
    /// nothing.
    delays: Vec<OpId>,
    /// `array`: by row, the port whose page is on it.
    rows: Vec<usize>,
    /// `array`: the row of the last traversal.
    last_row: usize,
    /// `array`: row time of GC pages.
    rows_gc: Occupancy,
    /// `array`: ports that wait for a row, with the time of the request and their age.
    waiting: Vec<(Nanos, u64, usize)>,
    /// `array`: by port, GC's row time while the port waited for a row, and GC's total row time when its current wait began.
    behind_rows: Vec<(u64, Option<u64>)>,
    /// By channel: pages in the flash controller's buffer.
    buffered: Vec<u32>,
}

/// No port.
const FREE: usize = usize::MAX;

impl Noc {
    pub(in crate::engine) fn new(config: &Config, geometry: &Geometry) -> Option<Box<Self>> {
        let net = Interconnect::new(config.noc_spec()?, config.geometry.channels, geometry.unit_bytes);
        let mut ranks = [0; 4];
        for (rank, task) in config.noc.priority().iter().enumerate() {
            ranks[*task as usize] = rank as u8;
        }
        Some(Box::new(Noc {
            ranks,
            delays: vec![OpId::NONE; 2 * geometry.units as usize],
            rows: vec![FREE; net.rows as usize],
            last_row: net.rows.saturating_sub(1) as usize,
            rows_gc: Occupancy::default(),
            waiting: Vec::with_capacity(config.geometry.channels as usize),
            behind_rows: vec![(0, None); config.geometry.channels as usize],
            buffered: vec![0; config.geometry.channels as usize],
            net,
        }))
    }

    /// Serves tasks in the order of another interconnect from now on.
    pub(in crate::engine) fn follow(&mut self, other: &Noc) {
        self.ranks = other.ranks;
    }

    /// Sets the event of a delay.
    fn delay(&mut self, kernel: &mut Kernel, now: Nanos, id: OpId, time: Nanos) {
        let first = 2 * kernel.ops[id].unit.ix();
        let slot = if self.delays[first].is_none() { first } else { first + 1 };
        law!(self.delays[slot].is_none(), "law: a unit serves at most two operations");
        self.delays[slot] = id;
        kernel.timers.set(Timer::Delay(slot), now + time);
    }

    /// Time that a page takes across.
    pub(in crate::engine) fn traversal(&self, page_size: u32) -> Nanos {
        self.net.traversal(page_size)
    }
}

impl Features {
    fn noc_mut(&mut self) -> &mut Noc {
        self.noc.as_mut().expect("a device with an interconnect")
    }

    fn net(&self) -> &Interconnect {
        &self.noc.as_ref().expect("a device with an interconnect").net
    }

    /// Time that a page takes from the flash to the CPU or back; none without an interconnect.
    pub(in crate::engine) fn crossing(&self, page_size: u32) -> Nanos {
        let across = |noc: &Noc| noc.net.sram_write + noc.traversal(page_size) + noc.net.sram_read;
        self.noc.as_ref().map_or(Nanos::ZERO, |noc| across(noc))
    }

    /// Checks the end of a run: no page is in flight.
    pub(in crate::engine) fn check_crossings_end(&self) {
        if let Some(noc) = &self.noc {
            law!(noc.buffered.iter().all(|pages| *pages == 0), "a flash controller's buffer is not empty");
        }
    }

    /// The operation of a delay.
    #[inline(never)]
    pub(in crate::engine) fn delayed(&self, slot: usize) -> OpId {
        self.noc.as_ref().map_or(OpId::NONE, |noc| noc.delays[slot])
    }

    /// Summary of the interconnect, over `span` nanoseconds.
    pub(in crate::engine) fn noc_summary(
        &self,
        kernel: &Kernel,
        dev: &Device,
        stats: &Stats,
        span: u64,
    ) -> Option<NocSummary> {
        let noc = self.noc.as_ref()?;
        let (counts, channels, bytes) = (&stats.noc, dev.geometry.channels, dev.geometry.unit_bytes);
        let moved = stats.moved;
        let gc = counts.traversals.gc_out + counts.traversals.gc_back;
        let max = |op: &crate::stats::OpStats| op.latency.figures().max;
        let busy: u128 = kernel.port_time(|bus| bus.busy_at_mark(stats.last_completion));
        let busy = (busy.saturating_sub(stats.ports_busy_from) as u64).saturating_add(counts.delayed_ns);
        let average = |op: &crate::stats::OpStats| op.latency.figures().mean;
        Some(NocSummary {
            traversal_ns: noc.net.mean_traversal(bytes),
            mean_slices: noc.net.mean_slices(),
            travelled_slices: mean(u128::from(counts.slices), counts.paths),
            traversals: counts.traversals.clone(),
            traversals_per_moved_page: mean(u128::from(gc), moved),
            busy_ns: busy,
            busy_share: mean(u128::from(busy), span).map(|busy| busy / f64::from(channels)),
            moved_pages: Moved {
                total: moved,
                checked: counts.checked,
                errors: counts.errors,
                from_buffer: counts.local,
            },
            buffer_pages_max: counts.buffer_pages_max,
            latency_ns: Latency {
                read_mean: average(&stats.read),
                read_max: max(&stats.read),
                write_mean: average(&stats.write),
                write_max: max(&stats.write),
            },
        })
    }

    /// A traversal begins. Returns the port of its channel, which it requests, or none if it only takes time.
    #[inline(always)]
    pub(in crate::engine) fn port_to_cross(
        &self,
        kernel: &Kernel,
        stats: &mut Stats,
        id: OpId,
        time: Nanos,
    ) -> Option<usize> {
        if self.net().delayed {
            stats.noc.delayed_ns += time.0;
            return None;
        }
        Some(kernel.buses.first_port + kernel.ops[id].channel.ix())
    }

    /// A delay has ended. Returns its operation.
    #[inline(always)]
    pub(in crate::engine) fn delay_ends(&mut self, slot: usize) -> OpId {
        let id = self.delayed(slot);
        self.noc_mut().delays[slot] = OpId::NONE;
        id
    }

    /// A traversal has ended: the port is free.
    #[inline(always)]
    fn port_ends(&mut self, kernel: &Kernel, now: Nanos, bus: usize, id: OpId) {
        let gc = !kernel.ops[id].class.like_host();
        let noc = self.noc_mut();
        if let Some(row) = noc.rows.iter().position(|port| *port == bus) {
            noc.rows[row] = FREE;
            if gc {
                noc.rows_gc.change(false, now);
            }
        }
    }
}

impl Kernel {
    /// Sum of a figure over all ports.
    pub(in crate::engine) fn port_time(&self, of: impl Fn(&Bus) -> u64) -> u128 {
        self.buses.all[self.buses.first_port..].iter().map(|port| u128::from(of(port))).sum()
    }
}

/// A transfer has ended. Returns whether its bus is a port, which a page has crossed then. Without an interconnect there are no ports.
#[inline(always)]
pub(in crate::engine) fn port_ends(ssd: &mut Ssd, bus: usize, id: OpId) -> bool {
    let port = ssd.kernel.buses.is_port(bus);
    if port {
        has_crossed(ssd, bus, id);
    }
    port
}

/// A page has crossed a port.
#[inline(never)]
fn has_crossed(ssd: &mut Ssd, bus: usize, id: OpId) {
    ssd.features.port_ends(&ssd.kernel, ssd.now, bus, id);
    ssd.leg_of_noc_ends(id);
}

impl Ssd {
    /// A page crosses the interconnect: it asks for its port, or is on its way for a time.
    #[inline(never)]
    pub(in crate::engine) fn cross(&mut self, id: OpId, time: Nanos) {
        match self.features.port_to_cross(&self.kernel, &mut self.stats, id, time) {
            Some(port) => self.ask(id, port),
            None => self.delay(id, Cause::Noc, time),
        }
    }

    /// A page has been on its way for its time.
    #[inline(never)]
    pub(in crate::engine) fn delay_ends(&mut self, slot: usize) {
        let id = self.features.delay_ends(slot);
        self.leg_of_noc_ends(id);
    }

    /// Starts a delay that occupies nothing but the operation's own unit.
    pub(in crate::engine) fn delay(&mut self, id: OpId, cause: Cause, time: Nanos) {
        if self.kernel.ops[id].class.like_host() {
            self.kernel.charge(&mut self.features, &self.rules, self.now, id, cause, time.0);
        }
        self.features.noc_mut().delay(&mut self.kernel, self.now, id, time);
    }

    /// A leg across the interconnect, or into a buffer or out of it, has ended.
    #[inline(never)]
    fn leg_of_noc_ends(&mut self, id: OpId) {
        let op = &mut self.kernel.ops[id];
        let kind = op.legs.get(op.leg).map(|leg| leg.kind);
        op.leg += 1;
        let next = op.legs.get(op.leg).map(|leg| leg.kind);
        if op.verb == Verb::Program {
            if kind == Some(LegKind::Buffer) {
                let held = -i64::from(self.kernel.ops.crossing[id].buffered);
                self.features.noc_mut().buffer(&mut self.kernel, &mut self.stats, id, held);
            }
            // Without a transfer on the channel, the data is in the die now.
            if next == Some(LegKind::Array) && self.kernel.ops[id].class.like_host() {
                if self.config.device.write_ack == WriteAck::AfterTransfer {
                    self.acknowledge_early(id);
                }
                if self.kernel.data_is_in(&self.config, self.now, id) {
                    return;
                }
            }
        }
        self.run_leg(id);
    }
}
