//! Checks a bundle: digests, records, table and a figure, and runs some points again.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use serde::Serialize;
use serde_json::Value as Json;
use ssdlab_lab::error::{Class, Error, Result};
use ssdlab_lab::files;
use ssdlab_lab::names::clip_line;
use ssdlab_lab::output::Folder;
use ssdlab_lab::settings::{Document, Settings, Sources};
use ssdlab_lab::text::{count, plural};
use ssdlab_lab::tree;
use ssdlab_sim::Check;
use ssdlab_sweep::disk::Disk;
use ssdlab_sweep::execute::{self, Options, Watch};
use ssdlab_sweep::job::End;
use ssdlab_sweep::key::Hashes;
use ssdlab_sweep::points::{Point, Points, Run, VERSION};
use ssdlab_sweep::status::measure;
use ssdlab_sweep::store::{Status, Store};
use ssdlab_sweep::study::{Limits, Study};
use toml::Table;

use crate::choose::{Many, chosen};
use crate::code::{self, Task};
use crate::compare::{Difference, differences};
use crate::figures::Spec;
use crate::make::{self, STORE, TABLE, program};
use crate::manifest::{Manifest, PointPart, RunPart, RunState, TracePart, wrong};
use crate::named::{self, Role};
use crate::paths::{placed, seen};
use crate::policies::{self, Kept};
use crate::traces::Shelf;
use crate::unpack::Bundle;

/// The schema of what is found.
pub const SCHEMA: &str = "ssdlab.verified/1";

/// How a bundle is checked.
#[derive(Clone, Debug)]
pub struct How {
    /// The SHA-256 that the file must have.
    pub digest: Option<String>,
    /// How many points are run again.
    pub points: Many,
    /// Which.
    pub seed: u64,
    /// A folder with traces that the bundle has no copies of.
    pub traces: Option<PathBuf>,
    /// Runs in parallel.
    pub jobs: Option<u64>,
    /// The interpreter that runs policies written in Python; none if their code must not be run.
    pub code: Option<PathBuf>,
    /// How much the oracle checks.
    pub check: Check,
    /// Most bytes that the files of the bundle may have.
    pub most: u64,
}

impl Default for How {
    fn default() -> Self {
        let (points, check) = (Many::Some(5), Check::Sampled);
        How { digest: None, points, seed: 1, traces: None, jobs: None, code: None, check, most: crate::unpack::MOST }
    }
}

ssdlab_trace::words! {
    /// How a check ended.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    pub enum Outcome {
        /// As it must be.
        #[serde(rename = "pass")]
        Pass = "pass",
        /// Not as it must be.
        #[serde(rename = "fail")]
        Fail = "FAIL",
        /// It could not be made.
        #[serde(rename = "not run")]
        NotRun = "not run",
        /// Another version of the program made it, and agrees as far as the bundle says.
        #[serde(rename = "within tolerance")]
        Near = "within tolerance",
        /// Another version of the program made it, and does not agree.
        #[serde(rename = "other figures")]
        Far = "other figures",
    }
}

/// A check.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Checked {
    /// Of what.
    pub name: &'static str,
    /// How it ended.
    pub result: Outcome,
    /// What was found.
    pub found: String,
}

/// A point that was run again.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Again {
    /// Its number.
    pub point: u64,
    /// Its values.
    pub values: String,
    /// How many runs it has.
    pub runs: u64,
    /// How it ended.
    pub result: Outcome,
    /// Seconds that its runs took.
    pub seconds: f64,
    /// Why it is not the same, or was not run.
    pub why: Option<String>,
    /// Figures that differ, those of all its runs.
    pub differences: Vec<Difference>,
}

