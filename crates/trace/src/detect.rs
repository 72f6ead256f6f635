//! Detects the format from the content, never from the name, and never guesses: if two formats fit, or nothing in the lines
//! confirms their units, detection fails and the user has to name the format. Where no format fits, names in a header may give a map.

use crate::error::{Code, TraceError};
use crate::format::{Format, Kernel};
use crate::map::Columns;
use crate::notes::{Note, Notes, name_list};
use crate::options::Options;
use crate::readers;
use crate::readers::header::{self, Guess, Unclear};
use crate::readers::line::{Context, Record};
use std::fmt;

/// Lines that are tried.
const SAMPLE_LINES: u64 = 200;

/// The detected format and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detection {
    /// The format.
    pub format: Format,
    /// Lines of the sample that read well in it.
    pub good: u64,
    /// Lines of the sample that hold data.
    pub tried: u64,
    /// Columns that the header names and the map does not use.
    pub unused: Vec<String>,
}

impl Detection {
    pub(crate) fn of(format: Format) -> Detection {
        Detection { format, good: 0, tried: 0, unused: Vec::new() }
    }
}

impl fmt::Display for Detection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shape = match self.format {
            Format::Columns(_) => "the columns that the header names",
            ref format => format.shape(),
        };
        write!(f, "{}: {shape}", self.format)?;
        if self.tried > 0 {
            write!(f, " ({} of the first {} lines)", self.good, self.tried)?;
        }
        if !self.unused.is_empty() {
            write!(f, "; not used: {}", name_list(self.unused.iter().map(String::as_bytes)))?;
        }
        Ok(())
    }
}

/// Every text format that can be detected from its lines. SSDsim and MQSim share shape and reader, so one entry stands
/// for both.
fn candidates() -> [Format; 16] {
    [
        Format::Msr,
        Format::Spc,
        Format::Ssdsim,
        Format::Disksim,
        Format::Blkparse(b'Q'),
        Format::Fio,
        Format::Alibaba,
        Format::Tencent,
        Format::Systor,
        Format::Diskmon,
        Format::Blkreplay,
        Format::Ftrace(Kernel::default()),
        Format::Etw,
        Format::Biosnoop,
        Format::Iosnoop,
        Format::IoTracer,
    ]
}

struct Trial {
    format: Format,
    good: u64,
    bad: u64,
    /// Whether something in the lines confirms the units of this format.
    sure: bool,
}

/// Nanoseconds since 1970 of the years 1980 to 2100: a clock that shows such a time counts from 1970, in the format's unit.
const EPOCH_NS: std::ops::Range<u64> = 315_532_800_000_000_000..4_102_444_800_000_000_000;

/// Whether the lines confirm the units of a format that they fit. A shape alone does not: many tools write the same columns in
/// other units. A plausible date does, and so do words, column names and marks that only one tool writes.
fn sure(format: &Format, first_ns: Option<u64>, good: u64, notes: &Notes) -> bool {
    let shows = |years: std::ops::Range<u64>| first_ns.is_none_or(|ns| years.contains(&ns));
    match format {
        Format::Msr => shows(readers::msr::FILETIMES.start * 100..readers::msr::FILETIMES.end * 100),
        Format::Alibaba | Format::Tencent | Format::Systor => shows(EPOCH_NS),
        // The specification requires digits on both sides of the point, and only seconds have a point.
        Format::Spc => notes.count(Note::TimeForm) < good,
        Format::Blkreplay | Format::Biosnoop | Format::Iosnoop | Format::IoTracer => notes.count(Note::Header) > 0,
        Format::Ssdsim | Format::Mqsim | Format::Disksim | Format::Columns(_) | Format::OracleGeneral(_) => false,
        // Any text with commas may have lines that are no request.
        Format::Etw => first_ns.is_some(),
        Format::Blkparse(_)
        | Format::Fio
        | Format::Diskmon
        | Format::Vscsi
        | Format::Ftrace(_)
        | Format::Lcs(_)
        | Format::Parquet => true,
    }
}

