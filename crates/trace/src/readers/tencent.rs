//! Tencent cloud block storage, 2018: `Timestamp,Offset,Size,IOType,VolumeID`.
//!
//! Whole seconds since 1970, 512 B sectors for both offset and size, 0 = read, 1 = write. The one-second clock stays
//! as it is: requests of a second arrive together, unless `--within-second even` spreads them.

use crate::error::Code;
use crate::readers::line::*;

pub(crate) struct Tencent;

impl Parser for Tencent {
    #[inline]
    fn parse(&mut self, line: &[u8], cx: &mut Context) -> Outcome {
        let fields: Fields<'_, 5> = split(line, b',')?;
        if fields.count != 5 {
            return Err(wrong_count(line, fields.count, "5", b','));
        }
        let [time, offset, size, kind, volume] = fields.at;
        if is_header(time, offset) {
            return header(line, cx);
        }
        let time_ns = scaled(line, time, "Timestamp", 1_000_000_000)?;
        let first = scaled(line, offset, "Offset", 512)?;
        let bytes = scaled(line, size, "Size", 512)?;
        let op = read_or_write(line, kind, "IOType", ["0", "1"])?;
        check_end(line, first, bytes, size)?;
        if volume.is_empty() {
            return Err(Bad::new(Code::Empty, "VolumeID is empty", line)
                .on("VolumeID", line, volume)
                .expected("a number"));
        }
        cx.on_volume(volume, Record { time_ns, offset: first, bytes, volume: 0, op, fua: false, stream: 0 })
    }
}
