//! The study file: a base configuration, requests, axes, and how points and seeds are chosen.

mod axes;
mod design;
mod input;
mod repeat;

use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use toml::{Table, Value};

use crate::error::{Error, Result};
use crate::input::Requests;
use crate::names::{clip, nearest};
use crate::settings::Sources;
use crate::sweep::axis::{self, Axis, Item, Shown, Values};
use crate::sweep::fleet::scan::Scans;
use crate::sweep::fleet::{self, fit::Fit};
use crate::sweep::text::Text;

pub(crate) use axes::axes;
pub(crate) use design::DesignFile;
use design::{Kind, flat, listed_axes, several};
use input::whole;
pub(crate) use input::{Base, Input, found, origin};
pub use repeat::{Limits, Repeat, Until, duration_ns};
pub(crate) use repeat::{LimitsFile, RepeatFile};

/// The schema of studies.
pub const SCHEMA: &str = "ssdlab.study/1";
/// Most runs of a study.
pub const MOST_RUNS: u64 = 1_000_000;

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

/// Checks the first two keys of a file.
pub(crate) fn heading(text: &Text, schema: &str, expected: &str, name: &str) -> Result<()> {
    if schema != expected {
        let error = text.error("schema", false, format!("schema: `{}` is not {expected}", clip(schema)));
        return Err(match schema {
            SCHEMA => error.help("the file is a study: use `ssdlab sweep`"),
            fleet::SCHEMA => error.help("the file is a fleet: use `ssdlab fleet`"),
            _ => error.help(format!("write schema = \"{expected}\"")),
        });
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
        let base = file.base.sources(&text, "base");
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
        let repeat = repeat::repeat(&text, &space.repeat)?;
        let limits = repeat::limits(&text, &space.limits)?;
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
            fit: None,
            scans: None,
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
}
