//! A row of the comparison, and the rules that judge it.

/// What a row compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// An input: printed from the preset.
    Parameter,
    /// Arithmetic: has to match to the printed digits.
    Exact,
    /// Measured by the authors: sign, order and magnitude are compared.
    Measured,
}

/// How ours compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Equal to the printed digits.
    Same,
    /// Not equal; the note says why.
    Differs,
    /// The same sign, and at least half the size.
    Agrees,
    /// The same sign, less than half the size, or no difference at all.
    Weaker,
    /// The other sign.
    Opposite,
    /// What the paper did can't be done the same way; the note says why.
    Not,
    /// The paper states no number.
    Stated,
}

impl Verdict {
    pub(super) fn word(self) -> &'static str {
        match self {
            Verdict::Same => "same",
            Verdict::Differs => "differs",
            Verdict::Agrees => "agrees",
            Verdict::Weaker => "weaker",
            Verdict::Opposite => "opposite",
            Verdict::Not => "not comparable",
            Verdict::Stated => "no number stated",
        }
    }
}

/// Effects of the paper below this say that nothing changes; ours agrees up to `NO_CHANGE`.
const UNCHANGED: f64 = 0.005;
const NO_CHANGE: f64 = 0.05;
/// Effects of ours below this are none.
const NO_EFFECT: f64 = 0.002;
/// An effect agrees from this share of the paper's on.
const AGREES_FROM: f64 = 0.5;
/// A level agrees within this factor, up and down.
const LEVEL_FACTOR: f64 = 2.0;

/// The rule for factors over a baseline: their effects, the factors less 1, are compared.
fn judge(paper: f64, ours: f64) -> Verdict {
    let (theirs, own) = (paper - 1.0, ours - 1.0);
    match () {
        () if theirs.abs() < UNCHANGED && own.abs() < NO_CHANGE => Verdict::Agrees,
        () if theirs.abs() < UNCHANGED => Verdict::Differs,
        () if own.abs() < NO_EFFECT => Verdict::Weaker,
        () if own * theirs < 0.0 => Verdict::Opposite,
        () if own.abs() < AGREES_FROM * theirs.abs() => Verdict::Weaker,
        () => Verdict::Agrees,
    }
}

/// A row of the comparison.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) kind: Kind,
    pub(super) what: String,
    pub(super) paper: String,
    pub(super) ours: String,
    /// Our effect over the paper's, for measured rows.
    pub(super) ratio: Option<f64>,
    pub(super) verdict: Verdict,
    pub(super) note: String,
}

impl Row {
    /// A number that has to match to the printed digits.
    pub(super) fn exact(what: impl Into<String>, paper: impl Into<String>, ours: impl Into<String>) -> Row {
        let (what, paper, ours) = (what.into(), paper.into(), ours.into());
        let verdict = if paper == ours { Verdict::Same } else { Verdict::Differs };
        Row { kind: Kind::Exact, what, paper, ours, ratio: None, verdict, note: String::new() }
    }

    /// An input, as the preset has it.
    pub(super) fn parameter(what: impl Into<String>, paper: impl Into<String>, ours: impl Into<String>) -> Row {
        Row { kind: Kind::Parameter, ..Row::exact(what, paper, ours) }
    }

    /// A factor over a baseline (0.595: 40.5 % less).
    pub(super) fn factor(what: impl Into<String>, paper: f64, ours: Option<f64>) -> Row {
        let text = |factor: f64| format!("{factor:.3}x ({:+.1} %)", (factor - 1.0) * 100.0);
        let Some(ours) = ours else { return Row::missing(what, text(paper)) };
        let ratio = (paper != 1.0).then(|| (ours - 1.0) / (paper - 1.0));
        Row::measured(what, text(paper), text(ours), judge(paper, ours)).ratio(ratio)
    }

    /// A figure whose size is compared, with its text in the paper's unit.
    pub(super) fn level(what: impl Into<String>, paper: f64, ours: Option<f64>, text: fn(f64) -> String) -> Row {
        let Some(ours) = ours else { return Row::missing(what, text(paper)) };
        let ratio = ours / paper;
        let near = (1.0 / LEVEL_FACTOR..=LEVEL_FACTOR).contains(&ratio);
        let verdict = if near { Verdict::Agrees } else { Verdict::Differs };
        Row::measured(what, text(paper), text(ours), verdict).ratio(Some(ratio))
    }

    /// A statement of the paper without a number, and whether it holds of ours.
    pub(super) fn claim(what: impl Into<String>, paper: impl Into<String>, ours: Option<(String, bool)>) -> Row {
        match ours {
            None => Row::missing(what, paper),
            Some((ours, true)) => Row::measured(what, paper, ours, Verdict::Agrees),
            Some((ours, false)) => Row::measured(what, paper, ours, Verdict::Opposite),
        }
    }

    /// A figure of ours for which the paper prints no number.
    pub(super) fn stated(what: impl Into<String>, ours: impl Into<String>) -> Row {
        Row::measured(what, "-", ours, Verdict::Stated)
    }

    /// A figure of the paper for which there is no run here.
    pub(super) fn missing(what: impl Into<String>, paper: impl Into<String>) -> Row {
        Row::measured(what, paper, "-", Verdict::Not)
    }

    fn measured(what: impl Into<String>, paper: impl Into<String>, ours: impl Into<String>, verdict: Verdict) -> Row {
        Row { kind: Kind::Measured, verdict, ..Row::exact(what, paper, ours) }
    }

    fn ratio(self, ratio: Option<f64>) -> Row {
        Row { ratio, ..self }
    }

    /// Why they differ, or where ours comes from.
    pub(super) fn note(self, note: impl Into<String>) -> Row {
        Row { note: note.into(), ..self }
    }

    /// The paper's figure, where ours is not judged by it.
    pub(super) fn said(self, paper: impl Into<String>) -> Row {
        Row { paper: paper.into(), ..self }
    }
}
