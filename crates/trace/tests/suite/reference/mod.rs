//! Slow readers written from the formats' descriptions alone: whole text at once, `str::split`, 128-bit integers, no
//! shared code with the crate. They exist to disagree with the fast ones.

use ssdlab_trace::{Clock, Column, Format, Op, OpColumn, Record, Separator, Time};

type Row = (u128, u128, u128, String, Op);

/// Requests as (time, offset, bytes, volume, op), and the line at which reading stops.
type Outcome = (Vec<Row>, Option<u64>);

fn digits(text: &str) -> Option<u128> {
    let plain = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let text = text.trim_start_matches('0');
    if !plain || text.len() > 25 {
        return None;
    }
    let value = if text.is_empty() { 0 } else { text.parse().ok()? };
    (value <= u128::from(u64::MAX)).then_some(value)
}

fn times(value: Option<u128>, unit: u128) -> Option<u128> {
    value.map(|v| v * unit).filter(|v| *v <= u128::from(u64::MAX))
}

fn decimal(text: &str, unit: u128) -> Option<u128> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    if whole.is_empty() && part.is_empty() || !part.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let whole = if whole.is_empty() { 0 } else { digits(whole)? };
    let mut value = whole * unit;
    let mut weight = unit;
    let mut rest = 0;
    for digit in part.bytes() {
        // Long division, one digit at a time.
        weight *= u128::from(digit - b'0');
        rest = rest * 10 + weight;
        weight = unit;
        if rest > 1 << 100 {
            break;
        }
    }
    value += rest / 10u128.pow(part.len() as u32);
    (value <= u128::from(u64::MAX)).then_some(value)
}

fn letters(text: &str) -> bool {
    let word = ["nan", "inf", "infinity"].contains(&text.to_lowercase().as_str());
    text.chars().next().is_some_and(|c| c.is_ascii_alphabetic()) && !word
}

/// What a line is: a request, nothing, or wrong.
enum Line {
    Row(Row),
    Nothing,
    Wrong,
}

fn row(time: Option<u128>, offset: Option<u128>, bytes: Option<u128>, volume: &str, op: Option<Op>) -> Line {
    match (time, offset, bytes, op) {
        (Some(time), Some(offset), Some(bytes), Some(op)) if offset + bytes <= u128::from(u64::MAX) => {
            Line::Row((time, offset, bytes, volume.to_owned(), op))
        }
        _ => Line::Wrong,
    }
}

fn read_or_write(text: &str, read: &[&str], write: &[&str]) -> Option<Op> {
    match (read.contains(&text), write.contains(&text)) {
        (true, _) => Some(Op::Read),
        (_, true) => Some(Op::Write),
        _ => None,
    }
}

fn comma(line: &str) -> Vec<&str> {
    line.split(',')
        .map(|field| {
            let field = field.trim_matches([' ', '\t']);
            let inside = field.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
            inside.unwrap_or(field).trim_matches([' ', '\t'])
        })
        .collect()
}

fn blanks(line: &str) -> Vec<&str> {
    line.split([' ', '\t']).filter(|field| !field.is_empty()).collect()
}

fn simple(format: &str, line: &str, first: bool) -> Line {
    let header = |a: &str, b: &str| match (letters(a) && letters(b), first) {
        (true, true) => Some(Line::Nothing),
        (true, false) => Some(Line::Wrong),
        _ => None,
    };
    let f = if matches!(format, "ssdsim" | "mqsim" | "disksim" | "diskmon") { blanks(line) } else { comma(line) };
    match format {
        "msr" if f.len() == 7 => {
            let kind = f[3].to_lowercase();
            header(f[0], f[4]).unwrap_or_else(|| {
                let named = !f[1].is_empty() && !f[2].is_empty();
                let op = read_or_write(&kind, &["read"], &["write"]).filter(|_| named);
                row(times(digits(f[0]), 100), digits(f[4]), digits(f[5]), &format!("{}_{}", f[1], f[2]), op)
            })
        }
        "spc" if f.len() >= 5 => header(f[0], f[1]).unwrap_or_else(|| {
            let fraction = f.len() == 6 && f[5].len() >= 3 && f[5].bytes().all(|b| b.is_ascii_digit());
            if fraction && f[4].bytes().all(|b| b.is_ascii_digit()) || digits(f[0]).is_none() {
                return Line::Wrong;
            }
            let op = read_or_write(f[3], &["r", "R"], &["w", "W"]);
            row(decimal(f[4], 1_000_000_000), times(digits(f[1]), 512), digits(f[2]), f[0], op)
        }),
        "ssdsim" | "mqsim" | "disksim" if f.len() == 5 => header(f[0], f[2]).unwrap_or_else(|| {
            if digits(f[1]).is_none() {
                return Line::Wrong;
            }
            let (time, op) = if format == "disksim" {
                let flags = u64::from_str_radix(f[4], 16).ok().filter(|_| !f[4].starts_with('+'));
                (decimal(f[0], 1_000_000), flags.map(|v| if v & 1 == 1 { Op::Read } else { Op::Write }))
            } else {
                (digits(f[0]), read_or_write(f[4], &["1"], &["0"]))
            };
            row(time, times(digits(f[2]), 512), times(digits(f[3]), 512), f[1], op)
        }),
        "alibaba" if f.len() == 5 => header(f[2], f[4]).unwrap_or_else(|| {
            if digits(f[0]).is_none() {
                return Line::Wrong;
            }
            let op = read_or_write(f[1], &["r", "R"], &["w", "W"]);
            row(times(digits(f[4]), 1_000), digits(f[2]), digits(f[3]), f[0], op)
        }),
        "tencent" if f.len() == 5 => header(f[0], f[1]).unwrap_or_else(|| {
            let op = read_or_write(f[3], &["0"], &["1"]).filter(|_| !f[4].is_empty());
            row(times(digits(f[0]), 1_000_000_000), times(digits(f[1]), 512), times(digits(f[2]), 512), f[4], op)
        }),
        "systor" if f.len() == 6 => header(f[0], f[4]).unwrap_or_else(|| {
            let time = decimal(f[0], 1_000_000_000);
            if time.is_some() && f[2].is_empty() {
                return Line::Nothing;
            }
            let op = read_or_write(f[2], &["r", "R"], &["w", "W"]).filter(|_| !f[3].is_empty());
            row(time, digits(f[4]), digits(f[5]), f[3], op)
        }),
        "diskmon" if f.len() == 7 => {
            let op = read_or_write(&f[4].to_lowercase(), &["read"], &["write"]).filter(|_| digits(f[0]).is_some());
            row(decimal(f[1], 1_000_000_000), times(digits(f[5]), 512), times(digits(f[6]), 512), f[3], op)
        }
        _ => Line::Wrong,
    }
}

