//! What developers and publishers run. `cargo xtask` alone lists the tasks.

mod bench;
mod campaigns;
mod commands;
mod files;
mod generate;
mod history;
mod notebook;
mod site;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What a task says when it can't be done.
type Result<T> = std::result::Result<T, String>;

/// A task: its name, what it does, and its options.
const TASKS: [(&str, &str, &str); 7] = [
    ("generate-all", "write every generated file anew", ""),
    ("worlds", "run random devices and workloads under the full oracle", "[--cases N]"),
    ("mutants", "plant faults in the simulator, and list those that no test finds", "[options of cargo-mutants]"),
    (
        "bench",
        "count instructions, sizes and CPU seconds: a line of bench/history.jsonl, and docs/bench.svg",
        "[--quick | --without program,wheel,tests | --draw]",
    ),
    ("package", "build and check what a publisher needs (packaging/check)", "[options of packaging/check]"),
    ("site", "build the site of docs/ with mdbook into target/site/book", ""),
    ("pages", "write the notebooks, and the last line of every page, which leads to the next one", ""),
];

/// The repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf).unwrap_or_default()
}

fn usage() -> String {
    let mut out = String::from("usage: cargo xtask TASK\n\n");
    for (name, what, options) in TASKS {
        let call = if options.is_empty() { name.to_string() } else { format!("{name} {options}") };
        out.push_str(&format!("  {call}\n      {what}\n"));
    }
    out
}

fn run(task: &str, options: &[String]) -> Result<()> {
    let none = || match options {
        [] => Ok(()),
        [first, ..] => Err(format!("{task}: unknown option `{first}`\n\n{}", usage())),
    };
    match task {
        "generate-all" => none().and_then(|()| generate::all(&root())),
        "worlds" => campaigns::worlds(options),
        "mutants" => campaigns::mutants(options),
        "bench" => bench::bench(&root(), options),
        "package" => campaigns::package(&root(), options),
        "site" => none().and_then(|()| site::build(&root())),
        "pages" => none().and_then(|()| generate::pages(&root())),
        other => Err(format!("there is no task `{other}`\n\n{}", usage())),
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((task, options)) = arguments.split_first().filter(|(task, _)| !matches!(task.as_str(), "-h" | "--help"))
    else {
        print!("{}", usage());
        return ExitCode::SUCCESS;
    };
    match run(task, options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_is_known_and_refuses_what_it_does_not_take() {
        for (task, _, options) in TASKS {
            assert!(usage().contains(task));
            if options.is_empty() || task == "worlds" || task == "bench" {
                let said = run(task, &["--nothing".into()]).unwrap_err();
                assert!(said.contains("--nothing"), "{said}");
            }
        }
        assert!(run("generate", &[]).unwrap_err().contains("there is no task `generate`"));
    }

    /// `cargo xtask` is an alias, and the documents name its tasks.
    #[test]
    fn the_alias_is_there() {
        let config = std::fs::read_to_string(root().join(".cargo/config.toml")).unwrap();
        assert!(config.contains("xtask = \"run --quiet --package xtask --\""));
        let contributing = std::fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
        for (task, ..) in TASKS {
            assert!(contributing.contains(&format!("`cargo xtask {task}")), "CONTRIBUTING.md names {task}");
        }
    }
}
