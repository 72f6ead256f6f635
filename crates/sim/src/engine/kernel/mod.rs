//! The base of the event loop: timers, operations, dies and buses.

pub(super) mod attempts;
pub(super) mod buses;
pub(super) mod dies;
pub(super) mod occupancy;
pub(super) mod ops;
pub(super) mod spans;
pub(super) mod tables;
pub(super) mod timers;
pub(super) mod turn;

use crate::device::geometry::Geometry;
use crate::units::Nanos;
use buses::Buses;
use dies::Dies;
use ops::{Ops, Parts};
use spans::Spans;
use timers::Timers;

/// See the module's documentation.
#[derive(Clone)]
pub(super) struct Kernel {
    pub(super) timers: Timers,
    pub(super) ops: Ops,
    pub(super) dies: Dies,
    pub(super) buses: Buses,
    /// Timers whose events were taken at the current time, below the age of their operations.
    pub(super) batch: Vec<u128>,
    /// The age of the youngest operation.
    pub(super) next_age: u64,
    /// Age of the command whose pages end now, in its turn among the ends of this moment; the largest after all of them.
    pub(super) ending_age: u64,
    /// Time of the last collector decisions.
    pub(super) decided_at: Nanos,
    /// Time of the last bus grants.
    pub(super) granted_at: Nanos,
    /// Rounds since a host request last completed. It is bounded while requests are outstanding, to detect deadlock and livelock.
    pub(super) idle_rounds: u64,
    /// Whether a move may have been fused since all fusing was last undone.
    pub(super) fused: bool,
    /// Events handled since the oracle's last scan.
    pub(super) events_since_scan: u64,
}

impl Kernel {
    /// `first_port`: channels and sides of the host link. `delays`: operations on the interconnect that occupy only their unit.
    /// `span`: see [`Timers::new`].
    pub(super) fn new(
        geometry: &Geometry,
        ops: usize,
        parts: Parts,
        (first_port, ports): (usize, usize),
        delays: usize,
        span: Nanos,
    ) -> Self {
        let (units, buses) = (geometry.units as usize, first_port + ports);
        Kernel {
            timers: Timers::new(units, buses, delays, span, Nanos(span.0 * u64::from(geometry.pages_per_block))),
            ops: Ops::new(ops, parts),
            dies: Dies::new(geometry),
            buses: Buses::new(first_port, ports),
            batch: Vec::with_capacity(units + buses + delays),
            next_age: 0,
            ending_age: u64::MAX,
            decided_at: Nanos::NEVER,
            granted_at: Nanos::NEVER,
            idle_rounds: 0,
            fused: false,
            events_since_scan: 0,
        }
    }

    /// The times of GC are kept from now on.
    pub(super) fn keep_spans(&mut self) {
        self.dies.gc_spans = Spans::of(self.dies.units.len());
        self.buses.gc_spans = Spans::of(self.buses.all.len());
    }
}
