//! The one place that talks to the simulator.

use std::cell::RefCell;
use std::rc::Rc;

use ssdlab_sim::config::{Config, ConfigError};
use ssdlab_sim::device::flash::Flash;
use ssdlab_sim::device::geometry::Geometry;
use ssdlab_sim::report::Summary;
use ssdlab_sim::units::Nanos;
use ssdlab_sim::{Check, Extent, Filled, LegRecord, Observer, Sample, Ssd};
pub use ssdlab_sim::{Completed, Request, RequestOp};

use crate::args::CheckLevel;
use crate::fault::Fault;
use crate::series::Series;
use crate::timeline::Timeline;

/// A device under test, fed through its bounded ring.
pub struct Device {
    ssd: Ssd,
    /// Requests are carried out at once, in no time.
    timeless: bool,
    watchers: Rc<RefCell<Watchers>>,
}

/// Whoever wants to know what happens.
#[derive(Default)]
pub struct Watchers {
    keep: bool,
    completed: Vec<Completed>,
    /// A row a window.
    pub series: Option<Series>,
    /// What happened when.
    pub timeline: Option<Timeline>,
    /// The first that one of them could not do.
    fault: Option<Fault>,
}

impl Watchers {
    /// Keeps completed reads and writes if `keep`, and tells a series and a timeline.
    pub fn new(keep: bool, series: Option<Series>, timeline: Option<Timeline>) -> Watchers {
        Watchers { keep, series, timeline, ..Watchers::default() }
    }

    fn wanted(&self) -> bool {
        self.keep || self.series.is_some() || self.timeline.is_some()
    }

    fn note(&mut self, done: Option<crate::fault::Result<()>>) {
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

    fn sample(&mut self, sample: &Sample) {
        let mut watchers = self.0.borrow_mut();
        let done = watchers.series.as_mut().map(|series| series.sample(sample));
        watchers.note(done);
    }
}

impl Device {
    /// Builds the device and fills it as `precondition` says.
    pub fn new(config: &Config, seed: u64, check: CheckLevel) -> Result<Device, ConfigError> {
        let check = match check {
            CheckLevel::Off => Check::Off,
            CheckLevel::Sampled => Check::Sampled,
            CheckLevel::Full => Check::Full,
        };
        Ok(Device { ssd: Ssd::new(config, seed, check)?, timeless: false, watchers: Rc::default() })
    }

    /// The same device from one that was filled before for a configuration that fills alike.
    pub fn from_filled(config: &Config, filled: &Filled) -> Result<Device, ConfigError> {
        Ok(Device { ssd: Ssd::from_filled(config, filled)?, timeless: false, watchers: Rc::default() })
    }

    /// What filling has left, for other devices.
    pub fn filled(&self) -> Filled {
        self.ssd.filled()
    }

    /// Bytes that the host may address.
    pub fn capacity_bytes(&self) -> u64 {
        self.ssd.capacity_bytes()
    }

    /// Bytes of a page.
    pub fn page_bytes(&self) -> u64 {
        self.ssd.page_bytes()
    }

    /// From now on the device sets the arrival times: a request arrives when one completes.
    pub fn set_closed(&mut self) {
        self.ssd.set_closed(true);
    }

    /// From now on requests are carried out at once, in no time.
    pub fn set_timeless(&mut self) {
        self.timeless = true;
    }

    /// From now on the run is watched, if anybody wants to.
    pub fn watch(&mut self, watchers: Watchers) {
        let wanted = watchers.wanted();
        self.watchers = Rc::new(RefCell::new(watchers));
        if wanted {
            self.ssd.observe(Box::new(Watch(self.watchers.clone())));
        }
    }

    /// Takes the watchers back, with the state at the end of the run.
    pub fn unwatch(&mut self) -> (Watchers, Sample) {
        self.ssd.take_observer();
        (self.watchers.take(), self.ssd.sample())
    }

    /// Reads and writes that completed since the last call, in the order of completion.
    pub fn take_completed(&mut self) -> Vec<Completed> {
        std::mem::take(&mut self.watchers.borrow_mut().completed)
    }

    /// The first that a watcher could not do.
    pub fn take_fault(&mut self) -> Option<Fault> {
        self.watchers.borrow_mut().fault.take()
    }

    /// Pages and blocks, to look at.
    pub fn flash(&self) -> &Flash {
        self.ssd.flash()
    }

    /// Ids and places.
    pub fn geometry(&self) -> &Geometry {
        self.ssd.geometry()
    }

    /// Hands in a request whose bytes lie in these extents (none: together); simulates first if the ring has no room.
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

    /// Simulates to the end.
    pub fn run(&mut self) {
        if self.timeless {
            self.ssd.apply_rest();
        }
        self.ssd.run();
    }

    /// Why the run can't go on, if so.
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
