//! Policies written in Python: `VictimView`, `TriggerView`, and how the engine asks.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::buffer::{Element, PyBuffer};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyByteArray, PyDelta, PyDeltaAccess, PyDict, PyFrozenSet, PyInt, PySet, PySlice, PyType};
use ssdlab_lab::outside::{self, Failure, TriggerScript, TriggerSight, VictimScript, VictimSight};
use ssdlab_lab::policies::{MakeTrigger, Policies};
use ssdlab_sim::policy::View;
use ssdlab_sim::schemes::AnyVictim;
use ssdlab_sim::schemes::outside::Record;
use ssdlab_sim::units::{Nanos, PlaneId};
use ssdlab_trace::CLOCK_MAX_NS;

use crate::errors::usage;

/// Memory of a column that Python reads: a bytearray, seen through read-only views of the column's type.
struct PolicyColumn<T: Element> {
    values: Vec<T>,
    buffer: PyBuffer<T>,
    all: Py<PyAny>,
    /// The parts with so many candidates that were asked for last: a few numbers alternate.
    parts: Vec<(usize, Py<PyAny>)>,
    /// Whether it holds the candidates of this question.
    filled: bool,
}

/// Parts of a column that are kept.
const PARTS: usize = 8;

impl<T: Element + Default> PolicyColumn<T> {
    fn new(py: Python<'_>, blocks: usize, format: &str) -> PyResult<Self> {
        let memory = PyByteArray::new(py, &vec![0; blocks * size_of::<T>()]);
        let builtins = py.import("builtins")?;
        let view = builtins.getattr("memoryview")?.call1((memory,))?.call_method1("cast", (format,))?;
        let all = view.call_method0("toreadonly")?.unbind();
        Ok(PolicyColumn {
            values: vec![T::default(); blocks],
            buffer: PyBuffer::get(&view)?,
            all,
            parts: Vec::new(),
            filled: false,
        })
    }

    fn read(
        &mut self,
        py: Python<'_>,
        name: &str,
        closed: usize,
        fill: impl FnOnce(&mut [T]) -> outside::Filled,
    ) -> PyResult<Py<PyAny>> {
        if !self.filled {
            fill(&mut self.values).ok_or_else(|| late(name))?;
            self.buffer.copy_from_slice(py, &self.values)?;
            self.filled = true;
        }
        if let Some((_, part)) = self.parts.iter().find(|(count, _)| *count == closed) {
            return Ok(part.clone_ref(py));
        }
        let part = self.all.bind(py).get_item(PySlice::new(py, 0, closed as isize, 1))?.unbind();
        if self.parts.len() == PARTS {
            self.parts.remove(0);
        }
        self.parts.push((closed, part.clone_ref(py)));
        Ok(part)
    }
}

fn late(name: &str) -> PyErr {
    PyRuntimeError::new_err(format!(
        "view.{name} was not read in the first {} calls, so it is not filled any more: read it earlier, or name it in the \
         policy's attribute `reads`",
        VictimSight::TRIAL
    ))
}

struct Columns {
    block: PolicyColumn<u32>,
    valid: PolicyColumn<u16>,
    erases: PolicyColumn<u32>,
    closed_at: PolicyColumn<u64>,
    streams: PolicyColumn<u8>,
}

impl Columns {
    fn new(py: Python<'_>, blocks: usize) -> PyResult<Columns> {
        Ok(Columns {
            block: PolicyColumn::new(py, blocks, "I")?,
            valid: PolicyColumn::new(py, blocks, "H")?,
            erases: PolicyColumn::new(py, blocks, "I")?,
            closed_at: PolicyColumn::new(py, blocks, "Q")?,
            streams: PolicyColumn::new(py, blocks, "B")?,
        })
    }
}

#[derive(Default)]
struct Seen {
    sight: VictimSight,
    /// None until the first question: the number of blocks is not known before.
    columns: Option<Columns>,
}

/// What a victim policy sees: the closed blocks of a plane, in ascending order, as read-only buffers of `closed` numbers.
///
/// Buffers are memory of the view, filled when they are first read in a call of `pick`, and used again by the next one: a policy
/// that keeps a buffer reads newer numbers later.
#[pyclass(module = "ssdlab", frozen)]
pub struct VictimView(Mutex<Seen>);

