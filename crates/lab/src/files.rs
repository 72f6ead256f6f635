//! The files that a command reads and writes: the one place that opens them, and the ledger that keeps outputs off inputs.
//!
//! Every opening for reading goes through [`open`], [`open_regular`] or [`read`] (traces through [`opening`], which the readers ask),
//! every output through [`Claim::new`]. Both are entered in the ledger of the command, so files that are found only on the way (the
//! traces of a study, the records of a store) are protected as well. A command that knows its files in advance asks [`Files`] first:
//! it then fails before it has worked, and its message names the options.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::{Error, Kind, Result};

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
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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
    option: Cow<'static, str>,
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
            files.add(stream, name.into(), Path::new(name), true);
        }
        files
    }

    /// Registers an input; `-` is standard input.
    pub fn reads(&mut self, option: &str, path: &Path) {
        let identity = if path.as_os_str() == "-" { stream(0) } else { identity(path) };
        self.add(identity, option.to_string().into(), path, false);
    }

    fn add(&mut self, identity: Option<Identity>, option: Cow<'static, str>, path: &Path, written: bool) {
        let Some(identity) = identity else { return };
        self.forget_stale(&identity);
        self.0.entry(identity).or_insert_with(|| Named { option, path: path.into(), written });
    }

    /// Forgets a file that was replaced or removed since: its number may be another file's now.
    fn forget_stale(&mut self, of: &Identity) {
        let stale = |named: &Named| identity(&named.path).is_some_and(|now| now != *of) || !named.path.exists();
        let file = matches!(of, Identity::File(..));
        if file && self.0.get(of).is_some_and(|named| !is_stream(&named.path) && stale(named)) {
            self.0.remove(of);
        }
    }

    /// Registers an output.
    ///
    /// # Errors
    /// The file is also an input, or another output.
    pub fn writes(&mut self, option: &str, path: &Path) -> Result<()> {
        let Some(identity) = identity(path) else { return Ok(()) };
        self.forget_stale(&identity);
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
        self.add(Some(identity), option.to_string().into(), path, true);
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

/// Whether a name is that of a standard stream, which leads to no file.
fn is_stream(path: &Path) -> bool {
    ["standard output", "standard error", "-"].iter().any(|name| path.as_os_str() == *name)
}

/// A named pipe, by device and inode.
#[cfg(unix)]
fn of_pipe(meta: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    meta.file_type().is_fifo().then(|| (meta.dev(), meta.ino()))
}

#[cfg(not(unix))]
fn of_pipe(_meta: &Metadata) -> Option<(u64, u64)> {
    None
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

/// The ledger of the command that this process runs.
#[derive(Default)]
struct Ledger {
    files: Files,
    /// Pipes that were opened, by device and inode: each can be read once.
    pipes: HashSet<(u64, u64)>,
    /// Folders of stores.
    stores: Vec<PathBuf>,
}

/// None in a program that uses this library: it may write what it has read before.
static COMMAND: Mutex<Option<Ledger>> = Mutex::new(None);

fn command() -> MutexGuard<'static, Option<Ledger>> {
    COMMAND.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Begins the ledger of a command: from here on, no output of this process replaces one of its inputs, and no pipe is opened twice.
pub fn guard() {
    let files = Files::new();
    *command() = Some(Ledger { files, ..Ledger::default() });
    ssdlab_trace::ask_before_opening(|path| opening(path).map_err(|error| error.message));
}

/// Whether a path leads to something other than a regular file or a folder: a pipe, a terminal or another device.
pub fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| !meta.is_file() && !meta.is_dir())
}

/// Enters an input in the ledger, before it is opened or where what is known of it is used in its place.
///
/// # Errors
/// It is what an option writes, or a pipe that was read before.
pub fn opening(path: &Path) -> Result<()> {
    let mut command = command();
    let Some(ledger) = command.as_mut() else { return Ok(()) };
    let Ok(meta) = fs::metadata(path) else { return Ok(()) };
    if let Some(pipe) = of_pipe(&meta)
        && !ledger.pipes.insert(pipe)
    {
        let message = format!("{} is a pipe and was read already: a pipe can be read only once", path.display());
        return Err(Error::usage(message).help("save what it gives to a file"));
    }
    if !meta.is_file() {
        return Ok(());
    }
    let identity = of_file(&meta, path);
    ledger.files.forget_stale(&identity);
    if let Some(named) = ledger.files.0.get(&identity).filter(|named| named.written && !is_stream(&named.path)) {
        let message =
            format!("{} is read, but {} {} would replace it", path.display(), named.option, named.path.display());
        return Err(Error::usage(message).help("use a separate file for each"));
    }
    ledger.files.add(Some(identity), INPUT, path, false);
    Ok(())
}

/// What the ledger calls files that no option named.
const INPUT: Cow<'static, str> = Cow::Borrowed("the command");
const OUTPUT: &str = "the output";

/// Protects the files of a store, also those that are not read.
pub fn protect(store: &Path) {
    if let (Some(ledger), Ok(path)) = (command().as_mut(), store.canonicalize())
        && !ledger.stores.contains(&path)
    {
        ledger.stores.push(path);
    }
}

