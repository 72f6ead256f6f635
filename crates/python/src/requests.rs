//! Requests from Python: tables of Arrow, dictionaries of buffers, files, streams; and tables of requests for Python.

use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::types::{Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, cast::AsArray};
use arrow_schema::DataType;
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use ssdlab_lab::error::Error;
use ssdlab_lab::input::{self, Origin, Reading, Room, Tenant, When, trace_rows, workload_rows};
use ssdlab_trace::{Code, Row, Rows, Trace, TraceError};

use crate::arguments::{bytes_of, counted, parsed, scale_of};
use crate::arrow;
use crate::errors::{engine, keep, raised, usage};
use crate::table::Table;
use crate::values::toml_of;

/// The name of a table of Python in messages.
const NAME: &str = "table";
/// Any value that is no operation.
const UNKNOWN: u8 = u8::MAX;
/// A write.
const WRITE: u8 = 1;
/// A command that is skipped.
const SKIPPED: u8 = 3;

/// Whole numbers as a program has them.
#[derive(Clone)]
enum Numbers {
    Unsigned(Vec<u64>),
    Signed(Vec<i64>),
    /// Shared with the program.
    SharedUnsigned(arrow_buffer::ScalarBuffer<u64>),
    SharedSigned(arrow_buffer::ScalarBuffer<i64>),
}

impl Numbers {
    fn len(&self) -> usize {
        match self {
            Numbers::Unsigned(values) => values.len(),
            Numbers::Signed(values) => values.len(),
            Numbers::SharedUnsigned(values) => values.len(),
            Numbers::SharedSigned(values) => values.len(),
        }
    }

    /// The bits of a number, and whether it is negative.
    fn get(&self, at: usize) -> (u64, bool) {
        let signed = |value: i64| (value as u64, value < 0);
        match self {
            Numbers::Unsigned(values) => (values[at], false),
            Numbers::Signed(values) => signed(values[at]),
            Numbers::SharedUnsigned(values) => (values[at], false),
            Numbers::SharedSigned(values) => signed(values[at]),
        }
    }

    /// Numbers as codes of operations.
    fn codes(&self) -> Vec<u8> {
        let code = |(value, negative): (u64, bool)| u8::try_from(value).ok().filter(|_| !negative).unwrap_or(UNKNOWN);
        (0..self.len()).map(|at| code(self.get(at))).collect()
    }
}

/// Rows that came together.
struct Chunk {
    time: Numbers,
    op: Vec<u8>,
    offset: Numbers,
    bytes: Numbers,
    device: Option<Numbers>,
    /// Which writes have forced unit access.
    fua: Option<Vec<bool>>,
}

/// A table of requests.
struct Requests {
    /// Each with the number of its first row.
    chunks: Vec<(u64, Chunk)>,
    rows: u64,
    devices: bool,
}

impl Rows for Requests {
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
        for row in start..chunk.op.len().min(start + most) {
            let ((time_ns, a), (offset, b), (bytes, c)) =
                (chunk.time.get(row), chunk.offset.get(row), chunk.bytes.get(row));
            let device = chunk.device.as_ref().map_or(0, |device| device.get(row).0 as u32);
            let fua = chunk.fua.as_ref().is_some_and(|fua| fua[row]) && chunk.op[row] == WRITE;
            out.push(Row { time_ns, offset, bytes, negative: [a, b, c], device, op: chunk.op[row], fua, stream: None });
        }
    }
}

/// An error about a column.
fn wrong(py: Python<'_>, code: Code, column: &'static str, row: Option<u64>, title: String, expected: &str) -> PyErr {
    let error = TraceError::new(code, NAME, title).field(column).expected(expected);
    let error = row.map_or(error.clone(), |row| error.at_line(row));
    raised(py, &Error::from(error))
}

fn missing(py: Python<'_>, column: &'static str) -> PyErr {
    let expected = "columns time_ns, op, offset and bytes; device, skip and fua may be there";
    wrong(py, Code::FieldCount, column, None, format!("The column {column} is missing"), expected)
}

fn of_type(py: Python<'_>, column: &'static str, of: &str) -> PyErr {
    let expected = match column {
        "op" => "uint8 (0 read, 1 write, 2 trim, 3 flush) or the words read, write, trim, flush",
        "skip" | "fua" => "booleans",
        "device" => "uint32",
        _ => "uint64 or int64",
    };
    wrong(py, Code::Notation, column, None, format!("The column {column} is of type {of}"), expected)
}

/// The code of an operation's word.
fn code(word: &str) -> u8 {
    ["read", "write", "trim", "flush"].iter().position(|known| *known == word).map_or(UNKNOWN, |at| at as u8)
}

