//! The book: the drives that come with the program.

use std::path::Path;

use ssdlab_lab::error::{Error, Result};

use crate::file::DriveFile;

include!(concat!(env!("OUT_DIR"), "/book.rs"));

/// The drives of the book, by name.
///
/// # Errors
/// None: a test reads every file.
pub fn all() -> Result<Vec<DriveFile>> {
    TEXTS.iter().map(|(name, text)| DriveFile::parse(Path::new(&format!("drives/{name}.toml")), text)).collect()
}

/// The text of a drive of the book.
///
/// # Errors
/// No drive has this name.
pub fn text(name: &str) -> Result<&'static str> {
    TEXTS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text).ok_or_else(|| {
        let help = ssdlab_lab::names::suggest(name, TEXTS.iter().map(|(name, _)| *name), "The drives are");
        Error::usage(format!("no drive of the book is called `{name}`")).help(help)
    })
}

/// A drive by the name that the book has for it, or from a file.
///
/// # Errors
/// It is neither, or the file can't be read.
pub fn find(name: &str) -> Result<DriveFile> {
    let path = Path::new(name);
    if !name.ends_with(".toml") {
        return DriveFile::parse(Path::new(&format!("drives/{name}.toml")), text(name)?);
    }
    DriveFile::parse(path, &ssdlab_lab::files::read_data("a drive", path, 16 << 20)?)
}
