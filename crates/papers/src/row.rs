//! A row of the comparison, and the rules that judge it.

use crate::source::Source;

use std::collections::BTreeSet;

use ssdlab_lab::variants::student::{half_width, mean, ratio};

/// What a row compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An input of the paper: printed from the preset.
    Parameter,
    /// Found by a small run: has to match to the printed digits.
    Exact,
    /// Arithmetic of the paper, done again here: nothing is simulated.
    Formula,
    /// A figure that the workload was fitted to.
    Input,
    /// With `--load`: a figure that arrival times were fitted to. It is printed and never judged.
    Fitted,
    /// Holds whatever is measured, because of how the scheme is defined.
    Construction,
    /// Measured by the authors: sign, order and magnitude are compared.
    Measured,
}

ssdlab_trace::words! {
    /// How ours compares, the best first.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Verdict {
        /// Equal to the printed digits.
        Same = "same",
        /// The same sign, and half to twice the size; a claim that holds.
        Agrees = "agrees",
        /// The same sign, more than twice the size.
        Stronger = "stronger",
        /// The same sign, less than half the size.
        Weaker = "weaker",
        /// No difference at all, where the paper has one.
        NoEffect = "no effect",
        /// The other sign.
        Opposite = "opposite",
        /// A claim without a number that does not hold.
        NotMet = "not met",
        /// The interval over seeds includes zero, or includes the paper's figure though the mean does not agree.
        NotShown = "no difference shown",
        /// Not equal; the note says why.
        Differs = "differs",
        /// The paper contradicts itself: nothing could have this figure.
        NotAttainable = "not attainable",
        /// A run was not in a steady state, so nothing is judged.
        NotSteady = "not steady",
        /// What the paper did can't be done the same way; the note says why.
        Not = "not comparable",
        /// Arrival times were fitted to it.
        Fitted = "fitted",
        /// The paper states no number.
        Stated = "no number stated",
    }
}

/// An effect of the paper below this says that nothing changes. Ours agrees below `NO_CHANGE`, however large other effects are.
const UNCHANGED: f64 = 0.005;
pub(crate) const NO_CHANGE: f64 = 0.01;
/// Effects of ours below this are none.
const NO_EFFECT: f64 = 0.002;
/// An effect agrees from this share of the paper's on, and up to this.
const AGREES_FROM: f64 = 0.5;
const AGREES_TO: f64 = 2.0;
/// The least rank correlation of six values that chance exceeds one time in twenty.
const RANKED: f64 = 0.829;

/// A figure that is judged.
#[derive(Clone, Copy, Debug)]
enum Number {
    /// A factor over a baseline; its effect is the factor less 1.
    Factor { paper: f64, ours: f64, median: Option<f64> },
    /// A figure whose size is compared, with its text in the paper's unit.
    Level { paper: f64, ours: f64, text: fn(f64) -> String },
    /// The rank correlation of an order with the paper's.
    Rank(f64),
    /// Whether a claim holds.
    Holds(bool),
}

impl Number {
    fn ours(self) -> f64 {
        match self {
            Number::Factor { ours, .. } | Number::Level { ours, .. } | Number::Rank(ours) => ours,
            Number::Holds(holds) => f64::from(u8::from(holds)),
        }
    }

    fn median(self) -> Option<f64> {
        match self {
            Number::Factor { median, .. } => median,
            _ => None,
        }
    }
}

/// The rule for factors over a baseline: their effects, the factors less 1, are compared.
fn judge(paper: f64, ours: f64) -> Verdict {
    let (theirs, own) = (paper - 1.0, ours - 1.0);
    match () {
        () if theirs.abs() < UNCHANGED && own.abs() < NO_CHANGE => Verdict::Agrees,
        () if theirs.abs() < UNCHANGED => Verdict::Differs,
        () if own.abs() < NO_EFFECT => Verdict::NoEffect,
        () if own * theirs < 0.0 => Verdict::Opposite,
        () if own.abs() < AGREES_FROM * theirs.abs() => Verdict::Weaker,
        () if own.abs() > AGREES_TO * theirs.abs() => Verdict::Stronger,
        () => Verdict::Agrees,
    }
}

