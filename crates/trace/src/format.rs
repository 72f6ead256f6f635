//! The formats by name, and the column map for everything else.

use std::fmt;
use std::str::FromStr;

/// A trace format. `auto` is the absence of one: see [`Format::parse_or_auto`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// MSR Cambridge: `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`; 100 ns ticks, bytes.
    Msr,
    /// SPC (UMass): `ASU,LBA,Size,Opcode,Timestamp[,…]`; 512 B blocks, size in bytes, seconds.
    Spc,
    /// SSDsim ASCII: `time device lsn sectors op`; ns, 512 B sectors, 1 = read.
    Ssdsim,
    /// MQSim ASCII: the same five columns as SSDsim.
    Mqsim,
    /// DiskSim ASCII: `time devno blkno bcount flags`; milliseconds, 512 B blocks, hexadecimal flags.
    Disksim,
    /// blkparse text; one action of each request is counted: `Q` unless said.
    Blkparse(u8),
    /// fio iolog, version 2 or 3.
    Fio,
    /// Alibaba block traces 2020: `device_id,opcode,offset,length,timestamp`; bytes, µs.
    Alibaba,
    /// Tencent CBS 2018: `Timestamp,Offset,Size,IOType,VolumeID`; seconds, 512 B sectors.
    Tencent,
    /// SYSTOR '17: `Timestamp,Response,IOType,LUN,Offset,Size`; seconds, bytes.
    Systor,
    /// vscsiStats binary records, version 1 or 2.
    Vscsi,
    /// DiskMon log: `seq time duration disk type sector length`; seconds, 512 B sectors.
    Diskmon,
    /// blkreplay load: `start ; sector ; length ; op ; …`; seconds, 512 B sectors.
    Blkreplay,
    /// Parquet with the columns `time_ns`, `op`, `offset`, `bytes` and `volume`; in builds with the feature `parquet`.
    Parquet,
    /// Anything with columns, by a map.
    Columns(Columns),
}

/// The error for an invalid format name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FormatError(pub String);

impl Format {
    /// The plain names of formats that a stream can hold, in the order in which they are listed to users.
    pub const NAMES: &'static [&'static str] = &[
        "msr",
        "spc",
        "ssdsim",
        "mqsim",
        "disksim",
        "blkparse",
        "fio",
        "alibaba",
        "tencent",
        "systor",
        "vscsi",
        "diskmon",
        "blkreplay",
    ];

    /// Every format that needs no map, each once.
    pub fn all() -> Vec<Format> {
        Format::NAMES.iter().filter_map(|name| name.parse().ok()).collect()
    }

    /// A format by name, or `None` for `auto`.
    ///
    /// # Errors
    /// The name is unknown or the column map is malformed; the message says what would be right.
    pub fn parse_or_auto(name: &str) -> Result<Option<Format>, FormatError> {
        if name == "auto" { Ok(None) } else { name.parse().map(Some) }
    }

    /// What a line looks like, in a few words.
    pub fn shape(&self) -> &'static str {
        match self {
            Format::Msr => "seven comma-separated fields with Read or Write in the fourth",
            Format::Spc => "comma-separated fields with R or W in the fourth and seconds in the fifth",
            Format::Ssdsim | Format::Mqsim => "five whole numbers between blanks, 0 or 1 in the fifth",
            Format::Disksim => "five fields between blanks: decimal milliseconds first, hexadecimal flags last",
            Format::Blkparse(_) => "device, processor, sequence, time, process, action and RWBS columns",
            Format::Fio => "the line 'fio version 2 iolog' or 'fio version 3 iolog'",
            Format::Alibaba => "five comma-separated fields with R or W in the second",
            Format::Tencent => "five comma-separated whole numbers, 0 or 1 in the fourth",
            Format::Systor => "six comma-separated fields with decimal seconds first and R or W in the third",
            Format::Vscsi => "binary records with a version byte of 1 or 2",
            Format::Diskmon => "seven fields between blanks with Read or Write in the fifth",
            Format::Blkreplay => "fields between semicolons with R or W in the fourth",
            Format::Parquet => "a Parquet file with the columns time_ns, op, offset and bytes",
            Format::Columns(_) => "the columns of the map",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Format::Msr => f.write_str("msr"),
            Format::Spc => f.write_str("spc"),
            Format::Ssdsim => f.write_str("ssdsim"),
            Format::Mqsim => f.write_str("mqsim"),
            Format::Disksim => f.write_str("disksim"),
            Format::Blkparse(b'Q') => f.write_str("blkparse"),
            Format::Blkparse(action) => write!(f, "blkparse:{}", *action as char),
            Format::Fio => f.write_str("fio"),
            Format::Alibaba => f.write_str("alibaba"),
            Format::Tencent => f.write_str("tencent"),
            Format::Systor => f.write_str("systor"),
            Format::Vscsi => f.write_str("vscsi"),
            Format::Diskmon => f.write_str("diskmon"),
            Format::Blkreplay => f.write_str("blkreplay"),
            Format::Parquet => f.write_str("parquet"),
            Format::Columns(columns) => write!(f, "columns:{columns}"),
        }
    }
}

