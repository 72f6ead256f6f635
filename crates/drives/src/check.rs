//! Predictions of a file against measurements: nothing is fitted.

use serde_json::{Value, json};
use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::parallel::map;

use crate::cells::{Cell, DRIFT_PCT, Use};
use crate::cost::{Cost, inverse};
use crate::file::{DriveFile, Predicted, Predictions};
use crate::input::Input;
use crate::latency::{self, Knee, Latency, Loads};
use crate::model::{Model, Situation};

/// Seeds of a prediction.
pub const SEEDS: u64 = 3;

/// The cells of a file as they stand in it.
///
/// # Errors
/// A pattern is none.
pub fn recorded(file: &DriveFile) -> Result<Vec<Cell>> {
    let cell = |predicted: &Predicted| {
        Ok(Cell {
            pattern: predicted.pattern()?,
            rate: predicted.measured,
            error: 0.0,
            drift_pct: predicted.drift_pct,
            drive_writes: predicted.drive_writes,
            mistaken: predicted.mistaken,
        })
    };
    file.predicted.iter().map(cell).collect()
}

/// Predicts cells with the values of a file. Cells of which the model says nothing are left out.
///
/// # Errors
/// The model can't be built.
pub fn predict(file: &DriveFile, cells: &[Cell]) -> Result<Vec<Predicted>> {
    let (model, cost) = (file.model()?, file.cost()?);
    let situations: Vec<Situation> = (1..=SEEDS).map(|seed| file.situation(seed)).collect::<Result<_>>()?;
    let jobs: Vec<(usize, Situation)> =
        (0..cells.len()).flat_map(|cell| situations.iter().map(move |situation| (cell, *situation))).collect();
    let rates = map(&jobs, |(cell, situation)| cells[*cell].predict(&model, &cost, situation));
    let mut by_cell: Vec<Vec<f64>> = vec![Vec::new(); cells.len()];
    for ((cell, _), rate) in jobs.iter().zip(rates) {
        by_cell[*cell].extend(rate?);
    }
    let used = |cell: &Cell| {
        let same = |known: &&Predicted| known.pattern().is_ok_and(|pattern| pattern == cell.pattern);
        file.predicted.iter().find(same).map_or(Use::HeldOut, |known| known.used)
    };
    let of = |(cell, rates): (&Cell, Vec<f64>)| {
        let logs: Vec<f64> = rates.iter().map(|rate| rate.ln()).collect();
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
        let spread = if logs.len() > 1 { (squares / (logs.len() - 1) as f64).sqrt() } else { 0.0 };
        let known = |known: &Predicted| known.mistaken && known.pattern().is_ok_and(|pattern| pattern == cell.pattern);
        let cell = &Cell { mistaken: file.predicted.iter().any(known), ..cell.clone() };
        (!logs.is_empty()).then(|| Predicted::of(cell, mean.exp(), spread, used(cell)))
    };
    Ok(cells.iter().zip(by_cell).filter_map(of).collect())
}

/// Predicts what was measured, or what the file itself has if `input` is none.
///
/// # Errors
/// As [`predict`]; or latencies were measured, and the file has no device for them.
pub fn check(file: &DriveFile, input: Option<&Input>) -> Result<Predictions> {
    let (cells, loads) = match input {
        Some(input) => (Cell::all(input), Loads::of(&input.loads)),
        None => (recorded(file)?, file.loads()),
    };
    let (latencies, knee) = latencies(file, &loads)?;
    Ok(Predictions { rates: predict(file, &cells)?, latencies, knee })
}

/// Predicts latencies with the values of a file.
///
/// # Errors
/// The device can't be built, or the file has none.
pub fn latencies(file: &DriveFile, loads: &Loads) -> Result<(Vec<Latency>, Option<Knee>)> {
    if loads.rows.is_empty() {
        return Ok((Vec::new(), None));
    }
    if file.device.is_empty() {
        return Err(Error::usage(format!("{}: latencies were measured, but the file has no [device]", file.name))
            .help("`ssdlab calibrate identify` writes one"));
    }
    let fitted = file.latency.iter().find(|row| row.used == Use::Fit).map(|row| row.load);
    latency::predict(&file.timed_layer(), &file.cost()?, loads, fitted)
}

