//! A directory to run the command in.
#![allow(missing_docs)]

use std::path::Path;
use std::process::{Command, Output};

/// 8 MiB in four planes; full enough that GC starts at once.
const TINY: &str = include_str!("../../cmd/timeline.in/tiny.toml");

/// A directory with a tiny device.
pub struct Bench(tempfile::TempDir);

impl Bench {
    pub fn new() -> Bench {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("tiny.toml"), TINY).unwrap();
        Bench(dir)
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Splits a command line into words and quoted texts.
    pub fn run(&self, arguments: &str) -> Output {
        let mut words: Vec<String> = Vec::new();
        for (i, piece) in arguments.split('\'').enumerate() {
            match i % 2 {
                0 => words.extend(piece.split_whitespace().map(str::to_owned)),
                _ => words.push(piece.into()),
            }
        }
        Command::new(env!("CARGO_BIN_EXE_ssdlab")).current_dir(self.path()).args(words).output().unwrap()
    }

    pub fn good(&self, arguments: &str) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    pub fn bad(&self, arguments: &str, status: i32) -> String {
        let output = self.run(arguments);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(status), "{arguments}: {said}");
        assert!(output.stdout.is_empty());
        said
    }

    pub fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).unwrap()
    }
}