impl FromStr for Format {
    type Err = FormatError;

    fn from_str(name: &str) -> Result<Format, FormatError> {
        if let Some(map) = name.strip_prefix("columns:") {
            return map.parse().map(Format::Columns);
        }
        if let Some(action) = name.strip_prefix("blkparse:") {
            return match action.as_bytes() {
                [action @ (b'Q' | b'G' | b'I' | b'D' | b'C')] => Ok(Format::Blkparse(*action)),
                _ => Err(FormatError(format!(
                    "blkparse:{} names no action with a sector; use Q, G, I, D or C",
                    crate::shown::escape(action.as_bytes())
                ))),
            };
        }
        Ok(match name {
            "msr" => Format::Msr,
            "spc" => Format::Spc,
            "ssdsim" => Format::Ssdsim,
            "mqsim" => Format::Mqsim,
            "disksim" => Format::Disksim,
            "blkparse" => Format::Blkparse(b'Q'),
            "fio" => Format::Fio,
            "alibaba" => Format::Alibaba,
            "tencent" => Format::Tencent,
            "systor" => Format::Systor,
            "vscsi" => Format::Vscsi,
            "diskmon" => Format::Diskmon,
            "blkreplay" => Format::Blkreplay,
            "parquet" => Format::Parquet,
            _ => {
                let shown = crate::shown::escape(name.as_bytes());
                let near = Format::NAMES
                    .iter()
                    .map(|known| (strsim::damerau_levenshtein(known, name.get(..32).unwrap_or(name)), *known))
                    .filter(|(distance, _)| *distance <= 2)
                    .min();
                let hint = near.map_or(String::new(), |(_, known)| format!(" (did you mean {known}?)"));
                return Err(FormatError(format!(
                    "unknown format {shown}{hint}; known are auto, {}, parquet, columns:<map>",
                    Format::NAMES.join(", ")
                )));
            }
        })
    }
}

/// The separator of columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Separator {
    /// One byte.
    Byte(u8),
    /// Any run of blanks and tabs.
    Blanks,
}

/// The source of the operation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum OpColumn {
    /// A column with the usual words: `R`, `Read`, `W`, `Write`, `D`, `Discard`, `Trim`, … in any case.
    Words(usize),
    /// A column with these values.
    Values(usize, Vec<(Vec<u8>, crate::record::Op)>),
    /// Every request is one of these: the trace has no such column.
    Constant(crate::record::Op),
}

/// A column and how many nanoseconds or bytes one of its units is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Measure {
    /// Column, from 0.
    pub column: usize,
    /// Nanoseconds or bytes in one.
    pub unit: u64,
}

/// A column map: which column of a line is what, and in which unit.
///
/// Written as comma-separated `key=value` pairs, columns counted from 0:
///
/// | key | value |
/// |---|---|
/// | `time` | `COLUMN:UNIT` with `ns us ms s 100ns`, or `none`: every request arrives at once |
/// | `offset`, `size` | `COLUMN:UNIT` with `bytes sectors pages` (512 and 4096 bytes) or a number of bytes such as `256` |
/// | `op` | `COLUMN` (the usual words), `COLUMN:0r1w` (values and what they mean: `r` read, `w` write, `t` trim, `f` flush, `x` skip; words in quotes: `2:'get'r'put'w`), or `read` / `write` for all |
/// | `fua` | a column with 1 (or `true`, `yes`, `fua`) for writes with forced unit access, and 0 (`false`, `no`, empty) for others |
/// | `stream` | a column that names the stream, for `nvme.queues`; empty or `-` for none |
/// | `vol` | a column that names the volume; may be given several times |
/// | `sep` | `comma` (default), `space` (any run of blanks and tabs), `tab`, `semicolon`, `pipe`, `colon` |
/// | `skip`, `header` | lines to pass over at the start; both are added |
/// | `where` | `COLUMN:VALUE`: keep only lines with this value; may be given several times |
///
/// Example: `time=0:ns,op=4:0r1w,offset=2:sectors,size=3:sectors,sep=space,header=1,skip=3,where=1:D`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Columns {
    /// Arrival; `None` if the trace has only an order.
    pub time: Option<Measure>,
    /// First byte.
    pub offset: Measure,
    /// Length.
    pub size: Measure,
    /// Operation.
    pub op: OpColumn,
    /// Whether writes have forced unit access.
    pub fua: Option<usize>,
    /// Name of the stream.
    pub stream: Option<usize>,
    /// Columns that together name the volume.
    pub volume: Vec<usize>,
    /// Separator.
    pub separator: Separator,
    /// Lines to pass over at the start: debris before the header.
    pub skip: u64,
    /// Header lines after those.
    pub header: u64,
    /// Columns and the values that keep a line.
    pub filters: Vec<(usize, Vec<u8>)>,
}

