//! A column map from the names in a header, for text that no other format fits.
//!
//! A name says what its column is (`arrival`, `op`, `lba`) and may state its unit (`time_us`, `size (KiB)`); the first lines say
//! whether times are dates and what operations look like. Where names and lines allow two readings that differ in the numbers,
//! there is no map but the list of readings.

use crate::iso;
use crate::map::{Column, Columns, MAX_COLUMNS, Separator};
use crate::readers::columns::split_map;
use crate::readers::line::{op_word, trim};
use crate::readers::msr::FILETIMES;
use crate::shown::escape;

/// Lines that confirm the names.
const LINES: usize = 200;
/// Lines of comments before the header.
const COMMENTS: usize = 32;
/// Maps that a message lists.
const MOST_MAPS: usize = 4;

pub(crate) enum Guess {
    /// One reading, and the columns that it does not use.
    Map(Box<Columns>, Vec<String>),
    /// Several readings.
    Unclear(Unclear),
}

/// Readings that differ in the numbers.
pub(crate) struct Unclear {
    /// Which columns, and their readings.
    pub what: String,
    /// A map for some of the readings.
    pub maps: Vec<String>,
    /// Line of the header, from 0.
    pub line: usize,
}

/// What a column may be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// When a request came.
    Arrival,
    /// A time that may be that of arrival or completion.
    Time,
    Completion,
    Latency,
    Op,
    Offset,
    Size,
    Volume,
    Fua,
    Stream,
}

/// Units of a column whose name does not state one.
const PLAIN: &[&str] = &["bytes", "sectors"];
const BLOCKS: &[&str] = &["sectors", "pages"];
const BYTES: &[&str] = &["bytes"];
const SECTORS: &[&str] = &["sectors"];
const NO_UNIT: &[&str] = &[];

/// Names without their unit; words of a name are joined by `_`.
const NAMES: [(Role, &[&str], &str); 15] = [
    (
        Role::Arrival,
        NO_UNIT,
        "arrival arrival_time arrive arrive_time start_time issue issue_time submit submit_time submission_time request_time \
         req_time enqueue_time",
    ),
    (Role::Time, NO_UNIT, "time timestamp time_stamp ts date datetime date_time clock"),
    (
        Role::Completion,
        NO_UNIT,
        "completion completion_time complete complete_time completed end_time finish finish_time",
    ),
    (
        Role::Latency,
        NO_UNIT,
        "latency lat io_latency duration elapsed elapsed_time response response_time service_time",
    ),
    (
        Role::Op,
        NO_UNIT,
        "op operation type rw r_w read_write io_type iotype io_op op_type optype op_name opcode op_code direction rwbs \
         request_type req_type access_type cmd command is_write write is_read read",
    ),
    (Role::Offset, PLAIN, "offset address addr start_offset disk_offset io_offset position pos"),
    (Role::Offset, BYTES, "byte_offset file_offset"),
    (Role::Offset, BLOCKS, "lba slba start_lba lbn lsn block blk blkno block_number start_block"),
    (Role::Offset, SECTORS, "sector start_sector first_sector sector_number"),
    (Role::Size, PLAIN, "size length len io_size request_size req_size request_io_size transfer_size xfer_size"),
    (Role::Size, BYTES, "bytes nbytes num_bytes byte_count"),
    (Role::Size, BLOCKS, "blocks nblocks num_blocks block_count count nlb"),
    (Role::Size, SECTORS, "sectors nsectors nr_sectors num_sectors sector_count"),
    (
        Role::Volume,
        NO_UNIT,
        "volume vol volume_id disk disk_id disk_number device device_id dev lun lun_id asu drive namespace nsid host hostname \
         server file filename file_name inode",
    ),
    (Role::Fua, NO_UNIT, "fua is_fua"),
];

/// Last words of names that state the unit of a time.
const TIME_UNITS: [(&str, &str); 5] = [
    ("ns", "ns nsec nsecs nanos nanosecond nanoseconds"),
    ("us", "us usec usecs micros microsecond microseconds µs μs"),
    ("ms", "ms msec msecs millis millisecond milliseconds"),
    ("s", "s sec secs second seconds"),
    ("100ns", "100ns"),
];

/// Last words of names that state the unit of an address or a size. A kilobyte is 1000 or 1024 bytes, a page is of 4 KiB or more.
const SIZE_UNITS: [(&[&str], &str); 7] = [
    (BYTES, "bytes byte"),
    (SECTORS, "sectors sector 512b"),
    (&["kib"], "kib"),
    (&["mib"], "mib"),
    (&["1000", "kib"], "kb kbytes"),
    (&["1000000", "mib"], "mb mbytes"),
    (&["pages", "8192", "16384"], "pages page"),
];

