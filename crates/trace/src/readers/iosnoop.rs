//! perf-tools' `iosnoop`: `[STARTs] [ENDs] COMM PID TYPE DEV BLOCK BYTES LATms`.
//!
//! With `-s` the start of a request is there, and is its arrival; with `-t` only its end, and arrival is the end less the latency.
//! Without either there is only the order. The header says which. Names have blanks, so a line is read from both ends.
//! Blocks of 512 B.

use crate::error::Code;
use crate::notes::Note;
use crate::readers::line::*;

#[derive(Default)]
pub(crate) struct Iosnoop {
    /// Columns of time before the name: start, end.
    starts: bool,
    ends: bool,
    seen: bool,
}

const WORDS: usize = 24;

impl Parser for Iosnoop {
    // Lines come in the order of completion, also where they have the start.
    fn completes(&self) -> bool {
        true
    }

    fn parse(&mut self, line: &[u8], cx: &mut Context) -> Outcome {
        let fields: Fields<'_, WORDS> = split_blanks(line)?;
        let words = &fields.at[..fields.count.min(WORDS)];
        if words.ends_with(&[&b"BLOCK"[..], b"BYTES", b"LATms"]) {
            let has = |name: &[u8]| words.iter().any(|word| word.starts_with(name));
            (self.starts, self.ends, self.seen) = (has(b"START"), has(b"END"), true);
            return cx.pass(Note::Header);
        }
        if line.starts_with(b"Tracing") || line.starts_with(b"Ending tracing") || line.starts_with(b"Buffering") {
            return cx.pass(Note::Prologue);
        }
        let times = usize::from(self.starts) + usize::from(self.ends);
        if !self.seen {
            return Err(Bad::new(Code::Header, "The columns are not named", line)
                .expected("a line such as 'STARTs COMM PID TYPE DEV BLOCK BYTES LATms' first")
                .fix("keep the header, which says whether the times are those of start or end"));
        }
        if fields.count > WORDS || words.len() < times + 8 - 1 {
            return Err(wrong_count(line, fields.count, "7 or more", b' '));
        }
        let [process, kind, device, block, size, latency_field] = words[words.len() - 6..] else {
            return Err(wrong_count(line, fields.count, "7 or more", b' '));
        };
        number(line, process, "PID")?;
        let latency = cx.decimal(line, latency_field, "LATms", 1_000_000)?;
        let time = |at: usize, name, cx: &mut Context| cx.decimal(line, words[at], name, 1_000_000_000);
        let time_ns = if self.starts {
            let start = time(0, "STARTs", cx)?;
            let end = if self.ends { time(1, "ENDs", cx)? } else { start.saturating_add(latency) };
            cx.arrival(end, end.saturating_sub(start), line, latency_field)?
        } else if self.ends {
            let end = time(0, "ENDs", cx)?;
            cx.arrival(end, latency, line, latency_field)?
        } else {
            cx.arrival(0, 0, line, latency_field)?
        };
        let Some(known) = op_word(kind) else { return Err(bad_op(line, kind, "TYPE", &["R", "W", "D", "F"])) };
        let (offset, bytes) = (scaled(line, block, "BLOCK", 512)?, number(line, size, "BYTES")?);
        check_end(line, offset, bytes, size)?;
        let op = known.with_bytes(bytes);
        if known.changes {
            return cx.pass(Note::ChangesData);
        }
        cx.on_volume(device, Record { time_ns, offset, bytes, volume: 0, op, fua: known.fua, stream: 0 })
    }
}
