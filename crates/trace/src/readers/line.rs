//! Code that the formats share: lines, fields, numbers, volumes, and their errors.

use crate::error::Code;
use crate::notes::{Note, Notes, name_list};
use crate::number::{self, Decimal, Fault};
use crate::readers::rwbs::Rwbs;
pub(crate) use crate::record::{Op, Record};
use crate::shown::escape;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Longest field that is read, in bytes.
pub(crate) const FIELD_BYTES: usize = 4 << 10;
/// Distinct volumes that are kept apart.
pub(crate) const MAX_VOLUMES: usize = 4096;
/// Distinct streams that are kept apart.
const MAX_STREAMS: usize = 4096;

/// Why a line is invalid. Boxed: it is rare, and results should stay small.
#[derive(Debug)]
pub(crate) struct Bad {
    pub code: Code,
    pub title: String,
    pub field: &'static str,
    pub span: Range<usize>,
    pub expected: String,
    /// `None`: the general advice.
    pub fix: Option<String>,
}

/// The request of a line, with its time as written and nothing rounded; none where the notes say why.
pub(crate) type Outcome = Result<Option<Record>, Box<Bad>>;

impl Bad {
    pub fn new(code: Code, title: impl Into<String>, line: &[u8]) -> Box<Bad> {
        Box::new(Bad { code, title: title.into(), field: "", span: 0..line.len(), expected: String::new(), fix: None })
    }

    pub fn on(mut self: Box<Self>, field: &'static str, line: &[u8], part: &[u8]) -> Box<Bad> {
        self.field = field;
        self.span = span(line, part);
        self
    }

    pub fn expected(mut self: Box<Self>, expected: impl Into<String>) -> Box<Bad> {
        self.expected = expected.into();
        self
    }

    pub fn fix(mut self: Box<Self>, fix: impl Into<String>) -> Box<Bad> {
        self.fix = Some(fix.into());
        self
    }
}

pub(crate) fn span(line: &[u8], part: &[u8]) -> Range<usize> {
    let start = (part.as_ptr() as usize).wrapping_sub(line.as_ptr() as usize);
    if start <= line.len() { start..(start + part.len()).min(line.len()) } else { 0..line.len() }
}

/// State that parsers share: position, notes and volumes.
pub(crate) struct Context {
    /// Current line, from 1.
    pub line: u64,
    /// Is this the first line with data?
    pub first: bool,
    pub notes: Notes,
    pub volumes: Volumes,
    pub streams: Streams,
    /// Are flushes records? Otherwise they are noted and skipped.
    pub flushes: bool,
    /// Time of completion of the last request, where that is what the trace has ([`Parser::completes`]).
    pub completion_ns: u64,
}

/// Added to arrivals of traces that have times of completion: requests may begin before the first time that they show.
pub(crate) const BIAS_NS: u64 = 1 << 60;

impl Context {
    pub fn new(device: Option<&str>) -> Context {
        let (notes, volumes) = (Notes::new(), Volumes::new(device));
        Context { line: 0, first: true, notes, volumes, streams: Streams::default(), flushes: false, completion_ns: 0 }
    }

    pub fn note(&mut self, note: Note) {
        self.notes.add(note, self.line);
    }

    /// Notes an unusual notation of a decimal number and returns its value: nanoseconds or bytes.
    #[inline]
    pub fn time(&mut self, decimal: Decimal) -> u64 {
        if decimal.cut {
            self.note(Note::TimeDigits);
        }
        if decimal.exponent {
            self.note(Note::Exponent);
        }
        decimal.value
    }

    /// A time of so many nanoseconds a unit.
    #[inline]
    pub fn decimal(&mut self, line: &[u8], field: &[u8], name: &'static str, unit: u64) -> Result<u64, Box<Bad>> {
        let found = decimal(line, field, name, unit)?;
        Ok(self.time(found))
    }

    /// The arrival of a request that completed at a time and took so long; `field` is that of the latency.
    #[inline]
    pub fn arrival(&mut self, completion_ns: u64, latency_ns: u64, line: &[u8], field: &[u8]) -> Result<u64, Box<Bad>> {
        self.completion_ns = completion_ns;
        let arrival = completion_ns.checked_add(BIAS_NS).and_then(|biased| biased.checked_sub(latency_ns));
        arrival.ok_or_else(|| {
            Bad::new(Code::Range, "completion less latency is beyond the range of the clock", line)
                .on("latency", line, field)
                .expected("a latency of less than 36 years, and a completion before the year 2500")
        })
    }

