//! `ssdlab run`

use std::path::Path;

use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::perf::{Moment, Perf};
use ssdlab_lab::results::counted::CountedWindows;
use ssdlab_lab::run::{Run, RunOutcome};
use ssdlab_lab::settings::Settings;

use crate::args::RunArgs;
use crate::import;
use crate::progress::Progress;
use crate::{blocks, chart, output, table};

/// Simulates and writes the files, which appear only once all results are complete. `line`: what the user typed.
///
/// # Errors
/// The configuration or the requests are invalid, or a file can't be read or written.
pub fn simulate(args: &RunArgs, line: &str) -> Result<RunOutcome> {
    let start = Moment::now();
    let mut sources = args.config.sources()?;
    args.drive.add_to(&mut sources, args.count_only)?;
    let run = Run::new(Settings::load(&sources)?, args.how(), start)?;
    let requests = import::requests(sources.imported.as_ref(), &args.input, args.quiet)?;
    let ready = run.open(&args.until.of(requests))?;
    if to_stdout(args) && args.timeline.as_deref() == Some(Path::new("-")) {
        return Err(Error::usage("--json - and --timeline -: standard output carries one result")
            .help("write one of them into a file"));
    }
    let mut done = ready.simulate(&args.outputs(line)?, &mut Progress::new(args.quiet))?;
    if !args.quiet {
        done.outcome.remarks.iter().chain(&done.remarks).for_each(output::remark);
    }
    done.publish()?;
    Ok(done)
}

fn to_stdout(args: &RunArgs) -> bool {
    args.json.as_deref() == Some(Path::new("-"))
}

/// Simulates and prints.
pub(crate) fn run(args: &RunArgs, line: &str) -> Result<u8> {
    let done = simulate(args, line)?;
    if to_stdout(args) {
        output::print(&done.outcome.json())?;
    } else {
        let context = table::Context {
            workload: done.outcome.about.clone(),
            preset: args.config.preset.clone(),
            capacity: done.outcome.capacity_bytes,
            blocks: done.value().map_or(Vec::new(), blocks::table),
            chart: done.value().cloned().map_or(String::new(), chart::draw),
            tail: done.value().map_or(Vec::new(), table::tails),
        };
        output::print(&table::render(&done.outcome.summary, &context))?;
        output::print(
            &args
                .drive
                .predicted(done.outcome.capacity_bytes, done.value().map_or(&[][..], |CountedWindows(rows)| rows))?,
        )?;
    }
    if !args.quiet {
        output::remark(cost(&done.perf));
    }
    let ended = done.outcome.summary.life.as_ref().is_some_and(|life| life.end.is_some());
    if args.until.until.is_some() && !ended {
        output::remark("the requests ended before the drive did: with a larger --loop, or without it, they go on");
        return Ok(UNFINISHED);
    }
    Ok(0)
}

/// Exit status of a run that ends before the drive does.
const UNFINISHED: u8 = 75;

/// The cost of the simulation itself, in a line.
fn cost(perf: &Perf) -> String {
    let text = format!(
        "simulated in {:.2} s ({:.2} s CPU, {:.2} s of that for the replay): {:.2} million flash operations per CPU second",
        perf.wall_s,
        perf.cpu_s,
        perf.simulate_cpu_s,
        perf.flash_operations_per_cpu_s / 1e6
    );
    match perf.peak_rss_bytes {
        Some(bytes) => format!("{text}, {:.0} MiB memory", bytes as f64 / f64::from(1 << 20)),
        None => text,
    }
}
