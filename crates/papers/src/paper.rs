//! What a paper is: its schemes, its tables and figures, the numbers that it prints, and the runs that ours come from.
//!
//! All of it is data (`papers/*.toml`, read by `file.rs`). A table is an [`Item`] with its lines; a line names what is compared, the paper's number, the source of ours and the
//! rule that compares them. Lines that repeat for every workload, or that depend on what could be run, come from a function
//! ([`Rule::Rows`]).

use serde::Deserialize;
use serde_json::Value;
use ssdlab_lab::readers::json::shown;
use ssdlab_lab::tree;

use crate::assumption::{Assumption, Reading};
use crate::data::{Data, list};
use crate::load::Load;
use crate::results::{Figure, Keys, Results, Run};
use crate::row::{Row, Unit};
use crate::source::Source;

pub(crate) struct Paper {
    /// `a` to `e`.
    pub(crate) letter: &'static str,
    /// The name of the paper on the command line and of the preset of its device.
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    /// What it compares, the baseline first.
    pub(crate) schemes: &'static [Scheme],
    /// What it compares them on.
    pub(crate) workloads: &'static [&'static str],
    /// How `--quick` shrinks the device.
    pub(crate) quick: &'static [&'static str],
    /// Requests of each workload with `--quick`, and without.
    pub(crate) limits: [u64; 2],
    pub(crate) items: &'static [Item],
    /// Tables and figures that need something besides the preset, and what.
    pub(crate) under: &'static [Under],
    /// The levels that `--load` calibrates arrivals to, or why there is none.
    pub(crate) loads: Result<&'static [Load], &'static str>,
    /// What the paper leaves open, with the values to try.
    pub(crate) assumptions: &'static [Assumption],
    /// Sets of such values, at most six.
    pub(crate) readings: &'static [Reading],
    pub(crate) data: Data,
}

impl Paper {
    /// The load that the paper prints for a workload.
    pub(crate) fn printed_load(&self, load: &Load, workload: &str) -> Option<f64> {
        let at = self.workloads.iter().position(|one| *one == workload)?;
        load.printed.get(at).copied()
    }

    pub(crate) fn load_of(&self, item: &Item) -> Option<usize> {
        let loads = self.loads.ok()?;
        let own = loads.iter().position(|load| load.ids.contains(&item.id));
        own.or_else(|| loads.iter().position(|load| load.ids.is_empty()))
    }

    pub(crate) fn is_reading(&self, assumption: &Assumption) -> bool {
        self.readings.iter().any(|reading| std::ptr::eq(&reading.settings, assumption))
    }

    /// Whether some of the items run only under this assumption.
    pub(crate) fn is_under(&self, assumption: &Assumption) -> bool {
        self.under.iter().any(|under| std::ptr::eq(&under.assumption, assumption))
    }

    /// What an item assumes besides the preset.
    pub(crate) fn under(&self, item: &Item) -> Option<&'static Assumption> {
        self.under.iter().find(|under| under.ids.contains(&item.id)).map(|under| &under.assumption)
    }
}

/// Tables and figures that run under an assumption.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Under {
    #[serde(borrow, deserialize_with = "list")]
    pub(crate) ids: &'static [&'static str],
    #[serde(flatten)]
    pub(crate) assumption: Assumption,
}

/// What a paper measures: a name of ours and the keys over the preset.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scheme {
    pub(crate) name: &'static str,
    #[serde(deserialize_with = "list")]
    pub(crate) sets: &'static [&'static str],
}

pub(crate) struct Item {
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    /// The long runs that its lines look at.
    pub(crate) runs: &'static [Grid],
    pub(crate) lines: &'static [Line],
}

impl Item {
    pub(crate) fn runs(&self) -> impl Iterator<Item = Run> {
        self.runs.iter().flat_map(|grid| grid.runs())
    }
}

/// Runs of each workload under each scheme, with each of some sets of keys over the scheme's, and with each of some seeds.
#[derive(Clone, Copy)]
pub(crate) struct Grid {
    pub(crate) workloads: &'static [&'static str],
    pub(crate) schemes: &'static [&'static str],
    pub(crate) more: &'static [Keys],
    pub(crate) trials: u64,
}

impl Grid {
    pub(crate) fn runs(self) -> impl Iterator<Item = Run> {
        self.workloads.iter().flat_map(move |workload| {
            self.schemes.iter().flat_map(move |scheme| {
                let run = |more: Keys, trial| Run { workload, scheme, more, trial };
                self.more.iter().flat_map(move |more| (0..self.trials).map(move |trial| run(more, trial)))
            })
        })
    }
}

pub(crate) struct Line {
    /// What is compared.
    pub(crate) what: &'static str,
    pub(crate) rule: Rule,
    /// Why they differ, or where ours comes from.
    pub(crate) note: &'static str,
    /// The arithmetic of the paper's figure, if it isn't printed.
    pub(crate) derived: &'static str,
    /// Where the paper says it, and in which words.
    pub(crate) source: Source,
    pub(crate) special: Special,
}

