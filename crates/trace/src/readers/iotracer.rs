//! io-tracer's block events as CSV: `timestamp,operation,pid,tid,command,sector,size,latency_ms,device,...`.
//!
//! The time is that of completion: `mono_ns` if the file has it, else the date in `timestamp`; arrival is that less `latency_ms`.
//! A request whose issue was not seen has no latency, and is taken to arrive when it completes. Sectors of 512 B, sizes in bytes. It is
//! read as columns by the names in its header.

use crate::error::Code;
use crate::map::Columns;
use crate::notes::Note;
use crate::readers::columns::Mapped;
use crate::readers::line::*;

/// The columns of a header, with and without the latency.
fn maps(header: &[u8]) -> [Columns; 2] {
    let clock = match memchr::memmem::find(header, b"mono_ns") {
        Some(_) => "mono_ns:ns",
        None => "timestamp:iso",
    };
    const REST: &str = "op=operation,offset=sector:sectors,size=size:bytes,vol=device";
    [format!("completion={clock},latency=latency_ms:ms,{REST}"), format!("time={clock},{REST}")]
        .map(|map| map.parse().expect("a constant map"))
}

/// Whether a line is the header; others begin with a date.
pub(crate) fn is_header(line: &[u8]) -> bool {
    if line.first().is_some_and(u8::is_ascii_digit) {
        return false;
    }
    let names: Vec<&[u8]> = line.split(|b| *b == b',').map(trim).collect();
    [&b"timestamp"[..], b"operation", b"sector", b"size", b"latency_ms", b"device"]
        .iter()
        .all(|name| names.contains(name))
}

#[derive(Default)]
pub(crate) struct IoTracer {
    columns: Option<[Mapped; 2]>,
}

impl Parser for IoTracer {
    fn completes(&self) -> bool {
        true
    }

    fn parse(&mut self, line: &[u8], cx: &mut Context) -> Outcome {
        if is_header(line) {
            self.columns = Some(maps(line).map(|map| {
                let mut columns = Mapped::new(map);
                columns.leading(1, line);
                columns
            }));
            return header(line, cx);
        }
        match &mut self.columns {
            Some([columns, without]) => match columns.parse(line, cx) {
                Err(bad) if bad.code == Code::Empty && bad.field == "latency" => {
                    let Some(raw) = without.parse(line, cx)? else { return Ok(None) };
                    cx.note(Note::NoLatency);
                    let time_ns = cx.arrival(raw.time_ns, 0, line, line)?;
                    Ok(Some(Record { time_ns, ..raw }))
                }
                outcome => outcome,
            },
            None => Err(Bad::new(Code::Header, "The columns are not named", line)
                .expected("the header 'timestamp,operation,pid,tid,command,sector,size,latency_ms,device,...' first")
                .fix("name the columns: --format columns:completion=16:ns,latency=7:ms,op=1,offset=5:sectors,size=6:bytes,vol=8")),
        }
    }
}
