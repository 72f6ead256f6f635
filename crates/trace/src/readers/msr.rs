//! MSR Cambridge: `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`.
//!
//! Times are Windows filetimes (100 ns since 1601), offset and size bytes. Disk numbers repeat across hosts, so the
//! volume is host and disk: `hm_0`. The response time is not used. Source: the README of the SNIA IOTTA set.

use crate::error::Code;
use crate::notes::Note;
use crate::number;
use crate::readers::line::*;
use std::ops::Range;

/// Filetimes from 1980 to 2100; anything else is in another unit.
pub(crate) const FILETIMES: Range<u64> = 119_600_064_000_000_000..157_469_184_000_000_000;
/// A day in ticks: no request took longer.
const RESPONSE_MAX: u64 = 864_000_000_000;

#[derive(Default)]
pub(crate) struct Msr {
    seen: bool,
}

impl Parser for Msr {
    #[inline]
    fn parse(&mut self, line: &[u8], cx: &mut Context) -> Outcome {
        let fields: Fields<'_, 7> = split(line, b',')?;
        if fields.count != 7 {
            let bad = wrong_count(line, fields.count, "7", b',');
            return Err(if fields.count == 6 && bad.code == Code::FieldCount {
                bad.fix("without a response time, name the columns: --format columns:time=0:100ns,vol=1,vol=2,op=3,offset=4:bytes,size=5:bytes")
            } else {
                bad
            });
        }
        let [time, host, disk, kind, offset, size, response] = fields.at;
        if is_header(time, offset) {
            return header(line, cx);
        }
        let ticks = number(line, time, "Timestamp")?;
        let op = read_or_write(line, kind, "Type", ["Read", "Write"])?;
        let first_byte = number(line, offset, "Offset")?;
        let bytes = number(line, size, "Size")?;
        check_end(line, first_byte, bytes, size)?;
        let time_ns = match ticks.checked_mul(100) {
            Some(ns) => ns,
            None => scaled(line, time, "Timestamp", 100)?,
        };
        if disk.is_empty() {
            return Err(Bad::new(Code::Empty, "DiskNumber is empty", line)
                .on("DiskNumber", line, disk)
                .expected("a name"));
        }
        // Some exports have no host name; the disk number alone then names the volume.
        if host.is_empty() {
            cx.note(Note::NoHost);
        }
        // The response time is not used, so an invalid one is only noted.
        if !number::integer(response).is_ok_and(|ticks| ticks <= RESPONSE_MAX) {
            cx.note(Note::Response);
        }
        if !self.seen {
            self.seen = true;
            if !FILETIMES.contains(&ticks) {
                let likely = match ticks {
                    1_000_000_000..10_000_000_000 => "seconds since 1970",
                    1_000_000_000_000..10_000_000_000_000 => "milliseconds since 1970",
                    1_000_000_000_000_000..10_000_000_000_000_000 => "microseconds since 1970",
                    1_000_000_000_000_000_000.. => "nanoseconds since 1970",
                    _ => "already counted from the start of the trace",
                };
                cx.notes.state(
                    Note::TimeUnit,
                    format!("timestamps are not filetimes of 1980 to 2100, they look like {likely}; read as 100 ns ticks anyway"),
                );
            }
        }
        let from = span(line, host).start;
        let to = span(line, disk).end;
        let raw = line.get(from..to).unwrap_or(host);
        let Some(volume) = cx.volume_of(raw, |_| [host, b"_", disk].concat())? else { return Ok(None) };
        Ok(Some(Record { time_ns, offset: first_byte, bytes, volume, op, fua: false, stream: 0 }))
    }
}
