//! `ssdlab sweep`: studies of many runs, in a store that survives kills.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ssdlab_bundle::policies::{self, Kept};
use ssdlab_lab::drive::Tick;
use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::results::histograms;
use ssdlab_lab::text::{count, plural, size};
use ssdlab_lab::tree::json;
use ssdlab_report::inputs::Inputs;
use ssdlab_report::sweep::Sweep;
use ssdlab_sim::Check;
use ssdlab_sweep::clean::{self, Which};
use ssdlab_sweep::disk::Disk;
use ssdlab_sweep::execute::{self, Options};
use ssdlab_sweep::fillings::Fillings;
use ssdlab_sweep::fleet::Fleet;
use ssdlab_sweep::job::{End, Keep};
use ssdlab_sweep::keep;
use ssdlab_sweep::key::Hashes;
use ssdlab_sweep::merge::Part;
use ssdlab_sweep::plan::{Plan, pilot, words};
use ssdlab_sweep::points::{Point, Points, Run};
use ssdlab_sweep::shards::Shard;
use ssdlab_sweep::status::{Standing, Survey, Tally};
use ssdlab_sweep::store::{Checked, Store, unchecked_note};
use ssdlab_sweep::study::Study;
use ssdlab_sweep::submit::{Ask, script};
use ssdlab_sweep::table::{Rows, Shape};
use ssdlab_sweep::verify;

use crate::args::sweep::{
    CleanArgs, PlanArgs, StatusArgs, SubmitArgs, SweepCommand, SweepRunArgs, SweepTableArgs, VerifyArgs,
};
use crate::output;
use crate::report::Begun;
use crate::signals;
use crate::volumes;
use ssdlab_lab::layout::{facts, grid};

/// Runs one of them; the exit status.
///
/// `line` is the command for a report, `again` the whole command.
pub fn sweep(command: &SweepCommand, line: &str, again: &str) -> Result<u8> {
    match command {
        SweepCommand::Plan(args) => plan(args, Study::open(&args.study)?, None),
        SweepCommand::Run(args) => run(args, Study::open(&args.study.study)?, &[], line, again),
        SweepCommand::Status(args) => status(args, Study::open(&args.study.study)?),
        SweepCommand::Table(args) => table(args),
        SweepCommand::Submit(args) => submit(args, Study::open(&args.study.study)?, "sweep"),
        SweepCommand::Verify(args) => verified(args),
        SweepCommand::Clean(args) => cleaned(args),
    }
}

/// A study with its points and the hashes of its inputs.
pub(crate) fn points(study: Study, store: Option<&Path>, rehash: bool, check: Check) -> Result<(Points, Hashes)> {
    let hashes = keep::known(store, rehash);
    Ok((Points::of(study, &hashes, check)?, hashes))
}

