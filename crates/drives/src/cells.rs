//! What is predicted: a steady rate of a pattern, and its prediction.

use serde::Deserialize;
use ssdlab_lab::error::Result;

use crate::cost::{Cost, STEADY};
use crate::fit::Fitted;
use crate::input::Input;
use crate::model::{Model, Situation};
use crate::pattern::Pattern;

/// Drive writes of a run that says nothing of them.
pub const USUAL_WRITES: f64 = 5.0;

/// A run that still changes by more percent between the halves of its window has not settled.
pub const DRIFT_PCT: f64 = 5.0;

/// Standard error of the linear law.
pub const LAW: f64 = 0.03;

ssdlab_trace::words! {
    /// How a cell was used.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Use {
        /// Its run decided the numbers.
        Fit = "fit",
        /// It decided the policy.
        Identify = "identify",
        /// It decided nothing.
        HeldOut = "held-out",
    }
}

/// A pattern that was measured, its runs averaged.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// What was written.
    pub pattern: Pattern,
    /// MB/s.
    pub rate: f64,
    /// Standard error of the rate, relative.
    pub error: f64,
    /// The largest drift of its runs in percent, of either sign.
    pub drift_pct: f64,
    /// Host writes of its runs in drive writes.
    pub drive_writes: f64,
    /// It is not scored: its run was probably another pattern than its name says.
    pub mistaken: bool,
}

/// A rate this near to the uniform one is that of a uniform run.
const SAME: f64 = 0.003;

/// What every policy must predict of such a cell at least: this much difference from a uniform run.
const OTHER: f64 = 0.05;

impl Cell {
    /// The cells of measurements, in a fixed order. Runs that drift count only where no other run of the cell has settled.
    pub fn all(input: &Input) -> Vec<Cell> {
        let runs = input.steady_and_curves();
        let mut patterns: Vec<Pattern> = Vec::new();
        for run in &runs {
            if !patterns.contains(&run.pattern) && run.pattern != Pattern::Sequential {
                patterns.push(run.pattern);
            }
        }
        let order = |pattern: &Pattern| Pattern::NAMES.iter().position(|name| *name == pattern.name());
        patterns.sort_by(|a, b| order(a).cmp(&order(b)).then(rank(a).total_cmp(&rank(b))));
        let cell = |pattern: Pattern| {
            let own: Vec<_> = runs.iter().filter(|run| run.pattern == pattern).collect();
            let drift = |run: &&&crate::input::Steady| run.drift_pct.unwrap_or(0.0).abs();
            let settled: Vec<_> = own.iter().filter(|run| drift(run) <= DRIFT_PCT).copied().collect();
            let used = if settled.is_empty() { own } else { settled };
            let mean = |of: &dyn Fn(&crate::input::Steady) -> f64| {
                used.iter().map(|run| of(run)).sum::<f64>() / used.len() as f64
            };
            Cell {
                pattern,
                rate: mean(&|run| run.rate),
                error: mean(&|run| run.error_pct.unwrap_or(0.0)) / 100.0,
                drift_pct: used.iter().map(|run| drift(&run)).fold(0.0, f64::max),
                drive_writes: mean(&|run| run.drive_writes.unwrap_or(USUAL_WRITES)),
                mistaken: false,
            }
        };
        patterns.into_iter().map(cell).collect()
    }

    /// Whether it counts in the choice of a policy.
    pub fn is_scored(&self) -> bool {
        self.pattern.is_scored() && self.drift_pct <= DRIFT_PCT && !self.mistaken
    }

    /// The cell that has the rate of the uniform run though no policy of those tried could give it that. Of several such cells none:
    /// then something else than GC sets the rate of the drive, and they say so.
    pub fn mistaken(cells: &[Cell], trials: &[Trial]) -> Option<usize> {
        let uniform = cells.iter().find(|cell| cell.pattern == Pattern::Uniform)?.rate;
        let near = |rate: f64, within: f64| (rate / uniform - 1.0).abs() < within;
        let differs = |i: &usize| {
            let mut rates = trials.iter().filter_map(|trial| trial.prediction(*i)).peekable();
            rates.peek().is_some() && rates.all(|rate| !near(rate, OTHER))
        };
        let mut same = (0..cells.len()).filter(|i| cells[*i].is_scored() && near(cells[*i].rate, SAME)).filter(differs);
        let first = same.next()?;
        same.next().is_none().then_some(first)
    }

