//! Alibaba block traces of 2020: `device_id,opcode,offset,length,timestamp`, bytes and µs since 1970, no header.

use crate::readers::line::*;
use crate::record::Op;

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
        let op = match opcode {
            b"R" | b"r" => Op::Read,
            b"W" | b"w" => Op::Write,
            _ => return Err(bad_op(line, opcode, "opcode", &["R", "W"])),
        };
        let first = number(line, offset, "offset")?;
        let bytes = number(line, length, "length")?;
        check_end(line, first, bytes, length)?;
        let time_ns = scaled(line, time, "timestamp", 1_000)?;
        let Some(volume) = cx.volume(device)? else {
            return Ok(Parsed::Pass);
        };
        Ok(Parsed::Record(Raw { time_ns, offset: first, bytes, volume, op, fua: false, stream: 0 }))
    }
}
