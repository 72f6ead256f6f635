//! The one place that talks to the simulator.

use std::cell::RefCell;
use std::rc::Rc;

use ssdlab_sim::config::{Config, ConfigError};
use ssdlab_sim::report::Summary;
use ssdlab_sim::{Check, Observer, Ssd};
pub use ssdlab_sim::{Completed, Request, RequestOp};

use crate::args::CheckLevel;

/// A device under test, fed through its bounded ring.
pub struct Device {
    ssd: Ssd,
    timeless: bool,
    completed: Rc<RefCell<Vec<Completed>>>,
}

/// Keeps completions until they are taken.
struct Recorder(Rc<RefCell<Vec<Completed>>>);

impl Observer for Recorder {
    fn completed(&mut self, request: &Completed) {
        self.0.borrow_mut().push(request.clone());
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
        Ok(Device { ssd: Ssd::new(config, seed, check)?, timeless: false, completed: Rc::default() })
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

    /// Keeps completed requests for [`Device::take_completed`].
    pub fn record(&mut self) {
        self.ssd.observe(Box::new(Recorder(self.completed.clone())));
    }

    /// Requests that completed since the last call, in the order of completion.
    pub fn take_completed(&mut self) -> Vec<Completed> {
        self.completed.take()
    }

    /// Hands in a request; simulates first if the ring has no room.
    #[inline]
    pub fn submit(&mut self, request: Request) {
        if self.timeless {
            return self.ssd.apply_now(request);
        }
        while !self.ssd.accepts() && self.ssd.fault().is_none() {
            self.ssd.run_until_room();
        }
        if self.ssd.fault().is_none() {
            self.ssd.submit(request);
        }
    }

    /// Counts a command that is not simulated.
    pub fn skip(&mut self) {
        self.ssd.skip();
    }

    /// Simulates to the end.
    pub fn run(&mut self) {
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
