//! `_Game`: episodes whose decisions Python takes, for the environments of `examples/gym_env.py`.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use ssdlab_lab::decisions::{self, Event, Slot};
use ssdlab_lab::error::Error;
use ssdlab_lab::input::{Origin, Requests};
use ssdlab_lab::tree::json;
use ssdlab_sim::policy::Load;
use ssdlab_sim::units::Nanos;

use crate::config::Config;
use crate::errors::{engine, usage};
use crate::summary::Summary;

/// A filled device whose decisions Python takes, episode after episode.
#[pyclass(module = "ssdlab", name = "_Game", frozen)]
pub struct Game(Mutex<decisions::Game>);

/// A decision to take.
#[pyclass(module = "ssdlab", name = "_Decision", frozen)]
pub struct Decision(decisions::Decision);

/// The end of an episode.
#[pyclass(module = "ssdlab", name = "_End", frozen)]
pub struct End {
    end: decisions::EpisodeEnd,
}

/// Counters of a device as a dictionary.
fn sample<'py>(py: Python<'py>, now: u64, load: &Load) -> PyResult<Bound<'py, PyDict>> {
    let sample = PyDict::new(py);
    sample.set_item("now", now)?;
    sample.set_item("pending", load.pending)?;
    sample.set_item("reads", load.reads.0)?;
    sample.set_item("read_latency_ns", load.reads.1)?;
    sample.set_item("writes", load.writes.0)?;
    sample.set_item("write_latency_ns", load.writes.1)?;
    sample.set_item("host_pages", load.host_pages)?;
    sample.set_item("gc_pages", load.gc_pages)?;
    sample.set_item("collections", load.collections)?;
    Ok(sample)
}

fn bytes<'py>(py: Python<'py>, features: &[f32]) -> Bound<'py, PyBytes> {
    let bytes: Vec<u8> = features.iter().flat_map(|feature| feature.to_ne_bytes()).collect();
    PyBytes::new(py, &bytes)
}

#[pymethods]
impl Decision {
    /// The plane.
    #[getter]
    fn plane(&self) -> u32 {
        self.0.plane
    }

    /// Simulated time in nanoseconds.
    #[getter]
    fn now(&self) -> u64 {
        self.0.now
    }

    /// The number of candidates.
    #[getter]
    fn count(&self) -> usize {
        self.0.candidates.len()
    }

    /// Data pages of a block.
    #[getter]
    fn pages_per_block(&self) -> u32 {
        self.0.pages_per_block
    }

    /// Valid pages of a candidate.
    fn valid(&self, candidate: usize) -> Option<u32> {
        self.0.candidates.get(candidate).map(|block| block.valid)
    }

    /// Features of `k` candidates and of the device, as bytes of 32-bit floats.
    fn features<'py>(&self, py: Python<'py>, k: usize) -> Bound<'py, PyBytes> {
        bytes(py, &self.0.features(k))
    }

    /// Features of the plane, as bytes of 32-bit floats.
    fn plane_features<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        bytes(py, &self.0.plane_features())
    }

    /// Counters of the device.
    fn sample<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        sample(py, self.0.now, &self.0.load)
    }
}

#[pymethods]
impl End {
    /// The results of the episode.
    fn summary(&self, py: Python<'_>) -> PyResult<Py<Summary>> {
        Summary::of(py, json(&self.end.summary))
    }

    /// Counters of the device.
    fn sample<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        sample(py, self.end.now, &self.end.load)
    }
}

impl Game {
    fn play<T: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut decisions::Game) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        engine(py, || act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

fn event(py: Python<'_>, event: Event) -> PyResult<Py<PyAny>> {
    Ok(match event {
        Event::Decide(decision) => Py::new(py, Decision(*decision))?.into_any(),
        Event::Done(end) => Py::new(py, End { end: *end })?.into_any(),
    })
}

#[pymethods]
impl Game {
    /// Fills a device. `slot` is `victim`, with so many candidates, or `trigger`, with an idle time in nanoseconds.
    #[new]
    fn new(
        py: Python<'_>,
        config: &Config,
        slot: &str,
        number: u64,
        workload: String,
        writes: u64,
        seed: u64,
    ) -> PyResult<Game> {
        let slot = match slot {
            "victim" => Slot::Victim { candidates: usize::try_from(number).unwrap_or(usize::MAX) },
            "trigger" => Slot::Trigger { after: Nanos(number) },
            other => return Err(usage(py, format!("there is no game for the slot {other}"), "use victim or trigger")),
        };
        let requests = Requests::new(Origin::Workload { name: workload, recordings: None });
        let config = &config.settings.config;
        engine(py, || decisions::Game::new(config, slot, requests, writes, seed)).map(|game| Game(Mutex::new(game)))
    }

    /// Starts an episode and returns its first decision, or its end.
    fn reset(&self, py: Python<'_>, seed: u64) -> PyResult<Py<PyAny>> {
        let next = self.play(py, |game| game.reset(seed))?;
        event(py, next)
    }

    /// Answers the open decision and returns what comes next.
    fn step(&self, py: Python<'_>, answer: usize) -> PyResult<Py<PyAny>> {
        let next = self.play(py, |game| game.step(answer))?;
        event(py, next)
    }

    /// Answers the open decision without waiting for what comes next.
    fn answer(&self, py: Python<'_>, answer: usize) -> PyResult<()> {
        self.play(py, |game| game.answer(answer))
    }

    /// Waits for what comes next after `answer`.
    fn next(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let next = self.play(py, |game| game.next())?;
        event(py, next)
    }
}
