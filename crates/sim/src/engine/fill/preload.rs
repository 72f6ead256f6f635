//! Pages that are read before they were written (`device.unwritten_read = "preload"`): they are put on flash in no time.

use crate::device::flash::Stream;
use crate::engine::Ssd;
use crate::engine::features::units::timeless as units;
use crate::engine::features::{life, streams};
use crate::units::{Lpn, Ppn};

impl Ssd {
    /// Puts an unwritten page on flash in no time. None if its plane has no page for host data.
    #[inline(never)]
    pub(in crate::engine) fn preload(&mut self, lpn: Lpn) -> Option<Ppn> {
        if let Some(slot) = units::preloads(self, lpn) {
            return slot;
        }
        let tag = crate::units::Tag { lpn, version: self.oracle.latest(lpn) };
        let stream = streams::brings(&mut self.features, lpn);
        let plane =
            self.host.timeless_plane(&mut self.kernel, &mut self.dev, &mut self.features, &self.rules, lpn, stream)?;
        self.unit_changes(self.dev.geometry.unit_of(plane));
        if self.features.is_dead(lpn) {
            return None;
        }
        self.dev.set_ages(true);
        let page = self.dev.put(&mut self.oracle, self.now, lpn, plane, stream, tag);
        if let Some(page) = page {
            let (features, stats, oracle) = (&mut self.features, &mut self.stats, &mut self.oracle);
            self.dev.has_put(features, stats, oracle, &self.rules, page);
        }
        self.dev.set_ages(false);
        life::salvage::has_brought(self, plane);
        let Some(page) = page else {
            self.features.unbind(&mut self.dev, &self.rules, lpn);
            return None;
        };
        if let Some(tag) = self.features.parity_to_preload(&self.oracle, self.now, lpn) {
            let plane = self.dev.geometry.static_plane(tag.lpn);
            self.unit_changes(self.dev.geometry.unit_of(plane));
            if let Some(page) = self.dev.put(&mut self.oracle, self.now, tag.lpn, plane, Stream::Host, tag) {
                let (features, stats, oracle) = (&mut self.features, &mut self.stats, &mut self.oracle);
                self.dev.has_put(features, stats, oracle, &self.rules, page);
                let index = self.features.layout().group_index(tag.lpn);
                self.features.raid().set_clean(index);
            }
        }
        Some(page)
    }
}
