//! The files that a command reads and writes. Two names for one file are detected before any file is opened for writing.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// A document of a configuration.
#[derive(Clone, Debug)]
pub enum Document {
    /// A file, read whenever the layers are merged.
    File(PathBuf),
    /// A text in memory.
    Text {
        /// Its name in messages.
        name: String,
        /// TOML.
        text: String,
    },
}

impl From<PathBuf> for Document {
    fn from(path: PathBuf) -> Document {
        Document::File(path)
    }
}

/// The identity of a file, independent of its name.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Identity {
    /// A regular file, by device and inode.
    File(u64, u64),
    /// A file that does not exist yet: its directory, by device and inode, and its name.
    New(u64, u64, OsString),
    /// A path without links, where the system has no inodes.
    #[cfg(not(unix))]
    Path(PathBuf),
}

/// A file with the option that names it.
#[derive(Debug)]
struct Named {
    option: String,
    path: PathBuf,
    written: bool,
}

/// The files of a command. Inputs are registered first, then outputs.
#[derive(Debug, Default)]
pub struct Files(HashMap<Identity, Named>);

impl Files {
    /// Only standard output and standard error, if they are files.
    pub fn new() -> Files {
        let mut files = Files::default();
        for (name, stream) in [("standard output", stream(1)), ("standard error", stream(2))] {
            files.add(stream, name, Path::new(name), true);
        }
        files
    }

    /// Registers an input; `-` is standard input.
    pub fn reads(&mut self, option: &str, path: &Path) {
        let identity = if path.as_os_str() == "-" { stream(0) } else { identity(path) };
        self.add(identity, option, path, false);
    }

    fn add(&mut self, identity: Option<Identity>, option: &str, path: &Path, written: bool) {
        let named = || Named { option: option.into(), path: path.into(), written };
        if let Some(identity) = identity {
            self.0.entry(identity).or_insert_with(named);
        }
    }

    /// Registers an output.
    ///
    /// # Errors
    /// The file is also an input, or another output.
    pub fn writes(&mut self, option: &str, path: &Path) -> Result<()> {
        let Some(identity) = identity(path) else { return Ok(()) };
        if let Some(Named { option: other, path: name, written }) = self.0.get(&identity) {
            let fault = if *written {
                Error::usage(format!("{other} and {option} both write {}", path.display()))
            } else {
                let message = format!("{option} {} would replace what {other} reads", path.display());
                Error::usage(message)
            };
            let same = format!("{} and {} are one file", name.display(), path.display());
            let fault = if name == path { fault } else { fault.note(same) };
            return Err(fault.help("use a separate file for each"));
        }
        self.add(Some(identity), option, path, true);
        Ok(())
    }

    /// Registers the outputs of options that were given.
    ///
    /// # Errors
    /// One of them is also an input, or another output.
    pub fn write_all(&mut self, outputs: &[(&str, Option<&Path>)]) -> Result<()> {
        outputs.iter().try_for_each(|(option, path)| path.map_or(Ok(()), |path| self.writes(option, path)))
    }
}

/// The file that a path leads to, with all links followed, even if the target does not exist yet.
pub fn resolved(path: &Path) -> PathBuf {
    let mut path = path.to_path_buf();
    // The limit on links that operating systems use.
    for _ in 0..40 {
        let Ok(target) = fs::read_link(&path) else { break };
        path = directory(&path).join(target);
    }
    path
}

/// The directory that a file is in.
pub fn directory(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// None: a device, a pipe, a directory, or a path that cannot be opened.
fn identity(path: &Path) -> Option<Identity> {
    match fs::metadata(path) {
        Ok(meta) => meta.is_file().then(|| of_file(&meta, path)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let target = resolved(path);
            let parent = directory(&target);
            let meta = fs::metadata(parent).ok()?;
            Some(of_new(&meta, parent, target.file_name()?.into()))
        }
        Err(_) => None,
    }
}

#[cfg(unix)]
fn of_file(meta: &Metadata, _path: &Path) -> Identity {
    use std::os::unix::fs::MetadataExt;
    Identity::File(meta.dev(), meta.ino())
}

#[cfg(unix)]
fn of_new(parent: &Metadata, _path: &Path, name: OsString) -> Identity {
    use std::os::unix::fs::MetadataExt;
    Identity::New(parent.dev(), parent.ino(), name)
}

/// A standard stream, if it is a regular file.
#[cfg(unix)]
fn stream(number: u8) -> Option<Identity> {
    use std::os::fd::AsFd;
    let (input, output, errors) = (io::stdin(), io::stdout(), io::stderr());
    let fd = match number {
        0 => input.as_fd(),
        1 => output.as_fd(),
        _ => errors.as_fd(),
    };
    let file = fs::File::from(fd.try_clone_to_owned().ok()?);
    let meta = file.metadata().ok()?;
    meta.is_file().then(|| of_file(&meta, Path::new("-")))
}

#[cfg(not(unix))]
fn of_file(_meta: &Metadata, path: &Path) -> Identity {
    Identity::Path(path.canonicalize().unwrap_or_else(|_| path.into()))
}

#[cfg(not(unix))]
fn of_new(_parent: &Metadata, directory: &Path, name: OsString) -> Identity {
    Identity::Path(directory.canonicalize().unwrap_or_else(|_| directory.into()).join(name))
}

#[cfg(not(unix))]
fn stream(_number: u8) -> Option<Identity> {
    None
}

/// Limit on files that are read whole. No configuration comes near it; a file named by mistake, such as a trace or an endless
/// device, exceeds it soon.
const LONGEST: u64 = 16 << 20;

/// The text of a file; `what` names its purpose: "configuration", "workload".
///
/// # Errors
/// The file can't be read, is longer than 16 MiB, or is not UTF-8 text.
pub fn read_text(what: &str, path: &Path) -> Result<String> {
    let cannot = |error: std::io::Error| Error::file(&format!("read the {what}"), path, &error);
    let help = format!("a {what} is a TOML file; traces are given with --trace");
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(cannot)?;
    file.take(LONGEST + 1).read_to_end(&mut bytes).map_err(cannot)?;
    if bytes.len() as u64 > LONGEST {
        let message = format!("{} is longer than {} MiB, the limit for a {what}", path.display(), LONGEST >> 20);
        return Err(Error::usage(message).help(help));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = 1 + error.as_bytes()[..at].iter().filter(|b| **b == b'\n').count();
        Error::usage(format!("{} is not UTF-8 text: invalid byte in line {line}", path.display())).help(help)
    })
}
