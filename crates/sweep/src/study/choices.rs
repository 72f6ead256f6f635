//! A study, and what its file says of its axes and their values.

use std::sync::Arc;

use toml::{Table, Value};

use crate::axis::{self, Axis, Change, Item, Shown};
use crate::fleet::fit::Fit;
use crate::fleet::scan::Scans;
use crate::study::repeat::{Limits, Repeat};
use crate::text::Text;
use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::input::Requests;
use ssdlab_lab::names::{clip, nearest};
use ssdlab_lab::policies::Policies;
use ssdlab_lab::settings::Sources;

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
    /// How devices are sized by the volume on the first axis, in fleets.
    pub fit: Option<Arc<Fit>>,
    /// What is known of traces, in fleets.
    pub scans: Option<Arc<Scans>>,
    /// Policies from outside that every run has.
    pub policies: Policies,
}

impl Study {
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

    /// The same study at these of its points, by their places among its choices, and without limits: machines differ in speed.
    ///
    /// # Errors
    /// It has no such point.
    pub fn again(&self, places: &[usize]) -> Result<Study> {
        let beyond = |place: &usize| Error::usage(format!("the study has no point at place {place}"));
        let choices = places.iter().map(|place| self.choices.get(*place).cloned().ok_or_else(|| beyond(place)));
        Ok(Study { choices: choices.collect::<Result<_>>()?, excluded: 0, limits: Limits::default(), ..self.clone() })
    }

    /// The same study with policies from outside in every run.
    ///
    /// # Errors
    /// An axis varies a slot of one of them.
    pub fn with(&self, policies: Policies) -> Result<Study> {
        let changes = self.choices.iter().flatten().flat_map(|item| &item.changes);
        let keys = changes.filter_map(|change| match change {
            Change::Set(text) => text.split('=').next().map(str::trim),
            _ => None,
        });
        policies.agree(keys)?;
        Ok(Study { policies, ..self.clone() })
    }

    /// Most seeds of a point.
    pub fn most_seeds(&self) -> u64 {
        match &self.repeat {
            Repeat::Seeds(seeds) => seeds.len() as u64,
            Repeat::Until(until) => until.most,
        }
    }

    /// Axis and value of each key of a table.
    pub(super) fn chosen(&self, path: &str, table: &Table) -> Result<Vec<(usize, Item)>> {
        let mut chosen = Vec::new();
        for (key, value) in flat(table, &|_| false) {
            let at = format!("{path}.{key}");
            let axis = self.place(&at, &key)?;
            chosen.push((axis, self.value(&at, axis, &value)?));
        }
        Ok(chosen)
    }

    pub(super) fn place(&self, at: &str, key: &str) -> Result<usize> {
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
    pub(super) fn value(&self, at: &str, axis: usize, value: &Value) -> Result<Item> {
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
}

/// Why values of an axis are named: each changes several keys.
fn several(axis: &Axis) -> Option<String> {
    let named = axis.items().iter().any(|item| item.changes.len() != 1);
    named.then(|| format!("`{}` has no such value", axis.key))
}

/// Dotted keys and values of a table; a table that `is_value` accepts, or that is not nested keys, is a value.
pub fn flat(table: &Table, is_value: &dyn Fn(&Table) -> bool) -> Vec<(String, Value)> {
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
