//! What schemes add to the memory of a simulation.

use super::{Config, Errors, RaidLayout};

impl Config {
    /// Bytes of the tables that schemes add to map, reverse map and blocks: copyback counts (a byte a page), bit errors (16 a page),
    /// second copies (eight an exported page, 40 a copy), parity groups (four a group), and what faults leave of their pages
    /// (nine a page of the map). Pages are super pages where those are mapped. Second copies take it as reads wait: less at first.
    pub fn scheme_bytes(&self) -> u64 {
        let (pages, schemes) = (self.geometry.pages() / u64::from(self.pages_per_unit()), &self.schemes);
        let blocks = pages / u64::from(self.geometry.pages_per_block);
        let share = |ppm: u64| pages * ppm / 1_000_000;
        let exported = share(1_000_000 - u64::from(self.device.over_provisioning.0));
        let when = |is: bool, bytes: u64| if is { bytes } else { 0 };
        let (groups, model) = (self.raid.layout != RaidLayout::None, self.ecc.errors == Errors::Model);
        let copies = schemes
            .route
            .policy_ref()
            .copies()
            .map_or(0, |most| 8 * exported + 4 * blocks + 40 * share(u64::from(most.0)));
        when(schemes.path.policy_ref().keeps_counts(), pages)
            + when(model, 16 * pages + 4 * blocks)
            + copies
            + when(groups, 4 * exported / u64::from(self.raid.group))
            + when(groups && (model || !self.faults.chip_fails.is_empty()), 9 * exported)
    }
}
