//! Progress and signals: who hears of a run while the interpreter is released, and what stops it.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyString};
use ssdlab_lab::drive::Tick;
use ssdlab_lab::run::Progress;
use ssdlab_lab::text::count;
use ssdlab_lab::variants::points;
use ssdlab_sim::units::Nanos;

use crate::errors::usage;

/// Time between two looks at signals.
pub const LOOK: Duration = Duration::from_millis(20);
/// Least time between two reports of progress.
const REPORT: Duration = Duration::from_millis(200);
/// A bar appears only for runs that take longer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Who hears of the progress.
enum Listener {
    /// Nobody.
    Silent,
    /// A line on standard error, once a run takes long.
    Line {
        /// Whether it was shown.
        shown: bool,
    },
    /// A function.
    Function(Py<PyAny>),
}

impl Listener {
    /// From the argument `progress`.
    fn of(progress: &Bound<'_, PyAny>) -> PyResult<Listener> {
        let py = progress.py();
        if progress.is_callable() {
            return Ok(Listener::Function(progress.clone().unbind()));
        }
        if let Ok(flag) = progress.cast::<PyBool>() {
            return Ok(if flag.is_true() { Listener::Line { shown: false } } else { Listener::Silent });
        }
        if progress.extract::<String>().is_ok_and(|text| text == "auto") {
            let modules = py.import("sys")?.getattr("modules")?;
            let errors = py.import("sys")?.getattr("stderr")?;
            let terminal = !errors.is_none() && errors.call_method0("isatty")?.is_truthy()?;
            let watched = terminal || modules.contains("ipykernel")?;
            return Ok(if watched { Listener::Line { shown: false } } else { Listener::Silent });
        }
        Err(usage(
            py,
            format!("progress: {} is not one of its values", progress.repr()?),
            "give \"auto\", False, or a function of (done, total, simulated_ns)",
        ))
    }

    fn tell(&mut self, py: Python<'_>, done: u64, total: Option<u64>, now: u64, since: Duration) -> PyResult<()> {
        match self {
            Listener::Silent => Ok(()),
            Listener::Function(function) => function.call1(py, (done, total, now)).map(drop),
            Listener::Line { shown } => {
                if since < PATIENCE {
                    return Ok(());
                }
                *shown = true;
                let share = total
                    .filter(|total| *total > 0)
                    .map(|total| format!(" {:.0} %,", 100.0 * done as f64 / total as f64));
                write(
                    py,
                    &format!(
                        "\rssdlab:{} {}, {:.3} s simulated ",
                        share.unwrap_or_default(),
                        count(done),
                        now as f64 / 1e9
                    ),
                )
            }
        }
    }

    /// Clears the line.
    fn end(&mut self, py: Python<'_>) {
        if let Listener::Line { shown: true } = self {
            let _ = write(py, &format!("\r{:60}\r", ""));
        }
    }
}

fn write(py: Python<'_>, text: &str) -> PyResult<()> {
    let errors = py.import("sys")?.getattr("stderr")?;
    errors.call_method1("write", (text,))?;
    errors.call_method0("flush").map(drop)
}

/// Whether this is the thread that handles signals.
fn main_thread(py: Python<'_>) -> PyResult<bool> {
    let threading = py.import("threading")?;
    threading
        .call_method0("current_thread")?
        .getattr("ident")?
        .eq(threading.call_method0("main_thread")?.getattr("ident")?)
}

/// Asks for signals from time to time. Breaks, and keeps the exception, if one has been raised.
pub fn asking<'a>(every: Duration, raised: &'a mut Option<PyErr>) -> impl FnMut() -> ControlFlow<()> + 'a {
    let mut asked = Instant::now();
    move || {
        if asked.elapsed() < every {
            return ControlFlow::Continue(());
        }
        asked = Instant::now();
        match Python::attach(|py| py.check_signals()) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                *raised = Some(error);
                ControlFlow::Break(())
            }
        }
    }
}

/// Looks at signals and reports progress, in the thread that called.
pub struct Watch {
    listener: Listener,
    /// Whether signals are looked at.
    signals: bool,
    started: Instant,
    looked: Instant,
    reported: Option<Instant>,
    /// Done, total, simulated time.
    latest: Option<(u64, Option<u64>, u64)>,
    /// What ended the run.
    raised: Option<PyErr>,
    /// When a law broke.
    broken: Option<u64>,
}

impl Watch {
    /// Begins to watch, as the argument `progress` says.
    pub fn new(py: Python<'_>, progress: Option<Bound<'_, PyAny>>) -> PyResult<Watch> {
        let progress = progress.unwrap_or_else(|| PyString::new(py, "auto").into_any());
        let (listener, now) = (Listener::of(&progress)?, Instant::now());
        Ok(Watch {
            listener,
            signals: main_thread(py)?,
            started: now,
            looked: now,
            reported: None,
            latest: None,
            raised: None,
            broken: None,
        })
    }

    /// The state of the run.
    pub fn set(&mut self, done: u64, total: Option<u64>, now: u64) {
        self.latest = Some((done, total, now));
    }