    /// A request of the volume that a label stands for, or `None` if that is not the selected one.
    #[inline]
    pub fn on_volume(&mut self, label: &[u8], record: Record) -> Outcome {
        Ok(self.volume(label)?.map(|volume| Record { volume, ..record }))
    }

    /// Notes why a line has no request.
    pub fn pass(&mut self, why: Note) -> Outcome {
        self.note(why);
        Ok(None)
    }

    /// The volume a label stands for, or `None` if it is not the selected one.
    #[inline]
    pub fn volume(&mut self, label: &[u8]) -> Result<Option<u32>, Box<Bad>> {
        self.volume_of(label, |raw| raw.to_vec())
    }

    /// As [`Context::volume`], with a name made from the raw bytes only when they are new.
    #[inline]
    pub fn volume_of(&mut self, raw: &[u8], name: impl FnOnce(&[u8]) -> Vec<u8>) -> Result<Option<u32>, Box<Bad>> {
        let id = if self.volumes.last == raw && self.volumes.known > 0 {
            self.volumes.last_id
        } else {
            self.other_volume(raw, name)?
        };
        if id.is_none() {
            self.note(Note::OtherDevice);
        }
        Ok(id)
    }

    fn other_volume(&mut self, raw: &[u8], name: impl FnOnce(&[u8]) -> Vec<u8>) -> Result<Option<u32>, Box<Bad>> {
        let id = match self.volumes.by_raw.get(raw) {
            Some(id) => *id,
            None => self.new_volume(raw, name(raw))?,
        };
        self.volumes.last.clear();
        self.volumes.last.extend_from_slice(raw);
        self.volumes.last_id = id;
        Ok(id)
    }

    #[cold]
    fn new_volume(&mut self, raw: &[u8], name: Vec<u8>) -> Result<Option<u32>, Box<Bad>> {
        if name.len() > FIELD_BYTES {
            return Err(Bad::new(Code::TooLong, "A label is longer than 4 KiB", raw));
        }
        let volumes = &mut self.volumes;
        volumes.known += 1;
        let selected = volumes.wanted.as_ref().is_none_or(|wanted| *wanted == name);
        let id = if selected {
            let found = volumes.names.iter().position(|known| *known == name);
            if found.is_none() && volumes.names.len() >= MAX_VOLUMES {
                return Err(Bad::new(Code::Volumes, format!("More than {MAX_VOLUMES} volumes in one trace"), raw)
                    .expected(format!("at most {MAX_VOLUMES} distinct volumes"))
                    .fix("choose one with --device ID"));
            }
            Some(found.unwrap_or(volumes.names.len()) as u32)
        } else {
            if volumes.others.len() < 16 && !volumes.others.contains(&name) {
                volumes.others.push(name.clone());
            }
            None
        };
        // One name can be written in many ways (blanks, leading text), and millions of others may be skipped: the cache
        // must stay bounded.
        if volumes.by_raw.len() >= 2 * MAX_VOLUMES {
            volumes.by_raw.clear();
        }
        volumes.by_raw.insert(raw.to_vec(), id);
        if id == Some(volumes.names.len() as u32) {
            if std::str::from_utf8(&name).is_err() {
                self.notes.add(Note::Label, self.line);
            }
            self.volumes.names.push(name);
        }
        Ok(id)
    }
}

/// The streams of a trace in the order of first appearance.
#[derive(Default)]
pub(crate) struct Streams {
    names: Vec<Vec<u8>>,
    numbers: FxHashMap<Vec<u8>, u16>,
}

impl Streams {
    pub fn names(&self) -> &[Vec<u8>] {
        &self.names
    }

