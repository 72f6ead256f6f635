//! The interconnect: pages cross it between the flash controllers' buffers and the CPU, and tasks queue for the channels.
//!
//! A read's pages leave the flash into the buffer of their channel's flash controller, cross the interconnect, and leave the
//! buffer when their use is decided. A program's pages cross before they go to the flash. An operation keeps its unit throughout:
//! a unit serves one task at a time. Pages in a buffer are data in flight: their tags travel with the operation, and their block
//! is not erased before they have landed.

use super::kernel::timers::Timer;
use super::{Nanos, Ssd};
use crate::blame::Cause;
use crate::config::{Config, Task};
use crate::device::noc::Interconnect;
use crate::device::timing::{LegKind, Legs};
use crate::device::transaction::{Class, Need, Op, Verb};
use crate::engine::kernel::buses::Bus;
use crate::engine::kernel::occupancy::Occupancy;
use crate::engine::kernel::ops::Crossing;
use crate::policy::Hop;
use crate::report::mean;
use crate::report::noc::{Latency, Moved, NocSummary, Way};
use crate::units::{JobId, OpId, UnitId};

/// The interconnect of a device that has one.
#[derive(Clone)]
pub(super) struct Noc {
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
    pub(super) fn new(config: &Config, units: u32) -> Option<Box<Self>> {
        let net = Interconnect::new(config.noc_spec()?, config.geometry.channels);
        let mut ranks = [0; 4];
        for (rank, task) in config.noc.priority().iter().enumerate() {
            ranks[*task as usize] = rank as u8;
        }
        Some(Box::new(Noc {
            ranks,
            delays: vec![OpId::NONE; 2 * units as usize],
            rows: vec![FREE; net.rows as usize],
            last_row: net.rows.saturating_sub(1) as usize,
            rows_gc: Occupancy::default(),
            waiting: Vec::with_capacity(config.geometry.channels as usize),
            behind_rows: vec![(0, None); config.geometry.channels as usize],
            buffered: vec![0; config.geometry.channels as usize],
            net,
        }))
    }

    /// Time that a page takes across.
    pub(super) fn traversal(&self, page_size: u32) -> Nanos {
        self.net.traversal(page_size)
    }
}

/// The task queue of an operation.
fn task(op: &Op) -> Task {
    let reads = match op.class {
        Class::Host => op.need != Need::Write,
        _ => op.verb == Verb::Read,
    };
    match op.class {
        Class::Host | Class::Parity | Class::Replica => {
            if reads {
                Task::Rhost
            } else {
                Task::Whost
            }
        }
        Class::Gc | Class::Writeback | Class::Metadata => {
            if reads {
                Task::Rgc
            } else {
                Task::Wgc
            }
        }
    }
}

impl Ssd {
    fn noc_mut(&mut self) -> &mut Noc {
        self.features.noc.as_mut().expect("a device with an interconnect")
    }

    /// Whether traversals occupy rows of an array.
    pub(super) fn has_rows(&self) -> bool {
        self.net().rows > 0
    }

    fn net(&self) -> &Interconnect {
        &self.features.noc.as_ref().expect("a device with an interconnect").net
    }