/// Whole numbers of Arrow; None: other values.
fn numbers(array: &ArrayRef) -> Option<Numbers> {
    macro_rules! widened {
        ($of:ty, $to:ident, $wide:ty) => {
            Numbers::$to(array.as_primitive::<$of>().values().iter().map(|value| <$wide>::from(*value)).collect())
        };
    }
    Some(match array.data_type() {
        DataType::UInt64 => Numbers::SharedUnsigned(array.as_primitive::<UInt64Type>().values().clone()),
        DataType::Int64 => Numbers::SharedSigned(array.as_primitive::<Int64Type>().values().clone()),
        DataType::UInt32 => widened!(UInt32Type, Unsigned, u64),
        DataType::UInt16 => widened!(UInt16Type, Unsigned, u64),
        DataType::UInt8 => widened!(UInt8Type, Unsigned, u64),
        DataType::Int32 => widened!(Int32Type, Signed, i64),
        DataType::Int16 => widened!(Int16Type, Signed, i64),
        DataType::Int8 => widened!(Int8Type, Signed, i64),
        _ => return None,
    })
}

/// Words of Arrow, in any of its forms; None: other values.
fn words(array: &ArrayRef) -> Option<Vec<u8>> {
    Some(match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().iter().map(|word| code(word.unwrap_or_default())).collect(),
        DataType::LargeUtf8 => array.as_string::<i64>().iter().map(|word| code(word.unwrap_or_default())).collect(),
        DataType::Utf8View => array.as_string_view().iter().map(|word| code(word.unwrap_or_default())).collect(),
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary_opt()?;
            let known = words(dictionary.values())?;
            let place = |at: usize| known.get(at).copied().unwrap_or(UNKNOWN);
            dictionary.normalized_keys().into_iter().map(place).collect()
        }
        _ => return None,
    })
}

/// Requests of an object with `__arrow_c_stream__`.
fn of_arrow(object: &Bound<'_, PyAny>) -> PyResult<Requests> {
    let py = object.py();
    let (schema, batches) = arrow::batches(object)?;
    let place = |name: &'static str| schema.index_of(name).ok();
    let need = |name: &'static str| place(name).ok_or_else(|| missing(py, name));
    let (time, op, offset, bytes) = (need("time_ns")?, need("op")?, need("offset")?, need("bytes")?);
    let (device, skip, fua) = (place("device"), place("skip"), place("fua"));
    let mut requests = Requests { chunks: Vec::new(), rows: 0, devices: device.is_some() };
    for batch in batches {
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
        let number = |name: &'static str, at: usize| -> PyResult<Numbers> {
            let array = filled(name, at)?;
            numbers(&array).ok_or_else(|| of_type(py, name, &array.data_type().to_string()))
        };
        let op = {
            let array = filled("op", op)?;
            let codes = words(&array).or_else(|| numbers(&array).map(|numbers| numbers.codes()));
            codes.ok_or_else(|| of_type(py, "op", &array.data_type().to_string()))?
        };
        let mut chunk = Chunk {
            time: number("time_ns", time)?,
            op,
            offset: number("offset", offset)?,
            bytes: number("bytes", bytes)?,
            device: device.map(|at| number("device", at)).transpose()?,
            fua: None,
        };
        let flags = |name: &'static str, at: usize| -> PyResult<Vec<bool>> {
            let array = filled(name, at)?;
            let flags = array.as_boolean_opt().ok_or_else(|| of_type(py, name, &array.data_type().to_string()))?;
            Ok(flags.iter().map(|flag| flag == Some(true)).collect())
        };
        chunk.fua = fua.map(|at| flags("fua", at)).transpose()?;
        if let Some(at) = skip {
            skip_rows(&mut chunk.op, flags("skip", at)?.into_iter());
        }
        let rows = chunk.op.len() as u64;
        if rows > 0 {
            requests.chunks.push((requests.rows, chunk));
            requests.rows += rows;
        }
    }
    Ok(requests)
}

fn skip_rows(op: &mut [u8], skipped: impl Iterator<Item = bool>) {
    op.iter_mut().zip(skipped).filter(|(_, skipped)| *skipped).for_each(|(op, _)| *op = SKIPPED);
}