    /// The number of a stream, from 1; 0 for an empty label and for `-`.
    pub fn number(&mut self, label: &[u8]) -> Result<u16, Box<Bad>> {
        if label.is_empty() || label == b"-" {
            return Ok(0);
        }
        if let Some(number) = self.numbers.get(label) {
            return Ok(*number);
        }
        if self.names.len() >= MAX_STREAMS || label.len() > FIELD_BYTES {
            return Err(Bad::new(Code::Volumes, format!("More than {MAX_STREAMS} streams in one trace"), label)
                .expected(format!("at most {MAX_STREAMS} distinct streams, with names of at most 4 KiB"))
                .fix("leave the column of the stream out"));
        }
        self.names.push(label.to_vec());
        let number = self.names.len() as u16;
        self.numbers.insert(label.to_vec(), number);
        Ok(number)
    }
}

/// The volumes of a trace in the order of first appearance.
pub(crate) struct Volumes {
    names: Vec<Vec<u8>>,
    /// The volume of raw bytes of a line.
    by_raw: FxHashMap<Vec<u8>, Option<u32>>,
    wanted: Option<Vec<u8>>,
    /// Some of the volumes that were skipped, for the message that the wanted one is absent.
    others: Vec<Vec<u8>>,
    /// Labels looked at; 0 means that `last` means nothing yet.
    known: u64,
    last: Vec<u8>,
    last_id: Option<u32>,
}

impl Volumes {
    fn new(device: Option<&str>) -> Volumes {
        Volumes {
            names: Vec::new(),
            by_raw: FxHashMap::default(),
            wanted: device.map(|d| d.as_bytes().to_vec()),
            others: Vec::new(),
            known: 0,
            last: Vec::new(),
            last_id: None,
        }
    }

    pub fn names(&self) -> &[Vec<u8>] {
        &self.names
    }

    /// The ones that `--device` left out, as text; empty if nothing was left out.
    pub fn others(&self) -> String {
        name_list(self.others.iter().map(Vec::as_slice))
    }
}

pub(crate) trait Parser: Send {
    /// Size of a record if the format is binary.
    fn record_bytes(&self) -> Option<usize> {
        None
    }

    /// Bytes before the first record of a binary format.
    fn header_bytes(&self) -> usize {
        0
    }

    /// Lines at the start that are skipped unparsed.
    fn leading_lines(&self) -> u64 {
        0
    }

    /// One of those lines, with its number from 1: it may name the columns.
    fn leading(&mut self, _number: u64, _line: &[u8]) {}

    /// Whether the trace has times of completion: its lines are in their order, and arrivals are sorted.
    fn completes(&self) -> bool {
        false
    }

    fn parse(&mut self, line: &[u8], cx: &mut Context) -> Outcome;

    /// After the last line.
    fn finish(&mut self, _cx: &mut Context) -> Result<(), Box<Bad>> {
        Ok(())
    }
}

pub(crate) struct Fields<'a, const N: usize> {
    pub at: [&'a [u8]; N],
    /// Number of fields, even beyond `N`.
    pub count: usize,
}

#[inline]
pub(crate) fn trim(mut field: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] = field {
        field = rest;
    }
    while let [rest @ .., b' ' | b'\t'] = field {
        field = rest;
    }
    field
}

/// Splits at a byte; removes blanks around fields and balanced quotes.
#[inline]
pub(crate) fn split<const N: usize>(line: &[u8], separator: u8) -> Result<Fields<'_, N>, Box<Bad>> {
    if memchr::memchr(b'"', line).is_some() {
        return split_quoted(line, separator);
    }
    let mut fields = Fields { at: [&[]; N], count: 0 };
    let mut start = 0;
    for at in memchr::memchr_iter(separator, line).chain(std::iter::once(line.len())) {
        if fields.count < N {
            fields.at[fields.count] = trim(&line[start..at]);
        }
        fields.count += 1;
        start = at + 1;
    }
    check_lengths(line, &fields.at)?;
    Ok(fields)
}

