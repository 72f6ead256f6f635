//! Rows of a table of measurements, with their lines.

use std::path::Path;

use ssdlab_lab::error::Result;

use super::wrong;

pub(super) struct Row<'r> {
    pub(super) path: &'r Path,
    pub(super) line: usize,
    columns: &'r [String],
    cells: &'r csv::StringRecord,
}

impl Row<'_> {
    pub(super) fn text(&self, name: &str) -> &str {
        let index = self.columns.iter().position(|column| column == name);
        index.and_then(|index| self.cells.get(index)).map_or("", str::trim)
    }

    pub(super) fn maybe(&self, name: &str) -> Result<Option<f64>> {
        match self.text(name) {
            "" => Ok(None),
            text => match text.parse::<f64>() {
                Ok(value) if value.is_finite() => Ok(Some(value)),
                _ => Err(wrong(self.path, self.line, &format!("{name}: `{text}` is not a number"))),
            },
        }
    }

    pub(super) fn positive(&self, name: &str) -> Result<f64> {
        match self.maybe(name)? {
            Some(value) if value > 0.0 => Ok(value),
            _ => Err(wrong(self.path, self.line, &format!("{name}: `{}` is not above 0", self.text(name)))),
        }
    }
}

/// Gives the rows of a table to `take`.
pub(super) fn rows(
    path: &Path,
    columns: &[String],
    reader: &mut csv::Reader<&[u8]>,
    take: &mut dyn FnMut(&Row<'_>) -> Result<()>,
) -> Result<()> {
    for record in reader.records() {
        let record = record.map_err(|error| {
            let line = error.position().map_or(0, |position| position.line() as usize);
            wrong(path, line, &error.to_string())
        })?;
        let line = record.position().map_or(0, |position| position.line() as usize);
        take(&Row { path, line, columns, cells: &record })?;
    }
    Ok(())
}
