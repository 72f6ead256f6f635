//! Adds up the results of a fleet by group: merged distributions, measures over volumes, and comparisons of variants.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value as Json;

use crate::fleet::{By, Fleet};
use crate::merge::slowest::Slow;
use crate::merge::spread::Spread;
use crate::merge::{Member, Part};
use crate::points::{Point, Points, Run};
use crate::status::{Standing, Survey, measure};
use crate::store::Store;
use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::names::clip;
use ssdlab_lab::output::{Finished, Output};
use ssdlab_lab::parallel;
use ssdlab_lab::readers::histogram::Quantile;

/// Quantiles over volumes, with the ends of their columns.
pub const QUANTILES: [(&str, Quantile); 5] = [
    ("q0_05", Quantile::new(5, 100)),
    ("q0_25", Quantile::new(25, 100)),
    ("q0_5", Quantile::new(50, 100)),
    ("q0_75", Quantile::new(75, 100)),
    ("q0_95", Quantile::new(95, 100)),
];

/// A share of some volumes with its 95 % interval (Wilson).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Proportion {
    /// The share.
    pub share: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// Of how many volumes.
    pub of: u64,
}

impl Proportion {
    /// `part` of `of`; none of nothing.
    pub fn new(part: u64, of: u64) -> Option<Proportion> {
        if of == 0 {
            return None;
        }
        const Z: f64 = 1.959_963_984_540_054;
        let (n, share) = (of as f64, part as f64 / of as f64);
        let whole = 1.0 + Z * Z / n;
        let middle = (share + Z * Z / (2.0 * n)) / whole;
        let half = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt() / whole;
        let (low, high) = ((middle - half).max(0.0), (middle + half).min(1.0));
        // The ends are exact where all volumes agree.
        let (low, high) = (if part == 0 { 0.0 } else { low }, if part == of { 1.0 } else { high });
        Some(Proportion { share, low, high, of })
    }
}

/// What a group has in common, in the order of its names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Name {
    /// The number of its variant, from 0.
    Variant(usize),
    /// Its class; none of volumes without one.
    Class(Option<String>),
    /// The number of its volume, from 0.
    Volume(usize),
}

/// Runs by where they stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// With a result.
    pub done: u64,
    /// Refused by a rule.
    pub refused: u64,
    /// Failed for good.
    pub failed: u64,
    /// Still to be made.
    pub left: u64,
}

/// A group.
#[derive(Clone, Debug)]
pub struct Group {
    /// What its runs have in common, in the order of `reduce.by`.
    pub names: Vec<Name>,
    /// A point of it: its variant's values are those of all.
    pub point: usize,
    /// Its runs.
    pub counts: Counts,
    /// Volumes with a result.
    pub volumes: u64,
    /// Sums of the results.
    pub sums: BTreeMap<String, u128>,
    /// Latencies and waits, as in summaries.
    pub figures: [Json; 2],
    /// Programs per host page written.
    pub write_amplification: Option<f64>,
    /// Bytes programmed per byte that the host sent.
    pub write_amplification_bytes: Option<f64>,
    /// Shares of time in use, by resource.
    pub utilisation: BTreeMap<String, f64>,
    /// By measure: its quantiles over volumes.
    pub quantiles: Vec<Vec<Option<f64>>>,
    /// By measure: the share of volumes for which this variant is better than the reference; none for the reference itself.
    pub better: Vec<Option<Proportion>>,
    /// The slowest requests; none if they are not wanted.
    pub slowest: Vec<Slow>,
}

/// A fleet's groups.
#[derive(Debug)]
pub struct Reduced {
    /// In the order of their names.
    pub groups: Vec<Group>,
    /// The parts of the groups, if they were wanted, not published yet.
    pub parts: Vec<Finished>,
}

/// The value of a measure by volume and seed.
type Values = BTreeMap<(usize, u64), f64>;

struct Sum {
    part: Part,
    /// Volumes with a result.
    volumes: BTreeSet<usize>,
    values: Vec<Values>,
    known: Vec<bool>,
}

/// What is wanted beside the table.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted<'w> {
    /// The slowest requests.
    pub slowest: bool,
    /// A folder for the part of each group.
    pub parts: Option<&'w Path>,
}