/// The rule for figures whose size is compared.
fn judge_level(paper: f64, ours: f64) -> Verdict {
    match ours / paper {
        ratio if ratio < AGREES_FROM => Verdict::Weaker,
        ratio if ratio > AGREES_TO => Verdict::Stronger,
        _ => Verdict::Agrees,
    }
}

fn judge_rank(correlation: f64) -> Verdict {
    match correlation {
        c if c >= RANKED => Verdict::Agrees,
        c if c <= -RANKED => Verdict::Opposite,
        _ => Verdict::NotMet,
    }
}

/// The interval of 95 % of a mean over seeds. A factor is a ratio, so its logarithms are tested, as everywhere; where one is 0 or less,
/// and for other figures, the values themselves.
fn interval(number: Number, values: &[f64]) -> (f64, f64) {
    let ratio = match number {
        Number::Factor { .. } => ratio(values, &vec![1.0; values.len()]).and_then(|ratio| ratio.interval),
        _ => None,
    };
    let (mean, half) = (mean(values), half_width(values).unwrap_or_default());
    ratio.unwrap_or((mean - half, mean + half))
}

/// Rank correlation (Spearman's) of two lists, from 1 (the same order) to -1 (reversed). Equal values share their ranks.
pub(crate) fn rank_correlation(a: &[f64], b: &[f64]) -> f64 {
    let ranks = |values: &[f64]| -> Vec<f64> {
        let above = |value: &f64| values.iter().filter(|other| *other > value).count() as f64;
        let equal = |value: &f64| values.iter().filter(|other| *other == value).count() as f64;
        values.iter().map(|value| above(value) + (equal(value) - 1.0) / 2.0).collect()
    };
    let n = a.len() as f64;
    let squares: f64 = ranks(a).iter().zip(ranks(b)).map(|(a, b)| (a - b) * (a - b)).sum();
    1.0 - 6.0 * squares / (n * (n * n - 1.0))
}

fn factor_text(factor: f64) -> String {
    format!("{factor:.3}x ({:+.1} %)", (factor - 1.0) * 100.0)
}

/// The unit in which a paper prints a level.
pub(crate) struct Unit {
    /// Our figure times this is in the unit of the paper's number.
    pub(crate) scale: f64,
    pub(crate) text: fn(f64) -> String,
}

impl Unit {
    /// The unit that the data calls so.
    pub(crate) fn named(name: &str) -> Unit {
        let (scale, text): (f64, fn(f64) -> String) = match name {
            "percent" => (100.0, |share| format!("{share:.1} %")),
            "tenths" => (1.0, |count| format!("{count:.1}")),
            "milliseconds" => (1.0, |ns| format!("{:.3} ms", ns / 1e6)),
            "times" => (1.0, |ratio| format!("{ratio:.2}x")),
            "megabytes" => (1.0, |rate| format!("{rate:.1} MB/s")),
            _ => panic!("no unit is called {name}"),
        };
        Unit { scale, text }
    }

    /// A figure of ours.
    pub(crate) fn shown(&self, figure: f64) -> String {
        (self.text)(figure * self.scale)
    }
}

/// What is known of the runs that a row looked at.
#[derive(Clone, Debug, Default)]
pub(crate) struct Steadiness {
    pub(crate) runs: usize,
    /// Of which the write amplification is not steady.
    pub(crate) unsteady: usize,
    /// Workloads of all these runs, and of those that are not steady.
    pub(crate) workloads: BTreeSet<&'static str>,
    pub(crate) aside: BTreeSet<&'static str>,
}

