//! Results go to standard output, remarks to standard error.

use std::io::{self, Write};
use std::path::Path;

use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::output::whole;

/// Writes a line to standard error. A failure is ignored: there is no other place to report it.
pub fn remark(text: impl std::fmt::Display) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Writes results to standard output. A reader that closes the pipe early is not an error.
pub fn print(text: &str) -> Result<()> {
    bytes(text.as_bytes())
}

/// As [`print`].
pub fn bytes(bytes: &[u8]) -> Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Error::file("write", Path::new("standard output"), &error))
        }
        _ => Ok(()),
    }
}

/// Writes results to a file, or to standard output for `-`.
pub fn write(path: &Path, content: &[u8]) -> Result<()> {
    if path.as_os_str() == "-" {
        return bytes(content);
    }
    whole(path, content)?.publish()
}
