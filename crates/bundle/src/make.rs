//! Makes a bundle from a study and the store of its runs.

use std::collections::{BTreeMap, HashMap};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde::de::IgnoredAny;
use serde_json::Value as Json;
use ssdlab_lab::error::{Error, Kind, Result};
use ssdlab_lab::files;
use ssdlab_lab::names::{clip, clip_line, nearest};
use ssdlab_lab::output::{Folder, Output};
use ssdlab_lab::results::sheet::Place;
use ssdlab_lab::settings::Settings;
use ssdlab_lab::text::{count, plural};
use ssdlab_sim::Check;
use ssdlab_sweep::keep::{self, POLICIES};
use ssdlab_sweep::points::{Points, Run, VERSION};
use ssdlab_sweep::status::{Standing, Survey, measure};
use ssdlab_sweep::store::{self, Status, Store};
use ssdlab_sweep::study::{Repeat, Study};
use ssdlab_sweep::table::{Rows, Shape};
use toml::Table;

use crate::figures::Spec;
use crate::manifest::{
    FigurePart, Manifest, PointPart, Program, RunPart, RunState, SCHEMA, StudyPart, TracePart, record,
};
use crate::named::{self, Named, Role};
use crate::pack::{self, Packed, Written, header};
use crate::paths::{self, Seen, placed, refused};
use crate::policies::{self, Kept};
use crate::seal::digest_of;
use crate::traces::Obtain;
use crate::words;

/// What is done with traces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Copies {
    /// They are copied into the bundle.
    Include,
    /// Their digests are.
    #[default]
    Digest,
}

/// What a bundle is to be.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The study.
    pub study: PathBuf,
    /// The store of its runs.
    pub store: PathBuf,
    /// What is done with traces.
    pub traces: Copies,
    /// How traces are obtained.
    pub obtain: Obtain,
    /// The figures; without any, the one that shows the study best.
    pub figures: Vec<Spec>,
    /// What it is called; by default as the study.
    pub title: Option<String>,
    /// Who made it.
    pub authors: Vec<String>,
    /// The measure whose extremes are always run again.
    pub measure: Option<String>,
    /// How far figures of another version may be away, as a share.
    pub tolerance: f64,
    /// Whether runs may be missing.
    pub partial: bool,
    /// Whether digests of traces are computed again.
    pub rehash: bool,
}

/// What was made.
#[derive(Clone, Debug)]
pub struct Made {
    /// What the bundle says of itself.
    pub manifest: Manifest,
    /// Its digest and length.
    pub written: Written,
    /// Records of the store that were broken and set aside.
    pub broken: u64,
}

/// The main table inside.
pub const TABLE: &str = "tables/runs.csv";
/// The store inside.
pub const STORE: &str = "store";
/// Measures that a main table is read by, where nobody says which.
const MEASURES: [&str; 4] =
    ["latency_ns.all.p99", "latency_ns.all.mean", "write_amplification_bytes", "write_amplification"];

/// The file of the program, where that is not the one of this process.
static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Says which file the program is: in an interpreter, the module that it has loaded.
pub fn is_in(file: PathBuf) {
    // The first one stays: a process has loaded one.
    let _ = PROGRAM.set(file);
}

/// The version and digest of the program that runs.
pub fn program() -> Program {
    let path = PROGRAM.get().cloned().or_else(|| std::env::current_exe().ok());
    let file = path.and_then(|path| std::fs::File::open(path).ok());
    let sha256 = file.and_then(|file| digest_of(file).ok()).map(|(digest, _)| digest);
    Program { version: VERSION.into(), sha256 }
}

/// Makes a bundle.
///
/// # Errors
/// The study or the store can't be read; runs are missing; a path means something else elsewhere; the file can't be written.
pub fn make(plan: &Plan, bundle: &Path) -> Result<Made> {
    for text in plan.title.iter().chain(&plan.authors) {
        if text.trim().is_empty() || text.chars().any(char::is_control) {
            return Err(Error::usage(format!("`{}` is no title and no name", clip(text))).help("give it in one line"));
        }
    }
    let mut output = Output::create(bundle)?;
    let mut study = Study::open(&plan.study)?;
    let policies = policies(&study.name, plan)?;
    if let Some(policies) = &policies {
        study = study.with(policies.stand_ins())?;
    }
    let table: Table = study.text.text.parse().map_err(|_| Error::usage("the study is not TOML"))?;
    named::check(&table, usize::MAX)?;
    let list = named::list(&table);
    let named = named::files(&study, list.as_deref())?;
    let hashes = keep::known(Some(&plan.store), plan.rehash);
    let points = Points::of(study, &hashes, Check::Sampled)?;
    let store = Store::open(&plan.store).map_err(|error| match error.kind {
        Kind::File { cause: ErrorKind::NotFound, .. } => {
            let (study, store) = (plan.study.display(), plan.store.display());
            error.help(format!("make it with `ssdlab sweep run {study} --store {store}`"))
        }
        _ => error,
    })?;
    let runs = state(&points, &store)?;
    finished(&runs, plan, policies.is_some())?;

    let stage = Stage { folder: Folder::scratch()?, packed: BTreeMap::new() };
    // The folder is kept until its files are packed.
    let (manifest, packed, _stage) = stage.pack(plan, &points, &runs, &named, &store, policies.as_ref())?;
    let written = pack::write(&manifest, &packed, bundle, &mut output)?;
    output.finish()?.publish()?;
    Ok(Made { manifest, written, broken: store.broken() })
}