#[cold]
fn split_quoted<const N: usize>(line: &[u8], separator: u8) -> Result<Fields<'_, N>, Box<Bad>> {
    let mut fields = Fields { at: [&[]; N], count: 0 };
    let mut start = 0;
    loop {
        let rest = &line[start..];
        let lead = rest.iter().take_while(|b| matches!(b, b' ' | b'\t') && **b != separator).count();
        let (field, next) = if rest.get(lead) == Some(&b'"') {
            let body = &rest[lead + 1..];
            // A doubled quote stands for one inside the field; it stays doubled in labels, which are only compared.
            let mut close = 0;
            loop {
                match body[close..].iter().position(|&b| b == b'"') {
                    None => {
                        return Err(Bad::new(Code::Quotes, "A quote is never closed", line)
                            .on("", line, rest)
                            .expected("a closing quote on the same line"));
                    }
                    Some(at) if body.get(close + at + 1) == Some(&b'"') => close += at + 2,
                    Some(at) => {
                        close += at;
                        break;
                    }
                }
            }
            let after = trim(&body[close + 1..]);
            let end = memchr::memchr(separator, &body[close + 1..]).map(|at| start + lead + 1 + close + 1 + at);
            if !(after.is_empty() || after[0] == separator) {
                return Err(Bad::new(Code::Quotes, "Text follows a closing quote", line)
                    .on("", line, after)
                    .expected("a separator after the closing quote"));
            }
            (trim(&body[..close]), end)
        } else {
            let end = memchr::memchr(separator, rest);
            (trim(&rest[..end.unwrap_or(rest.len())]), end.map(|at| start + at))
        };
        if fields.count < N {
            fields.at[fields.count] = field;
        }
        fields.count += 1;
        match next {
            Some(at) => start = at + 1,
            None => break,
        }
    }
    check_lengths(line, &fields.at)?;
    Ok(fields)
}

/// Splits at runs of blanks and tabs.
#[inline]
pub(crate) fn split_blanks<const N: usize>(line: &[u8]) -> Result<Fields<'_, N>, Box<Bad>> {
    let mut fields = Fields { at: [&[]; N], count: 0 };
    let mut at = 0;
    loop {
        while at < line.len() && matches!(line[at], b' ' | b'\t') {
            at += 1;
        }
        if at == line.len() {
            break;
        }
        let start = at;
        while at < line.len() && !matches!(line[at], b' ' | b'\t') {
            at += 1;
        }
        if fields.count < N {
            fields.at[fields.count] = &line[start..at];
        }
        fields.count += 1;
    }
    check_lengths(line, &fields.at)?;
    Ok(fields)
}

/// Splits at runs of blanks and tabs outside balanced quotes, which are removed. A quote that is never closed, or that does not
/// begin a field, is a character as any other.
#[cold]
pub(crate) fn split_blanks_quoted<const N: usize>(line: &[u8]) -> Result<Fields<'_, N>, Box<Bad>> {
    let mut fields = Fields { at: [&[]; N], count: 0 };
    let is_blank = |b: &u8| matches!(b, b' ' | b'\t');
    let mut rest = trim(line);
    while !rest.is_empty() {
        let close = rest[1..].iter().position(|b| *b == b'"').map(|at| at + 1);
        let quoted = close.filter(|close| rest[0] == b'"' && rest.get(close + 1).is_none_or(is_blank));
        let (field, end) = match quoted {
            Some(close) => (&rest[1..close], close + 1),
            None => {
                let end = rest.iter().position(is_blank).unwrap_or(rest.len());
                (&rest[..end], end)
            }
        };
        if fields.count < N {
            fields.at[fields.count] = field;
        }
        fields.count += 1;
        rest = trim(&rest[end..]);
    }
    check_lengths(line, &fields.at)?;
    Ok(fields)
}

#[inline]
fn check_lengths(line: &[u8], fields: &[&[u8]]) -> Result<(), Box<Bad>> {
    if line.len() > FIELD_BYTES
        && let Some(field) = fields.iter().find(|field| field.len() > FIELD_BYTES)
    {
        return Err(Bad::new(Code::TooLong, "A field is longer than 4 KiB", line).on("", line, field));
    }
    Ok(())
}