/// What to write for lines of this format's shape: the format with its units, and a map that takes others.
fn choices(format: &Format) -> (String, &'static str) {
    const FIVE: &str = "time=0:ms,vol=1,offset=2:bytes,size=3:bytes,op=4:0w1r,sep=space";
    let (units, map) = match format {
        Format::Msr => ("ticks of 100 ns, bytes", "time=0:ns,vol=1,vol=2,op=3,offset=4:bytes,size=5:bytes"),
        Format::Spc => ("s, blocks of 512 B, sizes in bytes", "vol=0,offset=1:bytes,size=2:bytes,op=3,time=4:ns"),
        Format::Ssdsim | Format::Mqsim => ("ns, sectors of 512 B; --format mqsim is the same", FIVE),
        Format::Disksim => ("ms, sectors of 512 B", FIVE),
        Format::Alibaba => ("us, bytes", "vol=0,op=1,offset=2:bytes,size=3:bytes,time=4:ns"),
        Format::Tencent => ("s, sectors of 512 B", "time=0:ns,offset=1:bytes,size=2:bytes,op=3:0r1w,vol=4"),
        Format::Systor => ("s, bytes", "time=0:ns,op=2,vol=3,offset=4:bytes,size=5:bytes"),
        Format::Blkreplay => ("s, sectors of 512 B", "time=0:ns,offset=1:bytes,size=2:bytes,op=3,sep=semicolon"),
        _ => return (format!("--format {format}"), ""),
    };
    (format!("--format {format} ({units})"), map)
}

fn try_format(format: Format, sample: &[u8], options: &Options) -> Trial {
    let mut parser = readers::parser(&format, options);
    let mut cx = Context::new(None);
    let (mut records, mut bad, mut lines, mut first_ns) = (0, 0, 0, None);
    for line in sample.split(|&b| b == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if is_blank(line) || line.starts_with(b"#") {
            continue;
        }
        // Introductory text does not use up the sample.
        if lines >= SAMPLE_LINES + cx.notes.count(Note::Prologue) {
            break;
        }
        lines += 1;
        cx.line = lines;
        match parser.parse(line, &mut cx) {
            Ok(Some(raw)) => {
                records += 1;
                first_ns.get_or_insert(raw.time_ns);
            }
            Ok(None) => {}
            Err(_) => bad += 1,
        }
        cx.first = false;
    }
    let counted = [Note::OtherEvent, Note::OtherOp, Note::NoOp, Note::WaitIgnored, Note::Wait];
    let mut good = records + counted.iter().map(|note| cx.notes.count(*note)).sum::<u64>();
    // Without a request its lines are those of any text with commas.
    if format == Format::Etw && records == 0 {
        good = 0;
    }
    let sure = sure(&format, first_ns, good, &cx.notes);
    Trial { format, good, bad, sure }
}

pub(crate) fn is_blank(line: &[u8]) -> bool {
    line.iter().all(|b| matches!(b, b' ' | b'\t' | b'\r'))
}

/// The formats that fit a sample best; more than one if the sample does not distinguish them.
fn fitting(sample: &[u8], options: &Options) -> Vec<Trial> {
    if sample.starts_with(b"fio version ") {
        return vec![Trial { format: Format::Fio, good: 0, bad: 0, sure: true }];
    }
    let mut trials: Vec<Trial> = candidates()
        .into_iter()
        .map(|format| try_format(format, sample, options))
        .filter(|trial| trial.good > 0 && trial.good >= trial.bad)
        .collect();
    let fewest = trials.iter().map(|trial| trial.bad).min().unwrap_or(0);
    // Five columns between blanks are one shape: a bad code in one line must not decide between its formats.
    let five = |trial: &Trial| matches!(trial.format, Format::Ssdsim | Format::Disksim);
    let fits_five = trials.iter().any(|trial| five(trial) && trial.bad == fewest);
    trials.retain(|trial| trial.bad == fewest || fits_five && five(trial));
    trials
}