    /// The rate that a fitted drive has in this cell; none where the model says nothing.
    ///
    /// # Errors
    /// The model can't be built, or the pattern does not fit it.
    pub fn predict(&self, model: &Model, cost: &Cost, situation: &Situation) -> Result<Option<f64>> {
        let moves = model.moves(&self.pattern, self.drive_writes, situation)?;
        // Zones are written in large requests, which the limit of small ones does not touch.
        let least = if matches!(self.pattern, Pattern::Zones { .. }) { 0.0 } else { cost.least };
        Ok(moves.map(|moves| moves.rate_in(&Cost { least, ..*cost }, STEADY)))
    }
}

/// Order of patterns of one name.
fn rank(pattern: &Pattern) -> f64 {
    match pattern {
        Pattern::Uniform | Pattern::Sequential => 0.0,
        Pattern::Zone { traffic, .. } => f64::from(*traffic),
        Pattern::ReadOnly(share) => f64::from(*share),
        Pattern::Zipf { theta, .. } | Pattern::FioZipf(theta) => *theta,
        Pattern::Span(bytes) => *bytes as f64,
        Pattern::Zones { active, zone } => f64::from(*active) * 1e15 + *zone as f64,
    }
}

/// A policy with what it predicts.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Its fit.
    pub fitted: Fitted,
    /// By cell: MB/s of each seed; empty where it was not tried, or the model says nothing.
    pub predicted: Vec<Vec<f64>>,
    /// It was not tried on all cells, because it was far behind.
    pub stopped: bool,
}

/// How far predictions are from measurements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// Cells.
    pub cells: usize,
    /// Root of the mean square of ln(predicted / measured), each cell by its certainty.
    pub rms: f64,
    /// Mean of the absolute errors.
    pub mean: f64,
    /// The largest absolute error that counts, and its cell.
    pub worst: Option<(f64, usize)>,
}

impl Trial {
    /// The prediction of a cell: the geometric mean over the seeds.
    pub fn prediction(&self, cell: usize) -> Option<f64> {
        let rates = self.predicted.get(cell).filter(|rates| !rates.is_empty())?;
        Some((rates.iter().map(|rate| rate.ln()).sum::<f64>() / rates.len() as f64).exp())
    }

    /// Standard deviation of ln(prediction) over the seeds; 0 with one seed.
    pub fn spread(&self, cell: usize) -> f64 {
        let (Some(mean), rates) = (self.prediction(cell), &self.predicted[cell]) else { return 0.0 };
        if rates.len() < 2 {
            return 0.0;
        }
        let squares: f64 = rates.iter().map(|rate| (rate / mean).ln().powi(2)).sum();
        (squares / (rates.len() - 1) as f64).sqrt()
    }

    /// Signed relative error of a cell.
    pub fn error(&self, cells: &[Cell], cell: usize) -> Option<f64> {
        self.prediction(cell).map(|rate| rate / cells[cell].rate - 1.0)
    }

    /// The score over the cells that `counts` takes; none without any.
    pub fn score(&self, cells: &[Cell], counts: &dyn Fn(&Cell) -> bool) -> Option<Score> {
        let (mut squares, mut weights, mut sum, mut count) = (0.0, 0.0, 0.0, 0);
        let mut worst: Option<(f64, usize)> = None;
        for (i, cell) in cells.iter().enumerate() {
            let Some(error) = self.error(cells, i).filter(|_| counts(cell)) else { continue };
            let variance = cell.error.powi(2) + LAW.powi(2) + self.spread(i).powi(2);
            let weight = LAW.powi(2) / variance;
            squares += weight * (1.0 + error).ln().powi(2);
            weights += weight;
            sum += error.abs();
            count += 1;
            if !cell.pattern.is_extreme() && worst.is_none_or(|(most, _)| error.abs() > most) {
                worst = Some((error.abs(), i));
            }
        }
        (count > 0).then(|| Score { cells: count, rms: (squares / weights).sqrt(), mean: sum / count as f64, worst })
    }
}