fn is_in(words: &str, word: &str) -> bool {
    words.split_ascii_whitespace().any(|known| known == word)
}

/// The words of a name in lower case: `start time (ms)` is `start`, `time`, `ms`; with `humps`, so is `startTime (ms)`.
fn words(name: &str, humps: bool) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for c in name.chars() {
        let begins = !c.is_alphanumeric() || (humps && c.is_uppercase() && before.is_lowercase());
        if begins && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if c.is_alphanumeric() {
            words.last_mut().expect("never empty").extend(c.to_lowercase());
        }
        before = c;
    }
    words.retain(|word| !word.is_empty());
    words
}

fn known(words: &[String]) -> Option<(Role, &'static [&'static str])> {
    let stem = words.join("_");
    if is_in("stream stream_id streamid", &stem) {
        return Some((Role::Stream, NO_UNIT));
    }
    NAMES.into_iter().find(|(_, _, names)| is_in(names, &stem)).map(|(role, units, _)| (role, units))
}

/// What a name says of its column, and its units.
fn role(name: &str) -> Option<(Role, &'static [&'static str])> {
    role_of(&words(name, false)).or_else(|| role_of(&words(name, true)))
}

fn role_of(words: &[String]) -> Option<(Role, &'static [&'static str])> {
    if let Some(found) = known(words) {
        return Some(found);
    }
    let (last, stem) = words.split_last()?;
    let is_time = |role| matches!(role, Role::Arrival | Role::Time | Role::Completion | Role::Latency);
    if let Some((unit, _)) = TIME_UNITS.iter().find(|(_, names)| is_in(names, last)) {
        let (role, _) = match known(stem) {
            None if stem == ["start"] => (Role::Arrival, NO_UNIT),
            None if stem == ["end"] => (Role::Completion, NO_UNIT),
            found => found?,
        };
        return is_time(role).then_some((role, std::slice::from_ref(unit)));
    }
    let (units, _) = SIZE_UNITS.iter().find(|(_, names)| is_in(names, last))?;
    let (role, _) = known(stem)?;
    matches!(role, Role::Offset | Role::Size).then_some((role, *units))
}

struct RoleColumn {
    place: usize,
    /// As a map writes it.
    column: String,
    /// As the header has it.
    name: String,
    role: Role,
    units: &'static [&'static str],
}

/// The header, and lines of data with as many columns.
struct Sheet<'a> {
    columns: Vec<RoleColumn>,
    rows: Vec<Vec<&'a [u8]>>,
}

