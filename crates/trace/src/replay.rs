//! A trace fitted to a device: rebased, rounded to sectors, laid out, repeated, limited, and digested.

use crate::error::{Code, TraceError};
use crate::info::{self, Collector, Lint};
use crate::notes::{Note, Notes};
use crate::options::Options;
use crate::reader::Reader;
use crate::record::{Extent, Op, Record};
use crate::source::Trace;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::path::Path;
use std::str::FromStr;

/// Requests are rounded outward to this many bytes.
pub const SECTOR_BYTES: u64 = 512;
/// Latest arrival that can be simulated, after loops and scale: half the range of the simulator's clock, so that the
/// requests can still complete.
pub const CLOCK_MAX_NS: u64 = (1 << 61) - 1;
/// Requests read after an error to find the size of the device that the trace needs.
const LOOK_AHEAD: u64 = 1 << 20;

choices! {
    /// How to treat requests beyond the device.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
    pub enum LbaPolicy {
        /// Refuse the trace; the error says what would fit.
        #[default]
        Error = "error",
        /// Take addresses modulo the device; a request across its end continues at its start.
        Wrap = "wrap",
        /// Drop requests beyond the device, cut those that cross its end.
        Clip = "clip",
        /// Renumber touched pages in the order of first touch: the pages of a request may then lie anywhere. Memory grows
        /// with the footprint.
        Dense = "dense",
    }
}

/// An exact factor on arrival times: a ratio of whole numbers, so that every machine gets the same nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    numerator: u64,
    denominator: u64,
}

impl Scale {
    /// Times as they are.
    pub const ONE: Scale = Scale { numerator: 1, denominator: 1 };

    /// A ratio; `None` if one of the two is 0.
    pub fn new(numerator: u64, denominator: u64) -> Option<Scale> {
        (numerator > 0 && denominator > 0).then_some(Scale { numerator, denominator })
    }

    /// Whether times stay as they are.
    pub fn is_one(self) -> bool {
        self.numerator == self.denominator
    }

    /// `ns` times the factor, cut to whole nanoseconds; `None` beyond 64 bits.
    pub fn apply(self, ns: u64) -> Option<u64> {
        if self == Scale::ONE {
            return Some(ns);
        }
        let product = u128::from(ns) * u128::from(self.numerator);
        u64::try_from(product / u128::from(self.denominator)).ok()
    }
}

impl Default for Scale {
    fn default() -> Scale {
        Scale::ONE
    }
}

impl std::fmt::Display for Scale {
    /// As a ratio.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.numerator, self.denominator)
    }
}

impl FromStr for Scale {
    type Err = String;

    /// `0.5`, `2`, `1/3`: decimals of up to nine digits on each side of the point, or a ratio.
    fn from_str(text: &str) -> Result<Scale, String> {
        let bad = || "expected a positive decimal such as 0.5, or a ratio such as 1/3".to_owned();
        let digits = |part: &str, most: usize| {
            let plain = !part.is_empty() && part.len() <= most && part.bytes().all(|b| b.is_ascii_digit());
            if plain { part.parse::<u64>().map_err(|_| bad()) } else { Err(bad()) }
        };
        if let Some((numerator, denominator)) = text.split_once('/') {
            return Scale::new(digits(numerator, 18)?, digits(denominator, 18)?).ok_or_else(bad);
        }
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let scale = 10u64.pow(fraction.len().min(9) as u32);
        let value = digits(whole, 9)? * scale + digits(fraction, 9)?;
        Scale::new(value, scale).ok_or_else(bad)
    }
}

/// The device a trace is fitted to, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fit {
    /// Bytes the device exports.
    pub capacity_bytes: u64,
    /// Bytes of a page: the unit of `dense`, and what volumes are aligned to.
    pub page_bytes: u64,
    /// Requests beyond the device.
    pub lba_policy: LbaPolicy,
    /// Accepted requests over all loops; `None` for all.
    pub limit: Option<u64>,
    /// How often the trace is read, at least 1.
    pub loops: u64,
    /// Factor on arrival times.
    pub time_scale: Scale,
}

