//! Calls inside the engine go in circles of few files, so that a step can be read without all others.
//!
//! The sources are read as text. A call is that of a method of `self`, of a part of the device by its usual name (`kernel.x(..)`), of
//! a type (`Kernel::x(..)`), of a module's function (`retry::x(..)`), or of a function that alone has its name.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Most files whose functions call each other in a circle.
const FILES: usize = 10;

/// Types of values by the names that they have everywhere in the engine.
const PARTS: [(&str, &str); 9] = [
    ("ssd", "Ssd"),
    ("kernel", "Kernel"),
    ("dev", "Device"),
    ("features", "Features"),
    ("gc", "Gc"),
    ("host", "Host"),
    ("fast", "FastPaths"),
    ("shared", "Shared"),
    ("rules", "Rules"),
];

/// A function: its file, the type that it belongs to or the module of a free one, its name, and its lines.
struct Function {
    file: String,
    owner: String,
    name: String,
    body: String,
}

/// Lines of a source without its tests and comments.
fn code(text: &str) -> Vec<&str> {
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
    code.lines().map(|line| line.split("//").next().unwrap().trim_end()).collect()
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The type that a line `impl .. {` is about.
fn implemented(line: &str) -> Option<String> {
    let rest = line.strip_prefix("impl")?;
    let of = rest.split(" for ").last()?;
    let of = if of.starts_with('<') { of.split_once("> ")?.1 } else { of };
    let path = of.trim().trim_start_matches('&').split(|c: char| !(is_word(c) || c == ':')).next()?;
    path.rsplit("::").next().map(str::to_string)
}

/// The name of the function that a line begins.
fn begun(line: &str) -> Option<&str> {
    let (before, rest) = line.split_once("fn ")?;
    let words = before.split(' ').all(|word| {
        word.is_empty() || word.starts_with("pub") || word.ends_with(')') || ["const", "unsafe"].contains(&word)
    });
    words.then(|| rest.split(|c: char| !is_word(c)).next()).flatten().filter(|name| !name.is_empty())
}

/// The functions of a source.
fn functions(file: &str, text: &str) -> Vec<Function> {
    let lines = code(text);
    let module = file.trim_end_matches("/mod.rs").trim_end_matches(".rs").rsplit('/').next().unwrap();
    let (mut owner, mut found, mut at) = (module.to_string(), Vec::new(), 0);
    while at < lines.len() {
        let line = lines[at];
        if line.starts_with("impl") || line == "}" {
            owner = implemented(line).unwrap_or_else(|| module.to_string());
        }
        let indent = line.len() - line.trim_start().len();
        let Some(name) = begun(line).filter(|_| indent <= 4) else {
            at += 1;
            continue;
        };
        let end = format!("{}}}", " ".repeat(indent));
        let last = |line: &&str| {
            **line == end || (line.ends_with([';', '}']) && line.len() - line.trim_start().len() == indent)
        };
        let length = lines[at..].iter().position(last).unwrap_or(0) + 1;
        let body = lines[at..at + length].join("\n");
        let body = body.split_once('{').map_or("", |(_, body)| body).to_string();
        found.push(Function { file: file.to_string(), owner: owner.clone(), name: name.to_string(), body });
        at += length;
    }
    found
}

/// What a body calls: the name, and the value, type or module before it.
fn calls(body: &str) -> Vec<(String, Option<String>)> {
    let mut found = Vec::new();
    for (at, _) in body.match_indices('(') {
        let before = &body[..at];
        // `name::<T>(..)`
        let generic = before.ends_with('>').then(|| before.rfind("::<")).flatten();
        let before = generic.map_or(before, |end| &before[..end]);
        let start = before.rfind(|c| !is_word(c)).map_or(0, |last| last + 1);
        let name = &before[start..];
        let before = &before[..start];
        let rest = before.strip_suffix("::").or_else(|| before.strip_suffix('.'));
        let of = rest.map(|rest| rest[rest.rfind(|c| !is_word(c)).map_or(0, |last| last + 1)..].to_string());
        if name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_') {
            found.push((name.to_string(), of));
        }
    }
    found
}

