//! Tables: written to files as CSV, or as Parquet in builds with that feature (the file name decides which), or kept in memory.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use crate::error::{Error, Kind as ErrorKind, Result};
use crate::names::{clip, suggest};
use crate::output::{Finished, Output};
use crate::text::{count, size};

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellKind {
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
    /// Any text, or nothing.
    MaybeText,
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
    Word(&'t str),
    /// Any text.
    Text(&'t str),
    /// Any number, or nothing.
    Real(Option<f64>),
    /// Any text, or nothing.
    MaybeText(Option<&'t str>),
}

/// Where a table goes.
#[derive(Clone, Debug)]
pub enum Place {
    /// Into a file; its name decides the format.
    File(PathBuf),
    /// Into memory.
    Memory {
        /// The columns to keep, in this order; by default all.
        columns: Option<Vec<String>>,
        /// Most rows to keep.
        most: Option<Most>,
    },
}

/// A limit on the rows of a table in memory.
#[derive(Clone, Copy, Debug)]
pub struct Most {
    /// Bytes that rows may take.
    pub rows_bytes: u64,
    /// Bytes that everything else takes, for the message.
    pub other_bytes: u64,
}

/// Bytes of a cell in memory.
const CELL_BYTES: u64 = 8;

impl Place {
    /// Memory, without limits.
    pub const MEMORY: Place = Place::Memory { columns: None, most: None };

    /// The file, if it is one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Place::File(path) => Some(path),
            Place::Memory { .. } => None,
        }
    }
}

impl From<PathBuf> for Place {
    fn from(path: PathBuf) -> Place {
        Place::File(path)
    }
}

impl Most {
    /// Checks a number of rows.
    ///
    /// # Errors
    /// They take more than they may.
    fn holds(&self, rows: u64, columns: usize) -> Result<()> {
        let row = CELL_BYTES * columns as u64;
        let needed = rows.saturating_mul(row);
        if needed <= self.rows_bytes {
            return Ok(());
        }
        let (limit, all) = (self.rows_bytes.saturating_add(self.other_bytes), needed.saturating_add(self.other_bytes));
        let message = format!(
            "{} rows of {columns} columns of {CELL_BYTES} bytes, {row} bytes a row, take {}; with {} for the device that is {}, more than the limit of {}",
            count(rows),
            size(needed),
            size(self.other_bytes),
            size(all),
            size(limit)
        );
        Err(Error::new(ErrorKind::Memory { needed: all, limit }, message)
            .help("name the columns that are needed, or write the rows into a file: requests=\"requests.parquet\""))
    }
}

/// A table in memory.
#[derive(Debug)]
pub struct Frame {
    /// Names and types of the columns.
    pub columns: Vec<(String, CellKind)>,
    /// Rows, at most [`BATCH`] each.
    pub batches: Vec<Batch>,
    /// By column: its words, if its cells are words.
    pub words: Vec<Vec<String>>,
}

/// Rows of a table, column by column.
#[derive(Debug)]
pub struct Batch {
    /// How many.
    pub rows: usize,
    /// One per column.
    pub columns: Vec<Values>,
}

/// Cells of a column.
#[derive(Debug)]
pub enum Values {
    /// Whole numbers.
    Number(Vec<u64>),
    /// Whole numbers, and which of them are values.
    Maybe(Vec<u64>, Vec<bool>),
    /// Numbers with three decimals.
    Decimal(Vec<f64>),
    /// Places in the list of words.
    Word(Vec<i8>),
    /// Texts.
    Text(Vec<String>),
    /// Numbers, and which of them are values.
    Real(Vec<f64>, Vec<bool>),
    /// Texts, where there are some.
    MaybeText(Vec<Option<String>>),
}

/// Most rows of a batch.
pub const BATCH: usize = 1 << 16;

impl Values {
    fn new(kind: CellKind) -> Values {
        match kind {
            CellKind::Number => Values::Number(Vec::new()),
            CellKind::Maybe => Values::Maybe(Vec::new(), Vec::new()),
            CellKind::Decimal => Values::Decimal(Vec::new()),
            CellKind::Word => Values::Word(Vec::new()),
            CellKind::Text => Values::Text(Vec::new()),
            CellKind::Real => Values::Real(Vec::new(), Vec::new()),
            CellKind::MaybeText => Values::MaybeText(Vec::new()),
        }
    }

    fn push(&mut self, cell: Cell<'_>, words: &mut Vec<String>) {
        match (self, cell) {
            (Values::Number(values), Cell::Number(value)) => values.push(value),
            (Values::Maybe(values, known), Cell::Maybe(value)) => {
                values.push(value.unwrap_or(0));
                known.push(value.is_some());
            }
            (Values::Decimal(values), Cell::Decimal(value)) => values.push(value as f64 / 1000.0),
            (Values::Word(values), Cell::Word(word)) => {
                let place = words.iter().position(|other| other == word).unwrap_or_else(|| {
                    words.push(word.into());
                    words.len() - 1
                });
                values.push(i8::try_from(place).expect("a few words"));
            }
            (Values::Text(values), Cell::Text(text)) => values.push(text.into()),
            (Values::MaybeText(values), Cell::MaybeText(text)) => values.push(text.map(String::from)),
            (Values::Real(values, known), Cell::Real(value)) => {
                values.push(value.unwrap_or(0.0));
                known.push(value.is_some());
            }
            _ => unreachable!("a cell is of its column's kind"),
        }
    }
}

/// A table in memory that is not complete.
pub struct FrameBuilder {
    frame: Frame,
    /// By column of a row: its place in the table, if it is kept.
    kept: Vec<Option<usize>>,
    most: Option<Most>,
    rows: u64,
}

impl FrameBuilder {
    fn new(
        option: &str,
        columns: &[(&str, CellKind)],
        wanted: Option<&[String]>,
        most: Option<Most>,
    ) -> Result<FrameBuilder> {
        let mut kept: Vec<Option<usize>> = vec![None; columns.len()];
        let all: Vec<String>;
        let wanted = match wanted {
            Some(wanted) => wanted,
            None => {
                all = columns.iter().map(|(name, _)| name.to_string()).collect();
                &all
            }
        };
        let mut frame = Frame { columns: Vec::new(), batches: Vec::new(), words: Vec::new() };
        let option = option.trim_start_matches('-');
        for name in wanted {
            let Some(at) = columns.iter().position(|(known, _)| known == name) else {
                let help = suggest(name, columns.iter().map(|(name, _)| *name), "The columns are");
                return Err(Error::usage(format!("{option}: no column is called `{}`", clip(name))).help(help));
            };
            if kept[at].is_some() {
                return Err(Error::usage(format!("{option}: the column `{name}` is named twice")).help("name it once"));
            }
            kept[at] = Some(frame.columns.len());
            frame.columns.push((name.clone(), columns[at].1));
            frame.words.push(Vec::new());
        }
        if frame.columns.is_empty() {
            return Err(Error::usage(format!("{option}: no columns")).help("name at least one"));
        }
        Ok(FrameBuilder { frame, kept, most, rows: 0 })
    }

    fn row<'t>(&mut self, cells: impl Iterator<Item = Cell<'t>>) -> Result<()> {
        if self.rows.is_multiple_of(BATCH as u64) {
            // The whole batch, so that the check costs nothing a row.
            if let Some(most) = &self.most {
                most.holds(self.rows + 1, self.frame.columns.len())?;
            }
            let columns = self.frame.columns.iter().map(|(_, kind)| Values::new(*kind)).collect();
            self.frame.batches.push(Batch { rows: 0, columns });
        }
        self.rows += 1;
        let Some(batch) = self.frame.batches.last_mut() else { return Ok(()) };
        batch.rows += 1;
        for (cell, kept) in cells.zip(&self.kept) {
            if let Some(kept) = *kept {
                batch.columns[kept].push(cell, &mut self.frame.words[kept]);
            }
        }
        Ok(())
    }

    /// Checks a number of rows against the limit, if there is one.
    ///
    /// # Errors
    /// They take more memory than they may.
    pub fn expects(&self, rows: u64) -> Result<()> {
        self.most.map_or(Ok(()), |most| most.holds(rows, self.frame.columns.len()))
    }
}

