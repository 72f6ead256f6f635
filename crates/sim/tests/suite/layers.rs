//! The structure of the sources: imports never run up, lists of legs have one builder, files and functions are short, and the
//! device does not grow.

use std::path::{Path, PathBuf};

/// Each module of the crate uses only modules before it in this list, so there are no circles: from the bottom up.
const LAYERS: [&str; 19] = [
    "units", "random", "carry", "blame", "request", "device", "policy", "schema", "schemes", "config", "presets",
    "sectors", "versions", "oracle", "report", "observe", "slowest", "stats", "engine",
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

/// The code of a source without its tests.
fn code(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests").next().unwrap()
}

/// Whether a line begins a function.
fn begins_function(line: &str) -> bool {
    let line = line.trim_start();
    let rest = match line.strip_prefix("pub").map(|rest| rest.split_once(" ").map_or("", |(_, rest)| rest)) {
        // `pub(in crate::engine)` has a space of its own.
        Some(rest) => rest.strip_prefix("crate::engine) ").unwrap_or(rest),
        None => line,
    };
    let rest = rest.strip_prefix("const ").unwrap_or(rest);
    rest.strip_prefix("unsafe ").unwrap_or(rest).starts_with("fn ")
}

/// Names and lines of the functions of a source.
fn functions(text: &str) -> Vec<(String, usize)> {
    let lines: Vec<&str> = code(text).lines().collect();
    let function = |(i, line): (usize, &&str)| {
        if !begins_function(line) || line.ends_with(['}', ';']) {
            return None;
        }
        let name = line.split("fn ").nth(1)?.split(|c: char| !(c.is_alphanumeric() || c == '_')).next()?;
        let indent = line.len() - line.trim_start().len();
        let end = format!("{}}}", " ".repeat(indent));
        let length = lines[i..].iter().position(|line| *line == end)? + 1;
        Some((name.to_string(), length))
    };
    lines.iter().enumerate().filter_map(function).collect()
}

/// Most lines of a file and of a function.
const FILE: usize = 800;
const FUNCTION: usize = 70;

#[test]
fn files_and_functions_are_short() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut seen, mut long) = (0, Vec::new());
    for file in sources(&root) {
        let path = file.strip_prefix(&root).unwrap().display().to_string();
        let text = std::fs::read_to_string(&file).unwrap();
        if text.lines().count() > FILE {
            long.push(format!("{path} has {} lines, more than {FILE}: split it", text.lines().count()));
        }
        for (name, lines) in functions(&text) {
            seen += 1;
            if lines > FUNCTION {
                long.push(format!("{path}: `{name}` has {lines} lines, more than {FUNCTION}: split it"));
            }
        }
    }
    assert!(seen > 2_000, "{seen} functions were looked at");
    assert!(long.is_empty(), "{long:#?}");
}

/// Most methods and fields of `Ssd`. What needs only some parts of the device belongs to one of them, and receives the others.
const METHODS: usize = 350;
const FIELDS: usize = 15;

#[test]
fn the_device_gets_no_more_methods_and_fields() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut methods, mut fields) = (0, 0);
    for file in sources(&root) {
        let text = std::fs::read_to_string(&file).unwrap();
        let blocks = |begin: &'static str| {
            code(&text).split(begin).skip(1).map(|block| block.split("\n}").next().unwrap().to_string())
        };
        let inside = |line: &&str| line.starts_with("    ") && !line.starts_with("     ");
        for block in blocks("\nimpl Ssd {\n") {
            methods += block.lines().filter(inside).filter(|line| begins_function(line)).count();
        }
        for block in blocks("\npub struct Ssd {\n") {
            fields += block.lines().filter(inside).filter(|line| !line.trim_start().starts_with("//")).count();
        }
    }
    eprintln!("{methods} methods, {fields} fields");
    assert!(methods > 200 && fields > 5, "{methods} methods and {fields} fields were found");
    assert!(methods <= METHODS, "`Ssd` has {methods} methods, more than {METHODS}: give them to a part of the device");
    assert!(fields <= FIELDS, "`Ssd` has {fields} fields, more than {FIELDS}: give them to a part of the device");
}

/// Most rules and features that the spine names.
const NAMES: usize = 60;

/// Rules and features that a line names: `rules.x`, `features.x`.
fn names_of_features(line: &str) -> usize {
    let names = |of: &str| {
        let parts: Vec<&str> = line.split(of).collect();
        let begins = |pair: &&[&str]| {
            !pair[0].ends_with(|c: char| c.is_alphanumeric() || c == '_')
                && pair[1].starts_with(|c: char| c.is_ascii_lowercase())
        };
        parts.windows(2).filter(begins).count()
    };
    names("rules.") + names("features.")
}

/// The spine is what every device does. It names points; features decide there whether they have anything to do.
#[test]
fn the_spine_names_few_rules_and_features() {
    assert_eq!(names_of_features("if self.rules.slc && rules.x || features.noc.is_some() {"), 3);
    assert_eq!(names_of_features("self.features.note_done(&self.kernel, &self.rules, op);"), 1);
    assert_eq!(names_of_features("let (features, overrules.x, rules) = (&self.features, 0, &self.rules);"), 0);
    let spine = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/engine/spine");
    let files = sources(&spine);
    let names: usize = files
        .iter()
        .map(|file| {
            let text = std::fs::read_to_string(file).unwrap();
            let lines = code(&text).lines().filter(|line| !line.trim_start().starts_with("//"));
            lines.map(names_of_features).sum::<usize>()
        })
        .sum();
    eprintln!("{names} names of rules and features in {} files", files.len());
    assert!(names > 20 && files.len() > 10, "{names} names were found in {} files", files.len());
    assert!(
        names <= NAMES,
        "the spine names rules and features {names} times, more than {NAMES}: ask several at one point (features/points.rs)"
    );
}

