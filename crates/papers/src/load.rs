//! `--load`: arrival times are multiplied by the factor under which a workload has the level that the paper prints.
//!
//! One printed number fixes the load of a workload, and the rest of the paper is then a prediction. The factor is sought by bisection,
//! or taken from those that are kept beside the papers (`papers/fits.toml`).

use ssdlab_lab::error::Result;
use ssdlab_lab::input::Requests;
use ssdlab_lab::variants::points::{Plan, Point, sweep};
use ssdlab_sim::report::Summary;
use ssdlab_trace::Scale;

use crate::Boards;
use crate::results::Figure;
use crate::row::Unit;

pub(crate) struct Load {
    /// The items that it is for; none: all that no other is for.
    pub(crate) ids: &'static [&'static str],
    /// What is printed, and where.
    pub(crate) source: &'static str,
    /// The item whose settings hold while the factor is sought.
    pub(crate) item: &'static str,
    /// The scheme that it is measured with, and the one whose figure divides its own.
    pub(crate) scheme: &'static str,
    pub(crate) over: Option<&'static str>,
    pub(crate) figure: Figure,
    /// Whether the level falls where requests arrive faster.
    pub(crate) falls: bool,
    /// In the order of the paper's workloads.
    pub(crate) printed: &'static [f64],
    pub(crate) unit: Unit,
}

impl Load {
    /// The level of runs of the scheme, and of the other if there is one. A run without a figure has none.
    fn level(&self, runs: &[&Summary]) -> Option<f64> {
        let own = (self.figure)(runs.first()?)?;
        match runs.get(1) {
            Some(other) => (self.figure)(other).filter(|other| *other > 0.0).map(|other| own / other),
            None => Some(own),
        }
    }
}

/// The factor that brings a workload's level to the paper's, or nearest to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Fit {
    /// Arrival times are multiplied by this, in billionths.
    pub(crate) factor: u64,
    pub(crate) level: f64,
    /// The factors between which it was found; none: the level was not reached on this side of the recorded rate.
    pub(crate) bracket: Option<[u64; 2]>,
}

/// What a billionth is a part of.
const WHOLE: u64 = 1_000_000_000;
/// A level this near to the paper's is reached.
const NEAR: f64 = 0.02;
/// The search ends earlier where it can, so that the printed digits of a factor matter little.
const CLOSE: f64 = 0.01;
/// Factors are powers of two between these: 1,024 and a millionth.
const SLOWEST: f64 = -10.0;
const FASTEST: f64 = 20.0;
/// Powers nearer than this are one factor.
const STEP: f64 = 0.02;
/// The search around the nearest level ends where its neighbours are this near.
const AROUND: f64 = 0.5;

impl Fit {
    pub(crate) fn scale(&self) -> Scale {
        Scale::new(self.factor, WHOLE).expect("neither is 0")
    }

    /// Whether the level is within 2 % of the printed one.
    pub(crate) fn is_reached(&self, printed: f64) -> bool {
        (self.level / printed - 1.0).abs() <= NEAR
    }

    /// The factor as `--time-scale` takes it, and the level with it.
    pub(crate) fn text(&self, load: &Load, printed: f64) -> String {
        let level = format!("{}, paper {}", load.unit.shown(self.level), load.unit.shown(printed));
        let found = match self.bracket {
            _ if self.is_reached(printed) => String::new(),
            Some([a, b]) => format!(", not reached between {} and {}", decimal(a), decimal(b)),
            None => ", not reached at any rate: this is the nearest".into(),
        };
        format!("{} ({level}{found})", decimal(self.factor))
    }
}

