//! bcc's `biosnoop`: `TIME(s) COMM PID DISK T SECTOR BYTES [QUE(ms)] LAT(ms)`.
//!
//! The time is that of completion: arrival is TIME less LAT, the time from issue to completion. Names have blanks, so a line is read
//! from both ends; the disk may be missing. Some versions have more columns before LAT, or a time of day (`TIMESTAMP`) in front; the
//! header says so. Sectors of 512 B.

use crate::error::Code;
use crate::iso::of_day;
use crate::notes::Note;
use crate::readers::line::*;

#[derive(Default)]
pub(crate) struct Biosnoop {
    /// Columns between the size and the latency, such as the time in the queue.
    between: usize,
    of_day: bool,
    started: bool,
}

/// Words of a line; a name of many words is no name.
const WORDS: usize = 24;

impl Parser for Biosnoop {
    fn completes(&self) -> bool {
        true
    }

    fn parse(&mut self, line: &[u8], cx: &mut Context) -> Outcome {
        let fields: Fields<'_, WORDS> = split_blanks(line)?;
        let words = &fields.at[..fields.count.min(WORDS)];
        if words.first().is_some_and(|word| word.starts_with(b"TIME")) && words.contains(&&b"SECTOR"[..]) {
            let place = |name: &[u8]| words.iter().position(|word| *word == name);
            // BYTES and LAT(ms) are not between.
            self.between = place(b"BYTES").map_or(0, |at| (words.len() - at).saturating_sub(2));
            self.of_day = words[0] == b"TIMESTAMP";
            // A line of the tool's may stand before it.
            cx.first = !self.started;
            return header(line, cx);
        }
        // `Tracing block device I/O... Hit Ctrl-C to end.`
        if !self.started && line.starts_with(b"Tracing") {
            return cx.pass(Note::Prologue);
        }
        let tail = 4 + self.between;
        // Time, name, process; then kind, sector, bytes and latency.
        if fields.count > WORDS || words.len() < 3 + tail {
            return Err(wrong_count(line, fields.count, "8 or more", b' '));
        }
        self.started = true;
        let (head, tail) = words.split_at(words.len() - tail);
        let [kind, sector, size] = [tail[0], tail[1], tail[2]];
        let latency_field = tail[tail.len() - 1];
        let completion = match self.of_day {
            true => of_day(head[0]).map_err(|fault| bad_number(line, head[0], "TIMESTAMP", fault))?,
            false => decimal(line, head[0], "TIME", 1_000_000_000)?,
        };
        let completion = cx.time(completion);
        let latency = cx.decimal(line, latency_field, "LAT", 1_000_000)?;
        let Some(known) = op_word(kind) else { return Err(bad_op(line, kind, "T", &["R", "W", "D", "F"])) };
        let (offset, bytes) = (scaled(line, sector, "SECTOR", 512)?, number(line, size, "BYTES")?);
        check_end(line, offset, bytes, size)?;
        let disk = head[head.len() - 1];
        // The number of the process stands before the disk; at the end, there is no disk.
        if disk.iter().all(u8::is_ascii_digit) {
            return cx.pass(Note::NoDisk);
        }
        let process = head[head.len() - 2];
        if head.len() < 4 || !process.iter().all(|b| b.is_ascii_digit() || *b == b'-') {
            return Err(Bad::new(Code::FieldCount, "No number of a process before the disk", line)
                .on("PID", line, process)
                .expected("'TIME COMM PID DISK T SECTOR BYTES LAT'"));
        }
        let time_ns = cx.arrival(completion, latency, line, latency_field)?;
        let op = known.with_bytes(bytes);
        if known.changes {
            return cx.pass(Note::ChangesData);
        }
        cx.on_volume(disk, Record { time_ns, offset, bytes, volume: 0, op, fua: known.fua, stream: 0 })
    }
}