/// More columns than any trace has; bounds the work per line.
pub(crate) const MAX_COLUMNS: usize = 256;

fn column(key: &str, text: &str) -> Result<usize, FormatError> {
    match text.parse::<usize>() {
        Ok(column) if column < MAX_COLUMNS && text.bytes().all(|b| b.is_ascii_digit()) => Ok(column),
        _ => Err(FormatError(format!(
            "columns: {key}={} names no column; columns count from 0 to {}",
            crate::shown::escape(text.as_bytes()),
            MAX_COLUMNS - 1
        ))),
    }
}

fn measure(key: &'static str, text: &str) -> Result<Measure, FormatError> {
    let (number, unit) = text.split_once(':').ok_or_else(|| {
        let example = if key == "time" { "time=0:ns" } else { "offset=2:sectors" };
        FormatError(format!("columns: {key} needs a unit, as in {example}; units are never guessed"))
    })?;
    let known = match (key, unit) {
        ("time", "ns") => Some(1),
        ("time", "100ns") => Some(100),
        ("time", "us") => Some(1_000),
        ("time", "ms") => Some(1_000_000),
        ("time", "s") => Some(1_000_000_000),
        ("time", _) => None,
        (_, "bytes") => Some(1),
        (_, "sectors") => Some(512),
        (_, "pages") => Some(4096),
        (_, number) if number.bytes().all(|b| b.is_ascii_digit()) => {
            number.parse().ok().filter(|bytes| (1..=1 << 30).contains(bytes))
        }
        _ => None,
    };
    let units = if key == "time" { "ns us ms s 100ns" } else { "bytes sectors pages, or a number of bytes" };
    let unit = known.ok_or_else(|| {
        FormatError(format!(
            "columns: unknown unit {} of {key}; known are {units}",
            crate::shown::escape(unit.as_bytes())
        ))
    })?;
    Ok(Measure { column: column(key, number)?, unit })
}

fn op_column(text: &str) -> Result<OpColumn, FormatError> {
    use crate::record::Op;
    match text {
        "read" => return Ok(OpColumn::Constant(Op::Read)),
        "write" => return Ok(OpColumn::Constant(Op::Write)),
        _ => {}
    }
    let Some((number, values)) = text.split_once(':') else {
        return Ok(OpColumn::Words(column("op", text)?));
    };
    let bad = || {
        FormatError(format!(
            "columns: op={} is not understood; write values and meanings as in op=4:0r1w or op=2:'get'r'put'w",
            crate::shown::escape(text.as_bytes())
        ))
    };
    let mut meanings = Vec::new();
    let mut rest = values.as_bytes();
    while !rest.is_empty() {
        let value;
        if rest[0] == b'\'' {
            let end = rest[1..].iter().position(|&b| b == b'\'').ok_or_else(bad)? + 1;
            value = rest[1..end].to_vec();
            rest = &rest[end + 1..];
        } else {
            let end = rest.iter().position(u8::is_ascii_lowercase).ok_or_else(bad)?;
            value = rest[..end].to_vec();
            rest = &rest[end..];
        }
        let op = match rest.first() {
            Some(b'r') => Op::Read,
            Some(b'w') => Op::Write,
            Some(b't') => Op::Trim,
            Some(b'f') => Op::Flush,
            Some(b'x') => Op::Other,
            _ => return Err(bad()),
        };
        rest = &rest[1..];
        // A quote inside a value is refused: there would be no way to write such a map.
        if value.is_empty()
            || value.contains(&b'\'')
            || meanings.iter().any(|(known, _)| *known == value)
            || meanings.len() >= 64
        {
            return Err(bad());
        }
        meanings.push((value, op));
    }
    if meanings.is_empty() {
        return Err(bad());
    }
    Ok(OpColumn::Values(column("op", number)?, meanings))
}

impl FromStr for Columns {
    type Err = FormatError;

