//! blkparse text: `dev cpu seq time pid action RWBS sector + n [process]`.
//!
//! Every line is parsed completely, even lines of events that are not counted: a cut or changed line means that the capture
//! is damaged. One request appears as several events (Q queued, G got a request, I inserted, D issued, C completed); one of them is
//! counted, `Q` unless the format says otherwise; one that several devices report is counted once ([`Layers`]). Lines of one
//! processor are in order, those of several are merged roughly: the reader sorts within a window. The summary at the end is
//! skipped. A pass-through command has a number of bytes in place of sector and count, and moves no data that is
//! simulated. Source: `blkparse_fmt.c`.

use crate::error::Code;
use crate::notes::Note;
use crate::number::{self, Fault};
use crate::readers::layers::Layers;
use crate::readers::line::*;
use crate::readers::rwbs::Rwbs;

pub(crate) struct Blkparse {
    action: u8,
    summary: Summary,
    records: u64,
    /// How often each other action with a sector occurred.
    others: [u64; 26],
    layers: Layers,
}

/// What blkparse prints without -q, also with an output format of the user's: its input files before the events, and statistics
/// behind them.
#[derive(Default)]
pub(crate) struct Summary {
    inside: bool,
}

impl Summary {
    /// Whether a line that is no event belongs to it: a heading begins it, and every line of it is a heading or an indented
    /// `name: value`.
    pub fn takes(&mut self, line: &[u8], cx: &mut Context) -> bool {
        if line.starts_with(b"Input file ") && line.ends_with(b" added") {
            cx.note(Note::Prologue);
            return true;
        }
        let cpu = line.strip_prefix(b"CPU").is_some_and(|rest| rest.first().is_some_and(u8::is_ascii_digit));
        let headings = [&b"Total ("[..], b"Throughput", b"Events (", b"Skips:", b"Trace started"];
        let heading = cpu || headings.iter().any(|h| line.starts_with(h));
        self.inside |= heading;
        let takes = (heading || self.inside && line.starts_with(b" ")) && line.contains(&b':');
        if takes {
            cx.note(Note::Summary);
        }
        takes
    }

    /// An event ends it: another capture follows.
    pub fn ends(&mut self) {
        self.inside = false;
    }
}

/// Actions with a sector, those first that say most about the device.
const CHOICES: [u8; 5] = *b"DQIGC";

impl Blkparse {
    pub fn new(action: u8) -> Blkparse {
        Blkparse { action, summary: Summary::default(), records: 0, others: [0; 26], layers: Layers::default() }
    }

    fn found(&self) -> String {
        let list: Vec<String> = (b'A'..=b'Z')
            .zip(self.others)
            .filter(|(_, n)| *n > 0)
            .map(|(action, n)| format!("{} ({n})", action as char))
            .collect();
        list.join(", ")
    }
}

/// `8,0`: major and minor number of the device.
fn is_device(field: &[u8]) -> bool {
    let mut parts = field.split(|&b| b == b',');
    let number = |part: Option<&[u8]>| part.is_some_and(|p| !p.is_empty() && p.iter().all(u8::is_ascii_digit));
    number(parts.next()) && number(parts.next()) && parts.next().is_none()
}

/// What follows the RWBS column.
#[derive(Default)]
struct Tail<'a> {
    /// Sector and count.
    extent: Option<(u64, u64)>,
    /// Where a remap comes from: device and sector.
    origin: Option<(&'a [u8], u64)>,
}

/// What follows the RWBS column, as blkparse writes it, and the sector and count if it has them:
/// `sector + count`, `sector / sector` (X), only a sector or a number of bytes, or none; then blocks in parentheses (an
/// elapsed time, a dump of the command); then `[process]` or `[error]`, for U with a number behind it. A remap ends in its
/// origin; a message is free text.
fn tail<'a>(line: &'a [u8], action: &[u8], rwbs: &[u8], at: [&[u8]; 3]) -> Result<Tail<'a>, Box<Bad>> {
    let cut = |part: &[u8], expected: &str| {
        Bad::new(Code::FieldCount, "Line is not in blkparse's default layout", line)
            .on("Event", line, part)
            .expected(expected)
            .fix("if this is the last line, the capture was cut: drop it with --on-bad-line skip=1; else run blkparse without -f (a custom output format)")
    };
    let behind = |part: &[u8]| trim(&line[span(line, part).end..]);
    // A message may be empty, and its text anything.
    if action == b"m" {
        return Ok(Tail::default());
    }
    if rwbs.is_empty() || !rwbs.iter().all(u8::is_ascii_alphabetic) {
        return Err(bad_op(line, rwbs, "RWBS", &["R", "W", "D", "F", "N"]));
    }
    let [sector, sign, count] = at;
    let mut extent = None;
    let mut rest = behind(rwbs);
    if sector.first().is_some_and(u8::is_ascii_digit) {
        let first = number(line, sector, "Sector")?;
        rest = behind(sector);
        if sign == b"+" || sign == b"/" && action == b"X" {
            extent = Some((first, number(line, count, "Sector count")?));
            rest = behind(count);
        } else if !(rest.starts_with(b"(") || rest.starts_with(b"[")) {
            return Err(Bad::new(Code::FieldCount, "No '+' between sector and count", line)
                .on("Sector count", line, if sign.is_empty() { &line[line.len()..] } else { sign })
                .expected("'sector + count'")
                .fix("run blkparse without -f (a custom output format)"));
        }
    } else if !(sector.is_empty() || sector.starts_with(b"[") || sector.starts_with(b"(")) {
        return Err(bad_number(line, sector, "Sector", number::classify(sector)));
    }
    if action == b"A" {
        let origin: Fields<'_, 3> = split_blanks(rest)?;
        let [arrow, device, from] = origin.at;
        let device = device.strip_prefix(b"(").and_then(|d| d.strip_suffix(b")"));
        if arrow != b"<-" || !device.is_some_and(is_device) || origin.count < 3 {
            return Err(cut(rest, "'<- (major,minor) sector'"));
        }
        let from = number(line, from, "Origin")?;
        return Ok(Tail { extent, origin: device.map(|device| (device, from)) });
    }
    while rest.starts_with(b"(") {
        let Some(close) = memchr::memchr(b')', rest) else {
            return Err(cut(rest, "a closing ')'"));
        };
        rest = trim(&rest[close + 1..]);
    }
    // The number of requests behind an unplugged queue.
    let name = match action {
        b"U" | b"UT" => trim(&rest[..rest.iter().rposition(|b| !b.is_ascii_digit()).map_or(0, |last| last + 1)]),
        _ => rest,
    };
    let complete = name.starts_with(b"[") && name.ends_with(b"]");
    if complete { Ok(Tail { extent, origin: None }) } else { Err(cut(rest, "'[process]' at the end")) }
}

