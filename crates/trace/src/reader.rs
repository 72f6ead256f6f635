//! From a source to requests in the order of time: handles bad lines, small steps back in time and volumes.

use crate::detect::{self, Detection};
use crate::error::{Code, TraceError};
use crate::format::Format;
use crate::lines::{Lines, Step};
use crate::notes::{Note, Notes, name_list};
use crate::options::{OnBadLine, Options, TimeOrder, WithinSecond};
use crate::readers;
use crate::readers::line::{BIAS_NS, Bad, Context, Parser};
use crate::record::{Names, Op, Record};
use crate::shown::seconds;
use crate::source::{Source, Trace};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::path::Path;

/// Requests that `sort` can hold at a time.
pub const SORT_RECORDS: usize = 1 << 20;
/// Largest step back in time, in nanoseconds, that is clamped and not refused.
pub const REORDER_WINDOW_NS: u64 = 1_000_000_000;
/// Longest time that a request takes in a trace with times of completion: the kernel's usual limit, after which it gives up.
const LONGEST_REQUEST_NS: u64 = 30_000_000_000;
/// Latest time since the first request that can be read. The limit of a simulation, after loops and scale, is lower:
/// [`crate::CLOCK_MAX_NS`].
const LATEST_NS: u64 = i64::MAX as u64;

const DAY_NS: u64 = 86_400_000_000_000;

/// A request held for sorting: no two have the same number.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Waiting {
    time_ns: u64,
    number: u64,
    line: u64,
    raw: Record,
}

/// Reads requests from one trace, in bounded memory.
///
/// Times start at 0 and never go back; sizes are never 0; offset plus size never overflows; every operation moves or
/// discards data. Every correction is counted in [`Reader::notes`].
pub struct Reader {
    lines: Lines,
    parser: Box<dyn Parser>,
    cx: Context,
    options: Options,
    format: Format,
    detection: Option<Detection>,
    order: TimeOrder,
    /// The clock shows completions.
    completes: bool,
    /// Sort by time as well as by count: emit what is older than this before the latest.
    sort_ns: Option<u64>,
    heap: BinaryHeap<Reverse<Waiting>>,
    /// Requests of one second with their lines, and the first of the next one: only where they are spread.
    second: VecDeque<(Record, u64)>,
    ahead: Option<(Record, u64)>,
    read: u64,
    bad: u64,
    bad_classes: BTreeMap<Code, (u64, u64)>,
    /// Time of the first request as the trace has it.
    base: Option<u64>,
    /// Latest time seen, as the trace has it.
    high: u64,
    /// Latest arrival that was read, where they are sorted.
    latest: u64,
    /// Time of the last request returned, as in the trace.
    previous: u64,
    /// Last time returned.
    now: u64,
    given: u64,
    line: u64,
    steps_back: u64,
    /// Time of the previous request in the order of the file.
    raw_previous: u64,
    ended: bool,
    finished: bool,
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("format", &self.format).field("line", &self.line).finish_non_exhaustive()
    }
}

impl Reader {
    /// Opens a trace; `-` is standard input.
    ///
    /// # Errors
    /// The errors of [`Source::open`]; archives; text that is not UTF-8; an unknown format.
    pub fn open(path: &Path, options: &Options) -> Result<Reader, TraceError> {
        Reader::new(Source::open(path)?, options)
    }

    /// Opens a trace wherever it is.
    ///
    /// # Errors
    /// As [`Trace::open`] and [`Reader::open`].
    pub fn of(trace: &Trace, options: &Options) -> Result<Reader, TraceError> {
        Reader::new(trace.open()?, options)
    }

