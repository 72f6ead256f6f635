//! Everything that is tested about the command line, a module a subject, in one program. `cargo test -p ssdlab --test suite run::` runs
//! one module.

mod catalogue;
mod common;
mod compare;
#[cfg(unix)]
mod foreign;
mod fuzz;
mod goldens;
mod readme;
mod reproduce;
mod run;
mod surfaces;
mod transcripts;
