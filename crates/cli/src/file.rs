//! Files that are read whole: configurations and workloads.

use std::io::Read;
use std::path::Path;

use crate::fault::{Fault, Result};

/// Longest file that is read whole. No text made by hand comes near it; a wrong file, such as a trace or a device without
/// an end, soon does.
const LONGEST: u64 = 16 << 20;

/// The text of a file; `what` is what the file should be: "configuration", "workload".
///
/// # Errors
/// The file can't be read (status 4), or is longer than 16 MiB or no UTF-8 text (status 2).
pub fn read_text(what: &str, path: &Path) -> Result<String> {
    let cannot = |error: std::io::Error| Fault::file(&format!("read the {what}"), path, &error);
    let help = format!("a {what} is a TOML file; traces are given with --trace");
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(cannot)?;
    file.take(LONGEST + 1).read_to_end(&mut bytes).map_err(cannot)?;
    if bytes.len() as u64 > LONGEST {
        let message = format!("{} is longer than {} MiB, the limit for a {what}", path.display(), LONGEST >> 20);
        return Err(Fault::usage(message).help(help));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = 1 + error.as_bytes()[..at].iter().filter(|b| **b == b'\n').count();
        Fault::usage(format!("{} is not UTF-8 text: invalid byte in line {line}", path.display())).help(help)
    })
}
