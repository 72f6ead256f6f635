//! Why requests are slow, and what had been without an event.

#[path = "../../../lab/tests/suite/common.rs"]
mod common;
mod explain;
mod whatif;
