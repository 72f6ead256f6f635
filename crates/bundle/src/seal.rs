//! The seal of a bundle: a last frame of the compressed file, which decompressors skip, with the digest of everything before it. It
//! guards every bit of the file, also those that a decompressor ignores.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use sha2::{Digest, Sha256};
use ssdlab_lab::error::{Error, Result};

use crate::manifest::wrong;

/// The magic number of a skippable frame of zstd.
const SKIPPABLE: [u8; 4] = 0x184d_2a5d_u32.to_le_bytes();
/// What stands before the digest.
const WORDS: &[u8; 27] = b"ssdlab.bundle/1 SHA-256 is ";
/// Length of a digest as text.
const DIGEST: usize = 64;
/// Length of what is within the frame: words, digest, and the end of the line.
const CONTENT: usize = WORDS.len() + DIGEST + 1;
/// Length of the seal.
pub const SEAL: usize = 8 + CONTENT;

/// A digest as text.
pub fn hex(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The digest of some bytes.
pub fn digest(bytes: &[u8]) -> String {
    hex(Sha256::new_with_prefix(bytes))
}

/// The seal over what has this digest.
pub fn seal(body: &str) -> Vec<u8> {
    let mut seal = Vec::with_capacity(SEAL);
    seal.extend(SKIPPABLE);
    seal.extend((CONTENT as u32).to_le_bytes());
    seal.extend(WORDS);
    seal.extend(body.as_bytes());
    seal.push(b'\n');
    seal
}

/// Passes on what is written or read, and hashes it.
pub struct Hashed<T> {
    inner: T,
    hash: Sha256,
    bytes: u64,
}

impl<T> Hashed<T> {
    /// Over a writer or a reader.
    pub fn new(inner: T) -> Hashed<T> {
        Hashed { inner, hash: Sha256::new(), bytes: 0 }
    }

    /// What is below, the digest, and how many bytes there were.
    pub fn end(self) -> (T, String, u64) {
        (self.inner, hex(self.hash), self.bytes)
    }
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = self.inner.write(bytes)?;
        self.hash.update(&bytes[..taken]);
        self.bytes += taken as u64;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let got = self.inner.read(bytes)?;
        self.hash.update(&bytes[..got]);
        self.bytes += got as u64;
        Ok(got)
    }
}

/// The digest of all that a reader gives.
///
/// # Errors
/// It can't be read.
pub fn digest_of(reader: impl Read) -> io::Result<(String, u64)> {
    let mut hashed = Hashed::new(reader);
    io::copy(&mut hashed, &mut io::sink())?;
    let (_, digest, bytes) = hashed.end();
    Ok((digest, bytes))
}

/// A file whose seal holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// SHA-256 of the whole file.
    pub sha256: String,
    /// Length of what the seal guards.
    pub body: u64,
}

/// Checks the seal of a file, and leaves the file at its begin.
///
/// # Errors
/// The file has no seal, or is not what was sealed; it can't be read.
pub fn check(bundle: &Path, file: &mut File) -> Result<Sealed> {
    let cannot = |error: io::Error| Error::file("read the bundle", bundle, &error);
    let length = file.metadata().map_err(cannot)?.len();
    let Some(body) = length.checked_sub(SEAL as u64) else { return Err(none(bundle)) };
    file.seek(SeekFrom::Start(0)).map_err(cannot)?;
    let mut whole = Hashed::new(&mut *file);
    let (guarded, bytes) = digest_of((&mut whole).take(body)).map_err(cannot)?;
    let mut own = Vec::new();
    whole.read_to_end(&mut own).map_err(cannot)?;
    let (_, sha256, _) = whole.end();
    let expected = seal(&guarded);
    // The words before the digest say that this is a bundle at all.
    let words = expected.len() - DIGEST - 1;
    if bytes != body || own.get(..words) != Some(&expected[..words]) {
        return Err(none(bundle));
    }
    if own != expected {
        return Err(wrong(
            bundle,
            "the file has changed since it was made: its content does not have the digest in its seal",
        )
        .help("get the file again from where it is published"));
    }
    file.seek(SeekFrom::Start(0)).map_err(cannot)?;
    Ok(Sealed { sha256, body })
}

/// The error of a file without a seal.
fn none(bundle: &Path) -> Error {
    wrong(bundle, "the file does not end with the seal of a bundle: it is none, is cut short, or has changed")
        .help("give a file of `ssdlab bundle make`, or get it again from where it is published")
}
