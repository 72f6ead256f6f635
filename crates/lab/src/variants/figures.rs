//! The figures that variants are compared by, and how those of a variant differ from the baseline's.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use ssdlab_sim::blame::Cause;
use ssdlab_sim::report::{Breakdown, Figures, Summary};

use crate::variants::student::{deviation, half_width, mean};

/// The unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds.
    Time,
    /// A number of things.
    Count,
    /// A number of things per second of simulated time.
    Rate,
    /// Bytes per second of simulated time, shown in millions.
    Megabytes,
    /// A ratio.
    Factor,
}

/// A figure that variants are compared by.
#[derive(Clone, Copy)]
pub struct Metric {
    /// Its name in JSON, CSV and Parquet.
    pub key: &'static str,
    /// Its heading in printed tables; empty: only files have it.
    pub head: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// Reads it from a summary; none if the run had nothing to count.
    pub of: fn(&Summary) -> Option<f64>,
}

/// Mean time that a request waited for GC.
fn blocked(by: &Breakdown, figures: &Figures) -> Option<f64> {
    ssdlab_sim::report::mean(by.by_gc(), figures.count)
}

fn whole(value: Option<u64>) -> Option<f64> {
    value.map(|value| value as f64)
}

macro_rules! metrics {
    ($($key:literal $head:literal $unit:ident |$summary:ident| $of:expr;)+) => {
        &[$(Metric { key: $key, head: $head, unit: Unit::$unit, of: |$summary: &Summary| $of }),+]
    };
}

/// All of them, in the order of tables and columns.
#[rustfmt::skip]
pub const METRICS: &[Metric] = metrics! {
    "read_mean_ns" "read mean" Time |s| s.latency_ns.read.mean;
    "write_mean_ns" "write mean" Time |s| s.latency_ns.write.mean;
    "all_mean_ns" "mean" Time |s| s.latency_ns.all.mean;
    "read_p99_ns" "read p99" Time |s| whole(s.latency_ns.read.p99);
    "write_p99_ns" "write p99" Time |s| whole(s.latency_ns.write.p99);
    "all_p99_ns" "" Time |s| whole(s.latency_ns.all.p99);
    "read_p99_9_ns" "read p99.9" Time |s| whole(s.latency_ns.read.p99_9);
    "write_p99_9_ns" "write p99.9" Time |s| whole(s.latency_ns.write.p99_9);
    "all_p99_9_ns" "" Time |s| whole(s.latency_ns.all.p99_9);
    "read_max_ns" "" Time |s| whole(s.latency_ns.read.max);
    "write_max_ns" "" Time |s| whole(s.latency_ns.write.max);
    "read_waiting_ns" "" Time |s| s.waiting_ns.read.mean;
    "write_waiting_ns" "" Time |s| s.waiting_ns.write.mean;
    "all_waiting_ns" "waiting" Time |s| s.waiting_ns.all.mean;
    "read_gc_ns" "" Time |s| blocked(&s.breakdown_ns.read, &s.latency_ns.read);
    "write_gc_ns" "" Time |s| blocked(&s.breakdown_ns.write, &s.latency_ns.write);
    "all_gc_ns" "waiting on GC" Time |s| blocked(&s.breakdown_ns.all, &s.latency_ns.all);
    "write_amplification" "WAF" Factor |s| s.write_amplification;
    "erases" "erases" Count |s| Some(s.flash.erases as f64);
    "moved_pages" "" Count |s| Some(s.gc.moved_pages as f64);
    "requests_per_s" "requests/s" Rate |s| {
        let requests = s.requests.read + s.requests.write + s.requests.trim;
        (s.simulated_ns > 0).then(|| requests as f64 * 1e9 / s.simulated_ns as f64)
    };
    "host_read_bytes_per_s" "read MB/s" Megabytes |s| s.host_read_bytes_per_s;
    "host_written_bytes_per_s" "write MB/s" Megabytes |s| s.host_written_bytes_per_s;
};

/// How a variant differs from the first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Not at all.
    Same,
    /// Not significantly: the confidence interval of the difference includes zero.
    Noise,
    /// It is less.
    Lower,
    /// It is more.
    Higher,
}

