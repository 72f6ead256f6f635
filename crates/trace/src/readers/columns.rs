//! Any text with columns, by a map.

use crate::error::Code;
use crate::iso;
use crate::map::{Clock, Column, Columns, MAX_COLUMNS, OpColumn, Separator};
use crate::notes::Note;
use crate::number;
use crate::readers::blkparse::Summary;
use crate::readers::line::*;
use crate::readers::rwbs::Rwbs;
use crate::shown::escape;

/// The source of the operation, with the place of its column.
enum OpPlace {
    Words(usize),
    Values(usize, Vec<(Vec<u8>, Op)>),
    Constant(Op),
}

/// The map with the places of its columns.
struct ColumnPlan {
    time: Option<(usize, Clock)>,
    latency: Option<(usize, u64)>,
    op: OpPlace,
    offset: (usize, u64),
    size: (usize, u64),
    fua: Option<usize>,
    stream: Option<usize>,
    volume: Vec<usize>,
    filters: Vec<(usize, Vec<u8>)>,
    /// Columns that a line with data must have.
    needed: usize,
}

impl ColumnPlan {
    /// Finds the columns of a map; `None` if a name is not in the header.
    fn of(map: &Columns, header: &[&[u8]]) -> Option<ColumnPlan> {
        let place = |column: &Column| match column {
            Column::At(place) => Some(*place),
            Column::Named(name) => {
                let exact = header.iter().position(|field| *field == name.as_bytes());
                exact.or_else(|| header.iter().position(|field| field.eq_ignore_ascii_case(name.as_bytes())))
            }
        };
        // `None` in the column of an option is none; a name that is not found is an error.
        let optional = |column: &Option<Column>| match column {
            None => Some(None),
            Some(column) => place(column).map(Some),
        };
        let time = match &map.time {
            None => None,
            Some(time) => Some((place(&time.column)?, time.clock)),
        };
        let latency = match map.time.as_ref().and_then(|time| time.latency.as_ref()) {
            None => None,
            Some(latency) => Some((place(&latency.column)?, latency.unit)),
        };
        let op = match &map.op {
            OpColumn::Words(column) => OpPlace::Words(place(column)?),
            OpColumn::Values(column, values) => OpPlace::Values(place(column)?, values.clone()),
            OpColumn::Constant(op) => OpPlace::Constant(*op),
        };
        let mut plan = ColumnPlan {
            time,
            latency,
            op,
            offset: (place(&map.offset.column)?, map.offset.unit),
            size: (place(&map.size.column)?, map.size.unit),
            fua: optional(&map.fua)?,
            stream: optional(&map.stream)?,
            volume: map.volume.iter().map(place).collect::<Option<_>>()?,
            filters: map
                .filters
                .iter()
                .map(|(column, value)| Some((place(column)?, value.clone())))
                .collect::<Option<_>>()?,
            needed: 0,
        };
        let op = match &plan.op {
            OpPlace::Words(place) | OpPlace::Values(place, _) => Some(*place),
            OpPlace::Constant(_) => None,
        };
        let times = plan.time.iter().map(|(place, _)| *place).chain(plan.latency.iter().map(|(place, _)| *place));
        let labels = plan.fua.iter().chain(&plan.stream).chain(&plan.volume).copied();
        let filters = plan.filters.iter().map(|(place, _)| *place);
        let all = times.chain([plan.offset.0, plan.size.0]).chain(op).chain(labels).chain(filters);
        plan.needed = all.max().unwrap_or(0) + 1;
        Some(plan)
    }
}

pub(crate) struct Mapped {
    map: Columns,
    /// `None` while the header has not been seen.
    plan: Option<ColumnPlan>,
    /// The header that lacks a name, for the message.
    header: Vec<u8>,
    label: Vec<u8>,
    summary: Summary,
}

impl Mapped {
    pub fn new(map: Columns) -> Mapped {
        let plan = ColumnPlan::of(&map, &[]);
        Mapped { map, plan, header: Vec::new(), label: Vec::new(), summary: Summary::default() }
    }

    #[cold]
    fn no_header(&self, line: &[u8]) -> Box<Bad> {
        let fields = split_map::<MAX_COLUMNS>(&self.header, self.map.separator).ok();
        let known: Vec<&[u8]> =
            fields.iter().flat_map(|fields| &fields.at[..fields.count.min(MAX_COLUMNS)]).copied().collect();
        let missing: Vec<String> = self
            .map
            .named()
            .filter(|name| !known.iter().any(|field| field.eq_ignore_ascii_case(name.as_bytes())))
            .map(|name| escape(name.as_bytes()))
            .collect();
        let shown: Vec<String> = known.iter().take(24).map(|field| escape(field)).collect();
        Bad::new(Code::Header, format!("The header has no column {}", missing.join(" and no column ")), line)
            .expected(match self.header.is_empty() {
                true => "a header line above the data".to_owned(),
                false => format!("one of its names: {}", shown.join(", ")),
            })
            .fix("name columns as the header does, or by number; skip= passes over lines above the header")
    }
}

