//! Files that tasks write.

use std::path::Path;

use crate::Result;

/// Writes a file if its content is another one.
pub fn write(path: &Path, content: &str) -> Result<()> {
    if std::fs::read_to_string(path).is_ok_and(|old| old == content) {
        return Ok(());
    }
    println!("{} is new", path.display());
    std::fs::write(path, content).map_err(|error| format!("{}: {error}", path.display()))
}
