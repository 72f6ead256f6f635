//! Where Arrow and the buffer protocol meet memory that Rust does not check: capsules of other libraries, and `Column`.
//!
//! This is the only file of the package with unsafe code.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_int, c_void};
use std::ptr;

use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::types::{Float64Type, Int8Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchIterator, RecordBatchReader, cast::AsArray};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{DataType, SchemaRef};
use pyo3::exceptions::{PyBufferError, PyIndexError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods, PyFloat, PyList, PyString};

/// Name of a capsule with a stream of record batches.
const STREAM: &CStr = c"arrow_array_stream";
/// Name of a capsule with a schema.
const SCHEMA: &CStr = c"arrow_schema";

/// A capsule with the batches as a stream. Whoever takes it shares their memory.
pub fn stream<'py>(py: Python<'py>, schema: &SchemaRef, batches: &[RecordBatch]) -> PyResult<Bound<'py, PyCapsule>> {
    let batches: Vec<_> = batches.iter().cloned().map(Ok).collect();
    let reader = RecordBatchIterator::new(batches, schema.clone());
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), STREAM)
}

/// A capsule with the schema.
pub fn schema<'py>(py: Python<'py>, schema: &SchemaRef) -> PyResult<Bound<'py, PyCapsule>> {
    let schema =
        FFI_ArrowSchema::try_from(schema.as_ref()).map_err(|error| PyValueError::new_err(error.to_string()))?;
    PyCapsule::new_with_value(py, schema, SCHEMA)
}

fn wrong(error: &dyn std::fmt::Display) -> PyErr {
    PyValueError::new_err(format!("the Arrow stream is not valid: {error}"))
}

/// The batches of an object with `__arrow_c_stream__`, each read when it is asked for.
pub fn batches(
    object: &Bound<'_, PyAny>,
) -> PyResult<(SchemaRef, impl Iterator<Item = PyResult<RecordBatch>> + use<>)> {
    let capsule = object.call_method0("__arrow_c_stream__")?;
    let capsule = capsule.cast::<PyCapsule>().map_err(|error| wrong(&error))?;
    let stream = capsule.pointer_checked(Some(STREAM))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: a capsule of this name holds a valid stream (Arrow PyCapsule interface); it is moved out, which marks the one
    // in the capsule as released.
    let reader = unsafe { RecordBatchStreamReader::from_raw(stream.as_ptr()) }.map_err(|error| wrong(&error))?;
    let schema = reader.schema();
    Ok((schema, reader.map(|batch| batch.map_err(|error| wrong(&error)))))
}

/// A column of a table: numbers through the buffer protocol, anything as a list.
#[pyclass(module = "ssdlab", frozen, sequence)]
pub struct Column {
    name: String,
    array: ArrayRef,
    shape: [ffi::Py_ssize_t; 1],
    strides: [ffi::Py_ssize_t; 1],
}

impl Column {
    pub fn new(name: &str, array: ArrayRef) -> Column {
        let item = if *array.data_type() == DataType::Int8 { 1 } else { 8 };
        // No table has more rows than an address space has bytes.
        Column { name: name.into(), shape: [array.len() as ffi::Py_ssize_t], strides: [item], array }
    }

    /// Address and format of the numbers, if there are numbers in every cell.
    fn numbers(&self) -> Result<(*const c_void, &'static CStr), String> {
        if self.array.null_count() > 0 {
            return Err(format!("the column {} has empty cells: use to_list() or numpy.asarray()", self.name));
        }
        match self.array.data_type() {
            DataType::UInt64 => Ok((self.array.as_primitive::<UInt64Type>().values().as_ptr().cast(), c"Q")),
            DataType::Float64 => Ok((self.array.as_primitive::<Float64Type>().values().as_ptr().cast(), c"d")),
            DataType::Int8 => Ok((self.array.as_primitive::<Int8Type>().values().as_ptr().cast(), c"b")),
            _ => Err(format!("the column {} holds words: use to_list() or numpy.asarray()", self.name)),
        }
    }
}

