//! Traces from Python: tables of Arrow, dictionaries of buffers, files, streams; and tables of requests for Python.

use std::io::{self, Read};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, cast::AsArray};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use ssdlab_lab::error::Error;
use ssdlab_lab::input::{Reading, Room, trace_rows, workload_rows};
use ssdlab_trace::{Code, Row, Rows, SORT_RECORDS, TimeOrder, Trace, TraceError};

use crate::arguments::bytes_of;
use crate::arrow;
use crate::columns::{BadTime, Flags, Numbers, Ops};
use crate::errors::{engine, keep, raised, usage};
use crate::table::Table;

/// The name of a table of Python in messages.
const NAME: &str = "table";
/// The largest number of a device, and of a stream.
const MOST_NUMBER: u64 = u32::MAX as u64;
const WRITE: u8 = 1;
/// A trim; reads and writes have lower numbers.
const TRIM: u8 = 2;
/// A command that is skipped.
const SKIPPED: u8 = 3;

/// Rows that came together.
struct Chunk {
    time: Numbers,
    op: Ops,
    offset: Numbers,
    bytes: Numbers,
    device: Option<Numbers>,
    /// Rows that are skipped and counted.
    skip: Option<Flags>,
    /// Which writes have forced unit access.
    fua: Option<Flags>,
    stream: Option<Numbers>,
}

impl Chunk {
    /// The number of rows of each column but `op`.
    fn lengths(&self) -> Vec<(&'static str, usize)> {
        let numbers = [("time_ns", &self.time), ("offset", &self.offset), ("bytes", &self.bytes)];
        let mut lengths: Vec<_> = numbers.map(|(name, numbers)| (name, numbers.len())).into();
        lengths.extend(self.device.iter().map(|device| ("device", device.len())));
        lengths.extend(self.stream.iter().map(|stream| ("stream", stream.len())));
        let flags = [("skip", &self.skip), ("fua", &self.fua)];
        lengths.extend(flags.into_iter().filter_map(|(name, flags)| Some((name, flags.as_ref()?.len()))));
        lengths
    }

    /// Appends some rows.
    fn fetch(&self, rows: Range<usize>, out: &mut Vec<Row>) {
        let mut ops = self.op.read(rows.clone());
        if let Some(skip) = &self.skip {
            ops.iter_mut().zip(skip.read(rows.clone())).filter(|(_, skip)| *skip).for_each(|(op, _)| *op = SKIPPED);
        }
        let [times, offsets, sizes] = [&self.time, &self.offset, &self.bytes].map(|column| column.read(rows.clone()));
        let devices = self.device.as_ref().map(|device| device.read(rows.clone()));
        let fua = self.fua.as_ref().map(|fua| fua.read(rows.clone()));
        let streams = self.stream.as_ref().map(|stream| stream.read(rows));
        for (at, op) in ops.into_iter().enumerate() {
            let ((time_ns, a), (offset, b), (bytes, c)) = (times[at], offsets[at], sizes[at]);
            let device = devices.as_ref().map_or(0, |devices| devices[at].0 as u32);
            let fua = op == WRITE && fua.as_ref().is_some_and(|fua| fua[at]);
            let stream = streams.as_ref().map(|streams| streams[at].0 as u32);
            out.push(Row { time_ns, offset, bytes, negative: [a, b, c], device, op, fua, stream });
        }
    }
}

/// A table of requests.
struct RequestTable {
    /// Each with the number of its first row.
    chunks: Vec<(u64, Chunk)>,
    rows: u64,
    devices: bool,
}

impl Rows for RequestTable {
    fn rows(&self) -> u64 {
        self.rows
    }

    fn names_devices(&self) -> bool {
        self.devices
    }

    fn fetch(&self, from: u64, most: usize, out: &mut Vec<Row>) {
        let Some(at) = self.chunks.partition_point(|(first, _)| *first <= from).checked_sub(1) else { return };
        let (first, chunk) = &self.chunks[at];
        let start = (from - first) as usize;
        chunk.fetch(start..chunk.op.len().min(start.saturating_add(most)), out);
    }
}

/// An error about a column.
fn wrong(py: Python<'_>, code: Code, column: &'static str, row: Option<u64>, title: String, expected: &str) -> PyErr {
    let error = TraceError::new(code, NAME, title).field(column).expected(expected);
    let error = row.map_or(error.clone(), |row| error.at_line(row));
    raised(py, &Error::from(error))
}

fn missing(py: Python<'_>, column: &'static str) -> PyErr {
    let expected = "columns time_ns, op, offset and bytes; device, skip, fua and stream may be there";
    wrong(py, Code::FieldCount, column, None, format!("The column {column} is missing"), expected)
}