    /// Reads from an open source.
    ///
    /// # Errors
    /// As [`Reader::open`].
    pub fn new(mut source: Source, options: &Options) -> Result<Reader, TraceError> {
        let (head, name) = begin(&mut source, options)?;
        let (labels, source_rows) = (source.parquet().cloned(), source.table_rows());
        let mut lines = Lines::new(source);
        let mut detection = None;
        let format = match (&options.format, &labels) {
            (None, Some(_)) if source_rows.is_some() => Format::Parquet,
            (None, Some(_)) => {
                detection = Some(Detection::of(Format::Parquet));
                Format::Parquet
            }
            (Some(format), labels) if labels.is_some() != (*format == Format::Parquet) => {
                let (is, fix) = match labels {
                    Some(_) => ("is Parquet", "use --format parquet, or leave the option out"),
                    None => ("is not a Parquet file", "leave --format out to detect the format from the content"),
                };
                return Err(TraceError::new(Code::WrongFormat, &name, format!("The trace {is}")).fix(fix));
            }
            (Some(format), _) => format.clone(),
            (None, None) => {
                let found = detected(&name, &mut lines, options)?;
                let format = found.format.clone();
                detection = Some(found);
                format
            }
        };
        let parser = parser_of(&name, &format, labels, &head, options)?;
        // blkparse merges the lines of several processors only roughly; all other formats should be in order.
        if !lines.skip_bytes(parser.header_bytes())? {
            return Err(TraceError::new(Code::Truncated, &name, "The header is cut off")
                .expected(format!("{} bytes before the first record", parser.header_bytes()))
                .fix("fetch the file again and compare its checksum"));
        }
        // Where the clock shows completions, arrivals are the earlier the longer a request took.
        let window = match format {
            Format::Blkparse(_) => Some(REORDER_WINDOW_NS),
            _ => parser.completes().then_some(REORDER_WINDOW_NS + LONGEST_REQUEST_NS),
        };
        let sort_ns = window.filter(|_| options.time_order == TimeOrder::Error);
        Ok(Reader {
            completes: parser.completes(),
            lines,
            parser,
            cx: Context { flushes: options.flushes, ..Context::new(options.device.as_deref()) },
            order: if sort_ns.is_some() { TimeOrder::Sort } else { options.time_order },
            sort_ns,
            options: options.clone(),
            format,
            detection,
            heap: BinaryHeap::new(),
            second: VecDeque::new(),
            ahead: None,
            read: 0,
            bad: 0,
            bad_classes: BTreeMap::new(),
            base: None,
            high: 0,
            latest: 0,
            previous: 0,
            now: 0,
            given: 0,
            line: 0,
            steps_back: 0,
            raw_previous: 0,
            ended: false,
            finished: false,
        })
    }

    /// The next request, or `None` at the end.
    ///
    /// # Errors
    /// The first invalid line, with place and reason; after an error the reader is at its end.
    #[expect(clippy::should_implement_trait, reason = "a fallible stream, not an iterator")]
    pub fn next(&mut self) -> Result<Option<Record>, TraceError> {
        let step = match self.options.within_second {
            WithinSecond::Once => self.step(),
            WithinSecond::Even => self.next_spread(),
        };
        match step {
            Ok(Some(record)) => Ok(Some(record)),
            Ok(None) => {
                if !self.finished {
                    self.finished = true;
                    self.finish()?;
                }
                Ok(None)
            }
            Err(error) => {
                self.ended = true;
                self.finished = true;
                self.heap.clear();
                self.second.clear();
                self.ahead = None;
                Err(error)
            }
        }
    }

    /// The next request, with those of its second spread over it.
    fn next_spread(&mut self) -> Result<Option<Record>, TraceError> {
        const SECOND: u64 = 1_000_000_000;
        if self.second.is_empty() {
            let Some(first) = self.ahead.take().map_or_else(|| self.step_on_second(), |first| Ok(Some(first)))? else {
                return Ok(None);
            };
            let start = first.0.time_ns;
            self.second.push_back(first);
            while let Some(next) = self.step_on_second()? {
                if next.0.time_ns != start {
                    self.ahead = Some(next);
                    break;
                }
                if self.second.len() >= SORT_RECORDS {
                    return Err(self
                        .error(Code::Usage, format!("More than {SORT_RECORDS} requests in one second"))
                        .fix("leave --within-second out"));
                }
                self.second.push_back(next);
            }
            let count = self.second.len() as u64;
            for (i, (record, _)) in self.second.iter_mut().enumerate() {
                record.time_ns = start.saturating_add(SECOND / count * i as u64 + SECOND % count * i as u64 / count);
            }
            let line = self.second.front().map_or(0, |(_, line)| *line);
            self.cx.notes.add_many(Note::Spread, line, count);
        }
        Ok(self.second.pop_front().map(|(record, line)| {
            self.line = line;
            record
        }))
    }

