//! Records from a file of `--requests`.

use std::io::Read;
use std::path::Path;

use ssdlab_figures::figure::Cell;
use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::files;
use ssdlab_lab::readers::histogram::sums_to;
use ssdlab_lab::readers::table::{self, data, integer};
use ssdlab_sim::blame::{Blame, CAUSES, Extra, ExtraBlame};
use ssdlab_trace::CLOCK_MAX_NS;

use crate::records::{Record, Records, Spool};

/// Columns before the causes.
const COLUMNS: [&str; 8] =
    ["request", "arrival_ns", "op", "offset", "bytes", "start_ns", "completion_ns", "latency_ns"];

/// What cannot be in a row, by itself or after another one: `last` is the number and the arrival of that.
fn contradiction(record: &Record, completion: u64, last: Option<(u64, u64)>) -> Option<String> {
    let (arrival, latency) = (record.arrival, record.latency);
    if arrival > CLOCK_MAX_NS {
        return Some(format!("`arrival_ns` is {arrival}: expected at most {CLOCK_MAX_NS}"));
    }
    if completion > CLOCK_MAX_NS {
        return Some(format!("`completion_ns` is {completion}: expected at most {CLOCK_MAX_NS}"));
    }
    if record.offset.checked_add(record.bytes).is_none() {
        return Some("`offset` and `bytes` end beyond 2^64".into());
    }
    if completion.checked_sub(arrival) != Some(latency) {
        let wanted = "expected `completion_ns` less `arrival_ns`";
        return Some(format!("`latency_ns` is {latency}: {wanted}, {completion} - {arrival}"));
    }
    if record.start.is_some_and(|start| start < arrival || start > completion) {
        return Some("`start_ns` is outside the request".into());
    }
    if !sums_to(latency, record.blame.0.iter().chain(&record.extras.0).copied()) {
        return Some("the causes do not sum to `latency_ns`".into());
    }
    if last.is_some_and(|(last, _)| last >= record.request) {
        return Some("requests are not in the order of their numbers".into());
    }
    let (_, before) = last.filter(|(_, before)| *before > arrival)?;
    Some(format!("`arrival_ns` is {arrival}: expected at least {before}, as in the row above"))
}

/// Reads a file, CSV or Parquet by its content.
///
/// # Errors
/// The file can't be read, or is not one of `--requests`.
pub fn read(path: &Path) -> Result<Records> {
    let mut head = [0; 4];
    let mut file = files::open_regular("table", path)?;
    file.read(&mut head).map_err(|error| Error::file("read", path, &error))?;
    let mut spool = Spool::default();
    let mut at: Vec<usize> = Vec::new();
    // Causes of optional features have columns only on devices with them.
    let mut extra_at = [None; Extra::COUNT];
    let (mut number, mut last, mut tenants) = (0u64, None::<(u64, u64)>, false);
    table::rows(path, &head == b"PAR1", &mut |columns, row| {
        let Some(row) = row else {
            for name in COLUMNS.into_iter().chain(CAUSES.iter().map(|(_, name)| *name)) {
                let place = columns.iter().position(|column| column == name);
                at.push(place.ok_or_else(|| {
                    data(path, format!("no column `{name}`"))
                        .help("an explanation is made of the rows of --requests, with all their columns")
                })?);
            }
            extra_at = Extra::ALL.map(|extra| columns.iter().position(|column| column == extra.name()));
            tenants = columns.iter().any(|column| column == "tenant");
            return Ok(true);
        };
        number += 1;
        let bad = |what: String| {
            data(path, format!("row {number}: {what}")).help("give the rows as --requests of a run wrote them")
        };
        let whole = |i: usize| integer(&row[at[i]]).and_then(|value| u64::try_from(value).ok());
        let need = |i: usize, name: &str| whole(i).ok_or_else(|| bad(format!("`{name}` is not a whole number")));
        if matches!(&row[at[2]], Cell::Text(op) if op == "flush") {
            return Ok(true);
        }
        let write = match &row[at[2]] {
            Cell::Text(op) if op == "read" => false,
            Cell::Text(op) if op == "write" => true,
            _ => return Err(bad("`op` is neither read nor write".into())),
        };
        let mut blame = Blame::ZERO;
        for (i, (cause, name)) in CAUSES.iter().enumerate() {
            blame.add(*cause, need(COLUMNS.len() + i, name)?);
        }
        let mut extras = ExtraBlame::default();
        for (extra, place) in Extra::ALL.into_iter().zip(extra_at) {
            let Some(place) = place else { continue };
            let ns = integer(&row[place]).and_then(|value| u64::try_from(value).ok());
            extras.add(extra, ns.ok_or_else(|| bad(format!("`{}` is not a whole number", extra.name())))?);
        }
        let record = Record {
            request: need(0, COLUMNS[0])?,
            arrival: need(1, COLUMNS[1])?,
            write,
            offset: need(3, COLUMNS[3])?,
            bytes: need(4, COLUMNS[4])?,
            start: whole(5),
            latency: need(7, COLUMNS[7])?,
            plane: None,
            blame,
            extras,
            aggressor: None,
            read_first: false,
        };
        contradiction(&record, need(6, COLUMNS[6])?, last).map_or(Ok(()), |what| Err(bad(what)))?;
        last = Some((record.request, record.arrival));
        spool.put(&record)?;
        Ok(true)
    })?;
    let mut records = spool.finish()?;
    records.tenants = tenants;
    Ok(records)
}
