//! Latencies of a drive over load, and the load that it can just do: predicted on the [`Device`] of its costs, beside measurements.

use serde::Deserialize;
use ssdlab_lab::error::Result;
use ssdlab_lab::parallel::map;

use crate::cells::Use;
use crate::cost::{Cost, inverse};
use crate::device::Device;
use crate::input::Load;
use crate::model::{Model, Situation};
use crate::pattern::{PAGE, Pattern, USUAL_CAPACITY};
use crate::probe::{self, Percentiles, writes_of};

/// Claimed are loads from so many requests a second up to this share of the knee, with this error of the 99th percentile of reads, and
/// this error of the knee.
pub const FROM: f64 = 20_000.0;
const UP_TO: f64 = 0.9;
/// Percent.
pub const READ_BAR: f64 = 20.0;
/// Percent.
pub const KNEE_BAR: f64 = 15.0;

/// A load that the drive serves: less of it than this is served beyond the knee.
const SERVED: f64 = 0.97;
/// Where writes are not counted, the 99th percentile of reads rises by this beyond the knee.
const RISE: f64 = 2.0;
/// Slices that a fit may find, and its steps, in microseconds.
const SLICES: std::ops::RangeInclusive<f64> = 20.0..=5000.0;
const STEP: f64 = 5.0;
/// Seconds of the run that finds the knee.
const KNEE_SECONDS: f64 = 3.0;

/// A load of a drive.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Latency {
    /// Requests a second.
    pub load: f64,
    /// Predicted percentiles 50, 99 and 99.9 of reads.
    pub read_us: Percentiles,
    /// The same of writes.
    pub write_us: Percentiles,
    /// Measured percentiles of reads.
    pub measured_read_us: Percentiles,
    /// The same of writes.
    pub measured_write_us: Percentiles,
    /// Signed error of the 99th percentile of reads.
    pub error_pct: f64,
    /// What the load was used for.
    #[serde(rename = "in")]
    pub used: Use,
}

/// The most writes a second.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Knee {
    /// Predicted.
    pub writes_per_s: f64,
    /// Measured: between these.
    pub measured: [f64; 2],
    /// Signed error; 0 between the measured ones.
    pub error_pct: f64,
}

/// The most writes a second that measurements show: between two values where they were not counted; none below the knee.
pub fn knee(loads: &[Load]) -> Option<[f64; 2]> {
    let beyond = |load: &&Load| load.writes.is_some_and(|writes| writes < SERVED * writes_of(load.load));
    let counted = loads.iter().filter(beyond).filter_map(|load| load.writes).fold(0.0, f64::max);
    if counted > 0.0 {
        return Some([counted, counted]);
    }
    let p99 = |load: &Load| load.read[1];
    let rises = |i: &usize| p99(&loads[*i]) >= RISE * loads[..*i].iter().map(p99).fold(0.0, f64::max);
    let first = (1..loads.len()).find(rises)?;
    Some([writes_of(loads[first - 1].load), writes_of(loads[first].load)])
}

/// What was measured, as far as it is predicted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Loads {
    /// Loads up to the knee. Beyond it latencies are those of the queues of the host.
    pub rows: Vec<Load>,
    /// The most writes a second, between these.
    pub knee: Option<[f64; 2]>,
}

impl Loads {
    /// Those of measurements.
    pub fn of(all: &[Load]) -> Loads {
        let knee = knee(all);
        let most = knee.map_or(f64::INFINITY, |[least, _]| least);
        Loads { rows: all.iter().filter(|load| SERVED * writes_of(load.load) <= most).copied().collect(), knee }
    }

    /// The load nearest half of the knee.
    fn deciding(&self) -> Option<Load> {
        let last = || self.rows.last().map_or(0.0, |last| writes_of(last.load));
        let half = self.knee.map_or_else(last, |[low, _]| low) / 2.0;
        let far = |load: &&Load| (writes_of(load.load) - half).abs();
        self.rows.iter().min_by(|a, b| far(a).total_cmp(&far(b))).copied()
    }
}

