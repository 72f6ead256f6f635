//! The simulator core.

pub mod blame;
pub mod config;
pub mod device;
pub mod engine;
pub mod observe;
pub mod oracle;
pub mod policy;
pub mod random;
pub mod report;
#[cfg(feature = "schema")]
mod schema;
pub mod schemes;
mod stats;
pub mod units;

pub use config::{Config, ConfigError};
pub use engine::{Request, RequestOp, Ssd};
pub use observe::{Completed, LegRecord, Observer, Resource, Sample};
pub use oracle::Check;