/// The policies that the runs of the study had when it was last run, if these were written in Python.
fn policies(study: &str, plan: &Plan) -> Result<Option<Kept>> {
    let kept = Kept::read(&policies::folder(&plan.store.join("studies").join(study)))?;
    match kept.as_ref().and_then(|kept| kept.why_not.as_ref()) {
        None => Ok(kept),
        Some(why) => Err(Error::usage(format!("the policies of {study} can't be packed: {}", clip_line(why)))
            .help("correct the policies and run the study again; runs of a changed policy are simulated again")),
    }
}

/// A run and what the store has of it.
struct Held {
    run: Run,
    state: RunState,
    standing: Standing,
}

fn state(points: &Points, store: &Store) -> Result<Vec<Held>> {
    let survey = Survey::of(points, Some(store))?;
    let held = survey.runs().into_iter().map(|run| {
        let standing = survey.standing(&run, store);
        let read = match standing {
            Standing::Done | Standing::Refused => store.read::<IgnoredAny>(&run.key)?,
            _ => None,
        };
        let state = match read.map(|read| read.status) {
            Some(Status::Done) => RunState::Done,
            Some(Status::Refused) => RunState::Refused,
            None => RunState::Missing,
        };
        Ok(Held { run, state, standing })
    });
    held.collect()
}

/// Refuses what is not finished, unless that is said.
fn finished(runs: &[Held], plan: &Plan, policies: bool) -> Result<()> {
    let missing = runs.iter().filter(|held| held.state == RunState::Missing);
    let (mut left, mut failed) = (0u64, 0u64);
    for held in missing {
        let for_good = matches!(&held.standing, Standing::Failure(failure) if failure.for_good());
        *(if for_good { &mut failed } else { &mut left }) += 1;
    }
    if left + failed == 0 {
        return Ok(());
    }
    let all = runs.len() as u64;
    let (study, store) = (plan.study.display(), plan.store.display());
    let command = match policies {
        false => format!("`ssdlab sweep run {study} --store {store}`"),
        true => format!("`ssdlab.sweep(\"{study}\", \"{store}\", ...)` and its policies, in Python"),
    };
    let message = format!(
        "{store} has not all of {study}: of {}, {} left and {} failed",
        plural(all, "run"),
        count(left),
        count(failed)
    );
    if left + failed == all {
        return Err(Error::usage(message).help(format!("run it with {command}")));
    }
    match plan.partial {
        true => Ok(()),
        false => {
            Err(Error::usage(message).help(format!("finish it with {command}, or pack what is there with --partial")))
        }
    }
}

/// The files of a bundle while it is made.
struct Stage {
    folder: Folder,
    /// By path in small letters: path, and where the file is now.
    packed: BTreeMap<String, (String, PathBuf)>,
}

impl Stage {
    /// Adds a file that is somewhere else.
    fn add(&mut self, path: String, from: &Path) -> Result<()> {
        if let Some(why) = refused(&path).or_else(|| header(&path, 0).is_none().then_some("it is too long")) {
            let name = from.display();
            return Err(Error::usage(format!("{name} can't be packed: {why} (inside, `{}`)", clip(&path)))
                .help("rename the file, and name it so in the study"));
        }
        // Systems that do not tell large letters from small ones would take two files for one.
        let before = self.packed.insert(path.to_lowercase(), (path, from.into()));
        match before.filter(|(_, other)| other != from) {
            None => Ok(()),
            Some((path, _)) => {
                Err(Error::usage(format!("two files would be `{}` inside", clip(&path))).help("rename one of them"))
            }
        }
    }

    /// Writes and adds a file.
    fn put(&mut self, path: &str, text: &str) -> Result<()> {
        self.folder.put(path, text.as_bytes())?;
        self.add(path.into(), &self.folder.place().join(path))
    }

    /// Adds a file that was written to the folder.
    fn written(&mut self, path: &str) -> Result<()> {
        self.add(path.into(), &self.folder.place().join(path))
    }

