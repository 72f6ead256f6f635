//! The figures that variants are compared by, and how those of a variant differ from the baseline's.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use ssdlab_sim::report::{Breakdown, Figures, Summary};

use crate::variants::student::{chance, deviation, discoveries, half_width, mean, ratio};

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
    /// Bytes that a device takes in its life.
    Bytes,
    /// A ratio.
    Factor,
}

/// A figure that variants are compared by, from a summary or from what it says of a tenant.
#[derive(Clone, Copy)]
pub struct Metric<S = Summary> {
    /// Its name in JSON, CSV and Parquet.
    pub key: &'static str,
    /// Its place in a summary, which names it too; empty where it is computed from several.
    pub path: &'static str,
    /// Its heading in printed tables; empty: only files have it.
    pub head: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// Reads it from a summary; none if the run had nothing to count.
    pub of: fn(&S) -> Option<f64>,
}

/// Mean time that a request waited for GC.
fn blocked(by: &Breakdown, figures: &Figures) -> Option<f64> {
    ssdlab_sim::report::mean(by.by_gc(), figures.count)
}

pub(super) fn whole(value: Option<u64>) -> Option<f64> {
    value.map(|value| value as f64)
}

macro_rules! metrics {
    ($($key:literal $path:literal $head:literal $unit:ident |$summary:ident| $of:expr;)+) => {
        &[$(Metric { key: $key, path: $path, head: $head, unit: Unit::$unit, of: |$summary| $of }),+]
    };
}
pub(super) use metrics;

impl<S> Metric<S> {
    /// Whether results have it: what a device takes in its life, only where its blocks wear out (`wears`).
    pub fn is_told(&self, wears: bool) -> bool {
        wears || self.unit != Unit::Bytes
    }

    /// Its entry in the figures of `ssdlab.compare/1`; `several`: with what several seeds tell.
    pub(crate) fn entry(&self, figure: Option<&Figure>, several: bool) -> (String, Value) {
        (self.key.to_string(), figure.map_or(Value::Null, |figure| figure.json(several)))
    }
}

/// All of them, in the order of tables and columns.
#[rustfmt::skip]
pub const METRICS: &[Metric] = metrics! {
    "read_mean_ns" "latency_ns.read.mean" "read mean" Time |s| s.latency_ns.read.mean;
    "write_mean_ns" "latency_ns.write.mean" "write mean" Time |s| s.latency_ns.write.mean;
    "all_mean_ns" "latency_ns.all.mean" "mean" Time |s| s.latency_ns.all.mean;
    "read_p99_ns" "latency_ns.read.p99" "read p99" Time |s| whole(s.latency_ns.read.p99);
    "write_p99_ns" "latency_ns.write.p99" "write p99" Time |s| whole(s.latency_ns.write.p99);
    "all_p99_ns" "latency_ns.all.p99" "" Time |s| whole(s.latency_ns.all.p99);
    "read_p99_9_ns" "latency_ns.read.p99_9" "read p99.9" Time |s| whole(s.latency_ns.read.p99_9);
    "write_p99_9_ns" "latency_ns.write.p99_9" "write p99.9" Time |s| whole(s.latency_ns.write.p99_9);
    "all_p99_9_ns" "latency_ns.all.p99_9" "" Time |s| whole(s.latency_ns.all.p99_9);
    "read_max_ns" "latency_ns.read.max" "" Time |s| whole(s.latency_ns.read.max);
    "write_max_ns" "latency_ns.write.max" "" Time |s| whole(s.latency_ns.write.max);
    "read_waiting_ns" "waiting_ns.read.mean" "" Time |s| s.waiting_ns.read.mean;
    "write_waiting_ns" "waiting_ns.write.mean" "" Time |s| s.waiting_ns.write.mean;
    "all_waiting_ns" "waiting_ns.all.mean" "waiting" Time |s| s.waiting_ns.all.mean;
    "read_gc_ns" "" "" Time |s| blocked(&s.breakdown_ns.read, &s.latency_ns.read);
    "write_gc_ns" "" "" Time |s| blocked(&s.breakdown_ns.write, &s.latency_ns.write);
    "all_gc_ns" "" "waiting on GC" Time |s| blocked(&s.breakdown_ns.all, &s.latency_ns.all);
    "write_amplification" "write_amplification" "" Factor |s| s.write_amplification;
    "write_amplification_bytes" "write_amplification_bytes" "write amplification" Factor |s| s.write_amplification_bytes;
    "erases" "flash.erases" "erases" Count |s| Some(s.flash.erases as f64);
    "tbw_bytes" "life.tbw_bytes" "TBW" Bytes |s| s.life.as_ref().filter(|life| life.end.is_some()).map(|life| life.tbw_bytes as f64);
    "moved_pages" "gc.moved_pages" "" Count |s| Some(s.gc.moved_pages as f64);
    "requests_per_s" "" "requests/s" Rate |s| {
        let requests = s.requests.read + s.requests.write + s.requests.trim;
        (s.simulated_ns > 0).then(|| requests as f64 * 1e9 / s.simulated_ns as f64)
    };
    "host_read_bytes_per_s" "host_read_bytes_per_s" "read MB/s" Megabytes |s| s.host_read_bytes_per_s;
    "host_written_bytes_per_s" "host_written_bytes_per_s" "write MB/s" Megabytes |s| s.host_written_bytes_per_s;
};