/// Checks the number of fields; the error points out a wrong separator.
#[cold]
pub(crate) fn wrong_count(line: &[u8], found: usize, wanted: &str, separator: u8) -> Box<Bad> {
    let name = |byte: u8| match byte {
        b',' => "comma",
        b';' => "semicolon",
        b'\t' => "tab",
        b'|' => "vertical bar",
        _ => "blank",
    };
    if found <= 1 {
        for other in [b',', b';', b'\t', b'|', b' '] {
            if other != separator && memchr::memchr_iter(other, trim(line)).count() >= 2 {
                return Bad::new(
                    Code::Separator,
                    format!("Fields are separated by a {}, not by a {}", name(other), name(separator)),
                    line,
                )
                .expected(format!("{wanted} fields separated by a {}", name(separator)))
                .fix(format!(
                    "check --format, or name the columns: --format columns:...,sep={}",
                    match other {
                        b' ' => "space",
                        b'|' => "pipe",
                        other => name(other),
                    }
                ));
            }
        }
    }
    let few = if found == 1 { "1 field".to_owned() } else { format!("{found} fields") };
    Bad::new(Code::FieldCount, format!("Line has {few} instead of {wanted}"), line).expected(format!("{wanted} fields"))
}

#[inline]
pub(crate) fn number(line: &[u8], field: &[u8], name: &'static str) -> Result<u64, Box<Bad>> {
    number::integer(field).map_err(|fault| bad_number(line, field, name, fault))
}

#[inline]
pub(crate) fn decimal(line: &[u8], field: &[u8], name: &'static str, unit: u64) -> Result<Decimal, Box<Bad>> {
    number::decimal(field, unit).map_err(|fault| bad_number(line, field, name, fault))
}

#[inline]
pub(crate) fn scaled(line: &[u8], field: &[u8], name: &'static str, unit: u64) -> Result<u64, Box<Bad>> {
    let value = number(line, field, name)?;
    value.checked_mul(unit).ok_or_else(|| {
        let fault = Fault { code: Code::Range, what: "does not fit in 64 bits", hint: None };
        let mut bad = bad_number(line, field, name, fault);
        bad.expected = format!("0 to {}", u64::MAX / unit);
        bad
    })
}

#[cold]
pub(crate) fn bad_number(line: &[u8], field: &[u8], name: &'static str, fault: Fault) -> Box<Bad> {
    let expected = match fault.code {
        Code::Range | Code::Negative => format!("0 to {}", u64::MAX),
        Code::Empty => format!("a number for {name}"),
        _ => "decimal digits only".to_owned(),
    };
    let mut bad = Bad::new(fault.code, format!("{name} {}", fault.what), line).on(name, line, field).expected(expected);
    if let Some(hint) = fault.hint {
        bad = bad.fix(hint);
    }
    bad
}

/// An operation that is the first or the second of two words, in any case.
#[inline]
pub(crate) fn read_or_write(
    line: &[u8],
    field: &[u8],
    name: &'static str,
    words: [&'static str; 2],
) -> Result<Op, Box<Bad>> {
    match words.map(|word| field.eq_ignore_ascii_case(word.as_bytes())) {
        [true, _] => Ok(Op::Read),
        [_, true] => Ok(Op::Write),
        _ => Err(bad_op(line, field, name, &words)),
    }
}

/// A number of a binary record, little endian.
pub(crate) fn u32_at(record: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|i| record[at + i]))
}

pub(crate) fn u64_at(record: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|i| record[at + i]))
}

/// An operation among the `known` words, in any case.
#[cold]
pub(crate) fn bad_op(line: &[u8], field: &[u8], name: &'static str, known: &[&str]) -> Box<Bad> {
    bad_word(line, field, name, "is not a known operation", known)
}

/// A value among the `known` words, in any case. `what` is said of others.
#[cold]
pub(crate) fn bad_word(line: &[u8], field: &[u8], name: &'static str, what: &str, known: &[&str]) -> Box<Bad> {
    let words = known.join(" or ");
    if field.is_empty() {
        return Bad::new(Code::Empty, format!("{name} is empty"), line).on(name, line, field).expected(words);
    }
    if field.iter().any(u8::is_ascii_control) {
        return Bad::new(Code::NotText, format!("{name} contains control bytes"), line)
            .on(name, line, field)
            .expected(words);
    }
    let shown = escape(field);
    let near = known
        .iter()
        .map(|word| (strsim::damerau_levenshtein(&word.to_ascii_lowercase(), &shown.to_ascii_lowercase()), *word))
        .filter(|(distance, word)| *distance <= 2 && *distance < word.len())
        .min();
    let hint = near.map_or(String::new(), |(_, word)| format!(" (did you mean {word}?)"));
    Bad::new(Code::Operation, format!("{name} {what}"), line).on(name, line, field).expected(format!("{words}{hint}"))
}