/// Seconds as time.
pub(crate) fn span(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => format!("{s:.2} s"),
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

/// `ssdlab sweep plan`; a fleet adds what it has.
pub fn plan(args: &PlanArgs, study: Study, fleet: Option<&Fleet>) -> Result<u8> {
    let store = args.store.as_deref().filter(|store| store.exists()).map(Store::open).transpose()?;
    let (points, _) = points(study, args.store.as_deref(), args.rehash, Check::Sampled)?;
    let survey = Survey::of(&points, store.as_ref())?;
    let runs = survey.runs();
    let rates = match args.pilot {
        true => pilot(&points, &mut || ControlFlow::Continue(()))?,
        false => survey.rates(&runs, store.as_ref(), 1000),
    };
    let plan = Plan::of(&points, &survey, &runs, store.as_ref(), &rates);
    if let Some(path) = &args.json {
        let mut value = serde_json::to_value(&plan).expect("a plan is plain data");
        if let Some(fleet) = fleet {
            value["fleet"] = volumes::figures(fleet);
        }
        if args.list {
            let list = points.points.iter().map(|point| {
                let axes = points.study.axes.iter().zip(&point.items);
                let values: BTreeMap<&str, serde_json::Value> = axes
                    .map(|(axis, item)| (axis.label.as_str(), serde_json::to_value(&item.shown).expect("plain data")))
                    .collect();
                serde_json::json!({ "point": point.number, "values": values, "rule": point.refused })
            });
            value["list"] = list.collect();
        }
        return output::write(path, json(&value).as_bytes()).map(|()| 0);
    }
    let mut out = String::new();
    let mut lines = vec![(if fleet.is_some() { "fleet" } else { "study" }, plan.study.clone())];
    lines.extend(fleet.into_iter().flat_map(volumes::lines));
    lines.extend([("points", taken(&plan)), ("runs", count(plan.runs))]);
    for refusals in &plan.refused {
        lines.push((
            "refused",
            format!("{} from point {} on: {}", plural(refusals.points, "point"), refusals.first, refusals.rule),
        ));
    }
    lines.push(("in the store", count(plan.done)));
    if plan.failed > 0 {
        lines.push(("failed", count(plan.failed)));
    }
    lines.push(("left", plural(plan.left, "run")));
    lines.push(("fillings", count(plan.fillings)));
    let [half, double] = plan.cpu_s_range;
    lines.push(("CPU time", format!("{} to {}", span(half), span(double))));
    lines.push(("memory", format!("{} for the largest device", size(plan.memory_bytes))));
    lines.push(("first point", plan.first.clone()));
    lines.push(("last point", plan.last.clone()));
    facts(&mut out, &lines);
    if args.list {
        out.push('\n');
        out.push_str(&listed(&points, &survey, store.as_ref()));
    }
    output::print(&out)?;
    Ok(0)
}

fn taken(plan: &Plan) -> String {
    let mut text = count(plan.points);
    if plan.excluded > 0 {
        text.push_str(&format!(", {} excluded", count(plan.excluded)));
    }
    if plan.merged > 0 {
        text.push_str(&format!(", {} equal to another after rounding", count(plan.merged)));
    }
    text
}

/// The points with their values, and how many of their runs are done.
fn listed(points: &Points, survey: &Survey<'_>, store: Option<&Store>) -> String {
    let mut head = vec!["point".to_string()];
    head.extend(points.study.axes.iter().map(|axis| axis.label.clone()));
    head.push("done".into());
    let mut rows = vec![head];
    let mut by_point: Vec<(u64, u64)> = vec![(0, 0); points.points.len()];
    for run in survey.runs() {
        by_point[run.point].1 += 1;
        let standing = store.map(|store| survey.standing(&run, store));
        by_point[run.point].0 += u64::from(matches!(standing, Some(Standing::Done | Standing::Refused)));
    }
    for (point, (done, of)) in points.points.iter().zip(by_point) {
        let mut row = vec![point.number.to_string()];
        row.extend(point.items.iter().map(|item| item.shown.text()));
        row.push(if point.refused.is_some() { "refused".into() } else { format!("{done} of {of}") });
        rows.push(row);
    }
    let mut out = String::new();
    grid(&mut out, &rows, true);
    out
}

/// Progress of a sweep: a bar on a terminal, otherwise a line a minute.
struct SweepBoard<'b> {
    points: &'b Points,
    quiet: bool,
    bar: ProgressBar,
    from: Instant,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    left: u64,
    before: u64,
    done: u64,
    refused: u64,
    failed: u64,
    said: Option<Instant>,
    running: Vec<(Run, Instant)>,
}

/// Time between two lines.
const LINE: Duration = Duration::from_secs(60);

