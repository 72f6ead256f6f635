//! Where requests come from: a recorded trace or a generated workload, fitted to the device.

use std::path::{Path, PathBuf};

use ssdlab_sim::units::Nanos;
use ssdlab_trace::workload::{Generator, Spec, SpecError, all, named};
use ssdlab_trace::{
    CLOCK_MAX_NS, Digest, Extent, Fit, Kind, LbaPolicy, Note, Op, Options, Reader, Record, Replay, Scale, TraceError,
};

use crate::args::{InputArgs, When};
use crate::drive::{Device, Request, RequestOp};
use crate::fault::{Fault, Result, Status, clip, clip_line, nearest};
use crate::files::{Files, read_text};
use crate::text::count;

/// A workload by name or file: its TOML text and its name in messages.
pub fn find_workload(name: &str) -> Result<(String, Spec)> {
    if let Some(workload) = named(name) {
        return Ok((workload.name.into(), workload.spec.clone()));
    }
    let path = Path::new(name);
    if path.extension().is_none_or(|ending| ending != "toml") && !path.exists() {
        let meant = nearest(name, all().iter().map(|workload| workload.name))
            .map_or(String::new(), |n| format!("did you mean `{n}`? "));
        let help = format!("{meant}`ssdlab workloads` lists those that come with the program; a file ends in .toml");
        return Err(Fault::usage(format!("no workload is called `{}`", clip(name))).help(help));
    }
    let text = read_text("workload", path)?;
    let spec = Spec::parse(&text).map_err(|error| refuse(name, &error))?;
    let stem = path.file_stem().map_or_else(|| name.into(), |stem| stem.to_string_lossy().into_owned());
    Ok((if spec.name.is_empty() { stem } else { spec.name.clone() }, spec))
}

/// Tells which file a workload is read from, if from any.
pub fn read_workload(name: &str, files: &mut Files) {
    if named(name).is_none() {
        files.reads("the workload", Path::new(name));
    }
}

/// What a workload file gets wrong.
pub fn refuse(name: &str, error: &SpecError) -> Fault {
    let colon = if error.path.is_empty() { "" } else { ": " };
    Fault::usage(format!("workload {}: {}{colon}{}", clip(name), error.path, error.message)).help(error.help.as_str())
}

/// A trace's own message, already laid out.
pub fn trace_fault(error: &TraceError) -> Fault {
    let status = match error.kind() {
        Kind::Usage => Status::Usage,
        Kind::Data => Status::Trace,
        Kind::File => Status::File,
    };
    Fault::rendered(status, error.to_string())
}

/// Requests that are found but not fitted to a device yet: what can be refused without one has been.
pub struct Opened {
    args: InputArgs,
    what: What,
    /// What was chosen on the way.
    remarks: Vec<String>,
}

enum What {
    /// A file, and the workload whose place it takes.
    Trace(PathBuf, Options, Option<String>),
    Workload(String, Spec),
}

/// Opens what the command line names.
pub fn open(args: &InputArgs) -> Result<Opened> {
    let mut remarks = Vec::new();
    let what = match (&args.trace, &args.workload) {
        (Some(path), _) => recording(path, args, None)?,
        (None, Some(name)) => {
            let (name, spec) = find_workload(name)?;
            let policy = (args.lba_policy != LbaPolicy::default()).then_some("--lba-policy");
            let given = args.reading.given().or(policy);
            match (&args.traces, given) {
                (None, Some(option)) => {
                    return Err(Fault::usage(format!("{option} is about recorded traces, and {name} is generated"))
                        .help("leave it out, or name a recording with --trace FILE or --traces DIR"));
                }
                (None, None) => What::Workload(name, spec),
                (Some(directory), given) => match find_recording(directory, &spec.trace)? {
                    Some(path) => recording(&path, args, Some(name))?,
                    None => {
                        let place = clip_line(&directory.to_string_lossy());
                        let name = clip(&name);
                        remarks.push(match spec.trace.as_str() {
                            "" => format!("note: {name} models no recording that could be looked for in {place}"),
                            trace => {
                                format!(
                                    "note: no recording is called {} in {place}: {name}, a model of it, runs instead",
                                    clip(trace)
                                )
                            }
                        });
                        remarks.extend(given.map(|option| format!("note: {option} is about recordings and not used")));
                        What::Workload(name, spec)
                    }
                },
            }
        }
        (None, None) => return Err(Fault::usage("no requests").help("give --trace FILE or --workload NAME")),
    };
    Ok(Opened { args: args.clone(), what, remarks })
}