impl Fit {
    /// A device of this capacity with 4 KiB pages; everything else at its default.
    pub fn new(capacity_bytes: u64) -> Fit {
        Fit {
            capacity_bytes,
            page_bytes: 4096,
            lba_policy: LbaPolicy::default(),
            limit: None,
            loops: 1,
            time_scale: Scale::ONE,
        }
    }
}

/// Digest of normalised accepted records, as the device sees them: after rebasing, rounding, fitting, looping and
/// limiting. Compression, names of files and volumes, and the notation of the text do not matter.
///
/// [`Replay`] keeps one; workload generators, which need no fitting, can feed their own.
#[derive(Clone)]
pub struct Digest {
    hasher: blake3::Hasher,
    buffer: Vec<u8>,
}

impl Digest {
    const BUFFER: usize = 32 << 10;
    /// Marks the operation of an extent that belongs to the same record as the one before it.
    const CONTINUES: u8 = 0x80;

    /// The digest of no records.
    pub fn new() -> Digest {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"ssdlab.trace/1\n");
        Digest { hasher, buffer: Vec::with_capacity(Digest::BUFFER) }
    }

    /// Adds the next record.
    #[inline]
    pub fn add(&mut self, record: &Record) {
        self.take(record.time_ns, record.offset, record.bytes, record.op, 0);
    }

    /// Adds the next record, whose bytes lie in these extents.
    #[inline]
    pub fn add_scattered(&mut self, record: &Record, extents: &[Extent]) {
        for (i, extent) in extents.iter().enumerate() {
            let mark = if i == 0 { 0 } else { Digest::CONTINUES };
            self.take(record.time_ns, extent.offset, extent.bytes, record.op, mark);
        }
    }

    #[inline]
    fn take(&mut self, time_ns: u64, offset: u64, bytes: u64, op: Op, mark: u8) {
        if self.buffer.len() + 32 > Digest::BUFFER {
            self.hasher.update(&self.buffer);
            self.buffer.clear();
        }
        let op = match op {
            Op::Read => 0,
            Op::Write => 1,
            Op::Trim => 2,
            Op::Flush | Op::Other => 3,
        };
        let mut record = [0; 25];
        record[..8].copy_from_slice(&time_ns.to_le_bytes());
        record[8..16].copy_from_slice(&offset.to_le_bytes());
        record[16..24].copy_from_slice(&bytes.to_le_bytes());
        record[24] = op | mark;
        self.buffer.extend_from_slice(&record);
    }

    /// 64 hexadecimal digits for the records so far.
    pub fn hex(&self) -> String {
        let mut hasher = self.hasher.clone();
        hasher.update(&self.buffer);
        hasher.finalize().to_hex().to_string()
    }
}

impl Default for Digest {
    fn default() -> Digest {
        Digest::new()
    }
}

impl std::fmt::Debug for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Digest").field(&self.hex()).finish()
    }
}

/// Pages in the order of first touch.
#[derive(Default)]
struct Dense {
    pages: FxHashMap<(u32, u64), u64>,
}

/// A trace as a device gets it: see [`Replay::next`].
pub struct Replay {
    trace: Trace,
    options: Options,
    fit: Fit,
    reader: Reader,
    /// First byte of each volume; grows to all volumes when a second one appears.
    bases: Vec<u64>,
    /// That of the last request.
    base: u64,
    dense: Dense,
    /// The last request read, until it is returned, and its extents.
    pending: Option<Record>,
    extents: Vec<Extent>,
    /// First pass of several: flushes since the last request, with their times in the pass. Whether they are the pass's last
    /// records, which may not overtake the next pass, is not known yet.
    held: Vec<Record>,
    /// Flushes to be returned before anything else.
    due: VecDeque<Record>,
    /// The last request returned is a flush.
    flushes_last: bool,
    digest: Option<Digest>,
    /// Digest of flushes and of writes with forced unit access, if the reader yields flushes.
    flushes: Option<Digest>,
    /// Figures of the first pass as read, for [`Replay::warnings`].
    figures: Collector,
    own: Notes,
    /// Notes of the first pass; later passes would only repeat them.
    first_pass: Option<Notes>,
    pass: u64,
    accepted: u64,
    accepted_first_pass: u64,
    first_ns: Option<u64>,
    /// Arrival of the first request: later than 0 after a flush. The digest counts from there, as if there were no flushes.
    lead_ns: u64,
    last_ns: u64,
    /// Shift of the current pass.
    shift_ns: u64,
    period_ns: u64,
    size: Option<u64>,
    done: bool,
}

