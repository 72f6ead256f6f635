//! The same requests on several configurations, each variant compared with the first.

use std::fmt;
use std::ops::RangeInclusive;
use std::path::Path;

use serde_json::{Map, Value as Json, json};
use ssdlab_sim::report::Summary;

use crate::error::{Error, Result};
use crate::files::Files;
use crate::input::{Opened, Origin, Requests};
use crate::names::clip;
use crate::outcome::Outcome;
use crate::output::{Finished, whole};
use crate::policies::Policies;
use crate::results::sheet::{Cell, CellKind, Ended, Place, Sheet, csv_row};
use crate::settings::Sources;
use crate::tree;
use crate::variants::axes::{self, Axis, Variant};
use crate::variants::figures::{Figure, METRICS, Metric, base, judge, judge_shown};
use crate::variants::points::{self, Board, Point, sweep};
use crate::variants::tenants;

/// Seeds that every variant is run with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seeds {
    /// The first one; the others follow it.
    pub first: u64,
    /// How many, at least one.
    pub count: u64,
}

impl Seeds {
    /// The last one.
    pub fn last(self) -> u64 {
        self.first + (self.count - 1)
    }

    fn all(self) -> RangeInclusive<u64> {
        self.first..=self.last()
    }
}

/// Runs that have been checked but not started.
pub struct Planned {
    axes: Vec<Axis>,
    seeds: Seeds,
    variants: Vec<Variant>,
    /// By variant.
    names: Vec<String>,
    /// Names of tenants of any variant.
    tenants: Vec<String>,
    sources: Sources,
}

/// The results.
pub struct Comparison {
    /// What was varied.
    pub axes: Vec<Axis>,
    /// What each variant was run with.
    pub seeds: Seeds,
    /// One row per variant, the baseline first; the baseline is never refused.
    pub rows: Vec<Row>,
    /// Names of tenants of any variant: those that have columns.
    pub tenants: Vec<String>,
}

/// A variant and its figures.
pub struct Row {
    /// The variant in a few words.
    pub name: String,
    /// Its values and its configuration, and why it was refused, if it was.
    pub variant: Variant,
    /// By seed; none where the configuration was refused.
    pub outcomes: Vec<Outcome>,
    /// By metric, in the order of [`METRICS`]; none where a run had nothing to count.
    pub figures: Vec<Option<Figure>>,
    /// The same of its tenants.
    pub tenants: Vec<tenants::Of>,
}

/// A caution with the variants that it concerns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caution {
    /// The reason.
    pub what: Doubt,
    /// Numbers of variants, from 1.
    pub variants: Vec<usize>,
}

/// A reason to distrust a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// More arrives than the device can serve.
    Overloaded,
    /// Write amplification changes from the first half of the writes to the second.
    NotSteady,
    /// Pages were written, but GC never ran.
    NoGc,
    /// The requests are not those of the first variant.
    OtherRequests,
}

impl fmt::Display for Caution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers = self.variants.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let text = match self.what {
            Doubt::Overloaded => {
                "overloaded: more arrives than the device can serve, so latency grows with the length of the run"
            }
            Doubt::NotSteady => "write amplification is not steady",
            Doubt::NoGc => "GC did not run",
            Doubt::OtherRequests => {
                "the requests differ from those of variant 1: the device has another size or queue depth"
            }
        };
        write!(f, "{numbers}: {text}")
    }
}

/// Requests that every variant can read.
///
/// # Errors
/// They come from standard input, a pipe or a device.
pub fn can_be_read_again(requests: &Requests) -> Result<()> {
    match &requests.from {
        Origin::Trace(trace) if !trace.can_be_read_again() => {
            let what = if trace.name() == "-" { "standard input".into() } else { clip(&trace.name()) };
            Err(Error::usage(format!("{what} can be read only once, and every variant reads the trace"))
                .help("save the trace to a file"))
        }
        Origin::Tenants(tenants) => tenants.iter().try_for_each(|tenant| can_be_read_again(&tenant.requests)),
        _ => Ok(()),
    }
}

