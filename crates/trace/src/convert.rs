//! Requests written as a trace in any of the formats. Losses are counted.

use crate::error::{Code, TraceError};
use crate::format::Format;
use crate::map::{Clock, Column, Columns, OpColumn, Separator, Time};
use crate::reader::Reader;
use crate::record::{Names, Op, Record};
use serde::Serialize;
use std::collections::BTreeSet;
use std::io::Write;

/// Filetime of the first arrival in MSR traces that are written: 22 February 2007, when the originals begin.
const MSR_BASE: u64 = 128_166_336_000_000_000;
/// The same second as Unix time, for formats that count from 1970.
const UNIX_BASE_S: u64 = 1_172_160_000;

/// The losses of a conversion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Losses {
    /// Arrivals cut to the format's unit of time.
    pub times_cut: u64,
    /// Requests rounded outward to the format's unit of addresses.
    pub rounded: u64,
    /// Trims skipped because the format has none.
    pub trims_left_out: u64,
    /// Volumes that got another name.
    pub volumes_renamed: u64,
    /// Requests whose stream the format cannot name.
    pub streams_left_out: u64,
    /// Writes with forced unit access that the format cannot mark.
    pub fua_left_out: u64,
    /// Flushes skipped because the format has none.
    pub flushes_left_out: u64,
}

impl Losses {
    /// Whether reading the result gives back exactly the requests written.
    pub fn is_exact(&self) -> bool {
        Losses { volumes_renamed: 0, ..*self } == Losses::default()
    }

    /// Adds those of another part.
    pub fn add(&mut self, other: &Losses) {
        let Losses {
            times_cut,
            rounded,
            trims_left_out,
            volumes_renamed,
            streams_left_out,
            fua_left_out,
            flushes_left_out,
        } = other;
        self.times_cut += times_cut;
        self.rounded += rounded;
        self.trims_left_out += trims_left_out;
        self.volumes_renamed += volumes_renamed;
        self.streams_left_out += streams_left_out;
        self.fua_left_out += fua_left_out;
        self.flushes_left_out += flushes_left_out;
    }
}

/// Writes requests in one format.
///
/// The first arrival is taken as it is: a trace that starts at 0 reads back exactly if the format's units can carry it.
pub struct Writer<W: Write> {
    out: W,
    name: String,
    format: Format,
    losses: Losses,
    volumes: Vec<Option<String>>,
    used: BTreeSet<String>,
    count: u64,
    line: String,
    #[cfg(feature = "parquet")]
    parquet: Option<Box<crate::readers::parquet::Sink>>,
}

impl<W: Write> std::fmt::Debug for Writer<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").field("format", &self.format).field("count", &self.count).finish_non_exhaustive()
    }
}

/// How volumes are named in a format.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Naming {
    /// There are none.
    One,
    /// Whole numbers.
    Numbers,
    /// `major,minor`.
    Devices,
    /// A host, an underscore, a disk.
    Disks,
    /// Anything without separators.
    Words,
}

/// The capabilities of a format.
struct Grain {
    time_ns: u64,
    offset: u64,
    size: u64,
    trims: bool,
    naming: Naming,
    streams: bool,
    fua: bool,
    flushes: bool,
}

fn grain(format: &Format) -> Grain {
    let all = |time_ns, offset, size, trims, naming| Grain {
        time_ns,
        offset,
        size,
        trims,
        naming,
        streams: false,
        fua: false,
        flushes: false,
    };
    match format {
        Format::Msr => all(100, 1, 1, false, Naming::Disks),
        Format::Spc => all(1, 512, 1, false, Naming::Numbers),
        Format::Ssdsim | Format::Mqsim | Format::Disksim => all(1, 512, 512, false, Naming::Numbers),
        Format::Blkparse(_) => Grain { fua: true, flushes: true, ..all(1, 512, 512, true, Naming::Devices) },
        Format::Fio => Grain { flushes: true, ..all(1_000, 1, 1, true, Naming::Words) },
        Format::Alibaba => all(1_000, 1, 1, false, Naming::Numbers),
        Format::Tencent => all(1_000_000_000, 512, 512, false, Naming::Numbers),
        Format::Systor => all(1, 1, 1, false, Naming::Numbers),
        Format::Vscsi => all(1_000, 512, 1, false, Naming::One),
        Format::Diskmon => all(1, 512, 512, false, Naming::Numbers),
        Format::Blkreplay => all(1, 512, 512, true, Naming::One),
        // They are only read.
        Format::Ftrace(_) | Format::Etw | Format::Biosnoop | Format::Iosnoop | Format::IoTracer => {
            all(1, 1, 1, false, Naming::One)
        }
        Format::Lcs(_) | Format::OracleGeneral(_) => all(1, 1, 1, false, Naming::One),
        Format::Parquet => Grain { streams: true, fua: true, flushes: true, ..all(1, 1, 1, true, Naming::Words) },
        Format::Columns(map) => {
            let has = |wanted: Op| match &map.op {
                OpColumn::Words(_) => true,
                OpColumn::Values(_, values) => values.iter().any(|(_, op)| *op == wanted),
                OpColumn::Constant(_) => false,
            };
            // Decimals carry any unit of time to the nanosecond; 100 ns would need two digits and has them.
            let naming = if map.volume.is_empty() { Naming::One } else { Naming::Words };
            let all = all(1, map.offset.unit, map.size.unit, has(Op::Trim), naming);
            Grain { streams: map.stream.is_some(), fua: map.fua.is_some(), flushes: has(Op::Flush), ..all }
        }
    }
}

