//! Which policy of GC a drive has: each is fitted to uniform runs alone, and judged by its predictions of other patterns.

use ssdlab_lab::error::Result;
use ssdlab_lab::parallel::map;

use crate::candidates::{Candidate, Policy};
use crate::cells::{Cell, Trial};
use crate::fit::{Fitted, Given, Interval, Target};
use crate::input::Input;
use crate::model::{Geometry, Situation};
use crate::pattern::{Pattern, USUAL_CAPACITY};
use crate::verdict::{Verdict, judge};

/// How measurements are used.
#[derive(Clone, Debug)]
pub struct How {
    /// The policies that are tried.
    pub candidates: Vec<Candidate>,
    /// Bytes of the drive, if known.
    pub capacity: Option<u64>,
    /// Bytes of its superblock, if known; otherwise it is fitted to runs of one active zone.
    pub superblock: Option<u64>,
    /// Seeds of the best policies.
    pub seeds: u64,
    /// The plane of the model.
    pub geometry: Geometry,
    /// Keys with values, and keys that are fitted though they need not be.
    pub given: Given,
}

/// What identification found.
#[derive(Clone, Debug)]
pub struct Identified {
    /// The uniform runs.
    pub target: Target,
    /// All cells, the uniform one among them.
    pub cells: Vec<Cell>,
    /// The policies that were tried.
    pub trials: Vec<Trial>,
    /// The verdict.
    pub verdict: Verdict,
    /// Intervals of the best policy: spare space, and cost of a moved page.
    pub intervals: (Interval, Interval),
    /// The superblock in bytes, with its interval if it was fitted.
    pub superblock: Option<(u64, Option<Interval>)>,
    /// Bytes written to flash over host bytes x (1 + moved pages), if counted.
    pub overhead: Option<f64>,
}

/// A policy this far behind the best after the first cells is not tried on the others.
const BEHIND: f64 = 4.0;
const FIRST: usize = 3;
/// Policies that are tried with several seeds.
const FINALISTS: usize = 3;

/// Identifies the policy of a drive.
///
/// # Errors
/// There is no uniform run, or it has no cliff; or the model can't be built.
pub fn identify(input: &Input, how: &How) -> Result<Identified> {
    let target = Target::of(input, &how.given, how.geometry)?;
    let situation = Situation { capacity: how.capacity.unwrap_or(USUAL_CAPACITY), superblock: how.superblock, seed: 1 };
    let mut cells = Cell::all(input);
    let mut trials = tried(&target, &how.candidates, &cells, &situation)?;
    let mistaken = Cell::mistaken(&cells, &trials);
    mistaken.into_iter().for_each(|cell| cells[cell].mistaken = true);
    for _ in 0..2 {
        let Some(candidate) = refined(&trials, &cells) else { break };
        let fitted = target.fit(candidate, &situation)?;
        let mut trial = vec![Trial { fitted, predicted: vec![Vec::new(); cells.len()], stopped: false }];
        predict(&mut trial, &cells, &scored(&cells), &situation)?;
        trials.append(&mut trial);
    }
    let mut order: Vec<usize> = (0..trials.len()).collect();
    order.sort_by(|a, b| rank(&trials[*a], &cells).total_cmp(&rank(&trials[*b], &cells)));
    for seed in 2..=how.seeds {
        let mut best: Vec<Trial> = order.iter().take(FINALISTS).map(|i| trials[*i].clone()).collect();
        predict(&mut best, &cells, &scored(&cells), &Situation { seed, ..situation })?;
        order.iter().zip(best).for_each(|(i, trial)| trials[*i] = trial);
    }
    let verdict = judge(&trials, &cells);
    finish(input, how, target, cells, trials, verdict, situation)
}

