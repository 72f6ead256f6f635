//! `Device` and `Snapshot`: a live device.

use std::sync::{Mutex, MutexGuard, TryLockError};

use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use ssdlab_lab::error::Error;
use ssdlab_lab::live::{self, PagePlace};
use ssdlab_lab::results::requests;
use ssdlab_sim::units::Nanos;
use ssdlab_trace::Trace;

use crate::arguments::{check_of, seed_of, time_of};
use crate::config::Config;
use crate::errors::{engine, raised, usage};
use crate::policy::{self, Objects};
use crate::requests::trace_of;
use crate::summary::Summary;
use crate::table::Table;
use crate::watch::{LOOK, asking};

/// A live device: submit requests, advance time, read results at any time. It is used by one thread at a time.
///
/// - `cfg`: the configuration; by default the built-in device.
/// - `seed`: seed of every random choice.
/// - `check`: how much the oracle checks: `"off"`, `"sampled"` or `"full"`.
/// - `victim`, `trigger`: policies written in Python, in place of those of the configuration.
/// - `requests`: without it no rows are kept for `poll`, which makes the device faster.
#[pyclass(module = "ssdlab", frozen)]
pub struct Device {
    live: Mutex<live::LiveDevice>,
    /// The configuration.
    #[pyo3(get)]
    config: Config,
}

/// A copy of a device at a time, from which any number of devices can be made.
#[pyclass(module = "ssdlab", frozen)]
pub struct Snapshot {
    live: Mutex<live::LiveDevice>,
    config: Config,
    /// Simulated time in nanoseconds.
    #[pyo3(get)]
    now: u64,
    bytes: usize,
}

impl Device {
    fn of(live: live::LiveDevice, config: Config) -> Device {
        Device { live: Mutex::new(live), config }
    }

    /// The device, unless another thread (or a policy that the device is asking) uses it.
    fn hold(&self) -> PyResult<MutexGuard<'_, live::LiveDevice>> {
        hold(&self.live)
    }

    /// Works on the device with the interpreter released.
    fn work<T: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut live::LiveDevice) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        let done = py.detach(|| match self.live.try_lock() {
            Ok(mut live) => Some(act(&mut live)),
            // A failed law is reported by the device itself.
            Err(TryLockError::Poisoned(live)) => Some(act(&mut live.into_inner())),
            Err(TryLockError::WouldBlock) => None,
        });
        done.ok_or_else(busy)?.map_err(|error| raised(py, &error))
    }
}

fn hold(live: &Mutex<live::LiveDevice>) -> PyResult<MutexGuard<'_, live::LiveDevice>> {
    match live.try_lock() {
        Ok(live) => Ok(live),
        Err(TryLockError::Poisoned(live)) => Ok(live.into_inner()),
        Err(TryLockError::WouldBlock) => Err(busy()),
    }
}

fn busy() -> PyErr {
    PyRuntimeError::new_err("device is busy in another thread")
}

#[pymethods]
impl Device {
    /// Builds the device of a configuration and fills it as `precondition` says.
    ///
    /// The manual of its arguments is that of the class.
    #[new]
    #[pyo3(signature = (cfg = None, *, seed = None, check = "sampled", victim = None, trigger = None, requests = true))]
    #[pyo3(text_signature = "(cfg=None, *, seed=1, check='sampled', victim=None, trigger=None, requests=True)")]
    fn new(
        py: Python<'_>,
        cfg: Option<&Config>,
        seed: Option<&Bound<'_, PyAny>>,
        check: &str,
        victim: Option<&Bound<'_, PyAny>>,
        trigger: Option<&Bound<'_, PyAny>>,
        requests: bool,
    ) -> PyResult<Device> {
        let config = Config::or_default(py, cfg)?;
        let seed = seed.map_or(Ok(1), |seed| seed_of(py, seed))?;
        let check = check_of(py, check)?;
        let mut own = config.settings.config.clone();
        policy::policies(victim, trigger, Objects::Given)?.put(&mut own);
        let live = engine(py, || {
            live::fits(&own, check)?;
            match requests {
                true => live::LiveDevice::new(&own, seed, check),
                false => live::LiveDevice::without_rows(&own, seed, check),
            }
        })?;
        Ok(Device::of(live, config))
    }