fn unwritable(name: &str, error: &std::io::Error) -> TraceError {
    TraceError::new(Code::Unwritable, name, format!("Cannot write the trace: {error}"))
        .fix("check free space and permissions")
}

fn sane_word(label: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(label).ok()?;
    let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    (!text.is_empty() && text.len() <= 255 && text.chars().all(fine)).then_some(text)
}

fn is_number(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 9
        && text.bytes().all(|b| b.is_ascii_digit())
        && (text == "0" || !text.starts_with('0'))
}

impl Naming {
    /// The label itself if the format can hold it.
    fn keep(self, label: &[u8]) -> Option<String> {
        match self {
            Naming::One => None,
            Naming::Numbers => sane_word(label).filter(|text| is_number(text)).map(str::to_owned),
            Naming::Devices => {
                let (major, minor) = std::str::from_utf8(label).ok()?.split_once(',')?;
                (is_number(major) && is_number(minor)).then(|| format!("{major},{minor}"))
            }
            Naming::Disks => sane_word(label)
                .filter(|text| text.split_once('_').is_some_and(|(a, b)| !a.is_empty() && !b.is_empty()))
                .map(str::to_owned),
            Naming::Words => sane_word(label).map(str::to_owned),
        }
    }

    fn invent(self, number: usize) -> String {
        match self {
            Naming::One => String::new(),
            Naming::Numbers => number.to_string(),
            Naming::Devices => format!("8,{number}"),
            Naming::Disks => format!("trace_{number}"),
            Naming::Words => format!("volume{number}"),
        }
    }
}

impl<W: Write> Writer<W> {
    /// Begins a trace of `format` on `out`; `name` is for messages.
    ///
    /// # Errors
    /// `T033` if `out` cannot be written.
    pub fn new(out: W, name: &str, format: Format) -> Result<Writer<W>, TraceError> {
        #[cfg(not(feature = "parquet"))]
        if format == Format::Parquet {
            return Err(TraceError::new(Code::Usage, name, "This build cannot write Parquet")
                .fix("build with --features parquet, or write a text format"));
        }
        #[cfg(feature = "parquet")]
        let parquet = match format {
            Format::Parquet => Some(Box::new(crate::readers::parquet::Sink::new().map_err(|e| unwritable(name, &e))?)),
            _ => None,
        };
        let mut writer = Writer {
            #[cfg(feature = "parquet")]
            parquet,
            out,
            name: name.to_owned(),
            format,
            losses: Losses::default(),
            volumes: Vec::new(),
            used: BTreeSet::new(),
            count: 0,
            line: String::new(),
        };
        if !writer.format.is_written() {
            return Err(TraceError::new(Code::Usage, name, format!("The format {} is only read", writer.format))
                .fix("write another one, such as parquet, msr or blkparse"));
        }
        if let Format::Columns(map) = &writer.format {
            if let Some(column) = map.named().next() {
                return Err(writer.cannot(
                    &format!("columns by name ({})", crate::shown::escape(column.as_bytes())),
                    "use numbers, as in time=0:ns",
                ));
            }
            if map.time.as_ref().is_some_and(|time| time.latency.is_some() || time.clock == Clock::Iso) {
                return Err(writer.cannot("times of completion, or dates", "use time=COLUMN:UNIT"));
            }
        }
        let head = match &writer.format {
            Format::Fio => "fio version 3 iolog\n".to_owned(),
            Format::Systor => "Timestamp,Response,IOType,LUN,Offset,Size\n".to_owned(),
            Format::Blkreplay => "start ; sector; length ; op ;  replay_delay=0 ; replay_duration=0\n".to_owned(),
            Format::Columns(map) => {
                let lines = map.skip + map.header;
                "# written by ssdlab\n".repeat(usize::try_from(lines).unwrap_or(0))
            }
            _ => String::new(),
        };
        writer.put(head.as_bytes())?;
        Ok(writer)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), TraceError> {
        self.out.write_all(bytes).map_err(|error| unwritable(&self.name, &error))
    }