/// The most writes a second of a device, written faster than its flash takes data.
fn limit(config: &str, cost: &Cost) -> Result<f64> {
    // As a file has it, so that `check` says what `identify` said.
    let host = (1e4 * cost.host).round() / 1e4;
    let sequential = inverse(host) * 1e6 / PAGE as f64;
    Ok(probe::measure(config, sequential + probe::PROBE, KNEE_SECONDS, 1)?.writes)
}

fn tenths(value: f64) -> f64 {
    (10.0 * value).round() / 10.0
}

fn error(predicted: f64, measured: f64) -> f64 {
    tenths(100.0 * (predicted / measured - 1.0))
}

/// Predicts loads on a device, given as the TOML of its configuration. `fitted`: the load that decided a value of it.
///
/// # Errors
/// The device can't be built.
pub fn predict(config: &str, cost: &Cost, loads: &Loads, fitted: Option<f64>) -> Result<(Vec<Latency>, Option<Knee>)> {
    // The run that finds the knee takes longest, so it begins first.
    let mut jobs: Vec<Option<Load>> = loads.knee.iter().map(|_| None).collect();
    jobs.extend(loads.rows.iter().copied().map(Some));
    let done = map(&jobs, |job| match job {
        None => Ok((None, limit(config, cost)?)),
        Some(load) => probe::measure(config, load.load, probe::SECONDS, 1).map(|found| (Some((*load, found)), 0.0)),
    });
    let (mut rows, mut found) = (Vec::new(), None);
    for result in done {
        match result? {
            (None, writes) => found = Some(writes),
            (Some((load, measured)), _) => rows.push(Latency {
                load: load.load,
                read_us: measured.read.map(tenths),
                write_us: measured.write.map(tenths),
                measured_read_us: load.read,
                measured_write_us: load.write,
                error_pct: error(measured.read[1], load.read[1]),
                used: if fitted == Some(load.load) { Use::Fit } else { Use::HeldOut },
            }),
        }
    }
    let knee = found.zip(loads.knee).map(|(writes, [low, high])| Knee {
        writes_per_s: writes.round(),
        measured: [low.round(), high.round()],
        error_pct: error(writes, writes.clamp(low, high)),
    });
    Ok((rows, knee))
}

/// Whether the prediction of a load is claimed.
pub fn is_claimed(row: &Latency, knee: Option<&Knee>) -> bool {
    let most = knee.map_or(f64::INFINITY, |knee| UP_TO * knee.measured[0]);
    row.used != Use::Fit && row.load >= FROM && writes_of(row.load) <= most
}

/// Whether every claimed load and the knee are as near as the claim says.
pub fn is_inside(rows: &[Latency], knee: Option<&Knee>) -> bool {
    rows.iter().all(|row| !is_claimed(row, knee) || row.error_pct.abs() <= READ_BAR)
        && knee.is_none_or(|knee| knee.error_pct.abs() <= KNEE_BAR)
}

