//! What a store has of a study.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::Value as Json;

use crate::cost::{Cost, Rates};
use crate::job::this_machine;
use crate::key::Mode;
use crate::points::{Points, Run};
use crate::store::{Failure, Has, Store};
use crate::study::{Repeat, Until};
use ssdlab_lab::error::Result;
use ssdlab_lab::parallel::cores;
use ssdlab_lab::variants::student::{half_width, mean};

/// Where a run stands.
#[derive(Clone, Debug)]
pub enum Standing {
    /// It has a result.
    Done,
    /// A rule refuses it.
    Refused,
    /// It failed.
    Failure(Failure),
    /// It is still to be made.
    Left,
}

impl Standing {
    /// In a word.
    pub fn name(&self) -> &'static str {
        match self {
            Standing::Done => "done",
            Standing::Refused => "refused",
            Standing::Failure(failure) => failure.status.name(),
            Standing::Left => "left",
        }
    }
}

/// Counts of a study, or of a part of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Tally {
    /// Points.
    pub points: u64,
    /// Runs; under `until`, as many as are known to be needed.
    pub runs: u64,
    /// Runs with a result.
    pub done: u64,
    /// Runs that a rule refuses and the store knows.
    pub refused: u64,
    /// Runs that failed for good.
    pub failed: u64,
    /// Runs still to be made.
    pub left: u64,
    /// CPU seconds of the runs that are done, as far as they are known.
    pub cpu_s_done: f64,
    /// Expected CPU seconds of those that are left.
    pub cpu_s_left: f64,
    /// Expected seconds on all cores of this machine.
    pub eta_s: f64,
}

/// A study in a store.
pub struct Survey<'p> {
    points: &'p Points,
    has: HashMap<String, Has>,
    /// Seeds of each point that are known to be needed.
    seeds: Vec<Vec<u64>>,
}

/// A number of a summary, by its place or by the name that comparisons have for it.
pub fn measure(summary: &Json, name: &str) -> Option<f64> {
    ssdlab_lab::readers::summaries::measure(name, summary)
}

/// Whether some values are known well enough; they are also if the measure has no value.
pub fn enough(values: &[Option<f64>], until: &Until) -> bool {
    let Some(values) = values.iter().copied().collect::<Option<Vec<f64>>>() else { return true };
    values.len() as u64 >= until.most
        || half_width(&values).is_some_and(|half| half <= until.half_width * mean(&values).abs())
}

/// The seeds of a batch that follows some seeds.
pub fn batch(seeds: u64, until: &Until) -> std::ops::RangeInclusive<u64> {
    seeds + 1..=(seeds + 3).min(until.most)
}

/// Seeds of a point under `until` that are known to be needed, from the records of earlier ones.
///
/// # Errors
/// A record can't be read.
pub fn needed(points: &Points, place: usize, until: &Until, store: Option<&Store>) -> Result<Vec<u64>> {
    let mut values: Vec<Option<f64>> = Vec::new();
    if points.points[place].refused.is_some() {
        return Ok(vec![1]);
    }
    loop {
        let next: Vec<u64> = batch(values.len() as u64, until).collect();
        for seed in &next {
            let run = points.run(place, *seed);
            match store.map_or(Ok(None), |store| store.read::<Json>(&run.key))? {
                Some(read) => values.push(read.summary.as_ref().and_then(|summary| measure(summary, &until.measure))),
                None => return Ok((1..=*next.last().unwrap_or(seed)).collect()),
            }
        }
        if enough(&values, until) {
            return Ok((1..=values.len() as u64).collect());
        }
    }
}

