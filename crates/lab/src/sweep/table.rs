//! The table of a study: one row a run, or one a run and measure. Its bytes do not depend on shards, except what runs cost.

use std::collections::HashMap;

use serde_json::Value as Json;
use ssdlab_sim::blame::CAUSES;

use crate::error::Result;
use crate::results::sheet::{Cell, Ended, Kind, Place, Sheet};
use crate::sweep::axis::Shown;
use crate::sweep::cost::Cost;
use crate::sweep::parallel;
use crate::sweep::points::{Points, Run};
use crate::sweep::status::{Standing, Survey};
use crate::sweep::store::Store;

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

    fn set(&mut self, row: usize, value: &serde_json::Number) {
        let whole = value.as_u64().filter(|value| i64::try_from(*value).is_ok());
        match whole {
            Some(value) if !self.real => self.bits[row] = value,
            _ => {
                if !self.real {
                    self.real = true;
                    self.bits.iter_mut().for_each(|bits| *bits = (*bits as f64).to_bits());
                }
                self.bits[row] = value.as_f64().unwrap_or(f64::NAN).to_bits();
            }
        }
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

    fn kind(&self) -> Kind {
        if self.real { Kind::Real } else { Kind::Maybe }
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
    all
}

/// Sections that are flattened, in their order; those of schemes follow as they stand in summaries.
const SECTIONS: [&str; 1] = ["flash"];
const AFTER: [&str; 2] = ["gc.collections", "gc.moved_pages"];
const LAST: [&str; 2] = ["utilisation", "wear"];
/// Sections of which the table has what it has.
const TAKEN: [&str; 8] =
    ["requests", "pages", "bytes", "latency_ns", "waiting_ns", "breakdown_ns", "write_amplification", "gc"];

fn flatten(path: &str, value: &Json, out: &mut Vec<(String, serde_json::Number)>) {
    match value {
        Json::Number(number) => out.push((path.into(), number.clone())),
        Json::Object(entries) => {
            for (key, value) in entries {
                flatten(&format!("{path}.{key}"), value, out);
            }
        }
        _ => {}
    }
}

/// Runs whose records are in memory at a time.
const CHUNK: usize = 1024;

/// What the table has of a run.
struct Loaded {
    standing: Standing,
    rule: Option<String>,
    /// By fixed measure.
    fixed: Vec<Option<serde_json::Number>>,
    /// Everything else by path.
    flat: Vec<(String, serde_json::Number)>,
    cost: Option<Cost>,
}

impl Loaded {
    fn of(
        points: &Points,
        survey: &Survey<'_>,
        store: &Store,
        run: &Run,
        fixed: &[(String, String)],
    ) -> Result<Loaded> {
        let mut loaded = Loaded {
            standing: survey.standing(run, store),
            rule: points.points[run.point].refused.clone(),
            fixed: Vec::new(),
            flat: Vec::new(),
            cost: None,
        };
        if let Standing::Failure(failure) = &loaded.standing {
            loaded.rule = Some(failure.message.clone());
        }
        if !matches!(loaded.standing, Standing::Done | Standing::Refused) {
            return Ok(loaded);
        }
        let Some(read) = store.read::<Json>(&run.key)? else {
            loaded.standing = Standing::Left;
            return Ok(loaded);
        };
        loaded.rule = read.rule.or(loaded.rule);
        let summary = read.summary.unwrap_or_default();
        let number = |path: &str| match path.split('.').try_fold(&summary, |value, part| value.get(part)) {
            Some(Json::Number(number)) => Some(number.clone()),
            _ => None,
        };
        loaded.fixed = fixed.iter().map(|(_, path)| number(path)).collect();
        let flat = &mut loaded.flat;
        for (section, value) in summary.as_object().into_iter().flatten() {
            let section = section.as_str();
            if section == "gc" {
                flatten(section, value, flat);
                flat.retain(|(path, _)| !path.starts_with("gc.") || AFTER.contains(&path.as_str()));
            } else if !LEFT_OUT.contains(&section) && !TAKEN.contains(&section) && section != "simulated_ns" {
                flatten(section, value, flat);
            }
        }
        loaded.cost = store.cost(&run.key);
        Ok(loaded)
    }
}

/// The group that a path's column is in: flash, gc, utilisation and wear, schemes.
fn group_of(path: &str) -> usize {
    match path.split('.').next().unwrap_or_default() {
        of if SECTIONS.contains(&of) => 0,
        "gc" => 1,
        of if LAST.contains(&of) => 2,
        _ => 3,
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
        let fixed = measures();
        let mut names: Vec<String> = fixed.iter().map(|(name, _)| name.clone()).collect();
        let mut columns: Vec<Numbers> = vec![Numbers::empty(runs.len()); fixed.len()];
        // Sections by group of order: flash, gc, utilisation and wear, schemes.
        let mut others: [Vec<String>; 4] = Default::default();
        others[1] = AFTER.map(String::from).to_vec();
        let mut place: HashMap<String, (usize, usize)> = HashMap::new();
        let mut found: [Vec<Numbers>; 4] = Default::default();
        found[1] = vec![Numbers::empty(runs.len()); AFTER.len()];
        place.extend(AFTER.iter().enumerate().map(|(i, name)| (String::from(*name), (1, i))));
        let mut perf = [Numbers::empty(runs.len()), Numbers::empty(runs.len())];
        let read = |run: &Run| Loaded::of(points, &survey, store, run, &fixed);
        // A chunk at a time, so that memory does not grow with the study; records are read by all cores, and taken in order.
        for (chunk, first) in runs.chunks(CHUNK).zip((0..).step_by(CHUNK)) {
            for (loaded, row) in parallel::map(chunk, &read).into_iter().zip(first..) {
                let loaded = loaded?;
                for (value, column) in loaded.fixed.iter().zip(&mut columns) {
                    value.iter().for_each(|number| column.set(row, number));
                }
                for (path, number) in loaded.flat {
                    let (group, at) = *place.entry(path).or_insert_with_key(|path| {
                        let group = group_of(path);
                        others[group].push(path.clone());
                        found[group].push(Numbers::empty(runs.len()));
                        (group, others[group].len() - 1)
                    });
                    found[group][at].set(row, &number);
                }
                if let Some(cost) = loaded.cost {
                    serde_json::Number::from_f64(cost.cpu_s).iter().for_each(|number| perf[0].set(row, number));
                    cost.peak_rss_bytes.iter().for_each(|bytes| perf[1].set(row, &(*bytes).into()));
                }
                standing.push(loaded.standing);
                rules.push(loaded.rule);
            }
        }
        perf[0].real |= perf[0].known.iter().all(|known| !known);
        for (group, (paths, numbers)) in others.into_iter().zip(found).enumerate() {
            let mut both: Vec<(String, Numbers)> = paths.into_iter().zip(numbers).collect();
            // Sections of schemes appear with the first run that has them: their order must not depend on it.
            if group == 3 {
                both.sort_by(|a, b| a.0.cmp(&b.0));
            }
            let (paths, numbers): (Vec<_>, Vec<_>) = both.into_iter().unzip();
            names.extend(paths);
            columns.extend(numbers);
        }
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
    const OWN: [(&'static str, Kind); 6] = [
        ("study", Kind::Text),
        ("point", Kind::Number),
        ("key", Kind::Text),
        ("status", Kind::Text),
        ("rule", Kind::MaybeText),
        ("seed", Kind::Number),
    ];

    /// The type of an axis.
    fn axis(&self, axis: usize) -> Kind {
        let values = || self.points.points.iter().map(|point| &point.items[axis].shown);
        match () {
            () if values().all(|shown| matches!(shown, Shown::Whole(value) if *value >= 0)) => Kind::Maybe,
            () if values().all(|shown| !matches!(shown, Shown::Text(_))) => Kind::Real,
            () => Kind::MaybeText,
        }
    }

    /// Writes the table.
    ///
    /// # Errors
    /// As [`Sheet::begin`] and [`Sheet::row`].
    pub fn write(&self, place: &Place, shape: Shape) -> Result<Ended> {
        let axes: Vec<(String, Kind)> =
            self.points.study.axes.iter().enumerate().map(|(i, axis)| (axis.label.clone(), self.axis(i))).collect();
        let mut columns: Vec<(String, Kind)> = Self::OWN.iter().map(|(name, kind)| ((*name).into(), *kind)).collect();
        columns.extend(axes.iter().cloned());
        let ratios = self.ratios.iter().map(|(place, _)| format!("ratio.{}", self.names[*place]));
        let mut measures: Vec<(String, Kind)> =
            self.names.iter().cloned().zip(self.columns.iter().map(Numbers::kind)).collect();
        measures.extend(ratios.map(|name| (name, Kind::Real)));
        if !shape.no_perf {
            measures.extend([("cpu_s".into(), Kind::Real), ("peak_rss_bytes".into(), Kind::Maybe)]);
        }
        match shape.tidy {
            true => columns.extend([("measure".into(), Kind::Text), ("value".into(), Kind::Real)]),
            false => columns.extend(measures.iter().cloned()),
        }
        let names: Vec<(&str, Kind)> = columns.iter().map(|(name, kind)| (name.as_str(), *kind)).collect();
        let mut sheet = Sheet::begin("-o", place, &names)?;
        for row in 0..self.runs.len() {
            let head = self.head(row, &axes);
            if !shape.tidy {
                sheet.row(head.cells(self, row).into_iter().chain(self.figures(row, shape)))?;
                continue;
            }
            for ((measure, _), figure) in measures.iter().zip(self.figures(row, shape)) {
                let value = match figure {
                    Cell::Maybe(value) => value.map(|value| value as f64),
                    Cell::Real(value) => value,
                    _ => None,
                };
                if value.is_some() {
                    sheet.row(head.cells(self, row).into_iter().chain([Cell::Text(measure), Cell::Real(value)]))?;
                }
            }
        }
        sheet.finish()
    }

    /// The figures of a run.
    fn figures(&self, row: usize, shape: Shape) -> Vec<Cell<'_>> {
        let measured = self.columns.iter().map(|column| column.cell(row));
        let ratios = self.ratios.iter().map(|(_, ratios)| Cell::Real(ratios[row]));
        let perf = [Cell::Real(self.perf[0].value(row)), self.perf[1].cell(row)];
        measured.chain(ratios).chain(perf.into_iter().filter(|_| !shape.no_perf)).collect()
    }

    fn head(&self, row: usize, axes: &[(String, Kind)]) -> Head {
        let point = &self.points.points[self.runs[row].point];
        let axes = axes.iter().zip(&point.items).map(|((_, kind), item)| match (kind, &item.shown) {
            (Kind::Maybe, Shown::Whole(value)) => Value::Whole(*value as u64),
            (Kind::Real, Shown::Whole(value)) => Value::Real(*value as f64),
            (_, Shown::Real(value)) if *kind == Kind::Real => Value::Real(*value),
            (_, shown) => Value::Text(shown.text()),
        });
        Head { number: point.number, axes: axes.collect() }
    }

    /// How many runs have a result, and how many were asked for.
    pub fn complete(&self) -> (u64, u64) {
        let done = self.standing.iter().filter(|stands| matches!(stands, Standing::Done | Standing::Refused)).count();
        (done as u64, self.runs.len() as u64)
    }
}

/// What a row begins with.
struct Head {
    number: u64,
    axes: Vec<Value>,
}

enum Value {
    Whole(u64),
    Real(f64),
    Text(String),
}

impl Head {
    fn cells<'r>(&'r self, rows: &'r Rows<'_>, row: usize) -> Vec<Cell<'r>> {
        let run = &rows.runs[row];
        let mut cells = vec![
            Cell::Text(&rows.points.study.name),
            Cell::Number(self.number),
            Cell::Text(&run.key),
            Cell::Text(rows.standing[row].name()),
            Cell::MaybeText(rows.rules[row].as_deref()),
            Cell::Number(run.seed),
        ];
        cells.extend(self.axes.iter().map(|value| match value {
            Value::Whole(value) => Cell::Maybe(Some(*value)),
            Value::Real(value) => Cell::Real(Some(*value)),
            Value::Text(text) => Cell::MaybeText(Some(text)),
        }));
        cells
    }
}
