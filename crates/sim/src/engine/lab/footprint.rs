//! Memory of a simulation, beside map, reverse map and blocks.

use crate::config::{Config, Errors, Exclusion, RaidLayout, SlcAccepts};
use crate::engine::sizes;
use crate::schemes::Place;
use crate::units::{Nanos, Ppm};

impl Config {
    /// Bytes of the places of `device.queue_depth` requests and their operations, which are allocated at the start.
    pub fn queue_bytes(&self) -> u64 {
        let groups = if self.raid.layout == RaidLayout::None { 0 } else { sizes::UPDATE };
        u64::from(self.device.queue_depth) * (sizes::REQUEST + sizes::OPS_OF_REQUEST * sizes::OP + groups)
    }

    /// Bytes of the data by plane, unit of exclusion, chip and channel, including the places of collections.
    pub fn array_bytes(&self) -> u64 {
        let g = &self.geometry;
        let channels = u64::from(g.channels);
        let chips = channels * u64::from(g.chips_per_channel);
        let dies = chips * u64::from(g.dies_per_chip);
        let planes = dies * u64::from(g.planes_per_die);
        let units = match self.device.exclusion {
            Exclusion::Die => dies,
            Exclusion::Chip => chips,
            Exclusion::Channel => channels,
        };
        let bitmap = 8 * u64::from(g.blocks_per_plane).div_ceil(64);
        planes * (sizes::PLANE + sizes::OP + bitmap) + units * sizes::UNIT + 16 * chips + channels * sizes::CHANNEL
    }

    /// Bytes of the tables that schemes add to map, reverse map and blocks: copyback counts (one per page), pages in the
    /// controller's buffer, bit errors (16 per page), second copies (8 per exported page, 40 per copy), lines of the write cache (and 8 per
    /// exported page), tenants (1 per exported page), planes of pages placed round robin
    /// (4 per exported page), factors of blocks (4 per block), a cache of SLC (5 per block, and for each exported page 8 to know hot ones, 4
    /// to count reads), parity groups (4 per
    /// group), and the state of chunks under faults (9 per page of the map). Pages are super pages if the map has those. Memory
    /// for second copies grows with waiting reads.
    pub fn scheme_bytes(&self) -> u64 {
        let (units, schemes) = (self.units(), &self.schemes);
        let pages = self.geometry.pages() / u64::from(self.pages_per_entry());
        let blocks = pages / u64::from(self.geometry.pages_per_block);
        let flash_pages = pages;
        let pages = pages * u64::from(units.per_page);
        let share = |ppm: u64| pages * ppm / Ppm::ONE;
        let per_plane = u64::from(self.geometry.blocks_per_plane) * u64::from(self.geometry.pages_per_block);
        let exported = self.exported_per_plane() * (flash_pages / per_plane) * u64::from(units.per_page);
        let when = |is: bool, bytes: u64| if is { bytes } else { 0 };
        let (groups, model) = (self.raid.layout != RaidLayout::None, self.ecc.errors == Errors::Model);
        let copies = schemes
            .route
            .replicate()
            .map_or(0, |route| 8 * exported + 6 * blocks + 40 * share(u64::from(route.share().0)));
        let sectors = u64::from(units.bytes).div_ceil(512);
        let lines = u64::from(self.cache_lines()) * (sizes::LINE + sectors.div_ceil(64) * 8);
        let staged = schemes.collector.policy_ref().writes_back().is_some();
        when(schemes.path.policy_ref().keeps_counts(), pages)
            + when(staged, u64::from(self.staging.slots) * sizes::SEGMENT)
            + when(model, 16 * pages + 4 * blocks)
            + when(model && self.ecc.initial_age > Nanos::ZERO, pages)
            + copies
            + when(self.cache.exists(), lines + 8 * exported)
            + when(self.timing.variation.block.0 > 0, 4 * blocks)
            + when(self.nvme.arbitrates(), exported)
            + when(self.slc.exists(), 5 * blocks)
            + when(self.slc.exists() && self.slc.accepts == SlcAccepts::Hot, 8 * exported)
            + when(self.slc.exists() && self.slc.reads > 0, 4 * exported)
            + when(schemes.place == Place::RoundRobin, 4 * exported)
            + if groups { 4 * exported / u64::from(self.raid.group) } else { 0 }
            + when(groups && (model || !self.faults.chip_fails.is_empty()), 9 * exported)
    }
}
