//! Output files that appear whole or not at all.
//!
//! A file is written under a temporary name in the target directory, synced and renamed. The process keeps a list of its
//! temporary files, so that a signal handler can remove them: see [`abandon`]. Files left by a process that was killed are
//! removed by the next run that writes to the same directory: see [`tidy`]. A [`Folder`] is the same for a folder of files.

use std::collections::BTreeSet;
use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::{Builder, TempDir, TempPath};

use crate::error::{Error, Result};
use crate::files::{Claim, directory, resolved};

/// Temporary files of this process.
struct Temporary {
    files: Vec<PathBuf>,
    /// Directories already searched for files of dead processes.
    tidied: BTreeSet<PathBuf>,
}

static TEMPORARY: Mutex<Temporary> = Mutex::new(Temporary { files: Vec::new(), tidied: BTreeSet::new() });

fn temporary() -> MutexGuard<'static, Temporary> {
    TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes every temporary file and folder before the process exits. The list stays locked, so that no new one can appear.
pub fn abandon() {
    let list = temporary();
    for path in &list.files {
        let _ = remove(path);
    }
    std::mem::forget(list);
}

/// An unfinished output file.
#[derive(Debug)]
pub struct Output {
    path: PathBuf,
    writer: BufWriter<File>,
    /// None if the target is not a regular file (a pipe, a device): it is written directly.
    temporary: Option<TempPath>,
    claim: Claim,
}

impl Output {
    /// Creates the file.
    ///
    /// # Errors
    /// The command reads the file or writes it already: a usage error. The file can't be created:
    /// [`Kind::File`](crate::error::Kind::File), as for all methods below.
    pub fn create(path: &Path) -> Result<Output> {
        Output::begin(path, Claim::new(path)?)
    }

    /// Creates a file in place of one that the command has read and changes, as an option says.
    ///
    /// # Errors
    /// As [`Output::create`], but for the input.
    pub fn changed(path: &Path) -> Result<Output> {
        Output::begin(path, Claim::changed(path)?)
    }

    /// Creates a file that this program alone uses, such as one of a cache, which several threads may write at a time.
    ///
    /// # Errors
    /// The file can't be created.
    pub fn internal(path: &Path) -> Result<Output> {
        Output::begin(path, Claim::default())
    }

    fn begin(path: &Path, held: Claim) -> Result<Output> {
        let cannot = |error: io::Error| Error::file("write", path, &error);
        let existing = std::fs::metadata(path).ok();
        if existing.as_ref().is_some_and(|meta| !meta.is_file() && !meta.is_dir()) {
            let file = File::options().write(true).open(path).map_err(cannot)?;
            return Ok(Output { path: path.into(), writer: BufWriter::new(file), temporary: None, claim: held });
        }
        if existing.as_ref().is_some_and(std::fs::Metadata::is_dir) {
            return Err(cannot(io::ErrorKind::IsADirectory.into()));
        }
        // Links are followed: the target is replaced, not the link.
        let target = if existing.is_some() { path.canonicalize().map_err(cannot)? } else { resolved(path) };
        let directory = directory(&target);
        let prefix = own_prefix();
        let builder = builder(&prefix, existing.map_or_else(ordinary, |meta| Some(meta.permissions())));
        let mut list = temporary();
        if list.tidied.insert(directory.to_path_buf()) {
            tidy(directory);
        }
        let (file, temporary) = loop {
            let (file, temporary) = builder.tempfile_in(directory).map_err(cannot)?.into_parts();
            if lock(&file) {
                break (file, temporary);
            }
        };
        list.files.push(temporary.to_path_buf());
        let writer = BufWriter::with_capacity(1 << 16, file);
        Ok(Output { path: target, writer, temporary: Some(temporary), claim: held })
    }

    /// Writes bytes.
    ///
    /// # Errors
    /// The file system takes no more.
    pub fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.writer.write_all(bytes).map_err(|error| Error::file("write", &self.path, &error))
    }

    /// Writes the rest of it, and finishes it.
    ///
    /// # Errors
    /// The file system takes no more.
    pub fn complete(mut self, bytes: &[u8]) -> Result<Finished> {
        self.put(bytes)?;
        self.finish()
    }

    /// Syncs the file to disk, still under its temporary name.
    ///
    /// # Errors
    /// The file system takes no more.
    pub fn finish(mut self) -> Result<Finished> {
        let done = self.writer.flush().and_then(|()| match self.temporary {
            Some(_) => self.writer.get_ref().sync_all(),
            None => Ok(()),
        });
        done.map_err(|error| Error::file("write", &self.path, &error))?;
        Ok(Finished { path: self.path, temporary: self.temporary, _claim: self.claim })
    }
}