impl std::fmt::Debug for Replay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Replay").field("reader", &self.reader).field("pass", &self.pass).finish_non_exhaustive()
    }
}

impl Replay {
    /// Opens a trace (`-`: standard input) and fits it.
    ///
    /// # Errors
    /// The errors of [`Reader::open`]; an invalid fit; repeating a trace that can be read only once.
    pub fn open(path: &Path, options: &Options, fit: Fit) -> Result<Replay, TraceError> {
        Replay::of(&path.into(), options, fit)
    }

    /// Opens a trace wherever it is, and fits it.
    ///
    /// # Errors
    /// As [`Replay::open`].
    pub fn of(trace: &Trace, options: &Options, fit: Fit) -> Result<Replay, TraceError> {
        let name = trace.name();
        let usage = |title: &str, fix: &str| Err(TraceError::new(Code::Usage, &name, title).fix(fix));
        if fit.page_bytes == 0 || !fit.page_bytes.is_multiple_of(SECTOR_BYTES) {
            return usage("A page must be a multiple of 512 bytes", "check geometry.page_size");
        }
        if fit.capacity_bytes < fit.page_bytes {
            return usage("The device is smaller than one page", "check the geometry");
        }
        if fit.loops == 0 {
            return usage("A trace is replayed at least once", "--loop takes 1 or more");
        }
        let reader = Reader::of(trace, options)?;
        let size = reader.progress().1;
        if fit.loops > 1 && size.is_none() {
            return usage(
                "A pipe can be read only once, so it cannot be repeated",
                "save the trace to a file, or leave --loop out",
            );
        }
        Ok(Replay {
            trace: trace.clone(),
            options: options.clone(),
            fit,
            reader,
            bases: vec![0],
            base: 0,
            dense: Dense::default(),
            pending: None,
            held: Vec::new(),
            due: VecDeque::new(),
            flushes_last: false,
            extents: Vec::new(),
            digest: Some(Digest::new()),
            flushes: options.flushes.then(Digest::new),
            figures: Collector::without_footprint(),
            own: Notes::new(),
            first_pass: None,
            pass: 0,
            accepted: 0,
            accepted_first_pass: 0,
            first_ns: None,
            lead_ns: 0,
            last_ns: 0,
            shift_ns: 0,
            period_ns: 0,
            size,
            done: false,
        })
    }

    /// The same without a digest, a little faster.
    pub fn without_digest(mut self) -> Replay {
        self.digest = None;
        self
    }