/// Reads a column of the view.
macro_rules! column {
    ($view:ident, $py:ident, $name:ident) => {{
        let mut seen = $view.seen($py);
        let Seen { sight, columns } = &mut *seen;
        let columns = columns.as_mut().ok_or_else(|| PyValueError::new_err("a view has buffers only inside pick"))?;
        let closed = sight.closed;
        columns.$name.read($py, stringify!($name), closed, |values| sight.$name(values))
    }};
}

impl VictimView {
    /// Waits without the interpreter, so that two threads cannot wait for each other.
    fn seen(&self, py: Python<'_>) -> MutexGuard<'_, Seen> {
        self.0.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl VictimView {
    /// The plane that is collected.
    #[getter]
    fn plane(&self, py: Python<'_>) -> u32 {
        self.seen(py).sight.plane
    }

    /// Simulated time in nanoseconds.
    #[getter]
    fn now(&self, py: Python<'_>) -> u64 {
        self.seen(py).sight.now
    }

    /// Pages of a block.
    #[getter]
    fn pages_per_block(&self, py: Python<'_>) -> u32 {
        self.seen(py).sight.pages_per_block
    }

    /// The number of candidates: the length of every buffer.
    #[getter]
    fn closed(&self, py: Python<'_>) -> usize {
        self.seen(py).sight.closed
    }

    /// Index of each candidate in its plane (u32).
    #[getter]
    fn block(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        column!(self, py, block)
    }

    /// Valid pages (u16).
    #[getter]
    fn valid(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        column!(self, py, valid)
    }

    /// Erases since the start (u32).
    #[getter]
    fn erases(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        column!(self, py, erases)
    }

    /// Time at which the block was closed, in nanoseconds (u64). Filling takes no time: blocks that were closed in it have their
    /// rank in the plane instead, 0 for the first, so they are older than all others and in order.
    #[getter]
    fn closed_at(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        column!(self, py, closed_at)
    }

    /// Write point that filled the block (u8): 0 the host's, 1 GC's, 2 that of joint collections, 3 that of copybacks. All data
    /// is the host's where `ftl.write_points` is `"shared"`.
    #[getter]
    fn streams(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        column!(self, py, streams)
    }
}

/// What a trigger sees of a plane whose die is idle.
#[pyclass(module = "ssdlab", frozen, get_all)]
pub struct TriggerView {
    /// The plane in question.
    plane: u32,
    /// Simulated time in nanoseconds.
    now: u64,
    /// Pages of a block.
    pages_per_block: u32,
    /// Pages of a plane.
    pages_per_plane: u32,
    /// Free pages below which the plane is collected in any case: `gc.threshold` in pages.
    threshold: u32,
    /// Unprogrammed pages of the plane.
    free_pages: u32,
    /// Erased blocks of the plane that are not open.
    free_blocks: u32,
    /// Closed blocks of the plane.
    closed: u32,
    /// Fewest valid pages of a closed block; `None` without one.
    least_valid: Option<u16>,
    /// Valid pages of all closed blocks.
    valid_pages: u32,
}

fn failure(py: Python<'_>, error: PyErr) -> Failure {
    let name = error.get_type(py).name().map_or_else(|_| "exception".into(), |name| name.to_string());
    let text = error.value(py).to_string();
    let message = if text.is_empty() { name } else { format!("{name}: {text}") };
    Failure { message, cause: Some(Arc::new(error)) }
}

fn deep_copy(object: &Py<PyAny>) -> Result<Py<PyAny>, Failure> {
    Python::attach(|py| {
        let copied = py.import("copy").and_then(|copy| copy.call_method1("deepcopy", (object.bind(py),)));
        copied.map(Bound::unbind).map_err(|error| failure(py, error))
    })
}

struct PythonVictim {
    object: Py<PyAny>,
    pick: Py<PyAny>,
    view: Py<VictimView>,
}

impl PythonVictim {
    fn new(py: Python<'_>, object: Py<PyAny>) -> PyResult<Self> {
        let pick = object.getattr(py, intern!(py, "pick"))?;
        let mut seen = Seen::default();
        if let Ok(reads) = object.getattr(py, "reads") {
            let reads: Vec<String> = reads.extract(py)?;
            let any = |names: &[&str]| reads.iter().any(|read| names.contains(&read.as_str()));
            seen.sight.want(any(&["erases"]), any(&["closed_at", "streams"]));
        }
        Ok(PythonVictim { object, pick, view: Py::new(py, VictimView(Mutex::new(seen)))? })
    }
}

impl VictimScript for PythonVictim {
    fn pick(&mut self, view: &View, plane: PlaneId) -> Result<Option<i64>, Failure> {
        Python::attach(|py| {
            let ask = || -> PyResult<Option<i64>> {
                let mut seen = self.view.get().seen(py);
                seen.sight.take(view, plane);
                let blocks = seen.sight.blocks();
                let columns = match &mut seen.columns {
                    Some(columns) => columns,
                    none => none.insert(Columns::new(py, blocks)?),
                };
                columns.block.filled = false;
                columns.valid.filled = false;
                columns.erases.filled = false;
                columns.closed_at.filled = false;
                columns.streams.filled = false;
                drop(seen);
                let answer = self.pick.bind(py).call1((self.view.bind(py),))?;
                if answer.is_none() {
                    return Ok(None);
                }
                answer.extract().map(Some).map_err(|_| {
                    PyTypeError::new_err(format!("pick returned {answer}, which is neither an index nor None"))
                })
            };
            ask().map_err(|error| failure(py, error))
        })
    }

    fn seed(&mut self, seed: u64) -> Result<(), Failure> {
        Python::attach(|py| {
            let ask = || -> PyResult<()> {
                let object = self.object.bind(py);
                if object.hasattr("seed")? {
                    object.call_method1("seed", (seed,))?;
                }
                Ok(())
            };
            ask().map_err(|error| failure(py, error))
        })
    }

    fn copy(&self) -> Result<Self, Failure> {
        let object = deep_copy(&self.object)?;
        Python::attach(|py| PythonVictim::new(py, object).map_err(|error| failure(py, error)))
    }
}

struct PythonTrigger(Py<PyAny>);

impl TriggerScript for PythonTrigger {
    fn due(&mut self, sight: &TriggerSight) -> Result<bool, Failure> {
        let &TriggerSight {
            plane,
            now,
            pages_per_block,
            pages_per_plane,
            threshold,
            free_pages,
            free_blocks,
            closed,
            least_valid,
            valid_pages,
        } = sight;
        let view = TriggerView {
            plane,
            now,
            pages_per_block,
            pages_per_plane,
            threshold,
            free_pages,
            free_blocks,
            closed,
            least_valid,
            valid_pages,
        };
        Python::attach(|py| {
            let answer = self.0.bind(py).call_method1(intern!(py, "due"), (view,));
            answer.and_then(|answer| answer.is_truthy()).map_err(|error| failure(py, error))
        })
    }

    fn copy(&self) -> Result<Self, Failure> {
        deep_copy(&self.0).map(PythonTrigger)
    }
}

fn qualified(class: &Bound<'_, PyType>) -> PyResult<String> {
    Ok(format!("{}:{}", class.getattr("__module__")?, class.qualname()?))
}

/// A value as bytes, which are the same in every process: those of sets are sorted.
fn pickled(value: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    if value.is_instance_of::<PySet>() || value.is_instance_of::<PyFrozenSet>() {
        let mut parts = value.try_iter()?.map(|item| pickled(&item?)).collect::<PyResult<Vec<_>>>()?;
        parts.sort();
        return Ok(parts.concat());
    }
    value.py().import("pickle")?.call_method1("dumps", (value, 4))?.extract()
}

/// What tells two policies of a class apart: attributes of the object before it is asked, and those of its classes that are values.
fn parameters<'py>(object: &Bound<'py, PyAny>) -> PyResult<Vec<(String, Bound<'py, PyAny>)>> {
    let state = object.call_method0("__getstate__")?;
    let mut all: Vec<(String, Bound<'py, PyAny>)> = match state.cast::<PyDict>() {
        Ok(attributes) => {
            attributes.iter().map(|(name, value)| Ok((name.str()?.to_string(), value))).collect::<PyResult<_>>()?
        }
        Err(_) if state.is_none() => Vec::new(),
        Err(_) => vec![("state".into(), state.clone())],
    };
    for class in object.get_type().mro().iter() {
        let module = class.getattr("__module__")?.to_string();
        if module == "builtins" || module.split('.').next() == Some("ssdlab") {
            continue;
        }
        for item in class.getattr("__dict__")?.call_method0("items")?.try_iter()? {
            let (name, value): (String, Bound<'py, PyAny>) = item?.extract()?;
            if !name.starts_with("__") && !value.is_callable() && !value.hasattr("__get__")? {
                all.push((format!("{}.{name}", class.getattr("__qualname__")?), value));
            }
        }
    }
    Ok(all)
}

/// The digest of the parameters of a policy, and the names of those that can't be pickled and so are not in it. Nothing of a policy
/// without parameters.
fn state(object: &Bound<'_, PyAny>) -> PyResult<Vec<(String, Option<String>)>> {
    let (mut bytes, mut left): (Vec<u8>, Vec<String>) = Default::default();
    for (name, value) in parameters(object)? {
        match pickled(&value) {
            Ok(value) => {
                let length = value.len().to_le_bytes();
                [name.as_bytes(), b"\n", &length, &value].iter().for_each(|part| bytes.extend_from_slice(part));
            }
            Err(_) => left.push(name),
        }
    }
    let mut record = Vec::new();
    if !bytes.is_empty() {
        record.push(("state".to_string(), Some(outside::digest(&bytes))));
    }
    if !left.is_empty() {
        record.push(("state_without".to_string(), Some(left.join(", "))));
    }
    Ok(record)
}

/// What results record of a policy: its name, the digest of its source if there is one, the first line of its manual, and the digest of
/// its parameters.
fn record(object: &Bound<'_, PyAny>) -> PyResult<Vec<(String, Option<String>)>> {
    let py = object.py();
    let class = object.get_type();
    let name = qualified(&class)?;
    let inspect = py.import("inspect")?;
    let source = inspect.call_method1("getsource", (&class,)).ok().map(|source| source.to_string());
    let mut record = vec![
        ("python".to_string(), Some(name)),
        ("source".to_string(), source.map(|source| outside::digest(source.as_bytes()))),
    ];
    let manual = class.getattr("__dict__")?.call_method1("get", ("__doc__",))?;
    if !manual.is_none() {
        let manual = inspect.call_method1("cleandoc", (manual,))?.to_string();
        record.push(("about".to_string(), manual.lines().next().map(str::to_string)));
    }
    record.extend(state(object)?);
    Ok(record)
}

fn method(object: &Bound<'_, PyAny>, what: &str, name: &str) -> PyResult<()> {
    if object.hasattr(name)? && !object.is_instance_of::<PyType>() {
        return Ok(());
    }
    let class = object.repr()?;
    Err(PyTypeError::new_err(format!("{what}={class} is not a policy: give an object with a method `{name}`")))
}

/// Which object a device asks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Objects {
    /// The one that was given: its state is that of the run, and can be looked at afterwards.
    Given,
    /// A copy of its own, as the object was when it was given: several runs share no state, in whatever order they come.
    Copied,
}

impl Objects {
    /// What makes the object of a device.
    fn source(
        self,
        name: &str,
        object: &Bound<'_, PyAny>,
    ) -> PyResult<impl Fn() -> Result<Py<PyAny>, Failure> + use<>> {
        let copies = self == Objects::Copied;
        let kept = match self {
            Objects::Given => object.clone().unbind(),
            Objects::Copied => {
                deep_copy(object.as_unbound()).map_err(|failure| not_copied(object.py(), name, &failure))?
            }
        };
        Ok(move || if copies { deep_copy(&kept) } else { Ok(Python::attach(|py| kept.clone_ref(py))) })
    }
}

/// A policy that each of several runs would need a copy of.
fn not_copied(py: Python<'_>, name: &str, failure: &Failure) -> PyErr {
    let error = usage(
        py,
        format!("{name}: the policy can't be copied for each run: {}", failure.message),
        "copy.deepcopy has to work: give the class a method __deepcopy__",
    );
    let cause = failure.cause.as_ref().and_then(|cause| cause.downcast_ref::<PyErr>());
    error.set_cause(py, cause.map(|cause| cause.clone_ref(py)));
    error
}

fn victim_of(object: &Bound<'_, PyAny>, objects: Objects) -> PyResult<AnyVictim> {
    method(object, "victim", "pick")?;
    let strict = object.getattr("strict").is_ok_and(|strict| strict.is_truthy().unwrap_or(false));
    let source = objects.source("victim", object)?;
    Ok(outside::victim(record(object)?, strict, move || {
        let object = source()?;
        Python::attach(|py| PythonVictim::new(py, object).map_err(|error| failure(py, error)))
    }))
}

/// What makes the slot of a trigger written in Python for a configuration.
fn trigger_of(object: &Bound<'_, PyAny>, objects: Objects) -> PyResult<MakeTrigger> {
    method(object, "trigger", "due")?;
    let after = patience(object)?;
    let (record, source) = (record(object)?, Arc::new(objects.source("trigger", object)?));
    Ok(Arc::new(move |config| {
        let source = source.clone();
        outside::trigger(record.clone(), after, config.gc.threshold, move || source().map(PythonTrigger))
    }))
}

/// Policies written in Python, for their slots.
pub fn policies(
    victim: Option<&Bound<'_, PyAny>>,
    trigger: Option<&Bound<'_, PyAny>>,
    objects: Objects,
) -> PyResult<Policies> {
    Ok(Policies {
        victim: victim.map(|object| victim_of(object, objects)).transpose()?,
        trigger: trigger.map(|object| trigger_of(object, objects)).transpose()?,
        ..Policies::default()
    })
}

/// The policies of an axis that varies their slot, and their names in its values; none for a value that is no policy.
pub fn varied(key: &str, value: &Bound<'_, PyAny>) -> PyResult<Option<(String, Policies)>> {
    let (method, victim) = match key {
        "schemes.victim" => ("pick", true),
        "schemes.trigger" => ("due", false),
        _ => return Ok(None),
    };
    if !value.hasattr(method)? {
        return Ok(None);
    }
    let policies = policies(Some(value).filter(|_| victim), Some(value).filter(|_| !victim), Objects::Copied)?;
    // A class that says how its objects are written tells them apart by it.
    let class = value.get_type();
    let usual = value.py().get_type::<PyAny>().getattr("__repr__")?;
    let name = if class.getattr("__repr__")?.is(&usual) { qualified(&class)? } else { value.repr()?.to_string() };
    Ok(Some((name, policies)))
}

/// The idle time after which a trigger is asked.
fn patience(object: &Bound<'_, PyAny>) -> PyResult<Nanos> {
    match object.getattr("after") {
        Ok(after) => idle_time(&after),
        Err(_) => Ok(Nanos(10_000_000)),
    }
}

/// The idle time of a trigger, which the clock can hold.
fn idle_time(value: &Bound<'_, PyAny>) -> PyResult<Nanos> {
    let after = nanos(value)?;
    if after.0 <= CLOCK_MAX_NS {
        return Ok(after);
    }
    let text = value.repr()?;
    Err(PyValueError::new_err(format!(
        "after: {text} is beyond the simulator's clock, which ends at {CLOCK_MAX_NS} ns (2^61 - 1, 73 years): give less; a trigger \
         that is never asked is schemes.trigger=threshold"
    )))
}

/// A duration: nanoseconds, a text with a unit, or a timedelta.
fn nanos(value: &Bound<'_, PyAny>) -> PyResult<Nanos> {
    if let Ok(text) = value.extract::<String>() {
        return text.parse().map_err(|error| PyValueError::new_err(format!("after: {error}")));
    }
    if let Ok(delta) = value.cast::<PyDelta>() {
        let seconds = i128::from(delta.get_days()) * 86_400 + i128::from(delta.get_seconds());
        let ns = seconds * 1_000_000_000 + i128::from(delta.get_microseconds()) * 1000;
        if ns < 0 {
            return Err(PyValueError::new_err("after: a duration is not negative"));
        }
        return Ok(Nanos(u64::try_from(ns).unwrap_or(u64::MAX)));
    }
    if let Ok(ns) = value.extract() {
        return Ok(Nanos(ns));
    }
    if !value.is_instance_of::<PyInt>() {
        let message = "after: expected nanoseconds, a text such as \"10ms\", or a datetime.timedelta";
        return Err(PyTypeError::new_err(message));
    }
    if value.lt(0)? {
        return Err(PyValueError::new_err("after: a duration is not negative"));
    }
    // Beyond 64 bits it is beyond the clock too.
    Ok(Nanos(u64::MAX))
}

/// What results record of a policy, and the idle time of a trigger in nanoseconds: what a store keeps of it.
#[pyfunction]
pub fn _policy_record(policy: &Bound<'_, PyAny>, slot: &str) -> PyResult<(Record, Option<u64>)> {
    let after = (slot == "trigger").then(|| patience(policy)).transpose()?;
    Ok((record(policy)?, after.map(|after| after.0)))
}