/// What is not measured though it looks so.
pub(crate) enum Special {
    No,
    /// The figure that `--load` fits arrival times to; measured without it.
    Load,
    /// The paper contradicts itself.
    Unattainable,
}

/// The paper's number, the source of ours, and how the two are compared.
pub(crate) enum Rule {
    /// An input of the paper, as the preset or a scheme has it.
    Parameter(&'static str, Input),
    /// A number that has to match to the printed digits; none of ours: the run was refused.
    Exact(&'static str, fn(&Results) -> Option<String>),
    /// A number of the paper's own arithmetic, done again.
    Formula(&'static str, fn(&Results) -> Option<String>),
    /// A factor over a baseline.
    Factor(f64, Ours),
    /// A figure whose size is compared.
    Level(f64, Ours, Unit),
    /// A statement without a number: ours, and whether it holds.
    Claim(&'static str, fn(&Results) -> Option<(String, bool)>),
    /// An order, as a list and its rank correlation with the paper's.
    Rank(&'static str, fn(&Results) -> Option<(String, f64)>),
    /// What the paper has and no run here can.
    Absent(&'static str),
    /// Rows that repeat for each workload, or that depend on what could be run.
    Rows(fn(&Results) -> Vec<Row>),
}

pub(crate) enum Input {
    /// A key of the preset; of several values, one a page type, the first.
    Key(&'static str),
    From(fn(&Results) -> String),
}

impl Input {
    fn of(&self, results: &Results) -> String {
        match self {
            Input::Key(key) => {
                let value = tree::config(&results.preset).pointer(&format!("/{}", key.replace('.', "/"))).cloned();
                match value.unwrap_or_else(|| panic!("the preset has no key {key}")) {
                    Value::Array(values) => shown(&values[0]),
                    value => shown(&value),
                }
            }
            Input::From(ours) => ours(results),
        }
    }
}

/// A number of ours: figures of what was run. None where a run is missing.
#[derive(Clone, Copy)]
pub(crate) enum Ours {
    /// Mean over all workloads: scheme, figure.
    Mean(&'static str, Figure),
    /// Workload, scheme, figure.
    On(&'static str, &'static str, Figure),
    /// Mean over all workloads of a scheme's figure over another's: scheme, baseline, figure.
    MeanOver(&'static str, &'static str, Figure),
    /// The same on one workload: workload, scheme, baseline, figure.
    Over(&'static str, &'static str, &'static str, Figure),
    /// Any other.
    From(fn(&Results) -> Option<f64>),
}

impl Ours {
    fn of(self, results: &Results) -> Option<f64> {
        match self {
            Ours::Mean(scheme, figure) => results.mean(scheme, figure),
            Ours::On(workload, scheme, figure) => results.summary(workload, scheme).and_then(figure),
            Ours::MeanOver(scheme, base, figure) => results.mean_ratio(scheme, base, figure),
            Ours::Over(workload, scheme, base, figure) => results.ratio(workload, scheme, base, figure),
            Ours::From(ours) => ours(results),
        }
    }

    /// The median over all workloads, beside a mean of ratios.
    fn median(self, results: &Results) -> Option<f64> {
        let Ours::MeanOver(scheme, base, figure) = self else { return None };
        results.median_by(|workload| results.ratio(workload, scheme, base, figure))
    }
}

impl Line {
    /// The rows with our numbers filled in.
    pub(crate) fn rows(&self, results: &Results) -> Vec<Row> {
        let row = match &self.rule {
            Rule::Parameter(paper, ours) => Row::parameter(self.what, *paper, ours.of(results)),
            Rule::Exact(paper, ours) => Row::exact(self.what, *paper, ours(results).unwrap_or("-".into())),
            Rule::Formula(paper, ours) => Row::formula(self.what, *paper, ours(results).unwrap_or("-".into())),
            Rule::Factor(paper, ours) => {
                let row = Row::factor(self.what, *paper, ours.of(results));
                ours.median(results).into_iter().fold(row, Row::median)
            }
            Rule::Level(paper, ours, unit) => {
                Row::level(self.what, *paper, ours.of(results).map(|ours| ours * unit.scale), unit.text)
            }
            Rule::Claim(paper, ours) => Row::claim(self.what, *paper, ours(results)),
            Rule::Rank(paper, ours) => Row::rank(self.what, *paper, ours(results)),
            Rule::Absent(paper) => Row::missing(self.what, *paper),
            Rule::Rows(rows) => {
                let rows = rows(results);
                results.forget_looks();
                return rows;
            }
        };
        let row = row.note(self.note).derived(self.derived).source(self.source);
        vec![match self.special {
            Special::Load => results.seal_load(row),
            Special::No => results.seal(row),
            Special::Unattainable => row.unattainable(),
        }]
    }
}
