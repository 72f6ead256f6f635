//! Distributions of latency.

use serde_json::Value;
use ssdlab_figures::figure::{Axis, Cell, Figure, Mark, Panel, Scale, Series, Table, Unit};
use ssdlab_sim::report::histogram::Bucket;

use crate::charts::parts::{Wanted, figure, none, plural, shown};
use crate::inputs::Inputs;
use ssdlab_lab::readers::histogram::{Quantile, count as requests, percentile, place};
use ssdlab_lab::readers::json::number;
use ssdlab_lab::text::{count, duration, percent, plural as counted};

const NONE: &str = "No reads or writes were measured.";

/// Quantiles of a table: up to the last one that some request lies above.
const RANKS: [Quantile; 9] = [
    Quantile::new(1, 2),
    Quantile::new(9, 10),
    Quantile::new(95, 100),
    Quantile::new(99, 100),
    Quantile::new(999, 1_000),
    Quantile::new(9_999, 10_000),
    Quantile::new(99_999, 100_000),
    Quantile::new(999_999, 1_000_000),
    Quantile::new(1, 1),
];

/// The latency that a bucket stands for: its upper edge, at most the largest value.
fn value(bucket: &Bucket, buckets: &[Bucket]) -> f64 {
    bucket.upper.min(buckets.last().map_or(u64::MAX, |last| last.largest)) as f64
}

/// Requests up to each bucket.
fn cumulated(buckets: &[Bucket]) -> impl Iterator<Item = (u64, &Bucket)> {
    buckets.iter().scan(0, |seen, bucket| {
        *seen += bucket.count;
        Some((*seen, bucket))
    })
}

/// Points of which each lies visibly apart from the one before, and those at the places in `kept`. `at`: where a point lies, in decades.
fn thinned(points: &[Vec<f64>], kept: &[usize], at: &dyn Fn(&[f64]) -> (f64, f64)) -> Vec<Vec<f64>> {
    const APART: f64 = 0.02;
    let mut last = (f64::NEG_INFINITY, f64::NEG_INFINITY);
    let mut out = Vec::new();
    for (i, point) in points.iter().enumerate() {
        let (x, y) = at(point);
        if (x - last.0).abs() + (y - last.1).abs() >= APART || kept.contains(&i) {
            out.push(point.clone());
            last = (x, y);
        }
    }
    out
}