/// What came of it.
#[derive(Clone, Debug, Serialize)]
pub struct Verified {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// SHA-256 of the file.
    pub sha256: String,
    /// The title of the bundle.
    pub title: String,
    /// The version that made the records.
    pub made_with: String,
    /// The version that ran now.
    pub version: &'static str,
    /// Whether it is the same file of a program; none where that is not known.
    pub same_program: Option<bool>,
    /// The checks, in order.
    pub checks: Vec<Checked>,
    /// The points that were run again, in order.
    pub points: Vec<Again>,
    /// Points of the study.
    pub of_points: u64,
    /// Seconds that it took to run them.
    pub seconds: f64,
    /// Seconds that all points are expected to take; none where nothing was run.
    pub all_seconds: Option<f64>,
    /// Points that were not run again because their policies are code, which has to be allowed.
    #[serde(skip_serializing_if = "is_zero")]
    pub code_not_run: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Verified {
    /// Whether another version made the records.
    pub fn other_version(&self) -> bool {
        self.made_with != self.version
    }

    /// The exit status of the command: 0 only if each point that was to be run again was, and has the bytes of its record; 5 if
    /// something is not what it must be, 1 if something could not be compared byte for byte.
    pub fn exit_status(&self) -> u8 {
        let all = || self.checks.iter().map(|check| check.result).chain(self.points.iter().map(|point| point.result));
        match () {
            () if all().any(|result| result == Outcome::Fail) => 5,
            () if self.points.is_empty() || self.points.iter().any(|point| point.result != Outcome::Pass) => 1,
            () => 0,
        }
    }
}

/// Told how far it is: so many of so many runs have ended.
pub type Progress<'p> = dyn Fn(u64, u64) + Sync + 'p;

/// Checks a bundle.
///
/// # Errors
/// It can't be read, has changed, is not as `ssdlab bundle make` writes it, or has another digest.
pub fn verify(bundle: &Path, how: &How, progress: &Progress<'_>) -> Result<Verified> {
    let opened = Bundle::open(bundle, how.digest.as_deref())?;
    let sha256 = opened.sealed.sha256.clone();
    let folder = Folder::scratch()?;
    let manifest = opened.extract(how.most, &folder)?;
    let mut scene = Scene { bundle, manifest: &manifest, folder: &folder, how, policies: None };
    let own = program();
    let mut verified = Verified {
        schema: SCHEMA,
        sha256,
        title: manifest.title.clone(),
        made_with: manifest.program.version.clone(),
        version: VERSION,
        same_program: manifest.program.sha256.as_ref().zip(own.sha256).map(|(made, own)| *made == own),
        checks: Vec::new(),
        points: Vec::new(),
        of_points: manifest.points.len() as u64,
        seconds: 0.0,
        all_seconds: None,
        code_not_run: 0,
    };
    verified.checks.push(scene.archive());
    let store = Store::open(&folder.place().join(STORE))?;
    let (records, held) = scene.records(&store)?;
    verified.checks.push(records);
    verified.checks.extend(scene.policies());
    verified.checks.push(scene.configurations(&held));
    let figure = scene.figure(&held)?;
    let mut study = scene.study()?;
    if let Some(policies) = &scene.policies {
        study = study.with(policies.stand_ins())?;
    }
    let absent = scene.traces()?;
    let table = scene.table(&study, &store, &absent)?;
    verified.checks.extend(table);
    verified.checks.push(figure);
    scene.again(&study, &held, &absent, progress, &mut verified)?;
    Ok(verified)
}

/// Records by key, as the bundle has them: their bytes and their content.
type Held = HashMap<String, (String, Json)>;

/// What is looked at.
struct Scene<'s> {
    bundle: &'s Path,
    manifest: &'s Manifest,
    folder: &'s Folder,
    how: &'s How,
    /// The policies that the runs have, once their check has passed.
    policies: Option<Kept>,
}

fn checked(name: &'static str, faults: &[String], found: String) -> Checked {
    const SHOWN: usize = 3;
    if faults.is_empty() {
        return Checked { name, result: Outcome::Pass, found };
    }
    let more = faults.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    let found = format!("{}{more}", faults[..faults.len().min(SHOWN)].join("; "));
    Checked { name, result: Outcome::Fail, found }
}

