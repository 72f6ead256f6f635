//! Where the records of a run come from, as one type.

use std::ops::Range;

use ssdlab_trace::{Digest, Extent, Note, Op, Record, Replay};

use crate::error::Result;
use crate::input::generator::Generated;
use crate::input::requests::Closed;

/// Where records come from.
pub(super) enum RecordSource {
    Trace(Box<Replay>),
    Generated(Box<Generated>),
    Tenants(Box<Merged>),
}

impl RecordSource {
    /// The next record of a single source.
    pub(super) fn next(&mut self) -> Result<Option<Record>> {
        match self {
            RecordSource::Trace(replay) => Ok(replay.next()?),
            RecordSource::Generated(generated) => generated.next(),
            RecordSource::Tenants(merged) => Ok(merged.next()?.map(|(_, record)| record)),
        }
    }

    /// The extents of the last record; one or none if its bytes are contiguous.
    pub(super) fn extents(&self) -> &[Extent] {
        match self {
            RecordSource::Trace(replay) => replay.extents(),
            RecordSource::Generated(_) => &[],
            RecordSource::Tenants(merged) => &merged.extents,
        }
    }

    /// How many requests there are, if known.
    pub(super) fn total(&self) -> Option<u64> {
        match self {
            RecordSource::Trace(_) => None,
            RecordSource::Generated(generated) => generated.progress().1,
            RecordSource::Tenants(merged) => merged.parts.iter().map(|part| part.source.total()).sum(),
        }
    }

    pub(super) fn skipped(&self) -> u64 {
        match self {
            RecordSource::Trace(replay) => {
                let notes = replay.notes();
                [Note::OtherOp, Note::NoOp, Note::ChangesData, Note::ZeroSize]
                    .into_iter()
                    .map(|note| notes.count(note))
                    .sum()
            }
            RecordSource::Generated(_) => 0,
            RecordSource::Tenants(merged) => merged.parts.iter().map(|part| part.source.skipped()).sum(),
        }
    }

    pub(super) fn span(&self) -> Option<u64> {
        match self {
            RecordSource::Trace(_) => None,
            RecordSource::Generated(generated) => generated.span(),
            RecordSource::Tenants(merged) => merged.parts.iter().filter_map(|part| part.source.span()).max(),
        }
    }

    pub(super) fn chosen(&self) -> Option<String> {
        match self {
            RecordSource::Trace(replay) => {
                replay.reader().detection().map(|detection| format!("note: format {detection}"))
            }
            RecordSource::Generated(_) => None,
            RecordSource::Tenants(merged) => {
                let each = merged.parts.iter().filter_map(|part| Some((&part.name, part.source.chosen()?)));
                let lines: Vec<String> = each.map(|(name, chosen)| format!("{chosen} (tenant {name})")).collect();
                (!lines.is_empty()).then(|| lines.join("\n"))
            }
        }
    }

    pub(super) fn remarks(&self) -> Vec<String> {
        match self {
            RecordSource::Trace(replay) => {
                let notes = replay.notes();
                let warnings = replay.warnings();
                let warnings = warnings.iter().map(|lint| format!("warning[{}]: {}", lint.name, lint.text));
                notes.lines().map(|line| format!("note: {line}")).chain(warnings).collect()
            }
            RecordSource::Generated(_) => Vec::new(),
            RecordSource::Tenants(merged) => {
                let of = |part: &Part| {
                    let remarks = part.source.remarks().into_iter();
                    remarks.map(|remark| format!("{remark} (tenant {})", part.name)).collect::<Vec<_>>()
                };
                merged.parts.iter().flat_map(of).collect()
            }
        }
    }
}

/// Digests of records as the device sees them.
struct Digests {
    data: Digest,
    /// Of flushes and of writes with forced unit access, if flushes are requests.
    flushes: Option<Digest>,
}

impl Digests {
    fn new(flushes: bool) -> Digests {
        Digests { data: Digest::new(), flushes: flushes.then(Digest::new) }
    }

    fn add(&mut self, record: &Record, extents: &[Extent]) {
        match record.op {
            Op::Flush => {}
            _ if extents.is_empty() => self.data.add(record),
            _ => self.data.add_scattered(record, extents),
        }
        if record.op == Op::Flush || record.fua {
            self.flushes.iter_mut().for_each(|digest| digest.add(record));
        }
    }
}

