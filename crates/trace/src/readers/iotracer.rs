//! io-tracer's block events as CSV: `timestamp,operation,pid,tid,command,sector,size,latency_ms,device,...`.
//!
//! The time is that of completion: `mono_ns` if the file has it, else the date in `timestamp`; arrival is that less `latency_ms`.
//! Sectors of 512 B, sizes in bytes. It is read as columns by the names in its header.

use crate::map::Columns;
use crate::readers::columns::Mapped;
use crate::readers::line::*;

/// The columns of a header.
fn map(header: &[u8]) -> Columns {
    let clock = match memchr::memmem::find(header, b"mono_ns") {
        Some(_) => "mono_ns:ns",
        None => "timestamp:iso",
    };
    format!("completion={clock},latency=latency_ms:ms,op=operation,offset=sector:sectors,size=size:bytes,vol=device")
        .parse()
        .expect("a constant map")
}

/// Whether a line is the header.
pub(crate) fn is_header(line: &[u8]) -> bool {
    let names: Vec<&[u8]> = line.split(|b| *b == b',').map(trim).collect();
    [&b"timestamp"[..], b"operation", b"sector", b"size", b"latency_ms", b"device"]
        .iter()
        .all(|name| names.contains(name))
}

#[derive(Default)]
pub(crate) struct IoTracer {
    columns: Option<Mapped>,
}

impl Parser for IoTracer {
    fn completes(&self) -> bool {
        true
    }

    fn parse(&mut self, line: &[u8], cx: &mut Context) -> Outcome {
        if is_header(line) {
            let mut columns = Mapped::new(map(line));
            columns.leading(1, line);
            self.columns = Some(columns);
            return header(line, cx);
        }
        match &mut self.columns {
            Some(columns) => columns.parse(line, cx),
            None => Err(Bad::new(crate::error::Code::Header, "The columns are not named", line)
                .expected("the header 'timestamp,operation,pid,tid,command,sector,size,latency_ms,device,...' first")
                .fix("name the columns: --format columns:completion=16:ns,latency=7:ms,op=1,offset=5:sectors,size=6:bytes,vol=8")),
        }
    }
}
