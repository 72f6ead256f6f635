//! Where requests come from: a recorded trace or a generated workload, fitted to the device.

use std::path::Path;

use ssdlab_trace::workload::{Generator, Spec, SpecError, all, named};
use ssdlab_trace::{Op, Record};

use crate::args::{InputArgs, Replay as When, TimeScale};
use crate::drive::{Device, Request, RequestOp};
use crate::fault::{Fault, Result, Status, clip, nearest};
use crate::text::count;

/// A workload by name or file: its TOML text and its name in messages.
pub fn find_workload(name: &str) -> Result<(String, Spec)> {
    if let Some(workload) = named(name) {
        return Ok((workload.name.into(), workload.spec.clone()));
    }
    let path = Path::new(name);
    if path.extension().is_none_or(|ending| ending != "toml") && !path.exists() {
        let known = || all().iter().map(|workload| workload.name);
        let list = known().collect::<Vec<_>>().join(", ");
        let help = match nearest(name, known()) {
            Some(meant) => format!("did you mean `{meant}`? The workloads are {list}; a file ends in .toml"),
            None => format!("the workloads are {list}; a file ends in .toml"),
        };
        return Err(Fault::usage(format!("no workload is called `{}`", clip(name))).help(help));
    }
    let text = std::fs::read_to_string(path).map_err(|error| Fault::file("read the workload", path, &error))?;
    let spec = Spec::parse(&text).map_err(|error| refuse(name, &error))?;
    let stem = path.file_stem().map_or_else(|| name.into(), |stem| stem.to_string_lossy().into_owned());
    Ok((if spec.name.is_empty() { stem } else { spec.name.clone() }, spec))
}

fn refuse(name: &str, error: &SpecError) -> Fault {
    let colon = if error.path.is_empty() { "" } else { ": " };
    Fault::usage(format!("workload {}: {}{colon}{}", clip(name), error.path, error.message)).help(error.help.as_str())
}

/// Requests that are ready but not fitted to a device: everything that can be refused without one has been.
pub struct Opened {
    args: InputArgs,
    workload: Option<(String, Spec)>,
}

/// Opens what the command line names.
pub fn open(args: &InputArgs) -> Result<Opened> {
    let workload = args.workload.as_deref().map(find_workload).transpose()?;
    Ok(Opened { args: args.clone(), workload })
}

/// A stream of requests for one device.
pub struct Input {
    generated: Generated,
    closed: bool,
    about: Vec<String>,
    digest: Digest,
}

/// A generated workload, repeated and scaled.
struct Generated {
    first: Generator,
    current: Generator,
    loops_left: u32,
    limit: u64,
    scale: TimeScale,
    shift: u64,
    given: u64,
    last: u64,
    period: Option<u64>,
}

impl Generated {
    fn next(&mut self) -> Option<Record> {
        if self.given >= self.limit {
            return None;
        }
        loop {
            if let Some(mut record) = self.current.next() {
                self.given += 1;
                self.last = record.time_ns;
                let time = u128::from(record.time_ns + self.shift) * u128::from(self.scale.num) / u128::from(self.scale.den);
                record.time_ns = u64::try_from(time).ok()?;
                return Some(record);
            }
            if self.loops_left <= 1 || self.given == 0 {
                return None;
            }
            // Pass k starts k times (span + mean gap) later, as with traces; the first arrival is at 0.
            let period = *self.period.get_or_insert(self.last + self.last / (self.given - 1).max(1));
            self.loops_left -= 1;
            self.shift += period;
            self.current = self.first.clone();
        }
    }
}

