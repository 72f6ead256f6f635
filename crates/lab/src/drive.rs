//! A device under test: fed through its bounded ring, observed, and run to the end.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::rc::Rc;

use ssdlab_sim::config::{Config, ConfigError};
use ssdlab_sim::device::flash::Flash;
use ssdlab_sim::device::geometry::Geometry;
use ssdlab_sim::report::Summary;
use ssdlab_sim::units::Nanos;
use ssdlab_sim::{Check, Completed, Extent, Filled, LegRecord, Observer, Request, RequestOp, Sample, Ssd};

use crate::error::{Error, Kind, Result};
use crate::input::{Input, Next, Target};
use crate::results::dies::Dies;
use crate::results::histograms::Histograms;
use crate::results::requests::Rows;
use crate::results::series::Series;
use crate::results::timeline::Timeline;

/// A device under test, fed through its bounded ring.
pub struct Device {
    ssd: Ssd,
    /// Requests complete at once, in zero time.
    timeless: bool,
    watchers: Rc<RefCell<Watchers>>,
}

/// Results collected during the run.
#[derive(Default)]
pub struct Watchers {
    keep: bool,
    completed: Vec<Completed>,
    /// One row per window.
    pub series: Option<Series>,
    /// One row per window and die.
    pub dies: Option<Dies>,
    /// The timeline.
    pub timeline: Option<Timeline>,
    /// The first error of one of them.
    fault: Option<Error>,
}

impl Watchers {
    /// Records completed reads and writes if `keep`, and feeds a series, with its dies, and a timeline.
    pub fn new(keep: bool, series: Option<Series>, dies: Option<Dies>, timeline: Option<Timeline>) -> Watchers {
        Watchers { keep, series, dies, timeline, ..Watchers::default() }
    }

    fn wanted(&self) -> bool {
        self.keep || self.series.is_some() || self.timeline.is_some()
    }

    fn note(&mut self, done: Option<Result<()>>) {
        if let Some(Err(fault)) = done {
            self.fault.get_or_insert(fault);
        }
    }
}

struct Watch(Rc<RefCell<Watchers>>);

impl Observer for Watch {
    fn arrived(&mut self, number: u64, request: &Request) {
        let mut watchers = self.0.borrow_mut();
        let done = watchers.timeline.as_mut().map(|timeline| timeline.arrived(number, request));
        watchers.note(done);
    }

    fn completed(&mut self, request: &Completed) {
        let mut watchers = self.0.borrow_mut();
        if watchers.keep && request.op != RequestOp::Trim {
            watchers.completed.push(request.clone());
        }
        if let Some(series) = &mut watchers.series {
            series.completed(request);
        }
        let done = watchers.timeline.as_mut().map(|timeline| timeline.completed(request));
        watchers.note(done);
    }

    fn leg(&mut self, leg: &LegRecord) {
        let mut watchers = self.0.borrow_mut();
        if let Some(dies) = &mut watchers.dies {
            dies.leg(leg);
        }
        if watchers.fault.is_none() {
            let done = watchers.timeline.as_mut().map(|timeline| timeline.leg(leg));
            watchers.note(done);
        }
    }

    fn sample_at(&self) -> Nanos {
        let watchers = self.0.borrow();
        match &watchers.series {
            Some(series) if watchers.fault.is_none() => series.sample_at(),
            _ => Nanos::NEVER,
        }
    }

    fn samples_dies(&self) -> bool {
        self.0.borrow().dies.is_some()
    }

    fn sample(&mut self, sample: &Sample) {
        let mut watchers = self.0.borrow_mut();
        let done = watchers.series.as_mut().map(|series| series.sample(sample));
        watchers.note(done);
        let done = watchers.dies.as_mut().map(|dies| dies.sample(sample));
        watchers.note(done);
    }
}

impl Device {
    /// Builds the device and fills it as `precondition` says.
    ///
    /// # Errors
    /// The rule that the configuration breaks.
    pub fn new(config: &Config, seed: u64, check: Check) -> std::result::Result<Device, ConfigError> {
        Ok(Device { ssd: Ssd::new(config, seed, check)?, timeless: false, watchers: Rc::default() })
    }

    /// The same device, started from a filling made earlier for a configuration that fills alike.
    ///
    /// # Errors
    /// The rule that the configuration breaks.
    pub fn from_filled(config: &Config, filled: &Filled) -> std::result::Result<Device, ConfigError> {
        Ok(Device { ssd: Ssd::from_filled(config, filled)?, timeless: false, watchers: Rc::default() })
    }

    /// The state after filling, for other devices.
    pub fn filled(&self) -> Filled {
        self.ssd.filled()
    }

    /// Bytes that the host may address.
    pub fn capacity_bytes(&self) -> u64 {
        self.ssd.capacity_bytes()
    }

    /// The limits that requests are fitted to.
    pub fn target(&self, queue_depth: u32, seed: u64) -> Target {
        let (capacity_bytes, page_bytes) = (self.ssd.capacity_bytes(), self.ssd.page_bytes());
        Target { capacity_bytes, page_bytes, queue_depth, seed }
    }

    /// Switches to a closed loop: a request arrives when one completes.
    pub fn set_closed(&mut self) {
        self.ssd.set_closed(true);
    }

    /// Switches to zero time: requests complete at once.
    pub fn set_timeless(&mut self) {
        self.timeless = true;
    }

