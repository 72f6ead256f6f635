//! The contract with front ends: typed errors, files that appear whole or not at all, runs that can be stopped, comparisons.
//! The tests of the command line compare the results themselves, byte by byte.

mod common;
mod comparisons;
mod counted;
mod decisions;
mod handles;
mod layers;
mod live;
mod memory;
mod outside;
mod refusals;
mod runs;
mod tenants;

use common::{names, run, tiny, writes};
