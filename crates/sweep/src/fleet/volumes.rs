//! Which volumes a fleet has: those of the traces that a pattern names, or a list with names, classes and capacities.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use ssdlab_sim::units::Bytes;
use toml::Value;

use crate::fleet::fit::{MILLION, Need, touched_bytes, with_headroom};
use crate::fleet::scan::{Look, PAGE_BYTES, Scanned, Scans};
use crate::study::{InputSection, found};
use crate::text::Text;
use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::files::{directory, read_text};
use ssdlab_lab::names::clip;
use ssdlab_lab::parallel;
use ssdlab_lab::results::sheet::unguarded;

/// `[volumes]`.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct VolumesFile {
    traces: Option<String>,
    list: Option<String>,
    sample: Option<SampleFile>,
    min_requests: u64,
    limit: Option<u64>,
    #[serde(rename = "loop")]
    loops: Option<u32>,
    time_scale: Option<Value>,
    replay: Option<String>,
    lba_policy: Option<String>,
    format: Option<String>,
    on_bad_line: Option<String>,
    time_order: Option<String>,
    op_codes: Option<String>,
    within_second: Option<String>,
    max_request: Option<Bytes>,
    count_only: bool,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(deny_unknown_fields)]
pub(crate) struct SampleFile {
    share: f64,
    #[serde(default = "first")]
    seed: u64,
}

fn first() -> u64 {
    1
}

/// A volume.
#[derive(Clone, Debug, PartialEq)]
pub struct Volume {
    /// Its name, one of a kind.
    pub name: String,
    /// The trace that has its requests.
    pub trace: PathBuf,
    /// Its label there, if the trace has several.
    pub label: Option<String>,
    /// What it is of, if the list says so.
    pub class: Option<String>,
    /// Its size, if the list says so.
    pub capacity_bytes: Option<u64>,
    /// How many requests it has.
    pub requests: u64,
    /// Its place in its trace, and what was found there.
    scanned: (usize, Scanned),
}

/// Volumes that are left out, by why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// With fewer requests than `volumes.min_requests`.
    pub small: u64,
    /// Not in the sample.
    pub unsampled: u64,
    /// Larger than `device.most`.
    pub large: u64,
}

impl VolumesFile {
    /// The options of the readers and of replay.
    pub(super) fn input(&self) -> InputSection {
        InputSection {
            limit: self.limit,
            loops: self.loops,
            time_scale: self.time_scale.clone(),
            replay: self.replay.clone(),
            lba_policy: self.lba_policy.clone(),
            format: self.format.clone(),
            on_bad_line: self.on_bad_line.clone(),
            time_order: self.time_order.clone(),
            op_codes: self.op_codes.clone(),
            within_second: self.within_second.clone(),
            max_request: self.max_request,
            count_only: self.count_only,
            ..InputSection::default()
        }
    }

    /// All volumes, in the order of their names.
    pub(super) fn all(&self, text: &Text, look: &Look, scans: &Scans) -> Result<Vec<Volume>> {
        let mut volumes = match (&self.traces, &self.list) {
            (Some(pattern), None) => patterned(text, pattern, look, scans)?,
            (None, Some(list)) => listed(text, list, look, scans)?,
            (Some(_), Some(_)) => {
                return Err(text
                    .error("volumes.list", true, "both volumes.traces and volumes.list")
                    .help("give one of the two"));
            }
            (None, None) => {
                return Err(text
                    .error("volumes", true, "no volumes")
                    .help("give traces = \"split/*.parquet\", or list = \"volumes.csv\""));
            }
        };
        volumes.sort_by(|a, b| a.name.cmp(&b.name));
        if let Some(pair) = volumes.windows(2).find(|pair| pair[0].name == pair[1].name) {
            let [one, other] = [&pair[0], &pair[1]].map(|volume| volume.trace.display().to_string());
            let message = format!("two volumes are called {}: in {one} and in {other}", clip(&pair[0].name));
            let key = if self.list.is_some() { "volumes.list" } else { "volumes.traces" };
            return Err(text.error(key, false, message).help("give a list with a name for each"));
        }
        Ok(volumes)
    }

