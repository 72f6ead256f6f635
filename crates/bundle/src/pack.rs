//! Writes the archive: the manifest, then its files in order, with nothing in their headers that could differ between machines.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::files;
use ssdlab_lab::output::Output;
use tar::{EntryType, Header};
use zstd::stream::write::Encoder;

use crate::manifest::{FilePart, Manifest, NAME, wrong};
use crate::seal::{Hashed, digest_of, seal};

/// Length of a block of an archive.
pub const BLOCK: usize = 512;
/// Blocks of zeros that end an archive.
pub const END: usize = 2;
/// How hard it is compressed.
const LEVEL: i32 = 19;

/// The header of a file inside, the same for the same file everywhere; none where the path is too long for one.
pub fn header(path: &str, bytes: u64) -> Option<Header> {
    let mut header = Header::new_ustar();
    header.set_path(path).ok()?;
    header.set_size(bytes);
    header.set_mode(0o644);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_entry_type(EntryType::Regular);
    header.set_cksum();
    Some(header)
}

/// The zeros that fill up the last block of a file.
pub fn padding(bytes: u64) -> usize {
    (BLOCK - (bytes % BLOCK as u64) as usize) % BLOCK
}

/// A file that goes into a bundle.
#[derive(Clone, Debug)]
pub struct Packed {
    /// Its entry in the manifest.
    pub part: FilePart,
    /// Where it is now.
    from: PathBuf,
}

impl Packed {
    /// Reads a file to know its length and digest.
    ///
    /// # Errors
    /// It can't be read.
    pub fn new(path: String, from: &Path) -> Result<Packed> {
        let file = files::open_regular("file", from)?;
        let read = digest_of(file).map_err(|error| Error::file("read", from, &error));
        let (sha256, bytes) = read?;
        Ok(Packed { part: FilePart { path, bytes, sha256 }, from: from.into() })
    }
}

/// What was written.
#[derive(Clone, Debug)]
pub struct Written {
    /// SHA-256 of the whole file.
    pub sha256: String,
    /// Its length.
    pub bytes: u64,
}

/// Writes a bundle; the manifest names the files in this order.
///
/// # Errors
/// A file can't be read, or has changed since its digest was computed; the output can't be written.
pub fn write(manifest: &Manifest, packed: &[Packed], bundle: &Path, output: &mut Output) -> Result<Written> {
    let cannot = |error: io::Error| Error::file("write", bundle, &error);
    let whole = Hashed::new(output);
    let mut packer = Encoder::new(Hashed::new(whole), LEVEL).map_err(cannot)?;
    packer.include_checksum(true).map_err(cannot)?;
    let text = manifest.text();
    entry(&mut packer, bundle, NAME, text.len() as u64, &mut text.as_bytes())?;
    for Packed { part, from } in packed {
        let file = files::open_regular("file", from)?;
        let mut hashed = Hashed::new(file);
        entry(&mut packer, bundle, &part.path, part.bytes, &mut (&mut hashed).take(part.bytes))?;
        changed(hashed, part, from)?;
    }
    packer.write_all(&[0; END * BLOCK]).map_err(cannot)?;
    let (mut whole, body, _) = packer.finish().map_err(cannot)?.end();
    whole.write_all(&seal(&body)).map_err(cannot)?;
    let (_, sha256, bytes) = whole.end();
    Ok(Written { sha256, bytes })
}

/// Checks that a file is what its digest was computed of.
fn changed(hashed: Hashed<File>, part: &FilePart, from: &Path) -> Result<()> {
    let (_, sha256, bytes) = hashed.end();
    if (&sha256, bytes) == (&part.sha256, part.bytes) {
        return Ok(());
    }
    Err(wrong(from, "the file changed while it was packed").help("make the bundle again when nothing writes to it"))
}

fn entry(to: &mut impl Write, bundle: &Path, path: &str, bytes: u64, from: &mut impl Read) -> Result<()> {
    let cannot = |error: io::Error| Error::file("write", bundle, &error);
    let header = header(path, bytes);
    let header = header.ok_or_else(|| {
        Error::usage(format!("{path}: the path is too long for an archive")).help("give the file a shorter name")
    })?;
    to.write_all(header.as_bytes()).map_err(cannot)?;
    let copied = io::copy(from, to).map_err(cannot)?;
    // A file that has become shorter is found by its digest.
    let missing = io::repeat(0).take(bytes - copied);
    io::copy(&mut { missing }, to).map_err(cannot)?;
    to.write_all(&[0; BLOCK][..padding(bytes)]).map_err(cannot)
}