    /// The next request as the device gets it, or `None` at the end.
    ///
    /// The first arrives at 0 (a flush, if the trace begins with one and the reader yields flushes), arrivals never go back, addresses are whole sectors inside the device (trims shrink to
    /// whole sectors, everything else grows). [`Replay::extents`] says where the bytes lie: `offset` is where the first
    /// of them begin, `bytes` counts all. Pass `k` of a repeated trace is shifted by `k` times (last arrival +
    /// mean gap); the time scale applies after that.
    ///
    /// # Errors
    /// What [`Reader::next`] refuses, and requests that do not fit the device.
    #[expect(clippy::should_implement_trait, reason = "a fallible stream, not an iterator")]
    #[inline]
    pub fn next(&mut self) -> Result<Option<Record>, TraceError> {
        loop {
            if let Some(record) = self.due.pop_front() {
                self.flushes_last = true;
                self.flushes.iter_mut().for_each(|digest| digest.add(&record));
                return Ok(Some(record));
            }
            if let Some(record) = self.pending.take() {
                self.flushes_last = false;
                if record.fua {
                    self.flushes.iter_mut().for_each(|digest| digest.add(&record));
                }
                if let Some(digest) = self.digest.as_mut() {
                    let time_ns = record.time_ns.saturating_sub(self.lead_ns);
                    digest.add_scattered(&Record { time_ns, ..record }, &self.extents);
                }
                return Ok(Some(record));
            }
            if self.done || self.fit.limit.is_some_and(|limit| self.accepted >= limit) {
                self.done = true;
                return Ok(None);
            }
            let found = match self.reader.next() {
                Ok(found) => found,
                Err(error) => {
                    self.done = true;
                    return Err(error);
                }
            };
            let outcome = match found {
                Some(record) if record.op == Op::Flush => self.time_flush(record),
                Some(record) => {
                    if self.pass == 0 {
                        self.figures.add(&record);
                    }
                    self.fit_record(record)
                }
                None => self.next_pass(),
            };
            if let Err(error) = outcome {
                self.done = true;
                return Err(error);
            }
        }
    }

    /// Starts over, if there is another pass.
    fn next_pass(&mut self) -> Result<(), TraceError> {
        if self.pass == 0 {
            self.first_pass = Some(self.reader.notes().clone());
            self.accepted_first_pass = self.accepted;
            let span = self.last_ns;
            let gaps = self.accepted.saturating_sub(1).max(1);
            self.period_ns = span.checked_add(span / gaps).ok_or_else(|| self.clock())?;
            let flushes = self.flushes_last || !self.held.is_empty();
            if self.accepted == 0 && flushes && self.figures.finish().requests == 0 {
                let title = "The trace has flushes only: there is nothing that they could wait for";
                return Err(TraceError::new(Code::NoRequests, self.reader.name(), title)
                    .fix("use a trace with reads, writes or trims"));
            }
            if self.accepted == 0 {
                return Err(TraceError::new(
                    Code::NoRequests,
                    self.reader.name(),
                    "No request of the trace lies inside the device",
                )
                .at_first(&self.own, &[Note::Dropped, Note::TrimUntouched])
                .fix("use --lba-policy wrap or dense, or a larger device"));
            }
        }
        self.release_flushes(self.period_ns)?;
        self.pass += 1;
        if self.pass >= self.fit.loops {
            self.done = true;
            return Ok(());
        }
        self.own.state(
            Note::Looped,
            format!("{} times, each pass {} ns after the one before", self.pass + 1, self.period_ns),
        );
        self.shift_ns = self.period_ns.checked_mul(self.pass).ok_or_else(|| self.clock())?;
        self.reader = Reader::of(&self.trace, &self.options)?;
        if self.reader.progress().1 != self.size {
            return Err(TraceError::new(Code::Unreadable, self.reader.name(), "The file changed between two passes")
                .fix("wait until the file is complete"));
        }
        Ok(())
    }

    fn clock(&self) -> TraceError {
        self.reader
            .error(Code::Clock, "The arrival is beyond the range of the simulator's clock")
            .expected(format!("at most {CLOCK_MAX_NS} ns after the first arrival"))
            .fix("check the unit of time, --loop and --time-scale")
    }

    /// The arrival of a request this long after the first one of its pass.
    #[inline]
    fn arrival(&self, since: u64) -> Result<u64, TraceError> {
        let scaled = since.checked_add(self.shift_ns).and_then(|t| self.fit.time_scale.apply(t));
        scaled.filter(|t| *t <= CLOCK_MAX_NS).ok_or_else(|| self.clock())
    }

    /// A flush has a time and no data. It is not counted among the requests, so runs with and without a cache see the same ones.
    #[cold]
    fn time_flush(&mut self, record: Record) -> Result<(), TraceError> {
        let first = *self.first_ns.get_or_insert(record.time_ns);
        let time_ns = record.time_ns.saturating_sub(first);
        self.held.push(Record { time_ns, ..record });
        if self.fit.loops > 1 && self.pass == 0 {
            return Ok(());
        }
        let next = if self.pass + 1 < self.fit.loops { self.period_ns } else { u64::MAX };
        self.release_flushes(next)
    }

