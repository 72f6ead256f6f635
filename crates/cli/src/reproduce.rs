//! `ssdlab reproduce`

use ssdlab_lab::error::Result;
use ssdlab_lab::files::Files;
use ssdlab_lab::input::read_recordings;
use ssdlab_lab::output::Output;
use ssdlab_papers::{Reproduction, Wanted, methods};
use ssdlab_report::inputs::Inputs;

use crate::args::ReproduceArgs;
use crate::output;
use crate::progress::Board;
use crate::report::Begun;

/// Reproduces and prints.
pub fn reproduce(args: &ReproduceArgs, line: &str) -> Result<()> {
    let wanted = wanted(args);
    if args.methods {
        return output::print(&methods(&wanted)?);
    }
    let mut files = Files::new();
    args.traces.iter().for_each(|directory| read_recordings(directory, &mut files));
    files.write_all(&[
        ("--json", args.table.json_file()),
        ("--report", args.report.report.as_deref()),
        ("--fits", args.fits.as_deref()),
    ])?;
    let (to_stdout, json) = args.table.json_output()?;
    let fits = args.fits.as_deref().map(Output::create).transpose()?;
    let page = Begun::create(&args.report, line)?;
    let done = Reproduction::run(&wanted, &|runs| Box::new(Board::new(runs, args.how.quiet)))?;
    if !args.how.quiet {
        done.remarks().for_each(output::remark);
    }
    if let Some(page) = page {
        let inputs = Inputs { reproduce: serde_json::from_str(&done.json()).ok(), ..Inputs::default() };
        page.finish(&inputs, args.how.quiet)?.publish()?;
    }
    if let Some(file) = fits {
        file.complete(done.fits()?.as_bytes())?.publish()?;
    }
    if let Some(file) = json {
        file.complete(done.json().as_bytes())?.publish()?;
    }
    if to_stdout {
        output::print(&done.json())
    } else if args.table.csv {
        output::print(&done.csv())
    } else if args.table.markdown {
        output::print(&done.markdown())
    } else {
        output::print(&done.text())
    }
}

fn wanted(args: &ReproduceArgs) -> Wanted {
    Wanted {
        paper: args.paper.clone(),
        ids: args.ids.clone(),
        quick: args.quick,
        traces: args.traces.clone(),
        format: args.format.clone(),
        limit: args.limit,
        assumptions: args.assumptions,
        readings: args.readings.clone(),
        load: args.load,
        seeds: args.seeds,
        seed: args.how.seed,
        plan: args.how.plan(),
    }
}
