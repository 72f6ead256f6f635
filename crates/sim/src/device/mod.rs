//! Mechanism: what the device can do, how long it takes, and who waits for whom. No policy lives here.

pub mod errors;
pub mod events;
pub mod flash;
pub mod geometry;
pub mod mapping;
pub mod noc;
pub mod pages;
pub mod place;
pub mod raid;
pub mod spec;
pub mod staging;
pub mod timing;
pub mod transaction;
pub mod wear;
