//! Pages of a plane: exported, reserved for GC, and in flight.

use super::error::refuse;
use super::{Config, ConfigError, PartialWrite};
use crate::units::Ppm;

impl Config {
    /// Logical pages per plane, including parity: `floor((1 - over_provisioning) * pages per plane)`.
    pub fn exported_per_plane(&self) -> u64 {
        let pages = u64::from(self.geometry.blocks_per_plane) * u64::from(self.geometry.pages_per_block);
        (u128::from(pages) * u128::from(Ppm::ONE - u64::from(self.device.over_provisioning.0)) / u128::from(Ppm::ONE))
            as u64
    }

    /// Pages per plane that are needed even if all others are valid: by a partial write that is overwritten during its read phase,
    /// or by a program whose old page is kept until it lands.
    fn kept_per_plane(&self) -> u64 {
        let volatile = self.cache.exists() && !self.device.power_loss_protection;
        let merges = self.device.partial_write == PartialWrite::ReadModifyWrite;
        // A program in flight takes whole super pages, where it has several.
        u64::from(self.device.keep_overwritten || volatile || merges) * u64::from(self.geometry.pages_per_program)
    }

    /// Logical pages that a plane can hold and still be collected.
    pub(crate) fn most_per_plane(&self) -> u64 {
        let taken = u64::from(self.reserve()) + u64::from(self.filled_beside()) + u64::from(self.blocks_apart());
        let blocks = u64::from(self.geometry.blocks_per_plane).saturating_sub(taken);
        let pages = blocks * (u64::from(self.geometry.pages_per_block) - u64::from(self.metadata_pages()));
        pages.saturating_sub(self.kept_per_plane())
    }

    /// Whether GC has the room that it needs while all exported pages are valid.
    pub(super) fn check_space(&self) -> Result<(), ConfigError> {
        let g = &self.geometry;
        let (blocks, per_block) = (u64::from(g.blocks_per_plane), u64::from(g.pages_per_block));
        let pages = blocks * per_block;
        let exported = self.exported_per_plane();
        let reserve = u64::from(self.reserve());
        if exported == 0 {
            let message = format!(
                "floor((1 - {}) x {pages}) = 0 pages per plane would be exported",
                self.device.over_provisioning.as_f64()
            );
            return refuse("device.over_provisioning", message, "use a smaller share");
        }
        let streams = u64::from(self.gc_streams());
        if reserve < streams {
            let message = format!(
                "{reserve} erased blocks, but GC fills {streams} write points per plane, and each may need one"
            );
            return refuse("gc.reserve", message, format!("use {streams} or more, or leave it out"));
        }
        let (beside, handles) = (u64::from(self.filled_beside()), u64::from(self.fdp.handles - 1));
        let open = beside - handles;
        let apart = [
            (handles, "of further handles", "fdp.handles", "use fewer handles, or more blocks"),
            (u64::from(self.slc_blocks()), "of the cache of SLC", "slc.blocks", "use a smaller cache, or more blocks"),
            (u64::from(self.spare_blocks()), "spare", "life.spare_blocks", "use fewer spare blocks, or more blocks"),
        ];
        let named = || apart.iter().filter(|(count, ..)| *count > 0);
        let others: String = named().map(|(count, what, ..)| format!(" and {count} {what}")).collect();
        if reserve + beside + u64::from(self.blocks_apart()) >= blocks {
            let message =
                format!("{reserve} reserved and {open} open GC blocks{others} use up all {blocks} blocks of a plane");
            return match named().next() {
                Some((_, _, key, help)) => refuse(key, message, *help),
                None => {
                    let help = format!("use at most {}, or leave it out", blocks.saturating_sub(beside + 1));
                    refuse("gc.reserve", message, help)
                }
            };
        }
        let metadata = u64::from(self.metadata_pages());
        let data = per_block - metadata;
        let (kept, most) = (self.kept_per_plane(), self.most_per_plane());
        if exported > most {
            let less: String = match named().map(|(count, ..)| count).sum::<u64>() {
                0 => String::new(),
                count => format!(" - {count}"),
            };
            let message = format!(
                "{exported} of {pages} pages per plane are exported, but {reserve} reserved and {open} open GC blocks{others} leave ({blocks} - {reserve} - {open}{less}) x {data}{} = {most}{}",
                if kept > 0 { format!(" - {kept} for a write in flight") } else { String::new() },
                if metadata > 0 { format!(" without {metadata} metadata pages per block") } else { String::new() }
            );
            let enough = (pages - most) as f64 / pages as f64;
            return refuse(
                "device.over_provisioning",
                message,
                format!("use at least {:.6}", (enough * 1e6).ceil() / 1e6),
            );
        }
        Ok(())
    }
}