impl Planned {
    /// Spans the axes over a configuration; at most `most` runs.
    ///
    /// # Errors
    /// A preset is given twice, there are more runs or seeds than allowed, a value can't be read, or the first variant breaks a rule.
    pub fn new(sources: &Sources, axes: Vec<Axis>, seeds: Seeds, most: u64) -> Result<Planned> {
        axes::agree(&axes, sources)?;
        axes::points(&axes, seeds.count, most)?;
        if seeds.first.checked_add(seeds.count - 1).is_none() {
            return Err(
                Error::usage("--seed and --repeat: the last seed would be beyond 64 bits").help("use a smaller --seed")
            );
        }
        let variants = axes::variants(sources, &axes)?;
        baseline(&variants)?;
        let names = variants.iter().map(|variant| name(variant, &axes)).collect();
        let mut tenants: Vec<String> = Vec::new();
        for variant in variants.iter().filter(|variant| variant.refused.is_none()) {
            let new: Vec<String> =
                variant.settings.config.tenants().into_iter().filter(|name| !tenants.contains(name)).collect();
            tenants.extend(new);
        }
        Ok(Planned { axes, seeds, variants, names, tenants, sources: sources.clone() })
    }

    /// Gives every variant policies from outside.
    ///
    /// # Errors
    /// An axis varies a slot of one of them, or the first variant breaks a rule with them.
    pub fn with(mut self, policies: &Policies) -> Result<Planned> {
        if policies.is_empty() {
            return Ok(self);
        }
        policies.agree(self.axes.iter().map(|axis| axis.key.as_str()))?;
        for variant in &mut self.variants {
            policies.put(&mut variant.settings.config);
            variant.refused = variant.settings.config.check().err();
        }
        baseline(&self.variants)?;
        Ok(self)
    }

    /// Takes the names of tenants from the requests, if they name any; otherwise tenants are the queues of the variants.
    pub fn of(mut self, requests: &Requests) -> Planned {
        if let Origin::Tenants(tenants) = &requests.from {
            self.tenants = tenants.iter().map(|tenant| tenant.name.clone()).collect();
        }
        self
    }

    /// Registers the files that the variants and the requests are read from.
    pub fn read_by(&self, requests: &Opened, files: &mut Files) {
        self.sources.read_by(files);
        requests.read_by(files);
        let named = self.axes.iter().filter(|axis| axis.key == "file").flat_map(|axis| &axis.values);
        named.for_each(|path| files.reads("--vary file", Path::new(path)));
    }

    /// Names of the summaries of all runs, refused ones included.
    pub fn summary_names(&self) -> impl Iterator<Item = String> {
        (1..=self.variants.len()).flat_map(|number| self.seeds.all().map(move |seed| summary_name(number, seed)))
    }

    /// Begins a table of the rows.
    ///
    /// # Errors
    /// As [`Sheet::begin`].
    pub fn sheet(&self, place: &Place) -> Result<Sheet> {
        let columns = columns(&self.axes, self.seeds, &self.tenants, self.wears());
        let columns: Vec<(&str, CellKind)> = columns.iter().map(|(name, kind)| (name.as_str(), *kind)).collect();
        Sheet::begin("--rows", place, &columns)
    }

    /// Whether blocks of a variant wear out.
    fn wears(&self) -> bool {
        self.variants.iter().any(|variant| variant.settings.config.life.exists())
    }

    /// Variants that no rule refuses, by their places.
    fn good(&self) -> Vec<usize> {
        (0..self.variants.len()).filter(|v| self.variants[*v].refused.is_none()).collect()
    }

    /// The runs, seed by seed.
    pub fn points(&self, requests: &Requests) -> Vec<Point> {
        let good = self.good();
        let seeds = self.seeds.all().flat_map(|seed| good.iter().map(move |v| (seed, *v)));
        seeds
            .map(|(seed, v)| Point {
                name: format!("variant {} ({})", v + 1, self.names[v]),
                config: self.variants[v].settings.config.clone(),
                requests: requests.clone(),
                seed,
            })
            .collect()
    }

