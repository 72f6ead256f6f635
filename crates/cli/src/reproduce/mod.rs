//! `ssdlab reproduce`: a paper's tables and figures, the paper's numbers beside ours.
//!
//! One file a paper holds its rows; this one runs what they need, judges and prints. Parameters are printed from the preset,
//! exact values come from arithmetic or from small runs, measured ones from runs of the workload models (or of recordings, with
//! `--traces`), all of them in one sweep.

mod a;
mod b;
mod c;
mod d;
mod e;
mod exact;
mod over_time;
mod print;

use std::collections::{BTreeMap, BTreeSet};

use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::files::Files;
use ssdlab_lab::input::{Origin, Provenance, Requests, find_workload, has_recording, read_recordings};
use ssdlab_lab::names::{clip, clip_line, nearest};
use ssdlab_lab::settings::{Settings, Sources};
use ssdlab_lab::text::count;
use ssdlab_lab::theory::Outlook;
use ssdlab_lab::variants::figures::overloaded;
use ssdlab_lab::variants::points::{Point, sweep};
use ssdlab_lab::variants::student;
use ssdlab_sim::config::Config;
use ssdlab_sim::report::Summary;
use ssdlab_trace::{Collector, Info, LbaPolicy};

use crate::args::ReproduceArgs;
use crate::output;
use crate::progress::Board;

/// A paper.
struct Paper {
    /// `a` to `e`.
    letter: &'static str,
    /// What the papers are called by, and the preset of its device.
    name: &'static str,
    title: &'static str,
    /// What it compares, the baseline first.
    schemes: &'static [Scheme],
    /// What it compares them on.
    workloads: &'static [&'static str],
    /// How `--quick` shrinks the device, and how many requests of each workload run, then and else.
    quick: &'static [&'static str],
    limits: [u64; 2],
    /// Arrival times are stretched by this where the models' own rates overload the device all the time.
    stretch: Option<&'static str>,
    items: fn() -> Vec<Item>,
}

/// What a paper measures: a name of ours and the keys over the preset.
struct Scheme {
    name: &'static str,
    sets: &'static [&'static str],
}

/// A table or figure.
struct Item {
    id: &'static str,
    title: &'static str,
    /// What its rows need to have run: a workload and a scheme each, and keys over the scheme's.
    runs: Vec<Run>,
    rows: Rows,
}

/// How rows come from what was run.
type Rows = Box<dyn Fn(&Lab) -> Vec<Row>>;

/// A number of a summary.
type Figure = fn(&Summary) -> Option<f64>;

/// A run that rows look at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Run {
    workload: &'static str,
    scheme: &'static str,
    more: Vec<String>,
    /// Added to the seed.
    trial: u64,
}

impl Item {
    /// One whose rows need no long run.
    fn short(id: &'static str, title: &'static str, rows: impl Fn(&Lab) -> Vec<Row> + 'static) -> Item {
        Item { id, title, runs: Vec::new(), rows: Box::new(rows) }
    }

    /// One that looks at every workload under some schemes.
    fn grid(
        id: &'static str,
        title: &'static str,
        (workloads, schemes): (&[&'static str], &[&'static str]),
        rows: impl Fn(&Lab) -> Vec<Row> + 'static,
    ) -> Item {
        let run = |workload: &&'static str, scheme: &&'static str| Run { workload, scheme, more: Vec::new(), trial: 0 };
        let runs = workloads.iter().flat_map(|w| schemes.iter().map(move |s| run(w, s))).collect();
        Item { id, title, runs, rows: Box::new(rows) }
    }
}

/// What a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// An input: printed from the preset.
    Parameter,
    /// Arithmetic: has to match to the printed digits.
    Exact,
    /// Measured by the authors: sign, order and magnitude are compared.
    Measured,
}