/// Whether a file of a store is one that only the store writes: not a table that was kept of a run, and not a list of points.
fn is_of_store(file: &Path) -> bool {
    let names: Vec<Cow<'_, str>> = file.iter().map(|name| name.to_string_lossy()).collect();
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names[..] {
        ["store.json" | "hashes.json" | "footprints.json"] => true,
        ["runs", .., _] => !names.iter().any(|name| name.ends_with(".d")),
        ["claims" | "broken", ..] => true,
        ["studies", _, name] => !name.starts_with("points."),
        ["studies", _, "policies", ..] => true,
        _ => false,
    }
}

/// An output of a command, until it is dropped. It keeps other outputs and all inputs off the file.
#[derive(Debug, Default)]
pub(crate) struct Claim(Option<Identity>);

impl Claim {
    /// Claims a file before it is created or replaced.
    ///
    /// # Errors
    /// The command reads it, or writes it already, or it is of a store.
    pub(crate) fn new(path: &Path) -> Result<Claim> {
        let mut command = command();
        let (Some(ledger), Some(identity)) = (command.as_mut(), identity(path)) else { return Ok(Claim(None)) };
        let target = resolved(path);
        let place = directory(&target).canonicalize().ok().zip(target.file_name());
        if let Some(place) = place.map(|(folder, name)| folder.join(name)) {
            let inside = |store: &&PathBuf| place.strip_prefix(store).is_ok_and(is_of_store);
            if let Some(store) = ledger.stores.iter().find(inside) {
                let message =
                    format!("{OUTPUT} {} would replace a file of the store {}", path.display(), store.display());
                return Err(Error::usage(message).help("write it to another folder"));
            }
        }
        ledger.files.writes(OUTPUT, path)?;
        Ok(Claim(Some(identity)))
    }

    /// Claims a file that the command has read, to change it: an option says that it does.
    ///
    /// # Errors
    /// The command writes it already, or it is of a store.
    pub(crate) fn changed(path: &Path) -> Result<Claim> {
        if let (Some(ledger), Some(identity)) = (command().as_mut(), identity(path))
            && ledger.files.0.get(&identity).is_some_and(|named| !named.written)
        {
            ledger.files.0.remove(&identity);
        }
        Claim::new(path)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if let (Some(identity), Some(ledger)) = (self.0.take(), command().as_mut()) {
            ledger.files.0.remove(&identity);
        }
    }
}

/// Opens a file that is read once, from beginning to end; `what` names its purpose: "configuration", "import". It may be a pipe.
///
/// # Errors
/// It can't be opened, is a folder, or is an output of the command.
pub fn open(what: &str, path: &Path) -> Result<File> {
    opening(path)?;
    let cannot = |error: io::Error| Error::file(&format!("read the {what}"), path, &error);
    let file = File::open(path).map_err(cannot)?;
    match file.metadata().map_err(cannot)?.is_dir() {
        true => Err(cannot(io::ErrorKind::IsADirectory.into())),
        false => Ok(file),
    }
}

/// Opens a file that may be read more than once. A pipe or a device is refused before it is opened, so nothing waits for it.
///
/// # Errors
/// It is not a regular file, or as [`open`].
pub fn open_regular(what: &str, path: &Path) -> Result<File> {
    regular(what, path)?;
    open(what, path)
}

/// Checks that a file is a regular one, or is not there.
///
/// # Errors
/// It is a pipe or a device: [`Kind::File`].
pub fn regular(what: &str, path: &Path) -> Result<()> {
    if !is_special(path) {
        return Ok(());
    }
    let kind = Kind::File { path: path.into(), cause: io::ErrorKind::InvalidInput, code: None };
    let message = format!("cannot read the {what} {}: it is not a regular file", path.display());
    Err(Error::new(kind, message).help("save what it gives to a file"))
}

/// The bytes of a regular file of at most so many.
///
/// # Errors
/// It is longer ([`Kind::Data`]), or as [`open_regular`].
pub fn read(what: &str, path: &Path, most: u64) -> Result<Vec<u8>> {
    let file = open_regular(what, path)?;
    let mut bytes = Vec::new();
    file.take(most + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Error::file(&format!("read the {what}"), path, &error))?;
    if bytes.len() as u64 > most {
        let kind = Kind::Data { path: path.into() };
        return Err(Error::new(
            kind,
            format!("{} is longer than {} MiB, the limit for a {what}", path.display(), most >> 20),
        ));
    }
    Ok(bytes)
}

/// The entries of a folder, sorted.
///
/// # Errors
/// The folder can't be read.
pub fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let read = || fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>();
    let mut paths = read().map_err(|error| Error::file("read", folder, &error))?;
    paths.sort();
    Ok(paths)
}

/// As [`read`], as text.
///
/// # Errors
/// It is not UTF-8, or as [`read`].
pub fn read_data(what: &str, path: &Path, most: u64) -> Result<String> {
    String::from_utf8(read(what, path, most)?).map_err(|error| {
        let kind = Kind::Data { path: path.into() };
        Error::new(
            kind,
            format!("{}: not UTF-8 text: invalid byte {}", path.display(), error.utf8_error().valid_up_to()),
        )
    })
}

/// Limit on files of results that are read whole. The summary of the largest configuration, and what a store knows of a hundred
/// thousand traces, are far below.
pub const MOST_BYTES: u64 = 256 << 20;

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
    open(what, path)?.take(LONGEST + 1).read_to_end(&mut bytes).map_err(cannot)?;
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