impl Steadiness {
    /// Of a row with several seeds.
    pub(crate) fn of_seeds(rows: &[Row]) -> Steadiness {
        rows.iter().map(|row| &row.steadiness).fold(Steadiness::default(), |all, one| Steadiness {
            runs: all.runs + one.runs,
            unsteady: all.unsteady + one.unsteady,
            workloads: &all.workloads | &one.workloads,
            aside: &all.aside | &one.aside,
        })
    }

    /// Whether at least half of the workloads remain without those whose runs are not steady.
    pub(crate) fn can_set_aside(&self) -> bool {
        !self.aside.is_empty() && 2 * self.aside.len() <= self.workloads.len()
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) kind: Kind,
    pub(crate) what: String,
    pub(crate) paper: String,
    pub(crate) ours: String,
    /// Our effect over the paper's, for measured rows.
    pub(crate) ratio: Option<f64>,
    pub(crate) verdict: Verdict,
    pub(crate) note: String,
    /// Where the paper says it, and in which words.
    pub(crate) source: Source,
    /// What the verdict would be if the runs had been steady.
    pub(crate) unjudged: Option<Verdict>,
    steadiness: Steadiness,
    number: Option<Number>,
}

impl Row {
    /// A number that has to match to the printed digits.
    pub(crate) fn exact(what: impl Into<String>, paper: impl Into<String>, ours: impl Into<String>) -> Row {
        let (what, paper, ours) = (what.into(), paper.into(), ours.into());
        let verdict = if paper == ours { Verdict::Same } else { Verdict::Differs };
        let (note, source, unjudged, steadiness, number) = Default::default();
        Row { kind: Kind::Exact, what, paper, ours, ratio: None, verdict, note, source, unjudged, steadiness, number }
    }

    /// A number of the paper's own arithmetic.
    pub(crate) fn formula(what: impl Into<String>, paper: impl Into<String>, ours: impl Into<String>) -> Row {
        Row { kind: Kind::Formula, ..Row::exact(what, paper, ours) }
    }

    /// An input, as the preset has it.
    pub(crate) fn parameter(what: impl Into<String>, paper: impl Into<String>, ours: impl Into<String>) -> Row {
        Row { kind: Kind::Parameter, ..Row::exact(what, paper, ours) }
    }

    /// A factor over a baseline (0.595: 40.5 % less).
    pub(crate) fn factor(what: impl Into<String>, paper: f64, ours: Option<f64>) -> Row {
        let Some(ours) = ours else { return Row::missing(what, factor_text(paper)) };
        Row::judged(what, factor_text(paper), factor_text(ours), Number::Factor { paper, ours, median: None })
    }

    /// The median over the workloads, beside a factor that is a mean over them.
    pub(crate) fn median(self, of_workloads: f64) -> Row {
        let Some(Number::Factor { paper, ours, .. }) = self.number else { return self };
        let text = format!("{}, median {of_workloads:.3}x", self.ours);
        Row { ours: text, number: Some(Number::Factor { paper, ours, median: Some(of_workloads) }), ..self }
    }

    /// A figure whose size is compared, with its text in the paper's unit.
    pub(crate) fn level(what: impl Into<String>, paper: f64, ours: Option<f64>, text: fn(f64) -> String) -> Row {
        let Some(ours) = ours else { return Row::missing(what, text(paper)) };
        Row::judged(what, text(paper), text(ours), Number::Level { paper, ours, text })
    }

    /// An order: ours, and its rank correlation with the paper's.
    pub(crate) fn rank(what: impl Into<String>, paper: impl Into<String>, ours: Option<(String, f64)>) -> Row {
        match ours {
            None => Row::missing(what, paper),
            Some((ours, rank)) => {
                Row::judged(what, paper, format!("{ours} (rank correlation {rank:.2})"), Number::Rank(rank))
            }
        }
    }

    /// A statement of the paper without a number, and whether it holds of ours.
    pub(crate) fn claim(what: impl Into<String>, paper: impl Into<String>, ours: Option<(String, bool)>) -> Row {
        match ours {
            None => Row::missing(what, paper),
            Some((ours, holds)) => Row::judged(what, paper, ours, Number::Holds(holds)),
        }
    }

