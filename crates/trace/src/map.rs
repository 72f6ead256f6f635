//! The column map: which column of a line is what, and in which unit.

use crate::record::Op;
use crate::shown::{escape, meant};
use std::fmt;
use std::str::FromStr;

/// The error for an invalid format name or column map.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FormatError(pub String);

/// The separator of columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Separator {
    /// One byte.
    Byte(u8),
    /// Any run of blanks and tabs.
    Blanks,
}

/// A column, by its place or by its name in the header.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Column {
    /// From 0.
    At(usize),
    /// As the header has it.
    Named(String),
}

/// The source of the operation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum OpColumn {
    /// A column with the usual words (`R`, `Read`, `W`, `Write`, `D`, `Discard`, `Trim`, … in any case) or the kernel's letters.
    Words(Column),
    /// A column with these values.
    Values(Column, Vec<(Vec<u8>, Op)>),
    /// Every request is one of these: the trace has no such column.
    Constant(Op),
}

/// A column and how many nanoseconds or bytes one of its units is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Measure {
    /// Column.
    pub column: Column,
    /// Nanoseconds or bytes in one.
    pub unit: u64,
}

/// How a column tells the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Clock {
    /// A number of units of so many nanoseconds.
    Units(u64),
    /// A date and time of day, as ISO 8601 writes them.
    Iso,
}

/// The column of the time.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Time {
    /// Column.
    pub column: Column,
    /// Its form.
    pub clock: Clock,
    /// The time is that of completion, and this column says how long the request took.
    pub latency: Option<Measure>,
}

/// A column map: which column of a line is what, and in which unit.
///
/// Written as comma-separated `key=value` pairs. A column is a number, from 0, or its name in the header, in quotes if it has other
/// characters than letters, digits, `_`, `-`, `.` and blanks, or is all digits:
///
/// | key | value |
/// |---|---|
/// | `time` | `COLUMN:UNIT` with `ns us ms s 100ns`, `COLUMN:iso` for a date and time of day, or `none`: every request arrives at once |
/// | `completion`, `latency` | in place of `time`: the time of completion and how long the request took, each as `COLUMN:UNIT`; arrival is the difference |
/// | `offset`, `size` | `COLUMN:UNIT` with `bytes sectors pages kib mib` (512, 4096, 1024 and 1048576 bytes) or a number of bytes such as `256` |
/// | `op` | `COLUMN` (the usual words, or the kernel's letters), `COLUMN:0r1w` (values and what they mean: `r` read, `w` write, `t` trim, `f` flush, `x` skip; words in quotes: `2:'get'r'put'w`), or `read` / `write` for all |
/// | `fua` | a column with 1 (or `true`, `yes`, `fua`) for writes with forced unit access, and 0 (`false`, `no`, empty) for others |
/// | `stream` | a column that names the stream, for `nvme.queues`; empty or `-` for none |
/// | `vol` | a column that names the volume; may be given several times |
/// | `sep` | `comma` (default), `space` (any run of blanks and tabs), `tab`, `semicolon`, `pipe`, `colon` |
/// | `skip`, `header` | lines to pass over at the start; both are added. Names of columns are looked for in the header, which is one line unless said |
/// | `where` | `COLUMN:VALUE`: keep only lines with this value; may be given several times |
///
/// Example: `time=0:ns,op=4:0r1w,offset=2:sectors,size=3:sectors,sep=space,header=1,skip=3,where=1:D`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Columns {
    /// Time of arrival or completion; `None`: all at once.
    pub time: Option<Time>,
    /// Operation.
    pub op: OpColumn,
    /// First byte.
    pub offset: Measure,
    /// Length.
    pub size: Measure,
    /// Whether writes have forced unit access.
    pub fua: Option<Column>,
    /// Name of the stream.
    pub stream: Option<Column>,
    /// Columns that together name the volume.
    pub volume: Vec<Column>,
    /// Separator.
    pub separator: Separator,
    /// Lines to pass over at the start: debris before the header.
    pub skip: u64,
    /// Header lines after those.
    pub header: u64,
    /// Columns and the values that keep a line.
    pub filters: Vec<(Column, Vec<u8>)>,
}

/// What the objects of a libCacheSim trace are: `id=sectors`, and `op=read` or `op=write` where the records do not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Objects {
    /// Bytes in one step of the object's number.
    pub unit: u64,
    /// The operation of all records.
    pub op: Option<Op>,
}

