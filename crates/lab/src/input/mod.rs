//! Where requests come from: a recorded trace or a generated workload, fitted to the device.

mod ahead;
mod generated;
mod reading;
mod recordings;
mod rows;
mod workloads;

use std::path::{Path, PathBuf};

use ssdlab_sim::config::Nvme;
use ssdlab_sim::units::Nanos;
use ssdlab_sim::{Marks, Request, RequestOp};
use ssdlab_trace::workload::{Phase, Spec};
use ssdlab_trace::{
    Digest, Extent, Fit, LbaPolicy, Note, OnBadLine, Op, Options, Reader, Record, Replay, Scale, Trace,
};

use crate::error::{Error, Kind, Result};
use crate::files::Files;
use crate::import::Imported;
use crate::import::flows::{self, Flow};
use crate::names::{clip, clip_line};
use crate::text::count;
use ahead::{Ahead, read_ahead};
use generated::Generated;
pub use reading::Reading;
use recordings::find_recording;
pub use recordings::{has_recording, read_recordings};
pub use rows::{Room, trace_rows, workload_rows};
pub use workloads::{find_workload, parse_workload, read_workload, refuse};

/// When requests arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// At the times of the trace or workload.
    Arrival,
    /// In a closed loop: a new one when one of `device.queue_depth` completes.
    Closed,
}

/// The source of the requests.
#[derive(Clone, Debug)]
pub enum Origin {
    /// A recorded trace.
    Trace(Trace),
    /// A workload that is generated.
    Workload {
        /// One that comes with the program, or a TOML file.
        name: String,
        /// A directory of recordings: the one that the workload models is replayed in its place, if it is there.
        recordings: Option<PathBuf>,
    },
    /// A workload as the text of its file.
    Spec(String),
}

/// Which requests a run serves.
#[derive(Clone, Debug)]
pub struct Requests {
    /// Their source.
    pub from: Origin,
    /// How a recorded trace is read.
    pub reading: Reading,
    /// At most this many, over all loops.
    pub limit: Option<u64>,
    /// The trace or workload this many times, one after the other.
    pub loops: u32,
    /// Arrival times are multiplied by this.
    pub time_scale: Option<Scale>,
    /// When they arrive; by default at their times, or in a closed loop if the workload says so.
    pub replay: Option<When>,
    /// How to treat requests of a trace beyond the end of the device.
    pub lba_policy: LbaPolicy,
}

impl Requests {
    /// All requests of a trace or workload, once, as they are.
    pub fn new(from: Origin) -> Requests {
        let (reading, lba_policy) = (Reading::default(), LbaPolicy::default());
        Requests { from, reading, limit: None, loops: 1, time_scale: None, replay: None, lba_policy }
    }
}

impl Requests {
    /// The requests that files of other simulators describe: one flow, or several generated ones as one workload; none if they
    /// describe a device only. `follow` is a directory in which a trace is looked for by the last part of its path.
    ///
    /// # Errors
    /// A trace is named and `follow` is missing, or the flows do not make one workload.
    pub fn imported(imported: &Imported, follow: Option<&Path>) -> Result<Option<Requests>> {
        match imported.flows() {
            [] => Ok(None),
            [Flow { source: flows::Source::Recording(recording), .. }] => {
                let mut requests = Requests::new(Origin::Trace(recording.within(follow)?.into()));
                requests.reading.format = recording.format.into();
                (requests.loops, requests.lba_policy) = (recording.loops, recording.lba_policy);
                Ok(Some(requests))
            }
            several => Ok(Some(Requests::new(Origin::Spec(flows::merged(several)?)))),
        }
    }