    /// Returns held flushes next, none later in its pass than `latest`: when the next pass begins.
    #[cold]
    fn release_flushes(&mut self, latest: u64) -> Result<(), TraceError> {
        let mut held = std::mem::take(&mut self.held);
        for record in held.drain(..) {
            let time_ns = self.arrival(record.time_ns.min(latest))?;
            self.due.push_back(Record { time_ns, ..record });
        }
        self.held = held;
        Ok(())
    }

    #[inline]
    fn fit_record(&mut self, record: Record) -> Result<(), TraceError> {
        let line = self.reader.line();
        if record.volume as usize >= self.bases.len() && self.fit.lba_policy != LbaPolicy::Dense {
            self.lay_out()?;
        }
        // Whole sectors: data is rounded outward, a trim inward, so that it discards nothing that was not named.
        let end = record.offset + record.bytes;
        let (from, to) = if record.op == Op::Trim {
            (
                record.offset.checked_next_multiple_of(SECTOR_BYTES).unwrap_or(u64::MAX),
                end / SECTOR_BYTES * SECTOR_BYTES,
            )
        } else {
            let up = end.checked_next_multiple_of(SECTOR_BYTES);
            (record.offset / SECTOR_BYTES * SECTOR_BYTES, up.unwrap_or(u64::MAX / SECTOR_BYTES * SECTOR_BYTES))
        };
        if (from, to) != (record.offset, end) {
            self.own.add(Note::Rounded, line);
            if from >= to {
                self.own.add(Note::TrimUntouched, line);
                return Ok(());
            }
        }
        self.extents.clear();
        if self.fit.lba_policy == LbaPolicy::Dense {
            self.fit_dense(&record, from, to)?;
        } else {
            let base = self.bases.get(record.volume as usize).copied().unwrap_or(0);
            self.base = base;
            let Some(end) = to.checked_add(base) else {
                return Err(self.past_device(to, base));
            };
            self.fit_flat(from + base, end)?;
        }
        let Some(first_extent) = self.extents.first() else { return Ok(()) };
        let (offset, bytes) = (first_extent.offset, self.extents.iter().map(|extent| extent.bytes).sum());
        // Only accepted requests count for times.
        let first = *self.first_ns.get_or_insert(record.time_ns);
        let since = record.time_ns.saturating_sub(first);
        if self.pass == 0 {
            self.last_ns = since;
        }
        let time_ns = self.arrival(since)?;
        if self.accepted == 0 {
            self.lead_ns = time_ns;
        }
        if !self.held.is_empty() {
            self.release_flushes(u64::MAX)?;
        }
        self.pending = Some(Record { time_ns, offset, bytes, ..record });
        self.accepted += 1;
        Ok(())
    }

    /// One address space: error, wrap or clip.
    #[inline]
    fn fit_flat(&mut self, from: u64, to: u64) -> Result<(), TraceError> {
        let capacity = self.fit.capacity_bytes / self.fit.page_bytes * self.fit.page_bytes;
        if to <= capacity {
            self.extents.push(Extent { offset: from, bytes: to - from });
            return Ok(());
        }
        let line = self.reader.line();
        match self.fit.lba_policy {
            LbaPolicy::Clip if from >= capacity => {
                self.own.add(Note::Dropped, line);
            }
            LbaPolicy::Clip => {
                self.own.add(Note::Clipped, line);
                self.extents.push(Extent { offset: from, bytes: capacity - from });
            }
            LbaPolicy::Wrap if to - from <= capacity => {
                self.own.add(Note::Wrapped, line);
                let start = from % capacity;
                let bytes = to - from;
                let room = capacity - start;
                self.extents.push(Extent { offset: start, bytes: bytes.min(room) });
                if bytes > room {
                    self.own.add(Note::Scattered, line);
                    self.extents.push(Extent { offset: 0, bytes: bytes - room });
                }
            }
            _ => return Err(self.past_device(to, 0)),
        }
        Ok(())
    }

