//! blkreplay loads: `start ; sector ; length ; op ; …`, seconds and 512 B sectors.
//!
//! Free text (a licence) precedes the data, sometimes twice, with a line of column names below it; it is skipped and
//! counted. `RA` is a read-ahead.

use crate::notes::Note;
use crate::readers::line::*;

#[derive(Default)]
pub(crate) struct Blkreplay {
    /// The line of column names has been seen.
    named: bool,
    started: bool,
}

impl Parser for Blkreplay {
    #[inline]
    fn parse(&mut self, line: &[u8], cx: &mut Context) -> Outcome {
        let fields: Fields<'_, 4> = if self.started {
            split(line, b';')?
        } else {
            // Introductory text may hold anything, quotes included.
            split(line, b';').unwrap_or(Fields { at: [&[]; 4], count: 1 })
        };
        let [time, sector, length, kind] = fields.at;
        if !self.started {
            if fields.count >= 4 && is_header(time, sector) {
                self.named = true;
                return cx.pass(Note::Header);
            }
            let number = |field: &[u8]| field.first().is_some_and(|b| b.is_ascii_digit());
            if fields.count < 4 || !(self.named || number(time) && number(sector)) {
                return cx.pass(Note::Prologue);
            }
            self.started = true;
        }
        if fields.count < 4 {
            return Err(wrong_count(line, fields.count, "4 or more", b';'));
        }
        if is_header(time, sector) {
            cx.first = false;
            return header(line, cx);
        }
        let time_ns = cx.decimal(line, time, "start", 1_000_000_000)?;
        let offset = scaled(line, sector, "sector", 512)?;
        let bytes = scaled(line, length, "length", 512)?;
        let op = match kind {
            b"R" | b"r" | b"RA" | b"ra" => Op::Read,
            b"W" | b"w" => Op::Write,
            b"D" | b"d" => Op::Trim,
            _ => return Err(bad_op(line, kind, "op", &["R", "W", "RA", "D"])),
        };
        check_end(line, offset, bytes, length)?;
        Ok(Some(Record { time_ns, offset, bytes, volume: 0, op, fua: false, stream: 0 }))
    }
}
