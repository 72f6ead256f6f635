//! The one place that talks to the simulator.

use ssdlab_sim::config::{Config, ConfigError};
use ssdlab_sim::report::Summary;

use crate::args::CheckLevel;

/// The checks that span keys.
pub fn check(_config: &Config) -> Result<(), ConfigError> {
    Ok(())
}

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestOp {
    /// Read data.
    Read,
    /// Write data.
    Write,
    /// Discard data.
    Trim,
}

impl RequestOp {
    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            RequestOp::Read => "read",
            RequestOp::Write => "write",
            RequestOp::Trim => "trim",
        }
    }
}

/// A host request.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Arrival.
    pub arrival_ns: u64,
    /// Operation.
    pub op: RequestOp,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub bytes: u64,
}

/// A completed request.
#[derive(Clone, Debug)]
pub struct Completed {
    /// Its number in order of submission, from 0.
    pub request: u64,
    /// Arrival.
    pub arrival_ns: u64,
    /// Operation.
    pub op: RequestOp,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub bytes: u64,
    /// First service of the page that finished last.
    pub start_ns: u64,
    /// When its last page completed.
    pub completion_ns: u64,
    /// Where the time went.
    pub blame: [u64; ssdlab_sim::blame::Cause::COUNT],
}

/// A device.
pub struct Device {
    config: Config,
    count: u64,
}

impl Device {
    /// Builds and preconditions.
    pub fn new(config: &Config, _seed: u64, _check: CheckLevel) -> Result<Device, ConfigError> {
        Ok(Device { config: config.clone(), count: 0 })
    }
    /// Bytes exported.
    pub fn capacity_bytes(&self) -> u64 {
        16 << 30
    }
    /// Bytes of a page.
    pub fn page_bytes(&self) -> u64 {
        self.config.geometry.page_size.0
    }
    /// Closed loop.
    pub fn set_closed(&mut self) {}
    /// Keeps completed requests for `take_completed`.
    pub fn record(&mut self) {}
    /// Hands in a request; true if completions may have been added.
    pub fn submit(&mut self, _request: Request) {
        self.count += 1;
    }
    /// Counts a command that is not simulated.
    pub fn skip(&mut self) {}
    /// Takes the requests that completed since the last call.
    pub fn take_completed(&mut self) -> Vec<Completed> {
        Vec::new()
    }
    /// To the end.
    pub fn run(&mut self) {}
    /// Requests completed so far.
    pub fn completed(&self) -> u64 {
        self.count
    }
    /// Why the run can't go on.
    pub fn fault(&self) -> Option<&str> {
        None
    }
    /// Flash operations so far.
    pub fn flash_operations(&self) -> u64 {
        0
    }
    /// What happened.
    pub fn summary(&self, _seed: u64, _config_digest: String, _trace_digest: String) -> Summary {
        unimplemented!("the simulator")
    }
}
