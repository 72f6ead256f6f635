//! The tests of traces through the public interface, one module per subject, in one program. `cargo test -p ssdlab-trace --test suite
//! hostile::` runs one module.

mod catalogue;
mod counts;
mod headers;
mod hostile;
mod layers;
#[cfg(feature = "parquet")]
mod parquet;
mod recipes;
mod recordings;
mod reference;
mod round_trip;
mod samples;
mod workload_models;
mod workload_objects;
mod workload_spec;
