//! Options of the readers.

use crate::format::Format;
use std::str::FromStr;

/// What to do with a line that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum OnBadLine {
    /// Stop at the first one.
    #[default]
    Error,
    /// Drop up to this many, counted.
    Skip(u64),
}

impl FromStr for OnBadLine {
    type Err = String;

    fn from_str(text: &str) -> Result<OnBadLine, String> {
        if text == "error" {
            return Ok(OnBadLine::Error);
        }
        text.strip_prefix("skip=")
            .and_then(|n| n.parse().ok())
            .map(OnBadLine::Skip)
            .ok_or_else(|| "expected error or skip=N, e.g. skip=10".to_owned())
    }
}

choices! {
    /// What to do when time goes back.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
    pub enum TimeOrder {
        /// Clamp steps of up to the reorder window to the latest time (counted), refuse larger ones.
        #[default]
        Error = "error",
        /// Keep the order of the file and its forward gaps: a step back counts as a gap of zero, and time continues from
        /// there. For traces whose clock was set during the recording.
        Keep = "keep",
        /// Clamp every step back to the latest time seen.
        Clamp = "clamp",
        /// Sort, within a window of [`crate::SORT_RECORDS`] requests.
        Sort = "sort",
    }
}

choices! {
    /// Which operation code means a read in SSDsim and MQSim traces.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
    pub enum OpCodes {
        /// 1 = read, 0 = write, as both programs have it.
        #[default]
        ReadIsOne = "read-is-one",
        /// 0 = read, 1 = write, as some converters write.
        ReadIsZero = "read-is-zero",
    }
}

choices! {
    /// Arrivals of a trace whose clock counts whole seconds.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
    pub enum WithinSecond {
        /// All at the start of their second, as recorded.
        #[default]
        Once = "once",
        /// In their order, spread evenly over their second.
        Even = "even",
    }
}

/// The largest read or write to accept, unless [`Options::max_request_bytes`] says otherwise.
pub const MAX_REQUEST_BYTES: u64 = 64 << 20;

/// How a trace is to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The format; `None` decides by content.
    pub format: Option<Format>,
    /// Only this volume, by its label in the trace (MSR: `host_disk`).
    pub device: Option<String>,
    /// Lines that cannot be read.
    pub on_bad_line: OnBadLine,
    /// Times that go back.
    pub time_order: TimeOrder,
    /// Largest read or write in bytes (`--max-request`); trims may be larger.
    pub max_request_bytes: u64,
    /// Operation codes of SSDsim and MQSim traces (`--op-codes`).
    pub op_codes: OpCodes,
    /// Arrivals of traces with a clock of whole seconds (`--within-second`).
    pub within_second: WithinSecond,
    /// Whether flushes are records, for devices with a write cache. Otherwise they are counted and skipped.
    pub flushes: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            format: None,
            device: None,
            on_bad_line: OnBadLine::default(),
            time_order: TimeOrder::default(),
            max_request_bytes: MAX_REQUEST_BYTES,
            op_codes: OpCodes::default(),
            within_second: WithinSecond::default(),
            flushes: false,
        }
    }
}
