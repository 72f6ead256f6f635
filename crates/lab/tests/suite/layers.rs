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

/// Most lines of a file, and of a function.
const FILE: usize = 800;
const FUNCTION: usize = 70;

/// The name in the first line of a function.
fn name_of(line: &str) -> &str {
    line.split("fn ").nth(1).unwrap_or_default().split(['(', '<']).next().unwrap_or_default()
}

/// Names and lines of the functions of a source.
fn functions(text: &str) -> Vec<(&str, usize)> {
    let lines: Vec<&str> = text.split("#[cfg(test)]\nmod tests").next().unwrap().lines().collect();
    let function = |(at, line): (usize, &&'_ str)| -> Option<(usize, usize)> {
        let begins = line.trim_start().split_once("fn ").is_some_and(|(before, _)| {
            before.split(' ').all(|word| matches!(word, "" | "const" | "unsafe" | "async") || word.starts_with("pub"))
        });
        let end = format!("{}}}", &line[..line.len() - line.trim_start().len()]);
        let length = lines[at..].iter().position(|line| *line == end)? + 1;
        (begins && !line.ends_with(['}', ';'])).then_some((at, length))
    };
    lines.iter().enumerate().filter_map(function).map(|(at, length)| (name_of(lines[at]), length)).collect()
}

/// Those of the simulator have a test of their own.
#[test]
fn files_and_functions_of_every_crate_are_short() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let all = std::fs::read_dir(crates).unwrap().map(|entry| entry.unwrap().path());
    let (mut seen, mut long) = (0, Vec::new());
    for root in all.filter(|root| !root.ends_with("sim") && root.join("src").is_dir()) {
        for file in sources(&root.join("src")) {
            let text = std::fs::read_to_string(&file).unwrap();
            if text.lines().count() > FILE {
                long.push(format!("{} has {} lines", file.display(), text.lines().count()));
            }
            for (name, lines) in functions(&text) {
                seen += 1;
                if lines > FUNCTION {
                    long.push(format!("{}: `{name}` has {lines} lines", file.display()));
                }
            }
        }
    }
    assert!(seen > 3_000, "{seen} functions were looked at");
    assert!(long.is_empty(), "more than {FILE} lines of a file or {FUNCTION} of a function: split it: {long:#?}");
}