/// A complete table.
pub enum Ended {
    /// A file, not visible yet.
    File(Finished),
    /// A table in memory.
    Memory(Frame),
}

impl Ended {
    /// The file of a sheet that was begun as one.
    ///
    /// # Panics
    /// If it is a table in memory.
    pub fn file(self) -> Finished {
        self.parts().0.expect("the sheet is a file")
    }

    /// The table of a sheet that was begun in memory.
    ///
    /// # Panics
    /// If it is a file.
    pub fn frame(self) -> Frame {
        self.parts().1.expect("the sheet is in memory")
    }

    /// Makes a file visible.
    ///
    /// # Errors
    /// It can't be given its name.
    pub fn publish(self) -> Result<()> {
        match self {
            Ended::File(file) => file.publish(),
            Ended::Memory(_) => Ok(()),
        }
    }

    /// Divides it.
    pub fn parts(self) -> (Option<Finished>, Option<Frame>) {
        match self {
            Ended::File(file) => (Some(file), None),
            Ended::Memory(frame) => (None, Some(frame)),
        }
    }
}

/// How texts begin that a spreadsheet program reads as a formula.
const FORMULA: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];
/// Stands before such a text in CSV, and before a text that begins with it: so [`unguarded`] gives each text back.
const GUARD: char = '\'';

