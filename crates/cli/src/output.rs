//! Standard output carries results, standard error remarks.

use std::io::{self, Write};
use std::path::Path;

use ssdlab_lab::error::{Error, Result};

/// Writes a line on standard error. Nothing is left to be done about a standard error that takes no text.
pub fn remark(text: impl std::fmt::Display) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Writes results on standard output. A reader that has seen enough and left is no error.
pub fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Error::file("write", Path::new("standard output"), &error))
        }
        _ => Ok(()),
    }
}