    fn from_str(map: &str) -> Result<Columns, FormatError> {
        let (mut time, mut offset, mut size, mut op, mut separator) = (None, None, None, None, None);
        let (mut skip, mut header, mut fua, mut stream) = (None, None, None, None);
        let (mut volume, mut filters) = (Vec::new(), Vec::new());
        fn once<T>(slot: &mut Option<T>, key: &str, value: T) -> Result<(), FormatError> {
            match slot.replace(value) {
                None => Ok(()),
                Some(_) => Err(FormatError(format!("columns: {key} is given twice"))),
            }
        }
        let lines = |key: &str, text: &str| match text.parse::<u64>() {
            Ok(lines) if lines <= 1_000_000 && text.bytes().all(|b| b.is_ascii_digit()) => Ok(lines),
            _ => Err(FormatError(format!("columns: {key} takes a number of lines, 0 to 1000000"))),
        };
        for pair in map.split(',') {
            let (key, value) = pair.split_once('=').ok_or_else(|| {
                FormatError(format!("columns: {} is not a key=value pair", crate::shown::escape(pair.as_bytes())))
            })?;
            match key {
                "time" if value == "none" => once(&mut time, key, None)?,
                "time" => once(&mut time, key, Some(measure("time", value)?))?,
                "offset" => once(&mut offset, key, measure("offset", value)?)?,
                "size" => once(&mut size, key, measure("size", value)?)?,
                "op" => once(&mut op, key, op_column(value)?)?,
                "fua" => once(&mut fua, key, column(key, value)?)?,
                "stream" => once(&mut stream, key, column(key, value)?)?,
                "vol" => {
                    let column = column(key, value)?;
                    if volume.len() >= 8 || volume.contains(&column) {
                        return Err(FormatError("columns: vol takes up to 8 different columns".into()));
                    }
                    volume.push(column);
                }
                "sep" => {
                    let byte = match value {
                        "comma" => Separator::Byte(b','),
                        "space" => Separator::Blanks,
                        "tab" => Separator::Byte(b'\t'),
                        "semicolon" => Separator::Byte(b';'),
                        "pipe" => Separator::Byte(b'|'),
                        "colon" => Separator::Byte(b':'),
                        _ => {
                            return Err(FormatError(format!(
                                "columns: unknown separator {}; known are comma space tab semicolon pipe colon",
                                crate::shown::escape(value.as_bytes())
                            )));
                        }
                    };
                    once(&mut separator, key, byte)?;
                }
                "skip" => once(&mut skip, key, lines(key, value)?)?,
                "header" => once(&mut header, key, lines(key, value)?)?,
                "where" => {
                    let (number, wanted) = value
                        .split_once(':')
                        .ok_or_else(|| FormatError("columns: where takes COLUMN:VALUE, as in where=1:D".into()))?;
                    if filters.len() >= 16 {
                        return Err(FormatError("columns: at most 16 where filters".into()));
                    }
                    filters.push((column(key, number)?, wanted.as_bytes().to_vec()));
                }
                _ => {
                    const KEYS: [&str; 11] =
                        ["time", "offset", "size", "op", "fua", "stream", "vol", "sep", "skip", "header", "where"];
                    let near = KEYS
                        .iter()
                        .map(|known| (strsim::damerau_levenshtein(known, key.get(..16).unwrap_or(key)), *known))
                        .min();
                    let hint = near
                        .filter(|(distance, _)| *distance <= 2)
                        .map_or(String::new(), |(_, known)| format!(" (did you mean {known}?)"));
                    return Err(FormatError(format!(
                        "columns: unknown key {}{hint}; known are {}",
                        crate::shown::escape(key.as_bytes()),
                        KEYS.join(" ")
                    )));
                }
            }
        }
        let missing =
            |key: &str| FormatError(format!("columns: {key} is missing; needed are time, offset, size and op"));
        Ok(Columns {
            time: time.ok_or_else(|| missing("time"))?,
            offset: offset.ok_or_else(|| missing("offset"))?,
            size: size.ok_or_else(|| missing("size"))?,
            op: op.ok_or_else(|| missing("op"))?,
            fua,
            stream,
            volume,
            separator: separator.unwrap_or(Separator::Byte(b',')),
            skip: skip.unwrap_or(0),
            header: header.unwrap_or(0),
            filters,
        })
    }
}

