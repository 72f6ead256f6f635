//! Columns of requests: memory of the program, which a run reads some rows at a time. Nothing is copied before it is read, so that
//! a limit bounds what a large table costs.

use std::ops::Range;

use arrow_array::types::{
    ArrowPrimitiveType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, BooleanArray, cast::AsArray, make_array};
use arrow_schema::{DataType, TimeUnit};
use pyo3::buffer::{Element, PyBuffer};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PySlice, PyString};

/// Rows that are looked at together.
const BATCH: usize = 1 << 12;
/// Any value that is no operation.
pub const UNKNOWN: u8 = u8::MAX;

/// The bits of a whole number, and whether it is negative.
pub type Bits = (u64, bool);

/// The code of an operation's word.
fn code(word: &str) -> u8 {
    ["read", "write", "trim", "flush"].iter().position(|known| *known == word).map_or(UNKNOWN, |at| at as u8)
}

fn bits(number: i128) -> Bits {
    (number as u64, number < 0)
}

/// Whole numbers. What they count is `unit` nanoseconds or bytes.
pub struct Numbers {
    memory: Memory,
    unit: i64,
    /// Whether the least number stands for no value, as numpy's NaT does.
    nat: bool,
}

enum Memory {
    Arrow(ArrayRef),
    /// A memoryview, and what reads a slice of it.
    Buffer(Py<PyAny>, fn(&Bound<'_, PyAny>) -> PyResult<Vec<Bits>>, usize),
}

/// A row whose time can't be used.
pub enum BadTime {
    /// It has none (numpy's NaT).
    Empty(usize),
    /// In nanoseconds it is beyond 64 bits.
    Beyond(usize),
}

/// Numbers of a slice of a buffer.
fn read_buffer<T: Element + Into<i128>>(slice: &Bound<'_, PyAny>) -> PyResult<Vec<Bits>> {
    let values = PyBuffer::<T>::get(slice)?.to_vec(slice.py())?;
    Ok(values.into_iter().map(|value| bits(value.into())).collect())
}

/// Numbers of a part of an array.
fn read_array(array: &ArrayRef, rows: Range<usize>) -> Vec<Bits> {
    fn of<T: ArrowPrimitiveType<Native: Into<i128>>>(array: &ArrayRef, rows: Range<usize>) -> Vec<Bits> {
        array.as_primitive::<T>().values()[rows].iter().map(|value| bits((*value).into())).collect()
    }
    match array.data_type() {
        DataType::UInt64 => of::<UInt64Type>(array, rows),
        DataType::UInt32 => of::<UInt32Type>(array, rows),
        DataType::UInt16 => of::<UInt16Type>(array, rows),
        DataType::UInt8 => of::<UInt8Type>(array, rows),
        DataType::Int64 => of::<Int64Type>(array, rows),
        DataType::Int32 => of::<Int32Type>(array, rows),
        DataType::Int16 => of::<Int16Type>(array, rows),
        DataType::Int8 => of::<Int8Type>(array, rows),
        other => unreachable!("{other} was refused"),
    }
}

fn unit_ns(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1000,
        TimeUnit::Nanosecond => 1,
    }
}

impl Numbers {
    /// Whole numbers of Arrow; none of other values.
    pub fn of_array(array: ArrayRef) -> Option<Numbers> {
        array.data_type().is_integer().then_some(Numbers { memory: Memory::Arrow(array), unit: 1, nat: false })
    }

    /// Times of Arrow: whole numbers are nanoseconds, timestamps, durations and times of day have a unit. None of other values.
    pub fn of_times(array: ArrayRef) -> Option<Numbers> {
        let (unit, integer) = match array.data_type() {
            DataType::Timestamp(unit, _) | DataType::Duration(unit) | DataType::Time64(unit) => {
                (*unit, DataType::Int64)
            }
            DataType::Time32(unit) => (*unit, DataType::Int32),
            _ => return Numbers::of_array(array),
        };
        // The same memory as plain numbers.
        let data = array.to_data().into_builder().data_type(integer).build().ok()?;
        Some(Numbers { memory: Memory::Arrow(make_array(data)), unit: unit_ns(unit), nat: false })
    }