    /// Submits a request, which arrives at the time `at` in nanoseconds, or now. Returns its number, or `None` for a flush, which
    /// is only counted. `op` is `"read"`, `"write"`, `"trim"` or `"flush"`; `offset` its first byte and `bytes` its length, both
    /// multiples of 512.
    #[pyo3(signature = (op, offset = 0, bytes = 0, *, at = None))]
    fn submit(
        &self,
        py: Python<'_>,
        op: &str,
        offset: u64,
        bytes: u64,
        at: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<u64>> {
        let at = at.map(|at| time_of("at", at)).transpose()?;
        let op = live::operation(op).map_err(|error| raised(py, &error))?;
        self.hold()?.submit(op, offset, bytes, at.map(Nanos)).map_err(|error| raised(py, &error))
    }

    /// Submits all requests of a table (`table`, as `trace` of `run`, but no file) in order of arrival, or none of them if one is refused. Returns their numbers.
    fn submit_many(&self, py: Python<'_>, table: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let Trace::Table(table) = trace_of(table)? else {
            return Err(usage(py, "submit_many takes a table", "read a file with read_trace first"));
        };
        let numbers = self.work(py, |live| live.submit_many(&live::asks(&table)?))?;
        let range = py.import("builtins")?.getattr("range")?.call1((numbers.start, numbers.end))?;
        Ok(range.unbind())
    }

