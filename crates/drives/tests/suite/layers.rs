//! Each file of the crate imports only files that stand before it in this list, so there are no cycles.

use std::path::{Path, PathBuf};

/// From the bottom up; a folder's `mod.rs` stands above its files, but for `input`, whose readers fill its types.
const LAYERS: [&str; 24] = [
    "pattern",
    "probe",
    "jobs",
    "cost",
    "candidates",
    "input",
    "input/rows",
    "input/loads",
    "input/tables",
    "input/counters",
    "input/fio",
    "closed",
    "model",
    "device",
    "fit",
    "cells",
    "verdict",
    "latency",
    "identify",
    "file",
    "check",
    "results",
    "table",
    "book",
];

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect();
    files.sort();
    files
}

#[test]
fn imports_point_down() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for path in sources(&root) {
        let name = path.strip_prefix(&root).unwrap().with_extension("").to_string_lossy().replace("/mod", "");
        if name == "lib" {
            continue;
        }
        let own = LAYERS.iter().position(|layer| *layer == name).unwrap_or_else(|| panic!("{name} has no layer"));
        let text = std::fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
        for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
            for (at, _) in line.match_indices("crate::") {
                let rest = &line[at + 7..];
                let module = &rest[..rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len())];
                let other = LAYERS.iter().position(|layer| *layer == module);
                assert!(other.is_some_and(|other| other <= own), "{name} imports {module}, which stands above it");
            }
        }
    }
}
