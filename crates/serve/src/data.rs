//! Where the bytes are: in the simulated drive's own memory, or in a file.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FlockOperation, flock};
use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::text::size;

/// A file that holds the data of the drive, as large as the drive, with holes where nothing was written.
///
/// While it is served, a second file beside it, `FILE.serving`, says so. It stays if the server is killed.
#[derive(Debug)]
pub(crate) struct Image {
    pub(crate) file: Arc<File>,
    marker: PathBuf,
}

impl Image {
    /// Opens the file, or creates it. True: the server that had it was killed.
    ///
    /// # Errors
    /// It can't be opened or created, is of another size, or another server has it.
    pub(crate) fn open(path: &Path, bytes: u64) -> Result<(Image, bool)> {
        let cannot = |error: &io::Error| Error::file("open", path, error);
        ssdlab_lab::files::regular("data", path)?;
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let file = file.map_err(|error| cannot(&error))?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            let message = format!("{} is served by another process", path.display());
            return Err(Error::usage(message).help("end that server, or name another file with --data"));
        }
        let length = file.metadata().map_err(|error| cannot(&error))?.len();
        if length == 0 {
            file.set_len(bytes).and_then(|()| file.sync_all()).map_err(|error| Error::file("create", path, &error))?;
        } else if length != bytes {
            let message = format!("--data {} has {length} bytes, but the drive exports {bytes}", path.display());
            let help = format!("name another file, or give the drive this capacity ({})", size(length));
            return Err(Error::usage(message).help(help));
        }
        let mut marker = path.as_os_str().to_owned();
        marker.push(".serving");
        let marker = PathBuf::from(marker);
        let was_killed = marker.exists();
        std::fs::write(&marker, "").map_err(|error| Error::file("write", &marker, &error))?;
        Ok((Image { file: Arc::new(file), marker }, was_killed))
    }

    pub(crate) fn read(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(into, offset)
    }

    pub(crate) fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.file.write_all_at(data, offset)
    }

    /// Makes a range zeros, as a hole where the file system has holes.
    pub(crate) fn zero(&self, offset: u64, bytes: u64) -> io::Result<()> {
        if self.punch(offset, bytes)? {
            return Ok(());
        }
        let zeros = vec![0; bytes.min(1 << 20) as usize];
        let end = offset + bytes;
        (offset..end).step_by(zeros.len()).try_for_each(|at| {
            let part = zeros.len().min((end - at) as usize);
            self.file.write_all_at(&zeros[..part], at)
        })
    }

    /// Makes a range a hole. False: the file system has none.
    #[cfg(target_os = "linux")]
    fn punch(&self, offset: u64, bytes: u64) -> io::Result<bool> {
        use rustix::fs::{FallocateFlags, fallocate};
        match fallocate(&*self.file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, offset, bytes) {
            Ok(()) => Ok(true),
            Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn punch(&self, _offset: u64, _bytes: u64) -> io::Result<bool> {
        Ok(false)
    }

    /// Ends a session as planned.
    pub(crate) fn close(self, path: &Path) -> Result<()> {
        self.file.sync_all().map_err(|error| Error::file("write", path, &error))?;
        std::fs::remove_file(&self.marker).map_err(|error| Error::file("remove", &self.marker, &error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_sparse_whole_and_of_one_server() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        let (image, was_killed) = Image::open(&path, 1 << 30).unwrap();
        assert!(!was_killed);
        assert!(Image::open(&path, 1 << 30).unwrap_err().message.contains("another process"));
        image.write(4096, &[7; 8192]).unwrap();
        image.zero(4096, 4096).unwrap();
        let mut data = [1; 8192];
        image.read(4096, &mut data).unwrap();
        assert_eq!((data[0], data[4095], data[4096]), (0, 0, 7));
        drop(image);
        let (image, was_killed) = Image::open(&path, 1 << 30).unwrap();
        assert!(was_killed, "it was not closed");
        image.read(8192, &mut data[..512]).unwrap();
        assert_eq!(data[0], 7);
        image.close(&path).unwrap();
        assert!(
            Image::open(&path, 1 << 20)
                .unwrap_err()
                .message
                .contains("1073741824 bytes, but the drive exports 1048576")
        );
        use std::os::unix::fs::MetadataExt;
        let held = path.metadata().unwrap();
        assert!(held.len() == 1 << 30 && held.blocks() < 2048, "{} blocks", held.blocks());
        assert!(!Image::open(&path, 1 << 30).unwrap().1);
    }
}
