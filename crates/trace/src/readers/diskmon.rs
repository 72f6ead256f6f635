//! DiskMon logs: `sequence time duration disk type sector length`, seconds and 512 B sectors.

use crate::notes::Note;
use crate::number;
use crate::readers::line::*;

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
        let time_ns = cx.decimal(line, time, "Time", 1_000_000_000)?;
        if number::decimal(duration, 1_000_000_000).is_err() {
            cx.note(Note::Response);
        }
        let op = read_or_write(line, kind, "Request", ["Read", "Write"])?;
        let offset = scaled(line, sector, "Sector", 512)?;
        let bytes = scaled(line, length, "Length", 512)?;
        check_end(line, offset, bytes, length)?;
        cx.on_volume(disk, Record { time_ns, offset, bytes, volume: 0, op, fua: false, stream: 0 })
    }
}