    /// The arguments of the command line that ask for them. Requests in memory have no name there; they stand as `TABLE`.
    pub fn arguments(&self) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        let mut give = |name: &str, value: String| all.extend([name.to_string(), value]);
        match &self.from {
            Origin::Trace(Trace::Table(_)) => give("--trace", "TABLE.parquet".into()),
            Origin::Trace(trace) => give("--trace", trace.name()),
            Origin::Workload { name, recordings } => {
                give("--workload", name.clone());
                recordings.iter().for_each(|directory| give("--traces", directory.display().to_string()));
            }
            Origin::Spec(_) => give("--workload", "WORKLOAD.toml".into()),
        }
        let (reading, usual) = (&self.reading, Reading::default());
        let lower = |value: &dyn std::fmt::Debug| format!("{value:?}").to_lowercase();
        if reading.format != usual.format {
            give("--format", reading.format.clone());
        }
        reading.device.iter().for_each(|device| give("--device", device.clone()));
        if let OnBadLine::Skip(most) = reading.on_bad_line {
            give("--on-bad-line", format!("skip={most}"));
        }
        if reading.time_order != usual.time_order {
            give("--time-order", lower(&reading.time_order));
        }
        if reading.op_codes != usual.op_codes {
            give("--op-codes", "read-is-zero".into());
        }
        if reading.within_second != usual.within_second {
            give("--within-second", lower(&reading.within_second));
        }
        if reading.max_request != usual.max_request {
            give("--max-request", format!("{}B", reading.max_request));
        }
        self.limit.iter().for_each(|limit| give("--limit", limit.to_string()));
        if self.loops > 1 {
            give("--loop", self.loops.to_string());
        }
        self.time_scale.iter().for_each(|scale| give("--time-scale", scale.to_string()));
        self.replay.iter().for_each(|when| give("--replay", lower(when)));
        if self.lba_policy != LbaPolicy::default() {
            give("--lba-policy", lower(&self.lba_policy));
        }
        all
    }
}

/// Where requests come from: results of a model are not results of the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provenance {
    /// Recorded on a real machine.
    Recording,
    /// Generated to the published figures of a recording.
    Model,
    /// Generated, not modelled on any recording.
    Generated,
}

/// The device that requests are fitted to.
#[derive(Clone, Debug)]
pub struct Target {
    /// Bytes that the host may address.
    pub capacity_bytes: u64,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Most outstanding requests.
    pub queue_depth: u32,
    /// Seed of generated requests.
    pub seed: u64,
    /// Whether flushes are requests: the device has a write cache.
    pub flushes: bool,
    /// The queues that requests go to.
    pub nvme: Nvme,
}

/// Requests that are found but not fitted to a device yet. All checks that need no device have passed.
pub struct Opened {
    requests: Requests,
    what: What,
    /// Remarks on the choices made.
    remarks: Vec<String>,
}

enum What {
    /// A file, and the workload whose place it takes.
    Trace(Trace, Options, Option<String>),
    Workload(String, Spec),
}

/// Opens a trace, or looks a workload up.
///
/// # Errors
/// The trace or workload does not exist or can't be read, or options for recordings are given with a generated workload.
pub fn open(requests: &Requests) -> Result<Opened> {
    let mut remarks = Vec::new();
    let what = match &requests.from {
        Origin::Trace(trace) => recording(trace.clone(), requests, None)?,
        Origin::Spec(text) => {
            let (name, spec) = parse_workload("workload", text)?;
            generated(requests, &name)?;
            What::Workload(name, spec)
        }
        Origin::Workload { name, recordings } => {
            let (name, spec) = find_workload(name)?;
            let given = for_recordings(requests);
            match recordings {
                None => {
                    generated(requests, &name)?;
                    What::Workload(name, spec)
                }
                Some(directory) => match find_recording(directory, &spec.trace)? {
                    Some(path) => recording(path.into(), requests, Some(name))?,
                    None => {
                        let place = clip_line(&directory.to_string_lossy());
                        let name = clip(&name);
                        remarks.push(match spec.trace.as_str() {
                            "" => format!("note: {name} does not model a recording, so none is used from {place}"),
                            trace => {
                                format!(
                                    "note: no recording called {} in {place}: its model {name} runs instead",
                                    clip(trace)
                                )
                            }
                        });
                        remarks.extend(
                            given.map(|option| format!("note: {option} applies to recordings and is not used")),
                        );
                        What::Workload(name, spec)
                    }
                },
            }
        }
    };
    Ok(Opened { requests: requests.clone(), what, remarks })
}

/// An option for recordings that is given.
fn for_recordings(requests: &Requests) -> Option<&'static str> {
    let policy = (requests.lba_policy != LbaPolicy::default()).then_some("--lba-policy");
    requests.reading.given().or(policy)
}

/// Refuses options for recordings.
fn generated(requests: &Requests, name: &str) -> Result<()> {
    match for_recordings(requests) {
        None => Ok(()),
        Some(option) => Err(Error::usage(format!("{option} applies to recorded traces, but {name} is generated"))
            .help("leave it out, or name a recording with --trace FILE or --traces DIR")),
    }
}

