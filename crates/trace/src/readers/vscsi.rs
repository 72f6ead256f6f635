//! vscsiStats binary records (CloudPhysics), little endian, µs and 512 B blocks, length in bytes.
//!
//! Version 1, 32 B: sn u32, len u32, nSG u32, cmd u16, ver u16, lbn u64, ts u64. Version 2, 40 B: cmd u16, ver u16,
//! sn u32, len u32, nSG u32, lbn u64, ts u64, rt u64. The version is the high byte of `ver`; `cmd` is the SCSI
//! operation code.

use crate::error::Code;
use crate::notes::Note;
use crate::readers::line::*;
use crate::readers::rwbs::Rwbs;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

impl Version {
    fn bytes(self) -> usize {
        match self {
            Version::One => 32,
            Version::Two => 40,
        }
    }

    fn is(self, record: &[u8]) -> bool {
        match self {
            Version::One => record.get(15) == Some(&1),
            Version::Two => record.get(3) == Some(&2),
        }
    }

    /// Whether the first records agree on the version. Two are enough.
    fn fits(self, head: &[u8]) -> bool {
        let size = self.bytes();
        head.len() >= size && self.is(head) && (head.len() < 2 * size || self.is(&head[size..]))
    }
}

pub(crate) fn fits(head: &[u8]) -> bool {
    Version::One.fits(head) || Version::Two.fits(head)
}

pub(crate) struct Vscsi {
    version: Version,
}

impl Default for Vscsi {
    fn default() -> Vscsi {
        Vscsi { version: Version::One }
    }
}

impl Vscsi {
    /// Decides the version by the first records.
    pub fn of(head: &[u8]) -> Vscsi {
        let two = Version::Two.fits(head) && !Version::One.fits(head);
        Vscsi { version: if two { Version::Two } else { Version::One } }
    }
}

fn u16_at(record: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([record[at], record[at + 1]])
}

impl Parser for Vscsi {
    fn record_bytes(&self) -> Option<usize> {
        Some(self.version.bytes())
    }

    fn parse(&mut self, record: &[u8], cx: &mut Context) -> Outcome {
        let whole = self.version.bytes();
        if record.len() < whole {
            return Err(Bad::new(
                Code::FieldCount,
                format!("Record has {} bytes instead of {whole}", record.len()),
                record,
            )
            .expected(format!("{whole} bytes")));
        }
        if !self.version.is(record) {
            return Err(Bad::new(Code::Version, "Record has another version than the first one", record)
                .on("ver", record, if self.version == Version::One { &record[14..16] } else { &record[2..4] })
                .expected("the same version in every record"));
        }
        let (command, bytes, block, time_us) = match self.version {
            Version::One => (u16_at(record, 12), u32_at(record, 4), u64_at(record, 16), u64_at(record, 24)),
            Version::Two => (u16_at(record, 0), u32_at(record, 8), u64_at(record, 16), u64_at(record, 24)),
        };
        let Rwbs { op, changes, .. } = Rwbs::scsi(command.into());
        if op == Op::Other {
            return cx.pass(if changes { Note::ChangesData } else { Note::OtherOp });
        }
        let range = |name, part| {
            Bad::new(Code::Range, format!("{name} does not fit in 64 bits"), record).on(name, record, part)
        };
        let offset = block.checked_mul(512).ok_or_else(|| range("lbn", &record[16..24]))?;
        let time_ns = time_us.checked_mul(1_000).ok_or_else(|| range("ts", &record[24..32]))?;
        check_end(record, offset, u64::from(bytes), &record[16..24])?;
        Ok(Some(Record { time_ns, offset, bytes: u64::from(bytes), volume: 0, op, fua: false, stream: 0 }))
    }
}