impl<'p> Survey<'p> {
    /// Looks at the names of a store's files; without a store, nothing is done.
    ///
    /// # Errors
    /// The store can't be read.
    pub fn of(points: &'p Points, store: Option<&Store>) -> Result<Survey<'p>> {
        let has = store.map_or_else(|| Ok(HashMap::new()), Store::list)?;
        let seeds = match &points.study.repeat {
            Repeat::Seeds(seeds) => vec![seeds.clone(); points.points.len()],
            Repeat::Until(until) => {
                (0..points.points.len()).map(|place| needed(points, place, until, store)).collect::<Result<Vec<_>>>()?
            }
        };
        Ok(Survey { points, has, seeds })
    }

    /// The runs that are known to be needed, in order.
    pub fn runs(&self) -> Vec<Run> {
        let seeds = self.seeds.iter().enumerate();
        seeds.flat_map(|(place, seeds)| seeds.iter().map(move |seed| self.points.run(place, *seed))).collect()
    }

    /// What the store has of a key.
    pub fn has(&self, key: &str) -> Has {
        self.has.get(key).copied().unwrap_or_default()
    }

    /// Where a run stands.
    pub fn standing(&self, run: &Run, store: &Store) -> Standing {
        let has = self.has(&run.key);
        match has.record {
            true if self.points.points[run.point].refused.is_some() => Standing::Refused,
            true => Standing::Done,
            false if has.failure => store.failure(&run.key).map_or(Standing::Left, Standing::Failure),
            false => Standing::Left,
        }
    }

    /// Rates of this machine from at most so many measured runs of the study.
    pub fn rates(&self, runs: &[Run], store: Option<&Store>, most: usize) -> Rates {
        let Some(store) = store else { return Rates::default() };
        let costs: Vec<(Cost, Mode)> = runs
            .iter()
            .filter(|run| self.has(&run.key).cost)
            .take(most)
            .filter_map(|run| Some((store.cost(&run.key)?, self.points.points[run.point].mode)))
            .collect();
        Rates::of(costs.iter().map(|(cost, mode)| (cost, *mode)), this_machine())
    }

    /// Counts of some runs.
    pub fn status(&self, runs: &[Run], store: Option<&Store>) -> Tally {
        let mut status = Tally { points: self.points.points.len() as u64, runs: runs.len() as u64, ..Tally::default() };
        let rates = self.rates(runs, store, 1000);
        let mut fillings = std::collections::HashSet::new();
        for run in runs {
            let standing = store.map_or(Standing::Left, |store| self.standing(run, store));
            match standing {
                Standing::Done => {
                    status.done += 1;
                    let cost = store.filter(|_| self.has(&run.key).cost).and_then(|store| store.cost(&run.key));
                    status.cpu_s_done += cost.map_or(0.0, |cost| cost.cpu_s);
                }
                Standing::Refused => status.refused += 1,
                Standing::Failure(failure) if failure.for_good() => status.failed += 1,
                Standing::Failure(_) | Standing::Left => {
                    status.left += 1;
                    let point = &self.points.points[run.point];
                    let (all, fill) = rates.expect(&point.work);
                    // A filling is shared by the runs that need it.
                    let first = point.filling.is_none_or(|filling| fillings.insert((filling, run.seed)));
                    status.cpu_s_left += if first { all } else { all - fill };
                }
            }
        }
        status.eta_s = status.cpu_s_left / cores() as f64;
        status
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10, 11 and 12 have the mean 11 and the standard deviation 1. With two degrees of freedom t is 4.3027, so half the width of the
    /// interval is 4.3027 / sqrt(3) = 2.4842, or 0.22584 of the mean.
    #[test]
    fn seeds_end_where_half_the_width_is_reached() {
        let until = |half_width: f64| Until { measure: "x".into(), half_width, most: 9 };
        let known = |values: &[f64], half_width: f64| {
            enough(&values.iter().copied().map(Some).collect::<Vec<_>>(), &until(half_width))
        };
        assert!(known(&[10.0, 11.0, 12.0], 0.2259) && !known(&[10.0, 11.0, 12.0], 0.2258));
        // Twice the width would do from 0.113 on.
        assert!(!known(&[10.0, 11.0, 12.0], 0.2) && !known(&[10.0, 11.0, 12.0], 0.114));
        // Six values: mean 11, deviation sqrt(0.8), t 2.5706: 0.9387, or 0.08533 of the mean.
        let six = [10.0, 11.0, 12.0, 10.0, 11.0, 12.0];
        assert!(known(&six, 0.0854) && !known(&six, 0.0853));
        assert_eq!((batch(0, &until(0.1)), batch(3, &until(0.1)), batch(9, &until(0.1)).count()), (1..=3, 4..=6, 0));
        // At most nine; a measure without a value ends them; one value says nothing.
        assert!(known(&[1.0, 100.0, 1.0, 100.0, 1.0, 100.0, 1.0, 100.0, 1.0], 0.01) && !known(&[1.0], 0.5));
        assert!(enough(&[Some(1.0), None], &until(0.01)));
    }
}
