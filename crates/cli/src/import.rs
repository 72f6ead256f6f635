//! `ssdlab import`, and the requests of commands that import.

use std::path::{Path, PathBuf};

use ssdlab_import::How;
use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::files::Files;
use ssdlab_lab::foreign::Imported;
use ssdlab_lab::foreign::account::{Account, Verdict};
use ssdlab_lab::foreign::flows::{Flow, Source};
use ssdlab_lab::input::{Origin, Requests};
use ssdlab_lab::names::clip;
use ssdlab_lab::output::{Finished, whole};
use ssdlab_lab::settings::Document;
use ssdlab_lab::text::plural;

use crate::args::{ImportArgs, InputArgs, given, needed};
use crate::output;

/// Imports and prints the account.
pub fn import(args: &ImportArgs) -> Result<()> {
    let notes = args.notes.as_deref().map(form).transpose()?;
    let documents: Vec<Document> = args.files.iter().cloned().map(Document::File).collect();
    let imported = ssdlab_import::read(&documents, How { from: args.from.0, scenario: args.scenario as usize })?;
    if args.strict {
        refuse_unknown(&imported)?;
    }
    Requests::check_imported(&imported)?;
    let workloads = workloads(args, &imported)?;
    let mut files = Files::new();
    args.files.iter().for_each(|path| files.reads("the import", path));
    files.write_all(&[("--output", given(args.output.as_ref())), ("--notes", args.notes.as_deref())])?;
    workloads.iter().try_for_each(|(path, _)| files.writes("--workload-out", path))?;
    let mut finished: Vec<Finished> = Vec::new();
    let mut write = |path: &Path, text: &str| -> Result<()> {
        finished.push(whole(path, text.as_bytes())?);
        Ok(())
    };
    if let Some(path) = given(args.output.as_ref()) {
        write(path, &imported.toml())?;
    }
    workloads.iter().try_for_each(|(path, text)| write(path, text))?;
    if let (Some(path), Some(notes)) = (&args.notes, notes) {
        write(path, &notes(&imported.account))?;
    }
    finished.into_iter().try_for_each(Finished::publish)?;
    if args.output.as_deref() == Some(Path::new("-")) {
        output::remark(imported.account.text());
        output::print(&imported.toml())
    } else {
        output::print(&imported.account.text())
    }?;
    next_step(args, &imported, &workloads);
    Ok(())
}

/// The form of the notes, by the name of their file.
fn form(path: &Path) -> Result<fn(&Account) -> String> {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("md") => Ok(Account::markdown),
        Some("json") => Ok(Account::json),
        _ => Err(Error::usage(format!("--notes {}: the form is not clear", path.display()))
            .help("end the name in .md or .json")),
    }
}

/// Refuses keys that nobody knows.
fn refuse_unknown(imported: &Imported) -> Result<()> {
    let unknown: Vec<String> = imported
        .account
        .entries
        .iter()
        .filter(|entry| entry.verdict == Verdict::Unknown)
        .map(|entry| format!("{}:{}: {}", clip(&entry.file), entry.line, clip(&entry.key)))
        .collect();
    if unknown.is_empty() {
        return Ok(());
    }
    let mut error = Error::usage(plural(unknown.len() as u64, "unknown key"));
    // A file of garbage has thousands.
    for key in unknown.iter().take(10) {
        error = error.note(key);
    }
    Err(error.help("correct or remove them, or leave --strict out"))
}

/// The workload files to write.
fn workloads(args: &ImportArgs, imported: &Imported) -> Result<Vec<(PathBuf, String)>> {
    let Some(prefix) = &args.workload_out else { return Ok(Vec::new()) };
    let workloads = imported.workloads();
    if workloads.is_empty() {
        return Err(Error::usage("--workload-out: the files describe no generated requests")
            .help("leave it out, or add the simulator's workload file"));
    }
    let path = |ending: String| {
        let mut name = prefix.clone().into_os_string();
        name.push(ending);
        PathBuf::from(name)
    };
    let many = workloads.len() > 1;
    let ending = |number: usize| if many { format!("-{}.toml", number + 1) } else { ".toml".into() };
    Ok(workloads.into_iter().enumerate().map(|(number, (_, text))| (path(ending(number)), text)).collect())
}

