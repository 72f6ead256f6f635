//! The points of a study with their configurations and inputs, and the keys of their runs. No device is built.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;

use ssdlab_sim::Check;
use ssdlab_sim::config::{Config, PreconditionMode};

use crate::axis::{Change, Item};
use crate::cost::{UNKNOWN, Work, filled_pages};
use crate::key::{Hashes, Mode, POLICIES, identity, key};
use crate::study::{Repeat, Study};
use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::files::read_text;
use ssdlab_lab::input::{self, Origin, Requests};
use ssdlab_lab::names::clip;
use ssdlab_lab::parallel;
use ssdlab_lab::policies::Policies;
use ssdlab_lab::settings::{Document, Settings, Sources};
use ssdlab_lab::theory::Outlook;

/// A combination of values.
#[derive(Clone, Debug)]
pub struct Point {
    /// Its number in the study, from 1.
    pub number: u64,
    /// Its value on each axis.
    pub items: Vec<Item>,
    /// Its configuration.
    pub config: Config,
    /// The digest of its configuration.
    pub digest: String,
    /// The rule that it breaks, if any.
    pub refused: Option<String>,
    /// Its place among the inputs.
    pub input: usize,
    /// Whether its runs have time.
    pub mode: Mode,
    /// What one run of it takes.
    pub work: Work,
    /// What is equal for points that are filled alike; none where nothing is filled.
    pub filling: Option<[u8; 32]>,
    /// Bytes of memory that its device needs.
    pub memory_bytes: u64,
}

/// Requests that runs serve.
#[derive(Clone, Debug)]
pub struct Input {
    /// Their identity within a key.
    pub identity: String,
    /// Where they come from, and how they are read.
    pub requests: Requests,
    /// The source alone, and its files, each with the source that it is.
    pub source: (String, Vec<(String, PathBuf)>),
    /// How many there are, as far as that is known before any is read.
    pub count: u64,
}

/// A study with its points.
#[derive(Clone, Debug)]
pub struct Points {
    /// The study.
    pub study: Study,
    /// Its points in order.
    pub points: Vec<Point>,
    /// What they read.
    pub inputs: Vec<Input>,
    /// Points that rounding made equal to an earlier one.
    pub merged: u64,
}

/// One run of a point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The place of its point.
    pub point: usize,
    /// Seed of every random choice.
    pub seed: u64,
    /// Its key.
    pub key: String,
}

/// The version of the program, which is part of every key.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What an item changes beside the configuration.
struct Choice {
    sources: Sources,
    requests: Requests,
    /// How many requests there are, if they were counted.
    counted: Option<u64>,
    count_only: bool,
}

impl Points {
    /// Merges the configuration of every point.
    ///
    /// # Errors
    /// A value can't be read, or an input does not exist. A combination that breaks a rule is a point that is refused.
    pub fn of(study: Study, hashes: &Hashes, check: Check) -> Result<Points> {
        let base = study.base.clone().frozen()?;
        let mut files: HashMap<PathBuf, Document> = HashMap::new();
        for change in study.choices.iter().flatten().flat_map(|item| &item.changes) {
            if let Change::File(path) = change
                && !files.contains_key(path)
            {
                let whole = study.text.directory.join(path);
                let text = read_text("configuration", &whole)?;
                files.insert(path.clone(), Document::Text { name: whole.display().to_string(), text });
            }
        }
        let choices: Vec<Choice> =
            study.choices.iter().map(|items| choice(&study, &base, &files, items)).collect::<Result<_>>()?;
        let mut inputs: Vec<Input> = Vec::new();
        let mut known: BTreeMap<String, usize> = BTreeMap::new();
        let mut places = Vec::new();
        for choice in &choices {
            // The debug form tells apart what the command line tells apart.
            let name = choice.requests.arguments().join("\n");
            let place = match known.get(&name) {
                Some(place) => *place,
                None => {
                    inputs.push(open(choice, hashes, &study.policies)?);
                    known.insert(name, inputs.len() - 1);
                    inputs.len() - 1
                }
            };
            places.push(place);
        }
        if study.scans.is_some() {
            distinct(&inputs)?;
        }
        let mut points = settle(&study, &choices, &places, &inputs, check)?;
        let before = points.len();
        let mut seen: HashSet<(String, usize, Mode)> = HashSet::new();
        points.retain(|point| seen.insert((point.digest.clone(), point.input, point.mode)));
        points.iter_mut().zip(1..).for_each(|(point, number)| point.number = number);
        let merged = (before - points.len()) as u64;
        Ok(Points { study, points, inputs, merged })
    }