impl Scene<'_> {
    fn other_version(&self) -> bool {
        self.manifest.program.version != VERSION
    }

    fn archive(&self) -> Checked {
        let files = plural(self.manifest.files.len() as u64, "file");
        checked("archive", &[], format!("the seal holds; {files} with the lengths and digests of the manifest"))
    }

    /// Whether the records are those of their keys, and what they have.
    fn records(&self, store: &Store) -> Result<(Checked, Held)> {
        let (mut held, mut faults) = (Held::new(), Vec::new());
        let runs = self.manifest.points.iter().flat_map(|point| point.runs.iter().map(move |run| (point, run)));
        for (point, run) in runs.filter(|(_, run)| run.state != RunState::Missing) {
            let fault = |what: &str| format!("point {} seed {}: {what}", point.number, run.seed);
            let bytes = store.bytes(&run.key)?;
            let Some(read) = store.read::<Json>(&run.key)? else {
                faults.push(fault("the record is not that of its key, or has another checksum"));
                continue;
            };
            let state = if read.status == Status::Done { RunState::Done } else { RunState::Refused };
            if read.seed != run.seed || state != run.state || read.version != self.manifest.program.version {
                faults.push(fault("the record is not that of the run"));
                continue;
            }
            let text = String::from_utf8(bytes).unwrap_or_default();
            let config = serde_json::from_str(read.config.get()).unwrap_or_default();
            let mut content = serde_json::json!({ "config": Json::Null, "summary": read.summary });
            content["config"] = config;
            held.insert(run.key.clone(), (text, content));
        }
        if store.unchecked() > 0 {
            faults.push(format!("{} without a checksum", plural(store.unchecked(), "record")));
        }
        let found = format!("{} with their checksums, each of its key", plural(held.len() as u64, "record"));
        Ok((checked("records", &faults, found), held))
    }

    /// The folder of policies inside.
    fn policy_folder(&self) -> PathBuf {
        policies::folder(&self.folder.place().join(STORE).join("studies").join(&self.manifest.study.name))
    }

    /// Whether the sources of policies are those of the runs. Nothing is run. No check if the runs have none.
    fn policies(&mut self) -> Option<Checked> {
        let listed = &self.manifest.policies;
        let folder = self.policy_folder();
        if listed.is_empty() {
            return None;
        }
        let inside = folder.strip_prefix(self.folder.place()).unwrap_or(&folder);
        let inside = inside.to_string_lossy().replace('\\', "/");
        let fault = match Kept::read(&folder) {
            Ok(Some(kept)) if kept.why_not.is_none() && kept.parts(&inside) == *listed => {
                let (many, sources) = (listed.len() as u64, plural(kept.sources.len() as u64, "source"));
                let many = if many == 1 { "1 policy".into() } else { format!("{many} policies") };
                let found = format!("{many}, whose classes and states are those of the keys; {sources}");
                self.policies = Some(kept);
                return Some(checked("policies", &[], found));
            }
            Ok(_) => "the list beside the sources is not that of the manifest".into(),
            Err(error) => clip_line(&error.message.replace(&*self.folder.place().to_string_lossy(), "")),
        };
        Some(checked("policies", &[fault], String::new()))
    }

    /// Whether the configurations are those of the records.
    fn configurations(&self, held: &Held) -> Checked {
        let mut faults = Vec::new();
        let mut files_seen: BTreeMap<&str, Option<Json>> = BTreeMap::new();
        if self.other_version() {
            let found = format!("ssdlab {} made them", self.manifest.program.version);
            return Checked { name: "configurations", result: Outcome::NotRun, found };
        }
        for point in &self.manifest.points {
            let record = point.runs.iter().find_map(|run| held.get(&run.key));
            let own = files_seen.entry(&point.configuration).or_insert_with(|| {
                let path = self.folder.place().join(&point.configuration);
                if let Some(policies) = &self.policies {
                    return policies.configuration(&path, &record?.1["config"]);
                }
                let sources = Sources { files: vec![Document::File(path)], ..Sources::default() };
                Some(tree::config(&Settings::merge(&sources).ok()?.config))
            });
            if record.is_some_and(|(_, content)| own.as_ref() != Some(&content["config"])) {
                faults.push(format!("{} is not that of point {}", point.configuration, point.number));
            }
        }
        let found = format!("{}, each that of its records", plural(files_seen.len() as u64, "configuration"));
        checked("configurations", &faults, found)
    }

    /// One figure, drawn again.
    fn figure(&self, held: &Held) -> Result<Checked> {
        let name = "figure";
        let figures = &self.manifest.figures;
        let Some(last) = (figures.len() as u64).checked_sub(1) else {
            return Ok(Checked { name, result: Outcome::NotRun, found: "the bundle has none".into() });
        };
        let part = &figures[(self.how.seed % (last + 1)) as usize];
        let kept = files::read("figure", &self.folder.place().join(&part.data), files::MOST_BYTES)?;
        let drawn = Spec::parse(&part.spec).and_then(|spec| spec.draw(&self.folder.place().join(STORE)));
        let fault = match drawn {
            Ok(figure) if figure.csv().as_bytes() == kept => {
                return Ok(checked(name, &[], format!("{} has the same data, drawn again", part.drawing)));
            }
            // Broken records have a check of their own.
            Ok(_) if held.len() as u64 != self.manifest.all_runs() - self.manifest.runs(RunState::Missing) => {
                format!("{} can't have the same data: records are broken", part.drawing)
            }
            Ok(_) => format!("{} has other data, drawn again", part.drawing),
            Err(error) => format!("{} can't be drawn again: {}", part.drawing, clip_line(&error.to_string())),
        };
        let result = if self.other_version() { Outcome::NotRun } else { Outcome::Fail };
        Ok(Checked { name, result, found: fault })
    }

    /// The study, all of whose files are inside.
    fn study(&self) -> Result<Study> {
        let file = &self.manifest.study.file;
        let path = self.folder.place().join(file);
        let text = files::read_text("study", &path)?;
        let refuse = |error: Error| {
            wrong(self.bundle, format!("{file}: {}", clip_line(&error.message)))
                .help("the file was sealed like this, and not by `ssdlab bundle make`: do not trust it")
        };
        let table: Table = text.parse().map_err(|_| refuse(Error::usage("it is not TOML")))?;
        // `study`, a folder for each `..`, and the file.
        let depth = file.matches('/').count().saturating_sub(1);
        named::check(&table, depth).map_err(refuse)?;
        let list = named::list(&table);
        let inside = |own: &str| self.manifest.files.iter().any(|part| part.path == own);
        if let Some(list) = &list
            && !seen(Path::new(list)).is_some_and(|seen| inside(&placed(&seen, depth)))
        {
            return Err(refuse(Error::usage(format!("{list}: the list of points is not inside"))));
        }
        // Patterns name traces also where there are no copies of them.
        for trace in self.manifest.traces.iter().filter(|trace| !trace.included) {
            self.folder.put(&trace.file, b"")?;
        }
        let study = Study::parse(file, &text, files::directory(&path)).map_err(refuse)?;
        for named in named::files(&study, list.as_deref()).map_err(refuse)? {
            let known = named.seen.up <= depth && {
                let own = placed(&named.seen, depth);
                match named.role {
                    Role::Text => inside(&own),
                    Role::Trace => self.manifest.traces.iter().any(|trace| trace.file == own),
                }
            };
            if !known {
                return Err(refuse(Error::usage(format!("it names {}, which is not inside", named.seen.down))));
            }
        }
        if study.name != self.manifest.study.name {
            return Err(refuse(Error::usage("its name is not that in the manifest")));
        }
        // Machines differ in speed.
        Ok(Study { limits: Limits::default(), ..study })
    }

    /// Puts the traces of a folder where the study looks for them; returns those that are nowhere, by source.
    fn traces(&self) -> Result<BTreeMap<String, &TracePart>> {
        let shelf = self.how.traces.as_deref().map(Shelf::open).transpose()?;
        let mut absent = BTreeMap::new();
        for trace in self.manifest.traces.iter().filter(|trace| !trace.included) {
            let place = self.folder.place().join(&trace.file);
            match shelf.as_ref().map_or(Ok(None), |shelf| shelf.find(trace))? {
                Some(path) => stand_in(path, &place)?,
                None => drop(absent.insert(trace.source.clone(), trace)),
            }
        }
        Ok(absent)
    }

    /// Whether points, keys and table follow from the study, if all of its traces are there.
    fn table(&self, study: &Study, store: &Store, absent: &BTreeMap<String, &TracePart>) -> Result<[Checked; 2]> {
        let not =
            |why: &str| ["study", "table"].map(|name| Checked { name, result: Outcome::NotRun, found: why.into() });
        if self.other_version() {
            return Ok(not(&format!("keys of ssdlab {} are others", self.manifest.program.version)));
        }
        if !absent.is_empty() {
            return Ok(not("it takes all traces"));
        }
        let points = match Points::of(study.clone(), &Hashes::default(), self.how.check) {
            Ok(points) => points,
            Err(error) if error.class() == Class::File => return Err(error),
            Err(error) => {
                let [mut failed, table] = not("the study can't be read");
                (failed.result, failed.found) = (Outcome::Fail, clip_line(&error.to_string()));
                return Ok([failed, table]);
            }
        };
        let mut faults = Vec::new();
        if points.points.len() != self.manifest.points.len() {
            let (own, here) = (points.points.len() as u64, self.manifest.points.len() as u64);
            faults.push(format!("the study has {}, the bundle {}", plural(own, "point"), count(here)));
        }
        for (place, part) in self.manifest.points.iter().enumerate().take(points.points.len()) {
            if let Some(run) = part.runs.iter().find(|run| points.run(place, run.seed).key != run.key) {
                faults.push(format!("point {} seed {} has another key", part.number, run.seed));
            }
        }
        let found = format!(
            "{} and the keys of {} follow from the study",
            plural(points.points.len() as u64, "point"),
            plural(self.manifest.all_runs(), "run")
        );
        let study = checked("study", &faults, found);
        let again = Folder::scratch()?;
        make::write_table(&points, store, again.place())?;
        let both = [again.place(), self.folder.place()]
            .map(|place| files::read("table", &place.join(TABLE), files::MOST_BYTES));
        let [own, kept] = both;
        let same = own? == kept?;
        let faults = if same { Vec::new() } else { vec![format!("{TABLE} does not follow from the records")] };
        Ok([study, checked("table", &faults, format!("{TABLE} follows from the records"))])
    }

    /// Means of the main table's measure by point.
    fn means(&self, held: &Held) -> Vec<Option<f64>> {
        let Some(name) = &self.manifest.measure else { return vec![None; self.manifest.points.len()] };
        let of = |point: &PointPart| {
            let values = point.runs.iter().map(|run| measure(&held.get(&run.key)?.1["summary"], name));
            let values: Vec<f64> = values.collect::<Option<_>>()?;
            Some(values.iter().sum::<f64>() / values.len() as f64)
        };
        self.manifest.points.iter().map(of).collect()
    }

    /// Runs points again and compares their records.
    fn again(
        &self,
        study: &Study,
        held: &Held,
        absent: &BTreeMap<String, &TracePart>,
        progress: &Progress<'_>,
        verified: &mut Verified,
    ) -> Result<()> {
        let points = &self.manifest.points;
        let keys: Vec<Option<&str>> =
            points.iter().map(|point| point.whole().then_some(point.runs[0].key.as_str())).collect();
        let places = chosen(&self.means(held), &keys, self.how.points, self.how.seed);
        let missing = |point: &PointPart| point.traces.iter().find_map(|source| absent.get(source).copied());
        let (ready, not): (Vec<usize>, Vec<usize>) =
            places.into_iter().partition(|place| missing(&points[*place]).is_none());
        for place in not {
            let trace = missing(&points[place]);
            verified.points.push(idle(
                &points[place],
                trace.map_or_else(String::new, |trace| {
                    let how =
                        trace.obtain.as_ref().map_or_else(String::new, |how| format!(" (from {})", clip_line(how)));
                    format!("needs {}{how}: give its folder with --traces", trace.file)
                }),
            ));
        }
        let unlike = self.policies.is_none();
        if !self.manifest.policies.is_empty() && (unlike || self.how.code.is_none()) {
            let (result, why) = match unlike {
                true => (Outcome::Fail, "its policies are not those of its records, and are not run"),
                false => (Outcome::NotRun, "its policies are code, which --allow-code would run"),
            };
            verified.code_not_run = if unlike { 0 } else { ready.len() as u64 };
            verified.points.extend(ready.iter().map(|at| Again { result, ..idle(&points[*at], why.into()) }));
            verified.points.sort_by_key(|point| point.point);
            return Ok(());
        }
        let from = Instant::now();
        let done = match self.run(study, &ready, progress) {
            Ok(done) => done,
            Err(error) if matches!(error.class(), Class::File | Class::Stopped) => return Err(error),
            Err(error) => {
                let why = clip_line(&error.to_string());
                let failed = ready.iter().map(|place| {
                    let result = if self.other_version() { Outcome::NotRun } else { Outcome::Fail };
                    Again { result, ..idle(&points[*place], why.clone()) }
                });
                verified.points.extend(failed);
                verified.points.sort_by_key(|point| point.point);
                return Ok(());
            }
        };
        verified.seconds = from.elapsed().as_secs_f64();
        for place in &ready {
            verified.points.push(self.compared(&points[*place], held, &done));
        }
        verified.points.sort_by_key(|point| point.point);
        let cost = |point: &PointPart| point.cost_ns as f64 * point.runs.len() as f64;
        let (own, all): (f64, f64) =
            (ready.iter().map(|place| cost(&points[*place])).sum(), points.iter().map(cost).sum());
        verified.all_seconds = (own > 0.0).then(|| verified.seconds * all / own);
        Ok(())
    }

    /// Runs some points in a store of its own: by point and seed, what came of it.
    fn run(&self, study: &Study, places: &[usize], progress: &Progress<'_>) -> Result<Done> {
        let choices = places.iter().map(|place| {
            let point = &self.manifest.points[*place];
            study
                .choices
                .get(point.choice)
                .cloned()
                .ok_or_else(|| Error::usage(format!("point {}: the study has no such point", point.number)))
        });
        let choices: Vec<_> = choices.collect::<Result<_>>()?;
        if choices.is_empty() {
            return Ok(Done::new());
        }
        let points = Points::of(Study { choices, excluded: 0, ..study.clone() }, &Hashes::default(), self.how.check)?;
        if points.points.len() != places.len() {
            return Err(Error::usage("the points of the bundle are not those of its study"));
        }
        let folder = Folder::scratch()?;
        let store = Store::create(&folder.place().join("store"), Disk::default())?;
        let options = Options { jobs: self.how.jobs, check: self.how.check, ..Options::default() };
        let clock = Clock { progress, state: Mutex::new(Clocked::default()) };
        let mut code_failed = None;
        match &self.policies {
            None => {
                execute::run(&points, &store, &options, &clock)?;
            }
            Some(_) => code_failed = self.run_code(places, store.root()).err(),
        }
        let clocked = clock.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut done = Done::new();
        for (at, place) in places.iter().enumerate() {
            let part = &self.manifest.points[*place];
            for run in &part.runs {
                let key = points.run(at, run.seed).key;
                let record = match store.holds(&key)? {
                    true => Ok(String::from_utf8(store.bytes(&key)?).unwrap_or_default()),
                    false => {
                        let failure = || store.failure(&key).map(|failure| clip_line(&failure.message));
                        let why = clocked.failed.get(&key).cloned().or_else(|| code_failed.clone()).or_else(failure);
                        Err(why.unwrap_or_else(|| "it was not run".into()))
                    }
                };
                let cost = || store.cost(&key).map_or(0.0, |cost| cost.wall_s);
                let seconds = clocked.seconds.get(&key).copied().unwrap_or_else(cost);
                done.insert((part.number, run.seed), Ran { key, record, seconds });
            }
        }
        Ok(done)
    }

    /// Runs some points by an interpreter of Python, because their policies are written in it; why that can't be done, if so.
    fn run_code(&self, places: &[usize], store: &Path) -> std::result::Result<(), String> {
        let Some(python) = &self.how.code else { return Err("code is not allowed".into()) };
        let task = Task {
            study: &self.folder.place().join(&self.manifest.study.file),
            policies: &self.policy_folder(),
            store,
            choices: places.iter().map(|place| self.manifest.points[*place].choice).collect(),
            jobs: self.how.jobs,
            check: "sampled",
            version: VERSION,
        };
        code::run(python, &task)
    }

    /// A point beside its records.
    fn compared(&self, point: &PointPart, held: &Held, done: &Done) -> Again {
        let mut again = Again { result: Outcome::Pass, why: None, ..idle(point, String::new()) };
        let mut whys = BTreeSet::new();
        for run in &point.runs {
            let Some(ran) = done.get(&(point.number, run.seed)) else { continue };
            again.seconds += ran.seconds;
            let (result, why, differences) = self.one(run, ran, held);
            if result != Outcome::Pass && again.result != Outcome::Fail {
                again.result =
                    if again.result == Outcome::Far && result == Outcome::Near { Outcome::Far } else { result };
            }
            whys.extend(why.map(|why| format!("seed {}: {why}", run.seed)));
            again.differences.extend(differences);
        }
        again.why = whys.into_iter().next();
        again
    }

    fn one(&self, run: &RunPart, ran: &Ran, held: &Held) -> (Outcome, Option<String>, Vec<Difference>) {
        let fail = |why: String| (Outcome::Fail, Some(why), Vec::new());
        let Some((record, _)) = held.get(&run.key) else { return fail("its record is broken".into()) };
        let now = match &ran.record {
            Ok(now) => now,
            Err(why) => return (Outcome::NotRun, Some(why.clone()), Vec::new()),
        };
        if self.other_version() {
            let differences = differences(record, now, self.manifest.tolerance);
            let result = if differences.is_empty() { Outcome::Near } else { Outcome::Far };
            let why = format!("ssdlab {} made the record", self.manifest.program.version);
            return (result, Some(why), differences);
        }
        if ran.key != run.key {
            return fail("the study gives it another key".into());
        }
        match now == record {
            true => (Outcome::Pass, None, Vec::new()),
            false => (Outcome::Fail, Some("the record has other bytes".into()), differences(record, now, 0.0)),
        }
    }
}