/// Whole lines of a sample; the last one is dropped unless the stream ends there.
fn whole_lines(sample: &[u8], ended: bool) -> &[u8] {
    if ended {
        return sample;
    }
    &sample[..memchr::memrchr(b'\n', sample).map_or(sample.len(), |at| at + 1)]
}

fn detect_binary(name: &str, sample: &[u8]) -> Result<Detection, TraceError> {
    if readers::vscsi::fits(sample) {
        return Ok(Detection::of(Format::Vscsi));
    }
    if readers::lcs::fits(sample) {
        return Err(TraceError::new(
            Code::Ambiguous,
            name,
            "This is a trace of libCacheSim, and nothing in it says the unit of the object's number",
        )
        .expected("a format that names the unit")
        .fix("name it: --format lcs:id=sectors, lcs:id=bytes or lcs:id=pages"));
    }
    Err(TraceError::new(Code::UnknownFormat, name, "This is a binary file of no known format")
        .at_line(1 + sample.iter().take_while(|b| **b != 0).filter(|b| **b == b'\n').count() as u64)
        .expected(format!("one of {}", Format::NAMES.join(", ")))
        .fix("convert it to text and use --format columns:<map>"))
}

pub(crate) fn detect(name: &str, sample: &[u8], ended: bool, options: &Options) -> Result<Detection, TraceError> {
    // No text has NUL bytes next to letters or digits.
    if sample.iter().take(80).any(|&b| b == 0) {
        return detect_binary(name, sample);
    }
    let sample = whole_lines(sample, ended);
    let data = sample.split(|&b| b == b'\n').any(|line| !is_blank(line) && !line.starts_with(b"#"));
    if !data && ended {
        return Err(no_requests(name));
    }
    // The line that messages show: the first with data.
    let mut lines = (1..).zip(sample.split(|&b| b == b'\n'));
    let (number, first) = lines.find(|(_, line)| !is_blank(line) && !line.starts_with(b"#")).unwrap_or((1, b""));
    let first = first.strip_suffix(b"\r").unwrap_or(first);
    let mut trials = fitting(sample, options);
    let is_sure = matches!(&trials[..], [one] if one.sure);
    match header::guess(sample, options.max_request_bytes) {
        Some(Guess::Map(map, _)) if is_sure => {
            if let Some(error) = contradiction(name, &trials[0].format, *map, sample, options) {
                return Err(error.at(number, first, 0..first.len()));
            }
        }
        Some(Guess::Map(map, unused)) => return Ok(by_header(*map, unused, sample, options)),
        Some(Guess::Unclear(unclear)) if !is_sure => return Err(unclear_header(name, unclear, &trials, sample)),
        _ => {}
    }
    if trials.len() > 1 || trials.iter().any(|trial| !trial.sure) {
        let names: Vec<String> = trials
            .iter()
            .map(|trial| match trial.format {
                Format::Ssdsim => "ssdsim or mqsim (times in ns)".to_owned(),
                Format::Disksim => "disksim (times in ms)".to_owned(),
                ref other => other.to_string(),
            })
            .collect();
        let title = match &names[..] {
            [one] => format!("The lines have the shape of {one}, but nothing in them confirms its units"),
            several => format!("Several formats fit: {}", several.join(" and ")),
        };
        let (mut choices, mut maps): (Vec<String>, Vec<&str>) =
            trials.iter().map(|trial| choices(&trial.format)).unzip();
        maps.retain(|map| !map.is_empty());
        maps.dedup();
        choices.extend(maps.iter().map(|map| format!("--format columns:{map} with the right units")));
        return Err(TraceError::new(Code::Ambiguous, name, title)
            .at(number, first, 0..first.len())
            .expected("lines that match one format and its units only")
            .fix(format!("name the format: {}", choices.join(", or "))));
    }
    let Some(trial) = trials.pop() else {
        return Err(TraceError::new(Code::UnknownFormat, name, "No known format fits the first lines")
            .at(number, first, 0..first.len())
            .expected(format!("a line of {}", Format::NAMES.join(", ")))
            .fix("if the format is one of these, name it with --format to see what is wrong; else describe the columns with --format columns:<map>"));
    };
    Ok(Detection { tried: trial.good + trial.bad, good: trial.good, ..Detection::of(trial.format) })
}

