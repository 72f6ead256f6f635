//! Tests of the crate.

mod book;
mod inputs;
mod layers;
mod names;
mod recovery;
