//! Each file of the crate imports only files that stand before it in this list, so there are no cycles.

use std::path::Path;

const LAYERS: [&str; 16] = [
    "wire",
    "handshake",
    "socket",
    "budget",
    "clock",
    "lag",
    "data",
    "record",
    "order",
    "message",
    "connections",
    "drive",
    "effects",
    "client",
    "control",
    "server",
];

#[test]
fn no_import_runs_up() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut names: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_string();
        if name == "lib" {
            continue;
        }
        let own = LAYERS.iter().position(|layer| *layer == name);
        let own = own.unwrap_or_else(|| panic!("{name} has its place in no layer"));
        let text = std::fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
        for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
            for (start, _) in line.match_indices("crate::") {
                let path = &line[start + 7..];
                let other = &path[..path.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(path.len())];
                let rank = LAYERS.iter().position(|layer| *layer == other);
                assert!(rank.is_some_and(|rank| rank < own), "{name} uses {other}");
            }
        }
        names.push(name);
    }
    assert_eq!(names.len(), LAYERS.len(), "a layer without a file");
}