    /// The run of a point with a seed.
    pub fn run(&self, place: usize, seed: u64) -> Run {
        let point = &self.points[place];
        let key = key(VERSION, &point.digest, &self.inputs[point.input].identity, seed, point.mode);
        Run { point: place, seed, key }
    }

    /// All runs in order, seeds varying fastest; under `until`, those of the most seeds.
    pub fn runs(&self) -> Vec<Run> {
        let seeds = self.seeds();
        (0..self.points.len()).flat_map(|place| seeds.iter().map(move |seed| self.run(place, *seed))).collect()
    }

    /// The seeds of a point; under `until`, the most.
    pub fn seeds(&self) -> Vec<u64> {
        match &self.study.repeat {
            Repeat::Seeds(seeds) => seeds.clone(),
            Repeat::Until(until) => (1..=until.most).collect(),
        }
    }

    /// The baseline of a point: the point with the baseline's values and the same other axes.
    pub fn baseline(&self) -> Vec<Option<usize>> {
        let fixed = &self.study.baseline;
        if fixed.is_empty() {
            return vec![None; self.points.len()];
        }
        let rest = |point: &Point| -> String {
            let others = (0..point.items.len()).filter(|axis| !fixed.iter().any(|(fixed, _)| fixed == axis));
            others.map(|axis| point.items[axis].same.to_string() + "\n").collect()
        };
        let is_base = |point: &&Point| fixed.iter().all(|(axis, item)| point.items[*axis].same == item.same);
        let bases: HashMap<String, usize> =
            self.points.iter().filter(is_base).map(|point| (rest(point), point.number as usize - 1)).collect();
        self.points.iter().map(|point| bases.get(&rest(point)).copied()).collect()
    }
}

fn choice(study: &Study, base: &Sources, files: &HashMap<PathBuf, Document>, items: &[Item]) -> Result<Choice> {
    let (requests, count_only) = (study.requests.clone(), study.count_only);
    let mut choice = Choice { sources: base.clone(), requests, counted: None, count_only };
    for change in items.iter().flat_map(|item| &item.changes) {
        match change {
            Change::Set(set) => choice.sources.varied.push(set.clone()),
            Change::Preset(name) => choice.sources.preset = Some(name.clone()),
            Change::File(path) => choice.sources.files.extend(files.get(path).cloned()),
            Change::Workload(name) => choice.requests.from = crate::study::origin(&study.text, name),
            Change::Trace(path) => choice.requests.from = Origin::Trace(study.text.directory.join(path).into()),
            Change::Device(label) => choice.requests.reading.device = Some(label.clone()),
            Change::Format(name) => choice.requests.reading.format = name.clone(),
            Change::LbaPolicy(policy) => choice.requests.lba_policy = *policy,
            Change::Counted(requests) => choice.counted = Some(*requests),
            Change::Limit(limit) => choice.requests.limit = Some(*limit),
            Change::TimeScale(scale) => choice.requests.time_scale = Some(*scale),
            Change::CountOnly(count) => choice.count_only = *count,
        }
    }
    Ok(choice)
}

fn open(choice: &Choice, hashes: &Hashes, policies: &Policies) -> Result<Input> {
    let requests = &choice.requests;
    let source = hashes.source(&requests.from)?;
    let opened = input::open(requests)?;
    let count = opened.expected().unwrap_or_else(|| {
        // A line of a trace takes some 50 bytes, compressed a fifth of that.
        let file = source.1.first().map(|(_, path)| path);
        let bytes = file.and_then(|path| std::fs::metadata(path).ok()).map(|meta| meta.len());
        let packed = file.and_then(|path| path.extension()).is_some_and(|ending| ending != "csv");
        let guess = || bytes.map_or(UNKNOWN, |bytes| (bytes / if packed { 10 } else { 50 }).max(1));
        let once = choice.counted.unwrap_or_else(guess);
        // How often a device takes a trace until its end is known after a run only.
        let passes = if requests.until_end { 1_000.min(requests.passes()) } else { requests.loops };
        let all = once.saturating_mul(u64::from(passes));
        requests.limit.map_or(all, |limit| limit.min(all.max(1)))
    });
    let mut identity = identity(&source.0, requests);
    if !policies.is_empty() {
        identity += &format!(" {POLICIES}={}", policies.identity);
    }
    Ok(Input { identity, requests: requests.clone(), source, count })
}

