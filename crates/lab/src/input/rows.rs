//! Requests as rows of a table in memory.

use ssdlab_trace::workload::Spec;
use ssdlab_trace::{Op, Reader, Record, Trace};

use crate::error::{Error, Result};
use crate::input::reading::Reading;
use crate::input::workloads::{find_workload, refuse};
use crate::results::sheet::{Cell, CellKind, Frame, Place, Sheet};

/// Columns of a request; the last one only where a trace names several devices.
const COLUMNS: [(&str, CellKind); 5] = [
    ("time_ns", CellKind::Number),
    ("op", CellKind::Word),
    ("offset", CellKind::Number),
    ("bytes", CellKind::Number),
    ("device", CellKind::Number),
];

/// The device that a generated workload is fitted to.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Bytes that the host may address.
    pub capacity_bytes: u64,
    /// Bytes of a page.
    pub page_bytes: u64,
}

fn begin() -> Result<Sheet> {
    Sheet::begin("requests", &Place::MEMORY, &COLUMNS)
}

fn put(sheet: &mut Sheet, record: &Record) -> Result<()> {
    let op = match record.op {
        Op::Read => "read",
        Op::Write => "write",
        Op::Trim => "trim",
        Op::Flush | Op::Other => "flush",
    };
    let [time, offset, bytes] = [record.time_ns, record.offset, record.bytes].map(Cell::Number);
    sheet.row([time, Cell::Word(op), offset, bytes, Cell::Number(record.volume.into())].into_iter())
}

fn end(sheet: Sheet, devices: bool) -> Result<Frame> {
    let (_, frame) = sheet.finish()?.parts();
    let mut frame = frame.ok_or_else(|| Error::usage("the rows are not in memory"))?;
    if !devices {
        frame.columns.pop();
        frame.words.pop();
        frame.batches.iter_mut().for_each(|batch| drop(batch.columns.pop()));
    }
    Ok(frame)
}

/// The requests of a trace, at most `limit`, before they are fitted to a device.
///
/// # Errors
/// The trace can't be read.
pub fn trace_rows(trace: &Trace, reading: &Reading, limit: Option<u64>) -> Result<Frame> {
    let mut reader = Reader::of(trace, &reading.options()?)?;
    let mut sheet = begin()?;
    let mut left = limit.unwrap_or(u64::MAX);
    while left > 0
        && let Some(record) = reader.next()?
    {
        put(&mut sheet, &record)?;
        left -= 1;
    }
    end(sheet, reader.volumes().len() > 1)
}

/// The requests of a workload, at most `limit`.
///
/// # Errors
/// The workload is unknown or invalid, or does not fit.
pub fn workload_rows(name: &str, seed: u64, limit: Option<u64>, room: Room) -> Result<Frame> {
    let (name, spec): (String, Spec) = find_workload(name)?;
    let generator =
        spec.build(room.capacity_bytes, room.page_bytes, seed, limit).map_err(|error| refuse(&name, &error))?;
    let mut sheet = begin()?;
    for record in generator {
        put(&mut sheet, &record)?;
    }
    end(sheet, false)
}
