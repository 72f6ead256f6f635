//! Pages without data: trims, and pages that are read before they were written.

use std::ops::Range;

use crate::device::mapping::Location;
use crate::engine::features::cache::trim as cached;
use crate::engine::features::streams;
use crate::engine::kernel::Kernel;
use crate::engine::kernel::ops::Page;
use crate::engine::rules::Rules;
use crate::engine::spine::complete::{PageEnd, completed};
use crate::engine::spine::ring::Waiting;
use crate::engine::{Device, Ssd};
use crate::request::Extent;
use crate::units::{Lpn, Ppn};

impl Device {
    /// All data of a logical page becomes stale; a write in flight will land stale.
    #[inline]
    pub(in crate::engine) fn forget(&mut self, kernel: &mut Kernel, rules: &Rules, lpn: Lpn) {
        match self.map.get(lpn) {
            Location::Nowhere => {}
            Location::Flash(page) => {
                self.flash.invalidate(page, self.geometry.block_of(page), lpn);
                self.stirs_buffer(rules, self.geometry.plane_of(page));
            }
            Location::Staged(op) => {
                // The page that it would be merged with is no longer needed.
                let old = std::mem::replace(&mut kernel.ops[Page(op)].old, Ppn::NONE);
                if old.is_some() {
                    self.flash.invalidate(old, self.geometry.block_of(old), lpn);
                    self.stirs_buffer(rules, self.geometry.plane_of(old));
                }
            }
        }
    }

    /// The whole pages of the map inside a range, which a TRIM discards.
    pub(in crate::engine) fn whole_pages(&self, extent: &Extent) -> Range<u32> {
        let size = self.entry_bytes();
        (extent.offset.div_ceil(size) as u32)..(((extent.offset + extent.bytes) / size) as u32)
    }
}

impl Ssd {
    /// A TRIM completes at admission.
    #[inline(never)]
    pub(super) fn admit_trim(&mut self, next: Waiting, index: u64, measured: bool) {
        let request = next.request;
        for _ in 0..next.extents.max(1) {
            let extent = self.host.next_extent(&next);
            self.dev.whole_pages(&extent).for_each(|lpn| self.trim(Lpn(lpn), measured));
        }
        self.kernel.idle_rounds = 0;
        self.stats.completed += 1;
        self.stats.requests.trim += u64::from(measured);
        self.stats.requests.warmup += u64::from(!measured);
        let (arbitration, extras) = self.features.count_trim(next.marks.tenant, measured);
        self.host.loop_continues(self.now);
        let end = PageEnd::now(self.now, (self.now - request.arrival).0 - arbitration);
        let tenant = next.marks.tenant;
        let of_trim = || completed(&request, index, measured, 0, end.shown(), (&extras, tenant, None), self.now);
        self.observer.watch_completion(of_trim);
    }

    #[inline(never)]
    pub(in crate::engine) fn trim(&mut self, lpn: Lpn, measured: bool) {
        if self.features.keeps_discarded() {
            return;
        }
        self.becomes_stale(lpn);
        streams::trimmed(&mut self.features, &self.rules, lpn);
        if self.dev.map.get(lpn) != Location::Nowhere {
            self.stats.pages.trimmed += u64::from(measured);
            if let Some(plane) = self.dev.drop_buffered(&mut self.kernel, &mut self.gc, &self.rules, self.now, lpn) {
                self.unstall(plane);
            }
            self.features.drop_copy(&mut self.dev, lpn);
            cached::drops_lines(self, lpn);
            self.dev.forget(&mut self.kernel, &self.rules, lpn);
            self.features.unbind(&mut self.dev, &self.rules, lpn);
            let tag = self.oracle.admit(lpn);
            self.oracle.admit_sectors(tag, None);
            self.host.trim_run(&self.kernel, &self.dev, &mut self.oracle, lpn);
            self.oracle.acknowledge_trim(tag);
            self.dev.map.set(lpn, Location::Nowhere);
            cached::serves_waiting(self);
        }
    }
}
