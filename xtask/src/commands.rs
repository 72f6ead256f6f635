//! Programs that tasks start.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::{Result, root};

/// Cargo in the repository.
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// Runs a command whose output the reader sees.
pub fn see(command: &mut Command) -> Result<()> {
    let shown = shown(command);
    println!("+ {shown}");
    let status = command.status().map_err(|error| format!("{shown}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{shown}: {status}")) }
}

/// Runs a command: what it printed on standard output and standard error.
pub fn told(command: &mut Command) -> Result<(String, String)> {
    let shown = shown(command);
    println!("+ {shown}");
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("{shown}: {error}"))?;
    let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    if output.status.success() { Ok((out, err)) } else { Err(format!("{shown}: {}\n{err}", output.status)) }
}

/// Whether a program can be started.
pub fn there_is(program: &Path) -> bool {
    Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

/// The command with its variables, as a shell takes it.
fn shown(command: &Command) -> String {
    let variables = command
        .get_envs()
        .filter_map(|(name, value)| Some(format!("{}={}", name.to_string_lossy(), value?.to_string_lossy())));
    let program = Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let arguments = command.get_args().map(|argument| argument.to_string_lossy().into_owned());
    variables.chain([program]).chain(arguments).collect::<Vec<_>>().join(" ")
}
