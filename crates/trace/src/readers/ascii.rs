//! Five columns between blanks: SSDsim, MQSim and DiskSim.
//!
//! SSDsim and MQSim: `time device lsn sectors op`, nanoseconds, 512 B, 1 = read, 0 = write. (MQSim parses a
//! `Time_Unit` and never applies it: times are always nanoseconds.) Both programs ignore the device column; here each
//! device is a volume, because traces converted from several volumes would otherwise alias. DiskSim:
//! `time devno blkno bcount flags`, decimal milliseconds, 512 B, hexadecimal flags with bit 0 set for a read.

use crate::error::Code;
use crate::notes::Note;
use crate::number;
use crate::options::OpCodes;
use crate::readers::line::*;

pub(crate) struct Ascii {
    disksim: bool,
    read: u64,
    reads: u64,
    total: u64,
}

impl Ascii {
    pub fn sectors(codes: OpCodes) -> Ascii {
        let read = match codes {
            OpCodes::ReadIsOne => 1,
            OpCodes::ReadIsZero => 0,
        };
        Ascii { disksim: false, read, reads: 0, total: 0 }
    }

    pub fn disksim() -> Ascii {
        Ascii { disksim: true, read: 1, reads: 0, total: 0 }
    }

    fn names(&self) -> [&'static str; 5] {
        if self.disksim {
            ["Arrival time", "Device", "Block", "Block count", "Flags"]
        } else {
            ["Time", "Device", "Sector", "Sector count", "Operation"]
        }
    }
}

impl Parser for Ascii {
    #[inline]
    fn parse(&mut self, line: &[u8], cx: &mut Context) -> Outcome {
        let fields: Fields<'_, 5> = split_blanks(line)?;
        if fields.count != 5 {
            let bad = wrong_count(line, fields.count, "5", b' ');
            return Err(if fields.count > 5 {
                bad.fix("a derived dialect: name its columns with --format columns:time=0:ns,vol=1,offset=2:sectors,size=3:sectors,op=4:0w1r,sep=space")
            } else {
                bad
            });
        }
        let [time, device, block, count, code] = fields.at;
        if is_header(time, block) {
            return header(line, cx);
        }
        let names = self.names();
        let time_ns =
            if self.disksim { cx.decimal(line, time, names[0], 1_000_000)? } else { number(line, time, names[0])? };
        number(line, device, names[1])?;
        let offset = scaled(line, block, names[2], 512)?;
        let bytes = scaled(line, count, names[3], 512)?;
        let read = if self.disksim {
            number::hexadecimal(code).map_err(|fault| bad_number(line, code, names[4], fault))? & 1 == 1
        } else {
            match code {
                b"0" => self.read == 0,
                b"1" => self.read == 1,
                _ => {
                    let bad = bad_op(line, code, names[4], &["0", "1"]);
                    let word = bad.code == Code::Operation && op_word(code).is_some();
                    return Err(if word {
                        bad.fix("this dialect writes words: use --format columns:time=0:ns,vol=1,offset=2:sectors,size=3:sectors,op=4,sep=space")
                    } else {
                        bad
                    });
                }
            }
        };
        check_end(line, offset, bytes, count)?;
        let Some(volume) = cx.volume(device)? else { return Ok(None) };
        self.total += 1;
        self.reads += u64::from(read);
        let op = if read { Op::Read } else { Op::Write };
        Ok(Some(Record { time_ns, offset, bytes, volume, op, fua: false, stream: 0 }))
    }

    fn finish(&mut self, cx: &mut Context) -> Result<(), Box<Bad>> {
        // Few requests can be of one kind by chance.
        let extreme = self.reads * 1000 > self.total * 999 || self.reads * 1000 < self.total;
        if self.total >= 100 && extreme && !self.disksim {
            cx.notes.state(
                Note::OpCodes,
                format!(
                    "{} of {} are reads; if 0 means read here, use --op-codes read-is-zero",
                    self.reads, self.total
                ),
            );
        }
        Ok(())
    }
}
