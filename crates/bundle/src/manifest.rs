//! What a bundle says of itself: its first file, which names every other one with its length and digest.

use std::collections::BTreeSet;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use ssdlab_lab::error::Result;
use ssdlab_lab::names::clip;
pub use ssdlab_lab::readers::table::data as wrong;
use ssdlab_lab::tree::json;

use crate::paths::refused;

/// The schema of bundles.
pub const SCHEMA: &str = "ssdlab.bundle/1";
/// The name of the manifest inside.
pub const NAME: &str = "manifest.json";
/// Limit on manifests: that of a hundred thousand runs is far below.
pub const MOST_MANIFEST: u64 = 128 << 20;

/// A bundle in its own words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// [`SCHEMA`].
    pub schema: String,
    /// What it is called.
    pub title: String,
    /// The study.
    pub study: StudyPart,
    /// The program that made the records.
    pub program: Program,
    /// Whether runs are missing.
    pub partial: bool,
    /// How far figures of another version of the program may be from the records, as a share of them.
    pub tolerance: f64,
    /// The measure of the main table, whose extremes are always run again; none if no point has it.
    pub measure: Option<String>,
    /// The points of the study, in order.
    pub points: Vec<PointPart>,
    /// The traces that runs read.
    pub traces: Vec<TracePart>,
    /// The policies written in Python that every run has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<PolicyPart>,
    /// The figures.
    pub figures: Vec<FigurePart>,
    /// Every other file, in the order of the archive.
    pub files: Vec<FilePart>,
}

/// The study of a bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudyPart {
    /// Its name.
    pub name: String,
    /// Its file.
    pub file: String,
}

/// A program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Its version.
    pub version: String,
    /// SHA-256 of its file; none where the system does not give it.
    pub sha256: Option<String>,
}

/// A point of the study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PointPart {
    /// Its number, from 1.
    pub number: u64,
    /// Its place among the choices of the study: those that rounding makes equal are one point.
    pub choice: usize,
    /// Its value on each axis, as a text.
    pub values: Map<String, Value>,
    /// The file of its effective configuration.
    pub configuration: String,
    /// The traces that it reads, by source.
    pub traces: Vec<String>,
    /// What a run of it costs, at fixed rates: for estimates.
    pub cost_ns: u64,
    /// Its runs.
    pub runs: Vec<RunPart>,
}

impl PointPart {
    /// Whether every run has a record.
    pub fn whole(&self) -> bool {
        self.runs.iter().all(|run| run.state != RunState::Missing)
    }

    /// Its values in a few words.
    pub fn words(&self) -> String {
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), String::from);
        let words: Vec<String> = self.values.iter().map(|(axis, value)| format!("{axis}={}", text(value))).collect();
        if words.is_empty() { "the base configuration".into() } else { words.join(" ") }
    }
}

/// A run of a point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunPart {
    /// Its seed.
    pub seed: u64,
    /// Its key.
    pub key: String,
    /// What the bundle has of it.
    pub state: RunState,
}

impl RunPart {
    /// The file of its record.
    pub fn record(&self) -> String {
        record(&self.key)
    }
}

/// The file of a record.
pub fn record(key: &str) -> String {
    format!("store/runs/{}/{key}.json", &key[..2])
}

/// What a bundle has of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// A record with a summary.
    Done,
    /// A record that says which rule its configuration breaks.
    Refused,
    /// Nothing.
    Missing,
}

/// A trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TracePart {
    /// What keys call it: `trace:` and the BLAKE3 digest of its bytes.
    pub source: String,
    /// Its place, whether it is there or not.
    pub file: String,
    /// Its length.
    pub bytes: u64,
    /// SHA-256 of its bytes.
    pub sha256: String,
    /// Whether the bundle has a copy.
    pub included: bool,
    /// How to obtain it.
    pub obtain: Option<String>,
}

/// A policy written in Python.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyPart {
    /// `victim` or `trigger`.
    pub slot: String,
    /// Its module and class.
    pub class: String,
    /// Its state, as a literal of Python.
    pub state: String,
    /// The files that define it, and those of its own that they import.
    pub sources: Vec<String>,
}

/// A figure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FigurePart {
    /// How it was asked for.
    pub spec: String,
    /// The drawing.
    pub drawing: String,
    /// The numbers behind it.
    pub data: String,
}

/// A file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FilePart {
    /// Its path.
    pub path: String,
    /// Its length.
    pub bytes: u64,
    /// SHA-256 of its bytes.
    pub sha256: String,
}

/// Whether a text is a digest as it is written here.
pub fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

impl Manifest {
    /// The bytes of its file.
    pub fn text(&self) -> String {
        json(self)
    }

