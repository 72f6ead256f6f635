//! No files of the crate import each other in a circle.
//!
//! A file may name the folder that it is in, and a folder's `mod.rs` its files: a part knows the whole that it is a part of. So the
//! import of what a `mod.rs` defines by a file below it counts for nothing here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// By module: the modules that its file imports.
type Imports = BTreeMap<String, BTreeSet<String>>;

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] });
    files.filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect()
}

/// The paths of a tree behind `use`: `a::{b, c::{d, e}}` has `a::b`, `a::c::d` and `a::c::e`.
fn leaves(tree: &str) -> Vec<String> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, c) in tree.char_indices() {
        depth += i32::from(c == '{') - i32::from(c == '}');
        if c == ',' && depth == 0 {
            parts.push(&tree[start..at]);
            start = at + 1;
        }
    }
    parts.push(&tree[start..]);
    let of = |part: &str| match part.trim().split_once('{') {
        Some((path, rest)) => {
            let inside = rest.rsplit_once('}').map_or(rest, |(inside, _)| inside);
            leaves(inside).iter().map(|leaf| format!("{path}{leaf}")).collect()
        }
        None => vec![part.split(" as ").next().unwrap().trim().to_string()],
    };
    parts.into_iter().flat_map(of).filter(|path| !path.is_empty()).collect()
}

/// Paths of at least two names in an expression or a type.
fn paths(code: &str) -> impl Iterator<Item = &str> {
    let words = code.split(|c: char| !(c.is_alphanumeric() || "_:".contains(c)));
    words.filter(|word| word.contains("::")).map(|word| word.trim_matches(':'))
}

/// All paths that a source names, without its tests and comments.
fn named(text: &str) -> Vec<String> {
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
    let code: Vec<&str> = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let (mut uses, mut rest) = (Vec::new(), String::new());
    let mut open: Option<String> = None;
    for line in code {
        let begun = line.trim_start().trim_start_matches("pub ").trim_start_matches("pub(super) ");
        let begun = begun.trim_start_matches("pub(crate) ").strip_prefix("use ");
        match (&mut open, begun) {
            (Some(tree), _) => tree.push_str(line.trim()),
            (None, Some(tree)) => open = Some(tree.to_string()),
            (None, None) => rest.extend([line, "\n"]),
        }
        if open.as_ref().is_some_and(|tree| tree.ends_with(';')) {
            uses.extend(leaves(open.take().unwrap().trim_end_matches(';')));
        }
    }
    uses.extend(paths(&rest).map(str::to_string));
    uses
}

/// The module whose file a path leads to, in a module.
fn module(path: &str, own: &str, modules: &BTreeSet<String>) -> Option<String> {
    let mut from: Vec<&str> = own.split('/').collect();
    let mut names = path.split("::").peekable();
    if names.peek() == Some(&"crate") {
        from.clear();
    }
    while let Some(name) = names.next_if(|name| matches!(*name, "crate" | "super" | "self")) {
        if name == "super" {
            from.pop();
        }
    }
    from.extend(names);
    (1..=from.len()).rev().map(|count| from[..count].join("/")).find(|module| modules.contains(module))
}

/// Imports of a crate by file, but those of a folder by what is in it.
fn imports(root: &Path) -> Imports {
    let files = sources(root);
    let name = |file: &PathBuf| {
        let path = file.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
        path.trim_end_matches(".rs").trim_end_matches("/mod").to_string()
    };
    let modules: BTreeSet<String> = files.iter().map(name).collect();
    let of = |file: &PathBuf| {
        let own = name(file);
        let inside = |other: &String| own == *other || own.starts_with(&format!("{other}/"));
        let text = std::fs::read_to_string(file).unwrap();
        let others =
            named(&text).iter().filter_map(|path| module(path, &own, &modules)).filter(|m| !inside(m)).collect();
        (own, others)
    };
    files.iter().map(of).collect()
}

/// A circle of modules, if there is one.
fn circle(imports: &Imports) -> Option<Vec<String>> {
    fn visit<'i>(module: &'i str, imports: &'i Imports, path: &mut Vec<&'i str>, done: &mut BTreeSet<&'i str>) -> bool {
        if done.contains(module) {
            return false;
        }
        if let Some(at) = path.iter().position(|known| *known == module) {
            path.drain(..at);
            return true;
        }
        path.push(module);
        if imports.get(module).into_iter().flatten().any(|other| visit(other, imports, path, done)) {
            return true;
        }
        path.pop();
        done.insert(module);
        false
    }
    let (mut path, mut done) = (Vec::new(), BTreeSet::new());
    let found = imports.keys().any(|module| visit(module, imports, &mut path, &mut done));
    found.then(|| path.into_iter().map(str::to_string).collect())
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let imports = imports(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    let count: usize = imports.values().map(BTreeSet::len).sum();
    assert!(count > 1_000, "{count} imports were found");
    for (one, other) in
        [("engine/gc/beside", "engine/features/slc/folds"), ("engine/features/slc/folds", "engine/gc/jobs")]
    {
        assert!(imports[one].contains(other), "{one} imports {other}, which is not found");
    }
    assert_eq!(circle(&imports), None, "move what these files share to a file of its own, below both");
}

#[test]
fn imports_are_read_from_trees_and_paths() {
    let text = "use super::{a::{B, c}, d};\npub use crate::e::F as G;\nuse x::{\n    y,\n    z::W,\n};\n// use k::l;\nfn f() { h::i(); }\n\
                #[cfg(test)]\nmod tests {\n    use m::n;\n}\n";
    assert_eq!(named(text), ["super::a::B", "super::a::c", "super::d", "crate::e::F", "x::y", "x::z::W", "h::i"]);
    let modules = ["p/a", "p/b", "p/b/h", "q", "q/e"].map(str::to_string).into();
    let of = |path: &str| module(path, "p/b", &modules);
    assert_eq!(of("super::a::B"), Some("p/a".into()));
    assert_eq!(of("crate::q::e::F"), Some("q/e".into()));
    assert_eq!(of("crate::q::F"), Some("q".into()));
    assert_eq!(of("h::i"), Some("p/b/h".into()), "a file of the folder");
    assert_eq!(of("std::io"), Some("p/b".into()), "no module but its own");
}

#[test]
fn a_circle_is_found() {
    let imports = |of: &[(&str, &[&str])]| -> Imports {
        of.iter().map(|(module, others)| (module.to_string(), others.iter().map(|o| o.to_string()).collect())).collect()
    };
    assert_eq!(circle(&imports(&[("a", &["b", "c"]), ("b", &["c"]), ("c", &[])])), None);
    let found = circle(&imports(&[("a", &["b"]), ("b", &["c"]), ("c", &["d", "b"]), ("d", &[])]));
    assert_eq!(found, Some(vec!["b".to_string(), "c".to_string()]));
}