    fn step_on_second(&mut self) -> Result<Option<(Record, u64)>, TraceError> {
        let Some(record) = self.step()? else { return Ok(None) };
        let whole = |ns: u64| ns.is_multiple_of(1_000_000_000);
        if !whole(record.time_ns) || !whole(self.base.unwrap_or(0)) {
            return Err(self
                .error(Code::Usage, "--within-second even is for traces that count time in whole seconds")
                .expected("times without a fraction of a second")
                .fix("leave it out: the clock of this trace is finer"));
        }
        Ok(Some((record, self.line)))
    }

    #[inline]
    fn step(&mut self) -> Result<Option<Record>, TraceError> {
        let (raw, line) = match self.order {
            TimeOrder::Sort => match self.next_sorted()? {
                Some(found) => found,
                None => return Ok(None),
            },
            _ => match self.next_raw()? {
                Some(raw) => (raw, self.lines.number()),
                None => return Ok(None),
            },
        };
        let time_ns = self.place(raw.time_ns, line)?;
        self.line = line;
        self.given += 1;
        Ok(Some(Record { time_ns, ..raw }))
    }

    /// The arrival as nanoseconds since the first request.
    #[inline]
    fn place(&mut self, time_ns: u64, line: u64) -> Result<u64, TraceError> {
        let Some(base) = self.base else {
            self.base = Some(time_ns);
            // While sorting, `high` is that of all that was read.
            if self.order != TimeOrder::Sort {
                self.high = time_ns;
            }
            self.previous = time_ns;
            return Ok(0);
        };
        let gap = time_ns.saturating_sub(self.previous);
        if gap > 30 * DAY_NS {
            self.cx.notes.add(Note::LongGap, line);
        }
        let now = if self.order == TimeOrder::Sort {
            // Requests are in order here; `high` is ahead, since it includes requests still held.
            Some(time_ns.saturating_sub(base))
        } else if self.order == TimeOrder::Keep {
            if time_ns < self.previous {
                let tally = self.cx.notes.add(Note::TimeKept, line);
                tally.largest_ns = tally.largest_ns.max(self.previous - time_ns);
            }
            self.now.checked_add(gap)
        } else {
            if time_ns < self.high {
                let step = self.high - time_ns;
                if self.order == TimeOrder::Error && step > REORDER_WINDOW_NS {
                    return Err(self.time_back(step, line));
                }
                let tally = self.cx.notes.add(Note::TimeClamped, line);
                tally.largest_ns = tally.largest_ns.max(step);
            }
            self.high = self.high.max(time_ns);
            Some(self.high - base)
        };
        self.previous = time_ns;
        match now.filter(|now| *now <= LATEST_NS) {
            Some(now) => {
                self.now = now;
                Ok(now)
            }
            None => Err(self
                .lines
                .error(Code::Clock, "The arrival is beyond the range of a trace's clock", 0..self.lines.text().len())
                .expected(format!("at most {LATEST_NS} ns after the first arrival"))
                .fix("check the unit of time of this format")),
        }
    }

    fn time_back(&self, step: u64, line: u64) -> TraceError {
        let title = format!("Time goes back by {}", seconds(step));
        let error = if line == self.lines.number() {
            self.lines.error(Code::TimeBack, title, 0..self.lines.text().len())
        } else {
            TraceError::new(Code::TimeBack, self.name(), title).at_line(line)
        };
        error
            .field("time")
            .expected("steps back of at most 1 s")
            .fix("sort the trace, or use --time-order sort, clamp or keep")
    }