/// Whether a prediction is claimed: the run had settled, it decided no number, and the model is not known to miss the pattern.
pub fn is_claimed(predicted: &Predicted) -> bool {
    let extreme = predicted.pattern().is_ok_and(|pattern| pattern.is_extreme() || !pattern.is_scored());
    predicted.used != Use::Fit && predicted.drift_pct <= DRIFT_PCT && !predicted.mistaken && !extreme
}

/// Whether a measurement lies in the interval of its prediction.
pub fn is_inside(predicted: &Predicted) -> bool {
    let [low, high] = predicted.interval;
    (low..=high).contains(&predicted.measured)
}

pub(crate) fn cell_json(cell: &Predicted) -> Value {
    json!({
        "pattern": cell.pattern, "parameter": cell.parameter, "drive_writes": cell.drive_writes,
        "predicted_MBps": cell.MBps, "interval_MBps": cell.interval, "measured_MBps": cell.measured,
        "error_pct": cell.error_pct, "drift_pct": cell.drift_pct, "in": cell.used.name(),
        "claimed": is_claimed(cell), "inside": is_inside(cell),
    })
}

pub(crate) fn latency_json(row: &Latency, knee: Option<&Knee>) -> Value {
    json!({
        "load_per_s": row.load, "predicted_read_us": row.read_us, "predicted_write_us": row.write_us,
        "measured_read_us": row.measured_read_us, "measured_write_us": row.measured_write_us,
        "error_pct": row.error_pct, "in": row.used.name(), "claimed": latency::is_claimed(row, knee),
    })
}

/// The most writes a second as JSON; null where it was not measured.
pub(crate) fn knee_json(knee: Option<&Knee>) -> Value {
    knee.map_or(Value::Null, |knee| {
        json!({
            "predicted_writes_per_s": knee.writes_per_s, "measured_writes_per_s": knee.measured,
            "error_pct": knee.error_pct,
        })
    })
}

/// The result as JSON.
pub fn json(file: &DriveFile, predicted: &Predictions) -> Value {
    let knee = predicted.knee.as_ref();
    json!({
        "schema": "ssdlab.drive_check/1",
        "name": file.name,
        "verdict": file.verdict,
        "error": predicted.line(),
        "cells": predicted.rates.iter().map(cell_json).collect::<Vec<_>>(),
        "latencies": predicted.latencies.iter().map(|row| latency_json(row, knee)).collect::<Vec<_>>(),
        "knee": knee_json(knee),
    })
}

/// A drive of the book as JSON.
pub fn described(file: &DriveFile) -> Result<Value> {
    let (model, cost) = (file.model()?, file.cost()?);
    let Model { candidate, spare, .. } = model;
    let Cost { host, moved, least } = cost;
    let predicted = json(file, &file.predictions());
    Ok(json!({
        "name": file.name, "label": file.label, "source": file.source, "verdict": file.verdict, "error": file.error,
        "policy": candidate.to_string(), "spare": f64::from(spare) / 1e6,
        "host_us_per_kb": host, "moved_us_per_kb": moved, "least_us_per_kb": least,
        "cells": predicted["cells"], "latencies": predicted["latencies"], "knee": predicted["knee"],
    }))
}

/// Write amplification and rate over the host writes of a run: rows of drive writes, write amplification, MB/s.
pub fn over_writes(cost: &Cost, rows: &[(f64, f64)]) -> Vec<(f64, f64, f64)> {
    rows.iter().map(|(at, moved)| (*at, 1.0 + moved, inverse(cost.time(*moved)))).collect()
}
