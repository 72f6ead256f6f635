//! SYSTOR '17 (LUN traces): `Timestamp,Response,IOType,LUN,Offset,Size`.
//!
//! Unix seconds with nine digits (accurate to 1 µs), bytes. A blank IOType means that no response was seen: such
//! records are skipped and counted. Seconds and fraction are two integers: a double would lose nanoseconds.

use crate::error::Code;
use crate::notes::Note;
use crate::number;
use crate::readers::line::*;

pub(crate) struct Systor;

impl Parser for Systor {
    #[inline]
    fn parse(&mut self, line: &[u8], cx: &mut Context) -> Outcome {
        let fields: Fields<'_, 6> = split(line, b',')?;
        if fields.count != 6 {
            return Err(wrong_count(line, fields.count, "6", b','));
        }
        let [time, response, kind, lun, offset, size] = fields.at;
        if is_header(time, offset) {
            return header(line, cx);
        }
        let time_ns = cx.decimal(line, time, "Timestamp", 1_000_000_000)?;
        if kind.is_empty() {
            return cx.pass(Note::NoOp);
        }
        let op = read_or_write(line, kind, "IOType", ["R", "W"])?;
        let first = number(line, offset, "Offset")?;
        let bytes = number(line, size, "Size")?;
        check_end(line, first, bytes, size)?;
        if number::decimal(response, 1_000_000_000).is_err() {
            cx.note(Note::Response);
        }
        if lun.is_empty() {
            return Err(Bad::new(Code::Empty, "LUN is empty", line).on("LUN", line, lun).expected("a number"));
        }
        cx.on_volume(lun, Record { time_ns, offset: first, bytes, volume: 0, op, fua: false, stream: 0 })
    }
}