    /// A manifest from the bytes of its file.
    ///
    /// # Errors
    /// It is none, or contradicts itself.
    pub fn read(bundle: &Path, bytes: &[u8]) -> Result<Manifest> {
        let schema = serde_json::from_slice::<serde_json::Value>(bytes).ok();
        let schema = schema.as_ref().and_then(|value| value["schema"].as_str());
        match schema {
            Some(SCHEMA) => {}
            Some(other) => {
                return Err(wrong(bundle, format!("its schema is `{}`, not {SCHEMA}", clip(other)))
                    .help("use the version of ssdlab that made the bundle"));
            }
            None => return Err(wrong(bundle, format!("{NAME} is not that of a bundle"))),
        }
        let manifest: Manifest =
            serde_json::from_slice(bytes).map_err(|error| wrong(bundle, format!("{NAME}: {error}")))?;
        if manifest.text().as_bytes() != bytes {
            return Err(wrong(bundle, format!("{NAME} is not as ssdlab writes it")));
        }
        manifest.sound().map_err(|message| wrong(bundle, format!("{NAME}: {message}")))?;
        Ok(manifest)
    }

    /// Whether it holds together.
    fn sound(&self) -> std::result::Result<(), String> {
        let (mut paths, mut folded, mut folders) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        let mut total = 0u64;
        for FilePart { path, bytes, sha256 } in &self.files {
            let name = clip(path);
            if let Some(why) = refused(path) {
                return Err(format!("the path `{name}` leads outside, or not to a file everywhere: {why}"));
            }
            if !is_digest(sha256) {
                return Err(format!("`{name}` has no digest"));
            }
            if path == NAME || !paths.insert(path.as_str()) || !folded.insert(path.to_lowercase()) {
                return Err(format!("`{name}` is there twice"));
            }
            folders.extend(path.match_indices('/').map(|(at, _)| path[..at].to_lowercase()));
            total = total.checked_add(*bytes).ok_or("the lengths of its files are beyond 64 bits")?;
        }
        if let Some(both) = folded.intersection(&folders).next() {
            return Err(format!("`{}` is a file and a folder", clip(both)));
        }
        let has = |path: &String| match paths.contains(path.as_str()) {
            true => Ok(()),
            false => Err(format!("`{}` is missing among its files", clip(path))),
        };
        has(&self.study.file)?;
        if !self.tolerance.is_finite() || self.tolerance < 0.0 {
            return Err("the tolerance is no share".into());
        }
        let sources: BTreeSet<&str> = self.traces.iter().map(|trace| trace.source.as_str()).collect();
        for (point, number) in self.points.iter().zip(1..) {
            if point.number != number || point.runs.is_empty() {
                return Err(format!("point {number} is out of order, or has no runs"));
            }
            has(&point.configuration)?;
            for run in &point.runs {
                if !is_digest(&run.key) {
                    return Err(format!("point {number} has a run without a key"));
                }
                if run.state != RunState::Missing {
                    has(&run.record())?;
                }
            }
            if let Some(other) = point.traces.iter().find(|source| !sources.contains(source.as_str())) {
                return Err(format!("point {number} reads `{}`, which is no trace of the bundle", clip(other)));
            }
        }
        for trace in &self.traces {
            let hash = trace.source.strip_prefix("trace:").is_some_and(is_digest);
            if !hash || !is_digest(&trace.sha256) || refused(&trace.file).is_some() {
                return Err(format!("the trace `{}` has no digest or no place", clip(&trace.file)));
            }
            if trace.included {
                has(&trace.file)?;
            } else if paths.contains(trace.file.as_str()) {
                return Err(format!("`{}` is a trace that is not included, and a file", clip(&trace.file)));
            }
        }
        if self.points.iter().any(|point| !point.whole()) != self.partial {
            return Err("it does not say whether runs are missing".into());
        }
        self.policies.iter().flat_map(|policy| &policy.sources).try_for_each(has)?;
        self.figures.iter().try_for_each(|figure| has(&figure.drawing).and_then(|()| has(&figure.data)))
    }

    /// Bytes of all its files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// The files of the sources of policies.
    pub fn sources(&self) -> impl Iterator<Item = &FilePart> {
        let is_source = |file: &&FilePart| self.policies.iter().any(|policy| policy.sources.contains(&file.path));
        self.files.iter().filter(is_source)
    }

    /// Runs in this state.
    pub fn runs(&self, state: RunState) -> u64 {
        self.points.iter().flat_map(|point| &point.runs).filter(|run| run.state == state).count() as u64
    }

    /// All runs.
    pub fn all_runs(&self) -> u64 {
        self.points.iter().map(|point| point.runs.len() as u64).sum()
    }
}
