//! Pages without data: trims, and pages that are read before they were written.

use crate::device::mapping::Location;
use crate::engine::kernel::ops::Page;
use crate::engine::spine::complete::{PageEnd, completed};
use crate::engine::spine::ring::Waiting;
use crate::engine::{Ssd, life, streams};
use crate::request::Extent;
use crate::units::{Lpn, Ppn};

impl Ssd {
    /// All data of a logical page becomes stale; a write in flight will land stale.
    #[inline]
    pub(in crate::engine) fn forget(&mut self, lpn: Lpn) {
        match self.dev.map.get(lpn) {
            Location::Nowhere => {}
            Location::Flash(page) => {
                self.dev.flash.invalidate(page, self.dev.geometry.block_of(page), lpn);
                self.dev.stirs_buffer(&self.rules, self.dev.geometry.plane_of(page));
            }
            Location::Staged(op) => {
                // The page that it would be merged with is no longer needed.
                let old = std::mem::replace(&mut self.kernel.ops[Page(op)].old, Ppn::NONE);
                if old.is_some() {
                    self.dev.flash.invalidate(old, self.dev.geometry.block_of(old), lpn);
                    self.dev.stirs_buffer(&self.rules, self.dev.geometry.plane_of(old));
                }
            }
        }
    }

    /// Discards the whole pages inside a range.
    #[inline(never)]
    pub(in crate::engine) fn trim_range(&mut self, extent: Extent, measured: bool) {
        let size = self.dev.entry_bytes();
        let whole = (extent.offset.div_ceil(size) as u32)..(((extent.offset + extent.bytes) / size) as u32);
        whole.for_each(|lpn| self.trim(Lpn(lpn), measured));
    }

    /// A TRIM completes at admission.
    #[inline(never)]
    pub(super) fn admit_trim(&mut self, next: Waiting, index: u64, measured: bool) {
        let request = next.request;
        self.each_extent(&next, |ssd, extent, _| ssd.trim_range(extent, measured));
        self.kernel.idle_rounds = 0;
        self.stats.completed += 1;
        self.stats.requests.trim += u64::from(measured);
        self.stats.requests.warmup += u64::from(!measured);
        let (arbitration, extras) = self.features.waits_of_trim();
        self.features.count_trim(next.marks.tenant, measured);
        self.host.loop_continues(self.now);
        let end = PageEnd::now(self.now, (self.now - request.arrival).0 - arbitration);
        let tenant = next.marks.tenant;
        self.watch_completion(|ssd| {
            completed(&request, index, measured, 0, end.shown(), (&extras, tenant, None), ssd.now)
        });
    }

    #[inline(never)]
    pub(super) fn trim(&mut self, lpn: Lpn, measured: bool) {
        if self.features.raid.is_some() {
            // Parity covers the content of a stripe: a discarded page stays until it is overwritten.
            return;
        }
        self.becomes_stale(lpn);
        if self.rules.streams {
            streams::trimmed(&mut self.features, lpn);
        }
        if self.dev.map.get(lpn) != Location::Nowhere {
            self.stats.pages.trimmed += u64::from(measured);
            self.drop_buffered(lpn);
            self.features.drop_copy(&mut self.dev, lpn);
            self.trim_cached(lpn);
            self.forget(lpn);
            self.features.unbind(&mut self.dev, &self.rules, lpn);
            let tag = self.oracle.admit(lpn);
            self.oracle.admit_sectors(tag, None);
            self.trim_run(lpn);
            self.oracle.acknowledge_trim(tag);
            self.dev.map.set(lpn, Location::Nowhere);
            if self.rules.buffers {
                self.serve_waiting();
            }
        }
    }

    /// Puts an unwritten page on flash in no time. None if its plane has no page for host data.
    #[inline(never)]
    pub(super) fn preload(&mut self, lpn: Lpn) -> Option<Ppn> {
        if self.rules.units {
            return self.preload_run(lpn);
        }
        let tag = crate::units::Tag { lpn, version: self.oracle.latest(lpn) };
        let stream = streams::brings(&mut self.features, lpn);
        let plane = self.timeless_plane(lpn, stream)?;
        self.plane_changes(plane);
        if self.features.is_dead(lpn) {
            return None;
        }
        self.dev.set_ages(true);
        let page = self.put(lpn, plane, stream, tag);
        self.dev.set_ages(false);
        if self.rules.fails {
            life::salvage::has_brought(self, plane);
        }
        let Some(page) = page else {
            self.features.unbind(&mut self.dev, &self.rules, lpn);
            return None;
        };
        self.preload_parity(lpn);
        Some(page)
    }
}
