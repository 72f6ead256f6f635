//! Workloads by name or file.

use std::path::Path;

use ssdlab_trace::workload::{Spec, SpecError, all, named};

use crate::error::{Error, Kind, Result};
use crate::files::{Files, read_text};
use crate::names::{clip, nearest};

/// A workload by name or file: its name in messages, and its content.
///
/// # Errors
/// The workload is unknown, or its file can't be read or is invalid.
pub fn find_workload(name: &str) -> Result<(String, Spec)> {
    if let Some(workload) = named(name) {
        return Ok((workload.name.into(), workload.spec.clone()));
    }
    let path = Path::new(name);
    if path.extension().is_none_or(|ending| ending != "toml") && !path.exists() {
        let meant = nearest(name, all().iter().map(|workload| workload.name))
            .map_or(String::new(), |n| format!("did you mean `{n}`? "));
        let help = format!("{meant}`ssdlab workloads` lists those that come with the program; a file ends in .toml");
        return Err(Error::usage(format!("no workload is called `{}`", clip(name))).help(help));
    }
    if path.extension().is_some_and(|ending| ending == "fio") {
        let message = format!("{} is a job file of fio, and its jobs may be tenants", clip(name));
        return Err(Error::usage(message).help(format!("use --import {} in place of --workload", clip(name))));
    }
    let text = read_text("workload", path)?;
    let (_, spec) = parse_workload(name, &text)?;
    let stem = path.file_stem().map_or_else(|| name.into(), |stem| stem.to_string_lossy().into_owned());
    Ok((if spec.name.is_empty() { stem } else { spec.name.clone() }, spec))
}

/// A workload from the text of its file: its name, by default `name`, and its content.
///
/// # Errors
/// The text is invalid.
pub fn parse_workload(name: &str, text: &str) -> Result<(String, Spec)> {
    let spec = Spec::parse(text).map_err(|error| refuse(name, &error))?;
    Ok((if spec.name.is_empty() { name.into() } else { spec.name.clone() }, spec))
}

/// Registers the file that a workload is read from, if any.
pub fn read_workload(name: &str, files: &mut Files) {
    if named(name).is_none() {
        files.reads("the workload", Path::new(name));
    }
}

/// An error about a workload file.
pub fn refuse(name: &str, error: &SpecError) -> Error {
    let colon = if error.path.is_empty() { "" } else { ": " };
    let message = format!("workload {}: {}{colon}{}", clip(name), error.path, error.message);
    Error::new(Kind::Workload { key: error.path.clone() }, message).help(error.help.as_str())
}
