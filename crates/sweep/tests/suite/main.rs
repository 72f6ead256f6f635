//! Studies, stores, fillings and what kills leave of them.

#[path = "../../../lab/tests/suite/common.rs"]
mod common;
mod fillings;
mod scale;
mod stores;
mod sweeps;