/// How ours compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// Equal to the printed digits.
    Same,
    /// Not equal; the note says why.
    Differs,
    /// The same sign, and at least half the size.
    Agrees,
    /// The same sign, less than half the size, or no difference at all.
    Weaker,
    /// The other sign.
    Opposite,
    /// What the paper did can't be done the same way; the note says why.
    Not,
    /// The paper states no number.
    Stated,
}

impl Verdict {
    fn word(self) -> &'static str {
        match self {
            Verdict::Same => "same",
            Verdict::Differs => "differs",
            Verdict::Agrees => "agrees",
            Verdict::Weaker => "weaker",
            Verdict::Opposite => "opposite",
            Verdict::Not => "not comparable",
            Verdict::Stated => "no number stated",
        }
    }
}

/// A line of the comparison.
#[derive(Clone, Debug)]
struct Row {
    kind: Kind,
    what: String,
    paper: String,
    ours: String,
    /// Our effect over the paper's, for measured rows.
    ratio: Option<f64>,
    verdict: Verdict,
    note: String,
}

impl Row {
    fn new(what: impl Into<String>, paper: impl Into<String>, ours: impl Into<String>) -> Row {
        let (what, paper, ours) = (what.into(), paper.into(), ours.into());
        let verdict = if paper == ours { Verdict::Same } else { Verdict::Differs };
        Row { kind: Kind::Exact, what, paper, ours, ratio: None, verdict, note: String::new() }
    }

    /// An input, as the preset has it.
    fn parameter(what: impl Into<String>, paper: impl Into<String>, ours: impl ToString) -> Row {
        Row { kind: Kind::Parameter, ..Row::new(what, paper, ours.to_string()) }
    }

    fn exact(what: impl Into<String>, paper: impl Into<String>, ours: impl Into<String>) -> Row {
        Row::new(what, paper, ours)
    }

    /// Why they differ, or how ours was got.
    fn note(mut self, note: impl Into<String>) -> Row {
        self.note = note.into();
        self
    }

    /// What the paper has, where ours is not judged by it.
    fn said(mut self, paper: impl Into<String>) -> Row {
        self.paper = paper.into();
        self
    }

    /// A figure that the paper gives as a factor over a baseline (0.595: 40.5 % less), beside ours.
    fn factor(what: impl Into<String>, paper: f64, ours: Option<f64>) -> Row {
        let text = |factor: f64| format!("{factor:.3}x ({:+.1} %)", (factor - 1.0) * 100.0);
        let Some(ours) = ours else { return Row::missing(what, text(paper)) };
        let (theirs, own) = (paper - 1.0, ours - 1.0);
        let verdict = match () {
            () if theirs.abs() < 0.005 => {
                if own.abs() < 0.05 {
                    Verdict::Agrees
                } else {
                    Verdict::Differs
                }
            }
            () if own.abs() < 0.002 => Verdict::Weaker,
            () if own * theirs < 0.0 => Verdict::Opposite,
            () if own.abs() * 2.0 < theirs.abs() => Verdict::Weaker,
            () => Verdict::Agrees,
        };
        let ratio = (theirs != 0.0).then(|| own / theirs);
        Row { kind: Kind::Measured, ratio, verdict, ..Row::new(what, text(paper), text(ours)) }
    }

    /// A figure whose size is compared, with its text in the paper's unit.
    fn level(what: impl Into<String>, paper: f64, ours: Option<f64>, text: fn(f64) -> String) -> Row {
        let Some(ours) = ours else { return Row::missing(what, text(paper)) };
        let ratio = ours / paper;
        let verdict = if (0.5..=2.0).contains(&ratio) { Verdict::Agrees } else { Verdict::Differs };
        Row { kind: Kind::Measured, ratio: Some(ratio), verdict, ..Row::new(what, text(paper), text(ours)) }
    }

