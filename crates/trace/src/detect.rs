//! Which format is this? Asked of the content, never of the name, and never guessed: when two formats fit, the user
//! is asked.

use crate::error::{Code, TraceError};
use crate::format::Format;
use crate::notes::Note;
use crate::reader::Options;
use crate::readers::{self, Context, Parsed};
use std::fmt;

/// Lines that are tried.
const SAMPLE_LINES: u64 = 200;

/// What was chosen and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detection {
    /// The format.
    pub format: Format,
    /// Lines of the sample that read well in it.
    pub good: u64,
    /// Lines of the sample that hold data.
    pub tried: u64,
}

impl fmt::Display for Detection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.format, self.format.shape())?;
        if self.tried > 0 {
            write!(f, " ({} of the first {} lines)", self.good, self.tried)?;
        }
        Ok(())
    }
}

/// Every text format that can be told by its lines. SSDsim and MQSim have one shape and one reader, so one stands
/// for both.
fn candidates() -> [Format; 11] {
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
    ]
}

struct Trial {
    format: Format,
    good: u64,
    bad: u64,
}

fn try_format(format: Format, sample: &[u8], options: &Options) -> Trial {
    let mut parser = readers::parser(&format, options);
    let mut cx = Context::new(None);
    let (mut records, mut bad, mut lines) = (0, 0, 0);
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
            Ok(Parsed::Record(_)) => records += 1,
            Ok(Parsed::Pass) => {}
            Err(_) => bad += 1,
        }
        cx.first = false;
    }
    let told = [Note::OtherEvent, Note::OtherOp, Note::NoOp, Note::WaitIgnored, Note::Wait];
    let good = records + told.iter().map(|note| cx.notes.count(*note)).sum::<u64>();
    Trial { format, good, bad }
}

pub(crate) fn is_blank(line: &[u8]) -> bool {
    line.iter().all(|b| matches!(b, b' ' | b'\t' | b'\r'))
}

/// The formats that fit a sample best; more than one if they cannot be told apart.
fn fitting(sample: &[u8], options: &Options) -> Vec<Trial> {
    if sample.starts_with(b"fio version ") {
        return vec![Trial { format: Format::Fio, good: 0, bad: 0 }];
    }
    let mut trials: Vec<Trial> = candidates()
        .into_iter()
        .map(|format| try_format(format, sample, options))
        .filter(|trial| trial.good > 0 && trial.good >= trial.bad)
        .collect();
    let fewest = trials.iter().map(|trial| trial.bad).min().unwrap_or(0);
    trials.retain(|trial| trial.bad == fewest);
    trials
}

/// Whole lines of a sample; the last one may be cut unless the stream ends there.
fn whole_lines(sample: &[u8], ended: bool) -> &[u8] {
    if ended {
        return sample;
    }
    &sample[..memchr::memrchr(b'\n', sample).map_or(sample.len(), |at| at + 1)]
}

/// Chooses the format by the first bytes.
pub(crate) fn detect(name: &str, sample: &[u8], ended: bool, options: &Options) -> Result<Detection, TraceError> {
    // Two digits or letters never stand beside NUL in a text.
    if sample.iter().take(80).any(|&b| b == 0) {
        if readers::vscsi::fits(sample) {
            return Ok(Detection { format: Format::Vscsi, good: 0, tried: 0 });
        }
        return Err(TraceError::new(Code::UnknownFormat, name, "This is a binary file of no known format")
            .expected(format!("one of {}", Format::NAMES.join(", ")))
            .fix("convert it to text and use --format columns:<map>"));
    }
    let sample = whole_lines(sample, ended);
    let data = sample.split(|&b| b == b'\n').any(|line| !is_blank(line) && !line.starts_with(b"#"));
    if !data && ended {
        return Err(no_requests(name));
    }
    let mut trials = fitting(sample, options);
    if trials.len() > 1 {
        let names: Vec<String> = trials
            .iter()
            .map(|trial| match trial.format {
                Format::Ssdsim => "ssdsim or mqsim (times in ns)".to_owned(),
                Format::Disksim => "disksim (times in ms)".to_owned(),
                ref other => other.to_string(),
            })
            .collect();
        return Err(TraceError::new(Code::Ambiguous, name, format!("Several formats fit: {}", names.join(" and ")))
            .expected("lines that only one format can mean")
            .fix(format!(
                "say which with --format, e.g. --format {}; for other units --format columns:<map>",
                trials[0].format
            )));
    }
    let Some(trial) = trials.pop() else {
        let first =
            sample.split(|&b| b == b'\n').find(|line| !is_blank(line) && !line.starts_with(b"#")).unwrap_or(&[]);
        let first = first.strip_suffix(b"\r").unwrap_or(first);
        return Err(TraceError::new(Code::UnknownFormat, name, "No known format fits the first lines")
            .at(1, first, 0..first.len())
            .expected(format!("a line of {}", Format::NAMES.join(", ")))
            .fix("if the format is one of these, name it with --format to see what is wrong; else describe the columns with --format columns:<map>"));
    };
    Ok(Detection { tried: trial.good + trial.bad, good: trial.good, format: trial.format })
}

/// The one other format that fits lines which `declared` cannot read.
pub(crate) fn better_than(declared: &Format, sample: &[u8], options: &Options) -> Option<Format> {
    let mut trials = fitting(sample, options);
    trials.retain(|trial| trial.bad == 0);
    match trials.as_slice() {
        [one] if std::mem::discriminant(&one.format) != std::mem::discriminant(declared) => Some(one.format.clone()),
        _ => None,
    }
}

pub(crate) fn no_requests(name: &str) -> TraceError {
    TraceError::new(Code::NoRequests, name, "The trace holds no requests")
        .expected("at least one request")
        .fix("check that this is the right file and that its export finished")
}
