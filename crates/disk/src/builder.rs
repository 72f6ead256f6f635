//! Settings of a disk.

use ssdlab_sim::config::{Faults, Names, UnwrittenRead};
use ssdlab_sim::units::Nanos;
use ssdlab_sim::{Check, Config, ConfigError, Ssd};

use crate::Disk;
use crate::faults::Errors;

/// What draws everything random of a disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Seed(pub u64);

/// Settings of a disk: see [`Disk::builder`].
///
/// ```
/// use ssdlab_disk::{Check, Disk, Seed};
///
/// let disk = Disk::builder().config("geometry.blocks_per_plane = 16\ndevice.over_provisioning = 0.2".parse()?).seed(Seed(3)).check(Check::Off).build()?;
/// assert_eq!(disk.now().0, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Builder {
    config: Config,
    seed: Seed,
    check: Check,
    keeps_data: bool,
}

impl Default for Builder {
    fn default() -> Self {
        Builder { config: Config::default(), seed: Seed(1), check: Check::Full, keeps_data: true }
    }
}

impl Builder {
    /// The drive. The default is that of the simulator.
    #[must_use]
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// What draws everything random. The default is 1.
    #[must_use]
    pub fn seed(mut self, seed: Seed) -> Self {
        self.seed = seed;
        self
    }

    /// Extent of the simulator's checks. With less than [`Check::Full`], the default, a disk keeps the newest data only and cannot
    /// lose its power ([`Disk::power_cut`], [`Disk::read_at_rest`]).
    #[must_use]
    pub fn check(mut self, check: Check) -> Self {
        self.check = check;
        self
    }

    /// The disk keeps no data, only times: for a program that keeps the data itself. Reads return none. It cannot lose its power, so
    /// its checks are less than [`Check::Full`].
    #[must_use]
    pub fn without_data(mut self) -> Self {
        self.keeps_data = false;
        self
    }

    /// Faults, instead of those of the configuration.
    #[must_use]
    pub fn faults(mut self, faults: Faults) -> Self {
        self.config.faults = faults;
        self
    }

    /// Builds the disk. A preconditioned drive is full of zeros.
    ///
    /// # Errors
    /// If the configuration cannot work ([`Config::check`]), has power cuts at fixed times (call [`Disk::power_cut`] instead), refuses
    /// reads of unwritten pages, or, although the checks are [`Check::Full`], cannot recover from power cuts or keeps no data.
    pub fn build(mut self) -> Result<Disk, ConfigError> {
        self.config.check()?;
        self.config.check_mode(false)?;
        let read_errors = Errors::new(&std::mem::take(&mut self.config.faults.read_errors), "read_errors");
        let write_errors = Errors::new(&std::mem::take(&mut self.config.faults.write_errors), "write_errors");
        let refuse = |key: &str, message: &str, help: &str| {
            Err(ConfigError { key: key.to_string(), message: message.to_string(), help: help.to_string() })
        };
        if !self.config.faults.power_cut.is_empty() {
            let help = "leave it out, and call Disk::power_cut at these times";
            return refuse("faults.power_cut", "a disk loses its power when its program says so", help);
        }
        if self.config.device.unwritten_read == UnwrittenRead::Error {
            let help = "use \"preload\" or \"zero_cost\"";
            return refuse("device.unwritten_read", "reads of a disk may meet pages that were never written", help);
        }
        let (fdp, bytes) = (&self.config.fdp, self.config.capacity_bytes());
        if fdp.exists() && fdp.taken_by(Names::default(), 0, bytes).is_none() {
            let help = "use ranges of the whole disk, or \"temperature\", or fdp.unknown for the handle of all others";
            return refuse("fdp.assign", "requests of a disk have no stream and no tenant", help);
        }
        if !self.keeps_data && self.check == Check::Full {
            let help = "build it with Check::Sampled or Check::Off";
            return refuse("check", "a disk without data cannot lose its power, which Check::Full is for", help);
        }
        if self.check == Check::Full {
            let mut cut = self.config.clone();
            cut.faults.power_cut = vec![Nanos::NEVER];
            cut.check().map_err(|error| ConfigError {
                help: format!(
                    "{}, or build the disk with less than Check::Full: it cannot lose its power then",
                    error.help
                ),
                ..error
            })?;
        }
        let ssd = Ssd::new(&self.config, self.seed.0, self.check)?;
        Ok(Disk::assemble(ssd, self.keeps_data, read_errors, write_errors))
    }
}
