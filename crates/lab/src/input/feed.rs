//! Requests on their way to a device: each with its queue and its tenant.

use ssdlab_sim::config::{Fdp, Names, Nvme};
use ssdlab_sim::units::Nanos;
use ssdlab_sim::{Marks, Request, RequestOp};
use ssdlab_trace::{Extent, Op, Record, Replay};

use crate::error::{Error, Kind, Result};
use crate::input::ahead::Ahead;
use crate::input::generator::Generated;
use crate::input::requests::Closed;
use crate::input::source::{Merged, RecordSource};
use crate::names::clip;

const QUEUE: &str = "add a queue with match = \"rest\"";
const HANDLE: &str = "give it one there, or name one that takes such writes: fdp.unknown = 0";

/// An operation as recordings have it.
pub fn trace_op(op: RequestOp) -> Op {
    match op {
        RequestOp::Read => Op::Read,
        RequestOp::Write => Op::Write,
        RequestOp::Trim => Op::Trim,
        RequestOp::Flush => Op::Flush,
    }
}

/// The next item of a stream.
pub enum Next {
    /// A request to simulate.
    Request(Request, Marks),
    /// A command that is only counted.
    Skip,
}

impl Next {
    fn is_of(&self, tenant: u8) -> bool {
        matches!(self, Next::Request(_, marks) if marks.tenant == tenant)
    }
}

/// Requests on their way to a device.
pub struct Feed<'i> {
    pub(super) from: Origins<'i>,
    pub(super) nvme: &'i Nvme,
    pub(super) fdp: &'i Fdp,
    /// The tenant of the last request, where tenants have names of their own.
    pub(super) tenant: u8,
    /// Only requests of this tenant, if given.
    pub(super) only: Option<u8>,
    pub(super) limit: Option<u64>,
    /// Writes that are left, if limited.
    pub(super) writes: Option<u64>,
    /// Bytes to read, if the position among them is the progress.
    pub(super) size: Option<u64>,
    /// How many requests there will be at most, if known.
    pub total: Option<u64>,
}