fn run(text: &str, mut read: impl FnMut(&str, bool) -> Line) -> Outcome {
    let (mut rows, mut first) = (Vec::<Row>::new(), true);
    let (mut base, mut high) = (None, 0);
    for (number, line) in text.split('\n').enumerate() {
        let line = line.strip_suffix('\r').unwrap_or(line);
        if line.trim_matches([' ', '\t', '\r']).is_empty() || line.starts_with('#') {
            continue;
        }
        let wrong = Some(number as u64 + 1);
        match read(line, first) {
            Line::Wrong => return (rows, wrong),
            Line::Row(row) if row.2 > 0 => {
                high = high.max(row.0);
                if high - *base.get_or_insert(row.0) > i64::MAX as u128 {
                    return (rows, wrong);
                }
                rows.push(row);
            }
            _ => {}
        }
        first = false;
    }
    (rows, None)
}

const SIMPLE: [&str; 9] = ["msr", "spc", "ssdsim", "mqsim", "disksim", "alibaba", "tencent", "systor", "diskmon"];

/// Accepts and refuses exactly as it should: what was read before the first wrong line, and that line.
#[allow(clippy::type_complexity)]
pub fn strict(format: &'static str) -> Option<impl Fn(&str) -> (Vec<(u64, u64, Op)>, Option<u64>)> {
    SIMPLE.contains(&format).then_some(move |text: &str| {
        let (rows, bad) = run(text, |line, first| simple(format, line, first));
        (rows.into_iter().map(|(_, offset, bytes, _, op)| (offset as u64, bytes as u64, op)).collect(), bad)
    })
}

/// Turns rows into records: rebased, volumes numbered.
fn records(rows: Vec<Row>) -> Vec<Record> {
    let base = rows.first().map_or(0, |row| row.0);
    let mut names: Vec<String> = Vec::new();
    rows.into_iter()
        .map(|(time, offset, bytes, volume, op)| {
            let at = names.iter().position(|name| *name == volume).unwrap_or_else(|| {
                names.push(volume.clone());
                names.len() - 1
            });
            Record {
                time_ns: (time - base) as u64,
                offset: offset as u64,
                bytes: bytes as u64,
                volume: at as u32,
                op,
                fua: false,
                stream: 0,
            }
        })
        .collect()
}

/// A whole text to its requests.
type Slow = Box<dyn Fn(&str) -> Vec<Record>>;