fn name(kinds: &[(&'static str, Vec<Bucket>)]) -> &'static str {
    match kinds {
        [("read", _)] => "Read latency",
        [("write", _)] => "Write latency",
        _ => "Latency",
    }
}

pub(super) fn percentiles(inputs: &Inputs, wanted: &Wanted) -> Figure {
    let kinds = inputs.run.histograms.as_ref().map_or(Vec::new(), |all| shown(all, wanted.op));
    let title = format!("{} by percentile", name(&kinds));
    let most = kinds.iter().map(|(_, buckets)| requests(buckets)).max().unwrap_or(0);
    if most == 0 {
        return none("percentiles", &title, inputs, NONE);
    }
    let reached = |quantile: &Quantile| quantile.of == quantile.parts || quantile.rank(most) < most;
    let mut table = Table::new(&["op", "percentile", "latency_ns"]);
    let mut series = Vec::new();
    for (op, buckets) in &kinds {
        let all = requests(buckets);
        let points = cumulated(buckets).map(|(seen, bucket)| vec![seen as f64 / all as f64, value(bucket, buckets)]);
        let mut points: Vec<Vec<f64>> = points.collect();
        if wanted.page.is_some() {
            // The ranks of the summary stay exact.
            let kept: Vec<usize> = RANKS.iter().filter_map(|quantile| place(buckets, *quantile)).collect();
            points =
                thinned(&points, &kept, &|p| (-libm::log10(1.0 - p[0].min(0.999_999_9)), libm::log10(p[1].max(1.0))));
        }
        series.push(Series::new(op, Mark::Step, points));
        for quantile in RANKS.iter().filter(|quantile| reached(quantile)) {
            let latency = percentile(buckets, *quantile).map_or(Cell::Null, Cell::from);
            table.rows.push(vec![(*op).into(), Cell::Real(quantile.value()), latency]);
        }
    }
    // The last requests lie between the last tick and the end of the axis.
    let mut ticks: Vec<f64> = RANKS[..8].iter().filter(|q| q.of != 95 && reached(q)).map(Quantile::value).collect();
    ticks.insert(0, 0.0);
    let mut end = 0.9;
    let mut parts = 10u64;
    while parts < most && parts < 1_000_000_000 {
        parts *= 10;
        end = (parts - 1) as f64 / parts as f64;
    }
    let x = Axis { ticks, ..Axis::new("percentile", Unit::One, Scale::OneMinusLog).within(0.0, end) };
    let y = Axis::new("latency", Unit::Nanoseconds, Scale::Log);
    let panel = Panel { x, y, series, ..Panel::default() };
    let mut figure = figure("percentiles", title, inputs, vec![panel], table);
    let said = kinds.iter().map(|(op, buckets)| {
        let at = RANKS[..8].iter().rev().find(|q| q.rank(requests(buckets)) < requests(buckets)).unwrap_or(&RANKS[0]);
        // The rank of the contract's example, if there are enough requests.
        let at = if at.value() > 0.999 { &RANKS[4] } else { at };
        let latency = percentile(buckets, *at).map_or("-".into(), |ns| duration(ns as f64));
        format!("{} % of {} {} took at most {latency}.", at.percent(), count(requests(buckets)), plural(op))
    });
    figure.caption = said.collect::<Vec<_>>().join(" ");
    figure
}

pub(super) fn cdf(inputs: &Inputs, wanted: &Wanted) -> Figure {
    distribution(inputs, wanted, false)
}

pub(super) fn ccdf(inputs: &Inputs, wanted: &Wanted) -> Figure {
    distribution(inputs, wanted, true)
}

fn distribution(inputs: &Inputs, wanted: &Wanted, slower: bool) -> Figure {
    let (id, what) = if slower { ("ccdf", "share of slower requests") } else { ("cdf", "share of requests") };
    let kinds = inputs.run.histograms.as_ref().map_or(Vec::new(), |all| shown(all, wanted.op));
    let title = format!("{}: {what}", name(&kinds));
    if kinds.is_empty() {
        return none(id, &title, inputs, NONE);
    }
    let mut table = Table::new(&["op", "latency_ns", if slower { "share_slower" } else { "share" }]);
    let mut series = Vec::new();
    for (op, buckets) in &kinds {
        let all = requests(buckets);
        let mut points = vec![vec![buckets[0].lower as f64, if slower { 1.0 } else { 0.0 }]];
        for (seen, bucket) in cumulated(buckets) {
            let part = if slower { all - seen } else { seen };
            // A logarithm of nothing has no place.
            if part > 0 {
                points.push(vec![value(bucket, buckets), part as f64 / all as f64]);
            }
        }
        if wanted.page.is_some() {
            let y = |share: f64| if slower { libm::log10(share) } else { 4.0 * share };
            points = thinned(&points, &[points.len() - 1], &|p| (libm::log10(p[0].max(1.0)), y(p[1])));
        }
        let rows = points.iter().map(|p| vec![(*op).into(), Cell::Whole(p[0] as u128), Cell::Real(p[1])]);
        table.rows.extend(rows);
        series.push(Series::new(op, Mark::Line, points));
    }
    let x = Axis::new("latency", Unit::Nanoseconds, Scale::Log);
    let y = Axis::new(what, Unit::One, if slower { Scale::Log } else { Scale::Linear }).in_percent();
    let y = if slower { y } else { y.within(0.0, 1.0) };
    let panel = Panel { x, y, series, ..Panel::default() };
    let mut figure = figure(id, title, inputs, vec![panel], table);
    let said = kinds.iter().map(|(op, buckets)| {
        let (all, Some(median)) = (requests(buckets), percentile(buckets, RANKS[0])) else { return String::new() };
        let limit = median.saturating_mul(10);
        let above: u64 = buckets.iter().filter(|bucket| bucket.lower > limit).map(|bucket| bucket.count).sum();
        format!(
            "Half of {} took at most {}; {} took more than ten times as long.",
            counted(all, op),
            duration(median as f64),
            percent(above as f64 / all as f64)
        )
    });
    figure.caption = said.collect::<Vec<_>>().join(" ");
    figure
}

/// The numbers that a reader asks for first: a row for each kind of request.
pub fn key_figures(summary: &Value) -> Table {
    let fields = ["count", "mean", "p50", "p99", "p99_9", "max"];
    let mut table = Table::new(&["", "requests", "mean", "p50", "p99", "p99.9", "max"]);
    for op in ["read", "write", "all"] {
        let mut row = vec![Cell::from(plural(op))];
        for field in fields {
            let value = number(summary, &format!("/latency_ns/{op}/{field}"));
            row.push(match (field, value) {
                (_, None) => Cell::from("-"),
                ("count", Some(value)) => Cell::Text(count(value as u64)),
                (_, Some(value)) => Cell::Text(duration(value)),
            });
        }
        table.rows.push(row);
    }
    table
}
