//! Where requests come from: a recorded trace or a generated workload, fitted to the device.

mod ahead;
mod feed;
mod fit;
mod generator;
mod reading;
mod recordings;
mod requests;
mod rows;
mod source;
mod workloads;

use std::ops::Range;

use ssdlab_sim::Think;
use ssdlab_sim::config::{Fdp, Nvme};
use ssdlab_sim::units::Nanos;
use ssdlab_trace::workload::{Phase, Spec};
use ssdlab_trace::{Digest, LbaPolicy, Options, Reader, Trace};

use crate::error::{Error, Result};
use crate::files::Files;
use crate::names::{clip, clip_line};
use crate::text::count;
use ahead::read_ahead;
use feed::Origins;
pub use feed::{Feed, Next, trace_op};
use fit::{Fitted, recorded, workload};
pub use reading::Reading;
use recordings::find_recording;
pub use recordings::{has_recording, read_recordings};
pub use requests::{Closed, Origin, Provenance, Region, Requests, Target, Tenant, When};
pub use rows::{Room, trace_rows, workload_rows};
use source::{Merged, Part, RecordSource};
pub use workloads::{find_workload, parse_workload, read_workload, refuse};

/// Requests that are found but not fitted to a device yet. All checks that need no device have passed.
pub struct Opened {
    /// The requests, to open them again.
    pub(crate) requests: Requests,
    what: What,
    /// Remarks on the choices made.
    remarks: Vec<String>,
}

#[expect(clippy::large_enum_variant, reason = "there is one value a run")]
enum What {
    /// A file, and the workload whose place it takes.
    Trace(Trace, Options, Option<String>),
    Workload(String, Spec),
    /// Each with what it opened.
    Tenants(Vec<(Tenant, Opened)>),
}