fn of_type(py: Python<'_>, column: &'static str, of: &str) -> PyErr {
    let expected = match column {
        "op" => "uint8 (0 read, 1 write, 2 trim, 3 flush) or the words read, write, trim, flush",
        "skip" | "fua" => "booleans",
        "device" | "stream" => "uint32",
        "time_ns" => "uint64 or int64 nanoseconds, or timestamps, durations or times of day of any unit",
        _ => "uint64 or int64",
    };
    wrong(py, Code::Notation, column, None, format!("The column {column} is of type {of}"), expected)
}

/// Refuses times, devices and streams that no number of a row holds. `before` rows come before the chunk's first one.
fn check(py: Python<'_>, before: u64, chunk: &Chunk) -> PyResult<()> {
    let row = |at: usize| Some(before + at as u64 + 1);
    match chunk.time.bad_time() {
        None => {}
        Some(BadTime::Empty(at)) => {
            return Err(wrong(
                py,
                Code::Empty,
                "time_ns",
                row(at),
                "time_ns is empty (NaT)".into(),
                "a value in every row",
            ));
        }
        Some(BadTime::Beyond(at)) => {
            let title = "time_ns is beyond 64 bits in nanoseconds".into();
            return Err(wrong(py, Code::Clock, "time_ns", row(at), title, "times within 292 years of the epoch"));
        }
    }
    for (name, column) in [("device", &chunk.device), ("stream", &chunk.stream)] {
        let bad = |column: &Numbers| column.first_bad(|(value, negative)| !negative && value <= MOST_NUMBER);
        if let Some(at) = column.as_ref().and_then(bad) {
            let title = format!("{name} is not a number of 32 bits");
            return Err(wrong(py, Code::Range, name, row(at), title, "0 to 4294967295"));
        }
    }
    Ok(())
}

/// Where a stream of tables is left: it may have no end, and what it gives can't be read again.
#[derive(Clone, Copy)]
pub struct Enough {
    /// Rows that are requests for certain.
    requests: u64,
    /// Of this device alone, if given.
    device: Option<u64>,
    max_request: u64,
}

impl Enough {
    /// That of a limit on requests with how they are read; none where all rows have to be seen. A run passes over rows that it can't
    /// use, and sorting looks ahead: so many more are read.
    pub fn of(limit: Option<u64>, reading: &Reading, clips: bool) -> Option<Enough> {
        let ahead = if reading.time_order == TimeOrder::Sort { SORT_RECORDS as u64 } else { 0 };
        let device = reading.device.as_ref().map(|device| device.parse::<u64>().ok());
        // A device with another name, and requests that are cut off at the end of the device: any number may be passed over.
        if clips || device == Some(None) {
            return None;
        }
        let (device, max_request) = (device.flatten(), reading.max_request);
        Some(Enough { requests: limit?.saturating_add(ahead), device, max_request })
    }

    /// Rows of a chunk that are requests for certain, `latest` being the latest time before them.
    fn count(&self, chunk: &Chunk, latest: &mut u64) -> u64 {
        const ROWS: usize = 1 << 12;
        let (mut count, mut rows) = (0, Vec::new());
        for from in (0..chunk.op.len()).step_by(ROWS) {
            rows.clear();
            chunk.fetch(from..chunk.op.len().min(from + ROWS), &mut rows);
            for row in &rows {
                let own = self.device.is_none_or(|device| device == u64::from(row.device));
                let sound = row.negative == [false; 3] && row.offset.checked_add(row.bytes).is_some();
                let sized = row.bytes > 0 && row.bytes <= self.max_request;
                if row.op <= TRIM && own && sound && sized && row.time_ns >= *latest {
                    (count, *latest) = (count + 1, row.time_ns);
                }
            }
        }
        count
    }
}