impl Sheet<'_> {
    fn of(&self, role: Role) -> impl Iterator<Item = &RoleColumn> {
        self.columns.iter().filter(move |column| column.role == role)
    }

    fn values(&self, column: &RoleColumn) -> impl Iterator<Item = &[u8]> {
        self.rows.iter().map(move |row| row[column.place])
    }

    /// The readings of a time.
    fn clocks(&self, column: &RoleColumn) -> Vec<&'static str> {
        let all = |fits: &dyn Fn(&[u8]) -> bool| self.values(column).all(fits);
        if all(&|value| iso::time(value).is_ok()) {
            return vec!["iso"];
        }
        if !column.units.is_empty() {
            return column.units.to_vec();
        }
        let text = |value: &[u8]| std::str::from_utf8(value).ok().map(str::to_owned);
        let whole = |value: &[u8]| text(value).and_then(|value| value.parse::<u64>().ok());
        let real = |value: &[u8]| text(value).and_then(|value| value.parse::<f64>().ok());
        // A whole number of seconds, ms or us since 1970 may be a time since boot in ns.
        let in_years = |seconds: f64| (315_532_800.0..4_102_444_800.0).contains(&seconds);
        if all(&|value| whole(value).is_some_and(|ticks| FILETIMES.contains(&ticks))) {
            return vec!["100ns"];
        }
        if all(&|value| whole(value).is_some_and(|ns| in_years(ns as f64 / 1e9))) {
            return vec!["ns"];
        }
        let point = |value: &[u8]| value.contains(&b'.');
        if all(&|value| point(value) && real(value).is_some_and(in_years)) {
            return vec!["s"];
        }
        if !all(&|value| real(value).is_some()) {
            return Vec::new();
        }
        let largest = self.values(column).filter_map(real).fold(0.0, f64::max);
        // What does not fit the clock is no reading.
        let units = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
        let fits = units.into_iter().filter(|(_, unit)| largest * unit < 2f64.powi(63));
        let whole_ns = usize::from(self.values(column).any(point));
        fits.skip(whole_ns).map(|(unit, _)| unit).collect()
    }

    /// The readings of the time of a request, as a map writes them.
    fn times(&self) -> Vec<String> {
        let clocks = |column: &RoleColumn, key: &str| -> Vec<String> {
            self.clocks(column).iter().map(|unit| format!("{key}={}:{unit}", column.column)).collect()
        };
        let arrivals: Vec<String> = self.of(Role::Arrival).flat_map(|column| clocks(column, "time")).collect();
        if !arrivals.is_empty() {
            return arrivals;
        }
        let latencies: Vec<String> = self.of(Role::Latency).flat_map(|column| clocks(column, "latency")).collect();
        let complete = |column: &RoleColumn| -> Vec<String> {
            let pair = |end: String| latencies.iter().map(move |latency| format!("{end},{latency}"));
            clocks(column, "completion").into_iter().flat_map(pair).collect()
        };
        let mut found: Vec<String> = self.of(Role::Time).flat_map(|column| clocks(column, "time")).collect();
        // Beside a latency, a time that is only called so may be that of completion.
        found.extend(self.of(Role::Time).flat_map(complete));
        if found.is_empty() {
            found.extend(self.of(Role::Completion).flat_map(complete));
        }
        found
    }

    /// The readings of the operation.
    fn ops(&self) -> Vec<String> {
        let mut found = Vec::new();
        for column in self.of(Role::Op) {
            let name = &column.column;
            if self.values(column).all(|value| matches!(value, b"0" | b"1")) {
                let meaning = words(&column.name, true).join("_");
                let mut meanings = match meaning.as_str() {
                    "is_write" | "write" => vec!["0r1w"],
                    "is_read" | "read" => vec!["0w1r"],
                    _ => vec!["0r1w", "0w1r"],
                };
                found.extend(meanings.drain(..).map(|meaning| format!("op={name}:{meaning}")));
            } else if self.values(column).all(|value| op_word(value).is_some()) {
                found.push(format!("op={name}"));
            }
        }
        found
    }

    /// The readings of an address or a size.
    fn amounts(&self, role: Role, key: &str, max_request: u64) -> Vec<String> {
        let mut found = Vec::new();
        for column in self.of(role) {
            let largest = || {
                let numbers =
                    self.values(column).filter_map(|value| std::str::from_utf8(value).ok()?.parse::<u64>().ok());
                numbers.max().unwrap_or(0)
            };
            // What the reader would reject is no reading.
            let fits =
                |unit: &str| role != Role::Size || unit != "sectors" || largest().saturating_mul(512) <= max_request;
            let stated = column.units.len() == 1;
            let units = column.units.iter().filter(|unit| stated || fits(unit));
            found.extend(units.map(|unit| format!("{key}={}:{unit}", column.column)));
        }
        found
    }

    /// Columns whose meaning leaves no choice.
    fn labels(&self) -> String {
        let label = |(role, key): (Role, &str)| -> String {
            self.of(role).map(|column| format!(",{key}={}", column.column)).collect()
        };
        let first = |(role, key): (Role, &str)| -> String {
            self.of(role).take(1).map(|column| format!(",{key}={}", column.column)).collect()
        };
        [first((Role::Fua, "fua")), first((Role::Stream, "stream")), label((Role::Volume, "vol"))].concat()
    }
}

fn separator(line: &[u8]) -> Separator {
    [b',', b'\t', b';', b'|'].into_iter().find(|byte| line.contains(byte)).map_or(Separator::Blanks, Separator::Byte)
}

fn fields(line: &[u8], separator: Separator) -> Option<Vec<&[u8]>> {
    let fields = split_map::<MAX_COLUMNS>(line, separator).ok()?;
    (fields.count <= MAX_COLUMNS).then(|| fields.at[..fields.count].to_vec())
}

/// The columns with a role, if a line may be a header.
fn columns(names: &[&[u8]]) -> Option<Vec<RoleColumn>> {
    let mut columns = Vec::new();
    for (place, name) in names.iter().enumerate() {
        let Some(name) = std::str::from_utf8(name).ok().filter(|name| name.len() <= 255) else { continue };
        let Some((role, units)) = role(name) else { continue };
        let twice = names.iter().filter(|other| other.eq_ignore_ascii_case(name.as_bytes())).count() > 1;
        let column = if twice || name.contains('\'') { Column::At(place) } else { Column::Named(name.to_owned()) };
        columns.push(RoleColumn { place, column: column.to_string(), name: name.to_owned(), role, units });
    }
    let has = |role| columns.iter().any(|column: &RoleColumn| column.role == role);
    (has(Role::Op) && has(Role::Offset) && has(Role::Size)).then_some(columns)
}