    /// Simulates everything before the time `until`, or before now plus `by`, and nothing at it; both are nanoseconds. Returns how
    /// many requests completed. The clock ends at 2^61 - 1 ns.
    #[pyo3(signature = (until = None, *, by = None))]
    fn advance(
        &self,
        py: Python<'_>,
        until: Option<&Bound<'_, PyAny>>,
        by: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<u64> {
        let until = until.map(|until| time_of("until", until)).transpose()?;
        let by = by.map(|by| time_of("by", by)).transpose()?;
        let mut interrupt = None;
        let done = match (until, by) {
            (Some(until), None) => {
                self.work(py, |live| live.advance_while(Nanos(until), &mut asking(LOOK, &mut interrupt)))
            }
            (None, Some(by)) => self.work(py, |live| {
                live.advance_while(Nanos(live.now().0.saturating_add(by)), &mut asking(LOOK, &mut interrupt))
            }),
            _ => Err(PyTypeError::new_err("advance: give either until or by")),
        };
        interrupt.map_or(done, Err)
    }

    /// Simulates until nothing is left to do. Returns how many requests completed.
    fn run(&self, py: Python<'_>) -> PyResult<u64> {
        let mut interrupt = None;
        let done = self.work(py, |live| live.run_while(&mut asking(LOOK, &mut interrupt)));
        interrupt.map_or(done, Err)
    }

    /// Time of the next event in nanoseconds; `None` if nothing is left to do.
    #[getter]
    fn next_event(&self) -> PyResult<Option<u64>> {
        Ok(self.hold()?.next_event().map(|time| time.0))
    }

    /// Simulated time in nanoseconds.
    #[getter]
    fn now(&self) -> PyResult<u64> {
        Ok(self.hold()?.now().0)
    }

    /// Requests submitted and not completed.
    #[getter]
    fn pending(&self) -> PyResult<u64> {
        Ok(self.hold()?.pending())
    }

    /// Bytes that the host may address.
    #[getter]
    fn capacity_bytes(&self) -> PyResult<u64> {
        Ok(self.hold()?.capacity_bytes())
    }

    /// Requests that completed since the last call, in order of completion: the columns of `--requests`, trims included.
    fn poll(&self, py: Python<'_>) -> PyResult<Table> {
        let frame = self
            .work(py, |live| requests::frame(&live.poll(), &live.config().extra_causes(), &live.config().tenants()))?;
        Ok(Table::of(frame))
    }

    /// What has happened so far.
    fn summary(&self, py: Python<'_>) -> PyResult<Py<Summary>> {
        let json = self.work(py, |live| live.summary().map(|summary| ssdlab_lab::tree::json(&summary)))?;
        Summary::of(py, json)
    }

    /// The state of every block: the columns of `--blocks`.
    fn state(&self, py: Python<'_>) -> PyResult<Table> {
        Ok(Table::of(self.work(py, |live| live.blocks())?))
    }

    /// Where the newest version of the page is that contains the byte `offset`: `(channel, chip, die, plane, block, page)`, each counted
    /// within the one before it; `"memory"` on its way to flash; `None` if it was never written or is trimmed.
    fn lookup(&self, py: Python<'_>, offset: u64) -> PyResult<Py<PyAny>> {
        let place = self.hold()?.lookup(offset).map_err(|error| raised(py, &error))?;
        Ok(match place {
            PagePlace::Flash(at) => {
                (at.channel, at.chip, at.die, at.plane, at.block, at.page).into_pyobject(py)?.into_any().unbind()
            }
            PagePlace::Memory => "memory".into_pyobject(py)?.into_any().unbind(),
            PagePlace::Nowhere => py.None(),
        })
    }

    /// Cuts power now and recovers, in no time: requests in service are lost. Needs `check="full"`.
    fn power_cut(&self, py: Python<'_>) -> PyResult<()> {
        self.work(py, |live| live.power_cut())
    }

    /// Fails the chip of number `chip` now. Needs `raid.layout` and `faults.chip_fails`; a time that is never reached is enough.
    fn fail_chip(&self, py: Python<'_>, chip: u32) -> PyResult<()> {
        self.work(py, |live| live.fail_chip(chip))
    }

    /// A copy of the device at this time.
    fn snapshot(&self, py: Python<'_>) -> PyResult<Snapshot> {
        let live = self.work(py, |live| live.copied())?;
        let (now, bytes) = (live.now().0, usize::try_from(live.memory_bytes()).unwrap_or(usize::MAX));
        Ok(Snapshot { live: Mutex::new(live), config: self.config.clone(), now, bytes })
    }

    /// A second device with the same state; the two share nothing. `set` changes keys of it that a running device may change.
    #[pyo3(signature = (set = None))]
    fn fork(&self, py: Python<'_>, set: Option<&Bound<'_, PyDict>>) -> PyResult<Device> {
        let Some(set) = set else { return Ok(Device::of(self.work(py, |live| live.copied())?, self.config.clone())) };
        let config = Bound::new(py, self.config.clone())?.call_method1("set", (set,))?;
        let config = config.cast_into::<Config>()?.get().clone();
        let (old, new) = (&self.config.settings.config, &config.settings.config);
        let live = self.work(py, |live| live.forked(&live.follows(old, new)))?;
        Ok(Device::of(live, config))
    }

    fn __repr__(&self) -> PyResult<String> {
        let live = self.hold()?;
        Ok(format!("<ssdlab.Device at {} ns, {} requests pending>", live.now().0, live.pending()))
    }
}

#[pymethods]
impl Snapshot {
    /// A device with this state.
    fn device(&self, py: Python<'_>) -> PyResult<Device> {
        let live = py.detach(|| hold_still(&self.live).copied()).map_err(|error| raised(py, &error))?;
        Ok(Device::of(live, self.config.clone()))
    }

    fn __repr__(&self) -> String {
        format!("<ssdlab.Snapshot of a device at {} ns>", self.now)
    }

    /// Bytes that it takes.
    fn __len__(&self) -> usize {
        self.bytes
    }
}

/// A snapshot never changes, so threads only wait for each other's copies.
fn hold_still(live: &Mutex<live::LiveDevice>) -> MutexGuard<'_, live::LiveDevice> {
    live.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
