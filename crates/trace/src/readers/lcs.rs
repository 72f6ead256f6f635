//! libCacheSim's binary traces, little endian: `.lcs` of versions 1 to 8, and oracleGeneral, which has no header.
//!
//! A record begins with the time in whole seconds (u32) and the object (u64), which is an address of blocks in a trace of a disk; the
//! file does not say in which unit. Then the size in bytes (u32, from version 3 on i64), and from version 2 on a word with the operation
//! (8 bits) and the tenant (24 bits). The number of the object's next request (i64) and what else follows are for caches. The header
//! has 8,192 bytes. Some writers put the word of version 2 behind the next request; its value tells where it is.
//! Source: `traceReader/customizedReader/lcs.h` and `oracle/oracleGeneralBin.h` of libCacheSim.

use crate::error::Code;
use crate::map::Objects;
use crate::notes::Note;
use crate::readers::line::*;

/// Bytes of the header.
pub(crate) const HEADER: usize = 8192;
/// The mark at both ends of it.
const MARK: u64 = 0x1234_5678_9abc_def0;
/// Bytes of a record by version, from 1.
const RECORDS: [usize; 8] = [24, 28, 36, 40, 44, 52, 68, 100];

/// Whether these first bytes are those of an `.lcs` file.
pub(crate) fn fits(head: &[u8]) -> bool {
    head.starts_with(&MARK.to_le_bytes())
}

pub(crate) struct Lcs {
    objects: Objects,
    /// 0: oracleGeneral.
    version: usize,
    /// Bytes of the header that are still to come.
    header: usize,
    /// Where records of version 2 have their word, once one of them tells.
    word: Option<usize>,
}

/// Places of the word with the operation in version 2: before the next request, as libCacheSim writes it, or behind it.
const BEFORE: usize = 16;
const BEHIND: usize = 24;

/// Whether a record of version 2 may have its word there: the operation is a known one, and what is then the next request has the
/// number of one, or none. A record with an operation at one place has none at the other.
fn word_fits(record: &[u8], at: usize) -> bool {
    let next = u64_at(record, if at == BEFORE { BEFORE + 4 } else { BEFORE });
    u32_at(record, at) & 0xff <= 14 && (next >> 32 == 0 || next == u64::MAX || next == i64::MAX as u64)
}

impl Lcs {
    pub fn of(objects: Objects, headed: bool, head: &[u8]) -> Lcs {
        let version = head.get(8..16).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes);
        // A version that is not known is an error of the first record.
        let version = if headed { usize::try_from(version).unwrap_or(usize::MAX) } else { 0 };
        Lcs { objects, version, header: if headed { HEADER } else { 0 }, word: None }
    }

    /// The operation and the tenant of a record, from version 2 on.
    fn word(&mut self, record: &[u8], cx: &mut Context) -> Result<Option<u32>, Box<Bad>> {
        match self.version {
            0 | 1 => return Ok(None),
            2 => {}
            _ => return Ok(Some(u32_at(record, 20))),
        }
        let other = match self.word {
            Some(at) if word_fits(record, at) => return Ok(Some(u32_at(record, at))),
            Some(BEHIND) => BEFORE,
            _ => BEHIND,
        };
        match (word_fits(record, BEFORE), word_fits(record, BEHIND), self.word) {
            (_, true, Some(BEFORE)) | (true, _, Some(BEHIND)) => {
                return Err(Bad::new(Code::FieldCount, "The word with the operation changes its place", record)
                    .on("op", record, &record[other..other + 4])
                    .expected("one layout of all records")
                    .fix("convert the trace with libCacheSim's traceConv"));
            }
            (false, true, None) => {
                self.word = Some(BEHIND);
                cx.notes.state(Note::WordBehind, "");
            }
            (true, false, None) => self.word = Some(BEFORE),
            _ => {}
        }
        Ok(Some(u32_at(record, self.word.unwrap_or(BEFORE))))
    }

    fn record(&self) -> usize {
        RECORDS.get(self.version.saturating_sub(1)).copied().unwrap_or(RECORDS[0])
    }
}

impl Parser for Lcs {
    fn record_bytes(&self) -> Option<usize> {
        Some(self.record())
    }

    fn header_bytes(&self) -> usize {
        self.header
    }

    fn parse(&mut self, record: &[u8], cx: &mut Context) -> Outcome {
        let (size, objects) = (self.record(), self.objects);
        if self.version > RECORDS.len() || self.header > 0 && self.version == 0 {
            return Err(Bad::new(
                Code::Version,
                format!("Version {} of the format is not known", self.version),
                record,
            )
            .expected(format!("1 to {}", RECORDS.len()))
            .fix("convert the trace with libCacheSim's traceConv"));
        }
        if record.len() < size {
            return Err(Bad::new(
                Code::FieldCount,
                format!("Record has {} bytes instead of {size}", record.len()),
                record,
            )
            .expected(format!("{size} bytes")));
        }
        let wide = self.version >= 3;
        let bytes = if wide { u64_at(record, 12) } else { u64::from(u32_at(record, 12)) };
        if bytes > i64::MAX as u64 {
            return Err(Bad::new(Code::Negative, "obj_size is negative", record).on(
                "obj_size",
                record,
                &record[12..20],
            ));
        }
        let word = self.word(record, cx)?;
        let op = match (word.map(|word| word & 0xff), objects.op) {
            (_, Some(op)) => op,
            // get, gets, read
            (Some(1 | 2 | 12), None) => Op::Read,
            // set, add, cas, replace, append, prepend, incr, decr, write, update
            (Some(3..=8 | 10 | 11 | 13 | 14), None) => Op::Write,
            (Some(9), None) => Op::Trim,
            (Some(_), None) => {
                return cx.pass(Note::NoOp);
            }
            (None, None) => {
                return Err(Bad::new(Code::Operation, "The records have no operation", record)
                    .expected("the operation of all of them in the format")
                    .fix("name it: --format lcs:id=sectors,op=read, or oraclegeneral:id=sectors,op=read"));
            }
        };
        let offset = u64_at(record, 4).checked_mul(objects.unit).ok_or_else(|| {
            Bad::new(Code::Range, "obj_id does not fit in 64 bits of bytes", record)
                .on("obj_id", record, &record[4..12])
                .fix("the object may be a hash and no address; else check id=")
        })?;
        check_end(record, offset, bytes, &record[12..16])?;
        let time_ns = u64::from(u32_at(record, 0)) * 1_000_000_000;
        if cx.first {
            cx.notes.state(Note::WholeSeconds, "");
        }
        let volume = match word {
            None => Some(0),
            Some(word) => {
                let tenant = word >> 8;
                cx.volume_of(&tenant.to_le_bytes(), |_| tenant.to_string().into_bytes())?
            }
        };
        let Some(volume) = volume else { return Ok(None) };
        Ok(Some(Record { time_ns, offset, bytes, volume, op, fua: false, stream: 0 }))
    }
}
