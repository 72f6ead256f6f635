//! The points of a design: a grid, points that are drawn, or a list.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::{Table, Value};

use crate::axis::{self, Axis, Item, OTHERS, Values};
use crate::draw::{Design, SOBOL_AXES, shares};
use crate::study::axes::{MOST_RUNS, known};
use crate::study::choices::{Study, flat};
use crate::text::Text;
use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::names::clip;
use ssdlab_lab::settings::known_keys;
use ssdlab_lab::text::count;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct DesignFile {
    pub(super) kind: Design,
    points: Option<u64>,
    seed: u64,
    pub(super) zip: Vec<Vec<String>>,
    exclude: Vec<Table>,
    list: Option<Value>,
}

impl Default for DesignFile {
    fn default() -> Self {
        DesignFile { kind: Design::Grid, points: None, seed: 1, zip: Vec::new(), exclude: Vec::new(), list: None }
    }
}

impl Study {
    pub(super) fn design(&self, design: &DesignFile) -> Result<Vec<Vec<Item>>> {
        let kind = design.kind;
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
        let point = |shares: &Vec<crate::draw::Share>| {
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

    pub(super) fn exclude(&mut self, design: &DesignFile) -> Result<()> {
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
pub(super) fn listed_axes(text: &Text, design: &DesignFile) -> Result<Vec<Axis>> {
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
            let content = ssdlab_lab::files::read_text("list of points", &path)?;
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
