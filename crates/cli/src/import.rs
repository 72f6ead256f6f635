//! `ssdlab import`, and the requests of commands that import.

use std::path::{Path, PathBuf};

use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::files::Files;
use ssdlab_lab::import::account::Verdict;
use ssdlab_lab::import::{How, Imported};
use ssdlab_lab::input::{Origin, Requests};
use ssdlab_lab::names::clip;
use ssdlab_lab::output::{Finished, Output};
use ssdlab_lab::settings::{Document, Settings};
use ssdlab_lab::text::plural;

use crate::args::{ImportArgs, InputArgs, given, needed};
use crate::output;

/// Imports and prints the account.
pub fn import(args: &ImportArgs) -> Result<()> {
    let notes = args.notes.as_deref().map(Notes::of).transpose()?;
    let documents: Vec<Document> = args.files.iter().cloned().map(Document::File).collect();
    let imported = Imported::read(&documents, How { from: args.from.0, scenario: args.scenario as usize })?;
    if args.strict {
        refuse_unknown(&imported)?;
    }
    // The configuration must be one that runs.
    Settings::imported(&imported)?;
    let workloads = workloads(args, &imported)?;
    let mut files = Files::new();
    args.files.iter().for_each(|path| files.reads("the import", path));
    files.write_all(&[("--output", given(args.output.as_ref())), ("--notes", args.notes.as_deref())])?;
    workloads.iter().try_for_each(|(path, _)| files.writes("--workload-out", path))?;
    let mut finished: Vec<Finished> = Vec::new();
    let mut write = |path: &Path, text: &str| -> Result<()> {
        let mut file = Output::create(path)?;
        file.put(text.as_bytes())?;
        finished.push(file.finish()?);
        Ok(())
    };
    if let Some(path) = given(args.output.as_ref()) {
        write(path, &imported.toml())?;
    }
    workloads.iter().try_for_each(|(path, text)| write(path, text))?;
    if let (Some(path), Some(notes)) = (&args.notes, notes) {
        write(path, &notes.text(&imported))?;
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

/// The form of the notes.
#[derive(Clone, Copy)]
enum Notes {
    Markdown,
    Json,
}

impl Notes {
    fn of(path: &Path) -> Result<Notes> {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("md") => Ok(Notes::Markdown),
            Some("json") => Ok(Notes::Json),
            _ => Err(Error::usage(format!("--notes {}: the form is not clear", path.display()))
                .help("end the name in .md or .json")),
        }
    }

    fn text(self, imported: &Imported) -> String {
        match self {
            Notes::Markdown => imported.account.markdown(),
            Notes::Json => imported.account.json(),
        }
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
    let requests = Requests::imported(imported, args.follow_traces.as_deref());
    let more = match (workloads, requests) {
        ([(path, _)], _) => vec!["--workload".into(), path.display().to_string()],
        (_, Ok(Some(requests))) if imported.workloads().is_empty() => requests.arguments(),
        (_, Ok(Some(requests))) if workloads.len() == imported.flows().len() => {
            written(requests, workloads).arguments()
        }
        // Nothing was written that a command could name.
        _ => return,
    };
    let words = ["ssdlab".into(), "run".into(), drive.display().to_string()].into_iter().chain(more);
    let words: Vec<std::ffi::OsString> = words.map(Into::into).collect();
    output::remark(format!("to run it: {}", crate::quoted(&words)));
}

/// The requests of flows, from the files that their workloads were written to.
fn written(mut requests: Requests, workloads: &[(PathBuf, String)]) -> Requests {
    if let Origin::Tenants(tenants) = &mut requests.from {
        for (tenant, (path, _)) in tenants.iter_mut().zip(workloads) {
            tenant.requests.from = Origin::Workload { name: path.display().to_string(), recordings: None };
        }
    }
    requests
}

/// The requests of a command: of its own options, or those that its imports, read in this way, describe.
///
/// # Errors
/// Both are given, or neither.
pub fn requests(imports: &[PathBuf], how: How, input: &InputArgs, quiet: bool) -> Result<Requests> {
    let own = input.requests()?;
    if imports.is_empty() {
        return needed(own);
    }
    let documents: Vec<Document> = imports.iter().cloned().map(Document::File).collect();
    let imported = Imported::read(&documents, how)?;
    if !quiet {
        output::remark(format!("note: {}; `ssdlab import` lists them", imported.account.summary()));
        imported.account.remarks.iter().for_each(|remark| output::remark(format!("note: {remark}")));
    }
    match own {
        Some(_) if !imported.flows().is_empty() && input.trace.is_none() => {
            let option = if input.workload.is_some() { "--workload" } else { "--tenant" };
            Err(Error::usage(format!("{option}: the import describes requests, too")).help("leave one of them out"))
        }
        // A trace takes the place of the one that an imported flow names.
        Some(requests) if input.trace.is_some() || imported.flows().is_empty() => Ok(requests),
        _ => {
            let described = Requests::imported(&imported, input.follow_traces.as_deref())?;
            needed(described.map(|requests| with_options(requests, input)))
        }
    }
}

/// Imported requests with the options of the command line.
fn with_options(mut requests: Requests, input: &InputArgs) -> Requests {
    let format = requests.reading.format.clone();
    requests.reading = input.reading.reading();
    if requests.reading.format == "auto" {
        requests.reading.format = format;
    }
    requests.limit = input.limit;
    requests.time_scale = input.time_scale;
    requests.replay = input.replay.map(Into::into);
    if input.loops > 1 {
        requests.loops = input.loops;
    }
    if input.lba_policy != Default::default() {
        requests.lba_policy = input.lba_policy;
    }
    requests
}