    /// A figure of ours for which the paper prints no number.
    pub(crate) fn stated(what: impl Into<String>, ours: impl Into<String>) -> Row {
        Row::measured(what, "-", ours, Verdict::Stated)
    }

    /// A figure of the paper for which there is no run here.
    pub(crate) fn missing(what: impl Into<String>, paper: impl Into<String>) -> Row {
        Row::incomparable(what, paper, "-")
    }

    /// What can't be done here as the paper did it.
    pub(crate) fn incomparable(what: impl Into<String>, paper: impl Into<String>, ours: impl Into<String>) -> Row {
        Row::measured(what, paper, ours, Verdict::Not)
    }

    fn measured(what: impl Into<String>, paper: impl Into<String>, ours: impl Into<String>, verdict: Verdict) -> Row {
        Row { kind: Kind::Measured, verdict, ..Row::exact(what, paper, ours) }
    }

    fn judged(what: impl Into<String>, paper: impl Into<String>, ours: impl Into<String>, number: Number) -> Row {
        let row = Row { number: Some(number), ..Row::measured(what, paper, ours, Verdict::Stated) };
        row.judge(number.ours(), None)
    }

    /// The verdict on a mean of ours with its interval over seeds.
    fn judge(self, ours: f64, interval: Option<(f64, f64)>) -> Row {
        let is_judged = ![Verdict::NotAttainable, Verdict::Fitted].contains(&self.verdict);
        let Some(number) = self.number.filter(|_| is_judged) else { return self };
        let (verdict, ratio, none, theirs) = match number {
            Number::Factor { paper, .. } => {
                let ratio = (paper != 1.0).then(|| (ours - 1.0) / (paper - 1.0));
                (judge(paper, ours), ratio, Some(1.0), Some(paper))
            }
            Number::Level { paper, .. } => (judge_level(paper, ours), Some(ours / paper), None, Some(paper)),
            Number::Rank(_) => (judge_rank(ours), None, None, None),
            Number::Holds(_) if ours == 1.0 => (Verdict::Agrees, None, None, None),
            Number::Holds(_) if ours == 0.0 => (Verdict::NotMet, None, None, None),
            Number::Holds(_) => (Verdict::NotShown, None, None, None),
        };
        let holds = |value: f64| interval.is_some_and(|(low, high)| low <= value && value <= high);
        let wide = interval.is_some_and(|(low, high)| high - low > 2.0 * NO_EFFECT);
        // Where the paper states no change, an interval around none is what it says.
        let changes = theirs.zip(none).is_none_or(|(paper, none)| (paper - none).abs() >= UNCHANGED);
        let not_shown = match verdict {
            Verdict::NoEffect | Verdict::Agrees if !changes => false,
            Verdict::NoEffect => wide && none.is_some_and(holds),
            Verdict::Agrees => none.is_some_and(holds),
            _ => none.is_some_and(holds) || theirs.is_some_and(holds),
        };
        Row { verdict: if not_shown { Verdict::NotShown } else { verdict }, ratio, ..self }
    }

