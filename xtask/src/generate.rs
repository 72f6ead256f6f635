//! Every generated file, by the command that writes it.

use std::path::Path;
use std::process::Command;

use crate::commands::{cargo, see, told};
use crate::files::write;
use crate::{Result, notebook, site};

/// What `ssdlab config` prints, and the file that has it.
const PRINTED: [(&[&str], &str); 5] = [
    (&["config", "schema"], "schema/ssdlab.schema.json"),
    (&["config", "schema", "study"], "schema/study.schema.json"),
    (&["config", "schema", "fleet"], "schema/fleet.schema.json"),
    (&["config", "schema", "workload"], "schema/workload.schema.json"),
    (&["config", "reference"], "docs/configuration.md"),
];

/// Tests that write what they compare, with the variable that makes them do so.
const WRITTEN: [(&str, &str, &str, &str); 4] = [
    ("SSDLAB_COMBINATIONS", "write", "ssdlab-sim", "combinations::the_pair_table_is_current"),
    ("SSDLAB_OVERWRITE", "1", "ssdlab", "release::notices_of_third_parties_are_current"),
    ("TRYCMD", "overwrite", "ssdlab", "transcripts::"),
    ("TRYCMD", "overwrite", "ssdlab", "surfaces::"),
];

/// `cargo xtask generate-all`. Pages that take hours of simulation are not written: docs/reproduction.md and those of docs/examples
/// name their commands.
pub fn all(root: &Path) -> Result<()> {
    // Tests have other features than the program alone, so what they build is taken: nothing is compiled twice.
    see(cargo().args(["test", "--locked", "-p", "ssdlab", "--test", "suite", "--no-run"]))?;
    let program = root.join("target/debug/ssdlab");
    for (arguments, file) in PRINTED {
        let (out, _) = told(Command::new(&program).args(arguments).current_dir(root))?;
        write(&root.join(file), &out)?;
    }
    for (variable, value, package, tests) in WRITTEN {
        let arguments = ["test", "--locked", "-p", package, "--test", "suite", tests];
        see(cargo().env(variable, value).args(arguments))?;
    }
    pages(root)
}

/// `cargo xtask pages`
pub fn pages(root: &Path) -> Result<()> {
    notebook::write_all(root)?;
    site::write_next(root)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A list that names what is not there would write nothing.
    #[test]
    fn each_generator_is_there() {
        let root = crate::root();
        for (_, file) in PRINTED {
            assert!(root.join(file).exists(), "{file}");
        }
        for (variable, _, package, tests) in WRITTEN {
            let folder = root.join("crates").join(package.strip_prefix("ssdlab-").unwrap_or("cli"));
            let (module, part) = tests.split_once("::").unwrap();
            let text = std::fs::read_to_string(folder.join(format!("tests/suite/{module}.rs"))).unwrap();
            assert!(text.contains(variable) && text.contains(&format!("fn {part}")), "{tests}");
        }
    }
}