/// Room for the columns of one line: most maps need few.
const NEAR: usize = 16;

#[inline]
pub(crate) fn split_map<const N: usize>(line: &[u8], separator: Separator) -> Result<Fields<'_, N>, Box<Bad>> {
    match separator {
        Separator::Byte(byte) => split(line, byte),
        Separator::Blanks if memchr::memchr(b'"', line).is_some() => split_blanks_quoted(line),
        Separator::Blanks => split_blanks(line),
    }
}

#[inline]
fn parse_fields<const N: usize>(
    plan: &ColumnPlan,
    line: &[u8],
    separator: Separator,
    label: &mut Vec<u8>,
    cx: &mut Context,
) -> Outcome {
    let fields = split_map::<N>(line, separator)?;
    plan.parse(&Cells { line, at: &fields.at[..fields.count.min(N)], separator }, label, cx)
}

impl Parser for Mapped {
    fn leading_lines(&self) -> u64 {
        self.map.skip + self.map.header
    }

    fn leading(&mut self, number: u64, line: &[u8]) {
        if self.plan.is_some() || number <= self.map.skip {
            return;
        }
        let line = trim(line.strip_prefix(b"#").unwrap_or(line));
        if let Ok(fields) = split_map::<MAX_COLUMNS>(line, self.map.separator) {
            self.plan = ColumnPlan::of(&self.map, &fields.at[..fields.count.min(MAX_COLUMNS)]);
            self.header = line.to_vec();
        }
    }

    fn completes(&self) -> bool {
        self.map.time.as_ref().is_some_and(|time| time.latency.is_some())
    }

    #[inline]
    fn parse(&mut self, line: &[u8], cx: &mut Context) -> Outcome {
        let Some(plan) = &self.plan else {
            return Err(self.no_header(line));
        };
        let outcome = if plan.needed < NEAR {
            parse_fields::<NEAR>(plan, line, self.map.separator, &mut self.label, cx)
        } else {
            parse_fields::<MAX_COLUMNS>(plan, line, self.map.separator, &mut self.label, cx)
        };
        match outcome {
            // blkparse ends with its statistics, whatever the format of its events.
            Err(_) if self.summary.takes(line, cx) => Ok(None),
            Ok(found) => {
                self.summary.ends();
                Ok(found)
            }
            bad => bad,
        }
    }
}

/// Whether a write has forced unit access.
fn flag(line: &[u8], field: &[u8]) -> Result<bool, Box<Bad>> {
    let is = |words: &[&str]| words.iter().any(|word| field.eq_ignore_ascii_case(word.as_bytes()));
    match field {
        _ if is(&["1", "true", "yes", "fua"]) => Ok(true),
        _ if is(&["0", "false", "no", "", "-"]) => Ok(false),
        _ => {
            let known = ["1", "true", "yes", "fua", "0", "false", "no", "-"];
            Err(bad_word(line, field, "fua", "is neither true nor false", &known))
        }
    }
}

/// A line and its fields, as many as there are.
struct Cells<'a> {
    line: &'a [u8],
    at: &'a [&'a [u8]],
    separator: Separator,
}

impl<'a> Cells<'a> {
    /// A field; empty if the line ends before it.
    #[inline]
    fn get(&self, place: usize) -> &'a [u8] {
        self.at.get(place).copied().unwrap_or_default()
    }

    #[cold]
    fn short(&self, needed: usize) -> Box<Bad> {
        let separator = match self.separator {
            Separator::Byte(byte) => byte,
            Separator::Blanks => b' ',
        };
        wrong_count(self.line, self.at.len(), &format!("at least {needed}"), separator)
    }
}

impl ColumnPlan {
    #[inline]
    fn parse(&self, cells: &Cells<'_>, label: &mut Vec<u8>, cx: &mut Context) -> Outcome {
        // A line that a filter or its operation leaves out need not have the other columns.
        if self.filters.iter().any(|(place, wanted)| cells.at.get(*place) != Some(&wanted.as_slice())) {
            return cx.pass(Note::Filtered);
        }
        let kind = self.kind(cells)?;
        // A flush has no range; its line may end before those columns.
        let bare = kind.op == Op::Other;
        if bare && !kind.flush {
            return cx.pass(if kind.changes { Note::ChangesData } else { Note::OtherOp });
        }
        if cells.at.len() < self.needed && !bare {
            return Err(cells.short(self.needed));
        }
        let time_ns = self.time(cells, cx)?;
        let mut amount = |(place, unit): (usize, u64), name| match cells.get(place) {
            b"" | b"-" if bare => Ok(0),
            field => amount(cells.line, field, name, unit, cx),
        };
        let (offset, bytes) = (amount(self.offset, "offset")?, amount(self.size, "size")?);
        let op = kind.with_bytes(bytes);
        check_end(cells.line, offset, bytes, cells.get(self.size.0))?;
        let fua = match self.fua {
            Some(place) if op == Op::Write => flag(cells.line, cells.get(place))?,
            _ => op == Op::Write && kind.fua,
        };
        let Some(volume) = self.volume(cells, label, cx)? else { return Ok(None) };
        let stream = self.stream.map_or(Ok(0), |place| cx.streams.number(cells.get(place)))?;
        Ok(Some(Record { time_ns, offset, bytes, volume, op, fua, stream }))
    }

