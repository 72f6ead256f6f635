//! Runs points whose policies are written in Python: by an interpreter with the package `ssdlab`, in a process of its own.

use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use serde::Serialize;
use ssdlab_lab::names::clip_line;
use ssdlab_sweep::points::VERSION;

/// What is run, as the interpreter reads it.
#[derive(Debug, Serialize)]
pub struct Task<'t> {
    /// The study.
    pub study: &'t Path,
    /// The folder of the policies.
    pub policies: &'t Path,
    /// Where records go.
    pub store: &'t Path,
    /// The points, by their places among the choices of the study.
    pub choices: Vec<usize>,
    /// Runs in parallel.
    pub jobs: Option<u64>,
    /// How much the oracle checks.
    pub check: &'static str,
    /// The version that has to run them.
    pub version: &'static str,
}

/// Runs a task; why that can't be done, if so.
///
/// # Errors
/// There is no such interpreter, it has no package of this version, or the policies can't be made.
pub fn run(python: &Path, task: &Task) -> Result<(), String> {
    let name = clip_line(&python.display().to_string());
    let hint = format!("install ssdlab {VERSION} with pip, or name another interpreter with --python");
    // With -P, a module beside the bundle is not taken for one of Python's.
    let mut command = Command::new(python);
    command.args(["-P", "-m", "ssdlab._bundled"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| match error.kind() {
        ErrorKind::NotFound => format!("there is no {name}, which runs the policies: {hint}"),
        _ => format!("{name} can't be started: {error}"),
    })?;
    if let Some(mut input) = child.stdin.take() {
        // An interpreter that ends without reading says why.
        let _ = input.write_all(serde_json::to_string(task).unwrap_or_default().as_bytes());
    }
    let done = child.wait_with_output().map_err(|error| format!("{name}: {error}"))?;
    if done.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    let last = clip_line(said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it ended without a word"));
    let package = last.contains("No module named") && last.contains("ssdlab") || last.starts_with("UsageError: it has");
    Err(if package { format!("{name}: {last}: {hint}") } else { format!("{name}: {last}") })
}
