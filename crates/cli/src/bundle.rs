//! `ssdlab bundle`: a study in one file that reviewers can check.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ssdlab_bundle::figures::Spec;
use ssdlab_bundle::make::{self, Plan};
use ssdlab_bundle::manifest::{Manifest, RunState};
use ssdlab_bundle::traces::Obtain;
use ssdlab_bundle::unpack::Bundle;
use ssdlab_bundle::verify::{self, Again, How, Verified};
use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::files::Files;
use ssdlab_lab::layout::{facts, left};
use ssdlab_lab::names::clip_line;
use ssdlab_lab::output::{Folder, Output};
use ssdlab_lab::text::{count, plural, size};
use ssdlab_lab::tree::json;
use ssdlab_sim::Check;

use crate::args::bundle::{BundleCommand, BundleVerifyArgs, ExtractArgs, MakeArgs, ShowArgs};
use crate::args::given;
use crate::output;
use crate::sweep::span;

/// Runs one of them; the exit status.
pub fn bundle(command: &BundleCommand) -> Result<u8> {
    match command {
        BundleCommand::Make(args) => made(args),
        BundleCommand::Verify(args) => verified(args),
        BundleCommand::Show(args) => show(args),
        BundleCommand::Extract(args) => extract(args),
    }
}

/// `ssdlab bundle make`
fn made(args: &MakeArgs) -> Result<u8> {
    if args.output.as_os_str() == "-" {
        return Err(Error::usage("-o -: standard output has the digest of the bundle").help("give a file"));
    }
    let mut files = Files::new();
    files.reads("the study", &args.study);
    files.writes("-o", &args.output)?;
    let figures = args.figures.iter().map(|text| Spec::parse(text)).collect::<Result<_>>()?;
    let plan = Plan {
        study: args.study.clone(),
        store: args.store.clone(),
        traces: args.traces,
        obtain: Obtain::parse(&args.obtain)?,
        figures,
        title: args.title.clone(),
        authors: args.authors.clone(),
        measure: args.measure.clone(),
        tolerance: args.tolerance,
        partial: args.partial,
        rehash: args.rehash,
    };
    let done = make::make(&plan, &args.output)?;
    if done.broken > 0 {
        let broken = args.store.join("broken");
        output::remark(format_args!("note: {} in {}", plural(done.broken, "broken record"), broken.display()));
    }
    for trace in done.manifest.traces.iter().filter(|trace| !trace.included && trace.obtain.is_none()) {
        let name = trace.file.rsplit('/').next().unwrap_or_default();
        output::remark(format_args!("note: nothing says how to obtain {name}: give --obtain {name}=TEXT"));
    }
    let mut lines = vec![("bundle", format!("{}: {}", args.output.display(), size(done.written.bytes)))];
    lines.push(("SHA-256", done.written.sha256.clone()));
    lines.extend(content(&done.manifest));
    let mut out = String::new();
    facts(&mut out, &lines);
    output::print(&out)?;
    Ok(0)
}

/// What a bundle has.
fn content(manifest: &Manifest) -> Vec<(&'static str, String)> {
    let mut lines = vec![
        ("title", manifest.title.clone()),
        ("study", format!("{} ({})", manifest.study.name, manifest.study.file)),
        ("program", format!("ssdlab {}", manifest.program.version)),
        ("points", count(manifest.points.len() as u64)),
        ("runs", runs(manifest)),
    ];
    if manifest.partial {
        lines.push(("partial", "it does not have all runs of the study".into()));
    }
    if manifest.tolerance > 0.0 {
        lines.push(("tolerance", format!("{} of each figure, for other versions", manifest.tolerance)));
    }
    lines.extend(manifest.measure.iter().map(|measure| ("main measure", measure.clone())));
    for trace in &manifest.traces {
        let place = match (trace.included, &trace.obtain) {
            (true, _) => "included".into(),
            (false, Some(how)) => how.clone(),
            (false, None) => "not included".into(),
        };
        lines.push(("trace", format!("{}, {}: {place}", trace.file, size(trace.bytes))));
    }
    for policy in &manifest.policies {
        lines.push(("policy", format!("{} is {}, state {}", policy.slot, policy.class, clip_line(&policy.state))));
    }
    lines.extend(manifest.sources().map(|file| ("source", format!("{}, SHA-256 {}", file.path, file.sha256))));
    lines.extend(manifest.figures.iter().map(|figure| ("figure", format!("{}: {}", figure.drawing, figure.spec))));
    lines.push(("files", format!("{}, {}", count(manifest.files.len() as u64), size(manifest.bytes()))));
    lines
}

