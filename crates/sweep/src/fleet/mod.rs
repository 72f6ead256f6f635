//! Fleets: many volumes, each served by each of some variants of a configuration. A fleet is a study whose first axis is the volume;
//! its results are added up by [`reduce`].
//!
//! | question | module |
//! | --- | --- |
//! | Which volumes are there, and what do they touch? | [`volumes`], [`scan`] |
//! | How large is the device of each? | [`fit`] |
//! | What do they say together? | [`reduce`], written by [`table`] |

pub mod fit;
pub mod reduce;
pub mod scan;
pub mod table;
pub mod volumes;

use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use ssdlab_sim::units::Bytes;
use ssdlab_trace::LbaPolicy;
use toml::Table;

use crate::axis::{Axis, Change, Item, Shown, Values};
use crate::study::{
    Base, DesignFile, FLEET as SCHEMA, LimitsFile, MOST_RUNS, RepeatFile, Space, Study, axes, check_name, check_schema,
};
use crate::text::Text;
use fit::{Fit, MILLION};
use scan::{Look, Scans};
use ssdlab_lab::error::Result;
use ssdlab_lab::input::{Origin, Requests};
use ssdlab_lab::names::clip;
use ssdlab_lab::results::requests::SLOWEST;
use ssdlab_lab::settings::Sources;
use ssdlab_lab::text::count;
use volumes::{LeftOut, Volume, VolumesFile};

/// The name of the first axis.
pub const VOLUME: &str = "volume";

/// A fleet as read and checked.
#[derive(Clone, Debug)]
pub struct Fleet {
    /// The study that it is.
    pub study: Study,
    /// Its volumes, in the order of their names.
    pub volumes: Vec<Volume>,
    /// Volumes that it does not have.
    pub left_out: LeftOut,
    /// How results are added up.
    pub reduce: Reduce,
}

/// How results are added up.
#[derive(Clone, Debug)]
pub struct Reduce {
    /// What runs are grouped by, in this order.
    pub by: Vec<By>,
    /// Dotted paths of numbers in summaries.
    pub measures: Vec<String>,
    /// Slowest requests of a group.
    pub top: usize,
}

