//! A paper's part of the output: runs what its tables need and fills in our numbers.

use std::collections::BTreeMap;

use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::input::{Origin, Provenance, Requests, find_workload, has_recording};
use ssdlab_lab::names::clip_line;
use ssdlab_lab::settings::{Settings, Sources};
use ssdlab_lab::text::count;
use ssdlab_lab::variants::figures::overloaded;
use ssdlab_lab::variants::points::{Point, sweep};
use ssdlab_sim::config::Config;
use ssdlab_trace::LbaPolicy;

use super::paper::{Item, Paper};
use super::results::{Results, Run};
use super::row::Row;
use super::{Boards, format_of};
use crate::args::ReproduceArgs;

/// A paper with the items asked for.
pub(super) struct Chapter {
    pub(super) paper: &'static Paper,
    /// How it was run.
    pub(super) facts: Vec<(&'static str, String)>,
    pub(super) items: Vec<(&'static Item, Vec<Row>)>,
    pub(super) remarks: Vec<String>,
}

/// Runs what the items need and fills in their rows.
pub(super) fn chapter(
    paper: &'static Paper,
    items: Vec<&'static Item>,
    args: &ReproduceArgs,
    boards: &Boards,
) -> Result<Chapter> {
    let mut plan = Plan::new(paper, args)?;
    let mut runs: Vec<Run> = items.iter().flat_map(|item| item.runs).flat_map(|grid| grid.runs()).collect();
    runs.sort();
    runs.dedup();
    for run in runs {
        plan.add(run)?;
    }
    let Plan { points, planned, mut results, mut remarks, .. } = plan;
    let board = boards(points.len());
    let outcomes = sweep(&points, &args.how.plan(), &*board)?;
    drop(board);
    let mut sources = Sourced { runs: points.len(), models: 0, generated: 0 };
    for (run, outcome) in planned.into_iter().zip(outcomes) {
        let requests = outcome.summary.requests.read + outcome.summary.requests.write;
        sources.models += usize::from(requests > 0 && outcome.provenance == Provenance::Model);
        sources.generated += usize::from(outcome.provenance == Provenance::Generated);
        outcome.chosen.into_iter().chain(outcome.remarks).for_each(|remark| once(&mut remarks, remark));
        results.runs.insert(run, outcome.summary);
    }
    let facts = facts(paper, args, &results, &sources);
    let items = items.into_iter().map(|item| (item, item.fill(&results))).collect();
    Ok(Chapter { paper, facts, items, remarks })
}

/// A remark that several runs make appears once.
fn once(remarks: &mut Vec<String>, remark: String) {
    if !remarks.contains(&remark) {
        remarks.push(remark);
    }
}

/// The configuration of a scheme of a paper, with keys over it.
fn load(paper: &Paper, scheme: &[&str], more: &[&str], quick: bool) -> Result<Config> {
    let scaled = if quick { paper.quick } else { &[] };
    let sets = [scheme, scaled, more].concat().into_iter().map(String::from).collect();
    let sources = Sources { preset: Some(paper.name.into()), sets, ..Sources::default() };
    Settings::load(&sources).map(|settings| settings.config)
}

/// Whether a device holds a workload.
fn holds(config: &Config, workload: &str) -> bool {
    let (capacity, page) = (config.capacity_bytes(), config.geometry.page_size.0);
    find_workload(workload).is_ok_and(|(_, spec)| spec.build(capacity, page, 1, Some(1)).is_ok())
}

/// Requests of each workload.
fn limit(paper: &Paper, args: &ReproduceArgs) -> u64 {
    args.limit.unwrap_or(paper.limits[usize::from(!args.quick)])
}

/// The runs of a paper, before any of them begins.
struct Plan<'a> {
    paper: &'static Paper,
    args: &'a ReproduceArgs,
    points: Vec<Point>,
    /// The runs of these points, in their order.
    planned: Vec<Run>,
    results: Results,
    remarks: Vec<String>,
}

impl<'a> Plan<'a> {
    fn new(paper: &'static Paper, args: &'a ReproduceArgs) -> Result<Self> {
        let config = |sets| load(paper, sets, &[], args.quick).map_err(|error: Error| error.message);
        let results = Results {
            preset: load(paper, &[], &[], false)?,
            schemes: paper.schemes.iter().map(|scheme| (scheme.name, config(scheme.sets))).collect(),
            runs: BTreeMap::new(),
            workloads: paper.workloads,
            left_out: Vec::new(),
        };
        Ok(Plan { paper, args, points: Vec::new(), planned: Vec::new(), results, remarks: Vec::new() })
    }

