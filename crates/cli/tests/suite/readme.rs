//! Every command of the README runs. (`transcripts.rs` compares the output.)

use std::path::Path;
use std::process::Command;

/// The lines of the README's shell blocks that call the program, without their remarks.
fn commands() -> Vec<String> {
    let readme = include_str!("../../../../README.md");
    let mut shell = false;
    let mut commands = Vec::new();
    for line in readme.lines() {
        if line.starts_with("```") {
            shell = line == "```sh";
        } else if shell && line.starts_with("ssdlab ") {
            commands.push(line.split("  #").next().unwrap_or(line).trim().to_string());
        }
    }
    commands
}

fn shell(directory: &Path, command: &str) -> std::process::Output {
    let program = Path::new(env!("CARGO_BIN_EXE_ssdlab")).parent().expect("a program lies in a directory");
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    Command::new("sh").args(["-c", command]).env("PATH", path).current_dir(directory).output().expect("a shell")
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
    assert!(commands.len() >= 8, "{commands:?}");
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
