//! A paper's part of the output: runs what its tables need and fills in our numbers.

use std::collections::{BTreeMap, BTreeSet};

use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::input::{Origin, Provenance, Requests, When, find_workload, has_recording};
use ssdlab_lab::names::clip_line;
use ssdlab_lab::settings::{Settings, Sources};
use ssdlab_lab::text::count;
use ssdlab_lab::variants::points::{Point, sweep};
use ssdlab_sim::config::Config;
use ssdlab_sim::units::Warmup;
use ssdlab_trace::LbaPolicy;

use crate::Wanted;
use crate::assumption::{Assumption, Reading, Search};
use crate::fits::{self, Kept};
use crate::load::{Fit, Load, Sought, calibrate};
use crate::paper::{Item, Line, Paper, Scheme};
use crate::results::{Keys, Results, Run};
use crate::row::{Kind, Row, Steadiness, Verdict};
use crate::{Boards, format_of};

/// Requests of a workload that is no model of a trace.
const PLAIN_REQUESTS: u64 = 60_000;
/// Seeds of each run at full length.
const SEEDS: u64 = 5;
/// Seeds of a run are this far apart, so that the trials of a table differ too.
const TRIALS: u64 = 1000;

/// A paper with the items asked for.
pub(crate) struct Chapter {
    pub(crate) paper: &'static Paper,
    pub(crate) facts: Vec<(&'static str, String)>,
    pub(crate) items: Vec<(&'static Item, Vec<Row>)>,
    /// With `--assumptions` or `--readings`: the claims under each.
    pub(crate) searches: Vec<Search>,
    /// With `--readings`: those under which it was run, and the fits of their arrivals in words.
    pub(crate) readings: Vec<(&'static Reading, Option<String>)>,
    /// Fits that were sought.
    pub(crate) fits: Vec<Kept>,
    pub(crate) remarks: Vec<String>,
}

/// What is assumed besides the preset, in the order in which it applies.
type Assumed = Vec<&'static Assumption>;

/// An assumption or a reading that is tried; none: the paper's items as they are.
type Tried = Option<&'static Assumption>;

fn same(a: Tried, b: Tried) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => std::ptr::eq(a, b),
        (None, None) => true,
        _ => false,
    }
}

/// Factors that were found for a load under some settings.
struct Fits {
    tried: Tried,
    /// Its place among the paper's.
    load: usize,
    found: BTreeMap<&'static str, Fit>,
    /// Those that were sought, as they are kept.
    kept: Vec<Kept>,
}

pub(crate) fn chapter(
    paper: &'static Paper,
    items: Vec<&'static Item>,
    wanted: &Wanted,
    boards: &Boards,
) -> Result<Chapter> {
    let mut plan = Plan::new(paper, wanted);
    plan.calibrate(&items, boards)?;
    for item in &items {
        for tried in std::iter::once(None).chain(tries(paper, wanted).into_iter().map(Some)) {
            for seed in 0..seeds(wanted) {
                plan.add(item, tried, seed)?;
            }
        }
    }
    let sources = plan.run(boards)?;
    plan.case(Key { assumed: Vec::new(), fits: None, seed: 0 })?;
    let tried_ones = tries(paper, wanted);
    let usual = |case: &&Case| {
        let Key { assumed, seed, .. } = &case.key;
        *seed == 0 && assumed.len() <= 1 && !tried_ones.iter().any(|one| case.has(one))
    };
    let results: Vec<&Results> = plan.cases.iter().filter(usual).map(|case| &case.results).collect();
    let facts = facts(paper, wanted, &results, &sources, plan.load_text(None));
    let (items_of, searches) = Default::default();
    let readings = readings(paper, wanted).map(|one| (one, plan.load_text(Some(&one.settings)))).collect();
    let fits = plan.fits.iter().flat_map(|fits| fits.kept.clone()).collect();
    let mut chapter = Chapter { paper, facts, items: items_of, searches, readings, fits, remarks: Vec::new() };
    for item in items {
        let rows = plan.rows(item, None)?;
        let mut tried = Vec::new();
        for one in &tried_ones {
            tried.push((*one, plan.rows(item, Some(one))?));
        }
        chapter.searches.extend(searches_of(item, &rows, &tried));
        chapter.items.push((item, rows));
    }
    chapter.remarks = plan.remarks;
    Ok(chapter)
}

/// The claims of an item under each of what is tried. A claim that has a figure under some of them only is one too.
fn searches_of(item: &Item, rows: &[Row], tried: &[(&'static Assumption, Vec<Row>)]) -> Vec<Search> {
    let is_of = |row: &Row, rows: &[Row]| row.same_in(rows).is_some_and(|row| row.is_claim());
    let is_claim = |row: &&Row| row.is_claim() || tried.iter().any(|(_, rows)| is_of(row, rows));
    let search = |usual: &Row| {
        let own = |(one, rows): &(&'static Assumption, Vec<Row>)| {
            let row = rows.iter().find(|row| row.what == usual.what);
            (*one, row.filter(|row| row.is_claim() || row.kind == Kind::Fitted).cloned())
        };
        Search { id: item.id, usual: usual.clone(), tried: tried.iter().map(own).collect() }
    };
    if tried.is_empty() { Vec::new() } else { rows.iter().filter(is_claim).map(search).collect() }
}

/// The readings that were asked for.
fn readings(paper: &'static Paper, wanted: &Wanted) -> impl Iterator<Item = &'static Reading> {
    let asked = |reading: &&Reading| wanted.readings.iter().any(|name| name == "all" || name == reading.name());
    paper.readings.iter().filter(asked)
}

/// The assumptions and readings to try.
fn tries(paper: &'static Paper, wanted: &Wanted) -> Vec<&'static Assumption> {
    let assumptions = paper.assumptions.iter().filter(|_| wanted.assumptions);
    assumptions.chain(readings(paper, wanted).map(|reading| &reading.settings)).collect()
}

/// Seeds of each run. One is enough to look for an assumption.
pub(crate) fn seeds(wanted: &Wanted) -> u64 {
    wanted.seeds.unwrap_or(if wanted.quick || wanted.assumptions || !wanted.readings.is_empty() { 1 } else { SEEDS })
}

/// A remark that several runs make appears once.
fn once(remarks: &mut Vec<String>, remark: String) {
    if !remarks.contains(&remark) {
        remarks.push(remark);
    }
}

fn config_of(
    paper: &Paper,
    scheme: Option<&Scheme>,
    assumed: &Assumed,
    (workload, more): (&str, Keys),
    quick: bool,
) -> Result<Config> {
    let scaled = if quick { paper.quick } else { &[] };
    let mut sets: Vec<&str> = scheme.map_or(&[][..], |scheme| scheme.sets).to_vec();
    sets.extend(scaled);
    for assumption in assumed {
        sets.extend(if quick { assumption.quick } else { &[] });
        sets.extend(assumption.keys(scheme.map_or("", |scheme| scheme.name), workload));
    }
    sets.extend(more);
    let sets = sets.into_iter().map(String::from).collect();
    let sources = Sources { preset: Some(paper.name.into()), sets, ..Sources::default() };
    Settings::load(&sources).map(|settings| settings.config)
}

fn holds(config: &Config, workload: &str) -> bool {
    let (capacity, page) = (config.capacity_bytes(), config.geometry.page_size.0);
    find_workload(workload).is_ok_and(|(_, spec)| spec.build(capacity, page, 1, Some(1)).is_ok())
}

pub(crate) fn limit(paper: &Paper, wanted: &Wanted) -> u64 {
    wanted.limit.unwrap_or(paper.limits[usize::from(!wanted.quick)])
}

/// Runs under one set of assumptions with one seed, as the tables look at them.
struct Case {
    key: Key,
    results: Results,
}

/// What a case is of.
#[derive(Clone)]
struct Key {
    assumed: Assumed,
    /// The place of the fits of its arrivals.
    fits: Option<usize>,
    seed: u64,
}

impl Key {
    fn is(&self, other: &Key) -> bool {
        let same = |a: &Assumed, b: &Assumed| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| std::ptr::eq(*a, *b));
        (self.fits, self.seed) == (other.fits, other.seed) && same(&self.assumed, &other.assumed)
    }
}

impl Case {
    fn has(&self, assumption: &Assumption) -> bool {
        self.key.assumed.iter().any(|own| std::ptr::eq(*own, assumption))
    }
}

struct Plan<'a> {
    paper: &'static Paper,
    wanted: &'a Wanted,
    cases: Vec<Case>,
    points: Vec<Point>,
    /// The cases and runs of these points, in their order.
    planned: Vec<(usize, Run)>,
    remarks: Vec<String>,
    /// Factors on arrival times.
    fits: Vec<Fits>,
}

impl<'a> Plan<'a> {
    fn new(paper: &'static Paper, wanted: &'a Wanted) -> Self {
        let (cases, points, planned, remarks, fits) = Default::default();
        Plan { paper, wanted, cases, points, planned, remarks, fits }
    }

    /// Finds the factors on arrival times with which the workloads of the items have the levels that the paper prints: with `--load`, and
    /// for readings that ask for it.
    fn calibrate(&mut self, items: &[&'static Item], boards: &Boards) -> Result<()> {
        let (paper, wanted) = (self.paper, self.wanted);
        for tried in std::iter::once(None).chain(tries(paper, wanted).into_iter().map(Some)) {
            if !self.has_own_fits(tried) {
                continue;
            }
            for at in 0..paper.loads.map_or(0, <[Load]>::len) {
                let own = items.iter().filter(|item| paper.load_of(item) == Some(at));
                let used: BTreeSet<&'static str> = own.flat_map(|item| item.runs()).map(|run| run.workload).collect();
                let fits = self.fits(tried, at, &used, boards)?;
                self.fits.push(fits);
            }
        }
        Ok(())
    }

    /// Whether arrivals are fitted, and under what: a reading is a whole, so it says itself whether they are.
    fn fitted_under(&self, tried: Tried) -> Option<Tried> {
        match tried {
            Some(one) if one.load => Some(tried),
            Some(one) if self.paper.is_reading(one) => None,
            _ => self.wanted.load.then_some(None),
        }
    }

    /// Whether arrivals are fitted under just this.
    fn has_own_fits(&self, tried: Tried) -> bool {
        self.fitted_under(tried).is_some_and(|under| same(under, tried))
    }

    /// The fits of a load: those that are kept and still hold, and the others by bisection.
    fn fits(&mut self, tried: Tried, at: usize, used: &BTreeSet<&'static str>, boards: &Boards) -> Result<Fits> {
        let paper = self.paper;
        let load = &paper.loads.expect("asked for")[at];
        let mut fits = Fits { tried, load: at, found: BTreeMap::new(), kept: Vec::new() };
        let mut sought = Vec::new();
        for workload in used {
            let Some(printed) = paper.printed_load(load, workload) else { continue };
            let runs = self.load_runs(load, tried, workload)?;
            if runs.is_empty() {
                continue;
            }
            let digest = fits::digest(load, printed, &runs).filter(|_| !self.wanted.plan.count_only);
            // Readings may differ in what a load does not depend on.
            let mut known = fits::all().iter().chain(self.fits.iter().flat_map(|fits| &fits.kept));
            match known.find(|kept| Some(&kept.digest) == digest.as_ref()) {
                Some(kept) => {
                    fits.found.insert(*workload, kept.fit());
                }
                None => sought.push((Sought { workload, printed, runs }, digest)),
            }
        }
        let (sought, digests): (Vec<Sought>, Vec<Option<String>>) = sought.into_iter().unzip();
        let found = calibrate(load, &sought, &self.wanted.plan, boards)?;
        for (one, digest) in sought.iter().zip(digests) {
            let Some((_, fit)) = found.iter().find(|(workload, _)| *workload == one.workload) else { continue };
            fits.found.insert(one.workload, *fit);
            let requests = one.runs.first().and_then(|run| run.requests.limit).unwrap_or_default();
            let reading = tried.map_or(String::new(), Assumption::name);
            fits.kept.extend(digest.map(|digest| Kept {
                paper: paper.letter.into(),
                reading,
                source: load.source.into(),
                workload: one.workload.into(),
                requests,
                seed: self.wanted.seed,
                factor: fit.factor,
                bracket: fit.bracket,
                level: fit.level,
                printed: one.printed,
                digest,
            }));
        }
        Ok(fits)
    }

    /// The runs whose figures are a load's level, with the arrivals of the model or recording; none if the device does not hold it.
    fn load_runs(&mut self, load: &Load, tried: Tried, usual: &'static str) -> Result<Vec<Point>> {
        let (paper, wanted) = (self.paper, self.wanted);
        let item = paper.items.iter().find(|item| item.id == load.item).expect("an item of the paper");
        let assumed: Assumed = paper.under(item).into_iter().chain(tried).collect();
        let workload = assumed.iter().fold(usual, |name, one| one.workload(name));
        let traces = self.recordings(workload)?;
        let mut points = Vec::new();
        for name in std::iter::once(load.scheme).chain(load.over) {
            let scheme = paper.schemes.iter().find(|scheme| scheme.name == name).expect("a scheme of the paper");
            let config = config_of(paper, Some(scheme), &assumed, (usual, &[]), wanted.quick)?;
            if traces.is_none() && !holds(&config, workload) {
                return Ok(Vec::new());
            }
            let requests = self.requests((usual, workload), &assumed, None, traces.clone())?;
            let requests = Requests { time_scale: None, replay: None, ..requests };
            let config = self.warmed_up(config, usual, &requests)?;
            points.push(Point { name: format!("the load of {workload}"), config, requests, seed: wanted.seed });
        }
        Ok(points)
    }

    /// What was found under some settings.
    fn load_text(&self, tried: Tried) -> Option<String> {
        let loads = match self.paper.loads {
            _ if !self.has_own_fits(tried) => return None,
            Err(why) => return Some(format!("not calibrated: {why}")),
            Ok(loads) => loads,
        };
        let of_load = |fits: &Fits| {
            let load = &loads[fits.load];
            let one = |(workload, fit): (&&str, &Fit)| {
                Some(format!("{workload} {}", fit.text(load, self.paper.printed_load(load, workload)?)))
            };
            let each: Vec<String> = fits.found.iter().filter_map(one).collect();
            let figures = load.over.map_or(load.scheme.to_string(), |over| format!("{} over {over}", load.scheme));
            (!each.is_empty()).then(|| format!("{} ({figures}): {}", load.source, each.join(", ")))
        };
        let texts: Vec<String> = self.fits.iter().filter(|fits| same(fits.tried, tried)).filter_map(of_load).collect();
        (!texts.is_empty())
            .then(|| format!("arrival times have a factor for each workload, fitted to {}", texts.join("; and to ")))
    }

    /// The directory of recordings, if it has this workload's.
    fn recordings(&mut self, workload: &str) -> Result<Option<std::path::PathBuf>> {
        let Some(directory) = &self.wanted.traces else { return Ok(None) };
        if has_recording(directory, workload)? {
            return Ok(Some(directory.clone()));
        }
        let place = clip_line(&directory.to_string_lossy());
        once(&mut self.remarks, format!("note: no recording of {workload} in {place}: its model runs instead"));
        Ok(None)
    }

    fn key(&self, item: &Item, tried: Tried, seed: u64) -> Key {
        let assumed = self.paper.under(item).into_iter().chain(tried).collect();
        let fits = self
            .fitted_under(tried)
            .zip(self.paper.load_of(item))
            .and_then(|(under, load)| self.fits.iter().position(|fits| fits.load == load && same(fits.tried, under)));
        Key { assumed, fits, seed }
    }

    /// The place of the case of these assumptions and this seed.
    fn case(&mut self, key: Key) -> Result<usize> {
        if let Some(at) = self.cases.iter().position(|case| case.key.is(&key)) {
            return Ok(at);
        }
        let assumed = &key.assumed;
        let (paper, quick) = (self.paper, self.wanted.quick);
        let config = |scheme: &Scheme| {
            config_of(paper, Some(scheme), assumed, ("", &[]), quick).map_err(|error: Error| error.message)
        };
        let results = Results {
            preset: config_of(paper, None, &Vec::new(), ("", &[]), false)?,
            schemes: paper.schemes.iter().map(|scheme| (scheme.name, config(scheme))).collect(),
            runs: BTreeMap::new(),
            workloads: paper.workloads,
            data: &paper.data,
            loaded: key.fits.is_some_and(|at| !self.fits[at].found.is_empty()),
            left_out: Vec::new(),
            aside: Default::default(),
            looks: Default::default(),
        };
        self.cases.push(Case { key, results });
        Ok(self.cases.len() - 1)
    }

    fn add(&mut self, item: &'static Item, tried: Tried, seed: u64) -> Result<()> {
        let case = self.case(self.key(item, tried, seed))?;
        for run in item.runs() {
            if !self.planned.contains(&(case, run)) {
                self.add_run(case, run)?;
            }
        }
        Ok(())
    }

    /// Plans a run, unless its scheme is refused or its device does not hold the workload.
    fn add_run(&mut self, case: usize, run: Run) -> Result<()> {
        let workload = self.cases[case].key.assumed.iter().fold(run.workload, |name, one| one.workload(name));
        let traces = self.recordings(workload)?;
        let scheme = self.paper.schemes.iter().find(|scheme| scheme.name == run.scheme).expect("a scheme of the paper");
        let Case { key, results } = &mut self.cases[case];
        let Key { assumed, fits, seed } = key.clone();
        match config_of(self.paper, Some(scheme), &assumed, (run.workload, run.more), self.wanted.quick) {
            Ok(config) if traces.is_none() && !holds(&config, workload) => {
                // A run on a smaller array leaves out only itself.
                if run.more.is_empty() && !results.left_out.contains(&run.workload) {
                    results.left_out.push(run.workload);
                }
            }
            Ok(config) => {
                let values: Vec<&str> = assumed.iter().map(|one| one.value).collect();
                let name = format!("{} on {workload} {} {}", run.scheme, values.join(", "), run.more.join(" "));
                let seed = self.wanted.seed.wrapping_add(seed * TRIALS).wrapping_add(run.trial);
                let fit = fits.and_then(|at| self.fits[at].found.get(run.workload));
                let requests = self.requests((run.workload, workload), &assumed, fit, traces)?;
                let config = self.warmed_up(config, run.workload, &requests)?;
                self.points.push(Point { name, config, requests, seed });
                self.planned.push((case, run));
            }
            Err(error) => {
                let under: String = assumed.iter().map(|one| format!(" with {}", one.name())).collect();
                let text = format!("note: {}{under} is left out: {}", run.scheme, error.message);
                once(&mut self.remarks, text);
            }
        }
        Ok(())
    }

    /// The first half of a model's requests counts for nothing: it brings the device into its steady state.
    fn warmed_up(&self, mut config: Config, usual: &str, requests: &Requests) -> Result<Config> {
        let Origin::Workload { name, recordings: None } = &requests.from else { return Ok(config) };
        if self.paper.workloads.contains(&usual) {
            let of_phases: Option<u64> =
                find_workload(name.as_str())?.1.phases.iter().map(|phase| phase.requests).sum();
            let served = of_phases.into_iter().chain(requests.limit).min().unwrap_or(0);
            config.run.warmup = (served > 1).then_some(Warmup::Requests(served / 2));
        }
        Ok(config)
    }

    /// The requests of a run: of its workload's recording if there is a directory, or of its model. Another workload may run in
    /// place of the usual one.
    fn requests(
        &self,
        (usual, workload): (&str, &str),
        assumed: &Assumed,
        fit: Option<&Fit>,
        traces: Option<std::path::PathBuf>,
    ) -> Result<Requests> {
        let recorded = traces.is_some();
        let origin = Origin::Workload { name: workload.into(), recordings: traces };
        let own = assumed.iter().rev().find_map(|one| one.quick_limit).filter(|_| self.wanted.quick);
        // The plain workloads fill a device in a short time, and are to meet an empty one.
        let modelled = self.paper.workloads.contains(&usual);
        let usually = if modelled { limit(self.paper, self.wanted) } else { PLAIN_REQUESTS };
        let limit = self.wanted.limit.or(own).unwrap_or(usually);
        let time_scale = fit.map(Fit::scale);
        let mut requests = Requests { limit: Some(limit), time_scale, ..Requests::new(origin) };
        if recorded {
            requests.lba_policy = LbaPolicy::Wrap;
            if let Some(format) = format_of(&self.wanted.format, &find_workload(workload)?.1.trace) {
                requests.reading.format = format.into();
            }
        }
        for assumption in assumed {
            // What is tried is tried, but what a table is usually run at gives way to a fit.
            let gives_way = fit.is_some() && (self.paper.is_under(assumption) || assumption.load);
            let own = assumption.time_scale(usual).map(|factor| factor.parse().expect("a factor"));
            requests.time_scale = own.filter(|_| !gives_way).or(requests.time_scale);
            if assumption.closed && !gives_way {
                requests.replay = Some(When::Closed);
            }
        }
        Ok(requests)
    }

    /// Runs all, and says what the requests came from.
    fn run(&mut self, boards: &Boards) -> Result<Sourced> {
        let board = boards(self.points.len());
        let outcomes = sweep(&self.points, &self.wanted.plan, &*board)?;
        drop(board);
        let mut sources = Sourced { runs: self.points.len(), models: 0, generated: 0 };
        for ((case, run), outcome) in self.planned.iter().zip(outcomes) {
            let requests = outcome.summary.requests.read + outcome.summary.requests.write;
            sources.models += usize::from(requests > 0 && outcome.provenance == Provenance::Model);
            sources.generated += usize::from(outcome.provenance == Provenance::Generated);
            outcome.chosen.into_iter().chain(outcome.remarks).for_each(|remark| once(&mut self.remarks, remark));
            self.cases[*case].results.runs.insert(*run, outcome.summary);
        }
        Ok(sources)
    }

    fn rows(&mut self, item: &'static Item, tried: Tried) -> Result<Vec<Row>> {
        let mut cases = Vec::new();
        for seed in 0..seeds(self.wanted) {
            cases.push(self.case(self.key(item, tried, seed))?);
        }
        let results: Vec<&Results> = cases.iter().map(|case| &self.cases[*case].results).collect();
        Ok(item.lines.iter().flat_map(|line| rows_of(line, &results)).collect())
    }
}

fn rows_of(line: &Line, results: &[&Results]) -> Vec<Row> {
    let of_seeds: Vec<Vec<Row>> = results.iter().map(|results| line.rows(results)).collect();
    let over_seeds = |first: &Row| {
        let rows: Vec<Row> = of_seeds.iter().filter_map(|rows| first.same_in(rows)).collect();
        let steadiness = Steadiness::of_seeds(&rows);
        if !steadiness.can_set_aside() {
            return Row::over_seeds(&rows);
        }
        // The same workloads count with all seeds.
        let again = |results: &&Results| first.same_in(&results.setting_aside(&steadiness.aside, |r| line.rows(r)));
        let others: Vec<Row> = results.iter().filter_map(again).collect();
        let steady = others.iter().all(|row| row.verdict != Verdict::NotSteady);
        if steady { Row::over_seeds(&others).map(|row| row.without(&steadiness.aside)) } else { Row::over_seeds(&rows) }
    };
    of_seeds[0].iter().filter_map(over_seeds).collect()
}

struct Sourced {
    runs: usize,
    models: usize,
    generated: usize,
}

fn facts(
    paper: &Paper,
    wanted: &Wanted,
    results: &[&Results],
    sources: &Sourced,
    load: Option<String>,
) -> Vec<(&'static str, String)> {
    let mut facts = vec![("paper", format!("{}: {}", paper.letter.to_uppercase(), paper.title))];
    let &Sourced { runs, models, generated } = sources;
    if runs > 0 {
        let recordings = runs - models - generated;
        let plain = if generated > 0 { format!(", {generated} of plain workloads") } else { String::new() };
        let most = count(limit(paper, wanted));
        let text = format!(
            "{runs} of at most {most} requests each: {models} of models of the traces, {recordings} of recordings{plain}"
        );
        facts.push(("runs", text));
        if wanted.quick {
            let scaled =
                if paper.quick.is_empty() { "the geometry of the preset".into() } else { paper.quick.join(", ") };
            facts.push(("quick", format!("device with {scaled}")));
        }
        if models > 0 {
            facts
                .push(("warm-up", "the first half of a model's requests; figures are those of the second half".into()));
        }
        let text = match seeds(wanted) {
            1 => wanted.seed.to_string(),
            n => format!("{n} from {} on; ± is half of the 95 % interval of a mean over them", wanted.seed),
        };
        facts.push(("seeds", text));
    }
    facts.extend(load.map(|text| ("load", text)));
    let all = || results.iter().flat_map(|results| &results.runs);
    let overloaded: Vec<&Run> = all().filter(|(_, summary)| summary.overload.is_some()).map(|(run, _)| run).collect();
    if !overloaded.is_empty() {
        let mut names: Vec<String> =
            overloaded.iter().map(|run| format!("{} on {}", run.scheme, run.workload)).collect();
        names.dedup();
        let text = format!(
            "{} of {} runs are overloaded, so their latencies grow with the length of the run: {}",
            overloaded.len(),
            all().count(),
            names.join(", ")
        );
        facts.push(("caution", text));
    }
    let mut left_out: Vec<&str> = results.iter().flat_map(|results| &results.left_out).copied().collect();
    left_out.sort_unstable();
    left_out.dedup();
    if !left_out.is_empty() {
        let names = left_out.join(", ");
        facts.push(("left out", format!("{names}: the device is too small for them; means are over the others")));
    }
    let refused = |(name, config): (&&str, &std::result::Result<Config, String>)| {
        config.as_ref().err().map(|refusal| format!("{name}: {refusal}"))
    };
    let mut refused: Vec<String> = results.iter().flat_map(|results| &results.schemes).filter_map(refused).collect();
    refused.dedup();
    if !refused.is_empty() {
        facts.push(("not there", refused.join("; ")));
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::papers;

    #[test]
    fn every_assumption_is_a_device_that_can_be_built() {
        for paper in papers() {
            let under = paper.under.iter().map(|under| &under.assumption);
            let readings = paper.readings.iter().map(|reading| &reading.settings);
            for assumption in paper.assumptions.iter().chain(under).chain(readings) {
                for scheme in paper.schemes {
                    for workload in paper.workloads {
                        let loaded = config_of(paper, Some(scheme), &vec![assumption], (workload, &[]), true);
                        let refusal = loaded.err().map(|error| error.message);
                        assert_eq!(refusal, None, "{} {}", scheme.name, assumption.name());
                    }
                }
                for workload in paper.workloads {
                    assert!(find_workload(assumption.workload(workload)).is_ok());
                }
            }
        }
    }
}
