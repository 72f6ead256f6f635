//! Whether results that were read back can be those of a run: counts and times within what a run may have, causes that sum, quantiles
//! in order. A figure or a sum of anything else would only look right.

use std::path::Path;

use serde_json::Value;
use ssdlab_figures::figure::{Cell, Table};
use ssdlab_trace::CLOCK_MAX_NS;

use crate::error::{Error, Result};
use crate::files::read_text;
use crate::names::clip;
use crate::readers::causes::Any;
use crate::readers::histogram::MOST_COUNT;
use crate::readers::table::{data, integer};

/// What a cell of a column may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// A count: a whole number of at most 2^53.
    Count,
    /// A time of the clock.
    Time,
    /// A time of the clock, or nothing.
    MaybeTime,
    /// A sum of times that a column holds, or nothing.
    MaybeSum,
    /// A number from 0 on, or nothing.
    Real,
    /// A text.
    Any,
}

/// Columns of whole numbers in files of windows, dies and blocks.
const COUNTS: [&str; 28] = [
    "requests",
    "reads",
    "writes",
    "programs",
    "erases",
    "warmup",
    "pending",
    "flash_reads_host",
    "flash_reads_gc",
    "flash_reads_cache",
    "flash_programs_host",
    "flash_programs_gc",
    "flash_programs_cache",
    "flash_programs_fold",
    "slc_used_pages",
    "slc_erases",
    "retired",
    "spare_left",
    "limit",
    "flash_copybacks",
    "flash_erases",
    "collections",
    "free_pages",
    "die",
    "plane",
    "block",
    "valid_pages",
    "written_pages",
];

fn rule(column: &str) -> Rule {
    // Columns of a tenant have its name, which may be anything, before theirs.
    let own = match column.strip_prefix("tenants.") {
        Some(rest) => rest.rsplit_once('.').map_or(rest, |(_, own)| own),
        None => column,
    };
    match own {
        "start_ns" => Rule::Time,
        "state" | "mode" => Rule::Any,
        "bytes" => Rule::Count,
        own if COUNTS.contains(&own) => Rule::Count,
        own if own.ends_with("mean_ns") || own.ends_with("p99_ns") => Rule::MaybeTime,
        own if own.ends_with("_ns") || Any::of(own).is_some() => Rule::MaybeSum,
        _ => Rule::Real,
    }
}

impl Rule {
    fn holds(self, cell: &Cell) -> bool {
        let whole = |most: u64| integer(cell).is_some_and(|value| value <= u128::from(most));
        match self {
            Rule::Count => whole(MOST_COUNT),
            Rule::Time => whole(CLOCK_MAX_NS),
            Rule::MaybeTime => matches!(cell, Cell::Null) || whole(CLOCK_MAX_NS),
            Rule::MaybeSum => matches!(cell, Cell::Null) || whole(u64::MAX),
            Rule::Real => match cell {
                Cell::Null | Cell::Whole(_) => true,
                Cell::Real(value) => value.is_finite() && *value >= 0.0,
                Cell::Text(_) => false,
            },
            Rule::Any => true,
        }
    }

    fn expected(self) -> String {
        match self {
            Rule::Count => "a whole number of at most 2^53".into(),
            Rule::Time => format!("a time from 0 to {CLOCK_MAX_NS}"),
            Rule::MaybeTime => format!("a time from 0 to {CLOCK_MAX_NS}, or nothing"),
            Rule::MaybeSum => "a sum of times from 0 on, or nothing".into(),
            Rule::Real => "a number from 0 on, or nothing".into(),
            Rule::Any => String::new(),
        }
    }
}

/// An error in a cell; rows count from 1.
fn bad(path: &Path, row: usize, column: &str, cell: &str, expected: &str) -> Error {
    let message = format!("row {}: `{}` is {}: expected {expected}", row + 1, clip(column), clip(cell));
    data(path, message).help("give the file as the run wrote it")
}

/// The kinds of tables that are read as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableKind {
    /// Windows of time.
    Series,
    /// Windows of time by die.
    Dies,
    /// Blocks at the end.
    Blocks,
}

