//! Rules of errors of single requests.

use super::{Config, ConfigError};

impl Config {
    /// Rejects errors of single requests that are incomplete.
    ///
    /// # Errors
    /// The first such entry.
    pub fn check_io_errors(&self) -> Result<(), ConfigError> {
        for (key, list) in [("read_errors", &self.faults.read_errors), ("write_errors", &self.faults.write_errors)] {
            if let Some(entry) = list.iter().position(|entry| entry.place().is_none()) {
                return Err(ConfigError {
                    key: format!("faults.{key}"),
                    message: format!("entry {} names neither a place nor a share of requests", entry + 1),
                    help: "say { at = \"2s\", offset = \"0B\", bytes = \"4KiB\" }, or { rate = 0.001, seed = 7 }"
                        .to_string(),
                });
            }
        }
        Ok(())
    }

    /// Rejects errors of single requests where no data is kept that they could concern.
    pub(super) fn check_no_io_errors(&self) -> Result<(), ConfigError> {
        for (key, list) in [("read_errors", &self.faults.read_errors), ("write_errors", &self.faults.write_errors)] {
            if !list.is_empty() {
                return Err(ConfigError {
                    key: format!("faults.{key}"),
                    message: "a simulation without data has no request that could fail".to_string(),
                    help: "leave it out, or use a disk that keeps data (the crate ssdlab-disk)".to_string(),
                });
            }
        }
        Ok(())
    }
}