/// The usual words for operations, in any case, and the kernel's letters.
pub(crate) fn op_word(field: &[u8]) -> Option<Rwbs> {
    const WORDS: [(&str, Op); 21] = [
        ("r", Op::Read),
        ("read", Op::Read),
        ("rd", Op::Read),
        ("rs", Op::Read),
        ("ra", Op::Read),
        ("w", Op::Write),
        ("write", Op::Write),
        ("wr", Op::Write),
        ("ws", Op::Write),
        ("d", Op::Trim),
        ("ds", Op::Trim),
        ("t", Op::Trim),
        ("trim", Op::Trim),
        ("discard", Op::Trim),
        ("unmap", Op::Trim),
        ("secure_erase", Op::Trim),
        ("none", Op::Other),
        ("f", Op::Flush),
        ("flush", Op::Flush),
        ("sync", Op::Flush),
        ("fsync", Op::Flush),
    ];
    let word = WORDS.iter().find(|(word, _)| field.eq_ignore_ascii_case(word.as_bytes()));
    word.map(|(_, op)| Rwbs::plain(*op)).or_else(|| Rwbs::of(field)).or_else(|| piped(field))
}

/// `write|sync`: what it does is one of several words; the others are modifiers.
#[cold]
fn piped(field: &[u8]) -> Option<Rwbs> {
    memchr::memchr(b'|', field)?;
    let mut known = field.split(|b| *b == b'|').filter_map(op_word);
    let first = known.next()?;
    if first.op != Op::Other { Some(first) } else { known.find(|kind| kind.op != Op::Other).or(Some(first)) }
}

/// Is this a row of column names? Both fields that must be numbers start with a letter.
#[inline]
pub(crate) fn is_header(a: &[u8], b: &[u8]) -> bool {
    let name = |field: &[u8]| field.first().is_some_and(u8::is_ascii_alphabetic) && !is_float_word(field);
    name(a) && name(b)
}

/// `nan` and `inf` are bad numbers, not names of columns.
fn is_float_word(field: &[u8]) -> bool {
    ["nan", "inf", "infinity"].iter().any(|word| field.eq_ignore_ascii_case(word.as_bytes()))
}

/// A header is only valid on the first line.
#[cold]
pub(crate) fn header(line: &[u8], cx: &mut Context) -> Outcome {
    if cx.first {
        return cx.pass(Note::Header);
    }
    Err(Bad::new(Code::Header, "Header row in the middle of the data", line)
        .expected("a header on the first line only")
        .fix("two files seem to be concatenated: read them one by one, or drop the line with --on-bad-line skip=1"))
}

/// Offset plus size must not overflow: later steps rely on it.
#[inline]
pub(crate) fn check_end(line: &[u8], offset: u64, bytes: u64, field: &[u8]) -> Result<(), Box<Bad>> {
    if offset.checked_add(bytes).is_none() {
        return Err(Bad::new(Code::Range, "Offset plus size does not fit in 64 bits", line)
            .on("Size", line, field)
            .expected(format!("at most {}", u64::MAX - offset)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitting() {
        let fields: Fields<'_, 4> = split(b" a, b ,,d ", b',').ok().unwrap();
        assert_eq!((fields.count, fields.at), (4, [&b"a"[..], b"b", b"", b"d"]));
        let fields: Fields<'_, 3> = split(b"\"a,b\" , c,\"\"", b',').ok().unwrap();
        assert_eq!((fields.count, fields.at), (3, [&b"a,b"[..], b"c", b""]));
        assert_eq!(split::<3>(b"\"a,b", b',').err().unwrap().code, Code::Quotes);
        assert_eq!(split::<3>(b"\"a\"b,c", b',').err().unwrap().code, Code::Quotes);
        let fields: Fields<'_, 2> = split_blanks(b" a \t b c ").ok().unwrap();
        assert_eq!((fields.count, fields.at), (3, [&b"a"[..], b"b"]));
        let fields: Fields<'_, 4> = split_blanks_quoted(b" \"a b\"\tc\" \"d e").ok().unwrap();
        assert_eq!((fields.count, fields.at), (4, [&b"a b"[..], b"c\"", b"\"d", b"e"]));
    }
}