    /// The next request in the order of time, within the sort window.
    fn next_sorted(&mut self) -> Result<Option<(Record, u64)>, TraceError> {
        loop {
            let due = match self.heap.peek() {
                Some(Reverse(oldest)) => {
                    self.ended
                        || self.heap.len() >= SORT_RECORDS
                        || self.sort_ns.is_some_and(|window| self.high.saturating_sub(oldest.time_ns) > window)
                }
                None => self.ended,
            };
            if due {
                return Ok(self.heap.pop().map(|Reverse(waiting)| (waiting.raw, waiting.line)));
            }
            let Some(raw) = self.next_raw()? else {
                continue;
            };
            let line = self.lines.number();
            let clock = self.clock_ns(&raw);
            // The clock was set, whether or not later requests were returned meanwhile.
            if self.sort_ns.is_some() && clock.saturating_add(REORDER_WINDOW_NS) < self.high {
                let fix = "use --time-order keep if the clock was set; sort, or clamp";
                return Err(self.time_back(self.high - clock, line).fix(fix));
            }
            // A request earlier than one already returned cannot be sorted in.
            if self.given > 0 && raw.time_ns < self.previous {
                let fix = if self.sort_ns.is_some() {
                    "use --time-order sort, or clamp or keep".to_owned()
                } else {
                    format!(
                        "--time-order sort covers a window of {SORT_RECORDS} requests: sort the file itself, or use --time-order clamp"
                    )
                };
                return Err(self.time_back(self.latest - raw.time_ns, line).fix(fix));
            }
            if raw.time_ns < self.latest {
                let tally = self.cx.notes.add(Note::TimeSorted, line);
                tally.largest_ns = tally.largest_ns.max(self.latest - raw.time_ns);
            }
            self.latest = self.latest.max(raw.time_ns);
            self.high = self.high.max(clock);
            self.heap.push(Reverse(Waiting { time_ns: raw.time_ns, number: self.read, line, raw }));
        }
    }

    /// The time that the line of a request shows: its arrival, or its completion.
    fn clock_ns(&self, raw: &Record) -> u64 {
        if self.completes { self.cx.completion_ns.saturating_add(BIAS_NS) } else { raw.time_ns }
    }

    /// The next request in file order.
    #[inline]
    fn next_raw(&mut self) -> Result<Option<Record>, TraceError> {
        if self.ended {
            return Ok(None);
        }
        let record_bytes = self.parser.record_bytes();
        loop {
            let step = match record_bytes {
                None => self.lines.advance()?,
                Some(bytes) => self.lines.advance_record(bytes)?,
            };
            let number = self.lines.number();
            self.cx.line = number;
            match step {
                Step::End => {
                    self.ended = true;
                    return Ok(None);
                }
                Step::TooLong if number > self.parser.leading_lines() => {
                    let bad = Bad::new(Code::TooLong, "The line is longer than 64 KiB", &[])
                        .expected("a line of at most 65536 bytes");
                    self.refuse(*bad)?;
                    continue;
                }
                Step::TooLong => continue,
                Step::Line => {}
            }
            if record_bytes.is_none() {
                let text = self.lines.text();
                let skip = match text.first() {
                    None | Some(b'#') => true,
                    Some(b' ' | b'\t' | b'\r') => detect::is_blank(text),
                    _ => false,
                };
                if number <= self.parser.leading_lines() {
                    self.parser.leading(number, self.lines.text());
                    continue;
                }
                if skip {
                    continue;
                }
            }
            let parsed = self.parser.parse(self.lines.text(), &mut self.cx);
            let first = std::mem::replace(&mut self.cx.first, false);
            match parsed {
                Ok(Some(raw)) => {
                    if let Some(raw) = self.accept(raw)? {
                        return Ok(Some(raw));
                    }
                }
                Ok(None) => {}
                Err(bad) => {
                    let bad = if first { self.other_format(bad) } else { bad };
                    self.refuse(*bad)?;
                }
            }
        }
    }