/// A text as a cell of CSV: quoted where necessary, and never read as a formula by a spreadsheet program.
pub fn quoted(text: &str) -> String {
    let guarded = text.starts_with(FORMULA) || text.starts_with(GUARD);
    let text = if guarded { format!("{GUARD}{text}") } else { text.to_string() };
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

/// The text of a cell of CSV, without what [`quoted`] put before it. (Readers of CSV take the quotes off.)
pub fn unguarded(cell: &str) -> &str {
    let guarded = |rest: &&str| rest.starts_with(FORMULA) || rest.starts_with(GUARD);
    cell.strip_prefix(GUARD).filter(guarded).unwrap_or(cell)
}

/// A cell, and the comma behind it. Integers take a fifth of the instructions of `core::fmt`.
#[inline(never)]
fn put_cell(line: &mut String, cell: Cell<'_>) {
    match cell {
        Cell::Number(value) | Cell::Maybe(Some(value)) => line.push_str(itoa::Buffer::new().format(value)),
        Cell::Decimal(value) => _ = write!(line, "{}.{:03}", value / 1000, value % 1000),
        Cell::Word(word) => line.push_str(word),
        Cell::Text(text) | Cell::MaybeText(Some(text)) => line.push_str(&quoted(text)),
        Cell::Real(Some(value)) => _ = write!(line, "{value}"),
        Cell::Maybe(None) | Cell::Real(None) | Cell::MaybeText(None) => {}
    }
    line.push(',');
}

/// Adds a row of CSV.
#[inline]
pub(crate) fn csv_row<'t>(out: &mut String, cells: impl Iterator<Item = Cell<'t>>) {
    // A row has some thirty integers, most of them zero: this is short enough to be compiled into each part of a chain of
    // iterators, which are slower in a loop.
    cells.for_each(|cell| match cell {
        Cell::Number(0) => out.push_str("0,"),
        other => put_cell(out, other),
    });
    out.pop();
    out.push('\n');
}

/// An unfinished table.
pub enum Sheet {
    /// Text, and the current line.
    Csv(Output, String),
    /// Columns.
    #[cfg(feature = "parquet")]
    Parquet(Box<parquet_file::Sink>),
    /// Columns in memory.
    Memory(Box<FrameBuilder>),
}

impl Sheet {
    /// Begins a table for the results of an option.
    ///
    /// # Errors
    /// A file's name has no ending that this build supports, or it can't be written. A column to keep is unknown.
    pub fn begin(option: &str, place: &Place, columns: &[(&str, CellKind)]) -> Result<Sheet> {
        match place {
            Place::File(path) => Sheet::create(option, path, columns),
            Place::Memory { columns: wanted, most } => {
                Ok(Sheet::Memory(Box::new(FrameBuilder::new(option, columns, wanted.as_deref(), *most)?)))
            }
        }
    }

