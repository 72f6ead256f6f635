//! Tests of the crate.

mod book;
mod inputs;
mod latency;
mod layers;
mod names;
mod recovery;
