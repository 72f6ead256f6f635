//! The study file: a base configuration, requests, axes, and how points and seeds are chosen.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use ssdlab_sim::units::{Bytes, Nanos};
use ssdlab_trace::{LbaPolicy, Trace};
use toml::{Table, Value};

use crate::error::{Error, Result};
use crate::input::{Origin, Reading, Requests, Tenant, When};
use crate::names::{clip, nearest};
use crate::settings::{Document, Sources, argument, known_keys};
use crate::sweep::axis::{self, Axis, Change, Cut, Grain, Item, OTHERS, Range, Shown, Values};
use crate::sweep::draw::{Design, SOBOL_AXES, shares};
use crate::sweep::text::Text;
use crate::text::count;

/// The schema of studies.
pub const SCHEMA: &str = "ssdlab.study/1";
/// Most runs of a study.
pub const MOST_RUNS: u64 = 1_000_000;

/// Which seeds a point is run with.
#[derive(Clone, Debug, PartialEq)]
pub enum Repeat {
    /// These.
    Seeds(Vec<u64>),
    /// From 1 on in batches of three, until an interval is narrow enough.
    Until(Until),
}

/// When a point has enough seeds.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Until {
    /// Dotted path of a number in the summary.
    pub measure: String,
    /// Half the width of the 95 % confidence interval, as a share of the mean.
    pub half_width: f64,
    /// Most seeds.
    pub most: u64,
}

/// Limits of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Of its wall time, in nanoseconds.
    pub wall_ns: Option<u64>,
    /// Of the memory that its device needs, in bytes.
    pub memory_bytes: Option<u64>,
}

/// A study as read and checked, before any configuration is merged.
#[derive(Clone, Debug)]
pub struct Study {
    /// Its name: `[a-z0-9-]{1,64}`.
    pub name: String,
    /// The file.
    pub text: Text,
    /// Configuration of every point.
    pub base: Sources,
    /// Requests of every point; the origin is what no axis gives.
    pub requests: Requests,
    /// Whether runs have no time.
    pub count_only: bool,
    /// In the order of the file, the first varying slowest.
    pub axes: Vec<Axis>,
    /// By point: one value an axis.
    pub choices: Vec<Vec<Item>>,
    /// Points that the design has and `exclude` takes out.
    pub excluded: u64,
    /// Seeds.
    pub repeat: Repeat,
    /// Limits of every run.
    pub limits: Limits,
    /// Axis and value of the baseline, if there is one.
    pub baseline: Vec<(usize, Item)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    schema: String,
    name: String,
    #[serde(default)]
    base: Base,
    #[serde(default)]
    input: Input,
    #[serde(default)]
    axes: Table,
    #[serde(default)]
    design: DesignFile,
    #[serde(default)]
    repeat: RepeatFile,
    #[serde(default)]
    limits: LimitsFile,
    #[serde(default)]
    baseline: Table,
}