    #[inline]
    fn kind(&self, cells: &Cells<'_>) -> Result<Rwbs, Box<Bad>> {
        let (place, found) = match &self.op {
            OpPlace::Constant(op) => return Ok(Rwbs::plain(*op)),
            OpPlace::Words(place) => (*place, op_word(cells.get(*place))),
            OpPlace::Values(place, values) => {
                let known = values.iter().find(|(value, _)| value == cells.get(*place));
                (*place, known.map(|(_, op)| Rwbs::plain(*op)))
            }
        };
        found.ok_or_else(|| self.unknown_op(cells, place))
    }

    #[cold]
    fn unknown_op(&self, cells: &Cells<'_>, place: usize) -> Box<Bad> {
        if cells.at.len() < self.needed {
            return cells.short(self.needed);
        }
        match &self.op {
            OpPlace::Values(_, values) => {
                let known: Vec<String> = values.iter().map(|(value, _)| escape(value)).collect();
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                bad_op(cells.line, cells.get(place), "op", &known)
                    .fix("add the value to op=, with x if it is to be skipped")
            }
            _ => bad_op(cells.line, cells.get(place), "op", &["R", "Read", "W", "Write", "Discard", "Flush"])
                .fix("say what the values mean, as in op=4:0r1w"),
        }
    }

    #[inline]
    fn time(&self, cells: &Cells<'_>, cx: &mut Context) -> Result<u64, Box<Bad>> {
        let Some((place, clock)) = self.time else { return Ok(0) };
        let name = if self.latency.is_some() { "completion" } else { "time" };
        let time_ns = match clock {
            Clock::Units(unit) => duration(cells.line, cells.get(place), name, unit, cx)?,
            Clock::Iso => {
                let mut field = cells.get(place);
                // Between blanks, the time of day is a column of its own.
                let next = cells.get(place + 1);
                if cells.separator == Separator::Blanks && !field.contains(&b':') && next.get(2) == Some(&b':') {
                    field = &cells.line[span(cells.line, field).start..span(cells.line, next).end];
                }
                cx.time(iso::time(field).map_err(|fault| bad_number(cells.line, field, name, fault))?)
            }
        };
        let Some((place, unit)) = self.latency else { return Ok(time_ns) };
        let field = cells.get(place);
        let latency = duration(cells.line, field, "latency", unit, cx)?;
        cx.arrival(time_ns, latency, cells.line, field)
    }

    #[inline]
    fn volume(&self, cells: &Cells<'_>, label: &mut Vec<u8>, cx: &mut Context) -> Result<Option<u32>, Box<Bad>> {
        match self.volume.as_slice() {
            [] => Ok(Some(0)),
            [place] => cx.volume(cells.get(*place)),
            several => {
                label.clear();
                for (i, place) in several.iter().enumerate() {
                    if i > 0 {
                        label.push(b'_');
                    }
                    label.extend_from_slice(cells.get(*place));
                }
                cx.volume(label)
            }
        }
    }
}

/// A number of units in any notation, in whole bytes.
#[inline]
fn amount(line: &[u8], field: &[u8], name: &'static str, unit: u64, cx: &mut Context) -> Result<u64, Box<Bad>> {
    match number::integer(field).ok().and_then(|value| value.checked_mul(unit)) {
        Some(bytes) => Ok(bytes),
        None => odd_amount(line, field, name, unit, cx),
    }
}

#[cold]
fn odd_amount(line: &[u8], field: &[u8], name: &'static str, unit: u64, cx: &mut Context) -> Result<u64, Box<Bad>> {
    let found = number::any(field, unit).map_err(|fault| bad_number(line, field, name, fault))?;
    if found.cut {
        return Err(Bad::new(Code::Notation, format!("{name} is no whole number of bytes"), line)
            .on(name, line, field)
            .expected(format!("a number of {unit} B that makes whole bytes"))
            .fix("check the unit of this column"));
    }
    Ok(cx.time(found))
}

/// A time in any notation.
#[inline]
fn duration(line: &[u8], field: &[u8], name: &'static str, unit: u64, cx: &mut Context) -> Result<u64, Box<Bad>> {
    let found = number::decimal(field, unit).or_else(|_| number::any(field, unit));
    Ok(cx.time(found.map_err(|fault| bad_number(line, field, name, fault))?))
}
