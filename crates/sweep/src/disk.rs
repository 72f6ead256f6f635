//! The files of a store: each appears whole or not at all. Every step can be made to fail, so that tests see what is left.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use tempfile::Builder;

use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::files::directory;
use ssdlab_lab::output;

/// A step of writing a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The folder is made.
    Folder,
    /// The temporary file is created.
    Create,
    /// Its content is written.
    Write,
    /// It is synced.
    Sync,
    /// It gets its name.
    Rename,
    /// The folder is synced.
    SyncFolder,
    /// A file or folder is removed.
    Remove,
}

/// Lets a step fail.
pub type Fault = Arc<dyn Fn(Step, &Path) -> io::Result<()> + Send + Sync>;

/// The file system, with faults if a test wants some.
#[derive(Clone, Default)]
pub struct Disk {
    fault: Option<Fault>,
}

impl std::fmt::Debug for Disk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Disk").field("faults", &self.fault.is_some()).finish()
    }
}

/// How names of temporary files begin.
pub const TEMPORARY: &str = ".tmp-";

impl Disk {
    /// A file system whose steps may fail.
    pub fn failing(fault: Fault) -> Disk {
        Disk { fault: Some(fault) }
    }

    fn step(&self, step: Step, path: &Path) -> io::Result<()> {
        self.fault.as_ref().map_or(Ok(()), |fault| fault(step, path))
    }

    /// Writes a file: under a temporary name, synced, renamed, and the folder synced.
    ///
    /// # Errors
    /// One of the steps fails; the file then has its old content or its new one.
    pub fn write(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        let cannot = |error: io::Error| Error::file("write", path, &error);
        let folder = directory(path);
        self.folder(folder)?;
        self.step(Step::Create, path).map_err(cannot)?;
        let mut builder = Builder::new();
        builder.prefix(TEMPORARY).rand_bytes(12);
        output::ordinary().map(|permissions| builder.permissions(permissions));
        let mut temporary = builder.tempfile_in(folder).map_err(cannot)?;
        output::lock(temporary.as_file());
        let kept = output::Kept::new(temporary.path());
        let content = |temporary: &mut tempfile::NamedTempFile| {
            self.step(Step::Write, path)?;
            temporary.write_all(bytes)?;
            self.step(Step::Sync, path)?;
            temporary.as_file().sync_all()?;
            self.step(Step::Rename, path)
        };
        content(&mut temporary).map_err(cannot)?;
        temporary.persist(path).map_err(|error| cannot(error.error))?;
        drop(kept);
        self.sync(folder).map_err(cannot)
    }

    /// Makes a folder, if it is not there.
    ///
    /// # Errors
    /// It can't be made.
    pub fn folder(&self, folder: &Path) -> Result<()> {
        if folder.is_dir() {
            return Ok(());
        }
        let made = self.step(Step::Folder, folder).and_then(|()| std::fs::create_dir_all(folder));
        made.map_err(|error| Error::file("write", folder, &error))
    }

    /// Brings the names in a folder to disk.
    fn sync(&self, folder: &Path) -> io::Result<()> {
        self.step(Step::SyncFolder, folder)?;
        // Not every file system syncs folders; those that do not keep names by themselves.
        match File::open(folder).and_then(|folder| folder.sync_all()) {
            Err(error) if error.kind() == io::ErrorKind::StorageFull => Err(error),
            _ => Ok(()),
        }
    }

    /// Creates a file that must not exist; `false` if it does.
    ///
    /// # Errors
    /// It can't be created.
    pub fn create(&self, path: &Path, text: &str) -> Result<bool> {
        let cannot = |error: io::Error| Error::file("write", path, &error);
        self.folder(directory(path))?;
        self.step(Step::Create, path).map_err(cannot)?;
        match File::options().write(true).create_new(true).open(path) {
            Ok(mut file) => {
                let written = self.step(Step::Write, path).and_then(|()| file.write_all(text.as_bytes()));
                if written.is_err() {
                    // What can't be removed either is taken for that of a process that was killed.
                    let _ = std::fs::remove_file(path);
                }
                written.map(|()| true).map_err(cannot)
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(cannot(error)),
        }
    }

    /// Moves a file within the store; `false` if it is not there (any more).
    ///
    /// # Errors
    /// It can't be moved.
    pub fn rename(&self, from: &Path, to: &Path) -> Result<bool> {
        match self.step(Step::Rename, from).and_then(|()| std::fs::rename(from, to)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(Error::file("write", to, &error)),
        }
    }

    /// Gives a complete file its name.
    ///
    /// # Errors
    /// It can't be renamed, or its folder not synced.
    pub fn publish(&self, file: output::Finished) -> Result<()> {
        let path = file.path().to_path_buf();
        let cannot = |error: io::Error| Error::file("write", &path, &error);
        self.step(Step::Rename, &path).map_err(cannot)?;
        file.publish()?;
        self.sync(directory(&path)).map_err(cannot)
    }

    /// Removes a folder with all that is in it, if it is there.
    ///
    /// # Errors
    /// It can't be removed.
    pub fn remove_folder(&self, folder: &Path) -> Result<()> {
        self.remove_by(folder, |folder| std::fs::remove_dir_all(folder))
    }

    /// Removes a file, if it is there.
    ///
    /// # Errors
    /// It can't be removed.
    pub fn remove(&self, path: &Path) -> Result<()> {
        self.remove_by(path, |path| std::fs::remove_file(path))
    }

    fn remove_by(&self, path: &Path, remove: fn(&Path) -> io::Result<()>) -> Result<()> {
        match self.step(Step::Remove, path).and_then(|()| remove(path)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::file("remove", path, &error)),
            _ => Ok(()),
        }
    }
}
