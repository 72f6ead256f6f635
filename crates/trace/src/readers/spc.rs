//! SPC trace files (UMass): `ASU,LBA,Size,Opcode,Timestamp[,…]`.
//!
//! LBA in blocks of 512 B, size in bytes, time in seconds from the start. Blanks inside fields, either case of the
//! opcode and optional fields after the fifth are legal (specification 1.0.1). Every ASU is its own address space.

use crate::error::Code;
use crate::notes::Note;
use crate::readers::line::*;

#[derive(Default)]
pub(crate) struct Spc {
    units: Vec<u64>,
}

impl Parser for Spc {
    #[inline]
    fn parse(&mut self, line: &[u8], cx: &mut Context) -> Outcome {
        let fields: Fields<'_, 6> = split(line, b',')?;
        if fields.count < 5 {
            return Err(wrong_count(line, fields.count, "5 or more", b','));
        }
        let [unit, lba, size, opcode, time, sixth] = fields.at;
        if is_header(unit, lba) {
            return header(line, cx);
        }
        let asu = number(line, unit, "ASU")?;
        let offset = scaled(line, lba, "LBA", 512)?;
        let bytes = number(line, size, "Size")?;
        let op = read_or_write(line, opcode, "Opcode", ["R", "W"])?;
        check_end(line, offset, bytes, size)?;
        // `0,000000`: the sixth field would be a fraction of a comma decimal; real optional fields differ.
        let fraction = fields.count == 6 && sixth.len() >= 3 && sixth.iter().all(u8::is_ascii_digit);
        if fraction && !time.contains(&b'.') && time.iter().all(u8::is_ascii_digit) {
            return Err(Bad::new(Code::FieldCount, "Timestamp has a comma as decimal mark", line)
                .on("Timestamp", line, time)
                .expected("seconds with a decimal point")
                .fix("export the trace again with a decimal point"));
        }
        let decimal = decimal(line, time, "Timestamp", 1_000_000_000)?;
        if decimal.form {
            cx.note(Note::TimeForm);
        }
        let time_ns = cx.time(decimal);
        let Some(volume) = cx.volume(unit)? else { return Ok(None) };
        if volume as usize >= self.units.len() {
            self.units.push(asu);
        }
        Ok(Some(Record { time_ns, offset, bytes, volume, op, fua: false, stream: 0 }))
    }

    fn finish(&mut self, cx: &mut Context) -> Result<(), Box<Bad>> {
        self.units.sort_unstable();
        let highest = self.units.last().copied().unwrap_or(0);
        if self.units.len() > 1 && highest >= self.units.len() as u64 {
            let first = self.units.iter().take(12).map(u64::to_string).collect::<Vec<_>>().join(", ");
            let more = if self.units.len() > 12 { ", ..." } else { "" };
            cx.notes.state(Note::UnitHoles, format!("only ASU {first}{more} occur"));
        }
        Ok(())
    }
}
