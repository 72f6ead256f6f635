//! `Disk`: a drive that keeps data, in virtual time; and what its calls return.

use std::sync::{Mutex, MutexGuard, TryLockError};

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyBlockingIOError, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use ssdlab_disk::{Check, Disk as Drive, DiskError, Extra, Reason, Seed, Ticket};
use ssdlab_lab::error::Error;
use ssdlab_lab::live;
use ssdlab_lab::results::requests::op;
use ssdlab_sim::blame::CAUSES;
use ssdlab_sim::units::Nanos;

use crate::arguments::{check_of, seed_of, time_of};
use crate::config::Config;
use crate::errors::{engine, raised, usage};

/// A simulated drive that keeps data, in virtual time: for tests of what stores data. The simulator decides when a request completes,
/// and what a power cut leaves. Used in a `with` statement, it drops its data at the end.
///
/// Requests are submitted at the current time, and complete when the clock is advanced (`run`, or `next_event` and `advance_to`). A call
/// that submits one raises `ValueError` if it does not lie on the disk or is not of whole sectors of 512 bytes, and `BlockingIOError` if
/// the drive's queue is full: advance the clock then.
///
/// - `cfg`: the configuration; by default the built-in device.
/// - `seed`: seed of every random choice.
/// - `check`: `"full"` (the default) knows every version of every page, which `power_cut` and `read_at_rest` need; `"sampled"` and
///   `"off"` keep the newest data only, and are faster.
#[pyclass(module = "ssdlab", frozen)]
pub struct Disk {
    drive: Mutex<Option<Drive>>,
    /// The configuration.
    #[pyo3(get)]
    config: Config,
}

/// The end of a request. Times are nanoseconds of simulated time.
#[pyclass(module = "ssdlab", frozen, get_all)]
pub struct Completion {
    /// The request: what its call returned.
    ticket: u64,
    /// `"read"`, `"write"`, `"trim"` or `"flush"`.
    op: &'static str,
    /// When it was submitted.
    submitted: u64,
    /// When it completed.
    completed: u64,
    /// For what it spent this time: nanoseconds by cause, those that are not 0. They sum to the latency.
    causes: Py<PyDict>,
    /// The data of a read; `None` if it failed, and for other requests.
    data: Option<Py<PyBytes>>,
    /// Why it failed, if it did.
    error: Option<String>,
}

/// A range of sectors whose newest data a power cut has taken.
#[pyclass(module = "ssdlab", frozen, get_all)]
pub struct Lost {
    /// First byte.
    offset: u64,
    /// Bytes.
    bytes: u64,
    /// The newest request whose effect is gone; of those that had completed, if there is one.
    ticket: Option<u64>,
    /// `"in_flight"`, `"volatile"`, `"torn"`, `"overwritten"` or `"trim_undone"`. All but the first break a promise.
    reason: &'static str,
    /// Whether reads fail from now on, until the range is written.
    unreadable: bool,
}

/// What a power cut has left.
#[pyclass(module = "ssdlab", frozen, get_all)]
pub struct Survivors {
    /// Ranges that do not hold what was last written there: `Lost`, in order.
    lost: Vec<Py<Lost>>,
    /// Requests that will never complete.
    aborted: Vec<u64>,
}

fn failed(py: Python<'_>, error: &DiskError) -> PyErr {
    match error {
        DiskError::OutOfRange { .. } | DiskError::Unaligned { .. } => raised(py, &Error::usage(error.to_string())),
        DiskError::QueueFull => PyBlockingIOError::new_err((EAGAIN, error.to_string())),
        DiskError::Uncorrectable { .. } | DiskError::WriteFailed { .. } => PyOSError::new_err((EIO, error.to_string())),
    }
}

const EIO: i32 = 5;
const EAGAIN: i32 = 11;

impl Disk {
    /// Works on the drive with the interpreter released.
    fn work<T: Send>(&self, py: Python<'_>, act: impl FnOnce(&mut Drive) -> T + Send) -> PyResult<T> {
        let mut drive = self.hold()?;
        let drive: &mut Option<Drive> = &mut drive;
        let done = engine(py, || Ok(drive.as_mut().map(act)))?;
        done.ok_or_else(|| PyValueError::new_err("the disk is closed"))
    }

    fn hold(&self) -> PyResult<MutexGuard<'_, Option<Drive>>> {
        match self.drive.try_lock() {
            Ok(drive) => Ok(drive),
            Err(TryLockError::Poisoned(drive)) => Ok(drive.into_inner()),
            Err(TryLockError::WouldBlock) => Err(PyRuntimeError::new_err("disk is busy in another thread")),
        }
    }

    /// Submits a request and returns its number.
    fn submit(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut Drive) -> Result<Ticket, DiskError> + Send,
    ) -> PyResult<u64> {
        self.work(py, act)?.map(|ticket| ticket.0).map_err(|error| failed(py, &error))
    }

    /// Refuses what needs to know every version.
    fn needs_full(&self, py: Python<'_>, what: &str) -> PyResult<()> {
        if self.work(py, |drive| drive.ssd().knows_pages())? {
            return Ok(());
        }
        Err(usage(
            py,
            format!("{what} needs to know every version of every page"),
            "build the disk with check=\"full\"",
        ))
    }
}

