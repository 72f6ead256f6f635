//! `Table`: record batches of Arrow with the names and types of their columns.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use arrow_array::types::{Float64Type, Int8Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Float64Array, Int8Array, RecordBatch, RecordBatchOptions, StringArray,
    UInt64Array, cast::AsArray, make_array, new_empty_array,
};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_data::ArrayData;
use arrow_data::transform::MutableArrayData;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use pyo3::exceptions::{PyImportError, PyKeyError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use ssdlab_lab::error::Result as LabResult;
use ssdlab_lab::names::nearest;
use ssdlab_lab::results::sheet::{Cell, CellKind, Frame, Sheet, Values};

use crate::arrow::{self, Column};
use crate::errors::{engine, raised, usage};

/// Rows with named columns, in memory.
#[pyclass(module = "ssdlab", frozen)]
pub struct Table {
    schema: SchemaRef,
    kinds: Vec<CellKind>,
    batches: Vec<RecordBatch>,
    rows: usize,
    /// By column: its cells in one piece, once they were asked for.
    whole: Vec<OnceLock<ArrayRef>>,
}

/// A type in Arrow, and whether cells may be empty.
fn arrow_type(kind: CellKind) -> (DataType, bool) {
    match kind {
        CellKind::Number => (DataType::UInt64, false),
        CellKind::Maybe => (DataType::UInt64, true),
        CellKind::Decimal => (DataType::Float64, false),
        CellKind::Real => (DataType::Float64, true),
        CellKind::Word => (DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8)), false),
        CellKind::Text => (DataType::Utf8, false),
        CellKind::MaybeText => (DataType::Utf8, true),
    }
}

/// The rows of these ranges, each of the array of that number.
fn gather(arrays: &[ArrayData], ranges: impl IntoIterator<Item = (usize, Range<usize>)>) -> ArrayRef {
    let most = arrays.iter().map(ArrayData::len).sum();
    let mut rows = MutableArrayData::new(arrays.iter().collect(), false, most);
    for (array, range) in ranges {
        rows.try_extend(array, range.start, range.end).expect("a column of less than 2 GiB");
    }
    make_array(rows.freeze())
}

/// The cells of a column; vectors of numbers are taken over as they are.
fn array(values: Values, words: &Arc<StringArray>) -> ArrayRef {
    let known = |known: Vec<bool>| Some(NullBuffer::from(known)).filter(|known| known.null_count() > 0);
    match values {
        Values::Number(values) => Arc::new(UInt64Array::from(values)),
        Values::Maybe(values, is) => Arc::new(UInt64Array::new(values.into(), known(is))),
        Values::Decimal(values) => Arc::new(Float64Array::from(values)),
        Values::Real(values, is) => Arc::new(Float64Array::new(values.into(), known(is))),
        Values::Word(places) => Arc::new(DictionaryArray::<Int8Type>::new(Int8Array::from(places), words.clone())),
        Values::Text(texts) => Arc::new(StringArray::from(texts)),
        Values::MaybeText(texts) => Arc::new(StringArray::from(texts)),
    }
}

impl Table {
    /// A table from the rows of a result.
    pub fn of(frame: Frame) -> Table {
        let Frame { columns, batches, words } = frame;
        let field = |(name, kind): &(String, CellKind)| {
            let (of, empty) = arrow_type(*kind);
            Field::new(name, of, empty)
        };
        let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
        let words: Vec<Arc<StringArray>> = words.into_iter().map(|words| Arc::new(StringArray::from(words))).collect();
        let batch = |batch: ssdlab_lab::results::sheet::Batch| {
            let arrays = batch.columns.into_iter().zip(&words).map(|(values, words)| array(values, words)).collect();
            let options = RecordBatchOptions::new().with_row_count(Some(batch.rows));
            RecordBatch::try_new_with_options(schema.clone(), arrays, &options)
                .expect("cells are of their column's type")
        };
        let batches = batches.into_iter().map(batch).collect();
        Table::new(schema.clone(), columns.into_iter().map(|(_, kind)| kind).collect(), batches)
    }

