//! `ssdlab explain`

use std::path::{Path, PathBuf};

use ssdlab_explain::tries::Tries;
use ssdlab_explain::{Explained, Wish, explain_rows};
use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::files::Files;
use ssdlab_lab::input;
use ssdlab_lab::output::Output;
use ssdlab_lab::settings::Settings;
use ssdlab_report::inputs::{Inputs, Run};

use crate::args::{ExplainArgs, given};
use crate::import;
use crate::output;
use crate::progress::{Board, Progress};
use crate::report::Begun;

/// Explains and prints. `options`: those that stand on the command line.
pub fn explain(args: &ExplainArgs, options: &[String], line: &str) -> Result<()> {
    let mut files = Files::new();
    let rows = rows(args, options)?;
    let outputs = [("--json", given(args.json.as_ref())), ("--report", args.report.report.as_deref())];
    let wanted = match rows {
        Some(path) => {
            files.reads("the rows", path);
            None
        }
        None => {
            let sources = args.config.sources()?;
            let settings = Settings::load(&sources)?;
            let requests = import::requests(sources.imported.as_ref(), &args.input, args.how.quiet)?;
            settings.sources().read_by(&mut files);
            input::open(&requests)?.read_by(&mut files);
            Some((settings, requests))
        }
    };
    files.write_all(&outputs)?;
    let file = given(args.json.as_ref()).map(Output::create).transpose()?;
    let page = Begun::create(&args.report, line)?;
    let explained = match (rows, wanted) {
        (Some(path), _) => explain_rows(path, args.at)?,
        (None, Some((settings, requests))) => {
            let wish = Wish { at: args.at, tries: Tries::parse(&args.tries)?, jobs: args.how.jobs };
            let quiet = args.how.quiet;
            let mut board = |points| Box::new(Board::new(points, quiet)) as Box<_>;
            let mut progress = Progress::new(quiet);
            let done = ssdlab_explain::explain(&settings, &requests, args.how.how(), &wish, &mut progress, &mut board)?;
            drop(progress);
            if let Some(run) = done.done.as_ref().filter(|_| !quiet) {
                run.outcome.remarks.iter().for_each(output::remark);
            }
            done
        }
        (None, None) => unreachable!("rows or a run"),
    };
    let mut finished = Vec::new();
    finished.extend(file.map(|file| file.complete(explained.json().as_bytes())).transpose()?);
    if let Some(page) = page {
        finished.push(page.finish(&inputs(&explained), args.how.quiet)?);
    }
    finished.into_iter().try_for_each(ssdlab_lab::output::Finished::publish)?;
    if args.json.as_deref() == Some(Path::new("-")) {
        return output::print(&explained.json());
    }
    output::print(&explained.text(args.top))
}

/// Options that go with rows; all others are of a run.
const WITH_ROWS: [&str; 8] =
    ["--at", "--top", "--try", "--json", "--report", "--report-lite", "--report-title", "--quiet"];

/// Whether a name has one of these endings, in whatever case.
fn ends_in(path: &Path, endings: &[&str]) -> bool {
    let name = path.to_string_lossy().to_lowercase();
    endings.iter().any(|ending| name.ends_with(ending))
}

/// The file of rows, if one is given in place of a run.
fn rows<'a>(args: &'a ExplainArgs, options: &[String]) -> Result<Option<&'a Path>> {
    let compressed = [".csv", ".parquet"].map(|rows| [".gz", ".zst", ".xz"].map(|ending| format!("{rows}{ending}")));
    let compressed = compressed.as_flattened().iter().map(String::as_str).collect::<Vec<_>>();
    let unread = |path: &&PathBuf| path.as_os_str() == "-" || ends_in(path, &compressed);
    if let Some(path) = args.config.files.iter().find(unread) {
        let what = if path.as_os_str() == "-" { "standard input" } else { "a compressed file" };
        let message = format!("{}: {what} is neither a configuration nor rows of a finished run", path.display());
        return Err(Error::usage(message).help(
            "rows are a file whose name ends in .csv or .parquet, not compressed; anything else is a configuration",
        ));
    }
    let is_rows = |path: &&PathBuf| ends_in(path, &[".csv", ".parquet"]);
    let Some(path) = args.config.files.iter().find(is_rows) else { return Ok(None) };
    let wrong = |what: &str, help: &str| {
        Err(Error::usage(format!("{}: rows of a finished run, and {what}", path.display())).help(help))
    };
    if args.config.files.len() > 1 || args.config.preset.is_some() || !args.config.sets.is_empty() {
        return wrong("a configuration", "give the rows alone, or a configuration with --trace or --workload");
    }
    if args.input.trace.is_some() || args.input.workload.is_some() {
        return wrong("requests to run", "give the rows alone, or a recording with --trace FILE");
    }
    if Tries::parse(&args.tries)? != Tries::None && !args.tries.is_empty() {
        return wrong("--try", "to try changes, give the configuration and the requests of the run");
    }
    if let Some(option) = options.iter().find(|option| !WITH_ROWS.contains(&option.as_str())) {
        return wrong(option, &format!("leave {option} out: it is of a run, and rows are explained as they are"));
    }
    Ok(Some(path))
}

/// What the report is made of.
fn inputs(explained: &Explained) -> Inputs {
    let run = match &explained.done {
        Some(done) => Run {
            summary: serde_json::from_str(&done.outcome.json()).ok(),
            histograms: done.value().cloned(),
            about: done.outcome.about.clone(),
            ..Run::default()
        },
        None => Run::default(),
    };
    Inputs { run, explain: serde_json::from_str(&explained.json()).ok(), ..Inputs::default() }
}