/// Adds up the results in a store.
///
/// # Errors
/// The store can't be read, a file can't be written, or no run has one of the measures.
pub fn reduce(fleet: &Fleet, points: &Points, store: &Store, wanted: Wanted<'_>) -> Result<Reduced> {
    let survey = Survey::of(points, Some(store))?;
    let runs = survey.runs();
    let book = Book::of(fleet, points, &survey, store, wanted);
    let mut groups: BTreeMap<Vec<Name>, Vec<usize>> = BTreeMap::new();
    for (at, run) in runs.iter().enumerate() {
        groups.entry(book.names(&fleet.reduce.by, run.point)).or_default().push(at);
    }
    let (mut reduced, mut values) = (Reduced { groups: Vec::new(), parts: Vec::new() }, Vec::new());
    let (mut known, mut done) = (vec![false; fleet.reduce.measures.len()], 0);
    for (number, (names, places)) in groups.into_iter().enumerate() {
        let own: Vec<&Run> = places.iter().map(|place| &runs[*place]).collect();
        let counts = book.counted(&own);
        let sum = book.added(&own)?;
        if let Some(folder) = wanted.parts {
            let mut file = Output::create(&folder.join(format!("{:04}.json", number + 1)))?;
            file.put(sum.part.json().as_bytes())?;
            reduced.parts.push(file.finish()?);
        }
        known.iter_mut().zip(&sum.known).for_each(|(known, own)| *known |= own);
        done += counts.done;
        reduced.groups.push(group(names, own[0].point, counts, &sum));
        values.push(sum.values);
    }
    let missing = fleet.reduce.measures.iter().zip(&known).find(|(_, known)| !**known && done > 0);
    if let Some((measure, _)) = missing {
        let message = format!("reduce.measures: no run has `{}`", clip(measure));
        return Err(Error::usage(message)
            .help("name a number of a summary by its path, such as latency_ns.read.p99 or write_amplification_bytes"));
    }
    book.compare(points, &mut reduced.groups, &values);
    Ok(reduced)
}

/// Numbers of variants, volumes and classes by point.
struct Book<'b> {
    fleet: &'b Fleet,
    survey: &'b Survey<'b>,
    store: &'b Store,
    wanted: Wanted<'b>,
    /// By point: its variant and its volume.
    of: Vec<(usize, usize)>,
}