/// The requests of a sample, and how many lines could be read and how many not.
fn requests(format: &Format, sample: &[u8], options: &Options) -> (Vec<Record>, u64, u64) {
    let mut parser = readers::parser(format, options);
    let mut cx = Context::new(None);
    let (mut records, mut good, mut bad) = (Vec::new(), 0, 0);
    for (number, line) in (1..).zip(sample.split(|&b| b == b'\n')) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if number <= parser.leading_lines() {
            parser.leading(number, line);
        } else if !is_blank(line) && !line.starts_with(b"#") {
            if good + bad >= SAMPLE_LINES {
                break;
            }
            cx.line = number;
            match parser.parse(line, &mut cx) {
                Ok(found) => {
                    good += 1;
                    records.extend(found);
                }
                Err(_) => bad += 1,
            }
            cx.first = false;
        }
    }
    (records, good, bad)
}

fn by_header(map: Columns, unused: Vec<String>, sample: &[u8], options: &Options) -> Detection {
    let format = Format::Columns(map);
    let (_, good, bad) = requests(&format, sample, options);
    Detection { format, good, tried: good + bad, unused }
}

/// An error where the header states other units than the format whose shape the lines have.
fn contradiction(name: &str, format: &Format, map: Columns, sample: &[u8], options: &Options) -> Option<TraceError> {
    let map = Format::Columns(map);
    let (own, ..) = requests(format, sample, options);
    let (named, ..) = requests(&map, sample, options);
    let since = |list: &[Record], at: usize| list[at].time_ns.wrapping_sub(list[0].time_ns);
    let same = |at: usize| {
        let (own_raw, named_raw) = (&own[at], &named[at]);
        (own_raw.offset, own_raw.bytes, own_raw.op) == (named_raw.offset, named_raw.bytes, named_raw.op)
            && since(&own, at) == since(&named, at)
    };
    if own.len() == named.len() && (0..own.len()).all(same) {
        return None;
    }
    let title = format!("The lines have the shape of {format}, but the header names other columns or units");
    Some(
        TraceError::new(Code::Ambiguous, name, title)
            .expected("a header that agrees with the lines")
            .fix(format!("name the format: --format {format}, or --format {map}")),
    )
}

/// An error for a header whose names leave several readings.
fn unclear_header(name: &str, unclear: Unclear, trials: &[Trial], sample: &[u8]) -> TraceError {
    let line = sample.split(|&b| b == b'\n').nth(unclear.line).unwrap_or_default();
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let maps = unclear.maps.iter().map(|map| format!("--format columns:{map}"));
    let maps: Vec<String> = maps.chain(trials.iter().map(|trial| choices(&trial.format).0)).collect();
    TraceError::new(Code::Ambiguous, name, format!("The header leaves several readings: {}", unclear.what))
        .at(1 + unclear.line as u64, line, 0..line.len())
        .expected("names that state their units, as time_us, offset_bytes and size_kib do")
        .fix(format!("choose the readings: {}", maps.join(", or ")))
}

/// The one other format that fits lines which `declared` cannot read.
pub(crate) fn better_than(declared: &Format, sample: &[u8], options: &Options) -> Option<Format> {
    let mut trials = fitting(sample, options);
    trials.retain(|trial| trial.bad == 0 && trial.sure);
    match trials.as_slice() {
        [one] if std::mem::discriminant(&one.format) != std::mem::discriminant(declared) => Some(one.format.clone()),
        _ => None,
    }
}

pub(crate) fn no_requests(name: &str) -> TraceError {
    TraceError::new(Code::NoRequests, name, "The trace contains no requests")
        .expected("at least one request")
        .fix("check that this is the right file and that its export finished")
}
