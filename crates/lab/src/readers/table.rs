//! Tables of results, read back from CSV or Parquet.

use std::path::Path;

use ssdlab_figures::figure::{Cell, Table};

use crate::error::{Error, Kind, Result};
use crate::files;
use crate::results::sheet::unguarded;

/// An error about the content of a file.
pub fn data(path: &Path, message: impl std::fmt::Display) -> Error {
    Error::new(Kind::Data { path: path.into() }, format!("{}: {message}", path.display()))
}

/// Names of the columns of a file, without reading its rows.
///
/// # Errors
/// The file can't be read, or is neither CSV nor Parquet.
pub fn columns(path: &Path, parquet: bool) -> Result<Vec<String>> {
    let mut names = Vec::new();
    rows(path, parquet, &mut |columns, _| {
        names = columns.to_vec();
        Ok(false)
    })?;
    Ok(names)
}

/// Receives the names of the columns and a row, from 0; `None` once at the start. Returns whether it wants more.
pub type Row<'a> = dyn FnMut(&[String], Option<&[Cell]>) -> Result<bool> + 'a;

/// Reads the rows of a file one after the other.
///
/// # Errors
/// The file can't be read, or is neither CSV nor Parquet; or as `row`.
pub fn rows(path: &Path, parquet: bool, row: &mut Row<'_>) -> Result<()> {
    if parquet { parquet_rows(path, row) } else { csv_rows(path, row) }
}

/// A file as a whole.
///
/// # Errors
/// As [`rows`].
pub fn whole(path: &Path, parquet: bool) -> Result<Table> {
    let mut table = Table::default();
    rows(path, parquet, &mut |columns, row| {
        match row {
            None => table.columns = columns.to_vec(),
            Some(row) => table.rows.push(row.to_vec()),
        }
        Ok(true)
    })?;
    Ok(table)
}

fn cell(text: &str) -> Cell {
    if text.is_empty() {
        return Cell::Null;
    }
    if let Ok(value) = text.parse::<u128>() {
        return Cell::Whole(value);
    }
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Cell::Real(value),
        _ => Cell::Text(unguarded(text).into()),
    }
}

fn csv_rows(path: &Path, row: &mut Row<'_>) -> Result<()> {
    let file = files::open_regular("table", path)?;
    let mut reader = csv::ReaderBuilder::new().from_reader(std::io::BufReader::new(file));
    let broken = |error: csv::Error| data(path, format!("not a table of results: {error}"));
    let columns: Vec<String> = reader.headers().map_err(broken)?.iter().map(String::from).collect();
    if !row(&columns, None)? {
        return Ok(());
    }
    let mut record = csv::StringRecord::new();
    let mut cells = Vec::new();
    while reader.read_record(&mut record).map_err(broken)? {
        cells.clear();
        cells.extend(record.iter().map(cell));
        if !row(&columns, Some(&cells))? {
            break;
        }
    }
    Ok(())
}

#[cfg(not(feature = "parquet"))]
fn parquet_rows(path: &Path, _row: &mut Row<'_>) -> Result<()> {
    Err(Error::usage(format!("{}: this build cannot read Parquet", path.display()))
        .help("write the results as CSV, or build without --no-default-features"))
}

#[cfg(feature = "parquet")]
fn parquet_rows(path: &Path, row: &mut Row<'_>) -> Result<()> {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;
    let file = files::open_regular("table", path)?;
    let broken = |error: parquet::errors::ParquetError| data(path, format!("not a table of results: {error}"));
    let reader = SerializedFileReader::new(file).map_err(broken)?;
    let schema = reader.metadata().file_metadata().schema_descr();
    let columns: Vec<String> = schema.columns().iter().map(|column| column.name().to_string()).collect();
    if !row(&columns, None)? {
        return Ok(());
    }
    let mut cells = Vec::new();
    for record in reader.get_row_iter(None).map_err(broken)? {
        let record = record.map_err(broken)?;
        cells.clear();
        for (_, field) in record.get_column_iter() {
            cells.push(match field {
                Field::Null => Cell::Null,
                Field::Long(value) => u128::try_from(*value).map_or(Cell::Real(*value as f64), Cell::Whole),
                Field::Double(value) => Cell::Real(*value),
                Field::Str(text) => Cell::Text(text.clone()),
                other => Cell::Text(other.to_string()),
            });
        }
        if !row(&columns, Some(&cells))? {
            break;
        }
    }
    Ok(())
}

/// The columns of a table by name.
#[derive(Clone, Copy)]
pub struct Columns<'t>(pub &'t Table);

impl Columns<'_> {
    /// A column as numbers; what has no value, and a column that is not there, is not a number.
    pub fn numbers(&self, name: &str) -> Vec<f64> {
        let at = self.0.columns.iter().position(|column| column == name);
        let value = |row: &Vec<Cell>| at.and_then(|at| row.get(at)).map_or(f64::NAN, number);
        self.0.rows.iter().map(value).collect()
    }

    /// The exact sum of a column of whole numbers; none if it is not there or has another cell.
    pub fn total(&self, name: &str) -> Option<u128> {
        let at = self.0.columns.iter().position(|column| column == name)?;
        self.0.rows.iter().map(|row| row.get(at).and_then(integer)).sum()
    }
}

/// A cell as a number; not a number if it is none.
pub fn number(cell: &Cell) -> f64 {
    match cell {
        Cell::Whole(value) => *value as f64,
        Cell::Real(value) => *value,
        Cell::Null | Cell::Text(_) => f64::NAN,
    }
}

/// A cell as a whole number.
pub fn integer(cell: &Cell) -> Option<u128> {
    match cell {
        Cell::Whole(value) => Some(*value),
        _ => None,
    }
}
