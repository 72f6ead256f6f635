//! The `ssdlab` command.
fn main() {}
