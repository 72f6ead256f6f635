//! Mechanism: operations of the device, their times, and their conflicts. It contains no policy.

pub mod command;
pub mod errors;
pub mod events;
pub mod flash;
pub mod geometry;
pub mod mapping;
pub mod noc;
pub mod page_types;
pub mod pages;
pub mod place;
pub mod planes;
pub mod raid;
pub mod spec;
pub mod staging;
pub mod timing;
pub mod transaction;
pub mod wear;
