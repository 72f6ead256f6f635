//! Reads the archive as strictly as it is written: a block that [`crate::pack`] would not have written there ends the reading, before
//! anything is done with it. So there is no path, link or length to be trusted.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::files;
use ssdlab_lab::names::clip;
use ssdlab_lab::output::Folder;
use ssdlab_lab::text::size;
use tar::{EntryType, Header};
use zstd::stream::read::Decoder;

use crate::manifest::{FilePart, MOST_MANIFEST, Manifest, NAME, wrong};
use crate::pack::{BLOCK, END, header, padding};
use crate::seal::{self, Hashed, Sealed};

/// Most bytes that files of a bundle may have together, unless the caller says otherwise.
pub const MOST: u64 = 4 << 30;
/// Largest window of the decompressor: 128 MiB, as much as it may need of memory.
const WINDOW: u32 = 27;

/// A bundle that is being read. Its seal holds.
pub struct Bundle {
    /// Its name.
    pub path: PathBuf,
    /// Its seal.
    pub sealed: Sealed,
    /// What it says of itself.
    pub manifest: Manifest,
    blocks: Blocks,
}

/// The blocks of the archive.
struct Blocks {
    bundle: PathBuf,
    reader: Decoder<'static, BufReader<io::Take<File>>>,
}

impl Bundle {
    /// Opens a bundle and reads its manifest; `digest` is what its SHA-256 must be.
    ///
    /// # Errors
    /// It can't be read, is no bundle, has changed, or has another digest.
    pub fn open(path: &Path, digest: Option<&str>) -> Result<Bundle> {
        let mut file = files::open_regular("bundle", path)?;
        let sealed = seal::check(path, &mut file)?;
        if let Some(expected) = digest.filter(|expected| *expected != sealed.sha256) {
            return Err(wrong(path, format!("its SHA-256 is {}, not {expected}", sealed.sha256))
                .help("get the file again, and the digest from where it is published"));
        }
        let reader = Decoder::with_buffer(BufReader::with_capacity(1 << 16, file.take(sealed.body)));
        let mut reader = reader.map_err(|error| unreadable(path, &error))?;
        reader.window_log_max(WINDOW).map_err(|error| unreadable(path, &error))?;
        let mut blocks = Blocks { bundle: path.into(), reader };
        let manifest = blocks.manifest()?;
        Ok(Bundle { path: path.into(), sealed, manifest, blocks })
    }

    /// Reads all files to their ends, checks their digests, and hands them to `each` on the way.
    ///
    /// # Errors
    /// They have more than `most` bytes together, the archive is not the one that the manifest announces, or `each` fails.
    pub fn files(
        mut self,
        most: u64,
        each: &mut dyn FnMut(&FilePart, &mut dyn Read) -> Result<()>,
    ) -> Result<Manifest> {
        let announced = self.manifest.bytes();
        if announced > most {
            let message = format!("its files have {announced} bytes together, more than the limit of {}", size(most));
            return Err(
                wrong(&self.path, message).help("if that is what it should have, raise the limit with --max-size")
            );
        }
        for part in &self.manifest.files {
            self.blocks.file(part, each)?;
        }
        self.blocks.end()?;
        Ok(self.manifest)
    }

    /// Writes all files to a folder that is empty.
    ///
    /// # Errors
    /// As [`Bundle::files`], or a file can't be written. Nothing is left then.
    pub fn extract(self, most: u64, folder: &Folder) -> Result<Manifest> {
        let bundle = self.path.clone();
        let manifest = self.files(most, &mut |part, content| {
            let mut file = folder.file(&part.path)?;
            io::copy(content, &mut file)
                .map_err(|error| Error::file("write", &folder.place().join(&part.path), &error))?;
            file.finish()
        });
        let manifest =
            manifest.map_err(|error| error.note(format!("nothing of {} was extracted", bundle.display())))?;
        folder.put(NAME, manifest.text().as_bytes())?;
        Ok(manifest)
    }
}

/// The error of an archive that can't be decompressed.
fn unreadable(bundle: &Path, error: &io::Error) -> Error {
    wrong(bundle, format!("it can't be decompressed: {error}"))
        .help("the file was sealed like this: ask whoever made it for another one")
}

impl Blocks {
    fn wrong(&self, message: impl std::fmt::Display) -> Error {
        wrong(&self.bundle, message)
            .help("the file was sealed like this, and not by `ssdlab bundle make`: do not trust it")
    }