/// Billionths as a decimal fraction.
pub(crate) fn decimal(factor: u64) -> String {
    let text = format!("{}.{:09}", factor / WHOLE, factor % WHOLE);
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// The factor that makes arrivals `2^power` as dense, with three digits.
fn factor(power: f64) -> u64 {
    let exact = (WHOLE as f64 / power.exp2()).round() as u64;
    let unit = 10u64.pow(exact.max(1).ilog10().saturating_sub(2));
    (exact + unit / 2) / unit * unit
}

/// How far a search is.
#[derive(Clone, Copy, PartialEq)]
enum Phase {
    /// Away from the workload's own rate in doubling strides, until the level is on the other side.
    Walk,
    /// At the end without having met it: a level may rise and fall again, so around the nearest one.
    Around,
    /// Between two factors with the level between them.
    Halve,
}

/// A workload whose factor is sought.
struct Bisection {
    printed: f64,
    falls: bool,
    phase: Phase,
    /// The power that is tried next.
    next: Option<f64>,
    /// All that were tried.
    tried: Vec<f64>,
    /// Whether arrivals have to become denser from the workload's own rate on.
    way: Option<bool>,
    /// The powers between which the level lies, the first on the side of the own rate.
    between: Option<(f64, f64)>,
    stride: f64,
    best: Option<(f64, f64)>,
}

impl Bisection {
    fn new(printed: f64, falls: bool) -> Bisection {
        let (phase, next, stride, tried) = (Phase::Walk, Some(0.0), 2.0, Vec::new());
        Bisection { printed, falls, phase, next, tried, way: None, between: None, stride, best: None }
    }

    /// The level at the power that was tried; a run without a level has too few requests.
    fn learn(&mut self, level: Option<f64>) {
        let Some(power) = self.next else { return };
        let away = |level: f64| (level / self.printed - 1.0).abs();
        if let Some(level) = level
            && self.best.is_none_or(|(_, best)| away(level) < away(best))
        {
            self.best = Some((power, level));
        }
        // Where the level is too low, arrivals have to become denser, or slower where it falls with them.
        let denser = level.is_none_or(|level| (level < self.printed) != self.falls);
        let way = *self.way.get_or_insert(denser);
        self.tried.push(power);
        self.next = if level.is_some_and(|level| away(level) <= CLOSE) {
            None
        } else if self.phase == Phase::Halve {
            let (near, beyond) = self.between.unwrap_or((power, power));
            self.halve(if denser == way { (power, beyond) } else { (near, power) })
        } else if denser != way {
            let near = self.neighbour(power, !way);
            self.halve((near.unwrap_or(power), power))
        } else {
            self.step(power, way)
        };
    }

    /// The power next to another among those that were tried.
    fn neighbour(&self, power: f64, above: bool) -> Option<f64> {
        let side = self.tried.iter().copied().filter(|one| if above { *one > power } else { *one < power });
        side.min_by(|a, b| (a - power).abs().total_cmp(&(b - power).abs()))
    }

    fn halve(&mut self, (near, beyond): (f64, f64)) -> Option<f64> {
        (self.phase, self.between) = (Phase::Halve, Some((near, beyond)));
        ((near - beyond).abs() > STEP).then(|| f64::midpoint(near, beyond))
    }

    /// The next power where the level was not met yet.
    fn step(&mut self, power: f64, way: bool) -> Option<f64> {
        if self.phase == Phase::Walk {
            let stride = if way { self.stride } else { -self.stride };
            let next = (power + stride).clamp(SLOWEST, FASTEST);
            self.stride *= 2.0;
            if next != power {
                return Some(next);
            }
            self.phase = Phase::Around;
        }
        let (best, _) = self.best?;
        let sides = [false, true].map(|above| self.neighbour(best, above));
        let widest = sides.into_iter().flatten().max_by(|a, b| (a - best).abs().total_cmp(&(b - best).abs()))?;
        ((widest - best).abs() > AROUND).then(|| f64::midpoint(best, widest))
    }

    fn found(&self) -> Option<Fit> {
        let (power, level) = self.best?;
        let bracket = self.between.map(|(a, b)| {
            let (a, b) = (factor(a), factor(b));
            [a.min(b), a.max(b)]
        });
        Some(Fit { factor: factor(power), level, bracket })
    }
}

/// A workload, the level that is printed for it, and its runs with the arrivals of its model or recording.
pub(crate) struct Sought {
    pub(crate) workload: &'static str,
    pub(crate) printed: f64,
    pub(crate) runs: Vec<Point>,
}

/// Bisects the factor of each workload, all workloads at a time.
///
/// # Errors
/// A run fails.
pub(crate) fn calibrate(
    load: &Load,
    sought: &[Sought],
    how: &Plan,
    boards: &Boards,
) -> Result<Vec<(&'static str, Fit)>> {
    let mut searches: Vec<Bisection> = sought.iter().map(|one| Bisection::new(one.printed, load.falls)).collect();
    loop {
        let open: Vec<(usize, f64)> =
            searches.iter().enumerate().filter_map(|(i, search)| Some((i, search.next?))).collect();
        if open.is_empty() {
            break;
        }
        let scaled = |(i, power): &(usize, f64)| {
            let scale = Scale::new(factor(*power), WHOLE);
            sought[*i].runs.iter().map(move |run| {
                let requests = Requests { time_scale: scale, ..run.requests.clone() };
                Point { name: run.name.clone(), config: run.config.clone(), requests, seed: run.seed }
            })
        };
        let points: Vec<Point> = open.iter().flat_map(scaled).collect();
        let board = boards(points.len());
        let mut outcomes = sweep(&points, how, &*board)?.into_iter();
        for (i, _) in open {
            let runs: Vec<_> = outcomes.by_ref().take(sought[i].runs.len()).collect();
            let summaries: Vec<&Summary> = runs.iter().map(|outcome| &outcome.summary).collect();
            searches[i].learn(load.level(&summaries));
        }
    }
    let found = |(one, search): (&Sought, &Bisection)| Some((one.workload, search.found()?));
    Ok(sought.iter().zip(&searches).filter_map(found).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(printed: f64, falls: bool, level: impl Fn(f64) -> Option<f64>) -> (Fit, usize) {
        let (mut search, mut rounds) = (Bisection::new(printed, falls), 0);
        while let Some(power) = search.next {
            search.learn(level(power));
            rounds += 1;
        }
        (search.found().unwrap(), rounds)
    }

    /// A level that rises or falls with the rate is met within 2 %, wherever the factor lies.
    #[test]
    fn a_factor_is_found_wherever_the_level_lies() {
        for at in [-9.0, -3.3, 0.0, 0.4, 7.7, 19.0] {
            for falls in [false, true] {
                let way = if falls { -1.0 } else { 1.0 };
                let level = |power: f64| Some((way * power / 4.0).exp2());
                let (fit, rounds) = search(level(at).unwrap(), falls, level);
                assert!(fit.is_reached(level(at).unwrap()), "{at} {falls}: {fit:?}");
                assert!(rounds <= 16, "{rounds}");
                let scale: Scale = format!("{}/{WHOLE}", fit.factor).parse().unwrap();
                assert_eq!(fit.scale(), scale);
            }
        }
    }

    /// A level that is beyond what a workload has at any rate: the nearest, and no bracket.
    #[test]
    fn what_cannot_be_reached_is_said() {
        let (fit, _) = search(0.9, false, |power| Some((power / 4.0).exp2().min(0.5)));
        assert_eq!((fit.level, fit.bracket, fit.is_reached(0.9)), (0.5, None, false));
        // One that rises and falls again is met on its way up, though no stride meets it.
        let (fit, rounds) = search(0.9, false, |power| Some((-(power - 9.0) * (power - 9.0) / 8.0).exp2()));
        assert!(fit.is_reached(0.9) && fit.bracket.is_some() && rounds <= 20, "{fit:?} {rounds}");
        // A jump over the printed level has a bracket.
        let (fit, _) = search(0.9, false, |power| Some(if power < 3.0 { 0.1 } else { 2.0 }));
        assert!(!fit.is_reached(0.9) && fit.bracket.is_some(), "{fit:?}");
    }

    /// Without requests of a kind there is no figure, and denser arrivals do not make one.
    #[test]
    fn a_workload_without_the_figure_has_no_factor() {
        let mut search = Bisection::new(1.0, false);
        while search.next.is_some() {
            search.learn(None);
        }
        assert_eq!(search.found(), None);
    }

    #[test]
    fn factors_have_three_digits() {
        assert_eq!([factor(0.0), factor(1.0), factor(-3.0)].map(decimal), ["1", "0.5", "8"]);
        assert_eq!(decimal(factor(10.0)), "0.000977");
    }
}
