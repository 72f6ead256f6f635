//! blkparse text: `dev cpu seq time pid action RWBS sector + n [process]`.
//!
//! One request shows as several events (Q queued, G got a request, I inserted, D issued, C completed); one of them is
//! counted, `Q` unless the format says otherwise. Lines of one processor are in order, those of several are merged
//! roughly: the reader sorts within a window. The summary at the end is passed over. Source: `blkparse_fmt.c`.

use super::*;

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

impl Parser for Blkparse {
    fn parse(&mut self, line: &[u8], cx: &mut Context) -> Outcome {
        let fields: Fields<'_, 10> = split_blanks(line)?;
        let [device, cpu, sequence, time, pid, action, rwbs, sector, plus, count] = fields.at;
        if !is_device(device) {
            let heading = [&b"CPU"[..], b"Total (", b"Throughput", b"Events (", b"Skips:", b"Trace started"];
            if heading.iter().any(|h| line.starts_with(h)) {
                self.summary = true;
            }
            if self.summary {
                return Ok(Parsed::Pass);
            }
            return Err(Bad::new(Code::FieldCount, "Line is not in blkparse's own layout", line)
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
        // Two-letter actions (UT, DC…) are never the one that is counted.
        let &[letter] = action else {
            if action.is_empty() || !action.iter().all(u8::is_ascii_alphabetic) {
                return Err(bad_op(line, action, "Action", &["Q", "G", "I", "D", "C"]));
            }
            cx.note(Note::OtherEvent);
            return Ok(Parsed::Pass);
        };
        if !letter.is_ascii_alphabetic() {
            return Err(bad_op(line, action, "Action", &["Q", "G", "I", "D", "C"]));
        }
        if letter != self.action {
            cx.note(Note::OtherEvent);
            if letter.is_ascii_uppercase() {
                self.others[usize::from(letter - b'A')] += 1;
            }
            return Ok(Parsed::Pass);
        }
        // A leading F is a flush before the data; a later one is forced unit access.
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
        let empty = !sector.first().is_some_and(u8::is_ascii_digit);
        if op == Op::Other || empty && (sector.is_empty() || sector.starts_with(b"[")) && rwbs.contains(&b'F') {
            self.flushes += 1;
            self.records += 1;
            cx.note(Note::OtherOp);
            return Ok(Parsed::Pass);
        }
        let offset = scaled(line, sector, "Sector", 512)?;
        if plus != b"+" {
            return Err(Bad::new(Code::FieldCount, "No '+' between sector and count", line)
                .on("Sector count", line, plus)
                .expected("'sector + count'")
                .fix("run blkparse without -f (a custom output format)"));
        }
        let sectors = number(line, count, "Sector count")?;
        if sectors >= u64::from(u32::MAX) {
            return Err(Bad::new(Code::TooLarge, "Sector count is no real size", line)
                .on("Sector count", line, count)
                .expected("the sectors of one request"));
        }
        let bytes = sectors * 512;
        check_end(line, offset, bytes, count)?;
        let Some(volume) = cx.volume(device)? else {
            return Ok(Parsed::Pass);
        };
        self.records += 1;
        Ok(Parsed::Record(Raw { time_ns, offset, bytes, volume, op }))
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
