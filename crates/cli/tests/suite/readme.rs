//! Every command of the README and of the page behind it runs. (`transcripts.rs` compares the output.)

use std::path::Path;
use std::process::Command;

/// The lines of the shell blocks of both that call the program, without their remarks.
fn commands() -> Vec<String> {
    let pages = [include_str!("../../../../README.md"), include_str!("../../../../docs/first-results.md")];
    let mut shell = false;
    let mut commands = Vec::new();
    for line in pages.into_iter().flat_map(str::lines) {
        if line.starts_with("```") {
            shell = line == "```sh";
        } else if shell && line.starts_with("ssdlab ") {
            commands.push(line.split("  #").next().unwrap_or(line).trim().to_string());
        }
    }
    commands
}

/// Runs a line of a shell, in which `ssdlab` is the program that is tested.
pub fn shell(directory: &Path, command: &str) -> std::process::Output {
    let program = Path::new(env!("CARGO_BIN_EXE_ssdlab")).parent().expect("a program lies in a directory");
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    Command::new("sh").args(["-c", command]).env("PATH", path).current_dir(directory).output().expect("a shell")
}

/// A first page is read in minutes, and whoever needs the program finds how to get it.
#[test]
fn the_readme_is_short_and_begins_with_two_commands() {
    let readme = include_str!("../../../../README.md");
    assert!(readme.len() <= 9 * 1024, "{} bytes", readme.len());
    let mut blocks = readme.split("```sh\n").skip(1).map(|block| block.lines().next().unwrap_or_default());
    assert_eq!(blocks.next(), Some("cargo run --release -- run --workload quickstart --set precondition.mode=random"));
    assert_eq!(blocks.next(), Some("cargo test --workspace --locked"));
    assert!(readme.contains("`cargo install --path crates/cli --locked --profile dist`"));
    let manifest = include_str!("../../../../Cargo.toml");
    assert!(manifest.contains("[profile.dist]"), "the profile that it names is there");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for link in readme.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
        assert!(link.starts_with("http") || root.join(link).exists(), "{link} exists");
    }
}

#[test]
fn every_command_of_the_readme_runs() {
    let directory = tempfile::tempdir().expect("a directory");
    // A short trace takes the place of the reader's own.
    let made = shell(
        directory.path(),
        "ssdlab trace generate quickstart web.load --into blkreplay --limit 3000 && mv web.load web.load.zst",
    );
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let commands = commands();
    assert!(commands.len() >= 17, "{commands:?}");
    for command in commands {
        let short = command.starts_with("ssdlab run") && !command.contains("--limit");
        let command = if short { format!("{command} --limit 2000") } else { command };
        let output = shell(directory.path(), &command);
        assert!(output.status.success(), "{command}\n{}", String::from_utf8_lossy(&output.stderr));
        let written = !output.stdout.is_empty();
        assert!(written, "{command} prints something");
    }
    for file in ["fifo.json", "requests.csv", "series.csv", "run.perfetto"] {
        assert!(directory.path().join(file).metadata().is_ok_and(|m| m.len() > 0), "{file} was written");
    }
}