impl Metric {
    /// The one of a name: its key, or its place in a summary. Both are taken wherever a measure is named.
    pub fn named(name: &str) -> Option<&'static Metric> {
        METRICS.iter().find(|metric| metric.key == name || (metric.path == name && !name.is_empty()))
    }

    /// Its name in tables of studies: its place in a summary, if it has one.
    pub fn column(&self) -> &'static str {
        if self.path.is_empty() { self.key } else { self.path }
    }
}

/// A name of a measure as studies have it: the place in a summary, for a name that compare has for it; else as it is. A ratio to the
/// baseline begins with `ratio.`.
pub fn column_of(name: &str) -> String {
    let (ratio, name) = name.strip_prefix("ratio.").map_or(("", name), |name| ("ratio.", name));
    format!("{ratio}{}", Metric::named(name).map_or(name, |metric| metric.column()))
}

/// How a variant differs from the first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// Not at all.
    Same,
    /// No difference is shown: the confidence interval of the ratio includes 1. Files of versions before 0.1.3 say `noise`.
    #[serde(rename = "no difference shown", alias = "noise")]
    NotShown,
    /// It is less.
    Lower,
    /// It is more.
    Higher,
}

/// The rate of false discoveries up to which a difference is marked.
const FALSE_DISCOVERIES: f64 = 0.05;

/// One figure of one variant.
#[derive(Clone, Debug)]
pub struct Figure {
    /// By seed.
    pub values: Vec<f64>,
    /// Their mean.
    pub mean: f64,
    /// Their sample standard deviation; none with one seed.
    pub deviation: Option<f64>,
    /// What it is of the baseline: the geometric mean of the ratios seed by seed. Where a seed has a 0 there are no logarithms:
    /// then it is mean over mean; none where the baseline's mean is 0.
    pub ratio: Option<f64>,
    /// Ends of the 95 % confidence interval of that geometric mean; none with one seed, or where a seed has a 0.
    pub interval: Option<(f64, f64)>,
    /// Mean of the differences to the baseline, seed by seed.
    pub difference: f64,
    /// Half the width of the 95 % confidence interval of that mean (Student's t); none with one seed.
    pub half_width: Option<f64>,
    /// The probability of what is seen, or more, if nothing differed: of the ratio, or of the difference where a seed has a 0. None
    /// with one seed, and of the baseline itself.
    pub chance: Option<f64>,
    /// The same when all differences that are tested together are taken into account ([`discoveries`]); none of those that are not
    /// shown.
    pub discovery: Option<f64>,
}

impl Figure {
    /// The figure of some values by seed, compared with those of the baseline.
    pub fn new(values: Vec<f64>, base: &[f64]) -> Figure {
        let differences: Vec<f64> = values.iter().zip(base).map(|(value, base)| value - base).collect();
        let (own, other) = (mean(&values), mean(base));
        let paired = ratio(&values, base);
        Figure {
            mean: own,
            deviation: deviation(&values),
            ratio: paired.map(|of| of.mean).or((other != 0.0).then(|| own / other)),
            interval: paired.and_then(|of| of.interval),
            difference: mean(&differences),
            half_width: half_width(&differences),
            chance: paired.map_or_else(|| chance(&differences), |of| of.chance),
            discovery: None,
            values,
        }
    }

    /// The figure of the baseline itself, which is compared with nothing.
    pub fn first(values: Vec<f64>) -> Figure {
        Figure { interval: None, chance: None, ..Figure::new(values.clone(), &values) }
    }

    /// Its entry of `ssdlab.compare/1`; `several`: with what several seeds tell.
    pub fn json(&self, several: bool) -> Value {
        let mut entry = json!({ "mean": self.mean, "ratio": self.ratio, "verdict": self.verdict() });
        if several {
            let bound = |sign: f64| self.half_width.map(|half| self.difference + sign * half);
            entry["ratio_interval"] =
                self.interval.map_or(Value::Null, |(low, high)| json!({ "low": low, "high": high }));
            entry["deviation"] = json!(self.deviation);
            entry["difference"] = json!({ "mean": self.difference, "low": bound(-1.0), "high": bound(1.0) });
            entry["p_value"] = json!(self.chance);
            entry["q_value"] = json!(self.discovery);
            entry["values"] = json!(self.values);
        }
        entry
    }