    /// What the paper says without a number, and whether it holds of ours.
    fn claim(what: impl Into<String>, paper: impl Into<String>, ours: Option<(String, bool)>) -> Row {
        match ours {
            None => Row::missing(what, paper),
            Some((ours, holds)) => {
                let verdict = if holds { Verdict::Agrees } else { Verdict::Opposite };
                Row { kind: Kind::Measured, verdict, ..Row::new(what, paper, ours) }
            }
        }
    }

    /// What the paper shows without a number.
    fn stated(what: impl Into<String>, ours: impl Into<String>) -> Row {
        Row { kind: Kind::Measured, verdict: Verdict::Stated, ..Row::new(what, "-", ours) }
    }

    fn missing(what: impl Into<String>, paper: impl Into<String>) -> Row {
        Row { kind: Kind::Measured, verdict: Verdict::Not, ..Row::new(what, paper, "-") }
    }
}

/// What rows may look at.
struct Lab {
    /// The paper's preset.
    config: Config,
    /// By scheme: its configuration, or why this version has none.
    schemes: BTreeMap<&'static str, std::result::Result<Config, String>>,
    results: BTreeMap<Run, Summary>,
    workloads: &'static [&'static str],
    /// Workloads that the device does not hold.
    left_out: Vec<&'static str>,
}

impl Lab {
    /// Workloads that the device holds.
    fn present(&self) -> impl Iterator<Item = &'static str> {
        self.workloads.iter().copied().filter(|workload| !self.left_out.contains(workload))
    }

    fn summary(&self, workload: &str, scheme: &str) -> Option<&Summary> {
        self.varied(workload, scheme, &[])
    }

    fn varied(&self, workload: &str, scheme: &str, more: &[String]) -> Option<&Summary> {
        self.results
            .iter()
            .find(|(run, _)| run.workload == workload && run.scheme == scheme && run.more == more && run.trial == 0)
            .map(|r| r.1)
    }

    /// A figure of one scheme over that of another on a workload.
    fn ratio(&self, workload: &str, scheme: &str, base: &str, figure: Figure) -> Option<f64> {
        let (own, other) = (figure(self.summary(workload, scheme)?)?, figure(self.summary(workload, base)?)?);
        (other > 0.0).then(|| own / other)
    }

    /// A row a workload with the ratios of some schemes to a baseline, as far as there are runs.
    fn by_workload(
        &self,
        workloads: &[&'static str],
        schemes: &[&str],
        base: &str,
        figure: Figure,
    ) -> impl Iterator<Item = Row> {
        workloads.iter().filter_map(move |workload| {
            let over =
                |scheme: &&str| self.ratio(workload, scheme, base, figure).map(|ratio| format!("{scheme} {ratio:.3}x"));
            let texts: Vec<String> = schemes.iter().filter_map(over).collect();
            (!texts.is_empty()).then(|| Row::stated(format!("{workload}, over {base}"), texts.join(", ")))
        })
    }

    /// The mean of that over all workloads that the device holds; none if a run is missing.
    fn mean_ratio(&self, scheme: &str, base: &str, figure: Figure) -> Option<f64> {
        let ratios: Option<Vec<f64>> =
            self.present().map(|workload| self.ratio(workload, scheme, base, figure)).collect();
        ratios.filter(|ratios| !ratios.is_empty()).map(|ratios| student::mean(&ratios))
    }

    /// The mean of a figure over all workloads.
    fn mean(&self, scheme: &str, figure: Figure) -> Option<f64> {
        let figures: Option<Vec<f64>> =
            self.present().map(|workload| figure(self.summary(workload, scheme)?)).collect();
        figures.filter(|figures| !figures.is_empty()).map(|figures| student::mean(&figures))
    }

    /// The configuration of a scheme, if this version has it.
    fn config(&self, scheme: &str) -> Option<&Config> {
        self.schemes.get(scheme).and_then(|config| config.as_ref().ok())
    }
}

// Figures that rows look at.

fn read_mean(s: &Summary) -> Option<f64> {
    s.latency_ns.read.mean
}

