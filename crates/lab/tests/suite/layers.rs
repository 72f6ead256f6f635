//! Crates that share this one import each other as their manifests say, which Cargo checks. Within a crate no files import each other
//! in a circle, and a name has one meaning.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The crates, but those of the simulator, which have a test of their own.
const CRATES: [&str; 9] = ["bundle", "cli", "explain", "figures", "import", "lab", "papers", "report", "sweep"];

/// By module: the modules that its file imports.
type Imports = BTreeMap<String, Vec<String>>;

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
    files
}

/// A source without its tests and comments, which stand in lines of their own.
fn code(text: &str) -> impl Iterator<Item = &str> {
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
    code.lines().filter(|line| !line.trim_start().starts_with("//"))
}

/// The paths that a source names as `crate::path` or `super::path`.
fn named(text: &str) -> impl Iterator<Item = &str> {
    code(text).flat_map(|line| {
        let starts = line.match_indices("crate::").chain(line.match_indices("super::"));
        starts.map(|(start, _)| {
            let rest = &line[start..];
            &rest[..rest.find(|c: char| !(c.is_alphanumeric() || "_:".contains(c))).unwrap_or(rest.len())]
        })
    })
}

/// The module whose file a path leads to that a module names.
fn module<'m>(path: &str, of: &str, modules: &'m [String]) -> Option<&'m String> {
    let path = match path.split_once("::")? {
        ("crate", rest) => rest.replace("::", "/"),
        (_, rest) => format!("{}/{}", of.rsplit_once('/')?.0, rest.replace("::", "/")),
    };
    let within = |module: &&String| {
        path.strip_prefix(module.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    modules.iter().filter(within).max_by_key(|module| module.len())
}

fn imports(root: &Path) -> Imports {
    let name = |file: &Path| {
        let path = file.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
        path.trim_end_matches(".rs").trim_end_matches("/mod").to_string()
    };
    let files = sources(root);
    let modules: Vec<String> = files.iter().map(|file| name(file)).collect();
    let of = |(own, file): (&String, &PathBuf)| {
        let text = std::fs::read_to_string(file).unwrap();
        // What stands in the root itself is in no file but that one.
        (own.clone(), named(&text).filter_map(|path| module(path, own, &modules).cloned()).collect())
    };
    modules.iter().zip(&files).map(of).collect()
}

/// A circle of modules, if there is one.
fn circle(imports: &Imports) -> Option<Vec<&str>> {
    fn visit<'i>(module: &'i str, imports: &'i Imports, path: &mut Vec<&'i str>, done: &mut Vec<&'i str>) -> bool {
        if done.contains(&module) {
            return false;
        }
        if let Some(at) = path.iter().position(|known| *known == module) {
            path.drain(..at);
            return true;
        }
        path.push(module);
        for other in imports.get(module).into_iter().flatten().filter(|other| *other != module) {
            if visit(other, imports, path, done) {
                return true;
            }
        }
        path.pop();
        done.push(module);
        false
    }
    let (mut path, mut done) = (Vec::new(), Vec::new());
    imports.keys().any(|module| visit(module, imports, &mut path, &mut done)).then_some(path)
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for name in CRATES {
        let imports = imports(&crates.join(name).join("src"));
        assert!(imports.values().flatten().count() >= imports.len() / 2, "{name}: imports are not found");
        assert_eq!(circle(&imports), None, "{name}");
    }
}

#[test]
fn a_circle_is_found() {
    let imports = |of: &[(&str, &[&str])]| -> Imports {
        of.iter().map(|(module, others)| (module.to_string(), others.iter().map(|o| o.to_string()).collect())).collect()
    };
    assert_eq!(circle(&imports(&[("a", &["b", "c"]), ("b", &["c"]), ("c", &["c"])])), None);
    assert_eq!(circle(&imports(&[("a", &["b"]), ("b", &["c"]), ("c", &["d", "b"]), ("d", &[])])), Some(vec!["b", "c"]));
}

/// The type that a line defines.
fn defined(line: &str) -> Option<&str> {
    let mut words = line.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty());
    let first = words.find(|word| !matches!(*word, "pub" | "crate" | "super" | "in"))?;
    if matches!(first, "struct" | "enum") { words.next() } else { None }
}

/// The only exception: a type that a function of `Deserialize` has for itself, so it is seen nowhere else.
const VISITOR: &str = "V";

#[test]
fn a_type_has_a_name_of_its_own_in_its_crate() {
    assert_eq!(
        ["pub struct A;", "    pub(super) enum B<T> {", "let structure = C { };", "struct D(u8);"].map(defined),
        [Some("A"), Some("B"), None, Some("D")]
    );
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for name in CRATES.into_iter().chain(["disk", "drives", "memory", "python", "serve", "trace"]) {
        let mut known: BTreeMap<String, PathBuf> = BTreeMap::new();
        for file in sources(&crates.join(name).join("src")) {
            let text = std::fs::read_to_string(&file).unwrap();
            for own in code(&text).filter_map(defined).filter(|own| *own != VISITOR) {
                let before = known.insert(own.to_string(), file.clone()).filter(|other| *other != file);
                assert_eq!(
                    before,
                    None,
                    "{own} is also in {}: one of them needs a name that says more",
                    file.display()
                );
            }
        }
        assert!(!known.is_empty(), "{name}: no types are found");
    }
}

#[test]
fn no_file_is_longer_than_800_lines() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for name in CRATES {
        for file in sources(&crates.join(name).join("src")) {
            let lines = std::fs::read_to_string(&file).unwrap().lines().count();
            assert!(lines <= 800, "{}: {lines} lines", file.display());
        }
    }
}