    fn cannot(&self, what: &str, fix: &str) -> TraceError {
        TraceError::new(Code::CannotCarry, &self.name, format!("The format {} cannot carry {what}", self.format))
            .at_line(self.count + 1)
            .fix(fix)
    }

    /// Name of a volume in this format, unique among all of them; `true` if it is new.
    fn volume(&mut self, number: u32, label: Option<&[u8]>, naming: Naming) -> Result<(String, bool), TraceError> {
        let at = number as usize;
        if let Some(Some(name)) = self.volumes.get(at) {
            return Ok((name.clone(), false));
        }
        if naming == Naming::One && self.volumes.iter().any(Option::is_some) {
            return Err(self.cannot("several volumes", "choose one with --device, or write another format"));
        }
        let kept = label.and_then(|label| naming.keep(label)).filter(|name| !self.used.contains(name));
        if kept.is_none() && label.is_some() {
            self.losses.volumes_renamed += 1;
        }
        let name = kept.unwrap_or_else(|| {
            (at..).map(|n| naming.invent(n)).find(|name| !self.used.contains(name)).unwrap_or_default()
        });
        if at >= self.volumes.len() {
            self.volumes.resize(at + 1, None);
        }
        self.used.insert(name.clone());
        self.volumes[at] = Some(name.clone());
        Ok((name, true))
    }

    /// Writes one request with the names of what it belongs to.
    ///
    /// # Errors
    /// `T033` if it cannot be written, `T034` if the format cannot say it at all (several volumes without a column
    /// for them, an operation without a value, more than 64 bits).
    pub fn write(&mut self, record: &Record, names: Names<'_>) -> Result<(), TraceError> {
        let grain = grain(&self.format);
        if record.op == Op::Flush && !grain.flushes {
            self.losses.flushes_left_out += 1;
            return Ok(());
        }
        if record.op == Op::Other || record.op == Op::Trim && !grain.trims {
            self.losses.trims_left_out += 1;
            return Ok(());
        }
        let stream = names.stream.filter(|_| record.stream != 0);
        self.losses.fua_left_out += u64::from(record.fua && !grain.fua);
        #[cfg(feature = "parquet")]
        if let Some(sink) = &mut self.parquet {
            let ready = sink.push(record, names).map_err(|error| unwritable(&self.name, &error))?;
            self.put(&ready)?;
            self.count += 1;
            return Ok(());
        }
        self.losses.times_cut += u64::from(!record.time_ns.is_multiple_of(grain.time_ns));
        // Outward, as when reading: the start is rounded down to the grain, and the size grows accordingly.
        let offset = record.offset / grain.offset * grain.offset;
        let end = record.offset.checked_add(record.bytes);
        let Some(bytes) = end.and_then(|end| (end - offset).checked_next_multiple_of(grain.size)) else {
            return Err(self.cannot("addresses beyond 64 bits", "check the trace"));
        };
        self.losses.rounded += u64::from((offset, bytes) != (record.offset, record.bytes));
        let (volume, fresh) = self.volume(record.volume, names.volume, grain.naming)?;
        // A name that would not read back as itself is left out.
        let stream = stream.filter(|_| grain.streams).and_then(sane_word).filter(|name| *name != "-");
        self.losses.streams_left_out += u64::from(record.stream != 0 && stream.is_none());
        let mut line = std::mem::take(&mut self.line);
        line.clear();
        let fitted = Record { offset, bytes, ..*record };
        let outcome = match self.format.clone() {
            Format::Columns(map) => self.columns(&map, &mut line, &fitted, (&volume, stream)),
            _ => self.format_line(&mut line, &fitted, &volume, fresh),
        };
        let outcome = match outcome {
            Ok(()) => self.put(line.as_bytes()),
            Err(error) => Err(error),
        };
        self.line = line;
        outcome?;
        self.count += 1;
        Ok(())
    }