impl<'b> SweepBoard<'b> {
    fn new(points: &'b Points, quiet: bool) -> SweepBoard<'b> {
        let bar = match quiet || !std::io::stderr().is_terminal() {
            true => ProgressBar::hidden(),
            false => ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(5)),
        };
        let template = "{wide_bar} {pos}/{len}  {msg}  {elapsed} elapsed, {eta} left";
        bar.set_style(ProgressStyle::with_template(template).expect("a constant template"));
        SweepBoard { points, quiet, bar, from: Instant::now(), state: Arc::default() }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says at Ctrl-C what is done, and how the sweep goes on.
    fn says_at_interrupt(&self, again: &str) {
        if self.quiet {
            return;
        }
        let (state, bar, again) = (Arc::clone(&self.state), self.bar.clone(), again.to_string());
        signals::at_first(move || {
            // The state is locked for moments only; a process that ends waits for nothing.
            if let Ok(state) = state.try_lock() {
                bar.finish_and_clear();
                output::remark(format_args!("{}\n  go on with: {again}", interrupted(&state)));
            }
            false
        });
    }

    fn line(&self, state: &State) -> String {
        let minutes = self.from.elapsed().as_secs_f64() / 60.0;
        let ended = state.done + state.refused + state.failed;
        let rate = if minutes > 0.0 { ended as f64 / minutes } else { 0.0 };
        let mut text = format!(
            "{} done, {} running, {} left, {} refused, {} failed, {rate:.1} runs/min",
            count(state.before + state.done),
            state.running.len(),
            count(state.left.saturating_sub(ended + state.running.len() as u64)),
            count(state.refused),
            count(state.failed),
        );
        if rate > 0.0 {
            text.push_str(&format!(", {} to go", span((state.left.saturating_sub(ended)) as f64 / rate * 60.0)));
        }
        if let Some((run, since)) = state.running.iter().min_by_key(|(_, since)| *since) {
            let point = &self.points.points[run.point];
            text.push_str(&format!(
                "; slowest: {} seed {}, {}",
                words(self.points, point),
                run.seed,
                span(since.elapsed().as_secs_f64())
            ));
        }
        text
    }
}

/// What an interrupted sweep has done.
fn interrupted(state: &State) -> String {
    let ended = state.done + state.refused + state.failed;
    let left = state.left.saturating_sub(ended);
    format!(
        "interrupted: {} of {} in the store; {} in progress lost",
        count(state.before + state.done),
        plural(state.before + state.done + left, "run"),
        plural(state.running.len() as u64, "run")
    )
}

impl execute::Watch for SweepBoard<'_> {
    fn planned(&self, left: u64, status: &Tally) {
        let mut state = self.state();
        state.left = left;
        state.before = status.done;
        state.said = Some(Instant::now());
        self.bar.set_length(left);
    }

    fn begins(&self, run: &Run, _point: &Point) {
        self.state().running.push((run.clone(), Instant::now()));
    }

    fn at(&self, _run: &Run, _tick: Tick) {}

    fn ended(&self, run: &Run, end: &End) {
        let mut state = self.state();
        state.running.retain(|(other, _)| other.key != run.key);
        match end {
            End::Record { status: ssdlab_sweep::store::Status::Done, .. } => state.done += 1,
            End::Record { .. } => state.refused += 1,
            End::Failure { status, message, .. } => {
                state.failed += 1;
                if !self.quiet {
                    let point = &self.points.points[run.point];
                    let text = format!(
                        "{}: point {} ({}) seed {}: {message}",
                        status.name(),
                        point.number,
                        words(self.points, point),
                        run.seed
                    );
                    self.bar.suspend(|| output::remark(text));
                }
            }
            End::Stopped => return,
        }
        self.bar.inc(1);
        self.bar.set_message(self.line(&state));
    }

    fn go_on(&self) -> ControlFlow<()> {
        // Most questions come from runs; only one in a while prints.
        if !self.quiet
            && self.bar.is_hidden()
            && let Ok(mut state) = self.state.try_lock()
            && state.said.is_some_and(|said| said.elapsed() >= LINE)
        {
            state.said = Some(Instant::now());
            output::remark(self.line(&state));
        }
        ControlFlow::Continue(())
    }
}

