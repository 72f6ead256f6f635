//! `--requests`: one row a request, in the order in which they were submitted, as CSV or Parquet.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write;
use std::path::Path;

use ssdlab_sim::blame::CAUSES;

use crate::drive::{Completed, RequestOp};
use crate::fault::{Fault, Result};
use crate::output::{Finished, Output};

/// Columns before the causes.
const COLUMNS: [&str; 8] =
    ["request", "arrival_ns", "op", "offset", "bytes", "start_ns", "completion_ns", "latency_ns"];

/// Rows on their way into a file. Requests complete out of order; a row waits here for those before it.
pub struct Rows {
    sink: Sink,
    /// Submitted reads and writes without a row yet, in order.
    expected: VecDeque<u64>,
    /// Completed ones that wait for an earlier one.
    early: BTreeMap<u64, Completed>,
}

enum Sink {
    Csv(Output, String),
    #[cfg(feature = "parquet")]
    Parquet(Box<parquet_file::Sink>),
}

impl Rows {
    /// Begins a file; its name says in which form.
    pub fn create(path: &Path) -> Result<Rows> {
        let sink = match path.extension().and_then(|ending| ending.to_str()) {
            Some("csv") => {
                let mut output = Output::create(path)?;
                let names: Vec<&str> = COLUMNS.into_iter().chain(CAUSES.into_iter().map(|(_, name)| name)).collect();
                output.put((names.join(",") + "\n").as_bytes())?;
                Sink::Csv(output, String::new())
            }
            #[cfg(feature = "parquet")]
            Some("parquet") => Sink::Parquet(Box::new(parquet_file::Sink::create(path)?)),
            #[cfg(not(feature = "parquet"))]
            Some("parquet") => {
                return Err(Fault::usage(format!("--requests {}: this build writes no Parquet", path.display()))
                    .help("give a name that ends in .csv, or build with --features parquet"));
            }
            _ => {
                return Err(Fault::usage(format!("--requests {}: the name says no form", path.display()))
                    .help("give a name that ends in .csv or .parquet"));
            }
        };
        Ok(Rows { sink, expected: VecDeque::new(), early: BTreeMap::new() })
    }

    /// A read or write was submitted under this number.
    pub fn expect(&mut self, request: u64) {
        self.expected.push_back(request);
    }

    /// A request completed.
    pub fn completed(&mut self, row: Completed) -> Result<()> {
        if self.expected.front() != Some(&row.request) {
            self.early.insert(row.request, row);
            return Ok(());
        }
        self.expected.pop_front();
        self.write(&row)?;
        while let Some(next) = self.expected.front().and_then(|next| self.early.remove(next)) {
            self.expected.pop_front();
            self.write(&next)?;
        }
        Ok(())
    }

    /// Writes what is left: requests before the end of a warm-up have no row, so that later ones wait until now.
    pub fn finish(mut self) -> Result<Finished> {
        for row in std::mem::take(&mut self.early).into_values() {
            self.write(&row)?;
        }
        match self.sink {
            Sink::Csv(output, _) => output.finish(),
            #[cfg(feature = "parquet")]
            Sink::Parquet(sink) => sink.finish(),
        }
    }

    fn write(&mut self, row: &Completed) -> Result<()> {
        match &mut self.sink {
            Sink::Csv(output, line) => {
                line.clear();
                let [request, arrival, offset, bytes, start, completion, latency] = numbers(row);
                let op = op(row);
                let _ = write!(line, "{request},{arrival},{op},{offset},{bytes},{start},{completion},{latency}");
                for ns in row.blame.0 {
                    let _ = write!(line, ",{ns}");
                }
                line.push('\n');
                output.put(line.as_bytes())
            }
            #[cfg(feature = "parquet")]
            Sink::Parquet(sink) => sink.write(row),
        }
    }
}

/// The columns before the causes, but for `op`.
fn numbers(row: &Completed) -> [u64; 7] {
    let latency = row.completion.0 - row.arrival.0;
    [row.request, row.arrival.0, row.offset, row.bytes, row.start.0, row.completion.0, latency]
}