    /// Plans a run, unless its scheme is refused or its device does not hold the workload.
    fn add(&mut self, run: Run) -> Result<()> {
        let mut traces = self.args.traces.clone();
        if let Some(directory) = &self.args.traces
            && !has_recording(directory, run.workload)?
        {
            traces = None;
            let place = clip_line(&directory.to_string_lossy());
            once(
                &mut self.remarks,
                format!("note: no recording of {} in {place}: its model runs instead", run.workload),
            );
        }
        let scheme = self.paper.schemes.iter().find(|scheme| scheme.name == run.scheme).expect("a scheme of the paper");
        match load(self.paper, scheme.sets, run.more, self.args.quick) {
            Ok(config) if traces.is_none() && !holds(&config, run.workload) => {
                // A run on a smaller array leaves out only itself.
                if run.more.is_empty() && !self.results.left_out.contains(&run.workload) {
                    self.results.left_out.push(run.workload);
                }
            }
            Ok(config) => {
                let name = format!("{} on {} {}", run.scheme, run.workload, run.more.join(" "));
                let requests = self.requests(&run, traces)?;
                let seed = self.args.how.seed.wrapping_add(run.trial);
                self.points.push(Point { name, config, requests, seed });
                self.planned.push(run);
            }
            Err(error) => {
                once(&mut self.remarks, format!("note: {} is left out: {}", run.scheme, error.message));
            }
        }
        Ok(())
    }

    /// The requests of a run: of its workload's recording if there is a directory, or of its model.
    fn requests(&self, run: &Run, traces: Option<std::path::PathBuf>) -> Result<Requests> {
        let recorded = traces.is_some();
        let origin = Origin::Workload { name: run.workload.into(), recordings: traces };
        let mut requests = Requests { limit: Some(limit(self.paper, self.args)), ..Requests::new(origin) };
        if recorded {
            requests.lba_policy = LbaPolicy::Wrap;
            if let Some(format) = format_of(&self.args.format, &find_workload(run.workload)?.1.trace) {
                requests.reading.format = format.into();
            }
        }
        requests.time_scale = self.paper.stretch.map(|factor| factor.parse().expect("a factor"));
        Ok(requests)
    }
}

/// How many runs there are, and what their requests come from.
struct Sourced {
    runs: usize,
    models: usize,
    generated: usize,
}

/// How a chapter was run.
fn facts(paper: &Paper, args: &ReproduceArgs, results: &Results, sources: &Sourced) -> Vec<(&'static str, String)> {
    let mut facts = vec![("paper", format!("{}: {}", paper.letter.to_uppercase(), paper.title))];
    let &Sourced { runs, models, generated } = sources;
    if runs > 0 {
        let recordings = runs - models - generated;
        let plain = if generated > 0 { format!(", {generated} of plain workloads") } else { String::new() };
        let most = count(limit(paper, args));
        let text = format!(
            "{runs} of at most {most} requests each: {models} of models of the traces, {recordings} of recordings{plain}"
        );
        facts.push(("runs", text));
        if args.quick {
            let scaled =
                if paper.quick.is_empty() { "the geometry of the preset".into() } else { paper.quick.join(", ") };
            facts.push(("quick", format!("device with {scaled}")));
        }
        if let Some(factor) = paper.stretch {
            let text = format!("stretched by {factor}: at the models' own rates the device is overloaded");
            facts.push(("arrivals", text));
        }
    }
    let overloaded: Vec<&Run> =
        results.runs.iter().filter(|(_, summary)| overloaded(summary)).map(|(run, _)| run).collect();
    if !overloaded.is_empty() {
        let mut names: Vec<String> =
            overloaded.iter().map(|run| format!("{} on {}", run.scheme, run.workload)).collect();
        names.dedup();
        let text = format!(
            "{} of {runs} runs are overloaded, so their latencies grow with the length of the run: {}",
            overloaded.len(),
            names.join(", ")
        );
        facts.push(("caution", text));
    }
    if !results.left_out.is_empty() {
        let names = results.left_out.join(", ");
        facts.push(("left out", format!("{names}: the device is too small for them; means are over the others")));
    }
    let refused = |(name, config): (&&str, &std::result::Result<Config, String>)| {
        config.as_ref().err().map(|refusal| format!("{name}: {refusal}"))
    };
    let refused: Vec<String> = results.schemes.iter().filter_map(refused).collect();
    if !refused.is_empty() {
        facts.push(("not there", refused.join("; ")));
    }
    facts
}