#[pymethods]
impl Disk {
    /// Builds the drive of a configuration and fills it as `precondition` says, with zeros.
    ///
    /// The manual of its arguments is that of the class.
    #[new]
    #[pyo3(signature = (cfg = None, *, seed = None, check = "full"))]
    #[pyo3(text_signature = "(cfg=None, *, seed=1, check='full')")]
    fn new(py: Python<'_>, cfg: Option<&Config>, seed: Option<&Bound<'_, PyAny>>, check: &str) -> PyResult<Disk> {
        let config = Config::or_default(py, cfg)?;
        let seed = seed.map_or(Ok(1), |seed| seed_of(py, seed))?;
        let check: Check = check_of(py, check)?;
        let settings = &config.settings;
        let drive = engine(py, || {
            live::fits(&settings.config, check)?;
            let builder = Drive::builder().config(settings.config.clone()).seed(Seed(seed)).check(check);
            builder.build().map_err(|error| settings.refuse(&error))
        })?;
        Ok(Disk { drive: Mutex::new(Some(drive)), config })
    }

    /// Writes `data` (anything with a buffer of bytes) from the byte `offset` on, both multiples of 512. The data is copied. Returns the
    /// number of the request. `through`: forced unit access, which a write-back cache completes when the data is on flash.
    #[pyo3(signature = (offset, data, *, through = false))]
    fn write(&self, py: Python<'_>, offset: u64, data: &Bound<'_, PyAny>, through: bool) -> PyResult<u64> {
        let data = PyBuffer::<u8>::get(data)?.to_vec(py)?;
        self.submit(py, |drive| if through { drive.write_through(offset, &data) } else { drive.write(offset, &data) })
    }

    /// Writes `bytes` zeros from the byte `offset` on, both multiples of 512; they take no memory here. Returns the number of the request.
    /// `through`: as of `write`.
    #[pyo3(signature = (offset, bytes, *, through = false))]
    fn write_zeroes(&self, py: Python<'_>, offset: u64, bytes: u64, through: bool) -> PyResult<u64> {
        self.submit(py, |drive| drive.write_zeroes(offset, bytes, through))
    }

    /// Reads `bytes` from the byte `offset` on, both multiples of 512. Returns the number of the request; the data comes with its
    /// completion.
    fn read(&self, py: Python<'_>, offset: u64, bytes: u64) -> PyResult<u64> {
        self.submit(py, |drive| drive.read(offset, bytes))
    }

    /// Discards the whole pages of `bytes` from the byte `offset` on, both multiples of 512. Returns the number of the request.
    fn trim(&self, py: Python<'_>, offset: u64, bytes: u64) -> PyResult<u64> {
        self.submit(py, |drive| drive.trim(offset, bytes))
    }

    /// Puts completed writes on flash. A drive without a write cache has nothing to flush: then it completes at once. Returns the number
    /// of the request.
    fn flush(&self, py: Python<'_>) -> PyResult<u64> {
        self.submit(py, Drive::flush)
    }

    /// Time at which something happens next, in nanoseconds; `None` if nothing is left to do.
    #[getter]
    fn next_event(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        Ok(self.work(py, |drive| drive.next_event())?.map(|time| time.0))
    }

    /// Moves the clock to `at` nanoseconds, and handles everything up to and including it. A time in the past is now.
    fn advance_to(&self, py: Python<'_>, at: &Bound<'_, PyAny>) -> PyResult<()> {
        let at = time_of("at", at)?;
        self.work(py, |drive| drive.advance_to(Nanos(at)))
    }

    /// Moves the clock to `at` nanoseconds, and handles everything before it, so that a request submitted next arrives before what
    /// happens at `at` itself. A time in the past is now.
    fn advance_before(&self, py: Python<'_>, at: &Bound<'_, PyAny>) -> PyResult<()> {
        let at = time_of("at", at)?;
        self.work(py, |drive| drive.advance_before(Nanos(at)))
    }

    /// Takes the requests that have completed, in order of completion.
    fn completions(&self, py: Python<'_>) -> PyResult<Vec<Completion>> {
        self.work(py, Drive::completions)?.into_iter().map(|done| completion(py, done)).collect()
    }

    /// Advances until nothing is left to do. Returns the requests that have completed.
    fn run(&self, py: Python<'_>) -> PyResult<Vec<Completion>> {
        let all = self.work(py, |drive| {
            let mut all = drive.completions();
            while let Some(at) = drive.next_event() {
                drive.advance_to(at);
                all.extend(drive.completions());
            }
            all
        })?;
        all.into_iter().map(|done| completion(py, done)).collect()
    }