/// A recorded trace. It is opened a second time later; a wrong name or format is told before a large device is built.
fn recording(path: &Path, args: &InputArgs, instead_of: Option<String>) -> Result<What> {
    let options = args.reading.options()?;
    if path.as_os_str() != "-" && path.is_file() {
        Reader::open(path, &options).map_err(|error| trace_fault(&error))?;
    }
    Ok(What::Trace(path.into(), options, instead_of))
}

/// Endings that a recording's file may have after its name, in either case: one of the first, one of the second, or both.
const ENDINGS: [&[&str]; 2] =
    [&["csv", "trace", "txt", "spc", "ascii", "log", "blkparse", "parquet"], &["gz", "zst", "xz"]];

/// Whether a directory holds the recording that a workload models.
///
/// # Errors
/// The directory can't be read, or holds two of them.
pub fn has_recording(directory: &Path, workload: &str) -> Result<bool> {
    let (_, spec) = find_workload(workload)?;
    Ok(find_recording(directory, &spec.trace)?.is_some())
}

/// Tells which recordings of workloads a directory holds.
pub fn read_recordings(directory: &Path, files: &mut Files) {
    for workload in all() {
        if let Ok(Some(path)) = find_recording(directory, &workload.spec.trace) {
            files.reads("--traces", &path);
        }
    }
}

/// The file in a directory that is called as the recording, whatever its endings; two of them are one too many.
fn find_recording(directory: &Path, trace: &str) -> Result<Option<PathBuf>> {
    let cannot = |error: std::io::Error| Fault::file("read the directory of recordings", directory, &error);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(cannot)? {
        let path = entry.map_err(cannot)?.path();
        let mut stem = path.file_name().map_or(String::new(), |name| name.to_string_lossy().to_ascii_lowercase());
        for endings in ENDINGS.iter().rev() {
            if let Some((rest, ending)) = stem.rsplit_once('.')
                && endings.contains(&ending)
            {
                stem.truncate(rest.len());
            }
        }
        if !trace.is_empty() && stem == trace.to_ascii_lowercase() && path.is_file() {
            found.push(path);
        }
    }
    found.sort();
    match &found[..] {
        [first, second, ..] => {
            let message = format!("both {} and {} are recordings of {trace}", first.display(), second.display());
            Err(Fault::usage(message).help("keep one there, or name the one that is meant with --trace FILE"))
        }
        _ => Ok(found.pop()),
    }
}

/// A stream of requests for one device.
pub struct Input {
    source: Source,
    limit: Option<u64>,
    loops: u32,
    closed: bool,
    about: Vec<String>,
    remarks: Vec<String>,
}

enum Source {
    Trace(Box<Replay>),
    Generated(Box<Generated>),
}

/// A generated workload, repeated and scaled.
struct Generated {
    first: Generator,
    current: Generator,
    loops_left: u32,
    limit: u64,
    scale: Scale,
    /// Of the current pass; none beyond 64 bits.
    shift: Option<u64>,
    given: u64,
    last: u64,
    period: Option<u64>,
    digest: Digest,
}

impl Generated {
    fn next(&mut self) -> Result<Option<Record>> {
        if self.given >= self.limit {
            return Ok(None);
        }
        loop {
            if let Some(mut record) = self.current.next() {
                self.given += 1;
                self.last = record.time_ns;
                let time = self.shift.and_then(|ns| ns.checked_add(record.time_ns)).and_then(|ns| self.scale.apply(ns));
                let too_late = || {
                    Fault::usage("an arrival is later than the clock of the simulator can count")
                        .help("check --loop and --time-scale")
                };
                record.time_ns = time.filter(|ns| *ns <= CLOCK_MAX_NS).ok_or_else(too_late)?;
                self.digest.add(&record);
                return Ok(Some(record));
            }
            if self.loops_left <= 1 || self.given == 0 {
                return Ok(None);
            }
            // Pass k starts k times (span + mean gap) later, as with traces; the first arrival is at 0.
            let period = *self.period.get_or_insert(self.last + self.last / (self.given - 1).max(1));
            self.loops_left -= 1;
            self.shift = self.shift.and_then(|ns| ns.checked_add(period));
            self.current = self.first.clone();
        }
    }
}