impl SweepRunArgs {
    /// How the sweep is run.
    fn options(&self) -> Result<Options> {
        let shard = self.shard.as_deref().map(|text| Shard::parse(text, &|name| std::env::var(name).ok()));
        Ok(Options {
            shard: shard.transpose()?.unwrap_or(Shard::WHOLE),
            jobs: self.jobs,
            time_limit_ns: self.time_limit,
            retry: self.retry.unwrap_or_default(),
            fail_fast: self.fail_fast,
            claim: self.claim,
            check: self.check,
            memory_limit: self.memory_limit,
            keep: self.keep.clone(),
            fillings: self.fill_cache.as_deref().map(|dir| Fillings::open(dir, Fillings::LEAST)).transpose()?,
        })
    }
}

/// `ssdlab sweep run`; `keep` is kept beside what is asked for.
///
/// `line` is the command for a report, `again` the whole command.
pub fn run(args: &SweepRunArgs, study: Study, keep: &[Keep], line: &str, again: &str) -> Result<u8> {
    let mut options = args.options()?;
    options.keep.extend(keep);
    options.keep.sort();
    options.keep.dedup();
    let (points, hashes) = points(study, Some(&args.study.store), args.study.rehash, options.check)?;
    let page = Begun::create(&args.report, line)?;
    let store = Store::create(&args.study.store, Disk::default())?;
    keep::keep(&points, &store, &hashes)?;
    let (_ends, note) = store.note_of_end()?;
    // Where the system refuses, a crash counts as a kill.
    let _ = ssdlab_memory::note_fatal_signals(note);
    let board = SweepBoard::new(&points, args.quiet);
    board.says_at_interrupt(again);
    let ended = execute::run(&points, &store, &options, &board);
    signals::at_first(|| false);
    let ended = ended?;
    board.bar.finish_and_clear();
    if ended.broken > 0 {
        output::remark(format_args!(
            "note: {} set aside in {}",
            plural(ended.broken, "broken record"),
            store.root().join("broken").display()
        ));
    }
    unchecked(&store);
    let status = &ended.status;
    let mut line = format!("{} now; {}", plural(ended.ran, "run"), counts(status));
    if ended.late {
        line.push_str("; the rest is not expected to end in time");
    }
    output::remark(line);
    if status.failed > 0 || status.left > 0 {
        failures(&points, &store, args.quiet)?;
    }
    if let Some(page) = page {
        let inputs = Inputs { sweep: Some(Sweep::of(&points, &store)?), ..Inputs::default() };
        page.finish(&inputs, args.quiet)?.publish()?;
    }
    Ok(ended.exit_status())
}

/// Says that the content of some records could not be checked.
pub(crate) fn unchecked(store: &Store) {
    noted(store.unchecked());
}

fn noted(unchecked: u64) {
    unchecked_note(unchecked).iter().for_each(|said| output::remark(format_args!("note: {said}")));
}

/// The first failures and how to repeat them.
fn failures(points: &Points, store: &Store, quiet: bool) -> Result<()> {
    if quiet {
        return Ok(());
    }
    let survey = Survey::of(points, Some(store))?;
    let mut shown = 0;
    for run in survey.runs() {
        if let Standing::Failure(failure) = survey.standing(&run, store) {
            shown += 1;
            if shown <= 3 {
                output::remark(format_args!(
                    "{}: {}\n  repeat with: {}",
                    failure.status.name(),
                    failure.message,
                    failure.command
                ));
            }
        }
    }
    if shown > 3 {
        output::remark(format_args!("and {} more failures", shown - 3));
    }
    Ok(())
}

fn counts(status: &Tally) -> String {
    format!(
        "of {}: {} done, {} refused, {} failed, {} left",
        plural(status.runs, "run"),
        count(status.done),
        count(status.refused),
        count(status.failed),
        count(status.left)
    )
}