/// A tenant that is fitted to the device.
pub(super) struct Part {
    pub(super) name: String,
    pub(super) source: RecordSource,
    pub(super) range: Range<u64>,
    /// How it is a closed loop, if it is one, and the digests of its requests. They have no order among those of others.
    closed: Option<(Closed, Digests)>,
    /// The next request, if it was read already.
    head: Option<Record>,
    ended: bool,
}

impl Part {
    /// `closed`: how it is a closed loop, if it is one.
    pub(super) fn new(
        name: String,
        source: RecordSource,
        range: Range<u64>,
        closed: Option<Closed>,
        flushes: bool,
    ) -> Part {
        let closed = closed.map(|closed| (closed, Digests::new(flushes)));
        Part { name, source, range, closed, head: None, ended: false }
    }

    fn fill(&mut self) -> Result<()> {
        if self.head.is_none() && !self.ended {
            self.head = self.source.next()?;
            self.ended = self.head.is_none();
        }
        Ok(())
    }
}

/// The requests of several tenants: those that arrive at their times merged by time, ties in the order of the tenants.
pub(crate) struct Merged {
    pub(super) parts: Vec<Part>,
    digests: Digests,
    /// The extents of the last request, if its bytes are scattered.
    pub(super) extents: Vec<Extent>,
    /// Requests returned.
    pub(super) given: u64,
}

impl Merged {
    pub(super) fn new(parts: Vec<Part>, flushes: bool) -> Merged {
        Merged { parts, digests: Digests::new(flushes), extents: Vec::new(), given: 0 }
    }

    /// The next request that arrives at its time, with its tenant.
    pub(super) fn next(&mut self) -> Result<Option<(u8, Record)>> {
        let mut first: Option<(u64, usize)> = None;
        for (i, part) in self.parts.iter_mut().enumerate().filter(|(_, part)| part.closed.is_none()) {
            part.fill()?;
            let time = part.head.map(|head| head.time_ns);
            first = first.into_iter().chain(time.map(|time| (time, i))).min();
        }
        let Some((_, i)) = first else { return Ok(None) };
        Ok(self.take(i).map(|record| (i as u8, record)))
    }

    /// The next request of a tenant in a closed loop.
    pub(super) fn next_of(&mut self, tenant: u8) -> Result<Option<Record>> {
        self.parts[usize::from(tenant)].fill()?;
        Ok(self.take(usize::from(tenant)))
    }

    /// Hands out the request that a tenant has read, at its place on the device.
    fn take(&mut self, i: usize) -> Option<Record> {
        let part = &mut self.parts[i];
        let mut record = part.head.take()?;
        let from = part.range.start;
        let extents = part.source.extents();
        let moved = |extent: &Extent| Extent { offset: extent.offset + from, ..*extent };
        self.extents.clear();
        if extents.len() > 1 {
            self.extents.extend(extents.iter().map(moved));
        }
        record.offset += from;
        let digests = part.closed.as_mut().map_or(&mut self.digests, |(_, own)| own);
        digests.add(&record, &self.extents);
        self.given += 1;
        Some(record)
    }

    /// The digest of the merged requests; with closed loops, of that digest and theirs.
    pub(super) fn digest(&self) -> String {
        self.combined(|digests| Some(&digests.data)).expect("of data there is always one")
    }

    /// The same of flushes, if they are requests.
    pub(super) fn flush_digest(&self) -> Option<String> {
        self.combined(|digests| digests.flushes.as_ref())
    }

    fn combined(&self, which: impl Fn(&Digests) -> Option<&Digest>) -> Option<String> {
        let hex = |digests: &Digests| which(digests).map(Digest::hex);
        let own = hex(&self.digests)?;
        let loops: Vec<String> = self.parts.iter().filter_map(|part| hex(&part.closed.as_ref()?.1)).collect();
        if loops.is_empty() {
            return Some(own);
        }
        let all = format!("ssdlab.tenants/1\n{own}\n{}\n", loops.join("\n"));
        Some(blake3::hash(all.as_bytes()).to_hex().to_string())
    }

    /// By tenant: how it is a closed loop, if it is one.
    pub(super) fn loops(&self) -> Vec<Option<Closed>> {
        self.parts.iter().map(|part| part.closed.as_ref().map(|(closed, _)| *closed)).collect()
    }
}
