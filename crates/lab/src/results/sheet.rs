//! Tables written to files: CSV, or Parquet in builds with that feature. The file name decides which.

use std::fmt::Write;
use std::path::Path;

use crate::error::{Error, Result};
use crate::output::{Finished, Output};

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A whole number.
    Number,
    /// A whole number, or nothing.
    Maybe,
    /// A number with three decimals.
    Decimal,
    /// One of a few words.
    Word,
    /// Any text.
    Text,
    /// Any number, or nothing.
    Real,
}

/// The value of a column in a row.
#[derive(Clone, Copy, Debug)]
pub enum Cell<'t> {
    /// A whole number.
    Number(u64),
    /// A whole number, or nothing.
    Maybe(Option<u64>),
    /// A number in thousandths.
    Decimal(u128),
    /// One of a few words.
    Word(&'static str),
    /// Any text.
    Text(&'t str),
    /// Any number, or nothing.
    Real(Option<f64>),
}

/// A text as a cell of CSV: quoted where necessary, and never read as a formula by a spreadsheet program.
pub fn quoted(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = if formula { format!("'{text}") } else { text.to_string() };
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

/// An unfinished table.
pub enum Sheet {
    /// Text, and the current line.
    Csv(Output, String),
    /// Columns.
    #[cfg(feature = "parquet")]
    Parquet(Box<parquet_file::Sink>),
}

impl Sheet {
    /// Begins a file for the results of an option.
    ///
    /// # Errors
    /// Its name has no ending that this build supports, or it can't be written.
    pub fn create(option: &str, path: &Path, columns: &[(&str, Kind)]) -> Result<Sheet> {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("csv") => {
                let mut output = Output::create(path)?;
                let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
                output.put((names.join(",") + "\n").as_bytes())?;
                Ok(Sheet::Csv(output, String::new()))
            }
            #[cfg(feature = "parquet")]
            Some("parquet") => Ok(Sheet::Parquet(Box::new(parquet_file::Sink::create(path, columns)?))),
            #[cfg(not(feature = "parquet"))]
            Some("parquet") => {
                Err(Error::usage(format!("{option} {}: this build cannot write Parquet", path.display()))
                    .help("give a name that ends in .csv, or build without --no-default-features"))
            }
            _ => Err(Error::usage(format!("{option} {}: the name ends in neither .csv nor .parquet", path.display()))
                .help("give a name that ends in .csv or .parquet")),
        }
    }

    /// Writes a row: one cell per column, of the column's type.
    ///
    /// # Errors
    /// The file system takes no more.
    pub fn row<'t>(&mut self, cells: impl Iterator<Item = Cell<'t>>) -> Result<()> {
        match self {
            Sheet::Csv(output, line) => {
                line.clear();
                for cell in cells {
                    let _ = match cell {
                        Cell::Number(value) | Cell::Maybe(Some(value)) => write!(line, "{value},"),
                        Cell::Maybe(None) => write!(line, ","),
                        Cell::Decimal(value) => write!(line, "{}.{:03},", value / 1000, value % 1000),
                        Cell::Word(word) => write!(line, "{word},"),
                        Cell::Text(text) => write!(line, "{},", quoted(text)),
                        Cell::Real(Some(value)) => write!(line, "{value},"),
                        Cell::Real(None) => write!(line, ","),
                    };
                }
                line.pop();
                line.push('\n');
                output.put(line.as_bytes())
            }
            #[cfg(feature = "parquet")]
            Sheet::Parquet(sink) => sink.row(cells),
        }
    }

    /// Brings everything to disk.
    ///
    /// # Errors
    /// The file system takes no more.
    pub fn finish(self) -> Result<Finished> {
        match self {
            Sheet::Csv(output, _) => output.finish(),
            #[cfg(feature = "parquet")]
            Sheet::Parquet(sink) => sink.finish(),
        }
    }
}

#[cfg(feature = "parquet")]
mod parquet_file {
    //! Flat columns: 64-bit integers (some with nulls), doubles, and words as text.

    use std::path::{Path, PathBuf};
    use std::sync::Arc;

    use parquet::basic::{Compression, ZstdLevel};
    use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
    use parquet::errors::ParquetError;
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;

    use crate::error::{Error, Kind as ErrorKind, Result};
    use crate::output::{Finished, Output};
    use crate::results::sheet::{Cell, Kind};

    /// Rows of a row group; bounds memory.
    const GROUP: usize = 1 << 16;

    pub struct Sink {
        path: PathBuf,
        writer: SerializedFileWriter<Output>,
        columns: Vec<Column>,
        rows: usize,
        words: Vec<(&'static str, ByteArray)>,
    }

    enum Column {
        Number(Vec<i64>),
        Maybe(Vec<i64>, Vec<i16>),
        Decimal(Vec<f64>),
        Word(Vec<ByteArray>),
        Real(Vec<f64>, Vec<i16>),
    }

