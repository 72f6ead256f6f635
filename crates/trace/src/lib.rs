//! Block-I/O trace readers and workload generators: the only place that parses foreign text.
//!
//! Every reader and generator yields [`Record`]s: times in integer nanoseconds, addresses in bytes.

pub mod record;
pub mod workload;

pub use record::{Op, Record};
