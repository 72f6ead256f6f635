//! Whether the machine has memory for a device, checked before any is allocated.

use ssdlab_sim::{Check, Config, ConfigError};

use crate::error::{Error, Kind, Result};
use crate::perf;
use crate::text::size;
use crate::theory::Outlook;

/// Checks a device with its oracle against a limit, by default four fifths of the free memory.
///
/// # Errors
/// It needs more than that: `refuse` adds the place of the key to change.
pub fn fits(
    config: &Config,
    check: Check,
    limit: Option<u64>,
    refuse: impl FnOnce(&ConfigError) -> Error,
) -> Result<()> {
    let Some(limit) = limit.or_else(perf::memory_limit) else { return Ok(()) };
    let memory = Outlook::new(config, check == Check::Full).memory;
    if memory.total() <= limit {
        return Ok(());
    }
    let message = format!(
        "the device needs about {} of memory, more than the limit of {}: reverse map {}, map {}, oracle {}, blocks {}, schemes {}, requests {}",
        size(memory.total()),
        size(limit),
        size(memory.reverse),
        size(memory.map),
        size(memory.oracle),
        size(memory.blocks),
        size(memory.schemes),
        size(memory.requests)
    );
    let (key, what) = if memory.requests > memory.total() / 2 {
        ("device.queue_depth", "fewer outstanding requests (device.queue_depth)")
    } else {
        ("geometry.blocks_per_plane", "larger pages or fewer blocks (geometry.blocks_per_plane)")
    };
    let refusal = ConfigError { key: key.into(), message, help: format!("use {what}, or raise --memory-limit") };
    Err(Error { kind: Kind::Memory { needed: memory.total(), limit }, ..refuse(&refusal) })
}