    impl Sink {
        pub(super) fn create(path: &Path, columns: &[(&str, Kind)]) -> Result<Sink> {
            let output = Output::create(path)?;
            let mut message = String::from("message rows {\n");
            for (name, kind) in columns {
                let line = match kind {
                    Kind::Number => format!("required int64 {name};\n"),
                    Kind::Maybe => format!("optional int64 {name};\n"),
                    Kind::Decimal => format!("required double {name};\n"),
                    Kind::Word | Kind::Text => format!("required binary {name} (UTF8);\n"),
                    Kind::Real => format!("optional double {name};\n"),
                };
                message.push_str(&line);
            }
            message.push('}');
            let schema = Arc::new(parse_message_type(&message).expect("names without blanks"));
            let properties = WriterProperties::builder()
                .set_compression(Compression::ZSTD(ZstdLevel::default()))
                .set_created_by("ssdlab".into())
                .build();
            let cannot = |error| cannot(path, &error);
            let writer = SerializedFileWriter::new(output, schema, Arc::new(properties)).map_err(cannot)?;
            let column = |(_, kind): &(&str, Kind)| match kind {
                Kind::Number => Column::Number(Vec::new()),
                Kind::Maybe => Column::Maybe(Vec::new(), Vec::new()),
                Kind::Decimal => Column::Decimal(Vec::new()),
                Kind::Word | Kind::Text => Column::Word(Vec::new()),
                Kind::Real => Column::Real(Vec::new(), Vec::new()),
            };
            let columns = columns.iter().map(column).collect();
            Ok(Sink { path: path.into(), writer, columns, rows: 0, words: Vec::new() })
        }

        pub(super) fn row<'t>(&mut self, cells: impl Iterator<Item = Cell<'t>>) -> Result<()> {
            for (column, cell) in self.columns.iter_mut().zip(cells) {
                // Times, addresses and counts are below 2^63.
                match (column, cell) {
                    (Column::Number(values), Cell::Number(value)) => values.push(value as i64),
                    (Column::Maybe(values, levels), Cell::Maybe(value)) => {
                        levels.push(i16::from(value.is_some()));
                        values.extend(value.map(|value| value as i64));
                    }
                    (Column::Decimal(values), Cell::Decimal(value)) => values.push(value as f64 / 1000.0),
                    (Column::Word(values), Cell::Word(word)) => {
                        let known = self.words.iter().position(|(other, _)| *other == word).unwrap_or_else(|| {
                            self.words.push((word, ByteArray::from(word)));
                            self.words.len() - 1
                        });
                        values.push(self.words[known].1.clone());
                    }
                    (Column::Word(values), Cell::Text(text)) => values.push(ByteArray::from(text)),
                    (Column::Real(values, levels), Cell::Real(value)) => {
                        levels.push(i16::from(value.is_some()));
                        values.extend(value);
                    }
                    _ => unreachable!("a cell is of its column's kind"),
                }
            }
            self.rows += 1;
            if self.rows == GROUP { self.flush() } else { Ok(()) }
        }

        fn flush(&mut self) -> Result<()> {
            if std::mem::take(&mut self.rows) == 0 {
                return Ok(());
            }
            let (path, columns) = (&self.path, &mut self.columns);
            let group = || -> std::result::Result<(), ParquetError> {
                let mut group = self.writer.next_row_group()?;
                for values in columns {
                    let Some(mut column) = group.next_column()? else { break };
                    match values {
                        Column::Number(values) => {
                            column.typed::<Int64Type>().write_batch(values, None, None)?;
                            values.clear();
                        }
                        Column::Maybe(values, levels) => {
                            column.typed::<Int64Type>().write_batch(values, Some(levels), None)?;
                            values.clear();
                            levels.clear();
                        }
                        Column::Decimal(values) => {
                            column.typed::<DoubleType>().write_batch(values, None, None)?;
                            values.clear();
                        }
                        Column::Word(values) => {
                            column.typed::<ByteArrayType>().write_batch(values, None, None)?;
                            values.clear();
                        }
                        Column::Real(values, levels) => {
                            column.typed::<DoubleType>().write_batch(values, Some(levels), None)?;
                            values.clear();
                            levels.clear();
                        }
                    }
                    column.close()?;
                }
                group.close().map(drop)
            };
            group().map_err(|error| cannot(path, &error))
        }

        pub(super) fn finish(mut self: Box<Self>) -> Result<Finished> {
            self.flush()?;
            self.writer.into_inner().map_err(|error| cannot(&self.path, &error))?.finish()
        }
    }

    fn cannot(path: &Path, error: &ParquetError) -> Error {
        let kind = ErrorKind::File { path: path.into(), cause: std::io::ErrorKind::Other, code: None };
        Error::new(kind, format!("cannot write {}: {error}", path.display()))
    }
}