/// Reads text that is right.
pub fn reader(format: &'static str) -> Option<Slow> {
    if SIMPLE.contains(&format) {
        return Some(Box::new(move |text| records(run(text, |line, first| simple(format, line, first)).0)));
    }
    match format {
        "blkparse" | "blkparse:D" => {
            let wanted = if format == "blkparse" { "Q" } else { "D" };
            Some(Box::new(move |text| {
                let read = |line: &str, _| {
                    let f = blanks(line);
                    if f.len() < 10 || f[5] != wanted {
                        return Line::Nothing;
                    }
                    let op = match &f[6][..1] {
                        "R" => Op::Read,
                        "W" => Op::Write,
                        _ => Op::Trim,
                    };
                    row(
                        decimal(f[3], 1_000_000_000),
                        times(digits(f[7]), 512),
                        times(digits(f[9]), 512),
                        f[0],
                        Some(op),
                    )
                };
                records(run(text, read).0)
            }))
        }
        "fio" => Some(Box::new(|text| {
            let read = |line: &str, _| {
                let f = blanks(line);
                let op = match f.get(2) {
                    Some(&"read") => Op::Read,
                    Some(&"write") => Op::Write,
                    Some(&"trim") => Op::Trim,
                    _ => return Line::Nothing,
                };
                if f.len() != 5 {
                    return Line::Nothing;
                }
                row(times(digits(f[0]), 1_000), digits(f[3]), digits(f[4]), f[1], Some(op))
            };
            records(run(text, read).0)
        })),
        "blkreplay" => Some(Box::new(|text| {
            let read = |line: &str, _| {
                let f: Vec<&str> = line.split(';').map(str::trim).collect();
                let op = match f.get(3) {
                    Some(&"R" | &"RA") => Op::Read,
                    Some(&"W") => Op::Write,
                    Some(&"D") => Op::Trim,
                    _ => return Line::Nothing,
                };
                row(decimal(f[0], 1_000_000_000), times(digits(f[1]), 512), times(digits(f[2]), 512), "", Some(op))
            };
            records(run(text, read).0)
        })),
        map if map.starts_with("columns:") => {
            let Ok(Format::Columns(map)) = map.parse() else {
                return None;
            };
            // Maps here name columns by number, and times in units.
            let at = |column: &Column| match column {
                Column::At(place) => *place,
                Column::Named(name) => panic!("a column by name: {name}"),
            };
            let units = |time: &Time| match time.clock {
                Clock::Units(unit) => unit.into(),
                Clock::Iso => panic!("a date"),
            };
            Some(Box::new(move |text| {
                let skip = (map.skip + map.header) as usize;
                let body: Vec<&str> = text.split('\n').skip(skip).collect();
                let read = |line: &str, _| {
                    let f: Vec<&str> = match map.separator {
                        Separator::Blanks => blanks(line),
                        Separator::Byte(b) => line.split(b as char).map(|f| f.trim_matches([' ', '\t'])).collect(),
                    };
                    if map.filters.iter().any(|(column, value)| f[at(column)].as_bytes() != value.as_slice()) {
                        return Line::Nothing;
                    }
                    let op = match &map.op {
                        OpColumn::Words(column) => match f[at(column)] {
                            "R" => Op::Read,
                            "W" => Op::Write,
                            _ => Op::Trim,
                        },
                        OpColumn::Values(column, values) => values
                            .iter()
                            .find(|(value, _)| value.as_slice() == f[at(column)].as_bytes())
                            .map_or(Op::Other, |(_, op)| *op),
                        OpColumn::Constant(op) => *op,
                    };
                    let volume: Vec<&str> = map.volume.iter().map(|column| f[at(column)]).collect();
                    row(
                        map.time.as_ref().map_or(Some(0), |time| decimal(f[at(&time.column)], units(time))),
                        times(digits(f[at(&map.offset.column)]), map.offset.unit.into()),
                        times(digits(f[at(&map.size.column)]), map.size.unit.into()),
                        &volume.join("_"),
                        Some(op),
                    )
                };
                records(run(&body.join("\n"), read).0)
            }))
        }
        _ => None,
    }
}

/// The same trace, written as legally odd as the format allows.
pub fn disguise(format: &str, bytes: &[u8], seed: u64) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut coin = move |one_in: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.is_multiple_of(one_in)
    };
    let mut out = String::new();
    for (number, line) in text.lines().enumerate() {
        let mut line = line.to_owned();
        // The first lines may be headers whose number matters.
        if number > 3 && coin(7) {
            out.push_str(if coin(2) { "# a remark\n" } else { " \t\r\n" });
        }
        match format {
            "msr" | "diskmon" if coin(3) => {
                line = line.replace("Read", if coin(2) { "READ" } else { "read" }).replace("Write", "wRITE");
            }
            "spc" => {
                line = line.replace("R,", if coin(2) { "r," } else { " R ," });
                if coin(3) {
                    line.push_str(",optional, 9");
                }
            }
            "disksim" if coin(4) => line = line.strip_suffix('1').map_or(line.clone(), |rest| format!("{rest}2b")),
            "blkparse" if coin(3) => {
                out.push_str(&line.replace("  Q ", "  D "));
                out.push('\n');
            }
            "blkreplay" => line = line.replace("; R ;", if coin(2) { "; RA ;" } else { ";R;" }),
            _ => {}
        }
        if matches!(format, "msr" | "spc" | "alibaba" | "tencent" | "systor") && coin(4) {
            let quoted: Vec<String> = line.split(',').map(|field| format!("\"{field}\"")).collect();
            line = quoted.join(",");
        }
        if matches!(format, "msr" | "spc" | "alibaba" | "tencent" | "systor") && coin(4) {
            line = line.replace(',', " ,\t");
        }
        if matches!(format, "ssdsim" | "mqsim" | "disksim" | "diskmon") && coin(4) {
            line = format!("\t{}  ", line.replace([' ', '\t'], " \t "));
        }
        out.push_str(&line);
        out.push_str(if coin(5) { "\r\n" } else { "\n" });
    }
    if coin(3) {
        out.truncate(out.trim_end().len());
    }
    out
}