/// By function: those that it calls.
fn graph(functions: &[Function]) -> Vec<BTreeSet<usize>> {
    let mut named: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    functions.iter().enumerate().for_each(|(at, function)| named.entry(&function.name).or_default().push(at));
    let is_free = |at: &usize| functions[*at].owner.starts_with(|c: char| c.is_ascii_lowercase());
    let is_of_part = |at: usize| PARTS.iter().any(|part| part.1 == functions[at].owner);
    let called = |caller: &Function, name: &str, of: Option<&str>| -> Vec<usize> {
        let all = named.get(name).map_or(&[][..], |all| all);
        let owner = match of {
            None | Some("super") => {
                let free: Vec<usize> = all.iter().copied().filter(is_free).collect();
                let here: Vec<usize> = free.iter().copied().filter(|at| functions[*at].file == caller.file).collect();
                return if free.len() == 1 { free } else { here };
            }
            Some("self" | "Self") => &caller.owner,
            Some(value) => PARTS.iter().find(|part| part.0 == value).map_or(value, |part| part.1),
        };
        let own: Vec<usize> = all.iter().copied().filter(|at| functions[*at].owner == owner).collect();
        // A part of the device has its usual name everywhere, so a value of another name is none.
        if own.is_empty() && all.len() == 1 && !is_of_part(all[0]) { all.to_vec() } else { own }
    };
    let of = |caller: &Function| {
        calls(&caller.body).iter().flat_map(|(name, of)| called(caller, name, of.as_deref())).collect()
    };
    functions.iter().map(of).collect()
}

/// Everything that can be reached from each node.
fn reached(graph: &[BTreeSet<usize>], from: usize) -> BTreeSet<usize> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(at) = open.pop() {
        open.extend(graph[at].iter().filter(|next| seen.insert(**next)));
    }
    seen
}

/// The functions that call each other in circles, those of the most files first.
fn circles(functions: &[Function]) -> Vec<Vec<usize>> {
    let graph = graph(functions);
    let reached: Vec<BTreeSet<usize>> = (0..graph.len()).map(|at| reached(&graph, at)).collect();
    let (mut done, mut circles) = (BTreeSet::new(), Vec::new());
    for at in 0..graph.len() {
        if !done.contains(&at) && reached[at].contains(&at) {
            let circle: Vec<usize> =
                reached[at].iter().copied().filter(|other| reached[*other].contains(&at)).collect();
            done.extend(circle.iter().copied());
            circles.push(circle);
        }
    }
    circles.sort_by_key(|circle| std::cmp::Reverse(files(functions, circle).len()));
    circles
}

fn files<'f>(functions: &'f [Function], circle: &[usize]) -> BTreeSet<&'f str> {
    circle.iter().map(|at| functions[*at].file.as_str()).collect()
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "rs"));
    files.sort();
    files
}

#[test]
fn few_files_call_each_other_in_a_circle() {
    let engine = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/engine");
    let all: Vec<Function> = sources(&engine)
        .iter()
        .flat_map(|path| {
            let file = path.strip_prefix(&engine).unwrap().display().to_string();
            functions(&file, &std::fs::read_to_string(path).unwrap())
        })
        .collect();
    let count: usize = graph(&all).iter().map(BTreeSet::len).sum();
    let circles = circles(&all);
    eprintln!("{} functions, {count} calls", all.len());
    for circle in &circles {
        eprintln!("a circle of {} functions in {} files", circle.len(), files(&all, circle).len());
    }
    assert!(all.len() > 1_500 && count > 4_000, "{} functions and {count} calls were found", all.len());
    // A transfer that is asked for dissolves a chain, of which a page then asks for a transfer.
    let largest = circles.first().expect("a shortcut that is dissolved asks for a bus");
    let names: Vec<String> = largest.iter().map(|at| format!("{} {}", all[*at].file, all[*at].name)).collect();
    assert!(
        files(&all, largest).len() <= FILES,
        "functions of {} files call each other in a circle; return what happens next instead of calling it: {names:#?}",
        files(&all, largest).len()
    );
}

#[test]
fn a_circle_of_calls_is_found() {
    let sources = [
        (
            "a.rs",
            "impl Ssd {\n    pub(in crate::engine) fn one(&mut self) {\n        self.kernel.two(\n            1,\n        );\n    }\n}\n",
        ),
        (
            "b/mod.rs",
            "impl Kernel {\n    fn two(&mut self, x: u8) {\n        c::three(self, x);\n    }\n\n    fn one(&self) {}\n}\n",
        ),
        (
            "c.rs",
            "pub fn three(\n    ssd: &mut Ssd,\n) {\n    // four(ssd)\n    ssd.one::<false>();\n}\n\nfn four() {\n    three();\n}\n",
        ),
    ];
    let all: Vec<Function> = sources.iter().flat_map(|(file, text)| functions(file, text)).collect();
    let circles = circles(&all);
    assert_eq!(circles.len(), 1);
    let names: Vec<&str> = circles[0].iter().map(|at| all[*at].name.as_str()).collect();
    assert_eq!((names, files(&all, &circles[0]).len()), (vec!["one", "two", "three"], 3));
}