/// Checks the cells of a table, and that its rows are those of one run.
///
/// # Errors
/// A cell is not what its column has, or a row is not where it is in a run's file.
pub fn table(path: &Path, table: &Table, kind: TableKind) -> Result<()> {
    let rules: Vec<Rule> = table.columns.iter().map(|column| rule(column)).collect();
    for (at, row) in table.rows.iter().enumerate() {
        for ((cell, rule), column) in row.iter().zip(&rules).zip(&table.columns) {
            if !rule.holds(cell) {
                return Err(bad(path, at, column, &cell.text(), &rule.expected()));
            }
        }
    }
    match kind {
        TableKind::Series => ascending(path, table, 1),
        TableKind::Dies => {
            let starts = whole(table, "start_ns");
            let dies = starts.iter().take_while(|start| Some(*start) == starts.first()).count();
            ascending(path, table, dies.max(1))?;
            grid(path, table, "die", |row| row % dies.max(1))
        }
        TableKind::Blocks => {
            let planes = whole(table, "plane");
            let blocks = planes.iter().take_while(|plane| Some(*plane) == planes.first()).count();
            grid(path, table, "plane", |row| row / blocks.max(1))?;
            grid(path, table, "block", |row| row % blocks.max(1))
        }
    }
}

/// A column of whole numbers.
fn whole(table: &Table, name: &str) -> Vec<u128> {
    let at = table.columns.iter().position(|column| column == name);
    table.rows.iter().map(|row| at.and_then(|at| row.get(at)).and_then(integer).unwrap_or(0)).collect()
}

/// Windows follow each other; each has so many rows.
fn ascending(path: &Path, table: &Table, rows: usize) -> Result<()> {
    let starts = whole(table, "start_ns");
    let wrong = (0..starts.len()).find(|at| {
        let window = starts[at - at % rows];
        starts[*at] != window || (at % rows == 0 && *at > 0 && starts[*at] <= starts[at - 1])
    });
    wrong.map_or(Ok(()), |at| {
        let expected = if rows == 1 { "a later window than in the row above" } else { "a window with one row a die" };
        Err(bad(path, at, "start_ns", &starts[at].to_string(), expected))
    })
}

/// A column numbers what a device has, in the order of the file: no number is beyond the device.
fn grid(path: &Path, table: &Table, name: &str, expected: impl Fn(usize) -> usize) -> Result<()> {
    let values = whole(table, name);
    let wrong = (0..values.len()).find(|at| values[*at] != expected(*at) as u128);
    wrong.map_or(Ok(()), |at| {
        let expected = format!("{}, as in the order of the device", expected(at));
        Err(bad(path, at, name, &values[at].to_string(), &expected))
    })
}

/// How many of each a device has, by its configuration: planes, blocks a plane, and units of exclusion, which are dies in results.
pub fn device(summary: &Value) -> Option<[u128; 3]> {
    /// More blocks than any device that fits into memory.
    const MOST: u128 = 1 << 48;
    let geometry = summary.pointer("/config/geometry")?;
    let product = |names: &[&str]| {
        let each = names.iter().map(|name| Some(u128::from(u32::try_from(geometry[*name].as_u64()?).ok()?)));
        each.collect::<Option<Vec<_>>>()?
            .iter()
            .try_fold(1, |all: u128, own| Some(all * own).filter(|all| *all <= MOST))
    };
    let whole = ["channels", "chips_per_channel", "dies_per_chip", "planes_per_die"];
    let units = match summary.pointer("/config/device/exclusion").and_then(Value::as_str) {
        Some("channel") => 1,
        Some("chip") => 2,
        _ => 3,
    };
    Some([product(&whole)?, product(&["blocks_per_plane"])?, product(&whole[..units])?])
}

/// Checks that a column of a table stays within the device.
///
/// # Errors
/// A number is beyond it.
pub fn within(path: &Path, table: &Table, name: &str, most: u128) -> Result<()> {
    let values = whole(table, name);
    values.iter().position(|value| *value >= most).map_or(Ok(()), |at| {
        let expected = format!("less than {most}, which the configuration of the run has");
        Err(bad(path, at, name, &values[at].to_string(), &expected))
    })
}

/// Sections of a summary that count.
const COUNTED: [&str; 6] = ["requests", "pages", "bytes", "flash", "gc", "requests_delayed_by_gc"];
/// Fields of a distribution in ascending order.
const ORDER: [&str; 8] = ["min", "p50", "p90", "p95", "p99", "p99_9", "p99_99", "max"];

/// The schema of summaries.
const SCHEMA: &str = "ssdlab.summary/1";

