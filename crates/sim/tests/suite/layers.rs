//! Imports never run up: each module of the crate uses only modules before it in this list, so there are no circles.

use std::path::{Path, PathBuf};

/// From the bottom up.
const LAYERS: [&str; 18] = [
    "units", "random", "carry", "blame", "request", "device", "policy", "schema", "schemes", "config", "sectors",
    "versions", "oracle", "report", "observe", "slowest", "stats", "engine",
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

/// The modules that a source names as `crate::module`, outside its tests and comments.
fn named(text: &str) -> impl Iterator<Item = &str> {
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.flat_map(|line| line.split("crate::").skip(1)).filter_map(|rest| {
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        // A macro of the crate's root is not a module.
        (!rest[end..].starts_with('!')).then_some(&rest[..end])
    })
}

#[test]
fn no_import_runs_up() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let rank = |module: &str| LAYERS.iter().position(|layer| *layer == module);
    let (mut seen, mut up) = (0, Vec::new());
    for file in sources(&root) {
        let path = file.strip_prefix(&root).unwrap();
        let module = path.components().next().unwrap().as_os_str().to_str().unwrap().trim_end_matches(".rs");
        if module == "lib" {
            continue;
        }
        let own = rank(module).unwrap_or_else(|| panic!("{module} has its place in no layer"));
        for other in named(&std::fs::read_to_string(&file).unwrap()) {
            seen += 1;
            match rank(other) {
                Some(other) if other <= own => {}
                _ => up.push(format!("{} uses crate::{other}", path.display())),
            }
        }
    }
    assert!(seen > 300, "{seen} imports were looked at");
    assert!(up.is_empty(), "{up:#?}");
}

/// Lists of legs are built in one file, from commands and from ways across the interconnect. Others read them, or set up those of a
/// plain page by its functions.
#[test]
fn commands_alone_build_lists_of_legs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let builder = root.join("device/command.rs");
    let builds = |line: &str| {
        let line = line.trim_start();
        !line.starts_with("//") && ["push(LegKind::", "[(LegKind::", "Legs {"].iter().any(|text| line.contains(text))
    };
    let lines = |file: &Path| std::fs::read_to_string(file).unwrap().lines().filter(|line| builds(line)).count();
    let others: Vec<PathBuf> = sources(&root).into_iter().filter(|file| *file != builder && lines(file) > 0).collect();
    assert!(
        others.is_empty(),
        "{others:#?} build lists of legs; give src/device/command.rs a command or a way for them"
    );
    assert!(lines(&builder) > 10, "src/device/command.rs builds lists of legs in other words than this test knows");
    let text = std::fs::read_to_string(&builder).unwrap();
    for private in ["    fn push(", "    fn after(", "    legs: [u64; MAX_LEGS],"] {
        assert!(text.contains(private), "a list of legs is open to other files: `{}`", private.trim());
    }
}
