//! `--load`: arrival times are multiplied by the factor under which a workload has the load that the paper prints.

use std::collections::BTreeMap;

use ssdlab_lab::error::Result;
use ssdlab_lab::input::Requests;
use ssdlab_lab::variants::points::{Plan, Point, sweep};
use ssdlab_trace::Scale;

use crate::Boards;
use crate::results::Figure;

/// A load that a paper prints.
pub(crate) struct Load {
    /// What is printed, and where.
    pub(crate) source: &'static str,
    /// The scheme that it is measured with.
    pub(crate) scheme: &'static str,
    pub(crate) figure: Figure,
    /// In the order of the paper's workloads.
    pub(crate) printed: &'static [f64],
    pub(crate) unit: fn(f64) -> String,
}

/// The factor that brings a workload's load nearest to the paper's.
#[derive(Clone, Copy)]
pub(crate) struct Found {
    /// In billionths.
    factor: u64,
    ours: f64,
}

/// What a billionth is a part of.
const WHOLE: u64 = 1_000_000_000;
/// A load this near to the paper's needs no better factor.
const NEAR: f64 = 0.01;

impl Found {
    pub(crate) fn scale(&self) -> Scale {
        Scale::new(self.factor, WHOLE).expect("neither is 0")
    }

    /// The factor, as `--time-scale` takes it, and the load with it.
    pub(crate) fn text(&self, load: &Load, printed: f64) -> String {
        let decimal = format!("{}.{:09}", self.factor / WHOLE, self.factor % WHOLE);
        let decimal = decimal.trim_end_matches('0').trim_end_matches('.');
        format!("{decimal} ({}, paper {})", (load.unit)(self.ours), (load.unit)(printed))
    }
}

/// The factors that are tried, in billionths with three digits, from 100 to a millionth in steps of 2 %.
fn factors() -> Vec<u64> {
    let digits = |n: u64| {
        let unit = 10u64.pow(n.ilog10().saturating_sub(2));
        (n + unit / 2) / unit * unit
    };
    std::iter::successors(Some(100 * WHOLE), |n| Some(n * 50 / 51)).take_while(|n| *n >= 1_000).map(digits).collect()
}

/// A workload whose factor is sought: the load grows with the place among the factors.
struct Sought {
    workload: &'static str,
    printed: f64,
    /// Places of factors that may be better than the best one so far.
    from: usize,
    to: usize,
    best: Option<Found>,
}

impl Sought {
    fn middle(&self) -> Option<usize> {
        let near = self.best.is_some_and(|best| (best.ours / self.printed - 1.0).abs() <= NEAR);
        (self.from < self.to && !near).then_some(self.from.midpoint(self.to))
    }

    fn learn(&mut self, at: usize, factor: u64, ours: f64) {
        if ours < self.printed {
            self.from = at + 1;
        } else {
            self.to = at;
        }
        let away = |ours: f64| (ours - self.printed).abs();
        if self.best.is_none_or(|best| away(ours) < away(best.ours)) {
            self.best = Some(Found { factor, ours });
        }
    }
}

/// Bisects the factor of each workload, all workloads at a time. `point` is a workload's run with the arrivals of its model or
/// recording; none if it can't run.
///
/// # Errors
/// A run fails.
pub(crate) fn calibrate(
    load: &Load,
    workloads: &[(&'static str, f64)],
    mut point: impl FnMut(&'static str) -> Result<Option<Point>>,
    how: &Plan,
    boards: &Boards,
) -> Result<BTreeMap<&'static str, Found>> {
    let factors = factors();
    let mut sought = Vec::new();
    for (workload, printed) in workloads {
        if let Some(run) = point(workload)? {
            sought.push((Sought { workload, printed: *printed, from: 0, to: factors.len(), best: None }, run));
        }
    }
    loop {
        let middles: Vec<(usize, usize)> =
            sought.iter().enumerate().filter_map(|(i, (one, _))| Some((i, one.middle()?))).collect();
        if middles.is_empty() {
            break;
        }
        let scaled = |(i, at): &(usize, usize)| {
            let run = &sought[*i].1;
            let requests = Requests { time_scale: Scale::new(factors[*at], WHOLE), ..run.requests.clone() };
            Point { name: run.name.clone(), config: run.config.clone(), requests, seed: run.seed }
        };
        let points: Vec<Point> = middles.iter().map(scaled).collect();
        let board = boards(points.len());
        let outcomes = sweep(&points, how, &*board)?;
        for ((i, at), outcome) in middles.into_iter().zip(outcomes) {
            // A run with no figure of its load has none.
            let ours = (load.figure)(&outcome.summary).unwrap_or(0.0);
            sought[i].0.learn(at, factors[at], ours);
        }
    }
    Ok(sought.into_iter().filter_map(|(one, _)| Some((one.workload, one.best?))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The factor found is one of the two around the printed load, or the densest if no factor reaches it.
    #[test]
    fn a_factor_is_found_wherever_the_load_lies() {
        let factors = factors();
        assert!(factors.windows(2).all(|pair| pair[0] > pair[1]), "arrivals become denser");
        for (printed, most) in [(1e-7, 1.0), (0.157, 1.0), (0.9, 1.0), (0.5, 0.3)] {
            let load = |factor: u64| (1e-4 / (factor as f64 / 1e9)).min(most);
            let mut one = Sought { workload: "", printed, from: 0, to: factors.len(), best: None };
            let mut rounds = 0;
            while let Some(at) = one.middle() {
                one.learn(at, factors[at], load(factors[at]));
                rounds += 1;
            }
            let found = one.best.unwrap();
            assert!(rounds <= 10, "{rounds}");
            let best = factors.iter().map(|factor| (load(*factor) - printed).abs()).fold(f64::MAX, f64::min);
            assert!((found.ours - printed).abs() <= best.max(NEAR * printed), "{printed}: {}", found.ours);
            assert_eq!(found.scale(), format!("{}/{WHOLE}", found.factor).parse().unwrap());
        }
    }
}
