//! Exceptions: one class for each kind of error of `ssdlab_lab`.

use std::any::Any;
use std::cell::RefCell;
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use pyo3::exceptions::{
    PyAssertionError, PyException, PyKeyboardInterrupt, PyMemoryError, PyOSError, PyRuntimeError, PyValueError,
};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple, PyType};
use ssdlab_cli::fault::{Renderer, render};
use ssdlab_lab::error::{Error, Kind};
use ssdlab_sim::policy::{PolicyFault, Victim, View};
use ssdlab_sim::schemes::AnyVictim;
use ssdlab_sim::schemes::victim::Greedy;
use ssdlab_sim::units::{BlockId, PlaneId};

struct Classes {
    error: Py<PyType>,
    usage: Py<PyType>,
    config: Py<PyType>,
    trace: Py<PyType>,
    file: Py<PyType>,
    invariant: Py<PyType>,
    policy: Py<PyType>,
    memory: Py<PyType>,
}

static CLASSES: PyOnceLock<Classes> = PyOnceLock::new();

/// Text and place of the last panic.
static PANIC: Mutex<Option<(String, String)>> = Mutex::new(None);

fn classes(py: Python<'_>) -> PyResult<&Classes> {
    CLASSES.get_or_try_init(py, || {
        let new = |name: &str, about: &str, bases: &[&Bound<'_, PyType>], fields: &[&str]| -> PyResult<Py<PyType>> {
            let body = PyDict::new(py);
            body.set_item("__module__", "ssdlab")?;
            body.set_item("__doc__", about)?;
            for field in fields {
                body.set_item(field, py.None())?;
            }
            let class = py.get_type::<PyType>().call1((name, PyTuple::new(py, bases)?, body))?;
            Ok(class.cast_into::<PyType>()?.unbind())
        };
        let error = new("Error", "Any error of ssdlab.", &[&py.get_type::<PyException>()], &[])?;
        let base = error.bind(py);
        let value = &py.get_type::<PyValueError>();
        let both = |other: &Bound<'_, PyType>, name: &str, about: &str, fields: &[&str]| {
            new(name, about, &[base, other], fields)
        };
        let config = ["key", "message", "help", "nearest", "file", "line", "column"];
        Ok(Classes {
            usage: both(value, "UsageError", "Arguments contradict each other, or a value is out of range.", &config)?,
            config: both(value, "ConfigError", "A configuration breaks a rule, or a key has a wrong value.", &config)?,
            trace: both(value, "TraceError", "Requests are invalid.", &["file", "line", "column", "text"])?,
            // `filename` and `errno` are OSError's own; the text is not.
            file: {
                let file = both(&py.get_type::<PyOSError>(), "FileError", "A file can't be read or written.", &[])?;
                file.bind(py).setattr("__str__", py.get_type::<PyException>().getattr("__str__")?)?;
                file
            },
            invariant: both(
                &py.get_type::<PyAssertionError>(),
                "InvariantError",
                "A law of the simulation is broken: a defect of the simulator.",
                &["law", "at_ns", "reproduce"],
            )?,
            policy: both(&py.get_type::<PyRuntimeError>(), "PolicyError", "A policy failed.", &["plane", "now"])?,
            memory: both(
                &py.get_type::<PyMemoryError>(),
                "MemoryLimitError",
                "More memory is needed than may be taken.",
                &["needed", "limit"],
            )?,
            error,
        })
    })
}

/// An exception of a class with a text and attributes.
fn exception<'py>(
    class: &Bound<'py, PyType>,
    text: &str,
    fields: impl FnOnce(&Bound<'py, PyAny>) -> PyResult<()>,
) -> PyErr {
    let made = class.call1((text,)).and_then(|value| fields(&value).map(|()| value));
    made.map_or_else(|error| error, PyErr::from_value)
}

/// An error of the laboratory as an exception; its text is what the command prints.
pub fn raised(py: Python<'_>, error: &Error) -> PyErr {
    match classes(py) {
        Ok(classes) => of(py, classes, error),
        Err(error) => error,
    }
}

