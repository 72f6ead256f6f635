//! `ssdlab fleet`: many volumes, each served by each of some variants of a configuration.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Subcommand};
use serde_json::{Value as Json, json};
use ssdlab_lab::error::Result;
use ssdlab_lab::output::Finished;
use ssdlab_lab::text::{count, plural};
use ssdlab_sim::Check;
use ssdlab_sweep::fleet::reduce::{Wanted, reduce};
use ssdlab_sweep::fleet::scan::Scans;
use ssdlab_sweep::fleet::{Fleet, table};
use ssdlab_sweep::job::Keep;
use ssdlab_sweep::store::Store;

use crate::output;
use crate::sweep::{self, PlanArgs, RunArgs, StatusArgs, StudyArgs, SubmitArgs, points};

/// `ssdlab fleet`
#[derive(Debug, Subcommand)]
pub enum FleetCommand {
    /// Print the volumes and variants, what is refused, what is done, and what the rest costs; nothing is simulated
    #[command(mut_arg("study", |arg| arg.value_name("FLEET.toml").help("The fleet")))]
    Plan(PlanArgs),
    /// Run what the store does not have
    #[command(mut_arg("study", |arg| arg.value_name("FLEET.toml").help("The fleet")), after_help = "Examples:
  ssdlab fleet run fleet.toml --store results                      all of it, on all cores
  ssdlab fleet run fleet.toml --store results --shard 3/8          the third of eight parts
  ssdlab fleet run fleet.toml --store results --shard auto --time-limit 55m   in an array job

The exit status is that of `ssdlab sweep run`.")]
    Run(Box<RunArgs>),
    /// Print what is done, failed and left
    #[command(mut_arg("study", |arg| arg.value_name("FLEET.toml").help("The fleet")))]
    Status(StatusArgs),
    /// Add up the results: one row for each variant, or whatever else the fleet groups by
    #[command(mut_arg("study", |arg| arg.value_name("FLEET.toml").help("The fleet")))]
    Table(TableArgs),
    /// Submit an array job that runs the fleet
    #[command(mut_arg("study", |arg| arg.value_name("FLEET.toml").help("The fleet")))]
    Submit(SubmitArgs),
}

/// `ssdlab fleet table`
#[derive(Args, Clone, Debug)]
pub struct TableArgs {
    /// The fleet and its store.
    #[command(flatten)]
    pub study: StudyArgs,
    /// The table
    #[arg(short = 'o', long = "output", value_name = "FILE.parquet|.csv")]
    pub output: PathBuf,
    /// Also write the slowest requests of each group, as many as `reduce.top` says
    #[arg(long, value_name = "FILE.parquet|.csv")]
    pub slowest: Option<PathBuf>,
    /// Also write the sums of each group into a folder, as files that `ssdlab merge` adds up further
    #[arg(long, value_name = "DIR")]
    pub parts: Option<PathBuf>,
}

/// Runs one of them; the exit status.
///
/// `line` is the command as it was given.
pub fn fleet(command: &FleetCommand, line: &str) -> Result<u8> {
    match command {
        FleetCommand::Plan(args) => {
            let fleet = open(&args.study, args.store.as_deref(), args.rehash)?;
            sweep::plan(args, fleet.study.clone(), Some(&fleet))
        }
        FleetCommand::Run(args) => {
            let fleet = read(&args.study)?;
            // Runs without time have no latencies.
            let keep: &[Keep] = if fleet.study.count_only { &[] } else { &[Keep::Histograms, Keep::Slowest] };
            sweep::run(args, fleet.study, keep, line)
        }
        FleetCommand::Status(args) => sweep::status(args, read(&args.study)?.study),
        FleetCommand::Table(args) => gather(args),
        FleetCommand::Submit(args) => sweep::submit(args, read(&args.study)?.study, "fleet"),
    }
}

/// Opens a fleet with what a store knows of its traces.
pub(crate) fn open(path: &Path, store: Option<&Path>, rehash: bool) -> Result<Fleet> {
    Fleet::open(path, Arc::new(Scans::open(store, rehash)))
}

fn read(args: &StudyArgs) -> Result<Fleet> {
    open(&args.study, Some(&args.store), args.rehash)
}

/// What a fleet has, for people.
pub fn lines(fleet: &Fleet) -> Vec<(&'static str, String)> {
    let requests = fleet.volumes.iter().map(|volume| volume.requests).sum();
    let mut lines =
        vec![("volumes", format!("{}, {}", count(fleet.volumes.len() as u64), plural(requests, "request")))];
    let out = fleet.left_out;
    let whys = [
        (out.unsampled, "not in the sample"),
        (out.small, "with fewer requests than volumes.min_requests"),
        (out.large, "larger than device.most"),
    ];
    lines.extend(whys.into_iter().filter(|(n, _)| *n > 0).map(|(n, why)| ("left out", format!("{}, {why}", count(n)))));
    let variants = fleet.study.choices.len() / fleet.volumes.len();
    lines.push(("variants", count(variants as u64)));
    lines
}

/// The same for programs.
pub fn figures(fleet: &Fleet) -> Json {
    let out = fleet.left_out;
    json!({
        "volumes": fleet.volumes.len(),
        "requests": fleet.volumes.iter().map(|volume| volume.requests).sum::<u64>(),
        "variants": fleet.study.choices.len() / fleet.volumes.len(),
        "left_out": { "unsampled": out.unsampled, "small": out.small, "large": out.large },
    })
}

/// `ssdlab fleet table`
fn gather(args: &TableArgs) -> Result<u8> {
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
