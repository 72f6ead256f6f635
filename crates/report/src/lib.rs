//! Reports and figures: from the files of runs to one page, or to one figure.
//!
//! [`inputs`] reads results and joins those of one run, [`charts`] turns them into figures, [`page`] into a page that needs nothing
//! but itself.

#![deny(clippy::print_stdout, clippy::print_stderr, clippy::exit)]

pub mod analysis;
pub mod charts;
pub mod design;
pub mod die_work;
pub mod drive;
pub mod explain;
pub mod inputs;
pub mod page;
pub mod product;
pub mod rank;
mod style;
pub mod sweep;
mod terms;
pub mod whatif;