/// What runs are grouped by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// The values on all axes.
    Variant,
    /// The class that the list gives a volume.
    Class,
    /// The volume.
    Volume,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FleetFile {
    #[serde(rename = "schema")]
    _schema: String,
    name: String,
    #[serde(default)]
    volumes: VolumesFile,
    #[serde(default)]
    device: DeviceFile,
    #[serde(default)]
    base: Base,
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
    #[serde(default)]
    reduce: ReduceFile,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct DeviceFile {
    size: Option<String>,
    headroom: Option<f64>,
    most: Option<Bytes>,
    preset: Option<String>,
    files: Vec<std::path::PathBuf>,
    set: Table,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ReduceFile {
    by: Vec<By>,
    measures: Vec<String>,
    top: usize,
}

impl Default for ReduceFile {
    fn default() -> Self {
        let measures = ["latency_ns.read.p99", "latency_ns.write.p99", "write_amplification_bytes"].map(String::from);
        ReduceFile { by: vec![By::Variant], measures: measures.into(), top: 100 }
    }
}

/// The key that `size = "fit"` decides.
const SIZE: &str = "geometry.blocks_per_plane";

impl DeviceFile {
    /// Headroom in millionths, if the device is fitted to its volume.
    fn headroom(&self, text: &Text, base: &Base, axes: &[Axis]) -> Result<Option<u64>> {
        match self.size.as_deref() {
            Some("fit") => {}
            Some(other) => {
                let message = format!("device.size: `{}` is not one of its values", clip(other));
                return Err(text.error("device.size", false, message).help(format!("write \"fit\", or set {SIZE}")));
            }
            None => {
                let given = [("device.headroom", self.headroom.is_some()), ("device.most", self.most.is_some())];
                return match given.into_iter().find(|(_, given)| *given) {
                    None => Ok(None),
                    Some((key, _)) => {
                        let message = format!("{key}: the device is not fitted to its volume");
                        Err(text.error(key, true, message).help("add size = \"fit\", or leave it out"))
                    }
                };
            }
        }
        let headroom_ppm = (self.headroom.unwrap_or(1.1) * MILLION as f64).round();
        if !(headroom_ppm >= MILLION as f64 && headroom_ppm <= 1e12) {
            return Err(text.error("device.headroom", false, "device.headroom: expected a number from 1 on"));
        }
        let sets = [("base.set", &base.set), ("device.set", &self.set)];
        let set = sets.into_iter().find(|(_, set)| {
            set.contains_key(SIZE) || set.get("geometry").is_some_and(|table| table.get("blocks_per_plane").is_some())
        });
        let varied = |axis: &Axis| {
            let sets = |change: &Change| matches!(change, Change::Set(set) if set.starts_with(&format!("{SIZE}=")));
            axis.items().iter().flat_map(|item| &item.changes).any(sets)
        };
        let place = match set {
            Some((place, _)) => Some(format!("{place}.{SIZE}")),
            None => axes.iter().find(|axis| varied(axis)).map(|axis| format!("axes.{}", axis.key)),
        };
        match place {
            Some(place) => Err(text
                .error(&place, true, format!("{SIZE} is given, but device.size = \"fit\" decides it"))
                .help("leave one of the two out")),
            None => Ok(Some(headroom_ppm as u64)),
        }
    }
}

impl Fleet {
    /// Reads a fleet. Its traces are read once, unless `scans` knows them.
    ///
    /// # Errors
    /// The file, the list of volumes or a trace can't be read, or a key is wrong; configurations are not merged yet.
    pub fn open(path: &Path, scans: Arc<Scans>) -> Result<Fleet> {
        let (text, table) = Text::open("fleet", path)?;
        Fleet::of(text, table, scans)
    }

    /// Whether a file says that it is a fleet.
    ///
    /// # Errors
    /// It can't be read, or is not TOML.
    pub fn is(path: &Path) -> Result<bool> {
        let (_, table) = Text::open("study", path)?;
        Ok(table.get("schema").and_then(toml::Value::as_str) == Some(SCHEMA))
    }

    fn of(text: Text, table: Table, scans: Arc<Scans>) -> Result<Fleet> {
        check_schema(&text, &table, SCHEMA)?;
        let file: FleetFile = text.read(table)?;
        check_name(&text, &file.name)?;
        let axes = axes(&text, &file.axes)?;
        if let Some(axis) = axes.iter().find(|axis| [VOLUME, "trace", "workload"].contains(&&*axis.key)) {
            let message = format!("axes.{}: the volumes of a fleet are its requests", axis.key);
            return Err(text.error(&format!("axes.{}", axis.key), true, message).help("leave the axis out"));
        }
        if axes.iter().any(|axis| axis.key == "count_only") {
            return Err(text
                .error("axes.count_only", true, "axes.count_only: runs with time and without add up to nothing")
                .help("set count_only in [volumes]"));
        }
        let (reduce, volumes_file) = (file.reduce.read(&text)?, &file.volumes);
        let input = volumes_file.input();
        let mut requests = Requests::new(Origin::Spec(String::new()));
        input.options(&text, "volumes", &mut requests)?;
        let dense = requests.lba_policy == LbaPolicy::Dense;
        let headroom_ppm = file.device.headroom(&text, &file.base, &axes)?;
        let limited = axes.iter().flat_map(Axis::items).flat_map(|item| &item.changes);
        let limit = requests.limit.filter(|_| !limited.clone().any(|change| matches!(change, Change::Limit(_))));
        let look = Look { reading: requests.reading.clone(), limit };
        let mut volumes = volumes_file.all(&text, &look, &scans)?;
        let most = headroom_ppm.and_then(|headroom| Some((file.device.most?.0, headroom)));
        let left_out = volumes_file.choose(&text, &mut volumes, dense, most)?;
        if reduce.by.contains(&By::Class) && volumes.iter().all(|volume| volume.class.is_none()) {
            return Err(text
                .error("reduce.by", false, "reduce.by: no volume has a class")
                .help("give a list of volumes with a column `class`, or leave it out"));
        }
        let base = file.device.over(&text, file.base)?;
        let (design, repeat, limits) = (file.design, file.repeat, file.limits);
        let space = Space { design, repeat, limits, baseline: file.baseline };
        let mut study = Study::assemble(file.name, text, base, requests, input.count_only, axes, space)?;
        if study.choices.len() > 1 && !reduce.by.contains(&By::Variant) {
            let message = "reduce.by: variants are not told apart, but each serves the same requests";
            return Err(study.text.error("reduce.by", false, message).help("add \"variant\""));
        }
        study.fit = headroom_ppm.map(|headroom_ppm| {
            let needs = volumes.iter().map(|volume| (volume.name.clone(), volume.need())).collect();
            Arc::new(Fit { headroom_ppm, dense, look, scans: scans.clone(), needs })
        });
        study.scans = Some(scans);
        cross(&mut study, &volumes)?;
        Ok(Fleet { study, volumes, left_out, reduce })
    }
}

impl DeviceFile {
    /// The base configuration with the keys of the device over it.
    fn over(self, text: &Text, base: Base) -> Result<Sources> {
        if self.preset.is_some() && base.preset.is_some() {
            return Err(text.error("device.preset", true, "both base.preset and device.preset").help("give one"));
        }
        let mut sources = base.sources(text, "base");
        let own = Base { preset: self.preset, files: self.files, set: self.set }.sources(text, "device");
        sources.preset = sources.preset.or(own.preset);
        sources.files.extend(own.files);
        sources.sets.extend(own.sets);
        Ok(sources)
    }
}

impl ReduceFile {
    fn read(self, text: &Text) -> Result<Reduce> {
        if self.by.is_empty() {
            return Err(text.error("reduce.by", false, "reduce.by: by what?").help("write by = [\"variant\"]"));
        }
        if self.top > SLOWEST {
            let message = format!("reduce.top: at most {} requests of a run are kept", count(SLOWEST as u64));
            return Err(text.error("reduce.top", false, message));
        }
        Ok(Reduce { by: self.by, measures: self.measures, top: self.top })
    }
}

/// Makes the volume the first axis, varying slowest.
fn cross(study: &mut Study, volumes: &[Volume]) -> Result<()> {
    let runs = (volumes.len() as u64).saturating_mul(study.choices.len() as u64).saturating_mul(study.most_seeds());
    if runs > MOST_RUNS {
        let message = format!(
            "{} volumes x {} variants x {} seeds, more than {} runs",
            volumes.len(),
            study.choices.len(),
            study.most_seeds(),
            count(MOST_RUNS)
        );
        return Err(study.text.error("volumes", true, message).help("sample fewer volumes, or vary less"));
    }
    let items: Vec<Item> = volumes.iter().map(item).collect();
    let variants = std::mem::take(&mut study.choices);
    study.choices = items
        .iter()
        .flat_map(|item| variants.iter().map(move |variant| [std::slice::from_ref(item), variant].concat()))
        .collect();
    study.axes.insert(0, Axis { key: VOLUME.into(), label: VOLUME.into(), values: Values::List(items) });
    study.excluded *= volumes.len() as u64;
    study.baseline.iter_mut().for_each(|(axis, _)| *axis += 1);
    Ok(())
}

fn item(volume: &Volume) -> Item {
    let device = volume.label.clone().map(Change::Device);
    // Paths of lists and patterns begin where the program does, not at the fleet.
    let trace = std::path::absolute(&volume.trace).unwrap_or_else(|_| volume.trace.clone());
    let changes = [Change::Trace(trace), Change::Counted(volume.requests)].into_iter().chain(device).collect();
    Item { shown: Shown::Text(volume.name.clone()), changes, same: volume.name.clone().into() }
}
