//! The simulator core.

pub mod blame;
pub mod config;
pub mod device;
pub mod policy;
pub mod random;
pub mod report;
pub mod schemes;
pub mod units;
