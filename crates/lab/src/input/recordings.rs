//! Recordings in a directory, found by the names of the traces that workloads model.

use std::path::{Path, PathBuf};

use ssdlab_trace::workload::all;

use crate::error::{Error, Result};
use crate::files::Files;
use crate::input::workloads::find_workload;

/// Endings that a recording's file may have after its name, in either case: one of the first, one of the second, or both.
const ENDINGS: [&[&str]; 2] =
    [&["csv", "trace", "txt", "spc", "ascii", "log", "blkparse", "parquet"], &["gz", "zst", "xz", "bz2"]];

/// Whether a directory holds the recording that a workload models.
///
/// # Errors
/// The directory can't be read, or holds two such files.
pub fn has_recording(directory: &Path, workload: &str) -> Result<bool> {
    let (_, spec) = find_workload(workload)?;
    Ok(find_recording(directory, &spec.trace)?.is_some())
}

/// Registers the recordings of workloads in a directory.
pub fn read_recordings(directory: &Path, files: &mut Files) {
    for workload in all() {
        if let Ok(Some(path)) = find_recording(directory, &workload.spec.trace) {
            files.reads("--traces", &path);
        }
    }
}

/// The file in a directory with the name of the recording and any of the endings; two of them are an error.
pub(crate) fn find_recording(directory: &Path, trace: &str) -> Result<Option<PathBuf>> {
    let cannot = |error: std::io::Error| Error::file("read the directory of recordings", directory, &error);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(cannot)? {
        let path = entry.map_err(cannot)?.path();
        let mut stem = path.file_name().map_or(String::new(), |name| name.to_string_lossy().to_ascii_lowercase());
        for endings in ENDINGS.iter().rev() {
            if let Some((rest, ending)) = stem.rsplit_once('.')
                && endings.contains(&ending)
            {
                stem.truncate(rest.len());
            }
        }
        if !trace.is_empty() && stem == trace.to_ascii_lowercase() && path.is_file() {
            found.push(path);
        }
    }
    found.sort();
    match &found[..] {
        [first, second, ..] => {
            let message = format!("both {} and {} are recordings of {trace}", first.display(), second.display());
            Err(Error::usage(message).help("keep one there, or name the one that is meant with --trace FILE"))
        }
        _ => Ok(found.pop()),
    }
}