fn write_mean(s: &Summary) -> Option<f64> {
    s.latency_ns.write.mean
}

fn all_mean(s: &Summary) -> Option<f64> {
    s.latency_ns.all.mean
}

/// A number of a scheme's own report, by its path in the summary.
fn reported(s: &Summary, pointer: &str) -> Option<f64> {
    serde_json::to_value(s).ok()?.pointer(pointer)?.as_f64()
}

/// The figures of a model's first million requests, as `trace info` would have them.
fn figures_of(workload: &str) -> Option<Info> {
    let (_, spec) = find_workload(workload).ok()?;
    let mut collector = Collector::new();
    spec.build(1 << 40, 4096, 1, Some(1_000_000)).ok()?.for_each(|record| collector.add(&record));
    Some(collector.finish())
}

fn papers() -> [&'static Paper; 5] {
    [&a::PAPER, &b::PAPER, &c::PAPER, &d::PAPER, &e::PAPER]
}

/// A chapter of the output: a paper with the items asked for.
struct Chapter {
    paper: &'static Paper,
    /// How it was run.
    facts: Vec<(&'static str, String)>,
    items: Vec<(Item, Vec<Row>)>,
    remarks: Vec<String>,
}

/// Reproduces and prints.
pub fn reproduce(args: &ReproduceArgs) -> Result<()> {
    known_recordings(&args.format)?;
    let chosen = choose(&args.paper)?;
    let mut files = Files::new();
    args.traces.iter().for_each(|directory| read_recordings(directory, &mut files));
    files.write_all(&[("--json", args.table.json_file())])?;
    let (to_stdout, json) = args.table.json_output()?;
    let mut chapters = Vec::new();
    for paper in chosen {
        let items = pick(paper, &args.ids)?;
        chapters.push(chapter(paper, items, args)?);
    }
    if !args.how.quiet {
        chapters.iter().flat_map(|chapter| &chapter.remarks).for_each(output::remark);
    }
    if let Some(mut file) = json {
        file.put(print::json(&chapters, args).as_bytes())?;
        file.finish()?.publish()?;
    }
    if to_stdout {
        output::print(&print::json(&chapters, args))
    } else if args.table.csv {
        output::print(&print::csv(&chapters))
    } else if args.table.markdown {
        output::print(&print::markdown(&chapters))
    } else {
        output::print(&print::text(&chapters))
    }
}

/// Whether a device holds a workload.
fn holds(config: &Config, workload: &str) -> bool {
    let capacity = Outlook::new(config, false).capacity(config);
    find_workload(workload).is_ok_and(|(_, spec)| spec.build(capacity, config.geometry.page_size.0, 1, Some(1)).is_ok())
}

fn choose(name: &str) -> Result<Vec<&'static Paper>> {
    let wanted = name.to_lowercase();
    if wanted == "all" {
        return Ok(papers().to_vec());
    }
    match papers().into_iter().find(|paper| paper.letter == wanted || paper.name == wanted) {
        Some(paper) => Ok(vec![paper]),
        None => {
            let list = papers().map(|paper| format!("{} ({})", paper.letter.to_uppercase(), paper.name)).join(", ");
            let meant = nearest(&wanted, papers().map(|paper| paper.name));
            let meant = meant.map_or(String::new(), |meant| format!("did you mean `{meant}`? "));
            Err(Error::usage(format!("no paper is called `{}`", clip(name)))
                .help(format!("{meant}The papers are {list}; `all` takes all of them")))
        }
    }
}

/// `Fig. 14a`, `fig14a` and `FIG 14A` are one.
fn folded(id: &str) -> String {
    id.to_lowercase().replace("figure", "fig").chars().filter(char::is_ascii_alphanumeric).collect()
}