/// The errors of the claimed loads and of the knee in words; nothing where neither was measured.
pub fn line(rows: &[Latency], knee: Option<&Knee>) -> Option<String> {
    let claimed: Vec<&Latency> = rows.iter().filter(|row| is_claimed(row, knee)).collect();
    let worst = claimed.iter().max_by(|a, b| a.error_pct.abs().total_cmp(&b.error_pct.abs()));
    let reads = worst.map(|worst| {
        let mean = claimed.iter().map(|row| row.error_pct.abs()).sum::<f64>() / claimed.len() as f64;
        let count = ssdlab_lab::text::plural(claimed.len() as u64, "load");
        let (error, load) = (worst.error_pct.abs(), worst.load);
        format!("99th percentile of reads: {count}, mean {mean:.1} %, worst {error:.1} % ({load:.0}/s)")
    });
    let most = knee.map(|knee| format!("most writes {:+.1} %", knee.error_pct));
    let parts: Vec<String> = reads.into_iter().chain(most).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// The device of a drive, and what it predicts of measured latencies.
#[derive(Clone, Debug, PartialEq)]
pub struct Latencies {
    /// The device.
    pub device: Device,
    /// Its loads.
    pub rows: Vec<Latency>,
    /// The most writes a second.
    pub knee: Option<Knee>,
}

/// Makes the device of a drive. Its costs decide all but two values: what a write takes beside the flash, which is the median at the
/// least load, and the slice, which one load decides, near half of the knee. Without measured latencies both are assumed.
/// `drive_writes`: host writes of the uniform run that the costs are fitted to.
///
/// # Errors
/// The model or the device can't be built.
pub fn of_drive(model: &Model, cost: &Cost, drive_writes: f64, measured: &[Load]) -> Result<Latencies> {
    let mut device = Device::of(cost, settled(model, drive_writes)?);
    let loads = Loads::of(measured);
    let decides = loads.deciding();
    if let (Some(first), Some(decides)) = (loads.rows.first(), decides) {
        device.firmware.us = first.write[0];
        device.firmware.origin = format!("measured: the median of writes at {} a second", first.load);
        for _ in 0..2 {
            let there = probe::measure(&device.config(model), decides.load, probe::SECONDS, 1)?;
            let slice = device.slice.us + decides.read[1] - there.read[1];
            device.slice.us = ((slice / STEP).round() * STEP).clamp(*SLICES.start(), *SLICES.end());
        }
        device.slice.origin = format!("fitted to the 99th percentile of reads at {} a second", decides.load);
    }
    let (rows, knee) = predict(&device.config(model), cost, &loads, decides.map(|load| load.load))?;
    Ok(Latencies { device, rows, knee })
}

/// Pages that GC moves a host page at the end of a uniform run.
///
/// # Errors
/// The model can't be built.
pub fn settled(model: &Model, drive_writes: f64) -> Result<f64> {
    let situation = Situation { capacity: USUAL_CAPACITY, superblock: None, seed: 1 };
    let moves = model.moves(&Pattern::Uniform, drive_writes, &situation)?.unwrap_or_default();
    Ok(moves.moved_over(0.8 * drive_writes, drive_writes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(load: f64, p99: f64, writes: Option<f64>) -> Load {
        Load { load, read: [60.0, p99, 2.0 * p99], write: [8.0, 20.0, 30.0], writes }
    }

    #[test]
    fn the_knee_is_where_writes_stay_behind_or_reads_wait() {
        let counted =
            [load(1e4, 250.0, Some(9_900.0)), load(5e4, 400.0, Some(40_000.0)), load(6e4, 900.0, Some(41_000.0))];
        assert_eq!(knee(&counted), Some([41_000.0, 41_000.0]));
        let not = counted.map(|of| Load { writes: None, ..of });
        assert_eq!(knee(&not), Some([writes_of(5e4), writes_of(6e4)]));
        assert_eq!(knee(&not[..2]), None);
        // 5,000 of the probe, and 99 of 100 of the others.
        assert!((writes_of(25_000.0) - 24_800.0).abs() < 1e-9);
    }

    #[test]
    fn loads_near_the_knee_are_not_claimed() {
        let row = |load: f64, error_pct: f64| Latency {
            load,
            read_us: [60.0, 400.0, 500.0],
            write_us: [8.0; 3],
            measured_read_us: [60.0, 400.0, 500.0],
            measured_write_us: [8.0; 3],
            error_pct,
            used: Use::HeldOut,
        };
        let rows = [row(1e4, 50.0), row(4e4, 3.0), row(5e4, -5.0), row(9.5e4, 80.0)];
        let knee = Knee { writes_per_s: 1e5, measured: [1e5, 1e5], error_pct: 10.0 };
        assert!(is_inside(&rows, Some(&knee)) && !is_inside(&rows, None));
        let line = line(&rows, Some(&knee)).unwrap();
        assert!(line.contains("2 loads, mean 4.0 %, worst 5.0 % (50000/s); most writes +10.0 %"), "{line}");
    }
}