/// Merges the configurations, on all cores.
fn settle(study: &Study, choices: &[Choice], places: &[usize], inputs: &[Input], check: Check) -> Result<Vec<Point>> {
    let all: Vec<usize> = (0..choices.len()).collect();
    let settled =
        parallel::map(&all, |at: &usize| point(study, *at, &choices[*at], places[*at], &inputs[places[*at]], check));
    settled.into_iter().collect()
}

fn point(study: &Study, at: usize, choice: &Choice, place: usize, input: &Input, check: Check) -> Result<Point> {
    let settings = Settings::merge(&choice.sources).map_err(|error| placed(study, error))?;
    let mut digest = settings.digest();
    let mut config = settings.config;
    let mut too_large = None;
    if let Some(fit) = &study.fit {
        too_large = fit.size(&study.choices[at][0].shown.text(), &mut config)?;
    }
    study.policies.put(&mut config);
    if study.fit.is_some() || !study.policies.is_empty() {
        digest = Settings::of(config.clone()).digest();
    }
    let mut broken = config.check().and_then(|()| config.check_mode(choice.count_only)).err();
    if matches!(choice.requests.from, Origin::Tenants(_)) && !choice.count_only {
        broken = broken.or_else(|| config.check_tenants("one workload").err());
    }
    let refused = broken.map(|error| format!("{}: {}", error.key, error.message)).or(too_large);
    let mode = Mode::of(choice.count_only);
    let (filling, memory_bytes, filled) = match &refused {
        Some(_) => (None, 0, 0),
        None => {
            choice.requests.place_on(&mut config);
            let fills = config.precondition.mode != PreconditionMode::None;
            let filling = fills.then(|| *blake3::hash(study.policies.filling(&config).as_bytes()).as_bytes());
            (filling, Outlook::new(&config, check == Check::Full).memory.total(), filled_pages(&config))
        }
    };
    let requests = if refused.is_some() { 0 } else { input.count };
    let work = Work { filled_pages: filled, requests, mode, collector: collector(&config) };
    let items = study.choices[at].clone();
    Ok(Point { number: 0, items, config, digest, refused, input: place, mode, work, filling, memory_bytes })
}

/// The name of the collector.
pub fn collector(config: &Config) -> String {
    match serde_json::to_value(&config.schemes.collector) {
        Ok(serde_json::Value::String(name)) => name,
        Ok(serde_json::Value::Object(table)) => table.keys().next().cloned().unwrap_or_default(),
        _ => String::new(),
    }
}

/// The same error at its place in the study.
fn placed(study: &Study, error: Error) -> Error {
    let path = error.spot.as_ref().and_then(|spot| {
        let key = spot.text.split('=').next()?.trim();
        match spot.name.as_str() {
            "--vary" => Some(format!("axes.{key}")),
            "--set" => Some(format!("base.set.{key}")),
            _ => None,
        }
    });
    let Some(path) = path else { return error };
    let text = &study.text;
    let found = text.spot(&path, false).or_else(|| text.spot("axes", true));
    match found {
        Some(spot) => error.at(spot),
        None => error,
    }
}

/// Refuses volumes that have the same requests: their runs would have one key, and count twice.
///
/// # Errors
/// There are two.
fn distinct(inputs: &[Input]) -> Result<()> {
    let mut seen: HashMap<&str, &Input> = HashMap::new();
    for input in inputs {
        if let Some(other) = seen.insert(&input.identity, input) {
            let name = |input: &Input| {
                let file = input.source.1.first().map_or_else(String::new, |(_, path)| path.display().to_string());
                input.requests.reading.device.iter().fold(file, |file, device| format!("{} in {file}", clip(device)))
            };
            let message = format!("two volumes have the same requests: {} and {}", name(other), name(input));
            return Err(Error::usage(message).help("leave one of them out: a run counts once"));
        }
    }
    Ok(())
}