    /// Pages in the order of first touch.
    fn fit_dense(&mut self, record: &Record, from: u64, to: u64) -> Result<(), TraceError> {
        let page = self.fit.page_bytes;
        let line = self.reader.line();
        if record.op == Op::Trim {
            // A trim touches no pages: it applies to touched pages only, so a huge trim costs no more than those.
            let (first, last) = (from / page, (to - 1) / page);
            let mut hit: Vec<(u64, u64)> = if last - first < self.dense.pages.len() as u64 {
                (first..=last).filter_map(|p| self.dense.pages.get(&(record.volume, p)).map(|d| (p, *d))).collect()
            } else {
                let inside = |p: &u64| (first..=last).contains(p);
                self.dense
                    .pages
                    .iter()
                    .filter(|((v, p), _)| *v == record.volume && inside(p))
                    .map(|((_, p), d)| (*p, *d))
                    .collect()
            };
            if hit.is_empty() {
                self.own.add(Note::TrimUntouched, line);
                return Ok(());
            }
            hit.sort_unstable();
            for (p, dense) in hit {
                let start = from.max(p * page);
                let end = to.min((p * page).saturating_add(page));
                self.add_extent(dense * page + start % page, end - start);
            }
        } else {
            let mut start = from;
            while start < to {
                let p = start / page;
                let next = self.dense.pages.len() as u64;
                let dense = *self.dense.pages.entry((record.volume, p)).or_insert(next);
                if (dense + 1) * page > self.fit.capacity_bytes {
                    return Err(self.footprint());
                }
                let end = to.min((p * page).saturating_add(page));
                self.add_extent(dense * page + start % page, end - start);
                start = end;
            }
        }
        if self.extents.len() > 1 {
            self.own.add(Note::Scattered, line);
        }
        Ok(())
    }

    /// Adds a page, extending the last extent if it is adjacent.
    #[inline]
    fn add_extent(&mut self, offset: u64, bytes: u64) {
        match self.extents.last_mut() {
            Some(last) if last.offset + last.bytes == offset => last.bytes += bytes,
            _ => self.extents.push(Extent { offset, bytes }),
        }
    }

    #[cold]
    fn footprint(&self) -> TraceError {
        let capacity = self.fit.capacity_bytes;
        self.reader
            .error(Code::PastDevice, "The trace touches more pages than the device has")
            .expected(format!("at most {} pages of {} bytes", capacity / self.fit.page_bytes, self.fit.page_bytes))
            .fix("use a larger device, or fewer requests with --limit; 'ssdlab trace info' prints the footprint")
    }

    #[cold]
    fn past_device(&mut self, end: u64, base: u64) -> TraceError {
        let layout = self.layout();
        let error = self.reader.error(
            Code::PastDevice,
            if end.saturating_add(base) - 1 < self.fit.capacity_bytes {
                "The volumes do not fit the device"
            } else {
                "The request ends past the device"
            },
        );
        let mut needed = u128::from(end) + u128::from(base);
        let mut seen = self.accepted + 1;
        let mut whole = false;
        for _ in 0..LOOK_AHEAD {
            match self.reader.next() {
                Ok(Some(record)) => {
                    let base = self.bases.get(record.volume as usize).copied().unwrap_or(0);
                    needed = needed.max(u128::from(record.offset) + u128::from(record.bytes) + u128::from(base));
                    seen += 1;
                }
                Ok(None) => {
                    whole = true;
                    break;
                }
                Err(_) => break,
            }
        }
        let page = u128::from(self.fit.page_bytes);
        let needed = needed.div_ceil(page) * page;
        let scope = if whole { "the trace needs".to_owned() } else { format!("its first {seen} requests need") };
        error
            .expected(format!("an end of at most {}", self.fit.capacity_bytes))
            .note(layout)
            .fix(format!("{scope} a device of {needed} bytes; or use --lba-policy wrap, clip or dense"))
    }

