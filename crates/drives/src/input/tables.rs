//! Measurements as CSV: a run over its host writes (`curve.csv`), steady rates (`steady.csv`), or latencies over load (`latency.csv`).

use std::path::Path;

use ssdlab_lab::error::Result;

use super::rows::{Row, rows};
use super::{Curve, Input, Point, Steady, loads, wrong};
use crate::pattern::Pattern;

const CURVE: [&str; 6] = ["pattern", "parameter", "host_drive_writes", "host_MBps", "media_written", "media_read"];
const STEADY: [&str; 8] =
    ["pattern", "parameter", "host_MBps", "se_pct", "drift_pct", "wa", "moved_per_host", "drive_writes"];

/// The pattern; none, with a remark, if its name is not known.
fn pattern(row: &Row<'_>, input: &mut Input) -> Result<Option<Pattern>> {
    let (name, parameter) = (row.text("pattern"), row.text("parameter"));
    if name.is_empty() {
        return Err(wrong(row.path, row.line, "no pattern"));
    }
    let pattern = Pattern::parse(name, parameter).map_err(|what| wrong(row.path, row.line, &what))?;
    if pattern.is_none() {
        let known = Pattern::NAMES.join(", ");
        let remark = format!("pattern `{name}` is not modelled, and left out; known are {known}");
        if !input.remarks.contains(&remark) {
            input.remarks.push(remark);
        }
    }
    Ok(pattern)
}

/// Reads a table; its columns say which one it is.
pub(super) fn read(path: &Path, text: &str, input: &mut Input) -> Result<()> {
    let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).flexible(true).from_reader(text.as_bytes());
    let columns: Vec<String> = match reader.headers() {
        Ok(names) => names.iter().map(|name| name.trim().to_string()).collect(),
        Err(error) => return Err(wrong(path, 1, &error.to_string())),
    };
    let has = |name: &str| columns.iter().any(|column| column == name);
    if has(loads::KEY) {
        loads::header(path, &columns, input)?;
        return rows(path, &columns, &mut reader, &mut |row| loads::row(row, input));
    }
    let curve = has("host_drive_writes");
    let known: &[&str] = if curve { &CURVE } else { &STEADY };
    if !has("pattern") || !has("parameter") || !has("host_MBps") {
        let message = format!("neither a run ({}) nor steady rates ({})", CURVE.join(","), STEADY.join(","));
        return Err(wrong(path, 1, &message)
            .help("the columns pattern, parameter and host_MBps are needed, or offered_load for latencies over load"));
    }
    let others: Vec<&str> = columns.iter().map(String::as_str).filter(|column| !known.contains(column)).collect();
    if !others.is_empty() {
        input.remarks.push(format!("{}: columns that are not used: {}", path.display(), others.join(", ")));
    }
    let first = input.curves.len();
    rows(path, &columns, &mut reader, &mut |row| {
        let Some(pattern) = pattern(row, input)? else { return Ok(()) };
        if curve { point(row, pattern, first, input) } else { steady(row, pattern, input) }
    })
}

/// A point of the last run of this file if it has the same pattern, else of a new one.
fn point(row: &Row<'_>, pattern: Pattern, first: usize, input: &mut Input) -> Result<()> {
    let point = Point {
        at: row.positive("host_drive_writes")?,
        rate: row.positive("host_MBps")?,
        written: row.maybe("media_written")?,
        read: row.maybe("media_read")?,
    };
    let run = input.curves[first..].iter().position(|(other, _)| *other == pattern).map(|index| first + index);
    let Some(run) = run else {
        input.curves.push((pattern, Curve { points: vec![point] }));
        return Ok(());
    };
    let points = &mut input.curves[run].1.points;
    if points.last().is_some_and(|last| last.at >= point.at) {
        let what = format!("host_drive_writes {} of {pattern} does not rise", point.at);
        return Err(wrong(row.path, row.line, &what)
            .help("one run a pattern and parameter; give other runs in files of their own"));
    }
    points.push(point);
    Ok(())
}

fn steady(row: &Row<'_>, pattern: Pattern, input: &mut Input) -> Result<()> {
    let drive_writes = row.maybe("drive_writes")?;
    if drive_writes.is_some_and(|writes| writes <= 0.0 || writes > 1000.0) {
        return Err(wrong(row.path, row.line, "drive_writes is not above 0 and up to 1000"));
    }
    input.steady.push(Steady {
        pattern,
        rate: row.positive("host_MBps")?,
        error_pct: row.maybe("se_pct")?,
        drift_pct: row.maybe("drift_pct")?,
        written: row.maybe("wa")?,
        moved: row.maybe("moved_per_host")?,
        drive_writes,
    });
    Ok(())
}