    /// Leaves out small volumes, those outside the sample, and those larger than `most` bytes with their headroom.
    pub(super) fn choose(
        &self,
        text: &Text,
        volumes: &mut Vec<Volume>,
        dense: bool,
        most: Option<(u64, u64)>,
    ) -> Result<LeftOut> {
        let mut out = LeftOut::default();
        if let Some(sample) = self.sample {
            let share_ppm = (sample.share * MILLION as f64).round();
            if !(share_ppm > 0.0 && share_ppm <= MILLION as f64) {
                return Err(text
                    .error(
                        "volumes.sample.share",
                        false,
                        "volumes.sample.share: expected a share above 0 and at most 1",
                    )
                    .help("write sample = { share = 0.1, seed = 1 }"));
            }
            out.unsampled = retain(volumes, |volume| drawn(&volume.name, sample.seed, share_ppm as u64));
        }
        out.small = retain(volumes, |volume| volume.requests >= self.min_requests);
        if let Some((most, headroom_ppm)) = most {
            let bytes = |volume: &Volume| {
                volume.capacity_bytes.unwrap_or_else(|| touched_bytes(&volume.scanned.1, dense, PAGE_BYTES))
            };
            out.large = retain(volumes, |volume| with_headroom(bytes(volume), headroom_ppm, PAGE_BYTES) <= most);
        }
        if volumes.is_empty() {
            let message = format!(
                "no volumes are left: {} outside the sample, {} with fewer requests than min_requests, {} larger than device.most",
                out.unsampled, out.small, out.large
            );
            return Err(text.error("volumes", true, message).help("sample more, or lower the limits"));
        }
        Ok(out)
    }
}

impl Volume {
    pub(super) fn need(&self) -> Need {
        let touched = || Need::Touched(self.trace.clone(), self.scanned.0);
        self.capacity_bytes.map_or_else(touched, Need::Bytes)
    }
}

/// Keeps some; returns how many go.
fn retain(volumes: &mut Vec<Volume>, keep: impl Fn(&Volume) -> bool) -> u64 {
    let before = volumes.len();
    volumes.retain(keep);
    (before - volumes.len()) as u64
}

/// Whether a volume is in the sample: by a hash of its name, so that it stays when others are added.
fn drawn(name: &str, seed: u64, share_ppm: u64) -> bool {
    let hash = blake3::hash(format!("{seed}\n{name}").as_bytes());
    let word = u64::from_le_bytes(std::array::from_fn(|i| hash.as_bytes()[i]));
    (u128::from(word) * u128::from(MILLION)) >> 64 < u128::from(share_ppm)
}

/// Looks at traces on all cores; the results are in their order.
fn look_at(paths: &[PathBuf], look: &Look, scans: &Scans) -> Result<Vec<Vec<Scanned>>> {
    parallel::map(paths, |path| scans.volumes(path, look, PAGE_BYTES)).into_iter().collect()
}

fn patterned(text: &Text, pattern: &str, look: &Look, scans: &Scans) -> Result<Vec<Volume>> {
    let paths: Vec<PathBuf> = found(text, "volumes.traces", pattern)?.into_iter().map(PathBuf::from).collect();
    let mut volumes = Vec::new();
    for (path, scanned) in paths.iter().zip(look_at(&paths, look, scans)?) {
        let stem = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        let several = scanned.len() > 1;
        for (place, scanned) in scanned.into_iter().enumerate() {
            let label = scanned.label.clone().filter(|_| several);
            volumes.push(Volume {
                name: label.clone().unwrap_or_else(|| stem.clone()),
                trace: path.clone(),
                label,
                class: None,
                capacity_bytes: None,
                requests: scanned.requests,
                scanned: (place, scanned),
            });
        }
    }
    Ok(volumes)
}