/// Says how to run what was written.
fn next_step(args: &ImportArgs, imported: &Imported, workloads: &[(PathBuf, String)]) {
    let Some(drive) = given(args.output.as_ref()) else { return };
    // Requests that were not written have no name that a command could give.
    if imported.workloads().len() != workloads.len() {
        return;
    }
    let follow = args.follow_traces.as_deref();
    let requests = Requests::imported(imported, follow);
    let unknown = requests.is_err();
    let described = requests.or_else(|_| Requests::imported(imported, Some(Path::new("DIR"))));
    let Ok(Some(requests)) = described else { return };
    let more = written(requests, workloads).arguments();
    let words = ["ssdlab".into(), "run".into(), drive.display().to_string()].into_iter().chain(more);
    let words: Vec<std::ffi::OsString> = words.map(Into::into).collect();
    let place = if unknown { " (DIR is the directory of the traces)" } else { "" };
    output::remark(format!("to run it: {}{place}", crate::quoted(&words)));
}

/// The requests of flows, the generated ones from the files that their workloads were written to.
fn written(mut requests: Requests, workloads: &[(PathBuf, String)]) -> Requests {
    let mut paths = workloads.iter().map(|(path, _)| path.display().to_string());
    let mut from_file = |from: &mut Origin| {
        if matches!(from, Origin::Spec(_)) {
            *from = Origin::Workload { name: paths.next().unwrap_or_default(), recordings: None };
        }
    };
    match &mut requests.from {
        Origin::Tenants(tenants) => tenants.iter_mut().for_each(|tenant| from_file(&mut tenant.requests.from)),
        from => from_file(from),
    }
    requests
}

/// The requests of a command: of its own options, or those that its imports describe.
///
/// # Errors
/// Both are given, or neither.
pub fn requests(imported: Option<&Imported>, input: &InputArgs, quiet: bool) -> Result<Requests> {
    let own = input.requests()?;
    let Some(imported) = imported else { return needed(own) };
    if !quiet {
        output::remark(format!("note: {}; `ssdlab import` lists them", imported.account.summary()));
        imported.account.remarks.iter().for_each(|remark| output::remark(format!("note: {remark}")));
    }
    match own {
        Some(_) if !imported.flows.is_empty() && input.trace.is_none() => {
            let option = if input.workload.is_some() { "--workload" } else { "--tenant" };
            Err(Error::usage(format!("{option}: the import describes requests, too")).help("leave one of them out"))
        }
        // A trace takes the place of the one that an imported flow names, and is replayed as that one would be.
        Some(requests) if input.trace.is_some() => Ok(in_place_of(requests, &imported.flows, input, quiet)),
        Some(requests) if imported.flows.is_empty() => Ok(requests),
        _ => {
            let described = Requests::imported(imported, input.follow_traces.as_deref())?;
            needed(described.map(|requests| with_options(requests, input)))
        }
    }
}

/// A trace of the command line in the place of imported flows.
fn in_place_of(mut requests: Requests, flows: &[Flow], input: &InputArgs, quiet: bool) -> Requests {
    match flows {
        [Flow { source: Source::Recording(recording), .. }] => {
            requests.loops = input.loops.unwrap_or(recording.loops);
            requests.lba_policy = input.lba_policy.unwrap_or(recording.lba_policy);
            if requests.reading.format == "auto" {
                requests.reading.format = recording.format.into();
            }
        }
        [] => {}
        flows if !quiet => {
            let flows = plural(flows.len() as u64, "imported flow");
            output::remark(format!("note: the trace takes the place of {flows}"));
        }
        _ => {}
    }
    requests
}

/// Imported requests with the options of the command line, which win over what the files say.
fn with_options(mut requests: Requests, input: &InputArgs) -> Requests {
    requests.limit = input.limit;
    requests.time_scale = input.time_scale;
    requests.replay = input.replay;
    let replay = |requests: &mut Requests| {
        let format = std::mem::replace(&mut requests.reading, input.reading.reading()).format;
        if requests.reading.format == "auto" {
            requests.reading.format = format;
        }
        requests.lba_policy = input.lba_policy.unwrap_or(requests.lba_policy);
    };
    match &mut requests.from {
        Origin::Tenants(tenants) => {
            for own in tenants.iter_mut().map(|tenant| &mut tenant.requests) {
                own.loops = input.loops.unwrap_or(own.loops);
                // Those for recordings leave generated ones alone.
                if matches!(own.from, Origin::Trace(_)) {
                    replay(own);
                }
            }
        }
        _ => {
            requests.loops = input.loops.unwrap_or(requests.loops);
            replay(&mut requests);
        }
    }
    requests
}