/// A recorded trace. It is opened a second time later, so that a wrong name or format is reported before a large device is built.
fn recording(trace: Trace, requests: &Requests, instead_of: Option<String>) -> Result<What> {
    let options = requests.reading.options()?;
    let early = match &trace {
        Trace::File(path) => path.as_os_str() != "-" && path.is_file(),
        Trace::Table(_) => true,
        Trace::Stream(..) => false,
    };
    if early {
        Reader::of(&trace, &options)?;
    }
    Ok(What::Trace(trace, options, instead_of))
}

/// A stream of requests for one device.
pub struct Input {
    source: Source,
    limit: Option<u64>,
    loops: u32,
    closed: bool,
    ahead: bool,
    /// Most writes, if limited.
    writes: Option<u64>,
    nvme: Nvme,
    about: Vec<String>,
    provenance: Provenance,
    remarks: Vec<String>,
}

enum Source {
    Trace(Box<Replay>),
    Generated(Box<Generated>),
}

impl Opened {
    /// How many requests there will be, if that is known before any is read; a few less if rows of a table are skipped.
    pub fn expected(&self) -> Option<u64> {
        let once = match &self.what {
            What::Trace(Trace::Table(table), ..) => table.rows(),
            What::Trace(..) => return None,
            What::Workload(_, spec) => {
                let phase = |phase: &Phase| phase.requests.filter(|_| phase.duration.is_none());
                spec.phases.iter().map(phase).sum::<Option<u64>>()?
            }
        };
        let all = once.saturating_mul(u64::from(self.requests.loops));
        Some(self.requests.limit.map_or(all, |limit| all.min(limit)))
    }

    /// Registers the file that is read, if any.
    pub fn read_by(&self, files: &mut Files) {
        match (&self.what, &self.requests.from) {
            (What::Trace(Trace::File(path), _, None), _) => files.reads("--trace", path),
            (What::Trace(Trace::File(path), _, Some(_)), _) => files.reads("--traces", path),
            (What::Trace(..), _) => {}
            (What::Workload(..), Origin::Workload { name, .. }) => read_workload(name, files),
            (What::Workload(..), Origin::Trace(_) | Origin::Spec(_)) => {}
        }
    }

    /// Fits the requests to a device.
    ///
    /// # Errors
    /// The trace can't be read, or the workload does not fit on the device or to its queue depth.
    pub fn fit(self, target: &Target) -> Result<Input> {
        let requests = self.requests;
        let (source, closed, mut about, provenance) = match self.what {
            What::Trace(trace, options, instead_of) => {
                let fit = Fit {
                    capacity_bytes: target.capacity_bytes,
                    page_bytes: target.page_bytes,
                    lba_policy: requests.lba_policy,
                    limit: requests.limit,
                    loops: u64::from(requests.loops),
                    time_scale: requests.time_scale.unwrap_or_default(),
                };
                let options = Options { flushes: target.flushes, ..options };
                let replay = Replay::of(&trace, &options, fit)?;
                let about = match &trace {
                    Trace::Table(table) => format!("a table of {} rows", count(table.rows())),
                    Trace::File(_) | Trace::Stream(..) => {
                        let name = trace.name();
                        let file = Path::new(&name).file_name().map(|name| name.to_string_lossy().into_owned());
                        let name = file.filter(|name| name != "-").unwrap_or_else(|| "standard input".into());
                        format!("recorded trace {} ({})", clip(&name), clip(&replay.reader().format().to_string()))
                    }
                };
                let mut about = vec![about];
                about.extend(
                    instead_of.map(|name| format!("the recording itself, in place of the model {}", clip(&name))),
                );
                let closed = requests.replay == Some(When::Closed);
                (Source::Trace(Box::new(replay)), closed, about, Provenance::Recording)
            }
            What::Workload(name, spec) => {
                let (source, closed, about) = workload(&requests, &name, &spec, target)?;
                (source, closed, about, if spec.model { Provenance::Model } else { Provenance::Generated })
            }
        };
        let mut how = Vec::new();
        let recorded = matches!(source, Source::Trace(_));
        if let Some(device) = requests.reading.device.as_ref().filter(|_| recorded) {
            how.push(format!("device {}", clip(device)));
        }
        if closed {
            how.push(format!("closed loop of {}", target.queue_depth));
        }
        if requests.loops > 1 {
            how.push(format!("{} times in a row", count(requests.loops)));
        }
        if let Some(limit) = requests.limit {
            how.push(format!("at most {} requests", count(limit)));
        }
        if requests.time_scale.is_some() {
            how.push("arrival times scaled".into());
        }
        if recorded && requests.lba_policy != LbaPolicy::Error {
            how.push(format!(
                "addresses fitted to the device by --lba-policy {}",
                format!("{:?}", requests.lba_policy).to_lowercase()
            ));
        }
        if !how.is_empty() {
            about.push(how.join(", "));
        }
        let (limit, loops, remarks) = (requests.limit, requests.loops, self.remarks);
        let nvme = target.nvme.clone();
        Ok(Input { source, limit, loops, closed, ahead: false, writes: None, nvme, about, provenance, remarks })
    }
}

