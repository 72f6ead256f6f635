//! A simulated SSD that keeps data, in virtual time: for deterministic tests of storage engines.
//!
//! A test of a storage engine under a virtual clock needs a disk that is slow for a reason, and that loses power as a drive does: what
//! was flushed or protected is there, what was only in a cache is not, and a page whose program was interrupted is unreadable. The
//! simulator (`ssdlab-sim`) decides when a request completes and which version of a sector survives; this crate keeps the bytes.
//! There is no wall clock and no thread.
//!
//! ```
//! use ssdlab_disk::{Config, Disk, Reason, Seed};
//!
//! // A drive with a volatile write cache.
//! let config: Config = "cache = { size = \"1MiB\", writeback = \"watermark\" }\ndevice.power_loss_protection = false\ngc.reserve = 2".parse()?;
//! let mut disk = Disk::new(config, Seed(7))?;
//! let run = |disk: &mut Disk| {
//!     let mut all = Vec::new();
//!     while let Some(at) = disk.next_event() {
//!         disk.advance_to(at);
//!         all.extend(disk.completions());
//!     }
//!     all
//! };
//! disk.write(0, &[1; 4096])?;
//! disk.flush()?;
//! run(&mut disk);
//! let write = disk.write(0, &[2; 4096])?;
//! assert!(run(&mut disk).iter().any(|done| done.ticket == write)); // acknowledged, in the cache
//! let survivors = disk.power_cut();
//! let lost = &survivors.lost[0];
//! assert_eq!((lost.offset, lost.bytes, lost.ticket, lost.reason), (0, 4096, Some(write), Reason::Volatile));
//! disk.read(0, 4096)?;
//! assert_eq!(run(&mut disk)[0].data.as_deref(), Some(&[1; 4096][..])); // what was flushed
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Faults are part of the configuration (`faults.chip_fails`, `faults.read_errors`, `faults.write_errors`), so a failing world is a
//! configuration and a seed. A clone of a [`Disk`] is a snapshot: a search can fork worlds at any point.
//!
//! Requests of a disk share one queue. Versions of overwritten data are kept while some state of the drive can return them: with a
//! capacitor (`device.power_loss_protection`, the default) until a newer write is acknowledged, otherwise until their flash block is
//! erased.
//!
//! The drives that come with the simulator are presets: [`Config::preset_text`].

mod builder;
mod cut;
mod disk;
mod error;
mod faults;
mod flights;
mod request;
mod store;

pub use builder::{Builder, Seed};
pub use cut::{Lost, Reason, Survivors};
pub use disk::Disk;
pub use error::DiskError;
pub use request::{Causes, Completion, Ticket};
pub use ssdlab_sim::blame::{Cause, Extra};
pub use ssdlab_sim::units::Nanos;
pub use ssdlab_sim::{Check, Config, ConfigError, RequestOp};
