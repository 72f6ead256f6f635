//! Tests of the disk.

mod api;
mod differential;
mod model;
mod world;
