//! `ssdlab fleet`: many volumes, each served by each of some variants of a configuration.

use ssdlab_lab::error::Result;
use ssdlab_lab::output::Finished;
use ssdlab_lab::text::plural;
use ssdlab_sim::Check;
use ssdlab_sweep::fleet::reduce::{Wanted, reduce};
use ssdlab_sweep::fleet::{Fleet, table};
use ssdlab_sweep::job::Keep;
use ssdlab_sweep::store::Store;

use crate::args::fleet::{FleetCommand, FleetTableArgs};
use crate::args::sweep::StudyArgs;
use crate::output;
use crate::sweep::{self, points};
use crate::volumes::open;

/// Runs one of them; the exit status.
///
/// `line` is the command for a report, `again` the whole command.
pub fn fleet(command: &FleetCommand, line: &str, again: &str) -> Result<u8> {
    match command {
        FleetCommand::Plan(args) => {
            let fleet = open(&args.study, args.store.as_deref(), args.rehash)?;
            sweep::plan(args, fleet.study.clone(), Some(&fleet))
        }
        FleetCommand::Run(args) => {
            let fleet = read(&args.study)?;
            // Runs without time have no latencies.
            let keep: &[Keep] = if fleet.study.count_only { &[] } else { &[Keep::Histograms, Keep::Slowest] };
            sweep::run(args, fleet.study, keep, line, again)
        }
        FleetCommand::Status(args) => sweep::status(args, read(&args.study)?.study),
        FleetCommand::Table(args) => gather(args),
        FleetCommand::Submit(args) => sweep::submit(args, read(&args.study)?.study, "fleet"),
    }
}

fn read(args: &StudyArgs) -> Result<Fleet> {
    open(&args.study, Some(&args.store), args.rehash)
}

/// `ssdlab fleet table`
fn gather(args: &FleetTableArgs) -> Result<u8> {
    let store = Store::open(&args.study.store)?;
    let fleet = read(&args.study)?;
    let (points, _) = points(fleet.study.clone(), Some(&args.study.store), args.study.rehash, Check::Sampled)?;
    if let Some(folder) = &args.parts {
        store.disk().folder(folder)?;
    }
    let wanted = Wanted { slowest: args.slowest.is_some(), parts: args.parts.as_deref() };
    let reduced = reduce(&fleet, &points, &store, wanted)?;
    let rows = table::write(&fleet, &points, &reduced.groups, &args.output.clone().into())?;
    let slowest = args.slowest.clone().map(|path| table::slowest(&fleet, &points, &reduced.groups, &path.into()));
    let slowest = slowest.transpose()?;
    reduced.parts.into_iter().try_for_each(Finished::publish)?;
    slowest.map_or(Ok(()), ssdlab_lab::results::sheet::Ended::publish)?;
    rows.publish()?;
    sweep::unchecked(&store);
    let left: u64 = reduced.groups.iter().map(|group| group.counts.left + group.counts.failed).sum();
    if left > 0 {
        output::remark(format!("note: {} have no result yet", plural(left, "run")));
    }
    Ok(0)
}
