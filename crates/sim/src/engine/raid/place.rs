//! Where pages of parity groups wait: reads for their chips, writes for their groups.

use crate::device::transaction::Need;
use crate::engine::kernel::Kernel;
use crate::engine::raid::failure::Instead;
use crate::engine::{Host, Nanos, Ssd};
use crate::units::OpId;

impl Host {
    /// No parity will ever cover a write: returns whether it joins the queue of its die now, or after its page has been read, since
    /// sectors are missing.
    pub(super) fn passes_overtaken(&mut self, kernel: &mut Kernel, now: Nanos, op: OpId) -> bool {
        kernel.ops[op].need = Need::Write;
        !self.waits_for_merge(kernel, now, op)
    }
}

impl Ssd {
    /// Sends a page to its queue: a read to its chip, a write to its group.
    pub(in crate::engine) fn place_chunk(&mut self, op: OpId) {
        let lpn = self.kernel.ops[op].lpn;
        if self.kernel.ops[op].need == Need::Read {
            if !self.features.is_missing(lpn) {
                return self.queue_on_chip(op);
            }
            let (dev, host) = (&self.dev, &mut self.host);
            match self.features.read_missing(&mut self.kernel, dev, host, &self.rules, self.now, op) {
                Instead::Newer => {
                    let measured = self.host.requests[self.kernel.ops[op].request].measured;
                    self.stats.pages.from_memory += u64::from(measured);
                    self.serve_from_memory(op);
                }
                Instead::Lost => self.serve_from_memory(op),
                Instead::Group(update) => {
                    let reads = self.read_around(op, update);
                    self.features.count_degraded(&self.kernel, &self.host, op, reads);
                }
                Instead::Later => {}
            }
        } else if self.kernel.may_cover(&self.dev, op) {
            self.features.raid().joins_group(&mut self.kernel, &self.dev, self.now, op);
        } else if self.host.passes_overtaken(&mut self.kernel, self.now, op) {
            // A newer write has replaced it.
            self.queue_on_chip(op);
        }
    }

    /// A page that has been read has more bit errors than can be corrected: its group is asked for it, and repaired.
    #[cold]
    pub(super) fn chunk_is_bad(&mut self, id: OpId) {
        let index = self.features.layout().group_index(self.kernel.ops[id].lpn);
        let (dev, oracle) = (&mut self.dev, &mut self.oracle);
        let merged = self.features.chunk_is_unreadable(&mut self.kernel, dev, &self.host, oracle, self.now, id);
        if let Some(write) = merged {
            self.host.run_is_read(&self.kernel, &mut self.oracle, write, None, false);
            self.host.release_waiting(&mut self.kernel, &self.features, &self.rules, self.now, write);
        }
        self.page_is_denied(id);
        self.features.repair(self.now, index);
    }

    /// A page joins the queue of its die.
    pub(in crate::engine) fn queue_on_chip(&mut self, op: OpId) {
        let page = &mut self.kernel.ops[op];
        page.waits_since = self.now;
        let writes = page.need == Need::Write;
        page.plane = self.dev.geometry.static_plane(page.lpn);
        let chip = self.dev.geometry.chip_of(page.plane) as usize;
        self.features.raid().load[chip][usize::from(writes)] += 1;
        self.kernel.join_die(&self.dev, &mut self.features, &self.rules, self.now, op, false);
        if self.rules.heeds {
            self.unit_is_awaited(self.kernel.ops[op].unit);
            self.features.note_awaited(&self.kernel, &self.rules, self.now, op);
        }
    }
}

/// A page is sent to its queue. Returns whether parity groups decide where it waits: without them, it joins the queue of its die.
#[inline(always)]
pub(in crate::engine) fn takes_page(ssd: &mut Ssd, op: OpId) -> bool {
    let grouped = ssd.features.raid.is_some();
    if grouped {
        ssd.place_chunk(op);
    }
    grouped
}