/// Fits policies, and predicts the scored cells with them, the ones that tell most first. Policies far behind are stopped.
fn tried(target: &Target, candidates: &[Candidate], cells: &[Cell], situation: &Situation) -> Result<Vec<Trial>> {
    let fits = map(candidates, |candidate| target.fit(*candidate, situation));
    let fits: Vec<Fitted> = fits.into_iter().collect::<Result<_>>()?;
    let trial = |fitted: Fitted| Trial { fitted, predicted: vec![Vec::new(); cells.len()], stopped: false };
    let mut trials: Vec<Trial> = fits.into_iter().map(trial).collect();
    let scored = scored(cells);
    let (first, rest) = scored.split_at(FIRST.min(scored.len()));
    predict(&mut trials, cells, first, situation)?;
    if rest.is_empty() {
        return Ok(trials);
    }
    let best = trials.iter().map(|trial| rank(trial, cells)).fold(f64::INFINITY, f64::min).max(0.01);
    let (mut kept, stopped): (Vec<Trial>, Vec<Trial>) =
        trials.into_iter().partition(|trial| rank(trial, cells) <= BEHIND * best);
    predict(&mut kept, cells, rest, situation)?;
    kept.extend(stopped.into_iter().map(|trial| Trial { stopped: true, ..trial }));
    Ok(kept)
}

/// The scored cells, those that tell policies apart first.
fn scored(cells: &[Cell]) -> Vec<usize> {
    let mut scored: Vec<usize> = (0..cells.len()).filter(|i| cells[*i].is_scored()).collect();
    scored.sort_by_key(|i| (!cells[*i].pattern.discriminates(), cells[*i].pattern.is_extreme()));
    scored
}

fn rank(trial: &Trial, cells: &[Cell]) -> f64 {
    let rms = trial.score(cells, &Cell::is_scored).map_or(trial.fitted.rms, |score| score.rms);
    if trial.stopped { f64::INFINITY } else { rms }
}

/// Adds the predictions of one seed.
fn predict(trials: &mut [Trial], cells: &[Cell], which: &[usize], situation: &Situation) -> Result<()> {
    let jobs: Vec<(usize, usize)> =
        (0..trials.len()).flat_map(|trial| which.iter().map(move |cell| (trial, *cell))).collect();
    let rates = map(&jobs, |(trial, cell)| {
        let Fitted { model, cost, .. } = &trials[*trial].fitted;
        cells[*cell].predict(model, cost, situation)
    });
    for ((trial, cell), rate) in jobs.into_iter().zip(rates) {
        trials[trial].predicted[cell].extend(rate?);
    }
    Ok(())
}

/// A power of the age between those tried, if the best policy is one of cost-benefit: where a parabola through the scores of the
/// best and its neighbours is lowest. Greedy is the power 0.
fn refined(trials: &[Trial], cells: &[Cell]) -> Option<Candidate> {
    let best = trials.iter().min_by(|a, b| rank(a, cells).total_cmp(&rank(b, cells)))?;
    let candidate = best.fitted.model.candidate;
    let Policy::CostBenefit(_) = candidate.policy else { return None };
    let power = |candidate: &Candidate| match candidate.policy {
        Policy::CostBenefit(power) => Some(f64::from(power)),
        Policy::Greedy => Some(0.0),
        _ => None,
    };
    let own = |trial: &&Trial| trial.fitted.model.candidate.shared == candidate.shared && !trial.stopped;
    let mut line: Vec<(f64, f64)> = trials
        .iter()
        .filter(own)
        .filter_map(|trial| Some((power(&trial.fitted.model.candidate)?, rank(trial, cells))))
        .collect();
    line.sort_by(|a, b| a.0.total_cmp(&b.0));
    let middle = line.iter().enumerate().min_by(|a, b| a.1.1.total_cmp(&b.1.1)).map(|(i, _)| i)?;
    let [(a, fa), (b, fb), (c, fc)] = *line.get(middle.checked_sub(1)?..middle + 2)? else { return None };
    let (left, right) = ((b - a) * (fb - fc), (b - c) * (fb - fa));
    if (left - right).abs() < 1e-12 {
        return None;
    }
    let lowest = b - 0.5 * ((b - a) * left - (b - c) * right) / (left - right);
    let found = lowest.round().clamp(a + 1.0, c - 1.0);
    let found = Candidate { policy: Policy::CostBenefit(found as u8), ..candidate };
    let known = trials.iter().any(|trial| trial.fitted.model.candidate == found);
    (!known).then_some(found)
}