/// The name in `errno` of what is wrong with a file.
fn number_of(cause: ErrorKind) -> &'static str {
    match cause {
        ErrorKind::NotFound => "ENOENT",
        ErrorKind::PermissionDenied => "EACCES",
        ErrorKind::IsADirectory => "EISDIR",
        ErrorKind::StorageFull => "ENOSPC",
        ErrorKind::FileTooLarge => "EFBIG",
        _ => "EIO",
    }
}

fn of(py: Python<'_>, classes: &Classes, error: &Error) -> PyErr {
    let text = render(error, &Renderer::plain());
    let about = |value: &Bound<'_, PyAny>, key: &str, nearest: Option<&str>| -> PyResult<()> {
        let key = (!key.is_empty()).then_some(key);
        value.setattr("key", key)?;
        value.setattr("message", &error.message)?;
        value.setattr("help", (!error.help.is_empty()).then(|| error.help.join("; ")))?;
        value.setattr("nearest", nearest)?;
        // A place in an argument has no file.
        if let Some(spot) = error.spot.as_ref().filter(|spot| !spot.name.starts_with("--")) {
            value.setattr("file", &spot.name)?;
            value.setattr("line", spot.line())?;
            value.setattr("column", spot.column())?;
        }
        Ok(())
    };
    match &error.kind {
        Kind::Config(detail) => {
            exception(classes.config.bind(py), &text, |value| about(value, &detail.key, detail.nearest.as_deref()))
        }
        Kind::Usage => exception(classes.usage.bind(py), &text, |value| about(value, "", None)),
        Kind::Workload { key } => exception(classes.usage.bind(py), &text, |value| about(value, key, None)),
        Kind::Memory { needed, limit } => exception(classes.memory.bind(py), &text, |value| {
            value.setattr("needed", *needed)?;
            value.setattr("limit", *limit)
        }),
        Kind::Trace(trace) => {
            let report = trace.report();
            match trace.kind() {
                ssdlab_trace::Kind::Usage => {
                    exception(classes.usage.bind(py), &text, |value| value.setattr("message", &report.title))
                }
                ssdlab_trace::Kind::File => {
                    exception(classes.file.bind(py), &text, |value| value.setattr("filename", &report.file))
                }
                ssdlab_trace::Kind::Data => exception(classes.trace.bind(py), &text, |value| {
                    value.setattr("file", &report.file)?;
                    value.setattr("line", report.line)?;
                    match report.column {
                        Some(column) => value.setattr("column", column)?,
                        // A row of a table: its column has a name.
                        None => value.setattr("column", report.field)?,
                    }
                    value.setattr("text", report.excerpt.as_ref().map(|excerpt| excerpt.text.as_str()))
                }),
            }
        }
        Kind::Data { path } => {
            exception(classes.trace.bind(py), &text, |value| value.setattr("file", path.to_string_lossy()))
        }
        Kind::Device => exception(classes.trace.bind(py), &text, |_| Ok(())),
        Kind::File { path, cause, code } => exception(classes.file.bind(py), &text, |value| {
            value.setattr("filename", path.to_string_lossy())?;
            match code {
                Some(code) => value.setattr("errno", *code),
                None => value.setattr("errno", py.import("errno")?.getattr(number_of(*cause))?),
            }
        }),
        Kind::Policy(fault) => policy(py, classes, &text, fault),
        Kind::Stopped => PyKeyboardInterrupt::new_err(()),
        Kind::Invariant => exception(classes.invariant.bind(py), &text, |value| value.setattr("law", &error.message)),
    }
}

/// A failed policy, with its exception as the cause. An interrupt stays one.
fn policy(py: Python<'_>, classes: &Classes, text: &str, fault: &PolicyFault) -> PyErr {
    let cause = fault.cause.as_ref().and_then(|cause| cause.downcast_ref::<PyErr>());
    if let Some(cause) = cause.filter(|cause| cause.is_instance_of::<PyKeyboardInterrupt>(py)) {
        return cause.clone_ref(py);
    }
    let raised = exception(classes.policy.bind(py), text, |value| {
        value.setattr("plane", fault.plane.0)?;
        value.setattr("now", fault.now.0)
    });
    raised.set_cause(py, cause.map(|cause| cause.clone_ref(py)));
    raised
}

pub fn usage(py: Python<'_>, message: impl Into<String>, help: &str) -> PyErr {
    raised(py, &Error::usage(message).help(help))
}