/// What studies and fleets share.
pub(crate) struct Space {
    pub design: DesignFile,
    pub repeat: RepeatFile,
    pub limits: LimitsFile,
    pub baseline: Table,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Base {
    pub preset: Option<String>,
    pub files: Vec<PathBuf>,
    pub set: Table,
}

#[derive(Deserialize, Default)]
#[serde(untagged)]
enum Several {
    #[default]
    None,
    One(String),
    Many(Vec<String>),
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Input {
    workload: Option<String>,
    workloads: Option<Vec<String>>,
    tenants: Option<Vec<String>>,
    trace: Option<String>,
    traces: Several,
    pub limit: Option<u64>,
    #[serde(rename = "loop")]
    pub loops: Option<u32>,
    pub time_scale: Option<Value>,
    pub replay: Option<String>,
    pub lba_policy: Option<String>,
    pub format: Option<String>,
    pub device: Option<String>,
    pub on_bad_line: Option<String>,
    pub time_order: Option<String>,
    pub op_codes: Option<String>,
    pub within_second: Option<String>,
    pub max_request: Option<Bytes>,
    pub count_only: bool,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    Grid,
    Random,
    Lhs,
    Sobol,
    List,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct DesignFile {
    kind: Kind,
    points: Option<u64>,
    seed: u64,
    zip: Vec<Vec<String>>,
    exclude: Vec<Table>,
    list: Option<Value>,
}

impl Default for DesignFile {
    fn default() -> Self {
        DesignFile { kind: Kind::Grid, points: None, seed: 1, zip: Vec::new(), exclude: Vec::new(), list: None }
    }
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RepeatFile {
    seeds: Option<Value>,
    until: Option<Until>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct LimitsFile {
    wall: Option<String>,
    memory: Option<Bytes>,
}

/// Checks the first two keys of a file.
pub(crate) fn heading(text: &Text, schema: &str, expected: &str, name: &str) -> Result<()> {
    if schema != expected {
        return Err(text
            .error("schema", false, format!("schema: `{}` is not {expected}", clip(schema)))
            .help(format!("write schema = \"{expected}\"")));
    }
    let plain = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    if name.is_empty() || name.len() > 64 || !name.bytes().all(plain) {
        return Err(text
            .error("name", false, format!("name: `{}` is not a name", clip(name)))
            .help("use 1 to 64 of a to z, 0 to 9 and -"));
    }
    Ok(())
}

impl Study {
    /// Reads a study.
    ///
    /// # Errors
    /// The file can't be read, or a key of it is wrong; configurations are not merged yet.
    pub fn open(path: &Path) -> Result<Study> {
        let (text, table) = Text::open("study", path)?;
        Study::of(text, table)
    }

    /// A study from a text in memory; relative paths begin at `directory`.
    ///
    /// # Errors
    /// As [`Study::open`].
    pub fn parse(name: &str, content: &str, directory: &Path) -> Result<Study> {
        let (text, table) = Text::new(name.into(), content.into(), directory.into())?;
        Study::of(text, table)
    }

    fn of(text: Text, table: Table) -> Result<Study> {
        if let Some(Value::Table(input)) = table.get("input") {
            whole(&text, input)?;
        }
        let file: File = text.read(table)?;
        heading(&text, &file.schema, SCHEMA, &file.name)?;
        let base = file.base.sources(&text);
        let mut axes = axes(&text, &file.axes)?;
        let (requests, count_only) = file.input.requests(&text, &mut axes)?;
        // Points of a list may be given without axes: their keys are the axes.
        if axes.is_empty() && matches!(file.design.kind, Kind::List) {
            axes = listed_axes(&text, &file.design)?;
        }
        let File { design, repeat, limits, baseline, .. } = file;
        Study::assemble(file.name, text, base, requests, count_only, axes, Space { design, repeat, limits, baseline })
    }

    /// A study from its parts.
    pub(crate) fn assemble(
        name: String,
        text: Text,
        base: Sources,
        requests: Requests,
        count_only: bool,
        axes: Vec<Axis>,
        space: Space,
    ) -> Result<Study> {
        let repeat = repeat(&text, &space.repeat)?;
        let limits = limits(&text, &space.limits)?;
        if base.preset.is_some() && axes.iter().any(|axis| axis.key == "preset") {
            return Err(text
                .error("base.preset", true, "both base.preset and an axis `preset`")
                .help("leave base.preset out"));
        }
        let mut study = Study {
            name,
            text,
            base,
            requests,
            count_only,
            axes,
            choices: Vec::new(),
            excluded: 0,
            repeat,
            limits,
            baseline: Vec::new(),
        };
        study.once(&space.design)?;
        study.choices = study.design(&space.design)?;
        let all = study.choices.len() as u64;
        study.exclude(&space.design)?;
        study.excluded = all - study.choices.len() as u64;
        study.baseline = study.chosen("baseline", &space.baseline)?;
        Ok(study)
    }

    /// Refuses a value that a list has twice, unless the axis moves with another.
    fn once(&self, design: &DesignFile) -> Result<()> {
        let zipped = |axis: &&Axis| design.zip.iter().flatten().any(|key| axis.key == *key || axis.label == *key);
        for axis in self.axes.iter().filter(|axis| !zipped(axis)) {
            let Values::List(items) = &axis.values else { continue };
            for (i, item) in items.iter().enumerate() {
                if items[..i].iter().any(|other| other.same == item.same) {
                    let message = format!("{}: the value `{}` is given twice", axis.key, clip(&item.shown.text()));
                    let several = format!("input.{}s[{i}]", axis.key);
                    let place = format!("axes.{}[{i}]", axis.key);
                    let place = if self.text.has(&several) { several } else { place };
                    return Err(self.text.error(&place, false, message).help("give it once"));
                }
            }
        }
        Ok(())
    }

    /// The same study with other points: by point and axis, the place of a value in a list, or a number in a range.
    ///
    /// # Errors
    /// A choice is beyond its axis.
    pub fn at(&self, choices: &[Vec<f64>]) -> Result<Study> {
        let point = |numbers: &Vec<f64>| -> Result<Vec<Item>> {
            if numbers.len() != self.axes.len() {
                return Err(Error::usage(format!("{} values for {} axes", numbers.len(), self.axes.len())));
            }
            let choose = |(axis, number): (&Axis, &f64)| {
                let beyond = || Error::usage(format!("{}: {number} is beyond the axis", axis.label));
                axis.chosen(*number).ok_or_else(beyond)
            };
            self.axes.iter().zip(numbers).map(choose).collect()
        };
        let choices = choices.iter().map(point).collect::<Result<_>>()?;
        Ok(Study { choices, excluded: 0, ..self.clone() })
    }

    /// Most seeds of a point.
    pub fn most_seeds(&self) -> u64 {
        match &self.repeat {
            Repeat::Seeds(seeds) => seeds.len() as u64,
            Repeat::Until(until) => until.most,
        }
    }

    /// Axis and value of each key of a table.
    fn chosen(&self, path: &str, table: &Table) -> Result<Vec<(usize, Item)>> {
        let mut chosen = Vec::new();
        for (key, value) in flat(table, &|_| false) {
            let at = format!("{path}.{key}");
            let axis = self.place(&at, &key)?;
            chosen.push((axis, self.value(&at, axis, &value)?));
        }
        Ok(chosen)
    }

    /// The axis of a key.
    fn place(&self, at: &str, key: &str) -> Result<usize> {
        let found = self.axes.iter().position(|axis| axis.key == key || axis.label == key);
        found.ok_or_else(|| {
            let known = || self.axes.iter().map(|axis| axis.key.as_str());
            let help = match nearest(key, known()) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("the axes are {}", known().collect::<Vec<_>>().join(", ")),
            };
            self.text.error(at, true, format!("no axis is called `{}`", clip(key))).help(help)
        })
    }

    /// A value of an axis: by name where values have names.
    fn value(&self, at: &str, axis: usize, value: &Value) -> Result<Item> {
        let axis = &self.axes[axis];
        let named = |item: &&Item| matches!(&item.shown, Shown::Text(text) if value.as_str() == Some(text));
        if let Some(item) = axis.items().iter().find(named) {
            return Ok(item.clone());
        }
        if let Some(message) = several(axis) {
            let names: Vec<String> = axis.items().iter().map(|item| item.shown.text()).collect();
            return Err(self.text.error(at, false, message).help(format!("the values are {}", names.join(", "))));
        }
        axis::item(&axis.key, value).map_err(|message| self.text.error(at, false, format!("{}: {message}", axis.key)))
    }

    /// The points of the design.
    fn design(&self, design: &DesignFile) -> Result<Vec<Vec<Item>>> {
        let kind = match design.kind {
            Kind::Grid => Design::Grid,
            Kind::Random => Design::Random,
            Kind::Lhs => Design::Lhs,
            Kind::Sobol => Design::Sobol,
            Kind::List => Design::List,
        };
        let dimensions = self.dimensions(design, kind)?;
        match kind {
            Design::List => return self.listed(design),
            Design::Grid => {
                let sizes: Vec<u64> = dimensions.iter().map(|axes| self.axes[axes[0]].items().len() as u64).collect();
                let factors = sizes.iter().copied().chain([self.most_seeds()]);
                self.few(factors.clone().try_fold(1u64, u64::checked_mul), factors)?;
                let points: u64 = sizes.iter().product();
                let point = |number: u64| {
                    let mut rest = number;
                    let mut items = vec![None; self.axes.len()];
                    for (axes, size) in dimensions.iter().zip(&sizes).rev() {
                        for axis in axes {
                            items[*axis] = Some(self.axes[*axis].items()[(rest % size) as usize].clone());
                        }
                        rest /= size;
                    }
                    items.into_iter().flatten().collect()
                };
                return Ok((0..points).map(point).collect());
            }
            _ => {}
        }
        let points = design.points.filter(|points| *points > 0).ok_or_else(|| {
            self.text.error("design.points", false, "design.points: how many points?").help("give points = 64")
        })?;
        if kind == Design::Sobol && dimensions.len() > SOBOL_AXES {
            let message = format!("{} axes, more than the {SOBOL_AXES} of a Sobol design", dimensions.len());
            return Err(self.text.error("design.kind", false, message).help("use kind = \"lhs\""));
        }
        let factors = [points, self.most_seeds()].into_iter();
        self.few(points.checked_mul(self.most_seeds()), factors)?;
        let drawn = shares(kind, points, dimensions.len(), design.seed);
        let point = |shares: &Vec<crate::sweep::draw::Share>| {
            let mut items = vec![None; self.axes.len()];
            for (axes, share) in dimensions.iter().zip(shares) {
                axes.iter().for_each(|axis| items[*axis] = Some(self.axes[*axis].at(*share)));
            }
            items.into_iter().flatten().collect()
        };
        Ok(drawn.iter().map(point).collect())
    }

    /// Refuses more runs than a study may have.
    fn few(&self, runs: Option<u64>, factors: impl Iterator<Item = u64>) -> Result<()> {
        match runs {
            Some(runs) if runs <= MOST_RUNS => Ok(()),
            _ => {
                let factors = factors.map(|n| n.to_string()).collect::<Vec<_>>().join(" x ");
                let message = format!("{factors} runs, more than {}", count(MOST_RUNS));
                Err(self
                    .text
                    .error("axes", true, message)
                    .help("vary fewer keys or values, or draw points (kind = \"lhs\")"))
            }
        }
    }

    /// The axes that move together, in the order of the first of each.
    fn dimensions(&self, design: &DesignFile, kind: Design) -> Result<Vec<Vec<usize>>> {
        let mut group: Vec<Option<usize>> = vec![None; self.axes.len()];
        for (i, keys) in design.zip.iter().enumerate() {
            let path = format!("design.zip[{i}]");
            for (k, key) in keys.iter().enumerate() {
                let axis = self.place(&format!("{path}[{k}]"), key)?;
                if group[axis].replace(i).is_some() {
                    let message = format!("`{}` is zipped twice", clip(key));
                    return Err(self.text.error(&format!("{path}[{k}]"), false, message).help("name it once"));
                }
            }
            let of = |axis: &usize| group[*axis] == Some(i);
            let lengths: Vec<usize> =
                (0..self.axes.len()).filter(of).map(|axis| self.axes[axis].items().len()).collect();
            if kind == Design::Grid && lengths.windows(2).any(|pair| pair[0] != pair[1]) {
                let lengths = lengths.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ");
                let message = format!("axes that move together have {lengths} values");
                return Err(self.text.error(&path, false, message).help("give them equally many values"));
            }
        }
        let mut dimensions: Vec<Vec<usize>> = Vec::new();
        for axis in 0..self.axes.len() {
            match group[axis].and_then(|zip| dimensions.iter_mut().find(|axes| group[axes[0]] == Some(zip))) {
                Some(axes) => axes.push(axis),
                None => dimensions.push(vec![axis]),
            }
        }
        Ok(dimensions)
    }

    /// Points as listed.
    fn listed(&self, design: &DesignFile) -> Result<Vec<Vec<Item>>> {
        let wrong = |message: String, help: &str| self.text.error("design.list", false, message).help(help);
        let list = design
            .list
            .as_ref()
            .ok_or_else(|| wrong("design.list: which points?".into(), "give list = [{ KEY = VALUE }]"))?;
        let rows = rows(&self.text, list)?;
        let mut points = Vec::new();
        for (i, row) in rows.iter().enumerate() {
            let at = format!("design.list[{i}]");
            for key in row.keys() {
                self.place(&at, key)?;
            }
            let mut items = Vec::new();
            for (axis, of) in self.axes.iter().enumerate() {
                let Some(value) = row.get(&of.key).or_else(|| row.get(&of.label)) else {
                    let message = format!("point {} gives no value for `{}`", i + 1, of.key);
                    return Err(self.text.error(&at, false, message).help("give every axis in every point"));
                };
                items.push(self.value(&format!("{at}.{}", of.key), axis, value)?);
            }
            points.push(items);
        }
        let factors = [points.len() as u64, self.most_seeds()].into_iter();
        self.few(factors.clone().try_fold(1, u64::checked_mul), factors)?;
        Ok(points)
    }

    /// Takes points out.
    fn exclude(&mut self, design: &DesignFile) -> Result<()> {
        for (i, table) in design.exclude.iter().enumerate() {
            let path = format!("design.exclude[{i}]");
            let out = self.chosen(&path, table)?;
            if out.is_empty() {
                return Err(self
                    .text
                    .error(&path, false, "design.exclude: an empty table excludes nothing")
                    .help("remove it"));
            }
            self.choices.retain(|items| !out.iter().all(|(axis, item)| items[*axis].same == item.same));
        }
        Ok(())
    }
}

/// The axes that a list of points names: the keys of its first point, with all values that they take.
fn listed_axes(text: &Text, design: &DesignFile) -> Result<Vec<Axis>> {
    let keys = known_keys();
    let Some(list) = &design.list else { return Ok(Vec::new()) };
    let rows = rows(text, list)?;
    let mut axes = Vec::new();
    for key in rows.first().into_iter().flat_map(BTreeMap::keys) {
        let at = format!("design.list[0].{key}");
        if !OTHERS.contains(&key.as_str()) {
            known(text, &at, key, &keys)?;
        }
        let mut items: Vec<Item> = Vec::new();
        for value in rows.iter().filter_map(|row| row.get(key)) {
            let item = axis::item(key, value).map_err(|message| text.error(&at, false, format!("{key}: {message}")))?;
            if items.iter().all(|other| other.same != item.same) {
                items.push(item);
            }
        }
        axes.push(Axis { key: key.clone(), label: key.clone(), values: Values::List(items) });
    }
    Ok(axes)
}

/// Why values of an axis are named: each changes several keys.
fn several(axis: &Axis) -> Option<String> {
    let named = axis.items().iter().any(|item| item.changes.len() != 1);
    named.then(|| format!("`{}` has no such value", axis.key))
}

/// The rows of a list of points: tables, or a file of CSV.
fn rows(text: &Text, list: &Value) -> Result<Vec<BTreeMap<String, Value>>> {
    match list {
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(i, item)| match item {
                Value::Table(table) => Ok(flat(table, &|_| false).into_iter().collect()),
                _ => {
                    Err(text.error(&format!("design.list[{i}]"), false, "design.list: expected a table of axis values"))
                }
            })
            .collect(),
        Value::String(name) => {
            let path = text.path(name);
            let bad = |error: &csv::Error| Error::usage(format!("{}: {error}", path.display()));
            let content = crate::files::read_text("list of points", &path)?;
            let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(content.as_bytes());
            let header: Vec<String> = reader.headers().map_err(|error| bad(&error))?.iter().map(String::from).collect();
            let mut rows = Vec::new();
            for record in reader.records() {
                let record = record.map_err(|error| bad(&error))?;
                rows.push(header.iter().cloned().zip(record.iter().map(word)).collect());
            }
            Ok(rows)
        }
        _ => Err(text.error(
            "design.list",
            false,
            "design.list: expected tables of axis values, or the name of a CSV file",
        )),
    }
}

/// A cell of CSV as a value: TOML where it is, a text otherwise.
fn word(text: &str) -> Value {
    let table: std::result::Result<Table, _> = format!("v = {text}").parse();
    table.ok().and_then(|mut table| table.remove("v")).unwrap_or_else(|| Value::String(text.into()))
}

/// Dotted keys and values of a table; a table that `is_value` accepts, or that is not nested keys, is a value.
fn flat(table: &Table, is_value: &dyn Fn(&Table) -> bool) -> Vec<(String, Value)> {
    let mut out = Vec::new();
    for (key, value) in table {
        match value {
            Value::Table(inner) if !is_value(inner) && !key.contains('.') && key != "schemes" => {
                out.extend(flat(inner, is_value).into_iter().map(|(leaf, value)| (format!("{key}.{leaf}"), value)));
            }
            value => out.push((key.clone(), value.clone())),
        }
    }
    out
}

/// Keys that would cut a trace.
const CUTS: [&str; 10] = ["parts", "part", "split", "cut", "window", "windows", "chunks", "from", "to", "skip"];

/// Refuses to run parts of a trace by themselves, in words.
fn whole(text: &Text, input: &Table) -> Result<()> {
    let Some(key) = CUTS.into_iter().find(|key| input.contains_key(*key)) else { return Ok(()) };
    Err(text
        .error(
            &format!("input.{key}"),
            true,
            format!("input.{key}: a trace of one device is never cut in time and run in parts"),
        )
        .note("the state of the device at the cut is unknown, and any guess at a warm-up changes the tail")
        .help(
            "run the whole trace, or its first requests with `limit`; `ssdlab trace split` divides a trace by volume",
        ))
}

impl Base {
    /// The layers of the configuration.
    pub(crate) fn sources(self, text: &Text) -> Sources {
        let files = self.files.iter().map(|file| Document::File(text.directory.join(file))).collect();
        let keys = text.ordered("base.set", &self.set);
        let sets = keys.into_iter().map(|(key, value)| format!("{key}={}", argument(value))).collect();
        Sources { preset: self.preset, files, sets, ..Sources::default() }
    }
}

impl Input {
    /// The requests; several workloads or traces become the first axis.
    fn requests(self, text: &Text, axes: &mut Vec<Axis>) -> Result<(Requests, bool)> {
        let several = matches!(self.traces, Several::One(_) | Several::Many(_));
        let given: Vec<&str> = [
            ("input.workload", self.workload.is_some()),
            ("input.workloads", self.workloads.is_some()),
            ("input.tenants", self.tenants.is_some()),
            ("input.trace", self.trace.is_some()),
            ("input.traces", several),
            ("axes.workload", gives(axes, |change| matches!(change, Change::Workload(_)))),
            ("axes.trace", gives(axes, |change| matches!(change, Change::Trace(_)))),
        ]
        .into_iter()
        .filter_map(|(name, given)| given.then_some(name))
        .collect();
        match given[..] {
            [_] => {}
            [] => {
                return Err(text
                    .error("input", true, "no requests")
                    .help("give one of workload, workloads, trace, traces and tenants in [input]"));
            }
            [_, second, ..] => {
                return Err(text
                    .error(second, true, format!("more than one source of requests: {}", given.join(", ")))
                    .help("give exactly one of workload, workloads, trace, traces and tenants"));
            }
        }
        let mut requests = Requests::new(Origin::Spec(String::new()));
        if let Some(name) = &self.workload {
            requests.from = origin(text, name);
        }
        if let Some(path) = &self.trace {
            requests.from = Origin::Trace(trace(text, "input.trace", path)?);
        }
        if let Some(list) = &self.tenants {
            requests.from = Origin::Tenants(list.iter().map(|one| tenant(text, one)).collect::<Result<_>>()?);
        }
        let several = match (&self.workloads, &self.traces) {
            (Some(names), _) => Some(("workloads", "workload", names.clone())),
            (None, Several::One(pattern)) => Some(("traces", "trace", found(text, pattern)?)),
            (None, Several::Many(paths)) => Some(("traces", "trace", paths.clone())),
            _ => None,
        };
        if let Some((key, axis, values)) = several {
            let path = format!("input.{key}");
            let values = values.into_iter().map(Value::String).collect();
            axes.insert(0, list(text, &path, axis, axis.into(), values)?);
        }
        self.options(text, &mut requests)?;
        Ok((requests, self.count_only))
    }

    /// The options of reading and replay.
    pub(crate) fn options(&self, text: &Text, requests: &mut Requests) -> Result<()> {
        fn parsed<T: std::str::FromStr<Err = String>>(
            text: &Text,
            key: &str,
            value: Option<&String>,
        ) -> Result<Option<T>> {
            let parse = |value: &String| {
                let wrong = |error| {
                    text.error(&format!("input.{key}"), false, format!("input.{key}: `{}`: {error}", clip(value)))
                };
                value.parse().map_err(wrong)
            };
            value.map(parse).transpose()
        }
        if self.limit == Some(0) || self.loops == Some(0) {
            let key = if self.limit == Some(0) { "input.limit" } else { "input.loop" };
            return Err(text.error(key, false, format!("{key}: expected a whole number from 1 on")));
        }
        requests.limit = self.limit;
        requests.loops = self.loops.unwrap_or(1);
        let wrong = |error| text.error("input.time_scale", false, format!("input.time_scale: {error}"));
        requests.time_scale = self.time_scale.as_ref().map(axis::scale).transpose().map_err(wrong)?;
        requests.replay = match self.replay.as_deref() {
            None => None,
            Some("arrival") => Some(When::Arrival),
            Some("closed") => Some(When::Closed),
            Some(other) => {
                let message = format!("input.replay: `{}` is not one of its values", clip(other));
                return Err(text.error("input.replay", false, message).help("the values are arrival, closed"));
            }
        };
        requests.lba_policy = parsed::<LbaPolicy>(text, "lba_policy", self.lba_policy.as_ref())?.unwrap_or_default();
        let usual = Reading::default();
        requests.reading = Reading {
            format: self.format.clone().unwrap_or(usual.format),
            device: self.device.clone(),
            on_bad_line: parsed(text, "on_bad_line", self.on_bad_line.as_ref())?.unwrap_or(usual.on_bad_line),
            time_order: parsed(text, "time_order", self.time_order.as_ref())?.unwrap_or(usual.time_order),
            op_codes: parsed(text, "op_codes", self.op_codes.as_ref())?.unwrap_or(usual.op_codes),
            within_second: parsed(text, "within_second", self.within_second.as_ref())?.unwrap_or(usual.within_second),
            max_request: self.max_request.map_or(usual.max_request, |bytes| bytes.0),
        };
        requests.reading.options().map(drop)
    }
}

/// Whether an axis changes something in each of its values.
fn gives(axes: &[Axis], of: impl Fn(&Change) -> bool) -> bool {
    axes.iter().any(|axis| axis.items().iter().all(|item| item.changes.iter().any(&of)))
}

/// A workload: one that comes with the program, or a file beside the study.
pub(crate) fn origin(text: &Text, name: &str) -> Origin {
    let bundled = ssdlab_trace::workload::named(name).is_some();
    let name = if bundled || Path::new(name).extension().is_none_or(|ending| ending != "toml") {
        name.into()
    } else {
        text.path(name).display().to_string()
    };
    Origin::Workload { name, recordings: None }
}

/// A tenant, whose file is beside the study.
fn tenant(text: &Text, given: &str) -> Result<Tenant> {
    let wrong = |error: Error| {
        let message = error.message.replacen("--tenant", "input.tenants", 1);
        error.help.iter().fold(text.error("input.tenants", false, message), |error, help| error.help(help.as_str()))
    };
    let mut tenant = Tenant::parse(given).map_err(wrong)?;
    tenant.requests.from = match &tenant.requests.from {
        Origin::Workload { name, .. } => origin(text, name),
        Origin::Trace(file) => Origin::Trace(trace(text, "input.tenants", &file.name())?),
        other => other.clone(),
    };
    Ok(tenant)
}

fn trace(text: &Text, at: &str, path: &str) -> Result<Trace> {
    if path == "-" {
        let message = "standard input can be read only once, and every run reads the trace";
        return Err(text.error(at, false, message).help("save the trace to a file"));
    }
    Ok(text.path(path).into())
}

/// The files that a pattern names, sorted.
fn found(text: &Text, pattern: &str) -> Result<Vec<String>> {
    let wrong = |message: String| text.error("input.traces", false, format!("input.traces: {message}"));
    let whole = text.path(pattern).display().to_string();
    let paths = glob::glob(&whole).map_err(|error| wrong(error.to_string()))?;
    let mut paths: Vec<String> = paths.flatten().map(|path| path.display().to_string()).collect();
    paths.sort();
    if paths.is_empty() {
        return Err(wrong(format!("no file matches {}", clip(pattern))).help("patterns are relative to the study"));
    }
    Ok(paths)
}

/// An axis with a list of values.
fn list(text: &Text, at: &str, key: &str, label: String, values: Vec<Value>) -> Result<Axis> {
    if values.is_empty() {
        return Err(text.error(at, false, format!("{key}: no values")).help("give at least one"));
    }
    let mut items: Vec<Item> = Vec::new();
    for (i, value) in values.iter().enumerate() {
        let place = format!("{at}[{i}]");
        let item = axis::item(key, value).map_err(|message| text.error(&place, false, format!("{key}: {message}")))?;
        items.push(item);
    }
    Ok(Axis { key: key.into(), label, values: Values::List(items) })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RangeFile {
    from: Value,
    to: Value,
    steps: Option<u64>,
    #[serde(default)]
    scale: ScaleFile,
}

#[derive(Deserialize, Default, PartialEq)]
#[serde(rename_all = "lowercase")]
enum ScaleFile {
    #[default]
    Linear,
    Log2,
    Log,
}

/// What numbers of a key become.
fn grain(key: &str, from: &Value, to: &Value) -> Option<Grain> {
    let size = |text: &str| text.parse::<Bytes>().is_ok();
    if let (Some(from), Some(to)) = (from.as_str(), to.as_str()) {
        return match from.parse::<Nanos>().is_ok() && to.parse::<Nanos>().is_ok() {
            true => Some(Grain::Time),
            false => (size(from) && size(to)).then_some(Grain::Size),
        };
    }
    let number = |value: &Value| matches!(value, Value::Integer(_) | Value::Float(_));
    if !number(from) || !number(to) {
        return None;
    }
    let schema = crate::schema::root_schema().to_value();
    let (section, leaf) = key.split_once('.').unwrap_or((key, ""));
    let inner = crate::schema::resolve(&schema["definitions"], &schema["properties"][section]);
    let of = &inner["properties"][leaf]["type"];
    let named = |name: &str| of == name || of.as_array().is_some_and(|of| of.iter().any(|of| of == name));
    let whole = named("integer") || key == "limit" || (!named("number") && from.is_integer() && to.is_integer());
    Some(if whole { Grain::Whole } else { Grain::Micro })
}

/// An axis with a range of values.
fn range(text: &Text, at: &str, key: &str, table: &Table) -> Result<Axis> {
    let wrong =
        |leaf: &str, message: String| text.error(&format!("{at}.{leaf}"), leaf.is_empty(), format!("{key}: {message}"));
    let read: std::result::Result<RangeFile, _> = serde_path_to_error::deserialize(Value::Table(table.clone()));
    let file = read.map_err(|error| {
        let path = error.path().to_string();
        wrong(if path == "." { "" } else { &path }, crate::settings::plain_types(error.inner().message().trim()))
            .help("a range is { from = 0.07, to = 0.28, steps = 4 }, or { from = 1, to = 256, scale = \"log2\" }")
    })?;
    let Some(grain) = grain(key, &file.from, &file.to) else {
        return Err(wrong("from", "expected two numbers, two durations or two sizes".into())
            .help("a range is { from = 0.07, to = 0.28, steps = 4 }"));
    };
    let number = |value: &Value| match (grain, value) {
        (Grain::Time, Value::String(text)) => text.parse::<Nanos>().map_or(0.0, |ns| ns.0 as f64),
        (Grain::Size, Value::String(text)) => text.parse::<Bytes>().map_or(0.0, |bytes| bytes.0 as f64),
        (_, Value::Integer(number)) => *number as f64,
        (_, other) => other.as_float().unwrap_or(f64::NAN),
    };
    let (from, to) = (number(&file.from), number(&file.to));
    if !(from.is_finite() && to.is_finite() && from < to) {
        return Err(wrong("to", "a range goes up: `from` is less than `to`".into()));
    }
    let cut = if file.scale == ScaleFile::Linear { Cut::Linear } else { Cut::Log };
    if cut == Cut::Log && from <= 0.0 {
        return Err(wrong("from", "a logarithmic range begins above 0".into()));
    }
    match file.steps {
        Some(0) => return Err(wrong("steps", "expected a whole number from 1 on".into())),
        Some(steps) if steps > MOST_RUNS => return Err(wrong("steps", format!("more than {}", count(MOST_RUNS)))),
        None if file.scale != ScaleFile::Log2 => {
            return Err(wrong("", "how many values?".into()).help("give steps = N; only scale = \"log2\" needs none"));
        }
        _ => {}
    }
    let range = Range { from, to, steps: file.steps, cut, grain };
    let mut items: Vec<Item> = Vec::new();
    for value in range.grid() {
        let item = axis::item(key, &value).map_err(|message| wrong("from", message))?;
        items.push(item);
    }
    Ok(Axis { key: key.into(), label: key.into(), values: Values::Range(range, items) })
}

/// An axis whose values have names and change several keys each.
fn named(text: &Text, at: &str, key: &str, table: &Table, keys: &[String]) -> Result<Axis> {
    if let Some(other) = table.keys().find(|other| *other != "label" && *other != "values") {
        let message = format!("{key}: unknown key `{}`", clip(other));
        return Err(text
            .error(&format!("{at}.{other}"), true, message)
            .help("named values are { label = \"...\", values = { NAME = { KEY = VALUE } } }"));
    }
    let label = match table.get("label") {
        None => key.to_string(),
        Some(Value::String(label)) if !label.is_empty() => label.clone(),
        Some(_) => return Err(text.error(&format!("{at}.label"), false, format!("{key}: a label is a text"))),
    };
    let path = format!("{at}.values");
    let Some(Value::Table(values)) = table.get("values") else {
        return Err(text.error(&path, false, format!("{key}: `values` is a table of named values")));
    };
    if values.is_empty() {
        return Err(text.error(&path, false, format!("{key}: no values")).help("give at least one"));
    }
    // Keys of values begin at the section that the axis names, if it names one.
    let section = keys.iter().any(|known| known.split('.').next() == Some(key));
    let mut items = Vec::new();
    for (name, value) in text.ordered(&path, values) {
        let place = format!("{path}.{name}");
        let Value::Table(sets) = value else {
            return Err(text.error(&place, false, format!("{key}: `{}` is not a table of keys", clip(name))));
        };
        let mut changes = Vec::new();
        for (leaf, value) in text.ordered(&place, sets) {
            let whole = if section { format!("{key}.{leaf}") } else { leaf.clone() };
            let at = format!("{place}.{leaf}");
            if !section && !OTHERS.contains(&whole.as_str()) {
                known(text, &at, &whole, keys)?;
            }
            let item =
                axis::item(&whole, value).map_err(|message| text.error(&at, false, format!("{whole}: {message}")))?;
            changes.extend(item.changes);
        }
        items.push(Item { shown: Shown::Text(name.clone()), changes, same: serde_json::Value::String(name.clone()) });
    }
    Ok(Axis { key: key.into(), label, values: Values::List(items) })
}

/// Refuses a key that no configuration has. Knobs of schemes are checked when configurations are merged.
fn known(text: &Text, at: &str, key: &str, keys: &[String]) -> Result<()> {
    let knob = || key.match_indices('.').nth(1).is_some_and(|(end, _)| keys.iter().any(|known| *known == key[..end]));
    if keys.iter().any(|known| known == key) || knob() {
        return Ok(());
    }
    let all = keys.iter().map(String::as_str).chain(OTHERS);
    let leaf = key.rsplit_once('.').map_or(key, |(_, leaf)| leaf);
    let meant = nearest(key, all.clone())
        .or_else(|| keys.iter().map(String::as_str).find(|known| known.ends_with(&format!(".{leaf}"))));
    let help = meant
        .map_or_else(|| "`ssdlab config reference` lists the keys".into(), |meant| format!("did you mean `{meant}`?"));
    Err(text.error(at, true, format!("{}: unknown key", clip(key))).help(help))
}

/// The axes in the order of the file.
pub(crate) fn axes(text: &Text, table: &Table) -> Result<Vec<Axis>> {
    let keys = known_keys();
    let mut out: Vec<Axis> = Vec::new();
    let mut pending: Vec<(String, String, Value)> = Vec::new();
    collect(text, "axes", "", table, &mut pending);
    for (at, key, value) in pending {
        let axis = match &value {
            Value::Table(table) if table.contains_key("values") => named(text, &at, &key, table, &keys)?,
            other => {
                if !OTHERS.contains(&key.as_str()) {
                    known(text, &at, &key, &keys)?;
                }
                match other {
                    Value::Array(values) => list(text, &at, &key, key.clone(), values.clone())?,
                    Value::Table(table) => range(text, &at, &key, table)?,
                    _ => {
                        return Err(text
                            .error(&at, false, format!("{key}: an axis is a list of values or a range"))
                            .help(format!("write [{other}] for one value, or set it in [base]")));
                    }
                }
            }
        };
        let twice = out.iter().any(|other| other.key == axis.key || other.label == axis.label);
        if twice {
            let message = format!("the axis `{}` is named twice", clip(&axis.label));
            return Err(text.error(&at, true, message).help("list all its values once"));
        }
        out.push(axis);
    }
    Ok(out)
}

/// Axes by dotted key: a table that is neither a range nor named values is the first part of a key.
fn collect(text: &Text, at: &str, prefix: &str, table: &Table, out: &mut Vec<(String, String, Value)>) {
    const OWN: [&str; 6] = ["from", "to", "steps", "scale", "values", "label"];
    for (key, value) in text.ordered(at, table) {
        let (at, key) = (format!("{at}.{key}"), crate::settings::join(prefix, key));
        match value {
            Value::Table(inner) if !inner.is_empty() && !inner.keys().any(|key| OWN.contains(&key.as_str())) => {
                collect(text, &at, &key, inner, out);
            }
            value => out.push((at, key, value.clone())),
        }
    }
}

fn repeat(text: &Text, file: &RepeatFile) -> Result<Repeat> {
    let wrong = |message: &str| text.error("repeat.seeds", false, format!("repeat.seeds: {message}"));
    match (&file.seeds, &file.until) {
        (Some(_), Some(_)) => {
            Err(text.error("repeat.until", true, "both repeat.seeds and repeat.until").help("give one of the two"))
        }
        (None, None) => Ok(Repeat::Seeds(vec![1])),
        (None, Some(until)) => {
            if until.most == 0 || until.half_width.is_nan() || until.half_width <= 0.0 {
                let message = "repeat.until: `most` is at least 1 and `half_width` above 0";
                return Err(text.error("repeat.until", false, message));
            }
            Ok(Repeat::Until(until.clone()))
        }
        (Some(Value::Integer(seeds)), None) if *seeds > 0 && *seeds as u64 <= MOST_RUNS => {
            Ok(Repeat::Seeds((1..=*seeds as u64).collect()))
        }
        (Some(Value::Array(list)), None) if !list.is_empty() => {
            let mut seeds: Vec<u64> = Vec::new();
            for seed in list {
                let seed = seed.as_integer().and_then(|seed| u64::try_from(seed).ok());
                let seed = seed.ok_or_else(|| wrong("a seed is a whole number, not negative"))?;
                if seeds.contains(&seed) {
                    return Err(wrong(&format!("seed {seed} is given twice")).help("give it once"));
                }
                seeds.push(seed);
            }
            Ok(Repeat::Seeds(seeds))
        }
        (Some(_), None) => Err(wrong("expected how many seeds (3 is 1, 2, 3), or a list of seeds")),
    }
}

fn limits(text: &Text, file: &LimitsFile) -> Result<Limits> {
    let wall_ns = match &file.wall {
        None => None,
        Some(wall) => Some(duration_ns(wall).map_err(|error| {
            text.error("limits.wall", false, format!("limits.wall: {error}")).help("write a duration such as \"30m\"")
        })?),
    };
    Ok(Limits { wall_ns, memory_bytes: file.memory.map(|bytes| bytes.0) })
}

/// A span of wall time: `90s`, `55m`, `1h 30m`, or as Slurm writes it, `1:00:00`.
///
/// # Errors
/// It is none.
pub fn duration_ns(text: &str) -> std::result::Result<u64, String> {
    let wrong = || format!("`{}` is not a duration", clip(text));
    if text.contains(':') {
        let (days, clock) =
            text.split_once('-').map_or((Some(0), text), |(days, clock)| (days.parse::<u64>().ok(), clock));
        let parts: Option<Vec<u64>> = clock.split(':').map(|part| part.parse().ok()).collect();
        let seconds = match (parts.as_deref(), days) {
            (Some([hours, minutes, seconds]), Some(days)) => days
                .checked_mul(24)
                .and_then(|h| h.checked_add(*hours))
                .and_then(|h| h.checked_mul(3600))
                .map(|s| s.saturating_add(minutes.saturating_mul(60)).saturating_add(*seconds)),
            (Some([minutes, seconds]), Some(0)) => minutes.checked_mul(60).and_then(|s| s.checked_add(*seconds)),
            _ => None,
        };
        return seconds.and_then(|s| s.checked_mul(1_000_000_000)).ok_or_else(wrong);
    }
    let time = humantime::parse_duration(text).map_err(|_| wrong())?;
    u64::try_from(time.as_nanos()).map_err(|_| wrong())
}
