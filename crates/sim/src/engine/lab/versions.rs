//! Which versions of host pages exist, for a store of data: see [`crate::versions`].

use crate::engine::Ssd;
use crate::oracle::Check;
use crate::units::{BlockId, Lpn, OpId};
use crate::versions::{Admitted, CutVersions, Held};

impl Ssd {
    /// Notes from now on what [`Ssd::take_admitted`] and [`Ssd::take_cut_versions`] return.
    ///
    /// # Panics
    /// If the device does not know the content of every page: build it with [`Check::Full`].
    pub fn note_versions(&mut self) {
        law_eq!(self.oracle.check(), Check::Full, "versions are known of every page or of none");
        self.oracle.note_versions();
    }

    /// Replaces the content of `admitted` by the page writes and trims that were admitted since the last call, in their order.
    #[inline]
    pub fn take_admitted(&mut self, admitted: &mut Vec<Admitted>) {
        admitted.clear();
        self.oracle.swap_admitted(admitted);
        if !admitted.is_empty() && self.features.raid.is_some() {
            admitted.iter_mut().for_each(|one| one.page = self.features.host_page(&self.dev, one.page));
            // Parity has versions, too.
            admitted.retain(|one| one.page.0 < self.dev.geometry.exported);
        }
    }

    /// Takes what the last power cut did to host pages.
    pub fn take_cut_versions(&mut self) -> CutVersions {
        let mut cut = self.oracle.take_cut();
        let exported = self.dev.geometry.exported;
        cut.torn.iter_mut().for_each(|(page, _)| *page = self.features.host_page(&self.dev, *page));
        cut.torn.retain(|(page, _)| page.0 < exported);
        cut.recovered.iter_mut().for_each(|one| one.page = self.features.host_page(&self.dev, one.page));
        cut.recovered.retain(|one| one.page.0 < exported);
        cut
    }

    /// Visits each version of a host page whose data some sector on flash or in the controller's memory has: any of them can be
    /// returned by a later read, or after a power cut. A few that no state returns any more are visited, too, and some several
    /// times.
    pub fn each_version(&self, mut visit: impl FnMut(Held, Lpn, u32)) {
        let exported = self.dev.geometry.exported;
        let mut of_page = |held: Held, lpn: Lpn, version: u32| {
            let page = self.features.host_page(&self.dev, lpn);
            if page.0 < exported {
                visit(held, page, version);
            }
        };
        let geometry = &self.dev.geometry;
        for block in (0..geometry.planes * geometry.blocks_per_plane).map(BlockId) {
            for offset in 0..self.dev.flash.written(block) {
                let tag = self.oracle.load(geometry.page(block, offset), Lpn::NONE);
                if tag.lpn.is_some() {
                    self.oracle.each_held(tag, |version| of_page(Held::Flash, tag.lpn, version));
                }
            }
        }
        for tag in self.features.missing_tags().filter(|tag| tag.lpn.is_some()) {
            self.oracle.each_held(tag, |version| of_page(Held::Memory, tag.lpn, version));
        }
        for (_, tag, _) in self.features.units_in_hands(&self.dev) {
            self.oracle.each_held(tag, |version| of_page(Held::Memory, tag.lpn, version));
        }
        for (op, page) in self.kernel.ops.pages().enumerate() {
            for tag in page.tags.into_iter().filter(|tag| tag.lpn.is_some()) {
                self.oracle.each_held(tag, |version| of_page(Held::Memory, tag.lpn, version));
            }
            let lpn = page.tags[0].lpn;
            if lpn.is_some() && self.oracle.tracks_sectors() {
                let memories = self.kernel.memories(&self.rules, OpId(op as u32), page.run);
                self.oracle.each_in_memory(&memories, |version| of_page(Held::Memory, lpn, version));
            }
        }
    }

    /// Bytes of an entry of the page map: a flash page, or a super page. The pages of this module have that size.
    pub fn mapped_bytes(&self) -> u64 {
        self.dev.entry_bytes()
    }

    /// Whether a trim discards the whole pages in its range. With parity it discards nothing.
    pub fn trims(&self) -> bool {
        self.features.raid.is_none()
    }

    /// Forgets the requests that have been submitted and not admitted, as a host does that loses power with its device. Returns the
    /// index of the next request that is submitted.
    pub fn discard_waiting(&mut self) -> u64 {
        let next = self.features.nvme.as_mut().map(|nvme| nvme.discard_waiting());
        self.host.discard_waiting(next)
    }
}