    /// Attaches observers, if results are to be collected.
    pub fn watch(&mut self, watchers: Watchers) {
        let wanted = watchers.wanted();
        let mut watchers = watchers;
        if let Some(dies) = &mut watchers.dies {
            dies.of(self.ssd.geometry());
        }
        self.watchers = Rc::new(RefCell::new(watchers));
        if wanted {
            self.ssd.observe(Box::new(Watch(self.watchers.clone())));
        }
    }

    /// Detaches the observers, with the state at the end of the run.
    pub fn unwatch(&mut self) -> (Watchers, Sample) {
        self.ssd.take_observer();
        (self.watchers.take(), self.ssd.sample())
    }

    /// Collects latencies by bucket with their causes, from now on.
    pub fn collect_histograms(&mut self) {
        self.ssd.collect_histograms();
    }

    /// Latencies and waits by bucket, if they were collected.
    pub fn histograms(&self) -> Option<Histograms> {
        self.ssd.histograms().map(Histograms::of)
    }

    /// Reads and writes that completed since the last call, in the order of completion.
    pub fn take_completed(&mut self) -> Vec<Completed> {
        std::mem::take(&mut self.watchers.borrow_mut().completed)
    }

    /// The first error of an observer.
    pub fn take_fault(&mut self) -> Option<Error> {
        self.watchers.borrow_mut().fault.take()
    }

    /// The state of pages and blocks.
    pub fn flash(&self) -> &Flash {
        self.ssd.flash()
    }

    /// Ids and places.
    pub fn geometry(&self) -> &Geometry {
        self.ssd.geometry()
    }

    /// Submits a request whose bytes lie in these extents (none: contiguous). If the ring is full, simulates first.
    #[inline]
    pub fn submit(&mut self, request: Request, extents: &[ssdlab_trace::Extent]) {
        let scattered = extents.len() > 1;
        let extents = extents.iter().map(|extent| Extent { offset: extent.offset, bytes: extent.bytes });
        if self.timeless {
            return match scattered {
                false => self.ssd.apply(request),
                true => self.ssd.apply_scattered(request, extents),
            };
        }
        while !self.ssd.accepts() && self.ssd.fault().is_none() {
            self.ssd.run_until_room();
        }
        match (self.ssd.fault(), scattered) {
            (Some(_), _) => {}
            (None, false) => self.ssd.submit(request),
            (None, true) => self.ssd.submit_scattered(request, extents),
        }
    }

    /// Counts a command that is not simulated.
    pub fn skip(&mut self) {
        self.ssd.skip();
    }

    /// Runs until all requests have completed.
    pub fn run(&mut self) {
        if self.timeless {
            self.ssd.apply_rest();
        }
        self.ssd.run();
    }

    /// Simulated time.
    pub fn now(&self) -> Nanos {
        self.ssd.now()
    }

    /// The reason why the run cannot continue, if there is one.
    pub fn fault(&self) -> Option<&str> {
        self.ssd.fault()
    }

    /// Reads, programs, erases and copybacks executed so far.
    pub fn flash_operations(&self) -> u64 {
        self.ssd.flash_operations()
    }

    /// What happened.
    pub fn summary(&self, seed: u64, config_digest: String, trace_digest: String) -> Summary {
        self.ssd.summary(seed, config_digest, trace_digest)
    }
}

/// The progress of a run.
#[derive(Clone, Copy, Debug)]
pub struct Tick {
    /// Requests submitted.
    pub requests: u64,
    /// Their share of all requests, if known.
    pub share: Option<f64>,
    /// Simulated time.
    pub now: Nanos,
}

/// Requests between two ticks.
pub const TICK: u64 = 1024;

/// Feeds every request to the device and runs it to the end. `tick` is called after each [`TICK`] requests and may stop the
/// run. Returns the number of requests.
///
/// # Errors
/// The trace can't be read, the device can't serve it, a result can't be written, or `tick` stopped the run.
pub fn replay(
    device: &mut Device,
    input: &mut Input,
    mut rows: Option<&mut Rows>,
    tick: &mut dyn FnMut(Tick) -> ControlFlow<()>,
) -> Result<u64> {
    let mut submitted = 0u64;
    let drain = |device: &mut Device, rows: &mut Option<&mut Rows>| match rows {
        Some(rows) => device.take_completed().into_iter().try_for_each(|row| rows.completed(row)),
        None => Ok(()),
    };
    while let Some(next) = input.pull().map_err(|error| error.unless(device.take_fault()))? {
        match next {
            Next::Skip => device.skip(),
            Next::Request(request) => {
                if let Some(rows) = &mut rows
                    && request.op != RequestOp::Trim
                {
                    rows.expect(submitted);
                }
                device.submit(request, input.extents());
                submitted += 1;
            }
        }
        if submitted.is_multiple_of(TICK) {
            stopped(device)?;
            drain(device, &mut rows)?;
            if tick(Tick { requests: submitted, share: input.share(), now: device.now() }).is_break() {
                return Err(Error::new(Kind::Stopped, "the run was stopped"));
            }
        }
    }
    (0..input.skipped()).for_each(|_| device.skip());
    device.run();
    stopped(device)?;
    drain(device, &mut rows)?;
    Ok(submitted)
}

/// The error that ended the run early, if any.
fn stopped(device: &mut Device) -> Result<()> {
    if let Some(error) = device.take_fault() {
        return Err(error);
    }
    match device.fault() {
        Some(reason) => Err(Error::new(Kind::Device, reason)),
        None => Ok(()),
    }
}