    fn new(schema: SchemaRef, kinds: Vec<CellKind>, batches: Vec<RecordBatch>) -> Table {
        let rows = batches.iter().map(RecordBatch::num_rows).sum();
        let whole = kinds.iter().map(|_| OnceLock::new()).collect();
        Table { schema, kinds, batches, rows, whole }
    }

    /// Whether it has a column.
    pub fn has(&self, name: &str) -> bool {
        self.schema.index_of(name).is_ok()
    }

    /// The place of a column.
    fn place(&self, name: &str) -> PyResult<usize> {
        self.schema.index_of(name).map_err(|_| {
            let known = || self.schema.fields().iter().map(|field| field.name().as_str());
            let meant = nearest(name, known()).map_or(String::new(), |meant| format!("; did you mean `{meant}`?"));
            PyKeyError::new_err(format!("no column is called `{name}`{meant}"))
        })
    }

    /// A column in one piece.
    fn whole(&self, place: usize) -> ArrayRef {
        let join = || match &self.batches[..] {
            [] => new_empty_array(self.schema.field(place).data_type()),
            [one] => one.column(place).clone(),
            several => {
                let parts: Vec<ArrayData> = several.iter().map(|batch| batch.column(place).to_data()).collect();
                let all: Vec<_> = parts.iter().map(|part| 0..part.len()).enumerate().collect();
                gather(&parts, all)
            }
        };
        self.whole[place].get_or_init(join).clone()
    }

    /// Writes the rows as the command does.
    fn write(&self, py: Python<'_>, path: PathBuf, ending: &str) -> PyResult<()> {
        if path.extension().is_none_or(|own| own != ending) {
            return Err(usage(
                py,
                format!("{}: the name does not end in .{ending}", path.display()),
                "the name decides the format",
            ));
        }
        let columns: Vec<(&str, CellKind)> =
            self.schema.fields().iter().map(|field| field.name().as_str()).zip(self.kinds.iter().copied()).collect();
        let mut sheet = Sheet::create("write", &path, &columns).map_err(|error| raised(py, &error))?;
        for batch in &self.batches {
            py.check_signals()?;
            engine(py, || {
                (0..batch.num_rows()).try_for_each(|row| {
                    sheet.row(batch.columns().iter().zip(&self.kinds).map(|(array, kind)| cell(array, *kind, row)))
                })
            })?;
        }
        engine(py, || -> LabResult<()> { sheet.finish()?.publish() })
    }

    /// A cell as text for people.
    fn shown(&self, py: Python<'_>, batch: &RecordBatch, place: usize, row: usize) -> PyResult<String> {
        let cell = arrow::cell(py, batch.column(place), row)?;
        Ok(if cell.is_none() { String::new() } else { cell.str()?.to_string() })
    }

    /// The batch and the row in it of a row of the table.
    fn find(&self, mut row: usize) -> Option<(&RecordBatch, usize)> {
        self.batches.iter().find_map(|batch| match row.checked_sub(batch.num_rows()) {
            None => Some((batch, row)),
            Some(rest) => {
                row = rest;
                None
            }
        })
    }
}

/// A cell as a result has it.
fn cell(array: &ArrayRef, kind: CellKind, row: usize) -> Cell<'_> {
    let number = || array.as_primitive::<UInt64Type>().value(row);
    let real = || array.as_primitive::<Float64Type>().value(row);
    let some = array.is_valid(row);
    match kind {
        CellKind::Number => Cell::Number(number()),
        CellKind::Maybe => Cell::Maybe(some.then(number)),
        // Thousandths, which a double holds exactly as far as counts go.
        CellKind::Decimal => Cell::Decimal((real() * 1000.0).round() as u128),
        CellKind::Real => Cell::Real(some.then(real)),
        CellKind::Word => Cell::Word(arrow::text(array, row)),
        CellKind::Text => Cell::Text(arrow::text(array, row)),
        CellKind::MaybeText => Cell::MaybeText(some.then(|| arrow::text(array, row))),
    }
}

/// A library that the package does not depend on.
fn import<'py>(py: Python<'py>, module: &str, install: &str) -> PyResult<Bound<'py, PyModule>> {
    py.import(module).map_err(|error| {
        if !error.is_instance_of::<PyImportError>(py) {
            return error;
        }
        let missing = PyImportError::new_err(format!("{module} is not installed: pip install {install}"));
        missing.set_cause(py, Some(error));
        missing
    })
}