/// The text of a summary that a run wrote.
///
/// # Errors
/// The file can't be read, is not JSON, is of another schema, or has a number that no run has.
pub fn load(path: &Path) -> Result<String> {
    let text = read_text("summary", path)?;
    let wrong = |message: String| Error::usage(format!("{}: {message}", path.display()));
    let value: Value = serde_json::from_str(&text).map_err(|error| {
        wrong(format!("not a summary: {error}")).help("a summary is the file that --json of `ssdlab run` writes")
    })?;
    match value["schema"].as_str() {
        Some(SCHEMA) => summary(path, &value).map(|()| text),
        Some(other) => Err(wrong(format!("its schema is `{}`", clip(other)))
            .help(format!("this version reads {SCHEMA}: read the file with the version that wrote it"))),
        None => Err(wrong("it has no schema".into()).help(format!("a summary begins with \"schema\": \"{SCHEMA}\""))),
    }
}

/// Checks the numbers of a summary.
///
/// # Errors
/// One cannot be that of a run.
pub fn summary(path: &Path, summary: &Value) -> Result<()> {
    let wrong = |place: &str, value: &Value, expected: &str| {
        let message = format!("`{place}` is {}: expected {expected}", clip(&value.to_string()));
        Err(data(path, message).help("give the file as the run wrote it"))
    };
    for section in COUNTED {
        for (name, value) in leaves(section, &summary[section]) {
            if value.as_u64().is_none_or(|count| count > MOST_COUNT) {
                return wrong(&name, value, "a whole number of at most 2^53");
            }
        }
    }
    let times = ["simulated_ns", "wear.erases_min", "wear.erases_max"];
    for place in times {
        let value = &summary.pointer(&format!("/{}", place.replace('.', "/"))).unwrap_or(&Value::Null);
        if !value.is_null() && value.as_u64().is_none_or(|value| value > CLOCK_MAX_NS) {
            return wrong(place, value, &format!("a whole number from 0 to {CLOCK_MAX_NS}"));
        }
    }
    for (name, value) in leaves("utilisation", &summary["utilisation"]) {
        // Requests in the window are no share.
        let most = if name == "utilisation.window_at_arrival" { MOST_COUNT as f64 } else { 1.0 };
        if value.as_f64().is_none_or(|share| !(0.0..=most).contains(&share)) {
            let expected = if most > 1.0 { "a number of requests" } else { "a share from 0 to 1" };
            return wrong(&name, value, expected);
        }
    }
    for measure in ["latency_ns", "waiting_ns"] {
        for op in ["read", "write", "all"] {
            distribution(&format!("{measure}.{op}"), &summary[measure][op], &wrong)?;
        }
    }
    ["read", "write", "all"].iter().try_for_each(|op| breakdown(summary, op, &wrong))
}

type Wrong<'w> = dyn Fn(&str, &Value, &str) -> Result<()> + 'w;

/// A count, a mean and quantiles in order.
fn distribution(place: &str, own: &Value, wrong: &Wrong<'_>) -> Result<()> {
    if own.is_null() {
        return Ok(());
    }
    if own["count"].as_u64().is_none_or(|count| count > MOST_COUNT) {
        return wrong(&format!("{place}.count"), &own["count"], "a whole number of at most 2^53");
    }
    let mut before = 0;
    for field in ORDER {
        let value = &own[field];
        if value.is_null() {
            continue;
        }
        match value.as_u64().filter(|value| *value <= CLOCK_MAX_NS) {
            None => return wrong(&format!("{place}.{field}"), value, &format!("a time from 0 to {CLOCK_MAX_NS}")),
            Some(value) if value < before => {
                let name = format!("{place}.{field}");
                return wrong(&name, &own[field], &format!("at least {before}: quantiles are in order"));
            }
            Some(value) => before = value,
        }
    }
    let mean = own["mean"].as_f64();
    let (least, most) = (own["min"].as_f64(), own["max"].as_f64());
    let outside = mean.zip(least.zip(most)).is_some_and(|(mean, (least, most))| !(least <= mean && mean <= most));
    if outside || (!own["mean"].is_null() && mean.is_none()) {
        return wrong(&format!("{place}.mean"), &own["mean"], "a number between `min` and `max`");
    }
    Ok(())
}