impl Opened {
    /// Tells which file is read, if any is.
    pub fn read_by(&self, files: &mut Files) {
        match (&self.what, &self.args.workload) {
            (What::Trace(path, _, None), _) => files.reads("--trace", path),
            (What::Trace(path, _, Some(_)), _) => files.reads("--traces", path),
            (What::Workload(..), Some(name)) => read_workload(name, files),
            (What::Workload(..), None) => {}
        }
    }

    /// Fits the requests to a device.
    pub fn fit(self, device: &Device, queue_depth: u32, seed: u64) -> Result<Input> {
        let args = self.args;
        let (source, closed, mut about) = match self.what {
            What::Trace(path, options, instead_of) => {
                let fit = Fit {
                    capacity_bytes: device.capacity_bytes(),
                    page_bytes: device.page_bytes(),
                    lba_policy: args.lba_policy,
                    limit: args.limit,
                    loops: u64::from(args.loops),
                    time_scale: args.time_scale.unwrap_or_default(),
                };
                let replay = Replay::open(&path, &options, fit).map_err(|error| trace_fault(&error))?;
                let name = path.file_name().map_or("standard input".into(), |name| name.to_string_lossy().into_owned());
                let name = if name == "-" { "standard input".into() } else { name };
                let about = format!("recorded trace {} ({})", clip(&name), clip(&replay.reader().format().to_string()));
                let mut about = vec![about];
                about.extend(
                    instead_of.map(|name| format!("the recording itself, in place of the model {}", clip(&name))),
                );
                (Source::Trace(Box::new(replay)), args.replay == Some(When::Closed), about)
            }
            What::Workload(name, spec) => workload(&args, &name, &spec, device, queue_depth, seed)?,
        };
        let mut how = Vec::new();
        let recorded = matches!(source, Source::Trace(_));
        if let Some(device) = args.reading.device.as_ref().filter(|_| recorded) {
            how.push(format!("device {}", clip(device)));
        }
        if closed {
            how.push(format!("closed loop of {queue_depth}"));
        }
        if args.loops > 1 {
            how.push(format!("{} times in a row", count(args.loops)));
        }
        if let Some(limit) = args.limit {
            how.push(format!("at most {} requests", count(limit)));
        }
        if args.time_scale.is_some() {
            how.push("arrival times scaled".into());
        }
        if recorded && args.lba_policy != LbaPolicy::Error {
            how.push(format!(
                "addresses fitted to the device by --lba-policy {}",
                format!("{:?}", args.lba_policy).to_lowercase()
            ));
        }
        if !how.is_empty() {
            about.push(how.join(", "));
        }
        Ok(Input { source, limit: args.limit, loops: args.loops, closed, about, remarks: self.remarks })
    }
}