    /// One row of those of several seeds: the mean, its interval of 95 % and the verdict on them.
    pub(crate) fn over_seeds(rows: &[Row]) -> Option<Row> {
        let first = rows.first()?.clone();
        let numbers: Vec<Number> = rows.iter().filter_map(|row| row.number).collect();
        if numbers.len() < 2 {
            return Some(first);
        }
        let values: Vec<f64> = numbers.iter().map(|number| number.ours()).collect();
        let (ours, half) = (mean(&values), half_width(&values).unwrap_or_default());
        let text = match numbers[0] {
            Number::Factor { .. } => {
                let medians: Vec<f64> = numbers.iter().filter_map(|number| number.median()).collect();
                let median = (!medians.is_empty()).then(|| format!(", median {:.3}x", mean(&medians)));
                format!("{} ± {half:.3}{}", factor_text(ours), median.unwrap_or_default())
            }
            Number::Level { text, .. } => format!("{} ± {}", text(ours), text(half)),
            Number::Rank(_) => format!("{}; mean of {} seeds {ours:.2}", first.ours, values.len()),
            Number::Holds(_) => {
                let holds = values.iter().filter(|value| **value == 1.0).count();
                format!("{} (holds for {holds} of {} seeds)", first.ours, values.len())
            }
        };
        let unsteady = rows.iter().find(|row| row.verdict == Verdict::NotSteady).map(|row| row.note.clone());
        let row = Row { ours: text, unjudged: None, ..first }.judge(ours, Some(interval(numbers[0], &values)));
        Some(match unsteady {
            Some(note) => Row { verdict: Verdict::NotSteady, unjudged: Some(row.verdict), note, ..row },
            None => row,
        })
    }

    /// The row with what is known of the runs that it looked at.
    pub(crate) fn steadiness(self, steadiness: Steadiness) -> Row {
        let Steadiness { runs, unsteady, .. } = steadiness;
        if unsteady == 0 || self.number.is_none() || self.kind != Kind::Measured {
            return self;
        }
        let own = format!("{unsteady} of {runs} runs: write amplification is not steady");
        Row { verdict: Verdict::NotSteady, unjudged: Some(self.verdict), steadiness, ..self }.noting(own)
    }

    fn noting(self, own: String) -> Row {
        let note = if self.note.is_empty() { own } else { format!("{own}; {}", self.note) };
        Row { note, ..self }
    }

    /// The row of these that compares the same.
    pub(crate) fn same_in(&self, rows: &[Row]) -> Option<Row> {
        rows.iter().find(|row| row.what == self.what && row.paper == self.paper).cloned()
    }

    /// The row is a mean without these workloads, because their runs are not steady.
    pub(crate) fn without(self, aside: &BTreeSet<&'static str>) -> Row {
        let names: Vec<&str> = aside.iter().map(|name| name.split_once('.').map_or(*name, |(_, name)| name)).collect();
        self.noting(format!("without {}: write amplification is not steady", names.join(", ")))
    }

    /// The verdict in words, and in brackets what it would be if the runs had been steady.
    pub(crate) fn verdict(&self) -> String {
        let word = self.verdict.name();
        self.unjudged.map_or(word.to_string(), |verdict| format!("{word} ({})", verdict.name()))
    }

    /// Whether the row can come out or not.
    pub(crate) fn is_claim(&self) -> bool {
        self.number.is_some() && self.kind == Kind::Measured && self.verdict != Verdict::NotAttainable
    }

    /// A figure that the workload was fitted to.
    pub(crate) fn input(self) -> Row {
        Row { kind: Kind::Input, ..self }
    }

    /// A figure that arrival times were fitted to.
    pub(crate) fn fitted(self) -> Row {
        match self.number {
            Some(_) => Row { kind: Kind::Fitted, verdict: Verdict::Fitted, ratio: None, ..self },
            None => self,
        }
    }

    /// A figure that follows from the definition of the scheme.
    pub(crate) fn constructed(self) -> Row {
        Row { kind: Kind::Construction, ..self }
    }

    /// The paper contradicts itself here.
    pub(crate) fn unattainable(self) -> Row {
        Row { verdict: Verdict::NotAttainable, ..self }
    }

    /// Why they differ, or where ours comes from.
    pub(crate) fn note(self, note: impl Into<String>) -> Row {
        Row { note: note.into(), ..self }
    }

    pub(crate) fn source(self, source: Source) -> Row {
        Row { source, ..self }
    }

    /// The words of the paper and the note.
    pub(crate) fn told(&self) -> String {
        let Source { section, sentence } = self.source;
        let words = match (section, sentence) {
            ("", "") => return self.note.clone(),
            (section, "") => section.to_string(),
            (section, sentence) => format!("{section}: \"{sentence}\""),
        };
        if self.note.is_empty() { words } else { format!("{words}; {}", self.note) }
    }

