//! Outputs of a run. Each is a type of its own, in one file; `run.rs` knows none of them by name.
//!
//! A [`Product`] is an output that is asked for. It begins before anything is simulated, so that a directory without write permission
//! is reported at once. What it begins, a [`Recorder`], gets what it observes during the run, and finishes the output at its end.

use std::any::Any;
use std::fmt::Debug;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ssdlab_sim::blame::Extra;
use ssdlab_sim::units::Nanos;
use ssdlab_sim::{Completed, Config, LegRecord, Observer, Request, Sample, Watches};

use crate::drive::{Device, Drain};
use crate::error::{Error, Result};
use crate::input::Input;
use crate::outcome::Outcome;
use crate::output::Finished;
use crate::perf::{Moment, Perf};
use crate::results::sheet::{Ended, Frame};

/// An output that is asked for.
pub trait Product: Debug + Send + Sync {
    /// What it is.
    fn about(&self) -> About<'_>;

    /// Creates its file.
    ///
    /// # Errors
    /// The file can't be created, or the output can't be had as it is asked for.
    fn begin(&self, of: &Subject<'_>) -> Result<Box<dyn Recorder>>;
}

/// What an output is, before it begins.
pub struct About<'p> {
    /// The option that asks for it, as errors name it.
    pub name: &'static str,
    /// Its file; none if it stays in memory.
    pub path: Option<&'p Path>,
    /// Whether it has times. A run with `--count-only` has none.
    pub timed: bool,
}

/// The run that an output is of.
pub struct Subject<'r> {
    /// The device's configuration.
    pub config: &'r Config,
    /// Causes of optional features that the device has.
    pub extras: Vec<Extra>,
    /// Names of the tenants.
    pub tenants: &'r [String],
}

/// An unfinished output.
pub trait Recorder: Send {
    /// What it observes. It gets nothing else, and the less it is, the faster the run.
    fn observes(&self) -> Watches {
        Watches::NOTHING
    }

    /// The input has this many requests.
    ///
    /// # Errors
    /// They are too many.
    fn expects(&self, _requests: u64) -> Result<()> {
        Ok(())
    }

    /// The device is filled, and the requests come next.
    ///
    /// # Errors
    /// The run would be too long.
    fn prepare(&mut self, _device: &mut Device, _input: &Input) -> Result<()> {
        Ok(())
    }

    /// As [`Observer::arrived`].
    ///
    /// # Errors
    /// The file system takes no more.
    fn arrived(&mut self, _number: u64, _request: &Request) -> Result<()> {
        Ok(())
    }

    /// As [`Observer::completed`].
    ///
    /// # Errors
    /// The file system takes no more.
    fn completed(&mut self, _request: &Completed) -> Result<()> {
        Ok(())
    }

    /// As [`Observer::leg`].
    ///
    /// # Errors
    /// There are too many, or the file system takes no more.
    fn leg(&mut self, _leg: &LegRecord) -> Result<()> {
        Ok(())
    }

    /// As [`Observer::sample_at`].
    fn sample_at(&self) -> Nanos {
        Nanos::NEVER
    }

    /// As [`Observer::samples_dies`].
    fn samples_dies(&self) -> bool {
        false
    }

    /// As [`Observer::clock_moves`].
    ///
    /// # Errors
    /// There are too many samples until then.
    fn clock_moves(&mut self, _to: Nanos) -> Result<()> {
        Ok(())
    }

    /// As [`Observer::sample`], also at times that others wait for.
    ///
    /// # Errors
    /// The file system takes no more.
    fn sample(&mut self, _sample: &Sample) -> Result<()> {
        Ok(())
    }

    /// Between two requests, every few hundred of them, and after the last: what is complete is written.
    ///
    /// # Errors
    /// The file system takes no more.
    fn drain(&mut self) -> Result<()> {
        Ok(())
    }

    /// The last request has completed, and the device is still observed.
    fn simulated(&mut self, _device: &mut Device) {}

    /// Finishes the output and hands it over: [`RunEnd::put`], [`RunEnd::table`], [`RunEnd::give`].
    ///
    /// # Errors
    /// The file system takes no more.
    fn finish(self: Box<Self>, end: &mut RunEnd<'_>) -> Result<()>;
}

/// The end of a run: what is known then, and the outputs that are finished.
pub struct RunEnd<'r> {
    /// The device.
    pub device: &'r Device,
    /// Its state.
    pub state: &'r Sample,
    /// The results.
    pub outcome: &'r Outcome,
    products: &'r [Arc<dyn Product>],
    work: &'r Work,
    perf: Option<Perf>,
    pub(crate) made: Made,
}

/// What a run took so far.
pub(crate) struct Work {
    /// When it began.
    pub start: Moment,
    /// When the first request was submitted, and when the last had completed.
    pub simulation: (Moment, Moment),
    /// Requests submitted.
    pub requests: u64,
}

