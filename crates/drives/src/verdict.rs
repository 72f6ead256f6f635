//! What the cells say of the policies: one of five verdicts, in a sentence.

use ssdlab_lab::text::plural;

use crate::candidates::Candidate;
use crate::cells::{Cell, Score, Trial};
use crate::pattern::Pattern;

/// Fewer scored cells say nothing.
const CELLS: usize = 4;
/// Mean and worst error of a policy that is identified.
const MEAN: f64 = 0.05;
const WORST: f64 = 0.10;
/// Mean error of one that a drive is near to.
const NEAR: f64 = 0.10;
/// The second best is this many times worse, or both are equivalent.
const APART: f64 = 2.0;
/// A policy whose fit of the uniform run is worse than this is not the drive's: the run itself refutes it.
const UNIFORM: f64 = 0.03;
/// Patterns whose rates differ by less are limited by something else than GC.
const PACED: f64 = 0.002;

ssdlab_trace::words! {
    /// The five verdicts.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Kind {
        /// The measurements can't tell.
        TooFewCells = "too few cells",
        /// One policy, and no other.
        Identified = "identified",
        /// Two policies that the measurements don't tell apart.
        Equivalent = "equivalent",
        /// It behaves most like a policy, and is refuted as that.
        Nearest = "nearest",
        /// No policy.
        NoneFits = "none fits",
    }
}

/// A verdict.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// Which one.
    pub kind: Kind,
    /// Index of the best trial.
    pub best: usize,
    /// Index of the best trial of another kind, if there is one.
    pub second: Option<usize>,
    /// The verdict in words.
    pub sentence: String,
}

/// `+3.1 %`.
pub fn signed(error: f64) -> String {
    format!("{:+.1} %", 100.0 * error)
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// Judges the trials of a drive. Trials are compared in their order, so that equal scores go to the first.
pub fn judge(trials: &[Trial], cells: &[Cell]) -> Verdict {
    let counts = |cell: &Cell| cell.is_scored();
    let scored: Vec<usize> = (0..cells.len()).filter(|i| counts(&cells[*i])).collect();
    let best = best_of(trials, cells, &counts, &|_| true).unwrap_or(0);
    let candidate = trials[best].fitted.model.candidate;
    let second = best_of(trials, cells, &counts, &|other| !other.is_like(&candidate));
    let told = scored.iter().any(|i| cells[*i].pattern.discriminates());
    let score = trials[best].score(cells, &counts);
    let (Some(score), true, true) = (score, scored.len() >= CELLS, told) else {
        // With so little to go by, the uniform run counts as much as the cells.
        let both = |trial: &Trial| trial.fitted.rms.hypot(trial.score(cells, &counts).map_or(0.0, |score| score.rms));
        let running = |i: &usize| !trials[*i].stopped;
        let best = (0..trials.len()).filter(running).min_by(|a, b| both(&trials[*a]).total_cmp(&both(&trials[*b])));
        let best = best.unwrap_or(0);
        return Verdict { kind: Kind::TooFewCells, best, second, sentence: too_few(scored.len(), told, &trials[best]) };
    };
    if second.is_none() {
        let sentence = format!("not judged: only {candidate} was tried; mean error {}", percent(score.mean));
        return Verdict { kind: Kind::TooFewCells, best, second, sentence };
    }
    let passes = score.mean <= MEAN && score.worst.is_none_or(|(worst, _)| worst <= WORST);
    let fits = trials[best].fitted.shape <= UNIFORM;
    let apart = second.is_none_or(|second| {
        trials[second].stopped
            || trials[second].score(cells, &counts).is_none_or(|other| other.rms >= APART * score.rms)
    });
    let stays = one_left_out(trials, cells, best);
    let facts = Facts { trials, cells, best, second, score, stays };
    let kind = match (passes && fits && stays.is_none() && !facts.is_paced(), apart) {
        (true, true) => Kind::Identified,
        (true, false) => Kind::Equivalent,
        _ if score.mean <= NEAR => Kind::Nearest,
        _ => Kind::NoneFits,
    };
    let sentence = match kind {
        Kind::Identified | Kind::Equivalent => facts.named(kind),
        _ => facts.refuted(kind),
    };
    Verdict { kind, best, second, sentence }
}

/// The trial with the lowest rms among those that `takes` takes. Stopped ones come last.
fn best_of(
    trials: &[Trial],
    cells: &[Cell],
    counts: &dyn Fn(&Cell) -> bool,
    takes: &dyn Fn(&Candidate) -> bool,
) -> Option<usize> {
    let rms = |trial: &Trial| match trial.score(cells, counts) {
        Some(score) => score.rms,
        None => trial.fitted.rms,
    };
    let all = trials.iter().enumerate().filter(|(_, trial)| takes(&trial.fitted.model.candidate));
    all.min_by(|(_, a), (_, b)| a.stopped.cmp(&b.stopped).then(rms(a).total_cmp(&rms(b)))).map(|(i, _)| i)
}

/// The name of the pattern without which the best policy would be refuted, or another one would be far better.
fn one_left_out(trials: &[Trial], cells: &[Cell], best: usize) -> Option<&'static str> {
    let mut names: Vec<&str> = cells.iter().filter(|cell| cell.is_scored()).map(|cell| cell.pattern.name()).collect();
    names.dedup();
    let like = trials[best].fitted.model.candidate;
    names.into_iter().find_map(|name| {
        let counts = |cell: &Cell| cell.is_scored() && cell.pattern.name() != name;
        let own = trials[best].score(cells, &counts)?;
        let other = best_of(trials, cells, &counts, &|other| !other.is_like(&like))?;
        let other = trials[other].score(cells, &counts)?;
        let refuted = own.mean > MEAN || own.worst.is_some_and(|(worst, _)| worst > WORST);
        let name = Pattern::NAMES.into_iter().find(|known| *known == name)?;
        // Below the error of the law nobody is better.
        (refuted || (own.rms > APART * other.rms && own.rms > crate::cells::LAW)).then_some(name)
    })
}

