//! Long searches, and the packages.

use std::path::Path;
use std::process::Command;

use crate::Result;
use crate::commands::{cargo, see};

/// Cases of `worlds` by default: minutes on two cores.
const CASES: u64 = 20_000;

/// `cargo xtask worlds [--cases N]`
pub fn worlds(options: &[String]) -> Result<()> {
    let cases = match options {
        [] => CASES,
        [name, value] if name == "--cases" => {
            value.parse().map_err(|_| format!("--cases {value}: expected how many, such as {CASES}"))?
        }
        [name, ..] => return Err(format!("worlds: unknown option `{name}`; it takes --cases N")),
    };
    for package in ["ssdlab-sim", "ssdlab"] {
        let arguments = ["test", "--locked", "-p", package, "--test", "suite", "worlds::"];
        see(cargo().env("SSDLAB_CASES", cases.to_string()).args(arguments))?;
    }
    Ok(())
}

/// `cargo xtask mutants [options]`: `.cargo/mutants.toml` says where faults are planted.
pub fn mutants(options: &[String]) -> Result<()> {
    let there = cargo().args(["mutants", "--version"]).output().is_ok_and(|output| output.status.success());
    if !there {
        return Err("cargo-mutants is not installed: `cargo install cargo-mutants --locked`".into());
    }
    see(cargo().arg("mutants").args(options))
}

/// `cargo xtask package [options]`
pub fn package(root: &Path, options: &[String]) -> Result<()> {
    see(Command::new("bash").arg("packaging/check").args(options).current_dir(root))
}
