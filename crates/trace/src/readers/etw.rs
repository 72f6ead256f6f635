//! Disk events of Windows event tracing as text (`xperf -a dumper`, `tracerpt`): `DiskRead, TimeStamp, Process ( PID), ...`.
//!
//! Times are microseconds. A completed request has its own line, at the time of its completion: arrival is `TimeStamp` less
//! `ElapsedTime`. Offset and size are hexadecimal bytes. The header lists the columns of each event; without it they are those
//! of Windows 7 and later. The recordings of Microsoft's servers are distributed in this form (SNIA IOTTA).

use crate::error::Code;
use crate::notes::Note;
use crate::number;
use crate::readers::line::*;

/// Places of the columns behind the process: `ThreadID` is 0.
#[derive(Clone, Copy)]
struct Layout {
    offset: usize,
    size: usize,
    elapsed: usize,
    disk: usize,
}

pub(crate) struct Etw {
    transfer: Layout,
    flush: Layout,
    /// Before the first event: the header, and a line about the system behind it.
    header: bool,
    /// The header has named the columns.
    learned: bool,
}

impl Default for Etw {
    fn default() -> Etw {
        Etw {
            transfer: Layout { offset: 2, size: 3, elapsed: 4, disk: 5 },
            flush: Layout { offset: 0, size: 0, elapsed: 2, disk: 3 },
            header: true,
            learned: false,
        }
    }
}

const FORM: &str =
    "'DiskRead, TimeStamp, Process ( PID), ThreadID, IrpPtr, ByteOffset, IOSize, ElapsedTime, DiskNum, ...'";

/// Columns behind the process that are read; the name of the file, which may hold commas, stands behind them.
const COLUMNS: usize = 12;

/// What follows the process and its number in parentheses: names of processes may have commas.
fn behind_process(rest: &[u8]) -> Option<&[u8]> {
    let mut from = 0;
    while let Some(close) = memchr::memchr(b')', &rest[from..]).map(|at| from + at) {
        from = close + 1;
        let open = memchr::memrchr(b'(', &rest[..close])?;
        let number = trim(&rest[open + 1..close]);
        let is_pid = !number.is_empty() && number.iter().all(|b| b.is_ascii_digit() || *b == b'-');
        if let (true, Some(behind)) = (is_pid, trim(&rest[from..]).strip_prefix(b",")) {
            return Some(behind);
        }
    }
    None
}

/// How many events were lost, in `OS Version: 6.1.7600, ..., Events Lost: 0, ...`, which stands behind the header.
fn lost(text: &[u8]) -> Option<u64> {
    const NAME: &[u8] = b"Events Lost:";
    let behind = text.starts_with(b"OS Version").then(|| memchr::memmem::find(text, NAME))??;
    let value = text[behind + NAME.len()..].split(|b| *b == b',').next()?;
    number::integer(trim(value)).ok()
}

fn columns(rest: &[u8]) -> [&[u8]; COLUMNS] {
    let mut found = [&[][..]; COLUMNS];
    for (slot, part) in found.iter_mut().zip(rest.split(|b| *b == b',')) {
        *slot = trim(part);
    }
    found
}

impl Etw {
    /// A line of the header names the columns of an event.
    fn learn(&mut self, kind: &[u8], rest: &[u8]) {
        let Some(start) = memchr::memmem::find(rest, b"PID)").and_then(|at| {
            let behind = &rest[at + 4..];
            memchr::memchr(b',', behind).map(|comma| at + 4 + comma + 1)
        }) else {
            return;
        };
        let names = columns(&rest[start..]);
        let place = |name: &[u8]| names.iter().position(|column| *column == name);
        let (elapsed, disk) = (place(b"ElapsedTime"), place(b"DiskNum"));
        match (kind, place(b"ByteOffset"), place(b"IOSize"), elapsed, disk) {
            (b"DiskRead" | b"DiskWrite", Some(offset), Some(size), Some(elapsed), Some(disk)) => {
                self.transfer = Layout { offset, size, elapsed, disk };
                self.learned = true;
            }
            (b"DiskFlush", _, _, Some(elapsed), Some(disk)) => {
                self.flush = Layout { offset: 0, size: 0, elapsed, disk };
            }
            _ => {}
        }
    }
}

impl Parser for Etw {
    fn completes(&self) -> bool {
        true
    }

    fn parse(&mut self, line: &[u8], cx: &mut Context) -> Outcome {
        let text = trim(line);
        let comma = memchr::memchr(b',', text).unwrap_or(text.len());
        let (kind, rest) = (trim(&text[..comma]), text.get(comma + 1..).unwrap_or_default());
        let stamp_end = memchr::memchr(b',', rest).unwrap_or(rest.len());
        let stamp = trim(&rest[..stamp_end]);
        let is_event = kind.first().is_some_and(u8::is_ascii_alphabetic)
            && kind.iter().all(|b| b.is_ascii_alphanumeric() || b"/-_ ".contains(b))
            && stamp.first().is_some_and(u8::is_ascii_digit);
        if !is_event {
            if kind == b"BeginHeader" || kind == b"EndHeader" || stamp == b"TimeStamp" || self.header {
                self.learn(kind, rest);
                if let Some(count) = lost(text).filter(|count| *count > 0) {
                    cx.notes.add_many(Note::LostEvents, cx.line, count);
                }
                return cx.pass(if kind == b"BeginHeader" || stamp == b"TimeStamp" {
                    Note::Header
                } else {
                    Note::Prologue
                });
            }
            return Err(Bad::new(Code::FieldCount, "Line is no event of the trace", line).expected(FORM));
        }
        self.header = false;
        let (op, layout) = match kind {
            b"DiskRead" => (Op::Read, self.transfer),
            b"DiskWrite" => (Op::Write, self.transfer),
            b"DiskFlush" => (Op::Flush, self.flush),
            _ => {
                return cx.pass(Note::OtherEvent);
            }
        };
        let Some(rest) = rest.get(stamp_end + 1..).and_then(behind_process) else {
            return Err(Bad::new(Code::FieldCount, "No process with its number in parentheses", line)
                .on("Process", line, rest)
                .expected(FORM));
        };
        let mut found = columns(rest);
        // Windows 10 has the processor before the packet. Without a header only the packet's form tells.
        if !self.learned && !found[1].starts_with(b"0x") && found[2].starts_with(b"0x") {
            found.copy_within(2.., 1);
        }
        let field = |place: usize, name: &'static str| {
            let field = found.get(place).copied().unwrap_or_default();
            number::any_integer(field).map_err(|fault| bad_number(line, field, name, fault))
        };
        let micros = |value: u64, name: &'static str| {
            value.checked_mul(1_000).ok_or_else(|| {
                Bad::new(Code::Range, format!("{name} is beyond the range of the clock"), line).expected("microseconds")
            })
        };
        let completion = micros(number(line, stamp, "TimeStamp")?, "TimeStamp")?;
        let elapsed_field = found.get(layout.elapsed).copied().unwrap_or_default();
        let elapsed = micros(field(layout.elapsed, "ElapsedTime")?, "ElapsedTime")?;
        let (offset, bytes) = match op {
            Op::Flush => (0, 0),
            _ => (field(layout.offset, "ByteOffset")?, field(layout.size, "IOSize")?),
        };
        check_end(line, offset, bytes, rest)?;
        let disk = found.get(layout.disk).copied().unwrap_or_default();
        field(layout.disk, "DiskNum")?;
        let time_ns = cx.arrival(completion, elapsed, line, elapsed_field)?;
        cx.on_volume(disk, Record { time_ns, offset, bytes, volume: 0, op, fua: false, stream: 0 })
    }
}