/// Most lines of ARCHITECTURE.md.
const ARCHITECTURE: usize = 160;

/// The rows of a table of points.
fn points(text: &str) -> Vec<&str> {
    let rows = text.lines().map(|line| line.trim_start_matches("//! "));
    rows.skip_while(|line| !line.starts_with("| point |")).take_while(|line| line.starts_with('|')).collect()
}

/// Whether a source has a function.
fn defines(text: &str, name: &str) -> bool {
    code(text).lines().any(|line| begins_function(line) && line.contains(&format!("fn {name}(")))
}

/// The points at which the spine asks features are listed in `engine/round.rs`, and every function named there exists.
/// ARCHITECTURE.md has the same list; `SSDLAB_POINTS=write` rewrites it.
#[test]
fn the_list_of_points_is_that_of_the_round() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let engine = root.join("src/engine");
    let round = std::fs::read_to_string(engine.join("round.rs")).unwrap();
    let rows = points(&round);
    let mut functions = 0;
    for row in &rows[2..] {
        let place = row.split('|').nth(2).unwrap();
        let mut file: Option<(&str, String)> = None;
        for name in place.split('`').skip(1).step_by(2) {
            if name.ends_with(".rs") {
                let text = std::fs::read_to_string(engine.join(name));
                file =
                    Some((name, text.unwrap_or_else(|_| panic!("engine/round.rs names {name}, which does not exist"))));
            } else {
                let (file, text) = file.as_ref().expect("functions are named behind their file");
                assert!(defines(text, name), "engine/round.rs names `{name}`, which {file} does not define");
                functions += 1;
            }
        }
        assert!(file.is_some(), "no file is named in {row}");
    }
    assert!(functions > 20, "{functions} functions are named as points");
    let path = root.join("../../ARCHITECTURE.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (written, own) = (points(&text).join("\n"), rows.join("\n"));
    assert!(!written.is_empty(), "ARCHITECTURE.md has no table of points");
    if std::env::var_os("SSDLAB_POINTS").is_some_and(|value| value == "write") {
        std::fs::write(&path, text.replace(&written, &own)).unwrap();
    } else {
        assert_eq!(
            written, own,
            "ARCHITECTURE.md has other points than crates/sim/src/engine/round.rs; rewrite them with\n\
             SSDLAB_POINTS=write cargo test -p ssdlab-sim --test suite layers::"
        );
    }
}

#[test]
fn the_architecture_stays_short() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ARCHITECTURE.md");
    let lines = std::fs::read_to_string(path).unwrap().lines().count();
    assert!(
        lines <= ARCHITECTURE,
        "ARCHITECTURE.md has {lines} lines, more than {ARCHITECTURE}: say less, or say it where it is"
    );
}

/// Functions by which a step of the spine takes a shortcut, or asks whether it may. They are to become fewer.
const OFFERS: [&str; 30] = [
    "admit_page_to_lane",
    "admit_to_lane",
    "all_in_lane",
    "array_ends_in_lane",
    "begin_chain",
    "begins_in_vacant_die",
    "check_eager",
    "check_promised_steps",
    "continues_alone",
    "end_chains",
    "expect_next",
    "express",
    "form_chain",
    "fuse_move",
    "fused_move_ends",
    "grant_in_lane",
    "grant_to_move",
    "is_in_array",
    "join_chain",
    "lane_batch_ends",
    "leaves_lane",
    "pick_without_shortcuts",
    "places_in_lane",
    "program_takes_turns",
    "reaches_host",
    "round_of_reads",
    "shares_event",
    "start_in_lane",
    "take_turns",
    "takes_writes",
];

/// What shortcuts have to give way to is a function of `fast/surface.rs`. All others of the folder are private to it, but those that
/// take a shortcut: so nothing else can forget to undo one.
#[test]
fn shortcuts_meet_the_device_in_one_file() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/engine/fast");
    let (mut open, mut surface) = (Vec::new(), 0);
    for file in sources(&folder) {
        let text = std::fs::read_to_string(&file).unwrap();
        let seen = |line: &&str| line.trim_start().starts_with("pub(in crate::engine)") && begins_function(line);
        if file.ends_with("surface.rs") {
            surface = code(&text).lines().filter(seen).count();
            continue;
        }
        let name = |line: &str| line.split("fn ").nth(1).unwrap().split(['(', '<']).next().unwrap().to_string();
        open.extend(code(&text).lines().filter(seen).map(name));
    }
    open.sort();
    let more: Vec<&String> = open.iter().filter(|name| !OFFERS.contains(&name.as_str())).collect();
    assert!(surface > 10, "src/engine/fast/surface.rs has {surface} functions");
    assert!(more.is_empty(), "{more:?} are seen outside src/engine/fast: say what happens by a function of surface.rs");
    let gone: Vec<&&str> = OFFERS.iter().filter(|name| !open.iter().any(|other| other == **name)).collect();
    assert!(gone.is_empty(), "{gone:?} are private by now: take them out of this list");
}