    /// Looks, if it is time to.
    pub fn look(&mut self) -> ControlFlow<()> {
        let now = Instant::now();
        if now - self.looked < LOOK {
            return ControlFlow::Continue(());
        }
        self.looked = now;
        let report = !matches!(self.listener, Listener::Silent);
        if !self.signals && !report {
            return ControlFlow::Continue(());
        }
        let looked = Python::attach(|py| {
            if self.signals {
                py.check_signals()?;
            }
            self.report(py, now)
        });
        match looked {
            Ok(()) => ControlFlow::Continue(()),
            Err(raised) => {
                self.raised = Some(raised);
                ControlFlow::Break(())
            }
        }
    }

    fn report(&mut self, py: Python<'_>, now: Instant) -> PyResult<()> {
        if self.reported.is_some_and(|reported| now - reported < REPORT) {
            return Ok(());
        }
        let Some((done, total, time)) = self.latest else { return Ok(()) };
        self.reported = Some(now);
        self.listener.tell(py, done, total, time, now - self.started)
    }

    /// What ended the run, if it was this.
    pub fn raised(&mut self) -> Option<PyErr> {
        self.raised.take()
    }

    /// The run has failed: the line goes.
    pub fn hide(&mut self, py: Python<'_>) {
        self.listener.end(py);
    }

    /// When a law broke, if one did.
    pub fn broken_at(&self) -> Option<u64> {
        self.broken
    }

    /// The run has ended.
    pub fn end(&mut self, py: Python<'_>) -> PyResult<()> {
        let told =
            if matches!(self.listener, Listener::Function(_)) { self.report(py, Instant::now()) } else { Ok(()) };
        self.listener.end(py);
        told
    }
}

impl Progress for Watch {
    fn at(&mut self, tick: Tick) -> ControlFlow<()> {
        self.set(tick.requests, tick.total, tick.now.0);
        ControlFlow::Continue(())
    }

    fn go_on(&mut self) -> ControlFlow<()> {
        self.look()
    }

    fn broken(&mut self, at: Nanos) {
        self.broken = Some(at.0);
    }
}

/// Follows many runs from the thread that called.
pub struct Board {
    watch: Mutex<Watch>,
    caller: ThreadId,
    stop: AtomicBool,
    ended: AtomicUsize,
    runs: AtomicUsize,
    now: AtomicU64,
}

impl Board {
    /// A board of runs that this thread waits for. `progress` is the argument.
    pub fn new(py: Python<'_>, progress: Option<Bound<'_, PyAny>>) -> PyResult<Arc<Board>> {
        Ok(Arc::new(Board {
            watch: Mutex::new(Watch::new(py, progress)?),
            caller: std::thread::current().id(),
            stop: AtomicBool::new(false),
            ended: AtomicUsize::new(0),
            runs: AtomicUsize::new(0),
            now: AtomicU64::new(0),
        }))
    }

    /// Looks at signals, if this is the thread that called.
    pub fn look(&self) -> ControlFlow<()> {
        if self.stop.load(Ordering::Relaxed) {
            return ControlFlow::Break(());
        }
        if std::thread::current().id() != self.caller {
            return ControlFlow::Continue(());
        }
        let mut watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        let (ended, runs) = (self.ended.load(Ordering::Relaxed) as u64, self.runs.load(Ordering::Relaxed) as u64);
        watch.set(ended, Some(runs), self.now.load(Ordering::Relaxed));
        let flow = watch.look();
        self.stop.fetch_or(flow.is_break(), Ordering::Relaxed);
        flow
    }

    /// So many runs are to be made.
    pub fn expect(&self, runs: usize) {
        self.runs.store(runs, Ordering::Relaxed);
    }

    /// So many more.
    pub fn expect_more(&self, runs: usize) {
        self.runs.fetch_add(runs, Ordering::Relaxed);
    }

    /// A run has ended.
    pub fn ended(&self) {
        self.ended.fetch_add(1, Ordering::Relaxed);
    }

    /// The result of all runs, or what was raised in place of it.
    pub fn result<T>(&self, py: Python<'_>, done: PyResult<T>) -> PyResult<T> {
        let mut watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        let raised = watch.raised();
        let told = watch.end(py);
        match raised {
            Some(error) => Err(error),
            None => done.and_then(|done| told.map(|()| done)),
        }
    }
}

/// Follows one run, or the runs of other threads, for a board.
#[derive(Clone)]
pub struct Follower(pub Arc<Board>);

impl points::Board for Follower {
    fn at(&self, _point: usize, tick: Tick) -> ControlFlow<()> {
        self.0.now.store(tick.now.0, Ordering::Relaxed);
        ControlFlow::Continue(())
    }

    fn go_on(&self, _point: usize) -> ControlFlow<()> {
        self.0.look()
    }

    fn waits(&self) -> ControlFlow<()> {
        self.0.look()
    }

    fn ended(&self, _point: usize) {
        self.0.ended();
    }
}

impl Progress for Follower {
    fn at(&mut self, tick: Tick) -> ControlFlow<()> {
        let mut watch = self.0.watch.lock().unwrap_or_else(PoisonError::into_inner);
        watch.set(tick.requests, tick.total, tick.now.0);
        ControlFlow::Continue(())
    }

    fn go_on(&mut self) -> ControlFlow<()> {
        self.0.watch.lock().unwrap_or_else(PoisonError::into_inner).look()
    }
}