/// One figure of one variant.
#[derive(Clone, Debug)]
pub struct Figure {
    /// By seed.
    pub values: Vec<f64>,
    /// Their mean.
    pub mean: f64,
    /// Their sample standard deviation; none with one seed.
    pub deviation: Option<f64>,
    /// Mean over the baseline's mean; none where that is 0.
    pub ratio: Option<f64>,
    /// Mean of the differences to the baseline, seed by seed.
    pub difference: f64,
    /// Half the width of the 95 % confidence interval of that mean (Student's t); none with one seed.
    pub half_width: Option<f64>,
}

impl Figure {
    /// The figure of some values by seed, compared with those of the baseline.
    pub fn new(values: Vec<f64>, base: &[f64]) -> Figure {
        let differences: Vec<f64> = values.iter().zip(base).map(|(value, base)| value - base).collect();
        let (own, other) = (mean(&values), mean(base));
        Figure {
            mean: own,
            deviation: deviation(&values),
            ratio: (other != 0.0).then(|| own / other),
            difference: mean(&differences),
            half_width: half_width(&differences),
            values,
        }
    }

    /// Its entry of `ssdlab.compare/1`; `several`: with what several seeds tell.
    pub fn json(&self, several: bool) -> Value {
        let mut entry = json!({ "mean": self.mean, "ratio": self.ratio, "verdict": self.verdict() });
        if several {
            let bound = |sign: f64| self.half_width.map(|half| self.difference + sign * half);
            entry["deviation"] = json!(self.deviation);
            entry["difference"] = json!({ "mean": self.difference, "low": bound(-1.0), "high": bound(1.0) });
            entry["values"] = json!(self.values);
        }
        entry
    }

    /// How it differs from the baseline. With one seed there is no interval, so every difference counts.
    pub fn verdict(&self) -> Verdict {
        match self.difference {
            0.0 if self.half_width.is_none_or(|half| half == 0.0) => Verdict::Same,
            d if self.half_width.is_some_and(|half| d.abs() <= half) => Verdict::Noise,
            d if d < 0.0 => Verdict::Lower,
            _ => Verdict::Higher,
        }
    }
}

/// The variants with the best mean of a measure, by their places: the least mean, or the largest of a rate. None where all are
/// equal, or where the best one does not differ significantly from the first.
pub fn best(unit: Unit, figures: &[Option<(f64, Verdict)>]) -> Vec<usize> {
    let more = matches!(unit, Unit::Rate | Unit::Megabytes);
    let means = figures.iter().flatten().map(|(mean, _)| *mean);
    let Some(best) = means.reduce(|a, b| if more { a.max(b) } else { a.min(b) }) else { return Vec::new() };
    let found = figures.iter().enumerate().filter_map(|(i, figure)| Some((i, (*figure)?)));
    let found: Vec<(usize, Verdict)> =
        found.filter(|(_, (mean, _))| *mean == best).map(|(i, (_, of))| (i, of)).collect();
    let differs = |(i, of): &(usize, Verdict)| *i == 0 || !matches!(of, Verdict::Noise | Verdict::Same);
    let some = found.len() < figures.iter().flatten().count() && found.iter().all(differs);
    if some { found.into_iter().map(|(i, _)| i).collect() } else { Vec::new() }
}

/// Whether requests spend most of their time waiting for a queue slot.
pub fn overloaded(summary: &Summary) -> bool {
    let causes = &summary.breakdown_ns.all.0;
    2 * causes[Cause::Queue as usize] > causes.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_mean_is_marked_where_it_is_significant() {
        let of = |mean: f64, verdict: Verdict| Some((mean, verdict));
        let first = of(10.0, Verdict::Same);
        let (less, more) = (of(8.0, Verdict::Lower), of(12.0, Verdict::Higher));
        assert_eq!(best(Unit::Time, &[first, less, None, more, less]), [1, 4], "equal ones are all marked");
        assert_eq!(best(Unit::Rate, &[first, less, None, more]), [3]);
        assert_eq!(best(Unit::Time, &[first, more]), [0]);
        assert_eq!(best(Unit::Time, &[first, of(9.9, Verdict::Noise), more]), [0usize; 0], "noise is not better");
        assert_eq!(best(Unit::Time, &[first, of(10.0, Verdict::Same)]), [0usize; 0], "all are equal");
        assert_eq!(best(Unit::Time, &[None, None]), [0usize; 0]);
    }
}