fn pick(paper: &Paper, ids: &[String]) -> Result<Vec<Item>> {
    let all = (paper.items)();
    if ids.is_empty() {
        return Ok(all);
    }
    let known: Vec<&'static str> = all.iter().map(|item| item.id).collect();
    for id in ids {
        if !known.iter().any(|known| folded(known) == folded(id)) {
            return Err(Error::usage(format!("paper {} has no `{}`", paper.letter.to_uppercase(), clip(id)))
                .help(format!("its tables and figures with something to compare are {}", known.join(", "))));
        }
    }
    Ok(all.into_iter().filter(|item| ids.iter().any(|id| folded(id) == folded(item.id))).collect())
}

/// The two parts of `--format [NAME=]FMT`. The map of `columns:` has signs of equality too, after its colon.
fn named(format: &str) -> Option<(&str, &str)> {
    format.split_once('=').filter(|(name, _)| !name.contains(':'))
}

/// The format of a recording: its own, or the one for all; the last one given counts.
fn format_of<'a>(given: &'a [String], recording: &str) -> Option<&'a str> {
    let own = given.iter().rev().filter_map(|one| named(one)).find(|(name, _)| name.eq_ignore_ascii_case(recording));
    own.map(|(_, format)| format).or_else(|| given.iter().rev().find(|one| named(one).is_none()).map(String::as_str))
}

/// A name in `--format NAME=FMT` that no paper's recording has would do nothing.
fn known_recordings(given: &[String]) -> Result<()> {
    for (name, _) in given.iter().filter_map(|one| named(one)) {
        let mut known = BTreeSet::new();
        for workload in papers().into_iter().flat_map(|paper| paper.workloads) {
            known.insert(find_workload(workload)?.1.trace);
        }
        known.remove("");
        if !known.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            let list = known.into_iter().collect::<Vec<_>>().join(", ");
            return Err(Error::usage(format!("no paper uses a recording called `{}`", clip(name)))
                .help(format!("--format takes FMT for all recordings or NAME=FMT for one of {list}")));
        }
    }
    Ok(())
}

