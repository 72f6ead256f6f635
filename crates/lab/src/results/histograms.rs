//! One row per bucket of latencies and waits that is not empty, as CSV or Parquet. Buckets are those of the summary's histograms, so
//! percentiles of the file equal the summary's, and files of parts of a run are merged by adding rows.

use ssdlab_sim::blame::{CAUSES, Extra};
use ssdlab_sim::report::histogram::{Bucket, Histogram};

use crate::drive::Device;
use crate::error::Result;
use crate::input::Input;
use crate::product::{About, Product, Recorder, RunEnd, Subject};
use crate::results::sheet::{Cell, CellKind, Ended, Place, Sheet};

/// Columns before the causes.
pub const COLUMNS: [(&str, CellKind); 7] = [
    ("measure", CellKind::Word),
    ("op", CellKind::Word),
    ("lower_ns", CellKind::Number),
    ("upper_ns", CellKind::Number),
    ("count", CellKind::Number),
    ("sum_ns", CellKind::Maybe),
    ("largest_ns", CellKind::Number),
];

/// One row per bucket of latencies and waits, with sums of causes.
#[derive(Clone, Debug)]
pub struct BucketRows(pub Place);

/// Latencies and waits by bucket, with the results of the run.
#[derive(Clone, Copy, Debug)]
pub struct Tail;

impl BucketRows {
    /// Its name.
    pub const NAME: &str = "--histograms";
}

impl Product for BucketRows {
    fn about(&self) -> About<'_> {
        About { name: BucketRows::NAME, path: self.0.path(), timed: true }
    }

    fn begin(&self, of: &Subject<'_>) -> Result<Box<dyn Recorder>> {
        Ok(Box::new(Buckets { sheet: Some(create(&self.0, &of.extras)?), extras: of.extras.clone() }))
    }
}

impl Product for Tail {
    fn about(&self) -> About<'_> {
        About { name: "tail", path: None, timed: false }
    }

    fn begin(&self, _of: &Subject<'_>) -> Result<Box<dyn Recorder>> {
        Ok(Box::new(Buckets { sheet: None, extras: Vec::new() }))
    }
}

/// A table of buckets that is begun; none where they go to the results of the run.
struct Buckets {
    sheet: Option<Sheet>,
    extras: Vec<Extra>,
}

impl Recorder for Buckets {
    fn prepare(&mut self, device: &mut Device, _input: &Input) -> Result<()> {
        device.ssd.collect_histograms();
        Ok(())
    }

    fn finish(self: Box<Self>, end: &mut RunEnd<'_>) -> Result<()> {
        let Some(own) = end.device.ssd.histograms().map(Histograms::of) else { return Ok(()) };
        match self.sheet {
            Some(sheet) => end.table(BucketRows::NAME, write(sheet, &own, &self.extras)?),
            None => end.give(own),
        }
        Ok(())
    }
}

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
    let causes = causes.map(|name| (name, CellKind::Maybe));
    let columns: Vec<(&str, CellKind)> = COLUMNS.into_iter().chain(causes).collect();
    Sheet::begin(BucketRows::NAME, place, &columns)
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