    /// Begins a file for the results of an option.
    ///
    /// # Errors
    /// Its name has no ending that this build supports, or it can't be written.
    pub fn create(option: &str, path: &Path, columns: &[(&str, CellKind)]) -> Result<Sheet> {
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
                csv_row(line, cells);
                output.put(line.as_bytes())
            }
            #[cfg(feature = "parquet")]
            Sheet::Parquet(sink) => sink.row(cells),
            Sheet::Memory(filling) => filling.row(cells),
        }
    }

    /// Checks whether there is memory for a number of rows.
    ///
    /// # Errors
    /// There is not.
    pub fn expects(&self, rows: u64) -> Result<()> {
        match self {
            Sheet::Memory(filling) => filling.expects(rows),
            _ => Ok(()),
        }
    }

    /// Brings everything to disk, if it is a file.
    ///
    /// # Errors
    /// The file system takes no more.
    pub fn finish(self) -> Result<Ended> {
        match self {
            Sheet::Csv(output, _) => output.finish().map(Ended::File),
            #[cfg(feature = "parquet")]
            Sheet::Parquet(sink) => sink.finish().map(Ended::File),
            Sheet::Memory(filling) => Ok(Ended::Memory(filling.frame)),
        }
    }
}

#[cfg(feature = "parquet")]
mod parquet_file {
    //! Flat columns: 64-bit integers (some with nulls), doubles, and words as text.

    use std::path::{Path, PathBuf};
    use std::sync::Arc;

    use parquet::basic::{Compression, ConvertedType, Repetition, Type as PhysicalType, ZstdLevel};
    use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
    use parquet::errors::ParquetError;
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
    use parquet::schema::types::Type;

    use crate::error::{Error, Kind as ErrorKind, Result};
    use crate::output::{Finished, Output};
    use crate::results::sheet::{Cell, CellKind};

    /// Rows of a row group; bounds memory.
    const GROUP: usize = 1 << 16;

    pub struct Sink {
        path: PathBuf,
        writer: SerializedFileWriter<Output>,
        columns: Vec<Column>,
        rows: usize,
        words: Vec<(String, ByteArray)>,
    }

    /// Values, and for each row whether it has one, where a column may have rows without.
    enum Column {
        Whole(Vec<i64>, Vec<i16>),
        Real(Vec<f64>, Vec<i16>),
        Text(Vec<ByteArray>, Vec<i16>),
    }

    impl Sink {
        pub(super) fn create(path: &Path, columns: &[(&str, CellKind)]) -> Result<Sink> {
            let output = Output::create(path)?;
            let field = |(name, kind): &(&str, CellKind)| {
                let (of, empty) = match kind {
                    CellKind::Number => (PhysicalType::INT64, Repetition::REQUIRED),
                    CellKind::Maybe => (PhysicalType::INT64, Repetition::OPTIONAL),
                    CellKind::Decimal => (PhysicalType::DOUBLE, Repetition::REQUIRED),
                    CellKind::Real => (PhysicalType::DOUBLE, Repetition::OPTIONAL),
                    CellKind::Word | CellKind::Text => (PhysicalType::BYTE_ARRAY, Repetition::REQUIRED),
                    CellKind::MaybeText => (PhysicalType::BYTE_ARRAY, Repetition::OPTIONAL),
                };
                let text = of == PhysicalType::BYTE_ARRAY;
                let field = Type::primitive_type_builder(name, of).with_repetition(empty);
                let field = field.with_converted_type(if text { ConvertedType::UTF8 } else { ConvertedType::NONE });
                field.build().map(Arc::new)
            };
            let fields: std::result::Result<Vec<_>, ParquetError> = columns.iter().map(field).collect();
            let schema = fields.and_then(|fields| Type::group_type_builder("rows").with_fields(fields).build());
            let schema = Arc::new(schema.map_err(|error| cannot(path, &error))?);
            let properties = WriterProperties::builder()
                .set_compression(Compression::ZSTD(ZstdLevel::default()))
                .set_created_by("ssdlab".into())
                .build();
            let cannot = |error| cannot(path, &error);
            let writer = SerializedFileWriter::new(output, schema, Arc::new(properties)).map_err(cannot)?;
            let column = |(_, kind): &(&str, CellKind)| match kind {
                CellKind::Number | CellKind::Maybe => Column::Whole(Vec::new(), Vec::new()),
                CellKind::Decimal | CellKind::Real => Column::Real(Vec::new(), Vec::new()),
                CellKind::Word | CellKind::Text | CellKind::MaybeText => Column::Text(Vec::new(), Vec::new()),
            };
            let columns = columns.iter().map(column).collect();
            Ok(Sink { path: path.into(), writer, columns, rows: 0, words: Vec::new() })
        }