    /// The paper's figure, where ours is not judged by it.
    pub(crate) fn said(self, paper: impl Into<String>) -> Row {
        Row { paper: paper.into(), ..self }
    }

    /// The paper does not print its figure: the arithmetic by which it follows from what it prints.
    pub(crate) fn derived(self, arithmetic: &str) -> Row {
        match arithmetic {
            "" => self,
            _ => Row { paper: format!("{} (derived: {arithmetic})", self.paper), ..self },
        }
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_lab::variants::figures::{Effect as Compared, Figure};

    use super::*;

    fn over(paper: f64, ours: &[f64]) -> Verdict {
        let rows: Vec<Row> = ours.iter().map(|ours| Row::factor("", paper, Some(*ours))).collect();
        Row::over_seeds(&rows).unwrap().verdict
    }

    #[test]
    fn effects_have_one_class_each() {
        assert_eq!(over(0.8, &[0.8]), Verdict::Agrees);
        assert_eq!(over(0.8, &[0.9]), Verdict::Agrees);
        assert_eq!(over(0.8, &[0.901]), Verdict::Weaker);
        assert_eq!(over(0.8, &[0.601]), Verdict::Agrees);
        assert_eq!(over(0.8, &[0.599]), Verdict::Stronger);
        assert_eq!(over(0.8, &[1.1]), Verdict::Opposite);
        assert_eq!(over(0.8, &[1.001]), Verdict::NoEffect);
        // No effect: below 0.5 % in the paper, below 1 % here.
        assert_eq!(over(1.0, &[1.0099]), Verdict::Agrees);
        assert_eq!(over(1.0, &[0.9901]), Verdict::Agrees);
        assert_eq!(over(1.0, &[1.0101]), Verdict::Differs);
        assert_eq!(over(0.996, &[1.0099]), Verdict::Agrees);
        assert_eq!(over(0.996, &[0.98]), Verdict::Differs);
        assert_eq!(over(0.994, &[0.9935]), Verdict::Agrees);
        assert_eq!(over(0.994, &[1.0099]), Verdict::Opposite);
    }

    #[test]
    fn intervals_that_hold_no_effect_show_no_difference() {
        assert_eq!(over(0.8, &[0.79, 0.80, 0.81]), Verdict::Agrees);
        assert_eq!(over(0.8, &[0.5, 0.8, 1.1]), Verdict::NotShown);
        assert_eq!(over(0.8, &[0.95, 1.05, 1.0]), Verdict::NotShown);
        // As in comparisons, logarithms are tested: their interval begins at 1.07, that of the values themselves (8.3 +- 16.5) below 0.
        let compared = Figure::new(vec![4.0, 5.0, 16.0], &[1.0; 3]);
        assert_eq!((over(8.0, &[4.0, 5.0, 16.0]), compared.verdict()), (Verdict::Agrees, Compared::Higher));
        let compared = Figure::new(vec![0.3, 0.9, 1.6], &[1.0; 3]);
        assert_eq!((over(0.5, &[0.3, 0.9, 1.6]), compared.verdict()), (Verdict::NotShown, Compared::NotShown));
        assert_eq!(over(0.8, &[0.95, 0.951, 0.949]), Verdict::Weaker);
        assert_eq!(over(0.8, &[1.0, 1.0, 1.0]), Verdict::NoEffect);
        // It holds the paper's figure, and the mean is more than twice as strong.
        assert_eq!(over(0.9, &[0.70, 0.78, 0.89]), Verdict::NotShown);
        assert_eq!(over(1.0, &[0.99, 1.02]), Verdict::Agrees);
        assert_eq!(over(1.0, &[1.03, 1.031]), Verdict::Differs);
        assert_eq!(over(1.0, &[0.98, 1.05]), Verdict::NotShown);
    }

    #[test]
    fn claims_hold_for_all_seeds_or_for_none() {
        let over = |holds: &[bool]| {
            let rows: Vec<Row> = holds.iter().map(|holds| Row::claim("", "", Some((String::new(), *holds)))).collect();
            Row::over_seeds(&rows).unwrap().verdict
        };
        assert_eq!(over(&[true, true]), Verdict::Agrees);
        assert_eq!(over(&[false, false]), Verdict::NotMet);
        assert_eq!(over(&[true, false]), Verdict::NotShown);
    }

    #[test]
    fn runs_that_are_not_steady_are_not_judged() {
        let with = |row: Row, unsteady| row.steadiness(Steadiness { runs: 2, unsteady, ..Steadiness::default() });
        let row = |ours, unsteady| with(Row::factor("", 0.8, Some(ours)), unsteady);
        assert_eq!(row(0.8, 0).verdict, Verdict::Agrees);
        assert_eq!(row(0.8, 1).verdict(), "not steady (agrees)");
        let of_seeds = Row::over_seeds(&[row(0.8, 0), row(1.2, 1)]).unwrap();
        assert_eq!(of_seeds.verdict(), "not steady (no difference shown)");
        assert_eq!(with(Row::factor("", 0.8, Some(0.8)).input(), 1).verdict, Verdict::Agrees);
    }

    #[test]
    fn what_arrivals_are_fitted_to_is_never_judged() {
        let row = |ours| Row::factor("", 0.8, Some(ours)).fitted();
        let over = Row::over_seeds(&[row(0.8), row(1.2)]).unwrap();
        assert_eq!((over.verdict, over.kind, over.ratio), (Verdict::Fitted, Kind::Fitted, None));
        assert!(!over.is_claim());
    }

    #[test]
    fn what_a_paper_contradicts_stays_out_of_reach_with_seeds() {
        let row = |ours| Row::factor("", 0.8, Some(ours)).unattainable();
        assert_eq!(Row::over_seeds(&[row(0.8), row(0.9)]).unwrap().verdict, Verdict::NotAttainable);
    }

    #[test]
    fn means_leave_out_what_is_not_steady_while_half_remains() {
        let row = |aside: &[&'static str]| {
            let (workloads, aside) = (["a.b", "a.c", "a.d", "a.e"].into(), aside.iter().copied().collect());
            Row::factor("", 0.8, Some(0.8)).steadiness(Steadiness { runs: 4, unsteady: 1, workloads, aside })
        };
        let of_seeds =
            |seeds: &[&[&'static str]]| Steadiness::of_seeds(&seeds.iter().map(|aside| row(aside)).collect::<Vec<_>>());
        assert!(of_seeds(&[&["a.b"], &["a.c"], &["a.b"]]).can_set_aside());
        assert!(!of_seeds(&[&["a.b"], &["a.c"], &["a.d"]]).can_set_aside());
        assert!(!of_seeds(&[&[]]).can_set_aside());
        let others = Row::factor("", 0.8, Some(0.9)).note("more").without(&["a.b", "a.c"].into());
        assert_eq!(
            (others.verdict, others.note.as_str()),
            (Verdict::Agrees, "without b, c: write amplification is not steady; more")
        );
    }

    #[test]
    fn ranks_correlate_from_one_to_minus_one() {
        assert_eq!(rank_correlation(&[3.0, 2.0, 1.0], &[30.0, 20.0, 10.0]), 1.0);
        assert_eq!(rank_correlation(&[3.0, 2.0, 1.0], &[1.0, 2.0, 3.0]), -1.0);
        assert_eq!(rank_correlation(&[4.0, 3.0, 2.0, 1.0], &[3.0, 4.0, 1.0, 2.0]), 0.6);
        assert_eq!(rank_correlation(&[2.0, 2.0, 1.0], &[3.0, 2.0, 1.0]), 0.875);
    }
}