/// A failed law: what the panic said, when, and a command line that repeats it.
pub fn broken(py: Python<'_>, panic: &(dyn Any + Send), at_ns: Option<u64>, reproduce: Option<&str>) -> PyErr {
    let said = panic.downcast_ref::<&str>().copied().or(panic.downcast_ref::<String>().map(String::as_str));
    let law = said.unwrap_or("no message");
    let place = PANIC.lock().ok().and_then(|slot| slot.clone()).filter(|(text, _)| text == law);
    let place = place.map_or(String::new(), |(_, place)| place);
    let mut error = Error::new(Kind::Invariant, format!("invariant failed: {law}{place}"));
    if let Some(command) = reproduce {
        error = error.note(format!("ssdlab {}, repeat with: {command}", env!("CARGO_PKG_VERSION")));
    }
    error = error
        .help("this is a defect of the simulator: please report it with this message, the configuration and the trace");
    let made = raised(py, &error);
    let value = made.value(py);
    let attributes = value
        .setattr("law", law)
        .and_then(|()| value.setattr("at_ns", at_ns))
        .and_then(|()| value.setattr("reproduce", reproduce));
    attributes.err().unwrap_or(made)
}

thread_local! {
    /// What Python raised inside work of the engine in this thread.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Keeps what Python raised inside work of the engine, to raise it when the engine returns.
pub fn keep(error: PyErr) {
    RAISED.with(|slot| *slot.borrow_mut() = Some(error));
}

/// What Python raised inside work of the engine.
pub fn taken() -> Option<PyErr> {
    RAISED.with(|slot| slot.borrow_mut().take())
}

/// Work of the engine with the interpreter released. A broken law becomes an exception.
pub fn engine<T: Send>(py: Python<'_>, work: impl FnOnce() -> ssdlab_lab::error::Result<T> + Send) -> PyResult<T> {
    // Left over if the engine went on without what it could not read.
    drop(taken());
    match py.detach(|| catch_unwind(AssertUnwindSafe(work))) {
        Ok(result) => result.map_err(|error| taken().unwrap_or_else(|| raised(py, &error))),
        Err(panic) => Err(broken(py, &*panic, None, None)),
    }
}

/// A victim policy that breaks a law once requests run, for tests of what a defect looks like: it selects a block that is not closed.
#[pyclass(module = "ssdlab", name = "_WrongVictim", frozen)]
pub struct WrongVictim;

#[pymethods]
impl WrongVictim {
    #[new]
    fn new() -> Self {
        WrongVictim
    }
}

impl WrongVictim {
    /// The policy for a configuration.
    pub fn slot() -> AnyVictim {
        AnyVictim::outside(vec![("wrong".into(), None)], || Box::<Wrong>::default())
    }
}

#[derive(Clone, Default)]
struct Wrong(Greedy);

impl Victim for Wrong {
    fn pick(&mut self, view: &View, plane: PlaneId) -> Option<BlockId> {
        let open =
            || view.geometry.blocks(plane).map(|block| BlockId(block as u32)).find(|b| !view.flash.is_closed(*b));
        // Filling takes no time.
        if view.now.0 == 0 { self.0.pick(view, plane) } else { open() }
    }
}

/// Adds the exceptions.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    // Panics are raised as exceptions, not printed.
    std::panic::set_hook(Box::new(|info| {
        let payload = info.payload();
        let said = payload.downcast_ref::<&str>().copied().or(payload.downcast_ref::<String>().map(String::as_str));
        let place = info.location().map_or(String::new(), |at| format!(" (at {}:{})", at.file(), at.line()));
        if let Ok(mut slot) = PANIC.lock() {
            *slot = Some((said.unwrap_or("no message").into(), place));
        }
    }));
    let py = module.py();
    let classes = classes(py)?;
    let all = [
        ("Error", &classes.error),
        ("UsageError", &classes.usage),
        ("ConfigError", &classes.config),
        ("TraceError", &classes.trace),
        ("FileError", &classes.file),
        ("InvariantError", &classes.invariant),
        ("PolicyError", &classes.policy),
        ("MemoryLimitError", &classes.memory),
    ];
    all.into_iter().try_for_each(|(name, class)| module.add(name, class.bind(py)))
}
