//! Alibaba block traces of 2020: `device_id,opcode,offset,length,timestamp`, bytes and µs since 1970, no header.

use crate::readers::line::*;

pub(crate) struct Alibaba;

impl Parser for Alibaba {
    #[inline]
    fn parse(&mut self, line: &[u8], cx: &mut Context) -> Outcome {
        let fields: Fields<'_, 5> = split(line, b',')?;
        if fields.count != 5 {
            return Err(wrong_count(line, fields.count, "5", b','));
        }
        let [device, opcode, offset, length, time] = fields.at;
        if is_header(offset, time) {
            return header(line, cx);
        }
        number(line, device, "device_id")?;
        let op = read_or_write(line, opcode, "opcode", ["R", "W"])?;
        let first = number(line, offset, "offset")?;
        let bytes = number(line, length, "length")?;
        check_end(line, first, bytes, length)?;
        let time_ns = scaled(line, time, "timestamp", 1_000)?;
        cx.on_volume(device, Record { time_ns, offset: first, bytes, volume: 0, op, fua: false, stream: 0 })
    }
}