    fn exactly(&mut self, bytes: &mut [u8], what: &str) -> Result<()> {
        self.reader.read_exact(bytes).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => self.wrong(format_args!("the archive ends within {what}")),
            _ => unreadable(&self.bundle, &error),
        })
    }

    fn manifest(&mut self) -> Result<Manifest> {
        let mut block = [0; BLOCK];
        self.exactly(&mut block, "its first header")?;
        let found = Header::from_byte_slice(&block);
        let bytes = found.entry_size().unwrap_or(u64::MAX);
        self.same(&block, NAME, bytes)?;
        if bytes > MOST_MANIFEST {
            let message = format!("{NAME} is longer than {}, the limit for one", size(MOST_MANIFEST));
            return Err(self.wrong(message));
        }
        let mut text = Vec::new();
        let taken = (&mut self.reader).take(bytes).read_to_end(&mut text);
        taken.map_err(|error| unreadable(&self.bundle, &error))?;
        if text.len() as u64 != bytes {
            return Err(self.wrong(format_args!("the archive ends within {NAME}")));
        }
        self.zeros(padding(bytes), NAME)?;
        Manifest::read(&self.bundle, &text)
    }

    fn file(&mut self, part: &FilePart, each: &mut dyn FnMut(&FilePart, &mut dyn Read) -> Result<()>) -> Result<()> {
        let name = clip(&part.path);
        let mut block = [0; BLOCK];
        self.exactly(&mut block, &format!("the header of {name}"))?;
        self.same(&block, &part.path, part.bytes)?;
        let mut content = Faults { inner: (&mut self.reader).take(part.bytes), fault: None };
        let mut hashed = Hashed::new(&mut content);
        let done = each(part, &mut hashed);
        // What `each` leaves is read here, so that the digest is of the whole file.
        let rest = done.and_then(|()| io::copy(&mut hashed, &mut io::sink()).map(drop).or(Ok(())));
        let (_, sha256, bytes) = hashed.end();
        if let Some(fault) = content.fault {
            return Err(unreadable(&self.bundle, &fault));
        }
        rest?;
        if bytes != part.bytes {
            return Err(self.wrong(format_args!("the archive ends within {name}")));
        }
        if sha256 != part.sha256 {
            return Err(self.wrong(format_args!("{name} does not have the digest that {NAME} gives")));
        }
        self.zeros(padding(part.bytes), &name)
    }

    /// Compares a header with the one that a file must have.
    fn same(&self, block: &[u8; BLOCK], path: &str, bytes: u64) -> Result<()> {
        match header(path, bytes).is_some_and(|header| header.as_bytes() == block) {
            true => Ok(()),
            false => Err(self.other(block, &clip(path), path, bytes)),
        }
    }

    /// Why a header is refused where another was expected.
    fn other(&self, block: &[u8; BLOCK], expected: &str, path: &str, bytes: u64) -> Error {
        if block.iter().all(|byte| *byte == 0) {
            return self.wrong(format_args!("the archive ends before {expected}"));
        }
        let found = Header::from_byte_slice(block);
        let own = String::from_utf8_lossy(&found.path_bytes()).into_owned();
        let name = clip(&own);
        let kind = found.entry_type();
        self.wrong(match kind {
            EntryType::Symlink | EntryType::Link => format!("{name} is a link: a bundle has none"),
            EntryType::Regular => match (crate::paths::refused(&own), found.entry_size()) {
                (Some(why), _) => format!("the path `{name}` of a file is refused: {why}"),
                _ if own != path => format!("{name} stands where {expected} was announced"),
                (None, Ok(length)) if length != bytes => {
                    format!("{name} has {length} bytes by its header, but {bytes} were announced")
                }
                _ => format!("the header of {name} is not as ssdlab writes it"),
            },
            _ => format!("{name} is neither a file nor expected (type {:?})", char::from(kind.as_byte())),
        })
    }

    fn zeros(&mut self, many: usize, name: &str) -> Result<()> {
        let mut bytes = [0; BLOCK];
        self.exactly(&mut bytes[..many], name)?;
        match bytes.iter().all(|byte| *byte == 0) {
            true => Ok(()),
            false => Err(self.wrong(format_args!("what fills up the last block of {name} is not zero"))),
        }
    }

    fn end(&mut self) -> Result<()> {
        let mut block = [0; BLOCK];
        for _ in 0..END {
            self.exactly(&mut block, "its end")?;
            if block.iter().any(|byte| *byte != 0) {
                return Err(self.other(&block, "the end of the archive", "", 0));
            }
        }
        match self.reader.read(&mut block) {
            Ok(0) => Ok(()),
            Ok(_) => Err(self.wrong("something follows the end of the archive")),
            Err(error) => Err(unreadable(&self.bundle, &error)),
        }
    }
}

/// A reader that keeps its fault: a fault of the archive is another one than a fault of the file that its content is written to.
struct Faults<R> {
    inner: R,
    fault: Option<io::Error>,
}

impl<R: Read> Read for Faults<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self.inner.read(bytes) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                let same = io::Error::new(error.kind(), error.to_string());
                self.fault = Some(error);
                Err(same)
            }
            done => done,
        }
    }
}
