//! How a recorded trace is read: the options of the readers, not yet parsed.

use ssdlab_trace::{Format, OnBadLine, OpCodes, Options, TimeOrder, WithinSecond};

use crate::error::{Error, Result};

/// How a recorded trace is read.
#[derive(Clone, Debug)]
pub struct Reading {
    /// Name of a format, `auto`, or `columns:<map>`.
    pub format: String,
    /// Only this device (disk, volume, unit) of the trace.
    pub device: Option<String>,
    /// How to treat malformed lines.
    pub on_bad_line: OnBadLine,
    /// How to treat arrivals that go back in time.
    pub time_order: TimeOrder,
    /// Which operation code means a read in SSDsim and MQSim traces.
    pub op_codes: OpCodes,
    /// Arrivals of a trace whose clock counts whole seconds.
    pub within_second: WithinSecond,
    /// Largest read or write to accept, in bytes.
    pub max_request: u64,
}

impl Default for Reading {
    fn default() -> Self {
        let options = Options::default();
        Reading {
            format: "auto".into(),
            device: None,
            on_bad_line: options.on_bad_line,
            time_order: options.time_order,
            op_codes: options.op_codes,
            within_second: options.within_second,
            max_request: options.max_request_bytes,
        }
    }
}

impl Reading {
    /// The options of the command line that are not at their defaults, with their values.
    pub(super) fn arguments(&self) -> Vec<(&'static str, String)> {
        let usual = Reading::default();
        let on_bad_line = match self.on_bad_line {
            OnBadLine::Skip(most) => Some(format!("skip={most}")),
            OnBadLine::Error => None,
        };
        let all = [
            ("--format", (self.format != usual.format).then(|| self.format.clone())),
            ("--device", self.device.clone()),
            ("--on-bad-line", on_bad_line),
            ("--time-order", (self.time_order != usual.time_order).then(|| self.time_order.name().into())),
            ("--op-codes", (self.op_codes != usual.op_codes).then(|| self.op_codes.name().into())),
            ("--within-second", (self.within_second != usual.within_second).then(|| self.within_second.name().into())),
            ("--max-request", (self.max_request != usual.max_request).then(|| format!("{}B", self.max_request))),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }

    /// An option that is not at its default; an error for generated workloads.
    pub fn given(&self) -> Option<&'static str> {
        self.arguments().first().map(|(name, _)| *name)
    }

    /// Takes over what is at its default here and not there.
    pub(super) fn inherit(&mut self, other: &Reading) {
        fn take<T: PartialEq + Clone>(own: &mut T, other: &T, usual: &T) {
            if own == usual {
                own.clone_from(other);
            }
        }
        let usual = Reading::default();
        take(&mut self.format, &other.format, &usual.format);
        take(&mut self.device, &other.device, &usual.device);
        take(&mut self.on_bad_line, &other.on_bad_line, &usual.on_bad_line);
        take(&mut self.time_order, &other.time_order, &usual.time_order);
        take(&mut self.op_codes, &other.op_codes, &usual.op_codes);
        take(&mut self.within_second, &other.within_second, &usual.within_second);
        take(&mut self.max_request, &other.max_request, &usual.max_request);
    }

    /// The options in the form of the readers.
    ///
    /// # Errors
    /// The format is unknown.
    pub fn options(&self) -> Result<Options> {
        Ok(Options {
            format: Format::parse_or_auto(&self.format).map_err(|error| Error::usage(format!("--format: {error}")))?,
            device: self.device.clone(),
            on_bad_line: self.on_bad_line,
            time_order: self.time_order,
            max_request_bytes: self.max_request,
            op_codes: self.op_codes,
            within_second: self.within_second,
            flushes: false,
        })
    }
}
