//! `ssdlab fleet`

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::args::sweep::{PlanArgs, StatusArgs, StudyArgs, SubmitArgs, SweepRunArgs};

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
    Run(Box<SweepRunArgs>),
    /// Print what is done, failed and left
    #[command(mut_arg("study", |arg| arg.value_name("FLEET.toml").help("The fleet")))]
    Status(StatusArgs),
    /// Add up the results: one row for each variant, or whatever else the fleet groups by
    #[command(mut_arg("study", |arg| arg.value_name("FLEET.toml").help("The fleet")))]
    Table(FleetTableArgs),
    /// Submit an array job that runs the fleet
    #[command(mut_arg("study", |arg| arg.value_name("FLEET.toml").help("The fleet")))]
    Submit(SubmitArgs),
}

/// `ssdlab fleet table`
#[derive(Args, Clone, Debug)]
pub struct FleetTableArgs {
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