/// A study with the policies written in Python that its runs in a store had last, by name: none of their code is run.
fn as_kept(study: Study, store: &Store) -> Result<Study> {
    match Kept::read(&policies::folder(&store.study(&study.name)))? {
        Some(kept) => study.with(kept.stand_ins()),
        None => Ok(study),
    }
}

/// `ssdlab sweep status`
pub fn status(args: &StatusArgs, study: Study) -> Result<u8> {
    let store = Store::open(&args.study.store)?;
    let study = as_kept(study, &store)?;
    let (points, _) = points(study, Some(&args.study.store), args.study.rehash, Check::Sampled)?;
    loop {
        let survey = Survey::of(&points, Some(&store))?;
        let runs = survey.runs();
        let status = survey.status(&runs, Some(&store));
        match &args.json {
            Some(path) => output::write(path, json(&status).as_bytes())?,
            None => {
                let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
                for run in &runs {
                    if let Standing::Failure(failure) = survey.standing(run, &store) {
                        *kinds.entry(failure.status.name()).or_default() += 1;
                    }
                }
                let mut out = String::new();
                let mut lines = vec![
                    ("points", count(status.points)),
                    ("runs", count(status.runs)),
                    ("done", format!("{}, {} CPU", count(status.done), span(status.cpu_s_done))),
                    ("refused", count(status.refused)),
                    ("failed", count(status.failed)),
                    (
                        "left",
                        format!(
                            "{}, about {} CPU, {} on this machine",
                            count(status.left),
                            span(status.cpu_s_left),
                            span(status.eta_s)
                        ),
                    ),
                ];
                lines.extend(
                    kinds.into_iter().map(|(name, n)| (name, plural(n, "run"))).filter(|(name, _)| *name != "failed"),
                );
                facts(&mut out, &lines);
                output::print(&out)?;
            }
        }
        if !args.watch || status.left == 0 {
            unchecked(&store);
            return Ok(0);
        }
        std::thread::sleep(Duration::from_secs(5));
    }
}

/// `ssdlab sweep table`
fn table(args: &SweepTableArgs) -> Result<u8> {
    let store = Store::open(&args.study.store)?;
    let study = as_kept(Study::open(&args.study.study)?, &store)?;
    let (points, _) = points(study, Some(&args.study.store), args.study.rehash, Check::Sampled)?;
    let rows = Rows::of(&points, &store)?;
    rows.write(&args.output.clone().into(), Shape { tidy: args.tidy, no_perf: args.no_perf })?.publish()?;
    unchecked(&store);
    let (done, runs) = rows.complete();
    if done < runs {
        output::remark(format_args!("note: {} of {} have no result yet", count(runs - done), plural(runs, "run")));
    }
    Ok(0)
}

/// `ssdlab sweep submit`; `family` is the command that the tasks call.
pub fn submit(args: &SubmitArgs, study: Study, family: &str) -> Result<u8> {
    let absolute = |path: &Path| std::path::absolute(path).map_err(|error| Error::file("find", path, &error));
    let (file, folder) = (absolute(&args.study.study)?, absolute(&args.study.store)?);
    let (points, hashes) = points(study, Some(&args.study.store), args.study.rehash, Check::Sampled)?;
    let store = args.study.store.exists().then(|| Store::open(&args.study.store)).transpose()?;
    let survey = Survey::of(&points, store.as_ref())?;
    let runs = points.runs();
    let rates = survey.rates(&runs, store.as_ref(), 1000);
    let ask = Ask { tasks: args.array, time: args.time.clone(), memory: args.mem.clone(), cpus: args.cpus };
    let text = script(&points, &runs, &rates, &ask, family, &file, &folder)?;
    if args.print {
        output::print(&text)?;
        return Ok(0);
    }
    let store = Store::create(&args.study.store, Disk::default())?;
    keep::keep(&points, &store, &hashes)?;
    let path = store.study(&points.study.name).join("array.sh");
    store.disk().write(&path, text.as_bytes())?;
    let further = args.sbatch.iter().flat_map(|text| text.split_whitespace());
    let called = std::process::Command::new("sbatch").args(further).arg(&path).output();
    let done = called.map_err(|error| {
        let fault = Error::file("start", Path::new("sbatch"), &error);
        fault.help("submit on a machine with Slurm, or see the script with --print")
    })?;
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr).trim().to_string();
        return Err(Error::usage(format!(
            "sbatch refused {}: {}",
            path.display(),
            ssdlab_lab::names::clip_line(&said)
        )));
    }
    output::print(&String::from_utf8_lossy(&done.stdout))?;
    Ok(0)
}

