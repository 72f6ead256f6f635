//! Each file of the crate imports only files that stand before it in this list, so there are no cycles.

use std::path::{Path, PathBuf};

/// From the bottom up; a folder's `mod.rs` stands above its files.
const LAYERS: [&str; 52] = [
    "values",
    "record",
    "table",
    "shown",
    "notes",
    "error",
    "number",
    "iso",
    "map",
    "format",
    "options",
    "readers/rwbs",
    "readers/line",
    "readers/layers",
    "readers/alibaba",
    "readers/ascii",
    "readers/blkparse",
    "readers/biosnoop",
    "readers/blkreplay",
    "readers/columns",
    "readers/iotracer",
    "readers/etw",
    "readers/ftrace",
    "readers/iosnoop",
    "readers/lcs",
    "readers/diskmon",
    "readers/fio",
    "readers/msr",
    "readers/header",
    "readers/arrow",
    "readers/parquet",
    "readers/spc",
    "readers/systor",
    "readers/tencent",
    "readers/vscsi",
    "readers",
    "source",
    "lines",
    "detect",
    "reader",
    "convert",
    "info",
    "replay",
    "workload/units",
    "workload/draw",
    "workload/spec",
    "workload/named",
    "workload/objects",
    "workload/place",
    "workload/generator",
    "workload/build",
    "workload",
];

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// The paths that a source names as `crate::path` or `super::path`, but in its tests and comments.
fn named(text: &str) -> impl Iterator<Item = &str> {
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.flat_map(|line| {
        let starts = line.match_indices("crate::").chain(line.match_indices("super::"));
        starts.map(|(start, _)| {
            let rest = &line[start..];
            &rest[..rest.find(|c: char| !(c.is_alphanumeric() || "_:".contains(c))).unwrap_or(rest.len())]
        })
    })
}

/// The place of a path's file; `None` where the path does not start at the crate's root and name one.
fn rank(path: &str) -> Option<usize> {
    let path = path.strip_prefix("crate::")?.replace("::", "/");
    let within = |layer: &str| path.strip_prefix(layer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    (0..LAYERS.len()).filter(|&layer| within(LAYERS[layer])).max_by_key(|&layer| LAYERS[layer].len())
}

#[test]
fn no_import_runs_up() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut files, mut seen, mut up) = (0, 0, Vec::new());
    for file in sources(&root) {
        let path = file.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/");
        let module = path.trim_end_matches(".rs").trim_end_matches("/mod");
        if module == "lib" {
            continue;
        }
        files += 1;
        let own = LAYERS.iter().position(|layer| *layer == module);
        let own = own.unwrap_or_else(|| panic!("{module} has its place in no layer"));
        for other in named(&std::fs::read_to_string(&file).unwrap()) {
            seen += 1;
            if rank(other).is_none_or(|other| other > own) {
                up.push(format!("{path} uses {other}"));
            }
        }
    }
    assert_eq!(files, LAYERS.len(), "a layer without a file");
    assert!(seen > 80, "{seen} imports were looked at");
    assert!(up.is_empty(), "{up:#?}");
}