/// Where they come from.
pub(super) enum Origins<'i> {
    Trace(&'i mut Replay),
    Ahead(Ahead<'i>),
    Generated(&'i mut Generated),
    Tenants(&'i mut Merged),
}

impl Feed<'_> {
    /// The next one; none at the end. Requests of closed loops of tenants are not among them: see [`Feed::pull_of`].
    ///
    /// # Errors
    /// The trace can't be read, or an arrival is beyond the simulator's clock.
    #[inline]
    pub fn pull(&mut self) -> Result<Option<Next>> {
        let Some(only) = self.only else { return self.pull_any() };
        loop {
            match self.pull_any()? {
                Some(next) if !next.is_of(only) => {}
                next => return Ok(next),
            }
        }
    }

    /// The same, of any tenant. A record is read where its source wrote it, and what is returned is written where the caller reads it:
    /// the processor stalls where it copies what has just been written field by field.
    fn pull_any(&mut self) -> Result<Option<Next>> {
        if self.writes == Some(0) {
            return Ok(None);
        }
        match &mut self.from {
            Origins::Trace(replay) => {
                let record = replay.next();
                self.made_of(record)
            }
            Origins::Ahead(ahead) => {
                let record = ahead.next();
                self.made_of(record)
            }
            Origins::Generated(generated) => {
                let record = generated.next();
                self.made_of(record)
            }
            Origins::Tenants(merged) => match merged.next()? {
                Some((tenant, record)) => {
                    self.tenant = tenant;
                    self.marked(&record)
                }
                None => Ok(None),
            },
        }
    }

    /// The next request of a tenant in a closed loop; none at its end.
    ///
    /// # Errors
    /// As [`Feed::pull`].
    pub fn pull_of(&mut self, tenant: u8) -> Result<Option<Next>> {
        let Origins::Tenants(merged) = &mut self.from else { return Ok(None) };
        if self.only.is_some_and(|only| only != tenant) {
            return Ok(None);
        }
        self.tenant = tenant;
        let record = merged.next_of(tenant);
        self.made_of(record)
    }

    /// What follows from what a source has returned.
    #[inline(always)]
    fn made_of<E: Into<Error>>(&mut self, record: std::result::Result<Option<Record>, E>) -> Result<Option<Next>> {
        match record {
            Ok(Some(ref record)) => self.marked(record),
            Ok(None) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The request of a record, with its queue and its tenant.
    #[inline]
    fn marked(&mut self, record: &Record) -> Result<Option<Next>> {
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
        let queue = if self.nvme.arbitrates() {
            let queue = |names: Names<'_>| self.nvme.queue_of(names, op, record.offset);
            self.by_names(record, queue, ("a request", "matches no queue of nvme.queues"), QUEUE)?
        } else {
            0
        };
        let tenant = if matches!(self.from, Origins::Tenants(_)) { self.tenant } else { queue };
        let request = Request { arrival: Nanos(record.time_ns), op, offset: record.offset, bytes: record.bytes };
        let marks = Marks { fua: record.fua, queue, tenant, ..Marks::default() };
        if !self.fdp.exists() || op != RequestOp::Write {
            return Ok(Some(Next::Request(request, marks)));
        }
        let (handle, no_handle) = self.handle_of(record)?;
        Ok(Some(Next::Request(request, Marks { handle, no_handle, ..marks })))
    }

    /// The placement handle of a write, and whether it has none of its own.
    fn handle_of(&self, record: &Record) -> Result<(u8, bool)> {
        let handle = |names: Names<'_>| self.fdp.taken_by(names, record.offset, record.bytes);
        self.by_names(record, handle, ("a write", "has no handle by fdp.assign"), HANDLE)
    }

    /// What the names of a request decide. An error if they decide nothing, which says what of what went wrong, and a way out.
    fn by_names<T>(
        &self,
        record: &Record,
        decide: impl FnOnce(Names<'_>) -> Option<T>,
        (what, wrong): (&str, &str),
        help: &str,
    ) -> Result<T> {
        let (mut replay, mut generated, mut tenant) = (None, None, None);
        match &self.from {
            Origins::Trace(own) => replay = Some(&**own),
            Origins::Generated(own) => generated = Some(&**own),
            Origins::Tenants(merged) => {
                let part = &merged.parts[usize::from(self.tenant)];
                tenant = Some(part.name.as_str());
                match &part.source {
                    RecordSource::Trace(own) => replay = Some(own),
                    RecordSource::Generated(own) => generated = Some(own),
                    RecordSource::Tenants(_) => {}
                }
            }
            // With queues and handles it is not read ahead.
            Origins::Ahead(_) => {}
        }
        let label = replay.and_then(|replay| replay.reader().volumes().get(record.volume as usize));
        let device = label.map(|label| String::from_utf8_lossy(label));
        let place = usize::from(record.stream).checked_sub(1);
        let recorded = replay.zip(place).and_then(|(replay, place)| replay.reader().streams().get(place));
        let recorded = recorded.map(|name| String::from_utf8_lossy(name));
        let stream = recorded.as_deref().or(generated.and_then(Generated::stream));
        let names = Names { tenant, device: device.as_deref(), stream };
        decide(names).ok_or_else(|| {
            let place = replay.map(Replay::reader);
            let place =
                place.map_or(String::new(), |reader| format!("{}: line {}: ", clip(reader.name()), reader.line()));
            let of = [("tenant", names.tenant), ("device", names.device), ("stream", names.stream)];
            let of = of.into_iter().filter_map(|(what, name)| Some(format!(" of {what} {}", clip(name?))));
            let of: String = of.collect();
            let message = format!("{place}{what} at byte {}{of} {wrong}", record.offset);
            Error::new(Kind::Device, message).help(help)
        })
    }

    /// The extents of the last request; one or none if its bytes are contiguous.
    #[inline]
    pub fn extents(&self) -> &[Extent] {
        match &self.from {
            Origins::Trace(replay) => replay.extents(),
            Origins::Ahead(ahead) => ahead.extents(),
            Origins::Generated(_) => &[],
            Origins::Tenants(merged) => &merged.extents,
        }
    }

    /// By tenant: how it is a closed loop, if it is one. Empty if none is.
    pub fn loops(&self) -> Vec<Option<Closed>> {
        match &self.from {
            Origins::Tenants(merged) => merged.loops(),
            Origins::Trace(_) | Origins::Ahead(_) | Origins::Generated(_) => Vec::new(),
        }
    }

    /// Share of the requests returned so far, if known.
    pub fn share(&self) -> Option<f64> {
        let ratio = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
        let (accepted, position) = match &self.from {
            Origins::Trace(replay) => (replay.accepted(), replay.reader().progress().0),
            Origins::Ahead(ahead) => (ahead.accepted, ahead.batch.position),
            Origins::Generated(generated) => {
                let (given, total) = generated.progress();
                return total.map(|total| ratio(given, total));
            }
            Origins::Tenants(merged) => return self.total.map(|total| ratio(merged.given, total)),
        };
        let by_limit = self.limit.map(|limit| ratio(accepted, limit));
        let by_bytes = self.size.map(|size| ratio(position, size));
        by_limit.into_iter().chain(by_bytes).reduce(f64::max)
    }
}