    fn pack(
        mut self,
        plan: &Plan,
        points: &Points,
        runs: &[Held],
        named: &[Named],
        store: &Store,
        policies: Option<&Kept>,
    ) -> Result<(Manifest, Vec<Packed>, Folder)> {
        let depth = named.iter().map(|named| named.seen.up).max().unwrap_or(0);
        let study = plan.study.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let file = placed(&Seen { up: 0, down: study }, depth);
        self.put(&file, &points.study.text.text)?;
        for named in named.iter().filter(|named| named.role == Role::Text) {
            let inside = placed(&named.seen, depth);
            if inside != file {
                self.add(inside, &named.path)?;
            }
        }
        let mut traces = traces(points, named, depth, plan)?;
        plan.obtain.enter(&mut traces)?;
        for trace in traces.iter().filter(|trace| trace.included) {
            let from = named.iter().find(|named| named.role == Role::Trace && placed(&named.seen, depth) == trace.file);
            self.add(trace.file.clone(), from.map_or(Path::new(&trace.file), |named| &named.path))?;
        }
        let inside = format!("{STORE}/studies/{}/{POLICIES}", points.study.name);
        for file in policies.iter().flat_map(|kept| kept.files()) {
            self.add(format!("{inside}/{file}"), &policies::folder(&store.study(&points.study.name)).join(file))?;
        }
        let parts = self.points(points, runs, store)?;
        let figures = self.results(plan, points, runs)?;
        let partial = parts.iter().any(|point| !point.whole());
        let name = points.study.name.clone();
        let mut manifest = Manifest {
            schema: SCHEMA.into(),
            title: plan.title.clone().unwrap_or_else(|| name.clone()),
            study: StudyPart { name, file },
            program: program(),
            partial,
            tolerance: plan.tolerance,
            measure: main_measure(points, runs, store, plan)?,
            points: parts,
            traces,
            policies: policies.map_or_else(Vec::new, |kept| kept.parts(&inside)),
            figures,
            files: Vec::new(),
        };
        // The page for the reviewer has the digests of sources.
        let sources = self.packed.values().filter(|(path, _)| path.starts_with(&format!("{inside}/")));
        manifest.files =
            sources.map(|(path, from)| Ok(Packed::new(path.clone(), from)?.part)).collect::<Result<Vec<_>>>()?;
        self.put("README.md", &words::readme(&manifest))?;
        self.put("CITATION.cff", &words::citation(&manifest, &plan.authors))?;
        self.put(".zenodo.json", &words::zenodo(&manifest, &plan.authors))?;
        let mut packed =
            self.packed.into_values().map(|(path, from)| Packed::new(path, &from)).collect::<Result<Vec<_>>>()?;
        packed.sort_by(|a, b| a.part.path.cmp(&b.part.path));
        manifest.files = packed.iter().map(|packed| packed.part.clone()).collect();
        Ok((manifest, packed, self.folder))
    }

    /// The points, with the configurations and records that the bundle has of them.
    fn points(&mut self, points: &Points, runs: &[Held], store: &Store) -> Result<Vec<PointPart>> {
        self.put(&format!("{STORE}/store.json"), &format!("{{\"schema\": \"{}\"}}\n", store::SCHEMA))?;
        let mut parts = Vec::new();
        let mut configurations: HashMap<&str, String> = HashMap::new();
        for own in runs.chunk_by(|a, b| a.run.point == b.run.point) {
            let point = &points.points[own[0].run.point];
            let configuration = match configurations.get(point.digest.as_str()) {
                Some(known) => known.clone(),
                None => {
                    let path = format!("configurations/{:04}.toml", point.number);
                    self.put(&path, &Settings::of(point.config.clone()).toml())?;
                    configurations.insert(&point.digest, path.clone());
                    path
                }
            };
            for held in own.iter().filter(|held| held.state != RunState::Missing) {
                let (path, bytes) = (record(&held.run.key), store.bytes(&held.run.key)?);
                self.folder.put(&path, &bytes)?;
                self.written(&path)?;
            }
            let input = &points.inputs[point.input];
            let sources = input.source.1.iter().map(|(source, _)| source);
            let axes = points.study.axes.iter().zip(&point.items);
            let same = |items: &Vec<ssdlab_sweep::axis::Item>| {
                items.iter().zip(&point.items).all(|(a, b)| a.same == b.same && a.shown == b.shown)
            };
            parts.push(PointPart {
                number: point.number,
                choice: points.study.choices.iter().position(same).unwrap_or(0),
                values: axes.map(|(axis, item)| (axis.label.clone(), Json::String(item.shown.text()))).collect(),
                configuration,
                traces: sources.filter(|source| source.starts_with("trace:")).cloned().collect(),
                cost_ns: point.work.fixed_ns(),
                runs: own
                    .iter()
                    .map(|held| RunPart { seed: held.run.seed, key: held.run.key.clone(), state: held.state })
                    .collect(),
            });
        }
        Ok(parts)
    }

