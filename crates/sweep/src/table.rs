//! The table of a study: one row a run, or one a run and measure. Its bytes do not depend on shards, except what runs cost.

use std::collections::HashMap;

use serde_json::value::RawValue;
use ssdlab_sim::blame::{CAUSES, Extra};

use crate::axis::{Item, Shown};
use crate::cost::Cost;
use crate::figures::{self, Figure, Paths};
use crate::points::{Points, Run};
use crate::status::{Standing, Survey};
use crate::store::Store;
use ssdlab_lab::error::Result;
use ssdlab_lab::parallel;
use ssdlab_lab::results::sheet::{Cell, CellKind, Ended, Place, Sheet};

/// What a table has.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shape {
    /// One row a run and measure.
    pub tidy: bool,
    /// Without what runs cost.
    pub no_perf: bool,
}

/// Numbers of a column; whole numbers stay exact as long as all are.
#[derive(Clone, Debug, Default)]
struct Numbers {
    bits: Vec<u64>,
    known: Vec<bool>,
    real: bool,
}

impl Numbers {
    /// With nothing in some rows.
    fn empty(rows: usize) -> Numbers {
        Numbers { bits: vec![0; rows], known: vec![false; rows], real: false }
    }

    fn set(&mut self, row: usize, value: Figure) {
        self.bits[row] = match value {
            Figure::Whole(value) if !self.real => value,
            Figure::Whole(value) => (value as f64).to_bits(),
            Figure::Real(value) => {
                if !self.real {
                    self.real = true;
                    self.bits.iter_mut().for_each(|bits| *bits = (*bits as f64).to_bits());
                }
                value.to_bits()
            }
        };
        self.known[row] = true;
    }

    fn value(&self, row: usize) -> Option<f64> {
        let number = if self.real { f64::from_bits(self.bits[row]) } else { self.bits[row] as f64 };
        self.known[row].then_some(number)
    }

    fn cell(&self, row: usize) -> Cell<'_> {
        match self.real {
            true => Cell::Real(self.value(row)),
            false => Cell::Maybe(self.known[row].then_some(self.bits[row])),
        }
    }

    fn kind(&self) -> CellKind {
        if self.real { CellKind::Real } else { CellKind::Maybe }
    }
}

/// Sections of a summary that are no measures.
const LEFT_OUT: [&str; 9] = [
    "schema",
    "version",
    "seed",
    "config",
    "config_digest",
    "trace_digest",
    "consistency_rule",
    "write_ack",
    "power_cuts",
];

/// The measures in their order, as names in the table and paths in the summary. What follows is flattened as it comes.
fn measures() -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = vec![
        ("simulated_ns".into(), "simulated_ns".into()),
        ("requests_read".into(), "requests.read".into()),
        ("requests_write".into(), "requests.write".into()),
        ("pages_read".into(), "pages.read".into()),
        ("pages_written".into(), "pages.written".into()),
    ];
    let mut same = |path: String| all.push((path.clone(), path));
    const OPS: [&str; 3] = ["read", "write", "all"];
    for op in OPS {
        for figure in ["mean", "p50", "p90", "p95", "p99", "p99_9", "p99_99", "max"] {
            same(format!("latency_ns.{op}.{figure}"));
        }
    }
    OPS.iter().for_each(|op| same(format!("waiting_ns.{op}.mean")));
    for op in ["read", "write"] {
        CAUSES.iter().for_each(|(_, cause)| same(format!("breakdown_ns.{op}.{cause}")));
    }
    same("write_amplification".into());
    same("write_amplification_bytes".into());
    all
}

/// What the table has of GC.
const OF_GC: [&str; 2] = ["gc.collections", "gc.moved_pages"];
/// Sections of which the table has what it has.
const TAKEN: [&str; 10] = [
    "simulated_ns",
    "requests",
    "pages",
    "bytes",
    "latency_ns",
    "waiting_ns",
    "breakdown_ns",
    "write_amplification",
    "write_amplification_bytes",
    "gc",
];

/// Runs whose records are in memory at a time.
const CHUNK: usize = 1024;

struct Loaded {
    standing: Standing,
    rule: Option<String>,
    /// Numbers of its summary by path.
    figures: Vec<(usize, Figure)>,
    cost: Option<Cost>,
}