fn runs(manifest: &Manifest) -> String {
    let states = [(RunState::Done, "done"), (RunState::Refused, "refused"), (RunState::Missing, "missing")];
    let states = states.map(|(state, name)| (manifest.runs(state), name));
    let said: Vec<String> =
        states.iter().filter(|(many, _)| *many > 0).map(|(many, name)| format!("{} {name}", count(*many))).collect();
    format!("{}: {}", count(manifest.all_runs()), said.join(", "))
}

/// `ssdlab bundle show`
fn show(args: &ShowArgs) -> Result<u8> {
    let mut files = Files::new();
    files.reads("the command", &args.bundle);
    files.write_all(&[("--json", given(args.json.as_ref()))])?;
    let bundle = Bundle::open(&args.bundle, None)?;
    let manifest = &bundle.manifest;
    if let Some(path) = &args.json {
        return output::write(path, manifest.text().as_bytes()).map(|()| 0);
    }
    let mut lines = vec![("bundle", args.bundle.display().to_string())];
    lines.push(("SHA-256", bundle.sealed.sha256.clone()));
    lines.extend(content(manifest));
    let mut out = String::new();
    facts(&mut out, &lines);
    if args.files {
        let head = ["file", "bytes", "SHA-256"].map(String::from).to_vec();
        let rows = manifest.files.iter().map(|file| vec![file.path.clone(), count(file.bytes), file.sha256.clone()]);
        let rows: Vec<Vec<String>> = [head].into_iter().chain(rows).collect();
        out.push('\n');
        left(&mut out, &rows);
    }
    output::print(&out)?;
    Ok(0)
}

/// `ssdlab bundle extract`
fn extract(args: &ExtractArgs) -> Result<u8> {
    let into = args.into.clone().unwrap_or_else(|| usual(&args.bundle));
    let folder = Folder::create(&into)?;
    let bundle = Bundle::open(&args.bundle, args.digest.as_deref())?;
    let manifest = bundle.extract(args.max_size, &folder)?;
    folder.publish()?;
    let mut out = String::new();
    let files = plural(manifest.files.len() as u64 + 1, "file");
    facts(&mut out, &[("extracted", format!("{files}, {}, into {}", size(manifest.bytes()), into.display()))]);
    facts(&mut out, &[("read first", into.join("README.md").display().to_string())]);
    output::print(&out)?;
    Ok(0)
}

/// The folder of a bundle where nobody names one.
fn usual(bundle: &Path) -> PathBuf {
    let name = bundle.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let stem = [".ssdlab.tar.zst", ".tar.zst"].iter().find_map(|ending| name.strip_suffix(ending));
    match stem.filter(|stem| !stem.is_empty()) {
        Some(stem) => stem.into(),
        None => format!("{name}.extracted").into(),
    }
}

/// Time between two lines.
const LINE: Duration = Duration::from_secs(10);

