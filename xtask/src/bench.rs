//! `cargo xtask bench`: what a state of the sources costs.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;
use crate::commands::{cargo, see, told};
use crate::files::write;
use crate::history::{Entry, counts, entries, picture};

/// What may be left out.
const PARTS: [&str; 3] = ["program", "wheel", "tests"];

/// What `--without` leaves out.
fn left_out(options: &[String]) -> Result<Vec<&str>> {
    match options {
        [] => Ok(Vec::new()),
        [name] if name == "--quick" => Ok(PARTS.to_vec()),
        [name, list] if name == "--without" => {
            let parts: Vec<&str> = list.split(',').collect();
            match parts.iter().find(|part| !PARTS.contains(part)) {
                Some(part) => Err(format!("--without {part}: the parts are {}", PARTS.join(", "))),
                None => Ok(parts),
            }
        }
        [name, ..] => {
            Err(format!("bench: unknown option `{name}`; it takes --quick, --draw or --without {}", PARTS.join(",")))
        }
    }
}

/// Counts, appends a line to bench/history.jsonl, and draws docs/bench.svg; `--draw` only draws.
pub fn bench(root: &Path, options: &[String]) -> Result<()> {
    let path = root.join("bench/history.jsonl");
    let draw = |history: &str| write(&root.join("docs/bench.svg"), &picture(&entries(history)?));
    if options == ["--draw"] {
        return draw(&std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?);
    }
    let without = left_out(options)?;
    let with = |part: &str| !without.contains(&part);
    let git = |arguments: &[&str]| told(Command::new("git").args(arguments).current_dir(root));
    let (named, _) = git(&["show", "-s", "--abbrev=10", "--format=%h %cs", "HEAD"])?;
    let (commit, day) = named.trim().split_once(' ').ok_or("git names no commit")?;
    let mut entry = Entry { commit: commit.into(), day: day.into(), ..Entry::default() };
    entry.instructions = instructions()?;
    if with("program") {
        see(cargo().args(["build", "--locked", "--profile", "dist", "-p", "ssdlab"]))?;
        entry.program_bytes = size(&root.join("target/dist/ssdlab"));
    }
    if with("wheel") {
        entry.wheel_bytes = wheel(root)?;
    }
    if with("tests") {
        see(cargo().args(["test", "--workspace", "--locked", "--no-run"]))?;
        let before = children_cpu_s();
        see(cargo().args(["test", "--workspace", "--locked"]))?;
        entry.tests_cpu_s = children_cpu_s().zip(before).map(|(after, before)| after - before);
    }
    let history = std::fs::read_to_string(&path).unwrap_or_default() + &entry.line();
    write(&path, &history)?;
    draw(&history)
}

/// Instructions by case, from the tests that limit them.
fn instructions() -> Result<Vec<(String, u64)>> {
    let arguments = ["test", "--locked", "-p", "ssdlab-sim", "--test", "suite", "instructions::"];
    see(cargo().args(["build", "--locked", "-p", "ssdlab-sim", "--examples"]))?;
    let (_, said) = told(cargo().args(arguments).args(["--", "--nocapture", "--test-threads=1"]))?;
    let found = counts(&said);
    if found.is_empty() { Err("no instructions were counted: valgrind is not here".into()) } else { Ok(found) }
}

fn size(path: &Path) -> Option<u64> {
    path.metadata().ok().map(|metadata| metadata.len())
}

/// Bytes of the wheel that would be published; none without maturin.
fn wheel(root: &Path) -> Result<Option<u64>> {
    let out = root.join("target/bench-wheel");
    let _ = std::fs::remove_dir_all(&out);
    let maturin = Path::new("maturin");
    if !crate::commands::there_is(maturin) {
        println!("maturin is not here: the wheel is not measured");
        return Ok(None);
    }
    see(Command::new(maturin).args(["build", "--locked", "--out"]).arg(&out).current_dir(root))?;
    let mut files = std::fs::read_dir(&out).map_err(|error| format!("{}: {error}", out.display()))?.flatten();
    Ok(files.next().and_then(|entry| size(&entry.path())))
}

/// CPU seconds of all processes that this one has waited for, where the system says so: in hundredths.
fn children_cpu_s() -> Option<u64> {
    let stat = std::fs::read_to_string(PathBuf::from("/proc/self/stat")).ok()?;
    cpu_s(&stat)
}

/// The fields `cutime` and `cstime` of `/proc/self/stat`; the name of the program before them may have blanks.
fn cpu_s(stat: &str) -> Option<u64> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |place: usize| fields.get(place)?.parse::<u64>().ok();
    Some((ticks(13)? + ticks(14)?) / 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_known() {
        let of = |options: &[&str]| {
            let options: Vec<String> = options.iter().map(|option| option.to_string()).collect();
            left_out(&options).map(|parts| parts.join(" "))
        };
        assert_eq!(of(&[]).unwrap(), "");
        assert_eq!(of(&["--quick"]).unwrap(), "program wheel tests");
        assert_eq!(of(&["--without", "wheel,tests"]).unwrap(), "wheel tests");
        assert!(of(&["--without", "all"]).unwrap_err().contains("program, wheel, tests"));
        assert!(of(&["--fast"]).unwrap_err().contains("--fast"));
    }

    #[test]
    fn times_of_children_are_behind_the_name() {
        let stat = "1 (a b) c) S 0 1 1 0 -1 4194560 1 2 3 4 5 6 700 250 20 0 1 0 9 0";
        assert_eq!(cpu_s(stat), Some(9));
        assert_eq!(cpu_s("nothing"), None);
    }
}