/// A point that was not run, and why.
fn idle(point: &PointPart, why: String) -> Again {
    Again {
        point: point.number,
        values: clip_line(&point.words()),
        runs: point.runs.len() as u64,
        result: Outcome::NotRun,
        seconds: 0.0,
        why: Some(why),
        differences: Vec::new(),
    }
}

/// Lets a file stand where an empty one does.
fn stand_in(path: &Path, place: &Path) -> Result<()> {
    let cannot = |error: std::io::Error| Error::file("write", place, &error);
    let whole = path.canonicalize().map_err(cannot)?;
    std::fs::remove_file(place).map_err(cannot)?;
    #[cfg(unix)]
    return std::os::unix::fs::symlink(whole, place).map_err(cannot);
    #[cfg(not(unix))]
    return std::fs::copy(whole, place).map(drop).map_err(cannot);
}

/// A run that was made again.
struct Ran {
    key: String,
    /// Its record, or why it has none.
    record: std::result::Result<String, String>,
    seconds: f64,
}

/// By number of the point and seed.
type Done = HashMap<(u64, u64), Ran>;

/// Times the runs of a sweep.
struct Clock<'c> {
    progress: &'c Progress<'c>,
    state: Mutex<Clocked>,
}

#[derive(Default)]
struct Clocked {
    begun: HashMap<String, Instant>,
    seconds: HashMap<String, f64>,
    failed: HashMap<String, String>,
    of: u64,
}

impl Clock<'_> {
    fn state(&self) -> std::sync::MutexGuard<'_, Clocked> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watch for Clock<'_> {
    fn planned(&self, left: u64, _status: &ssdlab_sweep::status::Tally) {
        self.state().of = left;
        (self.progress)(0, left);
    }

    fn begins(&self, run: &Run, _point: &Point) {
        self.state().begun.insert(run.key.clone(), Instant::now());
    }

    fn ended(&self, run: &Run, end: &End) {
        let (done, of) = {
            let mut state = self.state();
            let seconds = state.begun.get(&run.key).map_or(0.0, |from| from.elapsed().as_secs_f64());
            state.seconds.insert(run.key.clone(), seconds);
            if let End::Failure { message, .. } = end {
                state.failed.insert(run.key.clone(), clip_line(message));
            }
            (state.seconds.len() as u64, state.of)
        };
        (self.progress)(done, of);
    }
}
