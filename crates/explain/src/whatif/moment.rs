//! Around which time, and what the second device does without.

use std::fmt;
use std::str::FromStr;

use ssdlab_lab::names::clip;
use ssdlab_sim::units::Nanos;

use crate::at::Kind;

/// The time around which two devices are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The arrival of the slowest request of a kind.
    Slowest(Kind),
    /// The arrival of a request.
    Request(u64),
    /// A time.
    Time(Nanos),
}

impl FromStr for Moment {
    type Err = String;

    /// `slowest`, `slowest:read`, `slowest:write`, `request:N` or `time:T`.
    fn from_str(text: &str) -> Result<Moment, String> {
        let expected =
            || format!("`{}` is none: expected slowest, slowest:read, slowest:write, request:N or time:T", clip(text));
        match text.split_once(':') {
            None if text == "slowest" => Ok(Moment::Slowest(Kind::All)),
            Some(("slowest", "read")) => Ok(Moment::Slowest(Kind::Read)),
            Some(("slowest", "write")) => Ok(Moment::Slowest(Kind::Write)),
            Some(("request", number)) => number.parse().map(Moment::Request).map_err(|_| expected()),
            Some(("time", time)) => time.parse().map(Moment::Time),
            _ => Err(expected()),
        }
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Moment::Slowest(Kind::All) => f.write_str("slowest"),
            Moment::Slowest(kind) => write!(f, "slowest:{}", kind.name()),
            Moment::Request(number) => write!(f, "request:{number}"),
            Moment::Time(time) => write!(f, "time:{time}"),
        }
    }
}

/// What the second device does without, from the copy to the end of the window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Collections.
    Gc,
    /// Collections of a plane.
    Plane(u32),
    /// One collection, by its number.
    Job(u64),
    /// One request.
    Request(u64),
    /// The requests of a tenant, by its name.
    Tenant(String),
    /// Suspension by reads.
    Suspend,
    /// Write-backs.
    WriteBack,
}

impl FromStr for Choice {
    type Err = String;

    /// `gc`, `gc:plane=P`, `gc:job=N`, `request:N`, `tenant:NAME`, `suspend` or `writeback`.
    fn from_str(text: &str) -> Result<Choice, String> {
        let expected = || {
            let all = "gc, gc:plane=P, gc:job=N, request:N, tenant:NAME, suspend or writeback";
            format!("`{}` is none: expected {all}", clip(text))
        };
        let bad = |_| expected();
        match text {
            "gc" => return Ok(Choice::Gc),
            "suspend" => return Ok(Choice::Suspend),
            "writeback" => return Ok(Choice::WriteBack),
            _ => {}
        }
        if let Some(plane) = text.strip_prefix("gc:plane=") {
            return plane.parse().map(Choice::Plane).map_err(bad);
        }
        if let Some(number) = text.strip_prefix("gc:job=") {
            return number.parse().map(Choice::Job).map_err(bad);
        }
        if let Some(name) = text.strip_prefix("tenant:").filter(|name| !name.is_empty()) {
            return Ok(Choice::Tenant(name.into()));
        }
        match text.strip_prefix("request:") {
            Some(number) => number.parse().map(Choice::Request).map_err(bad),
            None => Err(expected()),
        }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Choice::Gc => f.write_str("gc"),
            Choice::Plane(plane) => write!(f, "gc:plane={plane}"),
            Choice::Job(number) => write!(f, "gc:job={number}"),
            Choice::Request(number) => write!(f, "request:{number}"),
            Choice::Tenant(name) => write!(f, "tenant:{name}"),
            Choice::Suspend => f.write_str("suspend"),
            Choice::WriteBack => f.write_str("writeback"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_choices_are_written_as_they_are_read() {
        for text in ["slowest", "slowest:read", "slowest:write", "request:7", "time:1500us"] {
            assert_eq!(text.parse::<Moment>().unwrap().to_string(), text);
        }
        for text in ["gc", "gc:plane=3", "gc:job=9", "request:0", "tenant:web", "suspend", "writeback"] {
            assert_eq!(text.parse::<Choice>().unwrap().to_string(), text);
        }
        for bad in ["", "slowest:all", "request:", "time:", "now"] {
            assert!(bad.parse::<Moment>().is_err(), "{bad}");
        }
        for bad in ["", "gc:", "gc:plane=", "gc:plane=x", "tenant:", "request:-1"] {
            assert!(bad.parse::<Choice>().is_err(), "{bad}");
        }
    }
}