    #[inline]
    fn accept(&mut self, raw: Record) -> Result<Option<Record>, TraceError> {
        if self.options.device.is_some() && self.cx.volumes.names().is_empty() {
            return Err(TraceError::new(
                Code::Usage,
                self.name(),
                "--device selects a volume, but this trace has no volume names",
            )
            .at_line(self.lines.number())
            .fix("leave --device out; with --format columns:... name the column of the volume with vol=N"));
        }
        if raw.op == Op::Other || raw.op == Op::Flush && !self.options.flushes {
            self.cx.note(Note::OtherOp);
            return Ok(None);
        }
        if raw.bytes == 0 && raw.op != Op::Flush {
            self.cx.note(Note::ZeroSize);
            return Ok(None);
        }
        if raw.bytes > self.options.max_request_bytes && !matches!(raw.op, Op::Trim | Op::Flush) {
            let limit = self.options.max_request_bytes;
            let bad = Bad::new(Code::TooLarge, format!("A request of {} bytes", raw.bytes), self.lines.text())
                .expected(format!("at most {limit} bytes"))
                .fix("check the unit of the size; if requests are this large, raise --max-request");
            self.refuse(*bad)?;
            return Ok(None);
        }
        let clock = self.clock_ns(&raw);
        self.steps_back += u64::from(self.read > 0 && clock < self.raw_previous);
        self.raw_previous = clock;
        self.read += 1;
        Ok(Some(raw))
    }

    /// If the given format cannot read the first line, suggests one that can.
    #[cold]
    fn other_format(&self, mut bad: Box<Bad>) -> Box<Bad> {
        if self.options.format.is_none() || self.parser.record_bytes().is_some() {
            return bad;
        }
        if let Some(other) = detect::better_than(&self.format, self.lines.ahead(), &self.options) {
            bad.title = format!("The trace is not {}: {}", self.format, lower_first(&bad.title));
            bad.code = Code::WrongFormat;
            bad.fix = Some(format!("the lines look like {other} ({}): use --format {other}", other.shape()));
        }
        bad
    }

    /// Drops a bad line if that is allowed; otherwise returns it as an error.
    #[cold]
    fn refuse(&mut self, mut bad: Bad) -> Result<(), TraceError> {
        // Beyond the limit volumes would be mixed up, so these lines can't be skipped.
        if let (OnBadLine::Skip(most), true) = (self.options.on_bad_line, bad.code != Code::Volumes) {
            if self.bad < most {
                self.bad += 1;
                let line = self.lines.number();
                self.cx.notes.add(Note::BadLine, line);
                self.bad_classes.entry(bad.code).or_insert((0, line)).0 += 1;
                return Ok(());
            }
            if most > 0 {
                bad.title = format!("More than {most} malformed lines; the next one: {}", lower_first(&bad.title));
            }
        }
        let cut = !self.lines.terminated() && bad.code != Code::TooLong && bad.code != Code::WrongFormat;
        if cut && self.read > 0 && self.lines.number() > 1 {
            bad.title = format!("The last line is cut off: {}", lower_first(&bad.title));
            bad.code = Code::Truncated;
            bad.fix =
                Some("the file looks truncated: fetch it again, or drop the line with --on-bad-line skip=1".to_owned());
        }
        let general = match bad.field {
            "" => "check the export of this trace; to drop such lines use --on-bad-line skip=1",
            _ => "check the export of this column; to drop such lines use --on-bad-line skip=1",
        };
        let Bad { code, title, field, span, expected, fix } = bad;
        Err(self
            .lines
            .error(code, title, span)
            .field(field)
            .expected(expected)
            .fix(fix.unwrap_or_else(|| general.to_owned())))
    }