    /// Table and figures, from the records as the bundle has them.
    fn results(&mut self, plan: &Plan, points: &Points, runs: &[Held]) -> Result<Vec<FigurePart>> {
        let place = self.folder.place().to_path_buf();
        let store = Store::open(&place.join(STORE))?;
        let study = format!("{STORE}/studies/{}", points.study.name);
        self.put(&format!("{study}/study.toml"), &points.study.text.text)?;
        let list = format!("{study}/points.csv");
        let all: Vec<Run> = runs.iter().map(|held| held.run.clone()).collect();
        keep::listed(points, &all, &place.join(&list))?.publish()?;
        self.written(&list)?;
        write_table(points, &store, &place)?;
        self.written(TABLE)?;
        let varied = points.study.axes.iter().any(|axis| axis.items().len() > 1);
        let usual = if plan.figures.is_empty() && varied { vec![Spec::parse("sweep-lines")?] } else { Vec::new() };
        let mut parts = Vec::new();
        for (spec, number) in plan.figures.iter().chain(&usual).zip(1..) {
            let figure = spec.draw(&place.join(STORE))?;
            let stem = spec.stem(number);
            let (drawing, data) = (format!("{stem}.svg"), format!("{stem}.csv"));
            self.put(&drawing, &spec.drawing(&figure))?;
            self.put(&data, &figure.csv())?;
            parts.push(FigurePart { spec: spec.text.clone(), drawing, data });
        }
        Ok(parts)
    }
}

/// Writes the main table of a study to its place in a folder.
///
/// # Errors
/// The store can't be read, or the table not be written.
pub fn write_table(points: &Points, store: &Store, folder: &Path) -> Result<()> {
    let path = folder.join(TABLE);
    let tables = files::directory(&path);
    std::fs::create_dir_all(tables).map_err(|error| Error::file("write", tables, &error))?;
    Rows::of(points, store)?.write(&Place::File(path), Shape { tidy: false, no_perf: true })?.publish()
}

/// The traces that a study names.
fn traces(points: &Points, named: &[Named], depth: usize, plan: &Plan) -> Result<Vec<TracePart>> {
    let sources: HashMap<&Path, &str> = points
        .inputs
        .iter()
        .flat_map(|input| &input.source.1)
        .map(|(source, path)| (path.as_path(), source.as_str()))
        .collect();
    let mut parts = Vec::new();
    for named in named.iter().filter(|named| named.role == Role::Trace) {
        let Some(source) = sources.get(named.path.as_path()) else { continue };
        let path = &named.path;
        let read = digest_of(files::open_regular("trace", path)?);
        let (sha256, bytes) = read.map_err(|error| Error::file("read the trace", path, &error))?;
        let file = paths::placed(&named.seen, depth);
        if let Some(why) = refused(&file) {
            return Err(Error::usage(format!("{} can't be named inside: {why}", path.display()))
                .help("rename the file, and name it so in the study"));
        }
        let (source, included) = ((*source).to_string(), plan.traces == Copies::Include);
        parts.push(TracePart { source, file, bytes, sha256, included, obtain: None });
    }
    parts.sort_by(|a, b| a.file.cmp(&b.file));
    parts.dedup_by(|a, b| a.file == b.file);
    Ok(parts)
}

/// The measure by which the main table has extremes.
fn main_measure(points: &Points, runs: &[Held], store: &Store, plan: &Plan) -> Result<Option<String>> {
    let Some(held) = runs.iter().find(|held| held.state == RunState::Done) else { return Ok(None) };
    let summary = store.read::<Json>(&held.run.key)?.and_then(|read| read.summary).unwrap_or_default();
    let has = |name: &str| measure(&summary, name).is_some();
    if let Some(wanted) = &plan.measure {
        if has(wanted) {
            return Ok(Some(wanted.clone()));
        }
        let all = ssdlab_report::sweep::measures();
        let meant = nearest(wanted, all.iter().map(|measure| measure.path.as_str()));
        let help = meant.map_or_else(
            || "give a number of summaries, such as latency_ns.read.p99".into(),
            |meant| format!("did you mean `{meant}`?"),
        );
        return Err(Error::usage(format!("--measure {}: the records have no such number", clip(wanted))).help(help));
    }
    let until = match &points.study.repeat {
        Repeat::Until(until) => Some(until.measure.as_str()),
        Repeat::Seeds(_) => None,
    };
    Ok(until.into_iter().chain(MEASURES).find(|name| has(name)).map(String::from))
}