    fn format_line(&mut self, line: &mut String, r: &Record, volume: &str, fresh: bool) -> Result<(), TraceError> {
        use std::fmt::Write as _;
        let (sector, sectors) = (r.offset / 512, r.bytes / 512);
        let letter = letter(r.op);
        let word = if r.op == Op::Read { "Read" } else { "Write" };
        let one_is_read = u8::from(r.op == Op::Read);
        let (s, ns) = (r.time_ns / 1_000_000_000, r.time_ns % 1_000_000_000);
        // Writing to a string cannot fail.
        let _ = match &self.format {
            Format::Msr => {
                let ticks = MSR_BASE + r.time_ns / 100;
                let (host, disk) = volume.rsplit_once('_').unwrap_or((volume, "0"));
                writeln!(line, "{ticks},{host},{disk},{word},{},{},0", r.offset, r.bytes)
            }
            Format::Spc => writeln!(line, "{volume},{sector},{},{letter},{s}.{ns:09}", r.bytes),
            Format::Ssdsim | Format::Mqsim => writeln!(line, "{} {volume} {sector} {sectors} {one_is_read}", r.time_ns),
            Format::Disksim => {
                let (ms, rest) = (r.time_ns / 1_000_000, r.time_ns % 1_000_000);
                writeln!(line, "{ms}.{rest:06} {volume} {sector} {sectors} {one_is_read}")
            }
            Format::Blkparse(action) => {
                let (action, number) = (*action as char, self.count + 1);
                let kind = if r.op == Op::Write && r.fua { "WFS" } else { letter };
                let _ = write!(line, "{volume:>7} {:>2} {number:>8} {s:>5}.{ns:09} {:>5}  {action} ", 0, 1);
                // A flush has no data.
                match r.op {
                    Op::Flush => writeln!(line, " FN [ssdlab]"),
                    _ => writeln!(line, "{kind:>3} {sector} + {sectors} [ssdlab]"),
                }
            }
            Format::Fio => line_of_fio(line, r, volume, fresh),
            Format::Alibaba => {
                let us = UNIX_BASE_S * 1_000_000 + r.time_ns / 1_000;
                writeln!(line, "{volume},{letter},{},{},{us}", r.offset, r.bytes)
            }
            Format::Tencent => {
                writeln!(line, "{},{sector},{sectors},{},{volume}", UNIX_BASE_S + s, 1 - one_is_read)
            }
            Format::Systor => {
                writeln!(line, "{}.{ns:09},0.000000,{letter},{volume},{},{}", UNIX_BASE_S + s, r.offset, r.bytes)
            }
            Format::Diskmon => {
                writeln!(line, "{}\t{s}.{ns:09}\t0.0\t{volume}\t{word}\t{sector}\t{sectors}", self.count)
            }
            Format::Blkreplay => writeln!(line, "{s:>5}.{ns:09} ; {sector:>12} ; {sectors:>4} ; {letter} ; 0.0 ; 0.0"),
            Format::Vscsi => return self.vscsi(r),
            // Written elsewhere, or not at all.
            Format::Parquet
            | Format::Columns(_)
            | Format::Ftrace(_)
            | Format::Etw
            | Format::Biosnoop
            | Format::Iosnoop
            | Format::IoTracer
            | Format::Lcs(_)
            | Format::OracleGeneral(_) => Ok(()),
        };
        Ok(())
    }

    /// Version 1 records. They are binary, so they bypass the line buffer.
    fn vscsi(&mut self, r: &Record) -> Result<(), TraceError> {
        let Ok(bytes) = u32::try_from(r.bytes) else {
            return Err(self.cannot("a request of 4 GiB or more", "write another format"));
        };
        let command: u16 = if r.op == Op::Read { 0x28 } else { 0x2a };
        let mut record = Vec::with_capacity(32);
        record.extend_from_slice(&(self.count as u32).to_le_bytes());
        record.extend_from_slice(&bytes.to_le_bytes());
        record.extend_from_slice(&1u32.to_le_bytes());
        record.extend_from_slice(&command.to_le_bytes());
        record.extend_from_slice(&0x0100u16.to_le_bytes());
        record.extend_from_slice(&(r.offset / 512).to_le_bytes());
        record.extend_from_slice(&(r.time_ns / 1_000).to_le_bytes());
        self.put(&record)
    }