/// Requests of an object with `__arrow_c_stream__`; a stream is read until there are enough.
fn of_arrow(object: &Bound<'_, PyAny>, enough: Option<Enough>) -> PyResult<RequestTable> {
    let py = object.py();
    let (schema, batches) = arrow::batches(object)?;
    let (mut known, mut latest) = (0, 0);
    let place = |name: &'static str| schema.index_of(name).ok();
    let need = |name: &'static str| place(name).ok_or_else(|| missing(py, name));
    let (time, op, offset, bytes) = (need("time_ns")?, need("op")?, need("offset")?, need("bytes")?);
    let (device, skip, fua, stream) = (place("device"), place("skip"), place("fua"), place("stream"));
    let mut requests = RequestTable { chunks: Vec::new(), rows: 0, devices: device.is_some() };
    for batch in batches {
        let batch = batch?;
        let filled = |name: &'static str, at: usize| -> PyResult<ArrayRef> {
            let array = batch.column(at).clone();
            match (0..array.len()).find(|row| array.is_null(*row)).filter(|_| array.null_count() > 0) {
                None => Ok(array),
                Some(row) => {
                    let row = requests.rows + row as u64 + 1;
                    let title = format!("{name} is empty (null)");
                    Err(wrong(py, Code::Empty, name, Some(row), title, "a value in every row"))
                }
            }
        };
        let of = |name: &'static str, at: usize, numbers: fn(ArrayRef) -> Option<Numbers>| -> PyResult<Numbers> {
            let array = filled(name, at)?;
            let kind = array.data_type().to_string();
            numbers(array).ok_or_else(|| of_type(py, name, &kind))
        };
        let number = |name: &'static str, at: usize| of(name, at, Numbers::of_array);
        let flags = |name: &'static str, at: usize| -> PyResult<Flags> {
            let array = filled(name, at)?;
            let flags = array.as_boolean_opt().ok_or_else(|| of_type(py, name, &array.data_type().to_string()))?;
            Ok(Flags::Array(flags.clone()))
        };
        let ops = filled("op", op)?;
        let kind = ops.data_type().to_string();
        let chunk = Chunk {
            time: of("time_ns", time, Numbers::of_times)?,
            op: Ops::of_array(ops).ok_or_else(|| of_type(py, "op", &kind))?,
            offset: number("offset", offset)?,
            bytes: number("bytes", bytes)?,
            device: device.map(|at| number("device", at)).transpose()?,
            skip: skip.map(|at| flags("skip", at)).transpose()?,
            fua: fua.map(|at| flags("fua", at)).transpose()?,
            stream: stream.map(|at| number("stream", at)).transpose()?,
        };
        check(py, requests.rows, &chunk)?;
        let rows = chunk.op.len() as u64;
        known += enough.map_or(0, |enough| enough.count(&chunk, &mut latest));
        if rows > 0 {
            requests.chunks.push((requests.rows, chunk));
            requests.rows += rows;
        }
        if enough.is_some_and(|enough| known >= enough.requests) {
            break;
        }
    }
    Ok(requests)
}

/// The type of an object, as errors name it.
fn kind(value: &Bound<'_, PyAny>) -> PyResult<String> {
    let class = value.get_type().name()?.to_string();
    Ok(value.getattr("dtype").map_or(class, |dtype| dtype.to_string()))
}

/// Whole numbers of a buffer.
fn number(name: &'static str, value: &Bound<'_, PyAny>) -> PyResult<Numbers> {
    let py = value.py();
    let times = if name == "time_ns" { Numbers::of_datetimes(value)? } else { None };
    match times.map_or_else(|| Numbers::of_buffer(value), |times| Ok(Some(times)))? {
        Some(Ok(numbers)) => Ok(numbers),
        Some(Err(dimensions)) => Err(of_type(py, name, &format!("{dimensions} dimensions"))),
        None => Err(of_type(py, name, &kind(value)?)),
    }
}

/// Operations of a buffer, or of a sequence of words.
fn operations(value: &Bound<'_, PyAny>) -> PyResult<Ops> {
    match Numbers::of_buffer(value)? {
        Some(Ok(numbers)) => Ok(Ops::Numbers(numbers)),
        Some(Err(dimensions)) => Err(of_type(value.py(), "op", &format!("{dimensions} dimensions"))),
        None => match Ops::of_words(value) {
            Some(ops) => Ok(ops),
            None => Err(of_type(value.py(), "op", &kind(value)?)),
        },
    }
}

/// Requests of a dictionary of buffers.
fn of_buffers(table: &Bound<'_, PyDict>) -> PyResult<RequestTable> {
    let py = table.py();
    let need = |name: &'static str| table.get_item(name)?.ok_or_else(|| missing(py, name));
    let flags = |name: &'static str| -> PyResult<Option<Flags>> {
        let Some(flags) = table.get_item(name)? else { return Ok(None) };
        Flags::of(&flags)?.map(Some).ok_or_else(|| of_type(py, name, "other than bool"))
    };
    let op = operations(&need("op")?)?;
    let chunk = Chunk {
        time: number("time_ns", &need("time_ns")?)?,
        op,
        offset: number("offset", &need("offset")?)?,
        bytes: number("bytes", &need("bytes")?)?,
        device: table.get_item("device")?.map(|value| number("device", &value)).transpose()?,
        skip: flags("skip")?,
        fua: flags("fua")?,
        stream: table.get_item("stream")?.map(|value| number("stream", &value)).transpose()?,
    };
    let rows = chunk.op.len();
    if let Some((name, length)) = chunk.lengths().into_iter().find(|(_, length)| *length != rows) {
        let title = format!("The column {name} has {length} rows, and op has {rows}");
        return Err(wrong(py, Code::FieldCount, name, None, title, "columns of equal length"));
    }
    check(py, 0, &chunk)?;
    let devices = chunk.device.is_some();
    Ok(RequestTable { chunks: vec![(0, chunk)], rows: rows as u64, devices })
}