/// Offset and size in bytes.
fn extent_bytes(line: &[u8], (first, sectors): (u64, u64), at: [&[u8]; 2]) -> Result<(u64, u64), Box<Bad>> {
    let [sector, count] = at;
    let offset = first.checked_mul(512).ok_or_else(|| {
        let fault = Fault { code: Code::Range, what: "does not fit in 64 bits", hint: None };
        bad_number(line, sector, "Sector", fault)
    })?;
    if sectors >= u64::from(u32::MAX) {
        return Err(Bad::new(Code::TooLarge, "Sector count is not a valid size", line)
            .on("Sector count", line, count)
            .expected("the sectors of one request"));
    }
    check_end(line, offset, sectors * 512, count)?;
    Ok((offset, sectors * 512))
}

impl Parser for Blkparse {
    fn parse(&mut self, line: &[u8], cx: &mut Context) -> Outcome {
        let fields: Fields<'_, 10> = split_blanks(line)?;
        let [device, cpu, sequence, time, pid, action, rwbs, sector, plus, count] = fields.at;
        if !is_device(device) {
            if self.summary.takes(line, cx) {
                return Ok(None);
            }
            return Err(Bad::new(Code::FieldCount, "Line is not in blkparse's default layout", line)
                .on("Device", line, device)
                .expected("'major,minor cpu sequence seconds pid action RWBS sector + n [process]'")
                .fix("run blkparse without -f (a custom output format): blkparse -i NAME -o -"));
        }
        self.summary.ends();
        if fields.count < 6 {
            return Err(wrong_count(line, fields.count, "7 or more", b' '));
        }
        number(line, cpu, "Processor")?;
        number(line, sequence, "Sequence")?;
        let time_ns = cx.decimal(line, time, "Time", 1_000_000_000)?;
        number(line, pid, "Process")?;
        const ACTIONS: [&str; 5] = ["Q", "G", "I", "D", "C"];
        if action.is_empty() || !action.iter().all(u8::is_ascii_alphabetic) {
            return Err(bad_op(line, action, "Action", &ACTIONS));
        }
        let Tail { extent, origin } = tail(line, action, rwbs, [sector, plus, count])?;
        let id = self.layers.device(device);
        if let (Some((first, sectors)), Some((origin, from))) = (extent, origin) {
            self.layers.remap((id, first, sectors), origin, from);
        }
        // Two-letter actions (UT, DC…) are never the one that is counted.
        if *action != [self.action] {
            cx.note(Note::OtherEvent);
            if let &[letter @ b'A'..=b'Z'] = action {
                self.others[usize::from(letter - b'A')] += 1;
            }
            return Ok(None);
        }
        let Some(kind) = Rwbs::of(rwbs) else {
            return Err(bad_op(line, rwbs, "RWBS", &["R", "W", "D", "F", "N"]));
        };
        self.records += 1;
        let (first, sectors) = extent.unwrap_or((0, 0));
        let op = kind.with_bytes(sectors);
        // Bytes, and a command in parentheses: SCSI pass-through.
        let passed = extent.is_none() && op != Op::Flush;
        if passed || op == Op::Other {
            return cx.pass(if kind.changes { Note::ChangesData } else { Note::OtherOp });
        }
        if self.layers.again((id, first, sectors)) {
            return cx.pass(Note::OtherLayer);
        }
        if op == Op::Flush && !cx.flushes {
            return cx.pass(Note::OtherOp);
        }
        let (offset, bytes) = extent_bytes(line, (first, sectors), [sector, count])?;
        cx.on_volume(device, Record { time_ns, offset, bytes, volume: 0, op, fua: kind.fua, stream: 0 })
    }

    fn finish(&mut self, cx: &mut Context) -> Result<(), Box<Bad>> {
        let found = self.found();
        if self.records == 0 && !found.is_empty() {
            return Err(Bad::new(Code::NoAction, format!("No event {} in the trace", self.action as char), &[])
                .expected(format!("one of the actions that occur: {found}"))
                .fix(match CHOICES.iter().find(|action| self.others[usize::from(**action - b'A')] > 0) {
                    Some(action) => format!("choose one, as in --format blkparse:{}", *action as char),
                    None => "none of them has a sector: capture the trace again, with blktrace -a issue".to_owned(),
                }));
        }
        if !found.is_empty() {
            cx.notes.state(Note::Action, format!("{}, not {found}", self.action as char));
        }
        Ok(())
    }
}