    /// Remarks that are known only at the end.
    fn finish(&mut self) -> Result<(), TraceError> {
        if self.lines.end_check()? {
            self.cx.notes.state(Note::Grew, String::new());
        }
        if !self.bad_classes.is_empty() {
            let detail = self
                .bad_classes
                .iter()
                .map(|(code, (count, line))| format!("{code} {count} (first at line {line})"))
                .collect::<Vec<_>>()
                .join(", ");
            if let Some(tally) = self.cx.notes.get_mut(Note::BadLine) {
                tally.detail = detail;
            }
        }
        if let Err(bad) = self.parser.finish(&mut self.cx) {
            let Bad { code, title, expected, fix, .. } = *bad;
            return Err(TraceError::new(code, self.name(), title)
                .at_first(&self.cx.notes, &[Note::OtherEvent])
                .expected(expected)
                .fix(fix.unwrap_or_default()));
        }
        if self.given == 0 {
            return Err(self.nothing());
        }
        let zero = if self.completes { BIAS_NS } else { 0 };
        if let Some(base) = self.base.filter(|base| *base != zero) {
            let (sign, from_zero) = (if base < zero { "-" } else { "" }, base.abs_diff(zero));
            self.cx.notes.state(Note::Rebased, format!("{sign}{} in the trace", seconds(from_zero)));
        }
        if self.given > 1 {
            let mean = self.now / (self.given - 1);
            if self.now == 0 && self.options.within_second == WithinSecond::Once {
                self.cx.notes.state(Note::OneInstant, String::new());
            } else if mean == 0 && self.now > 0 {
                self.cx
                    .notes
                    .state(Note::TimeUnit, "the mean gap is under 1 ns; the times may be in us or ms".to_owned());
            } else if mean > DAY_NS {
                self.cx.notes.state(
                    Note::TimeUnit,
                    format!("the mean gap is {} days; the times may be in a smaller unit, ns or us", mean / DAY_NS),
                );
            }
        }
        Ok(())
    }

    fn nothing(&self) -> TraceError {
        let others = self.cx.volumes.others();
        if let (Some(device), false) = (&self.options.device, others.is_empty()) {
            let device = crate::shown::escape(device.as_bytes());
            return TraceError::new(Code::Volumes, self.name(), format!("No requests of device {device} in the trace"))
                .at_first(&self.cx.notes, &[Note::OtherDevice])
                .expected(format!("one of the devices that occur: {others}"))
                .fix("choose one of them with --device, or leave the option out");
        }
        let error = detect::no_requests(self.name());
        match self.cx.notes.skipped() {
            0 => error,
            n => {
                let skips: Vec<Note> = Note::ALL.iter().copied().filter(|note| note.skips()).collect();
                let what = format!("at least one request; {n} lines or requests were skipped");
                error.at_first(&self.cx.notes, &skips).expected(what)
            }
        }
    }

    /// The name as given.
    pub fn name(&self) -> &str {
        self.lines.source().name()
    }

    /// The format that is read.
    pub fn format(&self) -> &Format {
        &self.format
    }

    /// The detected format and the reason, if none was given.
    pub fn detection(&self) -> Option<&Detection> {
        self.detection.as_ref()
    }

    /// Dropped, clamped and assumed data so far; complete once [`Reader::next`] returned `None`.
    pub fn notes(&self) -> &Notes {
        &self.cx.notes
    }

    /// Labels of the volumes met so far, by [`Record::volume`]; empty if the trace names none.
    pub fn volumes(&self) -> &[Vec<u8>] {
        self.cx.volumes.names()
    }

    /// Names of what a request belongs to, for [`crate::Writer::write`].
    pub fn names(&self, record: &Record) -> Names<'_> {
        let stream = usize::from(record.stream).checked_sub(1);
        Names {
            volume: self.volumes().get(record.volume as usize).map(Vec::as_slice),
            stream: stream.and_then(|place| self.streams().get(place)).map(Vec::as_slice),
        }
    }

    /// Names of the streams met so far: [`Record::stream`] counts them from 1.
    pub fn streams(&self) -> &[Vec<u8>] {
        self.cx.streams.names()
    }

    pub(crate) fn volume_list(&self) -> String {
        name_list(self.volumes().iter().map(Vec::as_slice))
    }

    /// Line (or record of a binary trace) of the last request, from 1.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// Number of requests earlier than the one before them in the file.
    pub fn steps_back(&self) -> u64 {
        self.steps_back
    }

    /// Bytes read so far from the file itself, and its size if it has one: a progress bar's figures.
    pub fn progress(&self) -> (u64, Option<u64>) {
        (self.lines.source().position(), self.lines.source().size())
    }

    /// Rows of a table in memory; `None` for anything else.
    pub fn rows(&self) -> Option<u64> {
        self.lines.source().table_rows()
    }

    /// A message about the last request.
    pub(crate) fn error(&self, code: Code, title: impl Into<String>) -> TraceError {
        if self.line == self.lines.number() && self.parser.record_bytes().is_none() {
            self.lines.error(code, title, 0..self.lines.text().len())
        } else {
            TraceError::new(code, self.name(), title).at_line(self.line)
        }
    }
}

fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_lowercase().chain(letters).collect(),
        None => String::new(),
    }
}

/// UTF-16 and UTF-32, by their marks or by the NUL next to every letter.
fn wide_encoding(head: &[u8]) -> Option<&'static str> {
    if head.starts_with(&[0xff, 0xfe, 0, 0]) || head.starts_with(&[0, 0, 0xfe, 0xff]) {
        return Some("UTF-32");
    }
    if head.starts_with(&[0xff, 0xfe]) || head.starts_with(&[0xfe, 0xff]) {
        return Some("UTF-16");
    }
    let text = |b: &u8| (b' '..=b'~').contains(b) || matches!(b, b'\t' | b'\r' | b'\n');
    let sample = &head[..head.len().min(64) & !3];
    if sample.len() < 8 {
        return None;
    }
    let wide = |step: usize, at: usize| {
        sample.chunks(step).all(|unit| text(&unit[at]) && unit.iter().enumerate().all(|(i, b)| i == at || *b == 0))
    };
    if wide(4, 0) || wide(4, 3) {
        Some("UTF-32")
    } else if wide(2, 0) {
        Some("UTF-16LE")
    } else if wide(2, 1) {
        Some("UTF-16BE")
    } else {
        None
    }
}

/// The first bytes of a source that may be read, and its name.
fn begin(source: &mut Source, options: &Options) -> Result<(Vec<u8>, String), TraceError> {
    // A column map is the last resort and accepts any bytes; an archive's headers are then lines to skip.
    if source.is_archive() && !matches!(options.format, Some(Format::Columns(_))) {
        return Err(source.refuse_archive());
    }
    let (head, name) = (source.head().to_vec(), source.name().to_owned());
    match wide_encoding(&head) {
        None => Ok((head, name)),
        Some(encoding) => Err(TraceError::new(Code::NotText, &name, format!("The text is {encoding}"))
            .expected("UTF-8 or ASCII")
            .fix(format!("iconv -f {encoding} -t UTF-8 FILE | ssdlab ... --trace -"))),
    }
}

/// The format of a text or a binary stream, by its first lines.
fn detected(name: &str, lines: &mut Lines, options: &Options) -> Result<Detection, TraceError> {
    lines.skip_blank()?;
    let sample = lines.peek();
    let ended = sample.len() < crate::lines::LINE_BYTES;
    if sample.is_empty() {
        // A damaged stream is a better explanation than "no requests".
        let step = lines.advance()?;
        debug_assert_eq!(step, Step::End);
        return Err(detect::no_requests(name));
    }
    let mut found = detect::detect(name, sample, ended, options).map_err(|mut error| {
        if let Some(line) = &mut error.report_mut().line {
            *line += lines.number();
        }
        error
    })?;
    // Blank lines before the sample are lines of the file.
    if let Format::Columns(map) = &mut found.format {
        map.skip += lines.number();
    }
    Ok(found)
}

/// What reads the records of a format. `head`: the first bytes.
fn parser_of(
    name: &str,
    format: &Format,
    labels: Option<readers::parquet::Labels>,
    head: &[u8],
    options: &Options,
) -> Result<Box<dyn Parser>, TraceError> {
    Ok(match format {
        Format::Vscsi => Box::new(readers::vscsi::Vscsi::of(head)),
        Format::Lcs(objects) if readers::lcs::fits(head) => Box::new(readers::lcs::Lcs::of(*objects, true, head)),
        Format::Lcs(_) => {
            let what = "The trace does not begin with libCacheSim's header";
            return Err(TraceError::new(Code::WrongFormat, name, what).expected("an .lcs file").fix(
                "a file of records without a header is oracleGeneral: --format oraclegeneral:id=sectors,op=read",
            ));
        }
        Format::Parquet => Box::new(readers::parquet::Rows::new(labels.unwrap_or_default())),
        _ => readers::parser(format, options),
    })
}