    /// Runs all variants that are not refused.
    ///
    /// # Errors
    /// As [`sweep`].
    pub fn run(self, points: &[Point], plan: &points::Plan, board: &dyn Board) -> Result<Comparison> {
        let outcomes = sweep(points, plan, board)?;
        let good = self.good();
        let mut by_variant: Vec<Vec<Outcome>> = self.variants.iter().map(|_| Vec::new()).collect();
        for (i, outcome) in outcomes.into_iter().enumerate() {
            by_variant[good[i % good.len()]].push(outcome);
        }
        let values = |outcomes: &[Outcome], metric: &Metric| -> Option<Vec<f64>> {
            let values: Option<Vec<f64>> = outcomes.iter().map(|outcome| (metric.of)(&outcome.summary)).collect();
            values.filter(|values| !values.is_empty())
        };
        let base: Vec<Option<Vec<f64>>> = METRICS.iter().map(|metric| values(&by_variant[0], metric)).collect();
        let figure = |number: usize, (metric, base): (&Metric, &Option<Vec<f64>>)| {
            let (own, base) = (values(&by_variant[number], metric)?, base.as_deref()?);
            Some(if number == 0 { Figure::first(own) } else { Figure::new(own, base) })
        };
        let by_metric = |number| METRICS.iter().zip(&base).map(|of| figure(number, of)).collect();
        let mut figures: Vec<Vec<Option<Figure>>> = (0..by_variant.len()).map(by_metric).collect();
        judge_shown(figures.iter_mut());
        let first = |number: usize| (number > 0).then_some(&by_variant[0][..]);
        let of = |(number, outcomes): (usize, &Vec<Outcome>)| tenants::of(outcomes, first(number));
        let mut of_tenants: Vec<Vec<tenants::Of>> = by_variant.iter().enumerate().map(of).collect();
        judge(of_tenants.iter_mut().flatten().flat_map(tenants::Of::shown_mut));
        let named = self.variants.into_iter().zip(self.names).zip(by_variant);
        let rows = named.zip(figures).zip(of_tenants);
        let rows = rows.map(|((((variant, name), outcomes), figures), tenants)| Row {
            name,
            variant,
            outcomes,
            figures,
            tenants,
        });
        Ok(Comparison { rows: rows.collect(), axes: self.axes, seeds: self.seeds, tenants: self.tenants })
    }
}

/// Refuses variants whose first one breaks a rule.
fn baseline(variants: &[Variant]) -> Result<()> {
    match &variants[0].refused {
        Some(error) => Err(variants[0].settings.refuse(error).note("the first variant is the baseline of all others")),
        None => Ok(()),
    }
}

/// A variant in a few words: its values, with the names of their keys where there are several.
fn name(variant: &Variant, axes: &[Axis]) -> String {
    let value = |(axis, text): (&Axis, &String)| match axis.key.as_str() {
        "file" => Path::new(text).file_stem().map_or(text.clone(), |stem| stem.to_string_lossy().into_owned()),
        _ => text.trim_matches('"').to_string(),
    };
    if axes.is_empty() {
        return "as given".into();
    }
    axes.iter().zip(&variant.values).map(value).collect::<Vec<_>>().join(", ")
}

/// The file name of a summary: number and seed, since a value may hold any character.
fn summary_name(variant: usize, seed: u64) -> String {
    format!("{variant}-{seed}.json")
}

/// Endings of the columns that several seeds add to a figure.
const SEVERAL: [&str; 7] =
    ["_deviation", "_difference", "_half_width", "_ratio_low", "_ratio_high", "_p_value", "_q_value"];

