//! What a sweep would do: points, refusals, what is done, and what the rest costs. It builds no device.

use std::collections::{BTreeMap, HashSet};
use std::ops::ControlFlow;

use serde::Serialize;
use ssdlab_sim::Check;

use crate::axis::{Axis, Item};
use crate::cost::Rates;
use crate::execute::job;
use crate::job::{End, Job, Terms, this_machine};
use crate::points::{Point, Points, Run};
use crate::status::{Standing, Survey};
use crate::store::Store;
use ssdlab_lab::error::Result;

/// A rule and the points that break it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Refusals {
    /// The rule.
    pub rule: String,
    /// How many points.
    pub points: u64,
    /// The number of the first.
    pub first: u64,
}

/// A sweep before it runs.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    /// The name of the study.
    pub study: String,
    /// Points.
    pub points: u64,
    /// Runs; under `until`, as many as are known to be needed.
    pub runs: u64,
    /// Points that rounding made equal to others.
    pub merged: u64,
    /// Points that are taken out.
    pub excluded: u64,
    /// Refused points by rule.
    pub refused: Vec<Refusals>,
    /// Runs that the store has.
    pub done: u64,
    /// Runs that failed for good.
    pub failed: u64,
    /// Runs that are left.
    pub left: u64,
    /// Fillings that the runs left need.
    pub fillings: u64,
    /// Expected CPU seconds of the runs left.
    pub cpu_s: f64,
    /// Half and double of it.
    pub cpu_s_range: [f64; 2],
    /// Bytes of memory that the largest device needs.
    pub memory_bytes: u64,
    /// The first point in a few words.
    pub first: String,
    /// The last one.
    pub last: String,
}

/// A point in a few words.
pub fn words(points: &Points, point: &Point) -> String {
    words_of(&points.study.axes, &point.items)
}

/// Values of axes in a few words.
pub fn words_of(axes: &[Axis], items: &[Item]) -> String {
    let words: Vec<String> =
        axes.iter().zip(items).map(|(axis, item)| format!("{}={}", axis.label, item.shown.text())).collect();
    if words.is_empty() { "the base configuration".into() } else { words.join(" ") }
}

impl Plan {
    /// The plan of a study.
    pub fn of(points: &Points, survey: &Survey<'_>, runs: &[Run], store: Option<&Store>, rates: &Rates) -> Plan {
        let mut rules: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for point in &points.points {
            if let Some(rule) = &point.refused {
                rules.entry(rule).or_insert((0, point.number)).0 += 1;
            }
        }
        let mut refused: Vec<Refusals> =
            rules.into_iter().map(|(rule, (points, first))| Refusals { rule: rule.into(), points, first }).collect();
        refused.sort_by_key(|refusals| refusals.first);
        let (mut done, mut failed, mut left, mut cpu_s) = (0, 0, 0, 0.0);
        let mut fillings = HashSet::new();
        for run in runs {
            let point = &points.points[run.point];
            match store.map_or(Standing::Left, |store| survey.standing(run, store)) {
                Standing::Done | Standing::Refused => done += 1,
                Standing::Failure(failure) if failure.for_good() => failed += 1,
                _ => {
                    left += 1;
                    let (all, fill) = rates.expect(&point.work);
                    let new = point.filling.is_none_or(|filling| fillings.insert((filling, run.seed)));
                    cpu_s += if new { all } else { all - fill };
                }
            }
        }
        let word = |point: Option<&Point>| point.map_or_else(String::new, |point| words(points, point));
        Plan {
            study: points.study.name.clone(),
            points: points.points.len() as u64,
            runs: runs.len() as u64,
            merged: points.merged,
            excluded: points.study.excluded,
            refused,
            done,
            failed,
            left,
            fillings: fillings.len() as u64,
            cpu_s,
            cpu_s_range: [cpu_s / 2.0, cpu_s * 2.0],
            memory_bytes: points.points.iter().map(|point| point.memory_bytes).max().unwrap_or(0),
            first: word(points.points.first()),
            last: word(points.points.last()),
        }
    }
}

/// Requests of a pilot run at least.
const LEAST: u64 = 1_000;

/// Rates from short runs of three points: the cheapest, the middle one and the most expensive. Each serves 1 % of its requests.
///
/// # Errors
/// `go_on` stopped it.
pub fn pilot(points: &Points, go_on: &mut dyn FnMut() -> ControlFlow<()>) -> Result<Rates> {
    let mut order: Vec<usize> =
        (0..points.points.len()).filter(|place| points.points[*place].refused.is_none()).collect();
    order.sort_by_key(|place| (points.points[*place].work.fixed_ns(), *place));
    let mut chosen: Vec<usize> =
        [0, order.len() / 2, order.len().saturating_sub(1)].iter().filter_map(|i| order.get(*i).copied()).collect();
    chosen.dedup();
    let mut costs = Vec::new();
    for place in chosen {
        let point = &points.points[place];
        let mut requests = points.inputs[point.input].requests.clone();
        requests.limit = Some((points.inputs[point.input].count / 100).max(LEAST));
        let run = points.run(place, points.seeds()[0]);
        let job = Job { requests: &requests, ..job(points, &run) };
        let wall_ns = points.study.limits.wall_ns;
        let terms = Terms { check: Check::Sampled, wall_ns, memory_bytes: None, keep: Vec::new(), fillings: None };
        match job.perform(&terms, None, None, 1, &mut || go_on())? {
            End::Record { cost: Some(cost), .. } => costs.push((*cost, point.mode)),
            End::Stopped => return Err(ssdlab_lab::drive::interrupted()),
            _ => {}
        }
    }
    Ok(Rates::of(costs.iter().map(|(cost, mode)| (cost, *mode)), this_machine()))
}