    /// Whole numbers of a buffer; none of an object without one, or of one with other values.
    ///
    /// # Errors
    /// The number of dimensions, if it is not one.
    pub fn of_buffer(value: &Bound<'_, PyAny>) -> PyResult<Option<Result<Numbers, usize>>> {
        macro_rules! first {
            ($($of:ty),+) => {
                $(if let Ok(buffer) = PyBuffer::<$of>::get(value) {
                    if buffer.dimensions() != 1 {
                        return Ok(Some(Err(buffer.dimensions())));
                    }
                    let rows = buffer.item_count();
                    drop(buffer);
                    let view = value.py().import("builtins")?.call_method1("memoryview", (value,))?;
                    let memory = Memory::Buffer(view.unbind(), read_buffer::<$of>, rows);
                    return Ok(Some(Ok(Numbers { memory, unit: 1, nat: false })));
                })+
            };
        }
        first!(u64, i64, u32, i32, u16, i16, u8, i8);
        Ok(None)
    }

    /// Times of an array of numpy's `datetime64` or `timedelta64`, or of a column of pandas of this type; none of other objects, and
    /// of units without a fixed length.
    pub fn of_datetimes(value: &Bound<'_, PyAny>) -> PyResult<Option<Result<Numbers, usize>>> {
        let Ok(kind) = value.getattr("dtype").and_then(|dtype| dtype.getattr("kind")) else { return Ok(None) };
        if !matches!(kind.extract::<String>().as_deref(), Ok("M" | "m")) {
            return Ok(None);
        }
        let numpy = value.py().import("numpy")?;
        let array = numpy.call_method1("asarray", (value,))?;
        let Ok(data) = numpy.call_method1("datetime_data", (array.getattr("dtype")?,)) else { return Ok(None) };
        let (name, count): (String, i64) = data.extract()?;
        let unit = match name.as_str() {
            "ns" => 1,
            "us" => 1000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            "D" => 86_400_000_000_000,
            _ => return Ok(None),
        };
        let Some(unit) = count.checked_mul(unit) else { return Ok(None) };
        let numbers = Numbers::of_buffer(&array.call_method1("view", ("int64",))?)?;
        Ok(numbers.map(|numbers| numbers.map(|numbers| Numbers { unit, nat: true, ..numbers })))
    }

    pub fn len(&self) -> usize {
        match &self.memory {
            Memory::Arrow(array) => array.len(),
            Memory::Buffer(_, _, rows) => *rows,
        }
    }

    pub fn read(&self, rows: Range<usize>) -> Vec<Bits> {
        let mut read = self.raw(rows);
        if self.unit != 1 {
            read.iter_mut().for_each(|(value, _)| *value = (*value as i64).wrapping_mul(self.unit) as u64);
        }
        read
    }

    fn raw(&self, rows: Range<usize>) -> Vec<Bits> {
        match &self.memory {
            Memory::Arrow(array) => read_array(array, rows),
            Memory::Buffer(view, read, _) => Python::attach(|py| {
                let slice = PySlice::new(py, rows.start as isize, rows.end as isize, 1);
                // The view holds the buffer as it was when its type was looked at.
                view.bind(py).get_item(slice).and_then(|slice| read(&slice)).expect("a slice of a buffer can be read")
            }),
        }
    }

    /// Some rows after the others, each batch with the number of its first row.
    fn batches(&self) -> impl Iterator<Item = (usize, Vec<Bits>)> {
        (0..self.len()).step_by(BATCH).map(|from| (from, self.raw(from..self.len().min(from + BATCH))))
    }

    /// The first row whose number does not pass.
    pub fn first_bad(&self, passes: impl Fn(Bits) -> bool) -> Option<usize> {
        self.batches().find_map(|(from, batch)| Some(from + batch.into_iter().position(|value| !passes(value))?))
    }

    /// The first row whose time is none, or beyond 64 bits in nanoseconds. Plain numbers are nanoseconds already.
    pub fn bad_time(&self) -> Option<BadTime> {
        if self.unit == 1 && !self.nat {
            return None;
        }
        let is_nat = |value: Bits| self.nat && value.0 as i64 == i64::MIN;
        let at = self.first_bad(|value| !is_nat(value) && (value.0 as i64).checked_mul(self.unit).is_some())?;
        Some(if is_nat(self.raw(at..at + 1)[0]) { BadTime::Empty(at) } else { BadTime::Beyond(at) })
    }
}

/// Operations, as codes or words.
pub enum Ops {
    /// Numbers are codes.
    Numbers(Numbers),
    /// Words of Arrow.
    Words(ArrayRef),
    /// Words of Arrow by their place in a dictionary: the code of each word, and the places.
    Dictionary(Vec<u8>, ArrayRef),
    /// Words that Python had as objects.
    Codes(Vec<u8>),
}

/// Codes of words of Arrow, in any of its plain forms; none of other values.
fn words(array: &ArrayRef) -> Option<Vec<u8>> {
    Some(match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().iter().map(|word| code(word.unwrap_or_default())).collect(),
        DataType::LargeUtf8 => array.as_string::<i64>().iter().map(|word| code(word.unwrap_or_default())).collect(),
        DataType::Utf8View => array.as_string_view().iter().map(|word| code(word.unwrap_or_default())).collect(),
        _ => return None,
    })
}