    fn columns(
        &self,
        map: &Columns,
        line: &mut String,
        r: &Record,
        (volume, stream): (&str, Option<&str>),
    ) -> Result<(), TraceError> {
        let op = match &map.op {
            OpColumn::Constant(op) if *op == r.op => None,
            OpColumn::Words(column) => Some((column, letter(r.op).to_owned())),
            OpColumn::Values(column, values) => match values.iter().find(|(_, op)| *op == r.op) {
                Some((value, _)) => Some((column, String::from_utf8_lossy(value).into_owned())),
                None => return Err(self.cannot("this operation", "give it a value, as in op=4:0r1w")),
            },
            OpColumn::Constant(_) => return Err(self.cannot("this operation", "name a column for it with op=N")),
        };
        let mut cells: Vec<(&Column, String)> = op.into_iter().collect();
        cells.push((&map.offset.column, (r.offset / map.offset.unit).to_string()));
        cells.push((&map.size.column, (r.bytes / map.size.unit).to_string()));
        if let Some(Time { column, clock: Clock::Units(unit), .. }) = &map.time {
            let digits = unit.ilog10() as usize;
            let (whole, rest) = (r.time_ns / unit, r.time_ns % unit);
            let cell = if rest == 0 { whole.to_string() } else { format!("{whole}.{rest:0digits$}") };
            cells.push((column, cell));
        }
        for (i, column) in map.volume.iter().enumerate() {
            cells.push((column, if i == 0 { volume.to_owned() } else { "0".to_owned() }));
        }
        cells.extend(map.fua.iter().map(|column| (column, u8::from(r.fua).to_string())));
        cells.extend(map.stream.iter().map(|column| (column, stream.unwrap_or("-").to_owned())));
        for (column, value) in &map.filters {
            cells.push((column, String::from_utf8_lossy(value).into_owned()));
        }
        let mut cells: Vec<(usize, String)> = cells
            .into_iter()
            .filter_map(|(column, text)| match column {
                Column::At(place) => Some((*place, text)),
                Column::Named(_) => None,
            })
            .collect();
        cells.sort();
        let separator = match map.separator {
            Separator::Byte(byte) => byte as char,
            Separator::Blanks => ' ',
        };
        let last = cells.last().map_or(0, |(column, _)| *column);
        for column in 0..=last {
            if column > 0 {
                line.push(separator);
            }
            match cells.iter().find(|(c, _)| *c == column) {
                Some((_, text)) => line.push_str(text),
                None => line.push('-'),
            }
        }
        line.push('\n');
        Ok(())
    }

    /// Flushes and returns the losses.
    ///
    /// # Errors
    /// `T033` if the rest cannot be written.
    pub fn finish(self) -> Result<Losses, TraceError> {
        self.end().map(|(losses, _)| losses)
    }

    /// Flushes and returns the losses, and where the trace was written.
    ///
    /// # Errors
    /// As [`Writer::finish`].
    pub fn end(mut self) -> Result<(Losses, W), TraceError> {
        #[cfg(feature = "parquet")]
        if let Some(sink) = &mut self.parquet {
            let rest = sink.finish().map_err(|error| unwritable(&self.name, &error))?;
            self.put(&rest)?;
        }
        self.out.flush().map_err(|error| unwritable(&self.name, &error))?;
        Ok((self.losses, self.out))
    }

    /// Requests written so far.
    pub fn count(&self) -> u64 {
        self.count
    }
}

/// Writes the rest of a trace in another format; returns the number of requests and the losses.
///
/// # Errors
/// What [`Reader::next`] and [`Writer::write`] refuse.
pub fn convert<W: Write>(reader: &mut Reader, out: W, name: &str, format: Format) -> Result<(u64, Losses), TraceError> {
    let mut writer = Writer::new(out, name, format)?;
    while let Some(record) = reader.next()? {
        writer.write(&record, reader.names(&record))?;
    }
    Ok((writer.count(), writer.finish()?))
}

fn letter(op: Op) -> &'static str {
    match op {
        Op::Read => "R",
        Op::Write => "W",
        Op::Flush => "F",
        Op::Trim | Op::Other => "D",
    }
}

/// A line of fio's log; before the first of a volume, those that add and open it.
fn line_of_fio(line: &mut String, r: &Record, volume: &str, fresh: bool) -> std::fmt::Result {
    use std::fmt::Write as _;
    let us = r.time_ns / 1_000;
    if fresh {
        writeln!(line, "{us} {volume} add\n{us} {volume} open")?;
    }
    let action = match r.op {
        Op::Read => "read",
        Op::Write => "write",
        Op::Flush => "sync",
        Op::Trim | Op::Other => "trim",
    };
    writeln!(line, "{us} {volume} {action} {} {}", r.offset, r.bytes)
}
