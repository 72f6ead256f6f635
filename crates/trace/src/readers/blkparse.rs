//! blkparse text: `dev cpu seq time pid action RWBS sector + n [process]`.
//!
//! Every line is parsed completely, even lines of events that are not counted: a cut or changed line means that the capture
//! is damaged. One request appears as several events (Q queued, G got a request, I inserted, D issued, C completed); one of them is
//! counted, `Q` unless the format says otherwise. Lines of one processor are in order, those of several are merged
//! roughly: the reader sorts within a window. The summary at the end is skipped. Source: `blkparse_fmt.c`.

use crate::error::Code;
use crate::notes::Note;
use crate::number::{self, Fault};
use crate::readers::line::*;
use crate::record::Op;

pub(crate) struct Blkparse {
    action: u8,
    /// Inside the statistics at the end.
    summary: bool,
    records: u64,
    /// How often each other action with a sector occurred.
    others: [u64; 26],
    flushes: u64,
}

impl Blkparse {
    pub fn new(action: u8) -> Blkparse {
        Blkparse { action, summary: false, records: 0, others: [0; 26], flushes: 0 }
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

/// What follows the RWBS column, as blkparse writes it, and the sector and count if it has them:
/// `sector + count`, `sector / sector` (X), only a sector or a number of bytes, or none; then blocks in parentheses (an
/// elapsed time, a dump of the command); then `[process]` or `[error]`, for U with a number behind it. A remap ends in its
/// origin; a message is free text.
fn tail(line: &[u8], action: &[u8], rwbs: &[u8], at: [&[u8]; 3]) -> Result<Option<(u64, u64)>, Box<Bad>> {
    let cut = |part: &[u8], expected: &str| {
        Bad::new(Code::FieldCount, "Line is not in blkparse's default layout", line)
            .on("Event", line, part)
            .expected(expected)
            .fix("if this is the last line, the capture was cut: drop it with --on-bad-line skip=1; else run blkparse without -f (a custom output format)")
    };
    let behind = |part: &[u8]| trim(&line[span(line, part).end..]);
    // A message may be empty, and its text anything.
    if action == b"m" {
        return Ok(None);
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
        number(line, from, "Origin")?;
        return Ok(extent);
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
    if complete { Ok(extent) } else { Err(cut(rest, "'[process]' at the end")) }
}

impl Parser for Blkparse {
    fn parse(&mut self, line: &[u8], cx: &mut Context) -> Outcome {
        let fields: Fields<'_, 10> = split_blanks(line)?;
        let [device, cpu, sequence, time, pid, action, rwbs, sector, plus, count] = fields.at;
        if !is_device(device) {
            let heading = [&b"CPU"[..], b"Total (", b"Throughput", b"Events (", b"Skips:", b"Trace started"];
            if heading.iter().any(|h| line.starts_with(h)) {
                self.summary = true;
            }
            // Every line of it is a heading or `name: value`.
            if self.summary && line.contains(&b':') {
                return Ok(Parsed::Pass);
            }
            return Err(Bad::new(Code::FieldCount, "Line is not in blkparse's default layout", line)
                .on("Device", line, device)
                .expected("'major,minor cpu sequence seconds pid action RWBS sector + n [process]'")
                .fix("run blkparse without -f (a custom output format): blkparse -i NAME -o -"));
        }
        self.summary = false;
        if fields.count < 6 {
            return Err(wrong_count(line, fields.count, "7 or more", b' '));
        }
        number(line, cpu, "Processor")?;
        number(line, sequence, "Sequence")?;
        let time = decimal(line, time, "Time", 1_000_000_000)?;
        let time_ns = cx.time(time);
        number(line, pid, "Process")?;
        const ACTIONS: [&str; 5] = ["Q", "G", "I", "D", "C"];
        if action.is_empty() || !action.iter().all(u8::is_ascii_alphabetic) {
            return Err(bad_op(line, action, "Action", &ACTIONS));
        }
        let extent = tail(line, action, rwbs, [sector, plus, count])?;
        // Two-letter actions (UT, DC…) are never the one that is counted.
        let &[letter] = action else {
            cx.note(Note::OtherEvent);
            return Ok(Parsed::Pass);
        };
        if letter != self.action {
            cx.note(Note::OtherEvent);
            if letter.is_ascii_uppercase() {
                self.others[usize::from(letter - b'A')] += 1;
            }
            return Ok(Parsed::Pass);
        }
        // A leading F is a flush before the data, which is not simulated apart from it; a later one is forced unit access.
        let kind = match rwbs {
            [b'F', rest @ ..] if !rest.is_empty() => rest,
            all => all,
        };
        let op = match kind.first() {
            Some(b'R') => Op::Read,
            Some(b'W') => Op::Write,
            Some(b'D') => Op::Trim,
            Some(b'F' | b'N') => Op::Other,
            _ => return Err(bad_op(line, rwbs, "RWBS", &["R", "W", "D", "F", "N"])),
        };
        // An empty flush has no sector: the name of the process follows at once, or nothing.
        let flush = rwbs.contains(&b'F') && (op == Op::Other || extent.is_none());
        if op == Op::Other || flush {
            self.flushes += 1;
            self.records += 1;
            if flush && cx.flushes {
                let Some(volume) = cx.volume(device)? else { return Ok(Parsed::Pass) };
                let (first, sectors) = extent.unwrap_or((0, 0));
                let (offset, bytes) = (first.saturating_mul(512), sectors.saturating_mul(512));
                check_end(line, offset, bytes, count)?;
                return Ok(Parsed::Record(Raw {
                    time_ns,
                    offset,
                    bytes,
                    volume,
                    op: Op::Flush,
                    fua: false,
                    stream: 0,
                }));
            }
            cx.note(Note::OtherOp);
            return Ok(Parsed::Pass);
        }
        let Some((first, sectors)) = extent else {
            return Err(bad_number(line, sector, "Sector", number::classify(sector)));
        };
        let offset = first.checked_mul(512).ok_or_else(|| {
            let fault = Fault { code: Code::Range, what: "does not fit in 64 bits", hint: None };
            bad_number(line, sector, "Sector", fault)
        })?;
        if sectors >= u64::from(u32::MAX) {
            return Err(Bad::new(Code::TooLarge, "Sector count is not a valid size", line)
                .on("Sector count", line, count)
                .expected("the sectors of one request"));
        }
        let bytes = sectors * 512;
        check_end(line, offset, bytes, count)?;
        let Some(volume) = cx.volume(device)? else {
            return Ok(Parsed::Pass);
        };
        self.records += 1;
        let fua = op == Op::Write && kind.contains(&b'F');
        Ok(Parsed::Record(Raw { time_ns, offset, bytes, volume, op, fua, stream: 0 }))
    }

    fn finish(&mut self, cx: &mut Context) -> Result<(), Box<Bad>> {
        let found = self.found();
        if self.records == 0 && !found.is_empty() {
            return Err(Bad::new(Code::NoAction, format!("No event {} in the trace", self.action as char), &[])
                .expected(format!("one of the actions that occur: {found}"))
                .fix("choose one, as in --format blkparse:D"));
        }
        if !found.is_empty() {
            cx.notes.state(Note::Action, format!("{}, not {found}", self.action as char));
        }
        Ok(())
    }
}
