//! What a configuration that cannot work is rejected with.

use crate::units::Nanos;

/// A configuration that cannot work: the key, the reason, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// Dotted key, such as `gc.threshold`.
    pub key: String,
    /// The rule that is broken, with its arithmetic.
    pub message: String,
    /// The remedy.
    pub help: String,
}

impl std::fmt::Display for ConfigError {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{}: {} ({})", self.key, self.message, self.help)
    }
}

impl std::error::Error for ConfigError {}

/// Longest time of an operation or a timeout: an hour. Sums of times stay far below the end of the clock.
pub(super) const LONGEST: Nanos = Nanos(3_600_000_000_000);

/// Reports a broken rule.
pub(super) fn refuse<T>(key: &str, message: String, help: impl Into<String>) -> Result<T, ConfigError> {
    Err(ConfigError { key: key.to_string(), message, help: help.into() })
}