/// Finished outputs. Files are removed unless they are published.
#[derive(Default)]
pub(crate) struct Made {
    pub files: Vec<(&'static str, Finished)>,
    pub frames: Vec<(&'static str, Frame)>,
    pub values: Vec<Box<dyn Any + Send>>,
    /// What was left out of them.
    pub remarks: Vec<String>,
}

impl<'r> RunEnd<'r> {
    pub(crate) fn new(
        device: &'r Device,
        state: &'r Sample,
        outcome: &'r Outcome,
        products: &'r [Arc<dyn Product>],
        work: &'r Work,
    ) -> RunEnd<'r> {
        RunEnd { device, state, outcome, products, work, perf: None, made: Made::default() }
    }

    /// Hands a finished file over.
    pub fn put(&mut self, name: &'static str, file: Finished) {
        self.made.files.push((name, file));
    }

    /// Hands a table over.
    pub fn table(&mut self, name: &'static str, table: Ended) {
        match table {
            Ended::File(file) => self.put(name, file),
            Ended::Memory(frame) => self.made.frames.push((name, frame)),
        }
    }

    /// Hands a value to the caller of the run, who finds it by its type.
    pub fn give<T: Any + Send>(&mut self, value: T) {
        self.made.values.push(Box::new(value));
    }

    /// Tells the caller what was left out.
    pub fn remark(&mut self, remark: String) {
        self.made.remarks.push(remark);
    }

    /// The content of an output that is a file and stands before this one in the list, and the name that it was given.
    pub fn content(&self, name: &str) -> Option<(&Path, &Path)> {
        let (_, file) = self.made.files.iter().find(|(known, _)| *known == name)?;
        let product = self.products.iter().map(|product| product.about()).find(|about| about.name == name)?;
        Some((file.content()?, product.path?))
    }

    /// What the run took up to the first time that this is asked.
    pub fn perf(&mut self) -> Perf {
        let Work { start, simulation, requests } = *self.work;
        let operations = self.device.ssd.flash_operations();
        self.perf.get_or_insert_with(|| Perf::measure(start, simulation, requests, operations, None)).clone()
    }
}

/// The recorders of a run, shared with the device that they observe.
#[derive(Clone, Default)]
pub(crate) struct Recorders(Arc<Mutex<Shared>>);

#[derive(Default)]
struct Shared {
    recorders: Vec<(Watches, Box<dyn Recorder>)>,
    /// One more observer, which takes no samples.
    also: Option<Box<dyn Observer>>,
    /// The first error of a recorder. Nothing is recorded after it.
    fault: Option<Error>,
}

impl Shared {
    /// Hands something to the recorders that observe it.
    fn each(
        &mut self,
        of: impl Fn(&Watches) -> bool,
        mut hand: impl FnMut(&mut (dyn Recorder + 'static)) -> Result<()>,
    ) {
        for (_, recorder) in self.recorders.iter_mut().filter(|(watches, _)| of(watches)) {
            if self.fault.is_none() {
                self.fault = hand(&mut **recorder).err();
            }
        }
    }
}

impl Recorders {
    /// Lets recorders observe a device, beside one more observer, which takes no samples.
    pub fn observe(
        device: &mut Device,
        recorders: Vec<Box<dyn Recorder>>,
        also: Option<Box<dyn Observer>>,
    ) -> Recorders {
        let recorders = recorders.into_iter().map(|recorder| (recorder.observes(), recorder)).collect();
        let all = Recorders(Arc::new(Mutex::new(Shared { recorders, also, fault: None })));
        if all.watches() != Watches::NOTHING {
            device.ssd.observe(Box::new(all.clone()));
        }
        all
    }

    /// Ends the observation: the recorders.
    pub fn end(self, device: &mut Device) -> Vec<Box<dyn Recorder>> {
        let mut shared = std::mem::take(&mut *self.shared());
        shared.recorders.iter_mut().for_each(|(_, recorder)| recorder.simulated(device));
        device.ssd.take_observer();
        shared.recorders.into_iter().map(|(_, recorder)| recorder).collect()
    }

    /// Nothing else uses them meanwhile; after a panic of the engine they are whatever they are.
    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drain for Recorders {
    fn drain(&mut self) -> Result<()> {
        self.shared().recorders.iter_mut().try_for_each(|(_, recorder)| recorder.drain())
    }

    fn take_fault(&mut self) -> Option<Error> {
        self.shared().fault.take()
    }
}

impl Observer for Recorders {
    fn watches(&self) -> Watches {
        let shared = self.shared();
        let also = shared.also.as_ref().map_or(Watches::NOTHING, |also| also.watches());
        shared.recorders.iter().fold(also, |all, (watches, _)| all | *watches)
    }

    fn arrived(&mut self, number: u64, request: &Request) {
        let mut shared = self.shared();
        if let Some(also) = &mut shared.also {
            also.arrived(number, request);
        }
        shared.each(|watches| watches.arrivals, |recorder| recorder.arrived(number, request));
    }

    fn completed(&mut self, request: &Completed) {
        let mut shared = self.shared();
        if let Some(also) = &mut shared.also {
            also.completed(request);
        }
        shared.each(|watches| watches.completions, |recorder| recorder.completed(request));
    }

    fn leg(&mut self, leg: &LegRecord) {
        let mut shared = self.shared();
        if let Some(also) = &mut shared.also {
            also.leg(leg);
        }
        shared.each(|watches| watches.legs, |recorder| recorder.leg(leg));
    }

    fn sample_at(&self) -> Nanos {
        let shared = self.shared();
        let times = shared.recorders.iter().map(|(_, recorder)| recorder.sample_at());
        if shared.fault.is_none() { times.min().unwrap_or(Nanos::NEVER) } else { Nanos::NEVER }
    }

    fn samples_dies(&self) -> bool {
        self.shared().recorders.iter().any(|(_, recorder)| recorder.samples_dies())
    }

    fn clock_moves(&mut self, to: Nanos) {
        self.shared().each(|watches| watches.samples, |recorder| recorder.clock_moves(to));
    }

    fn sample(&mut self, sample: &Sample) {
        self.shared().each(|watches| watches.samples, |recorder| recorder.sample(sample));
    }
}