impl Loaded {
    fn of(points: &Points, survey: &Survey<'_>, store: &Store, run: &Run, paths: &Paths) -> Result<Loaded> {
        let mut loaded = Loaded {
            standing: survey.standing(run, store),
            rule: points.points[run.point].refused.clone(),
            figures: Vec::new(),
            cost: None,
        };
        if let Standing::Failure(failure) = &loaded.standing {
            loaded.rule = Some(failure.message.clone());
        }
        if !matches!(loaded.standing, Standing::Done | Standing::Refused) {
            return Ok(loaded);
        }
        let Some(read) = store.read::<Box<RawValue>>(&run.key)? else {
            loaded.standing = Standing::Left;
            return Ok(loaded);
        };
        loaded.rule = read.rule.or(loaded.rule);
        if let Some(summary) = read.summary {
            // The record has been parsed once, so this is JSON.
            loaded.figures = figures::read(summary.get(), paths, &LEFT_OUT).unwrap_or_default();
        }
        loaded.cost = store.cost(&run.key);
        Ok(loaded)
    }
}

/// Groups of columns in their order.
const FIXED: usize = 0;
const FLASH: usize = 1;
const GC: usize = 2;
const USE: usize = 3;
const SCHEMES: usize = 4;

/// The group that a path's column is in; none if the table does not have it.
fn group_of(path: &str) -> Option<usize> {
    match path.split('.').next().unwrap_or_default() {
        _ if OF_GC.contains(&path) => Some(GC),
        "breakdown_ns" if of_feature(path) => Some(FIXED),
        "flash" => Some(FLASH),
        "utilisation" | "wear" => Some(USE),
        of if TAKEN.contains(&of) => None,
        _ => Some(SCHEMES),
    }
}

/// Whether a path is that of a cause of an optional feature, which summaries of devices without the feature lack.
fn of_feature(path: &str) -> bool {
    let cause = ["breakdown_ns.read.", "breakdown_ns.write."].iter().find_map(|op| path.strip_prefix(op));
    cause.is_some_and(|cause| Extra::ALL.iter().any(|extra| extra.name() == cause))
}

/// Columns while they are filled, row by row.
struct Columns {
    rows: usize,
    paths: Paths,
    /// By number of a path: its column, once the path is met; none if the table does not have it. Threads number the paths, so
    /// numbers say nothing of the order.
    places: Vec<Option<Option<usize>>>,
    columns: Vec<Numbers>,
    /// The group and path of each column, in the order in which they are met.
    names: Vec<(usize, String)>,
}

impl Columns {
    fn new(rows: usize) -> Columns {
        let (paths, places) = (Paths::default(), Vec::new());
        let mut new = Columns { rows, paths, places, columns: Vec::new(), names: Vec::new() };
        for (name, path) in measures() {
            let number = new.paths.number(&path);
            new.add(number, FIXED, name);
        }
        for path in OF_GC {
            new.add(new.paths.number(path), GC, path.into());
        }
        new
    }

    fn add(&mut self, number: usize, group: usize, name: String) {
        self.places.resize(self.places.len().max(number + 1), None);
        self.places[number] = Some(Some(self.columns.len()));
        self.columns.push(Numbers::empty(self.rows));
        self.names.push((group, name));
    }

    fn set(&mut self, row: usize, (number, figure): (usize, Figure)) {
        self.places.resize(self.places.len().max(number + 1), None);
        if self.places[number].is_none() {
            let path = self.paths.path(number);
            match group_of(&path) {
                Some(group) => self.add(number, group, path),
                None => self.places[number] = Some(None),
            }
        }
        if let Some(Some(place)) = self.places[number] {
            self.columns[place].set(row, figure);
        }
    }

    /// Names and columns in the order of the table.
    fn end(self) -> (Vec<String>, Vec<Numbers>) {
        let mut all: Vec<((usize, String), Numbers)> = self.names.into_iter().zip(self.columns).collect();
        // Sections of schemes appear with the first run that has them: their order must not depend on it.
        let scheme = |(group, name): &(usize, String)| (*group == SCHEMES).then(|| name.clone());
        all.sort_by_cached_key(|(name, _)| (name.0, scheme(name)));
        all.into_iter().map(|((_, name), numbers)| (name, numbers)).unzip()
    }
}