impl<'b> Book<'b> {
    fn of(fleet: &'b Fleet, points: &Points, survey: &'b Survey<'b>, store: &'b Store, wanted: Wanted<'b>) -> Book<'b> {
        let volumes: BTreeMap<&str, usize> =
            fleet.volumes.iter().enumerate().map(|(at, volume)| (volume.name.as_str(), at)).collect();
        let mut variants: BTreeMap<String, usize> = BTreeMap::new();
        let mut place = |point: &Point| {
            let next = variants.len();
            let variant = *variants.entry(variant(point)).or_insert(next);
            let name = point.items[0].shown.text();
            (variant, volumes.get(name.as_str()).copied().unwrap_or(usize::MAX))
        };
        Book { fleet, survey, store, wanted, of: points.points.iter().map(&mut place).collect() }
    }

    fn names(&self, by: &[By], point: usize) -> Vec<Name> {
        let (variant, volume) = self.of[point];
        let name = |by: &By| match by {
            By::Variant => Name::Variant(variant),
            By::Class => Name::Class(self.fleet.volumes[volume].class.clone()),
            By::Volume => Name::Volume(volume),
        };
        by.iter().map(name).collect()
    }

    fn counted(&self, runs: &[&Run]) -> Counts {
        let mut counts = Counts::default();
        for run in runs {
            match self.survey.standing(run, self.store) {
                Standing::Done => counts.done += 1,
                Standing::Refused => counts.refused += 1,
                Standing::Failure(failure) if failure.for_good() => counts.failed += 1,
                Standing::Failure(_) | Standing::Left => counts.left += 1,
            }
        }
        counts
    }

    /// The results of some runs together. The cores add up parts of them: the order does not matter.
    fn added(&self, runs: &[&Run]) -> Result<Sum> {
        let chunks: Vec<&[&Run]> = runs.chunks(runs.len().div_ceil(parallel::cores()).max(1)).collect();
        let sums = parallel::map(&chunks, |chunk| self.some(chunk));
        let mut whole = empty(self.fleet);
        for sum in sums {
            let sum = sum?;
            whole.part = whole.part.merge(&sum.part)?;
            whole.volumes.extend(sum.volumes);
            whole.known.iter_mut().zip(sum.known).for_each(|(known, own)| *known |= own);
            whole.values.iter_mut().zip(sum.values).for_each(|(values, own)| values.extend(own));
        }
        Ok(whole)
    }

    fn some(&self, runs: &[&Run]) -> Result<Sum> {
        let Book { fleet, survey, store, wanted, of } = self;
        let mut sum = empty(fleet);
        let measures = &fleet.reduce.measures;
        let top = if wanted.slowest || wanted.parts.is_some() { fleet.reduce.top } else { 0 };
        for run in runs.iter().filter(|run| matches!(survey.standing(run, store), Standing::Done)) {
            let Some(read) = store.read::<Json>(&run.key)? else { continue };
            let summary = read.summary.unwrap_or_default();
            let volume = of[run.point].1;
            sum.volumes.insert(volume);
            for (at, path) in measures.iter().enumerate() {
                sum.known[at] |= path.split('.').try_fold(&summary, |value, part| value.get(part)).is_some();
                if let Some(value) = measure(&summary, path) {
                    sum.values[at].insert((volume, run.seed), value);
                }
            }
            let (key, volume) = (run.key.as_str(), fleet.volumes[volume].name.as_str());
            let part = if fleet.study.count_only {
                // Such runs have no latencies.
                let (histograms, slowest) = Default::default();
                Part::of(Member { key, volume, summary: &summary, histograms, slowest, measures })
            } else {
                let record = serde_json::json!({ "key": key, "summary": summary });
                Part::read(&store.folder(key), &record, volume, top, measures)?
            };
            sum.part = sum.part.merge(&part)?;
        }
        Ok(sum)
    }

    /// Compares each variant with the baseline, or else with the first variant, volume by volume over the seeds that both have.
    fn compare(&self, points: &Points, groups: &mut [Group], values: &[Vec<Values>]) {
        let fleet = self.fleet;
        let Some(by) = fleet.reduce.by.iter().position(|by| *by == By::Variant) else { return };
        let bases = points.baseline();
        let rest = |group: &Group| {
            let mut names = group.names.clone();
            names.remove(by);
            names
        };
        let at: BTreeMap<Vec<Name>, usize> =
            groups.iter().enumerate().map(|(at, group)| (group.names.clone(), at)).collect();
        for group in groups.iter_mut() {
            let base =
                if fleet.study.baseline.is_empty() { Some(0) } else { bases[group.point].map(|base| self.of[base].0) };
            let Some(base) = base.filter(|base| group.names[by] != Name::Variant(*base)) else { continue };
            let (own, mut names) = (at[&group.names], rest(group));
            names.insert(by, Name::Variant(base));
            let Some(other) = at.get(&names) else { continue };
            for (measure, name) in fleet.reduce.measures.iter().enumerate() {
                let (own, other) = (&values[own][measure], &values[*other][measure]);
                let both = |values: &Values, with: &Values| {
                    means(
                        &values
                            .iter()
                            .filter(|(key, _)| with.contains_key(key))
                            .map(|(key, value)| (*key, *value))
                            .collect(),
                    )
                };
                let (own, other) = (both(own, other), both(other, own));
                let wins = own.iter().zip(&other).filter(|((_, own), (_, other))| match more_is_better(name) {
                    true => own > other,
                    false => own < other,
                });
                group.better[measure] = Proportion::new(wins.count() as u64, own.len() as u64);
            }
        }
    }
}

/// What tells variants apart: their values on all axes but the volume.
fn variant(point: &Point) -> String {
    point.items[1..].iter().map(|item| item.same.to_string() + "\n").collect()
}

fn empty(fleet: &Fleet) -> Sum {
    let measures = fleet.reduce.measures.len();
    let values = vec![Values::new(); measures];
    Sum { part: Part::default(), volumes: BTreeSet::new(), values, known: vec![false; measures] }
}

/// A group without its comparison.
fn group(names: Vec<Name>, point: usize, counts: Counts, sum: &Sum) -> Group {
    let quantiles: Vec<Quantile> = QUANTILES.iter().map(|(_, quantile)| *quantile).collect();
    let over_volumes = |values: &Values| {
        let mut spread = Spread::default();
        means(values).into_iter().for_each(|(volume, mean)| {
            spread.merge(&Spread::of(&volume.to_string(), mean), crate::merge::spread::MOST);
        });
        spread.quantiles(&quantiles)
    };
    let part = &sum.part;
    Group {
        names,
        point,
        counts,
        volumes: sum.volumes.len() as u64,
        sums: part.sums.clone(),
        figures: [part.figures(0), part.figures(1)],
        write_amplification: part.write_amplification(),
        write_amplification_bytes: part.write_amplification_bytes(),
        utilisation: part.utilisation().into_iter().map(|(name, share)| (name.to_string(), share)).collect(),
        quantiles: sum.values.iter().map(over_volumes).collect(),
        better: vec![None; sum.values.len()],
        slowest: part.slowest.rows.clone(),
    }
}

/// The mean over seeds of each volume.
fn means(values: &Values) -> BTreeMap<usize, f64> {
    let mut by_volume: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    values.iter().for_each(|((volume, _), value)| by_volume.entry(*volume).or_default().push(*value));
    by_volume.into_iter().map(|(volume, values)| (volume, ssdlab_lab::variants::student::mean(&values))).collect()
}

/// Whether more of a measure is better: rates. Of everything else, less is.
fn more_is_better(measure: &str) -> bool {
    measure.ends_with("_per_s")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volumes_have_the_mean_of_their_seeds() {
        let values: Values = [((0, 1), 1.0), ((0, 2), 4.0), ((0, 3), 7.0), ((5, 1), 2.0)].into();
        assert_eq!(means(&values), [(0, 4.0), (5, 2.0)].into());
    }

    #[test]
    fn shares_have_wilson_intervals() {
        let share = Proportion::new(8, 10).unwrap();
        assert!((share.low - 0.490_162).abs() < 1e-5 && (share.high - 0.943_318).abs() < 1e-5, "{share:?}");
        let none = Proportion::new(0, 10).unwrap();
        assert!(none.low == 0.0 && (none.high - 0.277_533).abs() < 1e-5, "{none:?}");
        assert_eq!(Proportion::new(10, 10).unwrap().high, 1.0);
        assert_eq!(Proportion::new(0, 0), None);
    }
}