impl FromStr for Objects {
    type Err = FormatError;

    fn from_str(text: &str) -> Result<Objects, FormatError> {
        let bad = |what: String| {
            FormatError(format!(
                "{what}; write id= and the unit of the object's number, as in lcs:id=sectors, and op=read or op=write where the records have no operation"
            ))
        };
        let (mut unit, mut op) = (None, None);
        for pair in text.split(',') {
            let set = match pair.split_once('=') {
                Some(("id", name)) => {
                    let size = measure("offset", &format!("0:{name}"))
                        .map_err(|_| bad(format!("id={} names no unit", escape(name.as_bytes()))))?;
                    unit.replace(size.unit).is_none()
                }
                Some(("op", "read")) => op.replace(Op::Read).is_none(),
                Some(("op", "write")) => op.replace(Op::Write).is_none(),
                _ => false,
            };
            if !set {
                return Err(bad(format!("{} is not understood", escape(pair.as_bytes()))));
            }
        }
        let unit = unit.ok_or_else(|| bad("the unit of the object is missing".into()))?;
        Ok(Objects { unit, op })
    }
}

impl fmt::Display for Objects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "id={}", size_name(self.unit))?;
        match self.op {
            Some(Op::Read) => f.write_str(",op=read"),
            Some(_) => f.write_str(",op=write"),
            None => Ok(()),
        }
    }
}

fn size_name(unit: u64) -> String {
    let known = SIZES.iter().find(|(_, bytes)| *bytes == unit);
    known.map_or_else(|| unit.to_string(), |(name, _)| (*name).into())
}

