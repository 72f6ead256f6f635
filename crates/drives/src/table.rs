//! Results as lines of text.

use crate::cells::{Cell, Use};
use crate::check::{is_claimed, is_inside};
use crate::file::{DriveFile, Predicted, error_line};
use crate::identify::Identified;
use crate::latency::{self, Knee, Latencies, Latency};
use crate::probe::Percentiles;
use crate::results::ranked;
use crate::verdict::signed;

/// Columns of equal width, the first to the left and the others to the right.
fn columns(rows: &[Vec<String>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..count).map(|column| width(column).unwrap_or(0)).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().enumerate().map(|(i, cell)| match i {
            0 => format!("{cell:<width$}", width = widths[i]),
            _ => format!("{cell:>width$}", width = widths[i]),
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_string() + "\n"
    };
    rows.iter().map(line).collect()
}

fn words(cells: &[&str]) -> Vec<String> {
    cells.iter().map(|cell| (*cell).to_string()).collect()
}

/// Predictions beside measurements.
pub fn predictions(predicted: &[Predicted]) -> String {
    let mut rows = vec![words(&["pattern", "predicted MB/s", "interval", "measured MB/s", "error", "in", ""])];
    for cell in predicted {
        let [low, high] = cell.interval;
        let note = match (is_claimed(cell), is_inside(cell)) {
            (true, false) => "outside its interval",
            (false, _) if cell.used == Use::Fit => "",
            (false, _) => "not claimed",
            _ => "",
        };
        rows.push(vec![
            format!("{} {}", cell.pattern, cell.parameter).trim_end().to_string(),
            format!("{:.1}", cell.MBps),
            format!("{low:.0} to {high:.0}"),
            format!("{:.1}", cell.measured),
            format!("{:+.1} %", cell.error_pct),
            cell.used.name().to_string(),
            note.to_string(),
        ]);
    }
    format!("{}{}\n", columns(&rows), error_line(predicted))
}

/// Latencies beside measurements, and the most writes a second; nothing where none were measured.
pub fn latencies(rows: &[Latency], knee: Option<&Knee>) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut lines = vec![words(&[
        "requests/s",
        "read us, predicted",
        "measured",
        "write us, predicted",
        "measured",
        "error of p99",
        "in",
        "",
    ])];
    let three = |[p50, p99, p99_9]: Percentiles| format!("{p50:.0} / {p99:.0} / {p99_9:.0}");
    for row in rows {
        let note = match latency::is_claimed(row, knee) {
            true if row.error_pct.abs() > latency::READ_BAR => "beyond what is claimed",
            false if row.used != Use::Fit => "not claimed",
            _ => "",
        };
        lines.push(vec![
            format!("{:.0}", row.load),
            three(row.read_us),
            three(row.measured_read_us),
            three(row.write_us),
            three(row.measured_write_us),
            format!("{:+.1} %", row.error_pct),
            row.used.name().to_string(),
            note.to_string(),
        ]);
    }
    let most = knee.map_or(String::new(), |Knee { writes_per_s, measured: [low, high], error_pct }| {
        let measured = if low == high { format!("{low:.0}") } else { format!("{low:.0} to {high:.0}") };
        format!("most writes a second: {writes_per_s:.0}, measured {measured}: {error_pct:+.1} %\n")
    });
    let line = latency::line(rows, knee).map_or(String::new(), |line| line + "\n");
    format!("\nlatencies (p50 / p99 / p99.9)\n{}{most}{line}", columns(&lines))
}

/// What identification found: the policies, and the predictions of the best.
pub fn identified(found: &Identified, over_load: &Latencies) -> String {
    let closed = &found.target.closed;
    let mut text = format!(
        "cliff after {:.3} drive writes: spare space about {:.3}; {:.0} MB/s before it, {:.0} MB/s at the bottom: a moved page \
         costs about {:.3} us/KB\n\n",
        closed.cliff,
        closed.spare(),
        closed.plateau,
        closed.dip,
        closed.moved(found.target.host)
    );
    let score = |i: usize| found.trials[i].score(&found.cells, &Cell::is_scored);
    let mut rows = vec![words(&["policy", "spare", "moved us/KB", "uniform rms", "cells rms", "mean", "worst"])];
    for i in ranked(found) {
        let trial = &found.trials[i];
        let mut row = vec![
            trial.fitted.model.candidate.to_string(),
            format!("{:.3}", f64::from(trial.fitted.model.spare) / 1e6),
            format!("{:.3}", trial.fitted.cost.moved),
            format!("{:.1} %", 100.0 * trial.fitted.rms),
        ];
        if let Some(score) = score(i) {
            let worst = score.worst.and_then(|(_, cell)| {
                Some(format!("{} {}", found.cells[cell].pattern, signed(trial.error(&found.cells, cell)?)))
            });
            row.push(format!("{}{:.1} %", if trial.stopped { "stopped at " } else { "" }, 100.0 * score.rms));
            row.push(format!("{:.1} %", 100.0 * score.mean));
            row.extend(worst);
        }
        rows.push(row);
    }
    text += &columns(&rows);
    text += &format!("\n{}\n\n", found.verdict.sentence);
    for cell in found.cells.iter().filter(|cell| cell.mistaken) {
        text += &format!(
            "{} has the rate of the uniform run, which no policy gives it: not scored, its run may be mislabelled\n\n",
            cell.pattern
        );
    }
    text + &predictions(&crate::file::predictions(found)) + &latencies(&over_load.rows, over_load.knee.as_ref())
}

/// The book: a line a drive.
pub fn book(files: &[DriveFile]) -> String {
    let mut rows = vec![words(&["name", "verdict"])];
    for file in files {
        rows.push(vec![file.name.clone(), file.verdict.clone()]);
        rows.push(vec![String::new(), file.error.clone()]);
    }
    // The last column is text, so it is not aligned to the right.
    let width = files.iter().map(|file| file.name.len()).max().unwrap_or(0).max(4);
    rows.iter().map(|row| format!("{:<width$}  {}\n", row[0], row[1])).collect()
}