    /// Where the volumes lie, for errors that show an address of one of them.
    fn layout(&self) -> String {
        match self.own.get(Note::Layout) {
            Some(layout) => format!("{}; the volume of this line begins at byte {}", layout.detail, self.base),
            None => String::new(),
        }
    }

    /// Lays out volumes when a second one appears. Their sizes are only known after a pass over the whole file.
    #[cold]
    fn lay_out(&mut self) -> Result<(), TraceError> {
        if self.size.is_none() {
            return Err(TraceError::new(
                Code::Usage,
                self.reader.name(),
                "Laying out several volumes takes a first pass over the whole trace, and a pipe can be read only once",
            )
            .at_line(self.reader.line())
            .fix("choose one with --device ID, use --lba-policy dense, or save the trace to a file"));
        }
        let mut scan = Reader::of(&self.trace, &self.options)?;
        let mut ends: Vec<u64> = Vec::new();
        while let Some(record) = scan.next()? {
            let volume = record.volume as usize;
            if volume >= ends.len() {
                ends.resize(volume + 1, 0);
            }
            ends[volume] = ends[volume].max(record.offset + record.bytes);
        }
        let mut bases = Vec::with_capacity(ends.len());
        let mut next: u64 = 0;
        for end in &ends {
            bases.push(next);
            let stop = end.checked_next_multiple_of(self.fit.page_bytes).and_then(|size| next.checked_add(size));
            next = stop.ok_or_else(|| {
                TraceError::new(Code::Range, self.reader.name(), "The volumes laid end to end need more than 64 bits")
                    .at_line(self.reader.line())
                    .fix("choose one with --device ID, or use --lba-policy dense")
            })?;
        }
        self.own.state(
            Note::Layout,
            format!("{} volumes laid end to end in the order of first appearance ({}), {next} bytes in all; --device chooses one", ends.len(), scan.volume_list()),
        );
        self.bases = bases;
        Ok(())
    }

    /// The underlying reader: format, detection, volumes, progress.
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// Remarks so far: reading in the first pass, and fitting in all passes.
    pub fn notes(&self) -> Notes {
        let mut notes = self.first_pass.as_ref().unwrap_or_else(|| self.reader.notes()).clone();
        notes.merge(&self.own);
        if self.fit.lba_policy == LbaPolicy::Dense && self.reader.volumes().len() > 1 {
            notes.state(
                Note::Layout,
                format!(
                    "pages of {} volumes ({}) renumbered together in the order of first touch",
                    self.reader.volumes().len(),
                    self.reader.volume_list()
                ),
            );
        }
        notes
    }

    /// The extents of the last request returned, in its order: one, or several where `wrap` or `dense` moved its pages
    /// apart. A flush has none.
    pub fn extents(&self) -> &[Extent] {
        // Those of the next request may be known already.
        if self.flushes_last {
            return &[];
        }
        &self.extents
    }

    /// Warnings of [`crate::check`] about the part of the trace read so far that [`Replay::notes`] does not contain.
    pub fn warnings(&self) -> Vec<Lint> {
        info::warnings(&self.figures.finish(), &self.notes())
    }

    /// Requests accepted so far, over all passes.
    pub fn accepted(&self) -> u64 {
        self.accepted
    }

    /// Hexadecimal BLAKE3 of what [`Replay::next`] gave out so far: arrival, offset, length (64 bits each, little
    /// endian) and operation (one byte: 0 read, 1 write, 2 trim) of each record, after the line `ssdlab.trace/1`; a record
    /// whose bytes lie in several places counts once a place, with 128 added to the operation from the second on. It
    /// is taken as the device sees the records, so packing, spelling and volume names do not matter, while limit,
    /// loops, scale and address policy do. Empty without a digest.
    pub fn digest(&self) -> String {
        self.digest.as_ref().map(Digest::hex).unwrap_or_default()
    }

    /// Digest of flushes and of writes with forced unit access, if the reader yields flushes ([`Options::flushes`]). The digest of
    /// requests does not depend on either.
    pub fn flush_digest(&self) -> Option<String> {
        self.flushes.as_ref().map(Digest::hex)
    }
}