fn too_few(count: usize, told: bool, best: &Trial) -> String {
    let scored = plural(count as u64, "scored cell");
    let why = match (count < CELLS, told) {
        (true, true) => format!("{scored}, {CELLS} are needed"),
        (true, false) => format!(
            "{scored}, {CELLS} are needed, one of them zipf 0.8 or more, zone 90 or more, or read-only 40 to 80 %"
        ),
        _ => "none of the scored cells is zipf 0.8 or more, zone 90 or more, or read-only 40 to 80 %".to_string(),
    };
    format!("too few cells: {why}; of those tried, {} is nearest", best.fitted.model.candidate)
}

/// What a sentence is made of.
struct Facts<'f> {
    trials: &'f [Trial],
    cells: &'f [Cell],
    best: usize,
    second: Option<usize>,
    score: Score,
    stays: Option<&'static str>,
}

impl Facts<'_> {
    fn name(&self, trial: usize) -> String {
        self.trials[trial].fitted.model.candidate.to_string()
    }

    /// `13 cells, mean 0.8 %, worst 3.7 % (read-only 80%)`.
    fn errors(&self) -> String {
        let Score { cells, mean, worst, .. } = self.score;
        let worst = worst.map_or(String::new(), |(error, cell)| {
            format!(", worst {} ({})", percent(error), self.cells[cell].pattern)
        });
        format!("{}, mean {}{worst}", plural(cells as u64, "cell"), percent(mean))
    }

    /// The cell in which a trial is furthest from the measurement.
    fn refuting(&self, trial: usize) -> Option<(f64, usize)> {
        let errors = (0..self.cells.len()).filter(|i| self.cells[*i].is_scored());
        let errors = errors.filter_map(|i| Some((self.trials[trial].error(self.cells, i)?, i)));
        errors.max_by(|a, b| a.0.abs().total_cmp(&b.0.abs()))
    }

    fn named(&self, kind: Kind) -> String {
        let second = self.second.map_or(String::new(), |second| {
            let rms = self.trials[second].score(self.cells, &Cell::is_scored).map_or(0.0, |score| score.rms);
            let least = if self.trials[second].stopped { "at least " } else { "" };
            let most = self.refuting(second).map_or(String::new(), |(error, cell)| {
                format!(", furthest off in {} ({})", self.cells[cell].pattern, signed(error))
            });
            let (other, rms, own) = (self.name(second), percent(rms), percent(self.score.rms));
            if kind == Kind::Equivalent {
                format!("; not told apart from {other}: rms {least}{rms} against {own}{most}")
            } else {
                format!("; second {other}: rms {least}{rms} against {own}{most}")
            }
        });
        format!("{}: {}; {}{second}", kind.name(), self.name(self.best), self.errors())
    }

    fn refuted(&self, kind: Kind) -> String {
        let trial = &self.trials[self.best];
        let mut off: Vec<(f64, usize)> = (0..self.cells.len())
            .filter(|i| self.cells[*i].is_scored() && !self.cells[*i].pattern.is_extreme())
            .filter_map(|i| Some((trial.error(self.cells, i)?, i)))
            .filter(|(error, _)| error.abs() > MEAN)
            .collect();
        off.sort_by(|a, b| b.0.abs().total_cmp(&a.0.abs()));
        let mut reasons: Vec<String> = off
            .iter()
            .take(4)
            .map(|(error, cell)| format!("{} ({})", self.cells[*cell].pattern, signed(*error)))
            .collect();
        if trial.fitted.shape > UNIFORM {
            reasons.push(format!("the uniform run itself (rms {})", percent(trial.fitted.shape)));
        }
        if self.is_paced() {
            reasons.push("rates that are the same for different patterns".to_string());
        }
        if let Some(pattern) = self.stays {
            reasons.push(format!("the choice, which changes without the {pattern} cells"));
        }
        let reasons = if reasons.is_empty() { "the mean over all cells".to_string() } else { reasons.join(", ") };
        let would = self.mechanisms(&off);
        match kind {
            Kind::Nearest => format!(
                "nearest: behaves most like {}, not identified: refuted by {reasons}; {}{would}",
                self.name(self.best),
                self.errors()
            ),
            _ => {
                format!("none fits: best is {} ({}), refuted by {reasons}{would}", self.name(self.best), self.errors())
            }
        }
    }

    /// Known mechanisms that the model lacks and that would move the cells that refute it.
    fn mechanisms(&self, off: &[(f64, usize)]) -> String {
        let mut known: Vec<&str> = Vec::new();
        let mut add = |text: &'static str| {
            if !known.contains(&text) {
                known.push(text);
            }
        };
        if self.is_paced() {
            add("a limit on the rate of writes (rates of different patterns are the same)");
        }
        for (error, cell) in off {
            match self.cells[*cell].pattern {
                Pattern::Zipf { theta, .. } if theta < 0.5 => {
                    add("a drive that changed between its runs (this pattern is nearly uniform)");
                }
                Pattern::Zipf { .. } | Pattern::Zone { .. } if *error < 0.0 => {
                    add("separation of hot and cold pages, or a cache that absorbs hot writes");
                }
                Pattern::Zipf { .. } | Pattern::Zone { .. } => add("wear levelling that moves cold blocks"),
                _ if *error > 0.0 => add("wear levelling, or a choice of victims by age"),
                _ => add("cold pages that are kept apart"),
            }
        }
        if known.is_empty() { String::new() } else { format!("; would move them: {}", known.join("; ")) }
    }

    /// Whether patterns that cost GC differently have the same rate.
    fn is_paced(&self) -> bool {
        let uniform = self.cells.iter().find(|cell| cell.pattern == Pattern::Uniform);
        uniform.is_some_and(|uniform| {
            let same = |cell: &&Cell| cell.is_scored() && (cell.rate / uniform.rate - 1.0).abs() < PACED;
            let others = self.cells.iter().filter(|cell| cell.is_scored()).count();
            others > 1 && 2 * self.cells.iter().filter(same).count() > others
        })
    }
}
