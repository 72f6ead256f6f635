//! `ssdlab ladder`: the same requests at several queue depths, with what fio prints first.

use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::input::When;
use ssdlab_lab::layout;
use ssdlab_lab::text::rate;
use ssdlab_lab::variants::comparison::{Comparison, Doubt, Row};
use ssdlab_lab::variants::figures::{Figure, METRICS, Metric, Unit};
use ssdlab_lab::variants::text::{cell, own_interval};

use crate::args::CompareArgs;
use crate::args::ladder::LadderArgs;
use crate::compare::{self, Tables, lead};

/// The share of the most IOPS from which on a depth counts as enough.
const ENOUGH: f64 = 0.95;

/// Columns behind the depth, IOPS and MB/s.
const COLUMNS: [(&str, &str); 7] = [
    ("all_p99_ns", "p99"),
    ("all_mean_ns", "mean"),
    ("all_p99_9_ns", "p99.9"),
    ("read_p99_ns", "read p99"),
    ("write_p99_ns", "write p99"),
    ("all_gc_ns", "waiting on GC"),
    ("write_amplification_bytes", "WA"),
];

/// Runs all depths and prints.
pub fn ladder(args: &LadderArgs, line: &str) -> Result<()> {
    let mut input = args.input.clone();
    input.replay = Some(closed(input.replay)?);
    if args.how.count_only {
        return Err(Error::usage("--count-only: without time there is no throughput").help("leave it out"));
    }
    let depths: Vec<String> = args.depth.0.iter().map(ToString::to_string).collect();
    let compared = CompareArgs {
        config: args.config.clone(),
        input,
        until: Default::default(),
        vary: vec![format!("device.queue_depth={}", depths.join(","))],
        repeat: args.repeat,
        max_points: 1_000_000,
        how: args.how.clone(),
        table: args.table.clone(),
        rows: args.rows.clone(),
        report: args.report.clone(),
        summaries: None,
    };
    compare::compare_as(&compared, line, Tables { text, markdown })
}

/// When requests arrive: always when one completes.
///
/// # Errors
/// Something else is asked for.
pub fn closed(asked: Option<When>) -> Result<When> {
    match asked {
        Some(When::Arrival) => Err(Error::usage(
            "--replay arrival: a ladder keeps the device at its depth, so arrival times are not used",
        )
        .help("leave --replay out, or use `ssdlab compare --vary device.queue_depth=...` for arrivals as recorded")),
        _ => Ok(When::Closed),
    }
}

fn figure<'r>(row: &'r Row, key: &str) -> Option<(&'static Metric, &'r Figure)> {
    let place = METRICS.iter().position(|metric| metric.key == key)?;
    Some((&METRICS[place], row.figures[place].as_ref()?))
}

/// Reads and writes together, seed by seed.
fn megabytes(row: &Row) -> Option<f64> {
    let mean = |key| figure(row, key).map(|(_, figure)| figure.mean);
    match (mean("host_read_bytes_per_s"), mean("host_written_bytes_per_s")) {
        (None, None) => None,
        (read, written) => Some(read.unwrap_or(0.0) + written.unwrap_or(0.0)),
    }
}

/// The table: a row a depth.
fn rungs(done: &Comparison) -> Vec<Vec<String>> {
    let shown: Vec<(&str, &str)> =
        COLUMNS.into_iter().filter(|(key, _)| done.rows.iter().any(|row| figure(row, key).is_some())).collect();
    let heads = ["depth", "IOPS", "MB/s"].into_iter().chain(shown.iter().map(|(_, head)| *head));
    let mut lines: Vec<Vec<String>> = vec![heads.map(String::from).collect()];
    for row in &done.rows {
        let mut line = vec![row.variant.values[0].clone()];
        if row.variant.refused.is_some() {
            line.resize(lines[0].len(), "refused".into());
            lines.push(line);
            continue;
        }
        let dash = || "-".to_string();
        line.push(figure(row, "requests_per_s").map_or_else(dash, |(metric, figure)| {
            let value = cell(metric.unit, figure.mean);
            match own_interval(figure, metric.unit) {
                interval if interval.is_empty() => value,
                interval => format!("{value} {interval}"),
            }
        }));
        line.push(megabytes(row).map_or_else(dash, |value| cell(Unit::Megabytes, value)));
        let cells = shown.iter().map(|(key, _)| figure(row, key));
        line.extend(cells.map(|of| of.map_or_else(dash, |(metric, figure)| cell(metric.unit, figure.mean))));
        lines.push(line);
    }
    lines
}

/// The least depth that is nearly as fast as the fastest.
fn verdict(done: &Comparison) -> Option<String> {
    let rung = |row: &Row| Some((row.variant.values[0].clone(), figure(row, "requests_per_s")?.1.mean));
    let rungs: Vec<(String, f64)> = done.rows.iter().filter_map(rung).collect();
    let (fastest, most) = rungs.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let (enough, _) = rungs.iter().find(|(_, iops)| *iops >= ENOUGH * most)?;
    if rungs.len() < 2 {
        return None;
    }
    let share = ENOUGH * 100.0;
    Some(match enough == &rungs.last()?.0 {
        true => format!("IOPS still rise at depth {enough}: no lower depth has {share:.0} % of its {}", rate(*most)),
        false => format!("depth {enough} has {share:.0} % of the most IOPS ({} at depth {fastest})", rate(*most)),
    })
}

fn text(args: &CompareArgs, done: &Comparison) -> String {
    let mut out = String::new();
    layout::facts(&mut out, &lead(args, done, "depths"));
    out.push('\n');
    layout::grid(&mut out, &rungs(done), false);
    let mut facts: Vec<(&str, String)> = verdict(done).map(|text| ("ladder", text)).into_iter().collect();
    facts.extend(compare::refusals(&done.rows).into_iter().map(|text| ("refused", text)));
    facts.extend(cautions(done).into_iter().map(|text| ("caution", text)));
    if !facts.is_empty() {
        out.push('\n');
    }
    layout::facts(&mut out, &facts);
    out
}

/// Cautions by depth. That requests differ is no news: a closed loop takes them in the order of completions.
fn cautions(done: &Comparison) -> Vec<String> {
    let depth = |number: &usize| done.rows[number - 1].variant.values[0].clone();
    let known = done.cautions().into_iter().filter(|caution| caution.what != Doubt::OtherRequests);
    known
        .map(|caution| {
            let depths: Vec<String> = caution.variants.iter().map(depth).collect();
            let text = caution.to_string();
            let what = text.split_once(": ").map_or(text.as_str(), |(_, what)| what);
            format!("depth {}: {what}", depths.join(", "))
        })
        .collect()
}

/// The table as Markdown.
pub fn markdown(done: &Comparison) -> String {
    let lines = rungs(done);
    let row = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let mut out = row(&lines[0]) + &format!("|{}\n", " ---: |".repeat(lines[0].len()));
    lines[1..].iter().for_each(|line| out.push_str(&row(line)));
    let notes = verdict(done).into_iter().chain(compare::refusals(&done.rows)).chain(cautions(done));
    notes.enumerate().for_each(|(i, note)| out.push_str(&format!("{}- {note}\n", if i == 0 { "\n" } else { "" })));
    out
}