        pub(super) fn row<'t>(&mut self, cells: impl Iterator<Item = Cell<'t>>) -> Result<()> {
            for (column, cell) in self.columns.iter_mut().zip(cells) {
                // Times, addresses and counts are below 2^63.
                match (column, cell) {
                    (Column::Whole(values, _), Cell::Number(value)) => values.push(value as i64),
                    (Column::Whole(values, levels), Cell::Maybe(value)) => {
                        levels.push(i16::from(value.is_some()));
                        values.extend(value.map(|value| value as i64));
                    }
                    (Column::Real(values, _), Cell::Decimal(value)) => values.push(value as f64 / 1000.0),
                    (Column::Text(values, _), Cell::Word(word)) => {
                        let known = self.words.iter().position(|(other, _)| other == word).unwrap_or_else(|| {
                            self.words.push((word.into(), ByteArray::from(word)));
                            self.words.len() - 1
                        });
                        values.push(self.words[known].1.clone());
                    }
                    (Column::Text(values, _), Cell::Text(text)) => values.push(ByteArray::from(text)),
                    (Column::Text(values, levels), Cell::MaybeText(text)) => {
                        levels.push(i16::from(text.is_some()));
                        values.extend(text.map(ByteArray::from));
                    }
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
                        Column::Whole(values, levels) => put::<Int64Type>(&mut column, values, levels)?,
                        Column::Real(values, levels) => put::<DoubleType>(&mut column, values, levels)?,
                        Column::Text(values, levels) => put::<ByteArrayType>(&mut column, values, levels)?,
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

    /// Writes what a column has. A column that has a value in each row has no levels.
    fn put<T: DataType>(
        column: &mut SerializedColumnWriter<'_>,
        values: &mut Vec<T::T>,
        levels: &mut Vec<i16>,
    ) -> std::result::Result<(), ParquetError> {
        let given = (!levels.is_empty()).then_some(&levels[..]);
        column.typed::<T>().write_batch(values, given, None)?;
        values.clear();
        levels.clear();
        Ok(())
    }

    fn cannot(path: &Path, error: &ParquetError) -> Error {
        let kind = ErrorKind::File { path: path.into(), cause: std::io::ErrorKind::Other, code: None };
        Error::new(kind, format!("cannot write {}: {error}", path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_comes_back_from_csv_as_it_was() {
        let texts = [
            "", "a", "-rf", "=1+1", "+x", "@home", "\tx", "'-rf", "'", "''", "'a", " a ", "a,b", "a\"b", "-,\"", "x\ny",
        ];
        for text in texts {
            let table = format!("name,x\n{},1\n", quoted(text));
            let mut reader = csv::ReaderBuilder::new().from_reader(table.as_bytes());
            let record = reader.records().next().unwrap_or_else(|| panic!("{table}")).unwrap();
            assert_eq!(unguarded(&record[0]), text, "{}", quoted(text));
            assert!(!record[0].starts_with(FORMULA), "{text}: a spreadsheet program would compute it");
        }
        // What a person writes stays, unless a guard stands before a formula.
        assert_eq!((unguarded("'quoted'"), unguarded("'=x")), ("'quoted'", "=x"));
    }
}
