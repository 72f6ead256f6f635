//! Parquet, as `ssdlab trace convert` writes it: one row per request, columns by name.
//!
//! `time_ns` (int64, since the first request), `op` (text: `read`, `write`, `trim`, `flush`), `offset` and `bytes` (64-bit), and
//! optionally `volume` (int32, in the order of first appearance) and `fua` (boolean: force unit access)
//! and `stream` (int32: number of the stream). The names of the volumes are in the file's metadata
//! under `ssdlab.volumes`, percent-encoded between commas: any bytes come back as they were. Likewise those of the streams, under
//! `ssdlab.streams`: the column then counts them from 1, and 0 is none. Without it, each number is the name of a stream.
//!
//! A column `time_ns` of a type of time (a timestamp or a time of day of Parquet, a duration of Arrow) is converted by its unit. Any
//! other type that has a meaning of its own is an error.
//!
//! The file's own library unpacks rows batch by batch into the fixed-size records that the parser below reads, so that
//! all later steps (limits, order of time, volumes) are the same as for any other format. The library is only part of
//! builds with the feature `parquet`.

use crate::error::Code;
use crate::readers::line::*;
use crate::table::{FUA, ROW_BYTES, STREAM};

/// Operations by their number in a row; any other value is unknown.
const OPS: [(&str, Op); 4] = [("read", Op::Read), ("write", Op::Write), ("trim", Op::Trim), ("flush", Op::Flush)];

/// Names in the metadata of a file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Labels {
    /// Of volumes; without any, the trace names none.
    pub volumes: Vec<Vec<u8>>,
    /// Of streams; none if their numbers are their names.
    pub streams: Option<Vec<Vec<u8>>>,
}

#[derive(Default)]
pub(crate) struct Rows {
    labels: Labels,
}

impl Rows {
    pub fn new(labels: Labels) -> Rows {
        Rows { labels }
    }

    /// The name of the stream of a number; empty for none.
    fn stream(&self, number: u32) -> Vec<u8> {
        let own = || number.to_string().into_bytes();
        match &self.labels.streams {
            None => own(),
            Some(_) if number == 0 => Vec::new(),
            Some(names) => names.get(number as usize - 1).cloned().unwrap_or_else(own),
        }
    }
}

impl Parser for Rows {
    fn record_bytes(&self) -> Option<usize> {
        Some(ROW_BYTES)
    }

    fn parse(&mut self, row: &[u8], cx: &mut Context) -> Outcome {
        let Ok(row): Result<&[u8; ROW_BYTES], _> = row.try_into() else {
            return Err(Bad::new(Code::Truncated, "The last row is cut off", row).expected("whole rows"));
        };
        let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| row[at + i]));
        let (time_ns, offset, bytes) = (number(0), number(8), number(16));
        for (i, name) in ["time_ns", "offset", "bytes"].into_iter().enumerate() {
            if row[29] & 1 << i != 0 {
                let title = format!("{name} is negative: {}", number(8 * i) as i64);
                return Err(Bad::new(Code::Negative, title, row)
                    .on(name, row, &row[8 * i..8 * i + 8])
                    .expected("0 or more"));
            }
        }
        let Some((_, op)) = OPS.get(usize::from(row[28])) else {
            return Err(Bad::new(Code::Operation, "Unknown operation", row)
                .on("op", row, &row[28..29])
                .expected("read, write, trim or flush in the column op")
                .fix("correct the column op, or leave such rows out"));
        };
        if offset.checked_add(bytes).is_none() {
            return Err(Bad::new(Code::Range, "Offset plus size does not fit in 64 bits", row)
                .expected("addresses below 18446744073709551616"));
        }
        let mut volume = 0;
        let volumes = &self.labels.volumes;
        if !volumes.is_empty() {
            let raw = &row[24..28];
            let at = u32::from_le_bytes(std::array::from_fn(|i| raw[i])) as usize;
            let label = || volumes.get(at).cloned().unwrap_or_else(|| at.to_string().into_bytes());
            match cx.volume_of(raw, |_| label())? {
                Some(id) => volume = id,
                None => return Ok(None),
            }
        }
        let stream = match row[29] & STREAM {
            0 => 0,
            _ => {
                let number = u32::from_le_bytes(std::array::from_fn(|i| row[30 + i]));
                cx.streams.number(&self.stream(number))?
            }
        };
        let fua = row[29] & FUA != 0 && *op == Op::Write;
        Ok(Some(Record { time_ns, offset, bytes, volume, op: *op, fua, stream }))
    }
}