    /// Cuts the power now. The drive recovers in no simulated time, and its data is what survived.
    fn power_cut(&self, py: Python<'_>) -> PyResult<Survivors> {
        self.needs_full(py, "power_cut")?;
        let left = self.work(py, Drive::power_cut)?;
        let lost = left.lost.iter().map(|lost| {
            let reason = match lost.reason {
                Reason::InFlight => "in_flight",
                Reason::Volatile => "volatile",
                Reason::Torn => "torn",
                Reason::Overwritten => "overwritten",
                Reason::TrimUndone => "trim_undone",
            };
            let (offset, bytes, unreadable) = (lost.offset, lost.bytes, lost.unreadable);
            Py::new(py, Lost { offset, bytes, ticket: lost.ticket.map(|ticket| ticket.0), reason, unreadable })
        });
        Ok(Survivors {
            lost: lost.collect::<PyResult<_>>()?,
            aborted: left.aborted.iter().map(|ticket| ticket.0).collect(),
        })
    }

    /// What a power cut now would leave of the `bytes` from the byte `offset` on, in no time. Raises `OSError` if it could not be read
    /// then.
    fn read_at_rest<'py>(&self, py: Python<'py>, offset: u64, bytes: u64) -> PyResult<Bound<'py, PyBytes>> {
        self.needs_full(py, "read_at_rest")?;
        let read = self.work(py, |drive| {
            let room = bytes.min(drive.capacity_bytes() + 512);
            let mut data = vec![0; room as usize];
            drive.read_at_rest(offset, &mut data).map(|()| data)
        })?;
        read.map(|data| PyBytes::new(py, &data)).map_err(|error| failed(py, &error))
    }

    /// A second disk with the same state and future. The two share nothing but memory that neither changes.
    fn fork(&self, py: Python<'_>) -> PyResult<Disk> {
        let drive = self.work(py, |drive| drive.clone())?;
        Ok(Disk { drive: Mutex::new(Some(drive)), config: self.config.clone() })
    }

    /// Simulated time in nanoseconds.
    #[getter]
    fn now(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.work(py, |drive| drive.now())?.0)
    }

    /// Bytes of the drive.
    #[getter]
    fn capacity_bytes(&self, py: Python<'_>) -> PyResult<u64> {
        self.work(py, |drive| drive.capacity_bytes())
    }

    /// Bytes of data in memory.
    #[getter]
    fn kept_bytes(&self, py: Python<'_>) -> PyResult<u64> {
        self.work(py, |drive| drive.kept_bytes())
    }

    /// Drops the drive with its data. Other calls raise `ValueError` from now on.
    fn close(&self) -> PyResult<()> {
        self.hold()?.take();
        Ok(())
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_raised))]
    fn __exit__(&self, _raised: &Bound<'_, pyo3::types::PyTuple>) -> PyResult<()> {
        self.close()
    }

    fn __repr__(&self) -> PyResult<String> {
        Ok(match &*self.hold()? {
            Some(drive) => format!("<ssdlab.Disk of {} bytes at {} ns>", drive.capacity_bytes(), drive.now().0),
            None => "<ssdlab.Disk, closed>".into(),
        })
    }
}

fn completion(py: Python<'_>, done: ssdlab_disk::Completion) -> PyResult<Completion> {
    let causes = PyDict::new(py);
    let common = CAUSES.iter().zip(done.causes.common.0).map(|((_, name), ns)| (*name, ns));
    let extra = Extra::ALL.iter().zip(done.causes.extra.0).map(|(extra, ns)| (extra.name(), ns));
    common.chain(extra).filter(|(_, ns)| *ns > 0).try_for_each(|(name, ns)| causes.set_item(name, ns))?;
    Ok(Completion {
        ticket: done.ticket.0,
        op: op(done.op),
        submitted: done.submitted.0,
        completed: done.completed.0,
        causes: causes.unbind(),
        data: done.data.map(|data| PyBytes::new(py, &data).unbind()),
        error: done.error.map(|error| error.to_string()),
    })
}

#[pymethods]
impl Completion {
    fn __repr__(&self) -> String {
        let Completion { ticket, op, submitted, completed, error, .. } = self;
        let error = error.as_ref().map_or(String::new(), |error| format!(", {error}"));
        format!("<ssdlab.Completion of {op} {ticket}: {submitted} to {completed} ns{error}>")
    }
}

#[pymethods]
impl Lost {
    fn __repr__(&self) -> String {
        let Lost { offset, bytes, reason, .. } = self;
        format!("<ssdlab.Lost: {bytes} bytes from {offset} on, {reason}>")
    }
}

#[pymethods]
impl Survivors {
    /// Ranges of data that the drive had acknowledged, and lost.
    fn broken_promises(&self, py: Python<'_>) -> Vec<Py<Lost>> {
        self.lost.iter().filter(|lost| lost.get().reason != "in_flight").map(|lost| lost.clone_ref(py)).collect()
    }

    fn __repr__(&self) -> String {
        format!("<ssdlab.Survivors: {} ranges lost, {} requests aborted>", self.lost.len(), self.aborted.len())
    }
}