    /// Summary of the interconnect, over `span` nanoseconds.
    pub(super) fn noc_summary(&self, span: u64) -> Option<NocSummary> {
        let noc = self.features.noc.as_ref()?;
        let (counts, channels, bytes) = (&self.stats.noc, self.dev.geometry.channels, self.dev.geometry.page_size);
        let moved = self.stats.moved;
        let gc = counts.traversals.gc_out + counts.traversals.gc_back;
        let max = |op: &crate::stats::OpStats| op.latency.figures().max;
        let busy: u128 = self.port_time(|bus| bus.busy_at_mark(self.stats.last_completion));
        let busy = (busy.saturating_sub(self.stats.ports_busy_from) as u64).saturating_add(counts.delayed_ns);
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
                read_mean: average(&self.stats.read),
                read_max: max(&self.stats.read),
                write_mean: average(&self.stats.write),
                write_max: max(&self.stats.write),
            },
        })
    }

    /// Sum of a figure over all ports.
    pub(super) fn port_time(&self, of: impl Fn(&Bus) -> u64) -> u128 {
        self.kernel.buses.all[self.rules.ports..].iter().map(|port| u128::from(of(port))).sum()
    }

    // Task queues.

    /// Checks the end of a run: no page is in flight.
    pub(super) fn check_crossings_end(&self) {
        if let Some(noc) = &self.features.noc {
            law!(noc.buffered.iter().all(|pages| *pages == 0), "a flash controller's buffer is not empty");
        }
    }

    /// Number of task queues that a unit serves before an operation's queue. If free space is `short`, GC's queues are served
    /// before the host's.
    #[inline(never)]
    pub(super) fn rank(&self, op: OpId, short: bool) -> u8 {
        let Some(noc) = &self.features.noc else { return 0 };
        let task = task(&self.kernel.ops[op]);
        let late = short && matches!(task, Task::Rhost | Task::Whost);
        noc.ranks[task as usize] + if late { 4 } else { 0 }
    }

    /// The first task of the first queue of a unit that is not empty, and the rank of the queue.
    pub(super) fn next_task(&self, unit: UnitId) -> (u8, OpId) {
        let planes = 0..self.dev.geometry.planes_per_unit;
        let mut planes = planes.map(|k| self.dev.geometry.plane_of_unit(unit, k));
        let short = self.rules.hard_floor > 0 && planes.any(|plane| self.below_hard_floor(plane));
        let mut best = (u8::MAX, OpId::NONE);
        let mut at = self.kernel.dies[unit].queue.head();
        while at.is_some() {
            let rank = self.rank(at, short);
            if rank < best.0 {
                best = (rank, at);
            }
            at = self.kernel.ops[at].next;
        }
        best
    }

    // Legs.

    /// A program begins: its pages cross first.
    #[inline(always)]
    pub(super) fn cross_in(&mut self, id: OpId) {
        if self.features.noc.is_some() {
            self.begins_crossing(id);
        }
    }

    #[inline(never)]
    fn begins_crossing(&mut self, id: OpId) {
        let op = &self.kernel.ops[id];
        if op.verb != Verb::Program || op.leg != 0 || self.kernel.ops.crossing[id].crossing == Crossing::Over {
            return;
        }
        let (pages, crossing) = match (op.class, op.job) {
            (Class::Host, _) => {
                let (mut pages, mut at) = (0, id);
                while at.is_some() {
                    pages += 1;
                    at = self.kernel.ops[at].mate;
                }
                (pages, pages)
            }
            (Class::Gc, job) if job.is_some() => {
                let pages = op.pages.len() as u64;
                (pages, if self.gc.jobs[job.0].rest == Hop::Controller { pages } else { 0 })
            }
            // The page is already in this channel's buffer.
            _ if self.kernel.ops.crossing[id].crossing == Crossing::Under => (1, 0),
            _ => (op.pages.len() as u64, op.pages.len() as u64),
        };
        let net = self.net();
        let across = net.traversal(self.dev.geometry.page_size).0 * crossing;
        let buffer = net.sram_write.0 * crossing + net.sram_read.0 * pages;
        self.kernel.ops.crossing[id].crossing = Crossing::Over;
        let op = &mut self.kernel.ops[id];
        op.legs = op.legs.after(&[(LegKind::Noc, Nanos(across)), (LegKind::Buffer, Nanos(buffer))]);
        let way = if op.class == Class::Host { Way::HostWrite } else { Way::GcBack };
        self.stats.noc.traversals.add(way, crossing);
        self.buffer(id, crossing as i64);
    }

    /// The legs of an operation have ended. Whether it continues across the interconnect, or from the buffer to the flash.
    #[inline(always)]
    pub(super) fn crosses_out(&mut self, id: OpId) -> bool {
        self.features.noc.is_some() && self.leaves_crossing(id)
    }

    #[inline(never)]
    fn leaves_crossing(&mut self, id: OpId) -> bool {
        let op = &self.kernel.ops[id];
        match (op.verb, self.kernel.ops.crossing[id].crossing) {
            (Verb::Read, Crossing::Ahead) => self.leave_flash(id),
            (Verb::Read, Crossing::Under) if op.class == Class::Gc && op.job.is_some() => self.verdict(id),
            _ => {
                self.kernel.ops.crossing[id].crossing = Crossing::Ahead;
                self.buffer(id, -i64::from(self.kernel.ops.crossing[id].buffered));
                return false;
            }
        }
        true
    }

    /// A read's pages enter the buffer, and continue as far as they have to.
    fn leave_flash(&mut self, id: OpId) {
        if self.kernel.ops[id].class == Class::Gc {
            self.count_time(id);
        }
        if let Some(since) = self.kernel.ops[id].parked_since.take() {
            // R8, without a transfer that would have recorded the wait: it waited for the cache register, which a page on its way
            // out held.
            let waited = (self.now - since.time()).0;
            self.charge(id, Cause::NocHost, waited);
        }
        let (op, net, page_size) = (&self.kernel.ops[id], self.net(), self.dev.geometry.page_size);
        let mut legs = Legs::NONE;
        let (leaving, crossing, way);
        if op.class == Class::Gc && op.job.is_some() {
            leaving = op.from.len() as u64;
            crossing = if self.gc.jobs[op.job.0].journey.out == Hop::Controller { leaving } else { 0 };
            way = Way::GcOut;
            legs.push(LegKind::Buffer, Nanos(net.sram_write.0 * leaving));
            legs.push(LegKind::Noc, Nanos(net.traversal(page_size).0 * crossing));
        } else {
            let (mut pages, mut across) = (0, 0);
            if op.class == Class::Host {
                let mut at = id;
                while at.is_some() {
                    let page = &self.kernel.ops[at];
                    let bytes = if page.need == Need::Merge { page_size } else { self.kernel.ops.host[at].bytes };
                    across += net.traversal(bytes).0;
                    pages += 1;
                    at = page.mate;
                }
                way = Way::HostRead;
            } else {
                pages = op.pages.len() as u64;
                across = net.traversal(page_size).0 * pages;
                way = Way::GcOut;
            }
            (leaving, crossing) = (pages, pages);
            legs.push(LegKind::Buffer, Nanos(net.sram_write.0 * pages));
            legs.push(LegKind::Noc, Nanos(across));
            legs.push(LegKind::Buffer, Nanos(net.sram_read.0 * pages));
        }
        self.stats.noc.traversals.add(way, crossing);
        self.buffer(id, leaving as i64);
        self.kernel.ops.crossing[id].crossing = Crossing::Under;
        let op = &mut self.kernel.ops[id];
        op.legs = legs;
        op.leg = 0;
        self.run_leg(id);
    }

    /// Error correction has checked the pages of a move. Those that may be programmed from the buffer are programmed at once.
    fn verdict(&mut self, id: OpId) {
        let (job, from) = (self.kernel.ops[id].job, self.kernel.ops[id].from);
        let journey = self.gc.jobs[job.0].journey;
        let mut joint = if journey.checked { Hop::Die } else { Hop::Controller };
        for page in from.iter() {
            let wrong = match &self.dev.errors {
                Some(model) => model.errors(*page, self.dev.geometry.block_of(*page), self.now) > 0,
                None => self.dev.page_errors.in_page(),
            };
            self.stats.noc.checked += 1;
            self.stats.noc.errors += u64::from(wrong);
            if journey.checked {
                joint = joint.farther(self.schemes.path.policy().back(&self.dev.view(self.now), *page, !wrong));
            }
        }
        self.gc.jobs[job.0].rest = joint;
        self.kernel.ops.crossing[id].crossing = Crossing::Over;
        let pages = from.len() as u64;
        if joint == Hop::Fmc {
            self.stats.noc.local += pages;
            return self.write_back(job, id);
        }
        if joint == Hop::Die {
            // The register still holds them.
            self.kernel.ops[id].legs = Legs::NONE;
            return self.run_leg(id);
        }
        // The CPU corrects pages with errors. If the flash controller found the errors, those pages cross now.
        let late = if journey.out == Hop::Fmc { pages } else { 0 };
        let (net, page_size) = (self.net(), self.dev.geometry.page_size);
        let mut legs = Legs::NONE;
        legs.push(LegKind::Noc, Nanos(net.traversal(page_size).0 * late));
        legs.push(LegKind::Buffer, Nanos(net.sram_read.0 * pages));
        self.stats.noc.traversals.add(Way::GcOut, late);
        self.kernel.ops[id].legs = legs;
        self.kernel.ops[id].leg = 0;
        self.run_leg(id);
    }

    /// Programs clean pages from the buffer in the same task.
    fn write_back(&mut self, job: JobId, id: OpId) {
        self.end_reads(id);
        let (unit, hand) = (self.kernel.ops[id].unit, self.kernel.ops[id].from);
        self.gc.jobs[job.0].job.hand = hand;
        self.kernel.ops[id].verb = Verb::Program;
        self.kernel.dies[unit].vacate();
        if self.sends_abroad(job) {
            self.kernel.ops.crossing[id].crossing = Crossing::Ahead;
            return;
        }
        self.begin_place(job);
        self.kernel.dies[unit].occupy(id);
        let read = Nanos(self.net().sram_read.0 * hand.len() as u64);
        let op = &mut self.kernel.ops[id];
        op.legs = op.legs.after(&[(LegKind::Buffer, read)]);
        op.leg = 0;
        self.run_leg(id);
    }

    /// The program of a page in hand goes to another unit. The page comes from its channel's buffer, which that operation then
    /// frees, or across the interconnect.
    #[inline(always)]
    pub(super) fn crosses_abroad(&mut self, job: JobId, program: OpId) {
        if self.features.noc.is_some() {
            self.continues_abroad(job, program);
        }
    }

    #[inline(never)]
    fn continues_abroad(&mut self, job: JobId, program: OpId) {
        let (read, rest) = (self.gc.jobs[job.0].op, self.gc.jobs[job.0].rest);
        if rest != Hop::Fmc {
            return;
        }
        let target = self.kernel.ops[program].plane;
        if self.dev.geometry.channel_of(target) == self.kernel.ops[read].channel {
            self.kernel.ops.crossing[read].buffered -= 1;
            self.kernel.ops.crossing[program].crossing = Crossing::Under;
            self.kernel.ops.crossing[program].buffered = 1;
        } else {
            self.buffer(read, -1);
        }
    }

    /// Pages of an operation enter or leave its channel's buffer.
    fn buffer(&mut self, id: OpId, pages: i64) {
        let buffered = &mut self.kernel.ops.crossing[id].buffered;
        *buffered = (i64::from(*buffered) + pages) as u8;
        let channel = self.kernel.ops[id].channel.ix();
        let held = &mut self.noc_mut().buffered[channel];
        *held =
            u32::try_from(i64::from(*held) + pages).expect("law: no more pages leave a buffer than have entered it");
        let held = u64::from(*held);
        self.stats.noc.buffer_pages_max = self.stats.noc.buffer_pages_max.max(held);
    }

    /// Starts a traversal, which requests its channel's port, or only takes time.
    #[inline(never)]
    pub(super) fn cross(&mut self, id: OpId, time: Nanos) {
        if self.net().delayed {
            self.stats.noc.delayed_ns += time.0;
            return self.delay(id, Cause::Noc, time);
        }
        let port = self.rules.ports + self.kernel.ops[id].channel.ix();
        self.ask(id, port);
    }

    /// Starts a delay that occupies nothing but the operation's own unit.
    pub(super) fn delay(&mut self, id: OpId, cause: Cause, time: Nanos) {
        self.charge(id, cause, time.0);
        let first = 2 * self.kernel.ops[id].unit.ix();
        let delays = &mut self.noc_mut().delays;
        let slot = if delays[first].is_none() { first } else { first + 1 };
        law!(delays[slot].is_none(), "law: a unit serves at most two operations");
        delays[slot] = id;
        self.kernel.timers.set(Timer::Delay(slot), self.now + time);
    }

    /// A delay has ended.
    #[inline(never)]
    pub(super) fn delayed(&self, slot: usize) -> OpId {
        self.features.noc.as_ref().map_or(OpId::NONE, |noc| noc.delays[slot])
    }

    #[inline(never)]
    pub(super) fn delay_ends(&mut self, slot: usize) {
        let id = self.delayed(slot);
        self.noc_mut().delays[slot] = OpId::NONE;
        self.leg_of_noc_ends(id);
    }

    /// A traversal has ended: the port is free.
    #[inline(never)]
    pub(super) fn port_ends(&mut self, bus: usize, id: OpId) {
        let (now, gc) = (self.now, self.kernel.ops[id].class != Class::Host);
        let noc = self.noc_mut();
        if let Some(row) = noc.rows.iter().position(|port| *port == bus) {
            noc.rows[row] = FREE;
            if gc {
                noc.rows_gc.change(false, now);
            }
        }
        self.leg_of_noc_ends(id);
    }

    fn leg_of_noc_ends(&mut self, id: OpId) {
        let op = &mut self.kernel.ops[id];
        let kind = op.legs.get(op.leg).map(|leg| leg.kind);
        op.leg += 1;
        let next = op.legs.get(op.leg).map(|leg| leg.kind);
        if op.verb == Verb::Program {
            if kind == Some(LegKind::Buffer) {
                self.buffer(id, -i64::from(self.kernel.ops.crossing[id].buffered));
            }
            // Without a transfer on the channel, the data is in the die now.
            if next == Some(LegKind::Array) && self.data_in_ends(id) {
                return;
            }
        }
        self.run_leg(id);
    }

    /// `array`: GC's row time, until now, while a port waited for a row.
    #[inline(never)]
    pub(super) fn behind_rows(&self, port: usize) -> u64 {
        let Some(noc) = &self.features.noc else { return 0 };
        let (sum, since) = noc.behind_rows[port - self.rules.ports];
        sum + since.map_or(0, |since| noc.rows_gc.total(self.now) as u64 - since)
    }

    /// `array`: grants requested ports in order of request, as long as a row is free. Rows are used in turn.
    #[inline(never)]
    pub(super) fn grant_rows(&mut self) {
        let mut waiting = std::mem::take(&mut self.noc_mut().waiting);
        waiting.clear();
        for port in self.rules.ports..self.kernel.buses.all.len() {
            let state = &self.kernel.buses[port];
            if state.until <= self.now && state.holder.is_none() && !state.queue.is_empty() {
                let op = &self.kernel.ops[state.queue.head()];
                waiting.push((op.asked, op.age, port));
            }
        }
        waiting.sort_unstable();
        let (now, first) = (self.now, self.rules.ports);
        for (_, _, port) in &waiting {
            let id = self.kernel.buses[*port].queue.head();
            let noc = self.noc_mut();
            let (rows, gc) = (noc.rows.len(), noc.rows_gc.total(now) as u64);
            let Some(row) = (1..=rows).map(|step| (noc.last_row + step) % rows).find(|row| noc.rows[*row] == FREE)
            else {
                noc.behind_rows[*port - first].1.get_or_insert(gc);
                continue;
            };
            noc.rows[row] = *port;
            noc.last_row = row;
            let channel = (*port - self.rules.ports) as u32;
            let (path, slices) = (self.net().path(channel, row as u32), self.net().slices(channel, row as u32));
            self.stats.noc.paths += 1;
            self.stats.noc.slices += u64::from(slices);
            // All rows were busy while the port waited: its wait is split like their time.
            let behind = self.behind_rows(*port);
            self.noc_mut().behind_rows[channel as usize] = (behind, None);
            let op = &self.kernel.ops[id];
            let behind_gc = (behind - self.kernel.ops.crossing[id].row_ledger) / rows as u64;
            if op.class != Class::Host {
                self.noc_mut().rows_gc.change(true, now);
            }
            self.grant_bus(*port, path, behind_gc);
        }
        self.noc_mut().waiting = waiting;
    }
}