const TIMES: [(&str, u64); 5] = [("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000), ("100ns", 100)];

/// The first name of a size is the one that is written.
const SIZES: [(&str, u64); 7] = [
    ("bytes", 1),
    ("sectors", 512),
    ("pages", 4096),
    ("kib", 1 << 10),
    ("KiB", 1 << 10),
    ("mib", 1 << 20),
    ("MiB", 1 << 20),
];

const SEPARATORS: [(&str, Separator); 6] = [
    ("comma", Separator::Byte(b',')),
    ("space", Separator::Blanks),
    ("tab", Separator::Byte(b'\t')),
    ("semicolon", Separator::Byte(b';')),
    ("pipe", Separator::Byte(b'|')),
    ("colon", Separator::Byte(b':')),
];

const LETTERS: [(u8, Op); 5] =
    [(b'r', Op::Read), (b'w', Op::Write), (b't', Op::Trim), (b'f', Op::Flush), (b'x', Op::Other)];

/// More columns than any trace has; bounds the work per line.
pub(crate) const MAX_COLUMNS: usize = 256;

const KEYS: [&str; 13] =
    ["time", "completion", "latency", "offset", "size", "op", "fua", "stream", "vol", "sep", "skip", "header", "where"];

fn wrong(text: impl Into<String>) -> FormatError {
    FormatError(format!("columns: {}", text.into()))
}

impl Columns {
    pub(crate) fn named(&self) -> impl Iterator<Item = &str> {
        let op = match &self.op {
            OpColumn::Words(column) | OpColumn::Values(column, _) => Some(column),
            OpColumn::Constant(_) => None,
        };
        let latency = self.time.iter().filter_map(|time| time.latency.as_ref());
        let measures = latency.chain([&self.offset, &self.size]).map(|measure| &measure.column);
        let all = self.time.iter().map(|time| &time.column).chain(op).chain(measures);
        let labels = self.fua.iter().chain(&self.stream).chain(&self.volume);
        all.chain(labels).chain(self.filters.iter().map(|(column, _)| column)).filter_map(|column| match column {
            Column::Named(name) => Some(name.as_str()),
            Column::At(_) => None,
        })
    }
}

/// Splits a map at its commas, those inside quotes left out. A quote opens behind `=`, `:` or the letter of a value.
fn pairs(map: &str) -> Vec<&str> {
    let (mut found, mut start, mut quoted) = (Vec::new(), 0, false);
    let bytes = map.as_bytes();
    for (at, &byte) in bytes.iter().enumerate() {
        match byte {
            b'\'' if quoted => quoted = false,
            b'\'' if at > start => {
                let opens = matches!(bytes[at - 1], b'=' | b':' | b'a'..=b'z') && !map[start..at].starts_with("where=");
                let named = map[start..at].ends_with('=');
                quoted = (opens || named) && bytes[at + 1..].contains(&b'\'');
            }
            b',' if !quoted => {
                found.push(&map[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(&map[start..]);
    found
}

fn column(key: &str, text: &str) -> Result<Column, FormatError> {
    let none = || {
        wrong(format!(
            "{key}={} names no column; columns count from 0 to {}, or have the name in the header",
            escape(text.as_bytes()),
            MAX_COLUMNS - 1
        ))
    };
    let quoted = text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
    let name = match quoted {
        Some(name) if !name.is_empty() && !name.contains('\'') && name.len() <= 255 => name,
        None if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) => {
            let place = text.parse().ok().filter(|place| *place < MAX_COLUMNS);
            return place.map(Column::At).ok_or_else(none);
        }
        None if is_plain(text) => text,
        _ => return Err(none()),
    };
    Ok(Column::Named(name.to_owned()))
}

/// Whether a name needs no quotes.
fn is_plain(name: &str) -> bool {
    let first = name.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_');
    first
        && name.len() <= 255
        && name.chars().all(|c| c.is_alphanumeric() || " _-.".contains(c))
        && !name.ends_with(' ')
}

/// The column before the first `:` outside quotes, and what follows it.
fn split_column(text: &str) -> Option<(&str, &str)> {
    let from = match text.strip_prefix('\'') {
        Some(rest) => rest.find('\'')? + 2,
        None => 0,
    };
    let at = from + text[from..].find(':')?;
    Some((&text[..at], &text[at + 1..]))
}

fn measure(key: &str, text: &str) -> Result<Measure, FormatError> {
    let (place, unit) = split_column(text).ok_or_else(|| {
        let example = match key {
            "time" | "completion" => "time=0:ns",
            "latency" => "latency=7:ms",
            _ => "offset=2:sectors",
        };
        wrong(format!("{key} needs a unit, as in {example}; units are never guessed"))
    })?;
    let time = matches!(key, "time" | "completion" | "latency");
    let units = if time { &TIMES[..] } else { &SIZES };
    let known = match units.iter().find(|(name, _)| *name == unit) {
        Some((_, one)) => Some(*one),
        None if !time && unit.bytes().all(|b| b.is_ascii_digit()) => {
            unit.parse().ok().filter(|bytes| (1..=1 << 30).contains(bytes))
        }
        None => None,
    };
    let units = match key {
        "time" | "completion" => "ns us ms s 100ns iso",
        "latency" => "ns us ms s 100ns",
        _ => "bytes sectors pages kib mib, or a number of bytes",
    };
    let unit =
        known.ok_or_else(|| wrong(format!("unknown unit {} of {key}; known are {units}", escape(unit.as_bytes()))))?;
    Ok(Measure { column: column(key, place)?, unit })
}

fn time(key: &str, text: &str) -> Result<Time, FormatError> {
    if let Some((place, "iso")) = split_column(text) {
        return Ok(Time { column: column(key, place)?, clock: Clock::Iso, latency: None });
    }
    let Measure { column, unit } = measure(key, text)?;
    Ok(Time { column, clock: Clock::Units(unit), latency: None })
}

fn op_column(text: &str) -> Result<OpColumn, FormatError> {
    match text {
        "read" => return Ok(OpColumn::Constant(Op::Read)),
        "write" => return Ok(OpColumn::Constant(Op::Write)),
        _ => {}
    }
    let Some((place, values)) = split_column(text) else {
        return Ok(OpColumn::Words(column("op", text)?));
    };
    let bad = || {
        wrong(format!(
            "op={} is not understood; write values and meanings as in op=4:0r1w or op=2:'get'r'put'w",
            escape(text.as_bytes())
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
        let (_, op) = LETTERS.into_iter().find(|(letter, _)| rest.first() == Some(letter)).ok_or_else(bad)?;
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
    Ok(OpColumn::Values(column("op", place)?, meanings))
}

fn separator(value: &str) -> Result<Separator, FormatError> {
    let known = SEPARATORS.into_iter().find(|(name, _)| *name == value);
    known.map(|(_, separator)| separator).ok_or_else(|| {
        let value = escape(value.as_bytes());
        wrong(format!("unknown separator {value}; known are comma space tab semicolon pipe colon"))
    })
}

fn lines(key: &str, text: &str) -> Result<u64, FormatError> {
    let known = text.parse().ok().filter(|lines| *lines <= 1_000_000 && text.bytes().all(|b| b.is_ascii_digit()));
    known.ok_or_else(|| wrong(format!("{key} takes a number of lines, 0 to 1000000")))
}

fn once<T>(slot: &mut Option<T>, key: &str, value: T) -> Result<(), FormatError> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(wrong(format!("{key} is given twice"))),
    }
}

fn unknown(key: &str) -> FormatError {
    let hint = meant(key, 16, &KEYS);
    wrong(format!("unknown key {}{hint}; known are {}", escape(key.as_bytes()), KEYS.join(" ")))
}

/// A map while it is read.
#[derive(Default)]
struct Draft {
    time: Option<Option<Time>>,
    completion: Option<Time>,
    latency: Option<Measure>,
    offset: Option<Measure>,
    size: Option<Measure>,
    op: Option<OpColumn>,
    fua: Option<Column>,
    stream: Option<Column>,
    volume: Vec<Column>,
    separator: Option<Separator>,
    skip: Option<u64>,
    header: Option<u64>,
    filters: Vec<(Column, Vec<u8>)>,
}

impl Draft {
    fn add(&mut self, key: &str, value: &str) -> Result<(), FormatError> {
        match key {
            "time" if value == "none" => once(&mut self.time, key, None),
            "time" => once(&mut self.time, key, Some(time(key, value)?)),
            "completion" => once(&mut self.completion, key, time(key, value)?),
            "latency" => once(&mut self.latency, key, measure(key, value)?),
            "offset" => once(&mut self.offset, key, measure(key, value)?),
            "size" => once(&mut self.size, key, measure(key, value)?),
            "op" => once(&mut self.op, key, op_column(value)?),
            "fua" => once(&mut self.fua, key, column(key, value)?),
            "stream" => once(&mut self.stream, key, column(key, value)?),
            "vol" => {
                let column = column(key, value)?;
                if self.volume.len() >= 8 || self.volume.contains(&column) {
                    return Err(wrong("vol takes up to 8 different columns"));
                }
                self.volume.push(column);
                Ok(())
            }
            "sep" => once(&mut self.separator, key, separator(value)?),
            "skip" => once(&mut self.skip, key, lines(key, value)?),
            "header" => once(&mut self.header, key, lines(key, value)?),
            "where" => {
                let (place, wanted) =
                    split_column(value).ok_or_else(|| wrong("where takes COLUMN:VALUE, as in where=1:D"))?;
                if self.filters.len() >= 16 {
                    return Err(wrong("at most 16 where filters"));
                }
                self.filters.push((column(key, place)?, wanted.as_bytes().to_vec()));
                Ok(())
            }
            _ => Err(unknown(key)),
        }
    }

    fn finish(self) -> Result<Columns, FormatError> {
        let missing = |key: &str| wrong(format!("{key} is missing; needed are time, offset, size and op"));
        let time = match (self.time, self.completion, self.latency) {
            (Some(_), Some(_), _) => {
                return Err(wrong("time is arrival and completion is completion: give one of them"));
            }
            (Some(time), None, None) => time,
            (None, Some(time), latency @ Some(_)) => Some(Time { latency, ..time }),
            (None, Some(_), None) => {
                return Err(wrong("completion needs latency=COLUMN:UNIT: arrival is the difference"));
            }
            (_, None, Some(_)) => return Err(wrong("latency belongs to completion=COLUMN:UNIT")),
            (None, None, None) => return Err(missing("time")),
        };
        let mut map = Columns {
            time,
            offset: self.offset.ok_or_else(|| missing("offset"))?,
            size: self.size.ok_or_else(|| missing("size"))?,
            op: self.op.ok_or_else(|| missing("op"))?,
            fua: self.fua,
            stream: self.stream,
            volume: self.volume,
            separator: self.separator.unwrap_or(Separator::Byte(b',')),
            skip: self.skip.unwrap_or(0),
            header: 0,
            filters: self.filters,
        };
        let named = map.named().next().is_some();
        map.header = self.header.unwrap_or(u64::from(named));
        if named && map.header == 0 {
            return Err(wrong("names of columns are in the header, and header=0 says that there is none"));
        }
        Ok(map)
    }
}

impl FromStr for Columns {
    type Err = FormatError;

    fn from_str(map: &str) -> Result<Columns, FormatError> {
        let mut draft = Draft::default();
        for pair in pairs(map) {
            let (key, value) = pair
                .split_once('=')
                .ok_or_else(|| wrong(format!("{} is not a key=value pair", escape(pair.as_bytes()))))?;
            draft.add(key, value)?;
        }
        draft.finish()
    }
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Column::At(place) => write!(f, "{place}"),
            Column::Named(name) if is_plain(name) && !["read", "write"].contains(&name.as_str()) => f.write_str(name),
            Column::Named(name) => write!(f, "'{name}'"),
        }
    }
}

fn unit_name(unit: u64) -> &'static str {
    TIMES.iter().find(|(_, ns)| *ns == unit).map_or("s", |(name, _)| name)
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = if self.latency.is_some() { "completion" } else { "time" };
        let unit = match self.clock {
            Clock::Units(unit) => unit_name(unit),
            Clock::Iso => "iso",
        };
        write!(f, "{key}={}:{unit}", self.column)?;
        match &self.latency {
            Some(Measure { column, unit }) => write!(f, ",latency={column}:{}", unit_name(*unit)),
            None => Ok(()),
        }
    }
}

impl fmt::Display for OpColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (column, values) = match self {
            OpColumn::Words(column) => return write!(f, ",op={column}"),
            OpColumn::Constant(Op::Read) => return f.write_str(",op=read"),
            OpColumn::Constant(_) => return f.write_str(",op=write"),
            OpColumn::Values(column, values) => (column, values),
        };
        write!(f, ",op={column}:")?;
        for (value, op) in values {
            let letter = LETTERS.iter().find(|(_, known)| known == op).map_or('x', |(letter, _)| char::from(*letter));
            let text = String::from_utf8_lossy(value);
            if value.iter().any(|b| b.is_ascii_lowercase() || *b == b',') {
                write!(f, "'{text}'{letter}")?;
            } else {
                write!(f, "{text}{letter}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Columns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.time {
            None => f.write_str("time=none")?,
            Some(time) => write!(f, "{time}")?,
        }
        write!(f, "{}", self.op)?;
        for (key, Measure { column, unit }) in [("offset", &self.offset), ("size", &self.size)] {
            write!(f, ",{key}={column}:{}", size_name(*unit))?;
        }
        for (key, column) in self.fua.iter().map(|c| ("fua", c)).chain(self.stream.iter().map(|c| ("stream", c))) {
            write!(f, ",{key}={column}")?;
        }
        for column in &self.volume {
            write!(f, ",vol={column}")?;
        }
        // A comma needs no word.
        if let Some((name, _)) = SEPARATORS[1..].iter().find(|(_, separator)| *separator == self.separator) {
            write!(f, ",sep={name}")?;
        }
        for (key, lines) in [("header", self.header), ("skip", self.skip)] {
            if lines > 0 {
                write!(f, ",{key}={lines}")?;
            }
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
    fn maps_round_trip() {
        for map in [
            "time=0:ns,op=4:0r1w,offset=2:sectors,size=3:sectors,sep=space,header=1,skip=3,where=1:D",
            "time=none,op=read,offset=0:bytes,size=1:pages",
            "time=5:s,op=2,offset=3:256,size=4:bytes,vol=1,vol=7,sep=tab,where=1:D,where=2:x y",
            "time=0:100ns,op=1:'get'r'put'wDtF0x,offset=2:bytes,size=3:bytes,sep=semicolon",
            "completion=16:ns,latency=7:ms,op=1,offset=5:sectors,size=6:kib,vol=8,header=1",
            "time=time stamp:iso,op='read':'a,b'rPw,offset='of,f:s':5000,size=len:mib,vol='12',header=1,where=disk id:a'b",
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
            ("time='':ns", "names no column"),
            ("time=stamp", "needs a unit"),
            ("time=t:iso,latency=1:ms,op=read,offset=0:bytes,size=1:bytes", "belongs to completion"),
            ("completion=0:s,op=read,offset=0:bytes,size=1:bytes", "completion needs latency"),
            ("time=0:s,completion=0:s,latency=1:s,op=read,offset=0:bytes,size=1:bytes", "give one of them"),
            ("latency=1:iso", "unknown unit iso of latency"),
            ("time=t:s,op=read,offset=0:bytes,size=1:bytes,header=0", "header=0"),
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