/// Text in HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&#39;")
}

#[pymethods]
impl Table {
    /// How many rows it has.
    #[getter]
    fn num_rows(&self) -> usize {
        self.rows
    }

    /// Names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Names and types of the columns.
    #[getter]
    fn schema(&self) -> Vec<(String, String)> {
        let name = |of: &DataType| match of {
            DataType::Dictionary(..) => "dictionary<int8, utf8>".to_string(),
            other => other.to_string().to_lowercase(),
        };
        self.schema.fields().iter().map(|field| (field.name().clone(), name(field.data_type()))).collect()
    }

    fn __len__(&self) -> usize {
        self.rows
    }

    /// A stream of the rows for any library of Arrow, without a copy; another schema is not converted to.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        arrow::stream(py, &self.schema, &self.batches)
    }

    /// The schema for any library of Arrow.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        arrow::schema(py, &self.schema)
    }

    /// The column `name`: a view of one batch, or a copy of several that is kept.
    fn column(&self, name: &str) -> PyResult<Column> {
        Ok(Column::new(name, self.whole(self.place(name)?)))
    }

    fn __getitem__(&self, name: &str) -> PyResult<Column> {
        self.column(name)
    }

    /// The first `n` rows.
    #[pyo3(signature = (n = 5))]
    fn head(&self, n: usize) -> Table {
        let mut left = n;
        let mut batches = Vec::new();
        for batch in &self.batches {
            let rows = left.min(batch.num_rows());
            left -= rows;
            if rows > 0 {
                batches.push(batch.slice(0, rows));
            }
        }
        Table::new(self.schema.clone(), self.kinds.clone(), batches)
    }

    /// The columns `names`, in this order.
    fn select(&self, names: Vec<String>) -> PyResult<Table> {
        let places = names.iter().map(|name| self.place(name)).collect::<PyResult<Vec<_>>>()?;
        let part = |batch: &RecordBatch| batch.project(&places).expect("places of columns");
        let schema = Arc::new(self.schema.project(&places).expect("places of columns"));
        let kinds = places.iter().map(|place| self.kinds[*place]).collect();
        Ok(Table::new(schema, kinds, self.batches.iter().map(part).collect()))
    }

    /// The rows whose number in `column` is at least `lo` and less than `hi`; None is no bound. Empty cells are left out.
    #[pyo3(signature = (column, lo = None, hi = None))]
    fn filter_range(
        &self,
        py: Python<'_>,
        column: &str,
        lo: Option<&Bound<'_, PyAny>>,
        hi: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Table> {
        let place = self.place(column)?;
        let mask: Box<dyn Fn(&ArrayRef) -> BooleanBuffer + Send + Sync> = match self.schema.field(place).data_type() {
            DataType::UInt64 => {
                // Bounds beyond the column's numbers are allowed.
                let bound = |bound: Option<&Bound<'_, PyAny>>| bound.map(|bound| bound.extract::<i128>()).transpose();
                let (lo, hi) = (bound(lo)?.unwrap_or(i128::MIN), bound(hi)?.unwrap_or(i128::MAX));
                Box::new(move |array| {
                    let inside = |value: Option<u64>| value.is_some_and(|v| (lo..hi).contains(&i128::from(v)));
                    array.as_primitive::<UInt64Type>().iter().map(inside).collect()
                })
            }
            DataType::Float64 => {
                let bound = |bound: Option<&Bound<'_, PyAny>>| bound.map(|bound| bound.extract::<f64>()).transpose();
                let (lo, hi) = (bound(lo)?.unwrap_or(f64::NEG_INFINITY), bound(hi)?);
                Box::new(move |array| {
                    let inside = |value: Option<f64>| value.is_some_and(|v| v >= lo && hi.is_none_or(|hi| v < hi));
                    array.as_primitive::<Float64Type>().iter().map(inside).collect()
                })
            }
            _ => return Err(usage(py, format!("the column {column} holds words"), "name a column of numbers")),
        };
        let kept = py.detach(|| {
            let kept = |batch: &RecordBatch| {
                let mask = mask(batch.column(place));
                let ranges = || mask.set_slices().map(|(from, to)| (0, from..to));
                let columns = batch.columns().iter().map(|column| gather(&[column.to_data()], ranges())).collect();
                let rows = RecordBatchOptions::new().with_row_count(Some(mask.count_set_bits()));
                RecordBatch::try_new_with_options(batch.schema(), columns, &rows).expect("columns of the same rows")
            };
            self.batches.iter().map(kept).filter(|batch| batch.num_rows() > 0).collect()
        });
        Ok(Table::new(self.schema.clone(), self.kinds.clone(), kept))
    }

    /// Writes CSV to `path`, the bytes that the command writes.
    pub fn write_csv(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        self.write(py, path, "csv")
    }

    /// Writes Parquet to `path`, the bytes that the command writes.
    fn write_parquet(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        self.write(py, path, "parquet")
    }

    /// A `pandas.DataFrame`.
    fn to_pandas<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let pandas = import(py, "pandas", "'ssdlab[pandas]'")?;
        let numpy = py.import("numpy")?;
        let asarray = |array: ArrayRef| numpy.call_method1("asarray", (Column::new("", array),));
        let data = PyDict::new(py);
        for (place, field) in self.schema.fields().iter().enumerate() {
            let array = self.whole(place);
            let column = match (field.data_type(), self.kinds[place]) {
                (DataType::Dictionary(..), _) => {
                    let words = array.as_dictionary::<Int8Type>();
                    let names: Vec<&str> = words.values().as_string::<i32>().iter().flatten().collect();
                    let codes = asarray(Arc::new(words.keys().clone()))?;
                    pandas.getattr("Categorical")?.call_method1("from_codes", (codes, names))?
                }
                (_, CellKind::Maybe) => {
                    let numbers = array.as_primitive::<UInt64Type>();
                    let values = asarray(Arc::new(UInt64Array::new(numbers.values().clone(), None)))?;
                    let empty: Vec<bool> = (0..array.len()).map(|row| array.is_null(row)).collect();
                    let empty = numpy.call_method1("array", (empty, "bool"))?;
                    pandas.getattr("arrays")?.call_method1("IntegerArray", (values, empty))?
                }
                _ => asarray(array)?,
            };
            data.set_item(field.name(), column)?;
        }
        let options = PyDict::new(py);
        options.set_item("copy", false)?;
        pandas.call_method("DataFrame", (data,), Some(&options))
    }

    /// A `polars.DataFrame` that shares the memory of this table.
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        import(slf.py(), "polars", "'ssdlab[polars]'")?.call_method1("DataFrame", (slf,))
    }

    /// A `pyarrow.Table` that shares the memory of this table.
    fn to_pyarrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        import(slf.py(), "pyarrow", "pyarrow")?.call_method1("table", (slf,))
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        const SHOWN: usize = 5;
        let row = |cells: &[String], tag: &str| {
            let cells: String = cells.iter().map(|text| format!("<{tag}>{}</{tag}>", escaped(text))).collect();
            format!("<tr>{cells}</tr>")
        };
        let (names, types): (Vec<String>, Vec<String>) = self.schema().into_iter().unzip();
        let mut out = format!("<table><thead>{}{}</thead><tbody>", row(&names, "th"), row(&types, "th"));
        let body = |out: &mut String, rows: std::ops::Range<usize>| -> PyResult<()> {
            for (batch, at) in rows.filter_map(|number| self.find(number)) {
                let cells =
                    (0..names.len()).map(|place| self.shown(py, batch, place, at)).collect::<PyResult<Vec<_>>>()?;
                out.push_str(&row(&cells, "td"));
            }
            Ok(())
        };
        if self.rows <= 2 * SHOWN {
            body(&mut out, 0..self.rows)?;
        } else {
            body(&mut out, 0..SHOWN)?;
            out.push_str(&row(&vec!["…".to_string(); names.len()], "td"));
            body(&mut out, self.rows - SHOWN..self.rows)?;
        }
        out.push_str(&format!("</tbody></table><p>{} rows, {} columns</p>", self.rows, names.len()));
        Ok(out)
    }

    fn __repr__(&self) -> String {
        format!("<ssdlab.Table of {} rows: {}>", self.rows, self.column_names().join(", "))
    }
}
