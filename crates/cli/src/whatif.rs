//! `ssdlab whatif`

use std::path::Path;

use ssdlab_explain::whatif::{Question, rows, what_if};
use ssdlab_lab::error::Result;
use ssdlab_lab::files::Files;
use ssdlab_lab::input;
use ssdlab_lab::output::{Finished, Output};
use ssdlab_lab::results::sheet::Ended;
use ssdlab_lab::run::How;
use ssdlab_lab::settings::Settings;
use ssdlab_report::inputs::Inputs;

use crate::args::{WhatifArgs, given};
use crate::import;
use crate::output;
use crate::progress::Progress;
use crate::report::Begun;

/// Simulates both futures and prints.
pub fn whatif(args: &WhatifArgs, line: &str) -> Result<()> {
    let settings = Settings::load(&args.config.sources()?)?;
    let requests = import::requests(settings.sources().imported.as_ref(), &args.input, args.quiet)?;
    let mut files = Files::new();
    settings.sources().read_by(&mut files);
    let opened = input::open(&requests)?;
    opened.read_by(&mut files);
    files.write_all(&[
        ("--json", given(args.json.as_ref())),
        ("--requests", args.requests.as_deref()),
        ("--timeline", args.timeline.as_deref()),
        ("--report", args.report.report.as_deref()),
    ])?;
    let file = given(args.json.as_ref()).map(Output::create).transpose()?;
    let (extras, tenants) = (settings.config.extra_causes(), opened.tenants());
    let tenants = !tenants.unwrap_or_else(|| settings.config.tenants()).is_empty();
    let sheet = args.requests.clone().map(|path| rows::create(&path.into(), &extras, tenants)).transpose()?;
    let page = Begun::create(&args.report, line)?;
    let how = How { seed: args.seed, check: args.check, count_only: false, memory_limit: args.memory_limit };
    let (changes, without) = (args.changes.clone(), args.without.clone());
    let wish = Question { at: args.at, before: args.before, after: args.after, changes, without };
    let mut progress = Progress::new(args.quiet);
    let mut found = what_if(&settings, &requests, how, &wish, args.timeline.as_deref(), &mut progress)?;
    drop(progress);
    let mut finished: Vec<Finished> = found.timeline.take().into_iter().collect();
    finished.extend(file.map(|file| file.complete(found.json().as_bytes())).transpose()?);
    if let Some(page) = page {
        let inputs = Inputs { whatif: serde_json::from_str(&found.json()).ok(), ..Inputs::default() };
        finished.push(page.finish(&inputs, args.quiet)?);
    }
    let written = sheet.map(|sheet| rows::write(sheet, &found)).transpose()?;
    finished.into_iter().try_for_each(Finished::publish)?;
    written.map_or(Ok(()), Ended::publish)?;
    if args.json.as_deref() == Some(Path::new("-")) {
        return output::print(&found.json());
    }
    output::print(&found.text())
}