#[cfg(feature = "parquet")]
pub(crate) use file::{Sink, open};

#[cfg(feature = "parquet")]
mod file {
    use crate::readers::arrow::{self, Said};
    use crate::readers::parquet::{Labels, OPS};
    use crate::record::{Names, Record};
    use crate::table::Row;
    use parquet::basic::{Compression, ConvertedType, LogicalType, TimeUnit, Type, ZstdLevel};
    use parquet::column::reader::{ColumnReaderImpl, get_typed_column_reader};
    use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
    use parquet::errors::ParquetError;
    use parquet::file::metadata::KeyValue;
    use parquet::file::properties::WriterProperties;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;
    use std::fs::File;
    use std::io::{self, Read, Write};
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::{Arc, Mutex, PoisonError};

    const VOLUMES: &str = "ssdlab.volumes";
    const STREAMS: &str = "ssdlab.streams";
    const SCHEMA: &str = "message requests {
        required int64 time_ns;
        required binary op (UTF8);
        required int64 offset (INTEGER(64,false));
        required int64 bytes (INTEGER(64,false));
        required int32 volume;
        required boolean fua;
        required int32 stream;
    }";
    /// Rows that are unpacked at a time.
    const BATCH: usize = 1 << 12;
    /// Rows of a row group that is written.
    const GROUP: usize = 1 << 16;
    /// Largest column of a row group that is unpacked.
    const COLUMN_BYTES: i64 = 1 << 30;

    fn broken(text: impl Into<String>) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, text.into())
    }

    /// A valid file with an unsupported feature.
    fn not_read(text: impl Into<String>) -> io::Error {
        io::Error::new(io::ErrorKind::Unsupported, text.into())
    }

    /// The library's errors and, for files that are damaged in ways it does not expect, its panics.
    fn guarded<T>(work: impl FnOnce() -> Result<T, ParquetError>) -> io::Result<T> {
        match catch_unwind(AssertUnwindSafe(work)) {
            Ok(result) => result.map_err(|error| match error {
                ParquetError::NYI(what) => not_read(what),
                // The library's message for a compression that this build lacks.
                ParquetError::General(what) if what.starts_with("Disabled feature at compile time") => {
                    let packing = what.rsplit(' ').next().unwrap_or_default();
                    not_read(format!(
                        "its columns are compressed with {packing}; supported are none, snappy, gzip, lz4 and zstd"
                    ))
                }
                error => broken(error.to_string()),
            }),
            Err(_) => Err(broken("its pages contradict each other")),
        }
    }

    /// A file, opened: its rows as a stream of records, and the names of its volumes.
    pub(crate) struct Open {
        pub rows: Box<dyn Read + Send>,
        pub labels: Labels,
    }

    /// One column of the current row group.
    struct Values<T: DataType> {
        reader: Option<ColumnReaderImpl<T>>,
        index: usize,
        optional: bool,
        /// Its numbers may be negative.
        signed: bool,
        /// Nanoseconds in one, if it is a time in another unit.
        unit: i64,
        values: Vec<T::T>,
        levels: Vec<i16>,
    }

    impl<T: DataType> Values<T> {
        fn find(file: &SerializedFileReader<File>, name: &str, kind: Type) -> io::Result<Option<Values<T>>> {
            let schema = file.metadata().file_metadata().schema_descr();
            let Some(index) = schema.columns().iter().position(|column| column.path().string() == name) else {
                return Ok(None);
            };
            let column = schema.column(index);
            if column.physical_type() != kind || column.max_rep_level() > 0 || column.max_def_level() > 1 {
                return Err(broken(format!("the column {name} is {} and not {kind}", column.physical_type())));
            }
            let optional = column.max_def_level() == 1;
            let unsigned = matches!(column.logical_type_ref(), Some(LogicalType::Integer(int)) if !int.is_signed)
                || column.converted_type() == ConvertedType::UINT_64;
            let unit = unit_of(file, index, name)?;
            let (values, levels) = (Vec::new(), Vec::new());
            Ok(Some(Values { reader: None, index, optional, signed: !unsigned, unit, values, levels }))
        }

        fn need(file: &SerializedFileReader<File>, name: &str, kind: Type) -> io::Result<Values<T>> {
            Values::find(file, name, kind)?.ok_or_else(|| {
                broken(format!(
                    "it has no column {name}; needed are time_ns, op, offset and bytes, volume, fua and stream may be there"
                ))
            })
        }

        fn start(&mut self, file: &SerializedFileReader<File>, group: usize) -> io::Result<()> {
            let size = file.metadata().row_group(group).column(self.index).uncompressed_size();
            if size < 0 {
                return Err(broken(format!("a column of a row group has {size} bytes")));
            }
            if size > COLUMN_BYTES {
                return Err(not_read(format!(
                    "a column of a row group has {size} bytes, more than the limit of {COLUMN_BYTES}: write smaller row groups"
                )));
            }
            let reader = guarded(|| file.get_row_group(group)?.get_column_reader(self.index))?;
            self.reader = Some(get_typed_column_reader(reader));
            Ok(())
        }

        fn batch(&mut self) -> io::Result<usize> {
            self.values.clear();
            self.levels.clear();
            let Values { reader: Some(reader), optional, values, levels, .. } = self else { return Ok(0) };
            let levels = optional.then_some(levels);
            let (rows, found, _) = guarded(|| reader.read_records(BATCH, levels, None, values))?;
            if rows != found {
                return Err(not_read("a cell is empty (null)"));
            }
            Ok(rows)
        }
    }

    /// Nanoseconds in one of a column: those of its type of time if it has one and holds times.
    fn unit_of(file: &SerializedFileReader<File>, index: usize, name: &str) -> io::Result<i64> {
        let meta = file.metadata().file_metadata();
        let column = meta.schema_descr().column(index);
        let ns = |unit: &TimeUnit| match unit {
            TimeUnit::MILLIS => 1_000_000,
            TimeUnit::MICROS => 1_000,
            TimeUnit::NANOS => 1,
        };
        let unit = match (column.logical_type_ref(), column.converted_type()) {
            (Some(LogicalType::Integer(_) | LogicalType::String | LogicalType::Enum | LogicalType::Json), _) => {
                return Ok(1);
            }
            (Some(LogicalType::Timestamp(time) | LogicalType::Time(time)), _) => Some(ns(&time.unit)),
            (None, ConvertedType::TIMESTAMP_MILLIS | ConvertedType::TIME_MILLIS) => Some(1_000_000),
            (None, ConvertedType::TIMESTAMP_MICROS | ConvertedType::TIME_MICROS) => Some(1_000),
            (None, ConvertedType::DECIMAL | ConvertedType::INTERVAL) | (Some(_), _) => None,
            (None, _) => {
                let pairs = meta.key_value_metadata();
                let schema = pairs.and_then(|pairs| pairs.iter().find(|pair| pair.key == arrow::KEY)?.value.as_deref());
                match schema.and_then(|schema| arrow::type_of(schema, name)) {
                    Some(Said::Duration(ns)) => Some(ns as i64),
                    Some(Said::Other) | None => return Ok(1),
                }
            }
        };
        unit.filter(|_| name == "time_ns").ok_or_else(|| {
            let logical = column.logical_type_ref().map(|logical| format!("{logical:?}"));
            let kind = logical.unwrap_or_else(|| match column.converted_type() {
                ConvertedType::NONE => "a duration".to_owned(),
                converted => converted.to_string(),
            });
            broken(format!("the column {name} has the type {kind}, which no rule converts"))
        })
    }

    struct Rows {
        file: SerializedFileReader<File>,
        group: usize,
        left: u64,
        time: Values<Int64Type>,
        op: Values<ByteArrayType>,
        offset: Values<Int64Type>,
        bytes: Values<Int64Type>,
        volume: Option<Values<Int32Type>>,
        fua: Option<Values<BoolType>>,
        stream: Option<Values<Int32Type>>,
        out: Vec<u8>,
        given: usize,
    }

    impl Rows {
        /// Unpacks the next rows; nothing more in `out` at the end.
        fn fill(&mut self) -> io::Result<()> {
            self.out.clear();
            self.given = 0;
            while self.left == 0 {
                if self.group == self.file.num_row_groups() {
                    return Ok(());
                }
                let group = self.group;
                self.group += 1;
                self.left = u64::try_from(self.file.metadata().row_group(group).num_rows()).unwrap_or(0);
                self.time.start(&self.file, group)?;
                self.op.start(&self.file, group)?;
                self.offset.start(&self.file, group)?;
                self.bytes.start(&self.file, group)?;
                self.volume.iter_mut().try_for_each(|column| column.start(&self.file, group))?;
                self.fua.iter_mut().try_for_each(|column| column.start(&self.file, group))?;
                self.stream.iter_mut().try_for_each(|column| column.start(&self.file, group))?;
            }
            let rows = self.time.batch()?;
            let others = [self.op.batch()?, self.offset.batch()?, self.bytes.batch()?];
            let volumes = self.volume.as_mut().map_or(Ok(rows), Values::batch)?;
            let forced = self.fua.as_mut().map_or(Ok(rows), Values::batch)?;
            let streams = self.stream.as_mut().map_or(Ok(rows), Values::batch)?;
            if rows == 0 || others.iter().chain([&volumes, &forced, &streams]).any(|other| *other != rows) {
                return Err(broken("its columns end at different rows"));
            }
            self.left = self.left.saturating_sub(rows as u64);
            for row in 0..rows {
                let numbers = [&self.time, &self.offset, &self.bytes].map(|column| (column.values[row], column.signed));
                let op = OPS.iter().position(|(name, _)| name.as_bytes() == self.op.values[row].data());
                let [_, offset, bytes] = numbers.map(|(value, _)| value as u64);
                let time = numbers[0].0;
                let time_ns = match self.time.unit {
                    1 => time as u64,
                    unit => time.checked_mul(unit).ok_or_else(|| {
                        broken(format!("a time_ns of {time} units of {unit} ns is beyond the range of the clock"))
                    })? as u64,
                };
                let negative = numbers.map(|(value, signed)| signed && value < 0);
                let device = self.volume.as_ref().map_or(0, |column| column.values[row] as u32);
                let op = op.map_or(u8::MAX, |op| op as u8);
                let fua = self.fua.as_ref().is_some_and(|column| column.values[row]);
                let stream = self.stream.as_ref().map(|column| column.values[row] as u32);
                Row { time_ns, offset, bytes, negative, device, op, fua, stream }.put(&mut self.out);
            }
            Ok(())
        }
    }

    impl Read for Rows {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            if self.given == self.out.len() {
                self.fill()?;
            }
            let n = buf.len().min(self.out.len() - self.given);
            buf[..n].copy_from_slice(&self.out[self.given..self.given + n]);
            self.given += n;
            Ok(n)
        }
    }

    /// Opens a file that begins with the mark of Parquet.
    pub(crate) fn open(file: File) -> io::Result<Open> {
        let file = guarded(|| SerializedFileReader::new(file))?;
        let time = Values::need(&file, "time_ns", Type::INT64)?;
        let op = Values::need(&file, "op", Type::BYTE_ARRAY)?;
        let offset = Values::need(&file, "offset", Type::INT64)?;
        let bytes = Values::need(&file, "bytes", Type::INT64)?;
        let volume = Values::find(&file, "volume", Type::INT32)?;
        let fua = Values::find(&file, "fua", Type::BOOLEAN)?;
        let stream = Values::find(&file, "stream", Type::INT32)?;
        let pairs = file.metadata().file_metadata().key_value_metadata();
        let names = |key: &str| {
            let text = pairs.and_then(|pairs| pairs.iter().find(|pair| pair.key == key)?.value.clone());
            text.map(|text| listed(&text, key)).transpose()
        };
        let volumes = match (names(VOLUMES)?, &volume) {
            (Some(names), Some(_)) => names,
            // A file of another program: volumes are named by their numbers.
            (None, Some(_)) => vec![b"0".to_vec()],
            (_, None) => Vec::new(),
        };
        let labels = Labels { volumes, streams: names(STREAMS)? };
        let (group, left) = (0, 0);
        let rows = Rows { file, group, left, time, op, offset, bytes, volume, fua, stream, out: Vec::new(), given: 0 };
        Ok(Open { rows: Box::new(rows), labels })
    }

    fn encode(label: &[u8]) -> String {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"_-.:/".contains(&b);
        label.iter().map(|&b| if plain(b) { (b as char).to_string() } else { format!("%{b:02X}") }).collect()
    }

    fn listed(text: &str, key: &str) -> io::Result<Vec<Vec<u8>>> {
        let names = text.split(',').filter(|_| !text.is_empty()).map(decode);
        names.collect::<Option<_>>().ok_or_else(|| broken(format!("the names under {key} are not percent-encoded")))
    }

    fn decode(text: &str) -> Option<Vec<u8>> {
        let (mut bytes, mut label) = (text.bytes(), Vec::new());
        while let Some(byte) = bytes.next() {
            label.push(match byte {
                b'%' => {
                    let digits = [bytes.next()?, bytes.next()?];
                    u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
                }
                byte => byte,
            });
        }
        Some(label)
    }

    /// Bytes that the library wrote, not yet taken.
    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Shared {
        fn take(&self) -> Vec<u8> {
            std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
        }
    }

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    pub(crate) struct Sink {
        writer: SerializedFileWriter<Shared>,
        shared: Shared,
        numbers: [Vec<i64>; 3],
        ops: Vec<ByteArray>,
        volumes: Vec<i32>,
        fua: Vec<bool>,
        streams: Vec<i32>,
        names: [ByteArray; 4],
        volume_names: Vec<Option<Vec<u8>>>,
        stream_names: Vec<Option<Vec<u8>>>,
    }

    impl Sink {
        pub fn new() -> io::Result<Sink> {
            let shared = Shared::default();
            let schema = Arc::new(parse_message_type(SCHEMA).expect("a constant schema"));
            let properties = WriterProperties::builder()
                .set_compression(Compression::ZSTD(ZstdLevel::default()))
                .set_created_by("ssdlab".into())
                .build();
            let writer = guarded(|| SerializedFileWriter::new(shared.clone(), schema, Arc::new(properties)))?;
            Ok(Sink {
                writer,
                shared,
                numbers: Default::default(),
                ops: Vec::new(),
                volumes: Vec::new(),
                fua: Vec::new(),
                streams: Vec::new(),
                names: OPS.map(|(name, _)| ByteArray::from(name)),
                volume_names: Vec::new(),
                stream_names: Vec::new(),
            })
        }

        /// Takes a request; the bytes that are ready for the file, often none.
        pub fn push(&mut self, record: &Record, names: Names<'_>) -> io::Result<Vec<u8>> {
            for (column, value) in self.numbers.iter_mut().zip([record.time_ns, record.offset, record.bytes]) {
                // Bits of an unsigned number, as the schema says.
                column.push(value as i64);
            }
            let op = OPS.iter().position(|(_, op)| *op == record.op).unwrap_or(0);
            self.ops.push(self.names[op].clone());
            self.volumes.push(i32::try_from(record.volume).map_err(|_| broken("too many volumes"))?);
            self.fua.push(record.fua);
            self.streams.push(i32::from(record.stream));
            let keep = |known: &mut Vec<Option<Vec<u8>>>, place: usize, name: Option<&[u8]>| {
                known.resize(known.len().max(place + 1), None);
                if known[place].is_none() {
                    known[place] = name.map(<[u8]>::to_vec);
                }
            };
            if names.volume.is_some() {
                keep(&mut self.volume_names, record.volume as usize, names.volume);
            }
            if let Some(place) = usize::from(record.stream).checked_sub(1) {
                keep(&mut self.stream_names, place, names.stream);
            }
            if self.ops.len() == GROUP { self.flush() } else { Ok(Vec::new()) }
        }

        fn flush(&mut self) -> io::Result<Vec<u8>> {
            if self.ops.is_empty() {
                return Ok(self.shared.take());
            }
            let Sink { writer, numbers, ops, volumes, fua, streams, .. } = self;
            guarded(|| {
                let mut group = writer.next_row_group()?;
                let mut index = 0usize;
                while let Some(mut column) = group.next_column()? {
                    match index {
                        1 => column.typed::<ByteArrayType>().write_batch(ops, None, None)?,
                        4 => column.typed::<Int32Type>().write_batch(volumes, None, None)?,
                        5 => column.typed::<BoolType>().write_batch(fua, None, None)?,
                        6 => column.typed::<Int32Type>().write_batch(streams, None, None)?,
                        at => column.typed::<Int64Type>().write_batch(&numbers[at.div_ceil(2)], None, None)?,
                    };
                    column.close()?;
                    index += 1;
                }
                group.close().map(drop)
            })?;
            numbers.iter_mut().for_each(Vec::clear);
            ops.clear();
            volumes.clear();
            fua.clear();
            streams.clear();
            Ok(self.shared.take())
        }

        pub fn finish(&mut self) -> io::Result<Vec<u8>> {
            let mut rest = self.flush()?;
            for (key, names) in [(VOLUMES, &self.volume_names), (STREAMS, &self.stream_names)] {
                let names = names.iter().map(|name| encode(name.as_deref().unwrap_or_default()));
                let names = names.collect::<Vec<_>>().join(",");
                self.writer.append_key_value_metadata(KeyValue::new(key.to_owned(), names));
            }
            guarded(|| self.writer.finish().map(drop))?;
            rest.extend(self.shared.take());
            Ok(rest)
        }
    }

    #[test]
    fn labels_come_back() {
        for label in ["hm_0", "", "a,b%", "é\n"] {
            assert_eq!(decode(&encode(label.as_bytes())).as_deref(), Some(label.as_bytes()));
        }
        assert_eq!(decode("%f"), None);
    }
}