fn op(row: &Completed) -> &'static str {
    match row.op {
        RequestOp::Read => "read",
        RequestOp::Write => "write",
        RequestOp::Trim => "trim",
    }
}

#[cfg(feature = "parquet")]
mod parquet_file {
    //! The same rows as a Parquet file: flat columns of 64-bit integers, and the operation as text.

    use std::path::{Path, PathBuf};
    use std::sync::Arc;

    use parquet::basic::{Compression, ZstdLevel};
    use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
    use parquet::errors::ParquetError;
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;
    use ssdlab_sim::blame::CAUSES;

    use super::{COLUMNS, Completed, numbers, op};
    use crate::fault::{Fault, Result, Status};
    use crate::output::{Finished, Output};

    /// Rows of a row group; bounds memory.
    const GROUP: usize = 1 << 16;
    /// Where `op` stands among the columns.
    const OP: usize = 2;

    pub(super) struct Sink {
        path: PathBuf,
        writer: SerializedFileWriter<Output>,
        integers: Vec<Vec<i64>>,
        ops: Vec<ByteArray>,
        names: [ByteArray; 3],
    }

    impl Sink {
        pub(super) fn create(path: &Path) -> Result<Sink> {
            let output = Output::create(path)?;
            let mut message = String::from("message requests {\n");
            for name in COLUMNS.into_iter().chain(CAUSES.into_iter().map(|(_, name)| name)) {
                let kind =
                    if name == COLUMNS[OP] { "required binary op (UTF8)" } else { &format!("required int64 {name}") };
                message.push_str(&format!("  {kind};\n"));
            }
            message.push('}');
            let schema = Arc::new(parse_message_type(&message).expect("a constant schema"));
            let properties = WriterProperties::builder()
                .set_compression(Compression::ZSTD(ZstdLevel::default()))
                .set_created_by("ssdlab".into())
                .build();
            let cannot = |error| cannot(path, &error);
            let writer = SerializedFileWriter::new(output, schema, Arc::new(properties)).map_err(cannot)?;
            let integers = vec![Vec::with_capacity(GROUP); COLUMNS.len() - 1 + CAUSES.len()];
            let names = ["read", "write", "trim"].map(ByteArray::from);
            Ok(Sink { path: path.into(), writer, integers, ops: Vec::with_capacity(GROUP), names })
        }

        pub(super) fn write(&mut self, row: &Completed) -> Result<()> {
            for (column, value) in self.integers.iter_mut().zip(numbers(row).into_iter().chain(row.blame.0)) {
                // Times and addresses are below 2^63.
                column.push(value as i64);
            }
            let name = ["read", "write", "trim"].iter().position(|name| *name == op(row)).unwrap_or(0);
            self.ops.push(self.names[name].clone());
            if self.ops.len() == GROUP { self.flush() } else { Ok(()) }
        }

        fn flush(&mut self) -> Result<()> {
            if self.ops.is_empty() {
                return Ok(());
            }
            let (path, integers, ops) = (&self.path, &mut self.integers, &mut self.ops);
            let mut group = || -> std::result::Result<(), ParquetError> {
                let mut group = self.writer.next_row_group()?;
                let mut index = 0;
                while let Some(mut column) = group.next_column()? {
                    if index == OP {
                        column.typed::<ByteArrayType>().write_batch(ops, None, None)?;
                    } else {
                        let values = &integers[index - usize::from(index > OP)];
                        column.typed::<Int64Type>().write_batch(values, None, None)?;
                    }
                    column.close()?;
                    index += 1;
                }
                group.close().map(drop)
            };
            group().map_err(|error| cannot(path, &error))?;
            self.integers.iter_mut().for_each(Vec::clear);
            self.ops.clear();
            Ok(())
        }

        pub(super) fn finish(mut self: Box<Self>) -> Result<Finished> {
            self.flush()?;
            self.writer.into_inner().map_err(|error| cannot(&self.path, &error))?.finish()
        }
    }

    fn cannot(path: &Path, error: &ParquetError) -> Fault {
        Fault::new(Status::File, format!("cannot write {}: {error}", path.display()))
    }
}