    /// How it differs from the baseline. With one seed there is no interval, so every difference counts.
    pub fn verdict(&self) -> Effect {
        if self.difference == 0.0 && self.half_width.is_none_or(|half| half == 0.0) {
            return Effect::Same;
        }
        let shown = match (self.interval, self.half_width) {
            (Some((low, high)), _) => low > 1.0 || high < 1.0,
            (None, Some(half)) => self.difference.abs() > half,
            (None, None) => true,
        };
        let less = self.ratio.map_or(self.difference < 0.0, |ratio| ratio < 1.0);
        match (shown, less) {
            (false, _) => Effect::NotShown,
            (true, true) => Effect::Lower,
            (true, false) => Effect::Higher,
        }
    }

    /// Whether the difference also stands among all that are tested with it.
    pub fn stands(&self) -> bool {
        self.discovery.is_some_and(|rate| rate <= FALSE_DISCOVERIES)
    }
}

/// Judges differences that are shown together as one family.
pub fn judge<'f>(figures: impl Iterator<Item = &'f mut Figure>) {
    let (figures, chances): (Vec<&mut Figure>, Vec<f64>) =
        figures.filter_map(|figure| figure.chance.map(|chance| (figure, chance))).unzip();
    for (figure, rate) in figures.into_iter().zip(discoveries(&chances)) {
        figure.discovery = Some(rate);
    }
}

