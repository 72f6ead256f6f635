//! The tests of bundles.

mod changed;
mod common;
mod hostile;
mod kept;