/// Runs what the items need and fills in their rows.
fn chapter(paper: &'static Paper, items: Vec<Item>, args: &ReproduceArgs) -> Result<Chapter> {
    let limit = args.limit.unwrap_or(paper.limits[usize::from(!args.quick)]);
    let load = |scheme: &[&str], more: &[String], quick: bool| {
        let scaled = if quick { paper.quick } else { &[] };
        let sets = scheme.iter().chain(scaled).map(ToString::to_string).chain(more.iter().cloned()).collect();
        let sources = Sources { preset: Some(paper.name.into()), files: Vec::new(), sets, varied: Vec::new() };
        Settings::load(&sources).map(|settings| settings.config)
    };
    let config = load(&[], &[], false)?;
    let plain = |error: Error| error.message;
    let schemes =
        paper.schemes.iter().map(|scheme| (scheme.name, load(scheme.sets, &[], args.quick).map_err(plain))).collect();
    let mut lab = Lab { config, schemes, results: BTreeMap::new(), workloads: paper.workloads, left_out: Vec::new() };
    let mut runs: Vec<Run> = items.iter().flat_map(|item| item.runs.iter().cloned()).collect();
    runs.sort();
    runs.dedup();
    let mut points = Vec::new();
    let mut remarks = Vec::new();
    let mut taken = Vec::new();
    for run in runs {
        let mut traces = args.traces.clone();
        if let Some(directory) = &args.traces
            && !has_recording(directory, run.workload)?
        {
            traces = None;
            let place = clip_line(&directory.to_string_lossy());
            let remark = format!("note: no recording of {} in {place}: the model runs", run.workload);
            if !remarks.contains(&remark) {
                remarks.push(remark);
            }
        }
        let scheme = paper.schemes.iter().find(|scheme| scheme.name == run.scheme).expect("a scheme of the paper");
        match load(scheme.sets, &run.more, args.quick) {
            Ok(config) if traces.is_none() && !holds(&config, run.workload) => {
                // A run on a smaller array leaves out only itself.
                if run.more.is_empty() && !lab.left_out.contains(&run.workload) {
                    lab.left_out.push(run.workload);
                }
            }
            Ok(config) => {
                let name = format!("{} on {} {}", run.scheme, run.workload, run.more.join(" "));
                let recorded = traces.is_some();
                let origin = Origin::Workload { name: run.workload.into(), recordings: traces };
                let mut requests = Requests { limit: Some(limit), ..Requests::new(origin) };
                if recorded {
                    requests.lba_policy = LbaPolicy::Wrap;
                    if let Some(format) = format_of(&args.format, &find_workload(run.workload)?.1.trace) {
                        requests.reading.format = format.into();
                    }
                }
                requests.time_scale = paper.stretch.map(|factor| factor.parse().expect("a factor"));
                points.push(Point { name, config, requests, seed: args.how.seed.wrapping_add(run.trial) });
                taken.push(run);
            }
            Err(error) => {
                let remark = format!("note: {} is left out: {}", run.scheme, error.message);
                if !remarks.contains(&remark) {
                    remarks.push(remark);
                }
            }
        }
    }
    let board = Board::new(points.len(), args.how.quiet);
    let outcomes = sweep(&points, &args.how.plan(), &board)?;
    drop(board);
    let (mut models, mut generated) = (0, 0);
    for (run, outcome) in taken.into_iter().zip(outcomes) {
        let requests = outcome.summary.requests.read + outcome.summary.requests.write;
        models += u32::from(requests > 0 && outcome.provenance == Provenance::Model);
        generated += u32::from(outcome.provenance == Provenance::Generated);
        for remark in outcome.chosen.into_iter().chain(outcome.remarks) {
            if !remarks.contains(&remark) {
                remarks.push(remark);
            }
        }
        lab.results.insert(run, outcome.summary);
    }
    let mut facts = vec![("paper", format!("{}: {}", paper.letter.to_uppercase(), paper.title))];
    if !points.is_empty() {
        let recordings = points.len() as u32 - models - generated;
        let plain = if generated > 0 { format!(", {generated} of plain workloads") } else { String::new() };
        facts.push((
            "runs",
            format!(
                "{} of at most {} requests each: {models} of models of the traces, {recordings} of recordings{plain}",
                points.len(),
                count(limit)
            ),
        ));
        if args.quick {
            let scaled = if paper.quick.is_empty() { "as the preset has it".into() } else { paper.quick.join(", ") };
            facts.push(("quick", format!("the device is {scaled}")));
        }
    }
    if let Some(factor) = paper.stretch.filter(|_| !points.is_empty()) {
        facts.push(("arrivals", format!("stretched by {factor}: at the models' own rates the device is overloaded")));
    }
    let overloaded: Vec<&Run> =
        lab.results.iter().filter(|(_, summary)| overloaded(summary)).map(|(run, _)| run).collect();
    if !overloaded.is_empty() {
        let mut names: Vec<String> =
            overloaded.iter().map(|run| format!("{} on {}", run.scheme, run.workload)).collect();
        names.dedup();
        facts.push((
            "caution",
            format!(
                "{} of {} runs are overloaded, so that their latencies grow with the length of the run: {}",
                overloaded.len(),
                points.len(),
                names.join(", ")
            ),
        ));
    }
    if !lab.left_out.is_empty() {
        let names = lab.left_out.join(", ");
        facts.push(("left out", format!("{names}: the device is too small for them, and means are over the others")));
    }
    let missing: Vec<String> =
        lab.schemes.iter().filter_map(|(name, config)| Some(format!("{name}: {}", config.as_ref().err()?))).collect();
    if !missing.is_empty() {
        facts.push(("not there", missing.join("; ")));
    }
    let items = items
        .into_iter()
        .map(|item| {
            let rows = (item.rows)(&lab);
            (item, rows)
        })
        .collect();
    Ok(Chapter { paper, facts, items, remarks })
}
