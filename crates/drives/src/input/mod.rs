//! What was measured: runs over host writes, steady rates, and latencies over load.

mod counters;
mod fio;
mod loads;
mod rows;
mod tables;

use std::path::PathBuf;

use ssdlab_lab::error::{Error, Kind, Result};

use crate::cost::{STEADY, inverse, rate_in};
use crate::pattern::Pattern;
use crate::probe::Percentiles;

/// A rate of a run at some host writes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Host writes so far in drive writes: the middle of the part that the rate is of.
    pub at: f64,
    /// MB/s of the host.
    pub rate: f64,
    /// Bytes written to flash over those of the host, if counted.
    pub written: Option<f64>,
    /// Bytes read from flash over those that the host wrote, if counted: the pages that GC moves.
    pub read: Option<f64>,
}

/// A run over its host writes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// In ascending order.
    pub points: Vec<Point>,
}

impl Curve {
    /// The part of the run that a point stands for: halfway to its neighbours.
    pub fn part(&self, i: usize) -> (f64, f64) {
        let at = |i: usize| self.points[i].at;
        let from = if i == 0 { 0.0 } else { f64::midpoint(at(i - 1), at(i)) };
        let to = if i + 1 < self.points.len() { f64::midpoint(at(i), at(i + 1)) } else { 2.0 * at(i) - from };
        (from, to)
    }

    /// Its width in drive writes.
    pub fn width(&self, i: usize) -> f64 {
        let (from, to) = self.part(i);
        to - from
    }

    /// Host writes at the end in drive writes.
    pub fn drive_writes(&self) -> f64 {
        if self.points.is_empty() { 0.0 } else { self.part(self.points.len() - 1).1 }
    }

    /// MB/s over a window of the run's time, given as shares of it.
    fn rate_in(&self, window: (f64, f64)) -> f64 {
        let step = |(i, point): (usize, &Point)| (self.width(i), self.width(i) * inverse(point.rate));
        let steps: Vec<(f64, f64)> = self.points.iter().enumerate().map(step).collect();
        rate_in(&steps, window)
    }
}

/// The steady rate of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Steady {
    /// What was written.
    pub pattern: Pattern,
    /// MB/s of the host over [`STEADY`] of the run's time.
    pub rate: f64,
    /// Standard error of the rate in percent.
    pub error_pct: Option<f64>,
    /// Second half of the window against the first in percent.
    pub drift_pct: Option<f64>,
    /// Bytes written to flash over those of the host, if counted.
    pub written: Option<f64>,
    /// Pages that GC moves a host page, if counted.
    pub moved: Option<f64>,
    /// Host writes of the run in drive writes.
    pub drive_writes: Option<f64>,
}

/// Latencies of the probe at a load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// Requests a second, as offered.
    pub load: f64,
    /// Percentiles 50, 99 and 99.9 of its reads in microseconds.
    pub read: Percentiles,
    /// The same of its writes.
    pub write: Percentiles,
    /// Writes a second that all streams reached, if counted.
    pub writes: Option<f64>,
}

/// All that was measured on a drive.
#[derive(Clone, Debug, Default)]
pub struct Input {
    /// Runs over host writes.
    pub curves: Vec<(Pattern, Curve)>,
    /// Steady rates.
    pub steady: Vec<Steady>,
    /// Latencies over load, ascending.
    pub loads: Vec<Load>,
    /// What was left out, and why.
    pub remarks: Vec<String>,
}

impl Input {
    /// Reads files of measurements. `capacity`: bytes of the drive, for logs that count bytes.
    ///
    /// # Errors
    /// A file can't be read, or its content is not a measurement: with file, line and what was expected.
    pub fn read(paths: &[PathBuf], capacity: Option<u64>) -> Result<Input> {
        let (mut input, mut timed, mut counted) = (Input::default(), Vec::new(), Vec::new());
        for path in paths {
            let text = ssdlab_lab::files::read_data("measurements", path, 256 << 20)?;
            if !text.trim_start().starts_with('{') {
                tables::read(path, &text, &mut input)?;
                continue;
            }
            let mut documents = serde_json::Deserializer::from_str(&text).into_iter::<serde_json::Value>();
            match documents.next() {
                Some(Ok(first)) if counters::is_sample(&first) => counted.push((path, counters::read(path, &text)?)),
                _ => fio::read(path, &text, capacity, &mut timed, &mut input)?,
            }
        }
        for (path, samples) in counted {
            counters::join(path, &samples, &timed, capacity.unwrap_or_default(), &mut input)?;
        }
        Ok(input)
    }

    /// The uniform runs.
    pub fn uniform(&self) -> Vec<&Curve> {
        self.curves.iter().filter(|(pattern, _)| *pattern == Pattern::Uniform).map(|(_, curve)| curve).collect()
    }

    /// Mean of the sequential rates in MB/s, if there are any.
    pub fn sequential(&self) -> Option<f64> {
        let rates: Vec<f64> =
            self.steady_and_curves().into_iter().filter(|s| s.pattern == Pattern::Sequential).map(|s| s.rate).collect();
        (!rates.is_empty()).then(|| rates.iter().sum::<f64>() / rates.len() as f64)
    }

    /// Steady rates, and those of runs over host writes whose pattern has none.
    pub fn steady_and_curves(&self) -> Vec<Steady> {
        let mut all = self.steady.clone();
        for (pattern, curve) in &self.curves {
            if self.steady.iter().any(|steady| steady.pattern == *pattern) || curve.points.len() < 5 {
                continue;
            }
            let middle = f64::midpoint(STEADY.0, STEADY.1);
            let drift = 100.0 * (curve.rate_in((middle, STEADY.1)) / curve.rate_in((STEADY.0, middle)) - 1.0);
            all.push(Steady {
                pattern: *pattern,
                rate: curve.rate_in(STEADY),
                error_pct: None,
                drift_pct: Some(drift),
                written: None,
                moved: None,
                drive_writes: Some(curve.drive_writes()),
            });
        }
        all
    }
}

fn wrong(path: &std::path::Path, line: usize, what: &str) -> Error {
    Error::new(Kind::Data { path: path.into() }, format!("{}:{line}: {what}", path.display()))
}
