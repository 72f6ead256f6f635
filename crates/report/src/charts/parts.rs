//! What the figures share.

use ssdlab_figures::figure::{Cell, Figure, Panel, Table};
use ssdlab_sim::report::histogram::Bucket;

use crate::inputs::Inputs;
use ssdlab_lab::readers::histogram::merged;

use ssdlab_lab::results::histograms::{Histograms, OPS};

/// Which requests a figure shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Both together.
    All,
}

/// What a figure shows besides its name.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Which requests; by default all kinds beside each other.
    pub op: Option<Op>,
    /// A column of the series, or a measure of the comparison or study.
    pub measure: Option<String>,
    /// A key of the study; a measure for `pareto`.
    pub x: Option<String>,
    /// A key of the study: lines, or rows of a map.
    pub hue: Option<String>,
    /// Whether x is logarithmic in any case.
    pub log_x: bool,
    /// Whether y is logarithmic in any case.
    pub log_y: bool,
    /// A title in place of its own.
    pub title: Option<String>,
    /// On a page: how much of it is shown, and points are left out that a page cannot show. Elsewhere all is shown.
    pub page: Option<Shown>,
}

/// How much a page shows.
#[derive(Clone, Debug)]
pub struct Shown {
    /// Most bars of a timeline: the longest.
    pub bars: usize,
    /// Whether a timeline has only the buses and planes that the slowest request used.
    pub used_rows: bool,
    /// Most windows of a series; neighbours are merged above it.
    pub windows: usize,
    /// Most cells of a heat map; neighbours are merged above it.
    pub cells: usize,
    /// Most points of a study that no front has.
    pub points: usize,
    /// Most rows of the table of a study's points.
    pub rows: usize,
}

/// Most bars of a timeline: a page with more would be slow.
const MOST_BARS: usize = 20_000;

/// Most rows of the table of a study's points: `ssdlab sweep table` writes all.
const MOST_POINTS: usize = 20_000;

impl Default for Shown {
    /// As much as can be seen.
    fn default() -> Self {
        Shown { bars: MOST_BARS, used_rows: false, windows: 2_000, cells: 1_500, points: 2_000, rows: MOST_POINTS }
    }
}

impl Wanted {
    /// How much of a timeline and of a series is shown.
    pub(super) fn shown(&self) -> Shown {
        self.page.clone().unwrap_or_default()
    }

    /// Most points of a study that no front has.
    pub(super) fn most_points(&self) -> usize {
        self.page.as_ref().map_or(usize::MAX, |page| page.points)
    }
}

/// How many of so many neighbours a cell of a heat map stands for, so that there are no more cells than can be shown.
pub(super) fn together(neighbours: usize, wanted: &Wanted, cells: impl Fn(usize) -> usize) -> usize {
    let most = wanted.page.as_ref().map_or(200_000, |page| page.cells);
    let mut every = 1;
    while cells(every) > most && every < neighbours {
        every *= 2;
    }
    every
}

/// The kinds of requests that are shown: name and buckets of latency, without those that have no request.
pub(super) fn shown(histograms: &Histograms, op: Option<Op>) -> Vec<(&'static str, Vec<Bucket>)> {
    let all = || ("all", merged(&histograms.latency));
    let one = |i: usize| (OPS[i], histograms.latency[i].clone());
    let mut out = match op {
        Some(Op::Read) => vec![one(0)],
        Some(Op::Write) => vec![one(1)],
        Some(Op::All) => vec![all()],
        None => vec![one(0), one(1)],
    };
    out.retain(|(_, buckets)| !buckets.is_empty());
    out
}

/// `reads`, `writes`, `requests`
pub(super) fn plural(op: &str) -> &'static str {
    match op {
        "read" => "reads",
        "write" => "writes",
        _ => "requests",
    }
}

/// A figure of a run without anything to draw.
pub(super) fn none(id: &str, title: &str, inputs: &Inputs, why: &str) -> Figure {
    Figure { source: inputs.run.source(), ..Figure::empty(id, title, why) }
}

/// A figure with one panel.
pub(super) fn figure(id: &str, title: impl Into<String>, inputs: &Inputs, panels: Vec<Panel>, table: Table) -> Figure {
    let source = inputs.run.source();
    Figure { id: id.into(), title: title.into(), panels, table, source, ..Figure::default() }
}

/// A cell with a share of 1.
pub(super) fn share(part: u128, whole: u128) -> Cell {
    if whole == 0 { Cell::Null } else { Cell::Real(part as f64 / whole as f64) }
}
