//! Requests that a program has in memory: rows with the fields of a request, as fixed-size records.
//!
//! A table passes the same steps as a file: limits, order of time, volumes, fitting to a device.

use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;

/// Bytes of a row in a stream of records: time, offset, size; volume; operation; a bit for each of the first three that is
/// negative, one ([`FUA`]) for forced unit access, and one ([`STREAM`]) for a stream; number of the stream.
pub(crate) const ROW_BYTES: usize = 34;
/// See [`ROW_BYTES`].
pub(crate) const FUA: u8 = 1 << 7;
/// See [`ROW_BYTES`].
pub(crate) const STREAM: u8 = 1 << 6;
/// Rows that are fetched at a time.
const BATCH: usize = 1 << 12;

/// One request as a program has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// Arrival in nanoseconds; the bits of a signed number if it is negative.
    pub time_ns: u64,
    /// First byte, likewise.
    pub offset: u64,
    /// Bytes, likewise.
    pub bytes: u64,
    /// Which of the three are negative, in this order.
    pub negative: [bool; 3],
    /// Number of the device (disk, volume, unit).
    pub device: u32,
    /// 0 read, 1 write, 2 trim, 3 flush, which a device without a write cache skips and counts; other values are refused.
    pub op: u8,
    /// Whether a write is complete only when it is on flash (force unit access).
    pub fua: bool,
    /// Number of its stream, if it has one.
    pub stream: Option<u32>,
}

impl Row {
    /// Appends the row to a stream of records.
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        for value in [self.time_ns, self.offset, self.bytes] {
            out.extend_from_slice(&value.to_le_bytes());
        }
        out.extend_from_slice(&self.device.to_le_bytes());
        out.push(self.op);
        let negative: u8 = self.negative.iter().enumerate().map(|(bit, negative)| u8::from(*negative) << bit).sum();
        out.push(negative | if self.fua { FUA } else { 0 } | if self.stream.is_some() { STREAM } else { 0 });
        out.extend_from_slice(&self.stream.unwrap_or(0).to_le_bytes());
    }
}

/// Rows in memory.
pub trait Rows: Send + Sync {
    /// How many.
    fn rows(&self) -> u64;
    /// Whether they name devices.
    fn names_devices(&self) -> bool;
    /// Appends at most `most` rows from number `from` (from 0) on; at least one, unless there are none.
    fn fetch(&self, from: u64, most: usize, out: &mut Vec<Row>);
}

/// Shared rows in memory, with a name for messages.
#[derive(Clone)]
pub struct Table {
    pub(crate) name: String,
    pub(crate) rows: Arc<dyn Rows>,
}

impl Table {
    /// Names rows.
    pub fn new(name: &str, rows: Arc<dyn Rows>) -> Table {
        Table { name: name.into(), rows }
    }

    /// How many rows it has.
    pub fn rows(&self) -> u64 {
        self.rows.rows()
    }

    /// Appends some rows from number `from` on; at least one, unless there are none.
    pub fn fetch(&self, from: u64, out: &mut Vec<Row>) {
        self.rows.fetch(from, BATCH, out);
    }

    /// The rows as a stream of records.
    pub(crate) fn stream(&self) -> Stream {
        Stream { rows: self.rows.clone(), next: 0, fetched: Vec::new(), out: Vec::new(), given: 0 }
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table").field("name", &self.name).field("rows", &self.rows()).finish()
    }
}

/// Rows as records, batch by batch.
pub(crate) struct Stream {
    rows: Arc<dyn Rows>,
    next: u64,
    fetched: Vec<Row>,
    out: Vec<u8>,
    given: usize,
}

impl Read for Stream {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.given == self.out.len() {
            self.fetched.clear();
            self.rows.fetch(self.next, BATCH, &mut self.fetched);
            self.next += self.fetched.len() as u64;
            self.given = 0;
            self.out.clear();
            self.fetched.iter().for_each(|row| row.put(&mut self.out));
        }
        let n = buf.len().min(self.out.len() - self.given);
        buf[..n].copy_from_slice(&self.out[self.given..self.given + n]);
        self.given += n;
        Ok(n)
    }
}