fn listed(text: &Text, list: &str, look: &Look, scans: &Scans) -> Result<Vec<Volume>> {
    let path = text.path(list);
    let mut volumes = rows(&path)?;
    let traces: BTreeSet<PathBuf> = volumes.iter().map(|volume| volume.trace.clone()).collect();
    let traces: Vec<PathBuf> = traces.into_iter().collect();
    let found: BTreeMap<PathBuf, Vec<Scanned>> = traces.iter().cloned().zip(look_at(&traces, look, scans)?).collect();
    for volume in &mut volumes {
        let all = &found[&volume.trace];
        let labelled = |name: &str| all.iter().position(|one| one.label.as_deref() == Some(name));
        // Blanks around a name are part of it only where the trace has them too.
        let own = labelled(&volume.name);
        if own.is_none() {
            volume.name = volume.name.trim().into();
        }
        let own = own.or_else(|| labelled(&volume.name));
        // The only volume of a trace may have any name in the list.
        let Some(place) = own.or((all.len() == 1).then_some(0)) else {
            let labels: Vec<String> = all.iter().filter_map(|one| one.label.as_deref()).take(8).map(clip).collect();
            let message = format!("{}: no volume {} in {}", path.display(), clip(&volume.name), volume.trace.display());
            return Err(Error::usage(message).help(format!("volumes there: {}", labels.join(", "))));
        };
        volume.label = all[place].label.clone().filter(|_| all.len() > 1);
        volume.requests = all[place].requests;
        volume.scanned = (place, all[place].clone());
    }
    Ok(volumes)
}

/// The rows of a list: `name`, `trace` (relative to the list), and perhaps `class` and `capacity`; other columns are ignored.
fn rows(path: &Path) -> Result<Vec<Volume>> {
    let content = read_text("list of volumes", path)?;
    let bad = |line: usize, message: String| {
        Error::usage(format!("{}: line {line}: {message}", path.display()))
            .help("a list has columns name and trace, and may have class and capacity")
    };
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::Headers).from_reader(content.as_bytes());
    let header = reader.headers().map_err(|error| bad(1, error.to_string()))?.clone();
    let place = |name: &str| header.iter().position(|column| column == name);
    let need = |name: &str| place(name).ok_or_else(|| bad(1, format!("no column `{name}`")));
    let (name, trace) = (need("name")?, need("trace")?);
    let (class, capacity) = (place("class"), place("capacity"));
    let mut volumes = Vec::new();
    for (at, record) in reader.records().enumerate() {
        let line = at + 2;
        let record = record.map_err(|error| bad(line, error.to_string()))?;
        let cell = |at: Option<usize>| at.and_then(|at| record.get(at)).map(str::trim).filter(|cell| !cell.is_empty());
        let (Some(_), Some(trace)) = (cell(Some(name)), cell(Some(trace))) else {
            return Err(bad(line, "no name or no trace".into()));
        };
        // A plain number is bytes.
        let bytes = |text: &str| text.parse::<u64>().ok().or_else(|| text.parse::<Bytes>().ok().map(|bytes| bytes.0));
        let wrong = |value: &str| bad(line, format!("capacity: `{}` is not a size", clip(value)));
        volumes.push(Volume {
            name: unguarded(&record[name]).into(),
            trace: directory(path).join(unguarded(trace)),
            label: None,
            class: cell(class).map(|class| unguarded(class).into()),
            capacity_bytes: cell(capacity).map(|text| bytes(text).ok_or_else(|| wrong(text))).transpose()?,
            requests: 0,
            scanned: (0, Scanned::default()),
        });
    }
    Ok(volumes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_stable_and_has_its_share() {
        let names: Vec<String> = (0..10_000).map(|n| format!("volume {n}")).collect();
        let few = |names: &[String]| names.iter().filter(|name| drawn(name, 1, 100_000)).count();
        assert!((900..1100).contains(&few(&names)), "{}", few(&names));
        assert!(
            names.iter().all(|name| !drawn(name, 1, 100_000) || drawn(name, 1, 200_000)),
            "a larger share has it too"
        );
        assert!(names.iter().any(|name| drawn(name, 1, 100_000) != drawn(name, 2, 100_000)));
        assert!(names.iter().all(|name| drawn(name, 1, MILLION)));
    }
}
