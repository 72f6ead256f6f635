//! The tests of the command line, one module per subject, in one program. `cargo test -p ssdlab --test suite run::` runs
//! one module.

mod bundle;
mod catalogue;
mod common;
mod compare;
mod drives;
mod files;
#[cfg(unix)]
mod fleet;
#[cfg(unix)]
mod foreign;
mod fuzz;
mod goldens;
mod import;
mod life;
mod limits;
mod presets;
mod readme;
mod release;
mod reports;
mod reproduce;
mod run;
mod serve;
mod signals;
#[cfg(unix)]
mod slurm;
mod sums;
mod surfaces;
#[cfg(unix)]
mod sweep;
mod today;
mod transcripts;
mod worlds;
