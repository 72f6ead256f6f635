//! Tests of the disk.

mod api;
mod differential;
mod examples;
mod instructions;
mod model;
mod package;
mod world;