impl fmt::Display for Columns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use crate::record::Op;
        match self.time {
            None => f.write_str("time=none")?,
            Some(Measure { column, unit }) => {
                let unit = match unit {
                    1 => "ns",
                    100 => "100ns",
                    1_000 => "us",
                    1_000_000 => "ms",
                    _ => "s",
                };
                write!(f, "time={column}:{unit}")?;
            }
        }
        match &self.op {
            OpColumn::Words(column) => write!(f, ",op={column}")?,
            OpColumn::Constant(Op::Read) => f.write_str(",op=read")?,
            OpColumn::Constant(_) => f.write_str(",op=write")?,
            OpColumn::Values(column, values) => {
                write!(f, ",op={column}:")?;
                for (value, op) in values {
                    let letter = match op {
                        Op::Read => 'r',
                        Op::Write => 'w',
                        Op::Trim => 't',
                        Op::Flush => 'f',
                        Op::Other => 'x',
                    };
                    let text = String::from_utf8_lossy(value);
                    if value.iter().any(|b| b.is_ascii_lowercase() || *b == b'\'') {
                        write!(f, "'{text}'{letter}")?;
                    } else {
                        write!(f, "{text}{letter}")?;
                    }
                }
            }
        }
        for (key, Measure { column, unit }) in [("offset", self.offset), ("size", self.size)] {
            match unit {
                1 => write!(f, ",{key}={column}:bytes")?,
                512 => write!(f, ",{key}={column}:sectors")?,
                4096 => write!(f, ",{key}={column}:pages")?,
                bytes => write!(f, ",{key}={column}:{bytes}")?,
            }
        }
        if let Some(column) = self.fua {
            write!(f, ",fua={column}")?;
        }
        if let Some(column) = self.stream {
            write!(f, ",stream={column}")?;
        }
        for column in &self.volume {
            write!(f, ",vol={column}")?;
        }
        let separator = match self.separator {
            Separator::Blanks => "space",
            Separator::Byte(b'\t') => "tab",
            Separator::Byte(b';') => "semicolon",
            Separator::Byte(b'|') => "pipe",
            Separator::Byte(b':') => "colon",
            Separator::Byte(_) => "comma",
        };
        if separator != "comma" {
            write!(f, ",sep={separator}")?;
        }
        if self.header > 0 {
            write!(f, ",header={}", self.header)?;
        }
        if self.skip > 0 {
            write!(f, ",skip={}", self.skip)?;
        }
        for (column, value) in &self.filters {
            write!(f, ",where={column}:{}", String::from_utf8_lossy(value))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for format in Format::all() {
            assert_eq!(format.to_string().parse(), Ok(format));
        }
        assert_eq!(Format::all().len(), Format::NAMES.len());
        assert_eq!(Format::parse_or_auto("auto"), Ok(None));
        assert_eq!("blkparse:D".parse(), Ok(Format::Blkparse(b'D')));
        assert!("mrs".parse::<Format>().unwrap_err().to_string().contains("did you mean msr?"));
        assert!("é".repeat(40).parse::<Format>().is_err());
    }

    #[test]
    fn maps_round_trip() {
        for map in [
            "time=0:ns,op=4:0r1w,offset=2:sectors,size=3:sectors,sep=space,header=1,skip=3,where=1:D",
            "time=none,op=read,offset=0:bytes,size=1:pages",
            "time=5:s,op=2,offset=3:256,size=4:bytes,vol=1,vol=7,sep=tab,where=1:D,where=2:x y",
            "time=0:100ns,op=1:'get'r'put'wDtF0x,offset=2:bytes,size=3:bytes,sep=semicolon",
        ] {
            let parsed: Columns = map.parse().unwrap();
            assert_eq!(parsed.to_string(), map);
        }
    }

    #[test]
    fn maps_say_what_is_wrong() {
        for (map, says) in [
            ("", "not a key=value"),
            ("time=0:ns", "offset is missing"),
            ("time=0,offset=1:bytes,size=2:bytes,op=3", "needs a unit"),
            ("time=0:h,offset=1:bytes,size=2:bytes,op=3", "unknown unit h"),
            ("time=0:ns,time=1:ns", "time is given twice"),
            ("tmie=0:ns", "did you mean time?"),
            ("time=999:ns", "names no column"),
            ("time=+1:ns", "names no column"),
            ("time=0:ns,op=4:rw", "not understood"),
            ("time=0:ns,op=4:0r0w", "not understood"),
            ("time=0:ns,op=4:'r", "not understood"),
            ("time=0:ns,op=4:r]'w", "not understood"),
            ("sep=x", "unknown separator"),
            ("where=1", "COLUMN:VALUE"),
            ("skip=x", "number of lines"),
            ("offset=1:0", "unknown unit 0"),
        ] {
            let error = map.parse::<Columns>().unwrap_err().to_string();
            assert!(error.contains(says), "{map}: {error}");
        }
    }
}
