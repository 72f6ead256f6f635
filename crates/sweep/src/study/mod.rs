//! The study file: a base configuration, requests, axes, and how points and seeds are chosen.

mod axes;
mod choices;
mod design;
mod input;
mod repeat;
mod traces;

use std::path::Path;

use serde::Deserialize;
use toml::{Table, Value};

use crate::axis::{Axis, Values};
use crate::draw::Design;
use crate::text::Text;
use ssdlab_lab::error::Result;
use ssdlab_lab::input::Requests;
use ssdlab_lab::names::clip;
use ssdlab_lab::policies::Policies;
use ssdlab_lab::settings::Sources;

pub use axes::MOST_RUNS;
pub(crate) use axes::axes;
pub use choices::Study;
pub use choices::flat;
pub(crate) use design::DesignFile;
use design::listed_axes;
pub use input::origin;
use input::whole;
pub(crate) use input::{Base, InputSection};
pub use repeat::{Limits, Repeat, Until, duration_ns};
pub(crate) use repeat::{LimitsFile, RepeatFile};
pub(crate) use traces::found;

/// The schema of studies.
pub const SCHEMA: &str = "ssdlab.study/1";
/// The schema of fleets.
pub const FLEET: &str = "ssdlab.fleet/1";
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StudyFile {
    #[serde(rename = "schema")]
    _schema: String,
    name: String,
    #[serde(default)]
    base: Base,
    #[serde(default)]
    input: InputSection,
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

/// Checks the schema of a file, before its other keys: those of a study are unknown in a fleet.
pub(crate) fn check_schema(text: &Text, table: &Table, expected: &str) -> Result<()> {
    let schema = table.get("schema").and_then(Value::as_str);
    let Some(schema) = schema.filter(|schema| *schema != expected) else { return Ok(()) };
    let error = text.error("schema", false, format!("schema: `{}` is not {expected}", clip(schema)));
    Err(match schema {
        SCHEMA => error.help("the file is a study: use `ssdlab sweep`"),
        FLEET => error.help("the file is a fleet: use `ssdlab fleet`"),
        _ => error.help(format!("write schema = \"{expected}\"")),
    })
}

pub(crate) fn check_name(text: &Text, name: &str) -> Result<()> {
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
        check_schema(&text, &table, SCHEMA)?;
        if let Some(Value::Table(input)) = table.get("input") {
            whole(&text, input)?;
        }
        let file: StudyFile = text.read(table)?;
        check_name(&text, &file.name)?;
        let base = file.base.sources(&text, "base");
        let mut axes = axes(&text, &file.axes)?;
        let (requests, count_only) = file.input.requests(&text, &mut axes)?;
        // Points of a list may be given without axes: their keys are the axes.
        if axes.is_empty() && file.design.kind == Design::List {
            axes = listed_axes(&text, &file.design)?;
        }
        let StudyFile { design, repeat, limits, baseline, .. } = file;
        Study::assemble(file.name, text, base, requests, count_only, axes, Space { design, repeat, limits, baseline })
    }

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
            policies: Policies::default(),
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
}