/// Builds a workload: its requests, whether it is a closed loop, and what to say of it.
fn workload(
    args: &InputArgs,
    name: &str,
    spec: &Spec,
    device: &Device,
    queue_depth: u32,
    seed: u64,
) -> Result<(Source, bool, Vec<String>)> {
    let generator =
        spec.build(device.capacity_bytes(), device.page_bytes(), seed, None).map_err(|error| refuse(name, &error))?;
    let closed = match (generator.closed(), args.replay) {
        (Some(_), Some(When::Arrival)) => {
            return Err(Fault::usage(format!(
                "--replay arrival: the workload {name} is a closed loop and has no arrival times"
            ))
            .help("leave --replay out, or give the workload arrivals"));
        }
        (Some(Some(depth)), _) if depth != queue_depth => {
            return Err(Fault::usage(format!(
                "the workload {name} keeps {depth} requests outstanding, but device.queue_depth is {queue_depth}"
            ))
            .help(format!("use --set device.queue_depth={depth}")));
        }
        (Some(_), _) => true,
        (None, when) => when == Some(When::Closed),
    };
    let (shown, description) = (clip(name), clip_line(&spec.description));
    let mut about = vec![if spec.model {
        format!("{shown}: {description} (generated to published figures, not the recording itself)")
    } else {
        format!("{shown} (generated): {description}")
    }];
    if !spec.source.is_empty() {
        about.push(format!("source: {}", clip_line(&spec.source)));
    }
    let generated = Generated {
        first: generator.clone(),
        current: generator,
        loops_left: args.loops,
        limit: args.limit.unwrap_or(u64::MAX),
        scale: args.time_scale.unwrap_or_default(),
        shift: Some(0),
        given: 0,
        last: 0,
        period: None,
        digest: Digest::new(),
    };
    Ok((Source::Generated(Box::new(generated)), closed, about))
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
    pub fn pull(&mut self) -> Result<Option<Next>> {
        let record = match &mut self.source {
            Source::Trace(replay) => replay.next().map_err(|error| trace_fault(&error))?,
            Source::Generated(generated) => generated.next()?,
        };
        let Some(record) = record else { return Ok(None) };
        let op = match record.op {
            Op::Read => RequestOp::Read,
            Op::Write => RequestOp::Write,
            Op::Trim => RequestOp::Trim,
            Op::Other => return Ok(Some(Next::Skip)),
        };
        Ok(Some(Next::Request(Request {
            arrival: Nanos(record.time_ns),
            op,
            offset: record.offset,
            bytes: record.bytes,
        })))
    }

    /// Where the bytes of the request pulled last lie; empty if together.
    pub fn extents(&self) -> &[Extent] {
        match &self.source {
            Source::Trace(replay) => replay.extents(),
            Source::Generated(_) => &[],
        }
    }

    /// Commands that the reader itself passed over because there is nothing to simulate.
    pub fn skipped(&self) -> u64 {
        match &self.source {
            Source::Trace(replay) => {
                let notes = replay.notes();
                [Note::OtherOp, Note::NoOp, Note::ChangesData].into_iter().map(|note| notes.count(note)).sum()
            }
            Source::Generated(_) => 0,
        }
    }

    /// Whether the device sets the arrival times.
    pub fn closed(&self) -> bool {
        self.closed
    }

    /// Time from the start to a late arrival, where that is known before the run; the last may be later.
    pub fn span(&self) -> Option<Nanos> {
        /// Enough to see a mistake, few enough to take no time.
        const MOST: u64 = 1 << 20;
        match &self.source {
            Source::Generated(generated) if !self.closed => {
                let first = generated.first.clone().take(generated.limit.min(MOST) as usize);
                first.last().and_then(|record| generated.scale.apply(record.time_ns)).map(Nanos)
            }
            _ => None,
        }
    }

    /// For the table.
    pub fn about(&self) -> Vec<String> {
        self.about.clone()
    }

    /// Share of the requests that were given out, if it can be told.
    pub fn share(&self) -> Option<f64> {
        let ratio = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
        match &self.source {
            Source::Trace(replay) => {
                let by_limit = self.limit.map(|limit| ratio(replay.accepted(), limit));
                let (position, size) = replay.reader().progress();
                let by_bytes = size.filter(|_| self.loops == 1).map(|size| ratio(position, size));
                by_limit.into_iter().chain(by_bytes).reduce(f64::max)
            }
            Source::Generated(generated) => {
                let total = generated.first.total().map(|total| total.saturating_mul(u64::from(self.loops)));
                let total = total.into_iter().chain(self.limit).min()?;
                Some(ratio(generated.given, total))
            }
        }
    }

    /// Digest of the accepted requests.
    pub fn digest(&self) -> String {
        match &self.source {
            Source::Trace(replay) => replay.digest(),
            Source::Generated(generated) => generated.digest.hex(),
        }
    }

    /// What was chosen where the command line left a choice, once the first requests were read.
    pub fn chosen(&self) -> Option<String> {
        match &self.source {
            Source::Trace(replay) => replay.reader().detection().map(|detection| format!("note: format {detection}")),
            Source::Generated(_) => None,
        }
    }

    /// Remarks on the choice and on the trace, one a line.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = self.remarks.clone();
        if let Source::Trace(replay) = &self.source {
            remarks.extend(replay.notes().lines().map(|line| format!("note: {line}")));
            let warnings = replay.warnings();
            remarks.extend(warnings.iter().map(|lint| format!("warning[{}]: {}", lint.name, lint.text)));
        }
        remarks
    }
}
