//! The traces of a study: what is said of them, and where a reviewer's copies are.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::names::clip;
use ssdlab_sweep::key::Hashes;

use crate::manifest::TracePart;

/// How traces are to be obtained, by name: `NAME=TEXT`, where NAME is that of the file.
#[derive(Clone, Debug, Default)]
pub struct Obtain(Vec<(String, String)>);

impl Obtain {
    /// From the values of the option.
    ///
    /// # Errors
    /// One has no `=`, an empty part, or a name that was given before.
    pub fn parse(given: &[String]) -> Result<Obtain> {
        let mut all: Vec<(String, String)> = Vec::new();
        for text in given {
            let parts = text.split_once('=').filter(|(name, how)| !name.is_empty() && !how.trim().is_empty());
            let Some((name, how)) = parts else {
                return Err(Error::usage(format!("--obtain {}: not NAME=TEXT", clip(text))).help(
                    "give the name of a trace and where it is from, such as web.csv.zst=https://example.org/web",
                ));
            };
            if all.iter().any(|(other, _)| other == name) {
                return Err(Error::usage(format!("--obtain {}: given twice", clip(name))).help("give it once"));
            }
            all.push((name.into(), how.trim().into()));
        }
        Ok(Obtain(all))
    }

    /// Enters what is said into the traces of a study.
    ///
    /// # Errors
    /// A name is that of no trace.
    pub fn enter(&self, traces: &mut [TracePart]) -> Result<()> {
        for (name, how) in &self.0 {
            let mut found = false;
            for trace in traces.iter_mut().filter(|trace| base(&trace.file) == name) {
                trace.obtain = Some(how.clone());
                found = true;
            }
            if !found {
                let names: Vec<&str> = traces.iter().map(|trace| base(&trace.file)).collect();
                let help = match names.is_empty() {
                    true => "leave it out: the study reads no trace".into(),
                    false => format!("the traces of the study are {}", names.join(", ")),
                };
                return Err(Error::usage(format!("--obtain {}: the study has no such trace", clip(name))).help(help));
            }
        }
        Ok(())
    }
}

/// The last part of a path inside.
pub fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Files below a folder, found by what they hold: a trace is recognised under any name.
pub struct Shelf {
    by_length: HashMap<u64, Vec<PathBuf>>,
    hashes: Hashes,
}

impl Shelf {
    /// The files below a folder. Links to folders are not followed.
    ///
    /// # Errors
    /// The folder can't be read.
    pub fn open(folder: &Path) -> Result<Shelf> {
        let mut by_length: HashMap<u64, Vec<PathBuf>> = HashMap::new();
        let mut left = vec![folder.to_path_buf()];
        while let Some(folder) = left.pop() {
            let cannot = |error: std::io::Error| Error::file("read", &folder, &error);
            for entry in std::fs::read_dir(&folder).map_err(cannot)? {
                let entry = entry.map_err(cannot)?;
                let path = entry.path();
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    left.push(path);
                } else if let Ok(meta) = std::fs::metadata(&path)
                    && meta.is_file()
                {
                    by_length.entry(meta.len()).or_default().push(path);
                }
            }
        }
        by_length.values_mut().for_each(|paths| paths.sort());
        Ok(Shelf { by_length, hashes: Hashes::default() })
    }

    /// The file that is a trace.
    ///
    /// # Errors
    /// A file of its length can't be read.
    pub fn find(&self, trace: &TracePart) -> Result<Option<&Path>> {
        for path in self.by_length.get(&trace.bytes).into_iter().flatten() {
            if format!("trace:{}", self.hashes.of("trace", path)?) == trace.source {
                return Ok(Some(path));
            }
        }
        Ok(None)
    }
}