/// Judges the figures of variants, which are by metric in the order of [`METRICS`]: those that tables show.
pub fn judge_shown<'f>(variants: impl Iterator<Item = &'f mut Vec<Option<Figure>>>) {
    let of = |(metric, figure): (&Metric, &'f mut Option<Figure>)| figure.as_mut().filter(|_| !metric.head.is_empty());
    judge(variants.flat_map(|figures| METRICS.iter().zip(figures).filter_map(of)));
}

/// What a comparison says of the device of its first variant: a part of that one's summary.
pub fn base(summary: &Value) -> Value {
    let part = |key: &str| (key.to_string(), summary[key].clone());
    ["config", "write_ack", "consistency_rule"].map(part).into_iter().collect::<Map<_, _>>().into()
}

/// The figures of a value of `ssdlab.compare/1`, by variant and by metric in the order of [`METRICS`]. They are computed from the
/// values by seed, so files of older versions have the intervals of this one.
pub fn of_json(compare: &Value) -> Vec<Vec<Option<Figure>>> {
    let variants = compare["variants"].as_array().map_or(&[][..], Vec::as_slice);
    let values = |variant: &Value, metric: &Metric| -> Option<Vec<f64>> {
        let figure = &variant["figures"][metric.key];
        let mean = figure["mean"].as_f64()?;
        let by_seed = figure["values"].as_array();
        Some(by_seed.and_then(|values| values.iter().map(Value::as_f64).collect()).unwrap_or_else(|| vec![mean]))
    };
    let figure = |number: usize, metric: &Metric| {
        let own = values(&variants[number], metric)?;
        if number == 0 {
            return Some(Figure::first(own));
        }
        let base = values(&variants[0], metric)?;
        let together = own.len() == base.len() && !own.is_empty();
        Some(if together { Figure::new(own, &base) } else { Figure::new(vec![mean(&own)], &[mean(&base)]) })
    };
    let all = (0..variants.len()).map(|number| METRICS.iter().map(|metric| figure(number, metric)).collect());
    let mut all: Vec<Vec<Option<Figure>>> = all.collect();
    judge_shown(all.iter_mut());
    all
}

/// The variants with the best mean of a measure, by their places: the least mean, or the largest of a rate and of bytes. None where all are
/// equal, or where no difference of the best one from the first is shown.
pub fn best(unit: Unit, figures: &[Option<(f64, Effect)>]) -> Vec<usize> {
    let more = matches!(unit, Unit::Rate | Unit::Megabytes | Unit::Bytes);
    let means = figures.iter().flatten().map(|(mean, _)| *mean);
    let Some(best) = means.reduce(|a, b| if more { a.max(b) } else { a.min(b) }) else { return Vec::new() };
    let found = figures.iter().enumerate().filter_map(|(i, figure)| Some((i, (*figure)?)));
    let found: Vec<(usize, Effect)> =
        found.filter(|(_, (mean, _))| *mean == best).map(|(i, (_, of))| (i, of)).collect();
    let differs = |(i, of): &(usize, Effect)| *i == 0 || !matches!(of, Effect::NotShown | Effect::Same);
    let some = found.len() < figures.iter().flatten().count() && found.iter().all(differs);
    if some { found.into_iter().map(|(i, _)| i).collect() } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_compared_by_ratios_and_where_a_seed_has_a_0_by_differences() {
        // Every seed takes a fiftieth, though their means differ by much: the interval of the differences would be +-0.6.
        let base = [10.0, 20.0, 60.0];
        let figure = Figure::new(vec![0.2, 0.4, 1.26], &base);
        let (low, high) = figure.interval.unwrap();
        assert!(0.0 < low && low < 0.02 && 0.02 < high && high < 0.025, "{low} to {high}");
        assert_eq!(figure.verdict(), Effect::Lower);
        // The differences alone show nothing: -29.4 +- 65.
        assert!(figure.difference.abs() < figure.half_width.unwrap());
        // A third seed that goes the other way: the interval includes 1.
        let figure = Figure::new(vec![9.0, 18.0, 70.0], &base);
        let (low, high) = figure.interval.unwrap();
        assert!(low < 1.0 && 1.0 < high && figure.verdict() == Effect::NotShown);
        // No seed waits any more: the ratio of the means is 0, exactly, and the differences are tested.
        let figure = Figure::new(vec![0.0; 3], &[10.0, 11.0, 12.0]);
        assert_eq!((figure.ratio, figure.interval, figure.verdict()), (Some(0.0), None, Effect::Lower));
        // t = 11 / (1 / sqrt 3) of two degrees: 1 - t / sqrt(2 + t^2).
        let t = 11.0 * 3f64.sqrt();
        assert!((figure.chance.unwrap() - (1.0 - t / (2.0 + t * t).sqrt())).abs() < 1e-12);
        let figure = Figure::new(vec![0.0, 0.0, 5.0], &[0.0; 3]);
        assert_eq!((figure.ratio, figure.verdict()), (None, Effect::NotShown), "nothing to divide by");
        let figure = Figure::new(vec![2.0], &[4.0]);
        assert_eq!((figure.ratio, figure.interval, figure.verdict()), (Some(0.5), None, Effect::Lower));
        assert_eq!(Figure::new(vec![3.0; 2], &[3.0; 2]).verdict(), Effect::Same);
    }

    #[test]
    fn files_are_judged_as_this_version_judges() {
        // Two variants and two seeds, as 0.1.2 wrote them.
        let figure = |values: [f64; 2]| {
            json!({ "mean": mean(&values), "ratio": 1.0, "verdict": "noise", "deviation": 0.0, "values": values,
                "difference": { "mean": 0.0, "low": -9.0, "high": 9.0 } })
        };
        let variant = |read: [f64; 2], max: [f64; 2]| json!({ "figures": { "read_mean_ns": figure(read), "erases": figure([5.0, 5.0]), "read_max_ns": figure(max) } });
        let compare = json!({ "variants": [variant([10.0, 20.0], [3.0, 4.0]), variant([5.0, 10.0], [6.0, 8.0])] });
        let figures = of_json(&compare);
        let of = |variant: usize, key: &str| {
            let place = METRICS.iter().position(|metric| metric.key == key).unwrap();
            figures[variant][place].clone()
        };
        let half = of(1, "read_mean_ns").unwrap();
        assert_eq!((half.ratio, half.interval, half.verdict()), (Some(0.5), Some((0.5, 0.5)), Effect::Lower));
        assert!(half.stands() && half.discovery == Some(0.0), "the least of two chances, 0 and 1");
        assert_eq!(of(1, "erases").unwrap().discovery, Some(1.0));
        assert_eq!(of(1, "read_max_ns").unwrap().discovery, None, "tables do not show it");
        assert_eq!((of(0, "erases").unwrap().chance, of(1, "write_mean_ns").is_none()), (None, true));
    }

    #[test]
    fn the_best_mean_is_marked_where_it_differs() {
        let of = |mean: f64, verdict: Effect| Some((mean, verdict));
        let first = of(10.0, Effect::Same);
        let (less, more) = (of(8.0, Effect::Lower), of(12.0, Effect::Higher));
        assert_eq!(best(Unit::Time, &[first, less, None, more, less]), [1, 4], "equal ones are all marked");
        assert_eq!(best(Unit::Rate, &[first, less, None, more]), [3]);
        assert_eq!(best(Unit::Time, &[first, more]), [0]);
        assert_eq!(best(Unit::Time, &[first, of(9.9, Effect::NotShown), more]), [0usize; 0], "no difference is shown");
        assert_eq!(best(Unit::Time, &[first, of(10.0, Effect::Same)]), [0usize; 0], "all are equal");
        assert_eq!(best(Unit::Time, &[None, None]), [0usize; 0]);
    }
}