/// Writes a whole file, still under its temporary name.
///
/// # Errors
/// As [`Output::create`] and [`Output::complete`].
pub fn whole(path: &Path, bytes: &[u8]) -> Result<Finished> {
    Output::create(path)?.complete(bytes)
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// A complete output file, not visible yet.
#[derive(Debug)]
pub struct Finished {
    path: PathBuf,
    temporary: Option<TempPath>,
    /// Held until the file has its name.
    _claim: Claim,
}

impl Finished {
    /// Its final name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where its content is until it is published; none where it was written directly, to a pipe or a device.
    pub fn content(&self) -> Option<&Path> {
        self.temporary.as_deref()
    }

    /// Renames it to its final name.
    ///
    /// # Errors
    /// The temporary file can't be renamed.
    pub fn publish(self) -> Result<()> {
        let Some(temporary_path) = self.temporary else { return Ok(()) };
        let mut list = temporary();
        let name = temporary_path.to_path_buf();
        temporary_path.persist(&self.path).map_err(|error| Error::file("write", &self.path, &error.error))?;
        list.files.retain(|known| *known != name);
        Ok(())
    }
}

/// Removes a file, or a folder with all that is in it. Links are not followed.
fn remove(path: &Path) -> io::Result<()> {
    match std::fs::symlink_metadata(path)?.is_dir() {
        true => std::fs::remove_dir_all(path),
        false => std::fs::remove_file(path),
    }
}

/// A folder of files that appears whole or not at all: it is filled under a temporary name beside the target.
#[derive(Debug)]
pub struct Folder {
    /// None: it is for this process alone, and never gets a name.
    target: Option<PathBuf>,
    temporary: TempDir,
    /// Keeps the lock that tells other processes that this one is alive.
    _lock: Option<File>,
    kept: Kept,
}

impl Folder {
    /// Begins a folder.
    ///
    /// # Errors
    /// The target exists and is not an empty folder: a usage error. It can't be created:
    /// [`Kind::File`](crate::error::Kind::File), as for all methods below.
    pub fn create(path: &Path) -> Result<Folder> {
        let cannot = |error: io::Error| Error::file("write", path, &error);
        match std::fs::read_dir(path).map(|mut entries| entries.next().is_none()) {
            Ok(true) => {}
            Ok(false) => {
                return Err(Error::usage(format!("{} is there already and not empty", path.display()))
                    .help("name a folder that does not exist"));
            }
            Err(_) if std::fs::symlink_metadata(path).is_ok() => {
                return Err(Error::usage(format!("{} is there already and no folder", path.display()))
                    .help("name a folder that does not exist"));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(cannot(error)),
        }
        let (temporary, lock, kept) = Folder::begin(directory(path), permissions(0o777)).map_err(cannot)?;
        Ok(Folder { target: Some(path.into()), temporary, _lock: lock, kept })
    }

    /// A folder for this process alone, among the temporary files of the system. It is removed with its value.
    ///
    /// # Errors
    /// It can't be created.
    pub fn scratch() -> Result<Folder> {
        let place = std::env::temp_dir();
        let made = Folder::begin(&place, None);
        let (temporary, lock, kept) = made.map_err(|error| Error::file("write to", &place, &error))?;
        Ok(Folder { target: None, temporary, _lock: lock, kept })
    }

    fn begin(place: &Path, permissions: Option<Permissions>) -> io::Result<(TempDir, Option<File>, Kept)> {
        let fresh = temporary().tidied.insert(place.to_path_buf());
        if fresh {
            tidy(place);
        }
        let made = builder(&own_prefix(), permissions).tempdir_in(place)?;
        // Where folders can't be opened there are no locks either.
        let lock = File::open(made.path()).ok().filter(lock);
        let kept = Kept::new(made.path());
        Ok((made, lock, kept))
    }

    /// Where its files are until it is published.
    pub fn place(&self) -> &Path {
        self.temporary.path()
    }

    /// Creates a file in it, with the folders above it. It must not exist. The name is relative, without `..`.
    ///
    /// # Errors
    /// The file system takes no more.
    pub fn file(&self, name: &str) -> Result<FolderFile> {
        let path = self.place().join(name);
        let cannot = |error: io::Error| Error::file("write", &path, &error);
        std::fs::create_dir_all(directory(&path)).map_err(cannot)?;
        let file = File::options().write(true).create_new(true).open(&path).map_err(cannot)?;
        Ok(FolderFile { sync: self.target.is_some(), writer: BufWriter::with_capacity(1 << 16, file), path })
    }

    /// Writes a whole file: see [`Folder::file`].
    ///
    /// # Errors
    /// The file system takes no more.
    pub fn put(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let mut file = self.file(name)?;
        file.write_all(bytes).map_err(|error| Error::file("write", &file.path, &error))?;
        file.finish()
    }

    /// Gives it its name. One for this process alone is removed.
    ///
    /// # Errors
    /// It can't be renamed.
    pub fn publish(self) -> Result<()> {
        let Some(target) = &self.target else { return Ok(()) };
        // An empty folder is replaced; not every system does that by renaming.
        let _ = std::fs::remove_dir(target);
        std::fs::rename(self.temporary.path(), target).map_err(|error| Error::file("write", target, &error))?;
        drop(self.kept);
        // It has another name now.
        let _ = self.temporary.keep();
        Ok(())
    }
}

/// A file of a [`Folder`].
#[derive(Debug)]
pub struct FolderFile {
    path: PathBuf,
    writer: BufWriter<File>,
    sync: bool,
}

impl FolderFile {
    /// Completes it.
    ///
    /// # Errors
    /// The file system takes no more.
    pub fn finish(mut self) -> Result<()> {
        let done = self.writer.flush().and_then(|()| if self.sync { self.writer.get_ref().sync_all() } else { Ok(()) });
        done.map_err(|error| Error::file("write", &self.path, &error))
    }
}

impl Write for FolderFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// A file that is removed if a signal ends the process, until this is dropped.
#[derive(Debug)]
pub struct Kept(PathBuf);

impl Kept {
    /// Of a file that exists.
    pub fn new(path: &Path) -> Kept {
        temporary().files.push(path.to_path_buf());
        Kept(path.to_path_buf())
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        temporary().files.retain(|known| *known != self.0);
    }
}

/// How the names of temporary files of this process begin.
fn own_prefix() -> String {
    format!("{}{}-", prefix(), std::process::id())
}

/// Makes temporary files and folders of this process.
fn builder(prefix: &str, permissions: Option<Permissions>) -> Builder<'_, '_> {
    let mut builder = Builder::new();
    builder.prefix(prefix).suffix(SUFFIX);
    permissions.into_iter().for_each(|permissions| _ = builder.permissions(permissions));
    builder
}

/// The ending of the names of temporary files. They begin with [`prefix`], the number of the process and `-`.
const SUFFIX: &str = ".part";

#[cfg(unix)]
fn prefix() -> String {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '.' { c } else { '_' };
    format!(".ssdlab-{}-", host.chars().map(plain).take(64).collect::<String>())
}

/// Locks a temporary file while it is open. False: another process holds it, or has just taken a new one for a dead process's
/// file and removes it. On a file system without locks that cannot happen.
#[cfg(unix)]
pub fn lock(file: &File) -> bool {
    use rustix::fs::{FlockOperation, flock};
    use std::os::unix::fs::MetadataExt;
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => file.metadata().is_ok_and(|meta| meta.nlink() > 0),
        Err(error) => error != rustix::io::Errno::WOULDBLOCK,
    }
}

/// Removes what dead processes left in a directory: files and folders with the name of a temporary file of this host whose process
/// number is not in use and whose lock is free. (The lock covers processes in another container with the same host name.)
#[cfg(unix)]
fn tidy(directory: &Path) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    let prefix = prefix();
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let inner = name.strip_prefix(&prefix).and_then(|rest| rest.strip_suffix(SUFFIX));
        let process = inner.and_then(|inner| inner.split_once('-')).filter(|(_, random)| !random.contains('-'));
        let Some(process) = process.and_then(|(number, _)| rustix::process::Pid::from_raw(number.parse().ok()?)) else {
            continue;
        };
        let gone = rustix::process::test_kill_process(process) == Err(rustix::io::Errno::SRCH);
        if gone && entry.file_type().is_ok_and(|kind| kind.is_file() || kind.is_dir()) {
            // Cleaning up is optional: files that can't be removed stay.
            let _ = File::open(entry.path()).map(|file| lock(&file).then(|| remove(&entry.path())));
        }
    }
}

#[cfg(not(unix))]
fn prefix() -> String {
    ".ssdlab-".into()
}

/// Locks a temporary file where the system has such locks.
#[cfg(not(unix))]
pub fn lock(_file: &File) -> bool {
    true
}

#[cfg(not(unix))]
fn tidy(_directory: &Path) {}

/// The permissions of an ordinary new file; the umask applies.
pub fn ordinary() -> Option<Permissions> {
    permissions(0o666)
}

#[cfg(unix)]
fn permissions(mode: u32) -> Option<Permissions> {
    use std::os::unix::fs::PermissionsExt;
    Some(Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn permissions(_mode: u32) -> Option<Permissions> {
    None
}