#[pymethods]
impl Column {
    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    fn __len__(&self) -> usize {
        self.array.len()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, index: isize) -> PyResult<Bound<'py, PyAny>> {
        let at = if index < 0 { index + self.array.len() as isize } else { index };
        match usize::try_from(at).ok().filter(|at| *at < self.array.len()) {
            Some(at) => cell(py, &self.array, at),
            None => Err(PyIndexError::new_err(format!("the column has {} rows", self.array.len()))),
        }
    }

    /// The cells as a list; None where one is empty.
    pub fn to_list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let cells = (0..self.array.len()).map(|at| cell(py, &self.array, at)).collect::<PyResult<Vec<_>>>()?;
        PyList::new(py, cells)
    }

    /// The cells as an array of numpy, without a copy where they are numbers. Empty cells are NaN.
    #[pyo3(signature = (dtype = None, copy = None))]
    fn __array__<'py>(
        slf: &Bound<'py, Self>,
        dtype: Option<Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, column) = (slf.py(), slf.get());
        let numpy = py.import("numpy")?;
        let array = if column.numbers().is_ok() {
            let view = py.import("builtins")?.call_method1("memoryview", (slf,))?;
            numpy.call_method1("asarray", (view,))?
        } else {
            let kind = if column.array.data_type().is_numeric() { Some("float64") } else { None };
            numpy.call_method1("array", (column.to_list(py)?, kind))?
        };
        match (dtype, copy) {
            (Some(dtype), _) => array.call_method1("astype", (dtype,)),
            (None, Some(true)) => array.call_method0("copy"),
            (None, _) => Ok(array),
        }
    }

    fn __eq__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<bool> {
        let other = match other.cast::<Column>() {
            Ok(other) => other.get().to_list(py)?.into_any(),
            Err(_) => other.clone(),
        };
        self.to_list(py)?.eq(other)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        const SHOWN: usize = 8;
        let cells = (0..self.array.len().min(SHOWN)).map(|at| Ok(cell(py, &self.array, at)?.repr()?.to_string()));
        let mut cells = cells.collect::<PyResult<Vec<_>>>()?;
        if self.array.len() > SHOWN {
            cells.push("...".into());
        }
        Ok(format!("<ssdlab.Column {} of {} rows: [{}]>", self.name, self.array.len(), cells.join(", ")))
    }

    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        if view.is_null() {
            return Err(PyBufferError::new_err("no view"));
        }
        // SAFETY: the interpreter passes a view that may be written. What it points to belongs to a frozen object that the view
        // keeps alive, and does not move.
        unsafe {
            (*view).obj = ptr::null_mut();
            if flags & ffi::PyBUF_WRITABLE == ffi::PyBUF_WRITABLE {
                return Err(PyBufferError::new_err("a column is read-only"));
            }
            let column = slf.get();
            let (data, format) = column.numbers().map_err(PyBufferError::new_err)?;
            (*view).buf = data.cast_mut();
            (*view).len = column.shape[0] * column.strides[0];
            (*view).readonly = 1;
            (*view).itemsize = column.strides[0];
            let asked = |flag: c_int| flags & flag == flag;
            (*view).format = if asked(ffi::PyBUF_FORMAT) { format.as_ptr().cast_mut() } else { ptr::null_mut() };
            (*view).ndim = 1;
            (*view).shape = if asked(ffi::PyBUF_ND) { column.shape.as_ptr().cast_mut() } else { ptr::null_mut() };
            (*view).strides =
                if asked(ffi::PyBUF_STRIDES) { column.strides.as_ptr().cast_mut() } else { ptr::null_mut() };
            (*view).suboffsets = ptr::null_mut();
            (*view).internal = ptr::null_mut();
            (*view).obj = slf.into_any().into_ptr();
        }
        Ok(())
    }
}

/// A cell as an object of Python.
pub fn cell<'py>(py: Python<'py>, array: &ArrayRef, at: usize) -> PyResult<Bound<'py, PyAny>> {
    if array.is_null(at) {
        return Ok(py.None().into_bound(py));
    }
    Ok(match array.data_type() {
        DataType::UInt64 => array.as_primitive::<UInt64Type>().value(at).into_pyobject(py)?.into_any(),
        DataType::Int8 => array.as_primitive::<Int8Type>().value(at).into_pyobject(py)?.into_any(),
        DataType::Float64 => PyFloat::new(py, array.as_primitive::<Float64Type>().value(at)).into_any(),
        _ => PyString::new(py, text(array, at)).into_any(),
    })
}

/// A word or a text.
pub fn text(array: &ArrayRef, at: usize) -> &str {
    match array.as_dictionary_opt::<Int8Type>() {
        Some(words) => words.values().as_string::<i32>().value(words.keys().value(at) as usize),
        None => array.as_string::<i32>().value(at),
    }
}