/// Columns of CSV and Parquet: the variant, then each figure with its ratio, and its spread where there is one. The figures of
/// tenants follow.
fn columns(axes: &[Axis], seeds: Seeds, tenants: &[String], wears: bool) -> Vec<(String, CellKind)> {
    let mut columns = vec![("variant".to_string(), CellKind::Number)];
    columns.extend(axes.iter().map(|axis| (plain(&axis.key), CellKind::Text)));
    columns.extend(["config_digest", "refused"].map(|name| (name.to_string(), CellKind::Text)));
    let told = METRICS.iter().filter(|metric| metric.is_told(wears));
    let mut keys: Vec<String> = told.map(|metric| metric.key.to_string()).collect();
    for name in tenants {
        keys.extend(tenants::METRICS.iter().map(|metric| format!("tenants.{name}.{}", metric.key)));
    }
    for key in keys {
        let several: &[&str] = if seeds.count > 1 { &SEVERAL } else { &[] };
        let endings = ["", "_ratio"].iter().chain(several);
        columns.extend(endings.map(|ending| (format!("{key}{ending}"), CellKind::Real)));
    }
    columns
}

/// A key as the name of a column: Parquet takes letters, digits and underlines everywhere.
fn plain(key: &str) -> String {
    key.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

/// What several seeds tell of a figure, in the order of [`SEVERAL`].
fn several(figure: &Figure) -> [Option<f64>; SEVERAL.len()] {
    let (low, high) = figure.interval.unzip();
    [figure.deviation, Some(figure.difference), figure.half_width, low, high, figure.chance, figure.discovery]
}

impl Comparison {
    /// Whether blocks of a variant wear out.
    fn wears(&self) -> bool {
        self.rows.iter().any(|row| row.variant.settings.config.life.exists())
    }

    /// Hands out the rows, with a cell for each column.
    fn entries(&self, mut each: impl FnMut(Vec<Cell<'_>>) -> Result<()>) -> Result<()> {
        let wears = self.wears();
        for (number, row) in (1..).zip(&self.rows) {
            let digest = row.variant.settings.digest();
            let refused = row.variant.refused.as_ref().map_or(String::new(), ToString::to_string);
            let mut entries = vec![Cell::Number(number)];
            entries.extend(row.variant.values.iter().chain([&digest, &refused]).map(|text| Cell::Text(text)));
            let of_tenant = |name: &String| {
                let tenant = row.tenants.iter().find(|tenant| tenant.name == *name);
                (0..tenants::METRICS.len()).map(move |m| tenant.and_then(|tenant| tenant.figures[m].as_ref()))
            };
            let told = METRICS.iter().zip(&row.figures).filter(|(metric, _)| metric.is_told(wears));
            let own = told.map(|(_, figure)| figure.as_ref());
            for figure in own.chain(self.tenants.iter().flat_map(of_tenant)) {
                entries.extend([figure.map(|f| f.mean), figure.and_then(|f| f.ratio)].map(Cell::Real));
                if self.seeds.count > 1 {
                    entries.extend(figure.map_or([None; SEVERAL.len()], several).map(Cell::Real));
                }
            }
            each(entries)?;
        }
        Ok(())
    }

    /// Writes all rows into a sheet that [`Planned::sheet`] began.
    ///
    /// # Errors
    /// As [`Sheet::row`] and [`Sheet::finish`].
    pub fn write(&self, mut sheet: Sheet) -> Result<Ended> {
        self.entries(|row| sheet.row(row.into_iter()))?;
        sheet.finish()
    }

    /// All rows as CSV.
    ///
    /// # Errors
    /// None that the caller can cause.
    pub fn csv(&self) -> Result<String> {
        let names = columns(&self.axes, self.seeds, &self.tenants, self.wears()).into_iter().map(|(name, _)| name);
        let mut out = names.collect::<Vec<_>>().join(",") + "\n";
        self.entries(|row| {
            csv_row(&mut out, row.into_iter());
            Ok(())
        })?;
        Ok(out)
    }

    /// Writes the summary of every run into a directory.
    ///
    /// # Errors
    /// A file can't be written.
    pub fn write_summaries(&self, directory: &Path) -> Result<Vec<Finished>> {
        let mut finished = Vec::new();
        for (number, row) in self.rows.iter().enumerate() {
            for outcome in &row.outcomes {
                let path = directory.join(summary_name(number + 1, outcome.summary.seed));
                finished.push(whole(&path, outcome.json().as_bytes())?);
            }
        }
        Ok(finished)
    }

    /// The remarks of the readers, each once.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks: Vec<String> = Vec::new();
        let outcomes = self.rows.iter().flat_map(|row| &row.outcomes);
        for remark in outcomes.flat_map(|outcome| outcome.chosen.iter().chain(&outcome.remarks)) {
            if !remarks.contains(remark) {
                remarks.push(remark.clone());
            }
        }
        remarks
    }

    /// Reasons to distrust the comparison.
    pub fn cautions(&self) -> Vec<Caution> {
        type Holds = fn(&Summary) -> bool;
        let table: [(Doubt, Holds); 3] = [
            (Doubt::Overloaded, |s| s.overload.is_some()),
            (Doubt::NotSteady, |s| s.write_amplification_halves.as_ref().is_some_and(|halves| !halves.steady)),
            (Doubt::NoGc, |s| s.gc.collections == 0 && s.pages.written > 0),
        ];
        let numbers = |wanted: &dyn Fn(&Row) -> bool| -> Vec<usize> {
            self.rows.iter().enumerate().filter(|(_, row)| wanted(row)).map(|(i, _)| i + 1).collect()
        };
        let first = &self.rows[0].outcomes;
        let other =
            |row: &Row| row.outcomes.iter().zip(first).any(|(a, b)| a.summary.trace_digest != b.summary.trace_digest);
        let doubts = table
            .iter()
            .map(|(what, holds)| (*what, numbers(&|row| row.outcomes.iter().any(|one| holds(&one.summary)))))
            .chain([(Doubt::OtherRequests, numbers(&other))]);
        doubts.filter(|(_, variants)| !variants.is_empty()).map(|(what, variants)| Caution { what, variants }).collect()
    }

    /// Everything, for programs: the contract `ssdlab.compare/1`, as the bytes of its file.
    pub fn json(&self) -> String {
        let (several, wears) = (self.seeds.count > 1, self.wears());
        let variant = |(number, row): (usize, &Row)| {
            let values = self.axes.iter().zip(&row.variant.values);
            let set: Map<String, Json> = values.map(|(axis, value)| (axis.key.clone(), json!(value))).collect();
            let digest = row.variant.settings.digest();
            let mut entry = json!({ "variant": number + 1, "set": set, "config_digest": digest });
            if let Some(error) = &row.variant.refused {
                entry["refused"] = json!({ "key": error.key, "rule": error.message, "help": error.help });
                return entry;
            }
            entry["trace_digests"] = row.outcomes.iter().map(|o| json!(o.summary.trace_digest)).collect();
            let figures: Map<String, Json> = METRICS
                .iter()
                .zip(&row.figures)
                .filter(|(metric, _)| metric.is_told(wears))
                .map(|(metric, figure)| metric.entry(figure.as_ref(), several))
                .collect();
            entry["figures"] = Json::Object(figures);
            if !row.tenants.is_empty() {
                entry["tenants"] = tenants::json(&row.tenants, several);
            }
            entry
        };
        let varied = self.axes.iter().map(|axis| json!({ "key": axis.key, "values": axis.values }));
        let first: Json = serde_json::from_str(&self.rows[0].outcomes[0].json()).unwrap_or_default();
        tree::json(&json!({
            "schema": "ssdlab.compare/1",
            "version": env!("CARGO_PKG_VERSION"),
            "workload": self.rows[0].outcomes[0].about,
            "base": base(&first),
            "seeds": { "first": self.seeds.first, "count": self.seeds.count },
            "varied": varied.collect::<Vec<_>>(),
            "cautions": self.cautions().iter().map(ToString::to_string).collect::<Vec<_>>(),
            "variants": self.rows.iter().enumerate().map(variant).collect::<Vec<_>>(),
        }))
    }
}
