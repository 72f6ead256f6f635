//! Tests of the disk.

mod api;
mod differential;
mod examples;
mod model;
mod world;