/// A file of Python as a stream of bytes.
struct PythonFile(Py<PyAny>);

impl Read for PythonFile {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        Python::attach(|py| {
            let bytes = self.0.bind(py).call_method1("read", (buf.len(),))?;
            let bytes = bytes.cast::<PyBytes>()?.as_bytes();
            let n = bytes.len().min(buf.len());
            buf[..n].copy_from_slice(&bytes[..n]);
            Ok(n)
        })
        .map_err(|error: PyErr| {
            let text = error.to_string();
            keep(error);
            io::Error::other(text)
        })
    }
}

/// A trace from Python: a path, a binary file, a table of Arrow or a dictionary of buffers.
pub fn trace_of(trace: &Bound<'_, PyAny>) -> PyResult<Trace> {
    bounded(trace, None)
}

/// The same, of which no more than this is needed.
pub fn bounded(trace: &Bound<'_, PyAny>, enough: Option<Enough>) -> PyResult<Trace> {
    let py = trace.py();
    let table = |requests: RequestTable| Trace::Table(ssdlab_trace::Table::new(NAME, Arc::new(requests)));
    if let Ok(path) = trace.extract::<PathBuf>() {
        return Ok(Trace::File(path));
    }
    if let Ok(columns) = trace.cast::<PyDict>() {
        return of_buffers(columns).map(table);
    }
    if trace.hasattr("__arrow_c_stream__")? {
        return of_arrow(trace, enough).map(table);
    }
    if trace.hasattr("read")? {
        if trace.is_instance(&py.import("io")?.getattr("TextIOBase")?)? {
            return Err(usage(py, "trace: the file is open as text", "open it in binary mode, open(path, \"rb\")"));
        }
        let name = trace.getattr("name").and_then(|name| name.extract::<String>()).unwrap_or_else(|_| "stream".into());
        return Ok(Trace::stream(&name, PythonFile(trace.clone().unbind())));
    }
    Err(usage(
        py,
        format!("trace: a value of type {} is no trace", trace.get_type().name()?),
        "give a path, a binary file, an object with __arrow_c_stream__, or a dict of buffers",
    ))
}

/// The requests of a workload as a table, for a device of this capacity.
///
/// - `name`: a name of `workloads()`, or the path of a TOML file.
/// - `limit`: at most this many requests.
/// - `seed`: seed of every random choice.
/// - `capacity`: bytes that the host may address, or a text such as `"2GiB"`; by default 14 GiB.
/// - `page_size`: bytes of a page; by default 4 KiB.
#[pyfunction]
#[pyo3(signature = (name, *, limit = None, seed = 1, capacity = None, page_size = None))]
pub fn workload(
    py: Python<'_>,
    name: PathBuf,
    limit: Option<u64>,
    seed: u64,
    capacity: Option<&Bound<'_, PyAny>>,
    page_size: Option<&Bound<'_, PyAny>>,
) -> PyResult<Table> {
    let size = |name: &str, given: Option<&Bound<'_, PyAny>>, usual: u64| {
        given.map_or(Ok(usual), |given| bytes_of(name, given))
    };
    let room = Room {
        capacity_bytes: size("capacity", capacity, 14 << 30)?,
        page_bytes: size("page_size", page_size, 4 << 10)?,
    };
    let name = name.to_string_lossy().into_owned();
    engine(py, || workload_rows(&name, seed, limit, room)).map(Table::of)
}

/// The requests of a trace as a table.
///
/// - `path`: a path, a binary file, an object with `__arrow_c_stream__`, or a dict of buffers.
/// - `format`: the format of the trace, or `"auto"` to detect it.
/// - `limit`: at most this many requests.
#[pyfunction]
#[pyo3(signature = (path, format = "auto", limit = None))]
pub fn read_trace(py: Python<'_>, path: &Bound<'_, PyAny>, format: &str, limit: Option<u64>) -> PyResult<Table> {
    let reading = Reading { format: format.into(), ..Reading::default() };
    let trace = bounded(path, Enough::of(limit, &reading, false))?;
    engine(py, || trace_rows(&trace, &reading, limit)).map(Table::of)
}
