//! DiskMon logs: `sequence time duration disk type sector length`, seconds and 512 B sectors.

use crate::notes::Note;
use crate::number;
use crate::readers::line::*;
use crate::record::Op;

pub(crate) struct Diskmon;

impl Parser for Diskmon {
    #[inline]
    fn parse(&mut self, line: &[u8], cx: &mut Context) -> Outcome {
        let fields: Fields<'_, 7> = split_blanks(line)?;
        if is_header(fields.at[0], fields.at[5]) || cx.first && is_header(fields.at[0], fields.at[1]) {
            return header(line, cx);
        }
        if fields.count != 7 {
            return Err(wrong_count(line, fields.count, "7", b' '));
        }
        let [sequence, time, duration, disk, kind, sector, length] = fields.at;
        number(line, sequence, "Sequence")?;
        let time = decimal(line, time, "Time", 1_000_000_000)?;
        let time_ns = cx.time(time);
        if number::decimal(duration, 1_000_000_000).is_err() {
            cx.note(Note::Response);
        }
        let op = if kind.eq_ignore_ascii_case(b"read") {
            Op::Read
        } else if kind.eq_ignore_ascii_case(b"write") {
            Op::Write
        } else {
            return Err(bad_op(line, kind, "Request", &["Read", "Write"]));
        };
        let offset = scaled(line, sector, "Sector", 512)?;
        let bytes = scaled(line, length, "Length", 512)?;
        check_end(line, offset, bytes, length)?;
        let Some(volume) = cx.volume(disk)? else {
            return Ok(Parsed::Pass);
        };
        Ok(Parsed::Record(Raw { time_ns, offset, bytes, volume, op, fua: false, stream: 0 }))
    }
}