/// Requests of a dictionary of buffers.
fn of_buffers(table: &Bound<'_, PyDict>) -> PyResult<Requests> {
    let py = table.py();
    let numbers = |name: &'static str, value: &Bound<'_, PyAny>| -> PyResult<Option<Numbers>> {
        macro_rules! tried {
            ($($of:ty => $to:ident $wide:ty),+) => {
                $(if let Ok(buffer) = PyBuffer::<$of>::get(value) {
                    if buffer.dimensions() != 1 {
                        return Err(of_type(py, name, &format!("{} dimensions", buffer.dimensions())));
                    }
                    let values = buffer.to_vec(py)?;
                    return Ok(Some(Numbers::$to(values.into_iter().map(<$wide>::from).collect())));
                })+
            };
        }
        tried!(u64 => Unsigned u64, i64 => Signed i64, u32 => Unsigned u64, i32 => Signed i64, u16 => Unsigned u64,
            i16 => Signed i64, u8 => Unsigned u64, i8 => Signed i64);
        Ok(None)
    };
    let kind = |value: &Bound<'_, PyAny>| -> PyResult<String> {
        let class = value.get_type().name()?.to_string();
        Ok(value.getattr("dtype").map_or(class, |dtype| dtype.to_string()))
    };
    let need = |name: &'static str| table.get_item(name)?.ok_or_else(|| missing(py, name));
    let number = |name: &'static str, value: &Bound<'_, PyAny>| {
        numbers(name, value)?.map_or_else(|| Err(of_type(py, name, &kind(value)?)), Ok)
    };
    let ops = need("op")?;
    let op = match numbers("op", &ops)? {
        Some(numbers) => numbers.codes(),
        None => match ops.call_method0("tolist").unwrap_or_else(|_| ops.clone()).extract::<Vec<String>>() {
            Ok(words) => words.iter().map(|word| code(word)).collect(),
            Err(_) => return Err(of_type(py, "op", &kind(&ops)?)),
        },
    };
    let mut chunk = Chunk {
        time: number("time_ns", &need("time_ns")?)?,
        op,
        offset: number("offset", &need("offset")?)?,
        bytes: number("bytes", &need("bytes")?)?,
        device: table.get_item("device")?.map(|value| number("device", &value)).transpose()?,
        fua: None,
    };
    let rows = chunk.op.len();
    let mut lengths = vec![("time_ns", chunk.time.len()), ("offset", chunk.offset.len()), ("bytes", chunk.bytes.len())];
    lengths.extend(chunk.device.as_ref().map(|device| ("device", device.len())));
    let flags = |name: &'static str| -> PyResult<Option<Vec<bool>>> {
        let Some(flags) = table.get_item(name)? else { return Ok(None) };
        let flags = flags.call_method0("tolist").unwrap_or_else(|_| flags.clone());
        flags.extract().map(Some).map_err(|_| of_type(py, name, "other than bool"))
    };
    chunk.fua = flags("fua")?;
    lengths.extend(chunk.fua.as_ref().map(|flags| ("fua", flags.len())));
    if let Some(flags) = flags("skip")? {
        lengths.push(("skip", flags.len()));
        skip_rows(&mut chunk.op, flags.into_iter());
    }
    if let Some((name, length)) = lengths.into_iter().find(|(_, length)| *length != rows) {
        let title = format!("The column {name} has {length} rows, and op has {rows}");
        return Err(wrong(py, Code::FieldCount, name, None, title, "columns of equal length"));
    }
    let devices = chunk.device.is_some();
    Ok(Requests { chunks: vec![(0, chunk)], rows: rows as u64, devices })
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
    let py = trace.py();
    let table = |requests: Requests| Trace::Table(ssdlab_trace::Table::new(NAME, Arc::new(requests)));
    if let Ok(path) = trace.extract::<PathBuf>() {
        return Ok(Trace::File(path));
    }
    if let Ok(columns) = trace.cast::<PyDict>() {
        return of_buffers(columns).map(table);
    }
    if trace.hasattr("__arrow_c_stream__")? {
        return of_arrow(trace).map(table);
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
#[pyfunction]
#[pyo3(signature = (name, *, limit = None, seed = 1, capacity = None, page_size = None))]
fn workload(
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
#[pyfunction]
#[pyo3(signature = (path, format = "auto", limit = None))]
fn read_trace(py: Python<'_>, path: &Bound<'_, PyAny>, format: &str, limit: Option<u64>) -> PyResult<Table> {
    let trace = trace_of(path)?;
    let reading = Reading { format: format.into(), ..Reading::default() };
    engine(py, || trace_rows(&trace, &reading, limit)).map(Table::of)
}

/// Tenants: a dict of names and texts such as `"workload:random-read,depth=4"`, or a list of `"NAME=..."`.
fn tenants_of(given: &Bound<'_, PyAny>) -> PyResult<Vec<Tenant>> {
    let py = given.py();
    let wrong = || {
        let help = "give a dict such as {\"db\": \"workload:random-read,depth=4\"}, or a list of \"NAME=...\"";
        usage(py, format!("tenants: {} is not one", given.get_type()), help)
    };
    let texts: Vec<String> = match given.cast::<PyDict>() {
        Ok(by_name) => {
            let text = |(name, rest): (Bound<'_, PyAny>, Bound<'_, PyAny>)| -> PyResult<String> {
                let (name, rest): (String, String) = (name.extract()?, rest.extract()?);
                Ok(format!("{name}={rest}"))
            };
            by_name.iter().map(text).collect::<PyResult<_>>().map_err(|_| wrong())?
        }
        Err(_) => given.extract().map_err(|_| wrong())?,
    };
    if texts.is_empty() {
        return Err(wrong());
    }
    texts.iter().map(|text| Tenant::parse(text).map_err(|error| raised(py, &error))).collect()
}

/// Arguments that say which requests there are: those of `run` and `compare`.
pub struct Given<'py> {
    pub trace: Option<Bound<'py, PyAny>>,
    pub workload: Option<Bound<'py, PyAny>>,
    pub tenants: Option<Bound<'py, PyAny>>,
    pub format: &'py str,
    pub device: Option<Bound<'py, PyAny>>,
    pub limit: Option<Bound<'py, PyAny>>,
    pub r#loop: Option<Bound<'py, PyAny>>,
    pub time_scale: Option<Bound<'py, PyAny>>,
    pub replay: Option<&'py str>,
    pub lba_policy: &'py str,
    pub on_bad_line: &'py str,
    pub time_order: &'py str,
    pub op_codes: Option<&'py str>,
    pub within_second: &'py str,
    pub max_request: Option<Bound<'py, PyAny>>,
    pub traces: Option<PathBuf>,
}

impl Given<'_> {
    /// The requests.
    pub fn requests(&self, py: Python<'_>) -> PyResult<input::Requests> {
        let from = match (&self.trace, &self.workload) {
            (Some(_), Some(_)) => return Err(usage(py, "both trace and workload are given", "give one of them")),
            (trace, workload) if self.tenants.is_some() => {
                if trace.is_some() || workload.is_some() || self.traces.is_some() {
                    return Err(usage(py, "tenants are given, and other requests", "give one of them"));
                }
                Origin::Tenants(self.tenants.as_ref().map_or(Ok(Vec::new()), tenants_of)?)
            }
            (None, None) => return Err(usage(py, "no requests", "give trace=..., workload=... or tenants=...")),
            (Some(_), None) if self.traces.is_some() => {
                return Err(usage(py, "traces applies to workloads", "leave it out, or name a workload"));
            }
            (Some(trace), None) => Origin::Trace(trace_of(trace)?),
            (None, Some(workload)) => match workload.cast::<PyDict>() {
                Ok(spec) if self.traces.is_none() => {
                    let spec = toml::to_string(&toml_of("workload", spec.as_any())?);
                    Origin::Spec(spec.map_err(|error| usage(py, format!("workload: {error}"), ""))?)
                }
                Ok(_) => return Err(usage(py, "traces applies to named workloads", "leave it out")),
                Err(_) => {
                    let name: PathBuf = workload
                        .extract()
                        .map_err(|_| usage(py, "workload: expected a name, the path of a TOML file, or a dict", ""))?;
                    Origin::Workload { name: name.to_string_lossy().into_owned(), recordings: self.traces.clone() }
                }
            },
        };
        let usual = Reading::default();
        let device = self.device.as_ref().map(|device| Ok::<_, PyErr>(device.str()?.to_string())).transpose()?;
        let loops = counted(py, "loop", self.r#loop.as_ref())?.unwrap_or(1);
        let loops = u32::try_from(loops).map_err(|_| {
            usage(py, format!("loop: {loops} is out of range"), "a run repeats its requests at most 4294967295 times")
        })?;
        Ok(input::Requests {
            from,
            reading: Reading {
                format: self.format.into(),
                device,
                on_bad_line: parsed(py, "on_bad_line", self.on_bad_line)?,
                time_order: parsed(py, "time_order", self.time_order)?,
                op_codes: self.op_codes.map_or(Ok(usual.op_codes), |text| parsed(py, "op_codes", text))?,
                within_second: parsed(py, "within_second", self.within_second)?,
                max_request: self
                    .max_request
                    .as_ref()
                    .map_or(Ok(usual.max_request), |given| bytes_of("max_request", given))?,
            },
            limit: counted(py, "limit", self.limit.as_ref())?,
            loops,
            time_scale: self.time_scale.as_ref().map_or(Ok(None), scale_of)?,
            replay: match self.replay {
                None => None,
                Some("arrival") => Some(When::Arrival),
                Some("closed") => Some(When::Closed),
                Some(other) => {
                    return Err(usage(
                        py,
                        format!("replay: `{other}` is not one of its values"),
                        "the values are arrival, closed",
                    ));
                }
            },
            lba_policy: parsed(py, "lba_policy", self.lba_policy)?,
        })
    }
}

/// Adds the names of this file.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(workload, module)?)?;
    module.add_function(wrap_pyfunction!(read_trace, module)?)
}
