//! Latencies over load as CSV (`latency.csv`).

use std::path::Path;

use ssdlab_lab::error::Result;

use super::rows::Row;
use super::{Input, Load, wrong};
use crate::probe::{PROBE, Percentiles};

/// The column by which the table is known, and the others.
pub(super) const KEY: &str = "offered_load";
const COLUMNS: [&str; 8] = [
    KEY,
    "write_p50_us",
    "write_p99_us",
    "write_p99_9_us",
    "read_p50_us",
    "read_p99_us",
    "read_p99_9_us",
    "write_kiops",
];

pub(super) fn header(path: &Path, columns: &[String], input: &mut Input) -> Result<()> {
    let has = |name: &str| columns.iter().any(|column| column == name);
    if let Some(missing) = COLUMNS[..7].iter().find(|name| !has(name)) {
        let all = COLUMNS[..7].join(",");
        return Err(wrong(path, 1, &format!("no column {missing}"))
            .help(format!("latencies over load have the columns {all}, and perhaps write_kiops")));
    }
    let others: Vec<&str> = columns.iter().map(String::as_str).filter(|column| !COLUMNS.contains(column)).collect();
    if !others.is_empty() {
        input.remarks.push(format!("{}: columns that are not used: {}", path.display(), others.join(", ")));
    }
    Ok(())
}

pub(super) fn row(row: &Row<'_>, input: &mut Input) -> Result<()> {
    let of = |kind: &str| -> Result<Percentiles> {
        Ok([
            row.positive(&format!("{kind}_p50_us"))?,
            row.positive(&format!("{kind}_p99_us"))?,
            row.positive(&format!("{kind}_p99_9_us"))?,
        ])
    };
    let load = Load {
        load: row.positive(KEY)?,
        read: of("read")?,
        write: of("write")?,
        writes: row.maybe("write_kiops")?.map(|thousands| 1000.0 * thousands),
    };
    add(row.path, row.line, load, input)
}

/// Adds a load; they ascend.
pub(super) fn add(path: &Path, line: usize, load: Load, input: &mut Input) -> Result<()> {
    for (name, [p50, p99, p99_9]) in [("read", load.read), ("write", load.write)] {
        if p50 > p99 || p99 > p99_9 {
            return Err(wrong(path, line, &format!("percentiles of {name} do not rise: {p50}, {p99}, {p99_9}")));
        }
    }
    if load.load < PROBE {
        let what = format!("{KEY} {} is below the {PROBE} requests a second of the probe", load.load);
        return Err(wrong(path, line, &what));
    }
    if input.loads.last().is_some_and(|last| last.load >= load.load) {
        return Err(wrong(path, line, &format!("{KEY} {} does not rise", load.load))
            .help("one row a load, ascending: repeats of a load are averaged before"));
    }
    input.loads.push(load);
    Ok(())
}