impl Opened {
    /// Fits the requests to a device.
    pub fn fit(self, device: &Device, queue_depth: u32, seed: u64) -> Result<Input> {
        let Some((name, spec)) = self.workload else {
            return Err(Fault::new(Status::Trace, "traces are not read yet"));
        };
        let generator = spec
            .build(device.capacity_bytes(), device.page_bytes(), seed, None)
            .map_err(|error| refuse(&name, &error))?;
        let closed = match (self.args.replay, generator.closed()) {
            (Some(When::Arrival), Some(_)) => {
                return Err(Fault::usage(format!("--replay arrival: the workload {name} is a closed loop and has no arrival times"))
                    .help("leave --replay out, or give the workload arrivals"));
            }
            (when, Some(depth)) => {
                if let Some(depth) = depth.filter(|depth| *depth != queue_depth) {
                    return Err(Fault::usage(format!(
                        "the workload {name} keeps {depth} requests outstanding, but device.queue_depth is {queue_depth}"
                    ))
                    .help(format!("--set device.queue_depth={depth}")));
                }
                let _ = when;
                true
            }
            (when, None) => when == Some(When::Closed),
        };
        let mut about = vec![if spec.model {
            format!("model of {name}: generated to the figures of a published table, not the recording itself")
        } else {
            format!("{name}, generated: {}", spec.description)
        }];
        if !spec.source.is_empty() {
            about.push(format!("source {}", spec.source));
        }
        let mut how = Vec::new();
        if closed {
            how.push(format!("closed loop of {queue_depth}"));
        }
        if self.args.loops > 1 {
            how.push(format!("{} times in a row", count(self.args.loops)));
        }
        if let Some(limit) = self.args.limit {
            how.push(format!("at most {} requests", count(limit)));
        }
        let scale = self.args.time_scale.unwrap_or(TimeScale { num: 1, den: 1 });
        if scale.num != scale.den {
            how.push(format!("arrival times x {}", scale.num as f64 / scale.den as f64));
        }
        if !how.is_empty() {
            about.push(how.join(", "));
        }
        let generated = Generated {
            first: generator.clone(),
            current: generator,
            loops_left: self.args.loops,
            limit: self.args.limit.unwrap_or(u64::MAX),
            scale,
            shift: 0,
            given: 0,
            last: 0,
            period: None,
        };
        Ok(Input { generated, closed, about, digest: Digest::new() })
    }
}

/// What comes next.
pub enum Next {
    /// A request to simulate.
    Request(Request),
    /// A command that is counted only.
    Skip,
}

impl Input {
    /// The next one; none at the end.
    pub fn next(&mut self) -> Result<Option<Next>> {
        let Some(record) = self.generated.next() else { return Ok(None) };
        self.digest.add(&record);
        let op = match record.op {
            Op::Read => RequestOp::Read,
            Op::Write => RequestOp::Write,
            Op::Trim => RequestOp::Trim,
            Op::Other => return Ok(Some(Next::Skip)),
        };
        Ok(Some(Next::Request(Request { arrival_ns: record.time_ns, op, offset: record.offset, bytes: record.bytes })))
    }

    /// Whether the device sets the arrival times.
    pub fn closed(&self) -> bool {
        self.closed
    }

    /// For the table.
    pub fn about(&self) -> Vec<String> {
        self.about.clone()
    }

    /// Share of the requests that were given out, if it can be told.
    pub fn share(&self) -> Option<f64> {
        let g = &self.generated;
        let total = g.first.total().map(|total| total.saturating_mul(u64::from(g.loops_left.max(1))));
        let total = total.unwrap_or(u64::MAX).min(g.limit);
        (total < u64::MAX).then(|| g.given as f64 / total as f64)
    }

    /// Digest of the accepted requests.
    pub fn digest(&self) -> String {
        self.digest.hex()
    }

    /// Remarks on the trace, one a line.
    pub fn remarks(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Digest of normalised accepted records, in the form in which traces are digested.
struct Digest(blake3::Hasher);

impl Digest {
    fn new() -> Digest {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"ssdlab.trace/1\n");
        Digest(hasher)
    }

    fn add(&mut self, record: &Record) {
        let mut bytes = [0; 25];
        bytes[..8].copy_from_slice(&record.time_ns.to_le_bytes());
        bytes[8..16].copy_from_slice(&record.offset.to_le_bytes());
        bytes[16..24].copy_from_slice(&record.bytes.to_le_bytes());
        bytes[24] = match record.op {
            Op::Read => 0,
            Op::Write => 1,
            Op::Trim => 2,
            Op::Other => 3,
        };
        self.0.update(&bytes);
    }

    fn hex(&self) -> String {
        self.0.finalize().to_hex().to_string()
    }
}
