//! Rows of the array: a transfer takes a port and a free row (`noc.model = "array"`).

use crate::engine::features::noc::FREE;
use crate::engine::kernel::Kernel;
use crate::engine::{Features, Ssd};
use crate::units::{Nanos, OpId};

impl Features {
    /// Whether a bus is a port whose transfers take rows of an array. Without an interconnect there are no ports.
    #[inline(always)]
    pub(in crate::engine) fn takes_rows(&self, kernel: &Kernel, bus: usize) -> bool {
        kernel.buses.is_port(bus) && self.net().rows > 0
    }

    /// `array`: GC's row time, until now, while a port waited for a row.
    #[inline(never)]
    fn behind_rows(&self, now: Nanos, port: usize) -> u64 {
        let Some(noc) = &self.noc else { return 0 };
        let (sum, since) = noc.behind_rows[port];
        sum + since.map_or(0, |since| noc.rows_gc.total(now) as u64 - since)
    }
}

impl Kernel {
    /// An operation requests a bus: notes GC's row time, if the bus is a port. Without an interconnect there are no ports.
    #[inline(always)]
    pub(in crate::engine) fn rows_at_bus(&mut self, features: &Features, now: Nanos, id: OpId, bus: usize) {
        if self.buses.is_port(bus) {
            self.ops.crossing[id].row_ledger = features.behind_rows(now, bus - self.buses.first_port);
        }
    }
}

impl Ssd {
    /// `array`: grants requested ports in order of request, as long as a row is free. Rows are used in turn.
    #[inline(never)]
    pub(in crate::engine) fn grant_rows(&mut self) {
        let mut waiting = std::mem::take(&mut self.features.noc_mut().waiting);
        waiting.clear();
        for port in self.kernel.buses.first_port..self.kernel.buses.all.len() {
            let state = &self.kernel.buses[port];
            if state.until <= self.now && state.holder.is_none() && !state.queue.is_empty() {
                let op = &self.kernel.ops[state.queue.head()];
                waiting.push((op.asked, op.age, port));
            }
        }
        waiting.sort_unstable();
        let (now, first) = (self.now, self.kernel.buses.first_port);
        for (_, _, port) in &waiting {
            let id = self.kernel.buses[*port].queue.head();
            let noc = self.features.noc_mut();
            let (rows, gc) = (noc.rows.len(), noc.rows_gc.total(now) as u64);
            let Some(row) = (1..=rows).map(|step| (noc.last_row + step) % rows).find(|row| noc.rows[*row] == FREE)
            else {
                noc.behind_rows[*port - first].1.get_or_insert(gc);
                continue;
            };
            noc.rows[row] = *port;
            noc.last_row = row;
            let channel = (*port - self.kernel.buses.first_port) as u32;
            let (path, slices) =
                (self.features.net().path(channel, row as u32), self.features.net().slices(channel, row as u32));
            self.stats.noc.paths += 1;
            self.stats.noc.slices += u64::from(slices);
            // All rows were busy while the port waited: its wait is split like their time.
            let behind = self.features.behind_rows(now, *port - first);
            self.features.noc_mut().behind_rows[channel as usize] = (behind, None);
            let op = &self.kernel.ops[id];
            let behind_gc = (behind - self.kernel.ops.crossing[id].row_ledger) / rows as u64;
            if !op.class.like_host() {
                self.features.noc_mut().rows_gc.change(true, now);
            }
            self.grant_bus(*port, path, behind_gc);
        }
        self.features.noc_mut().waiting = waiting;
    }
}