/// Opens a trace, or looks a workload up.
///
/// # Errors
/// The trace or workload does not exist or can't be read, or options for recordings are given with a generated workload.
pub fn open(requests: &Requests) -> Result<Opened> {
    let mut remarks = Vec::new();
    let what = match &requests.from {
        Origin::Trace(trace) => recording(trace.clone(), requests, None)?,
        Origin::Tenants(tenants) => {
            requests::check(tenants)?;
            let open = |tenant: &Tenant| {
                let opened = open(&tenant.inherits(requests)).map_err(|error| of_tenant(&tenant.name, error))?;
                Ok((tenant.clone(), opened))
            };
            What::Tenants(tenants.iter().map(open).collect::<Result<_>>()?)
        }
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

/// An error in the requests of a tenant.
fn of_tenant(name: &str, error: Error) -> Error {
    error.note(format!("in tenant {}", clip(name)))
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
    source: RecordSource,
    limit: Option<u64>,
    loops: u32,
    /// Whether the requests end with the device's writing.
    pub until_end: bool,
    /// How it is a closed loop of the whole device, if it is one.
    closed: Option<Closed>,
    /// Whether the trace is read on a thread of its own while it is fed, if it is a file or a table. A pipe or a stream is read in the
    /// calling thread: a read that waits can't be stopped, and a stream may belong to that thread. Generated requests stay there
    /// too: making one takes half of the time of reading one at most.
    pub ahead: bool,
    /// Most writes, if limited: the requests end with the one that makes this number complete.
    pub writes: Option<u64>,
    nvme: Nvme,
    fdp: Fdp,
    /// Only requests of this tenant, if given.
    pub only: Option<u8>,
    /// A description of the requests, in a line or two.
    pub about: Vec<String>,
    /// Their provenance.
    pub provenance: Provenance,
    remarks: Vec<String>,
}

impl Opened {
    /// How many requests there will be, if that is known before any is read; a few less if rows of a table are skipped.
    pub fn expected(&self) -> Option<u64> {
        let once = match &self.what {
            What::Trace(Trace::Table(table), ..) => table.rows(),
            What::Trace(..) => return None,
            What::Tenants(all) => return all.iter().map(|(_, opened)| opened.expected()).sum(),
            What::Workload(_, spec) => {
                let phase = |phase: &Phase| phase.requests.filter(|_| phase.duration.is_none());
                spec.phases.iter().map(phase).sum::<Option<u64>>()?
            }
        };
        let all = once.saturating_mul(u64::from(self.requests.passes()));
        if self.requests.until_end && self.requests.limit.is_none() {
            return None;
        }
        Some(self.requests.limit.map_or(all, |limit| all.min(limit)))
    }

    /// Registers the file that is read, if any.
    pub fn read_by(&self, files: &mut Files) {
        match (&self.what, &self.requests.from) {
            (What::Trace(Trace::File(path), _, None), _) => files.reads("--trace", path),
            (What::Trace(Trace::File(path), _, Some(_)), _) => files.reads("--traces", path),
            (What::Trace(..), _) => {}
            (What::Workload(..), Origin::Workload { name, .. }) => read_workload(name, files),
            (What::Workload(..), Origin::Trace(_) | Origin::Spec(_) | Origin::Tenants(_)) => {}
            (What::Tenants(all), _) => all.iter().for_each(|(_, opened)| opened.read_by(files)),
        }
    }

    /// The names of its tenants, if it has any.
    pub fn tenants(&self) -> Option<Vec<String>> {
        match &self.what {
            What::Tenants(all) => Some(all.iter().map(|(tenant, _)| tenant.name.clone()).collect()),
            What::Trace(..) | What::Workload(..) => None,
        }
    }

    /// Fits the requests to a device.
    ///
    /// # Errors
    /// The trace can't be read, or the workload does not fit on the device or to its queue depth.
    pub fn fit(self, target: &Target) -> Result<Input> {
        let (limit, loops, until_end) = (self.requests.limit, self.requests.passes(), self.requests.until_end);
        let fitted = match self.what {
            What::Tenants(_) if until_end => {
                return Err(Error::usage("--until end-of-life: requests of several tenants end, each at its own time")
                    .help("give one trace or workload"));
            }
            What::Tenants(all) => return fit_tenants(all, target),
            What::Trace(..) | What::Workload(..) => self.fit_one(target, None)?,
        };
        if let (Some(Closed { depth, .. }), Some(name)) = (fitted.closed, &fitted.workload)
            && depth != target.queue_depth
        {
            let queue_depth = target.queue_depth;
            return Err(Error::usage(format!(
                "the workload {name} keeps {depth} requests outstanding, but device.queue_depth is {queue_depth}"
            ))
            .help(format!("use --set device.queue_depth={depth}")));
        }
        let Fitted { source, closed, about, provenance, remarks, .. } = fitted;
        Ok(Input { limit, loops, until_end, closed, ..Input::new(source, target, about, provenance, remarks) })
    }

    /// Fits a single source; `loops` makes it a loop.
    fn fit_one(self, target: &Target, loops: Option<Closed>) -> Result<Fitted> {
        let requests = self.requests;
        let (source, own, mut about, provenance, workload) = match self.what {
            What::Tenants(_) => unreachable!("tenants are single sources"),
            What::Trace(trace, options, instead_of) => {
                let (source, about) = recorded(&requests, &trace, options, instead_of, target)?;
                let closed = (requests.replay == Some(When::Closed)).then_some(Closed::of(target.queue_depth));
                (source, closed, about, Provenance::Recording, None)
            }
            What::Workload(name, spec) => {
                let (source, closed, about) = workload(&requests, &name, &spec, target)?;
                let provenance = if spec.model { Provenance::Model } else { Provenance::Generated };
                (source, closed, about, provenance, Some(name))
            }
        };
        let think = own.and_then(|own| own.think);
        if own.is_some() && loops.is_some_and(|given| given.bound) {
            return Err(Error::usage("outstanding bounds requests that have times, and a closed loop has none")
                .help("give depth in place of outstanding"));
        }
        let closed = loops.map(|given| Closed { think, ..given }).or(own);
        let mut how = Vec::new();
        let recorded = matches!(source, RecordSource::Trace(_));
        if let Some(device) = requests.reading.device.as_ref().filter(|_| recorded) {
            how.push(format!("device {}", clip(device)));
        }
        how.extend(closed.map(Closed::text));
        if requests.loops > 1 {
            how.push(format!("{} times in a row", count(requests.loops)));
        }
        if requests.until_end {
            how.push("until the device accepts no more writes".into());
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
        Ok(Fitted { source, closed, workload, about, provenance, remarks: self.remarks })
    }
}

/// Fits each tenant to its part of the device.
fn fit_tenants(all: Vec<(Tenant, Opened)>, target: &Target) -> Result<Input> {
    /// Spreads seeds, so that no two tenants of runs with neighbouring seeds draw the same numbers.
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
    let tenants = all.len();
    let (mut parts, mut about, mut remarks) = (Vec::new(), Vec::new(), Vec::new());
    let mut provenance = Provenance::Recording;
    for (i, (tenant, opened)) in all.into_iter().enumerate() {
        let range = tenant.range(i, tenants, (target.capacity_bytes, target.page_bytes))?;
        let own = Target {
            capacity_bytes: range.end - range.start,
            queue_depth: tenant.depth.unwrap_or(target.queue_depth),
            seed: target.seed.wrapping_add(SPREAD.wrapping_mul(i as u64)),
            ..target.clone()
        };
        let fitted = opened.fit_one(&own, tenant.closed()).map_err(|error| {
            of_tenant(&tenant.name, error).help("lba=FROM..TO or lba=shared gives a tenant another part of the device")
        })?;
        about.push(format!("{}: {}", tenant.name, fitted.about[0]));
        let mut place = format!("bytes {} to {}", count(range.start), count(range.end));
        fitted.about[1..].iter().for_each(|more| place.push_str(&format!("; {more}")));
        about.push(place);
        provenance = provenance.max(fitted.provenance);
        remarks.extend(fitted.remarks.iter().map(|remark| format!("{}: {remark}", tenant.name)));
        parts.push(Part::new(tenant.name, fitted.source, range, fitted.closed, target.flushes));
    }
    let source = RecordSource::Tenants(Box::new(Merged::new(parts, target.flushes)));
    Ok(Input::new(source, target, about, provenance, remarks))
}

impl Input {
    /// All requests of a source, once.
    fn new(
        source: RecordSource,
        target: &Target,
        about: Vec<String>,
        provenance: Provenance,
        remarks: Vec<String>,
    ) -> Input {
        let (nvme, fdp) = (target.nvme.clone(), target.fdp.clone());
        let (limit, closed, writes, only) = (None, None, None, None);
        let (loops, until_end, ahead) = (1, false, false);
        Input { source, limit, loops, until_end, closed, ahead, writes, nvme, fdp, only, about, provenance, remarks }
    }

    /// Names of the tenants that have names of their own, with the parts of the device that they use and their closed loops.
    pub fn tenants(&self) -> Vec<(String, Range<u64>, Option<Closed>)> {
        match &self.source {
            RecordSource::Tenants(merged) => {
                let each = merged.parts.iter().zip(merged.loops());
                each.map(|(part, closed)| (part.name.clone(), part.range.clone(), closed)).collect()
            }
            RecordSource::Trace(_) | RecordSource::Generated(_) => Vec::new(),
        }
    }

    /// Lets `take` pull the requests. Digest, remarks and counts are those of the requests taken if it takes all of them.
    pub fn feed<T>(&mut self, take: impl FnOnce(&mut Feed<'_>) -> T) -> T {
        let Input { source, limit, loops, ahead, writes, nvme, fdp, only, .. } = self;
        let (nvme, fdp) = (&*nvme, &*fdp);
        let (limit, writes, only, tenant) = (*limit, *writes, *only, 0);
        match source {
            RecordSource::Generated(generated) => {
                let total = generated.progress().1;
                let from = Origins::Generated(generated);
                take(&mut Feed { from, nvme, fdp, tenant, only, limit, writes, size: None, total })
            }
            RecordSource::Tenants(merged) => {
                let total = merged.parts.iter().map(|part| part.source.total()).sum();
                let from = Origins::Tenants(merged);
                take(&mut Feed { from, nvme, fdp, tenant, only, limit, writes, size: None, total })
            }
            RecordSource::Trace(replay) => {
                let size = replay.reader().progress().1;
                // Queues and handles need names, which the reader has.
                let ahead = *ahead && size.is_some() && !nvme.arbitrates() && !fdp.exists();
                let size = size.filter(|_| *loops == 1);
                let rows = replay.reader().rows().filter(|_| *loops < u32::MAX);
                let rows = rows.map(|rows| rows.saturating_mul(u64::from(*loops)));
                let total = rows.into_iter().chain(limit).min();
                match ahead {
                    true => read_ahead(replay, |ahead| {
                        let from = ahead.map_or_else(Origins::Trace, Origins::Ahead);
                        take(&mut Feed { from, nvme, fdp, tenant, only, limit, writes, size, total })
                    }),
                    false => {
                        let from = Origins::Trace(replay);
                        take(&mut Feed { from, nvme, fdp, tenant, only, limit, writes, size, total })
                    }
                }
            }
        }
    }

    /// Commands that the reader skipped because there is nothing to simulate.
    pub fn skipped(&self) -> u64 {
        self.source.skipped()
    }

    /// Whether the device sets the arrival times.
    pub fn closed(&self) -> bool {
        self.closed.is_some()
    }

    /// Pauses of the closed loop of the whole device.
    pub fn think(&self) -> Option<Think> {
        self.closed?.think
    }

    /// A lower bound of the last arrival, if known before the run.
    pub fn span(&self) -> Option<Nanos> {
        if self.closed() { None } else { self.source.span().map(Nanos) }
    }

    /// Digest of the accepted requests.
    pub fn digest(&self) -> String {
        match &self.source {
            RecordSource::Trace(replay) => replay.digest(),
            RecordSource::Generated(generated) => generated.digest(),
            RecordSource::Tenants(merged) => merged.digest(),
        }
    }

    /// Digest of flushes and of writes with forced unit access, if they are requests.
    pub fn flush_digest(&self, flushes: bool) -> Option<String> {
        match &self.source {
            RecordSource::Trace(replay) => replay.flush_digest(),
            RecordSource::Generated(_) => flushes.then(|| Digest::new().hex()),
            RecordSource::Tenants(merged) => merged.flush_digest(),
        }
    }

    /// Choices that the options left open, such as the format; complete once the first requests were read.
    pub fn chosen(&self) -> Option<String> {
        self.source.chosen()
    }

    /// Remarks on the choice and on the trace, one per line.
    pub fn remarks(&self) -> Vec<String> {
        self.remarks.iter().cloned().chain(self.source.remarks()).collect()
    }
}
