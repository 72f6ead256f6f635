//! Output files that appear whole or not at all.
//!
//! A file is written under a temporary name in its own directory, brought to disk and renamed. Temporary files that exist
//! are known to the interrupt handler, which removes them.

use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::{Builder, TempPath};

use crate::fault::{Fault, Result};

static TEMPORARY: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn temporary() -> MutexGuard<'static, Vec<PathBuf>> {
    TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes every temporary file; the process ends next. The list stays locked, so that no new one appears.
pub fn abandon() {
    let list = temporary();
    for path in list.iter() {
        let _ = std::fs::remove_file(path);
    }
    std::mem::forget(list);
}

/// An output file in the making.
#[derive(Debug)]
pub struct Output {
    path: PathBuf,
    writer: BufWriter<File>,
    /// None where the target is no regular file (a pipe, a device): it is written as it comes.
    temporary: Option<TempPath>,
}

impl Output {
    /// Begins a file; fails at once where it could never be written.
    pub fn create(path: &Path) -> Result<Output> {
        let cannot = |error: io::Error| Fault::file("write", path, &error);
        let existing = std::fs::metadata(path).ok();
        if existing.as_ref().is_some_and(|meta| !meta.is_file() && !meta.is_dir()) {
            let file = File::options().write(true).open(path).map_err(cannot)?;
            return Ok(Output { path: path.into(), writer: BufWriter::new(file), temporary: None });
        }
        if existing.as_ref().is_some_and(std::fs::Metadata::is_dir) {
            return Err(cannot(io::ErrorKind::IsADirectory.into()));
        }
        // A link is followed: its target is replaced, not the link.
        let target = if existing.is_some() { path.canonicalize().map_err(cannot)? } else { path.to_path_buf() };
        let directory = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut builder = Builder::new();
        builder.prefix(".ssdlab-").suffix(".part");
        let permissions = existing.map_or_else(ordinary, |meta| Some(meta.permissions()));
        if let Some(permissions) = permissions {
            builder.permissions(permissions);
        }
        let mut list = temporary();
        let (file, temporary) = builder.tempfile_in(directory).map_err(cannot)?.into_parts();
        list.push(temporary.to_path_buf());
        Ok(Output { path: target, writer: BufWriter::with_capacity(1 << 16, file), temporary: Some(temporary) })
    }

    /// Writes bytes.
    pub fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.writer.write_all(bytes).map_err(|error| Fault::file("write", &self.path, &error))
    }

    /// Brings everything to disk, under the temporary name still.
    pub fn finish(mut self) -> Result<Finished> {
        let done = self.writer.flush().and_then(|()| match self.temporary {
            Some(_) => self.writer.get_ref().sync_all(),
            None => Ok(()),
        });
        done.map_err(|error| Fault::file("write", &self.path, &error))?;
        Ok(Finished { path: self.path, temporary: self.temporary })
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// An output file that is complete but not visible yet.
#[derive(Debug)]
pub struct Finished {
    path: PathBuf,
    temporary: Option<TempPath>,
}

impl Finished {
    /// Makes it visible under its name.
    pub fn publish(self) -> Result<()> {
        let Some(temporary_path) = self.temporary else { return Ok(()) };
        let mut list = temporary();
        let name = temporary_path.to_path_buf();
        temporary_path.persist(&self.path).map_err(|error| Fault::file("write", &self.path, &error.error))?;
        list.retain(|known| *known != name);
        Ok(())
    }
}

/// What a file gets that is created in the ordinary way; the umask applies.
#[cfg(unix)]
fn ordinary() -> Option<Permissions> {
    use std::os::unix::fs::PermissionsExt;
    Some(Permissions::from_mode(0o666))
}

#[cfg(not(unix))]
fn ordinary() -> Option<Permissions> {
    None
}

/// Writes results on standard output. A reader that has seen enough and left is no error.
pub fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Fault::file("write", Path::new("standard output"), &error))
        }
        _ => Ok(()),
    }
}
