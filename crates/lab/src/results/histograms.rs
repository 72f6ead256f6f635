//! One row per bucket of latencies and waits that is not empty, as CSV or Parquet. Buckets are those of the summary's histograms, so
//! percentiles of the file equal the summary's, and files of parts of a run are merged by adding rows.

use ssdlab_sim::blame::{CAUSES, Extra};
use ssdlab_sim::report::histogram::{Bucket, Histogram};

use crate::error::Result;
use crate::results::sheet::{Cell, Ended, Kind, Place, Sheet};

/// Columns before the causes.
pub const COLUMNS: [(&str, Kind); 7] = [
    ("measure", Kind::Word),
    ("op", Kind::Word),
    ("lower_ns", Kind::Number),
    ("upper_ns", Kind::Number),
    ("count", Kind::Number),
    ("sum_ns", Kind::Maybe),
    ("largest_ns", Kind::Number),
];

/// Latencies and waits of reads and of writes, by bucket.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histograms {
    /// Latencies of reads and of writes, ascending.
    pub latency: [Vec<Bucket>; 2],
    /// Waits of reads and of writes, ascending.
    pub waiting: [Vec<Bucket>; 2],
}

/// Reads and writes in a word, in the order of [`Histograms`].
pub const OPS: [&str; 2] = ["read", "write"];

impl Histograms {
    /// Those of a run.
    pub fn of(histograms: [&Histogram; 2]) -> Histograms {
        Histograms { latency: histograms.map(Histogram::latency), waiting: histograms.map(Histogram::waiting) }
    }
}

/// Begins a table.
///
/// # Errors
/// As [`Sheet::begin`].
pub fn create(place: &Place, extras: &[Extra]) -> Result<Sheet> {
    let causes = CAUSES.iter().map(|(_, name)| *name).chain(extras.iter().map(|extra| extra.name()));
    let causes = causes.map(|name| (name, Kind::Maybe));
    let columns: Vec<(&str, Kind)> = COLUMNS.into_iter().chain(causes).collect();
    Sheet::begin("--histograms", place, &columns)
}

/// Writes one row per bucket.
///
/// # Errors
/// As [`Sheet::row`] and [`Sheet::finish`].
pub fn write(mut sheet: Sheet, histograms: &Histograms, extras: &[Extra]) -> Result<Ended> {
    // A sum of more than 292 years does not fit in a column of 64 bits.
    let total = |ns: u128| Cell::Maybe(i64::try_from(ns).ok().map(|ns| ns as u64));
    for (measure, by_op) in [("latency", &histograms.latency), ("waiting", &histograms.waiting)] {
        for (op, buckets) in OPS.into_iter().zip(by_op) {
            for bucket in buckets {
                let cells = [
                    Cell::Word(measure),
                    Cell::Word(op),
                    Cell::Number(bucket.lower),
                    // The last bucket ends beyond what Parquet's integers hold.
                    Cell::Number(bucket.upper.min(i64::MAX as u64)),
                    Cell::Number(bucket.count),
                    total(bucket.sum),
                    Cell::Number(bucket.largest),
                ];
                let extras = extras.iter().map(|extra| bucket.extras[*extra as usize]);
                let causes = bucket.causes.into_iter().chain(extras);
                let causes = causes.map(|ns| if measure == "latency" { total(ns) } else { Cell::Maybe(None) });
                sheet.row(cells.into_iter().chain(causes))?;
            }
        }
    }
    sheet.finish()
}