/// The causes of a kind of requests sum to its total latency: mean times count, to the decimals of the mean.
fn breakdown(summary: &Value, op: &str, wrong: &Wrong<'_>) -> Result<()> {
    let Some(causes) = summary["breakdown_ns"][op].as_object() else { return Ok(()) };
    let mut sum = 0.0;
    for (name, value) in causes {
        match value.as_f64().filter(|value| *value >= 0.0 && value.is_finite()) {
            Some(value) => sum += value,
            None => return wrong(&format!("breakdown_ns.{op}.{name}"), value, "a sum of times from 0 on"),
        }
    }
    let own = &summary["latency_ns"][op];
    let (Some(count), Some(mean)) = (own["count"].as_f64(), own["mean"].as_f64()) else { return Ok(()) };
    let total = mean * count;
    if (sum - total).abs() > 0.01 * count + 1e-9 * total {
        let expected = format!("causes that sum to {total}, the total of latency_ns.{op}");
        return wrong(&format!("breakdown_ns.{op}"), &sum.into(), &expected);
    }
    Ok(())
}

/// The counts of a section with their places. Ratios and sums of times are left out.
fn leaves<'v>(place: &str, value: &'v Value) -> Vec<(String, &'v Value)> {
    match value {
        Value::Object(fields) => {
            let inner = fields.iter().filter(|(name, _)| !name.contains("_per_") && !name.ends_with("_ns"));
            inner.flat_map(|(name, value)| leaves(&format!("{place}.{name}"), value)).collect()
        }
        Value::Number(_) => vec![(place.into(), value)],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(result: Result<()>) -> String {
        result.map_or_else(|error| format!("{:?} {}", error.class(), error.message), |()| "sound".into())
    }

    fn of(columns: &[&str], rows: &[&[u64]]) -> Table {
        let mut table = Table::new(columns);
        table.rows = rows.iter().map(|row| row.iter().map(|value| (*value).into()).collect()).collect();
        table
    }

    fn check(table: &Table, kind: TableKind) -> String {
        said(super::table(Path::new("f.csv"), table, kind))
    }

    const BLOCKS: [&str; 5] = ["plane", "block", "erases", "valid_pages", "written_pages"];
    const DIES: [&str; 5] = ["start_ns", "die", "host_ns", "gc_ns", "writeback_ns"];

    #[test]
    fn planes_blocks_and_dies_are_those_of_a_device() {
        // Two planes of three blocks.
        let rows: Vec<[u64; 5]> = (0..6).map(|at| [at / 3, at % 3, 7, 1, 2]).collect();
        let blocks = |rows: &[[u64; 5]]| of(&BLOCKS, &rows.iter().map(|row| &row[..]).collect::<Vec<_>>());
        assert_eq!(check(&blocks(&rows), TableKind::Blocks), "sound");
        for (row, column, value) in [(5, 0, u64::MAX), (5, 0, 9), (4, 1, 3), (0, 0, 1), (2, 1, 1 << 40)] {
            let mut wrong = rows.clone();
            wrong[row][column] = value;
            let said = check(&blocks(&wrong), TableKind::Blocks);
            let place = format!("Trace f.csv: row {}: `{}` is {value}: expected ", row + 1, BLOCKS[column]);
            assert!(said.starts_with(&place), "{said}");
        }
        // A run of the configuration beside it has two planes of two blocks.
        let geometry = json!({ "channels": 2, "chips_per_channel": 1, "dies_per_chip": 1, "planes_per_die": 1, "blocks_per_plane": 2 });
        let summary = json!({ "config": { "geometry": geometry, "device": { "exclusion": "chip" } } });
        assert_eq!(device(&summary), Some([2, 2, 2]));
        let beyond = said(within(Path::new("f.csv"), &blocks(&rows), "block", 2));
        assert!(beyond.starts_with("Trace f.csv: row 3: `block` is 2: expected less than 2"), "{beyond}");
        // A count above 2^53.
        let mut many = rows.clone();
        many[1][2] = (1 << 53) + 1;
        assert!(
            check(&blocks(&many), TableKind::Blocks).contains("row 2: `erases` is 9007199254740993: expected a whole")
        );
        // Two dies in two windows, the last of which is cut off.
        let dies = |rows: &[[u64; 5]]| of(&DIES, &rows.iter().map(|row| &row[..]).collect::<Vec<_>>());
        let good = [[0, 0, 5, 5, 0], [0, 1, 5, 5, 0], [100, 0, 5, 5, 0]];
        assert_eq!(check(&dies(&good), TableKind::Dies), "sound");
        for (row, column, value) in [(1, 1, 2), (2, 1, 1), (1, 0, 50), (2, 0, 1 << 61)] {
            let mut wrong = good;
            wrong[row][column] = value;
            assert!(check(&dies(&wrong), TableKind::Dies).contains(&format!("row {}: `", row + 1)), "{row} {column}");
        }
    }

    #[test]
    fn times_and_sums_of_windows_are_not_negative() {
        let columns = ["start_ns", "requests", "iops", "read_p99_ns", "die_host", "tenants.a.b.mean_ns"];
        let good = [Cell::Whole(5), Cell::Whole(1), Cell::Real(0.5), Cell::Null, Cell::Whole(1 << 62), Cell::Whole(9)];
        let table = |row: &[Cell]| Table { columns: columns.map(String::from).to_vec(), rows: vec![row.to_vec()] };
        assert_eq!(check(&table(&good), TableKind::Series), "sound");
        let wrong = [
            (0, Cell::Real(-5.0)),
            (0, Cell::Null),
            (0, Cell::Whole(1 << 61)),
            (1, Cell::Real(0.5)),
            (1, Cell::Text("x".into())),
            (2, Cell::Real(-1.0)),
            (3, Cell::Whole(1 << 61)),
            (4, Cell::Real(-1.0)),
            (4, Cell::Whole(1 << 64)),
            (5, Cell::Text("\u{1b}[2J".into())),
        ];
        for (at, cell) in wrong {
            let mut row = good.clone();
            row[at] = cell.clone();
            let said = check(&table(&row), TableKind::Series);
            assert!(said.contains(&format!("row 1: `{}` is ", columns[at])) && !said.contains('\u{1b}'), "{said}");
        }
        let later = |starts: [u64; 2]| check(&of(&["start_ns"], &[&starts[..1], &starts[1..]]), TableKind::Series);
        assert_eq!((later([5, 6]).as_str(), later([5, 5]).contains("row 2: `start_ns` is 5")), ("sound", true));
    }

    #[test]
    fn a_summary_adds_up() {
        let own = json!({ "count": 2, "mean": 15.0, "min": 10, "p50": 10, "p90": 20, "p95": 20, "p99": 20, "p99_9": 20, "p99_99": 20, "max": 20 });
        let good = json!({
            "requests": { "read": 2, "write": 0 },
            "flash": { "reads": { "host": 2 } },
            "simulated_ns": 20,
            "utilisation": { "die": 0.5, "window_at_arrival": 29.5 },
            "latency_ns": { "read": own, "write": null },
            "breakdown_ns": { "read": { "array": 20, "bus": 10 } },
        });
        let check = |place: &str, value: Value| {
            let mut wrong = good.clone();
            *wrong.pointer_mut(place).unwrap() = value;
            said(summary(Path::new("s.json"), &wrong))
        };
        assert_eq!(check("/simulated_ns", 21.into()), "sound");
        for (place, value, expected) in [
            ("/requests/read", json!(-1), "`requests.read` is -1: expected a whole number"),
            ("/flash/reads/host", json!((1u64 << 53) + 1), "`flash.reads.host` is 9007199254740993"),
            ("/simulated_ns", json!(1u64 << 61), "`simulated_ns` is 2305843009213693952"),
            (
                "/latency_ns/read/p99",
                json!(9),
                "`latency_ns.read.p99` is 9: expected at least 20: quantiles are in order",
            ),
            ("/latency_ns/read/max", json!(-3), "`latency_ns.read.max` is -3: expected a time"),
            ("/latency_ns/read/mean", json!(21.0), "`latency_ns.read.mean` is 21.0: expected a number between"),
            ("/latency_ns/read/count", json!(0.5), "`latency_ns.read.count` is 0.5"),
            ("/breakdown_ns/read/bus", json!(11), "`breakdown_ns.read` is 31.0: expected causes that sum to 30"),
            ("/breakdown_ns/read/bus", json!(-1), "`breakdown_ns.read.bus` is -1"),
            ("/utilisation/die", json!(1.5), "`utilisation.die` is 1.5: expected a share"),
            (
                "/utilisation/window_at_arrival",
                json!(-1),
                "`utilisation.window_at_arrival` is -1: expected a number of requests",
            ),
        ] {
            let said = check(place, value);
            assert!(said.starts_with("Trace s.json: ") && said.contains(expected), "{said}");
        }
    }
}
