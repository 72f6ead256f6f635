//! What identification found, as JSON: the contract `ssdlab.identify/1`.

use serde_json::{Value, json};
use ssdlab_lab::error::Result;

use crate::cells::{Cell, Trial};
use crate::check::{cell_json, knee_json, latency_json};
use crate::file::predictions;
use crate::fit::Interval;
use crate::identify::Identified;
use crate::latency::Latencies;

/// The trials, the best first: those that were not stopped, by the rms of their cells, or of the uniform run where there are none.
pub fn ranked(found: &Identified) -> Vec<usize> {
    let rank = |trial: &Trial| trial.score(&found.cells, &Cell::is_scored).map_or(trial.fitted.rms, |score| score.rms);
    let mut order: Vec<usize> = (0..found.trials.len()).collect();
    order.sort_by(|a, b| {
        let (a, b) = (&found.trials[*a], &found.trials[*b]);
        a.stopped.cmp(&b.stopped).then(rank(a).total_cmp(&rank(b)))
    });
    order
}

fn rounded(value: f64, decimals: i32) -> f64 {
    let unit = 10_f64.powi(decimals);
    (value * unit).round() / unit
}

fn policy(found: &Identified, trial: &Trial) -> Value {
    let score = trial.score(&found.cells, &Cell::is_scored);
    let worst = score.as_ref().and_then(|score| score.worst);
    json!({
        "policy": trial.fitted.model.candidate.to_string(),
        "spare": f64::from(trial.fitted.model.spare) / 1e6,
        "moved_us_per_kb": rounded(trial.fitted.cost.moved, 4),
        "uniform_rms_pct": rounded(100.0 * trial.fitted.rms, 2),
        "cells_rms_pct": score.as_ref().map(|score| rounded(100.0 * score.rms, 2)),
        "mean_pct": score.as_ref().map(|score| rounded(100.0 * score.mean, 2)),
        "worst_pct": worst.map(|(error, _)| rounded(100.0 * error, 2)),
        "worst_cell": worst.map(|(_, cell)| found.cells[cell].pattern.to_string()),
        "stopped": trial.stopped,
    })
}

/// All of it: the verdict, the fitted values with their intervals, the policies, the cells, and the uniform run beside the model.
///
/// # Errors
/// The model can't be built.
pub fn json(name: &str, found: &Identified, over_load: &Latencies) -> Result<Value> {
    let best = &found.trials[found.verdict.best];
    let (spare, moved) = found.intervals;
    let interval = |of: Interval| json!([rounded(of.low, 4), rounded(of.high, 4)]);
    let run = found.target.beside(&best.fitted)?;
    let row = |[at, measured, predicted]: [f64; 3]| json!({ "drive_writes": rounded(at, 4), "measured_MBps": rounded(measured, 1), "predicted_MBps": rounded(predicted, 1) });
    let knee = over_load.knee.as_ref();
    Ok(json!({
        "schema": "ssdlab.identify/1",
        "version": env!("CARGO_PKG_VERSION"),
        "name": name,
        "verdict": found.verdict.kind.name(),
        "sentence": found.verdict.sentence,
        "policy": best.fitted.model.candidate.to_string(),
        "spare": f64::from(best.fitted.model.spare) / 1e6,
        "spare_interval": interval(spare),
        "host_us_per_kb": rounded(best.fitted.cost.host, 4),
        "moved_us_per_kb": rounded(best.fitted.cost.moved, 4),
        "moved_interval": interval(moved),
        "superblock_bytes": found.superblock.map(|(bytes, _)| bytes),
        "overhead": found.overhead.map(|overhead| rounded(overhead, 4)),
        "cliff_drive_writes": rounded(found.target.closed.cliff, 4),
        "policies": ranked(found).into_iter().map(|i| policy(found, &found.trials[i])).collect::<Vec<_>>(),
        "cells": predictions(found).iter().map(cell_json).collect::<Vec<_>>(),
        "latencies": over_load.rows.iter().map(|row| latency_json(row, knee)).collect::<Vec<_>>(),
        "knee": knee_json(knee),
        "uniform": run.into_iter().map(row).collect::<Vec<_>>(),
    }))
}