impl Ops {
    /// Operations of Arrow; none of other values.
    pub fn of_array(array: ArrayRef) -> Option<Ops> {
        match array.data_type() {
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Some(Ops::Words(array)),
            DataType::Dictionary(..) => {
                let codes = words(array.as_any_dictionary_opt()?.values())?;
                Some(Ops::Dictionary(codes, array))
            }
            _ => Numbers::of_array(array).map(Ops::Numbers),
        }
    }

    /// Words of a sequence of Python; none of other values.
    pub fn of_words(value: &Bound<'_, PyAny>) -> Option<Ops> {
        let listed = |item: PyResult<Bound<'_, PyAny>>| Some(code(item.ok()?.cast::<PyString>().ok()?.to_str().ok()?));
        sequence(value)?.map(listed).collect::<Option<_>>().map(Ops::Codes)
    }

    pub fn len(&self) -> usize {
        match self {
            Ops::Numbers(numbers) => numbers.len(),
            Ops::Words(array) | Ops::Dictionary(_, array) => array.len(),
            Ops::Codes(codes) => codes.len(),
        }
    }

    pub fn read(&self, rows: Range<usize>) -> Vec<u8> {
        let known = |value: u64| u8::try_from(value).unwrap_or(UNKNOWN);
        match self {
            Ops::Numbers(numbers) => {
                let code = |(value, negative)| if negative { UNKNOWN } else { known(value) };
                numbers.read(rows).into_iter().map(code).collect()
            }
            Ops::Words(array) => words(&array.slice(rows.start, rows.len())).unwrap_or_default(),
            Ops::Dictionary(codes, array) => {
                let part = array.slice(rows.start, rows.len());
                let places = part.as_any_dictionary_opt().map(|part| part.normalized_keys()).unwrap_or_default();
                places.into_iter().map(|at| codes.get(at).copied().unwrap_or(UNKNOWN)).collect()
            }
            Ops::Codes(codes) => codes[rows].to_vec(),
        }
    }
}

/// Yes or no by row.
pub enum Flags {
    /// Those of Arrow.
    Array(BooleanArray),
    /// A memoryview of booleans, and their number.
    Buffer(Py<PyAny>, usize),
    /// What Python had as objects.
    Listed(Vec<bool>),
}

impl Flags {
    /// Flags of a buffer of booleans or of a sequence of them; none of other values.
    pub fn of(value: &Bound<'_, PyAny>) -> PyResult<Option<Flags>> {
        if let Ok(view) = value.py().import("builtins")?.call_method1("memoryview", (value,)) {
            let format: String = view.getattr("format")?.extract()?;
            let dimensions: usize = view.getattr("ndim")?.extract()?;
            return Ok((format == "?" && dimensions == 1).then_some(Flags::Buffer(view.clone().unbind(), view.len()?)));
        }
        let listed = |item: PyResult<Bound<'_, PyAny>>| item.ok()?.extract().ok();
        Ok(sequence(value).and_then(|items| items.map(listed).collect::<Option<_>>()).map(Flags::Listed))
    }

    pub fn len(&self) -> usize {
        match self {
            Flags::Array(array) => array.len(),
            Flags::Buffer(_, rows) => *rows,
            Flags::Listed(flags) => flags.len(),
        }
    }

    pub fn read(&self, rows: Range<usize>) -> Vec<bool> {
        match self {
            Flags::Array(array) => rows.map(|row| array.is_valid(row) && array.value(row)).collect(),
            Flags::Buffer(view, _) => Python::attach(|py| {
                let slice = PySlice::new(py, rows.start as isize, rows.end as isize, 1);
                let part = view.bind(py).get_item(slice).and_then(|part| part.call_method0("tolist"));
                part.and_then(|part| part.extract()).expect("a slice of a buffer can be read")
            }),
            Flags::Listed(flags) => flags[rows].to_vec(),
        }
    }
}

/// The items of a list, an array or a column; none of an object that is not one, and of a text.
fn sequence<'py>(value: &Bound<'py, PyAny>) -> Option<impl Iterator<Item = PyResult<Bound<'py, PyAny>>>> {
    let other =
        value.is_instance_of::<PyString>() || value.is_instance_of::<PyBytes>() || value.is_instance_of::<PyDict>();
    let listed = !other && value.len().is_ok() && value.hasattr("__getitem__").unwrap_or(false);
    if listed { value.try_iter().ok() } else { None }
}