/// What is done for the best policy alone: other seeds, intervals, the superblock, and the cells that are not scored.
fn finish(
    input: &Input,
    how: &How,
    target: Target,
    cells: Vec<Cell>,
    mut trials: Vec<Trial>,
    verdict: Verdict,
    situation: Situation,
) -> Result<Identified> {
    let fitted = trials[verdict.best].fitted;
    let seeds: Vec<u64> = (2..=how.seeds).collect();
    let others = map(&seeds, |seed| target.fit(fitted.model.candidate, &Situation { seed: *seed, ..situation }));
    let others: Vec<Fitted> = others.into_iter().collect::<Result<_>>()?;
    let intervals = target.intervals(&fitted, &others, &situation)?;
    let superblock = match how.superblock {
        Some(bytes) => Some((bytes, None)),
        None => superblock(&fitted, &cells, &situation)?,
    };
    let situation = Situation { superblock: superblock.map(|(bytes, _)| bytes), ..situation };
    for seed in 1..=how.seeds {
        let lacks = |cell: &usize| (trials[verdict.best].predicted[*cell].len() as u64) < seed;
        let rest: Vec<usize> = (0..cells.len()).filter(lacks).collect();
        predict(&mut trials[verdict.best..=verdict.best], &cells, &rest, &Situation { seed, ..situation })?;
    }
    let overhead = overhead(input);
    Ok(Identified { target, cells, trials, verdict, intervals, superblock, overhead })
}

/// Bytes of the superblock from runs of one active zone: what GC moves depends on how zones lie in superblocks.
fn superblock(fitted: &Fitted, cells: &[Cell], situation: &Situation) -> Result<Option<(u64, Option<Interval>)>> {
    let zones: Vec<&Cell> =
        cells.iter().filter(|cell| matches!(cell.pattern, Pattern::Zones { active: 1, .. })).collect();
    if zones.len() < 3 {
        return Ok(None);
    }
    let sizes: Vec<u64> = (1..=16).map(|half| half << 29).collect();
    let scores = map(&sizes, |bytes| {
        let situation = Situation { superblock: Some(*bytes), ..*situation };
        let mut sum = 0.0;
        for cell in &zones {
            let rate = cell.predict(&fitted.model, &fitted.cost, &situation)?.unwrap_or(cell.rate);
            sum += (rate / cell.rate).ln().powi(2);
        }
        Ok((sum / zones.len() as f64).sqrt())
    });
    let scores: Vec<f64> = scores.into_iter().collect::<Result<_>>()?;
    let best = (0..sizes.len()).min_by(|a, b| scores[*a].total_cmp(&scores[*b])).unwrap_or(0);
    // Sizes next to the best one are not told apart in steps of half a GiB.
    let near = |i: usize| sizes[i.min(sizes.len() - 1)] as f64;
    let interval = Interval { low: near(best.saturating_sub(1)), high: near(best + 1) };
    let last = scores.iter().copied().fold(0.0, f64::max);
    // Zones of which no size moves anything say nothing.
    Ok((last > 1.5 * scores[best]).then_some((sizes[best], Some(interval))))
}

/// Mean of written / (1 + moved) where both were counted.
fn overhead(input: &Input) -> Option<f64> {
    let steady = input.steady.iter().filter_map(|run| Some(run.written? / (1.0 + run.moved?)));
    let points = input.curves.iter().flat_map(|(_, curve)| &curve.points);
    let points = points.filter_map(|point| Some(point.written? / (1.0 + point.read?)));
    let all: Vec<f64> = steady.chain(points).collect();
    (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
}
