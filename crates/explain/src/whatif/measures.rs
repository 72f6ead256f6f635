//! Measures of both devices over the requests of the window.

use ssdlab_lab::readers::causes;
use ssdlab_lab::readers::histogram::{Quantile, merged, percentile};
use ssdlab_lab::results::histograms::Histograms;
use ssdlab_sim::blame::Blame;
use ssdlab_sim::report::histogram::Histogram;
use ssdlab_sim::{Completed, RequestOp};

use crate::whatif::outcome::{Pair, WhatIf};

/// A measure of both devices.
#[derive(Clone, Debug, PartialEq)]
pub struct Measure {
    /// Its name, such as `read_p99_ns`.
    pub name: String,
    /// In words, such as `read p99`.
    pub label: String,
    /// Whether it is a time; a count otherwise.
    pub time: bool,
    /// The base and the what-if; none where nothing was measured.
    pub values: [Option<f64>; 2],
}

const QUANTILES: [(&str, Quantile); 4] = [
    ("p50", Quantile::new(1, 2)),
    ("p99", Quantile::new(99, 100)),
    ("p99.9", Quantile::new(999, 1_000)),
    ("max", Quantile::new(1, 1)),
];

/// Measured reads and writes that arrive in the window in the base; flushes are neither.
pub fn requests(whatif: &WhatIf) -> u64 {
    whatif.pairs.iter().filter(|pair| pair.base.op != RequestOp::Flush).count() as u64
}

/// The measures, in their order: latencies of reads, writes and both, waiting on GC, and what the flash did.
pub fn measures(whatif: &WhatIf) -> Vec<Measure> {
    let base = |pair: &Pair| Some(pair.base.clone());
    let other = |pair: &Pair| pair.whatif.clone();
    let sides = [collect(whatif, base), collect(whatif, other)];
    let mut all = Vec::new();
    for (i, op) in ["read", "write", "all"].into_iter().enumerate() {
        let of = |side: usize| match i {
            2 => merged(&sides[side].latency),
            op => sides[side].latency[op].clone(),
        };
        let buckets = [of(0), of(1)];
        let count = |side: usize| buckets[side].iter().map(|bucket| bucket.count).sum::<u64>();
        let mean = |side: usize| {
            let sum: u128 = buckets[side].iter().map(|bucket| bucket.sum).sum();
            (count(side) > 0).then(|| sum as f64 / count(side) as f64)
        };
        let gc = |side: usize| {
            let of = |bucket: &ssdlab_sim::report::histogram::Bucket| {
                let mut sums = [0; causes::COUNT];
                causes::add(&mut sums, bucket);
                causes::all().filter(|cause| cause.is_by_gc()).map(|cause| sums[cause.place()]).sum::<u128>()
            };
            let sum: u128 = buckets[side].iter().map(of).sum();
            (count(side) > 0).then(|| sum as f64 / count(side) as f64)
        };
        let mut add = |name: &str, label: &str, time: bool, values: [Option<f64>; 2]| {
            all.push(Measure { name: format!("{op}_{name}"), label: format!("{op} {label}"), time, values });
        };
        add("requests", "requests", false, [0, 1].map(|side| Some(count(side) as f64)));
        add("mean_ns", "mean", true, [mean(0), mean(1)]);
        for (label, quantile) in QUANTILES {
            let value = |side: usize| percentile(&buckets[side], quantile).map(|ns| ns as f64);
            add(&format!("{}_ns", label.replace('.', "_")), label, true, [value(0), value(1)]);
        }
        add("waiting_on_gc_ns", "waiting on GC", true, [gc(0), gc(1)]);
    }
    type Of = fn(&crate::whatif::outcome::Work) -> u64;
    let work: [(&str, Of); 3] =
        [("collections", |work| work.collections), ("programs", |work| work.programs), ("erases", |work| work.erases)];
    for (name, of) in work {
        let values = whatif.work.each_ref().map(|work| Some(of(work) as f64));
        all.push(Measure { name: name.into(), label: name.into(), time: false, values });
    }
    all
}

fn collect(whatif: &WhatIf, side: impl Fn(&Pair) -> Option<Completed>) -> Histograms {
    let mut histograms = [Histogram::default(), Histogram::default()];
    for one in whatif.pairs.iter().filter_map(side).filter(|one| one.op != RequestOp::Flush) {
        let (blame, latency): (Blame, u64) = (one.blame, (one.completion - one.arrival).0);
        histograms[usize::from(one.op == RequestOp::Write)].record(&blame, latency, blame.waits());
    }
    Histograms::of([&histograms[0], &histograms[1]])
}