/// `ssdlab bundle verify`
fn verified(args: &BundleVerifyArgs) -> Result<u8> {
    let mut files = Files::new();
    files.reads("the command", &args.bundle);
    files.write_all(&[("--json", given(args.json.as_ref()))])?;
    let how = How {
        digest: args.digest.clone(),
        points: args.points,
        seed: args.seed,
        traces: args.traces.clone(),
        jobs: args.jobs,
        code: args.allow_code.then(|| args.python.clone().unwrap_or_else(crate::interpreter)),
        check: Check::Sampled,
        most: args.max_size,
    };
    // It is created before anything runs, so that a mistake is reported at once.
    let file = given(args.json.as_ref()).map(Output::create).transpose()?;
    let said = Mutex::new(Instant::now());
    let done = verify::verify(&args.bundle, &how, &|done, of| {
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        if !args.quiet && said.elapsed() >= LINE {
            *said = Instant::now();
            output::remark(format_args!("{} of {} run again", count(done), plural(of, "run")));
        }
    })?;
    match (&args.json, file) {
        (Some(_), Some(file)) => file.complete(json(&done).as_bytes())?.publish()?,
        (Some(_), None) => output::print(&json(&done))?,
        (None, _) => output::print(&told(&args.bundle, &done))?,
    }
    Ok(done.exit_status())
}

/// What was found, as text.
fn told(bundle: &Path, done: &Verified) -> String {
    let same = match done.same_program {
        Some(true) => ", with this very program",
        Some(false) => ", with another build of the program",
        None => "",
    };
    let made = match done.other_version() {
        true => {
            format!("ssdlab {}; this is ssdlab {}, so records can't have the same bytes", done.made_with, done.version)
        }
        false => format!("ssdlab {}{same}", done.made_with),
    };
    let mut out = String::new();
    facts(&mut out, &[("bundle", bundle.display().to_string()), ("SHA-256", done.sha256.clone()), ("made by", made)]);
    out.push('\n');
    for check in &done.checks {
        facts(&mut out, &[(check.name, format!("{}: {}", check.result.name(), check.found))]);
    }
    if !done.points.is_empty() {
        out.push('\n');
        let head = ["point", "result", "runs", "time", "values"].map(String::from).to_vec();
        let rows = done.points.iter().map(|again| {
            let time = if again.seconds > 0.0 { span(again.seconds) } else { String::new() };
            vec![again.point.to_string(), again.result.name().into(), count(again.runs), time, again.values.clone()]
        });
        left(&mut out, &[head].into_iter().chain(rows).collect::<Vec<_>>());
        done.points.iter().for_each(|again| out.push_str(&differing(again)));
    }
    out.push('\n');
    let passed = done.points.iter().filter(|again| again.result == verify::Outcome::Pass).count() as u64;
    let ran = done.points.len() as u64;
    let mut lines = vec![(
        "run again",
        format!(
            "{} of {}; {} have the bytes of their records",
            plural(ran, "point"),
            count(done.of_points),
            count(passed)
        ),
    )];
    if let Some(all) = done.all_seconds {
        let here = span(done.seconds);
        let all = if ran == done.of_points { String::new() } else { format!("; all points take about {}", span(all)) };
        lines.push(("time", format!("{here}{all}")));
    }
    if done.code_not_run > 0 {
        let many = plural(done.code_not_run, "point");
        lines.push((
            "policies",
            format!("{many} not run again: their policies are code. Read the sources (`ssdlab bundle extract`), then give --allow-code"),
        ));
    }
    let verdict = match done.exit_status() {
        0 => "pass",
        1 => "not shown: not every point could be compared byte for byte",
        _ => "FAIL",
    };
    lines.push(("verdict", verdict.into()));
    facts(&mut out, &lines);
    out
}

/// Why a point is not the same, and figures that differ.
fn differing(again: &Again) -> String {
    const SHOWN: usize = 10;
    let mut out = String::new();
    if let Some(why) = &again.why {
        facts(&mut out, &[("", format!("point {}: {why}", again.point))]);
    }
    let number = |value: Option<f64>| value.map_or_else(|| "nothing".into(), |value| value.to_string());
    for one in again.differences.iter().take(SHOWN) {
        let text = format!("{}: {} in the record, {} now", one.figure, number(one.record), number(one.now));
        facts(&mut out, &[("", text)]);
    }
    let more = again.differences.len().saturating_sub(SHOWN) as u64;
    if more > 0 {
        facts(&mut out, &[("", format!("and {} more; --json has all", plural(more, "figure")))]);
    }
    out
}
