//! Whether the machine has memory for a device, checked before any is allocated.

use ssdlab_sim::{Check, Config, ConfigError};

use crate::error::{Error, Kind};
use crate::text::size;
use crate::theory::Outlook;

/// A device that needs more memory than it may take.
#[derive(Clone, Debug)]
pub struct TooLarge {
    /// Bytes that it needs.
    pub needed: u64,
    /// Bytes that it may take.
    pub limit: u64,
    /// The key to change, and how.
    pub refusal: ConfigError,
}

impl TooLarge {
    /// As an error; `refuse` adds the place of the key.
    pub fn error(&self, refuse: impl FnOnce(&ConfigError) -> Error) -> Error {
        Error { kind: Kind::Memory { needed: self.needed, limit: self.limit }, ..refuse(&self.refusal) }
    }
}

/// Checks a device with its oracle against a limit.
///
/// # Errors
/// It needs more than `limit` bytes; without a limit, never.
pub fn fits(config: &Config, check: Check, limit: Option<u64>) -> Result<(), Box<TooLarge>> {
    let Some(limit) = limit else { return Ok(()) };
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
    Err(Box::new(TooLarge { needed: memory.total(), limit, refusal }))
}
