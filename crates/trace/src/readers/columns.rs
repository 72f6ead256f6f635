//! Any text with columns, by a map.

use crate::format::{Columns, MAX_COLUMNS, Measure, OpColumn, Separator};
use crate::notes::Note;
use crate::readers::line::*;
use crate::record::Op;
use crate::shown::escape;

pub(crate) struct Mapped {
    map: Columns,
    /// Columns a line must have.
    needed: usize,
    label: Vec<u8>,
}

impl Mapped {
    pub fn new(map: Columns) -> Mapped {
        let op = match &map.op {
            OpColumn::Words(column) | OpColumn::Values(column, _) => Some(*column),
            OpColumn::Constant(_) => None,
        };
        let needed = map
            .time
            .iter()
            .map(|measure| measure.column)
            .chain([map.offset.column, map.size.column])
            .chain(op)
            .chain(map.fua)
            .chain(map.stream)
            .chain(map.volume.iter().copied())
            .chain(map.filters.iter().map(|(column, _)| *column))
            .max()
            .unwrap_or(0)
            + 1;
        Mapped { map, needed, label: Vec::new() }
    }

    /// A whole number of units.
    fn measure(line: &[u8], field: &[u8], measure: Measure, name: &'static str) -> Result<u64, Box<Bad>> {
        scaled(line, field, name, measure.unit)
    }
}

/// Room for the columns of one line: most maps need few.
const NEAR: usize = 16;

impl Parser for Mapped {
    fn leading_lines(&self) -> u64 {
        self.map.skip + self.map.header
    }

    #[inline]
    fn parse(&mut self, line: &[u8], cx: &mut Context) -> Outcome {
        if self.needed <= NEAR {
            let fields: Fields<'_, NEAR> = match self.map.separator {
                Separator::Byte(byte) => split(line, byte)?,
                Separator::Blanks => split_blanks(line)?,
            };
            self.parse_fields(line, &fields.at, fields.count, cx)
        } else {
            let fields: Fields<'_, MAX_COLUMNS> = match self.map.separator {
                Separator::Byte(byte) => split(line, byte)?,
                Separator::Blanks => split_blanks(line)?,
            };
            self.parse_fields(line, &fields.at, fields.count, cx)
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

impl Mapped {
    #[inline]
    fn parse_fields(&mut self, line: &[u8], fields: &[&[u8]], count: usize, cx: &mut Context) -> Outcome {
        if count < self.needed {
            let separator = match self.map.separator {
                Separator::Byte(byte) => byte,
                Separator::Blanks => b' ',
            };
            return Err(wrong_count(line, count, &format!("at least {}", self.needed), separator));
        }
        for (column, wanted) in &self.map.filters {
            if fields[*column] != wanted.as_slice() {
                cx.note(Note::Filtered);
                return Ok(Parsed::Pass);
            }
        }
        let time_ns = match self.map.time {
            None => 0,
            Some(Measure { column, unit }) => {
                let time = decimal(line, fields[column], "time", unit)?;
                cx.time(time)
            }
        };
        let (offset, size) = (self.map.offset, self.map.size);
        let first = Mapped::measure(line, fields[offset.column], offset, "offset")?;
        let bytes = Mapped::measure(line, fields[size.column], size, "size")?;
        let op = match &self.map.op {
            OpColumn::Constant(op) => *op,
            OpColumn::Words(column) => match op_word(fields[*column]) {
                Some(op) => op,
                None => {
                    return Err(bad_op(line, fields[*column], "op", &["R", "Read", "W", "Write", "Discard", "Flush"])
                        .fix("say what the values mean, as in op=4:0r1w"));
                }
            },
            OpColumn::Values(column, values) => match values.iter().find(|(value, _)| *value == fields[*column]) {
                Some((_, op)) => *op,
                None => {
                    let known: Vec<String> = values.iter().map(|(value, _)| escape(value)).collect();
                    let known: Vec<&str> = known.iter().map(String::as_str).collect();
                    return Err(bad_op(line, fields[*column], "op", &known)
                        .fix("add the value to op=, with x if it is to be skipped"));
                }
            },
        };
        check_end(line, first, bytes, fields[size.column])?;
        let fua = match self.map.fua {
            Some(column) if op == Op::Write => flag(line, fields[column])?,
            _ => false,
        };
        let volume = match self.map.volume.as_slice() {
            [] => Some(0),
            [column] => cx.volume(fields[*column])?,
            several => {
                let mut label = std::mem::take(&mut self.label);
                label.clear();
                for (i, column) in several.iter().enumerate() {
                    if i > 0 {
                        label.push(b'_');
                    }
                    label.extend_from_slice(fields[*column]);
                }
                let volume = cx.volume(&label);
                self.label = label;
                volume?
            }
        };
        let Some(volume) = volume else {
            return Ok(Parsed::Pass);
        };
        let stream = self.map.stream.map_or(Ok(0), |column| cx.streams.number(fields[column]))?;
        Ok(Parsed::Record(Raw { time_ns, offset: first, bytes, volume, op, fua, stream }))
    }
}