/// The measures of a study by run.
pub struct Rows<'p> {
    points: &'p Points,
    runs: Vec<Run>,
    standing: Vec<Standing>,
    rules: Vec<Option<String>>,
    names: Vec<String>,
    columns: Vec<Numbers>,
    /// Places of measures that may have a ratio, and the ratios by run.
    ratios: Vec<(usize, Vec<Option<f64>>)>,
    perf: [Numbers; 2],
}

impl<'p> Rows<'p> {
    /// Reads the records of a study.
    ///
    /// # Errors
    /// The store can't be read.
    pub fn of(points: &'p Points, store: &Store) -> Result<Rows<'p>> {
        let survey = Survey::of(points, Some(store))?;
        let runs = survey.runs();
        let mut standing: Vec<Standing> = Vec::with_capacity(runs.len());
        let mut rules = Vec::with_capacity(runs.len());
        let mut columns = Columns::new(runs.len());
        let mut perf = [Numbers::empty(runs.len()), Numbers::empty(runs.len())];
        // A chunk at a time, so that memory does not grow with the study; records are read by all cores, and taken in order.
        for (chunk, first) in runs.chunks(CHUNK).zip((0..).step_by(CHUNK)) {
            let read = |run: &Run| Loaded::of(points, &survey, store, run, &columns.paths);
            for (loaded, row) in parallel::map(chunk, read).into_iter().zip(first..) {
                let loaded = loaded?;
                loaded.figures.into_iter().for_each(|figure| columns.set(row, figure));
                if let Some(cost) = loaded.cost {
                    perf[0].set(row, Figure::Real(cost.cpu_s));
                    cost.peak_rss_bytes.into_iter().for_each(|bytes| perf[1].set(row, Figure::Whole(bytes)));
                }
                standing.push(loaded.standing);
                rules.push(loaded.rule);
            }
        }
        perf[0].real |= perf[0].known.iter().all(|known| !known);
        let (names, columns) = columns.end();
        let mut rows = Rows { points, runs, standing, rules, names, columns, ratios: Vec::new(), perf };
        rows.compare();
        Ok(rows)
    }

    /// Ratios to the baseline with the same other axes and seed.
    fn compare(&mut self) {
        let bases = self.points.baseline();
        if bases.iter().all(Option::is_none) {
            return;
        }
        let rows: HashMap<(usize, u64), usize> =
            self.runs.iter().enumerate().map(|(row, run)| ((run.point, run.seed), row)).collect();
        let base: Vec<Option<usize>> =
            self.runs.iter().map(|run| rows.get(&(bases[run.point]?, run.seed)).copied()).collect();
        let ratio = |column: &Numbers| {
            let of = |row: usize| {
                let (own, other) = (column.value(row)?, column.value(base[row]?)?);
                (other != 0.0).then(|| own / other)
            };
            (0..self.runs.len()).map(of).collect()
        };
        self.ratios = self.columns.iter().enumerate().map(|(place, column)| (place, ratio(column))).collect();
    }

    /// Names of the columns that are neither axes nor figures.
    const OWN: [(&'static str, CellKind); 6] = [
        ("study", CellKind::Text),
        ("point", CellKind::Number),
        ("key", CellKind::Text),
        ("status", CellKind::Text),
        ("rule", CellKind::MaybeText),
        ("seed", CellKind::Number),
    ];

    /// The type of an axis.
    fn axis(&self, axis: usize) -> CellKind {
        let values = || self.points.points.iter().map(|point| &point.items[axis].shown);
        match () {
            () if values().all(|shown| matches!(shown, Shown::Whole(value) if *value >= 0)) => CellKind::Maybe,
            () if values().all(|shown| !matches!(shown, Shown::Text(_))) => CellKind::Real,
            () => CellKind::MaybeText,
        }
    }

    /// Writes the table.
    ///
    /// # Errors
    /// As [`Sheet::begin`] and [`Sheet::row`].
    pub fn write(&self, place: &Place, shape: Shape) -> Result<Ended> {
        let axes: Vec<(String, CellKind)> =
            self.points.study.axes.iter().enumerate().map(|(i, axis)| (axis.label.clone(), self.axis(i))).collect();
        let mut columns: Vec<(String, CellKind)> =
            Self::OWN.iter().map(|(name, kind)| ((*name).into(), *kind)).collect();
        columns.extend(axes.iter().cloned());
        let ratios = self.ratios.iter().map(|(place, _)| format!("ratio.{}", self.names[*place]));
        let mut measures: Vec<(String, CellKind)> =
            self.names.iter().cloned().zip(self.columns.iter().map(Numbers::kind)).collect();
        measures.extend(ratios.map(|name| (name, CellKind::Real)));
        if !shape.no_perf {
            measures.extend([("cpu_s".into(), CellKind::Real), ("peak_rss_bytes".into(), CellKind::Maybe)]);
        }
        match shape.tidy {
            true => columns.extend([("measure".into(), CellKind::Text), ("value".into(), CellKind::Real)]),
            false => columns.extend(measures.iter().cloned()),
        }
        let names: Vec<(&str, CellKind)> = columns.iter().map(|(name, kind)| (name.as_str(), *kind)).collect();
        let mut sheet = Sheet::begin("-o", place, &names)?;
        for row in 0..self.runs.len() {
            let values = self.axes_of(row, &axes);
            if !shape.tidy {
                sheet.row(self.head(row, &values).into_iter().chain(self.figures(row, shape)))?;
                continue;
            }
            for ((measure, _), figure) in measures.iter().zip(self.figures(row, shape)) {
                let value = match figure {
                    Cell::Maybe(value) => value.map(|value| value as f64),
                    Cell::Real(value) => value,
                    _ => None,
                };
                if value.is_some() {
                    sheet.row(self.head(row, &values).into_iter().chain([Cell::Text(measure), Cell::Real(value)]))?;
                }
            }
        }
        sheet.finish()
    }

    fn figures(&self, row: usize, shape: Shape) -> Vec<Cell<'_>> {
        let measured = self.columns.iter().map(|column| column.cell(row));
        let ratios = self.ratios.iter().map(|(_, ratios)| Cell::Real(ratios[row]));
        let perf = [Cell::Real(self.perf[0].value(row)), self.perf[1].cell(row)];
        measured.chain(ratios).chain(perf.into_iter().filter(|_| !shape.no_perf)).collect()
    }

    /// The values of a run's axes, as their columns have them.
    fn axes_of(&self, row: usize, axes: &[(String, CellKind)]) -> Vec<Shown> {
        let point = &self.points.points[self.runs[row].point];
        let value = |((_, kind), item): (&(String, CellKind), &Item)| match (kind, &item.shown) {
            (CellKind::Maybe, Shown::Whole(value)) => Shown::Whole(*value),
            (CellKind::Real, Shown::Whole(value)) => Shown::Real(*value as f64),
            (CellKind::Real, Shown::Real(value)) => Shown::Real(*value),
            (_, shown) => Shown::Text(shown.text()),
        };
        axes.iter().zip(&point.items).map(value).collect()
    }

    /// What a row begins with.
    fn head<'r>(&'r self, row: usize, axes: &'r [Shown]) -> Vec<Cell<'r>> {
        let run = &self.runs[row];
        let mut cells = vec![
            Cell::Text(&self.points.study.name),
            Cell::Number(self.points.points[run.point].number),
            Cell::Text(&run.key),
            Cell::Text(self.standing[row].name()),
            Cell::MaybeText(self.rules[row].as_deref()),
            Cell::Number(run.seed),
        ];
        cells.extend(axes.iter().map(|value| match value {
            Shown::Whole(value) => Cell::Maybe(Some(*value as u64)),
            Shown::Real(value) => Cell::Real(Some(*value)),
            Shown::Text(text) => Cell::MaybeText(Some(text)),
        }));
        cells
    }

    /// How many runs have a result, and how many were asked for.
    pub fn complete(&self) -> (u64, u64) {
        let done = self.standing.iter().filter(|stands| matches!(stands, Standing::Done | Standing::Refused)).count();
        (done as u64, self.runs.len() as u64)
    }
}