/// Builds a workload: its requests, whether it is a closed loop, and its description.
fn workload(requests: &Requests, name: &str, spec: &Spec, target: &Target) -> Result<(Source, bool, Vec<String>)> {
    let Target { capacity_bytes, page_bytes, queue_depth, seed, .. } = *target;
    let generator = spec.build(capacity_bytes, page_bytes, seed, None).map_err(|error| refuse(name, &error))?;
    let closed = match (generator.closed(), requests.replay) {
        (Some(_), Some(When::Arrival)) => {
            return Err(Error::usage(format!(
                "--replay arrival: the workload {name} is a closed loop and has no arrival times"
            ))
            .help("leave --replay out, or give the workload arrivals"));
        }
        (Some(Some(depth)), _) if depth != queue_depth => {
            return Err(Error::usage(format!(
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
    let generated = Generated::new(generator, requests.loops, requests.limit, requests.time_scale.unwrap_or_default());
    Ok((Source::Generated(Box::new(generated)), closed, about))
}

/// The next item of a stream.
pub(crate) enum Next {
    /// A request to simulate.
    Request(Request, Marks),
    /// A command that is only counted.
    Skip,
}

/// Requests on their way to a device.
pub(crate) struct Feed<'i> {
    from: Origins<'i>,
    nvme: &'i Nvme,
    limit: Option<u64>,
    /// Writes that are left, if limited.
    writes: Option<u64>,
    /// Bytes to read, if the position among them is the progress.
    size: Option<u64>,
    /// How many requests there will be at most, if known.
    pub(crate) total: Option<u64>,
}

enum Origins<'i> {
    Trace(&'i mut Replay),
    Ahead(Ahead<'i>),
    Generated(&'i mut Generated),
}

impl Feed<'_> {
    /// The next one; none at the end.
    ///
    /// # Errors
    /// The trace can't be read, or an arrival is beyond the simulator's clock.
    #[inline]
    pub(crate) fn pull(&mut self) -> Result<Option<Next>> {
        if self.writes == Some(0) {
            return Ok(None);
        }
        let record = match &mut self.from {
            Origins::Trace(replay) => replay.next()?,
            Origins::Ahead(ahead) => ahead.next()?,
            Origins::Generated(generated) => generated.next()?,
        };
        let Some(record) = record else { return Ok(None) };
        let op = match record.op {
            Op::Read => RequestOp::Read,
            Op::Write => {
                self.writes = self.writes.map(|left| left - 1);
                RequestOp::Write
            }
            Op::Trim => RequestOp::Trim,
            Op::Flush => RequestOp::Flush,
            Op::Other => return Ok(Some(Next::Skip)),
        };
        let queue = self.queue_of(&record, op)?;
        let request = Request { arrival: Nanos(record.time_ns), op, offset: record.offset, bytes: record.bytes };
        Ok(Some(Next::Request(request, Marks { fua: record.fua, queue, tenant: queue })))
    }

    /// The queue of a request; 0 without queues.
    fn queue_of(&self, record: &Record, op: RequestOp) -> Result<u8> {
        if !self.nvme.arbitrates() {
            return Ok(0);
        }
        let label = match &self.from {
            Origins::Trace(replay) => replay.reader().volumes().get(record.volume as usize),
            Origins::Ahead(_) | Origins::Generated(_) => None,
        };
        let device = label.map(|label| String::from_utf8_lossy(label));
        self.nvme.queue_of(None, device.as_deref(), op, record.offset).ok_or_else(|| {
            let place = match &self.from {
                Origins::Trace(replay) => format!("line {}: ", replay.reader().line()),
                Origins::Ahead(_) | Origins::Generated(_) => String::new(),
            };
            let device = device.map_or(String::new(), |device| format!(" of device {}", clip(&device)));
            let message = format!("{place}a request at byte {}{device} matches no queue of nvme.queues", record.offset);
            Error::new(Kind::Device, message).help("add a queue with match = \"rest\"")
        })
    }

    /// The extents of the last request; one or none if its bytes are contiguous.
    #[inline]
    pub(crate) fn extents(&self) -> &[Extent] {
        match &self.from {
            Origins::Trace(replay) => replay.extents(),
            Origins::Ahead(ahead) => ahead.extents(),
            Origins::Generated(_) => &[],
        }
    }

    /// Share of the requests returned so far, if known.
    pub(crate) fn share(&self) -> Option<f64> {
        let ratio = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
        let (accepted, position) = match &self.from {
            Origins::Trace(replay) => (replay.accepted(), replay.reader().progress().0),
            Origins::Ahead(ahead) => (ahead.accepted(), ahead.position()),
            Origins::Generated(generated) => {
                let (given, total) = generated.progress();
                return total.map(|total| ratio(given, total));
            }
        };
        let by_limit = self.limit.map(|limit| ratio(accepted, limit));
        let by_bytes = self.size.map(|size| ratio(position, size));
        by_limit.into_iter().chain(by_bytes).reduce(f64::max)
    }
}

impl Input {
    /// Reads the trace on a thread of its own while it is fed, if it is a file or a table. A pipe or a stream is read in the
    /// calling thread: a read that waits can't be stopped, and a stream may belong to that thread. Generated requests stay there
    /// too: making one takes half of the time of reading one at most.
    pub fn set_ahead(&mut self) {
        self.ahead = true;
    }

    /// Ends the requests with the one that makes this number of writes complete.
    pub(crate) fn set_writes(&mut self, most: u64) {
        self.writes = Some(most);
    }

    /// Lets `take` pull the requests. Digest, remarks and counts are those of the requests taken if it takes all of them.
    pub(crate) fn feed<T>(&mut self, take: impl FnOnce(&mut Feed<'_>) -> T) -> T {
        let Input { source, limit, loops, ahead, writes, nvme, .. } = self;
        let nvme = &*nvme;
        let (limit, writes) = (*limit, *writes);
        match source {
            Source::Generated(generated) => {
                let total = generated.progress().1;
                take(&mut Feed { from: Origins::Generated(generated), nvme, limit, writes, size: None, total })
            }
            Source::Trace(replay) => {
                let size = replay.reader().progress().1;
                // Queues need the names of devices, which the reader has.
                let ahead = *ahead && size.is_some() && !nvme.arbitrates();
                let size = size.filter(|_| *loops == 1);
                let rows = replay.reader().rows().map(|rows| rows.saturating_mul(u64::from(*loops)));
                let total = rows.into_iter().chain(limit).min();
                match ahead {
                    true => read_ahead(replay, |ahead| {
                        take(&mut Feed { from: Origins::Ahead(ahead), nvme, limit, writes, size, total })
                    }),
                    false => take(&mut Feed { from: Origins::Trace(replay), nvme, limit, writes, size, total }),
                }
            }
        }
    }

    /// Commands that the reader skipped because there is nothing to simulate.
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

    /// A lower bound of the last arrival, if known before the run.
    pub fn span(&self) -> Option<Nanos> {
        match &self.source {
            Source::Generated(generated) if !self.closed => generated.span().map(Nanos),
            _ => None,
        }
    }

    /// A description of the requests, in a line or two.
    pub fn about(&self) -> Vec<String> {
        self.about.clone()
    }

    /// Their provenance.
    pub fn provenance(&self) -> Provenance {
        self.provenance
    }

    /// Digest of the accepted requests.
    pub fn digest(&self) -> String {
        match &self.source {
            Source::Trace(replay) => replay.digest(),
            Source::Generated(generated) => generated.digest(),
        }
    }

    /// Digest of flushes and of writes with forced unit access, if they are requests.
    pub fn flush_digest(&self, flushes: bool) -> Option<String> {
        match &self.source {
            Source::Trace(replay) => replay.flush_digest(),
            Source::Generated(_) => flushes.then(|| Digest::new().hex()),
        }
    }

    /// Choices that the options left open, such as the format; complete once the first requests were read.
    pub fn chosen(&self) -> Option<String> {
        match &self.source {
            Source::Trace(replay) => replay.reader().detection().map(|detection| format!("note: format {detection}")),
            Source::Generated(_) => None,
        }
    }

    /// Remarks on the choice and on the trace, one per line.
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