/// `ssdlab merge`
pub fn merge(inputs: &[PathBuf], target: &Path) -> Result<()> {
    let (mut merged, mut unknown) = (Part::default(), 0);
    for input in inputs {
        let (part, checked) = Part::load(input)?;
        unknown += u64::from(checked == Checked::Unknown);
        merged = merged.merge(&part)?;
    }
    noted(unknown);
    if target.extension().is_some_and(|ending| ending == "csv" || ending == "parquet") {
        let sheet = histograms::create(&target.to_path_buf().into(), &merged.extras())?;
        return histograms::write(sheet, &merged.histograms, &merged.extras())?.publish();
    }
    output::write(target, merged.json().as_bytes())
}

/// `ssdlab sweep verify`
fn verified(args: &VerifyArgs) -> Result<u8> {
    let store = Store::open(&args.store)?;
    let done = verify::verify(&store, args.sample, args.seed, &mut |_| ControlFlow::Continue(()))?;
    let mut out = String::new();
    let mut lines = vec![
        ("records", count(done.records)),
        ("same bytes", count(done.same.len() as u64)),
        ("other bytes", count(done.different.len() as u64)),
    ];
    if !done.other_version.is_empty() {
        lines.push((
            "other version",
            format!("{}: verify them with the version that wrote them", count(done.other_version.len() as u64)),
        ));
    }
    if !done.unknown.is_empty() {
        lines.push(("without input", count(done.unknown.len() as u64)));
    }
    facts(&mut out, &lines);
    unchecked_note(store.unchecked()).iter().for_each(|said| out.push_str(&format!("note: {said}\n")));
    done.different.iter().for_each(|key| out.push_str(&format!("differs: {key}\n")));
    done.unknown.iter().for_each(|(key, why)| out.push_str(&format!("not run: {key}: {why}\n")));
    output::print(&out)?;
    Ok(if done.different.is_empty() { 0 } else { 5 })
}

/// `ssdlab sweep clean`
fn cleaned(args: &CleanArgs) -> Result<u8> {
    let store = Store::open(&args.store)?;
    let which = match (&args.version, &args.not_in[..], args.failed) {
        (Some(version), _, _) => Which::Version(version.clone()),
        (None, [_, ..], _) => {
            let mut wanted = std::collections::BTreeSet::new();
            for path in &args.not_in {
                let study = match Fleet::is(path)? {
                    true => volumes::open(path, Some(&args.store), false)?.study,
                    false => Study::open(path)?,
                };
                let (points, _) = points(study, Some(&args.store), false, Check::Sampled)?;
                wanted.extend(clean::keys(&points));
            }
            Which::NotIn(wanted)
        }
        (None, [], true) => Which::Failed,
        (None, [], false) => Which::Leftovers,
    };
    let done = clean::clean(&store, &which, args.yes)?;
    let what = if args.failed { "failure" } else { "record" };
    let verb = if args.yes { "removed" } else { "to remove" };
    let mut text = format!(
        "{verb}: {}, {}, {}\n",
        plural(done.keys.len() as u64, what),
        plural(done.temporary, "temporary file"),
        plural(done.marks, "mark") + " of killed processes",
    );
    if !args.yes {
        text.push_str("nothing was removed; --yes removes it\n");
    }
    output::print(&text)?;
    Ok(0)
}