/// The map that the header of a sample gives, if it has one.
pub(crate) fn guess(sample: &[u8], max_request: u64) -> Option<Guess> {
    let mut lines = sample.split(|b| *b == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line)).enumerate();
    for _ in 0..COMMENTS {
        let (number, line) = lines.next()?;
        let bare = trim(line.strip_prefix(b"#").unwrap_or(line));
        let separator = separator(bare);
        let names = fields(bare, separator)?;
        if let Some(columns) = columns(&names) {
            return of_header(Sheet { columns, rows: Vec::new() }, &names, separator, number, lines, max_request);
        }
        if !line.is_empty() && !line.starts_with(b"#") {
            return None;
        }
    }
    None
}

fn of_header<'a>(
    mut sheet: Sheet<'a>,
    names: &[&[u8]],
    separator: Separator,
    number: usize,
    lines: impl Iterator<Item = (usize, &'a [u8])>,
    max_request: u64,
) -> Option<Guess> {
    let data = lines.map(|(_, line)| line).filter(|line| !trim(line).is_empty() && !line.starts_with(b"#"));
    for line in data.take(LINES) {
        // Columns that the header does not name would shift the others.
        sheet.rows.push(fields(line, separator).filter(|row| row.len() == names.len())?);
    }
    if sheet.rows.is_empty() {
        return None;
    }
    let parts = [
        sheet.times(),
        sheet.ops(),
        sheet.amounts(Role::Offset, "offset", max_request),
        sheet.amounts(Role::Size, "size", max_request),
    ];
    if parts.iter().any(Vec::is_empty) {
        return None;
    }
    let map = |parts: [&str; 4]| -> Option<Columns> {
        let mut map: Columns = format!("{}{},header=1,skip={number}", parts.join(","), sheet.labels()).parse().ok()?;
        map.separator = separator;
        Some(map)
    };
    if parts.iter().all(|readings| readings.len() == 1) {
        let map = map(std::array::from_fn(|i| parts[i][0].as_str()))?;
        let used = |name: &&[u8]| {
            sheet.columns.iter().any(|column| column.name.as_bytes() == *name && is_used(&sheet, column))
        };
        let unused = names.iter().filter(|name| !name.is_empty() && !used(name));
        let unused = unused.map(|name| String::from_utf8_lossy(name).into_owned()).collect();
        return Some(Guess::Map(Box::new(map), unused));
    }
    let unclear = parts.iter().filter(|readings| readings.len() > 1);
    let what: Vec<String> = unclear.map(|readings| escape(readings.join(" or ").as_bytes())).collect();
    let most = parts.iter().map(Vec::len).max().unwrap_or(1).min(MOST_MAPS);
    let reading = |choice: usize| map(std::array::from_fn(|i| parts[i][choice.min(parts[i].len() - 1)].as_str()));
    let maps = (0..most).filter_map(reading).map(|map| map.to_string()).collect();
    Some(Guess::Unclear(Unclear { what: what.join("; "), maps, line: number }))
}

fn is_used(sheet: &Sheet<'_>, column: &RoleColumn) -> bool {
    match column.role {
        Role::Time => sheet.of(Role::Arrival).next().is_none(),
        Role::Completion | Role::Latency => {
            sheet.of(Role::Arrival).next().is_none() && sheet.of(Role::Time).next().is_none()
        }
        Role::Fua | Role::Stream => sheet.of(column.role).next().is_some_and(|first| first.place == column.place),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_roles_and_units() {
        for (name, expected) in [
            ("Timestamp(us)", Some((Role::Time, &["us"][..]))),
            ("start_ms", Some((Role::Arrival, &["ms"]))),
            ("startTime", Some((Role::Arrival, &[]))),
            ("size_KiB", Some((Role::Size, &["kib"]))),
            ("length [bytes]", Some((Role::Size, BYTES))),
            ("size_kb", Some((Role::Size, &["1000", "kib"]))),
            ("LBA", Some((Role::Offset, BLOCKS))),
            ("lba_512b", Some((Role::Offset, SECTORS))),
            ("sector", Some((Role::Offset, SECTORS))),
            ("sectors", Some((Role::Size, SECTORS))),
            ("R/W", Some((Role::Op, &[]))),
            ("time_kib", None),
            ("size_us", None),
            ("start", None),
            ("128166372003061629", None),
        ] {
            assert!(role(name) == expected, "{name}: {:?}", role(name).map(|(_, units)| units));
        }
    }
}
