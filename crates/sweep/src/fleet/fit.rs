//! The size of a device for a volume: the least that exports what the volume touches, and some more.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use ssdlab_sim::config::Config;

use crate::fleet::scan::{Look, PAGE_BYTES, Scanned, Scans};
use ssdlab_lab::error::Result;
use ssdlab_lab::text::size;

/// What a volume needs.
#[derive(Clone, Debug)]
pub enum Need {
    /// So many bytes.
    Bytes(u64),
    /// What its requests touch: a trace and the place of the volume in it.
    Touched(PathBuf, usize),
}

/// How devices are sized.
#[derive(Clone, Debug)]
pub struct Fit {
    /// Exported pages for a million needed ones.
    pub headroom_ppm: u64,
    /// Whether only touched pages need room: they get new, consecutive numbers.
    pub dense: bool,
    /// How traces are looked at.
    pub look: Look,
    /// What is known of them.
    pub scans: Arc<Scans>,
    /// By name of the volume.
    pub needs: HashMap<String, Need>,
}

/// Millionths of one.
pub const MILLION: u64 = 1_000_000;
const MOST_BLOCKS: u32 = 1 << 24;

/// Bytes that a volume touches, as pages of a size.
pub fn touched_bytes(volume: &Scanned, dense: bool, page_bytes: u64) -> u64 {
    let pages = if dense { volume.pages } else { volume.end_bytes.div_ceil(page_bytes) };
    pages.saturating_mul(page_bytes)
}

/// A number of bytes in whole pages, with the headroom.
pub fn with_headroom(bytes: u64, headroom_ppm: u64, page_bytes: u64) -> u64 {
    let pages = u128::from(bytes.div_ceil(page_bytes)) * u128::from(headroom_ppm);
    u64::try_from(pages.div_ceil(u128::from(MILLION))).unwrap_or(u64::MAX).saturating_mul(page_bytes)
}

impl Fit {
    /// Gives the device the fewest blocks a plane with which no rule refuses it and a volume fits. Where there are none, the
    /// configuration stays as it is, and the answer is why; nothing if a rule refuses the device whatever its size.
    ///
    /// # Errors
    /// The trace can't be read.
    pub fn size(&self, volume: &str, config: &mut Config) -> Result<Option<String>> {
        let page_bytes = u64::from(config.units().bytes).max(1);
        let bytes = match self.needs.get(volume) {
            None => return Ok(None),
            Some(Need::Bytes(bytes)) => *bytes,
            Some(Need::Touched(path, place)) => {
                // The end of a volume does not depend on the page.
                let page_bytes = if self.dense { page_bytes } else { PAGE_BYTES };
                let volumes = self.scans.volumes(path, &self.look, page_bytes)?;
                volumes.get(*place).map_or(0, |volume| touched_bytes(volume, self.dense, page_bytes))
            }
        };
        let wanted = with_headroom(bytes, self.headroom_ppm, page_bytes).max(1);
        match least(config, wanted) {
            Ok(blocks) => {
                config.geometry.blocks_per_plane = blocks;
                Ok(None)
            }
            Err(most) => Ok(Some(format!(
                "device.size: a volume of {} with its headroom needs {}, and no number of blocks a plane exports more than {}",
                size(bytes),
                size(wanted),
                size(most)
            ))),
        }
    }
}

/// The fewest blocks a plane with which a device works and exports so many bytes; if there are none, the most bytes that were found.
fn least(config: &Config, bytes: u64) -> std::result::Result<u32, u64> {
    let with = |blocks: u32| {
        let mut config = config.clone();
        config.geometry.blocks_per_plane = blocks;
        config
    };
    let exported = |blocks: u32| {
        let config = with(blocks);
        config.check().is_ok().then(|| config.capacity_bytes())
    };
    let fits = |blocks: u32| exported(blocks).is_some_and(|own| own >= bytes);
    let (mut enough, mut most) = (1, 0);
    while !fits(enough) {
        most = most.max(exported(enough).unwrap_or(0));
        enough *= 2;
        if enough > MOST_BLOCKS {
            return Err(most);
        }
    }
    let mut few = enough / 2;
    while enough - few > 1 {
        let middle = few + (enough - few) / 2;
        if fits(middle) { enough = middle } else { few = middle }
    }
    Ok(enough)
}
